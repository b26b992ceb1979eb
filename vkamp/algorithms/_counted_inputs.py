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
from vkamp.algorithms._arguments import computed_type, is_float_of_memory, place, value
from vkamp.algorithms._convert import TO, sum_type
from vkamp.algorithms._operators import Flag, Heads, Is, identity_of, like
from vkamp.algorithms.counted import counted
from vkamp.algorithms.reduce import reduce
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.select import select
from vkamp.algorithms.sort import sort
from vkamp.algorithms.statistics import floating
from vkamp.algorithms.transform import transform

_Function = Callable[..., Any]


class _Within(lazy.Lazy):
    """An input whose elements after a count, which is on the device, are ``rest``."""

    __slots__ = ("count", "rest", "values")

    def __init__(self, values: lazy.Lazy, count: device_scalar, rest: Any) -> None:
        super().__init__(values.extent)
        self.values, self.count = values, count.view
        self.rest = value(rest, computed_type(values))

    @amp.func
    def value(self, i: Any) -> Any:
        """The element at an index."""
        return self.values.value(i) if i < self.count[0] else self.rest


def unsupported(name: str) -> TypeError:
    return TypeError(f"{name} does not take a counted: pass its .trim(), which waits for the count")


def _within(c: counted, rest: Any) -> lazy.Lazy:
    return _Within(lazy.of(c.values), c.count, rest)


def _flags(c: counted, pred: Any, rest: int = 0) -> lazy.Lazy:
    return _Within(lazy.map(Flag(pred), c.values), c.count, rest)


def _is_number(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iuf" or is_float_of_memory(dtype)


def _last(dtype: np.dtype[Any], descending: bool) -> Any:
    """The largest key in the order, as which elements after the count sort last; equal elements keep their order."""
    if dtype.kind == "f" or is_float_of_memory(dtype):
        return -np.inf if descending else np.nan
    limits = np.iinfo(dtype)
    return limits.min if descending else limits.max


def _summed(function: _Function, c: counted, *, dtype: Any = None, **rest: Any) -> Any:
    return function(_within(c, 0), dtype=sum_type(c.dtype) if dtype is None else dtype, **rest)


@amp.func
def _quotient(total: Any, n: Any) -> Any:
    return total / n


def _mean(function: _Function, c: counted, *, dtype: Any = None, out: Any = None, **rest: Any) -> Any:
    returned, dtype = dtype, floating(c.dtype, dtype)
    elements = _within(c, 0)
    from_ = elements if computed_type(elements) == dtype else lazy.map(TO[dtype], elements)
    mean_of_all = function(from_, **rest)
    # The mean of the padded input would divide by the capacity.
    capacity = dtype.type(elements.extent[0])
    n = lazy.map(TO[dtype], c.count.view)
    factor = lazy.map(_quotient, lazy.constant(capacity, 1), n)
    return device_scalar(transform(functional.multiplies, mean_of_all.view, factor, dtype=returned, out=out, **rest))


def _reduced(function: _Function, c: counted, op: Any = functional.plus, *rest: Any, **named: Any) -> Any:
    try:
        identity = identity_of(op, c.dtype)
    except TypeError:
        raise unsupported("reduce by an operator other than those of functional") from None
    return function(_within(c, identity), op, *rest, **named)


def _sorted(function: _Function, c: counted, *, less: Any = None, key: Any = None, **rest: Any) -> Any:
    if less is not None or key is not None or not _is_number(c.dtype):
        raise unsupported("sort with less= or key=, or of structs,")
    return counted(function(_within(c, _last(c.dtype, rest.get("descending", False))), **rest), c.count)


def _scanned(function: _Function, c: counted, *given: Any, reverse: bool = False, **rest: Any) -> Any:
    if reverse:
        raise unsupported("scan with reverse=True")
    return counted(function(c.values, *given, **rest), c.count)


def _each(function: _Function, c: Any, *given: Any, **rest: Any) -> Any:
    if any(isinstance(each, counted) for each in given):
        raise unsupported(f"{function.__name__} in another place than the first")
    return counted(function(c.values, *given, **rest), c.count)


def _together(inputs: list[Any]) -> tuple[list[Any], device_scalar]:
    """The elements of inputs of which some are counted, and their count; AmpError if the counts may differ."""
    first = next(each for each in inputs if isinstance(each, counted))
    if any(isinstance(each, counted) and each.count is not first.count for each in inputs):
        raise amp.AmpError(
            "the inputs are counted and may have different counts: pass their .trim(), which waits for the counts"
        )
    return [each.values if isinstance(each, counted) else each for each in inputs], first.count


def _transformed(function: _Function, f: Any, *inputs: Any, **rest: Any) -> Any:
    plain, count = _together(list(inputs))
    return counted(function(f, *plain, **rest), count)


def _selected(function: _Function, c: counted, pred: Any = None, *, flags: Any = None, **rest: Any) -> Any:
    if (pred is None) == (flags is None):
        raise TypeError("give a predicate or flags=")
    if flags is not None:
        given = flags.values if isinstance(flags, counted) else flags
        return function(c.values, flags=_Within(lazy.map(Flag(functional.truth), given), c.count, 0), **rest)
    return function(c.values, flags=_flags(c, pred), **rest)


def _heads(
    function: _Function, c: counted, eq: Any = functional.equal_to, *,
    return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, **rest: Any,
) -> Any:  # fmt: skip
    if return_index or return_inverse or return_counts:
        raise unsupported(f"{function.__name__} with return_index=, return_inverse= or return_counts=")
    return select(c.values, flags=_Within(Heads(lazy.of(c.values), eq), c.count, 0), **rest)


def _transform_reduced(function: _Function, f: Any, op: Any, a: Any, *more: Any, init: Any = None, **rest: Any) -> Any:
    inputs, count = _together([a, *more])
    mapped = lazy.map(f, *inputs)
    try:
        identity = identity_of(op, computed_type(mapped))
    except TypeError:
        raise unsupported("transform_reduce with an operator other than those of functional") from None
    return reduce(_Within(mapped, count, identity), op, init, **rest)


def _dotted(function: _Function, a: Any, b: Any, **rest: Any) -> Any:
    (x, y), count = _together([a, b])
    return function(*(_Within(lazy.of(each), count, 0) for each in (x, y)), **rest)


def _pairs_sorted(
    function: _Function, keys: Any, *values: Any, less: Any = None, descending: bool = False, **rest: Any
) -> Any:
    (plain, *moved), count = _together([keys, *values])
    if less is not None or not isinstance(keys, counted) or not _is_number(keys.dtype):
        raise unsupported("sort_by_key with less=, of structs, or with keys that are not counted,")
    last = _last(keys.dtype, descending)
    found = function(_Within(lazy.of(plain), count, last), *moved, descending=descending, **rest)
    return tuple(counted(each, count) for each in found)


def _searched(function: _Function, ordered: Any, c: Any, *given: Any, **rest: Any) -> Any:
    if isinstance(ordered, counted):
        raise unsupported(f"{function.__name__} in ordered elements")
    return counted(function(ordered, c.values, *given, **rest), c.count)


def _unique(function: _Function, c: counted, **rest: Any) -> Any:
    return _heads(function, _sorted(sort, c), **rest)


def _nonzero(function: _Function, c: counted, *, accelerator_view: Any = None, **rest: Any) -> Any:
    flags = _flags(c, functional.truth)
    view = place(accelerator_view, flags)
    return select(lazy.arange(len(c.values)), flags=flags, accelerator_view=view, **rest)


def _over_flags(behind: int, pred: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Wraps a function of a condition: the condition's flags are computed first.

    ``behind``: the flag of elements after the count.
    """

    def call(function: _Function, c: counted, given: Any, **rest: Any) -> Any:
        condition = given if pred is None else pred(like(given, lazy.of(c.values)))
        return function(_flags(c, condition, behind), _set if pred is None else 1, **rest)

    return call


@amp.func
def _set(flag: Any) -> Any:
    return flag != 0


#: How each function handles a counted input; called with the function and its arguments.
COUNTED: dict[str, Callable[..., Any]] = {
    "sum": _summed,
    "prod": lambda function, c, **rest: function(_within(c, 1), **rest),
    "min": lambda function, c, **rest: function(_within(c, identity_of(functional.min, c.dtype)), **rest),
    "max": lambda function, c, **rest: function(_within(c, identity_of(functional.max, c.dtype)), **rest),
    "mean": _mean,
    "reduce": _reduced,
    "argmin": lambda function, c, **rest: function(_within(c, identity_of(functional.min, c.dtype)), **rest),
    "argmax": lambda function, c, **rest: function(_within(c, identity_of(functional.max, c.dtype)), **rest),
    "count_nonzero": lambda function, c, **rest: function(_within(c, 0), **rest),
    "count_if": _over_flags(0),
    "count": _over_flags(0, Is),
    "any_of": _over_flags(0),
    "all_of": _over_flags(1),
    "none_of": lambda function, c, pred, **rest: function(_flags(c, pred), _set, **rest),
    "find_if": _over_flags(0),
    "find": _over_flags(0, Is),
    "sort": _sorted,
    "argsort": _sorted,
    "scan": _scanned,
    "transform": _transformed,
    "transform_reduce": _transform_reduced,
    "vdot": _dotted,
    "sort_by_key": _pairs_sorted,
    "searchsorted": _searched,
    "digitize": _each,
    "isin": _each,
    "clip": _each,
    "copy": _each,
    "replace": _each,
    "replace_if": _each,
    "adjacent_difference": _each,
    "select": _selected,
    "nonzero": _nonzero,
    "unique_consecutive": _heads,
    "unique": _unique,
    "cumulative_sum": _each,
    "cumulative_prod": _each,
    "cummax": _each,
    "cummin": _each,
    "any": lambda function, c, **rest: function(_flags(c, functional.truth), **rest),
    "all": lambda function, c, **rest: function(_flags(c, functional.truth, 1), **rest),
}
