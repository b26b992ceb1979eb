"""The time that CPU drivers need to compile kernels, and the slowest kernels: those of the test suite, long ones,
random ones. It is the processor time of a kernel's first launch minus that of its second one, in a new process without
the driver's cache; the SPIR-V exists before. ``python -m tools.bench.driver_compiling DEVICE RANDOM`` prints all of
them.
"""

from __future__ import annotations

import itertools
import json
import linecache
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tools.bench.measure import Measurement, Options, child_environment, child_json

GROUP = "driver_compile"
#: Seconds that a kernel may take, how many of the slowest ones are shown, and how many random kernels there are.
_TARGET, _SHOWN, _RANDOM = 2.0, 8, 50

#: Lines of long kernels of int32 ``x``, ``y``, of a tile's ``s``, of float32 ``f`` and of the private array ``p``.
_LINES = {
    "divisions": ("x = (x * 5 + la[x % 23]) // (la[(x ^ {n}) % 24] | 1)",),
    "float arithmetic": ("f = f * 1.25 + float(x) * {n}.5 - f / 3.0",),
    "conditions": ("if x > {n} and y < 7 or x == y:", "    x += {n}", "else:", "    y = y ^ x"),
    "choices": ("x = x + 3 if x > {n} else y * {n}", "y = min(max(x, -{n}), 1000 + {n})"),
    "nested loops": ("for a{n} in range(la[x % 24] % 3):", "    for b{n} in range(3):", "        x += a{n} * b{n} + y"),
    "private arrays": ("p[x % 8] += x", "x = p[(x + {n}) % 8] + 1"),
    "tile and barriers": ("s[t.local] = x", "t.barrier.wait()", "x += s[t.local[0], {n} % 8]", "t.barrier.wait()"),
    "calls": ("x = pick(x, y + {n})",),
    "unrolled": ("for u{n} in amp.static_range(32):", "    x = (x * 3 + u{n}) ^ y"),
}  # fmt: skip
_FUNCTION = (
    "@amp.func\ndef pick(x: int, y: int) -> int:\n    if x < y:\n        return x + 1\n    for k in range(3):\n"
    "        if x == k:\n            return y\n    return x - y if x % 3 == 0 else x // 3\n"
)
#: Lines of a kernel.
_SIZES = (20, 60)

_Launch = Callable[[Any], tuple[Any, Any, tuple[Any, ...], dict[str, Any]]]


def measure(options: Options) -> Iterator[Measurement]:
    """For each CPU driver: all kernels together, and the slowest ones."""
    import vkamp as amp

    for device in options.accelerators:
        if device == "reference" or not amp.accelerator(device).is_emulated:
            continue
        environment = child_environment(MESA_SHADER_CACHE_DISABLE="true", VKAMP_SHADERS="0")
        arguments = ("tools.bench.driver_compiling", device, str(_RANDOM))
        child = child_json(*arguments, environment=environment)
        times: dict[str, float] = child["seconds"]
        worst = sorted(times, key=lambda name: -times[name])[:_SHOWN]
        missed = sum(seconds > _TARGET for seconds in times.values())
        notes = {"kernels": len(times), "above_target": missed, "unsupported": child["unsupported"]}
        yield Measurement(GROUP, f"{len(times)} kernels", tuple(times.values()), device, notes=notes)
        for name in worst:
            yield Measurement(GROUP, name, (times[name],), device, target=_TARGET)


def _long(lines: tuple[str, ...], size: int) -> str:
    body = [line.format(n=n + 1) for n in range(size // len(lines)) for line in lines]
    head = [
        "s = amp.tile_static((4, 8), amp.int32)", "p = amp.private(8, amp.int32)", "x = da[t]", "y = t.local[1]",
        "f = 1.5", "for q in range(8):", "    p[q] = q",
    ]  # fmt: skip
    tail = ["s[t.local] = x", "t.barrier.wait()", "out[t] = s[3 - t.local[0], t.local[1]] + y + int(f) + p[y]"]
    text = "\n".join(f"    {line}" for line in (*head, *body, *tail))
    return f"import vkamp as amp\n{_FUNCTION}@amp.kernel\ndef k(t, da, la, out):\n{text}\n"


def _long_kernels() -> Iterator[tuple[str, _Launch]]:
    import vkamp as amp

    for (name, lines), size in itertools.product(_LINES.items(), _SIZES):
        if name == "unrolled" and size > _SIZES[0]:
            continue

        def launch(view: Any, name: str = name, lines: tuple[str, ...] = lines, size: int = size) -> Any:
            source, file = _long(lines, size), f"<{name}, {size} lines>"
            linecache.cache[file] = (len(source), None, source.splitlines(True), file)
            names: dict[str, Any] = {}
            exec(compile(source, file, "exec"), names)
            zeros = np.zeros((12, 16), np.int32)
            arguments = (
                amp.array_view(zeros),
                amp.array_view(np.arange(24, dtype=np.int32)),
                amp.array_view(zeros.copy()),
            )
            return names["k"], arguments[0].extent.tile(4, 8), arguments, {}

        yield f"{size} lines of {name}", launch


def _suite_kernels() -> Iterator[tuple[str, _Launch]]:
    import vkamp as amp
    from tools.bench.forms import _kernels

    for name, function, precise, make in _kernels():

        def launch(view: Any, function: Any = function, precise: bool = precise, make: Any = make) -> Any:
            return (amp.kernel(precise=precise)(function), *make(view))

        yield f"suite: {name}", launch


def _random_kernels(seeds: range) -> Iterator[tuple[str, _Launch]]:
    from tools.fuzz.programs import program
    from tools.fuzz.run import load

    for seed in seeds:

        def launch(view: Any, seed: int = seed) -> Any:
            loaded = load(program(seed))
            arguments = (*loaded.containers(view), *loaded.scalars())
            return loaded.kernel, loaded.domain(), arguments, dict(loaded.program.constants)

        yield f"random {seed}", launch


def _times(device: str, kernels: Iterable[tuple[str, _Launch]]) -> dict[str, Any]:
    """In the child: seconds by kernel, and how many need a feature that the device lacks."""
    import vkamp as amp

    warnings.simplefilter("ignore")
    view = amp.accelerator(device).default_view
    seconds: dict[str, float] = {}
    unsupported = 0
    for name, launch in kernels:
        try:
            kernel, domain, arguments, constants = launch(view)
            _ = kernel.inspect(view, domain, *arguments, **constants).spirv
        except amp.UnsupportedFeatureError:
            unsupported += 1
            continue
        spent = []
        for _ in range(2):
            started = time.process_time()
            amp.parallel_for_each(view, domain, kernel, *arguments, **constants)
            view.wait()
            spent.append(time.process_time() - started)
        seconds[name] = round(max(0.0, spent[0] - spent[1]), 4)
    return {"seconds": seconds, "unsupported": unsupported}


def _main(device: str, count: str, first: str = "") -> None:
    start = int(first or 0)
    random = _random_kernels(range(start, start + int(count)))
    chosen = random if first else itertools.chain(_long_kernels(), _suite_kernels(), random)
    print(json.dumps(_times(device, chosen)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
