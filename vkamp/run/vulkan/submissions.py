"""Recorded work that is submitted together."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from vkamp.run.engine import Sink
from vkamp.run.plan import Access
from vkamp.run.vulkan.commands import CopyWork, DispatchWork, Hazards, PlainWork, Stamps, Work, joint_access
from vkamp.run.vulkan.frames import CommandFrame
from vkamp.run.vulkan.memory import MemorySlot


class Timed(Protocol):
    """Something that runs again and again. ``seconds``: its duration at most."""

    seconds: float


class Submission:
    """Submitted work, which is kept until the device has finished it. ``held``: the objects that must exist until then.
    ``pieces``: the number of pieces of work. ``slots``: the bytes of the memory that it uses, by the number of the
    slot. ``staged``: the bytes that it copies. ``lone``: its dispatch, if there is exactly one. ``runs``: the
    recordings that it runs; ``parts``: the dispatches of these whose durations are of interest.
    """

    __slots__ = (
        "access", "frame", "held", "is_over", "lone", "parts", "pieces", "runs", "sink", "slots", "staged", "stamps",
        "submitted",
    )  # fmt: skip

    def __init__(
        self, frame: CommandFrame, access: Access, held: tuple[object, ...], pieces: int, slots: dict[int, int]
    ) -> None:
        self.frame = frame
        self.access = access
        self.held = held
        self.pieces = pieces
        self.slots = slots
        self.lone: DispatchWork | None = None
        self.runs: Sequence[Timed] = ()
        self.parts: Sequence[DispatchWork] = ()
        self.staged = 0
        self.stamps: Stamps | None = None
        self.sink: Sink | None = None
        self.submitted = time.perf_counter()
        self.is_over = False

    @classmethod
    def of(cls, work: Sequence[PlainWork], frame: CommandFrame, stamps: Stamps | None, sink: Sink | None) -> Submission:
        """The commands that are recorded for this submission only."""
        slots = {slot.id: slot.nbytes for each in work for slot in each.slots}
        made = cls(frame, joint_access(work), (work,), len(work), slots)
        made.staged = sum([each.nbytes for each in work if isinstance(each, CopyWork)])
        if stamps is not None:
            made.stamps, made.sink = stamps, sink
        elif len(work) == 1 and isinstance(work[0], DispatchWork):
            made.lone = work[0]
        return made


class QueueState(NamedTuple):
    """The work of a queue as one immutable value, so that every change is one assignment."""

    pending: list[Work]
    running: list[Submission]
    hazards: Hazards


def note_runs(submissions: Sequence[Submission], now: float) -> None:
    """Records how long recordings, and parts of them, took at most in submissions that ended one after the other."""
    since = submissions[0].submitted
    runs = Counter([id(each) for submission in submissions for each in submission.runs])
    for submission in submissions:
        seconds = math.inf
        for each in submission.runs:
            seconds = (now - since) / runs[id(each)]
            each.seconds = min(each.seconds, seconds)
        for part in submission.parts:
            part.took(min(now - submission.submitted, seconds), at_most=True)


def touches(access: Access, slot: MemorySlot, writes_only: bool) -> bool:
    """Whether work with this access uses a slot, or writes it."""
    return slot.id in access.writes or (not writes_only and slot.id in access.reads)
