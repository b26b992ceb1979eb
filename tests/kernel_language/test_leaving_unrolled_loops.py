"""`break` and `continue` in `static_range` loops, at compile time and at run time, give what Python gives."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import I32

N = 9


@amp.func
def known(i: amp.int32):
    total = 0
    for k in amp.static_range(8):
        if k % 2 == 0:
            continue
        if k == 7:
            break
        total = total * 10 + k
    return total + i * 0 + k


@amp.func
def skipped(i: amp.int32):
    """The body is the same for all iterations."""
    total = 0
    for k in amp.static_range(5):
        if k == i:
            continue
        total = total * 10 + k
    return total + k


@amp.func
def ended(i: amp.int32):
    total = 0
    for k in amp.static_range(5):
        if k == i:
            break
        total = total * 10 + k
    return total * 10 + k


@amp.func
def copied(i: amp.int32):
    """The counter is needed as a number; iterations are left, and the loop."""
    values = (3, 1, 4, 1, 5)
    total = 0
    for k in amp.static_range(5):
        if i == k:
            continue
        if k == 3:
            total += 7
            continue
        if i == 2 * k + 1:
            break
        total = total * 10 + values[k]
    return total * 10 + k


@amp.func
def broken_copies(i: amp.int32):
    total = 0
    for k in amp.static_range(4):
        if k % 2 == 0:
            total += k + 1
        if i < k:
            break
        total *= 2
    return total


@amp.func
def continued_copies(i: amp.int32):
    total = 0
    for k in amp.static_range(4):
        if k % 2 == 0:
            total += k + 1
        if i < k:
            if i == 1:
                continue
            total += 100
        total *= 2
    return total


@amp.func
def first_only(i: amp.int32):
    """A `break` that is reached unless an iteration is left before."""
    total = 0
    for k in amp.static_range(5):
        total = total * 10 + k + 1
        if i > k:
            continue
        break
    return total


@amp.func
def always_the_first(i: amp.int32):
    total = 0
    for k in amp.static_range(2, 6):
        total += k + i
        break
    return total * 10 + k


@amp.func
def nested(i: amp.int32):
    total = 0
    for k in amp.static_range(3):
        for j in amp.static_range(4):
            if j > k:
                break
            if (i + j) % 3 == 1:
                continue
            total = total * 3 + j
        for j in range(i):
            if j > k:
                break
            total += 1
        if k == 1 and total > 20:
            break
        while True:
            total += 1
            if total % 2:
                break
    return total


@amp.func
def with_else(i: amp.int32):
    for k in amp.static_range(6):
        if k % 2 == 1 and k > i:
            found = k
            break
    else:
        found = -1
    return found


@amp.func
def assigned_inside(i: amp.int32):
    for k in amp.static_range(3):
        last = k * i
        if k == 1:
            break
        other = last
    return last * 10 + other


@amp.func
def returned(i: amp.int32):
    for k in amp.static_range(4):
        if k % 2 == 0:
            continue
        if i == k:
            return 10 * k
        if i > 6:
            break
    return -i


@amp.func
def existing_variable(i: amp.int32):
    k = 50
    for k in amp.static_range(5):
        if k > i:
            break
        if k % 2 == 0:
            continue
    return k


@amp.func
def in_other_statements(i: amp.int32):
    """What follows a statement in which an iteration ends is not part of it."""
    total = 0
    for k in amp.static_range(7):
        match k:
            case 1:
                continue
            case 6:
                break
        for j in range(i):
            total += j
        else:
            if k == 2:
                continue
        for j in range(i):
            if j == 3:
                break
        else:
            if k == 3:
                continue
        total = total * 2 + k
    return total


FUNCTIONS = [
    in_other_statements,
    known,
    skipped,
    ended,
    copied,
    broken_copies,
    continued_copies,
    first_only,
    always_the_first,
    nested,
    with_else,
    assigned_inside,
    returned,
    existing_variable,
]


@amp.kernel
def every_one(idx, out):
    for k, f in enumerate(FUNCTIONS_OF_KERNEL):
        out[k, idx[0]] = f(idx[0])


FUNCTIONS_OF_KERNEL = tuple(FUNCTIONS)


def test_functions(accelerator_view):
    out = amp.array_view(np.zeros((len(FUNCTIONS), N), I32))
    amp.parallel_for_each(accelerator_view, amp.extent(N), every_one, out)
    expected = [[f(i) for i in range(N)] for f in FUNCTIONS]
    for f, got, wanted in zip(FUNCTIONS, np.asarray(out).tolist(), expected, strict=True):
        assert got == wanted, f
    assert amp.check(accelerator_view, amp.extent(N), every_one, out).ok


def with_barriers(t_idx, a):
    i = t_idx.local[0]
    values = amp.tile_static(8, amp.int32)
    values[i] = a[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for k in amp.static_range(5):
        if k % 2 == 1:
            continue
        if t_idx.tile[0] == k:
            break
        other = values[(i + k) % 8]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        values[i] = other + k
        t_idx.barrier.wait_with_tile_static_memory_fence()
    a[t_idx] = values[i]


@pytest.mark.parametrize("lowering", ["threads", "loops"])
def test_barriers(accelerator_view, lowering):
    kernel = amp.kernel(lowering=lowering)(with_barriers)
    given = np.arange(24, dtype=I32) ** 2 % 17
    a = amp.array_view(given.copy())
    amp.parallel_for_each(accelerator_view, a.extent.tile(8), kernel, a)
    expected = []
    for tile, values in enumerate(given.reshape(3, 8)):
        for k in (0, 2, 4):
            if tile == k:
                break
            values = np.roll(values, -k) + k
        expected += values.tolist()
    assert np.asarray(a).tolist() == expected


@amp.kernel
def with_scopes(t_idx, a):
    i = t_idx.local[0]
    for k in amp.static_range(4):
        with amp.tile_scope():
            values = amp.tile_static(8, amp.int32)
            values[i] = a[t_idx]
            t_idx.barrier.wait_with_tile_static_memory_fence()
            other = values[(i + k) % 8]
            t_idx.barrier.wait_with_tile_static_memory_fence()
            if k == 1:
                continue
            if k == 3:
                break
        a[t_idx] = other * 2 + k


def test_scopes(accelerator_view):
    given = np.arange(8, dtype=I32)
    a = amp.array_view(given.copy())
    amp.parallel_for_each(accelerator_view, a.extent.tile(8), with_scopes, a)
    expected = np.roll(given * 2, -2) * 2 + 2
    assert np.asarray(a).tolist() == expected.tolist()


@amp.kernel
def divergent(t_idx, a):
    for k in amp.static_range(4):
        if k % 2 == 0:
            a[t_idx] += k
        if a[t_idx] > k:
            break
        t_idx.barrier.wait()


def test_divergent_barriers():
    a = amp.array_view(np.zeros(8, I32))
    with pytest.raises(amp.CompileError, match="VKA60"):
        divergent.inspect(a.extent.tile(8), a)
