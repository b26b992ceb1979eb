"""Functions nested in kernels: nested ``def`` and ``lambda``.

C++ AMP's model: docs/conformance.md, section 10 (lambdas capturing by value; nested functions inherit the
restriction).  Python's functions see later assignments to the names that they capture; AMP's lambdas do not. Code in
which that makes a difference is refused.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any

from vkamp.errors import Note, Span
from vkamp.front import convert
from vkamp.front.context import Context, handles
from vkamp.front.scopes import name_nodes, own_nodes, parameters
from vkamp.front.source import Source, as_function
from vkamp.front.values import Closure, Constant, LocalFunction, Number, Object, TupleValue, Value
from vkamp.ir import nodes as ir
from vkamp.lang.kernel import func


@handles(ast.Lambda)
def _lambda(ctx: Context, node: ast.Lambda) -> Value:
    return closure(ctx, node, "function")


def definition(ctx: Context, node: ast.FunctionDef) -> Closure:
    """A nested ``def``; ``@amp.func`` is allowed on it, and changes nothing."""
    for decorator in node.decorator_list:
        found = ctx.expr(decorator)
        if not (isinstance(found, Object) and found.value is func):
            ctx.fail(
                "VKA101", decorator, what="decorators of nested functions", advice="leave it out, or write @amp.func"
            )
    return closure(ctx, node, node.name)


def closure(ctx: Context, node: ast.FunctionDef | ast.Lambda, name: str) -> Closure:
    """The function with what it captures of the function around it, by value."""
    captured: dict[str, Value] = {}
    later: dict[str, Span] = {}
    functions = {n.name for n in ctx.source.node.body if isinstance(n, ast.FunctionDef)}
    for item in name_nodes(node):
        if item.id in captured or item.id in later or (item.id not in ctx.slots and item.id not in ctx.local_names):
            continue
        if item.id == name:
            chain = " -> ".join([*(frame.name for frame in ctx.module.stack), name, name])
            ctx.fail("VKA204", item, name=name, chain=chain)
        slot = ctx.slots.get(item.id)
        if slot is None and item.id in functions:
            later[item.id] = ctx.span(item)
        elif slot is not None and isinstance(slot.value, Closure) and item.id in (ctx.assigned or {item.id}):
            # Those that it calls may follow.
            captured[item.id] = slot.value
        else:
            captured[item.id] = ctx.expr(item)
    outer: Any = ctx.module.stack[-1].function
    code = LocalFunction(
        name=name,
        node=node,
        source=Source(as_function(node), ctx.source.file, ctx.source.first_line, ctx.source.first_column, name),
        signature=_signature(ctx, node),
        outer=outer,
        lookup=ctx.lookup,
        by_value=isinstance(node, ast.FunctionDef) and bool(node.decorator_list),
    )
    return Closure(code, tuple(captured.items()), tuple(later.items()))


def completed(ctx: Context, value: Closure, node: ast.Name, callers: tuple[Closure, ...] = ()) -> Closure:
    """A function that is used, with the functions that were defined after it."""
    if _is_complete(value):
        return value
    if any(caller.code.node is value.code.node for caller in callers):
        name = value.code.name
        chain = " -> ".join([*(frame.name for frame in ctx.module.stack), *(c.code.name for c in callers), name])
        ctx.fail("VKA204", node, name=name, chain=chain)
    captured = dict(value.captured)
    for name, where in value.later:
        slot = ctx.slots.get(name)
        if slot is None or (ctx.assigned is not None and name not in ctx.assigned):
            notes = (Note(where, f"`{value.code.name}` calls it here"),)
            ctx.fail("VKA202", node, notes=notes, name=name, advice=f"define `{name}` before this line")
        captured[name] = slot.value
    inner = (*callers, value)
    items = {n: completed(ctx, v, node, inner) if isinstance(v, Closure) else v for n, v in captured.items()}
    return Closure(value.code, tuple(items.items()))


def _is_complete(value: Value) -> bool:
    """Whether a function, and those that it captured, know all the functions that they call."""
    return not isinstance(value, Closure) or (not value.later and all(_is_complete(v) for _, v in value.captured))


def _signature(ctx: Context, node: ast.FunctionDef | ast.Lambda) -> inspect.Signature:
    """The parameters, and their defaults, which are evaluated where the function is defined."""
    args = node.args
    positional = [*args.posonlyargs, *args.args]
    defaults: dict[str, ast.expr] = {}
    if args.defaults:
        defaults.update(zip((a.arg for a in positional[-len(args.defaults) :]), args.defaults, strict=True))
    defaults.update({a.arg: d for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is not None})
    kinds = inspect.Parameter
    out = []
    for arg in parameters(node):
        kind: Any = kinds.POSITIONAL_OR_KEYWORD
        if arg in args.posonlyargs:
            kind = kinds.POSITIONAL_ONLY
        elif arg in args.kwonlyargs:
            kind = kinds.KEYWORD_ONLY
        elif arg is args.vararg:
            kind = kinds.VAR_POSITIONAL
        elif arg is args.kwarg:
            kind = kinds.VAR_KEYWORD
        default: Any = kinds.empty
        if arg.arg in defaults:
            default = _default(ctx, arg.arg, defaults[arg.arg])
        annotation = ast.unparse(arg.annotation) if arg.annotation is not None else kinds.empty
        out.append(kinds(arg.arg, kind, default=default, annotation=annotation))
    return inspect.Signature(out)


def _default(ctx: Context, name: str, node: ast.expr) -> Value:
    value = ctx.expr(node)
    if not _is_known(value):
        convert.no_constant(ctx, value, node, f"the default of `{name}`", "a value")
    return value


def _is_known(value: Value) -> bool:
    if isinstance(value, TupleValue):
        return all(map(_is_known, value.items))
    if isinstance(value, Number):
        return isinstance(value.expr, ir.Const)
    return isinstance(value, (Constant, Object, Closure))


def check_captures(ctx: Context, value: Closure) -> None:
    """Refuses a captured name that is assigned after the function: Python's own function would see that."""
    node, names = value.code.node, {n for n, _ in value.captured}
    end = (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
    for statement in ctx.source.node.body:
        for item in own_nodes(statement):
            if not isinstance(item, ast.Name) or not isinstance(item.ctx, ast.Store) or item.id not in names:
                continue
            if (item.lineno, item.col_offset) > end:
                use = next(n for n in name_nodes(node) if n.id == item.id)
                notes = (Note(ctx.span(use), f"`{value.code.name}` captures it here"),)
                ctx.fail("VKA224", item, notes=notes, name=item.id, function=value.code.name)
