"""Random work against numpy: launches, uploads, downloads, flushes and freed buffers in any order."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.run.conftest import dispatch, words
from tests.run.random_work import work
from vkamp.run.vulkan.commands import DispatchWork

N = 1000
#: Seconds that the host leaves the queue alone: less and more than its driver's pauses.
PAUSES = (0, 0, 0, 0.0004, 0.0015, 0.004)


@pytest.mark.parametrize("seed", range(12))
def test_random_work(runner, seed):
    work(runner, seed)


@pytest.mark.parametrize("seed", range(20, 26))
def test_random_work_with_pauses(runner, seed):
    work(runner, seed, pauses=PAUSES)


@pytest.mark.parametrize("seed", range(30, 33))
def test_random_work_that_each_launch_starts(runner, seed, monkeypatch):
    monkeypatch.setattr("vkamp.run.kompute_queue._WORTH_STARTING", 0.0)
    monkeypatch.setattr(DispatchWork, "is_short", False)
    work(runner, seed, pauses=PAUSES)


@pytest.mark.parametrize("seed", range(4))
def test_random_work_on_an_immediate_queue(runner, seed):
    runner.queue.immediate = True
    work(runner, seed)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("pauses", [(0,), PAUSES], ids=["at once", "with pauses"])
def test_random_work_on_a_card(card, seed, pauses):
    work(card, seed, pauses=pauses)


def test_random_work_polled(runner, monkeypatch):
    monkeypatch.setattr("vkamp.run.kompute_queue._SHORT", -1.0)
    work(runner, 99)


@pytest.mark.parametrize("seed", range(8))
def test_random_repeated_launches(runner, seed):
    """Repeated launches, as in programs: chains, independent ones, both alternately."""
    choose = random.Random(seed)
    buffers = [runner.buffer(np.arange(N)) for _ in range(3)]
    expected = [np.arange(N, dtype=np.uint32) for _ in buffers]
    adding = [runner.queue.ready(dispatch(runner, "add", [b], [1])) for b in buffers]
    moving = {
        (i, j): runner.queue.ready(dispatch(runner, "scale", [a, b], [3]))
        for i, a in enumerate(buffers)
        for j, b in enumerate(buffers)
        if i != j
    }

    def add(i):
        word = choose.choice([1, 1, 1, 2, 7])
        if word == 1:
            adding[i].enqueue()
        else:
            adding[i].enqueue_with(words(N, word))
        expected[i] += np.uint32(word)

    def move(i, j):
        moving[i, j].enqueue()
        expected[j][:] = expected[i] * np.uint32(3)

    for _ in range(40):
        kind, count = choose.randrange(7), choose.choice([1, 5, 63, 64, 65, 130])
        i, j = choose.sample(range(3), 2)
        for step in range(count):
            if kind == 0:
                add(i)
            elif kind == 1:
                move(*((i, j) if step % 2 else (j, i)))
            elif kind == 2:
                add(step % 3)
            elif kind == 3:
                move(*choose.sample(range(3), 2))
        if kind == 4:
            runner.queue.flush()
        elif kind == 5:
            numbers = np.arange(count, dtype=np.uint32)
            buffers[i].upload(0, numbers.view(np.uint8))
            expected[i][:count] = numbers
        elif kind == 6:
            np.testing.assert_array_equal(runner.read(buffers[j]), expected[j])
    for buffer, values in zip(buffers, expected, strict=True):
        np.testing.assert_array_equal(runner.read(buffer), values)


@pytest.mark.accelerators("llvmpipe")
def test_random_work_is_valid(validated):
    output = validated(
        """
        from conftest import *
        from random_work import work
        from vkamp.run import kompute_queue
        for engine in map(eval, ENGINES.values()):
            info = device("llvmpipe", engine)
            for short in (kompute_queue._SHORT, -1.0):
                kompute_queue._SHORT = short
                for seed in range(3):
                    runner = Runner(engine.open(info))
                    runner.queue.immediate = seed == 2
                    work(runner, seed)
        print("end")
        """
    )
    assert output == "end\n"
