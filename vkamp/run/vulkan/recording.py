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


#: Lists of work that a queue keeps recorded, and those that it has seen once; the least recently used ones are dropped
#: first.
_KEPT = 64
_SEEN = 256

_Key = tuple[int, ...]


class Recorded:
    """A command buffer with all that it names but memory: whoever submits it keeps that alive.

    ``after`` are the hazards that it leaves behind, ``barriers`` those in it. ``follows_itself``: it needs none after
    another run of the same commands. ``slots``: the memory that it uses, by number, in bytes.
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
    """A recorded command buffer with the memory that it uses."""

    def __init__(self, queue: VulkanQueue, work: list[DispatchWork], recorded: Recorded | None) -> None:
        self.queue = queue
        self.work = work
        self.recorded = recorded

    def replay(self) -> None:
        self.queue.replay(self)


class Repeats:
    """The recordings of repeated launches: a list of work that comes for the third time is recorded."""

    def __init__(self) -> None:
        self._seen: OrderedDict[_Key, None] = OrderedDict()
        self._kept: OrderedDict[_Key, Recorded] = OrderedDict()

    @staticmethod
    def key(work: Sequence[Work]) -> _Key | None:
        """The identity of a list of work; None if it can't come again."""
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
        """Whether ``key`` came before; it is remembered otherwise."""
        if key in self._seen:
            del self._seen[key]
            return True
        self._seen[key] = None
        if len(self._seen) > _SEEN:
            self._seen.popitem(last=False)
        return False

    def keep(self, key: _Key, recorded: Recorded) -> None:
        """Keeps a recording."""
        self._kept[key] = recorded
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        """Drops all of them."""
        self._kept.clear()
        self._seen.clear()
