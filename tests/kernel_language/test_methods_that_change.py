"""Methods that change `self`: the object, element or array item on which they are called changes."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import I32, same


@amp.struct
class Counter:
    n: amp.int32 = 0
    step: amp.int32 = 1
    last: (amp.int32, 3)

    @amp.func
    def advance(self, times):
        for _ in range(times):
            self.n += self.step
        self.remember(self.n)
        return self.n

    @amp.func
    def remember(self, value):
        for k in (2, 1):
            self.last[k] = self.last[k - 1]
        self.last[0] = value

    @amp.func
    def total(self):
        return self.n + sum(self.last)


@amp.func
def twice(counter):
    counter.advance(2)
    return counter.advance(1)


@amp.func
def in_program(n):
    own = Counter(n, 2)
    result = own.advance(3)
    result += twice(own) * 100
    if n % 2 == 0:
        own.step = 5
        own.advance(1)
    return result + own.total() * 10000


@amp.kernel
def of_objects(i, counters, out):
    k = i[0]
    out[0, k] = in_program(k)
    out[1, k] = counters[k].advance(k)
    many = amp.private(2, Counter.dtype)
    for j in range(2):
        many[j] = Counter(j, j + 1)
    many[k % 2].advance(3)
    for c in many:
        c.advance(1)
    out[2, k] = many[0].n * 100 + many[1].n + many[k % 2].last[1] * 10000
    p = counters[k]
    p.remember(7)
    out[3, k] = twice(p)


def test_methods_change_their_object(accelerator_view):
    array = np.zeros(4, Counter.dtype)
    array["step"] = [1, 2, 3, 4]
    out = np.zeros((4, 4), I32)
    views = amp.array_view(array), amp.array_view(out)
    amp.parallel_for_each(accelerator_view, amp.extent(4), of_objects, *views)
    for view in views:
        view.synchronize()
    expected = np.zeros(4, Counter.dtype)
    expected["step"] = [1, 2, 3, 4]
    for k in range(4):
        assert out[0, k] == in_program(k)
        item = expected[k]
        assert out[1, k] == item.advance(k)
        many = [Counter(j, j + 1) for j in range(2)]
        many[k % 2].advance(3)
        for c in many:
            c.advance(1)
        assert out[2, k] == many[0].n * 100 + many[1].n + many[k % 2].last[1] * 10000
        item.remember(7)
        assert out[3, k] == twice(item)
    same(array, expected)


@amp.kernel
def in_tiles(t, out):
    shared = amp.tile_static(4, Counter.dtype)
    j = t.local[0]
    shared[j] = Counter(j, 1)
    for k in range(3):
        t.barrier.wait()
        shared[(j + k) % 4].advance(k)
        t.barrier.wait()
    out[t] = shared[j].n * 10 + shared[j].last[0]


@pytest.mark.parametrize("lowering", ["threads", "loops"])
def test_in_a_loop_with_barriers(accelerator_view, lowering: str):
    out = np.zeros(8, I32)
    view = amp.array_view(out)
    kernel = amp.kernel(lowering=lowering)(in_tiles.function)
    amp.parallel_for_each(accelerator_view, amp.extent(8).tile(4), kernel, view)
    view.synchronize()
    same(out, [(j + 3) * 11 for j in range(4)] * 2)
