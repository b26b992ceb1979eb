"""Functions of float64: the forms that rows of floats have for doubles.

GLSL has few functions of doubles; the others are GLSL functions in ``doubles.glsl``.  References are numpy's.

C++ AMP's model: docs/conformance.md, section 13.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from vkamp.ir.precise import ldexp, round_away, rsqrt, scalb
from vkamp.ir.rows import BuiltinRow, DoubleForm
from vkamp.records import dataclass

# -- references, where those of the rows are for float32 values only -----------------------------------------------


def _fma(x: Any, y: Any, z: Any) -> Any:
    """Exact, and rounded once."""
    if not (np.isfinite(x) and np.isfinite(y) and np.isfinite(z)):
        # The size of a finite product does not count, and must not become an infinity.
        finite = np.isfinite(x) and np.isfinite(y)
        return z if finite else x * y + z
    from fractions import Fraction  # only the reference accelerator needs it

    exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
    if exact == 0:
        return np.copysign(0.0, x) * np.copysign(1.0, y) + z if z == 0 else 0.0
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _cbrt(x: Any) -> Any:
    """numpy's own function of doubles is off by up to 4 ulp on some processors."""
    return np.cbrt(np.longdouble(x)).astype(np.float64)


def _rcbrt(x: Any) -> Any:
    return (1 / np.cbrt(np.longdouble(x))).astype(np.float64)


def _phi(x: Any) -> float:
    """The argument of erfc is rounded: what that leaves counts where it is large."""
    exact = -np.longdouble(x) / np.sqrt(np.longdouble(2))
    y = float(exact)
    rest = float(exact - np.longdouble(y)) if math.isfinite(y) else 0.0
    return 0.5 * (math.erfc(y) - 2.0 / math.sqrt(math.pi) * math.exp(-min(y * y, 800.0)) * rest)


def _fpclassify(x: Any) -> int:
    if np.isnan(x):
        return 0
    if np.isinf(x):
        return 1
    if x == 0:
        return 2
    return 3 if abs(x) < 2.0**-1022 else 4


# -- forms -----------------------------------------------------------------------------------------------------------

_SMALLER, _LARGER = "(isnan({1}) || {0} < {1} ? {0} : {1})", "(isnan({1}) || {0} > {1} ? {0} : {1})"


@dataclass(frozen=True)
class _Function:
    """A function in ``doubles.glsl``; without ``reference`` the row's own is one of doubles.

    ``ulp`` is its bound in float64 ulps; ``None``: exact.
    """

    glsl: str = ""
    reference: Callable[..., Any] | None = None
    ulp: float | None = None


#: What GLSL has, for fast_math and Python's own functions; by the row's name.
_NATIVE: dict[str, DoubleForm] = {
    "fabs": DoubleForm("abs({0})", np.abs),
    "fmin": DoubleForm(_SMALLER, np.fmin),
    "fmax": DoubleForm(_LARGER, np.fmax),
    "sqrt": DoubleForm("sqrt({0})", np.sqrt, ulp=1.0),
    "rsqrt": DoubleForm("(1.0lf / sqrt({0}))", rsqrt, ulp=2.0),
    "floor": DoubleForm("floor({0})", np.floor),
    "ceil": DoubleForm("ceil({0})", np.ceil),
    "trunc": DoubleForm("whole_part({0})", np.trunc),
    "isnan": DoubleForm("isnan({0})", np.isnan),
    "isinf": DoubleForm("isinf({0})", np.isinf),
    "isfinite": DoubleForm("!(isinf({0}) || isnan({0}))", np.isfinite),
    "direct3d_saturate": DoubleForm("clamp({0}, 0.0lf, 1.0lf)", lambda x: np.clip(x, 0.0, 1.0)),
    "direct3d_step": DoubleForm("step({0}, {1})", lambda edge, x: np.float64(x >= edge)),
}

#: By the name in precise_math, or that of a part of a function with several results. fast_math and Python's ``math``
#: have the same where there is no native one.
_FUNCTIONS: dict[str, _Function] = {
    "fabs": _Function("with_sign({0}, 1.0lf)"),
    "fmin": _Function(),
    "fmax": _Function(),
    "sqrt": _Function(),
    "rsqrt": _Function(ulp=1.0),
    "floor": _Function(),
    "ceil": _Function(),
    "trunc": _Function(),
    "round": _Function(reference=round_away),
    "nearbyint": _Function(),
    "fmod": _Function(),
    "remainder": _Function(),
    "remquo_bits": _Function("remquo_bits({0}, {1})"),
    "fma": _Function(reference=_fma),
    "fdim": _Function(),
    "ldexp": _Function("scale_by_power({0}, {1})", ldexp),
    "scalbn": _Function("scale_by_power({0}, {1})", ldexp),
    "scalb": _Function(reference=scalb),
    "logb": _Function(),
    "ilogb": _Function(),
    "modf_fraction": _Function("modf_fraction({0})"),
    "frexp_significand": _Function("frexp_significand({0})"),
    "frexp_exponent": _Function("frexp_exponent({0})"),
    "nextafter": _Function(reference=np.nextafter),
    "copysign": _Function("with_sign({0}, {1})"),
    "signbit": _Function("(sign_of({0}) != 0u)"),
    "isnan": _Function("is_not_a_number({0})"),
    "isinf": _Function("is_infinite({0})"),
    "isfinite": _Function("is_finite({0})"),
    "fpclassify": _Function(reference=_fpclassify),
    "isnormal": _Function("(precise_fpclassify({0}) == 4)", lambda x: _fpclassify(x) == 4),
    **{name: _Function(ulp=1.0) for name in ("exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p")},
    "cbrt": _Function(reference=_cbrt, ulp=1.0),
    "rcbrt": _Function(reference=_rcbrt, ulp=1.0),
    "hypot": _Function(ulp=1.0),
    **{name: _Function(ulp=2.0) for name in ("sin", "cos", "tan", "sinpi", "cospi", "tanpi", "asin", "acos", "atan")},
    **{name: _Function(ulp=2.0) for name in ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "atan2")},
    "pow": _Function(ulp=2.0),
    "erf": _Function(ulp=2.0),
    "erfc": _Function(ulp=5.0),
    "phi": _Function(reference=_phi, ulp=5.0),
    "tgamma": _Function(ulp=8.0),
    "lgamma_size": _Function("lgamma_size({0})", ulp=4.0),
    "lgamma_sign": _Function("lgamma_sign({0})"),
}


def _reference(row: BuiltinRow, function: _Function) -> Callable[..., Any]:
    """Computes with doubles, without warnings about overflow; a float result is a float64."""
    exact = function.reference
    if exact is None:
        exact = getattr(row.reference, "__wrapped__", row.reference)
    of_doubles: Callable[..., Any] = exact

    def reference(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            found = of_doubles(*args)
        return np.float64(found) if row.result == "F" else found

    return reference


def with_double(row: BuiltinRow) -> BuiltinRow:
    """The row with its form for float64, if there is one."""
    form = _NATIVE.get(row.name)
    function = _FUNCTIONS.get(row.name.removeprefix("precise_"))
    if form is None and function is not None and "F" in row.params:
        name = row.name.removeprefix("precise_")
        arguments = ", ".join(f"{{{n}}}" for n in range(len(row.params)))
        glsl = function.glsl or f"precise_{name}({arguments})"
        form = DoubleForm(glsl, _reference(row, function), function.ulp)
    return row if form is None else dataclasses.replace(row, double=form)
