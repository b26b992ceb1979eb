"""Sorting by the bits of numbers: a stable radix sort, eight bits in each pass, the lowest first.

This is the form for CPU drivers: each run of elements counts its digits, a scan of all counts gives each run its
places, and each run moves its elements there in order (H. Hollerith's method; M. Zagha and G. Blelloch, *Radix Sort for
Vector Multiprocessors*, 1991).  ``radix_sort_sweep`` has that of GPUs, ``radix_sort_tiles`` that of tiles which do not
wait for each other, ``_digits`` the digits of numbers.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, lazy, radix_sort_sweep, radix_sort_tiles
from vkamp.algorithms._arguments import dtype_of
from vkamp.algorithms._digits import Numbers, Positions, bits_of, digits_of, passes, words_in
from vkamp.algorithms.transform import store, without_loops

#: Values of a digit.
_DIGITS = 256
#: The fewest elements of a run: it has a count for each digit, too.
_LEAST_RUN = 1024


@amp.kernel
def count_digits(t_idx, keys, counts, n, length, shift, digits):
    """Counts the digits of one run; ``counts[r * 64 + d]`` is how often run ``r`` has the digits ``4 * d`` and so on.

    Each run counts in separate, contiguous memory, so that processors do not share cache lines.
    """
    run = t_idx.global_[0]
    first = run * length
    if first < n:
        own = amp.private(_DIGITS, amp.int32)
        for digit in range(_DIGITS):
            own[digit] = 0
        end = first + min(length, n - first)
        for k in range(first // 4, end // 4):
            a, b, c, d = keys.four(k)
            own[digits.of(a, shift)] += 1
            own[digits.of(b, shift)] += 1
            own[digits.of(c, shift)] += 1
            own[digits.of(d, shift)] += 1
        for i in range(end // 4 * 4, end):
            own[digits.of(keys.value(i), shift)] += 1
        for quad in range(_DIGITS // 4):
            digit = 4 * quad
            counts[run * (_DIGITS // 4) + quad] = amp.int4(own[digit], own[digit + 1], own[digit + 2], own[digit + 3])


@amp.kernel
def scan_counts(t_idx, counts, runs):
    """Replaces the counts of four digits in each run by those in the runs before it; all runs' counts come last."""
    quad = t_idx.global_[0]
    total = amp.int4(0, 0, 0, 0)
    for r in range(runs):
        own = counts[r * (_DIGITS // 4) + quad].copy()
        counts[r * (_DIGITS // 4) + quad] = total
        total += own
    counts[runs * (_DIGITS // 4) + quad] = total


@amp.kernel
def move_keys(t_idx, keys, values, counts, out, moved, n, length, shift, digits, *, has_values: amp.constant):
    """Moves the keys and values of one run to their places."""
    run = t_idx.global_[0]
    first = run * length
    if first < n:
        # The next place of each digit.  Functions would copy the array.
        places = amp.private(_DIGITS, amp.int32)
        last = counts.extent[0] - _DIGITS // 4
        before = 0
        for quad in range(_DIGITS // 4):
            own = counts[run * (_DIGITS // 4) + quad].copy()
            all_ = counts[last + quad].copy()
            digit = 4 * quad
            places[digit] = before + own.x
            places[digit + 1] = before + all_.x + own.y
            places[digit + 2] = before + all_.x + all_.y + own.z
            places[digit + 3] = before + all_.x + all_.y + all_.z + own.w
            before += all_.x + all_.y + all_.z + all_.w
        end = first + min(length, n - first)
        for k in range(first // 4, end // 4):
            a, b, c, d = keys.four(k)
            digit = digits.of(a, shift)
            p = places[digit]
            places[digit] = p + 1
            out[p] = a
            digit = digits.of(b, shift)
            q = places[digit]
            places[digit] = q + 1
            out[q] = b
            digit = digits.of(c, shift)
            r = places[digit]
            places[digit] = r + 1
            out[r] = c
            digit = digits.of(d, shift)
            s = places[digit]
            places[digit] = s + 1
            out[s] = d
            if has_values:
                e, f, g, h = values.four(k)
                moved[p] = e
                moved[q] = f
                moved[r] = g
                moved[s] = h
        for i in range(end // 4 * 4, end):
            key = keys.value(i)
            digit = digits.of(key, shift)
            p = places[digit]
            places[digit] = p + 1
            out[p] = key
            if has_values:
                moved[p] = values.value(i)


def sort_pairs(
    view: amp.accelerator_view,
    keys: lazy.Lazy,
    values: lazy.Lazy | None,
    digits: Any,
    bits: range,
    out: Any,
    moved: Any,
) -> None:
    """Stores the keys in the order of their digits in ``out``, and the values of each in ``moved``.

    ``out`` may be the memory of the keys, and ``moved`` that of the values, if there are more than 8 bits.
    """
    keys = keys.flat()
    if _choose.form_of(view) == "tiles":
        in_tiles = radix_sort_sweep if radix_sort_sweep.can_sweep(view, keys.extent[0]) else radix_sort_tiles
        in_tiles.sort_pairs(view, keys, values, digits, bits, out, moved)
        return
    n, has_values = keys.extent[0], values is not None
    split = _choose.runs(view, n)
    length = max(split.length, _LEAST_RUN)
    runs = -(-n // length)
    domain = _choose.domain_of_runs(view, _choose.Split(runs, length))
    of_digits = _choose.domain_of_runs(view, _choose.Split(_DIGITS // 4, 1))
    counts = amp.array(amp.extent((runs + 1) * _DIGITS // 4), amp.int4, accelerator_view=view)
    given = keys if values is None else values
    for shift, target, target_of_values in passes(view, bits, out, moved if has_values else None):
        amp.parallel_for_each(view, domain, count_digits, keys, counts, n, length, shift, digits)
        amp.parallel_for_each(view, of_digits, scan_counts, counts, runs)
        amp.parallel_for_each(
            view, domain, move_keys, keys, given, counts, target, target_of_values, n, length, shift, digits,
            has_values=has_values,
        )  # fmt: skip
        keys, given = lazy.Elements(target).flat(), lazy.Elements(target_of_values).flat()


def _in_memory(view: amp.accelerator_view, keys: lazy.Lazy) -> lazy.Lazy:
    """Keys of 64 bits without gaps, which are sorted as two words."""
    dtype = dtype_of(keys)
    if dtype.names is not None or dtype.itemsize != 8 or bits_of(keys) is not None:
        return keys
    values = amp.array(keys.extent, dtype, accelerator_view=view)
    store(view, keys, values)
    return lazy.Elements(values)


def order_of(
    view: amp.accelerator_view,
    keys: lazy.Lazy,
    descending: bool,
    bits: tuple[int, int] | None = None,
    items: lazy.Lazy | None = None,
) -> Any:
    """The positions of the keys in their order, in a new array; equal keys keep their order.

    ``bits``: the order is that of the keys' bits from the first to before the second. ``items``: numbers of the keys,
    in place of their positions.
    """
    words, digits, passed = digits_of(_in_memory(view, keys), descending, bits)
    sorted_words = amp.array(keys.extent, dtype_of(words), accelerator_view=view)
    order = amp.array(keys.extent, np.int32, accelerator_view=view)
    if not passed:
        store(view, lazy.arange(keys.extent[0]) if items is None else items, order)
        return order
    given: lazy.Lazy = Positions(keys.extent)
    if items is not None:
        moved = bits_of(items)
        assert isinstance(moved, lazy.Elements)
        given = Numbers(moved.values)
    sort_pairs(view, without_loops(view, words), given, digits, passed, sorted_words, words_in(order))
    return order
