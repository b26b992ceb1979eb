"""Every function on the kinds of matrices of numpy's own tests of linear algebra, compared with numpy: one element,
tall, wide, in batches, empty, singular, with NaN, of integers, strided, by columns."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import vkamp as amp
from vkamp import linalg

TOLERANCE = 2e-3


def _random(dtype, *shape):
    random = np.random.default_rng(sum(shape))
    raw = random.standard_normal(shape)
    return (raw + 1j * random.standard_normal(shape) if dtype == np.complex64 else raw).astype(dtype)


def _dependent(dtype, *shape):
    """Its last column is its first one."""
    made = _random(dtype, *shape)
    made[..., -1] = made[..., 0]
    return made


def squares(dtype):
    """Square matrices."""
    return {
        "one element": _random(dtype, 1, 1), "4 x 4": _random(dtype, 4, 4), "two stacks": _random(dtype, 2, 1, 3, 3),
        "no rows": np.zeros((0, 0), dtype), "no matrices": np.zeros((0, 2, 2), dtype), "nothing": np.zeros((2, 0, 0)),
        "integers": np.array([[1, 2], [3, 5]]), "small integers": np.int16([[1, 2], [3, 5]]),
        "by columns": np.asfortranarray(_random(dtype, 4, 4)), "strided": _random(dtype, 8, 12)[::2, ::-3],
    }  # fmt: skip


def rectangles(dtype):
    """Other matrices, and those without full rank."""
    return {
        "row": _random(dtype, 1, 5), "column": _random(dtype, 5, 1), "wide": _random(dtype, 3, 5),
        "tall": _random(dtype, 6, 3), "stack": _random(dtype, 2, 3, 4), "no rows": np.zeros((0, 3), dtype),
        "no columns": np.zeros((3, 0), dtype), "zeros": np.zeros((3, 2), dtype), "dependent": _dependent(dtype, 5, 3),
        "dependent, wide": _dependent(dtype, 3, 4), "singular": np.ones((3, 3), dtype),
    }  # fmt: skip


def compare(found, expected, what):
    found, expected = ([x] if isinstance(x, np.ndarray) or not isinstance(x, tuple) else x for x in (found, expected))
    assert len(found) == len(expected), what
    for one, other in zip(found, expected, strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert one.shape == other.shape, what
        np.testing.assert_allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE, err_msg=str(what))


def placed(raw, what, view):
    """In the device's memory, unless the host's layout is what is tested."""
    is_of_host = raw.size == 0 or what in ("integers", "by columns", "strided")
    return raw if is_of_host else amp.array(raw, accelerator_view=view)


def _products(m, a):
    """A singular value decomposition as what has one value only."""
    u, s, vh = (np.asarray(x) for x in m.svd(a, full_matrices=False))
    return (u * s[..., None, :]) @ vh, abs(np.swapaxes(u.conj(), -1, -2) @ u)


def _complete(m, a):
    u, _, vh = (np.asarray(x) for x in m.svd(a))
    return abs(np.swapaxes(u.conj(), -1, -2) @ u), abs(vh @ np.swapaxes(vh.conj(), -1, -2))


def _reflected(mode):
    def run(m, a):
        q, r = (np.asarray(x) for x in m.qr(a, mode))
        return q @ r, abs(np.swapaxes(q.conj(), -1, -2) @ q)

    return run


OF_SQUARES = {
    "det": lambda m, a: m.det(a),
    "slogdet": lambda m, a: tuple(m.slogdet(a)),
    "inv": lambda m, a: m.inv(a),
    "eigvalsh": lambda m, a: m.eigvalsh(a),
    "third power": lambda m, a: m.matrix_power(a, 3),
    "power of -2": lambda m, a: m.matrix_power(a, -2),
    "power of 0": lambda m, a: m.matrix_power(a, 0),
}
OF_ALL = {
    "singular values": lambda m, a: m.svd(a, compute_uv=False),
    "svd": _products,
    "svd, complete": _complete,
    "qr": _reflected("reduced"),
    "qr, complete": _reflected("complete"),
    "rank": lambda m, a: m.matrix_rank(a),
    "nuclear norm": lambda m, a: m.norm(a, "nuc", axis=(-2, -1)) if np.size(a) else 0,
    "norm": lambda m, a: m.norm(a, axis=(-2, -1), keepdims=True),
}


class On:
    """`vkamp.linalg` on an accelerator_view, which arrays of the host do not name."""

    def __init__(self, view):
        self._view = view

    def __getattr__(self, name):
        return functools.partial(getattr(linalg, name), accelerator_view=self._view)


@pytest.mark.sample("swiftshader", "reference")
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("function", OF_SQUARES)
def test_square_matrices(accelerator_view, function, dtype):
    f = OF_SQUARES[function]
    for what, raw in squares(dtype).items():
        if function == "eigvalsh":
            raw = raw + np.swapaxes(raw, -1, -2).conj()
        # Powers of integers are integers, and SwiftShader lacks int64.
        if not (what == "integers" and function in ("third power", "power of 0")):
            compare(f(On(accelerator_view), placed(raw, what, accelerator_view)), f(np.linalg, raw), what)


@pytest.mark.sample("llvmpipe")
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("function", OF_ALL)
def test_all_matrices(accelerator_view, function, dtype):
    f = OF_ALL[function]
    for what, raw in (squares(dtype) | rectangles(dtype)).items():
        if raw.size or function in ("singular values", "svd", "qr", "norm"):
            compare(f(On(accelerator_view), placed(raw, what, accelerator_view)), f(np.linalg, raw), what)


@pytest.mark.sample("llvmpipe")
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_least_squares(accelerator_view, dtype):
    """The solution, rank and singular values of numpy, also for dependent columns and more unknowns than equations."""
    for what, raw in rectangles(dtype).items():
        for b in (np.ones(raw.shape[-2], dtype), _random(dtype, raw.shape[-2], 2), np.ones((raw.shape[-2], 0), dtype)):
            if raw.ndim > 2:
                continue
            right = amp.array(b, accelerator_view=accelerator_view) if b.size else b
            found = linalg.lstsq(placed(raw, what, accelerator_view), right, accelerator_view=accelerator_view)
            expected = np.linalg.lstsq(raw, b, rcond=None)
            for k in (0, 2, 3):
                compare(np.asarray(found[k]), np.asarray(expected[k]), what)
            if raw.shape[0] > raw.shape[1] and b.size:
                whole = abs(raw @ expected[0] - b) ** 2
                compare(np.asarray(found[1]), np.atleast_1d(whole.sum(0)), what)
            else:
                assert np.shape(found[1]) == expected[1].shape
    with pytest.raises(TypeError, match="not a batch"):
        linalg.lstsq(np.ones((2, 2, 2), np.float32), np.ones(2, np.float32))


def test_least_squares_by_a_bound(accelerator_view):
    a = amp.array(np.diag(np.float32([2, 1, 0.1])), accelerator_view=accelerator_view)
    x, _, rank, _ = linalg.lstsq(a, np.ones(3, np.float32), rcond=0.2)
    assert rank.item() == 2
    np.testing.assert_allclose(np.asarray(x), [0.5, 1, 0], atol=1e-6)
    np.testing.assert_allclose(np.diag(np.asarray(linalg.pinv(a, 0.2))), [0.5, 1, 0], atol=1e-6)
    assert [linalg.matrix_rank(a, tol).item() for tol in (None, 0.05, 0.5, 1.5, 3)] == [3, 3, 2, 1, 0]
    assert [linalg.matrix_rank(a, rtol=rtol).item() for rtol in (0.01, 0.2, 0.7)] == [3, 2, 1]
    for f in (linalg.matrix_rank, linalg.pinv):
        with pytest.raises(ValueError, match="not both"):
            f(a, 0.1, rtol=0.1)


@pytest.mark.sample("swiftshader")
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_pseudo_inverses(accelerator_view, dtype):
    for what, raw in rectangles(dtype).items():
        found = linalg.pinv(placed(raw, what, accelerator_view), accelerator_view=accelerator_view)
        compare(np.asarray(found), np.linalg.pinv(raw, 1e-5), what)
    a = _random(dtype, 3, 3)
    assert linalg.matrix_rank(a + a.conj().T, hermitian=True, accelerator_view=accelerator_view).item() == 3


def test_ranks_of_vectors():
    assert linalg.matrix_rank(np.float32([0, 0])).item() == 0
    assert linalg.matrix_rank(np.float32([0, -1])).item() == 1
    assert linalg.matrix_rank(np.zeros(0)) == 0
    assert linalg.matrix_rank(np.zeros((2, 0, 3))).tolist() == [0, 0]


@pytest.mark.sample("swiftshader", "reference")
@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, np.inf, -np.inf, "fro"])
def test_condition_numbers(accelerator_view, p):
    a = np.stack([_random(np.float32, 3, 3) + 2 * np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32)])
    found = np.asarray(linalg.cond(amp.array(a, accelerator_view=accelerator_view), p))
    np.testing.assert_allclose(found, np.linalg.cond(a, p), rtol=TOLERANCE)
    zeros = amp.array(np.zeros((2, 2), np.float32), accelerator_view=accelerator_view)
    assert linalg.cond(zeros, p).item() == np.inf
    assert np.isnan(linalg.cond(np.full((2, 2), np.nan, np.float32), p, accelerator_view=accelerator_view).item())
    with pytest.raises(amp.AmpError, match="empty"):
        linalg.cond(np.zeros((0, 0)), p)


@pytest.mark.sample("swiftshader", "llvmpipe")
@pytest.mark.parametrize("size", [1e30, 1e36, 1e-30])
def test_elements_whose_squares_overflow_or_vanish(accelerator_view, size):
    a = (_random(np.float32, 5, 4) * size).astype(np.float32)
    u, s, vh = (np.asarray(x) for x in linalg.svd(amp.array(a, accelerator_view=accelerator_view), False))
    compare((u * (s / size)) @ vh, a / size, size)
    h = (a[:4] / 2 + a[:4].T / 2).astype(np.float32)
    w, v = (np.asarray(x) for x in linalg.eigh(amp.array(h, accelerator_view=accelerator_view)))
    compare((v * (w / size)) @ v.T, h / size, size)
    compare(np.asarray(linalg.svdvals(amp.array(a, accelerator_view=accelerator_view))), s, size)


def test_integers_of_the_host(accelerator_view):
    """numpy's default type for them, int64, is one that SwiftShader lacks; each call reads the elements again."""
    a = np.array([[1, 2], [3, 4]])
    for k in range(4):
        a[1, 1] = 7 + k
        assert linalg.det(a, accelerator_view=accelerator_view).item() == pytest.approx(1 + k, abs=1e-5)
    assert linalg.norm(a, accelerator_view=accelerator_view).item() == pytest.approx(np.linalg.norm(a))
    zeros = linalg.norm(np.float32([[0, 2], [3, 0]]), 0, axis=0, accelerator_view=accelerator_view)
    assert np.asarray(zeros).tolist() == [1, 1]


def test_norms_of_singular_values_in_batches(accelerator_view):
    a = _random(np.float32, 2, 3, 2)
    for order in ("nuc", 2, -2):
        for axes in ((-2, -1), (0, 2)):
            found = linalg.norm(amp.array(a, accelerator_view=accelerator_view), order, axes)
            compare(np.asarray(found), np.linalg.norm(a, order, axes), (order, axes))
    found = linalg.matrix_norm(a, accelerator_view=accelerator_view)
    compare(np.asarray(found), np.linalg.norm(a, axis=(-2, -1)), "matrix_norm")


def test_norms_of_vectors(accelerator_view):
    a = _random(np.float32, 2, 3, 4)
    x = amp.array(a, accelerator_view=accelerator_view)
    rows = a.transpose(1, 0, 2).reshape(3, 8)
    for order in (2, 1, np.inf, 3):
        assert linalg.vector_norm(x, ord=order).item() == pytest.approx(np.linalg.norm(a.ravel(), order), rel=1e-5)
        found = np.asarray(linalg.vector_norm(x, ord=order, axis=(0, -1)))
        compare(found, np.linalg.norm(rows, order, axis=1), order)
    assert linalg.vector_norm(np.zeros(0)) == 0
    with pytest.raises(ValueError, match="axes"):
        linalg.vector_norm(x, axis=3)
