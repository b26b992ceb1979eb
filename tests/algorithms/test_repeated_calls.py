"""Calls that come again: their launches are repeated, in the same memory, and results in use stay what they are."""

from __future__ import annotations

import functools
import gc
import threading

import numpy as np
import pytest

import vkamp as amp
from tests import noted
from tests.algorithms import rows  # noqa: F401
from tests.algorithms.repeated import change, every_function
from tests.algorithms.table import ROWS
from vkamp import algorithms as alg
from vkamp.algorithms import functional, lazy
from vkamp.dispatch import call_cache, call_keys

N = 3001
#: As many calls as there are copies, and more.
CALLS = 7
#: Parts of the table, and how many of them the suite runs.
PARTS, SLICE = 16, 1
#: Functions that wait for the size of their result where it is not given: such calls are not captured.
WAITING = {"bincount", "histogram", "repeat", "run_length_decode"}


@pytest.fixture(autouse=True)
def _forgotten():
    call_cache.trim()
    yield
    call_cache.trim()


@pytest.fixture
def numbers(accelerator_view):
    return amp.array(np.random.default_rng(4).random(N).astype(np.float32), accelerator_view=accelerator_view)


def copies():
    """The remembered calls that can be repeated, each with how many copies it has."""
    return [len(each.copies) for each in call_cache._calls.values() if each.copies]


# -- all functions -------------------------------------------------------------------------------------------------


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize("part", range(SLICE))
def test_every_function(accelerator_view, part, monkeypatch):
    """``python -m tests.algorithms --again`` runs all rows."""
    tested = ROWS[part::PARTS]
    repeated = every_function(accelerator_view, tested, monkeypatch)
    assert {row.name for row in tested} - set(repeated) <= WAITING


# -- results -------------------------------------------------------------------------------------------------------


def test_results_in_use_stay(accelerator_view, numbers):
    """More results than copies, of changing inputs."""
    kept, expected = [], []
    for k in range(CALLS):
        change(numbers, np.full(N, k + 1, np.float32))
        kept.append((alg.sum(numbers), alg.scan(numbers), alg.select(numbers, lambda x: x > 2)))
        expected.append(k + 1)
    for k, (total, sums, chosen) in zip(expected, kept, strict=True):
        assert float(total) == k * N
        np.testing.assert_array_equal(np.asarray(sums), k * np.arange(1, N + 1))
        assert len(chosen) == (N if k > 2 else 0)
    if accelerator_view.accelerator.device_path != "reference":
        assert copies() == [4, 4, 4]


@pytest.mark.accelerators("llvmpipe", "swiftshader")
def test_results_are_used_again(accelerator_view, numbers):
    found = alg.sum(numbers)
    for k in range(CALLS):
        change(numbers, np.full(N, k, np.float32))
        found = alg.sum(numbers)
        assert float(found) == k * N
    # The last result was in use while the next one was computed.
    assert copies() == [2]


@pytest.mark.accelerators("llvmpipe")
@pytest.mark.parametrize("count", [3000, N])
def test_dropped_results_need_one_copy(accelerator_view, count):
    """Also of arrays that kernels see four elements at a time."""
    floats = amp.array(np.random.default_rng(4).random(count, np.float32), accelerator_view=accelerator_view)
    places = alg.argsort(floats)
    table = amp.array(np.asarray(floats)[:2989].reshape(61, 49), accelerator_view=accelerator_view)
    functions = [
        lambda: alg.transform(lambda x: 2 * x, floats),
        lambda: alg.scan(floats),
        lambda: alg.cumulative_sum(floats),
        lambda: alg.select(floats, lambda x: x > 0.5),
        lambda: alg.sort(floats),
        lambda: alg.argsort(floats),
        lambda: alg.take(floats, places),
        lambda: alg.flip(floats),
        lambda: alg.transpose(table),
        lambda: alg.sum(table, axis=0),
        lambda: alg.histogram(floats, 10, (0.0, 1.0)),
        lambda: alg.unique_consecutive(floats),
        lambda: alg.argmax(floats),
    ]
    for function in functions:
        call_cache.trim()
        for _ in range(CALLS):
            function()
        assert copies() == [1], function.__code__.co_names


@pytest.mark.accelerators("llvmpipe", "swiftshader")
def test_what_holds_a_result(accelerator_view, numbers):
    """Its view, a section of its memory, a graph, and numpy's view of its host memory."""

    @amp.kernel
    def twice(idx, a):
        a[idx] = a[idx] * 2

    for hold in (
        lambda found: found,
        lambda found: amp.array_view(found),
        lambda found: amp.array_view(found)[5:9],
        lambda found: found.reinterpret_as(np.int32),
        lambda found: np.asarray(amp.array_view(found)),
        lambda found: alg.transform(functional.identity, found),
    ):
        call_cache.trim()
        kept = []
        for k in range(CALLS):
            change(numbers, np.full(N, k, np.float32))
            kept.append(hold(alg.scan(numbers)))
        for k, each in enumerate(kept):
            found = np.asarray(each).view(np.float32)
            whole = k * np.arange(1, N + 1, dtype=np.float32)
            np.testing.assert_array_equal(found, whole[5:9] if found.size == 4 else whole)
    graphs = []
    for k in range(CALLS):
        change(numbers, np.full(N, k, np.float32))
        found = alg.scan(numbers)
        with amp.capture() as graph:
            amp.parallel_for_each(found.extent, twice, found)
        graphs.append((graph, amp.array_view(found)))
        del found
    for k, (graph, found) in enumerate(graphs):
        graph.replay()
        np.testing.assert_array_equal(np.asarray(found), 2 * k * np.arange(1, N + 1, dtype=np.float32))


@pytest.mark.accelerators("llvmpipe", "swiftshader")
def test_a_result_that_was_changed(accelerator_view, numbers):
    for k in range(CALLS):
        found = alg.scan(numbers)
        np.testing.assert_allclose(np.asarray(found)[-1], np.asarray(numbers).sum(), rtol=1e-5)
        change(found, np.full(N, -k, np.float32))
        alg.fill(found, 9.0)
        del found


def test_chains(accelerator_view, numbers):
    """Results are inputs of other calls, and come again."""
    raw = np.asarray(numbers).astype(np.float64)
    for k in range(CALLS):
        factor = np.float32(k % 3)
        scaled = alg.transform(lambda x: x * factor, numbers)  # noqa: B023 - called at once
        total = alg.sum(alg.scan(scaled))
        np.testing.assert_allclose(float(total), np.cumsum(raw * factor).sum(), rtol=1e-4)


# -- what a call depends on ----------------------------------------------------------------------------------------

OFFSET = 1.0


def moved(x):
    return x + OFFSET


def test_functions_and_what_they_use(accelerator_view, numbers, monkeypatch):
    raw = np.asarray(numbers)
    for k in range(CALLS):
        monkeypatch.setattr("tests.algorithms.test_repeated_calls.OFFSET", float(k // 2))
        np.testing.assert_allclose(np.asarray(alg.transform(moved, numbers)), raw + k // 2, rtol=1e-6)
        added = float(k)
        np.testing.assert_allclose(np.asarray(alg.transform(lambda x: x + added, numbers)), raw + k, rtol=1e-6)  # noqa: B023
        found = alg.count_if(numbers, (lambda x: x > 0.5) if k % 2 else (lambda x: x <= 0.5))
        assert int(found) == ((raw > 0.5) if k % 2 else (raw <= 0.5)).sum()


TABLE = None
STEP = 0.0
#: Has the name of a field.
step = np.float32(9)


@amp.func
def doubled(x):
    return x * 2


def added(k, x):
    return x + k


#: Changes from call to call.
PARTIAL = functools.partial(added, 0)


def shifted(x):
    return doubled(x) + STEP


@pytest.mark.parametrize("is_optimised", [False, True])
def test_what_functions_take_from_their_module(accelerator_view, numbers, monkeypatch, is_optimised):
    """Numbers, containers and functions, which change from call to call, with builtins, modules and attributes."""
    if is_optimised:  # as by `python -O`, where the bytecode lacks names that kernels have
        monkeypatch.setattr(call_keys, "_names_outside", lambda code: None)
    here, raw = "tests.algorithms.test_repeated_calls.", np.asarray(numbers)
    dtype = np.dtype([("x", np.float32), ("step", np.float32)])
    points = amp.array(np.array(list(zip(raw, raw * 4, strict=True)), dtype), accelerator_view=accelerator_view)
    tables = [amp.array(np.arange(8, dtype=np.float32) + k, accelerator_view=accelerator_view) for k in range(2)]
    functions = [doubled, amp.func(lambda x: x * 3)]
    for k in range(CALLS):
        monkeypatch.setattr(f"{here}STEP", float(k))
        monkeypatch.setattr(f"{here}TABLE", tables[k % 2])
        monkeypatch.setattr(f"{here}doubled", functions[k // 3 % 2])
        factor = 2 + k // 3 % 2
        monkeypatch.setattr(f"{here}PARTIAL", functools.partial(added, k))
        for f, values, expected in (
            (shifted, numbers, raw * factor + k),
            (lambda x: shifted(x), numbers, raw * factor + k),
            (lambda x: TABLE[amp.int32(x * 4)] - abs(-x), numbers, (raw * 4).astype(np.int32) + k % 2 - raw),
            (lambda p: p.x + p.step, points, raw * 5),
            (lambda x: PARTIAL(x) * 2, numbers, (raw + k) * 2),
            (lambda x: np.maximum(x, 0.5) + max(x, STEP), numbers, np.maximum(raw, 0.5) + np.maximum(raw, k)),
        ):
            np.testing.assert_allclose(np.asarray(alg.transform(f, values)), expected, rtol=1e-6)


def test_what_functions_capture(accelerator_view, numbers):
    """Numbers that compare equal, functions in functions, and names that have no value yet."""
    raw = np.asarray(numbers)
    for _ in range(3):
        for zero in (0.0, -0.0):
            found = np.asarray(alg.transform(lambda x: amp.precise_math.copysign(x, zero), numbers))  # noqa: B023
            np.testing.assert_array_equal(found, np.copysign(raw, np.float32(zero)))
        for bad in (np.nan, np.inf, np.float32(np.nan)):
            np.testing.assert_array_equal(np.asarray(alg.transform(lambda x: x * 0 + bad, numbers)), raw * 0 + bad)  # noqa: B023
        for k in range(3):

            def inner(x):
                return x + k  # noqa: B023

            def outer(x):
                def within(y):
                    return inner(y) * k  # noqa: B023

                return within(x)

            np.testing.assert_allclose(np.asarray(alg.transform(outer, numbers)), (raw + k) * k, rtol=1e-6)
    with pytest.raises(amp.AmpError):
        alg.transform(lambda x: x + later, numbers)
    later = 3
    for _ in range(3):
        np.testing.assert_allclose(np.asarray(alg.transform(lambda x: x + later, numbers)), raw + 3, rtol=1e-6)


def test_a_number_that_another_function_uses(accelerator_view, numbers, monkeypatch):
    """A number that changes often is a value of the launches whose functions use it, and of no others."""
    raw = np.asarray(numbers)
    for k in range(CALLS):
        monkeypatch.setattr("tests.algorithms.test_repeated_calls.STEP", float(k))
        np.testing.assert_allclose(
            np.asarray(alg.transform(lambda x: shifted(x) + 1, numbers)), raw * 2 + k + 1, rtol=1e-6
        )
        np.testing.assert_allclose(np.asarray(alg.transform(lambda x: x * 5, numbers)), raw * 5, rtol=1e-6)
    if accelerator_view.accelerator.device_path != "reference":
        assert copies() == [1]
    compiled = noted.compilations(monkeypatch)
    for k in range(CALLS):
        monkeypatch.setattr("tests.algorithms.test_repeated_calls.STEP", k + 0.5)
        found = alg.transform(lambda x: shifted(x) + 3, numbers)
        np.testing.assert_allclose(np.asarray(found), raw * 2 + k + 3.5, rtol=1e-6)
    assert 0 < len(compiled) < CALLS


def test_functions_that_call_each_other(accelerator_view, numbers):
    def even(x):
        return odd(x)

    def odd(x):
        return even(x)

    for _ in range(3):
        with pytest.raises(amp.AmpError, match="VKA"):
            alg.transform(even, numbers)


def test_captured_containers(accelerator_view, numbers):
    table = amp.array(np.arange(4, dtype=np.float32), accelerator_view=accelerator_view)
    for k in range(CALLS):
        change(table, np.arange(4, dtype=np.float32) + k)
        found = alg.transform(lambda x: table[amp.int32(x * 4)], numbers)
        np.testing.assert_array_equal(np.asarray(found), (np.asarray(numbers) * 4).astype(np.int32) + k)


def test_numbers_and_types(accelerator_view, numbers):
    for k in range(CALLS):
        for value in (k, np.float32(k), 0.0, -0.0, True):
            filled = np.asarray(alg.fill(alg.copy(numbers), value))
            assert filled.tobytes() == np.full(N, value, np.float32).tobytes()
        for dtype in (np.float32, np.int32):
            found = alg.sum(numbers, dtype=dtype)
            assert found.dtype == dtype


def test_calls_without_containers(accelerator_view):
    on = {"accelerator_view": accelerator_view}

    def lines(scale):
        return alg.generate((3, 5), lambda idx: idx[0] * scale + idx[1], **on)

    for _ in range(4):
        for scale in (1, 2):
            made = lines(scale)
            np.testing.assert_array_equal(np.asarray(made), np.arange(3)[:, None] * scale + np.arange(5))
            numbers = alg.arange(7, step=scale, **on)
            np.testing.assert_array_equal(np.asarray(numbers), np.arange(0, 7 * scale, scale))
    if accelerator_view.accelerator.device_path != "reference":
        assert copies() == [1, 1, 1, 1]
        alg.trim()
        assert copies() == []


class Line:
    """A functor whose members are a number, a function, and another functor, which a second one may lack."""

    __slots__ = ("f", "inner", "step")

    def __init__(self, step, f, inner=None):
        self.step, self.f = step, f
        if inner is not None:
            self.inner = inner

    @amp.func
    def __call__(self, x):
        return self.f(x) * self.step


class Both(Line):
    __slots__ = ()

    @amp.func
    def __call__(self, x):
        return self.inner(x) + self.f(x) * self.step


def test_functors_and_lazy_inputs(accelerator_view):
    """Objects are compared member by member, and functions by their code, which may be equal elsewhere."""
    numbers = amp.array(np.arange(N, dtype=np.int32), accelerator_view=accelerator_view)
    plain = np.arange(N)
    # fmt: off
    same = [lambda x: x + 1, lambda x: x + 1]
    # fmt: on
    for _ in range(3):
        for f in same:
            assert int(alg.sum(lazy.map(Line(2, f), numbers))) == 2 * (plain + 1).sum()
            found = alg.transform(Both(3, f, Line(2, lambda x: -x)), numbers)
            np.testing.assert_array_equal(np.asarray(found), 3 * (plain + 1) - 2 * plain)
            found = alg.transform(Both(3, lambda x: -x, Line(2, f)), numbers)
            np.testing.assert_array_equal(np.asarray(found), 2 * (plain + 1) - 3 * plain)
    if accelerator_view.accelerator.device_path != "reference":
        assert len(copies()) == 6


class Scaled:
    """A functor with a private member, one whose name is a keyword, and one that may be missing."""

    __slots__ = ("__factor", "class", "offset")

    def __init__(self, factor, offset=None):
        self.__factor = factor
        setattr(self, "class", 0)
        if offset is not None:
            self.offset = offset

    @amp.func
    def __call__(self, x):
        return x * self.__factor


class Table(Scaled):
    """A private member of a base class, and one of the same name here."""

    __slots__ = iter(["__factor"])

    def __init__(self, table, factor):
        super().__init__(factor)
        self.__factor = table

    @amp.func
    def __call__(self, x):
        return self.__factor[x] + self._Scaled__factor


def test_members_in_slots(accelerator_view):
    numbers = amp.array(np.arange(N, dtype=np.int32), accelerator_view=accelerator_view)
    tables = [amp.array(np.arange(N, dtype=np.int32) * k, accelerator_view=accelerator_view) for k in range(2)]
    plain = np.arange(N)
    for k in range(CALLS):
        for factor in (k, np.int32(-k)):
            found = alg.transform(Scaled(factor, 1 if k % 2 else None), numbers)
            np.testing.assert_array_equal(np.asarray(found), plain * int(factor))
        found = alg.transform(Table(tables[k % 2], k // 2), numbers)
        np.testing.assert_array_equal(np.asarray(found), plain * (k % 2) + k // 2)


def test_in_place_and_out(accelerator_view, numbers):
    expected = np.asarray(numbers).astype(np.float64)
    out = amp.array(amp.extent(N), np.float32, accelerator_view=accelerator_view)
    for _ in range(CALLS):
        found = alg.transform(lambda x: x * 0.5, numbers, out=numbers)
        assert found is numbers
        expected *= 0.5
        assert alg.scan(numbers, out=out) is out
        np.testing.assert_allclose(np.asarray(out)[-1], expected.sum(), rtol=1e-4)
    np.testing.assert_allclose(np.asarray(numbers), expected, rtol=1e-5)


def test_views_of_numpy_memory(accelerator_view):
    """The host's changes are seen, and memory that is viewed anew is another container."""
    raw = np.zeros(N, np.float32)
    view = amp.array_view(raw)
    for k in range(CALLS):
        raw[:] = k
        view.refresh()
        assert float(alg.sum(view, accelerator_view=accelerator_view)) == k * N
        assert float(alg.sum(amp.array_view(raw), accelerator_view=accelerator_view)) == k * N


def test_scalars_and_counted(accelerator_view, numbers):
    raw = np.asarray(numbers)
    for k in range(CALLS):
        change(numbers, raw + np.float32(k))
        chosen = alg.select(numbers, lambda x: x > 0.25)
        np.testing.assert_allclose(float(alg.sum(chosen)), (raw + k)[raw + k > 0.25].sum(), rtol=1e-4)
        centred = alg.transform(functional.minus, numbers, alg.mean(numbers))
        np.testing.assert_allclose(np.asarray(centred), raw - raw.mean(), atol=2e-5)


def test_counts_that_calls_share(accelerator_view, numbers):
    """The result of a repeated call has the count of its input."""
    raw = np.asarray(numbers)
    found = alg.select(numbers, lambda x: x > 3)
    for _ in range(CALLS):
        ordered = alg.sort(found, descending=True)
        summed = alg.transform(lambda x, y: x * 10 + y, found, ordered)
        chosen = raw[raw > 3]
        np.testing.assert_allclose(np.asarray(summed), chosen * 10 + np.sort(chosen)[::-1], rtol=1e-6)


def test_random_orders_differ(accelerator_view, numbers):
    random = np.random.default_rng(1)
    orders = {np.asarray(alg.shuffle(numbers, random)).tobytes() for _ in range(CALLS)}
    assert len(orders) == CALLS


# -- memory --------------------------------------------------------------------------------------------------------


@pytest.mark.sample("llvmpipe")
@pytest.mark.accelerators("llvmpipe", "swiftshader")
def test_containers_that_go_take_their_calls_along(accelerator_view):
    for k in range(CALLS):
        given = amp.array(np.full(N, k, np.float32), accelerator_view=accelerator_view)
        for _ in range(3):
            assert float(alg.sum(given)) == k * N
        assert copies() == [1]
        del given
        gc.collect()
        assert copies() == []


@pytest.mark.accelerators("llvmpipe")
def test_memory_is_bounded(accelerator_view, monkeypatch):
    monkeypatch.setattr(call_cache, "_most_bytes", lambda view: 100_000)
    given = [amp.array(np.ones(N, np.float32), accelerator_view=accelerator_view) for _ in range(12)]
    large = amp.array(np.ones(20_000, np.float32), accelerator_view=accelerator_view)
    for _ in range(4):
        for each in (*given, large):
            assert np.asarray(alg.scan(each))[-1] == each.extent[0]
        held = sum(copy.nbytes for call in call_cache._calls.values() for copy in call.copies or ())
        assert held <= 100_000
    assert held > 50_000
    alg.trim()
    assert copies() == []


@pytest.mark.accelerators("llvmpipe")
def test_a_large_call_may_hold_half_of_the_memory_of_remembered_calls(accelerator_view, monkeypatch):
    monkeypatch.setattr(call_cache, "_most_bytes", lambda view: 400_000)
    given = amp.array(np.ones(20_000, np.float32), accelerator_view=accelerator_view)  # a result has 80,000 bytes
    results = [alg.scan(given) for _ in range(6)]
    assert copies() == [2]
    for each in results:
        assert np.asarray(each)[-1] == 20_000
    assert sum(copy.nbytes for call in call_cache._calls.values() for copy in call.copies or ()) <= 200_000


@pytest.mark.accelerators("llvmpipe")
def test_temporary_arrays_share_memory(accelerator_view, monkeypatch):
    """Also that of the result; arrays with contents keep their own, and so do the arguments."""
    monkeypatch.setattr(call_cache, "_LEAST_SHARED", 4 * N)

    @amp.kernel
    def add(idx, a, b, out):
        out[idx] = a[idx] + b[idx]

    values = np.arange(N, dtype=np.float32)
    table = amp.array(values, accelerator_view=accelerator_view)

    @call_cache.repeats(lambda: None)
    def chain(a):
        found = a
        for _ in range(5):
            before, found = found, amp.array(a.extent, np.float32, accelerator_view=accelerator_view)
            amp.parallel_for_each(a.extent, add, before, table, found)
        return found

    given = amp.array(np.ones(N, np.float32), accelerator_view=accelerator_view)
    results = [chain(given) for _ in range(4)]
    (kept,) = [call.copies for call in call_cache._calls.values() if call.copies]
    assert [copy.nbytes for copy in kept] == [3 * 4 * N] * 3
    for each in results:
        np.testing.assert_array_equal(np.asarray(each), 1 + 5 * values)
    np.testing.assert_array_equal(np.asarray(given), np.ones(N))


@pytest.mark.accelerators("llvmpipe")
def test_many_threads(accelerator_view, numbers):
    wrong = []

    def work(k):
        mine = alg.fill(amp.array(amp.extent(N), np.float32, accelerator_view=accelerator_view), k)
        for _ in range(30):
            total, shared = alg.sum(mine), alg.sum(lazy.map(functional.identity, numbers))
            if float(total) != k * N or abs(float(shared) - np.asarray(numbers).sum()) > 0.1:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


@pytest.mark.accelerators("llvmpipe")
def test_check_mode_and_captures_run_the_function(accelerator_view, numbers, monkeypatch):
    for _ in range(3):
        alg.sum(numbers)
    with amp.capture() as graph:
        total = alg.sum(numbers)
    change(numbers, np.ones(N, np.float32))
    graph.replay()
    assert float(total) == N
    monkeypatch.setenv("VKAMP_CHECK", "1")
    assert float(alg.sum(numbers)) == N


@pytest.mark.accelerators("llvmpipe")
def test_errors_come_again(accelerator_view, numbers):
    for _ in range(4):
        with pytest.raises(amp.AmpError):
            alg.scan(numbers, out=amp.array_view(numbers)[1:])
        with pytest.raises(amp.CompileError):
            alg.transform(lambda x: x.nothing, numbers)
    assert copies() == []
