"""How functions of segments take a ``counted``: elements, flags or offsets of which the device knows the number.

Segments end at the count of the elements: their offsets are computed from it on the device, so no function waits.
"""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import vkamp as amp
from vkamp.algorithms import functional, lazy
from vkamp.algorithms._arguments import computed_type, place
from vkamp.algorithms._counted_inputs import in_order, is_number, last_of, within
from vkamp.algorithms._counted_parts import UpToCount, count_by, count_of, elements_of, together
from vkamp.algorithms._operators import identity_of
from vkamp.algorithms.counted import counted
from vkamp.algorithms.scalars import device_scalar
from vkamp.algorithms.segments import Segments, are_flags, in_segments, listed, segments_of
from vkamp.algorithms.sort import argsort, taken

_Function = Callable[..., Any]


class _OfWidth(lazy.Lazy):
    """The offsets of segments of one width, of which the last one ends with the elements."""

    __slots__ = ("n", "width")

    def __init__(self, width: int, capacity: int, n: lazy.Lazy) -> None:
        super().__init__(-(-capacity // width) + 1)
        self.width, self.n = width, n

    @amp.func
    def value(self, i: Any) -> Any:
        """Where a segment begins."""
        n = self.n.value(0)
        return i * self.width if i <= n // self.width else n


class _Offsets(lazy.Lazy):
    """Offsets of which those after their own count, and larger ones, are the number of elements."""

    __slots__ = ("m", "n", "offsets")

    def __init__(self, offsets: Any, n: lazy.Lazy, more: int) -> None:
        self.offsets, self.m, self.n = elements_of(offsets), count_of(offsets), n
        super().__init__(self.offsets.extent[0] + more)

    @amp.func
    def value(self, i: Any) -> Any:
        """Where a segment begins."""
        n = self.n.value(0)
        return min(amp.int32(self.offsets.value(i)), n) if i < self.m.value(0) else n


class _Parts(NamedTuple):
    """The elements as an input of their whole capacity, and their segments.

    ``total``: how many elements there are; ``None`` if the host knows that. ``many``: how many segments there are;
    ``None`` if the host or the function knows that.
    """

    elements: lazy.Lazy
    total: device_scalar | None
    segments: Segments
    view: amp.accelerator_view
    many: device_scalar | None

    def counted(self, found: Any) -> Any:
        """A result with one element for each of the input."""
        return found if self.total is None else counted(found, self.total)


def _many(n: device_scalar, width: int, view: amp.accelerator_view | None) -> device_scalar:
    """The number of segments of a width."""
    return count_by(lambda count: (count - 1) // width + 1, n, view)


def _width(segments: Any, capacity: int) -> int:
    """A width, which is at most the capacity; ValueError if it is less than 1."""
    if segments < 1:
        raise ValueError(f"elements cannot be divided into segments of {segments}")
    return min(int(segments), capacity)


def _parts(a: Any, segments: Any, out: Any, accelerator_view: Any, more: int = 0) -> _Parts:
    """The parts of a call; ``more`` is 1 if elements after the last offset are a segment of their own."""
    segments = listed(segments)
    source, n, count = elements_of(a), count_of(a), a.count if isinstance(a, counted) else None
    capacity = source.extent[0]
    if isinstance(segments, (int, np.integer)):
        view, width = place(accelerator_view, source, out), _width(segments, capacity)
        many = _many(a.count, width, view)
        return _Parts(source, count, segments_of(view, _OfWidth(width, capacity, n), capacity), view, many)
    given = elements_of(segments)
    view = place(accelerator_view, source, given, out)
    if are_flags(given):
        _, count = together([a, segments])
        heads = segments_of(view, given, capacity).heads
        return _Parts(source, count, Segments(None, heads, None, lazy.of(count.view)), view, None)
    if isinstance(segments, np.ndarray) and (segments.flat[0] != 0 or segments.flat[-1] > capacity):
        raise ValueError(
            f"segments begin with {segments.flat[0]} and end with {segments.flat[-1]}, but offsets begin with 0 and "
            f"end with the number of elements, which is at most {capacity}; flags have a type of one byte, such as bool"
        )
    of_offsets = None
    if isinstance(segments, counted):
        of_offsets = count_by(lambda count: max(count - 1, 0), segments.count, view)
    return _Parts(source, count, segments_of(view, _Offsets(segments, n, more), capacity), view, of_offsets)


def _is_width(a: Any, segments: Any) -> bool:
    return isinstance(a, counted) and isinstance(segments, (int, np.integer))


def _is_divided(a: Any, segments: Any) -> bool:
    """Whether segments of one width fill the capacity of a ``counted``."""
    return _is_width(a, segments) and segments >= 1 and elements_of(a).extent[0] % int(segments) == 0


def _scanned(
    function: _Function, a: Any, segments: Any, *given: Any, out: Any = None, accelerator_view: Any = None, **rest: Any
) -> Any:
    if _is_divided(a, segments):
        # Elements after the count change no result before them.
        return counted(
            function(a.values, segments, *given, out=out, accelerator_view=accelerator_view, **rest), a.count
        )
    parts = _parts(a, segments, out, accelerator_view, 1)
    return parts.counted(function(parts.elements, parts.segments, *given, out=out, accelerator_view=parts.view, **rest))


def _reduced(
    function: _Function, a: Any, segments: Any, op: Any = functional.plus, init: Any = None, *,
    out: Any = None, accelerator_view: Any = None,
) -> Any:  # fmt: skip
    if _is_width(a, segments):
        found = _reduced_lines(function, a, segments, op, init, out, accelerator_view)
        if found is not None:
            return found
    parts = _parts(a, segments, out, accelerator_view)
    found = function(parts.elements, parts.segments, op, init, out=out, accelerator_view=parts.view)
    return found if parts.many is None else counted(found, parts.many)


def _reduced_lines(
    function: _Function, a: counted, segments: Any, op: Any, init: Any, out: Any, accelerator_view: Any
) -> Any:
    """The reduction of lines of one width, of which the last is filled with the operator's identity; ``None`` if it has
    none.
    """
    source = elements_of(a)
    try:
        identity = identity_of(op, computed_type(source))
    except TypeError:
        return None
    view, capacity = place(accelerator_view, source, out), source.extent[0]
    width = _width(segments, capacity)
    lines = UpToCount(source, a.count, identity, -(-capacity // width) * width)
    found = function(lines, width, op, init, out=out, accelerator_view=view)
    return counted(found, _many(a.count, width, view))


def _sorted(
    function: _Function, a: Any, segments: Any, *, descending: bool = False, less: Any = None,
    out: Any = None, accelerator_view: Any = None,
) -> Any:  # fmt: skip
    if less is None and _is_divided(a, segments) and is_number(a.dtype):
        last = within(a, last_of(a.dtype, descending))
        found = function(last, segments, descending=descending, out=out, accelerator_view=accelerator_view)
        return counted(found, a.count)
    parts = _parts(a, segments, out, accelerator_view, 1)
    if parts.total is None:
        how = {"descending": descending, "less": less, "out": out, "accelerator_view": parts.view}
        return function(parts.elements, parts.segments, **how)
    among = counted(parts.elements, parts.total)
    order = in_order(argsort, among, descending=descending, less=less, accelerator_view=parts.view)
    assert parts.segments.heads is not None
    order = in_segments(parts.view, parts.segments.heads, order)
    return counted(taken(parts.view, parts.elements, order, out), parts.total)


#: How each function handles a counted input.
SEGMENTED: dict[str, Callable[..., Any]] = {
    "segmented_reduce": _reduced,
    "segmented_scan": _scanned,
    "segmented_sort": _sorted,
}
