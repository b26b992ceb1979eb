"""Products of float32 and 32-bit integers on GPUs: blocks in ``tile_static`` memory, and parts of them in registers.

The method is that of S. Gray's maxas and of NVIDIA's CUTLASS. A tile computes a block of the result, a subgroup a
rectangle of the block, and a thread groups of four rows and four columns of the rectangle. While the threads multiply
one block of A and B, the next one is being loaded into registers.

Measured on an H200, each of two things costs a third of the speed: selecting a buffer by a variable, and a comparison
for each loaded element. So the loop has a copy for each of two buffers, and only the kernel for sums that end inside a
block compares. Conditions or breaks in the loop cost up to a tenth, so that the last blocks come after it.

Neighbouring threads alternate between two rows: with threads row by row, products of 2048 are 1.5 % slower there.

Small products have few blocks. There, the threads of a tile are divided into ``slices``, each of which sums over a part
of every block; at the end, their sums are added in order.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.blas._operands import Factors, Packed
from vkamp.blas._target import target
from vkamp.blas._tuned import cases, key
from vkamp.tuning import autotune


class Blocking(NamedTuple):
    """How a product is divided: ``rows`` by ``columns`` elements of a tile, ``depth`` steps of the sum at a time,
    ``high`` by ``wide`` elements of a thread, ``lanes`` of a subgroup along the rows, ``slices`` along the sum.
    """

    rows: int
    columns: int
    depth: int
    high: int
    wide: int
    lanes: int
    slices: int

    @property
    def threads(self) -> int:
        """The threads of a tile."""
        return self.rows // self.high * (self.columns // self.wide) * self.slices

    @property
    def together(self) -> int:
        """The vectors of a thread's sums that a slice stores at a time in the memory of the rows."""
        room = self.depth // 2 * self.rows // (self.threads // self.slices)
        return min(self.high * self.wide // 4, 1 << (room.bit_length() - 1))

    def nbytes(self, itemsize: int) -> int:
        """The number of bytes of ``tile_static`` memory that it needs for elements of ``itemsize`` bytes."""
        return 2 * (self.depth * (self.rows + self.columns) + self.depth // 4 * self.gap(itemsize)) * itemsize

    def gap(self, itemsize: int) -> int:
        """The elements of A that are left out in ``tile_static`` memory after four steps.

        Then the threads of a subgroup, which store elements of several groups of four steps, store in different banks.
        On NVIDIA's Hopper, a permutation of the rows costs products of float32 6 % of the speed, those of float64 2 %.
        Blocks of float64 with more than eight steps have no room for gaps.
        """
        return 128 // self.depth if itemsize == 4 or self.depth <= 8 else 0


#: From large to small.
BLOCKS = (
    (128, 128, 16, 8, 16, 8, 1), (128, 128, 16, 8, 8, 4, 1), (128, 128, 8, 8, 8, 8, 1),
    (128, 128, 8, 8, 8, 4, 1), (128, 64, 16, 8, 8, 4, 1), (128, 64, 8, 8, 8, 4, 1), (64, 128, 16, 8, 8, 4, 1),
    (128, 64, 32, 8, 8, 4, 2), (128, 64, 16, 8, 8, 4, 2), (64, 128, 32, 8, 8, 4, 2), (64, 64, 16, 8, 4, 4, 1),
    (64, 64, 32, 8, 4, 4, 1), (64, 64, 8, 4, 8, 4, 1), (64, 64, 16, 8, 8, 4, 2), (64, 64, 32, 8, 8, 4, 2),
    (64, 64, 32, 8, 8, 4, 4), (32, 64, 32, 4, 8, 4, 4), (64, 32, 32, 4, 4, 4, 2), (32, 32, 32, 4, 4, 4, 4),
)  # fmt: skip
#: Without a search: a block, and how many blocks a product needs, at least, for each unit of the device.
_DEFAULTS = (((128, 128, 8, 8, 8, 4, 1), 1.5), ((64, 64, 16, 8, 4, 4, 1), 1.5), ((32, 64, 32, 4, 8, 4, 4), 1))
#: The same of double precision, whose elements take twice the registers and memory.
_DOUBLE = (
    ((128, 128, 8, 8, 8, 8, 1), 0.75), ((128, 64, 16, 8, 8, 4, 1), 0.75), ((128, 64, 8, 8, 8, 4, 1), 0.75),
    ((64, 64, 8, 4, 8, 4, 1), 0.5),
)  # fmt: skip


def quads_of(row: Any) -> Any:
    """A container with one index as groups of four; ``None`` if that is impossible."""
    if row.dtype != np.float64 or row.extent[0] % 4:
        return lazy.quads_of(row)
    try:
        return row.reinterpret_as(amp.double4)
    except amp.AmpError:
        return None


@amp.func
def load(
    a: Any, b: Any, next_a: Any, next_b: Any, at_a: Any, at_b: Any, k: Any, end: Any, pitch: Any, quad: Any, along: Any,
    *, depth: amp.constant, tail: amp.constant,
) -> Any:  # fmt: skip
    """Loads a thread's contribution to the block at ``k``; with ``tail``, zeros after the end of the sum.

    Its places move on by a block. Computing them from ``k`` costs 1 % of the speed.
    """
    vector = type(next_b[0])
    for p in amp.static_range(next_a.extent[0]):
        if tail:
            next_a[p] = a[at_a[p] + min(0, end - 1 - quad - k)]
            if k + quad >= end:
                next_a[p] = vector(0)
        else:
            next_a[p] = a[at_a[p]]
        at_a[p] += depth // 4
    for p in amp.static_range(next_b.extent[0]):
        if tail:
            next_b[p] = b[at_b[p]] if 4 * k + along[p] < 4 * end else vector(0)
        else:
            next_b[p] = b[at_b[p]]
        at_b[p] += depth * pitch


@amp.func
def store(
    t_idx: Any, left: Any, right: Any, next_a: Any, next_b: Any, row: Any, quad: Any, along: Any, across: Any,
    half: Any, *, per: amp.constant, rows: amp.constant, gap: amp.constant, whole: amp.constant,
) -> Any:  # fmt: skip
    """Stores what a thread has loaded in one buffer, and waits until all threads have.

    A is transposed, so that the rows of one step of the sum are adjacent. After every four steps, ``gap`` elements are
    left out. Without gaps, groups of four rows are permuted by the step.
    """
    depth = right.extent[1]
    down = (half * (depth // 4) + quad) * (4 * rows + gap)
    if whole:
        for p in amp.static_range(next_a.extent[0] // 4):
            by = 0 if gap > 0 else quad * (32 // depth) & (rows // 4 - 1)
            at = down // 4 + ((row + per * p) ^ by)
            x, y, z, w = next_a[4 * p], next_a[4 * p + 1], next_a[4 * p + 2], next_a[4 * p + 3]
            left[at] = type(x)(x.x, y.x, z.x, w.x)
            left[at + rows // 4] = type(x)(x.y, y.y, z.y, w.y)
            left[at + rows // 2] = type(x)(x.z, y.z, z.z, w.z)
            left[at + rows // 4 * 3] = type(x)(x.w, y.w, z.w, w.w)
    else:
        for p in amp.static_range(next_a.extent[0]):
            by = 0 if gap > 0 else quad * (128 // depth) & (rows - 1)
            at = down + ((row + per * p) ^ by)
            left[at] = next_a[p].x
            left[at + rows] = next_a[p].y
            left[at + 2 * rows] = next_a[p].z
            left[at + 3 * rows] = next_a[p].w
    for p in amp.static_range(next_b.extent[0]):
        right[half, along[p], across] = next_b[p]
    t_idx.barrier.wait_with_tile_static_memory_fence()


@amp.func
def add(
    fours: Any, right: Any, sums: Any, deep: Any, at_a: Any, at_b: Any,
    half: Any, *, depth: amp.constant, slices: amp.constant, rows: amp.constant, gap: amp.constant, lanes: amp.constant,
) -> Any:  # fmt: skip
    """Adds the products of the steps of one buffer that belong to the thread's slice."""
    of_a = amp.private(sums.extent[0] // 4, type(right[0, 0, 0]))
    of_b = amp.private(sums.extent[1], type(right[0, 0, 0]))
    start = deep * (rows // 4) + deep // 4 * (gap // 4)
    for kk in amp.static_range(depth // slices):
        for f in amp.static_range(of_a.extent[0]):
            down = half * (depth // 4 * (rows + gap // 4)) + kk * (rows // 4) + kk // 4 * (gap // 4)
            by = 0 if gap > 0 else (deep + kk) // 4 * (32 // depth) & (rows // 4 - 1)
            of_a[f] = fours[down + start + ((at_a + f * lanes) ^ by)]
        for f in amp.static_range(of_b.extent[0]):
            of_b[f] = right[half, deep + kk, at_b + f * (32 // lanes)]
        # On NVIDIA's Hopper, all products with one element of A one after the other are 7 % faster than those with one
        # vector of B: the element is read from its register once.
        for f in amp.static_range(of_a.extent[0]):
            for j in amp.static_range(of_b.extent[0]):
                sums[4 * f, j] += of_a[f].x * of_b[j]
            for j in amp.static_range(of_b.extent[0]):
                sums[4 * f + 1, j] += of_a[f].y * of_b[j]
            for j in amp.static_range(of_b.extent[0]):
                sums[4 * f + 2, j] += of_a[f].z * of_b[j]
            for j in amp.static_range(of_b.extent[0]):
                sums[4 * f + 3, j] += of_a[f].w * of_b[j]


@amp.func
def begin(
    sums: Any, at_a: Any, at_b: Any, along: Any, base_a: Any, base_b: Any, top: Any, row: Any, m: Any, depth_a: Any,
    pitch: Any, down: Any, *, per: amp.constant, step: amp.constant, whole: amp.constant,
) -> Any:  # fmt: skip
    """Empty sums, and where the rows of A and B begin that a thread loads.

    The thread loads groups of four neighbouring rows of A if it has that many.
    """
    for i in amp.static_range(sums.extent[0]):
        for j in amp.static_range(sums.extent[1]):
            sums[i, j] = type(sums[i, j])(0)
    for p in amp.static_range(at_a.extent[0]):
        of_a = 4 * (row + per * (p // 4)) + p % 4 if whole else row + per * p
        at_a[p] = base_a + min(top + of_a, m - 1) * depth_a
    for p in amp.static_range(along.extent[0]):
        along[p] = down + step * p
        at_b[p] = base_b + along[p] * pitch


# The two halves of its loop are written out on purpose: each names its buffer by a constant. On an H200 a product of
# 4096 reached 32 TFLOP/s with one body and a buffer that a variable chooses, 38.9 with conditions around the halves,
# and 43.9 with breaks in the middle. In GLSL by hand, 49 were reached on an H100 without either, and with eight steps.
@amp.kernel
def block_product(
    t_idx, a, b, out, m, quads, first, end, depth_a, step_a, step_b, pitch, alpha, beta,
    *, rows: amp.constant, columns: amp.constant, depth: amp.constant, high: amp.constant, wide: amp.constant,
    lanes: amp.constant, slices: amp.constant, gap: amp.constant, threads: amp.constant, per: amp.constant,
    whole: amp.constant, tail: amp.constant, even: amp.constant, together: amp.constant,
):  # fmt: skip
    """Computes ``rows`` by ``columns`` elements; each of ``threads`` threads has ``high`` by ``wide`` of them."""
    vector = type(b[0])
    if whole:
        left = amp.tile_static(depth // 2 * (rows + gap // 4), vector)
        fours = left
    else:
        left = amp.tile_static(depth // 2 * (4 * rows + gap), type(b[0].x))
        fours = left.reinterpret_as(vector)
    right = amp.tile_static((2, depth, columns // 4), vector)
    sums = amp.private((high, wide // 4), vector)
    next_a = amp.private(rows * depth // 4 // threads, vector)
    next_b = amp.private(columns * depth // 4 // threads, vector)
    at_a = amp.private(rows * depth // 4 // threads, amp.int32)
    at_b = amp.private(columns * depth // 4 // threads, amp.int32)
    along = amp.private(columns * depth // 4 // threads, amp.int32)
    t = t_idx.local[2]
    top, side = t_idx.tile[1] * rows, t_idx.tile[2] * (columns // 4)
    warp = t // 32 % (threads // 32 // slices)
    deep = t // (threads // slices) * (depth // slices) if slices > 1 else 0
    part_a = warp // (columns // wide * lanes // 32) * (lanes * high // 4) + t % 32 // (64 // lanes) * 2 + t % 2
    part_b = warp % (columns // wide * lanes // 32) * (32 // lanes * wide // 4) + t % (64 // lanes) // 2
    row, quad, across = t // (depth // 4), t % (depth // 4), t % (columns // 4)
    # After the last row or column, elements are loaded that are never stored.
    base_a = t_idx.tile[0] * step_a + quad + first
    base_b = t_idx.tile[0] * step_b + min(side + across, quads - 1) + 4 * first * pitch
    begin(
        sums, at_a, at_b, along, base_a, base_b, top, row, m, depth_a, pitch, t // (columns // 4),
        per=per, step=threads * 4 // columns, whole=whole,
    )  # fmt: skip
    load(a, b, next_a, next_b, at_a, at_b, first, end, pitch, quad, along, depth=depth, tail=tail)
    store(t_idx, left, right, next_a, next_b, row, quad, along, across, 0, per=per, rows=rows, gap=gap, whole=whole)
    k = first + depth // 4
    # Both halves are written out on purpose: see above.
    while k + depth // 4 < end:
        load(a, b, next_a, next_b, at_a, at_b, k, end, pitch, quad, along, depth=depth, tail=tail)
        add(fours, right, sums, deep, part_a, part_b, 0, depth=depth, slices=slices, rows=rows, gap=gap, lanes=lanes)
        store(t_idx, left, right, next_a, next_b, row, quad, along, across, 1, per=per, rows=rows, gap=gap, whole=whole)
        load(a, b, next_a, next_b, at_a, at_b, k + depth // 4, end, pitch, quad, along, depth=depth, tail=tail)
        add(fours, right, sums, deep, part_a, part_b, 1, depth=depth, slices=slices, rows=rows, gap=gap, lanes=lanes)
        store(t_idx, left, right, next_a, next_b, row, quad, along, across, 0, per=per, rows=rows, gap=gap, whole=whole)
        k += depth // 2
    # Of an even number of blocks, two are left here, of an odd one one.
    if even:
        load(a, b, next_a, next_b, at_a, at_b, k, end, pitch, quad, along, depth=depth, tail=tail)
    add(fours, right, sums, deep, part_a, part_b, 0, depth=depth, slices=slices, rows=rows, gap=gap, lanes=lanes)
    if even:
        store(t_idx, left, right, next_a, next_b, row, quad, along, across, 1, per=per, rows=rows, gap=gap, whole=whole)
        add(fours, right, sums, deep, part_a, part_b, 1, depth=depth, slices=slices, rows=rows, gap=gap, lanes=lanes)
    if slices > 1:
        add_slices(t_idx, fours, sums, t, slices=slices, per=threads // slices, together=together)
    if t < threads // slices:
        store_block(out, sums, alpha, beta, t_idx.tile[0], top, side, m, quads, part_a, part_b, lanes=lanes)


@amp.func
def store_block(
    out: Any, sums: Any, alpha: Any, beta: Any, batch: Any, top: Any, side: Any, m: Any, quads: Any, at_a: Any,
    at_b: Any, *, lanes: amp.constant,
) -> Any:  # fmt: skip
    """Stores the elements of a thread that are inside of the result."""
    for i in amp.static_range(sums.extent[0]):
        row = top + (at_a + i // 4 * lanes) * 4 + i % 4
        for j in amp.static_range(sums.extent[1]):
            column = side + at_b + j * (32 // lanes)
            if row < m and column < quads:
                s = sums[i, j]
                out.store_four(alpha, beta, batch, row, column, s.x, s.y, s.z, s.w)


@amp.func
def add_slices(
    t_idx: Any, fours: Any, sums: Any, t: Any, *, slices: amp.constant, per: amp.constant, together: amp.constant
) -> Any:
    """Adds the sums of the slices, of ``per`` threads each, to those of the first one, in their order.

    ``together`` vectors of a thread are exchanged at a time. With two barriers for each vector, products of 512 take
    11.9 us instead of 11.4 on an H200.
    """
    for which in amp.static_range(1, slices):
        for n in amp.static_range(0, sums.extent[0] * sums.extent[1], together):
            t_idx.barrier.wait_with_tile_static_memory_fence()
            if t // per == which:
                for q in amp.static_range(together):
                    fours[q * per + t % per] = sums[(n + q) // sums.extent[1], (n + q) % sums.extent[1]]
            t_idx.barrier.wait_with_tile_static_memory_fence()
            if t < per:
                for q in amp.static_range(together):
                    sums[(n + q) // sums.extent[1], (n + q) % sums.extent[1]] += fours[q * per + t]


def _default(view: Any, a: Any, b: Any, c: Any, *others: Any) -> dict[str, Any]:
    """The largest block of which a product has enough for all units of the device, and fills most of each."""
    limits = view.accelerator.limits
    units = limits.compute_units or 64
    batch, rows, columns = map(int, c.extent)
    is_double = c.dtype.itemsize == 8
    for block, least in _DOUBLE if is_double else _DEFAULTS:
        made = Blocking(*block)
        count = batch * -(-rows // made.rows) * -(-columns // made.columns)
        is_full = made.rows < 2 * rows and made.columns < 2 * columns
        if count >= least * units and is_full and is_possible(made, limits, c.dtype.itemsize):
            return {"block": block}
    return {"block": _DOUBLE[-1][0] if is_double else BLOCKS[-1]}


def is_possible(block: Blocking, limits: Any, itemsize: int = 4) -> bool:
    """Whether a device has the threads and the memory for a tile, with elements of ``itemsize`` bytes."""
    return bool(block.threads <= limits.tile_threads and block.nbytes(itemsize) <= limits.shared_bytes)


@autotune(
    {"block": BLOCKS}, key=key, where=lambda p, limits: is_possible(Blocking(*p.block), limits), default=_default,
    cases=cases,
)  # fmt: skip
def product(
    view: Any, a: Any, b: Any, c: Any, steps: Any, numbers: Any, ks: Any, adds: Any, *, block: tuple[int, ...]
) -> None:
    """``c = numbers[0] * a @ b + numbers[1] * c`` over the quads ``ks[0]`` to ``ks[1]`` of A's rows, in one launch.

    ``a`` and ``b`` have one index, as :class:`Packed`. ``steps``: the quads from one row to the next and from one
    matrix to the next, of A and of B, and the quads of a row of B.
    """
    made = Blocking(*block)
    out = target(c, adds)
    batch, rows = int(c.extent[0]), int(c.extent[1])
    depth_a, step_a, pitch, step_b, quads = steps
    domain = amp.extent(batch, -(-rows // made.rows), -(-4 * quads // made.columns) * made.threads)
    amp.parallel_for_each(
        view, domain.tile(1, 1, made.threads), block_product, quads_of(a), quads_of(b), out,
        rows, quads, ks[0], ks[1], depth_a, step_a, step_b, pitch, *numbers, rows=made.rows, columns=made.columns,
        depth=made.depth, high=made.high, wide=made.wide, lanes=made.lanes, slices=made.slices,
        gap=made.gap(c.dtype.itemsize), threads=made.threads, per=made.threads * 4 // made.depth,
        whole=made.rows * made.depth // 4 // made.threads % 4 == 0, tail=(ks[1] - ks[0]) % (made.depth // 4) != 0,
        even=-(-(ks[1] - ks[0]) // (made.depth // 4)) % 2 == 0, together=made.together,
    )  # fmt: skip


def takes(a: Packed, b: Packed) -> bool:
    """Whether these matrices can be read four elements at a time."""
    return quads_of(a.values) is not None and quads_of(b.values) is not None


def multiply(view: amp.accelerator_view, a: Packed, b: Packed, c: Any, adds: bool, factors: Factors, ks: range) -> None:
    """Computes the product over the quads ``ks`` of A's rows in one launch, and stores it in ``c``."""
    steps = (a.pitch, a.step, b.pitch, b.step, b.quads)
    product(view, a.values, b.values, c, steps, tuple(factors), (ks.start, ks.stop), adds)
