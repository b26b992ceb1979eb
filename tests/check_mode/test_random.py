"""Random kernels: what a device finds is what the reference accelerator finds, which sees every race that happens."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.static_analysis.random_kernels import random_kernel
from tests.thinned import usual
from vkamp import pipeline, sim
from vkamp.artifacts import Domain
from vkamp.check.race_prover.report import RaceVerdicts
from vkamp.check.uniformity import check_uniformity
from vkamp.dispatch import checking
from vkamp.dispatch.preparing import KernelPrograms, PreparedLaunch
from vkamp.dispatch.targets import target_for
from vkamp.errors import CompileError, Span
from vkamp.ir import nodes
from vkamp.ir.requirements import access, contiguous

#: Drivers take seconds to compile one.
KERNELS = usual(range(16), range(10))
#: Wrong once: lavapipe made barriers of the fences in check mode's functions, which threads reach as they may.
FOUND = [2007, 2009]
Found = set[tuple[str, frozenset[int]]]


def with_lines(kernel: nodes.Kernel) -> nodes.Kernel:
    """The kernel with a separate line for every node."""
    lines = itertools.count(1)

    def change(node: nodes.Node) -> nodes.Node:
        line = next(lines)
        return dataclasses.replace(node, span=Span("kernel.py", line, 0, line, 1, "kernel"))

    def function(each: nodes.Function) -> nodes.Function:
        body = tuple(nodes.transform(statement, change) for statement in each.body)
        return dataclasses.replace(each, body=body)  # type: ignore[arg-type]

    functions = tuple(function(each) for each in kernel.functions)
    return dataclasses.replace(kernel, functions=functions, body=function(kernel.body))


def found(report: amp.Report) -> Found:
    return {(f.kind, frozenset(span.line for span in f.locations)) for f in report.findings}


def both(view: amp.accelerator_view, kernel: nodes.Kernel, n: int) -> tuple[Found, Found]:
    """What the reference accelerator and a device find in a launch."""
    assert kernel.tile is not None
    domain = (4 * kernel.tile[0], *(2 * size for size in kernel.tile[1:]))
    memory = {
        "data": np.arange(64, dtype=np.int32) % 3,
        "matrix": np.zeros((16, 16), np.float32),
        "averages": np.zeros((16, 16), np.float32),
        "counts": np.zeros(16, np.uint32),
    }
    wanted, _ = sim.check(kernel, domain, {name: values.copy() for name, values in memory.items()}, {"n": n})
    containers = {b.name: amp.array_view(memory[b.name]) for b in kernel.buffers}
    arguments = pipeline.Arguments(containers=containers, scalars={"n": n})  # type: ignore[arg-type]
    whole = pipeline.FullKernel(kernel, RaceVerdicts)
    compiled = pipeline.Compiled(
        kernel.name, kernel.span, access(kernel), contiguous(kernel), (), (), {}, whole=lambda: whole
    )
    over = Domain(domain, kernel.tile)
    target = target_for(over, view)
    executable = pipeline.executable(compiled, target)
    request: Any = None
    programs = KernelPrograms(compiled)
    prepared = PreparedLaunch(view, over, None, request, arguments, programs, target, executable)
    return found(wanted), found(checking.report_of(prepared))


def compared(accelerator_view: amp.accelerator_view, seed: int) -> None:
    kernel = with_lines(random_kernel(seed))
    try:
        check_uniformity(kernel)
    except CompileError:
        return
    for n in (0, 5):
        wanted, seen = both(accelerator_view, kernel, n)
        # Of many accesses to one word in one interval a device keeps a few: it may report fewer pairs.
        assert seen <= wanted
        assert bool(seen) == bool(wanted)


@pytest.mark.accelerators("swiftshader", "llvmpipe")
@pytest.mark.spread(2)
@pytest.mark.parametrize("seed", KERNELS)
def test_devices_find_what_the_reference_finds(accelerator_view: amp.accelerator_view, seed: int) -> None:
    compared(accelerator_view, seed)


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize("seed", FOUND)
def test_kernels_that_a_driver_had_wrong(accelerator_view: amp.accelerator_view, seed: int) -> None:
    compared(accelerator_view, seed)
