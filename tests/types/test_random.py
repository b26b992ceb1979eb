"""Random expressions over elements of all types: every device against the reference accelerator, bit by bit."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.types.programs import identical, launched
from tests.types.random_kernels import SIZE, SMALL, WIDE, kernel_of


def _values(generator: np.random.Generator, kind: str) -> np.ndarray[Any, Any]:
    if kind.startswith("float"):
        return (generator.normal(size=SIZE) * 10.0 ** generator.integers(-2, 3, SIZE)).astype(kind)
    info = np.iinfo(kind)
    values = generator.integers(info.min, info.max, SIZE, dtype=kind, endpoint=True)
    values[: SIZE // 2] = generator.integers(0, 100, SIZE // 2)
    return values


def _agrees(view: amp.accelerator_view, seed: int, types: tuple[str, ...]) -> None:
    kernel, outs = kernel_of(seed, types)
    generator = np.random.default_rng(seed)
    inputs = [_values(generator, kind) for _ in "abc" for kind in types]
    results = [np.zeros(SIZE, kind) for kind in outs]
    reference = amp.accelerator("reference").default_view
    expected = launched(reference, amp.extent(SIZE), kernel, *inputs, *results)[-6:]
    found = launched(view, amp.extent(SIZE), kernel, *inputs, *results)[-6:]
    for k, (one, other) in enumerate(zip(found, expected, strict=True)):
        identical(one, other, linecache.getline(kernel.function.__code__.co_filename, k + 2))


@pytest.mark.accelerators("drivers")
@pytest.mark.parametrize("seed", range(8))
def test_small_types(accelerator_view, seed):
    _agrees(accelerator_view, seed, SMALL)


@pytest.mark.accelerators("drivers")
@pytest.mark.parametrize("seed", range(100, 116))
def test_all_types(typed, seed):
    _agrees(typed, seed, WIDE)
