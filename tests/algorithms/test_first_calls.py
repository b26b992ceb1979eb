"""The first calls of a process whose kernels are on the disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import numpy as np
import vkamp as amp
from vkamp import algorithms as alg

view = amp.accelerator(sys.argv[1]).default_view
a = amp.array(np.arange(3000, dtype=np.int32), accelerator_view=view)
found = alg.sum(a), alg.max(a), alg.scan(a), alg.unique_consecutive(a), alg.sort(a), alg.select(a, lambda x: x % 2 == 0)
assert len(found[-1]) == 1500
print("vkamp.pipeline.compiler" in sys.modules)
"""


@pytest.mark.parametrize("name", ["swiftshader", "llvmpipe"])
def test_the_second_process_loads_no_compiler(tmp_path: Path, name: str) -> None:
    """Also not to find out whether functions have loops, which matters on lavapipe."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "VKAMP_CACHE_DIR": str(tmp_path / "cache"), "VKAMP_VERIFY": ""}
    printed = []
    for _ in range(2):
        command = [sys.executable, str(program), name]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout.strip())
    assert printed == ["True", "False"]
