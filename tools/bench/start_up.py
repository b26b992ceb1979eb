"""What a user waits for before anything is computed.

Measures, each as the best and the median of several runs: what ``tools/env`` adds to a command, what
``import vkamp`` adds to starting Python, and the modules that take most of that.

    tools/env python tools/bench/start_up.py
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def seconds(command: list[str], runs: int) -> list[float]:
    """Wall times of `runs` runs of a command, in seconds, after one that warms the caches."""
    times = []
    for _ in range(runs + 1):
        started = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - started)
    return times[1:]


def show(title: str, times: list[float], baseline: float = 0.0) -> None:
    """Prints the best and the median of `times`, in milliseconds over the baseline."""
    best, median = ((value - baseline) * 1e3 for value in (min(times), statistics.median(times)))
    print(f"{title:<32}{best:9.1f} ms best{median:9.1f} ms median")


def slowest_imports(module: str, count: int) -> list[tuple[int, str]]:
    """The modules whose own code takes longest when `module` is imported: microseconds, name."""
    command = [sys.executable, "-X", "importtime", "-c", f"import {module}"]
    report = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    rows = [line.split(":", 1)[1].split("|") for line in report.splitlines()[1:]]
    return sorted(((int(own), name.strip()) for own, _, name in rows), reverse=True)[:count]


def main() -> None:
    """Runs the measurements and prints them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=10, help="runs of each (default: %(default)s)")
    runs = parser.parse_args().runs

    python = [sys.executable, "-c"]
    bare = min(seconds([*python, "pass"], runs))
    show("tools/env true", seconds([str(ROOT / "tools" / "env"), "true"], runs))
    show("import numpy", seconds([*python, "import numpy"], runs), bare)
    show("import vkamp", seconds([*python, "import vkamp"], runs), bare)
    print("\nslowest imports of vkamp, own time")
    for own, name in slowest_imports("vkamp", 8):
        print(f"  {own / 1e3:8.1f} ms  {name}")


if __name__ == "__main__":
    main()
