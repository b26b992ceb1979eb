"""Kernels that are typed at Python's prompt, which keeps their source from Python 3.13 on."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time

import pytest

LINES = """\
import numpy as np, vkamp as amp
@amp.func
def twice(x):
    return x + x

@amp.kernel
def change(i, a):
    a[i] = twice(a[i]) + 1

v = amp.array_view(np.arange(3, dtype=np.int32))
amp.parallel_for_each(v.extent, change, v)
print("first", np.asarray(v))
@amp.kernel
def change(i, a):
    a[i] = a[i] - 1

amp.parallel_for_each(v.extent, change, v)
print("second", np.asarray(v))
"""
KEEPS_SOURCE = sys.version_info >= (3, 13)
ENVIRONMENT = {**os.environ, "VKAMP_ACCELERATOR": "reference", "TERM": "dumb", "PYTHON_COLORS": "0"}


def expected() -> list[str]:
    """What the output contains."""
    if KEEPS_SOURCE:
        return ["first [1 3 5]", "second [0 2 4]"]
    return [
        "VKA102: the source of `change` cannot be read, and a kernel is compiled from its source",
        "  = help: define it in a file, a notebook cell or at the prompt of Python 3.13, "
        "not in text given to exec() or `python -c`",
        "first [0 1 2]",
    ]


def test_lines_from_a_pipe():
    done = subprocess.run(
        [sys.executable, "-i"], input=LINES, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False
    )
    for text in expected():
        assert text in done.stdout + done.stderr


@pytest.mark.parametrize("terminal", ["dumb", "xterm"])
def test_lines_from_a_terminal(terminal):
    """The prompt of Python 3.13 edits lines with escape sequences where the terminal knows them."""
    ours, theirs = pty.openpty()
    environment = {**ENVIRONMENT, "TERM": terminal}
    process = subprocess.Popen([sys.executable, "-q"], stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    output, awaited, end = "", [">>> ", *expected(), "second"], time.monotonic() + 120
    try:
        lines = [*LINES.splitlines(), "print('the ' + 'end')"]
        while time.monotonic() < end and "the end" not in output:
            # Typed line by line: the prompt takes several at once for text that was pasted.
            if lines and output.count("\n") + output.count(">>> ") >= 1 and not _more(ours, 0.05):
                os.write(ours, lines.pop(0).encode() + b"\n")
            output += _read(ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    plain = output.replace("\r\n", "\n")
    for text in awaited:
        assert text in plain


def _more(terminal: int, seconds: float) -> bool:
    return bool(select.select([terminal], [], [], seconds)[0])


def _read(terminal: int) -> str:
    try:
        return os.read(terminal, 65536).decode(errors="replace") if _more(terminal, 0.2) else ""
    except OSError:
        return ""
