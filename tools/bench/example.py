"""The photo example as a user runs it a second time: a whole process, checked by its own comparison with numpy."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tools.bench.measure import ROOT, Measurement, Options, alternately, check, child_environment

GROUP = "example"
_PRINTED = r"compile  ([\d.]+) ms[^\n]*\nrun      ([\d.]+) ms the first time, ([\d.]+) ms again"


def measure(options: Options) -> Iterator[Measurement]:
    """Wall time of the process, and the times that the example prints, on each accelerator."""
    for accelerator in options.accelerators:
        with tempfile.TemporaryDirectory() as folder:
            printed: list[tuple[float, ...]] = []
            output = Path(folder, "tile_average.png")
            (wall,) = alternately(options.runs, lambda: _run(accelerator, output, printed))  # noqa: B023
        compiling, first, again = zip(*printed[1:], strict=True)
        yield Measurement(GROUP, "second run, whole process", wall, accelerator, target=3.0)
        yield Measurement(GROUP, "compile, SPIR-V cached, the compiler's import with it", compiling, accelerator)
        yield Measurement(GROUP, "first three launches, the driver's compile with them", first, accelerator)
        yield Measurement(GROUP, "the same again, copies in and out", again, accelerator)


def _run(accelerator: str, output: Path, printed: list[tuple[float, ...]]) -> float:
    program = str(ROOT / "examples" / "tile_average.py")
    command = [sys.executable, program, "--accelerator", accelerator, "--output", str(output)]
    started = time.perf_counter()
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=child_environment())
    seconds = time.perf_counter() - started
    check(result.returncode == 0 and output.stat().st_size > 0, f"the example on {accelerator}:\n{result.stdout}")
    found = re.search(_PRINTED, result.stdout)
    assert found is not None, result.stdout
    printed.append(tuple(float(text) / 1e3 for text in found.groups()))
    return seconds
