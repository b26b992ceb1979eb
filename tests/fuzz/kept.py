"""Kernels that random runs found, each with the values that must come out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import vkamp as amp
from tools.fuzz.run import Failure, Loaded, compare, quietly
from tools.fuzz.tree import Container, Program

__all__ = ["Case", "agrees", "inf", "nan"]

# As arrays' values are printed.
inf, nan = math.inf, math.nan


@dataclass(frozen=True)
class Case:
    """A launch: what is handed to the kernel, and every written container's values after it."""

    seed: int
    extent: tuple[int, ...]
    tile: tuple[int, ...] | None
    containers: list[Container]
    scalars: dict[str, tuple[Any, str]]
    constants: dict[str, int]
    expected: dict[str, Any]


def agrees(view: amp.accelerator_view, kernel: Any, case: Case, names: dict[str, Any]) -> None:
    """Runs the kernel and compares what it wrote."""
    program = Program(
        case.seed, False, case.extent, case.tile, [], [], case.containers, case.scalars, case.constants, []
    )
    loaded = Loaded(program, "", kernel, names)
    containers = loaded.containers(view)
    with quietly():
        amp.parallel_for_each(view, loaded.domain(), kernel, *containers, *loaded.scalars(), **case.constants)
    actual = {c.name: np.array(a) for c, a in zip(case.containers, containers, strict=True) if c.written}
    expected = {name: _array(case.expected[name], value) for name, value in actual.items()}
    assert expected, "a kernel writes something"
    failure: Failure | None = compare(program, expected, actual, view.accelerator.description)
    assert failure is None, failure.message


def _array(values: Any, like: Any) -> Any:
    """Nested lists, with structs as tuples, as an array like another."""
    made = np.array(_rows(values, like.ndim), like.dtype)
    return made.reshape(like.shape)


def _rows(values: Any, depth: int) -> Any:
    return values if depth == 0 else [_rows(v, depth - 1) for v in values]
