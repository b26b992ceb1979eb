"""Distributions: their shapes, their bits on every device, and their layouts."""

from __future__ import annotations

import copy
import itertools
import math
import pickle

import numpy as np
import pytest

import vkamp as amp
from tests.rng.continuous import CONTINUOUS, distance, erf
from vkamp import algorithms as alg
from vkamp import rng
from vkamp.algorithms import _choose, lazy
from vkamp.dispatch import call_cache


def count(accelerator_view):
    """How many numbers to draw: the reference accelerator runs element by element in Python."""
    return 20_011 if accelerator_view.accelerator.device_path != "reference" else 307


def far(n):
    """The largest distance of so many numbers' distribution from the true one, exceeded once in 10^5 samples."""
    return math.sqrt(-math.log(0.5e-5) / 2 / n)


def generator(accelerator_view, seed=1):
    return rng.Generator(rng.Philox4x32(seed), accelerator_view)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_distributions(accelerator_view, name):
    draw, distribution, mean, variance = CONTINUOUS[name]
    n = count(accelerator_view)
    found = np.asarray(draw(generator(accelerator_view), n), np.float64)
    assert distance(found, distribution) < far(n)
    assert abs(found.mean() - mean) < 5 * math.sqrt(variance / n)
    assert abs(found.var() - variance) < 15 * variance / math.sqrt(n)
    # Neighbours, and numbers of neighbouring threads, are not related.
    for step in (1, 2, 4):
        assert abs(np.corrcoef(found[:-step], found[step:])[0, 1]) < 5 / math.sqrt(n)


@pytest.mark.accelerators("reference", "llvmpipe", "nvidia")
@pytest.mark.parametrize("name", ["random", "standard_normal", "standard_exponential"])
def test_doubles(accelerator, name):
    path = accelerator.device_path
    view = amp.accelerator(path if path == "reference" else f"{path}@vulkan").default_view
    n = count(view)
    found = np.asarray(getattr(generator(view), name)(n, dtype=np.float64))
    assert found.dtype == np.float64
    distribution = {
        "random": lambda x: x,
        "standard_normal": lambda x: (1 + erf(x / math.sqrt(2))) / 2,
        "standard_exponential": lambda x: 1 - np.exp(-x),
    }[name]
    assert distance(found, distribution) < far(n)
    assert (found.astype(np.float32) != found).mean() > 0.99, "they have more bits than float32"


@pytest.mark.parametrize(("low", "high", "dtype"), [
    (0, 10, np.int32), (-3, 4, np.int32), (0, 3 << 30, np.uint32), (-(1 << 31), 1 << 31, np.int32),
    (0, 256, np.uint8), (-100, 100, np.int8), (1, 50_000, np.uint16), (5, 6, np.int32),
    (0, 3 << 62, np.uint64), (-(1 << 63), 1 << 63, np.int64), (-5, 7, np.int64), (10**12, 10**12 + 3, np.int64),
])  # fmt: skip
@pytest.mark.spread(2)
def test_integers(accelerator_view, low, high, dtype):
    n = count(accelerator_view)
    found = np.asarray(generator(accelerator_view).integers(low, high, n, dtype=dtype))
    assert found.dtype == dtype
    assert int(found.min()) >= low
    assert int(found.max()) < high
    # Chi-square of up to 64 classes of equal width, which has as many degrees of freedom less one.
    span = high - low
    classes = min(64 if n > 1000 else 8, span)
    counts = np.bincount([(int(x) - low) * classes // span for x in found], minlength=classes)
    widths = np.array(
        [(span * (k + 1) + classes - 1) // classes - (span * k + classes - 1) // classes for k in range(classes)], float
    )
    expected = n * widths / float(span)
    chi2 = ((counts - expected) ** 2 / expected).sum()
    assert chi2 < classes + 6 * math.sqrt(2 * classes) + 10


@pytest.mark.sample("llvmpipe")
def test_replaced_integers_do_not_depend_on_the_draw(accelerator_view):
    """Those that replace rejected ones are the same in one draw and in several, also where their position has more than
    64 bits within a draw, and also in lazy inputs, which compute them one by one.
    """
    for counter in (0, (1 << 62) - 3):
        for span, dtype in (((1 << 31) + 1, np.uint32), ((1 << 63) + 1, np.uint64)):
            bits = rng.Philox4x32(5, counter=counter)
            once, parts, lazily = (rng.Generator(copy.copy(bits), accelerator_view) for _ in range(3))
            whole = np.asarray(once.integers(0, span, 34, dtype))
            np.testing.assert_array_equal(
                np.append(parts.integers(0, span, 8, dtype), parts.integers(0, span, 26, dtype)), whole
            )
            if dtype == np.uint32:
                found = alg.copy(lazily.lazy.integers(0, span, 34, dtype), accelerator_view=accelerator_view)
                np.testing.assert_array_equal(np.asarray(found), whole)


def test_integers_are_lemires(accelerator_view):
    """Word by word, but for those that are rejected."""
    span = 3 << 30
    words = np.asarray(rng.Philox4x32(5).random_raw(200)).tolist()
    found = np.asarray(generator(accelerator_view, 5).integers(0, span, 200, dtype=np.uint32))
    accepted = [word * span >> 32 for word in words if word * span % (1 << 32) >= (1 << 32) % span]
    kept = [int(x) for word, x in zip(words, found, strict=True) if word * span % (1 << 32) >= (1 << 32) % span]
    assert kept == accepted
    assert 20 < 200 - len(kept) < 80


@pytest.mark.parametrize("mean", [0.5, 7.0, 10.0, 31.5, 1000.0])
@pytest.mark.spread(2)
def test_poisson(accelerator_view, mean):
    n = count(accelerator_view)
    found = np.asarray(generator(accelerator_view).poisson(mean, n))
    assert found.dtype == np.int32
    assert abs(found.mean() - mean) < 5 * math.sqrt(mean / n)
    assert abs(found.var() - mean) < 5 * mean * math.sqrt((2 + 1 / mean) / n)
    if mean < 100:
        most = int(mean + 6 * math.sqrt(mean) + 5)
        chances = np.exp([-mean + k * math.log(mean) - math.lgamma(k + 1) for k in range(most)])
        counts = np.bincount(found, minlength=most)[:most]
        usual = n * chances > 5
        chi2 = ((counts - n * chances)[usual] ** 2 / (n * chances[usual])).sum()
        assert chi2 < usual.sum() + 6 * math.sqrt(2 * usual.sum()) + 10


def test_edges_of_distributions(accelerator_view):
    g = generator(accelerator_view)
    assert (np.asarray(g.poisson(0.0, 10)) == 0).all()
    assert (np.asarray(g.gamma(0.0, 1.0, 10)) == 0).all()
    assert (np.asarray(g.normal(3, 0, 10)) == 3).all()
    assert (np.asarray(g.exponential(0, 10)) == 0).all()
    many = np.asarray(g.standard_normal(10 * count(accelerator_view)))
    assert 2.5 < abs(many).max() < 6.7
    assert np.isfinite(many).all()
    assert (np.asarray(g.random(10 * count(accelerator_view))) < 1).all()


def test_same_bits_on_every_device(accelerator_view):
    reference = amp.accelerator("reference").default_view

    def draws(view):
        g = generator(view, 9)
        yield g.random(501)
        yield g.normal(1, 3, 501)
        yield g.exponential(1, 501)
        yield g.integers(-7, 9, 501)
        yield g.integers(0, 3 << 62, 101, dtype=np.uint64)

    for ours, theirs in zip(draws(accelerator_view), draws(reference), strict=True):
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


@pytest.mark.parametrize("accelerator", ["swiftshader", "llvmpipe"])
def test_groups_of_threads(accelerator):
    """Threads of GPUs store several groups of elements; the elements are those of other devices."""
    view = amp.accelerator(accelerator).default_view
    for n in (1, 4, 4095, 16384, 16387):
        found = []
        for form in ("runs", "tiles"):
            with _choose.forced(form):
                g = rng.Generator(rng.Philox4x32(5), view)
                first = g.random(3)
                found.append(
                    [np.asarray(each) for each in (first, g.standard_normal(n), g.integers(9, size=n), g.random(n))]
                )
        for ours, expected in zip(*found, strict=True):
            np.testing.assert_array_equal(ours, expected)


def test_numpys_floats(accelerator_view):
    for seed, last in ((1, 500), (2, 7)):
        ours = rng.Generator(rng.Philox4x64(seed), accelerator_view)
        numpys = np.random.Generator(np.random.Philox(seed))
        for size in (2, (3, 4), last):
            np.testing.assert_array_equal(np.asarray(ours.random(size)), numpys.random(size, dtype=np.float32))
        if accelerator_view.accelerator.supports_double_precision:
            found = np.asarray(ours.random((5, 21), dtype=np.float64))
            np.testing.assert_array_equal(found, numpys.random((5, 21)))


def test_sizes_and_outs(accelerator_view):
    whole = np.asarray(generator(accelerator_view).random(60))
    g = generator(accelerator_view)
    assert g.random() == whole[0]
    assert isinstance(g.integers(10), np.integer)
    assert np.asarray(generator(accelerator_view).random((3, 4, 5))).shape == (3, 4, 5)
    for n in (1, 2, 3, 5, 58):
        memory = np.zeros(n, np.float32)
        generator(accelerator_view).random(out=memory)
        np.testing.assert_array_equal(memory, whole[:n])
    every_third = np.zeros((5, 36), np.float32)
    generator(accelerator_view).random(out=every_third[:, 1::3])
    np.testing.assert_array_equal(every_third[:, 1::3].ravel(), whole)
    assert (every_third[:, ::3] == 0).all()
    on_device = amp.array(amp.extent(4, 15), np.float32, accelerator_view=accelerator_view)
    assert rng.Generator(rng.Philox4x32(1)).random((4, 15), out=on_device) is on_device
    np.testing.assert_array_equal(np.asarray(on_device).ravel(), whole)
    assert g.random(0).shape == (0,)
    assert g.normal(size=(3, 0)).shape == (3, 0)
    with pytest.raises(TypeError, match="out has int32 elements, but the numbers are float32"):
        g.random(out=np.zeros(3, np.int32))
    with pytest.raises(amp.AmpError, match=r"size is \(4,\), but out has extent\(3\)"):
        g.random(4, out=np.zeros(3, np.float32))


def test_bad_arguments():
    g = rng.default_rng(1)
    for call, message in (
        (lambda: g.integers(5, 5), "there is no integer from 5 to 4"),
        (lambda: g.integers(0, 300, dtype=np.uint8), "uint8 does not contain all integers from 0 to 299"),
        (lambda: g.normal(0, -1), "scale is -1: it must not be below 0"),
        (lambda: g.poisson(-1), "lam is -1"),
        (lambda: g.poisson(1e9), "float32 represents all integers only up to"),
        (lambda: g.random(-1), "negative dimensions are not allowed"),
        (lambda: g.choice(3, 4, replace=False), "4 different elements cannot be chosen from 3"),
        (lambda: g.choice(3, 4, p=[0.5, 0.4, 0.2]), "p needs 3 probabilities whose sum is 1"),
        (lambda: g.choice(2, 4, p=[0.5, np.nan]), "p needs 2 probabilities whose sum is 1"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="random floats are float32 or float64, not int32"):
        g.random(3, dtype=np.int32)
    with pytest.raises(TypeError, match="Generator takes a bit generator"):
        rng.Generator(1)


def test_parameters_that_are_no_numbers(accelerator_view):
    g = generator(accelerator_view)
    means = np.ones(3, np.float32)
    for call in (
        lambda: g.normal(means, 1, 3), lambda: g.normal(0, means, 3), lambda: g.uniform(means, 2, 3),
        lambda: g.exponential(means, 3), lambda: g.poisson(means, 3), lambda: g.gamma(means, 1, 3),
        lambda: g.integers([3, 4]), lambda: g.integers(0, np.ones(3, np.int64), 3),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="the parameters of a distribution are numbers, not arrays"):
            call()
    with pytest.raises(TypeError, match="integer"):
        g.random(2.5)


def test_choices_of_rows(accelerator_view):
    """Those of numpy's first axis."""
    rows = np.arange(60, dtype=np.float32).reshape(20, 3)
    for a in (rows, amp.array(rows, accelerator_view=accelerator_view)):
        for size, replace in ((5, False), ((2, 4), True)):
            at = np.asarray(generator(accelerator_view, 9).choice(20, size, replace=replace))
            found = np.asarray(generator(accelerator_view, 9).choice(a, size, replace=replace))
            np.testing.assert_array_equal(found, rows[at])
    assert generator(accelerator_view, 9).choice(rows).shape == (3,)
    with pytest.raises(ValueError, match="^choice needs a number from 1 on, not 0$"):
        generator(accelerator_view, 9).choice(0, 3)


def test_permutations_and_choices(accelerator_view):
    g = generator(accelerator_view, 3)
    first, second = np.asarray(g.permutation(200)), np.asarray(g.permutation(200))
    assert (np.sort(first) == np.arange(200)).all()
    assert (first != second).mean() > 0.9
    assert (np.asarray(generator(accelerator_view, 3).permutation(200)) == first).all()
    # Of a power of two, nothing is left out: the same order without a selection.
    whole = np.asarray(generator(accelerator_view, 3).permutation(256))
    assert (np.sort(whole) == np.arange(256)).all()
    assert (whole[whole < 200] == first).all()
    assert np.asarray(g.permutation(0)).size == 0
    with pytest.raises(ValueError, match="a permutation of -1 numbers"):
        g.permutation(-1)
    values = np.arange(50, dtype=np.float32) * 2
    mixed = amp.array(values, accelerator_view=accelerator_view)
    g.shuffle(mixed)
    assert (np.sort(np.asarray(mixed)) == values).all()
    assert (np.asarray(mixed) != values).any()
    assert set(np.asarray(g.choice(values, 400)).tolist()) <= set(values.tolist())
    assert len(set(np.asarray(g.choice(50, (5, 6), replace=False)).ravel().tolist())) == 30
    assert np.asarray(g.choice(7, (3, 2))).shape == (3, 2)
    weights = [0.5, 0.0, 0.125, 0.375, 0.0]
    counts = np.bincount(np.asarray(g.choice(5, 2000, p=weights)), minlength=5)
    assert counts[1] == counts[4] == 0
    assert abs(counts[0] - 1000) < 5 * math.sqrt(500)
    assert abs(counts[3] - 750) < 5 * math.sqrt(469)
    assert g.choice(values) in values
    assert 0 <= g.choice(5) < 5
    of_one = g.choice(1, 3, p=[1.0])
    assert (np.asarray(of_one) == 0).all()
    # Rounded to float32, these have a sum that is farther from 1 than that of float64 numbers.
    assert np.asarray(g.choice(4, 20, p=np.float32([0.1, 0.2, 0.3, 0.4]))).max() < 4
    assert of_one.accelerator_view == g.bytes(9).source_accelerator_view == accelerator_view
    on_device = amp.array(values, accelerator_view=accelerator_view)
    first, second = (rng.default_rng(8) for _ in range(2))
    np.testing.assert_array_equal(np.asarray(alg.shuffle(on_device, first)), np.asarray(second.permutation(on_device)))
    assert np.asarray(alg.shuffle(on_device, first)).tolist() != np.asarray(alg.shuffle(on_device, first)).tolist()
    assert np.asarray(g.bytes(1003)).shape == (1003,)


def test_lazy_inputs(accelerator_view):
    numbers = np.asarray(generator(accelerator_view).random(503), np.float64)
    g = generator(accelerator_view)
    found = alg.sum(lazy.map(lambda x: x * x, g.lazy.random(503)), accelerator_view=accelerator_view)
    assert math.isclose(float(found), (numbers**2).sum(), rel_tol=1e-5)
    # The stream goes on behind them.
    assert g.random() == np.asarray(generator(accelerator_view).random(504))[503]
    n = count(accelerator_view)
    inside = alg.count_if(
        lazy.map(lambda x, y: x * x + y * y, g.lazy.random(n), g.lazy.random(n)),
        lambda r: r <= 1.0,
        accelerator_view=accelerator_view,
    )
    assert abs(4 * int(inside) / n - math.pi) < 9 / math.sqrt(n)


def test_copies_of_generators(accelerator_view):
    g = rng.Generator(rng.Philox4x32(4))
    g.random(5)
    again = pickle.loads(pickle.dumps(g.bit_generator))
    assert (np.asarray(rng.Generator(again).random(7)) == np.asarray(g.random(7))).all()
    children = g.spawn(2)
    assert (np.asarray(children[0].random(20)) != np.asarray(children[1].random(20))).all()
    assert rng.default_rng(g) is g
    assert (
        np.asarray(rng.default_rng(rng.PCG32(1)).random(3)) == np.asarray(rng.default_rng(rng.PCG32(1)).random(3))
    ).all()


DRAWS = {
    "random": lambda g, n, out: g.random(n, out=out),
    "normal": lambda g, n, out: g.normal(1, 3, n, out=out),
    "standard_normal": lambda g, n, out: g.standard_normal(n, out=out),
    "exponential": lambda g, n, out: g.exponential(2, n, out=out),
    "gamma": lambda g, n, out: g.gamma(0.5, 2, n, out=out),
    "integers": lambda g, n, out: g.integers(0, (3 << 30) - 1, n, np.uint32, out=out),
    "random_raw": lambda g, n, out: g.bit_generator.random_raw(n, out=out, accelerator_view=g.accelerator_view),
}


#: Lavapipe runs all, and another accelerator every second one of Philox4x32's and Threefry4x32's.
REPEATED = [
    pytest.param(kind, name, marks=pytest.mark.sample("llvmpipe", ("reference", "swiftshader")[k % 2]))
    for k, (kind, name) in enumerate(itertools.product((rng.Philox4x32, rng.Threefry4x32), DRAWS))
]
REPEATED += [
    pytest.param(kind, name, marks=pytest.mark.sample("llvmpipe"))
    for kind in (rng.Philox4x64, rng.Threefry2x32, rng.PCG32)
    for name in ("random", "integers")
]


@pytest.mark.parametrize(("kind", "name"), REPEATED)
def test_repeated_draws(accelerator_view, name, kind, monkeypatch):
    """They launch again with other words, at positions of each kind, and leave earlier results as they are."""
    run, runs = call_cache._CallCopy.run, []
    monkeypatch.setattr(call_cache._CallCopy, "run", lambda self, moving: runs.append(1) or run(self, moving))
    dtype = np.uint32 if name in ("integers", "random_raw") else np.float32
    n = 103
    out = amp.array(amp.extent(n), dtype, accelerator_view=accelerator_view)
    # The counter's lowest word overflows between draws, and so do its lower two.
    is_reference = accelerator_view.accelerator.device_path == "reference"
    for counter in (0,) if is_reference else (0, (1 << 32) - 99, (1 << 64) - 99):
        g = rng.Generator(kind(3).advance(counter), accelerator_view)
        h = rng.Generator(kind(3).advance(counter), accelerator_view)
        kept, expected = [], []
        for _ in range(8):
            call_cache.trim()
            expected.append(np.array(DRAWS[name](h, n, None)))
        for k in range(8):
            found = DRAWS[name](g, n, None if k < 4 else out)
            kept.append(found if k < 4 else np.array(found))
        for each, numbers in zip(kept, expected, strict=True):
            np.testing.assert_array_equal(np.asarray(each), numbers)
    assert len(runs) > 10 or is_reference


def test_draws_of_whole_groups(accelerator_view):
    """Draws that begin with a group need fewer instructions, unless the counter's lowest word overflows within them."""
    for counter in (0, (1 << 32) - 82):
        whole = rng.Generator(rng.Philox4x32(3, counter=counter), accelerator_view)
        whole.random()
        parts = rng.Generator(rng.Philox4x32(3, counter=counter), accelerator_view)
        expected = np.append(parts.random(), np.asarray(whole.random(3 * 160 + 3)))
        found = [parts.random(3)] + [np.asarray(parts.random(160)) for _ in range(3)]
        np.testing.assert_array_equal(np.concatenate(found), expected[1:])
    bits = rng.Philox4x32(3)
    kinds = [type(bits.words(160, position)).__name__ for position in (4, 5, (1 << 34) - 320, (1 << 34) - 40, 1 << 34)]
    assert kinds == ["_NearPhiloxWords", "_PhiloxWords", "_NearPhiloxWords", "_PhiloxWords", "_NearPhiloxWords"]


def test_capture(accelerator_view):
    """A graph draws the numbers of its capture each time."""
    g = generator(accelerator_view)
    out = amp.array(amp.extent(100), np.float32, accelerator_view=accelerator_view)
    with amp.capture() as graph:
        g.random(out=out)
    expected = np.asarray(generator(accelerator_view).random(100))
    for _ in range(2):
        graph.replay()
        np.testing.assert_array_equal(np.asarray(out), expected)
