"""Reductions along one axis: each thread combines the elements of a line, or of a piece of it."""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Any, NamedTuple

import vkamp as amp
from vkamp.algorithms import _choose, lazy
from vkamp.algorithms._arguments import axis_of, computed_as
from vkamp.algorithms._blocks import of_four
from vkamp.algorithms._loops import longest_run
from vkamp.algorithms.reduce_axis_tiles import combine_lines_in_tiles, fills_tiles, joins_pieces, pieces_of

#: If there are fewer lines than this, they are divided into pieces.
_FEW_LINES = 256


class AxisLines(NamedTuple):
    """The lines of an input along an axis: element ``k`` of line ``(o, i)`` is at ``(o * n + k) * inner + i``."""

    outer: int
    n: int
    inner: int
    shape: tuple[int, ...]


def lines_of(extent: amp.extent, axis: int, keepdims: bool) -> AxisLines:
    """The lines along an axis. ``shape``: that of the result, in which the axis has size 1 or is left out."""
    shape = tuple(extent)
    axis = axis_of(extent, axis)
    rest = (1,) if keepdims else ()
    result = (*shape[:axis], *rest, *shape[axis + 1 :]) or (1,)
    return AxisLines(math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]), result)


#: The axes that a reduction takes: one, several, or all.
Axes = int | tuple[int, ...] | None


class _Reordered(lazy.Lazy):
    """The elements of a row of several dimensions in another order of these; ``strides`` are positions in the row."""

    __slots__ = ("sizes", "strides", "values")

    def __init__(self, values: lazy.Lazy, sizes: list[int], strides: list[int]) -> None:
        super().__init__(values.extent)
        self.values, self.sizes, self.strides = values, amp.extent(sizes), amp.index(strides)

    @amp.func
    def value(self, p: Any) -> Any:
        """The element at a position in the other order."""
        at = 0
        rest = p
        for k in amp.static_range(self.sizes.rank - 1, 0, -1):
            at += rest % self.sizes[k] * self.strides[k]
            rest = rest // self.sizes[k]
        return self.values.value(at + rest * self.strides[0])


def in_lines(source: lazy.Lazy, axis: Axes, keepdims: bool) -> tuple[lazy.Lazy, AxisLines | None]:
    """The elements of a source in a row, and the lines of a reduction; None for one of all axes to a single number.

    Lines along several axes have their elements in row-major order. The row has the order of the source, unless axes
    that are not neighbours are reduced. Raises ValueError for an axis that the source lacks, or that is given twice.
    """
    extent = source.extent
    if axis is None:
        return source.flat(), AxisLines(1, extent.size(), 1, (1,) * extent.rank) if keepdims else None
    axes = [axis_of(extent, each) for each in (axis if isinstance(axis, tuple) else (axis,))]
    if len(set(axes)) < len(axes):
        raise ValueError(f"axis={axis} has an axis of {extent!r} twice")
    if len(axes) == extent.rank and not keepdims:
        return source.flat(), None
    if not isinstance(axis, tuple):
        return source.flat(), lines_of(extent, axis, keepdims)
    rest = [1 if at in axes else n for at, n in enumerate(extent) if keepdims or at not in axes]
    groups = _groups(tuple(extent), axes)
    inner = groups.pop() if groups and not groups[-1][0] else (False, 1, 1)
    outer, along = ([group for group in groups if group[0] == reduced] for reduced in (False, True))
    lines = AxisLines(
        math.prod(n for _, n, _ in outer), math.prod(n for _, n, _ in along), inner[1], tuple(rest) or (1,)
    )
    if [*outer, *along] == groups:
        return source.flat(), lines
    _, sizes, strides = zip(*(each for each in (*outer, *along, inner) if each[1] > 1), strict=True)
    return _Reordered(source.flat(), list(sizes), list(strides)), lines


def _groups(shape: tuple[int, ...], axes: list[int]) -> list[tuple[bool, int, int]]:
    """Neighbouring axes that are all reduced, or all kept: whether they are reduced, their size and their stride."""
    groups: list[tuple[bool, int, int]] = []
    stride = math.prod(shape)
    for at, n in enumerate(shape):
        stride //= n
        if n == 1:
            continue
        if groups and groups[-1][0] == (at in axes):
            groups[-1] = groups[-1][0], groups[-1][1] * n, stride
        else:
            groups.append((at in axes, n, stride))
    return groups


@amp.func
def line_of(p: Any, n: Any, inner: Any) -> Any:
    """The line of the element at a position."""
    return p // (n * inner) * inner + p % inner


@amp.func
def begin_of(line: Any, n: Any, inner: Any) -> Any:
    """The position of a line's first element; the next element is ``inner`` positions after it."""
    return line // inner * (n * inner) + line % inner


@amp.func
def of_run(source: Any, first: Any, end: Any, op: Any) -> Any:
    """The combination of the elements from ``first`` to ``end``, at least one."""
    total = source.value(first).copy()
    k = (first + 4) // 4
    for i in range(first + 1, min(4 * k, end)):
        total = op(total, source.value(i))
    stop = end // 4
    # Sixteen elements in each iteration, because an iteration costs as much as a few elements.
    while k + 4 <= stop:
        one = op(of_four(source, k, op), of_four(source, k + 1, op))
        two = op(of_four(source, k + 2, op), of_four(source, k + 3, op))
        total = op(total, op(one, two))
        k += 4
    while k < stop:
        total = op(total, of_four(source, k, op))
        k += 1
    for i in range(4 * k, end):
        total = op(total, source.value(i))
    return total


@amp.kernel
def reduce_rows(t_idx, source, out, n, pieces, length, op):
    """Combines one piece of one line whose elements are adjacent. ``out`` has the pieces of a line side by side."""
    at = t_idx.global_[0]
    if at < out.extent[0]:
        line = at // pieces
        begin = (at - line * pieces) * length
        first = line * n + begin
        out[at] = of_run(source, first, first + min(length, n - begin), op)


@amp.kernel
def reduce_columns(t_idx, source, out, n, quads, pieces, length, op, *, wide: amp.constant):
    """Combines one piece of ``4 * wide`` neighbouring lines.

    The elements ``k`` of all lines are ``quads`` vectors of four. A wide strip of the rows uses whole pages and cache
    lines.
    """
    at = t_idx.global_[0]
    if 4 * wide * at < out.extent[0]:
        # Neighbouring threads combine neighbouring lines.
        strips = quads // wide
        outer = at // (strips * pieces)
        rest = at - outer * (strips * pieces)
        piece = rest // strips
        strip = rest - piece * strips
        begin = piece * length
        k = (outer * n + begin) * quads + strip * wide
        own = amp.private(4 * wide, type(source.value(0)))
        for j in amp.static_range(wide):
            own[4 * j], own[4 * j + 1], own[4 * j + 2], own[4 * j + 3] = source.four(k + j)
        for _ in range(1, min(length, n - begin)):
            k += quads
            for j in amp.static_range(wide):
                a, b, c, d = source.four(k + j)
                own[4 * j] = op(own[4 * j], a)
                own[4 * j + 1] = op(own[4 * j + 1], b)
                own[4 * j + 2] = op(own[4 * j + 2], c)
                own[4 * j + 3] = op(own[4 * j + 3], d)
        for j in amp.static_range(4 * wide):
            out[((outer * strips + strip) * (4 * wide) + j) * pieces + piece] = own[j]


@amp.kernel
def reduce_lines(t_idx, source, out, n, inner, pieces, length, op):
    """Combines one piece of one line; ``out`` has the pieces of a line side by side."""
    at = t_idx.global_[0]
    if at < out.extent[0]:
        line = at // pieces
        begin = (at - line * pieces) * length
        first = begin_of(line, n, inner)
        total = source.value(first + begin * inner).copy()
        for k in range(begin + 1, begin + min(length, n - begin)):
            total = op(total, source.value(first + k * inner))
        out[at] = total


def split_of_lines(lines: AxisLines, longest: int) -> _choose.Split:
    """The pieces of each line: one, unless there are few lines, or pieces would have more than ``longest`` elements."""
    return _choose.parts(lines.n, -(-_FEW_LINES // (lines.outer * lines.inner)), longest)


def combine_lines(
    view: amp.accelerator_view, source: lazy.Lazy, lines: AxisLines, out: Any, split: _choose.Split, op: Any
) -> None:
    """Reduces each piece of each line, in one launch. ``out`` has the pieces of a line side by side."""
    in_runs = _choose.form_of(view) == "runs"
    count = lines.outer * lines.inner * split.pieces
    if in_runs and lines.inner == 1:
        domain = _choose.domain_of_runs(view, _choose.Split(count, 1))
        amp.parallel_for_each(view, domain, reduce_rows, source, out, lines.n, *split, op)
    elif in_runs and lines.inner % 4 == 0 and longest_run(view, source, op) == _choose.LONGEST_RUN:
        wide = 4 if lines.inner % 16 == 0 and count // 16 >= _choose.least_threads(view) else 1
        domain = _choose.domain_of_runs(view, _choose.Split(count // (4 * wide), 1))
        amp.parallel_for_each(
            view, domain, reduce_columns, source, out, lines.n, lines.inner // 4, *split, op, wide=wide
        )  # fmt: skip
    else:
        domain = _choose.domain_of_runs(view, _choose.Split(count, 1))
        amp.parallel_for_each(view, domain, reduce_lines, source, out, lines.n, lines.inner, *split, op)


def reduce_lines_into(view: amp.accelerator_view, source: lazy.Lazy, lines: AxisLines, out: Any, op: Any) -> None:
    """Combines each line of a source with one index into one element of ``out``."""
    outer, n, inner, _ = lines
    dtype = computed_as(out.dtype)
    if _choose.form_of(view) == "tiles" and fills_tiles(n, inner):
        pieces = pieces_of(view, outer, n, inner, dtype.itemsize)
        at_once = joins_pieces(inner, pieces, dtype)
        target = out
        if pieces > 1 and not at_once:
            target = amp.array(amp.extent(outer * inner * pieces), dtype, accelerator_view=view)
        combine_lines_in_tiles(view, source, outer, n, inner, pieces, target, op, at_once=at_once)
        if target is not out:
            # The results of a line's pieces have the stride of its elements.
            reduce_lines_into(view, lazy.Elements(target).flat(), AxisLines(outer, pieces, inner, lines.shape), out, op)
        return
    split = split_of_lines(lines, longest_run(view, source, op))
    target = out
    if split.pieces > 1:
        target = amp.array(amp.extent(outer * inner * split.pieces), dtype, accelerator_view=view)
    combine_lines(view, source, lines, target, split, op)
    if split.pieces > 1:
        rest = AxisLines(outer * inner, split.pieces, 1, lines.shape)
        reduce_lines_into(view, lazy.Elements(target), rest, out, op)
