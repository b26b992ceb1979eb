"""Launches whose programs are made while the host compiles the next one.

A call of a library launches several kernels. Each is compiled by Python first, then by glslang and the driver, which
need no Python. So inside ``with late_programs():`` a queue enqueues the launches of this thread before their programs
exist, and threads make these at the same time. What reads the results waits for the programs, and so does the end of
the block, which raises their errors.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")


class LateQueue(Protocol):
    """A queue that has enqueued launches whose programs do not exist yet."""

    def finish_programs(self) -> None:
        """Waits for the programs, and submits the launches."""


class _Thread(threading.local):
    depth = 0
    queues: tuple[LateQueue, ...] = ()


_thread = _Thread()


class late_programs:
    """The context in which launches of this thread may be enqueued before their programs exist."""

    def __enter__(self) -> None:
        _thread.depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, frames: TracebackType | None
    ) -> None:
        _thread.depth -= 1
        if _thread.depth or not _thread.queues:
            return
        queues, _thread.queues = _thread.queues, ()
        for queue in queues:
            queue.finish_programs()


def may_be_late() -> bool:
    """Whether this thread's launches may be enqueued before their programs exist."""
    return _thread.depth > 0


def note(queue: LateQueue) -> None:
    """Has the end of the block call a queue."""
    if queue not in _thread.queues:
        _thread.queues += (queue,)


class Build(Generic[T]):
    """A value that a separate thread computes."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._made: list[T] = []
        self._error: BaseException | None = None
        self._is_over = threading.Event()
        thread = threading.Thread(target=self._run, args=(make,), name="vkamp compiles", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # The interpreter starts no threads while it shuts down.
            self._run(make)

    def _run(self, make: Callable[[], T]) -> None:
        try:
            self._made.append(make())
        except BaseException as error:  # The thread that needs it raises it.
            self._error = error
        finally:
            self._is_over.set()

    def wait(self) -> None:
        """Waits until it is made, or cannot be."""
        self._is_over.wait()

    def result(self) -> T:
        """What was made; raises why it could not be."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._made[0]

    @property
    def made(self) -> T | None:
        """What was made, after :meth:`wait`."""
        return self._made[0] if self._made else None
