"""Transforms along one or more axes, one after the other, with arrays of complex numbers in between.

An inverse transform is a forward one of the conjugates: the first step loads conjugates, and the last one stores
conjugates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

import vkamp as amp
from vkamp.algorithms import lazy
from vkamp.algorithms._arguments import in_a_row, output, place
from vkamp.fft._arguments import check_precision, input_of, real_of, with_dtype
from vkamp.fft.bluestein import run_lines
from vkamp.fft.crossed import Crossing, crossing_of, run_two_axes
from vkamp.fft.ends import Given, Hermitian, Kept, Plain, RealParts, ScaledLines, UnscaledLines, Whole
from vkamp.fft.lengths import Lines
from vkamp.fft.real import Mixed, RealPairs, Unpaired, as_pairs, half_factors, run_half

#: The results: complex numbers; the first half of the transform of real numbers; or real numbers, given the first half
#: of Hermitian ones. Halves are along the axis of the first step of ``"half"``, and of the last one of ``"real"``.
Kind = Literal["complex", "half", "real"]


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
    """The transform of an input, times ``scale``. ``steps``: the axes and lengths, in order."""
    source, dtype = input_of(a, real=kind == "half")
    shape = tuple(source.extent)
    if kind == "complex":
        # A line of one number is its own transform.
        steps = [step for step in steps if (shape[step[0]], step[1]) != (1, 1)] or steps[:1]
    shapes = _shapes(shape, steps, kind)
    view = place(accelerator_view, source, out)
    check_precision(view, dtype)
    real = real_of(dtype)
    made = real if kind == "real" else dtype
    result = with_dtype(output(out, shapes[-1], made, view, source, in_place=kind == "complex"), made)
    in_place = out is not None and any(result.overlaps(each) for each in source.containers())
    sign = real.type(-1 if inverse else 1)
    values, to_load = source.flat(), sign
    with in_a_row(result, view) as row:
        number = 0
        while number < len(steps):
            axis, n = steps[number]
            is_own = (kind == "half" and number == 0) or (kind == "real" and number + 2 >= len(steps))
            crossing = None if is_own else _crossing(view, shapes, steps, number, dtype)
            number += 1 if crossing is None else 2
            is_last = number == len(steps)
            after, before = shapes[number], shapes[number - 1]
            if crossing is not None:
                axis, n = min(steps[number - 2 : number])
            lines = Lines(math.prod(before[:axis]), n, math.prod(before[axis + 1 :]))
            kept, whole = after[axis] * lines.inner, n * lines.inner
            load = _load(values, dtype, before[axis], lines, to_load)
            if is_last and kind == "real":
                _run_real(view, load, row, before[axis], lines, real.type(scale), dtype)
                break
            has_pairs = kind == "half" and number == 1 and n % 2 == 0
            target, factor, to_store = row, scale, sign
            if not is_last:
                target = amp.array(amp.extent(math.prod(after)), dtype, accelerator_view=view)
                factor, to_store = 1.0, real.type(1)
                values, to_load = lazy.Elements(target), real.type(1)
            factor = real.type(factor * 0.5 if has_pairs else factor)
            lines_of = UnscaledLines if factor == to_store == 1 else ScaledLines
            # Halves from pairs have no numbers that are not kept.
            store = (lines_of if kept == whole or has_pairs else Kept)(target, kept, factor, to_store)
            if crossing is not None:
                run_two_axes(view, load, store, lines, before[axis + 1], dtype, crossing)
            elif has_pairs:
                run_half(view, _pairs(a, load, before[axis], lines), store, lines.half(), dtype)
            else:
                run_lines(view, load, store, lines, dtype, in_place=in_place)
    return result


def _crossing(
    view: amp.accelerator_view, shapes: Sequence[tuple[int, ...]], steps: Sequence[tuple[int, int]], number: int,
    dtype: np.dtype[Any],
) -> Crossing | None:  # fmt: skip
    """How two launches do the steps ``number`` and ``number + 1``; ``None`` if that is impossible, or no gain."""
    pair, shape = steps[number : number + 2], shapes[number]
    if len(pair) == 1 or abs(pair[1][0] - pair[0][0]) != 1 or shapes[number + 2] != shape:
        return None
    axis = min(pair)[0]
    lines = Lines(math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]))
    return crossing_of(view, lines, shape[axis + 1], dtype)


def _run_real(
    view: amp.accelerator_view, load: Given, row: Any, given: int, lines: Lines, scale: Any, dtype: np.dtype[Any]
) -> None:
    """The step whose results are real numbers, given the first half of Hermitian lines."""
    n, inner = lines.n, lines.inner
    if n % 2:
        hermitian = Hermitian(load.values, dtype.type, given * inner, n, inner, load.sign)
        run_lines(view, hermitian, RealParts(row, n * inner, scale), lines, dtype)
    else:
        factors = half_factors(n, dtype)
        mixed = Mixed(load.values, dtype.type, given * inner, given, n // 2, inner, load.sign, factors)
        run_lines(view, mixed, _unpaired(row, lines, scale), lines.half(), dtype)


def _load(values: lazy.Lazy, dtype: np.dtype[Any], given: int, lines: Lines, sign: Any) -> Given:
    """An input whose lines have ``given`` numbers."""
    kind = Given if given < lines.n else Plain if sign == 1 else Whole
    return kind(values, dtype.type, given * lines.inner, sign)


def _pairs(a: Any, load: Given, given: int, lines: Lines) -> Any:
    """An input of real numbers in pairs. Pairs of adjacent numbers in memory are loaded together."""
    source = lazy.of(a).row()
    if lines.inner == 1 and given >= lines.n and given % 2 == 0 and isinstance(source, lazy.Elements):
        values = as_pairs(source.values)
        if values is not None:
            return Plain(lazy.Elements(values), load.kind, given // 2, load.sign * load.sign)
    return RealPairs(load.values, load.kind, given * lines.inner, given, lines.inner)


def _unpaired(row: Any, lines: Lines, scale: Any) -> Any:
    """A result of real numbers. Pairs of adjacent numbers in memory are stored together."""
    values = as_pairs(row) if lines.inner == 1 else None
    if values is not None:
        return ScaledLines(values, lines.n // 2, scale, type(scale)(1))
    return Unpaired(row, lines.n * lines.inner, lines.inner, scale)
