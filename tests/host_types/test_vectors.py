"""Short vectors on the host (docs/conformance.md, section 14), alone and as elements."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest

import vkamp as amp
from vkamp.lang.dtypes import dtype_name, element_dtype
from vkamp.lang.vectors import letters_of

KINDS = [amp.float2, amp.float3, amp.float4, amp.int2, amp.int3, amp.int4, amp.uint2, amp.uint3, amp.uint4]
INTEGERS = [k for k in KINDS if k.value_type is not np.float32]


def values(vector):
    return np.asarray(vector).tolist()


# -- construction


@pytest.mark.parametrize("kind", KINDS)
def test_construction(kind):
    numbers = list(range(1, kind.size + 1))
    assert values(kind()) == [0] * kind.size
    assert values(kind(7)) == [7] * kind.size
    assert values(kind(*numbers)) == numbers
    assert values(kind(kind(*numbers))) == numbers
    assert np.asarray(kind(1)).dtype == kind.value_type
    for other in KINDS:
        if other.size == kind.size:
            assert values(kind(other(*numbers))) == numbers


def test_conversion_is_that_of_c():
    assert amp.int3(amp.float3(1.9, -1.9, 0.5)) == amp.int3(1, -1, 0)
    assert amp.uint2(amp.int2(-1, 5)) == amp.uint2(2**32 - 1, 5)
    assert amp.int2(amp.uint2(2**32 - 1, 5)) == amp.int2(-1, 5)
    assert amp.float2(amp.int2(-1, 16777217)) == amp.float2(-1, 16777216)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: amp.float3(1, 2), TypeError, "float3 takes no arguments, one, or 3 numbers, got 2"),
        (lambda: amp.float3(1, 2, 3, 4), TypeError, "float3 takes no arguments, one, or 3 numbers, got 4"),
        (lambda: amp.float3(amp.float2()), TypeError, "a float2 does not convert to float3: the lengths differ"),
        (lambda: amp.float3(amp.float2(), 1, 2), TypeError, "a component is a number, got a float2"),
        (lambda: amp.int2(1.5), TypeError, "a value of type float64 does not convert to int32"),
        (lambda: amp.int2(2**31), OverflowError, "2147483648 does not fit int32"),
        (lambda: amp.uint2(-1), OverflowError, "-1 does not fit uint32"),
    ],
)
def test_construction_errors(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == message


def test_names_of_amp():
    for name in ("float", "int", "uint", "double"):
        for size in (2, 3, 4):
            assert getattr(amp, f"{name}_{size}") is getattr(amp, f"{name}{size}")
    assert amp.short_vector(amp.float32, 3) is amp.float3
    assert amp.short_vector("u4", 2) is amp.uint2
    for kind in KINDS:
        traits = amp.short_vector_traits(kind)
        assert (traits.value_type, traits.size) == (kind.value_type, kind.size)
    assert amp.short_vector_traits(amp.int32).size == 1
    with pytest.raises(
        TypeError, match=r"^there is no short vector of 5 float32: 2 to 4 float32, float64, float16, int32, uint32$"
    ):
        amp.short_vector(amp.float32, 5)
    with pytest.raises(TypeError, match="is not a scalar or short vector type$"):
        amp.short_vector_traits(amp.int16)


# -- components


NAMES = ["".join(p) for n in (1, 2, 3) for p in itertools.product("xyzwrgba", repeat=n)]
NAMES += ["".join(p) for family in ("xyzw", "rgba") for p in itertools.permutations(family)] + ["xyzx", "xyzwx", "s"]


@pytest.mark.parametrize("size", [2, 3, 4])
def test_swizzles(size):
    """Distinct letters of one family that the vector has are read and assigned, and nothing else is."""
    kind = amp.short_vector(amp.int32, size)
    for name in NAMES:
        family = next((f for f in ("xyzw", "rgba") if set(name) <= set(f[:size]) and len(set(name)) == len(name)), "")
        v, expected = kind(*range(10, 10 + size)), list(range(10, 10 + size))
        assert (letters_of(name, size) is not None) == bool(family)
        if not family:
            with pytest.raises(AttributeError):
                getattr(v, name)
            with pytest.raises(AttributeError):
                setattr(v, name, 1)
            continue
        where = [family.index(c) for c in name]
        part = getattr(v, name)
        if len(name) == 1:
            assert part == expected[where[0]]
            setattr(v, name, 0)
        else:
            assert type(part) is amp.short_vector(amp.int32, len(name))
            assert values(part) == [expected[k] for k in where]
            setattr(v, name, type(part)(*range(len(name))))
        for k, position in enumerate(where):
            expected[position] = k
        assert values(v) == expected


def test_component_errors():
    v = amp.float3(1, 2, 3)
    with pytest.raises(AttributeError) as caught:
        v.xx  # noqa: B018
    assert str(caught.value) == "float3 has no components 'xx': they are distinct letters of xyz or rgb"
    with pytest.raises(TypeError, match=r"^\.xy takes a float2, got float3$"):
        v.xy = v
    with pytest.raises(IndexError, match=r"^3 is not a component of float3, which has 3$"):
        v[3]
    with pytest.raises(OverflowError):
        amp.int2().x = 2**31


def test_a_swizzle_is_a_copy():
    v = amp.float3(1, 2, 3)
    part = v.xy
    part.x = 9
    assert v == amp.float3(1, 2, 3)


# -- operators


def test_float_operators():
    a, b = amp.float3(1, -2, 0.5), amp.float3(2, 4, -8)
    x, y = np.asarray(a), np.asarray(b)
    for found, wanted in [
        (a + b, x + y), (a - b, x - y), (a * b, x * y), (a / b, x / y), (2 * a, 2 * x), (a - 1, x - 1), (-a, -x),
        (+a, x), (1 / b, 1 / y), (np.float32(2) * a, 2 * x),
    ]:  # fmt: skip
        assert type(found) is amp.float3
        np.testing.assert_array_equal(np.asarray(found), wanted)
    assert values(amp.float2(1, -1) / 0) == [np.inf, -np.inf]
    assert not hasattr(amp.float3, "__mod__")


@pytest.mark.parametrize("kind", INTEGERS)
def test_integer_operators(kind):
    signed = kind.value_type is np.int32
    rng = np.random.default_rng(3)
    for _ in range(20):
        x = rng.integers(-100 if signed else 0, 100, kind.size).astype(kind.value_type)
        y = rng.integers(1, 20, kind.size).astype(kind.value_type) * kind.value_type(-1 if signed else 1)
        a, b = kind(*x), kind(*y)
        quotient = np.trunc(x.astype(float) / y.astype(float))
        assert values(a / b) == quotient.tolist()
        assert values(a % b) == (x - quotient * y).tolist()
        shift = kind(*range(kind.size))
        for found, wanted in [
            (a + b, x + y), (a * b, x * y), (a ^ b, x ^ y), (a | b, x | y), (a & b, x & y), (~a, ~x),
            (a << shift, x << np.arange(kind.size)), (a >> shift, x >> np.arange(kind.size)),
        ]:  # fmt: skip
            assert values(found) == wanted.astype(kind.value_type).tolist()


def test_integers_wrap():
    assert amp.int2(2**31 - 1, 0) + 1 == amp.int2(-(2**31), 1)
    assert amp.uint2(0, 1) - 1 == amp.uint2(2**32 - 1, 0)
    assert amp.int2(-(2**31), 7) / -1 == amp.int2(-(2**31), -7)


def test_in_place_operators_make_another_vector():
    v = same = amp.int3(1, 2, 3)
    v += 1
    v *= amp.int3(2, 3, 4)
    v <<= 1
    v %= 7
    v.xy -= amp.int2(1, 1)
    v.z += 5
    assert same == amp.int3(1, 2, 3)
    assert values(v) == [8 % 7 - 1, 18 % 7 - 1, 32 % 7 + 5]


@pytest.mark.parametrize(
    ("operation", "error", "message"),
    [
        (lambda v: v + amp.int3(), TypeError, "float3 and int3 do not mix: write float3(...) around the other"),
        (lambda v: v + amp.float2(), TypeError, "float3 and float2 do not mix: write float3(...) around the other"),
        (lambda v: v == amp.float2(), TypeError, "float3 and float2 do not mix: write float3(...) around the other"),
        (lambda v: v + np.int32(1), TypeError, "int32 and float3 do not mix: write np.float32(...)"),
        (lambda v: v + True, TypeError, "a bool and a float3 do not mix"),
        (lambda v: amp.int3() + 1.5, TypeError, "a value of type float64 does not convert to int32"),
        (lambda v: -amp.uint3(), TypeError, "uint3 has no unary minus"),
        (lambda v: amp.int3() / 0, ZeroDivisionError, "integer division by zero"),
        (lambda v: amp.int3() % amp.int3(1, 0, 1), ZeroDivisionError, "integer division by zero"),
        (lambda v: amp.int3() << 32, ValueError, "shift by 0 to 31 bits"),
        (bool, TypeError, "a float3 is neither true nor false: compare it or its components"),
    ],
)
def test_operator_errors(operation, error, message):
    with pytest.raises(error) as caught:
        operation(amp.float3())
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "operation",
    [lambda v: v < v, lambda v: v % 2, lambda v: v & 1, lambda v: v // 2, lambda v: v**2, lambda v: v + "a", abs, hash],
)
def test_what_vectors_have_not(operation):
    with pytest.raises(TypeError):
        operation(amp.float3())


def test_equality():
    assert (amp.float2(1, 2) == amp.float2(1, 2)) is True
    assert (amp.float2(1, 2) != amp.float2(1, 3)) is True
    assert amp.float2(2, 2) == 2
    nan = amp.float2(np.nan, 1)
    assert nan != nan
    assert amp.float2(1, 2) != "a"


def test_as_other_objects():
    v = amp.float3(1, 2.5, -3)
    assert repr(v) == "float3(1.0, 2.5, -3.0)"
    assert pickle.loads(pickle.dumps(v)) == v
    twin = copy.copy(v)
    twin.x = 9
    assert v.x == 1
    assert np.array([v, v]).shape == (2, 3)
    with pytest.raises(ValueError, match="without a copy"):
        v.__array__(copy=False)


# -- elements


@pytest.mark.parametrize("kind", KINDS)
def test_dtype(kind):
    assert np.dtype(kind) == kind.dtype == element_dtype(kind)
    assert kind.dtype.itemsize == 4 * kind.size
    assert dtype_name(kind.dtype) == kind.__name__
    plain = np.dtype([(n, kind.value_type) for n in "xyzw"[: kind.size]])
    assert plain != kind.dtype


@pytest.mark.parametrize("size", [2, 3, 4])
def test_doubles_are_packed(size):
    kind = getattr(amp, f"double{size}")
    view = amp.array_view(amp.extent(2), kind)
    assert kind.dtype.itemsize == 8 * size
    view[1] = kind(0.1)
    assert np.asarray(view)[1].tolist() == [0.1] * size
    assert repr(view) == f"array_view(extent(2), double{size})"


def test_view_of_components():
    data = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    view = amp.array_view(data, dtype=amp.float3)
    assert (view.extent, view.dtype) == (amp.extent(2, 2), amp.float3.dtype)
    assert repr(view) == "array_view(extent(2, 2), float3)"
    assert view[1, 0] == amp.float3(6, 7, 8)
    view[0, 1] = amp.float3(-1, -2, -3)
    view[1, 1] = (10, 20, 30)
    np.testing.assert_array_equal(data[0, 1], [-1, -2, -3])
    np.testing.assert_array_equal(data[1, 1], [10, 20, 30])
    assert np.shares_memory(np.asarray(view), data)
    np.testing.assert_array_equal(np.asarray(view), data)
    assert np.asarray(view, dtype=amp.float3).dtype == amp.float3.dtype
    assert view.section(amp.index(0, 1))[0, 0] == amp.float3(-1, -2, -3)
    assert view[1].data().shape == (2, 3)
    np.testing.assert_array_equal(view.get_ref(amp.index(1, 0)), [6, 7, 8])


def test_assigning_components_of_an_element_changes_it():
    data = np.zeros((3, 2), np.int32)
    view = amp.array_view(data, dtype=amp.int2)
    view[1].y = 5
    view[1].yx += amp.int2(1, 2)
    view[2] += 7
    kept = view[1]
    kept.x = 2
    kept.y += 0
    [changed] = [view[2]]
    changed.x = -1
    view[1] = amp.int2(9, 9)
    assert kept == amp.int2(2, 6)
    np.testing.assert_array_equal(data, [[0, 0], [9, 9], [7, 7]])
    readonly = amp.array_view(data, dtype=amp.int2, readonly=True)
    with pytest.raises(TypeError, match="is read-only$"):
        readonly[0].x = 1


@pytest.mark.parametrize("value", [1, amp.int3(), amp.float2(), (1, 2), "abc", None])
def test_wrong_values_of_an_element(value):
    view = amp.array_view(np.zeros((1, 3), np.float32), dtype=amp.float3)
    with pytest.raises(TypeError):
        view[0] = value
    assert view[0] == amp.float3()


@pytest.mark.parametrize(
    ("data", "dtype", "error", "message"),
    [
        (np.zeros((4, 2), np.float32), amp.float3, amp.AmpError,
         "the ndarray has shape (4, 2): the last dimension of float3 elements is 3"),
        (np.zeros((4, 3), np.int32), amp.float3, TypeError,
         "float3 elements are made of float32, the ndarray has int32"),
        (np.zeros((3, 4), np.float32).T, amp.float3, TypeError,
         "the components of the ndarray are not contiguous: write array_view(np.ascontiguousarray(a), ...)"),
        (np.zeros(4, np.float32), amp.int32, TypeError,
         "dtype is for an extent only; elements keep the source's type"),
    ],
)  # fmt: skip
def test_views_that_cannot_be(data, dtype, error, message):
    with pytest.raises(error) as caught:
        amp.array_view(data, dtype=dtype)
    assert str(caught.value) == message


def test_structured_arrays_are_views_too():
    data = np.zeros(4, amp.uint4)
    view = amp.array_view(data)
    view[2].w = 7
    assert data[2].item() == (0, 0, 0, 7)
    assert np.asarray(view).shape == (4, 4)


@pytest.mark.parametrize(
    "data",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.arange(6, dtype=np.float32),
        [0, 1, 2, 3, 4, 5],
        [(0, 1, 2), (3, 4, 5)],
        [amp.float3(0, 1, 2), amp.float3(3, 4, 5)],
        lambda: (amp.float3(k, k + 1, k + 2) for k in (0, 3)),
    ],
)
def test_arrays_from_data(data, accelerator_view):
    data = data() if callable(data) else data
    made = amp.array(amp.extent(2), amp.float3, data, accelerator_view=accelerator_view)
    assert repr(made) == "array(extent(2), float3)"
    np.testing.assert_array_equal(np.asarray(made), np.arange(6).reshape(2, 3))
    again = amp.array(made)
    assert again.dtype == amp.float3.dtype
    target, structured = np.zeros((2, 3), np.float32), np.zeros(2, amp.float3)
    amp.copy(made, target)
    amp.copy(again, structured)
    np.testing.assert_array_equal(target, np.arange(6).reshape(2, 3))
    assert structured[1].item() == (3, 4, 5)
    amp.copy(target * 2, made)
    np.testing.assert_array_equal(np.asarray(made), 2 * target)
    amp.copy(structured, made)
    np.testing.assert_array_equal(np.asarray(made), target)
    flat = made.reinterpret_as(amp.float32)
    np.testing.assert_array_equal(np.asarray(flat), np.arange(6))
    assert flat.reinterpret_as(amp.float2)[1] == amp.float2(2, 3)


def test_data_that_does_not_fit():
    with pytest.raises(amp.AmpError, match=r"^data has shape \(2, 2\): the last dimension of float3 elements is 3$"):
        amp.array(amp.extent(2), amp.float3, [(1, 2), (3, 4)])
    with pytest.raises(TypeError):
        amp.array(amp.extent(1), amp.int3, [(1.5, 2, 3)])
    with pytest.raises(amp.AmpError):
        amp.array_view(amp.extent(7), amp.float32).reinterpret_as(amp.float3)


def test_structs_with_vectors():
    body = np.dtype([("position", amp.float3), ("path", amp.int2, (2,)), ("mass", np.float32)])
    data = np.zeros(2, body)
    view = amp.array_view(data)
    view[1].position.zx = amp.float2(1, 2)
    view[1].path[1] = amp.int2(3, 4)
    view[0] = (amp.float3(7, 8, 9), [amp.int2(1, 2), (3, 4)], 0.5)
    assert view[1].position == amp.float3(2, 0, 1)
    assert view[1].path[1].y == 4
    assert data[0].item()[0] == (7, 8, 9)
    assert dtype_name(body) == "{position: float3, path: int2[2], mass: float32}"
    made = amp.array(amp.extent(1), body, [(amp.float3(1, 2, 3), [(0, 0), (0, 0)], 1)])
    assert np.asarray(made)[0]["position"].item() == (1, 2, 3)


@pytest.mark.parametrize("name", ["norm", "unorm", "norm2", "unorm4", "norm_3"])
def test_norms_are_refused(name):
    with pytest.raises(amp.UnsupportedFeatureError, match=f"^{name} is not supported: use float"):
        getattr(amp, name)
    assert not hasattr(amp, name)
    with pytest.raises(AttributeError):
        amp.norms  # noqa: B018
