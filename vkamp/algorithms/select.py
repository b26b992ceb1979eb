"""Selections: ``select``, ``nonzero``, ``partition``, ``unique_consecutive``, ``run_length_encode``.

A scan of the elements' flags gives each chosen element its position; a second pass stores it there (G. Blelloch,
*Prefix Sums and Their Applications*, 1990).  The order of the elements is kept.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, functional, lazy
from vkamp.algorithms._arguments import dtype_of, in_words, place, refuse_overlap
from vkamp.algorithms._operators import Flag
from vkamp.algorithms.counted import counted
from vkamp.algorithms.reduce import combine_pieces
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.scan import scan_into


class _Heads(lazy.Lazy):
    """1 for each element that differs from the one before it."""

    __slots__ = ("eq", "values")

    def __init__(self, values: lazy.Lazy, eq: Any) -> None:
        super().__init__(values.extent)
        self.values, self.eq = values, eq

    @amp.func
    def value(self, i: Any) -> Any:
        """The flag of an element."""
        if i == 0:
            return 1
        return 0 if self.eq(self.values.value(i - 1), self.values.value(i)) else 1


@amp.kernel
def _compact(idx, flags, upto, source, out, count):
    """Stores the chosen elements; ``upto``: how many are chosen up to each one."""
    i = idx[0]
    at = upto[i] - 1
    if flags.value(i) != 0 and at < out.extent[0]:
        out[at] = source.value(i)
    if i == upto.extent[0] - 1:
        count[0] = upto[i]


@amp.kernel
def select_run(t_idx, flags, before, source, out, count, n, length):
    """Stores the chosen elements of one run; ``before[r]``: how many are chosen before run ``r``."""
    run = t_idx.global_[0]
    if run < before.extent[0]:
        first = run * length
        at = before[run]
        for i in range(first, first + min(length, n - first)):
            if flags.value(i) != 0:
                if at < out.extent[0]:
                    out[at] = source.value(i)
                at += 1
        if run == before.extent[0] - 1:
            count[0] = at


@amp.kernel
def _split(idx, flags, upto, source, out, count):
    """Stores the chosen elements first, and the others behind them."""
    i = idx[0]
    chosen = upto[upto.extent[0] - 1]
    at = upto[i] - 1 if flags.value(i) != 0 else chosen + i - upto[i]
    out[at] = source.value(i)
    if i == 0:
        count[0] = chosen


def _positions(view: amp.accelerator_view, flags: lazy.Lazy) -> Any:
    upto = amp.array(flags.extent, np.int32, accelerator_view=view)
    scan_into(view, flags, upto, functional.plus, inclusive=True)
    return upto


def _selected(
    flags: lazy.Lazy, source: lazy.Lazy, out: Any, view: amp.accelerator_view, kernel: Any = _compact
) -> counted:
    if out is None:
        out = amp.array(source.extent, dtype_of(source), accelerator_view=view)
    elif not isinstance(out, (amp.array, amp.array_view)):
        out = amp.array_view(out)
    refuse_overlap(out, source, flags)
    count = amp.array(amp.extent(1), np.int32, accelerator_view=view)
    values, target = in_words(source, out)
    if kernel is _compact and _choose.form_of(view) == "runs":
        n = flags.extent[0]
        split = _choose.runs(view, n)
        before = amp.array(amp.extent(split.pieces), np.int32, accelerator_view=view)
        combine_pieces(view, flags, before, split, functional.plus)
        scan_into(view, lazy.Elements(before), before, functional.plus, inclusive=False, init=0)
        domain = _choose.domain_of_runs(view, split)
        amp.parallel_for_each(view, domain, select_run, flags, before, values, target, count, n, split.length)
    else:
        amp.parallel_for_each(view, flags.extent, kernel, flags, _positions(view, flags), values, target, count)
    return counted(out, device_scalar(count))


def _condition(source: lazy.Lazy, pred: Any, flags: Any) -> lazy.Lazy:
    if (pred is None) == (flags is None):
        raise TypeError("give a predicate or flags=")
    if flags is None:
        return lazy.map(Flag(pred), source)
    given = lazy.of(flags).flat()
    if given.extent != source.extent:
        raise amp.AmpError(f"{source.extent!r} elements have {given.extent!r} flags")
    return lazy.map(Flag(functional.truth), given)


def select(
    a: Any,
    pred: Any = None,
    *,
    flags: Any = None,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> counted:
    """The elements that meet a condition, or whose flags are not zero, in their order (C++: ``copy_if``).

    Where ``out`` is too small, the count is right, nothing is stored behind its end, and reading the result raises
    AmpError.  ``out`` must not overlap the input.
    """
    source = lazy.of(a).flat()
    view = place(accelerator_view, source, out)
    return _selected(_condition(source, pred, flags), source, out, view)


def nonzero(a: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None) -> counted:
    """The row-major positions of the elements that are not zero, as int32."""
    source = lazy.of(a).flat()
    view = place(accelerator_view, source, out)
    return _selected(lazy.map(Flag(functional.truth), source), lazy.arange(source.extent[0]), out, view)


def partition(
    a: Any, pred: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> tuple[Any, device_scalar]:
    """The elements that meet a condition, then the others, each in their order, and how many meet it.

    C++: ``stable_partition_copy``.  ``out`` must not overlap the input.
    """
    source = lazy.of(a).flat()
    view = place(accelerator_view, source, out)
    found = _selected(lazy.map(Flag(pred), source), source, out, view, _split)
    return found.values, found.count


def unique_consecutive(
    a: Any, eq: Any = functional.equal_to, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> counted:
    """The first element of each run of equal ones (C++: ``unique_copy``)."""
    source = lazy.of(a).flat()
    view = place(accelerator_view, source, out)
    return _selected(_Heads(source, eq), source, out, view)


@amp.kernel
def _encode(idx, flags, upto, source, values, begins, count):
    i = idx[0]
    n = upto.extent[0]
    if flags.value(i) != 0:
        values[upto[i] - 1] = source.value(i)
        begins[upto[i] - 1] = i
    if i == n - 1:
        count[0] = upto[i]


@amp.kernel
def _lengths(idx, begins, count, lengths, n):
    i = idx[0]
    if i < count[0]:
        lengths[i] = (begins[i + 1] if i + 1 < count[0] else n) - begins[i]


def run_length_encode(
    a: Any, eq: Any = functional.equal_to, *, accelerator_view: amp.accelerator_view | None = None
) -> tuple[counted, counted]:
    """The first element of each run of equal ones, and the runs' lengths, as int32."""
    source = lazy.of(a).flat()
    view = place(accelerator_view, source)
    flags, n = _Heads(source, eq), source.extent[0]
    values = amp.array(source.extent, dtype_of(source), accelerator_view=view)
    begins, lengths = (amp.array(source.extent, np.int32, accelerator_view=view) for _ in range(2))
    count = amp.array(amp.extent(1), np.int32, accelerator_view=view)
    amp.parallel_for_each(view, source.extent, _encode, flags, _positions(view, flags), source, values, begins, count)
    amp.parallel_for_each(view, source.extent, _lengths, begins, count, lengths, n)
    found = device_scalar(count)
    return counted(values, found), counted(lengths, found)
