"""The driver thread of a queue: work begins and continues while the host does something else."""

from __future__ import annotations

import gc
import threading
import time

import numpy as np
import pytest

from tests.run.conftest import dispatch, runner_on
from vkamp.errors import AcceleratorRemovedError
from vkamp.run import kompute_device
from vkamp.run.driver import PAUSE, pause_after
from vkamp.run.kompute import KomputeEngine
from vkamp.run.kompute_queue import KomputeQueue
from vkamp.run.vulkan.commands import DispatchWork
from vkamp.run.vulkan.queue import VulkanQueue

N = 1003
#: More than any of this takes, however busy the machine is (seconds).
LONG = 120.0


def _eventually(holds):
    """Whether something becomes true while this thread does not use the device."""
    until = time.monotonic() + LONG
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.002)
    return True


def _left(queue):
    """The unfinished work: what was not submitted, and what was."""
    with queue.device.lock:
        if isinstance(queue, KomputeQueue):
            return len(queue._work)
        pending, running, _ = queue._state
        return len(pending) + sum(not queue.frames.is_done(each.frame) for each in running)


def _call(queue):
    """Wakes the driver, which may have had nothing to do so far."""
    with queue.device.lock:
        queue._driver.call()
        assert queue._driver.is_awake


def _long(runner, buffer, rounds=8, groups=1):
    runner.launch("long", [buffer], [rounds, 50_000], groups=(groups, 1, 1))


@pytest.mark.parametrize("known", [False, True], ids=["new", "known"])
@pytest.mark.parametrize("kind", ["one", "independent", "dependent"])
def test_work_is_done_while_the_host_is_away(runner, kind, known):
    buffers = [runner.buffer([1, 2, 3]) for _ in range(4)]
    count = 1 if kind == "one" else 4
    wanted = runner.buffer([1, 2, 3])
    for _ in range(1 if kind != "dependent" else 4):
        _long(runner, wanted)
    runner.queue.wait()
    if not known:
        # The engines know how long it takes by now, and must do without.
        program = runner.queue.program(runner.executable("long"))
        program.seconds_per_tile = None
    for number in range(count):
        _long(runner, buffers[0 if kind == "dependent" else number])
    assert _eventually(lambda: _left(runner.queue) == 0)
    assert runner.queue.statistics.dispatches == count + (4 if kind == "dependent" else 1)
    for buffer in buffers[: 4 if kind == "independent" else 1]:
        np.testing.assert_array_equal(runner.read(buffer), runner.read(wanted))


def test_short_work_is_done_while_the_host_is_away(runner):
    a, b = runner.buffer(np.arange(N)), runner.buffer(np.arange(N))
    for _ in range(3):
        runner.launch("add", [a], [1])
        runner.queue.wait()
    for _ in range(40):
        runner.launch("add", [a], [1])
        runner.launch("add", [b], [2])
    assert _eventually(lambda: _left(runner.queue) == 0)
    np.testing.assert_array_equal(runner.read(a), np.arange(N) + 43)
    np.testing.assert_array_equal(runner.read(b), np.arange(N) + 80)


def test_a_flush_waits_for_nothing(runner):
    """Not for dependent launches either, of which each takes about 0.15 s."""
    a = runner.buffer([1, 2, 3])
    # lavapipe ends loops after 65,535 iterations.
    groups = 150 if "llvmpipe" in runner.queue.info.name else 50
    for _ in range(3):
        _long(runner, a, 1, groups)
    runner.queue.flush()
    assert _left(runner.queue) > 0
    assert _eventually(lambda: _left(runner.queue) == 0)


def test_a_replay_goes_on_while_the_host_is_away(runner):
    a = runner.buffer(np.arange(N))
    recording = runner.queue.record([dispatch(runner, "add", [a], [1]) for _ in range(100)])
    for _ in range(3):
        recording.replay()
    assert _eventually(lambda: _left(runner.queue) == 0)
    np.testing.assert_array_equal(runner.read(a), np.arange(N) + 300)


STEPS = {
    KomputeQueue: (
        *("_retire", "_plan", "_run_alone", "_advance", "_evaluate"),
        *("_start", "_raise_flag", "_finish", "_learn"),
    ),
    VulkanQueue: ("retire", "_submit", "_record", "_submit_recorded"),
}


@pytest.mark.parametrize("short", [True, False], ids=["short", "long"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_driver_that_stops_anywhere_loses_nothing(runner, monkeypatch, when, short):
    """The host takes over from the driver thread, and the driver thread continues with the next launch."""
    if not short:
        monkeypatch.setattr("vkamp.run.kompute_queue.PAUSE", 0.0)
    a, b = runner.buffer(np.arange(N)), runner.buffer(np.arange(N))
    adding, scaling = (
        runner.queue.ready(dispatch(runner, *what)) for what in (("add", [a], [2]), ("scale", [a, b], [3]))
    )
    expected = np.arange(N)
    for step in STEPS[type(runner.queue)]:
        for _ in range(2):
            adding.enqueue()
            scaling.enqueue()
            runner.queue.wait()
            expected = expected + 2
        with monkeypatch.context() as patch:
            _stop(patch, runner.queue, step, when)
            for _ in range(2):
                for each in range(6):
                    adding.enqueue()
                    scaling.enqueue()
                    expected = expected + 2
                    if each == 3:
                        runner.launch("add", [a], [5])
                        expected = expected + 5
                time.sleep(3 * PAUSE)
        scaling.enqueue()
        np.testing.assert_array_equal(runner.read(a), expected)
        np.testing.assert_array_equal(runner.read(b), 3 * expected)


def _stop(patch, queue, step, when):
    """Has a method of ``queue`` raise where another thread calls it, three times."""
    plain, main, stops = getattr(type(queue), step), threading.current_thread(), []

    def stopping(self, *args, **kwargs):
        stop = self is queue and threading.current_thread() is not main and len(stops) < 3
        if stop:
            stops.append(step)
        if stop and when == "before":
            raise RuntimeError("on purpose")
        found = plain(self, *args, **kwargs)
        if stop:
            raise RuntimeError("on purpose")
        return found

    patch.setattr(type(queue), step, stopping)


@pytest.mark.parametrize("at", range(0, 60, 5))
def test_an_interruption_beside_the_driver_loses_nothing(runner, at, monkeypatch):
    """Ctrl-C in any step of the host, while the driver thread also runs."""
    kind, main, steps = type(runner.queue), threading.current_thread(), 0
    monkeypatch.setattr("vkamp.run.kompute_queue._WORTH_STARTING", 0.0)
    monkeypatch.setattr(DispatchWork, "is_short", False)
    a, b = runner.buffer(np.arange(N)), runner.buffer(np.arange(N))
    runner.launch("add", [a], [1])
    runner.queue.wait()

    def interrupted(plain):
        def call(*args, **kwargs):
            nonlocal steps
            if threading.current_thread() is main:
                steps += 1
                if steps == at:
                    raise KeyboardInterrupt
            return plain(*args, **kwargs)

        return call

    launches = launched = 0
    with monkeypatch.context() as patch:
        for step in STEPS[kind]:
            patch.setattr(kind, step, interrupted(getattr(kind, step)))
        try:
            for step in range(20):
                launches += 1
                runner.launch("add", [a], [1])
                launched += 1
                runner.launch("scale", [a, b], [2])
                time.sleep(PAUSE * (step % 4))
                if step % 3 == 2:
                    runner.queue.flush()
                if step % 5 == 4:
                    runner.queue.wait()
        except KeyboardInterrupt:
            pass
    runner.launch("scale", [a, b], [2])
    found = runner.read(a)
    # The launch that was interrupted may have been enqueued.
    assert found[0] in (1 + launched, 1 + launches)
    np.testing.assert_array_equal(found, np.arange(N) + found[0])
    np.testing.assert_array_equal(runner.read(b), 2 * found)


def test_a_driver_ends_with_its_queue(engine, driver):
    def threads():
        return {each for each in threading.enumerate() if each.name.startswith("vkamp ")}

    before = threads()
    runner = runner_on(engine, driver)
    queue, a = runner.queue, runner.buffer(np.arange(N))
    for _ in range(3):
        runner.launch("add", [a], [1])
    _call(queue)
    assert _eventually(lambda: _left(queue) == 0)  # noqa: F821
    (mine,) = threads() - before
    queue.wait()
    del runner, queue, a
    gc.collect()
    assert _eventually(lambda: not mine.is_alive())


def test_a_driver_sleeps_when_there_is_nothing_to_do(runner):
    a = runner.buffer(np.arange(N))
    for _ in range(2):
        for _ in range(3):
            runner.launch("add", [a], [1])
        _call(runner.queue)
        assert _eventually(lambda: not runner.queue._driver.is_awake)
    np.testing.assert_array_equal(runner.read(a), np.arange(N) + 6)


@pytest.mark.parametrize("card", [KomputeEngine], indirect=True)
def test_a_device_that_the_driver_finds_lost(card, monkeypatch):
    queue = card.queue
    a = card.buffer([1, 2])
    main = threading.current_thread()
    plain = KomputeQueue._start

    def start(self, submission):
        if threading.current_thread() is main:
            return plain(self, submission)
        raise self.device.lose("it was pulled out")

    monkeypatch.setattr(KomputeQueue, "_start", start)
    monkeypatch.setattr("vkamp.run.kompute_queue._WORTH_STARTING", np.inf)
    program = queue.program(card.executable("add"))
    program.seconds_per_tile = 1.0  # the driver starts what is long
    card.launch("add", [a], [1])
    assert _eventually(lambda: queue.device.removed is not None)
    with pytest.raises(AcceleratorRemovedError, match="it was pulled out"):
        card.read(a)
    key = next(k for k, d in kompute_device.open_devices.devices.items() if d is queue.device)
    del kompute_device.open_devices.devices[key]
    queue.device.close()


def test_looks_are_rarer_the_longer_work_takes():
    pauses = [pause_after(seconds) for seconds in (0, 0.001, 0.01, 0.1, 1, 100)]
    assert pauses == sorted(pauses)
    assert 0 < pauses[0] <= PAUSE and pauses[-1] < 0.01
