"""Transforms along one axis, with numpy's names, arguments and normalizations."""

from __future__ import annotations

from typing import Any

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.fft._arguments import axis_of, length_of, scale_of, transform, with_parameters_of
from vkamp.fft.axes import Kind, transform_axes


def along(
    a: Any, n: int | None, axis: int, norm: str | None, out: Any, accelerator_view: Any,
    kind: Kind, *, inverse: bool = False,
) -> Any:  # fmt: skip
    """A transform along one axis."""
    source = lazy.of(a)
    axis = axis_of(source.extent.rank, axis)
    if n is None:
        given = source.extent[axis]
        n = 2 * (given - 1) if kind == "real" else given
    n = length_of(n)
    return transform_axes(
        a, [(axis, n)], scale_of(norm, n, inverse=inverse), out, accelerator_view, kind, inverse=inverse
    )  # fmt: skip


@transform
def fft(
    a: Any,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    *,
    out: Any = None,
    accelerator_view: amp.accelerator_view | None = None,
) -> Any:
    """The discrete Fourier transform along an axis (numpy: ``fft.fft``): complex64, or complex128 of doubles.

    ``n``: the length; the input is cropped or padded with zeros. ``norm``: ``"backward"`` (or None), ``"ortho"`` or
    ``"forward"``. ``out``: a target of the result's extent and type, which may be ``a`` itself.
    """
    return along(a, n, axis, norm, out, accelerator_view, "complex")


@transform
@with_parameters_of(fft)
def ifft(**given: Any) -> Any:
    """The inverse of :func:`fft` (numpy: ``fft.ifft``)."""
    return along(**given, kind="complex", inverse=True)


@transform
@with_parameters_of(fft)
def rfft(**given: Any) -> Any:
    """The first ``n // 2 + 1`` numbers of the transform of real numbers (numpy: ``fft.rfft``).

    The others are their conjugates. The arguments are those of :func:`fft`; TypeError for complex numbers.
    """
    return along(**given, kind="half")


@transform
@with_parameters_of(fft)
def irfft(**given: Any) -> Any:
    """The inverse of :func:`rfft` (numpy: ``fft.irfft``).

    The result has ``n`` real numbers, by default ``2 * (m - 1)`` for an input of length ``m``. The imaginary part of
    the first number is ignored, and so is that of the middle one if ``n`` is even.
    """
    return along(**given, kind="real", inverse=True)


@transform
@with_parameters_of(fft)
def hfft(**given: Any) -> Any:
    """The real transform of a Hermitian signal, given its first half (numpy: ``fft.hfft``).

    ``n`` is that of :func:`irfft`.
    """
    return along(**given, kind="real")


@transform
@with_parameters_of(fft)
def ihfft(**given: Any) -> Any:
    """The inverse of :func:`hfft` (numpy: ``fft.ihfft``): the first half of the inverse transform of real numbers."""
    return along(**given, kind="half", inverse=True)
