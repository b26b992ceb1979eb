"""Shaders exported by launches, and edited."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import vkamp as amp
from vkamp.dispatch import override_files
from vkamp.edit.store import BASE


def exported(folder: Path, launch: Callable[[], Any], *, lowering: str = "threads") -> list[Path]:
    """Writes the shaders of what `launch` launches, and puts the folder in force; the files to edit."""
    amp.use_shaders(None)
    override_files.export_launches(folder, lowering)
    try:
        launch()
    finally:
        override_files.export_launches(None)
    amp.use_shaders(folder)
    return shader_files(folder)


def shader_files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*.comp") if BASE not in p.relative_to(folder).parts)


def edit(path: Path, *changes: tuple[str, str]) -> None:
    """Replaces texts that must be there, and lets the next launch see it."""
    text = path.read_text()
    for old, new in changes:
        assert old in text, f"{old!r} is not in\n{text}"
        text = text.replace(old, new)
    path.write_text(text)
    folder = next(p for p in path.parents if (p / BASE).is_dir())
    amp.use_shaders(folder)
