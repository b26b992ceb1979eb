"""Rows of arithmetic on 32-bit integers that return what a result of 32 bits drops.

Sources: GLSL 4.60, section 8.8 (``umulExtended``, ``uaddCarry``, ``usubBorrow``); CUDA's ``__mulhi`` and ``__umulhi``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vkamp.ir.rows import BuiltinRow, TupleRow, TypeClass

_HIGH = """\
// The upper 32 bits of a product.
uint high_product(uint x, uint y) {
    uint high, low;
    umulExtended(x, y, high, low);
    return high;
}

int high_product(int x, int y) {
    int high, low;
    imulExtended(x, y, high, low);
    return high;
}
"""
_CARRY = """\
// 1 where x + y has 33 bits.
uint carry_of(uint x, uint y) {
    uint carry;
    uaddCarry(x, y, carry);
    return carry;
}
"""
_BORROW = """\
// 1 where x - y is below 0.
uint borrow_of(uint x, uint y) {
    uint borrow;
    usubBorrow(x, y, borrow);
    return borrow;
}
"""
_SIGNED: tuple[tuple[float, ...], ...] = (
    (3, 5), (0, 7), (2**31 - 1, 2**31 - 1), (65536, 65536), (123456789, 987654321), (-1, 1), (-1, -1),
    (-(2**31), -(2**31)), (-(2**31), 2**31 - 1), (-123456789, 987654321),
)  # fmt: skip
_UNSIGNED: tuple[tuple[float, ...], ...] = (
    (3, 5), (5, 3), (0, 0), (2**32 - 1, 1), (2**32 - 1, 2**32 - 1), (0, 1), (2**31, 2**31), (0xD2511F53, 0xCD9E8D57),
)  # fmt: skip


def _wrapping(function: Callable[[int, int], int]) -> Callable[[Any, Any], Any]:
    """The reference: ``function`` of whole numbers, wrapped to the arguments' common type, as C++ has it."""

    def reference(x: Any, y: Any) -> Any:
        kind = _common_type(x, y)
        a, b = _in_type(x, kind), _in_type(y, kind)
        return np.array(function(a, b) & 0xFFFFFFFF, np.uint32).astype(kind)[()]

    return reference


def _common_type(*numbers: Any) -> type[np.int32] | type[np.uint32]:
    """uint32 if a number has that type, else int32."""
    for number in numbers:
        if isinstance(number, (float, np.floating)) or (isinstance(number, np.integer) and number.itemsize != 4):
            raise TypeError(f"an int32 or uint32 is needed, not {type(number).__name__}: write np.int32(...)")
    return np.uint32 if any(isinstance(number, np.uint32) for number in numbers) else np.int32


def _in_type(number: Any, kind: type[np.int32] | type[np.uint32]) -> int:
    """A number in a type: a plain one must fit, one of another type wraps."""
    low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    value = int(number)
    if not low <= value <= high and not isinstance(number, np.generic):
        raise OverflowError(f"{value} does not fit {kind.__name__}, whose numbers are {low} to {high}")
    return (value - low) % 2**32 + low


def _row(
    name: str, letter: TypeClass, glsl: str, function: Callable[[int, int], int], doc: str, helper: str = ""
) -> BuiltinRow:
    samples = _UNSIGNED if letter == "U" else _SIGNED
    spellings = (f"amp.{name}",) if name == "mulhi" else ()
    return BuiltinRow(
        name, spellings, (letter, letter), letter if letter == "Z" else "uint32", glsl, _wrapping(function), doc,
        samples, typed=True, helper=helper,
    )  # fmt: skip


#: All but ``mulhi`` are parts of the functions below.
EXTENDED_ROWS: tuple[BuiltinRow, ...] = (
    _row("mulhi", "Z", "high_product({0}, {1})", lambda x, y: x * y >> 32,
         "The upper 32 bits of the product, which has 64.", _HIGH),
    _row("mul_low", "Z", "({0} * {1})", lambda x, y: x * y, "The lower 32 bits of the product."),
    _row("add_low", "U", "({0} + {1})", lambda x, y: x + y, "The lower 32 bits of the sum."),
    _row("carry", "U", "carry_of({0}, {1})", lambda x, y: x + y >> 32, "The highest bit of the sum, which has 33.",
         _CARRY),
    _row("sub_low", "U", "({0} - {1})", lambda x, y: x - y, "The lower 32 bits of the difference."),
    _row("borrow", "U", "borrow_of({0}, {1})", lambda x, y: int(x < y), "1 if the difference is below 0.", _BORROW),
)  # fmt: skip

EXTENDED_TUPLES: tuple[TupleRow, ...] = (
    TupleRow("mul_extended", ("amp.mul_extended",), ("mul_low", "mulhi"),
             "(low, high): the 64 bits of the product in two numbers of the arguments' type."),
    TupleRow("add_carry", ("amp.add_carry",), ("add_low", "carry"),
             "(sum, carry): the sum modulo 2^32, and 1 if it is less than the true sum, else 0."),
    TupleRow("sub_borrow", ("amp.sub_borrow",), ("sub_low", "borrow"),
             "(difference, borrow): the difference modulo 2^32, and 1 if the true one is below 0, else 0."),
)  # fmt: skip
