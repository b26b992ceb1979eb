"""The compiler's passes, in order: a request becomes a checked IR kernel, and that an executable.

Python function -> IR -> verified -> uniformity -> races -> (for CPU devices) threads as loops (:mod:`vkamp.lower`) ->
legalized -> GLSL (:mod:`vkamp.pipeline.passes`) -> (at first use) SPIR-V

What only check mode needs is in :mod:`vkamp.pipeline.checked`, so that other launches do not load it.
"""

from __future__ import annotations

import ast
import functools
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from vkamp import lower
from vkamp.artifacts import MATRICES, Executable, Target
from vkamp.check.blocks import RowAccess
from vkamp.check.blocks import outside_of_blocks as accesses_outside
from vkamp.check.blocks import writes_everything as writes_everything
from vkamp.check.race_prover.report import RaceVerdicts, judge_races
from vkamp.check.races import RaceFinding, check_certain_races
from vkamp.check.reuse import check_reuse
from vkamp.check.uniformity import Uniformity, check_uniformity
from vkamp.errors import BarrierWarning, CompileError, InternalCompilerError, RaceWarning, Span, is_of_package
from vkamp.front import Request
from vkamp.front.context import Context
from vkamp.front.lower import Lowered
from vkamp.front.lower import lower as lower_function
from vkamp.ir import nodes as ir
from vkamp.ir.matrix_forms import thread_by_thread
from vkamp.ir.passes import (
    OPTIONAL,
    is_verifying,
    optional,
    recorded,
    required,
    switched_off,
    verify_if_asked,
    warn,
    without_optional,
)
from vkamp.ir.requirements import (
    access,
    contiguous,
    has_float_atomics,
    has_matrices,
    has_packed_products,
    least_extents,
    matrix_products,
    subgroup_form,
    subgroup_uses,
    types_in_use,
    wide_operations,
)
from vkamp.ir.tables import tables_of, without_item_indices
from vkamp.ir.text import text
from vkamp.ir.types import NAMED, Array
from vkamp.ir.unroll import limited, unrolled
from vkamp.legalize.constant_functions import without_constant_functions
from vkamp.pipeline import own_kernels
from vkamp.pipeline.compiled import Compiled, FullKernel, generated_spirv
from vkamp.pipeline.passes import shader_of
from vkamp.progress import hide

_T = TypeVar("_T")
#: The duration of a driver's compilation that is acceptable (seconds), and how much faster another form must compile to
#: be chosen.
_LONG, _LESS = 2.0, 0.5


def compile_kernel(request: Request, captured: Mapping[str, Any]) -> Compiled:
    """Runs the front end and the checks; raises their errors, warns of stores that race and of barriers without use.

    What fails for another reason is an InternalCompilerError, or is left out with an InternalCompilerWarning.
    """
    code = request.function.__code__
    head = Span(code.co_filename, code.co_firstlineno, 0, code.co_firstlineno, 0)
    lowered = required(
        "front end", request.function.__name__, head, lambda: lower_function(request, captured), where=_place_in_kernel
    )
    kernel = lowered.kernel
    verify_if_asked(kernel)
    is_ours = _is_ours(request) and not is_verifying()
    if is_ours and not own_kernels.are_checked and _is_only_ours(kernel):
        return _required("facts", kernel, lambda: _compiled(kernel, lambda: _judged(kernel), lowered, False))
    # Each iteration of an unrolled loop is checked separately.
    copied = _required("unroller", kernel, lambda: unrolled(kernel))
    uniformity = _required("uniformity", kernel, lambda: check_uniformity(copied))
    _required("reused memory", kernel, lambda: check_reuse(copied, uniformity))
    # The check of races uses the uniformity, so that it accepts an update by a single thread.
    certain = _required("certain races", kernel, lambda: _certain_races(copied, uniformity))
    if kernel.tile is not None:
        for finding in certain:
            warn_of_race(finding)
    if is_ours:
        # Proofs take more than half of the time of a large kernel. The library's tests have read the advice.
        return _required(
            "facts", kernel, lambda: _compiled(kernel, lambda: _judged(kernel), lowered, bool(certain), certain)
        )
    with recorded() as failures:
        races = optional("races", kernel, lambda: judge_races(copied, uniformity), RaceVerdicts)
    for finding in races.advice:
        _warn(finding, BarrierWarning)
    warned = bool(certain or races.advice or failures)
    return _required("facts", kernel, lambda: _compiled(kernel, lambda: races, lowered, warned, certain))


def _certain_races(kernel: ir.Kernel, uniformity: Uniformity) -> tuple[CompileError | RaceFinding, ...]:
    """The findings; without tiles an error is one of them, as the launch may have a single thread."""
    try:
        return tuple(check_certain_races(kernel, uniformity))
    except CompileError as error:
        if kernel.tile is not None:
            raise
        return (error,)


def _is_ours(request: Request) -> bool:
    """Whether a kernel is vkamp's own."""
    return str(request.function.__module__).startswith("vkamp.")


def _is_only_ours(kernel: ir.Kernel) -> bool:
    """Whether a kernel has no statement of a function of the user."""
    return all(is_of_package(each.span.file) for each in kernel.statements())


def _judged(kernel: ir.Kernel) -> RaceVerdicts:
    """What is known of the races of a kernel that has passed the checks."""

    def judge() -> RaceVerdicts:
        copied = unrolled(kernel)
        return judge_races(copied, check_uniformity(copied))

    return optional("races", kernel, judge, RaceVerdicts)


def _compiled(
    kernel: ir.Kernel,
    judge: Callable[[], RaceVerdicts],
    lowered: Lowered,
    warned: bool,
    certain: tuple[CompileError | RaceFinding, ...] = (),
) -> Compiled:
    """A kernel with what launches must know of it."""
    whole = FullKernel(kernel, judge)
    return Compiled(
        name=kernel.name,
        span=kernel.span,
        access=access(kernel),
        contiguous=contiguous(kernel),
        least_extents=least_extents(kernel),
        guards=lowered.guards,
        constants=lowered.constants,
        subgroup_needs=subgroup_needs(kernel),
        types={kind.name: span for kind, span in types_in_use(kernel).items()},
        wide=wide_operations(kernel),
        float_atomics=has_float_atomics(kernel),
        packed_products=has_packed_products(kernel),
        matrices=matrix_products(kernel) if has_matrices(kernel) else None,
        sizes_in_loops=lower.sizes_in_loops(kernel),
        declared=_declared(kernel),
        tables=tables_of(kernel),
        loops=any(isinstance(each, (ir.For, ir.While)) for each in kernel.statements()),
        certain_races=() if kernel.tile is not None else certain,
        warned=warned,
        whole=lambda: whole,
    )


def _required(name: str, kernel: ir.Kernel, run: Callable[[], _T]) -> _T:
    return required(name, kernel.name, kernel.span, run)


def _place_in_kernel(error: Exception) -> Span | None:
    """The part of the kernel that the front end was at when it failed."""
    found: Span | None = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        node, context = frame.f_locals.get("node"), frame.f_locals.get("ctx")
        if isinstance(context, Context) and isinstance(node, (ast.stmt, ast.expr)):
            found = context.source.span(node)
    return found


def warn_of_race(finding: CompileError | RaceFinding) -> None:
    """Reports a race of a launch: raises what is an error, and warns of the rest."""
    if isinstance(finding, CompileError):
        raise finding.with_traceback(None)
    _warn(finding, RaceWarning)


def _warn(finding: RaceFinding, kind: type[Warning]) -> None:
    # A warning is printed where a terminal may just show what goes on.
    hide()
    warnings.warn_explicit(finding.text, kind, finding.span.file, finding.span.line)


def executable(kernel: ir.Kernel, target: Target) -> Executable:
    """The program for a kind of device; its SPIR-V is made when an engine asks for it.

    The reference accelerator does not need the shader, which is printed when somebody asks for it.
    """
    if not target.reference or is_verifying():
        return _printed(kernel, target)
    to_spirv = functools.partial(generated_spirv, name=kernel.name, quirks=target.quirks)
    return Executable(lambda: _printed(kernel, target).shader, lambda: kernel, to_spirv, identity=lambda: text(kernel))


def _printed(kernel: ir.Kernel, target: Target) -> Executable:
    """The program with its shader.

    Where it cannot be made, it is made without the passes that a kernel can do without.
    """
    try:
        return _executable(kernel, target)
    except InternalCompilerError as error:
        if switched_off() == frozenset(OPTIONAL):
            raise
        try:
            with without_optional():
                made = _executable(kernel, target)
        except InternalCompilerError:
            raise error from error.__cause__
        warn(error)
        return made


def _executable(kernel: ir.Kernel, target: Target) -> Executable:
    # A device does not check subscripts.
    source = without_constant_functions(without_item_indices(kernel))
    source = source if MATRICES in target.types else thread_by_thread(source)
    form, lowering = _lowered(source, target)
    shader = shader_of(form, target)
    to_spirv = functools.partial(generated_spirv, name=kernel.name, quirks=target.quirks)
    # The module is the program as it was written: the reference accelerator runs that.
    # Of other devices nobody asks for it.
    seconds = 0.0 if target.max_unrolled_statements is None else _driver_seconds(form, target)
    return Executable(lambda: shader, lambda: kernel, to_spirv, lowering, driver_seconds=seconds)


def _lowered(kernel: ir.Kernel, target: Target) -> tuple[ir.Kernel, str]:
    """The kernel with its threads lowered for the target, and the choice."""
    if target.lowering == "threads":
        return kernel, "threads"
    if "loops" in switched_off():
        return kernel, "threads: VKAMP_PASSES_OFF disables the pass for loops"
    failed = kernel, "threads: the lowering to loops failed, as a warning reports"
    return optional("loops", kernel, lambda: _as_loops(kernel, target), lambda: failed)


def _as_loops(kernel: ir.Kernel, target: Target) -> tuple[ir.Kernel, str]:
    try:
        if target.lowering == "auto" and not lower.waits(kernel):
            raise lower.NotLowerable("it has no barrier")
        form = lower.loops(kernel, target.lanes, target.aligned)
        if target.lowering == "auto" and _is_long(form, kernel, target):
            raise lower.NotLowerable("it has so many phases that the driver would take long to compile them")
        if target.lowering == "auto" and target.max_iterations is not None:
            count = lower.max_iterations(unrolled(form), {(name, dim): size for name, dim, size in target.sizes})
            # Legalization may add one iteration for a few loops (vkamp.legalize.quick_loops).
            if count is None or count + lower.loop_count(form) > target.max_iterations:
                # Those over the threads of a tile are the more likely to be too many.
                raise lower.NotLowerable(
                    f"the driver ends all loops after {target.max_iterations} iterations, and this kernel may need more"
                )
    except lower.NotLowerable as reason:
        return kernel, f"threads: {reason}"
    verify_if_asked(form)
    return form, "loops"


def _is_long(form: ir.Kernel, other: ir.Kernel, target: Target) -> bool:
    """Whether the driver would compile a form of a kernel for longer than people wait, and the other in much less."""
    seconds = _driver_seconds(form, target)
    return seconds > _LONG and _driver_seconds(other, target) < _LESS * seconds


def _driver_seconds(form: ir.Kernel, target: Target) -> float:
    """How long a CPU driver compiles a kernel, as guessed."""
    if target.max_unrolled_statements is not None:
        form = limited(form, target.max_unrolled_statements)
    return lower.effort(form).seconds


def subgroup_needs(kernel: ir.Kernel) -> tuple[tuple[str, str, Span], ...]:
    """The first use of each operation of subgroups."""
    found: dict[str, tuple[str, str, Span]] = {}
    for node in subgroup_uses(kernel):
        name = node.kind if isinstance(node, ir.SubgroupIndex) else node.name
        for operation in subgroup_form(node)[1]:
            found.setdefault(operation, (name, operation, node.span))
    return tuple(found.values())


def _declared(kernel: ir.Kernel) -> dict[str, str]:
    kinds = {v.name: v.type.element for v in _arrays(kernel) if isinstance(v.type, Array)}
    return {name: kind.name for name, kind in kinds.items() if NAMED.get(getattr(kind, "name", "")) == kind}


def _arrays(kernel: ir.Kernel) -> Iterator[ir.Variable]:
    return (s.variable for s in ir.walk_statements(kernel.body.body) if isinstance(s, ir.Declare))


def declared_dtype(kernel: ir.Kernel, name: str) -> np.dtype[Any]:
    """The dtype of the elements of an array that a kernel declares."""
    kind = next(v.type for v in _arrays(kernel) if v.name == name)
    assert isinstance(kind, Array)
    return kind.element.dtype


def with_matrices(program: Executable) -> bool:
    """Whether a program has cooperative matrices, in the IR as it was written."""
    assert isinstance(program.module, ir.Kernel)
    return has_matrices(program.module)


def outside_of_blocks(kernel: ir.Kernel, rows: Mapping[str, int]) -> list[RowAccess]:
    """The accesses of a kernel outside of a thread's rows of its containers; see :mod:`vkamp.check.blocks`."""
    return list(accesses_outside(kernel, rows))


def ir_text(program: Executable) -> str:
    """The IR of a program, as text for people."""
    assert isinstance(program.module, ir.Kernel)
    return text(program.module)
