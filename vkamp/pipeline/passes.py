"""The passes from a checked kernel to a shader, in order, each with its reason."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from vkamp.artifacts import MATRICES, Pieces, Shader, Target
from vkamp.emit import emit
from vkamp.errors import UnsupportedFeatureError, diagnostic
from vkamp.ir import nodes as ir
from vkamp.ir.matrix_forms import of_device, thread_by_thread
from vkamp.ir.narrow_types import DeviceTypes
from vkamp.ir.passes import optional, required, verify_if_asked
from vkamp.ir.requirements import has_float_atomics, has_matrices, types_in_use
from vkamp.ir.types import Array
from vkamp.ir.unroll import limited
from vkamp.legalize.atomic_updates import without_float_atomics
from vkamp.legalize.bind_arrays import bind_arrays
from vkamp.legalize.constants import without_constant_operations
from vkamp.legalize.copy_propagation import direct_results, without_uniform_asserts
from vkamp.legalize.early_exits import plain_exits
from vkamp.legalize.endless_loops import with_conditions
from vkamp.legalize.equal_functions import without_copies
from vkamp.legalize.kept_barriers import kept_barriers
from vkamp.legalize.launch_elements import read_once
from vkamp.legalize.lower_addresses import lower_places, memory_elements
from vkamp.legalize.narrow_floats import widened
from vkamp.legalize.narrow_types import in_device_types
from vkamp.legalize.packed_vectors import with_packed_vectors
from vkamp.legalize.pieces import in_pieces
from vkamp.legalize.quick_loops import quick_loops
from vkamp.legalize.quotients import split_quotients
from vkamp.legalize.shared_memory import with_shared_memory
from vkamp.legalize.structs import split_structs
from vkamp.legalize.undefined_operations import without_undefined_operations
from vkamp.legalize.word_parts import in_words


def shader_of(kernel: ir.Kernel, target: Target) -> Shader:
    """The GLSL compute shader of a checked ``kernel`` for ``target``, with the layout of what a launch must give it.

    Deterministic: equal kernels and targets give equal text (the comments are the lines of the Python source as it is
    now).  UnsupportedFeatureError for a struct that GLSL cannot lay out, an atomic that it lacks, private arrays that
    are too large, and for ``print`` and ``breakpoint`` on a device.
    """
    if not target.reference:
        _refuse_debugging(kernel)
    if MATRICES in target.types and not has_matrices(kernel):
        # In check mode the matrices of a kernel are arrays of each thread, also on devices that have others.
        target = dataclasses.replace(target, types=target.types - {MATRICES})
    legal, pieces = legalized(kernel, target)
    return required("printer", legal.name, legal.span, lambda: emit(legal, target, pieces))


def legalized(kernel: ir.Kernel, target: Target) -> tuple[ir.Kernel, Pieces | None]:
    """The kernel as GLSL can say it for a device, and the pieces of several elements that its threads have."""
    types = DeviceTypes(target.types)
    # A device may lack cooperative matrices.
    form = of_device if MATRICES in target.types else thread_by_thread
    kernel = _must("matrices", kernel, form)
    # GLSL copies arrays that are arguments: a function with a tile_static array is made once for each array.
    kernel = _must("places", kernel, bind_arrays)
    updates_floats = has_float_atomics(kernel)
    # GLSL has no views. Floats that are updated atomically are words, where the device has no atomics of floats.
    kernel = _must("places", kernel, lambda k: lower_places(k, target.types))
    has_narrow_types = any(kind.is_narrow for kind in types_in_use(kernel))
    # Nor arrays that share memory.
    kernel = _must("places", kernel, with_shared_memory)
    # A struct with types that the device lacks has another layout in buffers than in variables.
    if has_narrow_types:
        kernel = _must("places", kernel, lambda k: split_structs(k, types))
    # Memory is fastest in accesses of 16 bytes.  What follows sees the calls for the elements of a piece.
    single = kernel
    kernel, pieces = optional("pieces", single, lambda: in_pieces(single, target), lambda: (single, None))
    verify_if_asked(kernel, "lowered", single)
    if target.private_bytes is not None:
        _check_private(kernel, types, target.private_bytes)
    # A driver does not know which reads of memory always give the same.
    kernel = _may("elements", kernel, read_once, lambda k: k)
    # Nor which sums cannot wrap.
    kernel = _may("quotients", kernel, split_quotients, lambda k: k)
    # Temporaries of the front end hide what a person would write; devices have no assertions of uniformity.
    kernel = _may("results", kernel, direct_results, without_uniform_asserts)
    # Some drivers unroll slowly, and no loops around others.
    if target.max_unrolled_statements is not None:
        most = target.max_unrolled_statements
        kernel = _must("places", kernel, lambda k: limited(k, most))
    # GLSL's compiler computes with constants otherwise than a device does.  Behind what makes constants.
    kernel = _must("places", kernel, without_constant_operations)
    # Functions that constants made different may be equal by now.
    kernel = _must("places", kernel, without_copies)
    # Drivers' faults: both of CPUs lose values of loops without a condition; lavapipe leaves loops too early, merges
    # branches across barriers, and takes long for many loops.
    if "early_exits" in target.quirks:
        kernel = _must("places", kernel, plain_exits)
    if "endless_loops" in target.quirks:
        kernel = _must("places", kernel, with_conditions)
    if "merged_branches" in target.quirks:
        kernel = _must("places", kernel, kept_barriers)
    if "loops_in_a_row" in target.quirks:
        kernel = _must("places", kernel, quick_loops)
    # A device may lack arithmetic of 16-bit floats.  Behind what counts operations, of which this makes more.
    if has_narrow_types:
        kernel = _must("places", kernel, lambda k: widened(k, types))
    # GLSL orders no bools, and SPIR-V leaves quotients by 0.0 undefined.
    kernel = _must("places", kernel, without_undefined_operations)
    return _in_memory(kernel, types, updates_floats=updates_floats, has_narrow_types=has_narrow_types), pieces


def _in_memory(kernel: ir.Kernel, types: DeviceTypes, *, updates_floats: bool, has_narrow_types: bool) -> ir.Kernel:
    """The kernel with the memory that GLSL has."""
    # GLSL sees a buffer as an array of one dimension.  Late, for the passes before know containers by their indices.
    kernel = _must("places", kernel, memory_elements)
    # Nor atomics of floats, nor parts of words.
    if updates_floats:
        kernel = _must("places", kernel, without_float_atomics)
    if has_narrow_types:
        kernel = _must("places", kernel, lambda k: in_words(k, types))
        # Nor values of 8 bits, nor of 16 where the device lacks them.
        kernel = _must("places", kernel, lambda k: in_device_types(k, types))
    # Nor short vectors as close together as numpy's.
    kernel = _must("places", kernel, with_packed_vectors)
    return kernel


def _must(name: str, kernel: ir.Kernel, run: Callable[[ir.Kernel], ir.Kernel]) -> ir.Kernel:
    """The kernel after a pass that it needs, verified under test."""
    made = required(name, kernel.name, kernel.span, lambda: run(kernel))
    verify_if_asked(made, "lowered", kernel)
    return made


def _may(
    name: str,
    kernel: ir.Kernel,
    run: Callable[[ir.Kernel], ir.Kernel],
    otherwise: Callable[[ir.Kernel], ir.Kernel],
) -> ir.Kernel:
    """The kernel after a pass that may be left out, verified under test."""
    made = optional(name, kernel, lambda: run(kernel), lambda: otherwise(kernel))
    verify_if_asked(made, "lowered", kernel)
    return made


def _check_private(kernel: ir.Kernel, types: DeviceTypes, most: int) -> None:
    """Refuses private arrays that are too large together; a function's exist once for each call of it."""
    sizes: dict[str, int] = {}
    for function in (*kernel.functions, kernel.body):
        arrays = [v for v in (*function.params, *function.variables) if isinstance(v.type, Array)]
        called = [s.function for s in ir.walk_statements(function.body) if isinstance(s, ir.Call)]
        sizes[function.name] = total = sum(types.size(v.type) for v in arrays) + sum(sizes[name] for name in called)
        if total > most:
            largest = max(arrays, key=lambda v: types.size(v.type), default=None)
            raise UnsupportedFeatureError(
                f"{kernel.name}: the private arrays of a thread have {total} bytes, and this device takes {most}: "
                "keep them in a container, or use another accelerator",
                span=function.span if largest is None else largest.span,
            )


def _refuse_debugging(kernel: ir.Kernel) -> None:
    """What a device cannot do is an error, not left out."""
    for function in (*kernel.functions, kernel.body):
        for statement in ir.walk_statements(function.body):
            if isinstance(statement, ir.Aside):
                raise diagnostic("VKA502", statement.span, name=type(statement).__name__.lower())
