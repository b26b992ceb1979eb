"""Times of dispatches and transfers, on every engine."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest

from vkamp.errors import UnsupportedFeatureError
from vkamp.run.engine import Dispatch, Timing, Transfer

N = 1003


def test_times_of_dispatches(runner):
    a, b = runner.buffer([1, 2]), runner.buffer(np.arange(N))
    times = []
    # lavapipe's first time of a program has its compilation in it, and its loops end early: there are many tiles.
    runner.launch("add", [b], [0])
    runner.queue.wait()
    runner.queue.profile(times.append)
    began = time.perf_counter()
    runner.launch("long", [a], [2, 50_000], groups=(50, 1, 1))
    runner.launch("add", [b], [1])
    runner.queue.wait()
    ended = time.perf_counter()
    runner.queue.profile(None)
    runner.launch("add", [b], [1])
    runner.queue.wait()
    long, short = times
    keys = [runner.queue.program(runner.executable(name)).key for name in ("long", "add")]
    assert [long.key, short.key] == keys
    assert 0 <= short.seconds < long.seconds <= ended - began
    assert long.started + long.seconds <= short.started
    for each in times:
        assert began <= each.enqueued <= each.submitted <= each.seen <= ended
        assert each.submitted + each.seconds <= each.seen + 1e-6


def test_transfers_are_told(runner):
    events = []
    a = runner.buffer(np.arange(N))
    runner.launch("add", [a], [1])
    runner.queue.profile(events.append)
    began = time.perf_counter()
    a.upload(8, np.zeros(12, np.uint8))
    runner.launch("add", [a], [1])
    runner.read(a)
    runner.queue.profile(None)
    runner.read(a)
    up, timing, down = events
    assert (up.direction, up.nbytes, down.direction, down.nbytes) == ("up", 12, "down", 4 * N)
    assert isinstance(timing, Timing)
    assert began <= up.started <= up.finished <= down.started <= down.finished
    np.testing.assert_array_equal(runner.read(a)[:5], [2, 3, 1, 1, 1])


def test_timed_work_is_right(runner):
    """Everything in the ways that times are taken: lists, replays, repeats, an immediate queue."""
    a, b = runner.buffer(np.zeros(N)), runner.buffer(np.zeros(N))
    push = np.array([N, 1], np.uint32).tobytes()
    program = runner.queue.program(runner.executable("add"))
    adds = [Dispatch(program, (x,), push, (16, 1, 1), (True,)) for x in (a, b, a)]
    recording, ready = runner.queue.record(adds), runner.queue.ready(adds[0])
    events = []
    for immediate in (False, True):
        runner.queue.immediate = immediate
        for timed in (False, True, True):
            runner.queue.profile(events.append if timed else None)
            for _ in range(40):
                ready.enqueue()
                recording.replay()
            for each in adds:
                runner.queue.enqueue(each)
    runner.queue.wait()
    runner.queue.profile(None)
    assert set(runner.read(a).tolist()) == {6 * (40 * 3 + 2)}
    assert set(runner.read(b).tolist()) == {6 * 41}
    timings = [each for each in events if isinstance(each, Timing)]
    assert len(timings) == 4 * (40 * 4 + 3)
    assert not any(isinstance(each, Transfer) for each in events)
    starts = [each.started for each in timings]
    assert starts == sorted(starts)


def test_a_device_without_timestamps(engine, info):
    queue = engine.open(dataclasses.replace(info, tick_bits=0, uuid="no clock"))
    with pytest.raises(UnsupportedFeatureError, match="has no timestamps"):
        queue.profile(print)
    queue.profile(None)
    queue.close()


@pytest.mark.accelerators("llvmpipe")
def test_times_are_valid(validated):
    output = validated(
        """
        from conftest import *
        from test_times import test_timed_work_is_right
        for engine in map(eval, ENGINES.values()):
            test_timed_work_is_right(Runner(engine.open(device("llvmpipe", engine))))
        print("end")
        """
    )
    assert output == "end\n"
