"""Python's floats as arguments: in a function they take the type of what they meet, as they would in its place."""

from __future__ import annotations

import math

import numpy as np
import pytest

import vkamp as amp

SCALE = 0.1


@amp.func
def scaled(a, b):
    return a * b


@amp.func
def deeper(a, b):
    return scaled(a, b) + scaled(a, b * 0.7)


@amp.func
def with_default(a, b=0.1):
    return a * b + 0.3


@amp.func
def with_types(a: amp.float64, b: amp.float32):
    return a * b


@amp.func
def converted_in_it(a, b):
    return amp.float64(a) * b


@amp.func
def of_a_tuple(a, t):
    return a * t[0] + t[1]


@amp.func
def in_a_loop(a, b):
    total = amp.float64(0)
    for k in range(3):
        total += a * b if k > 0 else b
    return total


@amp.func
def of_a_vector(a, b):
    return (a * b).y


@amp.func
def applied(f, a):
    return f(a, 0.1)


@amp.func
def assigned(a, b):
    b += 1.0
    return a * b


@amp.kernel
def called(idx, d, f, out):
    x = d[idx]
    add = lambda v, w: v + w  # noqa: E731
    out[0, idx[0]] = scaled(x, 0.1)
    out[1, idx[0]] = deeper(x, 0.1)
    out[2, idx[0]] = with_default(x)
    out[3, idx[0]] = scaled(x, SCALE)
    out[4, idx[0]] = with_types(x, 0.1)
    out[5, idx[0]] = converted_in_it(f[idx], 0.1)
    out[6, idx[0]] = of_a_tuple(x, (0.1, 0.7))
    out[7, idx[0]] = in_a_loop(x, 0.1)
    out[8, idx[0]] = scaled(x, 1e300)
    out[9, idx[0]] = add(x, 0.1)
    out[10, idx[0]] = scaled(1 / 3, x)
    out[11, idx[0]] = of_a_vector(amp.double2(x, x), 0.1)
    out[12, idx[0]] = applied(scaled, x)
    out[13, idx[0]] = scaled(f[idx], 0.1)
    out[14, idx[0]] = scaled(x, f[idx])
    out[15, idx[0]] = assigned(x, 0.5)


@amp.kernel
def written_out(idx, d, f, out):
    x = d[idx]
    out[0, idx[0]] = x * 0.1
    out[1, idx[0]] = x * 0.1 + x * (0.1 * 0.7)
    out[2, idx[0]] = x * 0.1 + 0.3
    out[3, idx[0]] = x * SCALE
    out[4, idx[0]] = x * 0.1
    out[5, idx[0]] = amp.float64(f[idx]) * 0.1
    out[6, idx[0]] = x * 0.1 + 0.7
    out[7, idx[0]] = amp.float64(0) + 0.1 + x * 0.1 + x * 0.1
    out[8, idx[0]] = x * 1e300
    out[9, idx[0]] = x + 0.1
    out[10, idx[0]] = (1 / 3) * x
    out[11, idx[0]] = (amp.double2(x, x) * 0.1).y
    out[12, idx[0]] = x * 0.1
    out[13, idx[0]] = f[idx] * 0.1
    out[14, idx[0]] = x * f[idx]
    out[15, idx[0]] = x * 1.5


def results(view, kernel) -> np.ndarray:
    d, f = np.array([1.7, -3.3, 1e-3]), np.array([1.3, -2.7, 1e3], np.float32)
    out = amp.array_view(np.zeros((16, 3)))
    amp.parallel_for_each(view, amp.extent(3), kernel, amp.array_view(d), amp.array_view(f), out)
    return np.asarray(out)


@pytest.mark.parametrize("device", ["llvmpipe@vulkan", "reference"])
def test_floats_meet_float64_as_in_the_expression(device):
    view = amp.accelerator(device).default_view
    np.testing.assert_array_equal(results(view, called), results(view, written_out))


def test_a_changed_scale_stays_exact():
    """From its second change on it is a value of the launch."""
    global SCALE
    view = amp.accelerator("reference").default_view
    try:
        for value in (0.1, 0.3, 0.7):
            SCALE = value
            assert results(view, called)[3, 0] == 1.7 * value
    finally:
        SCALE = 0.1


def test_floats_meet_float16_as_in_the_expression(accelerator_view):
    @amp.kernel
    def halves(idx, h, out, plain):
        out[idx] = scaled(h[idx], 0.1)
        plain[idx] = h[idx] * 0.1

    raw = np.array([1.7, -3.3, 1e-3, 30000.0], np.float16)
    h, out, plain = amp.array_view(raw), *(amp.array_view(np.zeros(4, np.float32)) for _ in range(2))
    amp.parallel_for_each(accelerator_view, out.extent, halves, h, out, plain)
    np.testing.assert_array_equal(np.asarray(out), np.asarray(plain))


def test_functions_of_float32_are_shared():
    """A literal argument needs no further copy of the function where all floats are float32."""

    @amp.kernel
    def plain(idx, f, out):
        out[idx] = scaled(f[idx], 0.1) + scaled(f[idx], f[idx]) + scaled(f[idx], SCALE)

    f, out = (amp.array_view(np.zeros(4, np.float32)) for _ in range(2))
    assert plain.inspect(out.extent, f, out).glsl.count("float scaled") == 1


@amp.func
def by_builtins(a, b):
    return a * abs(b) + a * max(b, 0.0) + min(a, b) + a * math.sqrt(b)


@amp.func
def by_operators(a, b):
    return a * -b + a * b**2 + a**b + a // b + a * (b / 3)


@amp.func
def by_choices(a, b):
    return a * (b if a > 0 else 1.0) + a * (b or 1.0) + a * sum(x for x in (b, b))


@amp.func
def by_a_variable(a, b):
    c = b * 2.0
    d = 0.7
    return a * c + d


@amp.func
def by_a_nested_function(a, b):
    def inner(x):
        return x * b

    return inner(a) + b


@pytest.mark.parametrize(
    "function",
    [by_builtins, by_operators, by_choices, by_a_variable, by_a_nested_function],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("device", ["llvmpipe@vulkan", "reference"])
def test_weak_floats_stay_exact(device, function):
    """As on the host, where a Python float is one of double precision."""

    @amp.kernel
    def run(idx, d, out):
        out[idx] = function(d[idx], 0.1)

    d = np.array([1.7, 3.3, 1e-3])
    out = amp.array_view(np.zeros(3))
    amp.parallel_for_each(amp.accelerator(device).default_view, out.extent, run, amp.array_view(d), out)
    np.testing.assert_allclose(np.asarray(out), [function(x, 0.1) for x in d], rtol=1e-14)


@amp.func
def chosen(p):
    x = 3.0 if p > 0 else 0.5
    y = x * 2
    return y


@amp.kernel
def choices(idx, p, out):
    x = 3.0 if p[idx] > 0 else 0.5
    unused = 2 * x if p[idx] > 1 else x  # noqa: F841
    out[idx] = x + chosen(p[idx])


def test_a_choice_between_floats_needs_no_float64(accelerator_view):
    """SwiftShader has none: what is kept in double precision for nothing goes."""
    p, out = amp.array_view(np.array([0, 1, 2], np.int32)), amp.array_view(np.zeros(3, np.float32))
    amp.parallel_for_each(accelerator_view, p.extent, choices, p, out)
    np.testing.assert_array_equal(out, np.array([1.5, 9, 9], np.float32))


@amp.kernel
def exact_choices(idx, p, out):
    x = 0.1 if p[idx] > 0 else 0.2
    y = 0.3 if p[idx] > 1 else x
    out[idx] = out[idx] + y


@pytest.mark.accelerators("reference")
def test_a_choice_between_floats_meets_float64_exactly(accelerator_view):
    p, out = amp.array_view(np.array([0, 1, 2], np.int32)), amp.array_view(np.zeros(3, np.float64))
    amp.parallel_for_each(accelerator_view, p.extent, exact_choices, p, out)
    np.testing.assert_array_equal(out, [0.2, 0.1, 0.3])
