"""Transforms along one or more axes: one axis after the other, with arrays of complex numbers in between.

An inverse transform is a forward one of the conjugates: the first step loads them, and the last one stores conjugates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

import vkamp as amp
from vkamp.algorithms import _choose, lazy
from vkamp.algorithms._arguments import in_a_row, output, place
from vkamp.fft._arguments import check_precision, input_of, real_of, with_dtype
from vkamp.fft.bluestein import run_convolution
from vkamp.fft.ends import Given, Hermitian, Kept, RealParts
from vkamp.fft.lengths import Lines, radices_of
from vkamp.fft.stockham import run_passes
from vkamp.fft.tiles import run_tiles

#: Complex numbers; the first half of the transform of real numbers; or real numbers, given the first half of Hermitian
#: ones.  Halves are along the axis of the first step of ``"half"``, and of the last one of ``"real"``.
Kind = Literal["complex", "half", "real"]


def run_lines(view: amp.accelerator_view, load: Any, store: Any, lines: Lines, dtype: np.dtype[Any]) -> None:
    """Transforms each line of ``load`` forward into ``store``."""
    run = run_passes if _choose.form_of(view) == "runs" else run_tiles
    if radices_of(lines.n) is None:
        run_convolution(view, load, store, lines, dtype, run)
    else:
        run(view, load, store, lines, dtype)


def _shapes(shape: tuple[int, ...], steps: Sequence[tuple[int, int]], kind: Kind) -> list[tuple[int, ...]]:
    """The shape before the first step and after each step."""
    found = [shape]
    for number, (axis, n) in enumerate(steps):
        kept = n // 2 + 1 if kind == "half" and number == 0 else n
        found.append((*found[-1][:axis], kept, *found[-1][axis + 1 :]))
    return found


def transform_axes(
    a: Any,
    steps: Sequence[tuple[int, int]],
    scale: float,
    out: Any,
    accelerator_view: amp.accelerator_view | None,
    kind: Kind,
    *,
    inverse: bool,
) -> Any:
    """The transform of an input, times ``scale``; ``steps``: axes and lengths, in order."""
    source, dtype = input_of(a, real=kind == "half")
    shapes = _shapes(tuple(source.extent), steps, kind)
    view = place(accelerator_view, source, out)
    check_precision(view, dtype)
    real = real_of(dtype)
    made = real if kind == "real" else dtype
    result = with_dtype(output(out, shapes[-1], made, view, source, in_place=kind == "complex"), made)
    sign = real.type(-1 if inverse else 1)
    values, to_load = source.flat(), sign
    with in_a_row(result, view) as row:
        for number, (axis, n) in enumerate(steps):
            is_last = number == len(steps) - 1
            before, after = shapes[number], shapes[number + 1]
            lines = Lines(math.prod(before[:axis]), n, math.prod(before[axis + 1 :]))
            width, kept = before[axis] * lines.inner, after[axis] * lines.inner
            load: Any = Given(values, dtype.type, width, to_load)
            if is_last and kind == "real":
                load = Hermitian(values, dtype.type, width, n, lines.inner, to_load)
            store: Any = RealParts(row, kept, real.type(scale))
            if not is_last:
                between = amp.array(amp.extent(math.prod(after)), dtype, accelerator_view=view)
                store = Kept(between, kept, real.type(1), real.type(1))
                values, to_load = lazy.Elements(between), real.type(1)
            elif kind != "real":
                store = Kept(row, kept, real.type(scale), sign)
            run_lines(view, load, store, lines, dtype)
    return result
