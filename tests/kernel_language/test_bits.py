"""The bits of numbers as numbers of another type, and numpy's other methods of scalars."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import F32, I32, U32, rows, same

FLOATS = np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e-40, 3.4e38, 0.1, np.pi, -123456.789], F32)
INTS = np.array([0, 1, -1, 2**31 - 1, -(2**31), 1065353216, -1082130432, 96, -96, 255, 65535, 12345], I32)


@amp.func
def flipped(x: amp.float32):
    """The float whose sign bit is the other."""
    return amp.asfloat(amp.asuint(x) ^ amp.uint32(0x80000000))


@amp.func
def rotated(n):
    bits = amp.asuint(n)
    return amp.asint((bits << 7) | (bits >> 25))


@amp.kernel
def bits_of_floats(i, x, n, out):
    k = i[0]
    out[0, k] = amp.asuint(x[k])
    out[1, k] = x[k].view(np.uint32)
    out[2, k] = amp.uint32(amp.asint(x[k]))
    out[3, k] = amp.asuint(amp.asfloat(n[k]))
    out[4, k] = amp.asuint(n[k].view(amp.float32))
    out[5, k] = amp.asuint(flipped(x[k]))
    out[6, k] = amp.asuint(rotated(n[k]))
    out[7, k] = amp.asuint(amp.asuint(n[k])).view("int32").view(np.dtype(np.uint32))
    exponent = (amp.asint(abs(x[k])) >> 23) - 127
    out[8, k] = amp.asuint(exponent)
    out[9, k] = amp.asuint(1.5) + amp.asuint(x[k] + 0.0 if k > 100 else 2.0)


def test_bits_of_32(accelerator_view):
    got = rows(accelerator_view, bits_of_floats, 10, U32, FLOATS, INTS)
    of_floats, of_ints = FLOATS.view(U32), INTS.view(U32)
    for row in (0, 1, 2):
        same(got[row], of_floats, f"row {row}")
    for row in (3, 4, 7):
        same(got[row], of_ints, f"row {row}")
    same(got[5], of_floats ^ U32(0x80000000), "flipped")
    same(got[6], (of_ints << U32(7)) | (of_ints >> U32(25)), "rotated")
    same(got[8], (((of_floats & U32(0x7FFFFFFF)) >> U32(23)).astype(I32) - 127).view(U32), "exponent")
    same(got[9], np.full(12, (0x3FC00000 + 0x40000000) & 0xFFFFFFFF, U32), "literals")


def test_bits_on_the_host():
    assert flipped(F32(2.5)) == -2.5
    assert rotated(I32(1)) == 128
    assert type(amp.asuint(F32(1))) is U32
    assert type(amp.asint(F32(1))) is I32
    assert amp.asuint(1.5) == 0x3FC00000
    assert amp.asfloat(0x3FC00000) == 1.5
    assert amp.asint(U32(2**32 - 1)) == -1
    assert amp.asuint(np.float64(1)) == np.float64(1).view(np.uint64)
    with pytest.raises(TypeError, match="32 or 64 bits"):
        amp.asuint(np.float16(1))


@amp.kernel
def counts(i, n, u, out):
    k = i[0]
    out[0, k] = n[k].bit_count()
    out[1, k] = u[k].bit_count()
    out[2, k] = (n[k] > 3).bit_count() if False else (12345).bit_count()
    out[3, k] = (n[k] & 0xFF).bit_count() + (n[k] & 0xFF).astype(np.float32).astype(int) * 0


def test_bit_count(accelerator_view):
    u = INTS.view(U32)
    got = rows(accelerator_view, counts, 4, I32, INTS, u)
    same(got[0], [int(v).bit_count() for v in INTS])
    same(got[1], [int(v).bit_count() for v in u])
    same(got[2], [(12345).bit_count()] * 12)
    same(got[3], [int(v & 0xFF).bit_count() for v in INTS])


#: Numbers that a copy in a float register could change: NaNs with payloads, quiet and signalling, and denormals.
PATTERNS = np.array([0x7FC00001, 0xFFC12345, 0x7F800001, 0xFFBFFFFF, 1, 0x807FFFFF, 0x80000000, 0x7F800000], U32)


@amp.kernel
def vectors_of_bits(i, bits, floats, out):
    k = i[0]
    b = bits[i]
    f = amp.asfloat(b)
    out[0, k] = amp.asuint(floats[i])
    out[1, k] = amp.asuint(f)
    out[2, k] = amp.uint3(amp.asint(f.zyx))
    out[3, k] = amp.asuint(amp.asfloat(amp.asint(amp.uint3(b.x, b.y, b.z))))
    out[4, k] = amp.asuint(amp.float3(1.5))
    out[5, k].xy = amp.asuint(f.xy)
    out[5, k].z = amp.asuint(floats[i].z)


def test_bits_of_vectors(accelerator_view):
    patterns = np.stack([np.roll(PATTERNS, -k) for k in range(3)], 1).copy()
    bits, floats = patterns.view(amp.uint3.dtype).ravel(), patterns.view(amp.float3.dtype).ravel()
    got = np.zeros((6, 8, 3), U32)
    out = amp.array_view(got.view(amp.uint3.dtype).reshape(6, 8))
    views = amp.array_view(bits), amp.array_view(floats)
    amp.parallel_for_each(accelerator_view, amp.extent(8), vectors_of_bits, *views, out)
    out.synchronize()
    for row in (0, 1, 3, 5):
        same(got[row], patterns, f"row {row}")
    same(got[2], patterns[:, ::-1], "swizzled")
    same(got[4], np.full((8, 3), 0x3FC00000, U32), "repeated")


def test_bits_of_vectors_on_the_host():
    v = amp.asuint(amp.float2(1.5, -0.0))
    assert type(v) is amp.uint2
    assert list(v) == [0x3FC00000, 0x80000000]
    assert list(amp.asuint(amp.asfloat(amp.uint4(*map(int, PATTERNS[:4]))))) == list(PATTERNS[:4])
    assert type(amp.asfloat(amp.double2(1.0, 2.0))) is amp.double2
    with pytest.raises(TypeError, match="no short vector of 2 uint64"):
        amp.asuint(amp.double2(1.0, 2.0))
