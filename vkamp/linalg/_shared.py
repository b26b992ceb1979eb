"""Parts that the functions of linear algebra share: their inputs, their results, their repeated calls."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

import vkamp as amp
from vkamp.algorithms import copy as copied
from vkamp.algorithms import lazy
from vkamp.algorithms._arguments import output as output_of
from vkamp.blas._operands import container, settings
from vkamp.dispatch.call_cache import repeats
from vkamp.tracebacks import forwards

_F = TypeVar("_F", bound=Callable[..., Any])


def function(f: _F) -> _F:
    """A public function: errors show the caller's line, and repeated calls repeat their launches."""
    return repeats(settings)(forwards(f))


def is_empty(a: Any) -> bool:
    """Whether an input is an array of the host without elements; containers have at least one."""
    return not isinstance(a, (amp.array, amp.array_view)) and 0 in np.shape(a)


def shape_of(a: Any) -> tuple[int, ...]:
    """The shape of a container, or of an array of the host."""
    return tuple(a.extent) if isinstance(a, (amp.array, amp.array_view)) else np.shape(a)


class Broadcast(lazy.Lazy):
    """A container whose dimensions of one element are repeated."""

    __slots__ = ("most", "values")

    def __init__(self, values: Any, shape: tuple[int, ...]) -> None:
        super().__init__(shape)
        self.values = values.reshape(*(1,) * (len(shape) - values.extent.rank), *values.extent)
        self.most = amp.index(*(n - 1 for n in self.values.extent))

    @amp.func
    def value(self, i: Any) -> Any:
        """The element at an index."""
        at = amp.index(i)
        for d in amp.static_range(self.most.rank):
            at[d] = min(i[d], self.most[d])
        return self.values[at]


def broadcast(a: Any, shape: tuple[int, ...], view: amp.accelerator_view) -> Any:
    """A container broadcast to a shape: itself, or a copy in which dimensions of one element are repeated."""
    return a if tuple(a.extent) == shape else copied(Broadcast(a, shape), accelerator_view=view)


def reshaped(a: Any, shape: tuple[int, ...]) -> Any:
    """A container in another shape; a copy if its strides do not allow that."""
    if tuple(a.extent) == shape:
        return a
    try:
        return a.reshape(*shape)
    except amp.AmpError:
        return amp.array(a).reshape(*shape)


def output(out: Any, shape: tuple[int, ...], dtype: Any, view: amp.accelerator_view, *inputs: Any) -> Any:
    """``out`` as a container of a shape, or a new array; a scalar has one element.

    AmpError if it has another shape or overlaps an input, TypeError if numpy would not cast to its type.
    """
    result = output_of(out, shape or (1,), dtype, view, *(lazy.of(container(a)) for a in inputs))
    if not np.can_cast(dtype, result.dtype, "same_kind") and result.dtype != dtype:
        raise TypeError(f"the result has elements of {dtype}, which cannot be cast to out's {result.dtype}")
    return result


def nothing(shape: tuple[int, ...], dtype: Any, out: Any, view: amp.accelerator_view) -> Any:
    """The result of a sum of no products: zeros, or an empty array of the host."""
    if 0 in shape or (not shape and out is None):
        return np.zeros(shape, dtype)[()] if out is None else out
    result = output(out, shape, dtype, view)
    amp.copy(np.zeros(tuple(result.extent), result.dtype), result)
    return result


def count(shape: tuple[int, ...]) -> int:
    """The number of elements of a shape."""
    return math.prod(shape)
