"""A whole program where something is missing or broken: a clear error, or a slower correct run, never a crash."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PROGRAM = """
import sys
import numpy as np
import vkamp as amp

@amp.kernel
def twice(t_idx, values):
    tile = amp.tile_static(t_idx.tile_extent, amp.int32)
    tile[t_idx.local] = values[t_idx]
    t_idx.barrier.wait()
    values[t_idx] = tile[t_idx.tile_dim0 - 1 - t_idx.local[0]] * 2

def main():
    data = np.arange(12, dtype=np.int32)
    view = amp.array_view(data)
    amp.parallel_for_each(view.extent.tile(3), twice, view)
    view.synchronize()
    print(amp.accelerator().description.split()[0], data.tolist())

try:
    main()
except amp.AmpError as error:
    print(f"{type(error).__name__}: {error}")
"""

RIGHT = [4, 2, 0, 10, 8, 6, 16, 14, 12, 22, 20, 18]


def run(tmp_path: Path, **changes: str | None) -> str:
    """The output of the program in a separate process; it must end normally, with nothing on standard error."""
    environment = {**os.environ, "VKAMP_ACCELERATOR": "swiftshader", "VKAMP_CACHE_DIR": str(tmp_path / "cache")}
    for name, value in changes.items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(program)], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


def script(path: Path, text: str) -> str:
    """A program that replaces glslangValidator."""
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_all_well(tmp_path: Path) -> None:
    assert run(tmp_path) == f"SwiftShader {RIGHT}"


def test_no_driver(tmp_path: Path) -> None:
    output = run(tmp_path, VK_DRIVER_FILES=str(tmp_path / "none.json"), VK_ADD_DRIVER_FILES=None)
    assert output.startswith("AmpError: ")
    assert "there is no Vulkan device on this machine" in output
    assert "apt install mesa-vulkan-drivers" in output


def test_no_driver_and_no_choice(tmp_path: Path) -> None:
    output = run(
        tmp_path, VK_DRIVER_FILES=str(tmp_path / "none.json"), VK_ADD_DRIVER_FILES=None, VKAMP_ACCELERATOR=None
    )
    assert output.startswith('UnsupportedFeatureError: accelerator("cpu") stores data but runs no kernels')
    assert "apt install mesa-vulkan-drivers" in output


def test_the_reference_accelerator_needs_no_driver(tmp_path: Path) -> None:
    none = str(tmp_path / "none.json")
    output = run(tmp_path, VK_DRIVER_FILES=none, VK_ADD_DRIVER_FILES=None, VKAMP_ACCELERATOR="reference")
    assert output == f"reference {RIGHT}"


@pytest.mark.parametrize("text", ["", "{", '{"file_format_version": "1.0.0", "ICD": {"library_path": "/none.so"}}'])
def test_a_broken_driver_file(tmp_path: Path, text: str) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text(text, encoding="utf-8")
    drivers = f"{broken}{os.pathsep}{os.environ['VK_ADD_DRIVER_FILES']}"
    assert run(tmp_path, VK_ADD_DRIVER_FILES=drivers) == f"SwiftShader {RIGHT}"


def test_no_compiler(tmp_path: Path) -> None:
    output = run(tmp_path, VKAMP_GLSLANG=str(tmp_path / "glslangValidator"))
    assert output.startswith("AmpError: ")
    assert "VKAMP_GLSLANG" in output
    assert "glslangValidator" in output


def test_a_failing_compiler(tmp_path: Path) -> None:
    """It fails, crashes, writes nothing, or prints rubbish."""
    for text in ("echo 'no licence' >&2; exit 3", "kill -SEGV $$", "exit 0", "echo rubbish; exit 0"):
        output = run(tmp_path, VKAMP_GLSLANG=script(tmp_path / "glslangValidator", text))
        assert output.startswith("AmpError: "), text
        assert "glslangValidator" in output
    # Nothing broken is kept: with the right compiler the next run is right.
    assert run(tmp_path) == f"SwiftShader {RIGHT}"


def test_a_cache_folder_that_cannot_be_written(tmp_path: Path) -> None:
    # A file stands where the folder should be: that stops root, too.
    (tmp_path / "cache").write_text("in the way", encoding="utf-8")
    environment = {**os.environ, "VKAMP_ACCELERATOR": "swiftshader", "VKAMP_CACHE_DIR": str(tmp_path / "cache")}
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(program)], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, f"SwiftShader {RIGHT}")
    assert done.stderr.count("Warning") <= 1


def test_a_damaged_cache(tmp_path: Path) -> None:
    run(tmp_path)
    for damage in (b"", b"short", b"\0" * 4096):
        entries = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
        assert entries
        for entry in entries:
            entry.write_bytes(damage)
        assert run(tmp_path) == f"SwiftShader {RIGHT}", damage
