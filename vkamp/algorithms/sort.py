"""``sort``, ``argsort``, ``sort_by_key``: always stable."""

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, lazy, merge_sort, radix_sort, topk_tiles
from vkamp.algorithms._arguments import dtype_of, in_words, output, place
from vkamp.algorithms._digits import bits_of, digits_of, words_in, words_of
from vkamp.algorithms.transform import store

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


def taken(view: amp.accelerator_view, source: lazy.Lazy, order: Any, out: Any) -> Any:
    extent = order.extent
    result = output(out, extent, dtype_of(source), view, source, in_place=True)
    is_in_place = any(result.overlaps(each) for each in source.containers())
    ordered = output(None, extent, dtype_of(source), view) if is_in_place else result
    values, target = in_words(source, ordered)
    store(view, lazy.take(values, order), target)
    if is_in_place:
        amp.copy(ordered, result)
    return result


def _sorted_keys(
    view: amp.accelerator_view,
    source: lazy.Lazy,
    descending: bool,
    bits: Bits | None,
    out: Any,
    value: lazy.Lazy | None = None,
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
    values = output(None, value.extent, dtype_of(value), view)
    radix_sort.sort_pairs(view, keys, moved, digits, passed, target, words_in(values))
    return result, values


def _merge_sorted(
    view: amp.accelerator_view, source: lazy.Lazy, less: Any, descending: bool, out: Any, value: lazy.Lazy | None = None
) -> tuple[Any, ...] | None:
    """The elements by a comparison, moved by the sort itself, and a value of each; None where it sorts positions."""
    sources = [source] if value is None else [source, value]
    if not all(isinstance(each, lazy.Elements) and _moves_in_kernels(dtype_of(each)) for each in sources):
        return None
    result = output(out, source.extent, dtype_of(source), view, source, in_place=True)
    if result.dtype != dtype_of(source):
        return None
    values = None if value is None else output(None, value.extent, dtype_of(value), view)
    merge_sort.sort_pairs(view, source, value, merge_sort.comparison(less, descending), result, values)
    return (result,) if value is None else (result, values)


def _moves_in_kernels(dtype: np.dtype[Any]) -> bool:
    """Whether kernels keep elements of a type bit for bit, and a tile has room for several for each thread."""
    is_number = dtype.names is None and dtype.kind in "iu" and dtype.itemsize in (4, 8)
    return is_number or dtype in (np.dtype(np.float32), np.dtype(np.float64))


def _row(a: Any) -> lazy.Lazy:
    source = lazy.of(a)
    if source.extent.rank != 1:
        raise TypeError(f"sorting needs rank 1, not {source.extent!r}: sort reshape(-1), or the rows one by one")
    return source


def argsort(
    a: Any,
    *,
    descending: bool = False,
    less: Any = None,
    key: Any = None,
    bits: Bits | None = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The positions of the elements in their order, as int32; equal elements keep their order.

    NaN comes last, descending it comes first.  ``less(x, y)`` is another order; ``key(x)`` is the number to sort by.
    ``bits=(first, end)`` sorts integers by their bits from ``first``, 0 being the lowest, to before ``end``; the
    highest bit of a signed type is inverted, as negative numbers come first (CUB: ``begin_bit``, ``end_bit``).
    """
    source = _row(a)
    return order_of(place(accelerator_view, source), source, descending, less, key, bits)


def sort(
    a: Any,
    *,
    descending: bool = False,
    less: Any = None,
    key: Any = None,
    bits: Bits | None = None,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The elements in their order, as :func:`argsort`, which are kept bit for bit.  ``out`` may be the input."""
    source = _row(a)
    view = place(accelerator_view, source, out)
    if less is None and key is None:
        found = _sorted_keys(view, source, descending, bits, out)
        if found is not None:
            return found[0]
    if less is not None and key is None and bits is None:
        found = _merge_sorted(view, source, less, descending, out)
        if found is not None:
            return found[0]
    return taken(view, source, order_of(view, source, descending, less, key, bits), out)


def sort_by_key(
    keys: Any,
    *values: Any,
    descending: bool = False,
    less: Any = None,
    bits: Bits | None = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> tuple[Any, ...]:
    """The keys in their order, and the values of each in the order of their keys; ``bits`` as :func:`argsort`."""
    sources = [_row(each) for each in (keys, *values)]
    for each in sources[1:]:
        if each.extent != sources[0].extent:
            raise amp.AmpError(f"there are {sources[0].extent!r} keys, but {each.extent!r} values")
    view = place(accelerator_view, *sources)
    if less is None and len(sources) == 2:
        found = _sorted_keys(view, sources[0], descending, bits, None, sources[1])
        if found is not None:
            return found
    if less is not None and bits is None and len(sources) == 2:
        found = _merge_sorted(view, sources[0], less, descending, None, sources[1])
        if found is not None:
            return found
    order = order_of(view, sources[0], descending, less, None, bits)
    return tuple(taken(view, each, order, None) for each in sources)


def _places_of_best(view: amp.accelerator_view, source: lazy.Lazy, k: int, largest: bool) -> Any:
    """The positions of the ``k`` first elements in their order."""
    is_short = _choose.form_of(view) == "tiles" and k <= topk_tiles.MOST
    if is_short and dtype_of(source).names is None and dtype_of(source).itemsize <= 4:
        [(words, _)] = words_of(source)
        return topk_tiles.places_of_best(view, words if largest else lazy.map(_inverted, words), k)
    return amp.array_view(order_of(view, source, largest, None, None))[:k]


@amp.func
def _inverted(word: Any) -> Any:
    return ~word


def topk(
    a: Any, k: int, *, largest: bool = True, accelerator_view: amp.accelerator_view | None = None
) -> tuple[Any, Any]:
    """The ``k`` largest elements (or smallest), in that order, and their positions; of equal ones the first.

    Raises ValueError if there are fewer than ``k``.
    """
    source = _row(a)
    if not 1 <= k <= source.extent[0]:
        raise ValueError(f"there are no {k} largest of {source.extent[0]} elements")
    view = place(accelerator_view, source)
    order = _places_of_best(view, source, k, largest)
    found = amp.array(amp.extent(k), dtype_of(source), accelerator_view=view)
    values, target = in_words(source, found)
    store(view, lazy.take(values, order), target)
    if isinstance(order, amp.array):
        return found, order
    # A copy, so that the memory of the other positions is released.
    at = amp.array(amp.extent(k), np.int32, accelerator_view=view)
    store(view, lazy.of(order), at)
    return found, at
