"""The names of C++ AMP's ``amp_stl_algorithms.h``, over :mod:`vkamp.algorithms`: all 78.

A range is a view, a position is an int or a ``device_scalar``, and ``first, last, dest`` are ``a, out``.  Functions
that change a range change the view and return it, or the new end as a ``device_scalar``.  Where C++ returns the end for
"not found", the result is -1.  A range may be a numpy array, also an empty one, or a ``counted``, whose elements after
the count are undefined, and so are those of an ``out``.  The 36 names that C++ AMP's library declares and does not
implement work, too.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import value as element_of
from vkamp.algorithms._empty import is_empty
from vkamp.algorithms._operators import Is, like
from vkamp.algorithms.counted import counted
from vkamp.algorithms.functional import minmax, swap
from vkamp.algorithms.scalars import device_scalar
from vkamp.tracebacks import entry_point

__all__ = [
    "adjacent_difference", "adjacent_find", "all_of", "any_of", "binary_search", "copy", "copy_backward", "copy_if",
    "copy_n", "count", "count_if", "equal", "equal_range", "fill", "fill_n", "find", "find_end", "find_first_of",
    "find_if", "find_if_not", "for_each", "for_each_no_return", "generate", "generate_n", "includes",
    "inner_product", "inplace_merge", "iota", "is_partitioned", "is_sorted", "is_sorted_until", "iter_swap",
    "lexicographical_compare", "lower_bound", "max_element", "merge", "min_element", "minmax", "minmax_element",
    "mismatch", "move", "move_backward", "none_of", "nth_element", "partial_sort", "partial_sort_copy", "partition",
    "partition_point", "random_shuffle", "reduce", "remove", "remove_copy", "remove_copy_if", "remove_if",
    "replace", "replace_copy", "replace_copy_if", "replace_if", "reverse", "reverse_copy", "rotate", "rotate_copy",
    "search", "search_n", "set_difference", "set_intersection", "set_symmetric_difference", "set_union", "shuffle",
    "sort", "stable_partition", "stable_sort", "swap", "swap_ranges", "transform", "unique", "unique_copy",
    "upper_bound",
]  # fmt: skip

View = Any
#: A position in a range.
Position = device_scalar


def _into(found: Any, a: View) -> View:
    """Stores a result in the range that it replaces; returns the range."""
    if is_empty(a):
        return a
    room = _room(a)
    alg.copy(found, out=room if isinstance(room, (amp.array, amp.array_view)) else amp.array_view(room))
    return a


def _room(a: View) -> View:
    """The memory of a range; that of a ``counted`` has room for its largest possible count."""
    return a.values if isinstance(a, counted) else a


def _length(a: View) -> int:
    """The number of elements of a range; TypeError for more than one dimension."""
    room = _room(a)
    shape = room.shape if isinstance(room, np.ndarray) else tuple(lazy.of(room).extent)
    if len(shape) != 1:
        raise TypeError(f"a range has one dimension, not the shape {shape}")
    return int(shape[0])


def _first_of(found: counted, a: View) -> device_scalar:
    """Stores the elements found at the begin of a range; returns their number, the range's new end."""
    _into(found.values, a)
    return found.count


def _part(a: View, begin: int, end: int) -> View:
    """The elements from one position to another one, as a view."""
    room = _room(a)
    return (room if isinstance(room, amp.array_view) else amp.array_view(room))[begin:end]


def _overlap(a: View, b: View) -> bool:
    """Whether two ranges share memory."""
    rooms = [_room(each) for each in (a, b)]
    if any(is_empty(room) or not isinstance(room, (amp.array, amp.array_view, np.ndarray)) for room in rooms):
        return False
    left, right = (r if isinstance(r, (amp.array, amp.array_view)) else amp.array_view(r, readonly=True) for r in rooms)
    return left.overlaps(right)


def _stored(found: device_scalar, out: View) -> device_scalar:
    """A condition, also stored in the first element of a view, if there is one."""
    if out is not None:
        alg.copy(found.view, out=_part(out, 0, 1))
    return found


def _bound(a: View, value: Any, side: str, comp: Any) -> Any:
    """A position as a ``device_scalar``; TypeError or OverflowError if no element of the range can have the value."""
    if is_empty(a):
        return 0
    room = _room(a)
    if isinstance(value, device_scalar):
        return alg.searchsorted(a, value, side, comp)
    dtype = lazy.dtype_of(lazy.of(room))
    element_of(value, dtype)
    if dtype.names is None:
        return alg.searchsorted(a, value, side, comp)
    return device_scalar(alg.searchsorted(a, np.array([value], dtype), side, comp))


def _is(a: View, value: Any) -> Is:
    return Is(value if is_empty(a) else like(value, lazy.of(_room(a))))


def _checked(a: View, at: int, count: int = 0) -> None:
    """ValueError unless a range has ``count`` elements from a position on."""
    if not 0 <= at <= _length(a) - count:
        raise ValueError(f"position {at} is outside of a range of {_length(a)} elements")


def _element(a: View, at: int) -> View:
    _checked(a, at, 1)
    return _part(a, at, at + 1)


@amp.func
def _mirrored(at: Any, n: Any) -> Any:
    """The position that has one of the reversed range."""
    return n - 1 - at


def adjacent_difference(a: View, out: View, op: Any = functional.minus) -> View:
    """``op`` of each element and the one before it; ``out`` may be the range itself.

    ``amp_stl_algorithms::adjacent_difference``
    """
    if _overlap(a, out):
        return _into(alg.adjacent_difference(a, op), out)
    alg.adjacent_difference(a, op, out=out)
    return out


def adjacent_find(a: View, p: Any = functional.equal_to) -> Position:
    """The first position whose element agrees with the next one (``amp_stl_algorithms::adjacent_find``)."""
    return alg.adjacent_find(a, p)


def all_of(a: View, p: Any, out: View = None) -> device_scalar:
    """Whether all elements meet a condition; also stored in ``out`` (``amp_stl_algorithms::all_of``)."""
    return _stored(alg.all_of(a, p), out)


def any_of(a: View, p: Any, out: View = None) -> device_scalar:
    """Whether some element meets a condition; also stored in ``out`` (``amp_stl_algorithms::any_of``)."""
    return _stored(alg.any_of(a, p), out)


def binary_search(a: View, value: Any, comp: Any = functional.less) -> Any:
    """Whether a sorted range has a value (``amp_stl_algorithms::binary_search``)."""
    first, last = equal_range(a, value, comp)
    if is_empty(a):
        return False
    return alg.lexicographical_compare(first.view, last.view)


def copy(a: View, out: View) -> View:
    """Copies a range, which may overlap ``out`` (``amp_stl_algorithms::copy``)."""
    if _overlap(a, out):
        return _into(alg.copy(a), out)
    alg.copy(a, out=out)
    return out


def copy_backward(a: View, out: View) -> View:
    """Copies a range, which may overlap ``out`` (``amp_stl_algorithms::copy_backward``)."""
    return copy(a, out)


def copy_if(a: View, out: View, p: Any) -> counted:
    """Copies the elements that meet a condition (``amp_stl_algorithms::copy_if``)."""
    return alg.select(a, p, out=out)


def copy_n(a: View, count: int, out: View) -> View:
    """Copies the first ``count`` elements to the begin of ``out`` (``amp_stl_algorithms::copy_n``)."""
    _checked(a, count)
    if count > 0:
        copy(_part(a, 0, count), _part(out, 0, count))
    return out


def count(a: View, value: Any) -> device_scalar:
    """How many elements are equal to a value (``amp_stl_algorithms::count``)."""
    found: device_scalar = alg.count(a, value)
    return found


def count_if(a: View, p: Any) -> device_scalar:
    """How many elements meet a condition (``amp_stl_algorithms::count_if``)."""
    found: device_scalar = alg.count_if(a, p)
    return found


def equal(a: View, b: View, p: Any = functional.equal_to) -> device_scalar:
    """Whether two ranges agree, pair by pair (``amp_stl_algorithms::equal``)."""
    return alg.equal(a, b, p)


def equal_range(a: View, value: Any, comp: Any = functional.less) -> tuple[Any, Any]:
    """Finds a value in a sorted range: its first position, and the position after its last.

    ``amp_stl_algorithms::equal_range``
    """
    return lower_bound(a, value, comp), upper_bound(a, value, comp)


def fill(a: View, value: Any) -> View:
    """Stores a value in all elements (``amp_stl_algorithms::fill``)."""
    alg.fill(a, value)
    return a


def fill_n(a: View, count: int, value: Any) -> View:
    """Stores a value in the first ``count`` elements (``amp_stl_algorithms::fill_n``)."""
    _checked(a, count)
    if count > 0:
        alg.fill(_part(a, 0, count), value)
    return a


def find(a: View, value: Any) -> Position:
    """The first position of a value (``amp_stl_algorithms::find``)."""
    return alg.find(a, value)


def find_end(a: View, b: View, p: Any = functional.equal_to) -> Position:
    """The last position of a sequence (``amp_stl_algorithms::find_end``)."""
    return alg.find_end(a, b, p)


def find_first_of(a: View, b: View, p: Any = functional.equal_to) -> Position:
    """The first position of any element of ``b`` (``amp_stl_algorithms::find_first_of``)."""
    return alg.find_first_of(a, b, p)


def find_if(a: View, p: Any) -> Position:
    """The first position that meets a condition (``amp_stl_algorithms::find_if``)."""
    return alg.find_if(a, p)


def find_if_not(a: View, p: Any) -> Position:
    """The first position that does not meet a condition (``amp_stl_algorithms::find_if_not``)."""
    return alg.find_if_not(a, p)


def for_each(a: View, f: Any) -> Any:
    """Calls ``f(a, i)`` for every index; returns ``f`` (``amp_stl_algorithms::for_each``)."""
    alg.for_each(f, a)
    return f


def for_each_no_return(a: View, f: Any) -> None:
    """Calls ``f(a, i)`` for every index (``amp_stl_algorithms::for_each_no_return``)."""
    alg.for_each(f, a)


def generate(a: View, g: Any) -> View:
    """Stores ``g(i)`` in every element (``amp_stl_algorithms::generate``)."""
    if is_empty(a):
        return a
    alg.generate(_part(a, 0, len(_room(a))).extent, g, out=_room(a))
    return a


def generate_n(a: View, count: int, g: Any) -> View:
    """Stores ``g(i)`` in the first ``count`` elements (``amp_stl_algorithms::generate_n``)."""
    _checked(a, count)
    if count > 0:
        generate(_part(a, 0, count), g)
    return a


def includes(a: View, b: View, comp: Any = functional.less) -> device_scalar:
    """Whether a sorted range has all elements of another one (``amp_stl_algorithms::includes``)."""
    return alg.includes(a, b, comp)


def inner_product(
    a: View, b: View, value: Any, op1: Any = functional.plus, op2: Any = functional.multiplies
) -> device_scalar:
    """``op1`` of a value and ``op2`` of each pair of elements (``amp_stl_algorithms::inner_product``)."""
    found: device_scalar = alg.transform_reduce(op2, op1, a, b, init=value)
    return found


def inplace_merge(a: View, middle: int, comp: Any = functional.less) -> View:
    """Merges the two sorted parts of a range (``amp_stl_algorithms::inplace_merge``)."""
    _checked(a, middle)
    n = len(_room(a))
    if middle in (0, n):
        return a
    second = _part(a, middle, n)
    if isinstance(a, counted):
        rest = alg.transform(lambda n: max(n - middle, 0), a.count.view)
        second = counted(second, device_scalar(rest))
    return _into(alg.merge(_part(a, 0, middle), second, comp), a)


def iota(a: View, value: Any) -> View:
    """Stores ``value``, ``value + 1`` and so on (``amp_stl_algorithms::iota``)."""
    if is_empty(a):
        return a
    n, room = _length(a), _room(a)
    if not isinstance(value, device_scalar):
        alg.arange(n, value, out=room)
    elif lazy.reads_as(value, lazy.dtype_of(lazy.of(room))):
        alg.transform(functional.plus, lazy.arange(n), value, out=room)
    else:
        alg.arange(n, value.item(), out=room)
    return a


def is_partitioned(a: View, p: Any) -> device_scalar:
    """Whether the elements that meet a condition come first (``amp_stl_algorithms::is_partitioned``)."""
    return alg.is_partitioned(a, p)


def is_sorted(a: View, comp: Any = functional.less) -> device_scalar:
    """Whether a range is sorted (``amp_stl_algorithms::is_sorted``)."""
    found: device_scalar = alg.is_sorted(a, comp)
    return found


def is_sorted_until(a: View, comp: Any = functional.less) -> Position:
    """How many elements from the first on are sorted (``amp_stl_algorithms::is_sorted_until``)."""
    return alg.is_sorted_until(a, comp)


def iter_swap(a: View, i: int, b: View, j: int) -> None:
    """Exchanges element ``i`` of one range and element ``j`` of another one (``amp_stl_algorithms::iter_swap``)."""
    left, right = _element(a, i), _element(b, j)
    if not left.overlaps(right):
        alg.swap(left, right)


def lexicographical_compare(a: View, b: View, comp: Any = functional.less) -> device_scalar:
    """Whether a range comes before another one in the order of words.

    ``amp_stl_algorithms::lexicographical_compare``
    """
    return alg.lexicographical_compare(a, b, comp)


def lower_bound(a: View, value: Any, comp: Any = functional.less) -> Any:
    """The first position whose element is not less than a value (``amp_stl_algorithms::lower_bound``)."""
    return _bound(a, value, "left", comp)


def max_element(a: View, comp: Any = functional.less) -> Any:
    """The position of the first largest element (``amp_stl_algorithms::max_element``)."""
    return -1 if is_empty(a) else alg.argmax(a, less=comp)


def merge(a: View, b: View, out: View, comp: Any = functional.less) -> View:
    """Merges two sorted ranges (``amp_stl_algorithms::merge``)."""
    alg.merge(a, b, comp, out=out)
    return out


def min_element(a: View, comp: Any = functional.less) -> Any:
    """The position of the first smallest element (``amp_stl_algorithms::min_element``)."""
    return -1 if is_empty(a) else alg.argmin(a, less=comp)


def minmax_element(a: View, comp: Any = functional.less) -> tuple[Any, Any]:
    """The positions of the first smallest and the last largest element (``amp_stl_algorithms::minmax_element``)."""
    if is_empty(a):
        return -1, -1
    last = alg.argmax(alg.flip(a), less=comp)
    n = a.count.view if isinstance(a, counted) else lazy.constant(_length(a), 1)
    return min_element(a, comp), device_scalar(alg.transform(_mirrored, last.view, n))


def mismatch(a: View, b: View, p: Any = functional.equal_to) -> Position:
    """The first position where two ranges differ (``amp_stl_algorithms::mismatch``)."""
    return alg.mismatch(a, b, p)


def move(a: View, out: View) -> View:
    """Copies a range, which may overlap ``out`` (``amp_stl_algorithms::move``)."""
    return copy(a, out)


def move_backward(a: View, out: View) -> View:
    """Copies a range, which may overlap ``out`` (``amp_stl_algorithms::move_backward``)."""
    return copy_backward(a, out)


def none_of(a: View, p: Any, out: View = None) -> device_scalar:
    """Whether no element meets a condition; also stored in ``out`` (``amp_stl_algorithms::none_of``)."""
    return _stored(alg.none_of(a, p), out)


def nth_element(a: View, nth: int, comp: Any = None) -> View:
    """Moves the element to ``nth`` that sorting would put there, smaller ones before it and larger ones after it.

    ``amp_stl_algorithms::nth_element``
    """
    _checked(a, nth)
    return sort(a, comp)


def partial_sort(a: View, middle: int, comp: Any = None) -> View:
    """Puts the smallest ``middle`` elements first, sorted (``amp_stl_algorithms::partial_sort``)."""
    _checked(a, middle)
    return sort(a, comp)


def partial_sort_copy(a: View, out: View, comp: Any = None) -> View:
    """Stores the smallest elements in ``out``, sorted, until it is full (``amp_stl_algorithms::partial_sort_copy``)."""
    if isinstance(a, counted):
        ordered = alg.sort(a, less=comp)
        alg.select(ordered, flags=lazy.constant(1, ordered.values.extent), out=out)
        return out
    n = min(_length(a), _length(out))
    if n > 0:
        alg.copy(_part(alg.sort(a, less=comp), 0, n), out=_part(out, 0, n))
    return out


def partition(a: View, p: Any) -> Position:
    """Puts the elements that meet a condition first; returns how many do (``amp_stl_algorithms::partition``)."""
    return stable_partition(a, p)


def partition_point(a: View, p: Any) -> Position:
    """How many elements of a partitioned range meet its condition (``amp_stl_algorithms::partition_point``)."""
    return alg.partition_point(a, p)


def random_shuffle(a: View, r: Any = None) -> View:
    """Puts the elements in random order, by a seed or a numpy Generator, or by the system's randomness.

    ``amp_stl_algorithms::random_shuffle``
    """
    alg.shuffle(a, np.random.default_rng() if r is None else r, out=_room(a))
    return a


def reduce(a: View, init: Any, op: Any = functional.plus) -> device_scalar:
    """``op`` of ``init`` and all elements (``amp_stl_algorithms::reduce``)."""
    found: device_scalar = alg.reduce(a, op, init)
    return found


def remove(a: View, value: Any) -> Position:
    """Moves the elements that are not equal to a value to the front; returns how many.

    ``amp_stl_algorithms::remove``
    """
    return remove_if(a, _is(a, value))


def remove_copy(a: View, out: View, value: Any) -> counted:
    """Copies the elements that are not equal to a value (``amp_stl_algorithms::remove_copy``)."""
    return remove_copy_if(a, out, _is(a, value))


def remove_copy_if(a: View, out: View, p: Any) -> counted:
    """Copies the elements that do not meet a condition (``amp_stl_algorithms::remove_copy_if``)."""
    return alg.select(a, functional.not1(p), out=out)


def remove_if(a: View, p: Any) -> Position:
    """Moves the elements that do not meet a condition to the front; returns how many.

    ``amp_stl_algorithms::remove_if``
    """
    return _first_of(alg.select(a, functional.not1(p)), a)


def replace(a: View, old_value: Any, new_value: Any) -> View:
    """Puts a value in the place of another one (``amp_stl_algorithms::replace``)."""
    return replace_if(a, _is(a, old_value), new_value)


def replace_copy(a: View, out: View, old_value: Any, new_value: Any) -> View:
    """Copies a range with a value in the place of another one (``amp_stl_algorithms::replace_copy``)."""
    return replace_copy_if(a, out, _is(a, old_value), new_value)


def replace_copy_if(a: View, out: View, p: Any, new_value: Any) -> View:
    """Copies a range with a value in the place of the elements that meet a condition.

    ``amp_stl_algorithms::replace_copy_if``
    """
    alg.replace_if(a, p, new_value, out=out)
    return out


def replace_if(a: View, p: Any, new_value: Any) -> View:
    """Puts a value in the place of the elements that meet a condition (``amp_stl_algorithms::replace_if``)."""
    alg.replace_if(a, p, new_value, out=_room(a))
    return a


def reverse(a: View) -> View:
    """Reverses a range (``amp_stl_algorithms::reverse``)."""
    return _into(alg.flip(a), a)


def reverse_copy(a: View, out: View) -> View:
    """Copies a range in reverse order (``amp_stl_algorithms::reverse_copy``)."""
    alg.flip(a, out=out)
    return out


def rotate(a: View, middle: int) -> View:
    """Puts the elements from ``middle`` on first (``amp_stl_algorithms::rotate``)."""
    alg.rotate(a, middle, out=_room(a))
    return a


def rotate_copy(a: View, middle: int, out: View) -> View:
    """Copies the elements from ``middle`` on, then those before it (``amp_stl_algorithms::rotate_copy``)."""
    alg.rotate(a, middle, out=out)
    return out


def search(a: View, b: View, p: Any = functional.equal_to) -> Position:
    """The first position of a sequence (``amp_stl_algorithms::search``)."""
    return alg.search(a, b, p)


def search_n(a: View, count: int, value: Any, p: Any = functional.equal_to) -> Position:
    """The first position of ``count`` equal elements in a row (``amp_stl_algorithms::search_n``)."""
    return alg.search_n(a, count, value, p)


def set_difference(a: View, b: View, out: View = None, comp: Any = functional.less) -> counted:
    """The elements of a sorted range that another one lacks (``amp_stl_algorithms::set_difference``)."""
    return alg.set_difference(a, b, comp, out=out)


def set_intersection(a: View, b: View, out: View = None, comp: Any = functional.less) -> counted:
    """The elements that two sorted ranges have in common (``amp_stl_algorithms::set_intersection``)."""
    return alg.set_intersection(a, b, comp, out=out)


def set_symmetric_difference(a: View, b: View, out: View = None, comp: Any = functional.less) -> counted:
    """The elements that one of two sorted ranges has (``amp_stl_algorithms::set_symmetric_difference``)."""
    return alg.set_symmetric_difference(a, b, comp, out=out)


def set_union(a: View, b: View, out: View = None, comp: Any = functional.less) -> counted:
    """The elements of two sorted ranges, those of both once (``amp_stl_algorithms::set_union``)."""
    return alg.set_union(a, b, comp, out=out)


def shuffle(a: View, g: Any) -> View:
    """Puts the elements in random order, by a seed or a numpy Generator (``amp_stl_algorithms::shuffle``)."""
    alg.shuffle(a, g, out=_room(a))
    return a


def sort(a: View, comp: Any = None) -> View:
    """Sorts a range; stable (``amp_stl_algorithms::sort``)."""
    _length(a)
    alg.sort(a, less=comp, out=_room(a))
    return a


def stable_partition(a: View, p: Any) -> Position:
    """Puts the elements that meet a condition first, each in their order; returns how many do.

    ``amp_stl_algorithms::stable_partition``
    """
    values, count = alg.partition(a, p)
    _into(values, a)
    return count


def stable_sort(a: View, comp: Any = None) -> View:
    """Sorts a range, equal elements in their order (``amp_stl_algorithms::stable_sort``)."""
    return sort(a, comp)


def swap_ranges(a: View, b: View) -> None:
    """Exchanges the elements of two ranges (``amp_stl_algorithms::swap_ranges``)."""
    alg.swap(a, b)


def transform(a: View, out: View, func: Any, b: View = None) -> View:
    """Stores ``func`` of the elements of one or two ranges (``amp_stl_algorithms::transform``)."""
    alg.transform(func, *([a] if b is None else [a, b]), out=out)
    return out


def unique(a: View, comp: Any = functional.equal_to) -> Position:
    """Moves the first of each run of equal elements to the front; returns how many (``amp_stl_algorithms::unique``)."""
    return _first_of(alg.unique_consecutive(a, comp), a)


def unique_copy(a: View, out: View, p: Any = functional.equal_to) -> counted:
    """Copies the first of each run of equal elements (``amp_stl_algorithms::unique_copy``)."""
    found: counted = alg.unique_consecutive(a, p, out=out)
    return found


def upper_bound(a: View, value: Any, comp: Any = functional.less) -> Any:
    """The first position whose element is after a value (``amp_stl_algorithms::upper_bound``)."""
    return _bound(a, value, "right", comp)


for _name in __all__:
    if isinstance(globals()[_name], FunctionType):
        globals()[_name] = entry_point(globals()[_name])
