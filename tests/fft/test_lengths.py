"""Transforms of many lengths against numpy's in double precision."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.fft.compare import OF_COMPLEX, OF_REAL, close, compare, error, numbers, wide
from vkamp import fft
from vkamp.algorithms import _choose
from vkamp.fft import filtered, stockham, tiles, twiddles
from vkamp.fft.lengths import Divisor, radices_of, smooth_from, split

#: Powers, products of the radices, primes, and products of large primes.
CHOSEN = [2, 3, 4, 7, 11, 12, 13, 16, 17, 30, 64, 97, 143, 289, 343, 1000, 1021, 1331, 4096]
#: For the functions that share their kernels but for the first and last passes.
SOME = [2, 3, 8, 17, 64, 143]
LONG = [65_536, 30_011]
FEW = [2, 3, 5, 8, 13, 17, 24]
#: Kompute makes a pipeline for each size, the direct engine does not.
DRIVERS = ["swiftshader@vulkan", "llvmpipe@vulkan"]
#: Functions, each on a driver and on the reference accelerator.
CASES = [
    *[(name, DRIVERS[k % 2]) for k, name in enumerate(OF_COMPLEX + OF_REAL)],
    *[(name, "reference") for name in OF_COMPLEX + OF_REAL],
]


@pytest.fixture
def view(accelerator):
    return amp.accelerator(accelerator).default_view


@pytest.mark.parametrize("accelerator", DRIVERS[1:])
def test_all_small_lengths(view):
    for n in (*range(1, 41), *range(41, 257, 9)):
        compare("fft", numbers(2, n), accelerator_view=view)


@pytest.mark.parametrize(("name", "accelerator"), CASES)
def test_chosen_lengths(accelerator, view, name):
    for n in FEW if accelerator == "reference" else CHOSEN if name == "fft" else SOME:
        x = numbers(2, n, dtype=np.float32 if name in OF_REAL else np.complex64)
        compare(name, x, accelerator_view=view)


@pytest.mark.parametrize(("accelerator", "n"), list(zip(DRIVERS, LONG, strict=True)))
def test_long_lengths(view, n):
    compare("fft", numbers(n), accelerator_view=view)


@pytest.mark.parametrize("accelerator", DRIVERS)
def test_larger_primes(view):
    """Rows, columns, products of two, and lines in place, more exactly than Bluestein's algorithm computes them."""
    for shape, axis in (((3, 23), 1), ((37, 3), 0), ((2, 41 * 43), 1), ((2, 8 * 139), 1)):
        x = numbers(*shape)
        found = compare("fft", x, axis=axis, accelerator_view=view)
        assert error(found, np.fft.fft(wide(x), axis=axis)) < 2e-7
    x = numbers(5, 47)
    given = amp.array(x, accelerator_view=view)
    fft.fft(given, out=given)
    assert error(given, np.fft.fft(wide(x))) < 1.5e-7


@pytest.mark.parametrize("accelerator", ["reference", "llvmpipe@vulkan"])
@pytest.mark.parametrize("name", ["fft", "irfft"])
def test_doubles(accelerator, view, name):
    for n in [3, 8, 17] if accelerator == "reference" else [8, 30, 46, 4096]:
        x = numbers(2, n, dtype=np.float64 if name in OF_REAL else np.complex128)
        found = compare(name, x, accelerator_view=view)
        assert found.dtype == (np.float64 if name in ("irfft", "hfft") else np.complex128)


@pytest.mark.parametrize(("name", "accelerator"), CASES)
def test_axes_and_other_lengths(accelerator, view, name):
    x = numbers(3, 4, 5, dtype=np.float32 if name in OF_REAL else np.complex64)
    for axis in (1,) if accelerator == "reference" else (0, 1, 2, -2):
        for n in (None, 3) if accelerator == "reference" else (None, 1, 2, 3, 6, 8, 17):
            for norm in (None, "ortho", "forward") if n == 3 else ("backward",):
                compare(name, x, n, axis, norm, accelerator_view=view)


def test_radices():
    for n in range(1, 5000):
        radices = radices_of(n)
        assert radices is None or int(np.prod(radices)) == n
        largest = max((p for p in range(2, 72) if n % p == 0 and all(p % q for q in range(2, p))), default=1)
        if largest > 13:
            assert radices is None
        assert n <= smooth_from(n) <= 1.4 * n + 1
        assert radices_of(smooth_from(n)) is not None
    assert radices_of(4096) == (16, 16, 16) and radices_of(4096, plain=True) == (8, 8, 8, 8)
    assert split(1 << 20, 1024) == (1024, 1024) and split(13**5, 1024) == (169, 169, 13)


@pytest.mark.parametrize(("accelerator", "lengths"), [(DRIVERS[1], (6, 9, 10, 14, 15, 25)), (DRIVERS[0], (1024,))])
def test_products_of_radices(view, lengths, monkeypatch):
    """The radices of large inputs, here of small ones."""
    monkeypatch.setattr(stockham, "_MANY", 1)
    for n in lengths:
        compare("fft", numbers(2, n), accelerator_view=view)


@pytest.mark.parametrize("accelerator", ["llvmpipe", "reference"])
def test_wide_passes(accelerator, view, monkeypatch):
    """Threads with two butterflies, which long inputs on lavapipe have, here for short ones."""
    monkeypatch.setattr(stockham, "_VERY_MANY", 1)
    taken = []

    def run(*arguments):
        taken.append(stockham_run(*arguments))
        return taken[-1]

    stockham_run = stockham.run_wide_passes
    monkeypatch.setattr(stockham, "run_wide_passes", run)
    for n in (36, 48) if accelerator == "reference" else (64, 96, 1000, 1024, 1200, 2048):
        compare("fft", numbers(3, n), accelerator_view=view)
        compare("ifft", numbers(2, n), norm="ortho", accelerator_view=view)
        x = numbers(3, n)
        given = amp.array(x, accelerator_view=view)
        fft.fft(given, out=given)
        close(given, np.fft.fft(wide(x)))
    assert all(taken) and len(taken) >= 6
    taken.clear()
    # An odd number, columns, padded lines, doubles, and memory that does not begin at a pair.
    compare("fft", numbers(3, 25), accelerator_view=view)
    compare("fft", numbers(4, 6), axis=0, accelerator_view=view)
    compare("fft", numbers(3, 20), 24, accelerator_view=view)
    compare("rfft", numbers(3, 24, dtype=np.float32), accelerator_view=view)
    assert not any(taken[:3])
    x = numbers(49)
    given = amp.array(x, accelerator_view=view)
    close(fft.fft(given.section(amp.index(1), amp.extent(48))), np.fft.fft(wide(x[1:])))


@pytest.mark.parametrize("accelerator", ["llvmpipe@vulkan"])
def test_factors_as_products(view, monkeypatch):
    """Long lengths compute their factors as products of two; here a short one."""
    monkeypatch.setattr(twiddles, "MOST_IN_TABLE", 32)
    compare("fft", numbers(2, 4096), accelerator_view=view)


@pytest.mark.parametrize("form", ["runs", "tiles"])
def test_batches_in_parts(form, monkeypatch):
    """Bluestein's algorithm transforms as many lines at once as fit in its memory."""
    view = amp.accelerator(DRIVERS[1]).default_view
    monkeypatch.setattr(filtered, "_MOST_BYTES", 1 << 10)
    monkeypatch.setattr(tiles, "LONGEST_LINE", 16)
    with _choose.forced(form):
        compare("fft", numbers(7, 149), accelerator_view=view)


@amp.kernel
def divide(idx, dividends, quotients, divisor):
    quotients[idx] = divisor.quotient(dividends[idx])


@pytest.mark.accelerators("swiftshader", "llvmpipe", "reference")
def test_divisors(accelerator_view):
    r = np.random.default_rng(3)
    for divisor in (1, 2, 3, 7, 10, 1000, 65_535, 65_536, 1_000_003, 2**31 - 1):
        most = r.integers(0, 2**31, 40) // divisor * divisor
        dividends = np.concatenate([most, np.maximum(most, 1) - 1, [0, 1, 2**31 - 1]]).astype(np.uint32)
        quotients = amp.array(amp.extent(dividends.size), np.uint32, accelerator_view=accelerator_view)
        given = amp.array(dividends, accelerator_view=accelerator_view)
        amp.parallel_for_each(quotients.extent, divide, given, quotients, Divisor(divisor))
        np.testing.assert_array_equal(np.asarray(quotients), dividends // divisor)
