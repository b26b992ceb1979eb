"""What only the direct engine does: barriers where hazards ask, staging, suballocation, its pipeline cache, times."""

from __future__ import annotations

import dataclasses
import gc
import itertools
import random
import time
from collections import OrderedDict

import numpy as np
import pytest

from tests.run.conftest import Executable, Runner, device, spirv
from tests.run.random_work import work as random_work
from vkamp.errors import AcceleratorRemovedError, AmpError, OutOfMemoryError, UnsupportedFeatureError
from vkamp.lang.region import ByteSet
from vkamp.run.engine import Dispatch, Heap
from vkamp.run.features import FEATURES
from vkamp.run.vulkan.api import VulkanError, computing_family
from vkamp.run.vulkan.engine import VulkanEngine, _open
from vkamp.run.vulkan.free_list import FreeList
from vkamp.run.vulkan.memory import BlockMemory
from vkamp.run.vulkan.pipelines import PipelineCache

#: Most of these count submissions or barriers, which the driver makes when it likes.
pytestmark = pytest.mark.usefixtures("gathering")

N = 1003
MIB = 1 << 20


@pytest.fixture(params=["VulkanEngine(staged=False)", "VulkanEngine(staged=True)"], ids=["shared", "staged"])
def expression(request):
    return request.param


@pytest.fixture
def staged(driver):
    """A fresh queue whose memory the host does not see."""
    engine = VulkanEngine(staged=True)
    queue = engine.open(device(driver, engine))
    yield Runner(queue)
    queue.close()


def difference(runner, work):
    """What the statistics of some work are."""
    runner.queue.wait()
    before = dataclasses.asdict(runner.queue.statistics)
    work()
    runner.queue.wait()
    after = dataclasses.asdict(runner.queue.statistics)
    return {name: after[name] - before[name] for name in after}


# -- barriers -----------------------------------------------------------------------------------


def filled(runner, count):
    """Buffers that hold numbers, which nothing has touched since the last barrier."""
    buffers = [runner.buffer(np.arange(N)) for _ in range(count)]
    other = runner.buffer([1])
    for _ in range(2):
        runner.launch("add", [other], [1])
    runner.queue.wait()
    return buffers


def test_independent_launches_need_no_barrier(runner):
    buffers = filled(runner, 6)

    def work():
        for buffer in buffers:
            runner.launch("add", [buffer], [1])

    assert difference(runner, work)["barriers"] == 0
    assert difference(runner, work)["barriers"] == 1


def test_readers_of_one_buffer_need_no_barrier(runner):
    source, *targets = filled(runner, 5)
    runner.launch("add", [source], [1])
    runner.queue.wait()

    def work():
        for target in targets:
            runner.launch("scale", [source, target], [2])

    # One after the write of the source, none among the readers.
    found = difference(runner, work)
    assert (found["barriers"], found["submissions"], found["dispatches"]) == (1, 1, 4)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((0, 1), (1, 2)),  # read after write
        ((0, 1), (2, 0)),  # write after read
        ((0, 2), (1, 2)),  # write after write
    ],
)
def test_each_hazard_needs_a_barrier(runner, first, second):
    buffers = filled(runner, 3)
    for again in range(3):  # also across submissions

        def work():
            runner.launch("scale", [buffers[i] for i in first], [3])
            runner.launch("scale", [buffers[i] for i in second], [5])

        found = difference(runner, work)
        assert found["submissions"] == 1
        assert found["barriers"] == (1 if again == 0 else 2)


def test_a_chain_takes_one_submission_and_a_barrier_per_step(runner):
    (a,) = filled(runner, 1)

    def work():
        for _ in range(40):
            runner.launch("add", [a], [1])

    found = difference(runner, work)
    assert found["submissions"] == 1
    assert found["barriers"] == 39
    np.testing.assert_array_equal(runner.read(a), np.arange(N) + 40)


def test_chains_side_by_side_share_barriers(runner):
    a, b = filled(runner, 2)

    def work():
        for buffer in (a, b):
            for _ in range(10):
                runner.launch("add", [buffer], [1])

    assert difference(runner, work)["barriers"] == 9
    np.testing.assert_array_equal(runner.read(a), np.arange(N) + 10)


def test_nothing_is_waited_for_between_dependent_submissions(runner, monkeypatch):
    a = runner.buffer(np.arange(N))
    waits = []
    real = runner.queue.frames.wait
    monkeypatch.setattr(runner.queue.frames, "wait", lambda *args: (waits.append(args), real(*args)))
    for _ in range(130):
        runner.launch("add", [a], [1])
    assert waits == []
    assert runner.queue.statistics.submissions >= 2
    np.testing.assert_array_equal(runner.read(a), np.arange(N) + 130)
    assert len(waits) <= 1


def test_what_runs_is_bounded(runner):
    a = runner.buffer(np.arange(N))
    for _ in range(1000):
        runner.launch("add", [a], [1])
        assert sum(each.pieces for each in runner.queue._state.running) <= 256 + 64
    np.testing.assert_array_equal(runner.read(a), np.arange(N) + 1000)


def test_memory_that_running_work_holds_is_bounded(engine, info):
    """Launches on separate memory, which is dropped immediately, faster than the device runs them."""
    heap = Heap(40 * MIB, 40 * MIB, True)
    types = tuple(dataclasses.replace(t, heap=0) for t in info.memory_types)
    queue = engine.open(dataclasses.replace(info, heaps=(heap,), memory_types=types))
    queue.immediate = True
    own = Runner(queue)
    for number in range(100):
        a = queue.allocate(2 * MIB)
        own.launch("word", [a], [number], groups=(3, 1, 1))
        assert sum({k: v for each in queue._state.running for k, v in each.slots.items()}.values()) <= 12 * MIB
    assert set(a.download(0, 400).view(np.uint32).tolist()) == {99}
    assert queue.statistics.allocations <= 10
    queue.close()


def test_heavy_launches_gather_a_few_at_a_time(runner, gathering, monkeypatch):
    monkeypatch.setattr("vkamp.run.vulkan.commands._HEAVY", 5000)
    light, heavy = runner.buffer(np.arange(N)), runner.buffer(np.arange(2 * N))
    queue = runner.queue
    queue.wait()
    before = queue.statistics.submissions
    runner.launch("add", [light], [1])
    assert queue.statistics.submissions == before
    runner.launch("add", [heavy], [1])
    assert queue.statistics.submissions == before  # behind the other one
    queue.wait()
    runner.launch("add", [heavy], [1])
    assert queue.statistics.submissions == before + 2, "the device had nothing to do"
    monkeypatch.setattr(queue, "_is_busy", lambda: True)
    for _ in range(31):
        runner.launch("add", [heavy], [1])
    assert queue.statistics.submissions == before + 2
    runner.launch("add", [heavy], [1])
    assert queue.statistics.submissions == before + 3
    monkeypatch.setattr(queue, "_most_held", lambda: 5 * 8 * N)
    runner.launch("add", [heavy], [1])
    runner.launch("add", [light], [1])
    assert queue.statistics.submissions == before + 3
    other = queue.allocate(8 * N)
    runner.launch("scale", [heavy, other], [1])
    assert queue.statistics.submissions == before + 4, "they use much memory together"
    np.testing.assert_array_equal(runner.read(heavy), np.arange(2 * N) + 35)


def test_frames_are_used_again(runner):
    a = runner.buffer(np.arange(N))
    runner.queue.wait()
    before = len(runner.queue.frames._made)
    for step in range(50):
        runner.launch("add", [a], [1])
        assert runner.read(a)[0] == step + 1
    assert len(runner.queue.frames._made) <= before + 1


@pytest.mark.accelerators("llvmpipe")
def test_the_validation_layers_see_a_barrier_left_out(validated):
    output = validated(
        """
        from conftest import *
        from vkamp.run.vulkan.commands import CommandRecorder
        CommandRecorder._barrier = lambda *_: None
        # The layers see hazards within one submission.
        Driver.call, DispatchWork.is_short = lambda self: None, True
        runner = runner_on(VulkanEngine(staged=False), "llvmpipe")
        a, b = runner.buffer([1] * 99), runner.buffer([2] * 99)
        runner.launch("scale", [a, b], [3])
        runner.launch("scale", [b, a], [3])
        runner.queue.wait()
        print("end")
        """
    )
    assert "SYNC-HAZARD" in output


@pytest.mark.accelerators("llvmpipe")
def test_the_validation_layers_are_silent_about_all_of_it(validated):
    output = validated(
        """
        from conftest import *
        from vkamp.lang.region import ByteSet
        from vkamp.run.engine import Timing
        for staged in (False, True):
            engine = VulkanEngine(staged=staged)
            runner = runner_on(engine, "llvmpipe")
            queue = runner.queue
            times = []
            queue.profile(times.append)
            large = queue.allocate(20_000_001)
            large.upload(3, np.ones(19_000_000, np.uint8))
            large.upload(0, np.full(100, 7, np.uint8), ByteSet.interval(3, 5) | ByteSet.interval(50, 77))
            a = runner.buffer(range(500))
            for _ in range(3):
                runner.launch("add", [a], [1])
                a.upload(8, np.zeros(12, np.uint8))
            runner.launch_words("double", [queue.allocate(8)], (), groups=(1, 1, 1))
            assert large.download(0, 60, ByteSet.interval(2, 55)).tolist()[50:55] == [7] * 5
            assert runner.read(a)[:6].tolist() == [3, 4, 0, 0, 0, 8]
            queue.wait()
            queue.profile(None)
            assert sum(isinstance(each, Timing) for each in times) == 4
            del large
            for _ in range(20):
                queue.allocate(90_000_000)
            queue.close()
        print("end")
        """
    )
    assert output == "end\n"


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


def test_uploads_wait_for_nothing(staged):
    a = staged.buffer([1, 2])
    staged.launch("long", [a], [100, 50_000], groups=(1, 1, 1))
    staged.queue.flush()
    started = time.perf_counter()
    for value in range(20):
        a.upload(4, np.full(4, value, np.uint8))
    staged.launch("add", [a], [1])
    staged.queue.flush()
    queued = time.perf_counter() - started
    assert staged.read(a)[1] == 0x13131314
    assert queued < time.perf_counter() - started


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


@pytest.mark.parametrize("seed", range(12))
def test_random_work_within_narrow_limits(runner, seed, monkeypatch):
    """Every limit is reached: pieces of transfers, pending and running work, memory on its way."""
    choose = random.Random(seed)
    limits = {
        "queue._MAX_PENDING": [1, 2, 5],
        "queue._MAX_RUNNING": [1, 4],
        "queue._IN_FLIGHT": [2000, 5000],
        "queue._WAITING": [64, 1000],
        "queue._SMALL": [0, 300],
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


# -- pipelines and descriptor sets --------------------------------------------------------------


def test_a_pipeline_serves_every_buffer_and_grid(runner):
    buffers = [runner.buffer(np.arange(100 * i)) for i in range(1, 6)]
    runner.launch("add", [buffers[0]], [1])

    def work():
        for buffer in buffers:
            runner.launch("add", [buffer], [1])

    assert difference(runner, work)["pipelines"] == 0


def test_descriptor_sets_are_recycled(runner, monkeypatch):
    monkeypatch.setattr("vkamp.run.vulkan.pipelines._SETS", 8)
    device = runner.queue.device
    buffers = [runner.buffer(np.full(70, i)) for i in range(40)]
    for _ in range(5):
        for buffer in buffers:
            runner.launch("add", [buffer], [1])
        runner.queue.wait()
    gc.collect()
    pools = len(device.sets._pools)
    for buffer in buffers:
        runner.launch("add", [buffer], [1])
    for i, buffer in enumerate(buffers):
        assert set(runner.read(buffer).tolist()) == {i + 6}
    assert len(device.sets._pools) == pools


def test_many_programs_give_up_old_pipelines(runner, monkeypatch):
    monkeypatch.setattr("vkamp.run.vulkan.pipelines._PIPELINES", 3)
    pipelines = runner.queue.device.pipelines
    # Other queues of the process share the device, and may hold programs.
    before = set(pipelines._handles)
    a = runner.buffer(np.zeros(200))
    base = runner.executable("add")
    for number in range(12):
        made = dataclasses.replace(base, spirv=base.spirv[:8] + bytes([number]) + base.spirv[9:])
        push = np.array([200, number], np.uint32).tobytes()
        runner.queue.enqueue(Dispatch(runner.queue.program(made), (a,), push, (4, 1, 1), (True,)))
    assert set(runner.read(a).tolist()) == {sum(range(12))}
    runner.queue.program(runner.executable("scale"))
    runner.queue.program(runner.executable("word"))
    gc.collect()
    runner.queue.program(dataclasses.replace(base, spirv=base.spirv[:8] + b"\x77" + base.spirv[9:]))
    assert len(pipelines._programs) == 3
    assert len(pipelines._handles - before) <= 3


PIPELINE_CACHE = """
    from conftest import *
    engine = VulkanEngine()
    runner = runner_on(engine, {driver!r})
    a = runner.buffer([1, 2])
    runner.launch("add", [a], [1])
    assert runner.read(a).tolist() == [2, 3]
    print(len(runner.queue.device.pipelines.cache._kept) > 0)
    """


@pytest.fixture
def found_cache(tmp_path, script, driver):
    """Runs a program that keeps the driver's pipeline cache; whether it found one, and the file."""

    def run():
        output = script(PIPELINE_CACHE.format(driver=driver), VKAMP_CACHE_DIR=str(tmp_path))
        assert output.stderr == ""
        (path,) = (tmp_path / "pipelines").glob("*.bin")
        return output.stdout == "True\n", path

    return run


def test_the_pipeline_cache_is_kept_on_disk(found_cache):
    assert not found_cache()[0]
    assert found_cache()[0]


@pytest.mark.accelerators("swiftshader")
def test_a_damaged_pipeline_cache_is_ignored(found_cache):
    _, path = found_cache()
    good = path.read_bytes()
    for damaged in (b"", good[:20], good[:-1], good[:60] + bytes([good[60] ^ 1]) + good[61:], b"x" * len(good)):
        path.write_bytes(damaged)
        assert not found_cache()[0]
        assert path.read_bytes() == good


def test_another_drivers_pipeline_cache_is_ignored(driver, tmp_path, monkeypatch):
    monkeypatch.setenv("VKAMP_CACHE_DIR", str(tmp_path))
    engine = VulkanEngine()
    info = dataclasses.replace(device(driver, engine), uuid="a device of its own")
    cache = engine.open(info).device.pipelines.cache
    header = bytearray(cache.header)
    header[-1] ^= 1
    cache.store.put(cache.key, bytes(header) + b"data")
    assert cache._read() == b""
    cache.store.put(cache.key, cache.header + b"data")
    assert cache._read() == cache.header + b"data"


def test_a_pipeline_cache_that_the_driver_refuses_is_replaced(driver, tmp_path, monkeypatch):
    monkeypatch.setenv("VKAMP_CACHE_DIR", str(tmp_path))
    make = PipelineCache._make

    def refusing(cache, data):
        if data.endswith(b"bad"):
            raise VulkanError("making a VkPipelineCache", -13, "VK_ERROR_UNKNOWN")
        return make(cache, data)

    monkeypatch.setattr(PipelineCache, "_make", refusing)
    engine = VulkanEngine()
    first, second = (
        engine.open(dataclasses.replace(device(driver, engine), uuid=f"refusing device {n}")).device.pipelines.cache
        for n in range(2)
    )
    bad = first.header + b"bad"
    first.store.put(first.key, bad)
    third = dataclasses.replace(device(driver, engine), uuid="refusing device 2")
    assert engine.open(third).device.pipelines.cache._kept == b""
    second.note_new()
    second.save()
    assert second._read() == second._kept != bad


def test_what_the_driver_would_refuse_is_not_kept(driver, tmp_path, monkeypatch):
    monkeypatch.setenv("VKAMP_CACHE_DIR", str(tmp_path))
    engine = VulkanEngine()
    runner = Runner(engine.open(dataclasses.replace(device(driver, engine), uuid="choosy device")))
    cache = runner.queue.device.pipelines.cache
    runner.launch("add", [runner.buffer([1])], [1])
    runner.queue.wait()
    with monkeypatch.context() as patch:
        patch.setattr(runner.queue.device.api, "CreatePipelineCache", lambda *_: -13)
        cache.save()
    assert cache._read() == b""
    cache.note_new()
    cache.save()
    assert cache._read() == cache._kept != b""


def test_a_pipeline_cache_that_grows_is_read_again(driver, tmp_path, monkeypatch):
    monkeypatch.setenv("VKAMP_CACHE_DIR", str(tmp_path))
    engine = VulkanEngine()
    cache = engine.open(dataclasses.replace(device(driver, engine), uuid="growing device")).device.pipelines.cache
    whole, sizes = cache._data(), []
    get = cache._api.GetPipelineCacheData

    def growing(handle, made, size, data):
        result = get(handle, made, size, data)
        if data == cache._api.null:
            sizes.append(size[0])
            size[0] -= 4 * (len(sizes) == 1)  # another thread makes a pipeline after the first look
        return result

    monkeypatch.setattr(cache._api, "GetPipelineCacheData", growing)
    assert cache._data() == whole
    assert len(sizes) == 2


def test_a_pipeline_cache_takes_in_what_others_wrote(driver, tmp_path, monkeypatch):
    monkeypatch.setenv("VKAMP_CACHE_DIR", str(tmp_path))
    engine = VulkanEngine()
    made = []
    for number in range(2):
        info = dataclasses.replace(device(driver, engine), uuid=f"device {number} of its own")
        runner = Runner(engine.open(info))
        made.append(runner)
    for runner, name in zip(made, ("add", "scale"), strict=True):
        buffers = [runner.buffer([1, 2])] * (2 if name == "scale" else 1)
        runner.launch(name, buffers, [3])
        runner.read(buffers[0])
    first, second = (runner.queue.device.pipelines.cache for runner in made)
    assert first.key == second.key
    first.save()
    merged = []
    monkeypatch.setattr(second, "_merge", lambda data, real=second._merge: (merged.append(data), real(data)))
    second.save()
    assert merged == [first._kept]
    assert second._read() == second._kept


# -- features, times, and what can go wrong -----------------------------------------------------


def test_the_features_of_the_engine(driver):
    engine = VulkanEngine()
    info = device(driver, engine)
    assert info.engine_features == FEATURES
    assert info.usable_features == info.features <= FEATURES
    assert {"float64", "int64", "int16", "int8", "float16"} <= info.features or driver != "llvmpipe"


def test_only_the_features_that_are_used_are_enabled(driver):
    engine = VulkanEngine()
    api = engine.open(device(driver, engine)).device.api
    plain = api.features.head.features
    enabled = {name for name in dir(plain) if getattr(plain, name)}
    assert enabled <= {"shaderFloat64", "shaderInt64", "shaderInt16", "robustBufferAccess"}
    # Where an access out of bounds would change the host's own memory.
    assert ("robustBufferAccess" in enabled) == (device(driver, engine).kind == "cpu")


def test_float_atomics_run_where_the_device_has_them(runner, info):
    made = executable_of(
        """#version 450
        #extension GL_EXT_shader_atomic_float : require
        layout(local_size_x = 64) in;
        layout(std430, binding = 0) buffer A { float a[]; };
        void main() { atomicAdd(a[0], 0.5); }"""
    )
    a = runner.buffer([0])
    if "float_atomics" not in info.usable_features:
        with pytest.raises(UnsupportedFeatureError, match="the device lacks float_atomics"):
            runner.queue.program(made)
        return
    program = runner.queue.program(made)
    runner.queue.enqueue(Dispatch(program, (a,), b"", (10, 1, 1), (True,)))
    assert runner.read(a).view(np.float32).tolist() == [320.0]


def executable_of(source):
    """A program with one buffer."""
    return Executable(spirv(source), 1, 0, (64, 1, 1))


@pytest.fixture
def lost(card, request):
    """A queue whose device can be lost, and forgotten afterwards."""
    yield card
    for key in [k for k, d in _open.devices.items() if d is card.queue.device]:
        _open.devices.pop(key).close()


@pytest.mark.parametrize("card", [VulkanEngine], indirect=True)
@pytest.mark.parametrize("call", ["QueueSubmit", "GetFenceStatus", "WaitForFences", "BeginCommandBuffer"])
def test_a_lost_device_is_noticed(lost, call, monkeypatch):
    queue, device = lost.queue, lost.queue.device
    monkeypatch.setattr(queue, "_poll", 0.0)
    a = lost.buffer([1, 2])
    lost.read(a)
    program = queue.program(lost.executable("add"))
    lost.launch("long", [a], [20, 50_000], groups=(1, 1, 1))
    with monkeypatch.context() as patch:
        # However long this took to come here, the work is not over.
        patch.setattr(device.api, "GetFenceStatus", lambda *_: 1)
        patch.setattr(device.api, call, lambda *_: -4)
        with pytest.raises(AcceleratorRemovedError, match="was lost") as caught:
            queue.wait()
    assert "VK_ERROR_DEVICE_LOST" in caught.value.reason
    for use in (
        lambda: lost.read(a),
        lambda: queue.allocate(4),
        lambda: queue.program(lost.executable("word")),
        lambda: queue.enqueue((program, a)),
        queue.flush,
        queue.wait,
    ):
        with pytest.raises(AcceleratorRemovedError, match="its data are lost"):
            use()
    device.api.DeviceWaitIdle(device.api.device)


def test_a_submission_that_failed_is_tried_again(runner, monkeypatch):
    a = runner.buffer([1, 2])
    runner.launch("add", [a], [1])
    with monkeypatch.context() as patch:
        patch.setattr(runner.queue.device.api, "QueueSubmit", lambda *_: -1)
        with pytest.raises(OutOfMemoryError, match="VK_ERROR_OUT_OF_HOST_MEMORY"):
            runner.queue.flush()
    assert runner.read(a).tolist() == [2, 3]


def test_a_program_that_the_driver_refuses(runner, monkeypatch):
    a, b = runner.buffer([1, 2]), runner.buffer([1, 2])
    monkeypatch.setattr(runner.queue.device.pipelines, "_programs", OrderedDict())
    with monkeypatch.context() as patch:
        patch.setattr(runner.queue.device.api, "CreateComputePipelines", lambda *_: -13)
        with pytest.raises(AmpError, match="can't compile the program: vkCreateComputePipelines gave VK_ERROR_UNKNOWN"):
            runner.launch("scale", [a, b], [5])
    runner.launch("scale", [a, b], [5])
    assert runner.read(b).tolist() == [5, 10]


@pytest.mark.parametrize("at", range(0, 60, 3))
def test_an_interruption_anywhere_loses_nothing(runner, at, monkeypatch):
    """Ctrl-C between any two calls of the driver: the work is done once, later."""
    api = runner.queue.device.api
    a, b = runner.buffer(np.arange(N)), runner.buffer(np.arange(N))
    runner.launch("add", [a], [1])
    runner.queue.wait()
    calls = 0

    def interrupted(function):
        def call(*arguments):
            nonlocal calls
            calls += 1
            if calls == at:
                raise KeyboardInterrupt
            return function(*arguments)

        return call

    enqueued = 0
    with monkeypatch.context() as patch:
        for name in list(vars(api)):
            if name.startswith("Cmd") or name in ("BeginCommandBuffer", "EndCommandBuffer", "WaitForFences"):
                patch.setattr(api, name, interrupted(getattr(api, name)))
        try:
            for step in range(6):
                runner.launch("add", [a], [1])
                enqueued += 1
                runner.launch("scale", [a, b], [2])
                if step % 2:
                    runner.queue.flush()
                    runner.queue.wait()
        except KeyboardInterrupt:
            pass
    runner.launch("scale", [a, b], [2])
    np.testing.assert_array_equal(runner.read(a), np.arange(N) + 1 + enqueued)
    np.testing.assert_array_equal(runner.read(b), 2 * (np.arange(N) + 1 + enqueued))


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        ([0b1111, 0b1100, 0b1110, 0b101100, 0b100001100], 2),  # an NVIDIA H200's
        ([0b111], 0),
        ([0b1100, 0b111, 0b1111], 1),
        ([0b100, 0b1], None),
        ([], None),
    ],
)
def test_family_of_queues(flags, wanted):
    assert computing_family(flags) == wanted
