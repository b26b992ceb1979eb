"""Small projects of users, in separate folders."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: What a test file of such a project begins with.
HEAD = """\
import numpy as np
import pytest
import vkamp as amp
from vkamp.testing import compare
"""
OPTIONS = ("-p", "no:cacheprovider", "--color=no")


@dataclass(frozen=True)
class Result:
    """How a run of pytest ended, and what it printed."""

    code: int
    text: str

    def section(self, title: str) -> str:
        """The lines under a heading, up to the next."""
        found = re.search(rf"^=+ {re.escape(title)} =+\n(.*?)(?=^=+ |\Z)", self.text, re.MULTILINE | re.DOTALL)
        return found[1] if found else ""

    @property
    def last(self) -> str:
        """The closing line, without times and signs."""
        return re.sub(r" in [\d.]+s.*", "", self.text.rstrip().splitlines()[-1]).strip("= ")


class _Modules:
    """The modules of vkamp at the end of a run in this process.

    pytester removes the modules that a run has imported, but packages still refer to them: the next import would make
    second copies, whose functions are others.
    """

    def __init__(self) -> None:
        self.loaded: dict[str, ModuleType] = {}

    def pytest_unconfigure(self) -> None:
        self.loaded = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "vkamp"}


class Project:
    """A folder with tests and a configuration."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.folder = pytester.path
        self._pytester = pytester
        self.write("pytest.ini", "[pytest]\n")

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def run(self, *arguments: str) -> Result:
        """Runs pytest in the folder, in this process, with this plugin alone."""
        modules = _Modules()
        done = self._pytester.runpytest_inprocess("-p", "pytest_vkamp", *OPTIONS, *arguments, plugins=[modules])
        sys.modules.update(modules.loaded)
        return Result(int(done.ret), "\n".join([*done.outlines, *done.errlines, done.outlines[-1]]))

    def start(self, *arguments: str, plugin: tuple[str, ...] = ("-p", "pytest_vkamp"), **environment: str) -> Result:
        """Runs pytest in the folder in a separate process, with the given plugins."""
        command = [sys.executable, "-m", "pytest", *plugin, *OPTIONS, *arguments]
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": path, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=180,
            check=False,
        )
        return Result(done.returncode, done.stdout)


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Project]:
    """Makes a project with one test file, `test_kernels.py`, whose imports are there already."""
    for name in ("VKAMP_ACCELERATOR", "VKAMP_CHECK", "VKAMP_LOWERING", "VKAMP_ENGINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("COLUMNS", "100")

    def make(text: str) -> Project:
        made = Project(pytester)
        made.write("test_kernels.py", HEAD + text)
        return made

    return make
