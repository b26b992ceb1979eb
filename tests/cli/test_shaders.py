"""``vkamp shaders``: what the commands write, say, and end with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from tests.cli.conftest import PACKAGE, Project
from vkamp.cli.signatures import parse_arguments

EXPORT = ("shaders", "export", "prog:tile_sums", "--tile", "2x4", "--args", "float32[:,:], float32[:,:]")
NAME = "prog/tile_sums.2x4.float32_2d-float32_2d"


def edit(project: Project, old: str, new: str) -> None:
    text = project.shader.read_text()
    assert old in text
    project.shader.write_text(text.replace(old, new))


def change(project: Project, old: str, new: str) -> None:
    text = project.program.read_text()
    assert text.count(old) == 1
    project.program.write_text(text.replace(old, new))


def test_the_life_of_an_edit(project: Project) -> None:
    done = project.vkamp(*EXPORT)
    assert (done.status, done.out) == (0, f"wrote {project.shader}\n")
    done = project.vkamp("shaders", "status")
    assert (done.status, done.out) == (0, f"unedited  {NAME}\n")
    assert project.vkamp("shaders", "diff").status == 0

    edit(project, "float total = 0.0", "float total = 100.0")
    done = project.vkamp("shaders", "status")
    assert (done.status, done.out) == (0, f"edited  {NAME}\n")
    done = project.vkamp("shaders", "diff", "tile_sums")
    assert done.status == 1
    assert "-        float total = 0.0;\n+        float total = 100.0;\n" in done.out
    assert project.vkamp("run", "prog.py").out.endswith(" 108.0\n")
    done = project.vkamp("shaders", "check")
    assert (done.status, done.out) == (0, f"edited  {NAME}\n")

    change(project, "total += values", "total -= values")
    done = project.vkamp("shaders", "status")
    assert done.status == 1
    assert done.out == f"stale (edited)  {NAME}  the kernel, or vkamp, has changed\n"
    done = project.vkamp("run", "prog.py")
    assert done.status == 1
    assert f"vkamp shaders merge {NAME}" in done.err
    done = project.vkamp("shaders", "diff", "--kernel")
    assert done.status == 1
    assert "\n+                total -= values[row][col];\n" in done.out
    done = project.vkamp("shaders", "merge")
    assert (done.status, done.out) == (0, f"merged  {NAME}\n")
    assert project.vkamp("run", "prog.py").out.endswith(" 92.0\n")

    change(project, "total = 0.0", "total = 1.0")
    done = project.vkamp("shaders", "merge", NAME)
    assert (done.status, done.out) == (1, f"conflict  {NAME}  1 conflict to resolve\n")
    done = project.vkamp("shaders", "status")
    assert done.status == 1
    assert done.out.startswith(f"conflict (edited)  {NAME}  line ")
    done = project.vkamp("shaders", "check")
    assert done.status == 1
    assert "VKA704" in done.out
    done = project.vkamp("shaders", "merge", "--undo", NAME)
    assert (done.status, done.out) == (0, f"put back {NAME}\n")
    done = project.vkamp("shaders", "revert", NAME)
    assert (done.status, done.out) == (0, f"reverted {NAME}\n")
    # It was reverted to what was generated for the kernel before; unedited, it is in nobody's way.
    done = project.vkamp("shaders", "status")
    assert (done.status, done.out) == (
        0,
        f"stale  {NAME}  the kernel, or vkamp, has changed; the generated shader runs\n",
    )
    assert project.vkamp("run", "prog.py").out.endswith(" -7.0\n")
    assert project.vkamp("shaders", "merge").out == f"updated  {NAME}\n"
    assert project.vkamp("shaders", "revert", "--remove", "prog").out == f"removed {NAME}\n"
    assert not project.shader.exists()


def test_status_as_data(project: Project) -> None:
    project.vkamp(*EXPORT)
    edit(project, "float total = 0.0", "float total = 100.0")
    (row,) = json.loads(project.vkamp("shaders", "status", "--json").out)
    assert row == {
        "name": NAME,
        "state": "edited",
        "edited": True,
        "text": "",
        "kernel": "prog:tile_sums",
        "signature": "2x4 float32_2d-float32_2d",
        "file": str(project.shader),
    }


def test_exporting_what_a_program_launches(project: Project) -> None:
    done = project.vkamp("run", "--export", "prog.py")
    assert done.status == 0
    assert NAME in done.out and "written" in done.out
    edit(project, "float total = 0.0", "float total = 100.0")
    done = project.vkamp("run", "--export", "prog.py")
    assert "edited" in done.out
    assert "total = 100.0" in project.shader.read_text()
    change(project, "total += values", "total -= values")
    done = project.vkamp("run", "--export", "prog.py")
    assert done.status == 0
    assert "stale" in done.out
    loops = project.vkamp("run", "--export", "--lowering", "loops", "--shaders", "other", "prog.py")
    assert "loops4" in loops.out
    assert [p.name for p in (project.folder / "other" / "prog").iterdir()] == [
        "tile_sums.2x4.float32_2d-float32_2d.loops4.comp"
    ]


def test_both_ways_to_export_agree(project: Project) -> None:
    project.vkamp(*EXPORT)
    written = project.shader.read_text()
    done = project.vkamp("run", "--export", "prog.py")
    assert "current" in done.out
    assert project.shader.read_text() == written


def test_exports_of_every_type(project: Project) -> None:
    text = (
        "import vkamp as amp\n@amp.kernel\n"
        "def k(idx, a, b, c, v, n, x, i, *, f: amp.constant, t: amp.constant):\n"
        "    y = amp.tdiv(b[idx], 2)\n"
        "    a[idx] = x * f + v.y + i[1] + c[idx].x + n + t(y)\n"
    )
    (project.folder / "types.py").write_text("")
    (project.folder / "kernels.py").write_text(text)
    types = "float32[:], int32[:]:strided, float3[:], float2, int32, float32, index(2)"
    done = project.vkamp("shaders", "export", "kernels.py:k", "--args", types, "--set", "f=2.5", "--set", "t=float32")
    assert done.status == 0, done.err
    name = "k.untiled1d.float32_1d-int32_1d_strided-float3_1d-float2-int32-float32-index2.f=2.5.t=float32.comp"
    assert done.out == f"wrote {project.folder / 'shaders' / 'kernels' / name}\n"
    assert project.vkamp("shaders", "status").out.startswith("unedited")


def test_elements_of_every_size(project: Project) -> None:
    (project.folder / "sizes.py").write_text(
        "import vkamp as amp\n@amp.kernel\ndef k(idx, a, b):\n    a[idx] = b[idx]\n"
    )
    elements = ["int8", "uint8", "int16", "uint16", "float16", "int64", "uint64", "float64", "double2"]
    for element in elements:
        done = project.vkamp("shaders", "export", "sizes:k", "--args", f"{element}[:], {element}[:]")
        assert done.status == 0, done.err
        checked = project.vkamp(
            "check", "sizes:k", "--args", f"{element}[9], {element}[9]", "--extent", "9", "--device", "reference"
        )
        assert (checked.status, checked.out.splitlines()[-1]) == (0, "no findings on reference"), checked
    unedited = sorted(f"unedited  sizes/k.untiled1d.{element}_1d-{element}_1d" for element in elements)
    for command in ("status", "check"):
        assert sorted(project.vkamp("shaders", command).out.splitlines()) == unedited


def test_mistakes_are_one_message(project: Project) -> None:
    for args, status, said in [
        (("shaders", "status"), 1, "there is no folder of shaders"),
        (("shaders", "export", "prog:tile_sums"), 1, "Say what it is launched with"),
        (
            ("shaders", "export", "prog:nothing", "--args", ""),
            1,
            "the kernels there are: tile_sums, scaled, wrong, padded, too_far",
        ),
        (("shaders", "export", "prog:np", "--args", ""), 1, "is not a kernel"),
        (("shaders", "export", "prog:main", "--args", "", "--tile", "2"), 2, "main is a function, which chooses its"),
        (("shaders", "export", "prog:main", "--args", "float32[:]"), 1, "main cannot be called with these arguments"),
        (("shaders", "export", "nowhere:kernel", "--args", ""), 1, "nowhere cannot be imported: ModuleNotFoundError"),
        (("shaders", "export", "nowhere.py:kernel", "--args", ""), 1, "there is no file nowhere.py"),
        (("shaders", "export", "prog", "--args", ""), 1, "write MODULE:KERNEL"),
        ((*EXPORT[:5], "--args", "float32[:,:]"), 1, "takes matrix, sums: give a type for each"),
        ((*EXPORT[:5], "--args", "flaot32[:,:], float32"), 2, "flaot32 is not an element type"),
        ((*EXPORT[:5], "--args", "float32[:,0], float32"), 2, "each size is a colon or a number of at least 1"),
        (("shaders", "export", "prog:tile_sums", "--tile", "2x", "--args", ""), 2, "'2x' is not a size"),
        (("shaders", "export", "prog:scaled", "--args", "float32[:]"), 1, "the kernel has the constant factor now"),
        (("shaders", "export", "prog:scaled", "--args", "float32[:]", "--set", "factor"), 2, "write NAME=VALUE"),
        (("shaders", "export", "prog:wrong", "--tile", "4", "--args", "float32[:]"), 1, "VKA601"),
        (("shaders", "nothing"), 2, "No such command"),
    ]:
        done = project.vkamp(*args)
        assert (done.status, said in done.err) == (status, True), (args, done)
        assert "Traceback" not in done.err
    assert not (project.folder / "shaders").exists()
    project.vkamp(*EXPORT)
    done = project.vkamp("shaders", "diff", "nothing")
    assert done.status == 1
    assert f"is called nothing; there are:\n  {NAME}" in done.err
    stray = project.shader.with_name("stray.comp")
    stray.write_text("#version 450\n")
    done = project.vkamp("shaders", "status")
    assert done.status == 1
    assert "prog/stray.comp has no base" in done.err


def test_a_module_that_fails_is_said_in_its_row(project: Project) -> None:
    project.vkamp(*EXPORT)
    project.program.write_text("raise OSError('no data')\n")
    done = project.vkamp("shaders", "status")
    assert (done.status, done.err) == (0, "")
    assert done.out == f"unknown  {NAME}  {project.program} cannot be imported: OSError: no data\n"


def test_check_finds_what_does_not_compile(project: Project) -> None:
    project.vkamp(*EXPORT)
    edit(project, "float total = 0.0", "float total = nothing")
    done = project.vkamp("shaders", "check")
    assert done.status == 1
    assert done.out.startswith(f"wrong  {NAME}\nVKA701: ")
    assert "total = 0.0" in done.out


def test_watch_shows_errors_as_they_are_saved(project: Project) -> None:
    project.vkamp(*EXPORT)
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "vkamp", "shaders", "watch", "--period", "0.1", "--times", "3"]
    output = project.folder / "output.txt"
    with output.open("w") as stream:
        watching = subprocess.Popen(command, cwd=project.folder, env=environment, stdout=stream, stderr=stream)

    def wait_for(count: int) -> str:
        deadline = time.monotonic() + 60
        while output.read_text().count(f"  {NAME}\n") < count:
            assert watching.poll() is None or output.read_text().count(f"  {NAME}\n") >= count, output.read_text()
            assert time.monotonic() < deadline, output.read_text()
            time.sleep(0.05)
        return output.read_text()

    try:
        deadline = time.monotonic() + 60
        while "watching" not in output.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        edit(project, "float total = 0.0", "float total = nothing")
        assert f"wrong  {NAME}\nVKA701: glslang rejects" in wait_for(1)
        edit(project, "total = nothing", "total = 5.0")
        assert f"edited  {NAME}\n" in wait_for(2)
        change(project, "total += values", "total -= values")
        edit(project, "total = 5.0", "total = 6.0")
        assert "VKA703" in wait_for(3)
        assert watching.wait(30) == 0
    finally:
        watching.kill()
        watching.wait()


def test_onto_another_signature(project: Project) -> None:
    project.vkamp(*EXPORT)
    edit(project, "float total = 0.0", "float total = 100.0")
    project.vkamp(*EXPORT[:3], "--tile", "2x4", "--args", "int32[:,:], float32[:,:]")
    done = project.vkamp("shaders", "merge", NAME, "--onto", "int32")
    assert (done.status, done.out.split()[0]) == (0, "merged"), done
    other = Path(str(project.shader).replace("float32_2d-", "int32_2d-"))
    assert "total = 100.0" in other.read_text()
    done = project.vkamp("shaders", "merge", "--onto", "int32")
    assert done.status == 2 or "edited itself" in done.err


def test_shaders_of_an_algorithm(project: Project) -> None:
    """A function is called with zeros; the shaders of its launches can be edited, and their states need no program."""
    project.program.write_text(
        "import numpy as np\nfrom vkamp import algorithms\n"
        "print(np.asarray(algorithms.scan(np.arange(1, 5, dtype=np.float32), algorithms.functional.max)).tolist())\n"
    )
    done = project.vkamp(
        "shaders", "export", "vkamp.algorithms.scan:scan", "--args", "float32[4]", "--set",
        "op=vkamp.algorithms.functional:max",
    )  # fmt: skip
    assert done.status == 0, done.err
    assert done.out.startswith("written  vkamp/algorithms/") and done.out.count("written") == 2
    names = [line.split()[1] for line in done.out.splitlines()]
    assert project.vkamp("shaders", "status").out == "".join(f"unedited  {name}\n" for name in sorted(names))
    (scan,) = (name for name in names if "scan_runs" in name)
    shader = project.folder / "shaders" / f"{scan}.comp"
    text = shader.read_text()
    assert text.count("out_values[i] = x;") == 1 and text.count("vec4(a, b, c, d);") == 1
    text = text.replace("out_values[i] = x;", "out_values[i] = -x;").replace("vec4(a, b, c, d);", "-vec4(a, b, c, d);")
    shader.write_text(text)
    assert f"edited    {scan}\n" in project.vkamp("shaders", "status").out
    assert project.vkamp("run", "prog.py").out == "[-1.0, -2.0, -3.0, -4.0]\n"


def test_functions_that_cannot_be_exported(project: Project) -> None:
    for arguments, message in (
        (
            ("vkamp.algorithms:sort_by_key", "--args", "float32[:,:]"),
            "sort_by_key cannot be called with these arguments: ",
        ),
        (("vkamp.algorithms:swap", "--args", "float3, int32"), "write float32[:] or int32"),
        (("vkamp.algorithms:scan", "--args", "int32[:]", "--set", "op=vkamp.algorithms:nothing"), "has no nothing"),
        (("vkamp.algorithms:scan", "--args", "int32[:]", "--tile", "64"), "which chooses its domains"),
    ):
        done = project.vkamp("shaders", "export", *arguments)
        assert done.status != 0 and message in done.err, (arguments, done)
        assert "Traceback" not in done.err


def test_types_of_scalars_in_memory() -> None:
    rows = [each.row for each in parse_arguments("float32[:], device_scalar(float32), device_scalar(bool), int8[:]")]
    assert rows[1:3] == [
        {"scalar": "float32", "element": "float32", "storage": 1},
        {"scalar": "bool", "element": "uint8", "storage": 2},
    ]
    assert [each.get("storage") for each in rows] == [0, 1, 2, 3]
    with pytest.raises(click.BadParameter, match="is not a type"):
        parse_arguments("device_scalar(float2)")


def test_types_of_sections() -> None:
    (section,) = parse_arguments("float32[:]:section")
    assert section.row == {"container": "float32", "rank": 1, "dense": False, "storage": 0, "unit": True}
    with pytest.raises(click.BadParameter, match="`section` is for one dimension"):
        parse_arguments("float32[:,:]:section")
