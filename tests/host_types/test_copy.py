"""copy and copy_async."""

from __future__ import annotations

import threading
import tracemalloc

import numpy as np
import pytest

from vkamp import array, array_view, copy, copy_async, extent, float32, int32
from vkamp.errors import AmpError

POINT = np.dtype([("x", np.float32), ("n", np.int32)])


@pytest.fixture
def raw():
    return np.arange(35, dtype=np.float32).reshape(5, 7)


def containers(kind, shape, places):
    """A container of ``kind`` with zeros, and a look at its newest values."""
    location, other, cpu = places
    if kind == "array":
        return array(extent(shape), data=np.zeros(shape, np.float32))
    if kind == "elsewhere":
        return array(extent(shape), data=np.zeros(shape, np.float32), accelerator_view=other)
    if kind == "staging":
        return array(
            extent(shape),
            data=np.zeros(shape, np.float32),
            accelerator_view=cpu,
            associated_accelerator_view=location,
        )
    if kind == "view":
        return array_view(np.zeros(shape, np.float32))
    wide = np.zeros([n + 3 for n in shape], np.float32)
    section = ([2] * len(shape), shape)
    if kind == "section":
        return array_view(wide).section(*section)
    if kind == "array section":
        return array(extent(wide.shape), data=wide).section(*section)
    assert kind == "own memory"
    return array_view(extent(shape), float32)


KINDS = ["array", "elsewhere", "staging", "view", "section", "array section", "own memory"]


@pytest.mark.parametrize("to", KINDS)
@pytest.mark.parametrize("of", KINDS)
def test_all_pairs(of, to, location, other, cpu):
    places = location, other, cpu
    values = np.random.default_rng(1).random((3, 4, 5), np.float32)
    src, dest = containers(of, values.shape, places), containers(to, values.shape, places)
    copy(values, src)
    copy(src, dest)
    out = np.zeros_like(values)
    copy(dest, out)
    np.testing.assert_array_equal(out, values)
    copy(array_view(src, readonly=True), dest)
    np.testing.assert_array_equal(np.asarray(array(dest)), values)


@pytest.mark.parametrize("make", [array_view, lambda raw: array(extent(raw.shape), data=raw)])
def test_neighbours_of_a_section_stay(raw, make, location, launch):
    before = raw.copy()
    whole = make(raw)
    if whole.accelerator_view is location if isinstance(whole, array) else False:
        launch(location, lambda d: np.add(d, 0, out=d), whole)
    copy(np.full((2, 3), -1, np.float32), whole.section(1, 2, 2, 3))
    before[1:3, 2:5] = -1
    np.testing.assert_array_equal(np.asarray(whole), before)


def test_strided_writes_beside_pending_ones(location, launch):
    # More rows than travel one by one.
    a = array(extent(40, 6), data=np.zeros((40, 6), np.float32))
    launch(location, lambda d: np.add(d, 1, out=d), a)
    copy(np.full((40, 2), 5, np.float32), a.section(0, 1, 40, 2))
    launch(location, lambda d: np.add(d, 1, out=d), a)
    expected = np.full((40, 6), 2, np.float32)
    expected[:, 1:3] = 6
    np.testing.assert_array_equal(np.asarray(a), expected)


def test_copying_out_leaves_home_alone(raw, location, launch):
    before = raw.copy()
    v = array_view(raw)
    launch(location, lambda d: d.fill(-1), v.section(1, 1, 3, 3))
    out = np.zeros_like(raw)
    copy(v, out)
    assert (out[1:4, 1:4] == -1).all()
    assert out[0, 0] == 0
    assert out[4, 6] == 34
    a = array(v)
    np.testing.assert_array_equal(np.asarray(a), out)
    np.testing.assert_array_equal(raw, before)
    v.copy_to(out)
    a.copy_to(out)
    np.testing.assert_array_equal(raw, before)
    assert v[1, 1] == -1


def test_copying_in_reaches_the_device(raw, location, launch):
    v = array_view(raw)
    launch(location, lambda d: d.fill(-1), v)
    copy(np.zeros((5, 7), np.float32), v)
    launch(location, lambda d: np.add(d, 1, out=d), v)
    v.synchronize()
    assert (raw == 1).all()


def test_overlap_acts_as_if_the_source_were_read_first(raw):
    flat = raw.ravel().copy()
    v = array_view(flat)
    copy(v.section(0, 30), v.section(5, 30))
    np.testing.assert_array_equal(flat, [*range(5), *range(30)])
    copy(flat[::-1], v)
    np.testing.assert_array_equal(flat, [*range(30)][::-1] + [*range(5)][::-1])
    a = array(extent(35), data=raw.ravel())
    copy(a.section(5, 30), a.section(0, 30))
    np.testing.assert_array_equal(np.asarray(a), [*range(5, 35), *range(30, 35)])


def test_host_sources_and_destinations(raw):
    a = array(extent(5, 7), float32)
    for source in (raw, raw.ravel(), raw.tolist(), range(35), iter(range(35)), raw.astype(np.int64)):
        copy(np.zeros_like(raw), a)
        copy(source, a)
        np.testing.assert_array_equal(np.asarray(a), raw)
    for out in (np.zeros(35), np.zeros((5, 7), np.float64), np.zeros((7, 5), np.float32).T):
        copy(a, out)
        np.testing.assert_array_equal(out.reshape(5, 7), raw)
    structs = array(extent(2), POINT)
    copy([(1.5, 2), (3, 4)], structs)
    out = np.zeros(2, POINT)
    copy(structs, out)
    assert out.tolist() == [(1.5, 2), (3, 4)]


class TestRefused:
    def test_extents(self, raw, refused):
        a = array_view(np.zeros((20, 10), np.float32))
        with refused(AmpError, "extents differ: extent(20, 10) to extent(10, 20)"):
            copy(a, array(extent(10, 20), float32))
        with refused(AmpError, "extents differ: extent(20, 10) to an ndarray of shape (10, 20)"):
            copy(a, np.zeros((10, 20), np.float32))
        with refused(AmpError, "extents differ: extent(20, 10) to an ndarray of shape (199,)"):
            copy(a, np.zeros(199, np.float32))
        with refused(AmpError, "the source has shape (10, 20), not (20, 10); a flat array also works"):
            copy(np.zeros((10, 20), np.float32), a)
        with refused(AmpError, "the source has 199 elements, but extent(20, 10) needs 200"):
            copy(range(199), a)

    def test_ranks_and_types(self, refused):
        a = array(extent(100), float32)
        with refused(
            TypeError,
            "ranks differ: array(extent(100), float32) to array(extent(10, 10), float32)",
        ):
            copy(a, array(extent(10, 10), float32))
        with refused(TypeError, "element types differ: float32 to int32"):
            copy(a, array(extent(100), int32))
        with refused(
            TypeError,
            "the source of type float32 does not convert to int32: write .astype(np.int32)",
        ):
            copy(a, np.zeros(100, np.int32))
        with refused(
            TypeError,
            "the source of type float64 does not convert to int32: write .astype(np.int32)",
        ):
            copy(np.zeros(3), array(extent(3), int32))

    def test_read_only(self, raw, refused):
        r = array_view(raw, readonly=True)
        for start in (copy, copy_async):
            with refused(
                TypeError,
                "the destination array_view(extent(5, 7), float32, readonly=True) is read-only",
            ):
                start(raw, r)
        raw.flags.writeable = False
        with refused(TypeError, "the destination ndarray is read-only"):
            copy(r, raw)

    def test_sides(self, raw, refused):
        with refused(TypeError, "copy writes to an array, array_view or ndarray, got list"):
            copy(array_view(raw), [])
        with refused(TypeError, "copy needs an array or array_view on one side: between numpy arrays, use np.copyto"):
            copy(raw, raw)
        with refused(TypeError, "copy reads an array, array_view, ndarray or sequence, got int"):
            copy(1, array_view(raw))


class TestAsync:
    def test_all_well(self, raw):
        a = array(extent(5, 7), float32)
        future = copy_async(raw, a)
        assert future.get() is None
        out = np.zeros_like(raw)
        copy_async(a, out).wait()
        np.testing.assert_array_equal(out, raw)

    def test_errors_at_once_and_later(self, raw, refused):
        with refused(TypeError, "element types differ: float32 to int32"):
            copy_async(array_view(raw), array(extent(5, 7), int32))
        future = copy_async(range(3), array_view(raw))
        with refused(AmpError, "the source has 3 elements, but extent(5, 7) needs 35"):
            future.get()
        future.wait()

    def test_memory_stays_alive(self, location, launch):
        out = np.zeros((30, 40), np.float32)
        future = copy_async(array(extent(30, 40), data=np.ones((30, 40), np.float32)), out)
        future.get()
        assert (out == 1).all()

    def test_callbacks_may_block_on_copies_six_deep(self, raw):
        arrays = [array(extent(5, 7), float32) for _ in range(7)]
        done = threading.Event()

        def step(n):
            if n == 6:
                done.set()
                return
            copy_async(arrays[n], arrays[n + 1]).get()
            future = copy_async(arrays[n], arrays[n + 1])
            future.then(lambda: step(n + 1))
            future.get()

        copy_async(raw, arrays[0]).then(lambda: step(0))
        assert done.wait(30)
        np.testing.assert_array_equal(np.asarray(arrays[6]), raw)


def test_an_iterator_gives_as_many_as_fit():
    counter = iter(range(100))
    a = array(extent(2, 3), np.int32, counter)
    np.testing.assert_array_equal(np.asarray(a), [[0, 1, 2], [3, 4, 5]])
    copy(counter, a)
    np.testing.assert_array_equal(np.asarray(a), [[6, 7, 8], [9, 10, 11]])
    assert next(counter) == 12
    with pytest.raises(AmpError, match="the source has 1 element, but extent"):
        copy(iter([1]), a)


@pytest.mark.parametrize("kind", KINDS)
def test_no_other_memory_is_taken_between_numpy_and_a_container(kind, location, other, cpu):
    shape = (1 << 10, 1 << 9)
    values, out = np.random.default_rng(1).random(shape, np.float32), np.zeros(shape, np.float32)
    container = containers(kind, shape, (location, other, cpu))
    copy(values, container)
    copy(container, out)  # what is made once is made
    tracemalloc.start()
    try:
        copy(values, container)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        if kind != "array section":
            copy(container, out)
            peak = max(peak, tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(out, values)
    # A section's own shape has gaps, which a device is sent in one piece.
    assert peak < values.nbytes * (2.5 if kind == "array section" else 0.5), peak / values.nbytes


@pytest.mark.parametrize("order", ["C", "F", "flat", "strided", "float64", "reversed"])
def test_out_to_every_kind_of_numpy_memory(order, raw, location, launch):
    v = array_view(raw)
    launch(location, lambda d: d.__iadd__(1), v)
    expected = raw + 1
    whole = np.zeros((5, 14), np.float32)
    dest = {
        "C": np.zeros((5, 7), np.float32),
        "F": np.zeros((5, 7), np.float32, order="F"),
        "flat": np.zeros(35, np.float32),
        "strided": whole[:, ::2],
        "float64": np.zeros((5, 7), np.float64),
        "reversed": np.zeros((5, 7), np.float32)[::-1],
    }[order]
    copy(v, dest)
    np.testing.assert_array_equal(dest.reshape(5, 7), expected)
    assert not whole[:, 1::2].any()


@pytest.mark.parametrize("shift", [0, 3, -3])
def test_source_and_destination_overlap_in_numpys_memory(shift, location, launch):
    memory = np.arange(40, dtype=np.float32)
    here, there = memory[5:30], memory[5 + shift : 30 + shift]
    v = array_view(here)
    values = there.copy()
    copy(there, v)
    np.testing.assert_array_equal(np.asarray(v), values)
    launch(location, lambda d: d.__iadd__(1), v)
    copy(v, there)
    np.testing.assert_array_equal(there, values + 1)
