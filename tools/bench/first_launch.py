"""The smallest whole program, by vkamp and by kp alone: a kernel's first launch in a process, and its result.

python -m tools.bench.first_launch vkamp DEVICE | kp NUMBER SPIRV_FILE | built DEVICE

The last one finds no GLSL compiler, and prints the seconds from the end of the imports to the result.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SHAPE, TILE = (8, 8), (2, 2)
#: The push constants of this launch's shader, with their names.
WORDS = {"matrix_extent_1": 8, "averages_extent_1": 4}


def by_vkamp(device: str) -> Any:
    """All of it, as a user writes it."""
    import vkamp as amp
    from tools.bench.kernels import tile_average

    view = amp.accelerator(device).default_view
    matrix = amp.array_view(numbers())
    averages = amp.array(amp.extent(4, 4), amp.float32, accelerator_view=view)
    amp.parallel_for_each(view, matrix.extent.tile(*TILE), tile_average, matrix, averages)
    return np.asarray(averages).ravel()


def by_kp(number: str, file: str) -> Any:
    """The same SPIR-V on the same device."""
    import kp

    manager = kp.Manager(int(number))
    matrix = manager.tensor(numbers().ravel())
    averages = manager.tensor(np.zeros(16, np.float32))
    words = np.array([*WORDS.values()], np.uint32).view(np.float32).tolist()
    algorithm = manager.algorithm([matrix, averages], Path(file).read_bytes(), (4, 4, 1), [], words)
    sequence = manager.sequence().record(kp.OpTensorSyncDevice([matrix, averages]))
    sequence.record(kp.OpAlgoDispatch(algorithm, words)).record(kp.OpTensorSyncLocal([averages])).eval()
    # A copy, since the manager frees the memory.
    return averages.data().copy()


def numbers() -> Any:
    """The matrix."""
    return np.arange(64, dtype=np.float32).reshape(SHAPE)


def built(device: str) -> Any:
    """As ``by_vkamp``, without a compiler."""
    import tools.bench.kernels  # noqa: F401 - what the program imports before it starts
    from vkamp.spirv import glslang

    glslang.cmeel_prefixes = lambda: iter(())
    started = time.perf_counter()
    result = by_vkamp(device)
    print(time.perf_counter() - started)
    return result


if __name__ == "__main__":
    programs: dict[str, Callable[..., Any]] = {"vkamp": by_vkamp, "kp": by_kp, "built": built}
    found = programs[sys.argv[1]](*sys.argv[2:])
    if found.tolist() != numbers().reshape(4, 2, 4, 2).mean((1, 3)).ravel().tolist():
        sys.exit(f"wrong averages: {found}")
