"""The command ``python -m tests.dask``: 10,000 small tasks on two workers, and the memory that they leave."""

from __future__ import annotations

import argparse
import time

from distributed import Client

import vkamp.dask as vd
from tests.dask import tasks


def main() -> int:
    """Prints what each worker holds after every tenth of the tasks; 1 if it grows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--workers", nargs="*", default=["swiftshader@vulkan", "llvmpipe@vulkan"])
    options = parser.parse_args()
    step = options.count // 10
    with vd.LocalCluster(options.workers, dashboard_address=None) as cluster, Client(cluster) as client:
        start = time.perf_counter()
        history = []
        for part in range(10):
            # A step is two tasks for each result.
            tasks.run(client, step // 2, part * step // 2)
            history.append(tasks.settled(client))
            seconds = time.perf_counter() - start
            print(f"{(part + 1) * step} tasks, {seconds:.1f} s: {[*history[-1].values()]}", flush=True)
    grown = []
    for worker, last in history[-1].items():
        early = history[2][worker]
        grown += [
            f"{name}: {early[name]} -> {last[name]}"
            for name in ("arrays", "device_memory", "kernels")
            if last[name] > early[name]
        ]
        if last["rss"] > early["rss"] * 1.05:
            grown.append(f"rss: {early['rss']} -> {last['rss']}")
    print("\n".join(["grown:", *grown]) if grown else "nothing grows")
    return bool(grown)


if __name__ == "__main__":
    raise SystemExit(main())
