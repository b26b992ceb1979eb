"""Every function of vkamp.dask beside numpy's: shapes that no block divides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np

import vkamp as amp
import vkamp.dask as vd

_RNG = np.random.default_rng(1)
F = _RNG.random((13, 17), dtype=np.float32)
G = _RNG.random((17, 9), dtype=np.float32)
ROW = _RNG.normal(size=101).astype(np.float32)
INTS = _RNG.integers(-4, 9, (7, 11), dtype=np.int32)
CUBE = _RNG.random((5, 6, 7), dtype=np.float32)
COUNTS = _RNG.integers(0, 12, (7, 11), dtype=np.int32)

f = da.from_array(F, chunks=(5, 6))
g = da.from_array(G, chunks=(7, 4))
row = da.from_array(ROW, chunks=13)
ints = da.from_array(INTS, chunks=(3, 4))
cube = da.from_array(CUBE, chunks=(2, 4, 3))
counts = da.from_array(COUNTS, chunks=(3, 4))


@dataclass(frozen=True)
class Case:
    """A Dask array, and what numpy makes of the same elements."""

    name: str
    make: Callable[[], Any]
    expected: Any
    exact: bool = True


@amp.kernel
def affine(idx, a, scale, out, *, shift: amp.constant):
    out[idx] = scale * a[idx] + shift


@amp.kernel
def joined(idx, a, b, out):
    out[idx] = a[idx] * b[idx]


@amp.kernel
def five_point(idx, a, out):
    i, j = idx[0] + 1, idx[1] + 1
    out[idx] = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]


@amp.kernel
def wide(idx, a, weights, out):
    total = 0.0
    for k in range(5):
        total += weights[k] * a[idx[0] + k]
    out[idx] = total


@amp.kernel
def places(t_idx, origin, number, out):
    i = t_idx.global_
    if out.extent.contains(i):
        out[i] = 100 * (i[0] + origin[0]) + i[1] + origin[1] + 10000 * (number[0] + number[1])


@amp.kernel
def tile_sums(t_idx, a, out):
    """Every element is the sum of its tile's elements in the block."""
    values = amp.tile_static((4, 4), amp.float32)
    i = t_idx.global_
    values[t_idx.local] = 0.0
    if out.extent.contains(i):
        values[t_idx.local] = a[i]
    t_idx.barrier.wait()
    total = 0.0
    for k in range(4):
        for m in range(4):
            total += values[k, m]
    if out.extent.contains(i):
        out[i] = total


@amp.func
def larger(a, b):
    return a if a > b else b


def _around(values: Any, mode: str, **options: Any) -> Any:
    p = np.pad(values, 1, mode=mode, **options)
    return p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]


def _places() -> Any:
    number = (np.arange(7) >= 4).astype(int)[:, None] + (np.arange(10) >= 5).astype(int)
    return 100 * np.arange(7)[:, None] + np.arange(10) + 10000 * number


def _tile_sums() -> Any:
    out = np.empty_like(F)
    for i in range(0, 13, 5):
        for j in range(0, 17, 6):
            block = F[i : i + 5, j : j + 6]
            for m in range(0, block.shape[0], 4):
                for n in range(0, block.shape[1], 4):
                    out[i + m : i + min(m + 4, 5), j + n : j + min(n + 4, 6)] = block[m : m + 4, n : n + 4].sum()
    return out


WEIGHTS = np.float32([1, 2, 3, 2, 1])

KERNELS = [
    Case("map", lambda: vd.map_blocks(affine, f, 2.5, dtype=np.float32, shift=3), np.float32(2.5) * F + 3, False),
    Case("map of two", lambda: vd.map_blocks(joined, f, f[:, ::-1].rechunk(f.chunks), dtype="f4"), F * F[:, ::-1]),
    Case("broadcast", lambda: vd.map_blocks(joined, f, da.ones_like(f), dtype="f4"), F),
    Case("overlap, periodic", lambda: vd.map_overlap(five_point, f, depth=1, boundary="periodic"), _around(F, "wrap")),
    Case(
        "overlap, reflect", lambda: vd.map_overlap(five_point, f, depth=1, boundary="reflect"), _around(F, "symmetric")
    ),
    Case("overlap, nearest", lambda: vd.map_overlap(five_point, f, depth=1, boundary="nearest"), _around(F, "edge")),
    Case(
        "overlap, number",
        lambda: vd.map_overlap(five_point, f, depth=(1, 1), boundary={0: 2.0, 1: 2.0}),
        _around(F, "constant", constant_values=2),
    ),
    Case(
        "overlap, wide",
        lambda: vd.map_overlap(wide, row, WEIGHTS, depth=2, boundary=0.0),
        np.convolve(ROW, WEIGHTS, "same"),
        False,
    ),
    Case(
        "places",
        lambda: vd.map_blocks(
            places, vd.block_origin, vd.block_index, dtype=np.int32, tile=(4, 4), chunks=((4, 3), (5, 5))
        ),
        _places(),
    ),
    Case("tiles", lambda: vd.map_blocks(tile_sums, f, dtype=np.float32, tile=(4, 4)), _tile_sums(), False),
]

REDUCTIONS = [
    Case("sum", lambda: vd.sum(f), F.sum(), False),
    Case("sum, kept", lambda: vd.sum(f, 1, keepdims=True, split_every=2), F.sum(1, keepdims=True), False),
    Case("sum of two axes", lambda: vd.sum(cube, (0, 2)), CUBE.sum((0, 2)), False),
    Case("sum of int32", lambda: vd.sum(ints), INTS.sum()),
    Case("prod", lambda: vd.prod(f, 0), F.prod(0), False),
    Case("min", lambda: vd.min(ints, 1), INTS.min(1)),
    Case("max", lambda: vd.max(ints), INTS.max()),
    Case("any", lambda: vd.any(ints, 0), INTS.any(0)),
    Case("all", lambda: vd.all(ints, 1), INTS.all(1)),
    Case("count_nonzero", lambda: vd.count_nonzero(ints, 0), np.count_nonzero(INTS, 0)),
    Case("mean", lambda: vd.mean(f, 0), F.mean(0), False),
    Case("var", lambda: vd.var(cube, (0, 1), ddof=1), CUBE.var((0, 1), ddof=1), False),
    Case("std", lambda: vd.std(row), ROW.std(), False),
    Case("reduce", lambda: vd.reduce(ints, larger, 1), INTS.max(1)),
]

SCANS = [
    Case("scan", lambda: vd.scan(ints, axis=0), INTS.cumsum(0)),
    Case("scan with an operator", lambda: vd.scan(row, larger), np.maximum.accumulate(ROW)),
    Case("cumulative_sum", lambda: vd.cumulative_sum(cube, 1), CUBE.cumsum(1), False),
    Case("cumulative_prod", lambda: vd.cumulative_prod(f, 0), F.cumprod(0), False),
    Case("cummax", lambda: vd.cummax(row), np.maximum.accumulate(ROW)),
    Case("cummin", lambda: vd.cummin(ints, 1), np.minimum.accumulate(INTS, 1)),
    Case("sort", lambda: vd.sort(row), np.sort(ROW)),
    Case("sort, descending", lambda: vd.sort(ints.reshape(-1), descending=True), np.sort(INTS, None)[::-1]),
    Case("sort of columns", lambda: vd.sort(f, 0), np.sort(F, 0)),
    Case("topk", lambda: vd.topk(row, 5), np.sort(ROW)[:-6:-1]),
    Case("histogram", lambda: vd.histogram(f, 7, (0.1, 0.8))[0], np.histogram(F, 7, (0.1, 0.8))[0]),
    Case("bincount", lambda: vd.bincount(counts, 15), np.bincount(COUNTS.ravel(), minlength=15)),
]

TRANSFORMS = [
    Case("fft", lambda: vd.fft(f, axis=0), np.fft.fft(F, axis=0), False),
    Case("ifft", lambda: vd.ifft(vd.fft(f, norm="ortho"), norm="ortho"), F, False),
    Case("rfft", lambda: vd.rfft(f, n=20), np.fft.rfft(F, n=20), False),
    Case("irfft", lambda: vd.irfft(vd.rfft(cube, axis=2), n=7, axis=2), CUBE, False),
    Case("matmul", lambda: vd.matmul(f, g), F @ G, False),
    Case(
        "mean of random",
        lambda: da.round(vd.mean(vd.default_rng(3).normal(size=(300, 200), chunks=(90, 110))), 1),
        0,
        False,
    ),
    Case("integers", lambda: vd.max(vd.default_rng(3).integers(3, 17, size=2000, chunks=300)), 16),
    Case(
        "steps",
        lambda: (vd.map_blocks(affine, vd.to_device(f), 2, dtype="f4", shift=0) + 1)[2:9, ::-3].T,
        (2 * F + 1)[2:9, ::-3].T,
        False,
    ),
    Case("to_host", lambda: vd.to_host(vd.to_device(ints)).mean(0), INTS.mean(0), False),
]

ALL = [*KERNELS, *REDUCTIONS, *SCANS, *TRANSFORMS]


def difference(case: Case, found: Any) -> str | None:
    """How a result differs from numpy's; None if it does not."""
    expected = np.asarray(case.expected)
    found = np.asarray(found)
    if found.shape != expected.shape:
        return f"{case.name}: shape {found.shape}, not {expected.shape}"
    if case.exact and found.dtype != expected.dtype and found.dtype.kind != expected.dtype.kind:
        return f"{case.name}: type {found.dtype}, not {expected.dtype}"
    close = np.array_equal(found, expected) if case.exact else np.allclose(found, expected, rtol=1e-4, atol=1e-4)
    return None if close else f"{case.name}: {found} instead of {expected}"
