"""Floats of a module that change from launch to launch: from the second change on a launch hands them over.

A module's number is a constant of the kernels that use it, and another value another kernel.  One that has had two
values already, and now has a third, is taken as a number that a closure captures: a value of the launch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np

from vkamp.front.guards import Guard
from vkamp.front.source import CodeKey

__all__ = ["give_up", "is_varying", "note"]

#: A number with so many values is a constant; with another one it varies.
_MOST_VALUES = 2
_LARGEST = float(np.finfo(np.float32).max)


@dataclass
class _Names:
    """What is known of the floats that a kernel names."""

    values: dict[str, set[str]] = field(default_factory=dict)
    #: Those that are values of the launch, in the order in which they became so.
    varying: list[str] = field(default_factory=list)
    constant: set[str] = field(default_factory=set)


_known: dict[CodeKey, _Names] = {}
#: Kernels that are remembered; the oldest goes first.
_KEEP = 1024


def note(function: FunctionType, guards: Iterable[Guard]) -> None:
    """Keeps the values of the floats that a kernel was compiled with."""
    for guard in guards:
        if guard.place == ("kernel", None) and isinstance(guard.value, float):
            names = _known.setdefault(CodeKey(function.__code__), _Names())
            names.values.setdefault(guard.name, set()).add(repr(guard.value))
    while len(_known) > _KEEP:
        _known.pop(next(iter(_known)))


def is_varying(function: FunctionType, name: str, value: Any) -> bool:
    """Whether a module's number is a value of the launch."""
    names = _known.get(CodeKey(function.__code__)) if _known else None
    if names is None or name in names.constant or not isinstance(value, float):
        return False
    if math.isfinite(value) and abs(value) > _LARGEST:
        return False
    values = names.values.get(name, ())
    if len(values) >= _MOST_VALUES and repr(value) not in values and name not in names.varying:
        names.varying.append(name)
    return name in names.varying


def give_up(function: FunctionType) -> bool:
    """Makes the number that was the last to vary a constant again, as the kernel needs it. ``False`` if none varies."""
    names = _known.get(CodeKey(function.__code__))
    if names is None or not names.varying:
        return False
    names.constant.add(names.varying.pop())
    return True
