"""bfloat16 elements against ml_dtypes."""

from __future__ import annotations

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import vkamp as amp
import vkamp.algorithms as alg
from vkamp.testing import assert_allclose_ulp

BF = ml_dtypes.bfloat16
F32 = np.float32
PAIR = np.dtype({"names": ["w", "h", "x"], "formats": [BF, (BF, (3,)), F32], "offsets": [0, 2, 8], "itemsize": 12})


@amp.struct
class Weight:
    value: BF
    count: amp.int32


@amp.func
def halved(x: amp.float32) -> amp.float32:
    return x * 0.5


@amp.kernel
def copied(idx, a, out):
    out[idx] = a[idx]


@amp.kernel
def bits(idx, a, out, again):
    out[idx] = a[idx].view(np.uint16)
    again[idx] = out[idx].view(amp.bfloat16)


@amp.kernel
def every_third(t_idx, a, out, n, f):
    i = t_idx.global_[0]
    if i % 3 == 0 and i < n:
        out[i] = halved(a[i]) + amp.bfloat16(f)


@amp.kernel
def through_arrays(t_idx, a, out, f):
    shared = amp.tile_static((64,), amp.bfloat16)
    own = amp.private((4,), amp.bfloat16)
    shared[t_idx.local[0]] = a[t_idx.global_]
    for k in range(4):
        own[k] = a[t_idx.global_] * (k + 1)
    t_idx.barrier.wait()
    out[t_idx.global_] = shared[63 - t_idx.local[0]] + own[2] + f


@amp.kernel
def structs(idx, a, out):
    s = out[idx]
    s.w = a[idx].w * 2
    s.h[1] = halved(a[idx].h[0])
    s.x = a[idx].x + a[idx].h[2]
    w = Weight(a[idx].w, 3)
    w.value /= w.count
    s.h[0] = w.value


@amp.kernel
def races(t_idx, a, out):
    out[0] = a[t_idx.global_]


def rounded(x):
    with np.errstate(all="ignore"):
        return np.asarray(x, F32).astype(BF)


def same(found, expected):
    assert found.dtype == expected.dtype == BF
    np.testing.assert_array_equal(found.view(np.uint16), expected.view(np.uint16))


def run(view, kernel, *args, tile=None):
    """The last container after a launch over its extent."""
    views = [amp.array_view(x) if isinstance(x, np.ndarray) else x for x in args]
    out = next(v for v in reversed(views) if isinstance(v, amp.array_view))
    amp.parallel_for_each(view, out.extent if tile is None else out.extent.tile(tile), kernel, *views)
    for v in views:
        if isinstance(v, amp.array_view):
            v.synchronize()
    return np.asarray(out)


def all_of_it(view):
    """Every form of a bfloat16 element on one device."""
    random = np.random.default_rng(3)
    every = np.arange(65536, dtype=np.uint16).view(BF)
    floats = random.integers(0, 1 << 32, 70_001, dtype=np.uint32)
    # Halfway between two, and one beside that.
    floats[:65536] = (np.arange(65536, dtype=np.uint32) << 16) + 0x8000 + random.integers(-1, 2, 65536)
    same(run(view, copied, every, np.zeros(65536, BF)), rounded(every))
    same(run(view, copied, floats.view(F32), np.zeros(floats.size, BF)), rounded(floats.view(F32)))

    numbers = np.flatnonzero(~np.isnan(every.astype(F32)))
    found = np.zeros(every.size, np.uint16)
    again = run(view, bits, every, found, np.zeros(every.size, BF))
    np.testing.assert_array_equal(found[numbers], numbers)
    same(again[numbers], every[numbers])

    a = random.standard_normal(192).astype(BF)
    wide = a.astype(F32)
    expected = np.full(192, 7, BF)
    expected[:190:3] = rounded(wide[:190:3] * F32(0.5) + rounded(0.3).astype(F32))
    same(run(view, every_third, a, np.full(192, 7, BF), 190, 0.3, tile=64), expected)
    tiles = wide.reshape(3, 64)[:, ::-1].reshape(-1)
    expected = rounded(tiles + rounded(wide * 3).astype(F32) + F32(0.5))
    same(run(view, through_arrays, a, np.zeros(192, BF), BF(0.5), tile=64), expected)

    rows = np.zeros(37, PAIR)
    for name in ("w", "h", "x"):
        rows[name] = random.standard_normal(rows[name].shape)
    out = run(view, structs, rows, np.zeros(37, PAIR))
    w, h = rows["w"].astype(F32), rows["h"].astype(F32)
    same(out["w"].copy(), rounded(w * 2))
    same(out["h"][:, 1].copy(), rounded(h[:, 0] * F32(0.5)))
    same(out["h"][:, 0].copy(), rounded(w / F32(3)))
    np.testing.assert_array_equal(out["x"], rows["x"] + h[:, 2])

    plane = np.arange(35).astype(BF).reshape(5, 7)
    part = amp.array_view(plane).section((1, 2), (3, 4))
    amp.parallel_for_each(view, part.extent, copied, amp.array_view(np.full((3, 4), 0.3, F32)), part)
    part.synchronize()
    expected = np.arange(35).astype(BF).reshape(5, 7)
    expected[1:4, 2:6] = rounded(0.3)
    same(plane, expected)


def test_every_form(accelerator_view):
    all_of_it(accelerator_view)


@pytest.mark.parametrize("name", ["llvmpipe@vulkan", "swiftshader@vulkan"])
def test_by_the_direct_engine(name):
    """lavapipe has elements of 16 bits there."""
    all_of_it(amp.accelerator(name).default_view)


@pytest.mark.filterwarnings("ignore::vkamp.RaceWarning")
def test_check_mode(accelerator_view):
    a, out = amp.array_view(np.ones(128, BF)), amp.array_view(np.zeros(128, BF))
    assert amp.check(accelerator_view, out.extent.tile(64), through_arrays, a, out, 0.5).ok
    assert not amp.check(accelerator_view, out.extent.tile(64), races, a, out).ok


def test_on_the_host():
    a = amp.array_view(np.zeros((2, 3), BF))
    a[1, 2] = 1.2345
    assert a[1, 2] == BF(1.2345)
    assert a.reshape(6).reinterpret_as(np.uint16)[5] == 0x3F9E
    assert np.asarray(amp.array((3,), amp.bfloat16, [1, 2.5, BF(3)])).tolist() == [1, 2.5, 3]
    assert amp.array_view(np.ones(3, ">f2").astype(BF)).dtype == amp.bfloat16 == BF
    assert amp.result_type(halved, amp.bfloat16) == F32
    assert_allclose_ulp(np.array([1, 2], BF), np.array([1, 2.01], BF), ulp=1)
    with pytest.raises(AssertionError, match="1 ulp off"):
        assert_allclose_ulp(np.array([1, 2], BF), np.array([1, 2.01], BF))


def test_algorithms(accelerator_view):
    keys = np.random.default_rng(5).standard_normal(1003).astype(BF)
    a = amp.array_view(keys)
    # Accumulated in float32: in bfloat16 a sum of ones would end at 256.
    assert float(alg.sum(amp.array_view(np.ones(700, BF)), accelerator_view=accelerator_view)) == 700
    assert BF(float(alg.min(a, accelerator_view=accelerator_view))) == keys.min()
    same(np.asarray(alg.sort(a, accelerator_view=accelerator_view)), np.sort(keys))


def test_bins_and_selections(accelerator_view):
    raw = np.random.default_rng(4).normal(size=300).astype(np.float32).astype(BF)
    a = amp.array(raw, accelerator_view=accelerator_view)
    counts, edges = alg.histogram(a, 7, (-2, 2))
    expected = np.histogram(raw, 7, (-2, 2))
    np.testing.assert_array_equal(np.asarray(counts), expected[0])
    np.testing.assert_array_equal(edges, expected[1])
    numbers = raw.astype(np.float32)
    np.testing.assert_array_equal(np.asarray(alg.digitize(a, [-1, 0.1, 1])), np.digitize(numbers, [-1, 0.1, 1]))
    found = alg.select(a, lambda x: x > 0)
    for descending in (False, True):
        ordered = np.asarray(alg.sort(found, descending=descending)).astype(np.float32)
        np.testing.assert_array_equal(ordered, np.sort(numbers[numbers > 0])[:: -1 if descending else 1])


def test_errors():
    @amp.kernel
    def adds(idx, a):
        amp.atomic_fetch_add(a[0], 1)

    @amp.kernel
    def too_large(idx, a):
        a[idx] = 3.4e38

    a = amp.array_view(np.zeros(3, BF))
    with pytest.raises(amp.CompileError, match="VKA407.* the element is bfloat16"):
        amp.parallel_for_each(a.extent, adds, a)
    with pytest.raises(amp.CompileError, match=r"3\.4e\+38.*bfloat16.*-3\.3895314e38 to 3\.3895314e38"):
        amp.parallel_for_each(a.extent, too_large, a)


def test_without_the_package():
    program = """
import sys
sys.modules["ml_dtypes"] = None
import vkamp as amp
try:
    amp.bfloat16
except amp.UnsupportedFeatureError as error:
    print(error)
print(hasattr(amp, "bfloat16"))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "bfloat16 needs the package ml_dtypes: pip install 'vkamp[bfloat16]'\nFalse\n"
