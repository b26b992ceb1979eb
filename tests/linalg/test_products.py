"""Products of vectors, matrices and batches, against numpy."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import vkamp as amp
from tests.library_views import forced
from tests.linalg.inputs import LAYOUTS, in_layout, numbers
from vkamp import linalg
from vkamp.algorithms import device_scalar

SHAPES = [
    ((5,), (5,)), ((3, 5), (5,)), ((5,), (5, 4)), ((1, 1), (1, 1)), ((7, 1), (1, 6)), ((17, 33), (33, 20)),
    ((2, 3, 5), (5,)), ((5,), (2, 5, 4)), ((4, 1, 3, 5), (2, 5, 6)), ((2, 1, 5), (2, 5, 3)), ((2, 3, 8), (8, 4)),
    ((2, 3, 5), (2, 5, 1)), ((3, 700), (700,)), ((700,), (700, 3)), ((70, 9), (9, 68)), ((3, 8), (8, 40)),
]  # fmt: skip
EMPTY = [((3, 0), (0, 2)), ((0, 3), (3, 2)), ((2, 0, 3), (3, 4)), ((0,), (0,)), ((0, 5), (5,))]
TYPES = [np.float32, np.int32, np.complex64, np.float16, np.int8, np.uint32]


def same(found, expected):
    found = np.asarray(found)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("part", range(4))
@pytest.mark.spread(2)
def test_products(accelerator_view, form, part):
    """Some of the shapes, with alternating layouts."""
    for k, (first, second) in enumerate(SHAPES[part::4]):
        a, b = numbers(np.float32, *first), numbers(np.float32, *second, seed=1)
        layouts = LAYOUTS[(part + k) % 4], LAYOUTS[(part + 2 * k + 1) % 4]
        left, right = (in_layout(x, y, accelerator_view) for x, y in zip((a, b), layouts, strict=True))
        same(linalg.matmul(left, right, accelerator_view=accelerator_view), a @ b)


@pytest.mark.parametrize("dtype", TYPES[1:])
def test_types(accelerator_view, dtype):
    for first, second in (((9, 6), (6, 12)), ((3, 7), (7, 5)), ((4, 6), (6,))):
        a, b = numbers(dtype, *first), numbers(dtype, *second, seed=1)
        same(linalg.matmul(a, b, accelerator_view=accelerator_view), a @ b)


@pytest.mark.sample("llvmpipe", "reference")
@pytest.mark.parametrize("dtype", [np.int32, np.complex64])
def test_types_in_tiles(accelerator_view, dtype):
    with forced("tiles"):
        a, b = numbers(dtype, 5, 18), numbers(dtype, 18, 7, seed=1)
        same(linalg.matmul(a, b, accelerator_view=accelerator_view), a @ b)


@pytest.mark.sample("llvmpipe", "reference")
@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.complex128])
def test_wide_types(accelerator_view, dtype):
    view = accelerator_view
    a, b = numbers(dtype, 6, 5), numbers(dtype, 5, 9, seed=1)
    same(linalg.matmul(a, b, accelerator_view=view), a @ b)
    same(linalg.matmul(a, b[:, 0], accelerator_view=view), a @ b[:, 0])


@pytest.mark.accelerators("swiftshader")
def test_types_that_a_device_lacks(accelerator_view):
    a = np.ones((4, 4))
    with pytest.raises(amp.UnsupportedFeatureError, match="float64"):
        linalg.matmul(a, a, accelerator_view=accelerator_view)


def test_float16_is_summed_in_float32(accelerator_view):
    a = np.ones((1, 4096), np.float16)
    b = np.ones((4096, 2), np.float16)
    assert np.asarray(linalg.matmul(a, b, accelerator_view=accelerator_view)).tolist() == [[4096, 4096]]


def test_mixed_types(accelerator_view):
    a, b = numbers(np.float16, 3, 5), numbers(np.float32, 5, 4)
    same(linalg.matmul(a, b, accelerator_view=accelerator_view), a @ b)
    a, b = numbers(np.complex64, 3, 5), numbers(np.float32, 5, 4)
    same(linalg.matmul(a, b, accelerator_view=accelerator_view), a @ b)


@pytest.mark.parametrize("shapes", EMPTY)
def test_empty(accelerator_view, shapes):
    a, b = (np.ones(shape, np.float32) for shape in shapes)
    same(linalg.matmul(a, b, accelerator_view=accelerator_view), np.asarray(a @ b))


def test_random_numbers(accelerator_view, form):
    """Within the bound of the rounding errors of a sum of n products."""
    n = 9 if accelerator_view.accelerator.device_path == "reference" else 150
    random = np.random.default_rng(3)
    a, b = (random.standard_normal(shape).astype(np.float32) for shape in ((n, 2 * n), (2 * n, n)))
    found = np.asarray(linalg.matmul(a, b, accelerator_view=accelerator_view))
    bound = 2 * n * np.finfo(np.float32).eps * (abs(a) @ abs(b))
    assert (abs(found - a.astype(np.float64) @ b) <= bound).all()


def test_nan_stays_in_its_rows_and_columns(accelerator_view):
    a, b = np.ones((7, 5), np.float32), np.ones((5, 6), np.float32)
    a[6, 4], b[4, 5] = np.nan, np.inf
    np.testing.assert_array_equal(np.asarray(linalg.matmul(a, b, accelerator_view=accelerator_view)), a @ b)


def test_operators(accelerator_view):
    """``@`` of two containers, and of a container and an array of the host on either side."""
    a, b = numbers(np.float32, 3, 5), numbers(np.float32, 5, 4)
    x, y = (amp.array(each, accelerator_view=accelerator_view) for each in (a, b))
    for found in (x @ y, x @ b, a @ y, np.matmul(a, y), amp.array_view(x) @ y):
        assert isinstance(found, amp.array)
        assert found.accelerator_view == accelerator_view
        same(found, a @ b)
    column = amp.array_view(y)[:, 0]
    same(x @ column, a @ b[:, 0])
    assert isinstance(b[:, 1] @ column, device_scalar)
    for other in (3, [1, 2], "a"):
        with pytest.raises(TypeError, match="`@` does not work"):
            x @ other
        with pytest.raises(TypeError, match="`@` does not work"):
            other @ x


def test_numpy_functions_of_containers_run_on_the_host():
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = amp.array(a)
    same(a + x, a + a)
    same(np.sqrt(x), np.sqrt(a))
    same(np.add.reduce(x), np.add.reduce(a))
    total = a.copy()
    total += x
    same(total, 2 * a)
    with pytest.raises(TypeError):
        np.add(a, a, out=x)


@pytest.mark.parametrize("layout", ["rows", "columns", "section"])
def test_out(accelerator_view, layout):
    a, b = numbers(np.float32, 2, 3, 5), numbers(np.float32, 2, 5, 6)
    whole = np.full((4, 8, 9), 7, np.float32)
    raw = {"rows": np.zeros((2, 3, 6), np.float32), "columns": np.zeros((2, 6, 3), np.float32).transpose(0, 2, 1)}
    out = amp.array_view(raw[layout] if layout in raw else whole[1:3, 2:5, 1:7])
    assert linalg.matmul(a, b, out=out, accelerator_view=accelerator_view) is out
    same(out, a @ b)
    assert layout != "section" or (whole == 7).sum() == whole.size - out.extent.size()


def test_errors(accelerator_view):
    a, b = amp.array(numbers(np.float32, 3, 5)), amp.array(numbers(np.float32, 4, 6))
    with pytest.raises(amp.AmpError, match="5 columns, but 4 rows"):
        linalg.matmul(a, b)
    with pytest.raises(amp.AmpError, match="cannot be broadcast"):
        linalg.matmul(numbers(np.float32, 2, 3, 5), numbers(np.float32, 3, 5, 3))
    with pytest.raises(TypeError, match="not numbers"):
        linalg.matmul(np.float32(3), b)
    with pytest.raises(TypeError, match="bool"):
        linalg.matmul(np.ones((2, 2), bool), np.ones((2, 2), bool))
    square = amp.array(numbers(np.float32, 5, 5))
    with pytest.raises(amp.AmpError, match="overlaps"):
        linalg.matmul(square, square, out=square)
    with pytest.raises(amp.AmpError, match="out has"):
        linalg.matmul(a, square, out=square)
    with pytest.raises(TypeError, match="out has int32 elements, but the result has float32"):
        linalg.matmul(a, square, out=amp.array(amp.extent(3, 5), np.int32))


def test_vecdot_and_outer(accelerator_view, form):
    for dtype in (np.float32, np.complex64):
        a, b = numbers(dtype, 3, 1, 9), numbers(dtype, 2, 9, seed=1)
        same(linalg.vecdot(a, b, accelerator_view=accelerator_view), (a.conj() * b).sum(-1, dtype=dtype))
        same(linalg.outer(a, b, accelerator_view=accelerator_view), np.outer(a, b))
        x, y = a.reshape(3, 9), numbers(dtype, 3, 9, seed=1)
        same(linalg.vecdot(x, y, axis=0, accelerator_view=accelerator_view), (x.conj() * y).sum(0, dtype=dtype))
        found = linalg.vecdot(a[0, 0], b[0], accelerator_view=accelerator_view)
        assert isinstance(found, device_scalar)
        assert found.item() == np.vdot(a[0, 0], b[0])
    with pytest.raises(amp.AmpError, match="the vectors have 9 and 8 elements"):
        linalg.vecdot(a, b[:, :8])


@pytest.mark.accelerators("llvmpipe", "swiftshader")
def test_repeated_calls(accelerator_view):
    """Other elements in the same containers, and results that are kept."""
    a, b = numbers(np.float32, 9, 7), numbers(np.float32, 7, 6)
    x, y = (amp.array(each, accelerator_view=accelerator_view) for each in (a, b))
    kept = []
    for k in range(5):
        amp.copy(np.ascontiguousarray(k * a), x)
        kept.append(x @ y)
    for k, found in enumerate(kept):
        same(found, k * a @ b)


@pytest.mark.accelerators("llvmpipe")
def test_long_sums(accelerator_view):
    """More steps than lavapipe's loops have."""
    n = 4 * 49_152 + 100
    a, b = np.ones((2, n), np.int32), np.ones((n, 4), np.int32)
    same(linalg.matmul(a, b, accelerator_view=accelerator_view), np.full((2, 4), n, np.int32))
    same(linalg.matmul(a, b[:, 0], accelerator_view=accelerator_view), np.full(2, n, np.int32))


def test_captures(accelerator_view):
    a, b = numbers(np.float32, 9, 7), numbers(np.float32, 7, 6)
    x, y = (amp.array(each, accelerator_view=accelerator_view) for each in (a, b))
    with amp.capture() as graph:
        found = x @ y
    amp.copy(np.ascontiguousarray(2 * a), x)
    graph.replay()
    same(found, 2 * a @ b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("block", [(32, 32, 16, 8, 4, 4, 1), (32, 32, 8, 4, 4, 4, 1)])
def test_blocks(block: tuple[int, ...], dtype: type) -> None:
    """Threads that load four rows of A each, or a part of one; and a sum that ends inside of a block, in a batch."""
    from vkamp.blas import gemm_blocks
    from vkamp.tuning import Parameters

    view = amp.accelerator("reference").default_view
    random = np.random.default_rng(1)
    for batch, rows, columns, k in ((1, 33, 36, 40), (2, 30, 20, 20)):
        x, y = (random.integers(-9, 9, shape).astype(dtype) for shape in ((batch, rows, k), (batch, k, columns)))
        a, b = (amp.array(amp.extent(each.size), dtype, each.reshape(-1), accelerator_view=view) for each in (x, y))
        c = amp.array(amp.extent(batch, rows, columns), dtype, np.ones(x.shape[:2] + y.shape[2:], dtype),
                      accelerator_view=view)  # fmt: skip
        steps = (k // 4, rows * k // 4, columns // 4, k * columns // 4, columns // 4)
        args = (view, a, b, c, steps, (dtype(2), dtype(3)), (0, k // 4), True)
        gemm_blocks.product.run(Parameters({"block": block}), args, {})
        assert (np.asarray(c) == 2 * (x @ y) + 3).all()


def test_blocks_of_doubles_need_twice_the_memory() -> None:
    """A device with 32 KiB takes a block for float32, and not for float64."""
    from vkamp.blas import gemm_blocks

    limits = SimpleNamespace(tile_threads=256, shared_bytes=32 << 10)
    block = gemm_blocks.Blocking(128, 64, 16, 8, 8, 4, 1)
    assert gemm_blocks.is_possible(block, limits, 4)
    assert not gemm_blocks.is_possible(block, limits, 8)
