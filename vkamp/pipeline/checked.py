"""Check mode's part of the pipeline: the instrumented kernel, and reading what it reports."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from vkamp.check import report
from vkamp.check.instrument import REPORT as REPORT
from vkamp.check.instrument import Instrumented as Instrumented
from vkamp.check.instrument import instrument as _instrument
from vkamp.check.report import Where as Where
from vkamp.check.shadows import ShadowPlan as ShadowPlan
from vkamp.check.shadows import ShadowRegion as ShadowRegion
from vkamp.check.shadows import Shadows as Shadows
from vkamp.check.shadows import region_of as region_of
from vkamp.findings import Finding
from vkamp.ir.matrix_forms import thread_by_thread
from vkamp.ir.passes import required, verify_if_asked
from vkamp.ir.requirements import access
from vkamp.ir.unroll import with_loops
from vkamp.legalize.bind_arrays import bind_arrays
from vkamp.lower.trip_count import max_iterations
from vkamp.pipeline.compiled import Compiled, FullKernel
from vkamp.pipeline.compiler import subgroup_needs


def instrument(
    compiled: Compiled,
    left_out: frozenset[str] = frozenset(),
    *,
    proofs: bool = True,
    longest: int | None = None,
) -> tuple[Instrumented, Compiled]:
    """The kernel with check mode's instrumentation.

    ``left_out``: containers in which no races are looked for; ``proofs``: nor where the compiler has proved that there
    are none; ``longest``: the iterations after which the driver ends all loops of a thread.
    """
    proved = compiled.races.proved if proofs else frozenset()
    # Functions that take tile_static arrays come once for each, so that every access has a known variable.
    kernel = thread_by_thread(compiled.kernel)
    bound = bind_arrays(kernel)
    if longest is not None and (most := max_iterations(bound)) is not None and most < longest:
        longest = None
    made = required("check mode", kernel.name, kernel.span, lambda: _instrument(bound, proved, left_out, longest))
    # Each access is a call that drivers inline: with copies of the bodies of loops they compile for minutes.
    made = dataclasses.replace(made, kernel=with_loops(made.kernel))
    verify_if_asked(made.kernel)
    needs = subgroup_needs(made.kernel)
    whole = FullKernel(made.kernel, lambda: compiled.races)
    checked = dataclasses.replace(
        compiled, whole=lambda: whole, access=access(made.kernel), subgroup_needs=needs, key=None
    )
    return made, checked


def read_report(words: NDArray[np.uint32], made: Instrumented, where: Where) -> tuple[tuple[Finding, ...], list[str]]:
    """The findings of an instrumented kernel, and descriptions of what it could not check."""
    found, not_covered = report.decode(words, made.layout, made.sites, where)
    return found, [*made.not_covered, *not_covered]
