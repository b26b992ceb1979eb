"""Streams of words against the numbers that their authors publish, numpy's Philox, and themselves."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

import vkamp as amp
from vkamp import rng

COUNTER_BASED = (rng.Philox4x32, rng.Philox4x64, rng.Threefry2x32, rng.Threefry4x32)
ALL = (*COUNTER_BASED, rng.PCG32)

#: pi, as Random123's third vector takes it
PI = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0, 0x082EFA98, 0xEC4E6C89)
#: Known answers of Random123 (kat_vectors): counter, key, words.
KNOWN = {
    rng.philox4x32: [
        ((0,) * 4, (0,) * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (PI[:4], PI[4:6], "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
    rng.threefry2x32: [
        ((0,) * 2, (0,) * 2, "6b200159 99ba4efe"),
        ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, "1cb996fc bb002be7"),
        (PI[:2], PI[2:4], "c4923a9c 483df7a0"),
    ],
    rng.threefry4x32: [
        ((0,) * 4, (0,) * 4, "9c6ca96a e17eae66 fc10ecd4 5256a7d8"),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 4, "2a881696 57012287 f6c7446e a16a6732"),
        (PI[:4], PI[4:], "59cd1dbb b8879579 86b5d00c ac8b6d84"),
    ],
}


@amp.kernel
def _encrypt(idx, f, counters, keys, out):
    out[idx] = f(counters[idx], keys[idx])


@pytest.mark.parametrize("f", KNOWN, ids=lambda f: f.__name__)
def test_known_answers(accelerator_view, f):
    counters, keys, words = zip(*KNOWN[f], strict=True)
    expected = [[int(word, 16) for word in row.split()] for row in words]

    def vectors(rows):
        kind = {2: amp.uint2, 4: amp.uint4}[len(rows[0])]
        return amp.array_view(np.array(rows, np.uint32).ravel()).reinterpret_as(kind)

    out = vectors(np.zeros_like(expected))
    amp.parallel_for_each(accelerator_view, amp.extent(3), _encrypt, f, vectors(counters), vectors(keys), out)
    np.testing.assert_array_equal(np.asarray(out).view(np.uint32).reshape(3, -1), expected)


def test_philox4x64_is_numpys(accelerator_view):
    for seed in (0, 42, [1, 2, 3], np.random.SeedSequence(7)):
        ours, numpys = rng.Philox4x64(seed), np.random.Philox(seed)
        for n in (1, 3, 4, 8, 5, 301 if seed == 0 else 2):
            np.testing.assert_array_equal(
                np.asarray(ours.random_raw(n, accelerator_view=accelerator_view)), numpys.random_raw(n)
            )
        assert ours.random_raw(accelerator_view=accelerator_view) == numpys.random_raw()
    key, counter = (1 << 127) + 5, (1 << 255) + (1 << 66) + 9
    ours, numpys = rng.Philox4x64(key=key, counter=counter), np.random.Philox(key=key, counter=counter)
    for change in (lambda g: g, lambda g: g.jumped(3), lambda g: g.advance((1 << 200) + 7)):
        ours, numpys = change(ours), change(numpys)
        np.testing.assert_array_equal(
            np.asarray(ours.random_raw(6, accelerator_view=accelerator_view)), numpys.random_raw(6)
        )
    state = numpys.state
    assert ours.state["buffer_pos"] == state["buffer_pos"]
    np.testing.assert_array_equal(ours.state["state"]["counter"], state["state"]["counter"])
    ours = rng.Philox4x64()
    ours.state = state
    np.testing.assert_array_equal(
        np.asarray(ours.random_raw(9, accelerator_view=accelerator_view)), numpys.random_raw(9)
    )


@pytest.mark.sample("llvmpipe")
@pytest.mark.parametrize("kind", COUNTER_BASED, ids=lambda kind: kind.__name__)
def test_counters_carry_within_a_draw(accelerator_view, kind):
    """The words of a draw are those of its counters, also where the lower bits of a counter overflow."""
    bits = 32 * kind.words_per_counter
    each = kind.words_per_counter * 4 // kind.word.itemsize
    for power in {32, 63, 64, 96, 128, 192, bits}:
        if power > bits:
            continue
        counters = [(1 << power) - 3 + k for k in range(5)]
        expected = [
            kind(key=7, counter=(counter - 1) % (1 << bits)).random_raw(each, accelerator_view=accelerator_view)
            for counter in counters
        ]
        stream = kind(key=7, counter=counters[0] - 1)
        found = [stream.random_raw(n, accelerator_view=accelerator_view) for n in (1, 5 * each - 1)]
        np.testing.assert_array_equal(np.concatenate(found), np.concatenate(expected), f"2^{power}")
        again = kind(key=7, counter=counters[0] - 1).random_raw(5 * each, accelerator_view=accelerator_view)
        np.testing.assert_array_equal(np.asarray(again), np.concatenate(expected), f"2^{power}")


def test_pcg32_is_the_authors(accelerator_view):
    # The demonstration program of the C library: pcg32_srandom_r(&rng, 42, 54).
    found = rng.PCG32(key=42 | 54 << 64).random_raw(6, accelerator_view=accelerator_view)
    expected = [0xA15C02B7, 0x7B47F409, 0xBA1D3330, 0x83D2F293, 0xBFA4784B, 0xCBED606E]
    np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.spread(2)
@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_pieces_are_parts_of_the_whole(accelerator_view, kind):
    # The reference accelerator runs element by element in Python.
    many = 66_000 if accelerator_view.accelerator.device_path != "reference" else 400
    whole = np.asarray(kind(5).random_raw(many + 600, accelerator_view=accelerator_view))
    assert whole.dtype == kind.word
    pieces = kind(5)
    found = [np.asarray(pieces.random_raw(n, accelerator_view=accelerator_view)) for n in (1, 2, 3, 4, 7, 33, many)]
    at = many + 50
    np.testing.assert_array_equal(np.concatenate(found), whole[:at])
    assert pieces.random_raw(accelerator_view=accelerator_view) == whole[at]
    # A step of `advance` is a counter, of PCG32 a word.
    step = kind.words_per_counter * 4 // kind.word.itemsize if kind in COUNTER_BASED else 1
    ahead = kind(5).advance(101)
    np.testing.assert_array_equal(
        np.asarray(ahead.random_raw(9, accelerator_view=accelerator_view)), whole[101 * step : 101 * step + 9]
    )
    for made in (copy.copy(pieces), copy.deepcopy(pieces), pickle.loads(pickle.dumps(pieces)), kind(1)):
        made.state = pieces.state
        np.testing.assert_array_equal(
            np.asarray(made.random_raw(11, accelerator_view=accelerator_view)), whole[at + 1 : at + 12]
        )
    assert len(np.unique(whole)) > 0.999 * len(whole)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_streams_differ(kind):
    base = kind(3)
    others = [*base.spawn(3), kind(4), base.jumped(), base.jumped(2)]
    rows = [np.asarray(each.random_raw(64)) for each in (base, *others)]
    assert len({row.tobytes() for row in rows}) == 7
    again = kind(3)
    assert [each.key for each in again.spawn(3)] == [each.key for each in others[:3]]
    assert [each.key for each in again.spawn(1)] != [others[0].key]
    with pytest.raises(TypeError, match="no seed sequence to spawn from"):
        kind(key=3).spawn(1)


def test_bad_seeds():
    with pytest.raises(ValueError, match="a seed or a key, not both"):
        rng.Philox4x32(1, key=2)
    with pytest.raises(ValueError, match="the key has 64 bits"):
        rng.Philox4x32(key=1 << 64)
    with pytest.raises(ValueError, match="the counter has 128 bits"):
        rng.Philox4x32(counter=-1)
    with pytest.raises(ValueError, match="the state belongs to 'Philox4x64', not to 'Philox4x32'"):
        rng.Philox4x32().state = rng.Philox4x64().state


def test_threads_draw_different_words(accelerator_view):
    stream = rng.Philox4x32(8)
    found = []

    def draw():
        for _ in range(20):
            found.append(np.asarray(stream.random_raw(37, accelerator_view=accelerator_view)))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = np.asarray(rng.Philox4x32(8).random_raw(20 * 4 * 37, accelerator_view=accelerator_view))
    assert sorted(np.concatenate(found).tolist()) == sorted(expected.tolist())
