"""Containers, arrays of threads and tiles, structs: all of them memory of numpy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tools.fuzz.plain.values import (
    INTEGERS,
    STATE,
    Idx,
    Num,
    UndefinedError,
    UnknownError,
    Vec,
    as_items,
    convert,
    raw_of,
)
from vkamp.lang.vectors import vector_class

__all__ = ["Memory", "Record", "at_place", "read", "set_place", "value_at", "write"]


def value_at(cell: Any, place: Any = None) -> Any:
    """The content of an array without dimensions: a number, a vector, a struct, or an array in a struct."""
    dtype = cell.dtype
    if cell.ndim:
        return Memory(cell)
    if dtype.names:
        if vector_class(dtype) is not None:
            return Vec(_kind(dtype["x"]), [cell[n].item() for n in dtype.names], cell)
        return Record(cell)
    return Num(_kind(dtype), cell.item(), place=place)


def _kind(dtype: Any) -> str:
    """The type of a value that is read: a small integer is an int32."""
    name = str(dtype.name)
    return "int32" if name in INTEGERS and INTEGERS[name][0] < 32 else name


def write(cell: Any, value: Any) -> None:
    """Stores to an array of no dimensions."""
    if STATE.trial:
        return
    dtype = cell.dtype
    if isinstance(value, Record):
        cell[...] = value.cell
    elif dtype.names:
        assert isinstance(value, Vec), value
        for name, part in zip(dtype.names, list(value.v), strict=True):
            cell[name] = part
    else:
        with np.errstate(all="ignore"):
            cell[...] = convert(value, dtype.name)


read = value_at


class Record:
    """A struct at a place: an array of no dimensions."""

    __slots__ = ("cell", "cls")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, cell: Any) -> None:
        object.__setattr__(self, "cell", cell)
        object.__setattr__(self, "cls", CLASSES.get(cell.dtype))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self.cell.dtype.names:
            found = getattr(self.cls, name, None)
            if found is None:
                raise UnknownError(f"a struct's attribute {name}")
            return found.__get__(self) if hasattr(found, "__get__") else found
        return value_at(self.cell[name][...], (self, name))

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.cell.dtype.names:
            raise UnknownError(f"a struct's attribute {name}")
        write(self.cell[name][...], value)

    def __getitem__(self, name: Any) -> Any:
        return getattr(self, name)

    def __setitem__(self, name: Any, value: Any) -> None:
        setattr(self, name, value)

    def __sub__(self, other: Any) -> Any:
        return self.cls.__sub__.__get__(self)(other) if hasattr(self.cls, "__sub__") else NotImplemented

    def __lt__(self, other: Any) -> Any:
        return self.cls.__lt__.__get__(self)(other)

    def copy(self) -> Record:
        """The value alone."""
        return Record(self.cell.copy())


#: The substitutes for the classes of structs, by dtype; they have the methods.
CLASSES: dict[Any, Any] = {}


def _inside(where: tuple[int, ...]) -> tuple[Any, ...]:
    """The subscript for an array of no dimensions there."""
    return (*where, ...)


class Memory:
    """An array of elements, or a view of one."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def _at(self, key: Any) -> tuple[int, ...]:
        where = as_items(key)
        parts = key if isinstance(key, tuple) else (key,)
        for n, part in enumerate(parts):
            if type(part) is int and part < 0:
                # A literal counts from the end.
                where[n] += self.array.shape[n]
        for i, n in zip(where, self.array.shape, strict=False):
            if STATE.trial:
                return (0,) * len(where)
            if not 0 <= i < n:
                raise UndefinedError("an index out of bounds")
        return tuple(where)

    @staticmethod
    def _slice(key: slice) -> slice:
        if key.step is not None:
            raise UnknownError("a step")
        bounds = [None if bound is None else as_items(bound)[0] for bound in (key.start, key.stop)]
        for given, bound in zip((key.start, key.stop), bounds, strict=True):
            if bound is not None and bound < 0 and type(given) is not int:
                raise UndefinedError("a negative bound of a slice")
        return slice(*bounds)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return Memory(self.array[self._slice(key)])
        where = self._at(key)
        cell = self.array[_inside(where)]
        return value_at(cell, (self, where)) if len(where) == self.array.ndim else Memory(cell)

    def __setitem__(self, key: Any, value: Any) -> None:
        where = self._at(key)
        if len(where) < self.array.ndim:
            raise UnknownError("a store to a part of an array")
        write(self.array[_inside(where)], value)

    def __len__(self) -> int:
        return int(self.array.shape[0])

    def __iter__(self) -> Any:
        return (self[n] for n in range(len(self)))

    @property
    def extent(self) -> Idx:
        """The extent."""
        return Idx(list(self.array.shape), "extent")

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return int(self.array.ndim)

    @property
    def shape(self) -> Any:
        """The extent, as numpy calls it."""
        raise UnknownError("shape")

    def get_extent(self) -> Idx:
        """The extent."""
        return self.extent

    def section(self, *given: Any) -> Memory:
        """A part: origin and extent, an origin, an extent, or numbers for both."""
        rank = self.array.ndim
        if len(given) == 2 * rank and not any(isinstance(g, Idx) for g in given):
            origin, size = [int(raw_of(g)) for g in given[:rank]], [int(raw_of(g)) for g in given[rank:]]
        elif len(given) == 2:
            origin, size = as_items(given[0]), as_items(given[1])
        elif isinstance(given[0], Idx) and given[0].what == "extent":
            origin, size = [0] * rank, as_items(given[0])
        else:
            origin = as_items(given[0])
            size = [n - o for o, n in zip(origin, self.array.shape, strict=True)]
        if any(o < 0 or k < 0 or o + k > n for o, k, n in zip(origin, size, self.array.shape, strict=True)):
            raise UndefinedError("a section out of bounds")
        return Memory(self.array[tuple(slice(o, o + k) for o, k in zip(origin, size, strict=True))])

    def view_as(self, size: Any) -> Memory:
        """Its first elements in another shape."""
        shape = as_items(size)
        count = math.prod(shape)
        if not self.array.flags["C_CONTIGUOUS"] or count > self.array.size:
            raise UndefinedError("a view of what is not in one row")
        return Memory(self.array.reshape(-1)[:count].reshape(shape))

    def reinterpret_as(self, kind: Any) -> Memory:
        """Its bytes as elements of another type."""
        if not self.array.flags["C_CONTIGUOUS"]:
            raise UndefinedError("a view of what is not in one row")
        return Memory(self.array.reshape(-1).view(np.dtype(getattr(kind, "dtype", kind))))


def at_place(place: Any) -> Any:
    """The number that is at a place now."""
    owner, where = place
    if isinstance(owner, Memory):
        return value_at(owner.array[_inside(where)], place)
    if isinstance(owner, Vec):
        return owner.current(where)
    return getattr(owner, where)


def set_place(place: Any, value: Any) -> None:
    """Stores to the place that a number was read from."""
    owner, where = place
    if isinstance(owner, Memory):
        write(owner.array[_inside(where)], value)
    else:
        setattr(owner, where, value)
