"""Keeps a GPU busy on demand from a separate process until its clocks are high. A GPU with little work lowers its
clocks within about a second. Programs that wait for each short launch are little work, and would be measured at a third
of the speed. Users of this module do not need to import vkamp.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tools.bench.measure import ROOT, child_environment

__all__ = ["ahead", "heater"]

#: An H200 is at its highest clock after a tenth of a second.
_SECONDS = 0.2
#: How long the work of :func:`ahead` keeps the device busy.
_AHEAD = 0.03


def ahead(view: Any) -> Callable[[], None]:
    """A function that queues work for 30 ms on an accelerator_view. Launches that follow it without a wait find the
    device at its highest clocks; a heater in another process leaves a pause, in which the clocks may fall again.
    """
    import vkamp as amp
    from tools.bench.kernels import arithmetic

    values = amp.array(amp.extent(1 << 22), amp.float32, accelerator_view=view)

    def one() -> None:
        amp.parallel_for_each(view, values.extent, arithmetic, values)

    ended = time.perf_counter() + _SECONDS
    while time.perf_counter() < ended:
        one()
        view.wait()
    started = time.perf_counter()
    one()
    view.wait()
    many = max(1, round(_AHEAD / (time.perf_counter() - started)))

    def queue() -> None:
        for _ in range(many):
            one()

    return queue


@contextmanager
def heater(path: str) -> Iterator[Callable[[], None] | None]:
    """A function that returns when the device's clocks are up; None for one that is no GPU."""
    if not path.startswith("vulkan:"):
        yield None
        return
    command = [sys.executable, "-W", "ignore", "-m", "tools.bench.heating", path]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=child_environment()
    )

    def heat() -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        print("heat", file=process.stdin, flush=True)
        if process.stdout.readline() != "hot\n":
            raise RuntimeError(f"the process that heats the device ended with status {process.wait()}")

    assert process.stdout is not None
    with process:
        yield heat if process.stdout.readline() == "ready\n" else None


def _serve(path: str) -> None:
    """In the child: heats once for each line."""
    import vkamp as amp
    from tools.bench.kernels import arithmetic

    if amp.accelerator(path).is_emulated:
        print("no GPU", flush=True)
        return
    print("ready", flush=True)
    view = amp.accelerator(path, engine="vulkan").default_view
    values = amp.array(amp.extent(1 << 22), amp.float32, accelerator_view=view)
    for _ in sys.stdin:
        started = time.perf_counter()
        while time.perf_counter() - started < _SECONDS:
            amp.parallel_for_each(view, values.extent, arithmetic, values)
            view.wait()
        print("hot", flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1])
