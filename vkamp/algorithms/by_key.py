"""Scans and reductions of runs of equal keys: ``scan_by_key``, ``reduce_by_key``, ``unique_by_key`` (Thrust's names).

A run is a segment (see ``segments.py``). The last element of its scan is its reduction. A selection collects these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import element, output, outputs, place, value
from vkamp.algorithms._operators import Heads, closed, identity_of
from vkamp.algorithms.by_key_forms import reduce_runs_into, scan_runs_into
from vkamp.algorithms.counted import counted, of_one_count
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.segments import After, Exclusive, Tails, first_of, scan_pairs
from vkamp.algorithms.select import selected, target_of
from vkamp.algorithms.transform import store


def _pair(keys: Any, values: Any) -> tuple[lazy.Lazy, lazy.Lazy]:
    names, source = lazy.of(keys).flat(), lazy.of(values).flat()
    if names.extent != source.extent:
        raise amp.AmpError(f"there are {names.extent!r} keys, but {source.extent!r} values")
    return names, source


def scan_by_key(
    keys: Any,
    values: Any,
    op: Any = functional.plus,
    *,
    inclusive: bool = True,
    init: Any = None,
    eq: Any = functional.equal_to,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The scan of the values of each run of equal keys, as ``segmented_scan`` (Thrust: ``inclusive_scan_by_key``)."""
    names, source = _pair(keys, values)
    view = place(accelerator_view, source, names, out)
    computed, op = closed(source, op)
    dtype = element(computed)
    if init is None and not inclusive:
        init = identity_of(op, dtype)
    result = output(out, source.extent, dtype, view, source, names, in_place=True)
    if scan_runs_into(view, names, source, result, eq, op, dtype, inclusive=inclusive, init=init):
        return result
    heads = Heads(names, eq)
    found = lazy.Elements(scan_pairs(view, source, heads, op, dtype))
    if not inclusive:
        # The result may be stored in the memory of the keys, whose heads are needed until the end.
        kept = amp.array(source.extent, np.int32, accelerator_view=view)
        store(view, heads, kept)
        store(view, lazy.At(Exclusive(lazy.Elements(kept), value(init, dtype), op), found), result)
    elif init is not None:
        store(view, lazy.map(After(value(init, dtype), op), lazy.map(first_of, found)), result)
    else:
        store(view, lazy.map(first_of, found), result)
    return result


def reduce_by_key(
    keys: Any,
    values: Any,
    op: Any = functional.plus,
    *,
    eq: Any = functional.equal_to,
    out: tuple[Any, Any] | None = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> tuple[counted, counted]:
    """The key of each run of equal keys, and ``op`` of its values, in their order (Thrust: ``reduce_by_key``).

    Sort by key first where all values of a key belong together.  ``out`` is a tuple of targets for both, as that of
    :func:`select`.
    """
    for_keys, for_values = outputs(out, 2)
    names, source = _pair(keys, values)
    view = place(accelerator_view, source, names, for_keys, for_values)
    computed, op = closed(source, op)
    dtype = element(computed)
    keys_out = target_of(for_keys, names, lazy.dtype_of(names), view, source)
    values_out = target_of(for_values, source, dtype, view, names)
    count = amp.array(amp.extent(1), np.int32, accelerator_view=view)
    if reduce_runs_into(
        view, names, source, keys_out, values_out, count, eq, op, dtype,
        own_keys=for_keys is None, own_values=for_values is None,
    ):  # fmt: skip
        many, most = device_scalar(count), names.extent[0]
        return counted(keys_out, many, most), counted(values_out, many, most)
    heads = Heads(names, eq)
    found = scan_pairs(view, source, heads, op, dtype)
    tails = lazy.At(Tails(lazy.constant(source.extent[0], 1)), heads)
    return of_one_count(
        selected(heads, names, for_keys, view),
        selected(tails, lazy.map(first_of, lazy.Elements(found)), for_values, view, dtype=dtype),
    )


def unique_by_key(
    keys: Any,
    values: Any,
    eq: Any = functional.equal_to,
    *,
    out: tuple[Any, Any] | None = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> tuple[counted, counted]:
    """The first key of each run of equal ones, and its value (Thrust: ``unique_by_key``).

    ``out`` is a tuple of targets for both, as that of :func:`select`.
    """
    for_keys, for_values = outputs(out, 2)
    names, source = _pair(keys, values)
    view = place(accelerator_view, source, names, for_keys, for_values)
    heads = Heads(names, eq)
    return of_one_count(selected(heads, names, for_keys, view), selected(heads, source, for_values, view))
