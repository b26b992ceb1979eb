"""Sorted Dask arrays, the largest elements, and counts."""

from __future__ import annotations

import functools
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.highlevelgraph import HighLevelGraph

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.dask.blocks import chunk_of, on_device
from vkamp.dask.spilling import with_room
from vkamp.tracebacks import entry_point


@entry_point
def sort(x: da.Array, axis: int = -1, *, descending: bool = False) -> da.Array:
    """The elements in their order along an axis; NaN counts as larger than all numbers.

    A one-dimensional array is sorted where its blocks are. Each block is sorted on its worker; then blocks are merged
    and split in pairs, by Batcher's network (Knuth, The Art of Computer Programming, 5.2.2M), so that no worker needs
    more than two blocks. Its blocks are made equally long; the last one may be shorter. In an array of several
    dimensions, the axis becomes one block, as for Dask's transforms.
    """
    if not isinstance(x, da.Array):
        raise TypeError(f"vkamp.dask.sort takes a Dask array, got {type(x).__name__}: use da.from_array")
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis={axis} is out of range for an array of {x.ndim} dimensions")
    if x.ndim == 1:
        return _sorted_row(x, descending)
    axis %= x.ndim
    whole = x.rechunk({axis: -1})
    step = functools.partial(_sorted_lines, axis=axis, descending=descending)
    return whole.map_blocks(step, dtype=x.dtype, meta=np.empty((0,) * x.ndim, x.dtype))


@entry_point
def _sorted_lines(chunk: Any, axis: int, descending: bool) -> Any:
    return with_room(lambda: chunk_of(alg.sort(on_device(chunk), axis=axis, descending=descending)))


# -- a row in several blocks ---------------------------------------------------------------------------------------


def _comparisons(n: int) -> list[list[tuple[int, int]]]:
    """The comparisons of Batcher's merge exchange for ``n`` positions, in rounds of independent pairs."""
    rounds = []
    p = top = 1 << max(n - 1, 1).bit_length() - 1
    while p > 0:
        q, r, d = top, 0, p
        while True:
            pairs = [(i, i + d) for i in range(n - d) if i & p == r]
            if pairs:
                rounds.append(pairs)
            if q == p:
                break
            d, q, r = q - p, q >> 1, p
        p >>= 1
    return rounds


def _sorted_row(x: da.Array, descending: bool) -> da.Array:
    if any(np.isnan(n) for n in x.chunks[0]):
        raise ValueError("sort needs chunks of known sizes: call x.compute_chunk_sizes() first")
    n = int(x.shape[0])
    size = max(x.chunks[0], default=0)
    if n == 0:
        return x
    x = x.rechunk((size,))
    count = x.numblocks[0]
    name = f"vkamp-sort-{dask.base.tokenize(x, descending)}"
    # Merging and splitting pairs sorts blocks of equal length: the last one is padded with elements that sort last.
    missing = count * size - n
    graph: dict[Any, Any] = {}
    newest: list[Any] = []
    for k in range(count):
        key = (f"{name}-0", k)
        graph[key] = (_sorted_block, (x.name, k), missing if k == count - 1 else 0, descending)
        newest.append(key)
    for number, pairs in enumerate(_comparisons(count), 1):
        for low, high in pairs:
            both = (f"{name}-merge-{number}", low)
            graph[both] = (_merged, newest[low], newest[high], descending)
            for place, half in ((low, 0), (high, 1)):
                key = (f"{name}-{number}", place)
                graph[key] = (_half, both, half, size)
                newest[place] = key
    for k, key in enumerate(newest):
        graph[(name, k)] = (_cut, key, missing if k == count - 1 else 0)
    layers = HighLevelGraph.from_collections(name, graph, dependencies=[x])
    return da.Array(layers, name, x.chunks, x.dtype, meta=np.empty((0,), x.dtype))


def _sorts_last(dtype: np.dtype[Any], descending: bool) -> Any:
    if dtype.kind == "f":
        return dtype.type(-np.inf if descending else np.nan)
    return np.iinfo(dtype).min if descending else np.iinfo(dtype).max


@entry_point
def _sorted_block(chunk: Any, missing: int, descending: bool) -> Any:
    def compute() -> Any:
        values = on_device(chunk)
        if missing:
            rest = np.full(missing, _sorts_last(values.dtype, descending), values.dtype)
            values = alg.concat(values, amp.array(rest))
        return chunk_of(alg.sort(values, descending=descending))

    return with_room(compute)


@entry_point
def _merged(a: Any, b: Any, descending: bool) -> Any:
    return with_room(lambda: _merge(a, b, descending))


def _merge(a: Any, b: Any, descending: bool) -> Any:
    first, second = on_device(a), on_device(b)
    if descending:
        return chunk_of(alg.sort(alg.concat(first, second), descending=True))
    return chunk_of(alg.merge(first, second))


@entry_point
def _half(both: Any, half: int, size: int) -> Any:
    return with_room(lambda: both[half * size : (half + 1) * size])


@entry_point
def _cut(block: Any, missing: int) -> Any:
    return with_room(lambda: block[: block.shape[0] - missing]) if missing else block


@entry_point
def topk(x: da.Array, k: int) -> da.Array:
    """The ``k`` largest elements of a row, the largest first; the smallest, the smallest first, for a negative ``k``
    (Dask: ``topk``). NaN counts as larger than all numbers."""
    if x.ndim != 1 or not 1 <= abs(k) <= x.shape[0]:
        raise ValueError(f"topk of {k} elements needs one dimension with at least as many, not the shape {x.shape}")
    step = functools.partial(_top, k=k)
    found = da.reduction(
        x, chunk=step, combine=step, aggregate=step, axis=0, keepdims=True, dtype=x.dtype, output_size=abs(k),
        name="vkamp-topk", meta=np.empty((0,), x.dtype),
    )  # fmt: skip
    return found


@entry_point
def _top(chunk: Any, axis: Any, keepdims: bool, k: int) -> Any:
    def compute() -> Any:
        found = alg.sort(on_device(chunk), descending=k > 0)
        return chunk_of(found)[: abs(k)]

    return with_room(compute)


# -- counts --------------------------------------------------------------------------------------------------------


@entry_point
def histogram(x: da.Array, bins: int, range: tuple[float, float]) -> tuple[da.Array, Any]:
    """The counts of the elements in ``bins`` equal bins from ``range[0]`` to ``range[1]``, as int64, and the bins'
    edges (Dask: ``histogram``, which needs bins and a range as well)."""
    low, high = (float(each) for each in range)
    step = functools.partial(_histogram, bins=int(bins), range=(low, high))
    edges = np.histogram_bin_edges(np.empty(0), bins=int(bins), range=(low, high))
    return _counted(x, step, int(bins)), edges


@entry_point
def bincount(x: da.Array, minlength: int) -> da.Array:
    """The number of times that each integer from 0 to ``minlength - 1`` occurs, as int64 (Dask: ``bincount``).

    AmpError, where it is computed, if an element is negative or not below ``minlength``.
    """
    if np.dtype(x.dtype).kind not in "iu":
        raise TypeError(f"bincount takes integers, not {x.dtype}")
    return _counted(x, functools.partial(_bincount, bins=int(minlength)), int(minlength))


def _counted(x: da.Array, step: Any, bins: int) -> da.Array:
    if not isinstance(x, da.Array):
        raise TypeError(f"bincount and histogram take a Dask array, got {type(x).__name__}: use da.from_array")
    rank = x.ndim
    counts = x.map_blocks(
        functools.partial(_in_a_row, step=step, rank=rank),
        dtype=np.int64,
        chunks=(*((1,) * n for n in x.numblocks), (bins,)),
        new_axis=rank,
        meta=np.empty((0,) * (rank + 1), np.int64),
    )
    # The counts are in host memory, and there are few.
    return counts.sum(axis=tuple(np.arange(rank).tolist()))


@entry_point
def _in_a_row(chunk: Any, step: Any, rank: int) -> Any:
    def compute() -> Any:
        values = on_device(chunk)
        return step(values.reshape(-1)).reshape((1,) * rank + (-1,))

    return with_room(compute)


def _histogram(values: Any, bins: int, range: tuple[float, float]) -> Any:
    counts, _ = alg.histogram(values, bins, range)
    return np.asarray(counts).astype(np.int64)


def _bincount(values: Any, bins: int) -> Any:
    low, high = (int(np.asarray(each)) for each in alg.minmax(values))
    if low < 0 or high >= bins:
        raise amp.AmpError(
            f"bincount: the elements are from {low} to {high}, but minlength={bins} counts 0 to {bins - 1}"
        )
    return np.asarray(alg.bincount(values, bins=bins)).astype(np.int64)
