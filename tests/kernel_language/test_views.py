"""Views in launches: sections, strides of every sign, projections, aliases, reinterpretation, read-only ones."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, U32, same


@amp.kernel
def number_elements(i, out):
    out[i] = i[0] * 100 + i[1]


@amp.kernel
def double(i, source, out):
    out[i] = source[i] * 2


def numbered(rows: int, cols: int) -> np.ndarray:
    return np.arange(rows)[:, None] * 100 + np.arange(cols)


STRIDED = {
    "columns": np.s_[:, 2:5],
    "one column": np.s_[:, 3:4],
    "rows": np.s_[1:4],
    "every other": np.s_[::2, 1::3],
    "backwards": np.s_[::-1, ::-1],
    "rows backwards": np.s_[4:0:-2, :3],
}


@pytest.mark.parametrize("cut", STRIDED.values(), ids=STRIDED)
def test_strided_numpy_views_are_written_in_place(accelerator_view, cut):
    data = np.full((5, 7), -1, I32)
    expected = data.copy()
    expected[cut] = numbered(*expected[cut].shape)
    view = amp.array_view(data[cut])
    amp.parallel_for_each(accelerator_view, view.extent, number_elements, view)
    view.synchronize()
    same(data, expected)


@pytest.mark.parametrize("cut", STRIDED.values(), ids=STRIDED)
def test_strided_numpy_views_are_read(accelerator_view, cut):
    data = np.random.default_rng(0).integers(0, 100, (5, 7)).astype(F32)
    part = data[cut]
    out = amp.array(amp.extent(part.shape), amp.float32, accelerator_view=accelerator_view)
    amp.parallel_for_each(accelerator_view, out.extent, double, amp.array_view(part, readonly=True), out)
    same(np.asarray(out), part * 2)


def test_transposed_view(accelerator_view):
    data = np.zeros((3, 5), I32)
    view = amp.array_view(data.T)
    assert tuple(view.extent) == (5, 3)
    amp.parallel_for_each(accelerator_view, view.extent, number_elements, view)
    view.synchronize()
    same(data, numbered(5, 3).T)


@pytest.mark.parametrize("on_device", [True, False])
def test_sections_of_sections(accelerator_view, on_device):
    data = np.full((8, 9), -1, I32)
    if on_device:
        home = amp.array(amp.extent(8, 9), amp.int32, data, accelerator_view=accelerator_view)
    else:
        home = amp.array_view(data)
    inner = home.section(amp.index(2, 1), amp.extent(5, 7)).section(amp.index(1, 2))
    assert tuple(inner.extent) == (4, 5)
    amp.parallel_for_each(accelerator_view, inner.extent, number_elements, inner)
    expected = data.copy()
    expected[3:7, 3:8] = numbered(4, 5)
    same(np.asarray(home), expected)


@amp.kernel
def projections(i, cube, out):
    row = cube[i[0]]
    line = cube[i[0], 1, 2] if False else row[i[1]][2]
    out[i] = line + row[i[1], 0] * 10 + cube[i[0]][i[1]].extent[0] * 1000 + row.extent[1] * 10000 + row.rank * 100000


def test_projections_in_a_kernel(accelerator_view):
    data = np.arange(2 * 3 * 4, dtype=I32).reshape(2, 3, 4)
    out = amp.array_view(np.zeros((2, 3), I32))
    amp.parallel_for_each(accelerator_view, out.extent, projections, amp.array_view(data, readonly=True), out)
    same(np.asarray(out), data[:, :, 2] + data[:, :, 0] * 10 + 4000 + 40000 + 200000)


def test_projections_on_the_host(accelerator_view):
    data = np.full((3, 4, 5), -1, I32)
    cube = amp.array_view(data)
    plane = cube[1]
    amp.parallel_for_each(accelerator_view, plane.extent, number_elements, plane)
    expected = data.copy()
    expected[1] = numbered(4, 5)
    same(np.asarray(cube), expected)

    @amp.parallel_for_each(accelerator_view, cube[2][3].extent)
    def _(i):
        cube[2, 3, i[0]] = 500

    expected[2, 3] = 500
    same(np.asarray(cube), expected)
    with pytest.raises((amp.AmpError, IndexError)):
        cube[3]


@amp.kernel
def shift_right(i, source, target):
    target[i] = source[i] + 1


def test_overlapping_views_in_one_launch_share_storage(accelerator_view):
    data = np.arange(20, dtype=I32)
    whole = amp.array_view(data)
    even, odd = amp.array_view(data[::2]), amp.array_view(data[1::2])
    amp.parallel_for_each(accelerator_view, even.extent, shift_right, even, odd)
    expected = np.arange(20)
    expected[1::2] = expected[::2] + 1
    same(np.asarray(whole), expected)


@amp.kernel
def same_memory_twice(t, first, second, part):
    k = t.global_[0]
    first[k] = k * 3
    t.barrier.wait_with_global_memory_fence()
    value = second[(k + 1) % 8]
    t.barrier.wait_with_global_memory_fence()
    if k < 3:
        part[k] = value + 100


@pytest.mark.parametrize("kind", ["view", "array"])
def test_one_memory_under_three_names(accelerator_view, kind):
    data = np.zeros(8, I32)
    if kind == "view":
        home = amp.array_view(data)
        first, second = home, amp.array_view(data)
    else:
        home = amp.array(amp.extent(8), amp.int32, data, accelerator_view=accelerator_view)
        first = second = home
    part = home.section(amp.index(4), amp.extent(3))
    amp.parallel_for_each(accelerator_view, amp.extent(8).tile(8), same_memory_twice, first, second, part)
    expected = np.arange(8) * 3
    expected[4:7] = [103, 106, 109]
    same(np.asarray(home), expected)


@amp.kernel
def bits(i, words, floats, out):
    k = i[0]
    out[k] = amp.int32((words[k] >> 23) & 255) - 127
    words[k] = words[k] ^ 0x80000000


def test_reinterpreted_views_alias(accelerator_view):
    data = np.array([1, 2.5, -8, 0.1, 1e10], F32)
    floats = amp.array_view(data)
    words, out = floats.reinterpret_as(amp.uint32), amp.array_view(np.zeros(5, I32))
    expected = np.frexp(data)[1] - 1
    amp.parallel_for_each(accelerator_view, amp.extent(5), bits, words, floats, out)
    same(np.asarray(out), expected)
    same(np.asarray(floats), -np.array([1, 2.5, -8, 0.1, 1e10], F32))


@amp.kernel
def both_types(t, words, floats):
    k = t.global_[0]
    floats[k] = k + 0.5
    t.barrier.wait_with_global_memory_fence()
    words[7 - k] = words[7 - k] + 1


def test_one_memory_as_two_types_in_one_launch(accelerator_view):
    floats = amp.array(amp.extent(8), amp.float32, accelerator_view=accelerator_view)
    words = floats.reinterpret_as(amp.uint32)
    amp.parallel_for_each(accelerator_view, amp.extent(8).tile(8), both_types, words, floats)
    expected = (np.arange(8, dtype=F32) + F32(0.5)).view(U32) + U32(1)
    same(np.asarray(words), expected)


Point = np.dtype([("x", F32), ("n", I32)])


@amp.kernel
def points(i, pairs, flat):
    pairs[i].n = flat[2 * i[0] + 1] + 1
    pairs[i].x += 0.5


def test_struct_and_flat_view_of_one_memory(accelerator_view):
    data = np.array([(1, 5), (2, 6), (3, 7)], Point)
    pairs = amp.array_view(data)
    amp.parallel_for_each(accelerator_view, pairs.extent, points, pairs, pairs.reinterpret_as(amp.int32))
    same(np.asarray(pairs), np.array([(1.5, 6), (2.5, 7), (3.5, 8)], Point))


def test_view_as(accelerator_view):
    data = np.full(20, -1, I32)
    flat = amp.array_view(data)
    square = flat.view_as(amp.extent(3, 5))
    amp.parallel_for_each(accelerator_view, square.extent, number_elements, square)
    expected = np.full(20, -1)
    expected[:15] = numbered(3, 5).ravel()
    same(np.asarray(flat), expected)


def test_a_read_only_numpy_array(accelerator_view):
    data = np.arange(6, dtype=F32).reshape(2, 3)
    data.setflags(write=False)
    with pytest.raises(TypeError, match="read-only"):
        amp.array_view(data)
    view, out = amp.array_view(data, readonly=True), amp.array_view(np.zeros((2, 3), F32))
    amp.parallel_for_each(accelerator_view, out.extent, double, view, out)
    same(np.asarray(out), data * 2)
    with pytest.raises(amp.CompileError, match="this writes to `out`, which is a read-only view"):
        amp.parallel_for_each(accelerator_view, out.extent, double, out, view)
    same(data, np.arange(6).reshape(2, 3))


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros(4, bool),
        np.zeros(4, np.clongdouble),
        np.zeros(4, ">f4"),
        np.zeros(4, "U3"),
        np.zeros(4, object),
        np.zeros(4, "M8[s]"),
        np.zeros((0, 3), np.float32),
        np.array(3, np.float32),
        [1, 2, 3],
        "text",
    ],
    ids=lambda w: str(getattr(w, "dtype", type(w).__name__)) + str(getattr(w, "shape", "")),
)
def test_what_no_view_can_be_of(wrong):
    with pytest.raises((TypeError, amp.AmpError)) as caught:
        amp.array_view(wrong)
    assert len(str(caught.value)) > 20


@pytest.mark.parametrize("wrong", [np.zeros(4, F32), [1.0, 2.0], "text", None, {"a": 1}, object()])
def test_what_is_no_argument(accelerator_view, wrong):
    out = amp.array_view(np.zeros((2, 2), F32))
    with pytest.raises(amp.CompileError, match="`source` is .*, which a kernel cannot use"):
        amp.parallel_for_each(accelerator_view, out.extent, double, wrong, out)
    same(np.asarray(out), 0)


def test_views_keep_their_memory_alive(accelerator_view):
    view = amp.array_view(np.arange(40_000, dtype=F32).reshape(200, 200))
    gc.collect()
    out = amp.array_view(np.zeros((200, 200), F32))
    source = view.section(amp.index(3, 5))
    del view
    gc.collect()
    domain = amp.extent(3, 4)
    amp.parallel_for_each(accelerator_view, domain, double, source, out)
    del source
    gc.collect()
    same(np.asarray(out)[:3, :4], 2 * np.arange(40_000).reshape(200, 200)[3:6, 5:9])


def test_containers_that_go_before_the_launch_has_run(accelerator_view):
    results = []
    for n in range(20):
        source = amp.array(amp.extent(6, 5), amp.float32, np.full((6, 5), n, F32), accelerator_view=accelerator_view)
        middle = amp.array(amp.extent(6, 5), amp.float32, accelerator_view=accelerator_view)
        out = amp.array(amp.extent(6, 5), amp.float32, accelerator_view=accelerator_view)
        amp.parallel_for_each(accelerator_view, out.extent, double, source, middle)
        amp.parallel_for_each(accelerator_view, out.extent, double, middle, out)
        del source, middle
        results.append(out)
    gc.collect()
    for n, out in enumerate(results):
        same(np.asarray(out), 4 * n)


def test_the_last_view_brings_writes_home(accelerator_view):
    data = np.zeros((4, 6), I32)
    view = amp.array_view(data)
    amp.parallel_for_each(accelerator_view, view.extent, number_elements, view)
    del view
    gc.collect()
    same(data, numbered(4, 6))


def test_a_view_without_a_source(accelerator_view):
    view = amp.array_view(amp.extent(4, 6), amp.int32)
    amp.parallel_for_each(accelerator_view, view.extent, number_elements, view)
    same(np.asarray(view), numbered(4, 6))


def test_host_and_device_take_turns(accelerator_view):
    data = np.ones((3, 4), F32)
    view = amp.array_view(data)
    for n in range(5):
        amp.parallel_for_each(accelerator_view, view.extent, double, view, view)
        view[1, 2] = n
        assert view[0, 0] == 2 ** (n + 1)
    amp.parallel_for_each(accelerator_view, view.extent, double, view, view)
    expected = np.full((3, 4), 64)
    expected[1, 2] = 8
    same(np.asarray(view), expected)


def test_a_wrong_rank(accelerator_view):
    flat, out = amp.array_view(np.zeros(4, F32)), amp.array_view(np.zeros((2, 2), F32))
    with pytest.raises(amp.CompileError, match="`source` has rank 1, but 2 subscripts are given"):
        amp.parallel_for_each(accelerator_view, out.extent, double, flat, out)
