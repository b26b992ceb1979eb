"""Errors of all lengths: ``python -m tests.fft NAME...``, on the accelerators named.

Transforms every length from 1 to 4096, forward and inverse, and ``--random`` lengths up to ``--longest``.  Prints the
largest errors against numpy's transform in double precision, in the L2 norm, relative to the result's norm, beside
those of a peer in single precision: pocketfft by scipy or numpy 2, or cuFFT by PyTorch (``--peer torch``); and how many
lengths have more than 1.5 times the peer's error.  ``--part 3/8`` takes each eighth length, from the third on.
``--jobs N`` measures by N processes.  ``--record FILE`` stores each length's errors when they are known; lengths that
the file has are not measured again.  ``--seconds S`` begins no length later than that, and tells how many remain.
Returns 1 if an error is above the tests' bound.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from pathlib import Path

import numpy as np

from tests.fft.compare import BOUNDS
from tests.fft.errors import Errors, all_measured, peer_of

#: Short lengths that a process measures at a time.
_TOGETHER = 8


def random_lengths(count: int, longest: int) -> list[int]:
    """Lengths whose logarithms are uniform."""
    r = np.random.default_rng(7)
    return sorted(int(2**x) for x in r.uniform(12, np.log2(longest), count))


def _batches(lengths: list[int]) -> Iterator[list[int]]:
    """Long lengths one by one, short ones together."""
    short: list[int] = []
    for n in lengths:
        if n > 4096:
            yield [n]
            continue
        short.append(n)
        if len(short) == _TOGETHER:
            yield short
            short = []
    if short:
        yield short


def _found(name: str, peer: str, lengths: list[int], jobs: int, ends: float) -> Iterator[list[Errors]]:
    """The errors of lengths, in the order in which they become known, until the time is over."""
    batches = _batches(lengths)
    if jobs == 1:
        for batch in batches:
            if time.monotonic() > ends:
                return
            yield all_measured(name, peer, batch)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        yield from _by(pool, jobs, lambda batch: pool.submit(all_measured, name, peer, batch), batches, ends)


def _by(
    pool: Executor, jobs: int, submit: Callable[[list[int]], Future[list[Errors]]], batches: Iterator[list[int]],
    ends: float,
) -> Iterator[list[Errors]]:  # fmt: skip
    """Each process has one batch, and another one waits for it."""
    at_work: set[Future[list[Errors]]] = set()
    while True:
        while len(at_work) < 2 * jobs and time.monotonic() < ends and (batch := next(batches, None)) is not None:
            at_work.add(submit(batch))
        if not at_work:
            return
        done, at_work = wait(at_work, return_when=FIRST_COMPLETED)
        for each in done:
            yield each.result()


def _recorded(path: Path | None, name: str, peer: str) -> dict[int, Errors]:
    """What a file has for an accelerator and a peer."""
    lines = path.read_text(encoding="utf-8").splitlines() if path is not None and path.exists() else []
    rows = [row for row in map(json.loads, lines) if row["accelerator"] == name and row["peer"] == peer]
    return {row["length"]: Errors(row["length"], row["ours"], row["peers"]) for row in rows}


def _measure(name: str, lengths: list[int], options: argparse.Namespace, ends: float) -> list[Errors]:
    """The errors of lengths on an accelerator, as far as the file has them or time suffices."""
    known = _recorded(options.record, name, options.peer)
    missing = [n for n in lengths if n not in known]
    # Long ones first: at the end no process waits for one.
    missing.sort(key=lambda n: -n if n > 4096 else 0)
    for batch in _found(name, options.peer, missing, options.jobs, ends):
        known |= {each.length: each for each in batch}
        if options.record is not None:
            with options.record.open("a", encoding="utf-8") as file:
                for each in batch:
                    file.write(json.dumps({"accelerator": name, "peer": options.peer, **each._asdict()}) + "\n")
    return [known[n] for n in lengths if n in known]


def _report(where: str, found: list[Errors], missing: int, peer: str, seconds: float) -> None:
    worst, most = max(found, key=lambda each: each.ours), max(found, key=lambda each: each.ratio)
    means = np.mean([(each.ours, each.peers) for each in found], axis=0)
    more = [each for each in found if each.ratio > 1.5]
    print(
        f"{where}: {len(found)} lengths, mean {means[0]:.2e} ({peer} {means[1]:.2e}), largest "
        f"{worst.ours:.2e} at {worst.length} ({worst.peers:.2e}); {len(more)} more than 1.5 times {peer}'s, at most "
        f"{most.ratio:.2f} times at {most.length}; {seconds:.0f} s" + (f"; {missing} remain" if missing else ""),
        flush=True,
    )
    for each in sorted(more, key=lambda each: -each.ratio)[:20]:
        print(f"  {each.length}: {each.ours:.2e}, {each.ratio:.2f} times {each.peers:.2e}")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fft", description=__doc__)
    parser.add_argument("accelerators", nargs="*", default=["llvmpipe@vulkan", "swiftshader@vulkan"])
    parser.add_argument("--small", type=int, default=4096)
    parser.add_argument("--random", type=int, default=200)
    parser.add_argument("--longest", type=int, default=1 << 20)
    parser.add_argument("--peer", choices=("scipy", "numpy", "torch"), default="scipy")
    parser.add_argument("--part", default="1/1", help="which lengths: the first of N parts is 1/N")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--record", type=Path, metavar="FILE")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    return parser.parse_args()


def main() -> int:
    options = _parse()
    part, parts = map(int, options.part.split("/"))
    peer, failures, begin = peer_of(options.peer).name, 0, time.monotonic()
    groups = {
        f"random, to {options.longest}": random_lengths(options.random, options.longest),
        f"1 to {options.small}": list(range(1, options.small + 1)),
    }
    for name in options.accelerators:
        for title, of_group in groups.items():
            started, lengths = time.monotonic(), of_group[part - 1 :: parts]
            found = _measure(name, lengths, options, begin + options.seconds)
            if found:
                missing = len(lengths) - len(found)
                _report(f"{name}: {title}", found, missing, peer, time.monotonic() - started)
            failures += sum(each.ours > BOUNDS["complex64"] for each in found)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
