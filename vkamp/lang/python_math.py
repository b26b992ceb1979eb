"""Functions of Python's ``math`` and of numpy as kernels compute them, written in the kernel language."""

from __future__ import annotations

import math
from typing import Any

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
def square(x: Any) -> Any:
    """``x * x``."""
    return x * x
