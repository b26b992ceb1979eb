"""The command ``python -m tests.blas``: every combination of options on every device."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    command = [sys.executable, "-m", "pytest", "-q", str(Path(__file__).parent), *sys.argv[1:]]
    sys.exit(subprocess.call(command, env=os.environ | {"VKAMP_BLAS_ALL": "1"}))
