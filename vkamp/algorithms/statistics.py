"""Means, variances and the like, of all elements or along axes: in float32, of float64 elements in float64.

``dtype=`` is another type, in which the numbers are computed and returned. Those of float16 and smaller floats are
computed in float32 and rounded at the end, as by numpy. Sums of a ``counted`` are divided by its count, which is on the
device.

The mean of complex elements is complex. Their variance is a real number: the mean square of the distances to it.
"""

# Kernels have untyped parameters; these are numpy's names.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import computed_type, dtype_of, is_float_of_memory, output, outputs, place
from vkamp.algorithms._convert import TO, converted
from vkamp.algorithms._counted_parts import given, up_to
from vkamp.algorithms._results import result_row
from vkamp.algorithms.lazy import pair_of
from vkamp.algorithms.reduce import combine, shape_of
from vkamp.algorithms.reduce_axis import Axes, AxisLines, in_lines, line_of
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.transform import store


class _Along(NamedTuple):
    """The elements in a row, as floats; their own type; the count of a ``counted``; their lines: one of all elements,
    or those along the axis; the lines for ``combine``; and where it runs."""

    source: lazy.Lazy
    dtype: np.dtype[Any]
    total: device_scalar | None
    lines: AxisLines
    reduced: AxisLines | None
    view: amp.accelerator_view


def _along(
    a: Any, axis: Axes, keepdims: bool, out: Any, accelerator_view: amp.accelerator_view | None, dtype: Any = None,
    *, rest: Any = 0, of_real: bool = False,
) -> _Along:  # fmt: skip
    """``rest``: the elements after the count; ``of_real``: complex types are refused."""
    source, count = given(a)
    view = place(accelerator_view, source, out)
    own = dtype_of(source)
    row, lines = in_lines(up_to(converted(source, floating(own, dtype, of_real=of_real)), count, rest), axis, keepdims)
    return _Along(row, own, count, lines or AxisLines(1, row.extent[0], 1, (1,)), lines, view)


def floating(given: np.dtype[Any], dtype: Any, *, of_real: bool = False) -> np.dtype[Any]:
    """The type in which means of elements are computed.

    Raises TypeError if ``dtype`` is neither float nor complex, or, with ``of_real``, if it is not float.
    """
    wanted = given if dtype is None else np.dtype(dtype)
    if dtype is not None and wanted.kind not in ("f" if of_real else "fc") and not is_float_of_memory(wanted):
        what = "logarithms of sums" if of_real else "means and variances"
        raise TypeError(f"{what} are not computed in {wanted}: give dtype=np.float32, or another float")
    if wanted.kind == "c":
        return wanted
    return np.dtype(np.float64 if wanted == np.float64 else np.float32)


def returned(given: np.dtype[Any], dtype: Any) -> np.dtype[Any] | None:
    """The type to which results are rounded, such as float16; ``None`` for that in which they are computed."""
    if dtype is None:
        return given if given == np.float16 or is_float_of_memory(given) else None
    return None if np.dtype(dtype).kind == "c" else np.dtype(dtype)


@amp.kernel
def _apply(idx, values, f):
    values[idx] = f(values[idx])


def _combined(
    view: amp.accelerator_view, source: lazy.Lazy, lines: AxisLines | None, op: Any, f: Callable[[Any], Any] | None
) -> Any:
    """``f`` of the elements' combination, for each line, in a row."""
    row = amp.array(amp.extent(shape_of(lines).size()), computed_type(source), accelerator_view=view)
    _combine_into(view, source, lines, row, op, f)
    return row


def _combine_into(
    view: amp.accelerator_view, source: lazy.Lazy, lines: AxisLines | None, row: Any, op: Any, f: Any
) -> None:
    combine(view, source, lines, row, op)
    if f is not None:
        amp.parallel_for_each(view, row.extent, _apply, row, f)


def _result(out: Any, lines: AxisLines | None) -> Any:
    return device_scalar(out) if lines is None else out


def mean(
    a: Any,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    dtype: Any = None,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The arithmetic mean, also along an ``axis``, computed and returned in a ``dtype``."""
    of = _along(a, axis, keepdims, out, accelerator_view, dtype)
    computed, stored = computed_type(of.source), returned(of.dtype, dtype)
    with result_row(out, shape_of(of.reduced), computed, of.view, of.source, returned=stored) as (result, row):
        _combine_into(of.view, of.source, of.reduced, row, functional.plus, _divided(of))
    return _result(result, of.reduced)


@amp.func
def _by(x: Any, n: Any) -> Any:
    return x / n


@amp.func
def _by_float32(x: Any, n: Any) -> Any:
    """The quotient of float32 to the last bit or nearly, where devices may be wrong by 2.5 units in the last place."""
    found = x / n
    if amp.precise_math.isfinite(found):
        found += amp.precise_math.fma(-found, n, x) / n
    return found


class _Divided:
    """A sum divided by a number."""

    __slots__ = ("by", "n")

    def __init__(self, n: float, by: Any) -> None:
        self.n, self.by = n, by

    @amp.func
    def __call__(self, x: Any) -> Any:
        return self.by(x, self.n)


class _DividedByCount:
    """A sum divided by a count less ``ddof``, which is whole numbers and a part of one."""

    __slots__ = ("by", "count", "part", "to", "whole")

    def __init__(self, count: device_scalar, ddof: float, by: Any, dtype: np.dtype[Any]) -> None:
        self.count, self.by, self.to = count.view, by, TO[dtype]
        self.whole = math.floor(ddof)
        self.part = dtype.type(ddof - self.whole)

    @amp.func
    def __call__(self, x: Any) -> Any:
        n = self.to(max(self.count[0] - self.whole, 0)) - self.part
        return self.by(x, max(n, type(n)(0)))


def _divided(of: _Along, ddof: float = 0) -> Any:
    dtype = computed_type(of.source)
    by = _by_float32 if dtype == np.float32 else _by
    if of.total is None:
        return _Divided(float(max(of.lines.n - ddof, 0)), by)
    return _DividedByCount(of.total, ddof, by, np.zeros(0, dtype).real.dtype)


@amp.func
def _square(d: Any) -> Any:
    return d * d


@amp.func
def _square_of_parts(d: Any) -> Any:
    return d.real * d.real + d.imag * d.imag


class _LineOf:
    """The line of the element at a position."""

    __slots__ = ("inner", "n")

    def __init__(self, lines: AxisLines) -> None:
        self.n, self.inner = lines.n, lines.inner

    @amp.func
    def __call__(self, p: Any) -> Any:
        return line_of(p, self.n, self.inner)


@amp.func
def _only_line(p: Any) -> Any:
    return 0


def _line_in(lines: AxisLines) -> Any:
    """The line of a position, without divisions where there is one line."""
    return _only_line if lines.outer * lines.inner == 1 else _LineOf(lines)


class _Deviation:
    """For ``lazy.At``: the square of an element's distance to the mean of its line, which is on the device."""

    __slots__ = ("line", "means", "square")

    def __init__(self, lines: AxisLines, means: Any) -> None:
        self.line, self.means = _line_in(lines), means
        self.square = _square_of_parts if means.dtype.kind == "c" else _square

    @amp.func
    def __call__(self, values: Any, p: Any) -> Any:
        return self.square(values.value(p) - self.means[self.line(p)])


@amp.func
def _root(x: Any) -> Any:
    return amp.precise_math.sqrt(x)


def _variance(
    a: Any,
    axis: Axes,
    keepdims: bool,
    ddof: float,
    correction: float | None,
    dtype: Any,
    out: Any,
    accelerator_view: Any,
    f: Callable[[Any], Any] | None,
) -> Any:
    ddof = ddof if correction is None else correction
    of = _along(a, axis, keepdims, out, accelerator_view, dtype)
    source, view = of.source, of.view
    computed, stored = np.zeros(1, computed_type(source)).real.dtype, returned(of.dtype, dtype)
    with result_row(out, shape_of(of.reduced), computed, view, source, returned=stored) as (result, row):
        means = _combined(view, source, of.reduced, functional.plus, _divided(of))
        squares = up_to(lazy.At(_Deviation(of.lines, means), source), of.total, 0)
        _combine_into(view, squares, of.reduced, row, functional.plus, _divided(of, ddof))
        if f is not None:
            amp.parallel_for_each(view, row.extent, _apply, row, f)
    return _result(result, of.reduced)


def var(
    a: Any,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    ddof: float = 0,
    correction: float | None = None,
    dtype: Any = None,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The variance, in two passes, also along an ``axis``.

    The sum of squares is divided by the number of elements less ``ddof``, which the array API calls ``correction``. It
    is computed and returned in a ``dtype``; in a complex one, the result is the real number.
    """
    return _variance(a, axis, keepdims, ddof, correction, dtype, out, accelerator_view, None)


def std(
    a: Any,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    ddof: float = 0,
    correction: float | None = None,
    dtype: Any = None,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The standard deviation, the square root of the variance, with the arguments of :func:`var`."""
    return _variance(a, axis, keepdims, ddof, correction, dtype, out, accelerator_view, _root)


@amp.func
def _shift(m: Any) -> Any:
    """The largest element, if it is finite."""
    return m if amp.precise_math.isfinite(m) else type(m)(0)


class _Exponential:
    """For ``lazy.At``: ``exp(x - m)``, where ``m`` is the largest element of the line."""

    __slots__ = ("largest", "line")

    def __init__(self, lines: AxisLines, largest: Any) -> None:
        self.line, self.largest = _line_in(lines), largest

    @amp.func
    def __call__(self, values: Any, p: Any) -> Any:
        return amp.precise_math.exp(values.value(p) - _shift(self.largest[self.line(p)]))


@amp.kernel
def _logarithms(idx, sums, largest):
    sums[idx] = amp.precise_math.log(sums[idx]) + _shift(largest[idx])


def logsumexp(
    a: Any,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    dtype: Any = None,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The logarithm of the sum of the elements' exponentials, also where these overflow (scipy: ``logsumexp``).

    It is computed and returned in a ``dtype``, a float. Of no elements it is -inf.
    """
    of = _along(a, axis, keepdims, out, accelerator_view, dtype, rest=-np.inf, of_real=True)
    source, view, lines = of.source, of.view, of.reduced
    computed, stored = computed_type(source), returned(of.dtype, dtype)
    with result_row(out, shape_of(lines), computed, view, source, returned=stored) as (result, row):
        largest = _combined(view, source, lines, functional.max, None)
        # Stored, because a reduction has its source in many places, and drivers take long for each copy of `exp`.
        powers = amp.array(source.extent, largest.dtype, accelerator_view=view)
        store(view, lazy.At(_Exponential(of.lines, largest), source), powers)
        combine(view, lazy.Elements(powers).flat(), lines, row, functional.plus)
        amp.parallel_for_each(view, largest.extent, _logarithms, row, largest)
    return _result(result, lines)


class _Extremes:
    """Combines two pairs of extremes."""

    __slots__ = ("pair",)

    def __init__(self, pair: Any) -> None:
        self.pair = pair

    @amp.func
    def __call__(self, a: Any, b: Any) -> Any:
        return self.pair(functional.min(a.first, b.first), functional.max(a.second, b.second))


@amp.kernel
def _apart(idx, pairs, least, largest):
    least[idx] = pairs[idx].first
    largest[idx] = pairs[idx].second


def minmax(
    a: Any,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    out: tuple[Any, Any] | None = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> tuple[Any, Any]:
    """The smallest and the largest element, in one pass; NaN if there is one (C++: ``minmax_element``'s elements).

    ``out`` is a tuple of targets for both.
    """
    source = lazy.of(a)
    return minmax_of(source, source, axis=axis, keepdims=keepdims, out=out, accelerator_view=accelerator_view)


def minmax_of(
    a: lazy.Lazy,
    b: lazy.Lazy,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    out: tuple[Any, Any] | None = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> tuple[Any, Any]:
    """The smallest element of one source and the largest one of another source of its extent and type."""
    outs = outputs(out, 2)
    view = place(accelerator_view, a, *outs)
    source, lines = in_lines(a, axis, keepdims)
    other = source if b is a else in_lines(b, axis, keepdims)[0]
    dtype = computed_type(source)
    least, largest = (output(each, shape_of(lines), dtype_of(a), view, source) for each in outs)
    pairs = amp.array(least.extent, pair_of(dtype, dtype), accelerator_view=view)
    combine(view, lazy.zip(source, other), lines, pairs.reshape(-1), _Extremes(pair_of(dtype, dtype)))
    amp.parallel_for_each(view, pairs.extent, _apart, pairs, least, largest)
    return _result(least, lines), _result(largest, lines)
