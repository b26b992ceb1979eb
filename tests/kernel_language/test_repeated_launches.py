"""A repeated launch takes a short way, and gives what the long way gives."""

from __future__ import annotations

import dataclasses
import gc
import threading
import weakref

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.captures import reads_in_a_thread
from vkamp.dispatch import launch as launching
from vkamp.lang.container import bindable
from vkamp.lang.home import epoch

STEP = 3


@amp.kernel
def scale(idx, values, factor):
    values[idx] = values[idx] * factor


@amp.kernel
def step(idx, values):
    values[idx] += STEP


@amp.kernel
def add_one(idx, values):
    values[idx] += 1


@amp.kernel
def signed(idx, values, *, zero: amp.constant):
    values[idx] = amp.precise_math.copysign(1.0, zero)


@amp.kernel
def fill(idx, values, unused, value):
    values[idx] = value


@amp.kernel
def add(idx, source, target):
    target[idx] = target[idx] + source[idx]


@amp.kernel
def move(idx, source, origin, size, target):
    i, j = origin[0] + idx[0], origin[1] + idx[1]
    if i < size[0] and j < size[1]:
        target[idx] = source[i, j] + size[1]


@pytest.fixture
def long_ways(monkeypatch):
    """The kernels that launched on the long way, as a list."""
    # Checked launches always take it.
    monkeypatch.delenv("VKAMP_CHECK", raising=False)
    seen = []
    prepare = launching.prepare

    def noted(view, domain, kernel, *rest):
        seen.append(kernel.__name__)
        return prepare(view, domain, kernel, *rest)

    monkeypatch.setattr(launching, "prepare", noted)
    return seen


def check_prepared(seen, expected, view):
    """Launches on the reference accelerator are never remembered: it looks at the host's memory before each."""
    if view.accelerator.device_path != "reference":
        assert seen == expected


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    """Each test begins with kernels that were never launched; checked launches are never remembered."""
    monkeypatch.setenv("VKAMP_CHECK", "0")
    for kernel in (scale, step, signed, fill, add, move, store_values):
        kernel.launches.clear()
        kernel.plans.clear()


def test_only_the_numbers_are_new(accelerator_view, long_ways):
    values = amp.array(amp.extent(70), amp.float32, np.ones(70), accelerator_view=accelerator_view)
    for factor in (2.0, 0.5, 3.0, -1.0):
        amp.parallel_for_each(accelerator_view, values.extent, scale, values, factor)
    assert np.asarray(values).tolist() == [-3.0] * 70
    check_prepared(long_ways, ["scale"], accelerator_view)


def test_indices_and_extents(accelerator_view, long_ways):
    raw = np.arange(77, dtype=np.int32).reshape(7, 11)
    source = amp.array(raw, accelerator_view=accelerator_view)
    for origin, size in (((2, 3), (7, 11)), ((0, 1), (7, 11)), ((4, 8), (6, 10)), ((4, 8), (7, 11))):
        target = amp.array(amp.extent(3, 4), np.int32, np.full((3, 4), -1, np.int32), accelerator_view=accelerator_view)
        arguments = source, amp.index(origin), amp.extent(size), target
        amp.parallel_for_each(accelerator_view, target.extent, move, *arguments)
        amp.parallel_for_each(accelerator_view, target.extent, move, *arguments)
        wanted = np.full((3, 4), -1)
        part = raw[origin[0] : size[0], origin[1] : size[1]][:3, :4]
        wanted[: part.shape[0], : part.shape[1]] = part + size[1]
        np.testing.assert_array_equal(np.asarray(target), wanted)
    check_prepared(long_ways, ["move"], accelerator_view)
    with pytest.raises(amp.CompileError):
        amp.parallel_for_each(accelerator_view, target.extent, move, source, amp.index(1), amp.extent(7, 11), target)


def test_other_types_of_numbers(accelerator_view, long_ways):
    values = amp.array(amp.extent(5), amp.int32, np.arange(5), accelerator_view=accelerator_view)
    for factor in (2, np.int32(3), True, 5, np.int32(-1)):
        amp.parallel_for_each(accelerator_view, values.extent, scale, values, factor)
    assert np.asarray(values).tolist() == [0, -30, -60, -90, -120]
    check_prepared(long_ways, ["scale"] * 3, accelerator_view)


def test_a_number_that_does_not_fit(accelerator_view):
    values = amp.array(amp.extent(5), amp.int32, np.arange(5), accelerator_view=accelerator_view)
    amp.parallel_for_each(accelerator_view, values.extent, scale, values, 2)
    for wrong in (2**31, -(2**31) - 1):
        with pytest.raises(amp.AmpError, match="does not fit int32"):
            amp.parallel_for_each(accelerator_view, values.extent, scale, values, wrong)
    assert np.asarray(values).tolist() == [0, 2, 4, 6, 8]


def test_host_writes_between(accelerator_view, long_ways):
    raw = np.arange(6, dtype=np.int32)
    values = amp.array_view(raw)
    for k in range(3):
        amp.parallel_for_each(accelerator_view, values.extent, scale, values, 2)
        values[k] = 100
        raw[5] = -1
        values.refresh()
    amp.parallel_for_each(accelerator_view, values.extent, scale, values, 2)
    values.synchronize()
    assert raw.tolist() == [800, 400, 200, 48, 64, -2]
    check_prepared(long_ways, ["scale"], accelerator_view)


def test_a_changed_global(accelerator_view, monkeypatch, long_ways):
    values = amp.array(amp.extent(3), amp.int32, [0, 0, 0], accelerator_view=accelerator_view)
    for size in (3, 3, 10, 10, 3):
        monkeypatch.setitem(globals(), "STEP", size)
        amp.parallel_for_each(accelerator_view, values.extent, step, values)
    assert np.asarray(values).tolist() == [29, 29, 29]
    check_prepared(long_ways, ["step"] * 3, accelerator_view)


def _plain(x, by=1, *, times=1):
    return x + by * times


@amp.func
def _decorated(x, by=1, *, times=1):
    return x + by * times


@amp.kernel
def step_by_defaults(idx, values):
    values[idx] = _decorated(_plain(values[idx])) + _decorated(0, times=0)


@pytest.mark.parametrize("function", [_plain, _decorated])
def test_defaults_that_change_between_launches(accelerator_view, monkeypatch, function):
    """In place, as in Python: a kernel that was compiled with other values is not used."""
    expected, values = 0, amp.array(amp.extent(3), amp.int32, [0, 0, 0], accelerator_view=accelerator_view)
    steps = {"__defaults__": (5,), "__kwdefaults__": {"times": 3}}
    for name, value in (("", None), *steps.items(), ("", None), ("__defaults__", (1,))):
        if name:
            monkeypatch.setattr(function, name, value)
        for _ in range(2):
            amp.parallel_for_each(accelerator_view, values.extent, step_by_defaults, values)
            expected = _decorated(_plain(expected)) + _decorated(0, times=0)
        assert np.asarray(values).tolist() == [expected] * 3, name
    monkeypatch.setitem(function.__kwdefaults__, "times", 7)
    amp.parallel_for_each(accelerator_view, values.extent, step_by_defaults, values)
    assert np.asarray(values).tolist() == [_decorated(_plain(expected))] * 3
    assert _plain(0) + _decorated(0) == 8


def test_zeros_of_both_signs(accelerator_view):
    values = amp.array(amp.extent(1), amp.float32, [0], accelerator_view=accelerator_view)
    seen = []
    for zero in (0.0, -0.0, 0.0, -0.0):
        amp.parallel_for_each(accelerator_view, values.extent, signed, values, zero=zero)
        seen.append(float(np.asarray(values)[0]))
    assert seen == [1.0, -1.0, 1.0, -1.0]


def test_memory_that_became_part_of_more(accelerator_view, long_ways):
    raw = np.zeros(12, np.int32)
    part = amp.array_view(raw[4:8])
    amp.parallel_for_each(accelerator_view, part.extent, step, part)
    whole = amp.array_view(raw)  # the home of both begins elsewhere
    amp.parallel_for_each(accelerator_view, whole.extent, step, whole)
    amp.parallel_for_each(accelerator_view, part.extent, step, part)
    assert np.asarray(whole).tolist() == [3] * 4 + [9] * 4 + [3] * 4
    check_prepared(long_ways, ["step"] * 3, accelerator_view)


def test_containers_that_come_and_go(accelerator_view):
    """An id may come again."""
    for k in range(40):
        values = amp.array(amp.extent(3 + k % 2), amp.int32, np.full(3 + k % 2, k), accelerator_view=accelerator_view)
        amp.parallel_for_each(accelerator_view, values.extent, step, values)
        assert np.asarray(values).tolist() == [k + 3] * (3 + k % 2)


def test_nothing_is_kept_alive(accelerator_view):
    values = amp.array(amp.extent(1 << 18), amp.int32, accelerator_view=accelerator_view)
    for _ in range(2):
        amp.parallel_for_each(accelerator_view, values.extent, fill, values, 1, 7)
    assert np.asarray(values)[-1] == 7
    gone: list[bool] = []
    weakref.finalize(values, gone.append, True)
    del values
    gc.collect()
    assert gone == [True]


def test_a_number_that_the_kernel_ignores(accelerator_view, long_ways):
    values = amp.array(amp.extent(4), amp.int32, accelerator_view=accelerator_view)
    for k in range(3):
        amp.parallel_for_each(accelerator_view, values.extent, fill, values, 10 * k, k)
        assert np.asarray(values).tolist() == [k] * 4
    check_prepared(long_ways, ["fill"], accelerator_view)


def test_another_default(accelerator, long_ways):
    """Without arrays and without a view the default decides, which may change, and so may where the data are."""
    raw = np.zeros(3, np.int32)
    values = amp.array_view(raw)
    there = accelerator.create_view()
    amp.parallel_for_each(values.extent, step, values)
    amp.parallel_for_each(values.extent, step, values)
    before = there.statistics.dispatches
    amp.parallel_for_each(there, values.extent, step, values)
    amp.parallel_for_each(there, values.extent, step, values)
    assert np.asarray(values).tolist() == [12] * 3
    assert there.statistics.dispatches == before + 2
    check_prepared(long_ways, ["step"] * 2, there)


def test_other_containers_alike(accelerator_view, long_ways):
    """Launches with new containers of known types, shapes and places are prepared once."""
    for k in range(4):
        raw = np.arange(40, dtype=np.int32) + k
        source = amp.array(amp.extent(40), amp.int32, raw, accelerator_view=accelerator_view)
        target = np.ones(40, np.int32)
        kept = amp.array_view(target)
        amp.parallel_for_each(accelerator_view, source.extent, add, source, kept)
        assert np.asarray(kept).tolist() == (raw + 1).tolist()
        for factor in (2, k):
            amp.parallel_for_each(accelerator_view, source.extent, scale, source, factor)
        assert np.asarray(source).tolist() == (raw * 2 * k).tolist()
    check_prepared(long_ways, ["add", "scale"], accelerator_view)


def test_other_places(accelerator_view, long_ways):
    """Containers of other shapes, distances, offsets, or with memory in common are prepared anew, and each is right."""
    raw = np.arange(120, dtype=np.int32)
    sources = [raw[:30], raw[30:60], raw[::4], raw[29::-1], np.ascontiguousarray(raw[:30])]
    for source in sources * 2:
        target = np.full(30, 5, np.int32)
        kept = amp.array_view(target)
        amp.parallel_for_each(accelerator_view, kept.extent, add, amp.array_view(source), kept)
        assert np.asarray(kept).tolist() == (source + 5).tolist()
    assert len(long_ways) <= len(sources) * 2
    # Both in one memory, which are two in the launches before.
    both = np.arange(60, dtype=np.int32)
    whole = amp.array_view(both)
    amp.parallel_for_each(accelerator_view, amp.extent(30), add, whole.section(0, 30), whole.section(30, 30))
    assert np.asarray(whole)[30:].tolist() == [30 + 2 * k for k in range(30)]
    same = amp.array_view(np.arange(30, dtype=np.int32))
    amp.parallel_for_each(accelerator_view, same.extent, add, same, same)
    assert np.asarray(same).tolist() == [2 * k for k in range(30)]


def test_containers_alike_on_changed_programs(accelerator_view, monkeypatch, long_ways):
    """A changed global, other constants, read-only views and a changed code are seen with new containers, too."""

    def launched(kernel, *rest, readonly=False, **constants):
        found = amp.array(amp.extent(3), amp.int32, [1, 2, 3], accelerator_view=accelerator_view)
        given = amp.array_view(found, readonly=True) if readonly else amp.array_view(found)
        amp.parallel_for_each(accelerator_view, found.extent, kernel, given, *rest, **constants)
        return np.asarray(found).tolist()

    for size in (3, 10, 3):
        monkeypatch.setitem(globals(), "STEP", size)
        assert launched(step) == [1 + size, 2 + size, 3 + size]
    with pytest.raises(amp.CompileError, match="VKA301|read-only"):
        launched(step, readonly=True)
    with pytest.raises(amp.AmpError, match="does not fit int32"):
        launched(scale, 2**31)
    assert launched(scale, 2) == [2, 4, 6]
    with pytest.raises(amp.AmpError, match="does not fit int32"):
        launched(scale, 2**31)
    monkeypatch.setattr(scale, "function", add_one.function)
    with pytest.raises(TypeError):
        launched(scale, 2)


def test_plans_keep_no_program(accelerator_view, long_ways):
    """A device drops programs that have not run for a long time; the next such launch is prepared again."""
    for k in range(3):
        values = amp.array(amp.extent(3), amp.int32, [1, 2, 3], accelerator_view=accelerator_view)
        amp.parallel_for_each(accelerator_view, values.extent, step, values)
        assert np.asarray(values).tolist() == [4, 5, 6]
        for known in step.plans.values():
            assert isinstance(known.plan.program, weakref.ref)
            if k == 1:
                known.plan = dataclasses.replace(known.plan, program=lambda: None)
    check_prepared(long_ways, ["step"] * 2, accelerator_view)


def test_planned_launches_from_threads(accelerator_view):
    """Each of several threads launches with separate containers."""
    results = {}

    def work(number):
        for k in range(20):
            values = amp.array(amp.extent(50), amp.int32, np.arange(50) + k, accelerator_view=accelerator_view)
            amp.parallel_for_each(accelerator_view, values.extent, scale, values, number)
            results[number, k] = np.asarray(values).tolist()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert all(found == [(n + k) * number for n in range(50)] for (number, k), found in results.items())
    assert len(results) == 60


def test_a_domain_that_changed(accelerator_view, long_ways):
    values = amp.array(amp.extent(6), amp.int32, [0] * 6, accelerator_view=accelerator_view)
    domain = amp.extent(6)
    for n in (6, 4, 4, 2, 6):
        domain[0] = n
        amp.parallel_for_each(accelerator_view, domain, step, values)
    assert np.asarray(values).tolist() == [15, 15, 12, 12, 6, 6]
    check_prepared(long_ways, ["step"] * 3, accelerator_view)
    domain[0] = 0
    with pytest.raises(amp.InvalidComputeDomainError):
        amp.parallel_for_each(accelerator_view, domain, step, values)


def test_the_memory_of_one_container_goes_with_it(accelerator_view):
    """A remembered launch keeps the memory of all its containers, and must go with the first of them."""
    values = amp.array(amp.extent(300), amp.int32, np.arange(300), accelerator_view=accelerator_view)
    other = amp.array(amp.extent(300), amp.int32, np.arange(300), accelerator_view=accelerator_view)
    for _ in range(4):
        amp.parallel_for_each(accelerator_view, values.extent, add, values, other)
    accelerator_view.wait()
    gone: list[bool] = []
    weakref.finalize(bindable(values).acquire(accelerator_view, read=True, write=False).storage, gone.append, True)
    del values
    gc.collect()
    assert gone == [True]
    assert not add.launches
    assert np.asarray(other).tolist() == [5 * i for i in range(300)]


def test_a_thread_that_looks_on(accelerator_view, long_ways):
    """A read in between gives the result of some launch, and the last read gives that of the last launch."""
    view = amp.array_view(np.zeros(9, np.int32))
    with reads_in_a_thread(view) as seen:
        for _ in range(150):
            amp.parallel_for_each(accelerator_view, view.extent, step, view)
    assert np.asarray(view).tolist() == [450] * 9
    assert all(len(set(row)) == 1 for row in seen)
    assert [row[0] for row in seen] == sorted(row[0] for row in seen)
    check_prepared(long_ways, ["step"], accelerator_view)


def test_two_kernels_in_turn(accelerator_view, long_ways):
    """Both recognise the writes of the other: nothing is checked again after the first rounds."""
    one, other = (amp.array_view(np.arange(20, dtype=np.int32)) for _ in range(2))
    for _ in range(5):
        amp.parallel_for_each(accelerator_view, one.extent, add, one, other)
        amp.parallel_for_each(accelerator_view, one.extent, step, one)
    before = epoch.now
    for _ in range(5):
        amp.parallel_for_each(accelerator_view, one.extent, add, one, other)
        amp.parallel_for_each(accelerator_view, one.extent, step, one)
    assert epoch.now == before
    expected, value = np.arange(20), np.arange(20)
    for k in range(10):
        expected = expected + value + STEP * k
    np.testing.assert_array_equal(np.asarray(other), expected)
    check_prepared(long_ways, ["add", "step"], accelerator_view)


@pytest.mark.parametrize("launches", [1, 2, 3, 4])
@pytest.mark.parametrize("checked", [False, True])
def test_the_last_view_copies_back_without_a_garbage_collection(accelerator, monkeypatch, launches, checked) -> None:
    """No cycle of references keeps a launch's containers."""
    if checked:
        monkeypatch.setenv("VKAMP_CHECK", "1")
    raw = np.zeros(64, np.int32)
    values = amp.array_view(raw)
    gc.disable()
    try:
        for _ in range(launches):
            amp.parallel_for_each(accelerator.default_view, values.extent, add_one, values)
        del values
        assert (raw == launches).all()
    finally:
        gc.enable()


@amp.func
def doubled(x):
    return 2 * x


@amp.func
def negated(x):
    return -x


class Source:
    def __init__(self, values, offset, function=doubled):
        self.values, self.offset, self.function = values, offset, function

    @amp.func
    def value(self, i):
        return self.function(self.values[i]) + self.offset


class Shifted:
    def __init__(self, source, by):
        self.source, self.by, self.shape = source, by, amp.extent(4)

    @amp.func
    def value(self, i):
        stage = amp.private(self.by, amp.int32)
        stage[0] = self.source.value((i + self.by) % self.shape[0])
        return stage[0]


@amp.kernel
def store_values(idx, source, out, *, op: amp.constant):
    out[idx] = op(source.value(idx[0]))


def test_objects(accelerator_view, long_ways):
    """Objects with the same containers, classes and functions take the short way, whatever their numbers are."""
    a, b, out = (
        amp.array(amp.extent(4), amp.int32, [k, k + 1, k + 2, k + 3], accelerator_view=accelerator_view)
        for k in (1, 10, 0)
    )

    def launched(source, op=negated):
        amp.parallel_for_each(accelerator_view, out.extent, store_values, source, out, op=op)
        return np.asarray(out).tolist()

    for offset in (0, 3, 3, -5):
        assert launched(Source(a, offset)) == [-(2 * k + offset) for k in range(1, 5)]
    check_prepared(long_ways, ["store_values"], accelerator_view)
    assert launched(Source(b, 0)) == [-2 * k for k in range(10, 14)]
    assert launched(Source(a, np.int32(0))) == [-2, -4, -6, -8]
    assert launched(Source(a, 1, negated)) == [0, 1, 2, 3]
    assert launched(Source(a, 1), doubled) == [6, 10, 14, 18]
    # Other containers of the same types are no reason to prepare the launch again.
    check_prepared(long_ways, ["store_values"] * 4, accelerator_view)
    for by in (1, 1, 2, 1):
        # The number is a constant of the kernel: it is a shape.
        assert launched(Shifted(Source(a, 0), by)) == [-2 * (1 + (k + by) % 4) for k in range(4)]
    check_prepared(long_ways, ["store_values"] * 7, accelerator_view)
    other = Shifted(Source(a, 0), 1)
    other.shape = amp.extent(2)
    assert launched(other) == [-4, -2, -4, -2]


@amp.kernel
def store_called(idx, call, out):
    out[idx] = call(idx[0])


def test_methods_of_objects_are_not_mixed_up(accelerator_view):
    a, b, out = (amp.array(amp.extent(2), amp.int32, [k, k + 1], accelerator_view=accelerator_view) for k in (1, 10, 0))
    for values, expected in ((a, [2, 4]), (b, [20, 22]), (a, [2, 4])):
        amp.parallel_for_each(accelerator_view, out.extent, store_called, Source(values, 0).value, out)
        assert np.asarray(out).tolist() == expected
