"""SPIR-V modules through spirv-val."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# The package is in site-packages, or in a folder on PYTHONPATH.
PREFIX = next(prefix for folder in sys.path if (prefix := Path(folder, "cmeel.prefix")).is_dir())


def validate(binary: bytes, folder: Path) -> None:
    """Passes a module through spirv-val."""
    path = folder / "shader.spv"
    path.write_bytes(binary)
    result = subprocess.run(
        [PREFIX / "bin" / "spirv-val", "--target-env", "vulkan1.1", path],
        env={**os.environ, "LD_LIBRARY_PATH": str(PREFIX / "lib")},
        capture_output=True,
        text=True,
    )
    assert (result.returncode, result.stdout + result.stderr) == (0, "")
