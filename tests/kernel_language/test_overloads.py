"""Overloads of ``@amp.func`` by number and types of arguments, on the host and in kernels alike."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, U32, rows, same_rows


@amp.struct
class Point:
    x: amp.float32
    y: amp.float32


@amp.func
def kind(x: amp.float32):
    return 1


@kind.register
def _(x: amp.int32):
    return 2


@kind.register(amp.uint32)
def _(x):
    return 3


@kind.register
def _(x: amp.float32, y: amp.float32):
    return 4


@kind.register
def _(x: amp.int32, y):
    return 5


@kind.register
def _(x: Point):
    return 6 + amp.int32(x.x)


@kind.register
def _(x: amp.index):
    return 20 + x[0]


@kind.register
def _(x: amp.array_view, i: amp.index):
    return 40 + amp.int32(x[i])


@amp.func
def any_or_int(x):
    return 100


@any_or_int.register(int)
def _(x):
    return 200


@amp.kernel
def calls(i, a, f, u, out):
    k = i[0]
    out[0, k] = kind(f[k])
    out[1, k] = kind(a[k])
    out[2, k] = kind(u[k])
    out[3, k] = kind(f[k], a[k])
    out[4, k] = kind(a[k], f[k])
    out[5, k] = kind(Point(3.0, 1.0))
    out[6, k] = kind(i)
    out[7, k] = kind(f, i)
    out[8, k] = kind(1)
    out[9, k] = kind(1.5)
    out[10, k] = kind(x=2, y=3)
    out[11, k] = any_or_int(f[k])
    out[12, k] = any_or_int(a[k])
    out[13, k] = kind(y=1.5, x=f[k])


def test_overloads(accelerator_view):
    a, f, u = np.array([1, 2, 3], I32), np.array([0, 5, 7], F32), np.array([1, 2, 3], U32)
    k = np.arange(3)
    expected = {
        "float32": 1, "int32": 2, "uint32": 3, "float32 and a converted int32": 4, "int32 and anything": 5,
        "a struct": 9, "an index": 20 + k, "a container": 40 + f, "the literal 1": 2, "the literal 1.5": 1,
        "by name": 5, "anything": 100, "a type before anything": 200, "by name in another order": 4,
    }  # fmt: skip
    same_rows(rows(accelerator_view, calls, len(expected), I32, a, f, u), expected)


def test_the_host_chooses_alike():
    assert kind(F32(1)) == kind(1.5) == 1
    assert kind(I32(1)) == kind(1) == 2
    assert kind(U32(1)) == 3
    assert kind(1.5, 2) == kind(1.5, 2.5) == 4
    assert kind(1, 2.5) == kind(1, 2) == 5
    assert kind(Point(3.0, 1.0)) == 9
    assert kind(amp.index(4)) == 24
    assert kind(amp.array_view(np.array([3, 8], F32)), amp.index(1)) == 48
    assert kind(y=2.5, x=1.5) == 4
    assert any_or_int(1) == 200
    assert any_or_int("text") == 100


def test_ambiguous_and_unfitting_calls_on_the_host():
    @amp.func
    def mix(x: amp.float32, y: amp.int32):
        return x + y

    mix.register(amp.int32, amp.float32)(lambda x, y: x - y)
    with pytest.raises(TypeError, match=r"mix\(int32, int32\) is ambiguous: \(float32, int32\), \(int32, float32\)"):
        mix(1, 1)
    with pytest.raises(TypeError, match=r"no form of mix takes \(str\)"):
        mix("text")


def test_wrong_registrations():
    @amp.func
    def f(x: amp.float32):
        return x

    with pytest.raises(TypeError, match=r"f already has a form for \(float32\)"):
        f.register(amp.float32)(lambda x: x)
    with pytest.raises(TypeError, match="'text' is not an argument type"):
        f.register("text")(lambda x: x)
    with pytest.raises(TypeError, match="2 types for the 1 parameters"):
        f.register(amp.int32, amp.int32)(lambda x: x)


@amp.func
def growing(x: amp.float32):
    return 1


@amp.kernel
def grows(i, a, out):
    out[i] = growing(a[i])


def test_a_form_added_later_counts(accelerator_view):
    a, out = amp.array_view(np.ones(2, I32)), amp.array_view(np.zeros(2, I32))
    before = growing.overloads
    if not before:
        growing.register(lambda x, y: 3)
        amp.parallel_for_each(accelerator_view, out.extent, grows, a, out)
        assert np.asarray(out).tolist() == [1, 1]

        @growing.register
        def _(x: amp.int32):
            return 2

    amp.parallel_for_each(accelerator_view, out.extent, grows, a, out)
    assert np.asarray(out).tolist() == [2, 2]


def test_methods_have_overloads(accelerator_view):
    class Shape:
        @amp.func
        def area(self, r: amp.float32):
            return 1

        @area.register
        def _(self, a: amp.float32, b: amp.float32):
            return 2

    @amp.kernel
    def run(i, shape, out):
        out[i] = shape.area(1.0) * 10 + shape.area(1.0, 2.0)

    out = amp.array_view(np.zeros(2, I32))
    amp.parallel_for_each(accelerator_view, out.extent, run, Shape(), out)
    assert np.asarray(out).tolist() == [12, 12]
    assert Shape().area(1.0, 2.0) == 2


def test_a_host_form_of_its_own(accelerator_view):
    @amp.func
    def where():
        return 1

    @where.host
    def _():
        return 2

    @amp.kernel
    def run(i, out):
        out[i] = where()

    out = amp.array_view(np.zeros(2, I32))
    amp.parallel_for_each(accelerator_view, out.extent, run, out)
    assert np.asarray(out).tolist() == [1, 1]
    assert where() == 2
