"""Random programs: plain Python and every device agree."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.random_programs import LIMIT, THREADS, define, in_plain_python, source_of

SEEDS = range(8)


def inputs() -> list[np.ndarray]:
    values = np.random.default_rng(17).integers(-LIMIT, LIMIT, (2, THREADS)).astype(np.int32)
    values[:, :6] = [[0, 1, -1, 2, -7, 64], [0, 0, 3, -2, 7, -64]]
    return list(values)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_program(accelerator_view, seed):
    a, b = inputs()
    source = source_of(seed)
    expected = in_plain_python(source, a, b)
    kernel = amp.kernel(define(source, f"<random program {seed}>", amp))
    out = amp.array_view(np.zeros(expected.shape, np.int32))
    amp.parallel_for_each(accelerator_view, amp.extent(THREADS), kernel, amp.array_view(a), amp.array_view(b), out)
    np.testing.assert_array_equal(np.asarray(out), expected, err_msg=source)
