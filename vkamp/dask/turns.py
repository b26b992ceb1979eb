"""How far the host of a worker is ahead of its device.

A launch returns before the device has run it. If tasks ended then, Dask would take a worker for idle whose device has
many blocks to run, and send it more of them than it sends others.
"""

from __future__ import annotations

import threading
from typing import Any

import vkamp as amp
from vkamp.dask import spilling

#: The marker of the last block that this worker has launched.
_last: Any = None
_lock = threading.Lock()


def await_earlier() -> None:
    """Waits, in a worker, until the device has run what it had when this was last called.

    A task calls it after its launch: so at most two blocks are queued, the device always has one of them while the
    next task arrives, and a task takes as long as a block of the device. What goes wrong on the device is raised where
    a result is read.
    """
    global _last
    if spilling.buffer() is None:
        return
    marker = amp.accelerator().default_view.create_marker()
    with _lock:
        earlier, _last = _last, marker
    if earlier is not None:
        earlier.wait()
