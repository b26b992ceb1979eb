"""The errors of the functions of precise_math on a device, in units of the last place.

    tools/env python tools/ulp.py [--points 1000000] [--accelerators swiftshader,llvmpipe] [--seed 1] [NAME...]

Every function runs over special values, denormals, the edges of its domain and random arguments: half of them over
all bit patterns, half over the range where the function does something. The result is a table in Markdown; the
program ends with 1 if a function is beyond its bound. The references work in double precision.

Float arithmetic of a device may flush denormals (Vulkan leaves that open), so where an argument is denormal, what is
right for a zero of its sign is right too, and so is a zero in place of a denormal result.
"""

from __future__ import annotations

import argparse
import linecache
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vkamp as amp
from vkamp.ir.builtins import BUILTINS, TUPLES
from vkamp.ir.rows import BuiltinRow

__all__ = ["Measured", "arguments", "functions", "kernel_of", "measure", "table"]

Floats = NDArray[np.float32]
SMALLEST = 2.0**-126

_STEPS = (1.0, 2.0, 3.0, 0.5, 1.5, 2.5, 0.25, 4.0, 0.1, 7.0, 8.0, 10.0, 15.5, 34.0, 35.0, 42.5, 88.0, 89.0, 104.0,
          128.0, 150.0, 8388608.0, 8388607.5, 16777216.0, 4e6, 1e-3, 1e-8, 1e10, 1e20, 1e-20, 1e36, 1e-36,
          16384.0)  # fmt: skip
_EDGES = (0.0, math.inf, math.nan, 1e-45, 1e-40, 5.877471754111438e-39, SMALLEST, 3.4028234663852886e38)

#: Where the functions do something: exponents of two of random arguments, and whether negative ones count.
_RANGES = {
    "exp": (-20, 7), "exp2": (-20, 8), "exp10": (-20, 6), "expm1": (-20, 7), "sinh": (-14, 7), "cosh": (-14, 7),
    "tanh": (-14, 5), "tgamma": (-10, 6), "erf": (-14, 3), "erfc": (-14, 4), "phi": (-14, 4), "asin": (-14, 0),
    "acos": (-14, 0), "atanh": (-14, 0), "erfinv": (-14, 0), "erfcinv": (-20, 1), "probit": (-20, 0),
    "log": (-3, 3), "log2": (-3, 3), "log10": (-3, 3), "log1p": (-20, 3), "acosh": (0, 10), "lgamma_size": (-6, 6),
    "ldexp": (-126, 127), "scalbn": (-126, 127), "fma": (-6, 6), "pow": (-6, 6), "fmod": (-20, 20),
}  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """The worst point of one function on one device; ``ulp`` is infinite for a wrong special value."""

    name: str
    bound: float
    ulp: float
    at: tuple[float, ...]
    result: float
    reference: float

    @property
    def is_good(self) -> bool:
        """Whether the function keeps its bound."""
        return self.ulp <= self.bound


def functions() -> dict[str, BuiltinRow]:
    """The rows of precise_math by name, the parts of functions with several results among them."""
    parts = {name for row in TUPLES.values() for name in row.parts if "F" in BUILTINS[name].params}
    rows = [row for row in BUILTINS.values() if row.name.startswith("precise_") or row.name in parts - {"sin", "cos"}]
    return {row.name.removeprefix("precise_"): row for row in rows if row.name != "trunc"}


def specials() -> Floats:
    """Zeros, infinities, NaN, denormals, whole numbers, multiples of pi, edges of domains, with their neighbours."""
    plain = [*_EDGES, *_STEPS, *(k * math.pi / 4 for k in range(1, 9)), 1e5 * math.pi, 1e22 * math.pi]
    values = np.array(plain, np.float32)
    with np.errstate(all="ignore"):
        near = [values, np.nextafter(values, np.float32(0)), np.nextafter(values, np.float32(np.inf))]
    found = np.concatenate(near)
    return np.concatenate([found, -found])


def _random(rng: np.random.Generator, name: str, points: int) -> Floats:
    """Half of all bit patterns, half from the function's own range."""
    low, high = _RANGES.get(name, (-14, 14))
    anywhere = rng.integers(0, 2**32, points // 2, np.uint64).astype(np.uint32).view(np.float32)
    size = np.exp2(rng.uniform(low, high, points - points // 2))
    return np.concatenate([anywhere, (size * rng.choice([-1, 1], len(size))).astype(np.float32)])


def arguments(name: str, row: BuiltinRow, points: int, seed: int) -> list[NDArray[Any]]:
    """One array per parameter: every combination of special values (of three parameters, a part), then random ones."""
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
            size = np.clip(np.nan_to_num(grid), -300, 300).astype(np.int32)
            made.append(np.concatenate([size, rng.integers(-300, 300, points, np.int32)]))
        else:
            made.append(np.concatenate([grid, _random(rng, name, points)]))
    return made


_made: dict[str, Any] = {}


def kernel_of(name: str, row: BuiltinRow) -> Any:
    """A kernel that stores the function of its arguments."""
    if name in _made:
        return _made[name]
    params = "abc"[: len(row.params)]
    args = ", ".join(f"{p}[i]" for p in params)
    call = f"amp.{row.python[0]}({args})" if row.python else ""
    for several in TUPLES.values():
        if not call and row.name in several.parts:
            places = ["_"] * len(several.parts)
            places[several.parts.index(row.name)] = "value"
            call = f"value\n    {', '.join(places)} = amp.{several.python[0]}({args})\n    out[i] = value"
    body = call.partition("\n")[2] if call.startswith("value\n") else f"    out[i] = {call}"
    source = f"def k(i, {', '.join(params)}, out):\n{body}\n"
    file = f"<{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {"amp": amp}
    exec(compile(source, file, "exec"), space)
    _made[name] = amp.kernel(space["k"])
    return _made[name]


def _run(view: Any, name: str, row: BuiltinRow, args: list[NDArray[Any]]) -> NDArray[Any]:
    result = np.zeros(len(args[0]), np.float32 if row.result in ("F", "float32") else np.int32)
    out = amp.array_view(result)
    views = [amp.array_view(a, readonly=True) for a in args]
    amp.parallel_for_each(view, amp.extent(len(result)), kernel_of(name, row), *views, out)
    out.synchronize()
    return result


def _references(row: BuiltinRow, args: list[NDArray[Any]]) -> NDArray[np.float64]:
    """Unrounded where the row's reference is a function of doubles."""
    exact = getattr(row.reference, "__wrapped__", None)
    function = np.frompyfunc(exact or row.reference, len(args), 1)
    with np.errstate(all="ignore"):
        wide = [a.astype(np.float64) for a in args] if exact is not None else args
        found: NDArray[np.float64] = function(*wide).astype(np.float64)
        return found.astype(np.float32).astype(np.float64) if row.ulp is None and exact is not None else found


def _distance(result: NDArray[Any], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """In ulps of the expected value; infinite where infinities, NaN or signs of zeros differ."""
    with np.errstate(all="ignore"):
        rounded = wanted.astype(np.float32)
        unit = np.exp2(np.maximum(np.frexp(wanted)[1], -125) - 24.0)
        distance = np.abs(result.astype(np.float64) - wanted) / unit
        special = ~(np.isfinite(result) & np.isfinite(rounded))
        same = (result == rounded) | (np.isnan(result) & np.isnan(rounded))
        # Beyond the largest float, infinity is the best result.
        same |= np.isinf(result) & (np.abs(wanted) > 3.4028234e38) & (np.sign(result) == np.sign(wanted))
        distance = np.where(special, np.where(same, 0.0, np.inf), distance)
        is_zero = (result == 0) & (wanted == 0)
        if result.dtype == np.float32:
            distance = np.where(is_zero & (np.signbit(result) != np.signbit(wanted)), np.inf, distance)
        return distance


def _flushed(args: list[NDArray[Any]]) -> list[NDArray[Any]]:
    return [np.where(np.abs(a) < SMALLEST, np.copysign(0, a), a).astype(a.dtype) if a.dtype == np.float32 else a
            for a in args]  # fmt: skip


@lru_cache(maxsize=1)
def _questions(name: str, points: int, seed: int) -> tuple[list[NDArray[Any]], NDArray[np.float64]]:
    """Arguments and the expected results, the same for every device."""
    row = functions()[name]
    args = arguments(name, row, points, seed)
    return args, _references(row, args)


def measure(view: Any, name: str, points: int, seed: int) -> Measured:
    """Runs one function on a device and finds its worst point."""
    row = functions()[name]
    args, wanted = _questions(name, points, seed)
    result = _run(view, name, row, args)
    distance = _distance(result, wanted)
    again = np.flatnonzero(distance > (row.ulp or 0))
    if len(again):
        picked = [a[again] for a in args]
        other = _distance(result[again], _references(row, _flushed(picked)))
        distance[again] = np.minimum(distance[again], other)
        tiny = (result[again] == 0) & (np.abs(wanted[again]) <= SMALLEST)
        distance[again] = np.where(tiny, 0.0, distance[again])
    if name == "lgamma_size":
        # Near its zeros below -2 the bound is of the absolute error: 2^-23.
        x = args[0]
        low = (x < -2.25) & (x > -10.01)
        with np.errstate(all="ignore"):
            absolute = np.abs(result - wanted) * 2.0**23
        distance = np.where(low & (absolute <= 1), 0.0, distance)
    worst = int(np.argmax(distance))
    at = tuple(float(a[worst]) for a in args)
    return Measured(name, row.ulp or 0.0, float(distance[worst]), at, float(result[worst]), float(wanted[worst]))


def table(
    argv: list[str],
    *,
    what: str,
    bounds: Mapping[str, float | None],
    measure: Callable[[Any, str, int, int], Measured],
    points: int,
    accelerators: str,
    digits: int,
) -> int:
    """The command: prints the table of the functions with ``bounds``; 1 if one is beyond its own."""
    parser = argparse.ArgumentParser(description=f"Measures the errors of {what}.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--points", type=int, default=points)
    parser.add_argument("--accelerators", default=accelerators)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    devices = options.accelerators.split(",")
    print("| function | bound | " + " | ".join(f"{d}: worst ulp | at" for d in devices) + " |")
    print("|---|---|" + "---|---|" * len(devices), flush=True)
    is_good = True
    for name in [name for name in bounds if not options.names or name in options.names]:
        cells = []
        for device in devices:
            found = measure(amp.accelerator(device).default_view, name, options.points, options.seed)
            at = ", ".join(f"{v:.{digits}g}" for v in found.at)
            result, reference = f"{found.result:.{digits}g}", f"{found.reference:.{digits}g}"
            wrong = "" if found.is_good else f" WRONG: {result} instead of {reference}"
            cells.append(f"{found.ulp:.3g} | {at}{wrong}")
            is_good &= found.is_good
        limit = bounds[name]
        bound = "exact" if limit is None else f"{limit:g}"
        print(f"| {name} | {bound} | {' | '.join(cells)} |", flush=True)
    return 0 if is_good else 1


def main(argv: list[str]) -> int:
    bounds = {name: row.ulp for name, row in functions().items()}
    return table(argv, what="precise_math", bounds=bounds, measure=measure, points=1_000_000,
                 accelerators="swiftshader,llvmpipe", digits=9)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
