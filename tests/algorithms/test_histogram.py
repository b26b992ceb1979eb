"""Equal bins, whose numbers are computed and corrected, and counts in tiles, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from vkamp import algorithms as alg

#: Ordinary bins; a range without width, of denormal numbers, and one whose width float32 lacks; more bins than a tile
#: has counters.
OF_FLOATS = [(256, (0.0, 1.0)), (3, (0.1, 0.1)), (9, (0.0, 1e-42)), (7, (-3e38, 3e38)), (5000, (0.0, 1.0))]
#: Numbers that float32 rounds, and bins beyond those of the type.
OF_INTEGERS = [
    (10, (-100, 100)),
    (256, (-(1 << 31), (1 << 31) - 1)),
    (16, (0, 1 << 33)),
    (4, ((1 << 30) + 1, (1 << 30) + 9)),
]


@pytest.mark.spread(2)
def test_equal_bins(accelerator_view, form):
    n = 300 if accelerator_view.accelerator.device_path == "reference" else 5003
    random = np.random.default_rng(1)
    floats = random.random(n, dtype=np.float32)
    floats[::17], floats[::19], floats[::23], floats[::29] = 0.5, 1, np.nan, -np.inf
    whole = random.integers(-(1 << 31), 1 << 31, n).astype(np.int32)
    whole[:40] = (1 << 30) + np.arange(40) % 12
    for raw, cases in ((floats, OF_FLOATS), (whole, OF_INTEGERS)):
        for bins, limits in cases:
            counts, edges = alg.histogram(raw, bins, limits, accelerator_view=accelerator_view)
            expected, expected_edges = np.histogram(raw, bins, limits)
            np.testing.assert_array_equal(np.asarray(counts), expected, err_msg=f"{bins} in {limits}")
            np.testing.assert_array_equal(edges, expected_edges)


def test_elements_beside_edges(accelerator_view, form):
    """Elements on the edges and next to them; edges of float16 are far from even."""
    for kind, bins, limits in (
        (np.float32, 7, (1.0, 8.3)),
        (np.float32, 100, (-3.7, 1000.1)),
        (np.float32, 100, (100000.0, 100001.0)),
        (np.float16, 100, (10.0, 265.0)),
        (np.float16, 1000, (-1.0, 1.0)),
        (np.uint8, 100, (-3.5, 255.0)),
    ):
        edges = np.histogram_bin_edges(np.zeros(0, kind), bins, limits).astype(kind)
        ways = [edges, edges + kind(1), edges - kind(1)]
        if np.dtype(kind).kind == "f":
            ways = [edges, *(np.nextafter(edges, kind(to)) for to in (-np.inf, np.inf))]
        raw = np.concatenate(ways)
        counts, found = alg.histogram(raw, bins, limits, accelerator_view=accelerator_view)
        # numpy's own bins are computed, and rounded to float16: the elements of these are exactly what the edges say.
        exact, inside = found.astype(np.float64), raw.astype(np.float64)
        inside = inside[(inside >= exact[0]) & (inside <= exact[-1])]
        places = np.minimum(np.searchsorted(exact, inside, side="right") - 1, bins - 1)
        np.testing.assert_array_equal(np.asarray(counts), np.bincount(places, minlength=bins), err_msg=f"{kind}")


@pytest.mark.spread(2)
def test_bytes(accelerator_view, form):
    """Four at a time, and where their number or their distance in memory does not permit that."""
    for n in (1, 4, 301):
        raw = np.random.default_rng(n).integers(0, 256, 2 * n).astype(np.uint8)
        for each in (raw, raw[:n], raw[::2]):
            found = alg.bincount(each, bins=256, accelerator_view=accelerator_view)
            np.testing.assert_array_equal(np.asarray(found), np.bincount(each, minlength=256))


@pytest.mark.parametrize("bins", [1, 255, 256, 257])
def test_few_and_many_bins(accelerator_view, form, bins):
    """Counters in a private array, and in memory; numbers outside of the range are not counted."""
    n = 150 if accelerator_view.accelerator.device_path == "reference" else 1301
    raw = np.random.default_rng(bins).integers(-20, 300, n).astype(np.int32)
    expected = np.bincount(raw[raw >= 0], minlength=300)[:bins]
    np.testing.assert_array_equal(np.asarray(alg.bincount(raw, bins=bins, accelerator_view=accelerator_view)), expected)
