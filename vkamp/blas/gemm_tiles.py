"""Matrix products on GPUs: blocks of A and B in ``tile_static`` memory, blocks of the result in registers.

The method is that of V. Volkov and J. Demmel, *Benchmarking GPUs to Tune Dense Linear Algebra* (2008), and of S. Gray's
maxas. Each tile of 256 threads computes a square block of the result, and each thread a part of it in registers, while
the next blocks of A and B are being loaded.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.blas._operands import Factors, Packed
from vkamp.blas._target import target

#: The steps of the sum in one block, and the threads of a tile along each side.
DEPTH, SIDE = 16, 16


@amp.func
def fetch(
    a: Any, b: Any, next_a: Any, next_b: Any, at_a: Any, at_b: Any, k: Any, quad: Any, along: Any, end: Any, pitch: Any
) -> Any:
    """Loads the elements of A and B that a thread contributes to the block at ``k``; zeros after the last step."""
    groups = next_a.extent[0]
    for q in amp.static_range(groups):
        deep = 4 * k + along + 16 // groups * q
        x = a.four(at_a[q] + min(k + quad, end - 1))
        y = b.four(at_b + min(deep, 4 * end - 1) * pitch)
        for j in amp.static_range(4):
            next_a[q, j] = x[j] if k + quad < end else type(x[j])(0)
            next_b[q, j] = y[j] if deep < 4 * end else type(y[j])(0)


@amp.kernel
def block_product(
    t_idx, a, b, out, m, quads, first, end, depth, step_a, step_b, pitch, alpha, beta,
    *, part: amp.constant, halves: amp.constant,
):  # fmt: skip
    """A block of ``16 * part`` rows and columns of the result, of which each thread has ``part * part`` elements.

    A thread's elements are in groups of four neighbours, 64 apart, so that the threads of a subgroup read neighbouring
    words.
    """
    kind = type(b.value(0))
    left = amp.tile_static((halves, DEPTH, SIDE * part), kind)
    right = amp.tile_static((halves, DEPTH, SIDE * part), kind)
    sums = amp.private((part, part), kind)
    of_a = amp.private(part, kind)
    of_b = amp.private(part, kind)
    next_a = amp.private((part // 4, 4), kind)
    next_b = amp.private((part // 4, 4), kind)
    at_a = amp.private(part // 4, amp.int32)
    ty, tx = t_idx.local[1], t_idx.local[2]
    t = ty * SIDE + tx
    top, side = t_idx.tile[1] * (SIDE * part), t_idx.tile[2] * (SIDE * part // 4)
    row, quad = t // 4, t % 4
    along, across = t // (SIDE * part // 4), t % (SIDE * part // 4)
    # After the last row or column, elements are loaded that are never stored.
    at_b = t_idx.tile[0] * step_b + min(side + across, quads - 1)
    for q in amp.static_range(part // 4):
        at_a[q] = t_idx.tile[0] * step_a + min(top + row + 64 * q, m - 1) * depth
    for i in amp.static_range(part):
        for j in amp.static_range(part):
            sums[i, j] = kind(0)
    fetch(a, b, next_a, next_b, at_a, at_b, first, quad, along, end, pitch)
    half = 0
    for k in range(first, end, DEPTH // 4):
        for q in amp.static_range(part // 4):
            for j in amp.static_range(4):
                left[half, quad * 4 + j, row + 64 * q] = next_a[q, j]
                right[half, along + 64 // part * q, across * 4 + j] = next_b[q, j]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        if k + DEPTH // 4 < end:
            fetch(a, b, next_a, next_b, at_a, at_b, k + DEPTH // 4, quad, along, end, pitch)
        for kk in amp.static_range(DEPTH):
            for g in amp.static_range(part // 4):
                for i in amp.static_range(4):
                    of_a[4 * g + i] = left[half, kk, 64 * g + ty * 4 + i]
                    of_b[4 * g + i] = right[half, kk, 64 * g + tx * 4 + i]
            for i in amp.static_range(part):
                for j in amp.static_range(part):
                    sums[i, j] += of_a[i] * of_b[j]
        if halves == 2:
            half = 1 - half
        else:
            t_idx.barrier.wait_with_tile_static_memory_fence()
    for g in amp.static_range(part // 4):
        for i in amp.static_range(part):
            at = top + 64 * (i // 4) + ty * 4 + i % 4
            column = side + 16 * g + tx
            if at < m and column < quads:
                s0, s1, s2, s3 = sums[i, 4 * g], sums[i, 4 * g + 1], sums[i, 4 * g + 2], sums[i, 4 * g + 3]
                out.store_four(alpha, beta, t_idx.tile[0], at, column, s0, s1, s2, s3)


def multiply(view: amp.accelerator_view, a: Packed, b: Packed, c: Any, adds: bool, factors: Factors, ks: range) -> None:
    """Computes the product over the quads ``ks`` of A's rows in one launch, and stores it in ``c``."""
    batch, rows = int(c.extent[0]), int(c.extent[1])
    part = 8 if a.values.dtype.itemsize == 4 and rows > 64 and b.quads > 16 else 4
    side = SIDE * part
    domain = amp.extent(batch, -(-rows // side) * SIDE, -(-4 * b.quads // side) * SIDE).tile(1, SIDE, SIDE)
    halves = 2 if a.values.dtype.itemsize == 4 else 1
    sources = lazy.of(a.values).flat(), lazy.of(b.values).flat()
    numbers = (rows, b.quads, ks.start, ks.stop, a.pitch, a.step, b.step, b.pitch, *factors)
    amp.parallel_for_each(view, domain, block_product, *sources, target(c, adds), *numbers, part=part, halves=halves)
