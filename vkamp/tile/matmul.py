"""Products of blocks in ``tile_static`` memory, by cooperative matrices."""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import vkamp as amp


@amp.func
def matmul(t_idx, acc, a_tile, b_tile, row, column, *, depth: amp.constant, inner: amp.constant):
    """Adds ``a_tile[row:, :depth] @ b_tile[:depth, column:]`` to the matrices of a subgroup.

    ``acc``: ``amp.matrix((16, 16), ..., count=(m, n))``, the ``16 m`` rows and ``16 n`` columns of the result that the
    subgroup has; they begin at ``row`` of ``a_tile`` and ``column`` of ``b_tile``.  ``inner``: the inner dimension of
    the device's products, 16 for float16 and bfloat16, 32 for int8 and uint8; ``depth`` is a multiple of it.

    The kernel requires a size of subgroups.  Where the device has no matrices, they are in the registers of the
    threads: ``kernel.inspect(...).matrices`` says which.  The threads of the tile must wait at a barrier before the
    blocks change.
    """
    for k in amp.static_range(0, depth, inner):
        for j in amp.static_range(acc.extent[1]):
            y = amp.matrix_load(b_tile, (k, column + 16 * j), (inner, 16), "b")
            for i in amp.static_range(acc.extent[0]):
                x = amp.matrix_load(a_tile, (row + 16 * i, k), (16, inner), "a")
                acc[i, j] = amp.matrix_mul_add(x, y, acc[i, j])
