"""What the functions of this package share: where they run, their results, their errors."""

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy


def place(accelerator_view: amp.accelerator_view | None, *inputs: Any) -> amp.accelerator_view:
    """Where an algorithm runs: on the given view, else where the first array is, else on the default view."""
    if accelerator_view is not None:
        return accelerator_view
    for each in inputs:
        found = each.containers() if isinstance(each, lazy.Lazy) else [each]
        for container in (c for c in found if isinstance(c, (amp.array, amp.array_view))):
            if isinstance(container, amp.array):
                where = container.accelerator_view
            else:
                where = container.source_accelerator_view
            if isinstance(where, amp.accelerator_view) and where.runs_kernels:
                return where
    return amp.accelerator().default_view


@amp.func
def _value_of(source: Any, i: Any) -> Any:
    return source.value(i)


def dtype_of(source: lazy.Lazy) -> np.dtype[Any]:
    """The type of a source's elements; of what a kernel computes, that of its result."""
    if isinstance(source, lazy.Elements):
        stored: np.dtype[Any] = source.values.dtype
        return stored
    at = np.int32(0) if source.extent.rank == 1 else amp.index(*[0] * source.extent.rank)
    found: np.dtype[Any] = amp.result_type(_value_of, source, at)
    return found


def computed_type(source: lazy.Lazy) -> np.dtype[Any]:
    """The type of an element as a kernel computes with it: of a small integer int32."""
    dtype = dtype_of(source)
    return np.dtype(np.int32) if dtype.kind in "iub" and dtype.itemsize < 4 else dtype


def element(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A type for elements of a container: a bool is stored as uint8."""
    return np.dtype(np.uint8) if dtype == np.bool_ else dtype


def output(
    out: Any,
    extent: Any,
    dtype: np.dtype[Any],
    view: amp.accelerator_view,
    *sources: lazy.Lazy,
    in_place: bool = False,
) -> Any:
    """``out`` as a container of that extent, or a new array.

    It must not overlap the sources; ``in_place``: it may be one of them.  TypeError and AmpError where it does not fit.
    """
    extent = amp.extent(extent)
    if out is None:
        return amp.array(extent, element(dtype), accelerator_view=view)
    if not isinstance(out, (amp.array, amp.array_view)):
        out = amp.array_view(out)
    if out.extent != extent:
        raise amp.AmpError(f"out has {out.extent!r}, the result {extent!r}")
    refuse_overlap(out, *sources, in_place=in_place)
    return out


def refuse_overlap(out: Any, *sources: lazy.Lazy, in_place: bool = False) -> None:
    """Raises AmpError if ``out`` overlaps a source."""
    for container in (c for source in sources for c in source.containers()):
        if out.overlaps(container) and not (in_place and out.has_elements_of(container)):
            raise amp.AmpError("out overlaps an input: give it memory of its own")


def closed_type(source: lazy.Lazy, op: Any) -> np.dtype[Any]:
    """The type of an operator's results, which has to be that of its operands."""
    given = computed_type(source)
    found = amp.result_type(op, given, given)
    if found != given and not (found.kind == given.kind and found.itemsize == given.itemsize):
        raise TypeError(f"op returns {found} of two {given}: map the elements to one type first (lazy.map)")
    return given


def value(number: Any, dtype: np.dtype[Any]) -> Any:
    """A number, vector or struct as an argument of a launch; None for any value of the type."""
    if dtype.names is None:
        return np.array(0 if number is None else number, dtype)[()]
    cell = amp.array_view(np.zeros(1, dtype))
    if number is not None:
        cell[0] = number
    elements = np.asarray(cell)
    return elements[0] if elements.ndim == 1 else amp.short_vector(elements.dtype, elements.shape[1])(*elements[0])


def in_words(source: lazy.Lazy, out: Any) -> tuple[lazy.Lazy, Any]:
    """A source and a container for algorithms that only move elements: those of 64 bits as two words.

    So a device that lacks their arithmetic moves them.
    """
    is_wide = out.dtype.names is None and out.dtype.itemsize == 8
    if not (is_wide and isinstance(source, lazy.Elements)):
        return source, out
    try:
        return lazy.Elements(_words(source.values)), _words(out)
    except amp.AmpError:
        return source, out


def _words(values: Any) -> Any:
    shape = values.extent
    return values.reshape(-1).reinterpret_as(amp.uint2).reshape(shape)
