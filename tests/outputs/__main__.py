"""tools/env python -m tests.outputs FOLDER: all outputs of the compiler, one file for each step of each kernel.

Two folders, written before and after a change of the compiler, show with ``diff -r`` what it changed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.outputs.collect import SOURCES


def main(folder: Path) -> None:
    """Writes the outputs."""
    for source, make in SOURCES.items():
        for name, outputs in make():
            place = folder / source / name
            place.mkdir(parents=True, exist_ok=True)
            for step, output in outputs().items():
                (place / f"{step}.txt").write_text(output, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
