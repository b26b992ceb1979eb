"""Dask on accelerators: clusters with a worker for each, Dask arrays whose chunks stay on devices, and kernels on them.

The extra ``dask`` installs what it needs (``pip install "vkamp[dask]"``).  ``import vkamp`` does not load it.
"""

from vkamp.dask import registry as _registry
from vkamp.dask.blocks import Block
from vkamp.dask.cluster import LocalCluster, worker_spec
from vkamp.dask.halos import earlier_exchanges_first, overlap
from vkamp.dask.mapping import block_index, block_origin, map_blocks, map_overlap
from vkamp.dask.random import Generator, default_rng
from vkamp.dask.reductions import (
    all,
    any,
    count_nonzero,
    cummax,
    cummin,
    cumulative_prod,
    cumulative_sum,
    max,
    mean,
    min,
    prod,
    reduce,
    scan,
    std,
    sum,
    to_device,
    to_host,
    var,
)
from vkamp.dask.sorting import bincount, histogram, sort, topk
from vkamp.dask.transfers import copy
from vkamp.dask.transforms import fft, ifft, irfft, matmul, rfft
from vkamp.dask.workers import dask_setup, spill, worker_info

_registry.register()

__all__ = [
    "Block", "Generator", "LocalCluster", "all", "any", "bincount", "block_index", "block_origin", "copy",
    "count_nonzero", "cummax", "cummin", "cumulative_prod", "cumulative_sum", "dask_setup", "default_rng",
    "earlier_exchanges_first", "fft", "histogram", "ifft", "irfft", "map_blocks", "map_overlap", "matmul", "max",
    "mean", "min", "overlap", "prod", "reduce", "rfft", "scan", "sort", "spill", "std", "sum", "to_device", "to_host",
    "topk", "var", "worker_info", "worker_spec",
]  # fmt: skip
