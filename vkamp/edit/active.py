"""Which folder of shaders is in force in this process, and whether it has changed.

The folder is that of ``use_folder``, else that of the environment variable ``VKAMP_SHADERS``, else ``shaders/`` of the
project that contains the working directory.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from vkamp.edit.folder import find_folder
from vkamp.errors import AmpError
from vkamp.records import dataclass

if TYPE_CHECKING:
    from vkamp.edit.store import ShaderFolder


#: Seconds between checks of the folder's files, and between searches for a folder.
_PERIOD = 0.1
_OFF = frozenset({"0", "off", "none"})


@dataclass
class _Selection:
    chosen: Path | None = None
    is_chosen: bool = False
    store: ShaderFolder | None = None
    snapshot: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    seen: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    generation: int = 0
    next_look: float = 0.0
    next_search: float = 0.0
    export: ShaderFolder | None = None


_state = _Selection()
_lock = threading.RLock()


def use_folder(path: Path | None) -> None:
    """Puts the shaders of ``path``, and of no other folder, in force; with ``None`` no hand-edited shaders."""
    with _lock:
        _state.chosen, _state.is_chosen = path, True
        _set(path)


@contextlib.contextmanager
def no_folder() -> Iterator[None]:
    """A context in which no edited shaders are in force."""
    with _lock:
        before = _state.chosen, _state.is_chosen, None if _state.store is None else _state.store.folder
        _state.chosen, _state.is_chosen = None, True
        _set(None)
    try:
        yield
    finally:
        with _lock:
            _state.chosen, _state.is_chosen = before[:2]
            _set(before[2])


def export_folder() -> ShaderFolder | None:
    """The folder that launches write their shaders to; ``None`` if they do not."""
    return _state.export


def set_export_folder(store: ShaderFolder | None) -> None:
    """Makes launches write their shaders to a folder; ``None`` ends that."""
    _state.export = store


def active_folder() -> ShaderFolder | None:
    """The folder in force in its present state; searches for one if there is none yet."""
    now = time.monotonic()
    if now >= _state.next_search:
        with _lock:
            wanted = _wanted()
            _state.next_search = now + _PERIOD
            if wanted != (None if _state.store is None else _state.store.folder):
                _set(wanted)
    generation()
    return _state.store


def generation() -> int:
    """A number that increases with every change of the shaders in force; cheap enough for every launch."""
    if _state.store is not None and time.monotonic() >= _state.next_look:
        look_again()
    return _state.generation


def look_again() -> None:
    """Checks the folder's files now."""
    with _lock:
        _state.next_look = time.monotonic() + _PERIOD
        if _state.store is None:
            return
        snapshot = _state.store.snapshot()
        seen, _state.seen = _state.seen, snapshot
        if snapshot != _state.snapshot and (snapshot == seen or _is_settled(snapshot)):
            _state.store, _state.snapshot = _store(_state.store.folder), snapshot
            _state.generation += 1


def _is_settled(snapshot: dict[str, tuple[int, int, int]]) -> bool:
    """Whether files changed a moment ago: such a file may be half saved."""
    changed = [stamp for path, stamp in snapshot.items() if _state.snapshot.get(path) != stamp]
    return all(time.time_ns() - stamp[0] > _PERIOD * 1e9 for stamp in changed)


def _wanted() -> Path | None:
    if _state.is_chosen:
        return _state.chosen
    named = os.environ.get("VKAMP_SHADERS", "").strip()
    if named.lower() in _OFF:
        return None
    if named:
        folder = Path(named).absolute()
        if not folder.is_dir():
            raise AmpError(f"VKAMP_SHADERS is {named!r}, which is not a folder; VKAMP_SHADERS=0 uses no edited shaders")
        return folder
    try:
        return find_folder(Path.cwd())
    except OSError:
        # The working directory was removed.
        return None


def _store(folder: Path) -> ShaderFolder:
    # Imported here because most programs have no such folder.
    from vkamp.edit.store import ShaderFolder

    return ShaderFolder(folder)


def _set(path: Path | None) -> None:
    _state.generation += 1
    _state.store = None if path is None else _store(path)
    _state.snapshot = {} if _state.store is None else _state.store.snapshot()
    _state.next_look = time.monotonic() + _PERIOD
