"""The record that ``explain()`` shows: which bytes of a home moved, where to, why, and for which line of the
program."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from types import FrameType

from vkamp.lang.region import ByteSet
from vkamp.lang.storage import Location
from vkamp.records import dataclass

#: Moves that a home remembers; older ones are only counted.
_KEEP = 64
_PACKAGE = __name__.partition(".")[0]
#: Modules between a program's line and the package's code.
_BETWEEN = ("contextlib", "threading", "functools")


def _call_site() -> tuple[str, int] | None:
    """The file and the line where the program is; None in one of vkamp's threads."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not _is_between(str(frame.f_globals.get("__name__"))):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


@lru_cache(maxsize=1024)
def _is_between(module: str) -> bool:
    return module.partition(".")[0] == _PACKAGE or module in _BETWEEN


@dataclass(frozen=True)
class Move:
    """One copy of bytes: ``how`` is ``"to"`` or ``"from"`` the location, ``nbytes`` the number of bytes copied."""

    number: int
    how: str
    location: Location
    region: ByteSet
    nbytes: int
    why: str
    site: tuple[str, int] | None

    def __str__(self) -> str:
        at = f" at {Path(self.site[0]).name}:{self.site[1]}" if self.site else ""
        return f"{self.number}. {self.nbytes} bytes {self.how} {self.location!r}{at}: {self.why}"


class Log:
    """The last moves of a home."""

    def __init__(self, earlier: Iterable[Log] = ()) -> None:
        self._count = 0
        self._moves: deque[Move] = deque(maxlen=_KEEP)
        for log in earlier:
            self._count += log._count
            self._moves += log._moves

    def add(self, how: str, location: Location, region: ByteSet, nbytes: int, why: str) -> None:
        """Record that ``nbytes`` were copied for ``region``."""
        self._count += 1
        self._moves.append(Move(self._count, how, location, region, nbytes, why, _call_site()))

    def of(self, region: ByteSet) -> list[Move]:
        """The remembered moves of bytes of ``region``, oldest first."""
        return [move for move in self._moves if move.region.overlaps(region)]

    @property
    def forgotten(self) -> int:
        """How many moves are no longer remembered."""
        return self._count - len(self._moves)
