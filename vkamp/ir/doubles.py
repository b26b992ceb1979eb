"""Functions of float64: what GLSL has in double precision, and what a few lines make of that.

GLSL has no transcendental functions of doubles; those are refused, not computed in single precision.

C++ AMP's model: docs/conformance.md, section 13.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from vkamp.ir.rows import BuiltinRow, DoubleForm

__all__ = ["FMOD_OF_DOUBLES", "with_double"]

FMOD_OF_DOUBLES = """\
double fmod_c(double x, double y) {
    if (isnan(x) || isnan(y) || isinf(x) || y == 0.0lf) {
        return packDouble2x32(uvec2(0u, 0x7ff80000u));
    }
    if (isinf(y)) {
        return x;
    }
    double rest = abs(x);
    double divisor = abs(y);
    // The largest divisor * 2^k not above the rest, and then the smaller ones: each step is exact.
    double part = divisor;
    while (part <= rest * 0.5lf) {
        part *= 2.0lf;
    }
    while (part >= divisor) {
        if (rest >= part) {
            rest -= part;
        }
        part *= 0.5lf;
    }
    return (unpackDouble2x32(x).y & 0x80000000u) != 0u ? -rest : rest;
}
"""
_ROUND = """\
double round_half_away(double x) {
    double whole = trunc(abs(x));
    if (abs(x) - whole >= 0.5lf) {
        whole += 1.0lf;
    }
    uvec2 bits = unpackDouble2x32(whole);
    bits.y |= unpackDouble2x32(x).y & 0x80000000u;
    return packDouble2x32(bits);
}
"""
_SIGNED = """\
// The size of x with the sign of y: some drivers lose that of a zero.
double with_sign_of(double x, double y) {
    uvec2 bits = unpackDouble2x32(x);
    bits.y ^= (bits.y ^ unpackDouble2x32(y).y) & 0x80000000u;
    return packDouble2x32(bits);
}
"""
_SMALLER, _LARGER = "(isnan({1}) || {0} < {1} ? {0} : {1})", "(isnan({1}) || {0} > {1} ? {0} : {1})"
_SIGN_BIT = "((unpackDouble2x32({0}).y & 0x80000000u) != 0u)"


def _round_half_away(x: Any) -> Any:
    if not np.isfinite(x):
        return x
    whole = np.trunc(abs(x))
    return np.copysign(whole + 1 if abs(x) - whole >= 0.5 else whole, x)


def _fmod(x: Any, y: Any) -> Any:
    return np.fmod(x, y)


def _rsqrt(x: Any) -> Any:
    return 1.0 / np.sqrt(x)


_COMMON = {
    "fabs": DoubleForm("abs({0})", np.abs),
    "fmin": DoubleForm(_SMALLER, np.fmin),
    "fmax": DoubleForm(_LARGER, np.fmax),
    "sqrt": DoubleForm("sqrt({0})", np.sqrt, ulp=1.0),
    "rsqrt": DoubleForm("(1.0lf / sqrt({0}))", _rsqrt, ulp=2.0),
    "floor": DoubleForm("floor({0})", np.floor),
    "ceil": DoubleForm("ceil({0})", np.ceil),
    "trunc": DoubleForm("trunc({0})", np.trunc),
    "round": DoubleForm("round_half_away({0})", _round_half_away, helper=_ROUND),
    "fmod": DoubleForm("fmod_c({0}, {1})", _fmod, helper=FMOD_OF_DOUBLES),
    "isnan": DoubleForm("isnan({0})", np.isnan),
    "isinf": DoubleForm("isinf({0})", np.isinf),
    "isfinite": DoubleForm("!(isinf({0}) || isnan({0}))", np.isfinite),
    "signbit": DoubleForm(_SIGN_BIT, np.signbit),
}


def _signed(glsl: str, reference: Any) -> DoubleForm:
    """A rounding whose result has the sign of x, a zero too."""
    return DoubleForm(f"with_sign_of({glsl}, {{0}})", reference, helper=_SIGNED)


#: By the row's name.
_FORMS: dict[str, DoubleForm] = {
    **_COMMON,
    **{f"precise_{name}": form for name, form in _COMMON.items() if name not in ("fmin", "fmax")},
    **{f"precise_{name}": _signed(f"{name}({{0}})", getattr(np, name)) for name in ("floor", "ceil", "trunc")},
    "precise_nearbyint": _signed("roundEven({0})", np.rint),
    "precise_copysign": DoubleForm("with_sign_of({0}, {1})", np.copysign, helper=_SIGNED),
    "direct3d_saturate": DoubleForm("clamp({0}, 0.0lf, 1.0lf)", lambda x: np.clip(x, 0.0, 1.0)),
    "direct3d_step": DoubleForm("step({0}, {1})", lambda edge, x: np.float64(x >= edge)),
}


def with_double(row: BuiltinRow) -> BuiltinRow:
    """The row with its form for float64, if there is one."""
    form = _FORMS.get(row.name)
    return row if form is None else dataclasses.replace(row, double=form)
