"""The functions of a tile, one row for each, against numpy: values and arrays of items, several calls, and loops."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from vkamp import tile

INT, FLOAT = np.int32, np.float32


@amp.func
def numbers(flags):
    """Bools, or a private array of them, as integers."""
    if not hasattr(flags, "extent"):
        return 1 if flags else 0
    found = amp.private(len(flags), amp.int32)
    for k in amp.static_range(len(flags)):
        found[k] = 1 if flags[k] else 0
    return found


@amp.func
def each(f, x):
    """``f`` of a value, or of each item of a private array."""
    if not hasattr(x, "extent"):
        return f(x)
    found = amp.private(len(x), type(f(x[0])))
    for k in amp.static_range(len(x)):
        found[k] = f(x[k])
    return found


@amp.func
def counted(t_idx, x):
    counts = amp.tile_static(8, amp.int32)
    tile.histogram(t_idx, x, counts)
    tile.histogram(t_idx, x, counts, clear=False)
    found = each(lambda v: counts[v] if 0 <= v < 8 else 0, x)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    return found


@amp.func
def decoded(t_idx, x):
    found, at, total = tile.run_length_decode(t_idx, x, each(lambda v: max(v, 0), x), 1, items=2)
    begin = tile_rank(t_idx) * 2 + 1
    for k in amp.static_range(2):
        found[k] = found[k] * 100 + at[k] if begin + k < total else -1
    return found


def decoded_by_numpy(x, items):
    lengths = np.maximum(x, 0)
    found = np.repeat(x, lengths) * 100 + np.concatenate([np.arange(n) for n in lengths])
    many = 2 * len(x) // items
    return np.concatenate([found, np.full(many + 1, -1)])[1 : many + 1]


@amp.func
def tile_rank(t_idx):
    at = 0
    for d in amp.static_range(t_idx.rank):
        at = at * t_idx.tile_extent[d] + t_idx.local[d]
    return at


@amp.func
def few(t_idx, x):
    """The tile's items, at most two."""
    return 2 if hasattr(x, "extent") else min(2, t_idx.tile_extent.size())


@amp.func
def moved_by_key(t_idx, x):
    """The items in the order of their lowest two bits."""
    ranks = tile.radix_rank(t_idx, each(lambda v: v & 3, x), bits=2)
    return tile.exchange.scatter(t_idx, x, ranks)


@amp.func
def pairs(t_idx, x, sort):
    """``1000 * key + source`` of the items sorted by their keys."""
    places, _ = tile.exclusive_scan(t_idx, each(lambda v: 1, x), operator.add, 0)
    keys, found = sort(t_idx, x, places)
    if hasattr(x, "extent"):
        for k in amp.static_range(len(x)):
            found[k] += 1000 * keys[k]
        return found
    return 1000 * keys + found


def pairs_by_numpy(order):
    return lambda x, _: 1000 * x[order(x)] + order(x)


def stable(x):
    return np.argsort(x, kind="stable")


def stable_descending(x):
    return len(x) - 1 - stable(x[::-1])[::-1]


def shifted(x, by, fill):
    return [x[i - by] if 0 <= i - by < len(x) else (x[i] if fill is None else fill) for i in range(len(x))]


@dataclass(frozen=True)
class Row:
    """A device function of ``(t_idx, x)``, and the same of ``(a tile's items, items of a thread)`` in numpy."""

    run: Any
    expected: Callable[..., Any]
    dtype: Any = INT
    #: The result of each thread is one value, the same for the tile.
    uniform: bool = False


ROWS = {
    "load": [Row(lambda t_idx, x: x, lambda x, _: x)],
    "store": [Row(lambda t_idx, x: x, lambda x, _: x, FLOAT)],
    "reduce": [
        Row(lambda t_idx, x: tile.reduce(t_idx, x, lambda a, b: b), lambda x, _: x[-1], uniform=True),
        Row(
            lambda t_idx, x: tile.reduce(t_idx, x, operator.add, few(t_idx, x)), lambda x, _: x[:2].sum(), FLOAT,
            uniform=True,
        ),
    ],
    "inclusive_scan": [Row(lambda t_idx, x: tile.inclusive_scan(t_idx, x, operator.add)[0], lambda x, _: np.cumsum(x))],
    "exclusive_scan": [
        Row(lambda t_idx, x: tile.exclusive_scan(t_idx, x, operator.add, 7)[0], lambda x, _: 7 + np.cumsum(x) - x),
        Row(
            lambda t_idx, x: tile.exclusive_scan(t_idx, x, lambda a, b: b, 7, few(t_idx, x))[1], lambda x, _: x[:2][-1],
            uniform=True,
        ),
    ],
    "any": [
        Row(
            lambda t_idx, x: numbers(tile.any(t_idx, each(lambda v: v == 3, x))), lambda x, _: (x == 3).any(),
            uniform=True,
        )
    ],
    "all": [
        Row(
            lambda t_idx, x: numbers(tile.all(t_idx, each(lambda v: v < 9, x))), lambda x, _: (x < 9).all(),
            uniform=True,
        )
    ],
    "count": [
        Row(lambda t_idx, x: tile.count(t_idx, each(lambda v: v > 0, x)), lambda x, _: (x > 0).sum(), uniform=True)
    ],
    "exchange.blocked_to_striped": [
        Row(tile.exchange.blocked_to_striped, lambda x, n: x.reshape(n, -1).T.ravel(), FLOAT)
    ],
    "exchange.striped_to_blocked": [Row(tile.exchange.striped_to_blocked, lambda x, n: x.reshape(-1, n).T.ravel())],
    "exchange.scatter": [Row(moved_by_key, lambda x, _: x[stable(x & 3)])],
    "exchange.gather": [
        Row(lambda t_idx, x: tile.exchange.gather(t_idx, x, each(lambda v: 0, x)), lambda x, _: np.full_like(x, x[0]))
    ],
    "shift": [
        Row(lambda t_idx, x: tile.shift(t_idx, x, 2, 9.0), lambda x, _: shifted(x, 2, 9), FLOAT),
        Row(lambda t_idx, x: tile.shift(t_idx, x, -1), lambda x, _: shifted(x, -1, None)),
    ],
    "broadcast": [
        Row(lambda t_idx, x: tile.broadcast(t_idx, x, few(t_idx, x) - 1), lambda x, _: x[:2][-1], uniform=True)
    ],
    "radix_rank": [
        Row(lambda t_idx, x: tile.radix_rank(t_idx, each(lambda v: v & 15, x)), lambda x, _: stable(stable(x & 15)))
    ],
    "sort": [
        Row(tile.sort, lambda x, _: np.sort(x)),
        Row(lambda t_idx, x: tile.sort(t_idx, x, descending=True), lambda x, _: np.sort(x)[::-1], FLOAT),
        Row(lambda t_idx, x: pairs(t_idx, x, tile.sort), pairs_by_numpy(stable)),
    ],
    "topk": [Row(lambda t_idx, x: pairs(t_idx, x, tile.topk), pairs_by_numpy(stable_descending))],
    "merge_sort": [
        Row(tile.merge_sort, lambda x, _: np.sort(x), FLOAT),
        Row(
            lambda t_idx, x: pairs(t_idx, x, lambda t, k, v: tile.merge_sort(t, k, v, less=operator.gt)),
            pairs_by_numpy(stable_descending),
        ),
    ],
    "histogram": [
        Row(counted, lambda x, _: [2 * np.count_nonzero(x == v) if 0 <= v < 8 else 0 for v in x])
    ],
    "discontinuity": [
        Row(lambda t_idx, x: numbers(tile.discontinuity(t_idx, x)), lambda x, _: [1, *(x[1:] != x[:-1])]),
        Row(
            lambda t_idx, x: numbers(tile.discontinuity(t_idx, x, operator.lt, 3, tails=True)),
            lambda x, _: [*(x[:-1] < x[1:]), x[-1] < 3],
        ),
    ],
    "adjacent_difference": [
        Row(tile.adjacent_difference, lambda x, _: [x[0], *np.diff(x)]),
        Row(
            lambda t_idx, x: tile.adjacent_difference(t_idx, x, lambda a, b: a * 2 - b, 1.0),
            lambda x, _: x * 2 - [1, *x[:-1]], FLOAT,
        ),
    ],
    "run_length_decode": [Row(decoded, decoded_by_numpy)],
}  # fmt: skip

#: Covered by tests of their own.
ELSEWHERE = {"scan_of", "exchange", "carry", "carry_words", "ticket", "matmul"}


def test_every_function_has_a_row():
    names = {*tile.__all__, *(f"exchange.{n}" for n in tile.exchange.__all__ if n not in tile.__all__)}
    assert {*ROWS} == names - ELSEWHERE


@amp.kernel
def program(t_idx, a, out, *, run: amp.constant, items: amp.constant, per: amp.constant):
    many = t_idx.tile_extent.size()
    begin = t_idx.tile[0] * many * max(items, 1)
    for _ in range(2):
        if items == 0:
            x = a[begin + tile_rank(t_idx)]
        else:
            x = tile.load(t_idx, a, begin, items=items, arrangement="blocked")
        tile.store(t_idx, out, run(t_idx, x), t_idx.tile[0] * many * per, arrangement="blocked")


def launched(view, row, size, items):
    """Runs a row for two tiles, the last one of the loop's iterations, and compares."""
    threads, of_thread = int(np.prod(size)), max(items, 1)
    raw = np.random.default_rng(threads + items).integers(-9, 10, (2, threads * of_thread)).astype(row.dtype)
    expected = [np.asarray(row.expected(x, of_thread)) for x in raw]
    if row.uniform:
        expected = [np.full(threads, x) for x in expected]
    per = len(expected[0]) // threads
    a = amp.array(raw.ravel(), accelerator_view=view)
    out = amp.array(amp.extent(2 * threads * per), row.dtype, accelerator_view=view)
    domain = amp.extent(2 * size[0], *size[1:]).tile(*size)
    amp.parallel_for_each(view, domain, program, a, out, run=row.run, items=items, per=per)
    np.testing.assert_array_equal(np.asarray(out), np.concatenate(expected))


def sizes_of(view):
    return [((1,), 0), ((2, 3), 3)] if view.accelerator.device_path == "reference" else [((45,), 0), ((3, 5), 3)]


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", ROWS)
def test_rows(accelerator_view, name):
    for row in ROWS[name]:
        for size, items in sizes_of(accelerator_view):
            launched(accelerator_view, row, size, items)


@pytest.mark.parametrize("lanes", [1, 2, 8, 64, 128])
def test_subgroups_of_any_size(lanes):
    """The form of GPUs, which the reference accelerator runs with subgroups of any size, in a random order."""
    view = amp.accelerator("reference").default_view
    names = ["radix_rank", "count", "sort"] if lanes in (2, 64) else ["radix_rank", "exclusive_scan"]
    with amp.reference_subgroups(lanes):
        for name in names:
            launched(view, ROWS[name][0], (3, 3), 2)


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.vkamp_check
def test_check_mode_finds_nothing(accelerator_view):
    for name in ("any", "exchange.scatter", "shift", "histogram", "run_length_decode", "merge_sort", "sort"):
        launched(accelerator_view, ROWS[name][0], (5,), 2)


@amp.kernel
def halved(t_idx, a, steps, out):
    """Collectives of a condition, which control a loop around others."""
    x = a[t_idx]
    rounds = 0
    while tile.any(t_idx, x > 0):
        x = tile.shift(t_idx, x // 2, 1, 0)
        rounds += 1
    steps[t_idx] = rounds
    values = tile.merge_sort(t_idx, amp.float2(a[t_idx], t_idx.local[0]), less=lambda p, q: p.x < q.x)
    out[t_idx] = amp.int32(values.y)


def test_loops_controlled_by_votes(accelerator_view):
    raw = np.random.default_rng(1).integers(0, 9, 20).astype(INT)
    a, steps, out = (amp.array(raw, accelerator_view=accelerator_view) for _ in range(3))
    amp.parallel_for_each(accelerator_view, amp.extent(20).tile(10), halved, a, steps, out)
    for x, n, order in zip(*(np.asarray(v).reshape(2, 10) for v in (raw, steps, out)), strict=True):
        rounds = 0
        np.testing.assert_array_equal(order, stable(x))
        while (x > 0).any():
            x = np.concatenate([[0], x[:-1] // 2])
            rounds += 1
        assert (n == rounds).all()


@amp.kernel
def keys_of_any_type(t_idx, a, out, order, valid, *, bits: amp.constant):
    keys = tile.load(t_idx, a, items=2, arrangement="blocked")
    sources = amp.private(2, amp.int32)
    for k in range(2):
        sources[k] = t_idx.local[0] * 2 + k
    if bits == 0:
        keys, sources = tile.sort(t_idx, keys, sources, valid=valid)
    else:
        keys, sources = tile.sort(t_idx, keys, sources, valid=valid, bits=(0, bits))
    tile.store(t_idx, out, keys, arrangement="blocked")
    tile.store(t_idx, order, sources, arrangement="blocked")


@pytest.mark.accelerators("llvmpipe", "reference")
@pytest.mark.parametrize("dtype", ["float32", "uint32", "int64", "float64", "float16", "int8"])
@pytest.mark.spread(2)
def test_types_of_keys(accelerator_view, dtype):
    """NaN, both zeros, the ends of the range, some of the bits, and items that do not count."""
    if np.dtype(dtype).itemsize == 8 and accelerator_view.accelerator.device_path != "reference":
        # The other engine enables no features.
        accelerator_view = amp.accelerator("llvmpipe@vulkan").default_view
    raw = np.random.default_rng(2).integers(0, 100, 14).astype(dtype)
    if raw.dtype.kind == "f":
        raw[:6] = [np.nan, -np.inf, 0, -0.0, np.inf, -3.5]
    else:
        raw[:2] = [np.iinfo(dtype).min, np.iinfo(dtype).max]
    a, out = (amp.array(raw, accelerator_view=accelerator_view) for _ in range(2))
    order = amp.array(amp.extent(14), INT, accelerator_view=accelerator_view)
    domain = amp.extent(7).tile(7)
    for valid, bits in ((14, 0), (11, 5 if dtype == "uint32" else 0)):
        amp.parallel_for_each(accelerator_view, domain, keys_of_any_type, a, out, order, valid, bits=bits)
        found = stable(raw[:valid] & 31 if bits else raw[:valid])
        np.testing.assert_array_equal(np.asarray(order)[:valid], found)
        np.testing.assert_array_equal(
            np.asarray(out).view(f"u{raw.itemsize}"), raw[np.asarray(order)].view(f"u{raw.itemsize}")
        )


@pytest.mark.accelerators("swiftshader")
@pytest.mark.parametrize("name", sorted({*ROWS} - {"load", "store"}))
def test_loops(accelerator_view, name):
    """The threads of tiles run as loops on SwiftShader."""
    row = ROWS[name][-1]
    a, out = (amp.array(amp.extent(512), row.dtype, accelerator_view=accelerator_view) for _ in range(2))
    shader = program.inspect(accelerator_view, amp.extent(512).tile(256), a, out, run=row.run, items=4, per=4)
    assert shader.lowering == "loops"
