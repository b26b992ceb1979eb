"""Infinities, NaN and signs of zero in kernels, where drivers like to assume that there are none."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import vkamp as amp
from vkamp.run.module import read_module, with_special_values

VALUES = np.array([0, -0.0, 0.5, 1, -1, 2, np.nan, np.inf, -np.inf, 3e10], np.float32)


def choose(x, y):
    return x if x < y else y


def greater(x, y):
    return y if x <= y else x


def signed_zero(x, y):
    return (-0.0 if y < 0.0 else 0.0) if x == 0.0 else x


def itself(x, y):
    return x / x


def pairs():
    x, y = np.meshgrid(VALUES, VALUES)
    return x.ravel().copy(), y.ravel().copy()


def wrong(view, function, expected):
    """The pairs with another result, bit by bit; NaN have no bits."""
    x, y = pairs()

    @amp.kernel
    def kernel(idx, a, b, out):
        out[idx] = function(a[idx], b[idx])

    out = amp.array(amp.extent(x.size), np.float32, accelerator_view=view)
    amp.parallel_for_each(view, out.extent, kernel, amp.array_view(x), amp.array_view(y), out)
    found = np.asarray(out)
    same = (found.view(np.uint32) == expected.view(np.uint32)) | (np.isnan(found) & np.isnan(expected))
    return [(x[k], y[k], found[k]) for k in np.flatnonzero(~same)]


def test_choices(accelerator_view):
    x, y = pairs()
    assert wrong(accelerator_view, choose, np.where(x < y, x, y)) == []
    assert wrong(accelerator_view, greater, np.where(x <= y, y, x)) == []


def test_signs_of_zero(accelerator_view):
    x, y = pairs()
    expected = np.where(x == 0, np.where(y < 0, np.float32(-0.0), np.float32(0)), x).astype(np.float32)
    assert wrong(accelerator_view, signed_zero, expected) == []


def test_quotients(accelerator_view):
    x, _ = pairs()
    with np.errstate(all="ignore"):
        assert wrong(accelerator_view, itself, x / x) == []


@pytest.mark.vkamp_requires("zero_products")
def test_constants(accelerator_view):
    x, y = pairs()
    zero = np.float32(0)
    with np.errstate(all="ignore"):
        assert wrong(accelerator_view, lambda x, y: x * 0.0, x * zero) == []
        assert wrong(accelerator_view, lambda x, y: 0.0 / y, zero / y) == []
        assert wrong(accelerator_view, lambda x, y: x + 0.0, x + zero) == []
        assert wrong(accelerator_view, lambda x, y: x - x, x - x) == []


@pytest.mark.vkamp_requires("large_divisors")
def test_large_divisors(accelerator_view):
    values = np.array([26, 5, 7, 1e38, 3.4e38], np.float32)

    @amp.kernel
    def divide(idx, a, out):
        out[idx] = a[idx] / 3.4e38

    out = amp.array(amp.extent(5), np.float32, accelerator_view=accelerator_view)
    amp.parallel_for_each(accelerator_view, out.extent, divide, amp.array_view(values), out)
    np.testing.assert_allclose(np.asarray(out), values / np.float32(3.4e38), rtol=1e-6)


def test_the_module_declares_what_counts():
    @amp.kernel
    def kernel(idx, a):
        a[idx] = a[idx] * amp.float32(0.5)

    plain = kernel.inspect(amp.extent(8), amp.array_view(np.ones(8, np.float32))).spirv
    changed = with_special_values(plain, frozenset({16, 32, 64}))
    assert b"SPV_KHR_float_controls" in changed and b"SPV_KHR_float_controls" not in plain
    # OpExecutionMode main SignedZeroInfNanPreserve 32, and OpCapability.
    words = np.frombuffer(changed, np.uint32).tolist()
    assert [w for w in zip(words, words[2:], words[3:], strict=False) if w == (4 << 16 | 16, 4461, 32)]
    assert (2 << 16 | 17, 4466) in set(itertools.pairwise(words))
    assert read_module(changed) == read_module(plain)
    assert with_special_values(changed, frozenset({32})) == changed
    assert with_special_values(plain, frozenset({64})) == plain
