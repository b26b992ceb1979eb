"""Factorisations and solutions, by LAPACK's test ratios: residual / (n * eps * norm) < 30."""

from __future__ import annotations

import re

import numpy as np
import pytest

import vkamp as amp
from tests.library_views import forced
from vkamp import linalg
from vkamp.algorithms import device_scalar
from vkamp.blas import _triangles
from vkamp.linalg import cholesky_tiles, lu_tiles, qr_tiles

EPS = np.finfo(np.float32).eps
RATIO = 30


def matrices(view, dtype, *lead, n=None, seed=0):
    """Random matrices; larger than a block where that is quick."""
    if n is None:
        n = 5 if view.accelerator.device_path == "reference" else 45
    random = np.random.default_rng(seed + n)
    raw = random.standard_normal((*lead, n, n))
    return (raw + 1j * random.standard_normal(raw.shape) if dtype == np.complex64 else raw).astype(dtype)


def small(residual, whole, n):
    """Whether a residual is as small as rounding errors are."""
    size = abs(np.asarray(whole)).sum(-2).max()
    return abs(residual).sum(-2).max() <= RATIO * n * EPS * size


def device(raw, view):
    return amp.array(raw, accelerator_view=view)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_cholesky(accelerator_view, dtype):
    raw = matrices(accelerator_view, dtype)
    n = len(raw)
    a = (raw @ raw.conj().T + n * np.eye(n)).astype(dtype)
    # The upper triangle is not read.
    lower = np.asarray(linalg.cholesky(device(np.tril(a) + np.triu(np.full_like(a, np.nan), 1), accelerator_view)))
    assert lower.dtype == dtype
    assert (np.triu(lower, 1) == 0).all()
    assert small(lower @ lower.conj().T - a, a, n)
    # With upper, the lower triangle is not read.
    given = device(np.triu(a) + np.tril(np.full_like(a, np.nan), -1), accelerator_view)
    upper = np.asarray(linalg.cholesky(given, upper=True))
    assert (np.tril(upper, -1) == 0).all()
    assert small(upper.conj().T @ upper - a, a, n)


def test_cholesky_of_matrices_that_are_not_positive_definite(accelerator_view):
    a = np.stack([np.eye(3), -np.eye(3)]).astype(np.float32)
    lower = np.asarray(linalg.cholesky(device(a, accelerator_view)))
    np.testing.assert_array_equal(lower[0], np.eye(3))
    assert np.isnan(lower[1, 0, 0])


def unpacked(lu, pivots):
    """The permuted rows' order, and the two factors."""
    rows, columns = lu.shape
    order = np.arange(rows)
    for j, p in enumerate(pivots):
        order[[j, p]] = order[[p, j]]
    k = min(rows, columns)
    return order, np.tril(lu[:, :k], -1) + np.eye(rows, k), np.triu(lu[:k])


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_lu(accelerator_view, dtype):
    a = matrices(accelerator_view, dtype)
    lu, pivots = (np.asarray(each) for each in linalg.lu_factor(device(a, accelerator_view)))
    assert pivots.dtype == np.int32
    order, lower, upper = unpacked(lu, pivots)
    assert small(lower @ upper - a[order], a, len(a))
    # The largest element of each column is the pivot.
    assert (abs(lower.real) + abs(lower.imag)).max() <= (1.0 if dtype == np.float32 else 2) + 4 * EPS


@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (3, 7), (2, 4, 4)])
def test_lu_of_other_shapes(accelerator_view, shape):
    a = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    lu, pivots = (np.asarray(each) for each in linalg.lu_factor(device(a, accelerator_view)))
    for whole, factors, places in zip(*(x.reshape(-1, *x.shape[len(shape) - 2 :]) for x in (a, lu)),
                                      pivots.reshape(-1, min(shape[-2:])), strict=True):  # fmt: skip
        order, lower, upper = unpacked(factors, places)
        assert small(lower @ upper - whole[order], whole, max(shape))


@pytest.fixture
def small_tiles(monkeypatch):
    """The forms of GPUs with small blocks, so that small matrices have several."""
    for module, name, value in (
        (_triangles, "BLOCK", 8), (cholesky_tiles, "WIDE", 8), (cholesky_tiles, "_STRIP", 16),
        (cholesky_tiles, "_ACROSS", 9),
        (lu_tiles, "WIDE", 6), (lu_tiles, "_THREADS", 4), (lu_tiles, "_MANY", 8), (lu_tiles, "_FEW_ROWS", 2),
        (lu_tiles, "_COLUMNS", 3), (lu_tiles, "_OF_THREAD", 16),
        (qr_tiles, "WIDE", 11), (qr_tiles, "_THREADS", 8), (qr_tiles, "_MOST_ROWS", 4),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)
    with forced("tiles"):
        yield


@pytest.mark.sample("llvmpipe")
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_cholesky_in_tiles(accelerator_view, dtype, small_tiles):
    raw = matrices(accelerator_view, dtype, n=19)
    a = (raw @ raw.conj().T + 19 * np.eye(19)).astype(dtype)
    lower = np.asarray(linalg.cholesky(device(np.tril(a) + np.triu(np.full_like(a, np.nan), 1), accelerator_view)))
    assert (np.triu(lower, 1) == 0).all()
    assert small(lower @ lower.conj().T - a, a, 19)
    assert np.isnan(np.asarray(linalg.cholesky(device(-np.eye(3, dtype=dtype), accelerator_view)))[0, 0])


@pytest.mark.sample("llvmpipe")
def test_lu_in_tiles_of_nan(accelerator_view, small_tiles):
    """Columns of NaN, and an infinite element of a pivot's row, change nothing before them."""
    a = np.random.default_rng(1).standard_normal((13, 13)).astype(np.float32)

    def factors(a):
        """The factors with the rows in the order of the matrix, and this order."""
        lu, pivots = (np.asarray(each) for each in linalg.lu_factor(device(a, accelerator_view)))
        order, _, _ = unpacked(lu, pivots)
        return lu[np.argsort(order)], order

    clean, order = factors(a)
    of_nan = a.copy()
    of_nan[:, 10] = np.nan
    lu, places = factors(of_nan)
    np.testing.assert_array_equal(lu[:, :10], clean[:, :10])
    np.testing.assert_array_equal(places[:10], order[:10])
    infinite = a.copy()
    infinite[order[4], 5] = np.inf
    lu, places = factors(infinite)
    np.testing.assert_array_equal(places[:5], order[:5])
    np.testing.assert_array_equal(lu[:, :5], clean[:, :5])
    np.testing.assert_array_equal(lu[order[:4], 5], clean[order[:4], 5])
    assert np.isinf(lu[order[4], 5])


@pytest.mark.sample("llvmpipe")
def test_lu_in_tiles(accelerator_view, small_tiles):
    """Several rows of each thread, panels, matrices with more rows or columns, batches, zeros."""
    for shape, dtype in (
        ((13, 13), np.float32),
        ((9, 4), np.complex64),
        ((2, 4, 9), np.float32),
        ((40, 3), np.float32),
    ):
        a = np.random.default_rng(1).standard_normal(shape).astype(dtype)
        lu, pivots = (np.asarray(each) for each in linalg.lu_factor(device(a, accelerator_view)))
        for whole, factors, places in zip(
            *(x.reshape(-1, *shape[-2:]) for x in (a, lu)), pivots.reshape(-1, min(shape[-2:])), strict=True
        ):
            order, lower, upper = unpacked(factors, places)
            assert small(lower @ upper - whole[order], whole, max(shape))
    test_singular_matrices(accelerator_view)


def test_singular_matrices(accelerator_view):
    a = np.float32([[[1, 2], [2, 4]], [[0, 0], [0, 0]], [[0, 1], [1, 0]]])
    lu, pivots = (np.asarray(each) for each in linalg.lu_factor(device(a, accelerator_view)))
    for whole, factors, places in zip(a, lu, pivots, strict=True):
        order, lower, upper = unpacked(factors, places)
        np.testing.assert_array_equal(lower @ upper, whole[order])
    np.testing.assert_array_equal(np.asarray(linalg.det(device(a, accelerator_view))), [0, 0, -1])
    sign, logs = linalg.slogdet(device(a, accelerator_view))
    np.testing.assert_array_equal(np.asarray(sign), [0, 0, -1])
    np.testing.assert_array_equal(np.asarray(logs), [-np.inf, -np.inf, 0])
    x = np.asarray(linalg.solve(device(a, accelerator_view), np.float32([[1], [1]])))
    assert not np.isfinite(x[0]).all()
    assert not np.isfinite(x[1]).any()
    np.testing.assert_array_equal(x[2], [[1], [1]])


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_solve(accelerator_view, dtype):
    a = matrices(accelerator_view, dtype)
    n = len(a)
    b = matrices(accelerator_view, dtype, seed=1)[:, :3].copy()
    x = np.asarray(linalg.solve(device(a, accelerator_view), device(b, accelerator_view)))
    scale = abs(a).sum(0).max() * abs(x).sum(0).max()
    assert abs(a @ x - b).sum(0).max() <= RATIO * n * EPS * scale
    inverse = np.asarray(linalg.inv(device(a, accelerator_view)))
    scale = abs(a).sum(0).max() * abs(inverse).sum(0).max()
    assert abs(a @ inverse - np.eye(n)).sum(0).max() <= RATIO * n * EPS * scale


def test_right_sides(accelerator_view):
    """Vectors, batches, broadcast batches, integers."""
    a = np.int32([[[2, 0], [1, 4]], [[1, 1], [0, 2]]])
    pairs = [
        (a[0], np.float32([2, 9])), (a, np.float32([2, 8])), (a, np.ones((2, 3), np.float32)),
        (a[0], np.ones((3, 2, 1), np.float32)), (a[:, None], np.ones((1, 3, 2, 2), np.int32)),
    ]  # fmt: skip
    for left, right in pairs:
        sides = right[..., None] if right.ndim == 1 else right
        expected = np.linalg.inv(left) @ sides
        expected = expected[..., 0] if right.ndim == 1 else expected
        found = np.asarray(linalg.solve(left, right, accelerator_view=accelerator_view))
        assert found.shape == expected.shape
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    factors = linalg.lu_factor(device(a.astype(np.float32), accelerator_view))
    found = np.asarray(linalg.lu_solve(factors, np.float32([2, 8])))
    np.testing.assert_allclose(found, (np.linalg.inv(a) @ np.float32([2, 8])))


def test_lu_solve_of_pivots_that_do_not_fit(accelerator_view):
    lu, b = np.eye(3, dtype=np.float32), np.ones(3, np.float32)
    with pytest.raises(TypeError, match=r"^pivots are integers, not float32$"):
        linalg.lu_solve((lu, b), b)
    for pivots, shown in ((np.zeros(2, np.int32), "2"), (np.zeros((1, 3), np.int32), "1, 3")):
        message = f"factors of extent(3, 3) have pivots of extent(3), not extent({shown})"
        with pytest.raises(amp.AmpError, match=f"^{re.escape(message)}$"):
            linalg.lu_solve((lu, pivots), b)


def test_right_sides_that_do_not_fit(accelerator_view):
    identity = np.eye(3, dtype=np.float32)
    for call in (linalg.solve, linalg.solve_triangular):
        with pytest.raises(amp.AmpError, match="^b is a number, but a vector or a matrix is needed$"):
            call(identity, np.float32(1))
    with pytest.raises(amp.AmpError, match=r"^matrices of extent \(2, 3, 3\) do not fit a right side of \(0, 3\)$"):
        linalg.solve(np.stack([identity, identity]), np.zeros((0, 3), np.float32))


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_lu_solve_of_transposed_matrices(accelerator_view, dtype):
    a = matrices(accelerator_view, dtype, 2)
    n = a.shape[-1]
    b = matrices(accelerator_view, dtype, 2)[:, :, :3]
    factors = linalg.lu_factor(device(a, accelerator_view))
    for trans, of in (("N", a), (1, np.swapaxes(a, 1, 2)), ("C", np.swapaxes(a, 1, 2).conj())):
        found = np.asarray(linalg.lu_solve(factors, device(b, accelerator_view), trans=trans))
        for k in range(2):
            assert small(of[k] @ found[k] - b[k], of[k] * abs(found[k]).sum(-2).max(), n)
    with pytest.raises(ValueError, match=r"trans must be one of 'N', 'T', 'C' or 0, 1, 2, not 3"):
        linalg.lu_solve(factors, b, trans=3)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_determinants(accelerator_view, dtype):
    a = matrices(accelerator_view, dtype, 3, n=4)
    np.testing.assert_allclose(np.asarray(linalg.det(device(a, accelerator_view))), np.linalg.det(a), rtol=1e-4)
    sign, logs = linalg.slogdet(device(a, accelerator_view))
    expected = np.linalg.slogdet(a)
    np.testing.assert_allclose(np.asarray(sign), expected[0], rtol=1e-4)
    np.testing.assert_allclose(np.asarray(logs), expected[1], rtol=1e-4, atol=1e-5)
    found = linalg.det(device(a[0], accelerator_view))
    assert isinstance(found, device_scalar)
    np.testing.assert_allclose(found.item(), np.linalg.det(a[0]), rtol=1e-4)


def test_solve_triangular(accelerator_view):
    n = 9
    a = (np.random.default_rng(2).standard_normal((n, n)) / n + 2 * np.eye(n)).astype(np.complex64)
    b = np.random.default_rng(3).standard_normal((n, 2)).astype(np.complex64)
    for k, (lower, trans, unit) in enumerate(
        [
            (True, "N", False),
            (False, "T", True),
            (True, "C", False),
            (False, "N", True),
            (True, 1, False),
            (True, 2, True),
        ]
    ):
        part = np.tril(a) if lower else np.triu(a)
        whole = part - np.diag(np.diag(part)) + np.eye(n) if unit else part
        whole = {"N": whole, "T": whole.T, 1: whole.T, "C": whole.conj().T, 2: whole.conj().T}[trans]
        right = b if k % 2 else b[:, 0].copy()
        found = linalg.solve_triangular(
            device(a, accelerator_view), right, lower=lower, trans=trans, unit_diagonal=unit
        )  # fmt: skip
        np.testing.assert_allclose(whole @ np.asarray(found), right, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("shape", [(9, 5), (5, 9), (4, 4), (1, 1), (6, 1), (2, 3, 2)])
@pytest.mark.spread(2)
def test_qr(accelerator_view, dtype, shape):
    check_qr(accelerator_view, dtype, shape, ("reduced", "complete"))


def check_qr(accelerator_view, dtype, shape, modes):
    random = np.random.default_rng(4)
    a = random.standard_normal(shape) + (1j * random.standard_normal(shape) if np.dtype(dtype).kind == "c" else 0)
    a = a.astype(dtype)
    rows, columns = shape[-2:]
    for mode in modes:
        q, r = (np.asarray(each) for each in linalg.qr(device(a, accelerator_view), mode))
        steps = rows if mode == "complete" else min(rows, columns)
        assert q.shape == (*shape[:-1], steps)
        assert q.dtype == r.dtype == dtype
        assert (np.tril(r, -1) == 0).all()
        assert small(q @ r - a, a, max(shape))
        assert small(q.conj().swapaxes(-1, -2) @ q - np.eye(steps), np.eye(steps), max(shape))
    np.testing.assert_array_equal(
        np.asarray(linalg.qr(device(a, accelerator_view), "r")), r[..., : min(rows, columns), :]
    )


@pytest.mark.sample("llvmpipe")
def test_qr_in_tiles(accelerator_view, small_tiles):
    """Several rows of each thread, panels, matrices with more rows or columns, batches, too many rows for a tile."""
    for shape, dtype, mode in (
        ((29, 31), np.float32, "reduced"),
        ((2, 9, 5), np.complex64, "complete"),
        ((40, 3), np.float32, "reduced"),
    ):
        check_qr(accelerator_view, dtype, shape, (mode,))
    # Of one shape: drivers compile the kernels of each shape anew.
    of_special_matrices(accelerator_view, np.zeros((3, 2)), np.ones((3, 2)), np.eye(3)[:, :2])


@pytest.mark.sample("llvmpipe")
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_qr_in_tiles_with_little_memory(accelerator_view, dtype):
    """Without shuffles, the sums of 512 threads of double precision need more than 32 KiB."""
    with forced("tiles"):
        check_qr(accelerator_view, dtype, (130, 3), ("reduced",))


@pytest.mark.sample("reference")
def test_memory_of_factorisations(accelerator_view):
    """A call holds a few matrices, however many panels it has, and copies no operand of a product: so calls with large
    matrices are remembered."""
    n = 256
    a = device(np.eye(n, dtype=np.float32), accelerator_view)
    for function, launches, matrices in (
        (linalg.cholesky, 12, 4.3), (linalg.lu_factor, 60, 2.3), (linalg.geqrf, 60, 5),
        (lambda a: linalg.solve_triangular(a, a), 12, 3),
    ):  # fmt: skip
        with forced("tiles"), amp.capture() as graph:
            kept = function(a)
        homes = {id(use.container._lease.home): use.container._lease.home for s in graph._steps for use in s.uses}
        assert "pack" not in {step.compiled.name for step in graph._steps}
        assert len(graph._steps) <= launches
        assert sum(home.stop - home.start for home in homes.values()) <= matrices * 4 * n * n
        del kept


def test_nan_stays_in_qr(accelerator_view):
    """A NaN below zeros, too, is in the result."""
    for column in ([0, np.nan, 0], [1, 2, np.nan], [np.nan, 1, 2]):
        a = np.stack([column, [1, 2, 3]], axis=1).astype(np.float32)
        assert np.isnan(np.asarray(linalg.qr(device(a, accelerator_view), "r"))[0, 0])


def test_qr_of_special_matrices(accelerator_view):
    """Zeros, columns that depend on each other, numbers whose squares overflow or vanish."""
    of_special_matrices(accelerator_view, np.zeros((3, 2)), np.ones((4, 3)), np.eye(3))


def of_special_matrices(accelerator_view, *matrices):
    for a in (*matrices, 1e30 * np.ones((3, 2)), 1e-30 * np.ones((3, 2))):
        a = a.astype(np.float32)
        q, r = (np.asarray(each) for each in linalg.qr(device(a, accelerator_view)))
        assert small(q @ r - a, a, 4)
        assert small(q.T @ q - np.eye(a.shape[1]), np.eye(a.shape[1]), 4)


def test_raw_reflections(accelerator_view):
    """numpy's mode "raw": the reflections by columns."""
    a = np.random.default_rng(5).standard_normal((2, 5, 3)).astype(np.float32)
    h, tau = (np.asarray(each) for each in linalg.qr(device(a, accelerator_view), "raw"))
    expected = np.linalg.qr(a, "raw")
    np.testing.assert_allclose(h, expected[0], atol=1e-5)
    np.testing.assert_allclose(tau, expected[1], atol=1e-5)
    with pytest.raises(ValueError, match="mode"):
        linalg.qr(a, "full")


def test_errors_of_least_squares():
    with pytest.raises(amp.AmpError, match="9 rows"):
        linalg.lstsq(np.ones((9, 4), np.float32), np.ones((5, 2), np.float32))


def test_empty_and_errors():
    none = np.zeros((0, 0), np.float32)
    assert linalg.inv(none).shape == (0, 0)
    assert linalg.det(none) == 1
    assert linalg.cholesky(none).shape == (0, 0)
    assert linalg.solve(np.zeros((2, 0, 0)), np.zeros((2, 0, 3))).shape == (2, 0, 3)
    wide = np.ones((2, 3), np.float32)
    for f in (linalg.cholesky, linalg.inv, linalg.det, linalg.slogdet, lambda a: linalg.solve(a, a)):
        with pytest.raises(amp.AmpError, match="square matrices, not 2 x 3"):
            f(wide)
        with pytest.raises(TypeError, match="takes matrices"):
            f(wide[0])
    with pytest.raises(amp.AmpError, match="2 rows, but b has 3"):
        linalg.solve(wide[:, :2], np.ones(3, np.float32))
    with pytest.raises(amp.AmpError, match="broadcast"):
        linalg.solve(np.ones((2, 3, 3), np.float32), np.ones((4, 3, 1), np.float32))
    with pytest.raises(ValueError, match="trans"):
        linalg.solve_triangular(wide[:, :2], wide[0, :2], trans="X")


@pytest.mark.sample("llvmpipe", "reference")
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.spread(2)
def test_double_precision(accelerator_view, dtype):
    """Every factorisation, to the precision of doubles."""
    view = accelerator_view
    is_reference = view.accelerator.device_path == "reference"
    n = 4 if is_reference else 35
    random = np.random.default_rng(6)
    a = random.standard_normal((n, n)) + (1j * random.standard_normal((n, n)) if dtype == np.complex128 else 0)
    b, h = a[:, :2].copy(), a @ a.conj().T + np.eye(n)
    x, y = device(a, view), device(h, view)
    bound = 1e-12 * n * abs(h).max()
    assert abs(a @ np.asarray(linalg.solve(x, device(b, view))) - b).max() < bound * np.linalg.cond(a)
    lower = np.asarray(linalg.cholesky(y))
    assert lower.dtype == dtype
    assert abs(lower @ lower.conj().T - h).max() < bound
    q, r = (np.asarray(each) for each in linalg.qr(x))
    assert abs(q @ r - a).max() < bound
    np.testing.assert_allclose(np.asarray(linalg.det(x)), np.linalg.det(a), rtol=1e-10)
    if is_reference:
        w, v = (np.asarray(each) for each in linalg.eigh(y))
        assert abs(h @ v - v * w).max() < bound
        u, s, vh = (np.asarray(each) for each in linalg.svd(x))
        assert abs((u * s) @ vh - a).max() < bound
