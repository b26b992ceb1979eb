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


LIMIT = 7
WEIGHTS = (0.25, 0.5, 0.25)
DEBUG = False


@compiles(F.extent, F)
@amp.kernel
def tuple_of_the_module(idx, a):
    total = 0.0
    for k in amp.static_range(3):
        total += WEIGHTS[k] * a[k]
    a[idx] = total


@compiles(I.extent, I)
@amp.kernel
def unrolled_to_the_ends_of_int32(idx, a):
    for k in amp.static_range(-(2**31), 2**31 - 1, 2**31 - 1):
        a[idx] ^= k


@compiles(I.extent, I, 3)
@amp.kernel
def loops(idx, a, n):
    for i in range(10, 0, -2):
        if i == n:
            continue
        if i < 3:
            break
        a[idx] += i
    for i in range(n, a.extent[0], n):
        a[idx] += 1
    k = 0
    while k < LIMIT and not a[idx] == k:
        k += 1
    a[idx] = k if 0 < k <= n else -k
    if DEBUG:
        undefined_in_release(a)


@compiles(I.extent, I)
@amp.kernel
def conditions(idx, a):
    i = idx[0]
    if i == 0 or i == 1:
        a[idx] = 1
    if i and not (i > 5) and (i != 3 or i < 2):
        a[idx] = 2
    if idx == (4,):
        a[idx] = 3
    if idx == 5:
        a[idx] = 4
    a[idx] = 1 if True else "never compiled"


@compiles(F.extent.tile(4), F, 2)
@amp.kernel
def uniform_barriers(t_idx, a, n):
    tmp = amp.tile_static(t_idx.tile_extent, amp.float32)
    for step in range(n):
        tmp[t_idx.local] = a[t_idx]
        t_idx.barrier.wait()
        if t_idx.tile[0] > step:
            a[t_idx] = tmp[3 - t_idx.local[0]]
            t_idx.barrier.wait_with_all_memory_fence()
        elif n == 3:
            break
        a[t_idx] = tmp[3 - t_idx.local[0]]
        t_idx.barrier.wait_with_tile_static_memory_fence()
    if n > 4:
        return
    t_idx.barrier.wait_with_global_memory_fence()
    a[t_idx] += 1.0
    if t_idx.local[0] == 0:
        amp.all_memory_fence(t_idx.barrier)


@compiles(amp.extent(12).tile(8).pad(), F)
@amp.kernel
def guarded_padding(t_idx, a):
    tmp = amp.tile_static(8, amp.float32)
    inside = a.extent.contains(t_idx.global_)
    if inside:
        tmp[t_idx.local] = a[t_idx]
    t_idx.barrier.wait()
    if inside:
        a[t_idx] = tmp[t_idx.local]
