"""Selects where a launch runs, by AMP's rules for the accelerator_view of ``parallel_for_each``, and the target of its
shader.

C++ AMP's model: docs/conformance.md, section 9.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from vkamp import pipeline
from vkamp.artifacts import Domain, Lowering, Target
from vkamp.dispatch.reference_controls import current_subgroup_size
from vkamp.errors import AmpError
from vkamp.lang.arrays import array
from vkamp.lang.container import Container, bindable
from vkamp.lang.kernel import LOWERINGS, BoundKernel, KernelFunction
from vkamp.lang.storage import Placement
from vkamp.lang.target import traits_of
from vkamp.run.accelerators import accelerator_view, default_view, queue_of
from vkamp.run.environment import EnvironmentVariable
from vkamp.run.workarounds import max_in_piece, max_iterations, max_private_bytes, max_unrolled, quirks_of

#: A domain with more elements is beyond int32 where pieces end.
_MAX_IN_PIECES = 2**31 - 64
#: Rows of fewer elements have too few pieces.
_SHORT_ROW = 64


def target_view(view: accelerator_view | None, containers: Mapping[str, Container]) -> accelerator_view:
    """The explicit view, else that of the captured arrays, else the default (AMP's order)."""
    explicit = None if view is None or view.is_auto_selection else view
    chosen, of = explicit, "the launch"
    for name, container in containers.items():
        if not isinstance(container, array):
            continue
        home = container.accelerator_view
        if not isinstance(home, accelerator_view):
            raise AmpError(f"`{name}` is in memory that no accelerator runs kernels on")
        if chosen is None:
            chosen, of = home, f"`{name}`"
        elif chosen != home:
            raise AmpError(
                f"the array `{name}` is on {_places(home, chosen, of)}: copy it there, make it there, "
                f"`amp.array(..., accelerator_view=view)`, or use an array_view, which moves"
            )
    return chosen if chosen is not None else default_for(containers.values())


def _places(home: accelerator_view, other: accelerator_view, of: str) -> str:
    """Names the places of two things by the parts in which they differ."""
    device, another = home.accelerator, other.accelerator
    if device == another:
        return f"one accelerator_view of {device.description}, and {of} is on another"
    if device.description != another.description:
        return f"{device.description}, and {of} is on {another.description}"
    return f"{device.description} by one engine, and {of} is on the same device by another"


def default_for(containers: Iterable[Container]) -> accelerator_view:
    """The default accelerator's default view, or another of its views that holds all captured array_views when the
    default view does not."""
    default = default_view()
    holding: list[Any] | None = None
    for container in containers:
        places = bindable(container).current_at()
        holding = places if holding is None else [place for place in holding if place in places]
    if not holding or default in holding:
        return default
    same = (p for p in holding if isinstance(p, accelerator_view) and p.accelerator == default.accelerator)
    return next(same, default)


# -- the target ----------------------------------------------------------------------------------------------------


def target_for(domain: Domain, view: accelerator_view) -> Target:
    """The printer's target for a view's device, with each thread as an invocation."""
    info = queue_of(view).info
    limits, quirks = info.limits, quirks_of(info)
    target = Target(
        limits.push_bytes // 4,
        reference=is_reference(view),
        quirks=quirks,
        vector=limits.subgroup_size if "absent_lanes" in quirks else 1,
        max_unrolled_statements=max_unrolled(info),
        private_bytes=max_private_bytes(info),
    )
    return target.fitted(domain, limits.tile_count, limits.tile_threads)


def is_reference(view: accelerator_view) -> bool:
    """Whether a view is of the reference accelerator."""
    return view.accelerator.device_path == "reference"


def device_traits(
    view: accelerator_view, required: int | None = None, *, lowered: bool = False
) -> Mapping[str, bool | int]:
    """What a kernel can ask of a view's device while it is compiled (``amp.target``); ``required``: the lanes of the
    subgroups that it requires; ``lowered``: its threads are loops.
    """
    info = queue_of(view).info
    lanes = required or (current_subgroup_size() if is_reference(view) else info.limits.subgroup_size)
    return traits_of(is_cpu=info.kind == "cpu", subgroup_size=lanes, features=info.kernel_features, lowered=lowered)


_lowering = EnvironmentVariable("VKAMP_LOWERING")


def lowering_variable() -> str | None:
    """What the environment says about how the threads of a tile are to run."""
    return _lowering.value()


def wanted_lowering(kernel: Any, domain: Domain, view: accelerator_view) -> Lowering:
    """How the threads of a tile are to run: as the kernel says, or for all by VKAMP_LOWERING."""
    if is_reference(view):
        return "threads"
    asked = lowering_variable() or _lowering_of(kernel)
    if asked not in LOWERINGS:
        raise AmpError(f"VKAMP_LOWERING is {asked!r}; it can be {', '.join(LOWERINGS)}")
    if asked == "auto" and domain.tile is not None and queue_of(view).info.kind == "cpu":
        return "auto"
    return "loops" if asked == "loops" else "threads"


def with_lowering(
    target: Target,
    wanted: Lowering,
    view: accelerator_view,
    containers: Mapping[str, Container],
    sizes_in_loops: frozenset[tuple[str, int]],
) -> Target:
    """The target with how the threads of a tile are to run."""
    if wanted == "threads":
        return target
    device = queue_of(view).info
    # Elsewhere a workgroup of one subgroup is not certain, and loops of one lane need none.
    lanes = device.limits.subgroup_size if device.kind == "cpu" else 1
    iterations = max_iterations(device)
    aligned = frozenset(n for n, c in containers.items() if c.rank > 1 and c.extent[c.rank - 1] % 4 == 0)
    sizes: tuple[tuple[str, int, int], ...] = ()
    if iterations is not None and wanted == "auto":
        sizes = tuple((name, dim, containers[name].extent[dim]) for name, dim in sorted(sizes_in_loops))
    return replace(target, lowering=wanted, lanes=lanes, max_iterations=iterations, aligned=aligned, sizes=sizes)


def _lowering_of(kernel: Any) -> str:
    if isinstance(kernel, BoundKernel):
        kernel = kernel.kernel
    return kernel.lowering if isinstance(kernel, KernelFunction) else "auto"


def with_pieces(target: Target, domain: Domain, view: accelerator_view, arguments: pipeline.Arguments) -> Target:
    """The target for a launch whose threads may have several neighbouring elements each, if they may."""
    info = queue_of(view).info
    most = 0 if target.reference or domain.tile is not None else max_in_piece(info)
    total, shape = math.prod(domain.shape), domain.shape
    if most == 0 or target.folded or total > _MAX_IN_PIECES:
        return target
    fits_flat = domain.rank > 1 and total <= info.limits.tile_count[0] * math.prod(target.group)
    whole, flat = set(), set()
    together: dict[tuple[int, ...], list[str]] = {}
    for name, each in arguments.placements.items():
        if len(each.shape) != domain.rank or each.strides[-1] != 1:
            continue
        covers = all(n >= size for n, size in zip(each.shape, shape, strict=True))
        if covers and (domain.rank == 1 or shape[-1] >= _SHORT_ROW):
            whole.add(name)
        if domain.rank > 1 and each.shape == shape and each.dense:
            flat.add(name)
        if name in whole or name in flat:
            together.setdefault(_phase(each, arguments.containers[name].dtype.itemsize, most), []).append(name)
    if not fits_flat:
        flat.clear()
    if not whole and not flat:
        return target
    groups = tuple(sorted(map(tuple, together.values())))
    return replace(target, pieces=most, whole=frozenset(whole), flat=frozenset(flat), together=groups)


def _phase(placed: Placement, itemsize: int, most: int) -> tuple[int, ...]:
    """The offset of a container's rows within pieces of ``most`` elements."""
    return tuple(n % most for n in (placed.offset // itemsize, *placed.strides[:-1]))
