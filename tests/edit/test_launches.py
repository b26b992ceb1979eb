"""Which shader a launch runs while a folder of edited ones is in force."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.edit.support import edit, exported, shader_files
from vkamp.edit.folder import BASE
from vkamp.testing import compare


@pytest.fixture(autouse=True)
def no_shaders_left() -> Iterator[None]:
    amp.use_shaders(None)
    yield
    amp.use_shaders(None)


@amp.kernel
def tile_sums(t_idx, matrix, sums, bias):
    values = amp.tile_static((3, 5), amp.float32)
    values[t_idx.local] = matrix[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if t_idx.local == (0, 0):
        total = 0.0
        for row in range(3):
            for col in range(5):
                total += values[row, col]
        sums[t_idx.tile] = total + bias


ROWS, COLS = 21, 35


def run(view: amp.accelerator_view, bias: float = 0.5) -> Any:
    matrix = amp.array_view(np.arange(ROWS * COLS, dtype=np.float32).reshape(ROWS, COLS), readonly=True)
    sums = amp.array_view(np.zeros((ROWS // 3, COLS // 5), np.float32))
    amp.parallel_for_each(view, amp.extent(ROWS, COLS).tile(3, 5), tile_sums, matrix, sums, bias)
    return np.asarray(sums)


def expected(bias: float = 0.5) -> Any:
    matrix = np.arange(ROWS * COLS, dtype=np.float32).reshape(ROWS // 3, 3, COLS // 5, 5)
    return matrix.sum((1, 3)) + np.float32(bias)


@pytest.mark.accelerators("drivers")
def test_a_comparison_names_the_edited_shader(accelerator_view: amp.accelerator_view, tmp_path: Path) -> None:
    (shader,) = exported(tmp_path, lambda: run(accelerator_view))
    edit(shader, ("+ bias", "- bias"))
    matrix = amp.array_view(np.ones((ROWS, COLS), np.float32))
    sums = amp.array_view(np.zeros((ROWS // 3, COLS // 5), np.float32))
    domain = amp.extent(ROWS, COLS).tile(3, 5)
    with (
        pytest.warns(amp.ShaderEditWarning, match="the reference accelerator"),
        pytest.raises(AssertionError) as caught,
    ):
        compare(accelerator_view, domain, tile_sums, matrix, sums, 0.5)
    notes = [line for line in str(caught.value).splitlines() if line.startswith("note:")]
    assert notes[0].startswith("note: the device ran the hand-edited shader ")
    assert notes[0].endswith(shader.name)


@pytest.mark.accelerators("drivers")
def test_an_edited_shader_runs(accelerator_view: amp.accelerator_view, tmp_path: Path) -> None:
    (shader,) = exported(tmp_path, lambda: run(accelerator_view))
    name = "tile_sums.3x5.float32_2d-float32_2d-float32.comp"
    assert shader == tmp_path.joinpath(*tile_sums.__module__.split("."), name)
    assert np.array_equal(run(accelerator_view), expected())
    edit(shader, ("+ bias", "- bias"))
    assert np.array_equal(run(accelerator_view), expected(-0.5))
    assert np.array_equal(run(accelerator_view, 2.0), expected(-2.0))
    amp.use_shaders(None)
    assert np.array_equal(run(accelerator_view), expected())


@pytest.mark.accelerators("drivers")
def test_inspect_shows_the_edit(accelerator_view: amp.accelerator_view, tmp_path: Path) -> None:
    (shader,) = exported(tmp_path, lambda: run(accelerator_view))
    matrix, sums = amp.array(amp.extent(21, 35), amp.float32), amp.array(amp.extent(7, 7), amp.float32)

    def inspect() -> Any:
        domain = matrix.extent.tile(3, 5)
        return tile_sums.inspect(matrix.accelerator_view, domain, matrix, sums, 1.0)

    plain = inspect()
    assert plain.edited is None
    assert "Edited by hand" not in plain.glsl
    edit(shader, ("+ bias", "- bias"))
    shown = inspect()
    assert shown.edited == shader
    name = shader.relative_to(tmp_path.parent).as_posix()
    assert shown.glsl.startswith(f"// Edited by hand: {name} is in force.\n#version 450\n")
    assert "total - bias" in shown.glsl
    assert shown.lowering == f"threads: edited by hand in {name}"
    assert shown.spirv != plain.spirv


@pytest.mark.accelerators("drivers")
def test_a_repeated_launch_sees_the_file_change(accelerator_view: amp.accelerator_view, tmp_path: Path) -> None:
    matrix = amp.array_view(np.ones((3, 5), np.float32))
    sums = amp.array_view(np.zeros((1, 1), np.float32))

    def again() -> float:
        amp.parallel_for_each(accelerator_view, matrix.extent.tile(3, 5), tile_sums, matrix, sums, 0.0)
        return float(sums[0, 0])

    (shader,) = exported(tmp_path, again)
    generated = shader.read_text()
    assert [again(), again()] == [15.0, 15.0]
    for number in (100.0, 200.0, 0.0):
        # No call says that the file is another one: a launch looks by itself.
        shader.write_text(generated.replace("total = 0.0", f"total = {number}"))
        deadline = time.monotonic() + 10
        while again() != 15.0 + number:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        compiled = accelerator_view.statistics.pipelines
        assert [again(), again()] == [15.0 + number] * 2
        assert accelerator_view.statistics.pipelines == compiled


@pytest.mark.accelerators("swiftshader")
def test_what_is_no_edit_runs_as_generated(accelerator_view: amp.accelerator_view, tmp_path: Path) -> None:
    (shader,) = exported(tmp_path, lambda: run(accelerator_view))
    matrix = amp.array(amp.extent(21, 35), amp.float32)
    sums = amp.array(amp.extent(7, 7), amp.float32)
    shader.write_text("// a remark\n" + shader.read_text().replace("\n", "  \n") + "\n/* the\nend */\n")
    amp.use_shaders(tmp_path)
    assert tile_sums.inspect(matrix.extent.tile(3, 5), matrix, sums, 1.0).edited is None
    assert np.array_equal(run(accelerator_view), expected())
    shader.unlink()
    amp.use_shaders(tmp_path)
    assert np.array_equal(run(accelerator_view), expected())


@pytest.mark.accelerators("drivers")
def test_other_arguments_run_as_generated_with_a_warning(
    accelerator_view: amp.accelerator_view, tmp_path: Path
) -> None:
    (shader,) = exported(tmp_path, lambda: run(accelerator_view))
    edit(shader, ("+ bias", "- bias"))
    counts = amp.array_view(np.ones((3, 5), np.int32))
    sums = amp.array_view(np.zeros((1, 1), np.float32))

    def launch() -> None:
        amp.parallel_for_each(accelerator_view, counts.extent.tile(3, 5), tile_sums, counts, sums, 0.5)

    with pytest.warns(amp.ShaderEditWarning) as told:
        launch()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        launch()
    name = shader.relative_to(tmp_path.parent).as_posix()
    assert [str(each.message) for each in told] == [
        f"tile_sums runs as generated, without the edit of {name}: it is for other arguments "
        "(3x5 float32_2d-float32_2d-float32)"
    ]
    assert sums[0, 0] == 15.5


def test_the_reference_accelerator_runs_the_program(tmp_path: Path) -> None:
    (shader,) = exported(tmp_path, lambda: run(amp.accelerator("swiftshader").default_view))
    edit(shader, ("+ bias", "- bias"))
    with pytest.warns(amp.ShaderEditWarning, match="the reference accelerator runs the Python program"):
        found = run(amp.accelerator("reference").default_view)
    assert np.array_equal(found, expected())


@pytest.mark.accelerators("drivers")
def test_check_mode_says_that_it_checked_the_kernel(accelerator_view: amp.accelerator_view, tmp_path: Path) -> None:
    (shader,) = exported(tmp_path, lambda: run(accelerator_view))
    edit(shader, ("+ bias", "- bias"))
    matrix = amp.array_view(np.ones((3, 5), np.float32))
    sums = amp.array_view(np.zeros((1, 1), np.float32))
    report = amp.check(accelerator_view, matrix.extent.tile(3, 5), tile_sums, matrix, sums, 0.5)
    assert report.ok
    name = shader.relative_to(tmp_path.parent).as_posix()
    text = f"the hand-edited shader {name}: the check ran the generated code"
    assert list(report.not_covered) == [text]
    assert sums[0, 0] == 15.5


@pytest.mark.accelerators("swiftshader", "llvmpipe")
def test_the_form_of_loops_is_for_devices_that_run_it(accelerator_view: amp.accelerator_view, tmp_path: Path) -> None:
    (shader,) = exported(tmp_path, lambda: run(accelerator_view), lowering="loops")
    lanes = accelerator_view.accelerator.limits.subgroup_size
    assert shader.name == f"tile_sums.3x5.float32_2d-float32_2d-float32.loops{lanes}.comp"
    edit(shader, ("+ bias", "- bias"))
    assert np.array_equal(run(accelerator_view), expected(-0.5))
    other = amp.accelerator("llvmpipe" if "Swift" in accelerator_view.accelerator.description else "swiftshader")
    with pytest.warns(amp.ShaderEditWarning, match="another form of the shader"):
        assert np.array_equal(run(other.default_view), expected())


@pytest.mark.accelerators("swiftshader", "llvmpipe")
def test_of_both_forms_the_device_runs_its_own(accelerator_view: amp.accelerator_view, tmp_path: Path) -> None:
    exported(tmp_path, lambda: run(accelerator_view), lowering="loops")
    threads, loops = exported(tmp_path, lambda: run(accelerator_view))
    assert ".loops" in loops.name
    edit(threads, ("+ bias", "+ 100.0"))
    assert np.array_equal(run(accelerator_view), expected(100.0))
    edit(loops, ("+ bias", "+ 200.0"))
    assert np.array_equal(run(accelerator_view), expected(200.0))


@amp.kernel
def scaled(idx, source, target, *, factor: amp.constant):
    target[idx] = source[idx] * factor


def run_scaled(view: amp.accelerator_view, shape: tuple[int, int], factor: float = 3.0) -> Any:
    source = amp.array_view(np.ones(shape, np.float32))
    target = amp.array_view(np.zeros(shape, np.float32))
    amp.parallel_for_each(view, source.extent, scaled, source, target, factor=factor)
    return np.asarray(target)


@pytest.mark.accelerators("drivers")
def test_an_untiled_kernel_keeps_its_group_for_every_domain(
    accelerator_view: amp.accelerator_view, tmp_path: Path
) -> None:
    (shader,) = exported(tmp_path, lambda: run_scaled(accelerator_view, (17, 7)))
    assert shader.name == "scaled.untiled2d.float32_2d-float32_2d.factor=3.0.comp"
    edit(shader, ("* 3.0", "* 4.0"))
    for shape in ((17, 7), (3, 1000), (1000, 3), (1, 1), (129, 65)):
        assert np.array_equal(run_scaled(accelerator_view, shape), np.full(shape, 4.0, np.float32)), shape


@pytest.mark.accelerators("swiftshader")
def test_constants_are_part_of_the_signature(accelerator_view: amp.accelerator_view, tmp_path: Path) -> None:
    def launch() -> None:
        run_scaled(accelerator_view, (5, 5), 3.0)
        run_scaled(accelerator_view, (5, 5), -0.0)

    first, second = exported(tmp_path, launch)
    assert [p.name for p in (first, second)] == [
        "scaled.untiled2d.float32_2d-float32_2d.factor=-0.0.comp",
        "scaled.untiled2d.float32_2d-float32_2d.factor=3.0.comp",
    ]
    edit(second, ("* 3.0", "* 4.0"))
    assert run_scaled(accelerator_view, (2, 2), 3.0)[1, 1] == 4.0
    with pytest.warns(amp.ShaderEditWarning):
        assert run_scaled(accelerator_view, (2, 2), 5.0)[1, 1] == 5.0


@amp.kernel
def transform(idx, op, out, *inputs, scales: amp.constant):
    total = 0.0
    for a, scale in zip(inputs, scales):  # noqa: B905 -- as people write it
        total += op(a[idx]) * scale
    out[idx] = total


@pytest.mark.accelerators("drivers")
def test_functions_tuples_and_any_arguments(accelerator_view: amp.accelerator_view, tmp_path: Path) -> None:
    raw = np.arange(5, dtype=np.float32)

    def launch(op: Any, scales: Any = (2, 0.5)) -> Any:
        a, b, out = amp.array_view(raw.copy()), amp.array_view(raw + 1), amp.array_view(np.zeros(5, np.float32))
        amp.parallel_for_each(accelerator_view, out.extent, transform, op, out, a, b, scales=scales)
        return np.asarray(out).tolist()

    def shifted(k: float) -> Any:
        return lambda x: x + k

    (shader,) = exported(tmp_path, lambda: launch(shifted(0.25)))
    assert ".lambda_" in shader.name and "scales=2_0.5" in shader.name
    edit(shader, ("x + op_k", "x - op_k"))
    for k in (0.25, 1.0):
        assert launch(shifted(k)) == ((raw - k) * 2 + (raw + 1 - k) * 0.5).tolist()
    with pytest.warns(amp.ShaderEditWarning, match="it is for other arguments"):
        assert launch(lambda x: x * 2) == (raw * 4 + raw + 1).tolist()


@pytest.mark.accelerators("drivers")
def test_closures(accelerator_view: amp.accelerator_view, tmp_path: Path) -> None:
    results = amp.array_view(np.zeros(12, np.float32))

    def launch(size: int = 4) -> None:
        @amp.parallel_for_each(accelerator_view, amp.extent(12).tile(4))
        def fill(t_idx):
            values = amp.tile_static(size, amp.float32)
            values[t_idx.local] = 2.0
            results[t_idx] = values[t_idx.local[0]]

    (shader,) = exported(tmp_path, launch)
    assert shader.name == "test_closures.launch.fill.4.float32_1d-int32.size=4.comp"
    edit(shader, ("= 2.0", "= 7.0"))
    launch()
    assert list(np.asarray(results)) == [7.0] * 12
    with pytest.warns(amp.ShaderEditWarning, match="size=4"):
        launch(5)
    assert list(np.asarray(results)) == [2.0] * 12


@pytest.mark.accelerators("drivers")
def test_what_a_tuner_may_change(accelerator_view: amp.accelerator_view, tmp_path: Path) -> None:
    """Elements read as vectors, padded tile_static memory, an extension, more functions, a specialization constant."""
    source = amp.array_view(np.arange(64, dtype=np.float32).reshape(4, 16))
    target = amp.array_view(np.zeros((4, 16), np.float32))

    def launch() -> Any:
        amp.parallel_for_each(accelerator_view, amp.extent(64).tile(16), doubled, source, target)
        return np.asarray(target)

    (shader,) = exported(tmp_path, launch)
    edit(
        shader,
        ("#version 450", "#version 450\n#extension GL_EXT_control_flow_attributes : require"),
        ("    float source[];", "    vec4 source[];"),
        ("shared float values[16];", "shared float values[16 + 1];\nlayout(constant_id = 0) const float two = 3.0;"),
        ("void main() {", "float element(int i) {\n    return source[i / 4][i % 4];\n}\n\nvoid main() {"),
    )
    text = shader.read_text()
    start = text.index("values[t_idx_local_0] = ") if "values[t_idx_local_0] = " in text else -1
    assert start > 0, text
    end = text.index(";", start)
    edit(shader, (text[start:end], "values[t_idx_local_0] = element(int(gl_GlobalInvocationID.x))"), ("* 2.0", "* two"))
    assert np.array_equal(launch(), 3 * np.asarray(source))


@amp.kernel
def doubled(t_idx, source, target):
    values = amp.tile_static(16, amp.float32)
    values[t_idx.local] = source[t_idx.tile[0], t_idx.local[0]]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    target[t_idx.tile[0], t_idx.local[0]] = values[t_idx.local[0]] * 2.0


@amp.kernel
def marked(t_idx, numbers):
    numbers[t_idx] = 1.0


@pytest.mark.accelerators("swiftshader")
def test_more_tiles_than_a_grid_takes_need_the_folded_form(
    accelerator_view: amp.accelerator_view, tmp_path: Path
) -> None:
    def launch(count: int) -> Any:
        numbers = amp.array_view(np.zeros(count, np.float32))
        amp.parallel_for_each(accelerator_view, numbers.extent.tile(1), marked, numbers)
        return np.asarray(numbers)

    (plain,) = exported(tmp_path, lambda: launch(10))
    assert plain.name == "marked.1.float32_1d.comp"
    edit(plain, ("= 1.0", "= 2.0"))
    assert np.all(launch(10) == 2.0)
    with pytest.warns(amp.ShaderEditWarning, match="this launch needs another form of the shader"):
        assert np.all(launch(70_000) == 1.0)
    _, folded = exported(tmp_path, lambda: launch(70_000))
    assert folded.name == "marked.1.float32_1d.folded.comp"
    edit(folded, ("= 1.0", "= 3.0"))
    assert np.all(launch(70_000) == 3.0)
    assert np.all(launch(10) == 2.0)


@pytest.mark.accelerators("swiftshader")
def test_the_next_launch_after_a_while_sees_the_change(accelerator_view: amp.accelerator_view, tmp_path: Path) -> None:
    (shader,) = exported(tmp_path, lambda: run(accelerator_view))
    assert np.array_equal(run(accelerator_view), expected())
    shader.write_text(shader.read_text().replace("+ bias", "- bias"))
    time.sleep(0.3)
    assert np.array_equal(run(accelerator_view), expected(-0.5))


#: Edits that must not run, and the code of the error.
MISMATCHES = {
    "local size": (("local_size_x = 5", "local_size_x = 4"), "VKA702"),
    "local size by a constant": (("local_size_x = 5", "local_size_x_id = 5"), "VKA702"),
    "binding elsewhere": (("binding = 1", "binding = 5"), "VKA702"),
    "binding of another set": (("set = 0, binding = 1", "set = 1, binding = 1"), "VKA702"),
    "bindings swapped": (
        ("binding = 0) restrict readonly buffer matrix", "binding = 1) restrict buffer matrix"),
        "VKA702",
    ),
    "one binding more": (("void main() {", "layout(binding = 7) buffer B { int more[]; };\nvoid main() {"), "VKA702"),
    "uniform buffer": (
        (
            "restrict readonly buffer matrix_buffer {\n    float matrix[]",
            "uniform matrix_buffer {\n    float matrix[9]",
        ),
        "VKA70",
    ),
    "written though read-only": (("restrict readonly buffer", "restrict buffer"), "VKA702"),
    "push constant inserted": (("    float bias;", "    int more;\n    float bias;"), "VKA702"),
    "push constant moved": (("    float bias;", "    layout(offset = 64) float bias;"), "VKA702"),
    "push constant of another type": (("    float bias;", "    int bias;"), "VKA702"),
    "push constant removed": (("    float bias;\n", ""), "VKA701"),
    "shared memory": (("shared float values[3][5];", "shared float values[3000][5];"), "VKA702"),
    "syntax": (("total = 0.0;", "total = 0.0"), "VKA701"),
    "no main": (("void main()", "void begin()"), "VKA701"),
    "empty": (None, "VKA70"),
    "no version": (("#version 450", "#version 100"), "VKA701"),
    "missing extension": (("#version 450", "#version 450\n#extension GL_NOBODY_has_it : require"), "VKA701"),
    "conflict": (
        ("    float total = 0.0;", "<<<<<<< edited\n=======\n>>>>>>> generated\n    float total = 0.0;"),
        "VKA704",
    ),
    "a feature that no engine enables": (
        (
            "void main() {",
            "#extension GL_EXT_shader_atomic_float2 : require\nvoid main() {\n    atomicMax(values[0][0], 1.0);",
        ),
        "VKA707",
    ),
}


@pytest.mark.accelerators("drivers")
@pytest.mark.parametrize("name", MISMATCHES)
def test_what_does_not_fit_never_runs(name: str, accelerator_view: amp.accelerator_view, tmp_path: Path) -> None:
    (shader,) = exported(tmp_path, lambda: run(accelerator_view))
    change, code = MISMATCHES[name]
    if change is None:
        shader.write_text("")
        amp.use_shaders(tmp_path)
    else:
        edit(shader, change)
    matrix = amp.array_view(np.ones((ROWS, COLS), np.float32))
    sums = amp.array_view(np.full((ROWS // 3, COLS // 5), -1.0, np.float32))
    for _ in range(2):
        with pytest.raises(amp.ShaderEditError, match=code) as caught:
            amp.parallel_for_each(accelerator_view, amp.extent(ROWS, COLS).tile(3, 5), tile_sums, matrix, sums, 0.5)
        assert caught.value.span is not None and caught.value.span.file == str(shader)
        assert np.all(np.asarray(sums) == -1.0)
    amp.use_shaders(None)
    amp.parallel_for_each(accelerator_view, amp.extent(ROWS, COLS).tile(3, 5), tile_sums, matrix, sums, 0.5)
    assert np.all(np.asarray(sums) == 15.5)


# -- programs of their own ---------------------------------------------------------------------------------------


PROGRAM = """
import sys
import numpy as np
import vkamp as amp

@amp.kernel
def {name}(t_idx, numbers):
    numbers[t_idx] = numbers[t_idx] + 1.0

def launch():
    numbers = amp.array_view(np.zeros(8, np.float32))
    amp.parallel_for_each(numbers.extent.tile(4), {name}, numbers)
    return float(numbers[7])

if __name__ == "__main__":
    if sys.argv[1:] == ["--export"]:
        from pathlib import Path
        from vkamp.dispatch import override_files
        override_files.export_launches(Path("shaders").absolute())
    print(launch())
"""


def project(folder: Path, name: str = "grow", file: str = "programs/prog.py") -> Path:
    (folder / file).parent.mkdir(exist_ok=True, parents=True)
    (folder / "pyproject.toml").touch()
    (folder / file).write_text(PROGRAM.format(name=name))
    return folder


def python(folder: Path, *args: str, **variables: str) -> str:
    environment = {"VKAMP_ACCELERATOR": "swiftshader", **os.environ, "PYTHONWARNINGS": "error", **variables}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(amp.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, *args]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    return (done.stdout + done.stderr).strip()


def test_the_projects_folder_is_in_force(tmp_path: Path) -> None:
    folder = project(tmp_path)
    assert python(folder, "programs/prog.py", "--export") == "1.0"
    (shader,) = shader_files(folder / "shaders")
    assert shader.relative_to(folder).as_posix() == "shaders/programs/prog/grow.4.float32_1d.comp"
    shader.write_text(shader.read_text().replace("+ 1.0", "+ 5.0"))
    assert python(folder, "programs/prog.py") == "5.0"
    # As a module, from a folder below, by another name of the module: the file is the same.
    assert python(folder, "-m", "programs.prog") == "5.0"
    assert python(folder / "programs", "prog.py") == "5.0"
    assert (
        python(folder, "-c", "import sys; sys.path.insert(0, 'programs'); import prog; print(prog.launch())") == "5.0"
    )
    # Elsewhere it is not, unless it is named.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "setup.py").touch()
    assert python(elsewhere, str(folder / "programs" / "prog.py")) == "1.0"
    named = str(folder / "shaders")
    assert python(elsewhere, str(folder / "programs" / "prog.py"), VKAMP_SHADERS=named) == "5.0"
    assert python(folder, "programs/prog.py", VKAMP_SHADERS="0") == "1.0"
    said = python(folder, "programs/prog.py", VKAMP_SHADERS="nowhere")
    assert said.endswith("VKAMP_SHADERS is 'nowhere', which is not a folder; VKAMP_SHADERS=0 uses no edited shaders")


def test_a_kernel_that_was_renamed_or_moved_keeps_its_edit(tmp_path: Path) -> None:
    folder = project(tmp_path)
    python(folder, "programs/prog.py", "--export")
    (shader,) = shader_files(folder / "shaders")
    shader.write_text(shader.read_text().replace("+ 1.0", "+ 5.0"))
    project(folder, name="grown")
    assert python(folder, "programs/prog.py") == "5.0"
    (folder / "programs/prog.py").rename(folder / "programs/moved.py")
    assert python(folder, "programs/moved.py") == "5.0"
    # A second kernel of equal text is no reason to take the edit from the first.
    project(folder)
    assert python(folder, "programs/moved.py") == "1.0"
    assert python(folder, "programs/prog.py") == "5.0"


def test_a_stale_edit_does_not_run(tmp_path: Path) -> None:
    folder = project(tmp_path)
    python(folder, "programs/prog.py", "--export")
    program = folder / "programs/prog.py"
    unedited = program.read_text()
    program.write_text(unedited.replace("+ 1.0", "+ 2.0"))
    # The file is what was generated: nothing of it is lost by what is generated now.
    assert python(folder, "programs/prog.py") == "2.0"
    program.write_text(unedited)
    (shader,) = shader_files(folder / "shaders")
    shader.write_text(shader.read_text().replace("+ 1.0", "+ 5.0"))
    assert python(folder, "programs/prog.py") == "5.0"
    # A comment is no change of the kernel.
    program.write_text(unedited.replace("+ 1.0", "+ 1.0  # one more"))
    assert python(folder, "programs/prog.py") == "5.0"
    program.write_text(unedited.replace("+ 1.0", "+ 2.0"))
    said = python(folder, "programs/prog.py")
    assert "VKA703" in said
    assert "vkamp shaders merge programs/prog/grow.4.float32_1d" in said


def test_a_damaged_record_is_an_error(tmp_path: Path) -> None:
    folder = project(tmp_path)
    python(folder, "programs/prog.py", "--export")
    (record,) = (folder / "shaders").rglob("*.json")
    record.write_text(record.read_text()[:40])
    said = python(folder, "programs/prog.py")
    assert "is the record of a shader and cannot be read" in said


def test_use_shaders_needs_a_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        amp.use_shaders(tmp_path / "nowhere")


def test_a_launch_without_edits_says_nothing(tmp_path: Path) -> None:
    view = amp.accelerator("swiftshader").default_view
    exported(tmp_path, lambda: run(view))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(run(amp.accelerator("reference").default_view), expected())
        assert np.array_equal(run(view), expected())


def test_importing_vkamp_reads_no_folder() -> None:
    program = "import sys, vkamp; print([name for name in sys.modules if name.startswith('vkamp.edit')])"
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@amp.kernel
def lanes(idx: Any, out: Any) -> None:
    out[idx] = amp.target.subgroup_size + 100


def test_an_edit_is_for_the_traits_that_its_kernel_asked_for(tmp_path: Path) -> None:
    first, second = amp.accelerator("swiftshader").default_view, amp.accelerator("llvmpipe").default_view

    def launch(view: amp.accelerator_view) -> list[int]:
        out = amp.array_view(np.zeros(3, np.int32))
        amp.parallel_for_each(view, out.extent, lanes, out)
        return list(np.asarray(out))

    (path,) = exported(tmp_path / "shaders", lambda: launch(first))
    edit(path, ("104", "204"))
    assert launch(first) == [204] * 3
    with pytest.warns(amp.ShaderEditWarning, match="it is for other arguments"):
        assert launch(second) == [108] * 3
    amp.use_shaders(None)


@amp.kernel(subgroup=8)
def in_full_subgroups(t_idx: Any, out: Any) -> None:
    out[t_idx] = amp.subgroup.size() * 100 + amp.subgroup.add(1)


def test_an_edit_keeps_the_required_subgroups(tmp_path: Path) -> None:
    view = amp.accelerator("llvmpipe@vulkan").default_view

    def launch() -> list[int]:
        out = amp.array_view(np.zeros(16, np.int32))
        amp.parallel_for_each(view, out.extent.tile(16), in_full_subgroups, out)
        return np.asarray(out).tolist()

    (path,) = exported(tmp_path / "shaders", launch)
    assert path.name.endswith(".subgroup8.comp")
    edit(path, ("800", "900"))
    assert launch() == [908] * 16
    amp.use_shaders(None)


def test_a_folder_that_lost_its_bases_is_an_error(tmp_path: Path) -> None:
    """A folder whose name begins with a dot is easily left out of a copy: the edits must not be ignored then."""
    project = tmp_path / "project"
    (project / "shaders").mkdir(parents=True)
    (project / "pyproject.toml").touch()
    (project / "rows.py").write_text(
        textwrap.dedent("""
            import numpy as np, vkamp as amp

            @amp.kernel
            def add(idx, a):
                a[idx] += 1

            a = amp.array_view(np.zeros(4, np.float32))
            amp.parallel_for_each(a.extent, add, a)
            print(*np.asarray(a))
        """)
    )

    def launched(**environment: str) -> tuple[str, str]:
        command = [sys.executable, "rows.py"]
        variables = os.environ | {"PYTHONPATH": str(Path.cwd()), "VKAMP_ACCELERATOR": "llvmpipe"} | environment
        done = subprocess.run(command, cwd=project, env=variables, capture_output=True, text=True, check=False)
        return done.stdout, done.stderr

    # Shaders of other libraries, and those that a program has saved, are not edits.
    (project / "shaders" / "other.comp").write_text("#version 450\n")
    (project / "shaders" / "saved.comp").write_text("#version 450\n// Generated by vkamp from rows.py; edit freely.\n")
    assert launched() == ("1.0 1.0 1.0 1.0\n", "")
    run = [sys.executable, "-m", "vkamp", "run", "--export", "rows.py"]
    subprocess.run(run, cwd=project, env=os.environ | {"PYTHONPATH": str(Path.cwd())}, check=True, capture_output=True)
    shutil.rmtree(project / "shaders" / BASE)
    assert "VKA705: the generated shader that this one was edited from is missing" in launched()[1]
    assert launched(VKAMP_SHADERS="0") == ("1.0 1.0 1.0 1.0\n", "")
