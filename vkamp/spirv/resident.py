"""glslang's library in a process that stays alive: most of the time of glslangValidator is its start."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from vkamp.spirv import glslang
from vkamp.spirv.glslang import Compiler

if TYPE_CHECKING:
    import subprocess


PROGRAM = Path(__file__).with_name("library.py")
#: After this many processes that ended while compiling a shader, no other is started.
_MAX_FAILURES = 3


class Resident:
    """A process that compiles shaders one after another; it is started by the first, and ends when it has had nothing
    to do for a while, or when this process ends.
    """

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._failures = 0
        #: Whether a shader was compiled before.
        self.is_prepared = False

    def prepare(self) -> None:
        """Starts it for the next shader: this one's compiler is as fast as its start."""
        with self._lock:
            self.is_prepared = True
            if self._process is None:
                self._process = self._start()

    def compile(self, glsl: str) -> bytes | None:
        """The SPIR-V; ``None`` where the validator must say more: where the shader is refused, or has ended the
        process, and where there can be none.
        """
        with self._lock:
            started = False
            while not started and self._failures < _MAX_FAILURES:
                process = self._process
                if process is None:
                    process = self._process = self._start()
                    started = True
                if process is None:
                    break
                answer = self._ask(process, glsl.encode())
                if answer is not None:
                    return answer if glslang.is_spirv(answer) else None
                self.stop()  # it ended: by itself if it has had nothing to do, else by this shader
            self._failures += started
            return None

    def _start(self) -> subprocess.Popen[bytes] | None:
        python = _python()
        if python is None or self._compiler.libraries is None or not self._compiler.has_library():
            return None
        # Imported here: most launches find their SPIR-V in the cache.
        import subprocess
        import tempfile

        try:
            return subprocess.Popen(
                [python, "-I", "-S", str(PROGRAM), self._compiler.libraries],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._compiler.environment(),
                cwd=tempfile.gettempdir(),
                start_new_session=True,  # Ctrl-C is not for it
            )
        except OSError:
            return None

    def _ask(self, process: subprocess.Popen[bytes], data: bytes) -> bytes | None:
        """The answer to a shader; ``None`` if the process ends first or must be stopped."""
        assert process.stdin is not None and process.stdout is not None
        timer = threading.Timer(glslang.TIME_LIMIT, process.kill)
        timer.daemon = True
        timer.start()
        try:
            process.stdin.write(len(data).to_bytes(4, "little") + data)
            process.stdin.flush()
            head = process.stdout.read(4)
            size = int.from_bytes(head, "little")
            answer = process.stdout.read(size)
            return answer if len(head) == 4 and len(answer) == size else None
        except OSError:
            return None
        except BaseException:
            self.stop()  # the answer to this would be taken for the next one's
            raise
        finally:
            timer.cancel()

    def stop(self) -> None:
        """Ends the process, if it runs."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):  # of what was not read any more
                        stream.close()
            process.wait()


def _python() -> str | None:
    """A Python to run a program with; ``None`` where it is part of an application."""
    name = Path(sys.executable or "").name.lower()
    return sys.executable if name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False) else None


_residents: dict[Compiler, Resident] = {}
_lock = threading.Lock()


def resident_of(compiler: Compiler) -> Resident:
    """The one of this process."""
    with _lock:
        found = _residents.get(compiler)
        if found is None:
            found = _residents[compiler] = Resident(compiler)
        return found


@atexit.register
def _stop_all() -> None:
    for each in list(_residents.values()):
        each.stop()


def _forget() -> None:
    """A forked child must not talk to the processes of its parent."""
    global _lock
    _residents.clear()
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
