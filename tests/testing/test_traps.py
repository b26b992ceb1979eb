"""The drivers' traps are as the table says: a driver that lost one, or another that has it, is noticed here."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from vkamp.run.workarounds import WORKAROUNDS, traps_of
from vkamp.testing.devices import ABILITIES, lacking


@amp.kernel
def rounds(i, out, n):
    count = 0
    for _ in range(n):
        for _ in range(n):
            count += 1
    out[i] = count


@amp.kernel
def halved(i, values, out):
    out[i] = values[i] * 0.5


@amp.kernel
def nothing(i, values, out):
    out[i] = values[i] * 0.0


@amp.kernel
def divided(i, values, out):
    out[i] = 7.0 / values[i]


def result(accelerator, kernel, *values: float) -> np.ndarray:
    out = amp.array_view(np.full(len(values), 9, np.float32))
    amp.parallel_for_each(accelerator, out.extent, kernel, amp.array_view(np.float32(values)), out)
    return np.asarray(out)


def can_long_loops(accelerator) -> bool:
    out = amp.array_view(np.zeros(1, np.int32))
    amp.parallel_for_each(accelerator, out.extent, rounds, out, 300)
    return out[0] == 90000


def can_denormals(accelerator) -> bool:
    return bool((result(accelerator, halved, 1e-38, -1e-40) != 0).all())


def can_zero_products(accelerator) -> bool:
    first, second, third = result(accelerator, nothing, -1.0, np.inf, np.nan)
    return bool(np.signbit(first) and np.isnan(second) and np.isnan(third))


def can_large_divisors(accelerator) -> bool:
    return bool((result(accelerator, divided, 3.4e38, -3.4e38) != 0).all())


CAN = {
    "long_loops": can_long_loops, "denormals": can_denormals, "zero_products": can_zero_products,
    "large_divisors": can_large_divisors,
}  # fmt: skip


@pytest.mark.parametrize("ability", CAN)
def test_trap(accelerator, ability):
    has_trap = ability in traps_of(accelerator._info)
    assert CAN[ability](accelerator) is not has_trap


def test_every_trap_is_tried():
    assert {row.ability for row in WORKAROUNDS if row.ability} == set(CAN) <= ABILITIES


@pytest.mark.vkamp_accelerators("reference")
def test_the_reference_lacks_nothing_that_drivers_get_wrong(accelerator):
    assert lacking("reference", CAN) == ""
