"""What two calls of a library function have in common that do the same: the key of a remembered call."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from keyword import iskeyword
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from vkamp import pipeline
from vkamp.dispatch.launch_keys import MAX_DEPTH, NUMBERS, ValueKey
from vkamp.lang.arrays import array
from vkamp.lang.container import Container
from vkamp.lang.index_space import components_of, extent
from vkamp.lang.kernel import DeviceFunction, KernelFunction
from vkamp.lang.views import array_view
from vkamp.run.accelerators import accelerator_view, identity_of

PLAIN = frozenset([type(None), str, type, np.dtype])

#: What :func:`_names_outside` knows, by the ids of the codes; the oldest goes first.
_codes: dict[int, tuple[CodeType, tuple[str, ...] | None]] = {}
_MAX_CODES = 1024
_UNKNOWN = (None, None)

#: What a function takes from its module by a name that the guards of a kernel look at.
_GUARDED = frozenset([ModuleType, FunctionType, BuiltinFunctionType, DeviceFunction, np.ufunc, type])


class _Absent:
    """Stands for the value of a name or a member that is missing."""


_ABSENT = _Absent()


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

    __slots__ = ("containers", "depth", "moving", "parts")

    def __init__(self, *parts: Hashable) -> None:
        self.parts: list[Any] = [*parts]
        self.containers: list[Container] = []
        self.moving: Moving | None = None
        #: How many objects enclose the one whose members are added.
        self.depth = 0

    def add(self, args: Sequence[Any], named: dict[str, Any]) -> bool:
        """Adds the arguments; False if a call with them is not repeated."""
        parts = self.parts
        for value in args:
            # As `_add`, without its call.
            kind: Any = type(value)
            if isinstance(value, Container):
                parts.append(id(value))
                self.containers.append(value)
            elif not _adder(kind)(self, value):
                return False
        for name, value in named.items():
            parts.append(name)
            if not self._add(value):
                return False
        return True

    def _add(self, value: Any) -> bool:
        kind: Any = type(value)
        return _adder(kind)(self, value)

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
                value = pipeline.builtins_of(function).get(name)
            kind = type(value)
            if kind in _GUARDED:
                parts.append(None)
            elif not ((kind in NUMBERS or isinstance(value, Container)) and self._add(value)):
                return False
        for cell in function.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:  # It has none yet.
                return False
            kind = type(value)
            if kind is FunctionType:
                if depth >= MAX_DEPTH or not self._add_function(value, depth + 1):
                    return False
            elif not ((kind in NUMBERS or isinstance(value, Container)) and self._add(value)):
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


# -- what a value adds ---------------------------------------------------------------------------------------------

_Adder = Callable[[CallKey, Any], bool]


@lru_cache(maxsize=1024)
def _adder(kind: Any) -> _Adder:
    """What adds values of a type to a key; False if a call with one is not repeated."""
    if issubclass(kind, Container):
        return _add_container
    if kind in NUMBERS:
        return _add_number
    if kind in PLAIN or issubclass(kind, np.dtype):
        return _add_constant
    if kind in _ADDERS:
        return _ADDERS[kind]
    members = getattr(kind, "_vkamp_members", None)
    if members is not None:
        return partial(_add_members, members)
    slots = pipeline.slots_of_functor(kind)
    return CallKey._add_program if slots is None else _adder_of_slots(kind, slots)


def _add_container(key: CallKey, value: Container) -> bool:
    key.parts.append(id(value))
    key.containers.append(value)
    return True


def _add_number(key: CallKey, value: Any) -> bool:
    key.parts += (type(value), _by_value(value))
    return True


def _add_constant(key: CallKey, value: Any) -> bool:
    key.parts += (type(value), value)
    return True


def _add_plain_function(key: CallKey, value: FunctionType) -> bool:
    code = value.__code__
    known, names = _codes.get(id(code), _UNKNOWN)
    is_alone = known is code and names == () and value.__closure__ is None
    if is_alone and value.__defaults__ is None and value.__kwdefaults__ is None:
        # As `_add_function`, in a third of its time.
        key.parts += (id(code), code, id(value.__globals__))
        return True
    return key._add_function(value) or key._add_program(value)


def _add_view(key: CallKey, value: accelerator_view) -> bool:
    key.parts += (accelerator_view, identity_of(value))
    return not value.is_auto_selection


def _add_extent(key: CallKey, value: extent) -> bool:
    key.parts += (extent, components_of(value))
    return True


def _add_same(key: CallKey, value: Same) -> bool:
    key.parts.append(value)
    return True


def _add_moving(key: CallKey, value: Moving) -> bool:
    key.parts.append(value.names)
    key.moving = value
    return True


def _add_sequence(key: CallKey, value: Sequence[Any]) -> bool:
    key.parts += (type(value), len(value))
    for each in value:  # noqa: SIM110 - a generator takes twice the time
        if not key._add(each):
            return False
    return True


def _add_kernel(key: CallKey, value: KernelFunction) -> bool:
    # A key that held a closure would hold its containers.
    key.parts += (value, value.function.__code__)
    return value.function.__closure__ is None


def _add_device_function(key: CallKey, value: DeviceFunction[Any, Any]) -> bool:
    if type(value.function) is not FunctionType or "<" in value.function.__qualname__:
        return key._add_program(value)
    key.parts.append(value)
    return True


def _add_members(names: Sequence[str], key: CallKey, value: Any) -> bool:
    key.parts.append(type(value))
    for name in names:  # noqa: SIM110 - a generator takes twice the time
        if not key._add(getattr(value, name)):
            return False
    return True


def _add_absent(key: CallKey, _: _Absent) -> bool:
    key.parts.append(None)
    return True


def _adder_of_slots(kind: type, slots: tuple[str, ...]) -> _Adder:
    """What adds an object with device functions and the members ``slots``, as ``_add_program``, in less time.

    Its code is generated: a loop over the members, with a call for each of them, takes 1.5 times as long.
    """
    names: dict[str, Any] = {
        "kind": kind, "most": MAX_DEPTH, "absent": _ABSENT, "array": array, "array_view": array_view, "extent": extent,
        "components_of": components_of, "adder_of": _adder,
    }  # fmt: skip
    lines = ["def add(key, value):", "parts = key.parts", "parts.append(kind)"]
    lines += ["if key.depth >= most: return False", "key.depth += 1"]
    for name in slots:
        lines += [
            "try: member = " + (f"getattr(value, {name!r})" if iskeyword(name) else f"value.{name}"),
            "except AttributeError: member = absent",
            "its = type(member)",
            "if its is array or its is array_view: parts.append(id(member)); key.containers.append(member)",
            "elif its is extent: parts += (extent, components_of(member))",
            "elif not adder_of(its)(key, member): return False",
        ]
    lines += ["key.depth -= 1", "return True"]
    exec("\n    ".join(lines), names)
    found: _Adder = names["add"]
    return found


_ADDERS: dict[Any, _Adder] = {
    FunctionType: _add_plain_function,
    accelerator_view: _add_view,
    extent: _add_extent,
    Same: _add_same,
    Moving: _add_moving,
    _Absent: _add_absent,
    tuple: _add_sequence,
    list: _add_sequence,
    KernelFunction: _add_kernel,
    DeviceFunction: _add_device_function,
}


# -- functions -----------------------------------------------------------------------------------------------------


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
