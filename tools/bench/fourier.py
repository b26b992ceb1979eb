"""The Fourier transforms of `vkamp.fft` on the device, numpy's on the host, and on NVIDIA cuFFT by PyTorch and CuPy."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import vkamp as amp
from tools.bench.measure import Measurement, Options
from tools.bench.programs import Program, measure_programs
from vkamp import fft

GROUP = "fft"

#: Lengths and numbers of rows, and how many times as fast as cuFFT a GPU should be: powers of two, other small factors,
#: primes, two and three launches of tiles.
_ROWS = (
    (1024, 65536, 0.95), (4096, 16384, 0.95), (8192, 8192, None), (1000, 65536, 0.95), (10_000, 6711, None),
    (17, 1 << 22, None), (31, 1 << 21, None), (1021, 65536, 1.5), (16411, 4096, 1.0), (65536, 1024, 0.9),
    (1 << 20, 64, 0.9), (1 << 26, 1, 0.9),
)  # fmt: skip
#: Complex numbers of the largest program.
_MOST = 1 << 27


def _programs(accelerator: amp.accelerator, torch: Any) -> Iterator[Program]:
    scale = 64 if accelerator.is_emulated else 1
    random = np.random.default_rng(1)
    numbers = random.random(2 * _MOST // scale, np.float32).view(np.complex64)

    def program(name: str, shape: tuple[int, ...], function: str, goal: float | None = None, **named: Any) -> Program:
        data = numbers[: int(np.prod(shape))].reshape(shape)
        return _program(name, (data,), function, torch, goal, named)

    for n, rows, goal in _ROWS:
        if n <= 1 << 20 or not accelerator.is_emulated:
            yield program(f"fft of rows of {n}", (max(rows // scale, 1), n), "fft", goal)
    for n in (1000, 1024):
        yield program(f"fft of columns of {n}", (n, 65536 // scale), "fft", axis=0)
    reals = random.random((16384 // scale, 4096), np.float32)
    yield _program("rfft of rows of 4096", (reals,), "rfft", torch, 0.9, {})
    halves = np.fft.rfft(reals).astype(np.complex64)
    yield _program("irfft to rows of 4096", (halves,), "irfft", torch, None, {})
    side = 8192 // int(scale**0.5)
    yield program(f"fft2 of {side} x {side}", (side, side), "fft2", 0.9)
    side = 512 // round(scale ** (1 / 3))
    yield program(f"fftn of {side} x {side} x {side}", (side, side, side), "fftn", 0.9)
    line = numbers[: 1 << 20]
    yield Program(
        "fft of 2^20 by a plan", (line, np.zeros_like(line)),
        lambda a, out: _plan(tuple(a.extent)).forward_transform(a, out), lambda a, _: np.fft.fft(a),
        lambda a, out: torch.fft.fft(a, out=out), agrees=_agrees,
    )  # fmt: skip


def _program(
    name: str, data: tuple[Any, ...], function: str, torch: Any, goal: float | None, named: dict[str, Any]
) -> Program:
    """The program that calls the function of that name of each library."""

    def of(library: Any, **more: Any) -> Callable[..., Any]:
        return lambda a: getattr(library.fft, function)(a, **more)

    # PyTorch has another word for an axis.
    of_torch = None if torch is None else of(torch, **({"dim": named["axis"]} if named else {}))
    return Program(
        name, data, lambda a: getattr(fft, function)(a, **named), of(np, **named), of_torch, agrees=_agrees,
        of_cupy=lambda cupy, a: of(cupy, **named)(a), goal=goal,
    )  # fmt: skip


@functools.cache
def _plan(shape: tuple[int, ...]) -> fft.plan:
    return fft.plan(shape, np.complex64)


def _agrees(found: Any, expected: Any) -> bool:
    """Whether the error is small in the L2 norm."""
    return bool(np.linalg.norm((found - expected).ravel()) < 1e-6 * np.linalg.norm(expected.ravel()))


def measure(options: Options) -> Iterator[Measurement]:
    """Seconds of each call until the device has finished; results are compared with numpy's."""
    return measure_programs(GROUP, options, _programs)
