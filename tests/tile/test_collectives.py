"""Collectives of tiles of every size and rank, several of them in one kernel, and in loops."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import vkamp as amp
from tests.algorithms.inputs import affine, composed
from vkamp import tile
from vkamp.algorithms import functional


@amp.kernel
def reduced(t_idx, values, out, valid, *, op: amp.constant):
    total = tile.reduce(t_idx, values[t_idx], op, valid)
    again = tile.reduce(t_idx, total, op, 1)
    out[t_idx] = again


@amp.kernel
def scanned(t_idx, values, inclusive, exclusive, totals, start, valid, *, op: amp.constant):
    for _ in range(2):
        upto, _ = tile.inclusive_scan(t_idx, values[t_idx], op, valid)
        before, total = tile.exclusive_scan(t_idx, values[t_idx], op, start[0].copy(), valid)
        inclusive[t_idx] = upto
        exclusive[t_idx] = before
        totals[t_idx] = total


SIZES = [(1,), (2,), (7,), (32,), (45,), (64,), (100,), (3, 5), (2, 3, 7)]


@pytest.mark.spread(2)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_reduce(accelerator_view, size):
    threads = int(np.prod(size))
    domain = amp.extent(*(2 * n for n in size)).tile(*size)
    raw = np.random.default_rng(threads).integers(-99, 99, tuple(2 * n for n in size), np.int32)
    values = amp.array(raw, accelerator_view=accelerator_view)
    out = amp.array(values.extent, np.int32, accelerator_view=accelerator_view)
    for valid in sorted({1, threads // 2 or 1, threads}):
        amp.parallel_for_each(accelerator_view, domain, reduced, values, out, valid, op=functional.plus)
        for tile_of, got in zip(_tiles(raw, size), _tiles(np.asarray(out), size), strict=True):
            assert (got == tile_of.ravel()[:valid].sum()).all()


def _tiles(raw, size):
    """The tiles of an array of two tiles in each dimension."""
    for at in np.ndindex(*(2,) * len(size)):
        yield raw[tuple(slice(k * n, (k + 1) * n) for k, n in zip(at, size, strict=True))]


@pytest.mark.spread(2)
@pytest.mark.parametrize("threads", [1, 3, 16, 45, 64])
def test_scans_of_structs(accelerator_view, threads):
    raw = affine(3 * threads)
    values, *outs = (amp.array(raw, accelerator_view=accelerator_view) for _ in range(4))
    start = amp.array(affine(1), accelerator_view=accelerator_view)
    domain = amp.extent(3 * threads).tile(threads)
    amp.parallel_for_each(accelerator_view, domain, scanned, values, *outs, start, threads, op=composed)
    inclusive, exclusive, totals = (np.asarray(each).reshape(3, threads) for each in outs)
    for t, tile_of in enumerate(raw.reshape(3, threads)):
        upto = _compose(tile_of)
        from_start = _compose(np.concatenate([affine(1), tile_of]))
        assert inclusive[t].tolist() == upto
        assert exclusive[t].tolist() == from_start[:-1]
        assert totals[t].tolist() == from_start[-1:] * threads


def _compose(functions):
    factor, offset, found = 1, 0, []
    for f, o in functions.tolist():
        factor, offset = f * factor, f * offset + o
        found.append((factor, offset))
    return found


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 64, 128])
def test_subgroups_of_any_size(lanes):
    """The form of GPUs, which the reference accelerator runs with subgroups of any size."""
    view = amp.accelerator("reference").default_view
    with amp.reference_subgroups(lanes):
        for size in ((45,), (100,), (3, 5)):
            test_reduce(view, size)
        test_scans_of_structs(view, 45)


@amp.kernel
def both(t_idx, values, out):
    out[t_idx] = tile.reduce(t_idx, values[t_idx], functional.plus, t_idx.tile_dim0)


def test_forms():
    """Threads become loops on CPU drivers, since nothing there calls functions of subgroups."""
    values, out = amp.array_view(np.arange(64, dtype=np.float32)), amp.array_view(np.zeros(64, np.float32))
    for device in ("swiftshader", "llvmpipe"):
        shader = both.inspect(amp.accelerator(device).default_view, values.extent.tile(32), values, out)
        assert shader.lowering == "loops" and "subgroupShuffle" not in shader.glsl


@amp.kernel
def _largest(t_idx, a, largest, upto):
    def larger(x, y):
        return x if x.factor > y.factor else y

    x = a[t_idx].copy()
    largest[t_idx] = tile.reduce(t_idx, x, larger)
    prefix, _ = tile.inclusive_scan(t_idx, x, larger)
    upto[t_idx] = prefix


def test_operators_that_return_an_operand(accelerator_view):
    raw = affine(96)
    raw["factor"] = np.random.default_rng(1).permutation(96)
    largest, upto = (amp.array_view(np.zeros_like(raw)) for _ in range(2))
    amp.parallel_for_each(accelerator_view, amp.extent(96).tile(48), _largest, amp.array_view(raw), largest, upto)
    rows = raw["factor"].reshape(2, 48)
    np.testing.assert_array_equal(np.asarray(largest)["factor"].reshape(2, 48), rows.max(1)[:, None].repeat(48, 1))
    np.testing.assert_array_equal(np.asarray(upto)["factor"].reshape(2, 48), np.maximum.accumulate(rows, 1))


@amp.kernel
def _from_zero(t_idx, a, prefixes, totals, *, items: amp.constant):
    x = tile.load(t_idx, a, items=items, arrangement="blocked")
    found, total = tile.exclusive_scan(t_idx, x, operator.add, 0)
    first, _ = tile.exclusive_scan(t_idx, x[0], operator.add, 0)
    totals[t_idx] = total
    found[0] += first
    tile.store(t_idx, prefixes, found, arrangement="blocked")


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint32, np.uint8, np.complex64])
def test_initial_values_get_the_type_of_the_items(accelerator_view, dtype):
    raw = np.arange(33).astype(dtype)
    prefixes, totals = amp.array_view(np.zeros(33, dtype)), amp.array_view(np.zeros(11, dtype))
    domain = amp.extent(11).tile(11)
    amp.parallel_for_each(accelerator_view, domain, _from_zero, amp.array_view(raw), prefixes, totals, items=3)
    expected = np.cumsum(raw, dtype=dtype) - raw
    expected[::3] += np.cumsum(raw[::3], dtype=dtype) - raw[::3]
    np.testing.assert_array_equal(np.asarray(prefixes), expected)
    np.testing.assert_array_equal(np.asarray(totals), np.full(11, raw.sum(dtype=dtype)))


@amp.kernel
def _of_many(t_idx, a, out, valid, *, items: amp.constant):
    x = tile.load(t_idx, a, items=items, arrangement="blocked")
    results = amp.private(5, amp.int32)
    results[0] = tile.reduce(t_idx, x, operator.add, valid)
    _, results[1] = tile.inclusive_scan(t_idx, x, operator.add, valid)
    _, results[2] = tile.exclusive_scan(t_idx, x, operator.add, 0, valid)
    results[3] = tile.merge_sort(t_idx, x, valid=valid)[0]
    results[4] = tile.sort(t_idx, x, valid=valid)[0]
    for k in range(5):
        out[k, t_idx.local[0]] = results[k]


@pytest.mark.spread(2)
@pytest.mark.parametrize("valid", [np.int32(100), np.int32(97), np.uint32(2**32 - 1), np.int32(2**31 - 1)], ids=str)
@pytest.mark.parametrize("items", [1, 3])
def test_more_valid_items_than_there_are(accelerator_view, valid, items):
    raw = np.random.default_rng(3).integers(-99, 99, 32 * items, np.int32)
    out = amp.array_view(np.zeros((5, 32), np.int32))
    amp.parallel_for_each(
        accelerator_view, amp.extent(32).tile(32), _of_many, amp.array_view(raw), out, valid, items=items
    )
    np.testing.assert_array_equal(np.asarray(out)[:3], raw.sum())
    for order in np.asarray(out)[3:]:
        np.testing.assert_array_equal(order, np.sort(raw)[::items])


@amp.kernel
def _small(t_idx, a, prefixes, differences, ranks):
    x = tile.load(t_idx, a, items=3, arrangement="blocked")
    upto, _ = tile.inclusive_scan(t_idx, x, operator.add)
    before, _ = tile.exclusive_scan(t_idx, x, operator.add, 1000)
    first, _ = tile.inclusive_scan(t_idx, x[0], operator.add)
    flags = tile.discontinuity(t_idx, x)
    runs, many = tile.inclusive_scan(t_idx, flags, operator.add)
    earlier, _ = tile.exclusive_scan(t_idx, flags[0], operator.add, 0)
    for k in range(3):
        upto[k] += before[k]
        runs[k] += 100 * many
    upto[0] += first
    runs[0] += 10_000 * earlier + tile.reduce(t_idx, flags, operator.add)
    runs[1] += tile.reduce(t_idx, flags[0], operator.add)
    runs[2] += 1 if tile.reduce(t_idx, flags, operator.and_) else 0
    tile.store(t_idx, prefixes, upto, arrangement="blocked")
    tile.store(t_idx, differences, tile.adjacent_difference(t_idx, x), arrangement="blocked")
    tile.store(t_idx, ranks, runs, arrangement="blocked")


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16])
def test_small_integers_and_conditions_give_int32(accelerator_view, dtype):
    raw = np.random.default_rng(5).integers(90, 120, 99).astype(dtype)
    prefixes, differences, ranks = (amp.array_view(np.zeros(99, np.int32)) for _ in range(3))
    containers = amp.array_view(raw), prefixes, differences, ranks
    amp.parallel_for_each(accelerator_view, amp.extent(33).tile(33), _small, *containers)
    upto = np.cumsum(raw, dtype=np.int32)
    expected = 2 * upto - raw + 1000
    expected[::3] += np.cumsum(raw[::3], dtype=np.int32)
    np.testing.assert_array_equal(np.asarray(prefixes), expected)
    np.testing.assert_array_equal(np.asarray(differences), np.diff(raw.astype(np.int32), prepend=0))
    flags = np.r_[True, raw[1:] != raw[:-1]].astype(np.int32)
    runs = np.cumsum(flags) + 100 * flags.sum()
    runs[::3] += 10_000 * (np.cumsum(flags[::3]) - flags[::3]) + flags.sum()
    runs[1::3] += flags[::3].sum()
    np.testing.assert_array_equal(np.asarray(ranks), runs)


def _loads_a_matrix(t_idx, a):
    tile.load(t_idx, a.view_as(amp.extent(4, 8)), items=2)


def _sorts_vectors(t_idx, a):
    tile.sort(t_idx, amp.float2(a[t_idx], 1.0))


def _draws_tickets_of_floats(t_idx, a):
    tile.ticket(t_idx, a)


def _publishes_floats(t_idx, a):
    tile.carry(t_idx, a.view_as(amp.extent(4, 8)), 0, a[t_idx], operator.add, lambda n: a[t_idx])


def _publishes_in_a_row(t_idx, a):
    tile.carry(t_idx, a.reinterpret_as(amp.uint32), 0, a[t_idx], operator.add, lambda n: a[t_idx])


def _moves_two_items_to_one_place(t_idx, a):
    tile.exchange.scatter(t_idx, tile.load(t_idx, a, items=2), t_idx.local[0])


def _decodes_two_values_of_one_length(t_idx, a):
    tile.run_length_decode(t_idx, tile.load(t_idx, a, items=2), 1, items=2)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (_loads_a_matrix, "a tile loads and stores elements of containers of rank 1"),
        (_sorts_vectors, "keys are numbers: merge_sort sorts keys of any type"),
        (_draws_tickets_of_floats, "the counter is a container whose first element is a uint32"),
        (_publishes_floats, "the status is a container of rank 2 with uint32 elements"),
        (_publishes_in_a_row, "the status is a container of rank 2 with uint32 elements"),
        (_moves_two_items_to_one_place, "all arguments must have the same number of items in each thread"),
        (_decodes_two_values_of_one_length, "all arguments must have the same number of items in each thread"),
    ],
)
def test_refused_arguments(run, message):
    a = amp.array_view(np.zeros(32, np.float32))
    with pytest.raises(amp.CompileError, match=f"VKA237: {message}") as refused:
        amp.parallel_for_each(amp.extent(16).tile(16), amp.kernel(run), a)
    assert f"test_collectives.py:{run.__code__.co_firstlineno + 1}, in {run.__name__}" in str(refused.value)
