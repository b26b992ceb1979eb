"""How merges and set operations take a ``counted``: they order the positions of the elements.

Positions after the counts come last in the order, so no function waits for a count.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import output, outputs, place
from vkamp.algorithms._counted_inputs import in_order, unique_of
from vkamp.algorithms._counted_parts import ByPosition, Has, UpToCount, count_of, elements_of, positions_in, together
from vkamp.algorithms._operators import sorts_before
from vkamp.algorithms.counted import counted
from vkamp.algorithms.merge import Joined, merge, two_of_one_type
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.search import all
from vkamp.algorithms.select import selected
from vkamp.algorithms.sets import Contained, Unlike, has_partner, ordered, stored
from vkamp.algorithms.sort import argsort, taken
from vkamp.algorithms.transform import store, transform

_Function = Callable[..., Any]


def _within(flags: lazy.Lazy, a: Any, rest: int) -> lazy.Lazy:
    """The flags of an input's elements; after a count, they are ``rest``."""
    return UpToCount(flags, a.count, rest) if isinstance(a, counted) else flags


def _count_of_both(view: amp.accelerator_view, a: Any, b: Any) -> device_scalar:
    return device_scalar(transform(functional.plus, count_of(a), count_of(b), accelerator_view=view))


# -- sorted inputs -------------------------------------------------------------------------------------------------


def _of_positions(function: _Function, a: Any, b: Any, less: Any, out: Any, accelerator_view: Any) -> Any:
    """The order of the positions in two sorted inputs, where the call runs, and the function's result of the positions.

    Raises TypeError if the inputs differ in type.
    """
    two_of_one_type(*map(elements_of, (a, b)))
    order = ByPosition(a, b, less)
    view = place(accelerator_view, order.both, out)
    return order, view, function(positions_in(a), positions_in(b, order.size), order, accelerator_view=view)


def _merged(
    function: _Function, a: Any, b: Any, less: Any = sorts_before, *, out: Any = None, accelerator_view: Any = None
) -> Any:
    order, view, found = _of_positions(function, a, b, less, out, accelerator_view)
    return counted(taken(view, order.both, found, out), _count_of_both(view, a, b))


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
    two_of_one_type(*map(elements_of, (of_a, of_b)))
    order, view, found = _of_positions(merge, a, b, less, for_keys, accelerator_view)
    count = _count_of_both(view, a, b)
    moved = Joined(elements_of(of_a), elements_of(of_b))
    return tuple(
        counted(taken(view, each, found, to), count) for each, to in ((order.both, for_keys), (moved, for_values))
    )


def _set_operation(
    function: _Function, a: Any, b: Any, less: Any = sorts_before, *, out: Any = None, accelerator_view: Any = None
) -> Any:
    order, view, found = _of_positions(function, a, b, less, out, accelerator_view)
    there = UpToCount(lazy.map(Has(order), found.values), found.count, 0)
    at = UpToCount(lazy.of(found.values), found.count, 0)
    return selected(there, lazy.take(order.both, at), out, view, dtype=lazy.dtype_of(order.both))


def _included(
    function: _Function, a: Any, b: Any, less: Any = sorts_before, *, out: Any = None, accelerator_view: Any = None
) -> Any:
    two_of_one_type(*map(elements_of, (a, b)))
    order = ByPosition(a, b, less)
    view = place(accelerator_view, order.both, out)
    flags = has_partner(view, positions_in(b, order.size), positions_in(a), order)
    return all(_within(flags, b, 1), out=out, accelerator_view=view)


# -- other inputs --------------------------------------------------------------------------------------------------


class _JoinedUpTo(lazy.Lazy):
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
    left, _ = two_of_one_type(*map(elements_of, (a, b)))
    both = _JoinedUpTo(a, b)
    view = place(accelerator_view, both, out)
    joined = amp.array(both.extent, lazy.dtype_of(left), accelerator_view=view)
    store(view, both, joined)
    return unique_of(function, counted(joined, _count_of_both(view, a, b)), out=out, accelerator_view=view)


def _ordered(view: amp.accelerator_view, a: Any) -> lazy.Lazy:
    """An input's elements in their order, then those after its count."""
    source = elements_of(a)
    if not isinstance(a, counted):
        return ordered(view, source)
    return lazy.Elements(taken(view, source, in_order(argsort, a, accelerator_view=view), None))


def _among(wanted: int) -> Callable[..., Any]:
    """Wraps a function whose result is the different elements of one input that another one has, or lacks."""

    def call(function: _Function, a: Any, b: Any, *, out: Any = None, accelerator_view: Any = None) -> Any:
        sources = two_of_one_type(*map(elements_of, (a, b)))
        view = place(accelerator_view, *sources, out)
        values, others = _ordered(view, a), _ordered(view, b)
        flags = stored(view, lazy.At(Unlike(others, count_of(b), wanted), values))
        return selected(_within(flags, a, 0), values, out, view)

    return call


def _is_in(function: _Function, a: Any, among: Any, *, out: Any = None, accelerator_view: Any = None) -> Any:
    if not isinstance(among, counted):
        return counted(function(a.values, among, out=out, accelerator_view=accelerator_view), a.count)
    source = lazy.of(a.values if isinstance(a, counted) else a)
    two_of_one_type(source, among.values)
    view = place(accelerator_view, source, elements_of(among), out)
    found = output(out, source.extent, np.dtype(np.uint8), view, source, elements_of(among))
    store(view, lazy.At(Contained(_ordered(view, among), count_of(among)), source), found)
    return counted(found, a.count) if isinstance(a, counted) else found


#: How each function handles a counted input.
SETS: dict[str, Callable[..., Any]] = {
    "includes": _included,
    "intersect1d": _among(1),
    "isin": _is_in,
    "merge": _merged,
    "merge_by_key": _merged_by_key,
    **dict.fromkeys(("set_difference", "set_intersection", "set_symmetric_difference", "set_union"), _set_operation),
    "setdiff1d": _among(0),
    "union1d": _united,
}
