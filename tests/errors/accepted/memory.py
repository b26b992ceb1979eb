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


@compiles(I.extent.tile(4), I, U)
@amp.kernel
def atomics(t_idx, counts, u):
    bins = amp.tile_static(4, amp.int32)
    bins[t_idx.local] = 0
    t_idx.barrier.wait()
    old = amp.atomic_fetch_add(bins[counts[t_idx] & 3], 1)
    amp.atomic_fetch_inc(counts[0])
    amp.atomic_fetch_max(u[0], 5)
    amp.atomic_exchange(counts[1], old)
    expected = 0
    if amp.atomic_compare_exchange(counts[2], expected, 1):
        counts[3] = expected


@compiles(P.extent.tile(4), P)
@amp.kernel
def shared_structs(t_idx, points):
    tmp = amp.tile_static(4, POINT)
    one = amp.tile_static((), amp.float32)
    tmp[t_idx.local] = points[t_idx]
    if t_idx.local[0] == 0:
        one[()] = 1.0
    t_idx.barrier.wait()
    points[t_idx].x = tmp[3 - t_idx.local[0]].y


@compiles(F.extent, amp.array_view(np.zeros(12, np.float32), readonly=True), F)
@amp.kernel
def read_only(idx, source, out):
    out[idx] = source[idx]


@compiles(F.extent, F)
@amp.kernel
def private_in_a_loop(idx, a):
    for k in range(4):
        tmp = amp.private(4, amp.float32)
        tmp[k] = a[idx]
        a[idx] += tmp[k]
    names = amp.private(2, "float32")
    names[0] = names[1] = 1.0
    a[idx] += names[0]
