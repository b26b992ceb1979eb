"""How launches on the reference accelerator run: in which order, which thread is followed, what comes of findings.

Each setting is that of the thread (or task) that sets it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from vkamp.errors import AmpError
from vkamp.findings import Report
from vkamp.records import dataclass
from vkamp.tracebacks import contextmanager

if TYPE_CHECKING:
    from vkamp.sim import Follow, Schedule


_VARIABLE = "VKAMP_SCHEDULE"
_SIZE_VARIABLE = "VKAMP_SUBGROUP_SIZE"
#: What Vulkan allows.
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)

_schedule: ContextVar[Schedule | None] = ContextVar("vkamp_reference_schedule", default=None)
_subgroup_size: ContextVar[int | None] = ContextVar("vkamp_reference_subgroup_size", default=None)
_following: ContextVar[_Following | None] = ContextVar("vkamp_reference_following", default=None)
_reports: ContextVar[list[Report] | None] = ContextVar("vkamp_reference_reports", default=None)


def simulator() -> Any:
    """The room ``vkamp.sim``, loaded by the first launch that runs there: it takes as long as the compiler's front."""
    from vkamp import sim

    return sim


@contextmanager
def reference_schedule(name: str, *, seed: int = 0) -> Iterator[None]:
    """Chooses the order in which launches on the reference accelerator run tiles and threads.

    ``"in-order"`` is the default; ``"reversed"`` begins with the last; ``"random"`` draws by ``seed``, and switches
    threads before atomics too; ``"adversarial"`` lets no tile count on its neighbours, alternates the order of threads
    at every barrier, and lets each store to shared memory come as late as it can.  A right program gives the same in
    all of them.  The environment variable ``VKAMP_SCHEDULE`` (``in-order``, ``reversed``, ``random:7``,
    ``adversarial``) is what holds elsewhere.

    Used as ``with amp.reference_schedule("random", seed=7):``, for launches of the same thread.  Raises ``ValueError``
    for another name.
    """
    token = _schedule.set(simulator().Schedule(name, seed))
    try:
        yield
    finally:
        _schedule.reset(token)


def current_schedule() -> Schedule:
    """The schedule of a launch now."""
    chosen = _schedule.get()
    if chosen is not None:
        return chosen
    text = os.environ.get(_VARIABLE)
    if not text:
        default: Schedule = simulator().Schedule()
        return default
    try:
        named: Schedule = simulator().Schedule.parse(text)
        return named
    except ValueError as error:
        raise AmpError(f"{_VARIABLE}: {error}") from None


@contextmanager
def reference_subgroups(size: int) -> Iterator[None]:
    """Chooses the size of a subgroup in launches on the reference accelerator: a power of two from 1 to 128.

    It is 32 elsewhere, or what the environment variable ``VKAMP_SUBGROUP_SIZE`` says.  Devices differ in
    this size, and a correct program works with each of them.  ``amp.accelerator.limits`` still reports 32.

    Used as ``with amp.reference_subgroups(8):``, for launches of the same thread.  Raises ``ValueError`` for another
    size.
    """
    if size not in _SIZES:
        raise ValueError(f"a subgroup has {', '.join(map(str, _SIZES[:-1]))} or {_SIZES[-1]} lanes, not {size}")
    token = _subgroup_size.set(size)
    try:
        yield
    finally:
        _subgroup_size.reset(token)


def current_subgroup_size() -> int:
    """The lanes of a subgroup in a launch now."""
    chosen = _subgroup_size.get()
    if chosen is not None:
        return chosen
    text = os.environ.get(_SIZE_VARIABLE)
    if not text:
        return int(simulator().SUBGROUP_SIZE)
    if text not in map(str, _SIZES):
        raise AmpError(f"{_SIZE_VARIABLE} is {text!r}: give {', '.join(map(str, _SIZES[:-1]))} or {_SIZES[-1]}")
    return int(text)


@dataclass
class _Following:
    """A thread that is followed, and whether any launch had it."""

    follow: Follow
    found: bool = False


@contextmanager
def follow(
    thread: Sequence[int] | int | None = None,
    *,
    tile: Sequence[int] | int | None = None,
    local: Sequence[int] | int | None = None,
    trace: bool = False,
) -> Iterator[None]:
    """Follows one thread through launches on the reference accelerator: only its prints and breakpoints act.

    ``thread`` is its global index; ``tile`` and ``local`` together name it by its tile and its index there.  With
    ``trace`` it also shows each source line that the thread runs, and the values that it assigns.

    Used as ``with amp.follow((3, 5)):``, for launches of the same thread of the host.  Raises ``TypeError`` unless
    either ``thread`` or both ``tile`` and ``local`` are given, and ``AmpError`` at the end if no launch on the
    reference accelerator had the thread.
    """
    by_place = tile is not None and local is not None
    if (thread is None) != by_place or (tile is None) != (local is None):
        raise TypeError("amp.follow takes a thread's global index, or tile= and local=")
    chosen = simulator().Follow(_components(thread), _components(tile), _components(local), trace)
    following = _Following(chosen)
    token = _following.set(following)
    try:
        yield
    finally:
        _following.reset(token)
    if not following.found:
        name = f"thread {chosen.global_}" if tile is None else f"thread {chosen.local} of tile {chosen.tile}"
        raise AmpError(f"no launch on the reference accelerator had {name}, which amp.follow names")


def _components(index: Sequence[int] | int | None) -> tuple[int, ...] | None:
    if index is None:
        return None
    return (index,) if isinstance(index, int) else tuple(int(i) for i in index)


def current_following() -> _Following | None:
    """The thread that launches follow now."""
    return _following.get()


@contextmanager
def collecting() -> Iterator[list[Report]]:
    """Launches on the reference accelerator raise nothing for what they find: each appends its report to the list."""
    made: list[Report] = []
    token = _reports.set(made)
    try:
        yield made
    finally:
        _reports.reset(token)


def reports() -> list[Report] | None:
    """The list that collects reports now; ``None`` if findings are raised."""
    return _reports.get()
