"""Device times of CUB, the algorithms of CUDA's toolkit, where that is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.bench.measure import ROOT

_SOURCE = ROOT / "tools" / "bench" / "probes" / "cub.cu"
_PARTS = 6
_FOLDERS = ("/usr/local/cuda/bin",)


def device_microseconds() -> dict[str, float]:
    """The device's time for each row of ``cub.cu``; none without CUDA's compiler, and without rows that fail, whose
    errors are printed."""
    compiler = shutil.which("nvcc", path=os.pathsep.join([os.environ.get("PATH", ""), *_FOLDERS]))
    if compiler is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        programs = [Path(folder, f"part{part}") for part in range(_PARTS)]
        flags = ["-O3", "-std=c++17", "-arch=native", "--extended-lambda"]

        def compiled(part: int) -> bool:
            return _run([compiler, *flags, f"-DPART={part}", "-o", str(programs[part]), str(_SOURCE)]) is not None

        with ThreadPoolExecutor(_PARTS) as pool:
            made = list(pool.map(compiled, range(_PARTS)))
        # One after the other: they share the device.
        printed = [_run([str(program)]) for program, ok in zip(programs, made, strict=True) if ok]
    rows = (line.split("\t") for lines in printed if lines for line in lines.splitlines())
    return {name: float(microseconds) for name, microseconds in rows}


def _run(command: list[str]) -> str | None:
    """What the command prints; None if it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"tools.bench: {command[0]}: {done.stderr[-2000:]}", file=sys.stderr)
        return None
    return done.stdout
