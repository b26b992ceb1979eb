"""Kernels of the test suite on CPU devices, with their threads as threads and as loops: is any slower as loops?

The kernels are those of `tools/kernels/lowered`, and the corrected ones of `tools/kernels/corpus` that `auto` lowers to
loops. They are small, so each time is that of many launches in sequence. The ratios are medians of processor times; the
last row of a device names the kernel that gains least.
"""

from __future__ import annotations

import functools
import importlib
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import vkamp as amp
from tools.bench.measure import Measurement, Options, alternately
from vkamp.lang.kernel import KernelFunction

GROUP = "forms"
#: Launches of one time, and the seconds that they may take.
_LAUNCHES, _SECONDS = 40, 0.2
#: If the gain is smaller, the measurement is repeated with this many times as many launches, since most launches take a
#: tenth of a millisecond.
_CLOSE, _AGAIN = 1.0, 5

#: A kernel's function, whether it is precise, and a function that creates its domain, arguments and constants for a
#: view.
_Made = tuple[str, Any, bool, Callable[[Any], tuple[Any, tuple[Any, ...], dict[str, Any]]]]


def _kernels() -> Iterator[_Made]:
    # Imported here for mypy, which does not know vkamp's language.
    programs = importlib.import_module("tools.kernels.lowered").programs
    for name, make in programs.PROGRAMS.items():
        kernel = make().kernel
        yield name, kernel.function, kernel.precise, functools.partial(_of_program, make)
    for pair in importlib.import_module("tools.kernels.corpus.registry").PAIRS:
        kernel = pair.mended
        if isinstance(kernel, KernelFunction):
            yield pair.name, kernel.function, kernel.precise, functools.partial(_of_pair, pair)


def _of_program(make: Callable[[], Any], view: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    program = make()
    containers = tuple(amp.array(amp.extent(a.shape), a.dtype, a, accelerator_view=view) for a in program.arrays)
    return amp.extent(program.domain).tile(*program.tile), (*containers, *program.args), {}


def _of_pair(pair: Any, view: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    made = pair.launch()
    return made.domain, made.args, dict(made.constants)


def measure(options: Options) -> Iterator[Measurement]:
    """Processor time of a launch in both forms."""
    for accelerator in options.accelerators:
        view = amp.accelerator(accelerator).default_view
        least: tuple[float, str] | None = None
        for name, function, precise, make in _kernels():
            works = _works(view, function, precise, make)
            if works is None:
                continue
            rows = alternately(options.runs, *works)
            gain = _gain(rows)
            if gain < _CLOSE:
                rows = alternately(_AGAIN * options.runs, *works)
                gain = _gain(rows)
            least = min(least or (gain, name), (gain, name))
            yield Measurement(GROUP, name, rows[1], accelerator, notes={"speed_up_of_processor": round(gain, 2)})
        if least is not None:
            gain, name = least
            yield Measurement(GROUP, f"least gain: {name}, {gain:.2f}", (gain,), accelerator)


def _gain(rows: list[tuple[float, ...]]) -> float:
    ratios: list[float] = [threads / loops for threads, loops in zip(*rows, strict=True)]
    return statistics.median(ratios)


def _works(view: Any, function: Any, precise: bool, make: Any) -> list[Callable[[], float]] | None:
    """A number of launches as threads and as loops; ``None`` if the kernel keeps its threads by itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        domain, args, constants = make(view)
        if amp.kernel(precise=precise)(function).inspect(view, domain, *args, **constants).lowering != "loops":
            return None
        works = []
        count = _LAUNCHES
        for form in ("threads", "loops"):
            kernel = amp.kernel(lowering=form, precise=precise)(function)
            domain, args, constants = make(view)

            launch = functools.partial(amp.parallel_for_each, view, domain, kernel, *args, **constants)

            def run(count: int = 1, launch: Callable[[], Any] = launch) -> float:
                used = time.process_time()
                for _ in range(count):
                    launch()
                view.wait()
                return (time.process_time() - used) / count

            run()
            started = time.perf_counter()
            run(2)
            count = max(2, min(count, int(_SECONDS / max(1e-6, (time.perf_counter() - started) / 2))))
            works.append(run)
    return [functools.partial(work, count) for work in works]
