"""The kernels of the golden shaders: small programs that use every part of the printer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.artifacts import Target
from vkamp.front import ArgType, BufferType, Request, ScalarType
from vkamp.front.lower import lower
from vkamp.ir.nodes import Kernel
from vkamp.ir.types import Type

PIXEL = np.dtype([("r", "f4"), ("g", "f4"), ("b", "f4")])
# Holes, a member that is an array, a member that is a struct, and names that GLSL keeps for itself.
RECORD = np.dtype(
    {
        "names": ["in", "matrix", "pixel", "count"],
        "formats": ["<i4", ("<f4", (2, 3)), PIXEL, "<u4"],
        "offsets": [0, 8, 32, 52],
        "itemsize": 64,
    }
)


@dataclass(frozen=True)
class Program:
    """A kernel with everything that its shader depends on."""

    function: Callable[..., Any]
    rank: int
    tile: tuple[int, ...] | None
    args: tuple[tuple[str, ArgType], ...]
    precise: bool = False
    constants: tuple[tuple[str, Any], ...] = ()
    target: Target = field(default_factory=Target)
    subgroup: int | None = None

    def kernel(self) -> Kernel:
        """The kernel in IR."""
        assert isinstance(self.function, FunctionType)
        fixed = self.function, self.precise, self.rank, self.tile
        request = Request(*fixed, self.args, (), self.constants, subgroup=self.subgroup)
        return lower(request, {}).kernel


def buffers(**elements: tuple[Type, int] | tuple[Type, int, dict[str, Any]]) -> tuple[tuple[str, ArgType], ...]:
    """Container parameters ``name=(element, rank, traits)``, each on separate memory by default."""
    out: list[tuple[str, ArgType]] = []
    for number, (name, (element, rank, *rest)) in enumerate(elements.items()):
        traits = {"readonly": False, "dense": True, "storage": number, **(rest[0] if rest else {})}
        out.append((name, BufferType(element, rank, **traits)))
    return tuple(out)


def scalars(**types: Any) -> tuple[tuple[str, ArgType], ...]:
    return tuple((name, ScalarType(kind)) for name, kind in types.items())


STRIDED = {"dense": False}
READONLY = {"readonly": True}


# -- the programs ------------------------------------------------------------------------------------------------


def tile_average(t_idx, matrix, averages):
    tile_values = amp.tile_static(t_idx.tile_extent, amp.float32)
    tile_values[t_idx.local] = matrix[t_idx]  # t_idx stands for t_idx.global_
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if t_idx.local == (0, 0):
        total = 0.0
        for row in range(t_idx.tile_dim0):
            for col in range(t_idx.tile_dim1):
                total += tile_values[row, col]
        averages[t_idx.tile] = total / (t_idx.tile_dim0 * t_idx.tile_dim1)


def tiled_product(t_idx, a, b, c, *, tile: amp.constant):
    a_tile = amp.tile_static((tile, tile), amp.float32)
    b_tile = amp.tile_static((tile, tile), amp.float32)
    row, col = t_idx.local
    total = 0.0
    for k in range(0, a.extent[1], tile):
        a_tile[row, col] = a[t_idx.global_[0], k + col]
        b_tile[row, col] = b[k + row, t_idx.global_[1]]
        t_idx.barrier.wait()
        for i in range(tile):
            total += a_tile[row, i] * b_tile[i, col]
        t_idx.barrier.wait()
    c[t_idx] = total


def register_tiles(t_idx, a, b, c, *, size: amp.constant):
    """Each thread has size x size results, in registers."""
    left = amp.tile_static((8, 4 * size), amp.float32)
    right = amp.tile_static((8, 4 * size), amp.float32)
    sums = amp.private((size, size), amp.float32)
    row, col = t_idx.local
    for i in amp.static_range(size):
        for j in amp.static_range(size):
            sums[i, j] = 0.0
    for k in range(0, a.extent[1], 8):
        for q in amp.static_range(size):
            for h in amp.static_range(0, 8, 4):
                left[h + col, row * size + q] = a[t_idx.global_[0] * size + q, k + col + h]
                right[row + h, q * 4 + col] = b[k + h + row, t_idx.tile[1] * 4 * size + 4 * q + col]
        t_idx.barrier.wait_with_tile_static_memory_fence()
        for kk in amp.static_range(8):
            for i in amp.static_range(size):
                scale = left[kk, row * size + i]
                for j in amp.static_range(size):
                    sums[i, j] += scale * right[kk, 4 * j + col]
        t_idx.barrier.wait_with_tile_static_memory_fence()
    for i in amp.static_range(size):
        for j in amp.static_range(size):
            c[t_idx.global_[0] * size + i, t_idx.tile[1] * 4 * size + 4 * j + col] = sums[i, j]


WEIGHTS = (0.25, 0.5, 0.25)


def unrolled(idx, source, out):
    """Loops that can be written as such, and parts of some that cannot."""
    total = 0.0
    for di in amp.static_range(-1, 2):
        for dj in amp.static_range(-1, 2):
            total += source[idx[0] + di + 1, idx[1] + dj + 1] * (2 * di + dj)
    for k in amp.static_range(3):
        # The weights are on no line.
        total += source[idx[0] + k, idx[1]] * WEIGHTS[k]
    best = total
    for k in amp.static_range(6, 0, -1):
        if k > 2:
            best = max(best, total - amp.float32(k))
        else:
            best = min(best, total * k)
    count = amp.uint32(0)
    for k in amp.static_range(2):
        for n in amp.static_range(k + 4):
            found = amp.int32(source[idx[0] + k, idx[1] + n % 3])
            count += amp.uint32(found) * k + 7 * n
        for m in range(idx[0] % 3 + k):
            count ^= amp.uint32(m) + k
    out[idx] = best + amp.float32(count % 1024)


def records(idx, source, destination):
    record = source[idx].copy()
    record.pixel.g = record.pixel.r * 2.0
    record.matrix[1, 2] += 1.0
    destination[idx] = record
    destination[idx].count = source[idx].count + 1
    in_ = count_of(record)
    destination[idx].matrix[0, in_ % 3] = record.matrix[1, 1]


@amp.func
def count_of(record):
    return record.count


def shift_in_place(t_idx, left, right, bits):
    """``left`` and ``right`` are views of one memory, ``bits`` the same memory as integers."""
    i = t_idx.global_[0]
    value = right[i]
    t_idx.barrier.wait_with_global_memory_fence()
    left[i] = value
    if bits[i] & 0x80000000:
        left[i] = -value


def copy_1(idx, source, destination):
    destination[idx] = source[idx]


def copy_2(idx, source, destination):
    i, j = idx
    if (i + j) % 2 == 0:
        destination[idx] = source[i, j]


def copy_3(idx, source, destination):
    destination[idx] = source[idx[0], idx[1], idx[2]]


def copy_5(idx, source, destination):
    destination[idx] = source[idx] + idx[0] + idx[3]


def axpy(idx, x, y, a, b, wanted):
    if wanted:
        y[idx] = a * x[idx] + b


@amp.func
def divided(a, b):
    return a // b, a % b


@amp.func
def clamped(x, low, high):
    if x < low:
        return low
    if x > high:
        return high
    return x


@amp.func
def sum_of(values, count):
    total = 0
    for i in range(count):
        total += values[i]
        values[i] = 0
    return total


@amp.func
def add_all(into, values):
    for i in range(4):
        into[i] += values[i]


@amp.func
def own_row(t_idx, values):
    return values[t_idx.local[0]]


def functions(t_idx, a):
    shared_values = amp.tile_static(4, amp.int32)
    own_values = amp.private(4, amp.int32)
    shared_values[t_idx.local[0]] = a[t_idx]
    t_idx.barrier.wait()
    for i in range(4):
        own_values[i] = shared_values[i]
    quotient, rest = divided(a[t_idx], 3)
    _, other = divided(rest, 2)
    add_all(own_values, shared_values)
    add_all(own_values, own_values)
    total = sum_of(own_values, 4)
    a[t_idx] = clamped(quotient + other, 0, 100) + total + own_row(t_idx, shared_values)


def control_flow(idx, a, n, step):
    i = idx[0]
    x = a[i]
    if i % 3 == 0:
        x += 1
        scale = 2
    elif i % 4 == 1:
        x -= i // 7
        scale = 3
    else:
        x = -x // 5
        scale = x if x > 0 else ~x
    k = n
    while k > 0:
        k -= 1
        if x > 100000:
            break
        for j in range(k):
            if j & 1:
                continue
            x = max(x, j * (i - 3) % 5)
    while True:
        x //= 2
        if x < 10 and not (x == 3 or x == 5):
            break
    for j in range(n, 0, -2):
        x ^= j << 2
    for k in range(n):
        # Changing the variable has no effect on the iteration.
        k *= 2
        n_squared = k * k
        x += n_squared
    for m in range(0, n, step):
        x += m
    for m in range(x % 5):
        x += m
    if x < 0:
        return
    a[i] = x * scale


def unsigned_loop(idx, a, n):
    total = n - n
    for i in range(n):
        total += i >> 1
    a[idx] = total


def atomics(t_idx, values, bins, extremes):
    local_bins = amp.tile_static(8, amp.uint32)
    i = t_idx.local[0]
    if i < 8:
        local_bins[i] = 0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    value = values[t_idx]
    old = amp.atomic_fetch_add(local_bins[value % 8], 1)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if i < 8:
        amp.atomic_fetch_add(bins[i], local_bins[i])
    amp.atomic_fetch_max(extremes[0], value)
    amp.atomic_fetch_min(extremes[1], value)
    amp.atomic_fetch_sub(extremes[2], value)
    amp.atomic_fetch_inc(extremes[3])
    amp.atomic_fetch_dec(extremes[4])
    if old == 0:
        previous = amp.atomic_exchange(extremes[5], value)
        amp.atomic_fetch_xor(extremes[6], previous)


@amp.func
def rounds_of(rounds, tile):
    return amp.uniform(rounds[tile])


def claims(t_idx, rounds, out, n):
    if amp.uniform(rounds[t_idx.tile] > n):
        t_idx.barrier.wait()
    limit = amp.uniform(rounds[0])
    while amp.uniform(limit > rounds_of(rounds, t_idx.tile)):
        t_idx.barrier.wait()
        limit -= 1
    if n > 0 and amp.uniform(rounds[1] == 2):
        t_idx.barrier.wait()
    for k in range(amp.uniform(rounds[2]), 8):
        limit += amp.uniform(k + n) * 2
    amp.uniform(limit)
    out[t_idx] = limit + amp.uniform(n)


@amp.func
def total_of(part):
    total = 0.0
    for k in range(part.extent[0]):
        total += part[k]
    return total


def views(t_idx, values, table, columns, pixels):
    i = t_idx.local[0]
    window = amp.tile_static((4, 8), amp.float32)
    inner = window.section(amp.index(1, 2), amp.extent(2, 4))
    inner[i // 4, i % 4] = values.section(t_idx.tile_origin, t_idx.tile_extent)[i]
    t_idx.barrier.wait()
    box = table.section(amp.index(i, 1), amp.extent(2, columns))
    row = box[1]
    row[0] = total_of(inner[i % 2]) + total_of(row.section(1, 2))
    values.view_as(amp.extent(4, 2))[i // 2, i % 2] += 1.0
    bits = pixels.section(amp.index(i)).reinterpret_as(amp.uint32)
    bits[1] = inner[0].reinterpret_as(amp.uint32)[i % 4] | 0x80000000
    for k in range(2):
        part = values.section(k, 2)
        part[1] = 0.0
    part = values.section(i, 1)
    part[0] = 2.0


def float_atomics(t_idx, sums, pixels):
    totals = amp.tile_static((2, 2), amp.float32)
    i = t_idx.local[0]
    if i < 4:
        totals[i // 2, i % 2] = 0.0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    amp.atomic_fetch_add(totals[i % 2, 1], sums[i])
    before = amp.atomic_fetch_sub(pixels[i].g, 0.5)
    amp.atomic_exchange(sums[0], before * 2.0)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    sums[8 + i] = totals[i % 2, 1]


def compare_exchange(idx, cells, wanted):
    expected = amp.int32(0)
    while True:
        done = amp.atomic_compare_exchange(cells[0], expected, expected + wanted[idx])
        if done:
            break
    if amp.atomic_compare_exchange(cells[1], expected, 5):
        cells[2] = 1


@amp.func
def polynomial(x, y):
    return x * y + 1.0, x * x - y * y


@amp.func
def shifted(x):
    x = x * 3.0 + 0.1
    return x * x + x


def exact(t_idx, x, y, out, bits):
    shared_products = amp.tile_static(4, amp.float32)
    i = t_idx.local[0]
    a = x[t_idx]
    b = y[t_idx]
    shared_products[i] = a * b + 0.5
    t_idx.barrier.wait_with_tile_static_memory_fence()
    first, second = polynomial(a * b + 2.0, b)
    total = first
    total += shared_products[3 - i] * second
    if a * b + total > 0.0:
        total = shifted(total * a - b)
    bits[t_idx] = int(a * b + 3.0)
    out[t_idx] = total * a + b


def rounding(idx, a, b, c, x, y):
    i = idx[0]
    c[i, 0] = a[i] // b[i]
    c[i, 1] = a[i] % b[i]
    c[i, 2] = a[i] // 8
    c[i, 3] = a[i] % 8
    c[i, 4] = a[i] // 7
    c[i, 5] = i // 7 + i % 7
    c[i, 6] = amp.tdiv(a[i], b[i])
    c[i, 7] = amp.trem(a[i], b[i])
    c[i, 8] = (i * 4) // b.extent[0]
    c[i, 9] = (abs(a[i]) % 16 + 3) % 5
    y[i, 0] = x[i] // 0.75
    y[i, 1] = x[i] % 0.75


def operators(idx, a, u, f):
    i = idx[0]
    x = a[i]
    v = u[i]
    y = f[i]
    a[i] = (x & 3 | 4) ^ (x << 2) + (x >> 1) - -x * (x - (3 - x)) - (~x if x != -2147483648 else 7)
    u[i] = v - (v >> 3) + (v << 1 & 255) + 4294967295 % (v + 1)
    f[i] = y - (y - 1.5) * -2.0 / (y / 3.0) + (1e-20 if (y > 0.0 and not y < 1.0) or i == 3 else 0.1)
    flag = (x > 3) == (y > 0.5)
    if flag & (x != 2) | (v == 1):
        a[i] += 1


def names(idx, input, sample, output_):
    # Words that GLSL has taken.
    half = input[idx]
    float_ = sample[idx]
    dot = half + float_
    length__2 = dot
    gl_x = length__2 * 0.5
    output_[idx] = gl_x
    input_buffer = gl_x
    output_[idx] += input_buffer


def fences(t_idx, a):
    mine = amp.tile_static((), amp.int32)
    barrier = t_idx.barrier
    if t_idx.local == (0,):
        mine[()] = a[t_idx]
    barrier.wait()
    barrier.wait_with_all_memory_fence()
    barrier.wait_with_global_memory_fence()
    barrier.wait_with_tile_static_memory_fence()
    amp.all_memory_fence(barrier)
    amp.global_memory_fence(barrier)
    amp.tile_static_memory_fence(barrier)
    a[t_idx] += mine[()]


def mathematics(idx, x, y):
    i = idx[0]
    v = x[idx]
    y[i, 0] = max(v, 0.0) + min(v, 1.0)
    y[i, 1] = amp.fast_math.pow(v, 2.0) + amp.fast_math.fmod(v, 3.0)
    y[i, 2] = round(v) + amp.fast_math.tanh(v) + amp.fast_math.log10(abs(v) + 1.0)
    if amp.fast_math.isfinite(v):
        y[i, 3] = amp.fast_math.rsqrt(abs(v) + 1.0)


@amp.func
def cross(a, b):
    return a.yzx * b.zxy - a.zxy * b.yzx


def vectors(t_idx, points, colours, cells, bodies):
    tile = amp.tile_static((4,), amp.float3)
    mine = amp.private(2, amp.uint2)
    tile[t_idx.local] = points[t_idx]
    mine[0] = amp.uint2(cells[t_idx])
    mine[1] = mine[0].yx % 5 << 1
    t_idx.barrier.wait()
    p = tile[3 - t_idx.local[0]]
    p.xy = p.yx * 2 + 1
    p /= amp.float3(1, 2, 4)
    points[t_idx] = cross(p, bodies[t_idx].position)
    points[t_idx].zx = -p.xy
    colours[t_idx].bgr = points[t_idx].rgb
    colours[t_idx] *= 2 if p == tile[0] else amp.float32(3)
    bodies[t_idx].position += p
    bodies[t_idx].spins[1] = bodies[t_idx].spins[0]
    bodies[t_idx].mass = (p * p).z
    cells[t_idx] = amp.int2(mine[1]) / cells[t_idx] % 7 | 1
    amp.atomic_fetch_add(cells[t_idx].y, 3)


def exact_vectors(idx, a, b, out):
    s = a[idx] * b[idx] + out[idx]
    s.xy = (a[idx] * s - b[idx]).zx
    if s * 2 - a[idx] == b[idx]:
        s.x = 0
    out[idx] = s / 0.5 - s.x


def precise_mathematics(idx, x, y):
    i = idx[0]
    sine, cosine = amp.precise_math.sincos(x[idx])
    y[i, 0] = sine * cosine
    y[i, 1] = amp.precise_math.hypot(x[idx], 2.0)


def origins(t_idx, a):
    if t_idx.local == (1, 2, 3):
        a[t_idx.tile_origin] = t_idx.tile[2] + t_idx.local[0] + t_idx.global_[1]


def subgroups(t_idx, a, x, out):
    """Each kind of function, in a function that is called, too."""
    lane = amp.subgroup.lane()
    total = amp.subgroup.add(x[t_idx])
    if amp.subgroup.elect():
        out[amp.subgroup.id()] = total / amp.subgroup.size() + amp.subgroup.count()
    chosen = amp.subgroup.ballot(a[t_idx] > 0 and lane > 0)
    if amp.subgroup.any(total > 1.0) and not amp.subgroup.all(chosen.x != 0):
        a[t_idx] = amp.subgroup.ballot_exclusive_bit_count(chosen) + amp.subgroup.broadcast(a[t_idx], 1)
    x[t_idx] = subgroup_scan(x[t_idx]) + amp.subgroup.broadcast_first(total)
    a[t_idx] += amp.subgroup.shuffle_down(a[t_idx], 3) * amp.subgroup.shuffle(a[t_idx], lane // 2)


@amp.func
def subgroup_scan(value):
    step = 1
    while step < amp.subgroup.size():
        below = amp.subgroup.shuffle_up(value, step)
        if amp.subgroup.lane() >= step:
            value += below
        step *= 2
    return value


def subgroups_in_a_row(t_idx, a):
    """A tile of rank 3."""
    largest = amp.subgroup.inclusive_max(a[t_idx])
    flipped = amp.subgroup.shuffle_xor(largest, 1)
    a[t_idx] = t_idx.local[0] * 100 + t_idx.local[1] * 10 + t_idx.local[2] + flipped


BODY = np.dtype([("id", "<i4"), ("position", amp.float3), ("spins", amp.float2, (2,)), ("mass", "<f4")])


def saxpy(idx, a, x, y):
    y[idx] = a * x[idx] + y[idx]


def tested(idx, x, y, out):
    i, j = idx
    if i < x.extent[0] - 1 and j >= 1:
        out[i, j] = x[i, j] * y[i, j] + j


def halves(idx, x, y, out):
    out[idx] = amp.float16(x[idx] * y[idx] * 0.1)


def native_float_atomics(t_idx, sums, pixels):
    totals = amp.tile_static((2, 2), amp.float32)
    extremes = amp.tile_static(2, amp.float32)
    i = t_idx.local[0]
    if i < 4:
        totals[i // 2, i % 2] = 0.0
    if i < 2:
        extremes[i] = 0.0
    t_idx.barrier.wait_with_tile_static_memory_fence()
    amp.atomic_fetch_add(totals[i % 2, 1], sums[i])
    # An array with one atomic that the device lacks is one of bits.
    amp.atomic_fetch_min(extremes[0], sums[i])
    amp.atomic_fetch_add(extremes[1], sums[i])
    before = amp.atomic_fetch_sub(pixels[i].g, 0.5)
    amp.atomic_fetch_max(sums[1], before)
    amp.atomic_exchange(sums[0], before * 2.0)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    sums[8 + i] = totals[i % 2, 1] + extremes[i % 2]


def matrices(t_idx, a, b, c, d):
    """Each operation of cooperative matrices, on memory of each kind."""
    stage = amp.tile_static((2, 16, 24), amp.float16)
    group = amp.subgroup.id()
    for e in range(t_idx.local[0], 512, 64):
        stage[e // 256, e // 16 % 16, e % 16] = a[e // 256 * 16 + e // 16 % 16, e % 16]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    sums = amp.matrix((16, 16), amp.float32, fill=0.5, count=(2,))
    for i in amp.static_range(2):
        x = amp.matrix_load(stage[i], (0, 0), (16, 16), "a")
        y = amp.matrix_load(b, (16 * group, 0), (16, 16), "b", layout="column")
        sums[i] = amp.matrix_mul_add(x, y, sums[i])
    both = amp.matrix_map(lambda p, q: p + 2.0 * q, sums[0], sums[1])
    if group == 0:
        amp.matrix_store(both, c, (0, 16), layout="column")
    small = amp.matrix_convert(both, amp.float16)
    other = small
    amp.matrix_store(other, d, (16 * group, 0))


SHORT = (0.5, 1.5, 2.5)
SQUARES = tuple(k * k for k in range(30))
POINTS = tuple((k / 2, -float(k)) for k in range(20))


def tables(idx, a, out):
    """Constants in the shader, and tables of them in memory."""
    k = a[idx]
    x, y = POINTS[k]
    again = tuple(n * n for n in range(30))
    out[idx] = SHORT[k % 3] * (SQUARES[k] + again[k + 1]) + x * y


@amp.func
def above(x, least):
    return x if x > least else least


def scalars_in_memory(idx, a, m, n, wanted, p, v):
    """Elements of memory by value: in the body, in a loop, in a function."""
    a[idx] -= m
    if wanted:
        for k in range(n):
            a[idx] = above(a[idx] * p.g + k, m) + v.z * v.x
    w = v
    w.y = 0.0
    a[idx] += w.y


def scaled(idx, a, m):
    a[idx] *= m
