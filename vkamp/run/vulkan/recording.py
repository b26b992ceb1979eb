"""Work that is recorded once and submitted many times: repeated launches, and the recordings of captures."""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial

from vkamp.run.engine import Dispatch, Ready, Recording
from vkamp.run.plan import Access
from vkamp.run.vulkan.api import VulkanError
from vkamp.run.vulkan.commands import CopyWork, DispatchWork, Hazards, Work, joint_access
from vkamp.run.vulkan.frames import Commands, Frames
from vkamp.run.vulkan.late_programs import is_awaited
from vkamp.run.vulkan.reused_memory import QueueWithReusedMemory
from vkamp.run.work import BoundReady

#: The maximum numbers of lists of work that a queue keeps recorded, and that it has seen only once. The least recently
#: used ones are dropped first.
_KEPT = 64
_SEEN = 256

#: The number of submissions that are prepared with launches that will be enqueued again and again.
_SPARE = 2

#: Launches of a recording that may be submitted with others.
FEW = 4

_Key = tuple[int, ...]


class Recorded:
    """A command buffer with everything that it uses except memory, which the submitter keeps alive. ``after``: the
    hazards after it. ``barriers``: the number of barriers in it. ``follows_itself``: no barrier is needed between two
    runs of it. ``slots``: the bytes of the memory that it uses, by the number of the slot.
    """

    __slots__ = ("access", "after", "barriers", "commands", "count", "follows_itself", "named", "slots")

    def __init__(self, commands: Commands, work: Sequence[DispatchWork], after: Hazards, barriers: int) -> None:
        self.commands = commands
        self.access: Access = joint_access(work)
        self.after = after
        self.follows_itself = not after.access.conflicts(self.access)
        self.slots = {slot.id: slot.nbytes for each in work for slot in each.slots}
        self.barriers = barriers
        self.count = len(work)
        self.named = [(each.program, each.sets) for each in work]


class VulkanRecording(Recording):
    """A recorded command buffer with the memory that it uses. ``is_small``: it has few launches, and none is heavy."""

    def __init__(self, queue: QueueWithRecordings, work: list[DispatchWork], recorded: Recorded | None) -> None:
        self.queue = queue
        self.work = work
        self.recorded = recorded
        self.is_small = len(work) <= FEW and not any(each.is_heavy for each in work)

    def replay(self) -> None:
        self.queue.replay(self)


class Repeats:
    """The recordings of repeated launches: a list of work is recorded when it occurs for the third time."""

    def __init__(self) -> None:
        self._seen: OrderedDict[_Key, None] = OrderedDict()
        self._kept: OrderedDict[_Key, Recorded] = OrderedDict()

    @staticmethod
    def key(work: Sequence[Work]) -> _Key | None:
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


class QueueWithRecordings(QueueWithReusedMemory):
    """The part of a queue that records work for many submissions."""

    frames: Frames
    _repeats: Repeats
    _poll: float

    def together(self, ready: Sequence[Ready]) -> Callable[[], None]:
        work = [each.work for each in ready if isinstance(each, BoundReady) and each.queue is self]
        if len(work) != len(ready) or not work or is_awaited(work):
            return super().together(ready)
        recording = self._recording(work)
        if len(work) > 1:
            return partial(self.replay, recording)
        if self._poll and recording.recorded is not None:
            with self.device.lock:
                self._repeats.keep((work[0].number,), recording.recorded)
        return super().together(ready)

    def idle(self) -> Callable[[], None]:
        return partial(self.replay, self._recording([]))

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

    @abstractmethod
    def replay(self, recording: VulkanRecording) -> None:
        """Submits a recording after everything enqueued."""

    @abstractmethod
    def _recorded(self, work: list[DispatchWork]) -> Recorded:
        """Work as commands that can be submitted many times."""

    @abstractmethod
    def _bind(self, dispatch: Dispatch, *, again: bool = False) -> DispatchWork:
        """A checked dispatch, compiled and bound; with ``again``, it will be enqueued many times."""
