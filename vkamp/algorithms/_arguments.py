"""Arguments that the functions of this package share: where they run, their results, their errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.algorithms.lazy import computed_type as computed_type
from vkamp.algorithms.lazy import dtype_of as dtype_of
from vkamp.algorithms.lazy import is_float_of_memory as is_float_of_memory


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


def element(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The element type in which a container stores values of a type: a bool is stored as uint8."""
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

    It must not overlap the sources. With ``in_place`` it may be one of them. Raises TypeError or AmpError if ``out``
    does not fit.
    """
    extent = amp.extent(extent)
    if out is None:
        return amp.array(extent, element(dtype), accelerator_view=view)
    if not isinstance(out, (amp.array, amp.array_view)):
        out = amp.array_view(out)
    if out.extent != extent:
        raise amp.AmpError(f"out has {out.extent!r}, but the result has {extent!r}")
    refuse_overlap(out, *sources, in_place=in_place)
    return out


@contextmanager
def in_a_row(out: Any, view: amp.accelerator_view) -> Iterator[Any]:
    """A container as a row-major one with one index.

    If its memory has gaps, this is an array that is copied back at the end.
    """
    try:
        row = out if out.extent.rank == 1 else out.reshape(-1)
    except amp.AmpError:
        row = None
    if row is not None:
        yield row
    else:
        made = amp.array(out.extent, out.dtype, accelerator_view=view)
        yield made.reshape(-1)
        amp.copy(made, out)


def refuse_overlap(out: Any, *sources: lazy.Lazy, in_place: bool = False) -> None:
    """Raises AmpError if ``out`` overlaps a source."""
    for container in (c for source in sources for c in source.containers()):
        if out.overlaps(container) and not (in_place and out.has_elements_of(container)):
            raise amp.AmpError("out overlaps an input: give it memory of its own")


def outputs(out: Any, n: int) -> tuple[Any, ...]:
    """The targets of a function with ``n`` results: ``None`` stands for new arrays, a tuple gives the targets."""
    if out is None:
        return (None,) * n
    if not isinstance(out, (tuple, list)) or len(out) != n:
        raise TypeError(f"out must be a tuple of {n} targets, each of which may be None or lazy.discard")
    return tuple(out)


def value(number: Any, dtype: np.dtype[Any]) -> Any:
    """A number, vector or struct as an argument of a launch; with ``None``, any value of the type."""
    if dtype.names is None:
        return np.array(0 if number is None else number, dtype)[()]
    cell = np.zeros(1, dtype)
    if number is not None:
        cell[0] = _parts(number, dtype)
    # This makes no access by the host, which captures refuse.
    element = amp.array_view(cell).get_ref(0)
    return element[()] if element.ndim == 0 else amp.short_vector(element.dtype, element.size)(*element)


def _parts(number: Any, dtype: np.dtype[Any]) -> Any:
    """A vector or struct as numpy's tuples; a number unchanged."""
    names = dtype.names
    if names is None:
        return number
    try:
        parts = tuple(number)
    except TypeError:
        parts = tuple([getattr(number, name) for name in names if hasattr(number, name)])
    if len(parts) != len(names):
        raise TypeError(f"an element of {', '.join(names)} takes {len(names)} values, got {number!r}")
    return tuple([_parts(part, dtype[k]) for k, part in enumerate(parts)])


#: The vector of words with as many bytes as an element.
_WORDS = {8: amp.uint2, 16: amp.uint4}


def in_words(source: lazy.Lazy, out: Any) -> tuple[lazy.Lazy, Any]:
    """A source and a container as words, for algorithms that only move elements of 64 and 128 bits.

    A device that lacks their arithmetic can still move them.
    """
    is_wide = out.dtype.names is None and out.dtype.itemsize in _WORDS
    if not (is_wide and isinstance(source, lazy.Elements)):
        return source, out
    try:
        return lazy.Elements(_words(source.values)), _words(out)
    except amp.AmpError:
        return source, out


def _words(values: Any) -> Any:
    shape = values.extent
    return values.reshape(-1).reinterpret_as(_WORDS[values.dtype.itemsize]).reshape(shape)
