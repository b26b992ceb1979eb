"""The first call of each function of `vkamp.algorithms`, each in a new process that has launched another kernel before.

`nothing cached`: neither vkamp nor the driver has kept a file. `cached`: the same process again.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import vkamp as amp
from tools.bench import kernels
from tools.bench.measure import Measurement, Options, child_environment, child_json

GROUP = "first-calls"
#: The longest acceptable first call, in seconds, with nothing cached and with all that another process has cached.
_COLD, _WARM = 1.0, 0.15
#: Elements: several runs and tiles.
_ELEMENTS = 4099
#: Processors for each child, which compiles by several threads.
_EACH = 4


def measure(options: Options) -> Iterator[Measurement]:
    """The slowest functions, and the median of all; the notes have the seconds of each."""
    from tests.algorithms import rows  # noqa: F401
    from tests.algorithms.table import ROWS

    names = list(dict.fromkeys(row.name for row in ROWS))
    for path in options.accelerators:
        if path == "reference":
            continue
        with ThreadPoolExecutor(max((os.cpu_count() or 1) // _EACH, 1)) as pool:
            found = dict(zip(names, pool.map(lambda name, path=path: _first_calls(name, path), names), strict=True))
        for column, (what, target) in enumerate((("nothing cached", _COLD), ("cached", _WARM))):
            seconds = {name: found[name][column] for name in names}
            slowest = max(seconds, key=lambda name: seconds[name])
            all_ = tuple(seconds.values())
            yield Measurement(GROUP, f"all functions, {what}", all_, path, notes={"seconds": seconds})
            yield Measurement(GROUP, f"{slowest}, {what}", (seconds[slowest],), path, target=target)


def _first_calls(name: str, path: str) -> tuple[float, float]:
    """The seconds of a first call in two processes, of which the second one uses what the first one has cached."""
    with tempfile.TemporaryDirectory() as folder:
        environment = child_environment(
            VKAMP_CACHE_DIR=folder, VKAMP_SHADERS="0", MESA_SHADER_CACHE_DIR=folder, __GL_SHADER_DISK_CACHE_PATH=folder
        )
        cold, warm = (child_json("tools.bench.first_calls", name, path, environment=environment) for _ in range(2))
    return float(cold), float(warm)


def _call(name: str, path: str) -> float:
    """In the child."""
    from tests.algorithms import rows  # noqa: F401
    from tests.algorithms.table import ROWS, data, shape_of

    row = next(each for each in ROWS if each.name == name)
    view = amp.accelerator(path).default_view
    other = amp.array(np.zeros(64, np.int32), accelerator_view=view)
    amp.parallel_for_each(view, other.extent, kernels.increment, other)
    view.wait()
    given = data("random", row.dtypes[0], shape_of(row, max(row.least, _ELEMENTS)))
    started = time.perf_counter()
    row.call(given, {"accelerator_view": view})
    view.wait()
    return time.perf_counter() - started


if __name__ == "__main__":
    print(json.dumps(_call(sys.argv[1], sys.argv[2])))
