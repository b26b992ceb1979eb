"""Functions of each element: ``transform``, ``generate``, ``fill``, ``copy``, ``flip``, ``replace``, and the like.

On CPU drivers each invocation computes a run of elements. Elsewhere one thread computes one element; plain kernels give
each thread several neighbouring ones where that is faster.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _arguments, _choose, lazy
from vkamp.algorithms._arguments import (
    axis_of,
    computed_as,
    computed_type,
    dtype_of,
    element,
    in_a_row,
    in_words,
    output,
    place,
    refuse_overlap,
    refuse_type,
    target,
    value,
    without_elements,
)
from vkamp.algorithms._exact import of_one_type
from vkamp.algorithms._loops import longest_run
from vkamp.algorithms._outputs import Output, output_of

#: The elements of a run of a source of several dimensions.
_RUN_OF_INDICES = 256


@amp.kernel
def _store(idx, source, out):
    out[idx] = source.value(idx)


@amp.kernel
def _store_row(idx, source, out):
    out[idx] = source.value(idx[0])


@amp.kernel
def _store_four(idx, source, out):
    a, b, c, d = source.four(idx[0])
    out.store_four(idx[0], a, b, c, d)


@amp.kernel
def _store_run(t_idx, source, out, n, length):
    """Stores the elements of one run, four at a time; ``length`` is a multiple of four."""
    first = t_idx.global_[0] * length
    if first < n:
        end = first + min(length, n - first)
        for k in range(first // 4, end // 4):
            a, b, c, d = source.four(k)
            out.store_four(k, a, b, c, d)
        for i in range(end // 4 * 4, end):
            out.store(i, source.value(i))


@amp.kernel
def _store_run_of_indices(t_idx, source, out, shape, n, length):
    """Stores the elements of one run of a source of several dimensions: only its first index needs divisions."""
    first = t_idx.global_[0] * length
    if first < n:
        at = shape * 0
        rest = first
        for d in amp.static_range(shape.rank - 1, -1, -1):
            at[d] = rest % shape[d]
            rest = rest // shape[d]
        for i in range(first, first + min(length, n - first)):
            out[i] = source.value(amp.index(at))
            at[shape.rank - 1] += 1
            for d in amp.static_range(shape.rank - 1, 0, -1):
                if at[d] == shape[d]:
                    at[d] = 0
                    at[d - 1] += 1


def store(view: amp.accelerator_view, source: lazy.Lazy, out: Any, *, has_its_type: bool = False) -> None:
    """Computes every element of a source into a container of the same extent.

    ``has_its_type``: the container has its type, too.
    """
    if _stored_in_runs(view, source, out, has_its_type):
        return
    if has_its_type and out.extent.rank == 1 and out.extent[0] % 4 == 0:
        target = output_of(out)
        if target.in_quads:
            amp.parallel_for_each(view, amp.extent(out.extent[0] // 4), _store_four, source.flat(), target)
            return
    amp.parallel_for_each(view, out.extent, _store_row if out.extent.rank == 1 else _store, source, out)


def _stored_in_runs(view: amp.accelerator_view, source: lazy.Lazy, out: Any, has_its_type: bool) -> bool:
    """Stores the elements in runs, and returns True, if that is possible: on CPU drivers, an invocation costs as much
    as a few elements.

    It is not possible if functions of users may have more iterations than the driver allows in a run.
    """
    if _choose.form_of(view) != "runs":
        return False
    row = source.row()
    if longest_run(view, source if row is None else row) != _choose.LONGEST_RUN:
        return False
    try:
        target = out if out.extent.rank == 1 else out.reshape(-1)
    except amp.AmpError:
        return False
    n = target.extent[0]
    split = _choose.runs(view, n)
    if row is None:
        # Neighbouring lanes stay near each other, so that lines of the caches are used again.
        length = min(_RUN_OF_INDICES, split.length)
        split = _choose.Split(-(-n // length), length)
    domain = _choose.domain_of_runs(view, split)
    if row is None:
        amp.parallel_for_each(
            view, domain, _store_run_of_indices, source, target, amp.extent(source.extent), n, split.length
        )  # fmt: skip
        return True
    amp.parallel_for_each(
        view, domain, _store_run, row, output_of(target) if has_its_type else Output(target), n, split.length
    )
    return True


def without_loops(view: amp.accelerator_view, source: lazy.Lazy) -> lazy.Lazy:
    """A source with one index.

    If its functions have loops that would make runs short, its elements are stored in an array first.
    """
    if _choose.form_of(view) == "tiles" or longest_run(view, source) == _choose.LONGEST_RUN:
        return source
    values = amp.array(source.extent, element(dtype_of(source)), accelerator_view=view)
    store(view, source, values)
    return lazy.Elements(values)


def computed(
    source: lazy.Lazy,
    out: Any,
    accelerator_view: amp.accelerator_view | None,
    dtype: Any = None,
    *,
    in_place: bool = True,
) -> Any:
    """The elements of a source in ``out``, or in a new array. ``in_place``: ``out`` may be an input."""
    kind = dtype_of(source) if dtype is None else np.dtype(dtype)
    if 0 in tuple(source.extent):
        return without_elements(out, tuple(source.extent), kind)
    view = place(accelerator_view, source, out)
    result = output(out, source.extent, kind, view, source, in_place=in_place)
    store(view, source, result, has_its_type=dtype is None and out is None)
    return result


def transform(
    f: Any,
    a: Any,
    *more: Any,
    dtype: Any = None,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """``f(x, ...)`` of the elements of one to three inputs of one extent (AMP, C++: ``transform``).

    The result has the type that ``f`` returns, or ``dtype``; conditions are stored as uint8, and results of small
    integers as int32.  ``out`` may be one of the inputs.
    """
    if len(more) > 2:
        raise TypeError(
            f"transform takes one to three inputs, not {1 + len(more)}: use lazy.zip, which joins two or three"
        )
    return computed(lazy.map(f, a, *more), out, accelerator_view, dtype)


@amp.kernel
def _call(idx, f, values):
    f(values, idx)


def for_each(f: Any, a: Any, *, accelerator_view: amp.accelerator_view | None = None) -> None:
    """Calls ``f(a, i)`` for every index ``i``; it may change ``a[i]`` (AMP, C++: ``for_each``)."""
    values = a if isinstance(a, (amp.array, amp.array_view)) else amp.array_view(a)
    amp.parallel_for_each(place(accelerator_view, values), values.extent, _call, f, values)


class _Generated(lazy.Lazy):
    __slots__ = ("f",)

    def __init__(self, f: Any, extent: Any) -> None:
        super().__init__(extent)
        self.f = f

    @amp.func
    def value(self, i: Any) -> Any:
        """The function's value at an index."""
        return self.f(i)


def generate(
    extent: Any, f: Any, *, dtype: Any = None, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> Any:
    """Calls ``f(i)`` for every index of an extent; if the rank is 1, ``i`` is a number (AMP, C++: ``generate``)."""
    return computed(_Generated(f, extent), out, accelerator_view, dtype)


@amp.kernel
def _fill(idx, out, number):
    out[idx] = number


def fill(out: Any, value: Any, *, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """Stores one number, vector or struct in every element; returns ``out`` (AMP, C++: ``fill``)."""
    values = target(out)
    if value is None:
        raise TypeError("fill takes a number, vector or struct, not None")
    number = _arguments.value(value, values.dtype)
    amp.parallel_for_each(place(accelerator_view, values), values.extent, _fill, values, number)
    return out


def arange(
    n: int,
    start: Any = 0,
    step: Any = 1,
    *,
    dtype: Any = None,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """``start + step * i`` for ``n`` elements (C++: ``iota``), computed in the type of the result."""
    kind = np.dtype(dtype) if dtype is not None else None if out is None else target(out).dtype
    if kind is not None and kind.kind in "iu":
        start, step = (value(each, kind) if isinstance(each, (float, np.floating)) else each for each in (start, step))
    if kind is not None and kind.kind in "iuf" and kind.itemsize == 8:
        start, step = (np.array(each).astype(kind) for each in (start, step))
    return computed(lazy.arange(n, start, step), out, accelerator_view, dtype)


def copy(a: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """The elements of any input, including lazy ones, in an array (C++: ``copy``)."""
    return moved(lambda source: source, lazy.of(a), out, accelerator_view)


def moved(
    f: Callable[[lazy.Lazy], lazy.Lazy], source: lazy.Lazy, out: Any, accelerator_view: amp.accelerator_view | None
) -> Any:
    """The elements of a source at other positions."""
    target = f(source)
    view = place(accelerator_view, target, out)
    result = output(out, target.extent, dtype_of(source), view, target)
    values, words = in_words(source, result)
    store(view, f(values), words, has_its_type=out is None)
    return result


class Mirrored(lazy.Lazy):
    """An input with one axis reversed or rotated: its position there is ``at(i) = (first + step * i) mod n``."""

    __slots__ = ("axis", "first", "inner", "n", "step")

    def __init__(self, inner: lazy.Lazy, axis: int, first: int, step: int) -> None:
        super().__init__(inner.extent)
        self.inner, self.axis, self.first, self.step = inner, axis, first, step
        self.n = inner.extent[axis]

    @amp.func
    def value(self, i: Any) -> Any:
        """The element at the moved position."""
        if self.extent.rank == 1:
            return self.inner.value(self._moved(i))
        at = amp.index(i)
        for d in amp.static_range(self.extent.rank):
            if d == self.axis:
                at[d] = self._moved(i[d])
        return self.inner.value(at)

    @amp.func
    def _moved(self, i: Any) -> Any:
        # Without a remainder, which CPU drivers compute slowly. The sum of two numbers below n may overflow.
        at = self.first - i if self.step < 0 else i - (self.n - self.first)
        return at if at >= 0 else at + self.n


def _mirrored(source: lazy.Lazy, steps: dict[int, tuple[int, int]]) -> lazy.Lazy:
    """A source with some of its axes reversed or rotated: the first position and the step of each."""
    for axis, (first, step) in steps.items():
        source = Mirrored(source, axis, first, step)
    return source


def flip(
    a: Any,
    axis: int | tuple[int, ...] | None = None,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The elements in reverse order along an axis, several, or by default all of them (C++: ``reverse_copy``)."""
    source = lazy.of(a)
    axes = range(source.extent.rank) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    steps = {each: (source.extent[each] - 1, -1) for each in (axis_of(source.extent, each) for each in axes)}
    if len(steps) < len(axes):
        raise ValueError(f"axis={axis} has an axis of {source.extent!r} twice")
    return moved(lambda x: _mirrored(x, steps), source, out, accelerator_view)


def roll(
    a: Any,
    shift: int | tuple[int, ...],
    axis: int | tuple[int, ...] | None = None,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The elements moved by ``shift`` along an axis; those that leave at one end come back at the other (C++:
    ``rotate_copy``).

    Tuples give several axes and their shifts. Without an axis, the elements move as one row, in row-major order, as
    numpy's do.
    """
    source = lazy.of(a)
    if axis is not None:
        shifts = dict.fromkeys(range(source.extent.rank), 0)
        for each, by in np.broadcast(axis, shift):
            shifts[axis_of(source.extent, each)] += operator.index(by)
        steps = {each: (-by % source.extent[each], 1) for each, by in shifts.items() if by}
        return moved(lambda x: _mirrored(x, steps), source, out, accelerator_view)
    view = place(accelerator_view, source, out)
    result = output(out, source.extent, dtype_of(source), view, source)
    values, words = in_words(source, result)
    by = sum(map(operator.index, shift)) if isinstance(shift, tuple) else operator.index(shift)
    with in_a_row(words, view) as row:
        store(view, Mirrored(values.flat(), 0, -by % source.extent.size(), 1), row, has_its_type=out is None)
    return result


class _Replaced:
    __slots__ = ("new", "old")

    def __init__(self, old: Any, new: Any) -> None:
        self.old, self.new = old, new

    @amp.func
    def __call__(self, x: Any) -> Any:
        return self.new if x == self.old else x


class _ReplacedIf:
    __slots__ = ("new", "pred")

    def __init__(self, pred: Any, new: Any) -> None:
        self.pred, self.new = pred, new

    @amp.func
    def __call__(self, x: Any) -> Any:
        return self.new if self.pred(x) else x


def replace(
    a: Any, old: Any, new: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> Any:
    """The elements, with ``new`` in place of ``old`` (C++: ``replace_copy``)."""
    source = lazy.of(a)
    dtype = dtype_of(source)
    f = _Replaced(value(old, dtype), value(new, dtype))
    return computed(lazy.map(f, source), out, accelerator_view, dtype)


def replace_if(
    a: Any, pred: Any, new: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> Any:
    """The elements, with ``new`` in place of those that meet a condition (C++: ``replace_copy_if``)."""
    source = lazy.of(a)
    dtype = dtype_of(source)
    return computed(lazy.map(_ReplacedIf(pred, value(new, dtype)), source), out, accelerator_view, dtype)


class _Clipped:
    __slots__ = ("has_high", "has_low", "high", "low")

    def __init__(self, low: Any, high: Any, dtype: np.dtype[Any]) -> None:
        self.low, self.high = value(low, dtype), value(high, dtype)
        self.has_low, self.has_high = low is not None, high is not None

    @amp.func
    def __call__(self, x: Any) -> Any:
        raised = self.low if self.has_low and x < self.low else x
        return self.high if self.has_high and raised > self.high else raised


def clip(
    a: Any, low: Any = None, high: Any = None, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> Any:
    """The elements, with ``low`` in place of smaller and ``high`` of larger ones (C++: ``clamp``; numpy: ``clip``).

    The limits are numbers of the elements' type, or ``None``. NaN stays. ``out`` may be the input.
    """
    source = lazy.of(a)
    dtype = dtype_of(source)
    return computed(lazy.map(_Clipped(low, high, dtype), source), out, accelerator_view, dtype)


@amp.func
def _chosen(condition: Any, x: Any, y: Any) -> Any:
    return x if condition != 0 else y


def where(
    condition: Any, x: Any, y: Any, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> Any:
    """The elements of ``x`` where a condition is not zero, and those of ``y`` elsewhere; all have the same extent.

    The result has the type to which numpy promotes theirs; UnsupportedFeatureError if the device lacks it. ``x`` and
    ``y`` may also be numbers: of the type of the other one, or else in 32 bits.
    """
    extent = lazy.of(condition).extent
    either = [lazy.of(each) for each in (x, y) if not _is_number(each)]
    dtype = dtype_of(either[0]) if either else amp.result_type(_chosen, 1, x, y)
    if len(either) == 2:
        x, y, dtype = of_one_type(place(accelerator_view, lazy.of(condition), *either, out), *either, is_exact=False)
    x, y = (lazy.constant(value(each, dtype), extent) if _is_number(each) else each for each in (x, y))
    # Kernels compute with elements of small types in others.
    stored = dtype if either and computed_as(dtype) != dtype else None
    return computed(lazy.map(_chosen, condition, x, y), out, accelerator_view, stored)


def _is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex, np.generic))


class _TakenLines(lazy.Lazy):
    """The lines of an input across an axis at the positions of another input."""

    __slots__ = ("at", "axis", "inner")

    def __init__(self, inner: lazy.Lazy, axis: int, at: lazy.Lazy) -> None:
        super().__init__((*list(inner.extent)[:axis], *at.extent, *list(inner.extent)[axis + 1 :]))
        self.inner, self.axis, self.at = inner, axis, at

    @amp.func
    def value(self, i: Any) -> Any:
        """The element at an index of the result."""
        if self.extent.rank == 1:
            return self.inner.value(self.at.value(i))
        place = self.at.extent * 0
        for d in amp.static_range(self.at.extent.rank):
            place[d] = i[self.axis + d]
        position = self.at.value(place[0]) if self.at.extent.rank == 1 else self.at.value(amp.index(place))
        if self.inner.extent.rank == 1:
            return self.inner.value(position)
        at = self.inner.extent * 0
        for d in amp.static_range(self.inner.extent.rank):
            if d < self.axis:
                at[d] = i[d]
            elif d == self.axis:
                at[d] = position
            else:
                at[d] = i[d + self.at.extent.rank - 1]
        return self.inner.value(amp.index(at))


def take(
    values: Any,
    at: Any,
    axis: int | None = None,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """``values[at[i]]``, in the shape of ``at``; ``values`` has one dimension (C++: ``gather``).

    With an ``axis``, the lines of ``values`` across it at these positions, as by numpy's ``take``: the axis becomes
    those of ``at``. Negative positions count from the end, as in numpy. The element at a position beyond the ends is
    undefined.
    """
    source, positions = lazy.of(values), lazy.positions(at)
    if axis is None:
        return moved(lambda x: lazy.take(x, positions), source, out, accelerator_view)
    axis = axis_of(source.extent, axis)
    positions = lazy.from_start(positions, source.extent[axis])
    return moved(lambda x: _TakenLines(x, axis, positions), source, out, accelerator_view)


@amp.kernel
def _scatter(idx, source, at, out, *, guarded: amp.constant):
    if not guarded or at.value(idx[0]) < out.extent[0]:
        out[at.value(idx[0])] = source.value(idx[0])


def scatter(out: Any, at: Any, a: Any, *, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """``out[at[i]] = a[i]``; negative positions count from the end, as in numpy.

    If a position repeats, one of its elements is stored, and which one is undefined. Returns ``out``.
    """
    values = target(out)
    store_at(values, from_its_start("scatter", values, at), a, accelerator_view)
    return out


def from_its_start(name: str, values: Any, at: Any) -> lazy.Lazy:
    """Positions in a container to change, counted from its start; TypeError unless it has one dimension."""
    if values.extent.rank != 1:
        raise TypeError(f"{name} needs an out of rank 1, not {values.extent!r}: give out.reshape(-1)")
    return lazy.from_start(lazy.positions(at).flat(), len(values))


def store_at(
    values: Any, positions: lazy.Lazy, a: Any, accelerator_view: amp.accelerator_view | None, *, guarded: bool = False
) -> None:
    """Stores elements at positions; with ``guarded``, those at positions after the end are left out."""
    source = lazy.of(a).flat()
    if source.extent != positions.extent:
        raise amp.AmpError(f"there are {source.extent!r} elements, but {positions.extent!r} positions")
    refuse_type(values, element(computed_type(source)))
    refuse_overlap(values, source, positions)
    view = place(accelerator_view, values, source, positions)
    amp.parallel_for_each(view, source.extent, _scatter, source, positions, values, guarded=guarded)
