"""copy and copy_async: every pair, what is checked, and futures."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import vkamp as amp
from tests.conformance.programs import F32, I32, add_one, numbers, on
from tests.conformance.registry import row

DEVICES = ("device array", "second device's array", "other view's array", "cpu array", "staging array")
VIEWS = ("view of numpy", "section of numpy", "section of an array", "strided view", "source-less view")
KINDS = (*DEVICES, *VIEWS, "numpy")


def second_device(view):
    """A view of another device that runs kernels, of which there always is one."""
    return next(a for a in amp.accelerator.get_all() if a.limits and a != view.accelerator).default_view


def make(kind, view, values):
    """A container of this kind that holds ``values``, of shape (3, 5)."""
    cpu, e = amp.accelerator("cpu").default_view, amp.extent(3, 5)
    if kind == "device array":
        return amp.array(e, data=values, accelerator_view=view)
    if kind == "second device's array":
        return amp.array(e, data=values, accelerator_view=second_device(view))
    if kind == "other view's array":
        return amp.array(e, data=values, accelerator_view=view.accelerator.create_view())
    if kind == "cpu array":
        return amp.array(e, data=values, accelerator_view=cpu)
    if kind == "staging array":
        return amp.array(e, data=values, accelerator_view=cpu, associated_accelerator_view=view)
    if kind == "numpy":
        return values.copy()
    if kind == "source-less view":
        made = amp.array_view(e, values.dtype)
    elif kind == "view of numpy":
        return amp.array_view(values.copy())
    elif kind == "section of numpy":
        made = amp.array_view(np.zeros((6, 9), values.dtype)).section(2, 3, 3, 5)
    elif kind == "section of an array":
        made = amp.array(amp.extent(6, 9), values.dtype, accelerator_view=view).section(2, 3, 3, 5)
    else:
        made = amp.array_view(np.zeros((6, 11), values.dtype)[::2, ::2]).section(0, 1, 3, 5)
    amp.copy(values, made)
    return made


@row("8", "between arrays (device, second device, cpu, staging), array_views and numpy, contiguous or strided")
@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize("source", KINDS)
def test_pairs(accelerator_view, source, target):
    if source == target == "numpy":
        with pytest.raises(TypeError, match="use np.copyto"):
            amp.copy(numbers(3, 5), numbers(3, 5))
        return
    values = numbers(3, 5, dtype=F32) * 3 + 1
    src, dest = make(source, accelerator_view, values), make(target, accelerator_view, np.zeros((3, 5), F32))
    amp.copy(src, dest)
    assert np.array_equal(np.asarray(dest), values)
    assert np.array_equal(np.asarray(src), values)


@row("8", "any rank, structs")
@pytest.mark.parametrize("shape", [(7,), (2, 3, 4), (2, 1, 3, 1, 2)])
def test_ranks_and_structs(accelerator_view, shape):
    dtype = np.dtype([("x", F32), ("n", I32)])
    values = np.zeros(shape, dtype)
    values["n"] = numbers(*shape)
    a = amp.array(amp.extent(shape), dtype, accelerator_view=accelerator_view)
    amp.copy(amp.array_view(values), a)
    out = np.zeros(shape, dtype)
    amp.copy(a, out)
    assert np.array_equal(out, values)


@row("8", "host begin only: the first size() elements")
def test_begin_only(accelerator_view):
    a = amp.array(amp.extent(4), amp.int32, accelerator_view=accelerator_view)
    source = iter(range(100))
    amp.copy(source, a)
    assert np.asarray(a).tolist() == [0, 1, 2, 3] and next(source) == 4


@row("8", "rank and dtype equal between containers")
def test_types_and_ranks(accelerator_view):
    a = amp.array(amp.extent(4), amp.int32, accelerator_view=accelerator_view)
    with pytest.raises(TypeError, match="element types differ"):
        amp.copy(a, amp.array_view(np.zeros(4, F32)))
    with pytest.raises(TypeError, match="ranks differ"):
        amp.copy(amp.array_view(numbers(100)), amp.array_view(np.zeros((10, 10), I32)))


@row("8", "convertible types suffice for iterators", differs="numbers and arrays of the same kind; kinds do not change")
def test_conversion(accelerator_view):
    a = amp.array(amp.extent(3), amp.float32, accelerator_view=accelerator_view)
    amp.copy([1, 2, 3], a)
    amp.copy(np.array([1.0, 2.0, 3.5]), a)
    assert np.asarray(a).tolist() == [1, 2, 3.5]
    with pytest.raises(TypeError):
        amp.copy(np.array([1.5, 2.5, 3.5]), amp.array_view(np.zeros(3, I32)))
    with pytest.raises(OverflowError):
        amp.copy([1, 2, 2**40], amp.array_view(np.zeros(3, I32)))


@row("8", "read-only destinations are refused")
def test_readonly_destinations():
    view, locked = amp.array_view(numbers(4)), numbers(4)
    locked.setflags(write=False)
    with pytest.raises(TypeError, match="read-only"):
        amp.copy(view, amp.array_view(view, readonly=True))
    with pytest.raises(TypeError, match="read-only"):
        amp.copy(view, locked)


@row("8", "extents are equal component by component")
@pytest.mark.parametrize("shapes", [((20, 10), (10, 20)), ((4,), (5,)), ((2, 3), (3, 2)), ((1, 6), (2, 3))])
def test_extents(accelerator_view, shapes):
    a = amp.array(amp.extent(shapes[0]), amp.int32, accelerator_view=accelerator_view)
    with pytest.raises(amp.AmpError, match="extents differ"):
        amp.copy(a, amp.array_view(np.zeros(shapes[1], I32)))
    with pytest.raises(amp.AmpError):
        amp.copy(np.zeros(shapes[1], I32), a)


@row("8", "the host count equals dest.extent.size()")
@row("8", "output that is too short", differs="an AmpError; undefined in C++ AMP")
@pytest.mark.parametrize("count", [5, 7])
def test_counts(accelerator_view, count):
    a = amp.array(amp.extent(2, 3), amp.int32, accelerator_view=accelerator_view)
    with pytest.raises(amp.AmpError, match="needs 6"):
        amp.copy(list(range(count)), a)
    with pytest.raises(amp.AmpError, match="extents differ"):
        amp.copy(a, np.zeros(count, I32))


@row("8", "never writes outside the destination section")
@pytest.mark.parametrize("home", ["numpy", "array"])
def test_neighbours(accelerator_view, home):
    raw = np.full((5, 7), -1, I32)
    whole = (
        amp.array_view(raw)
        if home == "numpy"
        else amp.array(amp.extent(5, 7), data=raw, accelerator_view=accelerator_view)
    )
    on(accelerator_view, add_one, whole.extent, whole)
    amp.copy(numbers(2, 3), whole.section(2, 3, 2, 3))
    expected = np.zeros((5, 7), I32)
    expected[2:4, 3:6] = numbers(2, 3)
    assert np.array_equal(np.asarray(whole), expected)


@row("8", "overlapping source and destination", differs="as if the source were read first; undefined in C++ AMP")
@pytest.mark.parametrize("step", [-2, 2])
def test_overlap(accelerator_view, step):
    whole = amp.array_view(numbers(9))
    on(accelerator_view, add_one, whole.extent, whole)
    low, high = whole.section(0, 7), whole.section(2, 7)
    amp.copy(*((low, high) if step > 0 else (high, low)))
    values = list(range(1, 10))
    assert np.asarray(whole).tolist() == (values[:2] + values[:7] if step > 0 else values[2:] + values[7:])


@row("8", "an uninitialised source is legal")
def test_uninitialised(accelerator_view):
    a = amp.array(amp.extent(5), amp.int32, accelerator_view=accelerator_view)
    host = numbers(6)
    amp.copy(a, host[:5])
    assert host[5] == 5
    source = amp.array_view(amp.extent(5), amp.int32)
    amp.copy(source, a)
    # Any values are legal, but the copy has the source's, and is an ordinary array afterwards.
    assert np.asarray(a).tolist() == np.asarray(source).tolist()
    on(accelerator_view, add_one, a.extent, a)
    assert np.asarray(a).tolist() == (np.asarray(source) + np.int32(1)).tolist()


@row("8", "copying into a view makes its home stale until synchronised")
def test_home_of_a_destination(accelerator_view):
    a = amp.array(amp.extent(5), amp.int32, accelerator_view=accelerator_view)
    amp.copy(numbers(5), amp.array_view(a))
    assert np.asarray(a).tolist() == [0, 1, 2, 3, 4]


@row("8", "copy_async returns a completion_future; memory stays alive")
def test_async(accelerator_view):
    a, out = amp.array(amp.extent(1000), amp.int32, accelerator_view=accelerator_view), np.zeros(1000, I32)
    amp.copy_async(numbers(1000), a).get()
    future = amp.copy_async(a, out)
    del a
    future.get()
    assert np.array_equal(out, numbers(1000))
    with pytest.raises(amp.AmpError, match="extents differ"):
        amp.copy_async(amp.array_view(out), amp.array_view(np.zeros(3, I32)))


@row("8", "completion_future: get, wait, wait_for, wait_until, valid")
def test_futures(accelerator_view):
    nothing = amp.completion_future()
    assert not nothing.valid()
    with pytest.raises(amp.AmpError):
        nothing.get()
    future = amp.copy_async(numbers(5), amp.array(amp.extent(5), amp.int32, accelerator_view=accelerator_view))
    assert future.valid()
    future.wait()
    assert future.wait_for(0) and future.wait_until(time.time()) and future.get() is None


@row("8", "get() rethrows")
def test_rethrows():
    class Broken:
        def __iter__(self):
            raise ValueError("no data")

    future = amp.copy_async(Broken(), amp.array_view(numbers(5)))
    future.wait()
    with pytest.raises(ValueError, match="no data"):
        future.get()


@row("8", "then(fn): callbacks may start asynchronous work and block on it, six deep")
def test_nested_callbacks(accelerator_view):
    ended, depth = threading.Event(), []
    a, out = amp.array(amp.extent(5), data=numbers(5), accelerator_view=accelerator_view), np.zeros(5, I32)

    def go_on():
        depth.append(len(depth))
        amp.copy_async(a, out).get()
        if len(depth) == 6:
            ended.set()
        else:
            amp.copy_async(a, out).then(go_on)
            amp.copy_async(a, np.zeros(5, I32)).get()

    amp.copy_async(a, out).then(go_on)
    assert ended.wait(60) and depth == list(range(6)) and out.tolist() == [0, 1, 2, 3, 4]


@row("8", "futures are awaitable in asyncio, and block neither the loop nor other threads", differs="beyond C++ AMP")
def test_await(accelerator_view):
    a, out = amp.array(amp.extent(2**16), amp.int32, accelerator_view=accelerator_view), np.zeros(2**16, I32)
    turns = 0

    async def clock():
        # Counts the loop's turns, however quick the copies are.
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def main():
        ticking = asyncio.create_task(clock())
        for _ in range(5):
            await amp.copy_async(numbers(2**16), a)
            await amp.copy_async(a, out)
        await asyncio.gather(*(amp.copy_async(a, np.zeros(2**16, I32)) for _ in range(3)))
        await accelerator_view.create_marker()
        ticking.cancel()

    asyncio.run(main())
    assert np.array_equal(out, numbers(2**16)) and turns > 3


LONG = """
import signal, threading, time
import numpy as np
import vkamp as amp

@amp.kernel
def spin(i, values, rounds):
    x = values[i]
    for k in range(rounds):
        for j in range(60000):
            x = x * 1664525 + 1013904223
    values[i] = x

view = amp.accelerator({name!r}).default_view
values = amp.array_view(np.zeros({threads}, np.uint32))
amp.parallel_for_each(view, values.extent, spin, values, {rounds})
"""


def run_script(tmp_path, text):
    path = tmp_path / "program.py"
    path.write_text(text, encoding="utf-8")
    return subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@row("8", "Ctrl-C works while waiting", differs="beyond C++ AMP")
@pytest.mark.skipif(sys.platform == "win32", reason="a process there cannot be sent Ctrl-C alone")
@pytest.mark.accelerators("swiftshader")  # lavapipe ends long loops early, the reference runs at once
@pytest.mark.parametrize("wait", ["values[0]", "amp.copy_async(values, np.zeros(64, np.uint32)).get()", "view.wait()"])
def test_ctrl_c(tmp_path, accelerator, wait):
    done = run_script(
        tmp_path,
        LONG.format(name=accelerator.device_path, threads=64, rounds=400)
        + f"""
threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT)).start()
begin = time.perf_counter()
try:
    {wait}
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted", time.perf_counter() - begin < 30)
""",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted True\n", "")


@row("8", "an asyncio loop goes on during a long kernel", differs="beyond C++ AMP")
@pytest.mark.accelerators("swiftshader")  # lavapipe ends long loops early, the reference runs at once
def test_loop_during_a_long_kernel(tmp_path, accelerator):
    done = run_script(
        tmp_path,
        LONG.format(name=accelerator.device_path, threads=64, rounds=40)
        + """
import asyncio

async def main():
    out, ticks = np.zeros(64, np.uint32), 0
    future = amp.copy_async(values, out)
    begin = time.perf_counter()
    while not future.wait_for(0):
        await asyncio.sleep(0.005)
        ticks += 1
    await future
    return ticks, time.perf_counter() - begin, bool(out[0])

ticks, seconds, right = asyncio.run(main())
print(right, ticks > 10 or seconds < 0.2)
""",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True True\n", "")
