"""Cases of numpy's tests of `numpy.fft`, and of scipy's of `scipy.fft` and `scipy.signal`, that other files lack."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

import vkamp as amp
from tests.fft.compare import close, compare, error, numbers, wide
from vkamp import fft

PAIRS = [("fft", "ifft"), ("rfft", "irfft"), ("ihfft", "hfft")]


@pytest.mark.sample("llvmpipe", "reference")
@pytest.mark.parametrize(("forward", "back"), PAIRS)
def test_back_and_forth_with_longer_and_shorter_lengths(accelerator_view, forward, back):
    """All directions, norms, and lengths that crop or continue the input."""
    where = {"accelerator_view": accelerator_view}
    x = numbers(10, dtype=np.complex64 if forward == "fft" else np.float32)
    is_reference = accelerator_view.accelerator.device_path == "reference"
    for n, norm in [(10, None)] if is_reference else itertools.product((9, 10, 20), (None, "ortho", "forward")):
        spectrum = compare(forward, x, n, norm=norm, **where)
        found = np.asarray(getattr(fft, back)(spectrum, n, norm=norm, **where))
        close(found, np.pad(wide(x), (0, max(0, n - 10)))[:n])


@pytest.mark.parametrize("name", ["irfft", "hfft"])
def test_halves_that_are_not_hermitian(accelerator_view, name):
    """The imaginary parts of the first number, and of the middle one of an even length, are not used."""
    where = {"accelerator_view": accelerator_view}
    x = numbers(3, 5)
    assert (x[:, 0].imag != 0).all() and (x[:, -1].imag != 0).all()
    for n in (1, 2, 7, 8, 9, 13):
        found = np.asarray(compare(name, x, n, **where))
        without = x.copy()
        without[:, 0].imag = 0
        if n <= 8 and n % 2 == 0:
            without[:, n // 2].imag = 0
        np.testing.assert_array_equal(found, np.asarray(getattr(fft, name)(without, n, **where)))


@pytest.mark.sample("llvmpipe", "swiftshader")
def test_halves_of_several_axes_that_are_not_hermitian(accelerator_view):
    """Along the other axes all imaginary parts count: numpy's tests of ``irfft2`` and ``irfftn``."""
    x, where = numbers(3, 4, 5), {"accelerator_view": accelerator_view}
    for name, named in [
        ("irfft2", {}), ("irfftn", {}), ("irfftn", {"axes": (-2,)}), ("irfftn", {"s": (4, 3), "axes": (0, 1)}),
        ("irfftn", {"s": (2, 7), "norm": "ortho"}), ("irfft2", {"s": (3, 1), "norm": "forward"}),
    ]:  # fmt: skip
        compare(name, x, **named, **where)


@pytest.mark.sample("llvmpipe")
@pytest.mark.parametrize("name", ["fft", "rfft", "irfft", "hfft", "fftn", "rfftn", "irfft2"])
def test_orders_in_memory(accelerator_view, name):
    """Columns first, every other row, and backwards, of numpy's arrays and of views."""
    x = numbers(6, 4, 4, dtype=np.float32 if name.startswith("rfft") else np.complex64)
    given = {"axis": 0} if name in ("fft", "rfft", "irfft", "hfft") else {}
    for each in (np.asfortranarray(x), x[::2], x[::-1, :, ::-1], np.moveaxis(x, 0, 2)):
        compare(name, each, **given, accelerator_view=accelerator_view)


@pytest.mark.sample("llvmpipe")
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_orders_of_axes(accelerator_view, name):
    x = numbers(3, 4, 5, dtype=np.float32 if name == "rfftn" else np.complex64)
    for axes in itertools.permutations(range(-3, 0)):
        compare(name, x, axes=axes, accelerator_view=accelerator_view)


@pytest.mark.sample("swiftshader")
def test_integers_of_all_types(accelerator_view):
    for kind in "bBhHiIlLqQ?":
        x = np.array([1, 0, 1, 1, 0, 1], kind)
        for name in ("fft", "ihfft"):
            compare(name, x, accelerator_view=accelerator_view)


def test_lengths_that_the_input_has(accelerator_view):
    """``-1`` in ``s``, as since numpy 2: the input's length."""
    where = {"accelerator_view": accelerator_view}
    x = numbers(3, 4)
    close(fft.fft2(x, (-1, 2), **where), np.fft.fft2(wide(x), (3, 2)))
    close(fft.irfftn(x, (2, -1), **where), np.fft.irfftn(wide(x), (2, 6)))
    with pytest.raises(ValueError, match="Invalid number of FFT data points"):
        fft.fft2(x, (-2, 2), **where)


@pytest.mark.sample("llvmpipe")
def test_threads(accelerator_view):
    """Calls of several threads at once, of their own inputs and of the same one."""
    shared = amp.array(numbers(40, 24), accelerator_view=accelerator_view)
    wanted = np.fft.fft(wide(np.asarray(shared)))
    wrong = []

    def work(seed):
        x = numbers(40, 24, seed=seed)
        for _ in range(4):
            for found, expected in (
                (fft.fft(x, accelerator_view=accelerator_view), np.fft.fft(wide(x))),
                (fft.fft(shared), wanted),
                (fft.irfft(x, accelerator_view=accelerator_view), np.fft.irfft(wide(x))),
            ):
                wrong.append(error(found, expected) > 1e-6)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(wrong) == 8 * 4 * 3 and not any(wrong)


@pytest.mark.sample("llvmpipe")
def test_shifts_of_odd_extents(accelerator_view):
    where = {"accelerator_view": accelerator_view}
    for shape, axes in (((3, 5), None), ((3, 5), (0,)), ((4,), None), ((9,), 0), ((2, 3, 4), (0, 2))):
        x = numbers(*shape)
        for name in ("fftshift", "ifftshift"):
            np.testing.assert_array_equal(
                np.asarray(getattr(fft, name)(x, axes, **where)), getattr(np.fft, name)(x, axes)
            )
        np.testing.assert_array_equal(np.asarray(fft.ifftshift(fft.fftshift(x, axes, **where), axes, **where)), x)


@pytest.mark.sample("llvmpipe")
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_sizes_of_convolutions(accelerator_view, mode):
    """scipy's sizes: one element, equal lengths, the longer input second, complex and real inputs together."""
    where = {"accelerator_view": accelerator_view}
    for n, m in ((1, 1), (5, 1), (7, 7), (9, 4), (4, 9)):
        a, b = numbers(n, dtype=np.float32), numbers(m, seed=1)
        expected = np.convolve(wide(a), wide(b), "full")
        first, count = {"full": (0, n + m - 1), "same": ((m - 1) // 2, n), "valid": (min(n, m) - 1, abs(n - m) + 1)}[
            mode
        ]
        for name in ("convolve", "oaconvolve"):
            close(getattr(fft, name)(a, b, mode, **where), expected[first : first + count])
        correlated = np.convolve(wide(a), wide(b)[::-1].conj(), "full")
        close(fft.correlate(a, b, mode, **where), correlated[first : first + count])
