"""The battery of ``python -m tests.rng``: good streams pass, and bad ones do not."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.rng import battery, counting
from tests.rng.__main__ import STREAMS, containers_of, words_of
from vkamp import rng

_MANY = 1 << 17


def linear(factor, addend=0):
    """A linear congruential generator of 32 bits."""
    words, x = [], 1
    for _ in range(_MANY):
        x = (x * factor + addend) & 0xFFFFFFFF
        words.append(x)
    return np.array(words, np.uint32)


def shifted():
    """Marsaglia's xorshift of 32 bits, whose words are linear."""
    words, x = [], 2463534242
    for _ in range(_MANY):
        x ^= x << 13 & 0xFFFFFFFF
        x ^= x >> 17
        x ^= x << 5 & 0xFFFFFFFF
        words.append(x)
    return np.array(words, np.uint32)


def test_good_words_pass():
    for words in (
        np.random.Generator(np.random.PCG64(1)).integers(0, 1 << 32, _MANY, np.uint32),
        np.asarray(rng.Philox4x32(2).random_raw(_MANY)),
    ):
        assert min(battery.p_values(words).values()) > 1e-5


@pytest.mark.parametrize(
    ("name", "words", "found"),
    [
        ("RANDU", lambda: linear(65539), {"equal_bits", "equal_bytes", "weights", "ranks"}),
        ("of Numerical Recipes", lambda: linear(1664525, 1013904223), {"equal_bytes", "equal_halves", "weights"}),
        ("xorshift", shifted, {"ranks"}),
        ("Weyl's", lambda: (np.arange(_MANY, dtype=np.uint64) * 2654435769).astype(np.uint32),
         {"equal_pairs", "no_correlation", "runs", "gaps", "orders", "collisions", "maxima"}),
        # Two streams that are the same, in turns: as if their keys did not matter.
        ("twins", lambda: np.repeat(np.asarray(rng.Philox4x32(3).random_raw(_MANY // 2)), 2),
         {"no_correlation", "orders"}),
    ],
)  # fmt: skip
def test_bad_words_fail(name, words, found):
    values = battery.p_values(words())
    assert found <= {test for test, p in values.items() if p < 1e-8}, (name, values)


def test_probabilities():
    assert battery.of_normal(1.959964) == pytest.approx(0.05, rel=1e-5)
    # Tables: 18.307 is exceeded once in 20 with 10 degrees of freedom, 3.94 in 19 of 20; both ends count.
    assert battery.of_chi_squared(18.307, 10) == pytest.approx(0.1, rel=0.03)
    assert battery.of_chi_squared(3.940, 10) == pytest.approx(0.1, rel=0.03)
    assert battery.of_distance(1.3581 / 1000, 1_000_000) == pytest.approx(0.05, rel=0.01)
    assert battery.worst_of([0.01, 0.5, 0.9]) == pytest.approx(1 - 0.99**3)


@pytest.mark.sample("llvmpipe", "swiftshader")
def test_streams(accelerator, monkeypatch):
    """All streams of the battery have words, other ones with each piece."""
    monkeypatch.setattr("tests.rng.__main__._PIECE", 1 << 15)
    view = amp.accelerator(accelerator.device_path).default_view
    for name in STREAMS:
        pieces = words_of(name, view)
        one, other = next(pieces).copy(), next(pieces).copy()
        assert one.size == other.size == 1 << 15 and (one != other).mean() > 0.99
        assert battery.equal_bits(one) > 1e-5


@pytest.mark.sample("llvmpipe")
def test_classes_are_those_of_plain_python(accelerator):
    """Each unit has the class that its function has on the host."""
    view = amp.accelerator(accelerator.device_path).default_view
    words = np.random.default_rng(1).integers(0, 1 << 32, counting.MULTIPLE, np.uint32)
    counts = counting.Counts(view)
    counts.add(amp.array(words, accelerator_view=view))
    for test in counting.TESTS:
        found = counts.found[test.name]
        units = words.size * test.parts // test.words
        assert found.sum() == units and test.probabilities.sum() == pytest.approx(1)
        if units <= 2048:
            classes = [int(test.unit(words, counting.THRESHOLDS, test.given, i)) for i in range(units)]
            np.testing.assert_array_equal(found, np.bincount(classes, minlength=len(found)))
    days = np.sort(words.reshape(-1, 1024) >> np.uint32(4), axis=1)
    spacings = np.sort(np.diff(days, axis=1, prepend=np.uint32(0)), axis=1)
    equal = (np.diff(spacings, axis=1) == 0).sum(axis=1)
    np.testing.assert_array_equal(counts.found["birthdays"], np.bincount(equal, minlength=40))


@pytest.mark.sample("llvmpipe")
def test_long_streams(accelerator):
    """Good words pass the tests of long streams, and bad ones do not."""
    view = amp.accelerator(accelerator.device_path).default_view
    values = counting.counted(view, containers_of("Philox4x64", view, 1 << 16), _MANY).p_values()
    assert min(values.values()) > 1e-5, values
    for words, expected in (
        (shifted(), {"ranks"}),
        (linear(1664525, 1013904223), {"bytes", "halves", "lowest bits"}),
        (np.repeat(np.asarray(rng.Philox4x32(3).random_raw(_MANY // 2)), 2), {"differences 1 apart", "orders"}),
    ):
        pieces = [amp.array(words, accelerator_view=view)]
        values = counting.counted(view, pieces, _MANY).p_values()
        assert expected <= {test for test, p in values.items() if p < 1e-8}, values
