"""A tile program as a tree of phases: what all threads do between two barriers, and the control flow around them.

What contains a barrier is reached by all threads of a tile or by none (the check before has made sure), so it stays
outside the loops over threads; so do the jumps that such control flow is left by.  Everything else is in a phase.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.fences import Fence
from vkamp.ir.rewrite import contains
from vkamp.lower.errors import NotLowerable
from vkamp.lower.inline import is_wait


@dataclasses.dataclass(frozen=True)
class Phase:
    """Statements without a barrier that every thread runs; ``exits``: some threads may return in it."""

    block: ir.Block
    exits: bool = False


@dataclasses.dataclass(frozen=True)
class Sync:
    """A barrier."""

    fence: Fence
    span: Span


@dataclasses.dataclass(frozen=True)
class Single:
    """A statement that is run once for the tile: a jump, or an assignment of a uniform value."""

    statement: ir.Stmt


@dataclasses.dataclass(frozen=True)
class Branch:
    """A uniform ``if`` around phases."""

    statement: ir.If
    then: tuple[Item, ...]
    orelse: tuple[Item, ...]


@dataclasses.dataclass(frozen=True)
class Repeat:
    """A uniform loop around phases."""

    statement: ir.For | ir.While
    body: tuple[Item, ...]


Item = Phase | Sync | Single | Branch | Repeat


def walk_items(items: tuple[Item, ...]) -> Iterator[Item]:
    """Every item and those inside it, in program order."""
    for item in items:
        yield item
        if isinstance(item, Branch):
            yield from walk_items(item.then)
            yield from walk_items(item.orelse)
        elif isinstance(item, Repeat):
            yield from walk_items(item.body)


def map_phases(
    items: tuple[Item, ...],
    change: Callable[[Phase], list[Item]],
    loop: Callable[[Repeat], Repeat] = lambda item: item,
) -> tuple[Item, ...]:
    """The tree with other items in the places of its phases, and first of all other loops."""
    out: list[Item] = []
    for item in items:
        if isinstance(item, Phase):
            out += change(item)
        elif isinstance(item, Branch):
            then, orelse = map_phases(item.then, change, loop), map_phases(item.orelse, change, loop)
            out.append(dataclasses.replace(item, then=then, orelse=orelse))
        elif isinstance(item, Repeat):
            item = loop(item)
            out.append(dataclasses.replace(item, body=map_phases(item.body, change, loop)))
        else:
            out.append(item)
    return tuple(out)


@dataclasses.dataclass(frozen=True)
class _Where:
    """Whether a barrier may follow: after the block, at the ends of the jumps of the loop around it.

    ``last``: nothing at all runs after the block.
    """

    after: bool = False
    at_break: bool = False
    at_continue: bool = False
    last: bool = True


def phases_of(block: ir.Block) -> tuple[Item, ...]:
    """The tree of a kernel's body.  NotLowerable if it has none."""
    return _PhaseSplitter().block(block, _Where())


# -- where a barrier may follow ------------------------------------------------------------------------------------


def _follows(block: ir.Block, where: _Where) -> bool:
    """Whether a barrier may be reached from the beginning of a block."""
    return _reached(block, where)[0]


def _reached(block: ir.Block, where: _Where) -> list[bool]:
    """For each statement of a block, and for its end: whether a barrier may follow."""
    reached = [where.after]
    for statement in reversed(block):
        reached.append(_follows_statement(statement, where, reached[-1]))
    reached.reverse()
    return reached


def _follows_statement(statement: ir.Stmt, where: _Where, after: bool) -> bool:
    """``where`` is that of the statement's block, except for ``after``, which is the statement's own."""
    if is_wait(statement):
        return True
    if isinstance(statement, ir.Break):
        return where.at_break
    if isinstance(statement, ir.Continue):
        return where.at_continue
    if isinstance(statement, ir.Return):
        return False
    if isinstance(statement, ir.If):
        inside = dataclasses.replace(where, after=after)
        return any(_follows(side, inside) for side in ir.blocks(statement))
    if isinstance(statement, (ir.For, ir.While)):
        return _head(statement, after)
    return after


def _head(loop: ir.For | ir.While, after: bool) -> bool:
    """Whether a barrier may be reached from a loop's head."""
    endless = isinstance(loop, ir.While) and isinstance(loop.condition, ir.Const) and bool(loop.condition.value)
    head = after and not endless
    return head or _follows(loop.body, _Where(head, after, head))


def _completes(statement: ir.Stmt) -> bool:
    """Whether any thread may reach the end of a statement."""
    if isinstance(statement, ir.JUMPS):
        return False
    if isinstance(statement, ir.If):
        return any(all(map(_completes, side)) for side in ir.blocks(statement))
    if isinstance(statement, ir.While) and isinstance(statement.condition, ir.Const) and statement.condition.value:
        return any(isinstance(jump, ir.Break) for jump in _jumps(statement.body))
    return True


def _jumps(block: ir.Block, in_loop: bool = False) -> Iterator[ir.Break | ir.Continue | ir.Return]:
    """The jumps that leave a block."""
    for statement in block:
        if isinstance(statement, ir.Return) or (isinstance(statement, (ir.Break, ir.Continue)) and not in_loop):
            yield statement
        for inner in ir.blocks(statement):
            yield from _jumps(inner, in_loop or isinstance(statement, (ir.For, ir.While)))


# -- the tree ------------------------------------------------------------------------------------------------------


class _PhaseSplitter:
    def block(self, block: ir.Block, where: _Where) -> tuple[Item, ...]:
        items: list[Item] = []
        run: list[ir.Stmt] = []
        exits = False

        def flush() -> None:
            nonlocal exits
            if run:
                items.append(Phase(tuple(run), exits))
                run.clear()
            exits = False

        reached = _reached(block, where)
        for number, statement in enumerate(block):
            if isinstance(statement, ir.Assert) or _declares_shared(statement):
                continue
            after = _completes(statement) and reached[number + 1]
            here = dataclasses.replace(where, after=after, last=where.last and number == len(block) - 1)
            jumps = list(_jumps((statement,)))
            if exits and contains((statement,), is_wait):
                # No barrier can be reached from where some threads return: no thread comes here.
                break
            if is_wait(statement):
                assert isinstance(statement, ir.Barrier)
                flush()
                items.append(Sync(statement.fence, statement.span))
            elif not exits and (
                contains((statement,), is_wait) or _is_uniform(jumps, here) or isinstance(statement, ir.JUMPS)
            ):
                flush()
                items.append(self.control(statement, here))
            else:
                if jumps:
                    # From here on no barrier follows, so that the rest of the block is one phase.
                    self.check_exits(jumps, where)
                    exits = True
                run += ir.without_uniform_asserts((statement,))
        flush()
        return tuple(items)

    @staticmethod
    def check_exits(jumps: list[ir.Break | ir.Continue | ir.Return], where: _Where) -> None:
        """Refuses what only some threads may leave, and others go on in after the phase."""
        if not all(isinstance(jump, ir.Return) for jump in jumps):
            raise NotLowerable("some of its threads may leave a loop that has a barrier in it")
        if not where.last:
            raise NotLowerable(
                "some of its threads may return from inside a loop or condition that has a barrier in it"
            )

    def control(self, statement: ir.Stmt, where: _Where) -> Item:
        """Control flow that all threads take together."""
        if isinstance(statement, ir.If):
            then, orelse = (self.block(side, where) for side in ir.blocks(statement))
            return Branch(statement, then, orelse)
        if not isinstance(statement, (ir.For, ir.While)):
            return Single(statement)
        head = _head(statement, where.after)
        inside = _Where(head, where.after, head, last=False)
        return Repeat(statement, self.block(statement.body, inside))


def _is_uniform(jumps: list[ir.Break | ir.Continue | ir.Return], where: _Where) -> bool:
    """Whether the threads jump together: a barrier may follow for those that do, or for those that do not."""
    ends = {ir.Break: where.at_break, ir.Continue: where.at_continue, ir.Return: False}
    return bool(jumps) and (where.after or any(ends[type(jump)] for jump in jumps))


def _declares_shared(statement: ir.Stmt) -> bool:
    return isinstance(statement, ir.Declare) and statement.variable.storage == "tile_static"
