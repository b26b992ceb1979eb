"""How much device memory there is to take: Kompute ignores failed allocations and crashes, so they
are not tried.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from vkamp.run.engine import DeviceInfo

__all__ = ["Budget", "host_memory_free", "readable"]

#: Drivers round sizes up; this share of a heap is left to them.
_MARGIN = 32
_ASK_AGAIN_AFTER = 256 << 20
_HOST_RESERVE = 64 << 20


def readable(nbytes: int) -> str:
    """A size for people: ``"1536 bytes"``, ``"12.0 MiB"``."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes >= 4 * size:
            return f"{nbytes / size:.1f} {unit}"
    return f"{nbytes} bytes"


def host_memory_free() -> int | None:
    """Bytes of main memory that can still be taken, where the system says so (Linux), else None."""
    free = None
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                free = int(line.split()[1]) * 1024
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = int(Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return free  # no such system, or no limit set: what is known so far
    if limit.isdigit() and free is not None:
        free = min(free, max(0, int(limit) - used))
    return free


class Budget:
    """Counts what one device's heaps hold of ours, against what each may hold.

    ``ask`` returns the bytes that the driver would still give from each heap, or None if it can't
    say; it is asked again after every 256 MiB, since other processes allocate too.
    """

    def __init__(self, info: DeviceInfo, ask: Callable[[], tuple[int, ...] | None]) -> None:
        self._info = info
        self._ask = ask
        self._used = [0] * len(info.heaps)
        self._limit = [heap.budget - heap.budget // _MARGIN for heap in info.heaps]
        self._since = 0
        self._count = 0
        types = list(info.memory_types)
        # Kompute takes the first memory type with the flags it wants.
        self._local = next((t.heap for t in types if t.device_local), 0)
        self._coherent = next((t.heap for t in types if t.host_coherent), 0)

    @property
    def capacity(self) -> int:
        """Bytes that the heap of the device's own memory may hold."""
        return self._limit[self._local] if self._limit else 0

    @property
    def used(self) -> int:
        """Bytes taken, over all heaps."""
        return sum(self._used)

    def shortage(self, nbytes: int, *, mirrored: bool) -> str | None:
        """Why ``nbytes`` more can't be taken, or None; ``mirrored`` memory has a copy that the
        host sees.
        """
        if self._count + 1 + mirrored > self._info.max_allocations:
            return f"the device allows {self._info.max_allocations} allocations"
        if self._since + nbytes > _ASK_AGAIN_AFTER:
            self._refresh()
        for heap, need in self._needs(nbytes, mirrored):
            if self._used[heap] + need > self._limit[heap]:
                return f"{readable(self._used[heap])} of {readable(self._limit[heap])} are in use"
        return self._host_shortage(nbytes * (1 + mirrored))

    def _host_shortage(self, nbytes: int) -> str | None:
        if self._info.kind != "cpu" or nbytes < _HOST_RESERVE:
            return None
        free = host_memory_free()
        if free is None or nbytes + _HOST_RESERVE <= free:
            return None
        return f"the machine has {readable(free)} of memory left"

    def _refresh(self) -> None:
        self._since = 0
        free = self._ask()
        if free is not None:
            for heap, amount in enumerate(free[: len(self._limit)]):
                self._limit[heap] = self._used[heap] + amount - amount // _MARGIN

    def _needs(self, nbytes: int, mirrored: bool) -> list[tuple[int, int]]:
        if not self._limit:
            return []
        if not mirrored:
            return [(self._coherent, nbytes)]
        if self._local == self._coherent:
            return [(self._local, 2 * nbytes)]
        return [(self._local, nbytes), (self._coherent, nbytes)]

    def take(self, nbytes: int, *, mirrored: bool) -> None:
        """Counts an allocation."""
        self._count += 1 + mirrored
        self._since += nbytes
        for heap, need in self._needs(nbytes, mirrored):
            self._used[heap] += need

    def give_back(self, nbytes: int, *, mirrored: bool) -> None:
        """Counts a freed allocation."""
        self._count -= 1 + mirrored
        for heap, need in self._needs(nbytes, mirrored):
            self._used[heap] -= need
