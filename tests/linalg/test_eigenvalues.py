"""Eigenvalues and singular values by residuals, orthogonality, and numpy's values."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from vkamp import linalg

EPS = np.finfo(np.float32).eps
TYPES = [np.float32, np.complex64]


def matrix(dtype, *shape):
    random = np.random.default_rng(sum(shape))
    raw = random.standard_normal(shape)
    return (raw + 1j * random.standard_normal(shape) if np.dtype(dtype).kind == "c" else raw).astype(dtype)


def most(view):
    """The largest extent: the reference accelerator runs every rotation in Python."""
    return 4 if view.accelerator.device_path == "reference" else 13


def is_unitary(q):
    n = q.shape[-1]
    return abs(q.conj().swapaxes(-1, -2) @ q - np.eye(n)).max() <= 30 * max(n, 4) * EPS


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigh(accelerator_view, dtype, uplo):
    n = most(accelerator_view) - (uplo == "U")
    a = matrix(dtype, 2, n, n)
    a = a + a.conj().swapaxes(-1, -2)
    # The other triangle is not read.
    part = np.where(np.triu(np.ones((n, n)), 1) > 0, np.nan, a) if uplo == "L" else a
    part = np.where(np.tril(np.ones((n, n)), -1) > 0, np.nan, a) if uplo == "U" else part
    w, v = (np.asarray(x) for x in linalg.eigh(amp.array(part.astype(dtype), accelerator_view=accelerator_view), uplo))
    assert w.dtype == np.float32
    assert v.dtype == dtype
    assert (np.diff(w) >= 0).all()
    assert is_unitary(v)
    size = abs(a).sum(-2).max()
    assert abs(a @ v - v * w[:, None]).max() <= 30 * n * EPS * size
    np.testing.assert_allclose(w, np.linalg.eigvalsh(a), atol=30 * n * EPS * size)
    alone = linalg.eigvalsh(amp.array(a, accelerator_view=accelerator_view))
    np.testing.assert_allclose(np.asarray(alone), w, atol=30 * n * EPS * size)


def test_eigh_of_special_matrices(accelerator_view):
    """Zeros, equal eigenvalues, one element, diagonals."""
    for a in (np.zeros((3, 3)), np.eye(3), -np.eye(2), [[5]], np.ones((4, 4)), np.diag([3, -1, 0, 2])):
        a = np.asarray(a, np.float32)
        w, v = (np.asarray(x) for x in linalg.eigh(a, accelerator_view=accelerator_view))
        assert is_unitary(v)
        np.testing.assert_allclose(w, np.linalg.eigvalsh(a), atol=1e-5)
        np.testing.assert_allclose(a @ v, v * w, atol=1e-5)


@pytest.mark.parametrize("dtype", TYPES)
def test_svd(accelerator_view, dtype):
    most_rows = most(accelerator_view)
    for shape in ((most_rows, 3), (3, most_rows - 1), (4, 4), (1, 1), (1, 3), (2, 3, 2)):
        a = matrix(dtype, *shape)
        x = amp.array(a, accelerator_view=accelerator_view)
        expected = np.linalg.svd(a, compute_uv=False)
        bound = 30 * max(shape) * EPS * expected.max()
        for full in (False, True):
            u, s, vh = (np.asarray(each) for each in linalg.svd(x, full))
            assert (u.shape, s.shape, vh.shape) == tuple(each.shape for each in np.linalg.svd(a, full))
            assert is_unitary(u)
            assert is_unitary(vh.conj().swapaxes(-1, -2))
            k = s.shape[-1]
            assert abs((u[..., :k] * s[..., None, :]) @ vh[..., :k, :] - a).max() <= bound, shape
            np.testing.assert_allclose(s, expected, atol=bound)
    np.testing.assert_allclose(np.asarray(linalg.svd(x, compute_uv=False)), expected, atol=bound)


def test_svd_of_matrices_without_full_rank(accelerator_view):
    for a in (np.zeros((3, 2)), np.ones((4, 3)), np.diag([2, 0, 1]), np.outer([1, 2], [3, 4, 5])):
        a = a.astype(np.float32)
        u, s, vh = (np.asarray(x) for x in linalg.svd(a, False, accelerator_view=accelerator_view))
        assert is_unitary(u)
        assert is_unitary(vh.T)
        np.testing.assert_allclose((u * s) @ vh, a, atol=1e-5)
        np.testing.assert_allclose(s, np.linalg.svd(a, compute_uv=False), atol=1e-5)


def test_nan_does_not_get_lost(accelerator_view):
    a = np.eye(3, dtype=np.float32)
    a[1, 1] = np.nan
    assert np.isnan(np.asarray(linalg.eigvalsh(a, accelerator_view=accelerator_view))).any()
    assert np.isnan(np.asarray(linalg.svd(a, compute_uv=False, accelerator_view=accelerator_view))).any()


def test_empty_and_errors():
    w, v = linalg.eigh(np.zeros((0, 0), np.float32))
    assert (w.shape, v.shape) == ((0,), (0, 0))
    assert linalg.svd(np.zeros((0, 3), np.float32), compute_uv=False).shape == (0,)
    with pytest.raises(ValueError, match="UPLO"):
        linalg.eigh(np.eye(2, dtype=np.float32), "X")
    with pytest.raises(amp.AmpError, match="square"):
        linalg.eigh(np.ones((2, 3), np.float32))
    with pytest.raises(TypeError, match="takes matrices"):
        linalg.svd(np.ones(3, np.float32))
