"""Methods, properties and operators of structs and objects without ``@amp.func``: they follow plain Python."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import vkamp as amp
from tests.kernel_language.programs import F32, same

GAIN = 2.0


@amp.struct
class Point:
    x: amp.float32
    y: amp.float32

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)

    def __rmul__(self, factor):
        return Point(factor * self.x, factor * self.y)

    def __neg__(self):
        return Point(-self.x, -self.y)

    def __lt__(self, other):
        return self.norm() < other.norm()

    def norm(self):
        return math.sqrt(self.x * self.x + self.y * self.y)

    def grow(self, by=GAIN):
        self.x *= by
        self.y *= by

    @property
    def total(self):
        return self.x + self.y


@dataclass
class Shift:
    by: float

    def shifted(self, p):
        return p + Point(self.by, -self.by)

    @amp.kernel
    def run(self, idx, points, out):
        p = points[idx]
        q = 2.0 * self.shifted(p) + -p
        p.grow()
        out[idx] = q.total + (100.0 if q < p else 0.0)


def test_plain_methods_in_kernels(accelerator_view):
    raw = np.array([(3, 4), (-1, 2), (0.5, 0.25)], Point)
    points = amp.array(raw, accelerator_view=accelerator_view)
    out = amp.array(3, F32, accelerator_view)
    amp.parallel_for_each(out.extent, Shift(1.5).run, points, out)
    expected = []
    for x, y in raw.tolist():
        qx, qy = 2 * (x + 1.5) - x, 2 * (y - 1.5) - y
        expected.append(qx + qy + 100 * (math.hypot(qx, qy) < math.hypot(2 * x, 2 * y)))
    same(np.asarray(out), np.array(expected, F32))
    assert np.asarray(points).tolist() == [(2 * x, 2 * y) for x, y in raw.tolist()]


class Scaled:
    def __init__(self, by):
        self.by = by

    def of(self, x):
        return self.by * x

    @amp.kernel
    def run(self, idx, out):
        out[idx] = self.of(idx[0])


def test_a_redefined_method_is_compiled_again(accelerator_view, monkeypatch):
    out = amp.array(3, F32, accelerator_view)
    amp.parallel_for_each(out.extent, Scaled(3.0).run, out)
    assert np.asarray(out).tolist() == [0, 3, 6]
    monkeypatch.setattr(Scaled, "of", lambda self, x: self.by + x)
    amp.parallel_for_each(out.extent, Scaled(3.0).run, out)
    assert np.asarray(out).tolist() == [3, 4, 5]


@amp.struct
class Span:
    low: amp.int32
    high: amp.int32

    def __eq__(self, other):
        return self.high - self.low == other.high - other.low

    def __lt__(self, other):
        return self.high < other.low

    def __abs__(self):
        return self.high - self.low

    def __getitem__(self, i):
        return (self.low, self.high)[i]


def compared(a, b):
    return (a != b) + 2 * (a > b) + 4 * (a < b) + 8 * (a == b) + 16 * abs(a)


@amp.kernel
def compare_spans(i, a, b, out):
    out[i] = compared(a[i], b[i])


def test_operators_that_python_derives(accelerator_view):
    """``!=`` comes from ``__eq__``, ``>`` from the other's ``__lt__``; on the host a field is numpy's, too."""
    pairs = [((1, 3), (4, 6)), ((5, 6), (1, 2)), ((1, 9), (2, 3)), ((4, 5), (4, 5)), ((7, 9), (2, 3))]
    a, b = (np.array([Span(*pair[k]) for pair in pairs], Span) for k in (0, 1))
    view = amp.array_view(np.zeros(len(pairs), np.int32))
    amp.parallel_for_each(accelerator_view, view.extent, compare_spans, amp.array_view(a), amp.array_view(b), view)
    expected = [int(compared(x, y)) for x, y in zip(a, b, strict=True)]
    assert np.asarray(view).tolist() == expected
    assert (Span(2, 5)[1], Span(2, 5).high) == (5, 5)
