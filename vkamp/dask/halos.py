"""Blocks of Dask arrays with halos of their neighbours.

Each block needs one task for each part of it that neighbours read, and one that joins its own parts. ``dask.array``
has five times as many tasks for this, and with short steps between two exchanges they take longer than the devices.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from dask.array.overlap import coerce_boundary, coerce_depth, ensure_minimum_chunksize
from dask.highlevelgraph import HighLevelGraph

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.dask.blocks import Block, concatenate
from vkamp.dask.spilling import with_room
from vkamp.tracebacks import entry_point

#: What a slice has: the first element, the end, and the step.
_Rows = tuple[int, "int | None", int]
_KINDS = ("periodic", "reflect", "nearest")
#: What the keys of blocks with halos begin with; also those of tasks into which Dask has fused these.
_JOINS = "vkamp-overlap"


@entry_point
def overlap(array: da.Array, *, depth: Any, boundary: Any) -> da.Array:
    """An array whose blocks are those of ``array`` with a halo of their neighbours (Dask: ``overlap.overlap``).

    ``depth`` and ``boundary`` are those of :func:`map_overlap`. A block of n elements along a dimension has n and twice
    the depth in the result, in whose ``chunks`` elements of halos count, too. Blocks narrower than the halo are joined.
    """
    depths, boundaries = checked(array, depth, boundary)
    return padded(array, depths, boundaries)


@dataclass(frozen=True)
class _EarlierFirst:
    """The priority of a task: the fewer exchanges of halos it needs, the earlier it runs."""

    exchanges: dict[Any, int]
    last: int

    def __call__(self, key: Any) -> int:
        return -self.exchanges.get(key, self.last)


@entry_point
def earlier_exchanges_first(*arrays: da.Array) -> _EarlierFirst:
    """A priority for ``dask.annotate``, by which tasks that need fewer exchanges of halos run before the others.

    Dask's own order follows each block through as many exchanges as it can, so that memory is freed early. The last
    block of a worker is then late, and the worker with the next one waits for its halo. By this priority, the blocks
    advance together: halos are on their way while a worker computes its other blocks. For arrays on clusters::

        with dask.annotate(priority=vd.earlier_exchanges_first(result)):
            result = result.persist()
    """
    graph = {key: task for each in dask.optimize(*arrays) for key, task in dict(each.__dask_graph__()).items()}
    needed = dask.core.get_deps(graph)[0]
    found: dict[Any, int] = {}
    for key in dask.core.toposort(graph, dependencies=needed):
        before = max((found[each] for each in needed[key]), default=0)
        found[key] = before + (_JOINS in str(key[0] if isinstance(key, tuple) else key))
    return _EarlierFirst(found, max(found.values(), default=0))


def checked(array: Any, depth: Any, boundary: Any) -> tuple[dict[int, int], dict[int, Any]]:
    """The depth and the boundary of each dimension; ValueError for other ones."""
    depths = {k: _depth(each) for k, each in coerce_depth(array.ndim, depth).items()}
    boundaries = coerce_boundary(array.ndim, boundary)
    for k, each in boundaries.items():
        if depths[k] and not (each in _KINDS or isinstance(each, (int, float, np.number))):
            raise ValueError(
                f"boundary={each!r} of dimension {k}: it must be 'periodic', 'reflect', 'nearest' or a number, which "
                "the kernel reads beyond the array's edge"
            )
    return depths, boundaries


def _depth(depth: Any) -> int:
    if isinstance(depth, (tuple, list)):
        if len(set(depth)) != 1:
            raise ValueError(f"depth={tuple(depth)!r}: the halo must have the same width on both sides of a dimension")
        depth = depth[0]
    return int(depth)


def padded(array: da.Array, depths: dict[int, int], boundaries: dict[int, Any]) -> da.Array:
    """As :func:`overlap`, for what :func:`checked` returns."""
    wide = {k: depth for k, depth in depths.items() if depth}
    array = array.rechunk({k: ensure_minimum_chunksize(depth, array.chunks[k]) for k, depth in wide.items()})
    token = dask.base.tokenize(array.name, wide, boundaries)
    name = f"{_JOINS}-{token}"
    graph: dict[Any, Any] = {}
    numbers: dict[Any, int] = {}
    for place in np.ndindex(array.numblocks):
        size = tuple(sizes[n] for sizes, n in zip(array.chunks, place, strict=True))
        choices = [_sides(array.chunks[k], place[k], depth, boundaries[k]) for k, depth in wide.items()]
        parts = [_part(place, size, dict(zip(wide, each, strict=True))) for each in itertools.product(*choices)]
        edges = []
        for part in parts:
            if part.block is not None and part.block != place:
                key = (f"vkamp-edge-{token}-{numbers.setdefault(part.rows, len(numbers))}", *part.block)
                graph[key] = (_edge, (array.name, *part.block), _Wrapped(part.rows))
                edges.append(key)
        joined = (name, *place)
        graph[joined] = (_Join(place, tuple(wide), tuple(parts)), (array.name, *place), edges)
    chunks = tuple(tuple(n + 2 * depths[k] for n in sizes) for k, sizes in enumerate(array.chunks))
    layers = HighLevelGraph.from_collections(name, graph, dependencies=[array])
    return da.Array(layers, name, chunks, array.dtype, meta=np.empty((0,) * array.ndim, array.dtype))


class _Stretch(NamedTuple):
    """What a block with its halo has along one dimension, before, in or after the block.

    ``block``: which block has the elements ``rows``, which are repeated ``times`` times; or a ``value`` instead.
    """

    block: int
    rows: _Rows
    size: int
    times: int = 1
    value: Any = None


def _sides(sizes: Sequence[int], at: int, depth: int, boundary: Any) -> tuple[_Stretch, _Stretch, _Stretch]:
    """The three sides of the block number ``at`` of a dimension."""
    last, n = len(sizes) - 1, sizes[at]

    def first_of(block: int) -> _Stretch:
        return _Stretch(block, (0, depth, 1), depth)

    def last_of(block: int) -> _Stretch:
        return _Stretch(block, (sizes[block] - depth, sizes[block], 1), depth)

    if boundary == "periodic":
        outer = last_of(last), first_of(0)
    elif boundary == "reflect":
        end = n - depth - 1
        outer = (
            _Stretch(at, (depth - 1, None, -1), depth),
            _Stretch(at, (n - 1, end if end >= 0 else None, -1), depth),
        )
    elif boundary == "nearest":
        outer = _Stretch(at, (0, 1, 1), depth, times=depth), _Stretch(at, (n - 1, n, 1), depth, times=depth)
    else:
        outer = (_Stretch(at, (0, 0, 1), depth, value=boundary),) * 2
    before = last_of(at - 1) if at else outer[0]
    after = first_of(at + 1) if at < last else outer[1]
    return before, _Stretch(at, (0, n, 1), n), after


class _PartOf(NamedTuple):
    """A part of a block with its halo: some ``rows`` of a block, of which axes are repeated; or a ``value``."""

    block: tuple[int, ...] | None
    rows: tuple[_Rows, ...]
    times: tuple[tuple[int, int], ...]
    value: Any
    shape: tuple[int, ...]


def _part(place: tuple[int, ...], size: tuple[int, ...], sides: dict[int, _Stretch]) -> _PartOf:
    block, shape = list(place), list(size)
    rows: list[_Rows] = [(0, n, 1) for n in size]
    for axis, side in sides.items():
        block[axis], rows[axis], shape[axis] = side.block, side.rows, side.size
    # Boundaries of later dimensions include the corners, as in Dask.
    values = [side.value for side in sides.values() if side.value is not None]
    times = tuple((axis, side.times) for axis, side in sides.items() if side.times > 1)
    return _PartOf(None if values else tuple(block), tuple(rows), times, values[-1] if values else None, tuple(shape))


class _Wrapped:
    """Rows in a task's arguments: Dask looks for keys and tasks in tuples."""

    def __init__(self, rows: tuple[_Rows, ...]) -> None:
        self.selection = _selection(rows)


def _selection(rows: Sequence[_Rows]) -> tuple[slice, ...]:
    return tuple(slice(*each) for each in rows)


@entry_point
def _edge(block: Any, rows: _Wrapped) -> Any:
    """The part of a block that another one reads."""
    part = with_room(lambda: block[rows.selection])
    return part if isinstance(part, Block) else np.array(part)  # a copy, which does not keep the block alive


@dataclass(frozen=True)
class _Join:
    """The task of a block: joins its parts, which are three along each axis of ``axes``."""

    place: tuple[int, ...]
    axes: tuple[int, ...]
    parts: tuple[_PartOf, ...]

    @property
    def __name__(self) -> str:
        return "overlap"

    def __call__(self, centre: Any, edges: list[Any]) -> Any:
        return with_room(lambda: self._run(centre, edges))

    def _run(self, centre: Any, edges: list[Any]) -> Any:
        on_device = any(isinstance(each, Block) for each in (centre, *edges))
        join = concatenate if on_device else np.concatenate
        coming, found = iter(edges), []
        for part in self.parts:
            if part.block is None:
                found.append(_filled(part, centre.dtype, on_device=on_device))
                continue
            each = centre[_selection(part.rows)] if part.block == self.place else next(coming)
            for axis, times in part.times:
                each = join([each] * times, axis=axis)
            found.append(each)
        for axis in reversed(self.axes):
            found = [join(found[k : k + 3], axis=axis) for k in range(0, len(found), 3)]
        return found[0]


def _filled(part: _PartOf, dtype: np.dtype[Any], *, on_device: bool) -> Any:
    if not on_device:
        return np.full(part.shape, part.value, dtype)
    made = amp.array(amp.extent(part.shape), dtype)
    alg.fill(made, dtype.type(part.value))
    return Block(made)
