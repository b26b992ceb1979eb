"""What the devices of all Vulkan engines share: checked programs, memory and its pool, and the detection of lost
devices.
"""

from __future__ import annotations

import gc
import os
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from vkamp.artifacts import Executable
from vkamp.errors import AcceleratorRemovedError, AmpError, OutOfMemoryError, UnsupportedFeatureError
from vkamp.run.engine import DeviceInfo, Program, Statistics
from vkamp.run.features import RECONVERGENCE
from vkamp.run.lifetime import FORKED
from vkamp.run.memory import on_shortage, readable
from vkamp.run.module import read_module, with_reconvergence, with_special_values
from vkamp.run.pool import Pool, PooledBlock, size_class

POOL_CAPACITY = 512 << 20

S = TypeVar("S", bound=PooledBlock)


class DeviceProgram(Program):
    """Checked SPIR-V for one device. ``later``: :meth:`load` checks it, and not its creation."""

    spirv: bytes

    def __init__(self, device: BaseDevice[S], executable: Executable, *, later: bool = False) -> None:
        self._key = executable.key
        self.name = executable.name
        self.device: object = device
        self._executable: Executable | None = executable
        self._info = device.info
        if not later:
            self.load()
        self.buffers = executable.buffers
        self.push_bytes = executable.push_bytes
        self.subgroup_size = executable.subgroup_size
        #: The recent duration of a tile in seconds; None before the first run.
        self.seconds_per_tile: float | None = None

    def load(self) -> None:
        """Takes the SPIR-V, and checks it, the first time."""
        executable, info = self._executable, self._info
        if executable is None:
            return
        check_program(info, executable)
        spirv = with_special_values(executable.spirv, info.special_floats)
        self.spirv = with_reconvergence(spirv) if RECONVERGENCE in info.usable_features else spirv
        self._executable = None

    @property
    def key(self) -> str:
        return self._key


def check_program(info: DeviceInfo, executable: Executable) -> None:
    """Rejects programs that would crash the driver or silently do nothing."""
    module = read_module(executable.spirv)
    missing = sorted(module.features - info.usable_features)
    if missing:
        who = (
            f"the {info.engine.capitalize()} engine cannot enable"
            if missing[0] in info.features
            else "the device lacks"
        )
        raise UnsupportedFeatureError(f"{info.name}: {who} {', '.join(missing)}")
    limits = info.limits
    lacking = sorted(module.subgroups - limits.subgroup_operations)
    if lacking:
        raise UnsupportedFeatureError(f"{info.name}: it lacks the subgroup operations {', '.join(lacking)}")
    size = module.local_size or executable.local_size
    threads = size[0] * size[1] * size[2]
    if threads > limits.tile_threads or any(s > m for s, m in zip(size, limits.tile_size, strict=True)):
        raise AmpError(f"{info.name} does not support tiles of {size} threads: the maximum is {limits.tile_threads}")
    if executable.buffers > limits.buffers:
        raise UnsupportedFeatureError(
            f"{info.name} supports {limits.buffers} buffers in a kernel, and this one needs {executable.buffers}"
        )
    if executable.push_bytes > limits.push_bytes or executable.push_bytes % 4:
        raise AmpError(
            f"{info.name} takes {limits.push_bytes} bytes of push constants in words, not {executable.push_bytes}"
        )
    if module.sets - {0} or any(b >= executable.buffers for b in module.bindings):
        raise AmpError(
            f"the program binds {sorted(module.bindings)} of sets {sorted(module.sets)}, "
            f"not 0 to {executable.buffers - 1} of set 0"
        )


class BaseDevice(ABC, Generic[S]):
    """A device with everything that was created on it; the queues on the device share it.

    ``lock`` guards all of it; a thread that waits for a long kernel releases it during the wait. Memory consists of
    slots with a size class and a kind; slots with the same ones are interchangeable. Each engine defines its kinds.
    """

    def __init__(self, info: DeviceInfo) -> None:
        self.info = info
        self.lock = threading.RLock()
        #: Whether this thread holds the lock.
        self.is_held: Callable[[], bool] = self.lock._is_owned  # type: ignore[attr-defined]
        self.forked = False
        self.closed = False
        self.removed: str | None = None
        self.is_validated = "validation" in os.environ.get("VK_INSTANCE_LAYERS", "").lower()
        # The synchronization checks of the validation layers track only whole buffers.
        self.orders_parts = not self.is_validated
        #: The kind of the memory that kernels use.
        self.kind: Hashable = None
        self.pool: Pool[S] = Pool(POOL_CAPACITY)
        self._returned: deque[S] = deque()
        self._serial = 0

    def check(self) -> None:
        """Raises unless the device can be used."""
        if self.forked:
            raise AmpError(FORKED)
        if self.closed:
            raise AmpError(f"{self.info.name} is closed: the interpreter is shutting down")
        if self.removed is not None:
            raise self.lose(self.removed)

    @property
    def is_usable(self) -> bool:
        """Whether :meth:`check` raises nothing."""
        return not self.forked and not self.closed and self.removed is None

    def lose(self, reason: str) -> AcceleratorRemovedError:
        """Marks the device as lost, and returns the error to raise."""
        self.removed = self.removed or reason
        return AcceleratorRemovedError(
            f"{self.info.name} was lost ({self.removed}); its data are lost", reason=self.removed
        )

    def number(self) -> int:
        """A number that was not used before."""
        self._serial += 1
        return self._serial

    @abstractmethod
    def program(self, executable: Executable) -> DeviceProgram:
        """The checked program of ``executable``."""

    # -- memory

    def take(self, nbytes: int, kind: Hashable, statistics: Statistics) -> S:
        """Memory of at least ``nbytes`` bytes; ``OutOfMemoryError`` with the sizes if there is none."""
        largest = self.info.limits.buffer_bytes
        if nbytes > largest:
            raise OutOfMemoryError(
                f"{readable(nbytes)} ({nbytes} bytes) in one allocation is more than {self.info.name} "
                f"supports: {readable(largest)} ({largest} bytes). Larger data run by blocks: "
                "amp.stream(kernel, domain, views)"
            )
        size = size_class(nbytes, largest)
        self.collect()
        slot = self._pool_of((size, kind)).take((size, kind))
        if slot is not None:
            return slot
        shortage = self._make_room(size, kind, statistics)
        if shortage is not None:
            raise OutOfMemoryError(
                f"out of memory on {self.info.name}: {readable(nbytes)} ({nbytes} bytes) requested, but {shortage}"
            )
        return self._create(size, kind, statistics)

    def kind_for(self, nbytes: int) -> Hashable:
        """The kind of memory that kernels use for a container of so many bytes."""
        return self.kind

    def has_free(self, size: int) -> bool:
        """Whether kernels can get memory of a size class without an allocation."""
        self.collect()
        group = size, self.kind_for(size)
        return self._pool_of(group).has_free(group)

    def give_back(self, slot: S) -> None:
        """Returns memory. Finalizers call this at any time and in any thread, so it only records the return."""
        self._returned.append(slot)

    def collect(self) -> None:
        """Puts returned memory into the pool."""
        while self._returned:
            slot = self._returned.popleft()
            self._forget(slot)
            for unfit in self._pool_of(slot.group).put(slot):
                self._destroy(unfit)

    def _make_room(self, size: int, kind: Hashable, statistics: Statistics) -> str | None:
        """Frees memory until ``size`` bytes fit; returns the reason if they do not."""
        shortage = self._reserve(size, kind, statistics)
        for release in (self._empty_pool, self._release_everything):
            if shortage is None:
                break
            release()
            shortage = self._reserve(size, kind, statistics)
        return shortage

    def _pool_of(self, group: Hashable) -> Pool[S]:
        """The free list for memory of a group (its size and kind)."""
        return self.pool

    def _empty_pool(self) -> None:
        for slot in self.pool.trim():
            self._destroy(slot)

    def _release_everything(self) -> None:
        """Frees memory that only finished work, garbage cycles and remembered calls still reference."""
        for give_up in on_shortage:
            give_up()
        self.settle_queues()
        gc.collect()
        self.collect()
        self._empty_pool()

    @abstractmethod
    def _reserve(self, size: int, kind: Hashable, statistics: Statistics) -> str | None:
        """Makes memory available for ``_create``; returns the reason if there is none."""

    @abstractmethod
    def _create(self, size: int, kind: Hashable, statistics: Statistics) -> S:
        """A slot of ``size`` bytes, for which ``_reserve`` has made room."""

    @abstractmethod
    def _destroy(self, slot: S) -> None:
        """Frees unused memory, after the objects that were made for it."""

    def _forget(self, slot: S) -> None:
        """Called with each returned slot, whose contents are no longer needed."""

    # -- the end

    @abstractmethod
    def settle_queues(self) -> None:
        """Waits for all submitted work of all queues."""

    @abstractmethod
    def close(self) -> None:
        """Waits for submitted work, then frees everything."""
