"""Cooperative matrices: products of each type and shape on each device against numpy, and programs that use them.

None of the devices of the suite has matrices: they run thread by thread, on the reference accelerator by numpy.
"""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from vkamp import tile

LANES = 32
#: (operands, accumulator); ``bfloat16`` has a separate test.
TYPES = [("float16", "float32"), ("float16", "float16"), ("int8", "int32"), ("uint8", "uint32")]
#: A device without matrices has every shape, type and size of subgroups.
EMULATED = pytest.mark.accelerators("swiftshader", "llvmpipe", "reference")


@amp.kernel(subgroup=32)
def product(
    t_idx, a, b, c, *, rows: amp.constant, columns: amp.constant, inner: amp.constant, transposed: amp.constant
):
    """One subgroup for each block of c; a and b are read from memory."""
    row, column = t_idx.tile[0] * rows, t_idx.tile[1] * columns
    total = amp.matrix((rows, columns), c.dtype, "accumulator", 1)
    for k in range(0, a.extent[1], inner):
        x = amp.matrix_load(a, (row, k), (rows, inner), "a")
        if not transposed:
            y = amp.matrix_load(b, (k, column), (inner, columns), "b")
            total = amp.matrix_mul_add(x, y, total)
        else:
            y_t = amp.matrix_load(b, (column, k), (inner, columns), "b", layout="column")
            total = amp.matrix_mul_add(x, y_t, total)
    amp.matrix_store(total, c, (row, column))


def numbers(shape: tuple[int, int], kind: str, seed: int) -> np.ndarray:
    low = 0 if kind.startswith("u") else -3
    return np.random.default_rng(seed).integers(low, 4, shape).astype(kind)


def launch(view, a, b, c, shape=(16, 16, 16), transposed=False):
    rows, columns, inner = shape
    out = amp.array_view(c)
    domain = amp.extent(c.shape[0] // rows, c.shape[1] // columns * LANES).tile(1, LANES)
    sizes = {"rows": rows, "columns": columns, "inner": inner, "transposed": transposed}
    amp.parallel_for_each(view, domain, product, amp.array_view(a), amp.array_view(b), out, **sizes)
    return np.asarray(out)


@pytest.mark.parametrize(("kind", "accumulator"), TYPES)
@pytest.mark.parametrize("transposed", [False, True])
def test_products(accelerator_view, kind, accumulator, transposed):
    check_product(accelerator_view, kind, accumulator, transposed)


@EMULATED
@pytest.mark.parametrize("transposed", [False, True])
def test_products_of_unsigned_to_signed_numbers(accelerator_view, transposed):
    check_product(accelerator_view, "uint8", "int32", transposed)


def check_product(accelerator_view, kind, accumulator, transposed):
    a, b = numbers((32, 96), kind, 1), numbers((96, 16), kind, 2)
    stored = np.ascontiguousarray(b.T) if transposed else b
    # NVIDIA's GPUs multiply these.
    shape = (16, 16, 32 if kind in ("int8", "uint8") else 16)
    found = launch(accelerator_view, a, stored, np.zeros((32, 16), accumulator), shape, transposed)
    assert found.dtype == accumulator
    np.testing.assert_array_equal(found, a.astype(np.int64) @ b.astype(np.int64) + 1)


@pytest.mark.parametrize("shape", [(16, 8, 16), (16, 8, 8)])
def test_shapes(accelerator_view, shape):
    check_shape(accelerator_view, shape)


@EMULATED
@pytest.mark.parametrize("shape", [(8, 32, 5), (32, 24, 32), (4, 8, 1)])
def test_other_shapes(accelerator_view, shape):
    check_shape(accelerator_view, shape)


def check_shape(accelerator_view, shape):
    rows, columns, inner = shape
    a, b = numbers((2 * rows, 3 * inner), "float16", 3), numbers((3 * inner, columns), "float16", 4)
    found = launch(accelerator_view, a, b, np.zeros((2 * rows, columns), np.float32), shape)
    np.testing.assert_array_equal(found, a.astype(np.float32) @ b.astype(np.float32) + 1)


@EMULATED
def test_bfloat16(accelerator_view):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    a, b = numbers((16, 32), "int8", 5).astype(bfloat16), numbers((32, 16), "int8", 6).astype(bfloat16)
    found = launch(accelerator_view, a, b, np.zeros((16, 16), np.float32))
    np.testing.assert_array_equal(found, a.astype(np.float32) @ b.astype(np.float32) + 1)


def test_sections_of_memory(accelerator_view):
    """Blocks of a larger matrix: the row stride is greater than the row length."""
    a, b = numbers((40, 60), "float16", 7), numbers((60, 40), "float16", 8)
    out = amp.array_view(np.zeros((40, 50), np.float32))
    part_a = amp.array_view(a).section(amp.index(3, 5), amp.extent(16, 32))
    part_b = amp.array_view(b).section(amp.index(7, 1), amp.extent(32, 16))
    part_c = out.section(amp.index(2, 9), amp.extent(16, 16))
    sizes = {"rows": 16, "columns": 16, "inner": 16, "transposed": False}
    amp.parallel_for_each(
        accelerator_view, amp.extent(1, LANES).tile(1, LANES), product, part_a, part_b, part_c, **sizes
    )
    expected = np.zeros((40, 50), np.float32)
    expected[2:18, 9:25] = a[3:19, 5:37].astype(np.float32) @ b[7:39, 1:17].astype(np.float32) + 1
    np.testing.assert_array_equal(np.asarray(out), expected)


# -- a product of tiles in tile_static memory ----------------------------------------------------------------------


@amp.func
def stage(t_idx, memory, rows, columns, source, row, column):
    """Copies a block of a container to tile_static memory, with all threads of the tile."""
    for e in range(t_idx.local[0], rows * columns, 128):
        memory[e // columns, e % columns] = source[row + e // columns, column + e % columns]


@amp.func
def clipped(x, low):
    return max(x, low)


@amp.kernel(subgroup=32)
def tiled(t_idx, a, b, c, low):
    """Tiles of 64 x 64 by four subgroups with 2 x 2 matrices each."""
    a_tile = amp.tile_static((64, 40), amp.float16)
    b_tile = amp.tile_static((32, 72), amp.float16)
    row, column = amp.subgroup.id() // 2 * 32, amp.subgroup.id() % 2 * 32
    sums = amp.matrix((16, 16), amp.float32, count=(2, 2))
    for k in range(0, a.extent[1], 32):
        stage(t_idx, a_tile, 64, 32, a, t_idx.tile[1] * 64, k)
        stage(t_idx, b_tile, 32, 64, b, k, t_idx.tile[0] * 64)
        t_idx.barrier.wait_with_tile_static_memory_fence()
        tile.matmul(t_idx, sums, a_tile, b_tile, row, column, depth=32, inner=16)
        t_idx.barrier.wait_with_tile_static_memory_fence()
    for i in range(2):
        for j in range(2):
            scaled = amp.matrix_map(lambda x: clipped(x * 0.5, low), sums[i, j])
            at = t_idx.tile[1] * 64 + row + 16 * i, t_idx.tile[0] * 64 + column + 16 * j
            amp.matrix_store(scaled, c, at)


# Lavapipe compiles it for 10 s.  There, the next tests have matrices in tile_static memory, and maps.
@pytest.mark.sample("swiftshader", "reference")
def test_tiles(accelerator_view):
    a, b = numbers((128, 64), "float16", 9), numbers((64, 64), "float16", 10)
    out = amp.array_view(np.zeros((128, 64), np.float32))
    domain = amp.extent(128, 2).tile(128, 1)
    amp.parallel_for_each(accelerator_view, domain, tiled, amp.array_view(a), amp.array_view(b), out, -4.0)
    expected = np.maximum(a.astype(np.float32) @ b.astype(np.float32) * 0.5, -4)
    np.testing.assert_array_equal(np.asarray(out), expected)
    arguments = amp.array_view(a), amp.array_view(b), out, -4.0
    has_matrices = bool(accelerator_view.accelerator.limits.matrix_shapes)
    assert tiled.inspect(accelerator_view, domain, *arguments).matrices == ("device" if has_matrices else "threads")


# -- memory of vectors ---------------------------------------------------------------------------------------------


@amp.kernel(subgroup=32)
def of_words(t_idx, a, b, c, *, kind: amp.constant, per: amp.constant, inner: amp.constant, accumulator: amp.constant):
    """A tile's blocks are copied in vectors of four words; b is transposed."""
    stage = amp.tile_static((16, 3), amp.uint4)
    total = amp.matrix((16, 16), accumulator)
    for k in range(0, a.extent[1] * per, inner):
        for e in range(t_idx.local[0], 16 * (inner // per), 32):
            stage[e % 16, e // 16] = a[e % 16, k // per + e // 16]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        x = amp.matrix_load(stage, (0, 0), (16, inner), "a", dtype=kind)
        y = amp.matrix_load(b, (0, k), (inner, 16), "b", layout="column", dtype=kind)
        total = amp.matrix_mul_add(x, y, total)
        t_idx.barrier.wait_with_tile_static_memory_fence()
    amp.matrix_store(total, c, (0, 0))


@pytest.mark.parametrize(("kind", "accumulator"), [("float16", "float32"), ("int8", "int32"), ("uint8", "uint32")])
def test_memory_of_words(accelerator_view, kind, accumulator):
    a, b = numbers((16, 64), kind, 13), numbers((16, 64), kind, 14)
    per = 16 // a.itemsize
    words = [amp.array_view(x.view(np.uint32).reshape(16, -1, 4), dtype=amp.uint4) for x in (a, b)]
    out = amp.array_view(np.zeros((16, 16), accumulator))
    sizes = {"kind": a.dtype.type, "per": per, "inner": 2 * per, "accumulator": out.dtype.type}
    amp.parallel_for_each(accelerator_view, amp.extent(32).tile(32), of_words, *words, out, **sizes)
    np.testing.assert_array_equal(np.asarray(out), a.astype(np.int64) @ b.T.astype(np.int64))


# -- values --------------------------------------------------------------------------------------------------------


@amp.kernel(subgroup=8)
def values(t_idx, c, d):
    """Matrices are values: a name keeps the one that was assigned to it."""
    first = amp.matrix((8, 8), amp.float32, fill=1)
    second = first
    first = amp.matrix_map(lambda x: x + 1.0, first)
    for _ in range(3):
        second = amp.matrix_map(lambda x, y: x * 2.0 + y, second, first)
    if amp.subgroup.id() == 0:
        second = first
    else:
        second = amp.matrix_map(lambda x: -x, second)
    amp.matrix_store(first, c, (8 * amp.subgroup.id(), 0))
    amp.matrix_store(amp.matrix_convert(second, amp.int32), d, (8 * amp.subgroup.id(), 0))
    if amp.subgroup.elect():
        c[8 * amp.subgroup.id(), 8] = 7.0


@EMULATED
def test_matrices_are_values(accelerator_view):
    c, d = amp.array_view(np.zeros((16, 9), np.float32)), amp.array_view(np.zeros((16, 8), np.int32))
    amp.parallel_for_each(accelerator_view, amp.extent(16).tile(16), values, c, d)
    expected = np.zeros((16, 9), np.float32)
    expected[:, :8] = 2
    expected[::8, 8] = 7
    np.testing.assert_array_equal(np.asarray(c), expected)
    np.testing.assert_array_equal(np.asarray(d), np.repeat([[2], [-22]], 8, 0).repeat(8, 1))


@EMULATED
@pytest.mark.parametrize("lanes", [8, 16, 64])
def test_sizes_of_subgroups(accelerator_view, lanes):
    @amp.kernel(subgroup=lanes)
    def squared(t_idx, a, c):
        at = 16 * amp.subgroup.id(), 0
        x = amp.matrix_load(a, at, (16, 16), "a")
        y = amp.matrix_load(a, at, (16, 16), "b")
        amp.matrix_store(amp.matrix_mul_add(x, y, amp.matrix((16, 16), amp.float32)), c, at)

    a = numbers((32, 16), "float16", 11)
    out = amp.array_view(np.zeros((32, 16), np.float32))
    domain = amp.extent(2 * lanes).tile(2 * lanes)
    amp.parallel_for_each(accelerator_view, domain, squared, amp.array_view(a), out)
    wide = a.astype(np.float32).reshape(2, 16, 16)
    np.testing.assert_array_equal(np.asarray(out).reshape(2, 16, 16), wide @ wide)


@amp.kernel(subgroup=8)
def with_ballot(t_idx, c):
    m = amp.matrix((8, 8), amp.float32, fill=float(2))
    amp.matrix_store(m, c, (0, 0))
    if amp.subgroup.lane() == 0:
        c[0, 8] = 1.0
    total = amp.subgroup.add(1.0)
    c[1, 8] = total


@pytest.mark.accelerators("swiftshader")
def test_exchanges_need_subgroups_of_the_size(accelerator_view):
    """A kernel that exchanges values, too, needs what it requires."""
    c = amp.array_view(np.zeros((8, 9), np.float32))
    with pytest.raises(amp.UnsupportedFeatureError, match="requires full subgroups of 8 lanes"), pytest.warns():
        amp.parallel_for_each(accelerator_view, amp.extent(8).tile(8), with_ballot, c)


# -- checks --------------------------------------------------------------------------------------------------------


@amp.kernel(subgroup=32)
def without_barrier(t_idx, c):
    memory = amp.tile_static((16, 16), amp.float32)
    amp.matrix_store(amp.matrix((16, 16), amp.float32, fill=3), memory, (0, 0))
    for e in range(t_idx.local[0], 256, 32):
        c[e // 16, e % 16] = memory[e // 16, e % 16]


@amp.kernel(subgroup=32)
def outside(t_idx, c):
    amp.matrix_store(amp.matrix((16, 16), amp.float32), c, (0, 4))


def test_check_mode_finds_races_and_blocks_outside_of_memory(accelerator_view):
    c = amp.array_view(np.zeros((16, 16), np.float32))
    a = amp.array_view(np.zeros((16, 16), np.float16))
    report = amp.check(accelerator_view, amp.extent(32).tile(32), outside, c)
    assert {finding.kind for finding in report.findings} == {"bounds"}
    b = amp.array_view(numbers((16, 16), "float16", 12))
    sizes = {"rows": 16, "columns": 16, "inner": 16, "transposed": False}
    report = amp.check(accelerator_view, amp.extent(1, 32).tile(1, 32), product, a, b, c, **sizes)
    assert not report.findings


def test_a_race_with_a_matrix_is_an_error():
    c = amp.array_view(np.zeros((16, 16), np.float32))
    with pytest.raises(amp.CompileError, match=r"VKA630: `memory\[.*\]` is read here .*: a race"):
        amp.parallel_for_each(amp.extent(32).tile(32), without_barrier, c)


@amp.kernel(subgroup=32)
def divergent(t_idx, c):
    m = amp.matrix((16, 16), amp.float32)
    if t_idx.local[0] < 8:
        amp.matrix_store(m, c, (0, 0))


def test_all_threads_of_a_subgroup_must_call():
    c = amp.array_view(np.zeros((16, 16), np.float32))
    with pytest.raises(amp.CompileError, match=r"VKA650: `amp.matrix_store` must be called by all threads"):
        amp.parallel_for_each(amp.extent(32).tile(32), divergent, c)


def test_plain_python_has_none():
    for call in (lambda: amp.matrix((16, 16), np.float32), lambda: amp.matrix_mul_add(1, 2, 3)):
        with pytest.raises(amp.AmpError, match="works in kernels and @amp.func functions only"):
            call()
