"""A table of kernels with a fault each, and what checking must say of it.

The fault's lines are marked in the source: ``# fault`` where it is, ``# other`` where the other thread's access is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import vkamp as amp

__all__ = ["CASES", "Case", "case"]


@dataclass(frozen=True)
class Case:
    """A kernel with its launch; ``arguments`` makes fresh ones, the marks give the lines."""

    name: str
    kernel: Any
    domain: Any
    arguments: Callable[[], tuple[Any, ...]]
    kind: str
    variable: str
    #: Whether the other access is marked as the fault too (two threads at one line).
    lines: frozenset[int]
    module: str

    def __str__(self) -> str:
        return self.name


CASES: list[Case] = []


def case(
    domain: Any, kind: str, variable: str = "", *, arguments: Callable[[], tuple[Any, ...]]
) -> Callable[[Any], Any]:
    """Puts a function into the table, as a kernel."""

    def add(function: Any) -> Any:
        lines, start = inspect.getsourcelines(function)
        marked = frozenset(start + k for k, line in enumerate(lines) if "# fault" in line or "# other" in line)
        assert marked, function.__name__
        kernel = amp.kernel(function)
        CASES.append(Case(function.__name__, kernel, domain, arguments, kind, variable, marked, function.__module__))
        return kernel

    return add
