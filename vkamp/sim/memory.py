"""The memory of the reference accelerator, and the shadow that finds races in it.

Everything is addressed in 32-bit words.  Buffers keep their numpy memory: those that overlap share
one region, so that aliasing is real.  Kernel memory is a list, ``None`` where nothing was written.

A shadow remembers for each word who touched it last, as ``thread * sites + site``.  Between
threads of a tile the records live until a barrier whose fence covers the memory; between tiles
they live for the whole launch.

C++ AMP's model: docs/conformance.md, section 12.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkamp.errors import AmpError, UnsupportedFeatureError
from vkamp.ir.nodes import Kernel
from vkamp.ir.types import Array, Scalar, Struct, Type
from vkamp.sim.faults import BufferLayout, Grid, Judge, Thread

__all__ = ["Buffer", "Clock", "KernelArray", "Layout", "Region", "bind", "words_of"]

#: The scalars of a struct or short vector: (word offset, "f" / "i" / "u").
Layout = tuple[tuple[int, str], ...]

LETTERS = {"float32": "f", "int32": "i", "uint32": "u", "bool": "b"}


def words_of(kind: Type) -> int:
    """Size of a type in 32-bit words; a size or member that is no whole word is refused."""
    if isinstance(kind, Array):
        return kind.count * words_of(kind.element)
    if isinstance(kind, Struct):
        for member in kind.fields:
            words_of(member.type)
    if kind.size % 4 or (isinstance(kind, Scalar) and kind.bits != 32):
        raise UnsupportedFeatureError(f"the reference accelerator has 32-bit scalars, no {kind}")
    if isinstance(kind, Struct) and any(m.offset % 4 for m in kind.fields):
        raise UnsupportedFeatureError(f"{kind} has members that are not aligned to 4 bytes")
    return kind.size // 4


# -- time ------------------------------------------------------------------------------------------


@dataclass
class Clock:
    """Ticks of the running tile: one for each fence or barrier."""

    tick: int = 0
    barriers: list[int] = field(default_factory=list)
    threads: Sequence[Thread] = ()

    def restart(self, threads: Sequence[Thread]) -> None:
        """A new tile begins."""
        self.tick = 0
        self.barriers.clear()
        self.threads = threads
        for thread in threads:
            thread.fences = ([], [])

    def fence(self, thread: Thread, orders_global: bool, orders_tile_static: bool) -> None:
        """A thread passes a fence that does not wait."""
        self.tick += 1
        if orders_global:
            thread.fences[0].append(self.tick)
        if orders_tile_static:
            thread.fences[1].append(self.tick)

    def barrier(self) -> None:
        """The whole tile passes a barrier."""
        self.tick += 1
        self.barriers.append(self.tick)

    def ordered(self, since: int, writer: Thread, reader: Thread, space: int) -> bool:
        """Whether fences of both threads and a barrier order an access at ``since`` before now.

        That is a wait spelled in two: a fence, then a barrier whose own fence covers other memory.
        """
        for position, barrier in enumerate(self.barriers):
            before = self.barriers[position - 1] if position else -1
            released = any(since < f < barrier for f in writer.fences[space])
            if released and any(f > before for f in reader.fences[space]):
                return True
        return False


# -- shadows ---------------------------------------------------------------------------------------


class LaunchShadow:
    """Who touched each word in the whole launch: judges accesses of different tiles.

    Records are kept plus one; 0 is none.  Two records for reads and for atomics suffice: a writer
    conflicts with any other tile's, and of two different tiles one is not its own.
    """

    def __init__(self, judge: Judge, words: int) -> None:
        self.judge = judge
        self.per_tile = len(judge.sites) * judge.grid.threads

        def table() -> memoryview:
            return np.zeros(words, np.int64).data

        self.written = table()
        self.reads, self.reads_too = table(), table()
        self.atomics, self.atomics_too = table(), table()

    def read(self, thread: Thread, site: int, word: int) -> int:
        """Notes a plain read and returns the word."""
        writer = self.written[word]
        if writer and (writer - 1) // self.per_tile != thread.tile_number:
            self.judge.race(word, writer - 1, thread, site)
        self._note(self.reads, self.reads_too, thread, site, word)
        return word

    def write(self, thread: Thread, site: int, word: int) -> int:
        """Notes a plain write and returns the word."""
        tile, per_tile = thread.tile_number, self.per_tile
        for table in (self.written, self.reads, self.reads_too, self.atomics, self.atomics_too):
            other = table[word]
            if other and (other - 1) // per_tile != tile:
                self.judge.race(word, other - 1, thread, site)
        self.written[word] = thread.base + site + 1
        return word

    def atomic(self, thread: Thread, site: int, word: int) -> int:
        """Notes an atomic update and returns the word."""
        writer = self.written[word]
        if writer and (writer - 1) // self.per_tile != thread.tile_number:
            self.judge.race(word, writer - 1, thread, site)
        self._note(self.atomics, self.atomics_too, thread, site, word)
        return word

    def _note(self, first: memoryview, second: memoryview, thread: Thread, site: int, word: int) -> None:
        other = first[word]
        if not other:
            first[word] = thread.base + site + 1
        elif (other - 1) // self.per_tile != thread.tile_number:
            second[word] = thread.base + site + 1


class TileShadow:
    """Who touched each word since the last barrier that orders this memory, in one tile.

    With ``launch`` the first access of an interval is also judged against the other tiles.
    """

    def __init__(self, judge: Judge, launch: LaunchShadow | None) -> None:
        self.judge = judge
        self.sites = len(judge.sites)
        self.launch = launch
        self.written: dict[int, int] = {}
        self.reads: dict[int, int] = {}
        self.reads_too: dict[int, int] = {}
        self.atomics: dict[int, int] = {}
        self.atomics_too: dict[int, int] = {}

    def clear(self) -> None:
        """A barrier orders everything so far before everything that follows."""
        for table in (self.written, self.reads, self.reads_too, self.atomics, self.atomics_too):
            table.clear()

    def read(self, thread: Thread, site: int, word: int) -> int:
        """Notes a plain read and returns the word."""
        writer = self.written.get(word)
        if writer is not None and writer // self.sites != thread.number:
            self.conflict(word, writer, thread, site)
        reader = self.reads.get(word)
        if reader is None:
            self.reads[word] = thread.base + site
            if self.launch is not None:
                self.launch.read(thread, site, word)
        elif reader // self.sites != thread.number:
            self.reads_too[word] = thread.base + site
        return word

    def write(self, thread: Thread, site: int, word: int) -> int:
        """Notes a plain write and returns the word."""
        tables = (self.written, self.reads, self.reads_too, self.atomics, self.atomics_too)
        for table in tables:
            other = table.get(word)
            if other is not None and other // self.sites != thread.number:
                self.conflict(word, other, thread, site)
        if self.launch is not None and word not in self.written:
            self.launch.write(thread, site, word)
        self.written[word] = thread.base + site
        return word

    def atomic(self, thread: Thread, site: int, word: int) -> int:
        """Notes an atomic update and returns the word."""
        writer = self.written.get(word)
        if writer is not None and writer // self.sites != thread.number:
            self.conflict(word, writer, thread, site)
        other = self.atomics.get(word)
        if other is None:
            self.atomics[word] = thread.base + site
            if self.launch is not None:
                self.launch.atomic(thread, site, word)
        elif other // self.sites != thread.number:
            self.atomics_too[word] = thread.base + site
        return word

    def conflict(self, word: int, earlier: int, thread: Thread, site: int) -> None:
        """Two accesses of different threads in one interval, one of them a plain write."""
        self.judge.race(word, earlier, thread, site)


class FencedShadow(TileShadow):
    """The shadow for kernels in which separate fences and barriers may order this memory together.

    ``space``: 0 global, 1 tile_static memory.
    """

    def __init__(self, judge: Judge, launch: LaunchShadow | None, clock: Clock, space: int) -> None:
        super().__init__(judge, launch)
        self.clock = clock
        self.space = space
        self.ticks: dict[tuple[int, int], int] = {}

    def clear(self) -> None:
        super().clear()
        self.ticks.clear()

    def read(self, thread: Thread, site: int, word: int) -> int:
        before = self.reads.get(word)
        super().read(thread, site, word)
        self._latest(self.reads, self.reads_too, before, thread, site, word)
        return word

    def write(self, thread: Thread, site: int, word: int) -> int:
        super().write(thread, site, word)
        self._stamp(thread, site, word)
        return word

    def atomic(self, thread: Thread, site: int, word: int) -> int:
        before = self.atomics.get(word)
        super().atomic(thread, site, word)
        self._latest(self.atomics, self.atomics_too, before, thread, site, word)
        return word

    def _latest(
        self,
        first: dict[int, int],
        second: dict[int, int],
        before: int | None,
        thread: Thread,
        site: int,
        word: int,
    ) -> None:
        """Keeps the latest accesses of two threads: a later write must be ordered after them."""
        if before is not None and before // self.sites != thread.number:
            second[word] = before
        first[word] = self._stamp(thread, site, word)

    def _stamp(self, thread: Thread, site: int, word: int) -> int:
        code = thread.base + site
        self.ticks[word, code] = self.clock.tick
        return code

    def conflict(self, word: int, earlier: int, thread: Thread, site: int) -> None:
        other = self.clock.threads[earlier // self.sites % len(self.clock.threads)]
        if not self.clock.ordered(self.ticks[word, earlier], other, thread, self.space):
            super().conflict(word, earlier, thread, site)


def _unjudged(thread: Thread, site: int, word: int) -> int:
    """An access that can take part in no race."""
    return word


# -- kernel memory ---------------------------------------------------------------------------------


class KernelArray:
    """A private or tile_static array; private ones (no shadow) are judged by no one."""

    __slots__ = ("atomic", "mem", "read", "write")

    def __init__(self, words: int, shadow: TileShadow | None = None) -> None:
        self.mem: list[Any] = [None] * words
        self.read = shadow.read if shadow is not None else _unjudged
        self.write = shadow.write if shadow is not None else _unjudged
        self.atomic = shadow.atomic if shadow is not None else _unjudged

    def forget(self) -> None:
        """A new tile begins."""
        self.mem = [None] * len(self.mem)

    def load_struct(self, thread: Thread, site: int, word: int, layout: Layout, words: int) -> list[Any]:
        """A copy of a struct; members that were never written stay so."""
        for offset, _ in layout:
            self.read(thread, site, word + offset)
        return self.mem[word : word + words]

    def store_struct(self, thread: Thread, site: int, word: int, layout: Layout, value: list[Any]) -> None:
        """Stores every member."""
        for offset, _ in layout:
            self.mem[self.write(thread, site, word + offset)] = value[offset]

    def load_vector(self, thread: Thread, site: int, word: int, layout: Layout) -> list[Any]:
        """Components of a short vector; those that were never written are ``None``."""
        return [self.mem[self.read(thread, site, word + offset)] for offset, _ in layout]

    def store_vector(self, thread: Thread, site: int, word: int, layout: Layout, value: list[Any]) -> None:
        """Stores components of a short vector."""
        for (offset, _), part in zip(layout, value, strict=True):
            self.mem[self.write(thread, site, word + offset)] = part


# -- buffers ---------------------------------------------------------------------------------------


class _Memory:
    """Bytes at an address, lent to numpy; holds their owners."""

    def __init__(self, address: int, words: int, owners: tuple[NDArray[Any], ...]) -> None:
        self.owners = owners
        self.__array_interface__ = {
            "data": (address, False),
            "shape": (words,),
            "typestr": np.dtype(np.uint32).str,
            "version": 3,
        }


class Region:
    """A stretch of numpy memory that buffers lie in, as arrays of words of each type."""

    def __init__(self, low: int, high: int, owners: tuple[NDArray[Any], ...]) -> None:
        self.low = low
        self.words = (high - low) // 4
        words = np.zeros(0, np.uint32)
        if self.words:
            words = np.asarray(_Memory(low, self.words, owners))
        # numpy gives float32 scalars, a memoryview Python's integers: what the generated code
        # computes with.
        self.f = words.view(np.float32)
        self.i = words.view(np.int32).data
        self.u = words.data


class Buffer:
    """A captured container at its place in a region."""

    def __init__(
        self,
        region: Region,
        layout: BufferLayout,
        judge: Judge,
        shadow: TileShadow | LaunchShadow | None,
        words: int,
    ) -> None:
        spans = [s * (n - 1) for s, n in zip(layout.strides, layout.shape, strict=True)]
        self.low = layout.offset + sum(min(s, 0) for s in spans)
        self.high = layout.offset + sum(max(s, 0) for s in spans) + words
        self.f, self.i, self.u = region.f, region.i, region.u
        self.layout = layout
        self.judge = judge
        self.read = shadow.read if shadow is not None else _unjudged
        self.write = shadow.write if shadow is not None else _unjudged
        self.atomic = shadow.atomic if shadow is not None else _unjudged

    def inside(self, thread: Thread, site: int, word: int, words: int) -> int:
        """The address of ``words`` words, which must lie in the container."""
        if not (self.low <= word and word + words <= self.high):
            self.judge.outside(thread, site)
        return word

    def load_struct(self, thread: Thread, site: int, word: int, layout: Layout, words: int) -> list[Any]:
        """A copy of a struct."""
        value: list[Any] = [None] * words
        for offset, letter in layout:
            value[offset] = getattr(self, letter)[self.read(thread, site, word + offset)]
        return value

    def store_struct(self, thread: Thread, site: int, word: int, layout: Layout, value: list[Any]) -> None:
        """Stores every member; padding keeps what it holds."""
        for offset, letter in layout:
            if value[offset] is None:
                self.judge.unset(thread, site, word + offset)
            getattr(self, letter)[self.write(thread, site, word + offset)] = value[offset]

    def load_vector(self, thread: Thread, site: int, word: int, layout: Layout) -> list[Any]:
        """Components of a short vector."""
        return [getattr(self, letter)[self.read(thread, site, word + offset)] for offset, letter in layout]

    def store_vector(self, thread: Thread, site: int, word: int, layout: Layout, value: list[Any]) -> None:
        """Stores components of a short vector."""
        for (offset, letter), part in zip(layout, value, strict=True):
            getattr(self, letter)[self.write(thread, site, word + offset)] = part


def _check(kernel: Kernel, buffers: Mapping[str, NDArray[Any]], written: frozenset[str]) -> None:
    """Refuses arrays that are not what the kernel was compiled for."""
    for param in kernel.buffers:
        array = buffers.get(param.name)
        if array is None:
            raise AmpError(f"no array is given for {param.name}")
        words_of(param.element)
        if array.dtype != param.element.dtype:
            raise AmpError(f"{param.name} has {array.dtype} elements, the kernel wants {param.element.dtype}")
        if array.ndim != param.rank:
            raise AmpError(f"{param.name} has rank {array.ndim}, the kernel wants {param.rank}")
        if param.name in written and not array.flags.writeable:
            raise AmpError(f"{param.name} is a read-only array, and the kernel writes it")
        address = array.__array_interface__["data"][0]
        if any(v % 4 for v in (address, *array.strides)):
            raise AmpError(f"{param.name} is not aligned to 4 bytes")


def _span(array: NDArray[Any]) -> tuple[int, int]:
    """First byte and the byte after the last."""
    low = high = array.__array_interface__["data"][0]
    if array.size == 0:
        return low, low
    for size, stride in zip(array.shape, array.strides, strict=True):
        low, high = low + min(0, stride * (size - 1)), high + max(0, stride * (size - 1))
    return low, high + array.itemsize


def _regions(buffers: Iterable[NDArray[Any]]) -> list[Region]:
    """The merged stretches of memory of all buffers."""
    spans = sorted(((*_span(a), a) for a in buffers), key=lambda s: s[:2])
    merged: list[tuple[int, int, list[NDArray[Any]]]] = []
    for low, high, array in spans:
        if merged and low < merged[-1][1]:
            start, end, owners = merged[-1]
            merged[-1] = (start, max(end, high), [*owners, array])
        elif high > low:
            merged.append((low, high, [array]))
    return [Region(low, high, tuple(owners)) for low, high, owners in merged]


def bind(
    kernel: Kernel,
    buffers: Mapping[str, NDArray[Any]],
    written: frozenset[str],
    judge: Judge,
    clock: Clock | None,
    races: bool,
) -> tuple[dict[str, Buffer], list[TileShadow]]:
    """The buffers by name, and the shadows that barriers of global memory clear.

    ``written`` names the buffers that the kernel stores to; memory that it only reads needs no
    shadow.  ``clock`` is given where separate fences may order global memory.
    """
    _check(kernel, buffers, written)
    arrays = {p.name: buffers[p.name] for p in kernel.buffers}
    regions = _regions(arrays.values())
    empty = Region(0, 0, ())
    home: dict[str, Region] = {}
    for name, array in arrays.items():
        low, high = _span(array)
        home[name] = next((r for r in regions if high > low and r.low <= low < r.low + 4 * r.words), empty)
    shadows: dict[int, TileShadow | LaunchShadow] = {}
    if races:
        for region in {id(home[name]): home[name] for name in sorted(written)}.values():
            shadows[id(region)] = _shadow(region, judge, clock)
    bound = {}
    for name, array in arrays.items():
        region = home[name]
        offset = (array.__array_interface__["data"][0] - region.low) // 4
        layout = BufferLayout(offset, tuple(s // 4 for s in array.strides), array.shape)
        judge.buffers[name] = layout
        bound[name] = Buffer(region, layout, judge, shadows.get(id(region)), array.itemsize // 4)
    return bound, [s for s in shadows.values() if isinstance(s, TileShadow)]


def _shadow(region: Region, judge: Judge, clock: Clock | None) -> TileShadow | LaunchShadow:
    grid: Grid = judge.grid
    launch = LaunchShadow(judge, region.words)
    if not grid.tiled:
        return launch
    if clock is not None:
        return FencedShadow(judge, launch, clock, 0)
    return TileShadow(judge, launch)
