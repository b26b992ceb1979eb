"""A uint32 from 2^31 on as a float32, wherever the language converts one: SwiftShader rounds it wrongly by itself."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp

LARGE = np.random.default_rng(5).integers(2**31, 2**32, 4096, dtype=np.uint32)
LARGE[:8] = 4082210491, 2**31, 2**31 + 1, 2**31 + 128, 2**31 + 129, 2**31 + 384, 2**32 - 1, 2**32 - 128
AS_FLOATS = LARGE.astype(np.float32)
CONSTANT = np.uint32(4082210491)


def floats(view, kernel, *rest, precise=True):
    out = amp.array_view(np.zeros(LARGE.size, np.float32))
    decorated = amp.kernel(precise=precise)(kernel)
    amp.parallel_for_each(view, out.extent, decorated, amp.array_view(LARGE.copy()), out, *rest)
    return np.asarray(out)


@pytest.mark.parametrize("precise", [False, True])
def test_scalars(accelerator_view, precise):
    def cast(i, values, out):
        out[i] = float(values[i])

    def variable(i, values, out):
        x = 0.0
        x = values[i]
        out[i] = x

    def stored(i, values, out):
        out[i] = values[i]

    for kernel in (cast, variable, stored):
        assert np.array_equal(floats(accelerator_view, kernel, precise=precise), AS_FLOATS), kernel.__name__


def test_mixed_arithmetic(accelerator_view):
    def product(i, values, out):
        out[i] = values[i] * 0.5

    def augmented(i, values, out):
        x = amp.float32(1.0)
        x *= values[i]
        out[i] = x

    def choice(i, values, out):
        out[i] = values[i] if values[i] > 0 else 0.5

    def compared(i, values, out):
        out[i] = amp.float32(amp.float32(4082210560.0) == values[i])

    assert np.array_equal(floats(accelerator_view, product), AS_FLOATS * np.float32(0.5))
    assert np.array_equal(floats(accelerator_view, augmented), AS_FLOATS)
    assert np.array_equal(floats(accelerator_view, choice), AS_FLOATS)
    assert np.array_equal(floats(accelerator_view, compared), AS_FLOATS == np.float32(4082210560.0))


def test_true_division(accelerator_view):
    def quotient(i, values, out):
        out[i] = values[i] / amp.uint32(2)

    assert np.array_equal(floats(accelerator_view, quotient), AS_FLOATS / np.float32(2))


def test_literals_launch_values_and_constants(accelerator_view):
    def launch_value(i, values, out, n):
        out[i] = amp.float32(n)

    def literal(i, values, out):
        out[i] = amp.float32(amp.uint32(4082210491))

    def captured(i, values, out):
        out[i] = amp.float32(amp.uint32(CONSTANT) + amp.uint32(i[0]))

    single = np.uint32(4082210491).astype(np.float32)
    assert (floats(accelerator_view, launch_value, np.uint32(4082210491)) == single).all()
    assert (floats(accelerator_view, literal) == single).all()
    right = (CONSTANT + np.arange(LARGE.size, dtype=np.uint32)).astype(np.float32)
    assert np.array_equal(floats(accelerator_view, captured), right)


def test_functions_and_atomics(accelerator_view):
    @amp.func
    def half(x):
        return x * 0.5

    def called(i, values, out):
        out[i] = half(values[i]) * 2.0

    def exchanged(i, values, out):
        out[i] = float(amp.atomic_exchange(values[i], 1))

    assert np.array_equal(floats(accelerator_view, called), AS_FLOATS)
    assert np.array_equal(floats(accelerator_view, exchanged), AS_FLOATS)


def test_subgroups(accelerator_view):
    @amp.kernel
    def largest(t, values, out):
        out[t] = amp.float32(amp.subgroup.max(values[t]))

    out = amp.array_view(np.zeros(64, np.float32))
    values = np.full(64, 4082210491, np.uint32)
    amp.parallel_for_each(accelerator_view, out.extent.tile(64), largest, amp.array_view(values), out)
    assert (np.asarray(out) == values.astype(np.float32)).all()


@pytest.mark.parametrize("count", [2, 3, 4])
def test_vectors(accelerator_view, count):
    given, made = getattr(amp, f"uint{count}"), getattr(amp, f"float{count}")

    @amp.kernel(precise=True)
    def convert(i, values, out):
        out[i] = made(values[i])

    numbers = LARGE[: count * 100].reshape(100, count)
    values = amp.array_view(numbers.copy(), dtype=given)
    out = amp.array_view(np.zeros((100, count), np.float32), dtype=made)
    amp.parallel_for_each(accelerator_view, out.extent, convert, values, out)
    assert np.array_equal(np.asarray(out).view(np.float32).reshape(100, count), numbers.astype(np.float32))


def test_small_and_large_ones(accelerator_view):
    """Both halves of the range, and what float32 holds exactly."""

    @amp.kernel(precise=True)
    def convert(i, values, out):
        out[i] = float(values[i])

    numbers = np.random.default_rng(7).integers(0, 2**32, 20000, dtype=np.uint32)
    numbers[::2] >>= np.random.default_rng(8).integers(0, 32, 10000).astype(np.uint32)
    out = amp.array_view(np.zeros(20000, np.float32))
    amp.parallel_for_each(accelerator_view, out.extent, convert, amp.array_view(numbers), out)
    assert np.array_equal(np.asarray(out), numbers.astype(np.float32))
