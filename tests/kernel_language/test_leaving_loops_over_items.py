"""``break`` and ``continue`` in loops over items between which the run time cannot choose: functions and the like."""

from __future__ import annotations

import numpy as np

import vkamp as amp
from tests.kernel_language.programs import I32, check_as_python, same


@amp.func
def half(x):
    return x // 2


def plus_three(x):
    return x + 3


STEPS = (plus_three, half, lambda x: x * x - 7)
NAMED = ((3, half), (5, plus_three))
MIXED = (2, 0.5, 3)


@amp.func
def until_large(k: amp.int32):
    n = k - 8
    x = n
    for step in STEPS:
        x = step(x)
        if x > 9:
            break
    return x


@amp.func
def only_odd(k: amp.int32):
    n = k - 8
    x = n
    for step in (half, plus_three, half):
        if x % 2 == 0:
            continue
        x = step(x)
        if x < -3:
            break
    else:
        x += 1000
    return x


@amp.func
def returned(k: amp.int32):
    n = k - 8
    for at, step in enumerate(STEPS):
        if step(n) == n:
            return at
    return -1


@amp.func
def pairs(k: amp.int32):
    n = k - 8
    total = 0
    for limit, step in NAMED:
        if n > limit:
            continue
        total += step(n) * limit
    for limit, step in zip((1, 4), STEPS[:2], strict=True):
        if n == limit:
            break
        total += step(total)
    return total


@amp.func
def nested(k: amp.int32):
    n = k - 8
    total = 0
    for outer in STEPS:
        for inner in (half, plus_three):
            value = outer(inner(n))
            if value > 20:
                break
            total += value
        if total > 15:
            continue
        total *= 2
    return total


@amp.func
def unlike(k: amp.int32):
    n = k - 8
    total = 0.0
    for factor in MIXED:
        total += n * factor
        if total > 4:
            break
    return int(total * 4)


@amp.struct
class Pair:
    a: amp.int32
    b: amp.int32


@amp.func
def structs(k: amp.int32):
    n = k - 8
    first, second = Pair(n, 1), Pair(2, 3)
    total = 0
    for p in (first, second, Pair(n, n)):
        if p.a == 2:
            p.b += 10
            continue
        if p.a > 4:
            break
        p.a += 1
        total += p.b
    return total * 100 + first.a * 10 + second.b


def test_loops_over_functions(accelerator_view):
    check_as_python(accelerator_view, (until_large, only_odd, returned, pairs, nested, unlike, structs), 17)


@amp.kernel
def first_container(i, out, *inputs):
    for rank, a in enumerate(inputs):
        if a[i] > 0:
            out[i] = a[i] * 10 + rank
            break
    else:
        out[i] = -1


def test_loops_over_containers(accelerator_view):
    inputs = np.random.default_rng(1).integers(-2, 2, (3, 40)).astype(I32)
    out = amp.array_view(np.zeros(40, I32))
    amp.parallel_for_each(accelerator_view, 40, first_container, out, *(amp.array_view(a.copy()) for a in inputs))
    expected = [next((int(v) * 10 + k for k, v in enumerate(column) if v > 0), -1) for column in inputs.T]
    same(np.asarray(out), expected)
