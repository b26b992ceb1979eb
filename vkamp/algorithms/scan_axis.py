"""Scans along one axis: each thread scans a line, or a piece of it.

Few lines are divided into pieces: reduce, then scan, as ``scan.py`` does (G. Blelloch, *Prefix Sums and Their
Applications*, 1990).
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import vkamp as amp
from vkamp.algorithms import _choose, lazy
from vkamp.algorithms._arguments import computed_as, value
from vkamp.algorithms._loops import longest_run
from vkamp.algorithms.reduce_axis import AxisLines, begin_of, combine_lines, split_of_lines
from vkamp.algorithms.reduce_axis_tiles import combine_lines_in_tiles, fills_tiles
from vkamp.algorithms.scan_axis_tiles import pieces_of, scan_lines_in_tiles
from vkamp.algorithms.transform import store


@amp.kernel
def scan_line_totals(t_idx, totals, pieces, init, op, *, has_init: amp.constant):
    """Replaces the total of each piece of a line by that of the pieces before it."""
    line = t_idx.global_[0]
    if line < totals.extent[0] // pieces:
        first = line * pieces
        total = op(init, totals[first]) if has_init else totals[first].copy()
        for k in range(first + 1, first + pieces):
            own = totals[k].copy()
            totals[k] = total
            total = op(total, own)


@amp.kernel
def scan_lines(
    t_idx, source, out, before, count, n, inner, pieces, length, init, op,
    *, inclusive: amp.constant, has_init: amp.constant, reverse: amp.constant,
):  # fmt: skip
    """Scans one piece of one line. ``before``: the total before each piece, except for a line's first one."""
    at = t_idx.global_[0]
    if at < count:
        line = at // pieces
        piece = at - line * pieces
        begin = piece * length
        end = begin + min(length, n - begin)
        first = begin_of(line, n, inner)
        step = inner
        if reverse:
            first += (n - 1) * inner
            step = -inner
        total = init.copy()
        if piece > 0:
            total = before[at].copy()
        if not (has_init or piece > 0):
            total = source.value(first).copy()
            out[first] = total
            begin += 1
        for k in range(begin, end):
            x = source.value(first + k * step).copy()
            if not inclusive:
                out[first + k * step] = total
            total = op(total, x)
            if inclusive:
                out[first + k * step] = total


class Shifted:
    """For ``lazy.At``: the element before each one."""

    __slots__ = ()

    @amp.func
    def __call__(self, values: Any, p: Any) -> Any:
        return values.value(max(p - 1, 0))


def _scan_many_totals(view: amp.accelerator_view, totals: Any, lines: AxisLines, op: Any, init: Any) -> None:
    """Like ``scan_line_totals``, for more totals in a line than a loop may have: these are scanned as lines again."""
    upto = amp.array(totals.extent, totals.dtype, accelerator_view=view)
    scan_lines_into(view, lazy.Elements(totals), lines, upto, op, inclusive=True, init=init)
    store(view, lazy.At(Shifted(), lazy.Elements(upto)), totals)


class _Reversed:
    """For ``lazy.At``: the element at the mirrored position of its line."""

    __slots__ = ("inner", "n")

    def __init__(self, lines: AxisLines) -> None:
        self.n, self.inner = lines.n, lines.inner

    @amp.func
    def __call__(self, values: Any, p: Any) -> Any:
        k = p // self.inner % self.n
        return values.value(p + (self.n - 1 - 2 * k) * self.inner)


def _scan_in_tiles(
    view: amp.accelerator_view, source: lazy.Lazy, lines: AxisLines, out: Any, op: Any, *,
    inclusive: bool, init: Any, has_init: bool, reverse: bool,
) -> None:  # fmt: skip
    """Scans each piece of each line by a tile, after a scan of the pieces' totals if a line has several."""
    outer, n, inner, _ = lines
    pieces = pieces_of(outer, n, inner)
    before = amp.array(
        amp.extent(outer * inner * pieces if pieces > 1 else 1), computed_as(out.dtype), accelerator_view=view
    )
    if pieces > 1:
        ordered = lazy.At(_Reversed(lines), source) if reverse else source
        combine_lines_in_tiles(view, ordered, outer, n, inner, pieces, before, op)
        scan_lines_into(
            view, lazy.Elements(before).flat(), AxisLines(outer, pieces, inner, lines.shape), before, op, inclusive=True
        )
    scan_lines_in_tiles(
        view, source, outer, n, inner, pieces, before, out, init, op,
        inclusive=inclusive, has_init=has_init, reverse=reverse,
    )  # fmt: skip


def scan_lines_into(
    view: amp.accelerator_view,
    source: lazy.Lazy,
    lines: AxisLines,
    out: Any,
    op: Any,
    *,
    inclusive: bool,
    init: Any = None,
    reverse: bool = False,
) -> None:
    """Scans each line of a source with one index into ``out``, which has one index and the type of ``op``'s results."""
    count = lines.outer * lines.inner
    has_init, start = init is not None, value(init, computed_as(out.dtype))
    if _choose.form_of(view) == "tiles" and fills_tiles(lines.n, lines.inner):
        _scan_in_tiles(
            view, source, lines, out, op, inclusive=inclusive, init=start, has_init=has_init, reverse=reverse
        )
        return
    longest = longest_run(view, source, op)
    split = split_of_lines(lines, longest)
    pieces = count * split.pieces
    before = amp.array(amp.extent(pieces if split.pieces > 1 else 1), computed_as(out.dtype), accelerator_view=view)
    if split.pieces > 1:
        ordered = lazy.At(_Reversed(lines), source) if reverse else source
        combine_lines(view, ordered, lines, before, split, op)
        if split.pieces > longest:
            _scan_many_totals(view, before, AxisLines(count, split.pieces, 1, lines.shape), op, init)
        else:
            domain = _choose.domain_of_runs(view, _choose.Split(count, 1))
            amp.parallel_for_each(
                view, domain, scan_line_totals, before, split.pieces, start, op, has_init=has_init
            )  # fmt: skip
    domain = _choose.domain_of_runs(view, _choose.Split(pieces, 1))
    amp.parallel_for_each(
        view, domain, scan_lines, source, out, before, pieces, lines.n, lines.inner, *split, start, op,
        inclusive=inclusive, has_init=has_init, reverse=reverse,
    )  # fmt: skip
