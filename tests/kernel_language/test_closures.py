"""Nested functions and lambdas: captures by value, defaults, passing them on, recursion and late assignment refused."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, rows, same_rows

SCALE = 3


@amp.func
def twice(f, x):
    return f(f(x))


@amp.func
def fold(f, start, n):
    total = start
    for k in range(n):
        total = f(total, k)
    return total


@amp.func
def with_helper(x, bias):
    def helper(y):
        return y * 2 + bias

    return helper(x) + helper(bias)


@amp.kernel
def nested(i, a, b, out):
    k = i[0]
    x, y = a[k], b[k]
    offset = x - 1.0
    size = 4

    def shifted(z, by=2):
        if z > 0.0:
            return z + offset
        return z - by

    square = lambda z: z * z  # noqa: E731
    both = lambda z: square(shifted(z))  # noqa: E731

    def local_array(z):
        values = amp.private(size, amp.float32)
        for j in range(size):
            values[j] = z * j
        return values[3]

    def inner(z):
        def innermost(w):
            return w + z + offset

        return innermost(1.0) * SCALE

    out[0, k] = shifted(y)
    out[1, k] = shifted(y, 5)
    out[2, k] = both(y)
    out[3, k] = twice(square, y)
    out[4, k] = twice(lambda z: z + offset, y)
    out[5, k] = fold(lambda t, j: t + j * offset, y, size)
    out[6, k] = local_array(y)
    out[7, k] = inner(y)
    out[8, k] = with_helper(x, y)
    out[9, k] = twice(shifted, y)


def test_functions_in_kernels(accelerator_view):
    a = np.array([0.5, -2, 3, 8, -1, 0, 7.25], F32)
    b = np.array([1, -3, 0, 2, -0.5, 4, 1.5], F32)
    o = a - 1

    def shifted(z, by=2.0):
        return np.where(z > 0, z + o, z - F32(by))

    expected = {
        "a nested function": shifted(b),
        "a default replaced": shifted(b, 5),
        "a lambda that calls both": shifted(b) ** 2,
        "a lambda as an argument": (b * b) ** 2,
        "a lambda with a capture as an argument": b + o + o,
        "a lambda called in a loop": b + 6 * o,
        "a constant captured as a size": b * 3,
        "functions three deep": (1 + b + o) * SCALE,
        "in a device function": (a * 2 + b) + (b * 2 + b),
        "a nested function as an argument": shifted(shifted(b)),
    }
    same_rows(rows(accelerator_view, nested, len(expected), F32, a, b), expected)


def test_a_closure_captures_containers_and_numbers(accelerator_view):
    data = amp.array_view(np.arange(6, dtype=F32))
    out = amp.array_view(np.zeros(6, F32))
    factor = 2.5

    @amp.parallel_for_each(accelerator_view, amp.extent(6))
    def _(i):
        def at(j):
            return data[j] * factor

        out[i] = at(i) + at(5 - i[0])

    assert np.asarray(out).tolist() == [12.5] * 6


@amp.kernel
def tiles(t_idx, data, out):
    values = amp.tile_static(t_idx.tile_extent, amp.float32)

    def load():
        values[t_idx.local] = data[t_idx]
        t_idx.barrier.wait_with_tile_static_memory_fence()

    load()
    reverse = lambda: values[t_idx.tile_dim0 - 1 - t_idx.local[0]]  # noqa: E731
    out[t_idx] = reverse()


def test_nested_functions_share_the_tile(accelerator_view):
    data = np.arange(12, dtype=F32)
    out = amp.array_view(np.zeros(12, F32))
    amp.parallel_for_each(accelerator_view, amp.extent(12).tile(4), tiles, amp.array_view(data), out)
    same = data.reshape(3, 4)[:, ::-1].ravel()
    assert np.asarray(out).tolist() == same.tolist()


@amp.kernel
def arrays(i, out):
    k = i[0]
    values = amp.private(3, amp.int32)
    for j in range(3):
        values[j] = j * k

    def add(j, by):
        values[j] += by
        return values[j]

    first = add(1, 5)
    out[0, k] = first
    out[1, k] = values[1]
    for m in amp.static_range(2):
        scaled = lambda x: x * (m + 1)  # noqa: E731, B023
        out[2 + m, k] = scaled(values[2])


def test_captured_arrays_are_references_as_in_python(accelerator_view):
    out = amp.array_view(np.zeros((4, 5), I32))
    amp.parallel_for_each(accelerator_view, amp.extent(5), arrays, out)
    k = np.arange(5)
    assert np.array_equal(np.asarray(out), [k + 5, k + 5, 2 * k, 4 * k])


def test_a_parameter_of_a_nested_function_hides_a_name_outside(accelerator_view):
    x = amp.array_view(np.full(3, 7, F32))
    out = amp.array_view(np.zeros(3, F32))

    @amp.parallel_for_each(accelerator_view, amp.extent(3))
    def _(i):
        def half(x):
            y = x / 2
            return y

        out[i] = half(3.0) + x[i]

    assert np.asarray(out).tolist() == [8.5] * 3


def test_names_of_nested_functions_are_their_own():
    view = amp.array_view(np.zeros(3, F32))

    @amp.kernel
    def run(i, out):
        def half(hidden):
            inner = hidden / 2
            return inner

        out[i] = half(3.0)
        out[i] += inner  # noqa: F821

    with pytest.raises(amp.CompileError, match="`inner` is not defined"):
        run.inspect(amp.extent(3), view)


def test_device_functions_with_nested_functions_work_on_the_host():
    assert with_helper(2.0, 3.0) == (2 * 2 + 3) + (3 * 2 + 3)
    assert twice(lambda x: x * x, 3) == 81


@amp.func
def power(x, *, n: amp.constant):
    return 1 if n == 0 else x * power(x, n=n - 1)


@amp.kernel
def powers(i, out):
    out[i] = power(i[0], n=3) + twice(lambda x: twice(lambda y: y + x, x), 1)


def test_a_function_may_call_itself_for_other_constants_and_functions(accelerator_view):
    out = amp.array_view(np.zeros(4, I32))
    amp.parallel_for_each(accelerator_view, out.extent, powers, out)
    assert np.asarray(out).tolist() == [k**3 + 9 for k in range(4)]


@amp.func
def endless(x, *, n: amp.constant):
    return endless(x, n=n + 1)


@amp.kernel
def ends_never(i, out):
    out[i] = endless(i[0], n=0)


def test_endless_forms_are_recursion():
    with pytest.raises(amp.CompileError, match="VKA204: `endless` calls itself"):
        ends_never.inspect(amp.extent(3), amp.array_view(np.zeros(3, I32)))


@amp.kernel
def keyword_defaults(i, values):
    def scaled(x, offset=4, *, by=3, plus=5):
        return x * by + plus + offset

    values[i] = scaled(values[i]) + scaled(1, 0, by=2)


def test_keyword_parameters_of_nested_functions_have_defaults(accelerator_view):
    values = amp.array_view(np.arange(10, 15, dtype=I32))
    amp.parallel_for_each(accelerator_view, values.extent, keyword_defaults, values)
    k = np.arange(5)
    assert np.asarray(values).tolist() == ((k + 10) * 3 + 4 + 5 + 2 + 5).tolist()


@amp.kernel
def keywords_after_any_arguments(i, values):
    def folded(*items, by=2, plus=0):
        return sum(items) * by + plus

    longest = lambda first, *rest, factor: first + len(rest) * factor  # noqa: E731
    values[i] = folded(values[i], 1, by=3) + folded(plus=7) + longest(5, 6, 7, factor=values[i])


def test_nested_functions_take_keywords_after_any_arguments(accelerator_view):
    values = amp.array_view(np.arange(10, 15, dtype=I32))
    amp.parallel_for_each(accelerator_view, values.extent, keywords_after_any_arguments, values)
    k = np.arange(10, 15)
    assert np.asarray(values).tolist() == ((k + 1) * 3 + 7 + 5 + 2 * k).tolist()


@amp.kernel
def tuples_as_defaults(i, values):
    def weighted(weights=(1, 2), *, scales=((3, 4), 5), shifts=()):
        return weights[0] * scales[1] + weights[1] + scales[0][1] + len(shifts)

    values[i] = weighted() + weighted((i[0], values[i])) + weighted(scales=((0, 0), values[i]), shifts=(1,))


def test_tuples_are_defaults_of_nested_functions(accelerator_view):
    values = amp.array_view(np.arange(10, 15, dtype=I32))
    amp.parallel_for_each(accelerator_view, values.extent, tuples_as_defaults, values)
    k = np.arange(5)
    assert np.asarray(values).tolist() == (11 + k * 5 + (k + 10) + 4 + (k + 10) + 2 + 1).tolist()


@amp.kernel
def functions_in_a_loop_with_else(i, out):
    total = i[0]
    for step in amp.static_range(3):
        for _ in range(2):
            if total > 20:
                break

            def more(x):
                return x + step  # noqa: B023

            twice = lambda x: more(x) * 2  # noqa: E731
            total = twice(total)
        else:
            total += 1
    out[i] = total


def test_unrolled_loops_with_else_define_the_same_functions_again(accelerator_view):
    out = amp.array_view(np.zeros(6, np.int32))
    amp.parallel_for_each(accelerator_view, out.extent, functions_in_a_loop_with_else, out)
    expected = []
    for total in range(6):
        for step in range(3):
            for _ in range(2):
                if total > 20:
                    break
                total = (total + step) * 2
            else:
                total += 1
        expected.append(total)
    assert np.asarray(out).tolist() == expected
