"""A slice of the random plain kernels; ``python -m tools.sweep pieces`` runs any number of them."""

from __future__ import annotations

import itertools

import pytest

from tools.sweep.pieces import cases, check

#: One whose functions return in the middle of two results.
_FOUND = (449,)


@pytest.mark.accelerators("drivers")
@pytest.mark.parametrize("seed", [*itertools.islice(cases(), 40), *_FOUND])
def test_plain_kernels(accelerator_view, seed):
    assert check(seed, accelerator_view) == []
