"""How much faster ``vkamp.dask`` is on several accelerators than on one: heat with halos, Monte Carlo, and a product.

    python -m tools.cluster                                                       # the machine's GPUs
    python -m tools.cluster --small --accelerators swiftshader@vulkan llvmpipe@vulkan

Each accelerator gets its own worker process (``vkamp.dask.LocalCluster``). Each program runs on all of them, then on
half of them, and so on to one (or on as many as ``--devices`` says), on the same blocks:

- heat in a plate of ``--plate`` rows and columns, in ``--strips`` of rows that exchange halos;
- the price of an option, by ``--paths`` simulated paths of ``--days`` days in ``--blocks`` blocks;
- a product of matrices by blocks: ``--rows`` rows in strips, times a square matrix that every worker has.

The data is made on the devices. Every point of the plate is compared with the exact solution, the price with Black and
Scholes' formula, and the product with products of a few vectors. Beside each time are the bytes that workers sent each
other, and for each worker its blocks and how long it had no task between its first and its last one.
"""

# vkamp infers the types of a kernel's parameters.
# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

import argparse
import contextlib
import gc
import itertools
import math
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, get_task_stream, wait

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
    """A step of heat; `plate` has a row more above and below. The plate's border keeps its temperature."""
    i, j = idx[0], idx[1]
    y = origin + i
    own = plate[i + 1, j]
    if y > 0 and y < size - 1 and j > 0 and j < size - 1:
        around = plate[i, j] + plate[i + 2, j] + plate[i + 1, j - 1] + plate[i + 1, j + 1]
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
    blocks: int
    days: int
    rows: int
    inner: int
    strips: int
    seconds: float
    timeout: float


@dataclass
class Found:
    """What a run of a program has shown: its seconds, the bytes between workers, and a line for each worker; ``extra``:
    how much longer the first run of a short problem took than the second, since it compiles and allocates."""

    seconds: float
    moved: int
    lines: list[str]
    extra: float = 0.0


def filled(kernel: Any, first: int, shape: tuple[int, ...], *arguments: Any) -> Any:
    """A task: a block that a kernel writes."""
    out = amp.array(amp.extent(shape), np.float32)
    amp.parallel_for_each(out.extent, kernel, first, *arguments, out)
    return vd.Block(out)


@dataclass(frozen=True)
class Owners:
    """Which worker has a strip, the first ones the first worker and so on; Dask calls it with the key of each task."""

    workers: tuple[str, ...]
    strips: int

    @classmethod
    def of(cls, client: Any, strips: int) -> Owners:
        return cls(tuple(sorted(client.scheduler_info(n_workers=-1)["workers"])), strips)

    def __call__(self, key: Any) -> list[str]:
        if isinstance(key, tuple) and len(key) > 1 and key[1] < self.strips:
            return [self.workers[key[1] * len(self.workers) // self.strips]]
        return list(self.workers)


def in_strips(client: Any, shape: tuple[int, int], strips: int, task: Callable[..., Any], *arguments: Any) -> da.Array:
    """An array in strips of rows on their owners."""
    owners = Owners.of(client, strips)
    step = shape[0] // strips
    parts = {}
    for k in range(strips):
        name = f"strip-{next(_SEEDS)}"
        parts[k] = client.submit(task, k * step, (step, shape[1]), *arguments, workers=owners((name, k)), key=name)
    name = f"strips-{next(_SEEDS)}"
    graph = {(name, k, 0): parts[k] for k in parts}
    return da.Array(graph, name, ((step,) * strips, (shape[1],)), np.float32, meta=np.empty((0, 0), np.float32))


def where_they_are(client: Any, found: da.Array, sizes: Sizes) -> da.Array:
    """Computes an array whose strips stay with their owners: to move a strip costs more than to wait for its worker.
    Waits until the devices have run everything, since tasks end when they have launched their work."""
    (ready,) = dask.optimize(found)
    with dask.annotate(workers=Owners.of(client, sizes.strips), priority=vd.earlier_exchanges_first(ready)):
        made = client.persist(ready, optimize_graph=False)
    wait(made, sizes.timeout)
    client.run(lambda: amp.accelerator().default_view.wait())
    return made


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
    """A task: as many steps of a strip as its halo has rows. Each one needs a row less around the strip."""
    source = amp.array_view(padded.container if isinstance(padded, vd.Block) else amp.array(np.asarray(padded)))
    rows, columns = block_info[None]["chunk-shape"]
    (top, _), _ = block_info[None]["array-location"]
    around = (source.extent[0] - rows) // 2
    buffers = [amp.array_view(amp.array(source.extent, np.float32)) for _ in range(2)]
    result = amp.array(amp.extent(rows, columns), np.float32)
    for number in range(around):
        left_over = around - 1 - number
        target = buffers[number % 2][: rows + 2 * left_over] if left_over else amp.array_view(result)
        amp.parallel_for_each(target.extent, step, source, int(top) - left_over, size, target)
        source = target
    return vd.Block(result)


def heat(client: Any, sizes: Sizes) -> Generator[None, None, None]:
    """Heat in a plate, again and again: stops before each run, and after it; then compares every point with the exact
    solution."""
    size = sizes.plate
    start = in_strips(client, (size, size), sizes.strips, first_temperatures, size).persist()
    wait(start, sizes.timeout)
    expected = [temperatures(size)] * 2
    while True:
        yield
        now = start
        for _ in range(sizes.steps // sizes.together):
            padded = vd.overlap(now, depth={0: sizes.together}, boundary=0.0)
            now = da.map_blocks(spread, padded, size, dtype=np.float32, chunks=start.chunks, meta=start._meta)
        now = where_they_are(client, now, sizes)
        yield
        factor = np.float32(shrinkage(size, sizes.steps))
        last = vd.map_blocks(deviation, now, vd.block_origin, *expected, factor, dtype=np.float32)
        worst = float(client.compute(vd.max(last)).result(sizes.timeout))
        if not worst < 5e-5:
            raise AssertionError(f"temperatures differ by {worst} from the exact solution")
        del now, padded, last


# -- Monte Carlo


def formula() -> float:
    """Black and Scholes' price of the option, without the discount."""
    d = (math.log(START / STRIKE) + INTEREST + VOLATILITY**2 / 2) / VOLATILITY
    below = [0.5 * math.erfc(-x / math.sqrt(2)) for x in (d, d - VOLATILITY)]
    return START * math.exp(INTEREST) * below[0] - STRIKE * below[1]


def simulation(client: Any, sizes: Sizes) -> Generator[None, None, None]:
    """The mean payoff of an option, in the same way; compares it with the formula."""
    drift, deviates = (INTEREST - VOLATILITY**2 / 2) / sizes.days, VOLATILITY / math.sqrt(sizes.days)
    chunks = ((sizes.paths // sizes.blocks,) * sizes.blocks,)
    while True:
        yield
        # Other numbers in each run: Dask would not compute the same ones again.
        arguments = vd.block_origin, next(_SEEDS), np.float32(drift), np.float32(deviates), sizes.days
        paid = vd.map_blocks(payoffs, *arguments, dtype=np.float32, chunks=chunks)
        # Results of several blocks are joined at the end alone: a task that reads one keeps its worker from launching.
        coming = client.compute([reduced(paid, split_every=sizes.blocks) for reduced in (vd.mean, vd.std)])
        mean, typical = (float(each.result(sizes.timeout)) for each in coming)
        yield
        error = abs(mean - formula()) / (typical / math.sqrt(sizes.paths))
        if not error < 6:
            raise AssertionError(f"the price deviates by {error:.1f} standard errors from the formula's")
        del coming, paid


# -- a product


def numbers(first: int, shape: tuple[int, int], seed: int) -> Any:
    return filled(digits, first, shape, seed)


def product(client: Any, sizes: Sizes) -> Generator[None, None, None]:
    """A product by blocks, in the same way; compares it with products of a few vectors."""
    left = in_strips(client, (sizes.rows, sizes.inner), sizes.strips, numbers, 1).persist()
    right = in_strips(client, (sizes.inner, sizes.inner), 1, numbers, 2).persist()
    few = in_strips(client, (sizes.inner, 8), 1, numbers, 3).persist()
    wait([left, right, few], sizes.timeout)
    client.replicate([*right.dask.values(), *few.dask.values()])
    expected = client.compute(vd.matmul(left, vd.matmul(right, few))).result(sizes.timeout)
    while True:
        yield
        found = where_they_are(client, vd.matmul(left, right), sizes)
        yield
        checked = client.compute(vd.matmul(found, few)).result(sizes.timeout)
        worst = float(np.abs(checked - expected).max() / np.abs(expected).max())
        if not worst < 1e-4:
            raise AssertionError(f"the product deviates by {worst} of its largest element")
        del found


#: The programs, and what the names of their tasks for blocks contain.
PROGRAMS = {
    "Monte Carlo": (simulation, "payoffs"),
    "blockwise product": (product, "product"),
    "heat with halos": (heat, "spread"),
}


def sent(client: Any) -> int:
    """The bytes that the workers have sent each other so far."""
    found = client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total)
    return sum(found.values())


def lines_of(client: Any, tasks: Sequence[Any], part: str, began: float, ended: float) -> list[str]:
    """What each worker did, from Dask's records of its tasks."""
    found = []
    for address, info in sorted(client.scheduler_info(n_workers=-1)["workers"].items()):
        own = [each for each in tasks if each["worker"] == address]
        steps = [step for each in own for step in each["startstops"]]
        spans = sorted((each["start"], each["stop"]) for each in steps if each["action"] == "compute")
        if not spans:
            found.append(f"    {info['name']}: no tasks")
            continue
        gaps, end = [0.0], spans[0][1]
        for start, stop in spans:
            gaps.append(max(0.0, start - end))
            end = max(end, stop)
        moving = sum(each["stop"] - each["start"] for each in steps if each["action"] == "transfer")
        blocks = sum(part in str(each["key"]) for each in own)
        found.append(
            f"    {info['name']}: {blocks} blocks, {len(own)} tasks of {sum(b - a for a, b in spans):.3f} s, begins at "
            f"{spans[0][0] - began:.3f}, ends {ended - end:.3f} before the end, {sum(gaps):.3f} between tasks (longest "
            f"{max(gaps):.3f}), transfers {moving:.3f}"
        )
    return found


def measured(client: Any, name: str, sizes: Sizes) -> Found:
    """The fastest of up to three runs, which take ``sizes.seconds`` together if they can; shorter ones before compile
    and allocate."""
    found: list[Found] = []
    program, part = PROGRAMS[name]
    short = replace(sizes, paths=sizes.paths // sizes.blocks * 8, blocks=8, steps=min(sizes.steps, 2 * sizes.together))
    first, second = _seconds_of_two(program(client, short))
    steps = program(client, sizes)
    next(steps)
    lasting = client.run_on_scheduler(_count_of_tasks)
    while not found or (len(found) < 3 and sum(each.seconds for each in found) < sizes.seconds):
        settled(client, lasting)
        before = sent(client)
        with get_task_stream(client) as tasks:
            at, began = time.time(), time.perf_counter()
            next(steps)
            seconds = time.perf_counter() - began
        moved = sent(client) - before
        next(steps)
        found.append(Found(seconds, moved, lines_of(client, tasks.data, part, at, at + seconds), first - second))
    del steps  # Its variables hold results.
    settled(client, 0)
    return min(found, key=lambda each: each.seconds)


def _seconds_of_two(steps: Generator[None, None, None]) -> tuple[float, float]:
    """Runs a program twice."""
    next(steps)
    times = []
    for _ in range(2):
        began = time.perf_counter()
        next(steps)
        times.append(time.perf_counter() - began)
        next(steps)
    return times[0], times[1]


def _count_of_tasks(dask_scheduler: Any) -> int:
    return sum(each.state != "released" for each in dask_scheduler.tasks.values())


def settled(client: Any, count: int) -> None:
    """Gives the scheduler some time to forget the results of earlier runs, until at most ``count`` are left."""
    gc.collect()
    end = time.monotonic() + 2
    while client.run_on_scheduler(_count_of_tasks) > count and time.monotonic() < end:
        time.sleep(0.01)


@contextlib.contextmanager
def started(names: Sequence[str]) -> Iterator[tuple[Any, Any]]:
    """A cluster of these accelerators, and its client."""
    began = time.perf_counter()
    with vd.LocalCluster(names, dashboard_address=None) as cluster, Client(cluster) as client:
        client.wait_for_workers(len(names), timeout=60)
        workers = ", ".join(map(str, cluster.workers))
        print(f"{len(names)} workers after {time.perf_counter() - began:.1f} s: {workers}", flush=True)
        yield cluster, client


def scaled(cluster: Any, client: Any, count: int) -> None:
    """Ends or starts workers until there are so many."""
    cluster.scale(count)
    _until(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == count, f"there are not {count} workers")


def _until(is_true: Callable[[], bool], problem: str) -> None:
    end = time.monotonic() + 60
    while not is_true():
        if time.monotonic() > end:
            raise TimeoutError(problem)
        time.sleep(0.05)


def _arguments() -> argparse.Namespace:
    """The command line, with the sizes for CPU drivers if it asks for them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accelerators", nargs="*", help="by default the machine's GPUs")
    parser.add_argument("--devices", type=int, nargs="*", help="how many; by default all, half of them, and so on to 1")
    parser.add_argument("--programs", nargs="*", default=["heat", "Monte", "product"], help="parts of their names")
    parser.add_argument("--small", action="store_true", help="sizes for CPU drivers")
    for name, value in {
        "plate": 49152,
        "steps": 896,
        "together": 128,
        "paths": 1 << 31,
        "days": 1536,
        "blocks": 128,
        "rows": 327680,
        "inner": 16384,
    }.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--strips", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=4.0, help="of the runs of a program")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds of one computation")
    given = parser.parse_args()
    if given.small:
        given.plate, given.steps, given.together = 512, 16, 8
        given.paths, given.days, given.blocks = 1 << 13, 512, 16
        given.rows, given.inner = 512, 256
    return given


def main() -> int:
    """Prints a table; 1 if a program failed."""
    given = _arguments()
    sizes = Sizes(**{name: getattr(given, name) for name in Sizes.__annotations__})
    names = given.accelerators or [
        each.device_path
        for each in amp.accelerator.get_all()
        if each.device_path.startswith("vulkan:") and not each.is_emulated
    ]
    chosen = [name for name in PROGRAMS if any(part in name for part in given.programs)]
    settings = {
        # Dask would move blocks of a worker that is a few milliseconds behind.
        "distributed.scheduler.work-stealing": False,
        # Dask would delete the copies of the product's right factor on all workers but one, and send them again.
        "distributed.scheduler.active-memory-manager.start": False,
    }
    counts = given.devices or [len(names) >> k for k in range(len(names).bit_length())]
    times: dict[str, dict[int, float]] = {name: {} for name in chosen}
    failed = False
    with dask.config.set(settings), started(names) as (cluster, client):
        for count in counts:
            scaled(cluster, client, count)
            for name in chosen:
                try:
                    found = measured(client, name, sizes)
                except Exception as error:  # the other programs still run, and the exit status says that one failed
                    print(f"{name} failed on {count}: {type(error).__name__}: {error}", flush=True)
                    failed = True
                    continue
                times[name][count] = found.seconds
                print(
                    f"{name:18} {count} devices {found.seconds:8.3f} s {found.moved / 1e6:10.1f} MB between workers; a "
                    f"first run compiles and allocates for {found.extra:.3f} s more"
                )
                print("\n".join(found.lines), flush=True)
    for name, each in times.items():
        if 1 in each:
            ratios = ", ".join(f"{each[1] / seconds:.2f} on {count}" for count, seconds in each.items())
            print(f"{name:18} as many times as fast as one device: {ratios}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
