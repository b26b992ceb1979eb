"""The cases that implementations miss most often, in one place."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import vkamp as amp
from tests.conformance.programs import F32, I32, U32, add_one, fill, numbers, on
from tests.conformance.registry import row


@row("20", "1. zero or negative extents raise, they never mean empty")
@pytest.mark.parametrize("shape", [(0,), (-4,), (3, 0), (0, 3)])
def test_empty(accelerator_view, shape):
    with pytest.raises(amp.AmpError):
        amp.array(amp.extent(shape), amp.int32, accelerator_view=accelerator_view)
    with pytest.raises(amp.AmpError):
        amp.array_view(np.zeros([max(n, 0) for n in shape], I32))
    with pytest.raises(amp.InvalidComputeDomainError):
        on(accelerator_view, add_one, amp.extent(shape), amp.array_view(numbers(3)))


@row("20", "2. totals are computed without overflow, no divisibility rule")
def test_totals(accelerator_view):
    values = amp.array_view(np.zeros(1009, I32))  # a prime
    on(accelerator_view, add_one, values.extent, values)
    assert np.all(np.asarray(values) == 1)
    with pytest.raises(amp.InvalidComputeDomainError):
        on(accelerator_view, add_one, amp.extent(9110917, 3627949, 558080), amp.array_view(numbers(1, 1, 1)))


@row("20", "3. subscripts never wrap; projections and sections outside raise")
def test_outside():
    view = amp.array_view(numbers(3, 4))
    for use in (
        lambda: view[-1, 0],
        lambda: view[-1],
        lambda: view[3],
        lambda: view[0][-1],
        lambda: view.section(0, 0, 0, 1),
        lambda: view.section(3, 0, 1, 1),
        lambda: view.section(amp.index(0, 4)),
        lambda: view[-4:],
        lambda: view[0:4],
    ):
        with pytest.raises((IndexError, amp.AmpError)):
            use()


@row("20", "4. index and extent / % truncate; comparing different ranks is an error")
def test_truncation(accelerator_view):
    assert amp.index(-7) / 2 == (-3,) and amp.extent(-7) % 2 == (-1,)
    with pytest.raises(TypeError):
        assert amp.extent(1, 2) == amp.extent(1)


@row("20", "5. copy compares extents per dimension; view_as takes a smaller total; reinterpret_as an exact multiple")
def test_sizes():
    with pytest.raises(amp.AmpError):
        amp.copy(amp.array_view(numbers(20, 10)), amp.array_view(numbers(10, 20)))
    assert amp.array_view(numbers(20)).view_as(amp.extent(3, 4))[2, 3] == 11
    with pytest.raises(amp.AmpError):
        amp.array_view(numbers(5)).reinterpret_as([("a", I32), ("b", I32)])


@row("20", "6. reading one view does not publish a disjoint neighbour, with interleaved columns or another dtype")
def test_neighbours(accelerator_view):
    raw = numbers(6, 6)
    even, odd = amp.array_view(raw[:, ::2]), amp.array_view(raw[:, 1::2])
    on(accelerator_view, fill, even.extent, even, -1)
    on(accelerator_view, fill, odd.extent, odd, -2)
    assert even[0, 0] == -1
    assert -2 not in raw and np.all(raw[:, ::2] == -1)
    flat = amp.array_view(np.zeros(8, F32))
    bits = flat.section(4, 4).reinterpret_as(U32)
    on(accelerator_view, fill, bits.extent, bits, np.uint32(0x3F800000))
    assert flat.section(0, 4)[3] == 0 and flat.get_ref(5) == 0
    assert flat[5] == 1


@row("20", "7. copying out of a view leaves the host buffer stale")
def test_copying_out(accelerator_view):
    raw = numbers(4)
    view = amp.array_view(raw)
    on(accelerator_view, add_one, view.extent, view)
    out = np.zeros(4, I32)
    view.copy_to(out)
    assert out.tolist() == [1, 2, 3, 4] and raw.tolist() == [0, 1, 2, 3]
    view.synchronize()
    assert raw.tolist() == [1, 2, 3, 4]


@row("20", "8. discard_data after device writes cancels them, for sections too")
def test_discard(accelerator_view):
    raw = numbers(6)
    view = amp.array_view(raw)
    on(accelerator_view, add_one, view.extent, view)
    view.section(1, 2).discard_data()
    view.synchronize()
    assert raw.tolist() == [1, 1, 2, 4, 5, 6]


@row("20", "9. overlapping views in one launch share storage")
def test_overlap(accelerator_view):
    raw = np.zeros(10, I32)
    low, high, all_of_it = amp.array_view(raw[:7]), amp.array_view(raw[3:]), amp.array_view(raw)

    @amp.parallel_for_each(accelerator_view, amp.extent(5).tile(5))
    def _(t):
        k = t.local[0]
        low[k] = k + 1
        t.barrier.wait()
        value = all_of_it[k]
        t.barrier.wait()
        high[k + 2] = value * 10

    assert raw.tolist() == [0] * 10
    assert np.asarray(all_of_it).tolist() == [1, 2, 3, 4, 5, 10, 20, 30, 40, 50]


@row("20", "10. two views of one device are different locations: arrays from both in one launch raise")
def test_two_views(accelerator):
    a = amp.array(amp.extent(3), amp.int32, [1, 2, 3], accelerator_view=accelerator.create_view())
    b = amp.array(amp.extent(3), amp.int32, [1, 2, 3], accelerator_view=accelerator.create_view())
    with pytest.raises(amp.AmpError, match="accelerator_view"):

        @amp.parallel_for_each(a.extent)
        def _(i):
            a[i] = b[i]


@row("20", "11. fences are not barriers, atomics are not fences")
def test_fences(accelerator_view):
    values = amp.array_view(numbers(8))

    @amp.parallel_for_each(accelerator_view, values.extent.tile(4))
    def _(t):
        if t.local[0] == 2:  # no barrier: fine where only one thread comes
            amp.all_memory_fence(t.barrier)
            values[t] += 100

    assert np.asarray(values).tolist() == [0, 1, 102, 3, 4, 5, 106, 7]
    with pytest.raises(amp.CompileError):

        @amp.parallel_for_each(accelerator_view, values.extent.tile(4))
        def _(t):
            if t.local[0] == 2:
                t.barrier.wait()


@row("20", "11. neither fences nor atomics order what other tiles do")
@pytest.mark.accelerators("reference")
def test_between_tiles(accelerator_view):
    flag, data, seen = (amp.array_view(np.zeros(n, I32)) for n in (1, 1, 2))
    with pytest.raises(amp.RaceError) as caught:

        @amp.parallel_for_each(accelerator_view, amp.extent(2).tile(1))
        def _(t):
            if t.tile[0] == 0:
                data[0] = 7
                amp.all_memory_fence(t.barrier)
                amp.atomic_fetch_add(flag[0], 1)
            elif amp.atomic_fetch_add(flag[0], 0) == 1:
                amp.all_memory_fence(t.barrier)
                seen[1] = data[0]

    (found,) = caught.value.findings
    assert found.variable == "data" and {thread.tile for thread in found.threads} == {(0,), (1,)}


@row("20", "12. a future's callback may block on further copies")
def test_callbacks(accelerator_view):
    a, ended = amp.array(amp.extent(4), amp.int32, numbers(4), accelerator_view=accelerator_view), threading.Event()
    out = np.zeros(4, I32)

    def callback():
        amp.copy_async(a, out).get()
        amp.copy_async(out, a).get()
        ended.set()

    amp.copy_async(numbers(4), a).then(callback)
    assert ended.wait(60) and out.tolist() == [0, 1, 2, 3]


@row("20", "13. integer compare-exchange returns a bool and updates expected on success as well")
def test_compare_exchange(accelerator_view):
    cell, seen = amp.array_view(np.array([5], I32)), amp.array_view(np.zeros(2, I32))

    @amp.parallel_for_each(accelerator_view, amp.extent(1))
    def _(i):
        expected = amp.int32(5)
        done = amp.atomic_compare_exchange(cell[i], expected, 9)
        seen[i] = expected * 10 + (1 if done else 0)
        again = amp.atomic_compare_exchange(cell[i], expected, 7)
        seen[i + 1] = expected * 10 + (1 if again else 0)

    assert np.asarray(seen).tolist() == [51, 90] and cell[0] == 9


@row("20", "14. fmod, modf, round and NaN in fmax and fmin follow C")
def test_c_math(accelerator_view):
    values, out = amp.array_view(np.array([-5.5, 2.0, np.nan, 2.5], F32)), amp.array_view(np.zeros(12, F32))

    @amp.parallel_for_each(accelerator_view, amp.extent(1))
    def _(i):
        k = i[0]
        out[k] = amp.fast_math.fmod(values[k], values[k + 1])
        out[k + 1] = amp.fast_math.fmax(values[k + 2], values[k + 1])
        out[k + 2] = amp.fast_math.fmin(values[k + 1], values[k + 2])
        out[k + 3] = amp.fast_math.trunc(values[k])
        fraction, whole = amp.fast_math.modf(values[k])
        out[k + 4] = fraction
        out[k + 5] = whole
        out[k + 6] = amp.fast_math.round(values[k + 3])
        out[k + 7] = amp.precise_math.round(-values[k + 3])
        out[k + 8] = amp.precise_math.fmod(values[k], values[k + 1])
        out[k + 9] = amp.precise_math.fmax(values[k + 2], values[k + 1])
        out[k + 10] = amp.precise_math.fmin(values[k + 1], values[k + 2])
        out[k + 11] = amp.precise_math.nearbyint(values[k + 3])

    assert np.asarray(out).tolist() == [-1.5, 2, 2, -5, -0.5, -5, 3, -3, -1.5, 2, 2, 2]


@row("20", "14. no contraction", differs="allowed, as GPU compilers do; @amp.kernel(precise=True) forbids it")
def test_contraction(accelerator_view):
    """(1 + e)**2 - (1 + 2e) is e**2 in one rounding, and 0 with the product rounded before."""
    x = np.float32(1 + 2**-12)
    values = amp.array_view(np.array([x, -(1 + 2**-11), 0, 0], F32))

    @amp.kernel(precise=True)
    def both(i, values):
        values[i + 2] = values[i] * values[i] + values[i + 1]
        values[i + 3] = amp.precise_math.fma(values[i], values[i], values[i + 1])

    on(accelerator_view, both, amp.extent(1), values)
    assert np.asarray(values)[2:].tolist() == [0, 2**-24]
