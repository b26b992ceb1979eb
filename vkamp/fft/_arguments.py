"""Arguments that the transforms share: their inputs as complex or real numbers, their scales, their errors."""

# Device functions have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, lazy
from vkamp.algorithms._empty import is_empty
from vkamp.algorithms.lazy import dtype_of, is_float_of_memory
from vkamp.dispatch.call_cache import repeats
from vkamp.tracebacks import forwards

_F = TypeVar("_F", bound=Callable[..., Any])
_P = ParamSpec("_P")
_COMPLEX64, _COMPLEX128 = np.dtype(np.complex64), np.dtype(np.complex128)


@amp.func
def _complex_of_float32(x):
    return amp.complex64(amp.float32(x))


@amp.func
def _complex_of_float64(x):
    return amp.complex128(x)


def real_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of a complex number's real and imaginary parts."""
    return np.dtype(np.float64 if dtype == _COMPLEX128 else np.float32)


def complex_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The complex type of a transform of elements of a type.

    It is complex128 for double precision, and complex64 for everything else: integers and float16 are converted to
    float32.
    """
    if dtype.kind in "biufc" and dtype.names is None:
        return _COMPLEX128 if dtype in (np.float64, np.complex128) else _COMPLEX64
    if is_float_of_memory(dtype):
        return _COMPLEX64
    raise TypeError(f"a Fourier transform takes numbers, not elements of {dtype}")


def input_of(a: Any, *, real: bool = False) -> tuple[lazy.Lazy, np.dtype[Any]]:
    """Converts an input to a lazy input of complex elements; returns it and their type. ``real``: complex elements
    raise TypeError.
    """
    if isinstance(a, np.ndarray) and a.dtype in (np.int64, np.uint64):
        # Few devices have 64-bit integers.
        a = a.astype(np.float32)
    source = lazy.of(a)
    given = dtype_of(source)
    dtype = complex_of(given)
    if given.kind == "c":
        if real:
            raise TypeError(f"the transform of real numbers does not take {given}: give it .real, or use fft")
        return source, dtype
    return lazy.map(_complex_of_float64 if dtype == _COMPLEX128 else _complex_of_float32, source), dtype


def check_precision(view: amp.accelerator_view, dtype: np.dtype[Any]) -> None:
    """Raises UnsupportedFeatureError if a device cannot compute in a type."""
    if dtype == _COMPLEX128 and not view.accelerator.supports_double_precision:
        raise amp.UnsupportedFeatureError(
            f"a transform in complex128 needs double precision, which {view.accelerator.description} lacks: "
            "give it float32 or complex64 elements, `a.astype(np.float32)`"
        )


def axis_of(rank: int, axis: int) -> int:
    """An axis, counted from 0; numpy's AxisError if there is no such axis."""
    axis = operator.index(axis)
    if not -rank <= axis < rank:
        raise getattr(np, "exceptions", np).AxisError(axis, rank)
    return axis % rank


def length_of(n: Any) -> int:
    """The length of a transform; numpy's ValueError if it is below 1."""
    length = operator.index(n)
    if length < 1:
        raise ValueError(f"Invalid number of FFT data points ({length}) specified.")
    return length


def scale_of(norm: str | None, n: int, *, inverse: bool) -> float:
    """The factor of a normalization, which applies to the inverse transform, to the forward one, or, as a square
    root, to both.
    """
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if (norm == "forward") != inverse else 1.0


def with_dtype(out: Any, dtype: np.dtype[Any]) -> Any:
    """A target whose elements have the type of a result; TypeError if they have another one."""
    if out is not None and out.dtype != dtype:
        raise TypeError(f"out has {out.dtype} elements, but the result has {dtype}")
    return out


def with_parameters_of(pattern: Callable[_P, Any]) -> Callable[[Callable[..., Any]], Callable[_P, Any]]:
    """Decorates a function that takes its arguments by name: it has the parameters of another one."""
    signature = inspect.signature(pattern)

    def decorate(function: Callable[..., Any]) -> Callable[_P, Any]:
        @functools.wraps(function)
        def call(*args: _P.args, **named: _P.kwargs) -> Any:
            try:
                given = signature.bind(*args, **named)
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {error}") from None
            given.apply_defaults()
            return function(**given.arguments)

        vars(call)["__signature__"] = signature
        return call

    return decorate


def transform(function: _F) -> _F:
    """Decorates a function of the package: repeated calls reuse their launches, and empty inputs have numpy's
    results.
    """
    of_numpy: Callable[..., Any] | None = getattr(np.fft, function.__name__, None)

    @repeats(_choose.forced_form)
    @functools.wraps(function)
    @forwards
    def call(a: Any, *args: Any, **named: Any) -> Any:
        if of_numpy is not None and is_empty(a):
            named = {name: value for name, value in named.items() if name not in ("out", "accelerator_view")}
            found = of_numpy(a, *args, **named)
            dtype = complex_of(np.asarray(a).dtype)
            return found.astype(dtype if found.dtype.kind == "c" else real_of(dtype))
        return function(a, *args, **named)

    return call  # type: ignore[return-value]
