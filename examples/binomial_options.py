"""American puts by a binomial tree: one tile for each option, the tree's levels in tile_static memory.

    python examples/binomial_options.py [--count 200] [--accelerator swiftshader]

The price goes up or down in each of STEPS steps; at each node the owner exercises the option, or waits if that is
worth more.
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

STEPS = 255
TILE = STEPS + 1
STRIKE, RATE, VOLATILITY, YEARS = 100.0, 0.05, 0.3, 1.0


@amp.kernel
def american_puts(t_idx, spots, prices, up, share, discount, strike):
    """``up``: the factor of a step up; ``share``: its probability; ``discount``: the discount factor of a step."""
    level = amp.tile_static((2, TILE), amp.float32)
    node = t_idx.local[0]
    spot = spots[t_idx.tile[0]]
    # Up `node` times and down the other times.
    value = spot * amp.precise_math.pow(up, float(2 * node - STEPS))
    level[0, node] = max(strike - value, 0.0)
    now = 0
    for step in range(STEPS):
        t_idx.barrier.wait_with_tile_static_memory_fence()
        value *= up
        worth = level[now, node]
        if node < STEPS - step:
            waiting = discount * (share * level[now, node + 1] + (1.0 - share) * level[now, node])
            worth = max(waiting, strike - value)
        now = 1 - now
        level[now, node] = worth
    if node == 0:
        prices[t_idx.tile] = level[now, 0]


def tree() -> tuple[float, float, float]:
    """up, share and discount by Cox, Ross and Rubinstein."""
    time = YEARS / STEPS
    up = math.exp(VOLATILITY * math.sqrt(time))
    return up, (math.exp(RATE * time) - 1 / up) / (up - 1 / up), math.exp(-RATE * time)


def price(view: amp.accelerator_view, spots: amp.array) -> amp.array:
    """The price of each put, on the device."""
    prices = amp.array(spots.extent, amp.float32, accelerator_view=view)
    domain = amp.extent(spots.extent[0] * TILE).tile(TILE)
    amp.parallel_for_each(view, domain, american_puts, spots, prices, *tree(), STRIKE)
    return prices


def price_with_numpy(spots: NDArray[np.float32]) -> NDArray[np.float64]:
    """The expected result of `price`."""
    up, share, discount = tree()
    values = spots[:, None].astype(np.float64) * up ** np.arange(-STEPS, STEPS + 1, 2.0)
    worth = np.maximum(STRIKE - values, 0)
    for _ in range(STEPS):
        values = values[:, :-1] * up
        waiting = discount * (share * worth[:, 1:] + (1 - share) * worth[:, :-1])
        worth = np.maximum(waiting, STRIKE - values)
    return np.asarray(worth[:, 0])


def european(spots: NDArray[np.float32]) -> NDArray[np.float64]:
    """The same puts as European options, by Black and Scholes."""
    spread = VOLATILITY * math.sqrt(YEARS)
    first = (np.log(spots / STRIKE) + (RATE + VOLATILITY**2 / 2) * YEARS) / spread
    share = np.vectorize(lambda x: 0.5 * math.erfc(-x * math.sqrt(0.5)), otypes=[float])
    return np.asarray(STRIKE * math.exp(-RATE * YEARS) * share(spread - first) - spots * share(-first))


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    spots = np.linspace(50, 150, options.count, dtype=np.float32)
    given = amp.array(amp.array_view(spots), accelerator_view=view)
    nodes = options.count * STEPS * (STEPS + 1) / 2
    gallery.timed(view, f"{options.count} options of {STEPS} steps", lambda: price(view, given), nodes, "G nodes/s")
    found = np.asarray(price(view, given))
    checks = [("prices", gallery.difference(found, price_with_numpy(spots)), 2e-3)]

    def draw(axes: Any) -> None:
        axes.plot(spots, found, label="American put", color="#c04040")
        axes.plot(spots, european(spots), label="European put", color="#4060c0", linestyle="--")
        axes.plot(spots, np.maximum(STRIKE - spots, 0), label="sold now", color="#808080", linewidth=0.8)
        axes.set_xlabel("price of the share today")
        axes.legend()

    return gallery.Result(checks, [gallery.chart(draw)])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("binomial_options", __doc__ or "", run, argv, count=200)


if __name__ == "__main__":
    sys.exit(main())
