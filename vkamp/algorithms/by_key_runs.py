"""Reductions and scans of runs of equal keys on CPU drivers. Each invocation handles one piece of the elements.

A first launch counts the runs that begin in each piece, and combines the values of the last of these runs. One
invocation carries both results from piece to piece. A second launch stores the results.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, lazy
from vkamp.algorithms._arguments import value
from vkamp.algorithms._loops import longest_run
from vkamp.algorithms._outputs import output_of


@amp.kernel
def total_pieces(t_idx, keys, values, totals, counts, n, length, eq, op):
    """The number of runs that begin in each piece, and the combination of its values from the beginning of the last
    one on; or of all its values if no run begins there.
    """
    piece = t_idx.global_[0]
    first = piece * length
    if first < n:
        end = first + min(length, n - first)
        before = keys.value(first).copy()
        total = values.value(first).copy()
        heads = 1 if first == 0 or not eq(keys.value(max(first - 1, 0)), before) else 0
        # The first elements are handled singly, so that the others can be loaded four at a time.
        middle = min((first + 4) // 4 * 4, end)
        for i in range(first + 1, middle):
            before, total, heads = _count(before, total, heads, keys.value(i), values.value(i), eq, op)
        for k in range(middle // 4, end // 4):
            p, q, r, s = keys.four(k)
            a, b, c, d = values.four(k)
            _, total, heads = _count(before, total, heads, p, a, eq, op)
            _, total, heads = _count(p, total, heads, q, b, eq, op)
            _, total, heads = _count(q, total, heads, r, c, eq, op)
            before, total, heads = _count(r, total, heads, s, d, eq, op)
        for i in range(max(middle, end // 4 * 4), end):
            before, total, heads = _count(before, total, heads, keys.value(i), values.value(i), eq, op)
        totals[piece] = total
        counts[piece] = heads


@amp.func
def _count(before: Any, total: Any, heads: Any, key: Any, x: Any, eq: Any, op: Any) -> Any:
    is_same = eq(before, key)
    # The operator is evaluated in any case: processors predict such branches badly.
    both = op(total, x)
    return key, both if is_same else x, heads + (0 if is_same else 1)


@amp.kernel
def carry_pieces(idx, totals, counts, op):
    """Replaces the total of each piece by the value carried out of it, and its count by that of the pieces before it.

    The last count is the number of all runs.
    """
    pieces = totals.extent[0]
    if idx[0] == 0:
        heads = counts[0]
        counts[0] = 0
        carried = totals[0].copy()
        for k in range(1, pieces):
            own = counts[k]
            carried = totals[k].copy() if own > 0 else op(carried, totals[k])
            totals[k] = carried
            counts[k] = heads
            heads += own
        counts[pieces] = heads


@amp.func
def _put(
    keys_out: Any, values_out: Any, unused: Any, before: Any, total: Any, at: Any, key: Any, x: Any, eq: Any, op: Any,
    *, own_keys: amp.constant, own_values: amp.constant,
) -> Any:  # fmt: skip
    """Stores the value of the run number ``at - 1``, and the key of the next one, if an element begins that.

    Returns the element's key, the value so far, and the number of the next run. If the results have room for all
    elements, other values go to an unused position, which avoids a branch.
    """
    is_same = eq(before, key)
    both = op(total, x)
    if own_keys:
        keys_out[unused if is_same else at] = key
    elif not is_same and at < keys_out.extent[0]:
        keys_out[at] = key
    if own_values:
        values_out[unused if is_same else at - 1] = total
    elif not is_same and at - 1 < values_out.extent[0]:
        values_out[at - 1] = total
    return key, both if is_same else x, at + (0 if is_same else 1)


@amp.kernel
def reduce_pieces(
    t_idx, keys, values, totals, counts, keys_out, values_out, count, n, length, eq, op, *,
    own_keys: amp.constant, own_values: amp.constant,
):  # fmt: skip
    """Stores the key of each run that begins in a piece, and the combination of each that ends there, because another
    one begins, or because it is the last one.
    """
    piece = t_idx.global_[0]
    first = piece * length
    if first < n:
        end = first + min(length, n - first)
        # Behind the results, and the number of elements before the piece that begin no run: no other piece's.
        unused = counts[totals.extent[0]] + first - counts[piece]
        start = max(first, 1)
        before = keys.value(start - 1).copy()
        total = totals[max(piece - 1, 0)].copy()
        at = counts[piece]
        if piece == 0:
            total = values.value(0).copy()
            keys_out[0] = before
            at = 1
        middle = min((start + 3) // 4 * 4, end)
        for i in range(start, middle):
            before, total, at = _put(
                keys_out, values_out, unused, before, total, at, keys.value(i), values.value(i), eq, op,
                own_keys=own_keys, own_values=own_values,
            )  # fmt: skip
        for k in range(middle // 4, end // 4):
            p, q, r, s = keys.four(k)
            a, b, c, d = values.four(k)
            before, total, at = _put(
                keys_out, values_out, unused, before, total, at, p, a, eq, op, own_keys=own_keys, own_values=own_values
            )
            before, total, at = _put(
                keys_out, values_out, unused, before, total, at, q, b, eq, op, own_keys=own_keys, own_values=own_values
            )
            before, total, at = _put(
                keys_out, values_out, unused, before, total, at, r, c, eq, op, own_keys=own_keys, own_values=own_values
            )
            before, total, at = _put(
                keys_out, values_out, unused, before, total, at, s, d, eq, op, own_keys=own_keys, own_values=own_values
            )
        for i in range(max(middle, end // 4 * 4), end):
            before, total, at = _put(
                keys_out, values_out, unused, before, total, at, keys.value(i), values.value(i), eq, op,
                own_keys=own_keys, own_values=own_values,
            )  # fmt: skip
        if end == n:
            count[0] = at
            if at - 1 < values_out.extent[0]:
                values_out[at - 1] = total


@amp.func
def _scanned(
    before: Any, total: Any, key: Any, x: Any, eq: Any, op: Any, init: Any, *,
    inclusive: amp.constant, has_init: amp.constant,
) -> Any:  # fmt: skip
    """The result for an element, and the value so far."""
    is_same = eq(before, key)
    both = op(total, x)
    upto = both if is_same else x
    if inclusive:
        result = op(init, upto) if has_init else upto
    else:
        after = op(init, total)
        result = after if is_same else init
    return result.copy(), upto.copy()


@amp.kernel
def scan_pieces(
    t_idx, keys, values, totals, out, n, length, init, eq, op, *, inclusive: amp.constant, has_init: amp.constant
):  # fmt: skip
    """Scans the values of each run in one piece."""
    piece = t_idx.global_[0]
    first = piece * length
    if first < n:
        end = first + min(length, n - first)
        start = max(first, 1)
        before = keys.value(start - 1).copy()
        total = totals[max(piece - 1, 0)].copy()
        if piece == 0:
            total = values.value(0).copy()
            result = init.copy()
            if inclusive:
                result = op(init, total) if has_init else total.copy()
            out.store(0, result)
        middle = min((start + 3) // 4 * 4, end)
        for i in range(start, middle):
            key = keys.value(i).copy()
            w, total = _scanned(
                before, total, key, values.value(i), eq, op, init, inclusive=inclusive, has_init=has_init
            )
            out.store(i, w)
            before = key.copy()
        for k in range(middle // 4, end // 4):
            p, q, r, s = keys.four(k)
            a, b, c, d = values.four(k)
            w, total = _scanned(before, total, p, a, eq, op, init, inclusive=inclusive, has_init=has_init)
            x, total = _scanned(p, total, q, b, eq, op, init, inclusive=inclusive, has_init=has_init)
            y, total = _scanned(q, total, r, c, eq, op, init, inclusive=inclusive, has_init=has_init)
            z, total = _scanned(r, total, s, d, eq, op, init, inclusive=inclusive, has_init=has_init)
            out.store_four(k, w, x, y, z)
            before = s
        for i in range(max(middle, end // 4 * 4), end):
            key = keys.value(i).copy()
            w, total = _scanned(
                before, total, key, values.value(i), eq, op, init, inclusive=inclusive, has_init=has_init
            )
            out.store(i, w)
            before = key.copy()


def split_of(view: amp.accelerator_view, keys: lazy.Lazy, values: lazy.Lazy, eq: Any, op: Any) -> _choose.Split | None:
    """The division into pieces; ``None`` if a piece would need more iterations than one invocation may have."""
    longest = min(longest_run(view, values, op, keys), longest_run(view, keys, eq))
    split = _choose.runs(view, keys.extent[0], longest)
    return split if split.pieces <= longest else None


def _totals(
    view: amp.accelerator_view, keys: lazy.Lazy, values: lazy.Lazy, split: _choose.Split, eq: Any, op: Any,
    dtype: np.dtype[Any],
) -> tuple[Any, Any]:  # fmt: skip
    """The value carried out of each piece, and the number of runs that begin before it."""
    totals = amp.array(amp.extent(split.pieces), dtype, accelerator_view=view)
    counts = amp.array(amp.extent(split.pieces + 1), np.int32, accelerator_view=view)
    domain = _choose.domain_of_runs(view, split)
    n = keys.extent[0]
    amp.parallel_for_each(view, domain, total_pieces, keys, values, totals, counts, n, split.length, eq, op)
    amp.parallel_for_each(view, amp.extent(1), carry_pieces, totals, counts, op)
    return totals, counts


def scan_by_key_into(
    view: amp.accelerator_view, keys: lazy.Lazy, values: lazy.Lazy, split: _choose.Split, out: Any, eq: Any, op: Any,
    dtype: np.dtype[Any], *, inclusive: bool, init: Any,
) -> None:  # fmt: skip
    """Scans the values of each run into ``out``, which must not overlap the inputs."""
    totals, _ = _totals(view, keys, values, split, eq, op, dtype)
    amp.parallel_for_each(
        view, _choose.domain_of_runs(view, split), scan_pieces, keys, values, totals, output_of(out), keys.extent[0],
        split.length, value(init, dtype), eq, op, inclusive=inclusive, has_init=init is not None,
    )  # fmt: skip


def reduce_by_key_into(
    view: amp.accelerator_view, keys: lazy.Lazy, values: lazy.Lazy, split: _choose.Split, keys_out: Any,
    values_out: Any, count: Any, eq: Any, op: Any, dtype: np.dtype[Any], *, own_keys: bool, own_values: bool,
) -> None:  # fmt: skip
    """Stores the key of each run, the combination of its values, in a given type, and the number of runs.

    ``own_keys``, ``own_values``: the result is new, and has room for all elements.
    """
    totals, counts = _totals(view, keys, values, split, eq, op, dtype)
    amp.parallel_for_each(
        view, _choose.domain_of_runs(view, split), reduce_pieces, keys, values, totals, counts, keys_out, values_out,
        count, keys.extent[0], split.length, eq, op, own_keys=own_keys, own_values=own_values,
    )  # fmt: skip
