"""A tiny kernel launched by vkamp and by others: frameworks over Vulkan, and over CUDA where it exists. Each runs in a
separate process, with high clocks. A launch is one call, as the peer's users write it. The host time of a launch ends
when its call returns; launches with a wait are timed to the end of the wait.
"""

# The peers are no dependencies: mypy may not find them, nor know their types.
# mypy: ignore-errors

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tools.bench import peers
from tools.bench.heating import heater
from tools.bench.measure import Measurement, Options, check, warmly
from tools.bench.peers import Device

GROUP = "peers"
SIZE = 64
#: Launches before the first wait where the host's time is measured.
FEW = 32
MANY = 1000
WAITED, ENQUEUED, CHAINED = "launch + wait", "launch", f"{MANY} dependent, one by one and waited"

#: Functions that launch once, wait for all launches, and return the numbers to which each launch adds 1.
_Works = tuple[Callable[[], Any], Callable[[], Any], Callable[[], np.ndarray]]


def measure(options: Options) -> Iterator[Measurement]:
    """One child process for each Vulkan device and peer, in the order of the kinds, so that the peers are listed
    together."""
    from vkamp.run.devices import vulkan_devices

    devices = {f"vulkan:{each.index}": Device(each.index, each.name) for each in vulkan_devices()}
    for path in dict.fromkeys(path.partition("@")[0] for path in options.accelerators):
        if path in devices:
            found = {peer: peers.ask(__name__, peer, devices[path], options.runs) for peer in _PEERS}
            for peer in _PEERS:
                if peer.startswith("vkamp") and "missing" in found[peer]:
                    sys.exit(f"tools.bench: {peer} {found[peer]['missing']}")
            for kind in (WAITED, ENQUEUED, CHAINED):
                for peer, values in found.items():
                    if kind in values:
                        yield Measurement(
                            GROUP, f"{kind}, {peer}", tuple(values[kind]), path, notes=peers.versions(peer)
                        )
            for peer, values in found.items():
                if "missing" in values:
                    yield Measurement(GROUP, f"launches, {peer}", (), path, notes={"missing": values["missing"]})


def _measure_here(peer: str, device: Device, runs: str) -> dict[str, Any]:
    """In the child: seconds of a launch by kind."""
    launch, wait, numbers = _PEERS[peer](device)
    made = 0

    def timed(count: int, inside: bool) -> float:
        nonlocal made
        made += count
        started = time.perf_counter()
        for _ in range(count):
            launch()
        if inside:
            wait()
        seconds = time.perf_counter() - started
        wait()
        return seconds / count

    def right() -> bool:
        return bool((numbers() == made).all())

    timed(1, True)
    check(right(), f"a launch by {peer}")
    with heater(f"vulkan:{device.index}") as heat:
        (waited,) = warmly(40 * int(runs), lambda: timed(1, True), heat=heat)
        enqueued, chained = warmly(int(runs), lambda: timed(FEW, False), lambda: timed(MANY, True), heat=heat)
    check(right(), f"{made} launches by {peer}")
    return {WAITED: waited, ENQUEUED: enqueued, CHAINED: chained}


# -- vkamp ------------------------------------------------------------------------------------------------------------


def _vkamp(device: Device, engine: str) -> _Works:
    import vkamp as amp
    from tools.bench.kernels import increment

    view = amp.accelerator(f"vulkan:{device.index}", engine=engine).default_view
    counts = amp.array(amp.extent(SIZE), amp.int32, np.zeros(SIZE, np.int32), accelerator_view=view)
    domain = counts.extent
    return lambda: amp.parallel_for_each(view, domain, increment, counts), view.wait, lambda: np.asarray(counts)


# -- over Vulkan ------------------------------------------------------------------------------------------------------


def _wgpu(device: Device) -> _Works:
    import wgpu

    shader = f"""
        @group(0) @binding(0) var<storage, read_write> counts: array<i32>;

        @compute @workgroup_size({SIZE})
        fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
            counts[id.x] += 1;
        }}
    """
    gpu = peers.wgpu_device(device)
    usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
    counts = gpu.create_buffer_with_data(data=np.zeros(SIZE, np.int32), usage=usage)
    module = gpu.create_shader_module(code=shader)
    pipeline = gpu.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})
    group = gpu.create_bind_group(
        layout=pipeline.get_bind_group_layout(0), entries=[{"binding": 0, "resource": {"buffer": counts}}]
    )

    def launch() -> None:
        encoder = gpu.create_command_encoder()
        work = encoder.begin_compute_pass()
        work.set_pipeline(pipeline)
        work.set_bind_group(0, group)
        work.dispatch_workgroups(1)
        work.end()
        gpu.queue.submit([encoder.finish()])

    # Its users wait by reading; the function for it, on_submitted_work_done_sync, fails in its version 0.32.
    return launch, lambda: gpu.queue.read_buffer(counts), lambda: np.frombuffer(gpu.queue.read_buffer(counts), np.int32)


def _vkdispatch(device: Device) -> _Works:
    vd = peers.vkdispatch(device)
    import vkdispatch.codegen as vc
    from vkdispatch.codegen.abbreviations import Buff, i32

    # Its decorator reads the annotation itself, not its text.
    def increment(counts) -> None:
        i = vc.global_invocation_id().x
        counts[i] = counts[i] + 1

    increment.__annotations__ = {"counts": Buff[i32]}
    kernel = vd.shader("counts.size")(increment)
    counts = vd.asbuffer(np.zeros(SIZE, np.int32))
    return lambda: kernel(counts), vd.queue_wait_idle, lambda: counts.read(0)


def _numba_vulkan(device: Device) -> _Works:
    import numba_vulkan as nv

    @nv.jit
    def increment(counts):
        i = nv.global_id(0)
        if i < counts.shape[0]:
            counts[i] += 1

    nv.select_device(device.name)
    counts = nv.to_device(np.zeros(SIZE, np.int32))
    return lambda: increment[1, SIZE](counts), nv.synchronize, counts.copy_to_host


def _taichi(device: Device, cuda: bool) -> _Works:
    ti = peers.taichi(device, cuda)

    def increment(counts):
        for i in counts:
            counts[i] += 1

    increment.__annotations__ = {"counts": ti.types.ndarray(dtype=ti.i32, ndim=1)}
    kernel = ti.kernel(increment)
    counts = ti.ndarray(ti.i32, SIZE)
    counts.fill(0)
    return lambda: kernel(counts), ti.sync, counts.to_numpy


# -- over CUDA --------------------------------------------------------------------------------------------------------


def _cupy(_: Device) -> _Works:
    import cupy as cp

    code = 'extern "C" __global__ void increment(int* counts) { counts[threadIdx.x] += 1; }'
    kernel, counts = cp.RawKernel(code, "increment"), cp.zeros(SIZE, cp.int32)
    return lambda: kernel((1,), (SIZE,), (counts,)), cp.cuda.Device().synchronize, counts.get


def _numba_cuda(_: Device) -> _Works:
    from numba import cuda

    @cuda.jit
    def increment(counts):
        i = cuda.grid(1)
        if i < counts.size:
            counts[i] += 1

    counts = cuda.to_device(np.zeros(SIZE, np.int32))
    return lambda: increment[1, SIZE](counts), cuda.synchronize, counts.copy_to_host


def _torch(_: Device) -> _Works:
    import torch

    counts = torch.zeros(SIZE, dtype=torch.int32, device="cuda")
    return lambda: counts.add_(1), torch.cuda.synchronize, lambda: counts.cpu().numpy()


def _warp(_: Device) -> _Works:
    import warp as wp

    def increment(counts):
        i = wp.tid()
        counts[i] = counts[i] + 1

    increment.__annotations__ = {"counts": wp.array(dtype=wp.int32)}
    kernel = wp.kernel(increment)
    counts = wp.zeros(SIZE, dtype=wp.int32, device="cuda:0")
    launch = {"dim": SIZE, "inputs": [counts], "device": "cuda:0"}
    return lambda: wp.launch(kernel, **launch), wp.synchronize, counts.numpy


_PEERS: dict[str, Callable[[Device], _Works]] = {
    "vkamp, kompute": lambda device: _vkamp(device, "kompute"),
    "vkamp, vulkan": lambda device: _vkamp(device, "vulkan"),
    "wgpu-py": _wgpu,
    "vkdispatch": _vkdispatch,
    "numba-vulkan": _numba_vulkan,
    "Taichi, Vulkan": lambda device: _taichi(device, False),
    "Taichi, CUDA": lambda device: _taichi(device, True),
    "CuPy": _cupy,
    "numba-cuda": _numba_cuda,
    "PyTorch": _torch,
    "Warp": _warp,
}

if __name__ == "__main__":
    peers.answer(_measure_here)
