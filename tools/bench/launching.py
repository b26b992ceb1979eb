"""Launches of a tiny kernel: vkamp compared with the same program that uses Kompute directly, in one process."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tools.bench.heating import heater
from tools.bench.measure import Measurement, Options, check, child_json, warmly

GROUP = "launch"
SIZE = 64
BATCH = 500
WAITED = "launch + wait"
ENQUEUED = f"enqueue, of {BATCH} independent launches"
CHAINED = f"launch in a chain of {BATCH}"


def measure(options: Options) -> Iterator[Measurement]:
    """One child process per accelerator, so that the state of one driver does not disturb the next."""
    for accelerator in options.accelerators:
        rows = child_json("tools.bench.launching", accelerator, str(options.runs))
        for name, values in rows.items():
            yield Measurement(GROUP, name, tuple(values), accelerator)


class Vkamp:
    """The kernel launched by vkamp."""

    def __init__(self, accelerator: str) -> None:
        import vkamp as amp
        from tools.bench.kernels import increment

        self.amp, self.kernel = amp, increment
        self.view = amp.accelerator(accelerator).default_view
        self.counts = amp.array(amp.extent(SIZE), amp.int32, np.zeros(SIZE, np.int32), accelerator_view=self.view)
        self.others = [amp.array(self.counts) for _ in range(8)]
        self.launches = 0

    def enqueue(self) -> None:
        self.launches += 1
        self.amp.parallel_for_each(self.view, self.counts.extent, self.kernel, self.counts)

    def launch_and_wait(self) -> float:
        started = time.perf_counter()
        self.enqueue()
        self.view.wait()
        return time.perf_counter() - started

    def enqueue_many(self) -> float:
        """A launch's time until the call returns, none waiting for another's result."""
        started = time.perf_counter()
        for number in range(BATCH):
            counts = self.others[number % len(self.others)]
            self.amp.parallel_for_each(self.view, counts.extent, self.kernel, counts)
        seconds = time.perf_counter() - started
        self.view.wait()
        return seconds / BATCH

    def chain(self) -> float:
        """A launch's time where each needs the one before it, up to the last result."""
        started = time.perf_counter()
        for _ in range(BATCH):
            self.enqueue()
        self.view.wait()
        return (time.perf_counter() - started) / BATCH

    def check(self) -> None:
        check((np.asarray(self.counts) == self.launches).all(), "vkamp's counts")

    def spirv(self) -> bytes:
        program = self.kernel.inspect(self.view, self.counts.extent, self.counts)
        return bytes(program.spirv)


class RawKompute:
    """The same SPIR-V through kp, written as Kompute's documentation does, with its traps stepped around."""

    def __init__(self, accelerator: str, spirv: bytes) -> None:
        import kp

        import vkamp as amp

        path = amp.accelerator(accelerator).device_path
        self.kp = kp
        self.manager = kp.Manager(int(path.partition("@")[0].removeprefix("vulkan:")))
        self.words = np.array([SIZE], np.uint32)
        self.tensors = [self.manager.tensor_t(np.zeros(SIZE, np.uint32)) for _ in range(9)]
        self.manager.sequence().record(kp.OpTensorSyncDevice(self.tensors)).eval()
        none = np.zeros(0, np.uint32)
        self.algorithm, *self.others = (
            self.manager.algorithm([tensor], spirv, (1, 1, 1), spec_consts=none, push_consts=self.words)
            for tensor in self.tensors
        )
        self.recorded = self.manager.sequence().record(kp.OpAlgoDispatch(self.algorithm, self.words))
        self.launches = 0

    def launch_and_wait(self) -> float:
        """A new sequence for every launch."""
        self.launches += 1
        started = time.perf_counter()
        self.manager.sequence().record(self.kp.OpAlgoDispatch(self.algorithm, self.words)).eval()
        return time.perf_counter() - started

    def evaluate_again(self) -> float:
        """A sequence that was recorded before."""
        self.launches += 1
        started = time.perf_counter()
        self.recorded.eval()
        return time.perf_counter() - started

    def record_many(self) -> float:
        """A launch's time to be recorded into one sequence, none waiting for another's result."""
        sequence = self.manager.sequence()
        started = time.perf_counter()
        for number in range(BATCH):
            sequence.record(self.kp.OpAlgoDispatch(self.others[number % len(self.others)], self.words))
        seconds = time.perf_counter() - started
        sequence.eval()
        return seconds / BATCH

    def chain(self) -> float:
        """Each launch waited for, as dependent ones must be here."""
        started = time.perf_counter()
        for _ in range(BATCH):
            self.recorded.eval()
        self.launches += BATCH
        return (time.perf_counter() - started) / BATCH

    def check(self) -> None:
        self.manager.sequence().record(self.kp.OpTensorSyncLocal(self.tensors)).eval()
        check((self.tensors[0].data() == self.launches).all(), "Kompute's counts")

    def close(self) -> None:
        self.manager.destroy()


def _measure_here(accelerator: str, runs: int, heat: Callable[[], None] | None) -> dict[str, Any]:
    """In the child: seconds by name; Kompute's only on a Vulkan device."""
    vkamp = Vkamp(accelerator)
    if not accelerator.startswith("vulkan:"):
        waited, enqueued, chained = warmly(runs, vkamp.launch_and_wait, vkamp.enqueue_many, vkamp.chain)
        vkamp.check()
        return {WAITED: waited, ENQUEUED: enqueued, CHAINED: chained}
    kompute = RawKompute(accelerator, vkamp.spirv())
    works = vkamp.launch_and_wait, kompute.launch_and_wait, kompute.evaluate_again
    waited, raw, again = warmly(runs * 20, *works, heat=heat)
    several = vkamp.enqueue_many, kompute.record_many, vkamp.chain, kompute.chain
    enqueued, recorded, chained, raw_chained = warmly(runs, *several, heat=heat)
    vkamp.check()
    kompute.check()
    kompute.close()
    return {
        WAITED: waited,
        "kp: new sequence, eval": raw,
        "kp: recorded sequence, eval": again,
        ENQUEUED: enqueued,
        f"kp: record, of {BATCH} independent dispatches": recorded,
        CHAINED: chained,
        f"kp: eval in a chain of {BATCH}": raw_chained,
    }


if __name__ == "__main__":
    with heater(sys.argv[1]) as warmth:
        print(json.dumps(_measure_here(sys.argv[1], int(sys.argv[2]), warmth)))
