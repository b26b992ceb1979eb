"""Generated shaders, whole: against the golden files, through glslangValidator and through spirv-val.

VKAMP_ACCEPT=1 rewrites the golden files, to be reviewed as a diff.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.emit.programs import PROGRAMS
from vkamp import spirv
from vkamp.ir.verify import verify
from vkamp.pipeline.passes import shader_of

GOLDEN = Path(__file__).with_name("golden")
# Wherever the package lies: in site-packages, or in a folder on PYTHONPATH.
PREFIX = next(prefix for folder in sys.path if (prefix := Path(folder, "cmeel.prefix")).is_dir())


def validate(binary: bytes, folder: Path) -> None:
    """Passes a module through spirv-val."""
    path = folder / "shader.spv"
    path.write_bytes(binary)
    result = subprocess.run(
        [PREFIX / "bin" / "spirv-val", "--target-env", "vulkan1.1", path],
        env={**os.environ, "LD_LIBRARY_PATH": str(PREFIX / "lib")},
        capture_output=True,
        text=True,
    )
    assert (result.returncode, result.stdout + result.stderr) == (0, "")


@pytest.mark.parametrize("name", PROGRAMS)
def test_golden(name: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    kernel = program.kernel()
    verify(kernel)
    shader = shader_of(kernel, program.target)
    assert shader == shader_of(program.kernel(), program.target)
    validate(spirv.compile(shader.glsl, name=name), tmp_path)
    golden = GOLDEN / f"{name}.comp"
    if os.environ.get("VKAMP_ACCEPT"):
        golden.write_text(shader.glsl, encoding="utf-8")
    assert shader.glsl == golden.read_text(encoding="utf-8")


def test_every_golden_file_has_its_program() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("*.comp")) == sorted(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_lines_map_to_the_python_source(name: str) -> None:
    program = PROGRAMS[name]
    shader = shader_of(program.kernel(), program.target)
    lines = shader.glsl.splitlines()
    assert len(shader.lines) == len(lines)
    for text, span in zip(lines, shader.lines, strict=True):
        assert span is None or Path(span.file).name in ("programs.py",)
        if text.lstrip().startswith("// ") and span is not None and span.line and "grid" not in text:
            source = Path(span.file).read_text(encoding="utf-8").splitlines()[span.line - 1]
            assert source.strip() == text.strip()[3:]
