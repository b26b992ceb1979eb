"""A cache on disk that many processes share: one file per key, checked when read, bounded in size.

The cache fails safely: a bad entry is a miss, without a usable folder everything is compiled each time, and unreadable
files are not deleted. ``VKAMP_CACHE_DIR`` names the folder, ``VKAMP_CACHE_SIZE`` the bound in MiB.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import threading
import time
import warnings
from pathlib import Path
from typing import ClassVar

from vkamp.errors import AmpError

_DEFAULT_MIB = 256.0
_MAGIC = b"vkampspv"
_HEADER = struct.Struct("<8sQ32s")
_SUFFIX = ".bin"
#: Seconds for which a file's time of use may be out of date: reading it seldom writes.
_USE_RESOLUTION = 3600.0
#: Seconds after which a temporary file is what a crash left.
_ABANDONED = 3600.0
#: An eviction leaves this part of the bound, so that the next entries need none.
_REST = 0.8
#: After this many new entries, a process reads which entries others have added, which takes 2 us for each entry.
_LOOK = 256


def replace_file(path: Path, content: bytes) -> None:
    """Writes a file, under a temporary name first, so that no process ever sees a part of it."""
    import tempfile  # where an entry is new

    handle, name = tempfile.mkstemp(prefix="new-", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


class DiskCache:
    """Byte strings by key in ``folder``, at most about ``limit`` bytes; ``folder`` ``None`` keeps nothing."""

    _warned = threading.Event()
    #: By folder: what it held when it was looked through, with what this process has added, and how many those are.
    _sizes: ClassVar[dict[Path, tuple[int, int]]] = {}

    def __init__(self, folder: Path | None, limit: int) -> None:
        self.folder = folder if limit > 0 else None
        self.limit = limit

    def get(self, key: str) -> bytes | None:
        """The entry, or ``None`` if there is none that is whole."""
        if self.folder is None:
            return None
        path = self._path(self.folder, key)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        data = content[_HEADER.size :]
        if content[: _HEADER.size] != _header(data):
            return None
        self._note_use(path)
        return data

    def put(self, key: str, data: bytes) -> None:
        """Keeps an entry, if it can; entries that were not used for longest make room."""
        if self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            replace_file(self._path(self.folder, key), _header(data) + data)
        except OSError as error:
            self._warn(error)
            return
        size, added = self._sizes.get(self.folder, (self.limit, _LOOK))
        self._sizes[self.folder] = size, added = size + len(data), added + 1
        if size > self.limit or added > _LOOK:
            self._sizes[self.folder] = self._evict(self.folder), 0

    @staticmethod
    def _path(folder: Path, key: str) -> Path:
        return folder / f"{key}{_SUFFIX}"

    @staticmethod
    def _note_use(path: Path) -> None:
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _USE_RESOLUTION:
                os.utime(path)

    def _evict(self, folder: Path) -> int:
        """Removes what was not used for longest, if there is too much; gives the bytes that are left.

        Another process may do the same at the same time.
        """
        entries: list[tuple[float, int, str]] = []
        now = time.time()
        with contextlib.suppress(OSError), os.scandir(folder) as listing:
            for item in listing:
                with contextlib.suppress(OSError):
                    status = item.stat()
                    if item.name.endswith(".tmp") and now - status.st_mtime > _ABANDONED:
                        os.unlink(item.path)
                    elif item.name.endswith(_SUFFIX):
                        entries.append((status.st_mtime, status.st_size, item.path))
        total = sum(size for _, size, _ in entries)
        if total <= self.limit:
            return total
        for _, size, path in sorted(entries):
            if total <= self.limit * _REST:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
                total -= size
        return total

    @classmethod
    def _warn(cls, error: OSError) -> None:
        if cls._warned.is_set():
            return
        cls._warned.set()
        warnings.warn(
            f"compiled shaders cannot be kept, so each process compiles again: {error} "
            "(VKAMP_CACHE_DIR names another folder, VKAMP_CACHE_SIZE=0 turns the cache off)",
            RuntimeWarning,
            stacklevel=2,
        )


def _header(data: bytes) -> bytes:
    return _HEADER.pack(_MAGIC, len(data), hashlib.sha256(data).digest())


def default_cache(kind: str = "spirv") -> DiskCache:
    """The cache that the environment asks for, of one kind of data; AmpError if ``VKAMP_CACHE_SIZE`` is not a number of
    MiB.
    """
    text = os.environ.get("VKAMP_CACHE_SIZE", "").strip()
    try:
        size = float(text) if text else _DEFAULT_MIB
        limit = int(size * (1 << 20))
        if limit < 0:
            raise ValueError
    except (ValueError, OverflowError):
        raise AmpError(f"VKAMP_CACHE_SIZE is {text!r}, which is not a number of MiB") from None
    return DiskCache(_folder(kind), limit)


def _folder(kind: str) -> Path | None:
    named = os.environ.get("VKAMP_CACHE_DIR")
    if named:
        return Path(named, kind)
    # Imported here: most processes that import vkamp compile nothing.
    import platformdirs

    try:
        return Path(platformdirs.user_cache_dir("vkamp", appauthor=False), kind)
    except (OSError, RuntimeError):
        # No home directory.
        return None
