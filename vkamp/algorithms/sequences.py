"""Sequences in sequences: ``search``, ``find_end``, ``search_n``, ``find_first_of``, ``lexicographical_compare``.

Each place is compared with the whole sequence, as far as they agree; long sequences in several launches, because
drivers limit the iterations of a thread.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import place
from vkamp.algorithms._exact import exactly
from vkamp.algorithms._operators import NOWHERE, Flag, PositionsWhere, like
from vkamp.algorithms._results import result_row
from vkamp.algorithms.reduce import reduce_into
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.scan import scan_into
from vkamp.algorithms.search import first_place
from vkamp.algorithms.transform import store

#: Elements of a sequence that a launch compares with each place: a plain kernel's thread may have several places.
_AT_ONCE = 4096


@amp.kernel
def _match(idx, source, pattern, flags, first, last, eq):
    """Keeps the flag of each place where the pattern's elements from ``first`` to ``last`` agree."""
    i = idx[0]
    k = first
    agrees = flags[i] != 0
    while k < last and agrees:
        agrees = eq(source.value(i + k), pattern.value(k))
        k += 1
    flags[i] = 1 if agrees else 0


@amp.kernel
def _match_any(idx, source, pattern, flags, first, last, eq):
    """Sets the flag of each element that is equal to one of the pattern's from ``first`` to ``last``."""
    i = idx[0]
    k = first
    found = flags[i] != 0
    while k < last and not found:
        found = eq(source.value(i), pattern.value(k))
        k += 1
    flags[i] = 1 if found else 0


def _flags(
    view: amp.accelerator_view, source: lazy.Lazy, pattern: lazy.Lazy, eq: Any, kernel: Any, places: int
) -> lazy.Lazy:
    flags = amp.array(amp.extent(places), np.int32, accelerator_view=view)
    store(view, lazy.constant(1 if kernel is _match else 0, places), flags)
    m = pattern.extent[0]
    for first in range(0, m, _AT_ONCE):
        last = min(first + _AT_ONCE, m)
        amp.parallel_for_each(view, flags.extent, kernel, source, pattern, flags, first, last, eq)
    return lazy.Elements(flags)


def _found(a: Any, b: Any, eq: Any, out: Any, accelerator_view: Any, *, last: bool = False) -> device_scalar:
    source, pattern = lazy.of(a).flat(), lazy.of(b).flat()
    eq = exactly(eq, source, pattern)
    view = place(accelerator_view, source, pattern, out)
    places = source.extent[0] - pattern.extent[0] + 1
    with result_row(out, 1, np.dtype(np.int32), view, source, pattern) as (found, row):
        if places < 1:
            store(view, lazy.constant(-1, 1), row)
        elif last:
            flags = _flags(view, source, pattern, eq, _match, places)
            reduce_into(view, lazy.At(_Behind(), flags), row, functional.max)
        else:
            flags = _flags(view, source, pattern, eq, _match, places)
            first_place(view, lazy.At(PositionsWhere(functional.truth), flags), out=row)
    return device_scalar(found)


class _Behind:
    """For ``lazy.At``: the position of each flag that is not zero, else -1."""

    __slots__ = ()

    @amp.func
    def __call__(self, flags: Any, i: Any) -> Any:
        return amp.int32(i) if flags.value(i) != 0 else -1


def search(
    a: Any,
    b: Any,
    eq: Any = functional.equal_to,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> device_scalar:
    """The first position where ``a`` has all elements of ``b`` in a row, -1 if there is none (C++: ``search``)."""
    return _found(a, b, eq, out, accelerator_view)


def find_end(
    a: Any,
    b: Any,
    eq: Any = functional.equal_to,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> device_scalar:
    """The last position where ``a`` has all elements of ``b`` in a row, -1 if there is none (C++: ``find_end``)."""
    return _found(a, b, eq, out, accelerator_view, last=True)


def find_first_of(
    a: Any,
    b: Any,
    eq: Any = functional.equal_to,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> device_scalar:
    """The first position whose element is equal to one of ``b``, -1 if there is none (C++: ``find_first_of``)."""
    source, pattern = lazy.of(a).flat(), lazy.of(b).flat()
    eq = exactly(eq, source, pattern)
    view = place(accelerator_view, source, pattern, out)
    with result_row(out, 1, np.dtype(np.int32), view, source, pattern) as (found, row):
        flags = _flags(view, source, pattern, eq, _match_any, source.extent[0])
        first_place(view, lazy.At(PositionsWhere(functional.truth), flags), out=row)
    return device_scalar(found)


class Agrees:
    """Whether an element agrees with a number."""

    __slots__ = ("eq", "number")

    def __init__(self, number: Any, eq: Any) -> None:
        self.number, self.eq = number, eq

    @amp.func
    def __call__(self, x: Any) -> Any:
        return self.eq(x, self.number)


class _FullRun:
    """For ``lazy.At`` on counts of flags up to each place: the place if ``count`` flags in a row begin there."""

    __slots__ = ("count",)

    def __init__(self, count: int) -> None:
        self.count = count

    @amp.func
    def __call__(self, upto: Any, i: Any) -> Any:
        found = upto.value(i + self.count - 1)
        if i > 0:
            found -= upto.value(i - 1)
        return amp.int32(i) if found == self.count else NOWHERE


def search_n(
    a: Any,
    count: int,
    number: Any,
    eq: Any = functional.equal_to,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> device_scalar:
    """The first position of ``count`` elements in a row that are equal to a number, -1 if none (C++: ``search_n``).

    The prefix sums of the flags of equal elements tell how many there are between any two places.
    """
    source = lazy.of(a).flat()
    view = place(accelerator_view, source, out)
    n = source.extent[0]
    with result_row(out, 1, np.dtype(np.int32), view, source) as (found, row):
        if count < 1 or count > n:
            store(view, lazy.constant(0 if count < 1 else -1, 1), row)
        else:
            upto = amp.array(source.extent, np.int32, accelerator_view=view)
            flags = lazy.map(Flag(Agrees(like(number, source), eq)), source)
            scan_into(view, flags, upto, functional.plus, inclusive=True)
            first_place(view, lazy.At(_FullRun(count), lazy.Elements(upto), n - count + 1), out=row)
    return device_scalar(found)


class _Differ:
    """For ``lazy.At``: the place if the two inputs differ there."""

    __slots__ = ("less", "other")

    def __init__(self, other: lazy.Lazy, less: Any) -> None:
        self.other, self.less = other, less

    @amp.func
    def __call__(self, values: Any, i: Any) -> Any:
        x = values.value(i).copy()
        y = self.other.value(i).copy()
        return amp.int32(i) if self.less(x, y) or self.less(y, x) else NOWHERE


@amp.kernel
def _decide(idx, a, b, at, out, shorter, less):
    first = at[0]
    out[idx] = shorter
    if first >= 0:
        out[idx] = 1 if less(a.value(first), b.value(first)) else 0


def lexicographical_compare(
    a: Any,
    b: Any,
    less: Any = functional.less,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> device_scalar:
    """Whether ``a`` comes before ``b`` in the order of words (C++: ``lexicographical_compare``)."""
    left, right = lazy.of(a).flat(), lazy.of(b).flat()
    less = exactly(less, left, right)
    view = place(accelerator_view, left, right, out)
    n, m = left.extent[0], right.extent[0]
    with result_row(out, 1, np.dtype(np.uint8), view, left, right) as (found, row):
        at = first_place(view, lazy.At(_Differ(right, less), left, min(n, m)))
        shorter = 1 if n < m else 0
        amp.parallel_for_each(view, row.extent, _decide, left, right, at.view, row, shorter, less)
    return device_scalar(found, np.dtype(np.bool_))
