"""Many shaders in one process: the same binaries, and errors that name the right shader."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spirv.shaders import shader
from vkamp import spirv
from vkamp.errors import AmpError
from vkamp.spirv import glslang

BROKEN = shader(1).replace("a[gl", "b[gl")
HUGE = shader(5).replace("local_size_x = 7", "local_size_x = 1536")


@pytest.fixture
def compiler() -> glslang.Compiler:
    found = glslang.find_compiler()
    assert found.has_library(), "the environment's glslang brings its library"
    return found


def test_the_library_gives_what_the_validator_gives(compiler: glslang.Compiler) -> None:
    texts = [shader(n) for n in range(20)]
    assert glslang.run_many(compiler, texts) == [glslang.run(compiler, text, "kernel") for text in texts]


def test_one_process_compiles_all(compiler: glslang.Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    spirv.compile(shader(100))  # asks for the version, too
    started = []
    execute = glslang.execute
    monkeypatch.setattr(glslang, "execute", lambda c, a, f: started.append(c.path) or execute(c, a, f))
    binaries = spirv.compile_many([shader(n) for n in range(8)])
    assert len(started) == 1
    assert len(set(binaries)) == 8
    assert spirv.compile_many([shader(n) for n in range(8)]) == binaries
    assert len(started) == 1, "they are in the cache"


def test_a_refused_shader_among_others(compiler: glslang.Compiler) -> None:
    found = glslang.run_many(compiler, [shader(1), BROKEN, shader(2)])
    assert [data is None for data in found] == [False, True, False]
    with pytest.raises(spirv.GlslError) as caught:
        spirv.compile_many([shader(1), BROKEN, shader(2)])
    assert (caught.value.messages[0].line, caught.value.messages[0].text) == (5, "'b' : undeclared identifier")


def test_a_tile_larger_than_the_library_takes(compiler: glslang.Compiler) -> None:
    assert glslang.run_many(compiler, [shader(1), HUGE])[1] is None
    assert spirv.compile_many([shader(1), HUGE])[1] == spirv.compile(HUGE)


def test_a_library_that_crashes(compiler: glslang.Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "library.py"
    text = Path(glslang.__file__).with_name("library.py").read_text(encoding="utf-8")
    crash = 'if name == "000002.comp": os.abort()'
    program.write_text(text.replace("        base = os", f"        {crash}\n        base = os"), encoding="utf-8")
    assert crash in program.read_text(encoding="utf-8")
    monkeypatch.setattr(glslang, "__file__", str(tmp_path / "glslang.py"))
    texts = [shader(n) for n in range(4)]
    assert [data is None for data in glslang.run_many(compiler, texts)] == [False, False, True, True]
    assert spirv.compile_many(texts) == [glslang.run(compiler, text, "kernel") for text in texts]


def test_a_library_that_hangs(compiler: glslang.Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "library.py").write_text("import time\ntime.sleep(20)\n", encoding="utf-8")
    monkeypatch.setattr(glslang, "__file__", str(tmp_path / "glslang.py"))
    monkeypatch.setattr(glslang, "TIME_LIMIT", 0.5)
    assert glslang.run_many(compiler, [shader(1), shader(2)]) == [None, None]


def test_a_compiler_without_a_library() -> None:
    compiler = glslang.Compiler("glslangValidator")
    assert glslang.run_many(compiler, [shader(1), shader(2)]) == [None, None]
    elsewhere = glslang.Compiler("glslangValidator", "nowhere")
    assert glslang.run_many(elsewhere, [shader(1)]) == [None]


def test_a_damaged_binary_counts_as_none(
    compiler: glslang.Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = "import sys, os\nopen(os.path.join(sys.argv[1], '000000.spv'), 'wb').write(b'no SPIR-V at all, but bytes')\n"
    (tmp_path / "library.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(glslang, "__file__", str(tmp_path / "glslang.py"))
    assert glslang.run_many(compiler, [shader(1)]) == [None]


def test_errors_stay_those_of_one_shader(compiler: glslang.Compiler) -> None:
    with pytest.raises(AmpError, match="line 5: b"):
        spirv.compile_many([BROKEN, BROKEN + "\n", shader(3)])
