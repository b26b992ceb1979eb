"""Rows of ``amp.direct3d``: intrinsics that C++ AMP takes from HLSL (AMP: ``concurrency::direct3d``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vkamp.ir.rows import BuiltinRow, TypeClass, float_reference

_BITS: tuple[tuple[float, ...], ...] = ((0,), (1,), (6,), (96,), (2**31 - 1,), (1 << 30,), (12345678,))
_SIGNED: tuple[tuple[float, ...], ...] = (*_BITS, (-1,), (-2,), (-96,), (-(2**31),))
_PAIRS: tuple[tuple[float, ...], ...] = ((1, 2), (5, 3), (4, 4), (0, 2**31 - 1))
_REAL: tuple[tuple[float, ...], ...] = ((0.0,), (0.3,), (-0.7,), (1.0,), (-2.5,), (90.0,), (0.001,))


def _row(
    name: str,
    params: str,
    result: str,
    glsl: str | dict[str, str],
    reference: Callable[..., Any],
    doc: str,
    samples: tuple[tuple[float, ...], ...],
    *,
    ulp: float | None = None,
) -> BuiltinRow:
    classes: Any = tuple(params)
    kinds: tuple[TypeClass, ...] = classes
    return BuiltinRow(f"direct3d_{name}", (f"direct3d.{name}",), kinds, result, glsl, reference, doc, samples, ulp)


def _highest(x: Any) -> int:
    """The highest bit that differs from the sign; -1 if there is none."""
    number = int(x)
    return (number if number >= 0 else ~number).bit_length() - 1


def _lowest(x: Any) -> int:
    number = int(x)
    return (number & -number).bit_length() - 1


def _reversed(x: Any) -> int:
    return int(f"{int(x) & 0xFFFFFFFF:032b}"[::-1], 2)


def _smoothstep(low: Any, high: Any, x: Any) -> Any:
    t = np.clip((x - low) / (high - low), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


#: One row for each function and type; a driver's own min and max decide about NaN.
DIRECT3D_ROWS: tuple[BuiltinRow, ...] = (
    _row("abs", "I", "I", "abs({0})", lambda x: x if x == -(2**31) else abs(x),
         "Absolute value; -2^31 stays itself.", _SIGNED),
    _row("sign", "I", "I", "sign({0})", lambda x: int(x > 0) - int(x < 0), "-1, 0 or 1 by the sign.", _SIGNED),
    _row("clamp", "NNN", "N", "min(max({0}, {1}), {2})", lambda x, low, high: min(max(x, low), high),
         "x, but at least low and at most high.", ((5, 1, 3), (0, 1, 3), (2, 1, 3), (7, 7, 7))),
    _row("mad", "FFF", "F", "({0} * {1} + {2})", float_reference(lambda x, y, z: x * y + z),
         "x * y + z, in which the device may round once or twice.",
         ((1.5, 2.0, 0.25), (-3.0, 2.0, 7.0), (0.1, 0.2, 0.3), (1e6, 1e-3, -5.0)), ulp=4),
    _row("countbits", "U", "uint32", "uint(bitCount({0}))", lambda x: f"{int(x):b}".count("1"),
         "The number of bits that are set.", _BITS),
    _row("reversebits", "U", "uint32", "bitfieldReverse({0})", _reversed, "The bits in reverse order.", _BITS),
    _row("firstbithigh", "I", "I", "findMSB({0})", _highest,
         "The highest bit that differs from the sign; -1 for 0 and -1.", _SIGNED),
    _row("firstbitlow", "I", "I", "findLSB({0})", _lowest, "The lowest bit that is set; -1 for 0.", _SIGNED),
    _row("imax", "II", "I", "max({0}, {1})", max, "The larger integer.", (*_PAIRS, (-3, 2), (-7, -8))),
    _row("imin", "II", "I", "min({0}, {1})", min, "The smaller integer.", (*_PAIRS, (-3, 2), (-7, -8))),
    _row("umax", "UU", "uint32", "max({0}, {1})", max, "The larger unsigned integer.", _PAIRS),
    _row("umin", "UU", "uint32", "min({0}, {1})", min, "The smaller unsigned integer.", _PAIRS),
    _row("saturate", "F", "F", "clamp({0}, 0.0, 1.0)", float_reference(lambda x: np.clip(x, 0.0, 1.0)),
         "x, but at least 0 and at most 1.", _REAL),
    _row("step", "FF", "F", "step({0}, {1})", float_reference(lambda edge, x: 0.0 if x < edge else 1.0),
         "0 for x below the edge, else 1.", ((1.5, 2.0), (2.0, 1.5), (3.0, 3.0), (-1.0, -2.0))),
    _row("smoothstep", "FFF", "F", "smoothstep({0}, {1}, {2})", float_reference(_smoothstep),
         "From 0 at low to 1 at high, smooth at both ends.",
         ((0.0, 1.0, 0.25), (0.0, 1.0, -3.0), (2.0, 4.0, 9.0), (-1.0, 1.0, 0.1)), ulp=64),
    _row("radians", "F", "F", "radians({0})", float_reference(np.radians), "Degrees as radians.", _REAL, ulp=4),
    _row("rcp", "F", "F", "(1.0 / {0})", float_reference(lambda x: 1.0 / x), "One over x.",
         ((0.3,), (-0.7,), (1.0,), (4.0,), (1e6,)), ulp=4),
)  # fmt: skip
