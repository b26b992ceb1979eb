"""The door to the compiler."""

from __future__ import annotations

import gc
import os
import threading
from types import TracebackType
from typing import Any


def compiler_module() -> Any:
    """:mod:`vkamp.pipeline.compiler`, loaded by the first kernel that is compiled: a process whose kernels are all kept
    on disk starts without it.
    """
    from vkamp.pipeline import compiler

    return compiler


class _WithoutCollector:
    """The context of a compilation, in which Python does not look for garbage.

    A compilation makes many objects and hardly any cycles of them.  The search would take an eighth of its time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._was_enabled = False

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._inside += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, frames: TracebackType | None
    ) -> None:
        with self._lock:
            # A forked process has forgotten its own.
            self._inside = max(self._inside - 1, 0)
            if not self._inside and self._was_enabled:
                gc.enable()

    def forget(self) -> None:
        """Ends the compilations of threads that a forked process lacks."""
        inside, self._inside, self._lock = self._inside, 0, threading.Lock()
        if inside and self._was_enabled:
            gc.enable()


without_collector = _WithoutCollector()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=without_collector.forget)
