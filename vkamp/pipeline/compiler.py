"""The compiler's passes, in order: a request becomes a checked IR kernel, and that an executable.

Python function -> IR -> verified -> uniformity -> races -> (for CPU devices) threads as loops -> GLSL -> (at first
use) SPIR-V

What only check mode needs is in :mod:`vkamp.pipeline.checked`, so that other launches do not load it.
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Mapping
from typing import Any

from vkamp import emit, lower, spirv
from vkamp.artifacts import Executable, Target
from vkamp.check.conflicts import judge_races
from vkamp.check.races import RaceFinding, check_certain_races
from vkamp.check.uniformity import check_uniformity
from vkamp.errors import BarrierWarning, RaceWarning, Span
from vkamp.front import Request
from vkamp.front.lower import lower as lower_function
from vkamp.ir.access import access, contiguous
from vkamp.ir.nodes import Kernel, SubgroupIndex
from vkamp.ir.subgroups import SUBGROUPS
from vkamp.ir.text import text
from vkamp.ir.usage import types_in_use, wide_operations
from vkamp.ir.uses import subgroup_uses
from vkamp.pipeline.compiled import Compiled, Whole
from vkamp.progress import hide

__all__ = [
    "compile_kernel",
    "executable",
    "ir_text",
    "subgroup_needs",
    "verify_if_asked",
]


def compile_kernel(request: Request, captured: Mapping[str, Any]) -> Compiled:
    """Runs the front end and the checks; raises their errors, warns of stores that race and of barriers without use."""
    lowered = lower_function(request, captured)
    kernel = lowered.kernel
    verify_if_asked(kernel)
    uniformity = check_uniformity(kernel)
    # Races are judged by what is uniform, so that a single thread's update passes.
    certain = check_certain_races(kernel, uniformity)
    for finding in certain:
        _warn(finding, RaceWarning)
    races = judge_races(kernel, uniformity)
    for finding in races.advice:
        _warn(finding, BarrierWarning)
    whole = Whole(kernel, races)
    return Compiled(
        name=kernel.name,
        span=kernel.span,
        access=access(kernel),
        contiguous=contiguous(kernel),
        guards=lowered.guards,
        constants=lowered.constants,
        subgroup_needs=subgroup_needs(kernel),
        types={kind.name: span for kind, span in types_in_use(kernel).items()},
        wide=wide_operations(kernel),
        sizes_in_loops=lower.sizes_in_loops(kernel),
        warned=bool(certain or races.advice),
        whole=lambda: whole,
    )


def verify_if_asked(kernel: Kernel) -> None:
    """Verifies the IR where the environment variable ``VKAMP_VERIFY`` asks for it."""
    if os.environ.get("VKAMP_VERIFY"):
        # Imported here: it is for vkamp's own tests.
        from vkamp.ir.verify import verify

        verify(kernel)


def _warn(finding: RaceFinding, kind: type[Warning]) -> None:
    # A warning is printed where a terminal may just show what goes on.
    hide()
    warnings.warn_explicit(finding.text, kind, finding.span.file, finding.span.line)


def executable(kernel: Kernel, target: Target) -> Executable:
    """The program for a kind of device; its SPIR-V is made when an engine asks for it."""
    form, lowering = _lowered(kernel, target)
    shader = emit.emit(form, target)
    to_spirv = functools.partial(spirv.compile, name=kernel.name, straight="counted_paths" in target.quirks)
    # The module is the program as it was written: the reference accelerator runs that.
    return Executable(shader, lambda: kernel, to_spirv, lowering)


def _lowered(kernel: Kernel, target: Target) -> tuple[Kernel, str]:
    """The kernel with its threads as the target wants them, and what was chosen."""
    if target.lowering == "threads":
        return kernel, "threads"
    try:
        if target.lowering == "auto" and not lower.waits(kernel):
            raise lower.KeepsThreads("it has no barrier")
        form = lower.loops(kernel, target.lanes, target.aligned)
        if target.lowering == "auto" and lower.is_long(form):
            raise lower.KeepsThreads("it has so many phases that the driver would take long to compile them")
        if target.lowering == "auto" and target.most_turns is not None:
            count = lower.turns(form, {(name, dim): size for name, dim, size in target.sizes})
            if count is None or count > target.most_turns:
                # Those over the threads of a tile are the more likely to be too many.
                raise lower.KeepsThreads(
                    f"the driver ends all loops after {target.most_turns} iterations, and there may be more"
                )
    except lower.KeepsThreads as reason:
        return kernel, f"threads: {reason}"
    verify_if_asked(form)
    return form, "loops"


def subgroup_needs(kernel: Kernel) -> tuple[tuple[str, str, Span], ...]:
    """The first use of each operation of subgroups."""
    found: dict[str, tuple[str, str, Span]] = {}
    for node in subgroup_uses(kernel):
        name = node.kind if isinstance(node, SubgroupIndex) else node.name
        for operation in ("basic",) if isinstance(node, SubgroupIndex) else SUBGROUPS[node.name].needs:
            found.setdefault(operation, (name, operation, node.span))
    return tuple(found.values())


def ir_text(program: Executable) -> str:
    """The IR of a program, as text for people."""
    assert isinstance(program.module, Kernel)
    return text(program.module)
