"""Scans against numpy: every form, size, direction and kind of operator."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.algorithms.inputs import affine, composed, numbers
from vkamp import algorithms as alg
from vkamp.algorithms import functional


@pytest.mark.spread(2)
def test_sizes(accelerator_view, form, sizes):
    for n in sizes:
        raw = numbers(n)
        upto = np.cumsum(raw)

        def scan(*rest, raw=raw, **options):
            return np.asarray(alg.scan(raw, *rest, accelerator_view=accelerator_view, **options))

        np.testing.assert_array_equal(scan(), upto)
        np.testing.assert_array_equal(scan(init=7), upto + 7)
        np.testing.assert_array_equal(scan(inclusive=False), upto - raw)
        np.testing.assert_array_equal(scan(inclusive=False, init=7), upto - raw + 7)
        np.testing.assert_array_equal(scan(functional.max, reverse=True), np.maximum.accumulate(raw[::-1])[::-1])
        lowest = np.concatenate([[np.iinfo(np.int32).min], np.maximum.accumulate(raw)[:-1]])
        np.testing.assert_array_equal(scan(functional.max, inclusive=False), lowest)


@pytest.mark.spread(2)
def test_operators_that_do_not_commute(accelerator_view, form, sizes):
    for n in sizes:
        raw = affine(n)
        found = np.asarray(alg.scan(raw, composed, accelerator_view=accelerator_view))
        factor, offset = 1, 0
        for at, (f, o) in enumerate(raw.tolist()):
            factor, offset = f * factor, f * offset + o
            assert found[at].item() == (factor, offset), (n, at)


@pytest.mark.spread(2)
def test_out(accelerator_view, form):
    raw = numbers(5000)
    array = amp.array(raw, accelerator_view=accelerator_view)
    assert alg.scan(array, out=array) is array
    np.testing.assert_array_equal(np.asarray(array), np.cumsum(raw))
    memory = np.zeros(5000, np.int32)
    alg.scan(raw, out=memory, accelerator_view=accelerator_view)
    np.testing.assert_array_equal(memory, np.cumsum(raw))
    every_third = amp.array(amp.extent(15000), np.int32, np.zeros(15000, np.int32), accelerator_view=accelerator_view)
    alg.scan(raw, out=amp.array_view(every_third)[1::3])
    np.testing.assert_array_equal(np.asarray(every_third)[1::3], np.cumsum(raw))
    with pytest.raises(amp.AmpError, match=r"out has extent\(4\), but the result has extent\(5000\)"):
        alg.scan(raw, out=np.zeros(4, np.int32))


def test_an_exclusive_scan_needs_a_start():
    with pytest.raises(TypeError, match="needs init="):
        alg.scan(numbers(5), functional.minus, inclusive=False)
