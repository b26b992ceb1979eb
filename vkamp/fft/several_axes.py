"""Transforms along several axes, with numpy's names, arguments and normalizations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.algorithms.transform import copy
from vkamp.fft._arguments import axis_of, length_of, scale_of, transform, with_parameters_of
from vkamp.fft.axes import Kind, transform_axes

_Ints = Sequence[int] | None


def _steps(a: Any, s: _Ints, axes: _Ints, kind: Kind) -> list[tuple[int, int]]:
    """The axes and lengths in numpy's order; ValueError if their numbers differ."""
    shape = tuple(lazy.of(a).extent)
    if axes is None:
        axes = range(len(shape)) if s is None else range(-len(s), 0)
    places = [axis_of(len(shape), axis) for axis in axes]
    lengths = [-1] * len(places) if s is None else list(s)
    if len(lengths) != len(places):
        raise ValueError("Shape and axes have different lengths.")
    # -1 stands for the input's length, as in numpy since 2.0.
    lengths = [shape[axis] if n == -1 else n for axis, n in zip(places, lengths, strict=True)]
    if kind == "real" and lengths and (s is None or s[-1] == -1):
        lengths[-1] = 2 * (lengths[-1] - 1)
    if not places and kind != "complex":
        raise ValueError("at least 1 axis must be transformed")
    steps = [(axis, length_of(n)) for axis, n in zip(places, lengths, strict=True)]
    if kind == "complex":
        return steps[::-1]
    return [steps[-1], *steps[:-1]] if kind == "half" else steps


def _several(
    a: Any, s: _Ints, axes: _Ints, norm: str | None, out: Any, accelerator_view: Any,
    kind: Kind, *, inverse: bool = False,
) -> Any:  # fmt: skip
    steps = _steps(a, s, axes, kind)
    if not steps:
        return copy(a, out=out, accelerator_view=accelerator_view)
    scale = math.prod([scale_of(norm, n, inverse=inverse) for _, n in steps])
    return transform_axes(a, steps, scale, out, accelerator_view, kind, inverse=inverse)


@transform
def fft2(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The discrete Fourier transform along two axes (numpy: ``fft.fft2``).

    ``s``: the lengths along the axes. The input is cropped or padded with zeros; -1 keeps the input's length. ``axes``:
    the axes; the last one is transformed first. ``norm`` and ``out`` are those of :func:`vkamp.fft.fft`.
    """
    return _several(a, s, axes, norm, out, accelerator_view, "complex")


@transform
@with_parameters_of(fft2)
def ifft2(**given: Any) -> Any:
    """The inverse of :func:`fft2` (numpy: ``fft.ifft2``)."""
    return _several(**given, kind="complex", inverse=True)


@transform
@with_parameters_of(fft2)
def rfft2(**given: Any) -> Any:
    """The first half, along the last axis given, of the transform of real numbers (numpy: ``fft.rfft2``)."""
    return _several(**given, kind="half")


@transform
@with_parameters_of(fft2)
def irfft2(**given: Any) -> Any:
    """The inverse of :func:`rfft2` (numpy: ``fft.irfft2``): real numbers.

    ``s``: the lengths of the result. The last one is by default ``2 * (m - 1)`` for an input of length ``m``.
    """
    return _several(**given, kind="real", inverse=True)


@transform
def fftn(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The discrete Fourier transform along some axes, or all (numpy: ``fft.fftn``).

    ``s``: the lengths along the axes. The input is cropped or padded with zeros; -1 keeps the input's length. ``axes``:
    the axes; the last one is transformed first. ``norm`` and ``out`` are those of :func:`vkamp.fft.fft`.
    """
    return _several(a, s, axes, norm, out, accelerator_view, "complex")


@transform
@with_parameters_of(fftn)
def ifftn(**given: Any) -> Any:
    """The inverse of :func:`fftn` (numpy: ``fft.ifftn``)."""
    return _several(**given, kind="complex", inverse=True)


@transform
@with_parameters_of(fftn)
def rfftn(**given: Any) -> Any:
    """The first half, along the last axis given, of the transform of real numbers (numpy: ``fft.rfftn``)."""
    return _several(**given, kind="half")


@transform
@with_parameters_of(fftn)
def irfftn(**given: Any) -> Any:
    """The inverse of :func:`rfftn` (numpy: ``fft.irfftn``): real numbers.

    ``s``: the lengths of the result. The last one is by default ``2 * (m - 1)`` for an input of length ``m``.
    """
    return _several(**given, kind="real", inverse=True)
