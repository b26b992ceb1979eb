"""Sets of bytes against sets of integers."""

from __future__ import annotations

import numpy as np
import pytest

from vkamp.lang.region import EMPTY, ByteSet, Footprint, Layout, dense_strides, scatter

F = np.dtype(np.float32)


def members(region: ByteSet) -> set[int]:
    return {b for start, stop in region.intervals() for b in range(start, stop)}


def random_set(rng: np.random.Generator) -> ByteSet:
    length = int(rng.integers(1, 7))
    starts = rng.integers(0, 60, int(rng.integers(0, 6))).astype(np.int64)
    return ByteSet.runs(starts, length) if starts.size else EMPTY


def test_algebra():
    rng = np.random.default_rng(7)
    for _ in range(600):
        a, b = random_set(rng), random_set(rng)
        x, y = members(a), members(b)
        assert members(a | b) == x | y
        assert members(a & b) == x & y
        assert members(a - b) == x - y
        assert a.covers(b) == (y <= x)
        assert a.overlaps(b) == bool(x & y)
        assert a.nbytes == len(x)
        for c in (a | b, a & b, a - b):  # canonical: sorted, apart, never touching
            edges = [e for pair in c.intervals() for e in pair]
            assert edges == sorted(set(edges))
        assert members(a.shifted(-3)) == {n - 3 for n in x}


@pytest.mark.parametrize("irregular", [False, True])
def test_scatter(irregular):
    rng = np.random.default_rng(3)
    for _ in range(60):
        length, distance = int(rng.integers(1, 5)), int(rng.integers(5, 9))
        starts = 10 + distance * np.arange(int(rng.integers(17, 40)))
        if irregular:
            starts = np.delete(starts, 5)
        where = ByteSet.runs(starts, length)
        target, values = np.zeros(where.stop - 10, np.uint8), rng.integers(1, 256, where.stop).astype(np.uint8)
        scatter(target, values[10:], where, 10)
        inside = np.isin(np.arange(10, where.stop), list(members(where)))
        np.testing.assert_array_equal(target, np.where(inside, values[10:], 0))


def test_identities():
    a = ByteSet.interval(3, 9)
    assert a - a == EMPTY
    assert a & a == a
    assert a | EMPTY == a == EMPTY | a
    assert not ByteSet.interval(3, 3)
    assert repr(a - ByteSet.interval(4, 5)) == "ByteSet(3:4, 5:9)"


@pytest.mark.parametrize("seed", range(40))
def test_layout_region(seed):
    rng = np.random.default_rng(seed)
    base = np.arange(7 * 5 * 6, dtype=np.float32).reshape(7, 5, 6)
    view = base.transpose(rng.permutation(3))
    view = view[tuple(slice(int(rng.integers(0, 3)), None, int(rng.integers(1, 4))) for _ in "abc")]
    view = view[tuple(slice(None, None, int(rng.choice([-1, 1]))) for _ in "abc")]
    if rng.random() < 0.3:
        view = np.broadcast_to(view, (3, *view.shape))
    origin = base.__array_interface__["data"][0]
    offset = view.__array_interface__["data"][0] - origin
    layout = Layout(offset, view.shape, view.strides, F)
    wanted = {4 * int(v) + b for v in view.ravel() for b in range(4)}
    assert members(layout.region) == wanted
    assert layout.bounds == (min(wanted), max(wanted) + 1)
    assert layout.overlaps_itself == (view.size != len(wanted) // 4)
    assert layout.is_dense == view.flags.c_contiguous
    memory = base.reshape(-1).view(np.uint8)
    np.testing.assert_array_equal(layout.place(memory, 0), view)


def test_interleaved_columns_are_disjoint():
    strides = dense_strides((9, 10), 4)
    even = Layout(0, (9, 5), (strides[0], 8), F)
    odd = Layout(4, (9, 5), (strides[0], 8), F)
    assert not even.region.overlaps(odd.region)
    assert (even.region | odd.region) == ByteSet.interval(0, 360)


@pytest.mark.parametrize("count", [3, 40])
def test_scatter_leaves_the_rest(count):
    where = ByteSet.runs(np.arange(count, dtype=np.int64) * 7 + 100, 3)
    size = where.stop - 100 + 5
    target, values = np.zeros(size, np.uint8), np.ones(size, np.uint8)
    scatter(target, values, where, 100)
    assert {i + 100 for i in np.flatnonzero(target)} == members(where)


# -- footprints ---------------------------------------------------------------------------------


def words_of(region: ByteSet) -> set[int]:
    return {byte // 4 for byte in members(region)}


def random_layout(rng: np.random.Generator) -> Layout:
    """A box of a matrix of bytes, with steps, maybe turned around."""
    itemsize = int(rng.choice([1, 2, 4, 8]))
    pitch = int(rng.choice([12, 16, 30, 64]))
    shape, strides = [int(rng.integers(1, 5))], [pitch * int(rng.choice([-1, 1, 1, 2]))]
    columns = pitch // itemsize
    step = int(rng.integers(1, 3))
    shape.append(int(rng.integers(1, max(2, columns // step))))
    strides.append(step * itemsize)
    if rng.random() < 0.3:
        shape.insert(0, int(rng.integers(1, 4)))
        strides.insert(0, 7 * pitch)
    offset = int(rng.integers(0, 40)) * itemsize + sum(
        (n - 1) * -min(s, 0) for n, s in zip(shape, strides, strict=True)
    )
    return Layout(offset, tuple(shape), tuple(strides), np.dtype(f"u{itemsize}"))


def footprint(layout: Layout) -> Footprint:
    return Footprint.of(layout.offset, layout.shape, layout.strides, layout.dtype.itemsize)


def test_footprints_that_do_not_meet_share_no_word():
    rng = np.random.default_rng(11)
    apart = 0
    for _ in range(3000):
        a, b = random_layout(rng), random_layout(rng)
        if not footprint(a).meets(footprint(b)):
            assert not words_of(a.region) & words_of(b.region)
            apart += 1
        assert footprint(a).meets(footprint(b)) == footprint(b).meets(footprint(a))
        assert footprint(a).meets(footprint(a))
    assert apart > 300


def test_footprints_of_blocks_meet_where_the_blocks_do():
    matrix = dense_strides((40, 60), 4)
    rng = np.random.default_rng(12)

    def block() -> Layout:
        rows, columns = (int(rng.integers(1, n)) for n in (12, 20))
        row, column = int(rng.integers(0, 40 - rows)), int(rng.integers(0, 60 - columns))
        return Layout(row * matrix[0] + column * 4, (rows, columns), matrix, F)

    for _ in range(2000):
        a, b = block(), block()
        assert footprint(a).meets(footprint(b)) == a.region.overlaps(b.region)
