"""Conditional expressions of tuples and indices, also where their sides call functions: one side is evaluated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import vkamp as amp


class Point(NamedTuple):
    x: float
    y: float


@amp.func
def following(state):
    state[0] += 1
    return state[0]


@amp.func
def ordered(a, b, state):
    return (a, following(state)) if a < b else (following(state) + following(state), 0.5)


@amp.kernel
def choices(i, out):
    k = i[0]
    state = amp.private(1, amp.int32)
    state[0] = 0
    x, y = (k, 3) if k < 3 else (following(state), k)
    out[k, 0] = x * 100 + y * 10 + state[0]
    u, v = ordered(x, y, state)
    out[k, 1] = u * 100 + v
    p, (q, r) = (x, (y, 1)) if k & 1 else (y, (x, 2))
    out[k, 2] = p * 100 + q * 10 + r
    p, (q, r) = (x, (following(state), 1)) if k & 1 else (y, (x, following(state)))
    out[k, 3] = p * 100 + q * 10 + r
    p, q = (1, 2) if k < 2 else (3, following(state)) if k < 4 else ((z := k), z)
    out[k, 4] = p * 10 + q
    w = Point(0.5, following(state) * 2.0) if k > 2 else Point(y=0.25, x=8.0)
    out[k, 5] = w.x * w.y + state[0]
    x, y = (y, x) if x < y else (x, y)
    out[k, 6] = x * 10 + y


def plain(k: int) -> list[float]:
    count, out = 0, []

    def following() -> int:
        nonlocal count
        count += 1
        return count

    x, y = (k, 3) if k < 3 else (following(), k)
    out.append(x * 100 + y * 10 + count)
    u, v = (x, following()) if x < y else (following() + following(), 0.5)
    out.append(u * 100 + v)
    p, (q, r) = (x, (y, 1)) if k & 1 else (y, (x, 2))
    out.append(p * 100 + q * 10 + r)
    p, (q, r) = (x, (following(), 1)) if k & 1 else (y, (x, following()))
    out.append(p * 100 + q * 10 + r)
    p, q = (1, 2) if k < 2 else (3, following()) if k < 4 else (k, k)
    out.append(p * 10 + q)
    w = Point(0.5, following() * 2.0) if k > 2 else Point(y=0.25, x=8.0)
    out.append(w.x * w.y + count)
    x, y = (y, x) if x < y else (x, y)
    return [*out, x * 10 + y]


def test_the_chosen_side_is_evaluated(accelerator_view: amp.accelerator_view) -> None:
    out = amp.array_view(np.zeros((6, 7), np.float32))
    amp.parallel_for_each(accelerator_view, amp.extent(6), choices, out)
    assert np.asarray(out).tolist() == [plain(k) for k in range(6)]


@amp.kernel
def of_indices(t, a, out):
    i = t if a[t] & 1 else t.tile_origin
    out[t] = a[i] + (i[0] if t.local[0] else 0)


def test_a_tiled_index_is_its_global_index(accelerator_view: amp.accelerator_view) -> None:
    a, out = amp.array_view(np.arange(6, dtype=np.int32)), amp.array_view(np.zeros(6, np.int32))
    amp.parallel_for_each(accelerator_view, a.extent.tile(3), of_indices, a, out)
    assert np.asarray(out).tolist() == [0, 2, 0, 3, 6, 10]
