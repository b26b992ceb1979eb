"""What the reference accelerator finds wrong in a running kernel: places, threads, and the judge.

Every finding is raised as a :class:`~vkamp.errors.CheckError` (a race: a :class:`~vkamp.errors.RaceError`).

C++ AMP's model: docs/conformance.md, sections 3, 10 and 12.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from vkamp import findings
from vkamp.errors import Span
from vkamp.findings import AccessKind, ThreadAt, element_text, locate, member_text, unravel
from vkamp.ir.nodes import Kernel
from vkamp.ir.types import Array, Type

__all__ = ["BufferLayout", "Grid", "Judge", "Site", "Thread"]


@dataclass(frozen=True)
class Site:
    """A place in the kernel that can fail: an access of ``variable``, or anything else.

    ``type`` is what the whole variable is: the array, the struct, or the element of a buffer.  ``view_rank``: the rank
    of a view of ``variable`` that the kernel made.
    """

    span: Span
    variable: str = ""
    access: AccessKind = "read"
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


class BufferLayout:
    """Where a buffer's elements lie: ``offset`` and ``strides`` in 32-bit words of its region."""

    def __init__(self, offset: int, strides: tuple[int, ...], shape: tuple[int, ...]) -> None:
        self.offset = offset
        self.strides = strides
        self.shape = shape

    def locate(self, word: int, size: int) -> tuple[tuple[int, ...], int] | None:
        """Index and remaining words of an address; ``None`` where strides overlap too much."""
        return locate(word - self.offset, self.strides, self.shape, size)


class Judge:
    """Raises every finding of one launch."""

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
            return element_text(site.variable, index) + member_text(kind, rest), index
        if isinstance(kind, Array):
            number, rest = divmod(word, kind.element.size // 4)
            index = unravel(number, kind.shape)
            return element_text(site.variable, index) + member_text(kind.element, rest), index
        return site.variable + member_text(kind, word), ()

    def _at(self, thread: Thread) -> ThreadAt:
        return self.grid.thread(thread.number)

    # -- called by the generated code

    def index(self, thread: Thread, number: int, dim: int, value: int, extent: int) -> NoReturn:
        """An index outside ``0 <= value < extent``."""
        site = self.sites[number]
        many = site.view_rank > 1 or (isinstance(site.type, Array) and len(site.type.shape) > 1)
        if site.is_buffer:
            many = len(self.buffers[site.variable].shape) > 1
        what = f"a view of {site.variable}" if site.view_rank else ""
        found = findings.bounds(site.variable, value, extent, dim if many else None, self._at(thread), site.span, what)
        raise findings.error_of([found])

    def outside(self, thread: Thread, number: int) -> NoReturn:
        """A view that the kernel made reaches beyond its container."""
        site = self.sites[number]
        raise findings.error_of([findings.view_bounds(site.variable, self._at(thread), site.span)])

    def unset(self, thread: Thread, number: int, word: int) -> NoReturn:
        """A read of memory that nothing wrote."""
        site = self.sites[number]
        text, index = self.element(site, word)
        raise findings.error_of([findings.uninitialised(site.variable, text, index, self._at(thread), site.span)])

    def unassigned(self, thread: Thread, site: Site) -> NoReturn:
        """A read of a local variable that has no value yet."""
        raise findings.error_of([findings.unassigned(site.variable, self._at(thread), site.span)])

    def division(self, thread: Thread, number: int) -> NoReturn:
        """An integer division by zero."""
        raise findings.error_of([findings.division(self._at(thread), self.sites[number].span)])

    def shift(self, thread: Thread, number: int, count: int) -> NoReturn:
        """A shift by a negative count, or by one not below the number of bits."""
        raise findings.error_of([findings.shift(count, self._at(thread), self.sites[number].span)])

    def conversion(self, thread: Thread, number: int, value: Any, target: str) -> NoReturn:
        """A float that the integer type cannot hold."""
        raise findings.error_of([findings.conversion(value, target, self._at(thread), self.sites[number].span)])

    def claim(self, thread: Thread, number: int) -> NoReturn:
        """An assertion that does not hold."""
        site = self.sites[number]
        raise findings.error_of([findings.failed_assert(site.text, self._at(thread), site.span)])

    def differs(self, first: tuple[int, object], second: tuple[int, object], number: int) -> NoReturn:
        """A claim of uniformity for which two threads (number, value) have different values."""
        one, other = ((self.grid.thread(thread), value) for thread, value in (first, second))
        raise findings.error_of([findings.claim(one, other, self.sites[number].span)])

    def fell(self, thread: Thread, number: int) -> NoReturn:
        """A device function that ended without a result."""
        site = self.sites[number]
        raise findings.error_of([findings.ended_without_result(site.text, self._at(thread), site.span)])

    # -- called by the scheduler and the shadow memory

    def divergence(self, waiting: tuple[int, int], other: tuple[int, int | None]) -> NoReturn:
        """Threads (number, site): one waits, the other waits elsewhere or has ended (``None``)."""
        first, second = self.grid.thread(waiting[0]), self.grid.thread(other[0])
        span = self.sites[waiting[1]].span
        if other[1] is None:
            raise findings.error_of([findings.missed_barrier(first, second, span)])
        raise findings.error_of([findings.different_barriers((first, span), (second, self.sites[other[1]].span))])

    def race(self, word: int, earlier: int, thread: Thread, number: int) -> NoReturn:
        """The access of ``thread`` at site ``number`` conflicts with the one coded ``earlier``."""
        other_thread, other_number = divmod(earlier, len(self.sites))
        here, there = self.sites[number], self.sites[other_number]
        (name, index), (other_name, _) = self.element(here, word), self.element(there, word)
        found = findings.race(
            here.variable,
            index,
            (self._at(thread), here.access, name, here.span),
            (self.grid.thread(other_thread), there.access, other_name, there.span),
            space="global" if here.is_buffer else "tile_static",
        )
        raise findings.error_of([found])
