"""The memory of the reference accelerator.

All addresses count words of 32 bits, or of the size of the smallest type in the kernel. Buffers use their numpy memory:
those that overlap share one region, so that they alias as on a device. Kernel memory is a list, with ``None`` where
nothing was written.

C++ AMP's model: docs/conformance.md, section 12.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkamp.errors import AmpError, UnsupportedFeatureError
from vkamp.ir.nodes import Kernel
from vkamp.ir.requirements import typed_access
from vkamp.ir.types import NUMBERS, Array, Scalar, Struct, Type
from vkamp.sim.faults import NOWHERE, BufferLayout, FaultReporter, Thread
from vkamp.sim.shadow import Shadow
from vkamp.sim.text import text_at

#: The scalars of a struct or short vector: (word offset, letter).
Layout = tuple[tuple[int, str], ...]

#: By the name of a type: its letter, and its letter in the module struct, if any. The names of generated code that
#: ``vkamp.sim.translate`` lists use some other letters, such as ``o``.
_LETTERS = {
    "float32": "ff", "int32": "ii", "uint32": "uI", "bool": "b", "float64": "dd", "int64": "lq", "uint64": "mQ",
    "float16": "he", "bfloat16": "p", "int16": "jh", "uint16": "qH", "int8": "gb", "uint8": "vB",
}  # fmt: skip
LETTERS = {name: letters[0] for name, letters in _LETTERS.items()}

ZEROS: dict[str, Any] = {
    **dict.fromkeys(LETTERS.values(), 0), "f": np.float32(0), "d": np.float64(0), "h": np.float16(0), "b": False, "": 0,
}  # fmt: skip

#: By the letter of a type in buffers: the type, and its letter in the module struct.
_STORED = {letters[0]: (NUMBERS[name], letters[1:]) for name, letters in _LETTERS.items() if name in NUMBERS}


def words_of(kind: Type, unit: int = 4) -> int:
    """The size of a type in words of ``unit`` bytes; rejects a size or a member that is not a multiple of a word."""
    if isinstance(kind, Array):
        return kind.count * words_of(kind.element, unit)
    if isinstance(kind, Struct):
        for member in kind.fields:
            words_of(member.type, unit)
            if member.offset % unit:
                raise UnsupportedFeatureError(f"{kind} has members that are not aligned to {unit} bytes")
    assert kind.size % unit == 0, f"{kind} in words of {unit} bytes"
    return kind.size // unit


def nothing(layout: Layout, words: int) -> list[Any]:
    """A struct or short vector of zeros."""
    value: list[Any] = [None] * words
    for offset, letter in layout:
        value[offset] = ZEROS[letter]
    return value


def _unjudged(thread: Thread, site: int, word: int) -> int:
    """The shadow of memory without races."""
    return word


# -- kernel memory ---------------------------------------------------------------------------------


class KernelArray:
    """A private or tile_static array; accesses to private ones (without a shadow) are not checked for races."""

    __slots__ = ("atomic", "mem", "read", "shadow", "type", "unit", "write")

    def __init__(self, kind: Array, shadow: Shadow | None = None, unit: int = 4) -> None:
        self.type = kind
        self.shadow = shadow
        self.unit = unit
        self.mem: list[Any] = [None] * words_of(kind, unit)
        self.read = shadow.read if shadow is not None else _unjudged
        self.write = shadow.write if shadow is not None else _unjudged
        self.atomic = shadow.atomic if shadow is not None else _unjudged

    # The text for a debugger; `?` means not written.

    def __repr__(self) -> str:
        return text_at(self.type, self.mem, 0, self.unit)

    def __getitem__(self, index: int | tuple[int, ...]) -> Any:
        numbers = index if isinstance(index, tuple) else (int(index),)
        if len(numbers) != len(self.type.shape):
            raise IndexError(f"{len(self.type.shape)} indices are needed")
        word = 0
        for i, n in zip(numbers, self.type.shape, strict=True):
            if not 0 <= i < n:
                raise IndexError(f"{i} is outside 0 to {n - 1}")
            word = word * n + i
        words = words_of(self.type.element, self.unit)
        part = self.mem[word * words : word * words + words]
        return part[0] if isinstance(self.type.element, Scalar) else part

    def forget(self) -> None:
        """A new tile begins."""
        self.mem = [None] * len(self.mem)

    def load_struct(self, thread: Thread, site: int, word: int, layout: Layout, words: int) -> list[Any]:
        """A copy of a struct; members that were not written stay unwritten."""
        if word is NOWHERE:
            return nothing(layout, words)
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
    """Bytes at an address, for numpy; keeps their owners alive."""

    def __init__(self, address: int, nbytes: int, owners: tuple[NDArray[Any], ...]) -> None:
        self.owners = owners
        self.__array_interface__ = {
            "data": (address, False),
            "shape": (nbytes,),
            "typestr": np.dtype(np.uint8).str,
            "version": 3,
        }


class _Scalars:
    """The scalars of a region that are larger than its words, by their first words."""

    __slots__ = ("codec", "made", "raw", "unit")

    def __init__(self, raw: NDArray[Any], unit: int, code: str, made: Any) -> None:
        self.raw = raw.data
        self.unit = unit
        self.codec = struct.Struct(f"={code}")
        self.made = made

    def __getitem__(self, word: int) -> Any:
        (value,) = self.codec.unpack_from(self.raw, word * self.unit)
        return value if self.made is None else self.made(value)

    def __setitem__(self, word: int, value: Any) -> None:
        self.codec.pack_into(self.raw, word * self.unit, value)


class _ScalarsOfNumpy:
    """The same for a type that only numpy has."""

    __slots__ = ("dtype", "raw", "unit")

    def __init__(self, raw: NDArray[Any], unit: int, dtype: np.dtype[Any]) -> None:
        self.raw = raw
        self.unit = unit
        self.dtype = dtype

    def _at(self, word: int) -> NDArray[Any]:
        start = word * self.unit
        return self.raw[start : start + self.dtype.itemsize].view(self.dtype)

    def __getitem__(self, word: int) -> Any:
        return self._at(word)[0]

    def __setitem__(self, word: int, value: Any) -> None:
        self._at(word)[0] = value


class MemoryRegion:
    """A range of numpy memory that buffers are in, as arrays of words of each type."""

    def __init__(self, low: int, high: int, owners: tuple[NDArray[Any], ...], unit: int = 4) -> None:
        self.low = low
        self.high = high
        self.unit = unit
        self.words = (high - low) // unit
        self._raw = np.asarray(_Memory(low, high - low, owners)) if self.words else np.zeros(0, np.uint8)
        self._typed: dict[str, Any] = {}

    def typed(self, letter: str) -> Any:
        """The memory as scalars of a type, by their first words."""
        found = self._typed.get(letter)
        if found is None:
            found = self._typed[letter] = self._as(*_STORED[letter])
        return found

    def _as(self, kind: Scalar, code: str) -> Any:
        made = kind.dtype.type if kind.kind == "float" else None
        if kind.size != self.unit:
            if not code:
                return _ScalarsOfNumpy(self._raw, self.unit, kind.dtype)
            return _Scalars(self._raw, self.unit, code, made)
        # numpy returns numpy's floats, and a memoryview returns Python's integers; the generated code computes with
        # these.
        return self._raw.view(made) if made is not None else self._raw.view(np.dtype(code)).data


class BufferMemory:
    """A captured container as a part of a region."""

    def __init__(
        self,
        region: MemoryRegion,
        layout: BufferLayout,
        judge: FaultReporter,
        shadow: Shadow | None,
        array: NDArray[Any],
    ) -> None:
        self.unit = region.unit
        words = array.itemsize // self.unit
        self.array = array
        spans = [s * (n - 1) for s, n in zip(layout.strides, layout.shape, strict=True)]
        self.low = layout.offset + sum(min(s, 0) for s in spans)
        self.high = layout.offset + sum(max(s, 0) for s in spans) + words
        self.typed: Callable[[str], Any] = region.typed
        self.layout = layout
        self.judge = judge
        self.read = shadow.read if shadow is not None else _unjudged
        self.write = shadow.write if shadow is not None else _unjudged
        self.atomic = shadow.atomic if shadow is not None else _unjudged

    # The text for a debugger.

    def __repr__(self) -> str:
        return repr(self.array)

    def __getitem__(self, index: Any) -> Any:
        return self.array[index.global_ if isinstance(index, Thread) else index]

    def inside(self, thread: Thread, site: int, word: int, words: int) -> int:
        """The address of ``words`` words, after a check that they are in the container."""
        if not (self.low <= word and word + words <= self.high):
            return self.judge.outside(thread, site)
        return word

    def load_struct(self, thread: Thread, site: int, word: int, layout: Layout, words: int) -> list[Any]:
        """A copy of a struct."""
        value: list[Any] = [None] * words
        for offset, letter in layout:
            value[offset] = self.typed(letter)[self._each(self.read, thread, site, word + offset, letter)]
        return value

    def store_struct(self, thread: Thread, site: int, word: int, layout: Layout, value: list[Any]) -> None:
        """Stores every member; padding does not change."""
        for offset, letter in layout:
            part = value[offset]
            if part is None:
                self.judge.unset(thread, site, word + offset)
                part = ZEROS[letter]
            self.typed(letter)[self._each(self.write, thread, site, word + offset, letter)] = part

    def load_vector(self, thread: Thread, site: int, word: int, layout: Layout) -> list[Any]:
        """Components of a short vector."""
        return [
            self.typed(letter)[self._each(self.read, thread, site, word + offset, letter)] for offset, letter in layout
        ]

    def store_vector(self, thread: Thread, site: int, word: int, layout: Layout, value: list[Any]) -> None:
        """Stores components of a short vector."""
        for (offset, letter), part in zip(layout, value, strict=True):
            self.typed(letter)[self._each(self.write, thread, site, word + offset, letter)] = part

    def _each(self, judge: Callable[[Thread, int, int], int], thread: Thread, site: int, word: int, letter: str) -> int:
        """The first word of a scalar, all of whose words are checked."""
        for more in range(1, _STORED[letter][0].size // self.unit):
            judge(thread, site, word + more)
        return judge(thread, site, word)


def _check(
    kernel: Kernel, buffers: Mapping[str, NDArray[Any]], written: frozenset[str], used: frozenset[str], unit: int
) -> None:
    """Rejects arrays that do not match what the kernel was compiled for."""
    for param in kernel.buffers:
        array = buffers.get(param.name)
        if array is None:
            raise AmpError(f"no array is given for {param.name}")
        if array.dtype != param.element.dtype:
            raise AmpError(f"{param.name} has {array.dtype} elements, the kernel expects {param.element.dtype}")
        if array.ndim != param.rank:
            raise AmpError(f"{param.name} has rank {array.ndim}, the kernel expects {param.rank}")
        if param.name in written and not array.flags.writeable:
            raise AmpError(f"{param.name} is a read-only array, and the kernel writes it")
        if param.name not in used:
            # Its elements may be smaller than the words that the kernel's addresses count.
            continue
        words_of(param.element, unit)
        address = array.__array_interface__["data"][0]
        if any(v % unit for v in (address, *array.strides)):
            raise AmpError(f"{param.name} is not aligned to {unit} bytes")


def _span(array: NDArray[Any]) -> tuple[int, int]:
    """The addresses of the first byte and after the last byte."""
    low = high = array.__array_interface__["data"][0]
    if array.size == 0:
        return low, low
    for size, stride in zip(array.shape, array.strides, strict=True):
        low, high = low + min(0, stride * (size - 1)), high + max(0, stride * (size - 1))
    return low, high + array.itemsize


def _regions(buffers: Iterable[NDArray[Any]], unit: int) -> list[MemoryRegion]:
    """The merged ranges of memory of all buffers."""
    spans = sorted(((*_span(a), a) for a in buffers), key=lambda s: s[:2])
    merged: list[tuple[int, int, list[NDArray[Any]]]] = []
    for low, high, array in spans:
        if merged and low < merged[-1][1]:
            start, end, owners = merged[-1]
            merged[-1] = (start, max(end, high), [*owners, array])
        elif high > low:
            merged.append((low, high, [array]))
    return [MemoryRegion(low, high, tuple(owners), unit) for low, high, owners in merged]


def bind(
    kernel: Kernel,
    buffers: Mapping[str, NDArray[Any]],
    written: frozenset[str],
    judge: FaultReporter,
    kind: type[BufferMemory],
    shadow: Callable[[MemoryRegion], Shadow] | None,
) -> tuple[dict[str, BufferMemory], list[Shadow]]:
    """Returns the buffers by name, each of class ``kind``, and the shadows that ``shadow`` creates for their regions.
    ``written`` contains the names of the buffers that the kernel stores to; memory that it only reads needs no shadow.
    """
    unit = judge.unit
    used = frozenset(name for name, _ in typed_access(kernel))
    _check(kernel, buffers, written, used, unit)
    arrays = {p.name: buffers[p.name] for p in kernel.buffers}
    regions = _regions([array for name, array in arrays.items() if name in used], unit)
    empty = MemoryRegion(0, 0, (), unit)
    home: dict[str, MemoryRegion] = {}
    for name, array in arrays.items():
        low, high = _span(array)
        around = (r for r in regions if name in used and high > low and r.low <= low < r.high)
        home[name] = next(around, empty)
    shadows: dict[int, Shadow] = {}
    if shadow is not None:
        for region in {id(home[name]): home[name] for name in sorted(written)}.values():
            shadows[id(region)] = shadow(region)
    bound = {}
    for name, array in arrays.items():
        region = home[name]
        offset = (array.__array_interface__["data"][0] - region.low) // unit
        layout = BufferLayout(offset, tuple(s // unit for s in array.strides), array.shape)
        judge.buffers[name] = layout
        bound[name] = kind(region, layout, judge, shadows.get(id(region)), array)
    return bound, list(shadows.values())
