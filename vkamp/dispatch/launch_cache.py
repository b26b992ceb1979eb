"""Repeated launches: what stays the same from one to the next is remembered with the kernel.

A launch is repeated if kernel, domain, constants and the types of numbers are the same, the containers are the same
objects, and they are in the same memory.  Then only the values of numbers are new.  A launch whose containers are
others of the same types, shapes and places in their memory runs by the plan of the first.  Everything else is prepared
again, which also words every error.
"""

from __future__ import annotations

import struct
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any

import numpy as np

from vkamp import pipeline
from vkamp.dispatch.bound_launch import LaunchPlan, PlannedLaunch, SingleLaunch
from vkamp.dispatch.launch_keys import LaunchKey
from vkamp.dispatch.preparing import PreparedLaunch
from vkamp.dispatch.targets import default_for, lowering_variable
from vkamp.edit.active import generation
from vkamp.lang.arrays import array
from vkamp.lang.container import Container, bindable
from vkamp.lang.home import epoch
from vkamp.lang.kernel import KernelFunction
from vkamp.run.accelerators import default_view, identity_of

#: Launches remembered for a kernel; the oldest goes first.
_KEEP = 4096
#: Plans remembered for a kernel.
_KEEP_PLANS = 1024

_PYTHON_NUMBERS = frozenset([bool, int, float])

_lock = threading.RLock()


@dataclass(slots=True)
class _Program:
    """What a remembered launch runs, and the conditions under which it is valid.

    ``generation``: the state of the folder of edited shaders.  ``follows_default``: the view was chosen for want of
    another.  ``constants``: numbers that the kernel was compiled with, by their positions among the values of the
    launch.  ``scalars``: numbers among them: position, name, and place in the launch words, or -1 for one that the
    kernel does not use.
    """

    generation: int
    code: CodeType
    guards: tuple[pipeline.Guard, ...]
    follows_default: bool
    constants: tuple[tuple[int, Any], ...]
    scalars: tuple[tuple[int, str, int], ...]


@dataclass(slots=True)
class _Repeat:
    """A launch as it ran once.  It is dropped with the first of its containers that is.

    By their positions among the values of the launch: ``containers``, and ``numbers`` that the kernel uses.
    """

    bound: SingleLaunch
    program: _Program
    containers: tuple[tuple[int, weakref.ref[Container]], ...]
    numbers: tuple[tuple[int, Any], ...]


@dataclass(slots=True)
class _Alike:
    """What launches with containers alike have in common.

    ``uses``: the positions of the containers that the kernel uses among the values of the launch; ``tables``: the
    tables of constants, which come behind them.  ``containers``: the positions of all.  ``prepared``: the first launch
    without its kernel and its arguments, except for their places.
    """

    plan: LaunchPlan
    program: _Program
    uses: tuple[int, ...]
    tables: tuple[Container, ...]
    containers: tuple[int, ...]
    prepared: PreparedLaunch


def repeat(launched: LaunchKey, kernel: KernelFunction) -> bool:
    """Enqueues a remembered launch again; ``False`` if there is none or something has changed."""
    key, args, _ = launched
    found: _Repeat | None = kernel.launches.get(key)
    if found is None:
        return False
    program = found.program
    if not _runs_the_same(program, kernel, args):
        return False
    for position, container in found.containers:
        # An id may have gone to another object.
        if container() is not args[position]:
            return False
    if program.follows_default and not _is_default(found, args):
        return False
    bound = found.bound
    for position, number in found.numbers:
        if args[position] is not number:
            break
    else:
        return bound.submit()
    # As `_words` and `_packed`, without their calls: a program launches this again and again.
    words = [*bound.words]
    for position, _, place in program.scalars:
        if place >= 0:
            number = args[position]
            words[place] = number if type(number) in _PYTHON_NUMBERS else number.item()
    try:
        push = bound.layout.pack(*words)
    except (struct.error, OverflowError):
        return False
    return bound.submit(None if push == bound.dispatch.push else push)


def launch_alike(launched: LaunchKey, kernel: KernelFunction) -> bool:
    """Enqueues a launch by the plan of an earlier one, whose containers had the same types and places.

    ``False`` if there is none, or something has changed.
    """
    alike: dict[Any, _Alike] = kernel.plans
    if not alike:
        return False
    key, args, _ = launched
    found = alike.get(_key_of_places(key, args))
    if found is None or not _runs_the_same(found.program, kernel, args):
        return False
    plan, program = found.plan, found.program
    if program.follows_default and default_for([args[k] for k in found.containers]) != plan.view:
        return False
    words = _words(plan.words, program.scalars, args)
    if _packed(plan.layout, words) is None:
        return False
    numbers = _numbers(plan.like.scalars, program.scalars, args)
    bound = PlannedLaunch(plan, [*[args[k] for k in found.uses], *found.tables], words, numbers)
    if not bound.submit():
        return False
    _keep(kernel, key, bound, program, found.containers, args)
    return True


def prepared_alike(
    launched: LaunchKey | None, kernel: KernelFunction, given: tuple[Any, ...], constants: dict[str, Any]
) -> PreparedLaunch | None:
    """A launch on a given view as an earlier one was prepared, whose containers had the same types and places.

    ``None`` if there is none, or something has changed.
    """
    if launched is None or launched[0][0] is None or not kernel.plans:
        return None
    key, args, _ = launched
    found: _Alike | None = kernel.plans.get(_key_of_places(key, args))
    if found is None or not _runs_the_same(found.program, kernel, args):
        return None
    arguments = pipeline.collect(kernel.function, given, constants)
    arguments.placements = found.prepared.arguments.placements
    return replace(found.prepared, kernel=kernel, arguments=arguments)


def _key_of_places(key: tuple[Any, ...], args: Sequence[Any]) -> tuple[Any, ...]:
    """The key of a launch with the types and places of its containers instead of the containers."""
    places = {id(each): _place(each) for each in args if isinstance(each, Container)}
    # No other part is the number of a living object, except that of a module's names.
    return (lowering_variable(), *[places.get(part, part) if type(part) is int else part for part in key])


def _place(container: Container) -> tuple[Any, ...]:
    elements = bindable(container)
    layout = elements.layout
    location: Any = container.accelerator_view if isinstance(container, array) else None
    where = None if location is None else identity_of(location)
    offset = layout.offset - elements.lease.home.start
    dtype = layout.dtype
    # Dtypes are equal if their fields are, whatever classes of structs they belong to.
    classes = None if dtype.names is None else _classes(dtype)
    return type(container), where, container.readonly, offset, layout.shape, layout.strides, dtype, classes


def _classes(dtype: np.dtype[Any]) -> tuple[Any, ...]:
    """The classes of a structured dtype and of its fields."""
    inner = [entry[0].base for entry in (dtype.fields or {}).values()]
    return (dtype.type, *[_classes(each) for each in inner if each.names is not None])


def _runs_the_same(program: _Program, kernel: KernelFunction, args: Sequence[Any]) -> bool:
    function = kernel.function
    if program.generation != generation():
        return False
    if function.__code__ is not program.code:
        return False
    for guard in program.guards:
        if not guard.holds(function):
            return False
    constants = program.constants
    return not constants or all(pipeline.exactly(args[position]) == value for position, value in constants)


def _is_default(found: _Repeat, args: Sequence[Any]) -> bool:
    """Whether a launch without a view would run where it ran."""
    bound = found.bound
    same = len(bound.uses) == len(found.containers) and identity_of(default_view()) == identity_of(bound.view)
    if same and (epoch.now == bound.epoch or all(use.is_current for use in bound.uses)):
        return True  # what it left there is there, so that no other view is preferred
    return default_for([args[k] for k, _ in found.containers]) == bound.view


def _words(
    words: Sequence[int | float], scalars: tuple[tuple[int, str, int], ...], args: Sequence[Any]
) -> tuple[int | float, ...]:
    """The launch words with the values of the launch."""
    found = list(words)
    for position, _, place in scalars:
        if place >= 0:
            number = args[position]
            found[place] = number if type(number) in _PYTHON_NUMBERS else number.item()
    return tuple(found)


def _packed(layout: struct.Struct, words: tuple[int | float, ...]) -> bytes | None:
    """The launch words as bytes; ``None`` for a number that its type cannot hold."""
    try:
        return layout.pack(*words)
    except (struct.error, OverflowError):
        return None


def _numbers(
    known: Mapping[str, int | float | bool], scalars: tuple[tuple[int, str, int], ...], args: Sequence[Any]
) -> Mapping[str, int | float | bool]:
    """The numbers of a launch by name; a number that is not among its values keeps its earlier value."""
    numbers = {name: args[position] for position, name, _ in scalars}
    return {**known, **numbers} if len(numbers) < len(known) else numbers


def remember(
    launched: LaunchKey, kernel: KernelFunction, given: int, prepared: PreparedLaunch, bound: SingleLaunch
) -> None:
    """Remembers a launch, if its key and a few checks are enough to recognize an equal one.

    ``given``: how many arguments it was given.
    """
    key, args, captured = launched
    # The reference accelerator looks at the host's memory at each launch.
    if prepared.target.reference:
        return
    arguments, shader = prepared.arguments, prepared.executable.shader
    plain = not arguments.captures and arguments.owner is None and given == len(arguments.args)
    complete = not kernel.function.__kwdefaults__ and shader.push_binding is None
    packed = any(use.descriptor is not None and use.descriptor.packed for use in bound.uses)
    # A launch of more threads may race.
    single = prepared.compiled.certain_races and prepared.domain.is_single
    if not (plain and complete) or packed or single:
        return
    names = [name for name, _ in arguments.args]
    names += [(head if isinstance(head, str) else names[head]) + tail for head, tail in captured]
    positions = {name: k for k, name in enumerate(names)}
    places = {word.name: k for k, word in enumerate(shader.push) if word.kind == "scalar"}
    containers = tuple(k for k, value in enumerate(args) if isinstance(value, Container))
    # The traits of the device among them are those of the view.
    needed = prepared.compiled.constants
    program = _Program(
        generation=prepared.generation,
        code=kernel.function.__code__,
        guards=tuple([each for each in prepared.compiled.guards if not each.is_fixed(kernel.function)]),
        follows_default=key[0] is None and not any(isinstance(args[k], array) for k in containers),
        constants=tuple((positions[n], pipeline.exactly(v)) for n, v in needed.items() if n in positions),
        scalars=tuple(
            (positions[name], n, places.get(n, -1))
            for n in arguments.scalars
            if (name := pipeline.argument_of(n)) in positions
        ),
    )
    _keep(kernel, key, bound, program, containers, args)
    tables = prepared.programs.tables
    used = [positions.get(each.name) for each in prepared.uses if each.name not in tables]
    if None not in used:
        alike = _Alike(
            plan=LaunchPlan.of(prepared, bound),
            program=program,
            uses=tuple(k for k in used if k is not None),
            tables=tuple(tables.values()),
            containers=containers,
            prepared=replace(prepared, kernel=None, arguments=pipeline.Arguments(placements=arguments.placements)),
        )
        _put(kernel.plans, _key_of_places(key, args), alike, _KEEP_PLANS)


def _keep(
    kernel: KernelFunction,
    key: tuple[Any, ...],
    bound: SingleLaunch,
    program: _Program,
    containers: tuple[int, ...],
    args: Sequence[Any],
) -> None:
    """Remembers a launch until one of its containers goes."""
    forget = _forgetting(kernel, key)
    known = tuple([(k, weakref.ref(args[k], forget)) for k in containers])
    numbers = tuple([(position, args[position]) for position, _, place in program.scalars if place >= 0])
    _put(kernel.launches, key, _Repeat(bound, program, known, numbers), _KEEP)


def _put(known: dict[Any, Any], key: Any, value: Any, most: int) -> None:
    with _lock:
        known.pop(key, None)
        known[key] = value
        while len(known) > most:
            known.pop(next(iter(known)), None)


def _forgetting(kernel: KernelFunction, key: Any) -> Callable[[weakref.ref[Container]], None]:
    """What gives up a remembered launch when one of its containers goes."""
    known = weakref.ref(kernel)

    def forget(_: weakref.ref[Container]) -> None:
        owner = known()
        if owner is not None:
            owner.launches.pop(key, None)

    return forget
