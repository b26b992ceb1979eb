"""Matrix products on CPU drivers and the reference accelerator, without barriers and ``tile_static`` memory.

There, each lane of a subgroup that loads an element costs as much as ten multiplications. So the lanes of a subgroup
load different rows of A, and pass them on: lane ``i`` multiplies the row of lane ``i ^ r`` in step ``r``.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.blas._operands import Factors, Packed
from vkamp.blas._target import target
from vkamp.blas._tuned import cases, key
from vkamp.tuning import autotune

#: lavapipe ends an invocation's loops after 65,535 iterations.
LONGEST = 49_152
#: The rows and columns of each thread in the plain form.
_ROWS, _COLUMNS = 4, 4


@amp.kernel
def rotated(
    t_idx, a, b, out, m, quads, first, end, depth, step_a, step_b, alpha, beta,
    *, lanes: amp.constant, chunks: amp.constant,
):  # fmt: skip
    """``lanes * chunks`` rows of four columns for each thread, in vectors of four. The rows of a tile are subgroups."""
    vector = type(b[0])
    lane = amp.subgroup.lane()
    batch = t_idx.global_[0]
    top = t_idx.global_[1] * (lanes * chunks)
    column = t_idx.global_[2]
    sums = amp.private(lanes * chunks, vector)
    left = amp.private(chunks, vector)
    at_a = amp.private(chunks, amp.int32)
    for i in amp.static_range(lanes * chunks):
        sums[i] = vector(0)
    for q in amp.static_range(chunks):
        # Rows after the last one are computed, but not stored.
        at_a[q] = batch * step_a + min(top + q * lanes + lane, m - 1) * depth
    at_b = batch * step_b + 4 * first * quads + min(column, quads - 1)
    for k in range(first, end):
        for q in amp.static_range(chunks):
            left[q] = a[at_a[q] + k]
        # One row of B after the other: SwiftShader has no registers for four.
        for j in amp.static_range(4):
            row_of_b = b[at_b]
            at_b += quads
            for q in amp.static_range(chunks):
                x = (left[q].x, left[q].y, left[q].z, left[q].w)[j]
                for r in amp.static_range(lanes):
                    y = x if r == 0 else amp.subgroup.shuffle_xor(x, r)
                    sums[q * lanes + r] += y * row_of_b
    if column < quads:
        for q in amp.static_range(chunks):
            for r in amp.static_range(lanes):
                row = top + q * lanes + (lane ^ r)
                if row < m:
                    s = sums[q * lanes + r]
                    out.store_four(alpha, beta, batch, row, column, s.x, s.y, s.z, s.w)


@amp.kernel
def plain(idx, a, b, out, m, quads, first, end, depth, step_a, step_b, alpha, beta):
    """Four rows of four columns for each thread, with elements of any type."""
    kind = type(b.value(0))
    batch = idx[0]
    column = idx[2]
    sums = amp.private((_ROWS, _COLUMNS), kind)
    at_a = amp.private(_ROWS, amp.int32)
    for i in amp.static_range(_ROWS):
        at_a[i] = batch * step_a + min(_ROWS * idx[1] + i, m - 1) * depth
        for j in amp.static_range(_COLUMNS):
            sums[i, j] = kind(0)
    at_b = batch * step_b + 4 * first * quads + column
    for k in range(4 * first, 4 * end):
        b0, b1, b2, b3 = b.four(at_b)
        at_b += quads
        for i in amp.static_range(_ROWS):
            x = a.value(4 * at_a[i] + k)
            sums[i, 0] += x * b0
            sums[i, 1] += x * b1
            sums[i, 2] += x * b2
            sums[i, 3] += x * b3
    for i in amp.static_range(_ROWS):
        row = _ROWS * idx[1] + i
        if row < m:
            out.store_four(alpha, beta, batch, row, column, sums[i, 0], sums[i, 1], sums[i, 2], sums[i, 3])


def _default(view: Any, a: Any, b: Any, c: Any, *others: Any) -> dict[str, int]:
    lanes, rows = lanes_of(view) or 4, int(c.extent[1])
    most = 4 if lanes == 8 else 2
    chunks = 1
    while chunks < most and lanes * chunks < rows:
        chunks *= 2
    return {"chunks": chunks, "high": 4 if lanes == 4 and rows > 4 * lanes else 1}


@autotune(
    {"chunks": (1, 2, 4, 8), "high": (1, 2, 4, 8)}, key=key, default=_default, cases=cases,
    where=lambda p, limits: p.chunks * limits.subgroup_size <= 32,
)  # fmt: skip
def product(
    view: Any, a: Any, b: Any, c: Any, steps: Any, numbers: Any, ks: Any, adds: Any, *, chunks: int, high: int
) -> None:
    """The product by :func:`rotated` in one launch, as :func:`vkamp.blas.gemm_blocks.product`.

    ``chunks``: the rows of a thread, in multiples of a subgroup. ``high``: the subgroups of a tile.
    """
    lanes = lanes_of(view) or 4
    batch, rows = int(c.extent[0]), int(c.extent[1])
    depth_a, step_a, _, step_b, quads = steps
    threads = amp.extent(batch, -(-rows // (lanes * chunks)), quads).tile(1, high, lanes).pad()
    amp.parallel_for_each(
        view, threads, rotated, lazy.quads_of(a), lazy.quads_of(b), target(c, adds),
        rows, quads, ks[0], ks[1], depth_a, step_a, step_b, *numbers, lanes=lanes, chunks=chunks,
    )  # fmt: skip


def multiply(view: amp.accelerator_view, a: Packed, b: Packed, c: Any, adds: bool, factors: Factors, ks: range) -> None:
    """Computes the product over the quads ``ks`` of A's rows in one launch, and stores it in ``c``."""
    if lanes_of(view) is not None and lazy.quads_of(a.values) is not None and lazy.quads_of(b.values) is not None:
        steps = (a.quads, a.step, b.quads, b.step, b.quads)
        product(view, a.values, b.values, c, steps, tuple(factors), (ks.start, ks.stop), adds)
        return
    batch, rows = int(c.extent[0]), int(c.extent[1])
    numbers = (rows, b.quads, ks.start, ks.stop, a.quads, a.step, b.step, *factors)
    domain = amp.extent(batch, -(-rows // _ROWS), b.quads)
    sources = lazy.of(a.values).flat(), lazy.of(b.values).flat()
    amp.parallel_for_each(view, domain, plain, *sources, target(c, adds), *numbers)


def lanes_of(view: amp.accelerator_view) -> int | None:
    """The number of lanes in a subgroup, if it is small and they can exchange values."""
    limits = view.accelerator.limits
    if limits is None or "shuffle" not in limits.subgroup_operations:
        return None
    return limits.subgroup_size if limits.subgroup_size in (4, 8, 16) else None
