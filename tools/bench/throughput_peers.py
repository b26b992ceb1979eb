"""The times of other frameworks for the work of the group `throughput`, if they are installed. On NVIDIA devices CuPy,
PyTorch and numba-cuda use their library functions. On every device, frameworks over Vulkan, which have no such
functions, use kernels as their users write them: a copy, and the tiled product of the textbooks.
"""

# The peers are no dependencies: mypy may not find them, nor know their types.
# mypy: ignore-errors

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tools.bench import peers
from tools.bench.measure import alternately, check
from tools.bench.peers import Device

__all__ = ["rows"]

#: Floats of the copy and the sum: 1 GiB; the sides of the matrices.
_COUNT, _TRANSPOSED, _MULTIPLIED = 1 << 28, 8192, 4096
_WORKS = {
    "copy of 1024 MiB": ("GB/s", 8 * _COUNT / 1e9),
    "sum of 1024 MiB": ("GB/s", 4 * _COUNT / 1e9),
    f"transpose of {_TRANSPOSED} x {_TRANSPOSED}": ("GB/s", 8 * _TRANSPOSED**2 / 1e9),
    f"product of {_MULTIPLIED} x {_MULTIPLIED}": ("GFLOP/s", 2 * _MULTIPLIED**3 / 1e9),
}

#: One piece of work, and whether its result was right when it ran.
_Work = tuple[Callable[[], Any], Callable[[], bool]]


def rows(device: Device, runs: int, large: bool) -> list[dict[str, Any]]:
    """A row for each work and peer; one that does not run here has no times. `large`: as for a GPU."""
    made = []
    for peer in _VULKAN:
        made += _rows_over_vulkan(peer, device, runs, *((_COUNT, 4096) if large else (1 << 22, 512)))
    return made + (_rows_over_cuda(runs) if device.nvidia else [])


def _missing(peer: str, why: str) -> dict[str, Any]:
    return {"name": f"all of these, {peer}", "values": [], "target": None, "notes": {"missing": why}}


def _rows_over_cuda(runs: int) -> list[dict[str, Any]]:
    made = []
    for peer, module, works in (("CuPy", "cupy", _cupy), ("PyTorch", "torch", _torch), ("numba-cuda", "numba", _numba)):
        if importlib.util.find_spec(module) is None:
            made.append(_missing(peer, "not installed"))
            continue
        try:
            made += _rows_of(peer, works, runs)
        except Exception as error:  # whatever a peer fails by here, it shall not end the others' measuring
            lines = str(error).splitlines()
            made.append(_missing(peer, f"fails here: {type(error).__name__}: {lines[0] if lines else ''}"))
    return made


def _rows_of(peer: str, works: Callable[[], Any], runs: int) -> list[dict[str, Any]]:
    made = []
    finish, found = works()
    for name, (work, right) in found.items():
        unit, amount = _WORKS[name]
        values = _timed(work, finish, runs)
        check(right(), f"{name} by {peer}")
        notes = {unit: round(amount / statistics.median(values), 1)}
        made.append({"name": f"{name}, {peer}", "values": values, "target": None, "notes": notes})
    return made


def _timed(work: Callable[[], Any], finish: Callable[[], Any], runs: int) -> tuple[float, ...]:
    """Seconds of one, by the slope between one and many."""

    def times(count: int) -> float:
        started = time.perf_counter()
        for _ in range(count):
            work()
        finish()
        return time.perf_counter() - started

    times(2)
    many = max(1, min(200, round(0.2 / max(times(2) / 2, 1e-6))))
    (values,) = alternately(runs, lambda: (times(1 + many) - times(1)) / many)
    return values


def _inputs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return (
        rng.random(_COUNT, np.float32),
        rng.random((_TRANSPOSED, _TRANSPOSED), np.float32),
        rng.random((_MULTIPLIED, _MULTIPLIED), np.float32),
    )


def _near(found: float, values: np.ndarray) -> bool:
    wanted = float(values.sum(dtype=np.float64))
    return abs(found - wanted) < 1e-4 * wanted


def _is_square(found: np.ndarray, factor: np.ndarray) -> bool:
    return bool(np.allclose(found[:40], factor[:40].astype(np.float64) @ factor, rtol=1e-4))


def _cupy() -> tuple[Callable[[], Any], dict[str, _Work]]:
    import cupy as cp

    values, matrix, factor = _inputs()
    a, m, f = cp.asarray(values), cp.asarray(matrix), cp.asarray(factor)
    b, t, p = cp.empty_like(a), cp.empty_like(m), cp.empty_like(f)
    total = cp.zeros((), cp.float32)
    works = (
        (lambda: cp.copyto(b, a), lambda: bool((a == b).all())),
        (lambda: cp.sum(a, out=total), lambda: _near(float(total), values)),
        (lambda: cp.copyto(t, m.T), lambda: bool((t == m.T).all())),
        (lambda: cp.matmul(f, f, out=p), lambda: _is_square(p.get(), factor)),
    )
    return cp.cuda.Device().synchronize, dict(zip(_WORKS, works, strict=True))


def _torch() -> tuple[Callable[[], Any], dict[str, _Work]]:
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    values, matrix, factor = _inputs()
    a, m, f = (torch.from_numpy(v).cuda() for v in (values, matrix, factor))
    b, t, p = torch.empty_like(a), torch.empty_like(m), torch.empty_like(f)
    total = torch.zeros((), device="cuda")
    works = (
        (lambda: b.copy_(a), lambda: torch.equal(a, b)),
        (lambda: torch.sum(a, dim=0, out=total), lambda: _near(float(total), values)),
        (lambda: t.copy_(m.T), lambda: torch.equal(t, m.T)),
        (lambda: torch.mm(f, f, out=p), lambda: _is_square(p.cpu().numpy(), factor)),
    )
    return torch.cuda.synchronize, dict(zip(_WORKS, works, strict=True))


def _numba() -> tuple[Callable[[], Any], dict[str, _Work]]:
    from numba import cuda

    @cuda.jit
    def copy(source, target):
        i = cuda.grid(1)
        if i < source.size:
            target[i] = source[i]

    add = cuda.reduce(lambda x, y: x + y)
    values, _, _ = _inputs()
    a = cuda.to_device(values)
    b, total = cuda.device_array_like(a), cuda.device_array(1, np.float32)
    launch = copy[(_COUNT + 255) // 256, 256]
    works = (
        (lambda: launch(a, b), lambda: bool((b.copy_to_host() == values).all())),
        (lambda: add(a, res=total), lambda: _near(float(total.copy_to_host()[0]), values)),
    )
    return cuda.synchronize, dict(zip(_WORKS, works, strict=False))


# -- over Vulkan, each in a child process ------------------------------------------------------------------------------


def _rows_over_vulkan(peer: str, device: Device, runs: int, count: int, n: int) -> list[dict[str, Any]]:
    found = peers.ask(__name__, peer, device, runs, count, n, seconds=60)
    if "missing" in found:
        return [_missing(peer, found["missing"])]
    units = {"copy": ("GB/s", 8 * count / 1e9), "product": ("GFLOP/s", 2 * n**3 / 1e9)}
    names = {"copy": f"copy of {count >> 18} MiB", "product": f"16 x 16 tiled product of {n} x {n}"}
    made = []
    for work, values in found.items():
        unit, amount = units[work]
        notes = {unit: round(amount / statistics.median(values), 1), **peers.versions(peer)}
        made.append({"name": f"{names[work]}, {peer}", "values": values, "target": None, "notes": notes})
    return made


def _measure_here(peer: str, device: Device, runs: str, count: str, n: str) -> dict[str, Any]:
    """In the child: seconds by work."""
    rng = np.random.default_rng(1)
    values, factor = rng.random(int(count), np.float32), rng.random((int(n), int(n)), np.float32)
    finish, works = _VULKAN[peer](device, values, factor)
    found = {}
    for name, (work, right) in works.items():
        found[name] = _timed(work, finish, int(runs))
        check(right(), f"{name} by {peer}")
    return found


#: The function that waits, and the works by name.
_Vulkan = tuple[Callable[[], Any], dict[str, _Work]]


def _wgpu(device: Device, values: np.ndarray, _: np.ndarray) -> _Vulkan:
    import wgpu

    # A row of workgroups may have 65535; ids count on from row to row.
    row = 1024
    shader = f"""
        @group(0) @binding(0) var<storage, read> source: array<vec4<f32>>;
        @group(0) @binding(1) var<storage, read_write> copied: array<vec4<f32>>;

        @compute @workgroup_size(256)
        fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
            let i = id.y * {row * 256}u + id.x;
            copied[i] = source[i];
        }}
    """
    gpu = peers.wgpu_device(device)
    usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
    source = gpu.create_buffer_with_data(data=values, usage=usage)
    copied = gpu.create_buffer(size=values.nbytes, usage=usage)
    module = gpu.create_shader_module(code=shader)
    pipeline = gpu.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})
    entries = [{"binding": number, "resource": {"buffer": each}} for number, each in enumerate((source, copied))]
    group = gpu.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)

    def copy() -> None:
        encoder = gpu.create_command_encoder()
        work = encoder.begin_compute_pass()
        work.set_pipeline(pipeline)
        work.set_bind_group(0, group)
        work.dispatch_workgroups(row, values.size // (4 * 256 * row))
        work.end()
        gpu.queue.submit([encoder.finish()])

    def right() -> bool:
        return bool((np.frombuffer(gpu.queue.read_buffer(copied), np.float32) == values).all())

    return lambda: gpu.queue.read_buffer(copied, 0, 16), {"copy": (copy, right)}


def _numba_vulkan(device: Device, values: np.ndarray, factor: np.ndarray) -> _Vulkan:
    import numba_vulkan as nv

    @nv.jit
    def copy(source, copied):
        i = nv.global_id(0)
        if i < source.shape[0]:
            copied[i] = source[i]

    @nv.jit
    def product(a, b, c):
        tile_a = nv.shared.array((16, 16), np.float32)
        tile_b = nv.shared.array((16, 16), np.float32)
        x, y = nv.global_id(0), nv.global_id(1)
        tx, ty = nv.local_id(0), nv.local_id(1)
        total = np.float32(0)
        for first in range(0, a.shape[1], 16):
            tile_a[ty, tx] = a[y, first + tx]
            tile_b[ty, tx] = b[first + ty, x]
            nv.barrier()
            for k in range(16):
                total += tile_a[ty, k] * tile_b[k, tx]
            nv.barrier()
        c[y, x] = total

    nv.select_device(device.name)
    source, f = nv.to_device(values), nv.to_device(factor)
    copied, p = nv.device_array_like(source), nv.device_array_like(f)
    everywhere, tiles = copy.forall(values.size), product[(len(factor) // 16,) * 2, (16, 16)]
    return nv.synchronize, {
        "copy": (lambda: everywhere(source, copied), lambda: bool((copied.copy_to_host() == values).all())),
        "product": (lambda: tiles(f, f, p), lambda: _is_square(p.copy_to_host(), factor)),
    }


def _taichi(device: Device, values: np.ndarray, factor: np.ndarray) -> _Vulkan:
    ti = peers.taichi(device, cuda=False)
    block, n = ti.simt.block, len(factor)

    def copy(source, copied):
        for i in source:
            copied[i] = source[i]

    def product(a, b, c):
        ti.loop_config(block_dim=256)
        for thread in range(n * n):
            tile_a = block.SharedArray((16, 16), ti.f32)
            tile_b = block.SharedArray((16, 16), ti.f32)
            tile, row, col = thread // 256, thread % 256 // 16, thread % 16
            y, x = tile // (n // 16) * 16 + row, tile % (n // 16) * 16 + col
            total = 0.0
            for step in range(n // 16):
                tile_a[row, col] = a[y, 16 * step + col]
                tile_b[row, col] = b[16 * step + row, x]
                block.sync()
                for k in range(16):
                    total += tile_a[row, k] * tile_b[k, col]
                block.sync()
            c[y, x] = total

    # Its decorator reads the annotations themselves, not their text.
    line, matrix = ti.types.ndarray(dtype=ti.f32, ndim=1), ti.types.ndarray(dtype=ti.f32, ndim=2)
    copy.__annotations__ = {"source": line, "copied": line}
    product.__annotations__ = {"a": matrix, "b": matrix, "c": matrix}
    copy, product = ti.kernel(copy), ti.kernel(product)
    source, copied = (ti.ndarray(ti.f32, values.size) for _ in range(2))
    f, p = (ti.ndarray(ti.f32, factor.shape) for _ in range(2))
    source.from_numpy(values)
    f.from_numpy(factor)
    return ti.sync, {
        "copy": (lambda: copy(source, copied), lambda: bool((copied.to_numpy() == values).all())),
        "product": (lambda: product(f, f, p), lambda: _is_square(p.to_numpy(), factor)),
    }


_VULKAN = {"wgpu-py": _wgpu, "numba-vulkan": _numba_vulkan, "Taichi, Vulkan": _taichi}

if __name__ == "__main__":
    peers.answer(_measure_here)
