"""Where the compiler has proved that there are no races, check mode finds none when it looks all the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tools.kernels.corpus.registry import PAIRS, Pair
from vkamp.dispatch import checking
from vkamp.dispatch.domain import domain_of
from vkamp.dispatch.preparing import PreparedLaunch as Prepared
from vkamp.dispatch.preparing import prepare

CATEGORIES = ("double buffering", "matrix product", "reduction", "scan", "sorting", "stencil", "histogram")

#: Of each category.
COUNT = 2
CHOSEN = [p for c in CATEGORIES for p in [q for q in PAIRS if q.category == c][:COUNT]]


def prepared(view: amp.accelerator_view, pair: Pair) -> tuple[Prepared, list[tuple[Any, Any]]]:
    made = pair.launch()
    ready = prepare(view, domain_of(made.domain), pair.mended, made.args, dict(made.constants))
    return ready, [(made.args[number], values) for number, values in made.expect.items()]


@pytest.mark.accelerators("drivers")
@pytest.mark.parametrize("pair", CHOSEN, ids=lambda pair: pair.name)
@pytest.mark.spread(2)
def test_nothing_is_found_without_the_proofs(accelerator_view: amp.accelerator_view, pair: Pair) -> None:
    for proofs in (False, True):
        ready, expected = prepared(accelerator_view, pair)
        report = checking.report_of(ready, proofs=proofs)
        assert report.ok, str(report)
        assert report.not_covered == ()
        for container, values in expected:
            assert np.allclose(np.asarray(container), values, rtol=2e-4, atol=1e-4)


def test_some_are_proved(accelerator_view: amp.accelerator_view) -> None:
    proved = [prepared(accelerator_view, pair)[0].compiled.races.proved for pair in CHOSEN]
    assert {pair.category for pair in CHOSEN} == set(CATEGORIES)
    assert sum(map(bool, proved)) > len(CHOSEN) // 2


@amp.kernel
def every_fourth(i, out):
    if 4 * i[0] < out.extent[0]:
        out[4 * i[0]] = i[0]


@pytest.mark.accelerators("drivers")
@pytest.mark.parametrize(("threads", "holds"), [(1 << 30, True), ((1 << 30) + 1, False)])
def test_a_proof_ends_where_indices_wrap(accelerator_view: amp.accelerator_view, threads: int, holds: bool) -> None:
    """Thread 2**30 writes the element of thread 0, since ``4 * i`` is an int32."""
    out = amp.array(amp.extent(64), np.int32, accelerator_view=accelerator_view)
    ready = prepare(accelerator_view, domain_of(amp.extent(threads)), every_fourth, (out,), {})
    assert ready.compiled.races.proved == {"out"}
    assert checking._CheckedLaunch(ready, True).proofs == holds
