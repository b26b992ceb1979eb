"""The time to compile a kernel, each in a new process that has launched another kernel before."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tools.bench.measure import Measurement, Options, check, child_environment, child_json

GROUP = "compile"
KERNELS = ("tile_average", "matrix_product")


def measure(options: Options) -> Iterator[Measurement]:
    """With the kernel on disk, with its SPIR-V alone, and with nothing; the target is for the first."""
    import vkamp as amp

    # No kernels are cached for the reference accelerator, which runs the compiler's IR.
    drivers = [name for name in options.accelerators if name != "reference" and amp.accelerator(name).is_emulated]
    device = drivers[0] if drivers else "reference"
    for name in KERNELS:
        kept, compiled, cold = [], [], []
        with tempfile.TemporaryDirectory() as folder:
            _child(name, folder, device)
            for _ in range(options.runs if drivers else 0):
                kept.append(_child(name, folder, device))
            for _ in range(options.runs):
                shutil.rmtree(Path(folder, "kernels"), ignore_errors=True)
                compiled.append(_child(name, folder, device))
        for _ in range(options.runs):
            with tempfile.TemporaryDirectory() as folder:
                cold.append(_child(name, folder, device))
        if drivers:
            yield Measurement(GROUP, f"{name}, kept on disk", _column(kept, "compile"), device, target=0.01)
        yield Measurement(GROUP, f"{name}, SPIR-V cached", _column(compiled, "compile"), device)
        yield Measurement(GROUP, f"{name}, nothing cached", _column(cold, "compile"), device)
        if name == KERNELS[0]:
            if drivers:
                yield Measurement(GROUP, "the first kernel, kept on disk", _column(kept, "first"), device)
            yield Measurement(GROUP, "the first kernel: loads the compiler", _column(compiled, "first"), device)


def _column(rows: list[dict[str, float]], key: str) -> tuple[float, ...]:
    return tuple(row[key] for row in rows)


def _child(name: str, cache: str, device: str) -> dict[str, float]:
    environment = child_environment(VKAMP_CACHE_DIR=cache, VKAMP_SHADERS="0")
    found: dict[str, float] = child_json("tools.bench.compiling", name, device, environment=environment)
    return found


def _compile(name: str, device: str) -> dict[str, float]:
    """In the child: seconds to make a launch's program, and that of one before it."""
    import vkamp as amp
    from tools.bench import kernels
    from vkamp.dispatch.domain import domain_of
    from vkamp.dispatch.preparing import prepare

    view = amp.accelerator(device).default_view
    inputs: dict[str, list[Any]] = {
        "tile_average": [np.zeros((64, 48), np.float32), np.zeros((4, 3), np.float32)],
        "matrix_product": [np.zeros(shape, np.float32) for shape in ((33, 50), (50, 20), (33, 20))],
    }
    containers = tuple(amp.array_view(data) for data in inputs[name])
    domain = containers[-1 if name == "matrix_product" else 0].extent.tile(16, 16).pad()
    counts = amp.array_view(np.zeros(64, np.int32))
    check(view.accelerator.limits is not None, "the device is open")

    started = time.perf_counter()
    first = prepare(view, domain_of(counts.extent), kernels.increment, (counts,), {}).executable.spirv
    between = time.perf_counter()
    spirv = prepare(view, domain_of(domain), getattr(kernels, name), containers, {}).executable.spirv
    ended = time.perf_counter()
    check(len(spirv) > 500 and len(first) > 300, f"the SPIR-V of {name}")
    return {"first": between - started, "compile": ended - between}


if __name__ == "__main__":
    print(json.dumps(_compile(sys.argv[1], sys.argv[2])))
