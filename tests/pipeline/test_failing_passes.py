"""Passes that fail for a reason that is not the kernel's: what the user sees, and that results stay right."""

from __future__ import annotations

import importlib
import linecache
import os
import re
import subprocess
import sys
import textwrap
import warnings
from collections import OrderedDict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.programs import I32
from vkamp.dispatch import preparing
from vkamp.ir.passes import OPTIONAL, PASSES

#: Where each pass begins: a function of its module, as the pipeline calls it.
PLACES = {
    "front end": "vkamp.pipeline.compiler.lower_function",
    "verifier": "vkamp.ir.reverification.verify",
    "uniformity": "vkamp.pipeline.compiler.check_uniformity",
    "certain races": "vkamp.pipeline.compiler.check_certain_races",
    "races": "vkamp.pipeline.compiler.judge_races",
    "facts": "vkamp.pipeline.compiler.types_in_use",
    "loops": "vkamp.lower.loops",
    "places": "vkamp.pipeline.passes.lower_places",
    "results": "vkamp.pipeline.passes.direct_results",
    "quotients": "vkamp.pipeline.passes.split_quotients",
    "unroller": "vkamp.pipeline.compiler.unrolled",
    "pieces": "vkamp.pipeline.passes.in_pieces",
    "elements": "vkamp.pipeline.passes.read_once",
    "printer": "vkamp.emit.shader.function_lines",
    "check mode": "vkamp.pipeline.checked._instrument",
    "reference accelerator": "vkamp.sim.launch.translate",
}


def test_every_pass_has_a_place_here():
    assert set(PLACES) | {"glslang"} == set(PASSES)


@pytest.fixture(autouse=True)
def nothing_is_compiled_already(monkeypatch, tmp_path):
    monkeypatch.setenv("VKAMP_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(preparing, "_cache", OrderedDict())


def define() -> Any:
    """A kernel that every pass has work in."""

    @amp.func
    def twice(x):
        return 2 * x

    @amp.kernel
    def reversed_sums(t, values, out):
        tile = amp.tile_static(8, amp.int32)
        tile[t.local] = values[t]
        t.barrier.wait()
        total = amp.uniform(tile[3])
        for k in amp.static_range(3):
            total += tile[(t.local[0] + k) % 8] * (k + 1)
        out[t] = twice(tile[7 - t.local[0]]) + total

    return reversed_sums


VALUES = np.arange(16, dtype=I32) ** 2 % 23


def expected() -> list[int]:
    rows = VALUES.reshape(2, 8)
    sums = sum((k + 1) * np.roll(rows, -k, axis=1) for k in range(3))
    return (2 * rows[:, ::-1] + sums + rows[:, 3:4]).ravel().tolist()


def run(view: amp.accelerator_view) -> list[int]:
    values, out = amp.array_view(VALUES.copy()), amp.array_view(np.zeros(16, I32))
    amp.parallel_for_each(view, amp.extent(16).tile(8), define(), values, out)
    return np.asarray(out).tolist()


def plant(monkeypatch: pytest.MonkeyPatch, name: str, error: BaseException | None = None) -> None:
    """Makes a pass fail."""

    def fail(*_: Any, **__: Any) -> Any:
        raise error or KeyError("planted")

    module, _, function = PLACES[name].rpartition(".")
    monkeypatch.setattr(importlib.import_module(module), function, fail)


#: Of the passes that a launch cannot do without: on which accelerator, in which environment they run.
REQUIRED = {name: ("swiftshader", {}) for name in PLACES.keys() - OPTIONAL.keys()} | {
    "check mode": ("swiftshader", {"VKAMP_CHECK": "1"}),
    "verifier": ("swiftshader", {"VKAMP_VERIFY": "1"}),
    "reference accelerator": ("reference", {}),
}


def view_of(name: str) -> amp.accelerator_view:
    return amp.accelerator(name).default_view


@pytest.mark.parametrize("name", sorted(REQUIRED))
def test_a_pass_that_is_needed_fails_with_an_error_that_says_so(name, monkeypatch):
    accelerator, environment = REQUIRED[name]
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    plant(monkeypatch, name)
    with pytest.raises(amp.InternalCompilerError) as caught:
        run(view_of(accelerator))
    error = caught.value
    assert isinstance(error, amp.AmpError) and isinstance(error.__cause__, KeyError)
    assert (error.compiler_pass, error.kernel) == (name, "reversed_sums")
    text = re.sub(r"\(\S*test_failing_passes\.py:\d+\)", "(FILE:LINE)", str(error))
    text = re.sub(r"\[test_failing_passes\.py:\d+\]", "[FILE:LINE]", text)
    assert text == (
        f"vkamp's pass {name!r} failed on the kernel reversed_sums (FILE:LINE): KeyError: 'planted' [FILE:LINE]. "
        "This is a fault of vkamp, not of the kernel: please report it, with the kernel and this message. "
        f"Until it is fixed: {PASSES[name]}."
    )


@pytest.mark.parametrize("lowering", ["loops", "threads"])
@pytest.mark.parametrize("name", sorted(OPTIONAL))
def test_a_launch_does_without_a_pass_that_is_not_needed(accelerator_view, name, lowering, monkeypatch):
    monkeypatch.setenv("VKAMP_LOWERING", lowering)
    plant(monkeypatch, name)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert run(accelerator_view) == expected()
    # The other passes are for the shader, which the reference accelerator does not need.
    is_reference = accelerator_view.accelerator.device_path == "reference"
    unused = name != "races" if is_reference else (name, lowering) == ("loops", "threads")
    texts = [str(w.message) for w in said if w.category is amp.InternalCompilerWarning]
    assert len(texts) == (0 if unused else 1)
    for text in texts:
        assert f"pass {name!r} failed on the kernel reversed_sums" in text
        assert "KeyError: 'planted'" in text and "please report it" in text and f"VKAMP_PASSES_OFF={name}" in text


@pytest.mark.parametrize("name", ["places", "printer"])
def test_the_reference_accelerator_needs_no_shader(name, monkeypatch):
    """It is what the messages of these passes advise. Whoever asks for the shader gets the error."""
    plant(monkeypatch, name)
    view = view_of("reference")
    assert run(view) == expected()
    values = amp.array_view(VALUES.copy())
    with pytest.raises(amp.InternalCompilerError, match=f"pass '{name}' failed"):
        define().inspect(view, amp.extent(16).tile(8), values, values)


@pytest.mark.parametrize("off", [*sorted(OPTIONAL), "all", "loops, results"])
def test_passes_can_be_left_out(accelerator_view, off, monkeypatch):
    monkeypatch.setenv("VKAMP_PASSES_OFF", off)
    for name in OPTIONAL if off == "all" else off.split(", "):
        plant(monkeypatch, name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(accelerator_view) == expected()


def test_a_pass_to_leave_out_has_a_name(monkeypatch):
    monkeypatch.setenv("VKAMP_PASSES_OFF", "loops,rerolling")
    names = "races, loops, results, quotients, pieces, elements, or all"
    with pytest.raises(amp.AmpError, match=f"names 'rerolling'; it can name {names}"):
        run(view_of("swiftshader"))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("name", sorted(PLACES.keys() - {"check mode", "verifier", "reference accelerator"}))
def test_what_is_no_failure_of_the_compiler_goes_through(name, error, monkeypatch):
    monkeypatch.setenv("VKAMP_LOWERING", "loops")
    plant(monkeypatch, name, error)
    with pytest.raises(type(error)):
        run(view_of("swiftshader"))


def test_a_shader_that_cannot_be_printed_is_printed_without_optimizations(accelerator_view, monkeypatch):
    from vkamp.emit import shader

    real = shader.function_lines

    def fail_for_loops(function: Any, shared: Any, *rest: Any) -> Any:
        if shared.kernel.lanes is not None:
            raise IndexError("planted")
        return real(function, shared, *rest)

    monkeypatch.setattr(shader, "function_lines", fail_for_loops)
    monkeypatch.setenv("VKAMP_LOWERING", "loops")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert run(accelerator_view) == expected()
    texts = [str(w.message) for w in said if w.category is amp.InternalCompilerWarning]
    reference = accelerator_view.accelerator.device_path == "reference"
    assert len(texts) == (0 if reference else 1)
    assert all("pass 'printer' failed" in t and "VKAMP_PASSES_OFF=all" in t for t in texts)


def test_a_shader_that_glslang_refuses(monkeypatch):
    from vkamp.emit import shader

    real = shader.function_lines

    def broken(*args: Any) -> Any:
        return [replace(line, text=line.text.replace("main() {", "main() { missing;")) for line in real(*args)]

    monkeypatch.setattr(shader, "function_lines", broken)
    with pytest.raises(amp.InternalCompilerError) as caught:
        run(view_of("swiftshader"))
    assert caught.value.compiler_pass == "glslang" and caught.value.kernel == "reversed_sums"
    assert "VKAMP_ACCELERATOR=reference" in str(caught.value) and "line " in str(caught.value)


def test_the_line_of_the_kernel_is_named_where_the_front_end_fails(monkeypatch):
    def fail(*_: Any, **__: Any) -> Any:
        raise IndexError("planted")

    @amp.kernel
    def smaller(i, out):
        out[i] = 1
        out[i] = min(out[i], 3)

    monkeypatch.setattr("vkamp.front.calls._python_builtin", fail)
    with pytest.raises(amp.InternalCompilerError, match="IndexError: planted") as caught:
        amp.parallel_for_each(view_of("reference"), amp.extent(2), smaller, amp.array_view(np.zeros(2, I32)))
    assert caught.value.span is not None
    assert linecache.getline(caught.value.span.file, caught.value.span.line).strip() == "out[i] = min(out[i], 3)"


def test_what_was_compiled_without_a_pass_is_not_kept(monkeypatch, tmp_path):
    """Another process compiles it anew, with the pass, or with the warning."""
    program = """
        import warnings, numpy as np, vkamp as amp
        {plant}
        @amp.kernel
        def late(t, out):
            tile = amp.tile_static(8, amp.int32)
            tile[t.local] = t.local[0]
            t.barrier.wait()
            out[t] = tile[7 - t.local[0]]
        out = amp.array_view(np.zeros(8, np.int32))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            amp.parallel_for_each(amp.accelerator("swiftshader").default_view, amp.extent(8).tile(8), late, out)
        print(np.asarray(out).tolist(), [w.category.__name__ for w in said])
    """
    plant = "import vkamp.lower; vkamp.lower.loops = lambda *_: 1 // 0"
    environment = {**os.environ, "VKAMP_CACHE_DIR": str(tmp_path), "VKAMP_LOWERING": "loops"}
    file = tmp_path / "program.py"
    said = []
    for each in (plant, plant, "pass", plant):
        # The same text on every line but one, so that the kernel is the same.
        file.write_text(textwrap.dedent(program).replace("{plant}", each))
        ran = subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, text=True, check=False)
        said.append(ran.stdout.strip() or ran.stderr)
    right = [7, 6, 5, 4, 3, 2, 1, 0]
    warned = f"{right} ['InternalCompilerWarning']"
    assert said == [warned, warned, f"{right} []", warned]
