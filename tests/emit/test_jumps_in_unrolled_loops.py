"""Unrolled loops whose copies leave a loop around them: they are not printed as a loop, which the jump would leave."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import I32


@pytest.mark.parametrize("lowering", ["threads", "loops"])
def test_a_return_in_an_unrolled_loop(accelerator_view, lowering):
    @amp.kernel(lowering=lowering)
    def leave(t, values, out):
        total = 0
        for k in amp.static_range(4):
            if k < values[t]:
                return
            total = total * 3 + k
        out[t] = total + 1

    values = np.arange(-6, 18, dtype=I32)
    out = amp.array_view(np.full(24, -1, I32))
    amp.parallel_for_each(accelerator_view, out.extent.tile(12), leave, amp.array_view(values), out)
    assert np.asarray(out).tolist() == [19 if n <= 0 else -1 for n in values]


@pytest.mark.parametrize("lowering", ["threads", "loops"])
def test_a_jump_of_the_loop_around(accelerator_view, lowering):
    @amp.kernel(lowering=lowering)
    def jump(t, values, out):
        total = 0
        for n in range(5):
            found = 0
            for k in amp.static_range(3):
                if values[t] == k + n:
                    found = 1
            if found == 1:
                continue
            total += n + 1
        out[t] = total

    values = np.arange(-4, 8, dtype=I32)
    out = amp.array_view(np.zeros(12, I32))
    amp.parallel_for_each(accelerator_view, out.extent.tile(6), jump, amp.array_view(values), out)
    assert np.asarray(out).tolist() == [sum(n + 1 for n in range(5) if v - n not in (0, 1, 2)) for v in values]
