"""Slices of tuples, arrays, containers and ranges, compared with numpy."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp


@amp.func
def total(values):
    return sum(values)


@amp.func
def doubled(values):
    for k in range(len(values)):
        values[k] *= 2


@amp.kernel
def of_private(idx, out):
    i = idx[0]
    a = amp.private(5, amp.int32)
    for k in range(5):
        a[k] = k * k + i
    first, second = a[1:3]
    out[0, i] = first * 100 + second
    n = 0
    for x in a[2:]:
        n = n * 3 + x
    out[1, i] = n
    out[2, i] = sum(a[:-2]) + 1000 * len(a[-3:])
    out[3, i] = total(a[i : i + 2]) + 100 * len(a[i : i + 2])
    rest = a[1:4]
    rest[0] = -1
    doubled(rest[1:])
    out[4, i] = a[1] * 100 + a[2] * 10 + a[3]
    out[5, i] = max(a[0:3][1:]) + len(a[3:100]) * 1000 + len(a[4:2]) * 7
    out[6, i] = len(a[3 - i :]) * 10 + len(a[: i - 1])


def expected_of_private(i):
    a = np.arange(5) ** 2 + i
    out = [a[1] * 100 + a[2]]
    n = 0
    for x in a[2:]:
        n = n * 3 + x
    out += [n, sum(a[:-2]) + 3000, sum(a[i : i + 2]) + 100 * len(a[i : i + 2])]
    a[1] = -1
    a[2:4] *= 2
    out += [a[1] * 100 + a[2] * 10 + a[3], max(a[0:3][1:]) + 2000]
    return [*out, len(a[3 - i :]) * 10 + len(a[: max(i - 1, 0)])]


def test_private_arrays(accelerator_view):
    out = amp.array_view(np.zeros((7, 4), np.int32))
    amp.parallel_for_each(accelerator_view, amp.extent(4), of_private, out)
    assert np.asarray(out).T.tolist() == [expected_of_private(i) for i in range(4)]
    assert amp.check(accelerator_view, amp.extent(4), of_private, out).ok


@amp.kernel
def of_containers(idx, row, matrix, out):
    i = idx[0]
    out[0, i] = sum(row[i : i + 3])
    out[1, i] = total(matrix[i, 1:3]) + 100 * total(matrix[i][1:])
    part = matrix[1:3]
    out[2, i] = part[i % 2, i] + 100 * len(part)
    out[3, i] = total(row[1:-1]) + 1000 * len(row[-3:])
    inner = matrix[1:, 2:]
    out[4, i] = inner[i % 2, 1] + 100 * inner.extent[0] + 1000 * inner.extent[1]
    out[5, i] = 0
    for one, other in zip(row[1:], row, strict=False):
        out[5, i] += one * other
    out[6, i] = len(row[9:]) + 10 * len(row[i:2])


def test_containers(accelerator_view):
    row = np.array([5, 3, 8, 1], np.int32)
    matrix = np.arange(16, dtype=np.int32).reshape(4, 4) ** 2
    out = amp.array_view(np.zeros((7, 4), np.int32))
    args = amp.array_view(row), amp.array_view(matrix), out
    amp.parallel_for_each(accelerator_view, amp.extent(4), of_containers, *args)
    for i, column in enumerate(np.asarray(out).T.tolist()):
        assert column == [
            sum(row[i : i + 3]),
            sum(matrix[i, 1:3]) + 100 * sum(matrix[i][1:]),
            matrix[1:3][i % 2, i] + 200,
            sum(row[1:-1]) + 3000,
            matrix[1:, 2:][i % 2, 1] + 300 + 2000,
            sum(row[1:] * row[:-1]),
            len(row[9:]) + 10 * len(row[i:2]),
        ]
    assert amp.check(accelerator_view, amp.extent(4), of_containers, *args).ok


@amp.kernel
def of_tile(t_idx, a, out):
    i = t_idx.local[0]
    values = amp.tile_static(8, amp.float32)
    values[i] = a[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    out[t_idx] = sum(values[: i + 1])


def test_arrays_of_a_tile(accelerator_view):
    a = np.arange(16, dtype=np.float32) + 1
    out = amp.array_view(np.zeros(16, np.float32))
    amp.parallel_for_each(accelerator_view, out.extent.tile(8), of_tile, amp.array_view(a), out)
    assert np.array_equal(np.asarray(out).reshape(2, 8), np.cumsum(a.reshape(2, 8), axis=1))
    assert amp.check(accelerator_view, out.extent.tile(8), of_tile, amp.array_view(a), out).ok


@amp.kernel
def of_ranges(idx, out):
    i = idx[0]
    out[0, i] = len(range(2, 9, 3)) * 10 + len(range(i, 3))
    n = 0
    for k in range(10)[2:8:2]:
        n = n * 10 + k
    out[1, i] = n
    out[2, i] = sum(range(1, 20, 3)[-3:]) + len(range(7)[1:])
    t = (3, 4, 5)
    for x in t[1:]:
        n += x
    out[3, i] = n
    out[4, i] = len(amp.static_range(5)) + len(range(0))


def test_ranges(accelerator_view):
    out = amp.array_view(np.zeros((5, 4), np.int32))
    amp.parallel_for_each(accelerator_view, amp.extent(4), of_ranges, out)
    for i, column in enumerate(np.asarray(out).T.tolist()):
        assert column == [30 + len(range(i, 3)), 246, sum(range(1, 20, 3)[-3:]) + 6, 255, 5]


@amp.kernel
def before_the_start(idx, a, out):
    i = idx[0]
    out[i] = sum(a[i - 1 : i + 1])


@pytest.mark.accelerators("drivers")
def test_negative_bounds_of_the_run_time_are_found(accelerator):
    a, out = amp.array_view(np.ones(4, np.int32)), amp.array_view(np.zeros(4, np.int32))
    (finding,) = amp.check(accelerator.default_view, out.extent, before_the_start, a, out).findings
    assert finding.kind == "bounds"
    assert finding.index == (-1,)
    assert [thread.global_ for thread in finding.threads] == [(0,)]


def test_plain_calls():
    assert total(np.arange(5)[1:3]) == 3
