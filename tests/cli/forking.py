"""The command ``vkamp`` in a process that has imported it already: most of a short command's time is its imports.

``python -m tests.cli.forking`` imports the command, reads requests from its standard input, a line of JSON each, and
forks a process for each.  It opens no device itself.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parents[2]


class Commands:
    """The process that forks, started by the first command and ended with this one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def run(self, args: list[str], cwd: Path, environment: dict[str, str]) -> tuple[int, str, str]:
        """Runs ``vkamp`` with arguments; its status, and what it wrote to standard output and error."""
        with self._lock, tempfile.TemporaryDirectory() as folder:
            if self._process is None:
                command = [sys.executable, "-m", "tests.cli.forking"]
                self._process = subprocess.Popen(
                    command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
                atexit.register(self._end)
            process = self._process
            assert process.stdin is not None and process.stdout is not None
            request = {"args": args, "cwd": str(cwd), "environment": environment, "folder": folder}
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            status = process.stdout.readline()
            assert status, "the process that runs the commands has ended"
            written = [(Path(folder) / name).read_text() for name in ("out", "err")]
            return int(status), written[0], written[1]

    def _end(self) -> None:
        """Lets the process end."""
        process, self._process = self._process, None
        if process is not None:
            process.communicate()


def main() -> None:
    # Whatever the commands import, except for the packages of devices.
    for name in (
        "app",
        "caching",
        "doctor",
        "examples",
        "exported_calls",
        "info",
        "programs",
        "shaders",
        "tiling",
        "workflow",
    ):
        importlib.import_module(f"vkamp.cli.{name}")
    importlib.import_module("vkamp.pipeline.compiler")
    importlib.import_module("vkamp.dispatch.on_demand")
    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _run(request)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _run(request: dict[str, Any]) -> NoReturn:
    """The command, in its own process."""
    status = 1
    for number, name in ((1, "out"), (2, "err")):
        file = os.open(os.path.join(request["folder"], name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    try:
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["environment"])
        added = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
        others = [each for each in sys.path if each and Path(each) != ROOT]
        sys.path[:] = [request["cwd"], *added, *others]
        sys.argv = ["vkamp", *request["args"]]
        runpy.run_module("vkamp", run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main()
