"""Types: weak literals, C++'s usual conversions, casts, bool, and the types of arguments by value."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, U32, pairs, rows, same, same_rows


@amp.kernel
def to_int(i, a, out):
    k = i[0]
    x = a[k]
    out[0, k] = int(x)
    out[1, k] = amp.int32(x)
    out[2, k] = int(x * 2) + 1
    out[3, k] = int(x) // 2
    out[4, k] = bool(x)
    out[5, k] = int(bool(x)) + int(x > 1)
    out[6, k] = int(abs(x))


def test_float_to_int_truncates(accelerator_view):
    x = np.array([0.0, 0.5, -0.5, 0.999, 1.0, -1.0, 1.5, -1.5, 2.5, -7.99, 1e6 + 0.5, -1e9, 2147483520.0 / 2], F32)
    t = x.astype(I32)
    same_rows(
        rows(accelerator_view, to_int, 7, I32, x),
        {
            "int": t,
            "int32": t,
            "int(x * 2) + 1": (x * F32(2)).astype(np.int64) + 1,
            "int(x) // 2": t // 2,
            "bool": x != 0,
            "bools": (x != 0).astype(I32) + (x > 1),
            "int(abs(x))": np.abs(x).astype(I32),
        },
    )


@amp.kernel
def to_uint(i, a, out):
    k = i[0]
    out[0, k] = amp.uint32(a[k])
    out[1, k] = amp.uint32(a[k]) >> 1


def test_float_to_uint_truncates(accelerator_view):
    x = np.array([0.0, 0.5, 1.0, 1.99, 2147483648.0, 3e9, 4294967040.0], F32)
    t = x.astype(U32)
    same_rows(rows(accelerator_view, to_uint, 2, U32, x), {"uint32": t, ">> 1": t >> U32(1)})


@amp.kernel
def to_float(i, a, b, out):
    k = i[0]
    x, u = a[k], b[k]
    out[0, k] = x
    out[1, k] = u
    out[2, k] = float(x) / 2
    out[3, k] = x / 2
    out[4, k] = u / 2
    out[5, k] = x + 0.5
    out[6, k] = 2.0 * x
    out[7, k] = u * 0.25
    out[8, k] = x > 0
    out[9, k] = True
    out[10, k] = (x > 0) + 0.5
    out[11, k] = amp.float32(x & 7) * amp.float32(u & 3)


def test_int_to_float(accelerator_view):
    x, _ = pairs([0, 1, -1, 7, -100, 16777217, -16777219, 2**31 - 1, -(2**31)], I32)
    _, u = pairs([0, 1, 3, 4, 2**24 + 1, 2**31, 2**31 + 128, 2**32 - 1, 100], U32)
    f, g = x.astype(F32), u.astype(F32)
    half = F32(0.5)
    same_rows(
        rows(accelerator_view, to_float, 12, F32, x, u),
        {
            "int": f,
            "uint": g,
            "float(x) / 2": f * half,
            "x / 2": f * half,
            "u / 2": g * half,
            "x + 0.5": f + half,
            "2.0 * x": F32(2) * f,
            "u * 0.25": g * F32(0.25),
            "x > 0": x > 0,
            "True": 1,
            "(x > 0) + 0.5": (x > 0) + half,
            "small": (x & 7).astype(F32) * (u & U32(3)).astype(F32),
        },
    )


@amp.kernel
def reinterpreting_casts(i, a, b, out):
    k = i[0]
    out[0, k] = amp.int32(b[k])
    out[1, k] = int(b[k]) + a[k]
    out[2, k] = int(amp.uint32(a[k]))
    out[3, k] = amp.int32(amp.uint32(a[k]) + 1)
    out[4, k] = b[k]


def test_casts_between_int_and_uint_keep_the_bits(accelerator_view):
    x, _ = pairs([0, 1, -1, -(2**31), 2**31 - 1], I32)
    _, u = pairs([0, 1, 2**31, 2**32 - 1, 77], U32)
    s = u.view(I32)
    same_rows(
        rows(accelerator_view, reinterpreting_casts, 5, I32, x, u),
        {"int32(u)": s, "int(u) + x": s + x, "there and back": x, "+ 1": x + 1, "stored": s},
    )


@amp.kernel
def weak(i, a, u, f, out):
    k = i[0]
    one, half = 1, 0.5
    out[0, k] = u[k] + one
    out[1, k] = f[k] + one
    out[2, k] = a[k] * half
    out[3, k] = one + half
    out[4, k] = -one + u[k] + 2
    out[5, k] = one if a[k] > 0 else half
    out[6, k] = u[k] + 4294967295
    out[7, k] = f[k] * 16777217


def test_literals_take_the_type_of_what_they_meet(accelerator_view):
    a = np.array([1, -2, 3], I32)
    u = np.array([0, 4294967295, 7], U32)
    f = np.array([0.5, -1.25, 3e9], F32)
    with np.errstate(all="ignore"):
        same_rows(
            rows(accelerator_view, weak, 8, F32, a, u, f),
            {
                "u + 1": (u + U32(1)).astype(F32),
                "f + 1": f + F32(1),
                "a * 0.5": a * F32(0.5),
                "1.5": 1.5,
                "-1 + u + 2": (u + U32(1)).astype(F32),
                "either": np.where(a > 0, 1, 0.5),
                "u + max": (u - U32(1)).astype(F32),
                "f * 16777217": f * F32(16777217),
            },
        )


@amp.kernel
def bools(i, a, out):
    k = i[0]
    x = a[k]
    positive = x > 0
    even = x % 2 == 0
    out[0, k] = positive and even
    out[1, k] = positive or even
    out[2, k] = positive & even
    out[3, k] = positive | even
    out[4, k] = positive ^ even
    out[5, k] = positive == even
    out[6, k] = positive != even
    out[7, k] = positive + even
    out[8, k] = positive * 10 - even
    out[9, k] = not positive
    out[10, k] = -positive
    out[11, k] = positive < even
    out[12, k] = ~even
    out[13, k] = positive << 2
    out[14, k] = 5 if positive else 6
    flag = False
    if x > 1:
        flag = True
    flag = flag and even
    out[15, k] = flag
    out[16, k] = (positive if even else flag) + 0
    out[17, k] = max(positive, even) + 1
    out[18, k] = True + positive
    out[19, k] = x * positive


def test_bools(accelerator_view):
    x = np.arange(-4, 6, dtype=I32)
    p, e = x > 0, x % 2 == 0
    flag = (x > 1) & e
    same_rows(
        rows(accelerator_view, bools, 20, I32, x),
        {
            "and": p & e,
            "or": p | e,
            "&": p & e,
            "|": p | e,
            "^": p ^ e,
            "==": p == e,
            "!=": p != e,
            "+": p.astype(I32) + e,
            "* 10 -": p * 10 - e.astype(I32),
            "not": ~p,
            "-": -p.astype(I32),
            "<": p < e,
            "~": ~e.astype(I32),
            "<<": p.astype(I32) << 2,
            "select": np.where(p, 5, 6),
            "flag": flag,
            "chosen": np.where(e, p, flag),
            "max": (p | e) + 1,
            "True +": 1 + p.astype(I32),
            "x * bool": x * p,
        },
    )


@amp.kernel
def by_value(i, factor, offset, flag, count, where, size, out):
    k = i[0]
    out[0, k] = k * factor
    out[1, k] = offset if flag else -offset
    out[2, k] = count
    out[3, k] = where[0] * 100 + where[1]
    out[4, k] = size[0] * size[1] + size.size()
    out[5, k] = flag


CASES = [
    (2.5, 3, True, 7, amp.index(3, -4), amp.extent(5, 6)),
    (F32(0.25), I32(-3), False, U32(5), amp.index(0, 9), amp.extent(2, 11)),
    (np.bool_(True), 1.5, np.bool_(True), -8, amp.index(-1, 1), amp.extent(1, 1)),
]


@pytest.mark.parametrize("case", CASES, ids=["python", "numpy", "bool"])
def test_arguments_by_value(accelerator_view, case):
    factor, offset, flag, count, where, size = case
    result = np.zeros((6, 5), F32)
    out = amp.array_view(result)
    amp.parallel_for_each(accelerator_view, amp.extent(5), by_value, *case, out)
    out.synchronize()
    same_rows(
        result,
        {
            "factor": np.arange(5) * F32(factor),
            "offset": float(offset) if flag else -float(offset),
            "count": float(count),
            "where": where[0] * 100 + where[1],
            "size": 2 * size[0] * size[1],
            "flag": bool(flag),
        },
    )


@amp.kernel
def large_unsigned(i, value, out):
    out[i] = value + 1


def test_large_unsigned_argument(accelerator_view):
    out = amp.array(amp.extent(3), amp.uint32, accelerator_view=accelerator_view)
    amp.parallel_for_each(accelerator_view, out.extent, large_unsigned, np.uint32(4294967290), out)
    same(np.asarray(out), 4294967291)
    with pytest.raises(amp.AmpError, match=r"4294967290 does not fit int32.*: pass amp.uint32\(4294967290\)"):
        amp.parallel_for_each(accelerator_view, out.extent, large_unsigned, 4294967290, out)
    same(np.asarray(out), 4294967291)


@amp.kernel
def annotated(i, out):
    k = i[0]
    x: amp.float32 = 1
    n: int = 3
    u: amp.uint32 = 4294967295
    yes: bool = True
    y: float = n
    x /= 4
    u += 2
    out[0, k] = x
    out[1, k] = n
    out[2, k] = u
    out[3, k] = yes
    out[4, k] = y / 2


def test_annotated_variables(accelerator_view):
    result = np.zeros((5, 2), F32)
    out = amp.array_view(result)
    amp.parallel_for_each(accelerator_view, amp.extent(2), annotated, out)
    same(np.asarray(out), [[0.25] * 2, [3] * 2, [1] * 2, [1] * 2, [1.5] * 2])


@pytest.mark.accelerators("drivers")
@pytest.mark.parametrize("kind", ["float64", "int64", "uint64"])
def test_types_of_other_devices_are_refused_by_name(accelerator, accelerator_view, kind):
    out = amp.array(amp.extent(3), amp.float32, accelerator_view=accelerator_view)
    feature = "float64" if kind == "float64" else "int64"
    if feature in accelerator_view._queue.info.usable_features:
        amp.parallel_for_each(accelerator_view, out.extent, by_value_one, np.dtype(kind).type(7), out)
        assert np.asarray(out).tolist() == [7] * 3
        return
    # An int64 that an int32 can hold is passed as one.
    number = np.dtype(kind).type(1 << 40)
    with pytest.raises(amp.UnsupportedFeatureError, match=f"VKA304: .*{kind} needs the device feature shader"):
        amp.parallel_for_each(accelerator_view, out.extent, by_value_one, number, out)
    wide = amp.array_view(np.zeros(3, kind))
    with pytest.raises(amp.UnsupportedFeatureError, match=f"VKA304: .*{kind} needs the device feature shader"):
        amp.parallel_for_each(accelerator_view, wide.extent, by_value_one, 1, wide)


@pytest.mark.parametrize("kind", ["float16", "int16", "uint16", "int8", "uint8"])
def test_small_numbers_are_handed_over_everywhere(accelerator_view, kind):
    out = amp.array_view(np.zeros(3, F32))
    amp.parallel_for_each(accelerator_view, out.extent, by_value_one, np.dtype(kind).type(77), out)
    same(np.asarray(out), [77] * 3)


@amp.kernel
def by_value_one(i, value, out):
    out[i] = value
