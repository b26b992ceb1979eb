"""The engine interface: device list, buffers, programs, submission, completion.

Everything that uses Vulkan implements these classes. An engine lists devices (:class:`DeviceInfo`) and opens queues on
them. A :class:`Queue` implements one ``accelerator_view``: it allocates memory, prepares programs, and runs dispatches
as if one after the other. Nothing here imports an engine or a driver.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from vkamp.artifacts import Executable, MatrixShape
from vkamp.errors import AmpError, UnsupportedFeatureError
from vkamp.lang.region import ByteSet, Footprint
from vkamp.records import dataclass

#: The subgroup operations that devices may support. Kernels have no functions for the last two, but an edited shader
#: can use them.
SUBGROUP_OPERATIONS = (
    "basic",
    "vote",
    "arithmetic",
    "ballot",
    "shuffle",
    "shuffle_relative",
    "clustered",
    "quad",
)

DeviceKind = Literal["discrete", "integrated", "virtual", "cpu", "reference", "other"]


@dataclass(frozen=True)
class Limits:
    """The limits of a device; sizes in bytes, triples in the order x, y, z.

    ``tile_threads``: threads of a tile. ``tile_size``: threads of a tile per dimension. ``tile_count``: tiles of a
    dispatch per dimension. ``shared_bytes``: tile_static memory of a tile. ``buffer_bytes``: the largest buffer.
    ``push_bytes``: push constants. ``buffers``: storage buffers of a program. ``subgroup_size``: lanes of a subgroup;
    ``subgroup_operations``: those of ``SUBGROUP_OPERATIONS`` that compute shaders may use (VkSubgroupFeatureFlagBits).
    ``subgroup_sizes``: the subgroup sizes that a kernel can require; ``tile_subgroups``: the maximum number of
    subgroups in a tile of such a kernel. ``compute_units``: the units that run tiles (AMD: compute units, NVIDIA:
    streaming multiprocessors, Arm: shader cores), for CPU drivers the processors that the process may use; None where
    the driver reports none.
    """

    tile_threads: int
    tile_size: tuple[int, int, int]
    tile_count: tuple[int, int, int]
    shared_bytes: int
    buffer_bytes: int
    push_bytes: int
    buffers: int
    subgroup_size: int
    subgroup_operations: frozenset[str] = frozenset()
    subgroup_sizes: tuple[int, ...] = ()
    tile_subgroups: int = 0
    compute_units: int | None = None
    #: The products of cooperative matrices of subgroups.
    matrix_shapes: tuple[MatrixShape, ...] = ()


@dataclass(frozen=True)
class Heap:
    """A memory heap: its size, and how much of it this process could allocate at the query (both in bytes)."""

    size: int
    budget: int
    device_local: bool


@dataclass(frozen=True)
class MemoryType:
    """A memory type: its heap, and whether it is device local, host visible and host coherent."""

    heap: int
    device_local: bool
    host_coherent: bool


@dataclass(frozen=True)
class DeviceInfo:
    """A device as an engine found it. ``index`` is its number among the engine's devices; ``features`` names what the
    *device* has (``"float64"``, ``"int64"``, ``"float16"``, ``"int16"``, ``"int8"``, ...), ``engine_features`` what the
    *engine* can enable: a program may use what both have. ``memory_bytes`` is the size of the device's own memory,
    ``uuid`` 32 hexadecimal digits or empty. ``tick`` is the duration of a tick of the device's clock in seconds,
    ``tick_bits`` the number of bits of its timestamps, 0 if it has none. ``special_floats``: the widths in bits of the
    floats whose infinities, NaN and signs of zero the device keeps if a program demands it; none on CPU drivers, which
    it slows down. ``is_partial``: its driver lacks parts of Vulkan, as MoltenVK does (VK_KHR_portability_subset).
    """

    engine: str
    index: int
    name: str
    kind: DeviceKind
    driver: str
    api_version: tuple[int, int, int]
    uuid: str
    memory_bytes: int
    limits: Limits
    features: frozenset[str]
    engine_features: frozenset[str]
    heaps: tuple[Heap, ...] = ()
    memory_types: tuple[MemoryType, ...] = ()
    max_allocations: int = 4096
    special_floats: frozenset[int] = frozenset()
    tick: float = 0.0
    tick_bits: int = 0
    is_partial: bool = False

    @property
    def usable_features(self) -> frozenset[str]:
        """The features that a program may use: those of the device that the engine can enable."""
        return self.features & self.engine_features

    @property
    def kernel_features(self) -> frozenset[str]:
        """What kernels may use: the usable features, and groups of subgroup operations with names such as
        ``subgroup_shuffle``."""
        return self.usable_features | {f"subgroup_{operation}" for operation in self.limits.subgroup_operations}


@dataclass
class Statistics:
    """The counters of a queue: operations and bytes.

    ``uploaded_bytes`` and ``downloaded_bytes`` count what callers asked to move. ``synced_bytes`` counts what the
    device copied between its memory and the host's for this (whole buffers where the two have separate memory, since
    Kompute copies no parts). ``submissions`` counts calls of the driver's submit, ``barriers`` those recorded between
    work whose order matters, ``dispatches`` programs run, ``pipelines`` compilations by the driver, ``allocations``
    requests of memory to the driver.
    """

    uploads: int = 0
    uploaded_bytes: int = 0
    downloads: int = 0
    downloaded_bytes: int = 0
    synced_bytes: int = 0
    submissions: int = 0
    dispatches: int = 0
    pipelines: int = 0
    allocations: int = 0
    barriers: int = 0


@dataclass(frozen=True)
class Timing:
    """How long a dispatch took on the device: its program's key, when it began by the device's clock, and its duration,
    in seconds; ``launch`` is the dispatch's.

    By the host's clock (``time.perf_counter``): when it was enqueued, when it was about to be submitted, and when it
    was seen to be over.
    """

    key: str
    started: float
    seconds: float
    launch: Launch | None
    enqueued: float
    submitted: float
    seen: float


@dataclass(frozen=True)
class Transfer:
    """Bytes that the host copied to (``up``) or from (``down``) a buffer, and when by its clock the call began and
    returned. Copies after the return of an upload are not included.
    """

    direction: Literal["up", "down"]
    nbytes: int
    started: float
    finished: float


#: The receiver of the events of a queue.
Sink = Callable[[Timing | Transfer], None]


class Buffer(ABC):
    """Memory of one queue; implements ``vkamp.lang.storage.Storage``. The memory is freed with the last reference."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The requested size in bytes."""

    @abstractmethod
    def upload(self, offset: int, data: NDArray[np.uint8], where: ByteSet | None = None) -> None:
        """Writes ``data`` (uint8, one-dimensional) at byte ``offset``; ordered after every dispatch already enqueued.
        With ``where``, positions in ``data``, only those bytes.

        ``data`` may be changed as soon as the call returns. The other bytes keep their values.
        """

    @abstractmethod
    def download(
        self, offset: int, nbytes: int, where: ByteSet | None = None, out: NDArray[np.uint8] | None = None
    ) -> NDArray[np.uint8]:
        """The bytes ``offset .. offset + nbytes`` as a fresh array; waits for the dispatches that write them. With
        ``where``, positions from ``offset`` on, only those bytes are read. With ``out``, which has the same length,
        they are written there, the other bytes of ``out`` stay as they are, and ``out`` is returned.
        """

    def take_from(self, offset: int, source: Buffer, source_offset: int, nbytes: int) -> bool:
        """Writes bytes of another buffer, of any queue, at byte ``offset``; after every dispatch already enqueued in
        both queues. Returns False and does nothing if the copy must go through arrays of the host.
        """
        return False


class Program(ABC):
    """A program ready to run on one device."""

    @property
    @abstractmethod
    def key(self) -> str:
        """The identity of the executable it was made from."""


@dataclass(frozen=True)
class Launch:
    """A launch as the author of the program sees it, for an engine that runs the IR instead of a shader.

    ``domain``: threads per dimension. ``containers`` (``lang.container.Descriptor``; those whose elements the kernel
    accesses) and ``scalars`` by parameter name. ``extents``: those of all containers. ``kernel``: its name. ``tile``:
    threads of a tile per dimension, if there are tiles.
    """

    domain: tuple[int, ...]
    containers: Mapping[str, Any]
    scalars: Mapping[str, int | float | bool]
    extents: Mapping[str, tuple[int, ...]]
    kernel: str = ""
    tile: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Dispatch:
    """One run of a program: its buffers at bindings 0, 1, ..., push constants, the grid of tiles (x, y, z).

    ``push``: exactly the program's push constants, a multiple of 4 bytes. ``groups``: 1 up to the device's limit each.
    ``writes``: for each buffer, whether the program may write it. ``regions``: for each buffer the parts of it that the
    program may touch, None for the whole buffer; an empty tuple means the whole of all buffers. Nothing else orders
    dispatches: a wrong False or a missing part is a race. ``sizes``: a buffer that begins with the grid (x, y, z as
    uint32, 0 up to the device's limit each) instead of ``groups``, which are 1; only for queues that take it
    (:attr:`Queue.takes_sizes`).
    """

    program: Program
    buffers: tuple[Buffer, ...]
    push: bytes
    groups: tuple[int, int, int]
    writes: tuple[bool, ...]
    launch: Launch | None = None
    regions: tuple[tuple[Footprint, ...] | None, ...] = ()
    sizes: Buffer | None = None


class Ready(ABC):
    """A dispatch that is checked and bound to its memory, which it keeps alive."""

    @abstractmethod
    def enqueue(self) -> None:
        """Appends the dispatch to its queue, as :meth:`Queue.enqueue` does."""

    @abstractmethod
    def enqueue_with(self, push: bytes) -> None:
        """Appends it with other push constants of the same size. The description of the launch keeps its numbers."""


class Recording(ABC):
    """Dispatches that were checked and bound to their memory, which it keeps alive, to be run again and again."""

    @abstractmethod
    def replay(self) -> None:
        """Runs them all after everything enqueued, as if enqueued one after the other; does not wait for them."""


class _Enqueued(Ready, Recording):
    """A recording for engines that have nothing faster than :meth:`Queue.enqueue`."""

    def __init__(self, queue: Queue, dispatches: Sequence[Dispatch]) -> None:
        self._queue = queue
        self._dispatches = tuple(dispatches)

    def enqueue(self) -> None:
        for each in self._dispatches:
            self._queue.enqueue(each)

    replay = enqueue

    def enqueue_with(self, push: bytes) -> None:
        for each in self._dispatches:
            self._queue.enqueue(dataclasses.replace(each, push=push))


class Queue(ABC):
    """Runs dispatches as if in the order of ``enqueue``; one queue is one ``accelerator_view``.

    Safe to use from many threads. With ``immediate`` every enqueue submits immediately (``queuing_mode_immediate``).
    """

    immediate: bool = False
    #: False after :meth:`close`.
    is_open: bool = True
    #: Whether it takes dispatches whose grid is in a buffer.
    takes_sizes: bool = False

    @property
    @abstractmethod
    def info(self) -> DeviceInfo:
        """The device that the queue is on."""

    @property
    @abstractmethod
    def statistics(self) -> Statistics:
        """A copy of the queue's counters."""

    @abstractmethod
    def allocate(self, nbytes: int) -> Buffer:
        """A buffer of ``nbytes`` (1 or more) bytes, whose contents are undefined. Raises ``OutOfMemoryError`` if it
        exceeds the device's limit or the free memory, and ``AmpError`` if ``nbytes`` is not positive.
        """

    def share(self, memory: NDArray[np.uint8]) -> Buffer | None:
        """A buffer whose memory is ``memory`` of the host, which it keeps alive; it is also a
        ``vkamp.lang.storage.SharedStorage``. None if the device cannot work in this memory.
        """
        return None

    @abstractmethod
    def program(self, executable: Executable) -> Program:
        """The program of ``executable`` on this device; the same one for the same key.

        Raises ``UnsupportedFeatureError`` if it needs what the device or the engine lacks, ``AmpError`` if it is no
        valid program.
        """

    @abstractmethod
    def enqueue(self, dispatch: Dispatch) -> None:
        """Appends ``dispatch``. Raises ``AmpError`` for one that does not fit the device or this queue."""

    def ready(self, dispatch: Dispatch) -> Ready:
        """``dispatch``, checked, to be enqueued many times. Raises what :meth:`enqueue` raises."""
        return _Enqueued(self, [dispatch])

    def together(self, ready: Sequence[Ready]) -> Callable[[], None]:
        """A function that enqueues what :meth:`ready` returned, in this order, again and again."""

        def enqueue() -> None:
            for each in ready:
                each.enqueue()

        return enqueue

    def idle(self) -> Callable[[], None]:
        """A function that does what those of :meth:`together` do, and enqueues nothing."""
        return self.together([])

    def record(self, dispatches: Sequence[Dispatch]) -> Recording:
        """``dispatches``, checked, to be run many times in this order. Raises what :meth:`enqueue` raises."""
        return _Enqueued(self, dispatches)

    @abstractmethod
    def flush(self) -> None:
        """Submits everything enqueued as soon as the work that it needs has finished; does not wait."""

    @abstractmethod
    def wait(self) -> None:
        """Submits everything enqueued and waits until it is done."""

    @abstractmethod
    def mark(self) -> Callable[[], None]:
        """Submits everything enqueued; returns a function that waits until exactly this work is done."""

    def profile(self, sink: Sink | None) -> None:
        """From now on calls ``sink`` with the time of every dispatch when its end is known, at the latest in
        :meth:`wait`, and with every transfer; None ends this. Timed dispatches don't overlap.

        Raises ``UnsupportedFeatureError`` if the engine or the device can't.
        """
        if sink is not None:
            raise UnsupportedFeatureError(f"{self.info.name}: the {self.info.engine} engine does not measure times")

    @abstractmethod
    def close(self) -> None:
        """Waits for what was submitted; afterwards every use raises ``AmpError``. It may be called twice."""


class Observer(Protocol):
    """What a profile implements to get the events of queues."""

    def sink(self, queue: Queue) -> Sink:
        """The collector of the events of a queue."""

    def missed(self, queue: Queue, reason: AmpError) -> None:
        """Reports a queue whose events are missing."""


class Engine(ABC):
    """An implementation that reaches devices. ``name`` is part of the device paths."""

    name: str

    @abstractmethod
    def devices(self) -> list[DeviceInfo]:
        """The devices, by index. If none can be found, raises ``AmpError``, which says what to install."""

    @abstractmethod
    def open(self, info: DeviceInfo) -> Queue:
        """A new queue on the device of ``info``, which :meth:`devices` gave."""


@dataclass
class Step:
    """One step of device discovery, for people: what was checked, and the result."""

    what: str
    result: str
    ok: bool = True
    details: list[str] = field(default_factory=list)
