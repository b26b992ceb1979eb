"""Reports and the switch: their contents, the state after a checked launch, and what cannot be checked."""

# The kernels are Python that only vkamp reads.
# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import vkamp as amp
from vkamp.check import instrument
from vkamp.check.instrument.layout import ReportLayout
from vkamp.dispatch import checking
from vkamp.dispatch.domain import domain_of
from vkamp.dispatch.preparing import prepare


def line_of(numbers: list[int]) -> amp.array_view:
    return amp.array_view(np.array(numbers, np.int32))


@amp.kernel
def gather(idx, a, places, out):
    out[idx] = a[places[idx]]


@amp.kernel
def scatter(idx, a, places, out):
    out[places[idx]] = a[idx]


drivers = pytest.mark.accelerators("drivers")


def test_nothing_wrong(accelerator_view):
    out = line_of([0] * 4)
    report = amp.check(accelerator_view, out.extent, gather, line_of([1, 2, 3, 4]), line_of([3, 2, 1, 0]), out)
    assert report.ok
    assert report.findings == () and report.not_covered == ()
    assert (report.kernel, report.accelerator) == ("gather", accelerator_view.accelerator.description)
    assert str(report) == f"gather on {report.accelerator}: nothing wrong"
    assert np.asarray(out).tolist() == [4, 3, 2, 1]


def test_constant_and_computed_indices_meet(accelerator_view):
    """Of private arrays of several words of marks."""

    @amp.kernel
    def meet(idx, a, out):
        own = amp.private(70, amp.int32)
        other = amp.private(70, amp.int32)
        own[31], own[32], own[33], own[64], own[69] = 1, 2, 3, 4, 5
        for k in range(31, 70):
            other[k] = k
        total = other[31] + other[32] + other[63] + other[64] + other[69]
        for k in range(31, 34):
            total += own[a[idx] + k]
        out[idx] = total + own[a[idx] + 64] + own[a[idx] + 69]

    out = line_of([9] * 5)
    report = amp.check(accelerator_view, out.extent, meet, line_of([0] * 5), out)
    assert report.ok and report.not_covered == (), str(report)
    np.testing.assert_array_equal(np.asarray(out), 15 + 31 + 32 + 63 + 64 + 69)


def test_long_private_arrays(accelerator_view):
    """Whose marks are cleared by a loop."""

    @amp.kernel
    def long(idx, a, out):
        total = 0
        for round in range(2):
            own = amp.private(1500, amp.int32)
            for k in range(1400):
                own[k] = k
            total += own[a[idx]] + round
            if idx[0] > 2:
                own[1400] = 7
        out[idx] = total

    places = [5, 1399, 0, 700]
    out = line_of([9] * 4)
    report = amp.check(accelerator_view, out.extent, long, line_of(places), out)
    assert report.ok and report.not_covered == (), str(report)
    np.testing.assert_array_equal(np.asarray(out), 2 * np.array(places) + 1)
    report = amp.check(accelerator_view, out.extent, long, line_of([5, 6, 7, 1400]), out)
    assert [(f.kind, f.variable) for f in report.findings] == [("uninitialised", "own")]


def test_finding(accelerator_view):
    out = line_of([0] * 4)
    report = amp.check(accelerator_view, out.extent, gather, line_of([5, 6, 7]), line_of([2, 1, 0, -7]), out)
    (found,) = report.findings
    assert isinstance(report, amp.Report) and isinstance(found, amp.Finding)
    assert (found.kind, found.variable, found.index) == ("bounds", "a", (-7,))
    (thread,) = found.threads
    assert (thread.global_, thread.tile, thread.local) == ((3,), None, None)
    (place,) = found.locations
    assert place.file == __file__ and place.function == "gather"
    assert str(found).startswith("index -7 of a is out of bounds (extent 3), in thread (3)\n")


@drivers
def test_out_of_bounds_loads_are_zero(accelerator_view):
    out = line_of([9] * 4)
    report = amp.check(accelerator_view, out.extent, gather, line_of([5, 6, 7]), line_of([2, 3, -1, 0]), out)
    assert not report.ok
    assert np.asarray(out).tolist() == [7, 0, 0, 5]


@drivers
def test_out_of_bounds_stores_are_left_out(accelerator_view):
    memory = np.full(6, 9, np.int32)
    out = amp.array_view(memory).section(amp.index(1), amp.extent(4))
    report = amp.check(accelerator_view, amp.extent(4), scatter, line_of([1, 2, 3, 4]), line_of([-1, 4, 2, 0]), out)
    assert [f.index for f in report.findings] in ([(-1,)], [(4,)])
    out.synchronize()
    assert memory.tolist() == [9, 4, 9, 3, 9, 9]


@drivers
def test_every_place_is_told_once(accelerator_view):
    @amp.kernel
    def three(idx, a, out):
        out[idx] = a[idx[0] + 100] + a[idx[0] - 100]
        assert idx[0] < 0, "never"

    out = line_of([0] * 100)
    report = amp.check(accelerator_view, out.extent, three, line_of([1] * 100), out)
    assert [f.kind for f in report.findings] == ["bounds", "bounds", "assert"]
    assert len({f.locations for f in report.findings}) == 3


@drivers
def test_race_names_both_threads_and_lines(accelerator_view):
    @amp.kernel
    def sides(t_idx, places, out):
        if t_idx.local == (0, 1):
            out[places[t_idx]] = 1
        if t_idx.local == (1, 2):
            out[places[t_idx]] = 2

    places = np.broadcast_to(np.repeat(np.arange(4, dtype=np.int32), 3), (2, 12))
    out = line_of([0] * 4)
    report = amp.check(accelerator_view, amp.extent(2, 12).tile(2, 3), sides, amp.array_view(places.copy()), out)
    (found,) = report.findings
    assert (found.kind, found.variable) == ("race", "out")
    second, first = found.threads
    assert first.tile == second.tile == (0, found.index[0])
    assert {first.local, second.local} == {(0, 1), (1, 2)}
    assert [place.line - found.locations[1].line for place in found.locations] == [2, 0]
    assert "and nothing orders the two" in str(found)
    assert "the other access, by thread" in str(found)


@drivers
def test_race_between_tiles_of_a_plane(accelerator_view):
    @amp.kernel
    def columns(t_idx, out):
        out[t_idx.global_[1]] = t_idx.tile[0]

    out = line_of([0] * 15)
    report = amp.check(accelerator_view, amp.extent(4, 15).tile(1, 5), columns, out)
    (found,) = report.findings
    second, first = found.threads
    assert first.tile != second.tile and first.global_[1] == second.global_[1] == found.index[0]
    assert "nothing orders two tiles" in str(found)


@drivers
def test_threads_of_three_dimensions(accelerator_view):
    @amp.kernel
    def one(idx, a, out):
        out[idx] = 1 // a[idx]

    numbers = np.ones((3, 5, 7), np.int32)
    numbers[1, 3, 2] = 0
    report = amp.check(
        accelerator_view, amp.extent(3, 5, 7), one, amp.array_view(numbers), amp.array_view(np.zeros_like(numbers))
    )
    (found,) = report.findings
    assert found.threads[0].global_ == (1, 3, 2)


def test_as_a_decorator(accelerator_view):
    a = line_of([1, 2, 3])
    out = amp.array(amp.extent(3), amp.int32, accelerator_view=accelerator_view)

    @amp.check(out.extent)
    def report(idx):
        out[idx] = a[idx[0] + 1]

    assert [f.kind for f in report.findings] == ["bounds"]
    with pytest.raises(TypeError, match="check the kernel gather with amp.check"):
        amp.check(out.extent)(gather)
    with pytest.raises(TypeError, match="check needs a domain"):
        amp.check()


def test_compile_errors_are_raised(accelerator_view):
    @amp.kernel
    def wrong(idx, out):
        out[idx] = nothing  # noqa: F821

    with pytest.raises(amp.CompileError):
        amp.check(accelerator_view, amp.extent(3), wrong, line_of([0, 0, 0]))


# -- the switch


def test_switch_raises_what_is_found(accelerator_view, monkeypatch):
    monkeypatch.setenv("VKAMP_CHECK", "1")
    out = line_of([0, 0, 0])
    with pytest.raises(amp.CheckError) as caught:
        amp.parallel_for_each(accelerator_view, out.extent, gather, line_of([5, 6, 7]), line_of([0, 1, 3]), out)
    assert caught.value.error_code == "bounds"
    assert [f.variable for f in caught.value.findings] == ["a"]
    if accelerator_view.accelerator.description != "reference":
        # All of it has run.
        assert np.asarray(out).tolist() == [5, 6, 0]
    with pytest.raises(amp.RaceError):
        amp.parallel_for_each(accelerator_view, out.extent, scatter, line_of([5, 6, 7]), line_of([0, 2, 2]), out)


def test_switch_lets_right_launches_pass(accelerator_view, monkeypatch):
    out = line_of([0, 0, 0])
    for value in ("1", "0", "", "1"):
        monkeypatch.setenv("VKAMP_CHECK", value)
        out[0] = 0
        amp.parallel_for_each(accelerator_view, out.extent, gather, line_of([5, 6, 7]), line_of([2, 1, 0]), out)
        assert np.asarray(out).tolist() == [7, 6, 5]


def test_switch_of_a_closure(accelerator_view, monkeypatch):
    monkeypatch.setenv("VKAMP_CHECK", "1")
    out = amp.array(amp.extent(3), amp.int32, accelerator_view=accelerator_view)
    with pytest.raises(amp.CheckError):

        @amp.parallel_for_each(out.extent)
        def _(idx):
            out[idx[0] + 1] = 1


def test_switch_has_two_positions(accelerator_view, monkeypatch):
    monkeypatch.setenv("VKAMP_CHECK", "yes")
    out = line_of([0, 0, 0])
    with pytest.raises(amp.AmpError, match="VKAMP_CHECK is 'yes': 1 checks every launch, 0 none"):
        amp.parallel_for_each(accelerator_view, out.extent, gather, out, out, out)


# -- what cannot be looked at


@amp.kernel
def turned(t_idx, a, out):
    tile = amp.tile_static((4,), amp.int32)
    tile[t_idx.local[0]] = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx.tile_origin[0] + a[t_idx]] = tile[3 - a[t_idx]]


def turn(view: amp.accelerator_view, count: int = 64) -> amp.Report:
    out = amp.array_view(np.zeros(count, np.int32))
    a = amp.array_view(np.arange(count, dtype=np.int32) % 4)
    return amp.check(view, out.extent.tile(4), turned, a, out)


@drivers
def test_too_little_memory_is_told(accelerator_view, monkeypatch):
    assert turn(accelerator_view).not_covered == ()
    monkeypatch.setattr(checking, "_MAX_BYTES", 0)
    report = turn(accelerator_view)
    assert report.ok
    assert report.not_covered == (
        "races on out: they are too large for this device's memory",
        "tile_static memory of 16 of 16 tiles: there is not enough memory to record it",
    )
    assert "not covered: races on out" in str(report)


@drivers
def test_some_tiles_are_looked_at(accelerator_view, monkeypatch):
    @amp.kernel
    def early(t_idx, a, out):
        tile = amp.tile_static((4,), amp.int32)
        if t_idx.tile[0] < a[0]:
            tile[t_idx.local[0]] = a[t_idx]
        t_idx.barrier.wait()
        out[t_idx.tile_origin[0] + a[t_idx]] = tile[a[t_idx]]

    a = line_of([0, 1, 2, 3] * 1000)
    out = line_of([0] * 4000)
    monkeypatch.setattr(checking, "_MAX_BYTES", 4 * (4098 + 1000 + 8000 + 600))
    report = amp.check(accelerator_view, out.extent.tile(4), early, a, out)
    assert [f.kind for f in report.findings] == ["uninitialised"]
    (text,) = report.not_covered
    assert text.startswith("tile_static memory of ")


@drivers
def test_separate_fences_are_told(accelerator_view):
    @amp.kernel
    def apart(t_idx, out):
        out[t_idx] = t_idx.local[0]
        amp.global_memory_fence(t_idx.barrier)
        t_idx.barrier.wait_with_tile_static_memory_fence()
        amp.global_memory_fence(t_idx.barrier)
        if t_idx.local[0] == 0:
            out[t_idx] = out[t_idx.global_[0] + 1]

    report = amp.check(accelerator_view, amp.extent(12).tile(4), apart, line_of([0] * 12))
    assert report.ok, str(report)
    (text,) = report.not_covered
    assert text.startswith("the order of global memory by a fence and a barrier in separate")


@drivers
def test_what_is_not_covered_is_warned_of_once(accelerator_view, monkeypatch):
    @amp.kernel
    def apart(t_idx, out):
        amp.global_memory_fence(t_idx.barrier)
        t_idx.barrier.wait_with_tile_static_memory_fence()
        out[t_idx] = 1

    monkeypatch.setenv("VKAMP_CHECK", "1")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            amp.parallel_for_each(accelerator_view, amp.extent(12).tile(4), apart, line_of([0] * 12))
    told = [w for w in caught if issubclass(w.category, amp.CheckWarning)]
    (warning,) = told
    assert str(warning.message).startswith("apart: not covered: the order of global memory")
    assert warning.filename == __file__


@drivers
def test_a_device_without_memory_for_the_shadows(accelerator_view, monkeypatch):
    allocate, refused = type(accelerator_view).allocate, []

    def little(view, nbytes):
        if nbytes > 60_000:
            refused.append(nbytes)
            raise amp.OutOfMemoryError("no more")
        return allocate(view, nbytes)

    monkeypatch.setattr(type(accelerator_view), "allocate", little)
    report = turn(accelerator_view, 4096)
    assert refused
    assert report.ok
    assert report.not_covered == (
        "races on out: they are too large for this device's memory",
        "tile_static memory of 1024 of 1024 tiles: there is not enough memory to record it",
    )


@drivers
def test_more_barriers_than_there_are_numbers(accelerator_view, monkeypatch):
    @amp.kernel
    def often(t_idx, a, out):
        tile = amp.tile_static((4,), amp.int32)
        for k in range(9):
            tile[t_idx.local[0]] = a[t_idx] + k
            t_idx.barrier.wait()
            out[t_idx] = tile[3 - a[t_idx]]
            t_idx.barrier.wait()
        tile[a[t_idx] // 2] = 1

    out = line_of([0] * 8)
    a = line_of([0, 1, 2, 3] * 2)
    # Three intervals have numbers.
    monkeypatch.setattr(ReportLayout, "thread_bits", property(lambda layout: 28))
    monkeypatch.setattr(instrument, "_INTERVAL_BITS", 2)
    report = amp.check(accelerator_view, out.extent.tile(4), often, a, out)
    assert report.ok, str(report)
    assert "races after very many barriers: the numbers of the barrier intervals ran out" in report.not_covered


@drivers
def test_too_many_threads_to_tell_apart(accelerator_view, monkeypatch):
    @amp.kernel
    def one_place(idx, out):
        out[idx[0] // 2] = 1

    out = line_of([0] * 8)
    assert not amp.check(accelerator_view, out.extent, one_place, out).ok
    monkeypatch.setattr(ReportLayout, "thread_bits", property(lambda layout: 31))
    monkeypatch.setattr(instrument, "_INTERVAL_BITS", 0)
    report = amp.check(accelerator_view, out.extent, one_place, out)
    assert report.ok
    assert report.not_covered == ("races on out: extent(8) has too many threads to number them",)


@drivers
@pytest.mark.filterwarnings("ignore::vkamp.RaceWarning")
def test_very_many_accesses(accelerator_view, monkeypatch):
    @amp.kernel
    def both(t_idx, out):
        tile = amp.tile_static((4,), amp.int32)
        tile[0] = t_idx.local[0]
        tile[1] = t_idx.local[0]
        out[0] = t_idx.local[0]
        out[1] = t_idx.local[0]

    monkeypatch.setattr(instrument, "_MAX_ACCESSES", 1)
    report = amp.check(accelerator_view, amp.extent(8).tile(4), both, line_of([0] * 8))
    assert report.ok
    assert report.not_covered == (
        "races on containers: 2 accesses are too many to record",
        "races on tile_static memory: 2 accesses are too many to record",
    )


@drivers
def test_an_error_tells_what_is_not_covered(accelerator_view, monkeypatch):
    monkeypatch.setenv("VKAMP_CHECK", "1")
    monkeypatch.setattr(checking, "_MAX_BYTES", 0)
    out = line_of([0] * 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(amp.CheckError, match="not covered: races on out: they are too large") as caught:
            amp.parallel_for_each(accelerator_view, out.extent, scatter, line_of([5, 6, 7]), line_of([0, 1, 3]), out)
    assert caught.value.error_code == "bounds"


@drivers
def test_threads_that_check_a_kernel_for_the_first_time(accelerator_view, monkeypatch):
    """Each may instrument it; all use what one of them has made."""
    instrumented, both = checking.checked.instrument, threading.Barrier(2)

    def at_once(*args, **options):
        both.wait(30)
        return instrumented(*args, **options)

    @amp.kernel
    def double(idx, a):
        a[idx] *= 2

    monkeypatch.setattr(checking.checked, "instrument", at_once)
    a = line_of([1, 2, 3])
    prepared = prepare(accelerator_view, domain_of(a.extent), double, (a,), {})
    launches = [checking._CheckedLaunch(prepared, proofs=True) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda launch: launch._instrumented(frozenset()), launches)
    assert one is other
