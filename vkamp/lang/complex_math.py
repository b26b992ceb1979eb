"""Arithmetic and functions of complex numbers, as kernels compute them.

Kernels call these functions for operators and for functions of ``math``, ``cmath`` and ``numpy``.  Sums, differences,
and products with real numbers need none of them.
"""

from __future__ import annotations

import math
from typing import Any

from vkamp.lang.kernel import func


@func
def complex_mul(a: Any, b: Any) -> Any:
    """``a * b``, as numpy computes it: infinite parts are not treated as in C's annex G."""
    return type(a)(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)


@func
def complex_div(a: Any, b: Any) -> Any:
    """``a / b`` by Smith's algorithm, as numpy: no square of a part of ``b`` overflows; NaN parts if ``b`` is zero."""
    if abs(b.real) >= abs(b.imag):
        ratio = b.imag / b.real
        scale = 1 / (b.real + b.imag * ratio)
        return type(a)((a.real + a.imag * ratio) * scale, (a.imag - a.real * ratio) * scale)
    ratio = b.real / b.imag
    scale = 1 / (b.real * ratio + b.imag)
    return type(a)((a.real * ratio + a.imag) * scale, (a.imag * ratio - a.real) * scale)


@func
def complex_abs(z: Any) -> Any:
    """The magnitude; its square may overflow."""
    x = abs(z.real)
    y = abs(z.imag)
    if math.isinf(x) or math.isinf(y):
        return x if math.isinf(x) else y
    large = x if x > y else y
    if large == 0:
        return x + y
    ratio = (y if x > y else x) / large
    return large * math.sqrt(1 + ratio * ratio)


@func
def complex_phase(z: Any) -> Any:
    """The angle in -pi to pi."""
    return math.atan2(z.imag, z.real)


@func
def complex_exp(z: Any) -> Any:
    """e to a complex power."""
    size = math.exp(z.real)
    return type(z)(size * math.cos(z.imag), size * math.sin(z.imag))


@func
def complex_log(z: Any) -> Any:
    """The principal natural logarithm."""
    return type(z)(math.log(complex_abs(z)), math.atan2(z.imag, z.real))


@func
def complex_sqrt(z: Any) -> Any:
    """The principal square root: its real part is not negative."""
    size = complex_abs(z)
    if size == 0:
        return type(z)(size, z.imag)
    root = math.sqrt((abs(z.real) * 0.5) + size * 0.5)
    other = abs(z.imag) * 0.5 / root
    re = root if z.real >= 0 else other
    im = other if z.real >= 0 else root
    return type(z)(re, -im if z.imag < 0 else im)


@func
def complex_sin(z: Any) -> Any:
    """The sine."""
    return type(z)(math.sin(z.real) * math.cosh(z.imag), math.cos(z.real) * math.sinh(z.imag))


@func
def complex_cos(z: Any) -> Any:
    """The cosine."""
    return type(z)(math.cos(z.real) * math.cosh(z.imag), -(math.sin(z.real) * math.sinh(z.imag)))


@func
def complex_pow(z: Any, w: Any) -> Any:
    """``z ** w`` by the logarithm; 0 to a power other than 0 is 0."""
    if z.real == 0 and z.imag == 0:
        return type(z)(1 if w.real == 0 and w.imag == 0 else 0, 0)
    return complex_exp(complex_mul(w, complex_log(z)))
