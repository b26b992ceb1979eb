"""How merges and set operations take a ``counted``: they order the positions of the elements.

Positions after the counts come last in the order, so no function waits for a count.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import output, outputs, place
from vkamp.algorithms._counted_inputs import in_order, unique_of
from vkamp.algorithms._counted_parts import (
    ByPosition,
    Has,
    OfTwoTypes,
    UpToCount,
    count_of,
    elements_of,
    given,
    like_input,
    positions_in,
    together,
    up_to,
)
from vkamp.algorithms._exact import exactly, of_one_type, refuse_different
from vkamp.algorithms._operators import sorts_before
from vkamp.algorithms.counted import counted
from vkamp.algorithms.merge import Joined, merge
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.search import all
from vkamp.algorithms.select import selected
from vkamp.algorithms.sets import Contained, Unlike, has_partner, ordered, selected_among, stored
from vkamp.algorithms.sort import argsort, taken
from vkamp.algorithms.transform import store, transform

_Function = Callable[..., Any]


def count_of_both(view: amp.accelerator_view, a: Any, b: Any) -> device_scalar:
    return device_scalar(transform(functional.plus, count_of(a), count_of(b), accelerator_view=view))


# -- sorted inputs -------------------------------------------------------------------------------------------------


def _alike(view: amp.accelerator_view, a: Any, b: Any) -> tuple[Any, Any, np.dtype[Any]]:
    """Two inputs, converted to their common type, and this type."""
    left, right, dtype = of_one_type(view, elements_of(a), elements_of(b))
    return like_input(a, left), like_input(b, right), dtype


class _Ordered(NamedTuple):
    """The order of the positions in two sorted inputs, the type of the result, and where the call runs."""

    order: ByPosition
    dtype: np.dtype[Any]
    view: amp.accelerator_view


def _by_positions(a: Any, b: Any, less: Any, out: Any, accelerator_view: Any) -> _Ordered:
    """The order of elements that are converted to one type."""
    view = place(accelerator_view, elements_of(a), elements_of(b), out)
    a, b, dtype = _alike(view, a, b)
    return _Ordered(ByPosition(a, b, less), dtype, view)


def _by_first(a: Any, b: Any, less: Any, out: Any, accelerator_view: Any) -> _Ordered:
    """The order of elements that keep their types; the result has the first one."""
    first, second = elements_of(a), elements_of(b)
    refuse_different(first, second)
    view, dtype = place(accelerator_view, first, second, out), lazy.dtype_of(first)
    kind = ByPosition if dtype == lazy.dtype_of(second) else OfTwoTypes
    return _Ordered(kind(a, b, exactly(less, first, second)), dtype, view)


def _of_positions(function: _Function, a: Any, b: Any, ordered: _Ordered) -> Any:
    """A function's result of the positions in two sorted inputs."""
    order = ordered.order
    return function(positions_in(a), positions_in(b, order.size), order, accelerator_view=ordered.view)


def _merged(
    function: _Function, a: Any, b: Any, less: Any = sorts_before, *, out: Any = None, accelerator_view: Any = None
) -> Any:
    order, dtype, view = by = _by_positions(a, b, less, out, accelerator_view)
    found = _of_positions(function, a, b, by)
    return counted(taken(view, order.both, found, out, dtype), count_of_both(view, a, b))


def _keys_and_values(keys: Any, values: Any) -> tuple[Any, Any]:
    """The keys and values of one side, both counted if one is."""
    count = together([keys, values])[1] if any(isinstance(each, counted) for each in (keys, values)) else None
    first, second = elements_of(keys), elements_of(values)
    if first.extent != second.extent:
        raise amp.AmpError(f"there are {first.extent!r} keys, but {second.extent!r} values")
    return (first, second) if count is None else (counted(first, count), counted(second, count))


def _merged_by_key(
    function: _Function, keys_a: Any, keys_b: Any, values_a: Any, values_b: Any, less: Any = sorts_before, *,
    out: Any = None, accelerator_view: Any = None,
) -> Any:  # fmt: skip
    sides = [_keys_and_values(*pair) for pair in ((keys_a, values_a), (keys_b, values_b))]
    (a, of_a), (b, of_b) = sides
    for_keys, for_values = outputs(out, 2)
    inputs = map(elements_of, (a, b, of_a, of_b))
    order, dtype, view = by = _by_positions(a, b, less, None, place(accelerator_view, *inputs, for_keys, for_values))
    of_a, of_b, of_values = _alike(view, of_a, of_b)
    found, count = _of_positions(merge, a, b, by), count_of_both(view, a, b)
    moved = Joined(elements_of(of_a), elements_of(of_b))
    keys = taken(view, order.both, found, for_keys, dtype)
    return counted(keys, count), counted(taken(view, moved, found, for_values, of_values), count)


def _set_operation(by: Callable[..., _Ordered]) -> Callable[..., Any]:
    """Wraps a set operation of sorted inputs, of which ``by`` makes the order."""

    def call(
        function: _Function, a: Any, b: Any, less: Any = sorts_before, *, out: Any = None, accelerator_view: Any = None
    ) -> Any:
        order, dtype, view = ordered = by(a, b, less, out, accelerator_view)
        found = _of_positions(function, a, b, ordered)
        there = UpToCount(lazy.map(Has(order), found.values), found.count, 0)
        at = UpToCount(lazy.of(found.values), found.count, 0)
        source = order.both if by is _by_positions else elements_of(a)
        return selected(there, lazy.take(source, at), out, view, dtype=dtype)

    return call


def _included(
    function: _Function, a: Any, b: Any, less: Any = sorts_before, *, out: Any = None, accelerator_view: Any = None
) -> Any:
    order, _, view = _by_first(a, b, less, out, accelerator_view)
    flags = has_partner(view, positions_in(b, order.size), positions_in(a), order)
    return all(up_to(flags, given(b)[1], 1), out=out, accelerator_view=view)


# -- other inputs --------------------------------------------------------------------------------------------------


class JoinedUpTo(lazy.Lazy):
    """The first ``n`` elements of one input, then those of another one."""

    __slots__ = ("a", "b", "n")

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b, self.n = elements_of(a), elements_of(b), count_of(a)
        super().__init__(self.a.extent[0] + self.b.extent[0])

    @amp.func
    def value(self, i: Any) -> Any:
        """The element at a position; after the elements of both, any."""
        n = self.n.value(0)
        return self.a.value(i) if i < n else self.b.value(min(i - n, self.b.extent[0] - 1))


def _united(function: _Function, a: Any, b: Any, *, out: Any = None, accelerator_view: Any = None) -> Any:
    view = place(accelerator_view, elements_of(a), elements_of(b), out)
    a, b, dtype = _alike(view, a, b)
    both = JoinedUpTo(a, b)
    joined = amp.array(both.extent, dtype, accelerator_view=view)
    store(view, both, joined)
    return unique_of(function, counted(joined, count_of_both(view, a, b)), out=out, accelerator_view=view)


def _ordered(view: amp.accelerator_view, a: Any) -> lazy.Lazy:
    """An input's elements in their order, then those after its count."""
    source = elements_of(a)
    if not isinstance(a, counted):
        return ordered(view, source)
    return lazy.Elements(taken(view, source, in_order(argsort, a, accelerator_view=view), None))


def _among(wanted: int) -> Callable[..., Any]:
    """Wraps a function whose result is the different elements of one input that another one has, or lacks."""

    def call(function: _Function, a: Any, b: Any, *, out: Any = None, accelerator_view: Any = None) -> Any:
        sources = elements_of(a), elements_of(b)
        refuse_different(*sources)
        view = place(accelerator_view, *sources, out)
        values, others = _ordered(view, a), _ordered(view, b)
        flags = stored(view, lazy.At(Unlike(values, others, count_of(b), wanted), values))
        return selected_among(view, values, others, up_to(flags, given(a)[1], 0), wanted, out)

    return call


def _is_in(function: _Function, a: Any, among: Any, *, out: Any = None, accelerator_view: Any = None) -> Any:
    if not isinstance(among, counted):
        return counted(function(a.values, among, out=out, accelerator_view=accelerator_view), a.count)
    source = given(a)[0]
    refuse_different(source, elements_of(among))
    view = place(accelerator_view, source, elements_of(among), out)
    found = output(out, source.extent, np.dtype(np.uint8), view, source, elements_of(among))
    store(view, lazy.At(Contained(source, _ordered(view, among), count_of(among)), source), found)
    return like_input(a, found)


#: How each function handles a counted input.
SETS: dict[str, Callable[..., Any]] = {
    "includes": _included,
    "intersect1d": _among(1),
    "isin": _is_in,
    "merge": _merged,
    "merge_by_key": _merged_by_key,
    **dict.fromkeys(("set_difference", "set_intersection"), _set_operation(_by_first)),
    **dict.fromkeys(("set_symmetric_difference", "set_union"), _set_operation(_by_positions)),
    "setdiff1d": _among(0),
    "union1d": _united,
}
