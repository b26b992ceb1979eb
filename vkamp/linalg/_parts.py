"""Real and complex numbers in kernels."""

from __future__ import annotations

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
