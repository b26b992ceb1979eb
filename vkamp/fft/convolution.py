"""Convolutions and correlations by transforms, with scipy's names and modes, in any number of dimensions.

The product of the transforms is computed where the inverse transform loads it.
"""

# Device functions have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.algorithms._arguments import in_a_row, output, place
from vkamp.algorithms.transform import Mirrored, copy
from vkamp.fft._arguments import check_precision, complex_of, input_of, real_of, transform, with_dtype
from vkamp.fft.axes import transform_axes
from vkamp.fft.filtered import run_filtered
from vkamp.fft.lengths import Lines, smooth_from

Mode = Literal["full", "same", "valid"]
#: The length of a block, as a multiple of the length of the short input, and its smallest length.
_BLOCK, _SHORTEST = 4, 512


@amp.func
def _multiplied(x, y):
    return x * y


@amp.func
def _conjugate(z):
    return z.conjugate()


def _kept(mode: Mode, n: int, m: int) -> tuple[int, int]:
    """The first element of a full convolution that a mode keeps, and how many elements it keeps."""
    if mode == "full":
        return 0, n + m - 1
    if mode == "same":
        return (m - 1) // 2, n
    return min(n, m) - 1, max(n, m) - min(n, m) + 1


def _types(a: lazy.Lazy, b: lazy.Lazy) -> tuple[np.dtype[Any], bool]:
    """The type of the transforms, and whether both inputs are real."""
    given = [lazy.dtype_of(each) for each in (a, b)]
    kinds = {complex_of(each) for each in given}
    if len(kinds) != 1:
        raise TypeError(f"the inputs have different precision, {given[0]} and {given[1]}: convert one of them")
    return kinds.pop(), not any(each.kind == "c" for each in given)


def _checked(a: Any, b: Any, mode: Mode) -> tuple[lazy.Lazy, lazy.Lazy]:
    for each in (a, b):
        if isinstance(each, np.ndarray) and each.size == 0:
            raise ValueError("a convolution needs one element or more of each input")
    sources = lazy.of(a), lazy.of(b)
    if sources[0].extent.rank != sources[1].extent.rank:
        raise TypeError(f"the inputs have different ranks: {sources[0].extent!r} and {sources[1].extent!r}")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode must be 'full', 'same' or 'valid', not {mode!r}")
    signs = {int(np.sign(n - m)) for n, m in zip(sources[0].extent, sources[1].extent, strict=True)}
    if mode == "valid" and {-1, 1} <= signs:
        raise ValueError("mode 'valid' needs one input that is at least as long as the other along every axis")
    return sources


def _convolved(a: lazy.Lazy, b: lazy.Lazy, mode: Mode, out: Any, accelerator_view: Any) -> Any:
    dtype, is_real = _types(a, b)
    view = place(accelerator_view, a, b, out)
    check_precision(view, dtype)
    made = real_of(dtype) if is_real else dtype
    kept = [_kept(mode, n, m) for n, m in zip(a.extent, b.extent, strict=True)]
    result = with_dtype(output(out, tuple(n for _, n in kept), made, view, a, b), made)
    lengths = [smooth_from(n + m - 1) for n, m in zip(a.extent, b.extent, strict=True)]
    steps = list(enumerate(lengths))
    there = steps[::-1]
    spectra = [
        transform_axes(x, there, 1.0, None, view, "half" if is_real else "complex", inverse=False) for x in (a, b)
    ]
    product = lazy.map(_multiplied, *spectra)
    scale = 1 / math.prod(lengths)
    back = transform_axes(product, steps, scale, None, view, "real" if is_real else "complex", inverse=True)
    part = amp.array_view(back).section(amp.index(*[first for first, _ in kept]), result.extent)
    copy(part, out=result, accelerator_view=view)
    return result


@transform
def convolve(
    a: Any,
    b: Any,
    mode: Mode = "full",
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The convolution of two inputs of one rank, by transforms (scipy: ``signal.fftconvolve``; numpy: ``convolve``).

    ``mode``: ``"full"``, ``n + m - 1`` elements along each axis; ``"same"``, the middle part of these, with the extent
    of ``a``; or ``"valid"``, the elements that depend on no padding. The result is float32 for real inputs, complex64
    if one is complex, and of double precision for inputs of double precision. TypeError for different ranks or
    precisions.
    """
    return _convolved(*_checked(a, b, mode), mode, out, accelerator_view)


@transform
def correlate(
    a: Any,
    b: Any,
    mode: Mode = "full",
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The correlation, ``sum of a[k + i] * conj(b[i])`` (scipy: ``signal.correlate``).

    The arguments are those of :func:`convolve`.
    """
    source, other = _checked(a, b, mode)
    for axis in range(other.extent.rank):
        other = Mirrored(other, axis, other.extent[axis] - 1, -1)
    if lazy.dtype_of(other).kind == "c":
        other = lazy.map(_conjugate, other)
    return _convolved(source, other, mode, out, accelerator_view)


class _Blocks:
    """A long input in blocks, which begin ``step`` elements apart.

    The first one begins ``before`` elements before the input. The input is padded with zeros at both ends.
    """

    __slots__ = ("before", "kind", "n", "step", "values")

    def __init__(self, values: lazy.Lazy, kind: Any, step: int, before: int) -> None:
        self.values, self.kind, self.step, self.before = values, kind, step, before
        self.n = values.extent[0]

    @amp.func
    def one(self, block, p):
        """An element of a block."""
        at = block * self.step + p - self.before
        z = self.values.value(min(max(at, 0), self.n - 1))
        is_inside = at >= 0 and at < self.n
        return self.kind(z.real if is_inside else 0, z.imag if is_inside else 0)

    @amp.func
    def load(self, o, p):
        """An element of a line."""
        return self.one(o, p)


class _TwoBlocks(_Blocks):
    """Two blocks of real numbers in each line, as real and imaginary parts."""

    __slots__ = ()

    @amp.func
    def load(self, o, p):
        """An element of a line."""
        return self.kind(self.one(2 * o, p).real, self.one(2 * o + 1, p).real)


class _Joined:
    """The results from ``first`` on.

    The first elements of each block's convolution, which is stored as conjugates, are left out.
    """

    __slots__ = ("before", "first", "kept", "out", "step")

    def __init__(self, out: Any, step: int, before: int, first: int) -> None:
        self.out, self.step, self.before, self.first = out, step, before, first
        self.kept = out.extent[0]

    @amp.func
    def one(self, block, p, x):
        """Stores an element of a block."""
        to = block * self.step + p - self.before - self.first
        if p >= self.before and to >= 0 and to < self.kept:
            self.out[to] = x

    @amp.func
    def store(self, o, p, z):
        """Stores an element of a line."""
        self.one(o, p, z.conjugate())


class _TwoJoined(_Joined):
    """Like ``_Joined``, for two blocks of real numbers in each line."""

    __slots__ = ()

    @amp.func
    def store(self, o, p, z):
        """Stores an element of a line."""
        self.one(2 * o, p, z.real)
        self.one(2 * o + 1, p, -z.imag)


@transform
def oaconvolve(
    a: Any,
    b: Any,
    mode: Mode = "full",
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The convolution of a long input with a short one, of one dimension each (scipy: ``signal.oaconvolve``).

    It is computed in blocks of ``a``, which overlap by the length of ``b`` (T. G. Stockham, *High-Speed Convolution and
    Correlation*, 1966). So the transforms are short, and need less memory. On GPUs, one launch computes a block's
    transform, the product and the inverse transform, if the block fits into a tile. The arguments are those of
    :func:`convolve`; TypeError for other ranks.
    """
    source, other = _checked(a, b, mode)
    if source.extent.rank != 1:
        raise TypeError(f"oaconvolve takes inputs of rank 1, not {source.extent!r}")
    n, m = source.extent[0], other.extent[0]
    length = smooth_from(max(_BLOCK * m, _SHORTEST))
    if n + m - 1 <= length:
        return _convolved(source, other, mode, out, accelerator_view)
    dtype, is_real = _types(source, other)
    view = place(accelerator_view, source, other, out)
    check_precision(view, dtype)
    made = real_of(dtype) if is_real else dtype
    first, kept = _kept(mode, n, m)
    result = with_dtype(output(out, (kept,), made, view, source, other), made)
    step = length - m + 1
    lines = Lines(-(-(first + kept) // (step * (2 if is_real else 1))), length, 1)
    spectrum = transform_axes(other, [(0, length)], 1 / length, None, view, "complex", inverse=False)
    with in_a_row(result, view) as row:
        load = (_TwoBlocks if is_real else _Blocks)(input_of(source)[0], dtype.type, step, m - 1)
        store = (_TwoJoined if is_real else _Joined)(row, step, m - 1, first)
        run_filtered(view, load, store, spectrum, lines, dtype, kept=length)
    return result
