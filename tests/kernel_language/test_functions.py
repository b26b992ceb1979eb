"""Device functions: results, returns, references, specialisation, nesting, defaults, and calls from plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, U32, pairs, rows, same, same_rows


@amp.func
def divmod_(a, b):
    return a // b, a % b


@amp.func
def sign(x):
    if x > 0:
        return 1
    if x < 0:
        return -1
    return 0


@amp.func
def clamp(x, low=0, high=10):
    return min(max(x, low), high)


@amp.func
def first_factor(n):
    for d in range(2, n):
        if n % d == 0:
            return d
        while d * d > n:
            return n
    return n


@amp.func
def mixed(x):
    if x > 2:
        return 1.5
    return x


@amp.func
def nested(x, y):
    q, r = divmod_(clamp(x, -20, 20), sign(y) * 3 + 1)
    return (q, (r, q + r))


@amp.kernel
def calls(i, a, b, out):
    k = i[0]
    x, y = a[k], b[k]
    q, r = divmod_(x, 7)
    out[0, k] = q
    out[1, k] = r
    out[2, k] = sign(x) * 10 + sign(y)
    out[3, k] = clamp(x)
    out[4, k] = clamp(x, high=3)
    out[5, k] = clamp(low=-2, x=y, high=2)
    out[6, k] = first_factor(abs(x) + 2)
    out[7, k] = int(mixed(x) * 2)
    n, (m, s) = nested(x, y)
    out[8, k] = n * 10000 + m * 100 + s
    out[9, k] = clamp(clamp(x, 1, 8), 3, clamp(y, 4, 6))
    pair = divmod_(x, 3)
    out[10, k] = pair[0] - pair[1]
    out[11, k] = divmod_(x, 5)[1]
    out[12, k] = sign(0.5) + sign(-2.5)


def test_calls_give_what_plain_python_gives(accelerator_view):
    x, y = pairs([0, 1, -1, 9, -25, 33], I32)
    cells = [(int(p), int(q)) for p, q in zip(x, y, strict=True)]

    def each(function) -> list[int]:
        return [function(p, q) for p, q in cells]

    def tuple_sum(p, q):
        n, (m, s) = nested(p, q)
        return n * 10000 + m * 100 + s

    same_rows(
        rows(accelerator_view, calls, 13, I32, x, y),
        {
            "quotient": each(lambda p, q: divmod_(p, 7)[0]),
            "remainder": each(lambda p, q: divmod_(p, 7)[1]),
            "signs": each(lambda p, q: sign(p) * 10 + sign(q)),
            "defaults": each(lambda p, q: clamp(p)),
            "keyword": each(lambda p, q: clamp(p, high=3)),
            "keywords": each(lambda p, q: clamp(low=-2, x=q, high=2)),
            "returns in loops": each(lambda p, q: first_factor(abs(p) + 2)),
            "int and float": each(lambda p, q: int(mixed(p) * 2)),
            "nested results": each(tuple_sum),
            "nested calls": each(lambda p, q: clamp(clamp(p, 1, 8), 3, clamp(q, 4, 6))),
            "a tuple": each(lambda p, q: divmod_(p, 3)[0] - divmod_(p, 3)[1]),
            "a component": each(lambda p, q: divmod_(p, 5)[1]),
            "floats": 0,
        },
    )


@amp.func
def fill(values, start, count):
    for j in range(count):
        values[j] = start + j


@amp.func
def total_of(values, count):
    total = values[0] - values[0]
    for j in range(count):
        total += values[j]
    return total


@amp.func
def rotate(values):
    first = values[0, 0]
    for r in range(2):
        for c in range(3):
            if c < 2:
                values[r, c] = values[r, c + 1]
            elif r == 0:
                values[r, c] = values[1, 0]
    values[1, 2] = first


@amp.kernel
def arrays_by_reference(i, data, out):
    k = i[0]
    scratch = amp.private(5, amp.int32)
    fill(scratch, k, 5)
    fill(scratch, 100, 2)
    out[0, k] = total_of(scratch, 5)
    grid = amp.private((2, 3), amp.float32)
    for r in range(2):
        for c in range(3):
            grid[r, c] = data[k] + r * 3 + c
    rotate(grid)
    rotate(grid)
    out[1, k] = int(grid[0, 0] * 100 + grid[1, 2] * 10 + grid[0, 2])


def test_private_arrays_go_by_reference(accelerator_view):
    data = np.array([1, 2, 5, 7], F32)
    k = np.arange(4)
    expected = {"sum": 201 + 3 * k + 9, "rotated": (data + 2) * 100 + (data + 1) * 10 + data + 4}
    same_rows(rows(accelerator_view, arrays_by_reference, 2, I32, data), expected)


@amp.func
def average(source, where):
    return (source[where - 1] + source[where] + source[where + 1]) / 3


@amp.func
def store_all(target, value):
    for j in range(target.extent[0]):
        target[j] = value + j


@amp.func
def middle(source, t):
    if t.local[0] == 0:
        return source[t.tile]
    return source[t] + t.tile_dim0


@amp.kernel
def containers_passed(t, source, table, out):
    memory = amp.tile_static(t.tile_extent, amp.float32)
    store_local(memory, t, source)
    t.barrier.wait_with_tile_static_memory_fence()
    k = t.global_[0]
    if 0 < k < source.extent[0] - 1:
        out[0, k] = average(source, k)
    store_all(table[k], 10 * k)
    out[1, k] = middle(source, t)
    out[2, k] = sum_tile(memory)
    out[3, k] = reversed_in_tile(t, memory)


@amp.func
def store_local(memory, t, source):
    memory[t.local] = source[t]


@amp.func
def sum_tile(memory):
    total = 0.0
    for j in range(memory.extent[0]):
        total += memory[j]
    return total


@amp.func
def reversed_in_tile(t, memory):
    waiting(t.barrier)
    return memory[t.tile_dim0 - 1 - t.local[0]]


@amp.func
def waiting(barrier):
    barrier.wait()


def test_containers_tiles_and_barriers_are_passed(accelerator_view):
    data = np.arange(1, 13, dtype=F32) ** 2
    table = np.zeros((12, 3), I32)
    result = np.full((4, 12), 77, F32)
    t, out = amp.array_view(table), amp.array_view(result)
    amp.parallel_for_each(
        accelerator_view, amp.extent(12).tile(4), containers_passed, amp.array_view(data, readonly=True), t, out
    )
    inner = np.full(12, 77, F32)
    inner[1:-1] = (data[:-2] + data[1:-1] + data[2:]) / F32(3)
    tiles = data.reshape(3, 4)
    got = np.asarray(out)
    np.testing.assert_allclose(got[0], inner, rtol=1e-6)
    k = np.arange(12)
    same(got[1], np.where(k % 4 == 0, data[k // 4], data + 4))
    same(got[2], np.repeat(tiles.sum(1), 4))
    same(got[3], tiles[:, ::-1].ravel())
    same(np.asarray(t), 10 * k[:, None] + np.arange(3))


@amp.func
def own_tile_memory(t, value):
    box = amp.tile_static(4, amp.int32)
    box[t.local] = value
    t.barrier.wait()
    result = box[(t.local[0] + 1) % 4]
    t.barrier.wait()
    return result


@amp.kernel
def tile_memory_of_functions(t, a, out):
    box = amp.tile_static(4, amp.int32)
    box[t.local] = 1000
    x = own_tile_memory(t, a[t])
    y = own_tile_memory(t, x * 10)
    out[t] = y + box[t.local]


def test_tile_static_of_a_function(accelerator_view):
    a = np.arange(8, dtype=I32)
    out = amp.array_view(np.zeros(8, I32))
    amp.parallel_for_each(
        accelerator_view, amp.extent(8).tile(4), tile_memory_of_functions, amp.array_view(a, readonly=True), out
    )
    same(np.asarray(out), np.roll(a.reshape(2, 4), -2, axis=1).ravel() * 10 + 1000)


Pair = np.dtype([("low", F32), ("high", F32)])


@amp.func
def ordered(p):
    if p.low > p.high:
        p.low, p.high = p.high, p.low
    return p


@amp.func
def widest(p, q):
    return p if p.high - p.low >= q.high - q.low else q


@amp.kernel
def structs_in_functions(i, a, out):
    k = i[0]
    given = a[k].copy()
    result = ordered(given)
    out[k] = widest(result, ordered(a[(k + 1) % a.extent[0]].copy()))
    if given.low > given.high:
        out[k].low = -1000


def test_functions_change_their_structs(accelerator_view):
    data = np.array([(3, 1), (5, 6), (2, 9), (8, 8)], Pair)
    out = amp.array_view(np.zeros(4, Pair))
    amp.parallel_for_each(accelerator_view, amp.extent(4), structs_in_functions, amp.array_view(data), out)
    same(np.asarray(out), np.array([(1, 3), (2, 9), (2, 9), (1, 3)], Pair))


@amp.func
def apply(function, x, times):
    for _ in range(times):
        x = function(x)
    return x


@amp.func
def doubled(x):
    return x * 2


@amp.func
def stepped(x):
    return x + STEP


STEP = 7


@amp.kernel
def functions_as_arguments(i, chosen, other, out):
    k = i[0]
    out[0, k] = apply(chosen, k + 1, 3)
    out[1, k] = apply(other, k, 2)
    out[2, k] = apply(doubled, 0.5, k)


def test_functions_are_arguments(accelerator_view):
    k = np.arange(3)
    for chosen, other, expected in (
        (doubled, stepped, [(k + 1) * 8, k + 14, 0.5 * 2.0**k]),
        (stepped, doubled, [k + 1 + 21, k * 4, 0.5 * 2.0**k]),
    ):
        out = amp.array_view(np.zeros((3, 3), F32))
        amp.parallel_for_each(accelerator_view, amp.extent(3), functions_as_arguments, chosen, other, out)
        same(np.asarray(out), expected)


@amp.func
def power(x, *, n: amp.constant):
    result = x - x + 1
    for _j in amp.static_range(n):
        result *= x
    return result


@amp.kernel
def constants_of_functions(i, a, out, *, N: amp.constant):  # noqa: N803
    k = i[0]
    out[0, k] = power(a[k], n=2)
    out[1, k] = power(a[k], n=N)
    out[2, k] = power(k, n=3)


@pytest.mark.parametrize("n", [0, 1, 4])
def test_constant_parameters_of_functions(accelerator_view, n):
    a = np.array([1, 2, -3], F32)
    k = np.arange(3)
    got = rows(accelerator_view, constants_of_functions, 3, F32, a, N=n)
    same_rows(got, {"squared": a * a, "N": a**n, "index": k**3})


@amp.func
def typed(x):
    return x + x // 2


@amp.kernel
def one_function_three_types(i, a, u, f, out):
    k = i[0]
    out[0, k] = typed(a[k])
    out[1, k] = typed(u[k])
    out[2, k] = typed(f[k])
    out[3, k] = typed(a[k] > 0)


def test_functions_are_specialised_by_type(accelerator_view):
    a = np.array([5, -5, 7], I32)
    u = np.array([5, 2**31, 9], U32)
    f = np.array([5, -5, 7.5], F32)
    same_rows(
        rows(accelerator_view, one_function_three_types, 4, F32, a, u, f),
        {"int": a + a // 2, "uint": (u + u // 2).astype(F32), "float": f + f // 2, "bool": (a > 0)},
    )


@amp.func
def stores_nothing(target, k, value):
    if value < 0:
        return
    target[k] = value


@amp.kernel
def calls_as_statements(i, a, out):
    k = i[0]
    stores_nothing(out, k, a[k])
    divmod_(a[k], 2)


def test_calls_as_statements(accelerator_view):
    a = np.array([4, -4, 0], I32)
    result = np.full(3, 50, I32)
    out = amp.array_view(result)
    amp.parallel_for_each(accelerator_view, amp.extent(3), calls_as_statements, amp.array_view(a), out)
    same(np.asarray(out), [4, 50, 0])


def test_functions_are_plain_python_too():
    assert clamp(12) == 10
    assert divmod_(-7, 2) == (-4, 1)
    assert power(3, n=2) == 9
    values = [0] * 4
    fill(values, 5, 4)
    assert values == [5, 6, 7, 8]
    assert apply(doubled, 3, 2) == 12
    assert math.isclose(amp.fast_math.sqrt(2.0), math.sqrt(2), rel_tol=1e-6)
    assert (amp.tdiv(-7, 2), amp.trem(-7, 2)) == (-3, -1)


def test_a_function_that_changes_is_compiled_anew(accelerator_view, monkeypatch):
    out = amp.array_view(np.zeros((3, 2), F32))
    launch = lambda: amp.parallel_for_each(  # noqa: E731
        accelerator_view, amp.extent(2), functions_as_arguments, stepped, stepped, out
    )
    launch()
    same(np.asarray(out)[1], [14, 15])
    monkeypatch.setitem(globals(), "STEP", 100)
    launch()
    same(np.asarray(out)[1], [200, 201])
    monkeypatch.setitem(globals(), "STEP", 0.5)
    launch_other = np.zeros((3, 2), F32)
    view = amp.array_view(launch_other)
    amp.parallel_for_each(accelerator_view, amp.extent(2), steps_of_floats, view)
    same(np.asarray(view)[0], [1.0, 2.0])


@amp.kernel
def steps_of_floats(i, out):
    out[0, i[0]] = stepped(i[0] + 0.5)


def inner_helper():
    @amp.func
    def helper(x):
        return x * 2

    return helper


def outer_helper():
    inner = inner_helper()

    @amp.func
    def helper(x):
        return inner(x) + inner(x + 1)

    return helper


def test_functions_of_one_name(accelerator_view):
    helper = outer_helper()
    double = inner_helper()
    out = amp.array_view(np.zeros(4, I32))

    @amp.parallel_for_each(accelerator_view, out.extent)
    def _(i):
        out[i] = helper(i[0]) * 100 + double(i[0])

    k = np.arange(4)
    same(np.asarray(out), (4 * k + 2) * 100 + 2 * k)


@amp.func
def below(values, i):
    """Two results that may be negative."""
    low = values[i]
    for k in range(3):
        low -= k
    return low, low - 1


@amp.func
def weighed(values, i):
    total = 0
    for k in range(3):
        if k == 1 and values[i] > 0:
            return values[i]
        total += values[i] * k
    return total


@amp.kernel
def divides_results(i, values, out):
    one, other, third = 5, 7, 9
    one, other = below(values, i)
    third = weighed(values, i)
    out[0, i[0]] = one // 3
    out[1, i[0]] = other % 3
    out[2, i[0]] = third // 4


def test_results_are_not_taken_for_what_was_there_before(accelerator_view):
    """Not negative before a call, the variables may be so behind it: a quotient is rounded down there."""
    x = np.arange(-20, 21, dtype=I32)
    values, out = amp.array_view(x), amp.array_view(np.zeros((3, x.size), I32))
    amp.parallel_for_each(accelerator_view, values.extent, divides_results, values, out)
    third = np.where(x > 0, x, 3 * x)
    same(np.asarray(out), [(x - 3) // 3, (x - 4) % 3, third // 4])
