"""Programs in a separate project, and the command run on them."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

import vkamp
from tests.cli.forking import Commands

PACKAGE = Path(vkamp.__file__).parents[1]
COMMANDS = Commands()

PROGRAM = '''"""A program with two kernels."""

import sys

import numpy as np

import vkamp as amp


@amp.kernel
def tile_sums(t_idx, matrix, sums):
    values = amp.tile_static((2, 4), amp.float32)
    values[t_idx.local] = matrix[t_idx]
    t_idx.barrier.wait_with_tile_static_memory_fence()
    if t_idx.local == (0, 0):
        total = 0.0
        for row in range(2):
            for col in range(4):
                total += values[row, col]
        sums[t_idx.tile] = total


@amp.kernel
def scaled(idx, numbers, *, factor: amp.constant):
    numbers[idx] = numbers[idx] * factor


@amp.kernel
def wrong(t_idx, numbers):
    if t_idx.local[0] == 0:
        t_idx.barrier.wait()
    numbers[t_idx] = 1.0


@amp.kernel
def padded(t_idx, numbers):
    if numbers.extent.contains(t_idx.global_):
        numbers[t_idx] = 1.0


@amp.kernel
def too_far(idx, numbers):
    numbers[idx] = numbers[idx[0] + 1]


def main():
    matrix = amp.array_view(np.ones((6, 12), np.float32))
    sums = amp.array_view(np.zeros((3, 3), np.float32))
    amp.parallel_for_each(matrix.extent.tile(2, 4), tile_sums, matrix, sums)
    print(amp.accelerator().description, *sys.argv[1:], sums[2, 2])


if __name__ == "__main__":
    main()
'''


@dataclass(frozen=True)
class Done:
    status: int
    out: str
    err: str


@dataclass(frozen=True)
class Project:
    """A folder with pyproject.toml and ``prog.py``."""

    folder: Path

    @property
    def program(self) -> Path:
        return self.folder / "prog.py"

    @property
    def shader(self) -> Path:
        return self.folder / "shaders" / "prog" / "tile_sums.2x4.float32_2d-float32_2d.comp"

    def vkamp(self, *args: str, cwd: Path | None = None, **variables: str) -> Done:
        """Runs the command in the folder, and checks that it prints no traceback of vkamp."""
        done = Done(*COMMANDS.run(list(args), cwd or self.folder, environment_of(variables)))
        assert "vkamp/cli" not in done.err, done.err
        return done


def run_command(command: list[str], cwd: Path, variables: dict[str, str]) -> Done:
    environment = environment_of(variables)
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


def environment_of(variables: dict[str, str]) -> dict[str, str]:
    """The environment of a command."""
    environment = {"VKAMP_ACCELERATOR": "swiftshader", **os.environ, **variables}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [variables.get("PYTHONPATH", ""), str(PACKAGE)]))
    return {name: value for name, value in environment.items() if value != "-unset-"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "prog.py").write_text(PROGRAM)
    return Project(tmp_path)
