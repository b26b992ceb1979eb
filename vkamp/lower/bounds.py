"""Loops over those threads alone that do something: where a condition on the local index guards all of a phase."""

from __future__ import annotations

import dataclasses
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from vkamp.ir import nodes as ir
from vkamp.ir.dataflow import assigned, named, read_value, targets
from vkamp.ir.types import BOOL, INT32
from vkamp.lower.phases import Branch, Item, Phase, Repeat

_OPPOSITE = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq"}


@dataclasses.dataclass(frozen=True)
class Bound:
    """Of a dimension of the local index: only ``equal``, or only what is below ``stop``."""

    dim: int
    equal: int | None = None
    stop: ir.Expr | None = None


def linear(expr: ir.Expr) -> tuple[dict[ir.Expr, int], int]:
    """An int32 expression as a sum of factors of other expressions, and a constant."""
    if isinstance(expr, ir.Const):
        return {}, int(expr.value)
    if isinstance(expr, ir.Binary) and expr.op in ("add", "sub"):
        terms, constant = linear(expr.left)
        others, other = linear(expr.right)
        sign = 1 if expr.op == "add" else -1
        total = dict(terms)
        for term, factor in others.items():
            total[term] = total.get(term, 0) + sign * factor
        return {t: f for t, f in total.items() if f}, constant + sign * other
    if isinstance(expr, ir.Binary) and expr.op == "mul" and isinstance(expr.right, ir.Const):
        terms, constant = linear(expr.left)
        factor = int(expr.right.value)
        return {t: f * factor for t, f in terms.items() if factor}, constant * factor
    return {expr: 1}, 0


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
        if compare.left.type == INT32 and compare.op in _OPPOSITE:
            found += _bounds(compare.op, compare.left, compare.right, known, once)
            found += _bounds(_OPPOSITE[compare.op], compare.right, compare.left, known, once)
    return found


def _bounds(
    op: str, left: ir.Expr, right: ir.Expr, known: Mapping[str, ir.Expr], once: frozenset[str]
) -> Iterator[Bound]:
    terms, constant = linear(resolved(left, known))
    if len(terms) != 1:
        return
    ((index, factor),) = terms.items()
    if not isinstance(index, ir.ThreadIndex) or index.kind != "local" or factor != 1:
        return
    if op == "eq" and isinstance(right, ir.Const):
        yield Bound(index.dim, equal=int(right.value) - constant)
    elif op in ("lt", "le") and _is_uniform(right, once):
        # The shift by a constant might wrap for values that no index has.
        shift = (op == "le") - constant
        if isinstance(right, ir.Const):
            yield Bound(index.dim, stop=ir.Const(right.span, INT32, int(right.value) + shift))
        elif shift == 0:
            yield Bound(index.dim, stop=right)


def resolved(expr: ir.Expr, known: Mapping[str, ir.Expr]) -> ir.Expr:
    """An expression with the values of known variables in their places, as far as they lead to an index."""
    if isinstance(expr, ir.Load) and isinstance(expr.place, ir.Local) and expr.place.variable.name in known:
        return known[expr.place.variable.name]
    if isinstance(expr, ir.Binary) and expr.type == INT32:
        left, right = resolved(expr.left, known), resolved(expr.right, known)
        return dataclasses.replace(expr, left=left, right=right)
    return expr


def _is_uniform(expr: ir.Expr, once: frozenset[str]) -> bool:
    """Whether an expression is the same for all threads of a phase, and cheap."""
    for node in ir.walk(expr):
        if isinstance(node, (ir.Const, ir.ScalarValue, ir.BufferExtent, ir.Builtin)):
            continue
        if isinstance(node, ir.Binary) and node.op in ("add", "sub", "mul", "shl", "shr"):
            continue
        if isinstance(node, ir.ThreadIndex) and node.kind in ("tile", "tile_origin"):
            continue
        if isinstance(node, ir.Load) and isinstance(node.place, ir.Local):
            continue
        if isinstance(node, ir.Local) and node.variable.name in once:
            continue
        return False
    return True


# -- phases of one guarded statement -------------------------------------------------------------------------------


def guards(block: ir.Block, once: frozenset[str]) -> list[Bound]:
    """What a condition says of the threads for which a block does more than to compute values of its own."""
    last = block[-1] if block else None
    if not isinstance(last, ir.If) or last.orelse or not all(map(_is_value, block[:-1])):
        return []
    return bounds_of(last.condition, known_before(last, block), once)


def _is_value(statement: ir.Stmt) -> bool:
    return isinstance(statement, ir.Assign) and isinstance(statement.place, ir.Local)


def known_before(last: ir.Stmt, block: ir.Block) -> dict[str, ir.Expr]:
    """The values that variables have before a statement of a block, of what the block does not change."""
    changes = assigned(block)
    known: dict[str, ir.Expr] = {}
    for statement in block:
        if statement is last:
            break
        for name in assigned((statement,)):
            value = resolved(statement.value, known) if isinstance(statement, ir.Assign) else None
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

    def of(items: tuple[Item, ...]) -> tuple[Item, ...]:
        out: list[Item] = []
        for item in items:
            if isinstance(item, Phase):
                out += split(item)
            elif isinstance(item, Branch):
                out.append(dataclasses.replace(item, then=of(item.then), orelse=of(item.orelse)))
            elif isinstance(item, Repeat):
                out.append(dataclasses.replace(item, body=of(item.body)))
            else:
                out.append(item)
        return tuple(out)

    return of(items)


def _is_guarded(statement: ir.Stmt, block: ir.Block, once: frozenset[str]) -> bool:
    if not isinstance(statement, ir.If) or statement.orelse:
        return False
    return bool(bounds_of(statement.condition, known_before(statement, block), once))


def _shares(statement: ir.Stmt, block: ir.Block, again: frozenset[str]) -> bool:
    """Whether a statement changes variables that others of its block use, or uses some that they change."""
    rest = [s for s in block if s is not statement]
    mine, changes = named((statement,)), assigned((statement,))
    return bool(changes & named(rest)) or bool((mine & assigned(rest)) - again)


# -- what became constant ------------------------------------------------------------------------------------------


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def folded(node: ir.Node) -> ir.Node:
    """A node whose operands are done already, without comparisons and sums of constants."""
    if isinstance(node, ir.Compare) and isinstance(node.left, ir.Const) and isinstance(node.right, ir.Const):
        if node.left.type == INT32:
            value = _COMPARISONS[node.op](int(node.left.value), int(node.right.value))
            return ir.Const(node.span, BOOL, value)
    elif isinstance(node, ir.Logical):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(one, ir.Const):
                # What is left out has no effects.
                return other if bool(one.value) == (node.op == "and") else one
    elif isinstance(node, ir.Binary) and node.type == INT32:
        return _folded_sum(node) if node.op in ("add", "sub") else _folded_quotient(node)
    return node


def _folded_sum(node: ir.Binary) -> ir.Expr:
    """A sum with at most one constant, the last."""
    terms, constant = linear(node)
    if not terms and abs(constant) < 2**31:
        return ir.Const(node.span, INT32, constant)
    left, right = node.left, node.right
    if isinstance(right, ir.Const) and isinstance(left, ir.Binary) and left.op in ("add", "sub"):
        inner = left.right
        if isinstance(inner, ir.Const):
            sign = {"add": 1, "sub": -1}
            total = sign[left.op] * int(inner.value) + sign[node.op] * int(right.value)
            if abs(total) < 2**31:
                return _folded_sum(ir.Binary(node.span, INT32, "add", left.left, ir.Const(node.span, INT32, total)))
    return left if isinstance(right, ir.Const) and right.value == 0 else node


def _folded_quotient(node: ir.Binary) -> ir.Expr:
    """``(x + 8) // 4`` as ``x // 4 + 2``, for an index that does not wrap."""
    left, right = node.left, node.right
    if node.op != "floordiv" or not isinstance(right, ir.Const) or right.value <= 0:
        return node
    if isinstance(left, ir.Const):
        return ir.Const(node.span, INT32, int(left.value) // int(right.value))
    if isinstance(left, ir.Binary) and left.op == "add" and isinstance(left.right, ir.Const):
        index = left.left
        whole, rest = divmod(int(left.right.value), int(right.value))
        if (
            rest == 0
            and isinstance(index, ir.Load)
            and isinstance(index.place, ir.Local)
            and index.place.variable.temporary
        ):
            quotient = dataclasses.replace(node, left=index)
            return ir.Binary(node.span, INT32, "add", quotient, ir.Const(node.span, INT32, whole))
    return node


def flattened(block: ir.Block) -> ir.Block:
    """The block without conditions that are known."""
    out: list[ir.Stmt] = []
    for statement in block:
        if isinstance(statement, ir.If) and isinstance(statement.condition, ir.Const):
            out += flattened(statement.then if statement.condition.value else statement.orelse)
        else:
            out.append(ir.map_blocks(statement, flattened))
    return tuple(out)
