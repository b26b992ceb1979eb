"""The algorithms of `vkamp.algorithms`, the data on the device, numpy's on the host, and on NVIDIA PyTorch's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import vkamp as amp
from tools.bench import textbook
from tools.bench.measure import Measurement, Options
from tools.bench.programs import Program, measure_programs
from vkamp import algorithms as alg

GROUP = "algorithms"


def _lengths(a: Any) -> Any:
    begins = np.flatnonzero(np.concatenate([[True], a[1:] != a[:-1]]))
    return np.diff(np.append(begins, a.size))


def _scan_of_runs(keys: Any, a: Any) -> Any:
    upto = np.cumsum(a, dtype=np.int32)
    lengths = _lengths(keys)
    begins = np.cumsum(lengths) - lengths
    return upto - np.repeat(upto[begins] - a[begins], lengths)


@dataclass(frozen=True)
class _Inputs:
    """The arrays of the programs: ``count`` elements, and fewer ``keys`` to sort."""

    count: int
    floats: Any
    small: Any
    rows: Any
    runs: Any
    keys: Any
    octets: Any
    places: Any


def _inputs(accelerator: amp.accelerator) -> _Inputs:
    count = 1 << (22 if accelerator.is_emulated else 28)
    random = np.random.default_rng(1)
    floats = random.random(count, dtype=np.float32)
    small = random.integers(-8, 8, count, dtype=np.int32)
    square = floats[: 1 << (count.bit_length() - 1 >> 1 << 1)]
    side = int(square.size**0.5)
    rows = square[: side * side].reshape(side, side)
    runs = (np.arange(count) // 5).astype(np.int32)
    keys = random.integers(-(1 << 31), 1 << 31, count >> (2 if count > 1 << 24 else 4), dtype=np.int64).astype(np.int32)
    octets = random.integers(0, 256, count, dtype=np.uint8)
    places = random.integers(0, keys.size, keys.size, dtype=np.int32)
    return _Inputs(count, floats, small, rows, runs, keys, octets, places)


def _programs(accelerator: amp.accelerator, torch: Any) -> Iterator[Program]:
    given = _inputs(accelerator)
    yield from _sums(given, torch)
    yield from _runs(given, torch)
    yield from _counts(given, torch)
    yield from _orders(given, torch)


def _sums(given: _Inputs, torch: Any) -> Iterator[Program]:
    """Programs that transform, add up and select."""
    floats, small, rows = given.floats, given.small, given.rows
    yield Program("transform", (floats,), lambda a: alg.transform(lambda x: 2 * x + 1, a), lambda a: 2 * a + 1)
    yield Program(
        "sum of float32", (floats,), alg.sum, np.sum, lambda a: torch.sum(a), textbook.total, cub=("sum", 1.02),
    )  # fmt: skip
    yield Program("sum of int32 in 64 bits", (small,), alg.sum, np.sum, lambda a: torch.sum(a))
    yield Program(
        "sum of columns", (rows,), lambda a: alg.sum(a, axis=0), lambda a: a.sum(0), lambda a: a.sum(0),
        textbook.sums_of_columns,
    )  # fmt: skip
    yield Program("sum of rows", (rows,), lambda a: alg.sum(a, axis=1), lambda a: a.sum(1), lambda a: a.sum(1))
    yield Program(
        "scan of int32", (small,), alg.scan, lambda a: np.cumsum(a, dtype=np.int32),
        lambda a: torch.cumsum(a, 0, dtype=torch.int32), textbook.scan, cub=("scan", 1.0),
    )  # fmt: skip
    yield Program(
        "scan of few int32", (small[: 1 << 22],), alg.scan, lambda a: np.cumsum(a, dtype=np.int32),
        lambda a: torch.cumsum(a, 0, dtype=torch.int32), cub=("short scan", 1.1),
    )  # fmt: skip
    yield Program(
        "scan of float32", (floats,), alg.scan, lambda a: np.cumsum(a, dtype=np.float64),
        lambda a: torch.cumsum(a, 0), cub=("scan", 1.0),
    )  # fmt: skip
    yield Program(
        "deterministic scan of float32", (floats,), lambda a: alg.scan(a, deterministic=True),
        lambda a: np.cumsum(a, dtype=np.float64), cub=("scan", 0.75),
    )  # fmt: skip
    for axis, name in enumerate(("columns", "rows")):
        yield Program(
            f"scan of {name}", (rows,), lambda a, axis=axis: alg.cumulative_sum(a, axis=axis),
            lambda a, axis=axis: np.cumsum(a, axis), lambda a, axis=axis: torch.cumsum(a, axis),
        )  # fmt: skip
    yield Program(
        "select half", (small,), lambda a: alg.select(a, lambda x: x >= 0), lambda a: a[a >= 0], lambda a: a[a >= 0],
        textbook.select, cub=("select", 0.9),
    )  # fmt: skip
    yield Program(
        "partition in half", (small,), lambda a: alg.partition(a, lambda x: x >= 0)[0],
        lambda a: np.concatenate([a[a >= 0], a[a < 0]]), lambda a: torch.cat([a[a >= 0], a[a < 0]]),
        cub=("partition", 0.85),
    )  # fmt: skip


def _runs(given: _Inputs, torch: Any) -> Iterator[Program]:
    """Programs on runs of equal keys, and on segments."""
    floats, small, runs = given.floats, given.small, given.runs
    for length in (5, 16):
        keys = runs if length == 5 else (np.arange(given.count) // length).astype(np.int32)
        yield Program(
            f"first of each run of {length}", (keys,), alg.unique_consecutive,
            lambda a: a[np.concatenate([[True], a[1:] != a[:-1]])], lambda a: torch.unique_consecutive(a),
            cub=(f"unique of {length}", 0.85),
        )  # fmt: skip
        yield Program(
            f"lengths of runs of {length}", (keys,), lambda a: alg.run_length_encode(a)[1], _lengths,
            lambda a: torch.unique_consecutive(a, return_counts=True), cub=(f"run lengths of {length}", 0.85),
        )  # fmt: skip
        yield Program(
            f"sum of runs of {length}", (keys, floats), lambda a, b: alg.reduce_by_key(a, b)[1],
            lambda a, b: np.add.reduceat(b, np.flatnonzero(np.concatenate([[True], a[1:] != a[:-1]]))),
            cub=(f"sums by key of {length}", 0.85),
        )  # fmt: skip
    yield Program("scan of runs of 5", (runs, small), alg.scan_by_key, _scan_of_runs, cub=("scan by key", 0.85))
    flags = (np.arange(given.count) % 5 == 0).astype(np.uint8)
    yield Program(
        "scan of segments of 5", (small, flags), alg.segmented_scan,
        lambda a, b: _scan_of_runs(np.cumsum(b, dtype=np.int32), a),
    )  # fmt: skip


def _counts(given: _Inputs, torch: Any) -> Iterator[Program]:
    """Programs that move and count elements."""
    floats, rows, octets = given.floats, given.rows, given.octets
    yield Program(
        "transpose", (rows,), alg.transpose, lambda a: np.ascontiguousarray(a.T), lambda a: a.T.contiguous(),
        textbook.transpose,
    )  # fmt: skip
    yield Program(
        "histogram of 256 values", (floats,), lambda a: alg.histogram(a, 256, (0.0, 1.0))[0],
        lambda a: np.histogram(a, 256, (0.0, 1.0))[0], lambda a: torch.histc(a, 256, 0.0, 1.0), agrees=_nearly_counts,
        cub=("histogram", 0.8),
    )  # fmt: skip
    yield Program(
        "count of each byte", (octets,), lambda a: alg.bincount(a, bins=256),
        lambda a: np.bincount(a, minlength=256), lambda a: torch.bincount(a, minlength=256), textbook.counts_of_bytes,
        cub=("histogram of bytes", 0.8),
    )  # fmt: skip
    yield Program("argmax", (floats,), alg.argmax, np.argmax, lambda a: torch.argmax(a))


def _orders(given: _Inputs, torch: Any) -> Iterator[Program]:
    """Programs that sort, and what uses an order."""
    floats, keys, places = given.floats, given.keys, given.places
    values = np.arange(keys.size, dtype=np.int32)
    yield Program(
        "sort of int32", (keys,), alg.sort, lambda a: np.sort(a, kind="stable"), lambda a: torch.sort(a, stable=True),
        textbook.bitonic_sort, cub=("sort", 0.75),
    )  # fmt: skip
    yield Program(
        "sort of int32 by a function", (keys,), lambda a: alg.sort(a, less=lambda x, y: x > y),
        lambda a: np.sort(a, kind="stable")[::-1], lambda a: torch.sort(a, descending=True, stable=True),
        cub=("merge sort", 0.6),
    )  # fmt: skip
    yield Program(
        "the 100 largest", (floats[: keys.size],), lambda a: alg.topk(a, 100)[0],
        lambda a: np.sort(np.partition(a, -100)[-100:])[::-1], lambda a: torch.topk(a, 100),
    )  # fmt: skip
    some, ordered = keys[: keys.size // 4], np.sort(keys[: keys.size // 4])
    yield Program(
        "places in order",
        (ordered, some[::-1].copy()),
        alg.searchsorted,
        np.searchsorted,
        lambda a, b: torch.searchsorted(a, b),
        textbook.places_in_order,
    )
    yield Program("take from random places", (keys, places), alg.take, np.take, lambda a, b: torch.take(a, b.long()))
    yield Program(
        "sort of pairs of int32", (keys, values), lambda a, b: alg.sort_by_key(a, b)[1],
        lambda a, b: b[np.argsort(a, kind="stable")], lambda a, b: torch.sort(a, stable=True),
        cub=("sort of pairs", 0.8),
    )  # fmt: skip


def _nearly_counts(found: Any, expected: Any) -> bool:
    """Bins' edges are rounded to float32."""
    return int(found.sum()) == int(expected.sum()) and np.allclose(found, expected, rtol=1e-2, atol=16)


def measure(options: Options) -> Iterator[Measurement]:
    """Seconds of each call until the device has finished; results are compared with numpy's."""
    return measure_programs(GROUP, options, _programs)
