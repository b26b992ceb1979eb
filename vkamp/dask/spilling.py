"""Results of tasks in device memory: when the budget is full, the least recently used ones move to host memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, TypeVar

import zict
from distributed.protocol import deserialize, serialize

import vkamp as amp
from vkamp.dask.containers import device_bytes

_T = TypeVar("_T")


class HostForm:
    """A task's result in host memory: the form in which Dask would send it to another worker."""

    __slots__ = ("frames", "header")

    def __init__(self, header: dict[str, Any], frames: list[Any]) -> None:
        self.header = header
        self.frames = frames

    def __getstate__(self) -> tuple[Any, Any]:
        return self.header, self.frames

    def __setstate__(self, state: tuple[Any, Any]) -> None:
        self.header, self.frames = state

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + sum(memoryview(frame).nbytes for frame in self.frames)


def _to_host(value: Any) -> HostForm:
    header, frames = serialize(value, on_error="raise")
    return HostForm(header, list(frames))


def _to_device(form: HostForm) -> Any:
    return with_room(lambda: deserialize(form.header, form.frames))


class DeviceResults(MutableMapping[Any, Any]):
    """A worker's results. At most ``budget`` bytes of them are on its device; the others are in the worker's own
    mapping.

    Results that hold no device memory, and those that the budget has no room for, are in ``host``, which writes them to
    disk by Dask's own rules.  A result that is requested again is copied back to the device.
    """

    def __init__(self, budget: int, host: MutableMapping[Any, Any]) -> None:
        self.budget = budget
        self.host = host
        # Tasks spill in other threads than Dask's.
        self.lock = threading.RLock()
        self.device = zict.LRU(budget, {}, on_evict=[self._evicted], weight=lambda _, value: device_bytes(value))
        #: The number of results that moved to host memory so far, and their bytes on the device.
        self.spills = 0
        self.spilled_bytes = 0

    def _evicted(self, key: Any, value: Any) -> None:
        self.host[key] = _to_host(value)
        self.spills += 1
        self.spilled_bytes += device_bytes(value)

    def __setitem__(self, key: Any, value: Any) -> None:
        with self.lock:
            self.pop(key, None)
            if device_bytes(value):
                self.device[key] = value
            else:
                self.host[key] = value

    def __getitem__(self, key: Any) -> Any:
        with self.lock:
            if key in self.device:
                return self.device[key]
            value = self.host[key]
            if isinstance(value, HostForm):
                value = _to_device(value)
                del self.host[key]
                self.device[key] = value
            return value

    def on_device(self, key: Any) -> Any:
        """A result that is on the device; None if it is not."""
        with self.lock:
            return self.device.get(key)

    def __delitem__(self, key: Any) -> None:
        with self.lock:
            del (self.device if key in self.device else self.host)[key]

    def pop(self, key: Any, *default: Any) -> Any:
        """Removes a result; unlike a dictionary's it returns nothing."""
        if key in self:
            del self[key]
        elif not default:
            raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return key in self.device or key in self.host

    def __iter__(self) -> Iterator[Any]:
        yield from list(self.device)
        yield from self.host

    def __len__(self) -> int:
        return len(self.device) + len(self.host)

    @property
    def device_memory(self) -> int:
        """The number of bytes of the results on the device."""
        return int(self.device.total_weight)

    def spill(self, nbytes: int | None = None) -> int:
        """Moves results to host memory, the least recently used first, until they have freed ``nbytes`` of the device;
        without a number, moves all.  Returns the bytes moved."""
        moved = 0
        with self.lock:
            while len(self.device) and (nbytes is None or moved < nbytes):
                moved += int(self.device.evict()[2])
        return moved

    # The interface that Dask's memory manager expects of a worker's results (distributed.spill.ManualEvictProto), and
    # its reports:

    @property
    def fast(self) -> bool:
        """Whether :meth:`evict` can free main memory."""
        return bool(getattr(self.host, "fast", False))

    def evict(self) -> int:
        """Writes a result in main memory to disk; returns its size there, or -1."""
        return int(self.host.evict())  # type: ignore[attr-defined]

    @property
    def spilled_total(self) -> Any:
        """The number of bytes that Dask has written to disk; AttributeError if it does not write."""
        return self.host.spilled_total  # type: ignore[attr-defined]

    @property
    def memory(self) -> Any:
        """The results in main memory."""
        return getattr(self.host, "memory", self.host)

    @property
    def disk(self) -> Any:
        """The results on disk."""
        return getattr(self.host, "disk", {})


#: The results of this process's worker.
_buffer: DeviceResults | None = None


def use(buffer: DeviceResults | None) -> None:
    """Makes a buffer that of this process."""
    global _buffer
    _buffer = buffer


def buffer() -> DeviceResults | None:
    """The results of this process's worker; None outside a worker of vkamp's."""
    return _buffer


def with_room(function: Callable[[], _T]) -> _T:
    """The result of ``function``.

    If the device has no memory for it, all results leave the device, and the function is called again.
    """
    try:
        return function()
    except amp.OutOfMemoryError:
        if _buffer is None or not _buffer.spill():
            raise
    return function()
