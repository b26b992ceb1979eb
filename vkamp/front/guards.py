"""What a kernel was specialised for in addition to its request: Python names, which must still mean the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from inspect import getattr_static
from types import FunctionType
from typing import Any, Literal

from vkamp.front.signature import builtins_of, read_name
from vkamp.lang import complex_math
from vkamp.lang.kernel import DeviceFunction
from vkamp.records import dataclass

#: Where a name is defined: in the kernel, a device function, the parameters of one, a module or namespace, or a class.
Place = (
    tuple[Literal["kernel"], None]
    | tuple[Literal["function"], FunctionType]
    | tuple[Literal["default"], FunctionType]
    | tuple[Literal["attribute"], Any]
    | tuple[Literal["class"], type]
)

_MISSING = object()
_PACKAGE = __name__.partition(".")[0]


@dataclass(frozen=True)
class Guard:
    """A Python value that the kernel was specialised for: ``read(kernel)`` must still give ``value``.

    The kernel is a parameter because a closure that is redefined has the same code and other cells.
    """

    name: str
    read: Callable[[FunctionType], Any]
    value: Any
    #: ``None``: where another process does not find it.
    place: Place | None = None

    def is_fixed(self, kernel: FunctionType) -> bool:
        """Whether ``math`` or vkamp itself defines the name, so that it keeps its value: launches need not read it."""
        owner: Any = None if self.place is None else self.place[1]
        if owner is math:
            return True
        if self.place is not None and self.place[0] == "kernel" and self.name not in kernel.__code__.co_freevars:
            owner = kernel
        module = getattr(owner, "__module__", None) or getattr(owner, "__name__", None)
        return str(module).partition(".")[0] == _PACKAGE

    def holds(self, kernel: FunctionType) -> bool:
        """Whether the name still has the same value."""
        now = self.read(kernel)
        if now is self.value:
            return True
        if type(now) is not type(self.value) or not isinstance(now, (int, float, bool)):
            return False
        # 0.0 is not -0.0 here, and NaN is itself.
        return repr(now) == repr(self.value) if isinstance(now, float) else now == self.value


def default_of(function: FunctionType, name: str) -> Any:
    """The value that a parameter has now if a call leaves it out."""
    named, given, code = function.__kwdefaults__ or {}, function.__defaults__ or (), function.__code__
    if name in named:
        return named[name]
    names = code.co_varnames[code.co_argcount - len(given) : code.co_argcount]
    return given[names.index(name)] if name in names else _MISSING


def guard_of(name: str, place: Place, value: Any) -> Guard:
    """The guard of a name that has ``value`` at a place."""
    if place[0] == "default":
        return Guard(name, _default_reader(place[1], name, value), value, place)
    if place[0] == "attribute":
        owner = place[1]
        return Guard(name, lambda _: getattr(owner, name, None), value, place)
    if place[0] == "class":
        cls = place[1]
        return Guard(name, lambda _: getattr_static(cls, name, None), value, place)
    return Guard(name, _kernel_reader(name) if place[0] == "kernel" else _reader(place[1], name), value, place)


def _default_reader(function: FunctionType, name: str, value: Any) -> Callable[[FunctionType], Any]:
    """Reads the default of a parameter, which is ``value`` now."""
    given = function.__defaults__
    if name in (function.__kwdefaults__ or {}):
        return lambda _: default_of(function, name)
    # Every launch reads it, and most functions keep their defaults.
    return lambda _: value if function.__defaults__ is given else default_of(function, name)


def is_of_language(value: Any) -> bool:
    """Whether a value is a device function that the compiler itself calls, for operators of complex numbers."""
    return isinstance(value, DeviceFunction) and getattr(complex_math, value.__name__, None) is value


def guard_of_language(name: str) -> Guard:
    """The guard of such a function."""
    return guard_of(name, ("attribute", complex_math), getattr(complex_math, name, None))


def different(guards: Iterable[Guard]) -> tuple[Guard, ...]:
    """Guards of which no two read the same: a launch reads all of them."""
    found: dict[Any, Guard] = {}
    for guard in guards:
        found.setdefault(_what_is_read(guard), guard)
    return tuple(found.values())


def _what_is_read(guard: Guard) -> Any:
    if guard.place is None:
        return id(guard)
    owner: Any = guard.place[1]
    if guard.place[0] == "function" and guard.name in owner.__globals__:
        owner = owner if guard.name in owner.__code__.co_freevars else owner.__globals__
    return guard.place[0], guard.name, id(owner), id(guard.value)


def _kernel_reader(name: str) -> Callable[[FunctionType], Any]:
    """Reads a name of the kernel that is launched; holds no kernel, whose closure may hold containers."""

    def read(kernel: FunctionType) -> Any:
        found = read_name(kernel, name)
        return None if found is None else found[1]

    return read


def _reader(function: FunctionType, name: str) -> Callable[[FunctionType], Any]:
    """Reads a name of a device function."""
    read = _kernel_reader(name)
    if name in function.__code__.co_freevars:
        return lambda _: read(function)
    known, builtins = function.__globals__, builtins_of(function)

    def of_module(_: FunctionType) -> Any:
        # Every launch reads all of them.
        value = known.get(name, _MISSING)
        return builtins.get(name) if value is _MISSING else value

    return of_module
