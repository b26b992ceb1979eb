"""What two calls of a library function have in common that do the same: the key of a remembered call."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from vkamp import pipeline
from vkamp.dispatch.launch_keys import MAX_DEPTH, NUMBERS, ValueKey
from vkamp.lang.container import Container
from vkamp.lang.index_space import components_of, extent
from vkamp.lang.kernel import DeviceFunction, KernelFunction
from vkamp.run.accelerators import accelerator_view, identity_of

PLAIN = frozenset([type(None), str, type, np.dtype])

#: What :func:`_names_outside` knows, by the ids of the codes; the oldest goes first.
_codes: dict[int, tuple[CodeType, tuple[str, ...] | None]] = {}
_MAX_CODES = 1024

_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Moving:
    """An argument whose numbers change from call to call, and with them words of the call's only launch.

    ``names``: of the numbers in the objects that the kernel takes.  They are part of a call's key; the numbers are not,
    nor is ``origin``, from which the function makes them.
    """

    names: tuple[str, ...]
    numbers: tuple[int, ...]
    origin: Any


class Same(tuple[Hashable, ...]):
    """An argument that is compared as a whole. It must not depend on the types of its numbers: 1 == 1.0 == True."""

    __slots__ = ()


class CallKey:
    """What two calls have in common that do the same."""

    __slots__ = ("containers", "moving", "parts")

    def __init__(self, function: Any) -> None:
        self.parts: list[Any] = [function]
        self.containers: list[Container] = []
        self.moving: Moving | None = None

    def add(self, args: Sequence[Any], named: dict[str, Any]) -> bool:
        """Adds the arguments; False if a call with them is not repeated."""
        for value in args:
            if isinstance(value, Container):  # as `_add`, without its call
                self.parts.append(id(value))
                self.containers.append(value)
            elif not self._add(value):
                return False
        for name, value in named.items():
            self.parts.append(name)
            if not self._add(value):
                return False
        return True

    def _add(self, value: Any) -> bool:
        kind: Any = type(value)
        if isinstance(value, Container):
            self.parts.append(id(value))
            self.containers.append(value)
            return True
        if kind is FunctionType and self._add_function(value):
            return True
        if kind in NUMBERS:
            # As text, which distinguishes 0.0 from -0.0.
            self.parts += (kind, repr(value))
            return True
        if kind in PLAIN or isinstance(value, np.dtype):
            self.parts += (kind, value)
            return True
        if kind is accelerator_view:
            self.parts += (kind, identity_of(value))
            return not value.is_auto_selection
        if kind is extent:
            self.parts += (kind, components_of(value))
            return True
        if kind is Same:
            self.parts.append(value)
            return True
        if kind is Moving:
            self.parts.append(value.names)
            self.moving = value
            return True
        if kind is tuple or kind is list:
            self.parts += (kind, len(value))
            return all(self._add(each) for each in value)
        if kind is KernelFunction:
            # A key that held a closure would hold its containers.
            self.parts += (value, value.function.__code__)
            return value.function.__closure__ is None
        # As `_add_program`, without its calls.
        if kind is DeviceFunction and type(value.function) is FunctionType and "<" not in value.function.__qualname__:
            self.parts.append(value)
            return True
        members = getattr(kind, "_vkamp_members", None)
        if members is not None:
            self.parts.append(kind)
            return all(self._add(getattr(value, name)) for name in members)
        slots = pipeline.slots_of_functor(kind)
        return self._add_program(value) if slots is None else self._add_object(value, slots, 0)

    def _add_function(self, function: FunctionType) -> bool:
        """Adds a function if its code and numbers are all that it depends on, in a fifth of :meth:`_add_program`'s
        time."""
        names = _names_outside(function.__code__)
        if names is None or function.__defaults__ is not None or function.__kwdefaults__ is not None:
            return False
        cells = function.__closure__
        found: list[Any] = []
        if names or cells:
            try:
                found += map(function.__globals__.__getitem__, names)
                found += [cell.cell_contents for cell in cells or ()]
            except (KeyError, ValueError):  # It is a builtin or an attribute, or has no value yet.
                return False
            if not NUMBERS.issuperset(map(type, found)):
                return False
        code = function.__code__
        # Equal code may be in another file, or have other annotations; the key keeps the code, and so its id.
        self.parts += (id(code), code, id(function.__globals__), *map(type, found), *map(repr, found))
        return True

    def _add_object(self, value: Any, slots: tuple[str, ...], depth: int) -> bool:
        """Adds an object with device functions and the members ``slots``, as :meth:`_add_program`, without its
        calls."""
        self.parts.append(type(value))
        for name in slots:
            member = getattr(value, name, _ABSENT)
            if member is _ABSENT:
                continue
            self.parts.append(name)
            kind: Any = type(member)
            inner = pipeline.slots_of_functor(kind)
            if inner is None:
                if not self._add(member):
                    return False
            elif depth >= MAX_DEPTH or not self._add_object(member, inner, depth + 1):
                return False
        return True

    def _add_program(self, value: Any) -> bool:
        """A function, or an object with device functions, by what a launch with it would be known by."""
        found = ValueKey(self.parts, [], [])
        if not found.add_argument(0, value):
            return False
        for each in found.values:
            if isinstance(each, Container):
                self.containers.append(each)
            else:
                self.parts.append(repr(each))
        return True


def _names_outside(code: CodeType) -> tuple[str, ...] | None:
    """The names that code takes from its module; None if it has functions in it."""
    known = _codes.get(id(code))
    if known is not None and known[0] is code:
        return known[1]
    names = None if CodeType in map(type, code.co_consts) else code.co_names
    while len(_codes) >= _MAX_CODES:
        _codes.pop(next(iter(_codes)), None)
    _codes[id(code)] = (code, names)
    return names
