"""What classes of structs, named tuples and dataclasses give kernels beside operators and methods of objects."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import vkamp as amp
from tests.kernel_language.programs import F32


@amp.struct
class Pair:
    x: amp.float32
    y: amp.float32

    def __getitem__(self, k):
        return self.x if k == 0 else self.y

    def __len__(self):
        return 2

    @classmethod
    def of(cls, x):
        return cls(x, 2 * x)

    def again(self, x):
        return self.of(x + self.y)


@dataclass(frozen=True)
class Line:
    slope: float
    start: float = 1.0

    @classmethod
    def through(cls, x, y):
        return cls(y / x, 0.0)

    def __getitem__(self, x):
        return self.slope * x + self.start

    def __len__(self):
        return 7


class Limits(NamedTuple):
    low: float
    high: float

    @classmethod
    def around(cls, x):
        return cls(x - cls.width(), x + cls.width())

    @staticmethod
    def width():
        return 0.5


class Scale:
    FACTOR = 3.0

    @classmethod
    def scaled(cls, x):
        return cls.FACTOR * x


class Colour(enum.Enum):
    RED = 1
    BLUE = 2.5
    EDGES = (4, 5)


def test_subscripts_and_lengths_that_a_class_defines(accelerator_view):
    pairs = amp.array_view(np.array([(1, 2), (3, 4), (5, 6)], Pair))
    out = amp.array_view(np.zeros((4, 3), F32))

    @amp.parallel_for_each(accelerator_view, amp.extent(3))
    def _(idx):
        k = idx[0]
        pair, line = pairs[k], Line(2.0)
        out[0, k] = pair[0] + 10 * pair[1] + 100 * len(pair)
        out[1, k] = sum(pair[j] for j in range(len(pair))) + pair[k % 2]
        out[2, k] = line[k] + 10 * line[pair.x]
        out[3, k] = len(line)

    assert np.asarray(out).tolist() == [[221, 243, 265], [4, 11, 16], [31, 73, 115], [7, 7, 7]]


def test_class_methods(accelerator_view):
    x = amp.array_view(np.array([1, 2, 4], F32))
    out = amp.array_view(np.zeros((4, 3), F32))

    @amp.kernel
    def calls(idx, x, out):
        k = idx[0]
        pair = Pair.of(x[k])
        out[0, k] = pair.y + 10 * pair.again(1.0).x
        out[1, k] = Line.through(x[k], 8.0)[3]
        low, high = Limits.around(x[k])
        out[2, k] = low + 10 * high
        out[3, k] = Scale.scaled(x[k])

    for _ in range(2):
        amp.parallel_for_each(accelerator_view, amp.extent(3), calls, x, out)
    expected = [[32, 54, 98], [24, 12, 6], [15.5, 26.5, 48.5], [3, 6, 12]]
    assert np.asarray(out).tolist() == expected


def test_values_of_members_that_are_no_numbers(accelerator_view):
    values = amp.array_view(np.array([0, 1, 2], F32))

    @amp.parallel_for_each(accelerator_view, amp.extent(3))
    def _(idx):
        if values[idx] == Colour.RED.value:
            values[idx] = Colour.BLUE.value + Colour.EDGES.value[1]

    assert np.asarray(values).tolist() == [0, 7.5, 2]


def test_the_length_of_the_index(accelerator_view):
    out = amp.array_view(np.zeros((2, 3), F32))

    @amp.parallel_for_each(accelerator_view, out.extent)
    def _(idx):
        out[idx] = 10 * len(idx) + sum(idx)

    assert np.asarray(out).tolist() == [[20, 21, 22], [21, 22, 23]]


def test_the_type_of_a_call_computes_nothing():
    @amp.func
    def doubled(x):
        return 2 * x

    @amp.kernel
    def rounded(idx, a, b, out):
        kind = type(doubled(a[idx]))
        whole = type(b[idx])
        out[idx] = kind(2.5) + whole(2.5)

    a, b, out = (amp.array_view(np.zeros(3, kind)) for kind in (F32, np.int32, F32))
    assert "doubled" not in rounded.inspect(amp.extent(3), a, b, out).glsl.partition("void main")[0]
    amp.parallel_for_each(amp.accelerator("reference").default_view, amp.extent(3), rounded, a, b, out)
    assert np.asarray(out).tolist() == [4.5] * 3


def test_the_type_of_what_has_effects(accelerator_view):
    counts = amp.array_view(np.zeros(1, np.int32))
    out = amp.array_view(np.zeros(3, F32))

    @amp.parallel_for_each(accelerator_view, out.extent)
    def _(idx):
        kind = type(amp.atomic_fetch_add(counts[0], 1))
        whole = type(n := idx[0])
        out[idx] = kind(2.5) + whole(n)

    assert (int(counts[0]), np.asarray(out).tolist()) == (3, [2, 3, 4])
