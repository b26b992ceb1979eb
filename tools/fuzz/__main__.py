"""The command: ``python -m tools.fuzz --count N --seed S``."""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import os
import queue
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from tools.fuzz import grammar, keep
from tools.fuzz.changes import reduced
from tools.fuzz.run import Failure
from tools.fuzz.shrink import shrink
from tools.fuzz.tree import Mutant, Program, source_of
from tools.fuzz.worker import made
from tools.fuzz.workers import Worker

__all__ = ["main"]

#: Programs whose shaders are compiled together.
BATCH = 24
#: Both oracles, and each driver, engine and lowering: each kernel on three of those, the next on three others.
DEFAULT = (
    "reference,python,"
    "swiftshader+loops|swiftshader@vulkan+loops,"
    "llvmpipe+threads|llvmpipe@vulkan+threads,"
    "swiftshader@vulkan+threads|llvmpipe@vulkan+loops|swiftshader+threads|llvmpipe+loops"
)
#: Failures of one kind that are shrunk; the others are counted.
_SHRUNK = 2


def _arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="kernels to run (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="the first kernel's seed; the others' follow it")
    parser.add_argument("--one", type=int, metavar="SEED", help="run and show one kernel")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes (default: %(default)s)")
    parser.add_argument(
        "--accelerators",
        default=DEFAULT,
        help="where to run; the first one's results are what the others must give; of names joined by | each kernel "
        "takes the next (default: %(default)s)",
    )
    parser.add_argument(
        "--lowerings",
        default="",
        metavar="A,B",
        help="run each kernel in these forms on every device: threads, loops, auto (default: as VKAMP_LOWERING says)",
    )
    parser.add_argument("--shrink", action=argparse.BooleanOptionalAction, default=True, help="make failures smaller")
    parser.add_argument("--shrink-seconds", type=float, default=120.0, help="time for each (default: %(default)s)")
    parser.add_argument("--mutate", action="store_true", help="run random changes of kernels that people wrote")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write each failure's report and test there")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a kernel on a device")
    parser.add_argument(
        "--coverage",
        action="store_true",
        help="run nothing: count the pairs of constructs and contexts that the kernels have; 1 if some are missing",
    )
    parser.add_argument(
        "--until-all", action="store_true", help="count no further, with --coverage, once no pair is missing"
    )
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> int:
    """Runs the command; 1 if kernels disagreed, 130 after Ctrl-C."""
    options = _arguments(given)
    if options.coverage:
        return _coverage(options)
    with contextlib.ExitStack() as stack:
        if "VKAMP_CACHE_DIR" not in os.environ:
            os.environ["VKAMP_CACHE_DIR"] = stack.enter_context(tempfile.TemporaryDirectory(prefix="vkamp-fuzz-"))
        return _Campaign(options).run()


def _coverage(options: argparse.Namespace) -> int:
    """Prints the pairs of the kernels; 1 if some that are claimed are missing."""
    first, last = options.seed, options.seed + options.count
    parts = [range(n, min(n + 100, last)) for n in range(first, last, 100)]
    claimed, count = grammar.claimed(), 0
    found: Counter[str] = Counter()
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for part, each in zip(parts, pool.map(grammar.pairs_of_seeds, parts), strict=True):
            found.update(each)
            count += len(part)
            if options.until_all and all(found[row] for row in claimed):
                pool.shutdown(cancel_futures=True)
                break
    print(grammar.report(found, count))
    return int(any(not found[row] for row in claimed))


def _forms(accelerators: list[str], lowerings: list[str]) -> list[str]:
    """Each device once for each lowering; the oracles run kernels as they were written."""
    forms: list[str] = []
    for name in accelerators:
        forms += [f"{name}+{form}" for form in lowerings if name not in ("reference", "python")] or [name]
    return forms


class _Campaign:
    """A run over many seeds."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.accelerators = _forms(options.accelerators.split(","), [x for x in options.lowerings.split(",") if x])
        self.outcomes: Counter[str] = Counter()
        self.failures: list[tuple[int, Failure]] = []
        self.kinds: Counter[tuple[str, str, str]] = Counter()
        self.spent: Counter[str] = Counter()
        self.done = 0
        self.reported = time.monotonic()
        self.lock = threading.Lock()

    def run(self) -> int:
        seeds = [self.options.one] if self.options.one is not None else self._seeds()
        if self.options.one is not None:
            print(source_of(self._program(self.options.one)))
        start, status = time.monotonic(), 0
        batches: queue.SimpleQueue[list[int]] = queue.SimpleQueue()
        for n in range(0, len(seeds), BATCH):
            batches.put(seeds[n : n + BATCH])
        workers = [
            Worker(self.accelerators, self.options.limit, number)
            for number in range(max(1, min(self.options.jobs, (len(seeds) + BATCH - 1) // BATCH)))
        ]
        threads = [threading.Thread(target=self._serve, args=(w, batches), daemon=True) for w in workers]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.2)
            for seed, failure in self._chosen():
                self._show(seed, failure)
        except KeyboardInterrupt:
            status = 130
        finally:
            for worker in workers:
                worker.close()
        self._summary(time.monotonic() - start, len(seeds))
        return status or bool(self.failures)

    def _program(self, seed: int) -> Program:
        """The kernel of a seed."""
        return made(self._item(seed))

    def _item(self, seed: int) -> int:
        return Mutant(seed) if self.options.mutate else seed

    def _seeds(self) -> list[int]:
        return list(range(self.options.seed, self.options.seed + self.options.count))

    def _serve(self, worker: Worker, batches: queue.SimpleQueue[list[int]]) -> None:
        while True:
            try:
                seeds = batches.get_nowait()
            except queue.Empty:
                break
            found = worker.run([self._item(n) for n in seeds])
            with self.lock:
                self.done += len(seeds)
                if time.monotonic() > self.reported + 60:
                    self.reported = time.monotonic()
                    print(f"{self.done} kernels, {len(self.failures)} failures", file=sys.stderr, flush=True)
                for seed, failure in zip(seeds, found, strict=True):
                    if failure is not None:
                        self.failures.append((seed, failure))
                        self.kinds[failure.signature] += 1
                        first = failure.message.strip().splitlines()[:1]
                        print(
                            f"seed {seed}: {failure.kind} on {failure.accelerator} {failure.detail} {first}", flush=True
                        )
        with self.lock:
            self.spent += worker.spent
            self.outcomes += worker.outcomes

    def _chosen(self) -> list[tuple[int, Failure]]:
        """The failures to shrink: a few of each kind."""
        seen: Counter[tuple[str, str, str]] = Counter()
        chosen = []
        for seed, failure in self.failures:
            seen[failure.signature] += 1
            if seen[failure.signature] <= _SHRUNK:
                chosen.append((seed, failure))
        return chosen

    def _show(self, seed: int, failure: Failure) -> None:
        shown = self._program(seed)
        if self.options.shrink:
            shown, failure = self._shrunk(shown, failure)
        text = keep.report(shown, failure)
        print(text, flush=True)
        if self.options.keep is not None:
            self.options.keep.mkdir(parents=True, exist_ok=True)
            name = f"kernel_{seed}"
            (self.options.keep / f"{name}.txt").write_text(text, encoding="utf-8")
            if failure.kind != "finding":
                what = f"{failure.kind} on {failure.accelerator} {failure.detail}".strip()
                test = keep.test_of(shown, name, what)
                (self.options.keep / f"test_{name}.py").write_text(test, encoding="utf-8")

    def _shrunk(self, large: Program, failure: Failure) -> tuple[Program, Failure]:
        first = self.accelerators[0]
        where = [first] if failure.accelerator == first else [first, failure.accelerator]
        if failure.accelerator not in self.accelerators:
            where = self.accelerators
        limit = min(self.options.limit, 15.0) if failure.kind == "hang" else self.options.limit
        worker = Worker(where, limit)
        last = failure

        def shows(candidate: Program) -> bool:
            nonlocal last
            found = worker.run([candidate])[0]
            if found is None or found.signature != failure.signature:
                return False
            last = found
            return True

        try:
            smaller = reduced if large.text else shrink
            return smaller(large, shows, self.options.shrink_seconds), last
        finally:
            worker.close()

    def _summary(self, seconds: float, wanted: int) -> None:
        print(f"{self.done} of {wanted} kernels in {seconds:.0f} s, {len(self.failures)} failures")
        for (kind, accelerator, detail), count in self.kinds.most_common():
            print(f"{count:6}  {kind} on {accelerator} {detail}")
        if self.outcomes:
            print(", ".join(f"{name} {count}" for name, count in self.outcomes.most_common()))
        if self.done:
            parts = (f"{name} {spent / 1000 / self.done:.0f}" for name, spent in self.spent.most_common())
            total = sum(self.spent.values()) / 1000 / self.done
            print(f"milliseconds of processor time for a kernel: {total:.0f}: {', '.join(parts)}")


if __name__ == "__main__":
    sys.exit(main())
