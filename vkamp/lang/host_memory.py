"""Homes in numpy's memory: found by address, joined where they overlap, brought home when their
last view goes.

All views of the same bytes must share one home, so homes are registered by the addresses that they cover. A view of
memory that partly overlaps a home's bounds joins the two into a larger home.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import warnings
import weakref
from bisect import bisect_left
from collections import deque
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkamp.errors import CheckWarning
from vkamp.lang.home import Home, depth
from vkamp.lang.moves import Log

#: Rooms whose code may hold a device's lock; an object that is deleted there must not use the device.
_DEVICE_ROOMS = ("vkamp.run.", "vkamp.sim.")


class _Cell:
    """A lease's reference to its home, which changes when homes are joined."""

    __slots__ = ("home",)

    def __init__(self, home: Home) -> None:
        self.home = home


class Lease:
    """A reference of views to their home. ``with lease as home:`` keeps the home locked.

    When the last lease of a host home is deleted, its data are copied back to the host.
    """

    __slots__ = ("__weakref__", "_cell")

    def __init__(self, home: Home, cell: _Cell | None = None) -> None:
        self._cell = cell or _Cell(home)

    def __enter__(self) -> Home:
        _drop_orphans()
        while True:
            home = self._cell.home
            home.__enter__()
            if not home.retired:
                return home
            home.__exit__()

    def __exit__(self, *_: object) -> None:
        self._cell.home.__exit__()

    @property
    def home(self) -> Home:
        """The home at this moment, unlocked."""
        return self._cell.home


class _Window:
    """Bytes at an address, through numpy's array interface; ``keep`` owns them."""

    def __init__(self, address: int, nbytes: int, keep: tuple[object, ...]) -> None:
        self.keep = keep
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (nbytes,),
            "data": (address, False),
        }


class _HostHome(Home):
    """A home in memory that ``keep`` owns."""

    def __init__(self, start: int, stop: int, keep: tuple[object, ...]) -> None:
        super().__init__(start, stop, memory=self._map, defined=True)
        self.lends = True
        self.keep = keep
        self.cells: set[_Cell] = set()

    def _map(self) -> NDArray[np.uint8]:
        return np.asarray(_Window(self.start, self.stop - self.start, self.keep))

    def may_share(self, values: NDArray[Any]) -> bool:
        return bool(np.may_share_memory(self.image, values))

    def settle(self) -> None:
        """Bring all data home and accept no more work. Errors are ignored, since no caller could handle them."""
        with self:
            if self.retired:
                return
            self.bring_home("their last view was deleted")
            self.note_change()
            self.retired = True
            lent = self.lent or self.once_lent
            tidy = None if lent is None or lent.shared is None else lent.shared.tidy
            lent = self.lent = self.once_lent = None
            self.copies.clear()
            if tidy is not None:
                tidy()

    def bring_home(self, why: str) -> None:
        """Bring all pending data home and wait for work in this memory; errors are ignored."""
        with contextlib.suppress(Exception):
            self.publish(self.everything, why)
            self.quiet()


class _Registry:
    """The living host homes by address; their bounds never overlap.  A context manager: its lock.

    Lock order: the registry, then homes.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.homes: list[_HostHome] = []

    def __enter__(self) -> None:
        self._lock.acquire()
        depth.locked += 1

    def __exit__(self, *_: object) -> None:
        depth.locked -= 1
        self._lock.release()

    def lease(self, start: int, stop: int, keep: object) -> Lease:
        """A lease of the home of these addresses, which is created, or joined from several homes, if necessary."""
        with self:
            home = self._home(start, stop, keep)
            cell = _Cell(home)
            home.cells.add(cell)
        lease = Lease(home, cell)
        weakref.finalize(lease, _released, cell).atexit = False
        return lease

    def _home(self, start: int, stop: int, keep: object) -> _HostHome:
        found = []
        for home in self._overlapping(start, stop):
            if home.cells:
                found.append(home)
            else:  # Another thread has just deleted its last view.
                home.settle()
                self._remove(home)
        if len(found) == 1 and found[0].start <= start and stop <= found[0].stop:
            return found[0]
        return self._join(found, start, stop, keep)

    def _join(self, old: list[_HostHome], start: int, stop: int, keep: object) -> _HostHome:
        """A new home for these addresses and those of ``old``, whose data are copied back first."""
        with contextlib.ExitStack() as locks:
            for home in old:
                locks.enter_context(home)
                home.publish(home.everything, "a view of overlapping memory joins them with it")
                home.quiet()
            owners = [keep]
            for home in old:
                owners += home.keep
                start, stop = min(start, home.start), max(stop, home.stop)
            joined = _HostHome(start, stop, tuple(owners))
            joined.log = Log(home.log for home in old)
            for home in old:
                home.note_change()
                home.retired = True
                joined.cells |= home.cells
                self._remove(home)
            for cell in joined.cells:
                cell.home = joined
        self.homes.insert(bisect_left(self.homes, start, key=lambda h: h.start), joined)
        return joined

    def _overlapping(self, start: int, stop: int) -> list[_HostHome]:
        first = bisect_left(self.homes, start + 1, key=lambda home: home.stop)
        last = bisect_left(self.homes, stop, key=lambda home: home.start)
        return self.homes[first:last]

    def _remove(self, home: _HostHome) -> None:
        self.homes = [other for other in self.homes if other is not home]

    def drop(self, cell: _Cell) -> None:
        """Handle the deletion of a lease: settle its home if it was the last one."""
        with self:
            home = cell.home
            assert isinstance(home, _HostHome)
            home.cells.discard(cell)
            if home.cells:
                return
        home.settle()
        with self:
            self._remove(home)


_registry = _Registry()
_orphans: deque[_Cell] = deque()


def lease_memory(start: int, stop: int, keep: object) -> Lease:
    """A lease of the home that holds the addresses ``[start, stop)``; ``keep`` owns that memory."""
    _drop_orphans()
    return _registry.lease(start, stop, keep)


def _released(cell: _Cell) -> None:
    # The garbage collector may run this at any allocation, even while this thread holds a lock of vkamp or of a device.
    if depth.locked or _in_device_code():
        _orphans.append(cell)
    else:
        _registry.drop(cell)


def _in_device_code() -> bool:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith(_DEVICE_ROOMS):
            return True
        frame = frame.f_back
    return False


def _drop_orphans() -> None:
    """Settle the homes whose last view was deleted where that was not possible."""
    while _orphans and not depth.locked:
        try:
            cell = _orphans.popleft()
        except IndexError:  # Another thread was faster.
            return
        _registry.drop(cell)


_owner = os.getpid()


def bring_home_at_exit() -> None:
    """Register a handler that brings pending data home before the devices close.

    Called whenever a device was used: handlers run in reverse order, and this one must run before the device's handler.
    """
    global _owner
    _owner = os.getpid()
    atexit.unregister(_at_exit)
    atexit.register(_at_exit)


def _at_exit() -> None:
    if os.getpid() != _owner:
        return  # In a forked child: the devices belong to its parent.
    _drop_orphans()
    for home in list(_registry.homes):
        with home:
            _warn_of_loss(home)
            home.bring_home("the program ends")


def _warn_of_loss(home: _HostHome) -> None:
    """Warns of launches' results that the host never received, where check mode has recorded a name for them."""
    if home.seen is None or not home.seen.name or any(isinstance(owner, np.memmap) for owner in home.keep):
        return
    nbytes = sum(copy.pending.nbytes for copy in home.copies.values())
    if nbytes:
        name = home.seen.name
        warnings.warn_explicit(
            f"the program ends, and {nbytes} bytes that launches wrote to the view `{name}` were not copied back: the "
            f"array has old values. Read it through the view, or call {name}.synchronize() before",
            CheckWarning,
            *home.seen.place,
        )
