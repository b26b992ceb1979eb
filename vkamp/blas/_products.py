"""Products of batches of matrices: the choice of the form for the device."""

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose
from vkamp.algorithms._arguments import value
from vkamp.blas import gemm_blocks, gemm_cpu, gemm_matrices, gemm_tiles
from vkamp.blas._operands import Factors, Matrix, computed, packed
from vkamp.blas._target import narrow

#: Products with at most this many rows use smaller blocks.
_FEW_ROWS = 8


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
    left = packed(view, a, dtype)
    # The rows of A are padded with zeros to a multiple of four, so B needs as many rows.
    right = packed(view, b, dtype, least_rows=4)
    if _choose.form_of(view) == "runs":
        run = gemm_cpu.multiply
    elif c.extent[1] > _FEW_ROWS and gemm_blocks.takes(left, right):
        run = gemm_blocks.multiply
    else:
        run = gemm_tiles.multiply
    for start in range(0, left.quads, gemm_cpu.LONGEST):
        ks = range(start, min(start + gemm_cpu.LONGEST, left.quads))
        run(view, left, right, c, beta != 0 or start > 0, factors, ks)
        factors = Factors(factors.alpha, value(1, dtype))


def _is_plain(alpha: Any, beta: Any) -> bool:
    """Whether a product is neither scaled nor added."""
    return isinstance(alpha, int) and isinstance(beta, int) and (alpha, beta) == (1, 0)
