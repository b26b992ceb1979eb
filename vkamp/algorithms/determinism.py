"""Which results have the same bits in every run, where that costs speed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from vkamp.tracebacks import entry_point

__all__ = ["deterministic"]

_needed: ContextVar[bool] = ContextVar("deterministic", default=False)


@entry_point
@contextmanager
def deterministic(needed: bool = True) -> Iterator[None]:
    """Within the block, all functions give the same bits in every run on one device.

    Integers, selections and sorting always do, on every device.  Sums of floats do, too, in every run on one device,
    with one exception: scans of floats by GPUs, which are slower then.  A function's argument ``deterministic`` wins.
    The block counts for its thread and its asynchronous task.
    """
    token = _needed.set(needed)
    try:
        yield
    finally:
        _needed.reset(token)


def is_needed(given: bool | None) -> bool:
    """Whether results have to have the same bits in every run."""
    return _needed.get() if given is None else given
