"""Statistical tests of all streams and distributions: ``python -m tests.rng NAME...``, on the accelerators named.

``--words``: of each stream, in millions; ``--gib`` counts gibibytes of each stream on the device, by the tests of
:mod:`tests.rng.counting`, and leaves the distributions out; ``--numbers``: of each distribution; ``--only WORD`` keeps
what has the word in its name.
Prints what has a p-value below 1e-4, and the smallest of each stream and distribution.  Returns 1 if one is below
1e-8, which a good stream does not reach.  ``--raw NAME`` writes the words of a stream to stdout instead, for other
batteries:

    python -m tests.rng --raw Philox4x32 | dieharder -a -g 200
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import vkamp as amp
from tests.rng import battery, counting
from tests.rng.continuous import CONTINUOUS, distance
from vkamp import rng

#: Words of one test: what fits in the memory of a small machine.
_PIECE = 1 << 22
#: Words that are counted on a device at a time, unless it allocates less.
_LONG_PIECE = 1 << 26
_LEAST, _SUSPICIOUS = 1e-8, 1e-4


@amp.kernel
def streams_of_threads(idx, seed, first, words):
    """The first words of neighbouring streams."""
    s = rng.philox(seed, first + amp.uint32(idx[0]))
    w = s.next_uint4()
    words[idx[0], 0], words[idx[0], 1], words[idx[0], 2], words[idx[0], 3] = w.x, w.y, w.z, w.w


@amp.kernel
def neighbouring_keys(idx, first, words):
    """The words of one counter with neighbouring keys."""
    w = rng.philox4x32(amp.uint4(0, 0, 0, 0), amp.uint2(first + amp.uint32(idx[0]), 0))
    words[idx[0], 0], words[idx[0], 1], words[idx[0], 2], words[idx[0], 3] = w.x, w.y, w.z, w.w


@amp.kernel
def next_words(idx, generators, words):
    """The next words of each generator of a collection, in a column."""
    for k in range(words.extent[0]):
        words[k, idx[0]] = generators[idx].next_uint()


@amp.kernel
def put_column(idx, values, out, column):
    """Stores a column."""
    out[idx[0], column] = values[idx]


Pieces = Callable[[amp.accelerator_view, int], Iterator[Any]]


def _of_kernel(kernel: Any, *given: Any) -> Pieces:
    def pieces(view: amp.accelerator_view, size: int) -> Iterator[Any]:
        words = amp.array(amp.extent(size // 4, 4), amp.uint32, accelerator_view=view)
        for first in range(0, 1 << 32, size // 4):
            amp.parallel_for_each(view, amp.extent(size // 4), kernel, *given, np.uint32(first), words)
            yield words

    return pieces


def _of_generator(kind: Any) -> Pieces:
    def pieces(view: amp.accelerator_view, size: int) -> Iterator[Any]:
        generator = kind(20_261_124)
        while True:
            yield generator.random_raw(size * 4 // kind.word.itemsize, accelerator_view=view)

    return pieces


def _of_spawned(view: amp.accelerator_view, size: int) -> Iterator[Any]:
    """The words of sixteen spawned generators in turns."""
    children = rng.Philox4x32(7).spawn(16)
    words = amp.array(amp.extent(size // 16, 16), amp.uint32, accelerator_view=view)
    while True:
        for column, child in enumerate(children):
            raw = child.random_raw(size // 16, accelerator_view=view)
            amp.parallel_for_each(view, raw.extent, put_column, raw, words, column)
        yield words


def _of_tinymt(view: amp.accelerator_view, size: int) -> Iterator[Any]:
    """The words of many generators in turns."""
    count = min(1 << 20, size // 32)
    generators = rng.tinymt_collection(amp.extent(count), 3, accelerator_view=view)
    words = amp.array(amp.extent(size // count, count), amp.uint32, accelerator_view=view)
    while True:
        amp.parallel_for_each(view, amp.extent(count), next_words, generators, words)
        yield words


STREAMS: dict[str, Pieces] = {
    **{
        kind.__name__: _of_generator(kind)
        for kind in (rng.Philox4x32, rng.Philox4x64, rng.Threefry2x32, rng.Threefry4x32, rng.PCG32)
    },
    "spawned": _of_spawned,
    "streams-of-threads": _of_kernel(streams_of_threads, 5),
    "neighbouring-keys": _of_kernel(neighbouring_keys),
    "tinymt": _of_tinymt,
}


def words_of(name: str, view: amp.accelerator_view) -> Iterator[Any]:
    """The words of a stream, in pieces in the host's memory, which the next one uses again."""
    for piece in STREAMS[name](view, _PIECE):
        yield np.asarray(piece).reshape(-1).view(np.uint32)


def containers_of(name: str, view: amp.accelerator_view, size: int) -> Iterator[Any]:
    """The words of a stream, in pieces of ``size`` words on the device."""
    for piece in STREAMS[name](view, size):
        yield piece.reinterpret_as(amp.uint32) if piece.dtype != np.uint32 else piece.reshape(size)


def _tails(values: Any, limits: Any, beyond: Callable[[float], float]) -> Iterator[tuple[str, float]]:
    """How many numbers are beyond some limits, by Poisson's distribution for few and the normal one for many."""
    for limit in limits:
        expected, found = values.size * beyond(limit), int((np.abs(values) > limit).sum())
        if expected > 100:
            p = battery.of_normal((found - expected) / math.sqrt(expected))
        else:
            below = sum(math.exp(k * math.log(expected) - expected - math.lgamma(k + 1)) for k in range(found + 1))
            at = math.exp(found * math.log(expected) - expected - math.lgamma(found + 1))
            p = min(1.0, 2 * min(below, 1 - below + at))
        yield f"beyond {limit}", p


def _moments(values: Any, mean: float, variance: float) -> Iterator[tuple[str, float]]:
    """The mean, and the variance by the spread that the numbers themselves have."""
    z = values - mean
    yield "mean", battery.of_normal(float(z.mean()) / math.sqrt(variance / z.size))
    squares = z * z
    yield "variance", battery.of_normal((float(squares.mean()) - variance) / float(squares.std() / math.sqrt(z.size)))


def distributions(view: amp.accelerator_view, n: int) -> Iterator[tuple[str, str, float]]:
    """The p-values of the distributions, of ``n`` numbers each."""
    generator = rng.Generator(rng.Philox4x32(99), view)
    for name, (draw, distribution, mean, variance) in CONTINUOUS.items():
        values = np.asarray(draw(generator, n), np.float64)
        yield name, "distance", battery.of_distance(float(distance(values, distribution)), n)
        for test, p in _moments(values, mean, variance):
            yield name, test, p
    values = np.asarray(generator.standard_normal(8 * n), np.float64)
    for test, p in _tails(values, (2, 3, 4, 4.5, 5), lambda x: math.erfc(x / math.sqrt(2))):
        yield "normal", test, p
    for power, expected, spread in ((3, 0.0, 15.0), (4, 3.0, 96.0)):
        z = (float((values**power).mean()) - expected) / math.sqrt(spread / values.size)
        yield "normal", f"moment {power}", battery.of_normal(z)
    values = np.asarray(generator.standard_exponential(8 * n), np.float64)
    for test, p in _tails(values, (3, 6, 9, 12, 15), lambda x: math.exp(-x)):
        yield "exponential", test, p
    for high in (2, 6, 1000, 3 << 29, (1 << 31) - 1):
        found = np.asarray(generator.integers(high, size=n)).astype(np.int64)
        bins = min(high, 1000)
        edges = -(-np.arange(bins + 1, dtype=np.int64) * high // bins)
        counts = np.bincount(found * bins // high, minlength=bins)
        yield f"integers below {high}", "counts", battery.counts_as(counts, np.diff(edges) / high)
    for mean in (0.5, 9.0, 31.5, 400.0):
        found = np.asarray(generator.poisson(mean, size=n)).astype(np.int64)
        top = int(mean + 12 * math.sqrt(mean) + 12)
        p = np.array([math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(top)])
        yield (
            f"poisson of {mean}",
            "counts",
            battery.counts_as(np.bincount(np.minimum(found, top - 1), minlength=top), p),
        )


def _report(where: str, name: str, found: dict[str, float], started: float) -> float:
    for test, p in found.items():
        if p < _SUSPICIOUS:
            print(f"{where}: {name}: {test}: p = {p:.2g}", flush=True)
    least = min(found, key=found.__getitem__)
    seconds = time.perf_counter() - started
    print(f"{where}: {name}: {len(found)} tests, least p {found[least]:.2g} ({least}), {seconds:.0f} s", flush=True)
    return found[least]


def _write_raw(name: str, view: amp.accelerator_view) -> int:
    try:
        for words in words_of(name, view):
            sys.stdout.buffer.write(words.tobytes())
    except BrokenPipeError:
        # The reader has had enough; Python would flush again at the end.
        sys.stdout = None  # type: ignore[assignment]
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.rng", description=__doc__)
    parser.add_argument("accelerators", nargs="*", default=["llvmpipe@vulkan"])
    parser.add_argument("--words", type=int, default=64, help="millions of words of each stream (default: %(default)s)")
    parser.add_argument(
        "--numbers", type=int, default=_PIECE, help="of each distribution, few on the reference accelerator"
    )
    parser.add_argument("--only", default="")
    parser.add_argument("--gib", type=float, help="of each stream, counted on the device instead")
    parser.add_argument("--raw", choices=STREAMS)
    options = parser.parse_args()
    if options.raw:
        return _write_raw(options.raw, amp.accelerator(options.accelerators[0]).default_view)
    least = 1.0
    for where in options.accelerators:
        view = amp.accelerator(where).default_view
        for name in [each for each in STREAMS if options.only in each]:
            found, started = {}, time.perf_counter()
            if options.gib is not None:
                size = min(_LONG_PIECE, 1 << (view.accelerator.limits.buffer_bytes // 4).bit_length() - 1)
                pieces = containers_of(name, view, size)
                counts = counting.counted(view, pieces, int(options.gib * (1 << 28)))
                least = min(least, _report(where, f"{name}, {counts.words >> 18} MiB", counts.p_values(), started))
                continue
            pieces = words_of(name, view)
            for piece in range(max(1, options.words * 1_000_000 // _PIECE)):
                found |= {f"{test}, piece {piece}": p for test, p in battery.p_values(next(pieces)).items()}
            least = min(least, _report(where, name, found, started))
        if options.gib is not None:
            continue
        started, by_name = time.perf_counter(), {}
        if options.only in "distributions":
            for name, test, p in distributions(view, options.numbers):
                by_name[f"{name}, {test}"] = p
            least = min(least, _report(where, "distributions", by_name, started))
    return 1 if least < _LEAST else 0


if __name__ == "__main__":
    sys.exit(main())
