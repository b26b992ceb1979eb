"""The compiler's passes, in order: a request becomes a checked IR kernel, and that an executable.

Python function -> IR -> verified -> uniformity -> races -> GLSL -> (at first use) SPIR-V
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vkamp import emit, front, spirv
from vkamp.artifacts import Executable, Target
from vkamp.check.races import check_certain_races
from vkamp.check.uniformity import check_uniformity
from vkamp.emit import choose_target, grid, tile_counts
from vkamp.errors import RaceWarning
from vkamp.front import Arguments, Request, collect, make_request
from vkamp.front.context import Guard
from vkamp.front.source import CodeKey
from vkamp.ir.access import Access, access, contiguous
from vkamp.ir.nodes import Kernel
from vkamp.ir.text import text
from vkamp.ir.verify import verify

__all__ = [
    "Arguments",
    "CodeKey",
    "Compiled",
    "Guard",
    "Request",
    "choose_target",
    "collect",
    "compile_kernel",
    "executable",
    "grid",
    "ir_text",
    "make_request",
    "tile_counts",
]


@dataclass(frozen=True)
class Compiled:
    """A kernel that passed every check, what it does with its containers, and what it was specialised for."""

    kernel: Kernel
    access: Mapping[str, Access]
    #: Containers whose last dimension must have no gaps.
    contiguous: frozenset[str]
    guards: tuple[Guard, ...]
    constants: Mapping[str, Any]


def compile_kernel(request: Request, captured: Mapping[str, Any]) -> Compiled:
    """Runs the front end and the checks; raises their errors, warns of stores that race."""
    lowered = front.lower(request, captured)
    kernel = lowered.kernel
    if os.environ.get("VKAMP_VERIFY"):
        verify(kernel)
    uniformity = check_uniformity(kernel)
    # Races are judged by what is uniform, so that a single thread's update passes.
    for finding in check_certain_races(kernel, uniformity):
        warnings.warn_explicit(finding.text, RaceWarning, finding.span.file, finding.span.line)
    return Compiled(kernel, access(kernel), contiguous(kernel), lowered.guards, lowered.constants)


def executable(kernel: Kernel, target: Target) -> Executable:
    """The program for a kind of device; its SPIR-V is made when an engine asks for it."""
    shader = emit.emit(kernel, target)
    return Executable(shader, kernel, functools.partial(spirv.compile, name=kernel.name))


def ir_text(program: Executable) -> str:
    """The IR of a program, as text for people."""
    assert isinstance(program.module, Kernel)
    return text(program.module)
