"""Searches: ``find_if``, ``mismatch``, ``is_sorted``, ``argmin``, ``searchsorted``, and the like.

The first position that meets a condition is a minimum over the positions.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, functional, lazy, search_tiles
from vkamp.algorithms._arguments import computed_type, in_a_row, output, place, value
from vkamp.algorithms._exact import exactly
from vkamp.algorithms._operators import NOWHERE, Flag, Is, PairPositions, PositionsWhere, Swapped, like, sorts_before
from vkamp.algorithms._results import result_row
from vkamp.algorithms.reduce import combine, reduce_into, shape_of
from vkamp.algorithms.reduce_axis import Axes, in_lines
from vkamp.algorithms.scalars import device_scalar


@amp.kernel
def _settle(idx, found, none, move):
    found[idx] = none if found[idx] == NOWHERE else found[idx] + move


def first_place(
    view: amp.accelerator_view, places: lazy.Lazy, none: int = -1, move: int = 0, *, out: Any = None
) -> device_scalar:
    """The smallest position; ``none`` if there is none."""
    with result_row(out, 1, np.dtype(np.int32), view, places) as (found, row):
        reduce_into(view, places, row, functional.min)
        amp.parallel_for_each(view, row.extent, _settle, row, none, move)
    return device_scalar(found)


def find(a: Any, value: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None) -> device_scalar:
    """The first position of a value, -1 if there is none (C++: ``find``)."""
    source = lazy.of(a)
    return find_if(source, Is(like(value, source)), out=out, accelerator_view=accelerator_view)


def find_if(
    a: Any, pred: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> device_scalar:
    """The first position that meets a condition, -1 if there is none (C++: ``find_if``)."""
    source = lazy.of(a).flat()
    return first_place(place(accelerator_view, source, out), lazy.At(PositionsWhere(pred), source), out=out)


def find_if_not(
    a: Any, pred: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> device_scalar:
    """The first position that does not meet a condition, -1 if there is none (C++: ``find_if_not``)."""
    return find_if(a, functional.not1(pred), out=out, accelerator_view=accelerator_view)


def adjacent_find(
    a: Any, eq: Any = functional.equal_to, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> device_scalar:
    """The first position whose element is equal to the next one, -1 if there is none (C++: ``adjacent_find``)."""
    source = lazy.of(a).flat()
    return first_place(place(accelerator_view, source, out), lazy.At(PairPositions(eq), source), move=-1, out=out)


def is_sorted_until(
    a: Any, less: Any = functional.less, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> device_scalar:
    """How many elements from the first on are sorted (C++: ``is_sorted_until``)."""
    source = lazy.of(a).flat()
    view = place(accelerator_view, source, out)
    return first_place(view, lazy.At(PairPositions(Swapped(less)), source), none=source.extent[0], out=out)


def is_sorted(
    a: Any, less: Any = functional.less, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> Any:
    """Whether no element is less than the one before it, as a device_scalar (C++: ``is_sorted``)."""
    source = lazy.of(a).flat()
    return none_of(lazy.At(PairPositions(Swapped(less)), source), _is_place, out=out, accelerator_view=accelerator_view)


@amp.func
def _is_place(at: Any) -> Any:
    return at != NOWHERE


def mismatch(
    a: Any,
    b: Any,
    eq: Any = functional.equal_to,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> device_scalar:
    """The first position where two inputs of one extent differ, -1 if there is none (C++: ``mismatch``)."""
    left, right = lazy.of(a), lazy.of(b)
    pairs = lazy.map(functional.not2(exactly(eq, left, right)), left, right).flat()
    return find_if(pairs, functional.truth, out=out, accelerator_view=accelerator_view)


# -- conditions of all elements ------------------------------------------------------------------------------------


def _condition(
    source: lazy.Lazy,
    op: Any,
    out: Any,
    accelerator_view: amp.accelerator_view | None,
    axis: Axes = None,
    keepdims: bool = False,
) -> Any:
    view = place(accelerator_view, source, out)
    flags, lines = in_lines(source, axis, keepdims)
    with result_row(out, shape_of(lines), np.dtype(np.uint8), view, source) as (found, row):
        total = amp.array(row.extent, np.int32, accelerator_view=view)
        combine(view, flags, lines, total, op)
        amp.parallel_for_each(view, row.extent, _narrow, total, row)
    return device_scalar(found, np.dtype(np.bool_)) if lines is None else found


@amp.kernel
def _narrow(idx, total, found):
    found[idx] = 1 if total[idx] != 0 else 0


def all_of(
    a: Any, pred: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> device_scalar:
    """Whether all elements meet a condition (AMP, C++: ``all_of``)."""
    found: device_scalar = _condition(lazy.map(Flag(pred), a), functional.min, out, accelerator_view)
    return found


def any_of(
    a: Any, pred: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> device_scalar:
    """Whether some element meets a condition (AMP, C++: ``any_of``)."""
    found: device_scalar = _condition(lazy.map(Flag(pred), a), functional.max, out, accelerator_view)
    return found


def none_of(
    a: Any, pred: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> device_scalar:
    """Whether no element meets a condition (AMP, C++: ``none_of``)."""
    return all_of(a, functional.not1(pred), out=out, accelerator_view=accelerator_view)


def all(
    a: Any,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """Whether all elements are true, that is, not zero; along an ``axis`` as an array of uint8."""
    flags = lazy.map(Flag(functional.truth), a)
    return _condition(flags, functional.min, out, accelerator_view, axis, keepdims)


def any(
    a: Any,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """Whether some element is true, that is, not zero; along an ``axis`` as an array of uint8."""
    flags = lazy.map(Flag(functional.truth), a)
    return _condition(flags, functional.max, out, accelerator_view, axis, keepdims)


def equal(
    a: Any,
    b: Any,
    eq: Any = functional.equal_to,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> device_scalar:
    """Whether the elements of two inputs of one extent are equal, pair by pair (C++: ``equal``)."""
    left, right = lazy.of(a), lazy.of(b)
    return all_of(
        lazy.map(functional.not2(functional.not2(exactly(eq, left, right))), left, right),
        functional.truth,
        out=out,
        accelerator_view=accelerator_view,
    )


# -- binary search -------------------------------------------------------------------------------------------------


@amp.func
def lower_bound(ordered: Any, x: Any, low: Any, high: Any, less: Any) -> Any:
    """The first position in a range where an element is not less than ``x``; the end of the range if there is none."""
    first = low
    last = high
    while first < last:
        middle = first + (last - first) // 2
        if less(ordered.value(middle), x):
            first = middle + 1
        else:
            last = middle
    return first


@amp.func
def upper_bound(ordered: Any, x: Any, low: Any, high: Any, less: Any) -> Any:
    """The first position in a range where ``x`` is less than the element; the end of the range if there is none."""
    first = low
    last = high
    while first < last:
        middle = first + (last - first) // 2
        if less(x, ordered.value(middle)):
            last = middle
        else:
            first = middle + 1
    return first


@amp.kernel
def _search(idx, ordered, queries, out, n, less, *, right: amp.constant):
    x = queries.value(idx[0]).copy()
    out[idx] = upper_bound(ordered, x, 0, n, less) if right else lower_bound(ordered, x, 0, n, less)


def searchsorted(
    ordered: Any,
    values: Any,
    side: str = "left",
    less: Any = sorts_before,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """Where each value would be inserted into a sorted input, as int32 (C++: ``lower_bound``, ``upper_bound``).

    The place of one number is a device_scalar.  ``side`` ``"left"``: before equal elements, ``"right"``: after them.
    """
    if side not in ("left", "right"):
        raise ValueError(f"side must be 'left' or 'right', not {side!r}")
    source = lazy.of(ordered)
    if source.extent.rank != 1:
        raise TypeError(f"searchsorted needs a sorted input of rank 1, not {source.extent!r}")
    # numpy would read a container.
    is_number = not isinstance(values, (amp.array, amp.array_view, lazy.Lazy)) and np.ndim(values) == 0
    if is_number:
        number, side = like_elements(values, side, computed_type(source), less)
        queries: lazy.Lazy = lazy.constant(number, 1)
    else:
        queries = lazy.of(values)
        less = exactly(less, source, queries)
    view = place(accelerator_view, source, queries, out)
    result = output(out, queries.extent, np.dtype(np.int32), view, source, queries)
    queries = queries.flat()
    n, right = source.extent[0], side == "right"
    with in_a_row(result, view) as row:
        if _choose.form_of(view) == "tiles" and not is_number and search_tiles.can_stage(lazy.computed_type(source)):
            search_tiles.search_into(view, source, queries, row, less, right=right)
        else:
            amp.parallel_for_each(view, queries.extent, _search, source, queries, row, n, less, right=right)
    return device_scalar(result) if is_number else result


def like_elements(number: Any, side: str, dtype: np.dtype[Any], less: Any) -> tuple[Any, str]:
    """Converts a number of Python or numpy to the elements' type, and returns it with the side that gives the same
    position.
    """
    is_ascending = less is sorts_before or (less is functional.less and number == number)
    if is_ascending and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if not number <= limits.max:
            return value(limits.max, dtype), "right"
        if number < limits.min:
            return value(limits.min, dtype), "left"
        # The position of a fraction is that of the next integer.
        side = side if number == math.floor(number) else "left"
        number = math.ceil(number)
    elif is_ascending and dtype.kind == "f" and np.asarray(number).dtype.kind in "iuf":
        # The position of a number between two floats is that before the larger one, or after the smaller one.
        exact = np.asarray(number).item()
        with np.errstate(over="ignore"):
            number = np.asarray(number).astype(dtype)[()]
        nearest = number.item()
        side = "left" if nearest > exact else "right" if nearest < exact else side
    return value(number, dtype), side
