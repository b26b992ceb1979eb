"""The products of `vkamp.linalg`, numpy's on the host, and on CPU devices the tiled product of textbooks.

Each row of vkamp has its `speed_up` over numpy and, on CPU devices, over the textbook's in the notes. The textbook's
program takes matrices that are padded to whole tiles of 16 x 16, which is not counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import vkamp as amp
from tools.bench import lowering
from tools.bench.measure import Measurement, Options, alternately, check
from vkamp import linalg

GROUP = "blas"
#: After so many seconds a row has no further runs.
_SECONDS = 3.0
_SIDE = 16
_EXTENTS = (
    *((n, n, n) for n in (512, 256, 128, 64, 32, 16)), (100, 300, 50), (1000, 1000, 1),
)  # fmt: skip
#: Calls of one measurement on a GPU, so that waiting does not count.
_CALLS = 10


def measure(options: Options) -> Iterator[Measurement]:
    """Seconds of each call until the device has finished; results are compared with numpy's."""
    for path in options.accelerators:
        accelerator = amp.accelerator(path)
        if accelerator.device_path == "reference":
            continue
        large = () if accelerator.is_emulated else ((4096, 4096, 4096), (8192, 8192, 1))
        for extents in (*_EXTENTS, *large):
            yield from _rows(accelerator, path, extents, options.runs)


def _rows(accelerator: amp.accelerator, path: str, extents: tuple[int, int, int], runs: int) -> Iterator[Measurement]:
    view, (m, k, n) = accelerator.default_view, extents
    random = np.random.default_rng(m)
    x, y = random.random((m, k), np.float32), random.random((k, n), np.float32)
    a, b = (amp.array(each, accelerator_view=view) for each in (x, y))
    expected = x @ y
    check(np.allclose(np.asarray(linalg.matmul(a, b)), expected, rtol=1e-4), f"product of {extents}")
    calls = 1 if accelerator.is_emulated else _CALLS
    works = {
        "": _timed(lambda: linalg.matmul(a, b), view.wait, calls),
        ", numpy": _timed(lambda: x @ y, lambda: None, 1),
    }
    if accelerator.is_emulated:
        works[", textbook"] = _textbook(view, x, y, expected)
    for work in works.values():
        work()
    times = dict(zip(works, alternately(runs, *works.values(), seconds=_SECONDS), strict=True))
    own = min(times[""])
    notes: dict[str, Any] = {"GFLOP/s": round(2 * m * k * n / own / 1e9, 1)}
    notes |= {f"speed_up{peer.replace(', ', '_over_')}": round(min(v) / own, 2) for peer, v in times.items() if peer}
    for peer, values in times.items():
        name = f"product of {m} x {k} and {k} x {n}{peer}"
        yield Measurement(GROUP, name, values, path, notes={} if peer else notes)


def _timed(function: Callable[[], Any], wait: Callable[[], Any], calls: int) -> Callable[[], float]:
    """The seconds of one of a few calls."""

    def run() -> float:
        started = time.perf_counter()
        for _ in range(calls):
            kept = function()
        wait()
        del kept
        return (time.perf_counter() - started) / calls

    return run


def _textbook(view: amp.accelerator_view, x: Any, y: Any, expected: Any) -> Callable[[], float]:
    """The tiled product of the padded matrices."""
    (m, n), k = expected.shape, -(-x.shape[1] // _SIDE) * _SIDE
    rows, columns = (-(-each // _SIDE) * _SIDE for each in (m, n))
    padded = [np.zeros(shape, np.float32) for shape in ((rows, k), (k, columns))]
    for whole, part in zip(padded, (x, y), strict=True):
        whole[: part.shape[0], : part.shape[1]] = part
    a, b = (amp.array(each, accelerator_view=view) for each in padded)
    c = amp.array(amp.extent(rows, columns), np.float32, accelerator_view=view)
    kernel = amp.kernel(lowering.product)

    def product() -> None:
        amp.parallel_for_each(view, c.extent.tile(_SIDE, _SIDE), kernel, a, b, c)

    product()
    check(np.allclose(np.asarray(c)[:m, :n], expected, rtol=1e-4), "textbook's product")
    return _timed(product, view.wait, 1)
