"""The frequencies of a transform's numbers, and the order with frequency 0 in the middle."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.algorithms.transform import Mirrored, moved
from vkamp.fft._arguments import axis_of, transform
from vkamp.tracebacks import entry_point


def _placed(values: np.ndarray[Any, Any], dtype: Any, accelerator_view: amp.accelerator_view | None) -> Any:
    kind = np.dtype(dtype)
    if kind.kind != "f":
        raise TypeError(f"frequencies must be floats, not {kind}")
    if values.size == 0:
        return values.astype(kind)
    return amp.array(amp.extent(values.shape), kind, values.astype(kind), accelerator_view=accelerator_view)


@entry_point
def fftfreq(
    n: int, d: float = 1.0, *, dtype: Any = np.float32, accelerator_view: amp.accelerator_view | None = None
) -> Any:
    """The frequencies of a transform of length ``n`` with samples ``d`` apart, in cycles (numpy: ``fft.fftfreq``)."""
    return _placed(np.fft.fftfreq(n, d), dtype, accelerator_view)


@entry_point
def rfftfreq(
    n: int, d: float = 1.0, *, dtype: Any = np.float32, accelerator_view: amp.accelerator_view | None = None
) -> Any:
    """The frequencies of the ``n // 2 + 1`` numbers of :func:`vkamp.fft.rfft` (numpy: ``fft.rfftfreq``)."""
    return _placed(np.fft.rfftfreq(n, d), dtype, accelerator_view)


def _shifted(a: Any, axes: Any, sign: int, out: Any, accelerator_view: amp.accelerator_view | None) -> Any:
    source = lazy.of(a)
    rank = source.extent.rank
    chosen = range(rank) if axes is None else axes if isinstance(axes, Iterable) else (axes,)
    shifts = [(axis_of(rank, axis), sign * (source.extent[axis_of(rank, axis)] // 2)) for axis in chosen]

    def rolled(x: lazy.Lazy) -> lazy.Lazy:
        for axis, shift in shifts:
            x = Mirrored(x, axis, -shift % x.extent[axis], 1)
        return x

    return moved(rolled, source, out, accelerator_view)


@transform
def fftshift(a: Any, axes: Any = None, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None) -> Any:
    """The elements with frequency 0 in the middle of the axes, all or those given (numpy: ``fft.fftshift``)."""
    return _shifted(a, axes, 1, out, accelerator_view)


@transform
def ifftshift(
    a: Any, axes: Any = None, *, out: Any = None, accelerator_view: amp.accelerator_view | None = None
) -> Any:
    """The inverse of :func:`fftshift` (numpy: ``fft.ifftshift``); they differ for odd lengths."""
    return _shifted(a, axes, -1, out, accelerator_view)
