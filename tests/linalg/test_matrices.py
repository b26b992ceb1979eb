"""Powers, chains, tensors as matrices, and what rearranges elements, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.linalg.inputs import numbers
from vkamp import linalg


def same(found, expected):
    found = np.asarray(found)
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


@pytest.fixture
def on(accelerator_view):
    """Puts an array in the device's memory."""
    return lambda raw: amp.array(raw, accelerator_view=accelerator_view)


def test_powers(on, accelerator_view):
    a = numbers(np.float32, 2, 3, 3)
    for n in (0, 1, 2, 3, 7):
        same(linalg.matrix_power(on(a), n), np.linalg.matrix_power(a, n))
    whole = numbers(np.int32, 3, 3)
    found = linalg.matrix_power(on(whole), 3)
    assert found.dtype == np.int32
    same(found, np.linalg.matrix_power(whole, 3))
    x = on(a)
    assert not linalg.matrix_power(x, 1).overlaps(x)
    assert linalg.matrix_power(np.zeros((0, 0)), 2).shape == (0, 0)
    with pytest.raises(TypeError, match="integer, not float"):
        linalg.matrix_power(x, 1.5)
    with pytest.raises(amp.AmpError, match="square"):
        linalg.matrix_power(on(a[:, :2].copy()), 2)


def test_chains(on):
    chain = [numbers(np.float32, *shape, seed=k) for k, shape in enumerate(((6,), (6, 2), (2, 5), (5, 4), (4,)))]
    for part in (chain, chain[1:4], chain[:2], chain[2:], [chain[0], chain[0]]):
        expected = np.asarray(np.linalg.multi_dot(part) if len(part) > 2 else part[0] @ part[1])
        same(linalg.multi_dot([on(each) for each in part]), expected)
    with pytest.raises(ValueError, match="two or more"):
        linalg.multi_dot(chain[:1])
    with pytest.raises(TypeError, match="vectors at its ends"):
        linalg.multi_dot([chain[1], chain[0], chain[1]])


def test_the_order_of_a_chain():
    """The example of Cormen's book: 15,125 multiplications."""
    from vkamp.linalg.matrices import _chain

    splits = _chain([30, 35, 15, 5, 10, 20, 25])
    assert (splits[0, 5], splits[0, 2], splits[3, 5]) == (2, 0, 4)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.complex64])
def test_kronecker_products(on, dtype):
    for first, second in (((2, 3), (3, 2)), ((3,), (2, 2)), ((2, 1, 2), (2,)), ((1,), (4,))):
        a, b = numbers(dtype, *first), numbers(dtype, *second, seed=1)
        same(linalg.kron(on(a), on(b)), np.kron(a, b))
    out = on(np.zeros((4,), dtype))
    assert linalg.kron(a, b, out=out) is out
    assert linalg.kron(np.zeros((0, 2)), np.ones((3, 1))).shape == (0, 2)


def test_cross_products(on):
    a, b = numbers(np.float32, 4, 3), numbers(np.float32, 3, seed=1)
    same(linalg.cross(on(a), on(b)), np.cross(a, b))
    same(linalg.cross(on(a.T.copy()), on(a[::-1].T.copy()), axis=0), np.cross(a.T, a[::-1].T, axis=0))
    assert linalg.cross(np.zeros((0, 3)), np.zeros(3)).shape == (0, 3)
    with pytest.raises(ValueError, match="three elements"):
        linalg.cross(on(a), on(b[:2].copy()))
    with pytest.raises(amp.AmpError, match="broadcast"):
        linalg.cross(on(a), on(a[:3].copy()))


def test_diagonals_traces_and_transposes(on):
    for shape in ((3, 3), (2, 4), (4, 2), (2, 3, 5), (1, 1)):
        a = numbers(np.float32, *shape)
        same(linalg.matrix_transpose(on(a)), np.swapaxes(a, -1, -2))
        for offset in (-4, -1, 0, 1, 3):
            same(linalg.diagonal(on(a), offset=offset), np.diagonal(a, offset, -2, -1))
            same(linalg.trace(on(a), offset=offset), np.trace(a, offset, -2, -1))
    assert linalg.trace(on(np.int32([[1, 2], [3, 4]]))).item() == 5
    assert linalg.trace(np.zeros((0, 0))) == 0
    with pytest.raises(TypeError, match="takes matrices"):
        linalg.trace(on(a[0].copy()))


def test_tensors(on):
    random = np.random.default_rng(1)
    a = random.standard_normal((4, 6, 8, 3)).astype(np.float32)
    found = np.asarray(linalg.tensorinv(on(a)))
    np.testing.assert_allclose(found, np.linalg.tensorinv(a), rtol=1e-2, atol=1e-3)
    a = (random.standard_normal((2, 3, 6)) + 3 * np.eye(6).reshape(2, 3, 6)).astype(np.float32)
    b = np.ones((2, 3), np.float32)
    np.testing.assert_allclose(np.asarray(linalg.tensorsolve(on(a), on(b))), np.linalg.tensorsolve(a, b), rtol=1e-3)
    moved = np.moveaxis(a, 2, 0).copy()
    found = np.asarray(linalg.tensorsolve(on(moved), on(b), axes=(0,)))
    np.testing.assert_allclose(found, np.linalg.tensorsolve(moved, b, (0,)), rtol=1e-3)
    with pytest.raises(amp.AmpError, match="do not make a square matrix"):
        linalg.tensorsolve(on(a), on(b[0].copy()))
    with pytest.raises(ValueError, match="positive"):
        linalg.tensorinv(on(a), 0)


def test_numbers_in_contractions(accelerator_view):
    v = numbers(np.float32, 3)
    same(linalg.einsum("i,", amp.array(v, accelerator_view=accelerator_view), np.float32(3)), v * 3)
    assert linalg.einsum(",", np.float32(2), np.float32(3), accelerator_view=accelerator_view).item() == 6
