"""How many iterations the loops of a kernel have: some drivers end all of them after so many."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vkamp.ir.access import own_nodes
from vkamp.ir.flow import targets
from vkamp.ir.nodes import (
    ArrayElement,
    Assign,
    Binary,
    Block,
    BufferElement,
    Builtin,
    Call,
    Compare,
    Const,
    Continue,
    Expr,
    For,
    Function,
    Kernel,
    Load,
    Local,
    Stmt,
    ThreadIndex,
    While,
    blocks,
    walk_statements,
)
from vkamp.ir.types import INT32
from vkamp.lower.rewrite import contains

__all__ = ["is_long", "turns"]

_MOST_LOOPS, _MOST_ACCESSES = 80, 400
#: More iterations of one loop are not counted.
_MOST = 1 << 20

_STEPS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b if b else a,
    "shl": lambda a, b: a << min(b, 32),
    "shr": lambda a, b: a >> b,
}
_CONDITIONS: dict[str, Callable[[int, int], bool]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "ne": lambda a, b: a != b,
}


def is_long(kernel: Kernel) -> bool:
    """Whether a driver would compile the shader for longer than people wait: by its loops and memory accesses."""
    statements = [s for f in (*kernel.functions, kernel.body) for s in walk_statements(f.body)]
    count = sum(isinstance(s, (For, While)) for s in statements)
    accesses = sum(isinstance(n, (BufferElement, ArrayElement)) for s in statements for n in own_nodes(s))
    return count > _MOST_LOOPS or accesses > _MOST_ACCESSES


def turns(kernel: Kernel) -> int | None:
    """The most iterations that all loops of an invocation have together, ``None`` if that cannot be told."""
    counts: dict[str, int] = {}
    for function in (*kernel.functions, kernel.body):
        count = _block(function.body, function, counts)
        if count is None:
            return None
        counts[function.name] = count
    return counts[kernel.body.name]


def _block(block: Block, function: Function, counts: Mapping[str, int]) -> int | None:
    total = 0
    for statement in block:
        times = _times(statement, function)
        if times is None:
            return None
        inner = 0
        for nested in blocks(statement):
            count = _block(nested, function, counts)
            if count is None:
                return None
            inner += count
        is_loop = isinstance(statement, (For, While))
        total += times * (1 + inner) if is_loop else inner
        if isinstance(statement, Call):
            total += counts[statement.function]
    return total


def _times(statement: Stmt, function: Function) -> int | None:
    """The iterations of a loop, at most; of other statements none."""
    if isinstance(statement, While):
        return _times_of_while(statement, function)
    if not isinstance(statement, For):
        return 0
    start, stop, step = statement.start, statement.stop, statement.step
    if isinstance(stop, Builtin) and stop.name == "min":
        # The threads that a condition lets act are not more than there are.
        stop = next((a for a in stop.args if isinstance(a, Const)), stop)
    if isinstance(start, Binary) and isinstance(start.left, ThreadIndex) and start.op == "add":
        start = start.right
    if isinstance(start, ThreadIndex) and start.kind == "lane":
        start = Const(start.span, INT32, 0)
    if not (isinstance(start, Const) and isinstance(stop, Const) and isinstance(step, Const)) or step.value == 0:
        return None
    return len(range(int(start.value), int(stop.value), int(step.value)))


def _times_of_while(loop: While, function: Function) -> int | None:
    """Of a loop that counts a variable from a constant to a constant, in equal steps or by equal factors."""
    condition = loop.condition
    if not isinstance(condition, Compare) or not isinstance(condition.right, Const):
        return None
    name = _variable(condition.left)
    test = _CONDITIONS.get(condition.op)
    assigns = [s for s in walk_statements(function.body) if any(v.name == name for v in targets(s))]
    if name is None or test is None or len(assigns) != 2 or contains(loop.body, lambda s: isinstance(s, Continue)):
        return None
    first, update = assigns
    if not (isinstance(first, Assign) and isinstance(first.value, Const) and isinstance(update, Assign)):
        return None
    change = update.value
    if not any(s is update for s in loop.body) or not isinstance(change, Binary) or change.op not in _STEPS:
        return None
    if change.type != INT32 or _variable(change.left) != name or not isinstance(change.right, Const):
        return None
    value, by, end = int(first.value.value), int(change.right.value), int(condition.right.value)
    count = 0
    while test(value, end):
        count += 1
        value = _STEPS[change.op](value, by)
        if count > _MOST or not -(2**31) <= value < 2**31:
            return None
    return count


def _variable(expr: Expr) -> str | None:
    is_variable = isinstance(expr, Load) and isinstance(expr.place, Local)
    return expr.place.variable.name if is_variable else None  # type: ignore[attr-defined]
