"""Prices of European options by Black and Scholes: one thread for each option.

python examples/black_scholes.py [--count 1000000] [--accelerator swiftshader]
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

RATE, VOLATILITY = 0.02, 0.3


@amp.func
def below(x: amp.float32):
    """The cumulative normal distribution at x."""
    return 0.5 * amp.precise_math.erfc(-x * 0.70710678)


@amp.kernel
def prices(idx, spots, strikes, years, calls, puts, rate, volatility):
    """The prices of a call and a put with this strike and time to maturity in years."""
    spot, strike, time = spots[idx], strikes[idx], years[idx]
    spread = volatility * amp.precise_math.sqrt(time)
    first = (amp.precise_math.log(spot / strike) + (rate + 0.5 * volatility * volatility) * time) / spread
    second = first - spread
    paid = strike * amp.precise_math.exp(-rate * time)
    calls[idx] = spot * below(first) - paid * below(second)
    puts[idx] = paid * below(-second) - spot * below(-first)


def price(
    view: amp.accelerator_view, spots: amp.array, strikes: amp.array, years: amp.array
) -> tuple[amp.array, amp.array]:
    """The prices of calls and puts, computed on the device."""
    calls, puts = (amp.array(spots.extent, amp.float32, accelerator_view=view) for _ in range(2))
    amp.parallel_for_each(view, spots.extent, prices, spots, strikes, years, calls, puts, RATE, VOLATILITY)
    return calls, puts


def prices_with_numpy(spots: Any, strikes: Any, years: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The expected result of `price`."""
    spots, strikes, years = (np.asarray(values, np.float64) for values in (spots, strikes, years))
    spread = VOLATILITY * np.sqrt(years)
    first = (np.log(spots / strikes) + (RATE + VOLATILITY**2 / 2) * years) / spread
    paid = strikes * np.exp(-RATE * years)
    share = np.vectorize(lambda x: 0.5 * math.erfc(-x * math.sqrt(0.5)), otypes=[float])
    return spots * share(first) - paid * share(first - spread), paid * share(spread - first) - spots * share(-first)


def run(view: amp.accelerator_view, options: argparse.Namespace) -> gallery.Result:
    random, count = np.random.default_rng(11), options.count
    raw = [random.uniform(low, high, count).astype(np.float32) for low, high in ((5, 30), (1, 100), (0.25, 10))]
    given = [amp.array(amp.array_view(values), accelerator_view=view) for values in raw]
    gallery.timed(view, f"{count} options", lambda: price(view, *given), count, "G options/s")
    some = slice(0, 20_000)  # numpy is slow here
    found = price(view, *given)
    expected = prices_with_numpy(*(values[some] for values in raw))
    checks = [
        (name, gallery.difference(np.asarray(one)[some], other), 2e-5)
        for name, one, other in zip(("calls", "puts"), found, expected, strict=True)
    ]
    years, spots = np.meshgrid(np.linspace(0.02, 3, 240), np.linspace(40, 160, 240), indexing="ij")
    surface = [np.ascontiguousarray(v, np.float32) for v in (spots, np.full_like(spots, 100), years)]
    calls, puts = price(view, *(amp.array(amp.array_view(v), accelerator_view=view) for v in surface))

    def draw(axes: Any, values: Any) -> None:
        image = axes.imshow(
            np.asarray(values), origin="lower", aspect="auto", extent=(40, 160, 0.02, 3), cmap="viridis"
        )
        axes.set_xlabel("price of the share today")
        axes.set_ylabel("years")
        axes.figure.colorbar(image)

    pictures = [gallery.chart(lambda axes, v=v: draw(axes, v), 440, 340) for v in (calls, puts)]
    titles = ("the right to buy at 100", "the right to sell at 100")
    return gallery.Result(checks, [gallery.side_by_side(pictures, titles)])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the example; returns 0 if the device's results match numpy's."""
    return gallery.main("black_scholes", __doc__ or "", run, argv, count=1_000_000)


if __name__ == "__main__":
    sys.exit(main())
