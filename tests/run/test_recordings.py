"""Dispatches that are recorded once and run many times, on every engine, and the parts of buffers that order them."""

from __future__ import annotations

import gc
import math
import random
import time
from types import SimpleNamespace

import numpy as np
import pytest

from tests.run.conftest import dispatch, executable, runner_on
from vkamp.errors import AmpError
from vkamp.lang.region import Footprint
from vkamp.run.kompute import KomputeEngine
from vkamp.run.plan import Access, access_of, joint
from vkamp.run.vulkan.commands import Hazards
from vkamp.run.vulkan.engine import VulkanEngine
from vkamp.run.vulkan.recording import Recorded

#: Most of these count submissions or barriers, which the driver makes when it likes.
pytestmark = pytest.mark.usefixtures("gathering")

N = 1003  # no multiple of a tile


def difference(runner, work):
    """What `work` added to the queue's statistics."""
    before = vars(runner.queue.statistics)
    work()
    return {name: value - before[name] for name, value in vars(runner.queue.statistics).items()}


def test_a_chain_replayed(runner):
    a, b = runner.buffer(np.arange(N)), runner.queue.allocate(4 * N)
    chain = [dispatch(runner, "add", [a], [1]), dispatch(runner, "scale", [a, b], [3])]
    chain.append(dispatch(runner, "scale", [b, a], [2]))
    recording = runner.queue.record(chain)
    np.testing.assert_array_equal(runner.read(a), np.arange(N))
    expected = np.arange(N, dtype=np.uint32)
    for _ in range(7):
        recording.replay()
        expected = (expected + np.uint32(1)) * np.uint32(6)
    np.testing.assert_array_equal(runner.read(a), expected)
    np.testing.assert_array_equal(runner.read(b), expected // 2)


def test_replays_between_other_work(runner):
    a, b = runner.buffer(np.arange(N)), runner.buffer(np.zeros(N))
    recording = runner.queue.record([dispatch(runner, "add", [a], [1]), dispatch(runner, "add", [b], [2])])
    expected, other = np.arange(N, dtype=np.uint32), np.zeros(N, np.uint32)
    for step in range(9):
        runner.launch("add", [a], [10])
        recording.replay()
        recording.replay()
        runner.launch("scale", [a, b], [1])
        if step == 4:
            a.upload(0, np.full(4 * N, 7, np.uint8))
        recording.replay()
        expected += np.uint32(12)
        other = expected + np.uint32(2)
        if step == 4:
            expected[:] = 0x07070707
        expected += np.uint32(1)
    np.testing.assert_array_equal(runner.read(a), expected)
    np.testing.assert_array_equal(runner.read(b), other)


def test_nothing_to_replay(runner):
    recording = runner.queue.record([])
    assert difference(runner, recording.replay)["submissions"] == 0
    runner.queue.wait()


def test_a_replay_makes_nothing_new(runner):
    a, b = runner.buffer(np.zeros(N)), runner.buffer(np.zeros(N))
    recording = runner.queue.record([dispatch(runner, "add", [x], [1]) for x in (a, b) * 20])
    for _ in range(3):
        recording.replay()
        runner.queue.wait()

    def work():
        for _ in range(5):
            recording.replay()
        runner.queue.wait()

    new = difference(runner, work)
    assert (new["dispatches"], new["pipelines"], new["allocations"]) == (200, 0, 0)
    assert set(runner.read(b).tolist()) == {160}


def test_a_recording_keeps_its_memory_alive(runner):
    a, b = runner.buffer(np.arange(N)), runner.queue.allocate(4 * N)
    recording = runner.queue.record([dispatch(runner, "scale", [a, b], [5])])
    del a
    gc.collect()
    others = [runner.buffer(np.full(N, 9)) for _ in range(4)]  # would get the memory
    recording.replay()
    np.testing.assert_array_equal(runner.read(b), np.arange(N) * 5)
    assert len(others) == 4


def test_a_recording_given_up_while_it_runs(runner):
    a = runner.buffer([1, 2])
    recording = runner.queue.record([dispatch(runner, "long", [a], [20, 50_000], groups=(1, 1, 1))])
    recording.replay()
    runner.queue.flush()
    del recording
    gc.collect()
    again = runner.queue.record([dispatch(runner, "add", [a], [1])])
    again.replay()
    first = runner.read(a)
    b = runner.buffer([1, 2])
    runner.launch_words("long", [b], [20, 50_000], groups=(1, 1, 1))
    runner.launch("add", [b], [1])
    np.testing.assert_array_equal(first, runner.read(b))


def test_a_recording_of_a_wrong_dispatch(runner, engine, info):
    other = engine.open(info)
    a = other.allocate(256)
    with pytest.raises(AmpError, match="a buffer belongs to another queue"):
        runner.queue.record([dispatch(runner, "add", [a], [1])])
    other.close()


def test_an_immediate_queue_replays(runner):
    runner.queue.immediate = True
    a = runner.buffer(np.zeros(N))
    recording = runner.queue.record([dispatch(runner, "add", [a], [1])] * 3)
    for _ in range(4):
        recording.replay()
    assert set(runner.read(a).tolist()) == {12}


def test_a_ready_dispatch_is_enqueued_many_times(runner):
    a = runner.buffer(np.zeros(N))
    ready = runner.queue.ready(dispatch(runner, "add", [a], [1]))
    for step in range(200):
        ready.enqueue()
        if step % 50 == 0:
            runner.queue.flush()
    assert set(runner.read(a).tolist()) == {200}


@pytest.mark.parametrize("card", [VulkanEngine], indirect=True)
def test_what_comes_alone_is_submitted_at_once(card):
    """On a GPU, and where it came alone before: a device that has nothing to do needs not wait for the host's wait."""
    queue = card.queue
    # Copies fill them, since the host does not see so much.
    a, b = card.buffer(np.zeros(20_003)), card.buffer(np.zeros(20_003))
    ready, other = (queue.ready(dispatch(card, "add", [buffer], [1])) for buffer in (a, b))
    for _ in range(3):
        assert difference(card, ready.enqueue)["submissions"] == 0
        queue.wait()
    for step in range(3):
        assert difference(card, ready.enqueue)["submissions"] == 1
        assert difference(card, ready.enqueue)["submissions"] == 0  # behind one that runs
        assert difference(card, other.enqueue)["submissions"] == 0
        queue.wait()
        assert difference(card, other.enqueue)["submissions"] == (step == 2)
        queue.wait()
    assert set(card.read(a).tolist()) == {9}
    assert set(card.read(b).tolist()) == {6}


@pytest.mark.parametrize("card", [VulkanEngine], indirect=True)
@pytest.mark.parametrize("seed", range(4))
def test_ready_dispatches_and_waits_in_any_order(card, seed):
    choose, state = random.Random(seed), [0, 0]
    buffers = [card.buffer(np.zeros(N)) for _ in state]
    ready = [card.queue.ready(dispatch(card, "add", [buffer], [1])) for buffer in buffers]
    for _ in range(200):
        which = choose.choice([0, 0, 0, 1])
        ready[which].enqueue()
        state[which] += 1
        after = choose.randrange(4)
        if after < 2:
            card.queue.wait()
        elif after == 2:
            assert set(card.read(buffers[which]).tolist()) == {state[which]}
    for buffer, count in zip(buffers, state, strict=True):
        assert set(card.read(buffer).tolist()) == {count}


@pytest.mark.parametrize("card", [VulkanEngine], indirect=True)
def test_a_few_that_come_together_are_submitted_at_once(card, monkeypatch):
    monkeypatch.setattr("vkamp.run.vulkan.queue._ROW", math.inf)  # A busy machine may take long between two of them.
    queue = card.queue
    a, b = card.buffer(np.zeros(N)), card.buffer(np.zeros(N))
    chain = [("add", [a], [1]), ("scale", [a, b], [3]), ("add", [b], [5])]
    enqueue = queue.together([queue.ready(dispatch(card, *each)) for each in chain])
    queue.wait()  # for the uploads
    for _ in range(4):
        assert difference(card, enqueue)["submissions"] == 1
        assert difference(card, enqueue)["submissions"] == 0  # behind those that run
        queue.wait()
    assert set(card.read(a).tolist()) == {8}
    assert set(card.read(b).tolist()) == {8 * 3 + 5}


@pytest.mark.parametrize("card", [VulkanEngine], indirect=True)
def test_short_replays_gather_behind_the_first_and_start_at_once_on_an_idle_device(card, monkeypatch):
    monkeypatch.setattr("vkamp.run.vulkan.queue._ROW", math.inf)
    queue = card.queue
    a = card.buffer(np.zeros(N))
    recording = queue.record([dispatch(card, "add", [a], [1])])
    for _ in range(2):  # from then on it is known to be short
        recording.replay()
        queue.wait()
    assert difference(card, recording.replay)["submissions"] == 1
    for _ in range(3):
        assert difference(card, recording.replay)["submissions"] == 0
    queue.flush()
    while not queue.frames.is_done(queue._state.running[-1].frame):
        time.sleep(1e-3)
    monkeypatch.setattr("vkamp.run.vulkan.queue._ROW", 0.0)
    # Nobody has waited, so that the queue has not seen the end yet; it looks some time after the last submission.
    assert len(queue._state.running) == 2
    assert difference(card, recording.replay)["submissions"] == 1
    assert set(card.read(a).tolist()) == {7}


@pytest.mark.parametrize("card", [VulkanEngine], indirect=True)
def test_many_that_come_together_are_one_submission(card):
    queue = card.queue
    a = card.buffer(np.zeros(N))
    enqueue = queue.together([queue.ready(dispatch(card, "add", [a], [1]))] * 100)
    queue.wait()  # for the upload
    for _ in range(3):
        found = difference(card, enqueue)
        assert (found["submissions"], found["dispatches"]) == (1, 100)
        queue.wait()
    assert set(card.read(a).tolist()) == {300}


@pytest.mark.parametrize("card", [VulkanEngine], indirect=True)
def test_replays_of_many_launches_gather_if_their_time_is_known(card, monkeypatch):
    monkeypatch.setattr("vkamp.run.vulkan.queue._ROW", math.inf)
    monkeypatch.setattr("vkamp.run.vulkan.recording._TOGETHER", 1e6)
    queue = card.queue
    a = card.buffer(np.zeros(N))
    recording = queue.record([dispatch(card, "add", [a], [1])] * 100)
    assert recording.find_room(64) < 3
    recording.replay()
    queue.wait()
    assert recording.find_room(64) == 63
    assert difference(card, recording.replay)["submissions"] == 1
    for _ in range(5):
        assert difference(card, recording.replay)["submissions"] == 0
    assert difference(card, queue.wait)["dispatches"] == 500
    assert set(card.read(a).tolist()) == {700}


@pytest.mark.parametrize("seed", range(3))
def test_ready_dispatches_that_come_together(runner, seed):
    together_in_any_order(runner, seed)


@pytest.mark.parametrize("seed", range(2))
def test_ready_dispatches_that_come_together_on_a_card(card, seed):
    together_in_any_order(card, seed)


def together_in_any_order(runner, seed):
    """Groups between single ones, waits, timed work and immediate submissions."""
    choose, state = random.Random(seed), [0, 0]
    buffers = [runner.buffer(np.zeros(N)) for _ in state]
    one = [runner.queue.ready(dispatch(runner, "add", [buffer], [1])) for buffer in buffers]
    lists = [[0], [0, 1], [0, 0, 1], [1, 0, 1, 1], [1] * 9]
    groups = [(each, runner.queue.together([one[k] for k in each])) for each in lists]
    timings = []
    for _ in range(150):
        listed, enqueue = choose.choice(groups)
        enqueue()
        for k in listed:
            state[k] += 1
        action = choose.randrange(8)
        if action < 2:
            one[action].enqueue()
            state[action] += 1
        elif action == 2:
            runner.queue.wait()
        elif action == 3:
            runner.queue.flush()
        elif action == 4:
            runner.queue.immediate = choose.random() < 0.3
        elif action == 5:
            runner.queue.profile(timings.append if choose.random() < 0.3 else None)
        elif action == 6:
            assert set(runner.read(buffers[1]).tolist()) == {state[1]}
    for buffer, count in zip(buffers, state, strict=True):
        assert set(runner.read(buffer).tolist()) == {count}


def test_a_closed_queue_replays_nothing(runner):
    a = runner.buffer([1, 2])
    recording = runner.queue.record([dispatch(runner, "add", [a], [1])])
    ready = runner.queue.ready(dispatch(runner, "add", [a], [1]))
    enqueue = runner.queue.together([ready, ready])
    runner.queue.close()
    with pytest.raises(AmpError, match="this queue is closed"):
        recording.replay()
    with pytest.raises(AmpError, match="this queue is closed"):
        ready.enqueue()
    with pytest.raises(AmpError, match="this queue is closed"):
        enqueue()


def test_recordings_left_at_the_end_of_the_process(script, expression, driver):
    """They outlive the device, and the process still ends well, whatever is pending."""
    output = script(
        f"""
        from conftest import *
        from test_recordings import dispatch
        runner = runner_on({expression}, {driver!r})
        a = runner.buffer(np.zeros(100))
        recording = runner.queue.record([dispatch(runner, "add", [a], [1])] * 10)
        ready = runner.queue.ready(dispatch(runner, "add", [a], [1]))
        for _ in range(3):
            recording.replay()
            ready.enqueue()
        print(set(runner.read(a).tolist()))
        recording.replay()
        ready.enqueue()
        """
    )
    assert (output.stdout, output.stderr) == ("{33}\n", "")


# -- parts of buffers ---------------------------------------------------------------------------


def part(begin, end):
    """Words of a buffer."""
    return (Footprint(4 * begin, 4 * end, 0, 4 * (end - begin)),)


def halves(runner, a, words):
    """A launch that says it touches one half of a buffer; that it adds 0 elsewhere makes it true."""
    half = a.nbytes // 8
    return [
        dispatch(runner, "add", [a], [word], (part(0, half) if low else part(half, 2 * half),)) for low, word in words
    ]


@pytest.mark.parametrize("engine", [VulkanEngine(staged=False), VulkanEngine(staged=True)])
def test_launches_on_parts_of_a_buffer_need_no_barrier(engine, runner, monkeypatch):
    # A short recording would be submitted with others.
    monkeypatch.setattr("vkamp.run.vulkan.recording.FEW", 0)
    a = runner.buffer(np.zeros(64))

    def work(pattern):
        for each in halves(runner, a, [(low, 0) for low in pattern]):
            runner.queue.enqueue(each)
        runner.queue.wait()

    work([True])
    # One for what was before; the validation layers know whole buffers only.
    parts = runner.queue.device.orders_parts
    assert difference(runner, lambda: work([True, False, True, False]))["barriers"] == (2 if parts else 4)
    recording = runner.queue.record(halves(runner, a, [(True, 0), (False, 0)]))
    recording.replay()
    assert difference(runner, recording.replay)["barriers"] == (1 if parts else 2)
    runner.queue.enqueue(dispatch(runner, "add", [a], [1]))
    assert set(runner.read(a).tolist()) == {1}


def test_whole_buffers_order_parts(runner):
    a, b = runner.buffer(np.arange(N)), runner.queue.allocate(4 * N)
    for _ in range(3):
        runner.launch("add", [a], [1])
        runner.queue.enqueue(dispatch(runner, "scale", [a, b], [2], (None, part(0, N))))
        runner.queue.enqueue(dispatch(runner, "scale", [b, a], [1], (part(0, N), None)))
    expected = np.arange(N, dtype=np.uint32)
    for _ in range(3):
        expected = (expected + np.uint32(1)) * np.uint32(2)
    np.testing.assert_array_equal(runner.read(a), expected)


@pytest.mark.parametrize("seed", range(3))
def test_barriers_between_recordings_that_come_again(seed):
    """A barrier precedes what conflicts with anything since the last one, in any order and after any work."""
    rng = random.Random(seed)
    recordings, accesses = [], []
    for _ in range(4):
        blocks = rng.sample(range(5), 2)
        access = access_of(blocks, [False, rng.random() < 0.7])
        work = [SimpleNamespace(access=access, slots=(), program=None, sets=None)]
        recordings.append(Recorded(None, work, Hazards(access, computes=True), 0))
        accesses.append(access)
    since, hazards = [], Hazards()
    for _ in range(400):
        if rng.random() < 0.05:  # Something else ran.
            hazards = Hazards(Access({0: None}, {4: None}), computes=True)
            since = [hazards.access]
        k = rng.randrange(4)
        follows = rng.random() < 0.9
        expected = follows and any(each.conflicts(accesses[k]) for each in since)
        behind, hazards = recordings[k].behind(hazards, follows)
        assert behind == expected
        since = [accesses[k]] if behind or not follows else [*since, accesses[k]]
        assert hazards.access == joint(since)


@pytest.mark.parametrize("seed", range(8))
def test_random_recordings(runner, seed):
    """Lists of launches among a few buffers, enqueued, recorded and replayed in any order, against numpy."""
    choose = random.Random(seed)
    count = choose.choice([1, 65, 1000])
    buffers = [runner.buffer(np.arange(count) + k) for k in range(4)]
    state = [np.arange(count, dtype=np.uint32) + np.uint32(k) for k in range(4)]

    def steps():
        return [
            (choose.randrange(4), choose.randrange(4), choose.randrange(1, 4)) for _ in range(choose.randrange(1, 9))
        ]

    def made(source, target, word):
        if source == target:
            return dispatch(runner, "add", [buffers[source]], [word])
        return dispatch(runner, "scale", [buffers[source], buffers[target]], [word])

    def expect(source, target, word):
        word = np.uint32(word)
        state[target] = state[source] + word if source == target else state[source] * word

    recordings = []
    for _ in range(25):
        action = choose.randrange(6)
        if action == 0:
            listed = steps()
            recordings.append((listed, runner.queue.record([made(*each) for each in listed])))
        elif action < 4 and recordings:
            listed, recording = choose.choice(recordings)
            recording.replay()
            for each in listed:
                expect(*each)
        elif action == 4:
            for each in steps():
                runner.queue.enqueue(made(*each))
                expect(*each)
        else:
            which = choose.randrange(4)
            np.testing.assert_array_equal(runner.read(buffers[which]), state[which])
            if choose.random() < 0.5:
                buffers[which].upload(0, np.full(4 * count, seed, np.uint8))
                state[which] = np.full(4 * count, seed, np.uint8).view(np.uint32)
        if recordings and choose.random() < 0.1:
            recordings.pop(choose.randrange(len(recordings)))
    for buffer, expected in zip(buffers, state, strict=True):
        np.testing.assert_array_equal(runner.read(buffer), expected)


def test_random_recordings_polled(runner, monkeypatch):
    monkeypatch.setattr("vkamp.run.kompute_queue._SHORT", -1.0)
    test_random_recordings(runner, 99)


@pytest.mark.accelerators("llvmpipe")
def test_recordings_are_valid(validated):
    output = validated(
        """
        from conftest import *
        from test_recordings import dispatch, test_random_recordings
        for engine in map(eval, ENGINES.values()):
            for seed in range(3):
                runner = Runner(engine.open(device("llvmpipe", engine)))
                test_random_recordings(runner, seed)
                a = runner.buffer(np.zeros(100))
                ready = runner.queue.ready(dispatch(runner, "add", [a], [1]))
                for _ in range(10):
                    ready.enqueue()
                    runner.queue.flush()
                if engine.name == "vulkan":
                    runner.queue._poll = 1e-4
                for _ in range(10):
                    ready.enqueue()
                    runner.queue.wait()
                assert set(runner.read(a).tolist()) == {20}
        print("end")
        """
    )
    assert output == "end\n"


@pytest.mark.accelerators("llvmpipe")
def test_recordings_that_are_submitted_together(validated):
    """As on a GPU: replays while it is busy are one submission, with barriers where they depend on each other."""
    output = validated(
        """
        from conftest import *
        from test_recordings import dispatch
        engine = next(each for each in map(eval, ENGINES.values()) if each.name == "vulkan")
        runner = Runner(engine.open(device("llvmpipe", engine)))
        queue = runner.queue
        queue._poll = 1e-4
        queue._is_busy = lambda new=1: True
        a, b = runner.buffer(np.zeros(1000)), runner.buffer(np.zeros(1000))
        first = queue.record([dispatch(runner, "add", [each], [1]) for each in (a, b, a)])
        second = queue.record([dispatch(runner, "add", [b], [1]) for _ in range(7)])
        third = queue.record([dispatch(runner, "add", [a], [1])])
        idle = queue.idle()
        for _ in range(3):
            before = queue.statistics.submissions
            for k in range(30):
                for each in (first, second, third):
                    each.replay()
                idle()
                if k == 20:
                    queue.enqueue(dispatch(runner, "add", [b], [1]))
            queue.wait()
            print(queue.statistics.submissions - before < 60)
        assert set(runner.read(a).tolist()) == {3 * 30 * 3}, set(runner.read(a).tolist())
        assert set(runner.read(b).tolist()) == {3 * (30 * 8 + 1)}, set(runner.read(b).tolist())
        print("end")
        """
    )
    assert output == "True\nTrue\nTrue\nend\n"


class Clock:
    """The time, as far as submissions take it: how busy the machine is makes no difference."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now

    def taking(self, seconds, function):
        def call(*arguments):
            self.now += seconds
            return function(*arguments)

        return call


@pytest.mark.accelerators("swiftshader")
@pytest.mark.parametrize(
    ("submitting", "launching", "expected"),
    [
        # As on GPUs, where Kompute makes a fence for each: what a submission costs is not taken for the kernels' time.
        (5e-4, 1e-6, [401, 1, 1, 1]),
        # Slower than any is believed to be, as on a busy machine: one in one piece tells.
        (2e-3, 1e-6, [401, 1, 1, 1]),
        # That one has told that the kernels do take their time: nobody is kept waiting again.
        (2e-3, 2e-3, [401, 1, 401, 401]),
        # That long nobody is kept waiting at all.
        (4e-3, 4e-3, [401, 401, 401, 401]),
    ],
)
def test_many_launches_share_one_submission_where_submissions_are_slow(
    driver, monkeypatch, submitting, launching, expected
):
    engine = KomputeEngine()
    runner = runner_on(engine, driver)
    kp = runner.queue.device.kp
    clock = Clock()

    def evaluate(sequence):
        clock.now += submitting + launching * len(buffers)
        return kp.Sequence.eval(sequence)

    slow = SimpleNamespace(**{name: getattr(kp, name) for name in dir(kp) if name[0] != "_"})
    starts = clock.taking(max(submitting, launching), kp.Sequence.eval_async)
    slow.Sequence = SimpleNamespace(eval=evaluate, eval_async=starts)
    program = runner.queue.program(executable("add"))
    # What is known of them from other tests, and what they learn in this one's time.
    for thing, known in (
        (runner.queue.device, {"kp": slow, "quickest": math.inf}),
        (program, {"runs": 0, "seconds_per_tile": None, "tiles_at_once": 0, "tiles_in_time": 0}),
    ):
        for name, value in known.items():
            monkeypatch.setattr(thing, name, value)
    monkeypatch.setattr("vkamp.run.kompute_queue.time", clock)
    buffers = [runner.buffer(np.arange(64)) for _ in range(400)]
    recording = runner.queue.record([dispatch(runner, "add", [each], [1]) for each in buffers])
    made = []
    for _ in expected:
        before = runner.queue.statistics.submissions
        recording.replay()
        runner.queue.wait()
        made.append(runner.queue.statistics.submissions - before)
    # The first uploads as well.
    assert made == expected
    for buffer in buffers:
        np.testing.assert_array_equal(runner.read(buffer), np.arange(64) + len(made))


@pytest.mark.accelerators("swiftshader", "llvmpipe")
@pytest.mark.parametrize("engine", [KomputeEngine(mirrored=False)])
def test_launches_in_turn_are_not_planned(runner, monkeypatch):
    """A chain of short launches that came before runs from their own recordings; a long one ends that."""
    a, b = runner.buffer(np.arange(64)), runner.buffer(np.zeros(64))
    there = runner.queue.ready(dispatch(runner, "scale", [a, b], [3]))
    back = runner.queue.ready(dispatch(runner, "scale", [b, a], [1]))
    expected = np.arange(64, dtype=np.uint32)
    clock = Clock()
    monkeypatch.setattr("vkamp.run.kompute_queue.time", clock)

    def chain(times):
        nonlocal expected
        for _ in range(times):
            there.enqueue()
            back.enqueue()
            expected = expected * np.uint32(3)

    chain(1)
    runner.queue.wait()
    with monkeypatch.context() as context:
        context.setattr("vkamp.run.kompute_queue.KomputeSubmission", None)
        assert difference(runner, lambda: chain(100))["submissions"] >= 200 - 64
        runner.queue.wait()
    device, kp = runner.queue.device, runner.queue.device.kp
    slow = SimpleNamespace(**{name: getattr(kp, name) for name in dir(kp) if name[0] != "_"})
    slow.Sequence = SimpleNamespace(eval=clock.taking(0.03, kp.Sequence.eval), eval_async=kp.Sequence.eval_async)
    monkeypatch.setattr(device, "kp", slow)
    chain(50)
    runner.queue.wait()
    assert runner.queue.statistics.dispatches == 2 + 200 + 100
    np.testing.assert_array_equal(runner.read(a), expected)
    # In its order again.
    monkeypatch.setattr(device, "kp", kp)
    chain(40)
    np.testing.assert_array_equal(runner.read(a), expected)
    np.testing.assert_array_equal(runner.read(b), expected)
