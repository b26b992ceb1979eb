"""Real and complex numbers in kernels."""

from __future__ import annotations

import math
from typing import Any

import vkamp as amp


@amp.func
def conjugated(x: Any) -> Any:
    """The conjugate; a real number itself."""
    if hasattr(x, "imag"):
        return x.conjugate()
    return x


@amp.func
def squared(x: Any) -> Any:
    """The square of the magnitude of a number."""
    if hasattr(x, "imag"):
        return x.real * x.real + x.imag * x.imag
    return x * x


@amp.func
def largest_part(x: Any) -> Any:
    """The magnitude of a number; for a complex one, the larger magnitude of its parts."""
    if hasattr(x, "imag"):
        return max(abs(x.real), abs(x.imag))
    return abs(x)


@amp.func
def inverse_root(x: Any) -> Any:
    """``1 / sqrt(x)``; NaN unless ``x`` is positive.

    The device's approximation with one of Newton's steps: a correctly rounded square root has hundreds of instructions.
    """
    kind = type(x)
    if kind == amp.float64:
        y = kind(1) / amp.precise_math.sqrt(x)
    else:
        y = amp.fast_math.rsqrt(x)
        y = y * (kind(1.5) - kind(0.5) * x * y * y)
    return y if x > 0 else kind(math.nan)
