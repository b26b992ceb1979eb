"""Targets of reductions, searches, positions, and sorts and merges by key: written whole or not at all."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.algorithms import _choose, functional, lazy
from vkamp.dispatch import call_cache

RAW = np.random.default_rng(11).integers(-30, 30, (37, 41)).astype(np.int32)
FLAT = RAW.reshape(-1)
WORD = FLAT[700:703].copy()

#: Functions of an input with two dimensions, and the results of numpy: one element, or one for each column.
WHOLE = {
    "reduce": (lambda a, k: alg.reduce(a, functional.max, 40, **k), 40),
    "sum": (lambda a, k: alg.sum(a, **k), RAW.sum()),
    "prod": (lambda a, k: alg.prod(a, **k), RAW.prod()),
    "min": (lambda a, k: alg.min(a, **k), RAW.min()),
    "max": (lambda a, k: alg.max(a, **k), RAW.max()),
    "mean": (lambda a, k: alg.mean(a, **k), RAW.mean()),
    "var": (lambda a, k: alg.var(a, **k), RAW.var()),
    "std": (lambda a, k: alg.std(a, **k), RAW.std()),
    "logsumexp": (lambda a, k: alg.logsumexp(a, **k), np.log(np.exp(RAW.astype(float)).sum())),
    "argmin": (lambda a, k: alg.argmin(a, **k), RAW.argmin()),
    "argmax": (lambda a, k: alg.argmax(a, **k), RAW.argmax()),
    "any": (lambda a, k: alg.any(a, **k), True),
    "all": (lambda a, k: alg.all(a, **k), False),
    "any_of": (lambda a, k: alg.any_of(a, lambda x: x > 29, **k), False),
    "all_of": (lambda a, k: alg.all_of(a, lambda x: x < 30, **k), True),
    "none_of": (lambda a, k: alg.none_of(a, lambda x: x > 29, **k), True),
    "count": (lambda a, k: alg.count(a, 7, **k), (RAW == 7).sum()),
    "count_if": (lambda a, k: alg.count_if(a, lambda x: x > 7, **k), (RAW > 7).sum()),
    "count_nonzero": (lambda a, k: alg.count_nonzero(a, **k), np.count_nonzero(RAW)),
    "find": (lambda a, k: alg.find(a, 7, **k), np.argmax(FLAT == 7)),
    "find_if": (lambda a, k: alg.find_if(a, lambda x: x > 29, **k), -1),
    "find_if_not": (lambda a, k: alg.find_if_not(a, lambda x: x < 29, **k), np.argmax(FLAT == 29)),
    "adjacent_find": (lambda a, k: alg.adjacent_find(a, **k), np.argmax(FLAT[1:] == FLAT[:-1])),
    "is_sorted": (lambda a, k: alg.is_sorted(a, **k), False),
    "is_sorted_until": (lambda a, k: alg.is_sorted_until(a, **k), np.argmax(FLAT[1:] < FLAT[:-1]) + 1),
    "is_partitioned": (lambda a, k: alg.is_partitioned(a, lambda x: x < 30, **k), True),
    "partition_point": (lambda a, k: alg.partition_point(a, lambda x: x < 30, **k), FLAT.size),
    "equal": (lambda a, k: alg.equal(a, RAW, **k), True),
    "mismatch": (lambda a, k: alg.mismatch(a, np.where(RAW == 7, 8, RAW), **k), np.argmax(FLAT == 7)),
    "search": (lambda a, k: alg.search(a, WORD, **k), 700),
    "search of too many": (lambda a, k: alg.search(WORD, a, **k), -1),
    "find_end": (lambda a, k: alg.find_end(a, WORD, **k), 700),
    "find_first_of": (lambda a, k: alg.find_first_of(a, WORD, **k), np.argmax(np.isin(FLAT, WORD))),
    "search_n": (lambda a, k: alg.search_n(a, 2, 99, **k), -1),
    "search_n of none": (lambda a, k: alg.search_n(a, 0, 99, **k), 0),
    "includes": (lambda a, k: alg.includes(alg.sort(a, axis=None), np.sort(FLAT)[::2].copy(), **k), True),
    "lexicographical_compare": (lambda a, k: alg.lexicographical_compare(a, RAW + 1, **k), True),
    "nth_element": (lambda a, k: alg.nth_element(a, 9, **k), np.sort(FLAT)[9]),
    "quantile": (lambda a, k: alg.quantile(a, 0.3, **k), np.quantile(RAW, 0.3)),
    "transform_reduce": (lambda a, k: alg.transform_reduce(lambda x: x * x, functional.plus, a, **k), (RAW**2).sum()),
    "vdot": (lambda a, k: alg.vdot(a, a, **k), (RAW**2).sum()),
}  # fmt: skip
ALONG = {
    "reduce": (lambda a, k: alg.reduce(a, functional.max, 20, axis=0, **k), np.maximum(RAW.max(0), 20)),
    "sum": (lambda a, k: alg.sum(a, axis=0, **k), RAW.sum(0)),
    "min": (lambda a, k: alg.min(a, axis=0, **k), RAW.min(0)),
    "mean": (lambda a, k: alg.mean(a, axis=0, **k), RAW.mean(0)),
    "std": (lambda a, k: alg.std(a, axis=0, **k), RAW.std(0)),
    "logsumexp": (lambda a, k: alg.logsumexp(a, axis=0, **k), np.log(np.exp(RAW.astype(float)).sum(0))),
    "argmax": (lambda a, k: alg.argmax(a, axis=0, **k), RAW.argmax(0)),
    "all": (lambda a, k: alg.all(a, axis=0, **k), RAW.all(0)),
    "count_if": (lambda a, k: alg.count_if(a, lambda x: x > 7, axis=0, **k), (RAW > 7).sum(0)),
    "quantile": (lambda a, k: alg.quantile(a, 0.3, axis=0, **k), np.quantile(RAW, 0.3, axis=0)),
    "argsort of a row": (lambda a, k: alg.argsort(amp.array_view(a)[3], **k), np.argsort(RAW[3], kind="stable")),
}
TABLE = {
    "sum": (lambda a, k: alg.sum(a, axis=0, keepdims=True, **k), RAW.sum(0, keepdims=True)),
    "max of all": (lambda a, k: alg.max(a, keepdims=True, **k), RAW.max(keepdims=True)),
    "argsort": (lambda a, k: alg.argsort(a, **k), np.argsort(RAW, kind="stable")),
    "argsort along columns": (lambda a, k: alg.argsort(a, axis=0, **k), np.argsort(RAW, axis=0, kind="stable")),
    "argsort by less": (
        lambda a, k: alg.argsort(a, less=lambda x, y: x > y, **k), np.argsort(-RAW, kind="stable"),
    ),
    "take by a square": (
        lambda a, k: alg.take(a, np.array([[0, 2], [5, -1]], np.int32), 1, **k), RAW[:, [[0, 2], [5, -1]]],
    ),
    "quantiles": (lambda a, k: alg.quantile(a, [0.3, 0.9], axis=0, **k), np.quantile(RAW, [0.3, 0.9], axis=0)),
}  # fmt: skip
CASES = {
    **{f"{name} of all": case for name, case in WHOLE.items()},
    **{f"{name} along an axis": case for name, case in ALONG.items()},
    **{f"{name} in a table": case for name, case in TABLE.items()},
}
OF_TWO = {"minmax", "merge_by_key", "sort_by_key"}


@pytest.fixture
def numbers(accelerator_view):
    return amp.array(RAW, accelerator_view=accelerator_view)


def test_every_function_takes_a_target():
    """But those without a result."""
    functions = {name: getattr(alg, name) for name in alg.__all__}
    without = {
        name for name, each in functions.items()
        if callable(each) and not isinstance(each, type) and "out" not in inspect.signature(each).parameters
    }  # fmt: skip
    assert without == {"deterministic", "for_each", "swap", "trim"}


@pytest.mark.sample("llvmpipe")
@pytest.mark.parametrize("name", CASES)
def test_targets(accelerator_view, numbers, name):
    call, expected = CASES[name]
    found = call(numbers, {})
    is_scalar = isinstance(found, alg.device_scalar)
    dtype, shape = (found.view if is_scalar else found).dtype, np.shape(expected) or (1,)
    close = {"rtol": 1e-5} if dtype.kind == "f" else {"rtol": 0}

    of_numpy = np.zeros(shape, dtype)
    result = call(numbers, {"out": of_numpy})
    np.testing.assert_allclose(np.asarray(result), np.reshape(expected, np.shape(result)), **close)
    assert isinstance(result, alg.device_scalar) == is_scalar
    del result
    np.testing.assert_allclose(of_numpy, np.reshape(expected, shape), **close)

    # Every second column of a larger array; the elements between them stay what they are.
    wide = np.full((*(n + 2 for n in shape[:-1]), 2 * shape[-1] + 3), 9, dtype)
    inside = (*(slice(1, -1) for _ in shape[:-1]), slice(1, 1 + 2 * shape[-1], 2))
    whole = amp.array(wide, accelerator_view=accelerator_view)
    call(numbers, {"out": amp.array_view(whole)[inside]})
    wide[inside] = np.reshape(expected, shape)
    np.testing.assert_allclose(np.asarray(whole), wide, **close)

    out = amp.array(np.full(shape, 9, dtype), accelerator_view=accelerator_view)
    with pytest.raises((amp.AmpError, TypeError)) as caught:
        call(numbers, {"out": amp.array(amp.extent(*shape[:-1], shape[-1] + 1), dtype)})
    longer = amp.extent(*shape[:-1], shape[-1] + 1)
    assert str(caught.value) == f"out has {longer!r}, but the result has {amp.extent(shape)!r}"
    with pytest.raises(TypeError) as caught:
        call(numbers, {"out": amp.array_view(out, readonly=True)})
    assert str(caught.value).endswith("readonly=True), which cannot be written")
    np.testing.assert_array_equal(np.asarray(out), 9)


def test_targets_of_other_types(accelerator_view, numbers):
    """They get the numbers, or a TypeError says that they cannot; sums are computed in the type of their target."""
    for dtype in (np.float32, np.uint8, np.int32):
        out = np.zeros(1, dtype)
        assert int(alg.max(numbers, out=out)) == RAW.max()
        columns = amp.array(amp.extent(41), dtype, accelerator_view=accelerator_view)
        np.testing.assert_array_equal(np.asarray(alg.argmin(numbers, axis=0, out=columns)), RAW.argmin(0))
    total = amp.array(amp.extent(1), np.float32, accelerator_view=accelerator_view)
    assert float(alg.sum(numbers, out=total)) == RAW.sum()
    assert float(alg.sum(numbers, dtype=np.int32, out=total)) == RAW.sum()
    whole = amp.array(amp.extent(1), np.int32, accelerator_view=accelerator_view)
    for call in (alg.mean, alg.std, alg.logsumexp):
        with pytest.raises(TypeError, match="^out has int32 elements, but the result has float32$"):
            call(numbers, out=whole)


def test_sums_of_64_bits_between_other_elements(accelerator_view, numbers):
    for call, expected in ((alg.cumulative_sum, RAW.cumsum), (alg.sum, RAW.sum)):
        for axis in (0, 1):
            out = np.full((*expected(axis).shape, 2), 9, np.int64)
            call(numbers, axis=axis, out=amp.array_view(out[..., 1])).synchronize()
            np.testing.assert_array_equal(out[..., 1], expected(axis))
            np.testing.assert_array_equal(out[..., 0], 9)


def test_targets_that_overlap(accelerator_view):
    a = amp.array(FLAT, accelerator_view=accelerator_view)
    first = amp.array_view(a)[:1]
    overlaps = "^out overlaps an input: give it memory of its own$"
    for call in (alg.max, alg.argmax, alg.sum, alg.all, alg.is_sorted, lambda a, out: alg.find(a, 3, out=out)):
        with pytest.raises(amp.AmpError, match=overlaps):
            call(a, out=first)
    with pytest.raises(amp.AmpError, match=overlaps):
        alg.argsort(a, out=a)
    values, room = alg.copy(a), alg.copy(a)
    with pytest.raises(amp.AmpError, match=overlaps):
        alg.sort_by_key(a, values, out=(values, None))
    for call in (
        lambda out: alg.sort_by_key(a, values, out=out),
        lambda out: alg.minmax(a, out=out),
        lambda out: alg.merge_by_key(a, a, a, a, out=out),
    ):
        with pytest.raises(amp.AmpError, match="^two targets of out overlap: give each memory of its own$"):
            call((room, room))
        with pytest.raises(TypeError, match="^out must be a tuple of 2 targets, each of which may be None or"):
            call(room)
    for each in (a, values, room):
        np.testing.assert_array_equal(np.asarray(each), FLAT)


@pytest.mark.parametrize("less", [None, lambda x, y: x < y])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.spread(2)
def test_sorts_by_key(accelerator_view, less, count):
    """Into new arrays, views with gaps, other types, and their inputs."""
    order = np.argsort(FLAT, kind="stable")
    raw = [FLAT, *(np.arange(FLAT.size, dtype=np.int32) * (k + 1) for k in range(count))]
    inputs = [amp.array(each, accelerator_view=accelerator_view) for each in raw]
    for dtype, step in ((np.int32, 1), (np.float32, 1), (np.int32, 2)):
        rooms = [
            amp.array(np.full(FLAT.size * step, 9, dtype), accelerator_view=accelerator_view) for _ in inputs
        ]  # fmt: skip
        outs = tuple(amp.array_view(each)[::step] for each in rooms) if step > 1 else tuple(rooms)
        alg.sort_by_key(*inputs, less=less, out=outs)
        for each, room in zip(raw, rooms, strict=True):
            np.testing.assert_array_equal(np.asarray(room)[::step], each[order])
            assert step == 1 or (np.asarray(room)[1::step] == 9).all()
    for form in ("runs", "tiles"):
        own = [amp.array(each, accelerator_view=accelerator_view) for each in raw]
        with _choose.forced(form):
            results = alg.sort_by_key(*inputs, less=less, out=(lazy.discard, *own[1:]))
            for each, found in zip(raw, results, strict=True):
                np.testing.assert_array_equal(np.asarray(found), each[order])
            own = [amp.array(each, accelerator_view=accelerator_view) for each in raw]
            results = alg.sort_by_key(*own, less=less, out=tuple(own))
        for each, found, given in zip(raw, results, own, strict=True):
            assert found is given
            np.testing.assert_array_equal(np.asarray(found), each[order])


def test_two_targets(accelerator_view, numbers):
    least, largest = np.zeros(41, np.int32), amp.array(amp.extent(41), np.float32, accelerator_view=accelerator_view)
    found = alg.minmax(numbers, axis=0, out=(least, largest))
    assert found[1] is largest
    np.testing.assert_array_equal(np.asarray(found[0]), RAW.min(0))
    np.testing.assert_array_equal(np.asarray(largest), RAW.max(0))
    keys = amp.array(np.sort(FLAT), accelerator_view=accelerator_view)
    n = FLAT.size + 3
    rooms = [amp.array(amp.extent(n), np.int32, accelerator_view=accelerator_view) for _ in range(2)]
    three, values = np.array([-40, 0, 40], np.int32), np.arange(FLAT.size, dtype=np.int32)
    alg.merge_by_key(keys, three, values, three, out=tuple(rooms))
    both = np.concatenate([np.sort(FLAT), three])
    order = np.argsort(both, kind="stable")
    np.testing.assert_array_equal(np.asarray(rooms[0]), both[order])
    np.testing.assert_array_equal(np.asarray(rooms[1]), np.concatenate([values, three])[order])


@pytest.mark.sample("llvmpipe")
def test_captured_calls_and_repeated_ones(accelerator_view, numbers):
    """A graph stores in its target again; repeated calls store in the target of each."""
    view = accelerator_view
    totals, columns = (
        amp.array(np.zeros(3, np.int64), accelerator_view=view),
        amp.array(amp.extent(41), np.int32, accelerator_view=view),
    )
    narrow = amp.array(amp.extent(41), np.uint8, accelerator_view=view)
    call_cache.trim()
    with amp.capture() as graph:
        alg.sum(numbers, out=amp.array_view(totals)[1:2])
        alg.argmax(numbers, axis=0, out=columns)
        alg.argmin(numbers, axis=0, out=narrow)
    for raw in (RAW + 1, -RAW):
        amp.copy(raw, numbers)
        graph.replay()
        np.testing.assert_array_equal(np.asarray(totals), [0, raw.sum(), 0])
        np.testing.assert_array_equal(np.asarray(columns), raw.argmax(0))
        np.testing.assert_array_equal(np.asarray(narrow), raw.argmin(0))
    outs = [amp.array(amp.extent(1), np.int64, accelerator_view=view) for _ in range(3)]
    for k in range(9):
        amp.copy(RAW + k, numbers)
        assert int(alg.sum(numbers, out=outs[k % 3])) == (RAW + k).sum()
        assert [int(np.asarray(each)[0]) for each in outs[: k + 1]] == [
            (RAW + max(j for j in range(k + 1) if j % 3 == at)).sum() for at in range(min(k + 1, 3))
        ]


@pytest.mark.sample("reference")
def test_targets_for_counted_and_empty_inputs(accelerator_view):
    a = amp.array(FLAT, accelerator_view=accelerator_view)
    found, few = alg.select(a, lambda x: x > 9), FLAT[FLAT > 9]
    out, at = (amp.array(amp.extent(1), dtype, accelerator_view=accelerator_view) for dtype in (np.float32, np.int32))
    alg.mean(found, out=out)
    np.testing.assert_allclose(np.asarray(out), few.mean(), rtol=1e-6)
    alg.count_if(found, lambda x: x > 20, out=at)
    assert np.asarray(at)[0] == (few > 20).sum()
    alg.find(found, int(few[5]), out=at)
    assert np.asarray(at)[0] == np.argmax(few == few[5])
    none = np.zeros(0, np.int32)
    assert alg.sum(none, out=at) == 0
    assert np.asarray(at)[0] == 0
    assert alg.find(none, 3, out=at) == -1
    assert np.asarray(at)[0] == -1
    assert np.isnan(alg.mean(none, out=out))
    assert np.isnan(np.asarray(out)[0])
    columns = np.ones(41, np.int64)
    alg.sum(np.zeros((0, 41), np.int32), axis=0, out=columns)
    np.testing.assert_array_equal(columns, 0)
    with pytest.raises(amp.AmpError, match=r"^out has the shape \(1,\), but the result has \(41,\)$"):
        alg.sum(np.zeros((0, 41), np.int32), axis=0, out=at)
    assert alg.max(a, out=lazy.discard).item() == FLAT.max()


@pytest.mark.sample("llvmpipe", "reference")
def test_sections_that_begin_anywhere(accelerator_view, form):
    """Groups of four elements begin at multiples of four only; launches would work on copies of others."""
    raw = np.random.default_rng(5).integers(0, 9, 25).astype(np.int32)
    whole = amp.array_view(amp.array(amp.extent(40), np.int32, accelerator_view=accelerator_view))
    for first in (0, 1, 6):
        part = whole[first : first + raw.size]
        np.testing.assert_array_equal(np.asarray(alg.scan(raw, out=part)), raw.cumsum())
        np.testing.assert_array_equal(np.asarray(alg.scan(part, functional.max, out=part)), raw.cumsum())
        assert alg.max(part) == raw.sum()
    if accelerator_view.accelerator.device_path != "reference":
        with amp.capture() as graph:
            total = alg.sum(part)
        graph.replay()
        assert total == raw.cumsum().sum()
