"""What it takes to make a kernel a program, each in a fresh process that has compiled another kernel before."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from tools.bench.measure import Measurement, Options, check, child_environment, child_json

GROUP = "compile"
KERNELS = ("tile_average", "matrix_product")


def measure(options: Options) -> Iterator[Measurement]:
    """With the SPIR-V on disk, and without; the target is for the first."""
    for name in KERNELS:
        with tempfile.TemporaryDirectory() as folder:
            child = [_child(name, folder) for _ in range(options.runs + 1)][1:]
        yield Measurement(GROUP, f"{name}, SPIR-V cached", _column(child, "compile"), target=0.01)
        cold = []
        for _ in range(options.runs):
            with tempfile.TemporaryDirectory() as folder:
                cold.append(_child(name, folder))
        yield Measurement(GROUP, f"{name}, nothing cached", _column(cold, "compile"))
        if name == KERNELS[0]:
            yield Measurement(GROUP, "the first kernel: loads the compiler", _column(child, "first"))


def _column(rows: list[dict[str, float]], key: str) -> tuple[float, ...]:
    return tuple(row[key] for row in rows)


def _child(name: str, cache: str) -> dict[str, float]:
    found: dict[str, float] = child_json(
        "tools.bench.compiling", name, environment=child_environment(VKAMP_CACHE_DIR=cache)
    )
    return found


def _compile(name: str) -> dict[str, float]:
    """In the child: seconds to compile the kernel, and to compile one before it."""
    import vkamp as amp
    from tools.bench import kernels

    view = amp.accelerator("reference").default_view
    inputs: dict[str, list[Any]] = {
        "tile_average": [np.zeros((64, 48), np.float32), np.zeros((4, 3), np.float32)],
        "matrix_product": [np.zeros(shape, np.float32) for shape in ((33, 50), (50, 20), (33, 20))],
    }
    containers = [amp.array_view(data) for data in inputs[name]]
    domain = containers[-1 if name == "matrix_product" else 0].extent.tile(16, 16).pad()
    counts = amp.array_view(np.zeros(64, np.int32))

    started = time.perf_counter()
    kernels.increment.inspect(view, counts.extent, counts).spirv  # noqa: B018
    between = time.perf_counter()
    program = getattr(kernels, name).inspect(view, domain, *containers)
    spirv = program.spirv
    ended = time.perf_counter()
    check(len(spirv) > 500, f"the SPIR-V of {name}")
    return {"first": between - started, "compile": ended - between}


if __name__ == "__main__":
    print(json.dumps(_compile(sys.argv[1])))
