"""Streams, TinyMT and Sobol points in kernels of the user's."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from vkamp import rng


@amp.kernel
def _draw(idx, out, floats, normals, seed):
    s = rng.philox(seed, idx[0])
    for k in range(out.extent[1]):
        out[idx[0], k] = s.next_uint()
    v = s.next_float4()
    floats[idx] = s.next_float() + v.x + v.y + v.z + v.w
    normals[idx] = s.next_normal2()


def test_streams(accelerator_view):
    out = amp.array_view(np.zeros((40, 11), np.uint32))
    floats = amp.array_view(np.zeros(40, np.float32))
    normals = amp.array_view(np.zeros(40, amp.float2))
    amp.parallel_for_each(accelerator_view, floats.extent, _draw, out, floats, normals, np.uint32(99))
    for stream in range(40):
        words = np.asarray(rng.Philox4x32(key=99, counter=stream << 64).random_raw(20))
        np.testing.assert_array_equal(np.asarray(out)[stream], words[:11])
        # The word that is left comes first, the four of next_float4 are of the block behind.
        used = np.append(words[12:16], words[11])
        assert np.isclose(np.asarray(floats)[stream], ((used >> 8) * 2.0**-24).sum(), rtol=1e-6)
    assert 0.6 < np.asarray(normals).view(np.float32).std() < 1.4


@amp.kernel
def _words_of_counters(idx, words):
    counter = amp.uint4(idx[0], 2, 3, 4)
    words[idx[0], 0] = rng.philox4x32(counter, amp.uint2(5, 6))
    words[idx[0], 1] = rng.threefry4x32(counter, amp.uint4(5, 6, 7, 8))
    pair = rng.threefry2x32(amp.uint2(idx[0], 2), amp.uint2(5, 6))
    words[idx[0], 2] = amp.uint4(pair.x, pair.y, 0, 0)


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_plain_python_gives_what_kernels_give(accelerator_view):
    words = amp.array_view(np.zeros((40, 3), amp.uint4))
    amp.parallel_for_each(accelerator_view, amp.extent(40), _words_of_counters, words)
    found = np.asarray(words).view(np.uint32).reshape(40, 3, 4)
    for k in range(40):
        counter = amp.uint4(k, 2, 3, 4)
        pair = rng.threefry2x32(amp.uint2(k, 2), amp.uint2(5, 6))
        for own, want in (
            (rng.philox4x32(counter, amp.uint2(5, 6)), found[k, 0]),
            (rng.threefry4x32(counter, amp.uint4(5, 6, 7, 8)), found[k, 1]),
            (amp.uint4(pair.x, pair.y, 0, 0), found[k, 2]),
        ):
            assert [own.x, own.y, own.z, own.w] == list(want)


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_normal_numbers_in_plain_python(accelerator_view):
    out, floats = amp.array_view(np.zeros((99, 1), np.uint32)), amp.array_view(np.zeros(99, np.float32))
    normals = amp.array_view(np.zeros(99, amp.float2))
    amp.parallel_for_each(accelerator_view, floats.extent, _draw, out, floats, normals, np.uint32(5))
    for stream, want in enumerate(np.asarray(normals).view(np.float32).reshape(99, 2)):
        s = rng.philox(5, stream)
        s.next_uint()
        s.next_float4()
        s.next_float()
        own = s.next_normal2()
        np.testing.assert_allclose([float(own.x), float(own.y)], want, rtol=1e-5, atol=1e-6)


#: RFC 8682, figure 2, of seed 1
TINYMT = [2545341989, 981918433, 3715302833, 2387538352, 3591001365, 3820442102, 2114400566, 2196103051]
#: check32.out.txt of TinyMT, init_by_array {1}: from the first state on, of which generators skip eight
TINYMT_BY_ARRAY = [0.2395348, 0.7309057, 0.9381777, 0.0836616, 0.2678613]


def _by_array(*keys):
    """TinyMT's initialisation by several words, in plain Python."""
    word = 0xFFFFFFFF
    s = [0, 0x8F7011EE, 0xFC78FF1F, 0x3793FDFF]
    for step in range(8):
        i = step % 4
        x = s[i] ^ s[(i + 1) % 4] ^ s[(i + 3) % 4]
        r = (x ^ x >> 27) * 1664525 & word
        s[(i + 1) % 4] = s[(i + 1) % 4] + r & word
        r = r + (len(keys) if step == 0 else i + (keys[step - 1] if step <= len(keys) else 0)) & word
        s[(i + 2) % 4] = s[(i + 2) % 4] + r & word
        s[i] = r
    for i in range(4):
        x = s[i] + s[(i + 1) % 4] + s[(i + 3) % 4] & word
        r = (x ^ x >> 27) * 1566083941 & word
        s[(i + 1) % 4] ^= r
        r = r - i & word
        s[(i + 2) % 4] ^= r
        s[i] = r
    return s


def _words(s, count, skipped=8):
    """A generator's next words, in plain Python."""
    found = []
    word = 0xFFFFFFFF
    for _ in range(skipped + count):
        y = s[3]
        x = (s[0] & 0x7FFFFFFF) ^ s[1] ^ s[2]
        x ^= x << 1 & word
        y ^= y >> 1 ^ x
        s = [s[1], s[2] ^ (0x8F7011EE if y & 1 else 0), x ^ (y << 10 & word) ^ (0xFC78FF1F if y & 1 else 0), y]
        t = s[0] + (s[2] >> 8) & word
        found.append(s[3] ^ t ^ (0x3793FDFF if t & 1 else 0))
    return found[skipped:]


@amp.kernel
def _tinymt(idx, out):
    g = rng.tinymt_of(idx[0])
    for k in range(8):
        out[idx[0], k] = g.next_uint()


@amp.kernel
def _draw_tinymt(idx, generators, out):
    g = generators[idx]
    out[idx] = g.next_single12() - g.next_single()


def test_tinymt(accelerator_view):
    out = amp.array_view(np.zeros((3, 8), np.uint32))
    amp.parallel_for_each(accelerator_view, amp.extent(3), _tinymt, out)
    np.testing.assert_array_equal(np.asarray(out)[1], TINYMT)
    # The oracle of the collection is right, too.
    np.testing.assert_allclose([(w >> 8) * 2.0**-24 for w in _words(_by_array(1), 5, 0)], TINYMT_BY_ARRAY, atol=1e-7)
    generators = rng.tinymt_collection((5, 7), 3, accelerator_view)
    found = amp.array_view(np.zeros((5, 7), np.float32))
    for launch in range(3):
        amp.parallel_for_each(accelerator_view, found.extent, _draw_tinymt, generators, found)
        for number in (0, 1, 17, 34):
            first, second = _words(_by_array(3, number), 2 * launch + 2)[-2:]
            expected = np.float32(1 + (first >> 9) * 2.0**-23) - np.float32((second >> 9) * 2.0**-23)
            assert np.asarray(found).ravel()[number] == expected
    with pytest.raises(ValueError, match="the seed has 32 bits"):
        rng.tinymt_collection(4, -1)


#: Coordinates of the points 1, 2, 3, 7, 100, 777 and 1023 in the dimensions 0, 1, 2, 9, 99, 999 and 1110, in units of
#: 2^-32, computed by scipy 1.17 (``qmc.Sobol(1111, scramble=False, bits=32)``).
SOBOL = [
    [2147483648, 2147483648, 2147483648, 2147483648, 2147483648, 2147483648, 2147483648],
    [3221225472, 1073741824, 1073741824, 3221225472, 3221225472, 3221225472, 3221225472],
    [1073741824, 3221225472, 3221225472, 1073741824, 1073741824, 1073741824, 1073741824],
    [536870912, 2684354560, 1610612736, 3758096384, 2684354560, 1610612736, 2684354560],
    [1778384896, 1107296256, 3321888768, 2986344448, 3791650816, 3925868544, 1979711488],
    [2973761536, 4022337536, 700448768, 1388314624, 2193620992, 1648361472, 2512388096],
    [4194304, 3233808384, 2629828608, 3653238784, 2277507072, 3678404608, 2529165312],
]


def test_sobol(accelerator_view):
    # The reference accelerator runs element by element in Python.
    if accelerator_view.accelerator.device_path != "reference":
        _points_of_all_dimensions(accelerator_view)
    raw = np.asarray(rng.Sobol(3, accelerator_view=accelerator_view).random_raw(128))
    pieces = rng.Sobol(3, accelerator_view=accelerator_view)
    found = [np.asarray(pieces.random_raw(n)) for n in (1, 2, 31)]
    pieces.fast_forward(66)
    found.append(np.asarray(pieces.random_raw(13)))
    np.testing.assert_array_equal(np.concatenate(found), raw[[*range(34), *range(100, 113)]])
    np.testing.assert_array_equal(raw[[1, 2, 3, 7, 100]], np.array(SOBOL)[:5, :3])
    floats = np.zeros((8, 3), np.float32)
    pieces.reset().random(8, out=floats)
    np.testing.assert_array_equal(floats, (raw[:8] >> 8) * np.float32(2.0**-24))


def _points_of_all_dimensions(accelerator_view):
    raw = np.asarray(rng.Sobol(1111, accelerator_view=accelerator_view).random_raw(1024))
    np.testing.assert_array_equal(raw[[1, 2, 3, 7, 100, 777, 1023]][:, [0, 1, 2, 9, 99, 999, 1110]], SOBOL)
    # Each interval of 1/1024 has one of the 1024 points in every dimension.
    assert (np.sort(raw >> 22, axis=0) == np.arange(1024)[:, None]).all()


def test_scrambled_sobol(accelerator_view):
    points = np.asarray(rng.Sobol(6, scramble=True, seed=5, accelerator_view=accelerator_view).random_raw(256))
    assert (np.sort(points >> 24, axis=0) == np.arange(256)[:, None]).all(), "a scrambled net stays one"
    pairs = (points[:, 0] >> 28) * 16 + (points[:, 1] >> 28)
    assert (np.bincount(pairs, minlength=256) == 1).all()
    other = np.asarray(rng.Sobol(6, scramble=True, seed=6, accelerator_view=accelerator_view).random_raw(256))
    assert (points != other).any(axis=0).all()
    # Every point is uniform: the mean of the first one over many seeds is a half.
    firsts = [
        np.asarray(rng.Sobol(40, scramble=True, seed=seed, accelerator_view=accelerator_view).random(1))
        for seed in range(8)
    ]
    assert abs(np.mean(firsts) - 0.5) < 0.08


@amp.kernel
def _draw_sobol(idx, collection, out):
    collection.next(idx)
    for k in range(3):
        out[idx[0], k] = collection.get_single(idx, k)
    collection.skip(idx, 5)


def test_sobol_collection(accelerator_view):
    collection = rng.sobol_rng_collection(6, 3, 10, accelerator_view)
    out = amp.array_view(np.zeros((6, 3), np.float32))
    expected = np.asarray(rng.Sobol(3).random(64))
    for launch in range(2):
        amp.parallel_for_each(accelerator_view, amp.extent(6), _draw_sobol, collection, out)
        np.testing.assert_array_equal(np.asarray(out), expected[np.arange(6) * 10 + 1 + 6 * launch])


def test_bad_sobol():
    with pytest.raises(ValueError, match="1 to 1111 dimensions, not 0"):
        rng.Sobol(0)
    with pytest.raises(ValueError, match="at least one point"):
        rng.Sobol(2).random(0)
    with pytest.raises(
        amp.AmpError, match=r"out has extent\(3, 2\) of float32, but the points have extent\(4, 2\) of float32"
    ):
        rng.Sobol(2).random(4, out=np.zeros((3, 2), np.float32))
    with pytest.raises(ValueError, match=r"the sequence ends after 2\^32 points"):
        rng.Sobol(2).fast_forward(1 << 32).random(1)
