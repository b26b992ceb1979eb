"""Kernels of shapes that newcomers write: ends of ranges, values of ``and`` and ``or``, small types, references, ...

``python -m tools.fuzz.real FILE tests/fuzz/shapes.py`` writes them down, with their launches.
"""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp

I32 = np.int32


@amp.func
def raised(values, n):
    values[0] += n
    return values[0]


@amp.struct
class Ball:
    place: amp.float2
    speed: amp.float2
    hits: amp.int32
    marks: (amp.int32, (3,))


@amp.func
def hit(ball, n):
    ball.hits += n
    ball.marks[n % 3] += 1


@amp.kernel
def ends_of_ranges(i, a, out):
    total = 0
    for k in range(-a[i] & 7):
        total += k
    for k in range(a[i] | 5, 0, -2):
        total ^= k
    for k in range(0, a[i] % 6 + 1, a[i] % 2 + 1):
        total = total * 2 + k
    out[i] = total


@amp.kernel
def counters_after_loops(i, a, out):
    k = -7
    for k in range(a[i] & 3):
        k *= 2
    n = a[i] & 7
    count = 0
    for j in range(n):
        n += 5
        count += j
    out[i] = k * 1000 + count + n


@amp.kernel
def defaults(i, a, out):
    n = (a[i] & 3) or 9
    m = (a[i] & 4) and n + 1
    out[i] = n * 10 + (m or -1)


@amp.kernel
def small_numbers(i, small, out):
    held = amp.private(2, amp.int16)
    held[0] = small[i] * 300
    held[1] = raised(held, 40)
    small[i] = held[0] + held[1]
    out[i] = amp.tdiv(small[i], (i[0] & 3) + 1) + amp.trem(small[i] * 0 + 7, 3)


@amp.kernel
def effects_in_order(i, a, out):
    cell = amp.private(1, amp.int32)
    cell[0] = a[i] & 1
    x = raised(cell, 1) if (a[i] > 0 and raised(cell, 2) > 3) or raised(cell, 4) == 5 else raised(cell, 8) * 10
    out[i] = x * 100 + cell[0] + (0 < cell[0] < 9)


@amp.kernel
def swizzles(i, a, out):
    v = amp.int4(a[i], 2, 3, 4)
    v.xy = v.yx
    v.zwx = v.xyz
    w = v.copy()
    v.x = 99
    w.yz += v.xy
    out[i] = v.x + w.y * 3 + w.z * 5 + w.w * 7


@amp.kernel
def balls_move(i, balls, out):
    ball = balls[i]
    old = ball.copy()
    ball.place += ball.speed
    if ball.place.x > 2.0:
        ball.speed.x = -ball.speed.x
        hit(ball, 1)
    best = balls[0]
    if i[0] == 0:
        best = balls[i]
        hit(best, 2)
    out[i] = ball.hits + ball.marks[1] * 10 + amp.int32(old.place.x * 4)


@amp.kernel
def barriers_in_loops(t, a, out):
    shared = amp.tile_static(t.tile_dim0, amp.int32)
    kept = amp.private(2, amp.int32)
    for turn in range(2):
        kept[turn] = a[t] + turn
        shared[t.local] = kept[turn]
        t.barrier.wait()
        kept[0] += shared[t.tile_dim0 - 1 - t.local[0]]
        t.barrier.wait()
    out[t] = kept[0] * 3 + kept[1]


@amp.kernel
def conversions(i, a, x, out):
    whole = amp.int32(x[i])
    up = amp.uint32(a[i] & 255) * 16777259
    out[i] = whole + amp.int32(amp.float32(up >> 8)) + (a[i] < up) + amp.int32(amp.uint8(a[i])) - amp.int8(a[i])


@amp.kernel
def quotients(i, a, out):
    d = (a[i] & 7) - 9
    out[i] = a[i] // d + a[i] % d * 3 + amp.tdiv(a[i], d) + (a[i] >> 31) + abs(d) ** 3


@amp.kernel
def sums_of_rows(i, m, out):
    row = m[i[0]]
    total = sum(x * k for k, x in enumerate(row))
    for x in row:
        if x < 0:
            continue
        total += x
    else:
        total += 100
    out[i] = total + max(row) - min(row) + (any(x == 4 for x in row) and i[0] in (0, 2))


@amp.kernel
def counted_matches(i, a, hits, out):
    expected = 7
    if amp.atomic_compare_exchange(hits[0], expected, 8):
        out[i] = expected
    else:
        out[i] = -1
    amp.atomic_fetch_max(hits[1], a[i])
    amp.atomic_fetch_add(hits[2 + (a[i] & 1)], 1)
    match a[i] % 4:
        case 0 | 1:
            amp.atomic_fetch_xor(hits[4], 3)
        case 2 if a[i] > 3:
            amp.atomic_fetch_or(hits[5], 6)
        case _:
            pass


@amp.kernel
def nested_functions(i, a, out):
    def outer(x):
        def inner(y):
            return y * 2 + x

        return inner(x + 1) + inner(3)

    scale = lambda q: q * 10 + a[i]  # noqa: E731
    out[i] = outer(a[i] & 7) + scale(2)


A = np.array([-8, -3, -1, 0, 1, 2, 5, 6, 77, 130, -(2**31), 2**31 - 1], I32)
SOME = np.array([-8, -3, -1, 0, 1, 2, 5, 6, 77, 13, 40, 9], I32)
X = np.array([0.5, -1.5, 3.99, 100, -100, 7, 8, 9.25, 16777216, 2, 1, 0], np.float32)
BALLS = np.zeros(5, Ball.dtype)  # type: ignore[attr-defined]
BALLS["place"]["x"], BALLS["speed"]["x"], BALLS["hits"] = [0.5, 1, 1.5, 2, 3], [1, 1, 1, -1, 0.5], range(5)
ROWS = np.array([[1, -2, 4], [0, 8, 4], [2, 2, 3]], I32)
LAUNCHES = [
    (ends_of_ranges, 12, None, (SOME,)),
    (counters_after_loops, 12, None, (A,)),
    (defaults, 12, None, (A,)),
    (small_numbers, 6, None, (np.array([-128, 127, 5, -3, 100, 1], np.int8),)),
    (effects_in_order, 12, None, (A,)),
    (swizzles, 12, None, (A,)),
    (balls_move, 5, None, (BALLS,)),
    (barriers_in_loops, 12, 6, (SOME,)),
    (conversions, 12, None, (A, X)),
    (quotients, 12, None, (SOME,)),
    (sums_of_rows, 3, None, (ROWS,)),
    (counted_matches, 12, None, (SOME, np.array([7, 0, 0, 0, 0, 0], I32))),
    (nested_functions, 12, None, (A,)),
]


@pytest.mark.parametrize(("kernel", "count", "tile", "given"), LAUNCHES)
def test_shape(kernel, count, tile, given):
    domain = amp.extent(count) if tile is None else amp.extent(count).tile(tile)
    arrays = [amp.array_view(data.copy()) for data in given]
    out = amp.array_view(np.zeros(count, I32))
    amp.parallel_for_each(amp.accelerator("reference").default_view, domain, kernel, *arrays, out)
