"""Repeated calls of library functions: their launches are remembered together, with the memory that they use.

A function of a library does much before and between its launches: it looks at its arguments, chooses a form, and makes
arrays for partial results and for the result.  A call with the same containers and the same values does all of that
again, and its launches are the same.  So the second such call is captured (``amp.capture()``), and from the third on
only the launches are repeated, in the same temporary arrays.  The result is the container of an earlier call if nothing
else refers to that container any more, as its reference count shows; up to ``_MAX_COPIES`` results of one call
can be in use.  Calls that cannot be captured, or that start from initial contents, run normally.
"""

from __future__ import annotations

import contextlib
import functools
import math
import sys
import threading
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from vkamp import pipeline
from vkamp.dispatch.bound_launch import SingleLaunch
from vkamp.dispatch.call_keys import PLAIN, CallKey, Moving
from vkamp.dispatch.capturing import capture
from vkamp.dispatch.launch_keys import NUMBERS
from vkamp.dispatch.preparing import PreparedLaunch
from vkamp.dispatch.running import is_checked
from vkamp.dispatch.targets import default_for, lowering_variable
from vkamp.edit.active import generation, look_again
from vkamp.errors import AmpError, OutOfMemoryError
from vkamp.lang.arrays import array
from vkamp.lang.binding import ElementBinding
from vkamp.lang.capturing import recorder
from vkamp.lang.container import Container, bindable
from vkamp.lang.home import Home, epoch
from vkamp.lang.host_memory import Lease
from vkamp.lang.references import another, is_unused
from vkamp.lang.references import uncounted as uncounted
from vkamp.run.accelerators import accelerator_view, queue_of
from vkamp.run.late_programs import late_programs
from vkamp.run.memory import on_shortage
from vkamp.tracebacks import leave, mark

_F = TypeVar("_F", bound=Callable[..., Any])

#: Calls that are known; the oldest goes first.
_MAX_CALLS = 1024
#: Copies of one call, each with a result.
_MAX_COPIES = 4
#: Launches of a call: a factorisation of a large matrix has thousands.
_MAX_LAUNCHES = 4096
#: The bytes that remembered calls may hold: a fraction of the device's own memory, or of the host's, and at least a
#: minimum.
_PART, _PART_OF_HOST, _LEAST_BYTES = 16, 64, 64 << 20
#: The part of these bytes that the copies of one call may hold together.  A program that assigns the result to the same
#: name in a loop needs two copies.
_PART_OF_CALL = 2

#: A copy for the second call is made ahead if it holds at most this part of them.
_PART_AHEAD = 16

#: How often the code of a repeated call runs before the second one: Python 3.11 runs code faster from the eighth time.
_REHEARSALS = 10

#: Smaller temporary arrays do not share memory: launches that use the same memory wait for each other.
_LEAST_SHARED = 1 << 20


@dataclass(slots=True)
class _CallCopy:
    """The launches of a call with memory of their own.

    ``guards``: what the user's functions have to be, with the kernels that use them.  ``result``: makes the result of
    the containers of the call and ``made``, those that the call made.  ``nbytes``: the memory that it made.
    ``moving``: places among the words of the only launch, and which number of a :class:`Moving` each has.
    ``writes_own``: they write nothing but that memory.
    """

    launches: tuple[SingleLaunch, ...]
    guards: tuple[tuple[pipeline.Guard, FunctionType], ...]
    result: Callable[[Sequence[Container], Sequence[Container]], Any]
    made: list[Container]
    nbytes: int
    view: accelerator_view
    generation: int
    moving: tuple[tuple[int, int], ...]
    writes_own: bool
    lock: threading.Lock = field(default_factory=threading.Lock)
    #: What enqueues all launches where nothing has moved since the time ``epoch``.
    enqueue: Callable[[], None] | None = None
    epoch: int = -1

    def run(self, moving: Moving | None) -> bool:
        """Enqueues the launches; False, and none of them is enqueued, if a container has moved or a function has
        changed."""
        if self.generation != generation():
            return False
        for guard, kernel in self.guards:
            # As `holds`, without its call.
            if guard.read(kernel) is not guard.value and not guard.holds(kernel):
                return False
        if moving is not None:
            return self._run_with(moving.numbers)
        now = epoch.now
        if self.epoch == now:
            enqueue = self.enqueue
            if enqueue is None:
                enqueue = self.enqueue = self._together()
            enqueue()
            if epoch.now != now:  # Somebody has used a container meanwhile.
                for launch in self.launches:
                    launch.mark_changed()
            return True
        for launch in self.launches:
            if launch.epoch != now and not launch.acquire():
                return False
        is_current = True
        for launch in self.launches:
            launch.submit()
            is_current = is_current and launch.epoch == now
        self.epoch = now if is_current and epoch.now == now else -1
        return True

    def bind(self) -> bool:
        """Binds launches that have not run, which :meth:`prepare` needs; False if that cannot be.

        They must write only what nobody else uses: it counts as written.
        """
        return all(launch.acquire() and launch.bind() for launch in self.launches)

    def prepare(self) -> None:
        """Prepares the next run, so that it only enqueues."""
        now = epoch.now
        if all(launch.is_current() for launch in self.launches):
            if self.enqueue is None:
                self.enqueue = self._together()
            self.epoch = now

    def _run_with(self, numbers: tuple[int, ...]) -> bool:
        """Enqueues the only launch with other numbers. The first time it runs with those of the call that made it."""
        (launch,) = self.launches
        if launch.epoch != epoch.now and not launch.acquire():
            return False
        if not launch.is_bound:
            return launch.submit()
        words = [*launch.words]
        for place, number in self.moving:
            words[place] = numbers[number]
        return launch.submit(launch.layout.pack(*words))

    def _together(self) -> Callable[[], None]:
        return queue_of(self.view).together([each.ready() for each in self.launches])


@dataclass(slots=True)
class _Call:
    """A call that came before.  ``copies`` is None for one that cannot be repeated."""

    containers: tuple[weakref.ref[Container], ...]
    follows_default: bool
    copies: list[_CallCopy] | None = field(default_factory=list)


#: The calls that are known; the oldest is the first.  Without a lock: containers that go remove theirs at any time.
_calls: dict[tuple[Any, ...], _Call] = {}


def repeats(settings: Callable[[], Hashable], *, at_once: bool = False) -> Callable[[_F], _F]:
    """Decorates a function of a library, whose repeated calls repeat their launches, from the third on those of the
    second; it becomes an entry point. With ``at_once``, the second call repeats those of the function's very first one,
    which prepares it.

    The result is made of containers, of tuples and lists, and of objects that name their members in
    ``_vkamp_members``.  ``settings()``: what else the calls of the library depend on.
    """

    def decorate(function: _F) -> _F:
        return _repeating(function, settings, [function] if at_once else [])  # type: ignore[return-value]

    return decorate


def _repeating(function: Callable[..., Any], settings: Callable[[], Hashable], first: list[Any]) -> Callable[..., Any]:
    """The function that is called instead; ``first`` is empty after a first call that is prepared for a second one."""

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        __tracebackhide__ = True  # as `entry_point`, without its call
        try:
            return called(args, named)
        except Exception as error:
            leave(error, sys._getframe(1))
            raise

    def called(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if recorder() is not None or is_checked():
            return function(*args, **named)
        found = CallKey(function, lowering_variable(), settings())
        if not found.add(args, named):
            return _run_once(function, args, named)
        key = tuple(found.parts)
        known = _calls.get(key)
        if known is None or not _is_same(known, found.containers):
            known = _remember(key, found.containers, named)
            if not first:
                result = _run_once(function, args, named)
                generation()  # Where it compiled for long, the next call would look at the folder of shaders.
                return result
            first.clear()
            result = _run_anew(key, known, found, function, args, named, prepares=True)
            copies = known.copies
            if copies:
                _rehearse(known, copies[0].view, settings, args, named)
            return result
        if known.copies is None:
            return _run_once(function, args, named)
        ran, result = _repeat(key, known, found)
        return result if ran else _run_anew(key, known, found, function, args, named)

    return mark(call)


def _rehearse(
    known: _Call,
    view: accelerator_view,
    settings: Callable[[], Hashable],
    args: tuple[Any, ...],
    named: dict[str, Any],
) -> None:
    """Runs the code of a repeated call before the second one, which takes twice as long otherwise, since the processor
    has not run that code lately.

    What it runs is the call of a function that does nothing, whose launches do nothing.
    """

    def stand_in(*_: Any, **__: Any) -> None:
        pass

    found = CallKey(stand_in, lowering_variable(), settings())
    if not found.add(args, named) or found.moving is not None:
        return
    idle = _CallCopy((), (), stand_in, [], 0, view, generation(), (), True, enqueue=queue_of(view).idle())
    key = tuple(found.parts)
    _calls[key] = _Call(known.containers, known.follows_default, [idle])
    call = _repeating(stand_in, settings, [])
    try:
        for _ in range(_REHEARSALS):
            idle.epoch = epoch.now
            call(*args, **named)
    finally:
        _calls.pop(key, None)


def _run_once(function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Runs a call; what its launches compile, threads compile at the same time where they can."""
    with late_programs():
        return function(*args, **named)


def trim() -> None:
    """Gives up all remembered calls, and the memory that they hold."""
    for key in _calls.copy():
        _calls.pop(key, None)


on_shortage.append(trim)


# -- remembered calls ----------------------------------------------------------------------------------------------


def _is_same(known: _Call, containers: Sequence[Container]) -> bool:
    """Whether the containers are those of the call: an id may have gone to another object."""
    for each, container in zip(known.containers, containers):  # noqa: B905, SIM110 - a generator takes twice the time
        if each() is not container:
            return False
    return True


def _remember(key: tuple[Any, ...], containers: Sequence[Container], named: dict[str, Any]) -> _Call:
    # When the interpreter ends, the names of this module may be gone.
    def forget(_: object, calls: dict[tuple[Any, ...], _Call] = _calls) -> None:
        calls.pop(key, None)

    explicit = isinstance(named.get("accelerator_view"), accelerator_view)
    follows_default = not explicit and not any(isinstance(each, array) for each in containers)
    _calls.pop(key, None)
    made = _calls[key] = _Call(tuple([weakref.ref(each, forget) for each in containers]), follows_default)
    while len(_calls) > _MAX_CALLS:
        _calls.pop(next(iter(_calls)), None)
    return made


def _repeat(key: tuple[Any, ...], known: _Call, found: CallKey) -> tuple[bool, Any]:
    """Whether a copy of the call ran, and its result."""
    containers = found.containers
    for each in known.copies or ():
        if not each.lock.acquire(False):  # by its name it takes twice the time
            continue
        try:
            if not is_unused(each.made):
                continue
            is_there = not known.follows_default or default_for(containers) == each.view
            if is_there and each.run(found.moving):
                return True, each.result(containers, each.made)
        finally:
            each.lock.release()
        # The next call begins again.
        if _calls.get(key) is known:
            _calls.pop(key, None)
        break
    return False, None


def _run_anew(
    key: tuple[Any, ...],
    known: _Call,
    found: CallKey,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    named: dict[str, Any],
    *,
    prepares: bool = False,
) -> Any:
    """Runs a call, and remembers its launches if that is possible; with ``prepares``, the next call only enqueues."""
    copies = known.copies
    if copies is None or _has_enough(copies) or _calls.get(key) is not known:
        return function(*args, **named)
    made = _captured(found, function, args, named)
    if made is None:
        known.copies = None
        return function(*args, **named)
    with made.lock:
        copies.append(made)
        _make_room(known, made.view)
        try:
            with late_programs():
                has_run = made.run(found.moving)
        except OutOfMemoryError:
            # Before the first launch: the call itself needs no more than this.
            trim()
            has_run = False
        if has_run:
            if prepares:
                _prepare_next(copies, found, function, args, named)
            return made.result(found.containers, made.made)
    known.copies = None
    return function(*args, **named)


def _prepare_next(
    copies: list[_CallCopy], found: CallKey, function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]
) -> None:
    """Prepares the second call: its memory, its submission and its look at the folder of edited shaders."""
    (first,) = copies
    if first.made and first.writes_own and first.nbytes <= _most_bytes(first.view) // _PART_AHEAD:
        # The first result is in use then.
        another = _captured(found, function, args, named)
        with contextlib.suppress(OutOfMemoryError):
            if another is not None and another.bind():
                copies.append(another)
    for each in copies:
        each.prepare()
    queue_of(first.view).flush()
    look_again()


def _has_enough(copies: Sequence[_CallCopy]) -> bool:
    """Whether a call has as many copies as it may have, or another one would hold too much memory."""
    if not copies:
        return False
    nbytes = sum([each.nbytes for each in copies])
    return len(copies) >= _MAX_COPIES or nbytes + copies[-1].nbytes > _most_bytes(copies[-1].view) // _PART_OF_CALL


def _make_room(newest: _Call, view: accelerator_view) -> None:
    """Forgets the oldest calls while all of them hold too much memory."""
    held = {key: sum([each.nbytes for each in call.copies or ()]) for key, call in _calls.copy().items()}
    excess = sum(held.values()) - _most_bytes(view)
    for key, nbytes in held.items():
        if excess <= 0:
            break
        if nbytes and _calls.get(key) is not newest:
            _calls.pop(key, None)
            excess -= nbytes


def _most_bytes(view: accelerator_view) -> int:
    accelerator = view.accelerator
    part = _PART_OF_HOST if accelerator.is_emulated else _PART
    return max((accelerator.dedicated_memory << 10) // part, _LEAST_BYTES)


# -- copies --------------------------------------------------------------------------------------------------------


def _captured(
    found: CallKey, function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]
) -> _CallCopy | None:
    """The launches of a call, none of which has run; None for a call that cannot be repeated."""
    try:
        # Their programs are made while Python compiles the next ones.
        with late_programs(), capture() as graph:
            result = function(*args, **named)
        return _copy_of(graph._steps, found, result)
    except Exception:  # The call itself raises it again.
        return None


def _copy_of(steps: Sequence[PreparedLaunch], found: CallKey, result: Any) -> _CallCopy | None:
    containers = found.containers
    if not steps or len(steps) > _MAX_LAUNCHES or steps[0].target.reference:
        return None
    # What a kernel captures by itself is nowhere in the key.
    if any(step.waits or step.arguments.captures for step in steps):
        return None
    own = {id(_home(each)) for each in containers}
    homes: dict[int, Home] = {}
    for step in steps:
        for each in step.uses:
            home = _home(each.container)
            if id(home) not in own:
                homes[id(home)] = home
                # What is there before the first launch would have to be there before each.
                if each.writes and not home.undefined and home not in _self_resetting:
                    return None
    made: list[Container] = []
    template = _template(result, containers, made)
    for container in made:
        if id(_home(container)) in own or _home(container).primary is None:
            return None
        homes[id(_home(container))] = _home(container)
    shared = _shared_memory(steps, own, [_home(each) for each in made])
    nbytes = sum([each.stop - each.start for key, each in homes.items() if key not in shared])
    view = steps[0].view
    moving = () if found.moving is None else _places_of(found.moving, steps)
    if moving is None:
        return None
    if nbytes > _most_bytes(view) // _PART_OF_CALL:
        return None
    launches = tuple([_launch_of(step, shared) for step in steps])
    guards = {
        id(guard): (guard, step.request.function)
        for step in steps
        for guard in step.compiled.guards
        if not guard.is_fixed(step.request.function)
    }
    writes_own = not any(each.writes and id(_home(each.container)) in own for step in steps for each in step.uses)
    now = steps[0].generation
    return _CallCopy(launches, tuple(guards.values()), template, made, nbytes, view, now, moving, writes_own)


def _places_of(moving: Moving, steps: Sequence[PreparedLaunch]) -> tuple[tuple[int, int], ...] | None:
    """The places of numbers among the words of a launch; None unless nothing else depends on them."""
    if len(steps) != 1 or steps[0].executable.shader.push_binding is not None:
        return None
    (step,) = steps
    which = {name: k for k, name in enumerate(moving.names)}
    if any(_last_name(name) in which for name in step.compiled.constants):
        return None
    words = step.executable.shader.push
    return tuple([(k, which[name]) for k, word in enumerate(words) if (name := _last_name(word.name)) in which])


def _last_name(path: str) -> str:
    return path.rpartition(".")[2]


def _home(container: Container) -> Home:
    return bindable(container).lease.home


def _launch_of(step: PreparedLaunch, shared: Mapping[int, Lease]) -> SingleLaunch:
    """A launch whose uses do not count as references to memory: what the call made, or another call that made its
    arguments, can be used again.  ``shared``: see :func:`_shared_memory`.
    """
    found = SingleLaunch(step)
    for use in found.uses:
        elements = use.bindable
        home = elements.lease.home
        if home.primary is not None:
            lease = shared.get(id(home), elements.lease)
            use.bindable = ElementBinding(another(lease), elements.layout)
    return found


@dataclass(slots=True)
class _Room:
    """Memory for temporary arrays, one after the other, and at last for a result.  ``last``: the last launch so far
    that uses it."""

    lease: Lease
    last: float
    arrays: list[int]


def _shared_memory(steps: Sequence[PreparedLaunch], own: Set[int], made: Sequence[Home]) -> dict[int, Lease]:
    """The memory that large temporary arrays get instead of their own, by the ids of their homes.

    Each array that a function makes has memory of its own while the function is captured, although no launch may use it
    any more when the next array is first used.  A result can be such a next array.
    """
    results = {id(each) for each in made}
    first: dict[int, int] = {}
    last: dict[int, float] = {}
    leases: dict[int, Lease] = {}
    for number, step in enumerate(steps):
        for each in step.uses:
            lease = bindable(each.container).lease
            home, key = lease.home, id(lease.home)
            if key not in own and home.stop - home.start >= _LEAST_SHARED:
                first.setdefault(key, number)
                last[key] = math.inf if key in results else number
                leases[key] = lease
    rooms: dict[Hashable, list[_Room]] = {}
    for key, lease in leases.items():  # in the order of their first launches
        home = lease.home
        # What has contents, or is kept for the next call, stays where it is.
        if home.primary is None or home.undefined != home.everything or home in _self_resetting:
            continue
        alike = rooms.setdefault((home.start, home.stop, home.primary), [])
        room = next((each for each in alike if each.last < first[key]), None)
        if room is None:
            alike.append(_Room(lease, last[key], [key]))
            continue
        if key in results:
            room.lease = lease
        room.last = last[key]
        room.arrays.append(key)
    found = [(key, room.lease) for each in rooms.values() for room in each for key in room.arrays]
    return {key: lease for key, lease in found if leases[key] is not lease}


_Template = Callable[[Sequence[Container], Sequence[Container]], Any]


def _template(result: Any, containers: Sequence[Container], made: list[Container]) -> _Template:
    """A function that makes a result like this one from the containers of a call and those that the call made, which
    are added to ``made``.

    Its code is generated: a function that walks through the result takes up to four times as long in every call.
    """
    source = _ResultSource(containers, made)
    value = source.value(result)
    text = "\n    ".join(["def make(given, own):", *source.statements, f"return {value}"])
    exec(text, source.names)
    found: _Template = source.names["make"]
    return found


class _ResultSource:
    """The Python code that makes a result: statements, and the objects that they use by their names."""

    def __init__(self, containers: Sequence[Container], made: list[Container]) -> None:
        self.containers, self.made = containers, made
        self.statements: list[str] = []
        self.names: dict[str, Any] = {"new": object.__new__}

    def value(self, result: Any) -> str:
        """An expression of a result."""
        if isinstance(result, Container):
            for k, each in enumerate(self.containers):
                if each is result:
                    return f"given[{k}]"
            position = next((k for k, each in enumerate(self.made) if each is result), len(self.made))
            if position == len(self.made):
                self.made.append(result)
            return f"own[{position}]"
        kind = type(result)
        if kind is tuple or kind is list:
            items = "".join([f"{self.value(each)}, " for each in result])
            return f"({items})" if kind is tuple else f"[{items}]"
        members = getattr(kind, "_vkamp_members", None)
        if members is not None:
            values = [(name, self.value(getattr(result, name))) for name in members]
            found = self._named(kind)
            self.statements.append(f"made{found} = new({found})")
            self.statements += [f"made{found}.{name} = {value}" for name, value in values]
            return f"made{found}"
        if kind is np.ndarray:
            # Of the host, and not of elements: nothing has waited for these.
            return f"{self._named(result)}.copy()"
        if result is None or kind in NUMBERS or kind in PLAIN or isinstance(result, np.dtype):
            return self._named(result)
        raise AmpError(f"a call that returns {kind.__name__} is not repeated")

    def _named(self, value: Any) -> str:
        name = f"_{len(self.names)}"
        self.names[name] = value
        return name


#: Memory whose contents each call leaves as they were.
_self_resetting: weakref.WeakSet[Home] = weakref.WeakSet()


def note_self_resetting(container: Container) -> None:
    """Notes that each call of a library leaves the contents of a container as they were."""
    _self_resetting.add(_home(container))
