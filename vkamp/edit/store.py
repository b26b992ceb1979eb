"""The folder of hand-editable shaders: ``NAME.comp`` to edit, and in ``.base`` the generated shader and its record.

shaders/examples/tile_average/tile_average.16x16.float32_2d-float32_2d.comp
shaders/.base/examples/tile_average/tile_average.16x16.float32_2d-float32_2d.comp
shaders/.base/examples/tile_average/tile_average.16x16.float32_2d-float32_2d.json
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from vkamp.edit.compare import code_of
from vkamp.edit.folder import BASE, replace_file
from vkamp.edit.names import file_stem, signature_text
from vkamp.errors import AmpError
from vkamp.records import dataclass

#: The prefix of the name of a kernel's file outside the project.
OUTSIDE = "?/"
_SUFFIX = ".comp"
#: The files that a merge or revert replaced, kept until the next one.
_BEFORE = ".before"
#: The shader that a program's run generated for an edited shader.
_NOW = ".now"
_FORMAT = 1


@dataclass(frozen=True)
class ShaderForm:
    """The form of a kernel's shader: how a tile's threads run (``threads``, or ``loops`` of ``lanes`` lanes), whether
    the tiles are folded into a smaller grid, the threads of a group of an untiled kernel, and the number of 32-bit
    words of push constants that it may use.
    """

    lowering: str = "threads"
    lanes: int = 1
    folded: bool = False
    group: tuple[int, int, int] = (64, 1, 1)
    push_words: int = 32

    @property
    def text(self) -> str:
        """The form's part of the file name."""
        loops = f"loops{self.lanes}" if self.lowering == "loops" else ""
        return ".".join(filter(None, [loops, "folded" if self.folded else ""]))


@dataclass(frozen=True)
class Record:
    """What a shader was generated from: the kernel by its module, qualified name and file (relative to the project,
    with slashes), the signature (``front.describe_request``), the form.
    """

    module: str
    kernel: str
    file: str
    signature: Mapping[str, Any]
    form: ShaderForm

    @cached_property
    def identity(self) -> str:
        """Equal for equal specialisations."""
        return json.dumps(self.signature, sort_keys=True)

    @property
    def path(self) -> PurePosixPath:
        """The path of its shader in the folder, without suffix."""
        return PurePosixPath(*self.module.split("."), file_stem(self.kernel, self.signature, self.form.text))

    @property
    def kernel_path(self) -> str:
        """``module:kernel``."""
        return f"{self.module}:{self.kernel}"

    @property
    def signature_text(self) -> str:
        """The signature and form for people."""
        return " ".join(filter(None, [signature_text(self.signature), self.form.text]))

    def is_of(self, module: str, kernel: str, file: str) -> bool:
        """Whether the record is that of a kernel. A running script's module has another name, so its file is
        compared."""
        if kernel != self.kernel:
            return False
        if module == self.module or (file == self.file and not file.startswith(OUTSIDE)):
            return True
        # For a script that runs elsewhere, only its name is known.
        is_outside = OUTSIDE in (file[: len(OUTSIDE)], self.file[: len(OUTSIDE)])
        return is_outside and "." not in module and module == self.module.rpartition(".")[2]


@dataclass(frozen=True)
class StoredShader:
    """One shader of the folder."""

    store: ShaderFolder
    name: str
    record: Record

    @property
    def path(self) -> Path:
        """The file to edit."""
        return self.store.folder / f"{self.name}{_SUFFIX}"

    @property
    def base_path(self) -> Path:
        """What was generated."""
        return self.store.base / f"{self.name}{_SUFFIX}"

    @cached_property
    def text(self) -> str | None:
        """The file's content when the folder was read; ``None`` if it was removed."""
        return _read(self.path)

    @cached_property
    def base_text(self) -> str | None:
        """The generated shader that it was edited from."""
        return _read(self.base_path)

    @property
    def is_edited(self) -> bool:
        """Whether its code differs from the generated shader's: only then is it an edit that runs."""
        return self.text is not None and (self.base_text is None or code_of(self.text) != code_of(self.base_text))

    @property
    def is_touched(self) -> bool:
        """Whether anything in it was changed by hand, including comments; such changes are never lost."""
        return self.text is not None and self.text != self.base_text

    @property
    def shown(self) -> str:
        """The file's path for messages, relative to the parent of the folder."""
        return f"{self.store.folder.name}/{self.name}{_SUFFIX}"


class ShaderFolder:
    """A snapshot of a folder of shaders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.base = self.folder / BASE

    @cached_property
    def kept(self) -> tuple[StoredShader, ...]:
        """Every shader with its record, by name."""
        found = []
        for path in sorted(self.base.rglob("*.json")):
            name = path.relative_to(self.base).as_posix()[: -len(".json")]
            found.append(StoredShader(self, name, _record(path)))
        return tuple(found)

    @cached_property
    def strays(self) -> tuple[str, ...]:
        """The names of shaders without a record, whose kernel is unknown."""
        names = {each.name for each in self.kept}
        paths = (p for p in self.folder.rglob(f"*{_SUFFIX}") if BASE not in p.relative_to(self.folder).parts)
        found = (p.relative_to(self.folder).as_posix()[: -len(_SUFFIX)] for p in paths)
        return tuple(sorted(name for name in found if name not in names))

    @cached_property
    def by_kernel(self) -> dict[str, tuple[StoredShader, ...]]:
        """The shaders of each kernel's qualified name."""
        out: dict[str, list[StoredShader]] = {}
        for each in self.kept:
            out.setdefault(each.record.kernel, []).append(each)
        return {kernel: tuple(found) for kernel, found in out.items()}

    def select(self, names: tuple[str, ...] | list[str]) -> list[StoredShader]:
        """The shaders that names select: a file, a name, or a part of one; all shaders if no name is given.

        AmpError for a name that selects none.
        """
        if not names:
            return list(self.kept)
        out: dict[str, StoredShader] = {}
        for name in names:
            plain = name.removesuffix(_SUFFIX).replace(os.sep, "/")
            exact = [k for k in self.kept if plain in (k.name, k.record.kernel_path) or Path(name).resolve() == k.path]
            found = exact or [k for k in self.kept if plain in k.name]
            if not found:
                known = "".join(f"\n  {k.name}" for k in self.kept)
                raise AmpError(f"no shader of {self.folder} is called {name}; there are:{known or ' none'}")
            out.update((k.name, k) for k in found)
        return list(out.values())

    def snapshot(self) -> dict[str, tuple[int, int, int]]:
        """A value that changes with every file of the folder: times, sizes and inode numbers of all."""
        out: dict[str, tuple[int, int, int]] = {}
        folders = [str(self.folder)]
        while folders:
            try:
                with os.scandir(folders.pop()) as listing:
                    for item in listing:
                        if item.is_dir(follow_symlinks=False):
                            folders.append(item.path)
                        elif item.name.endswith((_SUFFIX, ".json")):
                            status = item.stat()
                            out[item.path] = (status.st_mtime_ns, status.st_size, status.st_ino)
            except OSError:
                # It was removed meanwhile: its files are missing from the snapshot, which is the difference.
                continue
        return out

    # -- writing -------------------------------------------------------------------------------------------------

    def export(self, record: Record, generated: str) -> StoredShader:
        """Writes a generated shader and its base; AmpError, without a change, if the existing file is edited."""
        name = record.path.as_posix()
        known = next((each for each in self.kept if each.name == name), None)
        there = _read(self.folder / f"{name}{_SUFFIX}")
        if there is not None and there != generated and (known is None or known.is_touched):
            raise AmpError(
                f"{self.folder.name}/{name}{_SUFFIX} is edited, and exporting would overwrite it: "
                "`vkamp shaders merge` brings it up to date, `vkamp shaders revert` drops the edit"
            )
        return self.write(record, generated, generated)

    def write(self, record: Record, edited: str, generated: str) -> StoredShader:
        """Writes a shader with its base, the edited file first: if this is interrupted, the old base remains for
        another merge.
        """
        name = record.path.as_posix()
        _write(self.folder / f"{name}{_SUFFIX}", edited)
        _write(self.base / f"{name}{_SUFFIX}", generated)
        _write(self.base / f"{name}.json", _json(record))
        (self.base / f"{name}{_NOW}").unlink(missing_ok=True)
        ignored = self.base / ".gitignore"
        if not ignored.exists():
            _write(ignored, f"*{_BEFORE}\n*{_NOW}\n")
        return StoredShader(ShaderFolder(self.folder), name, record)

    def keep_before(self, kept: StoredShader, name: str) -> None:
        """Keeps a copy of an edited file and its base, so that :meth:`undo` can restore what replaces ``name``."""
        before = {"text": kept.text, "base": kept.base_text, "record": json.loads(_json(kept.record))}
        _write(self.base / f"{name}{_BEFORE}", json.dumps(before))

    def note(self, name: str, generated: str) -> None:
        """Records the newly generated shader for an edited shader, for a merge."""
        _write(self.base / f"{name}{_NOW}", generated)

    def noted(self, name: str) -> str | None:
        """What :meth:`note` recorded, if anything."""
        return _read(self.base / f"{name}{_NOW}")

    def undo(self, name: str) -> StoredShader:
        """Restores what the last merge or revert of a name replaced. AmpError if there was none."""
        kept = _read(self.base / f"{name}{_BEFORE}")
        if kept is None:
            raise AmpError(f"nothing was merged or reverted under the name {name}")
        before = json.loads(kept)
        record = _record_of(before["record"])
        if record.path.as_posix() != name:
            self.remove(name)
        made = self.write(record, before["text"], before["base"])
        (self.base / f"{name}{_BEFORE}").unlink()
        return made

    def remove(self, name: str) -> None:
        """Removes a shader and its base."""
        for path in (
            self.folder / f"{name}{_SUFFIX}",
            self.base / f"{name}{_SUFFIX}",
            self.base / f"{name}.json",
            self.base / f"{name}{_NOW}",
        ):
            path.unlink(missing_ok=True)
        for root in (self.folder, self.base):
            folder = (root / name).parent
            while folder not in (self.folder, self.base) and folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
                folder = folder.parent


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8").replace("\r\n", "\n")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise AmpError(f"{path} cannot be read: {error}") from error


def _write(path: Path, text: str) -> None:
    replace_file(path, text.encode())


def _json(record: Record) -> str:
    data = {"format": _FORMAT, **asdict(record)}
    return json.dumps(data, indent=1) + "\n"


def _record(path: Path) -> Record:
    try:
        return _record_of(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AmpError(
            f"{path} is the record of a shader and cannot be read ({error}); restore it from version "
            "control, or remove it and export the shader again"
        ) from error


def _record_of(data: Mapping[str, Any]) -> Record:
    if data["format"] != _FORMAT:
        raise ValueError(f"format {data['format']} belongs to another version of vkamp")
    form = data["form"]
    return Record(
        data["module"],
        data["kernel"],
        data["file"],
        data["signature"],
        ShaderForm(form["lowering"], form["lanes"], form["folded"], tuple(form["group"]), form["push_words"]),
    )
