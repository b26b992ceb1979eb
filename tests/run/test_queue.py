"""Launches, their order, and host access, through the raw engine on both CPU drivers."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from vkamp.errors import AmpError
from vkamp.run import kompute_queue
from vkamp.run.engine import Dispatch

N = 1003  # no multiple of a tile


def test_round_trip(runner):
    values = np.random.default_rng(1).integers(0, 2**32, N, np.uint32)
    a, b = runner.buffer(values), runner.queue.allocate(4 * N)
    runner.launch("scale", [a, b], [7])
    np.testing.assert_array_equal(runner.read(b), values * np.uint32(7))
    np.testing.assert_array_equal(runner.read(a), values)


@pytest.mark.parametrize("nbytes", [1, 3, 4, 5, 257, 4099])
def test_odd_sizes_are_kept(runner, nbytes):
    data = (np.arange(nbytes) % 251).astype(np.uint8)
    buffer = runner.queue.allocate(nbytes)
    buffer.upload(0, data)
    assert buffer.nbytes == nbytes
    np.testing.assert_array_equal(buffer.download(0, nbytes), data)
    np.testing.assert_array_equal(buffer.download(nbytes - 1, 1), data[-1:])


@pytest.mark.parametrize("word", [0, 1, 0x7F800001, 0x7FA00000, 0xFFFFFFFF, 0x80000000])
def test_push_words_arrive_bit_for_bit(runner, word):
    a = runner.buffer(np.zeros(64))
    runner.launch("word", [a], [word], groups=(1, 1, 1))
    assert set(runner.read(a).tolist()) == {word}


def test_dependent_launches_see_each_other(runner):
    a, b = runner.buffer(np.arange(N)), runner.queue.allocate(4 * N)
    for step in range(9):
        runner.launch("add", [a], [1])  # a += 1
        runner.launch("scale", [a, b], [3])  # b = 3 a
        runner.launch("scale", [b, a], [1 + step % 2])  # a = b or 2 b
    expected = np.arange(N, dtype=np.uint32)
    for step in range(9):
        expected = (expected + np.uint32(1)) * np.uint32(3 * (1 + step % 2))
    np.testing.assert_array_equal(runner.read(a), expected)


@pytest.mark.usefixtures("gathering")
def test_independent_launches_share_a_submission(runner, monkeypatch):
    for bound in ("_SHORT", "_SHORT_BESIDE"):
        monkeypatch.setattr(kompute_queue, bound, 3600.0)  # however busy the machine is
    buffers = [runner.buffer(np.arange(N)) for _ in range(6)]
    for _ in range(2):  # a new program is not known to be short
        for buffer in buffers:
            runner.launch("add", [buffer], [0])
        runner.queue.wait()
    before = runner.queue.statistics
    for i, buffer in enumerate(buffers):
        runner.launch("add", [buffer], [i])
    runner.queue.wait()
    after = runner.queue.statistics
    assert after.dispatches - before.dispatches == 6
    assert after.submissions - before.submissions == 1
    for i, buffer in enumerate(buffers):
        np.testing.assert_array_equal(runner.read(buffer), np.arange(N) + i)


def test_repeated_launch_makes_nothing_new(runner):
    a = runner.buffer(np.zeros(N))
    for word in range(3):
        runner.launch("add", [a], [word])
        runner.read(a)
    before = runner.queue.statistics
    for word in range(3, 20):
        runner.launch("add", [a], [word])
        runner.read(a)
    after = runner.queue.statistics
    assert after.pipelines == before.pipelines
    assert after.allocations == before.allocations
    assert set(runner.read(a).tolist()) == {sum(range(20))}


@pytest.mark.usefixtures("gathering")
def test_reading_an_input_waits_for_nothing(runner):
    a, b = runner.buffer(np.arange(N)), runner.queue.allocate(4 * N)
    runner.launch("scale", [a, b], [2])
    before = runner.queue.statistics
    np.testing.assert_array_equal(runner.read(a), np.arange(N))
    assert runner.queue.statistics.dispatches == before.dispatches
    runner.queue.flush()
    np.testing.assert_array_equal(runner.read(a), np.arange(N))
    np.testing.assert_array_equal(runner.read(b), 2 * np.arange(N))


def test_upload_comes_after_launches_enqueued_before_it(runner):
    a, b = runner.buffer(np.arange(N)), runner.queue.allocate(4 * N)
    runner.launch("scale", [a, b], [2])
    a.upload(0, np.full(N, 5, np.uint32).view(np.uint8))
    runner.launch("add", [a], [1])
    np.testing.assert_array_equal(runner.read(b), 2 * np.arange(N))
    assert set(runner.read(a).tolist()) == {6}


def test_partial_upload_keeps_what_the_device_wrote(runner):
    a = runner.buffer(np.zeros(N))
    runner.launch("add", [a], [9])
    a.upload(4 * 10, np.array([1, 2, 3], np.uint32).view(np.uint8))
    runner.launch("add", [a], [100])
    expected = np.full(N, 109, np.uint32)
    expected[10:13] = [101, 102, 103]
    np.testing.assert_array_equal(runner.read(a), expected)


def test_upload_takes_strided_bytes_and_copies_them(runner):
    source = np.arange(40, dtype=np.uint8)
    buffer = runner.queue.allocate(20)
    buffer.upload(0, source[::2])
    source[:] = 0
    np.testing.assert_array_equal(buffer.download(0, 20), np.arange(0, 40, 2))


def test_download_is_a_copy(runner):
    buffer = runner.buffer([1, 2, 3])
    first = runner.read(buffer)
    runner.launch("add", [buffer], [1])
    runner.queue.wait()
    np.testing.assert_array_equal(first, [1, 2, 3])


def test_same_buffer_at_two_bindings(runner):
    a = runner.buffer(np.arange(N))
    runner.launch("scale", [a, a], [3])
    runner.launch("scale", [a, a], [3])
    np.testing.assert_array_equal(runner.read(a), 9 * np.arange(N))


def test_no_buffers(runner):
    runner.launch("nothing", [], groups=(3, 2, 1))
    runner.queue.wait()
    assert runner.queue.statistics.dispatches == 1


def test_flush_then_more_work(runner):
    buffers = [runner.buffer(np.arange(N)) for _ in range(3)]
    for step in range(40):
        runner.launch("add", [buffers[step % 3]], [1])
        if step % 5 == 0:
            runner.queue.flush()
    for i, buffer in enumerate(buffers):
        np.testing.assert_array_equal(runner.read(buffer), np.arange(N) + len(range(i, 40, 3)))


def test_more_launches_than_are_kept_pending(runner):
    a, b = runner.buffer(np.arange(N)), runner.buffer(np.arange(N))
    for _ in range(150):
        runner.launch("add", [a], [1])
    for _ in range(70):
        runner.launch("add", [b], [2])
    # 64 of them wait at most, and as many are being submitted.
    assert runner.queue.statistics.dispatches >= 220 - 2 * 64
    np.testing.assert_array_equal(runner.read(a), np.arange(N) + 150)
    np.testing.assert_array_equal(runner.read(b), np.arange(N) + 140)


def test_immediate_queue_submits_at_once(runner):
    runner.queue.immediate = True
    a = runner.buffer(np.arange(N))
    runner.launch("add", [a], [1])
    assert runner.queue.statistics.dispatches == 1
    runner.launch("add", [a], [1])
    np.testing.assert_array_equal(runner.read(a), np.arange(N) + 2)


def test_memory_comes_back_in_the_same_order(runner):
    numbers = []
    before = runner.queue.statistics
    for _ in range(4):
        buffers = [runner.buffer(np.arange(N)) for _ in range(3)]
        runner.launch("scale", buffers[:2], [2])
        numbers.append([b.slot.id for b in buffers])
        runner.queue.wait()
        del buffers[1], buffers
    assert numbers[1:] == numbers[:-1]
    assert runner.queue.statistics.pipelines - before.pipelines <= 1


@pytest.mark.usefixtures("gathering")
def test_memory_in_use_is_not_given_away(runner):
    a, b = runner.buffer(np.arange(N)), runner.queue.allocate(4 * N)
    runner.launch("scale", [a, b], [5])
    number = a.slot.id
    del a
    gc.collect()
    other = runner.buffer(np.zeros(N))
    assert other.slot.id != number
    np.testing.assert_array_equal(runner.read(b), 5 * np.arange(N))


def test_buffers_dropped_with_work_pending(runner):
    kept = []
    for k in range(30):
        a, b, c = runner.buffer(np.arange(N)), runner.queue.allocate(4 * N), runner.queue.allocate(4 * N)
        runner.launch("scale", [a, b], [5])
        runner.launch("scale", [b, c], [k])
        kept.append(c)
        del a, b, c
    for k, each in enumerate(kept):
        np.testing.assert_array_equal(runner.read(each), 5 * k * np.arange(N))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"groups": (0, 1, 1)}, "takes 1 to"),
        ({"groups": (1, 65536, 1)}, "takes 1 to"),
        ({"push": b"1234"}, "bytes of push constants"),
        ({"buffers": ()}, "takes 1 buffers, not 0"),
        ({"writes": (True, True)}, "takes 1 buffers"),
        ({"program": None}, "another device"),
    ],
)
def test_a_launch_that_does_not_fit_is_refused(runner, change, message):
    a = runner.buffer(np.zeros(8))
    good = {
        "program": runner.queue.program(runner.executable("add")),
        "buffers": (a,),
        "push": b"\0" * 8,
        "groups": (1, 1, 1),
        "writes": (True,),
    }
    runner.launch("add", [a], [1])
    with pytest.raises(AmpError, match=message):
        runner.queue.enqueue(Dispatch(**{**good, **change}))
    assert set(runner.read(a).tolist()) == {1}


def test_a_buffer_of_another_queue_is_refused(runner, engine, info):
    other = engine.open(info)
    with pytest.raises(AmpError, match="another queue"):
        runner.launch("add", [other.allocate(8)], [1])


@pytest.mark.parametrize(("offset", "count"), [(-1, 1), (8, 1), (0, 9), (4, 5)])
def test_access_outside_a_buffer_is_refused(runner, offset, count):
    buffer = runner.queue.allocate(8)
    with pytest.raises(AmpError, match="the buffer has 8"):
        buffer.download(offset, count)
    with pytest.raises(AmpError, match="the buffer has 8"):
        buffer.upload(offset, np.zeros(count, np.uint8))


def test_upload_of_other_types_is_refused(runner):
    with pytest.raises(AmpError, match="uint8"):
        runner.queue.allocate(8).upload(0, np.zeros(2, np.float32))


def test_a_closed_queue_is_refused(runner):
    a = runner.buffer([1])
    runner.queue.close()
    runner.queue.close()
    with pytest.raises(AmpError, match="closed"):
        runner.read(a)


def test_queues_share_programs(runner, engine, info):
    program = runner.executable("add")
    assert engine.open(info).program(program) is runner.queue.program(program)
