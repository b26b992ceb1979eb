"""Copy, sum, transpose and matrix product: vkamp's shaders beside hand-written ones of the same algorithm.

All go through Kompute, in one process, in turn, on the same memory, and results are checked before anything is timed.
A time is the slope between few and many dispatches of one submission, so that the submission itself is not in it. On
NVIDIA devices the same work follows by CuPy, PyTorch and numba-cuda, and everywhere what wgpu-py, numba-vulkan and
Taichi have of it, where they are installed.
"""

# vkamp infers the types of a kernel's parameters.
# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import vkamp as amp
from tools.bench import lowering, peers, throughput_peers
from tools.bench.measure import Measurement, Options, alternately, check, child_json

GROUP = "throughput"
PROBES = Path(__file__).parent / "probes"

TILE = 512
TILES = 1056
SIDE = 128
DEPTH = 16
BLOCK = 32


@amp.kernel
def copy(idx, source, target):
    target[idx] = source[idx]


@amp.kernel
def partial_sums(t_idx, values, sums):
    parts = amp.tile_static(32, amp.float32)
    step = t_idx.tile_dim0 * (sums.extent[0])
    total = amp.float4(0.0)
    count = values.extent[0]
    i = t_idx.global_[0]
    while i < count:
        total += values[i]
        if i + step < count:
            total += values[i + step]
        if i + 2 * step < count:
            total += values[i + 2 * step]
        if i + 3 * step < count:
            total += values[i + 3 * step]
        i += 4 * step
    sum_of_subgroup = amp.subgroup.add(total.x + total.y + total.z + total.w)
    if amp.subgroup.lane() == 0:
        parts[amp.subgroup.id()] = sum_of_subgroup
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if amp.subgroup.id() == 0:
        part = 0.0
        if amp.subgroup.lane() < amp.subgroup.count():
            part = parts[amp.subgroup.lane()]
        sum_of_tile = amp.subgroup.add(part)
        if amp.subgroup.lane() == 0:
            sums[t_idx.tile] = sum_of_tile


@amp.kernel
def transpose(t_idx, matrix, transposed):
    block = amp.tile_static((BLOCK, BLOCK + 1), amp.float32)
    row, column = t_idx.local
    top, side = t_idx.tile[0] * BLOCK, t_idx.tile[1] * BLOCK
    for q in amp.static_range(4):
        block[row + 8 * q, column] = matrix[top + row + 8 * q, side + column]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    for q in amp.static_range(4):
        transposed[side + row + 8 * q, top + column] = block[column, row + 8 * q]


@amp.func
def store(left, right, half, row, column, along, across, one, other):
    """Four neighbours of A, turned, and four of B, for one half of the tiles."""
    left[half, column * 4 + 0, row] = one.x
    left[half, column * 4 + 1, row] = one.y
    left[half, column * 4 + 2, row] = one.z
    left[half, column * 4 + 3, row] = one.w
    right[half, along, across * 4 + 0] = other.x
    right[half, along, across * 4 + 1] = other.y
    right[half, along, across * 4 + 2] = other.z
    right[half, along, across * 4 + 3] = other.w


@amp.kernel
def product(t_idx, a, b, c):
    left = amp.tile_static((2, DEPTH, SIDE), amp.float32)
    right = amp.tile_static((2, DEPTH, SIDE), amp.float32)
    sums = amp.private((8, 8), amp.float32)
    next_a = amp.private(2, amp.float4)
    next_b = amp.private(2, amp.float4)
    of_a = amp.private(8, amp.float32)
    of_b = amp.private(8, amp.float32)
    ty, tx = t_idx.local[0], t_idx.local[1]
    t = ty * 16 + tx
    top, side = t_idx.tile[0] * SIDE, t_idx.tile[1] * (SIDE // 4)
    row, column = t // 4, t % 4
    along, across = t // 32, t % 32
    for i in amp.static_range(8):
        for j in amp.static_range(8):
            sums[i, j] = 0.0
    for q in amp.static_range(2):
        next_a[q] = a[top + row + 64 * q, column]
        next_b[q] = b[along + 8 * q, side + across]
    for q in amp.static_range(2):
        store(left, right, 0, row + 64 * q, column, along + 8 * q, across, next_a[q], next_b[q])
    t_idx.barrier.wait_with_tile_static_memory_fence()
    half = 0
    # The index counts float4s, since computing `k // 4` from k reduces the speed by a quarter on an H200.
    for k in range(0, b.extent[0] // 4, DEPTH // 4):
        more = k + DEPTH // 4 < b.extent[0] // 4
        if more:
            for q in amp.static_range(2):
                next_a[q] = a[top + row + 64 * q, k + DEPTH // 4 + column]
                next_b[q] = b[4 * k + DEPTH + along + 8 * q, side + across]
        for kk in amp.static_range(DEPTH):
            for i in amp.static_range(4):
                of_a[i] = left[half, kk, ty * 4 + i]
                of_a[i + 4] = left[half, kk, 64 + ty * 4 + i]
                of_b[i] = right[half, kk, tx * 4 + i]
                of_b[i + 4] = right[half, kk, 64 + tx * 4 + i]
            for i in amp.static_range(8):
                for j in amp.static_range(8):
                    sums[i, j] += of_a[i] * of_b[j]
        if more:
            half = 1 - half
            for q in amp.static_range(2):
                store(left, right, half, row + 64 * q, column, along + 8 * q, across, next_a[q], next_b[q])
            t_idx.barrier.wait_with_tile_static_memory_fence()
    for i in amp.static_range(8):
        at = top + ty * 4 + (i if i < 4 else 60 + i)
        c[at, side + tx] = amp.float4(sums[i, 0], sums[i, 1], sums[i, 2], sums[i, 3])
        c[at, side + 16 + tx] = amp.float4(sums[i, 4], sums[i, 5], sums[i, 6], sums[i, 7])


def measure(options: Options) -> Iterator[Measurement]:
    """One child process per accelerator."""
    for accelerator in options.accelerators:
        if not accelerator.startswith("vulkan:"):
            continue
        for row in child_json("tools.bench.throughput", accelerator, str(options.runs)):
            yield Measurement(GROUP, row["name"], tuple(row["values"]), accelerator, row["target"], row["notes"])


#: SPIR-V, tensors, groups, launch words.
_Program = tuple[bytes, list[Any], tuple[int, int, int], list[int]]


class _Programs:
    """Programs on one device through kp, with separate memory."""

    def __init__(self, path: str) -> None:
        import kp

        self.kp = kp
        self.manager = kp.Manager(int(path.partition("@")[0].removeprefix("vulkan:")))

    def tensor(self, values: np.ndarray[Any, Any]) -> Any:
        return self.manager.tensor_t(values)

    def upload(self, *tensors: Any) -> None:
        self.manager.sequence().record(self.kp.OpTensorSyncDevice(list(tensors))).eval()

    def download(self, tensor: Any) -> np.ndarray[Any, Any]:
        self.manager.sequence().record(self.kp.OpTensorSyncLocal([tensor])).eval()
        found: np.ndarray[Any, Any] = tensor.data()
        return found

    def run(
        self, spirv: bytes, tensors: list[Any], groups: tuple[int, int, int], words: list[int]
    ) -> Callable[[int], float]:
        """A function that runs the program a number of times in one submission and returns the seconds."""
        none, push = np.zeros(0, np.uint32), np.array(words, np.uint32)
        algorithm = self.manager.algorithm(tensors, spirv, groups, spec_consts=none, push_consts=push)

        def times(count: int) -> float:
            sequence = self.manager.sequence()
            for _ in range(count):
                sequence.record(self.kp.OpAlgoDispatch(algorithm, push))
            started = time.perf_counter()
            sequence.eval()
            return time.perf_counter() - started

        return times


def _slope(times: Callable[[int], float], many: int) -> Callable[[], float]:
    return lambda: (times(1 + many) - times(1)) / many


def _spirv(name: str, *defined: str) -> bytes:
    """A probe, compiled as vkamp compiles."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "probe.spv"
        command = [
            "glslangValidator",
            "-V",
            "--target-env",
            "vulkan1.1",
            *(f"-D{each}" for each in defined),
            str(PROBES / f"{name}.comp"),
            "-o",
            str(target),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        return target.read_bytes()


def _compare(
    programs: _Programs,
    name: str,
    mine: _Program,
    probe: _Program,
    right: Callable[[], bool],
    runs: int,
    amount: float,
    unit: str,
    *,
    large: bool,
) -> list[dict[str, Any]]:
    """The rows of one algorithm; ``amount`` of ``unit`` is done by one dispatch; ``large``: on a GPU, with a target."""
    sides = []
    for who, program in (("vkamp", mine), ("probe", probe)):
        times = programs.run(*program)
        times(1)
        check(right(), f"{name} by {who}")
        sides.append(times)
    # A single run shows that all works, and nobody compares its times.
    many = 1 if runs == 1 else max(1, min(200, round(0.2 / min(side(2) / 2 for side in sides))))
    # GPUs raise their clocks while they work.
    started = time.perf_counter()
    while large and time.perf_counter() - started < 1:
        sides[0](many)
    values = alternately(runs, *(_slope(side, many) for side in sides))
    medians = [statistics.median(v) for v in values]
    rows = []
    for who, seconds, median in zip(("vkamp", "probe"), values, medians, strict=True):
        notes = {unit: round(amount / median, 1), "dispatches": many}
        target = medians[1] / 0.98 if who == "vkamp" and large else None
        rows.append({"name": f"{name}, {who}", "values": seconds, "target": target, "notes": notes})
    return rows


def _mine(
    kernel: Any, view: Any, domain: Any, containers: dict[str, Any], tensors: list[Any], groups: tuple[int, int, int]
) -> _Program:
    """A kernel that kp runs directly; its launch words are extents."""
    shader = kernel.inspect(view, domain, *containers.values())._executable
    words = [containers[word.name].extent[word.dim] for word in shader.shader.push]
    assert all(word.kind == "extent" for word in shader.shader.push)
    return bytes(shader.spirv), tensors, groups, words


def _measure_here(path: str, runs: int) -> list[dict[str, Any]]:
    accelerator = amp.accelerator(path)
    large = not accelerator.is_emulated and "llvmpipe" not in accelerator.description
    programs = _Programs(accelerator.device_path)
    view = accelerator.default_view
    # 64 MiB are in the last cache of some GPUs, 1 GiB of none.
    rows = [
        row
        for count in ((22, 26) if large else (20 if runs > 1 else 18,))
        for row in _copies_and_sums(programs, view, runs, count, large)
    ]
    rows += _transposes(programs, view, runs, 8192 if large else 1024)
    rows += _products(programs, view, runs, 4096 if large else 256)
    if not large:
        rows += _lowered_products(programs, view, runs, 512 if runs > 1 else 128)
    index = int(accelerator.device_path.partition("@")[0].removeprefix("vulkan:"))
    return rows + throughput_peers.rows(peers.Device(index, accelerator.description), runs, large)


def _copies_and_sums(programs: _Programs, view: Any, runs: int, bits: int, sums: bool) -> list[dict[str, Any]]:
    """Of ``1 << bits`` float4; the hand-written sum needs subgroups of 32."""
    count = 1 << bits
    source = programs.tensor(np.random.default_rng(1).random(4 * count, np.float32).view(np.uint32))
    target = programs.tensor(np.zeros(4 * count, np.uint32))
    parts = programs.tensor(np.zeros(TILES, np.uint32))
    programs.upload(source, target, parts)
    containers = {name: amp.array_view(amp.extent(count), amp.float4) for name in ("source", "target")}
    groups = (count // 256, 1, 1)
    rows = _compare(
        programs,
        f"copy of {16 * count >> 20} MiB",
        _mine(copy, view, amp.extent(count).tile(256), containers, [source, target], groups),
        (_spirv("copy"), [source, target], groups, [count]),
        lambda: bool((programs.download(target) == source.data()).all()),
        runs,
        32 * count / 1e9,
        "GB/s",
        large=sums,
    )
    if not sums:
        return rows
    wanted = float(source.data().view(np.float32).sum(dtype=np.float64))

    def right() -> bool:
        found = float(programs.download(parts).view(np.float32).sum(dtype=np.float64))
        return abs(found - wanted) < 1e-4 * wanted

    containers = {"values": containers["source"], "sums": amp.array_view(amp.extent(TILES), amp.float32)}
    domain = amp.extent(TILES * TILE).tile(TILE)
    return rows + _compare(
        programs,
        f"sum of {16 * count >> 20} MiB",
        _mine(partial_sums, view, domain, containers, [source, parts], (TILES, 1, 1)),
        (_spirv("reduce"), [source, parts], (TILES, 1, 1), [count]),
        right,
        runs,
        16 * count / 1e9,
        "GB/s",
        large=sums,
    )


def _transposes(programs: _Programs, view: Any, runs: int, n: int) -> list[dict[str, Any]]:
    values = np.random.default_rng(3).random((n, n), np.float32)
    source, target = (programs.tensor(v.ravel().view(np.uint32)) for v in (values, np.zeros_like(values)))
    programs.upload(source, target)
    containers = {name: amp.array_view(amp.extent(n, n), amp.float32) for name in ("matrix", "transposed")}
    groups = (n // BLOCK, n // BLOCK, 1)
    return _compare(
        programs,
        f"transpose of {n} x {n}",
        _mine(transpose, view, amp.extent(n // 4, n).tile(BLOCK // 4, BLOCK), containers, [source, target], groups),
        (_spirv("transpose"), [source, target], groups, [n]),
        lambda: bool((programs.download(target).view(np.float32).reshape(n, n) == values.T).all()),
        runs,
        8 * n * n / 1e9,
        "GB/s",
        large=n > 1024,
    )


def _products(programs: _Programs, view: Any, runs: int, n: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(2)
    values = [rng.random((n, n), np.float32) for _ in range(2)]
    a, b, c = (programs.tensor(v.ravel().view(np.uint32)) for v in (*values, np.zeros((n, n), np.float32)))
    programs.upload(a, b, c)
    expected = values[0][:40].astype(np.float64) @ values[1]
    containers = {name: amp.array_view(amp.extent(n, n // 4), amp.float4) for name in "abc"}
    groups = (n // SIDE, n // SIDE, 1)
    return _compare(
        programs,
        f"product of {n} x {n}",
        _mine(product, view, amp.extent(n // 8, n // 8).tile(16, 16), containers, [a, b, c], groups),
        (_spirv("sgemm"), [a, b, c], groups, [n, n, n]),
        lambda: bool(np.allclose(programs.download(c).view(np.float32).reshape(n, n)[:40], expected, rtol=1e-4)),
        runs,
        2 * n**3 / 1e9,
        "GFLOP/s",
        large=n > 1024,
    )


def _lowered_products(programs: _Programs, view: Any, runs: int, n: int) -> list[dict[str, Any]]:
    """The tiled product of the textbooks with its threads as loops, by vkamp and by hand, for CPU devices."""
    rng = np.random.default_rng(3)
    values = [rng.random((n, n), np.float32) for _ in range(2)]
    a, b, c = (programs.tensor(v.ravel().view(np.uint32)) for v in (*values, np.zeros((n, n), np.float32)))
    programs.upload(a, b, c)
    expected = values[0] @ values[1]
    containers = {name: amp.array_view(amp.extent(n, n), amp.float32) for name in "abc"}
    groups = (n // 16, n // 16, 1)
    kernel = amp.kernel(lowering="loops")(lowering.product)
    return _compare(
        programs,
        f"16 x 16 tiled product of {n} x {n} as loops",
        _mine(kernel, view, amp.extent(n, n).tile(16, 16), containers, [a, b, c], groups),
        (_spirv("product_loops", f"LANES={view._queue.info.limits.subgroup_size}"), [a, b, c], groups, [n]),
        lambda: bool(np.allclose(programs.download(c).view(np.float32).reshape(n, n), expected, rtol=1e-3)),
        runs,
        2 * n**3 / 1e9,
        "GFLOP/s",
        large=False,
    )


if __name__ == "__main__":
    print(json.dumps(_measure_here(sys.argv[1], int(sys.argv[2]))))
