"""The arithmetic of integers in kernels: the operators, wrapping to a type, constants, intervals.

One table of operators serves the front end, the analyses, the lowerings and the printer.  The reference accelerator has
a separate arithmetic, against which this one is tested.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from vkamp.ir.types import Scalar, Type, int_range
from vkamp.records import dataclass


def truncated_quotient(a: Any, b: Any) -> Any:
    """C's ``a / b``, rounded towards zero, of integers or of arrays of them."""
    return abs(a) // abs(b) * (1 - 2 * ((a < 0) != (b < 0)))


def truncated_remainder(a: Any, b: Any) -> Any:
    """C's ``a % b``, with the sign of ``a``."""
    return a - b * truncated_quotient(a, b)


# -- operators -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Operator:
    """An operation of ``Binary`` or ``Compare``.

    ``symbol``: Python's operator, ``glsl``: GLSL's; ``""`` where there is none with this meaning.  ``apply``: the
    operation on Python's integers or numpy arrays of them, before the result wraps.  ``right_neutral``: the right
    operand that leaves the left one as it is; ``left_neutral``: the left one that leaves the right one.  ``atomic``:
    the atomic that stores such a result.
    """

    symbol: str
    glsl: str
    apply: Callable[[Any, Any], Any]
    right_neutral: int | None = None
    left_neutral: int | None = None
    atomic: str = ""


BINARY: dict[str, Operator] = {
    "add": Operator("+", "+", operator.add, 0, 0, atomic="atomic_fetch_add"),
    "sub": Operator("-", "-", operator.sub, 0, atomic="atomic_fetch_sub"),
    "mul": Operator("*", "*", operator.mul, 1, 1),
    "div": Operator("/", "/", operator.truediv),
    "floordiv": Operator("//", "", operator.floordiv, 1),
    "floormod": Operator("%", "", operator.mod),
    "tdiv": Operator("", "", truncated_quotient, 1),
    "trem": Operator("", "", truncated_remainder),
    "shl": Operator("<<", "<<", operator.lshift, 0),
    "shr": Operator(">>", ">>", operator.rshift, 0),
    "bitand": Operator("&", "&", operator.and_, atomic="atomic_fetch_and"),
    "bitor": Operator("|", "|", operator.or_, 0, 0, atomic="atomic_fetch_or"),
    "bitxor": Operator("^", "^", operator.xor, 0, 0, atomic="atomic_fetch_xor"),
}
COMPARISONS: dict[str, Operator] = {
    "eq": Operator("==", "==", operator.eq),
    "ne": Operator("!=", "!=", operator.ne),
    "lt": Operator("<", "<", operator.lt),
    "le": Operator("<=", "<=", operator.le),
    "gt": Operator(">", ">", operator.gt),
    "ge": Operator(">=", ">=", operator.ge),
}
#: The comparison that holds where another one does not, and the one that holds with the operands exchanged.
NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}

DIVISIONS = ("floordiv", "floormod", "tdiv", "trem")
SHIFTS = ("shl", "shr")


def wrapped(value: Any, kind: Scalar) -> Any:
    """An integer, or an array of them, as an integer type keeps it."""
    low, _ = int_range(kind)
    return ((value - low) & ((1 << kind.bits) - 1)) + low


def is_defined(op: str, right: Interval, bits: int = 32) -> bool:
    """Whether an operation has a result for every right operand of an interval: no division by 0, no wild shift."""
    if op in DIVISIONS:
        return right[0] > 0 or right[1] < 0
    return op not in SHIFTS or (right[0] >= 0 and right[1] < bits)


def folded(op: str, left: int, right: int, kind: Scalar) -> int | None:
    """``left op right`` in an integer type; ``None`` where no device defines it."""
    if not is_defined(op, (right, right), kind.bits):
        return None
    return int(wrapped(BINARY[op].apply(left, right), kind))


# -- intervals -----------------------------------------------------------------------------------------------------

#: The smallest and the largest possible value.
Interval = tuple[int, int]


def whole(kind: Type) -> Interval:
    """The interval of all values of a scalar type; floats have none."""
    if isinstance(kind, Scalar) and kind.kind != "float":
        return (0, 1) if kind.kind == "bool" else int_range(kind)
    return -(1 << 31), (1 << 31) - 1


def union(*intervals: Interval) -> Interval:
    """The smallest interval that holds them all."""
    return min(a for a, _ in intervals), max(b for _, b in intervals)


def _corners(op: str, a: Interval, b: Interval) -> Interval:
    values = [BINARY[op].apply(x, y) for x in a for y in b]
    return min(values), max(values)


def interval(op: str, a: Interval, b: Interval, bits: int = 32) -> Interval | None:
    """The results of an operation on two intervals, before they wrap; ``None``: not known."""
    if op in ("add", "sub", "mul"):
        return _corners(op, a, b)
    if op in ("floordiv", "tdiv"):
        # The divisor's sign is known: both quotients grow or fall with either operand.
        return _corners(op, a, b) if is_defined(op, b) else None
    if op == "floormod" and b[0] > 0:
        return 0, min(a[1], b[1] - 1) if a[0] >= 0 else b[1] - 1
    if op == "trem" and b[0] > 0:
        return min(max(a[0], 1 - b[1]), 0), max(min(a[1], b[1] - 1), 0)
    if op in SHIFTS and is_defined(op, b, bits):
        return _corners(op, a, b)
    if op == "bitand" and (a[0] >= 0 or b[0] >= 0):
        return 0, min(x[1] for x in (a, b) if x[0] >= 0)
    return None
