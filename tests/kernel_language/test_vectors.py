"""Short vectors in kernels (docs/conformance.md, section 14), on every device."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, U32, same

LOW = -(2**31)
BODY = np.dtype([("id", I32), ("position", amp.float3), ("spins", amp.float2, (2,)), ("mass", F32)])
ONE = amp.float3(1, 2, 3)


def launch(view, extent, kernel, *args):
    amp.parallel_for_each(view, extent, kernel, *args)


def numbers(count, size, dtype=F32):
    return (np.arange(count * size, dtype=dtype) * 3 - count).reshape(count, size).astype(dtype)


# -- construction and components


@amp.kernel
def constructions(i, a, out):
    out[i[0], 0] = amp.float4()
    out[i[0], 1] = amp.float4(2)
    out[i[0], 2] = amp.float4(1, 2.5, a[i].x, i[0])
    out[i[0], 3] = amp.float4(amp.int4(a[i]))
    out[i[0], 4] = amp.float_4(a[i])
    out[i[0], 5] = amp.float4(amp.uint4(amp.int4(a[i])))


def test_construction(accelerator_view):
    a = numbers(5, 4) * F32(0.75)
    out = amp.array(amp.extent(5, 6), amp.float4, accelerator_view=accelerator_view)
    launch(accelerator_view, amp.extent(5), constructions, amp.array_view(a, dtype=amp.float4), out)
    result = np.asarray(out)
    assert result.shape == (5, 6, 4)
    same(result[:, 0], np.zeros((5, 4)))
    same(result[:, 1], np.full((5, 4), 2))
    same(result[:, 2], np.stack([np.ones(5), np.full(5, 2.5), a[:, 0], np.arange(5)], 1))
    same(result[:, 3], np.trunc(a))
    same(result[:, 4], a)
    same(result[:, 5], np.trunc(a).astype(I32).astype(U32).astype(F32))


SWIZZLES = ["".join(p) for n in (2, 3, 4) for p in itertools.permutations("xyzw", n)]


def test_every_swizzle_is_read_and_assigned(accelerator_view):
    """All 60, on a vector in a variable, in one kernel per letter that comes first."""
    for first in "xyzw":
        chosen = [s for s in SWIZZLES if s[0] == first]
        lines = []
        for number, letters in enumerate(chosen):
            colours = letters.translate(str.maketrans("xyzw", "rgba"))
            n = len(letters)
            lines += [
                "    v = a[i]",
                f"    v.{colours} = amp.int{n}(v.{letters}) * 2 + b[i].{'xyzw'[:n]}",
                f"    out[{number}, i[0]] = v",
            ]
        source = "@amp.kernel\ndef swizzles(i, a, b, out):\n" + "\n".join(lines)
        kernel = compiled(source, "swizzles")
        a, b = numbers(3, 4, I32), numbers(3, 4, I32) * 100 + 7
        out = amp.array(amp.extent(len(chosen), 3), amp.int4, accelerator_view=accelerator_view)
        views = (amp.array_view(a, dtype=amp.int4), amp.array_view(b, dtype=amp.int4))
        launch(accelerator_view, amp.extent(3), kernel, *views, out)
        for letters, result in zip(chosen, np.asarray(out), strict=True):
            where = ["xyzw".index(c) for c in letters]
            expected = a.copy()
            expected[:, where] = a[:, where] * 2 + b[:, : len(where)]
            same(result, expected, letters)


def compiled(source, name):
    import linecache

    file = f"<{hash(source)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names = {"amp": amp}
    exec(compile(source, file, "exec"), names)
    return names[name]


@amp.kernel
def swizzles_of_swizzles(i, a, out):
    v = a[i]
    v.zyx.xy = v.wzyx.yx
    out[i] = amp.float4(v.wzy.z, (v + v).wz.y, (v * 2).bgr.rg.g, amp.float2(v.x, v.y).y)


def test_swizzles_of_swizzles(accelerator_view):
    a = numbers(3, 4)
    out = amp.array(amp.extent(3), amp.float4, accelerator_view=accelerator_view)
    launch(accelerator_view, out.extent, swizzles_of_swizzles, amp.array_view(a, dtype=amp.float4), out)
    v = a.copy()
    v[:, 2], v[:, 1] = a[:, 2], a[:, 3]
    # v.zyx.xy is v.zy; v.wzyx.yx is v.zw.
    same(np.asarray(out), np.stack([v[:, 1], 2 * v[:, 2], 2 * v[:, 1], v[:, 1]], 1))


# -- operators


@amp.kernel
def float_operators(i, a, b, out):
    x, y = a[i], b[i]
    out[0, i[0]] = x + y
    out[1, i[0]] = x - 2
    out[2, i[0]] = 0.5 * x
    out[3, i[0]] = x / y
    out[4, i[0]] = -x
    out[5, i[0]] = +x
    out[6, i[0]] = 1 / y
    out[7, i[0]] = x / 0
    x += y
    x *= 3
    x -= amp.float3(1, 2, 3)
    x /= 2
    out[8, i[0]] = x


@pytest.mark.parametrize("precise", [False, True])
def test_float_operators(accelerator_view, precise):
    kernel = amp.kernel(float_operators.function, precise=True) if precise else float_operators
    a = np.array([[1, -2, 0.5], [0, 4, -8], [3, 1e30, 2]], F32)
    b = np.array([[2, 4, -0.25], [1, -1, 16], [8, 2, 4]], F32)
    out = amp.array(amp.extent(9, 3), amp.float3, accelerator_view=accelerator_view)
    views = (amp.array_view(a, dtype=amp.float3), amp.array_view(b, dtype=amp.float3))
    launch(accelerator_view, amp.extent(3), kernel, *views, out)
    with np.errstate(all="ignore"):
        last = ((a + b) * F32(3) - np.array([1, 2, 3], F32)) / F32(2)
        expected = [a + b, a - 2, a / 2, a / b, -a, a, 1 / b, a / F32(0), last]
    if precise:
        same(np.asarray(out), np.array(expected, F32))
    else:
        # A driver may contract x * 3 - c.
        np.testing.assert_allclose(np.asarray(out), np.array(expected, F32), rtol=4e-7)


@amp.kernel
def int_operators(i, a, b, out):
    x, y = a[i], b[i]
    out[0, i[0]] = x + y
    out[1, i[0]] = x * y
    out[2, i[0]] = x / y
    out[3, i[0]] = x % y
    out[4, i[0]] = x & y
    out[5, i[0]] = x | 12
    out[6, i[0]] = x ^ y
    out[7, i[0]] = ~x
    out[8, i[0]] = -x
    out[9, i[0]] = x << (y & 7)
    out[10, i[0]] = x >> 3
    out[11, i[0]] = x / -3
    out[12, i[0]] = x % 5
    out[13, i[0]] = 1 << (y & 15)
    x %= 7
    x <<= 2
    x |= y
    x ^= -1
    out[14, i[0]] = x


def c_division(a, b):
    rest = np.fmod(a, b)
    return (a - rest) // b, rest


def test_int_operators(accelerator_view):
    rng = np.random.default_rng(5)
    a = rng.integers(LOW, -LOW, (4, 4), endpoint=False).astype(I32)
    b = rng.integers(-50, 50, (4, 4)).astype(I32)
    a[0, 0], b[0, 0] = LOW, -1
    b[b == 0] = 9
    out = amp.array(amp.extent(15, 4), amp.int4, accelerator_view=accelerator_view)
    views = (amp.array_view(a, dtype=amp.int4), amp.array_view(b, dtype=amp.int4))
    launch(accelerator_view, amp.extent(4), int_operators, *views, out)
    with np.errstate(all="ignore"):
        quotient, rest = c_division(a, b)
        quotient[0, 0], rest[0, 0] = LOW, 0
        last = ((c_division(a, I32(7))[1] << 2) | b) ^ -1
        expected = [
            a + b, a * b, quotient, rest, a & b, a | 12, a ^ b, ~a, -a, a << (b & 7), a >> 3,
            c_division(a, I32(-3))[0], c_division(a, I32(5))[1], I32(1) << (b & 15), last,
        ]  # fmt: skip
    for number, (found, wanted) in enumerate(zip(np.asarray(out), expected, strict=True)):
        same(found, wanted, str(number))


@amp.kernel
def unsigned(i, a, out):
    x = a[i]
    out[0, i[0]] = x - 5
    out[1, i[0]] = x / 3
    out[2, i[0]] = x % amp.uint2(7, 10)
    out[3, i[0]] = 0 - x
    out[4, i[0]] = x >> 1


def test_unsigned_operators_wrap(accelerator_view):
    a = np.array([[0, 2**32 - 1], [3, 2**31]], U32)
    out = amp.array(amp.extent(5, 2), amp.uint2, accelerator_view=accelerator_view)
    launch(accelerator_view, amp.extent(2), unsigned, amp.array_view(a, dtype=amp.uint2), out)
    with np.errstate(all="ignore"):
        same(np.asarray(out), [a - U32(5), a // 3, a % np.array([7, 10], U32), U32(0) - a, a >> 1])


@amp.kernel
def comparisons(i, a, b, out):
    out[i[0], 0] = 1 if a[i] == b[i] else 0
    out[i[0], 1] = 1 if a[i] != b[i] else 0
    out[i[0], 2] = 1 if a[i] == 2 else 0
    out[i[0], 3] = 1 if not (a[i] == b[i]) else 0  # noqa: SIM201
    out[i[0], 4] = amp.int32((a[i] if a[i].x < b[i].x else b[i]).y)


def test_equality_is_one_bool_and_nan_equals_nothing(accelerator_view):
    a = np.array([[1, 2], [2, 2], [np.nan, 1], [3, 4]], F32)
    b = np.array([[1, 2], [2, 3], [np.nan, 1], [4, 4]], F32)
    out = amp.array(amp.extent(4, 5), amp.int32, accelerator_view=accelerator_view)
    views = (amp.array_view(a, dtype=amp.float2), amp.array_view(b, dtype=amp.float2))
    launch(accelerator_view, amp.extent(4), comparisons, *views, out)
    same(np.asarray(out), [[1, 0, 0, 0, 2], [0, 1, 1, 1, 3], [0, 1, 0, 1, 1], [0, 1, 0, 1, 4]])


@amp.kernel
def chained(i, a, out):
    out[i] = 1 if a[i] == a[0] + i[0] * 0.0 == amp.float2(1, 2) else 0
    out[i] += 2 if a[0] == a[i] != amp.float2(3, 4) == a[2] else 0


def test_chained_equality(accelerator_view):
    a = np.array([[1, 2], [3, 4], [1, 2]], F32)
    out = amp.array(amp.extent(3), amp.int32, accelerator_view=accelerator_view)
    launch(accelerator_view, out.extent, chained, amp.array_view(a, dtype=amp.float2), out)
    same(np.asarray(out), [1, 0, 1])


# -- elements, memory, functions


@pytest.mark.parametrize(
    "kind", [amp.float2, amp.float3, amp.float4, amp.int2, amp.int3, amp.int4, amp.uint2, amp.uint3, amp.uint4]
)
def test_elements_are_packed(accelerator_view, kind):
    """A view of the scalars sees the components side by side."""
    assert kind.dtype.itemsize == 4 * kind.size
    size = kind.size
    scalars = np.zeros(7 * size, kind.value_type)
    view = amp.array_view(scalars).reinterpret_as(kind)

    @amp.parallel_for_each(accelerator_view, view.extent)
    def _(i):
        view[i] = kind(i[0])
        view[i].yx = view[i].yx * 2 - view[i].xy
        view[i].y += 10

    view.synchronize()
    expected = np.repeat(np.arange(7), size).reshape(7, size)
    expected[:, 1] += 10
    same(scalars.reshape(7, size), expected)


def test_float4_copies_whole_vectors(accelerator_view):
    @amp.kernel
    def copy(i, a, b):
        b[i] = a[i]

    source, target = np.arange(64, dtype=F32), np.zeros(64, F32)
    a = amp.array_view(source).reinterpret_as(amp.float4)
    b = amp.array_view(target).reinterpret_as(amp.float4)
    glsl = copy.inspect(a.extent, a, b).glsl
    assert "vec4 a[];" in glsl and "vec4 b[];" in glsl and "b[i_0] = a[i_0];" in glsl
    launch(accelerator_view, a.extent, copy, a, b)
    b.synchronize()
    same(target, source)


@amp.kernel
def update_bodies(t, bodies, moved, shift):
    tile = amp.tile_static((4,), amp.float3)
    mine = amp.private((2, 2), amp.int2)
    tile[t.local] = bodies[t].position
    mine[0, 1] = amp.int2(1, 2)
    mine[1, 0] = mine[0, 1].yx + 3
    t.barrier.wait()
    body = bodies[t]
    body.position += tile[3 - t.local[0]] * shift
    body.position.zx = body.spins[1]
    body.spins[0] = amp.float2(mine[1, 0])
    bodies[t] = body
    bodies[t].spins[1].x = 5
    bodies[t].spins[1].y *= 2
    bodies[t].spins[1] = bodies[t].spins[0] if body.id % 2 == 0 else bodies[t].spins[1]
    moved[t] = amp.float4(body.position.x, body.position.y, body.position.z, shift.x)


def test_vectors_in_structs_and_kernel_memory(accelerator_view):
    host = np.zeros(8, BODY)
    host["id"] = np.arange(8)
    host["position"]["y"] = np.arange(8)
    host["spins"]["x"] = 3
    host["spins"]["y"] = np.arange(16).reshape(8, 2)
    before = host.copy()
    bodies = amp.array_view(host)
    moved = amp.array(amp.extent(8), amp.float4, accelerator_view=accelerator_view)
    launch(accelerator_view, bodies.extent.tile(4), update_bodies, bodies, moved, amp.float3(10, 20, 30))
    bodies.synchronize()
    n = np.arange(8)
    y = before["position"]["y"] + 20 * before["position"]["y"][n // 4 * 4 + 3 - n % 4]
    spin_y = before["spins"]["y"][:, 1]
    same(host["position"]["x"], spin_y)
    same(host["position"]["y"], y)
    same(host["position"]["z"], np.full(8, 3))
    same(host["spins"]["x"], np.full((8, 2), 5))
    same(host["spins"]["y"], np.stack([np.full(8, 4), np.where(n % 2 == 0, 4, 2 * spin_y)], 1))
    same(np.asarray(moved), np.stack([spin_y, y, np.full(8, 3), np.full(8, 10)], 1))
    # The host sees members as vectors.
    assert bodies[1].position == amp.float3(3, 41, 3)
    bodies[1].position = amp.float3(7, 8, 9)
    bodies[1].spins[0].xy = amp.float2(6, 5)
    assert host[1]["position"].item() == (7, 8, 9)
    assert host[1]["spins"][0].item() == (6, 5)


@amp.func
def cross(a, b):
    return a.yzx * b.zxy - a.zxy * b.yzx


@amp.func
def dot(a, b):
    p = a * b
    total = p.x + p.y
    return total + p.z


@amp.func
def ordered(a, b):
    if a.x > b.x:
        return b, a
    return a, b


@amp.func
def bump(values, by):
    values[0] += by
    by.x = 100
    values[1].x = by.x


@amp.kernel
def geometry(i, a, b, out):
    low, high = ordered(a[i], b[i])
    pair = amp.private(2, amp.float3)
    pair[0] = low
    pair[1] = high
    step = ONE
    bump(pair, step)
    out[i[0], 0] = cross(low, high)
    out[i[0], 1] = amp.float3(dot(low, high))
    out[i[0], 2] = pair[0]
    out[i[0], 3] = pair[1]
    out[i[0], 4] = step


def test_functions_take_and_return_vectors(accelerator_view):
    a, b = numbers(4, 3), numbers(4, 3)[::-1].copy()
    out = amp.array(amp.extent(4, 5), amp.float3, accelerator_view=accelerator_view)
    views = (amp.array_view(a, dtype=amp.float3), amp.array_view(b, dtype=amp.float3))
    launch(accelerator_view, amp.extent(4), geometry, *views, out)
    swap = (a[:, 0] > b[:, 0])[:, None]
    low, high = np.where(swap, b, a), np.where(swap, a, b)
    one = np.array([1, 2, 3], F32)
    high_changed = high.copy()
    high_changed[:, 0] = 100
    expected = [np.cross(low, high), np.repeat((low * high).sum(1), 3).reshape(4, 3), low + one, high_changed]
    same(np.asarray(out), np.stack([*expected, np.broadcast_to(one, (4, 3))], 1))


def test_functions_also_run_on_the_host():
    assert cross(amp.float3(1, 0, 0), amp.float3(0, 1, 0)) == amp.float3(0, 0, 1)
    assert dot(amp.float3(1, 2, 3), amp.float3(4, 5, 6)) == 32


def test_captured_by_value(accelerator_view):
    out = amp.array(amp.extent(3), amp.float3, accelerator_view=accelerator_view)
    shift = amp.int3(1, 2, 3)
    record = np.zeros(1, BODY)
    record["position"] = (4, 5, 6)
    body = record[0]
    of_array = record["position"][0]

    @amp.parallel_for_each(accelerator_view, out.extent)
    def _(i):
        out[i] = amp.float3(shift) * ONE + body.position + of_array * amp.float32(i[0])

    same(np.asarray(out), np.array([1, 4, 9]) + np.array([4, 5, 6]) * (1 + np.arange(3)[:, None]))


@amp.kernel
def count(t, cells, totals):
    tile = amp.tile_static((2,), amp.uint3)
    if t.local[0] < 2:
        tile[t.local] = amp.uint3()
    t.barrier.wait()
    amp.atomic_fetch_add(tile[t.local[0] % 2].z, amp.uint32(1))
    amp.atomic_fetch_max(cells[0].y, t.global_[0])
    amp.atomic_fetch_add(cells[1].ref_x(), 1)
    t.barrier.wait()
    if t.local[0] < 2:
        totals[t.tile[0], t.local[0]] = tile[t.local]


@pytest.mark.parametrize("kind", [amp.int2, amp.int3, amp.int4])
def test_atomics_on_components(accelerator_view, kind):
    cells = amp.array(amp.extent(2), kind, np.zeros((2, kind.size), I32), accelerator_view=accelerator_view)
    totals = amp.array(amp.extent(3, 2), amp.uint3, accelerator_view=accelerator_view)
    launch(accelerator_view, amp.extent(15).tile(5), count, cells, totals)
    expected = np.zeros((2, kind.size), I32)
    expected[0, 1], expected[1, 0] = 14, 15
    same(np.asarray(cells), expected)
    same(np.asarray(totals)[:, :, 2], [[3, 2]] * 3)


@amp.kernel
def exchanges(i, cells):
    cells[i].xy, cells[i].zw = cells[i].zw, cells[i].xy
    v = cells[i]
    v.x, v.y = v.y, v.x
    w, v = v, amp.int4(v.w)
    w.z = v.x
    cells[i] = w


def test_tuple_assignment_reads_first(accelerator_view):
    a = numbers(3, 4, I32)
    cells = amp.array(amp.extent(3), amp.int4, a, accelerator_view=accelerator_view)
    launch(accelerator_view, cells.extent, exchanges, cells)
    same(np.asarray(cells), a[:, [3, 2, 1, 1]])


@amp.kernel
def annotated(i, out):
    v: amp.float2 = amp.float2(1, 2)
    for k in range(3):
        v = v.yx * 2 if k % 2 == 0 else v + amp.float32(k)
    out[i] = v


def test_annotation_and_loops(accelerator_view):
    out = amp.array(amp.extent(2), amp.float2, accelerator_view=accelerator_view)
    launch(accelerator_view, out.extent, annotated, out)
    v = np.array([1, 2], F32)
    for k in range(3):
        v = v[::-1] * 2 if k % 2 == 0 else v + k
    same(np.asarray(out), [v, v])


@amp.kernel
def tint(i, out, colour):
    out[i] = amp.float3(colour)


def test_each_launch_takes_the_vector_as_it_is(accelerator_view):
    """Another value needs no other program, another type does; a captured vector may change between launches."""
    out = amp.array(amp.extent(2), amp.float3, accelerator_view=accelerator_view)
    for colour in (amp.float3(1, 2, 3), amp.int3(4, 5, 6), amp.uint3(7, 8, 9), amp.float3(-1, 0, 1)):
        launch(accelerator_view, out.extent, tint, out, colour)
        same(np.asarray(out), np.array([np.asarray(colour)] * 2))
    shift = amp.float3(1, 1, 1)
    for x in (1, 5):
        shift.x = x

        @amp.parallel_for_each(accelerator_view, out.extent)
        def _(i):
            out[i] = shift * 2

        same(np.asarray(out), [[2 * x, 2, 2]] * 2)


def test_a_struct_of_x_y_z_is_no_vector(accelerator_view):
    """One kernel over both: the struct has the same bytes, and fields instead of components."""

    @amp.kernel
    def swap(i, a):
        a[i].x = a[i].y

    plain = np.dtype([("x", F32), ("y", F32), ("z", F32)])
    structs, vectors = np.array([(1, 2, 3)] * 2, plain), np.array([[1, 2, 3]] * 2, F32)
    for view in (amp.array_view(structs), amp.array_view(vectors, dtype=amp.float3), amp.array_view(structs)):
        launch(accelerator_view, view.extent, swap, view)
        view.synchronize()
    assert structs.tolist() == [(2, 2, 3)] * 2
    same(vectors, [[2, 2, 3]] * 2)
    assert "struct" in swap.inspect(amp.extent(2), amp.array_view(structs)).glsl
    assert "float a[][3];" in swap.inspect(amp.extent(2), amp.array_view(vectors, dtype=amp.float3)).glsl


@amp.kernel
def uniform_branches(t, a, g):
    h = g + amp.int2(1, 2)
    if h.yx == amp.int2(2, 1):
        t.barrier.wait()
    h.x = t.local[0]
    a[t] = h


@pytest.mark.filterwarnings("ignore::vkamp.BarrierWarning")
def test_barriers_under_captured_vectors(accelerator_view):
    cells = amp.array(amp.extent(4), amp.int2, accelerator_view=accelerator_view)
    launch(accelerator_view, cells.extent.tile(2), uniform_branches, cells, amp.int2())
    same(np.asarray(cells), [[0, 2], [1, 2]] * 2)


def test_strided_views_and_aliases(accelerator_view):
    """A float3 view, a section of it, and a view of the same floats in one launch."""
    data = np.arange(36, dtype=F32)
    flat = amp.array_view(data)
    points = flat.reinterpret_as(amp.float3)
    odd = amp.array_view(data.reshape(4, 3, 3)[:, 1:, :], dtype=amp.float3)

    @amp.kernel
    def mix(i, points, odd, flat):
        odd[i[0], 1].zx = points[3 * i[0]].xy
        flat[9 * i[0] + 4] = odd[i[0], 0].x + 100

    expected = data.reshape(4, 3, 3).copy()
    expected[:, 2, 2], expected[:, 2, 0] = expected[:, 0, 0], expected[:, 0, 1]
    expected[:, 1, 1] = expected[:, 1, 0] + 100
    launch(accelerator_view, amp.extent(4), mix, points, odd, flat)
    flat.synchronize()
    same(data.reshape(4, 3, 3), expected)


ROW = np.dtype([("id", I32), ("p", amp.float3)])


@amp.kernel
def reinterpreted(t, f, g, h, c):
    points = f.reinterpret_as(amp.float3)
    rows = g.reinterpret_as(ROW)
    quads = h.reinterpret_as(amp.int4)
    triples = c.reinterpret_as(amp.uint3)
    points[t] = points[t].zyx * 2
    points[t].xz = points[t].zx + 1
    rows[t].p = points[t] + rows[t].p
    rows[t].p.y *= 2
    amp.atomic_fetch_add(quads[t].z, 5)
    quads[t].xy = quads[t].yx
    triples[t] += 1
    amp.atomic_fetch_add(triples[t].y, amp.uint32(7))


def test_kernels_reinterpret_scalars_as_vectors(accelerator_view):
    sizes = {"f": (12, F32), "g": (16, F32), "h": (16, I32), "c": (12, I32)}
    arrays = [
        amp.array(amp.extent(n), t, np.arange(n, dtype=t), accelerator_view=accelerator_view) for n, t in sizes.values()
    ]
    launch(accelerator_view, amp.extent(4), reinterpreted, *arrays)
    points = np.arange(12, dtype=F32).reshape(4, 3)[:, ::-1] * 2
    points = np.stack([points[:, 2] + 1, points[:, 1], points[:, 0] + 1], 1)
    rows = np.arange(16, dtype=F32).reshape(4, 4)
    rows[:, 1:] += points
    rows[:, 2] *= 2
    quads = np.arange(16, dtype=I32).reshape(4, 4)[:, [1, 0, 2, 3]] + np.array([0, 0, 5, 0])
    triples = np.arange(12).reshape(4, 3) + 1 + np.array([0, 7, 0])
    for found, expected in zip(arrays, (points, rows, quads, triples), strict=True):
        same(np.asarray(found), expected.ravel())


@amp.kernel
def views_of_vectors(t, a, c):
    mine = amp.private(6, amp.float3)
    for k in range(6):
        mine[k] = a[k]
    part = amp.array_view(mine).section(amp.index(2), amp.extent(3))
    part[1].zx = part[0].xy
    c[t] = mine[t[0] % 6] + part[2].y


def test_kernels_make_views_of_vectors(accelerator_view):
    a = numbers(6, 3)
    c = amp.array(amp.extent(6), amp.float3, accelerator_view=accelerator_view)
    launch(accelerator_view, amp.extent(6), views_of_vectors, amp.array_view(a, dtype=amp.float3), c)
    expected = a.copy()
    expected[3, 2], expected[3, 0] = a[2, 0], a[2, 1]
    same(np.asarray(c), expected + a[4, 1])


@amp.kernel
def float_atomics(t, a, b):
    amp.atomic_fetch_add(a[0].z, 1.5)
    amp.atomic_exchange(b[t].y, 4.0)


def test_atomics_on_float_components(accelerator_view):
    a = amp.array(amp.extent(1), amp.float4, np.zeros((1, 4), F32), accelerator_view=accelerator_view)
    b = amp.array(amp.extent(5), amp.float3, np.zeros((5, 3), F32), accelerator_view=accelerator_view)
    launch(accelerator_view, b.extent, float_atomics, a, b)
    same(np.asarray(a), [[0, 0, 7.5, 0]])
    same(np.asarray(b), [[0, 4, 0]] * 5)
