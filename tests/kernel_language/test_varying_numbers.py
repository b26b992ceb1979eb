"""A module's float that changes between launches is a value of the launch from its second change on."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from vkamp import pipeline

SCALE: Any = 1.0
OFFSET = 0.5
SIZE: Any = 4.0


@amp.func
def doubled(x: amp.float32) -> amp.float32:
    return x + x


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels that are compiled."""
    names: list[str] = []
    real = pipeline.compile_kernel

    def counted(request: Any, captured: Any, *, keep: bool) -> Any:
        names.append(request.function.__name__)
        return real(request, captured, keep=keep)

    monkeypatch.setattr(pipeline, "compile_kernel", counted)
    return names


def set_scale(monkeypatch: pytest.MonkeyPatch, value: Any, name: str = "SCALE") -> None:
    monkeypatch.setitem(globals(), name, value)


@pytest.mark.accelerators("swiftshader")
def test_the_third_value_is_handed_over(
    accelerator_view: amp.accelerator_view, monkeypatch: pytest.MonkeyPatch, compiled: list[str]
) -> None:
    @amp.kernel
    def scale(idx, values):
        values[idx] = SCALE * 2.0 + doubled(OFFSET) * values[idx]

    values = amp.array_view(np.zeros(3, np.float32))
    expected = 0.0
    for count, number in enumerate([1.5, 1.5, 2.5, 1.5, 3.5, 4.5, 1.5, -0.0, 2.5, float("inf"), 7.25, np.float64(8.5)]):
        set_scale(monkeypatch, number)
        amp.copy(np.full(3, 2.0, np.float32), values)
        amp.parallel_for_each(accelerator_view, values.extent, scale, values)
        expected = float(number) * 2 + 2
        assert np.asarray(values).tolist() == [expected] * 3
        # 1.5 and 2.5 are constants; 3.5 is the first that is handed over.
        assert len(compiled) == (1 if count < 2 else 2 if count < 4 else 3)


@pytest.mark.accelerators("swiftshader")
def test_two_values_in_turn_stay_constants(
    accelerator_view: amp.accelerator_view, monkeypatch: pytest.MonkeyPatch, compiled: list[str]
) -> None:
    @amp.kernel
    def scale(idx, values):
        values[idx] = SCALE

    values = amp.array_view(np.zeros(3, np.float32))
    for number in [1.5, 2.5] * 4:
        set_scale(monkeypatch, number)
        amp.parallel_for_each(accelerator_view, values.extent, scale, values)
        assert values[0] == number
    assert len(compiled) == 2
    assert "return 2.5;" in scale.inspect(accelerator_view, values.extent, values).glsl


@pytest.mark.accelerators("swiftshader")
def test_where_a_constant_is_needed_each_value_compiles(
    accelerator_view: amp.accelerator_view, monkeypatch: pytest.MonkeyPatch, compiled: list[str]
) -> None:
    @amp.kernel
    def count(idx, values):
        total = 0.0
        for k in amp.static_range(int(SIZE)):
            total += SCALE * float(k)
        values[idx] = total

    values = amp.array_view(np.zeros(3, np.float32))
    for number in (2.0, 3.0, 4.0, 5.0, 6.0):
        set_scale(monkeypatch, number, "SIZE")
        for factor in (1.0, 2.0, 3.0, 4.0):
            set_scale(monkeypatch, factor)
            amp.parallel_for_each(accelerator_view, values.extent, count, values)
            assert values[0] == factor * sum(range(int(number)))
    # For each size once, beside the first two factors.
    assert 5 <= len(compiled) <= 9


def test_what_compiles_with_constants_alone(
    accelerator_view: amp.accelerator_view, monkeypatch: pytest.MonkeyPatch, compiled: list[str]
) -> None:
    @amp.kernel
    def choose(idx, values):
        if SCALE > 0.0:
            x = amp.float2(SCALE, 2.0)
        else:
            x = 1.0
        values[idx] = x.x

    values = amp.array_view(np.zeros(3, np.float32))
    for number in (1.0, 2.0, 3.0, 4.0, 5.0):
        set_scale(monkeypatch, number)
        amp.parallel_for_each(accelerator_view, values.extent, choose, values)
        assert values[0] == number


def test_numbers_beyond_float32_and_others_stay(
    accelerator_view: amp.accelerator_view, monkeypatch: pytest.MonkeyPatch
) -> None:
    @amp.kernel
    def scale(idx, values):
        values[idx] = SCALE * 1e-300

    values = amp.array_view(np.zeros(3, np.float32))
    for number in (1e300, 2e300, 3e300, 4e300):
        set_scale(monkeypatch, number)
        amp.parallel_for_each(accelerator_view, values.extent, scale, values)
        assert np.allclose(np.asarray(values), number * 1e-300, rtol=1e-6)
    for number in (2, True, np.float32(1.0)):
        set_scale(monkeypatch, number)
        amp.parallel_for_each(accelerator_view, values.extent, scale, values)


@amp.func
def scaled(x: amp.float32) -> amp.float32:
    return x * SCALE


@amp.func
def twice_scaled(x: amp.float32) -> amp.float32:
    return scaled(scaled(x)) + SCALE


@amp.func
def counted(x: amp.float32) -> amp.float32:
    total = x * SCALE
    for k in amp.static_range(int(SIZE)):
        total += float(k)
    return total


def test_in_functions(
    accelerator_view: amp.accelerator_view, monkeypatch: pytest.MonkeyPatch, compiled: list[str]
) -> None:
    @amp.kernel
    def scale(idx, values):
        SCALE = 2.0  # noqa: N806 - the kernel's variable, not the module's number
        values[idx] = twice_scaled(values[idx]) + scaled(1.0) * SCALE

    values = amp.array_view(np.zeros(5, np.float32))
    for number in (1.5, 2.5, 3.5, -4.5, 1.5, 5.5, float("inf"), 0.25):
        set_scale(monkeypatch, number)
        amp.copy(np.full(5, 3.0, np.float32), values)
        amp.parallel_for_each(accelerator_view, values.extent, scale, values)
        assert np.asarray(values).tolist() == [number * number * 3 + 3 * number] * 5
    # Another accelerator finds the kernels of the first.
    assert len(compiled) <= 3


def test_in_a_function_and_in_its_kernel(
    accelerator_view: amp.accelerator_view, monkeypatch: pytest.MonkeyPatch, compiled: list[str]
) -> None:
    @amp.kernel
    def scale(idx, values):
        values[idx] = scaled(2.0) + SCALE * OFFSET

    values = amp.array_view(np.zeros(3, np.float32))
    for number in (1.0, 2.0, 3.0, 4.0, 5.0, 1.0):
        set_scale(monkeypatch, number)
        set_scale(monkeypatch, -number, "OFFSET")
        amp.parallel_for_each(accelerator_view, values.extent, scale, values)
        assert values[2] == 2 * number - number * number
    # Another accelerator finds the kernels of the first.
    assert len(compiled) <= 3


def test_where_a_function_needs_a_constant(
    accelerator_view: amp.accelerator_view, monkeypatch: pytest.MonkeyPatch, compiled: list[str]
) -> None:
    @amp.kernel
    def count(idx, values):
        values[idx] = counted(values[idx])

    values = amp.array_view(np.zeros(3, np.float32))
    for size in (2.0, 3.0, 4.0, 5.0, 6.0):
        set_scale(monkeypatch, size, "SIZE")
        for factor in (1.0, 2.0, 3.0, 4.0):
            set_scale(monkeypatch, factor)
            amp.copy(np.ones(3, np.float32), values)
            amp.parallel_for_each(accelerator_view, values.extent, count, values)
            assert values[0] == factor + sum(range(int(size)))
    assert len(compiled) <= 9


def test_functions_of_two_modules_of_one_name(
    accelerator_view: amp.accelerator_view, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their numbers have the same name, and are not the same."""
    modules: list[dict[str, Any]] = []
    for number in range(2):
        file = f"<module {number}>"
        text = "import vkamp as amp\nFACTOR = 1.0\n@amp.func\ndef times(x: amp.float32):\n    return x * FACTOR\n"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        names: dict[str, Any] = {"__name__": "twins"}
        exec(compile(text, file, "exec"), names)
        modules.append(names)
    first, second = (names["times"] for names in modules)

    @amp.kernel
    def both(idx, values):
        values[idx] = first(1.0) + second(10.0)

    values = amp.array_view(np.zeros(3, np.float32))
    for number in (1.0, 2.0, 3.0, 4.0, 5.0):
        modules[0]["FACTOR"], modules[1]["FACTOR"] = number, number + 1
        amp.parallel_for_each(accelerator_view, values.extent, both, values)
        assert values[1] == number + 10 * (number + 1)


PROGRAM = """
    import sys
    import numpy as np
    import vkamp as amp
    from vkamp.pipeline import compiler

    count = 0
    real = compiler.compile_kernel
    def counted(request, captured):
        global count
        count += 1
        return real(request, captured)
    compiler.compile_kernel = counted

    FACTOR = 0.0

    @amp.func
    def times(x: amp.float32):
        return FACTOR * x

    @amp.kernel
    def scale(idx, values):
        values[idx] = BODY

    values = amp.array_view(np.zeros(2, np.float32))
    for FACTOR in map(float, sys.argv[1:]):
        amp.parallel_for_each(amp.accelerator("swiftshader").default_view, values.extent, scale, values)
        assert values[1] == FACTOR * 3.0
    print(count)
"""


@pytest.mark.parametrize("body", ["FACTOR * 3.0", "times(3.0)", "times(1.0) + 2.0 * FACTOR"])
def test_what_another_process_finds_on_disk(tmp_path: Any, body: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM).lstrip().replace("BODY", body))
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "VKAMP_PROGRESS": "0"}
    environment.pop("VKAMP_VERIFY", None)

    def compilations(*factors: str) -> int:
        command = [sys.executable, str(program), *factors]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
        return int(done.stdout)

    assert compilations("1", "2", "3", "4", "5", "1") == 3
    # Another process has the constants and the kernel that takes the number.
    assert compilations("1", "2", "6", "7", "8") == 0
    assert compilations("9", "1", "6", "7", "9") == 1
