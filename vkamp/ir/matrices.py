"""Cooperative matrices: how vkamp distributes one over a subgroup, and each operation thread by thread.

The first eight lanes of a subgroup have the columns 0 to 7, 8 to 15, ... of an accumulator, and each further eight
lanes the same columns of further rows.  For a product, each lane has the complete rows of the first operand, and
columns of the second, that its accumulator elements need.  So a product needs no exchange between lanes, and a kernel
with matrices runs on devices that have none, with subgroups of any size: they are just threads with neighbouring
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.build import Builder
from vkamp.ir.types import (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    INT32,
    NARROW_FLOATS,
    UINT32,
    VECTORS,
    Fragments,
    Scalar,
    Type,
    promoted,
)

#: Which operand of a product a matrix is.
USES = ("a", "b", "accumulator")
#: The lanes that share the rows of a matrix.
LANES_IN_ROW = 8
#: The component types of operands, and of accumulators for each.
ACCUMULATORS = {
    "float16": ("float32", "float16"),
    "bfloat16": ("float32",),
    "int8": ("int32",),
    "uint8": ("int32", "uint32"),
}


def problem_of(rows: int, columns: int, use: str, lanes: int) -> str | None:
    """Why a matrix cannot be distributed over a subgroup; ``None`` if it can."""
    if lanes < LANES_IN_ROW:
        return f"a subgroup of {lanes} lanes is too small for matrices: they need {LANES_IN_ROW}"
    groups = lanes // LANES_IN_ROW
    if use != "b" and (rows <= 0 or rows % groups):
        return f"{rows} rows are not a multiple of {groups}, as they must be in subgroups of {lanes} lanes"
    if use != "a" and (columns <= 0 or columns % LANES_IN_ROW):
        return f"{columns} columns are not a multiple of {LANES_IN_ROW}"
    return None


def fragments(component: Scalar, rows: int, columns: int, use: str, lanes: int, count: tuple[int, ...]) -> Fragments:
    """The type of a matrix, or of an array of ``count`` of them."""
    element = component if component == FLOAT16 and use == "accumulator" else promoted(component)
    if use != "accumulator":
        element = FLOAT32 if component.kind == "float" else INT32
    shape = (*count, math.prod(_lane_shape(rows, columns, use, lanes)))
    return Fragments(element, shape, component, rows, columns, use)


def _lane_shape(rows: int, columns: int, use: str, lanes: int) -> tuple[int, int]:
    """The rows and columns of a matrix of which a lane has elements."""
    groups = lanes // LANES_IN_ROW
    return (rows if use == "b" else rows // groups), (columns if use == "a" else columns // LANES_IN_ROW)


def element_place(matrix: ir.ArrayElement, number: ir.Expr) -> ir.ArrayElement:
    """An element of a lane by its number; ``matrix``: the first."""
    return replace(matrix, indices=(*matrix.indices[:-1], number))


def kind_of(matrix: ir.Place) -> Fragments:
    """The type of the matrix at the place of a first element."""
    assert isinstance(matrix, ir.ArrayElement)
    found = matrix.base.type
    assert isinstance(found, Fragments)
    return found


def function_of(statement: ir.MatrixOperation) -> str:
    """The function of the language that a statement comes from."""
    return "matrix" if statement.op == "fill" else f"matrix_{statement.op}"


def matrix_at(expr: ir.Expr) -> ir.ArrayElement:
    """The place of a matrix that an operation reads."""
    assert isinstance(expr, ir.Load) and isinstance(expr.place, ir.ArrayElement)
    return expr.place


def rank_in_tile(span: Span, tile: tuple[int, ...]) -> ir.Expr:
    """The thread's number in its tile."""
    make = Builder(span)
    rank: ir.Expr = make.int(0)
    for dim, size in enumerate(tile):
        if size == 1:
            continue
        index = ir.ThreadIndex(span, INT32, "local", dim)
        first = isinstance(rank, ir.Const)
        rank = index if first else make.binary("add", make.binary("mul", rank, make.int(size)), index)
    return rank


#: Makes a local variable of a name and type.
NewVariable = Callable[[str, Type], ir.Variable]
#: The place of an element of memory, by row and column.
ElementAt = Callable[[ir.Expr, ir.Expr], ir.Place]
#: Its value, and the statements before it.
ValueAt = Callable[[ir.Expr, ir.Expr], tuple[ir.Block, ir.Expr]]


class Bodies(Builder):
    """Makes the bodies of the operations at one place of a kernel with subgroups of ``lanes`` lanes.

    ``tile``: the kernel's.
    """

    def __init__(self, span: Span, tile: tuple[int, ...], lanes: int, new: NewVariable) -> None:
        super().__init__(span)
        self.tile = tile
        self.lanes = lanes
        self.new = new

    # -- parts

    def _plus(self, left: ir.Expr, right: ir.Expr) -> ir.Expr:
        return self.binary("add", left, right)

    def _times(self, value: ir.Expr, by: int) -> ir.Expr:
        return value if by == 1 else self.binary("mul", value, self.int(by))

    def fresh(self, name: str, kind: Type = INT32) -> ir.Local:
        """A new variable."""
        return self.local(self.new(name, kind))

    def loop(self, counter: ir.Local, stop: int, *body: ir.Stmt) -> ir.Stmt:
        """A loop from 0."""
        bounds = self.int(0), self.int(stop), self.int(1)
        return ir.For(self.span, counter.variable, *bounds, tuple(body))

    def _lane(self) -> ir.Expr:
        """The thread's lane in its subgroup."""
        rank = rank_in_tile(self.span, self.tile)
        if isinstance(rank, ir.Const) or math.prod(self.tile) == self.lanes:
            return rank
        return self.binary("bitand", rank, self.int(self.lanes - 1))

    def _positions(self, kind: Fragments) -> tuple[list[ir.Stmt], ir.Local, ir.Local, list[ir.Expr]]:
        """Statements that find the lane, counters of its rows and columns, and the row and column that they mean."""
        lane = self.fresh("lane")
        row, column = self.fresh("row"), self.fresh("column")
        rows, _ = _lane_shape(kind.rows, kind.columns, kind.use, self.lanes)
        where: list[ir.Expr] = [self.load(row), self.load(column)]
        if kind.use != "b":
            group = self.binary("shr", self.load(lane), self.int(LANES_IN_ROW.bit_length() - 1))
            where[0] = self._plus(self._times(group, rows), where[0])
        if kind.use != "a":
            first = self.binary("bitand", self.load(lane), self.int(LANES_IN_ROW - 1))
            where[1] = self._plus(self._times(where[1], LANES_IN_ROW), first)
        return [self.set(lane, self._lane())], row, column, where

    def _slot(self, kind: Fragments, row: ir.Expr, column: ir.Expr) -> ir.Expr:
        _, columns = _lane_shape(kind.rows, kind.columns, kind.use, self.lanes)
        return self._plus(self._times(row, columns), column)

    # -- operations

    def fill(self, target: ir.ArrayElement, value: ir.Expr) -> ir.Block:
        """The same value in all elements."""
        return self.each(target, lambda _: value)

    def each(self, target: ir.ArrayElement, value: Callable[[ir.Expr], ir.Expr]) -> ir.Block:
        """A loop over the elements of a lane; ``value``: that of one by its number."""
        counter = self.fresh("element")
        number = self.load(counter)
        place = element_place(target, number)
        return (self.loop(counter, kind_of(target).shape[-1], self.set(place, value(number))),)

    def convert(self, target: ir.ArrayElement, source: ir.ArrayElement) -> ir.Block:
        """A copy, possibly of another type."""
        return self.each(target, lambda n: self.cast(self.load(element_place(source, n)), target.type))

    def cast(self, value: ir.Expr, kind: Type) -> ir.Expr:
        """A value in another type."""
        return value if value.type == kind else ir.Cast(self.span, kind, value)

    def load_matrix(self, target: ir.ArrayElement, memory: ValueAt, *, transposed: bool) -> ir.Block:
        """The elements of each lane from memory."""
        kind = kind_of(target)
        before, row, column, (r, c) = self._positions(kind)
        first, value = memory(c, r) if transposed else memory(r, c)
        place = element_place(target, self._slot(kind, self.load(row), self.load(column)))
        rows, columns = _lane_shape(kind.rows, kind.columns, kind.use, self.lanes)
        inner = self.loop(column, columns, *first, self.set(place, self.cast(value, place.type)))
        return (*before, self.loop(row, rows, inner))

    def of_element(self, memory: ElementAt, row: ir.Expr, column: ir.Expr) -> tuple[ir.Block, ir.Expr]:
        """The value of an element of memory."""
        return (), self.load(memory(row, column))

    def of_part(self, component: Scalar, memory: ElementAt, row: ir.Expr, column: ir.Expr) -> tuple[ir.Block, ir.Expr]:
        """The value of a part of a vector of four words in memory; ``column`` counts parts."""
        per = 32 // component.bits
        found, at = self.fresh("words", VECTORS["uint4"]), self.fresh("part")
        vector = memory(row, self.quotient(column, 4 * per))
        number = self._bits("bitand", self.load(at), 4 * per - 1)
        which = self.quotient(number, per)
        word: ir.Expr = ir.Swizzle(self.span, UINT32, self.load(found), "w")
        for k, letter in reversed(list(enumerate("xyz"))):
            is_it = ir.Compare(self.span, BOOL, "eq", which, self.int(k))
            word = ir.Select(self.span, UINT32, is_it, ir.Swizzle(self.span, UINT32, self.load(found), letter), word)
        shift = self._times(self._bits("bitand", number, per - 1), component.bits)
        first = self.set(found, self.load(vector)), self.set(at, column)
        return first, self._part_value(component, ir.Binary(self.span, UINT32, "shr", word, shift))

    def _part_value(self, component: Scalar, bits: ir.Expr) -> ir.Expr:
        """The value of the lowest bits of a word."""
        size = ir.Const(self.span, UINT32, 32 - component.bits)
        up = ir.Binary(self.span, UINT32, "shl", bits, size)
        if component == FLOAT16:
            return ir.Builtin(self.span, FLOAT32, "bits_as_half", (bits,))
        if component == BFLOAT16:
            return ir.Builtin(self.span, FLOAT32, "asfloat", (up,))
        kind = INT32 if component.kind == "int" else UINT32
        return self.cast(ir.Binary(self.span, kind, "shr", self.cast(up, kind), size), INT32)

    def quotient(self, value: ir.Expr, by: int) -> ir.Expr:
        """A number that is not negative, divided by a power of two."""
        if by == 1:
            return value
        if isinstance(value, ir.Const):
            return self.int(int(value.value) // by)
        return self._bits("shr", value, by.bit_length() - 1)

    def _bits(self, op: Literal["shr", "bitand"], value: ir.Expr, by: int) -> ir.Expr:
        return ir.Binary(self.span, INT32, op, value, self.int(by))

    def store_matrix(self, source: ir.ArrayElement, memory: ElementAt, *, transposed: bool) -> ir.Block:
        """The elements to memory, each by one lane."""
        kind = kind_of(source)
        before, row, column, (r, c) = self._positions(kind)
        target = memory(c, r) if transposed else memory(r, c)
        place = element_place(source, self._slot(kind, self.load(row), self.load(column)))
        rows, columns = _lane_shape(kind.rows, kind.columns, kind.use, self.lanes)
        inner = self.loop(column, columns, self.set(target, self.cast(self.load(place), target.type)))
        return (*before, self.loop(row, rows, inner))

    def mul_add(self, target: ir.ArrayElement, operands: tuple[ir.ArrayElement, ...]) -> ir.Block:
        """``target = a @ b + c``, in float32 where the accumulator is of 16 bits."""
        a, b, c = operands
        kind, inner = kind_of(target), kind_of(a).columns
        row, column, k = self.fresh("row"), self.fresh("column"), self.fresh("k")
        wide = FLOAT32 if kind.element in NARROW_FLOATS else kind.element
        total = self.fresh("total", wide)
        at = self._slot(kind, self.load(row), self.load(column))
        left = element_place(a, self._plus(self._times(self.load(row), inner), self.load(k)))
        right = element_place(b, self._slot(kind_of(b), self.load(k), self.load(column)))
        factors = (self.cast(self.load(place), wide) for place in (left, right))
        product = ir.Binary(self.span, wide, "mul", *factors)
        add = self.set(total, ir.Binary(self.span, wide, "add", self.load(total), product))
        rows, columns = _lane_shape(kind.rows, kind.columns, kind.use, self.lanes)
        start = self.set(total, self.cast(self.load(element_place(c, at)), wide))
        end = self.set(element_place(target, at), self.cast(self.load(total), kind.element))
        return (self.loop(row, rows, self.loop(column, columns, start, self.loop(k, inner, add), end)),)
