"""Loops over those threads alone that do something: where a condition on the local index guards all of a phase."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping

from vkamp.ir import nodes as ir
from vkamp.ir.algebra import affine
from vkamp.ir.arithmetic import MIRRORED, wrapped
from vkamp.ir.dataflow import assigned, named, read_value, targets
from vkamp.ir.rewrite import substituted
from vkamp.ir.types import INT32, int_range
from vkamp.lower.phases import Item, Phase, map_phases

#: A local index plus at most this does not wrap: no device has tiles with so many threads.
_MAX_OFFSET = int_range(INT32)[1] - (1 << 16)


@dataclasses.dataclass(frozen=True)
class Bound:
    """Of a dimension of the local index: only ``equal``, or only what is below ``stop``."""

    dim: int
    equal: int | None = None
    stop: ir.Expr | None = None


def _conjuncts(condition: ir.Expr) -> Iterator[ir.Compare]:
    if isinstance(condition, ir.Logical) and condition.op == "and":
        yield from _conjuncts(condition.left)
        yield from _conjuncts(condition.right)
    elif isinstance(condition, ir.Compare):
        yield condition


def bounds_of(condition: ir.Expr, known: Mapping[str, ir.Expr], once: frozenset[str]) -> list[Bound]:
    """What a condition says of the local index; ``known`` are the values of variables, by name."""
    found: list[Bound] = []
    for compare in _conjuncts(condition):
        if compare.left.type == INT32 and compare.op != "ne":
            found += _bounds(compare.op, compare.left, compare.right, known, once)
            found += _bounds(MIRRORED[compare.op], compare.right, compare.left, known, once)
    return found


def _bounds(
    op: str, left: ir.Expr, right: ir.Expr, known: Mapping[str, ir.Expr], once: frozenset[str]
) -> Iterator[Bound]:
    terms, constant = affine(substituted(left, known))
    if len(terms) != 1:
        return
    ((index, factor),) = terms.items()
    constant = wrapped(constant, INT32)
    number = _subgroup_of(index)
    if number is not None and (factor, constant) == (1, 0) and isinstance(right, ir.Const) and op in ("eq", "lt"):
        dim, size = number
        yield Bound(dim, stop=ir.Const(right.span, INT32, (int(right.value) + (op == "eq")) * size))
    if not isinstance(index, ir.ThreadIndex) or index.kind != "local" or factor != 1:
        return
    if op == "eq" and isinstance(right, ir.Const):
        yield Bound(index.dim, equal=wrapped(int(right.value) - constant, INT32))
    elif op in ("lt", "le") and constant <= _MAX_OFFSET and _is_uniform(right, once):
        # A limit that is not a constant might wrap, moved to the other side.
        shift = (op == "le") - constant
        if isinstance(right, ir.Const):
            yield Bound(index.dim, stop=ir.Const(right.span, INT32, int(right.value) + shift))
        elif shift == 0:
            yield Bound(index.dim, stop=right)


def _subgroup_of(expr: ir.Expr) -> tuple[int, int] | None:
    """The dimension and the divisor of a quotient of the local index, as the number of a subgroup is one."""
    if not isinstance(expr, ir.Binary) or expr.op != "tdiv" or not isinstance(expr.right, ir.Const):
        return None
    index, size = expr.left, int(expr.right.value)
    is_local = isinstance(index, ir.ThreadIndex) and index.kind == "local"
    return (index.dim, size) if is_local and size > 0 else None  # type: ignore[attr-defined]


def _is_uniform(expr: ir.Expr, once: frozenset[str]) -> bool:
    """Whether an expression is the same for all threads of a phase, and cheap."""
    for node in ir.walk(expr):
        if isinstance(node, (ir.Const, ir.ScalarValue, ir.BufferExtent, ir.Builtin)):
            continue
        if isinstance(node, ir.Binary) and node.op in ("add", "sub", "mul", "shl", "shr"):
            continue
        if isinstance(node, ir.ThreadIndex) and node.kind in ("tile", "tile_origin"):
            continue
        if ir.read_local(node) is not None:
            continue
        if isinstance(node, ir.Local) and node.variable.name in once:
            continue
        return False
    return True


# -- phases of one guarded statement -------------------------------------------------------------------------------


def guards(block: ir.Block, once: frozenset[str]) -> list[Bound]:
    """What a condition implies for the threads for which a block has effects outside its own values."""
    last = block[-1] if block else None
    if not isinstance(last, ir.If) or last.orelse or not all(map(_is_value, block[:-1])):
        return []
    return bounds_of(last.condition, known_before(last, block), once)


def _is_value(statement: ir.Stmt) -> bool:
    return isinstance(statement, ir.Assign) and isinstance(statement.place, ir.Local)


def known_before(last: ir.Stmt, block: ir.Block) -> dict[str, ir.Expr]:
    """The values that variables have before a statement of a block, as far as the block does not change them."""
    changes = assigned(block)
    known: dict[str, ir.Expr] = {}
    for statement in block:
        if statement is last:
            break
        for name in assigned((statement,)):
            value = substituted(statement.value, known) if isinstance(statement, ir.Assign) else None
            if value is not None and _is_value(statement) and not read_value(value) & changes:
                known[name] = value
            else:
                known.pop(name, None)
    return known


def values(block: ir.Block) -> dict[str, ir.Expr]:
    """The values of the variables that a block assigns once, by name."""
    found: dict[str, ir.Expr] = {}
    counts = Counter(v.name for s in ir.walk_statements(block) for v in targets(s))
    for statement in block:
        if isinstance(statement, ir.Assign) and isinstance(statement.place, ir.Local):
            name = statement.place.variable.name
            if counts[name] == 1:
                found[name] = statement.value
    return found


def split_guarded(items: tuple[Item, ...], once: frozenset[str], again: frozenset[str]) -> tuple[Item, ...]:
    """The tree with phases of their own for statements that only some threads run, as an index says.

    ``again`` are the variables whose values can be computed again in each of them.
    """

    def split(phase: Phase) -> list[Item]:
        if phase.exits:
            return [phase]
        parts: list[list[ir.Stmt]] = [[]]
        for statement in phase.block:
            if _is_guarded(statement, phase.block, once) and not _shares(statement, phase.block, again):
                parts += [[statement], []]
            else:
                parts[-1].append(statement)
        return [Phase(tuple(part)) for part in parts if part]

    return map_phases(items, split)


def _is_guarded(statement: ir.Stmt, block: ir.Block, once: frozenset[str]) -> bool:
    if not isinstance(statement, ir.If) or statement.orelse:
        return False
    return bool(bounds_of(statement.condition, known_before(statement, block), once))


def _shares(statement: ir.Stmt, block: ir.Block, again: frozenset[str]) -> bool:
    """Whether a statement changes variables that others of its block use, or uses some that they change."""
    rest = [s for s in block if s is not statement]
    mine, changes = named((statement,)), assigned((statement,))
    return bool(changes & named(rest)) or bool((mine & assigned(rest)) - again)
