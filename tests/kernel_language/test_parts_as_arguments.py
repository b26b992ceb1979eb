"""Parts of structs and arrays as arguments: they are read and written in place."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, same

ITEM = np.dtype([("n", I32), ("k", I32, (3,)), ("grid", F32, (2, 2)), ("v", amp.float2.dtype)])


@amp.func
def total(row):
    result = row[0] * 0
    for x in row:
        result += x
    return result


@amp.func
def doubled(row):
    for j in range(len(row)):
        row[j] *= 2


@amp.func
def of_both(row, scale):
    doubled(row)
    return total(row) * scale


@amp.func
def length(v: amp.float2):
    return v.x + 10 * v.y


@amp.kernel
def in_containers(i, items, out):
    k = i[0]
    doubled(items[k].k)
    doubled(items[k].grid[1])
    out[0, k] = total(items[k].k)
    out[1, k] = total(items[k].grid[0]) + total(items[k].grid[1])
    out[2, k] = length(items[k].v)
    out[3, k] = of_both(items[k].k, 0.5)


@amp.kernel
def in_own_memory(i, items, out):
    k = i[0]
    table = amp.private((3, 4), amp.float32)
    for r in range(3):
        for c in range(4):
            table[r, c] = r * 10 + c + k
    doubled(table[1])
    for r in range(3):
        out[r, k] = total(table[r])
    for row in table:
        doubled(row)
    many = amp.private(2, ITEM)
    for j in range(2):
        for c in range(3):
            many[j].k[c] = k + c
    doubled(many[k % 2].k)
    out[3, k] = total(many[0].k) + 1000 * total(many[1].k) + total(table[k % 3])


@amp.kernel
def in_tiles(t, items, out):
    rows = amp.tile_static((2, 4), amp.float32)
    j = t.local[0]
    rows[0, j] = j
    rows[1, j] = 10 * j
    t.barrier.wait()
    if j < 2:
        doubled(rows[j])
    t.barrier.wait()
    for r in range(2):
        out[r, j] = total(rows[r]) * (j + 1)
    out[2, j] = max(rows[j % 2])
    out[3, j] = sum(rows[1]) - sum(rows[0])


def _items() -> np.ndarray:
    items = np.zeros(4, ITEM)
    items["k"] = np.arange(12).reshape(4, 3) + 1
    items["grid"] = np.arange(16).reshape(4, 2, 2) * 0.5
    items["v"]["x"], items["v"]["y"] = [1, 2, 3, 4], [5, 6, 7, 8]
    return items


def _run(view: amp.accelerator_view, kernel, domain) -> tuple[np.ndarray, np.ndarray]:
    items, out = _items(), np.zeros((4, 4), F32)
    views = amp.array_view(items), amp.array_view(out)
    amp.parallel_for_each(view, domain, kernel, *views)
    for v in views:
        v.synchronize()
    return items, out


def test_in_containers(accelerator_view):
    items, out = _run(accelerator_view, in_containers, amp.extent(4))
    before = _items()
    same(items["k"], before["k"] * 4)
    same(items["grid"], before["grid"] * np.array([[1], [2]], F32))
    same(out[0], before["k"].sum(1) * 2)
    same(out[1], before["grid"][:, 0].sum(1) + before["grid"][:, 1].sum(1) * 2)
    same(out[2], before["v"]["x"] + 10 * before["v"]["y"])
    same(out[3], before["k"].sum(1) * 2)


def test_in_own_memory(accelerator_view):
    _, out = _run(accelerator_view, in_own_memory, amp.extent(4))
    for k in range(4):
        table = np.arange(3)[:, None] * 10 + np.arange(4) + k
        table[1] *= 2
        same(out[:3, k], table.sum(1))
        sums = [3 * k + 3, 3 * k + 3]
        sums[k % 2] *= 2
        assert out[3, k] == sums[0] + 1000 * sums[1] + 2 * table[k % 3].sum()


@pytest.mark.parametrize("lowering", ["threads", "loops"])
def test_in_tiles(accelerator_view, lowering: str):
    kernel = amp.kernel(lowering=lowering)(in_tiles.function)
    _, out = _run(accelerator_view, kernel, amp.extent(4).tile(4))
    same(out[0], 12 * np.arange(1, 5))
    same(out[1], 120 * np.arange(1, 5))
    same(out[2], [6, 60, 6, 60])
    same(out[3], [108] * 4)


@amp.struct
class Bag:
    n: amp.int32
    k: (amp.int32, 3)


@amp.kernel
def in_local_structs(i, bag, out):
    own = Bag(i[0])
    for c in range(3):
        own.k[c] = i[0] + c
    doubled(own.k)
    out[0, i[0]] = total(own.k) + own.n
    out[1, i[0]] = total(bag.k)
    out[2, i[0]] = sum(own.k) + max(bag.k)


def test_in_local_structs(accelerator_view):
    bag = Bag(7)
    bag.k[:] = [1, 2, 4]
    out = np.zeros((3, 4), I32)
    view = amp.array_view(out)
    amp.parallel_for_each(accelerator_view, amp.extent(4), in_local_structs, bag, view)
    view.synchronize()
    k = np.arange(4)
    same(out, [7 * k + 6, [7] * 4, 6 * k + 6 + 4])
