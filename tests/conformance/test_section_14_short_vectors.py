"""Short vectors: on the host, in kernels, as elements."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import vkamp as amp
from tests.conformance.programs import F32, I32, U32, numbers, on
from tests.conformance.registry import row
from tests.kernel_language.from_text import defined

KINDS = [amp.int2, amp.int3, amp.int4, amp.uint2, amp.uint3, amp.uint4, amp.float2, amp.float3, amp.float4]
NO_DOUBLES = "the Kompute engine does not enable shaderFloat64"
NO_NORMS = "norm and unorm are for textures, which are later: use float, and clamp"


def vectors(view, kind, *shape):
    """An array on the device, of whatever is in its memory."""
    return amp.array(amp.extent(*shape), kind, accelerator_view=view)


def refused(view, line, match):
    """A kernel with this line does not compile; v and u are a float4 and a uint2, n an int."""
    source = f"def k(i, v, out):\n    u = amp.uint2(1)\n    n = i[0]\n    {line}\n"
    with pytest.raises(amp.CompileError, match=match):
        on(view, defined(source), amp.extent(3), vectors(view, amp.float4, 3), amp.array_view(numbers(3, dtype=F32)))


@row("14", "int, uint, float of 2 to 4 components")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_kinds(accelerator_view, kind):
    out = vectors(accelerator_view, kind, 5)

    @amp.parallel_for_each(accelerator_view, out.extent)
    def _(i):
        v = kind(i[0])
        v.y = 7
        out[i] = v * 3 - kind(1) + v

    expected = np.repeat(np.arange(5), kind.size).reshape(5, kind.size)
    expected[:, 1] = 7
    assert np.array_equal(np.asarray(out), (expected * 4 - 1).astype(kind.value_type))


@row("14", "two names: float4 and float_4")
def test_names():
    for scalar, size in itertools.product(("int", "uint", "float", "double"), (2, 3, 4)):
        assert getattr(amp, f"{scalar}{size}") is getattr(amp, f"{scalar}_{size}")


@row("14", "short_vector<T, N>::type")
def test_short_vector():
    assert amp.short_vector(amp.float32, 3) is amp.float3
    assert amp.short_vector(np.uint32, 2) is amp.uint2
    with pytest.raises(TypeError, match="no short vector of 5 float32"):
        amp.short_vector(amp.float32, 5)


@row("14", "short_vector_traits: value_type and size, of scalars too")
def test_traits():
    for kind in KINDS:
        traits = amp.short_vector_traits(kind)
        assert (traits.value_type, traits.size) == (kind.value_type, kind.size)
    assert amp.short_vector_traits(amp.int32).size == 1


@row("14", "double_2 to double_4")
@pytest.mark.parametrize("kind", [amp.double2, amp.double3, amp.double4])
def test_doubles(accelerator, accelerator_view, kind):
    assert kind(0.1).x == 0.1
    assert (kind(1) / 3 == kind(1 / 3)) and kind(amp.short_vector(amp.int32, kind.size)(2)) == kind(2)
    out = amp.array_view(amp.extent(5), kind)
    third = 1 / 3

    def launched():
        @amp.parallel_for_each(accelerator_view, out.extent)
        def _(i):
            v = kind(i[0]) * third
            v.yx = v.xy * 2.0
            out[i] = v + kind(amp.float64(0.1))

    if not accelerator.supports_double_precision:
        with pytest.raises(amp.UnsupportedFeatureError, match="float64 needs the device feature shaderFloat64"):
            launched()
        return
    launched()
    np.testing.assert_allclose(np.asarray(out)[:, :2], np.arange(5)[:, None] / [1.5, 1.5] + 0.1, rtol=4e-16)


@row("14", "norm, unorm and their vectors", refused=NO_NORMS)
@row("14", "norm [-1,1], unorm [0,1]: conversions, clamped arithmetic", refused=NO_NORMS)
@pytest.mark.parametrize("name", ["norm", "unorm", "norm2", "unorm2", "norm_3", "unorm_3", "norm4", "unorm_4"])
def test_norms(accelerator_view, name):
    with pytest.raises(amp.UnsupportedFeatureError, match=f"^{name} is not supported: use float"):
        getattr(amp, name)
    kernel = defined(f"def k(i):\n    amp.{name}(0.5)\n")
    with pytest.raises(amp.UnsupportedFeatureError, match=f"VKA227: {name} is not supported"):
        on(accelerator_view, kernel, amp.extent(3))


# -- construction


@amp.kernel
def constructions(i, out):
    out[i[0], 0] = amp.float3()
    out[i[0], 1] = amp.float3(2.5)
    out[i[0], 2] = amp.float3(1, 2.5, amp.float32(i[0]))
    out[i[0], 3] = amp.float3(amp.int3(amp.float3(-1.75, 2.75, 3.0)))
    out[i[0], 4] = amp.float3(amp.uint3(1, 2, 4000000000))


@row("14", "construct: zeros")
@row("14", "construct: one scalar for all components")
@row("14", "construct: all components")
@row("14", "construct: explicitly from another scalar type of the same length")
def test_construction(accelerator_view):
    expected = [[0, 0, 0], [2.5, 2.5, 2.5], [1, 2.5, 3], [-1, 2, 3], [1, 2, 4e9]]
    out = vectors(accelerator_view, amp.float3, 4, 5)
    on(accelerator_view, constructions, amp.extent(4), out)
    assert np.asarray(out)[3].tolist() == expected
    host = [amp.float3(), amp.float3(2.5), amp.float3(1, 2.5, 3), amp.float3(amp.int3(amp.float3(-1.75, 2.75, 3)))]
    assert [np.asarray(v).tolist() for v in host] == expected[:4]


@row("14", "construct: never from another length, or from some of the components")
def test_wrong_construction(accelerator_view):
    for wrong in (lambda: amp.float4(amp.float3(1)), lambda: amp.float4(1, 2), lambda: amp.int3(1, 2, 3, 4)):
        with pytest.raises(TypeError):
            wrong()
    refused(accelerator_view, "v[i] = amp.float4(amp.float3(1))", "the lengths differ")
    refused(accelerator_view, "v[i] = amp.float4(1, 2)", "takes none, 1 or 4 arguments")


@row("14", "no implicit conversion between scalar types")
def test_implicit_conversion(accelerator_view):
    refused(accelerator_view, "v[i] = amp.int4(1)", "write the conversion: `amp.float4")
    refused(accelerator_view, "v[i] = n", "write the conversion: `amp.float4")


# -- components


@amp.kernel
def components(i, out):
    v = amp.int4(1, 2, 3, 4)
    v.w = v.x + 10
    v.g = 20
    v.b += 30
    out[i] = v
    out[i].x = v.a


@row("14", "components x y z w or r g b a")
def test_components(accelerator_view):
    out = vectors(accelerator_view, amp.int4, 2)
    on(accelerator_view, components, out.extent, out)
    assert np.asarray(out).tolist() == [[11, 20, 33, 11]] * 2
    v = amp.int4(1, 2, 3, 4)
    v.g = v.w + v.r
    assert (v.x, v.y, v.b, v.a) == (1, 5, 3, 4)


@row("14", "components only as far as the length goes")
def test_missing_components(accelerator_view):
    for kind, letters in ((amp.float2, "zwba"), (amp.int3, "wa")):
        for letter in letters:
            with pytest.raises(AttributeError, match=f"no components '{letter}'"):
                getattr(kind(1), letter)
    refused(accelerator_view, "out[i] = amp.float2(1).z", "a float2 has no `z`")
    refused(accelerator_view, "v[i].rgb.a = 1.0", "a float3 has no `a`")


@row("14", "no subscript", differs="`v[0]` is `v.x`, and `v[k]` the component that the run time chooses, as in Python")
def test_subscripts(accelerator_view):
    with pytest.raises(IndexError, match="4 is not a component of float3"):
        amp.float3(1)[4]
    refused(accelerator_view, "out[i] = v[i][4]", "the subscript 4 is out of range: `v\\[i\\]` has 4 components")
    raw = numbers(3, 4)
    out = vectors(accelerator_view, amp.int4, 3, 1)
    kernel = defined("def k(i, a, out):\n    v = a[i]\n    v[i[0]] = v[0] - v[3 - i[0]]\n    out[i[0], 0] = v\n")
    on(accelerator_view, kernel, amp.extent(3), amp.array_view(raw, dtype=amp.int4), out)
    expected = raw.copy()
    for k in range(3):
        expected[k, k] = raw[k, 0] - raw[k, 3 - k]
    assert np.asarray(out)[:, 0].tolist() == expected.tolist()


SWIZZLES = ["".join(letters) for n in (2, 3, 4) for letters in itertools.permutations("xyzw", n)]
CHOSEN = ["xy", "wz", "zyx", "wxy", "yxwz", "wzyx"]


@row("14", "swizzles: permutations of distinct letters, readable and assignable")
def test_swizzles(accelerator_view):
    colours = str.maketrans("xyzw", "rgba")
    lines = [
        f"    v = a[i]\n    v.{s.translate(colours)} = v.{s[::-1]} * 10\n    out[i[0], {n}] = v\n"
        for n, s in enumerate(CHOSEN)
    ]
    raw = numbers(3, 4) + 1
    out = vectors(accelerator_view, amp.int4, 3, len(CHOSEN))
    kernel = defined("def k(i, a, out):\n" + "".join(lines))
    on(accelerator_view, kernel, amp.extent(3), amp.array_view(raw, dtype=amp.int4), out)
    for n, letters in enumerate(CHOSEN):
        at = ["xyzw".index(c) for c in letters]
        expected = raw.copy()
        expected[:, at] = raw[:, at[::-1]] * 10
        assert np.array_equal(np.asarray(out)[:, n], expected), letters


@row("14", "swizzles: all 60 of a vector of 4, on the host")
def test_every_swizzle():
    for letters in SWIZZLES:
        v = amp.int4(1, 2, 3, 4)
        part = getattr(v, letters)
        at = ["xyzw".index(c) for c in letters]
        assert type(part) is amp.short_vector(amp.int32, len(at))
        assert np.asarray(part).tolist() == [k + 1 for k in at]
        setattr(v, letters, part + 10)
        assert np.asarray(v).tolist() == [k + 11 if k in at else k + 1 for k in range(4)]


@row("14", "swizzles: no letter twice, no letters of both families")
@pytest.mark.parametrize("letters", ["xx", "xyx", "xg", "rgz"])
def test_wrong_swizzles(accelerator_view, letters):
    with pytest.raises(AttributeError, match=f"no components '{letters}'"):
        getattr(amp.float4(1), letters)
    refused(accelerator_view, f"out[i] = v[i].{letters}.x", f"no `{letters}`")
    refused(accelerator_view, f"v[i].{letters} = amp.float{len(letters)}(1)", f"no `{letters}`")


@amp.kernel
def counts(i, cells):
    amp.atomic_fetch_add(cells[0].ref_x(), 1)
    amp.atomic_fetch_max(cells[0].ref_z(), i[0])
    amp.atomic_fetch_sub(cells[1].y, 2)


@row("14", "ref_x().. for atomics", differs="the component itself will do too: atomic_fetch_add(v[i].x, 1)")
def test_references(accelerator_view):
    cells = amp.array_view(np.zeros((2, 3), I32), dtype=amp.int3)
    on(accelerator_view, counts, amp.extent(37), cells)
    assert np.asarray(cells).tolist() == [[37, 0, 36], [0, -74, 0]]


# -- operators


@amp.kernel
def float_arithmetic(i, a, b, out):
    x, y = a[i], b[i]
    out[i[0], 0] = x + y
    out[i[0], 1] = x - y
    out[i[0], 2] = x * y
    out[i[0], 3] = x / y
    out[i[0], 4] = -x
    out[i[0], 5] = 0.5 * x + 2
    x += y
    x -= 1
    x *= amp.float3(2, 4, 8)
    x /= 2
    out[i[0], 6] = x


@row("14", "component-wise + - * /, unary minus")
@row("14", "in-place operators")
@row("14", "scalars broadcast")
def test_float_arithmetic(accelerator_view):
    a = np.array([[1, -2, 0.5], [0, 4, -8], [3, 16, 2]], F32)
    b = np.array([[2, 4, -0.25], [1, -1, 16], [8, 2, 4]], F32)
    out = vectors(accelerator_view, amp.float3, 3, 7)
    views = (amp.array_view(a, dtype=amp.float3), amp.array_view(b, dtype=amp.float3))
    on(accelerator_view, float_arithmetic, amp.extent(3), *views, out)
    last = (a + b - 1) * np.array([1, 2, 4], F32)
    assert np.array_equal(np.asarray(out), np.stack([a + b, a - b, a * b, a / b, -a, a / 2 + 2, last], 1))
    x, y = amp.float3(1, -2, 0.5), amp.float3(2, 4, -0.25)
    assert x * y - 1 == amp.float3(1, -9, -1.125) and 2 / y == amp.float3(1, 0.5, -8)


@amp.kernel
def steps(i, out):
    v = amp.int3(i[0])
    v += 1
    out[i] = v
    out[i] -= 1
    out[i] += 5


@row("14", "++ --", differs="Python has no increments: v += 1, v -= 1")
def test_steps(accelerator_view):
    out = vectors(accelerator_view, amp.int3, 3)
    on(accelerator_view, steps, out.extent, out)
    assert np.asarray(out).tolist() == [[n + 5] * 3 for n in range(3)]


@amp.kernel
def int_arithmetic(i, a, out):
    x = a[i]
    out[i[0], 0] = x / 2
    out[i[0], 1] = x % 3
    out[i[0], 2] = x ^ amp.int2(5, 6)
    out[i[0], 3] = x | 8
    out[i[0], 4] = x & 12
    out[i[0], 5] = ~x
    out[i[0], 6] = x << 2
    out[i[0], 7] = x >> 1
    x %= 4
    x <<= 3
    x |= 1
    x ^= 2
    out[i[0], 8] = x


@row("14", "int: % ^ | & ~ << >>, in place too")
@row("14", "int: / and % truncate as in C", differs="// is refused: / is C's division")
def test_int_arithmetic(accelerator_view):
    out = vectors(accelerator_view, amp.int2, 1, 9)
    raw = np.array([[-7, 13]], I32)
    on(accelerator_view, int_arithmetic, amp.extent(1), amp.array_view(raw, dtype=amp.int2), out)
    x = raw[0]
    quotient, rest = [-3, 6], [-1, 1]
    bits = [x ^ [5, 6], x | 8, x & 12, ~x, x << 2, x >> 1, ([-3, 1] * np.array(8) | 1) ^ 2]
    assert np.array_equal(np.asarray(out)[0], [quotient, rest, *bits])
    assert amp.int2(-7, 13) / 2 == amp.int2(-3, 6) and amp.int2(-7, 13) % 3 == amp.int2(-1, 1)
    with pytest.raises(TypeError):
        amp.int2(-7, 13) // 2
    refused(accelerator_view, "v[i] = v[i] % 2", "`%` does not work on float4")
    refused(accelerator_view, "v[i] = v[i] & 1", "`&` does not work on float4")


@row("14", "uint: arithmetic wraps, no unary minus")
def test_unsigned(accelerator_view):
    raw = np.array([[0, 2**32 - 1], [3, 2**31]], U32)
    values = amp.array_view(raw.copy(), dtype=amp.uint2)

    @amp.parallel_for_each(accelerator_view, values.extent)
    def _(i):
        values[i] = (values[i] - 5) / 3 + (0 - values[i])

    with np.errstate(all="ignore"):
        assert np.array_equal(np.asarray(values), (raw - U32(5)) // U32(3) + (U32(0) - raw))
    with pytest.raises(TypeError, match="uint2 has no unary minus"):
        -amp.uint2(1)
    refused(accelerator_view, "u = -u", "`-` does not work on uint2")


@amp.kernel
def comparisons(i, a, b, out):
    out[i[0], 0] = 1 if a[i] == b[i] else 0
    out[i[0], 1] = 1 if a[i] != b[i] else 0


@row("14", "== and != give one bool")
def test_equality(accelerator_view):
    a = np.array([[1, 2], [2, 2], [np.nan, 1]], F32)
    b = np.array([[1, 2], [2, 3], [np.nan, 1]], F32)
    out = amp.array_view(np.zeros((3, 2), I32))
    views = (amp.array_view(a, dtype=amp.float2), amp.array_view(b, dtype=amp.float2))
    on(accelerator_view, comparisons, amp.extent(3), *views, out)
    assert np.asarray(out).tolist() == [[1, 0], [0, 1], [0, 1]]
    assert (amp.float2(1, 2) == amp.float2(1, 2)) is True and (amp.float2(1, 2) != amp.float2(1, 2)) is False


@row("14", "no <, and no vector as a condition")
def test_no_order(accelerator_view):
    for wrong in (lambda: amp.float3(1) < amp.float3(2), lambda: bool(amp.int2(1)), lambda: amp.int2(1) >= 0):
        with pytest.raises(TypeError):
            wrong()
    refused(accelerator_view, "out[i] = 1 if v[i] < v[i] else 0", "short vectors cannot be ordered")
    refused(accelerator_view, "out[i] = 1 if v[i] else 0", "a number is needed here")


@row("14", "no mixed scalar types, no mixed lengths")
def test_no_mixing(accelerator_view):
    for wrong in (
        lambda: amp.float2(1) + amp.int2(1),
        lambda: amp.int2(1) * 1.5,
        lambda: amp.float2(1) * np.int32(2),
        lambda: amp.float4(1) + amp.float3(1),
        lambda: amp.float2(1) == amp.int2(1),
    ):
        with pytest.raises(TypeError):
            wrong()
    refused(accelerator_view, "v[i] = v[i] + amp.int4(1)", r"`\+` does not work on float4 and int4")
    refused(accelerator_view, "v[i] = v[i] * n", r"`\*` does not work on float4 and int32")
    refused(accelerator_view, "v[i] = v[i] + amp.float3(1)", r"`\+` does not work on float4 and float3")


# -- elements


@row("14", "as elements packed: float3 is 12 bytes")
@pytest.mark.parametrize("kind", [amp.int2, amp.float3, amp.uint4])
def test_packed(accelerator_view, kind):
    assert kind.dtype.itemsize == 4 * kind.size
    scalars = np.zeros(7 * kind.size, kind.value_type)
    view = amp.array_view(scalars).reinterpret_as(kind)

    @amp.parallel_for_each(accelerator_view, view.extent)
    def _(i):
        view[i] = kind(i[0])
        view[i].y += 10

    view.synchronize()
    expected = np.repeat(np.arange(7), kind.size).reshape(7, kind.size)
    expected[:, 1] += 10
    assert np.array_equal(scalars.reshape(7, kind.size), expected)


BODY = np.dtype([("id", I32), ("position", amp.float3), ("spins", amp.int2, (2,))])


@amp.func
def cross(a, b):
    return a.yzx * b.zxy - a.zxy * b.yzx


@amp.kernel
def move(t, bodies, by):
    tile = amp.tile_static((4,), amp.float3)
    tile[t.local] = bodies[t].position
    t.barrier.wait()
    bodies[t].position = cross(tile[3 - t.local[0]], by)
    bodies[t].spins[1].yx += amp.int2(1, 2)


@row("14", "in structs, tile_static memory, functions and captures")
def test_in_structs(accelerator_view):
    raw = np.zeros(8, BODY)
    raw["position"]["y"] = np.arange(8)
    raw["position"]["z"] = 1
    bodies = amp.array_view(raw.copy())
    on(accelerator_view, move, bodies.extent.tile(4), bodies, amp.float3(1, 2, 3))
    before = [(0, float(k // 4 * 4 + 3 - k % 4), 1) for k in range(8)]
    expected = np.cross(before, (1, 2, 3))
    for k in range(8):
        assert bodies[k].position == amp.float3(*expected[k].tolist())
        assert bodies[k].spins[0] == amp.int2() and bodies[k].spins[1] == amp.int2(2, 1)
    assert cross(amp.float3(1, 0, 0), amp.float3(0, 1, 0)) == amp.float3(0, 0, 1)
