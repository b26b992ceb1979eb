"""Generated shaders, whole: against the golden files, through glslangValidator and through spirv-val.

VKAMP_ACCEPT=1 rewrites the golden files, to be reviewed as a diff.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.emit.table import PROGRAMS
from tests.emit.validation import validate
from vkamp import spirv
from vkamp.ir.verify import verify
from vkamp.pipeline.passes import shader_of

GOLDEN = Path(__file__).with_name("golden")


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
