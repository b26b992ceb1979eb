"""Why a kernel keeps one invocation for each thread."""

from __future__ import annotations


class NotLowerable(Exception):  # noqa: N818
    """The kernel cannot run with its threads as loops, or would gain nothing; ``inspect()`` shows the reason."""
