"""Kernels over the blocks of Dask arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dask
import dask.array as da
import numpy as np

import vkamp as amp
from vkamp.dask import halos, kernels
from vkamp.dask.blocks import Block, chunk_of, input_of
from vkamp.dask.spilling import with_room
from vkamp.lang.kernel import BoundKernel, KernelFunction
from vkamp.tracebacks import entry_point


class _Marker:
    """A marker for an argument whose value differs between blocks."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"vkamp.dask.{self._name}"

    def __reduce__(self) -> str:
        return self._name

    def __dask_tokenize__(self) -> tuple[str, str]:
        return "vkamp.dask", self._name


#: As an argument of :func:`map_blocks`: the ``amp.index`` of the block's first element in the whole result.
block_origin = _Marker("block_origin")
#: As an argument of :func:`map_blocks`: the ``amp.index`` of the block among the result's blocks.
block_index = _Marker("block_index")


@entry_point
def map_blocks(
    kernel: Any,
    *arrays: Any,
    dtype: Any,
    tile: Sequence[int] | int | None = None,
    chunks: Any = None,
    **constants: Any,
) -> da.Array:
    """A Dask array whose blocks a kernel computes, each by one launch on its worker's accelerator.

    The kernel's parameters are an index, one for each of ``arrays``, and the block of the result, which it writes:
    ``kernel(idx, a, b, out)``. Blocks of Dask arrays come as read-only views; their numbers of dimensions and of blocks
    must be equal, or 1 as in numpy's broadcasting. Numbers, structs and vectors are passed as they are; numpy arrays
    and containers are passed whole to every block. :data:`block_origin` and :data:`block_index` stand for the block's
    place. ``constants`` are the kernel's compile-time constants.

    ``dtype``: the result's element type, one that containers have. The domain of a launch is the extent of the result's
    block; with a ``tile`` it is tiled and padded to whole tiles, so the kernel must leave out threads beyond its block
    (``if t_idx.global_ in out.extent``: :meth:`vkamp.extent.contains`). ``chunks``: the result's, if they are not those
    of the arrays; required without a Dask array, as tuples of sizes for each dimension or as ``da.map_blocks`` takes
    them.

    The chunks of the result are on the device. TypeError unless ``kernel`` is an ``@amp.kernel``; AmpError if it cannot
    be sent to workers. What the kernel itself has wrong is raised where the result is computed.
    """
    _check_kernel(kernel)
    launch = _BlockLaunch(kernel, tile, np.dtype(dtype), constants)
    given = [_argument(each) for each in arrays]
    if chunks is None and not any(isinstance(each, da.Array) for each in given):
        raise TypeError("map_blocks without a Dask array among its arguments needs chunks=")
    blocked = [each.ndim for each in given if isinstance(each, da.Array)]
    rank = max(blocked) if blocked else len(chunks)
    name = f"{_name_of(kernel)}-{dask.base.tokenize(launch, *given, chunks)}"
    return da.map_blocks(
        launch,
        *given,
        name=name,
        dtype=launch.dtype,
        chunks=chunks,
        meta=np.empty((0,) * rank, launch.dtype),
        enforce_ndim=False,
    )


@entry_point
def map_overlap(
    kernel: Any,
    array: da.Array,
    *more: Any,
    depth: Any,
    boundary: Any,
    dtype: Any = None,
    tile: Sequence[int] | int | None = None,
    **constants: Any,
) -> da.Array:
    """Like :func:`map_blocks`, with a halo of the neighbouring blocks around each block of the first array.

    ``depth``: the width of the halo, a number or one for each dimension. The kernel's second parameter is the block
    with its halo: the element of ``out[idx]`` is ``a[idx + depth]``, so that a stencil needs no case for its edges.
    The Dask arrays among ``more`` come without a halo. ``boundary`` is what stands beyond the array's edges, for all
    dimensions or one for each: ``"periodic"``, ``"reflect"`` (with the edge itself), ``"nearest"``, or a number.

    ``dtype``: by default the array's. Blocks narrower than the halo are joined. ValueError for other boundaries
    (without one there is nothing for the kernel to read) and for depths that differ between the sides of a dimension.
    """
    _check_kernel(kernel)
    if not isinstance(array, da.Array):
        raise TypeError(f"map_overlap takes a Dask array first, got {type(array).__name__}")
    depths, boundaries = halos.checked(array, depth, boundary)
    padded = halos.padded(array, depths, boundaries)
    chunks = tuple(tuple(n - 2 * depths[k] for n in sizes) for k, sizes in enumerate(padded.chunks))
    others = [each.rechunk(chunks) if isinstance(each, da.Array) else each for each in more]
    return map_blocks(
        kernel, padded, *others, dtype=array.dtype if dtype is None else dtype, tile=tile, chunks=chunks, **constants
    )


def _check_kernel(kernel: Any) -> None:
    if not isinstance(kernel, (KernelFunction, BoundKernel)):
        raise TypeError(f"{_name_of(kernel)} is not a kernel: decorate the function with @amp.kernel")
    kernels.token_of(kernel)


def _name_of(kernel: Any) -> str:
    return str(getattr(kernel, "__name__", type(kernel).__name__))


def _argument(value: Any) -> Any:
    """An argument for Dask: an array becomes a separate task, so that each worker receives it once."""
    if isinstance(value, (np.ndarray, amp.array, amp.array_view, Block)):
        return dask.delayed(value, pure=True)
    return value


@entry_point
class _BlockLaunch:
    """The function of a block: launches a kernel, and returns its result."""

    def __init__(
        self, kernel: Any, tile: Sequence[int] | int | None, dtype: np.dtype[Any], constants: dict[str, Any]
    ) -> None:
        self.kernel = kernel
        self.tile = None if tile is None else (tile,) if isinstance(tile, int) else tuple(tile)
        self.dtype = dtype
        self.constants = constants
        self.__name__ = _name_of(kernel)

    def __dask_tokenize__(self) -> Any:
        token = kernels.token_of(self.kernel)
        return "vkamp.dask.map_blocks", token, self.tile, self.dtype.str, sorted(self.constants.items())

    def __call__(self, *arguments: Any, block_info: Any) -> Any:
        place = block_info[None]
        return with_room(lambda: self._run(arguments, place))

    def _run(self, arguments: tuple[Any, ...], place: dict[str, Any]) -> Any:
        domain = amp.extent(tuple(int(n) for n in place["chunk-shape"]))
        out = amp.array(domain, self.dtype)
        values = [_value(each, place) for each in arguments]
        tiled = domain if self.tile is None else domain.tile(*self.tile).pad()
        amp.parallel_for_each(tiled, self.kernel, *values, out, **self.constants)
        return chunk_of(out)


def _value(value: Any, place: dict[str, Any]) -> Any:
    """An argument of a launch."""
    if value is block_origin or value is block_index:
        at = place["chunk-location"]
        if value is block_origin:
            at = [first for first, _ in place["array-location"]]
        return amp.index(tuple(int(n) for n in at))
    if isinstance(value, (Block, amp.array, amp.array_view)) or (isinstance(value, np.ndarray) and value.ndim):
        return input_of(value)
    return value
