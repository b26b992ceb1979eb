"""The faults that the reference accelerator finds in a running kernel: their places and threads, and the reporter. The
first finding is raised as a :class:`~vkamp.errors.CheckError` (a race: a :class:`~vkamp.errors.RaceError`), or all are
collected and the run continues with safe values.

C++ AMP's model: docs/conformance.md, sections 3, 10 and 12.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from vkamp import findings
from vkamp.errors import Span
from vkamp.findings import AccessKind, Finding, ThreadAt, element_text, locate, member_text, unravel
from vkamp.ir.nodes import Kernel
from vkamp.ir.types import BOOL, Array, Scalar, Type, Vector


class Nowhere(int):
    """The index or word address of an access out of bounds; adding to it does not change it."""

    def _same(self, other: object) -> Nowhere:
        return self

    __add__ = __radd__ = __mul__ = __rmul__ = _same

    def __bool__(self) -> bool:
        return False


NOWHERE = Nowhere(-1)


@dataclass(frozen=True)
class Site:
    """A place in the kernel that can fail: an access of ``variable``, or another operation. ``type`` is the type of the
    whole variable: the array, the struct, or the element of a buffer. ``view_rank``: the rank of a view of ``variable``
    that the kernel made. ``value``: the type of the value that is read.
    """

    span: Span
    variable: str = ""
    access: AccessKind = "read"
    type: Type | None = None
    is_buffer: bool = False
    text: str = ""
    view_rank: int = 0
    value: Type | None = None


class Thread:
    """The running thread as the generated code sees it.

    ``number`` counts through the whole launch; ``base + site`` identifies an access.  ``fences``
    are the ticks at which the thread passed fences that do not wait: for global, for tile_static
    memory.  ``given`` and ``got``: the arguments and the result of the subgroup function that the thread has reached.
    """

    __slots__ = (
        "base", "fences", "given", "global_", "got", "lane", "local", "number", "origin", "subgroup", "tile",
        "tile_number",
    )  # fmt: skip

    def __init__(self) -> None:
        self.number = 0
        self.base = 0
        self.tile_number = 0
        self.global_: tuple[int, ...] = ()
        self.local: tuple[int, ...] = ()
        self.tile: tuple[int, ...] = ()
        self.origin: tuple[int, ...] = ()
        self.fences: tuple[list[int], list[int]] = ([], [])
        self.subgroup = 0
        self.lane = 0
        self.given: tuple[Any, ...] = ()
        self.got: Any = None

    # How a debugger shows the kernel's first parameter.

    @property
    def tile_origin(self) -> tuple[int, ...]:
        """The global index of the tile's first thread."""
        return self.origin

    def __getitem__(self, dim: int) -> int:
        return self.global_[dim]

    def __repr__(self) -> str:
        return str(ThreadAt(self.global_, self.tile or None, self.local or None))


class Grid:
    """The threads of a launch, numbered tile after tile, each in row-major order."""

    def __init__(self, domain: tuple[int, ...], tile: tuple[int, ...] | None) -> None:
        self.domain = domain
        self.tile = tile
        self.tiled = tile is not None
        self.threads = math.prod(tile) if tile is not None else 1
        self.tiles = tuple(d // t for d, t in zip(domain, tile, strict=True)) if tile else domain
        self.count = math.prod(self.tiles)

    def number(self, index: tuple[int, ...]) -> int:
        """The number of the thread at a global index."""
        if self.tile is None:
            return _ravel(index, self.domain)
        tile = _ravel([i // t for i, t in zip(index, self.tile, strict=True)], self.tiles)
        return tile * self.threads + _ravel([i % t for i, t in zip(index, self.tile, strict=True)], self.tile)

    def thread(self, number: int) -> ThreadAt:
        """The indices of a thread."""
        if self.tile is None:
            return ThreadAt(unravel(number, self.domain), None, None)
        tile = unravel(number // self.threads, self.tiles)
        local = unravel(number % self.threads, self.tile)
        place = tuple(t * n + i for t, n, i in zip(tile, self.tile, local, strict=True))
        return ThreadAt(place, tile, local)


def _ravel(index: Sequence[int], shape: Sequence[int]) -> int:
    number = 0
    for i, n in zip(index, shape, strict=True):
        number = number * n + i
    return number


class BufferLayout:
    """Where a buffer's elements are: ``offset`` and ``strides`` in words of its region."""

    def __init__(self, offset: int, strides: tuple[int, ...], shape: tuple[int, ...]) -> None:
        self.offset = offset
        self.strides = strides
        self.shape = shape

    def locate(self, word: int, size: int) -> tuple[tuple[int, ...], int] | None:
        """Index and remaining words of an address; ``None`` where strides overlap too much."""
        return locate(word - self.offset, self.strides, self.shape, size)


class FaultReporter:
    """Formulates every finding of one launch, and raises it or passes it to ``collect``. If ``collect`` continues, the
    result of each method is the value with which the generated code continues.
    """

    def __init__(
        self,
        kernel: Kernel,
        grid: Grid,
        sites: Sequence[Site],
        collect: Callable[[Finding], None] | None = None,
        unit: int = 4,
    ) -> None:
        self.kernel = kernel
        #: Bytes of a word of memory.
        self.unit = unit
        self.grid = grid
        self.sites = sites
        self.collect = collect
        self.buffers: dict[str, BufferLayout] = {}
        self._known: set[tuple[object, ...]] = set()
        #: Reads of tile_static memory that has not been written yet, by site and word: the thread and the array.
        self.unset_reads: dict[tuple[int, int], tuple[int, Any]] = {}

    # -- helpers

    def element(self, site: Site, word: int) -> tuple[str, tuple[int, ...]]:
        """Text and index of the element that an access at ``word`` touches."""
        kind = site.type
        if kind is None:
            return site.variable, ()
        if site.is_buffer:
            found = self.buffers[site.variable].locate(word, kind.size // self.unit)
            if found is None:
                return f"an element of {site.variable}", ()
            index, rest = found
            return element_text(site.variable, index) + member_text(kind, rest, self.unit), index
        if isinstance(kind, Array):
            number, rest = divmod(word, kind.element.size // self.unit)
            index = unravel(number, kind.shape)
            return element_text(site.variable, index) + member_text(kind.element, rest, self.unit), index
        return site.variable + member_text(kind, word, self.unit), ()

    def _at(self, thread: Thread) -> ThreadAt:
        return self.grid.thread(thread.number)

    def _is_new(self, *key: object) -> bool:
        """Whether a finding is new; a run that continues finds the same ones repeatedly."""
        if key in self._known:
            return False
        self._known.add(key)
        return True

    def _found(self, finding: Finding) -> None:
        if self.collect is None:
            raise findings.error_of([finding])
        self.collect(finding)

    # -- called by the generated code; a run that collects goes on with what they return

    def index(self, thread: Thread, number: int, dim: int, value: int, extent: int) -> int:
        """An index outside ``0 <= value < extent``."""
        site = self.sites[number]
        if value is not NOWHERE and self._is_new("index", number):
            many = site.view_rank > 1 or (isinstance(site.type, Array) and len(site.type.shape) > 1)
            if site.is_buffer:
                many = len(self.buffers[site.variable].shape) > 1
            what = f"a view of {site.variable}" if site.view_rank else ""
            where = dim if many else None
            self._found(findings.bounds(site.variable, value, extent, where, self._at(thread), site.span, what))
        return NOWHERE

    def outside(self, thread: Thread, number: int) -> int:
        """A view created in the kernel exceeds its container."""
        site = self.sites[number]
        if self._is_new("outside", number):
            self._found(findings.view_bounds(site.variable, self._at(thread), site.span))
        return NOWHERE

    def unset(self, thread: Thread, number: int, word: int, array: Any = None) -> Any:
        """A read of memory that was not written; ``array``: the array that contains it, if any."""
        site = self.sites[number]
        if word is not NOWHERE:
            if self.collect is not None and array is not None and array.shadow is not None:
                # Another thread may still store to it before the next barrier; then the race is reported.
                self.unset_reads.setdefault((number, word), (thread.number, array))
            elif self._is_new("unset", number):
                self._unset(thread.number, site, word)
        return _zero(site.value)

    def end_of_interval(self) -> None:
        """The threads of the tile have reached a barrier, or ended."""
        for (number, word), (thread, array) in self.unset_reads.items():
            if not array.shadow.written_by_others(word, thread) and self._is_new("unset", number):
                self._unset(thread, self.sites[number], word)
        self.unset_reads.clear()

    def _unset(self, thread: int, site: Site, word: int) -> None:
        text, index = self.element(site, word)
        self._found(findings.uninitialised(site.variable, text, index, self.grid.thread(thread), site.span))

    def unassigned(self, thread: Thread, site: Site) -> None:
        """A read of a local variable that has no value yet."""
        self._found(findings.unassigned(site.variable, self._at(thread), site.span))

    def division(self, thread: Thread, number: int) -> int:
        """An integer division by zero."""
        if self._is_new("division", number):
            self._found(findings.division(self._at(thread), self.sites[number].span))
        return 0

    def shift(self, thread: Thread, number: int, count: int) -> int:
        """A shift by a negative count, or by at least the number of bits."""
        if self._is_new("shift", number):
            self._found(findings.shift(count, self._at(thread), self.sites[number].span))
        return 0

    def conversion(self, thread: Thread, number: int, value: Any, target: str) -> int:
        """A float that the integer type cannot hold."""
        if self._is_new("conversion", number):
            self._found(findings.conversion(value, target, self._at(thread), self.sites[number].span))
        return 0

    def assertion_failed(self, thread: Thread, number: int) -> None:
        """A failed assertion."""
        site = self.sites[number]
        if self._is_new("assert", number):
            self._found(findings.failed_assert(site.text, self._at(thread), site.span))

    def differs(self, first: tuple[int, object], second: tuple[int, object], number: int) -> None:
        """An ``amp.uniform`` for which two threads (number, value) have different values."""
        if self._is_new("differs", number):
            one, other = ((self.grid.thread(thread), value) for thread, value in (first, second))
            self._found(findings.not_uniform(one, other, self.sites[number].span))

    def fell(self, thread: Thread, number: int) -> None:
        """A device function that ended without a result."""
        site = self.sites[number]
        if self._is_new("fell", number):
            self._found(findings.ended_without_result(site.text, self._at(thread), site.span))

    def lane(self, thread: Thread, number: int, lane: int, count: int) -> Any:
        """The value of a lane without one of the subgroup's ``count`` threads."""
        site = self.sites[number]
        if self._is_new("lane", number):
            self._found(findings.lane(site.text, lane, count, self._at(thread), site.span))
        return _zero(site.value)

    # -- called by the scheduler and the shadow memory

    def missed_meeting(self, waiting: tuple[int, int], other: int) -> None:
        """A thread (number, site) has reached a subgroup function, and another thread of its subgroup has not."""
        site = self.sites[waiting[1]]
        if self._is_new("missed meeting", waiting[1]):
            first, second = self.grid.thread(waiting[0]), self.grid.thread(other)
            self._found(findings.missed_subgroup(site.text, first, second, site.span))

    def divergence(self, waiting: tuple[int, int], other: tuple[int, int | None]) -> None:
        """Two threads (number, site): one waits, and the other waits elsewhere or has ended (``None``)."""
        if not self._is_new("divergence", waiting[1], other[1]):
            return
        first, second = self.grid.thread(waiting[0]), self.grid.thread(other[0])
        span = self.sites[waiting[1]].span
        if other[1] is None:
            self._found(findings.missed_barrier(first, second, span))
        else:
            self._found(findings.different_barriers((first, span), (second, self.sites[other[1]].span)))

    def race(self, word: int, earlier: int, thread: Thread, number: int) -> None:
        """The access of ``thread`` at site ``number`` conflicts with the access that ``earlier`` encodes."""
        other_thread, other_number = divmod(earlier, len(self.sites))
        if not self._is_new("race", frozenset((number, other_number))):
            return
        here, there = self.sites[number], self.sites[other_number]
        (name, index), (other_name, _) = self.element(here, word), self.element(there, word)
        found = findings.race(
            here.variable,
            index,
            (self._at(thread), here.access, name, here.span),
            (self.grid.thread(other_thread), there.access, other_name, there.span),
            space="global" if here.is_buffer else "tile_static",
        )
        self._found(found)


def _zero(kind: Type | None) -> Any:
    """The result of an invalid read."""
    if isinstance(kind, Vector):
        kind = kind.element
    if isinstance(kind, Scalar) and kind.kind == "float":
        return kind.dtype.type(0)
    return False if kind == BOOL else 0
