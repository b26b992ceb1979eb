"""Transforms by passes over memory, for CPU drivers: each thread of a pass transforms ``radix`` numbers in registers.

T. G. Stockham's order of the passes (W. T. Cochran et al., *What Is the Fast Fourier Transform?*, 1967), as N. K.
Govindaraju et al. write it (*High Performance Discrete Fourier Transforms on Graphics Processors*, 2008): the numbers
are in order after the last pass, without a permutation by reversed digits.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.fft.butterflies import butterfly, tables_of
from vkamp.fft.ends import Planes
from vkamp.fft.lengths import Lines, radices_of
from vkamp.fft.twiddles import twiddles

#: Numbers from which on fewer passes are worth kernels that take longer to compile.
_MANY = 1 << 15


@amp.kernel
def stockham_pass(
    idx, source, target, twiddles, step, before, inner,
    *, radix: amp.constant, tables: amp.constant, strided: amp.constant,
):  # fmt: skip
    """One butterfly of a pass.

    ``step``: ``inner * n / radix``, what is between two numbers of a butterfly.  ``before``: ``inner`` times the
    product of the earlier radices, which is between two of its results.
    """
    t = amp.uint32(idx[0])
    plane = t // step
    p = t - plane * step
    group = p // before
    k = p - group * before
    power = k // inner if strided else k
    o = amp.int32(plane)
    v = tuple(source.load(o, amp.int32(p + r * step)) for r in range(radix))
    v = tuple(twiddles.times(v[r], r, amp.int32(power)) if r > 0 else v[r] for r in range(radix))
    v = butterfly(v, radix=radix, tables=tables)
    to = group * before * radix + k
    for r in amp.static_range(radix):
        target.store(o, amp.int32(to + r * before), v[r])


def run_passes(view: amp.accelerator_view, load: Any, store: Any, lines: Lines, dtype: np.dtype[Any]) -> None:
    """Transforms each line of ``load`` into ``store``, with complex numbers of ``dtype`` in between.

    With one pass, a thread stores where it has loaded; with more, the last pass loads from other memory.
    """
    radices = radices_of(lines.n, plain=lines.outer * lines.n * lines.inner < _MANY)
    assert radices is not None
    plane = lines.n * lines.inner
    scratch = [
        Planes(amp.array(amp.extent(lines.outer * plane), dtype, accelerator_view=view), plane)
        for _ in range(min(len(radices) - 1, 2))
    ]
    source = load
    for number, radix in enumerate(radices):
        before = math.prod(radices[:number])
        target = store if number == len(radices) - 1 else scratch[number % 2]
        amp.parallel_for_each(
            view, amp.extent(lines.outer * plane // radix), stockham_pass, source, target,
            twiddles(before, radix, dtype),
            np.uint32(plane // radix), np.uint32(before * lines.inner), np.uint32(lines.inner),
            radix=radix, tables=tables_of(radix), strided=lines.inner > 1,
        )  # fmt: skip
        source = target
