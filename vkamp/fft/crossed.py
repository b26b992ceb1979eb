"""Transforms along two adjacent axes in two launches, for GPUs.

The numbers of a column of a large array are megabytes apart, so a tile that transforms whole columns waits for the
translation of addresses. Two launches for each axis would load and store everything four times. Instead, two launches
transform both axes: the first does one pass of a Stockham transform along each axis, the second does the other pass.
A tile has one stage for each axis.
"""

# Device functions have untyped parameters.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose
from vkamp.fft.butterflies import LARGE, RADICES
from vkamp.fft.ends import Planes
from vkamp.fft.lengths import Divisor, Lines
from vkamp.fft.tiles import InParts, crossed_tile, in_one_launch, run_crossed, takes, tile_bytes
from vkamp.fft.twiddles import NoTwiddles, Twiddles, powers_of


class CrossedLines:
    """Parts of the lines of two axes.

    ``inner``: the number of elements of the axes behind them. ``far`` and ``near``: of how many parts each line of the
    first and of the second axis consists. The other arguments are distances: ``begins`` those between the first numbers
    of adjacent parts of the first and the second axis, ``ends`` the same of the results, ``loads`` and ``stores`` those
    of the methods.
    """

    __slots__ = (
        "apart", "begin_far", "begin_near", "by_far", "by_inner", "by_near", "count", "end_far", "end_near", "far",
        "inner", "load_far", "near", "result", "result_far",
    )  # fmt: skip

    def __init__(
        self, count: int, inner: int, far: int, near: int, begins: tuple[int, int], ends: tuple[int, int],
        loads: tuple[int, int], stores: tuple[int, int],
    ) -> None:  # fmt: skip
        self.count, self.inner, self.far, self.near = (
            np.uint32(count),
            np.uint32(inner),
            np.uint32(far),
            np.uint32(near),
        )
        self.by_inner, self.by_far, self.by_near = Divisor(inner), Divisor(far), Divisor(near)
        self.begin_far, self.begin_near = map(np.uint32, begins)
        self.end_far, self.end_near = map(np.uint32, ends)
        self.apart, self.load_far = map(np.uint32, loads)
        self.result, self.result_far = map(np.uint32, stores)

    @amp.func
    def place(self, line, *, n: amp.constant):
        """The plane of a tile's line, the positions of its first number and its first result, and the numbers of the
        parts of the second and the first axis.
        """
        rest = self.by_inner.quotient(line)
        column = line - rest * self.inner
        others = self.by_near.quotient(rest)
        near = rest - others * self.near
        plane = self.by_far.quotient(others)
        far = others - plane * self.far
        return (
            amp.int32(plane), far * self.begin_far + near * self.begin_near + column,
            far * self.end_far + near * self.end_near + column, (amp.int32(near), amp.int32(far)),
        )  # fmt: skip

    @amp.func
    def loads(self, steps):
        """The distances between adjacent butterflies of the first stage, and between a butterfly's numbers."""
        return self.apart, self.load_far

    @amp.func
    def stores(self, steps):
        """The same of the last stage and its results."""
        return self.result, self.result_far


class CrossedTwiddles:
    """The factors of the second launch: those of the second axis for a butterfly's numbers, and those of the first axis
    for the butterfly.
    """

    __slots__ = ("far", "near")

    def __init__(self, near: Twiddles, far: Twiddles) -> None:
        self.near, self.far = near, far

    @amp.func
    def applied_from(self, v, first, step, k, *, radix: amp.constant):
        """The numbers of butterfly ``first`` times their factors, in the parts ``k``."""
        w = self.far.factor(first, k[1])
        ratios = powers_of(self.near, k[0], radix=radix)
        return tuple(v[r] * (w * ratios[r - 1]) if r > 0 else v[r] * w for r in range(radix))


class Crossing(NamedTuple):
    """How the lines of two axes are divided: the tile of the first launch has the radices along the first and the
    second axis, that of the second launch those along the second and the first axis.
    """

    first: InParts
    second: InParts


def _halves(n: int) -> tuple[int, int] | None:
    """Two radices with a product, the larger one first; ``None`` if there are none."""
    for radix in sorted(RADICES + LARGE):
        if radix * radix >= n and n % radix == 0 and (n // radix in RADICES + LARGE):
            return radix, n // radix
    return None


def crossing_of(view: amp.accelerator_view, lines: Lines, near: int, dtype: np.dtype[Any]) -> Crossing | None:
    """How to transform the lines, and those along the next axis of ``near`` elements, in two launches; ``None`` if that
    is impossible, or if each axis takes one launch.
    """
    if _choose.form_of(view) != "tiles" or lines.inner == near:
        return None
    found, others = _halves(lines.n), _halves(near)
    if found is None or others is None or takes(view, lines, dtype) or in_one_launch(view, lines, dtype):
        return None
    first = crossed_tile((found[0], others[1]), dtype, tile_bytes(view))
    second = crossed_tile((others[0], found[1]), dtype, tile_bytes(view))
    return None if first is None or second is None else Crossing(first, second)


def run_two_axes(
    view: amp.accelerator_view, load: Any, store: Any, lines: Lines, near: int, dtype: np.dtype[Any], crossing: Crossing
) -> None:
    """Transforms the lines of ``load`` into ``store``, also along the next axis of ``near`` elements."""
    outer, inner, row, plane = lines.outer, lines.inner // near, lines.inner, lines.n * lines.inner
    (a, b), (c, d) = crossing.first.radices, crossing.second.radices
    between = Planes(amp.array(amp.extent(outer * plane), dtype, accelerator_view=view), plane)
    first = CrossedLines(
        outer * plane // (a * b), inner, d, c, (row, inner), (a * row, b * inner), (c * inner, d * row), (row, inner)
    )
    run_crossed(view, load, between, first, crossing.first, NoTwiddles(), dtype)
    second = CrossedLines(
        outer * plane // (c * d), inner, a, b, (row, inner), (row, inner), (a * row, b * inner), (b * inner, a * row)
    )
    twiddles = CrossedTwiddles(Twiddles(b, c, dtype), Twiddles(a, d, dtype))
    run_crossed(view, between, store, second, crossing.second, twiddles, dtype)
