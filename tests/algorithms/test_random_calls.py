"""Random programs of calls that come again, kernels and accesses of the host, against numpy.

A program keeps some of its results, drops others, changes them in place, and calls the same functions with them again:
results of repeated calls are in memory that comes back.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.algorithms import functional
from vkamp.dispatch import call_cache

N = 700
STEPS = 120
SEEDS = 2


@amp.kernel
def add_number(idx, a, number):
    a[idx] = (a[idx] + number) % 1000


class Program:
    """Slots of results, each as a container and as numpy's array."""

    def __init__(self, seed, view):
        self.random = random.Random(seed)
        self.view = view
        raw = [np.random.default_rng(seed + k).integers(0, 1000, N).astype(np.int32) for k in range(4)]
        self.slots = [(amp.array(each, accelerator_view=view), each) for each in raw]
        self.held = []
        #: Whose memory sections view.
        self.viewed = []

    def any(self):
        """Often the first slot, which seldom changes: calls with it come again."""
        return self.slots[0] if self.random.random() < 0.5 else self.random.choice(self.slots)

    def put(self, found, expected):
        first = 0 if self.random.random() < 0.1 else 1
        self.slots[self.random.randrange(first, len(self.slots))] = found, expected
        if self.random.random() < 0.3:
            self.held.append((found, expected.copy()))

    def is_held(self, a):
        return any(a is each for each in (*[found for found, _ in self.held], *self.viewed))

    # -- steps

    def transform(self):
        (a, x), number = self.any(), self.random.choice([1, 2, 7])
        self.put(alg.transform(lambda v: (v * 3 + number) % 1000, a), (x * 3 + number) % 1000)

    def add(self):
        (a, x), (b, y) = self.any(), self.any()
        self.put(alg.transform(lambda v, w: (v + w) % 1000, a, b), (x + y) % 1000)

    def scan(self):
        a, x = self.any()
        self.put(alg.scan(a, functional.max), np.maximum.accumulate(x))

    def sort(self):
        a, x = self.any()
        self.put(alg.sort(a, descending=True), np.sort(x)[::-1].copy())

    def sort_in_place(self):
        a, x = self.slots[0]
        if not self.is_held(a):
            alg.sort(a, out=a)
            x.sort()

    def flip(self):
        a, x = self.any()
        self.put(alg.flip(a), x[::-1].copy())

    def scalar(self):
        a, x = self.any()
        total = alg.sum(a)
        if self.random.random() < 0.5:
            self.held.append((total, np.array(x.sum())))
        found = alg.transform(lambda v, m: (v + m) % 1000, a, alg.min(a))
        self.put(found, (x + x.min()) % 1000)

    def select(self):
        a, x = self.any()
        chosen = alg.select(a, lambda v: v % 2 == 0)
        self.held.append((chosen, x[x % 2 == 0].copy()))

    def kernel(self):
        """Changes a result in place that nobody else holds."""
        k = self.random.randrange(len(self.slots))
        a, x = self.slots[k]
        if self.is_held(a):
            return
        number = self.random.randrange(5)
        amp.parallel_for_each(self.view, a.extent, add_number, a, number)
        self.slots[k] = a, (x + number) % 1000

    def host(self):
        k = self.random.randrange(len(self.slots))
        a, x = self.slots[k]
        if self.is_held(a):
            return
        new = np.roll(x, 3).copy()
        amp.copy(new, a)
        self.slots[k] = a, new

    def section(self):
        """A view of a result's memory, which outlives the result."""
        a, x = self.any()
        self.held.append((amp.array_view(a)[10:20], x[10:20].copy()))
        self.viewed.append(a)

    def look(self):
        """Reads what is held, and drops some of it."""
        for found, expected in self.held:
            np.testing.assert_array_equal(np.asarray(found), expected)
        self.random.shuffle(self.held)
        del self.held[3:]
        if not any(isinstance(found, amp.array_view) for found, _ in self.held):
            self.viewed.clear()

    def run(self):
        steps = [
            self.transform, self.add, self.scan, self.sort, self.sort_in_place, self.flip, self.scalar, self.select,
            self.kernel, self.host, self.section, self.look,
        ]  # fmt: skip
        for _ in range(STEPS):
            self.random.choice(steps)()
        self.look()
        for a, x in self.slots:
            np.testing.assert_array_equal(np.asarray(a), x)


@pytest.mark.accelerators("llvmpipe", "swiftshader")
def test_random_programs(accelerator_view, monkeypatch):
    run, runs = call_cache._CallCopy.run, []
    monkeypatch.setattr(call_cache._CallCopy, "run", lambda self, moving: runs.append(1) or run(self, moving))
    for seed in range(SEEDS):
        Program(seed, accelerator_view).run()
    assert len(runs) > 40
