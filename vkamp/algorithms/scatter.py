"""``scatter_reduce``: combines elements with those at given positions, which may repeat.

Integers are combined by atomic operations if the operator has one. Other elements are sorted by position and combined
in their order, so that sums of floats have the same bits in every run.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import computed_type, element, place, refuse_overlap, refuse_type, target
from vkamp.algorithms._operators import Heads, refuse_order
from vkamp.algorithms.segments import Tails, scan_pairs
from vkamp.algorithms.sort import order_of
from vkamp.algorithms.transform import from_its_start, store


@amp.func
def _add(a: Any, i: Any, x: Any) -> None:
    amp.atomic_fetch_add(a[i], x)


@amp.func
def _max(a: Any, i: Any, x: Any) -> None:
    amp.atomic_fetch_max(a[i], x)


@amp.func
def _min(a: Any, i: Any, x: Any) -> None:
    amp.atomic_fetch_min(a[i], x)


@amp.func
def _and(a: Any, i: Any, x: Any) -> None:
    amp.atomic_fetch_and(a[i], x)


@amp.func
def _or(a: Any, i: Any, x: Any) -> None:
    amp.atomic_fetch_or(a[i], x)


@amp.func
def _xor(a: Any, i: Any, x: Any) -> None:
    amp.atomic_fetch_xor(a[i], x)


_ATOMIC = {
    functional.plus: _add, functional.max: _max, functional.min: _min, functional.bit_and: _and,
    functional.bit_or: _or, functional.bit_xor: _xor,
}  # fmt: skip


@amp.kernel
def _combine_each(idx, source, at, out, combine, *, guarded: amp.constant):
    if not guarded or at.value(idx[0]) < out.extent[0]:
        combine(out, at.value(idx[0]), source.value(idx[0]))


@amp.kernel
def _combine_runs(idx, positions, tails, pairs, out, op, *, guarded: amp.constant):
    """Stores in the last element of each run of equal positions the combination of the whole run."""
    i = idx[0]
    at = positions[i]
    if tails.value(i) != 0 and (not guarded or at < out.extent[0]):
        out[at] = op(out[at], pairs[i].first)


def scatter_reduce(
    out: Any, at: Any, a: Any, op: Any = functional.plus, *, accelerator_view: amp.accelerator_view | None = None
) -> Any:
    """``out[at[i]] = op(out[at[i]], a[i])`` for all elements, even if positions repeat; returns ``out`` (numpy:
    ``add.at``).

    ``op`` must be associative. The elements of one position are combined in their order, so ``op`` need not commute.
    ``out`` has one dimension and the type of ``op``'s results. Negative positions count from its end, as in numpy.
    """
    values = target(out)
    combine_at(values, from_its_start("scatter_reduce", values, at), a, op, accelerator_view)
    return out


def combine_at(
    values: Any, positions: lazy.Lazy, a: Any, op: Any, accelerator_view: amp.accelerator_view | None, *,
    guarded: bool = False,
) -> None:  # fmt: skip
    """Combines elements with those at positions; with ``guarded``, those at positions after the end are left out."""
    source = lazy.of(a).flat()
    if source.extent != positions.extent:
        raise amp.AmpError(f"there are {source.extent!r} elements, but {positions.extent!r} positions")
    dtype = element(computed_type(source))
    refuse_type(values, dtype)
    refuse_overlap(values, source, positions)
    view = place(accelerator_view, values, source, positions)
    refuse_order(op, dtype)
    if values.dtype in (np.int32, np.uint32) and values.dtype == dtype and op in _ATOMIC:
        atomic = _ATOMIC[op]
        amp.parallel_for_each(view, source.extent, _combine_each, source, positions, values, atomic, guarded=guarded)
        return
    order = order_of(view, positions, False, None, None)
    numbers = amp.array(positions.extent, np.int32, accelerator_view=view)
    store(view, lazy.take(positions, order), numbers)
    heads = Heads(lazy.Elements(numbers), functional.equal_to)
    pairs = scan_pairs(view, lazy.take(source, order), heads, op, dtype)
    tails = lazy.At(Tails(lazy.constant(source.extent[0], 1)), heads)
    amp.parallel_for_each(view, source.extent, _combine_runs, numbers, tails, pairs, values, op, guarded=guarded)
