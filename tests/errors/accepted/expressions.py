import math

import numpy as np

import vkamp as amp

F = amp.array_view(np.zeros(12, np.float32))
I = amp.array_view(np.zeros(12, np.int32))
U = amp.array_view(np.zeros(12, np.uint32))
G = amp.array_view(np.zeros((6, 10), np.float32))
POINT = np.dtype([("x", "f4"), ("y", "f4"), ("id", "i4")])
P = amp.array_view(np.zeros(12, POINT))
inspections = []


def compiles(domain, *args, **constants):
    """Compiles the kernel for these arguments, and keeps what becomes of it."""
    return lambda kernel: inspections.append(kernel.inspect(domain, *args, **constants))


@compiles(U.extent, U, I, F)
@amp.kernel
def integers(idx, u, i, f):
    u[idx] = 0xFFFFFFFF
    u[idx] ^= u[idx] >> 16
    u[idx] = amp.uint32(i[idx]) * 2654435761
    i[idx] = (i[idx] // 3) % 5 - ~i[idx] + (1 << (i[idx] & 31))
    i[idx] = amp.tdiv(-7, 2) + amp.trem(i[idx], 4) + i[idx] ** 3
    f[idx] = i[idx] / 2 + 2.0 ** f[idx] + f[idx] ** -1 + i[idx] ** 0.5
    i[idx] = int(f[idx]) + int(2.5) + bool(i[idx]) - (i[idx] > 0)
    i[idx] = -(2**31)
    f[idx] = 2**40
    f[idx] = math.inf if f[idx] > 0 else -math.nan


@compiles(F.extent, F)
@amp.kernel
def functions(idx, a):
    x = a[idx]
    a[idx] = max(x, 0.0, 1) + min(x, 2) + abs(x) + pow(x, 2.0) + round(x)
    a[idx] += math.sqrt(x) + np.sqrt(x) + amp.fast_math.sin(x) + math.pi
    a[idx] += x if math.isnan(x) or x != x else float(idx[0])
    a[idx] += math.sqrt(4) + math.floor(2.5)


@compiles(G.extent.tile(3, 5), G, amp.index(1, 2))
@amp.kernel
def indices(t_idx, grid, shift):
    row, col = t_idx.global_
    i, j = t_idx
    here = t_idx.global_ + shift
    grid[t_idx.tile_origin + t_idx.local] = row * 2 + col
    grid[t_idx] = grid[row][col] + grid[(row, col)] + grid[t_idx.global_ / 2] + i + j
    if t_idx.local == (0, 0) and t_idx.tile != amp.index(1, 1):
        grid[here - shift] = -(t_idx.local - shift)[0]
    if grid.extent.contains(here):
        grid[here] = grid.extent.size() + grid.extent[1] + grid.rank + t_idx.rank


@compiles(G.extent.tile(3, 5), G)
@amp.kernel
def negated(t_idx, grid):
    if t_idx.global_ == -(-t_idx):
        grid[t_idx] = 0.0


@compiles(G.extent, G)
@amp.kernel
def projection(idx, grid):
    line = grid[idx[0]]
    line[idx[1]] += 1.0
    grid[idx] = line[0] if idx[1] else grid[0][1]


@compiles(F.extent, F)
@amp.kernel
def names_of_the_shading_language(idx, a):
    sample = a[idx]
    input = sample
    output, layout, vec4, gl_Position, main, float_ = input, 1, 2, 3, 4, 5.0
    buffer = uniform = output + layout + vec4 + gl_Position + main + float_
    a[idx] = buffer + uniform
