"""Passes of larger prime radices for CPU drivers, by the sums of the definition.

As the butterflies of odd radices in registers do, they first add the numbers ``r`` and ``radix - r``, which halves the
number of multiplications. A radix is a number that kernels are given, not a constant: all have one kernel, which
compiles quickly. Bluestein's algorithm has larger errors, and takes longer.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.fft.lengths import table

#: How many pairs of results ``r`` and ``radix - r`` a thread computes.
_PAIRS = 8


@amp.kernel
def direct_pass(
    idx, source, target, twiddles, turns, step, before, line, apart, between, radix, *, kind: amp.constant
):  # fmt: skip
    """Some results of one butterfly of a pass, with the names of ``stockham_pass``."""
    t = amp.uint32(idx[1])
    plane = apart.quotient(t)
    p = t - plane * step
    group = between.quotient(p)
    k = p - group * before
    o = amp.int32(plane)
    number = line.number(amp.int32(k))
    half = radix >> 1
    even = amp.private(_PAIRS, kind)
    odd = amp.private(_PAIRS, kind)
    first = source.load(o, amp.int32(p))
    for m in amp.static_range(_PAIRS):
        even[m] = first
        odd[m] = kind(0)
    at = idx[0] * half * _PAIRS
    for j in range(1, half + 1):
        a = twiddles.turned(source.load(o, amp.int32(p + j * step)), j, number)
        b = twiddles.turned(source.load(o, amp.int32(p + (radix - j) * step)), radix - j, number)
        total, difference = a + b, a - b
        for m in amp.static_range(_PAIRS):
            turn = turns[at + m]
            even[m] += total * turn.real
            odd[m] += difference * turn.imag
        at += _PAIRS
    to = amp.int32(group * before * radix + k)
    for m in amp.static_range(_PAIRS):
        r = idx[0] * _PAIRS + m
        if r <= half:
            x = kind(odd[m].imag, -odd[m].real)
            target.store(o, to + r * amp.int32(before), even[m] + x)
            if r > 0:
                target.store(o, to + (radix - r) * amp.int32(before), even[m] - x)


def blocks_of(radix: int) -> int:
    """How many threads compute a butterfly."""
    return -(-(radix // 2 + 1) // _PAIRS)


def turns_of(radix: int, dtype: np.dtype[Any]) -> Any:
    """The cosines and sines of the results of a thread for each ``j``, as complex numbers; those of further results
    are zeros.
    """

    def make() -> np.ndarray[Any, Any]:
        half = radix // 2
        made = np.zeros((blocks_of(radix) * _PAIRS, half), np.complex128)
        angle = np.arange(half + 1)[:, None] * np.arange(1, half + 1) % radix * (2 * np.pi / radix)
        made[: half + 1].real, made[: half + 1].imag = np.cos(angle), np.sin(angle)
        return made.reshape(-1, _PAIRS, half).swapaxes(1, 2).reshape(-1).astype(dtype)

    return table(("turns", radix, dtype), make)
