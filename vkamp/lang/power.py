"""Powers of integers, as kernels compute them."""

from __future__ import annotations

from typing import Any

from vkamp.lang.kernel import func


@func
def integer_power(base: Any, exponent: Any) -> Any:
    """``base ** exponent`` of integers, which wraps as their products do."""
    assert exponent >= 0, "an integer to a negative power"
    result = base**0
    factor = base
    rest = exponent
    while rest > 0:
        if rest & 1 != 0:
            result *= factor
        factor *= factor
        rest >>= 1
    return result
