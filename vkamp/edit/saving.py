"""Saves a shader in files of the user's choice, outside the folders of hand-edited shaders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from vkamp.edit.active import active_folder
from vkamp.edit.folder import BASE, replace_file
from vkamp.errors import AmpError

#: The content for each suffix.
_KINDS = {".comp": "glsl", ".glsl": "glsl", ".spv": "spirv", ".ir": "ir"}
#: The files of a folder with everything.
_WHOLE = (".comp", ".spv", ".ir")


def save(path: Path, name: str, makers: Mapping[str, Callable[[], bytes]]) -> tuple[Path, ...]:
    """Writes the content that ``makers`` returns for the suffix of ``path``, or all contents into the folder ``path``
    as ``name``.

    Replaces existing files. AmpError for other suffixes, in a folder of hand-edited shaders, and if writing is
    impossible; then nothing is written.
    """
    if path.is_dir() or not path.suffix:
        files = [path / f"{name}{suffix}" for suffix in _WHOLE]
    elif path.suffix in _KINDS:
        files = [path]
        if not path.parent.is_dir():
            raise AmpError(f"{path} cannot be written: there is no folder {path.parent}")
    else:
        raise AmpError(
            f"{path} ends in {path.suffix}: .comp and .glsl save the GLSL, .spv the SPIR-V, .ir the typed IR, "
            "and a folder gets all three"
        )
    _refuse_edits(files[0])
    # Everything is made before anything is written: a shader that does not compile leaves the folder unchanged.
    contents = [makers[_KINDS[file.suffix]]() for file in files]
    for file, content in zip(files, contents, strict=True):
        replace_file(file, content)
    return tuple(files)


def _refuse_edits(file: Path) -> None:
    """Raises AmpError in a folder of hand-edited shaders: a file without a record there could be mistaken for an edit,
    or replace one."""
    active = active_folder()
    for folder in file.resolve().parents:
        if (folder / BASE).is_dir() or (active is not None and folder == active.folder.resolve()):
            raise AmpError(
                f"{file} is in {folder}, a folder of hand-edited shaders: `vkamp shaders export` writes a shader "
                "there, with what it is generated from; or save it elsewhere"
            )
