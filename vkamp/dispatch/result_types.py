"""``amp.result_type``: the type that a device function returns, without running it."""

# Kernels have untyped parameters; a constant may be a function.
# mypy: disable-error-code="no-untyped-def, operator"

from __future__ import annotations

from typing import Any

import numpy as np

from vkamp import pipeline
from vkamp.dispatch.preparing import compiled
from vkamp.lang.device import constant, private
from vkamp.lang.dtypes import element_dtype, vector_type
from vkamp.lang.kernel import kernel
from vkamp.lang.vectors import vector_class

# The value is a variable, since nothing of `type(f())` would be in the kernel, not even the function's loops.


@kernel
def _of_none(idx, *, f: constant):
    value = f()
    result = private(1, type(value))  # noqa: F841


@kernel
def _of_one(idx, a, *, f: constant):
    value = f(a)
    result = private(1, type(value))  # noqa: F841


@kernel
def _of_two(idx, a, b, *, f: constant):
    value = f(a, b)
    result = private(1, type(value))  # noqa: F841


@kernel
def _of_three(idx, a, b, c, *, f: constant):
    value = f(a, b, c)
    result = private(1, type(value))  # noqa: F841


@kernel
def _of_four(idx, a, b, c, d, *, f: constant):
    value = f(a, b, c, d)
    result = private(1, type(value))  # noqa: F841


_KERNELS = (_of_none, _of_one, _of_two, _of_three, _of_four)


def result_type(function: Any, arguments: tuple[Any, ...]) -> np.dtype[Any]:
    """Implements ``amp.result_type``."""
    if len(arguments) >= len(_KERNELS):
        raise TypeError(f"result_type takes functions of up to {len(_KERNELS) - 1} arguments, not {len(arguments)}")
    made = compiled(_KERNELS[len(arguments)], tuple(map(_value, arguments)), {"f": function})
    found: np.dtype[Any] = pipeline.declared_dtype(made, "result")
    return found


def has_loops(function: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether a function of kernels, or one that it calls, has a loop for arguments like those of ``result_type``."""
    made = compiled(_KERNELS[len(arguments)], tuple(map(_value, arguments)), {"f": function})
    return made.loops


def _value(argument: Any) -> Any:
    """An argument of the function; for a dtype or type, a value of that type."""
    if not isinstance(argument, (type, np.dtype, str)):
        return argument
    dtype = np.dtype(argument) if argument in (bool, np.bool_, "bool") else element_dtype(argument)
    if vector_type(dtype) is not None:
        return vector_class(dtype)()  # type: ignore[misc]
    # A number that an int32 holds would not be an int64.
    return np.zeros((), dtype) if dtype == np.int64 else np.zeros(1, dtype)[0]
