"""Assertions of uniformity (``amp.uniform``): whether the threads of a tile have equal values."""

from __future__ import annotations

from typing import Any

import numpy as np

from vkamp.sim.faults import FaultReporter, Thread


class UniformAsserts:
    """The values that the threads of the running tile passed to ``amp.uniform`` since its last barrier.

    All threads reach each assertion together, so the nth assertion of one thread at a site is the nth assertion of the
    others.
    """

    def __init__(self, judge: FaultReporter) -> None:
        self._judge = judge
        self._first: dict[tuple[int, int], tuple[int, Any]] = {}
        self._passed: dict[tuple[int, int], int] = {}

    def forget(self) -> None:
        """Called when all threads of the tile have passed the same assertions, or another tile begins."""
        self._first.clear()
        self._passed.clear()

    def judge(self, thread: Thread, site: int, value: Any) -> Any:
        """Returns the value after comparing it with that of the first thread that reached this assertion."""
        passed = self._passed.get((thread.number, site), 0)
        self._passed[thread.number, site] = passed + 1
        number, known = self._first.setdefault((site, passed), (thread.number, value))
        if number != thread.number and _bits(known) != _bits(value):
            self._judge.differs((number, known), (thread.number, value), site)
        return known


def _bits(value: Any) -> int | bool | None:
    """The identity of a value of a type: the bits of a float, where all NaN are equal."""
    if not isinstance(value, np.floating):
        return value  # type: ignore[no-any-return]
    return None if np.isnan(value) else int(value.view(f"u{value.itemsize}"))
