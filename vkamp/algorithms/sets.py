"""Set operations: C++'s of sorted inputs, which may repeat elements, and numpy's, which sort first.

An element that is the k-th of its equals in one input has a partner in the other one if that has more than k of them:
binary searches count them.  A merge and a selection give the result (Thrust does the same in one pass).
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import output, place
from vkamp.algorithms._counted_parts import count_of
from vkamp.algorithms._exact import exactly, of_one_type, refuse_different
from vkamp.algorithms._operators import Heads, sorts_before
from vkamp.algorithms._results import result_row
from vkamp.algorithms.counted import counted
from vkamp.algorithms.lazy import dtype_of
from vkamp.algorithms.merge import Joined, merged_order
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.search import all, lower_bound
from vkamp.algorithms.select import selected
from vkamp.algorithms.sort import order_of, taken
from vkamp.algorithms.transform import store


class _Partners:
    """For ``lazy.At``: 1 for each element of a sorted input with a partner in another one, else 0."""

    __slots__ = ("less", "n", "other", "size")

    def __init__(self, n: int, other: lazy.Lazy, less: Any) -> None:
        self.n, self.other, self.size, self.less = n, other, other.extent[0], less

    @amp.func
    def __call__(self, values: Any, i: Any) -> Any:
        x = values.value(i).copy()
        k = i - lower_bound(values, x, 0, i, self.less)
        first = lower_bound(self.other, x, 0, self.size, self.less)
        at = first + k
        if at >= self.size:
            return 0
        return 0 if self.less(x, self.other.value(at)) else 1


def has_partner(view: amp.accelerator_view, source: lazy.Lazy, other: lazy.Lazy, less: Any) -> lazy.Lazy:
    return stored(view, lazy.At(_Partners(source.extent[0], other, exactly(less, source, other)), source))


def stored(view: amp.accelerator_view, flags: lazy.Lazy) -> lazy.Lazy:
    """Flags that take binary searches, in an array.

    Reductions and selections have them in many places, so a driver would compile many loops: on an H200 for 1 s.
    """
    found = amp.array(flags.extent, np.int32, accelerator_view=view)
    store(view, flags, found)
    return lazy.Elements(found)


@amp.func
def _not(flag: Any) -> Any:
    return 1 - flag


def _inputs(a: Any, b: Any, accelerator_view: Any, out: Any = None) -> tuple[lazy.Lazy, lazy.Lazy, Any]:
    left, right = lazy.of(a).flat(), lazy.of(b).flat()
    refuse_different(left, right)
    return left, right, place(accelerator_view, left, right, out)


def includes(
    a: Any, b: Any, less: Any = sorts_before, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> device_scalar:
    """Whether each element of ``b`` is in ``a``, as often as in ``b`` (C++: ``includes``)."""
    left, right, view = _inputs(a, b, accelerator_view, out)
    with result_row(out, 1, np.dtype(np.uint8), view, left, right) as (found, row):
        all(has_partner(view, right, left, less), out=row, accelerator_view=view)
    return device_scalar(found, np.dtype(np.bool_))


def _merged(
    view: amp.accelerator_view, a: lazy.Lazy, b: lazy.Lazy, of_a: lazy.Lazy, of_b: lazy.Lazy, less: Any, out: Any
) -> counted:
    """The merged elements with flags."""
    a, b, dtype = of_one_type(view, a, b)
    order = merged_order(view, a, b, less)
    flags = lazy.take(Joined(of_a, of_b), order)
    return selected(flags, lazy.take(Joined(a, b), order), out, view, dtype=dtype)


def set_union(
    a: Any,
    b: Any,
    less: Any = sorts_before,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> counted:
    """The elements of ``a``, and those of ``b`` without a partner in ``a``, sorted (C++: ``set_union``)."""
    left, right, view = _inputs(a, b, accelerator_view, out)
    alone = lazy.map(_not, has_partner(view, right, left, less))
    return _merged(view, left, right, lazy.constant(1, left.extent), alone, less, out)


def set_intersection(
    a: Any,
    b: Any,
    less: Any = sorts_before,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> counted:
    """The elements of ``a`` with a partner in ``b`` (C++: ``set_intersection``)."""
    left, right, view = _inputs(a, b, accelerator_view, out)
    return selected(has_partner(view, left, right, less), left, out, view)


def set_difference(
    a: Any,
    b: Any,
    less: Any = sorts_before,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> counted:
    """The elements of ``a`` without a partner in ``b`` (C++: ``set_difference``)."""
    left, right, view = _inputs(a, b, accelerator_view, out)
    return selected(lazy.map(_not, has_partner(view, left, right, less)), left, out, view)


def set_symmetric_difference(
    a: Any,
    b: Any,
    less: Any = sorts_before,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> counted:
    """The elements of both inputs without a partner in the other one, sorted (C++: ``set_symmetric_difference``)."""
    left, right, view = _inputs(a, b, accelerator_view, out)
    of_left = lazy.map(_not, has_partner(view, left, right, less))
    of_right = lazy.map(_not, has_partner(view, right, left, less))
    return _merged(view, left, right, of_left, of_right, less, out)


# -- numpy's, of any inputs ----------------------------------------------------------------------------------------


@amp.func
def same(a: Any, b: Any) -> Any:
    """Whether two numbers are equal, or both NaN."""
    return a == b or (a != a and b != b)


def ordered(view: amp.accelerator_view, source: lazy.Lazy) -> lazy.Lazy:
    """A source's elements in their order, in an array."""
    return lazy.Elements(taken(view, source, order_of(view, source, False, None, None), None))


class Contained:
    """For ``lazy.At`` on ``values``: whether one is among the first ``n`` elements of a sorted input; NaN is not."""

    __slots__ = ("among", "eq", "less", "n")

    def __init__(self, values: lazy.Lazy, among: lazy.Lazy, n: lazy.Lazy) -> None:
        self.among, self.n = among, n
        self.less, self.eq = (exactly(op, values, among) for op in (sorts_before, functional.equal_to))

    @amp.func
    def has(self, x: Any) -> Any:
        """Whether a number is among them."""
        n = self.n.value(0)
        at = lower_bound(self.among, x, 0, n, self.less)
        return at < n and self.eq(self.among.value(at), x)

    @amp.func
    def __call__(self, values: Any, i: Any) -> Any:
        return 1 if self.has(values.value(i).copy()) else 0


class Unlike(Contained):
    """For ``lazy.At`` on a sorted input: 1 for each first one of equal elements, if it is in another one, or is not."""

    __slots__ = ("wanted",)

    def __init__(self, values: lazy.Lazy, among: lazy.Lazy, n: lazy.Lazy, wanted: int) -> None:
        super().__init__(values, among, n)
        self.wanted = wanted

    @amp.func
    def __call__(self, values: Any, i: Any) -> Any:
        x = values.value(i).copy()
        if i > 0 and same(values.value(i - 1), x):
            return 0
        return self.wanted if self.has(x) else 1 - self.wanted


def isin(a: Any, among: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """Whether each element is among others, as uint8 in its extent (numpy: ``isin``)."""
    source = lazy.of(a)
    left, right, view = _inputs(source, among, accelerator_view, out)
    result = output(out, source.extent, np.dtype(np.uint8), view, left, right)
    store(view, lazy.At(Contained(source, ordered(view, right), count_of(right)), source), result)
    return result


def union1d(a: Any, b: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None) -> counted:
    """The different elements of both inputs, in their common type, sorted (numpy: ``union1d``)."""
    left, right, view = _inputs(a, b, accelerator_view, out)
    left, right, dtype = of_one_type(view, left, right)
    joined = amp.array(left.extent[0] + right.extent[0], dtype, accelerator_view=view)
    store(view, Joined(left, right), joined)
    both = ordered(view, lazy.Elements(joined))
    return selected(Heads(both, same), both, out, view)


def intersect1d(a: Any, b: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None) -> counted:
    """The different elements of ``a`` that are in ``b``, in their common type, sorted (numpy: ``intersect1d``)."""
    return _among(a, b, 1, out, accelerator_view)


def setdiff1d(a: Any, b: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None) -> counted:
    """The different elements of ``a`` that are not in ``b``, sorted (numpy: ``setdiff1d``)."""
    return _among(a, b, 0, out, accelerator_view)


def _among(a: Any, b: Any, wanted: int, out: Any, accelerator_view: amp.accelerator_view | None) -> counted:
    left, right, view = _inputs(a, b, accelerator_view, out)
    values, others = (ordered(view, each) for each in (left, right))
    flags = stored(view, lazy.At(Unlike(values, others, count_of(others), wanted), values))
    return selected_among(view, values, others, flags, wanted, out)


def selected_among(
    view: amp.accelerator_view, values: lazy.Lazy, others: lazy.Lazy, flags: lazy.Lazy, wanted: int, out: Any
) -> counted:
    """The values with flags: in the common type of both inputs if they are among the others, else in their own."""
    elements, dtype = values, dtype_of(values)
    if wanted:
        elements, _, dtype = of_one_type(view, values, others)
    return selected(flags, elements, out, view, dtype=dtype)
