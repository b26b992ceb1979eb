"""``type(x)``, ``isinstance(x, T)`` and ``x.copy()`` in kernels, and ``amp.result_type``."""

from __future__ import annotations

import enum
from typing import NamedTuple

import numpy as np
import pytest

import vkamp as amp
from vkamp import CompileError

PAIR = np.dtype([("number", np.int32), ("weight", np.float32)])


@amp.func
def staged(t_idx, x):
    """The next thread's value, of any type."""
    stage = amp.tile_static(t_idx.tile_dim0, type(x))
    stage[t_idx.local[0]] = x
    t_idx.barrier.wait_with_tile_static_memory_fence()
    found = stage[(t_idx.local[0] + 1) % t_idx.tile_dim0].copy()
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return found


@amp.kernel
def rotate(t_idx, values):
    values[t_idx] = staged(t_idx, values[t_idx])


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int32, np.uint32, np.float32, amp.float3.dtype, amp.int2.dtype, PAIR]
)
def test_an_array_of_any_values_type(accelerator_view, dtype):
    dtype = np.dtype(dtype)
    raw = np.random.default_rng(1).integers(0, 100, 21 * dtype.itemsize, np.uint8).view(dtype)
    values = amp.array(amp.extent(21), dtype, raw, accelerator_view=accelerator_view)
    amp.parallel_for_each(accelerator_view, values.extent.tile(7), rotate, values)
    got = np.ascontiguousarray(np.asarray(values)).view(np.uint8).reshape(21, -1)
    expected = np.roll(raw.reshape(3, 7), -1, axis=1).reshape(21).view(np.uint8).reshape(21, -1)
    np.testing.assert_array_equal(got, expected)


@amp.kernel
def converted(idx, numbers, out):
    kind = type(out[0])
    out[idx] = kind(numbers[idx]) + 0.25
    pair = amp.private(2, type(numbers[idx] * 2))
    pair[1] = 3
    y = numbers[idx].copy()
    y += pair[1]
    numbers[idx] = y


def test_a_type_converts(accelerator_view):
    numbers = amp.array(amp.extent(4), np.int32, [1, -2, 3, 4], accelerator_view=accelerator_view)
    out = amp.array(amp.extent(4), np.float32, accelerator_view=accelerator_view)
    amp.parallel_for_each(accelerator_view, out.extent, converted, numbers, out)
    assert np.asarray(out).tolist() == [1.25, -1.75, 3.25, 4.25]
    assert np.asarray(numbers).tolist() == [4, 1, 6, 7]


@amp.kernel
def type_of_a_container(idx, values):
    values[idx] = type(values)(1)


def test_a_container_has_no_such_type():
    with pytest.raises(CompileError, match=r"VKA311: .*`values` is"):
        amp.parallel_for_each(amp.extent(2), type_of_a_container, amp.array_view(np.zeros(2, np.int32)))


@amp.func
def scaled(a, b):
    return a * b + 1


@amp.func
def is_less(a, b):
    return a < b


@amp.func
def itself(x):
    return x


@amp.func
def nothing(x):
    x.weight = 0.0


@amp.func
def two(x):
    return x, x


class Scale:
    def __init__(self, factor, values):
        self.factor, self.values = factor, values

    @amp.func
    def value(self, i):
        return self.values[i] * self.factor


@amp.func
def value_of(source, i):
    return source.value(i)


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (scaled, (np.int32, np.float32), np.float32),
        (scaled, ("int8", np.uint8), np.int32),
        (scaled, (np.uint32, 2), np.uint32),
        (scaled, (amp.float3, 0.5), amp.float3.dtype),
        (scaled, (np.float64, np.float32), np.float64),
        (is_less, (int, float), np.bool_),
        (itself, (PAIR,), PAIR),
        (value_of, (Scale(2.0, amp.array_view(np.zeros((3, 4), np.int32))), amp.index(0, 0)), np.float32),
    ],
)
def test_result_type(function, arguments, expected):
    assert amp.result_type(function, *arguments) == np.dtype(expected)


def test_result_type_follows_a_changed_global(monkeypatch):
    function = amp.func(_times_factor)
    assert amp.result_type(function, np.int32) == np.int32
    monkeypatch.setitem(globals(), "FACTOR", 2.5)
    assert amp.result_type(function, np.int32) == np.float32


FACTOR = 2


def _times_factor(x):
    return x * FACTOR


def test_result_type_needs_one_value():
    with pytest.raises(CompileError):
        amp.result_type(two, np.int32)
    with pytest.raises(CompileError):
        amp.result_type(nothing, PAIR)
    with pytest.raises(TypeError, match="up to 4 arguments, not 5"):
        amp.result_type(scaled, 1, 2, 3, 4, 5)
    with pytest.raises(TypeError, match="not an element type"):
        amp.result_type(itself, "clongdouble")


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 5


@amp.kernel
def members(i, out):
    out[i] = Colour.BLUE.value * 10 + Colour.RED + (Colour.RED.value if i[0] == Colour.RED.value else 0)


def test_values_of_members_of_enumerations(accelerator_view):
    out = amp.array_view(np.zeros(3, np.int32))
    amp.parallel_for_each(accelerator_view, 3, members, out)
    assert np.asarray(out).tolist() == [51, 52, 51]


@amp.struct
class Weighted:
    weight: amp.float32


class Point(NamedTuple):
    x: float


NUMBERS = int | float


@amp.func
def kind_of(x):
    if isinstance(x, (amp.float2, amp.float3)):
        return 1
    if isinstance(x, Point):
        return 2
    if isinstance(x, Weighted):
        return 3
    if isinstance(x, amp.index):
        return 4
    if isinstance(x, tuple):
        return 5
    if isinstance(x, bool):
        return 6
    if isinstance(x, np.uint32):
        return 7
    if isinstance(x, int):
        return 8
    if isinstance(x, np.floating):
        return 9
    return 10 if isinstance(x, NUMBERS) or x is None else 11


@amp.kernel
def kinds(idx, floats, words, small, structs, out):
    i = idx[0]
    out[0, i] = kind_of(amp.float3(1, 2, 3))
    out[1, i] = kind_of(Point(2.0))
    out[2, i] = kind_of(structs[idx])
    out[3, i] = kind_of(idx)
    out[4, i] = kind_of((i, 1))
    out[5, i] = kind_of(floats[idx] > 0)
    out[6, i] = kind_of(words[idx])
    out[7, i] = kind_of(i) + 10 * kind_of(small[idx]) + 100 * kind_of(3)
    out[8, i] = kind_of(floats[idx]) + 10 * kind_of(1.5)
    out[9, i] = kind_of(None)
    out[10, i] = kind_of(floats) + 100 * kind_of(lambda x: x)
    # The branches that are not taken need not compile.
    out[11, i] = i.weight if isinstance(i, Weighted) else 1 if type(i) is amp.int32 else i.x
    if type(words[idx]) is not type(i) and not isinstance(floats[idx], int):
        out[11, i] += 1


def test_types_of_values(accelerator_view):
    floats, words, small = (amp.array_view(np.ones(3, dtype)) for dtype in (np.float32, np.uint32, np.int8))
    structs, out = amp.array_view(np.zeros(3, Weighted)), amp.array_view(np.zeros((12, 3), np.int32))
    amp.parallel_for_each(accelerator_view, floats.extent, kinds, floats, words, small, structs, out)
    expected = [1, 2, 3, 4, 5, 6, 7, 888, 99, 10, 1111, 2]
    np.testing.assert_array_equal(np.asarray(out), np.repeat(expected, 3).reshape(12, 3))
    on_host = [kind_of(x) for x in (amp.float3(1, 2, 3), Point(2.0), Weighted(1.0), amp.index(1), (1, 2), True)]
    assert on_host == expected[:6] and kind_of(np.uint32(1)) == 7 and kind_of(3) == 8 and kind_of(None) == 10


def test_isinstance_computes_nothing(accelerator_view):
    @amp.kernel
    def kernel(idx, values, out):
        if isinstance(amp.precise_math.erf(values[idx]), float):
            out[idx] = 1

    values, out = amp.array_view(np.zeros(3, np.float32)), amp.array_view(np.zeros(3, np.int32))
    assert "erf" not in kernel.inspect(values.extent, values, out).glsl
    amp.parallel_for_each(accelerator_view, values.extent, kernel, values, out)
    assert np.asarray(out).tolist() == [1, 1, 1]
