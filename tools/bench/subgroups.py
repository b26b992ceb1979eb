"""Sums and scans of tiles: through tile_static memory and barriers, and by subgroup functions. The notes of each row of
subgroups contain its `speed_up` over the textbook's program.
"""

# vkamp infers the types of a kernel's parameters.
# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vkamp as amp
from tools.bench.lowering import scan, tree_sum
from tools.bench.measure import Measurement, Options, alternately, check

GROUP = "subgroups"
_ROW = 256


def subgroup_sum(t_idx, values, sums):
    partial = amp.tile_static(_ROW, amp.float32)
    total = amp.subgroup.add(values[t_idx])
    if amp.subgroup.elect():
        partial[amp.subgroup.id()] = total
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if amp.subgroup.id() == 0:
        of_tile = 0.0
        for first in range(0, amp.subgroup.count(), amp.subgroup.size()):
            k = first + amp.subgroup.lane()
            of_tile += amp.subgroup.add(partial[k] if k < amp.subgroup.count() else 0.0)
        if amp.subgroup.lane() == 0:
            sums[t_idx.tile] = of_tile


def subgroup_scan(t_idx, values, scanned):
    partial = amp.tile_static(_ROW, amp.float32)
    before = amp.tile_static(_ROW, amp.float32)
    i = t_idx.tile_origin[0] + amp.subgroup.id() * amp.subgroup.size() + amp.subgroup.lane()
    own = amp.subgroup.inclusive_add(values[i])
    if amp.subgroup.lane() == amp.subgroup.size() - 1:
        partial[amp.subgroup.id()] = own
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if amp.subgroup.id() == 0:
        carry = 0.0
        for first in range(0, amp.subgroup.count(), amp.subgroup.size()):
            k = first + amp.subgroup.lane()
            y = partial[k] if k < amp.subgroup.count() - 1 else 0.0
            rest = carry + amp.subgroup.exclusive_add(y)
            if k < amp.subgroup.count():
                before[k] = rest
            carry += amp.subgroup.add(y)
    t_idx.barrier.wait_with_tile_static_memory_fence()
    scanned[i] = own + before[amp.subgroup.id()]


def measure(options: Options) -> Iterator[Measurement]:
    """Seconds for each of several launches in a row, the data on the device; results are compared with numpy's."""
    for path in options.accelerators:
        accelerator = amp.accelerator(path)
        large = not accelerator.is_emulated and "llvmpipe" not in accelerator.description
        count, launches = (1 << 26, 20) if large else (1 << 20, 1)
        values = np.random.default_rng(1).integers(0, 4, count).astype(np.float32)
        rows = values.reshape(-1, _ROW)
        programs: list[tuple[str, Callable[..., Any], Callable[..., Any], NDArray[Any]]] = [
            ("sum", tree_sum, subgroup_sum, rows.sum(1)),
            ("scan", scan, subgroup_scan, rows.cumsum(1).ravel()),
        ]
        for name, plain, faster, expected in programs:
            works = [_work(accelerator, kernel, values, expected, launches) for kernel in (plain, faster)]
            found = alternately(options.runs, *works)
            speed_up = round(statistics.median(found[0]) / statistics.median(found[1]), 2)
            title = f"{name} of tiles of {_ROW}, 2^{count.bit_length() - 1}"
            yield Measurement(GROUP, f"{title}, tile_static", found[0], path)
            yield Measurement(GROUP, f"{title}, subgroups", found[1], path, notes={"speed_up": speed_up})


def _work(
    accelerator: amp.accelerator,
    function: Callable[..., Any],
    values: NDArray[Any],
    expected: NDArray[Any],
    launches: int,
) -> Callable[[], float]:
    """A sequence of launches, checked once; returns the seconds of each."""
    view = accelerator.default_view
    kernel: Any = amp.kernel(function)
    given = amp.array(amp.extent(values.size), amp.float32, data=values, accelerator_view=view)
    result = amp.array(amp.extent(expected.size), amp.float32, accelerator_view=view)
    domain = amp.extent(values.size).tile(_ROW)

    def run() -> float:
        view.wait()
        started = time.perf_counter()
        for _ in range(launches):
            amp.parallel_for_each(view, domain, kernel, given, result)
        view.wait()
        return (time.perf_counter() - started) / launches

    run()
    check(np.array_equal(np.asarray(result), expected), f"{function.__name__} on {accelerator.description}")
    return run
