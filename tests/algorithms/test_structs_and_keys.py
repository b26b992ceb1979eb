"""Extremes of structs by a comparison, and the results of functions by key, which belong together."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.algorithms import lazy, stl

N = 3001


@pytest.fixture
def raw():
    return np.random.default_rng(5).integers(-90, 90, N).astype(np.int32)


def test_extremes_of_structs(accelerator_view, form, raw):
    players = np.zeros(N, [("id", np.int32), ("score", np.float32)])
    players["id"], players["score"] = np.arange(N), raw
    a = amp.array(players, accelerator_view=accelerator_view)

    def less(p, q):
        return p.score < q.score

    assert int(alg.argmax(a, less=less)) == np.argmax(raw)
    assert int(alg.argmin(a, less=less)) == np.argmin(raw)
    view = amp.array_view(a)
    assert int(stl.max_element(view, less)) == np.argmax(raw)
    least, largest = stl.minmax_element(view, less)
    assert (int(least), int(largest)) == (np.argmin(raw), N - 1 - np.argmax(raw[::-1]))
    rows = alg.argmax(a.reshape(1, N), axis=1, less=less, accelerator_view=accelerator_view)
    np.testing.assert_array_equal(np.asarray(rows), [np.argmax(raw)])
    with pytest.raises(ValueError, match="empty sequence"):
        alg.argmax(players[:0], less=less)


@pytest.mark.parametrize("values", [np.float32, np.float16, np.complex64])
def test_extremes_with_nan(accelerator_view, form, raw, values):
    numbers = raw.astype(values)
    numbers[1500] = numbers[2500] = np.nan
    a = amp.array(numbers, accelerator_view=accelerator_view)

    def less(x, y):
        return x.real < y.real if hasattr(x, "real") else x < y

    assert int(alg.argmax(a, less=less)) == int(alg.argmin(a, less=less)) == 1500


def test_the_first_key_of_a_run(accelerator_view, form, raw):
    """As in Thrust and CUB, where keys are equal without being the same."""
    keys = np.sort(raw)
    heads = np.flatnonzero(np.append(True, keys[1:] // 8 != keys[:-1] // 8))
    zeros = np.where(np.arange(N) % 3 == 1, -0.0, 0.0).astype(np.float32)
    signs = amp.array(zeros, accelerator_view=accelerator_view)
    a = amp.array(keys, accelerator_view=accelerator_view)

    def same(x, y):
        return x // 8 == y // 8

    for given in (a, alg.select(a, lambda x: x > -1000)):
        firsts, sums = alg.reduce_by_key(given, given, eq=same)
        np.testing.assert_array_equal(np.asarray(firsts), keys[heads])
        np.testing.assert_array_equal(np.asarray(sums), np.add.reduceat(keys, heads))
    room = amp.array(amp.extent(len(heads)), np.int32, accelerator_view=accelerator_view)
    alg.reduce_by_key(a, a, eq=same, out=(room, None))
    np.testing.assert_array_equal(np.asarray(room), keys[heads])
    assert not np.signbit(np.asarray(alg.reduce_by_key(signs, signs)[0])).any()


def test_results_of_one_call_have_one_count(accelerator_view, form, raw):
    keys = np.sort(raw)
    a = amp.array(keys, accelerator_view=accelerator_view)
    unique, lengths = np.unique(keys, return_counts=True)
    for given in (a, alg.select(a, lambda x: x > -1000)):
        for call, expected in (
            (lambda x: alg.reduce_by_key(x, x), unique * lengths),
            (lambda x: alg.unique_by_key(x, x), unique),
            (alg.run_length_encode, lengths),
        ):
            first, second = call(given)
            together = alg.transform(lambda x, y: x * 1000 + y, first, second)
            np.testing.assert_array_equal(np.asarray(together), unique * 1000 + expected)
    empty = np.zeros(0, np.int32)
    assert len(alg.transform(lambda x, y: x + y, *alg.unique_by_key(empty, empty))) == 0


def test_lazy_inputs_of_counted_ones(accelerator_view, raw):
    a = amp.array(raw, accelerator_view=accelerator_view)
    for limit in (0, 50, 1000):
        found = alg.select(a, lambda x: x > limit)  # noqa: B023
        assert int(alg.sum(lazy.map(lambda x: x * 2, found))) == 2 * raw[raw > limit].sum()
        assert np.asarray(alg.sort(lazy.flip(found))).tolist() == np.sort(raw[raw > limit]).tolist()


def test_shuffled_rows(accelerator_view, raw):
    rows = raw[:3000].reshape(1000, 3)
    a = amp.array(rows, accelerator_view=accelerator_view)
    order = np.asarray(alg.shuffle(np.arange(1000, dtype=np.int32), 7, accelerator_view=accelerator_view))
    assert not np.array_equal(order, np.arange(1000))
    np.testing.assert_array_equal(np.asarray(alg.shuffle(a, 7)), rows[order])
    np.testing.assert_array_equal(np.asarray(alg.shuffle(a, 7, out=a)), rows[order])


def test_places_of_a_matrix_of_values(accelerator_view, form, raw):
    ordered, values = np.sort(raw), raw[:3000].reshape(3, 1000)
    expected = np.searchsorted(ordered, values)
    a = amp.array(ordered, accelerator_view=accelerator_view)
    np.testing.assert_array_equal(np.asarray(alg.searchsorted(a, values)), expected)
    out = np.zeros((1000, 3), np.int32)
    alg.searchsorted(a, values, out=amp.array_view(out.T))
    np.testing.assert_array_equal(out.T, expected)
    with pytest.raises(TypeError, match=r"searchsorted needs a sorted input of rank 1, not extent\(3, 1000\)"):
        alg.searchsorted(values, a)


def test_counts_of_64_bit_integers(accelerator_view, raw):
    numbers = raw.astype(np.int64)
    numbers[::100] += 1 << 40
    expected = np.bincount(numbers[(numbers >= 0) & (numbers < 50)], minlength=50)
    np.testing.assert_array_equal(np.asarray(alg.bincount(numbers, bins=50)), expected)
    unsigned = numbers.astype(np.uint64)
    np.testing.assert_array_equal(np.asarray(alg.bincount(unsigned, bins=50)), expected)
    np.testing.assert_array_equal(np.asarray(alg.bincount(abs(raw).astype(np.int64))), np.bincount(abs(raw)))
    if accelerator_view.accelerator.device_path != "reference" and "int64" not in accelerator_view.accelerator.features:
        return
    for each in (numbers, unsigned):
        a = amp.array(each, accelerator_view=accelerator_view)
        np.testing.assert_array_equal(np.asarray(alg.bincount(a, bins=50)), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.uint32, np.float16, np.int8, np.int16])
def test_scans_into_other_types(accelerator_view, form, raw, dtype):
    numbers = raw[:97] % 2
    a = amp.array(numbers, accelerator_view=accelerator_view)
    for call, expected in (
        (alg.scan, np.cumsum(numbers)),
        (alg.cummax, np.maximum.accumulate(numbers)),
        (alg.cumulative_sum, np.cumsum(numbers)),
        (lambda a, out: alg.scan(a, out=out, reverse=True), np.cumsum(numbers[::-1])[::-1]),
    ):
        out = amp.array(amp.extent(97), dtype, accelerator_view=accelerator_view)
        np.testing.assert_array_equal(np.asarray(call(a, out=out)), expected.astype(dtype))


@pytest.mark.accelerators("reference")
def test_what_messages_advise(accelerator_view):
    structs = np.zeros(3, [("a", np.int32)])
    for call, advice in (
        (lambda: alg.unique(structs), "sort them with key= or less=, and use unique_consecutive"),
        (lambda: alg.isin(structs, structs), r"give a member, such as lazy.map\(lambda s: s.x, a\)"),
        (lambda: alg.argmin(structs), "give less="),
        (lambda: alg.topk(structs, 1), "sort them with key= or less=, and take the first ones"),
    ):
        with pytest.raises(TypeError, match=rf"^structs have no order, which \w+ needs: {advice}$"):
            call()
    with pytest.raises(TypeError, match=r"^rotate needs rank 1, not extent\(3, 2\): roll has axis=$"):
        alg.rotate(np.zeros((3, 2), np.int32), 1)
    table = np.arange(6, dtype=np.int32)
    with pytest.raises(amp.CompileError, match=r"`table_view = amp\.array_view\(table\)`"):
        alg.select(table, lambda x: table[x] > 2)

    def made(u, v):
        return type(u)(u.a * v.a)

    with pytest.raises(amp.CompileError, match=r"change the fields of a copy, `new = old\.copy\(\)`"):
        alg.reduce(structs, made)


@amp.struct
class Amount:
    """A struct with operators."""

    cents: amp.int32

    @amp.func
    def __add__(self, other):
        return Amount(self.cents + other.cents)

    @amp.func
    def __lt__(self, other):
        return self.cents < other.cents

    @amp.func
    def __eq__(self, other):
        return self.cents == other.cents


@pytest.mark.accelerators("reference")
def test_structs_in_functions_of_numbers(accelerator_view):
    plain = np.zeros(3, [("x", np.int32), ("y", np.int32)])
    vectors = amp.array_view(np.zeros(6, np.float32)).reinterpret_as(amp.float2)
    for call, advice in (
        (alg.sum, r"reduce\(a, op\) combines any elements"), (alg.mean, "give a member"), (alg.scan, "give op="),
        (alg.diff, r"adjacent_difference\(a, op\)"), (alg.run_length_encode, "give eq="),
        (alg.any, "give a condition, any_of"),
        (lambda a: alg.find(a, (0, 0)), "give a condition, find_if"), (lambda a: alg.equal(a, a), "give eq="),
        (lambda a: alg.reduce_by_key(a, np.ones(3, np.int32)), "give eq="),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=rf"^\w+ takes numbers, not structs: {advice}"):
            call(plain)
    with pytest.raises(TypeError, match="^mean takes numbers, not vectors: give a member"):
        alg.mean(vectors)
    with pytest.raises(TypeError, match="^vectors have no order, which max needs: give a member"):
        alg.max(vectors)
    assert alg.sum(vectors).item() == (0, 0) and bool(alg.equal(vectors, vectors))
    amounts = np.array([(3,), (1,), (2,)], Amount)
    assert alg.sum(amounts).item() == (6,) and alg.argmin(amounts).item() == 1 and bool(alg.equal(amounts, amounts))
    assert np.asarray(alg.scan(amounts))["cents"].tolist() == [3, 4, 6]


@pytest.mark.accelerators("reference")
def test_arguments_of_other_kinds(accelerator_view):
    a = np.arange(4, dtype=np.int32)
    for call, message in (
        (lambda: alg.sort(a, accelerator_view=amp.accelerator("reference")), ": give its .default_view$"),
        (lambda: alg.sum(lazy.arange(3), accelerator_view="gpu"), "takes an accelerator_view, not 'gpu'$"),
        (lambda: alg.transform(None, a), "^transform takes a function as f, not None$"),
        (lambda: alg.reduce(a, op=None), "^reduce takes a function as op, not None$"),
        (lambda: alg.transform(lambda w, x, y, z: w, a, a, a, a), "takes one to three inputs, not 4: use lazy.zip"),
        (lambda: alg.transform(lambda x, y: x + y, a, 3), r"not int: .*lazy.constant\(number, extent\)$"),
        (lambda: alg.repeat(a, a / 2), "^lengths are integers, not float64$"),
        (lambda: alg.topk(a, "2"), "'str' object cannot be interpreted as an integer"),
        (lambda: alg.sort(a, bits=4), "^bits is a pair, the first bit and the one after the last, not 4$"),
        (lambda: alg.arange(3, 0.5, dtype=np.int32), "^0.5 is not an element of type int32$"),
        (lambda: alg.arange(3, step=0.5, dtype=np.int64), "^0.5 is not an element of type int64$"),
        (lambda: alg.fill(a, None), "^fill takes a number, vector or struct, not None$"),
        (lambda: alg.histogram(a, 3, (1,)), r"^range is a tuple of two numbers, not \(1,\)$"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=message):
            call()
    assert np.asarray(alg.arange(3, 2.0, 3.0, dtype=np.uint8)).tolist() == [2, 5, 8]
    places = np.zeros(2, np.float32)
    np.asarray(alg.topk(a, 2, out=(None, places))[1])
    assert places.tolist() == [3, 2]


def test_no_vectors_have_components_too(accelerator_view):
    a = amp.array(np.arange(12, dtype=np.float32).reshape(4, 3), amp.float3, accelerator_view=accelerator_view)
    for limit, shape in ((5, (2, 3)), (50, (0, 3))):
        found = np.asarray(alg.select(a, lambda v, limit=limit: v.x > limit))
        assert (found.shape, found.dtype) == (shape, np.float32)
