"""Values in all threads of one tile. A number is known except for uniform unknowns: in thread ``t`` it is ``lane[t]``
plus a sum of symbols, each with one value for all threads of the tile, modulo 2**32. A condition is known for each
thread, or is a symbol, or has two bounds. ``None`` means an unknown value.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkamp.ir import arithmetic
from vkamp.ir.arithmetic import COMPARISONS, Interval
from vkamp.ir.rows import BuiltinRow
from vkamp.ir.types import INT32, Scalar, int_range

Lanes = NDArray[np.int64]
Mask = NDArray[np.bool_]
_WORD = 1 << 32
#: The bounds of unknown lanes.
_ANYTHING = (-(1 << 62), 1 << 62)


@dataclass(frozen=True, slots=True, eq=False)
class AffineValue:
    """``lane`` (one number, or one per thread) plus the symbols ``terms``, as (symbol, coefficient) in order.

    Every ``lane`` is between ``low`` and ``high``.
    """

    lane: int | Lanes
    low: int
    high: int
    terms: tuple[tuple[int, int], ...] = ()

    @property
    def uniform(self) -> bool:
        """Whether it is plainly the same in all threads."""
        return isinstance(self.lane, int)

    @property
    def known(self) -> bool:
        """Whether there is no symbol in it."""
        return not self.terms


@dataclass(frozen=True, slots=True, eq=False)
class LanePredicate:
    """True in no thread outside ``can``, and in every thread of ``must``.

    With a ``guard`` it is one unknown for all threads: the symbol, or (False) the symbol's negation.
    """

    can: bool | Mask
    must: bool | Mask
    guard: tuple[int, bool] | None = None

    @property
    def known(self) -> bool:
        """Whether it is known in every thread."""
        return self.can is self.must


class TileStaticData:
    """A number that nothing but tile_static memory decides: any number may be there."""


DATA = TileStaticData()
Value = AffineValue | LanePredicate | TileStaticData | None

TRUE, FALSE = LanePredicate(True, True), LanePredicate(False, False)
_MAYBE = LanePredicate(True, False)


class Symbols:
    """The unknown uniform values of one analysis, by what they mean.

    A symbol is ``vague`` where the analysis lost the value, and not the launch decides it.
    """

    def __init__(self) -> None:
        self._ids: dict[Hashable, int] = {}
        self._count = 0
        self.vague: set[int] = set()
        #: Symbols that the launch determines, the same for all tiles.
        self.constants: set[int] = set()
        #: Symbols that are a tile index, with the size of the tile in this dimension.
        self.tiles: dict[int, int] = {}

    def fresh(self, *, vague: bool = True) -> int:
        """A symbol that equals no other."""
        self._count += 1
        if vague:
            self.vague.add(self._count)
        return self._count

    def named(self, key: Hashable, parts: tuple[AffineValue, ...] = (), *, constant: bool = False) -> int:
        """The symbol of ``key``, made of ``parts`` or a ``constant`` of the launch."""
        if key not in self._ids:
            symbols = [symbol for part in parts for symbol, _ in part.terms]
            made = self._ids[key] = self.fresh(vague=any(s in self.vague for s in symbols))
            if constant or (parts and all(s in self.constants for s in symbols)):
                self.constants.add(made)
        return self._ids[key]

    def given(self, key: Hashable) -> AffineValue:
        """The number with the value of this symbol, a constant of the launch."""
        return AffineValue(0, 0, 0, ((self.named(key, constant=True), 1),))

    def interval(self, value: AffineValue, kind: Scalar) -> Interval | None:
        """The least and the largest number that it can be; ``None`` if that is unknown, or if it may wrap."""
        low, high = value.low, value.high
        for symbol, factor in value.terms:
            if symbol not in self.tiles:
                return None
            # An extent is at most 2**31 - 1, and is a multiple of the tile.
            last = (_WORD // 2 - 1) // self.tiles[symbol] - 1
            low, high = low + min(factor * last, 0), high + max(factor * last, 0)
        least, most = int_range(kind)
        return (low, high) if least <= low and high <= most else None

    def is_vague(self, value: Value) -> bool:
        """Whether the analysis lost this value."""
        if isinstance(value, AffineValue):
            return any(symbol in self.vague for symbol, _ in value.terms)
        if isinstance(value, LanePredicate) and value.guard is not None:
            return value.guard[0] in self.vague
        return not isinstance(value, LanePredicate) or not value.known


def constant(value: int) -> AffineValue:
    """A literal."""
    return AffineValue(value, value, value)


def wrapped(lane: int | Lanes, low: int, high: int, kind: Scalar) -> AffineValue:
    """Lanes with the precision of the type."""
    if isinstance(lane, int):
        return constant(arithmetic.wrapped(lane, kind))
    least, most = int_range(kind)
    if low < least or high > most:
        lane, low, high = arithmetic.wrapped(lane, kind), least, most
    return AffineValue(lane, low, high)


def _sum(left: AffineValue, right: AffineValue, sign: int, kind: Scalar) -> AffineValue:
    lane = left.lane + right.lane if sign > 0 else left.lane - right.lane
    if sign > 0:
        low, high = left.low + right.low, left.high + right.high
    else:
        low, high = left.low - right.high, left.high - right.low
    made = wrapped(lane, low, high, kind)
    if not left.terms and not right.terms:
        return made
    terms = dict(left.terms)
    for symbol, factor in right.terms:
        terms[symbol] = terms.get(symbol, 0) + sign * factor
    return AffineValue(made.lane, made.low, made.high, _terms(terms))


def _terms(terms: dict[int, int]) -> tuple[tuple[int, int], ...]:
    """The terms in order, with coefficients as signed 32-bit numbers, without those that are 0."""
    kept = ((symbol, (factor + _WORD // 2) % _WORD - _WORD // 2) for symbol, factor in terms.items())
    return tuple(sorted((symbol, factor) for symbol, factor in kept if factor))


def _scaled(value: AffineValue, factor: int, kind: Scalar) -> AffineValue:
    bounds = sorted((value.low * factor, value.high * factor))
    made = wrapped(value.lane * factor, bounds[0], bounds[1], kind)
    terms = _terms({symbol: c * factor for symbol, c in value.terms})
    return AffineValue(made.lane, made.low, made.high, terms)


def difference(left: AffineValue, right: AffineValue) -> AffineValue:
    """``left - right`` modulo 2**32, as an int32."""
    return _sum(left, right, -1, INT32)


def same(left: Value, right: Value) -> bool:
    """Whether two values are certainly equal in every thread."""
    if left is right:
        return True
    if isinstance(left, AffineValue) and isinstance(right, AffineValue):
        return left.terms == right.terms and bool(np.all(left.lane == right.lane))
    if isinstance(left, LanePredicate) and isinstance(right, LanePredicate):
        if left.guard is not None or right.guard is not None:
            return left.guard == right.guard
        return left.known and right.known and bool(np.all(left.can == right.can))
    return False


# -- operations ----------------------------------------------------------------------------------------------------


def binary(op: str, left: AffineValue, right: AffineValue, kind: Scalar, symbols: Symbols) -> AffineValue | None:
    """``left op right`` of an integer type."""
    if op in ("add", "sub"):
        return _sum(left, right, 1 if op == "add" else -1, kind)
    if left.known and right.known:
        mine, other = (left.low, left.high), (right.low, right.high)
        if not arithmetic.is_defined(op, other):
            return None
        bounds = arithmetic.interval(op, mine, other) or _ANYTHING
        return wrapped(arithmetic.BINARY[op].apply(left.lane, right.lane), *bounds, kind)
    if op == "mul":
        for value, factor in ((left, right), (right, left)):
            if factor.known and isinstance(factor.lane, int):
                return _scaled(value, factor.lane, kind)
    if op == "shl" and right.known and isinstance(right.lane, int) and 0 <= right.lane < 31:
        return _scaled(left, 1 << right.lane, kind)
    part = _low_bits(op, left, right) or _part_of_global(op, left, right, symbols)
    if part is not None:
        return part
    return named_result((op, kind.name), (left, right), symbols)


def function(row: BuiltinRow, args: list[AffineValue], kind: Scalar, symbols: Symbols) -> AffineValue | None:
    """A function of integers, with a result of an integer type."""
    if row.integers is not None and all(arg.known for arg in args):
        bounds = row.integers.interval(*((arg.low, arg.high) for arg in args))
        if all(arg.uniform for arg in args):
            return wrapped(row.integers.reference(*(arg.lane for arg in args)), *bounds, kind)
        return wrapped(row.integers.on_arrays(*(arg.lane for arg in args)), *bounds, kind)
    return named_result((row.name, kind.name), tuple(args), symbols)


def named_result(key: tuple[str, ...], args: tuple[AffineValue, ...], symbols: Symbols) -> AffineValue | None:
    """A result that is one symbol, the same for each computation of the same function of uniform values."""
    if not all(arg.uniform for arg in args):
        return None
    return AffineValue(0, 0, 0, ((symbols.named((*key, *((a.lane, a.terms) for a in args)), args), 1),))


def _low_bits(op: str, left: AffineValue, right: AffineValue) -> AffineValue | None:
    """The remainder by a power of two that divides every coefficient, so that the symbols do not matter."""
    if not (right.known and isinstance(right.lane, int)):
        return None
    size = right.lane if op == "floormod" else right.lane + 1 if op == "bitand" else 0
    if size <= 0 or size & (size - 1) or any(factor % size for _, factor in left.terms):
        return None
    lane = left.lane % size
    return AffineValue(lane, lane, lane) if isinstance(lane, int) else AffineValue(lane, 0, size - 1)


def _part_of_global(op: str, left: AffineValue, right: AffineValue, symbols: Symbols) -> AffineValue | None:
    """A global index divided by a divisor of the tile's size: no such index is negative or overflows."""
    divisor = right.lane
    if not (right.known and isinstance(divisor, int) and divisor > 0 and len(left.terms) == 1):
        return None
    symbol, size = left.terms[0]
    if symbols.tiles.get(symbol) != size or size % divisor or left.low < 0 or left.high >= size:
        return None
    if op in ("floordiv", "tdiv"):
        return AffineValue(left.lane // divisor, 0, left.high // divisor, ((symbol, size // divisor),))
    if op in ("floormod", "trem"):
        return AffineValue(left.lane % divisor, 0, divisor - 1)
    return None


# -- truths --------------------------------------------------------------------------------------------------------

#: Each comparison in terms of eq and lt: (operator, whether the operands are swapped, the result where the operator
#: holds).
_SPELLED = {
    "eq": ("eq", False, True),
    "ne": ("eq", False, False),
    "lt": ("lt", False, True),
    "ge": ("lt", False, False),
    "gt": ("lt", True, True),
    "le": ("lt", True, False),
}


def known(values: Any) -> LanePredicate:
    """A condition that is known in every thread; one number if it is the same in all."""
    if isinstance(values, (bool, np.bool_)):
        return TRUE if values else FALSE
    if values.all():
        return TRUE
    if not values.any():
        return FALSE
    return LanePredicate(values, values)


def comparison(op: str, left: AffineValue, right: AffineValue, kind: Scalar, symbols: Symbols) -> LanePredicate:
    """``left op right`` of two numbers of one type, ``kind``."""
    if left.known and right.known:
        return known(COMPARISONS[op].apply(left.lane, right.lane))
    if op in ("eq", "ne"):
        distance = difference(left, right)
        if distance.known:
            return known(COMPARISONS[op].apply(distance.lane, 0))
    name, swapped, holds = _SPELLED[op]
    if swapped:
        left, right = right, left
    mine, other = symbols.interval(left, kind), symbols.interval(right, kind)
    if mine is not None and other is not None:
        if mine[0] > other[1] or (name == "lt" and mine[0] == other[1]):
            return known(not holds)
        if mine[1] < other[0]:
            return known(holds if name == "lt" else not holds)
    if not (left.uniform and right.uniform):
        return _MAYBE
    symbol = symbols.named((name, kind.name, left.lane, left.terms, right.lane, right.terms), (left, right))
    return LanePredicate(True, False, (symbol, holds))


def negation(value: LanePredicate) -> LanePredicate:
    """``not value``."""
    if value.guard is not None:
        return LanePredicate(True, False, (value.guard[0], not value.guard[1]))
    if value.known:
        return known(np.logical_not(value.can))
    return LanePredicate(np.logical_not(value.must), np.logical_not(value.can))


def both(left: LanePredicate, right: LanePredicate) -> LanePredicate:
    """``left and right``."""
    for value, other in ((left, right), (right, left)):
        if value.known and isinstance(value.can, (bool, np.bool_)):
            return other if value.can else FALSE
    if left.known and right.known:
        return known(np.logical_and(left.can, right.can))
    return LanePredicate(np.logical_and(left.can, right.can), np.logical_and(left.must, right.must))


def either(left: LanePredicate, right: LanePredicate) -> LanePredicate:
    """``left or right``."""
    return negation(both(negation(left), negation(right)))
