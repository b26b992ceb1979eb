"""Inputs of factorisations: copies in batches, in a type that has division."""

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp import algorithms as alg
from vkamp.algorithms import lazy
from vkamp.algorithms._arguments import place
from vkamp.algorithms._convert import converted
from vkamp.blas._operands import container
from vkamp.linalg._shared import shape_of

#: The rows of a panel, which is factorised column by column.
PANEL = 32


def batch_of(a: Any, name: str, *, square: bool = True) -> tuple[tuple[int, ...], int, int]:
    """The leading dimensions, rows and columns of an input.

    TypeError for fewer than two dimensions, AmpError unless it is square.
    """
    shape = shape_of(a)
    if len(shape) < 2:
        raise TypeError(f"{name} takes matrices, or batches of them, not extents {shape}")
    if square and shape[-1] != shape[-2]:
        raise amp.AmpError(f"{name} takes square matrices, not {shape[-2]} x {shape[-1]}")
    return shape[:-2], shape[-2], shape[-1]


def type_of(*inputs: Any) -> np.dtype[Any]:
    """The type of a solution: float32 for integers and float16."""
    types = (x.dtype if isinstance(x, np.ndarray) else container(x).dtype for x in inputs)
    return np.result_type(*(t if t.kind in "fc" and t.itemsize >= 4 else np.dtype(np.float32) for t in types))


def floating(a: Any, dtype: Any = np.float32) -> Any:
    """An input whose integers in host memory are converted to floats: devices may lack int64, numpy's default."""
    return a.astype(dtype) if isinstance(a, np.ndarray) and a.dtype.kind in "iu" else a


def real_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of the parts of a number."""
    return dtype if dtype.kind == "f" else np.dtype(f"f{dtype.itemsize // 2}")


def copy_of(a: Any, dtype: np.dtype[Any], shape: tuple[int, ...], view: amp.accelerator_view) -> Any:
    """The elements in a new array of a type and a shape."""
    a = floating(a, dtype)
    source = lazy.of(container(a))
    if container(a).dtype != dtype:
        source = converted(source, dtype)
    return alg.copy(source, accelerator_view=view).reshape(*shape)


def where(accelerator_view: amp.accelerator_view | None, *inputs: Any) -> amp.accelerator_view:
    """The accelerator_view that a function runs on."""
    return place(accelerator_view, *(x for x in inputs if isinstance(x, (amp.array, amp.array_view))))
