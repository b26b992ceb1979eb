"""Sorts of lines by digits in one launch, which the library chooses on GPUs alone."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.algorithms.inputs import check_sorted_lines, numbers_of
from tests.library_views import forced
from tests.thinned import usual
from vkamp import algorithms as alg
from vkamp.algorithms import _choose, lazy, sort_lines_digits


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Tiles of one and two subgroups, with four or eight elements for each thread."""
    monkeypatch.setattr(sort_lines_digits, "_SUBGROUPS", (1, 2))
    monkeypatch.setattr(sort_lines_digits, "_MANY", 4)
    monkeypatch.setattr(sort_lines_digits, "LEAST", 3)
    with forced("tiles"):
        yield


def has_this_form(view, raw, length):
    """Whether lines of this length are sorted by digits: their positions are."""
    positions = amp.array(raw.size, np.int32, accelerator_view=view)
    return sort_lines_digits.sort(view, lazy.of(raw).flat(), length, False, positions, positions=True)


def check(view, raw, descending=False):
    assert has_this_form(view, raw, raw.shape[1])
    check_sorted_lines(view, raw, descending)


#: A line of few elements, one that fills a larger tile, and one with more elements for each thread.
LENGTHS = (3, 64, 70)


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize(
    ("dtype", "few"),
    [(np.int32, LENGTHS), (np.uint32, (64,)), (np.float32, (70,)), (np.int16, (64,)), (np.uint8, (3,))],
)
def test_lengths(accelerator_view, dtype, few):
    """All lengths of one type, and one length of the other types."""
    for length in usual(LENGTHS, few):
        raw = numbers_of(dtype, length * 5).reshape(5, length)
        check(accelerator_view, raw, descending=length % 2 == 1)
        check(accelerator_view, np.random.default_rng(length).integers(0, 5, (3, length)).astype(dtype))


@pytest.mark.accelerators("llvmpipe")
def test_keys_gaps_and_axes(accelerator_view):
    k = {"accelerator_view": accelerator_view}
    raw = np.random.default_rng(1).integers(-50, 50, (6, 40)).astype(np.int32)
    order = np.argsort(abs(raw), kind="stable")
    assert np.array_equal(alg.sort(raw, key=lambda x: abs(x), **k), np.take_along_axis(raw, order, -1))
    assert np.array_equal(alg.argsort(raw, key=lambda x: abs(x), **k), order)
    assert np.array_equal(alg.sort(raw[::2, ::-1], axis=0, **k), np.sort(raw[::2, ::-1], 0))
    assert np.array_equal(
        alg.argsort(raw.reshape(2, 3, 40), axis=1, **k), raw.reshape(2, 3, 40).argsort(1, kind="stable")
    )
    target = amp.array_view(np.zeros((6, 80), raw.dtype))[:, ::2]
    alg.sort(raw, out=target, **k)
    assert np.array_equal(target, np.sort(raw))


def test_subgroups_of_any_size():
    view = amp.accelerator("reference").default_view
    for lanes in (4, 32):
        with amp.reference_subgroups(lanes):
            check(view, np.random.default_rng(2).integers(-9, 9, (2, 50)).astype(np.int32))


@pytest.mark.accelerators("llvmpipe")
def test_what_has_no_such_form(accelerator_view):
    """Short lines, lines for which a tile has no room, and elements of 64 bits."""
    for dtype, length in ((np.int32, 2), (np.int32, 1 << 14), (np.int64, 9)):
        assert not has_this_form(accelerator_view, np.zeros(1 << 14, dtype), length)
    with _choose.forced("runs"):
        assert not has_this_form(accelerator_view, np.zeros(999, np.int32), 999)
