"""Functions of each element, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.library_views import direct_view
from vkamp import algorithms as alg
from vkamp.algorithms import functional, lazy

WHOLE = np.arange(-20, 40, dtype=np.int32).reshape(6, 10)
ROW = WHOLE.ravel()


def test_bits_of_integers(accelerator_view):
    numbers = [0, 1, 2, 3, 4, 12, 255, 256, 1 << 30, (1 << 31) - 1]
    words = np.array([*numbers, 1 << 31, (1 << 32) - 1], np.uint32)
    for raw in (words, words.view(np.int32)):
        for function, expected in (
            (functional.count_bits, [f"{x:b}".count("1") for x in words]),
            (functional.log2, [int(x).bit_length() - 1 for x in words]),
            (functional.is_power_of_two, [f"{x:b}".count("1") == 1 for x in words]),
            (lambda x: functional.is_bit_set(x, 31), words >> 31),
        ):
            found = np.asarray(alg.transform(function, raw, accelerator_view=accelerator_view))
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal([int(function(x)) for x in raw], expected)
    host = functional.log2(5), functional.count_bits(7), functional.is_power_of_two(8), functional.is_bit_set(2, 1)
    assert host == (2, 3, True, True)


@amp.func
def increase(values, i):
    values[i] += 1


def test_in_place(accelerator_view):
    values = amp.array(WHOLE, accelerator_view=accelerator_view)
    alg.for_each(increase, values)
    alg.transform(functional.negate, values, out=values)
    np.testing.assert_array_equal(np.asarray(values), -(WHOLE + 1))
    assert alg.fill(values, 7) is values
    assert (np.asarray(values) == 7).all()
    alg.scatter(values.reshape(-1), np.arange(60, dtype=np.int32)[::-1].copy(), ROW)
    np.testing.assert_array_equal(np.asarray(values).ravel(), ROW[::-1])
    points = amp.array(amp.extent(3), amp.float2, accelerator_view=accelerator_view)
    alg.fill(points, (1.0, 2.0))
    assert np.asarray(points).tolist() == [[1, 2]] * 3


class Squares(lazy.Lazy):
    """A lazy input that a program defines."""

    def __init__(self, values, scale):
        super().__init__(values.extent)
        self.values, self.scale = values, scale

    @amp.func
    def value(self, i):
        return self.values[i] * self.values[i] * self.scale


def test_a_lazy_class(accelerator_view):
    values = amp.array(np.arange(5, dtype=np.int32), accelerator_view=accelerator_view)
    # It runs where the array is.
    found = alg.transform(lambda x: x + 1, Squares(values, 2))
    assert found.accelerator_view == accelerator_view
    assert np.asarray(found).tolist() == [1, 3, 9, 19, 33]


def test_functors_on_the_host():
    assert functional.not1(functional.truth)(0) and not functional.not2(functional.less)(1, 2)
    assert functional.minmax(3, 2) == (2, 3) and functional.max(1, 2) == 2 and functional.fmin(float("nan"), 2.0) == 2.0


@amp.kernel
def _reads(idx, a, row, out):
    out[idx] = functional.padded_read(a, idx + amp.index(1, -1)) + functional.padded_read(row, idx[1] - 1)


@amp.kernel
def _writes(idx, a):
    functional.padded_write(a, idx + amp.index(1, -1), -1)


@amp.kernel
def _orders(idx, a, out):
    first, second = functional.minmax(a[idx], 2, functional.greater)
    out[idx] = 10 * first + second


def test_reads_and_writes_outside_of_containers(accelerator_view):
    """An index may have any rank."""
    raw = np.arange(1, 21, dtype=np.int32).reshape(4, 5)
    view, row, out = amp.array_view(raw.copy()), amp.array_view(raw[3].copy()), amp.array_view(np.zeros_like(raw))
    amp.parallel_for_each(accelerator_view, amp.extent(4, 5), _reads, view, row, out)
    expected = np.tile(np.r_[0, raw[3, :4]], (4, 1))
    expected[:3, 1:] += raw[1:, :4]
    np.testing.assert_array_equal(np.asarray(out), expected)
    amp.parallel_for_each(accelerator_view, amp.extent(4, 5), _writes, view)
    expected = raw.copy()
    expected[1:, :4] = -1
    np.testing.assert_array_equal(np.asarray(view), expected)
    assert functional.padded_read(row, 5) == 0 and functional.padded_read(view, amp.index(0, 4)) == 5


def test_pairs_in_the_order_of_a_comparison(accelerator_view):
    view, out = amp.array_view(np.arange(1, 4, dtype=np.int32)), amp.array_view(np.zeros(3, np.int32))
    amp.parallel_for_each(accelerator_view, view.extent, _orders, view, out)
    assert np.asarray(out).tolist() == [21, 22, 32]
    assert functional.minmax(2, 3, functional.greater) == (3, 2)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="axis 2 is not one of"):
        alg.flip(WHOLE, 2)
    with pytest.raises(TypeError, match="one to three inputs, not 4"):
        alg.transform(functional.plus, ROW, ROW, ROW, ROW)
    with pytest.raises(amp.CompileError, match=r"VKA\d+") as caught:
        alg.transform(lambda x: x.nothing, ROW)
    assert "test_transform.py" in str(caught.value) and "x.nothing" in str(caught.value)


def test_out_and_inputs(accelerator_view):
    raw = np.array([5, 3, 9, 1, 7, 7], np.int32)

    def array():
        return amp.array(raw, accelerator_view=accelerator_view)

    values = array()
    alg.transform(lambda x: x + 1, values, out=values.reshape(-1))
    alg.scan(values, out=amp.array_view(values))
    assert np.asarray(values).tolist() == np.cumsum(raw + 1).tolist()
    values = array()
    assert np.asarray(alg.sort(values, out=values)).tolist() == sorted(raw)
    values = array()
    view = amp.array_view(values)
    for wrong in (
        lambda: alg.transform(functional.negate, view[1:], out=view[:5]),
        lambda: alg.flip(view, out=view),
        lambda: alg.roll(view, 1, out=values),
        lambda: alg.take(view, np.array([1, 0], np.int32), out=view[:2]),
        lambda: alg.adjacent_difference(view, out=view),
        lambda: alg.scan(view[1:], out=view[:5]),
        lambda: alg.select(view, lambda x: x > 3, out=view),
        lambda: alg.searchsorted(view, view, out=view),
        lambda: alg.sort(view[1:], out=view[:5]),
    ):
        with pytest.raises(amp.AmpError, match="out overlaps an input: give it memory of its own"):
            wrong()
    assert np.asarray(values).tolist() == raw.tolist()
    memory = raw.copy()
    with pytest.raises(amp.AmpError, match="overlaps"):
        alg.flip(memory, out=memory, accelerator_view=accelerator_view)
    # The two halves have no byte in common.
    alg.flip(view[:3], out=view[3:])
    assert np.asarray(values).tolist() == [5, 3, 9, 9, 3, 5]


@pytest.mark.parametrize("integer", [np.int64, np.uint8])
def test_counts_of_numpy(accelerator_view, integer):
    k = {"accelerator_view": accelerator_view}
    np.testing.assert_array_equal(alg.repeat(WHOLE, integer(2), axis=1, **k), np.repeat(WHOLE, 2, 1))
    np.testing.assert_array_equal(alg.repeat(WHOLE, integer(3), **k), np.repeat(WHOLE, 3))
    np.testing.assert_array_equal(alg.tile_repeat(WHOLE, integer(2), **k), np.tile(WHOLE, 2))
    np.testing.assert_array_equal(alg.tile_repeat(WHOLE, (integer(2), 3), **k), np.tile(WHOLE, (2, 3)))
    with pytest.raises(TypeError, match="repeat takes a number for each element in one row only: leave out axis="):
        alg.repeat(WHOLE, np.arange(6, dtype=np.int32), axis=0, **k)


@pytest.mark.parametrize("shape", [(5, 7, 33), (1201, 1, 2), (2, 3, 400)])
def test_runs_of_several_dimensions(accelerator_view, shape):
    """Runs that begin in the middle of a line, and lines of one or two elements."""
    if accelerator_view.accelerator.device_path == "reference":
        shape = tuple(min(n, 9) for n in shape)
    wide = np.random.default_rng(1).integers(0, 99, (*shape[:2], 2 * shape[2])).astype(np.int32)
    raw = wide[:, :, ::2]
    at = {"accelerator_view": accelerator_view}
    np.testing.assert_array_equal(np.asarray(alg.transform(lambda x: 3 * x, raw, **at)), 3 * raw)
    np.testing.assert_array_equal(np.asarray(alg.permute_dims(raw, (2, 0, 1), **at)), raw.transpose(2, 0, 1))
    found = alg.generate(shape, lambda i: i[0] * 10000 + i[1] * 1000 + i[2], **at)
    i, j, k = np.indices(shape)
    np.testing.assert_array_equal(np.asarray(found), i * 10000 + j * 1000 + k)
    np.testing.assert_array_equal(np.asarray(alg.roll(raw, 2, 2, **at)), np.roll(raw, 2, 2))


class _Scaled:
    def __init__(self, factor):
        self.factor = factor
        self.name = "unused by kernels"

    def of(self, x):
        return x * self.factor

    def again(self, x):
        return self.of(self.of(x))

    def either(self, a, b):
        return a if a * self.factor > b * self.factor else b

    @classmethod
    def fixed(cls, x):
        return x


@pytest.mark.parametrize("engine", ["default", "direct"])
def test_methods_with_their_object(accelerator_view, engine):
    view = accelerator_view if engine == "default" else direct_view(accelerator_view.accelerator)
    options = {"accelerator_view": view}
    scaled = _Scaled(3)
    for factor in (3, 3, -2, 7):  # again, so that calls are repeated, and with another number
        scaled.factor = factor
        np.testing.assert_array_equal(alg.transform(scaled.of, ROW, **options), ROW * factor)
        np.testing.assert_array_equal(alg.transform(scaled.again, ROW, **options), ROW * factor**2)
        assert alg.reduce(ROW, scaled.either, **options).item() == (ROW.max() if factor > 0 else ROW.min())
        found = alg.select(ROW, scaled.of, **options)
        np.testing.assert_array_equal(found.trim(), ROW[ROW != 0])
    np.testing.assert_array_equal(alg.copy(lazy.map(_Scaled(4).of, ROW), **options), ROW * 4)
    outer = scaled.of
    np.testing.assert_array_equal(alg.transform(lambda x: outer(x) + 1, ROW, **options), ROW * 7 + 1)


def test_methods_that_are_no_functors():
    with pytest.raises(amp.CompileError, match="VKA205.*is a method, which a kernel cannot use"):
        alg.transform(_Scaled.fixed, ROW)


def test_constants_of_the_device(accelerator_view):
    largest = alg.max(ROW, accelerator_view=accelerator_view)
    for extent in (5, (2, 3)):
        found = alg.copy(lazy.constant(largest, extent), accelerator_view=accelerator_view)
        np.testing.assert_array_equal(found, np.full(extent, ROW.max()))
    found = alg.transform(lambda x, y: x - y, ROW, lazy.constant(largest, ROW.size), accelerator_view=accelerator_view)
    np.testing.assert_array_equal(found, ROW - ROW.max())
    assert alg.max(lazy.constant(largest, (3, 7)), axis=1, accelerator_view=accelerator_view).extent == amp.extent(3)


class Scaled:
    """An object that is called, as people write it."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return self.factor * x


def test_objects_that_are_called(accelerator_view):
    raw = np.arange(10, dtype=np.int32)
    a = amp.array(raw, accelerator_view=accelerator_view)
    scaled = Scaled(2)
    for scaled.factor in (2, 2, 2, 3):
        np.testing.assert_array_equal(np.asarray(alg.transform(scaled, a)), scaled.factor * raw)
    assert alg.sum(lazy.map(scaled, a)) == 3 * raw.sum()


@pytest.mark.accelerators("reference")
def test_positions_that_are_no_integers(accelerator_view):
    a, mask = np.arange(4, dtype=np.int32), np.array([True, False, True, True])
    for at, given in ((mask, "bool: select"), (lazy.map(lambda x: x > 1, a), "bool: select"), (a / 2, "float64$")):
        for call in (
            lambda at=at: alg.take(a, at), lambda at=at: alg.take(a, at, 0), lambda at=at: alg.scatter(a.copy(), at, a),
            lambda at=at: alg.scatter_reduce(a.copy(), at, a), lambda at=at: alg.copy(lazy.take(a, at)),
        ):  # fmt: skip
            with pytest.raises(TypeError, match=f"^positions are integers, not {given}"):
                call()
