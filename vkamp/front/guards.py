"""What a kernel was specialised for beside its request: Python names, which must still mean the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Literal

from vkamp.front.signature import read_name

#: Where a name stands: in the kernel, in a device function, or as the attribute of a module or namespace.
Place = tuple[Literal["kernel"], None] | tuple[Literal["function"], FunctionType] | tuple[Literal["attribute"], Any]


@dataclass(frozen=True)
class Guard:
    """A Python value that the kernel was specialised for: ``read(kernel)`` must still give ``value``.

    The kernel is a parameter because a closure that is defined anew has the same code and other cells.
    """

    name: str
    read: Callable[[FunctionType], Any]
    value: Any
    #: ``None``: where another process does not find it.
    place: Place | None = None

    def holds(self, kernel: FunctionType) -> bool:
        """Whether the name still stands for the same value."""
        now = self.read(kernel)
        if now is self.value:
            return True
        if type(now) is not type(self.value) or not isinstance(now, (int, float, bool)):
            return False
        # 0.0 is not -0.0 here, and NaN is itself.
        return repr(now) == repr(self.value) if isinstance(now, float) else now == self.value


def guard_of(name: str, place: Place, value: Any) -> Guard:
    """The guard of a name that stands for ``value`` at a place."""
    if place[0] == "attribute":
        owner = place[1]
        return Guard(name, lambda _: getattr(owner, name, None), value, place)
    return Guard(name, _kernel_reader(name) if place[0] == "kernel" else _reader(place[1], name), value, place)


def _kernel_reader(name: str) -> Callable[[FunctionType], Any]:
    """Reads a name of the kernel that is launched; holds no kernel, whose closure may hold containers."""

    def read(kernel: FunctionType) -> Any:
        found = read_name(kernel, name)
        return None if found is None else found[1]

    return read


def _reader(function: FunctionType, name: str) -> Callable[[FunctionType], Any]:
    """Reads a name of a device function."""
    return lambda _: _kernel_reader(name)(function)
