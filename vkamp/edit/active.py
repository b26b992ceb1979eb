"""Which folder of shaders is in force in this process, and when it has changed.

The folder is that of ``use_folder``, else of the environment variable ``VKAMP_SHADERS``, else ``shaders/`` of the
project in whose folder the process runs.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from vkamp.edit.folder import find_folder
from vkamp.errors import AmpError

if TYPE_CHECKING:
    from vkamp.edit.store import Store


#: Seconds between looks at the folder's files, and between looks for a folder.
_PERIOD = 0.1
_OFF = frozenset({"0", "off", "none"})


@dataclass
class _State:
    chosen: Path | None = None
    is_chosen: bool = False
    store: Store | None = None
    snapshot: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    seen: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    generation: int = 0
    next_look: float = 0.0
    next_search: float = 0.0
    export: Store | None = None


_state = _State()
_lock = threading.Lock()


def use_folder(path: Path | None) -> None:
    """From now on the shaders of ``path`` are in force, and of no other folder; with ``None`` no hand-edited ones."""
    with _lock:
        _state.chosen, _state.is_chosen = path, True
        _set(path)


@contextlib.contextmanager
def no_folder() -> Iterator[None]:
    """No edited shaders are in force for a while."""
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


def export_folder() -> Store | None:
    """The folder that the shaders of launches are written to, if they are."""
    return _state.export


def set_export_folder(store: Store | None) -> None:
    """From now on the shaders of launches are written to a folder; with ``None`` to none."""
    _state.export = store


def active_folder() -> Store | None:
    """The folder in force, as it is now; looks for one where none is yet."""
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
    """A number that grows with every change of what is in force; cheap, for every launch."""
    if _state.store is not None and time.monotonic() >= _state.next_look:
        look_again()
    return _state.generation


def look_again() -> None:
    """Looks at the folder's files now."""
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
    """Whether the files that changed did so a moment ago: one that changes now may be half saved."""
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


def _store(folder: Path) -> Store:
    # Imported here: most programs have no such folder.
    from vkamp.edit.store import Store

    return Store(folder)


def _set(path: Path | None) -> None:
    _state.generation += 1
    _state.store = None if path is None else _store(path)
    _state.snapshot = {} if _state.store is None else _state.store.snapshot()
    _state.next_look = time.monotonic() + _PERIOD
