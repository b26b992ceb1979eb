"""``completion_future``: the end of an asynchronous operation."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from datetime import datetime
from threading import Thread
from typing import TYPE_CHECKING, Any

from vkamp.errors import AmpError
from vkamp.tracebacks import entry_point

if TYPE_CHECKING:
    from concurrent.futures import Future


def _new_future() -> Future[None]:
    from concurrent.futures import Future  # It takes 8 ms with what it imports, and many programs need none.

    return Future()


@entry_point
class completion_future:
    """The result of an asynchronous operation (AMP: ``completion_future``).

    ``get()`` waits and raises what the operation raised; ``await future`` does the same under asyncio. A future created
    with ``completion_future()`` belongs to no operation: ``valid()`` is False and every other method raises AmpError.

    Every operation and every callback runs in a separate thread, so that a callback may start further operations and
    wait for them.
    """

    __slots__ = ("_future",)

    def __init__(self) -> None:
        self._future: Future[None] | None = None

    @classmethod
    def _run(cls, work: Callable[[], object]) -> completion_future:
        """Does ``work`` in a separate thread."""
        future = _new_future()
        future.set_running_or_notify_cancel()

        def run() -> None:
            try:
                work()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(None)

        try:
            Thread(target=run, name="vkamp-async").start()
        except RuntimeError:  # the interpreter is ending and starts no more threads
            run()
        return cls._of(future)

    @classmethod
    def _ready(cls) -> completion_future:
        """An operation that has ended."""
        future = _new_future()
        future.set_result(None)
        return cls._of(future)

    @classmethod
    def _of(cls, future: Future[None]) -> completion_future:
        self = cls()
        self._future = future
        return self

    def _operation(self) -> Future[None]:
        if self._future is None:
            raise AmpError("this completion_future belongs to no operation")
        return self._future

    def valid(self) -> bool:
        """Whether this future belongs to an operation (AMP: ``valid``); False for ``completion_future()``."""
        return self._future is not None

    def get(self) -> None:
        """Wait for the end and raise what the operation raised (AMP: ``get``).

        AmpError if this future belongs to no operation, as for every method that waits.
        """
        self._operation().result()

    def wait(self) -> None:
        """Wait for the end (AMP: ``wait``). Only ``get`` raises what the operation raised."""
        self._operation().exception()

    def wait_for(self, seconds: float) -> bool:
        """Wait at most ``seconds``; return whether the operation has ended (AMP: ``wait_for``)."""
        from concurrent.futures import TimeoutError

        try:
            self._operation().exception(max(seconds, 0))
        except TimeoutError:
            return False
        return True

    def wait_until(self, when: datetime | float) -> bool:
        """Wait until ``when``, a datetime or a time as ``time.time()`` returns it; return whether the operation has
        ended (AMP: ``wait_until``)."""
        moment = when.timestamp() if isinstance(when, datetime) else when
        return self.wait_for(moment - time.time())

    def then(self, callback: Callable[[], object]) -> None:
        """Call ``callback()`` in a separate thread when the operation has succeeded; immediately if it already has
        (AMP: ``then``). The callback may start further copies and wait for them.

        An exception in it goes to ``threading.excepthook``.
        """
        if not callable(callback):
            raise TypeError(f"then calls a function without arguments, not {type(callback).__name__}: pass a lambda")

        def start(future: Future[None]) -> None:
            if future.exception() is None:
                Thread(target=callback, name="vkamp-then").start()

        self._operation().add_done_callback(start)

    def __await__(self) -> Generator[Any, None, None]:
        import asyncio  # Only programs that use await pay for the import.

        return asyncio.wrap_future(self._operation()).__await__()

    def __repr__(self) -> str:
        if self._future is None:
            return "<completion_future: no operation>"
        return f"<completion_future: {'ready' if self._future.done() else 'pending'}>"


def completed() -> completion_future:
    """The future of a completed operation."""
    return completion_future._ready()


def completion_of(work: Callable[[], object]) -> completion_future:
    """Runs ``work`` in a thread; returns its future."""
    return completion_future._run(work)
