"""How much device memory can be allocated. Drivers report more memory than they can allocate, and Kompute crashes if an
allocation fails. vkamp therefore does not attempt allocations that cannot succeed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from vkamp.run.engine import DeviceInfo

#: Drivers round sizes up; this share of a heap is reserved for that.
_MARGIN = 32
_ASK_AGAIN_AFTER = 256 << 20
_HOST_RESERVE = 64 << 20

#: Called before an allocation fails: each gives up memory that is only kept for later.
on_shortage: list[Callable[[], None]] = []


def readable(nbytes: int) -> str:
    """A size for people: ``"1536 bytes"``, ``"12.0 MiB"``."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes >= 4 * size:
            return f"{nbytes / size:.1f} {unit}"
    return f"{nbytes} bytes"


def host_memory_free() -> int | None:
    """Bytes of main memory that can still be allocated, if the system reports it (Linux), else None."""
    free = None
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                free = int(line.split()[1]) * 1024
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = int(Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return free  # Not such a system, or no limit is set: the result so far.
    if limit.isdigit() and free is not None:
        free = min(free, max(0, int(limit) - used))
    return free


class HeapBudget:
    """Counts this process's allocations from the heaps of one device, and limits them.

    ``ask`` returns the bytes that the driver can still allocate from each heap, or None if the driver does not report
    it. It is called again after every 256 MiB, since other processes allocate, too. A *need* is a heap and the bytes of
    one allocation from it.
    """

    def __init__(self, info: DeviceInfo, ask: Callable[[], tuple[int, ...] | None]) -> None:
        self._info = info
        self._ask = ask
        self._used = [0] * len(info.heaps)
        self._limit = [heap.budget - heap.budget // _MARGIN for heap in info.heaps]
        self._since = 0
        self._count = 0

    @property
    def used(self) -> int:
        """The allocated bytes of all heaps."""
        return sum(self._used)

    def limit(self, heap: int) -> int:
        """The maximum number of bytes in a heap."""
        return self._limit[heap] if self._limit else 0

    def shortage_of(self, needs: Sequence[tuple[int, int]]) -> str | None:
        """Why ``needs`` cannot be met, or None."""
        if self._count + len(needs) > self._info.max_allocations:
            return f"the device allows {self._info.max_allocations} allocations"
        if self._since + max(nbytes for _, nbytes in needs) > _ASK_AGAIN_AFTER:
            self._refresh()
        if self._limit:
            needed: dict[int, int] = {}
            for heap, nbytes in needs:
                needed[heap] = needed.get(heap, 0) + nbytes
            for heap, nbytes in needed.items():
                if self._used[heap] + nbytes > self._limit[heap]:
                    return f"{readable(self._used[heap])} of {readable(self._limit[heap])} are in use"
        return self._host_shortage(sum(nbytes for _, nbytes in needs))

    def count(self, needs: Sequence[tuple[int, int]]) -> None:
        """Counts allocations."""
        self._count += len(needs)
        self._since += max(nbytes for _, nbytes in needs)
        for heap, nbytes in needs if self._limit else ():
            self._used[heap] += nbytes

    def uncount(self, needs: Sequence[tuple[int, int]]) -> None:
        """Counts freed allocations."""
        self._count -= len(needs)
        for heap, nbytes in needs if self._limit else ():
            self._used[heap] -= nbytes

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


class Budget(HeapBudget):
    """The budget for Kompute's tensors; those that are ``mirrored`` have a copy that the host sees."""

    def __init__(self, info: DeviceInfo, ask: Callable[[], tuple[int, ...] | None]) -> None:
        super().__init__(info, ask)
        types = list(info.memory_types)
        # Kompute uses the first memory type with the required flags.
        self._local = next((t.heap for t in types if t.device_local), 0)
        self._coherent = next((t.heap for t in types if t.host_coherent), 0)

    @property
    def capacity(self) -> int:
        """The maximum number of bytes in the heap of the device's own memory."""
        return self.limit(self._local)

    def shortage(self, nbytes: int, *, mirrored: bool) -> str | None:
        """Why ``nbytes`` more cannot be allocated, or None."""
        return self.shortage_of(self._needs(nbytes, mirrored))

    def take(self, nbytes: int, *, mirrored: bool) -> None:
        """Counts an allocation."""
        self.count(self._needs(nbytes, mirrored))

    def give_back(self, nbytes: int, *, mirrored: bool) -> None:
        """Counts a freed allocation."""
        self.uncount(self._needs(nbytes, mirrored))

    def _needs(self, nbytes: int, mirrored: bool) -> list[tuple[int, int]]:
        both = [(self._local, nbytes), (self._coherent, nbytes)]
        return both if mirrored else both[1:]
