"""Large memory that running work is about to give back, instead of new memory: a driver of a GPU takes 20 to 50 ms to
allocate a gigabyte, and a program that assigns results to one name in a loop would get new memory until as much work is
submitted as the queue takes.
"""

from __future__ import annotations

import time
from abc import abstractmethod

from vkamp.run.pool import size_class
from vkamp.run.queue import DeviceBuffer
from vkamp.run.vulkan.late_programs import QueueWithLatePrograms
from vkamp.run.vulkan.memory import MemorySlot
from vkamp.run.vulkan.submissions import Submission

#: Smaller memory is a part of a block (bytes).
_LARGE = 32 << 20
#: A wait takes at most as long as the allocation would (seconds per byte).
_ALLOCATION = 50e-6 / (1 << 20)
#: After so many waits in a row that brought no memory, the program seems to keep all of it. Waits begin again when the
#: pool has had memory.
_VAIN = 3


class QueueWithReusedMemory(QueueWithLatePrograms):
    """The part of a queue that waits for memory."""

    _vain = 0

    def allocate(self, nbytes: int) -> DeviceBuffer[MemorySlot]:
        if nbytes >= _LARGE and self.info.kind != "cpu":
            self._wait_for_memory(nbytes)
        return super().allocate(nbytes)

    def _wait_for_memory(self, nbytes: int) -> None:
        """Waits for memory that the device is about to give back, while it has more to do."""
        device = self.device
        self._check()
        size = size_class(nbytes, device.info.limits.buffer_bytes)
        with device.lock:
            if device.has_free(size):
                self._vain = 0
                return
            user = None if self._vain >= _VAIN else self._first_user(size)
        if user is None:
            return
        self._await(user, until=time.perf_counter() + _ALLOCATION * size)
        del user  # It keeps the memory.
        with device.lock:
            self._vain = 0 if device.has_free(size) else self._vain + 1

    def _first_user(self, size: int) -> Submission | None:
        """The first submission that uses memory of a size, if other work follows it."""
        pending, running, _ = self._state
        user = next((each for each in running if size in each.slots.values()), None)
        if user is None or user is not running[-1]:
            return user
        if not pending or self._awaits_programs:
            return None
        self._submit()
        return user

    @abstractmethod
    def _await(self, submission: Submission, until: float | None = None) -> None:
        """Waits until a submission has ended, at most until a time of ``time.perf_counter``."""
