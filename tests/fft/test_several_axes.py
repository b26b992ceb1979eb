"""Transforms along several axes against numpy's."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.fft.compare import close, compare, numbers, wide
from vkamp import fft

NAMES = ("fft", "ifft", "rfft", "irfft")
CASES = [{}, {"axes": (0, 1)}, {"axes": (2, 0)}, {"s": (4, 3)}, {"s": (2, 8), "axes": (-1, 0), "norm": "ortho"}]
OF_ANY_NUMBER = [
    {"axes": (1,)},
    {"s": (5, 3, 2)},
    {"axes": (0, 0)},
    {"s": (3,), "norm": "forward"},
    {"axes": (1, 2, 0)},
]


@pytest.mark.parametrize("name", NAMES)
def test_shapes_and_axes(accelerator_view, name):
    x = numbers(3, 4, 5, dtype=np.float32 if name == "rfft" else np.complex64)
    is_reference = accelerator_view.accelerator.device_path == "reference"
    for case in CASES[:1] if is_reference else CASES:
        compare(f"{name}2", x, **case, accelerator_view=accelerator_view)
    for case in [] if is_reference else CASES + OF_ANY_NUMBER:
        compare(f"{name}n", x, **case, accelerator_view=accelerator_view)


@pytest.mark.parametrize("shape", [(16, 12), (17, 2)])
def test_in_place(accelerator_view, shape):
    x = numbers(*shape)
    a = amp.array(x, accelerator_view=accelerator_view)
    assert fft.fft2(a, out=a) is a
    close(a, np.fft.fft2(wide(x)))
    fft.ifftn(a, out=a)
    close(a, wide(x))


def test_captured(accelerator_view):
    x = numbers(4, 6).real.copy()
    a = amp.array(np.zeros_like(x), accelerator_view=accelerator_view)
    with amp.capture() as graph:
        spectrum = fft.rfft2(a)
        back = fft.irfft2(spectrum)
    amp.copy(x, a)
    graph.replay()
    close(spectrum, np.fft.rfft2(wide(x)))
    close(back, wide(x))


def test_no_axes_and_errors(accelerator_view):
    x, where = numbers(3, 4), {"accelerator_view": accelerator_view}
    np.testing.assert_array_equal(np.asarray(fft.fftn(x, axes=(), **where)), x)
    with pytest.raises(ValueError, match="Shape and axes have different lengths"):
        fft.fftn(x, (2, 2), (0,), **where)
    with pytest.raises(ValueError, match="at least 1 axis"):
        fft.irfftn(x, axes=(), **where)
    with pytest.raises((ValueError, IndexError), match="axis -3 is out of bounds"):
        fft.fftn(x, (1, 2, 3), **where)
    with pytest.raises(ValueError, match="Invalid number of FFT data points"):
        fft.fft2(np.zeros((0, 3), np.float32))
