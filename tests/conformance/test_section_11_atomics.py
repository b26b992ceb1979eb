"""Atomics on elements of arrays, views and tile_static memory."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.conformance.programs import F32, I32, U32, numbers, on
from tests.conformance.registry import row

COUNT = 37  # threads that meet at one element


def at_one_element(view, dtype, start, kernel):
    """What ``COUNT`` threads make of one element, and what each of them got back."""
    cell, old = amp.array_view(np.array([start], dtype)), amp.array_view(np.zeros(COUNT, dtype))
    on(view, kernel, old.extent, cell, old)
    return np.asarray(cell)[0], np.sort(np.asarray(old))


@amp.kernel
def fetch_add(i, cell, old):
    old[i] = amp.atomic_fetch_add(cell[0], 3)


@amp.kernel
def fetch_sub(i, cell, old):
    old[i] = amp.atomic_fetch_sub(cell[0], 3)


@amp.kernel
def fetch_inc(i, cell, old):
    old[i] = amp.atomic_fetch_inc(cell[0])


@amp.kernel
def fetch_dec(i, cell, old):
    old[i] = amp.atomic_fetch_dec(cell[0])


STEPS = [(fetch_add, 3), (fetch_sub, -3), (fetch_inc, 1), (fetch_dec, -1)]


@row("11", "atomic_fetch_add, _sub: return the old value")
@row("11", "atomic_fetch_inc, _dec")
@pytest.mark.parametrize("dtype", [I32, U32])
@pytest.mark.parametrize(("kernel", "step"), STEPS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_sums(accelerator_view, dtype, kernel, step):
    start = 1000
    end, old = at_one_element(accelerator_view, dtype, start, kernel)
    assert end == start + COUNT * step
    assert old.tolist() == sorted(start + k * step for k in range(COUNT))


@row("11", "atomic_fetch_add, _sub, _inc, _dec wrap modulo 2^32")
@pytest.mark.parametrize(("kernel", "step"), STEPS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_wrapping(accelerator_view, kernel, step):
    for dtype, start in ((I32, 2**31 - 5), (I32, -(2**31) + 5), (U32, 2**32 - 5), (U32, 5)):
        end, _ = at_one_element(accelerator_view, dtype, start, kernel)
        assert int(end) % 2**32 == (start + COUNT * step) % 2**32


@amp.kernel
def extremes(i, cells, values):
    amp.atomic_fetch_max(cells[0], values[i])
    amp.atomic_fetch_min(cells[1], values[i])


@row("11", "atomic_fetch_max, _min: signedness by dtype")
@pytest.mark.parametrize("dtype", [I32, U32])
def test_extremes(accelerator_view, dtype):
    values = np.array([5, 2**31 - 1, 0, 7, 100], dtype)
    values[2] = dtype(2**32 - 1) if dtype is U32 else -(2**31)
    cells = amp.array_view(np.full(2, 50, dtype))
    on(accelerator_view, extremes, amp.extent(5), cells, amp.array_view(values))
    assert np.asarray(cells).tolist() == [max(50, *values.tolist()), min(50, *values.tolist())]


@amp.kernel
def bits(i, cells):
    amp.atomic_fetch_or(cells[0], 1 << i[0])
    amp.atomic_fetch_and(cells[1], ~(1 << i[0]))
    amp.atomic_fetch_xor(cells[2], 3 << i[0])


@row("11", "atomic_fetch_and, _or, _xor")
@pytest.mark.parametrize("dtype", [I32, U32])
def test_bits(accelerator_view, dtype):
    cells = amp.array_view(np.array([0, 2**20 - 1, 0], dtype))
    on(accelerator_view, bits, amp.extent(9), cells)
    xor = 0
    for k in range(9):
        xor ^= 3 << k
    assert np.asarray(cells).tolist() == [511, (2**20 - 1) & ~511, xor]


@amp.kernel
def exchange(i, cell, old):
    old[i] = amp.atomic_exchange(cell[0], i[0] + 1)


@row("11", "atomic_exchange on int and uint")
@pytest.mark.parametrize("dtype", [I32, U32])
def test_exchange(accelerator_view, dtype):
    end, old = at_one_element(accelerator_view, dtype, 0, exchange)
    assert sorted([*old.tolist(), int(end)]) == list(range(COUNT + 1))


@amp.kernel
def claim(i, owner, seen):
    expected = amp.int32(-1)
    if amp.atomic_compare_exchange(owner[0], expected, i[0]):
        seen[i] = 1000 + expected
    else:
        seen[i] = expected


@row("11", "atomic_compare_exchange returns a bool and updates expected, on success as well")
def test_compare_exchange(accelerator_view):
    owner, seen = amp.array_view(np.array([-1], I32)), amp.array_view(np.zeros(COUNT, I32))
    on(accelerator_view, claim, seen.extent, owner, seen)
    winner, got = int(owner[0]), np.asarray(seen)
    assert 0 <= winner < COUNT and got[winner] == 999
    assert np.all(np.delete(got, winner) == winner)


@amp.kernel
def multiply(i, cell, factors):
    expected = cell[0]
    while not amp.atomic_compare_exchange(cell[0], expected, expected * factors[i]):
        pass


@row("11", "compare-exchange in a loop makes any update atomic")
def test_loop(accelerator_view):
    cell = amp.array_view(np.array([1], U32))
    on(accelerator_view, multiply, amp.extent(9), cell, amp.array_view(np.full(9, 3, U32)))
    assert cell[0] == 3**9


@amp.kernel
def tile_histogram(t, values, counts):
    local = amp.tile_static(5, amp.int32)
    if t.local[0] < 5:
        local[t.local] = 0
    t.barrier.wait()
    amp.atomic_fetch_inc(local[values[t] % 5])
    t.barrier.wait()
    if t.local[0] < 5:
        amp.atomic_fetch_add(counts[t.local], local[t.local])


@row("11", "targets: elements of arrays, array_views and tile_static variables")
@pytest.mark.parametrize("kind", ["array", "view", "section"])
def test_targets(accelerator_view, kind):
    if kind == "array":
        counts = amp.array(amp.extent(5), amp.int32, [0] * 5, accelerator_view=accelerator_view)
    elif kind == "view":
        counts = amp.array_view(np.zeros(5, I32))
    else:
        counts = amp.array_view(np.zeros(9, I32)).section(3, 5)
    values = numbers(48) ** 2
    on(accelerator_view, tile_histogram, amp.extent(48).tile(8), amp.array_view(values), counts)
    assert np.array_equal(np.asarray(counts), np.bincount(values % 5, minlength=5))


RECORD = np.dtype([("n", I32), ("best", U32)])


@row("11", "targets: members of struct elements")
def test_members(accelerator_view):
    records = amp.array_view(np.zeros(2, RECORD))

    @amp.parallel_for_each(accelerator_view, amp.extent(11))
    def _(i):
        amp.atomic_fetch_add(records[1].n, i[0])
        amp.atomic_fetch_max(records[1].best, amp.uint32(i[0]))

    assert records[1].item().tolist() == (55, 10) and records[0].item().tolist() == (0, 0)


@row("11", "atomics order nothing across locations: they are not fences")
def test_no_fences(accelerator_view):
    # What can be relied on: the order of one location, and all after the launch.
    ticket, order = amp.array_view(np.zeros(1, I32)), amp.array_view(np.full(COUNT, -1, I32))

    @amp.parallel_for_each(accelerator_view, order.extent)
    def _(i):
        place = amp.atomic_fetch_inc(ticket[0])
        order[place] = i[0]

    assert sorted(np.asarray(order).tolist()) == list(range(COUNT))


@row("11", "device only")
def test_on_the_host():
    with pytest.raises(amp.AmpError, match="kernels"):
        amp.atomic_fetch_add(amp.array_view(numbers(3))[0], 1)


@row("11", "a target that is not an element is a compile error")
def test_no_element(accelerator_view):
    out = amp.array_view(np.zeros(3, I32))
    with pytest.raises(amp.CompileError):

        @amp.parallel_for_each(accelerator_view, out.extent)
        def _(i):
            local = 3
            amp.atomic_fetch_add(local, 1)
            out[i] = local


@row("11", "a read-only target is a compile error")
def test_readonly_target(accelerator_view):
    constant = amp.array_view(numbers(3), readonly=True)
    with pytest.raises(amp.CompileError, match="read-only"):

        @amp.parallel_for_each(accelerator_view, constant.extent)
        def _(i):
            amp.atomic_fetch_add(constant[i], 1)


@row("11", "atomic_exchange on float")
def test_float_exchange(accelerator_view):
    cell, old = amp.array_view(np.array([0.5], F32)), amp.array_view(np.zeros(9, F32))

    @amp.parallel_for_each(accelerator_view, old.extent)
    def _(i):
        old[i] = amp.atomic_exchange(cell[0], i[0] + 1.5)

    assert sorted([float(cell[0]), *np.asarray(old).tolist()]) == [k + 0.5 for k in range(10)]


@row(
    "11",
    "atomic_fetch_add, _sub on float",
    differs="an extension, by a compare-exchange loop where the device lacks it",
)
def test_float_add(accelerator_view):
    cells = amp.array_view(np.zeros(2, F32))

    @amp.parallel_for_each(accelerator_view, amp.extent(21))
    def _(i):
        amp.atomic_fetch_add(cells[0], i[0] * 0.5)
        amp.atomic_fetch_sub(cells[1], 2.0)

    assert np.asarray(cells).tolist() == [105, -42]


@row("11", "atomic_fetch_max, _min on float", differs="an extension, by a compare-exchange loop; NaN is ignored")
def test_float_extremes(accelerator_view):
    cells = amp.array_view(np.array([0.5, 3.0, np.nan], F32))

    @amp.parallel_for_each(accelerator_view, amp.extent(21))
    def _(i):
        amp.atomic_fetch_max(cells[0], i[0] * 0.5)
        amp.atomic_fetch_min(cells[1], 2.0 - i[0])
        amp.atomic_fetch_min(cells[2], 1.0)

    assert np.asarray(cells).tolist() == [10, -18, 1]


@row("11", "targets: integer components of short vectors")
def test_components(accelerator_view):
    pairs = amp.array_view(np.zeros((3, 2), I32), dtype=amp.int2)

    @amp.parallel_for_each(accelerator_view, amp.extent(8))
    def _(i):
        amp.atomic_fetch_add(pairs[1].y, i[0])

    assert np.asarray(pairs).tolist() == [[0, 0], [0, 28], [0, 0]]


@row("11", "64-bit atomics", differs="of int64 and uint64 where the device has them; C++ AMP has none")
@pytest.mark.parametrize("dtype", [amp.int64, amp.uint64])
def test_wide(accelerator_view, dtype):
    counts = amp.array_view(np.full(3, 2**40, dtype))

    @amp.kernel
    def counted(i, counts):
        amp.atomic_fetch_add(counts[0], 1)

    launch = (accelerator_view, counts.extent, counted, counts)
    if "int64_atomics" in accelerator_view._queue.info.usable_features:
        amp.parallel_for_each(*launch)
        assert np.asarray(counts).tolist() == [2**40 + 3, 2**40, 2**40]
        return
    with pytest.raises(amp.UnsupportedFeatureError, match="VKA304"):
        amp.parallel_for_each(*launch)


@row("11", "64-bit float atomics", refused="as in C++ AMP")
def test_wide_floats(accelerator_view):
    counts = amp.array_view(np.zeros(3))
    with pytest.raises(amp.CompileError, match="VKA407"):

        @amp.parallel_for_each(accelerator_view, counts.extent)
        def _(i):
            amp.atomic_fetch_add(counts[0], 1)
