"""Transforms of any length as convolutions, for lengths with a prime factor above 13.

L. I. Bluestein, *A Linear Filtering Approach to the Computation of the Discrete Fourier Transform*, 1970: since
``2 * j * k = j^2 + k^2 - (k - j)^2``, a transform is a product by a chirp, a convolution with its conjugate, and again
a product.  The convolution is computed by transforms of a length that has small factors.  The products are part of
what the first and last passes load and store, the filter's spectrum is computed in double precision.
"""

# Device functions have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.fft.ends import Planes
from vkamp.fft.lengths import Lines, roots, smooth_from, table


class Chirped:
    """Numbers times the chirp, and zeros behind them."""

    __slots__ = ("chirp", "inner", "kind", "load_one", "width")

    def __init__(self, load: Any, kind: Any, chirp: Any, width: int, inner: int) -> None:
        self.load_one, self.kind, self.chirp, self.width, self.inner = load, kind, chirp, width, inner

    @amp.func
    def load(self, o, p):
        """An element."""
        z = self.kind(0)
        if p < self.width:
            z = self.load_one.load(o, p) * self.chirp[amp.int32(amp.uint32(p) // amp.uint32(self.inner))]
        return z


class Filtered:
    """Conjugates of numbers times the filter's spectrum: a forward transform of them is an inverse one."""

    __slots__ = ("inner", "spectrum", "values", "width")

    def __init__(self, values: Any, width: int, spectrum: Any, inner: int) -> None:
        self.values, self.width, self.spectrum, self.inner = values, width, spectrum, inner

    @amp.func
    def store(self, o, p, z):
        """Stores an element."""
        product = z * self.spectrum[amp.int32(amp.uint32(p) // amp.uint32(self.inner))]
        self.values[o * self.width + p] = product.conjugate()


class Unchirped:
    """The first numbers' conjugates times the chirp."""

    __slots__ = ("chirp", "inner", "store_one", "width")

    def __init__(self, store: Any, chirp: Any, width: int, inner: int) -> None:
        self.store_one, self.chirp, self.width, self.inner = store, chirp, width, inner

    @amp.func
    def store(self, o, p, z):
        """Stores an element."""
        if p < self.width:
            chirp = self.chirp[amp.int32(amp.uint32(p) // amp.uint32(self.inner))]
            self.store_one.store(o, p, z.conjugate() * chirp)


def _chirp(n: int, dtype: Any) -> np.ndarray[Any, Any]:
    """``exp(-1j * pi * j^2 / n)``, with exact exponents."""
    j = np.arange(n, dtype=np.int64)
    return roots(2 * n, j * j % (2 * n), dtype)


def _spectrum(n: int, length: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    chirp = _chirp(n, np.dtype(np.complex128)).conj()
    filtered = np.zeros(length, np.complex128)
    filtered[:n] = chirp
    filtered[length - n + 1 :] = chirp[:0:-1]
    return (np.fft.fft(filtered) / length).astype(dtype)


def run_convolution(
    view: amp.accelerator_view, load: Any, store: Any, lines: Lines, dtype: np.dtype[Any], run: Callable[..., None]
) -> None:
    """Transforms each line of ``load`` into ``store``, whatever its length; ``run`` transforms good lengths."""
    length = smooth_from(2 * lines.n - 1)
    chirp = table(("chirp", lines.n, dtype), lambda: _chirp(lines.n, dtype))
    spectrum = table(("spectrum", lines.n, dtype), lambda: _spectrum(lines.n, length, dtype))
    longer, inner = Lines(lines.outer, length, lines.inner), lines.inner
    width, plane = lines.n * inner, length * inner
    between = amp.array(amp.extent(lines.outer * plane), dtype, accelerator_view=view)
    chirped, filtered = Chirped(load, dtype.type, chirp, width, inner), Filtered(between, plane, spectrum, inner)
    run(view, chirped, filtered, longer, dtype)
    run(view, Planes(between, plane), Unchirped(store, chirp, width, inner), longer, dtype)
