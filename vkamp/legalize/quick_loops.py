"""Loops that lavapipe compiles quickly: IR -> IR, before printing.

Its compiler takes time that grows with the cube of the number of loops one after the other: 2.6 s for 30 of them, and
0.2 s where each five are inside a loop.  A loop that runs once adds one iteration; so only the body of ``main`` is
changed, and nothing inside its loops.

It takes a loop apart, however long it is, where the counter is an index of a private array and the iterations are
known: 60 lines of divisions for four threads one after the other took 7.3 s, and 0.8 s as a loop.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Set

from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.lowered import LaunchWord, PureCall
from vkamp.ir.rewrite import Names, nowhere
from vkamp.ir.types import BOOL, INT32, UINT32

#: Loops one after the other that stay as they are, and those of a group.
_MAX, _GROUP = 12, 5
#: The maximum number of expressions in an unrolled loop.
_MAX_SPLIT = 2500
_ONCE = "A loop that runs once: this driver takes long to compile many consecutive loops"
_WHOLE = "The sum hides the end from this driver, which would unroll this long loop and take long to compile it"


def quick_loops(kernel: ir.Kernel) -> ir.Kernel:
    """Prevents the unrolling of long loops, and groups the outermost loops if there are many."""
    sizes: dict[str, int] = {}
    for each in kernel.functions:
        sizes[each.name] = _size(each.body, sizes)
    kernel = ir.map_functions(kernel, lambda f: dataclasses.replace(f, body=_kept_whole(f.body, sizes)))
    function = kernel.body
    if sum(map(_loops, function.body)) <= _MAX:
        return kernel
    counter = ir.Variable(Names.of(function).give("part"), INT32, "local", function.span, temporary=True)
    body = _in_groups(function.body, counter)
    return dataclasses.replace(
        kernel, body=dataclasses.replace(function, body=body, variables=(*function.variables, counter))
    )


def _more_than(number: ir.Expr, span: Span) -> ir.Expr:
    """A number that the driver does not know: and one more if there is no tile, which never is."""
    return ir.Binary(span, INT32, "add", number, ir.Cast(span, INT32, no_tile(span)))


def tiles(span: Span) -> ir.Expr:
    """The number of tiles in the first dimension, which is never 0, and the driver does not know it."""
    return LaunchWord(span, UINT32, "tiles", "", 0)


def no_tile(span: Span) -> ir.Expr:
    """Whether there is no tile, which never is: false, and the driver does not know it."""
    return ir.Compare(span, BOOL, "eq", tiles(span), ir.Const(span, UINT32, 0))


# -- groups --------------------------------------------------------------------------------------------------------


def _loops(statement: ir.Stmt) -> int:
    """The loops of a statement, of which an outermost one counts alone."""
    if isinstance(statement, (ir.For, ir.While)):
        return 1
    return sum(_loops(inner) for block in ir.blocks(statement) for inner in block)


def _in_groups(block: ir.Block, counter: ir.Variable) -> ir.Block:
    out: list[ir.Stmt] = []
    pending: list[ir.Stmt] = []
    count = 0
    for statement in block:
        loops = _loops(statement)
        if count and count + loops > _GROUP:
            out += _group(pending, counter)
            pending, count = [], 0
        if loops == 0 and count == 0:
            out.append(statement)
        else:
            pending.append(statement)
            count += loops
    return (*out, *_group(pending, counter))


def _group(statements: list[ir.Stmt], counter: ir.Variable) -> ir.Block:
    """A loop that runs once; the driver must not know this, since it removes loops that run at most once."""
    if not statements:
        return ()
    span = nowhere(statements[0].span)
    one = ir.Const(span, INT32, 1)
    loop = ir.For(span, counter, ir.Const(span, INT32, 0), _more_than(one, span), one, tuple(statements))
    return ir.Remark(span, _ONCE), loop


# -- loops that stay loops -----------------------------------------------------------------------------------------


def _kept_whole(block: ir.Block, sizes: Mapping[str, int]) -> ir.Block:
    out: list[ir.Stmt] = []
    for each in block:
        statement = ir.map_blocks(each, lambda inner: _kept_whole(inner, sizes))
        if isinstance(statement, ir.For) and _is_taken_apart(statement) and _size((statement,), sizes) > _MAX_SPLIT:
            out.append(ir.Remark(nowhere(statement.span), _WHOLE))
            statement = dataclasses.replace(statement, stop=_more_than(statement.stop, nowhere(statement.span)))
        out.append(statement)
    return tuple(out)


def _is_taken_apart(loop: ir.For) -> bool:
    if not _iterations(loop) or loop.unroll:
        return False
    counted = {loop.variable.name}
    for statement in ir.walk_statements(loop.body):
        elements = (node for node in ir.own_nodes(statement) if isinstance(node, ir.ArrayElement))
        if any(_is_private(e) and any(_names(i, counted) for i in e.indices) for e in elements):
            return True
        if (
            isinstance(statement, ir.Assign)
            and isinstance(statement.place, ir.Local)
            and _names(statement.value, counted)
        ):
            counted.add(statement.place.variable.name)
    return False


def _is_private(element: ir.ArrayElement) -> bool:
    return isinstance(element.base, ir.Local) and element.base.variable.storage in ("private", "parameter")


def _names(index: ir.Expr, variables: Set[str]) -> bool:
    return any(isinstance(node, ir.Local) and node.variable.name in variables for node in ir.walk(index))


def _iterations(loop: ir.For) -> int:
    """How often a loop runs; 0 where that is not known."""
    bounds = [each.value for each in (loop.start, loop.stop, loop.step) if isinstance(each, ir.Const)]
    return len(range(*map(int, bounds))) if len(bounds) == 3 and bounds[2] else 0


def _size(block: ir.Block, sizes: Mapping[str, int]) -> int:
    """The expressions of a block: those of loops that are taken apart for each iteration, of functions for each call.

    ``sizes``: of the functions.
    """
    total = 0
    for statement in block:
        inner = sum(_size(each, sizes) for each in ir.blocks(statement))
        times = _iterations(statement) if isinstance(statement, ir.For) and _is_taken_apart(statement) else 1
        called = [statement.function] if isinstance(statement, ir.Call) else []
        nodes = list(ir.own_nodes(statement))
        called += [node.function for node in nodes if isinstance(node, PureCall)]
        total += len(nodes) + sum(sizes[name] for name in called) + times * inner
    return total
