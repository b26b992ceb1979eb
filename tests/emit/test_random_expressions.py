"""Random integer expressions: intervals, divisions, shifts and parentheses, against the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.emit.launches import Case, Launch
from tests.emit.random_expressions import COUNT, random_kernel
from vkamp import sim
from vkamp.artifacts import Target
from vkamp.ir.verify import verify


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.accelerators("drivers")
def test_random_expressions(seed: int, accelerator: Any) -> None:
    kernel = random_kernel(seed)
    verify(kernel)
    source = np.random.default_rng(seed)
    edges = [0, 1, -1, 2**31 - 1, -(2**31), 100, -100]
    a = np.concatenate([np.array(edges), source.integers(-(2**31), 2**31, 18)]).astype(np.int32)
    u = source.integers(0, 2**32, len(a), dtype=np.uint64).astype(np.uint32)
    arrays = {"a": a, "u": u, "out": np.zeros((len(a), COUNT), np.int32)}
    expected = {name: array.copy() for name, array in arrays.items()}
    sim.run(kernel, (len(a),), expected, {"n": -13}, races=False)
    launch = Launch(kernel, Case("random", (len(a),), arrays, {"n": -13}), Target())
    actual = launch.run(accelerator.create_view()._queue, (65535, 65535, 65535))
    for number in range(COUNT):
        np.testing.assert_array_equal(actual["out"][:, number], expected["out"][:, number], err_msg=str(number))
