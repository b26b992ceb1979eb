"""Prefix sums with any operator: ``scan``.

Reduce, then scan (G. Blelloch, *Prefix Sums and Their Applications*, 1990): one launch combines each piece of the
input, a second one scans the totals of the pieces, and a third one scans the pieces, beginning each with the total of
the pieces before it. The order of the operations does not depend on the device's scheduling. GPUs scan numbers of
32 bits in one launch (:mod:`vkamp.algorithms.scan_chained`).
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import vkamp as amp
from vkamp import tile
from vkamp.algorithms import _choose, functional, lazy
from vkamp.algorithms._arguments import computed_as, element, in_a_row, output, place, value
from vkamp.algorithms._loops import longest_run
from vkamp.algorithms._operators import closed, identity_of
from vkamp.algorithms._outputs import output_of
from vkamp.algorithms.determinism import is_needed
from vkamp.algorithms.reduce import combine_pieces
from vkamp.algorithms.reduce_axis import AxisLines, lines_of
from vkamp.algorithms.scan_axis import scan_lines_into
from vkamp.algorithms.scan_blocks import scan_blocks_into
from vkamp.algorithms.scan_chained import can_chain, chained_scan_into
from vkamp.algorithms.scan_few import are_few, scan_few_into
from vkamp.algorithms.transform import store


@amp.kernel
def scan_totals(idx, totals, init, op, *, has_init: amp.constant):
    """Replaces each piece's total by that of the pieces before it. Without ``init``, the first piece has none."""
    if idx[0] == 0:
        total = init.copy() if has_init else totals[0].copy()
        for k in range(0 if has_init else 1, totals.extent[0]):
            own = totals[k].copy()
            totals[k] = total
            total = op(total, own)


@amp.kernel
def scan_totals_in_tile(t_idx, totals, init, op, *, has_init: amp.constant):
    """Like ``scan_totals``, by one tile with at least as many threads as there are totals."""
    n = totals.extent[0]
    rank = t_idx.local[0]
    _, before, _ = tile.scan_of(t_idx, totals[min(rank, n - 1)].copy(), op, n)
    if has_init:
        start = init.copy()
        before = op(start, before) if rank > 0 else start
    t_idx.barrier.wait_with_global_memory_fence()
    if rank < n:
        totals[rank] = before


@amp.kernel
def scan_runs(t_idx, source, out, before, n, length, op, *, inclusive: amp.constant, has_init: amp.constant):
    """Scans one run, four elements at a time; ``before[r]`` is the total before run ``r``."""
    run = t_idx.global_[0]
    if run < before.extent[0]:
        first = run * length
        end = first + min(length, n - first)
        if has_init:
            total = before[run].copy()
        else:
            total = source.value(first).copy()
            if run > 0:
                total = op(before[run], total)
            out.store(first, total)
            first += 1
        middle = min((first + 3) // 4 * 4, end)
        for i in range(first, middle):
            total = _scan_one(source, out, i, total, op, inclusive=inclusive)
        for k in range(middle // 4, end // 4):
            a, b, c, d = source.four(k)
            a = op(total, a)
            b = op(a, b)
            c = op(b, c)
            d = op(c, d)
            if inclusive:
                out.store_four(k, a, b, c, d)
            else:
                out.store_four(k, total, a, b, c)
            total = d.copy()
        for i in range(max(middle, end // 4 * 4), end):
            total = _scan_one(source, out, i, total, op, inclusive=inclusive)


@amp.func
def _scan_one(source: Any, out: Any, i: Any, total: Any, op: Any, *, inclusive: amp.constant) -> Any:
    """Stores the prefix of one element, given the total of its predecessors, and returns the total that includes it."""
    upto = op(total, source.value(i))
    out.store(i, upto if inclusive else total)
    return upto


def scan_into(
    view: amp.accelerator_view, source: lazy.Lazy, out: Any, op: Any, *,
    inclusive: bool, init: Any = None, deterministic: bool | None = None,
) -> None:  # fmt: skip
    """Scans a source with one index into ``out``, whose elements have the type of ``op``'s results.

    ``deterministic``: the order in which floats are combined must not depend on the device's scheduling.
    """
    n, dtype = source.extent[0], computed_as(out.dtype)
    has_init = init is not None
    start = value(init, dtype)
    in_runs = _choose.form_of(view) == "runs"
    if not in_runs and can_chain(view, out):
        into = chained_scan_into
        if are_few(n):
            into = scan_few_into
        elif is_needed(deterministic) and dtype.kind == "f":
            into = scan_blocks_into
        into(view, source, out, op, inclusive=inclusive, init=start, has_init=has_init)
        return
    if not in_runs:
        # All elements are one line, which tiles scan in pieces.
        scan_lines_into(view, source, AxisLines(1, n, 1, (n,)), out, op, inclusive=inclusive, init=init)
        return
    longest = longest_run(view, source, op)
    split = _choose.runs(view, n, longest)
    totals = amp.array(amp.extent(split.pieces), dtype, accelerator_view=view)
    if split.pieces > 1:
        combine_pieces(view, source, totals, split, op)
    if split.pieces > longest:
        _scan_many_totals(view, totals, op, start, init)
    else:
        amp.parallel_for_each(view, amp.extent(1), scan_totals, totals, start, op, has_init=has_init)
    amp.parallel_for_each(
        view, _choose.domain_of_runs(view, split), scan_runs, source, output_of(out), totals, n, split.length, op,
        inclusive=inclusive, has_init=has_init,
    )  # fmt: skip


class _Before:
    """For ``lazy.At``: the element before each one; a given number before the first one."""

    __slots__ = ("first",)

    def __init__(self, first: Any) -> None:
        self.first = first

    @amp.func
    def __call__(self, values: Any, i: Any) -> Any:
        return values.value(i - 1) if i > 0 else self.first


def _scan_many_totals(view: amp.accelerator_view, totals: Any, op: Any, start: Any, init: Any) -> None:
    """Like ``scan_totals``, for more totals than a loop may have."""
    upto = amp.array(totals.extent, totals.dtype, accelerator_view=view)
    scan_into(view, lazy.Elements(totals), upto, op, inclusive=True, init=init)
    store(view, lazy.At(_Before(start), lazy.Elements(upto)), totals)


def tile_size(view: amp.accelerator_view) -> int:
    """The number of threads in the tile that scans the pieces' totals."""
    limits = view.accelerator.limits
    return 256 if limits is None else min(limits.tile_threads, 1024)


def scan_counts(view: amp.accelerator_view, counts: Any) -> None:
    """Replaces each number of a row by the sum of those before it, on GPUs."""
    size = tile_size(view)
    if counts.extent[0] > size:
        scan_into(view, lazy.Elements(counts).flat(), counts, functional.plus, inclusive=False, init=0)
    else:
        domain = amp.extent(size).tile(size)
        amp.parallel_for_each(view, domain, scan_totals_in_tile, counts, 0, functional.plus, has_init=True)


def scan(
    a: Any,
    op: Any = functional.plus,
    *,
    inclusive: bool = True,
    init: Any = None,
    axis: int | None = None,
    reverse: bool = False,
    out: Any = None,
    deterministic: bool | None = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """``op`` of all elements up to each one, in row-major order (C++: ``inclusive_scan``, ``exclusive_scan``).

    ``op`` is associative; it need not commute.  ``init`` comes first.  ``inclusive=False`` leaves the element itself
    out, and needs ``init`` unless ``op`` is known to have an identity.  ``reverse`` begins at the last element: ``op``
    then takes the elements in that order.  With an ``axis``, each line along it is scanned, and the result has the
    input's extent; else it has one dimension.  ``out`` may be the input itself.

    GPUs scan numbers of 32 bits in one launch.  Of more than 2^23 elements, the order of the operations depends on the
    device's scheduling: sums of floats may differ in their last bits from run to run.  ``deterministic=True``, or
    :func:`vkamp.algorithms.deterministic`, gives the same bits in every run on one device.
    """
    source = lazy.of(a)
    if axis is None:
        source, axis = source.flat(), 0
    lines = lines_of(source.extent, axis, True)
    view = place(accelerator_view, source, out)
    computed, op = closed(source, op)
    dtype = element(computed)
    if init is None and not inclusive:
        init = identity_of(op, dtype)
    result = output(out, source.extent, dtype, view, source, in_place=True)
    with computed_in(result, dtype, view) as row:
        scan_any(
            view,
            source.flat(),
            lines,
            row,
            op,
            inclusive=inclusive,
            init=init,
            reverse=reverse,
            deterministic=deterministic,
        )
    return result


@contextmanager
def computed_in(result: Any, dtype: np.dtype[Any], view: amp.accelerator_view) -> Iterator[Any]:
    """A row in which kernels combine elements of a type: that of the result, or one that is converted at the end."""
    if computed_as(result.dtype) == computed_as(dtype):
        with in_a_row(result, view) as row:
            yield row
    else:
        made = amp.array(result.extent, element(dtype), accelerator_view=view)
        yield made.reshape(-1)
        store(view, lazy.Elements(made), result)


def scan_any(
    view: amp.accelerator_view,
    source: lazy.Lazy,
    lines: AxisLines,
    out: Any,
    op: Any,
    *,
    inclusive: bool,
    init: Any = None,
    reverse: bool = False,
    deterministic: bool | None = None,
) -> None:
    """Scans one line, or each line, of a source with one index into ``out``, which has one index."""
    if lines.outer * lines.inner > 1:
        scan_lines_into(view, source, lines, out, op, inclusive=inclusive, init=init, reverse=reverse)
        return
    if reverse:
        source, out = lazy.flip(source), amp.array_view(out)[::-1]
    scan_into(view, source, out, op, inclusive=inclusive, init=init, deterministic=deterministic)
