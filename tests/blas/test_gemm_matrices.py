"""Products by cooperative matrices: small ones where the device has none, and which products take this form."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from vkamp.artifacts import MatrixShape
from vkamp.blas import gemm_matrices
from vkamp.blas._operands import Matrix

#: (operands, transposed, rows, columns and inner dimension, result)
CASES = [
    ("float16", False, (128, 128, 32), "float32"),
    ("float16", True, (130, 100, 70), "float16"),
    ("int8", False, (128, 129, 200), "int32"),
    ("int8", False, (130, 260, 300), "int32"),
]


@pytest.mark.accelerators("swiftshader")
@pytest.mark.parametrize(("kind", "turned", "size", "result"), CASES)
def test_products(accelerator_view, kind, turned, size, result):
    rows, columns, inner = size
    generator = np.random.default_rng(3)
    a, b = (generator.integers(-3, 4, shape).astype(kind) for shape in ((rows, inner), (inner, columns)))
    stored = np.ascontiguousarray(b.T) if turned else b
    c = amp.array(amp.extent(1, rows, columns), result, accelerator_view=accelerator_view)
    right = Matrix(amp.array_view(stored[None]), turned)
    gemm_matrices.multiply(accelerator_view, Matrix(amp.array_view(a[None])), right, c, wide=2)
    np.testing.assert_array_equal(np.asarray(c)[0], (a.astype(np.int64) @ b.astype(np.int64)).astype(result))


@pytest.mark.accelerators("swiftshader")
def test_a_transposed_left_operand(accelerator_view):
    a = np.random.default_rng(4).integers(-3, 4, (40, 130)).astype(np.int8)
    c = amp.array(amp.extent(1, 130, 130), np.int32, accelerator_view=accelerator_view)
    both = amp.array_view(a[None])
    gemm_matrices.multiply(accelerator_view, Matrix(both, turned=True), Matrix(both), c, wide=2)
    np.testing.assert_array_equal(np.asarray(c)[0], a.T.astype(np.int32) @ a.astype(np.int32))


@pytest.mark.parametrize("kind", ["int8", "float16", "uint8"])
@pytest.mark.parametrize(("width", "first"), [(132, 0), (136, 4), (134, 1)])
@pytest.mark.spread(2)
def test_transposed_words(accelerator_view, kind, width, first):
    """Of whole matrices, and of those whose rows have gaps and begin in a word; with zeros after the end."""
    a = np.random.default_rng(5).integers(-99, 99, (1, 300, width)).astype(kind)
    values = amp.array_view(a)[:, :, first : first + 132]
    found = gemm_matrices._words(accelerator_view, values, 256, 384, turned=True)
    expected = np.zeros((256, 384), kind)
    expected[:132, :300] = a[0, :, first : first + 132].T
    np.testing.assert_array_equal(np.asarray(found).view(np.uint8).reshape(-1), expected.view(np.uint8).reshape(-1))


def of(kind: str, *shape: int) -> Matrix:
    values: Any = SimpleNamespace(extent=(1, *shape), dtype=np.dtype(kind))
    return Matrix(values)


def view_with(*shapes: MatrixShape, engine: str = "vulkan") -> Any:
    limits = amp.accelerator("swiftshader@vulkan").default_view._queue.info.limits
    found = replace(limits, matrix_shapes=shapes, subgroup_sizes=(32,))
    return SimpleNamespace(accelerator=SimpleNamespace(limits=found, engine=engine))


HALF = MatrixShape(16, 16, 16, "float16", "float16", "float32")
BYTE = MatrixShape(16, 16, 32, "int8", "int8", "int32")


def test_which_products_take_this_form():
    takes, half = gemm_matrices.takes, np.dtype(np.float16)
    large, small = of("float16", 512, 512), of("float16", 512, 511)
    assert takes(view_with(HALF), large, large, half)
    assert takes(view_with(HALF), large, large, np.dtype(np.float32))
    assert takes(view_with(HALF, BYTE), of("int8", 600, 600), of("int8", 600, 600), np.dtype(np.int32))
    assert not takes(view_with(HALF), large, large, np.dtype(np.float64))
    assert not takes(view_with(HALF), large, small, half)
    assert not takes(view_with(HALF), of("float32", 512, 512), of("float32", 512, 512), np.dtype(np.float32))
    assert not takes(view_with(HALF), of("int8", 512, 512), of("int8", 512, 512), np.dtype(np.int32))
    assert not takes(view_with(BYTE), of("int8", 512, 512), of("int8", 512, 512), np.dtype(np.int8))
    assert not takes(view_with(), large, large, half)
    assert not takes(view_with(HALF, engine="kompute"), large, large, half)
