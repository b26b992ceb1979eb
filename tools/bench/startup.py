"""The time before anything is computed: the environment's launcher, the imports, and the first launch."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import vkamp as amp
from tools.bench.first_launch import SHAPE, TILE, WORDS, numbers
from tools.bench.kernels import tile_average
from tools.bench.measure import (
    ROOT,
    Measurement,
    Options,
    alternately,
    check,
    child_environment,
    child_json,
    child_seconds,
)
from vkamp.spirv.reflection import reflect

GROUP = "startup"


def measure(options: Options) -> Iterator[Measurement]:
    """Times of whole processes; those of imports are over that of a Python that does nothing."""
    python = [sys.executable, "-c"]
    with tempfile.TemporaryDirectory() as folder:
        # Contains the bytecode of numpy, but not that of vkamp.
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
    for accelerator in options.accelerators:
        if accelerator.startswith("vulkan:") and amp.accelerator(accelerator).is_emulated:
            yield from _first_launches(options.runs, accelerator)
        if accelerator.startswith("vulkan:"):
            yield _built(options.runs, accelerator)


def _built(runs: int, accelerator: str) -> Measurement:
    """The first launch and its result in a program that ``vkamp build`` has compiled, where there is no compiler."""
    with tempfile.TemporaryDirectory() as folder:
        plain = child_environment(VKAMP_CACHE_DIR=folder, VKAMP_SHADERS="0", PYTHONPATH=str(ROOT))
        build = [sys.executable, "-m", "vkamp", "build", "-o", str(Path(folder, "artifacts")), "--device", accelerator]
        program = [str(ROOT / "tools" / "bench" / "first_launch.py"), "vkamp", accelerator]
        subprocess.run([*build, *program], check=True, stdout=subprocess.DEVNULL, cwd=ROOT, env=plain)
        changes = {"VKAMP_CACHE_SIZE": "0", "VKAMP_ARTIFACTS": str(Path(folder, "artifacts")), "PATH": ""}
        without = {**plain, **changes, "VULKAN_SDK": ""}
        child = ("tools.bench.first_launch", "built", accelerator)
        values = tuple(float(child_json(*child, environment=without)) for _ in range(runs))
    return Measurement(GROUP, "first launch of a built program, after imports", values, accelerator, target=0.2)


def _first_launches(runs: int, accelerator: str) -> Iterator[Measurement]:
    """Whole processes that launch one kernel: the starts of Python, numpy and the driver are in both."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "shader.spv")
        file.write_bytes(_spirv(accelerator))
        # There are no hand-edited shaders: this repository has some, most projects have none.
        environment = child_environment(VKAMP_CACHE_DIR=folder, VKAMP_SHADERS="0")
        child = [sys.executable, "-m", "tools.bench.first_launch"]
        number = accelerator.partition("@")[0].removeprefix("vulkan:")
        # The first of each is not counted: vkamp's fills the cache.
        vkamp, kompute = alternately(
            runs,
            lambda: child_seconds([*child, "vkamp", accelerator], environment),
            lambda: child_seconds([*child, "kp", number, str(file)], environment),
        )
    yield Measurement(GROUP, "first launch, SPIR-V cached", vkamp, accelerator, target=0.6)
    yield Measurement(GROUP, "the same by kp alone", kompute, accelerator)
    own = tuple(ours - theirs for ours, theirs in zip(vkamp, kompute, strict=True))
    yield Measurement(GROUP, "vkamp's own share", own, accelerator, target=0.15)


def _spirv(accelerator: str) -> bytes:
    """The program that the child processes launch."""
    view = amp.accelerator(accelerator).default_view
    matrix = amp.array_view(numbers())
    averages = amp.array(amp.extent(4, 4), amp.float32, accelerator_view=view)
    program = tile_average.inspect(view, amp.extent(*SHAPE).tile(*TILE), matrix, averages)
    names = [member.name for member in reflect(program.spirv).push]
    check(names == list(WORDS), f"the push constants of {program.name}: {names}")
    return bytes(program.spirv)


def _over(empty: tuple[float, ...], values: tuple[float, ...]) -> tuple[float, ...]:
    base = statistics.median(empty)
    return tuple(value - base for value in values)


def _slowest_imports(count: int) -> list[tuple[str, float]]:
    """The modules whose code, without their imports, takes longest when vkamp is imported (milliseconds)."""
    command = [sys.executable, "-X", "importtime", "-c", "import vkamp"]
    report = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=ROOT, env=child_environment()
    ).stderr
    rows = [line.split(":", 1)[1].split("|") for line in report.splitlines()[1:]]
    modules = sorted(((name.strip(), int(own) / 1e3) for own, _, name in rows), key=lambda row: -row[1])
    return modules[:count]
