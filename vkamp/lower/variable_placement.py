"""Where the variables of a tile program live when its threads are loops.

A variable that is used in one phase alone is declared there.  Of the others a uniform one exists once for the tile; a
cheap pure value is computed again in each phase; all else is kept in arrays with an element for each thread.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from vkamp.ir import nodes as ir
from vkamp.ir.arithmetic import DIVISIONS
from vkamp.ir.dataflow import assigned, exposed, named, read, read_value, targets
from vkamp.ir.requirements import access
from vkamp.ir.rewrite import Names, value_of
from vkamp.ir.types import Array, Struct
from vkamp.lower.phases import Branch, Item, Phase, Repeat, Single, map_phases, walk_items

#: What a value may cost to be computed again rather than kept; a kept one costs a store and a load in each phase.
_CHEAP = 24
_LOAD_COST, _CALL_COST, _DIVISION_COST = 8, 4, 12
_PURE = (ir.Unary, ir.Compare, ir.Logical, ir.Select, ir.Cast, ir.Construct, ir.Swizzle)


@dataclasses.dataclass(frozen=True)
class VariablePlacement:
    """``once``: variables that exist once; ``again``: values to compute in each phase, in an order in which each
    uses only earlier ones; ``kept``: variables of which each thread keeps its own across phases."""

    once: frozenset[str]
    again: Mapping[str, ir.Expr]
    kept: tuple[ir.Variable, ...]


# -- uniform values ------------------------------------------------------------------------------------------------


def constant_buffers(kernel: ir.Kernel) -> frozenset[str]:
    """The containers whose memory the kernel changes nowhere."""
    table = access(kernel)
    changed = {b.storage for b in kernel.buffers if table[b.name].changes}
    return frozenset(b.name for b in kernel.buffers if b.storage not in changed)


class _Uniform:
    """Which variables may exist once: every assignment of them is run once, with uniform values."""

    def __init__(self, kernel: ir.Kernel, items: tuple[Item, ...]) -> None:
        self.constant = constant_buffers(kernel)
        phases = [item for item in walk_items(items) if isinstance(item, Phase)]
        self.variables = {
            v.name
            for function in (kernel.body,)
            for v in function.variables
            if v.storage == "local" and not isinstance(v.type, Array)
        }
        for item in walk_items(items):
            if isinstance(item, Repeat) and isinstance(item.statement, ir.For):
                self.variables.add(item.statement.variable.name)
        while True:
            before = len(self.variables)
            for phase in phases:
                for statement, free in leading(phase):
                    if not (free and self.statement(statement)):
                        self.variables -= assigned((statement,))
            if len(self.variables) == before:
                break

    def statement(self, statement: ir.Stmt, loops: int = 0) -> bool:
        """Whether a statement does nothing but to give uniform values to variables that exist once."""
        if isinstance(statement, ir.Assign):
            place = statement.place
            return isinstance(place, ir.Local) and place.variable.name in self.variables and self.value(statement.value)
        if isinstance(statement, ir.If):
            inner = (s for side in ir.blocks(statement) for s in side)
            return self.value(statement.condition) and all(self.statement(s, loops) for s in inner)
        if isinstance(statement, ir.For):
            bounds = (statement.start, statement.stop, statement.step)
            if statement.variable.name not in self.variables or not all(map(self.value, bounds)):
                return False
            return all(self.statement(s, loops + 1) for s in statement.body)
        if isinstance(statement, ir.While):
            return self.value(statement.condition) and all(self.statement(s, loops + 1) for s in statement.body)
        return isinstance(statement, (ir.Break, ir.Continue)) and loops > 0

    def value(self, expr: ir.Expr) -> bool:
        """Whether an expression is the same for all threads, whenever it is evaluated between two assignments."""
        for node in ir.walk(expr):
            if isinstance(node, ir.ThreadIndex) and node.kind not in ("tile", "tile_origin"):
                return False
            if isinstance(node, ir.SubgroupIndex):
                return False
            if isinstance(node, ir.BufferElement) and node.buffer not in self.constant:
                return False
            if isinstance(node, ir.Local) and node.variable.name not in self.variables:
                return False
        return True


def uniform_variables(kernel: ir.Kernel, items: tuple[Item, ...]) -> frozenset[str]:
    """The variables that have the same value for all threads of a tile whenever the threads reach one place
    together.
    """
    return frozenset(_Uniform(kernel, items).variables)


def leading(phase: Phase) -> Iterable[tuple[ir.Stmt, bool]]:
    """The statements of a phase, each with whether all threads certainly run it."""
    free = True
    for statement in phase.block:
        yield statement, free
        if phase.exits and any(isinstance(s, ir.Return) for s in ir.walk_statements((statement,))):
            free = False


def hoist(
    kernel: ir.Kernel, items: tuple[Item, ...], names: Names, variables: list[ir.Variable]
) -> tuple[tuple[Item, ...], frozenset[str]]:
    """The tree with the assignments of uniform values out of the phases, and the variables that exist once.

    New variables are added to ``variables``.
    """
    uniform = _Uniform(kernel, items)
    counters: set[str] = set()

    def own_variable(item: Repeat) -> Repeat:
        """A loop whose variable each thread has for itself: all count together, and copy the counter."""
        loop = item.statement
        if not isinstance(loop, ir.For) or loop.variable.name in uniform.variables:
            return item
        own = loop.variable
        counter = dataclasses.replace(own, name=names.give(f"{own.name}_counter"), temporary=True)
        variables.append(counter)
        counters.add(counter.name)
        copy = ir.Assign(loop.span, ir.Local(loop.span, own.type, own), value_of(counter, loop))
        return Repeat(dataclasses.replace(loop, variable=counter), (Phase((copy,)), *item.body))

    made = map_phases(items, lambda phase: _hoisted(phase, uniform), own_variable)
    return made, frozenset(uniform.variables | counters)


def _hoisted(phase: Phase, uniform: _Uniform) -> list[Item]:
    """A phase with its uniform assignments before it, after it, or between two parts of it."""
    out: list[Item] = []
    kept: list[ir.Stmt] = []
    behind: list[ir.Stmt] = []
    statements = list(leading(phase))

    def flush() -> None:
        if kept:
            out.append(Phase(tuple(kept), phase.exits))
        out.extend(map(Single, behind))
        kept.clear()
        behind.clear()

    for number, (statement, free) in enumerate(statements):
        if not (free and uniform.statement(statement)):
            kept.append(statement)
            continue
        new, used = assigned((statement,)), named((statement,))
        if not new & named(kept) and not used & assigned(behind) and not new & named(behind):
            out.append(Single(statement))
            continue
        rest = [s for s, ok in statements[number + 1 :] if not (ok and uniform.statement(s))]
        if new & named(rest):
            flush()
            out.append(Single(statement))
        else:
            behind.append(statement)
    flush()
    return out


# -- values that live across phases --------------------------------------------------------------------------------


def conditions(item: Item) -> tuple[ir.Expr, ...]:
    """The expressions that are evaluated outside the phases."""
    if isinstance(item, (Branch, Repeat)):
        statement = item.statement
        if isinstance(statement, ir.For):
            return statement.start, statement.stop, statement.step
        return (statement.condition,)
    return ()


def places(
    kernel: ir.Kernel, items: tuple[Item, ...], once: frozenset[str], variables: Iterable[ir.Variable]
) -> VariablePlacement:
    """Where each variable lives."""
    uses: dict[str, set[int]] = {}
    crossing: set[str] = set()
    for number, item in enumerate(walk_items(items)):
        names: set[str] = set()
        if isinstance(item, Phase):
            names = named(item.block)
            crossing |= exposed(item.block)
        for expr in conditions(item):
            names |= read_value(expr)
            crossing |= read_value(expr)
        if isinstance(item, Single):
            crossing |= read(item.statement)
        for name in names:
            uses.setdefault(name, set()).add(number)
    across = {n for n in crossing if len(uses.get(n, ())) > 1 and n not in once}
    again = _Again(kernel, items, once, across).values()
    kept = tuple(v for v in variables if v.name in across and v.name not in again)
    return VariablePlacement(once, again, kept)


def computable(kernel: ir.Kernel, items: tuple[Item, ...], once: frozenset[str]) -> frozenset[str]:
    """The variables whose values could be recomputed anywhere after their assignment."""
    again = _Again(kernel, items, once, set())
    return frozenset(name for name in again.definitions if again.variable(name) is not None)


class _Again:
    """The values that are computed again in each phase that needs them.

    A variable with one assignment has, wherever it is read, the value that its expression has there, as long as the
    variables in it have one assignment each, too.
    """

    def __init__(self, kernel: ir.Kernel, items: tuple[Item, ...], once: frozenset[str], across: set[str]) -> None:
        self.constant = constant_buffers(kernel)
        self.once = once
        self.across = across
        self.definitions: dict[str, list[ir.Stmt]] = {}
        for item in walk_items(items):
            if isinstance(item, Phase):
                statements = list(ir.walk_statements(item.block))
            elif isinstance(item, Single):
                statements = list(ir.walk_statements((item.statement,)))
            elif isinstance(item, Repeat) and isinstance(item.statement, ir.For):
                statements = [item.statement]
            else:
                continue
            for statement in statements:
                for variable in targets(statement):
                    self.definitions.setdefault(variable.name, []).append(statement)
        self.costs: dict[str, int | None] = {}
        self.order: dict[str, ir.Expr] = {}

    def values(self) -> dict[str, ir.Expr]:
        """By name, in an order in which each uses only earlier ones."""
        for name in self.definitions:
            if name in self.across:
                self.variable(name)
        return self.order

    def variable(self, name: str) -> int | None:
        """The cost of a variable's value, ``None`` if it cannot be computed again."""
        if name not in self.costs:
            self.costs[name] = None
            definitions = self.definitions.get(name, [])
            only = definitions[0] if len(definitions) == 1 else None
            if (
                isinstance(only, ir.Assign)
                and isinstance(only.place, ir.Local)
                and not isinstance(only.value.type, Struct)
            ):
                cost = self.cost(only.value)
                if cost is not None and cost <= _CHEAP:
                    self.costs[name] = cost
                    self.order[name] = only.value
        return self.costs[name]

    def cost(self, expr: ir.Expr) -> int | None:
        """What an expression costs, ``None`` if its value may be another one later."""
        if isinstance(expr, (ir.Const, *ir.GIVEN)):
            return 0
        if isinstance(expr, ir.Load):
            return self.load(expr)
        if isinstance(expr, ir.Builtin):
            return self.sum(_CALL_COST, expr.args)
        if isinstance(expr, ir.Binary):
            slow = expr.op in DIVISIONS and not isinstance(expr.right, ir.Const)
            return self.sum(_DIVISION_COST if slow else 1, (expr.left, expr.right))
        if isinstance(expr, _PURE):
            return self.sum(1, (child for child in ir.children(expr) if isinstance(child, ir.Expr)))
        return None

    def sum(self, own: int, operands: Iterable[ir.Expr]) -> int | None:
        total = own
        for operand in operands:
            cost = self.cost(operand)
            if cost is None:
                return None
            total += cost
        return total

    def load(self, expr: ir.Load) -> int | None:
        place = expr.place
        if isinstance(place, ir.Local):
            name = place.variable.name
            if name in self.once:
                return 0 if len(self.definitions.get(name, [])) == 1 else None
            return self.variable(name)
        if isinstance(place, ir.BufferElement) and place.buffer in self.constant:
            return self.sum(_LOAD_COST, place.indices)
        return None
