"""numpy's functions of numbers and sequences in kernels, by name and handed over, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp

NAN, INF = np.nan, np.inf
F = np.array([1.5, -2.0, 0.0, -0.0, 2.5, -7.25, 3.5, NAN, INF, -INF, 0.49999997, 1e9, -0.5], np.float32)
G = np.array([2.0, NAN, -1.5, 4.0, 0.5, -3.0, 2.0, 1.0, NAN, 3.0, 0.0, -1e9, INF], np.float32)
I = np.array([7, -3, 0, 12, 5, -8, 1, -1, 2**31 - 1, -(2**31), 100, 255, 256], np.int32)  # noqa: E741
U = np.array([2, 5, 3, 4, 0, 3, 2, 2**32 - 1, 2**31, 9, 1, 255, 254], np.uint32)
J = np.array([4, 6, 9, 8, 10, 12, 7, 3, 2, 1, 75, 17, 64], np.int32)


@amp.kernel
def floats(idx, f, g, out):
    x = f[idx]
    y = g[idx]
    k = idx[0]
    out[0, k] = np.where(x > 0, x, y)
    out[1, k] = np.where(x, 1, 2.5)
    out[2, k] = np.clip(x, -1, 2.5)
    out[3, k] = np.clip(x, y, a_max=None)
    out[4, k] = np.clip(x, a_min=None, a_max=y)
    out[5, k] = np.sign(x)
    out[6, k] = np.rint(x)
    out[7, k] = np.round(x)
    out[8, k] = np.around(x) + np.fix(x)
    out[9, k] = np.maximum(x, 0) + np.minimum(y, amp.float32(1))
    fraction, whole = np.modf(x)
    out[10, k] = fraction
    out[11, k] = whole
    significand, exponent = np.frexp(g[k])
    out[12, k] = significand if np.isfinite(y) else 0.0
    out[13, k] = exponent if np.isfinite(y) else 0


def expected_floats():
    with np.errstate(invalid="ignore"):
        significand, exponent = np.frexp(G)
        finite = np.isfinite(G)
        return np.array([
            np.where(F > 0, F, G), np.where(F, 1, 2.5), np.clip(F, -1, 2.5), np.maximum(F, G), np.minimum(F, G),
            np.sign(F), np.rint(F), np.round(F), np.around(F) + np.fix(F),
            np.maximum(F, 0) + np.minimum(G, np.float32(1)), *np.modf(F),
            np.where(finite, significand, 0), np.where(finite, exponent, 0),
        ], np.float32)  # fmt: skip


def test_floats(accelerator_view):
    out = amp.array_view(np.zeros((14, len(F)), np.float32))
    f, g = amp.array_view(F.copy()), amp.array_view(G.copy())
    amp.parallel_for_each(accelerator_view, f.extent, floats, f, g, out)
    np.testing.assert_array_equal(np.asarray(out), expected_floats())


@amp.kernel
def integers(idx, i, u, j, out, unsigned):
    x = i[idx]
    k = idx[0]
    out[0, k] = np.where(x > 3, x, -1)
    out[1, k] = np.clip(x, 0, 255)
    out[2, k] = np.sign(x)
    out[3, k] = np.round(x)
    out[4, k] = np.maximum(x, 2) + np.minimum(x, 5)
    out[5, k] = np.gcd(j[k], 6)
    out[6, k] = np.lcm(j[k], 6)
    out[7, k], out[8, k] = np.divmod(j[k], 7)
    unsigned[0, k] = np.clip(u[k], 1, 300)
    unsigned[1, k] = np.sign(u[k])
    unsigned[2, k] = np.where(x < 0, u[k], 0)
    unsigned[3, k] = np.maximum(u[k], x)


def test_integers(accelerator_view):
    out, unsigned = amp.array_view(np.zeros((9, len(I)), np.int32)), amp.array_view(np.zeros((4, len(I)), np.uint32))
    i, u, j = (amp.array_view(each.copy()) for each in (I, U, J))
    amp.parallel_for_each(accelerator_view, i.extent, integers, i, u, j, out, unsigned)
    with np.errstate(over="ignore"):
        expected = [np.where(I > 3, I, -1), np.clip(I, 0, 255), np.sign(I), I, np.maximum(I, 2) + np.minimum(I, 5),
                    np.gcd(J, 6), np.lcm(J, 6), *np.divmod(J, 7)]  # fmt: skip
    np.testing.assert_array_equal(np.asarray(out), expected)
    largest = np.maximum(U.astype(np.int64), I)
    np.testing.assert_array_equal(
        np.asarray(unsigned), [np.clip(U, 1, 300), np.sign(U), np.where(I < 0, U, 0), largest]
    )


@amp.kernel
def of_rows(idx, m, ints, out):
    row = m[idx[0]]
    out[0, idx[0]] = np.sum(row)
    out[1, idx[0]] = np.prod(row)
    out[2, idx[0]] = np.any(row) + 2 * np.all(row)
    out[3, idx[0]] = np.sum(ints[idx[0], 1:]) + np.sum((1, 2)) + np.any(x > 2 for x in row)


def test_sequences(accelerator_view):
    m = np.array([[1, -2, 3.5], [0, 0, 0], [0.5, 0, 2]], np.float32)
    ints = np.arange(9, dtype=np.int32).reshape(3, 3)
    out = amp.array_view(np.zeros((4, 3), np.float32))
    amp.parallel_for_each(accelerator_view, amp.extent(3), of_rows, amp.array_view(m), amp.array_view(ints), out)
    truths = m.any(1) + 2 * m.all(1)
    wanted = [m.sum(1), m.prod(1), truths, ints[:, 1:].sum(1) + 3 + (m > 2).any(1)]
    np.testing.assert_array_equal(np.asarray(out), np.array(wanted, np.float32))


@amp.kernel
def handed_over(idx, op, a, b, out):
    out[idx] = op(a[idx], b[idx])


def test_functions_as_arguments(accelerator_view):
    for op in (np.maximum, np.minimum, np.gcd, np.lcm):
        out = amp.array_view(np.zeros(len(J), np.int32))
        a, b = amp.array_view(J.copy()), amp.array_view(J[::-1].copy())
        amp.parallel_for_each(accelerator_view, a.extent, handed_over, op, a, b, out)
        np.testing.assert_array_equal(np.asarray(out), op(J, J[::-1]), err_msg=op.__name__)


@amp.kernel
def of_vectors(idx, points, out):
    p = points[idx]
    p = np.where(p.x > 0, p, amp.float2(9, 9))
    out[idx] = p


def test_where_chooses_vectors(accelerator_view):
    raw = np.array([[1, 2], [-1, 3], [4, -5]], np.float32)
    points, out = (amp.array(amp.extent(3), amp.float2, raw, accelerator_view=accelerator_view) for _ in range(2))
    amp.parallel_for_each(accelerator_view, points.extent, of_vectors, points, out)
    np.testing.assert_array_equal(np.asarray(out).tolist(), np.where(raw[:, :1] > 0, raw, 9))


@amp.func
def counted(a, x):
    a[0] += 1
    return x


@amp.kernel
def evaluated(idx, a, out):
    if idx[0] == 0:
        out[0] = np.where(out[0] > 0, counted(a, 5), counted(a, 7))


def test_where_evaluates_everything(accelerator_view):
    a, out = amp.array_view(np.zeros(1, np.int32)), amp.array_view(np.zeros(1, np.int32))
    amp.parallel_for_each(accelerator_view, amp.extent(3), evaluated, a, out)
    assert (int(a[0]), int(out[0])) == (2, 7)


@pytest.mark.skipif(not hasattr(np, "bitwise_count"), reason="numpy 1 lacks it")
def test_bits_of_numpy_2(accelerator_view):
    @amp.kernel
    def count(idx, i, out):
        out[idx] = np.bitwise_count(i[idx])

    out = amp.array_view(np.zeros(len(I), np.int32))
    amp.parallel_for_each(accelerator_view, out.extent, count, amp.array_view(I.copy()), out)
    np.testing.assert_array_equal(np.asarray(out), np.bitwise_count(I))
