"""Float arithmetic: operators, floor division and modulo of every sign, NaN, contraction, exactness."""

# ruff: noqa: B007, SIM201

from __future__ import annotations

import math

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, pairs, rows, same_rows

# No denormals: some devices flush them to zero, as AMP allows.
FLOATS = [0.0, 1.0, -1.0, 0.5, -0.75, 3.25, -7.5, 100.0, -1e6, 1e-3, 0.1, -0.3, 123456.7, 7.0, -4.0]
SPECIAL = [0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan]


@amp.kernel
def operators(i, a, b, out):
    k = i[0]
    x, y = a[k], b[k]
    out[0, k] = x + y
    out[1, k] = x - y
    out[2, k] = x * y
    out[3, k] = -x
    out[4, k] = +x
    out[5, k] = x + 1
    out[6, k] = 2 - x
    out[7, k] = x * 0.5
    out[8, k] = x**2
    out[9, k] = x**1
    out[10, k] = x**0
    out[11, k] = abs(x)
    out[12, k] = min(x, y)
    out[13, k] = max(x, y)
    out[14, k] = min(x, 1)
    out[15, k] = max(x, -0.5, y)


def test_operators(accelerator_view):
    x, y = pairs([*FLOATS, math.inf, -math.inf, math.nan], F32)
    with np.errstate(all="ignore"):
        same_rows(
            rows(accelerator_view, operators, 16, F32, x, y),
            {
                "x + y": x + y,
                "x - y": x - y,
                "x * y": x * y,
                "-x": -x,
                "+x": x,
                "x + 1": x + F32(1),
                "2 - x": F32(2) - x,
                "x * 0.5": x * F32(0.5),
                "x**2": x * x,
                "x**1": x,
                "x**0": np.ones_like(x),
                "abs": np.abs(x),
                "min": np.fmin(x, y),
                "max": np.fmax(x, y),
                "min(x, 1)": np.fmin(x, F32(1)),
                "max(x, -0.5, y)": np.fmax(np.fmax(x, F32(-0.5)), y),
            },
        )


@amp.kernel
def division(i, a, b, out):
    k = i[0]
    out[0, k] = a[k] / b[k]
    out[1, k] = 1 / b[k]
    out[2, k] = a[k] / 4
    out[3, k] = k / 3
    out[4, k] = 7 / 2 * a[k]


def test_true_division(accelerator_view):
    x, y = pairs([v for v in FLOATS if v], F32)
    k = np.arange(len(x))
    result = rows(accelerator_view, division, 5, F32, x, y)
    # Vulkan allows 2.5 ulp for a division.
    np.testing.assert_allclose(result[0], x / y, rtol=4e-7)
    np.testing.assert_allclose(result[1], 1 / y, rtol=4e-7)
    np.testing.assert_array_equal(result[2], x / 4)
    np.testing.assert_allclose(result[3], k / 3, rtol=4e-7)
    np.testing.assert_array_equal(result[4], F32(3.5) * x)


@amp.kernel
def floors(i, a, b, out):
    k = i[0]
    x, y = a[k], b[k]
    out[0, k] = x // y
    out[1, k] = x % y
    out[2, k] = x // 2
    out[3, k] = x % 2
    out[4, k] = x // -0.5
    out[5, k] = x % -0.5
    out[6, k] = 10 // y
    out[7, k] = 10 % y
    out[8, k] = x // 1
    out[9, k] = x % 1


def test_floor_division_and_modulo_of_every_sign(accelerator_view):
    x, y = pairs([*FLOATS, 5.0, -5.0, 6.0, 1e7, -3.0], F32)
    keep = y != 0
    x, y = x[keep], y[keep]
    ten = F32(10)
    expected = {
        "x // y": x // y,
        "x % y": x % y,
        "x // 2": x // F32(2),
        "x % 2": x % F32(2),
        "x // -0.5": x // F32(-0.5),
        "x % -0.5": x % F32(-0.5),
        "10 // y": ten // y,
        "10 % y": ten % y,
        "x // 1": np.floor(x),
        "x % 1": x % F32(1),
    }
    result = rows(accelerator_view, floors, 10, F32, x, y)
    # A quotient of more digits than a float32 has is as exact as the device's division.
    for row, exact in zip(result, expected.values(), strict=True):
        large = np.abs(exact) >= 2**22
        np.testing.assert_allclose(row[large], exact[large], rtol=4e-7)
        row[large] = exact[large]
    same_rows(result, expected)


def test_floor_division_of_random_floats(accelerator_view):
    random = np.random.default_rng(3)
    x = (random.standard_normal(300) * 1000).astype(F32)
    y = (random.standard_normal(300) * 10).astype(F32)
    result = rows(accelerator_view, floors, 10, F32, x, y)
    same_rows(result[:2], {"x // y": x // y, "x % y": x % y})


@amp.kernel
def comparisons(i, a, b, out):
    k = i[0]
    x, y = a[k], b[k]
    out[0, k] = x == y
    out[1, k] = x != y
    out[2, k] = x < y
    out[3, k] = x <= y
    out[4, k] = x > y
    out[5, k] = x >= y
    out[6, k] = not x == y
    out[7, k] = not x < y
    out[8, k] = not x >= y
    out[9, k] = not (x != y)
    out[10, k] = x < 1
    out[11, k] = 1 <= y
    out[12, k] = x < y < 5
    out[13, k] = -10 < x <= y != 3
    out[14, k] = x == x
    out[15, k] = 1 if x else 0
    out[16, k] = not x
    out[17, k] = x < y or x > y
    out[18, k] = bool(x and y)
    out[19, k] = bool(x) != bool(y)
    out[20, k] = 1 if x < y else -1


def test_comparisons_with_nan(accelerator_view):
    x, y = pairs([*SPECIAL, 3.0, 4.0, -20.0], F32)
    same_rows(
        rows(accelerator_view, comparisons, 21, I32, x, y),
        {
            "==": x == y,
            "!=": x != y,
            "<": x < y,
            "<=": x <= y,
            ">": x > y,
            ">=": x >= y,
            "not ==": ~(x == y),
            "not <": ~(x < y),
            "not >=": ~(x >= y),
            "not !=": ~(x != y),
            "x < 1": x < 1,
            "1 <= y": y >= 1,
            "x < y < 5": (x < y) & (y < 5),
            "-10 < x <= y != 3": (-10 < x) & (x <= y) & (y != 3),
            "x == x": x == x,
            "if x": x != 0,
            "not x": x == 0,
            "or": (x < y) | (x > y),
            "and": (x != 0) & (y != 0),
            "bool() != bool()": (x != 0) != (y != 0),
            "select": np.where(x < y, 1, -1),
        },
    )


@amp.kernel
def infinite_constants(i, a, out):
    k = i[0]
    x = a[k]
    out[0, k] = x * 1e30 * 1e30
    out[1, k] = amp.fast_math.fmax(x, math.nan)
    out[2, k] = math.inf
    out[3, k] = -math.inf + x
    out[4, k] = math.pi * x
    out[5, k] = 3.4028234e38 if x > 0 else -3.4028234e38
    out[6, k] = 1.1754944e-38
    out[7, k] = 16777217
    out[8, k] = 0.1 + x


def test_infinite_and_extreme_constants(accelerator_view):
    x = np.array([1.5, -2.25, 3.0], F32)
    same_rows(
        rows(accelerator_view, infinite_constants, 9, F32, x),
        {
            "overflow": np.copysign(F32(np.inf), x),
            "fmax(x, nan)": x,
            "inf": np.inf,
            "-inf + x": -np.inf,
            "pi * x": F32(math.pi) * x,
            "max": np.where(x > 0, F32(3.4028234e38), F32(-3.4028234e38)),
            "tiny": F32(1.1754944e-38),
            "2**24 + 1": F32(16777217),
            "0.1 + x": F32(0.1) + x,
        },
    )


@amp.kernel
def _numbers_in_strings(i, a, out):
    k = i[0]
    least = float("inf")
    for j in range(3):
        least = min(least, a[j])
    out[0, k] = least
    out[1, k] = float("-Infinity") + a[k]
    out[2, k] = float("nan")
    out[3, k] = np.float32(" 1_0.5e-1 ") * int("-12")


def test_numbers_in_strings(accelerator_view):
    x = np.array([1.5, -2.25, 3.0], F32)
    same_rows(
        rows(accelerator_view, _numbers_in_strings, 4, F32, x),
        {"least": x * 0 + x.min(), "-inf": x - np.inf, "nan": x * np.nan, "product": x * 0 + F32("1.05") * -12},
    )


@amp.kernel(precise=True)
def exact_chain(i, a, b, c, out):
    k = i[0]
    x, y, z = a[k], b[k], c[k]
    product = x * y + z
    out[0, k] = product
    out[1, k] = x * x - y * y
    out[2, k] = (x + y) - (z - x) * 3.0
    total = 0.0
    for n in range(5):
        total += x * y
        total = total * z - y
    out[3, k] = total
    if x * y + z > product:
        total = -1.0
    out[4, k] = total
    out[5, k] = max(x * y - z, x + y * z) - x * 0.1
    out[6, k] += x * y
    out[7, k] = squares(x, y) + x * y


@amp.func
def squares(x, y):
    return x * x + y * y


def expected_chain(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> dict[str, np.ndarray]:
    total = np.zeros_like(x)
    for _ in range(5):
        total = total + x * y
        total = total * z - y
    return {
        "x * y + z": x * y + z,
        "x * x - y * y": x * x - y * y,
        "nested": (x + y) - (z - x) * F32(3),
        "loop": total,
        "condition": total,
        "max": np.maximum(x * y - z, x + y * z) - x * F32(0.1),
        "+=": F32(77) + x * y,
        "call": (x * x + y * y) + x * y,
    }


def normal_floats(count: int, seed: int) -> list[np.ndarray]:
    """Random floats far from denormals, which SwiftShader flushes to zero."""
    random = np.random.default_rng(seed)
    return [
        (random.choice([-1, 1], count) * random.uniform(1, 2, count) * 2.0 ** random.integers(-8, 9, count)).astype(F32)
        for _ in range(3)
    ]


@pytest.mark.accelerators("drivers")
def test_precise_kernels_are_exact(accelerator_view):
    x, y, z = normal_floats(10_000, 11)
    same_rows(rows(accelerator_view, exact_chain, 8, F32, x, y, z), expected_chain(x, y, z))


def test_precise_kernels_are_exact_on_the_reference_too(accelerator_view):
    x, y, z = normal_floats(200, 12)
    same_rows(rows(accelerator_view, exact_chain, 8, F32, x, y, z), expected_chain(x, y, z))


@amp.kernel(precise=True)
def exact_roots(i, a, b, out):
    k = i[0]
    x, y = a[k], b[k]
    out[0, k] = x / y
    out[1, k] = amp.fast_math.sqrt(x * x + y * y)
    out[2, k] = math.floor(x / y) + math.ceil(x) - math.trunc(y)


@pytest.mark.accelerators("drivers")
def test_division_and_root_are_within_vulkans_bounds(accelerator_view):
    x, y, _ = normal_floats(1_000, 14)
    quotient, root, _ = rows(accelerator_view, exact_roots, 3, F32, x, y)
    # Vulkan: 2.5 ulp for a division; a root is one over an inverse root of 2 ulp.
    assert np.max(np.abs(quotient - x / y) / np.spacing(np.abs(x / y))) <= 3
    expected = np.sqrt(x * x + y * y)
    assert np.max(np.abs(root - expected) / np.spacing(expected)) <= 5


# Vulkan lets a driver round these; the CPU drivers and the reference round them right.
@pytest.mark.accelerators("swiftshader", "llvmpipe", "reference")
def test_precise_division_and_root(accelerator_view):
    x, y, _ = normal_floats(1_000, 13)
    result = rows(accelerator_view, exact_roots, 3, F32, x, y)
    same_rows(
        result,
        {
            "/": x / y,
            "sqrt": np.sqrt(x * x + y * y),
            "whole": np.floor(x / y) + np.ceil(x) - np.trunc(y),
        },
    )
