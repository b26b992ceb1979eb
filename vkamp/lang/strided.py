"""Views of rows that are apart in memory: the memory from the first element to the last, and rows of vectors."""

from __future__ import annotations

from typing import Any

from numpy.typing import DTypeLike

from vkamp.errors import AmpError
from vkamp.lang.dtypes import element_dtype
from vkamp.lang.region import Layout
from vkamp.lang.views import array_view


def span_of(values: Any) -> array_view:
    """A view of rank 1 of all memory from the first element to the last, with the gaps between rows.

    AmpError for strides that are negative, or no whole number of elements.
    """
    view = array_view(values, readonly=values.readonly)
    layout = view._layout
    low, high = layout.bounds
    if low != layout.offset or not layout.in_steps:
        raise AmpError("a span begins at its first element, and its elements are whole numbers of elements apart")
    return view._derived(Layout.dense(low, ((high - low) // layout.dtype.itemsize,), layout.dtype))


def strides_of(values: Any) -> tuple[int, ...] | None:
    """The distances between elements, in elements; None if they are not whole numbers."""
    layout = array_view(values, readonly=values.readonly)._layout
    return layout.steps if layout.in_steps else None


def is_aligned(values: Any, count: int) -> bool:
    """Whether a container begins at a whole number of ``count`` elements in its memory."""
    layout = array_view(values, readonly=values.readonly)._layout
    return layout.offset % (count * layout.dtype.itemsize) == 0


def in_vectors(values: Any, vector: DTypeLike) -> array_view | None:
    """The rows of a container as vectors of its elements; None unless each row consists of whole vectors.

    The other dimensions may have any strides that are whole numbers of vectors.
    """
    view, dtype = array_view(values, readonly=values.readonly), element_dtype(vector)
    layout = view._layout
    *before, last = layout.strides
    size = layout.dtype.itemsize
    if last != size or any(n % dtype.itemsize for n in (layout.offset, layout.shape[-1] * size, *before)):
        return None
    shape = (*layout.shape[:-1], layout.shape[-1] * size // dtype.itemsize)
    return view._derived(Layout(layout.offset, shape, (*before, dtype.itemsize), dtype))
