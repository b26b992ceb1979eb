"""The memory of the reference accelerator.

Everything is addressed in 32-bit words.  Buffers keep their numpy memory: those that overlap share
one region, so that aliasing is real.  Kernel memory is a list, ``None`` where nothing was written.

C++ AMP's model: docs/conformance.md, section 12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkamp.errors import AmpError, UnsupportedFeatureError
from vkamp.ir.nodes import Kernel
from vkamp.ir.types import Array, Scalar, Struct, Type
from vkamp.sim.faults import BufferLayout, Judge, Thread
from vkamp.sim.shadow import Shadow
from vkamp.sim.text import text_at

__all__ = ["LETTERS", "ZEROS", "Buffer", "KernelArray", "Layout", "Region", "bind", "nothing", "words_of"]

#: The scalars of a struct or short vector: (word offset, "f" / "i" / "u").
Layout = tuple[tuple[int, str], ...]

LETTERS = {"float32": "f", "int32": "i", "uint32": "u", "bool": "b"}

ZEROS: dict[str, Any] = {"f": np.float32(0), "i": 0, "u": 0, "b": False, "": 0}


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


def nothing(layout: Layout, words: int) -> list[Any]:
    """A struct or short vector of zeros."""
    value: list[Any] = [None] * words
    for offset, letter in layout:
        value[offset] = ZEROS[letter]
    return value


def _unjudged(thread: Thread, site: int, word: int) -> int:
    """An access that can take part in no race."""
    return word


# -- kernel memory ---------------------------------------------------------------------------------


class KernelArray:
    """A private or tile_static array; private ones (no shadow) are judged by no one."""

    __slots__ = ("atomic", "mem", "read", "shadow", "type", "write")

    def __init__(self, kind: Array, shadow: Shadow | None = None) -> None:
        self.type = kind
        self.shadow = shadow
        self.mem: list[Any] = [None] * words_of(kind)
        self.read = shadow.read if shadow is not None else _unjudged
        self.write = shadow.write if shadow is not None else _unjudged
        self.atomic = shadow.atomic if shadow is not None else _unjudged

    # What a debugger shows; `?` is what nothing wrote.

    def __repr__(self) -> str:
        return text_at(self.type, self.mem, 0)

    def __getitem__(self, index: int | tuple[int, ...]) -> Any:
        numbers = index if isinstance(index, tuple) else (int(index),)
        if len(numbers) != len(self.type.shape):
            raise IndexError(f"{len(self.type.shape)} indices are needed")
        word = 0
        for i, n in zip(numbers, self.type.shape, strict=True):
            if not 0 <= i < n:
                raise IndexError(f"{i} is outside 0 to {n - 1}")
            word = word * n + i
        words = words_of(self.type.element)
        part = self.mem[word * words : word * words + words]
        return part[0] if isinstance(self.type.element, Scalar) else part

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
        shadow: Shadow | None,
        array: NDArray[Any],
    ) -> None:
        words = array.itemsize // 4
        self.array = array
        spans = [s * (n - 1) for s, n in zip(layout.strides, layout.shape, strict=True)]
        self.low = layout.offset + sum(min(s, 0) for s in spans)
        self.high = layout.offset + sum(max(s, 0) for s in spans) + words
        self.f: Any = region.f
        self.i: Any = region.i
        self.u: Any = region.u
        self.layout = layout
        self.judge = judge
        self.read = shadow.read if shadow is not None else _unjudged
        self.write = shadow.write if shadow is not None else _unjudged
        self.atomic = shadow.atomic if shadow is not None else _unjudged

    # What a debugger shows.

    def __repr__(self) -> str:
        return repr(self.array)

    def __getitem__(self, index: Any) -> Any:
        return self.array[index.global_ if isinstance(index, Thread) else index]

    def inside(self, thread: Thread, site: int, word: int, words: int) -> int:
        """The address of ``words`` words, which must lie in the container."""
        if not (self.low <= word and word + words <= self.high):
            return self.judge.outside(thread, site)
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
    kind: type[Buffer],
    shadow: Callable[[Region], Shadow] | None,
) -> tuple[dict[str, Buffer], list[Shadow]]:
    """The buffers by name, each of class ``kind``, and the shadows that ``shadow`` makes of their regions.

    ``written`` names the buffers that the kernel stores to; memory that it only reads needs no shadow.
    """
    _check(kernel, buffers, written)
    arrays = {p.name: buffers[p.name] for p in kernel.buffers}
    regions = _regions(arrays.values())
    empty = Region(0, 0, ())
    home: dict[str, Region] = {}
    for name, array in arrays.items():
        low, high = _span(array)
        home[name] = next((r for r in regions if high > low and r.low <= low < r.low + 4 * r.words), empty)
    shadows: dict[int, Shadow] = {}
    if shadow is not None:
        for region in {id(home[name]): home[name] for name in sorted(written)}.values():
            shadows[id(region)] = shadow(region)
    bound = {}
    for name, array in arrays.items():
        region = home[name]
        offset = (array.__array_interface__["data"][0] - region.low) // 4
        layout = BufferLayout(offset, tuple(s // 4 for s in array.strides), array.shape)
        judge.buffers[name] = layout
        bound[name] = kind(region, layout, judge, shadows.get(id(region)), array)
    return bound, list(shadows.values())
