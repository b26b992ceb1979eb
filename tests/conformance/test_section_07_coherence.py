"""Coherence: when copies happen, and what they leave alone."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import vkamp as amp
from tests.conformance.programs import F32, I32, U32, add_one, assign, fill, moved, numbers, on
from tests.conformance.registry import row


@row("7", "use makes a view's region current there, copying only if stale")
def test_copies_only_if_stale(accelerator_view):
    view = amp.array_view(numbers(3, 5))
    up, down = moved(accelerator_view)
    for _ in range(3):
        on(accelerator_view, add_one, view.extent, view)
    assert moved(accelerator_view) == (up + 60, down)
    for _ in range(3):
        assert view[1, 1] == 9
    assert moved(accelerator_view) == (up + 60, down + 60)
    on(accelerator_view, add_one, view.extent, view)
    assert moved(accelerator_view) == (up + 60, down + 60)


@row("7", "read-only views never stale other copies")
def test_readers(accelerator_view):
    raw = numbers(4)
    constant = amp.array_view(raw, readonly=True)
    out = amp.array(amp.extent(4), amp.int32, accelerator_view=accelerator_view)
    up, down = moved(accelerator_view)
    for _ in range(3):
        on(accelerator_view, assign, out.extent, out, constant)
        assert constant[3] == 3
    assert moved(accelerator_view) == (up + 16, down)


@row("7", "a captured read-write view counts as written over its whole region")
def test_counts_as_written(accelerator_view):
    raw = numbers(6)
    view = amp.array_view(raw)
    on(accelerator_view, fill, amp.extent(2), view, 9)  # writes two elements of six
    _up, down = moved(accelerator_view)
    assert view[5] == 5
    assert moved(accelerator_view)[1] == down + 24
    assert raw.tolist() == [9, 9, 2, 3, 4, 5]


@row("7", "host access through a read-write view counts as a host write when it writes")
def test_host_writes(accelerator_view):
    view = amp.array_view(numbers(6))
    on(accelerator_view, add_one, view.extent, view)
    view[2] = 100
    on(accelerator_view, add_one, view.extent, view)
    assert np.asarray(view).tolist() == [2, 3, 101, 5, 6, 7]


@row("7", "reading one element of a synchronised view moves nothing")
def test_nothing_moves(accelerator_view):
    view = amp.array_view(numbers(50, 50))
    on(accelerator_view, add_one, view.extent, view)
    view.synchronize()
    before = moved(accelerator_view)
    assert view[7, 9] == 360
    assert moved(accelerator_view) == before


@row("7", "a launch on a section moves no more than that section")
@pytest.mark.parametrize("cut", [(2, 3, 40, 5), (0, 0, 3, 50), (49, 49, 1, 1), (0, 17, 50, 1)])
def test_sections_move_alone(accelerator_view, cut):
    raw = numbers(50, 50)
    whole = amp.array_view(raw)
    part = whole.section(*cut)
    up, down = moved(accelerator_view)
    on(accelerator_view, add_one, part.extent, part)
    # An accelerator that works in numpy's memory itself moves nothing.
    size = 0 if "uses host memory directly" in whole.explain() else cut[2] * cut[3] * 4
    assert moved(accelerator_view) == (up + size, down)
    whole.synchronize()
    assert moved(accelerator_view) == (up + size, down + size)
    expected = numbers(50, 50)
    expected[cut[0] : cut[0] + cut[2], cut[1] : cut[1] + cut[3]] += 1
    assert np.array_equal(raw, expected)


@row("7", "sections of an array move nothing on its own device")
def test_array_sections(accelerator_view):
    a = amp.array(amp.extent(50, 50), amp.int32, numbers(50, 50), accelerator_view=accelerator_view)
    part = a.section(3, 4, 20, 7)
    before = moved(accelerator_view)
    on(accelerator_view, add_one, part.extent, part)
    assert moved(accelerator_view) == before


@row("7", "host access to one view does not publish a disjoint view's pending writes")
@pytest.mark.parametrize("how", ["rows", "columns", "interleaved", "another dtype"])
def test_disjoint(accelerator_view, how):
    raw = numbers(6, 4)
    whole = amp.array_view(raw)
    if how == "rows":
        one, two = whole.section(0, 0, 3, 4), whole.section(3, 0, 3, 4)
    elif how == "columns":
        one, two = whole.section(0, 0, 6, 2), whole.section(0, 2, 6, 2)
    elif how == "interleaved":
        one, two = amp.array_view(raw[:, ::2]), amp.array_view(raw[:, 1::2])
    else:
        flat = amp.array_view(raw.reshape(24))
        one, two = flat.section(0, 8), flat.section(8, 16).reinterpret_as(U32)
    on(accelerator_view, fill, one.extent, one, 70)
    on(accelerator_view, fill, two.extent, two, two.dtype.type(80))
    assert raw.tolist() == numbers(6, 4).tolist()  # nothing came home yet
    first = tuple([0] * one.rank)
    assert one[first if one.rank > 1 else 0] == 70
    assert 80 not in raw and np.count_nonzero(raw == 70) == one.extent.size()
    two.synchronize()
    assert np.count_nonzero(raw == 80) == two.extent.size()


@row("7", "host access publishes the pending writes of overlapping views")
def test_overlapping(accelerator_view):
    raw = numbers(6, 4)
    whole = amp.array_view(raw)
    one = whole.section(0, 0, 4, 4)
    on(accelerator_view, fill, one.extent, one, 70)
    assert whole.section(3, 1, 2, 2)[0, 0] == 70
    bits = amp.array_view(raw.reshape(24)).section(0, 4).reinterpret_as(F32)
    on(accelerator_view, fill, bits.extent, bits, 1.0)
    assert whole[0, 0] == 0x3F800000


@row("7", "copy and array-from-view read the newest and leave home memory unchanged")
def test_copies_leave_home(accelerator_view):
    raw, out = numbers(5), np.zeros(5, I32)
    view = amp.array_view(raw)
    on(accelerator_view, add_one, view.extent, view)
    amp.copy(view, out)
    assert out.tolist() == [1, 2, 3, 4, 5] == np.asarray(amp.array(view)).tolist()
    assert raw.tolist() == [0, 1, 2, 3, 4]


@row("7", "synchronize() writes this view's pending region home, nothing else")
def test_synchronize(accelerator_view):
    raw = numbers(4, 6)
    whole = amp.array_view(raw)
    on(accelerator_view, add_one, whole.extent, whole)
    whole.section(1, 2, 2, 3).synchronize()
    expected = numbers(4, 6)
    expected[1:3, 2:5] += 1
    assert np.array_equal(raw, expected)


@row("7", "after synchronize(read_write) or (write) the owner may modify the buffer")
@pytest.mark.parametrize("access", [amp.access_type_read_write, amp.access_type_write])
def test_synchronize_for_writing(accelerator_view, access):
    raw = numbers(5)
    view = amp.array_view(raw)
    on(accelerator_view, add_one, view.extent, view)
    view.synchronize(access)
    raw[:] = 10
    on(accelerator_view, add_one, view.extent, view)
    assert np.asarray(view).tolist() == [11] * 5


@row("7", "synchronize_async, synchronize_to, synchronize_to_async")
def test_other_forms(accelerator_view):
    raw = numbers(5)
    view = amp.array_view(raw)
    on(accelerator_view, add_one, view.extent, view)
    view.synchronize_async().get()
    assert raw.tolist() == [1, 2, 3, 4, 5]
    other = accelerator_view.accelerator.create_view()
    view.synchronize_to(other)
    before = moved(other)
    on(other, add_one, view.extent, view)
    assert moved(other) == before
    view.synchronize_to_async(accelerator_view).get()
    assert np.asarray(view).tolist() == [2, 3, 4, 5, 6]


@row("7", "refresh() after a direct modification: every view sees the new data")
def test_refresh(accelerator_view):
    raw = numbers(6)
    whole = amp.array_view(raw)
    part = whole.section(2, 3)
    on(accelerator_view, add_one, whole.extent, whole)
    whole.synchronize()
    raw[:] = 50
    whole.refresh()
    on(accelerator_view, add_one, part.extent, part)
    assert np.asarray(whole).tolist() == [50, 50, 51, 51, 51, 50]


@row("7", "refresh() of array-backed and source-less views loses nothing")
@pytest.mark.parametrize("backing", ["array", "own"])
def test_refresh_loses_nothing(accelerator_view, backing):
    if backing == "array":
        view = amp.array_view(amp.array(amp.extent(5), data=numbers(5), accelerator_view=accelerator_view))
    else:
        view = amp.array_view(amp.extent(5), amp.int32)
        amp.copy(numbers(5), view)
    on(accelerator_view, add_one, view.extent, view)
    view.refresh()
    assert np.asarray(view).tolist() == [1, 2, 3, 4, 5]


@row("7", "discard_data(): no upload at next use, transient")
def test_discard(accelerator_view):
    view = amp.array_view(numbers(40))
    view.discard_data()
    before = moved(accelerator_view)
    on(accelerator_view, fill, view.extent, view, 5)
    assert moved(accelerator_view) == before
    assert np.all(np.asarray(view) == 5)


@row("7", "discard_data() after device writes cancels their write-back")
@pytest.mark.parametrize("part", [False, True])
def test_discard_cancels(accelerator_view, part):
    raw = numbers(6)
    whole = amp.array_view(raw)
    on(accelerator_view, fill, whole.extent, whole, 5)
    (whole.section(2, 3) if part else whole).discard_data()
    whole.synchronize()
    assert raw.tolist() == ([5, 5, 2, 3, 4, 5] if part else [0, 1, 2, 3, 4, 5])


@row("7", "destroying the last view synchronises its home, earlier ones do nothing")
def test_last_view(accelerator_view):
    raw = numbers(5)
    first = amp.array_view(raw)
    second = first.section(1, 3)
    on(accelerator_view, add_one, first.extent, first)
    del first
    gc.collect()
    assert raw.tolist() == [0, 1, 2, 3, 4]
    del second
    gc.collect()
    assert raw.tolist() == [1, 2, 3, 4, 5]


@row("7", "kernel closures do not keep homes alive")
def test_closures(accelerator_view):
    raw = numbers(5)
    view = amp.array_view(raw)

    @amp.parallel_for_each(accelerator_view, view.extent)
    def _(i):
        view[i] += 1  # noqa: F821

    del view, _
    gc.collect()
    assert raw.tolist() == [1, 2, 3, 4, 5]


@row("7", "views from a common source alias: on the host and across launches")
def test_aliases(accelerator_view):
    whole = amp.array_view(numbers(4, 6))
    left, middle = whole.section(0, 0, 4, 4), whole.section(0, 2, 4, 4)
    on(accelerator_view, add_one, left.extent, left)
    on(accelerator_view, add_one, middle.extent, middle)
    middle[0, 0] = 100
    assert left[0, 2] == 100 == whole[0, 2]
    expected = numbers(4, 6)
    expected[:, :4] += 1
    expected[:, 2:] += 1
    expected[0, 2] = 100
    assert np.array_equal(np.asarray(whole), expected)


@row("7", "overlapping writable views captured together share storage")
def test_overlap_in_one_launch(accelerator_view):
    whole = amp.array_view(np.zeros(8, I32))
    low, high = whole.section(0, 6), whole.section(2, 6)

    @amp.parallel_for_each(accelerator_view, amp.extent(2))
    def _(i):
        low[i + 4] = 10
        high[i[0]] = 20

    assert np.asarray(whole).tolist() == [0, 0, 20, 20, 10, 10, 0, 0]


@row("7", "one array under two names is one storage")
def test_one_array_twice(accelerator_view):
    a = amp.array(amp.extent(6), amp.int32, numbers(6), accelerator_view=accelerator_view)

    @amp.kernel
    def pass_on(t, first, second):
        first[t] = t.local[0] * 7
        t.barrier.wait()
        value = second[(t.local[0] + 1) % 6]
        t.barrier.wait()
        second[t] = value

    on(accelerator_view, pass_on, a.extent.tile(6), a, a)
    assert np.asarray(a).tolist() == [7, 14, 21, 28, 35, 0]


@row(
    "7",
    "two independent top-level views over one buffer",
    differs="they are one home and cohere; unsupported in C++ AMP",
)
def test_two_top_level_views(accelerator_view):
    raw = numbers(6)
    one, two, shifted = amp.array_view(raw), amp.array_view(raw), amp.array_view(raw[2:])
    on(accelerator_view, add_one, one.extent, one)
    on(accelerator_view, add_one, shifted.extent, shifted)
    assert np.asarray(two).tolist() == [1, 2, 4, 5, 6, 7]


@row("7", "each accelerator_view is a location: disjoint sections written on several all come home")
def test_several_locations(accelerator_view):
    raw = numbers(4, 6)
    whole = amp.array_view(raw)
    places = [accelerator_view, accelerator_view.accelerator.create_view(), amp.accelerator("reference").create_view()]
    for k, place in enumerate(places):
        part = whole.section(0, 2 * k, 4, 2)
        on(place, fill, part.extent, part, 100 + k)
    whole.synchronize()
    assert np.array_equal(raw, np.tile(np.repeat([100, 101, 102], 2), (4, 1)))


@row("7", "use on another view of the same device sees earlier writes")
def test_other_views_of_a_device(accelerator_view):
    view, other = amp.array_view(numbers(5)), accelerator_view.accelerator.create_view()
    for k in range(6):
        on(other if k % 2 else accelerator_view, add_one, view.extent, view)
    assert np.asarray(view).tolist() == [6, 7, 8, 9, 10]


@row("7", "an array-backed view on its own device is the array; from the host it is fetched and written back")
def test_array_backed(accelerator_view):
    a = amp.array(amp.extent(5), amp.int32, numbers(5), accelerator_view=accelerator_view)
    view = amp.array_view(a)
    view[1] = 50
    on(accelerator_view, add_one, a.extent, a)
    assert np.asarray(a).tolist() == [1, 51, 3, 4, 5]
    elsewhere = amp.accelerator("reference").create_view()
    on(elsewhere, add_one, view.extent, view)
    on(accelerator_view, add_one, a.extent, a)
    assert np.asarray(view).tolist() == [3, 53, 5, 6, 7]
