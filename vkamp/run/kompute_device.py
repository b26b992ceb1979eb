"""A device through Kompute: its memory, programs and pipelines; :mod:`vkamp.run.kompute_queue` says what runs when.

kp crashes the process on what it does not check (sizes, SPIR-V, missing drivers, order of destruction), so everything
is checked first, and a :class:`Device` references every object of kp that is alive.
"""

from __future__ import annotations

import math
import threading
import time
import warnings
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vkamp.artifacts import GUARD, Executable
from vkamp.errors import AmpError, EngineWarning, OutOfMemoryError
from vkamp.progress import activity
from vkamp.records import dataclass
from vkamp.run import devices
from vkamp.run.device import POOL_CAPACITY, BaseDevice, DeviceProgram
from vkamp.run.engine import DeviceInfo, Statistics
from vkamp.run.features import FLOAT_CONTROLS
from vkamp.run.libraries import driver_environment
from vkamp.run.lifetime import OpenDevices
from vkamp.run.memory import Budget, readable
from vkamp.run.pool import Pool, size_class
from vkamp.run.workarounds import has_quirk

if TYPE_CHECKING:
    from vkamp.run.submission import KomputeSubmission


_PIPELINES = 1024
#: A program as large as this takes a driver about a second to compile: SwiftShader 1.3 s for 38 KB, 4 s for 62 KB.
_LONG_BYTES = 32 << 10
_RECORDINGS = 64
#: The lowest cost of a submission on CPU drivers, and the highest measured cost that is accepted as one (seconds). A
#: submission to an H200 costs 0.5 ms.
_SUBMISSION = 1e-4, 1e-3
#: A device is in use for this long after its last submission (seconds).
_LATELY = 0.1
#: Seconds that a program may lose to Kompute's waiting on a GPU before it gets a warning.
_MUCH = 1.0
_WORD = np.dtype(np.uint32)
#: A push constant this many times as large as in any earlier run, and as this value, may make a run longer.
_GROWTH, _SMALL = 8, 32

open_devices: OpenDevices[Device] = OpenDevices()


def _open_manager(kp: Any, info: DeviceInfo) -> Any:
    """A ``kp.Manager`` on the device that discovery called ``info``."""
    same = [d.index for d in devices.vulkan_devices() if d.name == info.name]
    wanted = [FLOAT_CONTROLS] if info.special_floats else []
    try:
        with driver_environment():
            manager = kp.Manager(info.index, [], wanted)
        if manager.get_device_properties()["device_name"] == info.name:
            return manager
        names = [row["device_name"] for row in manager.list_devices()]
        indices = [i for i, name in enumerate(names) if name == info.name]
        with driver_environment():
            return kp.Manager(indices[same.index(info.index)], [], wanted)
    except (RuntimeError, IndexError, ValueError) as error:
        raise AmpError(f"Kompute can't open {info.name}: {error}") from error


# -- programs and pipelines ---------------------------------------------------------------------


class KomputeProgram(DeviceProgram):
    """A program, how often it ran, and how long a tile of it took (``seconds_per_tile``)."""

    def __init__(self, device: Device, executable: Executable) -> None:
        super().__init__(device, executable)
        self.runs = 0
        #: The tiles of the largest submission that ran in one piece, and of the largest one whose time may have been
        #: spent only on submitting its operations one by one.
        self.tiles_at_once = self.tiles_in_time = 0
        #: The push constants of the last run, and the largest value so far of each as a signed number.
        self._last_push = b""
        self._largest: list[int] | None = None

    def ran(self, push: bytes) -> None:
        """Notes the push constants of a run."""
        if push != self._last_push or self._largest is None:
            words = memoryview(push).cast("i").tolist()
            self._largest = (
                words if self._largest is None else [max(*each) for each in zip(words, self._largest, strict=True)]
            )
            self._last_push = push

    def is_usual(self, push: bytes) -> bool:
        """Whether earlier runs tell how long one with these push constants takes: none is many times as large as
        before, as the count of a loop may be.
        """
        if push == self._last_push or self._largest is None:
            return True
        words = memoryview(push).cast("i").tolist()
        return all(new <= _GROWTH * max(old, _SMALL) for new, old in zip(words, self._largest, strict=True))


@dataclass
class Pipeline:
    """A ``kp.Algorithm``: a program bound to memory and to a grid. ``serial`` numbers are unique."""

    program: KomputeProgram
    serial: int
    algorithm: Any
    slots: frozenset[int]


@dataclass(frozen=True)
class _Recording:
    """A recorded ``kp.Sequence`` that can be evaluated again, and the memory that it touches."""

    sequence: Any
    slots: frozenset[int]


# -- memory -------------------------------------------------------------------------------------


class TensorSlot:
    """A ``kp.Tensor`` of words with the bytes that the host sees of it.

    ``dirty``: the host's bytes are newer than the device's; ``stale``: the device's are newer. Memory that both see
    (not ``mirrored``) is never either.
    """

    __slots__ = ("dirty", "group", "id", "mirror", "mirrored", "nbytes", "stale", "tensor")

    def __init__(self, number: int, tensor: Any, nbytes: int, *, mirrored: bool) -> None:
        self.id = number
        self.tensor = tensor
        self.nbytes = nbytes
        self.mirrored = mirrored
        self.group: Hashable = (nbytes, mirrored)
        self.mirror: NDArray[np.uint8] = tensor.data().view(np.uint8)[:nbytes]
        self.dirty = False
        self.stale = False


class Held(Protocol):
    """An owner of objects of kp, which must release them before the device is destroyed."""

    def release(self) -> None:
        """Releases all objects of kp."""


class Device(BaseDevice[TensorSlot]):
    """A ``kp.Manager`` with everything that was created on it. The kinds of memory are ``mirrored`` and not mirrored.

    ``condition`` wakes the threads that wait for a long kernel.
    """

    #: Whether the process was warned of Kompute's waiting.
    has_warned = False

    def __init__(self, kp: Any, info: DeviceInfo, *, mirrored: bool) -> None:
        super().__init__(info)
        self.kp = kp
        self.kind = self.mirrored = mirrored
        #: Bytes behind each buffer that programs may access.
        self.guard = GUARD if has_quirk(info, "unchecked_bounds") and not mirrored else 0
        self.condition = threading.Condition(self.lock)
        self.manager = _open_manager(kp, info)
        # A CPU cannot be lost; on other devices every submission ends by writing a word that shows its end.
        self.needs_canary = info.kind != "cpu"
        self.running: dict[int, KomputeSubmission] = {}
        #: The seconds that went into submissions between which the host waited.
        self._lost = 0.0
        #: The seconds of the quickest submission that was waited for from its start.
        self.quickest = math.inf
        self.budget = Budget(info, lambda: devices.free_memory(info))
        self.pool = Pool(min(POOL_CAPACITY, self.budget.capacity // 4))
        self._flags: deque[TensorSlot] = deque()
        self._slots: dict[int, TensorSlot] = {}
        self._pipelines: OrderedDict[Hashable, Pipeline] = OrderedDict()
        self._recordings: OrderedDict[Hashable, _Recording] = OrderedDict()
        self._programs: weakref.WeakValueDictionary[str, KomputeProgram]
        self._programs = weakref.WeakValueDictionary()
        self._dummy: TensorSlot | None = None
        #: The time of the last submission, by the host's clock.
        self.used = 0.0
        #: The owners outside of the device that hold objects of kp.
        self.held: weakref.WeakSet[Held] = weakref.WeakSet()

    @property
    def is_alone(self) -> bool:
        """Whether no other device has received work recently."""
        since = time.perf_counter() - _LATELY
        return all(each is self or each.used < since for each in list(open_devices.devices.values()))

    @property
    def submission_cost(self) -> float:
        """The cost of a submission itself in seconds: at most the time of the quickest one."""
        least, most = _SUBMISSION
        return min(max(self.quickest, least), most)

    # -- memory

    def _forget(self, slot: TensorSlot) -> None:
        slot.dirty = slot.stale = False

    def take_flag(self) -> TensorSlot:
        """A word that is 1 in the device's memory: when the host sees the 1, the device has reached this point.

        Flags are created two at a time and used again, since creating one waits for the device.
        """
        self.check()
        if not self._flags:
            made = [self._make(size_class(4, 256), mirrored=True) for _ in range(2)]
            for flag in made:
                flag.mirror[:] = 1
            upload = self.kp.OpTensorSyncDevice([flag.tensor for flag in made])
            self.manager.sequence().record(upload).eval()
            self._flags.extend(made)
        return self._flags.popleft()

    def give_back_flag(self, flag: TensorSlot) -> None:
        """Returns a flag; called from finalizers."""
        self._flags.append(flag)

    def _reserve(self, size: int, kind: Hashable, statistics: Statistics) -> str | None:
        return self.budget.shortage(size, mirrored=bool(kind))

    def _create(self, size: int, kind: Hashable, statistics: Statistics) -> TensorSlot:
        statistics.allocations += 1
        return self._make(size, mirrored=bool(kind))

    def _make(self, size: int, *, mirrored: bool) -> TensorSlot:
        kind = self.kp.TensorTypes.device if mirrored else self.kp.TensorTypes.host
        guard = self.guard if mirrored == self.mirrored else 0
        try:
            tensor = self.manager.tensor_t(np.empty((size + guard) // 4, _WORD), kind)
        except (RuntimeError, MemoryError) as error:
            raise OutOfMemoryError(f"{self.info.name} cannot allocate {readable(size)}: {error}") from error
        self.budget.take(size, mirrored=mirrored)
        slot = TensorSlot(self.number(), tensor, size, mirrored=mirrored)
        self._slots[slot.id] = slot
        return slot

    def _destroy(self, slot: TensorSlot) -> None:
        for table in (self._recordings, self._pipelines):
            for key in [k for k, made in table.items() if slot.id in made.slots]:
                del table[key]
        del self._slots[slot.id]
        self.budget.give_back(slot.nbytes, mirrored=slot.mirrored)
        slot.mirror = np.empty(0, np.uint8)
        slot.tensor = None

    # -- programs, pipelines, recordings

    def program(self, executable: Executable) -> KomputeProgram:
        """The checked program of ``executable``."""
        program = self._programs.get(executable.key)
        if program is None:
            program = KomputeProgram(self, executable)
            self._programs[executable.key] = program
        return program

    def pipeline(
        self,
        program: KomputeProgram,
        slots: tuple[TensorSlot, ...],
        groups: tuple[int, int, int],
        statistics: Statistics,
    ) -> Pipeline:
        """The program bound to memory and grid: compiled by the driver, or from the cache."""
        key = (program.key, tuple(slot.id for slot in slots), groups)
        found = self._pipelines.get(key)
        if found is not None:
            self._pipelines.move_to_end(key)
            return found
        made = self._make_pipeline(program, slots or (self._dummy_slot(statistics),), groups)
        statistics.pipelines += 1
        self._pipelines[key] = made
        if len(self._pipelines) > _PIPELINES:
            self._pipelines.popitem(last=False)
        return made

    def _make_pipeline(
        self, program: KomputeProgram, slots: tuple[TensorSlot, ...], groups: tuple[int, int, int]
    ) -> Pipeline:
        # Two dimensions keep the words from being taken for a list of floats.
        push = np.zeros((1, program.push_bytes // 4), _WORD)
        tensors = [slot.tensor for slot in slots]
        # No other thread runs during the call.
        at_once = len(program.spirv) >= _LONG_BYTES
        try:
            with activity(f"{self.info.name} compiles {program.name}", at_once=at_once):
                algorithm = self.manager.algorithm(tensors, program.spirv, groups, np.empty((1, 0), _WORD), push)
        except RuntimeError as error:
            raise AmpError(f"{self.info.name} can't compile the program: {error}") from error
        if not algorithm.is_init():
            raise AmpError(f"{self.info.name} can't compile the program")
        return Pipeline(program, self.number(), algorithm, frozenset(slot.id for slot in slots))

    def _dummy_slot(self, statistics: Statistics) -> TensorSlot:
        """The memory that a program without buffers is bound to, since kp crashes without any."""
        if self._dummy is None:
            self._dummy = self.take(4, self.kind, statistics)
        return self._dummy

    def recording(self, key: Hashable, slots: frozenset[int], record: Callable[[], Any]) -> Any:
        """The recorded sequence of ``key``, which uses ``slots``: ``record`` creates it once, and it is evaluated
        many times.
        """
        found = self._recordings.get(key)
        if found is None:
            found = self._recordings[key] = _Recording(record(), slots)
            if len(self._recordings) > _RECORDINGS:
                self._recordings.popitem(last=False)
        else:
            self._recordings.move_to_end(key)
        return found.sequence

    def waited_between(self, seconds: float) -> None:
        """Records that a submission of this duration had finished before the next one could be submitted; warns
        once when this has cost too much.
        """
        self._lost += min(self.submission_cost, seconds)
        if self._lost >= _MUCH and not Device.has_warned:
            Device.has_warned = True
            warnings.warn(
                f"Kompute has waited between dependent launches on {self.info.name} for more than {_MUCH:g} s: "
                "VKAMP_ENGINE=vulkan, or auto, avoids this",
                EngineWarning,
                stacklevel=2,
            )

    # -- the end

    def settle_queues(self) -> None:
        for queue in {id(s.queue): s.queue for s in self.running.values()}.values():
            queue.settle_running()

    def close(self) -> None:
        """Waits for submitted work, then frees everything in the order that kp survives."""
        with self.lock:
            if self.closed:
                return
            if self.removed is None:
                self.settle_queues()
            self.closed = True
            self.running.clear()
            for each in list(self.held):
                each.release()
            self._recordings.clear()
            self._pipelines.clear()
            for slot in self._slots.values():
                slot.mirror = np.empty(0, np.uint8)
                slot.tensor = None
            self._slots.clear()
            # Not destroy(): kp's destructor would destroy it again and print a warning.
            self.manager = None
