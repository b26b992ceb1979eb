"""The price of an option by random paths and by Sobol points: how the error falls with the number of paths.

    python examples/sobol_options.py [--paths 32768] [--repeats 16] [--accelerator swiftshader]

An Asian option pays by the geometric mean of a share's prices on DAYS days. Its price has a formula (A. G. Z. Kemna
and A. C. F. Vorst, 1990): that of F. Black and M. Scholes, with another drift and another volatility. The paths come
from Philox's numbers, and from scrambled Sobol points; each path is a row with a number for each day.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from typing import Any

import gallery
import numpy as np
from numpy.typing import NDArray

import vkamp as amp
from vkamp import rng

START, STRIKE, RATE, VOLATILITY, YEARS, DAYS = 100.0, 100.0, 0.05, 0.3, 1.0, 8
STEP = YEARS / DAYS
#: Of a day: how the logarithm of the price moves.
DRIFT, SPREAD, DISCOUNT = (RATE - VOLATILITY**2 / 2) * STEP, VOLATILITY * math.sqrt(STEP), math.exp(-RATE * YEARS)
#: The first number of paths that is shown.
FEWEST = 32


@amp.kernel
def payoffs(idx, numbers, paid):
    """What the option pays on each path, today's value: `numbers` has a row of DAYS uniform numbers for each."""
    price, total = 0.0, 0.0
    for day in range(0, DAYS, 2):
        # Two normal numbers from two uniform ones: G. E. P. Box and M. E. Muller, 1958.
        radius = amp.fast_math.sqrt(-2.0 * amp.precise_math.log(max(1.0 - numbers[idx[0], day], 1e-7)))
        turn = 6.2831853 * numbers[idx[0], day + 1]
        price += DRIFT + SPREAD * radius * amp.precise_math.cos(turn)
        total += price
        price += DRIFT + SPREAD * radius * amp.precise_math.sin(turn)
        total += price
    paid[idx] = DISCOUNT * max(START * amp.precise_math.exp(total / DAYS) - STRIKE, 0.0)


def payoffs_with_numpy(numbers: Any) -> NDArray[np.float64]:
    """The expected result of `payoffs`."""
    uniform = np.asarray(numbers, np.float64)
    radius, turn = np.sqrt(-2 * np.log(np.maximum(1 - uniform[:, ::2], 1e-7))), 2 * np.pi * uniform[:, 1::2]
    normal = np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=2).reshape(-1, DAYS)
    prices = np.cumsum(DRIFT + SPREAD * normal, axis=1)
    return DISCOUNT * np.maximum(START * np.exp(prices.mean(axis=1)) - STRIKE, 0)


def formula() -> float:
    """The exact price: the logarithm of the geometric mean has a normal distribution."""
    mean = math.log(START) + DRIFT * (DAYS + 1) / 2
    deviation = SPREAD * math.sqrt((DAYS + 1) * (2 * DAYS + 1) / (6 * DAYS))
    d = (mean - math.log(STRIKE)) / deviation
    below = [0.5 * math.erfc(-x / math.sqrt(2)) for x in (d + deviation, d)]
    return DISCOUNT * (math.exp(mean + deviation**2 / 2) * below[0] - STRIKE * below[1])


def errors_of(prices: NDArray[np.float64], counts: list[int]) -> NDArray[np.float64]:
    """The root of the mean square of the errors, for the first paths of each row."""
    means = np.stack([prices[:, :count].mean(axis=1) for count in counts])
    return np.sqrt(np.mean((means - formula()) ** 2, axis=1))


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    paths = max(FEWEST * 4, 1 << (options.paths - 1).bit_length())
    paid = amp.array(amp.extent(paths), amp.float32, accelerator_view=view)

    def paid_on(numbers: Any) -> Any:
        amp.parallel_for_each(view, paid.extent, payoffs, numbers, paid)
        return np.asarray(paid)

    generator = rng.Generator(rng.Philox(1), view)
    rows = amp.array(amp.extent(paths, DAYS), amp.float32, accelerator_view=view)
    points = [rng.Sobol(DAYS, scramble=True, seed=seed, accelerator_view=view) for seed in range(options.repeats)]
    found: dict[str, list[Any]] = {"Philox": [], "Sobol": []}
    for each in points:
        found["Philox"].append(paid_on(generator.random(out=rows)))
        found["Sobol"].append(paid_on(each.random(paths)))
    checks = [
        ("payoffs", gallery.difference(found["Sobol"][-1], payoffs_with_numpy(points[-1].reset().random(paths))), 2e-3)
    ]
    counts = [1 << k for k in range(FEWEST.bit_length() - 1, paths.bit_length())]
    errors = {name: errors_of(np.array(prices, np.float64), counts) for name, prices in found.items()}
    for name, each in errors.items():
        print(f"price   {name}, {paths} paths: {np.mean(found[name]):.5f}; error {each[-1]:.2g}, of {formula():.5f}")
    everything = np.array(found["Philox"], np.float64)
    standard = everything.std() / math.sqrt(everything.size)
    checks.append(("price, in standard errors", abs(everything.mean() - formula()) / standard, 4.5))
    checks.append(("error of Sobol points, in Philox's", errors["Sobol"][-1] / errors["Philox"][-1], 0.5))
    gallery.timed(view, f"{paths} paths of {DAYS} days", lambda: paid_on(rows), paths, "G paths/s")

    def draw(axes: Any) -> None:
        for name, colour, power in (("Philox", "tab:blue", 0.5), ("Sobol", "tab:red", 1.0)):
            axes.loglog(counts, errors[name], "o-", color=colour, label=name, base=10)
            slope = errors[name][0] * (counts[0] / np.array(counts)) ** power
            axes.loglog(counts, slope, "--", color=colour, linewidth=1, label=f"1/n^{power:g}")
        axes.set(
            xlabel="paths n",
            ylabel="error of the price",
            title=f"an option over {DAYS} days, exact price {formula():.3f}",
        )
        axes.legend()

    return gallery.Result(checks, [gallery.chart(draw)])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's and the formula's."""
    return gallery.main("sobol_options", __doc__ or "", run, argv, paths=32_768, repeats=16)


if __name__ == "__main__":
    sys.exit(main())
