"""Functions of each element, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.algorithms import functional, lazy

FACTOR = 3
WHOLE = np.arange(-20, 40, dtype=np.int32).reshape(6, 10)
FLOATS = WHOLE.astype(np.float32) / 3
ROW = WHOLE.ravel()
WIDE = WHOLE.astype(np.int64) << 33

# Each with what numpy gives; `k` are the keywords that say where it runs.
CASES = {
    "transform": (lambda k: alg.transform(lambda x: x * FACTOR + 1, WHOLE, **k), WHOLE * 3 + 1),
    "transform of two": (
        lambda k: alg.transform(lambda x, y: x * y, WHOLE, FLOATS, **k),
        WHOLE.astype(np.float32) * FLOATS,
    ),
    "transform of three": (
        lambda k: alg.transform(lambda x, y, z: x if y > 0 else z, ROW, ROW - 5, -ROW, **k),
        np.where(ROW > 5, ROW, -ROW),
    ),
    "conditions": (lambda k: alg.transform(functional.less, WHOLE, FLOATS, **k), (WHOLE < FLOATS).astype(np.uint8)),
    "strides": (lambda k: alg.transform(functional.negate, WHOLE[::2, ::-3], **k), -WHOLE[::2, ::-3]),
    "dtype": (lambda k: alg.transform(lambda x: x / 4, WHOLE, dtype=np.float16, **k), (WHOLE / 4).astype(np.float16)),
    "generate": (lambda k: alg.generate(10, lambda i: i * i, **k), np.arange(10) ** 2),
    "generate in 2-D": (
        lambda k: alg.generate((3, 4), lambda i: i[0] * 10 + i[1], **k),
        np.add.outer(np.arange(3) * 10, np.arange(4)),
    ),
    "arange": (lambda k: alg.arange(7, 1.5, 0.5, **k), np.arange(7, dtype=np.float32) * 0.5 + 1.5),
    "copy": (lambda k: alg.copy(WHOLE.astype(np.int8), **k), WHOLE.astype(np.int8)),
    "copy of 64 bits": (lambda k: alg.copy(WIDE, **k), WIDE),
    "copy of a lazy input": (
        lambda k: alg.copy(lazy.map(functional.plus, ROW, lazy.arange(60)), **k),
        ROW + np.arange(60, dtype=np.int32),
    ),
    "flip": (lambda k: alg.flip(WHOLE, **k), WHOLE[::-1]),
    "flip of rows": (lambda k: alg.flip(WHOLE, -1, **k), WHOLE[:, ::-1]),
    "flip of a row": (lambda k: alg.flip(WIDE.ravel(), **k), WIDE.ravel()[::-1]),
    "roll": (lambda k: alg.roll(WHOLE, 13, 1, **k), np.roll(WHOLE, 13, 1)),
    "roll back": (lambda k: alg.roll(ROW, -13, **k), np.roll(ROW, -13)),
    "replace": (lambda k: alg.replace(WHOLE, 5, 99, **k), np.where(WHOLE == 5, 99, WHOLE)),
    "replace_if": (
        lambda k: alg.replace_if(FLOATS, lambda x: x > 2, -1, **k),
        np.where(FLOATS > 2, np.float32(-1), FLOATS),
    ),
    "where": (
        lambda k: alg.where((WHOLE % 2).astype(np.uint8), WHOLE, -WHOLE, **k),
        np.where(WHOLE % 2, WHOLE, -WHOLE),
    ),
    "adjacent_difference": (lambda k: alg.adjacent_difference(ROW**2, **k), np.diff(ROW**2, prepend=0)),
    "take": (lambda k: alg.take(ROW, np.array([[3, 1], [59, 0]], np.int32), **k), ROW[[[3, 1], [59, 0]]]),
    "take of 64 bits": (lambda k: alg.take(WIDE.ravel(), ROW % 60, **k), WIDE.ravel()[ROW % 60]),
}


@pytest.mark.parametrize("name", CASES)
def test_against_numpy(accelerator_view, name):
    function, expected = CASES[name]
    found = np.asarray(function({"accelerator_view": accelerator_view}))
    if expected.dtype.itemsize < 8 or name.endswith("64 bits"):
        assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


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
    """A lazy input of a program's own."""

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


def test_wrong_arguments():
    with pytest.raises(ValueError, match="axis 2 is not one of"):
        alg.flip(WHOLE, 2)
    with pytest.raises(TypeError, match="one to three inputs, not 4"):
        alg.transform(functional.plus, ROW, ROW, ROW, ROW)
    with pytest.raises(TypeError, match="adjacent_difference needs rank 1"):
        alg.adjacent_difference(WHOLE)
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
