"""Searches: ``find_if``, ``mismatch``, ``is_sorted``, ``argmin``, ``searchsorted``, and the like.

The first position that meets a condition is a minimum over the positions.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import output, place
from vkamp.algorithms._operators import Flag, Is, Swapped
from vkamp.algorithms.reduce import reduce_into
from vkamp.algorithms.scalars import device_scalar

_NONE = (1 << 31) - 1


class _Places(lazy.Lazy):
    """The position of each element that meets a condition; the largest int32 for the others."""

    __slots__ = ("pred", "values")

    def __init__(self, values: lazy.Lazy, pred: Any) -> None:
        super().__init__(values.extent)
        self.values, self.pred = values, pred

    @amp.func
    def value(self, i: Any) -> Any:
        """The position, if the element there meets the condition."""
        return amp.int32(i) if self.pred(self.values.value(i)) else _NONE


class _Pairs(lazy.Lazy):
    """The position of each element that meets a condition with the one before it."""

    __slots__ = ("pred", "values")

    def __init__(self, values: lazy.Lazy, pred: Any) -> None:
        super().__init__(values.extent)
        self.values, self.pred = values, pred

    @amp.func
    def value(self, i: Any) -> Any:
        """The position, if the element there meets the condition."""
        if i == 0:
            return _NONE
        return amp.int32(i) if self.pred(self.values.value(i - 1), self.values.value(i)) else _NONE


@amp.kernel
def _settle(idx, found, none, move):
    found[idx] = none if found[idx] == _NONE else found[idx] + move


def _first(view: amp.accelerator_view, places: lazy.Lazy, none: int = -1, move: int = 0) -> device_scalar:
    """The smallest position; ``none`` if there is none, else moved."""
    found = amp.array(amp.extent(1), np.int32, accelerator_view=view)
    reduce_into(view, places, found, functional.min)
    amp.parallel_for_each(view, found.extent, _settle, found, none, move)
    return device_scalar(found)


def find(a: Any, number: Any, *, accelerator_view: amp.accelerator_view | None = None) -> device_scalar:
    """The first position of a number, -1 if there is none (C++: ``find``)."""
    return find_if(a, Is(number), accelerator_view=accelerator_view)


def find_if(a: Any, pred: Any, *, accelerator_view: amp.accelerator_view | None = None) -> device_scalar:
    """The first position that meets a condition, -1 if there is none (C++: ``find_if``)."""
    source = lazy.of(a).flat()
    return _first(place(accelerator_view, source), _Places(source, pred))


def find_if_not(a: Any, pred: Any, *, accelerator_view: amp.accelerator_view | None = None) -> device_scalar:
    """The first position that does not meet a condition, -1 if there is none (C++: ``find_if_not``)."""
    return find_if(a, functional.not1(pred), accelerator_view=accelerator_view)


def adjacent_find(
    a: Any, eq: Any = functional.equal_to, *, accelerator_view: amp.accelerator_view | None = None
) -> device_scalar:
    """The first position whose element is equal to the next one, -1 if there is none (C++: ``adjacent_find``)."""
    source = lazy.of(a).flat()
    return _first(place(accelerator_view, source), _Pairs(source, eq), move=-1)


def is_sorted_until(
    a: Any, less: Any = functional.less, *, accelerator_view: amp.accelerator_view | None = None
) -> device_scalar:
    """How many elements from the first on are sorted (C++: ``is_sorted_until``)."""
    source = lazy.of(a).flat()
    return _first(place(accelerator_view, source), _Pairs(source, Swapped(less)), none=source.extent[0])


def is_sorted(a: Any, less: Any = functional.less, *, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """Whether no element is less than the one before it, as a device_scalar (C++: ``is_sorted``)."""
    source = lazy.of(a).flat()
    return none_of(_Pairs(source, Swapped(less)), _is_place, accelerator_view=accelerator_view)


@amp.func
def _is_place(at: Any) -> Any:
    return at != _NONE


def mismatch(
    a: Any, b: Any, eq: Any = functional.equal_to, *, accelerator_view: amp.accelerator_view | None = None
) -> device_scalar:
    """The first position where two inputs of one extent differ, -1 if there is none (C++: ``mismatch``)."""
    pairs = lazy.map(functional.not2(eq), a, b).flat()
    return find_if(pairs, functional.truth, accelerator_view=accelerator_view)


# -- conditions of all elements ------------------------------------------------------------------------------------


def _condition(source: lazy.Lazy, op: Any, accelerator_view: amp.accelerator_view | None) -> device_scalar:
    view = place(accelerator_view, source)
    found = amp.array(amp.extent(1), np.uint8, accelerator_view=view)
    total = amp.array(amp.extent(1), np.int32, accelerator_view=view)
    reduce_into(view, source, total, op)
    amp.parallel_for_each(view, found.extent, _narrow, total, found)
    return device_scalar(found, np.dtype(np.bool_))


@amp.kernel
def _narrow(idx, total, found):
    found[idx] = 1 if total[idx] != 0 else 0


def all_of(a: Any, pred: Any, *, accelerator_view: amp.accelerator_view | None = None) -> device_scalar:
    """Whether all elements meet a condition (AMP, C++: ``all_of``)."""
    return _condition(lazy.map(Flag(pred), a).flat(), functional.min, accelerator_view)


def any_of(a: Any, pred: Any, *, accelerator_view: amp.accelerator_view | None = None) -> device_scalar:
    """Whether some element meets a condition (AMP, C++: ``any_of``)."""
    return _condition(lazy.map(Flag(pred), a).flat(), functional.max, accelerator_view)


def none_of(a: Any, pred: Any, *, accelerator_view: amp.accelerator_view | None = None) -> device_scalar:
    """Whether no element meets a condition (AMP, C++: ``none_of``)."""
    return _condition(lazy.map(Flag(functional.not1(pred)), a).flat(), functional.min, accelerator_view)


def equal(
    a: Any, b: Any, eq: Any = functional.equal_to, *, accelerator_view: amp.accelerator_view | None = None
) -> device_scalar:
    """Whether the elements of two inputs of one extent are equal, pair by pair (C++: ``equal``)."""
    return all_of(
        lazy.map(functional.not2(functional.not2(eq)), a, b), functional.truth, accelerator_view=accelerator_view
    )


# -- extremes ------------------------------------------------------------------------------------------------------


class _Better:
    """Of two positions the one with the better element; of equal ones, and of NaN, the first."""

    __slots__ = ("less", "values")

    def __init__(self, values: lazy.Lazy, less: Any) -> None:
        self.values, self.less = values, less

    @amp.func
    def __call__(self, i: Any, j: Any) -> Any:
        x = self.values.value(i)
        y = self.values.value(j)
        if x != x:
            return i
        return j if y != y or self.less(y, x) else i


def _extreme(a: Any, less: Any, accelerator_view: amp.accelerator_view | None) -> device_scalar:
    source = lazy.of(a).flat()
    view = place(accelerator_view, source)
    found = amp.array(amp.extent(1), np.int32, accelerator_view=view)
    reduce_into(view, lazy.arange(source.extent[0]), found, _Better(source, less))
    return device_scalar(found)


def argmin(a: Any, *, accelerator_view: amp.accelerator_view | None = None) -> device_scalar:
    """The row-major position of the first smallest element, or of the first NaN (C++: ``min_element``)."""
    return _extreme(a, functional.less, accelerator_view)


def argmax(a: Any, *, accelerator_view: amp.accelerator_view | None = None) -> device_scalar:
    """The row-major position of the first largest element, or of the first NaN (C++: ``max_element``)."""
    return _extreme(a, functional.greater, accelerator_view)


# -- binary search -------------------------------------------------------------------------------------------------


@amp.kernel
def _search(idx, ordered, queries, out, n, less, *, right: amp.constant):
    x = queries.value(idx[0]).copy()
    low = 0
    high = n
    while low < high:
        middle = low + (high - low) // 2
        y = ordered.value(middle).copy()
        is_before = not less(x, y) if right else less(y, x)
        if is_before:
            low = middle + 1
        else:
            high = middle
    out[idx] = low


def searchsorted(
    ordered: Any,
    values: Any,
    side: str = "left",
    less: Any = functional.less,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """Where each value would be inserted into a sorted input, as int32 (C++: ``lower_bound``, ``upper_bound``).

    ``side`` ``"left"``: before equal elements, ``"right"``: behind them.
    """
    if side not in ("left", "right"):
        raise ValueError(f"side is 'left' or 'right', not {side!r}")
    source, queries = lazy.of(ordered).flat(), lazy.of(values).flat()
    view = place(accelerator_view, source, queries, out)
    result = output(out, queries.extent, np.dtype(np.int32), view, source, queries)
    n = source.extent[0]
    amp.parallel_for_each(view, queries.extent, _search, source, queries, result, n, less, right=side == "right")
    return result
