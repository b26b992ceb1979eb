"""What an expression of the kernel language can stand for while it is compiled.

Only :class:`Number` and :class:`Element` exist at run time; the others are resolved by the front end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from vkamp.ir import nodes as ir
from vkamp.ir.types import Array

__all__ = [
    "ArrayRef",
    "BarrierRef",
    "BufferRef",
    "Constant",
    "Element",
    "FieldMethod",
    "Nothing",
    "Number",
    "Object",
    "ThreadRef",
    "TupleValue",
    "Value",
]


@dataclass(frozen=True)
class Value:
    """Base of all compile-time values."""


@dataclass(frozen=True)
class Constant(Value):
    """A Python number known at compile time; int and float are weak, a bool is of type bool."""

    value: bool | int | float


@dataclass(frozen=True)
class Number(Value):
    """A scalar or short vector of the run time.

    ``weak``: a captured Python number, which takes the type of what it meets.
    """

    expr: ir.Expr
    weak: bool = False


@dataclass(frozen=True)
class Element(Value):
    """A place that holds a scalar, a short vector or a struct and is loaded where its value is needed."""

    place: ir.Place


@dataclass(frozen=True)
class TupleValue(Value):
    """A tuple; ``kind`` ``index`` and ``extent`` are AMP's objects, with their own operators."""

    items: tuple[Value, ...]
    kind: str = "tuple"


@dataclass(frozen=True)
class BufferRef(Value):
    """A captured container, or its projection on the first dimensions (``prefix``)."""

    param: ir.BufferParam
    prefix: tuple[ir.Expr, ...] = ()

    @property
    def rank(self) -> int:
        """Dimensions left."""
        return self.param.rank - len(self.prefix)


@dataclass(frozen=True)
class ArrayRef(Value):
    """An array at ``place``, or its projection."""

    place: ir.Place
    prefix: tuple[ir.Expr, ...] = ()

    @property
    def rank(self) -> int:
        """Dimensions left."""
        return len(self.place.type.shape) - len(self.prefix) if isinstance(self.place.type, Array) else 0


@dataclass(frozen=True)
class ThreadRef(Value):
    """The kernel's first parameter: the tiled index, or the index of an untiled domain."""


@dataclass(frozen=True)
class BarrierRef(Value):
    """``t_idx.barrier``."""


@dataclass(frozen=True)
class FieldMethod(Value):
    """A method of a compile-time value, waiting for its call."""

    owner: Value
    name: str


@dataclass(frozen=True)
class Object(Value):
    """Any other Python object that the source names: a function, a type, a module, a dtype, a string."""

    value: Any = field(hash=False)


@dataclass(frozen=True)
class Nothing(Value):
    """The result of a call that returns nothing."""
