"""The threads of a tile: threads of Python, of which one runs at a time, until it waits for the others or ends."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

from tools.fuzz.plain.values import UndefinedError

__all__ = ["Turns"]


class _Runner:
    """A thread of Python that runs one task after the other."""

    def __init__(self) -> None:
        self.tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            self.tasks.get()()


_idle: list[_Runner] = []


class _Stopped(BaseException):
    """Ends a thread of a cancelled tile."""


class _Thread:
    """``waits``: why it does not continue: ``""``, ``barrier``, ``subgroup`` or ``done``."""

    def __init__(self, number: int, body: Callable[[], None], back: threading.Lock) -> None:
        self.number = number
        self.waits = ""
        self.fault: BaseException | None = None
        self.stopped = False
        self.given: Any = None
        self.go = threading.Lock()
        self.go.acquire()
        self.back = back
        self.body = body

    def run(self) -> None:
        self.go.acquire()
        try:
            if not self.stopped:
                self.body()
        except BaseException as error:
            self.fault = error
        self.waits = "done"
        self.back.release()

    def wait(self, why: str) -> None:
        """Called by the thread itself; lets the other threads run."""
        self.waits = why
        self.back.release()
        self.go.acquire()
        if self.stopped:
            raise _Stopped


class Turns:
    """Runs the bodies of a tile's threads; ``current`` is the one that runs."""

    def __init__(self, bodies: Sequence[Callable[[], None]], subgroup: int) -> None:
        self.back = threading.Lock()
        self.back.acquire()
        self.threads = [_Thread(n, body, self.back) for n, body in enumerate(bodies)]
        self.subgroup = subgroup
        self.groups = [self.threads[n : n + subgroup] for n in range(0, len(bodies), subgroup)]
        self.current = self.threads[0]

    def run(self) -> None:
        """Runs until all have ended; raises the first exception of a thread, and ``UndefinedError`` if some wait
        forever."""
        runners = [_idle.pop() if _idle else _Runner() for _ in self.threads]
        for runner, thread in zip(runners, self.threads, strict=True):
            runner.tasks.put(thread.run)
        try:
            while any(t.waits != "done" for t in self.threads):
                ready = [t for t in self.threads if not t.waits]
                for thread in ready:
                    self._resume(thread)
                    if thread.fault is not None:
                        raise thread.fault
                if not ready and not self._released():
                    raise UndefinedError("a barrier that not all threads reach")
        finally:
            for thread in self.threads:
                thread.stopped = True
                if thread.waits != "done":
                    self._resume(thread)
            _idle.extend(runners)

    def _resume(self, thread: _Thread) -> None:
        self.current = thread
        thread.go.release()
        self.back.acquire()

    def _released(self) -> bool:
        """Continues the threads whose partners have all arrived."""
        found = False
        for group in self.groups:
            if all(t.waits == "subgroup" for t in group):
                found = True
                for thread in group:
                    thread.waits = ""
        if not found and all(t.waits == "barrier" for t in self.threads):
            found = True
            for thread in self.threads:
                thread.waits = ""
        return found
