"""The session of ``docs/hand-edited-shaders.md`` gives the printed output; ``--vkamp-accept`` rewrites the output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tests.cli.conftest import PACKAGE
from vkamp.cli.app import command

PAGE = PACKAGE / "docs" / "hand-edited-shaders.md"
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def run(command: str, folder: Path) -> str:
    environment = {**os.environ, "VKAMP_ACCELERATOR": "swiftshader", "PYTHONPATH": str(PACKAGE)}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    script = f'vkamp() {{ "{sys.executable}" -m vkamp "$@"; }}; python() {{ "{sys.executable}" "$@"; }}; {command}'
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    return (done.stdout + done.stderr).replace(str(folder), ".")


def test_the_session_of_the_page(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text(encoding="utf-8")
    program = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert program is not None
    (tmp_path / "rows.py").write_text(program[1])
    (tmp_path / "pyproject.toml").touch()
    blocks = list(BLOCK.finditer(text))
    assert len(blocks) == 4
    found = []
    for block in blocks:
        commands = re.findall(r"^\$ (.*)$", block[1], re.MULTILINE)
        found.append("".join(f"$ {command}\n{run(command, tmp_path)}" for command in commands))
    if request.config.getoption("vkamp_accept"):
        for block, printed in zip(reversed(blocks), reversed(found), strict=True):
            text = text[: block.start(1)] + printed + text[block.end(1) :]
        PAGE.write_text(text, encoding="utf-8")
    else:
        assert [block[1] for block in blocks] == found


def test_the_page_of_the_command_names_every_command() -> None:
    page = (PACKAGE / "docs" / "command.md").read_text(encoding="utf-8")
    assert all(f"`vkamp {name}" in page for name in command.list_commands(click.Context(command)))


def test_every_environment_variable_has_its_row():
    package = PACKAGE / "vkamp"
    named = {
        name
        for path in package.rglob("*.py")
        for name in re.findall(r"VKAMP_[A-Z]+(?:_[A-Z]+)*", path.read_text(encoding="utf-8"))
    }
    # What the shell sets while it completes a command.
    named.discard("VKAMP_COMPLETE")
    page = (PACKAGE / "docs" / "command.md").read_text(encoding="utf-8")
    rows = [line.partition(" | ")[0] for line in page.splitlines() if line.startswith("| `VKAMP_")]
    assert {name for row in rows for name in re.findall(r"VKAMP_\w+", row)} == named
