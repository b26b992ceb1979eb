"""Arguments that the functions of this package share: where they run, their results, their errors."""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.algorithms.lazy import computed_as as computed_as
from vkamp.algorithms.lazy import computed_type as computed_type
from vkamp.algorithms.lazy import dtype_of as dtype_of
from vkamp.algorithms.lazy import is_float_of_memory as is_float_of_memory
from vkamp.algorithms.scalars import device_scalar


def positions_of(function: Callable[..., Any]) -> dict[str, int]:
    """The positions of a function's parameters; those that are given by their names only are beyond all arguments."""
    parameters = inspect.signature(function).parameters.values()
    return {each.name: sys.maxsize if each.kind is each.KEYWORD_ONLY else k for k, each in enumerate(parameters)}


def place(accelerator_view: amp.accelerator_view | None, *inputs: Any) -> amp.accelerator_view:
    """Selects the view on which an algorithm runs: the given one, else that of the first array, else the default
    view.
    """
    if accelerator_view is not None:
        if not isinstance(accelerator_view, amp.accelerator_view):
            is_one = isinstance(accelerator_view, amp.accelerator)
            advice = ": give its .default_view" if is_one else ""
            raise TypeError(f"accelerator_view= takes an accelerator_view, not {accelerator_view!r}{advice}")
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


def axis_of(extent: amp.extent, axis: int) -> int:
    """An axis counted from 0; TypeError unless it is an integer, ValueError if the extent has no such axis."""
    if isinstance(axis, (bool, np.bool_)) or not hasattr(axis, "__index__"):
        raise TypeError(f"axis is an integer, not {axis!r}")
    axis = axis.__index__()
    if not -extent.rank <= axis < extent.rank:
        raise ValueError(f"axis {axis} is not one of {extent!r}")
    return axis % extent.rank


def target(out: Any) -> Any:
    """``out`` as a container; TypeError if it cannot be written."""
    if not isinstance(out, (amp.array, amp.array_view)):
        out = amp.array_view(out)
    if out.readonly:
        raise TypeError(f"out is {out!r}, which cannot be written")
    return out


def refuse_type(out: Any, dtype: np.dtype[Any]) -> None:
    """Raises TypeError if the elements of ``out`` have a type to which kernels do not convert those of the result."""
    if out.dtype == dtype:
        return
    if not _converts(dtype, out.dtype):
        raise TypeError(f"out has {out.dtype} elements, but the result has {dtype}")


def _converts(given: np.dtype[Any], to: np.dtype[Any]) -> bool:
    if given.names is not None or to.names is not None:
        return given.names == to.names
    if given.kind == "c" or to.kind == "c":
        return to.kind == "c"
    return given.kind in "iub" or is_float_of_memory(to) or to.kind == "f"


def output(
    out: Any,
    extent: Any,
    dtype: np.dtype[Any],
    view: amp.accelerator_view,
    *sources: lazy.Lazy,
    in_place: bool = False,
    in_any_order: bool = False,
) -> Any:
    """``out`` as a container of that extent, or a new array.

    It must not overlap the sources. With ``in_place`` it may be one of them, whose element at each position is read
    before the result is stored there; with ``in_any_order``, all elements are. Raises TypeError or AmpError if ``out``
    does not fit.
    """
    extent = amp.extent(extent)
    if out is None or out is lazy.discard:
        return amp.array(extent, element(dtype), accelerator_view=view)
    out = target(out)
    if out.extent != extent:
        raise amp.AmpError(f"out has {out.extent!r}, but the result has {extent!r}")
    refuse_type(out, element(dtype))
    refuse_overlap(out, *sources, in_place=in_place, in_any_order=in_any_order)
    return out


def without_elements(out: Any, shape: Any, dtype: np.dtype[Any]) -> Any:
    """The result of a function for which no element is left: ``out``, or a new array of the host, since containers
    have at least one element. AmpError if ``out`` has another shape.
    """
    made = np.empty(shape, element(dtype))
    if out is None or out is lazy.discard:
        return made
    given = tuple(out.extent) if isinstance(out, (amp.array, amp.array_view)) else np.shape(out)
    if given != made.shape:
        raise amp.AmpError(f"out has the shape {given}, but the result has {made.shape}")
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


def refuse_overlap(out: Any, *sources: lazy.Lazy, in_place: bool = False, in_any_order: bool = False) -> None:
    """Raises AmpError if ``out`` overlaps a source; ``in_place`` and ``in_any_order`` as for :func:`output`."""
    for source in sources:
        elsewhere = [] if in_any_order else source.read_elsewhere()
        for container in source.containers():
            is_fine = in_place and out.has_elements_of(container) and not any(each is container for each in elsewhere)
            if out.overlaps(container) and not is_fine:
                raise amp.AmpError("out overlaps an input: give it memory of its own")


@contextmanager
def apart(result: Any, source: lazy.Lazy, view: amp.accelerator_view) -> Iterator[Any]:
    """A target that does not overlap a source: the result, or an array that is copied to it at the end."""
    if not any(result.overlaps(each) for each in source.containers()):
        yield result
    else:
        made = amp.array(result.extent, result.dtype, accelerator_view=view)
        yield made
        amp.copy(made, result)


def outputs(out: Any, n: int) -> tuple[Any, ...]:
    """The targets of a function with ``n`` results: ``None`` stands for new arrays, a tuple gives the targets."""
    if out is None:
        return (None,) * n
    if not isinstance(out, (tuple, list)) or len(out) != n:
        raise TypeError(f"out must be a tuple of {n} targets, each of which may be None or lazy.discard")
    found = tuple([each if each is None or each is lazy.discard else target(each) for each in out])
    targets: list[Any] = [each for each in found if isinstance(each, (amp.array, amp.array_view))]
    for first, second in itertools.combinations(targets, 2):
        if first.overlaps(second):
            raise amp.AmpError("two targets of out overlap: give each memory of its own")
    return found


def value(number: Any, dtype: np.dtype[Any]) -> Any:
    """A number, vector or struct as an argument of a launch; with ``None``, any value of the type.

    A number on the device is read there if it has the type; otherwise, the host waits for it.

    Raises TypeError or OverflowError if the type cannot hold the number.
    """
    if isinstance(number, device_scalar):
        if lazy.reads_as(number, dtype):
            return number
        number = number.item()
    if dtype.names is None:
        return _number(0 if number is None else number, dtype)
    cell = np.zeros(1, dtype)
    if number is not None:
        cell[0] = _parts(number, dtype)
    # This makes no access by the host, which captures refuse.
    element = amp.array_view(cell).get_ref(0)
    return element[()] if element.ndim == 0 else amp.short_vector(element.dtype, element.size)(*element)


def _number(number: Any, dtype: np.dtype[Any]) -> Any:
    given = np.asarray(number)
    if given.ndim or given.dtype.kind not in "biufcV" or (given.dtype.kind == "c" and dtype.kind != "c"):
        raise TypeError(f"{number!r} is not an element of type {dtype}")
    if dtype.kind in "iu":
        if given.dtype.kind == "f" and given != np.trunc(given):
            raise TypeError(f"{number!r} is not an element of type {dtype}")
        limits = np.iinfo(dtype)
        if not limits.min <= given <= limits.max:
            raise OverflowError(f"{number!r} is out of the range of {dtype}")
    # Of a scalar that an int32 holds, kernels would make one.
    return given.astype(dtype) if dtype == np.int64 else given.astype(dtype)[()]


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
    if not (is_wide and isinstance(source, lazy.Elements) and source.values.dtype == out.dtype):
        return source, out
    try:
        return lazy.Elements(_words(source.values)), _words(out)
    except amp.AmpError:
        return source, out


def _words(values: Any) -> Any:
    shape = values.extent
    return values.reshape(-1).reinterpret_as(_WORDS[values.dtype.itemsize]).reshape(shape)
