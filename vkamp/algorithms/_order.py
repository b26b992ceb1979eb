"""Checks of functions that order, compare or add elements: those that cannot be are refused before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import positions_of
from vkamp.algorithms._operators import sorts_before
from vkamp.algorithms.counted import counted
from vkamp.algorithms.scalars import device_scalar

_Check = Callable[[tuple[Any, ...], dict[str, Any]], None]

_PARTS = "give real numbers, such as lazy.map(lambda z: abs(z), a), or the view a.real"
_LESS = "give less=, such as lambda x, y: abs(x) < abs(y)"
_KEY = "give key=, such as lambda z: abs(z), or less="
_UNIQUE = "sort them with key= or less=, and use unique_consecutive"
_MEMBERS = "use equal, find, or count, which only compare elements"
_SETS = f"{_LESS}, in which no two different elements are equal"
_MEMBER = "give a member, such as lazy.map(lambda s: s.x, a)"


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


#: Functions that order the digits of numbers, and not by a comparison, with what to do for structs.
_OF_DIGITS = {
    **dict.fromkeys(("intersect1d", "isin", "setdiff1d", "union1d"), _MEMBER),
    **{name: _TABLE[name].advice for name in ("topk", "unique")},
}


class _OfNumbers(NamedTuple):
    """What a function does with numbers only: the parameters whose elements it compares or adds, the one that does so
    for structs, and the advice for these.
    """

    inputs: tuple[str, ...]
    by: str
    advice: str


_EQ, _OP = "give eq=", "give op="
_NUMBERS = {
    **dict.fromkeys(("mean", "std", "var"), _OfNumbers(_ONE, "", _MEMBER)),
    **dict.fromkeys(("prod", "sum"), _OfNumbers(_ONE, "", "reduce(a, op) combines any elements")),
    **dict.fromkeys(("cumulative_prod", "cumulative_sum"), _OfNumbers(_ONE, "", "scan(a, op) combines any elements")),
    **dict.fromkeys(("adjacent_difference", "reduce", "scan", "segmented_reduce", "segmented_scan"),
                    _OfNumbers(_ONE, "op", _OP)),
    **dict.fromkeys(("adjacent_find", "run_length_encode", "unique_consecutive"), _OfNumbers(_ONE, "eq", _EQ)),
    **dict.fromkeys(("equal", "find_end", "find_first_of", "mismatch", "search"), _OfNumbers(_TWO, "eq", _EQ)),
    **dict.fromkeys(("reduce_by_key", "scan_by_key", "unique_by_key"), _OfNumbers(("keys",), "eq", _EQ)),
    "all": _OfNumbers(_ONE, "", "give a condition, all_of(a, pred)"),
    "any": _OfNumbers(_ONE, "", "give a condition, any_of(a, pred)"),
    "count": _OfNumbers(_ONE, "", "give a condition, count_if(a, pred)"),
    "count_nonzero": _OfNumbers(_ONE, "", "give a condition, count_if(a, pred)"),
    "diff": _OfNumbers(_ONE, "", "adjacent_difference(a, op) takes any elements"),
    "find": _OfNumbers(_ONE, "", "give a condition, find_if(a, pred)"),
    "nonzero": _OfNumbers(_ONE, "", "give conditions, select(lazy.arange(n), flags=...)"),
    "replace": _OfNumbers(_ONE, "", "give a condition, replace_if(a, pred, new)"),
    "vdot": _OfNumbers(_TWO, "", "transform_reduce(f, op, a, b) takes any elements"),
}  # fmt: skip

#: Functions of numbers that take no vectors either; others add and compare these by their components.
_NO_VECTORS = frozenset(("mean", "std", "var"))


def _dtype(value: Any) -> np.dtype[Any]:
    """The type of an input's elements, or of a number."""
    if isinstance(value, lazy.Lazy):
        return lazy.dtype_of(value)
    if isinstance(value, (amp.array, amp.array_view, counted, device_scalar, np.ndarray, np.generic)):
        found: np.dtype[Any] = value.dtype
        return found
    return np.dtype(complex if isinstance(value, complex) else getattr(value, "dtype", np.int32))


def _lacks_operators(dtype: np.dtype[Any]) -> bool:
    """Whether elements are structs that define no operators: classes of structs can."""
    return dtype.names is not None and dtype.type is np.void


def _is_vector(dtype: np.dtype[Any]) -> bool:
    """Whether elements are short vectors, whose components have two names."""
    return dtype.fields is not None and all(len(each) == 3 for each in dtype.fields.values())


def _kind_of(kinds: list[np.dtype[Any]]) -> str:
    return "vectors" if any(map(_is_vector, kinds)) else "structs"


def check_of(function: Callable[..., Any]) -> _Check | None:
    """The check that raises TypeError if a function would order, compare or add elements for which that is not defined;
    ``None`` for functions that do none of this.
    """
    name = function.__name__
    positions = positions_of(function)
    if name in _TABLE:
        return _check_of_order(name, positions, _TABLE[name])
    if name in _NUMBERS:
        return _check_of_numbers(name, positions, _NUMBERS[name])
    return None


def _check_of_order(name: str, positions: dict[str, int], ordering: _Ordering) -> _Check:
    inputs = [(positions[each], each) for each in ordering.inputs]
    by = [(positions[each], each) for each in ordering.by]
    for_structs = _OF_DIGITS.get(name, f"give {' or '.join(f'{each}=' for each in ordering.by)}" if by else _MEMBER)

    def check(args: tuple[Any, ...], named: dict[str, Any]) -> None:
        kinds = [_dtype(_given(args, named, each)) for each in inputs]
        is_complex = any(kind.kind == "c" for kind in kinds)
        if not is_complex and not any(kind.names if name in _OF_DIGITS else _lacks_operators(kind) for kind in kinds):
            return
        how = [_given(args, named, each) for each in by]
        if all(each is None or each in _LACKING for each in how):
            which = "complex numbers" if is_complex else _kind_of(kinds)
            raise TypeError(
                f"{which} have no order, which {name} needs: {ordering.advice if is_complex else for_structs}"
            )

    return check


def _check_of_numbers(name: str, positions: dict[str, int], numbers: _OfNumbers) -> _Check:
    inputs = [(positions[each], each) for each in numbers.inputs]
    by = (positions[numbers.by], numbers.by) if numbers.by else None

    def check(args: tuple[Any, ...], named: dict[str, Any]) -> None:
        kinds = [_dtype(_given(args, named, each)) for each in inputs]
        if not any(_lacks_operators(kind) and (name in _NO_VECTORS or not _is_vector(kind)) for kind in kinds):
            return
        if by is None or _given(args, named, by) in (None, functional.equal_to, functional.plus, functional.minus):
            raise TypeError(f"{name} takes numbers, not {_kind_of(kinds)}: {numbers.advice}")

    return check


def _given(args: tuple[Any, ...], named: dict[str, Any], param: tuple[int, str]) -> Any:
    position, name = param
    return args[position] if position < len(args) else named.get(name)
