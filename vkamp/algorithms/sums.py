"""Sums, products and extremes with numpy's types and rules."""

# These are numpy's names, Python's own among them.

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import computed_type, dtype_of, place
from vkamp.algorithms._convert import TO, add_wide, sum_type, widen_signed, widen_unsigned
from vkamp.algorithms.reduce import reduce, reduce_into
from vkamp.algorithms.scalars import device_scalar


def _converted(source: lazy.Lazy, dtype: np.dtype[Any]) -> lazy.Lazy:
    """A source whose elements are computed with in another type."""
    if computed_type(source) == dtype:
        return source
    if dtype not in TO:
        raise TypeError(f"no conversion to {dtype}")
    return lazy.map(TO[dtype], source)


def _add(source: lazy.Lazy, dtype: np.dtype[Any], view: amp.accelerator_view) -> device_scalar:
    """The sum of a source in a type; integers of 64 bits in two words where the device lacks them."""
    out = amp.array(amp.extent(1), dtype, accelerator_view=view)
    if dtype.kind in "iu" and dtype.itemsize == 8 and "int64" not in view.accelerator.features:
        given = computed_type(source)
        if given.itemsize == 8:
            raise amp.UnsupportedFeatureError(f"{view.accelerator.description} lacks int64")
        wide = lazy.map(widen_unsigned if given.kind == "u" else widen_signed, source)
        reduce_into(view, wide, out.reinterpret_as(amp.uint2), add_wide)
    elif dtype == np.float16:
        total = amp.array(amp.extent(1), np.float32, accelerator_view=view)
        reduce_into(view, _converted(source, total.dtype), total, functional.plus)
        amp.copy(total, out) if total.dtype == out.dtype else _store(view, total, out)
    else:
        reduce_into(view, _converted(source, dtype), out, functional.plus)
    return device_scalar(out)


@amp.kernel
def _convert(idx, source, out):  # type: ignore[no-untyped-def]
    out[idx] = source[idx]


def _store(view: amp.accelerator_view, source: Any, out: Any) -> None:
    amp.parallel_for_each(view, out.extent, _convert, source, out)


def sum(a: Any, *, dtype: Any = None, accelerator_view: amp.accelerator_view | None = None) -> device_scalar:
    """The sum, in numpy's type: integers in 64 bits on every device, float16 computed in float32."""
    source = lazy.of(a).flat()
    wanted = sum_type(dtype_of(source)) if dtype is None else np.dtype(dtype)
    return _add(source, wanted, place(accelerator_view, source))


def min(a: Any, *, accelerator_view: amp.accelerator_view | None = None) -> device_scalar:
    """The smallest element; NaN if there is one."""
    return reduce(a, functional.min, accelerator_view=accelerator_view)


def max(a: Any, *, accelerator_view: amp.accelerator_view | None = None) -> device_scalar:
    """The largest element; NaN if there is one."""
    return reduce(a, functional.max, accelerator_view=accelerator_view)
