"""What happens to an engine's open devices at the end of a process and in its forks."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import os
import sys
import threading
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

from vkamp.errors import AmpError

FORKED = (
    "this process was forked from one that uses a Vulkan device, and drivers do not survive a "
    'fork: start processes with multiprocessing.get_context("spawn"), or fork before the first use'
)


class Closable(Protocol):
    """A device that can be closed; ``forked`` is set in a forked child, where it is never used again."""

    forked: bool

    def close(self) -> None:
        """Waits for its work and frees everything."""


D = TypeVar("D", bound=Closable)


class _Process:
    """Whether this process was forked from one that had a device of any engine open."""

    forked = False


def refuse_process() -> None:
    """Raises in a process that was forked from one with an open device, in a subinterpreter, and at the end of the
    process, where nothing that is opened would be closed."""
    if _Process.forked:
        raise AmpError(FORKED)
    if _is_subinterpreter():
        raise AmpError("vkamp's devices can be used only in the main interpreter, not in a subinterpreter")
    if not threading.main_thread().is_alive():
        raise AmpError("the interpreter is shutting down, and it is too late to open a device")


@functools.cache
def _is_subinterpreter() -> bool:
    names = "PyInterpreterState_Get", "PyInterpreterState_Main"
    current, main = (ctypes.PYFUNCTYPE(ctypes.c_void_p)((name, ctypes.pythonapi))() for name in names)
    return bool(current != main)


#: Called before a device is opened, which takes a driver a fraction of a second.
before_open: list[Callable[[], None]] = []


def prepare_to_open() -> None:
    """Called by an engine that is about to open a device; raises what :func:`refuse_process` raises."""
    refuse_process()
    for prepare in before_open:
        prepare()


class OpenDevices(Generic[D]):
    """The devices that an engine has open in this process; they stay open until it ends.

    ``forked``: this is a forked child of the process that opened them.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.devices: dict[Hashable, D] = {}
        self.forked = False
        self._watched = False

    def open(self, key: Hashable, make: Callable[[], D]) -> D:
        """The open device of ``key``; ``make`` opens it the first time. All are closed when the process ends."""
        with self.lock:
            device = self.devices.get(key)
            if device is None:
                device = self.devices[key] = make()
                self._watch()
            return device

    def _watch(self) -> None:
        """Registers the handler for the end of the process. Handlers that are registered later run earlier, so this one
        runs before those of the libraries that ``make`` has loaded.
        """
        if self._watched:
            return
        self._watched = True
        atexit.register(self._close_at_exit)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        """Keeps all objects of the parent alive in a forked child, where they may be neither used nor destroyed."""
        self.forked = bool(self.devices)
        _Process.forked |= self.forked
        self.lock = threading.RLock()
        for device in self.devices.values():
            device.forked = True
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(device))

    def _close_at_exit(self) -> None:
        if self.forked:
            return
        try:
            for device in list(self.devices.values()):
                device.close()
        except KeyboardInterrupt:
            # Exiting while a kernel runs crashes in the driver's destructors; this is the user's second Ctrl-C.
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError, ValueError, AttributeError):
                    stream.flush()
            os._exit(130)
