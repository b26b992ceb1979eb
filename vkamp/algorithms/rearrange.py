"""Functions that move elements: ``concat``, ``repeat``, ``rotate``, ``swap``, and the like."""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.algorithms._arguments import apart, axis_of, element, output, place, without_elements
from vkamp.algorithms.lazy import dtype_of
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.transform import Mirrored, moved
from vkamp.algorithms.unique import run_length_decode


def concat(*inputs: Any, axis: int = 0, out: Any = None, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """The elements of one or more inputs of one type, one after the other along an axis (array API: ``concat``).

    The inputs may also be in a list or tuple.
    """
    sources = _all_of("concat", inputs)
    axis = axis_of(sources[0].extent, axis)
    shape, dtype = list(sources[0].extent), dtype_of(sources[0])
    for each in sources[1:]:
        other = list(each.extent)
        if len(other) != len(shape) or other[:axis] + other[axis + 1 :] != shape[:axis] + shape[axis + 1 :]:
            raise amp.AmpError(f"{each.extent!r} and {sources[0].extent!r} differ in more than axis {axis}")
        if dtype_of(each) != dtype:
            raise TypeError(f"the inputs have different types, {dtype} and {dtype_of(each)}")
    shape[axis] = sum(each.extent[axis] for each in sources)
    view = place(accelerator_view, *sources, out)
    result = output(out, tuple(shape), element(dtype), view, *sources)
    origin = [0] * len(shape)
    for each in sources:
        part = amp.array_view(result).section(amp.index(*origin), each.extent)
        moved(lambda x: x, each, part, view)
        origin[axis] += each.extent[axis]
    return result


def _all_of(name: str, inputs: tuple[Any, ...]) -> list[lazy.Lazy]:
    """The inputs of a function of several."""
    if not inputs:
        raise TypeError(f"{name} takes one or more inputs")
    return [lazy.of(a) for a in inputs]


def stack(*inputs: Any, axis: int = 0, out: Any = None, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """Inputs of one extent and type along a new axis, which has this position in the result (numpy: ``stack``).

    The inputs may also be in a list or tuple.
    """
    sources = _all_of("stack", inputs)
    shape, dtype = list(sources[0].extent), dtype_of(sources[0])
    axis = axis_of(amp.extent(*shape, 1), axis)
    for each in sources[1:]:
        if each.extent != sources[0].extent:
            raise amp.AmpError(f"the inputs have different extents: {sources[0].extent!r} and {each.extent!r}")
        if dtype_of(each) != dtype:
            raise TypeError(f"the inputs have different types, {dtype} and {dtype_of(each)}")
    view = place(accelerator_view, *sources, out)
    result = output(out, (*shape[:axis], len(sources), *shape[axis:]), element(dtype), view, *sources)
    for at, each in enumerate(sources):
        where: tuple[int | slice, ...] = (*[slice(None)] * axis, at, *[slice(None)] * (len(shape) - axis))
        moved(lambda x: x, each, amp.array_view(result)[where], view)
    return result


class _Repeated(lazy.Lazy):
    """Each element along an axis ``count`` times, or all elements ``count`` times."""

    __slots__ = ("axis", "count", "inner", "n")

    def __init__(self, inner: lazy.Lazy, axis: int, count: int, whole: bool) -> None:
        shape = list(inner.extent)
        self.n = shape[axis] if whole else 0
        shape[axis] *= count
        super().__init__(tuple(shape))
        self.inner, self.axis, self.count = inner, axis, count

    @amp.func
    def value(self, i: Any) -> Any:
        """The element at an index of the result."""
        if self.extent.rank == 1:
            return self.inner.value(i % self.n if self.n > 0 else i // self.count)
        at = amp.index(i)
        for d in amp.static_range(self.extent.rank):
            if d == self.axis:
                at[d] = i[d] % self.n if self.n > 0 else i[d] // self.count
        return self.inner.value(at)


def repeat(
    a: Any,
    count: Any,
    *,
    axis: int | None = None,
    total: int | None = None,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """Each element ``count`` times, along an axis or in one row (numpy: ``repeat``).

    ``count`` may also be an input with a number for each element, as for :func:`run_length_decode`, which explains
    ``total``; the elements are then those of one row, without an axis.
    """
    source = lazy.of(a)
    if not isinstance(count, (int, np.integer)):
        if axis is not None and source.extent.rank > 1:
            raise TypeError(
                "repeat takes a number for each element in one row only: leave out axis=, or give one count"
            )
        return run_length_decode(source, count, total=total, out=out, accelerator_view=accelerator_view)
    count = int(count)
    if count < 0:
        raise ValueError(f"elements cannot be repeated {count} times")
    if axis is None:
        source, axis = _row(source), 0
    axis = axis_of(source.extent, axis)
    if count == 0:
        shape = [0 if at == axis else n for at, n in enumerate(source.extent)]
        return without_elements(out, shape, dtype_of(source))
    return moved(lambda x: _Repeated(x, axis, count, False), source, out, accelerator_view)


def _row(source: lazy.Lazy) -> lazy.Lazy:
    """The elements with one index.

    Elements of a container without gaps remain a container, which 64-bit elements require.
    """
    if isinstance(source, lazy.Elements):
        with suppress(amp.AmpError):
            return lazy.Elements(source.values.reshape(-1))
    return source.flat()


def tile_repeat(
    a: Any,
    counts: int | tuple[int, ...],
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The whole input repeated ``counts[d]`` times along axis ``d``; a single number applies to the last axis, and
    fewer numbers than axes to the last ones (numpy: ``tile``).
    """
    source = lazy.of(a)
    rank = source.extent.rank
    given = (counts,) if isinstance(counts, (int, np.integer)) else tuple(counts)
    each = (*[1] * (rank - len(given)), *map(int, given))
    if len(each) != rank or min(each) < 0:
        raise ValueError(
            f"{source.extent!r} cannot be repeated {counts} times: give a count of 0 or more for each axis"
        )
    if 0 in each:
        return without_elements(out, [n * k for n, k in zip(source.extent, each, strict=True)], dtype_of(source))

    def repeated(x: lazy.Lazy) -> lazy.Lazy:
        for axis, count in enumerate(each):
            x = _Repeated(x, axis, count, True) if count > 1 else x
        return x

    return moved(repeated, source, out, accelerator_view)


def rotate(a: Any, middle: int, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """The elements from ``middle`` on, then those before it (C++: ``rotate``).  ``out`` may be the input."""
    source = lazy.of(a)
    if source.extent.rank != 1:
        raise TypeError(f"rotate needs rank 1, not {source.extent!r}: roll has axis=")
    if not 0 <= middle <= source.extent[0]:
        raise ValueError(f"position {middle} is outside of {source.extent!r}")
    view = place(accelerator_view, source, out)
    result = output(out, source.extent, element(dtype_of(source)), view, source, in_place=True, in_any_order=True)
    with apart(result, source, view) as turned:
        moved(lambda x: Mirrored(x, 0, middle, 1), source, turned, view)
    return result


@amp.kernel
def _swap(idx, a, b):
    x = a[idx].copy()
    a[idx] = b[idx]
    b[idx] = x


def swap(a: Any, b: Any, *, accelerator_view: amp.accelerator_view | None = None) -> None:
    """Exchanges the elements of two containers of one extent and type (C++: ``swap_ranges``)."""
    swapped(a, b, accelerator_view)


@amp.kernel
def _swap_up_to(idx, a, b, count):
    if idx[0] < count[0]:
        x = a[idx].copy()
        a[idx] = b[idx]
        b[idx] = x


def swapped(a: Any, b: Any, accelerator_view: amp.accelerator_view | None, count: device_scalar | None = None) -> None:
    """As :func:`swap`; only the first ``count`` elements if a number on the device says so."""
    left, right = (each if isinstance(each, (amp.array, amp.array_view)) else amp.array_view(each) for each in (a, b))
    if left.extent != right.extent:
        raise amp.AmpError(f"{left.extent!r} and {right.extent!r} cannot be exchanged")
    if left.dtype != right.dtype:
        raise TypeError(f"{left.dtype} and {right.dtype} elements cannot be exchanged")
    if left.overlaps(right):
        raise amp.AmpError("the containers overlap")
    view = place(accelerator_view, left, right)
    if count is None:
        amp.parallel_for_each(view, left.extent, _swap, left, right)
    else:
        amp.parallel_for_each(view, left.extent, _swap_up_to, left, right, count.view)
