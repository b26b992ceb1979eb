"""Dispatches that were checked and bound to memory, for the queues of both Vulkan engines."""

from __future__ import annotations

import time
from math import prod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from vkamp.run.device import DeviceProgram
from vkamp.run.engine import DeviceInfo, Dispatch, Ready, Timing
from vkamp.run.plan import Regions, access_of
from vkamp.run.pool import PooledBlock

if TYPE_CHECKING:
    from typing_extensions import Self

    from vkamp.run.queue import BaseQueue

P = TypeVar("P", bound=DeviceProgram)
S = TypeVar("S", bound=PooledBlock)


class BoundDispatch(Generic[P, S]):
    """A checked dispatch: what it reads and writes. It keeps its buffers alive."""

    __slots__ = ("access", "dispatch", "enqueued", "program", "push", "slots", "tiles")

    def __init__(self, dispatch: Dispatch, program: P, slots: tuple[S, ...], regions: tuple[Regions, ...]) -> None:
        self.dispatch = dispatch
        self.push = dispatch.push
        self.program = program
        self.slots = slots
        writes = dispatch.writes
        if dispatch.sizes is not None:
            # The grid is read from the last of the slots.
            writes, regions = (*writes, False), (*regions, None) if regions else ()
        self.access = access_of([slot.id for slot in slots], writes, regions)
        self.tiles = prod(dispatch.groups)
        #: The times by the host's clock; known for timed dispatches.
        self.enqueued = 0.0

    def pushing(self, push: bytes) -> Self:
        """The same with other push constants."""
        made = self._again()
        made.push = push
        return made

    def timed(self) -> Self:
        """The same, enqueued now."""
        made = self._again()
        made.enqueued = time.perf_counter()
        return made

    def _again(self) -> Self:
        """Returns a copy that shares what all runs have in common. ``copy.copy`` takes several times as long."""
        made = type(self).__new__(type(self))
        made.access, made.dispatch, made.program, made.push = self.access, self.dispatch, self.program, self.push
        made.slots, made.tiles, made.enqueued = self.slots, self.tiles, 0.0
        return made

    def timing(self, info: DeviceInfo, begin: int, end: int, submitted: float, seen: float) -> Timing:
        """Its duration, from two timestamps of the device."""
        seconds = ((end - begin) & ((1 << info.tick_bits) - 1)) * info.tick
        launch, started = self.dispatch.launch, begin * info.tick
        return Timing(self.program.key, started, seconds, launch, self.enqueued, submitted, seen)


W = TypeVar("W", bound=BoundDispatch[Any, Any])


class BoundReady(Ready, Generic[W]):
    """A bound dispatch with its queue."""

    def __init__(self, queue: BaseQueue[Any, W], work: W) -> None:
        self.queue = queue
        self.work = work

    def enqueue(self) -> None:
        self.queue.append(self.work)

    def enqueue_with(self, push: bytes) -> None:
        self.queue.append(self.work.pushing(push))
