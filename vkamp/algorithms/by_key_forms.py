"""The choice of a form for scans and reductions of runs of equal keys that needs no pairs of an element and a flag."""

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, by_key_runs, by_key_tiles, lazy
from vkamp.algorithms._arguments import in_a_row


@amp.func
def continues(_before: Any, flag: Any) -> Any:
    """The test whether an element continues the run of the one before it, if flags of first elements are given
    instead of keys.
    """
    return flag == 0


def scan_runs_into(
    view: amp.accelerator_view, keys: lazy.Lazy, values: lazy.Lazy, out: Any, eq: Any, op: Any, dtype: np.dtype[Any],
    *, inclusive: bool, init: Any,
) -> bool:  # fmt: skip
    """Scans the values of each run into ``out``, which may be their memory; returns False if no form can do it."""
    # Elements of a container are read before results are stored in its memory.
    others = keys.containers() + ([] if isinstance(values, lazy.Elements) else values.containers())
    if any(out.overlaps(each) for each in others):
        return False
    if _choose.form_of(view) == "tiles":
        if not by_key_tiles.can_reduce(keys, dtype):
            return False
        with in_a_row(out, view) as row:
            by_key_tiles.scan_by_key_into(view, keys, values, row, eq, op, dtype, inclusive=inclusive, init=init)
        return True
    split = by_key_runs.split_of(view, keys, values, eq, op)
    if split is None:
        return False
    with in_a_row(out, view) as row:
        by_key_runs.scan_by_key_into(view, keys, values, split, row, eq, op, dtype, inclusive=inclusive, init=init)
    return True


def reduce_runs_into(
    view: amp.accelerator_view, keys: lazy.Lazy, values: lazy.Lazy, keys_out: Any, values_out: Any, count: Any,
    eq: Any, op: Any, dtype: np.dtype[Any], *, own_keys: bool, own_values: bool,
) -> bool:  # fmt: skip
    """Stores the key of each run, the combination of its values, and the number of runs; returns False if no form
    can do it.

    ``own_keys``, ``own_values``: the result is new, and has room for all elements.
    """
    if _choose.form_of(view) == "tiles":
        stored = lazy.Elements(keys_out)
        if not (by_key_tiles.can_reduce(keys, dtype) and by_key_tiles.can_reduce(stored, values_out.dtype)):
            return False
        by_key_tiles.reduce_by_key_into(view, keys, values, keys_out, values_out, count, eq, op, dtype)
        return True
    split = by_key_runs.split_of(view, keys, values, eq, op)
    if split is None:
        return False
    by_key_runs.reduce_by_key_into(
        view, keys, values, split, keys_out, values_out, count, eq, op, dtype, own_keys=own_keys, own_values=own_values
    )
    return True
