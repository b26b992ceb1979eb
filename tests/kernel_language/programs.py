"""Small helpers of the tests of the language: run a kernel over elements, compare rows of results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vkamp as amp

F32, I32, U32 = np.float32, np.int32, np.uint32


def rows(
    view: amp.accelerator_view, kernel: Any, count: int, dtype: Any, *inputs: NDArray[Any], **constants: Any
) -> NDArray[Any]:
    """Runs ``kernel(i, *inputs, out)`` once for each element of the inputs; gives ``out``, of ``count`` rows.

    A row that the kernel leaves alone holds 77.
    """
    size = len(inputs[0])
    result = np.full((count, size), 77, dtype)
    out = amp.array_view(result)
    views = [amp.array_view(x, readonly=True) for x in inputs]
    amp.parallel_for_each(view, amp.extent(size), kernel, *views, out, **constants)
    out.synchronize()
    return result


def same(result: NDArray[Any], expected: Any, name: str = "") -> None:
    """Equal element by element; NaN equals NaN."""
    np.testing.assert_array_equal(result, np.asarray(expected), err_msg=name)


def same_rows(result: NDArray[Any], expected: Mapping[str, Any]) -> None:
    """Row by row, each under the name of what it holds; NaN equals NaN, every wrong row is reported."""
    assert len(result) == len(expected)
    wrong = []
    for row, (name, value) in zip(result, expected.items(), strict=True):
        with np.errstate(all="ignore"):
            value = np.broadcast_to(np.asarray(value).astype(result.dtype), row.shape)
        equal = (row == value) | ((row != row) & (value != value))
        if not equal.all():
            at = int(np.argmin(equal))
            wrong.append(f"{name}: {row[at]!r} instead of {value[at]!r} at {at} ({int((~equal).sum())} wrong)")
    assert not wrong, "\n".join(wrong)


def pairs(values: list[Any], dtype: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Every pair of some values."""
    left, right = np.meshgrid(np.array(values, dtype), np.array(values, dtype))
    return left.ravel().copy(), right.ravel().copy()


@amp.kernel
def every_one(idx, out, *, functions: amp.constant):
    for k, f in enumerate(functions):
        out[k, idx[0]] = f(idx[0])


def check_as_python(view: amp.accelerator_view, functions: tuple[Any, ...], count: int) -> None:
    """Each device function of one int32 gives in a kernel what it gives in Python, and check mode finds nothing."""
    out = amp.array_view(np.zeros((len(functions), count), I32))
    amp.parallel_for_each(view, amp.extent(count), every_one, out, functions=functions)
    for f, got in zip(functions, np.asarray(out).tolist(), strict=True):
        assert got == [f(i) for i in range(count)], f
    assert amp.check(view, amp.extent(count), every_one, out, functions=functions).ok
