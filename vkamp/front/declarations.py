"""Declarations of ``tile_static`` and private arrays."""

from __future__ import annotations

import ast
import math

from vkamp.front import convert, dtypes
from vkamp.front.arity import wrong_count
from vkamp.front.context import Context
from vkamp.front.objects import arguments_by_name
from vkamp.front.values import (
    Constant,
    TupleValue,
)
from vkamp.ir.types import INT32, Type

#: Bytes of a private array: each thread has its own, and no device has room for more.
_PRIVATE_LIMIT = 1 << 19


#: What people call an initial value.
_INITIAL = ("value", "values", "init", "initial", "initializer", "fill", "fill_value", "data")


def check_placement(ctx: Context, storage: str, call: ast.Call) -> None:
    if storage == "tile_static":
        if ctx.module.tile is None:
            ctx.fail("VKA403", call)
        if ctx.depth != ctx.array_depth:
            ctx.fail("VKA402", call)


def array_type(ctx: Context, storage: str, call: ast.Call) -> tuple[Type, tuple[int, ...]]:
    initial = [*call.args[2:], *(k.value for k in call.keywords if k.arg in _INITIAL)]
    if initial:
        ctx.fail("VKA404", initial[0], name=storage)
    name = ctx.text(call.func)
    parts = arguments_by_name(ctx, call, name, ("shape", "dtype"))
    if len(parts) < 2:
        wrong_count(ctx, call, name, 2, f"{name}(shape, dtype)")
    shape_value = ctx.expr(parts["shape"])
    items = shape_value.items if isinstance(shape_value, TupleValue) else (shape_value,)
    shape = tuple(convert.constant_int(ctx, i, parts["shape"], f"the shape of a {storage} array") for i in items)
    for size in shape:
        convert.literal(ctx, Constant(size), INT32, parts["shape"])
        if size <= 0:
            ctx.fail("VKA408", parts["shape"], name=storage, size=size)
    kind = dtypes.element_dtype(ctx, ctx.expr(parts["dtype"]), parts["dtype"], bools=True)
    total = math.prod(shape) * kind.size
    # A device's own limit of tile_static memory, much lower, is checked at the launch.
    limit = _PRIVATE_LIMIT if storage == "private" else 1 << 31
    if total > limit:
        ctx.fail("VKA410", call, name=storage, size=total, limit=limit)
    return kind, shape
