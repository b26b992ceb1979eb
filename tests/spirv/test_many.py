"""Many shaders by one process: the same binaries, and errors that name the right shader."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spirv.shaders import shader
from vkamp import spirv
from vkamp.errors import AmpError
from vkamp.spirv import glslang
from vkamp.spirv import resident as residents
from vkamp.spirv.resident import PROGRAM, Resident, resident_of

BROKEN = shader(1).replace("a[gl", "b[gl")
HUGE = shader(5).replace("local_size_x = 7", "local_size_x = 1536")


@pytest.fixture
def compiler() -> glslang.Compiler:
    found = glslang.find_compiler()
    assert found.has_library(), "the environment's glslang brings its library"
    return found


@pytest.fixture
def process(compiler: glslang.Compiler) -> Iterator[Resident]:
    made = Resident(compiler)
    yield made
    made.stop()


def written(folder: Path, changes: dict[str, str]) -> Path:
    """The program with some of its text replaced."""
    text = PROGRAM.read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    program = folder / "library.py"
    program.write_text(text, encoding="utf-8")
    return program


def test_it_gives_what_the_validator_gives(compiler: glslang.Compiler, process: Resident) -> None:
    for number in range(20):
        assert process.compile(shader(number)) == glslang.run(compiler, shader(number), "kernel")


def test_the_validator_compiles_the_first_alone_and_nothing_more(
    compiler: glslang.Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []
    run = glslang.run
    monkeypatch.setattr("vkamp.spirv.run", lambda *args: started.append(args) or run(*args))
    binaries = [spirv.compile(shader(100))]
    assert len(started) == 1
    binaries += [spirv.compile(shader(101)), *spirv.compile_many([shader(n) for n in range(8)])]
    assert len(started) == 1
    assert len(set(binaries)) == 10
    process = resident_of(compiler)._process
    assert process is not None
    assert process.poll() is None
    assert spirv.compile_many([shader(n) for n in range(8)]) == binaries[2:]


def test_several_at_once_start_it(compiler: glslang.Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vkamp.spirv.run", lambda *_: pytest.fail("the validator runs"))
    assert len(set(spirv.compile_many([shader(n) for n in range(8)]))) == 8


def test_a_refused_shader_among_others(process: Resident) -> None:
    found = [process.compile(text) for text in (shader(1), BROKEN, shader(2))]
    assert [data is None for data in found] == [False, True, False]
    with pytest.raises(spirv.GlslError) as caught:
        spirv.compile_many([shader(1), BROKEN, shader(2)])
    assert (caught.value.messages[0].line, caught.value.messages[0].text) == (5, "'b' : undeclared identifier")


def test_a_tile_larger_than_the_library_takes(process: Resident) -> None:
    assert process.compile(HUGE) is None
    assert spirv.compile_many([shader(1), HUGE])[1] == spirv.compile(HUGE)


def test_many_threads(compiler: glslang.Compiler) -> None:
    found: dict[int, bytes] = {}

    def work(number: int) -> None:
        found[number] = spirv.compile(shader(number))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: glslang.run(compiler, shader(n), "kernel") for n in range(12)}


def test_one_that_crashes(compiler: glslang.Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    crash = 'if b"2.0" in source: os.abort()'
    program = written(tmp_path, {"        data = library": f"        {crash}\n        data = library"})
    monkeypatch.setattr(residents, "PROGRAM", program)
    texts = [shader(n).replace("a[gl_", "a[gl_").replace("}", f" // {n}.0\n}}") for n in range(4)]
    made = Resident(compiler)
    assert [made.compile(text) is None for text in texts] == [False, False, True, False]
    made.stop()
    assert spirv.compile_many(texts) == [glslang.run(compiler, text, "kernel") for text in texts]


def test_one_that_always_crashes_is_given_up(
    compiler: glslang.Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        residents, "PROGRAM", written(tmp_path, {"    library = _Lib": "    os.abort()\n    library = _Lib"})
    )
    made = Resident(compiler)
    starts = []
    start = made._start
    monkeypatch.setattr(made, "_start", lambda: starts.append(0) or start())
    assert [made.compile(shader(n)) for n in range(6)] == [None] * 6
    assert len(starts) == 3


def test_one_that_hangs(compiler: glslang.Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hang = "import time\n    time.sleep(20)\n    library = _Lib"
    monkeypatch.setattr(residents, "PROGRAM", written(tmp_path, {"    library = _Lib": f"    {hang}"}))
    monkeypatch.setattr(glslang, "TIME_LIMIT", 0.5)
    assert Resident(compiler).compile(shader(1)) is None


def test_one_that_ended_for_want_of_work_is_started_again(
    compiler: glslang.Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(residents, "PROGRAM", written(tmp_path, {"_IDLE = 20.0": "_IDLE = 0.1"}))
    made = Resident(compiler)
    first = made.compile(shader(1))
    process = made._process
    assert process is not None
    process.wait(20)
    assert made.compile(shader(1)) == first
    assert made._process not in (None, process)
    made.stop()


def test_what_the_library_says_is_no_answer(
    compiler: glslang.Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    says = 'os.write(1, b"warning"); data = library'
    monkeypatch.setattr(residents, "PROGRAM", written(tmp_path, {"data = library": says}))
    made = Resident(compiler)
    assert made.compile(shader(1)) == glslang.run(compiler, shader(1), "kernel")
    made.stop()


def test_a_compiler_without_a_library() -> None:
    assert Resident(glslang.Compiler("glslangValidator")).compile(shader(1)) is None
    assert Resident(glslang.Compiler("glslangValidator", "nowhere")).compile(shader(1)) is None


def test_an_application_is_not_started_for_a_python(
    compiler: glslang.Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/opt/an/application")
    assert Resident(compiler).compile(shader(1)) is None


def test_a_damaged_binary_counts_as_none(
    compiler: glslang.Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    damage = 'library.compile(source) and b"no SPIR-V at all, but bytes"'
    monkeypatch.setattr(residents, "PROGRAM", written(tmp_path, {'library.compile(source) or b""': damage}))
    made = Resident(compiler)
    assert made.compile(shader(1)) is None
    made.stop()


_PROGRAM = """
import os, sys
sys.path.insert(0, {root!r})
from tests.spirv.shaders import shader
from vkamp import spirv
from vkamp.spirv.resident import resident_of
spirv.compile_many([shader(n) for n in range(3)])
process = resident_of(spirv.find_compiler())._process
print(process.pid, flush=True)
{more}
"""


def ended(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except OSError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("end", ["", "os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_it_ends_with_the_process(end: str) -> None:
    text = _PROGRAM.format(root=str(Path(__file__).parents[2]), more=end)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", text], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert ended(int(done.stdout))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_its_own() -> None:
    more = """
child = os.fork()
texts = [shader(n) for n in range(10, 40)]
found = spirv.compile_many(texts[: 20] if child else texts[10:])
if child == 0:
    own = resident_of(spirv.find_compiler())
    assert own._process.pid != process.pid
    own.stop()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert resident_of(spirv.find_compiler())._process is process
assert found[10:] == spirv.compile_many(texts[10:20])
"""
    text = _PROGRAM.format(root=str(Path(__file__).parents[2]), more=more)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_errors_stay_those_of_one_shader(compiler: glslang.Compiler) -> None:
    with pytest.raises(AmpError, match="line 5: b"):
        spirv.compile_many([BROKEN, BROKEN + "\n", shader(3)])
