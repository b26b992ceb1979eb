"""Objects as kernels and in kernels: members by value, containers by reference, methods, static methods, nesting."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32

PAIR = np.dtype([("a", F32), ("b", I32)])


@dataclasses.dataclass
class Polynomial:
    a: float
    b: float
    degree: int = 2
    NAME = "polynomial"
    SHIFT = 0.25

    @amp.func
    def __call__(self, x):
        result = self.a
        for _ in amp.static_range(self.degree):
            result = result * x + self.b
        return result + self.SHIFT

    @staticmethod
    @amp.func
    def half(x):
        return x / 2

    @amp.func
    def halved(self, x, times=1):
        for _ in range(times):
            x = self.half(x)
        return self(x)


class Blur:
    def __init__(self, source, radius, polynomial):
        self.source = source
        self.radius = radius
        self.polynomial = polynomial
        self.corner = amp.index(1)
        self.size = source.extent
        self.pair = np.array((1.5, -2), PAIR)[()]
        self.weights = (1.0, 2.0, 3)
        self.exact = True
        self.half = np.float32(0.5)
        self.note = "a host's string is no harm as long as no kernel names it"

    @amp.func
    def inside(self, i):
        return self.size.contains(i)

    @amp.func
    def total(self, i):
        result = 0.0
        for j in range(-self.radius, self.radius + 1):
            if self.inside(i + j):
                result += self.source[i + j]
        return result

    @amp.kernel
    def run(self, idx, out):
        cache = amp.private(self.radius + 1, amp.float32)
        cache[self.radius] = self.total(idx)
        extra = self.half if self.exact else 100.0
        out[idx] = (
            cache[self.radius] * self.weights[1] + self.polynomial(1.0) + self.pair.a + self.pair.b + extra
            + self.corner[0] + self.weights[2]
        )  # fmt: skip

    @amp.kernel
    def __call__(self, t_idx, out):
        tile = amp.tile_static(4, amp.float32)
        tile[t_idx.local] = self.source[t_idx]
        t_idx.barrier.wait()
        out[t_idx] = tile[3 - t_idx.local[0]] * self.radius


def polynomial(p, x):
    result = F32(p.a)
    for _ in range(p.degree):
        result = result * x + F32(p.b)
    return result + F32(0.25)


def blurred(data, radius):
    padded = np.concatenate([np.zeros(radius, F32), data, np.zeros(radius, F32)])
    return np.array([padded[k : k + 2 * radius + 1].sum() for k in range(len(data))], F32)


def test_a_method_as_the_kernel(accelerator_view):
    data = np.arange(12, dtype=F32)
    out = amp.array_view(np.zeros(12, F32))
    for radius, p in ((1, Polynomial(1.0, 2.0)), (3, Polynomial(0.5, 1.0, 3))):
        blur = Blur(amp.array_view(data), radius, p)
        amp.parallel_for_each(accelerator_view, out.extent, blur.run, out)
        expected = blurred(data, radius) * 2 + polynomial(p, F32(1)) + F32(1.5 - 2 + 0.5 + 1 + 3)
        assert np.asarray(out).tolist() == expected.tolist()


def test_an_object_as_the_kernel(accelerator_view):
    data = np.arange(12, dtype=F32)
    out = amp.array_view(np.zeros(12, F32))
    blur = Blur(amp.array_view(data), 3, Polynomial(1.0, 2.0))
    amp.parallel_for_each(accelerator_view, out.extent.tile(4), blur, out)
    assert np.asarray(out).tolist() == (data.reshape(3, 4)[:, ::-1] * 3).ravel().tolist()
    blur.radius = 5
    amp.parallel_for_each(accelerator_view, out.extent.tile(4), blur, out)
    assert np.asarray(out).tolist() == (data.reshape(3, 4)[:, ::-1] * 5).ravel().tolist()


@amp.func
def twice(f, x):
    return f(f(x))


@amp.kernel
def uses(i, f, g, out):
    k = i[0]
    x = float(k)
    out[0, k] = f(x)
    out[1, k] = twice(f, x)
    out[2, k] = g(x, 2)
    out[3, k] = f.half(x) + f.b
    out[4, k] = twice(lambda y: f(y) - g(y), x)


def test_objects_as_arguments_and_captures(accelerator_view):
    f, g = Polynomial(0.5, -1.0), Polynomial(0.25, 2.0, 1)
    out = amp.array_view(np.zeros((5, 7), F32))
    amp.parallel_for_each(accelerator_view, amp.extent(7), uses, f, g.halved, out)
    x = np.arange(7, dtype=F32)
    difference = polynomial(f, x) - polynomial(g, x / 2)
    expected = [
        polynomial(f, x),
        polynomial(f, polynomial(f, x)),
        polynomial(g, x / 4),
        x / 2 - 1,
        polynomial(f, difference) - polynomial(g, difference / 2),
    ]
    np.testing.assert_array_equal(np.asarray(out), np.array(expected, F32))

    row = amp.array_view(np.zeros(7, F32))

    @amp.parallel_for_each(accelerator_view, amp.extent(7))
    def _(i):
        row[i] = f(float(i[0])) + g.b

    np.testing.assert_array_equal(np.asarray(row), polynomial(f, x) + 2)


def test_host_calls_are_pythons_own():
    f = Polynomial(0.5, -1.0)
    assert f(3.0) == (0.5 * 3 - 1) * 3 - 1 + 0.25
    assert f.halved(3.0, times=2) == f(0.75)
    assert Polynomial.half(3.0) == 1.5


class Slots:
    __slots__ = ("factor", "missing")

    def __init__(self, factor):
        self.factor = factor

    @amp.func
    def __call__(self, x):
        return x * self.factor


class Table:
    """A member is a container that the kernel writes."""

    def __init__(self, counts):
        self.counts = counts

    @amp.func
    def count(self, value):
        amp.atomic_fetch_add(self.counts[value], 1)


@amp.kernel
def counts_values(i, values, table, scale):
    table.count(scale(values[i]))


def test_members_that_are_containers_are_references(accelerator_view):
    counts = amp.array(amp.extent(7), amp.int32, np.zeros(7, I32), accelerator_view=accelerator_view)
    values = amp.array_view(np.array([0, 1, 3, 1, 1, 2], I32), readonly=True)
    amp.parallel_for_each(accelerator_view, values.extent, counts_values, values, Table(counts), Slots(2))
    assert np.asarray(counts).tolist() == [1, 0, 3, 0, 1, 0, 1]


def test_one_program_serves_objects_of_a_class(accelerator_view):
    out = amp.array_view(np.zeros(4, F32))
    texts = {uses_one.inspect(accelerator_view, out.extent, Slots(k), out).glsl for k in (2, 3, 5)}
    assert len(texts) == 1
    for k in (2, 3):
        amp.parallel_for_each(accelerator_view, out.extent, uses_one, Slots(k), out)
        assert np.asarray(out).tolist() == [0, k, 2 * k, 3 * k]


@amp.kernel
def uses_one(i, f, out):
    out[i] = f(i[0])


class Changing:
    RATE = 2

    @amp.kernel
    def run(self, i, out):
        out[i] = self.RATE


def test_a_changed_class_is_compiled_anew(accelerator_view):
    out = amp.array_view(np.zeros(2, I32))
    for rate in (2, 5):
        Changing.RATE = rate
        amp.parallel_for_each(accelerator_view, out.extent, Changing().run, out)
        assert np.asarray(out).tolist() == [rate] * 2


class Plain:
    def __init__(self, value):
        self.value = value

    def run(self, i, out):
        out[i] = self.value

    def launch(self, view, out):
        amp.parallel_for_each(view, out.extent, self.run, out)


def test_a_plain_method_can_be_the_kernel(accelerator_view):
    out = amp.array_view(np.zeros(3, I32))
    Plain(11).launch(accelerator_view, out)
    assert np.asarray(out).tolist() == [11] * 3


def test_an_object_that_holds_itself_is_refused():
    f = Slots(2)
    f.factor = f
    out = amp.array_view(np.zeros(3, F32))
    with pytest.raises(amp.AmpError, match="holds objects more than 16 levels deep, or itself"):
        uses_one.inspect(out.extent, f, out)


def test_a_bound_kernel_can_be_inspected():
    out = amp.array_view(np.zeros(12, F32))
    blur = Blur(amp.array_view(np.zeros(12, F32)), 2, Polynomial(1.0, 2.0))
    assert "self_source" in blur.run.inspect(out.extent, out).glsl
    assert "run" in repr(blur.run)


class Counter:
    __STEP = 3

    def __init__(self, start):
        self.__start = start
        self.__start__ = 100

    def __moved(self, k):
        return k + self.__start

    @amp.kernel
    def run(self, i, out):
        def __twice(k, __by=2):
            return k * __by

        out[i] = self.__moved(__twice(i[0], __by=self.__STEP)) + self.__start__


class SlowCounter(Counter):
    def __init__(self):
        super().__init__(7)
        self.__start = -1  # this class's own


def test_names_that_are_private_to_a_class(accelerator_view):
    for counter, start in ((Counter(5), 5), (SlowCounter(), 7)):
        out = amp.array_view(np.zeros(3, I32))
        amp.parallel_for_each(accelerator_view, out.extent, counter.run, out)
        assert np.asarray(out).tolist() == [k * 3 + start + 100 for k in range(3)]


class First:
    @amp.func
    def value(self, x):
        return x + 1


class Second(First):
    @amp.func
    def value(self, x):
        return super().value(x) * 3


@amp.kernel
def of_a_method(i, out, functor):
    out[i] = functor.value(out[i])


def test_what_the_message_about_super_advises():
    out = amp.array_view(np.zeros(2, np.int32))
    with pytest.raises(amp.CompileError, match=r"name the base class: `Base\.method\(self, x\)`"):
        of_a_method.inspect(out.extent, out, Second())
