"""Many small tasks, and what they leave on the workers: the slice of the suite, and ``python -m tests.dask``."""

from __future__ import annotations

import gc
import time
from typing import Any

import numpy as np
import psutil

import vkamp as amp
import vkamp.dask as vd
from vkamp.dask import kernels


@amp.kernel
def scaled(idx, a, factor, out):
    out[idx] = factor * a[idx]


def scale(values: Any, factor: float) -> Any:
    """One task: a launch, whose result stays on the worker."""
    view = amp.array_view(values)
    out = amp.array(view.extent, amp.float32)
    amp.parallel_for_each(view.extent, scaled, view, factor, out)
    return out


def total(values: Any) -> float:
    """A task that reads the result of another one, on any worker."""
    return float(np.asarray(values).sum())


def left() -> dict[str, int]:
    """What a worker holds: containers, results on its device, kernels that came by value, and its memory."""
    gc.collect()
    amp.accelerator().default_view.wait()
    return {
        "arrays": sum(isinstance(each, amp.array) for each in gc.get_objects()),
        "device_memory": vd.worker_info()["device_memory"],
        "kernels": len(kernels._kernels),
        "rss": psutil.Process().memory_info().rss,
    }


def settled(client: Any) -> dict[str, dict[str, int]]:
    """What each worker holds when Dask has let go of all results, which takes it some messages."""
    end = time.monotonic() + 60
    while True:
        found: dict[str, dict[str, int]] = client.run(left)
        if not any(held["device_memory"] for held in found.values()):
            return found
        assert time.monotonic() < end, f"results are left: {found}"
        time.sleep(0.05)


def run(client: Any, count: int, first: int = 0) -> None:
    """``count`` pairs of tasks; raises unless every result is right."""
    values = np.arange(7, dtype=np.float32)
    made = client.map(scale, [values] * count, range(first, first + count), pure=False)
    sums = client.gather(client.map(total, made, pure=False))
    assert sums == [21.0 * (first + k) for k in range(count)]
