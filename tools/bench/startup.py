"""What a user waits for before anything is computed: the environment's launcher, and the imports."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from tools.bench.measure import ROOT, Measurement, Options, alternately, child_environment, child_seconds

GROUP = "startup"


def measure(options: Options) -> Iterator[Measurement]:
    """Times of whole processes; those of imports are over that of a Python that does nothing."""
    python = [sys.executable, "-c"]
    with tempfile.TemporaryDirectory() as folder:
        # Holds numpy's bytecode, and never gets vkamp's.
        uncompiled_environment = child_environment(PYTHONPYCACHEPREFIX=folder)
        child_seconds([*python, "import numpy"], uncompiled_environment)
        empty, launched, numpy, vkamp, uncompiled = alternately(
            options.runs,
            lambda: child_seconds([*python, "pass"]),
            lambda: child_seconds([str(ROOT / "tools" / "env"), "true"]),
            lambda: child_seconds([*python, "import numpy"]),
            lambda: child_seconds([*python, "import vkamp"]),
            lambda: child_seconds([sys.executable, "-B", "-c", "import vkamp"], uncompiled_environment),
        )
    yield Measurement(GROUP, "tools/env true", launched, target=0.3)
    yield Measurement(GROUP, "python -c pass", empty)
    yield Measurement(GROUP, "import numpy", _over(empty, numpy))
    slowest = {"slowest_modules_ms": dict(_slowest_imports(8))}
    yield Measurement(GROUP, "import vkamp", _over(empty, vkamp), target=0.25, notes=slowest)
    yield Measurement(GROUP, "import vkamp, without its bytecode", _over(empty, uncompiled))


def _over(empty: tuple[float, ...], values: tuple[float, ...]) -> tuple[float, ...]:
    base = statistics.median(empty)
    return tuple(value - base for value in values)


def _slowest_imports(count: int) -> list[tuple[str, float]]:
    """The modules whose own code takes longest when vkamp is imported, in milliseconds."""
    command = [sys.executable, "-X", "importtime", "-c", "import vkamp"]
    report = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=ROOT, env=child_environment()
    ).stderr
    rows = [line.split(":", 1)[1].split("|") for line in report.splitlines()[1:]]
    modules = sorted(((name.strip(), int(own) / 1e3) for own, _, name in rows), key=lambda row: -row[1])
    return modules[:count]
