"""Inputs that are not ordinary: counted ones, numbers on the device, empty arrays; and functions that do not fit."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.noted import refuse_reads
from vkamp import algorithms as alg
from vkamp.algorithms import lazy, stl


@pytest.fixture
def raw():
    return np.random.default_rng(3).integers(-50, 50, 1301).astype(np.int32)


@pytest.fixture
def no_waiting(monkeypatch):
    """A function after which reading a count from the device is an error."""

    def begin():
        refuse_reads(monkeypatch)

    def end():
        monkeypatch.undo()

    return begin, end


def same(found, expected):
    np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.sample("llvmpipe", "reference")
def test_counted_inputs_do_not_wait(accelerator_view, raw, no_waiting):
    begin, end = no_waiting
    a = amp.array(raw, accelerator_view=accelerator_view)
    e = raw[raw % 3 == 0]
    begin()
    c = alg.select(a, lambda x: x % 3 == 0)
    in_order = alg.sort(c)
    found = [
        (in_order, np.sort(e)),
        (alg.argsort(c, descending=True), np.argsort(-e, kind="stable")),
        (alg.sum(c), e.sum()),
        (alg.max(c), e.max()),
        (alg.count(c, 0), (e == 0).sum()),
        (alg.all_of(c, lambda x: x % 3 == 0), True),
        (alg.find_if(c, lambda x: x > 1000), -1),
        (alg.scan(c), np.cumsum(e)),
        (alg.transform(lambda x, y: x + y, c, c), e * 2),
        (alg.select(c, lambda x: x > 0), e[e > 0]),
        (alg.nonzero(c), np.flatnonzero(e)),
        (alg.argmax(c), e.argmax()),
        (alg.argmin(c), e.argmin()),
        (alg.unique_consecutive(in_order), np.unique(e)),
        (alg.transform_reduce(lambda x: x * x, alg.functional.plus, c), (e * e).sum()),
        (alg.vdot(c, c), e @ e),
        (alg.cumulative_prod(alg.clip(c, 1, 1)), np.ones(len(e))),
        (alg.searchsorted(np.array([-9, 9], np.int32), c), np.searchsorted([-9, 9], e)),
        (alg.digitize(c, np.array([-9, 9], np.int32)), np.digitize(e, [-9, 9])),
        (alg.isin(c, np.array([-9, 9], np.int32)), np.isin(e, [-9, 9])),
        (alg.sort_by_key(c, a, descending=True)[1], raw[: len(e)][np.argsort(-e, kind="stable")]),
    ]
    mean = alg.mean(c)
    end()
    for values, expected in found:
        same(values, expected)
    assert abs(float(mean) - e.mean()) < 1e-4


def test_counted_inputs_of_nothing_and_of_too_much(accelerator_view, raw):
    a = amp.array(raw, accelerator_view=accelerator_view)
    nothing = alg.select(a, lambda x: x > 1000)
    assert len(alg.sort(nothing)) == 0
    assert int(alg.sum(nothing)) == 0
    behind = np.full(20, 7, np.int32)
    room = amp.array_view(behind)
    small = alg.select(a, lambda x: x >= 0, out=room.section(0, 10))
    assert int(small.count) == (raw >= 0).sum()
    same(room, [*raw[raw >= 0][:10], *[7] * 10])
    with pytest.raises(amp.AmpError, match="out has room for 10$"):
        np.asarray(small)


@pytest.mark.sample("llvmpipe")
def test_counted_inputs_that_may_lack_room(accelerator_view, raw, no_waiting):
    """Whether all elements fit is on the device, so an algorithm takes the worst case; it must not use a part."""
    begin, end = no_waiting
    a = amp.array(raw, accelerator_view=accelerator_view)
    room, other = (amp.array(1300, np.int32, accelerator_view=accelerator_view) for _ in range(2))
    for _ in range(3):  # more calls than one, since the third one would repeat the launches of the second
        begin()
        fits = alg.select(a, lambda x: x > 0, out=np.zeros(1301, np.int32))
        short = [
            alg.select(a, lambda x: x > 0, out=room),
            alg.nonzero(a, out=lazy.discard),
            alg.unique_consecutive(a, out=other),
            alg.reduce_by_key(a, a, out=(other, None))[0],
        ]
        for each in short:
            for call in (
                lambda c: alg.sum(c), alg.sort, alg.scan, alg.find_if_not, lambda c: alg.transform(abs, c),
                lambda c, fits=fits: alg.select(fits, flags=c), lambda c: alg.transform(lambda x, y: x + y, a, c),
            ):  # fmt: skip
                with pytest.raises(amp.AmpError, match="out has room for [1-9]+0* of up to 1301 elements"):
                    call(each)
        end()
        assert int(alg.sum(short[0].trim())) == raw[raw > 0].sum()
        assert int(alg.sum(fits)) == raw[raw > 0].sum()


def test_functions_that_wait_take_a_counted(accelerator_view, raw):
    a = amp.array(raw, accelerator_view=accelerator_view)
    for least in (0, 20, 1000):  # more calls than one, since the third one would repeat the launches of the second
        for _ in range(3):
            c, e = alg.select(a, lambda x, least=least: x >= least), raw[raw >= least]
            for found, expected in zip(alg.histogram(c, 7), np.histogram(e, 7), strict=True):
                np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6)
            same(alg.bincount(c), np.bincount(e))
            same(alg.repeat(c, 2), np.repeat(e, 2))
    values, lengths = alg.run_length_encode(np.sort(raw))
    same(alg.run_length_decode(values, lengths), np.sort(raw))


def test_a_vector_on_the_device(accelerator_view):
    points = np.random.default_rng(1).random((700, 2), dtype=np.float32)

    @amp.func
    def box(p):
        return amp.float4(p.x, p.y, p.x, p.y)

    @amp.func
    def both(a, b):
        return amp.float4(min(a.x, b.x), min(a.y, b.y), max(a.z, b.z), max(a.w, b.w))

    found = alg.transform_reduce(box, both, amp.array(700, amp.float2, points, accelerator_view=accelerator_view))
    expected = [*points.min(0), *points.max(0)]
    same(found, expected)
    assert found.item() == tuple(map(float, expected))


def test_counted_inputs_that_do_not_fit(accelerator_view, raw):
    c = alg.select(amp.array(raw, accelerator_view=accelerator_view), lambda x: x > 0)
    other = alg.copy(alg.select(c, lambda x: x > 5))
    for call in (lambda: alg.transform(lambda x, y: x + y, c, other), lambda: alg.vdot(c, other)):
        with pytest.raises(amp.AmpError, match="different counts"):
            call()
    wide = r"^an input is counted and has room for 1301 elements, but another one has 9: pass \.trim\(\)"
    for call in (lambda: alg.transform(lambda x, y: x + y, c, raw[:9]), lambda: alg.reduce_by_key(raw[:9], c)):
        with pytest.raises(amp.AmpError, match=wide):
            call()
    with pytest.raises(TypeError, match="digitize in another place than the first does not take a counted: pass its"):
        alg.digitize(raw, c)
    with pytest.raises(TypeError, match="concat with .* does not take a counted"):
        alg.concat(np.zeros((2, 3), np.int32), c)


def test_numbers_on_the_device(accelerator_view, raw, no_waiting):
    begin, end = no_waiting
    f = raw.astype(np.float32)
    a = amp.array(f, accelerator_view=accelerator_view)
    square = amp.array(f[:1296].reshape(36, 36), accelerator_view=accelerator_view)
    begin()
    largest = alg.max(a)
    centred = alg.transform(lambda x, m: x - m, a, alg.mean(a))
    scaled = alg.transform(lambda m, x: x / m, largest, square)
    count, first = alg.count(a, largest), alg.find(a, largest)
    filled = alg.fill(amp.array(10, np.float32, accelerator_view=accelerator_view), largest)
    named = alg.find(a, value=largest)
    rising, order = alg.arange(5, largest, largest, accelerator_view=accelerator_view), alg.sort(a)
    places = alg.searchsorted(order, largest), alg.searchsorted(alg.select(order, lambda x: x > 0), values=largest)
    end()
    assert int(named) == f.argmax()
    same(rising, f.max() * np.arange(1, 6))
    assert [int(each) for each in places] == [(f < f.max()).sum(), ((f > 0) & (f < f.max())).sum()]
    np.testing.assert_allclose(np.asarray(centred), f - f.mean(), atol=1e-4)
    np.testing.assert_allclose(np.asarray(scaled), f[:1296].reshape(36, 36) / f.max(), rtol=1e-6)
    assert (int(count), int(first)) == ((f == f.max()).sum(), f.argmax())
    same(filled, np.full(10, f.max()))


def test_where_keeps_the_type_of_small_numbers_on_the_device(accelerator_view):
    a = amp.array(np.array([5, 6, 7], np.uint16), accelerator_view=accelerator_view)
    found = alg.where(np.array([1, 0, 1], np.uint8), alg.max(a), a)
    assert found.dtype == np.uint16
    same(found, [7, 6, 7])


def of_one_number(a, n):
    """Results of functions that take a number of the elements' type."""
    return {
        "reduce": alg.reduce(a, alg.functional.max, n),
        "reduce along an axis": alg.reduce(a.view_as(amp.extent(7, 43)), init=n, axis=0),
        "scan": alg.scan(a, init=n),
        "scan along an axis": alg.scan(a.view_as(amp.extent(7, 43)), alg.functional.max, init=n, axis=1),
        "segmented": alg.segmented_reduce(a, np.array([0, 0, 100, 301], np.int32), init=n),
        "by key": alg.scan_by_key(lazy.map(lambda x: x > 20, a), a, init=n),
        "counted": alg.reduce(alg.select(a, lambda x: x > 20), init=n),
        "replace": alg.replace(a, n, n),
        "replace_if": alg.replace_if(a, lambda x: x > 20, n),
        "clip": alg.clip(a, low=n),
        "search_n": alg.search_n(a, 1, n),
        "replaced by a copy": stl.replace_copy(a, alg.copy(a), n, 1),
        "removed": stl.remove_copy(a, alg.copy(a), n),
        "inner product": stl.inner_product(a, a, n),
        "iota": stl.iota(alg.copy(a), n),
    }


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.uint8])
def test_a_number_on_the_device_is_one_of_the_host(accelerator_view, no_waiting, dtype):
    begin, end = no_waiting
    raw = (np.arange(301) * 7919 % 43).astype(dtype)
    a = amp.array(raw, accelerator_view=accelerator_view)
    memory = amp.array(np.zeros(1, dtype), accelerator_view=accelerator_view)
    number = alg.device_scalar(memory)
    for n in (5, 12, 5, 30):
        amp.copy(np.array([n], dtype), memory)
        begin()
        found = of_one_number(a, number)
        end()
        for name, expected in of_one_number(a, dtype(n)).items():
            np.testing.assert_array_equal(np.asarray(found[name]), np.asarray(expected), err_msg=f"{name}, {n}")


def test_numbers_on_the_device_in_a_capture(accelerator_view):
    raw = (np.arange(301) * 7919 % 43).astype(np.int32)
    a = amp.array(raw, accelerator_view=accelerator_view)
    with amp.capture(accelerator_view) as graph:
        found = of_one_number(a, alg.max(a))
    for values in (raw, raw // 2, raw + 3):
        amp.copy(values, a)
        graph.replay()
        for name, expected in of_one_number(amp.array(values, accelerator_view=accelerator_view), values.max()).items():
            np.testing.assert_array_equal(np.asarray(found[name]), np.asarray(expected), err_msg=name)


class OnlyDLPack:
    """Memory that is exported by DLPack, and by nothing else."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **named):
        return self.values.__dlpack__(**named)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def test_memory_of_others(accelerator_view, raw):
    for other in (OnlyDLPack(raw), memoryview(raw), raw.tobytes()):
        expected = np.frombuffer(other, np.uint8) if isinstance(other, bytes) else raw
        same(alg.sort(other, accelerator_view=accelerator_view), np.sort(expected))
        same(
            alg.transform(lambda x, y: x + y, other, expected, accelerator_view=accelerator_view),
            expected.astype(np.int32) * 2,
        )
    same(alg.sum(lazy.map(lambda x: x * 2, np.float32(3)), accelerator_view=accelerator_view), 6)


@amp.kernel
def first_into(idx, out, a):
    out[idx] = a[0]


def test_results_that_kernels_take_by_their_containers(accelerator_view, raw):
    a = amp.array(raw, accelerator_view=accelerator_view)
    largest, found = alg.max(a), alg.select(a, lambda x: x > 0)
    out = amp.array(1, np.int32, accelerator_view=accelerator_view)
    with pytest.raises(amp.CompileError, match=r"pass its `\.values`, a container"):
        amp.parallel_for_each(accelerator_view, out.extent, first_into, out, found)
    for container, expected in ((largest.view, raw.max()), (found.values, raw[raw > 0][0])):
        amp.parallel_for_each(accelerator_view, out.extent, first_into, out, container)
        same(out, [expected])
    number = largest.view
    same(alg.transform(lambda x: x - number[0], a), raw - raw.max())


def test_functions_that_wait_for_a_number_on_the_device(accelerator_view, raw):
    """Numbers of another type, and those that say how much or where."""
    a = amp.array(raw, accelerator_view=accelerator_view)
    memory = amp.array(np.zeros(1, np.int32), accelerator_view=accelerator_view)
    number = alg.device_scalar(memory)
    floats = amp.array(a.extent, np.float32, accelerator_view=accelerator_view)
    for n in (3, 7, 11, 13):  # more calls than one, since the third one would repeat the launches of the second
        amp.copy(np.array([n], np.int32), memory)
        assert int(alg.reduce(a, alg.functional.plus, number)) == n + raw.sum()
        same(alg.replace(alg.copy(a, out=floats), number, 99), np.where(raw == n, 99, raw))
        same(alg.clip(floats, -n, number), raw.clip(-n, n))
        same(alg.roll(a, number), np.roll(raw, n))
        same(alg.topk(a, number)[0], np.sort(raw)[::-1][:n])
        same(alg.arange(number), np.arange(n))
        same(alg.diff(a, number), np.diff(raw, n))
        same(alg.repeat(a, number), np.repeat(raw, n))
        same(alg.histogram(a, number, (-50, 50))[0], np.histogram(raw, n, (-50, 50))[0])
        same(alg.segmented_reduce(alg.repeat(a, n), number), raw * n)
        same(alg.search_n(alg.repeat(a, n), number, raw[2]), np.flatnonzero(raw == raw[2])[0] * n)


def test_edges_in_a_capture(accelerator_view, raw):
    a = amp.array(raw, accelerator_view=accelerator_view)
    with amp.capture() as graph:
        c = alg.sort(alg.select(a, lambda x: x > 10))
        centred = alg.transform(lambda x, m: x - m, a, alg.max(a))
    for shift in (0, 5):
        amp.copy(raw + shift, a)
        graph.replay()
        same(c, np.sort((raw + shift)[raw + shift > 10]))
        same(centred, raw - raw.max())


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8])
def test_empty_inputs(dtype):
    e = np.empty(0, dtype)
    assert alg.sum(e) == 0 and alg.sum(e).dtype == np.sum(e).dtype
    assert alg.prod(e) == 1 and alg.reduce(e) == 0 and alg.reduce(e, alg.functional.max, 3) == 3
    for function in (alg.min, alg.max, alg.argmin, alg.argmax):
        with pytest.raises(ValueError, match="zero-size|empty sequence"):
            function(e)
    with pytest.raises(ValueError, match="needs init="):
        alg.reduce(e, lambda x, y: x)
    with pytest.raises(ValueError, match="cannot find the 2 largest of 0"):
        alg.topk(e, 2)
    same(alg.sum(np.empty((0, 3), dtype), axis=0), np.zeros(3))
    for function in (alg.sort, alg.scan, alg.copy, alg.flip, alg.argsort):
        assert np.asarray(function(e)).shape == (0,)
    assert alg.sort(e).dtype == dtype
    assert alg.transform(lambda x: x * 2.0, e).dtype == np.float32
    with pytest.raises(amp.AmpError, match="different shapes"):
        alg.transform(lambda x, y: x, e, np.ones(3, dtype))
    assert [int(alg.find(e, 1)), int(alg.count(e, 1)), bool(alg.all_of(e, lambda x: x > 0))] == [-1, 0, True]
    keys, values = alg.sort_by_key(e, np.empty(0, np.int32))
    assert (keys.size, values.dtype) == (0, np.int32)


E, FULL = np.empty(0, np.int32), np.array([1, 2, 2], np.int32)
ROWLESS = np.empty((0, 2), np.int32)
#: Calls with nothing in an input, each with what it gives.
EMPTY = {
    "argmax of columns": (lambda: alg.argmax(ROWLESS, axis=1), E),
    "bincount": (lambda: alg.bincount(E, minlength=2), [0, 0]),
    "bincount with out": (lambda: alg.bincount(E, minlength=3, out=FULL.copy()), [0, 0, 0]),
    "concat": (lambda: alg.concat(E, FULL, E), FULL),
    "concat of none": (lambda: alg.concat(E, E), E),
    "count_if of columns": (lambda: alg.count_if(ROWLESS, lambda x: x > 0, axis=0), [0, 0]),
    "cummax": (lambda: alg.cummax(E), E),
    "cumulative_prod": (lambda: alg.cumulative_prod(E, include_initial=True), [1]),
    "cumulative_sum": (lambda: alg.cumulative_sum(np.empty((0, 2), np.int32), axis=0, include_initial=True), [[0, 0]]),
    "diff": (lambda: alg.diff(E), E),
    "digitize": (lambda: alg.digitize(E, [1, 2]), E),
    "equal": (lambda: alg.equal(E, E), True),
    "find_end": (lambda: alg.find_end(E, FULL), -1),
    "find_first_of": (lambda: alg.find_first_of(FULL, E), -1),
    "histogram": (lambda: alg.histogram(E, 2, (0, 1))[0], [0, 0]),
    "histogram edges": (lambda: alg.histogram(E, 2)[1], [0, 0.5, 1]),
    "histogram_range": (lambda: alg.histogram_range(E, [1, 2, 3]), [0, 0]),
    "includes": (lambda: [bool(alg.includes(FULL, E)), bool(alg.includes(E, FULL))], [True, False]),
    "intersect1d": (lambda: alg.intersect1d(FULL, E), E),
    "is_partitioned": (lambda: alg.is_partitioned(E, lambda x: x > 0), True),
    "isin": (lambda: alg.isin(FULL, E), [0, 0, 0]),
    "isin with out": (lambda: alg.isin(FULL, E, out=np.ones(3, np.uint8)), [0, 0, 0]),
    "lexicographical_compare": (
        lambda: [bool(alg.lexicographical_compare(*each)) for each in ((E, FULL), (FULL, E), (E, E))],
        [True, False, False],
    ),
    "merge": (lambda: alg.merge(E, FULL), FULL),
    "merge_by_key": (lambda: alg.merge_by_key(FULL, E, FULL * 2, E)[1], FULL * 2),
    "mismatch": (lambda: alg.mismatch(E, E), -1),
    "partition3": (lambda: alg.partition3(E, lambda x: x > 0, lambda x: x < 0)[1:], [0, 0]),
    "partition_point": (lambda: alg.partition_point(E, lambda x: x > 0), 0),
    "permute_dims": (lambda: alg.permute_dims(np.empty((0, 2), np.int32), (1, 0)), np.empty((2, 0))),
    "reduce of columns": (lambda: alg.reduce(ROWLESS, alg.functional.plus, 5, axis=0, keepdims=True), [[5, 5]]),
    "reduce_by_key": (lambda: alg.reduce_by_key(E, E)[1], E),
    "repeat": (lambda: alg.repeat(E, 3), E),
    "rotate": (lambda: alg.rotate(E, 0), E),
    "run_length_decode": (lambda: alg.run_length_decode(E, E), E),
    "scan_by_key": (lambda: alg.scan_by_key(E, E), E),
    "scatter": (lambda: alg.scatter(FULL.copy(), E, E), FULL),
    "search": (lambda: [int(alg.search(FULL, E)), int(alg.search(E, FULL))], [0, -1]),
    "search_n": (lambda: [int(alg.search_n(E, 0, 1)), int(alg.search_n(E, 1, 1))], [0, -1]),
    "searchsorted with out": (lambda: alg.searchsorted(E, FULL, out=FULL.copy()), [0, 0, 0]),
    "segmented_reduce": (lambda: alg.segmented_reduce(E, np.zeros(3, np.int32), init=5), [5, 5]),
    "segmented_scan": (lambda: alg.segmented_scan(E, np.zeros(3, np.int32)), E),
    "segmented_sort": (lambda: alg.segmented_sort(E, np.zeros(1, np.int32)), E),
    "set_difference": (lambda: alg.set_difference(FULL, E), FULL),
    "set_symmetric_difference": (lambda: alg.set_symmetric_difference(E, FULL), FULL),
    "set_union": (lambda: alg.set_union(E, FULL), FULL),
    "setdiff1d": (lambda: alg.setdiff1d(FULL, E), [1, 2]),
    "shuffle": (lambda: alg.shuffle(E, 1), E),
    "take": (lambda: alg.take(FULL, np.empty((0, 2), np.int32)), np.empty((0, 2))),
    "take of no lines": (lambda: alg.take(ROWLESS, np.array([1, 1, 0], np.int32), 1), np.empty((0, 3))),
    "tile_repeat": (lambda: alg.tile_repeat(E, 3), E),
    "union1d": (lambda: alg.union1d(E, FULL), [1, 2]),
    "transform_reduce": (lambda: alg.transform_reduce(lambda x: x * 0.5, alg.functional.plus, E), np.float32(0)),
    "unique": (lambda: [np.asarray(each) for each in alg.unique(E, return_index=True, return_counts=True)], [E, E, E]),
    "unique_by_key": (lambda: alg.unique_by_key(E, E)[0], E),
    "unique_consecutive": (
        lambda: [np.asarray(each) for each in alg.unique_consecutive(E, return_inverse=True)],
        [E, E],
    ),
    "var of columns": (lambda: alg.var(ROWLESS, axis=0), np.full(2, np.nan, np.float32)),
    "where": (lambda: alg.where(E, E, E), E),
}
EMPTY_ERRORS = {
    "equal": (lambda: alg.equal(E, FULL), amp.AmpError),
    "equal to a lazy input": (lambda: alg.equal(lazy.arange(3), E), amp.AmpError),
    "concat": (lambda: alg.concat(np.empty((0, 2)), np.ones((1, 3))), amp.AmpError),
    "minmax": (lambda: alg.minmax(E), ValueError),
    "nth_element": (lambda: alg.nth_element(E, 0), ValueError),
    "quantile": (lambda: alg.quantile(E, 0.5), ValueError),
    "logsumexp": (lambda: alg.logsumexp(E), ValueError),
    "reduce_by_key": (lambda: alg.reduce_by_key(E, FULL), amp.AmpError),
    "scatter": (lambda: alg.scatter(FULL.copy(), E, FULL), amp.AmpError),
    "sort": (lambda: alg.sort(E, out=FULL.copy()), amp.AmpError),
    "take": (lambda: alg.take(E, FULL), IndexError),
}


@pytest.mark.accelerators("reference")
@pytest.mark.parametrize("name", EMPTY)
def test_empty(accelerator_view, name):
    call, expected = EMPTY[name]
    found = np.asarray(call())
    same(found, expected)
    assert found.dtype == np.float32 or found.dtype.kind != "f" or name == "histogram edges"


@pytest.mark.accelerators("reference")
@pytest.mark.parametrize("name", EMPTY)
def test_empty_lazy_inputs(accelerator_view, name, monkeypatch):
    call, expected = EMPTY[name]
    monkeypatch.setattr("tests.algorithms.test_edges.E", lazy.map(lambda x: x * 2, lazy.arange(0)))
    same(np.asarray(call()), expected)


@pytest.mark.accelerators("reference")
@pytest.mark.parametrize("name", EMPTY_ERRORS)
def test_empty_errors(accelerator_view, name):
    call, error = EMPTY_ERRORS[name]
    with pytest.raises(error):
        call()


def test_lazy_inputs_have_no_memory():
    with pytest.raises(TypeError, match=r"a lazy input has no memory: np\.asarray\(alg\.copy\(a\)\)"):
        np.asarray(lazy.arange(3))


def test_empty_selections(accelerator_view):
    e = np.empty(0, np.int32)
    found = alg.select(e, lambda x: x > 0, accelerator_view=accelerator_view)
    assert (len(found), int(found.count), np.asarray(found).dtype) == (0, 0, np.int32)
    values, lengths = alg.run_length_encode(e, accelerator_view=accelerator_view)
    assert len(values) == len(lengths) == 0
    room = amp.array(amp.extent(3), np.int32, accelerator_view=accelerator_view)
    assert alg.run_length_encode(e, out=room)[0].values is room


def test_no_quantiles_and_no_bins(accelerator_view, raw):
    a = amp.array(raw[:12].reshape(3, 4), accelerator_view=accelerator_view)
    for found, expected in (
        (alg.quantile(a, []), np.empty(0, np.float32)),
        (alg.quantile(a, [], axis=1), np.empty((0, 3), np.float32)),
        (alg.bincount(a, bins=0), np.empty(0, np.int32)),
        (alg.bincount(a, lazy.map(lambda x: 0.5 * x, a), bins=0), np.empty(0, np.float32)),
    ):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)


def test_out_that_overlaps_an_input(accelerator_view, raw):
    whole = amp.array_view(np.arange(100, dtype=np.int32))
    left, shifted = whole.section(0, 50), whole.section(1, 50)
    for call in (
        lambda: alg.transform(lambda x: x, left, out=shifted),
        lambda: alg.scan(left, out=shifted),
        lambda: alg.sort(left, out=shifted),
        lambda: alg.select(left, lambda x: x > 0, out=left),
        lambda: alg.adjacent_difference(left, out=left),
    ):
        with pytest.raises(amp.AmpError, match="out overlaps an input"):
            call()
    same(whole, np.arange(100))
    alg.transform(lambda x: x + 1, left, out=left, accelerator_view=accelerator_view)
    same(whole, [*range(1, 51), *range(50, 100)])


class Doubled(lazy.Lazy):
    __slots__ = ("values",)

    def __init__(self, values):
        super().__init__(values.extent)
        self.values = values

    @amp.func
    def value(self, i):
        return 2 * self.values[i]


class DoubledInPlace(Doubled):
    __slots__ = ()
    is_elementwise = True


class Same(lazy.Lazy):
    """A lazy input whose only member is a private one of an object with a dictionary."""

    is_elementwise = True

    def __init__(self, inner):
        super().__init__(inner.extent)
        self.__inner = inner

    @amp.func
    def value(self, i):
        return self.__inner.value(i)


#: Calls that store the elements of a lazy input where an input of that is.
IN_PLACE = {
    "clip": lambda a, out: alg.clip(a, 0, 1000, out=out),
    "cumulative_sum": lambda a, out: alg.cumulative_sum(a, out=out),
    "replace": lambda a, out: alg.replace(a, 3, 4, out=out),
    "scan": lambda a, out: alg.scan(a, out=out),
    "scan of pairs": lambda a, out: alg.scan(lazy.map(lambda p: p.first - p.second, lazy.zip(a, out)), out=out),
    "segmented_scan": lambda a, out: alg.segmented_scan(a, np.array([0, 1000, 1003, 5003], np.int32), out=out),
    "transform": lambda a, out: alg.transform(lambda x: x + 1, a, out=out),
    "transform of two": lambda a, out: alg.transform(lambda x, y: x - y, out, a, out=out),
    "where": lambda a, out: alg.where(a, a, out, out=out),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_lazy_inputs_that_read_the_target(accelerator_view, name):
    """The target may be an input of which only the element at the same position is read."""
    call, numbers = IN_PLACE[name], np.arange(5003, dtype=np.int32) - 2000
    a, places = amp.array(numbers, accelerator_view=accelerator_view), np.arange(5003, dtype=np.int32)[::-1].copy()
    section = amp.array_view(a)[:]
    for source in (lazy.flip(a), lazy.take(a, places), lazy.map(lambda x: -x, lazy.flip(section)), Doubled(a),
                   Same(lazy.flip(a))):  # fmt: skip
        with pytest.raises(amp.AmpError, match="^out overlaps an input: give it memory of its own$"):
            call(source, a)
        same(a, numbers)
    for make in (
        lambda x: x,
        lambda x: lazy.map(lambda v: 3 * v, x),
        DoubledInPlace,
        lambda x: Same(DoubledInPlace(x)),
    ):
        amp.copy(numbers, a)
        expected = np.asarray(call(make(alg.copy(a)), alg.copy(a)))
        for _ in range(3):
            amp.copy(numbers, a)
            same(call(make(a), a), expected)


def test_rotations_of_lazy_inputs_that_read_the_target(accelerator_view):
    numbers = np.random.default_rng(3).integers(-99, 99, 5003).astype(np.int32)
    a = amp.array(numbers, accelerator_view=accelerator_view)
    same(alg.rotate(lazy.flip(a), 1002, out=a), np.roll(numbers[::-1], -1002))


def test_functions_of_the_wrong_arity(accelerator_view, raw):
    a = amp.array(raw, accelerator_view=accelerator_view)
    out = amp.array(raw * 0, accelerator_view=accelerator_view)
    for call, name in (
        (lambda: alg.sort(a, less=lambda x: x, out=out), "sort"),
        (lambda: alg.reduce(a, lambda x: x), "reduce"),
        (lambda: alg.transform(lambda x, y: x, a, out=out), "transform"),
        (lambda: alg.select(a, lambda x, y: x, out=out), "select"),
    ):
        with pytest.raises(amp.CompileError, match=f"VKA222: .*, which `vkamp.algorithms.{name}` calls as") as error:
            call()
        assert error.value.span.file == __file__
    same(out, raw * 0)


def test_errors_end_at_the_callers_line():
    a = amp.array_view(np.arange(10, dtype=np.int32))
    for call, kind, message in (
        (lambda: alg.merge(a, a, 3), TypeError, "merge takes a function as less, not 3"),
        (lambda: alg.sort(a, key=2), TypeError, "sort takes a function as key, not 2"),
        (lambda: alg.sum([1, 2]), TypeError, "not list: write np.array"),
        (lambda: alg.sort(a, descend=True), TypeError, "unexpected keyword argument 'descend'"),
        (lambda: alg.transform(lambda x: x.foo, a), amp.CompileError, "VKA206"),
        (lambda: stl.transform(a, a, lambda x: x.foo), amp.CompileError, "VKA206"),
        (lambda: lazy.map(lambda x: x), TypeError, "one to three inputs, not 0"),
        (lambda: len(alg.select(a, lambda x: x > 2, out=np.zeros(1, np.int32))), amp.AmpError, "out has room for 1"),
        (lambda: np.asarray(alg.select(a, lambda x: x > 2, out=np.zeros(1, np.int32))), amp.AmpError, "room for 1"),
    ):
        with pytest.raises(kind, match=message) as error:
            call()
        assert all("/vkamp/" not in str(frame.path) for frame in error.traceback), message


@pytest.mark.accelerators("llvmpipe", "reference")
def test_inputs_in_any_place_and_by_name(accelerator_view, raw):
    """More values than other arguments have places, and arguments by name that others follow."""
    a = amp.array(raw, accelerator_view=accelerator_view)
    for each in alg.sort_by_key(a, a, a, a, a, descending=True):
        same(each, np.sort(raw)[::-1])
    c = alg.select(a, lambda x: x > 20)
    e = raw[raw > 20]
    for each in alg.sort_by_key(c, c, c, c, less=lambda x, y: x > y):
        same(each, np.sort(e)[::-1])
    same(alg.scan(a=c, op=alg.functional.plus, inclusive=False), np.cumsum(e) - e)
    same(alg.sum(a=c, axis=None), e.sum())
    same(alg.topk(a=c, k=2, largest=False)[0], np.sort(e)[:2])
    same(alg.where(a, x=alg.max(a), y=a), np.where(raw, raw.max(), raw))
    same(alg.equal(a=a, b=alg.max(a)), False)
    points = np.zeros(3, [("x", np.int32)])
    with pytest.raises(TypeError, match="structs have no order"):
        alg.sort_by_key(points, points, points, lambda x, y: x.x < y.x)


def test_segments_in_a_list(accelerator_view):
    values = amp.array(np.arange(10, dtype=np.float32), accelerator_view=accelerator_view)
    assert np.asarray(alg.segmented_reduce(values, [0, 3, 5, 10])).tolist() == [3, 7, 35]
    flags = [True, False, False, True, False, True, False, False, False, False]
    assert np.asarray(alg.segmented_scan(values, flags)).tolist() == [0, 1, 3, 3, 7, 5, 11, 18, 26, 35]


def test_segments_that_are_neither_offsets_nor_flags():
    values = np.arange(6, dtype=np.float32)
    for wrong in ([1, 0, 0, 1, 0, 0], [0, 3], [2, 6]):
        for call in (alg.segmented_scan, alg.segmented_reduce, alg.segmented_sort):
            with pytest.raises(ValueError, match=r"offsets begin with 0 and end with .*, 6; flags have a type of one"):
                call(values, wrong)
