"""The programs of a page, and what they print."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
from pathlib import Path
from typing import Any

import vkamp as amp

#: A Python block, and the block that says what it prints.
PROGRAM = re.compile(r"```python\n(.*?)```\n\n```(\w+)\n(.*?)```", re.DOTALL)


def output_of(program: str, file: Path, names: dict[str, Any]) -> str:
    """What a program prints, or the message it ends with."""
    file.write_text(program, encoding="utf-8")
    linecache.checkcache(str(file))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(program, str(file), "exec"), names)
        except amp.CompileError as error:
            print(error)
    text = printed.getvalue().replace(str(file), file.name).rstrip() + "\n"
    assert "```" not in text
    return text
