"""The random numbers of `vkamp.rng`, stored on the device, numpy's Philox on the host, and on NVIDIA PyTorch's and
CuPy's.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

import vkamp as amp
from tools.bench.measure import Measurement, Options
from tools.bench.programs import Program, is_close, measure_programs
from vkamp import rng

GROUP = "rng"


def _programs(accelerator: amp.accelerator, torch: Any) -> Iterator[Program]:
    size = 1 << (22 if accelerator.is_emulated else 28)
    few = np.zeros(size >> (4 if accelerator.is_emulated else 2), np.int32)

    def floats() -> tuple[Any]:
        # An array for each program: numpy's fill theirs, several at a time.
        return (np.zeros(size, np.float32),)

    ours = rng.Generator(rng.Philox(1), accelerator.default_view)
    of_numpy = np.random.Generator(np.random.Philox(1))
    yield Program(
        "uniform float32", floats(), lambda a: ours.random(out=a), lambda a: of_numpy.random(out=a, dtype=a.dtype),
        lambda a: a.uniform_(), agrees=_moments,
        of_cupy=lambda c, a: _of_cupy(c).random(out=a, dtype=a.dtype), goal=1.6,
    )  # fmt: skip
    yield Program(
        "normal float32", floats(), lambda a: ours.standard_normal(out=a),
        lambda a: of_numpy.standard_normal(out=a, dtype=a.dtype), lambda a: a.normal_(), agrees=_moments,
        of_cupy=lambda c, a: _of_cupy(c).standard_normal(out=a, dtype=a.dtype), goal=1.3,
    )  # fmt: skip
    yield Program(
        "exponential float32", floats(), lambda a: ours.standard_exponential(out=a),
        lambda a: of_numpy.standard_exponential(out=a, dtype=a.dtype), lambda a: a.exponential_(), agrees=_moments,
        of_cupy=lambda c, a: _of_cupy(c).standard_exponential(out=a, dtype=a.dtype),
    )  # fmt: skip
    yield Program(
        "integers below 1000", (np.zeros(size, np.int32),), lambda a: ours.integers(1000, out=a),
        lambda a: of_numpy.integers(1000, size=a.size, dtype=np.int32), lambda a: a.random_(1000), agrees=_moments,
        of_cupy=lambda c, a: _of_cupy(c).integers(1000, size=a.size, dtype=a.dtype),
    )  # fmt: skip
    yield Program(
        "permutation", (few,), lambda a: ours.permutation(a.extent[0]), lambda a: of_numpy.permutation(a.size),
        lambda a: torch.randperm(a.numel(), device="cuda"), agrees=lambda a, b: is_close(np.sort(a), np.sort(b)),
        of_cupy=lambda c, a: c.random.permutation(a.size), goal=1.5,
    )  # fmt: skip


@functools.cache
def _of_cupy(cupy: Any) -> Any:
    """CuPy's generator of the same kind."""
    return cupy.random.Generator(cupy.random.Philox4x3210(1))


def _moments(found: Any, expected: Any) -> bool:
    """Whether mean and deviation of many numbers are about the same."""
    return np.allclose(
        [np.mean(found, dtype=np.float64), np.std(found, dtype=np.float64)],
        [np.mean(expected, dtype=np.float64), np.std(expected, dtype=np.float64)],
        rtol=0.01, atol=0.01,
    )  # fmt: skip


def measure(options: Options) -> Iterator[Measurement]:
    """Seconds of each call until the device has finished; moments are compared with numpy's."""
    return measure_programs(GROUP, options, _programs)
