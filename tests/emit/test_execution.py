"""The golden shaders at work: on every device they give what the reference gives."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import vkamp as amp
from tests.emit.launches import Arrays, Case, Launch, cloned
from tests.emit.programs import BODY, RECORD, Program
from tests.emit.table import PROGRAMS
from vkamp import sim
from vkamp.artifacts import Domain, Target
from vkamp.ir.nodes import Kernel
from vkamp.lang.vectors import ShortVector


def _same(actual: NDArray[Any], expected: NDArray[Any], tolerance: float) -> None:
    if expected.dtype.names:
        for name in expected.dtype.names:
            _same(actual[name], expected[name], tolerance)
    elif tolerance:
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(actual, expected)


def _ints(*shape: int, low: int = -1000, high: int = 1000, dtype: Any = np.int32) -> NDArray[Any]:
    return np.random.default_rng(5).integers(low, high, shape).astype(dtype)


def _floats(*shape: int) -> NDArray[Any]:
    return np.random.default_rng(6).uniform(-4, 4, shape).astype(np.float32)


def _zeros(*shape: int, dtype: Any = np.int32) -> NDArray[Any]:
    return np.zeros(shape, dtype)


def _records(count: int) -> NDArray[Any]:
    records = np.zeros(count, RECORD)
    records["in"], records["count"] = np.arange(count), np.arange(count) * 3
    records["matrix"] = _floats(count, 2, 3)
    for name in "rgb":
        records["pixel"][name] = _floats(count)
    return records


def _overlapping() -> Arrays:
    """Three views of one memory: ``bits`` are those of ``left``."""
    memory = _floats(90)
    return {
        "left": memory[3:35:2],
        "right": memory[80:48:-2],
        "bits": memory.view(np.uint32)[3:35:2],
    }


def _odd_values() -> NDArray[Any]:
    edges = [0, 1, -1, 7, -7, 8, -8, 15, 2**31 - 1, -(2**31) + 1, -(2**31), 12345]
    return np.array(edges * 9, np.int32)


def _divisors() -> NDArray[Any]:
    return np.repeat(np.array([1, 3, -3, 8, -8, 7, 2**31 - 1, -(2**31), 100], np.int32), 12)


def _strided(rows: int, cols: int) -> NDArray[Any]:
    """The interior of a larger matrix, its rows backwards."""
    return _floats(rows + 3, cols + 5)[1:-2, 2:-3][::-1]


_MATRICES = {"a": _floats(48, 80), "b": _floats(80, 32), "c": _zeros(48, 32, dtype=np.float32)}
_ROUNDING = {
    "a": _odd_values(), "b": _divisors(), "c": _zeros(108, 11),
    "x": _floats(108), "y": _zeros(108, 2, dtype=np.float32),
}  # fmt: skip


def _copies(*shape: int) -> Arrays:
    return {"source": _ints(*shape), "destination": _zeros(*shape)}


def _axpy() -> Arrays:
    return {"x": _floats(90)[::2], "y": _floats(50)[49:4:-1]}


def _vectors(count: int) -> Arrays:
    rng = np.random.default_rng(9)
    bodies = np.zeros(count, BODY)
    for name, dtype in ((("position", "x"), 3), (("spins", "y"), 2)):
        bodies[name[0]][name[1]] = rng.normal(size=bodies[name[0]][name[1]].shape) * dtype
    return {
        "points": _as_vectors(rng.normal(size=(count, 3)), amp.float3),
        "colours": _as_vectors(rng.normal(size=(count, 4)), amp.float4),
        "cells": _as_vectors(rng.integers(1, 100, (count, 2)), amp.int2),
        "bodies": bodies,
    }


def _exact_vectors(count: int) -> Arrays:
    rng = np.random.default_rng(10)
    return {name: _as_vectors(rng.normal(size=(count, 3)), amp.float3) for name in ("a", "b", "out")}


def _as_vectors(values: NDArray[Any], kind: type[ShortVector]) -> NDArray[Any]:
    made: NDArray[Any] = values.astype(kind.value_type).view(kind.dtype)[:, 0]
    return made


CASES = [
    Case("tile_average", (14, 27), {"matrix": _strided(14, 27), "averages": _zeros(7, 9, dtype=np.float32)}, {}, 1e-6),
    Case("tiled_product", (48, 32), _MATRICES, {}, 1e-4),
    Case(
        "register_tiles", (8, 12),
        {"a": _floats(24, 40), "b": _floats(40, 36), "c": _zeros(24, 36, dtype=np.float32)}, {}, 1e-4,
    ),
    Case("unrolled", (19, 23), {"source": _floats(21, 25), "out": _zeros(19, 23, dtype=np.float32)}, {}, 1e-4),
    Case("records", (77,), {"source": _records(77), "destination": _records(77)[::-1].copy()}, {}),
    Case("aliases", (16,), _overlapping(), {}),
    Case("vectors", (12,), _vectors(12), {}, 1e-6),
    Case("exact_vectors", (301,), _exact_vectors(301), {}),
    Case("untiled_1", (1013,), _copies(1013), {}),
    Case("untiled_2", (37, 51), _copies(37, 51), {}),
    Case("untiled_2", (301, 3), _copies(301, 3), {}),
    Case("untiled_3", (5, 11, 33), _copies(5, 11, 33), {}),
    Case("untiled_5", (3, 2, 5, 7, 9), _copies(3, 2, 5, 7, 9), {}),
    Case("push_spill", (45,), _axpy(), {"a": 2.0, "b": 0.5, "wanted": True}),
    Case("push_spill", (45,), _axpy(), {"a": 2.0, "b": 0.5, "wanted": False}),
    Case("functions", (52,), {"a": _ints(52)}, {}),
    Case("control_flow", (201,), {"a": _ints(201, high=60000)}, {"n": 9, "step": 2}),
    Case("control_flow", (201,), {"a": _ints(201, high=60000)}, {"n": 9, "step": 4}),
    Case("control_flow", (65,), {"a": _ints(65, high=60000)}, {"n": -3, "step": -2}),
    Case("unsigned_loop", (7,), {"a": _zeros(7, dtype=np.uint32)}, {"n": 19}),
    Case(
        "rounding", (108,), _ROUNDING, {},
    ),
    Case(
        "operators", (100,),
        {"a": _ints(100), "u": _ints(100, low=0, dtype=np.uint32), "f": _floats(100)}, {}, 1e-5,
    ),
    Case("names", (33,), {n: _floats(33) for n in ("input", "sample", "output_")}, {}),
    # Equal values, so that no order of the threads shows.
    Case(
        "atomics", (96,),
        {
            "values": np.full(96, 5, np.uint32), "bins": _zeros(8, dtype=np.uint32),
            "extremes": _ints(7, low=3, dtype=np.uint32),
        },
        {},
    ),
    Case("compare_exchange", (75,), {"cells": np.array([0, 10**9, 0], np.int32), "wanted": _ints(75, low=1)}, {}),
    Case("fences", (24,), {"a": _ints(24)}, {}),
    Case("mathematics", (60,), {"x": _floats(60), "y": _floats(60, 4)}, {}, 5e-3),
    Case("precise_mathematics", (60,), {"x": _floats(60), "y": _floats(60, 2)}, {}, 1e-6),
    Case("origins", (4, 9, 12), {"a": _ints(4, 9, 12)}, {}),
    Case(
        "exact", (60,),
        {"x": _floats(60), "y": _floats(60)[::-1].copy(), "out": _floats(60), "bits": _ints(60)}, {},
    ),
]  # fmt: skip


def _expected(case: Case, kernel: Kernel) -> Arrays:
    arrays = cloned(case.arrays)
    # What a program does on purpose (every thread of a tile stores one element) is no concern here.
    sim.run(kernel, case.domain, arrays, case.scalars, races=False)
    return arrays


def _targets(program: Program, case: Case) -> dict[str, tuple[Target, tuple[int, int, int]]]:
    """The targets to try: the default, folded into a small grid, and without push constants."""
    plain = (65535, 65535, 65535)
    small = (5, 3, 1 << 20)
    threads = 64
    domain = Domain(case.domain, program.tile)
    chosen, folded = Target().fitted(domain, plain, threads), Target().fitted(domain, small, threads)
    return {
        "golden": (program.target, plain),
        "chosen": (chosen, plain),
        "folded": (dataclasses.replace(folded, folded=True), small),
        "spilled": (dataclasses.replace(chosen, push_words=0), plain),
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.program}-{case.domain}")
@pytest.mark.accelerators("drivers")
def test_shaders_agree_with_the_reference(case: Case, accelerator: Any) -> None:
    program = PROGRAMS[case.program]
    kernel = program.kernel()
    expected = _expected(case, kernel)
    view = accelerator.create_view()
    for name, (target, max_groups) in _targets(program, case).items():
        actual = Launch(kernel, case, target).run(view._queue, max_groups)
        for array in case.arrays:
            try:
                _same(actual[array], expected[array], case.tolerance)
            except AssertionError as error:
                raise AssertionError(f"{array}, with the {name} target: {error}") from None
