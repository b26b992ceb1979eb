"""Transforms of any length as convolutions, for lengths with a large prime factor.

L. I. Bluestein, *A Linear Filtering Approach to the Computation of the Discrete Fourier Transform*, 1970. Since ``2 * j
* k = j^2 + k^2 - (k - j)^2``, a transform is a multiplication by a chirp, a convolution with the conjugate chirp, and
another multiplication. The convolution is computed by transforms of a length that has small factors. The
multiplications are part of the loads of the first pass and the stores of the last one. The spectrum of the filter is
computed in double precision.
"""

# Device functions have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose
from vkamp.fft.butterflies import PRIMES_IN_TILES
from vkamp.fft.ends import direction
from vkamp.fft.filtered import run_filtered
from vkamp.fft.lengths import Lines, radices_of, roots, smooth_from, table
from vkamp.fft.stockham import PRIMES_IN_PASSES, run_passes
from vkamp.fft.tiles import run_tiles, takes

#: Primes whose butterflies, by the sums of the definition, are far more exact than a convolution: its two transforms
#: have 1.3 to 1.9 times the error of cuFFT at these lengths.
_EXACT_PRIMES = tuple([prime for prime in PRIMES_IN_PASSES if prime <= 61])


class Chirped:
    """Loads numbers times the chirp, followed by zeros."""

    __slots__ = ("chirp", "kind", "line", "load_one", "width")

    def __init__(self, load: Any, kind: Any, chirp: Any, width: int, line: Any) -> None:
        self.load_one, self.kind, self.chirp, self.width, self.line = load, kind, chirp, width, line

    @amp.func
    def load(self, o, p):
        """An element."""
        at = min(p, self.width - 1)
        z = self.load_one.load(o, at) * self.chirp[self.line.number(at)]
        return self.kind(z.real if p < self.width else 0, z.imag if p < self.width else 0)


class Unchirped:
    """Stores the conjugates of the first numbers times the chirp."""

    __slots__ = ("chirp", "line", "store_one", "width")

    def __init__(self, store: Any, chirp: Any, width: int, line: Any) -> None:
        self.store_one, self.chirp, self.width, self.line = store, chirp, width, line

    @amp.func
    def store(self, o, p, z):
        """Stores an element."""
        if p < self.width:
            self.store_one.store(o, p, z.conjugate() * self.chirp[self.line.number(p)])


def _chirp(n: int, dtype: Any) -> np.ndarray[Any, Any]:
    """``exp(-1j * pi * j^2 / n)``; the exponents are exact."""
    j = np.arange(n, dtype=np.int64)
    return roots(2 * n, j * j % (2 * n), dtype)


def _spectrum(n: int, length: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    chirp = _chirp(n, np.dtype(np.complex128)).conj()
    filtered = np.zeros(length, np.complex128)
    filtered[:n] = chirp
    filtered[length - n + 1 :] = chirp[:0:-1]
    return (np.fft.fft(filtered) / length).astype(dtype)


def run_bluestein(
    view: amp.accelerator_view, load: Any, store: Any, lines: Lines, dtype: np.dtype[Any], *, in_place: bool
) -> None:
    """Transforms each line of ``load`` into ``store``, for any length."""
    length = smooth_from(2 * lines.n - 1)
    chirp = table(("chirp", lines.n, dtype), lambda: _chirp(lines.n, dtype))
    spectrum = table(("spectrum", lines.n, dtype), lambda: _spectrum(lines.n, length, dtype))
    line, width = direction(lines.inner), lines.n * lines.inner
    run_filtered(
        view, Chirped(load, dtype.type, chirp, width, line), Unchirped(store, chirp, width, line), spectrum,
        Lines(lines.outer, length, lines.inner), dtype, kept=lines.n, in_place=in_place,
    )  # fmt: skip


def _has_tiles(view: amp.accelerator_view, n: int, dtype: np.dtype[Any]) -> bool:
    """Whether tiles transform lines of this length: in stages, or in one launch as a convolution."""
    if radices_of(n, primes=PRIMES_IN_TILES) is not None:
        return True
    if radices_of(n, primes=_EXACT_PRIMES) is not None:
        return False
    return takes(view, Lines(1, smooth_from(2 * n - 1), 1), dtype) or radices_of(n, primes=PRIMES_IN_PASSES) is None


def run_lines(
    view: amp.accelerator_view, load: Any, store: Any, lines: Lines, dtype: np.dtype[Any], *, in_place: bool = False
) -> None:
    """Transforms each line of ``load`` forward into ``store``. ``in_place``: they may have the same memory."""
    is_tiled = _choose.form_of(view) == "tiles" and _has_tiles(view, lines.n, dtype)
    if radices_of(lines.n, primes=PRIMES_IN_TILES if is_tiled else PRIMES_IN_PASSES) is None:
        run = run_bluestein
    else:
        run = run_tiles if is_tiled else run_passes
    run(view, load, store, lines, dtype, in_place=in_place)
