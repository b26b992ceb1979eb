"""Memory: size classes, the pool, budgets, and running out."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import vkamp.run.device
from tests.run.conftest import ENGINES, Runner, device
from vkamp.errors import AmpError, OutOfMemoryError
from vkamp.lang.region import ByteSet
from vkamp.run.engine import Heap
from vkamp.run.kompute import KomputeEngine
from vkamp.run.memory import Budget, readable
from vkamp.run.pool import Pool, size_class

MIB = 1 << 20


@pytest.mark.parametrize("nbytes", [1, 255, 256, 257, 1000, 1024, 1025, 5000, 70001, 3 * MIB + 7, 16 * MIB - 3])
def test_size_classes_waste_at_most_a_quarter(nbytes):
    size = size_class(nbytes, 1 << 30)
    assert size >= nbytes
    assert size % 4 == 0
    assert size <= max(256, 1.25 * nbytes + 4)
    assert size_class(size, 1 << 30) == size


def test_large_blocks_are_exact():
    assert size_class(16 * MIB + 1, 1 << 30) == 16 * MIB + 4


def test_a_class_never_exceeds_the_largest_buffer():
    assert size_class(1001, 1004) == 1004
    assert size_class(3, 128) == 128


@dataclasses.dataclass(frozen=True)
class _Block:
    id: int
    group: str
    nbytes: int = 10


def test_the_pool_gives_the_smallest_number_first():
    pool = Pool(1000)
    for number in (3, 1, 2):
        pool.put(_Block(number, "a"))
    pool.put(_Block(0, "b"))
    assert [pool.take("a").id for _ in range(3)] == [1, 2, 3]
    assert pool.take("a") is None
    assert (len(pool), pool.nbytes) == (1, 10)


def test_the_pool_gives_up_what_was_unused_longest():
    pool = Pool(30)
    given_up = [block.id for number in (5, 1, 9, 4) for block in pool.put(_Block(number, "a"))]
    assert given_up == [5]
    assert [block.id for block in pool.trim()] == [1, 9, 4]
    assert pool.take("a") is None
    assert pool.nbytes == 0


def _with_heap(info, size):
    """The device as if its memory were `size` bytes."""
    types = tuple(dataclasses.replace(t, heap=0) for t in info.memory_types)
    return dataclasses.replace(info, heaps=(Heap(size, size, True),), memory_types=types)


@pytest.mark.parametrize("nbytes", [12, 5000])
def test_readable_sizes(nbytes):
    assert readable(nbytes) == {12: "12 bytes", 5000: "4.9 KiB"}[nbytes]


def test_a_budget_counts_both_copies(info):
    budget = Budget(_with_heap(info, 1000), lambda: None)
    assert budget.shortage(900, mirrored=False) is None
    assert budget.shortage(900, mirrored=True) == "0 bytes of 969 bytes are in use"
    budget.take(400, mirrored=True)
    assert budget.used == 800
    budget.give_back(400, mirrored=True)
    assert budget.used == 0


def test_a_budget_asks_again_after_much_memory(info):
    budget = Budget(_with_heap(info, 4096 * MIB), lambda: (100 * MIB,))
    assert budget.shortage(200 * MIB, mirrored=False) is None
    assert budget.shortage(300 * MIB, mirrored=False) is not None


def test_a_budget_counts_allocations(info):
    budget = Budget(dataclasses.replace(info, max_allocations=3), lambda: None)
    budget.take(4, mirrored=True)
    assert budget.shortage(4, mirrored=False) is None
    assert "3 allocations" in budget.shortage(4, mirrored=True)


def test_out_of_memory_says_the_sizes_and_leaves_all_usable(info, engine, expression):
    factor = 2 if "mirrored=True" in expression else 1
    queue = engine.open(_with_heap(info, 16 * MIB))
    held = [queue.allocate(MIB) for _ in range(12 // factor)]
    with pytest.raises(OutOfMemoryError, match=r"out of memory on .*\(6291456 bytes\) requested"):
        queue.allocate(6 * MIB)
    held[0].upload(0, np.full(MIB, 3, np.uint8))
    assert held[0].download(MIB - 1, 1).tolist() == [3]
    del held
    assert queue.allocate(6 * MIB).nbytes == 6 * MIB
    queue.close()


def test_kept_memory_is_given_up_before_memory_runs_out(info, engine, expression, monkeypatch):
    queue = engine.open(_with_heap(info, 16 * MIB))
    kept = [queue.allocate(MIB) for _ in range(6)]
    monkeypatch.setattr(vkamp.run.device, "on_shortage", [kept.clear])
    factor = 2 if "mirrored=True" in expression else 1
    assert queue.allocate(12 // factor * MIB).nbytes == 12 // factor * MIB
    assert not kept
    queue.close()


@pytest.fixture(params=["kompute-shared", "vulkan-shared", "vulkan-staged"])
def expression(request):
    """The engines that need no second copy of everything."""
    return ENGINES[request.param]


def test_the_pool_is_emptied_before_memory_runs_out(info, engine):
    queue = engine.open(_with_heap(info, 16 * MIB))
    for size in (2, 3, 4, 5, 6, 7, 8, 9):
        queue.allocate(size * MIB)
    assert queue.device.budget.used <= 16 * MIB
    queue.close()


def test_memory_of_finished_work_is_freed_before_memory_runs_out(info, engine):
    queue = engine.open(_with_heap(info, 15 * MIB))
    a = queue.allocate(10 * MIB)
    Runner(queue).launch("add", [a], [1], groups=(3, 1, 1))
    queue.flush()
    del a
    assert queue.allocate(11 * MIB).nbytes == 11 * MIB
    queue.close()


def test_cycles_are_collected_before_memory_runs_out(info, engine):
    queue = engine.open(_with_heap(info, 15 * MIB))
    a = queue.allocate(10 * MIB)
    a.me = a
    del a
    assert queue.allocate(11 * MIB).nbytes == 11 * MIB
    queue.close()


def test_a_buffer_larger_than_the_device_takes(runner, info):
    largest = info.limits.buffer_bytes
    with pytest.raises(OutOfMemoryError, match=rf"\({largest + 1} bytes\).*\({largest} bytes\)"):
        runner.queue.allocate(largest + 1)
    with pytest.raises(OutOfMemoryError):
        runner.queue.allocate(2**32 + 16)
    with pytest.raises(OutOfMemoryError):
        runner.queue.allocate(2**63)


@pytest.mark.parametrize("nbytes", [0, -1])
def test_a_buffer_of_no_bytes(runner, nbytes):
    with pytest.raises(AmpError, match="at least 1 byte"):
        runner.queue.allocate(nbytes)


def test_freed_memory_takes_its_pipelines_with_it(driver):
    info = device(driver)
    queue = KomputeEngine(mirrored=False).open(_with_heap(info, 15 * MIB))
    runner = Runner(queue)
    manager = queue.device
    for size in (9, 10, 11, 12):
        a = queue.allocate(size * MIB)
        runner.launch("add", [a], [1], groups=(3, 1, 1))
        queue.wait()
        assert len(manager._pipelines) == 1
        assert len(manager._recordings) <= 1
        del a
    queue.close()


def test_downloads_into_memory_that_is_there(runner):
    values = (np.arange(1000) % 251).astype(np.uint8)
    a = runner.queue.allocate(1000)
    a.upload(0, values)
    whole = np.zeros(1200, np.uint8)
    assert a.download(100, 300, None, whole[7:307]).base is whole
    np.testing.assert_array_equal(whole, np.concatenate([np.zeros(7), values[100:400], np.zeros(893)]))
    where = ByteSet.interval(3, 5) | ByteSet.interval(200, 299)
    some = np.full(300, 9, np.uint8)
    a.download(100, 300, where, some)
    expected = np.full(300, 9, np.uint8)
    for start, stop in where.intervals():
        expected[start:stop] = values[100 + start : 100 + stop]
    np.testing.assert_array_equal(some, expected)
    with pytest.raises(AmpError, match="not 300 bytes"):
        a.download(100, 300, None, np.zeros(301, np.uint8))
