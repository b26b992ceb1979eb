"""array_view: construction, subscripts, sections, reinterpretation."""

from __future__ import annotations

import gc
import pickle
import weakref

import numpy as np
import pytest

import vkamp as amp
from tests.conformance.programs import F32, I32, U32, add_one, assign, fill, numbers, on
from tests.conformance.registry import row


@row("6", "over an array: shares storage and keeps it alive")
def test_over_an_array(accelerator_view):
    a = amp.array(amp.extent(3, 5), amp.int32, numbers(3, 5), accelerator_view=accelerator_view)
    view = amp.array_view(a)
    on(accelerator_view, add_one, view.extent, view)
    assert np.array_equal(np.asarray(a), numbers(3, 5) + 1)
    reference = weakref.ref(a)
    del a
    gc.collect()
    assert np.array_equal(np.asarray(view), numbers(3, 5) + 1)
    assert reference() is None


@row("6", "over host data")
def test_over_host_data(accelerator_view):
    raw = numbers(3, 5)
    view = amp.array_view(raw)
    on(accelerator_view, add_one, view.extent, view)
    view.synchronize()
    assert np.array_equal(raw, numbers(3, 5) + 1)


@row("6", "over host data with an extent: a larger source is viewed by prefix")
def test_prefix():
    raw = numbers(20)
    view = amp.array_view(raw, amp.extent(3, 5))
    assert view.extent == (3, 5) and view[2, 4] == 14
    assert amp.array_view(numbers(4, 5), amp.extent(7))[6] == 6


@row("6", "a source smaller than the extent is an error")
def test_too_small():
    with pytest.raises(amp.AmpError, match="has 21 elements, the source only 20"):
        amp.array_view(numbers(20), amp.extent(3, 7))


@row("6", "data must outlive the view", differs="the view keeps numpy's memory alive")
def test_keeps_memory(accelerator_view):
    view = amp.array_view(numbers(1000))
    gc.collect()
    on(accelerator_view, add_one, view.extent, view)
    assert np.array_equal(np.asarray(view), numbers(1000) + 1)


@row("6", "any strides of numpy")
@pytest.mark.parametrize("cut", [np.s_[::2, 1::3], np.s_[::-1, ::-1], np.s_[1:3], np.s_[:, 2]])
def test_strides(accelerator_view, cut):
    raw = numbers(6, 9)
    view = amp.array_view(raw[cut])
    on(accelerator_view, add_one, view.extent, view)
    view.synchronize()
    expected = numbers(6, 9)
    expected[cut] += 1
    assert np.array_equal(raw, expected)


@row(
    "6",
    "strides that are not a multiple of the element",
    differs="each launch works on a copy without gaps, and refuses another view of what it writes",
)
def test_odd_strides(accelerator_view):
    rows = np.zeros(5, np.dtype([("x", F32), ("tag", "u1")], align=False))
    rows["x"], rows["tag"] = np.arange(5), 7
    view = amp.array_view(rows["x"])
    on(accelerator_view, add_one, view.extent, view)
    view.synchronize()
    assert rows.tolist() == [(1, 7), (2, 7), (3, 7), (4, 7), (5, 7)]


@row("6", "over an extent only: no source, every member works before first use")
def test_without_a_source(accelerator_view):
    view = amp.array_view(amp.extent(3, 4), amp.float32)
    assert view.extent == (3, 4) and np.asarray(view).shape == (3, 4)
    assert view.section(amp.index(1, 1)).extent == (2, 3)
    view.synchronize()
    view.refresh()
    view.discard_data()
    assert view.source_accelerator_view == amp.accelerator("cpu").default_view
    on(accelerator_view, fill, view.extent, view, 2.5)
    assert np.all(np.asarray(view) == 2.5)


@row("6", "data() of a source-less view is stable")
def test_stable_data(accelerator_view):
    view = amp.array_view(amp.extent(4), amp.int32)
    before = view.data().ctypes.data
    on(accelerator_view, fill, view.extent, view, 3)
    assert view.data().ctypes.data == before and view.data().tolist() == [3] * 4


@row("6", "no default construction")
def test_no_default():
    with pytest.raises(TypeError):
        amp.array_view()


@row("6", "a source-less view in a kernel is refused")
def test_source_less_in_a_kernel(accelerator_view):
    out = amp.array_view(np.zeros(3, I32))
    with pytest.raises(amp.CompileError):

        @amp.parallel_for_each(accelerator_view, out.extent)
        def _(i):
            inner = amp.array_view(amp.extent(3), amp.int32)
            out[i] = inner[i]


@row("6", "read-only from read-write allowed, reverse refused")
def test_readonly():
    view = amp.array_view(numbers(4))
    constant = amp.array_view(view, readonly=True)
    assert constant.readonly and constant[2] == 2
    with pytest.raises(TypeError, match="read-only"):
        amp.array_view(constant)
    with pytest.raises(TypeError, match="read-only"):
        constant[0] = 1


@row("6", "construction with another dtype or rank is refused")
def test_another_type():
    with pytest.raises(TypeError):
        amp.array_view(numbers(4), dtype=amp.float32)
    with pytest.raises(TypeError, match="extent"):
        amp.array_view([1, 2, 3])


@row("6", "copy and assignment are shallow")
def test_shallow():
    view = amp.array_view(numbers(4))
    other = amp.array_view(view)
    other[1] = 50
    assert view[1] == 50
    view = view.section(amp.index(1))
    assert view.extent == (3,) and view[0] == 50 and other.extent == (4,)


@row("6", "a const view object over non-const T still writes")
def test_captured_views_write(accelerator_view):
    view = amp.array_view(numbers(4))

    @amp.parallel_for_each(accelerator_view, view.extent)
    def _(i):
        view[i] = 9  # a capture is by value, and const in C++

    assert np.asarray(view).tolist() == [9] * 4


@row("6", "v[idx] and v(i, j, k)")
def test_subscripts(accelerator_view):
    view = amp.array_view(numbers(2, 3, 4))
    assert view[1, 2, 3] == 23 == view[amp.index(1, 2, 3)]
    view[amp.index(0, 1, 2)] = 77
    out = amp.array_view(np.zeros((2, 3, 4), I32))

    @amp.parallel_for_each(accelerator_view, out.extent)
    def _(i):
        out[i] = view[i] + view[i[0], i[1], i[2]]

    assert out[0, 1, 2] == 154 and out[1, 2, 3] == 46


@row("6", "as many subscripts as the rank")
def test_subscript_count():
    view = amp.array_view(numbers(2, 3))
    for wrong in (lambda: view[1, 2, 0], lambda: view[amp.index(1)], lambda: view[amp.index(1, 1, 1)]):
        with pytest.raises(TypeError, match="takes 2 subscripts"):
            wrong()


@row("6", "subscripts out of bounds", differs="IndexError on the host; undefined in C++ AMP")
@row("6", "negative subscripts never wrap")
@pytest.mark.parametrize("point", [(-1, 0), (0, -1), (2, 0), (0, 3), (10**12, 0)])
def test_outside(point):
    view = amp.array_view(numbers(2, 3))
    with pytest.raises(IndexError):
        view[point]
    with pytest.raises(IndexError):
        view[point] = 1


@row("6", "v[i] is the projection on dimension 0, and chains")
def test_projection(accelerator_view):
    raw = numbers(3, 4, 5)
    view = amp.array_view(raw)
    plane = view[1]
    assert plane.extent == (4, 5) and plane[2].extent == (5,) and view[1][2][3] == 33
    part = view.section(amp.index(1, 1, 1))[1]
    on(accelerator_view, fill, part.extent, part, -1)
    view.synchronize()
    expected = numbers(3, 4, 5)
    expected[2, 1:, 1:] = -1
    assert np.array_equal(raw, expected)


@row("6", "v[i] in kernels")
def test_projection_in_a_kernel(accelerator_view):
    view, out = amp.array_view(numbers(3, 4, 5)), amp.array_view(np.zeros((3, 4), I32))

    @amp.parallel_for_each(accelerator_view, out.extent)
    def _(i):
        line = view[i[0]][i[1]]
        out[i] = line[4] - line[0] + view[i[0]].extent[1]

    assert np.all(np.asarray(out) == 9)


@row("6", "projection outside is an error")
@pytest.mark.parametrize("i", [-1, 3, 2**40])
def test_projection_outside(i):
    with pytest.raises(amp.AmpError, match="outside dimension 0"):
        amp.array_view(numbers(3, 4))[i]


SECTIONS = [
    (((1, 2), (2, 3)), np.s_[1:3, 2:5]),
    (((1, 2), None), np.s_[1:, 2:]),
    ((None, (2, 3)), np.s_[:2, :3]),
    (((0, 0), (4, 6)), np.s_[:, :]),
]


@row("6", "section(origin, extent), (origin), (extent), (i0.., e0..)")
@pytest.mark.parametrize(("box", "cut"), SECTIONS)
@pytest.mark.parametrize("of", ["view", "array"])
def test_sections(accelerator_view, of, box, cut):
    raw = numbers(4, 6)
    home = (
        amp.array_view(raw)
        if of == "view"
        else amp.array(amp.extent(4, 6), data=raw, accelerator_view=accelerator_view)
    )
    origin, size = box
    arguments = [amp.index(origin)] if origin else []
    arguments += [amp.extent(size)] if size else []
    part = home.section(*arguments)
    on(accelerator_view, add_one, part.extent, part)
    if origin and size:
        same = home.section(*origin, *size)
        on(accelerator_view, add_one, same.extent, same)
    expected = numbers(4, 6)
    expected[cut] += 2 if origin and size else 1
    assert np.array_equal(np.asarray(home), expected)


@row("6", "the integer form of section takes exactly 2N")
@pytest.mark.parametrize("arguments", [(1,), (1, 2), (1, 2, 1), (1, 2, 1, 1, 1)])
def test_section_integers(arguments):
    with pytest.raises(TypeError, match="takes 4 integers"):
        amp.array_view(numbers(4, 6)).section(*arguments)


@row("6", "section: lengths <= 0, origins outside, ends beyond the parent are errors")
@pytest.mark.parametrize(
    "arguments",
    [
        (0, 0, 0, 3),
        (0, 0, 2, -1),
        (-1, 0, 2, 2),
        (4, 0, 1, 1),
        (0, 6, 1, 1),
        (3, 0, 2, 1),
        (0, 1, 1, 6),
        (0, 5, 1, 2**31 - 1),
    ],
)
def test_bad_sections(arguments):
    with pytest.raises(amp.AmpError, match="section of"):
        amp.array_view(numbers(4, 6)).section(*arguments)


@row("6", "nested sections are parent-relative, of any rank")
@pytest.mark.parametrize("rank", [1, 2, 3, 5])
def test_nested_sections(rank):
    raw = numbers(*(4,) * rank)
    inner = amp.array_view(raw).section(amp.index([1] * rank)).section(amp.index([1] * rank), amp.extent([2] * rank))
    assert np.array_equal(np.asarray(inner), raw[(np.s_[2:4],) * rank])
    with pytest.raises(amp.AmpError):
        inner.section(amp.index([2] * rank))


TYPES = [(F32, U32), (I32, U32), (U32, F32), (F32, np.dtype([("x", F32), ("n", I32)]))]


@row("6", "reinterpret_as: float/int, signed/unsigned, struct/scalar")
@pytest.mark.parametrize(("source", "target"), TYPES, ids=str)
def test_reinterpret(accelerator_view, source, target):
    raw = np.arange(6).astype(source)
    view = amp.array_view(raw).reinterpret_as(target)
    assert view.extent == (raw.nbytes // np.dtype(target).itemsize,) and view.dtype == target
    assert np.array_equal(np.asarray(view), raw.view(target))
    back = view.reinterpret_as(source)
    on(accelerator_view, fill, back.extent, back, 3)
    assert np.all(np.asarray(back) == 3)


@row("6", "reinterpret_as: bytes that are not a whole multiple are an error")
def test_reinterpret_rest():
    with pytest.raises(amp.AmpError, match="20 bytes are not a whole number of 12-byte elements"):
        amp.array_view(np.zeros(5, F32)).reinterpret_as([("x", F32), ("y", F32), ("z", F32)])


@row("6", "reinterpret_as and view_as: rank 1 only, read-only stays")
def test_rank_1_only():
    square = amp.array_view(numbers(3, 4))
    with pytest.raises(TypeError, match="rank 1"):
        square.reinterpret_as(amp.float32)
    with pytest.raises(TypeError, match="rank 1"):
        square.view_as(amp.extent(12))
    constant = amp.array_view(numbers(6), readonly=True)
    assert constant.reinterpret_as(amp.float32).readonly and constant.view_as(amp.extent(2, 3)).readonly


@row("6", "view_as: a smaller total is a prefix, a larger one an error")
def test_view_as(accelerator_view):
    raw = numbers(20)
    part = amp.array_view(raw).section(amp.index(1)).view_as(amp.extent(3, 5))
    on(accelerator_view, add_one, part.extent, part)
    part.synchronize()
    assert np.array_equal(raw, np.r_[0, np.arange(2, 17), 16:20])
    with pytest.raises(amp.AmpError, match="has 21 elements, the source only 20"):
        amp.array_view(raw).view_as(amp.extent(3, 7))


@row("6", "data(): rank 1, synchronises first, offset in sections")
def test_data(accelerator_view):
    raw = numbers(10)
    view = amp.array_view(raw)
    on(accelerator_view, add_one, view.extent, view)
    data = view.section(amp.index(4)).data()
    assert data.tolist() == [5, 6, 7, 8, 9, 10] and np.shares_memory(data, raw)
    with pytest.raises(TypeError, match="rank 1"):
        amp.array_view(numbers(2, 3)).data()


@row("6", "get_ref: host element access without implicit synchronisation")
def test_get_ref(accelerator_view):
    view = amp.array_view(numbers(4))
    on(accelerator_view, add_one, view.extent, view)
    assert view.get_ref(2) == 2
    view.synchronize(amp.access_type_read_write)
    view.get_ref(2)[...] = 70
    assert view[2] == 70


@row("6", "source_accelerator_view")
def test_source(accelerator_view):
    a = amp.array(amp.extent(4), amp.int32, accelerator_view=accelerator_view)
    assert amp.array_view(a).section(amp.index(1)).source_accelerator_view == accelerator_view
    assert amp.array_view(numbers(4)).source_accelerator_view == amp.accelerator("cpu").default_view


@row("6", "copy_to")
def test_copy_to(accelerator_view):
    view, out = amp.array_view(numbers(2, 3)), np.zeros((2, 3), I32)
    on(accelerator_view, add_one, view.extent, view)
    view.copy_to(out)
    assert np.array_equal(out, numbers(2, 3) + 1)


@row("6", "read-only views: no type argument of synchronize, no discard_data")
def test_readonly_members():
    constant = amp.array_view(numbers(4), readonly=True)
    constant.synchronize()
    constant.refresh()
    with pytest.raises(TypeError, match="read-only"):
        constant.synchronize(amp.access_type_write)
    with pytest.raises(TypeError, match="read-only"):
        constant.discard_data()


@row(
    "6",
    "numpy: conversion, len, iteration, slices, repr",
    differs="beyond C++ AMP; negative bounds of slices count from the end, nothing is cut off",
)
def test_numpy_manners():
    raw = numbers(3, 4)
    view = amp.array_view(raw)
    assert np.shares_memory(np.asarray(view), raw) and not np.asarray(view).flags.writeable
    assert not np.shares_memory(np.array(view), raw)
    assert len(view) == 3 and [row.extent for row in view] == [(4,)] * 3
    assert list(view[1]) == [4, 5, 6, 7]
    assert np.array_equal(np.asarray(view[1:, ::2]), raw[1:, ::2])
    assert np.array_equal(np.asarray(view[:-1, -2:]), raw[:-1, -2:])
    with pytest.raises(amp.AmpError, match="0:9 is not inside 0:3"):
        view[0:9]
    assert repr(view) == "array_view(extent(3, 4), int32)"
    assert np.shares_memory(np.from_dlpack(view), raw)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(view)


@row("6", "explain(): what moved when and why", differs="beyond C++ AMP")
def test_explain(accelerator_view):
    view = amp.array_view(numbers(4))
    on(accelerator_view, add_one, view.extent, view)
    assert view[0] == 1
    lines = view.explain().splitlines()
    assert lines[0] == "array_view(extent(4), int32), 16 bytes of numpy's memory"
    assert "1. 16 bytes to" in lines[-2] and "a launch uses them" in lines[-2]
    assert "2. 16 bytes from" in lines[-1] and "test_section_06_array_view.py:" in lines[-1]


@row("6", "a source overlapping itself", differs="read-only views alone may have elements that overlap")
def test_broadcast_sources(accelerator_view):
    rows = np.broadcast_to(numbers(5), (3, 5))
    with pytest.raises(TypeError):
        amp.array_view(rows)
    view, out = amp.array_view(rows, readonly=True), amp.array_view(np.zeros((3, 5), I32))
    on(accelerator_view, assign, out.extent, out, view)
    assert np.array_equal(np.asarray(out), rows)


@row("6", "section, reinterpret_as, view_as and projection in kernels, unchecked on the device")
def test_views_in_kernels(accelerator_view):
    matrix, flat = amp.array_view(numbers(4, 6)), amp.array_view(np.zeros(12, F32))
    out = amp.array_view(np.zeros((2, 3), I32))

    @amp.parallel_for_each(accelerator_view, out.extent)
    def _(i):
        part = matrix.section(amp.index(1, 2), amp.extent(2, 3))
        square = flat.view_as(amp.extent(2, 6))
        square[i] = 1.0
        bits = flat.reinterpret_as(amp.int32)
        out[i] = part[i] + part[i[0]][0] + part.extent[1] * 100 + bits[6 * i[0] + i[1]] % 2

    raw = numbers(4, 6)[1:3, 2:5]
    assert np.array_equal(np.asarray(out), raw + raw[:, :1] + 300)
    assert np.array_equal(np.asarray(flat).reshape(2, 6)[:, :3], np.ones((2, 3)))
