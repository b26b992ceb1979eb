"""The thread of a queue: it hands over what the host enqueued and left, as soon as the device has room."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vkamp.run.queue import BaseQueue

#: Seconds that enqueued work may wait for more, so that both go in one submission.
PAUSE = 1e-3
#: Of the time that work has taken so far, the part that passes between two looks at it, and the bounds (seconds).
_PART, _SHORTEST, _MAX_LENGTH = 0.03, 1e-4, 5e-3
#: Looks in a row that find nothing to do become rarer, up to this (seconds); after so many the thread sleeps until it
#: is called. To be woken costs a program that waits for each launch more than looks that are rare.
_IDLE, _IDLE_LOOKS = 4e-3, 16

_log = logging.getLogger("vkamp")


def pause_after(seconds: float) -> float:
    """How long to wait before the next look at work that has taken ``seconds`` so far."""
    return min(max(_PART * seconds, _SHORTEST), _MAX_LENGTH)


class Driver:
    """Calls ``drive`` of its queue from a thread, now and then while there is something to do.

    The thread touches the queue and the device with the device's lock only, and looks first whether the device can
    still be used. It is made by the first call that needs it, and ends with its queue.
    """

    def __init__(self, queue: BaseQueue[Any, Any]) -> None:
        self._wake = threading.Lock()
        self._wake.acquire()
        self._queue = weakref.ref(queue, self._end)
        self._name = f"vkamp {queue.device.info.name}"
        self._thread: threading.Thread | None = None
        #: Whether the thread looks; changed with the device's lock.
        self.is_awake = False

    def call(self) -> None:
        """Has the thread look at the queue. The caller has the device's lock."""
        if self.is_awake:
            return
        if self._thread is None:
            thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            try:
                thread.start()
            except RuntimeError:
                # No thread starts any more when the interpreter ends: what waits for the work runs it.
                _log.debug("%s: no thread", self._name)
                return
            self._thread = thread
        self.is_awake = True
        self._release()

    def _end(self, _: object) -> None:
        self._release()

    def _release(self) -> None:
        if self._wake.locked():  # nobody else locks or releases it now
            self._wake.release()

    def _run(self) -> None:
        while self._wake.acquire() and self._queue() is not None:
            pause: float | None = PAUSE
            idle = 0
            while pause is not None:
                time.sleep(pause)
                pause, idle = self._look(idle)

    def _look(self, idle: int) -> tuple[float | None, int]:
        """The seconds until the next look, None for none; and how many looks found nothing to do."""
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
                    # The work is still there: whoever waits for it tries again, and gets the error.
                    _log.debug("%s: %s", self._name, error)
                    idle = _IDLE_LOOKS
            else:
                idle = _IDLE_LOOKS
            if pause is not None:
                return pause, 0
            if idle < _IDLE_LOOKS:
                return min(PAUSE * (1 + idle), _IDLE), idle + 1
            self.is_awake = False
            return None, 0
