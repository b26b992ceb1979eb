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


@amp.func
def divide(x, y):
    if y == 0:
        return 0, False
    return x // y, True


@amp.func
def clear(target, i, value=0.0):
    target[i] = value


@amp.func
def power(x, *, n: amp.constant = 2):
    result = 1.0
    for _ in amp.static_range(n):
        result *= x
    return result


@amp.func
def fill(values, x):
    for i in range(4):
        values[i] = x


@amp.func
def apply(f, x):
    x = x + 1
    return f(x)


@amp.func
def nothing():
    pass


@amp.func
def shared(t_idx, x):
    tmp = amp.tile_static(4, amp.float32)
    tmp[t_idx.local] = x
    t_idx.barrier.wait()
    return tmp[3 - t_idx.local[0]]


@compiles(I.extent, I, F, power)
@amp.kernel
def calls(idx, i, f, g):
    quotient, ok = divide(i[idx], 3)
    i[idx] = quotient if ok else -1
    divide(i[idx], 2)
    clear(f, idx)
    clear(f, idx, value=apply(power, f[idx]) + power(f[idx], n=3) + g(2.0))
    values = amp.private(4, amp.float32)
    fill(values, f[idx])
    f[idx] = values[2]
    nothing()


@compiles(F.extent.tile(4), F)
@amp.kernel
def barrier_in_a_function(t_idx, a):
    first = shared(t_idx, a[t_idx])
    t_idx.barrier.wait()
    a[t_idx] = first + shared(t_idx, 2.0)


def closure():
    scale, count = 2.5, 3

    @compiles(F.extent)
    @amp.kernel
    def captures(idx):
        tmp = amp.private(count, amp.float32)
        for k in range(count):
            tmp[k] = scale * k
        F[idx] = tmp[0] + scale


closure()


@compiles(F.extent, F, size=4, kind=amp.float32, f=power, flag=True)
@amp.kernel
def constants(idx, a, *, size: amp.constant, kind: amp.constant, f: "amp.constant", flag: amp.constant = False):
    tmp = amp.private((size, size // 2), kind)
    tmp[0, 1] = f(a[idx])
    if flag:
        a[idx] = tmp[0, 1] + size
    else:
        a[idx] = "never compiled"
