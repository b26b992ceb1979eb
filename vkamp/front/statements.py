"""Lowering of statements: branches, loops, and what is definitely assigned after them."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

from vkamp.errors import CompileError, Note, Span, UnsupportedFeatureError, is_of_package
from vkamp.front import convert
from vkamp.front.assignments import changes_kind, settle, store
from vkamp.front.attempts import Attempt
from vkamp.front.choices import can_choose
from vkamp.front.context import Context, LoopExits, Slot, UnrolledExits, handles
from vkamp.front.counters import CopiesNeededError, Counter, Loop, mentions
from vkamp.front.expressions import truth_of
from vkamp.front.index_objects import thread_index
from vkamp.front.loop_else import without_else
from vkamp.front.matching import as_branches
from vkamp.front.names import marked_name, named_callee
from vkamp.front.returns import flatten
from vkamp.front.scopes import all_nodes, nodes_in
from vkamp.front.sequences import (
    Sequence,
    items_of,
    listed,
    no_sequence,
    range_bounds,
    static_bounds,
    try_sequence,
)
from vkamp.front.values import (
    ArrayRef,
    BoundFunction,
    Closure,
    Constant,
    Element,
    FieldMethod,
    Number,
    Object,
    ThreadRef,
    TupleValue,
    Value,
    objects_of,
)
from vkamp.front.walrus import assigned_after
from vkamp.ir import nodes as ir
from vkamp.ir.types import BOOL, INT32, Scalar, int_range

#: Copies that an unrolled loop may make: more is a shader that drivers compile for minutes.
_UNROLL_LIMIT = 4096


def _join(*states: set[str] | None) -> set[str] | None:
    """What is assigned where several paths meet; ``None`` for a path that never reaches this point."""
    live = [s for s in states if s is not None]
    return set.intersection(*live) if live else None


@handles(ast.Pass)
def _pass(ctx: Context, node: ast.Pass) -> None:
    del ctx, node


@handles(ast.Expr)
def _expr(ctx: Context, node: ast.Expr) -> None:
    value = node.value
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return
    if not isinstance(value, ast.Call):
        _no_statement(ctx, value)
    before = len(ctx.block)
    ctx.expr(value)
    if len(ctx.block) == before or isinstance(ctx.block[-1], ir.Subgroup):
        _no_statement(ctx, value)
    _drop_results(ctx)


def _no_statement(ctx: Context, node: ast.expr) -> NoReturn:
    """Raises the error for an expression statement without effect."""
    text = ctx.text(node)
    if isinstance(node, (ast.Name, ast.Attribute)):
        found = ctx.expr(node)
        callable_ = isinstance(found, (BoundFunction, Closure, FieldMethod, Object))
        ctx.fail("VKA103", node, text=text, advice=f"call it: `{text}()`" if callable_ else f"use it: `x = {text}`")
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
        assignment = f"{ctx.text(node.left)} = {ctx.text(node.comparators[0])}"
        ctx.fail("VKA103", node, text=text, advice=f"an assignment is written with one `=`: `{assignment}`")
    if isinstance(
        node,
        (ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Constant, ast.IfExp, ast.Subscript, ast.Tuple, ast.UnaryOp),
    ):
        nothing = isinstance(node, ast.Constant) and node.value is Ellipsis
        ctx.fail("VKA103", node, text=text, advice="write `pass`" if nothing else f"use its value: `x = {text}`")
    ctx.refuse(node)


def _drop_results(ctx: Context) -> None:
    """The statement's value is not used: the call or atomic needs no variable for it."""
    last = ctx.block[-1]
    if isinstance(last, ir.Atomic) and last.result is not None:
        ctx.variables.remove(last.result)
        ctx.taken.discard(last.result.name)
        ctx.block[-1] = ir.Atomic(last.span, last.name, last.place, last.args, None, last.expected)
    elif isinstance(last, ir.Call):
        # The objects that it changes stay.
        at = last.span.line, last.span.column
        dropped = [r for r in last.results if r is not None and (r.name, *at) not in ctx.changed_by_calls]
        for result in dropped:
            ctx.variables.remove(result)
            ctx.taken.discard(result.name)
        results = tuple(None if r in dropped else r for r in last.results)
        ctx.block[-1] = ir.Call(last.span, last.function, last.args, results)


@handles(ast.Raise)
def _raise(ctx: Context, node: ast.Raise) -> None:
    """What a function does with arguments that it refuses, if no condition of the run time leads here."""
    message = _reason(ctx, node.exc)
    if ctx.depth or ctx.reached_returns or len(ctx.module.stack) < 2 or not message:
        ctx.refuse(node)
    span = ctx.span(node)
    name = span.function
    # Of vkamp's own functions, the call is shown.
    while is_of_package(span.file) and span.caller is not None:
        name, span = span.function, span.caller
    ctx.fail("VKA237", span, text=message, name=name)


def _reason(ctx: Context, node: ast.expr | None) -> str:
    """The text of an exception, with the values of constants; none if it is not a string."""
    text = node.args[0] if isinstance(node, ast.Call) and len(node.args) == 1 else None
    if isinstance(text, ast.JoinedStr):
        return "".join(_written(ctx, each) for each in text.values)
    return text.value if isinstance(text, ast.Constant) and isinstance(text.value, str) else ""


def _written(ctx: Context, node: ast.expr) -> str:
    """A part of an f-string, an expression by its value if that is a constant."""
    if not isinstance(node, ast.FormattedValue):
        return str(node.value) if isinstance(node, ast.Constant) else ""
    value = ctx.expr(node.value)
    return str(value.value) if isinstance(value, Constant) else ctx.text(node.value)


@handles(ast.Assert)
def _assert(ctx: Context, node: ast.Assert) -> None:
    test = truth_of(ctx, node.test)
    message = "" if node.msg is None else _assert_message(ctx, node.msg)
    ctx.emit(ir.Assert(ctx.span(node), test, message or ctx.text(node.test)))


def _assert_message(ctx: Context, node: ast.expr) -> str:
    """A string; an f-string keeps its expressions as they are written."""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            f"{{{ctx.text(part.value)}}}" if isinstance(part, ast.FormattedValue) else str(part.value)  # type: ignore[attr-defined]
            for part in node.values
        )
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        ctx.fail("VKA101", node, what="computed messages", advice="write the message as a string or an f-string")
    return node.value


# -- control flow --------------------------------------------------------------------------------------------------


def _branch(ctx: Context, body: list[ast.stmt], entry: set[str] | None) -> tuple[ir.Block, set[str] | None]:
    """A nested block, from a state of assignment to the state at its end."""
    ctx.assigned = None if entry is None else set(entry)
    with ctx.inner() as block:
        ctx.statements(body)
    return tuple(block), ctx.assigned


@handles(ast.If)
def _if(ctx: Context, node: ast.If) -> None:
    test = truth_of(ctx, node.test)
    if isinstance(test, ir.Const):
        # Decided at compile time: the other branch is not part of this kernel.
        entry = ctx.assigned
        ctx.statements(node.body if test.value else node.orelse)
        if entry is not None and ctx.assigned is None:
            # Neither are the statements after one that always leaves.
            ctx.leaves = node
        return
    ctx.assigned = _join(*_sides(ctx, node, test))


def _sides(ctx: Context, node: ast.If, test: ir.Expr) -> tuple[set[str] | None, set[str] | None]:
    """A branch; what is assigned at the end of each side."""
    if_true, if_false = (assigned_after(ctx, node.test, result) for result in (True, False))
    then, after_then = _branch(ctx, node.body, if_true)
    orelse, after_else = _branch(ctx, node.orelse, if_false)
    ctx.emit(ir.If(ctx.span(node), test, then, orelse))
    return after_then, after_else


@handles(ast.Match)
def _match(ctx: Context, node: ast.Match) -> None:
    ctx.statements(as_branches(ctx, node))


@handles(ast.While)
def _while(ctx: Context, node: ast.While) -> None:
    if node.orelse:
        _loop_with_else(ctx, node)
        return
    reachable, returns = ctx.assigned is not None, ctx.reached_returns
    ctx.loops.append(LoopExits())
    with ctx.inner() as block:
        test = truth_of(ctx, node.test)
        end = assigned_after(ctx, node.test, False)
        leading = len(block)
        if leading and not isinstance(test, ir.Const):
            span = ctx.span(node.test)
            ctx.emit(ir.If(span, ir.Unary(span, BOOL, "not", test), (ir.Break(span),), ()))
        ctx.assigned = assigned_after(ctx, node.test, True)
        ctx.statements(node.body)
    exits = _exits(ctx).breaks
    endless = isinstance(test, ir.Const) and bool(test.value)
    if endless and not exits and ctx.reached_returns == returns and reachable:
        ctx.fail("VKA119", node.test)
    ctx.assigned = _join(*exits) if endless else _join(end, *exits)
    condition: ir.Expr = ir.Const(ctx.span(node), BOOL, True) if leading and not isinstance(test, ir.Const) else test
    ctx.emit(ir.While(ctx.span(node), condition, tuple(block)))


@handles(ast.For)
def _for(ctx: Context, node: ast.For) -> None:
    if node.orelse:
        _loop_with_else(ctx, node)
        return
    call = node.iter
    kind = _kind_of_range(ctx, call) if isinstance(call, ast.Call) and isinstance(node.target, ast.Name) else None
    if kind is None:
        _sequence_for(ctx, node)
        return
    assert isinstance(call, ast.Call) and isinstance(node.target, ast.Name)
    if kind == "static_range":
        _static_for(ctx, node, node.target, call)
    else:
        _range_for(ctx, node, node.target, call)


def _kind_of_range(ctx: Context, call: ast.Call) -> str | None:
    """Whether a call is one of a range, and of which."""
    callee = named_callee(ctx, call.func)
    if marked_name(callee) == "static_range":
        return "static_range"
    return "range" if isinstance(callee, Object) and callee.value is builtins.range else None


# -- loops over sequences ------------------------------------------------------------------------------------------


def _sequence_for(ctx: Context, node: ast.For) -> None:
    """``for x in values``: a listed sequence is unrolled; others have a counter, and so have loops that are left early,
    if an item can be chosen at run time.
    """
    sequence = _for_sequence(ctx, node)
    names = [n.id for n in nodes_in(node.target) if isinstance(n, ast.Name)]
    if isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Name):
        ctx.elements_of[node.target.id] = node.iter.id
    ctx.iterated = node.iter
    own = all(name in ctx.counters for name in names) and len(set(names)) == len(names)
    if sequence.listed and not _is_left(node.body):
        _unrolled_for(ctx, node, sequence, own)
        return
    if sequence.count == 0:
        return
    if sequence.listed and (sequence.calls or (own and not _can_choose_item(ctx, node, sequence))):
        assert sequence.count is not None
        _copies(ctx, node, [lambda k=k: _body_for(ctx, node, sequence, k, own) for k in range(sequence.count)])  # type: ignore[misc]
        return
    span = ctx.span(node)
    start, step = ir.Const(span, INT32, 0), ir.Const(span, INT32, 1)
    variable = ctx.new_variable(f"{names[0] if names else 'item'}_at", INT32, span)
    counter = Number(ir.Load(span, INT32, ir.Local(span, INT32, variable)))
    entry = ctx.assigned
    ctx.loops.append(LoopExits())
    ctx.assigned = None if entry is None else set(entry)
    with ctx.inner() as block:
        _bind_item(ctx, node, sequence.item(counter), own)
        ctx.statements(node.body)
    end = ctx.assigned
    exits = _exits(ctx)
    ctx.assigned = _join(end, *exits.breaks, *exits.continues) if sequence.count else entry
    ctx.emit(ir.For(span, variable, start, sequence.length, step, tuple(block)))


def _for_sequence(ctx: Context, node: ast.For) -> Sequence:
    """What the loop iterates over, evaluated once: the items of a tuple do not change with the variables in it.

    What is computed from them is computed in the iteration that uses it, as Python does.
    """
    sequence = try_sequence(ctx, node.iter)
    if sequence is None:
        no_sequence(ctx, node.iter)
    if not sequence.listed:
        return sequence
    assert sequence.count is not None
    if sequence.count > _UNROLL_LIMIT:
        ctx.fail("VKA113", node.iter, count=sequence.count, limit=_UNROLL_LIMIT)

    def settled(part: Sequence) -> Sequence:
        if part.rebuilt is not None:
            return part.rebuilt(settled)
        if not part.listed:
            return part
        assert part.count is not None
        return listed(ctx, tuple(settle(ctx, part.item(Constant(k))) for k in range(part.count)), node.iter)

    return settled(sequence)


def _can_choose_item(ctx: Context, node: ast.For, sequence: Sequence) -> bool:
    return can_choose(ctx, [sequence.item(Constant(k)) for k in range(sequence.count or 0)], node.iter)


def _body_for(ctx: Context, node: ast.For, sequence: Sequence, k: int, own: bool) -> None:
    """The body of an unrolled loop for the item at a position."""
    item = sequence.item(Constant(k))
    if sequence.rebuilt is not None:
        item = settle(ctx, item)
    if own:
        _name_item(ctx, node.target, item, _changed_names(node))
    else:
        _bind_item(ctx, node, item, own)
    ctx.depth += 1
    ctx.statements(node.body)
    ctx.depth -= 1


def _unrolled_for(ctx: Context, node: ast.For, sequence: Sequence, own: bool) -> None:
    assert sequence.count is not None
    ctx.loops.append(UnrolledExits())
    for k in range(sequence.count):
        _body_for(ctx, node, sequence, k, own)
    ctx.loops.pop()


def _changed_names(node: ast.For) -> set[str]:
    """The names of which the body assigns to a component."""
    parts = (part for statement in node.body for part in nodes_in(statement))
    changed = (part for part in parts if isinstance(part, (ast.Attribute, ast.Subscript)))
    owners = (part.value for part in changed if isinstance(part.ctx, ast.Store))
    return {owner.id for owner in owners if isinstance(owner, ast.Name)}


def _name_item(ctx: Context, target: ast.expr, item: Value, changed: set[str]) -> None:
    """The loop's own names refer to the item itself, which may be known at compile time.

    A vector gets a variable where the loop changes its components.
    """
    if isinstance(target, ast.Name):
        if target.id in changed and ctx.vector_of(item) is not None:
            item = _own_vector(ctx, target, item)
        ctx.bind(target.id, Slot(item, ctx.span(target), "unrolled"))
        return
    assert isinstance(target, (ast.Tuple, ast.List))
    for part, value in zip(target.elts, items_of(ctx, item, target, target), strict=True):
        _name_item(ctx, part, value, changed)


def _own_vector(ctx: Context, target: ast.Name, item: Value) -> Element:
    """A variable for a vector that a loop iterates over, which in Python is the vector itself."""
    expr = convert.vector(ctx, item, target)
    assert expr is not None
    place = ctx.local_of(target.id, expr)
    ctx.share(place.variable, expr.span, "moved", objects_of(item) or ())
    return Element(place)


def _bind_item(ctx: Context, node: ast.For, item: Value, own: bool) -> None:
    """Assigns an item to the loop's target; names that are the loop's own are variables of this loop alone."""
    if own:
        for part in nodes_in(node.target):
            if isinstance(part, ast.Name):
                ctx.slots.pop(part.id, None)
    store(ctx, node.target, item, node.iter, node)


def _is_left(body: list[ast.stmt], *kinds: type[ast.stmt]) -> bool:
    """Whether a loop's body has a `break` or `continue` for this loop, or one of ``kinds``."""
    for statement in body:
        if isinstance(statement, kinds or (ast.Break, ast.Continue)):
            return True
        if isinstance(statement, (ast.For, ast.While)):
            if _is_left(statement.orelse, *kinds):
                return True
            continue
        if isinstance(statement, ast.FunctionDef):
            continue
        blocks = [getattr(statement, name, []) for name in ("body", "orelse")]
        blocks += [case.body for case in getattr(statement, "cases", ())]
        if any(_is_left(block, *kinds) for block in blocks):
            return True
    return False


def _static_for(ctx: Context, node: ast.For, target: ast.Name, call: ast.Call) -> None:
    steps = static_bounds(ctx, call)
    low, high = int_range(INT32)
    bounds = [steps.stop] if len(call.args) == 1 else [steps.start, steps.stop, steps.step]
    for bound, part in zip(bounds, call.args, strict=False):
        if not low <= bound <= high:
            convert.misfit(ctx, ctx.span(part), bound, INT32, "count from 0, and add the difference in the body")
    if len(steps) > _UNROLL_LIMIT:
        ctx.fail("VKA113", call, count=len(steps), limit=_UNROLL_LIMIT)
    slot = ctx.slots.get(target.id)
    variable = slot if slot is not None and slot.kind != "unrolled" and target.id not in ctx.counters else None
    if variable is not None and not _is_number(variable):
        changes_kind(ctx, target, variable, Constant(0))
    has_break = _is_left(node.body, ast.Break)
    if has_break and variable is None and target.id not in ctx.counters:
        # After the loop it has the value that it had at the `break`.
        place = ir.Local(ctx.span(target), INT32, ctx.new_variable(target.id, INT32, ctx.span(target)))
        variable = Slot(Element(place), ctx.span(target))
    kept = variable if has_break else None
    where = replace(ctx.span(node), caller=None)
    if len(steps) < 2 or where in ctx.module.copied_loops or not _stays(ctx, node, target, steps, where, kept):
        _copies(ctx, node, [lambda n=n: _static_body(ctx, node, target, Constant(n), kept) for n in steps])  # type: ignore[misc]
    if variable is not None:
        # A variable, which is known at compile time in the loop alone.
        ctx.slots[target.id] = variable
        if steps and not has_break:
            store(ctx, target, Constant(steps[-1]), target, node)


def _copies(ctx: Context, node: ast.For, bodies: list[Callable[[], None]]) -> None:
    """The copies of a loop's body; those that are left at run time are in loops of one iteration."""
    span = ctx.span(node)
    exits = UnrolledExits(depth=ctx.depth + 1)
    ctx.loops.append(exits)
    if not _is_left(node.body):
        for body in bodies:
            body()
        _exits(ctx)
        return
    if _is_left(node.body, ast.Continue) and _is_left(node.body, ast.Break):
        exits.flag = ctx.new_variable("is_over", BOOL, span, temporary=True)
    with ctx.nested() as whole:
        for body in bodies:
            exits.continued = False
            exits.continues.clear()
            with ctx.nested() as block:
                body()
            ctx.assigned = _join(ctx.assigned, *exits.continues)
            exits.is_left = False
            ctx.block += [_once(ctx, span, block)] if exits.continued else block
            if exits.continued and exits.broken and exits.flag is not None:
                ctx.emit(ir.If(span, _flag(exits.flag, span), (ir.Break(span),), ()))
            if exits.stopped:
                break
    _exits(ctx)
    ctx.assigned = _join(ctx.assigned, *exits.breaks)
    if exits.broken and exits.flag is not None:
        place = ir.Local(span, BOOL, exits.flag)
        ctx.emit(ir.Assign(span, place, ir.Const(span, BOOL, False)))
    ctx.block += [_once(ctx, span, whole)] if exits.broken else whole


def _once(ctx: Context, span: Span, block: list[ir.Stmt]) -> ir.For:
    """A loop of one iteration, which `break` and `continue` leave."""
    variable = ctx.new_variable("once", INT32, span, temporary=True)
    start, stop = ir.Const(span, INT32, 0), ir.Const(span, INT32, 1)
    return ir.For(span, variable, start, stop, stop, tuple(block))


def _flag(variable: ir.Variable, span: Span) -> ir.Load:
    return ir.Load(span, BOOL, ir.Local(span, BOOL, variable))


def _static_body(ctx: Context, node: ast.For, target: ast.Name, value: Constant, kept: Slot | None) -> None:
    """The body of a ``static_range`` loop for one value of its counter, which the variable ``kept`` has after it."""
    if kept is not None:
        ctx.slots[target.id] = kept
        store(ctx, target, value, target, node)
    ctx.bind(target.id, Slot(value, ctx.span(target), "unrolled"))
    ctx.depth += 1
    ctx.statements(node.body)
    ctx.depth -= 1


def _stays(ctx: Context, node: ast.For, target: ast.Name, steps: range, where: Span, kept: Slot | None) -> bool:
    """Whether a ``static_range`` loop stays a loop, as which it is lowered then.

    Raises CopiesNeededError where more than its body must be lowered again.
    """
    module, before, around = ctx.module, Attempt(ctx), ctx.module.open_loops
    module.open_loops = (*around, where)
    try:
        _kept_loop(ctx, node, target, steps, where, kept)
    except CopiesNeededError as error:
        # The loops of other calls of a function are like this one.
        if where not in error.loops or not error.loops.isdisjoint((*around, *module.kept_loops)):
            raise
        before.undo()
        module.copied_loops |= error.loops
        return False
    finally:
        module.open_loops = around
    return True


def _kept_loop(ctx: Context, node: ast.For, target: ast.Name, steps: range, where: Span, kept: Slot | None) -> None:
    """A ``static_range`` loop that stays a loop; CopiesNeededError if its body is not the same for all iterations."""
    span = ctx.span(node)
    variable = ctx.loop_variables.get(target.id)
    if variable is None or any(loop.variable == variable for loop in ctx.kept_loops):
        variable = ctx.loop_variables[target.id] = ctx.new_variable(target.id, INT32, span)
    loop = Loop(where, variable, steps)
    known = {name: slot.value for name, slot in ctx.slots.items() if name not in {target.id, *ctx.counters}}
    arrays = len(ctx.module.tile_statics)
    ctx.kept_loops.append(loop)
    ctx.loops.append(UnrolledExits(depth=ctx.depth + 1, kept=where))
    with ctx.nested() as block:
        try:
            _static_body(ctx, node, target, Counter({loop: 1}), kept)
        except (CompileError, UnsupportedFeatureError):
            raise CopiesNeededError(frozenset({where})) from None
    ctx.kept_loops.pop()
    exits = _exits(ctx)
    ctx.assigned = _join(ctx.assigned, *exits.breaks, *exits.continues)
    if len(ctx.module.tile_statics) > arrays or any(
        name not in ctx.slots or ctx.slots[name].value != value for name, value in known.items()
    ):
        raise CopiesNeededError(frozenset({where}))
    for name in [n for n, slot in ctx.slots.items() if n != target.id and mentions(slot.value, loop)]:
        # Read after the loop it is an error, and the loop is copied.
        del ctx.slots[name]
    ctx.slots[target.id] = Slot(Constant(steps[-1]), ctx.span(target), "unrolled")
    ctx.module.kept_loops.add(where)
    start, stop, step = (ir.Const(span, INT32, n) for n in (steps.start, steps.stop, steps.step))
    ctx.emit(ir.For(span, variable, start, stop, step, tuple(block), unroll=not _is_left(node.body)))


def _is_number(slot: Slot) -> bool:
    """Whether a name is a variable that holds a number."""
    return slot.kind == "variable" and isinstance(slot.value, Element) and isinstance(slot.value.place.type, Scalar)


def _range_for(ctx: Context, node: ast.For, target: ast.Name, call: ast.Call) -> None:
    (start, stop, step), _ = range_bounds(ctx, call)
    span, kind = ctx.span(node), step.type
    assert isinstance(kind, Scalar)
    variable = _loop_variable(ctx, target, kind)
    entry = ctx.assigned
    ctx.loops.append(LoopExits())
    inside = None if entry is None else entry | {target.id}
    body, end = _branch(ctx, node.body, inside)
    exits = _exits(ctx)
    ctx.assigned = _join(end, *exits.breaks, *exits.continues) if _surely_runs(start, stop, step) else entry
    ctx.emit(ir.For(span, variable, start, stop, step, body))


def _loop_variable(ctx: Context, target: ast.Name, kind: Scalar) -> ir.Variable:
    slot = ctx.slots.get(target.id)
    found = slot.value if slot is not None and slot.kind == "variable" else None
    place = found.place if isinstance(found, Element) else None
    fits = isinstance(place, ir.Local) and place.type == kind
    if slot is None or (not fits and target.id in ctx.counters):
        variable = ctx.new_variable(target.id, kind, ctx.span(target))
        ctx.slots[target.id] = Slot(Element(ir.Local(ctx.span(target), kind, variable)), ctx.span(target))
        return variable
    if not isinstance(place, ir.Local) or place.type != kind:
        ctx.fail(
            "VKA326", target,
            notes=(Note(slot.span, f"`{target.id}` is {ctx.describe(slot.value)} since this line"),),
            name=target.id, type=kind,
        )  # fmt: skip
    return place.variable


def _surely_runs(start: ir.Expr, stop: ir.Expr, step: ir.Expr) -> bool:
    if not all(isinstance(e, ir.Const) for e in (start, stop, step)):
        return False
    assert isinstance(start, ir.Const) and isinstance(stop, ir.Const) and isinstance(step, ir.Const)
    return len(range(int(start.value), int(stop.value), int(step.value))) > 0


def _exits(ctx: Context) -> LoopExits:
    """The ways out of the loop that ends here."""
    exits = ctx.loops.pop()
    ctx.last_exits = exits
    return exits


def _loop_with_else(ctx: Context, node: ast.For | ast.While) -> None:
    """The loop, and a branch after it for its ``else``. The other side of the branch is where its breaks lead to."""
    # Also names from outside the function, which it may read later.
    written = {each.id for each in all_nodes(ctx.source.node) if isinstance(each, ast.Name)}
    statements, branch = without_else(node, ctx.slots.keys() | ctx.local_names | written)
    ctx.statements(statements)
    if branch is not None:
        assert ctx.last_exits is not None
        breaks = _join(*ctx.last_exits.breaks)
        after_else = _sides(ctx, branch, truth_of(ctx, branch.test))[0]
        ctx.assigned = _join(after_else, breaks)


@handles(ast.Break, ast.Continue)
def _leave(ctx: Context, node: ast.Break | ast.Continue) -> None:
    """Both ways out of an iteration: what is assigned here may be all that is assigned after the loop."""
    exits, is_break = ctx.loops[-1], isinstance(node, ast.Break)
    is_certain = ctx.assigned is not None and isinstance(exits, UnrolledExits) and ctx.depth == exits.depth
    if ctx.assigned is not None:
        (exits.breaks if is_break else exits.continues).append(set(ctx.assigned))
    ctx.assigned = None
    if isinstance(exits, UnrolledExits):
        if is_certain and is_break and exits.kept is not None:
            # The loop has one iteration.
            raise CopiesNeededError(frozenset({exits.kept}))
        if is_certain and exits.kept is None and not (is_break and exits.continued):
            # What follows is not part of the kernel; after a `break`, neither are the other copies.
            exits.stopped, exits.is_left = is_break, True
            return
        exits.broken |= is_break
        exits.continued |= not is_break
        if is_break and exits.flag is not None:
            span = ctx.span(node)
            ctx.emit(ir.Assign(span, ir.Local(span, BOOL, exits.flag), ir.Const(span, BOOL, True)))
    ctx.emit(ir.Break(ctx.span(node)) if is_break else ir.Continue(ctx.span(node)))


@handles(ast.Return)
def _return(ctx: Context, node: ast.Return) -> None:
    span = ctx.span(node)
    ctx.reached_returns += ctx.assigned is not None
    nothing = node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
    if ctx.is_kernel and not nothing:
        assert node.value is not None
        ctx.fail("VKA213", node.value, advice=f"out[{ctx.module.index_name}] = {ctx.text(node.value)}")
    if nothing:
        ctx.returns.append((None, span))
        ctx.emit(ir.Return(span))
    else:
        assert node.value is not None
        value = ctx.expr(node.value)
        if isinstance(value, ThreadRef):
            value = thread_index(ctx, "global", span)
        values = tuple(flatten(ctx, value, node.value))
        ctx.returns.append((value, span))
        _note_objects(ctx, value, span)
        ctx.emit(ir.Return(span, values))
    ctx.assigned = None


def _note_objects(ctx: Context, value: Value, span: Span) -> None:
    """Records which vectors and index objects of the function a `return` returns."""
    objects = _leaf_objects(ctx, value, in_index=False)
    known = ctx.returned.setdefault((span.line, span.column), objects)
    for k, (one, other) in enumerate(zip(known, objects, strict=False)):
        # The copies of an unrolled loop are in one place.
        known[k] = one if other is None else (*(one or ()), *other)


def _leaf_objects(ctx: Context, value: Value, *, in_index: bool) -> list[tuple[ir.Local, ...] | None]:
    """The objects of each number that :func:`flatten` gives."""
    if isinstance(value, TupleValue):
        inside = value.kind != "tuple"
        return [leaf for item in value.items for leaf in _leaf_objects(ctx, item, in_index=inside)]
    if isinstance(value, ArrayRef):
        return []
    return [objects_of(value) if in_index or ctx.vector_of(value) is not None else None]
