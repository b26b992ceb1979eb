"""Repeated launches: what stays the same from one to the next is remembered with the kernel.

A launch is repeated if kernel, domain, constants and the types of numbers are the same, the containers are the same
objects, and they are in the same memory.  Then only the values of numbers are new.  Everything else is prepared again,
which also words every error.
"""

from __future__ import annotations

import struct
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

from vkamp import pipeline
from vkamp.dispatch.bound_launch import SingleLaunch
from vkamp.dispatch.launch_keys import LaunchKey
from vkamp.dispatch.preparing import PreparedLaunch
from vkamp.dispatch.targets import default_for
from vkamp.edit.active import generation
from vkamp.lang.arrays import array
from vkamp.lang.container import Container
from vkamp.lang.home import epoch
from vkamp.lang.kernel import KernelFunction
from vkamp.run.accelerators import default_view, identity_of

#: Launches remembered for a kernel; the oldest goes first.
_KEEP = 4096

_PYTHON_NUMBERS = frozenset([bool, int, float])

_lock = threading.Lock()


@dataclass(slots=True)
class _Repeat:
    """A launch as it ran once, and what has to be as it was then.  It goes with the first of its containers that goes.

    ``generation``: the state of the folder of edited shaders.  ``follows_default``: the view was chosen for want of
    another.  ``containers``: by their positions among the values of the launch.  ``constants``: numbers among them
    that the kernel was compiled with.  ``scalars``: numbers among them: position, name, and place in the launch words,
    or -1 for one that the kernel does not use.
    """

    bound: SingleLaunch
    generation: int
    code: CodeType
    guards: tuple[pipeline.Guard, ...]
    follows_default: bool
    containers: tuple[tuple[int, weakref.ref[Container]], ...]
    constants: tuple[tuple[int, Any], ...]
    scalars: tuple[tuple[int, str, int], ...]


def repeat(launched: LaunchKey, kernel: KernelFunction) -> bool:
    """Enqueues a remembered launch again; ``False`` if there is none or something has changed."""
    key, args, _ = launched
    found: _Repeat | None = kernel.launches.get(key)
    if found is None or not _still_holds(found, kernel, args):
        return False
    bound = found.bound
    if not found.scalars:
        return bound.submit()
    push = _push(found, args)
    if push is None:
        return False
    if push == bound.dispatch.push:
        return bound.submit()
    numbers = {name: args[position] for position, name, _ in found.scalars}
    launch = bound.dispatch.launch
    if launch is not None and len(numbers) < len(launch.scalars):
        numbers = {**launch.scalars, **numbers}
    return bound.submit(push, numbers)


def _still_holds(found: _Repeat, kernel: KernelFunction, args: Sequence[Any]) -> bool:
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
    for position, value in found.constants:
        if pipeline.exactly(args[position]) != value:
            return False
    return not found.follows_default or _is_default(found, args)


def _is_default(found: _Repeat, args: Sequence[Any]) -> bool:
    """Whether a launch without a view would run where it ran."""
    bound = found.bound
    same = len(bound.uses) == len(found.containers) and identity_of(default_view()) == identity_of(bound.view)
    if same and (epoch.now == bound.epoch or all(use.is_current for use in bound.uses)):
        return True  # what it left there is there, so that no other view is preferred
    return default_for([args[k] for k, _ in found.containers]) == bound.view


def _push(found: _Repeat, args: Sequence[Any]) -> bytes | None:
    """The launch words; ``None`` for a number that its type cannot hold."""
    words = list(found.bound.words)
    for position, _, place in found.scalars:
        if place >= 0:
            number = args[position]
            words[place] = number if type(number) in _PYTHON_NUMBERS else number.item()
    try:
        return found.bound.layout.pack(*words)
    except (struct.error, OverflowError):
        return None


def remember(
    launched: LaunchKey, kernel: KernelFunction, given: int, prepared: PreparedLaunch, bound: SingleLaunch
) -> None:
    """Remembers a launch, if its key and a few checks are enough to recognize an equal one.

    ``given``: how many arguments it was given.
    """
    key, args, captured = launched
    arguments, shader = prepared.arguments, prepared.executable.shader
    plain = not arguments.captures and arguments.owner is None and given == len(arguments.args)
    complete = not kernel.function.__kwdefaults__ and shader.push_binding is None
    packed = any(use.descriptor is not None and use.descriptor.packed for use in bound.uses)
    # The reference accelerator looks at the host's memory at each launch.
    if not (plain and complete) or packed or prepared.target.reference:
        return
    names = [name for name, _ in arguments.args]
    names += [_path(head if isinstance(head, str) else names[head], tail) for head, tail in captured]
    positions = {name: k for k, name in enumerate(names)}
    places = {word.name: k for k, word in enumerate(shader.push) if word.kind == "scalar"}
    containers = [(k, value) for k, value in enumerate(args) if isinstance(value, Container)]
    forget = _forgetting(kernel, key)
    # The traits of the device among them are those of the view.
    needed = prepared.compiled.constants
    repeat = _Repeat(
        bound=bound,
        generation=prepared.generation,
        code=kernel.function.__code__,
        guards=prepared.compiled.guards,
        follows_default=key[0] is None and not any(isinstance(value, array) for _, value in containers),
        containers=tuple((k, weakref.ref(value, forget)) for k, value in containers),
        constants=tuple((positions[n], pipeline.exactly(v)) for n, v in needed.items() if n in positions),
        scalars=tuple(
            (positions[name], n, places.get(n, -1))
            for n in arguments.scalars
            if (name := pipeline.argument_of(n)) in positions
        ),
    )
    with _lock:
        kernel.launches.pop(key, None)
        kernel.launches[key] = repeat
        while len(kernel.launches) > _KEEP:
            kernel.launches.pop(next(iter(kernel.launches)), None)


def _path(head: str, tail: str) -> str:
    """The name of what an argument has captured, or an item of it has."""
    return f"{head}{tail}" if tail.startswith("[") else f"{head}.{tail}"


def _forgetting(kernel: KernelFunction, key: Any) -> Callable[[weakref.ref[Container]], None]:
    """What gives up a remembered launch when one of its containers goes."""
    known = weakref.ref(kernel)

    def forget(_: weakref.ref[Container]) -> None:
        owner = known()
        if owner is not None:
            owner.launches.pop(key, None)

    return forget
