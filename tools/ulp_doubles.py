"""How far the functions of float64 are off on a device, in units of the last place.

    tools/env python tools/ulp_doubles.py [--points 100000] [--accelerators llvmpipe@vulkan] [--seed 1] [NAME...]

As tools/ulp.py does it for float32: special values, denormals, the edges of domains and random arguments, half of them
over all bit patterns. The references are those of numpy's long double, which has to have 64 bits of significand or
more; for functions that it lacks, and exact ones, the table's, which may be off by REFERENCE_ERRORS themselves.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vkamp as amp
from tools import ulp
from vkamp.ir.builtins import TUPLES
from vkamp.ir.rows import BuiltinRow, TupleRow

__all__ = ["REFERENCE_ERRORS", "arguments", "functions", "measure", "part_of"]

Doubles = NDArray[np.float64]
Wide = np.longdouble
SMALLEST = 2.0**-1022

_STEPS = (1.0, 2.0, 3.0, 0.5, 1.5, 2.5, 0.25, 4.0, 0.1, 0.7, 7.0, 8.0, 10.0, 20.0, 26.5, 36.0, 88.0, 171.5, 308.3,
          324.0, 709.78, 745.13, 1024.0, 1074.5, 2.0**26, 2.0**51 + 0.5, 2.0**52, 2.0**53, 1e-3, 1e-8, 2.0**-26,
          2.0**-54, 1e10, 1e22, 1e-20, 1e100, 1e-100, 1e300, 1e-300, 2.0**1023, 2.0**-1021,
          6381956970095103.0 * 2.0**797)  # fmt: skip
_EDGES = (0.0, math.inf, math.nan, 5e-324, 1e-310, 2.0**-1023, SMALLEST, 1.7976931348623157e308)

#: Exponents of two of random arguments where they are not those of float32.
_RANGES = {
    "exp": (-30, 10), "exp2": (-30, 10), "exp10": (-30, 8.5), "expm1": (-40, 10), "sinh": (-30, 10), "cosh": (-30, 10),
    "ldexp": (-900, 900), "scalbn": (-900, 900), "fma": (-30, 30), "pow": (-9, 9), "tgamma": (-20, 7.5),
    "log1p": (-40, 10), "erf": (-30, 3), "erfc": (-30, 4.75),
    "phi": (-30, 5.3), "lgamma_size": (-30, 60),
    "asinh": (-30, 60), "acosh": (0, 60), "sin": (-20, 60), "cos": (-20, 60), "tan": (-20, 60),
    "log": (-3, 3), "log2": (-3, 3), "log10": (-3, 3), "hypot": (-30, 30), "atan2": (-30, 30),
}  # fmt: skip
_UNIT = {"asin", "acos", "atanh", "erfinv", "probit"}


def _half_turns(function: Callable[[Any], Any], x: Any) -> Any:
    """A circular function of pi times x, by its value at x reduced to half a period."""
    pi = Wide(np.arctan2(Wide(0), Wide(-1)))
    rest = np.fmod(x, 2.0)
    nearest = np.rint(rest * 2)
    angle = pi * (rest - nearest / 2)
    quarter = nearest.astype(np.int64) & 3
    sine, cosine = np.sin(angle), np.cos(angle)
    sines = np.choose(quarter, [sine, cosine, -sine, -cosine])
    cosines = np.choose(quarter, [cosine, -sine, -cosine, sine])
    return function((sines, cosines))


#: Of long doubles.
_WIDE: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "log",
                                            "log2", "log10", "log1p", "cbrt", "hypot")},
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "pow": np.power,
    "exp10": lambda x: np.power(Wide(10), x), "rsqrt": lambda x: 1 / np.sqrt(x), "rcbrt": lambda x: 1 / np.cbrt(x),
}  # fmt: skip

#: How far references that are not of long doubles may be off themselves, in ulps.
REFERENCE_ERRORS = {"erf": 1, "erfc": 1, "phi": 3, "tgamma": 10, "lgamma_size": 6}


def functions() -> dict[str, BuiltinRow]:
    """The rows of precise_math that take doubles, by name."""
    return {name: row for name, row in ulp.functions().items() if row.double is not None}


def part_of(name: str) -> tuple[TupleRow, int]:
    """The function with several results of which a row is one, and which one."""
    several = next(row for row in TUPLES.values() if name in row.parts)
    return several, several.parts.index(name)


def specials() -> Doubles:
    """Zeros, infinities, NaN, denormals, whole numbers, multiples of pi, edges of domains, with their neighbours."""
    plain = [*_EDGES, *_STEPS, *(k * math.pi / 4 for k in range(1, 9)), 1e5 * math.pi, 1e22 * math.pi]
    values = np.array(plain)
    with np.errstate(all="ignore"):
        near = [values, np.nextafter(values, 0), np.nextafter(values, np.inf)]
    found = np.concatenate(near)
    return np.concatenate([found, -found])


def _random(rng: np.random.Generator, name: str, points: int) -> Doubles:
    """A third of all bit patterns, the others from the function's own range."""
    low, high = (-30.0, 0.0) if name in _UNIT else _RANGES.get(name, (-20.0, 20.0))
    anywhere = rng.integers(0, 2**64, points // 3, np.uint64).view(np.float64)
    # numpy's functions distinguish signaling NaN from others.
    anywhere[np.isnan(anywhere)] = np.nan
    count = points - points // 3
    size = np.exp2(rng.uniform(low, high, count))
    if name in _UNIT:
        # Also evenly distributed values, since exponents give few values near 1.
        size[: count // 2] = rng.uniform(0, 1, count // 2)
    return np.concatenate([anywhere, size * rng.choice([-1, 1], count)])


def arguments(name: str, row: BuiltinRow, points: int, seed: int) -> list[NDArray[Any]]:
    """One array per parameter: combinations of special values, then random ones."""
    rng = np.random.default_rng(seed)
    known = specials()
    count = len(row.params)
    if count == 3:
        known = known[:: max(1, len(known) // 24)]
    grids = [g.ravel() for g in np.meshgrid(*[known] * count)]
    if len(grids[0]) > max(points, 2000):
        chosen = rng.choice(len(grids[0]), max(points, 2000), replace=False)
        grids = [g[chosen] for g in grids]
    made: list[NDArray[Any]] = []
    for letter, grid in zip(row.params, grids, strict=True):
        if letter == "I":
            size = np.clip(np.nan_to_num(grid), -2200, 2200).astype(np.int32)
            made.append(np.concatenate([size, rng.integers(-2200, 2200, points, np.int32)]))
        else:
            made.append(np.concatenate([grid, _random(rng, name, points)]))
    if name == "fma":
        # Sums that cancel.
        half = len(made[0]) // 2
        with np.errstate(all="ignore"):
            made[2][half:] = -(made[0][half:] * made[1][half:]) * (
                1 + np.round(rng.normal(size=len(made[0]) - half)) * 2.0**-52
            )
    return made


def _run(view: Any, name: str, row: BuiltinRow, args: list[NDArray[Any]]) -> NDArray[Any]:
    result = np.zeros(len(args[0]), np.float64 if row.result in ("F", "float64") else np.int32)
    out = amp.array_view(result)
    views = [amp.array_view(a, readonly=True) for a in args]
    amp.parallel_for_each(view, amp.extent(len(result)), ulp.kernel_of(name, row), *views, out)
    out.synchronize()
    return result


def _references(name: str, row: BuiltinRow, args: list[NDArray[Any]]) -> NDArray[np.longdouble]:
    if np.finfo(Wide).nmant < 63:
        raise RuntimeError("the references need a long double of 64 bits or more")
    assert row.double is not None
    with np.errstate(all="ignore"):
        wide = [a.astype(Wide) if a.dtype == np.float64 else a for a in args]
        if name in ("sinpi", "cospi", "tanpi"):
            parts = {"sinpi": lambda p: p[0], "cospi": lambda p: p[1], "tanpi": lambda p: p[0] / p[1]}
            found: NDArray[np.longdouble] = _half_turns(parts[name], wide[0])
            # Which infinity, and which zero, is a convention.
            at = np.flatnonzero((found == 0) | np.isinf(found))
            found[at] = np.frompyfunc(row.double.reference, 1, 1)(args[0][at]).astype(Wide)
        elif name in _WIDE:
            found = _WIDE[name](*wide).astype(Wide)
        else:
            found = np.frompyfunc(row.double.reference, len(args), 1)(*args).astype(Wide)
        return found


def _distance(result: NDArray[Any], wanted: NDArray[np.longdouble]) -> NDArray[np.float64]:
    """In ulps of the expected value; infinite where infinities, NaN or signs of zeros differ."""
    with np.errstate(all="ignore"):
        rounded = wanted.astype(np.float64)
        unit = np.exp2((np.maximum(np.frexp(wanted)[1], -1021) - 53).astype(Wide))
        distance = (np.abs(result.astype(Wide) - wanted) / unit).astype(np.float64)
        special = ~(np.isfinite(result) & np.isfinite(rounded))
        same = (result == rounded) | (np.isnan(result) & np.isnan(rounded))
        # Beyond the largest double, infinity is the best result.
        same |= (
            np.isinf(result) & (np.abs(wanted) > Wide(1.7976931348623157e308)) & (np.sign(result) == np.sign(rounded))
        )
        distance = np.where(special, np.where(same, 0.0, np.inf), distance)
        is_zero = (result == 0) & (wanted == 0)
        if result.dtype == np.float64:
            distance = np.where(is_zero & (np.signbit(result) != np.signbit(wanted)), np.inf, distance)
        return distance


def _flushed(args: list[NDArray[Any]]) -> list[NDArray[Any]]:
    return [np.where(np.abs(a) < SMALLEST, np.copysign(0, a), a) if a.dtype == np.float64 else a for a in args]


@lru_cache(maxsize=1)
def _questions(name: str, points: int, seed: int) -> tuple[list[NDArray[Any]], NDArray[np.longdouble]]:
    """Arguments and the expected results, the same for every device."""
    row = functions()[name]
    args = arguments(name, row, points, seed)
    return args, _references(name, row, args)


def measure(view: Any, name: str, points: int, seed: int) -> ulp.Measured:
    """Runs one function on a device and finds its worst point."""
    row = functions()[name]
    assert row.double is not None
    args, wanted = _questions(name, points, seed)
    result = _run(view, name, row, args)
    distance = _distance(result, wanted)
    bound = (row.double.ulp or 0.0) + REFERENCE_ERRORS.get(name, 0)
    if name == "lgamma_size":
        # Near its zeros the bound is of the absolute error: 2^-52; Python's function is off by more there.
        x = args[0]
        with np.errstate(all="ignore"):
            absolute = np.abs(result - wanted) * 2.0**52
        distance = np.where((x < 3) & (absolute <= 24), 0.0, distance)
    again = np.flatnonzero(distance > bound)
    if len(again):
        picked = [a[again] for a in args]
        other = _distance(result[again], _references(name, row, _flushed(picked)))
        distance[again] = np.minimum(distance[again], other)
        tiny = (result[again] == 0) & (np.abs(wanted[again]) <= SMALLEST)
        distance[again] = np.where(tiny, 0.0, distance[again])
    worst = int(np.argmax(distance))
    at = tuple(float(a[worst]) for a in args)
    return ulp.Measured(name, bound, float(distance[worst]), at, float(result[worst]), float(wanted[worst]))


def main(argv: list[str]) -> int:
    bounds = {name: row.double.ulp for name, row in functions().items() if row.double is not None}
    return ulp.table(argv, what="functions of float64", bounds=bounds, measure=measure, points=100_000,
                     accelerators="llvmpipe@vulkan", digits=17)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
