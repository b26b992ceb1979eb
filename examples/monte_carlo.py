"""The price of an option by simulation on all devices: random numbers by counters in the kernel.

    python examples/monte_carlo.py [--paths 400000] [--days 64] [--blocks 8] [--scheduler tcp://...]

A thread simulates the price of a share for a number of days, with random numbers of the stream that its number in the
whole array names: the paths depend neither on the blocks nor on the devices. The blocks stay on their devices, where
their mean and their histogram are computed. The mean payoff is compared with Black and Scholes' formula, and a part of
the paths with numpy's, from the same random numbers.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from typing import Any

import cluster
import gallery
import numpy as np
from numpy.typing import NDArray

import vkamp as amp
import vkamp.dask as vd
from vkamp import rng

START, STRIKE, RATE, VOLATILITY, YEARS, SEED = 100.0, 105.0, 0.03, 0.2, 1.0, 2024
#: The paths that numpy simulates, too.
COMPARED = 20


@amp.kernel
def last_prices(idx, origin, days, drift, spread, prices):
    """The price of the share after the last day, on the path of each thread."""
    numbers = rng.philox(SEED, origin[0] + idx[0])
    total = 0.0
    for _ in range(days // 2):
        pair = numbers.next_normal2()
        total += 2.0 * drift + spread * (pair.x + pair.y)
    prices[idx] = START * amp.fast_math.exp(total)


@amp.kernel
def payoffs(idx, prices, out):
    """What the option is worth at each price."""
    out[idx] = max(prices[idx] - STRIKE, 0.0)


def last_prices_with_numpy(count: int, days: int, drift: float, spread: float) -> NDArray[np.float64]:
    """The first paths, from the words of the same streams."""
    found = []
    for path in range(count):
        words = np.asarray(rng.Philox4x32(key=SEED, counter=path << 64).random_raw(days))
        radius = np.sqrt(-2 * np.log((words[::2] | 1) / 2**32))
        # The lower 30 bits are an angle between -1/8 and 1/8 of a turn, and the highest bit is the sign of its cosine.
        angle = 2 * np.pi * (words[1::2] << 2).view(np.int32) / 2**34
        cosine = np.where(words[1::2] >> 31, -np.cos(angle), np.cos(angle))
        found.append(days * drift + spread * np.sum(radius * (cosine + np.sin(angle))))
    return START * np.exp(np.array(found))


def formula() -> float:
    """Black and Scholes' price of the option, without the discount."""
    spread = VOLATILITY * math.sqrt(YEARS)
    d = (math.log(START / STRIKE) + (RATE + VOLATILITY**2 / 2) * YEARS) / spread
    below = [0.5 * math.erfc(-x / math.sqrt(2)) for x in (d, d - spread)]
    return START * math.exp(RATE * YEARS) * below[0] - STRIKE * below[1]


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    days = options.days + options.days % 2
    step = YEARS / days
    drift, spread = (RATE - VOLATILITY**2 / 2) * step, VOLATILITY * math.sqrt(step)
    side = -(-options.paths // options.blocks)
    sizes = tuple(min(side, options.paths - k) for k in range(0, options.paths, side))
    arguments = days, np.float32(drift), np.float32(spread)
    with cluster.started(options) as client:
        prices = vd.map_blocks(last_prices, vd.block_origin, *arguments, dtype=np.float32, chunks=(sizes,))
        paid = vd.map_blocks(payoffs, prices, dtype=np.float32)
        counts, edges = vd.histogram(prices, 60, (40.0, 220.0))
        started = time.perf_counter()
        wanted = (vd.mean(paid), vd.std(paid), counts, prices[: min(COMPARED, options.paths)])
        mean, deviation, heights, some = cluster.with_progress(client, *wanted)
        seconds = time.perf_counter() - started
    speed = options.paths * days / seconds / 1e6
    print(f"run     {options.paths} paths of {days} days: {seconds:.2f} s, {speed:.3g} M days/s")
    error = float(deviation) / math.sqrt(options.paths)
    print(f"price   {math.exp(-RATE * YEARS) * float(mean):.4f} +- {math.exp(-RATE * YEARS) * error:.4f}")
    expected = last_prices_with_numpy(len(some), days, drift, spread)
    checks = [
        ("paths", gallery.difference(np.asarray(some) / expected, np.ones(len(some))), 1e-4),
        ("price, in standard errors of the formula's", abs(float(mean) - formula()) / error, 5.0),
    ]

    def draw(axes: Any) -> None:
        axes.stairs(heights, edges, fill=True, color="tab:blue", alpha=0.7)
        axes.axvline(STRIKE, color="black", linewidth=1)
        axes.set(xlabel="price after a year", ylabel="paths", title=f"{options.paths} paths")

    return gallery.Result(checks, [gallery.chart(draw)])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the results match numpy's and the formula's."""
    return gallery.main("monte_carlo", __doc__ or "", run, argv, cluster.add_options, paths=400_000, days=64, blocks=8)


if __name__ == "__main__":
    sys.exit(main())
