"""``tensordot``, ``einsum`` and ``norm``, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.linalg.inputs import numbers
from vkamp import linalg
from vkamp.algorithms import device_scalar

SUBSCRIPTS = [
    ("ij,jk->ik", (3, 5), (5, 4)), ("ij,jk", (3, 5), (5, 4)), ("ji,jk->ki", (5, 3), (5, 4)),
    ("ij,kj->ik", (3, 5), (4, 5)),
    ("i,i->", (7,), (7,)), ("i,j->ij", (3,), (4,)), ("ij,ij->ij", (3, 4), (3, 4)), ("ij->ji", (3, 4)), ("ij->", (3, 4)),
    ("ii->i", (4, 4)), ("ii", (4, 4)), ("iij->ji", (3, 3, 2)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (3, 4, 2)), ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)), ("ijk,jil->kl", (3, 4, 5), (4, 3, 2)), ("ij,j->i", (3, 4), (4,)),
    ("i,ij,j->", (3,), (3, 4), (4,)), ("ij,kl->", (2, 3), (4, 5)), ("...", (2, 3)), ("i...->...", (3, 2, 4)),
    ("ij,jk->ik", (3, 1), (5, 4)), ("ab,cd->cadb", (2, 3), (4, 5)), ("ij,ij->j", (3, 4), (3, 4)),
    ("aij,ajk->ki", (2, 3, 4), (2, 4, 5)),
]  # fmt: skip


@pytest.mark.parametrize("part", range(3))
def test_einsum(accelerator_view, part):
    for subscripts, *shapes in SUBSCRIPTS[part::3]:
        operands = [numbers(np.float32, *shape, seed=k) for k, shape in enumerate(shapes)]
        expected = np.einsum(subscripts, *operands)
        found = linalg.einsum(subscripts, *operands, accelerator_view=accelerator_view)
        assert isinstance(found, device_scalar) == (expected.ndim == 0), subscripts
        assert np.shape(found) == expected.shape, subscripts
        np.testing.assert_array_equal(np.asarray(found), expected, err_msg=subscripts)


def test_einsum_of_other_types_and_out(accelerator_view):
    a, b = numbers(np.complex64, 3, 4), numbers(np.complex64, 3, 5)
    out = amp.array_view(np.zeros((5, 4), np.complex64))
    assert linalg.einsum("ij,ik->kj", a, b, out=out, accelerator_view=accelerator_view) is out
    np.testing.assert_array_equal(np.asarray(out), np.einsum("ij,ik->kj", a, b))


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [("ij,jk", [(2, 3)]),  ("ijk", [(2, 3)]), ("i?", [(2, 3)]), ("ij->ik", [(2, 3)]), ("ij->ii", [(2, 3)]),
     ("i", [(2, 3)])],
)  # fmt: skip
def test_subscripts_that_do_not_fit(subscripts, shapes):
    with pytest.raises(ValueError, match="subscripts|result"):
        linalg.einsum(subscripts, *(np.ones(shape, np.float32) for shape in shapes))


def test_extents_that_differ():
    with pytest.raises(TypeError, match="einsum takes subscripts in a string"):
        linalg.einsum(np.ones((2, 3), np.float32), [0, 1])
    with pytest.raises(amp.AmpError, match="'j' has 3 elements in one place, 4 in another"):
        linalg.einsum("ij,jk", np.ones((2, 3), np.float32), np.ones((4, 5), np.float32))
    with pytest.raises(amp.AmpError, match="axis 1 of a has 3 elements, but axis 0 of b has 4"):
        linalg.tensordot(np.ones((2, 3), np.float32), np.ones((4, 5), np.float32), 1)


@pytest.mark.parametrize("axes", [0, 1, 2, ([1, 0], [0, 1]), (1, 0), ([-1], [-3]), ([], [])])
def test_tensordot(accelerator_view, axes):
    a, b = numbers(np.float32, 3, 4), numbers(np.float32, 4, 3, 2)
    b = numbers(np.float32, 3, 4, 2) if axes == 2 else b
    expected = np.tensordot(a, b, axes)
    np.testing.assert_array_equal(np.asarray(linalg.tensordot(a, b, axes, accelerator_view=accelerator_view)), expected)


def test_tensordot_of_wrong_axes():
    a = np.ones((2, 3), np.float32)
    for axes in (3, -1, (0, [0, 1]), (2, 0), ([0, 0], [0, 1])):
        with pytest.raises(ValueError, match="ax"):
            linalg.tensordot(a, a, axes)


NORMS = [
    ((7,), None, None), ((7,), 1, None), ((7,), np.inf, None), ((7,), -np.inf, None), ((7,), 0, None), ((7,), 3, None),
    ((4, 5), None, None), ((4, 5), "fro", None), ((4, 5), 1, None), ((4, 5), -1, None), ((4, 5), np.inf, None),
    ((4, 5), -np.inf, None), ((4, 5), None, 0), ((4, 5), 1, 1), ((2, 4, 5), 1, (1, 2)), ((2, 4, 5), np.inf, (0, 2)),
    ((2, 4, 5), "fro", (2, 1)), ((2, 4, 5), None, None), ((2, 4, 5), 2, -1), ((2, 4, 5), 2.5, 1), ((1,), 2, None),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.int32])
def test_norms(accelerator_view, dtype):
    chosen = NORMS if dtype == np.float32 else NORMS[np.dtype(dtype).itemsize // 4 :: 4]
    for k, (shape, order, axis) in enumerate(chosen):
        x, keepdims = numbers(dtype, *shape), k % 2 == 1
        expected = np.linalg.norm(x, order, axis, keepdims)
        found = linalg.norm(x, order, axis, keepdims, accelerator_view=accelerator_view)
        what = f"{shape}, {order}, {axis}"
        assert np.shape(found) == np.shape(expected), what
        assert np.asarray(found).dtype == np.float32
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5, err_msg=what)


def test_orders_that_there_are_not():
    x = np.ones((2, 3), np.float32)
    for order, axis in (("other", None), (3, None), ("fro", 0)):
        with pytest.raises(ValueError, match="order"):
            linalg.norm(x, order, axis)
    with pytest.raises(ValueError, match="axis"):
        linalg.norm(x, 1, (0, 0))


def test_norms_by_singular_values(accelerator_view):
    x = numbers(np.float32, 3, 4)
    for order in (2, -2, "nuc"):
        found = linalg.norm(x, order, accelerator_view=accelerator_view)
        np.testing.assert_allclose(float(found), np.linalg.norm(x, order), rtol=1e-5)
    with pytest.raises(ValueError, match="order"):
        linalg.norm(np.ones((2, 3, 4), np.float32), 3, (1, 2))
