"""Errors of all lengths: ``python -m tests.fft NAME...``, on the accelerators named.

Transforms every length from 1 to 4096, forward and inverse, and ``--random`` lengths up to ``--longest``.  Prints the
largest errors against numpy's transform in double precision, in the L2 norm, relative to the result's norm, beside
those of a peer in single precision: pocketfft by scipy or numpy 2, or cuFFT by PyTorch (``--peer torch``); and how many
lengths have more than 1.5 times the peer's error.  ``--part 3/8`` takes each eighth length, from the third on.
Returns 1 if an error is above the tests' bound.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import vkamp as amp
from tests.fft.compare import BOUNDS, error, numbers, wide
from vkamp import fft


class Peer(NamedTuple):
    """Transforms of complex64 in single precision, and whose they are."""

    name: str
    fft: Callable[[Any], Any]
    ifft: Callable[[Any], Any]


def peer_of(name: str) -> Peer:
    """The peer; ImportError if it is not installed, TypeError if it computes in double precision."""
    if name == "torch":
        torch = importlib.import_module("torch")

        def on_device(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
            return lambda x: f(torch.from_numpy(x).cuda()).cpu().numpy()

        return Peer("cuFFT", on_device(torch.fft.fft), on_device(torch.fft.ifft))
    module = importlib.import_module(f"{name}.fft")
    if module.fft(np.ones(2, np.complex64)).dtype != np.complex64:
        raise TypeError(f"{name} {importlib.import_module(name).__version__} transforms complex64 in double precision")
    return Peer("pocketfft", module.fft, module.ifft)


def random_lengths(count: int, longest: int) -> list[int]:
    """Lengths whose logarithms are uniform."""
    r = np.random.default_rng(7)
    return sorted(int(2**x) for x in r.uniform(12, np.log2(longest), count))


def measured(view: amp.accelerator_view, n: int, peer: Peer) -> tuple[float, float]:
    """Our larger error for a length, and the peer's."""
    x = numbers(n) if n > 4096 else numbers(2, n)
    expected = np.fft.fft(wide(x))
    ours = error(fft.fft(x, accelerator_view=view), expected)
    narrow = expected.astype(np.complex64)
    back = error(fft.ifft(narrow, accelerator_view=view), wide(x))
    return max(ours, back), max(error(peer.fft(x), expected), error(peer.ifft(narrow), wide(x)))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fft", description=__doc__)
    parser.add_argument("accelerators", nargs="*", default=["llvmpipe@vulkan", "swiftshader@vulkan"])
    parser.add_argument("--small", type=int, default=4096)
    parser.add_argument("--random", type=int, default=200)
    parser.add_argument("--longest", type=int, default=1 << 20)
    parser.add_argument("--peer", choices=("scipy", "numpy", "torch"), default="scipy")
    parser.add_argument("--part", default="1/1", help="which lengths: the first of N parts is 1/N")
    arguments = parser.parse_args()
    part, parts = map(int, arguments.part.split("/"))
    peer, failures = peer_of(arguments.peer), 0
    groups = [(f"1 to {arguments.small}", list(range(1, arguments.small + 1)))]
    groups += [(f"random, to {arguments.longest}", random_lengths(arguments.random, arguments.longest))]
    for name in arguments.accelerators:
        view = amp.accelerator(name).default_view
        for title, lengths in groups:
            begin = time.perf_counter()
            found = [(*measured(view, n, peer), n) for n in lengths[part - 1 :: parts]]
            if not found:
                continue
            failures += sum(ours > BOUNDS["complex64"] for ours, *_ in found)
            (worst, theirs, at), (mean, mean_of_theirs, _) = max(found), np.mean(found, axis=0)
            # Lengths 1 and 2 are exact.
            ratio, at_ratio = max(((each[0] / each[1], each[2]) for each in found if each[1] > 0), default=(0.0, 0))
            more = sum(ours > 1.5 * peers for ours, peers, _ in found)
            print(
                f"{name}: {title}: {len(found)} lengths, mean {mean:.2e} ({peer.name} {mean_of_theirs:.2e}), largest "
                f"{worst:.2e} at {at} ({theirs:.2e}); {more} more than 1.5 times {peer.name}'s, at most {ratio:.2f} "
                f"times at {at_ratio}; {time.perf_counter() - begin:.0f} s",
                flush=True,
            )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
