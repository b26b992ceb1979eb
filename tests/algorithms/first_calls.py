"""The seconds of the first call of each function in a new process: ``python -m tests.algorithms.first_calls NAME...``.

The process has launched another kernel before.  It runs twice: at first neither vkamp nor the driver has kept a file,
then both have.  ``--only WORD`` keeps the rows whose names contain the word.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import vkamp as amp
from tests.algorithms import rows  # noqa: F401
from tests.algorithms.table import ROWS, data, shape_of
from tools.bench import kernels
from tools.bench.measure import child_environment, child_json

#: Elements: several runs and tiles.
ELEMENTS = 4099
#: Processors for each child, which compiles by several threads.
EACH = 4


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.algorithms.first_calls", description=__doc__)
    parser.add_argument("accelerators", nargs="+")
    parser.add_argument("--only", default="")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(seconds_here(arguments.only, arguments.accelerators[0])))
        return 0
    names = [name for name in dict.fromkeys(row.name for row in ROWS) if arguments.only in name]
    for path in arguments.accelerators:
        with ThreadPoolExecutor(max((os.cpu_count() or 1) // EACH, 1)) as pool:
            found = dict(zip(names, pool.map(lambda name, path=path: first_calls(name, path), names), strict=True))
        for k, what in enumerate(("nothing cached", "cached")):
            ordered = sorted(names, key=lambda name, k=k: -found[name][k])
            slowest = ", ".join(f"{name} {found[name][k]:.2f}" for name in ordered[:8])
            median = statistics.median(each[k] for each in found.values())
            print(f"{path}, {what}: median {median:.2f} s of {len(names)}; {slowest}", flush=True)
    return 0


def first_calls(name: str, path: str) -> tuple[float, float]:
    """Of two processes, of which the second one uses what the first one has cached."""
    with tempfile.TemporaryDirectory() as folder:
        environment = child_environment(
            VKAMP_CACHE_DIR=folder, VKAMP_SHADERS="0", MESA_SHADER_CACHE_DIR=folder, __GL_SHADER_DISK_CACHE_PATH=folder
        )
        cold, warm = (
            child_json("tests.algorithms.first_calls", path, "--only", name, "--child", environment=environment)
            for _ in range(2)
        )
    return float(cold), float(warm)


def seconds_here(name: str, path: str) -> float:
    """The seconds until a function's result is complete."""
    row = next(each for each in ROWS if each.name == name)
    view = amp.accelerator(path).default_view
    other = amp.array(np.zeros(64, np.int32), accelerator_view=view)
    amp.parallel_for_each(view, other.extent, kernels.increment, other)
    view.wait()
    given = data("random", row.dtypes[0], shape_of(row, max(row.least, ELEMENTS)))
    started = time.perf_counter()
    row.call(given, {"accelerator_view": view})
    view.wait()
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
