"""``vkamp build``, and programs that use what it made: without a compiler, and without their sources."""

from __future__ import annotations

import json
import os
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

import vkamp as amp
from tests.cli.conftest import COMMANDS, PACKAGE
from vkamp import prebuilt

PROGRAM = """\
import sys

import numpy as np
import vkamp as amp
from helpers import FACTOR, scaled
from vkamp import algorithms


@amp.kernel
def sums(t_idx, a, out, *, N: amp.constant):
    values = amp.tile_static(4, amp.float32)
    values[t_idx.local] = scaled(a[t_idx])
    t_idx.barrier.wait()
    if t_idx.local[0] == 0:
        total = 0.0
        for k in range(4):
            total += values[k] * N
        out[t_idx.tile] = total


def main():
    a = amp.array_view(np.arange(8, dtype=np.float32))
    out = amp.array(amp.extent(2), amp.float32)
    amp.parallel_for_each(a.extent.tile(4), sums, a, out, N=2)
    offset = 1.5

    @amp.parallel_for_each(a.extent)
    def _(idx):
        a[idx] += offset

    least = algorithms.min(a)
    total = algorithms.transform_reduce(lambda x: x * 2 + (least - 1.5), lambda x, y: x + y, a)
    print(np.asarray(out).tolist(), np.asarray(a)[3], float(total))


if __name__ == "__main__":
    main()
"""
HELPERS = """\
import vkamp as amp

FACTOR = 3


@amp.func
def scaled(x):
    return x * FACTOR
"""
PRINTED = "[36.0, 132.0] 4.5 80.0\n"
#: Runs a program as Python does, where there is no GLSL compiler.
WITHOUT_COMPILER = """\
import runpy, sys
from vkamp.spirv import glslang
glslang.cmeel_prefixes = lambda: iter(())
sys.argv[:] = sys.argv[1:]
sys.path.insert(0, ".")
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def environment(tmp: Path, **more: str) -> dict[str, str]:
    known = {name: value for name, value in os.environ.items() if not name.startswith("VKAMP_")}
    return {**known, "VKAMP_CACHE_DIR": str(tmp / "cache"), "PYTHONPATH": str(PACKAGE), **more}


def build(folder: Path, *args: str) -> tuple[int, str, str]:
    return COMMANDS.run(["build", *args], folder, environment(folder))


def run(folder: Path, program: str, **more: str) -> tuple[int, str, str]:
    """Runs a program without a compiler, and without what other programs have left on disk."""
    more = {"VKAMP_CACHE_SIZE": "0", "PATH": "", "VULKAN_SDK": "", **more}
    command = [sys.executable, "-c", WITHOUT_COMPILER, program]
    done = subprocess.run(command, cwd=folder, env=environment(folder, **more), capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program and its artifacts for two devices and both engines."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "program.py").write_text(PROGRAM)
    (folder / "helpers.py").write_text(HELPERS)
    devices = ["--device", "swiftshader", "--device", "llvmpipe", "--engine", "kompute", "--engine", "vulkan"]
    status, out, err = build(folder, "-o", "artifacts", *devices, "program.py")
    assert status == 0, out + err
    return folder


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("engine", ["kompute", "vulkan"])
@pytest.mark.parametrize("device", ["swiftshader", "llvmpipe"])
def test_a_program_without_a_compiler(project: Path, device: str, engine: str) -> None:
    before = contents(project / "artifacts")
    status, out, err = run(
        project, "program.py", VKAMP_ARTIFACTS="artifacts", VKAMP_ACCELERATOR=device, VKAMP_ENGINE=engine
    )
    assert (status, out) == (0, PRINTED), err
    assert contents(project / "artifacts") == before


def test_a_program_without_its_sources(project: Path, tmp_path: Path) -> None:
    for name in ("program", "helpers"):  # as a frozen program has them: bytecode that names no file that is there
        py_compile.compile(str(project / f"{name}.py"), cfile=str(tmp_path / f"{name}.pyc"), dfile=f"{name}.py")
    chosen = {"VKAMP_ARTIFACTS": str(project / "artifacts"), "VKAMP_ACCELERATOR": "swiftshader"}
    (tmp_path / "program.py").write_text("another = 'program of that name'\n" * 99)
    status, out, err = run(tmp_path, "program.pyc", **chosen)
    assert (status, out) == (0, PRINTED), err
    (tmp_path / "program.py").unlink()
    status, _, err = run(tmp_path, "program.pyc", VKAMP_ACCELERATOR="swiftshader")
    assert status == 1 and "VKA102: the source of `sums` cannot be read" in err
    # The sources in the artifacts do for a compiler, too: for another form of the program, here.
    (tmp_path / "program.py").write_text("another = 'program of that name'\n" * 99)
    done = subprocess.run(
        [sys.executable, "program.pyc"],
        cwd=tmp_path,
        env=environment(tmp_path, **chosen, VKAMP_LOWERING="threads"),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, PRINTED), done.stderr


MISSING = """\
import numpy as np
import vkamp as amp
import helpers
import program

a = amp.array_view(np.zeros(8, np.int32))

@amp.kernel
def other(idx, a):
    a[idx] = 1

def tell(*args, **constants):
    try:
        amp.parallel_for_each(*args, **constants)
    except amp.AmpError as error:
        print(str(error).split(";")[0])

floats = amp.array_view(np.zeros(8, np.float32)), amp.array(amp.extent(2), amp.float32)
tell(a.extent, other, a)
tell(a.extent.tile(2), program.sums, *floats, N=2)
tell(a.extent.tile(4), program.sums, *floats, N=3)
helpers.FACTOR = 4
tell(a.extent.tile(4), program.sums, *floats, N=2)
"""


def test_what_the_artifacts_do_not_have(project: Path) -> None:
    (project / "missing.py").write_text(MISSING)
    chosen = {"VKAMP_ARTIFACTS": "artifacts", "VKAMP_ACCELERATOR": "swiftshader"}
    status, out, err = run(project, "missing.py", **chosen)
    have, known = f"the artifacts in {project / 'artifacts'} have", "float32[:], float32[:], N=2, tile 4"
    assert (status, out.splitlines()) == (
        0,
        [
            f"{have} no kernel other: run `vkamp build` again, with a run that launches it",
            f"{have} sums for {known}, and not for float32[:], float32[:], N=2, tile 2: run `vkamp build` again, with "
            "a run that launches it so",
            f"{have} sums for {known}, and not for float32[:], float32[:], N=3, tile 4: run `vkamp build` again, with "
            "a run that launches it so",
            f"{have} sums as it was before it or a function, value or file that it depends on has changed: run "
            "`vkamp build` again",
        ],
    ), err
    _, _, err = run(project, "program.py", **chosen, VKAMP_LOWERING="threads")
    assert f"{have} sums, but not for this kind of device or engine: run `vkamp build` again" in err
    assert "glslangValidator, which compiles the generated shaders, is not installed" in err


def test_a_program_that_has_changed(project: Path, tmp_path: Path) -> None:
    chosen = {"VKAMP_ARTIFACTS": str(project / "artifacts"), "VKAMP_ACCELERATOR": "swiftshader"}
    (tmp_path / "helpers.py").write_text(HELPERS)
    changed = PROGRAM.replace("values[k] * N", "values[k] / N")
    (tmp_path / "program.py").write_text(changed)
    _, _, err = run(tmp_path, "program.py", **chosen)
    assert "have sums as it was before it or a function, value or file that it depends on has changed" in err
    # With a compiler, it is compiled.
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env=environment(tmp_path, **chosen),
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith("[9.0, 33.0]"), done.stderr
    # The same text in another folder is the same program.
    (tmp_path / "program.py").write_text(PROGRAM)
    assert run(tmp_path, "program.py", **chosen)[1] == PRINTED


UNKEPT = """\
import numpy as np
import vkamp as amp

class Sum:
    def __init__(self):
        self.a = amp.array_view(np.zeros(8, np.float32))

    @amp.kernel
    def add(self, idx):
        self.a[idx] += 1

one = Sum()
amp.parallel_for_each(one.a.extent, one.add)

@amp.parallel_for_each(one.a.extent)
def plain(idx):
    one.a[idx] = 2
"""


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "unkept.py").write_text(UNKEPT)
    (tmp_path / "nothing.py").write_text("print(5)")
    (tmp_path / "fails.py").write_text("raise SystemExit(3)")
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "helpers.py").write_text(HELPERS)
    device = "--device", "swiftshader"
    status, out, err = build(tmp_path, "-o", "a", *device, "unkept.py")
    assert status == 1 and "not kept: add: it is a method of an object" in err, out + err
    status, out, err = build(tmp_path, "-o", "a", *device, "nothing.py")
    assert status == 1 and "no kernel was launched on SwiftShader" in err
    assert build(tmp_path, "-o", "a", *device, "fails.py")[0] != 0
    assert build(tmp_path, "-o", "a", *device, "program.py")[0] == 0
    names = {name for name, _ in prebuilt.Artifacts(tmp_path / "a", recording=False).recorded()}
    assert {"sums", "_"} <= names
    before = contents(tmp_path / "a")
    build(tmp_path, "-o", "a", "--add", *device, "nothing.py")
    assert contents(tmp_path / "a").keys() == before.keys()
    build(tmp_path, "-o", "a", *device, "nothing.py")
    assert [Path(path).name for path in contents(tmp_path / "a")] == ["artifacts.json"]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("mine")
    status, _, err = build(tmp_path, "-o", "full", *device, "program.py")
    assert status == 1 and "has files that vkamp build did not write" in err
    assert contents(tmp_path / "full").keys() == {str(tmp_path / "full" / "letter.txt")}


def test_folders_that_are_no_artifacts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prebuilt, "_chosen", False)
    with pytest.raises(FileNotFoundError, match="use_artifacts: .*none is not a folder"):
        amp.use_artifacts(tmp_path / "none")
    with pytest.raises(amp.AmpError, match=r"has no artifacts\.json that can be read"):
        amp.use_artifacts(tmp_path)
    versions = prebuilt._versions()
    manifest = tmp_path / "artifacts.json"
    for name, value in {"vkamp": "0.0.1", "python": "2.7", "format": 0}.items():
        manifest.write_text(json.dumps({**versions, name: value}))
        with pytest.raises(amp.AmpError, match=r"are for vkamp .* on Python .*; this is vkamp 0.* run `vkamp build`"):
            amp.use_artifacts(tmp_path)
    assert prebuilt.active() is None
    manifest.write_text(json.dumps(versions))
    amp.use_artifacts(tmp_path)
    found = prebuilt.active()
    assert found is not None and found.folder == tmp_path and not found.recording
    amp.use_artifacts(None)
    monkeypatch.setenv("VKAMP_ARTIFACTS", str(tmp_path))
    assert prebuilt.active() is None  # the call decides
    monkeypatch.setattr(prebuilt, "_chosen", False)
    assert prebuilt.active() is found
