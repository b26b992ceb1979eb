"""Transfers directly to and from numpy's memory, of arrays that are transferred again and again."""

from __future__ import annotations

import gc
import os
import threading
import warnings

import numpy as np
import pytest

from tests.run.conftest import OneFamily, Runner, bytes_of, device
from vkamp.lang.region import ByteSet
from vkamp.run.vulkan import device as vulkan_device
from vkamp.run.vulkan import direct_copies
from vkamp.run.vulkan.api import copying_family
from vkamp.run.vulkan.device import VulkanDevice
from vkamp.run.vulkan.engine import VulkanEngine
from vkamp.run.vulkan.queue import VulkanQueue

N = 5003


@pytest.fixture
def direct(driver, monkeypatch):
    """A queue of a new device that imports arrays at their third transfer, of any size."""
    monkeypatch.setattr(vulkan_device, "Api", OneFamily)
    monkeypatch.setattr(direct_copies, "_MIN", 1)
    monkeypatch.setattr(direct_copies, "_TRANSFERS", 2)
    made = VulkanDevice(device(driver, VulkanEngine()), staged=True)
    if made.direct_copies is None:
        made.close()
        pytest.skip("the driver imports no host memory")
    yield Runner(VulkanQueue(made))
    made.close()


@pytest.fixture
def copies(monkeypatch):
    """How many bytes were copied directly, copy by copy."""
    found = []
    copy = direct_copies.CopyQueue.copy

    def counted(self, source, target, regions):
        found.append(int(regions[:, 2].sum()))
        copy(self, source, target, regions)

    monkeypatch.setattr(direct_copies.CopyQueue, "copy", counted)
    return found


def upload(runner, buffer, values, where=None, *, offset=0):
    """An upload to memory that nothing uses."""
    runner.queue.wait()
    buffer.upload(offset, values, where)


def imports(runner):
    return sum(block.kind == "host" for block in runner.queue.device.memory.blocks.values())


@pytest.mark.parametrize(
    ("flags", "family"), [((15, 12, 14), 1), ((7,), None), ((15, 14, 12, 44), 2), ((), None), ((15, 28), 1)]
)
def test_the_family_that_only_copies(flags, family):
    assert copying_family(flags) == family


def test_every_byte_goes_and_comes(direct, copies):
    values, out = bytes_of(4 * N, 1), np.full(4 * N, 7, np.uint8)
    buffer = direct.buffer(np.zeros(N + 1, np.uint32))
    for number in range(5):
        values[0] = number
        upload(direct, buffer, values, offset=4)
        out[:] = 7
        buffer.download(4, 4 * N, None, out)
        np.testing.assert_array_equal(out, values)
    assert copies == [4 * N] * 6
    assert imports(direct) == 2
    assert not buffer.download(0, 4).any()


def test_parts_leave_what_is_between(direct, copies):
    where = ByteSet(np.array([3, 7, 900, 2001, 4 * N - 1, 4 * N], np.int64))
    mask = np.zeros(4 * N, bool)
    for start, stop in where.intervals():
        mask[start:stop] = True
    before, values, out = bytes_of(4 * N, 1), bytes_of(4 * N, 2), np.empty(4 * N, np.uint8)
    for _ in range(4):
        buffer = direct.buffer(before.view(np.uint32))
        upload(direct, buffer, values, where)
        np.testing.assert_array_equal(buffer.download(0, 4 * N), np.where(mask, values, before))
        out[:] = 9
        buffer.download(0, 4 * N, where, out)
        np.testing.assert_array_equal(out, np.where(mask, values, 9))
    assert copies.count(where.nbytes) == 4
    assert buffer.download(0, 4 * N, ByteSet(np.zeros(0, np.int64)), out) is out


def test_transfers_keep_their_place_among_launches(direct, copies):
    ones, out = np.ones(N, np.int32), np.zeros(N, np.int32)
    buffer, other = direct.buffer(np.zeros(N)), direct.queue.allocate(4 * N)
    for number in range(6):
        buffer.upload(0, ones.view(np.uint8))
        direct.launch("add", [buffer], [number])
        direct.launch("scale", [buffer, other], [3])
        other.download(0, 4 * N, None, out.view(np.uint8))
        np.testing.assert_array_equal(out, 3 * (1 + number) * ones)
    assert len(copies) >= 3


def test_an_upload_to_memory_in_use_does_not_wait(direct, copies, monkeypatch):
    values = np.ones(N, np.int32).view(np.uint8)
    buffer = direct.buffer(np.zeros(N))
    for _ in range(3):
        upload(direct, buffer, values)
    assert len(copies) == 1
    direct.launch("add", [buffer], [1])
    monkeypatch.setattr(direct.queue, "is_used", lambda slot, *, writes_only: True)
    monkeypatch.setattr(direct.queue, "wait_for", lambda submission: pytest.fail("waited"))
    buffer.upload(0, values)
    monkeypatch.undo()
    assert len(copies) == 1
    np.testing.assert_array_equal(direct.read(buffer), np.ones(N, np.int32))


def test_an_import_goes_with_its_array(direct):
    buffer = direct.buffer(np.zeros(N))
    for number in range(4):
        values = bytes_of(4 * N, number)
        for _ in range(4):
            upload(direct, buffer, values)
        assert imports(direct) == 1
        np.testing.assert_array_equal(direct.read(buffer).view(np.uint8), values)
        del values
        gc.collect()
        direct.queue.device.tidy()
        assert imports(direct) == 0
    assert not direct.queue.device.direct_copies.arrays._known
    assert direct.queue.device.direct_copies.arrays._bytes == 0


def test_sections_of_one_array(direct, copies):
    values = bytes_of(16 * N, 3)
    buffer = direct.buffer(np.zeros(N))
    for start in (0, 4 * N + 1, 7 * N):
        for _ in range(3):
            upload(direct, buffer, values[start : start + 4 * N])
        np.testing.assert_array_equal(direct.read(buffer).view(np.uint8), values[start : start + 4 * N])
    assert len(copies) == 3


class Nameless:
    """Memory of an object that cannot be referred to weakly."""

    __slots__ = ("__array_interface__", "_keep")

    def __init__(self, values):
        self._keep = values
        self.__array_interface__ = values.__array_interface__


@pytest.mark.parametrize(
    ("wrapped", "count"),
    [(lambda x: np.frombuffer(memoryview(x), np.uint8), 3), (lambda x: np.asarray(Nameless(x)), 0)],
)
def test_memory_that_no_array_owns(direct, copies, wrapped, count):
    values = wrapped(bytes_of(4 * N, 1))
    buffer = direct.buffer(np.zeros(N))
    for _ in range(5):
        upload(direct, buffer, values)
    np.testing.assert_array_equal(buffer.download(0, values.size), values)
    assert len(copies) == count


def test_no_more_than_a_part_of_the_hosts_memory(direct, copies):
    direct.queue.device.direct_copies.arrays._most = 6 * N
    one, other = bytes_of(4 * N, 1), bytes_of(4 * N, 2)
    buffer = direct.buffer(np.zeros(N))
    for values in (one, other, one, other, one, other, one, other):
        upload(direct, buffer, values)
        np.testing.assert_array_equal(buffer.download(0, 4 * N), values)
    assert len(copies) == 2
    assert imports(direct) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_pages_that_a_fork_may_have_replaced_are_imported_again(direct, copies):
    values = bytes_of(4 * N, 1)
    buffer = direct.buffer(np.zeros(N))
    for _ in range(3):
        upload(direct, buffer, values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads and fork
        child = os.fork()
    if not child:
        os._exit(0)
    values[:] = bytes_of(4 * N, 2)
    os.waitpid(child, 0)
    upload(direct, buffer, values)
    np.testing.assert_array_equal(direct.read(buffer).view(np.uint8), values)
    assert len(copies) == 2
    direct.queue.device.tidy()
    assert imports(direct) == 1


def test_ctrl_c_waits_for_the_copy(direct, monkeypatch):
    values = bytes_of(4 * N, 1)
    buffer = direct.buffer(np.zeros(N))
    for _ in range(3):
        upload(direct, buffer, values)
    held = direct.queue.device.api.held_calls
    status, calls = held.GetFenceStatus, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return status(*arguments)

    values[:] = bytes_of(4 * N, 2)
    monkeypatch.setattr(held, "GetFenceStatus", interrupted)
    with pytest.raises(KeyboardInterrupt):
        upload(direct, buffer, values)
    assert len(calls) >= 2
    monkeypatch.setattr(held, "GetFenceStatus", status)
    assert direct.queue.device._is_left_by_threads()  # A thread may still make frames.
    assert not direct.queue.device.visitors
    values[:] = bytes_of(4 * N, 3)
    upload(direct, buffer, values)
    np.testing.assert_array_equal(direct.read(buffer).view(np.uint8), values)


def test_threads_transfer_at_once(direct, copies):
    pairs = [(bytes_of(4 * N, k), direct.buffer(np.zeros(N)), np.zeros(4 * N, np.uint8)) for k in range(4)]
    wrong = []

    def work(values, buffer, out):
        for number in range(20):
            values[:8] = number
            buffer.upload(0, values)
            direct.launch("add", [buffer], [0])
            buffer.download(0, 4 * N, None, out)
            if not (out == values).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=pair) for pair in pairs]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong
    assert len(copies) > 60


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="the system does not list a process's mappings")
def test_files_and_shared_memory_are_not_imported(tmp_path):
    """NVIDIA's driver refuses them, and after that imports nothing."""
    import mmap

    size = 64 << 10
    np.arange(size, dtype=np.uint8).tofile(tmp_path / "values")
    for mode in ("r", "r+", "c"):
        assert not direct_copies.is_private(np.memmap(tmp_path / "values", np.uint8, mode))
    shared = np.frombuffer(mmap.mmap(-1, size), np.uint8)
    assert not direct_copies.is_private(shared)
    assert not direct_copies.is_private(shared[size // 2 :])
    private = np.frombuffer(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), np.uint8)
    assert direct_copies.is_private(private)
    assert direct_copies.is_private(np.zeros(4 << 20, np.uint8)) and direct_copies.is_private(np.zeros(8, np.uint8))


def test_an_array_of_a_file_is_transferred_without_an_import(direct, copies, tmp_path):
    values = bytes_of(4 * N, 1)
    values.tofile(tmp_path / "values")
    mapped = np.memmap(tmp_path / "values", np.uint8, "r")
    buffer = direct.buffer(np.zeros(N, np.uint32))
    for _ in range(5):
        upload(direct, buffer, mapped)
    assert imports(direct) == 0
    assert copies == []
    np.testing.assert_array_equal(buffer.download(0, 4 * N), values)
