"""Quotients and remainders of integers at the ends of their types, and of random ones, to the last bit."""

# vkamp infers the types of a kernel's parameters.
# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp

TYPES = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)


def operands(kind):
    """All pairs of values at which something changes, and random pairs of all lengths in bits."""
    info = np.iinfo(kind)
    near = [1, 2, 3, 5, 7, 8, 23, 24, info.max, info.max - 1, info.max // 2, info.max // 2 + 1]
    edges = np.array(sorted({0, *near, *(-n for n in near if info.min), info.min, info.min + 1}), kind)
    rng = np.random.default_rng(info.bits)
    random = rng.integers(info.min, info.max, (2, 1000), kind, endpoint=True)
    random >>= rng.integers(0, info.bits, (2, 1000)).astype(kind)
    left, right = np.concatenate([[np.repeat(edges, edges.size), np.tile(edges, edges.size)], random], axis=1)
    return left[right != 0], right[right != 0]


@amp.kernel
def divide(i, left, right, out):
    a, b = left[i], right[i]
    out[0, i[0]] = a // b
    out[1, i[0]] = a % b
    out[2, i[0]] = amp.tdiv(a, b)
    out[3, i[0]] = amp.trem(a, b)


@pytest.mark.parametrize("kind", TYPES)
def test_all_quotients_and_remainders(kind, accelerator_view):
    info = accelerator_view.accelerator._info if accelerator_view.accelerator.device_path != "reference" else None
    if info is not None and np.iinfo(kind).bits == 64 and "int64" not in info.usable_features:
        with pytest.raises(amp.UnsupportedFeatureError):
            run(kind, accelerator_view)
        return
    left, right = operands(kind)
    found = run(kind, accelerator_view)
    with np.errstate(over="ignore"):
        wraps = (left == np.iinfo(kind).min) & (right == kind(-1)) if np.iinfo(kind).min else np.zeros(left.size, bool)
        quotient = np.where(wraps, left, left // np.where(wraps, 1, right).astype(kind))
        rest = np.where(wraps, 0, left % np.where(wraps, 1, right).astype(kind)).astype(kind)
        # numpy's fmod is C's %.
        c_rest = np.where(wraps, 0, np.fmod(left, np.where(wraps, 1, right).astype(kind))).astype(kind)
        c_quotient = np.where(wraps, left, (left - c_rest) // np.where(wraps, 1, right).astype(kind))
    for number, wanted in enumerate((quotient, rest, c_quotient, c_rest)):
        np.testing.assert_array_equal(found[number], wanted, err_msg=str(number))


def run(kind, view):
    left, right = operands(kind)
    out = amp.array_view(np.zeros((4, left.size), kind))
    amp.parallel_for_each(view, amp.extent(left.size), divide, amp.array_view(left), amp.array_view(right), out)
    return np.asarray(out)


@amp.kernel
def divide_pairs(i, left, right, out):
    k = i[0] * 2
    quotients = amp.int_2(left[k], left[k + 1]) / amp.int_2(right[k], right[k + 1])
    rests = amp.int_2(left[k], left[k + 1]) % amp.int_2(right[k], right[k + 1])
    out[0, k], out[0, k + 1] = quotients.x, quotients.y
    out[1, k], out[1, k + 1] = rests.x, rests.y


def test_quotients_of_vectors(accelerator_view):
    """The operators of vectors are C's."""
    left, right = operands(np.int32)
    size = left.size // 2 * 2
    out = amp.array_view(np.zeros((2, size), np.int32))
    containers = amp.array_view(left), amp.array_view(right), out
    amp.parallel_for_each(accelerator_view, amp.extent(size // 2), divide_pairs, *containers)
    np.testing.assert_array_equal(np.asarray(out), run(np.int32, accelerator_view)[2:, :size])
