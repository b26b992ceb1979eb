"""Transfers in pieces, with threads that copy: every byte and no other, with any other work in between."""

from __future__ import annotations

import gc
import random
import threading

import numpy as np
import pytest

import vkamp as amp
from tests.run.conftest import bytes_of
from vkamp.errors import AmpError
from vkamp.lang import copying
from vkamp.lang.region import ByteSet
from vkamp.run.vulkan import staging
from vkamp.run.vulkan.frames import Frames

N = 5003


@pytest.fixture(params=[1, 3])
def small_pieces(request, monkeypatch):
    """Pieces of a few bytes, copied by so many threads."""
    monkeypatch.setattr(copying, "_threads", request.param)
    monkeypatch.setattr(copying, "_MIN", 2)
    monkeypatch.setattr(staging, "_PIECE", 1000)
    monkeypatch.setattr(staging, "_WINDOW", 3000)


@pytest.mark.parametrize("size", [1, 999, 1000, 1001, 4 * N])
def test_every_byte_goes_and_comes(staged, small_pieces, size):
    values = bytes_of(size + 2, size)
    buffer = staged.buffer(np.zeros(N + 1, np.uint32))
    buffer.upload(3, values[1:-1])
    np.testing.assert_array_equal(buffer.download(3, size), values[1:-1])
    out = np.full(size + 2, 7, np.uint8)
    buffer.download(3, size, None, out[1:-1])
    assert (out[0], out[-1]) == (7, 7)
    np.testing.assert_array_equal(out[1:-1], values[1:-1])
    rest = buffer.download(0, buffer.nbytes)
    assert not rest[:3].any()
    assert not rest[3 + size :].any()


@pytest.mark.parametrize("count", [2, 40])
def test_parts_leave_what_is_between(staged, small_pieces, monkeypatch, count):
    monkeypatch.setattr(staging, "_MAX_INTERVALS", 20)
    choose = random.Random(count)
    edges = sorted(choose.sample(range(4 * N), 2 * count))
    where = ByteSet(np.array(edges, np.int64))
    mask = np.zeros(4 * N, bool)
    for start, stop in where.intervals():
        mask[start:stop] = True
    before, values = bytes_of(4 * N, 1), bytes_of(4 * N, 2)
    buffer = staged.buffer(before.view(np.uint32))
    buffer.upload(0, values, where)
    np.testing.assert_array_equal(buffer.download(0, 4 * N), np.where(mask, values, before))
    out = np.full(4 * N, 9, np.uint8)
    buffer.download(0, 4 * N, where, out)
    np.testing.assert_array_equal(out, np.where(mask, values, 9))


def test_transfers_keep_their_place_among_launches(staged, small_pieces):
    buffer = staged.buffer(np.arange(N))
    staged.launch("add", [buffer], [1])
    first = staged.queue.allocate(4 * N)
    staged.launch("scale", [buffer, first], [3])
    buffer.upload(0, np.full(4 * N, 1, np.uint8))
    staged.launch("add", [buffer], [1])
    np.testing.assert_array_equal(staged.read(first), 3 * (np.arange(N) + 1))
    assert set(staged.read(buffer).tolist()) == {0x01010102}


@pytest.mark.parametrize("what", ["upload", "download"])
def test_other_threads_launch_while_one_copies(staged, small_pieces, monkeypatch, what):
    values, other = bytes_of(4 * N, 1), staged.buffer(np.arange(N))
    buffer = staged.buffer(values.view(np.uint32))
    copies, reached, go_on = staging.copy_soon, threading.Event(), threading.Event()

    def held(target, source):
        reached.set()
        assert go_on.wait(60)
        return copies(target, source)

    monkeypatch.setattr(staging, "copy_soon", held)
    found = []
    work = (lambda: buffer.upload(0, values)) if what == "upload" else (lambda: found.append(staged.read(buffer)))
    thread = threading.Thread(target=work)
    thread.start()
    assert reached.wait(60)
    # Neither the launch nor the wait needs what the other thread has.
    staged.launch("add", [other], [1])
    staged.queue.wait()
    assert not go_on.is_set()
    go_on.set()
    thread.join()
    monkeypatch.undo()
    np.testing.assert_array_equal(staged.read(other), np.arange(N) + 1)
    np.testing.assert_array_equal(staged.read(buffer).view(np.uint8), values)


@pytest.mark.parametrize("what", ["upload", "download"])
def test_ctrl_c_in_a_transfer_leaves_the_queue_usable(staged, small_pieces, monkeypatch, what):
    values = bytes_of(4 * N, 1)
    buffer = staged.buffer(np.zeros(N))
    copies, running = staging.copy_soon, []

    def interrupted(target, source):
        wait = copies(target, source) or (lambda: None)
        running.append(wait)

        def finish():
            wait()
            if wait in running:
                running.remove(wait)
                raise KeyboardInterrupt

        return finish

    monkeypatch.setattr(staging, "copy_soon", interrupted)
    work = (lambda: buffer.upload(0, values)) if what == "upload" else (lambda: buffer.download(0, 4 * N))
    with pytest.raises(KeyboardInterrupt):
        work()
    assert not running, "a thread still copies"
    monkeypatch.undo()
    assert staged.queue.device._visitors == 0
    buffer.upload(0, values)
    np.testing.assert_array_equal(staged.read(buffer).view(np.uint8), values)


def test_a_transfer_that_fails_in_the_middle_raises(staged, small_pieces, monkeypatch):
    values = bytes_of(4 * N, 1)
    buffer = staged.buffer(np.zeros(N))
    take, count = type(staged.queue).take_staging, 0

    def failing(queue, nbytes, kind):
        nonlocal count
        count += 1
        if count == 4:
            raise AmpError("no more")
        return take(queue, nbytes, kind)

    monkeypatch.setattr(type(staged.queue), "take_staging", failing)
    with pytest.raises(AmpError, match="no more"):
        buffer.upload(0, values)
    buffer.upload(0, values)
    np.testing.assert_array_equal(staged.read(buffer).view(np.uint8), values)


def test_memory_for_transfers_is_kept_beside_large_arrays(staged, monkeypatch):
    monkeypatch.setattr(staged.queue.device.pool, "capacity", 1 << 20)
    data = np.ones(4 << 20, np.uint8)
    for _ in range(3):
        buffer = staged.queue.allocate(data.size)
        buffer.upload(0, data)
        staged.queue.wait()
        before = staged.queue.statistics.allocations
        del buffer
    buffer = staged.queue.allocate(data.size)
    buffer.upload(0, data)
    # At most the array's own memory, and no piece.
    assert staged.queue.statistics.allocations <= before + 1


def test_the_process_ends_while_a_daemon_thread_transfers(script, driver):
    text = f"""
        import threading, time
        import numpy as np
        from conftest import VulkanEngine, runner_on
        from vkamp.run.vulkan import staging
        staging._PIECE = staging._MIN_PIECE = 1 << 16
        for staged in (True, False):
            runner = runner_on(VulkanEngine(staged=staged), {driver!r})
            buffer = runner.buffer(np.zeros(1 << 20))
            def work(buffer=buffer):
                data = np.ones(4 << 20, np.uint8)
                while True:
                    buffer.upload(0, data)
                    buffer.download(0, data.size)
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.3)
        print("end", flush=True)
    """
    done = script(text, check=False)
    assert done.stdout == "end\n"
    assert done.returncode == 0, done.stderr


# -- beside launches ----------------------------------------------------------------------------------


@amp.kernel
def add(idx, values, number):
    values[idx] += number


def test_async_copies_wait_for_no_other_launch(driver, monkeypatch):
    """What a launch that still runs does not use is copied at once."""
    view = amp.accelerator(f"{driver}@vulkan").create_view()
    made = [amp.array_view(np.arange(N, dtype=np.int32) + n) for n in range(2)]
    arrays = [
        amp.array(amp.extent(N), amp.int32, np.arange(N, dtype=np.int32), accelerator_view=view) for _ in range(2)
    ]
    for each in (*made, *arrays):
        amp.parallel_for_each(view, each.extent, add, each, 1)
    view.wait()
    held, is_done = set(), Frames.is_done
    monkeypatch.setattr(Frames, "is_done", lambda self, frame: frame not in held and is_done(self, frame))
    amp.parallel_for_each(view, made[1].extent, add, made[1], 1)
    view.flush()
    held.add(view._queue._state.running[-1].frame)
    out = np.zeros(N, np.int32)
    futures = [
        made[0].synchronize_async(),
        amp.copy_async(np.full(N, 5, np.int32), arrays[0]),
        amp.copy_async(arrays[1], out),
    ]
    assert all(each.wait_for(60) for each in futures)
    assert view._queue._state.running, "the launch is over"
    held.clear()
    for each in futures:
        each.get()
    np.testing.assert_array_equal(np.asarray(made[0]), np.arange(N) + 1)
    np.testing.assert_array_equal(np.asarray(made[1]), np.arange(N) + 3)
    assert (np.asarray(arrays[0]) == 5).all()
    np.testing.assert_array_equal(out, np.arange(N) + 1)


@pytest.mark.parametrize("kept", [True, False])
def test_async_copies_keep_what_they_read(driver, kept):
    view = amp.accelerator(f"{driver}@vulkan").default_view
    array = amp.array(amp.extent(N), amp.int32, accelerator_view=view)
    values = [np.full(N, number, np.int32) for number in range(8)]
    for number in range(8):
        future = amp.copy_async(values[number] if kept else np.full(N, number, np.int32), array)
        gc.collect()
        future.get()
        amp.parallel_for_each(view, array.extent, add, array, 1)
        assert (np.asarray(array) == number + 1).all()
