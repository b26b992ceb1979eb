"""Floats of a module that change from launch to launch: from the second change on, a launch passes them as arguments.

A module's number is a constant of the kernels that use it; a kernel is compiled for each value.  A number that has had
two values and now has a third is treated like a number that a closure captures: it becomes a value of the launch.  A
number that an ``@amp.func`` uses has a path, ``MODULE.NAME``, which names it among the arguments of the launch. Only
launches with the same functions as one whose kernel used the number pass it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import field
from types import FunctionType
from typing import Any

import numpy as np

from vkamp.front.guards import Guard
from vkamp.front.signature import FunctorType, OperatorType, Request, with_parts
from vkamp.front.source import CodeKey
from vkamp.lang.kernel import DeviceFunction
from vkamp.records import dataclass

#: A number with at most this many values stays a constant; with more it becomes a run-time argument.
_MAX_VALUES = 2
_LARGEST = float(np.finfo(np.float32).max)


#: The functions and the classes of functors among the arguments of a launch, in a fixed order.
_Functions = tuple[Hashable, ...]


@dataclass
class _Names:
    """What is known of the floats that a kernel names."""

    values: dict[str, set[str]] = field(default_factory=dict)
    #: Those that are values of the launch, in the order in which they became so.
    varying: list[str] = field(default_factory=list)
    constant: set[str] = field(default_factory=set)
    #: Paths -> an ``@amp.func`` that names the number, and the name.
    named: dict[str, tuple[FunctionType, str]] = field(default_factory=dict)
    #: Paths -> the functions among the arguments of launches whose kernels use the number.
    users: dict[str, set[_Functions]] = field(default_factory=dict)


_known: dict[CodeKey, _Names] = {}
#: Kernels that are remembered; the oldest goes first.
_KEEP = 1024


def note(request: Request, guards: Iterable[Guard]) -> None:
    """Keeps the values of the floats that a kernel was compiled with."""
    function, functions = request.function, None
    for guard in guards:
        if guard.place is None or guard.place[0] not in ("kernel", "function") or not isinstance(guard.value, float):
            continue
        names = _known.setdefault(CodeKey(function.__code__), _Names())
        path = guard.name
        if guard.place[0] == "function":
            path = _named(names, guard.place[1], guard.name)
            if functions is None:
                functions = _functions_in((*request.args, *request.constants))
            names.users.setdefault(path, set()).add(functions)
        names.values.setdefault(path, set()).add(repr(guard.value))
    while len(_known) > _KEEP:
        _known.pop(next(iter(_known)))


def _named(names: _Names, function: FunctionType, name: str) -> str:
    """The path of a float that a device function names."""
    path = f"{function.__module__}.{name}"
    first, _ = names.named.setdefault(path, (function, name))
    if name in function.__code__.co_freevars or first.__globals__ is not function.__globals__:
        # A closure's number, or one of another module of the same name.
        names.constant.add(path)
    return path


def handed_over(kernel: FunctionType, arguments: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, float]]:
    """The paths and values of the numbers that a launch passes to the device functions of a kernel.

    ``arguments``: the names and types of the launch's arguments and constants.
    """
    names = _known.get(CodeKey(kernel.__code__)) if _known else None
    if names is None or not names.named:
        return
    functions = _functions_in(arguments)
    for path, (function, name) in names.named.items():
        if functions not in names.users[path]:
            continue
        value = function.__globals__.get(name)
        if is_varying(kernel, path, value):
            yield path, float(value)  # type: ignore[arg-type]


def _functions_in(arguments: Iterable[tuple[str, Any]]) -> _Functions:
    """The functions and classes of functors among the names and types of arguments."""
    found: list[Hashable] = []
    for kind in with_parts(kind for _, kind in arguments):
        if isinstance(kind, OperatorType):
            found.append((kind.code, kind.module))
        elif isinstance(kind, FunctorType):
            found.append(kind.cls)
        elif isinstance(kind, DeviceFunction):
            found.append(kind)
    return tuple(found)


def paths(kernel: FunctionType) -> dict[tuple[int, str], str]:
    """The paths of the numbers that device functions name, by the id of the module's names and the name."""
    names = _known.get(CodeKey(kernel.__code__))
    named = {} if names is None else names.named
    return {(id(function.__globals__), name): path for path, (function, name) in named.items()}


def is_varying(function: FunctionType, name: str, value: Any) -> bool:
    """Whether a module's number is a value of the launch."""
    names = _known.get(CodeKey(function.__code__)) if _known else None
    if names is None or name in names.constant or not isinstance(value, float):
        return False
    if math.isfinite(value) and abs(value) > _LARGEST:
        return False
    values = names.values.get(name, ())
    if len(values) >= _MAX_VALUES and repr(value) not in values and name not in names.varying:
        names.varying.append(name)
    return name in names.varying


def give_up(function: FunctionType) -> bool:
    """Makes the number that was the last to vary a constant again, as the kernel needs it. ``False`` if none varies."""
    names = _known.get(CodeKey(function.__code__))
    if names is None or not names.varying:
        return False
    names.constant.add(names.varying.pop())
    return True
