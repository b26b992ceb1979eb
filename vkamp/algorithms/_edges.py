"""How all functions of the package handle inputs that are not ordinary: empty ones, ``counted`` and ``device_scalar``.

The functions themselves work on inputs whose size the host knows. ``_counted_inputs`` replaces a ``counted`` by a lazy
input of its whole capacity, whose elements after the count have no effect. This module replaces a ``device_scalar`` by
an input that repeats its number. So no function waits, except for those that wait for a number in any case: these get
the elements that were found. For an empty input, which only the host can have, the result is numpy's, computed on the
host.
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
from vkamp.algorithms._arguments import positions_of
from vkamp.algorithms._counted_inputs import COUNTED
from vkamp.algorithms._counted_moves import MOVES
from vkamp.algorithms._counted_orders import ORDERS
from vkamp.algorithms._counted_parts import unsupported
from vkamp.algorithms._counted_searches import SEARCHES
from vkamp.algorithms._counted_segments import SEGMENTED
from vkamp.algorithms._counted_sets import SETS
from vkamp.algorithms._exact import exactly
from vkamp.algorithms._operators import Flag
from vkamp.algorithms.counted import counted
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.transform import transform
from vkamp.dispatch.call_cache import repeats
from vkamp.tracebacks import forwards

_Function = Callable[..., Any]

# -- counted -------------------------------------------------------------------------------------------------------


def _has_no_total(given: dict[str, Any]) -> bool:
    return given.get("total") is None and given.get("out") is None


#: Whether a call with these arguments waits for the size or the range of its result.
_WAITING: dict[str, Callable[[dict[str, Any]], bool]] = {
    "bincount": lambda given: given.get("bins") is None,
    # A sequence of edges is as good as a range.
    "histogram": lambda given: given.get("range") is None and np.ndim(given.get("bins", 10)) == 0,
    "repeat": lambda given: not isinstance(given.get("count"), (int, np.integer)) and _has_no_total(given),
    "run_length_decode": _has_no_total,
}


def _waits(name: str, names: list[str], args: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Whether a call waits for the size or the range of its result, and for the counts of its inputs, too."""
    return name in _WAITING and _WAITING[name](dict(zip(names, args, strict=False)) | named)


def _in_places(
    names: list[str], args: tuple[Any, ...], named: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments with the next parameters, which are given by their names, in their places."""
    while len(args) < len(names) and names[len(args)] in named:
        args, named = (*args, named[names[len(args)]]), {k: v for k, v in named.items() if k != names[len(args)]}
    return args, named


def _trimmed(argument: Any) -> Any:
    if not isinstance(argument, counted):
        return argument
    return argument.trim() if len(argument) else np.asarray(argument)


# -- device_scalar -------------------------------------------------------------------------------------------------

#: Parameters that are numbers of the host. They wait for a number on the device.
_NUMBERS = frozenset(("bins", "count", "counts", "k", "middle", "minlength", "n", "q", "segments", "shift"))
#: Parameters that are numbers for kernels, which read one on the device if it has the elements' type.
_VALUES = frozenset(("high", "init", "low", "new", "number", "old", "start", "step"))

#: Parameters that are arrays, but no inputs, and the functions that have them.
_EDGES = frozenset(("bins", "edges", "segments"))
_OF_EDGES = frozenset(
    ("bincount", "digitize", "histogram", "histogram_range", "segmented_reduce", "segmented_scan", "segmented_sort")
)

#: Functions whose inputs have the same extent; a number on the device takes the extent of the others.
_ELEMENTWISE = frozenset(("transform", "transform_reduce", "where", "equal", "mismatch", "vdot"))
#: Functions for which it matters where a number on the device is among their arguments.
_BY_PLACE = _ELEMENTWISE | {"count", "fill", "find", "searchsorted"}


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
    return tuple(lazy.constant(a, extent) if isinstance(a, device_scalar) else a for a in args)


def _on_the_host(args: tuple[Any, ...], numbers: frozenset[int]) -> tuple[Any, ...]:
    """The arguments, with those that are numbers of the host, for which this waits."""
    return tuple(a.item() if isinstance(a, device_scalar) and k in numbers else a for k, a in enumerate(args))


def _compared(name: str, function: _Function, a: Any, number: device_scalar, **rest: Any) -> Any:
    """``count`` and ``find`` of a number on the device, computed as ``count_if`` and ``find_if`` of flags."""
    source = lazy.of(a)
    other = lazy.constant(number, source.extent)
    flags = lazy.map(exactly(functional.equal_to, source, other), source, other)
    return function(lazy.map(Flag(functional.truth), flags), 1, **rest)


def _with_scalars(
    name: str, function: _Function, args: tuple[Any, ...], named: dict[str, Any],
    numbers: frozenset[int], values: frozenset[int],
) -> Any:  # fmt: skip
    if name in _ELEMENTWISE:
        return _called(name, function, _spread(args), named)
    if name in ("count", "find") and isinstance(args[-1], device_scalar):
        return _compared(name, function, *args, **named)
    if name == "fill" and isinstance(args[-1], device_scalar):
        out = args[0] if isinstance(args[0], (amp.array, amp.array_view)) else amp.array_view(args[0])
        transform(functional.identity, lazy.constant(args[1], out.extent), out=out, **named)
        return args[0]
    # In place of an input, the number becomes an array of one element.
    given = tuple(
        a.view if isinstance(a, device_scalar) and k not in values else a
        for k, a in enumerate(_on_the_host(args, numbers))
    )
    found = _called(name, function, given, named)
    # The place of one number, as of one on the host.
    return device_scalar(found) if name == "searchsorted" and isinstance(args[1], device_scalar) else found


_COUNTED = {**COUNTED, **MOVES, **ORDERS, **SEARCHES, **SEGMENTED, **SETS}

# -- all -----------------------------------------------------------------------------------------------------------


def _called(name: str, function: _Function, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    given = [each for each in (*args, *named.values()) if isinstance(each, counted)]
    for each in given:
        each.refuse_short()
        if each.values.extent.rank > 1:
            raise TypeError(
                f"{name} takes a counted of one dimension, not of {each.values.extent!r}: pass its .trim(), which "
                "waits for the count"
            )
    if not given:
        return function(*args, **named)
    if name not in _OF_EDGES and any(map(_empty.is_empty, args)):
        # Only the other inputs are left, if any.
        return _empty.result(name, tuple(map(_trimmed, args)), {param: _trimmed(each) for param, each in named.items()})
    known = _COUNTED.get(name)
    if known is None:
        raise unsupported(name)
    return known(function, *args, **named)


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


def _function(name: str, param: str, given: Any, is_optional: bool) -> Any:
    """The function that kernels call in place of a given one; TypeError if that is not a function."""
    if not callable(given) and (given is not None or not is_optional):
        is_many = hasattr(given, "__len__") and not isinstance(given, str)
        instead = ": give conditions as flags=" if is_many and name == "select" else ""
        shown = type(given).__name__ if is_many else repr(given)
        raise TypeError(f"{name} takes a function as {param}, not {shown}{instead}")
    return _SAME.get(given, given) if type(given) in _OF_OTHERS else lazy.function_of(given)


def _with_functions(
    name: str, functions: list[tuple[int, str, bool]], args: tuple[Any, ...], named: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, with the functions that kernels call; each has a position, a name, and whether it may be None."""
    for position, param, is_optional in functions:
        if position < len(args):
            known = _function(name, param, args[position], is_optional)
            if known is not args[position]:
                args = (*args[:position], known, *args[position + 1 :])
        elif param in named:
            named[param] = _function(name, param, named[param], is_optional)
    return args, named


def with_edges(function: Any) -> Any:
    """A function of the package that also accepts the inputs described above."""
    name = function.__name__
    check = _order.check_of(function)
    parameters = inspect.signature(function).parameters
    positions = positions_of(function)
    names = [each.name for each in parameters.values() if each.kind is each.POSITIONAL_OR_KEYWORD]
    functions = [(k, param, parameters[param].default is None) for param, k in positions.items() if param in _FUNCTIONS]
    numbers, values, edges = (
        frozenset(k for param, k in positions.items() if param in kind) for kind in (_NUMBERS, _VALUES, _EDGES)
    )

    @repeats(_settings)
    @functools.wraps(function)
    @forwards
    def _call(*args: Any, **named: Any) -> Any:
        if name in _OF_SEVERAL and len(args) == 1 and type(args[0]) in (list, tuple):
            args = tuple(args[0])
        if _waits(name, names, args, named):
            args = tuple(map(_trimmed, args))
            named = {param: _trimmed(given) for param, given in named.items()}
        args, named = _with_functions(name, functions, args, named)
        if named.get("out") is lazy.discard and name not in _SELECTIONS:
            del named["out"]
        if name not in _ELEMENTWISE:
            args = tuple(map(lazy.numbered, args))
        if check is not None:
            check(args, named)
        kinds = [*map(type, named.values())]
        if counted in kinds or (name in _BY_PLACE and device_scalar in kinds):
            args, named = _in_places(names, args, named)
        if counted in kinds:
            if counted not in map(type, (*args, named.get("flags"), named.get("weights"))):
                raise unsupported(f"{name}, unless its first input is one,")
            return _called(name, function, _spread(args) if name in _ELEMENTWISE else args, named)
        for each in args:
            kind = type(each)
            if kind is counted:
                given = _spread(args) if name in _ELEMENTWISE else _on_the_host(args, numbers)
                return _called(name, function, given, named)
            if kind is device_scalar:
                return _with_scalars(name, function, args, named, numbers, values)
        given = (*args, *named.values())
        # Before the function, which could take lazy inputs of such arrays for others.
        arrays = (each for position, each in enumerate(args) if type(each) is np.ndarray and position not in edges)
        lazy_inputs = (each for each in given if isinstance(each, lazy.Lazy))
        if any(map(_empty.is_empty, (*arrays, *lazy_inputs))):
            return _empty.result(name, args, named)
        try:
            return function(*args, **named)
        except amp.AmpError:
            # Containers have at least one element.
            if not any(_empty.is_empty(each) for each in given):
                raise
        return _empty.result(name, args, named)

    # Where pickle finds this function: the module has the one without this.
    _call.__module__ = __package__
    return _call
