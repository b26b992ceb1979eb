"""Whether a device can run a kernel: its types, its tile, its memory, its subgroups.

C++ AMP's model: docs/conformance.md, sections 4, 9 and 15 (double precision is optional for an accelerator).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from vkamp.artifacts import MATRICES, Domain, Executable, MatrixShape
from vkamp.dispatch.targets import is_reference
from vkamp.errors import InvalidComputeDomainError, Span, UnsupportedFeatureError, diagnostic, name_at
from vkamp.pipeline import Compiled
from vkamp.run.accelerators import accelerator_view, queue_of
from vkamp.run.engine import SUBGROUP_OPERATIONS, DeviceInfo, Limits

#: The device features that types need, by vkamp's names and Vulkan's.
_NEEDS = {
    "float64": ("float64", "shaderFloat64"),
    "int64": ("int64", "shaderInt64"),
    "uint64": ("int64", "shaderInt64"),
}
_INSTEAD = {"float64": "float32", "int64": "int32", "uint64": "uint32"}


#: The features for types of 8 and 16 bits; they are emulated on devices that lack them.
_SMALL = {
    "int8": {"int8", "storage8"},
    "uint8": {"int8", "storage8"},
    "int16": {"int16", "storage16"},
    "uint16": {"int16", "storage16"},
    "float16": {"float16", "storage16"},
    "bfloat16": {"storage16"},
}


def optional_features(compiled: Compiled, view: accelerator_view) -> frozenset[str]:
    """The features of a view's device that matter for a kernel's small types and its atomics of floats."""
    wanted = frozenset().union(*(_SMALL.get(kind, frozenset()) for kind in compiled.types))
    if compiled.float_atomics:
        wanted |= {"float_atomics", "shared_float_atomics"}
    if compiled.packed_products:
        wanted |= {"integer_dot_product"}
    info = queue_of(view).info
    if compiled.matrices is not None and has_products(compiled, info):
        wanted |= {MATRICES, "int8", "storage8", "float16", "storage16"}
    return wanted & info.usable_features


def has_products(compiled: Compiled, info: DeviceInfo) -> bool:
    """Whether a kernel runs with a device's cooperative matrices: those of its products, if the device has any.

    UnsupportedFeatureError for products that such a device lacks, and for a device whose engine cannot enable them.
    """
    assert compiled.matrices is not None
    if MATRICES not in info.features or not info.limits.matrix_shapes:
        return False
    if not {MATRICES, "memory_model", "subgroup_size_control"} <= info.usable_features:
        raise UnsupportedFeatureError(
            f"{compiled.name} has cooperative matrices, which {info.name} has, but the engine {info.engine!r} does not "
            "enable: run it by the engine that does, VKAMP_ENGINE=vulkan",
            span=compiled.span,
        )
    for shape, span in compiled.matrices.items():
        if shape not in info.limits.matrix_shapes:
            raise UnsupportedFeatureError(
                f"{compiled.name} has a product of matrices of {shape}, which {info.name} lacks: "
                f"{_other_shapes(shape, info)}",
                span=span,
            )
    return True


def _other_shapes(shape: MatrixShape, info: DeviceInfo) -> str:
    """The products that a device offers instead of one: the nearest one of the same types, or else those of other
    types.
    """

    def distance(other: MatrixShape) -> int:
        sizes = zip((shape.rows, shape.columns, shape.inner), (other.rows, other.columns, other.inner), strict=True)
        return sum(abs(a - b) for a, b in sizes)

    kinds = shape.a, shape.b, shape.accumulator
    same = [s for s in info.limits.matrix_shapes if (s.a, s.b, s.accumulator) == kinds]
    if same:
        return f"use {min(same, key=distance)}"
    known = sorted({f"{s.a} to {s.accumulator}" for s in info.limits.matrix_shapes})
    return f"it has products of {', '.join(known)}"


def _check_types(types: Mapping[str, Span], info: DeviceInfo) -> None:
    """Raises ``UnsupportedFeatureError`` for a type that the device lacks, or that its engine cannot enable.

    ``types``: those of the kernel, and where it uses them.
    """
    for kind, span in types.items():
        feature, name = _NEEDS.get(kind, ("", ""))
        if not feature or feature in info.usable_features:
            continue
        instead = _INSTEAD[kind]
        advice = f"use {instead}: `.astype(np.{instead})` on the host, `amp.{instead}(...)` in the kernel"
        if feature in info.features:
            why = f"which {info.name} has, but the engine {info.engine!r} does not enable"
            advice = f"run it by the engine that does, VKAMP_ENGINE=vulkan, or {advice}"
        else:
            why = f"which {info.name} lacks"
        named = name_at(span)
        what = f"`{named}` is {kind}, and {kind} needs" if named else f"{kind} needs"
        raise diagnostic("VKA304", span, what=what, feature=name, why=why, advice=advice)


#: Vulkan's names of the features that operations of 64-bit integers need, and what is left without them.
_WIDE = {
    "int64_atomics": ("shaderBufferInt64Atomics", "use elements of 32 bits, as counters in two parts"),
    "shared_int64_atomics": ("shaderSharedInt64Atomics", "use elements of 32 bits, as counters in two parts"),
    "subgroup_extended_types": ("shaderSubgroupExtendedTypes", "exchange the values through tile_static memory"),
}


def _check_wide_operations(wide: Mapping[str, tuple[str, Span]], info: DeviceInfo) -> None:
    """Raises ``UnsupportedFeatureError`` for an operation of 64-bit integers that the device lacks."""
    for sort, (text, span) in wide.items():
        if sort not in info.usable_features:
            name, advice = _WIDE[sort]
            why = f"which {info.name} lacks"
            raise diagnostic("VKA304", span, what=f"{text} needs", feature=name, why=why, advice=advice)


def check_kernel(compiled: Compiled, view: accelerator_view) -> None:
    """Raises ``UnsupportedFeatureError`` for types and operations that a view's device lacks."""
    info = queue_of(view).info
    _check_types(compiled.types, info)
    _check_wide_operations(compiled.wide, info)


def _tile_of(threads: int, rank: int) -> str:
    """A tile with at most this many threads: its sizes are equal powers of two, as far as possible."""
    bits = max(threads.bit_length() - 1, 0)
    return ", ".join(str(1 << (bits // rank + (dim >= rank - bits % rank))) for dim in range(rank))


def check_tile(domain: Domain, view: accelerator_view) -> None:
    """Refuses a tile that the device does not support."""
    tile = domain.tile
    if tile is None:
        return
    device = view.accelerator.description
    # A view that only stores has no queue; its error says why, and what to install.
    limits = queue_of(view).info.limits
    threads = math.prod(tile)
    if threads > limits.tile_threads:
        raise InvalidComputeDomainError(
            f"{domain}: a tile has {threads} threads, but {device} supports at most {limits.tile_threads}: "
            f"use a smaller tile, such as .tile({_tile_of(limits.tile_threads, len(tile))})"
        )
    # The last dimension is x.
    for dim, size in enumerate(tile):
        most = limits.tile_size[len(tile) - 1 - dim]
        if size > most:
            raise InvalidComputeDomainError(
                f"{domain}: dimension {dim} of the tile has {size} threads; {device} supports at most {most}"
            )


def check_subgroup_tile(lanes: int, kernel: str, domain: Domain) -> None:
    """Refuses a domain whose tiles have no full subgroups of this many lanes."""
    requires = _requires(lanes, kernel)
    if domain.tile is None:
        raise InvalidComputeDomainError(f"{requires}: launch it over a tiled domain, extent.tile(...)")
    threads = math.prod(domain.tile)
    if threads % lanes:
        raise InvalidComputeDomainError(
            f"{domain}: {requires}, and a tile has {threads} threads: make that a multiple of {lanes}"
        )


def _requires(lanes: int, kernel: str) -> str:
    return f"{kernel} requires full subgroups of {lanes} lanes (@amp.kernel(subgroup={lanes}))"


def check_required_subgroup(lanes: int, compiled: Compiled, domain: Domain, view: accelerator_view) -> None:
    """Refuses a launch of a kernel that requires full subgroups of a size that the device does not support.

    On a device without cooperative matrices, a kernel that uses them runs thread by thread. It then needs no subgroups,
    unless its threads exchange values.
    """
    info = queue_of(view).info
    exchanges = any(operation != "basic" for _, operation, _ in compiled.subgroup_needs)
    if compiled.matrices is not None and not exchanges and not has_products(compiled, info):
        return
    limits, device = info.limits, view.accelerator.description
    requires = _requires(lanes, compiled.name)
    if "subgroup_size_control" not in info.usable_features:
        advice = "use another accelerator, or leave the argument out"
        if "subgroup_size_control" in info.features:
            advice = f"the engine {info.engine!r} cannot require them; the direct engine can, VKAMP_ENGINE=vulkan"
        raise UnsupportedFeatureError(f"{requires}, which {device} cannot promise: {advice}")
    if lanes not in limits.subgroup_sizes:
        sizes = " or ".join(map(str, limits.subgroup_sizes)) or "none"
        raise UnsupportedFeatureError(f"{requires}; {device} has subgroups of {sizes}")
    if math.prod(domain.tile or ()) // lanes > limits.tile_subgroups:
        raise InvalidComputeDomainError(
            f"{domain}: {requires}, and {device} runs at most {limits.tile_subgroups} of them in a tile: "
            "use smaller tiles"
        )


def check_program(compiled: Compiled, executable: Executable, view: accelerator_view, *, checked: bool = False) -> None:
    """Raises ``UnsupportedFeatureError`` or ``CompileError`` for a program that a view's device cannot run.

    ``checked``: it has check mode's instrumentation.
    """
    limits, device = queue_of(view).info.limits, view.accelerator.description
    if not (is_reference(view) and _is_small(compiled, limits)):
        if not checked:
            _check_shared(executable, compiled, limits, device)
        _check_limits(executable, limits, f"{compiled.name} in check mode" if checked else compiled.name, device)
    _check_subgroups(compiled, limits, device)


def _is_small(compiled: Compiled, limits: Limits) -> bool:
    """Whether a kernel needs so little that its shader, which may need a little more, is certainly within limits."""
    kernel = compiled.kernel
    shared = sum(each.type.size for each in kernel.tile_statics)
    return 2 * shared <= limits.shared_bytes and 2 * len(kernel.buffers) < limits.buffers


def _check_shared(executable: Executable, compiled: Compiled, limits: Limits, device: str) -> None:
    """Refuses a kernel with more tile_static memory than the device has; the error points at the largest array."""
    size = executable.shader.shared_bytes
    if size > limits.shared_bytes:
        largest = max(compiled.kernel.tile_statics, key=lambda variable: variable.type.size)
        raise diagnostic(
            "VKA504",
            largest.span,
            kernel=compiled.name,
            bytes=size,
            device=device,
            limit=limits.shared_bytes,
            name=largest.name,
            size=largest.type.size,
        )


def _check_limits(executable: Executable, limits: Limits, name: str, device: str) -> None:
    shader = executable.shader
    if shader.shared_bytes > limits.shared_bytes:
        raise UnsupportedFeatureError(
            f"{name} needs {shader.shared_bytes} bytes of tile_static memory; {device} has {limits.shared_bytes} per "
            "tile: make its arrays smaller"
        )
    if any(n > most for n, most in zip(shader.local_size, limits.tile_size, strict=True)):
        raise UnsupportedFeatureError(
            f"{name} calls subgroup functions, which need the {shader.local_size[0]} threads of its tile in one "
            f"row; {device} supports {limits.tile_size[0]}"
        )
    if executable.buffers > limits.buffers:
        raise UnsupportedFeatureError(
            f"{name} uses {executable.buffers} containers at once; {device} supports {limits.buffers}"
        )


def _check_subgroups(compiled: Compiled, limits: Limits, device: str) -> None:
    """Refuses functions of subgroups that the device cannot run."""
    for name, operation, span in compiled.subgroup_needs:
        if operation not in limits.subgroup_operations:
            supported = ", ".join(o for o in SUBGROUP_OPERATIONS if o in limits.subgroup_operations) or "none"
            raise diagnostic("VKA503", span, name=name, operation=operation, device=device, supported=supported)
