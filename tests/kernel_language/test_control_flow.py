"""Branches and loops: what Python means by them, on every device."""

# ruff: noqa: B007, B020

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import I32, U32, pairs, rows, same, same_rows


@amp.kernel
def branches(i, a, out):
    k = i[0]
    x = a[k]
    if x < -2:
        kind = 1
    elif x == 0:
        kind = 2
    elif x % 2 == 0 and x > 2:
        kind = 3
    else:
        kind = 4
        if x > 5:
            kind = 5
    out[0, k] = kind
    if x > 0:
        pass
    else:
        out[1, k] = -x
    out[2, k] = 1 if x > 3 else 2 if x > 0 else 3
    result = 0
    if not (x > 0 or x < -3):
        if x == -1:
            result = 10
        elif x == -2:
            result = 20
    out[3, k] = result


def test_branches(accelerator_view):
    x = np.arange(-6, 9, dtype=I32)
    kind = [1 if v < -2 else 2 if v == 0 else 3 if v % 2 == 0 and v > 2 else 5 if v > 5 else 4 for v in x]
    same_rows(
        rows(accelerator_view, branches, 4, I32, x),
        {
            "if": kind,
            "else only": np.where(x > 0, 77, -x),
            "nested conditional": np.where(x > 3, 1, np.where(x > 0, 2, 3)),
            "nested if": np.where(x == -1, 10, np.where(x == -2, 20, 0)),
        },
    )


@amp.kernel
def loops(i, a, b, out):
    k = i[0]
    n, step = a[k], b[k]
    total = 0
    for j in range(n):
        total += j + 1
    out[0, k] = total
    total = 0
    for j in range(n, 12):
        total = total * 3 + j
    out[1, k] = total
    total = 0
    for j in range(10, n, -1):
        total = total * 3 + j
    out[2, k] = total
    total = 0
    for j in range(n, 20 * step, step):
        total = total * 2 + j
    out[3, k] = total
    total = 0
    for j in range(2, 9, 3):
        total = total * 10 + j
    for j in range(3, 3):
        total = -1
    out[4, k] = total
    total = 0
    for row in range(n):
        for col in range(row, n):
            for deep in range(col - row):
                total += row * 100 + col * 10 + deep
    out[5, k] = total


def python_loops(n: int, step: int) -> list[int]:
    def fold(values, base, start=0):
        total = start
        for v in values:
            total = total * base + v
        return total

    nested = sum(
        row * 100 + col * 10 + deep for row in range(n) for col in range(row, n) for deep in range(col - row)
    )  # fmt: skip
    return [
        sum(j + 1 for j in range(n)),
        fold(range(n, 12), 3),
        fold(range(10, n, -1), 3),
        fold(range(n, 20 * step, step), 2),
        fold(range(2, 9, 3), 10),
        nested,
    ]


def wrapped(values) -> np.ndarray:
    return np.array([[v & 0xFFFFFFFF for v in row] for row in values], U32).view(I32)


def test_loops_with_steps_of_both_signs(accelerator_view):
    n, step = pairs([-3, 0, 1, 5, 7], I32)
    step[step == 0] = 2
    expected = wrapped([python_loops(int(x), int(s)) for x, s in zip(n, step, strict=True)]).T
    same(rows(accelerator_view, loops, 6, I32, n, step), expected)


@amp.kernel
def jumps(i, a, out):
    k = i[0]
    n = a[k]
    total = 0
    for j in range(20):
        if j == n:
            break
        if j % 3 == 1:
            continue
        total += j
    out[0, k] = total
    total = 0
    j = 0
    while True:
        j += 1
        if j > n:
            break
        if j % 2:
            continue
        total += j
    out[1, k] = total
    steps = 0
    x = n * 3 + 1
    while x != 1 and steps < 50:
        x = x // 2 if x % 2 == 0 else x * 3 + 1
        steps += 1
    out[2, k] = steps
    total = 0
    for row in range(6):
        for col in range(6):
            if col > row:
                break
            if (row + col) % n == 0:
                continue
            total += 1
        if row == n:
            break
    else_total = total
    out[3, k] = else_total
    while n > 3:
        n2 = n - 1
        if n2 == 4:
            break
        n2 += 1
        break
    out[4, k] = n


def python_jumps(n: int) -> list[int]:
    first = 0
    for j in range(20):
        if j == n:
            break
        if j % 3 == 1:
            continue
        first += j
    second = sum(j for j in range(1, n + 1) if j % 2 == 0)
    steps, x = 0, n * 3 + 1
    while x != 1 and steps < 50:
        x = x // 2 if x % 2 == 0 else x * 3 + 1
        steps += 1
    total = 0
    for row in range(6):
        for col in range(6):
            if col > row:
                break
            if (row + col) % n == 0:
                continue
            total += 1
        if row == n:
            break
    return [first, second, steps, total, n]


def test_break_and_continue(accelerator_view):
    n = np.array([1, 2, 3, 4, 5, 7, 11, 19, 25], I32)
    same(rows(accelerator_view, jumps, 5, I32, n), np.array([python_jumps(int(v)) for v in n]).T)


@amp.kernel
def loop_variables(i, a, out):
    k = i[0]
    n = a[k]
    last = -1
    total = 0
    for j in range(1, 9, 2):
        last = j
        j = j * 10  # the range goes on from its own count
        total += j
    out[0, k] = total
    out[1, k] = last
    for m in range(4):
        total = m
    out[2, k] = m
    stop = n
    for q in range(stop):
        stop = 0  # the bounds are evaluated once
        n -= 1
        total = q
    out[3, k] = n
    out[4, k] = total
    w = 100
    for w in range(n, n + 3):
        if w == 1:
            break
    out[5, k] = w


def test_loop_variables_are_python_s(accelerator_view):
    a = np.array([0, 1, 2, 6], I32)
    n = np.zeros_like(a)
    same_rows(
        rows(accelerator_view, loop_variables, 6, I32, a),
        {
            "changed in the body": (1 + 3 + 5 + 7) * 10,
            "last": 7,
            "after the loop": 3,
            "bounds once": n,
            "last of the dynamic one": np.where(a > 0, a - 1, 3),
            "found": 1,
        },
    )


@amp.kernel
def early_return(i, a, out):
    k = i[0]
    x = a[k]
    out[0, k] = 1
    if x < 0:
        return
    out[1, k] = 1
    for j in range(10):
        if j == x:
            return
        out[2, k] = j
        while j > 5:
            if x == 9:
                out[3, k] = j
                return
            break
    out[4, k] = 1


def test_early_return(accelerator_view):
    x = np.array([-1, 0, 3, 9, 20], I32)
    keep = 77
    same_rows(
        rows(accelerator_view, early_return, 5, I32, x),
        {
            "before": 1,
            "after the first": [keep, 1, 1, 1, 1],
            "in the loop": [keep, keep, 2, 6, 9],
            "in both": [keep, keep, keep, 6, keep],
            "at the end": [keep, keep, keep, keep, 1],
        },
    )


@amp.kernel
def guarded(i, a, out):
    k = i[0]
    n = out.extent[1]
    left = k > 0 and a[k - 1] > 0
    out[0, k] = left
    out[1, k] = k == n - 1 or a[k + 1] > 0
    if k + 2 < n and a[k + 2] > a[k] and not (k > 3 and a[k - 4] == a[k]):
        out[2, k] = a[k + 2]
    j = k
    while j >= 0 and a[j] != 3:
        j -= 1
    out[3, k] = j
    out[4, k] = a[k - 1] if k > 0 else -1
    out[5, k] = (a[k] != 0 and 100 // a[k] > 20) or a[k] == -1
    out[6, k] = 0 <= k - 1 < n and 5 // max(a[k], 1) > 0


def test_short_circuit_guards_what_follows(accelerator_view):
    a = np.array([5, 0, 3, -1, 7, 5, 2, 0, 4], I32)
    n = len(a)
    index = range(n)
    expected = {
        "left": [k > 0 and a[k - 1] > 0 for k in index],
        "right": [k == n - 1 or a[k + 1] > 0 for k in index],
        "if": [
            a[k + 2] if k + 2 < n and a[k + 2] > a[k] and not (k > 3 and a[k - 4] == a[k]) else 77 for k in index
        ],
        "while": [max((j for j in range(k + 1) if a[j] == 3), default=-1) for k in index],
        "conditional": [a[k - 1] if k > 0 else -1 for k in index],
        "division": [bool((a[k] != 0 and 100 // a[k] > 20) or a[k] == -1) for k in index],
        "chain": [0 <= k - 1 < n and 5 // max(a[k], 1) > 0 for k in index],
    }  # fmt: skip
    same_rows(rows(accelerator_view, guarded, 7, I32, a), expected)


@amp.func
def counted(hits, k, result):
    amp.atomic_fetch_inc(hits[k])
    return result


@amp.kernel
def side_effects(i, a, hits, out):
    k = i[0]
    x = a[k]
    both = x > 0 and counted(hits, 0, x > 2)
    either = x > 0 or counted(hits, 1, x < -2)
    out[0, k] = both
    out[1, k] = either
    out[2, k] = counted(hits, 2, 5) if x > 0 else counted(hits, 3, 6)
    n = 0
    while n < x and counted(hits, 4, True):
        n += 1
    out[3, k] = n
    if x > 2 and counted(hits, 5, True) and counted(hits, 6, x > 3) and counted(hits, 7, True):
        out[3, k] += 100


def test_calls_are_evaluated_as_often_as_in_python(accelerator_view):
    a = np.arange(-4, 5, dtype=I32)
    hits = np.zeros(8, I32)
    h = amp.array_view(hits)
    result = np.zeros((4, 9), I32)
    out = amp.array_view(result)
    amp.parallel_for_each(accelerator_view, amp.extent(9), side_effects, amp.array_view(a), h, out)
    n = np.maximum(a, 0)
    same_rows(
        np.asarray(out),
        {
            "and": a > 2,
            "or": (a > 0) | (a < -2),
            "conditional": np.where(a > 0, 5, 6),
            "while": n + np.where(a > 3, 100, 0),
        },
    )
    same(np.asarray(h), [4, 5, 4, 5, n.sum(), 2, 2, 1])


FLAG = True
LIMIT = 3


@amp.kernel
def decided_at_compile_time(i, a, out, *, MODE: amp.constant, FAST: amp.constant = False):  # noqa: N803
    k = i[0]
    if MODE == 1:
        out[0, k] = a[k]
    elif MODE == 2:
        out[0, k] = a[k] * 2
    else:
        out[0, k] = a[k].no_such_thing  # never compiled
    if FLAG and not FAST:
        out[1, k] = LIMIT
    else:
        out[1, k] = -LIMIT
    out[2, k] = 5 if FAST else 6
    if FAST and a.no_such_thing:
        out[2, k] = 0


@pytest.mark.parametrize("fast", [False])
@pytest.mark.parametrize("mode", [1, 2])
def test_branches_on_constants_are_decided(accelerator_view, mode, fast):
    a = np.array([4, 5, 6], I32)
    got = rows(accelerator_view, decided_at_compile_time, 3, I32, a, MODE=mode, FAST=fast)
    same_rows(got, {"mode": a * mode, "global": 3, "conditional": 6})


@amp.kernel
def deep(i, a, out):
    k = i[0]
    x = a[k]
    total = 0
    for p in range(2):
        if x > p:
            for q in range(3):
                if q != x:
                    r = 0
                    while r < 3:
                        if r == 2 and p == 1:
                            break
                        if q == 1:
                            r += 2
                            continue
                        if x > 2:
                            if r == 1:
                                total += 1000
                            else:
                                total += 100
                        else:
                            total += 1
                        r += 1
                else:
                    continue
                total += 10
    out[0, k] = total


def python_deep(x: int) -> int:
    total = 0
    for p in range(2):
        if x > p:
            for q in range(3):
                if q != x:
                    r = 0
                    while r < 3:
                        if r == 2 and p == 1:
                            break
                        if q == 1:
                            r += 2
                            continue
                        if x > 2:
                            total += 1000 if r == 1 else 100
                        else:
                            total += 1
                        r += 1
                else:
                    continue
                total += 10
    return total


def test_deep_nesting(accelerator_view):
    a = np.arange(-1, 6, dtype=I32)
    same(rows(accelerator_view, deep, 1, I32, a)[0], [python_deep(int(x)) for x in a])


@amp.kernel
def unsigned_loop(i, out):
    n = out.extent.size()  # uint32
    total = n - n
    for j in range(n):
        total += j
    for j in range(n, total, 7):
        total -= 1
    out[i] = int(total)


def test_loop_over_an_unsigned_range(accelerator_view):
    out = amp.array_view(np.zeros(9, I32))
    amp.parallel_for_each(accelerator_view, out.extent, unsigned_loop, out)
    same(np.asarray(out), 36 - len(range(9, 36, 7)))


@amp.kernel
def one_name_for_many_loops(i, out, n):
    s = 0
    for j in amp.static_range(3):
        s += j * i[0]
    for j in range(4):
        s += j
    for j in amp.static_range(2):
        s += 10 * j
    for j in range(n):
        s += amp.int32(j)
    for j in range(3):
        s += 100 * j
    out[i] = s


def test_loops_of_every_kind_over_one_name(accelerator_view):
    out = amp.array_view(np.zeros(5, np.int32))
    amp.parallel_for_each(accelerator_view, out.extent, one_name_for_many_loops, out, amp.uint32(4))
    assert np.asarray(out).tolist() == [3 * i + 322 for i in range(5)]


@amp.func
def last_below(n):
    for n in range(1, n):
        if n * n > 20:
            break
    return n


@amp.func
def doubled(n, m):
    for n in range(n, m, n):
        pass
    return n


@amp.kernel
def bounds_of_the_variable_itself(i, a, out):
    out[0, i[0]] = last_below(a[i])
    out[1, i[0]] = doubled(2 * a[i] + 1, 12)
    n = a[i]
    steps = 0
    for n in range(n):
        steps += 1
    out[2, i[0]] = steps
    for n in range(20, n, -3):
        steps += n
    out[3, i[0]] = steps


def test_bounds_are_computed_before_the_variable_is(accelerator_view):
    a = np.arange(-2, 9, dtype=I32)
    last = np.where(a > 0, a - 1, a)
    same_rows(
        rows(accelerator_view, bounds_of_the_variable_itself, 4, I32, a),
        {
            "a parameter": [last_below(int(x)) for x in a],
            "start and step": [doubled(2 * int(x) + 1, 12) for x in a],
            "stop": np.maximum(a, 0),
            "stop downwards": np.maximum(a, 0) + [sum(range(20, x, -3)) for x in last],
        },
    )
