"""Repeated launches: what stays the same from one to the next is remembered with the kernel.

A launch is repeated if kernel, domain, constants and the types of numbers are the same, the containers are the same
objects, and they lie in the same memory.  Then only the values of numbers are new.  Everything else takes the long way,
which also words every error.
"""

from __future__ import annotations

import struct
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from vkamp import pipeline
from vkamp.dispatch.residency import Use, mark_written
from vkamp.dispatch.targets import default_for
from vkamp.edit.active import generation
from vkamp.lang.arrays import array
from vkamp.lang.container import Container
from vkamp.lang.home import epoch
from vkamp.lang.index_space import extent, tiled_extent
from vkamp.lang.kernel import KernelFunction
from vkamp.run.accelerators import accelerator_view, default_view
from vkamp.run.engine import Dispatch, Ready

if TYPE_CHECKING:
    from vkamp.dispatch.launch import Bound, Prepared


#: Launches remembered for a kernel; the oldest goes first.
_KEEP = 4096

_NUMBERS = frozenset([bool, int, float, np.bool_, np.float32, np.int32, np.uint32, np.float64, np.int64, np.uint64])
_PYTHON_NUMBERS = frozenset([bool, int, float])

_lock = threading.Lock()


@dataclass
class _Repeat:
    """A launch as it ran once. It keeps the memory of its containers, and goes with the first of them that goes.

    ``generation``: the state of the folder of edited shaders.  ``follows_default``: the view was chosen for want of
    another.  ``uses``: the containers that travel, by their positions among the arguments.  ``scalars``: numbers among
    the arguments: position, name, and place in the launch words, or -1 for one that the kernel does not use.
    ``apart``: as ``runs_apart`` says.  ``looks``: the reference accelerator looks at the host's memory at each launch.
    ``epoch``: when all uses were last found current.
    """

    generation: int
    code: CodeType
    guards: tuple[pipeline.Guard, ...]
    view: accelerator_view
    follows_default: bool
    containers: tuple[tuple[int, weakref.ref[Container]], ...]
    uses: tuple[tuple[int, Use], ...]
    layout: struct.Struct
    words: tuple[int | float, ...]
    scalars: tuple[tuple[int, str, int], ...]
    dispatch: Dispatch
    apart: bool
    looks: bool = False
    ready: Ready | None = None
    epoch: int = field(default=-1)


def key_of(
    view: accelerator_view | None, domain: Any, kernel: Any, args: tuple[Any, ...], constants: dict[str, Any]
) -> Any:
    """What a repeated launch has in common with the first, or ``None`` for one that is never remembered."""
    if type(kernel) is not KernelFunction:
        return None
    kind = type(domain)
    if kind is extent:
        tile = None
    elif kind is tiled_extent:
        tile = domain._tile
    else:
        return None
    # A remembered launch keeps its view, so that the number stays the view's.
    place = None if view is None or view._is_auto else id(view._view)
    parts: list[Any] = [place, domain._values, tile]
    for value in args:
        if isinstance(value, Container):
            parts.append(id(value))
        elif (kind := type(value)) in _NUMBERS:
            parts.append(kind)
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
    push = found.dispatch.push
    if found.scalars:
        numbers = _push(found, args)
        if numbers is None:
            return False
        push = numbers
    if found.looks:
        _refuse_stale(found, args)
    view, seen = found.view, epoch.now
    changed = [] if seen == found.epoch else _changed(found, args)
    for use, container in changed:
        if container._acquire(view, read=use.reads, write=use.writes, apart=found.apart) is not use.descriptor:
            return False
    if found.ready is None:
        found.ready = view._queue.ready(found.dispatch)
    if push == found.dispatch.push:
        found.ready.enqueue()
    else:
        found.ready.enqueue_with(push, {name: args[position] for position, name, _ in found.scalars})
    if changed:
        for use, home, version in mark_written(view, changed):
            use.home, use.version = home, version
    elif epoch.now == seen:
        found.epoch = seen
    else:
        mark_written(view, _changed(found, args))
    if found.looks:
        _look(found, args)
    return True


def _refuse_stale(found: _Repeat, args: tuple[Any, ...]) -> None:
    from vkamp.dispatch import watching

    names = found.dispatch.launch.containers if found.dispatch.launch is not None else ()
    used = {name: args[position] for name, (position, _) in zip(names, found.uses, strict=True)}
    watching.refuse_stale(found.view, used)


def _look(found: _Repeat, args: tuple[Any, ...]) -> None:
    from vkamp.dispatch import watching

    watching.look(args[position] for position, _ in found.uses)


def _changed(found: _Repeat, args: tuple[Any, ...]) -> list[tuple[Use, Container]]:
    """The containers that somebody else has used since the launch before, or may have."""
    return [(use, args[position]) for position, use in found.uses if not use.is_current]


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
    return not found.follows_default or _is_default(found, args)


def _is_default(found: _Repeat, args: tuple[Any, ...]) -> bool:
    """Whether a launch without a view would run where it ran."""
    same = default_view()._view is found.view._view and len(found.uses) == len(found.containers)
    if same and (epoch.now == found.epoch or all(use.is_current for _, use in found.uses)):
        return True  # what it left there is there: no other view is preferred
    return default_for([args[k] for k, _ in found.containers]) == found.view


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
    from vkamp.dispatch.launch import runs_apart  # which imports this module

    plain = not arguments.captures and arguments.owner is None and len(args) == len(arguments.args)
    complete = not kernel.function.__kwdefaults__ and shader.push_binding is None
    if not (plain and complete) or any(found.packed for found in bound.descriptors.values()):
        return
    positions = {name: k for k, (name, _) in enumerate(arguments.args)}
    places = {word.name: k for k, word in enumerate(shader.push) if word.kind == "scalar"}
    containers = [(k, value) for k, value in enumerate(args) if isinstance(value, Container)]
    access = prepared.compiled.access
    uses = []
    for name, descriptor in bound.descriptors.items():
        use = Use(reads=access[name].reads or access[name].atomics, writes=access[name].changes)
        use.descriptor = descriptor
        uses.append((positions[name], use))
    forget = _forgetting(kernel, key)
    repeat = _Repeat(
        generation=prepared.generation,
        code=kernel.function.__code__,
        guards=prepared.compiled.guards,
        view=prepared.view,
        follows_default=key[0] is None and not any(isinstance(value, array) for _, value in containers),
        containers=tuple((k, weakref.ref(value, forget)) for k, value in containers),
        uses=tuple(uses),
        layout=bound.layout,
        words=bound.words,
        # Names with a space are an argument's in another precision.
        scalars=tuple((positions[n.partition(" ")[0]], n, places.get(n, -1)) for n in arguments.scalars),
        dispatch=bound.dispatch,
        apart=runs_apart(prepared),
        looks=prepared.target.reference,
    )
    with _lock:
        kernel.launches.pop(key, None)
        kernel.launches[key] = repeat
        while len(kernel.launches) > _KEEP:
            kernel.launches.pop(next(iter(kernel.launches)), None)


def _forgetting(kernel: KernelFunction, key: Any) -> Callable[[weakref.ref[Container]], None]:
    """What gives up a remembered launch when one of its containers goes."""
    known = weakref.ref(kernel)

    def forget(_: weakref.ref[Container]) -> None:
        owner = known()
        if owner is not None:
            owner.launches.pop(key, None)

    return forget
