"""Results that kernels store in a row: of reductions, searches, and functions that return positions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.algorithms._arguments import computed_type, element, in_a_row, output, refuse_type, target
from vkamp.algorithms.transform import store


@contextmanager
def result_row(
    out: Any,
    extent: Any,
    dtype: np.dtype[Any],
    view: amp.accelerator_view,
    *sources: lazy.Lazy,
    returned: np.dtype[Any] | None = None,
) -> Iterator[tuple[Any, Any]]:
    """A result, which is ``out`` or a new array, and a row of elements of a type in which kernels store it.

    If the result has another type, or gaps, the row is another array, which is converted or copied at the end.
    ``returned``: the type of the result, if it is not that of the row. Raises TypeError or AmpError if ``out`` does not
    fit, or overlaps a source.
    """
    result = output(out, extent, dtype if returned is None else returned, view, *sources)
    if result.dtype == element(dtype):
        with in_a_row(result, view) as row:
            yield result, row
        return
    made = amp.array(result.extent, element(dtype), accelerator_view=view)
    yield result, made.reshape(-1)
    store(view, lazy.Elements(made), result)


def type_of_sums(dtype: Any, out: Any, usual: np.dtype[Any]) -> np.dtype[Any]:
    """The type to compute in: ``dtype``, else that of ``out``, which has to take the numbers of the usual one."""
    if dtype is not None:
        return np.dtype(dtype)
    if out is None or out is lazy.discard:
        return usual
    result = target(out)
    refuse_type(result, usual)
    return result.dtype if result.dtype.kind not in "iu" else computed_type(lazy.Elements(result))
