"""Repeated launches: what stays the same from one to the next is remembered with the kernel.

A launch is repeated if kernel, domain, constants and the types of numbers are the same, the containers are the same
objects, and they lie in the same memory.  Then only the values of numbers are new.  Everything else takes the long way,
which also words every error.
"""

from __future__ import annotations

import struct
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from vkamp import pipeline
from vkamp.dispatch.edits import generation
from vkamp.dispatch.targets import default_for
from vkamp.lang.arrays import array
from vkamp.lang.container import Container, Descriptor
from vkamp.lang.index_space import extent, tiled_extent
from vkamp.lang.kernel import KernelFunction
from vkamp.lang.region import Footprint
from vkamp.run.accelerators import accelerator_view
from vkamp.run.engine import Dispatch, Launch, Program, Queue

if TYPE_CHECKING:
    from vkamp.dispatch.launch import Bound, Prepared

__all__ = ["key_of", "recall", "remember"]

#: Launches remembered for a kernel; the oldest goes first.
_KEEP = 64

_NUMBERS = frozenset([bool, int, float, np.bool_, np.float32, np.int32, np.uint32])
_PYTHON_NUMBERS = frozenset([bool, int, float])

_lock = threading.Lock()


@dataclass(frozen=True)
class _Use:
    """A container that travels: its position among the arguments, its name, and where it was.

    The descriptor is known weakly, since it keeps device memory.
    """

    position: int
    name: str
    descriptor: weakref.ref[Descriptor]
    reads: bool
    changes: bool


@dataclass(frozen=True)
class _Repeat:
    """A launch as it ran once; it keeps neither containers nor their memory alive.

    ``generation``: the state of the folder of edited shaders.  ``follows_default``: the view was chosen for want of
    another.  ``bindings``: for each buffer the place of its container in ``uses``.  ``scalars``: numbers among the
    arguments: position, name, and place in the launch words, or -1 for one that the kernel does not use.
    """

    generation: int
    code: CodeType
    guards: tuple[pipeline.Guard, ...]
    view: accelerator_view
    follows_default: bool
    queue: Queue
    containers: tuple[tuple[int, weakref.ref[Container]], ...]
    uses: tuple[_Use, ...]
    bindings: tuple[int, ...]
    writes: tuple[bool, ...]
    program: Program
    groups: tuple[int, int, int]
    layout: struct.Struct
    words: tuple[int | float, ...]
    scalars: tuple[tuple[int, str, int], ...]
    domain: tuple[int, ...]
    tile: tuple[int, ...] | None
    extents: Mapping[str, tuple[int, ...]]
    regions: tuple[tuple[Footprint, ...] | None, ...]


def key_of(
    view: accelerator_view | None, domain: Any, kernel: Any, args: tuple[Any, ...], constants: dict[str, Any]
) -> Any:
    """What a repeated launch has in common with the first, or ``None`` for one that is never remembered."""
    if type(kernel) is not KernelFunction or (type(domain) is not tiled_extent and type(domain) is not extent):
        return None
    parts: list[Any] = [view, domain._values, domain._tile if type(domain) is tiled_extent else None]
    for value in args:
        kind = type(value)
        if kind in _NUMBERS:
            parts.append(kind)
        elif isinstance(value, Container):
            parts.append(id(value))
        else:
            return None
    for name, value in constants.items():
        if type(value) not in _NUMBERS:
            return None
        # As text, which tells 0.0 from -0.0.
        parts += (name, type(value), repr(value))
    return tuple(parts)


def recall(key: Any, kernel: KernelFunction, args: tuple[Any, ...]) -> bool:
    """Enqueues a remembered launch again; ``False`` if there is none or something has changed."""
    found: _Repeat | None = kernel.launches.get(key)
    if found is None or not _still_holds(found, kernel, args):
        return False
    push = _push(found, args)
    if push is None:
        return False
    view = found.view
    descriptors: dict[str, Descriptor] = {}
    for use in found.uses:
        descriptor: Descriptor = args[use.position]._acquire(view, read=use.reads, write=use.changes)
        if use.descriptor() is not descriptor:
            return False
        descriptors[use.name] = descriptor
    storages: list[Any] = [descriptor.storage for descriptor in descriptors.values()]
    scalars = {name: args[position] for position, name, _ in found.scalars}
    launch = Launch(found.domain, descriptors, scalars, found.extents, kernel.__name__, found.tile)
    buffers = tuple([storages[k] for k in found.bindings])
    found.queue.enqueue(Dispatch(found.program, buffers, push, found.groups, found.writes, launch, found.regions))
    for use in found.uses:
        if use.changes:
            args[use.position]._written(view)
    return True


def _still_holds(found: _Repeat, kernel: KernelFunction, args: tuple[Any, ...]) -> bool:
    function = kernel.function
    if found.generation != generation():
        return False
    if function.__code__ is not found.code:
        return False
    for guard in found.guards:
        if not guard.holds(function):
            return False
    for position, container in found.containers:
        # An id may have gone to another object.
        if container() is not args[position]:
            return False
    return not found.follows_default or default_for([args[k] for k, _ in found.containers]) == found.view


def _push(found: _Repeat, args: tuple[Any, ...]) -> bytes | None:
    """The launch words; ``None`` for a number that its type cannot hold."""
    words = list(found.words)
    for position, _, place in found.scalars:
        if place >= 0:
            number = args[position]
            words[place] = number if type(number) in _PYTHON_NUMBERS else number.item()
    try:
        return found.layout.pack(*words)
    except (struct.error, OverflowError):
        return None


def remember(key: Any, kernel: KernelFunction, args: tuple[Any, ...], prepared: Prepared, bound: Bound) -> None:
    """Keeps what a launch was made of, if the next one like it can be told by its key and a few looks."""
    arguments, shader = prepared.arguments, prepared.executable.shader
    launch = bound.dispatch.launch
    assert launch is not None
    plain = not arguments.captures and arguments.owner is None and len(args) == len(arguments.args)
    complete = not kernel.function.__kwdefaults__ and shader.push_binding is None
    if not (plain and complete) or any(found.packed for found in bound.descriptors.values()):
        return
    names = [name for name, _ in arguments.args]
    positions = {name: k for k, name in enumerate(names)}
    places = {word.name: k for k, word in enumerate(shader.push) if word.kind == "scalar"}
    order = {name: k for k, name in enumerate(bound.descriptors)}
    containers = [(k, value) for k, value in enumerate(args) if isinstance(value, Container)]
    explicit = key[0] is not None and not key[0].is_auto_selection
    access = prepared.compiled.access
    repeat = _Repeat(
        generation=prepared.generation,
        code=kernel.function.__code__,
        guards=prepared.compiled.guards,
        view=prepared.view,
        follows_default=not explicit and not any(isinstance(value, array) for _, value in containers),
        queue=prepared.view._queue,
        containers=tuple((k, weakref.ref(value)) for k, value in containers),
        uses=tuple(
            _Use(positions[n], n, weakref.ref(d), access[n].reads or access[n].atomics, access[n].changes)
            for n, d in bound.descriptors.items()
        ),
        bindings=tuple(order[binding.params[0]] for binding in shader.bindings),
        writes=tuple(binding.writes for binding in shader.bindings),
        program=bound.dispatch.program,
        groups=bound.dispatch.groups,
        layout=bound.layout,
        words=bound.words,
        scalars=tuple((positions[n], n, places.get(n, -1)) for n in arguments.scalars),
        domain=prepared.domain.shape,
        tile=prepared.domain.tile,
        extents=launch.extents,
        regions=bound.dispatch.regions,
    )
    with _lock:
        kernel.launches.pop(key, None)
        kernel.launches[key] = repeat
        while len(kernel.launches) > _KEEP:
            del kernel.launches[next(iter(kernel.launches))]
