"""How functions that move elements, such as ``roll``, ``concat`` and ``scatter``, take a ``counted``.

The count is read on the device, so no function waits for it.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import apart, axis_of, in_words, output, place, target, without_elements
from vkamp.algorithms._counted_parts import (
    Flipped,
    FromStart,
    UpToCount,
    check_axis,
    count_by,
    elements_of,
    given,
    like_input,
    together,
    unsupported,
)
from vkamp.algorithms._counted_sets import JoinedUpTo, count_of_both
from vkamp.algorithms._digits import bits_of, words_in
from vkamp.algorithms.counted import counted
from vkamp.algorithms.rearrange import swapped
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.scatter import combine_at
from vkamp.algorithms.select import select
from vkamp.algorithms.shuffle import permutation_of
from vkamp.algorithms.sort import taken
from vkamp.algorithms.transform import from_its_start, store, store_at, transform

_Function = Callable[..., Any]


def _at(c: counted, f: Any, out: Any, accelerator_view: Any, times: int = 1) -> counted:
    """The elements that a function of the elements and a position gives; as many as there are, or so many times."""
    source = lazy.of(c.values)
    view = place(accelerator_view, source, out)
    extent = amp.extent(times * source.extent[0])
    result = output(out, extent, c.dtype, view, source, in_place=True, in_any_order=True)
    with apart(result, source, view) as made:
        values, words = in_words(source, made)
        store(view, lazy.At(f, values, extent), words)
    return counted(result, c.count if times == 1 else _times(c.count, times, view))


def _times(count: device_scalar, k: int, view: amp.accelerator_view) -> device_scalar:
    return count_by(lambda n: n * k, count, view)


class _Rolled:
    """For ``lazy.At``: the elements before a count moved by so many places; those that leave come back at the start."""

    __slots__ = ("by", "count")

    def __init__(self, count: device_scalar, by: int) -> None:
        self.count, self.by = count.view, by

    @amp.func
    def __call__(self, values: Any, i: Any) -> Any:
        n = max(self.count[0], 1)
        return values.value((i % n - self.by % n) % n)


def _flipped(
    function: _Function, c: counted, axis: Any = None, *, out: Any = None, accelerator_view: Any = None
) -> Any:
    check_axis(c, axis)
    return _at(c, Flipped(c.count), out, accelerator_view)


def _rolled(
    function: _Function, c: counted, shift: Any, axis: Any = None, *, out: Any = None, accelerator_view: Any = None
) -> Any:
    shifts = shift if isinstance(shift, tuple) else (shift,)
    for each in axis if isinstance(axis, tuple) else (axis,):
        check_axis(c, each)
    return _at(c, _Rolled(c.count, sum(map(operator.index, shifts))), out, accelerator_view)


def _rotated(function: _Function, c: counted, middle: int, *, out: Any = None, accelerator_view: Any = None) -> Any:
    """Of fewer elements than ``middle``, the rotation is that by what remains of it."""
    if not 0 <= middle <= c.values.extent[0]:
        raise ValueError(f"position {middle} is outside of {c.values.extent!r}")
    return _at(c, _Rolled(c.count, -operator.index(middle)), out, accelerator_view)


def _repeated_whole(
    function: _Function, c: counted, counts: Any, *, out: Any = None, accelerator_view: Any = None
) -> Any:
    times = counts if isinstance(counts, (int, np.integer)) else counts[0] if len(counts) == 1 else 0
    if times < 0 or len(np.atleast_1d(counts)) != 1:
        raise ValueError(f"{c!r} cannot be repeated {counts} times: give one count of 0 or more")
    if times == 0:
        return without_elements(out, 0, c.dtype)
    return _at(c, _Rolled(c.count, 0), out, accelerator_view, int(times))


def _repeated(
    function: _Function, c: Any, count: Any, *, axis: Any = None, accelerator_view: Any = None, **rest: Any
) -> Any:
    if not isinstance(count, (int, np.integer)):
        return _decoded(function, c, count, accelerator_view=accelerator_view, **rest)
    check_axis(c, axis)
    view = place(accelerator_view, lazy.of(c.values))
    found = function(c.values, count, accelerator_view=view, **rest)
    if count == 0:
        return found
    return counted(found, _times(c.count, int(count), view))


def _decoded(function: _Function, values: Any, lengths: Any, **rest: Any) -> Any:
    """Of a total that is known; elements after the count have the length 0."""
    (source, each), count = together([values, lengths])
    return function(source, UpToCount(lazy.of(each), count, 0), **rest)


def _each_together(function: _Function, *inputs: Any, **rest: Any) -> Any:
    plain, count = together(list(inputs))
    return counted(function(*plain, **rest), count)


def _same(function: _Function, c: counted, *axes: Any, **rest: Any) -> Any:
    return counted(function(c.values, *axes, **rest), c.count)


def _joined(function: _Function, *inputs: Any, axis: int = 0, out: Any = None, accelerator_view: Any = None) -> Any:
    sources = [given(each)[0] for each in inputs]
    dtype = lazy.dtype_of(sources[0])
    for each in sources:
        axis_of(each.extent, axis)
        if each.extent.rank > 1:
            raise unsupported(f"concat with {each.extent!r}")
        if lazy.dtype_of(each) != dtype:
            raise TypeError(f"the inputs have different types, {dtype} and {lazy.dtype_of(each)}")
    view = place(accelerator_view, *sources, out)
    result = target = output(out, sum(each.extent[0] for each in sources), dtype, view, *sources)
    words = [each for each in map(bits_of, sources) if each is not None]
    if dtype.itemsize == 8 and result.dtype == dtype and len(words) == len(sources):
        sources, target = words, words_in(result)
    whole, *others = (like_input(each, source) for each, source in zip(inputs, sources, strict=True))
    for each in others:
        whole = counted(JoinedUpTo(whole, each), count_of_both(view, whole, each))
    store(view, elements_of(whole), target)
    return counted(result, whole.count)


def _stacked(function: _Function, *inputs: Any, axis: int = 0, **rest: Any) -> Any:
    plain, count = together(list(inputs))
    found = function(*plain, axis=axis, **rest)
    return counted(found, count, axis=1 if axis_of(found.extent, axis) == 0 else 0)


class _HasElement:
    """Whether a position is one of an element."""

    __slots__ = ("count",)

    def __init__(self, count: device_scalar) -> None:
        self.count = count.view

    @amp.func
    def __call__(self, i: Any) -> Any:
        return i < self.count[0]


def _shuffled(function: _Function, c: counted, rng: Any, *, out: Any = None, accelerator_view: Any = None) -> Any:
    source = lazy.of(c.values)
    view = place(accelerator_view, source, out)
    order = select(permutation_of(view, source.extent[0], rng), _HasElement(c.count), accelerator_view=view).values
    return counted(taken(view, source, UpToCount(lazy.of(order), c.count, 0), out), c.count)


# -- functions that change their arguments -------------------------------------------------------------------------


def _filled(function: _Function, c: counted, number: Any, **rest: Any) -> Any:
    if isinstance(number, device_scalar):
        transform(functional.identity, lazy.constant(number, c.values.extent), out=c.values, **rest)
    else:
        function(c.values, number, **rest)
    return c


@amp.kernel
def _call(idx, f, values, count):
    if idx[0] < count[0]:
        f(values, idx)


def _called_for_each(function: _Function, f: Any, c: counted, *, accelerator_view: Any = None) -> None:
    view = place(accelerator_view, c.values)
    amp.parallel_for_each(view, c.values.extent, _call, f, c.values, c.count.view)


def _swapped(function: _Function, a: Any, b: Any, *, accelerator_view: Any = None) -> None:
    plain, count = together([a, b])
    swapped(plain[0], plain[1], accelerator_view, count)


def _positions(name: str, out: Any, at: Any, a: Any) -> tuple[Any, lazy.Lazy, Any]:
    """The container to change, positions in it, with its length for those after the count, and the elements."""
    plain, count = [at, a], None
    if isinstance(at, counted) or isinstance(a, counted):
        plain, count = together(plain)
    values = target(out.values if isinstance(out, counted) else out)
    positions = from_its_start(name, values, plain[0])
    if isinstance(out, counted):
        positions = FromStart(lazy.of(plain[0]).flat(), out.count)
    return values, positions if count is None else UpToCount(positions, count, values.extent[0]), plain[1]


def _scattered(function: _Function, out: Any, at: Any, a: Any, *, accelerator_view: Any = None) -> Any:
    store_at(*_positions("scatter", out, at, a), accelerator_view, guarded=True)
    return out


def _combined_at(
    function: _Function, out: Any, at: Any, a: Any, op: Any = functional.plus, *, accelerator_view: Any = None
) -> Any:
    combine_at(*_positions("scatter_reduce", out, at, a), op, accelerator_view, guarded=True)
    return out


#: How each function handles a counted input.
MOVES: dict[str, Callable[..., Any]] = {
    "concat": _joined,
    "fill": _filled,
    "flip": _flipped,
    "for_each": _called_for_each,
    "permute_dims": _same,
    "repeat": _repeated,
    "roll": _rolled,
    "rotate": _rotated,
    "run_length_decode": _decoded,
    "scatter": _scattered,
    "scatter_reduce": _combined_at,
    "shuffle": _shuffled,
    "stack": _stacked,
    "swap": _swapped,
    "tile_repeat": _repeated_whole,
    "transpose": _same,
    "where": _each_together,
}
