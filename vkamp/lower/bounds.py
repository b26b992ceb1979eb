"""Loops over those threads alone that do something: where a condition on the local index guards all of a phase."""

from __future__ import annotations

import dataclasses
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from vkamp.ir.flow import assigned, named, read_value, targets
from vkamp.ir.nodes import (
    Assign,
    Binary,
    Block,
    BufferExtent,
    Builtin,
    Compare,
    Const,
    Expr,
    If,
    Load,
    Local,
    Logical,
    Node,
    ScalarValue,
    Stmt,
    ThreadIndex,
    map_blocks,
    walk,
    walk_statements,
)
from vkamp.ir.types import BOOL, INT32
from vkamp.lower.phases import Branch, Item, Phase, Repeat

__all__ = ["Bound", "flattened", "folded", "guards", "linear", "split_guarded"]

_OPPOSITE = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq"}


@dataclasses.dataclass(frozen=True)
class Bound:
    """Of a dimension of the local index: only ``equal``, or only what is below ``stop``."""

    dim: int
    equal: int | None = None
    stop: Expr | None = None


def linear(expr: Expr) -> tuple[dict[Expr, int], int]:
    """An int32 expression as a sum of factors of other expressions, and a constant."""
    if isinstance(expr, Const):
        return {}, int(expr.value)
    if isinstance(expr, Binary) and expr.op in ("add", "sub"):
        terms, constant = linear(expr.left)
        others, other = linear(expr.right)
        sign = 1 if expr.op == "add" else -1
        total = dict(terms)
        for term, factor in others.items():
            total[term] = total.get(term, 0) + sign * factor
        return {t: f for t, f in total.items() if f}, constant + sign * other
    if isinstance(expr, Binary) and expr.op == "mul" and isinstance(expr.right, Const):
        terms, constant = linear(expr.left)
        factor = int(expr.right.value)
        return {t: f * factor for t, f in terms.items() if factor}, constant * factor
    return {expr: 1}, 0


def _conjuncts(condition: Expr) -> Iterator[Compare]:
    if isinstance(condition, Logical) and condition.op == "and":
        yield from _conjuncts(condition.left)
        yield from _conjuncts(condition.right)
    elif isinstance(condition, Compare):
        yield condition


def bounds_of(condition: Expr, known: Mapping[str, Expr], once: frozenset[str]) -> list[Bound]:
    """What a condition says of the local index; ``known`` are the values of variables, by name."""
    found: list[Bound] = []
    for compare in _conjuncts(condition):
        if compare.left.type == INT32 and compare.op in _OPPOSITE:
            found += _bounds(compare.op, compare.left, compare.right, known, once)
            found += _bounds(_OPPOSITE[compare.op], compare.right, compare.left, known, once)
    return found


def _bounds(op: str, left: Expr, right: Expr, known: Mapping[str, Expr], once: frozenset[str]) -> Iterator[Bound]:
    terms, constant = linear(resolved(left, known))
    if len(terms) != 1:
        return
    ((index, factor),) = terms.items()
    if not isinstance(index, ThreadIndex) or index.kind != "local" or factor != 1:
        return
    if op == "eq" and isinstance(right, Const):
        yield Bound(index.dim, equal=int(right.value) - constant)
    elif op in ("lt", "le") and _is_uniform(right, once):
        # The shift by a constant might wrap for values that no index has.
        shift = (op == "le") - constant
        if isinstance(right, Const):
            yield Bound(index.dim, stop=Const(right.span, INT32, int(right.value) + shift))
        elif shift == 0:
            yield Bound(index.dim, stop=right)


def resolved(expr: Expr, known: Mapping[str, Expr]) -> Expr:
    """An expression with the values of known variables in their places, as far as they lead to an index."""
    if isinstance(expr, Load) and isinstance(expr.place, Local) and expr.place.variable.name in known:
        return known[expr.place.variable.name]
    if isinstance(expr, Binary) and expr.type == INT32:
        left, right = resolved(expr.left, known), resolved(expr.right, known)
        return dataclasses.replace(expr, left=left, right=right)
    return expr


def _is_uniform(expr: Expr, once: frozenset[str]) -> bool:
    """Whether an expression is the same for all threads of a phase, and cheap."""
    for node in walk(expr):
        if isinstance(node, (Const, ScalarValue, BufferExtent, Builtin)):
            continue
        if isinstance(node, Binary) and node.op in ("add", "sub", "mul", "shl", "shr"):
            continue
        if isinstance(node, ThreadIndex) and node.kind in ("tile", "tile_origin"):
            continue
        if isinstance(node, Load) and isinstance(node.place, Local):
            continue
        if isinstance(node, Local) and node.variable.name in once:
            continue
        return False
    return True


# -- phases of one guarded statement -------------------------------------------------------------------------------


def guards(block: Block, once: frozenset[str]) -> list[Bound]:
    """What a condition says of the threads for which a block does more than to compute values of its own."""
    last = block[-1] if block else None
    if not isinstance(last, If) or last.orelse or not all(map(_is_value, block[:-1])):
        return []
    return bounds_of(last.condition, known_before(last, block), once)


def _is_value(statement: Stmt) -> bool:
    return isinstance(statement, Assign) and isinstance(statement.place, Local)


def known_before(last: Stmt, block: Block) -> dict[str, Expr]:
    """The values that variables have before a statement of a block, of what the block does not change."""
    changes = assigned(block)
    known: dict[str, Expr] = {}
    for statement in block:
        if statement is last:
            break
        for name in assigned((statement,)):
            value = resolved(statement.value, known) if isinstance(statement, Assign) else None
            if value is not None and _is_value(statement) and not read_value(value) & changes:
                known[name] = value
            else:
                known.pop(name, None)
    return known


def values(block: Block) -> dict[str, Expr]:
    """The values of the variables that a block assigns once, by name."""
    found: dict[str, Expr] = {}
    counts = Counter(v.name for s in walk_statements(block) for v in targets(s))
    for statement in block:
        if isinstance(statement, Assign) and isinstance(statement.place, Local):
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
        parts: list[list[Stmt]] = [[]]
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


def _is_guarded(statement: Stmt, block: Block, once: frozenset[str]) -> bool:
    if not isinstance(statement, If) or statement.orelse:
        return False
    return bool(bounds_of(statement.condition, known_before(statement, block), once))


def _shares(statement: Stmt, block: Block, again: frozenset[str]) -> bool:
    """Whether a statement changes variables that others of its block use, or uses some that they change."""
    rest = [s for s in block if s is not statement]
    mine, changes = named((statement,)), assigned((statement,))
    return bool(changes & named(rest)) or bool((mine & assigned(rest)) - again)


# -- what became constant ------------------------------------------------------------------------------------------


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def folded(node: Node) -> Node:
    """A node whose operands are done already, without comparisons and sums of constants."""
    if isinstance(node, Compare) and isinstance(node.left, Const) and isinstance(node.right, Const):
        if node.left.type == INT32:
            value = _COMPARISONS[node.op](int(node.left.value), int(node.right.value))
            return Const(node.span, BOOL, value)
    elif isinstance(node, Logical):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(one, Const):
                # What is left out has no effects.
                return other if bool(one.value) == (node.op == "and") else one
    elif isinstance(node, Binary) and node.type == INT32:
        return _folded_sum(node) if node.op in ("add", "sub") else _folded_quotient(node)
    return node


def _folded_sum(node: Binary) -> Expr:
    """A sum with at most one constant, the last."""
    terms, constant = linear(node)
    if not terms and abs(constant) < 2**31:
        return Const(node.span, INT32, constant)
    left, right = node.left, node.right
    if isinstance(right, Const) and isinstance(left, Binary) and left.op in ("add", "sub"):
        inner = left.right
        if isinstance(inner, Const):
            sign = {"add": 1, "sub": -1}
            total = sign[left.op] * int(inner.value) + sign[node.op] * int(right.value)
            if abs(total) < 2**31:
                return _folded_sum(Binary(node.span, INT32, "add", left.left, Const(node.span, INT32, total)))
    return left if isinstance(right, Const) and right.value == 0 else node


def _folded_quotient(node: Binary) -> Expr:
    """``(x + 8) // 4`` as ``x // 4 + 2``, for an index that does not wrap."""
    left, right = node.left, node.right
    if node.op != "floordiv" or not isinstance(right, Const) or right.value <= 0:
        return node
    if isinstance(left, Const):
        return Const(node.span, INT32, int(left.value) // int(right.value))
    if isinstance(left, Binary) and left.op == "add" and isinstance(left.right, Const):
        index = left.left
        whole, rest = divmod(int(left.right.value), int(right.value))
        if rest == 0 and isinstance(index, Load) and isinstance(index.place, Local) and index.place.variable.temporary:
            quotient = dataclasses.replace(node, left=index)
            return Binary(node.span, INT32, "add", quotient, Const(node.span, INT32, whole))
    return node


def flattened(block: Block) -> Block:
    """The block without conditions that are known."""
    out: list[Stmt] = []
    for statement in block:
        if isinstance(statement, If) and isinstance(statement.condition, Const):
            out += flattened(statement.then if statement.condition.value else statement.orelse)
        else:
            out.append(map_blocks(statement, flattened))
    return tuple(out)
