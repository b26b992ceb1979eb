"""``topk``: the largest or smallest elements of all, or of each line along an axis.

The best of many elements are found without sorting them (``topk_runs``, ``topk_tiles``). Along an axis this is done
line by line if there are a few long lines. Otherwise all lines are sorted at once, and each keeps its first elements.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, lazy, topk_runs, topk_tiles
from vkamp.algorithms._arguments import dtype_of, in_a_row, in_words, output, outputs, place
from vkamp.algorithms._digits import words_of
from vkamp.algorithms.sort import argsort, in_rows, order_of, swapped_back
from vkamp.algorithms.transform import copy, store
from vkamp.algorithms.transpose import permute_dims

#: By form, up to how many lines of at least which length are done line by line. CPU drivers then take between 1.2
#: times and an eighth of the time of a sort. The limits for GPUs, where a line costs a few launches, are not measured.
_FEW_LONG = {"runs": (32, 1 << 15), "tiles": (8, 1 << 19)}


def _can_select(view: amp.accelerator_view, source: lazy.Lazy, n: int, k: int) -> bool:
    """Whether the best of ``n`` elements can be found without sorting all of them."""
    if dtype_of(source).names is not None or dtype_of(source).itemsize > 4:
        return False
    return topk_runs.group_of(n, k) is not None if _choose.form_of(view) == "runs" else k <= topk_tiles.MOST


def places_of_best(view: amp.accelerator_view, source: lazy.Lazy, k: int, largest: bool) -> Any:
    """The positions of the ``k`` first elements of a row in their order."""
    if not _can_select(view, source, source.extent[0], k):
        return amp.array_view(order_of(view, source, largest, None, None))[:k]
    [(words, _)] = words_of(source)
    words = words if largest else lazy.map(_inverted, words)
    length = topk_runs.group_of(source.extent[0], k) if _choose.form_of(view) == "runs" else None
    if length is not None:
        return topk_runs.places_of_best(view, words, k, length)
    return topk_tiles.places_of_best(view, words, k)


@amp.func
def _inverted(word: Any) -> Any:
    return ~word


class _FirstOfLines:
    """For ``lazy.At``: the first ``k`` of each ``length`` elements of a row."""

    __slots__ = ("k", "length")

    def __init__(self, k: int, length: int) -> None:
        self.k, self.length = k, length

    @amp.func
    def __call__(self, values: Any, i: Any) -> Any:
        return values.value(i // self.k * self.length + i % self.k)


class _InRow:
    """For ``lazy.At``: positions in lines of ``length`` elements, ``k`` for each line, as positions in the row."""

    __slots__ = ("k", "length")

    def __init__(self, k: int, length: int) -> None:
        self.k, self.length = k, length

    @amp.func
    def __call__(self, places: Any, i: Any) -> Any:
        return i // self.k * self.length + places.value(i)


def _store_places(view: amp.accelerator_view, source: lazy.Lazy, k: int, largest: bool, out: Any) -> None:
    """Stores the positions of the ``k`` first elements of each line along the last axis; ``out`` is a row."""
    length = source.extent[source.extent.rank - 1]
    lines = out.extent[0] // k
    if lines == 1:
        store(view, lazy.of(places_of_best(view, source.flat(), k, largest)), out)
        return
    row = source.row()
    most, shortest = _FEW_LONG[_choose.form_of(view)]
    is_by_line = lines <= most and length >= shortest and _can_select(view, source, length, k)
    if is_by_line and isinstance(row, lazy.Elements):
        values = amp.array_view(row.values, readonly=True)
        targets = amp.array_view(out)
        for at in range(lines):
            line = lazy.of(values[at * length : (at + 1) * length])
            store(view, lazy.of(places_of_best(view, line, k, largest)), targets[at * k : (at + 1) * k])
        return
    order = lazy.of(argsort(source, descending=largest, accelerator_view=view)).flat()
    store(view, lazy.At(_FirstOfLines(k, length), order, out.extent), out)


def topk(
    a: Any,
    k: int,
    *,
    largest: bool = True,
    sorted: bool = True,
    axis: int | None = -1,
    out: tuple[Any, Any] | None = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> tuple[Any, Any]:
    """The ``k`` largest elements (or smallest) along an ``axis``, in that order, and their positions in its lines, as
    int32; of equal ones the first.

    NaN counts as larger than all numbers. ``axis=None``: of all elements in a row, in row-major order. The results are
    in order also with ``sorted=False``, which allows any order. ``out`` is a tuple of targets for both. Raises
    ValueError if there are fewer than ``k``.
    """
    k = operator.index(k)
    source, axes = in_rows(a, axis)
    length = source.extent[axes[-1]]
    if not 0 <= k <= length:
        raise ValueError(f"cannot find the {k} largest of {length} elements")
    extent = [k if at == axes[-1] else n for at, n in enumerate(source.extent)]
    if k == 0:
        return np.empty(extent, dtype_of(source)), np.empty(extent, np.int32)
    for_values, for_places = outputs(out, 2)
    view = place(accelerator_view, source, for_values, for_places)
    if for_places is not None and for_places is not lazy.discard and for_places.dtype.kind not in "iu":
        made, numbers = topk(a, k, largest=largest, axis=axis, out=(for_values, None), accelerator_view=view)
        return made, copy(numbers, out=for_places, accelerator_view=view)
    found = output(for_values, extent, dtype_of(source), view, source)
    places = output(for_places, extent, np.dtype(np.int32), view, source)
    if axes[-1] != len(axes) - 1:
        rows = permute_dims(source, axes, accelerator_view=view)
        for made, target in zip(topk(rows, k, largest=largest, accelerator_view=view), (found, places), strict=True):
            permute_dims(made, swapped_back(axes), out=target, accelerator_view=view)
        return found, places
    with in_a_row(places, view) as at, in_a_row(found, view) as row:
        _store_places(view, source, k, largest, at)
        values, target = in_words(source.flat(), row)
        within = lazy.of(at) if math.prod(extent) == k else lazy.At(_InRow(k, length), lazy.of(at))
        store(view, lazy.take(values, within), target)
    return found, places
