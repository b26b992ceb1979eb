"""The other commands: run, check, info, cache, explain, tile, completion."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from click.testing import CliRunner

import vkamp as amp
from tests.cli.conftest import PACKAGE, Project
from vkamp.cli.app import command
from vkamp.cli.examples import examples
from vkamp.messages import MESSAGES
from vkamp.run.workarounds import WORKAROUNDS, faults_of


def invoke(*args: str) -> str:
    done = CliRunner().invoke(command, args, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


# -- run ---------------------------------------------------------------------------------------------------------


def test_run_passes_arguments_and_chooses_the_device(project: Project) -> None:
    done = project.vkamp("run", "prog.py", "one", "--two", "3", VKAMP_ACCELERATOR="-unset-")
    assert (done.status, done.out) == (0, "SwiftShader Device (Subzero) one --two 3 8.0\n")
    done = project.vkamp("run", "--device", "llvmpipe", "prog.py")
    assert done.out.startswith("llvmpipe") and done.out.endswith(" 8.0\n")
    done = project.vkamp("run", "--device", "reference", "--check", "prog.py")
    assert (done.status, done.out.endswith(" 8.0\n")) == (0, True)


def test_run_says_what_a_script_says(project: Project) -> None:
    script = project.folder / "fails.py"
    script.write_text("import sys\nprint('before')\nsys.exit(3)\n")
    assert project.vkamp("run", "fails.py").status == 3
    script.write_text("import sys\nsys.exit('no data')\n")
    done = project.vkamp("run", "fails.py")
    assert (done.status, done.err) == (1, "no data\n")
    script.write_text("def f():\n    raise ValueError('odd')\n\nf()\n")
    done = project.vkamp("run", "fails.py")
    plain = subprocess.run(
        [sys.executable, "fails.py"], cwd=project.folder, capture_output=True, text=True, check=False
    )
    assert done.status == plain.returncode == 1
    assert done.err.splitlines()[0] == "Traceback (most recent call last):"
    assert done.err.splitlines()[-1] == "ValueError: odd"
    assert done.err.count("File ") == plain.stderr.count("File ") == 2


def test_run_names_its_own_options_behind_the_file(project: Project) -> None:
    done = project.vkamp("run", "prog.py", "one", "--device=llvmpipe")
    assert (done.status, done.out) == (0, "SwiftShader Device (Subzero) one --device=llvmpipe 8.0\n")
    assert done.err == "note: --device follows prog.py, which receives it; options of vkamp run go before the file\n"


def test_run_checks(project: Project) -> None:
    text = project.program.read_text()
    project.program.write_text(text.replace("sums[t_idx.tile] = total", "sums[t_idx.tile[0], 9] = total"))
    assert project.vkamp("run", "--check", "prog.py").status == 1
    assert "out of bounds" in project.vkamp("run", "--check", "prog.py").err


def test_run_profiles(project: Project) -> None:
    done = project.vkamp("run", "--profile", "prog.py")
    assert done.status == 0, done.err
    assert "1 launches on SwiftShader" in done.out
    assert [line.split()[:2] for line in done.out.splitlines() if line.startswith("tile_sums")] == [["tile_sums", "1"]]
    assert project.vkamp("run", "--profile", "--engine", "kompute", "prog.py").status == 2


def test_run_refuses_what_is_not_there(project: Project) -> None:
    done = project.vkamp("run", "nothing.py")
    assert (done.status, "does not exist" in done.err) == (2, True)
    done = project.vkamp("run", "--device", "nothing", "prog.py")
    assert (done.status, "--device nothing names no accelerator" in done.err) == (1, True)
    assert done.out == ""
    done = project.vkamp("build", "-o", "artifacts", "--device", "nothing", "prog.py")
    assert (done.status, "--device nothing names no accelerator" in done.err) == (1, True)


# -- check -------------------------------------------------------------------------------------------------------


def test_check_compiles(project: Project) -> None:
    done = project.vkamp("check", "prog:tile_sums", "--tile", "2x4", "--args", "float32[:,:], float32[:,:]")
    assert done.status == 0
    assert done.out.startswith("tile_sums compiles: ")
    done = project.vkamp("check", "prog:scaled", "--args", "float32[:]", "--set", "factor=3")
    assert done.status == 0
    done = project.vkamp("check", "prog:wrong", "--tile", "4", "--args", "float32[:]")
    assert (done.status, "VKA601" in done.err, done.out) == (1, True, "")


def test_check_runs(project: Project) -> None:
    args = ("--tile", "2x4", "--extent", "6x12", "--args")
    done = project.vkamp("check", "prog:tile_sums", *args, "float32[6,12], float32[3,3]")
    assert (done.status, done.out.splitlines()[-1]) == (0, "no findings on SwiftShader Device (Subzero)")
    done = project.vkamp("check", "prog:too_far", "--extent", "7", "--args", "float32[7]", "--device", "reference")
    assert done.status == 1
    assert "out of bounds" in done.out
    done = project.vkamp("check", "prog:too_far", "--extent", "7", "--args", "float32[:]")
    assert (done.status, "a run needs the containers' sizes" in done.err) == (1, True)


def test_check_of_what_is_no_kernel(project: Project) -> None:
    done = project.vkamp("check", "prog:nothing")
    assert done.err.startswith("error: nothing of prog does not exist; the kernels there are: ")
    done = project.vkamp("check", "json:dumps")
    assert done.err == (
        "error: dumps of json is not a kernel, which has the decorator @amp.kernel; the kernels there are: none\n"
    )
    done = project.vkamp("shaders", "export", "prog:too_far", "--args", "float32[:]", "--lanes", "3")
    assert (done.status, "no device has 3 lanes: write one of 1, 2, 4, " in done.err) == (2, True)


def test_check_of_a_part_of_a_tile(project: Project) -> None:
    args = ("prog:padded", "--tile", "2x4", "--extent", "5x7", "--args", "float32[5,7]")
    done = project.vkamp("check", *args)
    assert (done.status, done.out) == (1, "")
    assert done.err == "error: 5x7 is not a multiple of the tile 2x4: --pad extends it to whole tiles, as .pad() does\n"
    done = project.vkamp("check", "--pad", *args)
    assert (done.status, done.out.splitlines()[-1]) == (0, "no findings on SwiftShader Device (Subzero)")


@pytest.mark.parametrize("command", [("check",), ("shaders", "export")])
def test_missing_types_are_named(project: Project, command: tuple[str, ...]) -> None:
    done = project.vkamp(*command, "prog:tile_sums", "--tile", "2x4", "--args", "float32[:,:]")
    assert done.status == 1
    example = '--args "float32[:,:], float32[:,:]"'
    assert done.err == f"error: tile_sums takes matrix, sums: give a type for each, as in {example}\n"


# -- info, cache -------------------------------------------------------------------------------------------------


def test_info(project: Project) -> None:
    data = json.loads(project.vkamp("info", "--json").out)
    assert data["vkamp"] == amp.__version__
    names = [each["name"] for each in data["devices"]]
    assert [found.description for found in amp.accelerator.get_all()[: len(names)]] == names
    device = data["devices"][0]
    limits = amp.accelerator(device["path"]).limits
    assert limits is not None
    assert device["limits"]["tile_threads"] == limits.tile_threads
    for each in data["devices"]:
        found = amp.accelerator(each["path"], engine=each["engine"]["name"])._info
        assert found is not None
        assert [row["name"] for row in each["quirks"]] == [row.name for row in WORKAROUNDS if row in faults_of(found)]
        assert all(row["fault"] for row in each["quirks"])
    assert data["default"].endswith("(SwiftShader Device (Subzero))")
    assert data["engines"]["kompute"] and data["engines"]["vulkan"]
    text = project.vkamp("info").out
    for word in (
        "SwiftShader",
        "llvmpipe",
        "threads of a tile",
        "driver quirks",
        "absent_lanes",
        "glslangValidator",
        "VKAMP_ACCELERATOR",
    ):
        assert word in text


def test_info_without_a_device(project: Project) -> None:
    done = project.vkamp("info", VK_DRIVER_FILES="/nowhere.json", VK_ADD_DRIVER_FILES="-unset-", VKAMP_ACCELERATOR="")
    assert done.status == 1
    assert "`vkamp doctor` looks for the cause" in done.out
    assert "Traceback" not in done.err


def test_cache(project: Project) -> None:
    folder = str(project.folder / "cache")
    project.vkamp("run", "prog.py", VKAMP_CACHE_DIR=folder)
    rows = json.loads(project.vkamp("cache", "info", "--json", VKAMP_CACHE_DIR=folder).out)
    assert {row["kind"] for row in rows} == {"kernels", "spirv", "pipelines"}
    entries = sum(row["entries"] for row in rows)
    assert entries > 0
    assert f"{folder}" in project.vkamp("cache", "info", VKAMP_CACHE_DIR=folder).out.replace("\n", "").replace(" ", "")
    done = project.vkamp("cache", "clear", VKAMP_CACHE_DIR=folder)
    assert done.out == f"removed {entries} entries\n"
    rows = json.loads(project.vkamp("cache", "info", "--json", VKAMP_CACHE_DIR=folder).out)
    assert [row["entries"] for row in rows] == [0, 0, 0]


# -- explain, tile -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["VKA601", "vka601", "601"])
def test_explain(code: str) -> None:
    text = invoke("explain", code)
    assert text.startswith("VKA601: some threads of the tile may not reach this barrier: it is under a condition that ")
    assert text.splitlines()[1] == "raised as amp.CompileError"
    shown = textwrap.indent(examples()["VKA601"].message, "  ")
    assert f"\nwhat vkamp says:\n{shown}\n\nright:\n" in text
    assert "\nwrong:\n  @amp.kernel\n" in text
    assert "docs/errors.md" in text and (PACKAGE / "docs" / "errors.md").is_file()


@pytest.mark.parametrize("code", sorted(MESSAGES))
def test_explain_shows_no_template(code: str) -> None:
    shown = invoke("explain", code)
    assert f"{code}: {examples()[code].headline}\n" in shown
    for field in re.findall(r"\{\w+\}", MESSAGES[code].text + MESSAGES[code].help):
        assert field not in shown and f"<{field[1:-1]}>" not in shown
    programs = examples()[code].programs
    assert (programs[1].splitlines()[-1] if programs else "hand-edited-shaders") in shown


def test_explain_names_a_warning() -> None:
    assert "\ngiven as amp.RaceWarning\n" in invoke("explain", "620")
    assert "\nraised as amp.UnsupportedFeatureError\n" in invoke("explain", "304")


def test_explain_lists_every_code() -> None:
    text = invoke("explain")
    rows = re.findall(r"^(VKA\d+)  \S", text, re.MULTILINE)
    assert rows == list(MESSAGES)
    assert "<" not in "".join(line for line in text.splitlines() if not line.startswith("VKA704"))


def test_explain_knows_no_other_code(project: Project) -> None:
    done = project.vkamp("explain", "VKA999")
    assert (done.status, done.err) == (1, "error: there is no error VKA999; `vkamp explain` lists them\n")


def test_tile() -> None:
    assert invoke("tile", "4x6", "2x3").splitlines() == [
        "extent 4 x 6, tiles of 2 x 3: 2 x 2 = 4 tiles of 6 threads",
        "each thread with its global index",
        " 0,0  0,1  0,2   0,3  0,4  0,5 ",
        " 1,0  1,1  1,2   1,3  1,4  1,5 ",
        "",
        " 2,0  2,1  2,2   2,3  2,4  2,5 ",
        " 3,0  3,1  3,2   3,3  3,4  3,5 ",
        "",
    ]
    assert invoke("tile", "8", "4", "--show", "local").splitlines()[2] == " 0  1  2  3   0  1  2  3 "
    assert invoke("tile", "8", "4", "--show", "tile").splitlines()[2] == " 0  0  0  0   1  1  1  1 "
    assert "padded to 8 x 9" in invoke("tile", "7x8", "2x3", "--pad")
    assert "truncated to 6 x 6" in invoke("tile", "7x8", "2x3", "--truncate")
    assert "one of 8 equal slices along dimension 0" in invoke("tile", "8x4x4", "2x2x2")
    assert "..." in invoke("tile", "4096x4096", "16x16")


def test_tile_writes_a_picture(tmp_path: Path) -> None:
    path = tmp_path / "tiles.svg"
    invoke("tile", "5x6", "2x3", "--pad", "--svg", str(path))
    root = ElementTree.fromstring(path.read_text())
    space = "{http://www.w3.org/2000/svg}"
    boxes = root.findall(f"{space}rect")
    assert len(boxes) == 6 * 6
    assert sum(1 for box in boxes if box.get("stroke-dasharray")) == 6
    texts = [each.text for each in root.findall(f"{space}text")]
    # The thread (4, 5) is the last one of the data; in its tile it is (0, 2).
    assert texts[texts.index("4,5") + 1] == "0,2"


def test_tile_refuses(project: Project) -> None:
    for args, status, said in [
        (("tile", "7", "2"), 1, "dimension 0, 7, is not a multiple of the tile's 2: --pad or --truncate makes it one"),
        (("tile", "8x8", "2"), 2, "the same number of dimensions"),
        (("tile", "8", "0"), 2, "'0' is not a size"),
        (("tile", "3", "4", "--truncate"), 1, "the extent contains no whole tile"),
    ]:
        done = project.vkamp(*args)
        assert (done.status, said in done.err) == (status, True), (args, done)


# -- the command itself ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    assert "_VKAMP_COMPLETE" in invoke("completion", shell)


def test_completion_completes(project: Project) -> None:
    done = project.vkamp(_VKAMP_COMPLETE="bash_complete", COMP_WORDS="vkamp shaders ", COMP_CWORD="2")
    assert "plain,merge" in done.out


def test_help_and_version(project: Project) -> None:
    assert project.vkamp("--version").out == f"vkamp, version {amp.__version__}\n"
    for args in ((), ("shaders",), ("run",), ("check",), ("doctor",)):
        done = project.vkamp(*args, "--help")
        assert (done.status, done.out.startswith("Usage: vkamp")) == (0, True)


def test_without_its_packages_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise ModuleNotFoundError(\"No module named 'click'\", name='click')\n")
    program = (
        f"import sys\nsys.path[:0] = [{str(tmp_path)!r}, {str(PACKAGE)!r}]\n"
        "from vkamp.cli import main\nsys.exit(main(['info']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        'vkamp: the command needs click, which is not installed; its packages come with\n  pip install "vkamp[cli]"\n'
    )
