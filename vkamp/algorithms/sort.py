"""``sort``, ``argsort``, ``sort_by_key``: always stable."""

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy, merge_sort, radix_sort, sort_lines_digits, sort_lines_tiles
from vkamp.algorithms._arguments import (
    apart,
    axis_of,
    dtype_of,
    in_a_row,
    in_words,
    output,
    outputs,
    place,
    refuse_overlap,
)
from vkamp.algorithms._digits import bits_of, digits_of, words_in
from vkamp.algorithms._results import result_row
from vkamp.algorithms.sort_lines import along_lines, order_in_lines, sort_words
from vkamp.algorithms.transform import store
from vkamp.algorithms.transpose import permute_dims

Bits = tuple[int, int]


def order_of(
    view: amp.accelerator_view, source: lazy.Lazy, descending: bool, less: Any, key: Any, bits: Bits | None = None
) -> Any:
    keys = source if key is None else lazy.map(key, source)
    if key is not None and dtype_of(keys).kind == "c":
        raise TypeError("complex numbers have no order: key= returns a real number, such as abs(z)")
    if less is not None:
        if bits is not None:
            raise TypeError("give less= or bits=")
        return merge_sort.order_of(view, keys, less, descending)
    return radix_sort.order_of(view, keys, descending, bits)


def taken(
    view: amp.accelerator_view, source: lazy.Lazy, order: Any, out: Any, dtype: np.dtype[Any] | None = None
) -> Any:
    """The elements at given positions, in ``out`` or a new array, of the source's type unless ``dtype`` is given."""
    extent, dtype = order.extent, dtype_of(source) if dtype is None else dtype
    result = output(out, extent, dtype, view, source, in_place=True, in_any_order=True)
    with apart(result, source, view) as ordered:
        values, target = in_words(source, ordered)
        store(view, lazy.take(values, order), target)
    return result


def _sorted_keys(
    view: amp.accelerator_view,
    source: lazy.Lazy,
    descending: bool,
    bits: Bits | None,
    out: Any,
    value: lazy.Lazy | None = None,
    value_out: Any = None,
) -> tuple[Any, ...] | None:
    """The keys, and the value of each, moved by the sort itself; None where it has to sort positions."""
    keys, moved = bits_of(source), None if value is None else bits_of(value)
    if keys is None or (value is not None and moved is None):
        return None
    keys, digits, passed = digits_of(source, descending, bits)
    if len(passed) < 2:
        # One pass cannot move keys in their place.
        return None
    result = output(out, source.extent, dtype_of(source), view, source, in_place=True)
    target = words_in(result)
    if target is None or result.dtype != dtype_of(source):
        return None
    if value is None:
        radix_sort.sort_pairs(view, keys, None, digits, passed, target, None)
        return (result,)
    values = output(value_out, value.extent, dtype_of(value), view, value, in_place=True)
    target_of_values = words_in(values)
    if target_of_values is None or values.dtype != dtype_of(value):
        return None
    radix_sort.sort_pairs(view, keys, moved, digits, passed, target, target_of_values)
    return result, values


def _merge_sorted(
    view: amp.accelerator_view,
    source: lazy.Lazy,
    less: Any,
    descending: bool,
    out: Any,
    value: lazy.Lazy | None = None,
    value_out: Any = None,
) -> tuple[Any, ...] | None:
    """The elements by a comparison, moved by the sort itself, and a value of each; None where it sorts positions."""
    sources = [source] if value is None else [source, value]
    if not all(isinstance(each, lazy.Elements) and _moves_in_kernels(dtype_of(each)) for each in sources):
        return None
    result = output(out, source.extent, dtype_of(source), view, source, in_place=True)
    if result.dtype != dtype_of(source):
        return None
    values = None
    if value is not None:
        values = output(value_out, value.extent, dtype_of(value), view, value, in_place=True)
        if values.dtype != dtype_of(value) or any(values.overlaps(each) for each in value.containers()):
            # The values are loaded after others have been stored.
            return None
    merge_sort.sort_pairs(view, source, value, merge_sort.comparison(less, descending), result, values)
    return (result,) if value is None else (result, values)


def _moves_in_kernels(dtype: np.dtype[Any]) -> bool:
    """Whether kernels keep elements of a type bit for bit, and a tile has room for several for each thread."""
    is_number = dtype.names is None and dtype.kind in "iu" and dtype.itemsize in (4, 8)
    return is_number or dtype in (np.dtype(np.float32), np.dtype(np.float64))


def _row(a: Any) -> lazy.Lazy:
    source = lazy.of(a)
    if source.extent.rank != 1:
        raise TypeError(f"sorting needs rank 1, not {source.extent!r}: take reshape(-1)")
    return source


def _sorted_row(
    view: amp.accelerator_view, source: lazy.Lazy, out: Any, descending: bool, less: Any, key: Any, bits: Bits | None
) -> Any:
    if less is None and key is None:
        found = _sorted_keys(view, source, descending, bits, out)
        if found is not None:
            return found[0]
    if less is not None and key is None and bits is None:
        found = _merge_sorted(view, source, less, descending, out)
        if found is not None:
            return found[0]
    return taken(view, source, order_of(view, source, descending, less, key, bits), out)


def sorted_lines(
    view: amp.accelerator_view,
    source: lazy.Lazy,
    length: int,
    out: Any,
    descending: bool,
    less: Any = None,
    key: Any = None,
    bits: Bits | None = None,
) -> Any:
    """Each line of a row of elements in its order, in a row."""
    if length == source.extent[0]:
        return _sorted_row(view, source, out, descending, less, key, bits)
    keys = source if key is None else lazy.map(key, source)
    if less is None and key is None and bits is None:
        out = output(out, source.extent, dtype_of(source), view, source, in_place=True)
        if sort_lines_digits.sort(view, source, length, descending, out):
            return out
    if less is None and bits is None and sort_lines_tiles.is_short(view, keys, length):
        result = output(out, source.extent, dtype_of(source), view, source, in_place=True)
        sort_lines_tiles.sort(view, keys, source, length, descending, result)
        return result
    if less is None and key is None and bits is None and sort_words(view, source, length, descending, out):
        return out
    order = order_of(view, source, descending, less, key, bits)
    return taken(view, source, order_in_lines(view, order, length), out)


def in_rows(a: Any, axis: int | None) -> tuple[lazy.Lazy, tuple[int, ...]]:
    """An input, and its axes in the order in which the lines along an axis are rows."""
    source = lazy.of(a)
    if axis is None:
        return source.flat(), (0,)
    axis = axis_of(source.extent, axis)
    axes = list(range(source.extent.rank))
    return source, (*axes[:axis], *axes[axis + 1 :], axis)


def swapped_back(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(axes.index(at) for at in range(len(axes)))


def argsort(
    a: Any,
    *,
    axis: int | None = -1,
    descending: bool = False,
    less: Any = None,
    key: Any = None,
    bits: Bits | None = None,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The positions of the elements along an ``axis`` in their order, as int32; equal elements keep their order.

    ``axis=None``: those of all elements in a row, in row-major order. NaN comes last, descending it comes first.
    ``less(x, y)`` is another order; ``key(x)`` is the number to sort by. ``bits=(first, end)`` sorts integers by their
    bits from ``first``, 0 being the lowest, to before ``end``; the highest bit of a signed type is inverted, as
    negative numbers come first (CUB: ``begin_bit``, ``end_bit``).
    """
    source, axes = in_rows(a, axis)
    view = place(accelerator_view, source, out)
    is_in_rows = axes[-1] == len(axes) - 1
    if out is None and len(axes) == 1:
        return order_of(view, source, descending, less, key, bits)
    if out is None and not is_in_rows:
        rows = permute_dims(source, axes, accelerator_view=view)
        found = argsort(rows, descending=descending, less=less, key=key, bits=bits, accelerator_view=view)
        return permute_dims(found, swapped_back(axes), accelerator_view=view)
    with result_row(out, source.extent, np.dtype(np.int32), view, source) as (result, row):
        if len(axes) > 1 and is_in_rows:
            _order_of_lines(view, source.flat(), source.extent[len(axes) - 1], row, descending, less, key, bits)
        else:
            found = argsort(
                source, axis=axes[-1], descending=descending, less=less, key=key, bits=bits, accelerator_view=view
            )
            store(view, lazy.of(found).flat(), row)
    return result


def _order_of_lines(
    view: amp.accelerator_view,
    source: lazy.Lazy,
    length: int,
    out: Any,
    descending: bool,
    less: Any,
    key: Any,
    bits: Bits | None,
) -> None:
    """Stores the positions of the elements of each line of a row, in their order."""
    keys = source if key is None else lazy.map(key, source)
    if less is None and bits is None:
        if sort_lines_digits.sort(view, keys, length, descending, out, positions=True):
            return
        if sort_lines_tiles.is_short(view, keys, length):
            sort_lines_tiles.sort(view, keys, source, length, descending, out, positions=True)
            return
    order = order_of(view, source, descending, less, key, bits)
    along_lines(view, order_in_lines(view, order, length), length, out)


def sort(
    a: Any,
    *,
    axis: int | None = -1,
    descending: bool = False,
    less: Any = None,
    key: Any = None,
    bits: Bits | None = None,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The elements along an ``axis`` in their order, as :func:`argsort`, which are kept bit for bit.

    ``axis=None``: all elements in a row. ``out`` may be the input.
    """
    source, axes = in_rows(a, axis)
    view = place(accelerator_view, source, out)
    if len(axes) > 1 and axes[-1] != len(axes) - 1:
        rows = permute_dims(source, axes, accelerator_view=view)
        sort(rows, descending=descending, less=less, key=key, bits=bits, out=rows, accelerator_view=view)
        return permute_dims(rows, swapped_back(axes), out=out, accelerator_view=view)
    if len(axes) > 1:
        result = output(out, source.extent, dtype_of(source), view, source, in_place=True)
        with in_a_row(result, view) as row:
            sorted_lines(view, source.flat(), source.extent[len(axes) - 1], row, descending, less, key, bits)
        return result
    return _sorted_row(view, source, out, descending, less, key, bits)


def keys_and_values(
    keys: Any, values: tuple[Any, ...], out: Any, accelerator_view: amp.accelerator_view | None
) -> tuple[list[lazy.Lazy], tuple[Any, ...], amp.accelerator_view]:
    """Keys and values as lazy inputs, their targets, and where a sort of them runs.

    Raises AmpError or TypeError if they do not fit together.
    """
    sources = [_row(each) for each in (keys, *values)]
    for each in sources[1:]:
        if each.extent != sources[0].extent:
            raise amp.AmpError(f"there are {sources[0].extent!r} keys, but {each.extent!r} values")
    outs = outputs(out, len(sources))
    view = place(accelerator_view, *sources, *outs)
    for k, each in enumerate(outs):
        if each is not None and each is not lazy.discard:
            output(each, sources[k].extent, dtype_of(sources[k]), view, sources[k], in_place=True)
            refuse_overlap(each, *sources[:k], *sources[k + 1 :])
    return sources, outs, view


def sort_by_key(
    keys: Any,
    *values: Any,
    descending: bool = False,
    less: Any = None,
    bits: Bits | None = None,
    out: tuple[Any, ...] | None = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> tuple[Any, ...]:
    """The keys in their order, and the values of each in the order of their keys; ``bits`` as :func:`argsort`.

    ``out`` is a tuple of targets for all of them, each of which may be its input.
    """
    sources, outs, view = keys_and_values(keys, values, out, accelerator_view)
    if less is None and len(sources) == 2:
        found = _sorted_keys(view, sources[0], descending, bits, outs[0], sources[1], outs[1])
        if found is not None:
            return found
    if less is not None and bits is None and len(sources) == 2:
        found = _merge_sorted(view, sources[0], less, descending, outs[0], sources[1], outs[1])
        if found is not None:
            return found
    order = order_of(view, sources[0], descending, less, None, bits)
    return tuple(taken(view, each, order, own) for each, own in zip(sources, outs, strict=True))
