"""Random control flow: no thread misses a barrier that is accepted, and uniform programs are accepted."""

from __future__ import annotations

import pytest

from tests.static_analysis.random_control import accepted_part, barriers, lowered, meetings, run, source_of
from vkamp.check.uniformity import check_uniformity
from vkamp.ir.text import text

SEEDS = range(16)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_thread_misses_an_accepted_barrier(seed: int) -> None:
    kernel = accepted_part(lowered(source_of(seed), f"<random control {seed}>"))
    for inputs in range(2):
        # A race may give the threads different values; the program is wrong then, but not for its barriers.
        assert run(kernel, inputs) in ("", "race"), text(kernel)


@pytest.mark.parametrize("seed", SEEDS)
def test_uniform_control_flow_is_accepted(seed: int) -> None:
    source = source_of(seed, divergent=False)
    kernel = lowered(source, f"<uniform control {seed}>")
    check_uniformity(kernel)
    assert run(kernel, seed) == "", source


def test_many_barriers_are_accepted_beside_divergent_control_flow() -> None:
    """So that the test of accepted barriers has some to test."""
    kernels = [accepted_part(lowered(source_of(seed), f"<random control {seed}>")) for seed in SEEDS]
    assert sum(map(barriers, kernels)) > 60


@pytest.mark.parametrize("seed", SEEDS)
def test_no_thread_misses_its_subgroup(seed: int) -> None:
    kernel = accepted_part(lowered(source_of(seed, subgroups=True), f"<random subgroups {seed}>"))
    for inputs in range(2):
        assert run(kernel, inputs) in ("", "race"), text(kernel)


def test_many_functions_of_subgroups_are_accepted_beside_divergent_control_flow() -> None:
    sources = [lowered(source_of(seed, subgroups=True), f"<random subgroups {seed}>") for seed in SEEDS]
    kernels = list(map(accepted_part, sources))
    assert sum(map(meetings, sources)) - 30 > sum(map(meetings, kernels)) > 20
