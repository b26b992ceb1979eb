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
alg.minmax(a), alg.bincount(a), alg.histogram(a, 10)
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


EARLY = """
import os, sys, threading
import numpy as np
import vkamp as amp

assert not [each for each in threading.enumerate() if each.name == "vkamp loads"]
view = amp.accelerator(sys.argv[1]).default_view
if sys.argv[2] == "fork":
    child = os.fork()
    if child == 0:
        import vkamp.pipeline.compiler  # no thread of the parent has left it half loaded

        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
for each in threading.enumerate():
    if each.name == "vkamp loads":
        each.join()
before = "vkamp.pipeline.compiler" in sys.modules
a = amp.array(np.arange(3000, dtype=np.int32), accelerator_view=view)
print(before, int(amp.algorithms.sum(a)))
"""


def test_only_a_new_version_loads_the_compiler_while_the_device_opens(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(EARLY)
    environment = {**os.environ, "VKAMP_CACHE_DIR": str(tmp_path / "cache"), "VKAMP_VERIFY": ""}
    printed = []
    for how in ("fork", "plain", "plain"):
        command = [sys.executable, str(program), "swiftshader", how]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout.strip())
    assert printed == ["True 4498500", "False 4498500", "False 4498500"]
