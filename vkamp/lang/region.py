"""Sets of bytes, and layouts of elements, for coherence.

A :class:`ByteSet` is exact: interleaved columns are disjoint although their bounds overlap, and a reinterpreted view
covers the same bytes whatever its dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vkamp.lang.copying import copy_bytes
from vkamp.records import dataclass

_Parity = NDArray[np.bool_]


class ByteSet:
    """A set of byte positions. Immutable."""

    # One interval, which most sets are, is two integers: numpy takes microseconds for so little.
    __slots__ = ("_known", "count", "start", "stop")

    count: int
    """The number of intervals."""
    start: int
    """The lowest byte."""
    stop: int
    """One past the highest byte."""

    def __init__(self, edges: NDArray[np.int64]) -> None:
        """The set with the sorted edges ``[start, stop, start, stop, ...]``, which never touch."""
        self.count = edges.size // 2
        self.start, self.stop = (int(edges[0]), int(edges[-1])) if self.count else (0, 0)
        self._known: NDArray[np.int64] | None = edges

    @staticmethod
    def interval(start: int, stop: int) -> ByteSet:
        """The bytes ``start <= b < stop``."""
        if start >= stop:
            return EMPTY
        made = ByteSet.__new__(ByteSet)
        made.count, made.start, made.stop, made._known = 1, start, stop, None
        return made

    @staticmethod
    def runs(starts: NDArray[np.int64], length: int) -> ByteSet:
        """The runs of ``length`` bytes from each of ``starts``, in any order; they may overlap."""
        if starts.size > 1 and not bool(np.all(starts[1:] > starts[:-1])):
            starts = np.unique(starts)
        first = np.ones(starts.size, np.bool_)
        first[1:] = starts[1:] > starts[:-1] + length
        last = np.roll(first, -1)
        edges = np.empty(2 * int(first.sum()), np.int64)
        edges[0::2] = starts[first]
        edges[1::2] = starts[last] + length
        return ByteSet(edges)

    @property
    def _edges(self) -> NDArray[np.int64]:
        if self._known is None:
            self._known = np.array([self.start, self.stop], np.int64)
        return self._known

    def __bool__(self) -> bool:
        return self.count > 0

    @property
    def nbytes(self) -> int:
        """The number of bytes."""
        if self.count <= 1:
            return self.stop - self.start
        return int((self._edges[1::2] - self._edges[0::2]).sum())

    def intervals(self) -> Iterable[tuple[int, int]]:
        """The intervals, ascending."""
        if self.count == 1:
            return ((self.start, self.stop),)
        edges = self._edges.tolist()
        return zip(edges[0::2], edges[1::2], strict=True)

    def shifted(self, by: int) -> ByteSet:
        """The set with every position moved by ``by``."""
        if self.count == 1:
            return ByteSet.interval(self.start + by, self.stop + by)
        return ByteSet(self._edges + by)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByteSet) and (
            (self.start, self.stop) == (other.start, other.stop)
            if self.count == other.count == 1
            else np.array_equal(self._edges, other._edges)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ByteSet({', '.join(f'{a}:{b}' for a, b in self.intervals())})"

    def _combine(self, other: ByteSet, keep: Callable[[_Parity, _Parity], _Parity]) -> ByteSet:
        # A byte is in a set if an odd number of the set's edges is at or below it.
        edges = np.union1d(self._edges, other._edges)
        inside = keep(
            (np.searchsorted(self._edges, edges, "right") & 1).astype(np.bool_),
            (np.searchsorted(other._edges, edges, "right") & 1).astype(np.bool_),
        )
        changes = np.empty(edges.size, np.bool_)
        changes[:1] = inside[:1]
        np.not_equal(inside[1:], inside[:-1], out=changes[1:])
        return ByteSet(edges[changes])

    def __or__(self, other: ByteSet) -> ByteSet:
        if self.covers(other):
            return self
        if not self:
            return other
        if self.count == other.count == 1 and self.start <= other.stop and other.start <= self.stop:
            return ByteSet.interval(min(self.start, other.start), max(self.stop, other.stop))
        return self._combine(other, np.logical_or)

    def __and__(self, other: ByteSet) -> ByteSet:
        if self is other or not self._bounds_meet(other):
            return self if self is other else EMPTY
        if self.count == other.count == 1:
            return ByteSet.interval(max(self.start, other.start), min(self.stop, other.stop))
        return self._combine(other, np.logical_and)

    def __sub__(self, other: ByteSet) -> ByteSet:
        if self is other:
            return EMPTY
        if not self._bounds_meet(other):
            return self
        if other.count == 1:
            if other.start <= self.start and self.stop <= other.stop:
                return EMPTY
            if self.count == 1 and other.start <= self.start:
                return ByteSet.interval(other.stop, self.stop)
            if self.count == 1 and self.stop <= other.stop:
                return ByteSet.interval(self.start, other.start)
        return self._combine(other, lambda a, b: a & ~b)

    def _bounds_meet(self, other: ByteSet) -> bool:
        return self.count > 0 < other.count and self.start < other.stop and other.start < self.stop

    def overlaps(self, other: ByteSet) -> bool:
        """Whether the two have a byte in common."""
        if not self._bounds_meet(other):
            return False
        few, many = (self, other) if self.count <= other.count else (other, self)
        begins, ends = many._edges_at(few)
        return bool(((begins & 1) | (begins != ends)).any())

    def covers(self, other: ByteSet) -> bool:
        """Whether every byte of ``other`` is in this set."""
        if self is other or not other:
            return True
        if not self or other.start < self.start or other.stop > self.stop:
            return False
        if self.count == 1:
            return True
        begins, ends = self._edges_at(other)
        return bool(((begins & 1) & (begins == ends)).all())

    def _edges_at(self, other: ByteSet) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each interval of ``other`` the number of edges of this set up to its start, and before its stop.

        The first number is odd if the start is in this set; the numbers differ if an edge is within the interval.
        """
        starts, stops = other._edges[0::2], other._edges[1::2]
        return np.searchsorted(self._edges, starts, "right"), np.searchsorted(self._edges, stops, "left")


EMPTY = ByteSet(np.empty(0, np.int64))
"""The set of no bytes."""


def scatter(target: NDArray[np.uint8], values: NDArray[np.uint8], where: ByteSet, origin: int) -> None:
    """Write the bytes ``where`` of ``values`` into ``target``, and no others; both begin at
    position ``origin``."""
    if where.count <= 16:
        for start, stop in where.intervals():
            copy_bytes(target[start - origin : stop - origin], values[start - origin : stop - origin])
        return
    edges = where._edges - origin
    if _copy_regular(target, values, edges):
        return
    # One step up at each start and one down at each stop; the running sum is the mask.
    steps = np.zeros(target.size + 1, np.int8)
    steps[edges[0::2]] = 1
    steps[edges[1::2]] = -1
    mask = np.cumsum(steps[:-1], dtype=np.int8).view(np.bool_)
    np.copyto(target, values[: target.size], where=mask)


def _copy_regular(target: NDArray[np.uint8], values: NDArray[np.uint8], edges: NDArray[np.int64]) -> bool:
    """Copies runs of equal length at equal distances, such as the rows of a section; False for others."""
    starts, run = edges[0::2], int(edges[1] - edges[0])
    distance = int(starts[1] - starts[0])
    if bool(np.any(edges[1::2] - starts != run)) or bool(np.any(np.diff(starts) != distance)):
        return False
    shape, first = (starts.size, run), int(starts[0])
    place: NDArray[np.uint8] = np.ndarray(shape, np.uint8, target, first, (distance, 1))
    place[...] = np.ndarray(shape, np.uint8, values, first, (distance, 1))
    return True


def dense_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The byte strides of a row-major array without gaps."""
    strides = []
    step = itemsize
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


class Footprint(NamedTuple):
    """A bound of the words of a storage that a launch may access: between the bytes ``start`` and ``stop``, ``run``
    bytes at every ``pitch``; with pitch 0 all of them.
    """

    start: int
    stop: int
    pitch: int
    run: int

    @staticmethod
    def of(offset: int, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> Footprint:
        """The bound for elements at these byte strides, or a larger one."""
        low = high = offset
        pitch = 0
        for n, stride in zip(shape, strides, strict=True):
            step = (n - 1) * stride
            low, high = low + min(step, 0), high + max(step, 0)
            if n > 1:
                pitch = max(pitch, abs(stride))
        run = itemsize + sum((n - 1) * abs(s) for n, s in zip(shape, strides, strict=True) if abs(s) < pitch)
        # A device writes whole words.
        start, stop = low // 4 * 4, -(-(high + itemsize) // 4) * 4
        run = -(-(low - start + run) // 4) * 4
        if pitch % 4 or run >= pitch:
            return Footprint(start, stop, 0, stop - start)
        return Footprint(start, stop, pitch, run)

    def meets(self, other: Footprint) -> bool:
        """False only if the two have no byte in common."""
        if self.stop <= other.start or other.stop <= self.start:
            return False
        pitch = self.pitch or other.pitch
        if not pitch or (other.pitch and other.pitch != pitch):
            return True
        distance = (other.start - self.start) % pitch
        return distance < self.run or distance + other.run > pitch


@dataclass(frozen=True)
class Layout:
    """The layout of a view's elements in its home: byte position of the first, shape, byte strides, dtype."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]

    @staticmethod
    def dense(offset: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Layout:
        """A row-major layout without gaps."""
        return Layout(offset, shape, dense_strides(shape, dtype.itemsize), dtype)

    @cached_property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for n in self.shape:
            size *= n
        return size

    @cached_property
    def is_dense(self) -> bool:
        """Whether the elements are row-major without gaps."""
        expected = self.dtype.itemsize
        for n, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if n != 1 and stride != expected:
                return False
            expected *= n
        return True

    @cached_property
    def in_steps(self) -> bool:
        """Whether the distances between elements are whole numbers of elements."""
        return not any(stride % self.dtype.itemsize for stride in self.strides)

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """The strides in elements, of a layout that is ``in_steps``."""
        return tuple([stride // self.dtype.itemsize for stride in self.strides])

    @property
    def dense_steps(self) -> tuple[int, ...]:
        """The strides in elements that a row-major layout without gaps would have."""
        return dense_strides(self.shape, 1)

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """The lowest byte and one past the highest."""
        low = high = self.offset
        for n, stride in zip(self.shape, self.strides, strict=True):
            step = (n - 1) * stride
            low, high = low + min(step, 0), high + max(step, 0)
        return low, high + self.dtype.itemsize

    @cached_property
    def region(self) -> ByteSet:
        """The bytes of the elements."""
        low, high = self.bounds
        if self.is_dense:
            return ByteSet.interval(low, high)
        run = self.dtype.itemsize
        steps = [(abs(s), n) for s, n in zip(self.strides, self.shape, strict=True) if s and n > 1]
        outer: list[tuple[int, int]] = []
        for stride, n in sorted(steps):
            if not outer and stride <= run:
                run += stride * (n - 1)  # Adjacent or overlapping rows are still one run.
            else:
                outer.append((stride, n))
        starts = np.array([low], np.int64)
        for stride, n in outer:
            starts = np.add.outer(np.arange(n, dtype=np.int64) * stride, starts).ravel()
        return ByteSet.runs(starts, run)

    @property
    def overlaps_itself(self) -> bool:
        """Whether two elements share a byte."""
        return not self.is_dense and self.region.nbytes < self.size * self.dtype.itemsize

    def place(self, memory: NDArray[np.uint8], origin: int) -> NDArray[Any]:
        """The elements in ``memory``, whose first byte is at position ``origin``, as a view."""
        placed: NDArray[Any] = np.ndarray(self.shape, self.dtype, memory, self.offset - origin, self.strides)
        return placed
