"""Distances in units of the last place, and the messages of what is further off."""

from __future__ import annotations

import math

import numpy as np
import pytest

import vkamp as amp
from vkamp.testing import assert_allclose_ulp, ulp_distance

LARGEST = np.finfo(np.float32).max
SMALLEST = np.float32(1e-45)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_neighbours_are_one_apart(dtype):
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2 ** (8 * np.dtype(dtype).itemsize) - 1, 2000, np.uint64)
    values = bits.astype(f"u{np.dtype(dtype).itemsize}").view(dtype)
    values = values[np.isfinite(values) & (values != np.finfo(dtype).max)]
    up = np.nextafter(values, dtype(np.inf))
    assert values.size > 1800
    assert set(ulp_distance(values, up)) == set(ulp_distance(up, values)) == {1.0}


@pytest.mark.parametrize(
    ("one", "other", "far"),
    [
        (0.0, -0.0, 0),
        (SMALLEST, -SMALLEST, 2),
        (-1.0, 1.0, 2 * 0x3F800000),
        (math.nan, math.nan, 0),
        (math.nan, 1.0, math.inf),
        (1.0, math.nan, math.inf),
        (math.inf, math.inf, 0),
        (math.inf, -math.inf, math.inf),
        (math.inf, LARGEST, math.inf),
        (LARGEST, math.inf, math.inf),
    ],
)
def test_special_values(one, other, far):
    assert ulp_distance(np.float32(one), np.float32(other)) == far


def test_extremes_of_double_precision():
    most = np.finfo(np.float64).max
    assert ulp_distance(most, -most) == 2.0 * 0x7FEFFFFFFFFFFFFF
    assert ulp_distance(np.float64(1), np.nextafter(1.0, 2.0)) == 1


def test_what_is_expected_is_rounded_to_the_type_of_what_is_there():
    assert ulp_distance(np.float32(0.1), 0.1) == 0
    assert ulp_distance(np.float32(1), 1e300) == math.inf


@pytest.mark.parametrize(
    ("dtype", "one", "other", "far"),
    [
        (np.int32, -(2**31), 2**31 - 1, 2**32 - 1),
        (np.uint32, 0, 2**32 - 1, 2**32 - 1),
        (np.uint64, 2**64 - 1, 0, 2.0**64),
        (np.int8, -128, 127, 255),
        (np.bool_, True, False, 1),
    ],
)
def test_integers(dtype, one, other, far):
    assert ulp_distance(dtype(one), dtype(other)) == ulp_distance(dtype(other), dtype(one)) == far


def test_shapes_are_kept_and_broadcast():
    values = np.arange(6, dtype=np.float32).reshape(3, 2).T
    assert ulp_distance(values, values).shape == (2, 3)
    assert ulp_distance(values, 0).tolist()[0][0] == 0


def test_other_types_are_refused():
    with pytest.raises(TypeError, match=r"^distances are between integers or floats, not complex64$"):
        ulp_distance(np.complex64(1), 1)


# -- assert_allclose_ulp -------------------------------------------------------------------------------------------


def refused(*args, **options) -> str:
    with pytest.raises(AssertionError) as caught:
        assert_allclose_ulp(*args, **options)
    return str(caught.value)


def steps(value: float, count: int) -> np.float32:
    """The float ``count`` places after another."""
    return (np.float32(value).view(np.int32) + np.int32(count)).view(np.float32)


def test_within_the_tolerance():
    expected = np.array([[1.0, 2.0, 3.0]], np.float32)
    actual = np.array([[steps(1.0, 4), steps(2.0, -4), 3.0]], np.float32)
    assert_allclose_ulp(actual, expected, ulp=4)
    assert_allclose_ulp(expected, expected)
    assert_allclose_ulp([], [])


def test_the_worst_go_first():
    expected = np.ones((4, 3), np.float32)
    actual = expected.copy()
    for k in range(7):
        actual.flat[k + 2] = steps(1.0, k + 1)
    assert refused(actual, expected, ulp=1, name="sums") == (
        "sums: 6 of 12 elements are further off than 1 ulp\n"
        "  sums[2, 2] is 1.0000008 instead of 1.0, 7 ulp off\n"
        "  sums[2, 1] is 1.0000007 instead of 1.0, 6 ulp off\n"
        "  sums[2, 0] is 1.0000006 instead of 1.0, 5 ulp off\n"
        "  sums[1, 2] is 1.0000005 instead of 1.0, 4 ulp off\n"
        "  sums[1, 1] is 1.0000004 instead of 1.0, 3 ulp off\n"
        "  and 1 more"
    )


def test_an_absolute_tolerance_is_enough():
    actual, expected = np.array([1e-9, 5.0], np.float32), np.array([0.0, 5.0], np.float32)
    assert_allclose_ulp(actual, expected, atol=1e-8)
    assert refused(actual, expected, ulp=4, atol=1e-10) == (
        "actual: 1 of 2 elements is further off than 4 ulp and 1e-10\n"
        "  actual[0] is 1e-09 instead of 0.0, 814313567 ulp off"
    )


def test_nan_is_not_within_any_tolerance():
    assert refused(np.float32([math.nan, 1.0]), [1.0, 5.0], ulp=math.inf, atol=math.inf) == (
        "actual: 1 of 2 elements is further off than inf ulp and inf\n  actual[0] is nan instead of 1.0"
    )


def test_integers_are_equal_or_within_atol():
    actual, expected = np.array([7, 8], np.int32), np.array([7, 10], np.int32)
    assert refused(actual, expected, ulp=5) == "actual: 1 of 2 elements differs\n  actual[1] is 8 instead of 10"
    assert_allclose_ulp(actual, expected, atol=2)
    assert refused(actual, expected, atol=1) == (
        "actual: 1 of 2 elements is further off than 1\n  actual[1] is 8 instead of 10"
    )


def test_structs_are_compared_by_member():
    particle = np.dtype([("id", np.int32), ("at", [("x", np.float32), ("y", np.float32)])])
    expected = np.zeros(3, particle)
    actual = expected.copy()
    actual["at"]["y"][1], actual["id"][2] = 2.0, 9
    assert refused(actual, expected, ulp=2) == (
        "actual: 2 of 9 elements are further off than 2 ulp\n"
        "  actual[1].at.y is 2.0 instead of 0.0, 1073741824 ulp off\n"
        "  actual[2].id is 9 instead of 0"
    )


def test_containers():
    view = amp.array_view(np.array([1.0, 2.0], np.float32))
    assert_allclose_ulp(view, [1.0, 2.0])
    assert "actual[1] is 2.0 instead of 3.0" in refused(view, [1.0, 3.0])


def test_other_shapes():
    assert refused(np.zeros((2, 3)), np.zeros(3)) == "actual has the shape (2, 3) instead of (3,)"


@pytest.mark.parametrize("name", ["ulp", "atol"])
@pytest.mark.parametrize("value", [-1, math.nan])
def test_wrong_tolerances(name, value):
    with pytest.raises(ValueError, match=f"^{name} is {value!r}: it must be 0 or more$"):
        assert_allclose_ulp([1.0], [1.0], **{name: value})
