"""Products of batches of matrices: the choice of the form for the device."""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose
from vkamp.algorithms._arguments import value
from vkamp.blas import gemm_blocks, gemm_cpu, gemm_matrices, gemm_tiles
from vkamp.blas._operands import Factors, Matrix, Packed, computed, packed
from vkamp.blas._target import narrow

#: Products with at most this many rows use smaller blocks.
_FEW_ROWS = 8
#: A sum is divided into parts of at least so many groups of four steps, and so that there are at most so many blocks of
#: 64 by 64 elements for each unit of the device.
_LEAST_QUADS, _BLOCKS_OF_UNIT = 64, 2


@amp.kernel
def add_parts(idx, sums, c, alpha, beta, parts, *, adds: amp.constant):
    """``c = alpha * x + beta * c``, where ``x`` is the sum of the parts."""
    total = sums[0, idx[1], idx[2]]
    for p in range(1, parts):
        total += sums[p, idx[1], idx[2]]
    total = alpha * total
    if adds:
        total += beta * c[idx]
    c[idx] = total


def multiply(view: amp.accelerator_view, a: Matrix, b: Matrix, c: Any, alpha: Any = 1, beta: Any = 0) -> None:
    """``c = alpha * a @ b + beta * c`` for batches of matrices; ``c`` has rank 3, and is not read if beta is 0.

    Each of ``a`` and ``b`` has as many matrices as ``c``, or one.
    """
    if gemm_matrices.takes(view, a, b, c.dtype) and _is_plain(alpha, beta):
        gemm_matrices.multiply(view, a, b, c)
        return
    dtype = computed(np.result_type(a.values.dtype, b.values.dtype))
    factors = Factors(value(alpha, dtype), value(beta, dtype))
    if c.dtype != dtype:
        wide = amp.array(c.extent, dtype, accelerator_view=view)
        multiply(view, a, b, wide)
        amp.parallel_for_each(view, c.extent, narrow, wide, c, *factors, adds=beta != 0)
        return
    on_host = _choose.form_of(view) == "runs"
    left = packed(view, a, dtype, with_gaps=not on_host)
    # The rows of A are padded with zeros to a multiple of four, so B needs as many rows.
    right = packed(view, b, dtype, least_rows=4, with_gaps=not on_host)
    if not on_host and (parts := _parts_of(view, left, right, c)) > 1:
        _multiply_in_parts(view, left, right, c, beta != 0, factors, parts)
        return
    if on_host:
        run = gemm_cpu.multiply
    elif c.extent[1] > _FEW_ROWS and gemm_blocks.takes(left, right):
        run = gemm_blocks.multiply
    else:
        run = gemm_tiles.multiply
    for start in range(0, left.quads, gemm_cpu.LONGEST):
        ks = range(start, min(start + gemm_cpu.LONGEST, left.quads))
        run(view, left, right, c, beta != 0 or start > 0, factors, ks)
        factors = Factors(factors.alpha, value(1, dtype))


def _parts_of(view: amp.accelerator_view, a: Packed, b: Packed, c: Any) -> int:
    """The parts in which a long sum is computed where the result has too few blocks for all units of the device."""
    limits = view.accelerator.limits
    batch, rows, columns = map(int, c.extent)
    if limits is None or batch > 1 or rows <= _FEW_ROWS or not gemm_blocks.takes(a, b):
        return 1
    units = limits.compute_units or 64
    # A short sum takes longer in two parts than in one launch with blocks of 32 x 32: 17.5 and 14.6 us for products of
    # 512 on an H200.
    if a.quads <= 2 * _LEAST_QUADS and -(-rows // 32) * -(-columns // 32) >= units:
        return 1
    blocks = -(-rows // 64) * -(-columns // 64)
    parts = 1
    while (
        a.quads % (8 * parts) == 0
        and a.quads // (2 * parts) >= _LEAST_QUADS
        and 2 * parts * blocks <= _BLOCKS_OF_UNIT * units
    ):
        parts *= 2
    return parts


def _multiply_in_parts(
    view: amp.accelerator_view, a: Packed, b: Packed, c: Any, adds: bool, factors: Factors, parts: int
) -> None:
    """Computes the products over parts of the sum as a batch, and adds them in their order."""
    quads = a.quads // parts
    sums = amp.array(amp.extent(parts, *list(c.extent)[1:]), c.dtype, accelerator_view=view)
    left = Packed(a.values, a.rows, quads, quads, a.pitch)
    right = Packed(b.values, 4 * quads, b.quads, 4 * quads * b.pitch, b.pitch)
    ones = Factors(value(1, c.dtype), value(0, c.dtype))
    gemm_blocks.multiply(view, left, right, sums, False, ones, range(quads))
    amp.parallel_for_each(view, c.extent, add_parts, sums, c, *factors, parts, adds=adds)


def _is_plain(alpha: Any, beta: Any) -> bool:
    """Whether a product is neither scaled nor added."""
    return isinstance(alpha, int) and isinstance(beta, int) and (alpha, beta) == (1, 0)
