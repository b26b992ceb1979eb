"""Launches compared with the reference accelerator: what is compared, and what is said of a difference."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from vkamp.testing import compare, comparison


@amp.kernel
def halved(i, values, out):
    out[i] = values[i] / 2


@amp.kernel
def moved(i, values, out):
    out[i] = values[i] + 1.0


@amp.kernel
def sine(i, angles, out, count):
    out[i] = amp.fast_math.sin(angles[i])
    if i[0] == 0 and i[1] == 0:
        count[0] = 3


@amp.kernel
def rounds(i, out, n):
    count = 0
    for _ in range(n):
        for _ in range(n):
            count += 1
    out[i] = count


@amp.kernel
def rounds_of_300(i, out):
    count = 0
    for _ in range(300):
        for _ in range(300):
            count += 1
    out[i] = count


@amp.kernel
def take(i, next_one, out):
    out[i] = amp.atomic_fetch_add(next_one[0], 1)


@amp.kernel
def tiled_sum(t, values, out, *, scale: amp.constant):
    part = amp.tile_static((3, 5), amp.float32)
    part[t.local] = values[t]
    t.barrier.wait_with_tile_static_memory_fence()
    if t.local == (0, 0):
        total = 0.0
        for row in range(3):
            for col in range(5):
                total += part[row, col]
        out[t.tile] = total * scale


def numbers(*shape: int) -> np.ndarray:
    return np.linspace(-3, 7, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def refused(error: type[Exception], *args, **options) -> str:
    with pytest.raises(error) as caught:
        compare(*args, **options)
    return str(caught.value)


def break_device(monkeypatch: pytest.MonkeyPatch, change) -> None:
    """Lets every launch that the comparison starts on a device spoil what it wrote."""
    run = comparison.run

    def spoiled(prepared):
        bound = run(prepared)
        if prepared.view.accelerator.device_path != "reference":
            change(prepared.arguments.containers)
        return bound

    monkeypatch.setattr(comparison, "run", spoiled)


# -- what agrees ---------------------------------------------------------------------------------------------------


def test_results_stay_in_the_containers(accelerator_view):
    raw = numbers(7, 13)
    out = amp.array_view(np.zeros((7, 13), np.float32))
    compare(accelerator_view, out.extent, halved, amp.array_view(raw), out)
    np.testing.assert_array_equal(np.asarray(out), raw / 2)


def test_tiles_arrays_and_constants(accelerator):
    raw = numbers(9, 20)
    view = accelerator.default_view
    values = amp.array(amp.extent(9, 20), amp.float32, raw, accelerator_view=view)
    out = amp.array(amp.extent(3, 4), amp.float32, accelerator_view=view)
    compare(values.extent.tile(3, 5), tiled_sum, values, out, ulp=8, scale=2.0)
    expected = raw.reshape(3, 3, 4, 5).sum((1, 3)) * 2
    np.testing.assert_allclose(np.asarray(out), expected, rtol=1e-5)


def test_a_closure(accelerator):
    raw = numbers(11)
    values, out = amp.array_view(raw), amp.array_view(np.zeros(11, np.float32))
    step = 0.25

    def shifted(i):
        out[i] = values[i] + step

    compare(accelerator, out.extent, shifted)
    np.testing.assert_array_equal(np.asarray(out), raw + np.float32(0.25))


def test_a_launch_that_changes_what_it_reads(accelerator):
    view = amp.array_view(numbers(30))
    first, second = view.section(amp.index(0), amp.extent(10)), view.section(amp.index(10), amp.extent(20))
    compare(accelerator, amp.extent(10), moved, first, first)
    compare(accelerator, amp.extent(10), moved, first, second)
    expected = numbers(30)
    expected[:10] += 1
    expected[10:20] = expected[:10] + 1
    np.testing.assert_array_equal(np.asarray(view), expected)


def test_what_is_pending_on_the_device_counts(accelerator):
    view = accelerator.default_view
    values, out = amp.array_view(numbers(12)), amp.array_view(np.zeros(12, np.float32))
    amp.parallel_for_each(view, values.extent, moved, values, values)
    compare(view, values.extent, halved, values, out)
    np.testing.assert_array_equal(np.asarray(out), (numbers(12) + 1) / 2)


# -- tolerances ----------------------------------------------------------------------------------------------------


@pytest.mark.vkamp_accelerators("swiftshader")
def test_a_tolerance_for_each_container(accelerator):
    angles = amp.array_view(numbers(5, 6))
    out, count = amp.array_view(np.zeros((5, 6), np.float32)), amp.array_view(np.zeros(1, np.int32))
    compare(accelerator, out.extent, sine, angles, out, count, ulp={"out": 64}, atol={"out": 1e-3})
    text = refused(AssertionError, accelerator, out.extent, sine, angles, out, count, ulp=4)
    head, first, *rest = text.splitlines()
    assert head == f"sine on {accelerator.description} differs from the reference accelerator"
    assert first.startswith("out: ")
    assert first.endswith(" of 30 elements are further off than 4 ulp")
    assert len(rest) == 6
    assert all(line.startswith("  out[") and line.endswith(" ulp off") for line in rest[:5])


def test_a_name_that_nothing_has(accelerator):
    values, out = amp.array_view(numbers(3)), amp.array_view(np.zeros(3, np.float32))
    text = refused(ValueError, accelerator, out.extent, halved, values, out, ulp={"out": 1, "values": 2})
    assert text == "ulp names values; halved writes out"


# -- differences ---------------------------------------------------------------------------------------------------


@pytest.mark.vkamp_accelerators("drivers")
def test_a_difference_is_named(accelerator, monkeypatch):
    def change(containers):
        found = np.asarray(containers["out"]).copy()
        found[1, 2] = 2.5 + 2.0**-20
        found[4, 0] = np.nan
        containers["out"]._write(found)

    break_device(monkeypatch, change)
    values = amp.array_view(np.arange(15, dtype=np.float32).reshape(5, 3))
    out = amp.array_view(np.zeros((5, 3), np.float32))
    text = refused(AssertionError, accelerator, out.extent, halved, values, out, ulp=2)
    assert text == (
        f"halved on {accelerator.description} differs from the reference accelerator\n"
        "out: 2 of 15 elements are further off than 2 ulp\n"
        "  out[4, 0] is nan instead of 6.0\n"
        "  out[1, 2] is 2.500001 instead of 2.5, 4 ulp off"
    )


@pytest.mark.vkamp_accelerators("llvmpipe")
def test_loops_that_the_driver_ends(accelerator):
    out = amp.array_view(np.zeros(1, np.int32))
    text = refused(AssertionError, accelerator, out.extent, rounds, out, 300)
    assert text == (
        f"rounds on {accelerator.description} differs from the reference accelerator\n"
        "out: 1 of 1 elements differs\n"
        "  out[0] is 65101 instead of 90000\n"
        "note: this device terminates all loops of a thread after 65,535 iterations in total, "
        "and this kernel may have more"
    )
    text = refused(AssertionError, accelerator, out.extent, rounds_of_300, out)
    assert text.splitlines()[-1] == (
        "note: this device terminates all loops of a thread after 65,535 iterations in total, "
        "and this kernel may have 90,300"
    )


@pytest.mark.vkamp_accelerators("llvmpipe")
def test_no_note_where_the_loops_are_short(accelerator, monkeypatch):
    break_device(monkeypatch, lambda containers: containers["out"]._write(np.array([5], np.float32)))
    out = amp.array_view(np.zeros(1, np.float32))
    text = refused(AssertionError, accelerator, out.extent, halved, amp.array_view(numbers(1)), out)
    assert text.splitlines()[-1].startswith("  out[0] is 5.0 instead of -1.5, ")


@pytest.mark.vkamp_accelerators("reference")
def test_the_reference_runs_in_two_orders(accelerator):
    next_one, out = amp.array_view(np.zeros(1, np.int32)), amp.array_view(np.zeros(6, np.int32))
    text = refused(AssertionError, accelerator, out.extent, take, next_one, out)
    head, first, *_ = text.splitlines()
    assert head == "take gives different results in two orders of its threads"
    assert first.startswith("out: ")


# -- what goes wrong -----------------------------------------------------------------------------------------------


def test_what_the_reference_finds_comes_first(accelerator):
    values, out = amp.array_view(numbers(4)), amp.array_view(np.full(5, 7, np.float32))
    text = refused(amp.CheckError, accelerator, out.extent, moved, values, out)
    assert text.startswith("index 4 of values is out of bounds (extent 4), in thread (4)")
    if accelerator.device_path != "reference":
        assert (np.asarray(out) == 7).all(), "the device has not run"


def test_check_mode(accelerator, monkeypatch):
    monkeypatch.setenv("VKAMP_CHECK", "1")
    checked = []
    run = amp.dispatch.checking.checked_launch
    monkeypatch.setattr(amp.dispatch.checking, "checked_launch", lambda prepared: (checked.append(1), run(prepared)))
    out = amp.array_view(np.zeros(3, np.float32))
    compare(accelerator, out.extent, halved, amp.array_view(numbers(3)), out)
    assert checked == [1]


def test_a_compile_error_is_that_of_the_launch(accelerator):
    out = amp.array_view(np.zeros(3, np.float32))
    text = refused(amp.CompileError, accelerator, out.extent, halved, 3, out)
    with pytest.raises(amp.CompileError) as caught:
        amp.parallel_for_each(accelerator, out.extent, halved, 3, out)
    assert text == str(caught.value)


def test_a_launch_without_a_kernel(accelerator):
    text = refused(TypeError, accelerator, amp.extent(3))
    assert text == "compare takes a kernel after the domain: compare(domain, kernel, *args)"


def test_a_constant_of_the_name_of_a_tolerance(accelerator):
    @amp.kernel
    def scaled(i, out, *, ulp: amp.constant):
        out[i] = ulp

    text = refused(TypeError, accelerator, amp.extent(3), scaled, amp.array_view(np.zeros(3, np.int32)), ulp=2)
    assert text == "compare itself has a parameter 'ulp': rename the one of scaled"


def test_in_a_capture(accelerator):
    out = amp.array_view(np.zeros(3, np.float32))
    with amp.capture():
        text = refused(amp.AmpError, accelerator, out.extent, halved, amp.array_view(numbers(3)), out)
    assert text.startswith("vkamp.testing.compare() inside amp.capture(), where launches are recorded and none runs")
