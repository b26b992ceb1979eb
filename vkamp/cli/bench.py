"""``vkamp bench``: common work on this machine's devices, beside numpy and what else is installed."""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.progress import Progress

import vkamp as amp
from vkamp import algorithms, fft, linalg, rng
from vkamp.cli.console import print_json, print_table, say
from vkamp.errors import AmpError
from vkamp.tuning.report import shown

#: Rounds, each of which measures every library once, and the least seconds of one measurement.
_ROUNDS, _LEAST = 5, 0.05
_PEERS = ("numpy", "torch", "cupy")

_Work = Callable[[], Any]


@click.command()
@click.option("--accelerator", "path", help="The device, as for VKAMP_ACCELERATOR.")
@click.option("--work", "chosen", multiple=True, help="Only the benchmarks whose names contain this; may be repeated.")
@click.option("--peer", "peers", multiple=True, type=click.Choice(_PEERS), help="Only these peers.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--small", is_flag=True, help="Small inputs, for a quick look.")
def bench(path: str | None, chosen: tuple[str, ...], peers: tuple[str, ...], as_json: bool, small: bool) -> int:
    """Time common work on a device, beside numpy, and PyTorch and CuPy on CUDA devices if they are installed.

    Each result is compared with numpy's before anything is timed.  Times are the least of several rounds, without the
    copies between host and device.
    """
    view = amp.accelerator(path).default_view if path else amp.accelerator().default_view
    works = {n: w for n, w in _works(small or view.accelerator.is_emulated).items() if _is_chosen(n, chosen)}
    if not works:
        raise AmpError(f"no benchmark's name contains {' or '.join(chosen)}: {', '.join(_works(True))}")
    names = [each for each in peers or _PEERS if _is_there(each)]
    rows: list[dict[str, Any]] = []
    with Progress(console=Console(stderr=True), transient=True) as display:
        task = display.add_task("measuring", total=len(works))
        for name, (inputs, functions) in works.items():
            display.update(task, description=name)
            rows.append({"work": name, **_times(view, inputs(), functions, names)})
            display.advance(task)
    if as_json:
        print_json({"accelerator": view.accelerator.description, "rows": rows})
        return 0
    say(view.accelerator.description, "bold")
    print_table(
        ("", "vkamp", *(f"{each} (vkamp's speed)" for each in names)),
        [(row["work"], shown(row["vkamp"]), *(_beside(row, each) for each in names)) for row in rows],
    )
    return 0


def _is_chosen(name: str, chosen: tuple[str, ...]) -> bool:
    return not chosen or any(each in name for each in chosen)


def _is_there(peer: str) -> bool:
    """Whether a peer is installed, and has a device."""
    if peer == "numpy":
        return True
    if importlib.util.find_spec(peer) is None:
        return False
    module = importlib.import_module(peer)
    try:
        return bool(module.cuda.is_available())
    except (AttributeError, RuntimeError):
        return False


def _works(small: bool) -> dict[str, tuple[Callable[[], list[Any]], dict[str, Callable[..., Any]]]]:
    """Inputs, and what computes the result from them, by name."""
    n, side, large = (1 << 20, 1024, 512) if small else (1 << 26, 8192, 4096)
    random = np.random.default_rng(1)

    def line() -> list[Any]:
        return [random.random(n, np.float32)]

    def square() -> list[Any]:
        return [random.random((side, side), np.float32)]

    def product(size: int) -> Callable[[], list[Any]]:
        return lambda: [random.random((size, size), np.float32) for _ in range(2)]

    def keys() -> list[Any]:
        return [random.integers(0, 1 << 31, n, np.int32)]

    def waves() -> list[Any]:
        return [random.random((n // 1024, 1024), np.float32).astype(np.complex64)]

    def by_name(name: str, **others: Any) -> dict[str, Callable[..., Any]]:
        return {peer: others.get(peer) or (lambda *a, m=peer: getattr(_module(m), name)(*a)) for peer in _PEERS}

    return {
        f"sum of {n}": (line, {"vkamp": algorithms.sum, **by_name("sum")}),
        f"cumulative sum of {n}": (
            line, {"vkamp": algorithms.cumulative_sum, **by_name("cumsum", torch=lambda a: a.cumsum(0))},
        ),
        f"sort of {n} int32": (
            keys, {"vkamp": algorithms.sort, **by_name("sort", torch=lambda a: a.sort().values)},
        ),
        f"transpose of {side} x {side}": (
            square,
            {
                "vkamp": algorithms.transpose, "numpy": lambda a: np.ascontiguousarray(a.T),
                "torch": lambda a: a.T.contiguous(), "cupy": lambda a: a.T.copy(),
            },
        ),
        "product of 256 x 256": (product(256), {"vkamp": linalg.matmul, **by_name("matmul")}),
        f"product of {large} x {large}": (product(large), {"vkamp": linalg.matmul, **by_name("matmul")}),
        f"{n // 1024} transforms of 1024": (
            waves,
            {
                "vkamp": fft.fft, "numpy": np.fft.fft, "torch": lambda a: _module("torch").fft.fft(a),
                "cupy": lambda a: _module("cupy").fft.fft(a),
            },
        ),
        f"{n} random numbers": (lambda: [n], _random_numbers()),
    }  # fmt: skip


def _random_numbers() -> dict[str, Callable[..., Any]]:
    generator, host = rng.Generator(rng.Philox(1)), np.random.Generator(np.random.Philox(1))
    return {
        "vkamp": lambda n: generator.random(n, np.float32),
        "numpy": lambda n: host.random(n, np.float32),
        "torch": lambda n: _module("torch").rand(n, device="cuda"),
        "cupy": lambda n: _module("cupy").random.random(n, dtype=np.float32),
    }


def _module(name: str) -> Any:
    return importlib.import_module(name)


def _times(
    view: amp.accelerator_view, inputs: list[Any], functions: dict[str, Callable[..., Any]], peers: list[str]
) -> dict[str, float]:
    """The least seconds of a call by each."""
    works: dict[str, tuple[_Work, _Work]] = {}
    for name in ("vkamp", *peers):
        given = [_moved(each, name, view) for each in inputs]
        works[name] = (lambda f=functions[name], g=given: f(*g)), _waits(name, view)  # type: ignore[misc]
    if isinstance(inputs[0], np.ndarray):
        _compare(np.asarray(works["vkamp"][0]()), np.asarray(functions["numpy"](*inputs)))
    counts = {name: _count(*work) for name, work in works.items()}
    times = {name: float("inf") for name in works}
    for _ in range(_ROUNDS):
        for name, work in works.items():
            times[name] = min(times[name], _timed(*work, counts[name]) / counts[name])
    return times


def _moved(value: Any, name: str, view: amp.accelerator_view) -> Any:
    if not isinstance(value, np.ndarray) or name == "numpy":
        return value
    if name == "vkamp":
        return amp.array(amp.extent(*value.shape), value.dtype, value, accelerator_view=view)
    return _module("torch").from_numpy(value).cuda() if name == "torch" else _module("cupy").asarray(value)


def _waits(name: str, view: amp.accelerator_view) -> _Work:
    if name == "vkamp":
        return view.wait
    if name == "numpy":
        return lambda: None
    return _module("torch").cuda.synchronize if name == "torch" else _module("cupy").cuda.Device().synchronize  # type: ignore[no-any-return]


def _compare(found: Any, wanted: Any) -> None:
    difference = np.abs(found.astype(wanted.dtype) - wanted)
    if float(np.max(difference)) > 1e-3 * float(np.max(np.abs(wanted))):
        raise AmpError("the device's result differs from numpy's: report it, with the output of `vkamp info`")


def _timed(work: _Work, wait: _Work, count: int) -> float:
    wait()
    started = time.perf_counter()
    for _ in range(count):
        kept = work()
    wait()
    spent = time.perf_counter() - started
    del kept
    return spent


def _count(work: _Work, wait: _Work) -> int:
    """The calls of a measurement that lasts long enough; the first calls compile."""
    for _ in range(3):
        _timed(work, wait, 1)
    return max(1, min(200, int(_LEAST / max(_timed(work, wait, 1), 1e-6))))


def _beside(row: dict[str, Any], peer: str) -> str:
    return f"{shown(row[peer])} ({row[peer] / row['vkamp']:.2f})"
