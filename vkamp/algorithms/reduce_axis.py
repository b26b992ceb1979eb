"""Reductions along one axis: each thread combines the elements of a line, or of a piece of it."""

# Kernels have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from typing import Any, NamedTuple

import vkamp as amp
from vkamp.algorithms import _choose, lazy

#: Fewer lines than this are divided into pieces.
_FEW_LINES = 256


class Lines(NamedTuple):
    """The lines of an input along an axis: element ``k`` of line ``(o, i)`` is at ``(o * n + k) * inner + i``."""

    outer: int
    n: int
    inner: int
    shape: tuple[int, ...]


def lines_of(extent: amp.extent, axis: int, keepdims: bool) -> Lines:
    """The lines along an axis; ``shape``: that of the result, with the axis as 1 or without it."""
    shape = tuple(extent)
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"axis {axis} is not one of {extent!r}")
    axis %= len(shape)
    rest = (1,) if keepdims else ()
    result = (*shape[:axis], *rest, *shape[axis + 1 :]) or (1,)
    return Lines(math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]), result)


@amp.kernel
def reduce_lines(t_idx, source, out, n, inner, pieces, length, op):
    """Combines one piece of one line; ``out`` has the pieces of a line side by side."""
    at = t_idx.global_[0]
    if at < out.extent[0]:
        line = at // pieces
        begin = (at - line * pieces) * length
        first = line // inner * (n * inner) + line % inner
        total = source.value(first + begin * inner).copy()
        for k in range(begin + 1, begin + min(length, n - begin)):
            total = op(total, source.value(first + k * inner))
        out[at] = total


def reduce_lines_into(view: amp.accelerator_view, source: lazy.Lazy, lines: Lines, out: Any, op: Any) -> None:
    """Combines each line of a source with one index into ``out``, of one element for each line."""
    count = lines.outer * lines.inner
    split = _choose.parts(view, lines.n, -(-_FEW_LINES // count))
    target = out
    if split.pieces > 1:
        target = amp.array(amp.extent(count * split.pieces), out.dtype, accelerator_view=view)
    domain = _choose.domain_of_runs(view, _choose.Split(count * split.pieces, 1))
    amp.parallel_for_each(view, domain, reduce_lines, source, target, lines.n, lines.inner, *split, op)
    if split.pieces > 1:
        rest = Lines(count, split.pieces, 1, lines.shape)
        reduce_lines_into(view, lazy.Elements(target), rest, out, op)
