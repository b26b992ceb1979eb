"""Passes over memory for long inputs on lavapipe: each thread transforms two adjacent numbers of each part of a line.

lavapipe accesses memory one lane after the other, and an access to four floats takes little longer than one to two. So
two butterflies for each thread, whose numbers are loaded and stored together, take two thirds of the time, but their
kernels take twice as long to compile.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.fft.butterflies import butterfly, tables_of
from vkamp.fft.ends import ScaledLines, Whole
from vkamp.fft.lengths import MOST_IN_TABLE, Divisor, Lines, radices_of
from vkamp.fft.twiddles import Twiddles, powers


class TwoLoaded:
    """Loads pairs of adjacent numbers. ``sign`` -1 loads conjugates."""

    __slots__ = ("quads", "sign")

    def __init__(self, quads: Any, sign: Any) -> None:
        self.quads, self.sign = quads, sign

    @amp.func
    def load(self, k):
        """The numbers ``2 * k`` and ``2 * k + 1``."""
        q = self.quads[amp.int32(k)]
        return amp.complex64(q.x, q.y * self.sign), amp.complex64(q.z, q.w * self.sign)  # type: ignore[call-arg]


class TwoStored:
    """Stores pairs of adjacent numbers, times ``scale``, or the conjugates."""

    __slots__ = ("quads", "scale", "scale_imag")

    def __init__(self, quads: Any, scale: Any, scale_imag: Any) -> None:
        self.quads, self.scale, self.scale_imag = quads, scale, scale_imag

    @amp.func
    def store(self, k, a, b):
        """Stores the numbers ``2 * k`` and ``2 * k + 1``."""
        self.quads[amp.int32(k)] = amp.float4(
            a.real * self.scale, a.imag * self.scale_imag, b.real * self.scale, b.imag * self.scale_imag
        )


@amp.func
def _turned(v, w, w4, w8, w16, *, radix: amp.constant):
    factors = powers(w, w4, w8, w16, radix=radix)
    return tuple(v[r] * factors[r - 1] if r > 0 else v[r] for r in range(radix))


@amp.kernel
def first_wide_pass(idx, source, target, step, apart, *, radix: amp.constant, tables: amp.constant):
    """Two adjacent butterflies of the first pass. ``step``: half the distance between two numbers of a butterfly.
    ``apart`` divides by it.
    """
    t = amp.uint32(idx[0])
    line = apart.quotient(t)
    q = t - line * step
    begin = line * step * radix
    v = tuple(source.load(begin + q + r * step) for r in range(radix))
    to = begin + q * radix
    for b in amp.static_range(2):
        z = butterfly(tuple(pair[b] for pair in v), radix=radix, tables=tables)
        for r in amp.static_range(radix // 2):
            target.store(to + b * (radix // 2) + r, z[2 * r], z[2 * r + 1])


@amp.kernel
def wide_pass(
    idx, source, target, twiddles, step, before, apart, between, *, radix: amp.constant, tables: amp.constant
):  # fmt: skip
    """Two adjacent butterflies of a later pass. ``before``: half the product of the earlier radices."""
    t = amp.uint32(idx[0])
    line = apart.quotient(t)
    q = t - line * step
    begin = line * step * radix
    group = between.quotient(q)
    k = q - group * before
    v = tuple(source.load(begin + q + r * step) for r in range(radix))
    w = twiddles.load(before + k)
    w4 = twiddles.load((4 if radix > 4 else 1) * before + k)
    w8 = twiddles.load((8 if radix > 8 else 1) * before + k)
    w16 = twiddles.load((16 if radix > 16 else 1) * before + k)
    z = tuple(
        butterfly(
            _turned(tuple(pair[b] for pair in v), w[b], w4[b], w8[b], w16[b], radix=radix), radix=radix, tables=tables
        )
        for b in range(2)
    )
    to = begin + group * before * radix + k
    for r in amp.static_range(radix):
        target.store(to + r * before, z[0][r], z[1][r])


def _radices(n: int) -> tuple[int, ...] | None:
    """Two radices or more, the first of them even, so that pairs of numbers are never divided; ``None`` if there are
    none.
    """
    radices = radices_of(n, large=True) if n <= MOST_IN_TABLE else None
    if radices is None:
        return None
    ordered = tuple(sorted(radices, key=lambda radix: (radix % 2, -radix)))
    fits = len(ordered) > 1 and ordered[0] % 2 == 0 and all(n // radix % 2 == 0 for radix in ordered)
    return ordered if fits else None


def _in_fours(values: Any) -> Any:
    """A container of complex numbers in pairs, as vectors of four; ``None`` if that is not possible."""
    try:
        return values.reinterpret_as(amp.float4)
    except (amp.AmpError, TypeError):
        return None


def run_wide_passes(view: amp.accelerator_view, load: Any, store: Any, lines: Lines, dtype: np.dtype[Any]) -> bool:
    """Transforms each line of ``load`` into ``store``, if it has pairs of complex64; whether it does."""
    radices = _radices(lines.n)
    is_plain = isinstance(load, Whole) and isinstance(load.values, lazy.Elements) and isinstance(store, ScaledLines)
    if radices is None or not is_plain or lines.inner != 1 or dtype != np.complex64:
        return False
    given = load.values.values
    if given.dtype != dtype or load.width != lines.n or (source := _in_fours(given)) is None:
        return False
    if (out := _in_fours(store.out)) is None:
        return False
    one = np.float32(1)
    count, scratch = lines.outer * lines.n // 2, []
    for _ in range(min(len(radices) - 1, 2)):
        scratch.append(amp.array(amp.extent(count), amp.float4, accelerator_view=view))
    loaded = TwoLoaded(source, load.sign)
    for number, radix in enumerate(radices):
        step = lines.n // radix // 2
        is_last = number == len(radices) - 1
        between = None if is_last else scratch[number % 2]
        stored = TwoStored(out, store.scale, store.scale_imag) if is_last else TwoStored(between, one, one)
        domain, where = amp.extent(lines.outer * step), (np.uint32(step), Divisor(step))
        if number == 0:
            amp.parallel_for_each(
                view, domain, first_wide_pass, loaded, stored, *where, radix=radix, tables=tables_of(radix)
            )  # fmt: skip
        else:
            before = math.prod(radices[:number])
            factors = TwoLoaded(_in_fours(Twiddles(before, radix, dtype).values), one)
            amp.parallel_for_each(
                view, domain, wide_pass, loaded, stored, factors, np.uint32(step), np.uint32(before // 2),
                Divisor(step), Divisor(before // 2), radix=radix, tables=tables_of(radix),
            )  # fmt: skip
        loaded = TwoLoaded(between, one)
    return True
