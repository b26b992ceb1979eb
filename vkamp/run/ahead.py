"""Starts the driver of a built program while Python loads modules, which takes as long.

A program is built if the environment variable ``VKAMP_ARTIFACTS`` names what ``vkamp build`` has compiled for it, or if
it is frozen. Loading this module, which ``import vkamp`` does first, starts a thread. It creates an instance of Vulkan,
by ctypes alone: no thread can import modules of a package that is being loaded. Then it opens the device, once all
modules are loaded (:func:`go_on`). Other programs may fork before they use a device, or use none.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import sys
import threading
from collections.abc import Callable

#: The newest version of Vulkan that is requested.
NEWEST = (1, 3, 0)
_LOADERS = {"linux": "libvulkan.so.1", "win32": "vulkan-1.dll"}
_LAYERS_DISABLED = "VK_LOADER_LAYERS_DISABLE"


class _Ahead:
    """The thread. ``instance``: the address of the instance that it has made, 0 if it has made none or gave it away."""

    def __init__(self) -> None:
        self._thread = threading.Thread(target=self._run, name="vkamp starts the driver", daemon=True)
        self._made, self._may_go_on = threading.Event(), threading.Event()
        self._next: Callable[[], None] = _nothing
        self._instance, self._version = 0, 0
        self._loader: ctypes.CDLL | None = None
        self._sets_variable = _LAYERS_DISABLED not in os.environ and not os.environ.get("VK_INSTANCE_LAYERS")

    def start(self) -> None:
        if self._sets_variable:
            os.environ[_LAYERS_DISABLED] = "~all~"  # Layers slow every submission down.
        self._thread.start()

    def _run(self) -> None:
        try:
            with contextlib.suppress(OSError, AttributeError):  # What is missing is reported later.
                self._make_instance()
        finally:
            if self._sets_variable:
                os.environ.pop(_LAYERS_DISABLED, None)
            self._made.set()
        self._may_go_on.wait()
        self._next()

    def _make_instance(self) -> None:
        loader = self._loader = ctypes.CDLL(_LOADERS[sys.platform])
        version = ctypes.c_uint32()
        loader.vkEnumerateInstanceVersion(ctypes.byref(version))
        newest = (NEWEST[0] << 22) | (NEWEST[1] << 12)
        self._version = min(newest, version.value & ~0xFFF)
        # VkApplicationInfo and VkInstanceCreateInfo where pointers have 64 bits: their type numbers come first.
        application = (ctypes.c_uint64 * 6)(0, 0, 0, 0, 0, self._version << 32)
        create = (ctypes.c_uint64 * 8)(1, 0, 0, ctypes.addressof(application), 0, 0, 0, 0)
        made = ctypes.c_uint64()
        if loader.vkCreateInstance(create, None, ctypes.byref(made)) == 0:
            self._instance = made.value

    def go_on(self, work: Callable[[], None]) -> None:
        self._next = work
        self._may_go_on.set()

    def take(self, version: int) -> int:
        self._made.wait()
        if version > self._version:
            return 0
        found, self._instance = self._instance, 0
        return found

    def finish(self) -> None:
        self._next = _nothing  # unless it has begun
        self._may_go_on.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def drop(self) -> None:
        self.finish()
        found = self.take(0)
        if found and self._loader is not None:
            self._loader.vkDestroyInstance(ctypes.c_uint64(found), None)


def _nothing() -> None:
    """Nothing is to be done after the instance."""


_ahead: _Ahead | None = None


def _is_wanted() -> bool:
    is_built = os.environ.get("VKAMP_ARTIFACTS") or getattr(sys, "frozen", False)
    uses_driver = os.environ.get("VKAMP_ACCELERATOR", "").strip().lower() not in ("cpu", "reference")
    can_call = sys.platform in _LOADERS and sys.byteorder == "little" and sys.maxsize > 1 << 32
    return bool(is_built and uses_driver and can_call and not os.environ.get("VKAMP_BUILD"))


def has_begun() -> bool:
    """Whether the thread was started."""
    return _ahead is not None


def go_on(work: Callable[[], None]) -> None:
    """Has the thread do this after the instance is made; it must raise nothing."""
    if _ahead is not None:
        _ahead.go_on(work)


def take_instance(version: int) -> int:
    """The address of the instance, which belongs to the caller from then on, if it allows this version of Vulkan, as
    Vulkan packs it; 0 if there is none."""
    return 0 if _ahead is None else _ahead.take(version)


def finish() -> None:
    """Waits until the thread ends, which begins nothing more."""
    if _ahead is not None:
        _ahead.finish()


if _is_wanted():
    _ahead = _Ahead()
    _ahead.start()
    atexit.register(_ahead.drop)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_ahead.drop)
