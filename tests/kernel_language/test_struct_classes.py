"""``@amp.struct``: values on the host and in kernels, constructors, methods, operators, nesting, by value."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32


@amp.struct
class Vector:
    """A point of the plane."""

    x: amp.float32
    y: amp.float32 = 2.0

    @amp.func
    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    @amp.func
    def __mul__(self, factor):
        return Vector(self.x * factor, self.y * factor)

    @amp.func
    def __rmul__(self, factor):
        return self * factor

    @amp.func
    def __neg__(self):
        return Vector(-self.x, -self.y)

    @amp.func
    def __eq__(self, other):
        return self.x == other.x and self.y == other.y

    @amp.func
    def dot(self, other):
        return self.x * other.x + self.y * other.y

    @property
    @amp.func
    def norm2(self):
        return self.dot(self)

    @staticmethod
    @amp.func
    def unit(k):
        return Vector(1.0, 0.0) if k == 0 else Vector(0.0, 1.0)

    def plain(self):
        return "only on the host"


@amp.struct
class Particle:
    id: amp.int32
    position: Vector
    color: (amp.uint32, (2, 2))
    mass: float = 1.5
    kind: int = -3
    BASE = 4

    @amp.func
    def moved(self, by):
        new = Particle(self.id + self.BASE, self.position + by, mass=self.mass)
        new.color[1, 1] = 7
        return new


def test_values_on_the_host():
    v = Vector(3.0)
    assert (v.x, v.y, v.norm2, v.dot(Vector(1, 1))) == (3, 2, 13, 5)
    assert isinstance(v, Vector)
    assert repr(v) == "Vector(x=3.0, y=2.0)"
    assert v + Vector(x=1.0, y=1.0) == Vector(4.0, 3.0)
    assert 2.0 * v == Vector(6.0, 4.0) == v * 2.0
    assert -v == Vector(-3.0, -2.0)
    assert Vector.unit(1) == Vector(0.0, 1.0)
    v.x = 9
    assert v.x == 9
    assert v.plain() == "only on the host"
    assert Vector() == Vector(0.0, 2.0)


def test_numpy_knows_the_class():
    assert Vector.dtype == np.dtype([("x", F32), ("y", F32)])
    data = np.zeros(3, Vector)
    data[1] = Vector(5.0)
    assert isinstance(data[1], Vector)
    assert data[1].dot(data[1]) == 29
    assert Particle().position == Vector(0.0, 0.0)
    assert Particle(position=Vector(1.0)).position.y == 2
    assert Particle.dtype["color"].shape == (2, 2)


def test_copies_and_pickles():
    v = Vector(3.0, 4.0)
    for other in (copy.copy(v), copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert isinstance(other, Vector)
        assert other == v
        other.x = 0
        assert v.x == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Vector(1, 2, 3), "Vector has 2 fields, but 3 values were given"),
        (lambda: Vector(z=1), "Vector has no field z; it has x, y"),
        (lambda: Vector(1, x=2), "Vector got two values for x"),
        (lambda: Particle(id=1.5), "a value of type float64 does not convert to int32"),
    ],
)
def test_wrong_values_on_the_host(make, message):
    with pytest.raises(TypeError, match=message):
        make()


@amp.func
def furthest(a, b):
    return a if a.norm2 > b.norm2 else b


@amp.kernel
def everything(i, points, offset, out, flags, particles):
    k = i[0]
    p = points[k]
    q = Vector(1.0, y=float(k))
    z = Vector()
    out[0, k] = p + q * 2 + offset
    out[1, k] = 3 * -p
    out[2, k] = furthest(p, q)
    out[3, k] = Vector.unit(k % 2)
    z.x = p.dot(q)
    out[4, k] = z
    flags[k] = 1 if p == q else 0
    stored = particles[k]
    particles[k] = stored.moved(p)
    local = amp.private(2, Vector)
    local[0] = Vector(y=p.x)
    local[1] = local[0] + q
    out[5, k] = local[1]


def test_in_kernels(accelerator_view):
    data = np.zeros(6, Vector)
    data["x"] = [0, 1, -2, 1, 4, 0.5]
    data["y"] = [0, 1, 3, 3, 0, 5]
    particles = np.zeros(6, Particle)
    particles["id"] = np.arange(6)
    particles["mass"] = 2.5
    offset = Vector(0.5, -1.0)
    out = amp.array(amp.extent(6, 6), Vector)
    flags = amp.array_view(np.zeros(6, I32))
    view = amp.array_view(particles)
    amp.parallel_for_each(
        accelerator_view, amp.extent(6), everything, amp.array_view(data), offset, amp.array_view(out), flags, view
    )
    view.synchronize()
    result = np.asarray(out)
    for k in range(6):
        p, q = data[k], Vector(1.0, float(k))
        assert result[0, k] == p + q * 2 + offset
        assert result[1, k] == 3 * -p
        assert result[2, k] == furthest(p, q)
        assert result[3, k] == Vector.unit(k % 2)
        assert result[4, k] == Vector(p.dot(q), 2.0)
        assert flags[k] == int(p == q)
        assert result[5, k] == Vector(y=p.x) + q
        assert particles[k].id == k + 4
        assert particles[k].position == p
        assert particles[k].mass == 2.5
        assert particles[k].kind == -3
        assert particles[k].color.tolist() == [[0, 0], [0, 7]]


def test_a_captured_struct_goes_by_value(accelerator_view):
    out = amp.array_view(np.zeros(3, F32))
    scale = Vector(3.0, 4.0)

    @amp.parallel_for_each(accelerator_view, amp.extent(3))
    def _(i):
        out[i] = scale.norm2 + Vector(float(i[0])).x

    scale.x = 0
    assert np.asarray(out).tolist() == [25, 26, 27]


@amp.struct
class Polar:
    x: amp.float32
    y: amp.float32 = 2.0

    @amp.func
    def dot(self, other):
        return 1000.0


@amp.kernel
def dots(i, a, out):
    out[i] = a[i].dot(a[i])


@amp.struct
class HasVector:
    inner: Vector


@amp.struct
class HasPolar:
    inner: Polar


@amp.kernel
def inner_dots(i, a, out):
    out[i] = a[i].inner.dot(a[i].inner)


def test_equal_fields_do_not_make_equal_classes_of_fields(accelerator_view):
    out = amp.array_view(np.zeros(2, F32))
    for cls, value in ((HasVector, 0.0), (HasPolar, 1000.0), (HasVector, 0.0)):
        amp.parallel_for_each(accelerator_view, out.extent, inner_dots, amp.array_view(np.zeros(2, cls)), out)
        assert np.asarray(out).tolist() == [value] * 2


def test_equal_fields_do_not_make_equal_classes(accelerator_view):
    out = amp.array_view(np.zeros(2, F32))
    for cls, value in ((Vector, 8.0), (Polar, 1000.0)):
        data = np.zeros(2, cls)
        data[:] = cls(2.0)
        amp.parallel_for_each(accelerator_view, out.extent, dots, amp.array_view(data), out)
        assert np.asarray(out).tolist() == [value] * 2


def test_a_constructor_names_the_variable_it_makes():
    out = amp.array_view(np.zeros(3, F32))

    @amp.kernel
    def run(i, out):
        point = Vector(1.0, 3.0)
        out[i] = point.x

    glsl = run.inspect(out.extent, out).glsl
    assert "point.y = 3.0;" in glsl
    assert "vector" not in glsl


@amp.struct
class Ray:
    origin: amp.float3
    length: amp.float32 = 2.0

    @amp.func
    def end(self, direction):
        return self.origin + direction * self.length


class Light:
    def __init__(self):
        self.direction = amp.float3(1.0, 2.0, 3.0)

    @amp.func
    def hit(self, ray):
        return ray.end(self.direction)


@amp.kernel
def rays(i, light, out):
    ray = Ray(amp.float3(float(i[0]), 0.0, 1.0))
    out[i] = light.hit(ray) + Ray().origin


def test_vectors_are_fields_and_members(accelerator_view):
    out = amp.array_view(np.zeros((3, 3), F32), dtype=amp.float3)
    amp.parallel_for_each(accelerator_view, amp.extent(3), rays, Light(), out)
    for k in range(3):
        assert out[k] == Light().hit(Ray(amp.float3(float(k), 0.0, 1.0)))


def test_vector_fields_on_the_host():
    ray = Ray((1, 2, 3))
    assert ray.origin == amp.float3(1, 2, 3)
    ray.origin.y = 7
    ray.origin = ray.origin + 1
    assert ray.origin == amp.float3(2, 8, 4)
    assert ray.end(amp.float3(1, 1, 1)) == amp.float3(4, 10, 6)
