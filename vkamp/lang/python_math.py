"""Functions of Python's ``math`` and of numpy as kernels compute them, written in the kernel language."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from vkamp.lang.kernel import func


@func
def gcd(a: Any, b: Any) -> Any:
    """The greatest common divisor of two unsigned integers; of 0 and ``b`` it is ``b``."""
    x = a
    y = b
    while y != 0:
        rest = x % y
        x = y
        y = rest
    return x


@func
def lcm(a: Any, b: Any) -> Any:
    """The least common multiple of two unsigned integers, 0 if one of them is; it wraps as products do."""
    return a // max(gcd(a, b), 1) * b


@func
def isclose(a: Any, b: Any, *, rel_tol: Any = 1e-9, abs_tol: Any = 0.0) -> Any:
    """Whether two floats are equal, or finite and within a tolerance of each other."""
    distance = abs(a - b)
    near = distance <= rel_tol * max(abs(a), abs(b)) or distance <= abs_tol
    return a == b or (near and distance < math.inf)


@func
def minimum(x: Any, y: Any) -> Any:
    """The smaller of two numbers, NaN if one of them is NaN, as numpy's ``minimum``."""
    return x if x <= y or x != x else y


@func
def maximum(x: Any, y: Any) -> Any:
    """The larger of two numbers, NaN if one of them is NaN, as numpy's ``maximum``."""
    return x if x >= y or x != x else y


@func
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """``a``, or the bound that it is beyond, as numpy's ``clip``; a bound may be None."""
    low = a_min if min is None else min
    high = a_max if max is None else max
    bounded = a if low is None else np.maximum(a, low)
    return bounded if high is None else np.minimum(bounded, high)


@func
def sign(x: Any) -> Any:
    """-1, 0 or 1 in the type of ``x``, NaN of NaN, as numpy's ``sign``."""
    return x if x != x else type(x)(x > 0) - type(x)(x < 0)


@func
def square(x: Any) -> Any:
    """``x * x``."""
    return x * x
