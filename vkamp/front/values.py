"""The values that an expression of the kernel language can have while it is compiled.

Only :class:`Number` and :class:`Element` exist at run time; the others are resolved by the front end.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any

import numpy as np

from vkamp.errors import Span
from vkamp.front.signature import FunctorType
from vkamp.front.source import Source
from vkamp.ir import nodes as ir
from vkamp.ir.types import COMPLEX, Array, Scalar, Type, Vector, promoted


@dataclass(frozen=True)
class Value:
    """Base of all compile-time values."""


@dataclass(frozen=True)
class Constant(Value):
    """A Python number known at compile time; int and float are weak, a bool is of type bool."""

    value: bool | int | float


@dataclass(frozen=True)
class Number(Value):
    """A scalar or short vector that is known only at run time.

    ``weak``: a captured Python number, which takes the type of the other operand.  ``double``: the same float in double
    precision, where Python's own is available.

    ``objects``: for a vector or a component of an index, the variables whose object it may be in Python; empty for a
    copy of an element or part, ``None`` for a new object.
    """

    expr: ir.Expr
    weak: bool = False
    double: ir.Expr | None = None
    objects: tuple[ir.Local, ...] | None = None


@dataclass(frozen=True)
class Element(Value):
    """A place that holds a scalar, a short vector or a struct and is loaded where its value is needed."""

    place: ir.Place


@dataclass(frozen=True)
class ComplexConstant(Number):
    """A complex number of Python that is known at compile time."""

    value: complex = 0j


def complex_constant(span: Span, value: complex, kind: Vector = COMPLEX["complex64"]) -> ComplexConstant:
    """A complex number of Python."""
    element = kind.element
    with np.errstate(over="ignore"):
        parts = (element.dtype.type(part).item() for part in (value.real, value.imag))
    return ComplexConstant(
        ir.Construct(span, kind, tuple(ir.Const(span, element, part) for part in parts)), weak=True, value=value
    )


def objects_of(value: Value) -> tuple[ir.Local, ...] | None:
    """The variables whose vector or index a value may be in Python, as ``Number.objects`` has them."""
    if isinstance(value, Element):
        return (value.place,) if isinstance(value.place, ir.Local) else ()
    return value.objects if isinstance(value, Number) else None


def objects_of_any(*values: Value) -> tuple[ir.Local, ...] | None:
    """The same of a choice between values."""
    known = [objects for objects in map(objects_of, values) if objects is not None]
    return tuple(o for objects in known for o in objects) if known else None


def of_launch(name: str, kind: Type, span: Span) -> tuple[ir.Local, ...]:
    """What ``Number.objects`` has for a vector or a component of an index that the launch passes.

    It is not a variable of the kernel, and its name does not occur in the Python source.
    """
    return (ir.Local(span, kind, ir.Variable(f"{name} of the launch", kind, "local", span)),)


def loaded(place: ir.Place, span: Span) -> ir.Expr:
    """The value at a place; one of a small integer type is promoted, as expressions compute with it."""
    load = ir.Load(span, place.type, place)
    kind = promoted(place.type) if isinstance(place.type, Scalar) else place.type
    return load if kind == place.type else ir.Cast(span, kind, load)


@dataclass(frozen=True)
class Returned(Value):
    """A struct that a function returns and that exists outside it: its place, as the function sees it."""

    place: ir.Place


@dataclass(frozen=True)
class TupleValue(Value):
    """A tuple; ``kind`` ``index`` and ``extent`` are AMP's objects, with their own operators.

    ``names``: those of the fields of a named tuple or dataclass, and ``cls`` its class, if that is known.
    """

    items: tuple[Value, ...]
    kind: str = "tuple"
    names: tuple[str, ...] = ()
    cls: type | None = None

    def of(self, items: Iterable[Value]) -> TupleValue:
        """The same kind of tuple with other items."""
        return TupleValue(tuple(items), self.kind, self.names, self.cls)

    @property
    def has_items(self) -> bool:
        """Whether it has subscripts, a length and an order of items in Python; a dataclass has fields only."""
        return self.cls is None or issubclass(self.cls, tuple)


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
class ViewRef(Value):
    """A view made in the kernel, over a container, an array or another view."""

    of: Memory

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        raise NotImplementedError


#: What has elements.
Memory = BufferRef | ArrayRef | ViewRef


@dataclass(frozen=True)
class SectionView(ViewRef):
    """A box of ``of``: its element 0 is the one at ``origin``."""

    origin: tuple[ir.Expr, ...]
    size: tuple[ir.Expr, ...]

    @property
    def rank(self) -> int:
        return len(self.size)


@dataclass(frozen=True)
class ShapedView(ViewRef):
    """The elements of ``of``, of rank 1, in another shape (``view_as``)."""

    size: tuple[ir.Expr, ...]

    @property
    def rank(self) -> int:
        return len(self.size)


@dataclass(frozen=True)
class ProjectionView(ViewRef):
    """``of[index]``: one dimension less."""

    index: ir.Expr

    @property
    def rank(self) -> int:
        return self.of.rank - 1


@dataclass(frozen=True)
class ReinterpretedView(ViewRef):
    """The memory of ``of``, of rank 1, as elements of another type."""

    element: Type

    @property
    def rank(self) -> int:
        return 1


class ThreadRef(Value):
    """The kernel's first parameter: the tiled index, or the index of an untiled domain."""


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


def is_none(value: Value) -> bool:
    """Whether a value is None."""
    return isinstance(value, Object) and value.value is None


@dataclass(frozen=True, eq=False)
class LocalFunction:
    """The code of a function nested in a kernel, or that a launch passes: a ``def`` or a ``lambda``.

    ``node`` is its identity; ``outer`` the Python function whose module gives names; ``lookup`` finds what the
    function around it takes from outside.  ``by_value``: whether Python passes vectors and index objects by value, too.
    """

    name: str
    node: ast.FunctionDef | ast.Lambda
    source: Source
    signature: inspect.Signature
    outer: FunctionType
    lookup: Callable[[str, Span], Value | None]
    by_value: bool


@dataclass(frozen=True)
class Closure(Value):
    """A function with what it captured where it is defined (AMP: a lambda that captures by value).

    ``later``: functions that it calls and that are defined after it, and where it names them.
    """

    code: LocalFunction
    captured: tuple[tuple[str, Value], ...]
    later: tuple[tuple[str, Span], ...] = ()


@dataclass(frozen=True)
class Functor(Value):
    """An object of a Python class, whose members the launch passes: ``name`` is its path, ``self.inner``."""

    name: str
    kind: FunctorType


@dataclass(frozen=True)
class BoundFunction(Value):
    """A method of an object or struct, waiting for its call; ``function`` is an ``@amp.func`` or a plain
    function."""

    function: Any
    owner: Value


class NoValue(Value):
    """The result of a call that returns nothing."""


# -- the run-time parts of views -----------------------------------------------------------------------------------


def place_parts(place: ir.Place) -> list[ir.Expr]:
    """The subscripts on the way to an array, outermost first."""
    if isinstance(place, ir.Local):
        return []
    if isinstance(place, ir.BufferElement):
        return list(place.indices)
    assert isinstance(place, (ir.ArrayElement, ir.ComponentsOf, ir.FieldOf, ir.Reinterpreted, ir.ViewElement))
    inner = place_parts(place.base)
    if isinstance(place, ir.ArrayElement):
        return [*inner, *place.indices]
    if isinstance(place, ir.Reinterpreted):
        return [*inner, place.index]
    return [*inner, *place.indices, *place.extent] if isinstance(place, ir.ViewElement) else inner


def with_root(place: ir.Place, root: ir.Place) -> ir.Place:
    """The same part of something else."""
    if isinstance(place, (ir.Local, ir.BufferElement)):
        return root
    assert isinstance(place, (ir.ArrayElement, ir.ComponentsOf, ir.FieldOf, ir.Reinterpreted, ir.ViewElement))
    return replace(place, base=with_root(place.base, root))


def with_place_parts(place: ir.Place, parts: Iterator[ir.Expr]) -> ir.Place:
    def some(old: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
        return tuple(next(parts) for _ in old)

    if isinstance(place, ir.Local):
        return place
    if isinstance(place, ir.BufferElement):
        return replace(place, indices=some(place.indices))
    assert isinstance(place, (ir.ArrayElement, ir.ComponentsOf, ir.FieldOf, ir.Reinterpreted, ir.ViewElement))
    base = with_place_parts(place.base, parts)
    if isinstance(place, ir.ArrayElement):
        return replace(place, base=base, indices=some(place.indices))
    if isinstance(place, ir.Reinterpreted):
        return replace(place, base=base, index=next(parts))
    if isinstance(place, ir.ViewElement):
        return replace(place, base=base, indices=some(place.indices), extent=some(place.extent))
    return replace(place, base=base)


def view_parts(value: Memory) -> list[ir.Expr]:
    """The numbers of a container, array or view that are known only at run time: subscripts, origins, sizes."""
    if isinstance(value, BufferRef):
        return list(value.prefix)
    if isinstance(value, ArrayRef):
        return [*place_parts(value.place), *value.prefix]
    inner = view_parts(value.of)
    if isinstance(value, SectionView):
        return [*inner, *value.origin, *value.size]
    if isinstance(value, ShapedView):
        return [*inner, *value.size]
    return [*inner, value.index] if isinstance(value, ProjectionView) else inner


def with_view_parts(value: Memory, parts: Iterator[ir.Expr]) -> Memory:
    """The value with other numbers, in the order of :func:`view_parts`."""

    def some(old: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
        return tuple(next(parts) for _ in old)

    if isinstance(value, BufferRef):
        return replace(value, prefix=some(value.prefix))
    if isinstance(value, ArrayRef):
        place = with_place_parts(value.place, parts)
        return replace(value, place=place, prefix=some(value.prefix))
    of = with_view_parts(value.of, parts)
    if isinstance(value, SectionView):
        return replace(value, of=of, origin=some(value.origin), size=some(value.size))
    if isinstance(value, ShapedView):
        return replace(value, of=of, size=some(value.size))
    if isinstance(value, ProjectionView):
        return replace(value, of=of, index=next(parts))
    return replace(value, of=of)
