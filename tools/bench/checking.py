"""Check mode: the tiled matrix product unchecked, checked, and checked without the compiler's proofs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

import vkamp as amp
from tools.bench.kernels import matrix_product
from tools.bench.measure import Measurement, Options, alternately, check
from vkamp.dispatch import checking
from vkamp.dispatch.domain import domain_of
from vkamp.dispatch.preparing import prepare

GROUP = "checking"
_SIZE, _TILE = 512, 16
#: The most that a checked launch may take, by how often the plain one fits into it.
_SLOWER = 20
#: On a CPU driver a run takes many seconds.
_RUNS = 3


def measure(options: Options) -> Iterator[Measurement]:
    """Wall times of a launch with its wait; a checked one makes and reads its report too."""
    numbers = np.random.default_rng(7)
    left, right = (numbers.random((_SIZE, _SIZE), dtype=np.float32) for _ in range(2))
    expected = left @ right
    for accelerator in options.accelerators:
        view = amp.accelerator(accelerator).default_view
        a, b = (amp.array(m.shape, amp.float32, m, accelerator_view=view) for m in (left, right))
        c = amp.array(left.shape, amp.float32, accelerator_view=view)
        domain = c.extent.tile(_TILE, _TILE)
        prepared = prepare(view, domain_of(domain), matrix_product, (a, b, c), {})

        def plain() -> None:
            amp.parallel_for_each(view, domain, matrix_product, a, b, c)  # noqa: B023
            view.wait()  # noqa: B023

        def checked(proofs: bool) -> None:
            report = checking.report_of(prepared, proofs=proofs)  # noqa: B023
            check(report.ok and not report.not_covered, str(report))

        works = (_timed(plain), _timed(lambda: checked(True)), _timed(lambda: checked(False)))
        values = alternately(min(options.runs, _RUNS), *works)
        check(np.allclose(np.asarray(c), expected, rtol=1e-3), f"the product on {accelerator}")
        bare = sorted(values[0])[len(values[0]) // 2]
        yield Measurement(GROUP, f"tiled product of {_SIZE}, plain", values[0], accelerator)
        for name, found in zip(("checked", "checked, without the compiler's proofs"), values[1:], strict=True):
            notes = {"slower": sorted(found)[len(found) // 2] / bare}
            yield Measurement(GROUP, f"the same, {name}", found, accelerator, _SLOWER * bare, notes)


def _timed(work: Callable[[], None]) -> Callable[[], float]:
    def timed() -> float:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started

    return timed
