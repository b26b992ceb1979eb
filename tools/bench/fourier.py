"""The Fourier transforms of `vkamp.fft` on the device, numpy's on the host, and on NVIDIA cuFFT by PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import vkamp as amp
from tools.bench.measure import Measurement, Options
from tools.bench.programs import Program, measure_programs
from vkamp import fft

GROUP = "fft"


def _programs(accelerator: amp.accelerator, torch: Any) -> Iterator[Program]:
    scale = 64 if accelerator.is_emulated else 1
    random = np.random.default_rng(1)

    def numbers(*shape: int) -> Any:
        return (random.random(shape, np.float32) + 1j * random.random(shape, np.float32)).astype(np.complex64)

    # Powers of two, other small factors, primes, two and three launches of tiles.
    for n, rows in (
        (1024, 65536), (4096, 16384), (8192, 8192), (1000, 65536), (17, 1 << 22), (1021, 65536), (16411, 4096),
        (65536, 1024), (1 << 20, 64), (1 << 26, 1),
    ):  # fmt: skip
        if n > 1 << 20 and accelerator.is_emulated:
            continue
        yield Program(
            f"fft of rows of {n}", (numbers(max(rows // scale, 1), n),), fft.fft, np.fft.fft,
            lambda a: torch.fft.fft(a), agrees=_agrees,
        )  # fmt: skip
    yield Program(
        "fft of columns of 1000", (numbers(1000, 65536 // scale),), lambda a: fft.fft(a, axis=0),
        lambda a: np.fft.fft(a, axis=0), lambda a: torch.fft.fft(a, dim=0), agrees=_agrees,
    )  # fmt: skip
    reals = random.random((16384 // scale, 4096), np.float32)
    yield Program(
        "rfft of rows of 4096", (reals,), fft.rfft, np.fft.rfft, lambda a: torch.fft.rfft(a), agrees=_agrees,
    )  # fmt: skip
    yield Program(
        "irfft to rows of 4096", (np.fft.rfft(reals).astype(np.complex64),), fft.irfft, np.fft.irfft,
        lambda a: torch.fft.irfft(a), agrees=_agrees,
    )  # fmt: skip
    side = 8192 // int(scale**0.5)
    yield Program(
        f"fft2 of {side} x {side}", (numbers(side, side),), fft.fft2, np.fft.fft2, lambda a: torch.fft.fft2(a),
        agrees=_agrees,
    )  # fmt: skip
    side = 512 // round(scale ** (1 / 3))
    yield Program(
        f"fftn of {side} x {side} x {side}", (numbers(side, side, side),), fft.fftn, np.fft.fftn,
        lambda a: torch.fft.fftn(a), agrees=_agrees,
    )  # fmt: skip


def _agrees(found: Any, expected: Any) -> bool:
    """Whether the error is small in the L2 norm."""
    return bool(np.linalg.norm((found - expected).ravel()) < 1e-6 * np.linalg.norm(expected.ravel()))


def measure(options: Options) -> Iterator[Measurement]:
    """Seconds of each call until the device has finished; results are compared with numpy's."""
    return measure_programs(GROUP, options, _programs)
