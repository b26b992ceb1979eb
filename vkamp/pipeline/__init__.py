"""From a request to an executable: by the compiler's passes, or from what another process has kept.

:mod:`vkamp.pipeline.compiler` has the passes.  It is loaded where something is compiled: a process whose kernels are
all kept on disk (:mod:`vkamp.pipeline.kernel_cache`) starts without it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from vkamp import prebuilt, spirv
from vkamp.artifacts import Executable, Target
from vkamp.edit.active import active_folder
from vkamp.errors import AmpError, CompileError, CompileTimeWarning, Span
from vkamp.front import Arguments as Arguments
from vkamp.front import Request as Request
from vkamp.front import collect as collect
from vkamp.front import make_request as make_request
from vkamp.front import varying
from vkamp.front.description import describe_request as describe_request
from vkamp.front.description import request_of as request_of
from vkamp.front.functors import is_functor as is_functor
from vkamp.front.functors import members_of as members_of
from vkamp.front.functors import slots_of_functor as slots_of_functor
from vkamp.front.guards import Guard as Guard
from vkamp.front.operators import captured as captured
from vkamp.front.operators import is_handed_over as is_handed_over
from vkamp.front.operators import is_of_library as is_of_library
from vkamp.front.operators import parts_of as parts_of
from vkamp.front.operators import plain_of as plain_of
from vkamp.front.signature import argument_of as argument_of
from vkamp.front.signature import builtins_of as builtins_of
from vkamp.front.signature import exactly as exactly
from vkamp.front.signature import part_of as part_of
from vkamp.front.source import CodeKey as CodeKey
from vkamp.front.varying import give_up as give_up
from vkamp.ir.passes import recorded
from vkamp.ir.types import NAMED
from vkamp.pipeline import kernel_cache
from vkamp.pipeline.compiled import Compiled as Compiled
from vkamp.pipeline.compiled import FullKernel as FullKernel
from vkamp.pipeline.compiled import generated_spirv as generated_spirv
from vkamp.pipeline.kernel_cache import rebind as rebind
from vkamp.pipeline.loading import compiler_module
from vkamp.progress import hide

#: Seconds of a driver's compilation that are not worth a warning, and the kernels that were warned of.
_PATIENCE = 5.0
_warned: set[tuple[str, str, int]] = set()


def compile_kernel(request: Request, captured: Mapping[str, Any], *, keep: bool) -> Compiled:
    """A request's kernel, with every error and warning of the compiler; from disk, where nothing has changed.

    ``keep``: whether the disk is read and written.
    """
    made = _compiled(request, captured, keep=keep)
    folder, name = active_folder(), request.function.__qualname__
    # A hand-edited shader is one of constants.
    if folder is None or name not in folder.by_kernel:
        varying.note(request, made.guards)
    return made


def _compiled(request: Request, captured: Mapping[str, Any], *, keep: bool) -> Compiled:
    artifacts = prebuilt.active() if keep else None
    if artifacts is not None:
        store = kernel_cache.KernelStore(artifacts)
        with store.described():
            found = _kept(request, captured, store)
            if found is not None:
                return found
            if artifacts.recording:
                return _record(request, captured, store, artifacts)
        artifacts.not_found[request.function.__name__] = kernel_cache.signature_text(request)
    store = kernel_cache.KernelStore()
    place = kernel_cache.place_of(request, store) if keep else None
    found = kernel_cache.kernel(place, request, captured, store) if place is not None else None
    if found is not None:
        return found
    with _explained(request.function.__name__):
        compiled: Compiled = compiler_module().compile_kernel(request, captured)
    return compiled if place is None else kernel_cache.keep_kernel(place, request, captured, compiled, store)


def report_races(compiled: Compiled) -> None:
    """Raises or warns of the races that a launch of several threads has for certain."""
    for finding in compiled.certain_races:
        compiler_module().warn_of_race(finding)


def load_early() -> None:
    """Loads the compiler and starts glslang, unless the user's cache has kernels of this version of vkamp.

    A process that finds its kernels in the cache needs neither.
    """
    if prebuilt.active() is None and not kernel_cache.has_kept(kernel_cache.KernelStore()):
        spirv.start()
        compiler_module()


def _kept(request: Request, captured: Mapping[str, Any], store: kernel_cache.KernelStore) -> Compiled | None:
    place = kernel_cache.place_of(request, store)
    return None if place is None else kernel_cache.kernel(place, request, captured, store)


def _record(
    request: Request, captured: Mapping[str, Any], store: kernel_cache.KernelStore, artifacts: prebuilt.Artifacts
) -> Compiled:
    """Compiles a kernel and keeps it in the artifacts; notes why that cannot be."""
    compiled: Compiled = compiler_module().compile_kernel(request, captured)
    place = kernel_cache.place_of(request, store)
    if place is not None:
        compiled = kernel_cache.keep_kernel(place, request, captured, compiled, store)
    if compiled.key is None:
        artifacts.not_kept[compiled.name] = (
            "the compiler warned of it"
            if compiled.warned
            else "it is a method of an object, or uses objects that only this process has"
        )
    return compiled


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Where a kernel has no source and the artifacts have no such kernel, the error says so."""
    artifacts = prebuilt.active()
    try:
        yield
    except CompileError as error:
        if artifacts is None or error.error_code != "VKA102":
            raise
        raise AmpError(f"{artifacts.missing(name)}; its source, to compile it, is not available either") from error


def executable(compiled: Compiled, target: Target) -> Executable:
    """The program for a kind of device; its SPIR-V is made when an engine asks for it.

    Warns where the device's driver will take long for it, once for each kernel.
    """
    found = kernel_cache.program(compiled, target)
    if found is None:
        with recorded() as failures, _explained(compiled.name):
            found = compiler_module().executable(compiled.kernel, target)
        if not failures:
            # What was made without a pass is made again, and warned of again.
            kernel_cache.keep_program(compiled, target, found)
    # Only for CPU drivers is the amount of unrolling limited.
    if target.max_unrolled_statements is not None and found.driver_seconds > _PATIENCE:
        _warn_of_driver(compiled, found.driver_seconds)
    return found


def _warn_of_driver(compiled: Compiled, seconds: float) -> None:
    place = compiled.name, compiled.span.file, compiled.span.line
    if place in _warned:
        return
    _warned.add(place)
    hide()
    warnings.warn_explicit(
        f"{compiled.name}: the driver of this CPU device will take about {seconds:.0f} s to compile this kernel, in "
        "each process that launches it, because its text is long after functions are inlined. Make a loop "
        "of what repeats, launch parts of it one after the other, or run it on a GPU.",
        CompileTimeWarning,
        *place[1:],
    )


def declared_dtype(compiled: Compiled, name: str) -> np.dtype[Any]:
    """The element dtype of an array that a kernel declares."""
    known = NAMED.get(compiled.declared.get(name, ""))
    found: np.dtype[Any] = compiler_module().declared_dtype(compiled.kernel, name) if known is None else known.dtype
    return found


def with_matrices(program: Executable) -> bool:
    """Whether a program has cooperative matrices, in the IR as it was written."""
    return bool(compiler_module().with_matrices(program))


def outside_of_blocks(compiled: Compiled, rows: Mapping[str, int]) -> list[tuple[str, bool, Span]]:
    """The accesses of a kernel that it must not make if its domain is cut into blocks: container, whether it is a
    write, and where. ``rows``: for each container that is cut, how many rows after its own a thread may read."""
    return [tuple(each) for each in compiler_module().outside_of_blocks(compiled.kernel, rows)]


def writes_everything(compiled: Compiled) -> frozenset[str]:
    """The containers in which each thread certainly writes the element at its own index before it reads any."""
    found: frozenset[str] = compiler_module().writes_everything(compiled.kernel)
    return found


def ir_text(program: Executable) -> str:
    """The IR of a program, as text for people."""
    return str(compiler_module().ir_text(program))
