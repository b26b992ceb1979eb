"""How functions take a ``counted``: as a lazy input of its whole capacity.

Elements after the count have no effect: they are an identity of the operator, or come last in the order, or their flags
exclude them. So no function waits for the count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import axis_of, computed_type, is_float_of_memory, outputs, place, value
from vkamp.algorithms._convert import sum_type
from vkamp.algorithms._counted_parts import (
    ByPosition,
    Differences,
    FromInit,
    FromStart,
    OfOptional,
    Optional,
    OrElse,
    UntilPair,
    UpToCount,
    check_axis,
    count_by,
    given,
    positions_in,
    together,
    unsupported,
    up_to,
)
from vkamp.algorithms._digits import bits_of, words_in
from vkamp.algorithms._operators import (
    NOWHERE,
    Flag,
    Heads,
    Is,
    PairPositions,
    Swapped,
    identity_of,
    like,
)
from vkamp.algorithms.by_key import scan_by_key
from vkamp.algorithms.counted import counted, of_one_count
from vkamp.algorithms.extremes import argmin
from vkamp.algorithms.merge_sort import comparison
from vkamp.algorithms.reduce import reduce
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.search import all_of, find_if, first_place, none_of
from vkamp.algorithms.segments import Tails
from vkamp.algorithms.select import select
from vkamp.algorithms.sets import same
from vkamp.algorithms.sort import argsort, taken
from vkamp.algorithms.statistics import minmax_of
from vkamp.algorithms.transform import store, transform
from vkamp.algorithms.unique import runs_of

_Function = Callable[..., Any]


def within(c: counted, rest: Any) -> lazy.Lazy:
    return UpToCount(lazy.of(c.values), c.count, rest)


def flags_of(c: counted, pred: Any, rest: int = 0) -> lazy.Lazy:
    """1 for the elements that meet a condition, else 0; ``rest`` after the count."""
    return UpToCount(lazy.map(Flag(pred), c.values), c.count, rest)


def is_number(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iuf" or is_float_of_memory(dtype)


def last_of(dtype: np.dtype[Any], descending: bool) -> Any:
    """The largest key in the order, as which elements after the count sort last; equal elements keep their order."""
    if dtype.kind == "f" or is_float_of_memory(dtype):
        return -np.inf if descending else np.nan
    limits = np.iinfo(dtype)
    return limits.min if descending else limits.max


def _summed(function: _Function, c: counted, *, dtype: Any = None, **rest: Any) -> Any:
    return function(within(c, 0), dtype=sum_type(c.dtype) if dtype is None else dtype, **rest)


def _combined(source: lazy.Lazy, count: device_scalar, op: Any, init: Any, **rest: Any) -> Any:
    """The reduction of the elements before a count; of none, it is ``init``, or else 0."""
    try:
        identity = identity_of(op, computed_type(source))
    except TypeError:
        pairs = Optional(source, count)
        each = OfOptional(pairs, op)
        out = rest.pop("out", None)
        found = reduce(pairs, each, **rest)
        first = value(init, pairs.pair.dtype["first"])
        last = OrElse(first) if init is None else FromInit(first, each.op)
        total = transform(last, found.view if isinstance(found, device_scalar) else found, out=out)
        return device_scalar(total) if isinstance(found, device_scalar) else total
    return reduce(UpToCount(source, count, identity), op, init, **rest)


def _reduced(function: _Function, c: counted, op: Any = functional.plus, init: Any = None, **rest: Any) -> Any:
    return _combined(lazy.of(c.values), c.count, op, init, **rest)


def _keys_of(view: amp.accelerator_view, keys: lazy.Lazy, count: device_scalar, descending: bool) -> lazy.Lazy:
    """Numbers as keys of a sort; those after the count come last.

    Numbers of 64 bits, of which devices may have only the words, are stored.
    """
    dtype = lazy.dtype_of(keys)
    last = last_of(dtype, descending)
    words = bits_of(keys) if dtype.itemsize == 8 else None
    if words is None:
        return UpToCount(keys, count, last)
    made = amp.array(keys.extent, dtype, accelerator_view=view)
    store(view, UpToCount(words, count, np.array([last], dtype).view(np.uint32)), words_in(made))
    return lazy.Elements(made)


def first_keys(view: amp.accelerator_view, c: counted, descending: bool, key: Any = None) -> lazy.Lazy:
    """The keys of a ``counted`` of numbers, by which elements after the count come last."""
    keys = lazy.of(c.values) if key is None else lazy.map(key, lazy.of(c.values))
    dtype = lazy.dtype_of(keys)
    if not is_number(dtype):
        raise TypeError(f"elements of type {dtype} have no order: give less= or key=")
    return _keys_of(view, keys, c.count, descending)


def in_order(
    function: _Function, c: counted, *, less: Any = None, key: Any = None, descending: bool = False, bits: Any = None,
    axis: int | None = None, accelerator_view: Any = None, **rest: Any,
) -> Any:  # fmt: skip
    """The positions of the elements in their order, then those after the count; ``function`` is ``argsort``."""
    check_axis(c, axis)
    view = place(accelerator_view, lazy.of(c.values))
    if less is None:
        keys = first_keys(view, c, descending, key)
        return function(keys, descending=descending, bits=bits, accelerator_view=view, **rest)
    if bits is not None:
        raise TypeError("give less= or bits=")
    keys = lazy.of(c.values) if key is None else lazy.map(key, c.values)
    order = ByPosition(counted(keys, c.count), None, comparison(less, descending))
    return function(positions_in(c), less=order, accelerator_view=view, **rest)


def _argsorted(function: _Function, c: counted, **rest: Any) -> Any:
    return counted(in_order(function, c, **rest), c.count)


def _sorted(function: _Function, c: counted, *, out: Any = None, accelerator_view: Any = None, **rest: Any) -> Any:
    source = lazy.of(c.values)
    view = place(accelerator_view, source, out)
    return counted(taken(view, source, in_order(argsort, c, accelerator_view=view, **rest), out), c.count)


def _scanned(
    function: _Function, c: counted, op: Any = functional.plus, *,
    inclusive: bool = True, init: Any = None, reverse: bool = False, out: Any = None, **rest: Any,
) -> Any:  # fmt: skip
    named = {"inclusive": inclusive, "reverse": reverse, **rest}
    if not reverse:
        return counted(function(c.values, op, init=init, out=out, **named), c.count)
    elements = lazy.of(c.values)
    try:
        identity = identity_of(op, computed_type(elements))
    except TypeError:
        if init is None and not inclusive:
            raise
        pairs = Optional(elements, c.count)
        first = value(init, pairs.pair.dtype["first"])
        start = None if init is None else (first, 1)
        found = function(pairs, OfOptional(pairs, op), init=start, **named)
        return counted(transform(OrElse(first), found, out=out), c.count)
    return counted(function(UpToCount(elements, c.count, identity), op, init=init, out=out, **named), c.count)


def _each(function: _Function, c: Any, *given: Any, **rest: Any) -> Any:
    if any(isinstance(each, counted) for each in given):
        raise unsupported(f"{function.__name__} in another place than the first")
    return counted(function(c.values, *given, **rest), c.count)


def _accumulated(function: _Function, c: counted, *, include_initial: bool = False, **rest: Any) -> Any:
    found = function(c.values, include_initial=include_initial, **rest)
    if not include_initial:
        return counted(found, c.count)
    return counted(found, count_by(lambda n: n + 1, c.count, place(rest.get("accelerator_view"), lazy.of(c.values))))


def _transformed(function: _Function, f: Any, *inputs: Any, **rest: Any) -> Any:
    plain, count = together(list(inputs))
    return counted(function(f, *plain, **rest), count)


def _chosen(a: Any, pred: Any, flags: Any) -> tuple[Any, lazy.Lazy, device_scalar]:
    """The elements that a selection chooses from, their flags, and the count."""
    if (pred is None) == (flags is None):
        raise TypeError("give a predicate or flags=")
    if flags is None:
        return a.values, flags_of(a, pred), a.count
    (values, given), count = together([a, flags])
    return values, UpToCount(lazy.map(Flag(functional.truth), given), count, 0), count


def _selected(function: _Function, a: Any, pred: Any = None, *, flags: Any = None, **rest: Any) -> Any:
    values, chosen, _ = _chosen(a, pred, flags)
    return function(values, flags=chosen, **rest)


def _heads(
    function: _Function, c: counted, eq: Any = functional.equal_to, *, out: Any = None, accelerator_view: Any = None,
    return_inverse: bool = False, return_counts: bool = False,
) -> Any:  # fmt: skip
    return _different(c, eq, None, out, accelerator_view, (False, return_inverse, return_counts))


def unique_of(
    function: _Function, c: counted, *, out: Any = None, accelerator_view: Any = None,
    return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
) -> Any:  # fmt: skip
    order = in_order(argsort, c, accelerator_view=accelerator_view)
    source = lazy.of(c.values)
    values = taken(place(accelerator_view, source), source, order, None)
    wanted = (return_index, return_inverse, return_counts)
    return _different(counted(values, c.count), same, order, out, accelerator_view, wanted)


def _different(
    c: counted, eq: Any, order: Any, out: Any, accelerator_view: Any, wanted: tuple[bool, bool, bool]
) -> Any:  # fmt: skip
    """The first elements of runs. ``wanted`` says which other results to return: their positions, the number of each
    element's run, and the lengths.

    ``order``: the positions of the elements in the input, if they are sorted.
    """
    source = lazy.of(c.values).flat()
    view = place(accelerator_view, source, out)
    return runs_of(view, source, eq, order, out, wanted, c.count)


def _encoded(function: _Function, c: counted, eq: Any = functional.equal_to, **rest: Any) -> Any:
    return _heads(function, c, eq, return_counts=True, **rest)


def _by_key(
    function: _Function, keys: Any, values: Any, op: Any = functional.plus, *, eq: Any = functional.equal_to,
    out: Any = None, **rest: Any,
) -> Any:  # fmt: skip
    (names, given), count = together([keys, values])
    for_keys, for_values = outputs(out, 2)
    heads = Heads(lazy.of(names), eq)
    sums = scan_by_key(names, given, op, eq=eq, **rest)
    return of_one_count(
        select(names, flags=UpToCount(heads, count, 0), out=for_keys, **rest),
        select(sums, flags=lazy.At(Tails(lazy.of(count.view)), heads), out=for_values, **rest),
    )


def _scanned_by_key(function: _Function, keys: Any, values: Any, *given: Any, **rest: Any) -> Any:
    plain, count = together([keys, values])
    return counted(function(*plain, *given, **rest), count)


def _unique_by_key(
    function: _Function, keys: Any, values: Any, eq: Any = functional.equal_to, *, out: Any = None, **rest: Any
) -> Any:
    plain, count = together([keys, values])
    flags = UpToCount(Heads(lazy.of(plain[0]), eq), count, 0)
    targets = outputs(out, 2)
    first, second = (select(each, flags=flags, out=to, **rest) for each, to in zip(plain, targets, strict=True))
    return of_one_count(first, second)


# -- searches and comparisons --------------------------------------------------------------------------------------


def _pairs_where(pred: Any, c: counted) -> lazy.Lazy:
    return UpToCount(lazy.At(PairPositions(pred), lazy.of(c.values)), c.count, NOWHERE)


@amp.func
def _is_no_place(at: Any) -> Any:
    return at == NOWHERE


def _is_sorted(function: _Function, c: counted, less: Any = functional.less, **rest: Any) -> Any:
    return all_of(_pairs_where(Swapped(less), c), _is_no_place, **rest)


def _sorted_until(
    function: _Function, c: counted, less: Any = functional.less, *, out: Any = None, accelerator_view: Any = None
) -> Any:
    places = UntilPair(lazy.At(PairPositions(Swapped(less)), lazy.of(c.values)), c.count)
    return first_place(place(accelerator_view, places, out), places, none=len(c.values), out=out)


def _adjacent_found(
    function: _Function, c: counted, eq: Any = functional.equal_to, *, out: Any = None, accelerator_view: Any = None
) -> Any:
    places = _pairs_where(eq, c)
    return first_place(place(accelerator_view, places, out), places, move=-1, out=out)


def _equal(function: _Function, a: Any, b: Any, eq: Any = functional.equal_to, **rest: Any) -> Any:
    return none_of(Differences(a, b, eq), is_set, **rest)


def _mismatch(function: _Function, a: Any, b: Any, eq: Any = functional.equal_to, **rest: Any) -> Any:
    return find_if(Differences(a, b, eq), is_set, **rest)


# -- others --------------------------------------------------------------------------------------------------------


def _partitioned(function: _Function, a: Any, pred: Any = None, *, flags: Any = None, **rest: Any) -> Any:
    values, chosen, count = _chosen(a, pred, flags)
    # Elements after the count are the last ones of those that are not chosen.
    found, many = function(values, flags=chosen, **rest)
    return counted(found, count), many


def _taken(function: _Function, values: Any, at: Any, axis: Any = None, **rest: Any) -> Any:
    positions = up_to(*given(at), 0)
    source, _ = given(values)
    if isinstance(values, counted):
        check_axis(values, axis)
        positions = FromStart(positions, values.count)
    found = function(source, positions, axis, **rest)
    if not isinstance(at, counted):
        return found
    return counted(found, at.count, axis=0 if axis is None else axis_of(source.extent, axis))


def _extremes(function: _Function, c: counted, **rest: Any) -> Any:
    low, high = (identity_of(op, c.dtype) for op in (functional.min, functional.max))
    source = lazy.of(c.values)
    return minmax_of(UpToCount(source, c.count, low), UpToCount(source, c.count, high), **rest)


def _transform_reduced(function: _Function, f: Any, op: Any, a: Any, *more: Any, init: Any = None, **rest: Any) -> Any:
    inputs, count = together([a, *more])
    mapped = lazy.map(f, *inputs)
    return _combined(mapped, count, op, init, **rest)


def _dotted(function: _Function, a: Any, b: Any, **rest: Any) -> Any:
    (x, y), count = together([a, b])
    return function(*(UpToCount(lazy.of(each), count, 0) for each in (x, y)), **rest)


def _nonzero(function: _Function, c: counted, *, accelerator_view: Any = None, **rest: Any) -> Any:
    flags = flags_of(c, functional.truth)
    view = place(accelerator_view, flags)
    return select(lazy.arange(len(c.values)), flags=flags, accelerator_view=view, **rest)


def _place_of_best(op: Any) -> Callable[..., Any]:
    """``argmin`` or ``argmax``, given ``min`` or ``max``."""

    def call(function: _Function, c: counted, *, less: Any = None, accelerator_view: Any = None, **rest: Any) -> Any:
        if less is None:
            return function(within(c, identity_of(op, c.dtype)), accelerator_view=accelerator_view, **rest)
        # Positions after the count are last in this order.
        order = ByPosition(c, None, comparison(less, op is functional.max))
        view = place(accelerator_view, order.both)
        return argmin(positions_in(c), less=order, accelerator_view=view, **rest)

    return call


def _over_flags(behind: int, pred: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Wraps a function of a condition: the condition's flags are computed first.

    ``behind``: the flag of elements after the count.
    """

    def call(function: _Function, c: counted, given: Any, **rest: Any) -> Any:
        condition = given if pred is None else pred(like(given, lazy.of(c.values)))
        return function(flags_of(c, condition, behind), is_set if pred is None else 1, **rest)

    return call


@amp.func
def is_set(flag: Any) -> Any:
    return flag != 0


#: Functions that take a ``counted`` themselves.
_OWN = (
    "bincount", "diff", "histogram", "histogram_range", "logsumexp", "mean", "partition3", "quantile", "std", "var",
)  # fmt: skip


def _by_itself(function: _Function, *args: Any, **named: Any) -> Any:
    return function(*args, **named)


#: How each function handles a counted input; called with the function and its arguments.
COUNTED: dict[str, Callable[..., Any]] = {
    "sum": _summed,
    "prod": lambda function, c, **rest: function(within(c, 1), **rest),
    "min": lambda function, c, **rest: function(within(c, identity_of(functional.min, c.dtype)), **rest),
    "max": lambda function, c, **rest: function(within(c, identity_of(functional.max, c.dtype)), **rest),
    "reduce": _reduced,
    "argmin": _place_of_best(functional.min),
    "argmax": _place_of_best(functional.max),
    "count_nonzero": lambda function, c, **rest: function(within(c, 0), **rest),
    "count_if": _over_flags(0),
    "count": _over_flags(0, Is),
    "any_of": _over_flags(0),
    "all_of": _over_flags(1),
    "none_of": lambda function, c, pred, **rest: function(flags_of(c, pred), is_set, **rest),
    "find_if": _over_flags(0),
    "find": _over_flags(0, Is),
    "find_if_not": _over_flags(1),
    "is_partitioned": _over_flags(0),
    "partition_point": _over_flags(0),
    "sort": _sorted,
    "argsort": _argsorted,
    "scan": _scanned,
    "transform": _transformed,
    "transform_reduce": _transform_reduced,
    "vdot": _dotted,
    "digitize": _each,
    "clip": _each,
    "copy": _each,
    "replace": _each,
    "replace_if": _each,
    "adjacent_difference": _each,
    "select": _selected,
    "nonzero": _nonzero,
    "unique_consecutive": _heads,
    "unique": unique_of,
    "run_length_encode": _encoded,
    "reduce_by_key": _by_key,
    "scan_by_key": _scanned_by_key,
    "unique_by_key": _unique_by_key,
    "is_sorted": _is_sorted,
    "is_sorted_until": _sorted_until,
    "adjacent_find": _adjacent_found,
    "equal": _equal,
    "mismatch": _mismatch,
    "minmax": _extremes,
    "partition": _partitioned,
    **dict.fromkeys(_OWN, _by_itself),
    "take": _taken,
    **dict.fromkeys(("cumulative_sum", "cumulative_prod", "cummax", "cummin"), _accumulated),
    "any": lambda function, c, **rest: function(flags_of(c, functional.truth), **rest),
    "all": lambda function, c, **rest: function(flags_of(c, functional.truth, 1), **rest),
}
