"""Pairs of a faulty kernel and its mended twin; importing the package registers all of them in ``registry.PAIRS``."""

import importlib
from pathlib import Path

for _path in sorted(Path(__file__).parent.glob("*.py")):
    if _path.stem not in ("__init__", "registry"):
        importlib.import_module(f"tools.kernels.corpus.{_path.stem}")
