"""Levels 1 and 2 against numpy: options, strided views, special numbers, errors."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.blas.cases import FACTORS, TYPES, device, host, op, options, sizes, triangle, triangular, unread
from tests.linalg.inputs import numbers
from vkamp import blas
from vkamp.algorithms import device_scalar
from vkamp.blas import _triangles

#: Netlib's extents of level 1.
EXTENTS = (1, 7, 65)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.spread(2)
def test_vectors(accelerator_view, dtype):
    for n in EXTENTS:
        a, b = numbers(dtype, n), numbers(dtype, n, seed=1)
        x, y = device(a, accelerator_view), device(b, accelerator_view)
        found = blas.dot(x, y)
        assert isinstance(found, device_scalar)
        assert found.item() == (a * b).sum()
        assert blas.dot(x, y, conjugate=True).item() == np.vdot(a, b)
        sizes = abs(a.real) + abs(a.imag)
        assert blas.asum(x).item() == sizes.sum()
        assert blas.amax(x).item() == np.argmax(sizes)
        np.testing.assert_allclose(blas.nrm2(x).item(), np.linalg.norm(a), rtol=1e-6)
        assert blas.axpy(accelerator_view, 3, x, y) is y
        np.testing.assert_array_equal(host(y), 3 * a + b)
        assert blas.swap(x, y) == (x, y)
        np.testing.assert_array_equal(host(x), 3 * a + b)
        blas.scal(2, blas.copy(x, y))
        np.testing.assert_array_equal(host(y), 2 * (3 * a + b))
    blas.axpy(2, x, x)
    np.testing.assert_array_equal(host(x), 3 * (3 * a + b))


def test_strided_vectors(accelerator_view):
    """Every third element, backwards; the elements between them do not change."""
    raw = numbers(np.float32, 22)
    expected = raw.copy()
    expected[1::3] += 2 * raw[0::3][::-1][: expected[1::3].size]
    wide = amp.array(raw, accelerator_view=accelerator_view)
    other = amp.array(np.ascontiguousarray(raw[0::3]), accelerator_view=accelerator_view)
    last = amp.array_view(other)[::-1]
    blas.axpy(2, last[: expected[1::3].size], amp.array_view(wide)[1::3])
    np.testing.assert_array_equal(host(wide), expected)


def test_rotations(accelerator_view):
    a, b = numbers(np.float32, 9), numbers(np.float32, 9, seed=1)
    x, y = device(a, accelerator_view), device(b, accelerator_view)
    blas.rot(x, y, 0.5, 2)
    np.testing.assert_array_equal(host(x), 0.5 * a + 2 * b)
    np.testing.assert_array_equal(host(y), 0.5 * b - 2 * a)
    for flag, h in ((-2, np.eye(2)), (-1, [[2, 4], [3, 5]]), (0, [[1, 4], [3, 1]]), (1, [[2, 1], [-1, 5]])):
        x, y = device(a, accelerator_view), device(b, accelerator_view)
        blas.rotm(x, y, [flag, 2, 3, 4, 5])
        np.testing.assert_array_equal([host(x), host(y)], np.array(h) @ [a, b])
    with pytest.raises(ValueError, match="flag"):
        blas.rotm(x, y, [3, 0, 0, 0, 0])


@pytest.mark.parametrize(("a", "b"), [(3, 4), (-3, 4), (4, -3), (0, 2), (2, 0), (0, 0), (1e200, 1e200), (-5, -5)])
def test_rotg(a, b):
    r, z, c, s = blas.rotg(a, b)
    np.testing.assert_allclose([c * a + s * b, c * b - s * a], [r, 0], atol=1e-15 * max(abs(a), abs(b)))
    np.testing.assert_allclose(c * c + s * s, 1)
    # z encodes both c and s.
    assert z == (s if abs(a) > abs(b) or a == b == 0 else 1 / c if c else 1)


def test_swapping_keeps_infinities(accelerator_view):
    a, b = np.float32([np.inf, 1, np.nan]), np.float32([2, -np.inf, 3])
    x, y = device(a, accelerator_view), device(b, accelerator_view)
    blas.swap(x, y)
    np.testing.assert_array_equal([host(x), host(y)], [b, a])


@pytest.mark.parametrize(
    "numbers_of", [[3e30, 4e30], [3e-30, 4e-30], [0, 0], [np.inf, 1], [np.nan, 1], [-np.inf, np.inf]]
)
def test_norms_neither_overflow_nor_vanish(accelerator_view, numbers_of):
    for dtype in TYPES:
        x = np.array(numbers_of, dtype)
        expected = np.linalg.norm(np.array(numbers_of, np.float64))
        np.testing.assert_allclose(blas.nrm2(accelerator_view, x).item(), expected, rtol=1e-6)


def test_gemv(accelerator_view, form):
    for k, (transa, order, dtype) in options(accelerator_view, "NTC", "CF", TYPES):
        m, n, _ = sizes(accelerator_view)[-1 - k % 2]
        alpha, beta = FACTORS[k % len(FACTORS)]
        a = numbers(dtype, *((m, n) if transa == "N" else (n, m)), seed=k)
        x, y = numbers(dtype, n, seed=k), numbers(dtype, m, seed=k + 1)
        expected = (alpha * op(a, transa) @ x + beta * y).astype(dtype)
        if alpha == 0:
            a[...] = np.nan
        if beta == 0:
            y[...] = np.nan
        z = device(y, accelerator_view)
        assert blas.gemv(alpha, device(a, accelerator_view, order), x, beta, z, transa=transa, order=order) is z
        np.testing.assert_array_equal(host(z), expected, err_msg=f"{transa}{order} {k}")


def test_symmetric_vectors(accelerator_view):
    for k, (uplo, order, dtype, name) in options(accelerator_view, "UL", "CF", TYPES, ("symv", "hemv")):
        n = (1, 7, 9)[k % 3]
        a = triangle(numbers(dtype, n, n, seed=k), uplo)
        mirrored = a.conj().T if name == "hemv" else a.T
        full = a + mirrored - np.diag(np.diag(mirrored))
        if name == "hemv" and dtype == np.complex64:
            full -= 1j * np.diag(np.diag(full).imag)
        x, y = numbers(dtype, n, seed=k), numbers(dtype, n, seed=k + 1)
        z = device(y, accelerator_view)
        getattr(blas, name)(2, device(unread(a, uplo), accelerator_view, order), x, -1, z, uplo=uplo, order=order)
        np.testing.assert_array_equal(host(z), (2 * full @ x - y).astype(dtype), err_msg=f"{uplo}{order}{name}")


def test_ranks(accelerator_view):
    names = ("syr", "her", "syr2", "her2", "ger", "gerc")
    for k, (order, uplo, dtype, name) in options(accelerator_view, "CF", "UL", TYPES, names):
        n = (1, 7, 9)[k % 3]
        x, y, a = (numbers(dtype, *s, seed=k + i) for i, s in enumerate(((n,), (n,), (n, n))))
        hermitian = name.startswith("her") or name == "gerc"
        if name.startswith("her") and dtype == np.complex64:
            a -= (1j * np.diag(np.diag(a).imag)).astype(dtype)
        alpha = 2 + 1j if dtype == np.complex64 and name != "her" else 2
        flip = np.conj if hermitian else np.asarray
        z = device(a, accelerator_view, order)
        if name.startswith("ger"):
            expected = a + alpha * np.outer(x, flip(y))
            blas.ger(alpha, x, y, z, conjugate=hermitian, order=order)
        else:
            other = y if name.endswith("2") else x
            total = alpha * np.outer(x, flip(other))
            if name.endswith("2"):
                total = total + flip(alpha) * np.outer(y, flip(x))
            expected = np.where(triangle(np.ones((n, n)), uplo) > 0, a + total, a)
            vectors = (x, y) if name.endswith("2") else (x,)
            getattr(blas, name)(alpha, *vectors, z, uplo=uplo, order=order)
        np.testing.assert_array_equal(host(z, order), expected.astype(dtype), err_msg=f"{name}{uplo}{order}")


def test_triangular_vectors(accelerator_view, monkeypatch):
    monkeypatch.setattr(_triangles, "BLOCK", 4)
    for k, (uplo, transa, diag, name) in options(accelerator_view, "UL", "NTC", "NU", ("trmv", "trsv")):
        dtype, order, n = TYPES[(k // 2) % 2], "CF"[k // 4 % 2], (9, 1, 6)[k % 3]
        a = triangular(dtype, n, uplo, k)
        whole = op(a - np.diag(np.diag(a)) + np.eye(n, dtype=dtype) if diag == "U" else a, transa)
        x = numbers(dtype, n, seed=k)
        z = device(x, accelerator_view)
        given = device(unread(a, uplo, diag), accelerator_view, order)
        assert getattr(blas, name)(given, z, uplo=uplo, transa=transa, diag=diag, order=order) is z
        made = host(z).astype(np.complex128)
        error = whole @ made - x if name == "trsv" else whole @ x - made
        bound = abs(whole) @ abs(made if name == "trsv" else x) + abs(x)
        assert (abs(error) <= 16 * np.finfo(np.float32).eps * bound).all(), f"{name}{uplo}{transa}{diag}{order}"


def test_errors():
    a, x, y = np.ones((3, 4), np.float32), np.ones(4, np.float32), np.ones(3, np.float32)
    with pytest.raises(amp.AmpError, match="x has 3 elements, but needs 4"):
        blas.gemv(1, a, y, 0, y)
    with pytest.raises(amp.AmpError, match="y has 3 elements, but needs 4"):
        blas.axpy(1, x, y)
    with pytest.raises(TypeError, match="x must be a vector"):
        blas.dot(a, x)
    with pytest.raises(TypeError, match="different types"):
        blas.dot(x, x.astype(np.int32))
    z = x.astype(np.complex64)
    with pytest.raises(TypeError, match="alpha is a real number, not 2j"):
        blas.her(2j, z, np.outer(z, z))
    with pytest.raises(TypeError, match="nrm2 takes floats"):
        blas.nrm2(x.astype(np.int32))
    with pytest.raises(amp.AmpError, match="must be square"):
        blas.syr(1, x, a)
    with pytest.raises(ValueError, match="uplo must be one of 'U', 'L', not 'x'"):
        blas.syr(1, y, a[:, :3], uplo="x")
    shared = amp.array_view(np.ones(6, np.float32))
    with pytest.raises(amp.AmpError, match="overlaps"):
        blas.axpy(1, shared[:4], shared[2:])
