"""Captures: what is rejected, and captures beside check mode, threads and tasks."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.captures import add, fill, listed, on, reads_in_a_thread, scale


@pytest.fixture(autouse=True)
def unchecked(monkeypatch):
    """Replays as they usually are; those that are checked say so."""
    monkeypatch.setenv("VKAMP_CHECK", "0")


# -- what a capture refuses ---------------------------------------------------------------------


def test_host_accesses_are_refused(accelerator_view):
    array, view = on(accelerator_view, range(4)), amp.array_view(np.arange(4, dtype=np.int32))
    actions = {
        "the host reads": [
            lambda: np.asarray(array),
            lambda: np.asarray(view),
            lambda: view[1],
            lambda: list(view),
            lambda: amp.array(array),
        ],
        # A GPU's memory itself.
        "(the host reads|another library uses)": [lambda: np.from_dlpack(array)],
        "the host writes": [
            lambda: view.data(),
            lambda: view.__setitem__(0, 1),
            lambda: on(accelerator_view, [1]),
        ],
        r"synchronize\(\) of": [view.synchronize],
        r"synchronize_async\(\) of": [view.synchronize_async],
        r"synchronize_to\(\) of": [lambda: view.synchronize_to(accelerator_view)],
        r"synchronize_to_async\(\) of": [lambda: view.synchronize_to_async(accelerator_view)],
        r"refresh\(\) of": [view.refresh],
        r"wait\(\) of": [accelerator_view.wait],
        r"create_marker\(\) of": [accelerator_view.create_marker],
        r"amp.check\(\)": [lambda: amp.check(array.extent, scale, array, 2)],
        r"amp.stream\(\)": [lambda: amp.stream(scale, amp.extent(4), (np.zeros(4, np.int32), 2))],
    }
    with amp.capture(accelerator_view) as graph:
        for what, each in actions.items():
            for action in each:
                with pytest.raises(amp.AmpError, match=f"{what}.*inside amp.capture"):
                    action()
        accelerator_view.flush()  # harmless
        assert repr(graph).endswith("is being captured>")
    assert len(graph) == 0
    assert view[3] == 3


def test_captures_do_not_nest(accelerator_view):
    a = on(accelerator_view, [1, 2])
    with amp.capture() as inner:
        amp.parallel_for_each(a.extent, scale, a, 2)
    with amp.capture() as outer:
        with pytest.raises(amp.AmpError, match=r"amp.capture\(\) inside amp.capture\(\)"), amp.capture():
            pass
        with pytest.raises(amp.AmpError, match=r"replay\(\) of <Graph on .*: scale> inside amp.capture"):
            inner.replay()
        amp.parallel_for_each(a.extent, scale, a, 3)
    outer.replay()
    assert listed(a) == [3, 6]


def test_a_graph_before_its_end(accelerator_view):
    with amp.capture(accelerator_view) as graph:

        def replay():
            with pytest.raises(amp.AmpError, match="the capture of this graph has not ended"):
                graph.replay()

        thread = threading.Thread(target=replay)
        thread.start()
        thread.join()


def test_an_exception_leaves_nothing(accelerator_view):
    a = on(accelerator_view, [1, 2])
    graphs = []

    def interrupted():
        with amp.capture() as graph:
            graphs.append(graph)
            amp.parallel_for_each(a.extent, scale, a, 2)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    (graph,) = graphs
    assert len(graph) == 0
    with pytest.raises(amp.AmpError, match="ended with an exception, and nothing was recorded"):
        graph.replay()
    amp.parallel_for_each(a.extent, scale, a, 3)  # not captured any more
    assert listed(a) == [3, 6]


def test_a_launch_that_is_refused_is_not_recorded(accelerator_view):
    a = on(accelerator_view, [1, 2])
    constant = amp.array_view(np.zeros(2, np.int32), readonly=True)
    packed = amp.array_view(np.zeros(3, np.dtype([("x", np.uint8), ("y", np.int32)]))["y"])
    with amp.capture() as graph:
        amp.parallel_for_each(a.extent, scale, a, 2)
        with pytest.raises(amp.InvalidComputeDomainError):
            amp.parallel_for_each(amp.extent(0), scale, a, 2)
        with pytest.raises(amp.CompileError):
            amp.parallel_for_each(a.extent, scale, a, "text")
        with pytest.raises(amp.CompileError, match="readonly=True"):
            amp.parallel_for_each(a.extent, scale, constant, 2)
        with pytest.raises(amp.AmpError, match="`values` are not a whole number of elements apart"):
            amp.parallel_for_each(packed.extent, scale, packed, 2)
    graph.replay()
    assert (len(graph), listed(a)) == (1, [2, 4])


@amp.kernel
def count(idx, values):
    amp.atomic_fetch_add(values[0], 1)


@pytest.mark.parametrize("make", [lambda view: view, lambda view: view.section(1, 3), lambda view: view[1:]])
def test_writing_a_read_only_view_is_refused_when_it_is_recorded(accelerator_view, make):
    raw = np.arange(4, dtype=np.int32)
    constant = make(amp.array_view(raw, readonly=True))
    source = on(accelerator_view, range(constant.extent[0]))

    def store():
        @amp.parallel_for_each(constant.extent)
        def kernel(idx):
            constant[idx] = 1

    for write in (
        lambda: amp.parallel_for_each(constant.extent, scale, constant, 2),
        lambda: amp.parallel_for_each(constant.extent, add, source, constant),
        lambda: amp.parallel_for_each(constant.extent, count, constant),
        lambda: amp.copy(source, constant),
        lambda: source.copy_to(constant),
        store,
    ):
        with amp.capture() as graph, pytest.raises((amp.CompileError, TypeError), match="read-only"):
            write()
        assert len(graph) == 0
        graph.replay()
    assert raw.tolist() == [0, 1, 2, 3]


def test_a_graph_has_one_accelerator_view(accelerator_view):
    a, raw = on(accelerator_view, [1, 2]), amp.array_view(np.zeros(2, np.int32))
    other = accelerator_view.accelerator.create_view()
    with amp.capture() as graph:
        amp.parallel_for_each(a.extent, scale, a, 2)
        with pytest.raises(amp.AmpError, match="a graph has one accelerator_view"):
            amp.parallel_for_each(other, raw.extent, fill, raw, 2)
        amp.parallel_for_each(raw.extent, fill, raw, 5)  # where the graph is
    assert graph.accelerator_view == accelerator_view
    graph.replay()
    assert (listed(a), listed(raw)) == ([2, 4], [5, 5])
    with pytest.raises(TypeError, match="capture takes an accelerator_view"), amp.capture("gpu"):
        pass
    with pytest.raises(amp.UnsupportedFeatureError, match="runs no kernel"), amp.capture(amp.accelerator("cpu")):
        amp.parallel_for_each(raw.extent, fill, raw, 2)


# -- check mode, threads, tasks -----------------------------------------------------------------


def test_replays_under_check_mode(accelerator_view, monkeypatch):
    a, index = on(accelerator_view, [0] * 4), on(accelerator_view, [0, 1, 2, 3])

    with amp.capture() as graph:

        @amp.parallel_for_each(a.extent)
        def _(idx):
            a[index[idx]] = 7

    monkeypatch.setenv("VKAMP_CHECK", "1")
    graph.replay()
    assert listed(a) == [7] * 4
    amp.copy(np.array([0, 4, 1, 2], np.int32), index)
    with pytest.raises(amp.CheckError, match="index 4 of a is out of bounds"):
        graph.replay()


def test_replays_of_many_threads(accelerator_view):
    a = on(accelerator_view, [0] * 33)
    one = on(accelerator_view, [1] * 33)
    with amp.capture() as graph:
        amp.parallel_for_each(a.extent, add, one, a)
    threads = [threading.Thread(target=lambda: [graph.replay() for _ in range(10)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert listed(a) == [40] * 33


def test_a_thread_that_looks_on(accelerator_view):
    """A read in between gives the result of some replay, and the last read gives that of the last replay."""
    view, one = amp.array_view(np.zeros(9, np.int32)), on(accelerator_view, [1] * 9)
    with amp.capture(accelerator_view) as graph:
        amp.parallel_for_each(view.extent, add, one, view)
    with reads_in_a_thread(view) as seen:
        for _ in range(60):
            graph.replay()
    assert listed(view) == [60] * 9
    assert all(len(set(row)) == 1 for row in seen)
    assert [row[0] for row in seen] == sorted(row[0] for row in seen)


def test_other_threads_are_not_captured(accelerator_view):
    a, b = on(accelerator_view, [1, 1]), on(accelerator_view, [1, 1])
    with amp.capture() as graph:
        amp.parallel_for_each(a.extent, scale, a, 2)
        thread = threading.Thread(target=lambda: amp.parallel_for_each(b.extent, scale, b, 5))
        thread.start()
        thread.join()
    assert (len(graph), listed(b)) == (1, [5, 5])


def test_tasks_that_outlive_the_capture(accelerator_view):
    a = on(accelerator_view, [1, 1])

    async def launch_later(event):
        await event.wait()
        amp.parallel_for_each(a.extent, scale, a, 5)

    async def main():
        event = asyncio.Event()
        with amp.capture() as graph:
            amp.parallel_for_each(a.extent, scale, a, 2)
            task = asyncio.create_task(launch_later(event))
        event.set()
        await task
        return graph

    graph = asyncio.run(main())
    assert (len(graph), listed(a)) == (1, [5, 5])
