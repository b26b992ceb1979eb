"""The rows of ``precise_math``: float functions with bounds on their error on every device.

Each row's shader function is in ``precise.glsl``; its reference works in double precision and rounds once.

C++ AMP's model: docs/conformance.md, section 13.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from vkamp.ir.rows import BuiltinRow, TupleRow, float_reference

#: The results of ``fpclassify``.
FP_CLASSES = {"FP_NAN": 0, "FP_INFINITE": 1, "FP_ZERO": 2, "FP_SUBNORMAL": 3, "FP_NORMAL": 4}

_Samples = tuple[tuple[float, ...], ...]
_SMALLEST = 2.0**-126


# -- references: of doubles that hold float32 values ---------------------------------------------------------------


def _special(function: Callable[[float], float], at_plus: float, at_minus: float) -> Callable[[Any], float]:
    """A function of Python's ``math`` with its values at the infinities; NaN where it raises or x is NaN."""

    def value(x: Any) -> float:
        if math.isinf(x):
            return at_plus if x > 0 else at_minus
        try:
            return function(float(x))
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    return value


def _turns(x: Any) -> tuple[float, int]:
    """x in half turns: the part from -1/4 to 1/4, exactly, and the quarter."""
    rest = math.fmod(abs(float(x)), 2.0)
    quarter = math.floor(2.0 * rest + 0.5)
    return rest - quarter / 2, quarter & 3


def _sinpi(x: Any) -> float:
    if not math.isfinite(x):
        return math.nan
    part, quarter = _turns(x)
    angle = math.pi * part
    size = (math.sin(angle), math.cos(angle), -math.sin(angle), -math.cos(angle))[quarter]
    return math.copysign(0.0, x) if size == 0 else (-size if x < 0 else size)


def _cospi(x: Any) -> float:
    if not math.isfinite(x):
        return math.nan
    part, quarter = _turns(x)
    angle = math.pi * part
    return (math.cos(angle), -math.sin(angle), -math.cos(angle), math.sin(angle))[quarter] + 0.0


def _tanpi(x: Any) -> float:
    if not math.isfinite(x):
        return math.nan
    part, quarter = _turns(x)
    if part == 0:
        size = (0.0, math.inf, -0.0, -math.inf)[quarter]
    elif quarter & 1:
        size = -1.0 / math.tan(math.pi * part)
    else:
        size = math.tan(math.pi * part)
    # An odd function but at its poles, where the quarter decides.
    if math.isinf(size):
        return size if x > 0 else -size
    return -size if math.copysign(1.0, x) < 0 else size


def _newton(y: float, missing: Callable[[float], float]) -> float:
    """The root of the error function's inverse near y; ``missing(y)`` is what is left to the wanted value."""
    for _ in range(60):
        step = missing(y) / (2.0 / math.sqrt(math.pi) * math.exp(-y * y))
        step /= 1.0 + y * step
        y -= step
        if abs(step) <= 1e-16 * abs(y):
            break
    return y


def _erfinv(argument: Any) -> float:
    x = float(argument)
    size = abs(x)
    if not size < 1.0:
        return math.copysign(math.inf, x) if size == 1.0 else math.nan
    if size < 1e-6:
        return x * math.sqrt(math.pi) / 2
    if size < 0.5:
        return math.copysign(_newton(size, lambda y: math.erf(y) - size), x)
    return math.copysign(_tail(1.0 - size), x)


def _tail(q: float) -> float:
    """The y with erfc(y) = q, for q up to 1/2."""
    return _newton(math.sqrt(-math.log(q * (2.0 - q))), lambda y: q - math.erfc(y))


def _erfcinv(x: Any) -> float:
    x = float(x)
    if not 0.0 <= x <= 2.0:
        return math.nan
    if x in (0.0, 2.0):
        return math.inf if x == 0.0 else -math.inf
    if 0.5 < x < 1.5:
        return _erfinv(1.0 - x)
    return _tail(x) if x < 1.0 else -_tail(2.0 - x)


def _phi(x: Any) -> float:
    return 0.5 * math.erfc(-float(x) / math.sqrt(2.0))


def _probit(x: Any) -> float:
    return 0.0 if x == 0.5 else -math.sqrt(2.0) * _erfcinv(2.0 * float(x))


def _tgamma(x: Any) -> float:
    if x == 0:
        return math.copysign(math.inf, float(x))
    return _special(math.gamma, math.inf, math.nan)(x)


_ZETA = (0.5772156649015329, 1.6449340668482264, 1.2020569031595943, 1.0823232337111382, 1.0369277551433699,
         1.0173430619844491, 1.0083492773819228, 1.0040773561979443)  # fmt: skip


def _lgamma(argument: Any) -> float:
    x = float(argument)
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    # Near its zeros the library's function has too few correct digits.
    for zero in (1.0, 2.0):
        t = x - zero
        if abs(t) < 0.01:
            series: float = -_ZETA[0] * t
            for n, zeta in enumerate(_ZETA[1:], 2):
                series += zeta * math.pow(-t, n) / n
            return series if zero == 1.0 else series + math.log1p(t)
    return _special(math.lgamma, math.inf, math.inf)(x)


def _lgamma_sign(x: Any) -> int:
    x = float(x)
    if not math.isfinite(x) or x > 0:
        return 1
    if x == 0:
        return 1 if math.copysign(1.0, x) > 0 else -1
    below = math.floor(x)
    return 1 if below == x or below % 2 == 0 else -1


def power(x: Any, y: Any) -> Any:
    """C's ``pow``: for a single exponent of 0.5 newer numpys take a root, which differs at minus infinity."""
    return np.power(*np.broadcast_arrays(np.atleast_1d(x), np.atleast_1d(y))).reshape(
        np.broadcast_shapes(np.shape(x), np.shape(y))
    )[()]


def _exp10(x: Any) -> Any:
    return np.power(10.0, x)


def rsqrt(x: Any) -> Any:
    """One over the square root."""
    return 1.0 / np.sqrt(x)


def round_away(x: Any) -> Any:
    """The nearest whole number, halves away from zero."""
    if not np.isfinite(x):
        return x
    whole = np.trunc(abs(x))
    return np.copysign(whole + 1 if abs(x) - whole >= 0.5 else whole, x)


def _fma(x: Any, y: Any, z: Any) -> Any:
    """x * y is exact in double precision; their sum is rounded to odd, so that rounding it again is right."""
    product = x * y
    total = product + z
    if not np.isfinite(total):
        return total
    second = total - product
    rest = (product - (total - second)) + (z - second)
    if rest != 0 and int(np.float64(total).view(np.uint64)) & 1 == 0:
        return np.nextafter(total, np.inf if rest > 0 else -np.inf)
    return total


def ldexp(x: Any, n: Any) -> Any:
    """x * 2^n."""
    return np.ldexp(x, int(np.clip(n, -5000, 5000)))


def scalb(x: Any, y: Any) -> Any:
    """x * 2^y; NaN where y is not a whole number."""
    if np.isnan(x) or np.isnan(y):
        return np.nan
    if np.isinf(y):
        return x * (np.inf if y > 0 else 0.0)
    return ldexp(x, y) if y == np.floor(y) else np.nan


def modf_fraction(x: Any) -> Any:
    """x without its whole part, with the sign of x."""
    return np.copysign(0.0, x) if np.isinf(x) else np.copysign(x - np.trunc(x), x)


def frexp_significand(x: Any) -> Any:
    """m of x = m * 2^e with 1/2 <= abs(m) < 1."""
    return np.frexp(x)[0]


def frexp_exponent(x: Any) -> int:
    """e of x = m * 2^e with 1/2 <= abs(m) < 1; 0 for 0, infinities and NaN."""
    return int(np.frexp(np.float64(x))[1]) if np.isfinite(x) else 0


def _logb(x: Any) -> Any:
    if x == 0:
        return -np.inf
    return np.float64(frexp_exponent(x) - 1) if np.isfinite(x) else np.abs(x)


def _ilogb(x: Any) -> int:
    if x == 0 or np.isnan(x):
        return -(2**31)
    return 2**31 - 1 if np.isinf(x) else frexp_exponent(x) - 1


def _fmod(x: Any, y: Any) -> Any:
    return np.fmod(x, y)


def _remainder(x: Any, y: Any) -> float:
    if np.isinf(x) or y == 0 or np.isnan(x) or np.isnan(y):
        return math.nan
    return math.remainder(float(x), float(y))


def _remquo_bits(x: Any, y: Any) -> int:
    if not np.isfinite(x) or y == 0 or not np.isfinite(y):
        return 0
    from fractions import Fraction  # only the reference accelerator needs it

    quotient = round(Fraction(float(x)) / Fraction(float(y)))
    return (abs(quotient) & 0x7FFFFFFF) * (1 if quotient >= 0 else -1)


def _fmin(x: Any, y: Any) -> Any:
    return (x if np.signbit(x) else y) if x == 0 and y == 0 else np.fmin(x, y)


def _fmax(x: Any, y: Any) -> Any:
    return (y if np.signbit(x) else x) if x == 0 and y == 0 else np.fmax(x, y)


def _fdim(x: Any, y: Any) -> Any:
    if np.isnan(x) or np.isnan(y):
        return np.nan
    return x - y if x > y else 0.0


def _nextafter(x: Any, y: Any) -> Any:
    return np.nextafter(np.float32(x), np.float32(y))


def _nan(n: Any) -> Any:
    return np.uint32(0x7FC00000 | (int(n) & 0x3FFFFF)).view(np.float32)


def _fpclassify(x: Any) -> int:
    if np.isnan(x):
        return FP_CLASSES["FP_NAN"]
    if np.isinf(x):
        return FP_CLASSES["FP_INFINITE"]
    if x == 0:
        return FP_CLASSES["FP_ZERO"]
    return FP_CLASSES["FP_SUBNORMAL" if abs(float(x)) < _SMALLEST else "FP_NORMAL"]


def _isnormal(x: Any) -> bool:
    return _fpclassify(x) == FP_CLASSES["FP_NORMAL"]


# -- rows ----------------------------------------------------------------------------------------------------------

_REAL: _Samples = ((0.0,), (0.3,), (-0.7,), (1.0,), (-2.5,), (5.25,), (0.001,), (-40.0,), (1e-20,), (math.nan,))
_ANY: _Samples = (*_REAL, (-0.0,), (1e9,), (3e38,), (math.inf,), (-math.inf,))
_ROUND: _Samples = (*_ANY, (0.5,), (-0.5,), (1.5,), (2.5,), (-2.5,), (0.49999997,), (-7.75,), (8388609.0,))
_POSITIVE: _Samples = ((0.001,), (0.3,), (1.0,), (2.5,), (77.7,), (1e6,), (1e-30,), (math.inf,), (0.0,), (-1.0,))
_UNIT: _Samples = ((-1.0,), (-0.6,), (0.0,), (0.25,), (0.99,), (1.0,), (0.9999999,), (1e-9,), (1.5,))
_PAIRS: _Samples = ((1.5, 2.0), (-3.0, 2.0), (0.5, -4.0), (7.0, 7.0), (0.0, 3.0), (-0.0, -1.0), (math.nan, 1.0),
                    (2.0, math.nan), (math.inf, -1.0), (1e-30, 1e30), (5.5, 0.0))  # fmt: skip
_QUOTIENTS: _Samples = (*_PAIRS, (5.5, 2.0), (7.0, 2.0), (-5.5, 2.0), (0.3, 7.0), (1e6, 3.0), (3e38, 1e-37),
                        (1.0, math.inf))  # fmt: skip
_POWERS: _Samples = (*_PAIRS, (-2.0, 3.0), (-2.0, 0.5), (0.0, -1.0), (0.7, 200.0), (1.0, math.nan), (9.0, 0.5))
_SCALES: _Samples = ((1.5, 3), (-0.7, -20), (1e-30, -20), (3.0, 127), (0.0, 5), (1.0, -400), (math.inf, -3))


#: The functions of Python's math that precise_math alone has, by their names here.
_PYTHON = {
    **{name: name for name in ("acosh", "asinh", "atanh", "cbrt", "copysign", "erf", "erfc", "expm1")},
    **{name: name for name in ("hypot", "log1p", "nextafter", "remainder")},
    "tgamma": "gamma",
}


def _row(
    name: str,
    doc: str,
    reference: Callable[..., Any],
    samples: _Samples,
    *,
    ulp: float | None = None,
    params: str = "F",
    result: str = "F",
    glsl: str = "",
    twin: bool = True,
) -> BuiltinRow:
    """``ulp`` is the row's bound; ``None``: exact.  A float result's reference is rounded once."""
    classes: Any = tuple(params)
    spellings = (f"precise_math.{name}", *((f"precise_math.{name}f",) if twin else ()))
    if name in _PYTHON:
        spellings += (f"math.{_PYTHON[name]}",)
    arguments = ", ".join(f"{{{n}}}" for n in range(len(params)))
    rounded = float_reference(reference) if result == "F" and name not in ("nextafter", "nan") else reference
    return BuiltinRow(
        f"precise_{name}",
        spellings,
        classes,
        result,
        glsl or f"precise_{name}({arguments})",
        rounded,
        doc,
        samples,
        ulp,
    )


def _part(name: str, doc: str, reference: Callable[..., Any], samples: _Samples, result: str = "F") -> BuiltinRow:
    """One result of a function with several results; it has no Python name."""
    classes: Any = ("F",) * len(samples[0])
    arguments = ", ".join(f"{{{n}}}" for n in range(len(classes)))
    rounded = float_reference(reference) if result == "F" else reference
    ulp = 6.0 if name == "lgamma_size" else None
    return BuiltinRow(name, (), classes, result, f"{name}({arguments})", rounded, doc, samples, ulp)


_LGAMMA: _Samples = (*_ANY, (1.0,), (2.0,), (1.0000001,), (1.9999999,), (0.5,), (30.5,), (-0.5,), (-1.25,), (-20.5,))

PRECISE_ROWS: tuple[BuiltinRow, ...] = (
    # In fast_math too.
    _row("acos", "Arc cosine in radians.", np.arccos, _UNIT, ulp=3),
    _row("asin", "Arc sine in radians.", np.arcsin, _UNIT, ulp=4),
    _row("atan", "Arc tangent in radians.", np.arctan, _ANY, ulp=2),
    _row("atan2", "Angle of the point (y, x) in radians.", np.arctan2, _PAIRS, ulp=3, params="FF"),
    _row("ceil", "The smallest whole number not below x.", np.ceil, _ROUND),
    _row("floor", "The largest whole number not above x.", np.floor, _ROUND),
    _row("trunc", "x without its fraction.", np.trunc, _ROUND),
    _row("cos", "Cosine of radians.", np.cos, _ANY, ulp=2),
    _row("sin", "Sine of radians.", np.sin, _ANY, ulp=2),
    _row("cosh", "Hyperbolic cosine.", np.cosh, _ANY, ulp=2),
    _row("exp", "e to the power of x.", np.exp, _ANY, ulp=2),
    _row("exp2", "2 to the power of x.", np.exp2, _ANY, ulp=2),
    _row("fabs", "Absolute value.", np.abs, _ANY,
         glsl="uintBitsToFloat(floatBitsToUint({0}) & 0x7fffffffu)"),
    _row("fmax", "The larger number, ignoring NaN; 0 is larger than -0.", _fmax, _PAIRS, params="FF"),
    _row("fmin", "The smaller number, ignoring NaN; -0 is smaller than 0.", _fmin, _PAIRS, params="FF"),
    _row("fmod", "The exact remainder, with the sign of x.", _fmod, _QUOTIENTS, params="FF"),
    _row("ldexp", "x times 2 to the power of n, rounded once.", ldexp, _SCALES, params="FI",
         glsl="scale_by_power({0}, {1})"),
    _row("log", "Natural logarithm.", np.log, _POSITIVE, ulp=1),
    _row("log10", "Logarithm to base 10.", np.log10, _POSITIVE, ulp=3),
    _row("log2", "Logarithm to base 2.", np.log2, _POSITIVE, ulp=3),
    _row("pow", "x to the power of y.", power, _POWERS, ulp=8, params="FF"),
    _row("round", "The nearest whole number; halves go away from zero.", round_away, _ROUND),
    _row("rsqrt", "One over the square root.", rsqrt, _POSITIVE, ulp=2),
    _row("signbit", "Whether the sign is negative; true for -0.0.", np.signbit, _ANY, result="bool",
         glsl="((floatBitsToUint({0}) & 0x80000000u) != 0u)"),
    _row("sinh", "Hyperbolic sine.", np.sinh, _ANY, ulp=3),
    _row("sqrt", "Square root, correctly rounded.", np.sqrt, _POSITIVE),
    _row("tan", "Tangent of radians.", np.tan, _ANY, ulp=4),
    _row("tanh", "Hyperbolic tangent.", np.tanh, _ANY, ulp=2),
    _row("isfinite", "Whether x is a finite number.", np.isfinite, _ANY, result="bool", twin=False,
         glsl="((floatBitsToUint({0}) & 0x7fffffffu) < 0x7f800000u)"),
    _row("isinf", "Whether x is infinite.", np.isinf, _ANY, result="bool", twin=False, glsl="is_infinite({0})"),
    _row("isnan", "Whether x is NaN.", np.isnan, _ANY, result="bool", twin=False,
         glsl="is_not_a_number({0})"),
    # In precise_math only.
    _row("acosh", "Inverse hyperbolic cosine.", np.arccosh,
         ((1.0,), (1.0000001,), (1.5,), (7.0,), (1e5,), (3e38,), (0.5,), (math.inf,)), ulp=4),
    _row("asinh", "Inverse hyperbolic sine.", np.arcsinh, _ANY, ulp=3),
    _row("atanh", "Inverse hyperbolic tangent.", np.arctanh, _UNIT, ulp=3),
    _row("cbrt", "Cube root.", np.cbrt, _ANY, ulp=1),
    _row("copysign", "The magnitude of x with the sign of y.", np.copysign, _PAIRS, params="FF",
         glsl="with_sign({0}, {1})"),
    _row("cospi", "Cosine of pi times x.", _cospi, _ROUND, ulp=2),
    _row("sinpi", "Sine of pi times x.", _sinpi, _ROUND, ulp=2),
    _row("tanpi", "Tangent of pi times x.", _tanpi, _ROUND, ulp=2),
    _row("erf", "Error function.", _special(math.erf, 1.0, -1.0), _ANY, ulp=3),
    _row("erfc", "Complementary error function.", _special(math.erfc, 0.0, 2.0), (*_ANY, (9.0,), (0.5,)), ulp=6),
    _row("erfinv", "Inverse error function.", _erfinv, _UNIT, ulp=3),
    _row("erfcinv", "Inverse complementary error function.", _erfcinv,
         ((1.0,), (0.3,), (1.7,), (0.001,), (1e-30,), (0.0,), (2.0,), (3.0,)), ulp=7),
    _row("exp10", "10 to the power of x.", _exp10, _ANY, ulp=2),
    _row("expm1", "e to the power of x, less 1.", np.expm1, _ANY, ulp=1),
    _row("fdim", "x - y where that is positive, else 0; NaN if one is.", _fdim, _PAIRS, params="FF"),
    _row("fma", "x * y + z, rounded once.", _fma,
         ((1.5, 2.0, 0.25), (0.1, 10.0, -1.0), (1e30, 1e30, -1e30), (1.0000001, 1.0000001, -1.0000002),
          (math.inf, 0.0, 1.0), (-1e-30, 1e-15, 1e-45)), params="FFF"),
    _row("hypot", "The length of the vector (x, y).", np.hypot, _PAIRS, ulp=3, params="FF"),
    _row("ilogb", "The exponent of x, an int: -2^31 for 0 and NaN, 2^31 - 1 for infinities.", _ilogb, _ANY,
         result="int32"),
    _row("log1p", "The natural logarithm of 1 + x.", np.log1p, (*_ANY, (-1.0,), (-0.999,)), ulp=2),
    _row("logb", "The exponent of x, a float.", _logb, _ANY),
    _row("nan", "A quiet NaN that carries the lower 22 bits of n.", _nan, ((0,), (5,), (-1,)), params="I",
         result="float32", glsl="uintBitsToFloat(0x7fc00000u | (uint({0}) & 0x3fffffu))"),
    _row("nearbyint", "The nearest whole number; halves go to the even one.", np.rint, _ROUND),
    _row("nextafter", "The float next to x in the direction of y.", _nextafter, _PAIRS, params="FF"),
    _row("phi", "The standard normal distribution function.", _phi, _ANY, ulp=4),
    _row("probit", "The inverse of the standard normal distribution function.", _probit,
         ((0.5,), (0.25,), (0.9,), (0.001,), (1e-30,), (0.0,), (1.0,), (1.5,)), ulp=8),
    _row("rcbrt", "One over the cube root.", lambda x: 1.0 / np.cbrt(x), _ANY, ulp=2),
    _row("remainder", "x less the nearest multiple of y, the even one of two; exact.", _remainder, _QUOTIENTS,
         params="FF"),
    _row("scalb", "x times 2 to the power of a whole y.", scalb,
         ((1.5, 3.0), (-0.7, -20.0), (1e-30, -20.0), (3.0, 127.0), (0.0, math.inf), (1.0, 0.5), (2.0, -math.inf)),
         params="FF"),
    _row("scalbn", "x times 2 to the power of n, rounded once.", ldexp, _SCALES, params="FI",
         glsl="scale_by_power({0}, {1})"),
    _row("tgamma", "Gamma function.", _tgamma, (*_ANY, (0.5,), (4.0,), (34.5,), (-1.5,), (-20.5,)), ulp=11),
    _row("fpclassify", "FP_NAN 0, FP_INFINITE 1, FP_ZERO 2, FP_SUBNORMAL 3, FP_NORMAL 4.", _fpclassify,
         (*_ANY, (1e-40,)), result="int32", twin=False),
    _row("isnormal", "Whether x is finite and neither 0 nor denormal.", _isnormal, (*_ANY, (1e-40,)), result="bool",
         twin=False, glsl="(precise_fpclassify({0}) == 4)"),
    # Parts of functions with several results.
    _part("modf_fraction", "x without its whole part.", modf_fraction, _ROUND),
    _part("frexp_significand", "m of x = m * 2^e.", frexp_significand, _ANY),
    _part("frexp_exponent", "e of x = m * 2^e.", frexp_exponent, _ANY, "int32"),
    _part("lgamma_size", "The logarithm of the gamma function's magnitude.", _lgamma, _LGAMMA),
    _part("lgamma_sign", "The sign of the gamma function.", _lgamma_sign, _LGAMMA, "int32"),
    _part("remquo_bits", "The last 31 bits of the quotient of remainder, with its sign.", _remquo_bits, _QUOTIENTS,
          "int32"),
)  # fmt: skip


def _tuple(name: str, parts: tuple[str, ...], doc: str) -> TupleRow:
    return TupleRow(f"precise_{name}", (f"precise_math.{name}", f"precise_math.{name}f"), parts, doc)


PRECISE_TUPLES: tuple[TupleRow, ...] = (
    _tuple("sincos", ("precise_sin", "precise_cos"), "(sine, cosine) of radians."),
    _tuple("modf", ("modf_fraction", "precise_trunc"), "(fraction, whole part), both signed as x."),
    _tuple("frexp", ("frexp_significand", "frexp_exponent"), "(m, e) with x = m * 2^e, 1/2 <= abs(m) < 1."),
    _tuple("lgamma", ("lgamma_size", "lgamma_sign"), "(logarithm of the size, sign) of the gamma function."),
    _tuple("remquo", ("precise_remainder", "remquo_bits"), "(remainder, last bits of the quotient with its sign)."),
)
