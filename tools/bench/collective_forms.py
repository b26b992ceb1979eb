"""Subgroup functions and collectives of tiles on CPU devices: the threads of a tile as threads, and as loops.

The rows have the notes of the group `lowering`.
"""

# vkamp infers the types of a kernel's parameters.
# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import vkamp as amp
from tools.bench.lowering import Program, measured
from tools.bench.measure import Measurement, Options
from tools.bench.subgroups import subgroup_scan, subgroup_sum
from vkamp import tile

GROUP = "collective_forms"
_ROW = 256


@amp.func
def _plus(a, b):
    return a + b


def reduced(t_idx, values, sums):
    total = tile.reduce(t_idx, values[t_idx], _plus)
    if t_idx.local[0] == 0:
        sums[t_idx.tile] = total


def scanned(t_idx, values, prefixes):
    prefix, _total = tile.inclusive_scan(t_idx, values[t_idx], _plus)
    prefixes[t_idx] = prefix


def sorted_(t_idx, values, ordered):
    ordered[t_idx] = tile.sort(t_idx, values[t_idx])


def _programs() -> Iterator[Program]:
    values = np.random.default_rng(1).integers(0, 1000, 2**20).astype(np.float32)
    rows = values.reshape(-1, _ROW)
    given = (_ROW,), values.shape, (values,)
    yield Program("sum of tiles by subgroups, 2^20", subgroup_sum, *given, rows.sum(1))
    yield Program("scan of tiles by subgroups, 2^20", subgroup_scan, *given, rows.cumsum(1).ravel())
    yield Program("tile.reduce, 2^20", reduced, *given, rows.sum(1))
    yield Program("tile.inclusive_scan, 2^20", scanned, *given, rows.cumsum(1).ravel())
    yield Program("tile.sort, 2^20", sorted_, *given, np.sort(rows, 1).ravel())


def measure(options: Options) -> Iterator[Measurement]:
    """Wall time of a launch with its wait, the data on the device; results are compared with numpy's."""
    return measured(GROUP, options, _programs)
