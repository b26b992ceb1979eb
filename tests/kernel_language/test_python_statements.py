"""Statements and expressions of Python that C++ lacks: ``else`` of loops, ``:=``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import I32, rows, same

INTS = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1, 12], I32)


@amp.func
def loop_else(n):
    total = 0
    for k in range(5):
        if k == n:
            break
        total += k
    else:
        total += 100
    k = 0
    while k < n:
        for d in (2, 3, 5):
            if (n + k) % d == 0:
                break
        else:
            break
        if k > 6:
            total += 1000
            break
        k += 1
    else:
        total += 5000
    for _ in range(3):
        total += 1
    else:
        total *= 2
    return total * 100 + k


@amp.func
def walrus(n):
    total = 0
    if (m := n * 2 + 1) > 5:
        total += m
    k = 0
    while (k := k + 1) < n:
        total += k
    found = n > 3 and (half := n // 2) > 1
    if found:
        half = n // 2
        total += half * 100
    other = (last := n - 1) if n > 2 else 7
    last = n
    return total * 10 + other + last + (m if m > 3 else (q := m + 1) + q)


@amp.func
def assigned_on_both_ways(n):
    for k in range(5):
        if k * k == n:
            root = k
            break
        if k > n:
            root = -k
            break
    else:
        root = 100
    while n > 3:
        n -= 2
        if n == 5:
            for d in (2, 3, 5):
                if root == d:
                    last = d
                    break
            else:
                continue
            break
    else:
        return root * 10 + n
    return root * 1000 + last


@pytest.mark.parametrize("function", [loop_else, walrus, assigned_on_both_ways], ids=lambda f: f.__name__)
def test_against_python(accelerator_view, function: Any):
    @amp.kernel
    def k(i, n, out, *, f: amp.constant):
        out[0, i[0]] = f(n[i])

    same(rows(accelerator_view, k, 1, I32, INTS, f=function)[0], [function(int(n)) for n in INTS])


@amp.struct
class Pair:
    x: amp.int32
    y: amp.int32


@amp.kernel
def conditions(idx, pairs, a, out):
    """What ``:=`` assigns in a part of a condition that was certainly evaluated has a value."""
    i = idx[0]
    n = len(a)
    if (p := pairs[i]).x > 2 and (q := pairs[(i + 1) % n]).x > 1:
        out[i, 0] = q.y + p.y
    if not ((u := a[i]) > 5 or (w := a[(i + 1) % n]) > 5):
        out[i, 1] = u * 10 + w
    else:
        out[i, 1] = -u
    j = i
    while (v := a[j % n]) != 0 and (t := v - 1) >= 0 and j < 20:
        j += t + 1
    out[i, 2] = j + v
    out[i, 3] = z * 2 if a[i] > 1 and (z := a[i] + 1) < 6 else -1
    while True:
        if (e := j - 3) < 0 or (f := e - 1) < 0:
            break
        j = f
    out[i, 4] = e
    for m in range(3):
        if a[m] > 3 and (h := a[m] + m):
            out[i, 5] += h
    if (r := a[i]) and (s := r) > 1:
        out[i, 6] = s
    elif r > 0:
        out[i, 6] = -r
    while (b := out[i, 7]) < 7:
        out[i, 7] += 3
    else:
        out[i, 7] += b


def test_names_of_conditions(accelerator_view):
    pairs = [Pair(x, 7 * x) for x in (3, 1, 4, 2, 5)]
    a = [1, 4, 0, 6, 3]
    expected = np.zeros((5, 8), I32)
    for i in range(5):
        conditions.__wrapped__((i,), pairs, a, expected)
    views = amp.array_view(np.array([(p.x, p.y) for p in pairs], Pair)), amp.array_view(np.array(a, I32))
    out = amp.array_view(np.zeros((5, 8), I32))
    amp.parallel_for_each(accelerator_view, amp.extent(5), conditions, *views, out)
    same(out, expected)


def test_what_only_one_side_assigns_has_no_value_after():
    @amp.kernel
    def k(i, n):
        if n[i] > 0 or (half := n[i] // 2) > 1:
            n[i] = half

    with pytest.raises(amp.CompileError, match="VKA202"):
        k.inspect(amp.extent(4), amp.array_view(np.zeros(4, I32)))


def test_what_a_break_leaves_out_has_no_value_after():
    @amp.kernel
    def k(i, n):
        for m in range(4):
            if m == n[i]:
                break
            if m > n[i]:
                found = m
                break
        else:
            found = 7
        n[i] = found

    with pytest.raises(amp.CompileError, match="VKA202"):
        k.inspect(amp.extent(4), amp.array_view(np.zeros(4, I32)))


@amp.kernel
def with_barriers(t, a, out):
    shared = amp.tile_static(4, amp.int32)
    j = t.local[0]
    shared[j] = a[t]
    for k in range(4):
        t.barrier.wait()
        if (first := shared[0]) > 1000:
            break
        t.barrier.wait()
        shared[j] = first + shared[j] + k
    else:
        shared[j] += 7
    out[t] = shared[j]


@pytest.mark.parametrize("lowering", ["threads", "loops"])
def test_with_barriers(accelerator_view, lowering: str):
    a, out = np.array([0, 1, 2, 3, 900, 5, 6, 7], I32), np.zeros(8, I32)
    result = amp.array_view(out)
    kernel = amp.kernel(lowering=lowering)(with_barriers.function)
    amp.parallel_for_each(accelerator_view, amp.extent(8).tile(4), kernel, amp.array_view(a), result)
    result.synchronize()
    expected = []
    for tile in a.reshape(2, 4):
        for k in range(4):
            if tile[0] > 1000:
                break
            tile = tile[0] + tile + k
        else:
            tile = tile + 7
        expected.extend(tile)
    same(out, expected)
