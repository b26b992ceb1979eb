"""The results of searches: one JSON file per function, key and device, in a folder that many processes share.

A file is written under a temporary name and renamed, so that no process sees a part of it. A damaged one counts as
missing. ``VKAMP_CACHE_DIR`` names the folder that contains it, as for compiled shaders.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from vkamp.cache import default_cache, replace_file
from vkamp.run.engine import DeviceInfo

_FORMAT = 1
#: On systems that cannot ask for a process, a trial's note of this age (seconds) counts as left by a crash.
_ABANDONED = 3600.0


class Store:
    """The results for one device, in ``folder``; with ``None``, nothing is stored."""

    def __init__(self, info: DeviceInfo | None, folder: Path | None = None) -> None:
        self.folder = default_cache("tuning").folder if folder is None else folder
        self.device = {
            "name": "cpu" if info is None else info.name,
            "uuid": "" if info is None else info.uuid,
            "driver": "" if info is None else info.driver,
            "engine": "cpu" if info is None else info.engine,
        }

    def _path(self, identity: str, key: str) -> Path | None:
        if self.folder is None:
            return None
        text = json.dumps([_FORMAT, identity, key, self.device], sort_keys=True)
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:40]}.json"

    def read(self, identity: str, key: str) -> dict[str, Any] | None:
        """The stored result; ``None`` if there is none, or if it is damaged."""
        path = self._path(identity, key)
        if path is None:
            return None
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        is_whole = isinstance(found, dict) and found.get("format") == _FORMAT and found.get("device") == self.device
        return found if is_whole else None

    def where(self, identity: str, key: str) -> str:
        """The file, for messages."""
        return str(self._path(identity, key))

    def write(self, identity: str, key: str, entry: dict[str, Any]) -> bool:
        """Stores a result, with the rejected candidates that another process has found; returns False if that is
        impossible.
        """
        path = self._path(identity, key)
        if path is None:
            return False
        known = self.read(identity, key) or {}
        rejected = {json.dumps(each["parameters"]): each for each in known.get("rejected", [])}
        rejected |= {json.dumps(each["parameters"]): each for each in entry.get("rejected", [])}
        made = {"format": _FORMAT, "device": self.device, **entry, "rejected": list(rejected.values())}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, json.dumps(made, indent=1).encode())
        except OSError:
            return False
        return True

    # -- trials: notes that outlive a crash of the process

    def begin_trial(self, identity: str, key: str, parameters: Any) -> None:
        """Records that a candidate is about to run for the first time."""
        path = self._path(identity, key)
        if path is not None:
            with contextlib.suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(_trial_of(path), json.dumps({"parameters": parameters, "process": os.getpid()}).encode())

    def end_trial(self, identity: str, key: str) -> None:
        """Records that the candidate has run without a crash."""
        path = self._path(identity, key)
        if path is not None:
            with contextlib.suppress(OSError):
                _trial_of(path).unlink()

    def crashed(self, identity: str, key: str) -> list[Any]:
        """The candidates that ran when their processes ended; their notes are removed."""
        path = self._path(identity, key)
        found = []
        for note in [] if path is None else sorted(path.parent.glob(f"{path.stem}.*.trial")):
            try:
                trial = json.loads(note.read_text(encoding="utf-8"))
                if _is_running(int(trial["process"]), note):
                    continue
                found.append(trial["parameters"])
                note.unlink()
            except (OSError, ValueError, KeyError, TypeError):
                # Another process has removed it, or it is incomplete: it says nothing.
                continue
        return found


def entries(folder: Path | None = None) -> list[dict[str, Any]]:
    """All stored results, of all devices."""
    place = default_cache("tuning").folder if folder is None else folder
    found = []
    for path in [] if place is None else sorted(place.glob("*.json")):
        try:
            entry = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(entry, dict) and entry.get("format") == _FORMAT:
            found.append(entry)
    return found


def _trial_of(path: Path) -> Path:
    return path.with_name(f"{path.stem}.{os.getpid()}.trial")


def _is_running(process: int, note: Path) -> bool:
    if process == os.getpid():
        return True
    if sys.platform == "win32":
        # There, signal 0 would end the process.
        return time.time() - note.stat().st_mtime < _ABANDONED
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
