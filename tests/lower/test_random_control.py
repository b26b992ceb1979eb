"""Random control flow around barriers: loops give what the reference accelerator gives for the program as written."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.emit.launches import Arrays, Case, Launch
from tests.static_analysis.random_control import TILE, TILES, accepted_part, lowered, source_of
from vkamp import sim
from vkamp.artifacts import Target
from vkamp.errors import CheckError
from vkamp.ir.nodes import Kernel
from vkamp.ir.text import text
from vkamp.ir.verify import verify
from vkamp.lower import NotLowerable, loops

SEEDS = range(10)


def kernel_of(seed: int, *, divergent: bool) -> Kernel:
    return accepted_part(lowered(source_of(seed, divergent=divergent), f"<random phases {seed} {divergent}>"))


def inputs(seed: int) -> Case:
    random = np.random.default_rng(seed)
    arrays = {"data": random.integers(0, 5, 16).astype(np.int32), "out": np.zeros(TILE * TILES, np.int32)}
    n, m = (int(v) for v in random.integers(0, 5, 2))
    return Case("", (TILE * TILES,), arrays, {"n": n, "m": m})


def expected(kernel: Kernel, case: Case) -> np.ndarray | None:
    """What the reference accelerator gives; ``None`` if the program is wrong, for it races."""
    arrays: Arrays = {name: array.copy() for name, array in case.arrays.items()}
    try:
        sim.run(kernel, case.domain, arrays, dict(case.scalars))
    except CheckError:
        return None
    return arrays["out"]


def check(seed: int, *, divergent: bool, view: amp.accelerator_view) -> bool:
    """Compares one program at several numbers of lanes; whether there was something to compare."""
    kernel, case = kernel_of(seed, divergent=divergent), inputs(seed)
    right = expected(kernel, case)
    if right is None:
        return False
    limits = view.accelerator.limits
    assert limits is not None
    compared = False
    for lanes in (1, 2):
        try:
            form = loops(kernel, lanes)
        except NotLowerable:
            continue
        verify(form)
        found = Launch(form, case, Target()).run(view._queue, limits.tile_count)["out"]
        assert np.array_equal(found, right), f"{text(kernel)}\n{text(form)}\n{found} {right}"
        compared = True
    return compared


@pytest.mark.accelerators("swiftshader")
def test_random_control(accelerator_view: amp.accelerator_view) -> None:
    compared = [
        check(seed, divergent=divergent, view=accelerator_view) for seed in SEEDS for divergent in (False, True)
    ]
    # Those that return from inside conditions keep their threads, and those that race have no right result.
    assert sum(compared) > len(compared) // 2
