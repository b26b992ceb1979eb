"""Tile programs with what the race prover says of them: ``races_proved``, ``races_found`` and ``races_left_open``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.check.race_prover.report import RaceVerdicts
from vkamp.dispatch.domain import domain_of
from vkamp.dispatch.preparing import prepare

F32, I32 = np.float32, np.int32
POINT = np.dtype([("x", F32), ("y", F32, (2,))])
GRID = np.dtype([("cells", F32, (2, 3)), ("mass", F32)])
PRECISE = np.dtype([("mass", np.float64), ("spin", amp.double2)])
BODY = np.dtype([("mass", F32), ("spins", amp.float2, (2,))])


def floats(*shape: int) -> amp.array_view:
    return amp.array_view(np.zeros(shape, F32))


def whole(*shape: int) -> amp.array_view:
    return amp.array_view(np.zeros(shape, I32))


LINE, MATRIX = amp.extent(1536), amp.extent(48, 80)


def verdicts(kernel: Any, domain: Any, *args: Any) -> RaceVerdicts:
    """What the compiler knows of the kernel's races; nothing is warned of."""
    view = amp.accelerator("reference").default_view
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return prepare(view, domain_of(domain), kernel, args, {}).compiled.races


Program = tuple[Any, Any, tuple[Any, ...]]
PROVED: list[Program] = []
FOUND: list[tuple[Program, str, str]] = []
OPEN: list[tuple[Program, set[str]]] = []


def proved(domain: Any, *args: Any) -> Callable[[Any], Any]:
    """A kernel of which everything is proved."""

    def note(kernel: Any) -> Any:
        PROVED.append((amp.kernel(kernel), domain, args))
        return kernel

    return note


def found(what: str, line: str, domain: Any, *args: Any) -> Callable[[Any], Any]:
    """A kernel that is rejected: the beginning of the message, and the source at the caret."""

    def note(kernel: Any) -> Any:
        FOUND.append(((amp.kernel(kernel), domain, args), what, line))
        return kernel

    return note


def left_open(names: str, domain: Any, *args: Any) -> Callable[[Any], Any]:
    """A kernel for which the compiler does not know whether these race."""

    def note(kernel: Any) -> Any:
        OPEN.append(((amp.kernel(kernel), domain, args), set(names.split())))
        return kernel

    return note


@amp.func
def put(values, i, x):
    values[i] = x


@amp.func
def sum_of(t_idx, values):
    stride = 32
    while stride > 0:
        if t_idx.local[0] < stride:
            values[t_idx.local] += values[t_idx.local[0] + stride]
        t_idx.barrier.wait()
        stride //= 2
    return values[0]
