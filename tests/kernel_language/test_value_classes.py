"""Named tuples and frozen dataclasses that kernels create give what Python gives."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import I32, check_as_python, rows, same

N = 5


class Point(NamedTuple):
    x: int
    y: int = 5

    def dot(self, other):
        return self.x * other.x + self.y * other.y

    @property
    def total(self):
        return self.x + self.y

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)


@dataclasses.dataclass(frozen=True)
class Range:
    first: int
    last: int = 9
    step: int = dataclasses.field(default=2, kw_only=True)

    @property
    def middle(self):
        return (self.first + self.last) // 2

    def __call__(self, k):
        return self.first + k * self.step

    def moved(self, by):
        return dataclasses.replace(self, first=self.first + by, last=self.last + by)


class Segment(NamedTuple):
    start: Point
    end: Point


ORIGIN = Point(1, 2)


@amp.func
def fields(i: amp.int32):
    p = Point(i, 3)
    q = Point(y=i + 1, x=2)
    return p.x * 1000 + p.y * 100 + q.x * 10 + q.y + Point(i).y


@amp.func
def methods(i: amp.int32):
    p = Point(i, 3)
    q = p + ORIGIN
    return q.dot(p) * 100 + q.total + ORIGIN.total


@amp.func
def turned(p):
    return Point(p.y, -p.x)


@amp.func
def functions(i: amp.int32):
    p = turned(turned(Point(i, 4)))
    if i > 2:
        p = turned(Point(7, i))
    q = Point(i, 1) if i % 2 else p
    return p.x * 100 + p.y * 10 + q.total


@amp.func
def loops(i: amp.int32):
    best = Point(0, 0)
    for k in range(4):
        p = Point(k * i % 5, k)
        if p.x >= best.x:
            best = p
    return best.x * 10 + best.y


@amp.func
def tuples(i: amp.int32):
    p = Point(i, 3)
    x, y = p
    n = sum(p) + p[0] * 10 + len(p)
    p = p._replace(x=n)
    return (p.x + x + y) * 2 + (p == (n, 3)) + (p < (n, 4))


@amp.func
def nested(i: amp.int32):
    s = Segment(Point(1, i), end=Point(i))
    s = s._replace(end=s.end + s.start)
    return s.end.x * 100 + s.end.y * 10 + s.start.y


@amp.func
def dataclass(i: amp.int32):
    r = Range(i)
    other = Range(first=i, last=3, step=5).moved(2)
    return r.middle * 1000 + other(3) * 10 + other.last + (r == Range(i, 9)) + (r == other) * 2 + r.step


FUNCTIONS = (fields, methods, functions, loops, tuples, nested, dataclass)


def test_functions(accelerator_view):
    check_as_python(accelerator_view, FUNCTIONS, N)


class Options(NamedTuple):
    scale: float
    offset: float = 0.5

    def of(self, x):
        return x * self.scale + self.offset


OPTIONS = Options(3.0, 1.0)


@amp.kernel
def scaled(idx, a, *, options: amp.constant):
    a[idx] = OPTIONS.of(a[idx]) + Options(options.scale).of(1)


def test_constants(accelerator_view):
    a = amp.array_view(np.arange(4, dtype=np.float32))
    amp.parallel_for_each(accelerator_view, a.extent, scaled, a, options=Options(2.0))
    assert np.asarray(a).tolist() == [3.5, 6.5, 9.5, 12.5]


@dataclasses.dataclass(frozen=True)
class Other:
    first: int
    last: int


@amp.kernel
def compared(idx, out):
    out[idx] = (Other(1, 9) == Range(1)) + 10 * (Other(1, 9) != Range(1))


def test_dataclasses_of_different_classes(accelerator_view):
    out = amp.array_view(np.zeros(1, I32))
    amp.parallel_for_each(accelerator_view, out.extent, compared, out)
    assert np.asarray(out).tolist() == [10]


@dataclasses.dataclass(frozen=True)
class Checked:
    x: int

    def __post_init__(self):
        assert self.x > 0


class Made(Point):
    def __new__(cls, x):
        return Point.__new__(cls, x, 0)


@dataclasses.dataclass(frozen=True)
class Late:
    x: int
    y: int = dataclasses.field(default=1, init=False)


@pytest.mark.parametrize("cls", [Checked, Made, Late])
def test_constructors(cls):
    @amp.kernel
    def kernel(idx, out):
        out[idx] = cls(3).x

    out = amp.array_view(np.zeros(1, I32))
    with pytest.raises(amp.CompileError, match="constructors that do more than store the fields"):
        kernel.inspect(out.extent, out)


CASES = {
    "p.x = 3": "VKA209",
    "p.x += 3": "VKA209",
    "p = (1, 2)": "VKA316",
    "p = Point()": "`x` is missing",
    "p = Point(1, z=2)": "there is no `z`",
    "p = Point(1, 2, 3)": "3 by position",
    "p = Range(1, 2, 3)": "3 by position",
    "p = p._replace(z=1)": "there is no `z`",
    "p = p.z": "VKA206",
}


@pytest.mark.parametrize("statement", CASES)
def test_refusals(statement, tmp_path):
    lines = [
        "@amp.kernel",
        "def kernel(idx, out):",
        "    p = Point(idx[0], 2)",
        f"    {statement}",
        "    out[idx] = p.x",
    ]
    file = tmp_path / "refused.py"
    file.write_text("\n".join(lines))
    names = {"amp": amp, "Point": Point, "Range": Range}
    exec(compile(file.read_text(), str(file), "exec"), names)
    out = amp.array_view(np.zeros(1, I32))
    with pytest.raises(amp.CompileError, match=CASES[statement]):
        names["kernel"].inspect(out.extent, out)


@dataclasses.dataclass(frozen=True, order=True)
class Version:
    major: int
    minor: int


@amp.kernel
def ordered(i, n, out):
    k = i[0]
    out[0, k] = Version(1, n[k]) < Version(n[k], 2)
    out[1, k] = Version(n[k], 0) >= Version(1, 0)


def test_dataclasses_with_an_order_are_ordered(accelerator_view):
    n = np.arange(-1, 4, dtype=np.int32)
    result = rows(accelerator_view, ordered, 2, np.int32, n)
    expected = [Version(1, k) < Version(k, 2) for k in n.tolist()], [Version(k, 0) >= Version(1, 0) for k in n.tolist()]
    same(result, expected)


TUPLE_USES = {
    "for": (lambda p: tuple(x + 1 for x in p), "VKA104"),
    "tuple": (lambda p: tuple(p), "VKA104"),
    "sum": (lambda p: sum(p), "VKA104"),
    "subscript": (lambda p: p[0], "VKA323"),
    "length": (lambda p: len(p), "VKA231"),
    "slice": (lambda p: p[:1], "VKA101"),
    "join": (lambda p: (p + p)[0], "VKA311"),
    "repeat": (lambda p: (p * 2)[0], "VKA311"),
    "order": (lambda p: p < p, "VKA321"),
    "in": (lambda p: 1 in p, "VKA125"),
    "star": (lambda p: max(*p), "VKA101"),
}


@amp.kernel
def use_of_dataclass(i, out, *, use: amp.constant):
    out[i] = use(Range(i[0]))


@pytest.mark.parametrize("name", TUPLE_USES)
def test_dataclasses_are_no_tuples(name):
    use, code = TUPLE_USES[name]
    with pytest.raises(TypeError):
        use(Range(1))
    with pytest.raises(amp.CompileError, match=code):
        use_of_dataclass.inspect(3, amp.array_view(np.zeros(3, np.int32)), use=use)
