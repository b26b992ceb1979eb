"""How much faster ``vkamp.dask`` is on several accelerators than on one: heat with halos, Monte Carlo, and a product.

    python -m tools.cluster                                                       # the machine's GPUs
    python -m tools.cluster --small --accelerators swiftshader@vulkan llvmpipe@vulkan

Each accelerator gets its own worker process (``vkamp.dask.LocalCluster``). Each program runs with one worker, and then
with one for each accelerator, on the same blocks:

- heat in a plate of ``--plate`` rows and columns, in strips of rows that exchange halos;
- the price of an option, by ``--paths`` simulated paths of ``--days`` days in 64 blocks;
- a product of matrices by blocks: ``--rows`` rows in strips, times a square matrix that every worker has.

The data is made on the devices. Every point of the plate is compared with the exact solution, the price with Black and
Scholes' formula, and the product with products of a few vectors. The last column says what workers sent each other
during the fastest run.
"""

# vkamp infers the types of a kernel's parameters.
# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

import argparse
import contextlib
import itertools
import math
import sys
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, wait

import vkamp as amp
import vkamp.dask as vd
from vkamp import rng

RATE = 0.2
#: Wavelength of the plate's temperatures, in points.
WAVE = 100
#: The option: the share's price today, the price that it names, and what a year brings.
START, STRIKE, INTEREST, VOLATILITY = 100.0, 105.0, 0.03, 0.2
_SEEDS = itertools.count(2024)


@amp.kernel
def step(idx, plate, origin, size, out):
    """A step of heat; `plate` has a point more on each side. The plate's border keeps its temperature."""
    i, j = idx[0], idx[1]
    y, x = origin[0] + i, origin[1] + j
    own = plate[i + 1, j + 1]
    if y > 0 and y < size - 1 and x > 0 and x < size - 1:
        around = plate[i, j + 1] + plate[i + 2, j + 1] + plate[i + 1, j] + plate[i + 1, j + 2]
        own += RATE * (around - 4.0 * own)
    out[idx] = own


@amp.kernel
def payoffs(idx, origin, seed, drift, deviates, days, out):
    """What an option is worth at the end of each path."""
    numbers = rng.philox(seed, origin[0] + idx[0])
    total = 0.0
    for _ in range(days // 2):
        pair = numbers.next_normal2()
        total += 2.0 * drift + deviates * (pair.x + pair.y)
    out[idx] = max(START * amp.fast_math.exp(total) - STRIKE, 0.0)


@amp.kernel
def waves(idx, origin, down, across, out):
    out[idx] = down[origin[0] + idx[0]] * across[idx[1]]


@amp.kernel
def deviation(idx, found, origin, down, across, factor, out):
    out[idx] = abs(found[idx] - factor * down[origin[0] + idx[0]] * across[idx[1]])


@amp.kernel
def digits(idx, origin, seed, out):
    """Numbers from -1 to 1 of which products are exact enough to compare."""
    row, column = amp.uint32(origin + idx[0]), amp.uint32(idx[1])
    x = row * amp.uint32(2654435761) + column * amp.uint32(40503) + amp.uint32(seed)
    x = (x ^ (x >> 15)) * amp.uint32(2246822519)
    out[idx] = amp.float32((x >> 13) & 255) / 128.0 - 1.0


@dataclass(frozen=True)
class Sizes:
    """The sizes of the three programs; ``together``: steps between two exchanges of halos."""

    plate: int
    steps: int
    together: int
    paths: int
    days: int
    rows: int
    inner: int
    strips: int
    runs: int
    timeout: float


@dataclass
class Found:
    """What a run of a program has shown: its seconds, and bytes between workers."""

    seconds: float
    moved: int


def filled(kernel: Any, first: int, shape: tuple[int, ...], *arguments: Any) -> Any:
    """A task: a block that a kernel writes."""
    out = amp.array(amp.extent(shape), np.float32)
    amp.parallel_for_each(out.extent, kernel, first, *arguments, out)
    return vd.Block(out)


def in_strips(client: Any, shape: tuple[int, int], strips: int, task: Callable[..., Any], *arguments: Any) -> da.Array:
    """An array in strips of rows, the first ones on the first worker, and so on."""
    workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
    step = shape[0] // strips
    parts = []
    for k in range(strips):
        place = [workers[k * len(workers) // strips]]
        part = client.submit(task, k * step, (step, shape[1]), *arguments, workers=place, pure=False)
        parts.append(da.from_delayed(part, (step, shape[1]), np.float32, meta=np.empty((0, 0), np.float32)))
    return da.concatenate(parts)


# -- heat


def temperatures(size: int) -> Any:
    """A wave between the borders, which are zero: steps of the difference equation make it smaller, but not another."""
    half_waves = 2 * max(1, size // WAVE)
    return np.sin(np.pi * half_waves * np.arange(size) / (size - 1)).astype(np.float32)


def shrinkage(size: int, steps: int) -> float:
    """The factor of the wave after so many steps, by the exact solution of the difference equation."""
    half_waves = 2 * max(1, size // WAVE)
    return float((1 - RATE * 4 * (1 - math.cos(math.pi * half_waves / (size - 1)))) ** steps)


def first_temperatures(first: int, shape: tuple[int, int], size: int) -> Any:
    wave = amp.array(temperatures(size))
    out = amp.array(amp.extent(shape), np.float32)
    amp.parallel_for_each(out.extent, waves, amp.index(first, 0), wave, wave, out)
    return vd.Block(out)


def spread(padded: Any, size: int, block_info: Any) -> Any:
    """A task: as many steps of a strip as its halo has points. Each one needs a point less around the strip."""
    source = amp.array_view(padded.container if isinstance(padded, vd.Block) else amp.array(np.asarray(padded)))
    rows, columns = block_info[None]["chunk-shape"]
    (top, _), (left, _) = block_info[None]["array-location"]
    around = (source.extent[0] - rows) // 2
    buffers = [amp.array_view(amp.array(source.extent, np.float32)) for _ in range(2)]
    result = amp.array(amp.extent(rows, columns), np.float32)
    for number in range(around):
        left_over = around - 1 - number
        target = amp.array_view(result)
        if left_over:
            target = buffers[number % 2][: rows + 2 * left_over, : columns + 2 * left_over]
        amp.parallel_for_each(target.extent, step, source, amp.index(top - left_over, left - left_over), size, target)
        source = target
    return vd.Block(result)


def heat(client: Any, sizes: Sizes) -> Generator[None, None, None]:
    """Heat in a plate; every point is compared with the exact solution."""
    size = sizes.plate
    start = in_strips(client, (size, size), sizes.strips, first_temperatures, size).persist()
    wait(start, sizes.timeout)
    yield
    now = start
    for _ in range(sizes.steps // sizes.together):
        padded = da.overlap.overlap(now, sizes.together, 0.0)
        now = da.map_blocks(spread, padded, size, dtype=np.float32, chunks=start.chunks, meta=start._meta)
    last = vd.map_blocks(
        deviation,
        now,
        vd.block_origin,
        *[temperatures(size)] * 2,
        np.float32(shrinkage(size, sizes.steps)),
        dtype=np.float32,
    )
    worst = float(client.compute(vd.max(last)).result(sizes.timeout))
    if not worst < 5e-5:
        raise AssertionError(f"temperatures differ by {worst} from the exact solution")
    yield


# -- Monte Carlo


def formula() -> float:
    """Black and Scholes' price of the option, without the discount."""
    d = (math.log(START / STRIKE) + INTEREST + VOLATILITY**2 / 2) / VOLATILITY
    below = [0.5 * math.erfc(-x / math.sqrt(2)) for x in (d, d - VOLATILITY)]
    return START * math.exp(INTEREST) * below[0] - STRIKE * below[1]


def simulation(client: Any, sizes: Sizes) -> Generator[None, None, None]:
    """The mean payoff of an option; compared with the formula."""
    drift, deviates = (INTEREST - VOLATILITY**2 / 2) / sizes.days, VOLATILITY / math.sqrt(sizes.days)
    yield
    # Other numbers in each run: Dask would not compute the same ones again.
    arguments = vd.block_origin, next(_SEEDS), np.float32(drift), np.float32(deviates), sizes.days
    paid = vd.map_blocks(payoffs, *arguments, dtype=np.float32, chunks=((sizes.paths // 64,) * 64,))
    mean, std = client.compute([vd.mean(paid), vd.std(paid)])
    mean, typical = float(mean.result(sizes.timeout)), float(std.result(sizes.timeout))
    error = abs(mean - formula()) / (typical / math.sqrt(sizes.paths))
    if not error < 6:
        raise AssertionError(f"the price deviates by {error:.1f} standard errors from the formula's")
    yield


# -- a product


def numbers(first: int, shape: tuple[int, int], seed: int) -> Any:
    return filled(digits, first, shape, seed)


def product(client: Any, sizes: Sizes) -> Generator[None, None, None]:
    """A product by blocks; compared with products of a few vectors."""
    left = in_strips(client, (sizes.rows, sizes.inner), sizes.strips, numbers, 1).persist()
    right = in_strips(client, (sizes.inner, sizes.inner), 1, numbers, 2).persist()
    few = in_strips(client, (sizes.inner, 8), 1, numbers, 3).persist()
    wait([left, right, few], sizes.timeout)
    client.replicate([*right.dask.values(), *few.dask.values()])
    expected = client.compute(vd.matmul(left, vd.matmul(right, few))).result(sizes.timeout)
    yield
    found = vd.matmul(left, right).persist()
    wait(found, sizes.timeout)
    checked = client.compute(vd.matmul(found, few)).result(sizes.timeout)
    worst = float(np.abs(checked - expected).max() / np.abs(expected).max())
    if not worst < 1e-4:
        raise AssertionError(f"the product deviates by {worst} of its largest element")
    yield


PROGRAMS = {"Monte Carlo": simulation, "blockwise product": product, "heat with halos": heat}


def sent(client: Any) -> int:
    """The bytes that the workers have sent each other so far."""
    found = client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total)
    return sum(found.values())


def measured(client: Any, name: str, sizes: Sizes) -> Found:
    """The fastest of several runs; the first one, which compiles, is left out."""
    found = []
    for number in range(sizes.runs + 1):
        steps = PROGRAMS[name](client, sizes)
        next(steps)
        before, started = sent(client), time.perf_counter()
        next(steps)
        seconds = time.perf_counter() - started
        moved = sent(client) - before
        steps.close()
        print(f"  {name}: {seconds:.3f} s" + (", with compilation" if number == 0 else ""), flush=True)
        if number:
            found.append(Found(seconds, moved))
    return min(found, key=lambda each: each.seconds)


def started(names: Sequence[str], stack: contextlib.ExitStack) -> Any:
    """The client of a cluster of these accelerators."""
    began = time.perf_counter()
    cluster = stack.enter_context(vd.LocalCluster(names, dashboard_address=None))
    client = stack.enter_context(Client(cluster))
    client.wait_for_workers(len(names), timeout=60)
    workers = ", ".join(map(str, cluster.workers))
    print(f"{len(names)} workers after {time.perf_counter() - began:.1f} s: {workers}", flush=True)
    return client


def compared(name: str, clients: Sequence[Any], sizes: Sizes) -> bool:
    """Runs a program on each of two clusters; False if it fails."""
    found = []
    for client in clients:
        try:
            with client.as_current():
                found.append(measured(client, name, sizes))
        except Exception as error:  # the other programs still run, and the exit status says that one failed
            print(f"  {name} failed: {type(error).__name__}: {error}", flush=True)
            return False
    one, several = found
    times = f"{one.seconds:8.3f} s {several.seconds:8.3f} s {one.seconds / several.seconds:9.2f}"
    print(f"{name:20} {times} {several.moved / 1e6:13.1f} MB", flush=True)
    return True


def main() -> int:
    """Prints a table; 1 if a program failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accelerators", nargs="*", help="by default the machine's GPUs")
    parser.add_argument("--programs", nargs="*", default=["heat", "Monte", "product"], help="parts of their names")
    parser.add_argument("--small", action="store_true", help="sizes for CPU drivers")
    for name, value in {
        "plate": 32768,
        "steps": 384,
        "together": 64,
        "paths": 1 << 31,
        "days": 2048,
        "rows": 262144,
        "inner": 16384,
    }.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--strips", type=int, default=8)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds of one computation")
    given = parser.parse_args()
    if given.small:
        given.plate, given.steps, given.together = 512, 16, 8
        given.paths, given.days = 1 << 13, 512
        given.rows, given.inner = 512, 256
    sizes = Sizes(**{name: getattr(given, name) for name in Sizes.__annotations__})
    names = given.accelerators or [
        each.device_path
        for each in amp.accelerator.get_all()
        if each.device_path.startswith("vulkan:") and not each.is_emulated
    ]
    chosen = [name for name in PROGRAMS if any(part in name for part in given.programs)]
    settings = {
        # Strips stay where they are: moving them costs more than waiting for their worker.
        "distributed.scheduler.work-stealing": False,
        # Dask would delete the copies of the product's right factor on all workers but one, and send them again.
        "distributed.scheduler.active-memory-manager.start": False,
    }
    with dask.config.set(settings), contextlib.ExitStack() as stack:
        clients = [started(names[:1], stack), started(names, stack)]
        print(f"{'program':20} {'1 device':>10} {f'{len(names)} devices':>10} {'speed-up':>9} {'between workers':>16}")
        is_right = [compared(name, clients, sizes) for name in chosen]
    return int(not all(is_right))


if __name__ == "__main__":
    sys.exit(main())
