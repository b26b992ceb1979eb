"""Where a project's folder of hand-editable shaders is."""

from __future__ import annotations

from pathlib import Path

#: The folder of what was generated, inside of a folder of shaders.
BASE = ".base"
_PROJECT_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")


def find_folder(start: Path) -> Path | None:
    """``shaders/`` of the project that a folder lies in: the nearest one with a ``.base`` folder, up to the project's
    root (where pyproject.toml or .git is).
    """
    for folder in (start, *start.parents):
        if (folder / "shaders" / BASE).is_dir():
            return folder / "shaders"
        if any((folder / mark).exists() for mark in _PROJECT_MARKS):
            return None
    return None
