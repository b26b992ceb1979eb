"""Slices of views on the host."""

from __future__ import annotations

import operator
from typing import Any

from vkamp.errors import AmpError
from vkamp.lang.container import from_the_end, is_integer
from vkamp.lang.index_space import extent
from vkamp.lang.region import Layout


def has_slices(key: object) -> bool:
    """Whether a subscript of the host has slices."""
    return isinstance(key, slice) or (isinstance(key, tuple) and any(isinstance(part, slice) for part in key))


def subscript_text(key: object) -> str:
    """A subscript as a program writes it."""
    if isinstance(key, tuple):
        return ", ".join(map(subscript_text, key))
    if not isinstance(key, slice):
        return str(key)
    start, stop = ("" if bound is None else str(bound) for bound in (key.start, key.stop))
    return f"{start}:{stop}" if key.step is None else f"{start}:{stop}:{key.step}"


def sliced(layout: Layout, key: Any) -> Layout:
    """The elements that integers and slices select; an integer removes its dimension, missing subscripts select whole
    dimensions."""
    parts = key if isinstance(key, tuple) else (key,)
    if len(parts) > len(layout.shape):
        raise TypeError(f"{extent(layout.shape)!r} has rank {len(layout.shape)}, got {len(parts)} subscripts")
    offset, shape, strides = layout.offset, list[int](), list[int]()
    for dimension, (n, stride) in enumerate(zip(layout.shape, layout.strides, strict=True)):
        part = parts[dimension] if dimension < len(parts) else slice(None)
        if isinstance(part, slice):
            first, length, step = _range_of(part, n, f"slice of {extent(layout.shape)!r}, dimension {dimension}:")
            shape.append(length)
            strides.append(step * stride)
        elif is_integer(part):
            first = int(part)
            if not 0 <= first < n:
                where = f"dimension {dimension} of {extent(layout.shape)!r}"
                raise IndexError(f"index {first} is outside {where}{from_the_end(first)}")
        else:
            raise TypeError(f"subscripts next to a slice must be integers or slices, got {type(part).__name__}")
        offset += first * stride
    return Layout(offset, tuple(shape), tuple(strides), layout.dtype)


def _range_of(part: slice, n: int, where: str) -> tuple[int, int, int]:
    """First position, length and step of a slice of ``n`` positions: negative bounds count from the end, none clips."""
    step = 1 if part.step is None else operator.index(part.step)
    if step == 0:
        raise AmpError(f"{where} step 0")
    begin, end = (0, n) if step > 0 else (n - 1, -1)
    first = begin if part.start is None else operator.index(part.start)
    stop = end if part.stop is None else operator.index(part.stop)
    shown = f"{first}:{stop}"
    first += n if first < 0 else 0
    stop += n if part.stop is not None and stop < 0 else 0
    if not (0 <= first < n and (part.stop is None or 0 <= stop <= n)):
        raise AmpError(f"{where} {shown} is not inside 0:{n}")
    length = -((first - stop) // step)
    if length < 1:
        raise AmpError(f"{where} {shown} is empty")
    return first, length, step
