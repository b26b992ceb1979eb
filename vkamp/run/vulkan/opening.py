"""The device that was opened ahead of its use, if any (:mod:`vkamp.run.ahead`)."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading

from vkamp.errors import AmpError
from vkamp.run import ahead, libraries
from vkamp.run.engine import DeviceInfo
from vkamp.run.vulkan.api import Api, VulkanError


class _Opened:
    """A device that nothing uses yet. ``is_late``: the program has begun to open devices itself."""

    found: tuple[DeviceInfo, Api] | None = None
    is_late = False


#: Held while a device is opened ahead. The thread that does it waits for no lock that the program's threads may have.
_lock = threading.Lock()


def open_ahead(info: DeviceInfo) -> None:
    """Opens a device for :func:`take_opened`, unless the program was faster or there is one already. A process that is
    forked does not inherit it."""
    with _lock, contextlib.suppress(AmpError, VulkanError):  # The device's first use raises it.
        if not _Opened.is_late and _Opened.found is None:
            _Opened.found = info, Api(info)


def take_opened(info: DeviceInfo) -> Api | None:
    """The functions of the device if it was opened ahead; they belong to the caller from then on."""
    with _lock:
        _Opened.is_late = True
        found = _Opened.found
        if found is None or found[0] != info:
            return None
        _Opened.found = None
        return found[1]


def _drop() -> None:
    """Closes the device if nothing has used it, and what the thread has kept meanwhile."""
    ahead.finish()
    found, _Opened.found = _Opened.found, None
    if found is not None:
        found[1].close()
    libraries.drop_instance()


if ahead.has_begun():
    atexit.register(_drop)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_drop)
