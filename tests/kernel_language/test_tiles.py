"""Tile programs: products, transposes, reductions, scans, histograms, stencils, in one to three dimensions."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, U32, same


def launch(view, domain, kernel, *args, **constants):
    amp.parallel_for_each(view, domain, kernel, *args, **constants)


@amp.kernel
def product(t, a, b, c, *, TILE: amp.constant):  # noqa: N803
    rows, inner, cols = a.extent[0], a.extent[1], b.extent[1]
    tile_a = amp.tile_static((TILE, TILE), amp.float32)
    tile_b = amp.tile_static((TILE, TILE), amp.float32)
    row, col = t.local
    y, x = t.global_
    total = 0.0
    for start in range(0, inner, TILE):
        tile_a[row, col] = a[y, start + col] if y < rows and start + col < inner else 0
        tile_b[row, col] = b[start + row, x] if start + row < inner and x < cols else 0
        t.barrier.wait_with_tile_static_memory_fence()
        for k in range(TILE):
            total += tile_a[row, k] * tile_b[k, col]
        t.barrier.wait_with_tile_static_memory_fence()
    if c.extent.contains(t.global_):
        c[t] = total


@pytest.mark.parametrize(("shape", "tile"), [((7, 10, 5), 4), ((9, 3, 13), 3), ((1, 1, 1), 2), ((8, 4, 4), 4)])
def test_tiled_product(accelerator_view, shape, tile):
    rows, inner, cols = shape
    random = np.random.default_rng(1)
    a, b = random.integers(-5, 6, (rows, inner)).astype(F32), random.integers(-5, 6, (inner, cols)).astype(F32)
    c = amp.array(amp.extent(rows, cols), amp.float32, accelerator_view=accelerator_view)
    views = amp.array_view(a, readonly=True), amp.array_view(b, readonly=True)
    launch(accelerator_view, c.extent.tile(tile, tile).pad(), product, *views, c, TILE=tile)
    same(np.asarray(c), a @ b)


@amp.kernel
def transpose(t, source, target):
    block = amp.tile_static((t.tile_dim0, t.tile_dim1), source.dtype)
    if source.extent.contains(t.global_):
        block[t.local] = source[t]
    t.barrier.wait()
    x, y = t.tile_origin[0] + t.local[1], t.tile_origin[1] + t.local[0]
    if y < target.extent[0] and x < target.extent[1]:
        target[y, x] = block[t.local[1], t.local[0]]


@pytest.mark.parametrize("dtype", [I32, F32, U32])
@pytest.mark.parametrize("shape", [(7, 5), (4, 8), (1, 9), (13, 4)])
def test_transpose(accelerator_view, shape, dtype):
    data = np.arange(shape[0] * shape[1]).reshape(shape).astype(dtype)
    target = amp.array_view(np.zeros(shape[::-1], dtype))
    launch(accelerator_view, amp.extent(shape).tile(4, 4).pad(), transpose, amp.array_view(data, readonly=True), target)
    same(np.asarray(target), data.T)


@amp.kernel
def tree_sum(t, values, partial):
    memory = amp.tile_static(t.tile_dim0, amp.int32)
    lane = t.local[0]
    memory[lane] = values[t] if t.global_[0] < values.extent[0] else 0
    t.barrier.wait_with_tile_static_memory_fence()
    stride = t.tile_dim0 // 2
    while stride > 0:
        if lane < stride:
            memory[lane] += memory[lane + stride]
        t.barrier.wait_with_tile_static_memory_fence()
        stride //= 2
    if lane == 0:
        partial[t.tile] = memory[0]


@pytest.mark.parametrize("size", [1, 15, 16, 17, 100])
def test_tree_reduction(accelerator_view, size):
    values = (np.arange(size, dtype=I32) * 7919) % 101
    domain = amp.extent(size).tile(16).pad()
    partial = amp.array_view(np.zeros(domain[0] // 16, I32))
    launch(accelerator_view, domain, tree_sum, amp.array_view(values, readonly=True), partial)
    same(np.asarray(partial).sum(), values.sum())


@amp.kernel
def inclusive_scan(t, values, sums):
    front = amp.tile_static(t.tile_extent, amp.float32)
    back = amp.tile_static(t.tile_extent, amp.float32)
    lane = t.local[0]
    front[lane] = values[t]
    t.barrier.wait()
    step = 1
    for round_ in range(3):
        back[lane] = front[lane] + front[lane - step] if lane >= step else front[lane]
        t.barrier.wait()
        front[lane] = back[lane]
        t.barrier.wait()
        step <<= 1
        if round_ > 5:
            break
    sums[t] = front[lane]


def test_inclusive_scan(accelerator_view):
    values = np.arange(24, dtype=F32) % 7
    sums = amp.array_view(np.zeros(24, F32))
    launch(accelerator_view, amp.extent(24).tile(8), inclusive_scan, amp.array_view(values, readonly=True), sums)
    same(np.asarray(sums), np.cumsum(values.reshape(3, 8), axis=1).ravel())


BINS = 6


@amp.kernel
def histogram(t, values, counts):
    local = amp.tile_static(BINS, amp.uint32)
    for b in range(t.local[0], BINS, t.tile_dim0):
        local[b] = 0
    t.barrier.wait_with_tile_static_memory_fence()
    if t.global_[0] < values.extent[0]:
        amp.atomic_fetch_add(local[values[t] % BINS], 1)
    t.barrier.wait_with_tile_static_memory_fence()
    for b in range(t.local[0], BINS, t.tile_dim0):
        amp.atomic_fetch_add(counts[b], local[b])


@pytest.mark.parametrize("tile", [4, 16])
def test_histogram_by_tile_static_atomics(accelerator_view, tile):
    values = np.random.default_rng(5).integers(0, 1000, 75).astype(I32)
    counts = amp.array_view(np.zeros(BINS, U32))
    launch(accelerator_view, amp.extent(75).tile(tile).pad(), histogram, amp.array_view(values, readonly=True), counts)
    same(np.asarray(counts), np.bincount(values % BINS, minlength=BINS))


@amp.kernel
def stencil(t, source, target):
    halo = amp.tile_static((t.tile_dim0 + 2, t.tile_dim1 + 2), amp.float32)
    rows, cols = source.extent[0], source.extent[1]
    top, left = t.tile_origin[0] - 1, t.tile_origin[1] - 1
    flat = t.local[0] * t.tile_dim1 + t.local[1]
    for n in range(flat, (t.tile_dim0 + 2) * (t.tile_dim1 + 2), t.tile_dim0 * t.tile_dim1):
        r, c = n // (t.tile_dim1 + 2), n % (t.tile_dim1 + 2)
        y, x = top + r, left + c
        halo[r, c] = source[y, x] if 0 <= y < rows and 0 <= x < cols else 0
    t.barrier.wait_with_tile_static_memory_fence()
    if target.extent.contains(t):
        r, c = t.local[0] + 1, t.local[1] + 1
        target[t] = halo[r - 1, c] + halo[r + 1, c] + halo[r, c - 1] + halo[r, c + 1] - 4 * halo[r, c]


@pytest.mark.parametrize("shape", [(3, 4), (7, 9), (1, 5)])
def test_stencil_with_a_halo(accelerator_view, shape):
    data = np.random.default_rng(2).integers(-9, 9, shape).astype(F32)
    target = amp.array_view(np.zeros(shape, F32))
    launch(accelerator_view, amp.extent(shape).tile(3, 4).pad(), stencil, amp.array_view(data, readonly=True), target)
    p = np.pad(data, 1)
    same(np.asarray(target), p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * data)


@amp.kernel
def three_dimensions(t, source, out):
    box = amp.tile_static(t.tile_extent, amp.int32)
    inside = source.extent.contains(t.global_)
    box[t.local] = source[t] if inside else -1
    t.barrier.wait()
    z, y, x = t.local
    mirrored = box[t.tile_dim0 - 1 - z, t.tile_dim1 - 1 - y, t.tile_dim2 - 1 - x]
    origin = t.tile_origin
    if inside:
        out[t.global_] = mirrored * 1000 + (t.tile[0] * 100 + t.tile[1] * 10 + t.tile[2])
        if t.global_ != origin + t.local or t.tile * 0 + t.local != t.local:
            out[t] = -5


@pytest.mark.parametrize("shape", [(4, 3, 5), (2, 2, 2), (1, 7, 3)])
def test_three_dimensional_tiles(accelerator_view, shape):
    tile = (2, 3, 2)
    data = np.arange(np.prod(shape), dtype=I32).reshape(shape)
    out = amp.array_view(np.zeros(shape, I32))
    domain = amp.extent(shape).tile(*tile).pad()
    launch(accelerator_view, domain, three_dimensions, amp.array_view(data, readonly=True), out)
    padded = np.full(tuple(domain), -1)
    padded[tuple(slice(s) for s in shape)] = data
    expected = np.zeros(shape, I32)
    for where in np.ndindex(shape):
        tile_number = [w // n for w, n in zip(where, tile, strict=True)]
        mirror = tuple(q * n + n - 1 - (w - q * n) for w, n, q in zip(where, tile, tile_number, strict=True))
        expected[where] = padded[mirror] * 1000 + tile_number[0] * 100 + tile_number[1] * 10 + tile_number[2]
    same(np.asarray(out), expected)


@amp.kernel
def single_variables(t, values, out):
    total = amp.tile_static((), amp.int32)
    biggest = amp.tile_static((), amp.float32)
    if t.local == 0:
        total[()] = 0
        biggest[()] = -1
    t.barrier.wait()
    amp.atomic_fetch_add(total, values[t])
    if t.local[0] == t.tile_dim0 - 1:
        biggest[()] = values[t] * 0.5
    t.barrier.wait()
    out[0, t.global_[0]] = total
    out[1, t.global_[0]] = biggest + 1


def test_tile_static_of_one_element(accelerator_view):
    values = np.arange(12, dtype=I32)
    out = amp.array_view(np.zeros((2, 12), F32))
    launch(accelerator_view, amp.extent(12).tile(4), single_variables, amp.array_view(values, readonly=True), out)
    same(np.asarray(out), [np.repeat([6, 22, 38], 4), np.repeat(values[3::4] * 0.5 + 1, 4)])


Cell = np.dtype([("sum", F32), ("count", I32), ("range", F32, 2)])


@amp.kernel
def tile_static_structs(t, values, out):
    cells = amp.tile_static(t.tile_extent, Cell)
    k = t.local[0]
    cells[k].sum = values[t]
    cells[k].count = 1
    cells[k].range[0] = values[t]
    cells[k].range[1] = values[t]
    t.barrier.wait()
    half = t.tile_dim0 // 2
    while half > 0:
        if k < half:
            other = cells[k + half]
            cells[k].sum += other.sum
            cells[k].count += other.count
            cells[k].range[0] = min(cells[k].range[0], other.range[0])
            cells[k].range[1] = max(cells[k].range[1], other.range[1])
        t.barrier.wait()
        half //= 2
    if k == 0:
        out[t.tile] = cells[0]


def test_tile_static_structs(accelerator_view):
    values = np.array([3, -1, 4, 1, 5, 9, -2, 6], F32)
    out = amp.array_view(np.zeros(2, Cell))
    launch(accelerator_view, amp.extent(8).tile(4), tile_static_structs, amp.array_view(values, readonly=True), out)
    same(np.asarray(out), np.array([(7, 4, (-1, 4)), (18, 4, (-2, 9))], Cell))


@amp.kernel
def register_tiles(t, a, b, c, *, M: amp.constant, N: amp.constant):  # noqa: N803
    results = amp.private((M, N), amp.float32)
    column = amp.private(M, amp.float32)
    for m in amp.static_range(M):
        for n in amp.static_range(N):
            results[m, n] = 0
    row, col = t.global_[0] * M, t.global_[1] * N
    for k in range(a.extent[1]):
        for m in amp.static_range(M):
            column[m] = a[row + m, k]
        for n in amp.static_range(N):
            right = b[k, col + n]
            for m in amp.static_range(M):
                results[m, n] += column[m] * right
    for m in amp.static_range(M):
        for n in amp.static_range(N):
            c[row + m, col + n] = results[m, n]


@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 3), (4, 2)])
def test_register_tiles(accelerator_view, m, n):
    random = np.random.default_rng(4)
    a = random.integers(-4, 5, (2 * 2 * m, 5)).astype(F32)
    b = random.integers(-4, 5, (5, 2 * n)).astype(F32)
    c = amp.array_view(np.zeros((a.shape[0], b.shape[1]), F32))
    domain = amp.extent(a.shape[0] // m, b.shape[1] // n).tile(2, 2)
    launch(accelerator_view, domain, register_tiles, amp.array_view(a), amp.array_view(b), c, M=m, N=n)
    same(np.asarray(c), a @ b)


@amp.kernel
def barriers_in_uniform_flow(t, values, rounds, out):
    memory = amp.tile_static(t.tile_extent, amp.int32)
    lane = t.local[0]
    memory[lane] = values[t]
    if rounds > 2:
        t.barrier.wait()
        left = memory[(lane + 1) % t.tile_dim0]
        t.barrier.wait()
        memory[lane] = left
    elif t.tile[0] == 1:
        t.barrier.wait_with_global_memory_fence()
    else:
        memory[lane] += 100
        t.barrier.wait_with_all_memory_fence()
    for n in range(rounds):
        t.barrier.wait_with_tile_static_memory_fence()
        value = memory[(lane + n) % t.tile_dim0]
        t.barrier.wait_with_tile_static_memory_fence()
        if n == 2:
            break
        memory[lane] = value + 1
    amp.tile_static_memory_fence(t.barrier)
    if lane > 0:
        amp.all_memory_fence(t.barrier)
    t.barrier.wait()
    out[t] = memory[t.tile_dim0 - 1 - lane]


@pytest.mark.parametrize("rounds", [0, 1, 3, 5])
def test_barriers_in_uniform_control_flow(accelerator_view, rounds):
    values = np.arange(10, dtype=I32) * 10
    out = amp.array_view(np.zeros(10, I32))
    launch(
        accelerator_view,
        amp.extent(10).tile(5),
        barriers_in_uniform_flow,
        amp.array_view(values, readonly=True),
        rounds,
        out,
    )
    expected = []
    for number, memory in enumerate(values.reshape(2, 5)):
        if rounds > 2:
            memory = np.roll(memory, -1)
        elif number != 1:
            memory = memory + 100
        for n in range(min(rounds, 2)):
            memory = np.roll(memory, -n) + 1
        expected.append(memory[::-1])
    same(np.asarray(out), np.concatenate(expected))


@amp.kernel
def exchange_through_a_container(t, scratch, out):
    k = t.global_[0]
    scratch[k] = k * 2
    t.barrier.wait_with_global_memory_fence()
    partner = t.tile_origin[0] + t.tile_dim0 - 1 - t.local[0]
    out[k] = scratch[partner] + 1


def test_threads_of_a_tile_exchange_through_a_container(accelerator_view):
    scratch, out = amp.array_view(np.zeros(12, I32)), amp.array_view(np.zeros(12, I32))
    launch(accelerator_view, amp.extent(12).tile(6), exchange_through_a_container, scratch, out)
    same(np.asarray(out), np.array([5, 4, 3, 2, 1, 0, 11, 10, 9, 8, 7, 6]) * 2 + 1)


@amp.kernel
def all_tile_names(t, out):
    k = t.global_[0]
    out[0, k] = t.local[0]
    out[1, k] = t.tile[0]
    out[2, k] = t.tile_origin[0]
    out[3, k] = t.tile_extent[0] * 10 + t.tile_dim0
    out[4, k] = t.rank + t.tile_extent.size() + t.tile_extent.rank
    out[5, k] = t[0]


@amp.kernel
def indices_by_name(t, out):
    k = t.global_[0]
    out[0, k] = t.local[0]
    out[1, k] = t.tile[0]
    out[2, k] = t.tile_origin[0]
    out[3, k] = t.tile_extent[0] * 10 + t.tile_dim0
    out[4, k] = t.rank + int(t.tile_extent.size()) + t.tile_extent.rank
    out[5, k] = t[0]


@pytest.mark.parametrize("kernel", [all_tile_names, indices_by_name], ids=["uint", "int"])
def test_names_of_a_tiled_index(accelerator_view, kernel):
    out = amp.array_view(np.zeros((6, 12), I32))
    launch(accelerator_view, amp.extent(12).tile(4), kernel, out)
    k = np.arange(12)
    same(np.asarray(out), [k % 4, k // 4, k // 4 * 4, [44] * 12, [6] * 12, k])
