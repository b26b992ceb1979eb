"""The form for GPUs, forced on other devices: tiles of lines, and long lines in several launches."""

from __future__ import annotations

import math

import numpy as np
import pytest

import vkamp as amp
from tests.fft.compare import close, compare, numbers
from vkamp import fft
from vkamp.algorithms import _choose
from vkamp.fft import tiles
from vkamp.fft.lengths import radices_of


@pytest.fixture(autouse=True)
def _in_tiles():
    with _choose.forced("tiles"):
        yield


@pytest.mark.parametrize(
    ("accelerator", "name", "shape", "axis"),
    [
        ("reference", "fft", (3, 20), -1),
        ("reference", "fft", (12, 5), 0),
        ("llvmpipe@vulkan", "fft", (3, 150), -1),
        ("llvmpipe@vulkan", "rfft", (7, 12), -1),
        ("llvmpipe@vulkan", "irfft", (5, 17), -1),
        ("llvmpipe@vulkan", "ifft", (60, 3), 0),
    ],
)
def test_lines_of_a_tile(accelerator, name, shape, axis):
    """On the reference accelerator also without races between threads."""
    x = numbers(*shape, dtype=np.float32 if name == "rfft" else np.complex64)
    compare(name, x, axis=axis, accelerator_view=amp.accelerator(accelerator).default_view)


@pytest.mark.parametrize(("accelerator", "n"), [("reference", 24), ("llvmpipe@vulkan", 360)])
def test_long_lines(accelerator, n, monkeypatch):
    """Lines in several launches, with shorter parts than those of GPUs."""
    monkeypatch.setattr(tiles, "LONGEST_LINE", 16)
    monkeypatch.setattr(tiles, "LONGEST_PART", 8)
    compare("fft", numbers(2, n), accelerator_view=amp.accelerator(accelerator).default_view)


def test_shapes_of_tiles():
    """All lines fit in the memory and the threads of a tile, with every number in one place."""
    for dtype in (np.dtype(np.complex64), np.dtype(np.complex128)):
        for n in (1, 2, 16, 36, 77, 128, 1000, 1331, 2048, 2310, 4096 * 8 // dtype.itemsize):
            for most_bytes in (32_768, 49_152) if n * dtype.itemsize <= 32_768 else (49_152,):
                for together in ((False, False), (True, False), (True, True)):
                    radices = radices_of(n)
                    shape = tiles.shape_of(radices, dtype, most_bytes, 1, together)
                    assert shape.rows * shape.width * dtype.itemsize <= most_bytes
                    assert math.prod(radices) == shape.n == n
                    assert all(each.butterflies * each.radix <= 64 for each in shape.stages)
                    gap = shape.gap or n
                    places = {
                        row * shape.width + k + k // gap * bool(shape.gap)
                        for row in range(shape.rows)
                        for k in range(n)
                    }
                    assert len(places) == shape.rows * n and max(places) < shape.rows * shape.width


@pytest.mark.parametrize("n", [12, 20])
def test_in_place_without_races(n):
    """On the reference accelerator, also of lines and threads at the end, which have nothing to do."""
    x = numbers(5, n)
    a = amp.array(x, accelerator_view=amp.accelerator("reference").default_view)
    fft.fft(a, out=a)
    close(a, np.fft.fft(x.astype(complex)))


def test_captured_and_in_place():
    view = amp.accelerator("llvmpipe@vulkan").default_view
    x = numbers(7, 12)
    a = amp.array(np.zeros_like(x), accelerator_view=view)
    with amp.capture() as graph:
        fft.fft(a, out=a)
    amp.copy(x, a)
    graph.replay()
    close(a, np.fft.fft(x.astype(complex)))
