"""``with amp.tile_scope():``, which ends the lifetime of the tile_static arrays that are declared in it.

While functions are lowered, statements of this module show where a scope begins and ends.  They leave the kernel as
soon as it is whole: what the compiler needs is which arrays are never in use at the same time.
"""

from __future__ import annotations

import ast
import dataclasses
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from vkamp.front.arity import check_arity
from vkamp.front.context import Context, handles
from vkamp.front.names import marked_name, named_callee
from vkamp.front.values import Value
from vkamp.ir import nodes as ir


@dataclass(frozen=True, repr=False)
class _Edge(ir.Stmt):
    """Marks the begin or end of a scope; a scope that does not end in its block ends with the block."""

    begins: bool


@handles(ast.With)
def _with(ctx: Context, node: ast.With) -> None:
    (item, *others), span = node.items, ctx.span(node)
    call = item.context_expr
    if (
        others
        or item.optional_vars
        or not isinstance(call, ast.Call)
        or marked_name(named_callee(ctx, call.func)) != _NAME
    ):
        ctx.refuse(node)
    check_arity(ctx, call, 0, ctx.text(call.func))
    if ctx.module.tile is None:
        ctx.fail("VKA403", call)
    before, depth = len(ctx.module.tile_statics), ctx.array_depth
    ctx.array_depth = ctx.depth
    ctx.emit(_Edge(span, True))
    ctx.statements(node.body)
    if ctx.assigned is not None:
        ctx.emit(_Edge(span, False))
    ctx.array_depth = depth
    ended = {variable.name for variable in ctx.module.tile_statics[before:]}
    for name in [name for name, slot in ctx.slots.items() if _is_of(slot.value, ended)]:
        del ctx.slots[name]
        ctx.ended[name] = span


_NAME = "tile_scope"


def _is_of(value: object, arrays: set[str]) -> bool:
    """Whether a value is one of some arrays, a view of one, or a tuple with such."""
    if isinstance(value, ir.Node):
        locals_ = (n.variable for n in ir.walk(value) if isinstance(n, ir.Local))
        return any(v.storage == "tile_static" and v.name in arrays for v in locals_)
    if isinstance(value, tuple):
        return any(_is_of(part, arrays) for part in value)
    if isinstance(value, Value):
        return any(_is_of(getattr(value, f.name), arrays) for f in dataclasses.fields(value))
    return False


# -- which arrays are never in use together ------------------------------------------------------------------------


@dataclass
class _Scope:
    """The arrays that a scope or function declares itself, the functions that it calls, and the scopes in it."""

    arrays: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    inner: list[_Scope] = field(default_factory=list)

    def scopes(self) -> Iterator[_Scope]:
        yield self
        for scope in self.inner:
            yield from scope.scopes()


def without_scopes(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel without the edges of scopes, and with the pairs of arrays that are never in use together."""
    whole = {f.name: _Scope() for f in (*kernel.functions, kernel.body)}
    for function in (*kernel.functions, kernel.body):
        _collect(function.body, [whole[function.name]])
    if not any(scope.inner for scope in whole.values()):
        return kernel

    def direct(scope: _Scope) -> set[str]:
        return scope.arrays.union(*(direct(whole[name]) for name in scope.calls))

    def everything(scope: _Scope) -> set[str]:
        inner = (*scope.inner, *(whole[name] for name in scope.calls))
        return scope.arrays.union(*map(everything, inner))

    together = set()
    for scope in (s for function in whole.values() for s in function.scopes()):
        of_all = everything(scope)
        together |= {frozenset((one, other)) for one in direct(scope) for other in of_all}
    pairs = map(frozenset, itertools.combinations([v.name for v in kernel.tile_statics], 2))
    kernel = ir.map_functions(kernel, lambda f: dataclasses.replace(f, body=_without_edges(f.body)))
    return dataclasses.replace(kernel, apart=frozenset(pairs) - together)


def _collect(block: ir.Block, around: list[_Scope]) -> None:
    outer = len(around)
    for statement in block:
        if isinstance(statement, _Edge):
            if statement.begins:
                around[-1].inner.append(_Scope())
                around = [*around, around[-1].inner[-1]]
            else:
                around = around[:-1]
        elif isinstance(statement, ir.Declare) and statement.variable.storage == "tile_static":
            around[-1].arrays.add(statement.variable.name)
        elif isinstance(statement, ir.Call):
            around[-1].calls.add(statement.function)
        for inner in ir.blocks(statement):
            _collect(inner, around)
    assert len(around) >= outer


def _without_edges(block: ir.Block) -> ir.Block:
    return tuple(ir.map_blocks(s, _without_edges) for s in block if not isinstance(s, _Edge))
