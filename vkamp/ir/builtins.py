"""The table of builtins: one row per function of the language, read by every room.

A row has the Python spellings, a typing rule, the GLSL spelling, the reference on numpy scalars that the reference
accelerator runs, the device feature it needs, and sample arguments with which one parametrised test compares device
and reference.  Adding a function is adding a row.

C++ AMP's model: docs/conformance.md, sections 11 (atomics) and 13 (math).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from vkamp.ir.bits import BIT_ROWS
from vkamp.ir.direct3d import DIRECT3D_ROWS
from vkamp.ir.doubles import with_double
from vkamp.ir.extended import EXTENDED_ROWS, EXTENDED_TUPLES
from vkamp.ir.narrow_floats import NARROW_ROWS
from vkamp.ir.packed import PACKED_ROWS
from vkamp.ir.precise import PRECISE_ROWS, PRECISE_TUPLES, ldexp, power, round_away, rsqrt
from vkamp.ir.rows import AtomicRow, BuiltinRow, IntegerForm, TupleRow, float_reference


def _abs_interval(a: tuple[int, int]) -> tuple[int, int]:
    low, high = sorted((abs(a[0]), abs(a[1])))
    return (0 if a[0] <= 0 <= a[1] else low), high


_REAL: tuple[tuple[float, ...], ...] = ((0.0,), (0.3,), (-0.7,), (1.0,), (-2.5,), (5.25,), (0.001,))
_POSITIVE: tuple[tuple[float, ...], ...] = ((0.001,), (0.3,), (1.0,), (2.5,), (77.7,), (1e6,))
_UNIT: tuple[tuple[float, ...], ...] = ((-1.0,), (-0.6,), (0.0,), (0.25,), (0.99,), (1.0,))
_ROUND: tuple[tuple[float, ...], ...] = (
    (0.0,), (0.5,), (-0.5,), (1.5,), (2.5,), (-2.5,), (0.49999997,), (1e9,), (-7.75,), (8388609.0,),
)  # fmt: skip
_PAIRS: tuple[tuple[float, ...], ...] = (
    (1.5, 2.0),
    (-3.0, 2.0),
    (0.5, -4.0),
    (7.0, 7.0),
    (0.0, 3.0),
)
_NAN_PAIRS: tuple[tuple[float, ...], ...] = (
    *_PAIRS,
    (math.nan, 1.0),
    (2.0, math.nan),
    (math.inf, -1.0),
)


def _row(
    name: str,
    params: str,
    result: str,
    glsl: str | dict[str, str],
    reference: Callable[..., Any],
    doc: str,
    samples: tuple[tuple[float, ...], ...],
    *,
    python: tuple[str, ...] = (),
    ulp: float | None = None,
    absolute: float = 0.0,
    helper: str = "",
    integers: IntegerForm | None = None,
    numpy_differs: bool = False,
) -> BuiltinRow:
    spellings = python or (f"fast_math.{name}", f"fast_math.{name}f")
    classes: Any = tuple(params)
    return BuiltinRow(
        name, spellings, classes, result, glsl, reference, doc, samples, ulp, absolute, None, helper,
        integers=integers, numpy_differs=numpy_differs,
    )  # fmt: skip


def _float(
    name: str,
    reference: Callable[..., Any],
    doc: str,
    samples: tuple[tuple[float, ...], ...],
    *,
    glsl: str = "",
    ulp: float | None = None,
    absolute: float = 0.0,
    also: tuple[str, ...] = (),
    helper: str = "",
) -> BuiltinRow:
    """A float function of one argument, in fast_math and in Python's ``math``."""
    python = (f"fast_math.{name}", f"fast_math.{name}f", f"math.{name}", *also)
    return _row(
        name, "F", "F", glsl or f"{name}({{0}})", float_reference(reference), doc, samples,
        python=python, ulp=ulp, absolute=absolute, helper=helper,
    )  # fmt: skip


# GLSL's own functions where the CPU drivers follow C for every argument; else a helper function that does.
_ROUND_HELPER = """\
float round_half_away(float x) {
    float whole = trunc(x);
    return abs(x - whole) >= 0.5 ? whole + sign(x) : whole;
}
"""
_FMOD_HELPER = """\
float fmod_c(float x, float y) {
    if (isnan(x) || isnan(y) || isinf(x) || y == 0.0) {
        return uintBitsToFloat(0x7fc00000u);
    }
    float rest = abs(x);
    float divisor = abs(y);
    while (rest >= divisor) {
        // The largest divisor * 2^k not above the rest: each subtraction is exact.
        float part = divisor;
        while (part <= rest * 0.5) {
            part *= 2.0;
        }
        rest -= part;
    }
    return (floatBitsToUint(x) & 0x80000000u) != 0u ? -rest : rest;
}
"""
_POW_HELPER = """\
float pow_c(float x, float y) {
    if (y == 0.0 || x == 1.0 || (x == -1.0 && isinf(y))) {
        return 1.0;
    }
    float size = pow(abs(x), y);
    if (x < 0.0 && !isinf(y)) {
        float whole = trunc(y);
        if (whole != y) {
            return isinf(x) ? size : uintBitsToFloat(0x7fc00000u);
        }
        return fract(whole * 0.5) != 0.0 ? -size : size;
    }
    return size;
}
"""


def _by_type(of_integers: str, of_floats: str) -> dict[str, str]:
    """The GLSL of a row for numbers, by their type."""
    integers = dict.fromkeys(("int32", "uint32", "int64", "uint64"), of_integers)
    return integers | dict.fromkeys(("float32", "float64"), of_floats)


_ROWS = (
    # Plain Python functions; for numbers of any type.
    _row("abs", "S", "S", "abs({0})", np.abs, "Absolute value.", ((3,), (-3,), (0,), (-7,)), python=("abs",),
         integers=IntegerForm(abs, np.abs, _abs_interval)),
    _row(
        "min", "NN", "N",
        _by_type("min({0}, {1})", "(isnan({1}) || {0} < {1} ? {0} : {1})"),
        np.fmin, "The smaller of two numbers, ignoring NaN.", ((1, 2), (5, 3), (4, 4)),
        python=("min",), numpy_differs=True,
        integers=IntegerForm(min, np.minimum, lambda a, b: (min(a[0], b[0]), min(a[1], b[1])), "atomic_fetch_min"),
    ),
    _row(
        "max", "NN", "N",
        _by_type("max({0}, {1})", "(isnan({1}) || {0} > {1} ? {0} : {1})"),
        np.fmax, "The larger of two numbers, ignoring NaN.", ((1, 2), (5, 3), (4, 4)),
        python=("max",), numpy_differs=True,
        integers=IntegerForm(max, np.maximum, lambda a, b: (max(a[0], b[0]), max(a[1], b[1])), "atomic_fetch_max"),
    ),
    # fast_math (accuracy is the device's own).
    _row("fabs", "F", "F", "abs({0})", np.abs, "Absolute value.", _REAL,
         python=("fast_math.fabs", "fast_math.fabsf", "math.fabs")),
    _row("fmin", "FF", "F", "(isnan({1}) || {0} < {1} ? {0} : {1})", np.fmin,
         "The smaller number, ignoring NaN.", _NAN_PAIRS),
    _row("fmax", "FF", "F", "(isnan({1}) || {0} > {1} ? {0} : {1})", np.fmax,
         "The larger number, ignoring NaN.", _NAN_PAIRS),
    _float("sqrt", np.sqrt, "Square root.", ((0.0,), *_POSITIVE), ulp=4),
    _row("rsqrt", "F", "F", "inversesqrt({0})", float_reference(rsqrt),
         "One over the square root.", _POSITIVE, ulp=16),
    _float("exp", np.exp, "e to the power of x.", _REAL, ulp=64),
    _float("exp2", np.exp2, "2 to the power of x.", _REAL, ulp=64),
    _float("log", np.log, "Natural logarithm.", _POSITIVE, ulp=64, absolute=1e-3),
    _float("log2", np.log2, "Logarithm to base 2.", _POSITIVE, ulp=64, absolute=1e-3),
    _row("log10", "F", "F", "(log2({0}) * 0.30103)", float_reference(np.log10), "Logarithm to base 10.", _POSITIVE,
         python=("fast_math.log10", "fast_math.log10f", "math.log10"), ulp=64, absolute=1e-3),
    _float("sin", np.sin, "Sine of radians.", _REAL, absolute=5e-4),
    _float("cos", np.cos, "Cosine of radians.", _REAL, absolute=5e-4),
    _float("tan", np.tan, "Tangent of radians.", ((0.0,), (0.3,), (-0.7,), (1.0,)), absolute=2e-3),
    _float("asin", np.arcsin, "Arc sine in radians.", _UNIT, absolute=2e-3),
    _float("acos", np.arccos, "Arc cosine in radians.", _UNIT, absolute=2e-3),
    _float("atan", np.arctan, "Arc tangent in radians.", _REAL, absolute=2e-3),
    _row("atan2", "FF", "F", "atan({0}, {1})", float_reference(np.arctan2), "Angle of the point (y, x) in radians.",
         ((1.5, 2.0), (-3.0, 2.0), (0.5, -4.0), (7.0, 7.0), (-2.0, -3.0)),
         python=("fast_math.atan2", "fast_math.atan2f", "math.atan2"), absolute=2e-3),
    _float("sinh", np.sinh, "Hyperbolic sine.", _REAL, ulp=256, absolute=1e-4),
    _float("cosh", np.cosh, "Hyperbolic cosine.", _REAL, ulp=256, absolute=1e-4),
    # Some drivers give NaN for large arguments; 10 is where float32 tanh is 1.
    _float("tanh", np.tanh, "Hyperbolic tangent.", (*_REAL, (100.0,), (-100.0,)),
           glsl="tanh(clamp({0}, -10.0, 10.0))", absolute=1e-4),
    _float("floor", np.floor, "The largest whole number not above x.", _ROUND),
    _float("ceil", np.ceil, "The smallest whole number not below x.", _ROUND),
    _float("trunc", np.trunc, "x without its fraction.", _ROUND),
    _row("round", "F", "F", "round_half_away({0})", float_reference(round_away),
         "The nearest whole number, halves away from zero.", _ROUND,
         python=("fast_math.round", "fast_math.roundf", "round"), helper=_ROUND_HELPER, numpy_differs=True),
    _row("fmod", "FF", "F", "fmod_c({0}, {1})", float_reference(np.fmod), "Remainder with the sign of x.",
         ((5.5, 2.0), (-5.5, 2.0), (5.5, -2.0), (0.3, 7.0), (1e6, 3.0), (8.0, 2.0)),
         python=("fast_math.fmod", "fast_math.fmodf", "math.fmod"), helper=_FMOD_HELPER),
    _row("pow", "FF", "F", "pow_c({0}, {1})", float_reference(power), "x to the power of y.",
         ((2.0, 3.0), (2.0, -1.5), (-2.0, 3.0), (-2.0, 2.0), (0.0, 2.0), (9.0, 0.5), (5.0, 0.0), (-2.0, 0.5)),
         python=("fast_math.pow", "fast_math.powf", "math.pow", "pow"), ulp=256, helper=_POW_HELPER,
         numpy_differs=True),
    _row("isnan", "F", "bool", "isnan({0})", np.isnan, "Whether x is NaN.", (*_REAL, (math.nan,)),
         python=("fast_math.isnan", "math.isnan")),
    _row("isinf", "F", "bool", "isinf({0})", np.isinf, "Whether x is infinite.", (*_REAL, (math.inf,), (-math.inf,)),
         python=("fast_math.isinf", "math.isinf")),
    _row("isfinite", "F", "bool", "!(isinf({0}) || isnan({0}))", np.isfinite, "Whether x is a finite number.",
         (*_REAL, (math.inf,), (math.nan,)), python=("fast_math.isfinite", "math.isfinite")),
    _row("signbit", "F", "bool", "((floatBitsToUint({0}) & 0x80000000u) != 0u)", np.signbit,
         "Whether the sign is negative; true for -0.0.", (*_REAL, (-0.0,), (-math.inf,))),
    _row("ldexp", "FI", "F", "scale_by_power({0}, {1})", float_reference(ldexp), "x times 2 to the power of n.",
         ((1.5, 3), (-0.7, -20), (1e-30, 20), (3.0, 126), (0.0, 5)),
         python=("fast_math.ldexp", "fast_math.ldexpf", "math.ldexp")),
)  # fmt: skip

#: By row name.
BUILTINS: dict[str, BuiltinRow] = {
    row.name: with_double(row)
    for row in (*_ROWS, *BIT_ROWS, *EXTENDED_ROWS, *PRECISE_ROWS, *DIRECT3D_ROWS, *PACKED_ROWS, *NARROW_ROWS)
}


def _tuple(name: str, parts: tuple[str, ...], doc: str, *also: str) -> TupleRow:
    return TupleRow(name, (f"fast_math.{name}", f"fast_math.{name}f", *also), parts, doc)


#: Functions with several results by name: each result is a row of its own.
TUPLES: dict[str, TupleRow] = {
    row.name: row
    for row in (
        _tuple("sincos", ("sin", "cos"), "(sine, cosine) of radians."),
        _tuple("modf", ("modf_fraction", "trunc"), "(fraction, whole part), both signed as x.", "math.modf"),
        _tuple("frexp", ("frexp_significand", "frexp_exponent"), "(m, e) with x = m * 2^e, 1/2 <= abs(m) < 1.",
               "math.frexp"),
        *PRECISE_TUPLES,
        *EXTENDED_TUPLES,
    )
}  # fmt: skip

_INTEGERS = ("int32", "uint32", "int64", "uint64")
_NUMBERS = (*_INTEGERS, "float32")

#: Atomics by name; the first argument is an element.
ATOMICS: dict[str, AtomicRow] = {
    row.name: row
    for row in (
        AtomicRow("atomic_fetch_add", 1, _NUMBERS, "atomicAdd({0}, {1})", lambda o, v: o + v,
                  "Adds v.", native_float="atomicAdd({0}, {1})"),
        AtomicRow("atomic_fetch_sub", 1, _NUMBERS,
                  {"int32": "atomicAdd({0}, -({1}))", "uint32": "atomicAdd({0}, 0u - ({1}))",
                   "int64": "atomicAdd({0}, -({1}))", "uint64": "atomicAdd({0}, 0UL - ({1}))"},
                  lambda o, v: o - v, "Subtracts v.", native_float="atomicAdd({0}, -({1}))"),
        AtomicRow("atomic_fetch_and", 1, _INTEGERS, "atomicAnd({0}, {1})", lambda o, v: o & v, "Bitwise and with v."),
        AtomicRow("atomic_fetch_or", 1, _INTEGERS, "atomicOr({0}, {1})", lambda o, v: o | v, "Bitwise or with v."),
        AtomicRow("atomic_fetch_xor", 1, _INTEGERS, "atomicXor({0}, {1})", lambda o, v: o ^ v,
                  "Bitwise exclusive or with v."),
        AtomicRow("atomic_fetch_min", 1, _NUMBERS, "atomicMin({0}, {1})", lambda o, v: o if v != v or o < v else v,
                  "Smaller of the element and v, ignoring NaN."),
        AtomicRow("atomic_fetch_max", 1, _NUMBERS, "atomicMax({0}, {1})", lambda o, v: o if v != v or o > v else v,
                  "Larger of the element and v, ignoring NaN."),
        AtomicRow("atomic_fetch_inc", 0, _INTEGERS, {"int32": "atomicAdd({0}, 1)", "uint32": "atomicAdd({0}, 1u)",
                   "int64": "atomicAdd({0}, 1L)", "uint64": "atomicAdd({0}, 1UL)"},
                  lambda o: o + 1, "Adds one."),
        AtomicRow("atomic_fetch_dec", 0, _INTEGERS,
                  {"int32": "atomicAdd({0}, -1)", "uint32": "atomicAdd({0}, 0xffffffffu)",
                   "int64": "atomicAdd({0}, -1L)", "uint64": "atomicAdd({0}, 0xffffffffffffffffUL)"},
                  lambda o: o - 1, "Subtracts one."),
        AtomicRow("atomic_exchange", 1, _NUMBERS, "atomicExchange({0}, {1})", lambda o, v: v, "Stores v."),
        AtomicRow("atomic_compare_exchange", 2, _INTEGERS, "atomicCompSwap({0}, {1}, {2})",
                  lambda o, expected, v: v if o == expected else o,
                  "Stores v if the element equals expected; expected gets the value read.", result="bool"),
    )
}  # fmt: skip
