"""Memory of the direct engine: blocks, the list of free memory, and transfers."""

from __future__ import annotations

import dataclasses
import itertools
import random

import numpy as np
import pytest

from tests.run.conftest import Runner, device
from tests.run.direct_engine import ENGINES, MIB, N, difference
from tests.run.random_work import work as random_work
from vkamp.errors import OutOfMemoryError
from vkamp.lang.region import ByteSet
from vkamp.run.vulkan import reused_memory
from vkamp.run.vulkan.engine import VulkanEngine
from vkamp.run.vulkan.frames import _TIMEOUT
from vkamp.run.vulkan.free_list import FreeList
from vkamp.run.vulkan.memory import BlockMemory

#: Most of these count submissions or barriers, which the driver makes when it likes.
pytestmark = pytest.mark.usefixtures("gathering")


@pytest.fixture(params=ENGINES.values(), ids=ENGINES.keys())
def expression(request):
    return request.param


# -- memory -------------------------------------------------------------------------------------


def test_small_buffers_share_a_block(runner):
    runner.queue.allocate(100)
    kept = []
    found = difference(runner, lambda: kept.extend(runner.queue.allocate(100 + i) for i in range(500)))
    assert found["allocations"] <= 1
    places = sorted((b.slot.block.serial, b.slot.offset, b.slot.nbytes) for b in kept)
    for (block, offset, size), (next_block, next_offset, _) in itertools.pairwise(places):
        assert block != next_block or offset + size <= next_offset
    assert all(offset % runner.queue.device.memory.alignment == 0 for _, offset, _ in places)


def test_neighbours_in_a_block_do_not_touch_each_other(runner):
    choose = random.Random(5)
    buffers = [runner.buffer(np.full(choose.randrange(1, 200), i)) for i in range(40)]
    for i in range(0, 40, 3):
        runner.launch("add", [buffers[i]], [100])
    for i in range(1, 40, 3):
        buffers[i].upload(0, np.full(buffers[i].nbytes, 255, np.uint8))
    for i, buffer in enumerate(buffers):
        expected = [i + 100, 2**32 - 1, i][i % 3]
        assert set(runner.read(buffer).tolist()) == {expected}


def test_memory_goes_back_to_the_driver(engine, info):
    queue = engine.open(dataclasses.replace(info, uuid="a device of its own"))
    memory = queue.device.memory
    held = [queue.allocate(3 * MIB) for _ in range(4)]
    used = memory.budget.used
    assert used >= 12 * MIB
    del held
    with queue.device.lock:
        queue.device._release_everything()
    assert memory.budget.used == 0
    assert memory.blocks == {}
    queue.close()


def test_the_driver_has_no_memory(runner, monkeypatch):
    """What the driver says counts, whatever the heaps promise."""
    api = runner.queue.device.api
    kept = runner.buffer([1, 2, 3])
    with monkeypatch.context() as patch:
        patch.setattr(api, "AllocateMemory", lambda *_: -2)
        with pytest.raises(OutOfMemoryError, match=r"\(104857600 bytes\) requested, but the device cannot allocate"):
            runner.queue.allocate(100 * MIB)
    assert runner.read(kept).tolist() == [1, 2, 3]
    assert runner.queue.allocate(100 * MIB).nbytes == 100 * MIB


def test_memory_of_a_kind_is_of_the_right_type(driver):
    """The choice among the types of a graphics card: its own, host's write-combined, host's cached, a window on it."""
    engine = VulkanEngine()
    memory = engine.open(device(driver, engine)).device.memory
    local, visible, coherent, cached = 1, 2, 4, 8
    flags = [0, local, visible | coherent, visible | coherent | cached, local | visible | coherent, visible | cached]
    made = memory._api.ffi.new("VkPhysicalDeviceMemoryProperties*")
    made.memoryTypeCount = len(flags)
    for row, value in zip(made.memoryTypes, flags, strict=False):
        row.propertyFlags = value
    card = BlockMemory.__new__(BlockMemory)
    card._api, card._properties = memory._api, made
    assert card._types("device") == [1, 4]
    assert card._types("upload") == [2, 3, 4]
    assert card._types("readback") == [3, 2, 4]
    assert card._types("shared") == [3, 4, 2]


# -- the free list against a model ----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_the_free_list_against_a_model(seed):
    choose = random.Random(seed)
    size = choose.choice([1, 64, 300, 1000])
    places, taken, used = FreeList(size), {}, np.zeros(size, bool)
    for _ in range(300):
        if taken and choose.random() < 0.48:
            start = choose.choice(list(taken))
            length = taken.pop(start)
            used[start : start + length] = False
            places.give_back(start, length)
        else:
            length, alignment = choose.randrange(1, max(2, size // 6)), 1 << choose.randrange(6)
            fits = [s for s in range(0, size - length + 1, alignment) if not used[s : s + length].any()]
            start = places.take(length, alignment)
            assert start == (fits[0] if fits else None)
            if start is not None:
                taken[start] = length
                used[start : start + length] = True
        assert places.free == size - used.sum()
        assert places.is_empty == (not used.any())
        # Neighbours are joined: as many ranges as the model has runs.
        runs = np.flatnonzero(np.diff(np.concatenate([[True], used, [True]]).astype(int)) == -1)
        assert places._starts == runs.tolist()


@pytest.mark.parametrize(("start", "length"), [(0, 1), (15, 2), (99, 2), (-1, 1), (12, 1)])
def test_giving_back_what_is_not_taken_is_refused(start, length):
    places = FreeList(100)
    assert places.take(10, 1) == 0
    assert places.take(5, 1) == 10
    places.give_back(0, 10)
    places.give_back(12, 1)
    with pytest.raises(ValueError, match="is not allocated"):
        places.give_back(start, length)


# -- transfers ----------------------------------------------------------------------------------


def test_only_the_bytes_that_are_asked_for_move(staged):
    a = staged.buffer(np.arange(100_000))
    found = difference(staged, lambda: a.download(400, 44))
    assert (found["synced_bytes"], found["submissions"]) == (44, 1)
    found = difference(staged, lambda: a.upload(8, np.zeros(12, np.uint8)))
    assert (found["synced_bytes"], found["submissions"]) == (12, 1)
    rows = ByteSet.runs(np.arange(0, 4000, 400, dtype=np.int64), 40)
    found = difference(staged, lambda: a.upload(0, np.full(4000, 255, np.uint8), rows))
    assert found["synced_bytes"] == found["uploaded_bytes"] == 400
    found = difference(staged, lambda: a.download(0, 4000, rows))
    assert found["synced_bytes"] == found["downloaded_bytes"] == 400
    expected = np.arange(100_000, dtype=np.uint32)
    expected[2:5] = 0
    expected[:1000].reshape(10, 100)[:, :10] = 2**32 - 1
    np.testing.assert_array_equal(staged.read(a), expected)


def test_memory_that_the_host_sees_needs_no_copies(driver):
    engine = VulkanEngine(staged=False)
    runner = Runner(engine.open(device(driver, engine)))
    a = runner.buffer(np.arange(N))
    runner.launch("add", [a], [1])
    runner.read(a)
    assert runner.queue.statistics.synced_bytes == 0
    assert runner.queue.statistics.submissions == 1


@pytest.mark.parametrize("count", [1, 3, 17, 1024, 1025, 5000])
def test_scattered_bytes(runner, count):
    generator = np.random.default_rng(count)
    size = 8 * count + 13
    initial, values = generator.integers(0, 256, (2, size)).astype(np.uint8)
    starts = np.sort(generator.choice(size // 4, count, replace=False)).astype(np.int64) * 4
    where = ByteSet.runs(starts, 3)
    a = runner.queue.allocate(size + 5)
    a.upload(5, initial)
    runner.launch_words("word", [runner.buffer([0] * 64)], [1], groups=(1, 1, 1))
    a.upload(5, values, where)
    chosen = np.zeros(size, bool)
    for start, stop in where.intervals():
        chosen[start:stop] = True
    expected = np.where(chosen, values, initial)
    np.testing.assert_array_equal(a.download(5, size), expected)
    np.testing.assert_array_equal(a.download(5, size, where)[chosen], expected[chosen])
    into = np.full(size, 0xEE, np.uint8)
    assert a.download(5, size, where, into) is into
    np.testing.assert_array_equal(into, np.where(chosen, expected, np.uint8(0xEE)))


def test_large_transfers_go_in_pieces(staged):
    size = 75 * MIB + 4321
    values = np.random.default_rng(0).integers(0, 256, size, np.uint8)
    a = staged.queue.allocate(size)
    a.upload(0, values)
    found = a.download(0, size)
    assert np.array_equal(found, values)
    a.upload(9 * MIB + 1, values[: 8 * MIB + 5])
    values[9 * MIB + 1 :][: 8 * MIB + 5] = values[: 8 * MIB + 5].copy()
    assert np.array_equal(a.download(123, size - 123), values[123:])
    into = np.zeros(size, np.uint8)
    assert np.array_equal(a.download(0, size, None, into), values)
    assert np.array_equal(into, values)


def test_uploads_wait_for_nothing(staged, monkeypatch):
    a = staged.buffer([1, 2])
    staged.launch("long", [a], [100, 50_000], groups=(1, 1, 1))
    staged.queue.flush()
    with monkeypatch.context() as patch:
        patch.setattr(staged.queue, "_await", lambda *_: pytest.fail("it waits"))
        for value in range(20):
            a.upload(4, np.full(4, value, np.uint8))
        staged.launch("add", [a], [1])
        staged.queue.flush()
    assert staged.read(a)[1] == 0x13131314


def test_small_uploads_to_memory_in_use_do_not_wait(driver):
    engine = VulkanEngine(staged=False)
    runner = Runner(engine.open(device(driver, engine)))
    a, b = runner.buffer(np.arange(N)), runner.queue.allocate(4 * N)
    runner.launch("scale", [a, b], [2])
    a.upload(0, np.full(4 * N, 1, np.uint8))
    runner.launch("add", [a], [1])
    assert runner.queue.statistics.submissions == 0
    np.testing.assert_array_equal(runner.read(b), 2 * np.arange(N))
    assert set(runner.read(a).tolist()) == {0x01010102}


@pytest.mark.parametrize("card", [VulkanEngine], indirect=True)
@pytest.mark.parametrize("is_kept", [False, True])
def test_large_memory_of_running_work_is_used_again(card, is_kept, monkeypatch):
    """The device goes on meanwhile.  A program that keeps all of its memory soon waits no more."""
    monkeypatch.setattr(reused_memory, "_LARGE", 4096)
    monkeypatch.setattr(reused_memory, "_ALLOCATION", 1.0)
    queue, submitted, waits = card.queue, [], []
    add, wait = queue._add, queue._await

    def noted_add(submission, *rest):
        submitted.append(submission.submitted)
        add(submission, *rest)

    def noted_wait(submission, until=None):
        # Whether other work was submitted later. The time identifies a submission; a reference would keep its memory.
        waits.append(submission.submitted != submitted[-1])
        wait(submission, until)

    monkeypatch.setattr(queue, "_add", noted_add)
    monkeypatch.setattr(queue, "_await", noted_wait)

    # No other test leaves free memory of this size behind, which would be used first.
    nbytes = 5_300_000
    # Launches whose program is still made are not submitted, so that nothing waits for them.
    first = queue.allocate(nbytes)
    card.launch_words("long", [first], [1, 1], groups=(1, 1, 1))
    card.read(first)
    del first
    waits.clear()
    results, places = [], set()
    for number in range(12):
        result = queue.allocate(nbytes)
        places.add(result.slot.id)
        card.launch_words("long", [result], [20, 5000], groups=(1, 1, 1))
        if number % 2 == 0:
            queue.flush()  # The other half is submitted to run during the wait.
        results = [*results, result] if is_kept else [result]
    assert len(places) == 12 if is_kept else len(places) <= 3
    assert len(waits) <= (3 if is_kept else 12)
    assert all(waits)


@pytest.mark.parametrize("card", [VulkanEngine], indirect=True)
def test_a_wait_for_memory_takes_no_longer_than_an_allocation(card, monkeypatch):
    """On a device whose work seems never to end."""
    monkeypatch.setattr(reused_memory, "_LARGE", 4096)
    monkeypatch.setattr(reused_memory, "_ALLOCATION", 0.0)
    api, lengths = card.queue.device.api, []

    def wait(*arguments):
        lengths.append(arguments[-1])
        return _TIMEOUT if len(lengths) < 10 else pytest.fail("it waits on")

    with monkeypatch.context() as patch:
        patch.setattr(api, "GetFenceStatus", lambda *_: 1)
        patch.setattr(api, "WaitForFences", wait)
        for _ in range(4):
            result = card.queue.allocate(4096)
            card.launch_words("long", [result], [20, 50], groups=(1, 1, 1))
            card.queue.flush()
    # The first two have no earlier work to wait for that other work follows.
    assert lengths == [0, 0]


@pytest.mark.parametrize("seed", range(12))
def test_random_work_within_narrow_limits(runner, seed, monkeypatch):
    """Every limit is reached: pieces of transfers, pending and running work, memory on its way."""
    choose = random.Random(seed)
    limits = {
        "queue._MAX_PENDING": [1, 2, 5],
        "queue._MAX_RUNNING": [1, 4],
        "queue._IN_FLIGHT": [2000, 5000],
        "queue._WAITING": [64, 1000],
        "mapped._SMALL": [0, 300],
        "mapped._FEW": [0, 100, 1024],
        "queue._POLL": [0.0, 1e-4],
        "staging._PIECE": [64, 1000],
        "staging._WINDOW": [1, 2000],
        "staging._MAX_INTERVALS": [1, 1024],
    }
    for name, values in limits.items():
        monkeypatch.setattr(f"vkamp.run.vulkan.{name}", choose.choice(values))
    monkeypatch.setattr("vkamp.lang.copying._threads", choose.choice([1, 2, 3]))
    monkeypatch.setattr("vkamp.lang.copying._MIN", 64)
    runner.queue.immediate = choose.random() < 0.2
    random_work(runner, seed)
