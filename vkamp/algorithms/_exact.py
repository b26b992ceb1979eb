"""Comparisons of numbers of different types by their values, as Python compares them, and types that hold both.

Kernels compare integers by their values, but round an integer to a float before they compare it with one. The functions
here compare the integer with the float's whole part instead, and need no wider type, which a device may lack.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._convert import converted
from vkamp.algorithms._operators import sorts_before


@amp.func
def _side(i: Any, f: Any) -> Any:
    """-1, 0 or 1 for an integer that is less than, equal to, or greater than a float; 2 if that is NaN."""
    if isinstance(i, amp.int32):
        low = type(f)(-2147483648.0)
        high = type(f)(2147483648.0)
    elif isinstance(i, amp.uint32):
        low = type(f)(0.0)
        high = type(f)(4294967296.0)
    elif isinstance(i, amp.int64):
        low = type(f)(-9223372036854775808.0)
        high = type(f)(9223372036854775808.0)
    else:
        low = type(f)(0.0)
        high = type(f)(18446744073709551616.0)
    found = 2
    if f >= high:
        found = -1
    elif f < low:
        found = 1
    elif f == f:
        whole = amp.precise_math.floor(f)
        k = type(i)(whole)
        found = 1 if k < i else -1 if i < k or whole < f else 0
    return found


@amp.func
def _compared(i: Any, f: Any) -> Any:
    """As ``_side``, of a float of any size."""
    if isinstance(f, amp.float64):
        return _side(i, f)
    else:
        return _side(i, amp.float32(f))


@amp.func
def _less(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, float):
        return _compared(a, b) == -1
    elif isinstance(a, float) and isinstance(b, int):
        return _compared(b, a) == 1
    else:
        return a < b


@amp.func
def _equal(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, float):
        return _compared(a, b) == 0
    elif isinstance(a, float) and isinstance(b, int):
        return _compared(b, a) == 0
    elif isinstance(a, int) and isinstance(b, complex):
        return b.imag == 0 and _compared(a, b.real) == 0
    elif isinstance(a, complex) and isinstance(b, int):
        return a.imag == 0 and _compared(b, a.real) == 0
    else:
        return a == b


@amp.func
def _not_equal(a: Any, b: Any) -> Any:
    return not _equal(a, b)


@amp.func
def _greater(a: Any, b: Any) -> Any:
    return _less(b, a)


@amp.func
def _less_equal(a: Any, b: Any) -> Any:
    return _less(a, b) or _equal(a, b)


@amp.func
def _greater_equal(a: Any, b: Any) -> Any:
    return _less(b, a) or _equal(a, b)


@amp.func
def _sorts_before(a: Any, b: Any) -> Any:
    return _less(a, b) or (a == a and b != b)


_EXACT: dict[Any, Any] = {
    functional.equal_to: _equal,
    functional.not_equal_to: _not_equal,
    functional.less: _less,
    functional.less_equal: _less_equal,
    functional.greater: _greater,
    functional.greater_equal: _greater_equal,
    sorts_before: _sorts_before,
}

#: The binary digits of floats by their size in bytes.
_DIGITS = {2: 11, 4: 24, 8: 53}


def _rounds(integer: np.dtype[Any], number: np.dtype[Any]) -> bool:
    """Whether some integers of a type are rounded in a type of floats or complex numbers."""
    if integer.kind not in "iu" or number.kind not in "fc":
        return False
    digits = _DIGITS[number.itemsize // (2 if number.kind == "c" else 1)]
    return 8 * integer.itemsize - (integer.kind == "i") > digits


def exactly(op: Any, a: lazy.Lazy, b: lazy.Lazy) -> Any:
    """A comparison of the elements of two inputs that rounds none of them; other functions unchanged."""
    first, second = _type_of(a), _type_of(b)
    return _EXACT.get(op, op) if _rounds(first, second) or _rounds(second, first) else op


def _type_of(source: lazy.Lazy) -> np.dtype[Any]:
    """The type of elements; of floats that exist only in memory, and of conditions, the one that they become."""
    dtype = lazy.dtype_of(source)
    if lazy.is_float_of_memory(dtype):
        return np.dtype(np.float32)
    return np.dtype(np.uint8) if dtype.kind == "b" else dtype


def refuse_different(a: lazy.Lazy, b: lazy.Lazy) -> None:
    """Raises TypeError unless the elements of two inputs have one type, or are numbers."""
    first, second = lazy.dtype_of(a), lazy.dtype_of(b)
    if first != second and any(_type_of(each).kind not in "iufc" for each in (a, b)):
        raise TypeError(f"the inputs have different types, {first} and {second}")


def of_one_type(
    view: amp.accelerator_view, a: lazy.Lazy, b: lazy.Lazy, *, is_exact: bool = True
) -> tuple[lazy.Lazy, lazy.Lazy, np.dtype[Any]]:
    """Two inputs, converted to numpy's common type, and this type.

    Raises UnsupportedFeatureError if the device lacks it and, with ``is_exact``, TypeError if it does not hold all
    numbers of both.
    """
    refuse_different(a, b)
    if lazy.dtype_of(a) == lazy.dtype_of(b):
        return a, b, lazy.dtype_of(a)
    first, second = _type_of(a), _type_of(b)
    dtype = np.result_type(first, second)
    if is_exact and (_rounds(first, dtype) or _rounds(second, dtype)):
        raise TypeError(f"no type of numpy holds all {first} and {second}: convert the elements of one input")
    is_wide = dtype.itemsize == (16 if dtype.kind == "c" else 8)
    needed = "int64" if dtype.kind in "iu" else "float64"
    if is_wide and needed not in view.accelerator.features:
        raise amp.UnsupportedFeatureError(
            f"{first} and {second} become {dtype}, which {view.accelerator.description} lacks with the engine "
            f"{view.accelerator.engine!r}: convert the elements of one input, such as a.astype(np.{second})"
        )
    computed = lazy.computed_as(dtype)
    return converted(a, computed), converted(b, computed), dtype
