"""Kernels that ``vkamp build`` compiled ahead: a folder that a program ships, and needs no compiler with.

``kernels`` and ``spirv`` hold the entries of the caches of these names, under keys that mean the same on another
machine: functions are known by their code instead of by their files, and glslang has no part in them. ``sources``
holds the texts of the functions' files, for programs that come without them. ``artifacts.json`` says for which vkamp
and Python all of it is.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vkamp.cache import DiskCache
from vkamp.errors import AmpError
from vkamp.tracebacks import entry_point

VERSION = "0.1.0"
#: The folder that the process records into; set by ``vkamp build`` for itself and the processes that it starts.
RECORDING = "VKAMP_BUILD"
#: The folder that the process uses.
USED = "VKAMP_ARTIFACTS"

_MANIFEST = "artifacts.json"
#: Increase when older folders are no longer read.
_FORMAT = 1
_KINDS = ("kernels", "spirv", "sources")
_UNLIMITED = 1 << 62


class _Entries(DiskCache):
    """Entries that nobody evicts, and that are written while they are recorded alone."""

    def __init__(self, folder: Path, recording: bool) -> None:
        super().__init__(folder, _UNLIMITED)
        self.recording = recording

    def put(self, key: str, data: bytes) -> None:
        if self.recording:
            super().put(key, data)

    @staticmethod
    def _note_use(path: Path) -> None:
        """Nothing: the folder stays as it was shipped."""


class Artifacts:
    """A folder of compiled kernels, ``recording`` or in use."""

    def __init__(self, folder: Path, *, recording: bool) -> None:
        self.folder, self.recording = folder, recording
        self.kernels = _Entries(folder / "kernels", recording)
        self.spirv = _Entries(folder / "spirv", recording)
        self.sources = _Entries(folder / "sources", recording)
        #: The signatures of the kernels that were looked for and not found, by their names.
        self.not_found: dict[str, str] = {}
        #: Why kernels were not kept, by their names.
        self.not_kept: dict[str, str] = {}

    def keep_source(self, code: str, lines: list[str]) -> None:
        """Keeps the text of the file of a function, known by a hash of its code."""
        text = "".join(lines).encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(text).hexdigest()
        self.sources.put(digest, text)
        self.sources.put(code, digest.encode())

    def source(self, code: str) -> str | None:
        """The text of the file of a function."""
        digest = self.sources.get(code)
        text = None if digest is None else self.sources.get(digest.decode())
        return None if text is None else text.decode("utf-8", "surrogatepass")

    def recorded(self) -> Iterator[tuple[str, str]]:
        """The kernels' names and signatures."""
        assert self.kernels.folder is not None
        for path in sorted(self.kernels.folder.glob("*.bin")):
            entry: Any = json.loads(self.kernels.get(path.stem) or b"{}")
            if "signature" in entry:
                yield entry["kernel"], entry["signature"]

    def missing(self, name: str) -> str:
        """The reason why a kernel must be compiled, and the remedy."""
        known = sorted({signature for kernel, signature in self.recorded() if kernel == name})
        wanted = self.not_found.get(name)
        again = "run `vkamp build` again"
        if not known:
            return f"the artifacts in {self.folder} have no kernel {name}: {again}, with a run that launches it"
        if wanted is None:
            return (
                f"the artifacts in {self.folder} have {name}, but not for this kind of device or engine: {again}, on "
                "such a device and by its engine"
            )
        if wanted in known:
            return (
                f"the artifacts in {self.folder} have {name} as it was before it or a function, value or file that it "
                f"depends on has changed: {again}"
            )
        return (
            f"the artifacts in {self.folder} have {name} for {'; '.join(known)}, and not for {wanted}: {again}, with a "
            "run that launches it so"
        )


def start(folder: Path, *, add: bool) -> Artifacts:
    """Begins to record into a folder, in this process and those that it starts; without ``add`` into an empty one."""
    manifest = folder / _MANIFEST
    if folder.is_dir() and not manifest.is_file() and any(folder.iterdir()):
        raise AmpError(f"{folder} has files that vkamp build did not write: name another folder")
    if add and manifest.is_file():
        _check(folder)
    for kind in _KINDS:
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for path in [] if add else (folder / kind).glob("*.bin"):
            path.unlink()
    manifest.write_text(json.dumps(_versions(), indent=2) + "\n", encoding="utf-8")
    os.environ[RECORDING] = str(folder)
    return _open(str(folder), True)


@entry_point
def use_artifacts(path: str | os.PathLike[str] | None) -> None:
    """From now on, take kernels and SPIR-V from the folder ``path`` that ``vkamp build`` made; ``None``: from none.

    Without a call it is the folder that the environment variable ``VKAMP_ARTIFACTS`` names, if any. Kernels that the
    folder does not have are compiled, where that is possible, as they are without it. While ``vkamp build`` runs a
    program, a call does nothing.

    Raises ``FileNotFoundError`` if there is no such folder, and ``AmpError`` if it is for another version of vkamp or
    Python.
    """
    global _chosen
    if path is None:
        _chosen = None
        return
    folder = Path(path).absolute()
    if os.environ.get(RECORDING):
        return
    if not folder.is_dir():
        raise FileNotFoundError(f"use_artifacts: {folder} is not a folder")
    _chosen = _open(str(folder), False)


#: The folder of the last call of :func:`use_artifacts`; ``False`` before the first.
_chosen: Artifacts | bool | None = False


def active() -> Artifacts | None:
    """The folder that the process records into or uses."""
    recording = os.environ.get(RECORDING)
    if recording:
        return _open(recording, True)
    if isinstance(_chosen, Artifacts) or _chosen is None:
        return _chosen
    used = os.environ.get(USED)
    return _open(str(Path(used).absolute()), False) if used else None


def _versions() -> dict[str, Any]:
    return {"format": _FORMAT, "vkamp": VERSION, "python": f"{sys.version_info.major}.{sys.version_info.minor}"}


#: A thread that loads the compiler may ask for the folder while the program does.
_opening = threading.Lock()


def _open(folder: str, recording: bool) -> Artifacts:
    with _opening:
        return _opened(folder, recording)


@functools.cache
def _opened(folder: str, recording: bool) -> Artifacts:
    if not recording:
        _check(Path(folder))
    return Artifacts(Path(folder), recording=recording)


def _check(folder: Path) -> None:
    """Raises AmpError for a folder that contains no artifacts, or those of another version."""
    try:
        found = json.loads((folder / _MANIFEST).read_bytes())
        which = {name: found[name] for name in _versions()}
    except (OSError, ValueError, KeyError, TypeError):
        raise AmpError(
            f"{folder} has no {_MANIFEST} that can be read: `vkamp build` makes a folder of artifacts"
        ) from None
    if which != _versions():
        raise AmpError(
            f"the artifacts in {folder} are for {_named(which)}; this is {_named(_versions())}: run `vkamp build` again"
        )


def _named(versions: dict[str, Any]) -> str:
    return f"vkamp {versions['vkamp']} on Python {versions['python']} (format {versions['format']})"
