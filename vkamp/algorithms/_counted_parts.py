"""Parts of algorithms on ``counted`` inputs: elements that may be missing, and positions in one or two inputs."""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.algorithms._arguments import axis_of, computed_type, value
from vkamp.algorithms._exact import exactly
from vkamp.algorithms._operators import closed
from vkamp.algorithms.counted import counted
from vkamp.algorithms.lazy import pair_of
from vkamp.algorithms.merge import Joined
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.transform import transform


def unsupported(name: str) -> TypeError:
    """The error for a ``counted`` that a function does not take."""
    return TypeError(f"{name} does not take a counted: pass its .trim(), which waits for the count")


def given(a: Any) -> tuple[lazy.Lazy, device_scalar | None]:
    """An input as a lazy one, and the count of a ``counted``; the elements are those of its whole capacity."""
    return (lazy.of(a.values), a.count) if isinstance(a, counted) else (lazy.of(a), None)


def like_input(a: Any, found: Any) -> Any:
    """What has one element for each of an input: with its count, if that is a ``counted``."""
    return counted(found, a.count) if isinstance(a, counted) else found


def count_by(f: Any, count: device_scalar, accelerator_view: amp.accelerator_view | None = None) -> device_scalar:
    """The count that a function gives of another one, on the device."""
    return device_scalar(transform(f, count.view, accelerator_view=accelerator_view))


def together(inputs: list[Any]) -> tuple[list[Any], device_scalar]:
    """The elements of inputs of which some are counted, and their count; AmpError if the counts may differ, or if
    others have another size than the counted ones have room for.
    """
    first = next(each for each in inputs if isinstance(each, counted))
    if any(isinstance(each, counted) and each.count.view is not first.count.view for each in inputs):
        raise amp.AmpError(
            "the inputs are counted and may have different counts: pass their .trim(), which waits for the counts"
        )
    for each in inputs:
        size = None if isinstance(each, counted) else getattr(each, "extent", getattr(each, "shape", None))
        if size and math.prod(size) != len(first.values):
            raise amp.AmpError(
                f"an input is counted and has room for {len(first.values)} elements, but another one has "
                f"{math.prod(size)}: pass .trim() of the counted one, which waits for its count"
            )
    return [each.values if isinstance(each, counted) else each for each in inputs], first.count


def check_axis(c: counted, axis: Any) -> None:
    """Raises TypeError or ValueError unless an axis is that of a row, or None."""
    if axis is not None:
        axis_of(lazy.of(c.values).extent, axis)


def up_to(source: lazy.Lazy, count: device_scalar | None, rest: Any) -> lazy.Lazy:
    """A source, whose elements after the count, if there is one, are ``rest``."""
    return source if count is None else UpToCount(source, count, rest)


class UpToCount(lazy.Lazy):
    """An input whose elements after a count, which is on the device, are ``rest``; the ``extent`` may be larger."""

    __slots__ = ("count", "rest", "values")

    def __init__(self, values: lazy.Lazy, count: device_scalar, rest: Any, extent: Any = None) -> None:
        super().__init__(values.extent if extent is None else extent)
        self.values, self.count = values, count.view
        self.rest = value(rest, computed_type(values))

    def moved(self) -> lazy.Lazy:
        return self.values

    @amp.func
    def value(self, i: Any) -> Any:
        """The element at an index."""
        return self.values.value(i) if i < self.count[0] else self.rest


# -- operators without an identity ---------------------------------------------------------------------------------


class Optional(lazy.Lazy):
    """Pairs of an element and 1; of any element and 0 after the count."""

    __slots__ = ("count", "pair", "values")

    def __init__(self, values: lazy.Lazy, count: device_scalar) -> None:
        super().__init__(values.extent)
        self.values, self.count = values, count.view
        self.pair = pair_of(computed_type(values), np.dtype(np.int32))

    @amp.func
    def value(self, i: Any) -> Any:
        """The pair at an index."""
        return self.pair(self.values.value(i), 1 if i < self.count[0] else 0)


class OfOptional:
    """An operator on pairs of :class:`Optional`, for which a missing element is the identity."""

    __slots__ = ("op", "pair")

    def __init__(self, source: Optional, op: Any) -> None:
        self.pair = source.pair
        _, self.op = closed(source.values, op)

    @amp.func
    def __call__(self, a: Any, b: Any) -> Any:
        found = b.first.copy()
        if a.second != 0:
            found = a.first.copy()
            if b.second != 0:
                found = self.op(a.first, b.first)
        return self.pair(found, a.second | b.second)


class OrElse:
    """The element of a pair of :class:`Optional`; a given one if it is missing."""

    __slots__ = ("other",)

    def __init__(self, other: Any) -> None:
        self.other = other

    @amp.func
    def __call__(self, pair: Any) -> Any:
        found = self.other.copy()
        if pair.second != 0:
            found = pair.first.copy()
        return found


class FromInit:
    """The operator on a number and the element of a pair of :class:`Optional`; the number if that is missing."""

    __slots__ = ("init", "op")

    def __init__(self, init: Any, op: Any) -> None:
        self.init, self.op = init, op

    @amp.func
    def __call__(self, pair: Any) -> Any:
        found = self.init.copy()
        if pair.second != 0:
            found = self.op(found, pair.first)
        return found


# -- positions -----------------------------------------------------------------------------------------------------


class UntilPair(lazy.Lazy):
    """The positions of ``places`` before a count, and after it each element's own: their minimum is at most the count.

    If all elements are there, and no place is found, the minimum is ``NOWHERE``.
    """

    __slots__ = ("count", "places")

    def __init__(self, places: lazy.Lazy, count: device_scalar) -> None:
        super().__init__(places.extent)
        self.places, self.count = places, count.view

    @amp.func
    def value(self, i: Any) -> Any:
        """A position."""
        return self.places.value(i) if i < self.count[0] else amp.int32(i)


def count_of(a: Any) -> lazy.Lazy:
    """How many elements an input has, as an input of one element."""
    if isinstance(a, counted):
        return lazy.of(a.count.view)
    return lazy.constant(int(lazy.of(a).extent.size()), 1)


def elements_of(a: Any) -> lazy.Lazy:
    """The elements of an input, in a row; those of a ``counted`` with those after the count."""
    return given(a)[0].flat()


def positions_in(a: Any, start: int = 0) -> lazy.Lazy:
    """The positions of an input's elements, from ``start`` on."""
    return lazy.arange(elements_of(a).extent[0], start)


class Differences(lazy.Lazy):
    """1 at each position where two inputs differ, or that only one of them has, else 0."""

    __slots__ = ("a", "b", "eq", "m", "n")

    def __init__(self, a: Any, b: Any, eq: Any) -> None:
        self.a, self.b = elements_of(a), elements_of(b)
        self.eq = exactly(eq, self.a, self.b)
        self.n, self.m = count_of(a), count_of(b)
        super().__init__(max(self.a.extent[0], self.b.extent[0]))

    @amp.func
    def value(self, i: Any) -> Any:
        """The flag at a position."""
        n = self.n.value(0)
        m = self.m.value(0)
        found = 1 if (i < n) != (i < m) else 0
        if i < n and i < m:
            found = 0 if self.eq(self.a.value(i), self.b.value(i)) else 1
        return found


class ByPosition:
    """A comparison of positions by the elements there.

    Positions in a second input follow all those in the first one. Those after the counts come last in the order.
    """

    __slots__ = ("both", "less", "m", "n", "size")

    def __init__(self, a: Any, b: Any, less: Any) -> None:
        first = elements_of(a)
        self.both: Any = first if b is None else Joined(first, elements_of(b))
        self.size = first.extent[0]
        self.n, self.m, self.less = count_of(a), count_of(a if b is None else b), less

    @amp.func
    def has(self, at: Any) -> Any:
        """Whether there is an element."""
        return at < self.n.value(0) if at < self.size else at - self.size < self.m.value(0)

    @amp.func
    def __call__(self, i: Any, j: Any) -> Any:
        found = self.has(i)
        if found and self.has(j):
            found = self.less(self.both.value(i), self.both.value(j))
        return found


class OfTwoTypes(ByPosition):
    """A comparison of positions by the elements of two inputs, which keep their types."""

    __slots__ = ()

    @amp.func
    def __call__(self, i: Any, j: Any) -> Any:
        found = self.has(i)
        if found and self.has(j):
            k = i - self.size
            m = j - self.size
            if k < 0 and m < 0:
                found = self.less(self.both.a.value(i), self.both.a.value(j))
            elif k < 0:
                found = self.less(self.both.a.value(i), self.both.b.value(m))
            elif m < 0:
                found = self.less(self.both.b.value(k), self.both.a.value(j))
            else:
                found = self.less(self.both.b.value(k), self.both.b.value(m))
        return found


class Has:
    """1 for a position where there is an element, else 0."""

    __slots__ = ("order",)

    def __init__(self, order: ByPosition) -> None:
        self.order = order

    @amp.func
    def __call__(self, at: Any) -> Any:
        return 1 if self.order.has(at) else 0


class FromStart(lazy.Lazy):
    """Positions in the elements before a count; negative ones count from their end."""

    __slots__ = ("at", "n")

    def __init__(self, at: lazy.Lazy, count: device_scalar) -> None:
        super().__init__(at.extent)
        self.at, self.n = at, count.view

    @amp.func
    def value(self, i: Any) -> Any:
        """The position at an index."""
        at = amp.int32(self.at.value(i))
        return at if at >= 0 else at + self.n[0]


class Flipped:
    """For ``lazy.At``: the elements before a count in reverse order."""

    __slots__ = ("count",)

    def __init__(self, count: device_scalar) -> None:
        self.count = count.view

    @amp.func
    def __call__(self, values: Any, i: Any) -> Any:
        return values.value(max(self.count[0] - 1 - i, 0))
