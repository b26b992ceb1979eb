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


@compiles(F.extent, F, 4)
@amp.kernel
def float_first(idx, a, n):
    total = 0.0
    for i in range(n):
        total += a[i]
    a[idx] = total / n


@compiles(I.extent, I, F)
@amp.kernel
def conversions(idx, counts, a):
    counts[idx] = amp.int32(a[idx] * 0.5)
    a[idx] = counts[idx]
    found = counts[idx] != 0
    found = a[idx] > 0.0
    counts[idx] = found
    x: amp.float32 = 1
    x = True
    a[idx] = x + found


@compiles(F.extent, F)
@amp.kernel
def assigned_everywhere(idx, a):
    if a[idx] > 1.0:
        x = 1.0
    elif a[idx] > 0.0:
        x = 0.5
    else:
        return
    while True:
        y = x * 2.0
        if y > 3.0:
            break
        x = y
    for i in range(3):
        z = a[i]
    a[idx] = x + y + z + i


@compiles(F.extent, F, 5)
@amp.kernel
def copied_parameter(idx, a, n):
    m = n
    m -= 1
    m //= 2
    m %= 3
    m <<= 1
    i = idx[0]
    i += m
    at = amp.index(1, 2)
    at[0] += 1
    at += 1
    a[idx] = i + at[0]


@compiles(F.extent, F)
@amp.kernel
def tuples(idx, a):
    x, y = 1.0, a[idx]
    x, y = y, x
    (p, q), r = (x, y), 3
    pair = (x, y)
    first = last = pair[0]
    a[idx] = p + q + r + first + last + pair[1]


@compiles(P.extent, P, np.zeros(1, POINT)[0])
@amp.kernel
def structs(idx, points, shift):
    p = points[idx]
    p.x += shift.x
    points[idx] = p
    points[idx].y = p.x
    points[idx]["id"] += 1
    q = p if p.x > 0.0 else points[0]
    points[idx].x = q.y
