"""Random work for a queue, compared with numpy."""

from __future__ import annotations

import random
import time

import numpy as np


def work(runner, seed, steps=120, pauses=(0,)):
    choose = random.Random(seed)
    sizes = [choose.choice([1, 63, 64, 65, 1000]) for _ in range(4)]
    state = {}
    for step in range(steps):
        if len(pauses) > 1:
            time.sleep(choose.choice(pauses))
        slot = choose.randrange(6)
        if slot not in state:
            values = np.random.default_rng(step).integers(0, 2**32, choose.choice(sizes), np.uint32)
            state[slot] = (runner.buffer(values), values.copy())
        buffer, expected = state[slot]
        action = choose.randrange(9)
        if action < 3:
            word = choose.randrange(1, 4)
            runner.launch("add", [buffer], [word])
            expected += np.uint32(word)
        elif action < 5:
            other, other_expected = state[choose.choice(sorted(state))]
            count = min(len(expected), len(other_expected))
            push = (count, 3)
            runner.launch_words("scale", [buffer, other], push, groups=(-(-count // 64), 1, 1))
            other_expected[:count] = expected[:count] * np.uint32(3)
        elif action == 5:
            begin = choose.randrange(len(expected))
            part = np.arange(begin, len(expected), dtype=np.uint32)[: choose.randrange(1, 30)]
            buffer.upload(4 * begin, part.view(np.uint8))
            expected[begin : begin + len(part)] = part
        elif action == 6:
            np.testing.assert_array_equal(runner.read(buffer), expected)
        elif action == 7:
            runner.queue.flush()
        else:
            del state[slot], buffer
    for buffer, expected in state.values():
        np.testing.assert_array_equal(runner.read(buffer), expected)
