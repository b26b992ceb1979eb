"""Functions of Python's ``math`` that are not single functions of GLSL, compared with Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

import vkamp as amp

INTS = np.array([0, 1, -1, 12, -18, 35, 2**30, -(2**31), 97, 4, 6, 2**31 - 1, -8], np.int32)
UINTS = np.array([0, 1, 4, 12, 18, 35, 2**31, 2**32 - 1, 97, 3 * 2**20, 6, 7], np.uint32)
FLOATS = np.array([0.0, 1.0, 1.0000001, -2.5, 1e20, -1e20, 3e-5, 1000.0, math.inf, -math.inf, math.nan], np.float32)


def wrapped(value: int, dtype: type) -> int:
    return int(np.array(value & 0xFFFFFFFF, np.uint32).view(dtype))


@pytest.mark.parametrize("numbers", [INTS, UINTS], ids=["int32", "uint32"])
def test_divisors(accelerator_view, numbers):
    @amp.kernel
    def divisors(idx, n, out):
        a, b = n[idx[1]], n[idx[2]]
        if idx[0] == 0:
            out[idx] = math.gcd(a, b)
        elif idx[0] == 1:
            out[idx] = math.lcm(a, b)
        elif idx[0] == 2:
            out[idx] = math.gcd(a, 12, b)
        else:
            out[idx] = math.gcd(a) + math.lcm(4, 6)

    count = len(numbers)
    out = amp.array_view(np.zeros((4, count, count), numbers.dtype))
    amp.parallel_for_each(accelerator_view, out.extent, divisors, amp.array_view(numbers), out)
    plain = [int(n) for n in numbers]
    expected = [
        [[f(a, b) for b in plain] for a in plain]
        for f in (math.gcd, math.lcm, lambda a, b: math.gcd(a, 12, b), lambda a, b: math.gcd(a) + 12)
    ]
    kind = numbers.dtype.type
    assert np.asarray(out).tolist() == [[[wrapped(v, kind) for v in row] for row in table] for table in expected]


def test_isclose(accelerator_view):
    @amp.kernel
    def close(idx, x, out):
        a, b = x[idx[1]], x[idx[2]]
        if idx[0] == 0:
            out[idx] = math.isclose(a, b)
        elif idx[0] == 1:
            out[idx] = math.isclose(a, b, rel_tol=1e-6)
        elif idx[0] == 2:
            out[idx] = math.isclose(a, b, abs_tol=2.0)
        else:
            out[idx] = math.isclose(a, b, rel_tol=0.5, abs_tol=0.1)

    finite = FLOATS[:-3] if accelerator_view.accelerator.device_path != "reference" else FLOATS
    count = len(finite)
    out = amp.array_view(np.zeros((4, count, count), np.int32))
    amp.parallel_for_each(accelerator_view, out.extent, close, amp.array_view(finite), out)
    options = [{}, {"rel_tol": 1e-6}, {"abs_tol": 2.0}, {"rel_tol": 0.5, "abs_tol": 0.1}]
    plain = [float(x) for x in finite]
    assert np.asarray(out).tolist() == [[[int(math.isclose(a, b, **o)) for b in plain] for a in plain] for o in options]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.float64], ids=lambda t: t.__name__)
def test_angles(accelerator_view, dtype):
    if dtype is np.float64 and not accelerator_view.accelerator.supports_double_precision:
        with pytest.raises(amp.UnsupportedFeatureError):
            amp.parallel_for_each(accelerator_view, amp.extent(5), angles, *map(amp.array_view, angle_arrays(dtype)))
        return
    degrees, out = map(amp.array_view, angle_arrays(dtype))
    amp.parallel_for_each(accelerator_view, degrees.extent, angles, degrees, out)
    x = np.asarray(degrees).astype(np.float64)
    expected = [np.radians(x), np.degrees(x), x * 0 + math.pi, np.radians(x) + np.degrees(x)]
    np.testing.assert_allclose(np.asarray(out), expected, rtol=1e-14 if dtype is np.float64 else 1e-6)


@amp.kernel
def angles(idx, x, out):
    i = idx[0]
    out[0, i] = math.radians(x[i])
    out[1, i] = math.degrees(x[i])
    out[2, i] = math.radians(180)
    out[3, i] = np.radians(x[i]) + np.rad2deg(x[i])


def angle_arrays(dtype):
    out = np.float64 if dtype is np.float64 else np.float32
    return np.array([0, 30, -90, 180, 77]).astype(dtype), np.zeros((4, 5), out)


def test_lengths(accelerator_view):
    @amp.kernel
    def lengths(idx, x, out):
        a, b = x[idx[0], 0], x[idx[0], 1]
        v, w = amp.float3(a, b, 2.0), amp.float3(b, a, -1.0)
        out[0, idx[0]] = math.hypot(a, b, 3.0)
        out[1, idx[0]] = math.hypot(a)
        out[2, idx[0]] = math.dist((a, 1.0), (2.0, b))
        out[3, idx[0]] = math.dist(v, w)
        out[4, idx[0]] = math.hypot(3.0, 4.0, 12.0) + math.hypot(a, b, 1, 2, 3)
        out[5, idx[0]] = math.dist((1, 2), (4, 6)) + math.dist((a,), (b,))

    x = np.array([[1.5, -2.0], [0.0, 0.0], [-3.0, 1e5], [7.25, 0.125], [1e-3, 2e-3]], np.float32)
    out = amp.array_view(np.zeros((6, 5), np.float32))
    amp.parallel_for_each(accelerator_view, amp.extent(5), lengths, amp.array_view(x), out)
    expected = [
        [
            math.hypot(a, b, 3.0), math.hypot(a), math.dist((a, 1.0), (2.0, b)), math.dist((a, b, 2.0), (b, a, -1.0)),
            13.0 + math.hypot(a, b, 1, 2, 3), 5.0 + abs(a - b),
        ]
        for a, b in x.tolist()
    ]  # fmt: skip
    np.testing.assert_allclose(np.asarray(out), np.array(expected).T, rtol=2e-6)


def test_an_assert_with_an_f_string():
    @amp.kernel
    def positive(idx, n):
        assert n[idx] > 0, f"n[{idx[0]}] is {n[idx]:d}, not positive"

    n = amp.array_view(np.array([3, -1], np.int32))
    report = amp.check(amp.accelerator("reference").default_view, n.extent, positive, n)
    assert [f.kind for f in report.findings] == ["assert"]
    assert "n[{idx[0]}] is {n[idx]}, not positive" in str(report.findings[0])


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("round(x, 2)", "write `round(x * 100) / 100`"),
        ("pow(3, 4, 5) + x", "write a loop that takes the remainder after each product"),
        ("math.gcd(x, 2)", "VKA315: `math.gcd` takes integers, not float32"),
        ("math.dist((x, 1), (2, 3, 4))", "give both points as many coordinates"),
        ("max((x, 1.0), key=abs)", "of two items write `a if f(a) >= f(b) else b`"),
    ],
)
def test_what_to_write_instead(tmp_path, expression, message):
    path = tmp_path / "program.py"
    path.write_text(f"import math\n\n\ndef k(idx, xs):\n    x = xs[idx]\n    xs[idx] = {expression}\n")
    space: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    xs = amp.array_view(np.zeros(3, np.float32))
    with pytest.raises(amp.CompileError) as caught:
        amp.kernel(space["k"]).inspect(xs.extent, xs)
    assert message in str(caught.value)
