"""Barriers that depend on functions, memory, structs and ``amp.uniform``: which are rejected, and which are not."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.static_analysis.programs import check_accepted, check_refused, domain
from tests.static_analysis.uniform_values import PROGRAMS


@pytest.fixture(autouse=True)
def verified_ir(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKAMP_VERIFY", "1")


@pytest.mark.parametrize("name", PROGRAMS.refused)
def test_refused(name: str) -> None:
    check_refused(*PROGRAMS.refused[name])


@pytest.mark.filterwarnings("ignore::vkamp.BarrierWarning")
@pytest.mark.parametrize("name", PROGRAMS.accepted)
def test_accepted(name: str) -> None:
    check_accepted(PROGRAMS.accepted[name])


def test_overlapping_views_are_one_memory() -> None:
    """What is written through one parameter is not uniform through another."""
    kernel = PROGRAMS.accepted["container_that_nobody_writes"]
    numbers = np.arange(24, dtype=np.int32)
    apart = amp.array_view(numbers[:12]), amp.array_view(numbers[12:].copy()), 3
    kernel.inspect(domain(), *apart)
    whole = amp.array_view(numbers)
    for data, out in (
        (amp.array_view(numbers[6:18]), amp.array_view(numbers[:12])),
        (whole.section(0, 12), whole.section(12, 12)),
        (whole, whole),
        (amp.array_view(numbers[11::-1]), amp.array_view(numbers[:12])),
        (whole.reinterpret_as(amp.uint32), whole),
    ):
        with pytest.raises(amp.CompileError) as caught:
            kernel.inspect(domain(), data, out, 3)
        assert "which shares its memory" in str(caught.value)
