"""int8, uint8, int16, uint16 and float16: elements on every device, by the device's types or as parts of words."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.library_views import name_of
from tests.types.kernels import LOOSE, PIXEL, structs, views
from tests.types.programs import identical, in_every_form, launched

RANDOM = np.random.default_rng(16)
SMALL = [np.int8, np.uint8, np.int16, np.uint16]
EVERY_HALF = np.arange(65536, dtype=np.uint16).view(np.float16)


def numbers(dtype: type, shape: object) -> np.ndarray:
    if dtype is np.float16:
        return (RANDOM.normal(size=shape) * 20).astype(np.float16)  # type: ignore[arg-type]
    limits = np.iinfo(dtype)
    return RANDOM.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)  # type: ignore[call-overload]


@amp.kernel
def arithmetic(i, a, b, out, wide):
    x, y = a[i], b[i]
    out[0, i[0]] = x + y
    out[1, i[0]] = x * y
    out[2, i[0]] = x - 3 * y
    out[3, i[0]] = x >> 1
    out[4, i[0]] = ~x
    out[5, i[0]] = x // (abs(y) + 1)
    out[6, i[0]] = amp.int32(7) if x < y else amp.int32(9)
    out[7, i[0]] += x
    out[8, i[0]] ^= y
    wide[0, i[0]] = x + y
    wide[1, i[0]] = x * 100
    wide[2, i[0]] = amp.int8(x * y) + amp.uint8(x - y) + amp.int16(x * 1000) + amp.uint16(-x)
    wide[3, i[0]] = x % 7 + (1 if x else 0) + (x == y)


@pytest.mark.parametrize("dtype", SMALL)
def test_values_are_promoted_and_stores_wrap(accelerator_view, dtype):
    a, b = numbers(dtype, 61), numbers(dtype, 61)
    b[:5] = a[:5]
    out, wide = in_every_form(
        accelerator_view, amp.extent(61), arithmetic, a, b, np.full((9, 61), 5, dtype), np.zeros((4, 61), np.int32)
    )[-2:]
    x, y = a.astype(np.int32), b.astype(np.int32)
    rows = [
        x + y, x * y, x - 3 * y, x >> 1, ~x, x // (abs(y) + 1), np.where(x < y, 7, 9), x + 5, y ^ 5,
    ]  # fmt: skip
    for k, row in enumerate(rows):
        identical(out[k], row.astype(dtype), f"row {k}")
    identical(wide[0], x + y)
    identical(wide[1], x * 100)
    parts = [(x * y).astype(np.int8), (x - y).astype(np.uint8), (x * 1000).astype(np.int16), (-x).astype(np.uint16)]
    identical(wide[2], sum(p.astype(np.int32) for p in parts))
    identical(wide[3], x % 7 + (x != 0) + (x == y))


@amp.kernel
def halves(i, a, b, out, wide):
    x, y = a[i], b[i]
    out[0, i[0]] = x + y
    out[1, i[0]] = x - y
    out[2, i[0]] = x * y
    out[3, i[0]] = x / y
    out[4, i[0]] = -x
    out[5, i[0]] = x * 0.1 + 1
    out[6, i[0]] = x if x < y else y
    out[7, i[0]] += x
    out[8, i[0]] = amp.float16(amp.float32(x) * amp.float32(y))
    wide[0, i[0]] = x + y
    wide[1, i[0]] = amp.float32(x) * amp.float32(y)
    wide[2, i[0]] = x + amp.float32(0.1)
    wide[3, i[0]] = max(x, y) + amp.fast_math.floor(x) + (x // 2 if y == y else 0)


@amp.kernel(precise=True)
def halves_precisely(i, a, b, out, wide):
    x, y = a[i], b[i]
    out[0, i[0]] = x * y + x
    out[1, i[0]] = (x + y) * (x - y) * 0.5
    wide[0, i[0]] = amp.float32(x * y) + y


def test_float16_computes_in_float16(accelerator_view):
    a, b = numbers(np.float16, 200), numbers(np.float16, 200)
    a[:12] = [0, -0.0, 65504, -65504, 6e-8, np.inf, -np.inf, np.nan, 2048, 0.1, 3e-5, 1e-7]
    b[:12] = [1, 1, 2, 65504, 0.5, 1, np.inf, 1, 1, 10, 3e-5, 1e-7]
    out, wide = in_every_form(
        accelerator_view, amp.extent(200), halves, a, b, np.full((9, 200), 1.5, np.float16),
        np.zeros((4, 200), np.float32), checked=False,
    )[-2:]  # fmt: skip
    with np.errstate(all="ignore"):
        one = np.float16(1)
        product = (a.astype(np.float32) * b.astype(np.float32)).astype(np.float16)
        rows = [a + b, a - b, a * b, a / b, -a, a * np.float16(0.1) + one, np.where(a < b, a, b),
                np.float16(1.5) + a, product]  # fmt: skip
        for k, row in enumerate(rows):
            if k == 3:
                # A device's quotient of float16 may be off by one.
                finite = np.isfinite(row)
                np.testing.assert_allclose(
                    out[k][finite].astype(float), row[finite].astype(float), rtol=2e-3, atol=1e-7
                )
            elif k == 5:
                # This may be contracted: then the product is not rounded, which shows where the sum is small.
                finite = np.isfinite(row)
                off = np.abs(out[k][finite].astype(float) - row[finite].astype(float))
                np.testing.assert_array_less(off, 2e-3 * (np.abs(a[finite].astype(float) * 0.1) + 1))
            else:
                identical(out[k], row, f"row {k}")
        identical(wide[0], (a + b).astype(np.float32))
        identical(wide[1], a.astype(np.float32) * b.astype(np.float32))
        identical(wide[2], a.astype(np.float32) + np.float32(0.1))
        floors = (a // np.float16(2)).astype(np.float32)
        expected = np.fmax(a, b).astype(np.float32) + np.floor(a).astype(np.float32)
        expected = expected + np.where(b == b, floors, 0)
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(wide[3][finite], expected[finite])


def test_float16_precisely(accelerator_view):
    a, b = numbers(np.float16, 100), numbers(np.float16, 100)
    out, wide = in_every_form(
        accelerator_view, amp.extent(100), halves_precisely, a, b, np.zeros((2, 100), np.float16),
        np.zeros((1, 100), np.float32),
    )[-2:]  # fmt: skip
    half = np.float16(0.5)
    identical(out[0], a * b + a)
    identical(out[1], (a + b) * (a - b) * half)
    identical(wide[0], (a * b).astype(np.float32) + b.astype(np.float32))


@amp.kernel
def round_trip(i, a, out, wide, back):
    out[i] = a[i]
    wide[i] = a[i]
    back[i] = amp.float32(a[i])


def test_every_float16(accelerator_view):
    out, wide, back = launched(
        accelerator_view, amp.extent(65536), round_trip, EVERY_HALF, np.zeros(65536, np.float16),
        np.zeros(65536, np.float32), np.zeros(65536, np.float16),
    )[-3:]  # fmt: skip
    identical(out, EVERY_HALF)
    # Devices may flush what is denormal as a float16 only where they compute with that themselves.
    identical(wide, EVERY_HALF.astype(np.float32))
    identical(back, EVERY_HALF)


def test_float32_is_rounded_to_even(accelerator_view):
    @amp.kernel
    def rounded(i, x, out):
        out[i] = x[i]

    steps = EVERY_HALF[np.isfinite(EVERY_HALF)].astype(np.float32)
    between = (steps + np.nextafter(EVERY_HALF[np.isfinite(EVERY_HALF)], np.float16(9)).astype(np.float32)) / 2
    x = np.concatenate([
        between, np.nextafter(between, np.float32(9)), np.nextafter(between, np.float32(-9)),
        np.array([65519.99, 65520, 65536, 1e6, -1e30, 2.0**-25, 2.0**-25 * 1.0001, 1e-30, np.nan, -0.0], np.float32),
    ])  # fmt: skip
    out = launched(accelerator_view, amp.extent(x.size), rounded, x, np.zeros(x.size, np.float16))[-1]
    with np.errstate(all="ignore"):
        identical(out, x.astype(np.float16))


# -- neighbours ----------------------------------------------------------------------------------------------------


@amp.kernel
def scattered(t, order, out, *, count: amp.constant):
    # Threads of one word store at once, from all tiles.
    for k in amp.static_range(count):
        at = order[t.global_[0] * count + k]
        out[at] = at * 3 + 1


@pytest.mark.parametrize("dtype", [*SMALL, np.float16])
def test_stores_beside_each_other_are_all_kept(accelerator_view, dtype):
    size, count = 64 * 64, 4
    if accelerator_view.accelerator.device_path == "reference":
        size = 256
    order = RANDOM.permutation(size).astype(np.int32)
    raw = numbers(dtype, size)
    (_, out) = launched(accelerator_view, amp.extent(size // count).tile(64), scattered, order, raw, count=count)
    identical(out, (np.arange(size) * 3 + 1).astype(np.int32).astype(dtype))


@pytest.mark.parametrize("dtype", [*SMALL, np.float16])
def test_parts_of_memory_keep_what_lies_around_them(accelerator_view, dtype):
    @amp.kernel
    def filled(i, a):
        a[i] = a[i] * 2 + i[0]

    raw = numbers(dtype, (7, 13))
    view = amp.array_view(raw.copy())
    part = view.section(2, 3, 4, 5)
    amp.parallel_for_each(accelerator_view, part.extent, filled, part)
    every_third = amp.array_view(raw.copy().reshape(-1)[1::3])
    amp.parallel_for_each(accelerator_view, every_third.extent, filled, every_third)
    expected = raw.copy()
    with np.errstate(all="ignore"):
        expected[2:6, 3:8] = expected[2:6, 3:8] * dtype(2) + np.arange(4, dtype=dtype)[:, None]
        identical(np.asarray(view), expected)
        thirds = raw.reshape(-1)[1::3]
        identical(np.asarray(every_third), thirds * dtype(2) + np.arange(len(thirds)).astype(dtype))


def test_two_launches_on_one_word(accelerator_view):
    @amp.kernel
    def put(i, a, value):
        a[i] = value

    whole = amp.array(amp.extent(10), amp.uint8, np.zeros(10, np.uint8), accelerator_view=accelerator_view)
    for k in range(10):
        amp.parallel_for_each(accelerator_view, amp.extent(1), put, whole.section(k, 1), np.uint8((250 + k) % 256))
    assert np.asarray(whole).tolist() == [(250 + k) % 256 for k in range(10)]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1023])
def test_lengths_that_are_no_whole_words(accelerator_view, size):
    @amp.kernel
    def twice(i, a):
        a[i] += a[i]

    a = numbers(np.int8, size)
    (found,) = in_every_form(accelerator_view, amp.extent(size), twice, a)
    identical(found, a + a)


# -- arrays of kernels, views, structs -----------------------------------------------------------------------------


@amp.kernel
def tiles(t, a, out, shift, *, kind: amp.constant):
    values = amp.tile_static((2, 16), kind)
    own = amp.private(3, kind)
    own[0] = a[t]
    own[1] = own[0] + shift
    own[2] = -own[1]
    values[0, t.local[0]] = own[2]
    values[1, 15 - t.local[0]] = own[0]
    t.barrier.wait_with_tile_static_memory_fence()
    total = 0 * a[t]
    for k in range(16):
        total += values[0, k] * values[1, k]
    t.barrier.wait()
    values[0, (t.local[0] + 1) % 16] = total
    t.barrier.wait()
    out[t] = values[0, t.local[0]] + values[1, 0]


@pytest.mark.parametrize("dtype", SMALL)
def test_tile_static_and_private_arrays(accelerator_view, dtype):
    a = numbers(dtype, 48)
    found = in_every_form(
        accelerator_view, amp.extent(48).tile(16), tiles, a, np.zeros(48, dtype), np.int16(1000), kind=dtype
    )[-1]
    expected = []
    for start in range(0, 48, 16):
        part = a[start : start + 16].astype(np.int32)
        first = (-((part + 1000).astype(dtype).astype(np.int32))).astype(dtype).astype(np.int32)
        total = int((first * part[::-1]).sum())
        value = np.array(total).astype(dtype).astype(np.int32) + part[15]
        expected += [value] * 16
    identical(found, np.array(expected).astype(dtype))


def test_views_of_other_types(accelerator_view):
    octets, words = numbers(np.uint8, 32), RANDOM.integers(0, 2**32, 8).astype(np.uint32)
    halves = numbers(np.float16, 32)
    _, new_words, new_halves, out = launched(
        accelerator_view, amp.extent(32), views, octets, words, halves, np.zeros(32, np.uint32)
    )
    i = np.arange(32)
    shorts = halves.view(np.int16)
    expected = octets.view(np.uint32)[i // 4] + words.view(np.uint8) + (shorts.astype(np.int64) * 3).astype(np.uint32)
    expected = expected + halves.view(np.uint16) + octets[4 + i % 12]
    identical(out, expected.astype(np.uint32))
    identical(new_words.view(np.uint8), words.view(np.uint8) + np.uint8(1))
    identical(new_halves.view(np.int16), shorts ^ np.int16(1))


def _quick_form(view):
    """Launches in every form; lavapipe takes up to 30 s to compile the other ones, which are those of other devices."""
    return launched if name_of(view) == "llvmpipe" else in_every_form


def test_structs(accelerator_view):
    pixels, loose = np.zeros(24, PIXEL), np.zeros(24, LOOSE)
    for name in ("r", "g", "b", "a"):
        pixels[name] = numbers(PIXEL[name].type, 24)
    pixels["depth"], pixels["tags"] = RANDOM.normal(size=24), numbers(np.int16, (24, 2, 2))
    loose["flag"], loose["count"] = numbers(np.int8, 24), numbers(np.uint16, 24)
    loose["value"], loose["half"] = np.arange(24), numbers(np.float16, 24)
    where = np.arange(24, dtype=np.int32)
    given = np.zeros(1, PIXEL)
    given["g"] = 200
    new, new_loose, out, _ = _quick_form(accelerator_view)(
        accelerator_view, amp.extent(24).tile(8), structs, pixels, loose, np.zeros(24, PIXEL), given[0], where,
    )  # fmt: skip
    made = pixels.copy()
    made["r"] += 3
    made["a"] -= 3
    made["tags"][:, 1, 0] = made["tags"][:, 0, 1] * 2
    i = np.arange(24)
    expected = made[i // 8 * 8 + (i + 1) % 8].copy()
    expected["g"] += 200
    expected["depth"] = pixels["depth"] * 2
    for name in PIXEL.names:
        identical(out[name].copy(), expected[name].copy(), name)
    changed = pixels.copy()
    changed["b"], changed["a"] = expected["r"], 7
    changed["tags"][:, 1, 1] += 5
    for name in PIXEL.names:
        identical(new[name].copy(), changed[name].copy(), name)
    identical(new_loose["count"].copy(), loose["count"] + np.uint16(40000))
    identical(new_loose["flag"].copy(), loose["flag"].copy())
    identical(new_loose["half"].copy(), loose["half"] + loose["flag"].astype(np.float16))


@amp.struct
class Event:
    kind: amp.uint8
    level: amp.int16 = -5
    time: amp.float64 = 0.0
    weight: amp.float16 = 1.5


def test_struct_classes(accelerator_view):
    @amp.struct
    class Small:
        kind: amp.uint8 = 7
        level: amp.int16 = -5
        weight: amp.float16 = 1.5
        count: amp.int32

    @amp.kernel
    def made(i, out):
        one = Small(level=i[0] - 3, count=i[0])
        one.kind += i[0]
        one.weight = one.weight + one.level
        out[i] = one

    assert [Small.dtype.fields[n][1] for n in ("kind", "level", "weight", "count")] == [0, 2, 4, 8]
    assert [Event.dtype.fields[n][1] for n in ("kind", "level", "time", "weight")] == [0, 2, 8, 16]
    (found,) = in_every_form(accelerator_view, amp.extent(9), made, np.zeros(9, Small))
    i = np.arange(9)
    assert found["kind"].tolist() == (7 + i).tolist()
    assert found["level"].tolist() == (i - 3).tolist()
    assert found["weight"].tolist() == (i - 1.5).tolist()
    assert found["count"].tolist() == i.tolist()


LINK = np.dtype([("next", "i4"), ("kind", "u1"), ("level", "i2"), ("to", "i4", (2,))], align=True)


def test_an_element_that_holds_its_own_index(accelerator_view):
    """Copied number by number, an element is found once."""

    @amp.kernel
    def moved(i, links, other, row):
        links[links[i].next] = other[i]
        at = row[i].to[1]
        row[i] = links[i]
        row[row[at].to[0]] = other[at]

    n = 12
    links, other, row = (np.zeros(n, LINK) for _ in range(3))
    links["next"] = row["to"][:, 0] = row["to"][:, 1] = np.arange(n)
    links["to"][:, 0] = np.arange(n)
    other["next"], other["kind"], other["level"] = (np.arange(n) + 5) % n, 200 + np.arange(n), -np.arange(n)
    other["to"] = (np.arange(n)[:, None] + [3, 4]) % n
    row["to"] = np.arange(n)[:, None]
    kept = other.copy()
    kept["to"][:, 0] = np.arange(n)
    new, _, found = _quick_form(accelerator_view)(accelerator_view, amp.extent(n), moved, links, kept, row)
    for name in LINK.names:
        identical(new[name].copy(), kept[name].copy(), name)
        identical(found[name].copy(), kept[name].copy(), name)


@amp.struct
class Spot:
    kind: amp.uint8
    at: amp.float3
    size: amp.int2
    level: amp.int16


def test_components_of_vectors_in_structs(accelerator_view):
    @amp.kernel
    def turned(i, spots, out):
        spots[i].at.z = spots[i].at.y * 2
        spots[i].at.y = spots[i].at.x + spots[i].kind
        spots[i].size.y += spots[i].size.x * spots[i].level
        out[i] = spots[i].at.z - spots[i].size.y

    n = 21
    spots = np.zeros(n, Spot.dtype)
    spots["kind"], spots["level"] = 200 + np.arange(n), np.arange(n) - 9
    spots["at"]["x"], spots["at"]["y"], spots["at"]["z"] = np.arange(n), 100 + np.arange(n), -1
    spots["size"]["x"], spots["size"]["y"] = 3, 10 * np.arange(n)
    new, out = in_every_form(accelerator_view, amp.extent(n), turned, spots, np.zeros(n, np.float32))
    i = np.arange(n)
    identical(new["at"]["x"].copy(), i.astype(np.float32))
    identical(new["at"]["y"].copy(), (200 + 2 * i).astype(np.float32))
    identical(new["at"]["z"].copy(), (200 + 2 * i).astype(np.float32))
    identical(new["size"]["y"].copy(), (10 * i + 3 * (i - 9)).astype(np.int32))
    identical(out, (200 + 2 * i - 10 * i - 3 * (i - 9)).astype(np.float32))


def test_containers_on_the_host(accelerator_view):
    raw = numbers(np.uint8, (3, 5))
    view = amp.array_view(raw)
    view[1, 2] = 255
    assert raw[1, 2] == 255
    with pytest.raises(OverflowError, match="256 does not fit uint8"):
        view[0, 0] = 256
    made = amp.array(amp.extent(3, 5), amp.uint8, raw, accelerator_view=accelerator_view)
    identical(np.asarray(made), raw)
    identical(np.from_dlpack(view).copy(), raw)
    amp.copy(view, made)
    half = amp.array(amp.extent(7), amp.float16, [0.1] * 7, accelerator_view=accelerator_view)
    identical(np.asarray(half), np.full(7, 0.1, np.float16))


# -- check mode, and what is refused -------------------------------------------------------------------------------


def test_check_mode_tells_neighbours_apart(accelerator_view):
    @amp.kernel
    def beside(t, a, order):
        values = amp.tile_static(8, amp.uint8)
        values[order[t]] = a[t]
        t.barrier.wait()
        a[t] = values[7 - t.local[0]]

    a = numbers(np.uint8, 16)
    order = np.concatenate([RANDOM.permutation(8), RANDOM.permutation(8)]).astype(np.int8)
    assert amp.check(accelerator_view, amp.extent(16).tile(8), beside, amp.array_view(a), amp.array_view(order)).ok
    order = order.copy()
    order[3] = order[4]
    report = amp.check(accelerator_view, amp.extent(16).tile(8), beside, amp.array_view(a), amp.array_view(order))
    assert {f.kind for f in report.findings} == {"race", "uninitialised"}
    assert next(f for f in report.findings if f.kind == "race").index == (int(order[4]),)

    @amp.kernel
    def crossing(i, a, order):
        a[order[i]] = i[0]

    report = amp.check(accelerator_view, amp.extent(16), crossing, amp.array_view(a), amp.array_view(order))
    assert {f.kind for f in report.findings} == {"race"}
    order[:] = np.arange(16)
    order[5] = -1
    report = amp.check(accelerator_view, amp.extent(16), crossing, amp.array_view(a), amp.array_view(order))
    assert [f.kind for f in report.findings] == ["bounds"]


@pytest.mark.parametrize("dtype", [*SMALL, np.float16])
def test_atomics_are_refused(accelerator_view, dtype):
    @amp.kernel
    def count(i, a):
        amp.atomic_fetch_add(a[0], 1)

    with pytest.raises(amp.CompileError, match=f"VKA407: `atomic_fetch_add` .*{np.dtype(dtype).name}"):
        amp.parallel_for_each(accelerator_view, amp.extent(3), count, amp.array_view(np.zeros(3, dtype)))


def test_literals_that_do_not_fit(accelerator_view):
    @amp.kernel
    def far(i, a):
        a[i] = 300

    with pytest.raises(
        amp.CompileError, match="VKA303: 300 does not fit uint8, which holds whole numbers from 0 to 255"
    ):
        amp.parallel_for_each(accelerator_view, amp.extent(3), far, amp.array_view(np.zeros(3, np.uint8)))

    @amp.kernel
    def large(i, a):
        a[i] = 65520.0

    with pytest.raises(amp.CompileError, match="VKA303: 65520.0 does not fit float16"):
        amp.parallel_for_each(accelerator_view, amp.extent(3), large, amp.array_view(np.zeros(3, np.float16)))
