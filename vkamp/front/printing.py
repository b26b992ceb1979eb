"""Lowering of ``print(...)`` and ``breakpoint()``, which the reference accelerator runs."""

from __future__ import annotations

import ast
from typing import Any

from vkamp.front import advice
from vkamp.front.context import Context
from vkamp.front.index_objects import thread_index
from vkamp.front.values import (
    ArrayRef,
    Constant,
    Element,
    Memory,
    NoValue,
    Number,
    Object,
    ThreadRef,
    TupleValue,
    Value,
    loaded,
)
from vkamp.ir import nodes as ir
from vkamp.ir.types import Scalar, Type


def lower_breakpoint(ctx: Context, node: ast.Call) -> Value:
    """``breakpoint()``, without arguments."""
    ctx.emit(ir.Breakpoint(ctx.span(node)))
    return NoValue()


class _Text:
    """The text of a ``print``: what is known at compile time, with values in between."""

    def __init__(self) -> None:
        self.texts = [""]
        self.values: list[ir.Expr] = []
        self.formats: list[str] = []

    def add(self, text: str) -> None:
        self.texts[-1] += text

    def add_value(self, value: ir.Expr, spec: str) -> None:
        self.values.append(value)
        self.formats.append(spec)
        self.texts.append("")


def lower_print(ctx: Context, node: ast.Call) -> Value:
    """``print(..., sep=..., end=...)`` of strings, f-strings and values."""
    separator, end = _keyword(ctx, node, "sep", " "), _keyword(ctx, node, "end", "\n")
    # All values first, from left to right: they are what they are before the first effect of a later one.
    nodes = [part for argument in node.args for part in _value_nodes(ctx, argument)]
    values = dict(zip(map(id, nodes), ctx.operands(*nodes), strict=True))
    text = _Text()
    for k, argument in enumerate(node.args):
        text.add(separator if k else "")
        for part in _parts(argument):
            if isinstance(part, str):
                text.add(part)
            else:
                value_node, spec = part
                _show(ctx, text, values[id(value_node)], spec, value_node)
    text.add(end)
    ctx.emit(ir.Print(ctx.span(node), tuple(text.texts), tuple(text.values), tuple(text.formats)))
    return NoValue()


def _keyword(ctx: Context, node: ast.Call, name: str, default: str) -> str:
    for keyword in node.keywords:
        if keyword.arg not in ("sep", "end"):
            what = f"`{keyword.arg}`" if keyword.arg else "`**`"
            ctx.fail("VKA229", keyword.value, what=what)
        value = keyword.value
        if keyword.arg == name:
            if not isinstance(value, ast.Constant) or not isinstance(value.value, (str, type(None))):
                ctx.fail("VKA229", value, what=f"`{name}={ctx.text(value)}`")
            return default if value.value is None else value.value
    return default


def _value_nodes(ctx: Context, argument: ast.expr) -> list[ast.expr]:
    """The expressions of an argument whose value is known at run time only, from left to right."""
    if isinstance(argument, ast.Starred):
        ctx.refuse(argument)
    if isinstance(argument, ast.JoinedStr):
        for part in argument.values:
            if isinstance(part, ast.FormattedValue) and _spec_of(part) is None:
                assert part.format_spec is not None
                ctx.fail(
                    "VKA101", argument, what="computed formats", advice="write the format as plain text: `{x:8.3f}`"
                )
        return [part.value for part in argument.values if isinstance(part, ast.FormattedValue)]
    return [] if _is_text(argument) else [argument]


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (isinstance(node.value, str) or node.value is None)


def _spec_of(part: ast.FormattedValue) -> str | None:
    """The format of a value in an f-string; ``None`` if it is computed."""
    if part.format_spec is None:
        return ""
    assert isinstance(part.format_spec, ast.JoinedStr)
    texts = [v.value if isinstance(v, ast.Constant) else None for v in part.format_spec.values]
    return None if None in texts else "".join(map(str, texts))


def _parts(argument: ast.expr) -> list[str | tuple[ast.expr, str]]:
    """An argument as texts, and as expressions with their formats."""
    if isinstance(argument, ast.JoinedStr):
        out: list[str | tuple[ast.expr, str]] = []
        for part in argument.values:
            if isinstance(part, ast.FormattedValue):
                out.append((part.value, _spec_of(part) or ""))
            else:
                assert isinstance(part, ast.Constant)
                out.append(str(part.value))
        return out
    if isinstance(argument, ast.Constant) and _is_text(argument):
        return [str(argument.value)]
    return [(argument, "")]


def _show(ctx: Context, text: _Text, value: Value, spec: str, node: ast.expr) -> None:
    """Adds a value to the text."""
    if isinstance(value, ThreadRef):
        value = thread_index(ctx, "global", ctx.span(node))
    if isinstance(value, TupleValue):
        if spec:
            ctx.fail("VKA230", node, spec=spec, what=ctx.describe(value))
        _show_tuple(ctx, text, value, node)
    elif isinstance(value, Constant):
        _check_format(ctx, spec, value.value, "", node)
        text.add(format(value.value, spec))
    elif isinstance(value, Object) and isinstance(value.value, str):
        _check_format(ctx, spec, value.value, "a string", node)
        text.add(format(value.value, spec))
    elif isinstance(value, (Number, Element)):
        expr = _value_of(value)
        _check_type(ctx, spec, expr.type, node)
        text.add_value(expr, spec)
    else:
        _not_shown(ctx, value, node)


def _show_tuple(ctx: Context, text: _Text, value: TupleValue, node: ast.expr) -> None:
    text.add("(" if value.kind == "tuple" else f"{value.kind}(")
    for k, item in enumerate(value.items):
        text.add(", " if k else "")
        _show(ctx, text, item, "", node)
    text.add(",)" if value.kind == "tuple" and len(value.items) == 1 else ")")


def _value_of(value: Number | Element) -> ir.Expr:
    if isinstance(value, Number):
        return value.expr
    return loaded(value.place, value.place.span)


def _check_type(ctx: Context, spec: str, kind: Type, node: ast.expr) -> None:
    if isinstance(kind, Scalar):
        sample: Any = {"float": 0.0, "bool": False}.get(kind.kind, 0)
        _check_format(ctx, spec, sample, advice.with_article(kind), node)
    elif spec:
        ctx.fail("VKA230", node, spec=spec, what=advice.with_article(kind))


def _check_format(ctx: Context, spec: str, sample: Any, what: str, node: ast.expr) -> None:
    try:
        format(sample, spec)
    except (ValueError, TypeError, OverflowError):
        ctx.fail("VKA230", node, spec=spec, what=what or f"the number {sample}")


def _not_shown(ctx: Context, value: Value, node: ast.expr) -> None:
    text = ctx.text(node)
    help_text = "print a number, a vector, a struct or an index"
    if isinstance(value, Memory):
        if isinstance(value, ArrayRef) and value.rank == 0:
            help_text = f"print its element: `{text}[()]`"
        else:
            help_text = f"print one element of it: `{advice.subscript(ctx, text, value)}`"
    if isinstance(value, NoValue):
        ctx.fail("VKA223", node, text=text)
    ctx.fail("VKA228", node, text=text, what=ctx.describe(value), advice=help_text)
