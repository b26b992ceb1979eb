"""The parent's side of the worker processes: sends batches, collects failures, and distinguishes hangs from crashes."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence

from tools.fuzz.run import Failure
from tools.fuzz.tree import Mutant, Program
from tools.fuzz.worker import MARKER, decode, encode

__all__ = ["Worker"]


def _is_changed(item: int | Program) -> bool:
    """Whether it may be a program without an end."""
    return isinstance(item, Mutant) or (isinstance(item, Program) and item.changes is not None)


#: Processors of a worker where there are many: drivers start a thread for each that they may use.
_PROCESSORS = 4


def _processors(number: int) -> set[int]:
    """Where the worker of a number runs: all have different processors, as far as there are enough."""
    every = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    step = max(1, len(every) // _PROCESSORS)
    return {every[(number + step * n) % len(every)] for n in range(_PROCESSORS)}


class Worker:
    """A process that is started again when a driver crashes it.

    ``limit``: seconds for one program on one accelerator.  ``number``: of several workers, each runs on a few
    processors, and keeps what it compiles in a folder that it has alone.
    """

    def __init__(self, accelerators: Sequence[str], limit: float = 60.0, number: int | None = None) -> None:
        self.number = number
        self.accelerators = list(accelerators)
        self.limit = limit
        #: Microseconds of processor time, by activity.
        self.spent: Counter[str] = Counter()
        #: The outcomes of changed kernels.
        self.outcomes: Counter[str] = Counter()
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()

    def _start(self) -> subprocess.Popen[str]:
        environment = dict(os.environ)
        if self.number is not None and "VKAMP_CACHE_DIR" in environment:
            environment["VKAMP_CACHE_DIR"] = os.path.join(environment["VKAMP_CACHE_DIR"], f"worker{self.number}")
        # Ctrl-C is for the parent, which ends its workers itself.
        process = subprocess.Popen(
            [sys.executable, "-m", "tools.fuzz.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=environment,
        )
        if self.number is not None and hasattr(os, "sched_setaffinity"):
            with contextlib.suppress(OSError):
                os.sched_setaffinity(process.pid, _processors(self.number))
        self._lines = queue.Queue()
        lines = self._lines
        self._said: list[str] = []
        said = self._said

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith(MARKER):
                    lines.put(line.removeprefix(MARKER).rstrip("\n"))
            lines.put(None)

        def listen() -> None:
            assert process.stderr is not None
            for line in process.stderr:
                said.append(line)
                del said[:-40]

        threading.Thread(target=read, daemon=True).start()
        threading.Thread(target=listen, daemon=True).start()
        self._process = process
        return process

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def run(self, items: Sequence[int | Program]) -> list[Failure | None]:
        """The failure of each of the programs, which are given as programs or by seed."""
        failures: dict[int, Failure | None] = {}
        batches = [list(range(len(items)))]
        while batches:
            numbers = batches.pop()
            ended = self._some(items, numbers, failures)
            left = [n for n in numbers if n not in failures]
            if not left:
                continue
            if ended is None:
                # It ended while all were prepared together: which one did it shows when each is alone.
                batches += [[n] for n in reversed(left)]
            else:
                batches.append(left)
        return [failures[n] for n in range(len(items))]

    def _some(
        self, items: Sequence[int | Program], numbers: list[int], failures: dict[int, Failure | None]
    ) -> int | None:
        """Runs programs until all are done or the process ends; the number of the one at which it ended."""
        process = self._process if self._process is not None and self._process.poll() is None else self._start()
        assert process.stdin is not None
        process.stdin.write(encode(([items[n] for n in numbers], self.accelerators)) + "\n")
        process.stdin.flush()
        # Several programs are prepared together; one alone is to blame for whatever happens.
        at, where, factor = (numbers[0] if len(numbers) == 1 else None), "the source", len(numbers)
        while True:
            try:
                line = self._lines.get(timeout=self.limit * factor)
            except queue.Empty:
                self.close()
                if at is not None and where in ("python", "reference") and _is_changed(items[at]):
                    self.outcomes["endless"] += 1
                    failures[at] = None
                elif at is not None:
                    failures[at] = Failure("hang", where, "", f"no end within {self.limit:g} s on {where}")
                return at
            if line is None:
                status = process.wait()
                self._process = None
                if at is not None:
                    said = "".join(self._said)
                    failures[at] = Failure("died", where, str(status), f"ended with {status} on {where}\n{said}")
                return at
            word, _, rest = line.partition(" ")
            number, _, text = rest.partition(" ")
            if word == "at":
                at, where, factor = numbers[int(number)], text, 1
            elif word == "done":
                failures[numbers[int(number)]] = decode(text)
            else:
                spent, outcomes = decode(rest)
                self.spent += spent
                self.outcomes += outcomes
                return None
