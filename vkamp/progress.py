"""Progress of long operations: compilations and checks report that they run, and a reporter that the public entry
points set shows those that last. Without a reporter this does nothing.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import field
from types import TracebackType
from typing import Any, Protocol

from vkamp.records import dataclass

#: Seconds after which something lasts.
DELAY = 1.0


class Reporter(Protocol):
    """Who shows what goes on; none of its methods raises anything."""

    def is_wanted(self) -> bool:
        """Whether progress is shown; called before every operation that may last."""

    def prepare(self) -> None:
        """Called before the first :meth:`show` for preparations that take time."""

    def show(self) -> None:
        """Shows :func:`current`, and goes on until :meth:`end`."""

    def end(self) -> None:
        """Leaves everything as it was before :meth:`show`."""


class Activity:
    """An activity that lasts as long as a ``with`` statement; this base class shows nothing."""

    def __enter__(self) -> Activity:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, frames: TracebackType | None
    ) -> None:
        """It has ended."""

    def counted(self, items: Sequence[int]) -> Iterable[int]:
        """``items``, as a measure of how far it is."""
        return items


#: The operation while no progress is shown.
NOTHING = Activity()


class _Shown(Activity):
    """Something that is shown if it lasts.  ``at_once``: it is known to last, and lets no other thread run."""

    def __init__(self, text: str, at_once: bool) -> None:
        self.text = text
        self.at_once = at_once
        self.began = 0.0
        self.done, self.count = 0, 0

    def __enter__(self) -> Activity:
        self.began = time.monotonic()
        if self.at_once and _state.reporter is not None:
            _state.reporter.prepare()
        try:
            with _state.lock:
                _state.running.append(self)
                if self.at_once:
                    _state.show()
                elif len(_state.running) == 1:
                    _state.wait()
        except BaseException:
            # It was interrupted before the body of the statement, so nothing else would end it.
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, frames: TracebackType | None
    ) -> None:
        self._leave()

    def _leave(self) -> None:
        with _state.lock:
            if self in _state.running:
                _state.running.remove(self)
            if not _state.running:
                _state.end()
                _state.is_hidden = False

    def counted(self, items: Sequence[int]) -> Iterable[int]:
        self.count = len(items)
        for self.done, item in enumerate(items):
            yield item

    def __str__(self) -> str:
        if self.at_once:
            return self.text
        part = f"{self.done * 100 // self.count} %, " if self.count else ""
        return f"{self.text} ({part}{time.monotonic() - self.began:.0f} s)"


@dataclass
class _Terminal:
    """Of all threads together: there is one terminal."""

    reporter: Reporter | None = None
    lock: Any = field(default_factory=threading.RLock)
    running: list[_Shown] = field(default_factory=list)
    timer: threading.Timer | None = None
    is_shown: bool = False
    is_hidden: bool = False

    def wait(self) -> None:
        """Shows an activity once it has lasted for a while."""
        timer = threading.Timer(DELAY, self.come)
        timer.daemon = True
        # Where no thread can be had, nothing is shown.
        with contextlib.suppress(RuntimeError):
            timer.start()
            self.timer = timer

    def come(self) -> None:
        """The time is over; in the timer's thread."""
        mine, reporter = threading.current_thread(), self.reporter
        if reporter is None:
            return
        # Without the lock, so that operations that end in the meantime do not wait for it.
        reporter.prepare()
        with self.lock:
            if self.timer is mine:
                self.show()

    def show(self) -> None:
        if self.reporter is not None and self.running and not (self.is_shown or self.is_hidden):
            self.is_shown = True
            self.reporter.show()

    def end(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        if self.is_shown and self.reporter is not None:
            self.reporter.end()
        self.is_shown = False


_state = _Terminal()


def _forget() -> None:
    """In a process that was forked: the terminal is the other's, and so are the threads and what they were at."""
    _state.lock = threading.RLock()
    _state.running, _state.timer, _state.is_shown, _state.is_hidden = [], None, False, False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def set_reporter(reporter: Reporter | None) -> None:
    """From now on ``reporter`` shows what lasts."""
    with _state.lock:
        _state.end()
        _state.reporter = reporter


def activity(text: str, *, at_once: bool = False) -> Activity:
    """An operation that may last, for a ``with`` statement; ``text`` describes it. ``at_once``: it is known to last,
    and no other thread runs in the meantime, so it is shown from the beginning.
    """
    reporter = _state.reporter
    if reporter is None or not reporter.is_wanted():
        return NOTHING
    return _Shown(text, at_once)


def current() -> str:
    """What goes on, in words: what began last, how far it is, and since when."""
    running = _state.running[-1:]
    return str(running[0]) if running else ""


def hide() -> None:
    """Other output is about to be written to the terminal: the current operations are no longer shown."""
    if _state.running:
        with _state.lock:
            _state.is_hidden = bool(_state.running)
            _state.end()
