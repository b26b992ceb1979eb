"""The counter of a ``static_range`` loop whose body is lowered once: a compile-time number with a different value in
each iteration.

The counter is a :class:`Constant` without a known value.  Sums and multiples of counters are counters again, and take
the type of what they meet as any constant does.  Code that reads ``value`` needs a number: the loop is copied then.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vkamp.errors import Span
from vkamp.front.values import Constant, Value
from vkamp.ir import nodes as ir
from vkamp.ir.types import BOOL, FLOAT32, INT32, Scalar, int_range

#: Whole numbers up to here are exact as floats of a size in bits.
_EXACT = {16: 1 << 11, 32: 1 << 24, 64: 1 << 53}


class CopiesNeededError(Exception):
    """Loops whose counters are needed as numbers: lowering starts again, and copies their bodies."""

    def __init__(self, loops: frozenset[Span]) -> None:
        super().__init__(loops)
        self.loops = loops


@dataclass(frozen=True, eq=False)
class Loop:
    """A ``static_range`` loop that is lowered once: where it is, its variable and that variable's values."""

    span: Span
    variable: ir.Variable
    values: range


class Counter(Constant):
    """The sum of ``factor * variable`` for the terms, and ``offset``; ``weak_float``: as a Python float."""

    terms: dict[Loop, int]
    offset: int
    weak_float: bool

    def __init__(self, terms: dict[Loop, int], offset: int = 0, *, weak_float: bool = False) -> None:
        for name, value in (("terms", terms), ("offset", offset), ("weak_float", weak_float)):
            object.__setattr__(self, name, value)

    @property
    def value(self) -> Any:
        """Raises :class:`CopiesNeededError`: each iteration has another value."""
        self.demand()

    def demand(self) -> Any:
        """Raise :class:`CopiesNeededError` for the loops of the terms."""
        raise CopiesNeededError(frozenset(loop.span for loop in self.terms))

    @property
    def kind(self) -> Scalar:
        """The type that it has alone."""
        return FLOAT32 if self.weak_float else INT32

    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest value."""
        low = high = self.offset
        for loop, factor in self.terms.items():
            ends = factor * loop.values[0], factor * loop.values[-1]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def within(self, low: int, high: int) -> Counter:
        """Itself if all its values are in an interval, ends included; else the loops are copied."""
        least, most = self.bounds()
        return self if low <= least and most <= high else self.demand()

    def in_type(self, kind: Scalar, span: Span) -> ir.Expr:
        """The value of an iteration in a type that holds it exactly."""
        if kind == BOOL or (self.weak_float and kind.kind != "float"):
            self.demand()
        limits = int_range(kind) if kind.is_integer else (-_EXACT[kind.bits], _EXACT[kind.bits])
        value = self.within(*limits)._expression(span)
        return value if kind == INT32 else ir.Cast(span, kind, value)

    def _expression(self, span: Span) -> ir.Expr:
        """``4 * i + j + 1``."""
        rest = self.offset
        total: ir.Expr | None = None
        for loop, factor in sorted(self.terms.items(), key=lambda term: term[1] < 0):
            term: ir.Expr = ir.Load(span, INT32, ir.Local(span, INT32, loop.variable))
            if total is None and factor < 0 and rest:
                total, rest = ir.Const(span, INT32, rest), 0
            if factor not in (1, -1):
                size = factor if total is None else abs(factor)
                term = ir.Binary(span, INT32, "mul", ir.Const(span, INT32, size), term)
            elif total is None and factor == -1:
                term = ir.Unary(span, INT32, "neg", term)
            total = term if total is None else ir.Binary(span, INT32, "add" if factor > 0 else "sub", total, term)
        assert total is not None
        return ir.Binary(span, INT32, "add", total, ir.Const(span, INT32, rest)) if rest else total


def folded(operation: Any, a: Constant, b: Constant) -> Constant | None:
    """A sum, difference or multiple of counters; ``None`` for other operations and other constants."""
    if operation not in (operator.add, operator.sub, operator.mul):
        return None
    x, y = _linear(a), _linear(b)
    if x is None or y is None or not (x.terms or y.terms) or x.weak_float or y.weak_float:
        return None
    if operation is operator.mul:
        if x.terms and y.terms:
            return None
        x, y = (x, y) if x.terms else (y, x)
        terms, offset = {loop: factor * y.offset for loop, factor in x.terms.items()}, x.offset * y.offset
    else:
        terms, offset = dict(x.terms), operation(x.offset, y.offset)
        for loop, factor in y.terms.items():
            terms[loop] = operation(terms.get(loop, 0), factor)
    terms = {loop: factor for loop, factor in terms.items() if factor}
    if not terms:
        return Constant(offset)
    _, high = int_range(INT32)
    parts = [Counter({loop: factor}) for loop, factor in terms.items()]
    # Each part is computed in int32.
    if any(not -high <= end <= high for part in (*parts, Counter({}, offset)) for end in part.bounds()):
        return None
    found = Counter(terms, offset)
    low, most = found.bounds()
    return found if -high <= low and most <= high else None


def check_divisor(value: Value) -> None:
    """Raise :class:`CopiesNeededError` for a counter that is 0 in some iteration."""
    if isinstance(value, Counter):
        low, high = value.bounds()
        if low <= 0 <= high:
            value.demand()


def _linear(value: Constant) -> Counter | None:
    if isinstance(value, Counter):
        return value
    return Counter({}, value.value) if type(value.value) is int else None


def mentions(value: object, loop: Loop) -> bool:
    """Whether a value differs by the iteration of a loop."""
    if isinstance(value, Counter):
        return loop in value.terms
    if isinstance(value, ir.Node):
        return any(isinstance(n, ir.Local) and n.variable == loop.variable for n in ir.walk(value))
    return any(mentions(part, loop) for part in _parts(value))


def _parts(value: object) -> Iterator[object]:
    if isinstance(value, tuple):
        yield from value
    elif isinstance(value, Value):
        for field in dataclasses.fields(value):
            yield getattr(value, field.name)
