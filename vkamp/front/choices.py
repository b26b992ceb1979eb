"""Items of a tuple that the run time chooses: by comparisons of the subscript, or from a table of constants."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

import numpy as np

from vkamp.errors import CompileError, Span
from vkamp.front import convert
from vkamp.front.context import Context
from vkamp.front.module import Module, unique_name
from vkamp.front.values import Constant, Element, Number, TupleValue, Value, objects_of_any
from vkamp.ir import nodes as ir
from vkamp.ir.types import BOOL, FLOAT16, FLOAT32, INT32, UINT32, Scalar, Type, Vector, is_object

#: More constants are in a table in memory, which costs one load.  Fewer are in the shader, where people see them.  More
#: items that are not constants are chosen by a tree of comparisons: lavapipe loses chains of more than 80.
_MAX_CHAIN_LENGTH = 16
#: The characters of a tuple that a message shows.
_MAX_NAME = 40
#: The types of constants that tables have as another type.
_STORED_AS: dict[Type, Scalar] = {BOOL: UINT32, FLOAT16: FLOAT32}


def choose_item(ctx: Context, owner: TupleValue, index: ir.Expr, node: ast.expr) -> Value:
    """An item chosen at run time: all are numbers or vectors of one type, or tuples of these."""
    return _Choice(ctx, fixed_index(ctx, index), node, len(owner.items)).item(owner, _table_name(node))


def can_choose(ctx: Context, items: Sequence[Value], node: ast.expr) -> bool:
    """Whether an item of ``node`` can be chosen at run time."""
    first = ir.Const(ctx.span(node), INT32, 0)
    try:
        with ctx.nested():
            choose_item(ctx, TupleValue(tuple(items)), first, node)
    except CompileError:
        return False
    return True


def fixed_index(ctx: Context, index: ir.Expr) -> ir.Expr:
    """A subscript that can be compared several times."""
    index = convert.narrowed(index)
    return ctx.stable(index, "component") if _contains_more_than_local(index) else index


class _Choice:
    """The choice of an item by a subscript, which has one value for all parts of the item."""

    def __init__(self, ctx: Context, index: ir.Expr, node: ast.expr, size: int) -> None:
        self.ctx = ctx
        self.node = node
        self.span = ctx.span(node)
        self.index = index
        #: The first use, which is checked; the loops over tuples know their subscripts.
        self.checked = index
        if isinstance(node, ast.Subscript) and size:
            self.checked = ir.ItemIndex(self.span, index.type, index, size, _shown(ctx, node))

    def item(self, owner: TupleValue, name: str, *, in_index: bool = False) -> Value:
        """The item of a tuple; ``in_index``: its items are components of indices or extents."""
        items = owner.items
        kinds = (Constant, Number, Element, TupleValue)
        other = next((i for i in items if not isinstance(i, kinds) or self.ctx.fields_of(i)), None)
        if other is not None or not items:
            _refuse(self.ctx, self.node, "no items" if other is None else self.ctx.describe(other))
        if all(isinstance(i, TupleValue) and len(i.items) == _count(items[0]) for i in items):
            return self._row([i for i in items if isinstance(i, TupleValue)], name)
        exprs = self._values(items)
        double = None
        if exprs[0].type == FLOAT32:
            doubles = [convert.double_of(i, self.span) for i in items if isinstance(i, (Constant, Number))]
            known = [d for d in doubles if d is not None]
            double = self._one(known, f"{name}_double") if len(known) == len(items) else None
        objects = objects_of_any(*items) if in_index or is_object(exprs[0].type) else None
        return Number(self._one(exprs, name), double=double, objects=objects)

    def _row(self, rows: list[TupleValue], name: str) -> Value:
        """A row of a tuple of tuples: the constants of one type are one table."""
        kind = rows[0].kind if all(r.kind == rows[0].kind for r in rows) else "tuple"
        names = rows[0].names if all(r.names == rows[0].names for r in rows) else ()
        cls = rows[0].cls if all(r.cls is rows[0].cls for r in rows) else None
        columns = list(zip(*(r.items for r in rows), strict=True))
        if len(rows) > _MAX_CHAIN_LENGTH and all(type(i) is Constant for column in columns for i in column):
            values = [self._values(column) for column in columns]
            if values and all(column[0].type == values[0][0].type for column in values):
                return TupleValue(tuple(self._cells(columns, values, name)), kind, names, cls)
        inside = kind != "tuple"
        items = [
            self.item(TupleValue(column), f"{name}_{part}", in_index=inside)
            for column, part in zip(columns, names or range(len(columns)), strict=True)
        ]
        return TupleValue(tuple(items), kind, names, cls)

    def _cells(self, columns: list[tuple[Value, ...]], values: list[list[ir.Expr]], name: str) -> list[Value]:
        """The items of a row of a table with a row of constants for each item."""
        cells = self._loads(list(zip(*values, strict=True)), name)
        doubles: Sequence[ir.Expr | None] = [None] * len(cells)
        if cells[0].type == FLOAT32:
            wide = [[convert.double_of(i, self.span) for i in column if isinstance(i, Constant)] for column in columns]
            known = [[d for d in column if d is not None] for column in wide]
            if all(len(column) == len(values[0]) for column in known):
                doubles = self._loads(list(zip(*known, strict=True)), f"{name}_double")
        return [Number(cell, double=double) for cell, double in zip(cells, doubles, strict=True)]

    def _values(self, items: Sequence[Value]) -> list[ir.Expr]:
        """The items in their common type."""
        ctx, node = self.ctx, self.node
        constants = [i for i in items if isinstance(i, Constant)]
        if len(constants) == len(items) and any(isinstance(i.value, float) for i in constants):
            items = [Constant(float(i.value)) for i in constants]
        unsigned = convert.are_unsigned(items)
        exprs = [
            convert.literal(ctx, i, UINT32, node)
            if unsigned and isinstance(i, Constant)
            else convert.vector(ctx, i, node) or convert.natural(ctx, convert.number(ctx, i, node), node)
            for i in items
        ]
        if any(e.type != exprs[0].type for e in exprs):
            part = node.slice if isinstance(node, ast.Subscript) else node
            convert.no_constant(ctx, Number(self.index), part, "the subscript of a tuple of unlike items", "a value")
        return exprs

    def _one(self, items: list[ir.Expr], name: str) -> ir.Expr:
        if len(items) > _MAX_CHAIN_LENGTH and all(_numbers(e) is not None for e in items):
            return self._loads([(e,) for e in items], name)[0]
        return self._compared(items, 0, self.checked)

    def _compared(self, items: list[ir.Expr], first: int, index: ir.Expr) -> ir.Expr:
        """``items[index - first]`` by comparisons, of which the first one has ``index``."""
        assert isinstance(index.type, Scalar)
        span = self.span
        if len(items) > _MAX_CHAIN_LENGTH:
            half = len(items) // 2
            test = ir.Compare(span, BOOL, "lt", index, ir.Const(span, index.type, first + half))
            low = self._compared(items[:half], first, self.index)
            high = self._compared(items[half:], first + half, self.index)
            return ir.Select(span, low.type, test, low, high)
        result = items[-1]
        # The subscript of a single item is checked, too.
        last = 0 if isinstance(index, ir.ItemIndex) else -1
        for k in range(max(len(items) - 2, last), -1, -1):
            number = ir.Const(span, index.type, first + k)
            test = ir.Compare(span, BOOL, "eq", self.index if k else index, number)
            result = ir.Select(span, result.type, test, items[k], result)
        return result

    def _loads(self, rows: Sequence[Sequence[ir.Expr]], name: str) -> list[ir.Expr]:
        """The constants of the chosen row, loaded from a table."""
        kind = rows[0][0].type
        element = _STORED_AS.get(kind, kind)
        scalar = element.element if isinstance(element, Vector) else element
        assert isinstance(scalar, Scalar)
        numbers = [_numbers(value) for row in rows for value in row]
        width = len(rows[0])
        shape = (len(rows),) if width == 1 else (len(rows), width)
        contents = ir.Table(shape, np.array(numbers, scalar.dtype).tobytes())
        table = _table(self.ctx.module, name, element, contents, self.span)
        found: list[ir.Expr] = []
        for k in range(width):
            indices = (self.checked,) if width == 1 else (self.checked, ir.Const(self.span, INT32, k))
            value: ir.Expr = ir.Load(self.span, element, ir.BufferElement(self.span, element, table.name, indices))
            if kind == BOOL:
                value = ir.Compare(self.span, BOOL, "ne", value, ir.Const(self.span, UINT32, 0))
            found.append(value if value.type == kind else ir.Cast(self.span, kind, value))
        return found


def _numbers(expr: ir.Expr) -> tuple[bool | int | float, ...] | None:
    """The numbers of a constant: one, or the components of a vector."""
    if isinstance(expr, ir.Const):
        return (expr.value,)
    if isinstance(expr, ir.Construct) and isinstance(expr.type, Vector) and len(expr.parts) == expr.type.count:
        parts = [part.value for part in expr.parts if isinstance(part, ir.Const)]
        return tuple(parts) if len(parts) == len(expr.parts) else None
    return None


def _refuse(ctx: Context, node: ast.expr, what: str) -> NoReturn:
    """Raises the error for an item that is known only at run time, among items that are not values."""
    if not isinstance(node, ast.Subscript):
        help_text = (
            "its items are chosen at run time, because of `break` or `continue` and since its names are used outside "
            f"of it, and one is {what}: use other names there, which the loop assigns"
        )
        ctx.fail("VKA104", node, text=ctx.text(node), advice=help_text)
    chosen = (
        "their calls: `f(x) if condition else g(x)`"
        if "function" in what
        else "elements: `a[i] if condition else b[i]`"
    )
    help_text = f"loop over the tuple, or choose between {chosen}"
    ctx.fail("VKA308", node.slice, what=f"the subscript of a tuple with {what}", kind="a whole number",
             text=ctx.text(node.slice), advice=help_text)  # fmt: skip


def _count(value: Value) -> int:
    return len(value.items) if isinstance(value, TupleValue) else 0


def _contains_more_than_local(expr: ir.Expr) -> bool:
    """Whether an expression is more than a read of one local."""
    return ir.read_local(expr) is None


# -- tables --------------------------------------------------------------------------------------------------------


def _shown(ctx: Context, node: ast.Subscript) -> str:
    """The tuple of a subscript, as messages name it."""
    text = ctx.text(node.value)
    return text if len(text) <= _MAX_NAME else "the tuple"


def _table_name(node: ast.expr) -> str:
    """The name of a table: that of its tuple, if it has one."""
    owner = node.value if isinstance(node, ast.Subscript) else node
    while isinstance(owner, ast.Subscript):
        owner = owner.value
    named = isinstance(owner, (ast.Name, ast.Attribute))
    return re.sub(r"\W+", "_", ast.unparse(owner)).strip("_") if named else "table"


def _table(module: Module, name: str, element: Type, table: ir.Table, span: Span) -> ir.BufferParam:
    """The container with some constants; equal tables are one."""
    for known in module.tables.values():
        if (known.element, known.table) == (element, table):
            return known
    # Captures that the kernel names later may have the name: it becomes the final one at the end.
    number = len(module.tables)
    made = ir.BufferParam(f"{name} {number}", element, len(table.shape), True, True, -1 - number, span, table=table)
    module.tables[made.name] = made
    return made


def with_tables(kernel: ir.Kernel, module: Module) -> ir.Kernel:
    """The kernel with the tables that it reads, by names that nothing else has."""
    if not module.tables:
        return kernel
    nodes = (node for statement in kernel.statements() for node in ir.own_nodes(statement))
    used = {node.buffer for node in nodes if isinstance(node, ir.BufferElement)}
    taken = {*(b.name for b in kernel.buffers), *(s.name for s in kernel.scalars)}
    names: dict[str, str] = {}
    for each in module.tables:
        if each in used:
            names[each] = unique_name(each.partition(" ")[0], taken)
            taken.add(names[each])
    tables = tuple(replace(module.tables[old], name=new) for old, new in names.items())

    def renamed(node: ir.Node) -> ir.Node:
        if isinstance(node, ir.BufferElement) and node.buffer in names:
            return replace(node, buffer=names[node.buffer])
        return node

    return replace(ir.map_kernel(kernel, renamed), buffers=(*kernel.buffers, *tables))
