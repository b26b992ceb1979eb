"""How ``sort_by_key``, ``topk`` and ``nth_element`` take a ``counted``: elements after the count come last."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.algorithms._arguments import computed_type, dtype_of, in_words, output, outputs, place, target, value
from vkamp.algorithms._counted_inputs import first_keys, in_order
from vkamp.algorithms._counted_parts import check_axis, count_by, together
from vkamp.algorithms.counted import counted
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.sort import argsort, keys_and_values, taken
from vkamp.algorithms.topk import places_of_best
from vkamp.algorithms.transform import store

_Function = Callable[..., Any]


def _sorted_by_key(
    function: _Function, keys: Any, *values: Any, out: Any = None, accelerator_view: Any = None, **rest: Any
) -> Any:
    plain, count = together([keys, *values])
    sources, outs, view = keys_and_values(plain[0], tuple(plain[1:]), out, accelerator_view)
    order = in_order(argsort, counted(plain[0], count), accelerator_view=view, **rest)
    moved = (taken(view, each, order, own) for each, own in zip(sources, outs, strict=True))
    return tuple(counted(each, count) for each in moved)


def _first_of(out: Any, k: int, n: int) -> Any:
    """A target of ``k`` elements, or its first ``n``; AmpError if it has another extent."""
    if out is None or out is lazy.discard:
        return out
    out = target(out)
    if out.extent != amp.extent(k):
        raise amp.AmpError(f"out has {out.extent!r}, but the result has up to {k} elements")
    return amp.array_view(out)[:n]


def _best(
    function: _Function, c: counted, k: int, *, largest: bool = True, sorted: bool = True, axis: int | None = -1,
    out: Any = None, accelerator_view: Any = None,
) -> Any:  # fmt: skip
    """As many of the best elements as there are, up to ``k``."""
    check_axis(c, axis)
    k = operator.index(k)
    if k < 0:
        raise ValueError(f"cannot find the {k} largest elements")
    if k == 0:
        return np.empty(0, c.dtype), np.empty(0, np.int32)
    source = lazy.of(c.values)
    n = min(k, source.extent[0])
    for_values, for_places = (_first_of(each, k, n) for each in outputs(out, 2))
    view = place(accelerator_view, source, for_values, for_places)
    found = output(for_values, n, dtype_of(source), view, source)
    places = output(for_places, n, np.dtype(np.int32), view, source)
    order = places_of_best(view, first_keys(view, c, largest), n, largest)
    store(view, lazy.of(order), places)
    values, words = in_words(source, found)
    store(view, lazy.take(values, order), words)
    count = count_by(lambda found: min(found, k), c.count, view)
    return counted(found, count), counted(places, count)


class _Nth:
    """For ``lazy.At``: the element at a position of an order, or at the nearest one; of no elements another one."""

    __slots__ = ("count", "k", "order", "other")

    def __init__(self, order: lazy.Lazy, count: device_scalar, k: int, other: Any) -> None:
        self.order, self.count, self.k, self.other = order, count.view, k, other

    @amp.func
    def __call__(self, values: Any, i: Any) -> Any:
        n = self.count[0]
        found = self.other.copy()
        if n > 0:
            at = self.k if self.k >= 0 else self.k + n
            found = values.value(self.order.value(min(max(at, 0), n - 1))).copy()
        return found


def _nth(
    function: _Function, c: counted, k: int, *, less: Any = None, out: Any = None, accelerator_view: Any = None
) -> Any:
    source = lazy.of(c.values)
    n = source.extent[0]
    view = place(accelerator_view, source, out)
    result = output(out, 1, dtype_of(source), view, source)
    order = in_order(argsort, c, less=less, accelerator_view=view)
    values, word = in_words(source, result)
    nth = _Nth(lazy.of(order), c.count, min(max(operator.index(k), -n), n - 1), value(None, computed_type(values)))
    store(view, lazy.At(nth, values, 1), word)
    return device_scalar(result)


#: How each function handles a counted input.
ORDERS: dict[str, Callable[..., Any]] = {"nth_element": _nth, "sort_by_key": _sorted_by_key, "topk": _best}
