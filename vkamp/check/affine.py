"""What a value is in each thread of one tile, all threads at once.

A number is known up to uniform unknowns: in thread ``t`` it is ``lane[t]`` plus a sum of symbols, each of one value
for all threads of the tile, modulo 2**32. A truth is known per thread, or is a symbol, or lies between two bounds.
``None`` stands for a value of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from vkamp.ir.types import INT32, Scalar, int_range

Lanes = NDArray[np.int64]
Mask = NDArray[np.bool_]
_WORD = 1 << 32


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """``lane`` (one number, or one per thread) plus the symbols ``terms``, as (symbol, coefficient) in order.

    Every ``lane`` lies between ``low`` and ``high``.
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
class Truth:
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


class Data:
    """A number that nothing but tile_static memory decides: any number may lie there."""


DATA = Data()
Anything = Number | Truth | Data | None

TRUE, FALSE = Truth(True, True), Truth(False, False)
_MAYBE = Truth(True, False)


class Symbols:
    """The unknown uniform values of one analysis, by what they stand for.

    A symbol is ``vague`` where the analysis lost the value, and not the launch decides it.
    """

    def __init__(self) -> None:
        self._ids: dict[Hashable, int] = {}
        self._count = 0
        self.vague: set[int] = set()
        #: Symbols that the launch decides, the same for all tiles.
        self.constants: set[int] = set()
        #: Symbols that are a tile index, with the tile's size in that dimension.
        self.tiles: dict[int, int] = {}

    def fresh(self, *, vague: bool = True) -> int:
        """A symbol that equals no other."""
        self._count += 1
        if vague:
            self.vague.add(self._count)
        return self._count

    def named(self, key: Hashable, parts: tuple[Number, ...] = (), *, constant: bool = False) -> int:
        """The symbol of ``key``, made of ``parts`` or a ``constant`` of the launch."""
        if key not in self._ids:
            symbols = [symbol for part in parts for symbol, _ in part.terms]
            made = self._ids[key] = self.fresh(vague=any(s in self.vague for s in symbols))
            if constant or (parts and all(s in self.constants for s in symbols)):
                self.constants.add(made)
        return self._ids[key]

    def given(self, key: Hashable) -> Number:
        """The number that is this symbol, a constant of the launch."""
        return Number(0, 0, 0, ((self.named(key, constant=True), 1),))

    def not_negative(self, value: Number) -> bool:
        """Whether the symbols in it add something from 0 on: a tile's index or origin."""
        return all(0 < factor <= self.tiles.get(symbol, 0) for symbol, factor in value.terms)

    def is_vague(self, value: Anything) -> bool:
        """Whether the analysis lost this value."""
        if isinstance(value, Number):
            return any(symbol in self.vague for symbol, _ in value.terms)
        if isinstance(value, Truth) and value.guard is not None:
            return value.guard[0] in self.vague
        return not isinstance(value, Truth) or not value.known


def constant(value: int) -> Number:
    """A literal."""
    return Number(value, value, value)


def wrapped(lane: int | Lanes, low: int, high: int, kind: Scalar) -> Number:
    """Lanes as the type keeps them."""
    least, most = int_range(kind)
    if isinstance(lane, int):
        lane = (lane - least) % _WORD + least
        return Number(lane, lane, lane)
    if low < least or high > most:
        lane = ((lane - least) & (_WORD - 1)) + least
        low, high = least, most
    return Number(lane, low, high)


def _sum(left: Number, right: Number, sign: int, kind: Scalar) -> Number:
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
    return Number(made.lane, made.low, made.high, _terms(terms))


def _terms(terms: dict[int, int]) -> tuple[tuple[int, int], ...]:
    """In order, coefficients as signed 32-bit numbers, without those that vanish."""
    kept = ((symbol, (factor + _WORD // 2) % _WORD - _WORD // 2) for symbol, factor in terms.items())
    return tuple(sorted((symbol, factor) for symbol, factor in kept if factor))


def _scaled(value: Number, factor: int, kind: Scalar) -> Number:
    bounds = sorted((value.low * factor, value.high * factor))
    made = wrapped(value.lane * factor, bounds[0], bounds[1], kind)
    terms = _terms({symbol: c * factor for symbol, c in value.terms})
    return Number(made.lane, made.low, made.high, terms)


def difference(left: Number, right: Number) -> Number:
    """``left - right`` modulo 2**32, as an int32."""
    return _sum(left, right, -1, INT32)


def same(left: Anything, right: Anything) -> bool:
    """Whether two values are certainly equal in every thread."""
    if left is right:
        return True
    if isinstance(left, Number) and isinstance(right, Number):
        return left.terms == right.terms and bool(np.all(left.lane == right.lane))
    if isinstance(left, Truth) and isinstance(right, Truth):
        if left.guard is not None or right.guard is not None:
            return left.guard == right.guard
        return left.known and right.known and bool(np.all(left.can == right.can))
    return False


# -- arithmetic ----------------------------------------------------------------------------------------------------


def _truncated(left: Any, right: Any) -> Any:
    """Division towards zero."""
    quotient = abs(left) // abs(right)
    return quotient * np.where((left < 0) == (right < 0), 1, -1)


_ON_LANES: dict[str, Callable[[Any, Any], Any]] = {
    "mul": lambda x, y: x * y,
    "floordiv": lambda x, y: x // y,
    "floormod": lambda x, y: x % y,
    "tdiv": _truncated,
    "trem": lambda x, y: x - y * _truncated(x, y),
    "shl": lambda x, y: x << y,
    "shr": lambda x, y: x >> y,
    "bitand": lambda x, y: x & y,
    "bitor": lambda x, y: x | y,
    "bitxor": lambda x, y: x ^ y,
    "min": np.minimum,
    "max": np.maximum,
}
_BY_LANE_BOUNDS = (-(1 << 62), 1 << 62)


def _defined(op: str, right: Number) -> bool:
    """Whether the operation has a result in every thread."""
    if op in ("floordiv", "floormod", "tdiv", "trem"):
        return right.low > 0 or right.high < 0
    if op in ("shl", "shr"):
        return right.low >= 0 and right.high < 32
    return True


def _bounds(op: str, left: Number, right: Number) -> tuple[int, int]:
    """Bounds of the lanes of a result that are quickly found."""
    if op == "mul":
        corners = [x * y for x in (left.low, left.high) for y in (right.low, right.high)]
        return min(corners), max(corners)
    if op in ("floormod", "trem") and right.low > 0:
        return (0 if op == "floormod" or left.low >= 0 else -right.high), right.high
    if op in ("floordiv", "tdiv", "shr") and left.low >= 0 and right.low >= 0:
        return 0, left.high
    if op in ("min", "max"):
        return min(left.low, right.low), max(left.high, right.high)
    if op == "bitand" and (left.low >= 0 or right.low >= 0):
        return 0, max(left.high, right.high)
    return _BY_LANE_BOUNDS


def arithmetic(op: str, left: Number, right: Number, kind: Scalar, symbols: Symbols) -> Number | None:
    """``left op right`` of an integer type."""
    if op in ("add", "sub"):
        return _sum(left, right, 1 if op == "add" else -1, kind)
    if left.known and right.known:
        if not _defined(op, right):
            return None
        lane = _ON_LANES[op](left.lane, right.lane)
        if left.uniform and right.uniform:
            return wrapped(int(lane), 0, 0, kind)
        return wrapped(cast("Lanes", lane), *_bounds(op, left, right), kind)
    if op == "mul":
        for value, factor in ((left, right), (right, left)):
            if factor.known and isinstance(factor.lane, int):
                return _scaled(value, factor.lane, kind)
    if op == "shl" and right.known and isinstance(right.lane, int) and 0 <= right.lane < 31:
        return _scaled(left, 1 << right.lane, kind)
    part = _low_bits(op, left, right) or _part_of_global(op, left, right, symbols)
    if part is not None:
        return part
    if left.uniform and right.uniform:
        key = (op, kind.name, left.lane, left.terms, right.lane, right.terms)
        return Number(0, 0, 0, ((symbols.named(key, (left, right)), 1),))
    return None


def _low_bits(op: str, left: Number, right: Number) -> Number | None:
    """The remainder by a power of two that divides every coefficient: the symbols do not count."""
    if not (right.known and isinstance(right.lane, int)):
        return None
    size = right.lane if op == "floormod" else right.lane + 1 if op == "bitand" else 0
    if size <= 0 or size & (size - 1) or any(factor % size for _, factor in left.terms):
        return None
    lane = left.lane % size
    return Number(lane, lane, lane) if isinstance(lane, int) else Number(lane, 0, size - 1)


def _part_of_global(op: str, left: Number, right: Number, symbols: Symbols) -> Number | None:
    """A global index divided by a divisor of the tile's size: no such index is negative or overflows."""
    divisor = right.lane
    if not (right.known and isinstance(divisor, int) and divisor > 0 and len(left.terms) == 1):
        return None
    symbol, size = left.terms[0]
    if symbols.tiles.get(symbol) != size or size % divisor or left.low < 0 or left.high >= size:
        return None
    if op in ("floordiv", "tdiv"):
        return Number(left.lane // divisor, 0, left.high // divisor, ((symbol, size // divisor),))
    if op in ("floormod", "trem"):
        return Number(left.lane % divisor, 0, divisor - 1)
    return None


# -- truths --------------------------------------------------------------------------------------------------------

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}
#: How each comparison is spelled with eq and lt: (operator, operands swapped, holds where that does).
_SPELLED = {
    "eq": ("eq", False, True),
    "ne": ("eq", False, False),
    "lt": ("lt", False, True),
    "ge": ("lt", False, False),
    "gt": ("lt", True, True),
    "le": ("lt", True, False),
}


def _known(values: Any) -> Truth:
    """A truth known in every thread; one number where it is the same in all."""
    if isinstance(values, (bool, np.bool_)):
        return TRUE if values else FALSE
    if values.all():
        return TRUE
    if not values.any():
        return FALSE
    return Truth(values, values)


def comparison(op: str, left: Number, right: Number, kind: Scalar, symbols: Symbols) -> Truth:
    """``left op right`` of two numbers of one type, ``kind``."""
    if left.known and right.known:
        return _known(_COMPARE[op](left.lane, right.lane))
    if op in ("eq", "ne"):
        apart = difference(left, right)
        if apart.known:
            return _known(_COMPARE[op](apart.lane, 0))
    if op == "lt" and right.known and symbols.not_negative(left) and left.low >= right.high:
        return FALSE
    if op == "ge" and right.known and symbols.not_negative(left) and left.low >= right.high:
        return TRUE
    if not (left.uniform and right.uniform):
        return _MAYBE
    name, swapped, holds = _SPELLED[op]
    if swapped:
        left, right = right, left
    symbol = symbols.named((name, kind.name, left.lane, left.terms, right.lane, right.terms), (left, right))
    return Truth(True, False, (symbol, holds))


def negation(value: Truth) -> Truth:
    """``not value``."""
    if value.guard is not None:
        return Truth(True, False, (value.guard[0], not value.guard[1]))
    if value.known:
        return _known(np.logical_not(value.can))
    return Truth(np.logical_not(value.must), np.logical_not(value.can))


def both(left: Truth, right: Truth) -> Truth:
    """``left and right``."""
    for value, other in ((left, right), (right, left)):
        if value.known and isinstance(value.can, (bool, np.bool_)):
            return other if value.can else FALSE
    if left.known and right.known:
        return _known(np.logical_and(left.can, right.can))
    return Truth(np.logical_and(left.can, right.can), np.logical_and(left.must, right.must))


def either(left: Truth, right: Truth) -> Truth:
    """``left or right``."""
    return negation(both(negation(left), negation(right)))
