"""Level 3 against numpy: every option, with the extents of Netlib's ``dblat3`` (0 left out), NaN in what is not read.

Whole numbers make products exact.  Solutions are measured as ``dblat3`` does: an error, relative to the sizes of the
numbers that make it up, in units of the rounding error.
"""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.blas.cases import FACTORS, TYPES, device, host, op, options, sizes, triangle, triangular, unread
from tests.library_views import forced
from tests.linalg.inputs import numbers
from vkamp import blas
from vkamp.blas import _triangles


def test_gemm(accelerator_view):
    for k, (transa, transb, order, dtype) in options(accelerator_view, "NTC", "NTC", "CF", TYPES):
        m, n, depth = sizes(accelerator_view)[k % len(sizes(accelerator_view))]
        alpha, beta = FACTORS[k % len(FACTORS)]
        shapes = (m, depth), (depth, n)
        a, b = (
            numbers(dtype, *(s if t == "N" else s[::-1]), seed=k) for s, t in zip(shapes, (transa, transb), strict=True)
        )
        c = numbers(dtype, m, n, seed=k + 1)
        expected = alpha * op(a, transa) @ op(b, transb) + beta * c
        if alpha == 0:
            a[...] = np.nan
        if beta == 0:
            c[...] = np.nan
        x, y, z = (device(each, accelerator_view, order) for each in (a, b, c))
        found = blas.gemm(accelerator_view, alpha, x, y, beta, z, transa=transa, transb=transb, order=order)
        assert found is z
        np.testing.assert_array_equal(host(z, order), expected.astype(dtype), err_msg=f"{transa}{transb}{order} {k}")


@pytest.mark.parametrize("name", ["symm", "hemm"])
def test_symm(accelerator_view, name):
    for k, (side, uplo, order, dtype) in options(accelerator_view, "LR", "UL", "CF", TYPES):
        m, n, _ = sizes(accelerator_view)[(k + 1) % len(sizes(accelerator_view))]
        alpha, beta = FACTORS[k % len(FACTORS)]
        size = m if side == "L" else n
        a = triangle(numbers(dtype, size, size, seed=k), uplo)
        mirrored = a.conj().T if name == "hemm" else a.T
        full = a + mirrored - np.diag(np.diag(mirrored))
        if name == "hemm":
            full -= 1j * np.diag(np.diag(full).imag) if dtype == np.complex64 else 0
        b, c = numbers(dtype, m, n, seed=k + 1), numbers(dtype, m, n, seed=k + 2)
        expected = alpha * (full @ b if side == "L" else b @ full) + beta * c
        x = device(unread(a, uplo), accelerator_view, order)
        y, z = (device(each, accelerator_view, order) for each in (b, c))
        getattr(blas, name)(alpha, x, y, beta, z, side=side, uplo=uplo, order=order)
        np.testing.assert_array_equal(host(z, order), expected.astype(dtype), err_msg=f"{side}{uplo}{order}")


@pytest.mark.parametrize("name", ["syrk", "herk", "syr2k", "her2k"])
def test_rank_k(accelerator_view, name, monkeypatch):
    monkeypatch.setattr(_triangles, "WIDE", 8)
    hermitian, twice = name.startswith("he"), name.endswith("2k")
    letters = "UL", "NC" if hermitian else "NT", "CF", TYPES
    for k, (uplo, trans, order, dtype) in options(accelerator_view, *letters):
        n, depth, _ = sizes(accelerator_view)[-1 - k % 2]
        alpha, beta = FACTORS[-1 - k % len(FACTORS)]
        factor = alpha + 1j if name == "her2k" and dtype == np.complex64 else alpha
        a, b, c = (numbers(dtype, *s, seed=k + i) for i, s in enumerate(((n, depth), (n, depth), (n, n))))
        flip = (lambda x: x.conj().T) if hermitian else (lambda x: x.T)
        if hermitian:
            c -= (1j * np.diag(np.diag(c).imag)).astype(dtype) if dtype == np.complex64 else 0
        total = factor * a @ flip(b if twice else a)
        if twice:
            total = total + (np.conj(factor) if hermitian else factor) * b @ flip(a)
        expected = np.where(triangle(np.ones((n, n)), uplo) > 0, total + beta * c, c).astype(dtype)
        x, y = (device(each if trans == "N" else flip(each), accelerator_view, order) for each in (a, b))
        z = device(c, accelerator_view, order)
        chosen = {"uplo": uplo, "trans": trans, "order": order}
        if twice:
            blas.__dict__[name](factor, x, y, beta, z, **chosen)
        else:
            blas.__dict__[name](factor, x, beta, z, **chosen)
        np.testing.assert_array_equal(host(z, order), expected, err_msg=f"{uplo}{trans}{order}")


@pytest.mark.parametrize("name", ["trmm", "trsm"])
def test_triangular(accelerator_view, name, monkeypatch):
    """Every option on one of the types; blocks of a few rows."""
    monkeypatch.setattr(_triangles, "BLOCK", 4)
    for k, (side, uplo, transa, diag) in options(accelerator_view, "LR", "UL", "NTC", "NU"):
        dtype = TYPES[(k // 2) % 2]
        order = "CF"[k % 2]
        m, n = (9, 5) if accelerator_view.accelerator.device_path != "reference" else (5, 2)
        size = m if side == "L" else n
        a = triangular(dtype, size, uplo, k)
        whole = op(a - np.diag(np.diag(a)) + np.eye(size, dtype=dtype) if diag == "U" else a, transa)
        b = numbers(dtype, m, n, seed=k)
        x, z = device(unread(a, uplo, diag), accelerator_view, order), device(b, accelerator_view, order)
        found = getattr(blas, name)(2, x, z, side=side, uplo=uplo, transa=transa, diag=diag, order=order)
        assert found is z
        result = host(z, order).astype(np.complex128 if dtype == np.complex64 else np.float64)
        made = result if name == "trsm" else b.astype(result.dtype)
        product = whole @ made if side == "L" else made @ whole
        bound = abs(whole) @ abs(made) if side == "L" else abs(made) @ abs(whole)
        error = abs(product - 2 * b if name == "trsm" else 2 * product - result)
        what = f"{side}{uplo}{transa}{diag}{order}"
        assert (error <= 16 * np.finfo(np.float32).eps * (2 * bound + abs(b))).all(), what


@pytest.mark.sample("llvmpipe", "reference")
@pytest.mark.parametrize("name", ["trmm", "trsm"])
def test_triangular_in_tiles(accelerator_view, name, monkeypatch):
    """The form of GPUs, with blocks of a few rows."""
    monkeypatch.setattr(_triangles, "BLOCK", 4)
    with forced("tiles"):
        for k, (side, uplo, transa, diag) in enumerate(("LUNN", "LLCU", "RUTN", "RLNU")):
            a = triangular(TYPES[k % 2], 11, uplo, k)
            whole = op(a - np.diag(np.diag(a)) + np.eye(11, dtype=a.dtype) if diag == "U" else a, transa)
            b = numbers(a.dtype, *((11, 3) if side == "L" else (3, 11)), seed=k)
            z = device(b, accelerator_view)
            given = device(unread(a, uplo, diag), accelerator_view)
            getattr(blas, name)(1, given, z, side=side, uplo=uplo, transa=transa, diag=diag)
            made = host(z).astype(np.complex128)
            x, right = (made, b) if name == "trsm" else (b, made)
            np.testing.assert_allclose(whole @ x if side == "L" else x @ whole, right, rtol=1e-4, atol=1e-3)


@pytest.mark.sample("llvmpipe", "reference")
def test_transposed_vectors_in_tiles(accelerator_view):
    """Pieces of the columns, with and without vectors of four."""
    with forced("tiles"):
        for k, (depth, n, dtype) in enumerate(((40, 12, np.float32), (35, 9, np.int32), (18, 8, np.complex64))):
            a, x, y = numbers(dtype, depth, n), numbers(dtype, depth, seed=1), numbers(dtype, n, seed=2)
            z = device(y, accelerator_view)
            blas.gemv(2, device(a, accelerator_view), x, -1, z, transa="TC"[k % 2])
            np.testing.assert_array_equal(host(z), (2 * op(a, "TC"[k % 2]) @ x - y).astype(dtype))


@pytest.mark.parametrize("name", ["trmm", "trsm"])
def test_infinite_elements_stay_in_their_rows(accelerator_view, name):
    """A triangular matrix has no zeros that NaN could come from."""
    n = 40 if accelerator_view.accelerator.device_path != "reference" else 6
    a, b = np.eye(n, dtype=np.float32), np.ones((n, 3), np.float32)
    b[n - 1, 1] = np.inf
    z = device(b, accelerator_view)
    getattr(blas, name)(1, device(a, accelerator_view), z, uplo="L")
    np.testing.assert_array_equal(host(z), b)


def test_zero_factor_clears(accelerator_view):
    a, b = np.full((3, 3), np.nan, np.float32), np.full((3, 2), np.nan, np.float32)
    for name in ("trmm", "trsm"):
        z = device(b, accelerator_view)
        getattr(blas, name)(0, device(a, accelerator_view), z)
        assert (host(z) == 0).all()


def test_sections_and_numpy_arrays(accelerator_view):
    """Parts of larger matrices: what is around them stays."""
    whole = numbers(np.float32, 9, 11)
    before = whole.copy()
    wide = amp.array(whole, accelerator_view=accelerator_view)
    part = wide.section(amp.index(2, 3), amp.extent(4, 5))
    a, b = numbers(np.float32, 4, 3), numbers(np.float32, 3, 5)
    assert blas.gemm(1, a, b, 2, part) is part
    before[2:6, 3:8] = a @ b + 2 * before[2:6, 3:8]
    np.testing.assert_array_equal(np.asarray(wide), before)
    c = np.zeros((4, 5), np.float32)
    np.testing.assert_array_equal(np.asarray(blas.gemm(accelerator_view, 1, a, b, 0, c)), a @ b)
    np.testing.assert_array_equal(c, a @ b)


def test_errors():
    a, b, c = (np.ones(shape, np.float32) for shape in ((3, 4), (4, 5), (3, 5)))
    with pytest.raises(amp.AmpError, match="4 columns, but op"):
        blas.gemm(1, a, c, 0, c)
    with pytest.raises(amp.AmpError, match="c is 4 x 5, but must be 3 x 5"):
        blas.gemm(1, a, b, 0, b)
    with pytest.raises(TypeError, match="different types"):
        blas.gemm(1, a, b, 0, c.astype(np.int32))
    with pytest.raises(ValueError, match="transposition of a must be one of 'N', 'T', 'C', not 'X'"):
        blas.gemm(1, a, b, 0, c, transa="X")
    with pytest.raises(ValueError, match="order"):
        blas.gemm(1, a, b, 0, c, order="A")
    with pytest.raises(TypeError, match="rank 2"):
        blas.gemm(1, a[0], b, 0, c)
    with pytest.raises(amp.AmpError, match="must be square"):
        blas.trsm(1, a, c)
    with pytest.raises(ValueError, match="diag"):
        blas.trsm(1, a[:, :3], c, diag="X")
    with pytest.raises(amp.AmpError, match="does not fit"):
        blas.trmm(1, a[:, :3], c, side="R")
    same = amp.array(np.ones((4, 4), np.float32))
    with pytest.raises(amp.AmpError, match="overlaps"):
        blas.gemm(1, same, same, 0, same)


def test_inputs_that_are_read_only(accelerator_view):
    """numpy's arrays and readonly views, of more rows than one block has."""
    raw, other = numbers(np.float32, 130, 5), numbers(np.float32, 130, 5, seed=2)
    for a, b in ((raw, other), tuple(amp.array_view(each, readonly=True) for each in (raw, other))):
        for call, expected in (
            (lambda c: blas.syrk(1, a, 0, c), raw @ raw.T),  # noqa: B023
            (lambda c: blas.syr2k(2, a, b, 0, c), 2 * (raw @ other.T + other @ raw.T)),  # noqa: B023
            (lambda c: blas.herk(1, a, 0, c), raw @ raw.T),  # noqa: B023
            (lambda c: blas.gemm(1, a, b, 0, c, transb="T"), raw @ other.T),  # noqa: B023
        ):
            c = amp.array(np.zeros((130, 130), np.float32), accelerator_view=accelerator_view)
            call(c)
            np.testing.assert_array_equal(np.triu(np.asarray(c)), np.triu(expected))
