"""Checks of functions that order elements: those without an order are refused before anything runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._operators import sorts_before
from vkamp.algorithms.counted import counted
from vkamp.algorithms.scalars import device_scalar

_PARTS = "give real numbers, such as lazy.map(lambda z: abs(z), a), or the view a.real"
_LESS = "give less=, such as lambda x, y: abs(x) < abs(y)"
_KEY = "give key=, such as lambda z: abs(z), or less="
_UNIQUE = "sort them with key= or less=, and use unique_consecutive"
_MEMBERS = "use equal, find, or count, which only compare elements"
_SETS = f"{_LESS}, in which no two different elements are equal"


class _Ordering(NamedTuple):
    """What a function orders: the parameters whose elements it orders, those that set the order, and the advice for
    complex elements.
    """

    inputs: tuple[str, ...]
    by: tuple[str, ...]
    advice: str


_ONE, _TWO = ("a",), ("a", "b")
_TABLE = {
    **dict.fromkeys(("argsort", "sort"), _Ordering(_ONE, ("less", "key"), _KEY)),
    **dict.fromkeys(("argmax", "argmin", "is_sorted", "is_sorted_until", "nth_element", "segmented_sort"),
                    _Ordering(_ONE, ("less",), _LESS)),
    **dict.fromkeys(("includes", "set_difference", "set_intersection", "set_symmetric_difference", "set_union"),
                    _Ordering(_TWO, ("less",), _SETS)),
    **dict.fromkeys(("cummax", "cummin", "digitize", "histogram", "histogram_range", "logsumexp", "max",
                     "min", "minmax", "quantile"), _Ordering(_ONE, (), _PARTS)),
    **dict.fromkeys(("intersect1d", "isin", "setdiff1d", "union1d"), _Ordering(_TWO, (), _MEMBERS)),
    **dict.fromkeys(("lexicographical_compare", "merge"), _Ordering(_TWO, ("less",), _LESS)),
    "isin": _Ordering(("a", "among"), (), _MEMBERS),
    "merge_by_key": _Ordering(("keys_a", "keys_b"), ("less",), _LESS),
    "searchsorted": _Ordering(("ordered", "values"), ("less",), _LESS),
    "sort_by_key": _Ordering(("keys",), ("less",), _LESS),
    "topk": _Ordering(_ONE, (), "sort them with key= or less=, and take the first ones"),
    "unique": _Ordering(_ONE, (), _UNIQUE),
}  # fmt: skip

#: Comparisons that complex numbers lack.
_LACKING = (
    functional.less, functional.greater, functional.less_equal, functional.greater_equal, sorts_before,
)  # fmt: skip


#: Functions that order the digits of numbers, and not by a comparison.
_OF_DIGITS = frozenset(("intersect1d", "isin", "setdiff1d", "topk", "union1d", "unique"))


def _dtype(value: Any) -> np.dtype[Any]:
    """The type of an input's elements, or of a number."""
    if isinstance(value, lazy.Lazy):
        return lazy.dtype_of(value)
    if isinstance(value, (amp.array, amp.array_view, counted, device_scalar, np.ndarray, np.generic)):
        found: np.dtype[Any] = value.dtype
        return found
    return np.dtype(complex if isinstance(value, complex) else getattr(value, "dtype", np.int32))


def is_complex(value: Any) -> bool:
    """Whether an input has complex elements, or is a complex number."""
    return _dtype(value).kind == "c"


def check_of(function: Callable[..., Any]) -> Callable[[tuple[Any, ...], dict[str, Any]], None] | None:
    """The check that raises TypeError if a function would order complex elements, or structs by their digits; ``None``
    for functions that order nothing.
    """
    name = function.__name__
    ordering = _TABLE.get(name)
    if ordering is None:
        return None
    names = list(inspect.signature(function).parameters)
    inputs = [(names.index(each), each) for each in ordering.inputs]
    by = [(names.index(each), each) for each in ordering.by]

    def check(args: tuple[Any, ...], named: dict[str, Any]) -> None:
        if any(is_complex(_given(args, named, each)) for each in inputs):
            how = [_given(args, named, each) for each in by]
            if all(each is None or each in _LACKING for each in how):
                raise TypeError(f"complex numbers have no order, which {name} needs: {ordering.advice}")
        if name in _OF_DIGITS and any(_dtype(_given(args, named, each)).names is not None for each in inputs):
            raise TypeError(f"structs have no order, which {name} needs: {ordering.advice}")

    return check


def _given(args: tuple[Any, ...], named: dict[str, Any], param: tuple[int, str]) -> Any:
    position, name = param
    return args[position] if position < len(args) else named.get(name)
