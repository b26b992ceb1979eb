"""Races that the compiler proves absent, finds, or leaves open, in whole tile programs."""

from __future__ import annotations

import linecache
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from vkamp.check.race_prover import run as prover
from vkamp.check.race_prover.report import RaceVerdicts
from vkamp.dispatch import preparing
from vkamp.dispatch.domain import domain_of
from vkamp.dispatch.preparing import prepare

F32, I32 = np.float32, np.int32


def floats(*shape: int) -> amp.array_view:
    return amp.array_view(np.zeros(shape, F32))


def whole(*shape: int) -> amp.array_view:
    return amp.array_view(np.zeros(shape, I32))


LINE, MATRIX = amp.extent(1536), amp.extent(48, 80)


def verdicts(kernel: Any, domain: Any, *args: Any) -> RaceVerdicts:
    """What the compiler knows of the kernel's races; nothing is warned of."""
    view = amp.accelerator("reference").default_view
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return prepare(view, domain_of(domain), kernel, args, {}).compiled.races


Program = tuple[Any, Any, tuple[Any, ...]]
PROVED: list[Program] = []
FOUND: list[tuple[Program, str, str]] = []
OPEN: list[tuple[Program, set[str]]] = []


def proved(domain: Any, *args: Any) -> Callable[[Any], Any]:
    """A kernel of which everything is proved."""

    def note(kernel: Any) -> Any:
        PROVED.append((amp.kernel(kernel), domain, args))
        return kernel

    return note


def found(what: str, line: str, domain: Any, *args: Any) -> Callable[[Any], Any]:
    """A kernel that is rejected: the beginning of the message, and the source at the caret."""

    def note(kernel: Any) -> Any:
        FOUND.append(((amp.kernel(kernel), domain, args), what, line))
        return kernel

    return note


def left_open(names: str, domain: Any, *args: Any) -> Callable[[Any], Any]:
    """A kernel for which the compiler does not know whether these race."""

    def note(kernel: Any) -> Any:
        OPEN.append(((amp.kernel(kernel), domain, args), set(names.split())))
        return kernel

    return note


# -- proved --------------------------------------------------------------------------------------------------------


@proved(MATRIX.tile(16, 16), floats(48, 80), floats(3, 5))
def tile_average(t_idx, matrix, averages):
    values = amp.tile_static(t_idx.tile_extent, amp.float32)
    values[t_idx.local] = matrix[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if t_idx.local == (0, 0):
        total = 0.0
        for row in range(t_idx.tile_dim0):
            for col in range(t_idx.tile_dim1):
                total += values[row, col]
        averages[t_idx.tile] = total / (t_idx.tile_dim0 * t_idx.tile_dim1)


@proved(MATRIX.tile(16, 16), floats(48, 64), floats(64, 80), floats(48, 80))
def product(t_idx, a, b, c):
    left = amp.tile_static((16, 16), amp.float32)
    right = amp.tile_static((16, 16), amp.float32)
    row, col = t_idx.local[0], t_idx.local[1]
    total = 0.0
    for i in range(0, a.extent[1], 16):
        left[row, col] = a[t_idx.global_[0], i + col]
        right[row, col] = b[i + row, t_idx.global_[1]]
        t_idx.barrier.wait()
        for k in range(16):
            total += left[row, k] * right[k, col]
        t_idx.barrier.wait()
    c[t_idx] = total


@proved(MATRIX.tile(16, 16), floats(48, 80), floats(80, 48))
def transpose(t_idx, a, out):
    values = amp.tile_static((16, 17), amp.float32)
    values[t_idx.local] = a[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    row, col = t_idx.tile_origin[1] + t_idx.local[0], t_idx.tile_origin[0] + t_idx.local[1]
    out[row, col] = values[t_idx.local[1], t_idx.local[0]]


@proved(LINE.tile(96), floats(1536), floats(16))
def tree(t_idx, a, sums):
    values = amp.tile_static(96, amp.float32)
    i = t_idx.local[0]
    values[i] = a[t_idx]
    t_idx.barrier.wait()
    count = 96
    while count > 1:
        half = (count + 1) // 2
        if i + half < count:
            values[i] += values[i + half]
        t_idx.barrier.wait()
        count = half
    if i == 0:
        sums[t_idx.tile] = values[0]


@proved(LINE.tile(128), floats(1536), floats(1536))
def scan(t_idx, a, out):
    values = amp.tile_static((2, 128), amp.float32)
    i = t_idx.local[0]
    values[0, i] = a[t_idx]
    t_idx.barrier.wait()
    here, distance = 0, 1
    while distance < 128:
        there = 1 - here
        values[there, i] = values[here, i] + (values[here, i - distance] if i >= distance else 0.0)
        t_idx.barrier.wait()
        here = there
        distance *= 2
    out[t_idx] = values[here, i]


@proved(MATRIX.tile(8, 16), floats(48, 80), floats(48, 80))
def halo(t_idx, a, out):
    cells = amp.tile_static((10, 18), amp.float32)
    row, col = t_idx.local[0], t_idx.local[1]
    y, x = t_idx.global_[0], t_idx.global_[1]
    cells[row + 1, col + 1] = a[t_idx]
    if row == 0:
        cells[0, col + 1] = a[y - 1, x] if y > 0 else 0.0
    if row == 7:
        cells[9, col + 1] = a[y + 1, x] if y + 1 < a.extent[0] else 0.0
    if col == 0:
        cells[row + 1, 0] = a[y, x - 1] if x > 0 else 0.0
    if col == 15:
        cells[row + 1, 17] = a[y, x + 1] if x + 1 < a.extent[1] else 0.0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    out[t_idx] = cells[row, col + 1] + cells[row + 2, col + 1] + cells[row + 1, col] + cells[row + 1, col + 2]


@proved(LINE.tile(128), whole(1536))
def bitonic(t_idx, a):
    keys = amp.tile_static(128, amp.int32)
    i = t_idx.local[0]
    keys[i] = a[t_idx]
    t_idx.barrier.wait()
    size = 2
    while size <= 128:
        stride = size // 2
        while stride > 0:
            other = i ^ stride
            if other > i:
                low, high = keys[i], keys[other]
                if (low > high) == (i & size == 0):
                    keys[i] = high
                    keys[other] = low
            t_idx.barrier.wait()
            stride //= 2
        size *= 2
    a[t_idx] = keys[i]


@proved(LINE.tile(64), whole(1536), whole(20))
def histogram(t_idx, a, counts):
    bins = amp.tile_static(20, amp.int32)
    i = t_idx.local[0]
    if i < 20:
        bins[i] = 0
    t_idx.barrier.wait()
    amp.atomic_fetch_add(bins[a[t_idx] % 20], 1)
    t_idx.barrier.wait()
    if i < 20:
        amp.atomic_fetch_add(counts[i], bins[i])


@amp.func
def put(values, i, x):
    values[i] = x


@amp.func
def sum_of(t_idx, values):
    stride = 32
    while stride > 0:
        if t_idx.local[0] < stride:
            values[t_idx.local] += values[t_idx.local[0] + stride]
        t_idx.barrier.wait()
        stride //= 2
    return values[0]


@proved(LINE.tile(64), floats(1536), floats(1536))
def functions(t_idx, a, out):
    values = amp.tile_static(64, amp.float32)
    put(values, t_idx.local[0], a[t_idx])
    t_idx.barrier.wait()
    out[t_idx] = a[t_idx] - sum_of(t_idx, values)


@proved(LINE.tile(64).pad(), floats(1500), floats(1500))
def padded(t_idx, a, out):
    values = amp.tile_static(64, amp.float32)
    i, here = t_idx.local[0], t_idx.global_[0]
    values[i] = a[here] if here < a.extent[0] else 0.0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if here < a.extent[0]:
        out[here] = values[63 - i]


@proved(LINE.tile(48), whole(1536), whole(1536))
def histograms_of_threads(t_idx, a, out):
    """What a thread counts, it counts in a row of its own."""
    bins = amp.tile_static((48, 4), amp.int32)
    for k in range(4):
        bins[t_idx.local[0], k] = 0
    for k in range(a.extent[0]):
        bins[t_idx.local[0], a[k] & 3] += 1
    out[t_idx] = bins[t_idx.local[0], 1]


@proved(LINE.tile(64), floats(1536), floats(1536), 3)
def rounds(t_idx, a, out, n):
    values = amp.tile_static(64, amp.float32)
    i = t_idx.local[0]
    values[i] = a[t_idx]
    for _ in range(n):
        t_idx.barrier.wait()
        left = values[(i + 63) % 64]
        t_idx.barrier.wait()
        values[i] = left
    out[t_idx] = values[i]


@proved(amp.extent(2048).tile(1024), floats(2048), floats(2048))
def long_loops(t_idx, a, out):
    values = amp.tile_static(1024, amp.float32)
    for k in range(1000):
        for m in range(1000):
            values[t_idx.local] = a[t_idx] + k * m
            t_idx.barrier.wait()
            out[t_idx] = values[1023 - t_idx.local[0]]
            t_idx.barrier.wait()


@proved(LINE, floats(1536), floats(1536))
def untiled(i, a, out):
    out[i] = 2.0 * out[i] + a[i]


@proved(LINE.tile(64), whole(1536), whole(1536 * 2))
def several_each(t_idx, a, out):
    for k in range(2):
        out[t_idx.tile[0] * 128 + k * 64 + t_idx.local[0]] = a[t_idx]


@proved(LINE.tile(32), whole(1536), whole(48))
def only_atomics(t_idx, a, counts):
    amp.atomic_fetch_add(counts[a[t_idx] % 48], 1)


POINT = np.dtype([("x", F32), ("y", F32, (2,))])
GRID = np.dtype([("cells", F32, (2, 3)), ("mass", F32)])
PRECISE = np.dtype([("mass", np.float64), ("spin", amp.double2)])
BODY = np.dtype([("mass", F32), ("spins", amp.float2, (2,))])


@proved(LINE.tile(32), floats(1536), floats(1536))
def members(t_idx, a, out):
    """Threads may write different members of one struct."""
    points = amp.tile_static(16, POINT)
    i = t_idx.local[0]
    if i < 16:
        points[i].x = a[t_idx]
        points[i].y[0] = 1.0
    else:
        points[i - 16].y[1] = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = points[i % 16].x + points[i // 2].y[1]


@proved(LINE.tile(32), floats(1536), floats(1536), 3)
def opposite_conditions(t_idx, a, out, n):
    one = amp.tile_static(32, amp.float32)
    two = amp.tile_static(32, amp.float32)
    three = amp.tile_static(32, amp.float32)
    i = t_idx.local[0]
    if n < 3:
        one[i] = a[t_idx]
    if n > 5:
        two[i] = a[t_idx]
    if n == 7:
        three[i] = a[t_idx]
    if n >= 3:
        out[t_idx] = one[31 - i]
    if n <= 5:
        out[t_idx] = two[31 - i]
    if n != 7:
        out[t_idx] = three[31 - i]


@proved(LINE.tile(64), floats(1536), floats(1536))
def low_bits_of_a_global_index(t_idx, a, out):
    values = amp.tile_static(64, amp.float32)
    values[t_idx.global_[0] & 63] = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = values[63 - t_idx.local[0]]


@proved(LINE.tile(64), floats(1536), floats(1536), 1)
def letters_of_vectors(t_idx, a, out, n):
    bodies = amp.tile_static(64, BODY)
    i = t_idx.local[0]
    if i % 2 == 0:
        bodies[i // 2].spins[1].x = a[t_idx]
        bodies[i // 2].spins[n].x += 1.0
        bodies[i // 2].mass = 0.0
    else:
        bodies[i // 2].spins[1].y = a[t_idx]
        bodies[i // 2].spins[n].y += 1.0
    t_idx.barrier.wait()
    out[t_idx] = bodies[63 - i].spins[n].x


@proved(LINE.tile(64), floats(1536), floats(1536))
def letters_of_doubles(t_idx, a, out):
    bodies = amp.tile_static(32, PRECISE)
    i = t_idx.local[0]
    if i < 32:
        bodies[i].mass = a[t_idx]
        bodies[i].spin.y = a[t_idx]
    else:
        bodies[i - 32].spin.x = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = amp.float32(bodies[i // 2].spin.x)


@proved(LINE.tile(64), floats(1536), floats(1536), 1)
def rows_of_members(t_idx, a, out, n):
    grids = amp.tile_static(32, GRID)
    i = t_idx.local[0]
    if i < 32:
        grids[i].cells[0, n] = a[t_idx]
        grids[i].cells[1, 1] = a[t_idx]
    else:
        grids[i - 32].cells[1, 2] = a[t_idx]
        grids[i - 32].cells[1, 0] = a[t_idx]
        grids[i - 32].mass = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = grids[i // 2].cells[n, n]


@proved(LINE.tile(64), whole(1536), whole(1536))
def own_elements_as_often_as_a_container_says(t_idx, a, out):
    values = amp.tile_static(64, amp.int32)
    i = t_idx.local[0]
    values[i] = 0
    for k in range(a[t_idx]):
        values[(k * 64 + i) % 64] += k
    t_idx.barrier.wait()
    out[t_idx] = values[63 - i]


@proved(LINE.tile(64), floats(1536), floats(1536))
def what_global_indices_are(t_idx, a, out):
    """Conditions that only one thread of a tile meets, or all, or none."""
    values = amp.tile_static(64, amp.float32)
    first = t_idx.global_[0] == t_idx.tile_origin[0]
    if first:
        values[0] = a[t_idx]
    if t_idx.tile_origin[0] + 64 != t_idx.global_[0] + 1 and not first:
        values[t_idx.local] = a[t_idx]
    if t_idx.global_[0] - t_idx.local[0] + 63 == t_idx.global_[0]:
        values[63] = a[t_idx]
    if t_idx.global_[0] < 0:
        values[5] = 0.0
    t_idx.barrier.wait()
    if t_idx.global_[0] >= 0:
        out[t_idx] = values[63 - t_idx.local[0]]
    else:
        values[6] = 0.0


@proved(LINE.tile(64), floats(1536), floats(1536))
def negative_index(t_idx, a, out):
    values = amp.tile_static(64, amp.float32)
    i = t_idx.local[0]
    values[63 + -i] = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = values[i] + values[~i + 64]


@proved(LINE.tile(32), floats(1536))
def one_of_two_conditions(t_idx, a):
    values = amp.tile_static(32, amp.float32)
    if (t_idx.local[0] < 16) ^ (t_idx.local[0] < 8):
        values[t_idx.local[0] % 8] = a[t_idx]
    t_idx.barrier.wait()
    a[t_idx] = values[t_idx.local[0] % 8]


# -- found ---------------------------------------------------------------------------------------------------------


@found("VKA630: `values[0, 1]` is read here by thread (0, 0) and written by thread (0, 1)", "values[row, col]",
       MATRIX.tile(4, 8), floats(48, 80), floats(12, 10))  # fmt: skip
def no_barrier(t_idx, matrix, averages):
    values = amp.tile_static(t_idx.tile_extent, amp.float32)
    values[t_idx.local] = matrix[t_idx]
    if t_idx.local == (0, 0):
        total = 0.0
        for row in range(t_idx.tile_dim0):
            for col in range(t_idx.tile_dim1):
                total += values[row, col]
        averages[t_idx.tile] = total


@found("VKA630: `left[0, 0]` is written here by thread (0, 0) in the next iteration and read by thread (0, 1)",
       "left[row, col]", MATRIX.tile(16, 16), floats(48, 64), floats(48, 80))  # fmt: skip
def no_second_barrier(t_idx, a, out):
    left = amp.tile_static((16, 16), amp.float32)
    row, col = t_idx.local[0], t_idx.local[1]
    total = 0.0
    for i in range(0, a.extent[1], 16):
        left[row, col] = a[t_idx.global_[0], i + col]
        t_idx.barrier.wait()
        for k in range(16):
            total += left[row, (k + col) % 16]
    out[t_idx] = total


@found("VKA631: `values[0]` is written here by the threads (0) and (1) without synchronization",
       "values[t_idx.local[0] // 2]",LINE.tile(64), floats(1536), floats(1536))  # fmt: skip
def overlapping_writes(t_idx, a, out):
    values = amp.tile_static(32, amp.float32)
    values[t_idx.local[0] // 2] = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = values[t_idx.local[0] // 2]


@found("VKA631: `values[7]` is written here by the threads (7) and (15) without synchronization",
       "values[t_idx.local[0] % 8]",LINE.tile(32), floats(1536))  # fmt: skip
def one_of_two_other_conditions(t_idx, a):
    values = amp.tile_static(32, amp.float32)
    if (t_idx.local[0] < 16) ^ (t_idx.local[0] < 7):
        values[t_idx.local[0] % 8] = a[t_idx]
    t_idx.barrier.wait()
    a[t_idx] = values[t_idx.local[0] % 8]


@found("VKA630: `values[0, 1]` is read here by thread (0, 1) and written by thread (1, 0)", "values[t_idx.local]",
       MATRIX.tile(8, 16), floats(48, 80), floats(48, 80))  # fmt: skip
def transposed_index(t_idx, a, out):
    values = amp.tile_static((16, 16), amp.float32)
    values[t_idx.local[1], t_idx.local[0]] = a[t_idx]
    t_idx.barrier.wait_with_global_memory_fence()
    out[t_idx] = values[t_idx.local]


@found("VKA630: `values[32]` is written here by thread (32) and read by thread (0)", "values[i]",
       LINE.tile(64), floats(1536), floats(24))  # fmt: skip
def wrong_guard(t_idx, a, sums):
    values = amp.tile_static(65, amp.float32)
    i = t_idx.local[0]
    values[i] = a[t_idx]
    if i == 0:
        values[64] = 0.0
    t_idx.barrier.wait()
    stride = 32
    while stride > 0:
        if i <= stride:
            values[i] += values[i + stride]
        t_idx.barrier.wait()
        stride //= 2
    if i == 0:
        sums[t_idx.tile] = values[0]


@found("VKA630: `values[1]` is written here by thread (1) and read by thread (2)", "values[i]",
       LINE.tile(64), floats(1536), floats(1536))  # fmt: skip
def scan_in_place(t_idx, a, out):
    values = amp.tile_static(64, amp.float32)
    i = t_idx.local[0]
    values[i] = a[t_idx]
    t_idx.barrier.wait()
    distance = 1
    while distance < 64:
        if i >= distance:
            values[i] += values[i - distance]
        t_idx.barrier.wait()
        distance *= 2
    out[t_idx] = values[i]


@found("VKA630: `keys[1]` is read here by thread (1) in the next iteration and written by thread (0)", "keys[i]",
       LINE.tile(64), whole(1536))  # fmt: skip
def sort_without_barrier(t_idx, a):
    keys = amp.tile_static(64, amp.int32)
    i = t_idx.local[0]
    keys[i] = a[t_idx]
    t_idx.barrier.wait()
    size = 2
    while size <= 64:
        stride = size // 2
        while stride > 0:
            other = i ^ stride
            if other > i:
                low, high = keys[i], keys[other]
                if (low > high) == (i & size == 0):
                    keys[i] = high
                    keys[other] = low
            stride //= 2
        size *= 2
    t_idx.barrier.wait()
    a[t_idx] = keys[i]


@found("VKA631: `bins[0]` is written here by the threads (0) and (60) without synchronization", "bins[i % 20]",
       LINE.tile(64), whole(1536), whole(1536))  # fmt: skip
def plain_histogram(t_idx, a, out):
    bins = amp.tile_static(20, amp.int32)
    i = t_idx.local[0]
    if i < 20:
        bins[i] = 0
    t_idx.barrier.wait()
    bins[i % 20] += a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = bins[i % 20]


@found("VKA630: `values[32]` is read here by thread (0) and written by thread (32)",
       "values[t_idx.local[0] + stride]", LINE.tile(64), floats(1536), floats(1536))  # fmt: skip
def in_functions(t_idx, a, out):
    values = amp.tile_static(64, amp.float32)
    put(values, t_idx.local[0], a[t_idx])
    out[t_idx] = sum_of(t_idx, values)


@found("VKA630: `points[63]` is read here by thread (0) and written by thread (63)", "points[(i + 63) % 64].y[1]",
       LINE.tile(64), floats(1536), floats(1536))  # fmt: skip
def member_of_struct(t_idx, a, out):
    points = amp.tile_static(64, POINT)
    i = t_idx.local[0]
    points[i].x = a[t_idx]
    points[i].y[1] = a[t_idx]
    out[t_idx] = points[(i + 63) % 64].y[1]


@found("VKA630: an element of `a` is written here by thread (0) and read by thread (31)", "a[t_idx]",
       LINE.tile(32), floats(1536))  # fmt: skip
def container_of_tile(t_idx, a):
    value = a[t_idx.tile_origin + (31 - t_idx.local[0])]
    a[t_idx] = value


@found("VKA630: `values[0]` is written here by thread (0) and read by thread (31)", "values[t_idx.local]",
       LINE.tile(32), floats(1536), floats(1536), 3)  # fmt: skip
def under_one_condition(t_idx, a, out, n):
    values = amp.tile_static(32, amp.float32)
    if n > 3:
        out[t_idx] = values[31 - t_idx.local[0]]
    if n > 3:
        values[t_idx.local] = a[t_idx]


@found("VKA630: `values[1]` is read here by thread (0) and written by thread (1)",
       "values[(t_idx.local[0] + 1) % 32]", LINE.tile(32), floats(1536), floats(1536), 3)  # fmt: skip
def behind_a_loop(t_idx, a, out, n):
    values = amp.tile_static(32, amp.float32)
    values[t_idx.local] = 0.0
    for _ in range(n):
        t_idx.barrier.wait()
        values[t_idx.local] = a[t_idx]
    out[t_idx] = values[(t_idx.local[0] + 1) % 32]


@found("VKA630: `values[1]` is read here by thread (0) and written by thread (1)",
       "values[(t_idx.local[0] + 1) % 32]", LINE.tile(32), floats(1536), floats(1536), 3)  # fmt: skip
def behind_a_loop_of_writes(t_idx, a, out, n):
    values = amp.tile_static(32, amp.float32)
    for _ in range(n):
        t_idx.barrier.wait()
        values[t_idx.local] = a[t_idx]
    out[t_idx] = values[(t_idx.local[0] + 1) % 32]


@found("VKA630: `grids[63]` is read here by thread (0) and written by thread (63)", "grids[63 - i].mass",
       LINE.tile(64), whole(1536), floats(1536))  # fmt: skip
def whole_struct(t_idx, a, out):
    grids = amp.tile_static(64, GRID)
    i = t_idx.local[0]
    grids[i].cells[0, 0] = 1.0
    grids[i] = grids[i]
    out[t_idx] = grids[63 - i].mass


@found("VKA630: `bodies[63]` is read here by thread (0) and written by thread (63)", "bodies[63 - i].spins[1].y",
       LINE.tile(64), floats(1536), floats(1536))  # fmt: skip
def whole_vector(t_idx, a, out):
    bodies = amp.tile_static(64, BODY)
    i = t_idx.local[0]
    bodies[i].spins[1] = amp.float2(a[t_idx])
    out[t_idx] = bodies[63 - i].spins[1].y


@found("VKA630: `values[16]` is read here by thread (16) and written by thread (15)", "values[t_idx.local]",
       LINE.tile(32), floats(1536))  # fmt: skip
def written_on_the_way_out(t_idx, a):
    """Of a loop that only `break` ends, each thread's own."""
    values = amp.tile_static(32, amp.float32)
    i, k = t_idx.local[0], 0
    while True:
        k += 1
        if i < 16 or a[t_idx] > k:
            values[31 - i] = a[t_idx]
            break
    a[t_idx] = values[t_idx.local]


@found("VKA630: `values[31]` is written here by thread (0) and read by thread (31)", "values[31 - i]",
       LINE.tile(32), floats(1536))  # fmt: skip
def written_under_a_condition_that_reads(t_idx, a):
    values = amp.tile_static(32, amp.float32)
    i = t_idx.local[0]
    values[i] = a[t_idx]
    t_idx.barrier.wait()
    if values[i] > 0 or i < 32:
        values[31 - i] = 1.0
    a[t_idx] = i


@found("VKA630: an element of `out` is written here by thread (0) and by thread (21)",
       "out[(t_idx.tile[0] * 32 + (21 - i)) * 1000003]", LINE.tile(32), floats(1536))  # fmt: skip
def far_apart(t_idx, out):
    """Elements that no table of all between them holds."""
    i = t_idx.local[0]
    out[(t_idx.tile[0] * 32 + i) * 1000003] = 1.0
    out[(t_idx.tile[0] * 32 + (21 - i)) * 1000003] = 2.0


@found("VKA630: an element of `out` is written here by thread (0) and by thread (21)", "out[k, k, k]",
       LINE.tile(32), floats(4, 4, 4))  # fmt: skip
def far_apart_in_three_dimensions(t_idx, out):
    j = (t_idx.tile[0] * 32 + t_idx.local[0]) * 1000003
    out[j, j, j] = 1.0
    k = (t_idx.tile[0] * 32 + (21 - t_idx.local[0])) * 1000003
    out[k, k, k] = 2.0


@found("VKA630: `cube[", "cube[(21 - i) % 32, i % 2 * 0, i // 40]", LINE.tile(32), floats(1536))
def in_three_dimensions(t_idx, out):
    cube = amp.tile_static((32, 16, 16), amp.float32)
    i = t_idx.local[0]
    cube[i, 0, 0] = 1.0
    cube[(21 - i) % 32, i % 2 * 0, i // 40] = 2.0
    t_idx.barrier.wait()
    out[t_idx] = cube[i, 0, 0]


# -- left open -----------------------------------------------------------------------------------------------------


@left_open("values", LINE.tile(32), floats(1536), 3)
def indices_that_meet_in_later_iterations(t_idx, a, n):
    values = amp.tile_static(32, amp.float32)
    place = t_idx.local[0]
    for _ in range(n):
        values[place] = a[t_idx]
        t_idx.barrier.wait()
        a[t_idx] = values[t_idx.local[0]]
        t_idx.barrier.wait()
        place = place // 2


@left_open("values", LINE.tile(32), floats(1536))
def out_of_a_loop_by_three_ways(t_idx, a):
    """Threads 0 and 1 leave by the first or the last one, as the data say."""
    values = amp.tile_static(32, amp.float32)
    i = t_idx.local[0]
    place = i
    for _ in range(3):
        if i < 2 and a[t_idx] > 0:
            place = 5 + i
            break
        if i > 20:
            place = i
            break
    values[place] = a[t_idx]


@left_open("values", LINE.tile(32), floats(1536))
def on_to_the_next_iteration_by_three_ways(t_idx, a):
    values = amp.tile_static(32, amp.float32)
    i = t_idx.local[0]
    place = i
    for _ in range(2):
        if i < 2 and a[t_idx] > 0:
            place = 5 + i
            continue
        if i > 20:
            place = i
            continue
        place = i
    values[place] = a[t_idx]


@amp.func
def place_by_three_ways(i, value):
    if i < 2 and value > 0:
        return 5 + i
    if i > 20:
        return i
    return i + 0


@left_open("values", LINE.tile(32), floats(1536))
def out_of_a_function_by_three_ways(t_idx, a):
    values = amp.tile_static(32, amp.float32)
    values[place_by_three_ways(t_idx.local[0], a[t_idx])] = a[t_idx]


@found("VKA631: `values[5]` is written here by the threads (0) and (5) without synchronization", "values[place]",
       LINE.tile(32), floats(1536))  # fmt: skip
def out_of_a_loop_by_three_certain_ways(t_idx, a):
    values = amp.tile_static(32, amp.float32)
    i = t_idx.local[0]
    place = i
    for _ in range(3):
        if i < 2:
            place = 5 + i
            break
        if i > 20:
            place = i
            break
    values[place] = a[t_idx]


@left_open("values", LINE.tile(32), floats(1536), 3)
def a_barrier_unless_the_loop_ends_before(t_idx, a, n):
    values = amp.tile_static(32, amp.float32)
    values[t_idx.local] = a[t_idx]
    for k in range(3):
        if n > k:
            break
        t_idx.barrier.wait()
    a[t_idx] = values[31 - t_idx.local[0]]


@left_open("values", LINE.tile(32), floats(1536), 3)
def a_barrier_if_the_loop_ends_early(t_idx, a, n):
    values = amp.tile_static(32, amp.float32)
    values[t_idx.local] = a[t_idx]
    for k in range(3):
        if n > k:
            t_idx.barrier.wait()
            break
    a[t_idx] = values[31 - t_idx.local[0]]


@left_open("values", LINE.tile(32), floats(1536), floats(1536), 3)
def under_two_conditions(t_idx, a, out, n):
    values = amp.tile_static(32, amp.float32)
    if n > 3:
        out[t_idx] = values[31 - t_idx.local[0]]
    if n < 7:
        values[t_idx.local] = a[t_idx]


@left_open("", LINE.tile(64), whole(1536))
def atomics_and_reads(t_idx, a):
    values = amp.tile_static(1, amp.int32)
    amp.atomic_fetch_add(values[0], 1)
    a[t_idx] = values[0]


@left_open("", LINE.tile(32), floats(1536), floats(1536), 3)
def under_opposite_conditions(t_idx, a, out, n):
    values = amp.tile_static(32, amp.float32)
    if n > 3:
        out[t_idx] = values[31 - t_idx.local[0]]
    if n <= 3:
        values[t_idx.local] = a[t_idx]


@left_open("values", LINE.tile(32), floats(1536), floats(1536), 3)
def barrier_under_a_condition(t_idx, a, out, n):
    values = amp.tile_static(32, amp.float32)
    values[t_idx.local] = a[t_idx]
    if n > 3:
        t_idx.barrier.wait()
    out[t_idx] = values[31 - t_idx.local[0]]


@left_open("values", LINE.tile(32), floats(1536), floats(1536), 3)
def at_an_unknown_distance(t_idx, a, out, n):
    values = amp.tile_static(32, amp.float32)
    values[t_idx.local] = a[t_idx]
    out[t_idx] = values[(t_idx.local[0] + n) % 32]


@left_open("values", LINE.tile(64), floats(1536), floats(1536))
def some_bits_of_a_global_index(t_idx, a, out):
    values = amp.tile_static(64, amp.float32)
    values[t_idx.global_[0] & 62] = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = values[63 - t_idx.local[0]]


@left_open("values", LINE.tile(64), floats(1536), floats(1536))
def floats_as_integers(t_idx, a, out):
    values = amp.tile_static(64, amp.float32)
    values.reinterpret_as(amp.int32)[t_idx.local[0]] = 1
    t_idx.barrier.wait()
    out[t_idx] = values[t_idx.local]


@left_open("grids", LINE.tile(64), floats(1536), floats(1536), 1)
def a_row_of_a_member(t_idx, a, out, n):
    grids = amp.tile_static(32, GRID)
    i = t_idx.local[0]
    if i < 32:
        grids[i].cells[n, 2] = a[t_idx]
    else:
        grids[i - 32].cells[1, 2] = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = grids[i // 2].cells[n, n]


@left_open("bodies", LINE.tile(64), floats(1536), floats(1536), 1)
def a_letter_of_some_vector(t_idx, a, out, n):
    """The vector may be the other one, too."""
    bodies = amp.tile_static(64, BODY)
    i = t_idx.local[0]
    bodies[i].spins[n].x = a[t_idx]
    out[t_idx] = bodies[63 - i].spins[1].x


@left_open("values", LINE.tile(64), floats(1536), floats(1536), 3)
def condition_in_two_parts(t_idx, a, out, n):
    values = amp.tile_static(64, amp.float32)
    if n > 3 and t_idx.local[0] < 32:
        values[0] = a[t_idx]
    else:
        values[t_idx.local[0] + 1] = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = values[t_idx.local]


@left_open("values", LINE.tile(32), floats(1536), floats(1536))
def told_by_a_container(t_idx, a, out):
    values = amp.tile_static(32, amp.float32)
    if a[t_idx] > 0.0:
        values[t_idx.local] = a[t_idx]
    out[t_idx] = values[31 - t_idx.local[0]]


@left_open("values", LINE.tile(32), floats(1536), floats(1536))
def places_told_by_a_container(t_idx, a, out):
    """Each thread leaves the loop when its own element says so."""
    values = amp.tile_static(35, amp.float32)
    place = t_idx.local[0]
    for _ in range(3):
        if a[t_idx] > place:
            break
        place += 1
    values[place] = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = values[t_idx.local]


@left_open("values", LINE.tile(32), floats(1536), floats(1536))
def steps_told_by_a_container(t_idx, a, out):
    """Each thread leaves out the steps that its own element says."""
    values = amp.tile_static(35, amp.float32)
    place = t_idx.local[0]
    for _ in range(3):
        if a[t_idx] > place:
            continue
        place += 1
    values[place] = a[t_idx]
    t_idx.barrier.wait()
    out[t_idx] = values[t_idx.local]


@left_open("values", LINE.tile(32), floats(1536), floats(1536))
def fence_and_barrier_apart(t_idx, a, out):
    values = amp.tile_static(32, amp.float32)
    values[t_idx.local] = a[t_idx]
    amp.tile_static_memory_fence(t_idx.barrier)
    t_idx.barrier.wait_with_global_memory_fence()
    amp.tile_static_memory_fence(t_idx.barrier)
    out[t_idx] = values[31 - t_idx.local[0]]


@left_open("out", LINE.tile(32), floats(1536), floats(1536))
def between_tiles(t_idx, a, out):
    out[t_idx.local] = a[t_idx]


@left_open("out", LINE.tile(32), floats(1536), floats(1536), 3)
def between_tiles_in_different_iterations(t_idx, a, out, n):
    for k in range(n):
        out[t_idx.global_[0] + k // 2 * 32] = a[t_idx]
        t_idx.barrier.wait_with_global_memory_fence()


@proved(LINE.tile(32), floats(1536), floats(1536), 3)
def between_tiles_at_one_distance(t_idx, a, out, n):
    for _ in range(n):
        out[t_idx.global_[0] + n // 2 * 32] = a[t_idx]
        t_idx.barrier.wait_with_global_memory_fence()


@left_open("out", LINE.tile(32), floats(1536), floats(1536))
def between_every_second_tile_and_the_next(t_idx, a, out):
    out[t_idx.global_[0] - t_idx.tile[0] // 2 * 32] = a[t_idx]


@left_open("b", LINE.tile(32), *[floats(1536)] * 2)
def one_memory(t_idx, a, b):
    b[t_idx] = a[t_idx.tile_origin]


def name_of(item: Any) -> str:
    return getattr(item, "__name__", "")


@pytest.mark.parametrize("program", PROVED, ids=lambda p: p[0].__name__)
def test_proved(program: Program) -> None:
    kernel, domain, args = program
    result = verdicts(kernel, domain, *args)
    assert result.unknown == frozenset()
    assert result.proved


@pytest.mark.parametrize(("program", "what", "source"), FOUND, ids=[f[0][0].__name__ for f in FOUND])
def test_found(program: Program, what: str, source: str) -> None:
    kernel, domain, args = program
    with pytest.raises(amp.CompileError) as caught:
        verdicts(kernel, domain, *args)
    assert str(caught.value).startswith(what)
    span = caught.value.span
    assert span is not None
    assert linecache.getline(span.file, span.line)[span.column : span.end_column] == source


@pytest.mark.parametrize(("program", "names"), OPEN, ids=[o[0][0].__name__ for o in OPEN])
def test_left_open(program: Program, names: set[str]) -> None:
    kernel, domain, args = program
    assert verdicts(kernel, domain, *args).unknown == names


def test_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is an end to the work; what then is open counts as unknown, refused or not."""
    monkeypatch.setattr(prover, "LIMIT", 5)
    monkeypatch.setattr(preparing, "_cache", OrderedDict())
    for kernel, domain, args in (PROVED[0], FOUND[0][0]):
        assert verdicts(kernel, domain, *args).unknown == {"values", "averages"}


# -- barriers that order nothing -----------------------------------------------------------------------------------


@amp.kernel
def barriers_with_use(t_idx, a, n):
    values = amp.tile_static(32, amp.float32)
    for _ in range(n):
        values[t_idx.local] = a[t_idx]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        a[t_idx] = values[31 - t_idx.local[0]]
        t_idx.barrier.wait_with_tile_static_memory_fence()
    if n > 3:
        t_idx.barrier.wait()
    a[t_idx] += values[0]


@amp.kernel
def barrier_before_all(t_idx, a, n):
    t_idx.barrier.wait()
    a[t_idx] *= 2.0


@amp.kernel
def barrier_of_other_memory(t_idx, a, n):
    a[t_idx] *= 2.0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    a[t_idx] *= 2.0


@amp.kernel
def half_of_a_wait(t_idx, a, n):
    a[t_idx] *= 2.0
    amp.global_memory_fence(t_idx.barrier)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    amp.global_memory_fence(t_idx.barrier)
    a[t_idx] *= 2.0


@amp.kernel
def barrier_in_vain_in_one_iteration(t_idx, a, n):
    for _ in range(n):
        t_idx.barrier.wait_with_global_memory_fence()
        a[t_idx] *= 2.0


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        (barriers_with_use, []),
        (barrier_before_all, ["tile_static or global memory before it"]),
        (barrier_of_other_memory, ["tile_static memory before it"]),
        (half_of_a_wait, []),
        (barrier_in_vain_in_one_iteration, []),
    ],
    ids=name_of,
)
def test_barriers_that_order_nothing(kernel: Any, told: list[str]) -> None:
    a = floats(96)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel.inspect(a.extent.tile(32), a, 3)
    assert [w.category for w in caught] == [amp.BarrierWarning] * len(told)
    for warning, text in zip(caught, told, strict=True):
        assert text in str(warning.message)
        assert warning.filename == __file__
