"""Tests that repeat much run a part of it, unless ``VKAMP_TEST_ALL`` is set (docs/runs.md)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")
RUNS_ALL = bool(os.environ.get("VKAMP_TEST_ALL"))


def one_of(n: int, number: int) -> bool:
    """Whether the case of this number runs: one of ``n``."""
    return RUNS_ALL or number % n == 0


def usual(cases: Sequence[_T], few: Sequence[_T]) -> Sequence[_T]:
    """A few of the cases, or all."""
    return cases if RUNS_ALL else few
