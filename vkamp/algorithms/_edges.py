"""How all functions of the package handle inputs that are not ordinary: empty ones, ``counted`` and ``device_scalar``.

The functions themselves work on inputs whose size the host knows. This module replaces a ``counted`` by a lazy input of
its whole capacity, whose elements after the count have no effect. It replaces a ``device_scalar`` by an input that
repeats its number. So no function waits, except for those that wait for a number in any case: these get the elements
that were found. For an empty input, which only the host can have, the result is numpy's, computed on the host.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, _empty, _order, determinism, functional, lazy
from vkamp.algorithms._arguments import computed_type, is_float_of_memory, place, value
from vkamp.algorithms._convert import TO, sum_type
from vkamp.algorithms._operators import Flag, Heads, Is, identity_of, like
from vkamp.algorithms.counted import counted
from vkamp.algorithms.reduce import reduce
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.select import select
from vkamp.algorithms.sort import sort
from vkamp.algorithms.transform import transform
from vkamp.dispatch.call_cache import repeats
from vkamp.tracebacks import entry_point, forwards

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


class _Everywhere(lazy.Lazy):
    """An input that repeats one number, which is on the device."""

    __slots__ = ("number",)

    def __init__(self, number: device_scalar, extent: Any) -> None:
        super().__init__(extent)
        self.number = number.view

    @amp.func
    def value(self, i: Any) -> Any:
        """The number."""
        return self.number[0]

    def flat(self) -> lazy.Lazy:
        made = _Everywhere.__new__(_Everywhere)
        lazy.Lazy.__init__(made, int(self.extent.size()))
        made.number = self.number
        return made


# -- counted -------------------------------------------------------------------------------------------------------


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


def _mean(function: _Function, c: counted, **rest: Any) -> Any:
    dtype = c.dtype if c.dtype.kind == "c" else np.dtype(np.float64 if c.dtype == np.float64 else np.float32)
    elements = _within(c, 0)
    from_ = elements if computed_type(elements) == dtype else lazy.map(TO[dtype], elements)
    mean_of_all = function(from_, **rest)
    # The mean of the padded input would divide by the capacity.
    capacity = dtype.type(elements.extent[0])
    n = lazy.map(TO[dtype], c.count.view)
    factor = lazy.map(_quotient, lazy.constant(capacity, 1), n)
    return device_scalar(transform(functional.multiplies, mean_of_all.view, factor, **rest))


def _reduced(function: _Function, c: counted, op: Any = functional.plus, *rest: Any, **named: Any) -> Any:
    try:
        identity = identity_of(op, c.dtype)
    except TypeError:
        raise _unsupported("reduce by an operator other than those of functional") from None
    return function(_within(c, identity), op, *rest, **named)


def _sorted(function: _Function, c: counted, *, less: Any = None, key: Any = None, **rest: Any) -> Any:
    if less is not None or key is not None or not _is_number(c.dtype):
        raise _unsupported("sort with less= or key=, or of structs,")
    return counted(function(_within(c, _last(c.dtype, rest.get("descending", False))), **rest), c.count)


def _scanned(function: _Function, c: counted, *given: Any, reverse: bool = False, **rest: Any) -> Any:
    if reverse:
        raise _unsupported("scan with reverse=True")
    return counted(function(c.values, *given, **rest), c.count)


def _each(function: _Function, c: Any, *given: Any, **rest: Any) -> Any:
    if any(isinstance(each, counted) for each in given):
        raise _unsupported(f"{function.__name__} in another place than the first")
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
        raise _unsupported(f"{function.__name__} with return_index=, return_inverse= or return_counts=")
    return select(c.values, flags=_Within(Heads(lazy.of(c.values), eq), c.count, 0), **rest)


def _transform_reduced(function: _Function, f: Any, op: Any, a: Any, *more: Any, init: Any = None, **rest: Any) -> Any:
    inputs, count = _together([a, *more])
    mapped = lazy.map(f, *inputs)
    try:
        identity = identity_of(op, computed_type(mapped))
    except TypeError:
        raise _unsupported("transform_reduce with an operator other than those of functional") from None
    return reduce(_Within(mapped, count, identity), op, init, **rest)


def _dotted(function: _Function, a: Any, b: Any, **rest: Any) -> Any:
    (x, y), count = _together([a, b])
    return function(*(_Within(lazy.of(each), count, 0) for each in (x, y)), **rest)


def _pairs_sorted(
    function: _Function, keys: Any, *values: Any, less: Any = None, descending: bool = False, **rest: Any
) -> Any:
    (plain, *moved), count = _together([keys, *values])
    if less is not None or not isinstance(keys, counted) or not _is_number(keys.dtype):
        raise _unsupported("sort_by_key with less=, of structs, or with keys that are not counted,")
    last = _last(keys.dtype, descending)
    found = function(_Within(lazy.of(plain), count, last), *moved, descending=descending, **rest)
    return tuple(counted(each, count) for each in found)


def _searched(function: _Function, ordered: Any, c: Any, *given: Any, **rest: Any) -> Any:
    if isinstance(ordered, counted):
        raise _unsupported(f"{function.__name__} in ordered elements")
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
_COUNTED: dict[str, Callable[..., Any]] = {
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


#: Functions that wait for the size or the range of their result, and for the counts of their inputs, too.
_WAITING = frozenset(("bincount", "histogram", "histogram_range", "repeat", "run_length_decode"))


def _trimmed(argument: Any) -> Any:
    if not isinstance(argument, counted):
        return argument
    return argument.trim() if len(argument) else np.asarray(argument)


def _unsupported(name: str) -> TypeError:
    return TypeError(f"{name} does not take a counted: pass its .trim(), which waits for the count")


# -- device_scalar -------------------------------------------------------------------------------------------------

#: Parameters that are numbers of the host. They wait for a number on the device.
_NUMBERS = frozenset(("high", "init", "k", "low", "middle", "new", "old", "q", "shift"))

#: Functions whose inputs have the same extent; a number on the device takes the extent of the others.
_ELEMENTWISE = frozenset(("transform", "transform_reduce", "where", "equal", "mismatch", "vdot"))


def _spread(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs, with each number on the device repeated to the extent of the others."""
    arrays = (a for a in args if isinstance(a, (amp.array, amp.array_view, lazy.Lazy, np.ndarray, counted)))
    first = next(arrays, None)
    if first is None:
        extent = amp.extent(1)
    elif isinstance(first, np.ndarray):
        extent = amp.extent(first.shape)
    else:
        extent = (first.values if isinstance(first, counted) else first).extent
    return tuple(_Everywhere(a, extent) if isinstance(a, device_scalar) else a for a in args)


def _compared(name: str, function: _Function, a: Any, number: device_scalar, **rest: Any) -> Any:
    """``count`` and ``find`` of a number on the device, computed as ``count_if`` and ``find_if`` of flags."""
    source = lazy.of(a)
    flags = lazy.map(functional.equal_to, source, _Everywhere(number, source.extent))
    return function(lazy.map(Flag(functional.truth), flags), 1, **rest)


def _with_scalars(
    name: str, function: _Function, args: tuple[Any, ...], named: dict[str, Any], numbers: frozenset[int]
) -> Any:  # fmt: skip
    if name in _ELEMENTWISE:
        return _called(name, function, _spread(args), named)
    if name in ("count", "find") and isinstance(args[-1], device_scalar):
        return _compared(name, function, *args, **named)
    if name == "fill" and isinstance(args[-1], device_scalar):
        out = args[0] if isinstance(args[0], (amp.array, amp.array_view)) else amp.array_view(args[0])
        transform(functional.identity, _Everywhere(args[1], out.extent), out=out, **named)
        return args[0]
    # In place of an input, the number becomes an array of one element.
    given = ((a.item() if k in numbers else a.view) if isinstance(a, device_scalar) else a for k, a in enumerate(args))
    return _called(name, function, tuple(given), named)


# -- all -----------------------------------------------------------------------------------------------------------


def _called(name: str, function: _Function, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    for each in args:
        if isinstance(each, counted):
            known = _COUNTED.get(name)
            if known is None:
                raise _unsupported(name)
            return known(function, *args, **named)
    return function(*args, **named)


#: Functions of any number of inputs, which take these in a list or tuple, too.
_OF_SEVERAL = frozenset(("concat", "stack"))

#: Functions that store nothing after the end of a target.
_SELECTIONS = frozenset(("nonzero", "run_length_encode", "select", "unique", "unique_consecutive"))


def _settings() -> Any:
    """Arguments that all functions take beside their own."""
    return _choose.forced_form(), determinism.is_needed(None)


#: The names of the parameters that are functions.
_FUNCTIONS = frozenset(("comp", "eq", "f", "key", "less", "op", "p", "pred"))


#: The operators of Python and numpy that are those of ``functional``, whose properties are known.
_SAME: dict[Any, Any] = {
    operator.add: functional.plus, np.add: functional.plus,
    operator.mul: functional.multiplies, np.multiply: functional.multiplies,
    np.maximum: functional.max, np.minimum: functional.min,
    operator.and_: functional.bit_and, np.bitwise_and: functional.bit_and,
    operator.or_: functional.bit_or, np.bitwise_or: functional.bit_or,
    operator.xor: functional.bit_xor, np.bitwise_xor: functional.bit_xor,
}  # fmt: skip
_OF_OTHERS = (np.ufunc, type(operator.add))


def with_edges(function: Any) -> Any:
    """A function of the package that also accepts the inputs described above."""
    name = function.__name__
    check = _order.check_of(function)
    names = list(inspect.signature(function).parameters)
    functions = [(position, param) for position, param in enumerate(names) if param in _FUNCTIONS]
    numbers = frozenset(position for position, param in enumerate(names) if param in _NUMBERS)

    @entry_point
    @repeats(_settings)
    @functools.wraps(function)
    @forwards
    def _call(*args: Any, **named: Any) -> Any:
        if name in _OF_SEVERAL and len(args) == 1 and type(args[0]) in (list, tuple):
            args = tuple(args[0])
        if name in _WAITING:
            args = tuple(map(_trimmed, args))
            named = {param: _trimmed(given) for param, given in named.items()}
        for position, param in functions:
            given = args[position] if position < len(args) else named.get(param)
            if given is not None and not callable(given):
                is_many = hasattr(given, "__len__") and not isinstance(given, str)
                instead = ": give conditions as flags=" if is_many and name == "select" else ""
                shown = type(given).__name__ if is_many else repr(given)
                raise TypeError(f"{name} takes a function as {param}, not {shown}{instead}")
            if type(given) in _OF_OTHERS and given in _SAME:
                if position < len(args):
                    args = (*args[:position], _SAME[given], *args[position + 1 :])
                else:
                    named[param] = _SAME[given]
        if named.get("out") is lazy.discard and name not in _SELECTIONS:
            del named["out"]
        if check is not None:
            check(args, named)
        for each in args:
            kind = type(each)
            if kind is counted:
                return _called(name, function, _spread(args) if name in _ELEMENTWISE else args, named)
            if kind is device_scalar:
                return _with_scalars(name, function, args, named, numbers)
        try:
            return function(*args, **named)
        except amp.AmpError:
            # Containers have at least one element.
            if not any(_empty.is_empty(each) for each in (*args, *named.values())):
                raise
        return _empty.result(name, args, named)

    # Where pickle finds this function: the module has the one without this.
    _call.__module__ = __package__
    return _call
