"""Registers vkamp's types with Dask, distributed and cloudpickle in this process."""

from __future__ import annotations

from typing import Any

import cloudpickle
import numpy as np
from dask.array.chunk_types import register_chunk_type
from dask.array.dispatch import concatenate_lookup, percentile_lookup, to_numpy_dispatch
from dask.sizeof import sizeof
from dask.tokenize import normalize_token
from distributed.protocol import dask_deserialize, dask_serialize

import vkamp as amp
from vkamp.dask import containers, kernels, spilling
from vkamp.dask.blocks import Block, concatenate, lacks
from vkamp.lang.kernel import BoundKernel, DeviceFunction, KernelFunction


def register() -> None:
    """Registers the types; further calls have no effect."""
    kernels.register()
    for container in (amp.array, amp.array_view):
        dask_serialize.register(container, containers.serialize)
        dask_deserialize.register(container, _container_of)
        sizeof.register(container, containers.size_of)
        normalize_token.register(container, containers.token_of)
        cloudpickle.CloudPickler.dispatch_table[container] = containers.reduce
    for kernel in (KernelFunction, DeviceFunction, BoundKernel):
        normalize_token.register(kernel, kernels.token_of)
    dask_serialize.register(Block, _serialize_block)
    dask_deserialize.register(Block, _block_of)
    sizeof.register(Block, lambda block: containers.size_of(block.container))
    normalize_token.register(Block, lambda block: containers.token_of(block.container))
    cloudpickle.CloudPickler.dispatch_table[Block] = _reduce_block
    concatenate_lookup.register(Block, concatenate)
    percentile_lookup.register(Block, _percentile)
    to_numpy_dispatch.register(Block, lambda block, **_: np.asarray(block))
    register_chunk_type(Block)


def _percentile(block: Block, *arguments: Any) -> Any:
    """Dask's percentiles of a chunk, which have no form for chunks that are only like numpy's."""
    return percentile_lookup.dispatch(np.ndarray)(np.asarray(block), *arguments)


def _container_of(header: dict[str, Any], frames: list[Any]) -> Any:
    return spilling.with_room(lambda: containers.deserialize(header, frames))


def _serialize_block(block: Block) -> tuple[dict[str, Any], list[Any]]:
    return containers.serialize(block.container)


def _block_of(header: dict[str, Any], frames: list[Any]) -> Any:
    """A block on this worker's device; a numpy array in a process that is not a worker of vkamp, such as the client."""
    values = containers.values_of(header, frames)
    if spilling.buffer() is not None and not lacks(values.dtype):
        return Block(_container_of(header, frames))
    return values if values.flags.writeable else np.array(values)


def _reduce_block(block: Block) -> tuple[Any, ...]:
    return _block_of, _serialize_block(block)
