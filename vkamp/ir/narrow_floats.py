"""Rows that only legalization uses: floats of 16 bits in integers, and parts of words.

Devices round and flush floats of 16 bits each in their own way, so that their conversions are done in integers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vkamp.ir.rows import BuiltinRow, IntegerForm

_HELPERS = {
    "half_bits": """\
// The bits of x rounded to float16, ties to even.
uint half_bits(float x) {
    uint bits = floatBitsToUint(x);
    uint sign = (bits >> 16) & 0x8000u;
    uint size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) {
        return sign | 0x7e00u;
    }
    if (size >= 0x47800000u) {
        return sign | 0x7c00u;
    }
    if (size >= 0x38800000u) {
        return sign | ((size + 0xfffu + ((size >> 13) & 1u) - 0x38000000u) >> 13);
    }
    if (size <= 0x33000000u) {
        return sign;
    }
    // Denormal: a multiple of 2^-24.
    uint significand = (size & 0x7fffffu) | 0x800000u;
    uint dropped = 126u - (size >> 23);
    uint kept = significand >> dropped;
    uint rest = significand & ((1u << dropped) - 1u);
    uint middle = 1u << (dropped - 1u);
    return sign | (rest > middle || (rest == middle && (kept & 1u) != 0u) ? kept + 1u : kept);
}
""",
    "half_value": """\
// The value of the float16 in the lower 16 bits.
float half_value(uint bits) {
    uint sign = (bits & 0x8000u) << 16;
    uint size = bits & 0x7fffu;
    if (size >= 0x7c00u) {
        return uintBitsToFloat(sign | 0x7f800000u | ((size & 0x3ffu) << 13));
    }
    if (size < 0x400u) {
        return uintBitsToFloat(sign | floatBitsToUint(float(size) * 5.9604644775390625e-8));
    }
    return uintBitsToFloat(sign | ((size << 13) + 0x38000000u));
}
""",
    "to_half": """\
// x rounded to float16.
float to_half(float x) {
    return half_value(half_bits(x));
}
""",
    "odd_float": """\
// x as a float whose last bit says whether something was dropped: rounded again, to 16 bits, it is x rounded once.
float odd_float(double x) {
    float near = float(x);
    double exact = double(near);
    if (exact == x || isnan(x)) {
        return near;
    }
    uint bits = floatBitsToUint(near);
    return uintBitsToFloat((abs(exact) > abs(x) ? bits - 1u : bits) | 1u);
}
""",
    "bfloat_bits": """\
// The bits of x rounded to bfloat16, ties to even.
uint bfloat_bits(float x) {
    uint bits = floatBitsToUint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return ((bits >> 16) & 0x8000u) | 0x7fc0u;
    }
    return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}
""",
    "bfloat_value": """\
// The value of the bfloat16 in the lower 16 bits.
float bfloat_value(uint bits) {
    return uintBitsToFloat(bits << 16);
}
""",
    "to_bfloat": """\
// x rounded to bfloat16.
float to_bfloat(float x) {
    return bfloat_value(bfloat_bits(x));
}
""",
}
#: The helpers that a row's helper calls.
CALLED = {"to_half": ("half_bits", "half_value"), "to_bfloat": ("bfloat_bits", "bfloat_value")}


def _half_bits(x: Any) -> Any:
    with np.errstate(over="ignore"):
        return np.uint32(np.float16(x).view(np.uint16))


def _half_value(bits: Any) -> Any:
    return np.float32(np.uint16(int(bits) & 0xFFFF).view(np.float16))


def _odd_float(x: Any) -> Any:
    near = np.float32(x)
    bits = near.view(np.uint32)
    if near == x or np.isnan(x):
        return near
    return ((bits - (abs(np.float64(near)) > abs(x))) | np.uint32(1)).astype(np.uint32).view(np.float32)


def _bfloat_bits(x: Any) -> Any:
    bits = int(np.float32(x).view(np.uint32))
    if np.isnan(x):
        return np.uint32(bits >> 16 & 0x8000 | 0x7FC0)
    return np.uint32(bits + 0x7FFF + (bits >> 16 & 1) >> 16)


def _bfloat_value(bits: Any) -> Any:
    return np.uint32((int(bits) & 0xFFFF) << 16).view(np.float32)


def _unsigned_bits(word: int, start: int, count: int) -> int:
    return word >> (start & 31) & (1 << (count & 31)) - 1


def _signed_bits(word: int, start: int, count: int) -> int:
    bits = _unsigned_bits(word, start, count)
    return bits - (bits >> (count - 1 & 31) << (count & 31))


def _with_bits(word: int, bits: int, start: int, count: int) -> int:
    mask = (1 << (count & 31)) - 1 << (start & 31)
    return word & ~mask | bits << (start & 31) & mask


_FLOATS: tuple[tuple[float, ...], ...] = ((0.0,), (-1.5,), (2049.0,), (1e-7,), (1e30,))
_BITS: tuple[tuple[float, ...], ...] = ((0,), (15360,), (49153,), (31744,), (1,))


def _float(name: str, params: str, result: str, reference: Callable[..., Any]) -> BuiltinRow:
    helper = _HELPERS[name]
    classes: Any = tuple(params)
    doc = helper.partition("\n")[0][3:]
    samples = _BITS if params == "U" else _FLOATS
    return BuiltinRow(name, (), classes, result, f"{name}({{0}})", reference, doc, samples, helper=helper)


def _bits(name: str, params: str, result: str, glsl: str, reference: Callable[..., int], doc: str) -> BuiltinRow:
    """A row for some bits of a word; where their number is known, so is the interval of the result."""
    classes: Any = tuple(params)

    def interval(_: object, __: object, count: tuple[int, int]) -> tuple[int, int]:
        return (-1 << count[1] - 1, (1 << count[1] - 1) - 1) if result == "int32" else (0, (1 << count[1]) - 1)

    integers = None if len(params) > 3 else IntegerForm(reference, reference, interval)
    samples = tuple((0x12F4, *(0x5A,) * (len(params) - 3), start, 8) for start in (0, 4, 8))
    return BuiltinRow(name, (), classes, result, glsl, reference, doc, samples, integers=integers)


NARROW_ROWS: tuple[BuiltinRow, ...] = (
    _float("half_bits", "F", "uint32", _half_bits),
    _float("half_value", "U", "float32", _half_value),
    _float("to_half", "F", "float32", lambda x: _half_value(_half_bits(x))),
    _float("odd_float", "D", "float32", _odd_float),
    _float("bfloat_bits", "F", "uint32", _bfloat_bits),
    _float("bfloat_value", "U", "float32", _bfloat_value),
    _float("to_bfloat", "F", "float32", lambda x: _bfloat_value(_bfloat_bits(x))),
    BuiltinRow("half_from_bits", (), ("U",), "float16", "unpackFloat2x16({0}).x", lambda x: np.float16(_half_value(x)),
               "The float16 in the lower 16 bits, on a device that has float16.", _BITS),
    BuiltinRow("bits_from_half", (), ("H",), "uint32", "packFloat2x16(f16vec2({0}, 0.0hf))", _half_bits,
               "The bits of a float16, on a device that has float16.", _FLOATS[:4]),
    _bits("signed_bits", "III", "int32", "bitfieldExtract({0}, {1}, {2})", _signed_bits,
          "Some bits of a word as a signed integer: from which one on, and how many."),
    _bits("unsigned_bits", "UII", "uint32", "bitfieldExtract({0}, {1}, {2})", _unsigned_bits,
          "Some bits of a word as an unsigned integer: from which one on, and how many."),
    _bits("with_bits", "UUII", "uint32", "bitfieldInsert({0}, {1}, {2}, {3})", _with_bits,
          "A word with other bits: the new ones, from which one on, and how many."),
)  # fmt: skip
