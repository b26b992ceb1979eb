"""The memory model: what is ordered, and what is a race."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import vkamp as amp
from tests.conformance.programs import I32, add_one, numbers, on
from tests.conformance.registry import row


@row("12", "each thread sees its own program order")
def test_program_order(accelerator_view):
    view = amp.array_view(np.zeros(7, I32))

    @amp.parallel_for_each(accelerator_view, view.extent)
    def _(i):
        view[i] = i[0]
        view[i] += 1
        value = view[i] * 10
        view[i] = value + view[i]

    assert np.asarray(view).tolist() == [(k + 1) * 11 for k in range(7)]


@row("12", "within a tile, order by barriers and fences")
def test_order_in_a_tile(accelerator_view):
    view = amp.array_view(numbers(16))

    @amp.parallel_for_each(accelerator_view, view.extent.tile(8))
    def _(t):
        memory = amp.tile_static(8, amp.int32)
        memory[t.local] = view[t]
        for _step in range(3):
            t.barrier.wait_with_tile_static_memory_fence()
            value = memory[(t.local[0] + 1) % 8]
            t.barrier.wait_with_tile_static_memory_fence()  # before it is filled again
            memory[t.local] = value
        view[t] = memory[t.local]

    assert np.array_equal(np.asarray(view), np.roll(numbers(2, 8), -3, 1).ravel())


@row("12", "between tiles only atomics communicate")
def test_between_tiles(accelerator_view):
    total = amp.array_view(np.zeros(1, I32))

    @amp.parallel_for_each(accelerator_view, amp.extent(60).tile(4))
    def _(t):
        amp.atomic_fetch_add(total[0], t.tile[0])

    assert total[0] == 4 * sum(range(15))


@row("12", "launches on one accelerator_view are ordered")
def test_launches_in_order(accelerator_view):
    a = amp.array(amp.extent(9), amp.int32, numbers(9), accelerator_view=accelerator_view)
    b = amp.array(amp.extent(9), amp.int32, accelerator_view=accelerator_view)

    @amp.kernel
    def shift(i, source, target):
        target[i] = source[(i[0] + 1) % 9]

    for _ in range(5):
        on(accelerator_view, shift, a.extent, a, b)
        on(accelerator_view, shift, a.extent, b, a)
    assert np.array_equal(np.asarray(a), np.roll(numbers(9), -10))


@row("12", "read/read and atomic/atomic accesses are compatible")
def test_compatible(accelerator_view):
    source, total = amp.array_view(numbers(5), readonly=True), amp.array_view(np.zeros(2, I32))

    @amp.parallel_for_each(accelerator_view, amp.extent(30))
    def _(i):
        amp.atomic_fetch_add(total[0], source[2] + source[i[0] % 5])
        amp.atomic_fetch_max(total[1], i[0])

    assert np.asarray(total).tolist() == [30 * 2 + 6 * 10, 29]


@row("12", "a race that is certain", differs="a compile error; undefined in C++ AMP")
def test_certain_race(accelerator_view):
    view = amp.array_view(np.zeros(9, I32))
    with pytest.raises(amp.CompileError, match="atomic"):

        @amp.parallel_for_each(accelerator_view, view.extent)
        def _(i):
            view[0] += i[0]


@row("12", "a missing barrier that is certain", differs="a compile error; undefined in C++ AMP")
def test_missing_barrier(accelerator_view):
    view = amp.array_view(numbers(10))
    with pytest.raises(amp.CompileError, match="written by thread .* no barrier that orders tile_static memory"):

        @amp.parallel_for_each(accelerator_view, view.extent.tile(5))
        def _(t):
            memory = amp.tile_static(5, amp.int32)
            memory[t.local] = view[t]
            view[t] = memory[4 - t.local[0]]


@row("12", "plain stores of many threads to one element", differs="a RaceWarning; undefined in C++ AMP")
@pytest.mark.accelerators("swiftshader")  # the warning comes once, when the kernel compiles
def test_plain_stores(accelerator_view):
    view = amp.array_view(np.zeros(9, I32))
    with pytest.warns(amp.RaceWarning, match="all threads store"):

        @amp.parallel_for_each(accelerator_view, view.extent)
        def _(i):
            view[3] = i[0] + 1

    assert 1 <= view[3] <= 9


@row("12", "races at run time", differs="RaceError on the reference accelerator; undefined in C++ AMP")
@pytest.mark.accelerators("reference")
@pytest.mark.filterwarnings("ignore::vkamp.RaceWarning")
def test_races_at_run_time(accelerator_view):
    view = amp.array_view(numbers(9))
    with pytest.raises(amp.RaceError, match="thread"):

        @amp.parallel_for_each(accelerator_view, amp.extent(8))
        def _(i):
            view[i] = view[i + 1]


@row("12", "programs without races run without warnings")
def test_no_false_alarm(accelerator_view):
    view = amp.array_view(numbers(9))
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        @amp.parallel_for_each(accelerator_view, view.extent)
        def _(i):
            if i[0] == 3:
                view[0] = 7

    assert view[0] == 7


@row("12", "host: reads coexist, also with running launches that only read")
def test_host_reads(accelerator_view):
    source = amp.array_view(numbers(5), readonly=True)
    out = amp.array(amp.extent(5), amp.int32, accelerator_view=accelerator_view)

    @amp.kernel
    def take(i, target, values):
        target[i] = values[i]

    on(accelerator_view, take, out.extent, out, source)
    assert source[4] == 4 and np.asarray(out).tolist() == [0, 1, 2, 3, 4]


@row("12", "host: writes after a launch wait for it")
def test_host_writes(accelerator_view):
    view = amp.array_view(numbers(5))
    on(accelerator_view, add_one, view.extent, view)
    view[0] = 100
    on(accelerator_view, add_one, view.extent, view)
    assert np.asarray(view).tolist() == [101, 3, 4, 5, 6]
