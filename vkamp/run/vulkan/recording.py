"""Work that is recorded once and submitted many times: repeated launches, and the recordings of captures."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from vkamp.run.engine import Dispatch, Ready, Recording
from vkamp.run.plan import NOTHING, Access, joint
from vkamp.run.vulkan.api import VulkanError
from vkamp.run.vulkan.commands import CopyWork, DispatchWork, Hazards, PlainWork, RecordedWork, Work, joint_access
from vkamp.run.vulkan.frames import Commands, Frames
from vkamp.run.vulkan.late_programs import is_awaited
from vkamp.run.vulkan.reused_memory import QueueWithReusedMemory
from vkamp.run.vulkan.submissions import QueueState, Submission
from vkamp.run.work import BoundReady

#: The maximum numbers of lists of work that a queue keeps recorded, and that it has seen only once. The least recently
#: used ones are dropped first.
_KEPT = 64
_SEEN = 256

#: The number of submissions that are prepared with launches that will be enqueued again and again.
_SPARE = 2

#: How often a function that enqueues nothing makes a submission; otherwise, it is as if work waited for other work.
_SUBMITTED = 2

#: Launches of a recording that may be submitted with others on a CPU driver, and launches of such a submission, if they
#: are known to be short, or not. On a GPU, where one submission costs as much time of the host as five replays, these
#: are any, and more of them where they take this time together (seconds).
FEW = 4
MOST_GATHERED, MOST_UNKNOWN = 256, 32
_TOGETHER = 0.02

_Key = tuple[int, ...]
_NONE: list[DispatchWork] = []


class Recorded:
    """A command buffer with everything that it uses except memory, which the submitter keeps alive. ``after``: the
    hazards after it. ``barriers``: the number of barriers in it. ``follows_itself``: no barrier is needed between two
    runs of it. ``slots``: the bytes of the memory that it uses, by the number of the slot. ``seconds``: its duration at
    most.
    """

    __slots__ = (
        "_behind", "_hazards", "access", "after", "barriers", "commands", "count", "follows_itself", "named", "seconds",
        "slots",
    )  # fmt: skip

    def __init__(self, commands: Commands, work: Sequence[DispatchWork], after: Hazards, barriers: int) -> None:
        self.commands = commands
        self.access: Access = joint_access(work)
        self.after = after
        self.follows_itself = not after.access.conflicts(self.access)
        self.slots = {slot.id: slot.nbytes for each in work for slot in each.slots}
        self.barriers = barriers
        self.count = len(work)
        self.seconds = math.inf
        self.named = [(each.program, each.sets) for each in work]
        #: The hazards before it the last time, and what followed from them.
        self._hazards: Hazards | None = None
        self._behind = (False, after)

    def behind(self, hazards: Hazards, follows: bool) -> tuple[bool, Hazards]:
        """Whether a barrier must precede these commands, and the hazards after them. ``follows``: earlier work may be
        running."""
        if not follows:
            return False, self.after
        if hazards is not self._hazards:
            # Recordings that alternate, as those of a call in a loop, find the same hazards again.
            self._hazards, self._behind = hazards, self._behind_new(hazards)
        return self._behind

    def _behind_new(self, hazards: Hazards) -> tuple[bool, Hazards]:
        after = self.after
        if not self.follows_itself if hazards is after else hazards.access.conflicts(self.access):
            return True, after
        if hazards.access is not NOTHING:
            after = hazards.and_then(after.access, after.computes, after.copies)
        return False, after


class VulkanRecording(RecordedWork, Recording):
    """A recorded command buffer with the memory that it uses. ``is_small``: it may be submitted with others, since it
    has few launches or runs on a GPU, and none is heavy. ``room``: how much work may be pending if it comes last.
    """

    def __init__(self, queue: QueueWithRecordings, work: list[DispatchWork], recorded: Recorded | None) -> None:
        self.queue = queue
        self.work = work
        self.recorded = recorded
        self.access = NOTHING if recorded is None else recorded.access
        self.is_small = (queue._poll > 0 or len(work) <= FEW) and not any(each.is_heavy for each in work)
        self.room = 0
        self._is_short = False

    def long(self) -> list[DispatchWork]:
        """Its launches that are not known to be short."""
        if self._is_short:
            return _NONE
        found = [each for each in self.work if not each.is_short]
        self._is_short = not found
        return found

    def find_room(self, most: int) -> int:
        """Finds ``room``, which is less than ``most``."""
        count = (MOST_UNKNOWN if self.long() else MOST_GATHERED) // max(len(self.work), 1)
        if self.queue._poll and self.recorded is not None:
            count = max(count, int(_TOGETHER / self.recorded.seconds))
        self.room = min(count, most - 1)
        return self.room

    def replay(self) -> None:
        self.queue.replay(self)


class Repeats:
    """The recordings of repeated launches: a list of work is recorded when it occurs for the third time."""

    def __init__(self) -> None:
        self._seen: OrderedDict[_Key, None] = OrderedDict()
        self._kept: OrderedDict[_Key, Recorded] = OrderedDict()

    @staticmethod
    def key(work: Sequence[PlainWork]) -> _Key | None:
        """The identity of a list of work; None if it cannot occur again."""
        numbers = []
        for each in work:
            if isinstance(each, CopyWork) or not each.number:
                return None
            numbers.append(each.number)
        return tuple(numbers)

    def get(self, key: _Key) -> Recorded | None:
        """The recording of ``key``."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def is_worth_it(self, key: _Key) -> bool:
        """Whether ``key`` has occurred before; records it otherwise."""
        if key in self._seen:
            del self._seen[key]
            return True
        self._seen[key] = None
        if len(self._seen) > _SEEN:
            self._seen.popitem(last=False)
        return False

    def keep(self, key: _Key, recorded: Recorded) -> None:
        """Stores a recording."""
        self._kept[key] = recorded
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        """Drops all of them."""
        self._kept.clear()
        self._seen.clear()


def first_part(work: Sequence[Work]) -> int:
    """How many pieces of work at the beginning are all recordings, or all something else."""
    is_recorded = isinstance(work[0], RecordedWork)
    for at, each in enumerate(work):
        if isinstance(each, RecordedWork) != is_recorded:
            return at
    return len(work)


class QueueWithRecordings(QueueWithReusedMemory):
    """The part of a queue that records work for many submissions."""

    frames: Frames
    _repeats: Repeats
    _poll: float
    _room: int

    def together(self, ready: Sequence[Ready]) -> Callable[[], None]:
        work = [each.work for each in ready if isinstance(each, BoundReady) and each.queue is self]
        if len(work) != len(ready) or not work or is_awaited(work):
            return super().together(ready)
        if len(work) > 1 or (self._poll and not work[0].is_heavy):
            return partial(self.replay, self._recording(work))
        return super().together(ready)

    def idle(self) -> Callable[[], None]:
        recording = self._recording([])
        left = [recording.recorded] * _SUBMITTED

        def enqueue() -> None:
            with self.device.lock:
                recorded = left.pop() if left else None
                if recorded is not None:
                    self._resubmit(recorded, recording, 1, {})
                    return
                if recording.recorded is not None:
                    self._replay(recording, recording.recorded, self._state.pending)
                pending = self._state.pending
                if pending and pending[-1] is recording:
                    pending.pop()

        return enqueue

    def record(self, dispatches: Sequence[Dispatch]) -> VulkanRecording:
        work = [self._bind(each, again=True) for each in dispatches]
        return self._recording(work) if work else VulkanRecording(self, work, None)

    def _recording(self, work: list[DispatchWork]) -> VulkanRecording:
        self._check()
        with self.device.lock:
            try:
                self.frames.prepare(_SPARE)
                return VulkanRecording(self, work, self._recorded(work))
            except VulkanError as error:
                raise self.device.failed(error) from error

    def _gather(self, recordings: list[VulkanRecording], later: list[Work]) -> None:
        """Makes one submission of several recordings."""
        if not self.frames.has_spare:
            self.retire()
        _, running, hazards = self._state
        handles: list[Any] = []
        runs: list[Recorded] = []
        barriers = count = 0
        for each in recordings:
            recorded = each.recorded
            assert recorded is not None
            behind, hazards = recorded.behind(hazards, bool(running or handles))
            if behind:
                handles.append(self.frames.barrier)
            handles.append(recorded.commands.handle)
            runs.append(recorded)
            barriers += recorded.barriers + behind
            count += recorded.count
        access = joint([each.access for each in {id(each): each for each in recordings}.values()])
        submission = Submission(self.frames.several(handles), access, (recordings,), len(recordings), {})
        submission.runs = runs
        self._add(submission, hazards, later, barriers, count)
        self._room -= len(recordings)

    def _add(self, submission: Submission, after: Hazards, later: list[Work], barriers: int, dispatches: int) -> None:
        """Adds a submission, which this or a later call submits: its work is no longer pending."""
        self.device.busy[id(self)] = self
        self._state = QueueState(later, [*self._state.running, submission], after)
        statistics = self._statistics
        statistics.submissions += 1
        statistics.barriers += barriers
        statistics.dispatches += dispatches

    @abstractmethod
    def replay(self, recording: VulkanRecording) -> None:
        """Submits a recording after everything enqueued."""

    @abstractmethod
    def _replay(self, recording: VulkanRecording, recorded: Recorded, pending: list[Work]) -> None:
        """As :meth:`replay`; the caller has the lock."""

    @abstractmethod
    def _resubmit(self, recorded: Recorded, held: object, pieces: int, slots: dict[int, int]) -> None:
        """Submits recorded work."""

    @abstractmethod
    def retire(self) -> None:
        """Releases finished work."""

    @abstractmethod
    def _recorded(self, work: list[DispatchWork]) -> Recorded:
        """Work as commands that can be submitted many times."""

    @abstractmethod
    def _bind(self, dispatch: Dispatch, *, again: bool = False) -> DispatchWork:
        """A checked dispatch, compiled and bound; with ``again``, it will be enqueued many times."""
