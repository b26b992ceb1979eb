"""Increments and leading dimensions of Netlib's ``dblat2`` and ``dblat3`` as views: 1, 2, -1 and -2 elements from one
to the next, rows longer than the matrix; the memory between the elements does not change.

Each routine gives the same bits as with arguments without gaps, whose results the other files compare with numpy's.
"""

from __future__ import annotations

import numpy as np
import pytest

import vkamp as amp
from tests.blas.cases import TYPES, triangular
from tests.linalg.inputs import numbers
from vkamp import blas

INCREMENTS = (2, -1, -2)
OTHER = 77

#: Each routine with its arguments: vectors and matrices by their extents, "+" what it writes, "T" a triangular matrix.
LEVEL_1 = {
    "axpy": (2, "5", "+5"), "scal": (3, "+5"), "copy": ("5", "+5"), "swap": ("+5", "+5"), "dot": ("5", "5"),
    "nrm2": ("5",), "asum": ("5",), "amax": ("5",), "rot": ("+5", "+5", 0.5, 2.0),
}  # fmt: skip
LEVEL_2 = {
    "gemv": (2, "3x5", "5", -1, "+3"), "symv": (2, "5x5", "5", -1, "+5"), "hemv": (2, "5x5", "5", 0, "+5"),
    "ger": (2, "3", "5", "+3x5"), "syr": (2, "5", "+5x5"), "her": (2, "5", "+5x5"), "syr2": (2, "5", "5", "+5x5"),
    "her2": (2, "5", "5", "+5x5"), "trmv": ("T5x5", "+5"), "trsv": ("T5x5", "+5"),
}  # fmt: skip
LEVEL_3 = {
    "gemm": (2, "3x5", "5x4", -1, "+3x4"), "symm": (2, "3x3", "3x4", 0, "+3x4"), "hemm": (2, "3x3", "3x4", 1, "+3x4"),
    "syrk": (2, "3x5", -1, "+3x3"), "herk": (2, "3x5", 0, "+3x3"), "syr2k": (2, "3x5", "3x5", 1, "+3x3"),
    "her2k": (2, "3x5", "3x5", 1, "+3x3"), "trmm": (2, "T3x3", "+3x4"), "trsm": (2, "T3x3", "+3x4"),
}  # fmt: skip


class Argument:
    """An argument with gaps, and the same without."""

    def __init__(self, text, k, dtype, view, increment):
        shape = tuple(map(int, text.strip("+T").split("x")))
        self.is_written = "+" in text
        raw = triangular(dtype, shape[0], "U", k) if "T" in text else numbers(dtype, *shape, seed=k)
        if len(shape) == 1:
            steps = slice(None, None, increment)
            wide = np.full(shape[0] * abs(increment), OTHER, dtype)
        else:
            steps = (slice(1, shape[0] + 1), slice(2, shape[1] + 2))
            wide = np.full((shape[0] + 2, shape[1] + 3), OTHER, dtype)
        wide[steps] = raw
        self.between = np.ones(wide.shape, bool)
        self.between[steps] = False
        self.steps, self.whole = steps, amp.array(wide, accelerator_view=view)
        self.spread = amp.array_view(self.whole)[steps]
        self.plain = amp.array(raw, accelerator_view=view)

    def check(self, what):
        whole = np.asarray(self.whole)
        assert (whole[self.between] == OTHER).all(), what
        np.testing.assert_array_equal(whole[self.steps], np.asarray(self.plain), err_msg=what)


def check(view, name, template, dtype, increment):
    what = f"{name} {np.dtype(dtype)} {increment}"
    arguments = [
        Argument(each, k, dtype, view, increment) if isinstance(each, str) else each for k, each in enumerate(template)
    ]
    one, other = (
        [getattr(each, kind) if isinstance(each, Argument) else each for each in arguments]
        for kind in ("spread", "plain")
    )
    f = getattr(blas, name)
    found, expected = f(view, *one), f(view, *other)
    if hasattr(found, "item"):
        # Sums of whole numbers are exact.
        np.testing.assert_allclose(found.item(), expected.item(), rtol=1e-6, err_msg=what)
    for each in arguments:
        if isinstance(each, Argument):
            each.check(what)


@pytest.mark.parametrize("name", LEVEL_1)
def test_vectors(accelerator_view, name):
    for k, increment in enumerate(INCREMENTS):
        check(accelerator_view, name, LEVEL_1[name], TYPES[k % 2], increment)


@pytest.mark.parametrize("name", LEVEL_2)
def test_matrices_and_vectors(accelerator_view, name):
    for k, increment in enumerate(INCREMENTS):
        check(accelerator_view, name, LEVEL_2[name], TYPES[(k + 1) % 2], increment)


@pytest.mark.parametrize("name", LEVEL_3)
def test_matrices(accelerator_view, name):
    for dtype in TYPES:
        check(accelerator_view, name, LEVEL_3[name], dtype, 1)


def test_vectors_of_one_repeated_element(accelerator_view):
    """An increment of 0, of vectors that are read."""
    x = np.broadcast_to(np.float32(3), (5,))
    y = amp.array(numbers(np.float32, 5), accelerator_view=accelerator_view)
    expected = np.asarray(y) + 6
    np.testing.assert_array_equal(np.asarray(blas.axpy(accelerator_view, 2, x, y)), expected)
    assert blas.dot(accelerator_view, x, np.ones(5, np.float32)).item() == 15
    a = numbers(np.float32, 4, 5)
    z = amp.array(np.zeros(4, np.float32), accelerator_view=accelerator_view)
    np.testing.assert_array_equal(np.asarray(blas.gemv(1, a, x, 0, z)), a @ x)
