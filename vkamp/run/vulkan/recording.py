"""Work that is recorded once and submitted many times: repeated launches, and the recordings of captures."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vkamp.run.engine import Recording
from vkamp.run.plan import Access
from vkamp.run.vulkan.commands import CopyWork, DispatchWork, Hazards, Work, joint_access
from vkamp.run.vulkan.frames import Commands

if TYPE_CHECKING:
    from vkamp.run.vulkan.queue import VulkanQueue


#: The maximum numbers of lists of work that a queue keeps recorded, and that it has seen only once. The least recently
#: used ones are dropped first.
_KEPT = 64
_SEEN = 256

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

    def __init__(self, queue: VulkanQueue, work: list[DispatchWork], recorded: Recorded | None) -> None:
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
