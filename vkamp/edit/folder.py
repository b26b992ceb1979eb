"""Where a project's folder of hand-editable shaders is, and how its files are written."""

from __future__ import annotations

import os
from pathlib import Path

from vkamp.errors import AmpError

#: The subfolder for the generated shaders.
BASE = ".base"
_PROJECT_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")


def find_folder(start: Path) -> Path | None:
    """``shaders/`` of the project that contains a folder: the nearest one with a ``.base`` folder, up to the project's
    root (where pyproject.toml or .git is).
    """
    for folder in (start, *start.parents):
        if (folder / "shaders" / BASE).is_dir():
            return folder / "shaders"
        if any((folder / mark).exists() for mark in _PROJECT_MARKS):
            return None
    return None


def replace_file(path: Path, data: bytes) -> None:
    """Writes a file atomically, under a temporary name first. AmpError if it cannot be written."""
    import tempfile  # Launches read edited shaders but do not write them.

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".new-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            os.chmod(name, 0o644)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise AmpError(f"{path} cannot be written: {error}") from error
