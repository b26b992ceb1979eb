"""Results with the same bits in every run, where that costs speed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from vkamp.tracebacks import entry_point

_needed: ContextVar[bool] = ContextVar("deterministic", default=False)


@entry_point
@contextmanager
def deterministic(needed: bool = True) -> Iterator[None]:
    """Within the block, all functions give the same bits in every run on one device.

    Integers, selections and sorts always do, on every device. So do sums of floats in every run on one device. The one
    exception is scans of floats on GPUs, which this makes slower. A function's own argument ``deterministic`` takes
    precedence. The block applies to its thread and its asynchronous task.
    """
    token = _needed.set(needed)
    try:
        yield
    finally:
        _needed.reset(token)


def is_needed(given: bool | None) -> bool:
    """Whether results must have the same bits in every run."""
    return _needed.get() if given is None else given
