"""The cost of launches: one by one, and recorded by a capture, beside the same work recorded by hand in Vulkan.

Times are of one launch. Where it says so, the launches are waited for; otherwise it is the host's time until the call
returns. The work by hand is one command buffer, submitted again, with the barriers that dependent launches need.
Clocks are warm: a GPU is kept busy before each work, and the work is called for a while before its calls count.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import vkamp as amp
from tools.bench.heating import heater
from tools.bench.kernels import increment
from tools.bench.measure import Measurement, Options, check, child_json, warmly

GROUP = "capture"
ENGINES = ("kompute", "vulkan")
SIZE = 64
MANY = 1000
#: The same for a single run, whose times nobody compares.
MANY_OF_A_TRIAL = 50
#: Launches that are made before any of them is submitted.
FEW = 32
#: The most seconds for a launch on a GPU, by name.
TARGETS = {
    "launch, vulkan": 8e-6,
    "launch, kompute": 15e-6,
    f"{MANY} dependent, replayed and waited, vulkan": 2.2e-6,
    f"{MANY} independent, replayed and waited, vulkan": 0.5e-6,
    "launch + wait, vulkan": 25e-6,
}


def measure(options: Options) -> Iterator[Measurement]:
    """One child process per Vulkan device; others have no engines to compare."""
    for path in dict.fromkeys(path.partition("@")[0] for path in options.accelerators):
        if path.startswith("vulkan:"):
            targets = {} if amp.accelerator(path).is_emulated else TARGETS
            rows = child_json("tools.bench.capturing", path, str(options.runs))
            for name, values in rows.items():
                yield Measurement(GROUP, name, tuple(values), path, targets.get(name))


class Vkamp:
    """Launches on one engine."""

    def __init__(self, path: str, engine: str, many: int) -> None:
        self.view = amp.accelerator(path, engine=engine).default_view
        self.many = many
        self.arrays = [self._array() for _ in range(many)]
        self.domain = self.arrays[0].extent
        self.expected = [0] * many
        self.graphs = {}
        for independent in (False, True):
            with amp.capture(self.view) as graph:
                self._launch_all(independent)
            self.graphs[independent] = graph

    def _array(self) -> amp.array:
        return amp.array(amp.extent(SIZE), amp.int32, np.zeros(SIZE, np.int32), accelerator_view=self.view)

    def _launch_all(self, independent: bool) -> None:
        for number in range(self.many):
            amp.parallel_for_each(self.view, self.domain, increment, self.arrays[number if independent else 0])

    def _expect(self, independent: bool, count: int | None = None) -> None:
        for number in range(self.many if count is None else count):
            self.expected[number if independent else 0] += 1

    def launch(self) -> float:
        self.expected[0] += FEW
        started = time.perf_counter()
        for _ in range(FEW):
            amp.parallel_for_each(self.view, self.domain, increment, self.arrays[0])
        seconds = time.perf_counter() - started
        self.view.wait()
        return seconds / FEW

    def launch_and_wait(self) -> float:
        self.expected[0] += 1
        started = time.perf_counter()
        amp.parallel_for_each(self.view, self.domain, increment, self.arrays[0])
        self.view.wait()
        return time.perf_counter() - started

    def launches(self, independent: bool) -> float:
        self._expect(independent)
        started = time.perf_counter()
        self._launch_all(independent)
        self.view.wait()
        return (time.perf_counter() - started) / self.many

    def replay(self, independent: bool) -> float:
        self._expect(independent)
        started = time.perf_counter()
        self.graphs[independent].replay()
        self.view.wait()
        return (time.perf_counter() - started) / self.many

    def replay_alone(self, independent: bool) -> float:
        self._expect(independent)
        started = time.perf_counter()
        self.graphs[independent].replay()
        seconds = time.perf_counter() - started
        self.view.wait()
        return seconds / self.many

    def check(self) -> None:
        for array, expected in zip(self.arrays, self.expected, strict=True):
            check((np.asarray(array) == expected).all(), f"launches by {self.view.accelerator.engine}")


class ByHand:
    """The same dispatches in a separate command buffer, on the direct engine's device."""

    def __init__(self, vkamp: Vkamp, independent: bool, count: int | None = None) -> None:
        count = vkamp.many if count is None else count
        queue: Any = vkamp.view._queue
        self.device, api = queue.device, queue.device.api
        self.vkamp, self.independent, self.count = vkamp, independent, count
        # vkamp's recording provides the pipeline and the descriptor sets.
        work = vkamp.graphs[independent]._launches.recording.work[:count]  # type: ignore[union-attr]
        self.frames = queue.frames
        self.commands = self.frames.record()
        handle, vk = self.commands.handle, api.vk
        barrier = api.struct("VkMemoryBarrier")
        barrier.srcAccessMask = vk.VK_ACCESS_SHADER_WRITE_BIT
        barrier.dstAccessMask = vk.VK_ACCESS_SHADER_READ_BIT | vk.VK_ACCESS_SHADER_WRITE_BIT
        stage, bind = vk.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, vk.VK_PIPELINE_BIND_POINT_COMPUTE
        layout = work[0].program.layout.handle
        api.CmdBindPipeline(handle, bind, work[0].program.pipeline)
        push = work[0].push
        if push:
            words = api.ffi.from_buffer(push)
            api.CmdPushConstants(handle, layout, vk.VK_SHADER_STAGE_COMPUTE_BIT, 0, len(push), words)
        for number, each in enumerate(work):
            if number == 0 or independent:
                api.CmdBindDescriptorSets(handle, bind, layout, 0, 1, each.sets.handles, 0, api.null)
            if number == 0 or not independent:
                api.CmdPipelineBarrier(handle, stage, stage, 0, 1, barrier, 0, api.null, 0, api.null)
            api.CmdDispatch(handle, *each.dispatch.groups)
        queue._recorder.show_to_host(handle)
        self.frames.finish(self.commands)
        self.poll = queue._poll

    def replay(self) -> float:
        self.vkamp._expect(self.independent, self.count)
        started = time.perf_counter()
        frame = self.frames.again(self.commands, behind=False)
        self.frames.submit(frame)
        self.frames.wait(frame, self.poll, self.device.check)
        self.frames.give_back(frame)
        return (time.perf_counter() - started) / self.count


def _measure_here(path: str, runs: int, heat: Callable[[], None] | None) -> dict[str, Any]:
    """In the child: seconds by name."""
    many = MANY if runs > 1 else MANY_OF_A_TRIAL
    engines = {name: Vkamp(path, name, many) for name in ENGINES}
    for engine in engines.values():
        for graph in engine.graphs.values():
            graph.replay()
        engine._expect(False)
        engine._expect(True)
        engine.view.wait()
    by_hand = {independent: ByHand(engines["vulkan"], independent) for independent in (False, True)}
    rows: dict[str, Any] = {}

    def add(name: str, times: int, works: Mapping[str, Callable[[], float]]) -> None:
        for side, values in zip(works, warmly(times, *works.values(), heat=heat), strict=True):
            rows[f"{name}, {side}"] = values

    add("launch", runs, {name: engine.launch for name, engine in engines.items()})
    waited = {name: engine.launch_and_wait for name, engine in engines.items()}
    add("launch + wait", 40 * runs, {**waited, "Vulkan by hand": ByHand(engines["vulkan"], False, 1).replay})
    for independent in (False, True):
        kind = f"{many} {'independent' if independent else 'dependent'}"
        works = {name: partial(engine.launches, independent) for name, engine in engines.items()}
        add(f"{kind}, one by one and waited", runs, works)
        works = {name: partial(engine.replay, independent) for name, engine in engines.items()}
        add(f"{kind}, replayed and waited", runs, {**works, "Vulkan by hand": by_hand[independent].replay})
        works = {name: partial(engine.replay_alone, independent) for name, engine in engines.items()}
        add(f"{kind}, replay()", runs, works)
    for engine in engines.values():
        engine.check()
    return rows


if __name__ == "__main__":
    with heater(sys.argv[1]) as warmth:
        print(json.dumps(_measure_here(sys.argv[1], int(sys.argv[2]), warmth)))
