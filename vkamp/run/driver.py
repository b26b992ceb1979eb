"""The thread of a queue: it submits the work that the host has enqueued as soon as the device has room."""

from __future__ import annotations

import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vkamp.run.queue import BaseQueue

#: Seconds that enqueued work may wait for more work, to share a submission.
PAUSE = 1e-3
#: The interval between two checks, as a fraction of the time that the work has taken so far, and its bounds (seconds).
_PART, _SHORTEST, _MAX_LENGTH = 0.03, 1e-4, 5e-3
#: While the checks find nothing to do, their interval grows up to this (seconds). After so many of them the thread
#: sleeps until it is woken. For a program that waits for each launch, waking the thread costs more than infrequent
#: checks.
_IDLE, _IDLE_LOOKS = 4e-3, 16


def _note(text: str, *values: object) -> None:
    """For the logger, if the program has loaded ``logging``: it takes 6 ms, and cannot be loaded at the end."""
    logging = sys.modules.get("logging")
    if logging is not None:
        logging.getLogger("vkamp").debug(text, *values)


def pause_after(seconds: float) -> float:
    """How long to wait before the next check of work that has taken ``seconds`` so far."""
    return min(max(_PART * seconds, _SHORTEST), _MAX_LENGTH)


class Driver:
    """Calls ``drive`` of its queue from a thread at intervals while there is work.

    The thread accesses the queue and the device only with the device's lock, and first checks whether the device is
    still usable. The first call that needs the thread starts it, and it ends with its queue.
    """

    def __init__(self, queue: BaseQueue[Any, Any]) -> None:
        self._wake = threading.Lock()
        self._wake.acquire()
        self._queue = weakref.ref(queue, self._end)
        self._name = f"vkamp {queue.device.info.name}"
        self._thread: threading.Thread | None = None
        #: Whether the thread is active; changed with the device's lock.
        self.is_awake = False

    def call(self) -> None:
        """Wakes the thread for the queue. The caller has the device's lock."""
        if self.is_awake:
            return
        if self._thread is None:
            thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            try:
                thread.start()
            except RuntimeError:
                # The interpreter starts no threads while it shuts down: the call that waits for the work runs it.
                _note("%s: no thread", self._name)
                return
            self._thread = thread
        self.is_awake = True
        self._release()

    def _end(self, _: object) -> None:
        self._release()

    def _release(self) -> None:
        if self._wake.locked():  # No other thread locks or releases it now.
            self._wake.release()

    def _run(self) -> None:
        while self._wake.acquire() and self._queue() is not None:
            pause: float | None = PAUSE
            idle = 0
            while pause is not None:
                time.sleep(pause)
                pause, idle = self._look(idle)

    def _look(self, idle: int) -> tuple[float | None, int]:
        """The seconds until the next check (None: no further check), and the number of checks that found no work."""
        queue = self._queue()
        if queue is None:
            return None, 0
        device = queue.device
        with device.lock:
            pause: float | None = None
            if device.is_usable:
                try:
                    pause = queue.drive()
                except Exception as error:
                    # The work remains: the call that waits for it tries again and gets the error.
                    _note("%s: %s", self._name, error)
                    idle = _IDLE_LOOKS
            else:
                idle = _IDLE_LOOKS
            if pause is not None:
                return pause, 0
            if idle < _IDLE_LOOKS:
                return min(PAUSE * (1 + idle), _IDLE), idle + 1
            self.is_awake = False
            return None, 0
