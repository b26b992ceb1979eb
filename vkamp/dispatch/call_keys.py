"""What two calls of a library function have in common that do the same: the key of a remembered call."""

from __future__ import annotations

import builtins
import dis
import sys
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
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
_UNKNOWN = (None, None)

#: What a function takes from its module by a name that the guards of a kernel look at.
_GUARDED = frozenset([ModuleType, FunctionType, BuiltinFunctionType, DeviceFunction, np.ufunc, type])
_BUILTINS = vars(builtins)

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

    def __init__(self, *parts: Hashable) -> None:
        self.parts: list[Any] = [*parts]
        self.containers: list[Container] = []
        self.moving: Moving | None = None

    def add(self, args: Sequence[Any], named: dict[str, Any]) -> bool:
        """Adds the arguments; False if a call with them is not repeated."""
        parts = self.parts
        for value in args:
            # As `_add`, in a third of its time.
            if isinstance(value, Container):
                parts.append(id(value))
                self.containers.append(value)
            elif type(value) is FunctionType:
                code = value.__code__
                known, names = _codes.get(id(code), _UNKNOWN)
                is_alone = known is code and names == () and value.__closure__ is None
                if is_alone and value.__defaults__ is None and value.__kwdefaults__ is None:
                    parts += (id(code), code, id(value.__globals__))
                elif not self._add(value):
                    return False
            elif not self._add(value):
                return False
        for name, value in named.items():
            parts.append(name)
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
            self.parts += (kind, _by_value(value))
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

    def _add_function(self, function: FunctionType, depth: int = 0) -> bool:
        """Adds a function if its code, numbers, containers and other functions are all that it depends on, in a fifth
        of :meth:`_add_program`'s time."""
        names = _names_outside(function.__code__)
        if names is None or function.__defaults__ is not None or function.__kwdefaults__ is not None:
            return False
        code = function.__code__
        # Equal code may be in another file, or have other annotations; the key keeps the code, and so its id.
        around, parts = function.__globals__, self.parts
        parts += (id(code), code, id(around))
        for name in names:
            value = around.get(name, _ABSENT)
            if value is _ABSENT:
                value = _BUILTINS.get(name)
            if type(value) in _GUARDED:
                parts.append(None)
            elif not self._add_captured(value):
                return False
        for cell in function.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:  # It has none yet.
                return False
            if type(value) is FunctionType:
                if depth >= MAX_DEPTH or not self._add_function(value, depth + 1):
                    return False
            elif not self._add_captured(value):
                return False
        return True

    def _add_captured(self, value: Any) -> bool:
        """Adds a number or a container that a function captures; False for anything else."""
        kind = type(value)
        if kind in NUMBERS:
            self.parts += (kind, _by_value(value))
            return True
        if isinstance(value, Container):
            self.parts.append(id(value))
            self.containers.append(value)
            return True
        return False

    def _add_object(self, value: Any, slots: tuple[str, ...], depth: int) -> bool:
        """Adds an object with device functions and the members ``slots``, as :meth:`_add_program`, without its
        calls."""
        self.parts.append(type(value))
        for name in slots:
            member: Any = getattr(value, name, _ABSENT)
            if member is _ABSENT:
                continue
            self.parts.append(name)
            kind: Any = type(member)
            # As `_add`, in a third of its time.
            if kind is extent:
                self.parts += (kind, components_of(member))
                continue
            if isinstance(member, Container):
                self.parts.append(id(member))
                self.containers.append(member)
                continue
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


def _by_value(number: Any) -> Hashable:
    """A number as a part of a key that has its type, too: as text if it is zero, which has a sign, or not a number."""
    return number if number and number == number else repr(number)


def _names_outside(code: CodeType) -> tuple[str, ...] | None:
    """The names that code takes from its module; None if it may have other ones than its bytecode."""
    known = _codes.get(id(code))
    if known is not None and known[0] is code:
        return known[1]
    # Kernels have the assertions that `python -O` leaves out.
    names = None if sys.flags.optimize else tuple(dict.fromkeys(_globals_of(code)))
    while len(_codes) >= _MAX_CODES:
        _codes.pop(next(iter(_codes)), None)
    _codes[id(code)] = (code, names)
    return names


def _globals_of(code: CodeType) -> Iterator[str]:
    """The names that code takes from its module, also in functions in it."""
    for each in dis.get_instructions(code):
        if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield each.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals_of(constant)
