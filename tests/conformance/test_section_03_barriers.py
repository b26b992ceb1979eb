"""Barriers and fences: what they order, their scope, and tile-uniform control flow."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.conformance.programs import I32, numbers, on
from tests.conformance.registry import row


@amp.kernel
def exchange_tile(t, values, *, KIND: amp.constant):  # noqa: N803
    memory = amp.tile_static(t.tile_extent, amp.int32)
    memory[t.local] = values[t]
    if KIND == 0:
        t.barrier.wait()
    elif KIND == 1:
        t.barrier.wait_with_all_memory_fence()
    else:
        t.barrier.wait_with_tile_static_memory_fence()
    values[t] = memory[t.tile_dim0 - 1 - t.local[0]]


def reversed_tiles(data, tile):
    return data.reshape(-1, tile)[:, ::-1].ravel()


@row("3", "barrier.wait() orders global and tile_static memory")
@row("3", "barrier.wait_with_all_memory_fence() is wait()")
@row("3", "barrier.wait_with_tile_static_memory_fence() orders tile_static memory")
@pytest.mark.parametrize("kind", [0, 1, 2])
def test_tile_static_is_ordered(accelerator_view, kind):
    values = amp.array_view(numbers(21))
    on(accelerator_view, exchange_tile, values.extent.tile(7), values, KIND=kind)
    assert np.array_equal(np.asarray(values), reversed_tiles(numbers(21), 7))


@amp.kernel
def exchange_global(t, values, *, KIND: amp.constant):  # noqa: N803
    k = t.global_[0]
    values[k] = k * 2
    if KIND == 0:
        t.barrier.wait()
    elif KIND == 1:
        t.barrier.wait_with_all_memory_fence()
    else:
        t.barrier.wait_with_global_memory_fence()
    got = values[t.tile_origin[0] + t.tile_dim0 - 1 - t.local[0]]
    t.barrier.wait()
    values[k] = got


@row("3", "barrier.wait() orders global and tile_static memory")
@row("3", "barrier.wait_with_global_memory_fence() orders global memory")
@pytest.mark.parametrize("kind", [0, 1, 2])
def test_global_memory_is_ordered(accelerator_view, kind):
    values = amp.array_view(np.zeros(15, I32))
    on(accelerator_view, exchange_global, values.extent.tile(5), values, KIND=kind)
    assert np.array_equal(np.asarray(values), reversed_tiles(numbers(15) * 2, 5))


@row("3", "all_memory_fence, global_memory_fence, tile_static_memory_fence: no barriers, fine in divergent code")
@pytest.mark.parametrize("fence", [amp.all_memory_fence, amp.global_memory_fence, amp.tile_static_memory_fence])
def test_fences_in_divergent_code(accelerator_view, fence):
    values = amp.array_view(numbers(12))

    @amp.parallel_for_each(accelerator_view, values.extent.tile(4))
    def _(t):
        if t.local[0] > 1:
            values[t] += 10
            fence(t.barrier)
            values[t] += 100

    assert np.array_equal(np.asarray(values), numbers(12) + np.where(numbers(12) % 4 > 1, 110, 0))


@row("3", "the scope of a barrier is one tile")
def test_tiles_may_end_at_different_times(accelerator_view):
    values = amp.array_view(np.zeros(12, I32))

    @amp.parallel_for_each(accelerator_view, values.extent.tile(4))
    def _(t):
        for _round in range(t.tile[0]):  # another number of barriers in each tile
            values[t] += 1
            t.barrier.wait()

    assert np.asarray(values).tolist() == [0] * 4 + [1] * 4 + [2] * 4


@amp.func
def meet(t):
    t.barrier.wait()


def refused(view, kernel, count=8):
    values = amp.array_view(np.zeros(count, I32))
    with pytest.raises(amp.CompileError) as caught:
        on(view, kernel, values.extent.tile(4), values)
    assert np.all(np.asarray(values) == 0)
    return str(caught.value)


@amp.kernel
def guarded_by_local(t, values):
    if t.local[0] < 2:
        t.barrier.wait()
    values[t] = 1


@amp.kernel
def guarded_by_global(t, values):
    if t.global_[0] != 5:
        t.barrier.wait()
    values[t] = 1


@amp.kernel
def guarded_by_a_computed_value(t, values):
    half = t.local[0] * 3 // 2
    while half > 2:
        t.barrier.wait()
        half -= 1
    values[t] = 1


@amp.kernel
def guarded_around_a_call(t, values):
    if values[t] == 0:
        meet(t)
    values[t] = 1


@amp.kernel
def after_a_divergent_return(t, values):
    if t.global_[0] >= 7:
        return
    t.barrier.wait()
    values[t] = 1


@amp.kernel
def after_a_divergent_break(t, values):
    for step in range(4):
        if step == t.local[0]:
            break
        t.barrier.wait()
    values[t] = 1


@amp.kernel
def after_a_divergent_continue(t, values):
    for step in range(4):
        if step == t.local[0]:
            continue
        t.barrier.wait()
    values[t] = 1


@amp.kernel
def in_a_divergent_loop(t, values):
    for _step in range(t.local[0]):
        t.barrier.wait()
    values[t] = 1


DIVERGENT = [
    guarded_by_local,
    guarded_by_global,
    guarded_by_a_computed_value,
    guarded_around_a_call,
    after_a_divergent_return,
    after_a_divergent_break,
    after_a_divergent_continue,
    in_a_divergent_loop,
]


@row("3", "a barrier under divergent control is a compile error")
@row("3", "leaving an active scope must be uniform too")
@pytest.mark.parametrize("kernel", DIVERGENT, ids=lambda k: k.__name__)
def test_divergent_barriers(accelerator_view, kernel):
    assert "barrier" in refused(accelerator_view, kernel)


@amp.kernel
def uniform_constants(t, values, bound, *, N: amp.constant):  # noqa: N803
    memory = amp.tile_static(4, amp.int32)
    if t.local[0] == 0:
        memory[0] = values[t.tile_origin] + N
    t.barrier.wait()
    limit = memory[0]  # a tile_static value, loaded right after a barrier
    t.barrier.wait()
    if bound > 2 and limit >= 0:
        memory[t.local] = values[t]
        t.barrier.wait()
        values[t] = memory[3 - t.local[0]]
    else:
        t.barrier.wait()
    if t.tile[0] == 1:
        t.barrier.wait()


@pytest.mark.filterwarnings("ignore::vkamp.BarrierWarning")
@row("3", "tile-uniform: constants, captured values, tile ids and sizes, tile_static after a barrier")
def test_uniform_values(accelerator_view):
    values = amp.array_view(numbers(8))
    on(accelerator_view, uniform_constants, values.extent.tile(4), values, 3, N=1)
    assert np.array_equal(np.asarray(values), reversed_tiles(numbers(8), 4))


@amp.kernel
def bound_from_a_container(t, rounds, values):
    for _step in range(rounds[t.tile]):
        t.barrier.wait()
        values[t] += 1


@amp.kernel
def bound_from_a_written_container(t, rounds, values):
    for _step in range(rounds[t.tile]):
        t.barrier.wait()
    rounds[t] = values[t]


@row(
    "3",
    "values loaded from containers are not tile-uniform",
    differs="they are where the index is and the launch does not write the container; `amp.uniform` claims others",
)
def test_values_from_containers(accelerator_view):
    rounds, values = amp.array_view(numbers(3)), amp.array_view(np.zeros(12, I32))
    on(accelerator_view, bound_from_a_container, values.extent.tile(4), rounds, values)
    assert np.array_equal(np.asarray(values), np.repeat(numbers(3), 4))
    with pytest.raises(amp.CompileError, match="barrier"):
        bound_from_a_written_container.inspect(values.extent.tile(4), values, values)


@amp.kernel
def uniform_control(t, values, rounds):
    memory = amp.tile_static(4, amp.int32)
    step = 0
    while True:
        memory[t.local] = values[t]
        meet(t)
        values[t] = memory[(t.local[0] + 1) % 4]
        t.barrier.wait()
        step += 1
        if step >= rounds:
            break
    if rounds == 100:
        values[t] = -1
    else:
        t.barrier.wait()


@pytest.mark.filterwarnings("ignore::vkamp.BarrierWarning")
@row("3", "barriers in uniform loops followed by break, in else branches, in called functions")
def test_uniform_control(accelerator_view):
    values = amp.array_view(numbers(8))
    on(accelerator_view, uniform_control, values.extent.tile(4), values, 3)
    assert np.array_equal(np.asarray(values), np.roll(numbers(2, 4), -3, 1).ravel())


@pytest.mark.filterwarnings("ignore::vkamp.BarrierWarning")
@row("3", "a barrier without tile memory")
def test_barrier_alone(accelerator_view):
    values = amp.array_view(numbers(6))

    @amp.parallel_for_each(accelerator_view, values.extent.tile(3))
    def _(t):
        t.barrier.wait()
        values[t] *= 2

    assert np.array_equal(np.asarray(values), numbers(6) * 2)


@row("3", "a barrier in an untiled kernel is a compile error")
def test_untiled(accelerator_view):
    values = amp.array_view(np.zeros(4, I32))
    with pytest.raises(amp.CompileError):

        @amp.parallel_for_each(accelerator_view, values.extent)
        def _(i):
            i.barrier.wait()


@row("3", "fences and barriers on the host are refused")
def test_on_the_host():
    for fence in (amp.all_memory_fence, amp.global_memory_fence, amp.tile_static_memory_fence):
        with pytest.raises(amp.AmpError, match="kernels"):
            fence(None)
    with pytest.raises(AttributeError):
        meet(amp.tiled_index((0,), (0,), (0,), (0,), (1,)))
