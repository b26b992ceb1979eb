"""Convolutions of lines with one filter, whose spectrum is given: a transform, a product, and an inverse transform.

An inverse transform is a forward one of conjugates. If the lines fit into a tile's memory, one launch does all of it.
Otherwise the last pass of the first transform stores the product.
"""

# Device functions have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose
from vkamp.fft.ends import Columns, Later, Planes, Rows, direction
from vkamp.fft.lengths import Lines
from vkamp.fft.stockham import run_passes
from vkamp.fft.tiles import run_tiles, takes

#: The number of bytes between the two transforms. If the lines need more, they are transformed in parts, one after the
#: other.
_MOST_BYTES = 1 << 30


class Filtered:
    """Stores the conjugates of numbers times the filter's spectrum."""

    __slots__ = ("line", "spectrum", "values", "width")

    def __init__(self, values: Any, width: int, spectrum: Any, line: Rows | Columns) -> None:
        self.values, self.width, self.spectrum, self.line = values, width, spectrum, line

    @amp.func
    def store(self, o, p, z):
        """Stores an element."""
        self.values[o * self.width + p] = (z * self.spectrum[self.line.number(p)]).conjugate()


def run_filtered(
    view: amp.accelerator_view, load: Any, store: Any, spectrum: Any, lines: Lines, dtype: np.dtype[Any],
    *, kept: int, in_place: bool = False,
) -> None:  # fmt: skip
    """Stores the conjugates of the lines' convolutions.

    ``spectrum``: that of the filter, divided by the length, which has small prime factors. ``kept``: how many numbers
    of each line ``load`` has, the others being zeros, and how many ``store`` needs; it ignores the others.
    """
    is_tiled = _choose.form_of(view) == "tiles"
    if is_tiled and takes(view, lines, dtype):
        run_tiles(view, load, store, lines, dtype, in_place=in_place, spectrum=spectrum, kept=kept)
        return
    run = run_tiles if is_tiled else run_passes
    plane = lines.n * lines.inner
    planes = min(lines.outer, max(1, _MOST_BYTES // (plane * dtype.itemsize)))
    between = amp.array(amp.extent(planes * plane), dtype, accelerator_view=view)
    filtered = Filtered(between, plane, spectrum, direction(lines.inner))
    for first in range(0, lines.outer, planes):
        part = Lines(min(planes, lines.outer - first), lines.n, lines.inner)
        source, target = (load, store) if planes == lines.outer else (Later(load, first), Later(store, first))
        run(view, source, filtered, part, dtype)
        run(view, Planes(between, plane), target, part, dtype)
