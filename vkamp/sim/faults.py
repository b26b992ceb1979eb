"""What the reference accelerator finds wrong in a running kernel, and how it says so.

Every finding is an :class:`~vkamp.errors.AmpError` (a race: a :class:`~vkamp.errors.RaceError`)
whose ``error_code`` is its kind and whose ``fault`` holds the same facts as data.

C++ AMP's model: docs/conformance.md, sections 3, 10 and 12.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from vkamp.errors import AmpError, Note, RaceError, Span, render
from vkamp.ir.nodes import Kernel
from vkamp.ir.types import Array, Struct, Type, Vector

__all__ = [
    "Access",
    "Fault",
    "Grid",
    "Judge",
    "KernelError",
    "KernelRaceError",
    "Site",
    "Thread",
    "ThreadAt",
    "unravel",
]

Kind = Literal["race", "bounds", "divergence", "uninitialised", "division", "assert", "shift", "conversion"]
Access = Literal["read", "write", "atomic"]

_DONE = {"read": "reads", "write": "writes", "atomic": "updates atomically"}


@dataclass(frozen=True)
class ThreadAt:
    """A thread by its indices; ``tile`` and ``local`` are ``None`` in an untiled kernel."""

    global_: tuple[int, ...]
    tile: tuple[int, ...] | None
    local: tuple[int, ...] | None

    def __str__(self) -> str:
        if self.tile is None or self.local is None:
            return f"thread {_tuple(self.global_)}"
        return f"thread {_tuple(self.global_)} (tile {_tuple(self.tile)}, local {_tuple(self.local)})"


@dataclass(frozen=True)
class Fault:
    """A finding: the variable's Python name, the element's index, threads, places of access."""

    kind: Kind
    variable: str
    index: tuple[int, ...]
    threads: tuple[ThreadAt, ...]
    spans: tuple[Span, ...]


class KernelError(AmpError):
    """A kernel did what no device defines; ``fault`` says what, ``error_code`` is its kind."""

    def __init__(self, message: str, fault: Fault) -> None:
        super().__init__(message, error_code=fault.kind)
        self.fault = fault


class KernelRaceError(RaceError):
    """Two unordered accesses, one of them a plain write; ``fault`` says which."""

    def __init__(self, message: str, fault: Fault) -> None:
        super().__init__(message, error_code=fault.kind)
        self.fault = fault


@dataclass(frozen=True)
class Site:
    """A place in the kernel that can fail: an access of ``variable``, or anything else.

    ``type`` is what the whole variable is: the array, the struct, or the element of a buffer.  ``view_rank``: the rank
    of a view that the kernel made, where ``variable`` describes one.
    """

    span: Span
    variable: str = ""
    access: Access = "read"
    type: Type | None = None
    is_buffer: bool = False
    text: str = ""
    view_rank: int = 0


class Thread:
    """The running thread as the generated code sees it.

    ``number`` counts through the whole launch; ``base + site`` identifies an access.  ``fences``
    are the ticks at which the thread passed fences that do not wait: for global, for tile_static
    memory.
    """

    __slots__ = ("base", "fences", "global_", "local", "number", "origin", "tile", "tile_number")

    def __init__(self) -> None:
        self.number = 0
        self.base = 0
        self.tile_number = 0
        self.global_: tuple[int, ...] = ()
        self.local: tuple[int, ...] = ()
        self.tile: tuple[int, ...] = ()
        self.origin: tuple[int, ...] = ()
        self.fences: tuple[list[int], list[int]] = ([], [])


class Grid:
    """The threads of a launch, numbered tile after tile, each in row-major order."""

    def __init__(self, domain: tuple[int, ...], tile: tuple[int, ...] | None) -> None:
        self.domain = domain
        self.tile = tile
        self.tiled = tile is not None
        self.threads = math.prod(tile) if tile is not None else 1
        self.tiles = tuple(d // t for d, t in zip(domain, tile, strict=True)) if tile else domain
        self.count = math.prod(self.tiles)

    def thread(self, number: int) -> ThreadAt:
        """The indices of a thread."""
        if self.tile is None:
            return ThreadAt(unravel(number, self.domain), None, None)
        tile = unravel(number // self.threads, self.tiles)
        local = unravel(number % self.threads, self.tile)
        place = tuple(t * n + i for t, n, i in zip(tile, self.tile, local, strict=True))
        return ThreadAt(place, tile, local)


def unravel(number: int, shape: Sequence[int]) -> tuple[int, ...]:
    """The row-major index of element ``number``."""
    index = []
    for size in reversed(shape):
        number, component = divmod(number, size)
        index.append(component)
    return tuple(reversed(index))


def _tuple(index: Sequence[int]) -> str:
    return f"({', '.join(map(str, index))})"


def _element(name: str, index: Sequence[int]) -> str:
    return f"{name}[{', '.join(map(str, index))}]" if index else name


def _member(kind: Type, word: int) -> str:
    """The path from a value to its scalar at a word offset: ``.velocity[2]``."""
    if isinstance(kind, Struct):
        for field in reversed(kind.fields):
            if field.offset <= 4 * word:
                return f".{field.name}{_member(field.type, word - field.offset // 4)}"
    if isinstance(kind, Vector):
        return f".{kind.letters[word]}"
    if isinstance(kind, Array):
        number, rest = divmod(word, kind.element.size // 4)
        return _element("", unravel(number, kind.shape)) + _member(kind.element, rest)
    return ""


class BufferLayout:
    """Where a buffer's elements lie: ``offset`` and ``strides`` in 32-bit words of its region."""

    def __init__(self, offset: int, strides: tuple[int, ...], shape: tuple[int, ...]) -> None:
        self.offset = offset
        self.strides = strides
        self.shape = shape

    def locate(self, word: int, size: int) -> tuple[tuple[int, ...], int] | None:
        """Index and remaining words of an address; ``None`` where strides overlap too much."""
        low = [s * (n - 1) if s < 0 else 0 for s, n in zip(self.strides, self.shape, strict=True)]
        rest = word - self.offset - sum(low)
        index = [0] * len(self.shape)
        for dim in sorted(range(len(index)), key=lambda d: -abs(self.strides[d])):
            stride = abs(self.strides[dim])
            if stride:
                index[dim] = min(rest // stride, self.shape[dim] - 1)
                rest -= index[dim] * stride
            if self.strides[dim] < 0:
                index[dim] = self.shape[dim] - 1 - index[dim]
        return (tuple(index), rest) if 0 <= rest < size else None


class Judge:
    """Words and raises every finding of one launch."""

    def __init__(self, kernel: Kernel, grid: Grid, sites: Sequence[Site]) -> None:
        self.kernel = kernel
        self.grid = grid
        self.sites = sites
        self.buffers: dict[str, BufferLayout] = {}

    # -- helpers

    def element(self, site: Site, word: int) -> tuple[str, tuple[int, ...]]:
        """Text and index of the element that an access at ``word`` touches."""
        kind = site.type
        if kind is None:
            return site.variable, ()
        if site.is_buffer:
            found = self.buffers[site.variable].locate(word, kind.size // 4)
            if found is None:
                return f"an element of {site.variable}", ()
            index, rest = found
            return _element(site.variable, index) + _member(kind, rest), index
        if isinstance(kind, Array):
            number, rest = divmod(word, kind.element.size // 4)
            index = unravel(number, kind.shape)
            return _element(site.variable, index) + _member(kind.element, rest), index
        return site.variable + _member(kind, word), ()

    def _fail(
        self,
        kind: Kind,
        thread: Thread,
        site: Site,
        text: str,
        help_text: str = "",
        *,
        index: tuple[int, ...] = (),
    ) -> NoReturn:
        at = self.grid.thread(thread.number)
        message = render(f"{text}, in {at}", site.span, help_text=help_text)
        raise KernelError(message, Fault(kind, site.variable, index, (at,), (site.span,)))

    # -- called by the generated code

    def index(self, thread: Thread, number: int, dim: int, value: int, extent: int) -> NoReturn:
        """An index outside ``0 <= value < extent``."""
        site = self.sites[number]
        many = site.view_rank > 1 or (isinstance(site.type, Array) and len(site.type.shape) > 1)
        if site.is_buffer:
            many = len(self.buffers[site.variable].shape) > 1
        where = f" in dimension {dim}" if many else ""
        text = f"index {value}{where} of {site.variable} is out of bounds (extent {extent})"
        self._fail("bounds", thread, site, text, index=(value,))

    def outside(self, thread: Thread, number: int) -> NoReturn:
        """A view that the kernel made reaches beyond its container."""
        site = self.sites[number]
        self._fail("bounds", thread, site, f"a view of {site.variable} reaches beyond its memory")

    def unset(self, thread: Thread, number: int, word: int) -> NoReturn:
        """A read of memory that nothing wrote."""
        site = self.sites[number]
        text, index = self.element(site, word)
        self._fail("uninitialised", thread, site, f"{text} is read before it is written", index=index)

    def unassigned(self, thread: Thread, site: Site) -> NoReturn:
        """A read of a local variable that has no value yet."""
        self._fail("uninitialised", thread, site, f"{site.variable} is read before it is assigned")

    def division(self, thread: Thread, number: int) -> NoReturn:
        """An integer division by zero."""
        self._fail("division", thread, self.sites[number], "integer division by zero")

    def shift(self, thread: Thread, number: int, count: int) -> NoReturn:
        """A shift by a negative count, or by one not below the number of bits."""
        text = f"shift by {count}: the count must be from 0 to 31"
        self._fail("shift", thread, self.sites[number], text)

    def conversion(self, thread: Thread, number: int, value: Any, target: str) -> NoReturn:
        """A float that the integer type cannot hold."""
        text = f"undefined conversion: {value!s} has no value in {target}"
        self._fail("conversion", thread, self.sites[number], text)

    def claim(self, thread: Thread, number: int) -> NoReturn:
        """An assertion that does not hold."""
        site = self.sites[number]
        text = f"assertion failed: {site.text}" if site.text else "assertion failed"
        self._fail("assert", thread, site, text)

    def fell(self, thread: Thread, number: int) -> NoReturn:
        """A device function that ended without a result."""
        site = self.sites[number]
        self._fail("uninitialised", thread, site, f"{site.text} ends without returning its result")

    # -- called by the scheduler and the shadow memory

    def divergence(self, waiting: tuple[int, int], other: tuple[int, int | None]) -> NoReturn:
        """Threads (number, site): one waits, the other waits elsewhere or has ended (``None``)."""
        first, second = self.grid.thread(waiting[0]), self.grid.thread(other[0])
        span = self.sites[waiting[1]].span
        spans: tuple[Span, ...] = (span,)
        if other[1] is None:
            text = f"not all threads of the tile reach this barrier: {first} waits, {second} has ended"
            notes: tuple[Note, ...] = ()
        else:
            text = f"the threads of the tile wait at different barriers: here {first}"
            spans = (span, self.sites[other[1]].span)
            notes = (Note(spans[1], f"here {second}"),)
        message = render(text, span, notes, "let every thread of the tile reach the same barrier")
        raise KernelError(message, Fault("divergence", "", (), (first, second), spans))

    def race(self, word: int, earlier: int, thread: Thread, number: int) -> NoReturn:
        """The access of ``thread`` at site ``number`` conflicts with the one coded ``earlier``."""
        other_thread, other_number = divmod(earlier, len(self.sites))
        here, there = self.sites[number], self.sites[other_number]
        first, second = self.grid.thread(other_thread), self.grid.thread(thread.number)
        (name, index), (other_name, _) = self.element(here, word), self.element(there, word)
        same_tile = first.tile is not None and first.tile == second.tile
        text = f"race on {name}: {second} {_DONE[here.access]} it, {first} {_DONE[there.access]} it"
        text += ", and nothing orders the two" if same_tile else ", and nothing orders two tiles"
        if first.tile is None:
            text = text.removesuffix("tiles") + "threads"
        also = f", as {other_name}" if other_name != name else ""
        notes = (Note(there.span, f"the other access, by {first}{also}"),)
        if same_tile:
            space = "global" if here.is_buffer else "tile_static"
            help_text = f"put a barrier whose fence orders {space} memory between them, or use atomics"
        else:
            help_text = "let each element have one writer, or use atomics"
        fault = Fault("race", here.variable, index, (second, first), (here.span, there.span))
        raise KernelRaceError(render(text, here.span, notes, help_text), fault)
