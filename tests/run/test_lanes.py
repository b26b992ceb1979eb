"""Large transfers by several threads, each with memory and commands of its own."""

from __future__ import annotations

import itertools
import os
import threading
import time

import numpy as np
import pytest

from tests.run.conftest import OneFamily, Runner, bytes_of, device
from vkamp.errors import AmpError, OutOfMemoryError
from vkamp.lang import copying
from vkamp.run.vulkan import device as vulkan_device
from vkamp.run.vulkan import direct_copies, lanes
from vkamp.run.vulkan.device import VulkanDevice
from vkamp.run.vulkan.engine import VulkanEngine
from vkamp.run.vulkan.queue import VulkanQueue

N = 5003
PIECE = 1000


@pytest.fixture(params=[1, 3], ids=["one thread", "three threads"])
def runner(request, driver, monkeypatch):
    """A queue of a new device whose transfers of any size go by lanes of a few bytes, in so many threads."""
    monkeypatch.setattr(vulkan_device, "Api", OneFamily)
    monkeypatch.setattr(direct_copies, "_MIN", 1)
    monkeypatch.setattr(lanes, "_MIN", 1)
    monkeypatch.setattr(lanes, "_PIECE", PIECE)
    monkeypatch.setattr(lanes, "_SMALLEST", PIECE // 4)
    monkeypatch.setattr(copying, "_transfer_threads", request.param)
    made = VulkanDevice(device(driver, VulkanEngine()), staged=True)
    if made.direct_copies is None:
        made.close()
        pytest.skip("the driver imports no host memory")
    yield Runner(VulkanQueue(made))
    made.close()


@pytest.mark.parametrize("size", [1, 3, PIECE // 4, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 4, 9 * PIECE + 7, 4 * N])
def test_every_byte_goes_and_comes(runner, size):
    values = bytes_of(size + 2, size)
    buffer = runner.buffer(np.zeros(N + 1, np.uint32))
    before = runner.queue.statistics
    buffer.upload(3, values[1:-1])
    out = np.full(size + 2, 7, np.uint8)
    buffer.download(3, size, None, out[1:-1])
    assert (out[0], out[-1]) == (7, 7)
    np.testing.assert_array_equal(out[1:-1], values[1:-1])
    after = runner.queue.statistics
    assert after.submissions == before.submissions, "the transfers were submitted with the kernels"
    assert after.synced_bytes - before.synced_bytes == 2 * size
    whole = buffer.download(0, buffer.nbytes)
    assert not whole[:3].any() and not whole[3 + size :].any()


def test_transfers_keep_their_place_among_launches(runner):
    buffer = runner.buffer(np.arange(N, dtype=np.uint32))
    for turn in range(4):
        runner.launch("add", [buffer], [turn])
        out = np.empty(4 * N, np.uint8)
        buffer.download(0, out.size, None, out)
        np.testing.assert_array_equal(out.view(np.uint32), np.arange(N) + turn)
        runner.launch("add", [buffer], [5])  # which the upload must wait for, and overwrite
        buffer.upload(0, np.arange(N, dtype=np.uint32).view(np.uint8))
    runner.launch("add", [buffer], [1])
    np.testing.assert_array_equal(runner.read(buffer), np.arange(N) + 1)


def test_lanes_are_used_again(runner):
    buffer = runner.buffer(np.zeros(N, np.uint32))

    def both():
        values = bytes_of(4 * N, 1)
        buffer.upload(0, values)
        out = np.empty_like(values)
        buffer.download(0, out.size, None, out)
        np.testing.assert_array_equal(out, values)

    for _ in range(6):
        both()
    copies = runner.queue.device.direct_copies
    # One for each thread, and some whose copies are in flight; in downloads each thread may add one to these.
    for side, most in ((copies._lanes_up, 1), (copies._lanes_down, 2)):
        assert len(side._all) <= most * copying.transfer_threads() + 2 * lanes._SPARE
        assert set(side._free) == set(side._all)
        assert len(side._free) == len(side._all)


def test_transfers_of_several_threads(runner):
    """In both directions at the same time, beside launches."""
    buffers = [runner.buffer(np.zeros(N, np.uint32)) for _ in range(4)]
    wrong = []

    def transfer(number):
        for turn in range(6):
            values = bytes_of(4 * N, 10 * number + turn)
            buffers[number].upload(0, values)
            runner.launch("add", [buffers[number]], [turn])
            out = np.empty_like(values)
            buffers[number].download(0, out.size, None, out)
            if not np.array_equal(out.view(np.uint32), values.view(np.uint32) + np.uint32(turn)):
                wrong.append((number, turn))

    threads = [threading.Thread(target=transfer, args=(k,)) for k in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_an_error_in_one_thread_ends_the_others(runner, monkeypatch):
    buffer = runner.buffer(np.zeros(N, np.uint32))
    calls = itertools.count()
    empty = lanes.Lane.empty

    def failing(self, *args):
        if next(calls) == 5:
            raise ValueError("no more")
        empty(self, *args)

    monkeypatch.setattr(lanes.Lane, "empty", failing)
    with pytest.raises(ValueError, match="no more"):
        buffer.upload(0, bytes_of(4 * N, 1))
    monkeypatch.undo()
    monkeypatch.setattr(direct_copies, "_MIN", 1)
    values = bytes_of(4 * N, 2)
    buffer.upload(0, values)
    np.testing.assert_array_equal(buffer.download(0, 4 * N), values)


def test_without_memory_for_lanes_the_transfer_goes_another_way(runner, monkeypatch):
    buffer = runner.buffer(np.zeros(N, np.uint32))
    take = VulkanDevice.take

    def full(self, nbytes, kind, statistics):
        if nbytes == PIECE:
            raise OutOfMemoryError("full")
        return take(self, nbytes, kind, statistics)

    monkeypatch.setattr(VulkanDevice, "take", full)
    values = bytes_of(4 * N, 3)
    buffer.upload(0, values)
    out = np.empty_like(values)
    buffer.download(0, out.size, None, out)
    np.testing.assert_array_equal(out, values)


@pytest.mark.skipif(not hasattr(os, "kill") or os.name == "nt", reason="no signals are sent here")
def test_ctrl_c_leaves_no_copy_under_way(runner, monkeypatch):
    import signal

    buffer = runner.buffer(np.zeros(N, np.uint32))
    values = bytes_of(4 * N, 4)
    filled = threading.Event()

    def slowly(target, source):
        filled.set()
        time.sleep(0.002)
        target[:] = source

    monkeypatch.setattr(lanes.np, "copyto", slowly)
    main = threading.main_thread().ident
    sender = threading.Thread(target=lambda: (filled.wait(), signal.pthread_kill(main, signal.SIGINT)))
    sender.start()

    def upload_again_and_again():
        for _ in range(100):
            buffer.upload(0, values)

    with pytest.raises(KeyboardInterrupt):
        upload_again_and_again()
    sender.join()
    monkeypatch.undo()
    found = runner.queue.device.direct_copies._lanes_up
    assert sorted(map(id, found._free)) == sorted(map(id, found._all))
    assert not any(lane.is_in_flight for lane in found._all)
    buffer.upload(0, values)
    np.testing.assert_array_equal(buffer.download(0, 4 * N), values)


def test_a_closed_device_takes_no_transfer(runner):
    buffer = runner.buffer(np.zeros(N, np.uint32))
    runner.queue.device.close()
    with pytest.raises(AmpError, match="closed"):
        buffer.upload(0, bytes_of(4 * N, 1))
