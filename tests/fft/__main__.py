"""Errors of all lengths: ``python -m tests.fft NAME...``, on the accelerators named.

Transforms every length from 1 to 4096, forward and inverse, and ``--random`` lengths up to ``--longest``.  Prints the
largest errors against numpy's transform in double precision, in the L2 norm, relative to the result's norm, beside
those of pocketfft in single precision (scipy, if it is installed).  Returns 1 if an error is above the tests' bound.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import vkamp as amp
from tests.fft.compare import BOUNDS, error, numbers, wide
from vkamp import fft


def single_precision() -> Callable[[Any], Any] | None:
    """scipy's transform, which computes complex64 in single precision; None without scipy."""
    try:
        found: Callable[[Any], Any] = importlib.import_module("scipy.fft").fft
    except ImportError:
        return None
    return found


def random_lengths(count: int, longest: int) -> list[int]:
    """Lengths whose logarithms are uniform."""
    r = np.random.default_rng(7)
    return sorted(int(2**x) for x in r.uniform(12, np.log2(longest), count))


def measured(view: amp.accelerator_view, n: int, peer: Any) -> tuple[float, float]:
    """Our largest error for a length, and the peer's; NaN without one."""
    x = numbers(n) if n > 4096 else numbers(2, n)
    expected = np.fft.fft(wide(x))
    ours = error(fft.fft(x, accelerator_view=view), expected)
    back = error(fft.ifft(expected.astype(np.complex64), accelerator_view=view), wide(x))
    return max(ours, back), error(peer(x), expected) if peer else float("nan")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fft", description=__doc__)
    parser.add_argument("accelerators", nargs="*", default=["llvmpipe@vulkan", "swiftshader@vulkan"])
    parser.add_argument("--small", type=int, default=4096)
    parser.add_argument("--random", type=int, default=200)
    parser.add_argument("--longest", type=int, default=1 << 20)
    arguments = parser.parse_args()
    peer, failures = single_precision(), 0
    groups = [(f"1 to {arguments.small}", list(range(1, arguments.small + 1)))]
    groups += [(f"random, to {arguments.longest}", random_lengths(arguments.random, arguments.longest))]
    for name in arguments.accelerators:
        view = amp.accelerator(name).default_view
        for title, lengths in groups:
            begin = time.perf_counter()
            found = [(*measured(view, n, peer), n) for n in lengths]
            failures += sum(ours > BOUNDS["complex64"] for ours, *_ in found)
            (worst, _, at), theirs = max(found), max((each[1] for each in found), default=0.0)
            mean, mean_of_theirs = (float(np.mean([each[k] for each in found])) for k in (0, 1))
            print(
                f"{name}: {title}: {len(found)} lengths, mean {mean:.2e} (scipy {mean_of_theirs:.2e}), largest "
                f"{worst:.2e} at {at} (scipy {theirs:.2e}), {time.perf_counter() - begin:.0f} s",
                flush=True,
            )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
