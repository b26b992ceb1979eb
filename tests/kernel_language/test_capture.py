"""Captures: a replay has the effect of the single launches."""

from __future__ import annotations

import gc
import random
import weakref

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language import captures
from tests.kernel_language.captures import STEP, add, fill, listed, mirror, on, scale
from vkamp.lang.container import bindable


@pytest.fixture(autouse=True)
def unchecked(monkeypatch):
    """Replays as they usually are; those that are checked say so."""
    monkeypatch.setenv("VKAMP_CHECK", "0")


# -- what a replay does -------------------------------------------------------------------------


def test_nothing_runs_before_the_replay(accelerator_view):
    a, b = on(accelerator_view, range(7)), on(accelerator_view, [10] * 7)
    with amp.capture() as graph:
        amp.parallel_for_each(a.extent, scale, a, 2)
        amp.parallel_for_each(a.extent, add, a, b)
    assert len(graph) == 2
    assert graph.accelerator_view == accelerator_view
    assert listed(a) == list(range(7))
    graph.replay()
    assert listed(a) == [0, 2, 4, 6, 8, 10, 12]
    assert listed(b) == [10, 12, 14, 16, 18, 20, 22]
    graph()
    graph()
    assert listed(a) == [0, 8, 16, 24, 32, 40, 48]
    assert listed(b) == [10 + 14 * i for i in range(7)]


def test_tile_programs_and_closures(accelerator_view):
    a, b = on(accelerator_view, range(12)), on(accelerator_view, [0] * 12)
    factor = 5
    with amp.capture(accelerator_view) as graph:
        amp.parallel_for_each(a.extent.tile(4), mirror, a, b)

        @amp.parallel_for_each(b.extent)
        def _(idx):
            b[idx] = b[idx] * factor

    factor = 7  # captured by value, when it was captured
    for _ in range(2):
        graph.replay()
    assert listed(b) == [5 * (4 * (i // 4) + 3 - i % 4 + STEP) for i in range(12)]


def test_numbers_and_globals_stay_what_they_were(accelerator_view, monkeypatch):
    a, b = on(accelerator_view, range(4)), on(accelerator_view, [0] * 4)
    number = np.array(3, np.int32)
    with amp.capture(accelerator_view) as graph:
        amp.parallel_for_each(a.extent, scale, a, int(number))
        amp.parallel_for_each(a.extent.tile(2), mirror, a, b)
    number += 1
    monkeypatch.setattr(captures, "STEP", 100)
    graph.replay()
    assert listed(b) == [6, 3, 12, 9]
    amp.parallel_for_each(a.extent.tile(2), mirror, a, b)
    assert listed(b) == [103, 100, 109, 106]


def test_replays_and_launches_keep_their_order(accelerator_view):
    a = on(accelerator_view, [1] * 70)
    with amp.capture(accelerator_view) as graph:
        amp.parallel_for_each(a.extent, scale, a, 2)
        amp.parallel_for_each(a.extent, add, a, a)
    expected = 1
    for step in range(4):
        amp.parallel_for_each(accelerator_view, a.extent, scale, a, 3)
        graph.replay()
        expected *= 12
        if step % 2:
            graph.replay()
            expected *= 4
    assert listed(a) == [expected] * 70


def test_two_graphs_on_the_same_memory(accelerator_view):
    raw = np.ones(9, np.int32)
    view = amp.array_view(raw)
    with amp.capture(accelerator_view) as double:
        amp.parallel_for_each(view.extent, scale, view, 2)
    with amp.capture(accelerator_view) as triple:
        amp.parallel_for_each(view.extent, scale, view, 3)
    for graph in (double, triple, triple, double, double):
        graph.replay()
    assert listed(view) == [72] * 9
    triple.replay()
    view.synchronize()
    assert raw.tolist() == [216] * 9


def test_an_empty_capture(accelerator_view):
    with amp.capture() as graph:
        pass
    assert (len(graph), graph.accelerator_view) == (0, None)
    graph.replay()
    with amp.capture(accelerator_view) as graph:
        pass
    assert graph.accelerator_view == accelerator_view
    graph.replay()


def test_many_launches(accelerator_view):
    a, others = on(accelerator_view, [1] * 5), [on(accelerator_view, [k] * 5) for k in range(30)]
    with amp.capture(accelerator_view) as graph:
        for other in others:
            amp.parallel_for_each(a.extent, add, a, other)
        for other in others:
            amp.parallel_for_each(a.extent, add, other, a)
    graph.replay()
    expected = 1 + sum(k + 1 for k in range(30))
    assert listed(a) == [expected] * 5
    graph.replay()
    assert listed(others[7]) == [8 + expected] * 5


def test_a_graph_keeps_its_containers_and_lets_them_go(accelerator_view):
    raw = np.arange(6, dtype=np.int32)
    view = amp.array_view(raw)
    with amp.capture(accelerator_view) as graph:
        amp.parallel_for_each(view.extent, scale, view, 2)
    gone: list[bool] = []
    weakref.finalize(view, gone.append, True)
    del view
    gc.collect()
    assert gone == []
    graph.replay()
    graph.replay()
    del graph
    gc.collect()
    assert gone == [True]
    assert raw.tolist() == [0, 4, 8, 12, 16, 20]  # came home with the last view


# -- coherence ----------------------------------------------------------------------------------


def test_the_host_changes_inputs_between_replays(accelerator_view):
    raw, out = np.arange(6, dtype=np.int32), np.zeros(6, np.int32)
    source, target = amp.array_view(raw), amp.array_view(out)
    with amp.capture(accelerator_view) as graph:
        amp.parallel_for_each(source.extent, add, source, target)
    graph.replay()
    source[2] = 100
    graph.replay()
    assert listed(target) == [0, 2, 102, 6, 8, 10]
    graph.replay()
    raw[5] = -10
    source.refresh()
    target[0] = 1000
    graph.replay()
    target.synchronize()
    assert out.tolist() == [1000, 4, 302, 12, 16, 5]


def test_what_was_read_once_is_not_taken_for_the_newest(accelerator_view):
    """The host looks after every replay, at all or at a part."""
    raw = np.ones(8, np.int32)
    view = amp.array_view(raw)
    with amp.capture(accelerator_view) as graph:
        amp.parallel_for_each(view.extent, scale, view, 2)
    for step in range(1, 7):
        graph.replay()
        if step % 3 == 0:
            assert view[3] == 2**step
        elif step % 3 == 1:
            assert listed(view.section(2, 3)) == [2**step] * 3
    assert listed(view) == [64] * 8


def test_other_launches_change_inputs_between_replays(accelerator_view):
    raw = np.arange(5, dtype=np.int32)
    view, total = amp.array_view(raw), amp.array_view(np.zeros(5, np.int32))
    with amp.capture(accelerator_view) as graph:
        amp.parallel_for_each(view.extent, add, view, total)
    elsewhere = accelerator_view.accelerator.create_view()
    graph.replay()
    amp.parallel_for_each(elsewhere, view.extent, scale, view, 10)
    graph.replay()
    amp.parallel_for_each(accelerator_view, view.extent, scale, view, 10)
    graph.replay()
    graph.replay()
    assert listed(total) == [i * (1 + 10 + 100 + 100) for i in range(5)]


def test_outputs_are_newest_on_the_device(accelerator_view):
    raw = np.zeros(5, np.int32)
    view = amp.array_view(raw)
    elsewhere = accelerator_view.accelerator.create_view()
    with amp.capture(accelerator_view) as graph:
        amp.parallel_for_each(view.extent, fill, view, 7)
    for _ in range(3):
        amp.parallel_for_each(elsewhere, view.extent, fill, view, 1)
        graph.replay()
        amp.parallel_for_each(elsewhere, view.extent, scale, view, 2)
        assert listed(view) == [14] * 5
        graph.replay()
        assert listed(view) == [7] * 5


def test_sections_leave_their_neighbours_alone(accelerator_view):
    raw = np.arange(48, dtype=np.int32).reshape(6, 8)
    whole = amp.array_view(raw)
    with amp.capture(accelerator_view) as graph:
        amp.parallel_for_each(whole[1:3, 2:5].extent, scale, whole[1:3, 2:5], 10)
        amp.parallel_for_each(whole[1:3, 5:7].extent, scale, whole[1:3, 5:7], 100)
        amp.parallel_for_each(whole[0].extent, add, whole[5], whole[0])
    expected = raw.copy()
    for step in range(3):
        graph.replay()
        expected[1:3, 2:5] *= 10
        expected[1:3, 5:7] *= 100
        expected[0] += expected[5]
        whole[4, step] = -step
        expected[4, step] = -step
    assert listed(whole) == expected.tolist()


def test_memory_that_becomes_part_of_more(accelerator_view):
    """A view that is made later joins the graph's memory with adjacent memory, so that its address changes."""
    raw = np.arange(12, dtype=np.int32)
    part = amp.array_view(raw[4:8])
    with amp.capture(accelerator_view) as graph:
        amp.parallel_for_each(part.extent, scale, part, 2)
    graph.replay()
    whole = amp.array_view(raw)
    amp.parallel_for_each(accelerator_view, whole.extent, scale, whole, 10)
    graph.replay()
    graph.replay()
    assert listed(whole) == [0, 10, 20, 30, 320, 400, 480, 560, 80, 90, 100, 110]


def test_containers_that_become_one_memory(accelerator_view, monkeypatch):
    """What is compiled depends on what shares memory with what; it must still mean what was captured."""
    raw = np.arange(12, dtype=np.int32)
    one, other = amp.array_view(raw[2:6]), amp.array_view(raw[8:12])
    with amp.capture(accelerator_view) as graph:
        amp.parallel_for_each(one.extent.tile(2), mirror, one, other)
    graph.replay()
    joined = amp.array_view(raw[5:9])
    graph.replay()
    assert listed(joined) == [5, 6, 7, 6]
    assert listed(other) == [6, 5, 8, 7]
    joined[0] = 50
    whole = amp.array_view(raw)
    with monkeypatch.context() as patch:
        patch.setattr(captures, "STEP", STEP + 1)
        with pytest.raises(amp.AmpError, match="mirror: .* globals that it was compiled with have changed"):
            graph.replay()
    assert listed(whole)[8:] == [6, 5, 8, 7]
    graph.replay()
    assert listed(whole)[8:] == [6, 5, 53, 7]


def test_discarded_contents_are_not_uploaded(accelerator_view):
    raw = np.full(1000, 5, np.int32)
    view = amp.array_view(raw)
    with amp.capture(accelerator_view) as graph:
        view.discard_data()
        amp.parallel_for_each(view.extent, fill, view, 3)
        view.discard_data()  # its launches have been recorded: nothing to save
        amp.parallel_for_each(view.extent, scale, view, 2)
    before = accelerator_view.statistics.uploaded_bytes
    for _ in range(3):
        graph.replay()
        assert view[999] == 6
        view[0] = 1
    assert accelerator_view.statistics.uploaded_bytes == before
    graph.replay()
    assert listed(view) == [6] * 1000


def test_discarding_between_replays(accelerator_view):
    raw = np.full(6, 5, np.int32)
    view = amp.array_view(raw)
    with amp.capture(accelerator_view) as graph:
        amp.parallel_for_each(view.extent, fill, view, 3)
    graph.replay()
    view.discard_data()
    graph.replay()
    assert listed(view) == [3] * 6


def test_repeated_replays_move_nothing(accelerator_view):
    source, target = amp.array_view(np.arange(100, dtype=np.int32)), on(accelerator_view, [0] * 100)
    with amp.capture(accelerator_view) as graph:
        amp.parallel_for_each(source.extent, add, source, target)
    graph.replay()
    accelerator_view.wait()
    before = accelerator_view.statistics
    for _ in range(20):
        graph.replay()
    accelerator_view.wait()
    after = accelerator_view.statistics
    assert after.dispatches == before.dispatches + 20
    assert (after.uploads, after.downloads) == (before.uploads, before.downloads)
    assert (after.allocations, after.pipelines) == (before.allocations, before.pipelines)
    assert listed(target) == [21 * i for i in range(100)]


def test_sections_side_by_side_need_no_barrier(accelerator):
    """Blocks of a matrix that nothing shares run together; by the engines that have barriers."""
    view = accelerator.create_view()
    matrix = amp.array_view(np.ones((8, 12), np.int32))
    with amp.capture(view) as graph:
        for row in (0, 4):
            for column in (0, 4, 8):
                block = matrix.section(row, column, 4, 4)
                amp.parallel_for_each(block.extent, scale, block, row + column + 1)
    graph.replay()
    before = view.statistics.barriers
    graph.replay()
    # One behind the replay before; the validation layers know whole buffers only.
    assert view.statistics.barriers - before <= 1 or accelerator.is_debug
    assert listed(matrix) == [[(4 * (i // 4) + 4 * (j // 4) + 1) ** 2 for j in range(12)] for i in range(8)]


# -- copies -------------------------------------------------------------------------------------


def test_copies_are_recorded(accelerator_view):
    a, b = on(accelerator_view, range(10)), on(accelerator_view, [0] * 10)
    view = amp.array_view(np.zeros(10, np.int32))
    with amp.capture() as graph:
        amp.copy(a, b)
        b.copy_to(view)
        amp.parallel_for_each(b.extent, scale, b, 2)
        amp.copy(amp.array_view(b)[2:5], a.section(7, 3))
    assert (len(graph), graph.accelerator_view) == (4, accelerator_view)
    graph.replay()
    assert listed(view) == list(range(10))
    assert listed(a) == [0, 1, 2, 3, 4, 5, 6, 4, 6, 8]
    graph.replay()
    assert listed(b) == [0, 2, 4, 6, 8, 10, 12, 8, 12, 16]
    assert listed(a)[7:] == [4, 6, 8]


@pytest.mark.parametrize("shift", [0, 1, 5, -3])
def test_copies_of_overlapping_elements(accelerator_view, shift):
    raw = np.arange(40, dtype=np.int32)
    view = amp.array_view(raw)
    source, target = view.section(10, 20), view.section(10 + shift, 20)
    with amp.capture(accelerator_view) as graph:
        amp.copy(source, target)
    graph.replay()
    expected = raw.copy()
    expected[10 + shift : 30 + shift] = raw[10:30].copy()
    assert listed(view) == expected.tolist()


@pytest.mark.parametrize("dtype", [amp.float2, amp.float3, np.dtype([("a", np.int32), ("b", np.float32, (2,))])])
def test_copies_of_elements_of_several_words(accelerator_view, dtype):
    source, target = (np.zeros((4, 6), dtype) for _ in range(2))
    source.view(np.int32)[...] = np.arange(source.nbytes // 4).reshape(4, -1)
    one = amp.array_view(source.view(np.float32), dtype=dtype) if source.dtype.kind != "V" else amp.array_view(source)
    other = amp.array_view(target.view(np.float32), dtype=dtype) if target.dtype.kind != "V" else amp.array_view(target)
    with amp.capture(accelerator_view) as graph:
        amp.copy(one.section(amp.index(1, 2), amp.extent(2, 3)), other.section(amp.index(2, 1), amp.extent(2, 3)))
        amp.copy(one[0], other[1])
    graph.replay()
    other.synchronize()
    expected = np.zeros_like(target)
    expected[2:4, 1:4] = source[1:3, 2:5]
    expected[1] = source[0]
    assert target.tobytes() == expected.tobytes()


def test_copies_of_every_second_element(accelerator_view):
    source, target = np.arange(30, dtype=np.float32).reshape(5, 6), np.zeros((5, 6), np.float32)
    view = amp.array_view(target)
    with amp.capture(accelerator_view) as graph:
        amp.copy(amp.array_view(source[::2, 1::2], readonly=True), view[1:4, ::2])
    graph.replay()
    expected = np.zeros((5, 6), np.float32)
    expected[1:4, ::2] = source[::2, 1::2]
    assert listed(view) == expected.tolist()


def test_copies_that_no_copy_would_do(accelerator_view):
    a, b = on(accelerator_view, range(4)), on(accelerator_view, range(5))
    constant = amp.array_view(np.zeros(4, np.int32), readonly=True)
    with amp.capture(accelerator_view) as graph:
        with pytest.raises(amp.AmpError, match="extents differ"):
            amp.copy(a, b)
        with pytest.raises(TypeError, match="read-only"):
            amp.copy(a, constant)
        with pytest.raises(TypeError, match="element types differ"):
            amp.copy(a, amp.array(amp.extent(4), amp.float32, accelerator_view=accelerator_view))
        for host in (np.zeros(4, np.int32), [1, 2, 3, 4]):
            with pytest.raises(amp.AmpError, match="the host writes array.* inside amp.capture"):
                amp.copy(host, a)
        with pytest.raises(amp.AmpError, match="the host reads array.* inside amp.capture"):
            amp.copy(a, np.zeros(4, np.int32))
        with pytest.raises(amp.AmpError, match=r"copy_async\(\) inside amp.capture"):
            amp.copy_async(a, on)
    assert len(graph) == 0


# -- at random ----------------------------------------------------------------------------------


def _random_step(choose, views, state):
    """A launch or a copy on two of the views, and what it does to their values in numpy."""
    one, other = choose.randrange(len(views)), choose.randrange(len(views))
    rows, columns = (min(views[one].extent[d], views[other].extent[d]) for d in range(2))
    rows, columns = choose.randrange(1, rows + 1), choose.randrange(1, columns + 1)
    source, target = (views[k].section(amp.index(0, 0), amp.extent(rows, columns)) for k in (one, other))
    number = choose.randrange(-2, 3)
    kind = choose.choice(["copy", "scale", "add"])

    def launch():
        if kind == "copy":
            amp.copy(source, target)
        elif kind == "scale":
            amp.parallel_for_each(target.extent, scale, target, number)
        elif not bindable(source).shares(bindable(target)):
            amp.parallel_for_each(target.extent, add, source, target)

    def expect():
        if kind == "copy":
            state[other][:rows, :columns] = state[one][:rows, :columns].copy()
        elif kind == "scale":
            state[other][:rows, :columns] *= number
        elif not bindable(source).shares(bindable(target)):
            state[other][:rows, :columns] += state[one][:rows, :columns]

    return launch, expect


@pytest.mark.parametrize("seed", range(6))
def test_random_graphs(accelerator_view, seed):
    """Sections of a few matrices, which overlap, in graphs among host accesses, against numpy."""
    choose = random.Random(seed)
    raw = np.arange(11 * 13, dtype=np.int32).reshape(11, 13)
    expected = raw.copy()
    whole = amp.array_view(raw)
    boxes = [(0, 0, 4, 5), (4, 0, 4, 5), (0, 5, 6, 5), (2, 3, 5, 6), (6, 5, 5, 8), (0, 12, 9, 1), (10, 0, 1, 13)]
    views = [whole.section(*box) for box in boxes]
    state = [expected[i : i + n, j : j + m] for i, j, n, m in boxes]
    graphs = []
    for _ in range(25):
        action = choose.randrange(5)
        if action == 0 or not graphs:
            steps = [_random_step(choose, views, state) for _ in range(choose.randrange(1, 7))]
            with amp.capture(accelerator_view) as graph:
                for launch, _ in steps:
                    launch()
            graphs.append((graph, steps))
        elif action < 4:
            graph, steps = choose.choice(graphs)
            for _ in range(choose.randrange(1, 4)):
                graph.replay()
                for _, expect in steps:
                    expect()
        else:
            which = choose.randrange(len(views))
            np.testing.assert_array_equal(np.asarray(views[which]), state[which])
            if choose.random() < 0.5:
                views[which][0, 0] = state[which][0, 0] = choose.randrange(100)
    np.testing.assert_array_equal(np.asarray(whole), expected)


def test_captures_of_launches_that_ran(accelerator_view, monkeypatch):
    """A capture takes over how a launch was prepared whose containers were alike: not its containers, its numbers or
    the globals of that time."""
    first, target = on(accelerator_view, range(8)), on(accelerator_view, [0] * 8)
    amp.parallel_for_each(accelerator_view, first.extent, scale, first, 2)
    amp.parallel_for_each(accelerator_view, amp.extent(8).tile(4), mirror, first, target)
    assert listed(target) == [9, 7, 5, 3, 17, 15, 13, 11]
    kept = weakref.ref(first)
    del first
    assert kept() is None
    monkeypatch.setitem(mirror.function.__globals__, "STEP", 100)
    second, other = on(accelerator_view, range(8)), on(accelerator_view, [0] * 8)
    with amp.capture() as graph:
        amp.parallel_for_each(accelerator_view, second.extent, scale, second, 5)
        amp.parallel_for_each(accelerator_view, amp.extent(8).tile(4), mirror, second, other)
        amp.parallel_for_each(accelerator_view, second.extent, add, second, other)
        with pytest.raises(amp.AmpError):
            amp.parallel_for_each(accelerator_view, second.extent, scale, second, 2**40)
    graph()
    assert listed(second) == [5 * k for k in range(8)]
    assert listed(other) == [115, 115, 115, 115, 155, 155, 155, 155]
    graph()
    assert listed(second) == [25 * k for k in range(8)]
    assert listed(target) == [9, 7, 5, 3, 17, 15, 13, 11]
