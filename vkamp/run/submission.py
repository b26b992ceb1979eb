"""Work of the Kompute engine: dispatches, the submissions that they are part of, and recordings."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from vkamp.run.engine import Dispatch, Recording
from vkamp.run.kompute_device import KomputeProgram, Pipeline, TensorSlot
from vkamp.run.plan import Access, Regions, joint, levels
from vkamp.run.work import BoundDispatch, BoundReady

if TYPE_CHECKING:
    from vkamp.run.kompute_queue import KomputeQueue


_BYTES_PER_SECOND = 4e9


class Pending(BoundDispatch[KomputeProgram, TensorSlot]):
    """A dispatch with its pipeline, and the recorded sequence that contains only this dispatch; ``None`` if the
    sequence needs more."""

    __slots__ = ("alone", "pipeline")

    def __init__(
        self,
        dispatch: Dispatch,
        program: KomputeProgram,
        slots: tuple[TensorSlot, ...],
        regions: tuple[Regions, ...],
        pipeline: Pipeline,
    ) -> None:
        super().__init__(dispatch, program, slots, regions)
        self.pipeline = pipeline
        self.alone: list[Any] | None = None

    def _again(self) -> Pending:
        made = super()._again()
        made.pipeline, made.alone = self.pipeline, None if self.alone is None else []
        return made

    def seconds(self) -> float:
        """How long it will take, from how long it took before; infinite if its program never ran with such push
        constants."""
        rate = self.program.seconds_per_tile
        return float("inf") if rate is None or not self.program.is_usual(self.push) else rate * self.tiles


class KomputeSubmission:
    """Work that the device does without the host in between: uploads, then dispatches, then downloads.

    It runs in one of two ways. *Blocking*: one recorded sequence, evaluated inside kp (``done``). *Running*: each
    operation in a separate sequence, submitted one after the other (``running``), since kp cannot submit more at a time
    without waiting. The record of its progress survives a KeyboardInterrupt at any point.
    """

    def __init__(
        self,
        queue: KomputeQueue,
        dispatches: list[Pending],
        uploads: list[TensorSlot],
        downloads: list[TensorSlot],
    ) -> None:
        self.queue = queue
        self.dispatches = dispatches
        self.uploads = uploads
        self.downloads = downloads
        self.access = _joint_access(dispatches, uploads, downloads)
        #: Where its sequence is stored, if not with the device's sequences.
        self.kept: dict[Hashable, Any] | None = None
        self.operations: list[Any] | None = None
        self.running: list[Any] = []
        self.flag: list[Any] = []
        self.done: list[Any] = []
        self.started = 0.0
        #: How much of the time since then the host spent on submitting.
        self.starting = 0.0
        self.waited = False

    @property
    def is_started(self) -> bool:
        """Whether all of it has been submitted."""
        if self.done:
            return True
        return self.operations is not None and len(self.running) == len(self.operations)

    def changes(self, slot: TensorSlot) -> bool:
        """Whether it changes what ``slot`` contains, for the device or for the host."""
        return slot in self.downloads or any(slot.id in d.access.writes for d in self.dispatches)

    def seconds(self) -> float:
        """How long it will take, from how long it took before; infinite if a program never ran."""
        moved = sum(s.nbytes for s in self.uploads) + sum(s.nbytes for s in self.downloads)
        return moved / _BYTES_PER_SECOND + sum(each.seconds() for each in self.dispatches)

    def is_worth_a_try(self) -> bool:
        """Whether only a run in one piece can measure its duration, because so far the device has kept pace with the
        host."""
        tiles = sum([each.tiles for each in self.dispatches])
        programs = [each.program for each in self.dispatches]
        return bool(programs) and all(p.tiles_at_once < tiles <= p.tiles_in_time for p in programs)


class KomputeReady(BoundReady[Pending]):
    """A dispatch with its pipeline, which it releases when the device closes."""

    def __init__(self, queue: KomputeQueue, pending: Pending) -> None:
        super().__init__(queue, pending)
        queue.device.held.add(self)

    def release(self) -> None:
        self.work.pipeline.algorithm = None
        self.work.alone = None


class KomputeRecording(Recording):
    """The dispatches of each submission, with their recorded sequences."""

    def __init__(self, queue: KomputeQueue, work: list[Pending]) -> None:
        self.queue = queue
        self.levels = [[work[i] for i in level] for level in levels([each.access for each in work])]
        self.sequences: dict[Hashable, Any] = {}
        queue.device.held.add(self)

    def replay(self) -> None:
        self.queue.replay(self)

    def release(self) -> None:
        """Releases all objects of kp, since the device closes."""
        self.levels = []
        self.sequences.clear()


def touches(work: KomputeSubmission | Pending, slot: TensorSlot) -> bool:
    return slot.id in work.access.writes or slot.id in work.access.reads


def _joint_access(dispatches: list[Pending], uploads: list[TensorSlot], downloads: list[TensorSlot]) -> Access:
    if len(dispatches) == 1 and not uploads and not downloads:
        return dispatches[0].access
    syncs = Access(dict.fromkeys([s.id for s in downloads]), dict.fromkeys([s.id for s in uploads]))
    return joint([*(each.access for each in dispatches), syncs])


def call_noted(into: list[Any], function: Callable[..., Any], *arguments: Any) -> None:
    """Calls ``function`` and records the call; a KeyboardInterrupt cannot come in between."""
    into.extend(map(function, *((each,) for each in arguments)))
