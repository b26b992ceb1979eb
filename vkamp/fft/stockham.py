"""Transforms by passes over memory, for CPU drivers: each thread of a pass transforms ``radix`` numbers in registers.

The order of the passes is T. G. Stockham's (W. T. Cochran et al., *What Is the Fast Fourier Transform?*, 1967), in the
form of N. K. Govindaraju et al. (*High Performance Discrete Fourier Transforms on Graphics Processors*, 2008): the
numbers are in order after the last pass, without a permutation by reversed digits.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.fft.butterflies import LARGER_PRIMES, PRIMES, butterfly, tables_of
from vkamp.fft.direct import blocks_of, direct_pass, turns_of
from vkamp.fft.ends import Planes, direction
from vkamp.fft.lengths import Divisor, Lines, radices_of
from vkamp.fft.twiddles import twiddles
from vkamp.fft.wide_passes import run_wide_passes

#: From this many numbers on, fewer passes are worth kernels that take longer to compile.
_MANY = 1 << 15
#: The prime radices above 13.
PRIMES_IN_PASSES = PRIMES + LARGER_PRIMES
#: From this many numbers on, kernels that take twice as long to compile are worth two thirds of the time.
_VERY_MANY = 1 << 21
#: Subgroups of so few threads are those of SwiftShader, which keeps few numbers in registers.
_FEW_LANES = 4


@amp.kernel
def stockham_pass(
    idx, source, target, twiddles, step, before, line, apart, between,
    *, radix: amp.constant, tables: amp.constant,
):  # fmt: skip
    """One butterfly of a pass.

    ``step``: ``inner * n / radix``, the distance between two numbers of a butterfly. ``before``: ``inner`` times the
    product of the earlier radices, the distance between two of its results. ``apart`` and ``between`` divide by them.
    """
    t = amp.uint32(idx[0])
    plane = apart.quotient(t)
    p = t - plane * step
    group = between.quotient(p)
    k = p - group * before
    o = amp.int32(plane)
    v = tuple(source.load(o, amp.int32(p + r * step)) for r in range(radix))
    v = twiddles.applied(v, line.number(amp.int32(k)), radix=radix)
    v = butterfly(v, radix=radix, tables=tables)
    to = group * before * radix + k
    for r, number in enumerate(v):
        target.store(o, amp.int32(to + r * before), number)


def _has_few_lanes(view: amp.accelerator_view) -> bool:
    limits = view.accelerator.limits
    return limits is not None and limits.subgroup_size <= _FEW_LANES


def _is_direct(view: amp.accelerator_view, radix: int, *, is_long: bool) -> bool:
    """Whether a prime radix needs more registers than threads have, or a kernel that takes too long to compile."""
    return radix in PRIMES_IN_PASSES and radix > (max(PRIMES) if is_long and not _has_few_lanes(view) else PRIMES[0])


def run_passes(
    view: amp.accelerator_view, load: Any, store: Any, lines: Lines, dtype: np.dtype[Any], *, in_place: bool = False
) -> None:
    """Transforms each line of ``load`` into ``store``, with complex numbers of ``dtype`` in between.

    If there is one pass, a thread stores at the positions that it has loaded from; otherwise the last pass loads from
    other memory.
    """
    numbers = lines.outer * lines.n * lines.inner
    if numbers >= _VERY_MANY and not _has_few_lanes(view) and run_wide_passes(view, load, store, lines, dtype):
        return
    is_long = numbers >= _MANY
    radices = radices_of(lines.n, plain=not is_long, large=is_long, primes=PRIMES_IN_PASSES)
    assert radices is not None
    if in_place and len(radices) == 1 and _is_direct(view, radices[0], is_long=is_long):
        # Several threads load the numbers of a butterfly.
        radices = (*radices, 1)
    plane = lines.n * lines.inner
    scratch = [
        Planes(amp.array(amp.extent(lines.outer * plane), dtype, accelerator_view=view), plane)
        for _ in range(min(len(radices) - 1, 2))
    ]
    source = load
    for number, radix in enumerate(radices):
        step, before = plane // radix, math.prod(radices[:number]) * lines.inner
        target = store if number == len(radices) - 1 else scratch[number % 2]
        factors = twiddles(before // lines.inner, radix, dtype)
        where = np.uint32(step), np.uint32(before), direction(lines.inner), Divisor(step), Divisor(before)
        if _is_direct(view, radix, is_long=is_long):
            amp.parallel_for_each(
                view, amp.extent(blocks_of(radix), lines.outer * step), direct_pass, source, target, factors,
                turns_of(radix, dtype), *where, radix, kind=dtype.type,
            )  # fmt: skip
        else:
            amp.parallel_for_each(
                view, amp.extent(lines.outer * step), stockham_pass, source, target, factors, *where,
                radix=radix, tables=tables_of(radix),
            )  # fmt: skip
        source = target
