"""``tools.validate``: what the gate leaves to it runs there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOM = "profiling"


def collected(*arguments: str) -> set[str]:
    """The tests of a room that pytest would run."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *arguments, f"tests/{ROOM}"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=environment, timeout=120)
    return {line for line in done.stdout.splitlines() if "::" in line}


def test_what_the_gate_leaves_out_is_validated() -> None:
    # All tests of the room: another is left out.
    whole = collected("--vkamp-validated-rooms", "another")
    rest = collected("--vkamp-validated-rooms", ROOM)
    left_out = whole - rest
    assert rest < whole and all("llvmpipe" in name for name in left_out)
    assert left_out <= collected("--vkamp-accelerators", "llvmpipe", "--vkamp-devices-only")
