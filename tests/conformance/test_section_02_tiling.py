"""Tiling: tiled_extent, tiled_index, tile_static."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.conformance.programs import F32, I32, numbers, on
from tests.conformance.registry import row


@row("2", "tiled_extent from an extent")
def test_construction():
    made = amp.tiled_extent(amp.extent(8, 6), 2, 3)
    assert made == amp.extent(8, 6).tile(2, 3)
    assert made == amp.tiled_extent(made)
    assert isinstance(made, amp.extent) and made.rank == 2 and made.size() == 48


@row("2", "tiled_extent ==")
def test_equality():
    assert amp.extent(8, 6).tile(2, 3) != amp.extent(8, 6).tile(2, 2)
    assert amp.extent(8, 6).tile(2, 3) != amp.extent(8, 9).tile(2, 3)
    assert amp.extent(8, 6).tile(2, 3) == (8, 6)


@row("2", "tile_extent and tile_dim0..2")
def test_tile_dims():
    tiled = amp.extent(4, 6, 8).tile(2, 3, 4)
    assert (tiled.tile_dim0, tiled.tile_dim1, tiled.tile_dim2) == (2, 3, 4)
    assert tiled.tile_extent == (2, 3, 4)
    with pytest.raises(AttributeError):
        _ = amp.extent(4, 6).tile(2, 3).tile_dim2


@row("2", "pad()")
@pytest.mark.parametrize(
    ("shape", "tile", "padded"),
    [((25,), (4,), (28,)), ((25, 51, 85), (4, 8, 16), (28, 56, 96)), ((24, 16), (4, 8), (24, 16)), ((1,), (7,), (7,))],
)
def test_pad(shape, tile, padded):
    tiled = amp.extent(shape).tile(*tile)
    assert tiled.pad() == padded and tiled.pad().tile_extent == tile
    assert tiled == shape


@row("2", "pad() past 2^31 - 1 is refused where it is used")
def test_pad_overflow(accelerator_view):
    padded = amp.extent(2**31 - 1).tile(1000).pad()
    with pytest.raises(amp.AmpError):
        amp.array(padded, amp.int32)
    with pytest.raises(amp.InvalidComputeDomainError):

        @amp.parallel_for_each(accelerator_view, padded)
        def _(t):
            return


@row("2", "truncate()")
@pytest.mark.parametrize(
    ("shape", "tile", "cut"), [((25,), (4,), (24,)), ((25, 51, 85), (4, 8, 16), (24, 48, 80)), ((8, 4), (4, 4), (8, 4))]
)
def test_truncate(shape, tile, cut):
    assert amp.extent(shape).tile(*tile).truncate() == cut


@row("2", "truncate() below one tile gives 0, which a launch rejects")
def test_truncate_to_nothing(accelerator_view):
    nothing = amp.extent(3).tile(4).truncate()
    assert nothing == (0,)
    with pytest.raises(amp.InvalidComputeDomainError, match="component 0 is 0"):

        @amp.parallel_for_each(accelerator_view, nothing)
        def _(t):
            return


@amp.kernel
def places(t, out):
    k = t.global_[0] * 12 + t.global_[1]
    out[k, 0], out[k, 1] = t.global_[0], t.global_[1]
    out[k, 2], out[k, 3] = t.local[0], t.local[1]
    out[k, 4], out[k, 5] = t.tile[0], t.tile[1]
    out[k, 6], out[k, 7] = t.tile_origin[0], t.tile_origin[1]


@row("2", "global, local, tile, tile_origin")
def test_identities(accelerator_view):
    out = amp.array_view(np.full((6 * 12, 8), -1, I32))
    on(accelerator_view, places, amp.extent(6, 12).tile(3, 4), out)
    tile = np.array([3, 4])
    for k, got in enumerate(np.asarray(out)):
        point = np.array(divmod(k, 12))
        assert got.tolist() == [*point, *(point % tile), *(point // tile), *(point - point % tile)]


@amp.kernel
def origin_in_three(t, out):
    out[t] = t.tile_origin[0] * 10000 + t.tile_origin[1] * 100 + t.tile_origin[2]


@row("2", "rank 1 to 3 of tiled_index")
def test_three_dimensions(accelerator_view):
    out = amp.array_view(np.zeros((4, 6, 10), I32))
    on(accelerator_view, origin_in_three, out.extent.tile(2, 3, 5), out)
    z, y, x = np.indices((4, 6, 10))
    assert np.array_equal(np.asarray(out), z // 2 * 2 * 10000 + y // 3 * 3 * 100 + x // 5 * 5)


@row("2", "tiled_index converts to index")
def test_conversion(accelerator_view):
    out = amp.array_view(np.zeros((4, 6), I32))

    @amp.parallel_for_each(accelerator_view, out.extent.tile(2, 2))
    def _(t):
        out[t] = t.global_[0] * 10 + t.global_[1]

    assert np.asarray(out).tolist() == [[r * 10 + c for c in range(6)] for r in range(4)]
    by_hand = amp.tiled_index((1, 2), (0, 0), (5, 5), (9, 9), (2, 2))
    assert out[by_hand] == 12


@row("2", "a tiled_index made by hand need not satisfy the identities")
def test_by_hand():
    made = amp.tiled_index(amp.index(1), amp.index(2), amp.index(3), amp.index(4), amp.extent(5))
    assert (made.global_, made.local, made.tile, made.tile_origin) == ((1,), (2,), (3,), (4,))
    assert made.tile_extent == (5,) and made.tile_dim0 == 5
    with pytest.raises(AttributeError):
        made.global_ = amp.index(2)


@row("2", "barriers come only from the runtime")
def test_barrier_by_hand():
    with pytest.raises(AttributeError, match="running kernel"):
        _ = amp.tiled_index((0,), (0,), (0,), (0,), (1,)).barrier


@row("2", "tile sizes are compile-time constants in kernels")
def test_tile_dims_in_a_kernel(accelerator_view):
    out = amp.array_view(np.zeros((4, 6), I32))

    @amp.parallel_for_each(accelerator_view, out.extent.tile(2, 3))
    def _(t):
        memory = amp.tile_static((t.tile_dim0, t.tile_dim1), amp.int32)
        memory[t.local] = t.tile_dim0 * 10 + t.tile_extent[1]
        out[t] = memory[t.local]

    assert np.all(np.asarray(out) == 23)


@amp.kernel
def rotate_tile(t, values):
    memory = amp.tile_static(t.tile_extent, amp.float32)
    memory[t.local] = values[t]
    t.barrier.wait()
    values[t] = memory[(t.local[0] + 1) % t.tile_dim0]


@row("2", "tile_static: one per tile")
def test_tile_static(accelerator_view):
    data = numbers(15, dtype=F32)
    values = amp.array_view(data.copy())
    on(accelerator_view, rotate_tile, values.extent.tile(5), values)
    assert np.array_equal(np.asarray(values), np.roll(data.reshape(3, 5), -1, 1).ravel())


@row("2", "tile_static takes no initialiser")
def test_tile_static_initialiser(accelerator_view):
    out = amp.array_view(np.zeros(4, I32))
    with pytest.raises((amp.CompileError, TypeError)):

        @amp.parallel_for_each(accelerator_view, out.extent.tile(4))
        def _(t):
            memory = amp.tile_static(4, amp.int32, 7)
            out[t] = memory[t.local]


@row("2", "tile_static in an untiled launch is refused")
def test_tile_static_untiled(accelerator_view):
    out = amp.array_view(np.zeros(4, I32))
    with pytest.raises(amp.CompileError, match="tile"):

        @amp.parallel_for_each(accelerator_view, out.extent)
        def _(i):
            memory = amp.tile_static(4, amp.int32)
            memory[0] = 1
            out[i] = memory[0]


@row("2", "tile_static holds at most 32 KB", differs="the device's own limit holds")
def test_tile_static_limit(accelerator_view):
    out = amp.array_view(np.zeros(4, I32))
    with pytest.raises((amp.CompileError, amp.UnsupportedFeatureError), match="tile_static"):

        @amp.parallel_for_each(accelerator_view, out.extent.tile(4))
        def _(t):
            memory = amp.tile_static(100_000, amp.int32)
            memory[t.local] = 1
            t.barrier.wait()
            out[t] = memory[0]


@row("2", "the model kernel: tile average")
def test_tile_average(accelerator_view):
    raw = numbers(8, 6, dtype=F32)
    matrix = amp.array_view(raw)
    averages = amp.array(amp.extent(4, 2), amp.float32, accelerator_view=accelerator_view)

    @amp.parallel_for_each(accelerator_view, matrix.extent.tile(2, 3))
    def _(t):
        values = amp.tile_static(t.tile_extent, amp.float32)
        values[t.local] = matrix[t]
        t.barrier.wait_with_tile_static_memory_fence()
        if t.local == (0, 0):
            total = 0.0
            for y in range(t.tile_dim0):
                for x in range(t.tile_dim1):
                    total += values[y, x]
            averages[t.tile] = total / 6

    assert np.allclose(np.asarray(averages), raw.reshape(4, 2, 2, 3).mean(axis=(1, 3)))


@row("2", "summing into one shared scalar without atomics is a race")
def test_shared_sum_is_refused(accelerator_view):
    out = amp.array_view(np.zeros(4, I32))
    with pytest.raises(amp.CompileError):

        @amp.parallel_for_each(accelerator_view, out.extent.tile(4))
        def _(t):
            total = amp.tile_static(1, amp.int32)
            total[0] += out[t]
            t.barrier.wait()
            out[t] = total[0]
