"""float64 and its vectors: elements, values, functions, in every form of a kernel."""

from __future__ import annotations

import math

import numpy as np
import pytest

import vkamp as amp
from tests.types.kernels import functions, tiles
from tests.types.programs import identical, in_every_form, launched

F64 = np.float64
RANDOM = np.random.default_rng(20)
VALUES = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.1, -7.25, 3.5, 1e-300, -1e300, 5e-324, math.inf, -math.inf, math.nan, 2.5, 1e15 + 0.5]
)


def _pairs() -> tuple[np.ndarray, np.ndarray]:
    x, y = np.meshgrid(VALUES, VALUES)
    return x.ravel().copy(), y.ravel().copy()


@amp.kernel(precise=True)
def arithmetic(i, x, y, out):
    a, b = x[i], y[i]
    k = i[0]
    out[0, k] = a + b
    out[1, k] = a - b
    out[2, k] = a * b
    out[3, k] = a / b
    out[4, k] = -a
    out[5, k] = a + 0.1
    out[6, k] = 1e300 * b
    out[7, k] = a if a < b else b
    out[8, k] = a**3
    out[9, k] = 1.0 if a == b else 0.0
    out[10, k] = a * amp.float64(1 / 3) + amp.float64(math.inf) * 0.5
    out[11, k] += a
    out[11, k] *= 2


def test_arithmetic(typed):
    x, y = _pairs()
    (_, _, found) = in_every_form(typed, amp.extent(x.size), arithmetic, x, y, np.full((12, x.size), 77.0))
    with np.errstate(all="ignore"):
        rows = [
            x + y, x - y, x * y, x / y, -x, x + 0.1, 1e300 * y, np.where(x < y, x, y), x * x * x,
            (x == y).astype(F64), x * (1 / 3) + math.inf, (77.0 + x) * 2,
        ]  # fmt: skip
    for k, row in enumerate(rows):
        identical(found[k], row, f"row {k}")


@amp.kernel(precise=True)
def floors(i, x, y, out):
    k = i[0]
    out[0, k] = x[i] // y[i]
    out[1, k] = x[i] % y[i]


def test_floors_are_those_of_python(typed):
    x = np.concatenate([RANDOM.normal(size=200) * 1e3, [5.5, -5.5, 5.5, -5.5, 1e17, 3.0, 0.0, -0.0, 7.0, -7.0]])
    y = np.concatenate([RANDOM.normal(size=200), [2.0, 2.0, -2.0, -2.0, 3.0, math.inf, 1.0, 1.0, 0.0, -math.inf]])
    (_, _, found) = in_every_form(typed, amp.extent(x.size), floors, x, y, np.zeros((2, x.size)))
    with np.errstate(all="ignore"):
        identical(found[0], x // y)
        identical(found[1], x % y)


def test_functions(typed):
    x, y = _pairs()
    keep = np.isfinite(x) & np.isfinite(y) & (np.abs(x) < 1e16) & (np.abs(x) > 1e-200) & (np.abs(y) > 1e-10)
    x = np.concatenate([x[keep], RANDOM.normal(size=100) * 10, [0.5, -0.5, 1.5, 2.5, -2.5, math.nan, math.inf, 0.0]])
    y = np.concatenate([y[keep], RANDOM.normal(size=100), np.full(8, 0.75)])
    (_, _, found) = in_every_form(typed, amp.extent(x.size), functions, x, y, np.zeros((15, x.size)))
    away = np.copysign(np.floor(np.abs(x) + 0.5), x)
    with np.errstate(all="ignore"):
        rows = [
            np.sqrt(np.abs(x)), np.floor(x), np.ceil(x), np.trunc(x), np.where(np.abs(x) < 2**52, away, x),
            np.fmin(x, y), np.fmax(np.fmax(x, y), 0.5), np.rint(x),
            np.isnan(x) + 2.0 * np.isinf(x) + 4 * np.isfinite(x), np.signbit(x).astype(F64), np.fmod(x, y),
            np.abs(x), np.fmax(x, 0), np.minimum(np.maximum(x, -1.5), y), np.sqrt(np.abs(x)),
        ]  # fmt: skip
    for k, row in enumerate(rows):
        if k in (0, 14):
            np.testing.assert_array_almost_equal_nulp(found[k][np.isfinite(row)], row[np.isfinite(row)], 1)
        elif k != 13:
            same = (found[k] == row) | (np.isnan(found[k]) & np.isnan(row))
            assert same.all(), f"row {k}: {x[~same]} {y[~same]} gave {found[k][~same]} for {row[~same]}"
    ordered = ~np.isnan(x)
    np.testing.assert_array_equal(found[13][ordered], rows[13][ordered])


@amp.kernel
def conversions(i, x, n, u, f, out, ints, longs, floats):
    k = i[0]
    out[0, k] = n[i]
    out[1, k] = u[i]
    out[2, k] = f[i]
    out[3, k] = n[i] / amp.float64(3)
    out[4, k] = f[i] * x[i]
    ints[0, k] = int(x[i])
    ints[1, k] = amp.int32(amp.uint32(abs(x[i])) >> 1)
    ints[2, k] = x[i] > 0.5
    longs[0, k] = amp.int64(x[i] * 1e9)
    longs[1, k] = n[i]
    longs[2, k] = u[i]
    floats[0, k] = x[i]
    floats[1, k] = amp.float32(x[i]) * 0.5


def test_conversions_are_those_of_c(typed):
    x = np.concatenate([RANDOM.normal(size=60) * 1e6, [0.1, -0.1, 2147483520.5, -2147483648.9, 16777217.0]])
    n = RANDOM.integers(-(2**31), 2**31, x.size).astype(np.int32)
    u = RANDOM.integers(0, 2**32, x.size).astype(np.uint32)
    f = RANDOM.normal(size=x.size).astype(np.float32)
    found = in_every_form(
        typed, amp.extent(x.size), conversions, x, n, u, f, np.zeros((5, x.size)), np.zeros((3, x.size), np.int32),
        np.zeros((3, x.size), np.int64), np.zeros((2, x.size), np.float32),
    )  # fmt: skip
    *_, out, ints, longs, floats = found
    expected = np.stack([n, u, f, n / 3, f * x]).astype(F64)
    identical(np.delete(out, 3, 0), np.delete(expected, 3, 0))
    # A GPU's quotient may be off by one.
    np.testing.assert_array_almost_equal_nulp(out[3], expected[3], 0 if typed.accelerator.is_emulated else 1)
    half = (np.abs(x).astype(np.uint64).astype(np.uint32) >> 1).astype(np.int32)
    identical(ints, np.stack([np.trunc(x).astype(np.int64).astype(np.int32), half, (x > 0.5).astype(np.int32)]))
    identical(longs, np.stack([(x * 1e9).astype(np.int64), n.astype(np.int64), u.astype(np.int64)]))
    identical(floats, np.stack([x.astype(np.float32), x.astype(np.float32) * np.float32(0.5)]))


def test_python_floats_keep_their_precision(typed):
    scale, shift = 0.1, 1e-9

    @amp.kernel
    def captured(i, x, out):
        out[i] = x[i] * (scale * 3 - shift) + -shift

    @amp.kernel
    def handed(i, x, factor, offset, out):
        out[i] = factor * x[i] + offset

    x = RANDOM.normal(size=37)
    (_, found) = in_every_form(typed, amp.extent(37), captured, x, np.zeros(37))
    np.testing.assert_allclose(found, x * (scale * 3 - shift) - shift, rtol=4e-16)
    for factor, offset in ((0.1, np.float64(1e300)), (np.float64(1 / 3), 7), (0.7, 1e-12)):
        (_, found) = in_every_form(typed, amp.extent(37), handed, x, factor, offset, np.zeros(37))
        np.testing.assert_allclose(found, factor * x + offset, rtol=4e-16)


TENTHS = (0.1, 0.2, 0.3)


@amp.kernel
def chosen_floats(i, x, share, out):
    k = i[0]
    out[0, k] = x[k] * (0.1 if k % 2 else 0.2)
    out[1, k] = 0.1 if x[k] > 0.5 else share
    out[2, k] = x[k] + 2 * share
    out[3, k] = (share - 0.3) * k
    out[4, k] = x[k] * TENTHS[k % 3]
    out[5, k], out[6, k] = (share, 0.7) if k % 2 else (0.9, share)


def test_choices_and_arguments_keep_their_precision(typed):
    """A conditional expression, a tuple's item at a variable subscript and arithmetic on an argument, too."""
    x = RANDOM.random(37)
    k = np.arange(37)
    _, found = in_every_form(typed, amp.extent(37), chosen_floats, x, 0.1, np.zeros((7, 37)))
    rows = [
        x * np.where(k % 2, 0.1, 0.2), np.full(37, 0.1), x + 2 * 0.1, (0.1 - 0.3) * k, x * np.array(TENTHS)[k % 3],
        np.where(k % 2, 0.1, 0.9), np.where(k % 2, 0.7, 0.1),
    ]  # fmt: skip
    np.testing.assert_allclose(found, rows, rtol=4e-16)


def test_repeated_launches_take_new_numbers(typed):
    @amp.kernel
    def handed(i, x, n, factor, big):
        x[i] = x[i] * factor + n * 2 + big

    x = amp.array_view(np.ones(100))
    for factor, big in ((0.1, np.float64(1e200)), (0.2, np.float64(-1e200)), (0.3, np.float64(0.0))):
        amp.copy(np.ones(100), x)
        amp.parallel_for_each(typed, x.extent, handed, x, 3, factor, big)
        np.testing.assert_array_equal(np.asarray(x), factor + 6 + big)


@pytest.mark.parametrize("tile", [4, 24])
def test_tile_static_and_private_arrays(typed, tile):
    a = RANDOM.uniform(0.5, 2.0, size=72)  # sums that cancel would show where a compiler contracts
    (_, found) = in_every_form(typed, amp.extent(72).tile(tile), tiles, a, np.zeros(72), size=tile)
    expected = []
    for start in range(0, 72, tile):
        part = a[start : start + tile]
        total = 0.0
        for k in range(tile):
            total += (part[k] + part[k] * 2) * (part[tile - 1 - k] * 2)
        expected += [total + start // tile] * tile
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@amp.func
def length(v: amp.double3) -> amp.float64:
    return math.sqrt(v.x * v.x + v.y * v.y + v.z * v.z)


@amp.kernel
def vectors(i, a, b, pair, out, four, lengths):
    v = a[i] * 2.0 + b[i].zyx
    v.xy = v.yx
    out[i] = v / amp.double3(1, 2, 4)
    w = amp.double4(v.x, pair[i].y, 0.1, 1e300)
    w.z += 1
    four[i] = w.wzyx
    lengths[i] = length(v) if v == v else amp.double2(amp.int2(7, 8)).y


def test_vectors(typed):
    n = 21
    a, b = RANDOM.normal(size=(2, n, 3))
    pair = RANDOM.normal(size=(n, 2))
    arrays = [amp.double3, amp.double3, amp.double2, amp.double3, amp.double4]
    homes = [a, b, pair, np.zeros((n, 3)), np.zeros((n, 4))]
    packed = [np.zeros(n, kind.dtype) for kind in arrays]
    for home, values in zip(packed, homes, strict=True):
        for k, letter in enumerate("xyzw"[: values.shape[1]]):
            home[letter] = values[:, k]
    found = in_every_form(typed, amp.extent(n), vectors, *packed, np.zeros(n))
    v = a * 2 + b[:, ::-1]
    v = v[:, [1, 0, 2]]
    for k, letter in enumerate("xyz"):
        np.testing.assert_allclose(found[3][letter], (v / [1, 2, 4])[:, k], rtol=1e-15)
    for letter, value in zip("xyzw", (1e300, 1.1, pair[:, 1], v[:, 0]), strict=True):
        np.testing.assert_allclose(found[4][letter], np.broadcast_to(value, n), rtol=1e-15)
    np.testing.assert_allclose(found[5], np.sqrt((v * v).sum(1)), rtol=1e-14)


def test_vectors_on_the_host():
    v = amp.double3(1, 2, 0.1)
    assert (v * 2).z == 0.2
    assert v.zx == amp.double2(0.1, 1)
    assert amp.double3(amp.float3(1, 2, 3)) == amp.double3(1, 2, 3)
    view = amp.array_view(amp.extent(2, 3), amp.double2)
    view[1, 2] = amp.double2(1e300, -1)
    assert view[1, 2].x == 1e300
    with pytest.raises(TypeError, match="double3 and float3 do not mix"):
        v + amp.float3()


BODY = np.dtype({"names": ["id", "place", "mass", "trace"], "formats": ["i4", "f8", "f4", ("f8", (2, 2))],
                 "offsets": [0, 8, 16, 24], "itemsize": 64})  # fmt: skip


@amp.kernel
def structs(i, bodies, out):
    body = bodies[i]
    body.place += body.mass * 0.5
    body.trace[1, 0] = body.place * body.id
    bodies[i].trace[0, 1] = body.trace[1, 0] + bodies[i].trace[0, 0]
    out[i] = body


def test_structs(typed):
    bodies = np.zeros(19, BODY)
    bodies["id"], bodies["mass"] = np.arange(19), 0.25
    bodies["place"], bodies["trace"] = RANDOM.normal(size=19), RANDOM.normal(size=(19, 2, 2))
    changed, out = in_every_form(typed, amp.extent(19), structs, bodies, np.zeros(19, BODY))
    place = bodies["place"] + 0.125
    identical(out["place"].copy(), place)
    identical(out["trace"][:, 1, 0].copy(), place * bodies["id"])
    identical(changed["trace"][:, 0, 1].copy(), place * bodies["id"] + bodies["trace"][:, 0, 0])
    identical(changed["trace"][:, 1, 1].copy(), bodies["trace"][:, 1, 1].copy())


@amp.struct
class Sample:
    count: amp.int32
    mean: amp.float64 = 0.5
    box: amp.double2


@amp.kernel
def classes(i, given, out):
    made = Sample(count=3, mean=given.mean)
    made.box.y = given.box.x * made.mean
    out[i] = made


def test_struct_classes_are_laid_out_as_in_c(typed):
    assert [Sample.dtype.fields[n][1] for n in ("count", "mean", "box")] == [0, 8, 16]
    assert Sample.dtype.itemsize == 32
    given = Sample(7, 0.1, (3, 4))
    (found,) = launched(typed, amp.extent(5), classes, given, np.zeros(5, Sample))
    assert found["count"].tolist() == [3] * 5
    assert found["box"]["y"].tolist() == [3 * 0.1] * 5


def test_layouts_that_are_not_those_of_c():
    with pytest.raises(TypeError, match="member 'b' is at byte 4: float64 members are 8-byte aligned"):
        amp.array_view(np.zeros(3, [("a", "f4"), ("b", "f8")]))
    with pytest.raises(TypeError, match="the structured dtype has 20 bytes: the size must be a multiple of 8"):
        amp.array_view(np.zeros(3, np.dtype({"names": ["a"], "formats": ["f8"], "offsets": [8], "itemsize": 20})))


@amp.kernel
def views(i, a, words, out):
    part = a.section(amp.index(2), amp.extent(8))
    pairs = words.reinterpret_as(amp.float64)
    bits = part.reinterpret_as(amp.uint32)
    private = amp.private(2, amp.float64)
    private[1] = part[i]
    longs = amp.array_view(private).reinterpret_as(amp.int64)
    out[i] = part[i] + pairs[i] * 2 + (bits[2 * i[0] + 1] >> 20) + (longs[1] >> 52)


def test_views_of_other_types(typed):
    a, pairs = RANDOM.normal(size=12), RANDOM.normal(size=8)
    found = launched(typed, amp.extent(8), views, a, pairs.view(np.float32).copy(), np.zeros(8))[-1]
    part = a[2:10].copy()
    expected = part + pairs * 2 + (part.view(np.uint32)[1::2] >> 20) + (part.view(np.int64) >> 52)
    np.testing.assert_array_equal(found, expected)


def test_containers(typed):
    raw = RANDOM.normal(size=(5, 6))
    made = amp.array(amp.extent(5, 6), amp.float64, raw, accelerator_view=typed)

    @amp.kernel
    def twice(i, a):
        a[i] *= 2

    amp.parallel_for_each(typed, made.extent, twice, made)
    identical(np.asarray(made), raw * 2)
    view = amp.array_view(raw.copy())
    amp.parallel_for_each(typed, amp.extent(2, 3), twice, view.section(1, 2, 2, 3))
    expected = raw.copy()
    expected[1:3, 2:5] *= 2
    identical(np.from_dlpack(view), expected)
    every_other = amp.array_view(raw[:, ::2])
    amp.parallel_for_each(typed, every_other.extent, twice, every_other)
    every_other.synchronize()
    assert amp.array_view(np.zeros((4, 4), np.float32)).dtype == np.float32


def test_check_mode_finds_what_is_wrong(typed):
    @amp.kernel
    def wrong(t, a, step):
        values = amp.tile_static(4, amp.float64)
        values[int(a[t])] = a[t]
        t.barrier.wait()
        a[t] = values[3] + a[t.global_[0] + step]

    report = amp.check(typed, amp.extent(8).tile(4), wrong, amp.array_view(np.repeat([0.0, 1.0], 4)), 1)
    assert {f.kind for f in report.findings} == {"race", "uninitialised", "bounds"}
    race = next(f for f in report.findings if f.kind == "race" and f.variable == "values")
    assert race.index in ((0,), (1,))
    assert any(f.kind == "race" and f.variable == "a" for f in report.findings)

    @amp.kernel
    def too_large(i, a, n):
        n[i] = amp.int32(a[i])

    values = np.array([2147483647.5, -2147483648.5, 1.0])
    assert amp.check(typed, amp.extent(3), too_large, amp.array_view(values), amp.array_view(np.zeros(3, np.int32))).ok
    values = np.array([2147483648.0, 1.0])
    report = amp.check(typed, amp.extent(2), too_large, amp.array_view(values), amp.array_view(np.zeros(2, np.int32)))
    assert [f.kind for f in report.findings] == ["conversion"]


def test_functions_that_are_not_there_in_double_precision(typed):
    for call in ("amp.precise_math.erfinv(x[i])", "amp.precise_math.probit(x[i])"):
        kernel = define(f"def k(i, x):\n    x[i] = {call}\n")
        with pytest.raises(amp.CompileError, match="VKA315: `.*` takes float32, not float64"):
            amp.parallel_for_each(typed, amp.extent(3), kernel, amp.array_view(np.ones(3)))


def define(source: str) -> object:
    import linecache

    file = f"<double {hash(source)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, object] = {"amp": amp, "math": math}
    exec(compile(source, file, "exec"), space)
    return amp.kernel(space["k"])


@pytest.mark.accelerators("llvmpipe")
def test_supports_double_precision(accelerator):
    assert amp.accelerator("reference").supports_double_precision
    assert amp.accelerator("llvmpipe@vulkan").supports_double_precision
    assert not amp.accelerator("llvmpipe@kompute").supports_double_precision
    assert not amp.accelerator("swiftshader@vulkan").supports_double_precision


@amp.kernel
def halved(i, x, out, back):
    half = amp.float16(x[i])
    out[i] = half
    back[i] = amp.float64(half) + amp.float64(amp.float16(x[i] * 0.5))


def test_float16_and_back(typed):
    x = np.concatenate([VALUES, RANDOM.normal(size=70) * 100, [65504.0, 65520.0, -7e4, 2.0**-24, 3.0e-8]])
    (_, out, back) = in_every_form(typed, amp.extent(x.size), halved, x, np.zeros(x.size, np.float16), np.zeros(x.size))
    with np.errstate(all="ignore"):
        half = x.astype(np.float16)
        identical(out, half)
        identical(back, half.astype(F64) + (x * 0.5).astype(np.float16).astype(F64))


@amp.kernel
def to_halves(i, x, stored, computed):
    stored[i] = x[i]
    computed[i] = amp.float32(amp.float16(x[i]))


def test_halves_are_rounded_once(typed):
    """By way of float32, the numbers just beside a middle of two float16 would be rounded to that middle first."""
    x = RANDOM.standard_normal(500) * 10.0 ** RANDOM.integers(-8, 5, 500)
    middles = np.array([1 + 2**-11, 1 + 3 * 2**-11, 65520.0, 2.0**-25, 3 * 2.0**-25, 0.0, math.inf, 1e-300, 1e300])
    near = [np.nextafter(middles, side) for side in (-math.inf, math.inf)]
    x = np.concatenate([x, middles, *near, [math.nan]])
    x = np.concatenate([x, -x])
    zeros = np.zeros(x.size, np.float16), np.zeros(x.size, np.float32)
    (_, stored, computed) = in_every_form(typed, amp.extent(x.size), to_halves, x, *zeros)
    with np.errstate(all="ignore"):
        expected = x.astype(np.float16)
    identical(stored, expected, "stored")
    identical(computed, expected.astype(np.float32), "computed")
