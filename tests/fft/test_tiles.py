"""The form for GPUs, forced on other devices: tiles of lines, and long lines in several launches."""

from __future__ import annotations

import math

import numpy as np
import pytest

import vkamp as amp
from tests.fft.compare import close, compare, error, numbers, wide
from vkamp import fft
from vkamp.algorithms import _choose
from vkamp.fft import crossed, tiles
from vkamp.fft.butterflies import LARGE, PRIMES_IN_TILES, RADICES
from vkamp.fft.parts import parts_pass
from vkamp.fft.stages import factors
from vkamp.fft.tiles import tile_pass

launch = tiles._launch


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
        # Short lines, whose numbers change threads before and after the transform.
        ("llvmpipe@vulkan", "fft", (70, 16), -1),
        # Both transforms of a convolution in a tile, of rows and of columns.
        ("reference", "fft", (2, 67), -1),
        ("llvmpipe@vulkan", "fft", (67, 5), 0),
        # Passes over memory for a larger prime factor, as the convolution does not fit into a tile.
        ("llvmpipe@vulkan", "fft", (2, 2 * 19 * 59), -1),
        # Prime radices of GPUs.
        ("reference", "fft", (3, 17), -1),
        ("llvmpipe@vulkan", "fft", (2, 58), -1),
        ("llvmpipe@vulkan", "fft", (2, 17 * 19), -1),
        ("llvmpipe@vulkan", "ifft", (2, 7 * 23 * 23), -1),
        ("llvmpipe@vulkan", "rfft", (1, 2 * 31), -1),
        # Halves of real lines.
        ("reference", "rfft", (2, 10), -1),
        ("llvmpipe@vulkan", "rfft", (18, 3), 0),
    ],
)
def test_lines_of_a_tile(accelerator, name, shape, axis):
    """On the reference accelerator also without races between threads."""
    x = numbers(*shape, dtype=np.float32 if name == "rfft" else np.complex64)
    compare(name, x, axis=axis, accelerator_view=amp.accelerator(accelerator).default_view)


@pytest.mark.parametrize("n", [47, 3 * 47])
def test_exact_primes(n):
    """Prime factors up to 61 are transformed by sums, whose errors are smaller than those of convolutions."""
    x = numbers(300, n)
    found = fft.fft(x, accelerator_view=amp.accelerator("llvmpipe@vulkan").default_view)
    assert error(found, np.fft.fft(wide(x))) < 1.3e-7


@pytest.mark.parametrize(("accelerator", "n"), [("reference", 24), ("llvmpipe@vulkan", 360)])
def test_long_lines(accelerator, n, monkeypatch):
    """Lines in several launches, with shorter parts than those of GPUs."""
    monkeypatch.setattr(tiles, "LONGEST_LINE", 16)
    monkeypatch.setattr(tiles, "LONGEST_PART", 8)
    monkeypatch.setattr(tiles, "LONGEST_IN_PARTS", 16)
    compare("fft", numbers(2, n), accelerator_view=amp.accelerator(accelerator).default_view)


@pytest.mark.parametrize(
    ("accelerator", "name", "shape", "axes"),
    [
        ("reference", "fftn", (24, 12, 5), (0, 1)),
        ("reference", "ifftn", (2, 6, 8, 3), (1, 2)),
        ("llvmpipe@vulkan", "fftn", (64, 48, 18), None),
        ("llvmpipe@vulkan", "rfftn", (2, 32, 15, 7), (1, 2, 3)),
        ("reference", "irfftn", (12, 6, 4), None),
    ],
)
def test_two_axes_in_two_launches(accelerator, name, shape, axes, monkeypatch):
    """Both launches transform along both axes."""
    monkeypatch.setattr(tiles, "LONGEST_PART", 4)
    monkeypatch.setattr(tiles, "LONGEST_IN_PARTS", 4)
    shapes = []
    run = crossed.run_crossed
    monkeypatch.setattr(crossed, "run_crossed", lambda *given: shapes.append(given[4].radices) or run(*given))
    x = numbers(*shape, dtype=np.float32 if name == "rfftn" else np.complex64)
    compare(name, x, axes=axes, accelerator_view=amp.accelerator(accelerator).default_view)
    assert len(shapes) == 2 and all(len(radices) == 2 for radices in shapes)


@pytest.mark.parametrize(
    ("accelerator", "shape", "axis", "is_in_parts"),
    [
        ("reference", (3, 64), -1, True),
        ("reference", (48, 9), 0, True),
        ("llvmpipe@vulkan", (2, 1024), -1, True),
        ("llvmpipe@vulkan", (2, 2000), -1, True),
        # A last radix that is odd.
        ("llvmpipe@vulkan", (2, 2 * 81), -1, False),
    ],
)
def test_halves_in_parts(accelerator, shape, axis, is_in_parts, monkeypatch):
    """Threads with the results of two mirrored butterflies."""
    monkeypatch.setattr(tiles, "_LONGEST_WHOLE_HALF", 1)
    monkeypatch.setattr(tiles, "_LONGEST_WHOLE_COLUMN", 1)
    launches = []
    monkeypatch.setattr(tiles, "_launch", lambda *given, **named: launches.append(given[1]) or launch(*given, **named))
    x, view = numbers(*shape, dtype=np.float32), amp.accelerator(accelerator).default_view
    compare("rfft", x, axis=axis, accelerator_view=view)
    assert set(launches) == {parts_pass if is_in_parts else tile_pass}


@amp.kernel
def store_factors(idx, table, out, *, shape: amp.constant, stage: amp.constant):
    for r, w in enumerate(factors(table, amp.uint32(idx[0]), shape=shape, stage=stage)):
        out[idx[0], r] = w


@pytest.mark.accelerators("swiftshader", "reference")
def test_factors_of_every_radix(accelerator_view):
    """Those of the second stage of a tile, after one of radix 3."""
    dtype = np.dtype(np.complex64)
    for radix in {*RADICES, *LARGE, *PRIMES_IN_TILES}:
        radices = (3, radix)
        shape = tiles.shape_of(radices, dtype, 1, 0, (False, False), is_whole=True, in_place=False)
        out = amp.array(amp.extent(3, radix - 1), dtype, accelerator_view=accelerator_view)
        table = tiles._table_of(radices, dtype)
        amp.parallel_for_each(amp.extent(3), store_factors, table, out, shape=shape, stage=shape.stages[1])
        expected = np.exp(-2j * np.pi / (3 * radix) * np.arange(3)[:, None] * np.arange(1, radix))
        assert abs(np.asarray(out) - expected).max() < 5e-7, radix


@pytest.mark.parametrize("accelerator", ["llvmpipe@vulkan"])
def test_columns_whose_numbers_are_far_apart(accelerator, monkeypatch):
    """They take two launches."""
    monkeypatch.setattr(tiles, "LONGEST_PART", 32)
    monkeypatch.setattr(tiles, "LONGEST_IN_PARTS", 16)
    monkeypatch.setattr(tiles, "_FAR", 1)
    compare("fft", numbers(30, 5), axis=0, accelerator_view=amp.accelerator(accelerator).default_view)


@pytest.mark.parametrize(
    ("accelerator", "shape", "axis"),
    [
        ("reference", (2, 24), -1),
        ("reference", (20, 9), 0),
        ("llvmpipe@vulkan", (2, 512), -1),
        ("llvmpipe", (64, 11), 0),
        # A radix above 16 after the first stage.
        ("llvmpipe@vulkan", (1, 20 * 20), -1),
    ],
)
def test_lines_in_parts(accelerator, shape, axis, monkeypatch):
    """Threads exchange the parts of their numbers; also in place, and with columns that do not fill a tile."""
    monkeypatch.setattr(tiles, "LONGEST_LINE", 16)
    launches = []
    monkeypatch.setattr(tiles, "_launch", lambda *given, **named: launches.append(given[1]) or launch(*given, **named))
    x, view = numbers(*shape), amp.accelerator(accelerator).default_view
    compare("fft", x, axis=axis, accelerator_view=view)
    a = amp.array(x, accelerator_view=view)
    fft.fft(a, axis=axis, out=a)
    close(a, np.fft.fft(x.astype(complex), axis=axis))
    assert launches == [parts_pass] * 2
    # Columns in too many pages take two launches, shorter rows one of whole numbers.
    monkeypatch.setattr(tiles, "_VERY_FAR", 1)
    monkeypatch.setattr(tiles, "LONGEST_LINE", 4096)
    compare("fft", x, axis=axis, accelerator_view=view)
    assert set(launches[2:]) == {tile_pass}


def test_shapes_of_tiles():
    """All lines fit in the memory and the threads of a tile, with every number in one place."""
    for dtype in (np.dtype(np.complex64), np.dtype(np.complex128)):
        for n in (1, 2, 16, 26, 36, 77, 128, 1000, 1331, 2048, 2310, 4096 * 8 // dtype.itemsize):
            for most_bytes in (32_768, 49_152) if n * dtype.itemsize <= 32_768 else (49_152,):
                for together in ((False, False), (True, False), (True, True)):
                    radices = tiles.radices_in_tile(n, together)
                    rows, gap = tiles.rows_of(radices, dtype, most_bytes, together)
                    shape = tiles.shape_of(radices, dtype, rows, gap, together, is_whole=True, in_place=False)
                    assert shape.rows * shape.width * dtype.itemsize <= most_bytes
                    assert math.prod(radices) == shape.n == n
                    assert all(each.butterflies * each.radix <= 64 for each in shape.stages)
                    places = {row * shape.width + k + (k // gap if gap else 0) for row in range(rows) for k in range(n)}
                    assert len(places) == rows * n and max(places) < rows * shape.width
                    for stage in shape.stages:
                        check_distances(n, gap, stage)


@pytest.mark.parametrize("is_column", [False, True])
def test_shapes_of_tiles_in_parts(is_column):
    together = (is_column, is_column)
    for n in (1000, 1024) if is_column else (6144, 8192, 10_000):
        found = tiles.in_parts(n, np.dtype(np.complex64), 49_152, is_column)
        shape = tiles.shape_of(
            found.radices, np.dtype(np.complex64), found.rows, found.gap, together, is_whole=True, in_place=False,
            threads=found.threads,
        )  # fmt: skip
        assert shape.rows * shape.width * 4 <= 49_152 and shape.threads <= 512 and math.prod(found.radices) == n
        held = {each.butterflies * each.radix for each in shape.stages}
        assert len(held) == 1 and held.pop() * shape.threads == shape.rows * n
        for stage in shape.stages:
            assert stage.is_exact
            check_distances(n, found.gap, stage)
    assert tiles.in_parts(12_500, np.dtype(np.complex64), 49_152, is_column) is None
    assert tiles.in_parts(8192, np.dtype(np.complex128), 49_152, is_column) is None


def check_distances(n, gap, stage):
    """The numbers of all butterflies of a stage have the distances in memory that the stage states."""

    def address(k):
        return k + (k // gap if gap else 0)

    steps = n // stage.radix
    for place in range(steps):
        k = place % stage.before
        to = (place - k) * stage.radix + k
        for r in range(stage.radix):
            if stage.loads:
                assert address(place + r * steps) == address(place) + r * stage.loads
            if stage.stores:
                assert address(to + r * stage.before) == address(to) + r * stage.stores


@pytest.mark.parametrize("n", [12, 20])
def test_in_place_without_races(n):
    """On the reference accelerator, also of lines and threads at the end, which have nothing to do."""
    x = numbers(5, n)
    a = amp.array(x, accelerator_view=amp.accelerator("reference").default_view)
    fft.fft(a, out=a)
    close(a, np.fft.fft(x.astype(complex)))


@pytest.mark.parametrize("accelerator", ["llvmpipe@vulkan"])
def test_captured_and_in_place(accelerator):
    view = amp.accelerator(accelerator).default_view
    x = numbers(7, 12)
    a = amp.array(np.zeros_like(x), accelerator_view=view)
    with amp.capture() as graph:
        fft.fft(a, out=a)
    amp.copy(x, a)
    graph.replay()
    close(a, np.fft.fft(x.astype(complex)))
