"""How searches for sequences and in sorted inputs take a ``counted``.

The count is read on the device, so no function waits for it.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import computed_type, in_a_row, output, place
from vkamp.algorithms._counted_inputs import flags_of, is_set
from vkamp.algorithms._counted_parts import Differences, count_of, elements_of, given, like_input
from vkamp.algorithms._exact import exactly
from vkamp.algorithms._operators import like, sorts_before
from vkamp.algorithms._results import result_row
from vkamp.algorithms.counted import counted
from vkamp.algorithms.lazy import pair_of
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.search import find_if, like_elements, lower_bound, upper_bound
from vkamp.algorithms.sequences import Agrees
from vkamp.algorithms.transform import transform

_Function = Callable[..., Any]


class _OrNone(lazy.Lazy):
    """Pairs of an element and 1, and after the last one of any element and 0; with room for ``more`` such pairs."""

    __slots__ = ("n", "pair", "values")

    def __init__(self, a: Any, more: int = 0) -> None:
        self.values, self.n = elements_of(a), count_of(a)
        self.pair = pair_of(computed_type(self.values), np.dtype(np.int32))
        super().__init__(self.values.extent[0] + more)

    @amp.func
    def value(self, i: Any) -> Any:
        """The pair at a position."""
        return self.pair(self.values.value(min(i, self.values.extent[0] - 1)), 1 if i < self.n.value(0) else 0)


class _AgreeUpTo:
    """Whether an element agrees with one of a sequence, or the sequence has ended."""

    __slots__ = ("eq",)

    def __init__(self, eq: Any) -> None:
        self.eq = eq

    @amp.func
    def __call__(self, x: Any, y: Any) -> Any:
        found = y.second == 0
        if not found and x.second != 0:
            found = self.eq(x.first, y.first)
        return found


class _AreEqual(_AgreeUpTo):
    """Whether both elements exist, and agree."""

    __slots__ = ()

    @amp.func
    def __call__(self, x: Any, y: Any) -> Any:
        found = False
        if x.second != 0 and y.second != 0:
            found = self.eq(x.first, y.first)
        return found


def _found(function: _Function, a: Any, b: Any, eq: Any = functional.equal_to, **rest: Any) -> Any:
    eq = exactly(eq, elements_of(a), elements_of(b))
    pattern = _OrNone(b)
    return function(_OrNone(a, pattern.extent[0] - 1), pattern, _AgreeUpTo(eq), **rest)


@amp.func
def _unless_empty(at: Any, m: Any) -> Any:
    return at if m > 0 else -1


def _found_last(
    function: _Function, a: Any, b: Any, eq: Any = functional.equal_to, *, out: Any = None,
    accelerator_view: Any = None,
) -> Any:  # fmt: skip
    view = place(accelerator_view, elements_of(a), elements_of(b), out)
    at = _found(function, a, b, eq, accelerator_view=view)
    return device_scalar(transform(_unless_empty, at.view, count_of(b), out=out, accelerator_view=view))


def _found_first_of(function: _Function, a: Any, b: Any, eq: Any = functional.equal_to, **rest: Any) -> Any:
    return function(_OrNone(a), _OrNone(b), _AreEqual(exactly(eq, elements_of(a), elements_of(b))), **rest)


def _found_run(
    function: _Function, c: counted, count: int, number: Any, eq: Any = functional.equal_to, **rest: Any
) -> Any:
    return function(flags_of(c, Agrees(like(number, lazy.of(c.values)), eq)), count, 1, **rest)


class _Equivalent:
    """Whether neither of two elements is before the other one."""

    __slots__ = ("less",)

    def __init__(self, less: Any) -> None:
        self.less = less

    @amp.func
    def __call__(self, x: Any, y: Any) -> Any:
        return not (self.less(x, y) or self.less(y, x))


@amp.kernel
def _decide(idx, a, b, n, m, at, out, less):
    first = at[0]
    found = 0
    if first >= 0 and first < m.value(0):
        found = 1
        if first < n.value(0):
            found = 1 if less(a.value(first), b.value(first)) else 0
    out[idx] = found


def _compared(
    function: _Function, a: Any, b: Any, less: Any = functional.less, *, out: Any = None, accelerator_view: Any = None
) -> Any:
    left, right = elements_of(a), elements_of(b)
    less = exactly(less, left, right)
    view = place(accelerator_view, left, right, out)
    with result_row(out, 1, np.dtype(np.uint8), view, left, right) as (found, row):
        at = find_if(Differences(a, b, _Equivalent(less)), is_set, accelerator_view=view)
        amp.parallel_for_each(view, row.extent, _decide, left, right, count_of(a), count_of(b), at.view, row, less)
    return device_scalar(found, np.dtype(np.bool_))


# -- sorted inputs -------------------------------------------------------------------------------------------------


@amp.kernel
def _search(idx, ordered, queries, out, count, less, *, right: amp.constant):
    x = queries.value(idx[0]).copy()
    n = count[0]
    out[idx] = upper_bound(ordered, x, 0, n, less) if right else lower_bound(ordered, x, 0, n, less)


def _searched(
    function: _Function, ordered: Any, values: Any, side: str = "left", less: Any = sorts_before, *, out: Any = None,
    accelerator_view: Any = None,
) -> Any:  # fmt: skip
    if isinstance(values, device_scalar):
        return device_scalar(
            _searched(function, ordered, values.view, side, less, out=out, accelerator_view=accelerator_view)
        )
    if not isinstance(ordered, counted):
        return counted(
            function(ordered, values.values, side, less, out=out, accelerator_view=accelerator_view), values.count
        )
    if side not in ("left", "right"):
        raise ValueError(f"side must be 'left' or 'right', not {side!r}")
    source = lazy.of(ordered.values)
    is_number = not isinstance(values, (amp.array, amp.array_view, lazy.Lazy, counted)) and np.ndim(values) == 0
    if is_number:
        number, side = like_elements(values, side, computed_type(source), less)
        queries: lazy.Lazy = lazy.constant(number, 1)
    else:
        queries, _ = given(values)
        less = exactly(less, source, queries)
    view = place(accelerator_view, source, queries, out)
    result = output(out, queries.extent, np.dtype(np.int32), view, source, queries)
    queries = queries.flat()
    with in_a_row(result, view) as row:
        amp.parallel_for_each(
            view, queries.extent, _search, source, queries, row, ordered.count.view, less, right=side == "right"
        )
    if is_number:
        return device_scalar(result)
    return like_input(values, result)


#: How each function handles a counted input.
SEARCHES: dict[str, Callable[..., Any]] = {
    "find_end": _found_last,
    "find_first_of": _found_first_of,
    "lexicographical_compare": _compared,
    "search": _found,
    "search_n": _found_run,
    "searchsorted": _searched,
}
