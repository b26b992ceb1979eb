"""The positions of extremes: ``argmin`` and ``argmax``."""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp import tile
from vkamp.algorithms import _choose, functional, lazy
from vkamp.algorithms._arguments import place
from vkamp.algorithms._blocks import ITEMS, TILE
from vkamp.algorithms._loops import longest_run
from vkamp.algorithms._operators import Swapped
from vkamp.algorithms._results import result_row
from vkamp.algorithms.reduce import combine, shape_of
from vkamp.algorithms.reduce_axis import in_lines
from vkamp.algorithms.scalars import device_scalar

#: Tiles of the first launch.
_TILES = 1024


class _Better:
    """Selects from two positions the one with the better element, and the first one if the elements are equal."""

    __slots__ = ("less", "values")

    def __init__(self, values: lazy.Lazy, less: Any) -> None:
        self.values, self.less = values, less

    @amp.func
    def __call__(self, i: Any, j: Any) -> Any:
        return j if self.less(self.values.value(j), self.values.value(i)) else i


class _BetterOrNaN(_Better):
    """As ``_Better`` for floats; a NaN is better than any number."""

    __slots__ = ()

    @amp.func
    def __call__(self, i: Any, j: Any) -> Any:
        return j if _is_better(self.values.value(i), self.values.value(j), self.less, has_nan=True) else i


@amp.func
def _is_better(x: Any, y: Any, less: Any, *, has_nan: amp.constant) -> Any:
    """Whether an element after ``x`` is better."""
    if has_nan:
        return x == x and (y != y or less(y, x))
    return less(y, x)


@amp.kernel
def extreme_of_runs(t_idx, source, out, n, length, less, *, has_nan: amp.constant):
    """The position of the best element of one run, four elements at a time; of the first NaN, if there is one.

    Keeps which four have the best one, and looks for it in these at the end.
    """
    run = t_idx.global_[0]
    if run < out.extent[0]:
        first = run * length
        end = first + min(length, n - first)
        best = source.value(first).copy()
        at = first
        found_nan = False
        if has_nan:
            found_nan = best != best
        for k in range(first // 4, end // 4):
            a, b, c, d = source.four(k)
            if has_nan:
                found_nan = found_nan | (a != a) | (b != b) | (c != c) | (d != d)
            x = b if less(b, a) else a
            y = d if less(d, c) else c
            z = y if less(y, x) else x
            is_better = less(z, best)
            best = z if is_better else best
            at = 4 * k if is_better else at
        stop = min(at + 4, end)
        if found_nan:
            at = first
            stop = end
        while at + 1 < stop and not _is_found(source.value(at), best, less, found_nan, has_nan=has_nan):
            at += 1
        for i in range(end // 4 * 4, end):
            w = source.value(i)
            if not found_nan and _is_better(best, w, less, has_nan=has_nan):
                best = w.copy()
                at = i
                if has_nan:
                    found_nan = w != w
        out[run] = at


@amp.func
def _is_found(x: Any, best: Any, less: Any, found_nan: Any, *, has_nan: amp.constant) -> Any:
    """Whether an element is the first NaN, or the best one of its four."""
    if has_nan and found_nan:
        return x != x
    return not less(best, x)


class _First:
    """Like ``_Better``, for positions in any order."""

    __slots__ = ("better",)

    def __init__(self, better: _Better) -> None:
        self.better = better

    @amp.func
    def __call__(self, i: Any, j: Any) -> Any:
        return self.better(min(i, j), max(i, j))


@amp.kernel
def extreme_of_tiles(t_idx, source, out, n, length, less, op, *, has_nan: amp.constant):
    """The position of the first best element of one block; neighbouring threads load neighbouring elements."""
    begin = t_idx.tile[0] * length
    end = min(begin + length, n)
    best = source.value(begin).copy()
    at = begin
    for start in range(begin // 4, end // 4, 4 * TILE):
        x = amp.private(16, type(best))
        for j in amp.static_range(4):
            # Four loads are in flight at a time. After the end, the last four elements are loaded again.
            k = min(start + j * TILE + t_idx.local[0], end // 4 - 1)
            x[4 * j], x[4 * j + 1], x[4 * j + 2], x[4 * j + 3] = source.four(k)
        for j in amp.static_range(16):
            if _is_better(best, x[j], less, has_nan=has_nan):
                best = x[j].copy()
                at = 4 * min(start + j // 4 * TILE + t_idx.local[0], end // 4 - 1) + j % 4
    for i in range(end // 4 * 4, end):
        x_last = source.value(i).copy()
        if _is_better(best, x_last, less, has_nan=has_nan):
            best = x_last.copy()
            at = i
    first = tile.reduce(t_idx, at, op, TILE)
    if t_idx.local[0] == 0:
        out[t_idx.tile] = first


@amp.kernel
def _along_line(idx, found, n, inner):
    """Replaces positions in the input by positions on their lines."""
    found[idx] = found[idx] // inner % n


def _of_pieces(view: amp.accelerator_view, source: lazy.Lazy, better: _Better) -> Any:
    """The positions of the best elements of pieces of the input.

    The best element is kept in a register: an operator on positions would load it again.
    """
    n, less, has_nan = source.extent[0], better.less, isinstance(better, _BetterOrNaN)
    in_runs = _choose.form_of(view) == "runs"
    if in_runs:
        split = _choose.runs(view, n, longest_run(view, source, less))
    else:
        split = _choose.blocks(n, TILE * ITEMS, _TILES)
    found = amp.array(amp.extent(split.pieces), np.int32, accelerator_view=view)
    if in_runs:
        domain = _choose.domain_of_runs(view, split)
        amp.parallel_for_each(view, domain, extreme_of_runs, source, found, n, split.length, less, has_nan=has_nan)
    else:
        domain = amp.extent(split.pieces * TILE).tile(TILE)
        amp.parallel_for_each(
            view, domain, extreme_of_tiles, source, found, n, split.length, less, _First(better), has_nan=has_nan
        )  # fmt: skip
    return found


def _has_nan(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "fc" or lazy.is_float_of_memory(dtype)


def _extreme(
    a: Any, less: Any, axis: int | None, keepdims: bool, out: Any, accelerator_view: amp.accelerator_view | None
) -> Any:
    source = lazy.of(a)
    view = place(accelerator_view, source, out)
    if isinstance(axis, tuple):
        raise TypeError(f"a position is along one axis, not {axis}")
    source, lines = in_lines(source, axis, keepdims)
    better = (_BetterOrNaN if _has_nan(lazy.dtype_of(source)) else _Better)(source, less)
    with result_row(out, shape_of(lines), np.dtype(np.int32), view, source) as (found, row):
        places: lazy.Lazy = lazy.arange(source.extent[0])
        if lines is None:
            places = lazy.Elements(_of_pieces(view, source, better))
        combine(view, places, lines, row, better)
        if lines is not None:
            amp.parallel_for_each(view, row.extent, _along_line, row, lines.n, lines.inner)
    return device_scalar(found) if lines is None else found


def argmin(
    a: Any,
    *,
    axis: int | None = None,
    keepdims: bool = False,
    less: Any = functional.less,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The row-major position of the first smallest element, or of the first NaN (C++: ``min_element``), as int32.

    With an ``axis``, the positions along it.  ``less`` is another order.
    """
    return _extreme(a, less, axis, keepdims, out, accelerator_view)


def argmax(
    a: Any,
    *,
    axis: int | None = None,
    keepdims: bool = False,
    less: Any = functional.less,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The position of the first largest element, as :func:`argmin` (C++: ``max_element``)."""
    return _extreme(a, Swapped(less), axis, keepdims, out, accelerator_view)
