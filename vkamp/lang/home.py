"""Coherence: where the newest bytes of a container are.

A *home* is one range of bytes that views refer to: the memory of a numpy array, the device storage of an ``array``, or
memory that was allocated for a view without a source. It has an image in host memory and at most one copy for each
location (accelerator_view). Three sets of bytes record where the newest values are:

- ``copy.pending``: the newest value is in this copy, and not in the host image; other copies are older unless they were
  updated from this one.
- ``copy.stale``: this copy is older than the newest value.
- ``home.undefined``: the value is not needed, so it is not uploaded.

Every change of these sets first increments ``home.version`` and gives ``epoch.now`` a new number. While that number is
the same, a check that found everything in order need not be repeated.

A location may also work in the host image itself (``DeviceCopy.shared``), if no other location uses the home: its
pending bytes are those that launches may still write. Nothing is copied then; every access to the host image waits.

So a byte of the host image is newest unless it is pending somewhere, and the pending sets of two copies are disjoint.
Copies move exact byte sets: a column is copied back without its neighbours.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkamp.errors import AmpError
from vkamp.lang.copying import copy_bytes
from vkamp.lang.moves import Log
from vkamp.lang.region import EMPTY, ByteSet, Layout, scatter
from vkamp.lang.storage import (
    ExternalMemory,
    Location,
    SharedStorage,
    Storage,
    external_memory,
    moved_between,
    shared_storage,
)

_Bytes = NDArray[np.uint8]
_ids = count(1)

#: More separate intervals than this are copied in one call.
_FEW = 8
_COPIED_OUT = "their values are copied elsewhere"
_REPLACED = "their values are replaced by others"


class _Epoch:
    """The number of the last change of any home."""

    def __init__(self) -> None:
        self.now = 0
        self._numbers = count(1)

    def advance(self) -> None:
        """Records a change; if several threads do so at once, the number is still new."""
        self.now = next(self._numbers)


epoch = _Epoch()


class _Depth(threading.local):
    """How many homes this thread has locked, and how many of these do not change at the moment, because the program
    computes a value for one."""

    locked = 0
    open = 0


depth = _Depth()

#: Locks are reentrant, since calls nest; so they do not keep out a call that interrupts another one in its thread.
INTERRUPTED = (
    "a signal handler or a destructor has interrupted a call of vkamp in this thread, and uses the same memory or "
    "device: let it set a variable, and do the work where the program tests the variable"
)


def refuse_interruption() -> None:
    """Raises if this thread is in the middle of a change of some home."""
    if depth.locked > depth.open:
        raise AmpError(INTERRUPTED)


class DeviceCopy:
    """A home's bytes at one location, from ``origin`` on; the module's docstring explains the two sets. ``shared``: the
    storage, if it is the host image itself."""

    __slots__ = ("location", "origin", "pending", "shared", "stale", "storage")

    def __init__(self, location: Location, storage: Storage, origin: int, stale: ByteSet) -> None:
        self.shared: SharedStorage | None = None
        self.location = location
        self.storage = storage
        self.origin = origin
        self.stale = stale
        self.pending = EMPTY

    def fetch(self, where: ByteSet) -> _Bytes:
        """Bytes from ``where.start`` to ``where.stop``, after all enqueued work; bytes in the gaps of ``where`` are
        indeterminate."""
        start, nbytes = where.start, where.stop - where.start
        if where.count == 1:
            return self.storage.download(start - self.origin, nbytes)
        return self.storage.download(start - self.origin, nbytes, where.shifted(-start))

    def fetch_into(self, image: _Bytes, where: ByteSet) -> None:
        """The bytes ``where``, and no others, into ``image``, which begins with them."""
        start = where.start
        only = None if where.count == 1 else where.shifted(-start)
        self.storage.download(start - self.origin, where.stop - start, only, image)

    def send(self, values: _Bytes, where: ByteSet) -> None:
        """Replace the bytes ``where``, and no others, by those of ``values``, which begins at
        ``where.start``."""
        origin = where.start
        if where.count <= _FEW:
            for start, stop in where.intervals():
                self.storage.upload(start - self.origin, values[start - origin : stop - origin])
            return
        self.storage.upload(origin - self.origin, values, where.shifted(-origin))


class Seen:
    """The previous contents of the host image, for the bytes ``known``, which its owner must not change without
    ``refresh``.

    ``name`` is the view's in the program, and ``place`` the file and line of a launch that writes it, for a warning at
    the program's end.
    """

    __slots__ = ("bytes", "known", "name", "place")

    def __init__(self, nbytes: int) -> None:
        self.bytes: _Bytes = np.zeros(nbytes, np.uint8)
        self.known = EMPTY
        self.name = ""
        self.place = ("", 0)


class Home:
    """One range of bytes ``[start, stop)`` with its copies. Every method that accesses state requires that ``lock`` is
    held.

    ``primary`` is the location whose storage an ``array`` is; without one the host image is where the data belong.
    ``memory`` gives the host image, when it is first needed.
    """

    def __init__(
        self,
        start: int,
        stop: int,
        *,
        memory: Callable[[], _Bytes] | None = None,
        defined: bool = False,
        primary: Location | None = None,
    ) -> None:
        self.id = next(_ids)
        self.lock = threading.RLock()
        self.start, self.stop = start, stop
        self.everything = ByteSet.interval(start, stop)
        self.copies: dict[Location, DeviceCopy] = {}
        self.undefined = EMPTY if defined else self.everything
        self.primary = primary
        self.retired = False
        #: Whether a location may work in the host image itself, the location that does, and the one that did before.
        self.lends = False
        self.lent: DeviceCopy | None = None
        self.once_lent: DeviceCopy | None = None
        self.version = 0
        #: What another library may write at any time, in the copy at ``primary``: always pending there.
        self.exported = EMPTY
        #: How it was exported, for people.
        self.export_notes: list[str] = []
        self._memory = memory or (lambda: np.empty(stop - start, np.uint8))
        self._image: _Bytes | None = None
        self.log = Log()
        #: Kept where launches are checked, see :mod:`vkamp.lang.watching`.
        self.seen: Seen | None = None
        if primary is not None:
            copy = self._new_copy(primary)
            copy.pending = self.everything

    def __enter__(self) -> Home:
        self.lock.acquire()
        depth.locked += 1
        return self

    def __exit__(self, *_: object) -> None:
        depth.locked -= 1
        self.lock.release()

    def note_change(self) -> None:
        """Records that something is about to change."""
        self.version += 1
        epoch.advance()

    @property
    def image(self) -> _Bytes:
        """The host image: all bytes of the home; newest where nothing is pending."""
        if self._image is None:
            self._image = self._memory()
        return self._image

    def host(self, layout: Layout) -> NDArray[Any]:
        """The elements of ``layout`` in the host image: a view, no copy, nothing brought home."""
        return layout.place(self.image, self.start)

    def origin_at(self, location: Location) -> int:
        """The byte that a storage at ``location`` begins with, or would."""
        copy = self.copies.get(location)
        return self.start if copy is None else copy.origin

    # -- moving bytes ------------------------------------------------------------------------------

    def _new_copy(self, location: Location, *, apart: bool = True) -> DeviceCopy:
        self.note_change()
        if not apart and self.lends and not self.copies and self.seen is None:
            shared = shared_storage(location, self.image)
            if shared is not None:
                self.lent = DeviceCopy(location, shared, self.start, EMPTY)
                self.lent.shared = shared
                self.copies[location] = self.lent
                return self.lent
        nbytes = (self.stop - self.start + 3) // 4 * 4
        copy = DeviceCopy(location, location.allocate(nbytes), self.start, self.everything - self.undefined)
        self.copies[location] = copy
        return copy

    def _publish(self, copy: DeviceCopy, where: ByteSet, why: str) -> None:
        """Bring pending bytes home; bytes beside them in the host image stay untouched."""
        self.note_change()
        if copy.shared is not None:
            copy.shared.settle(writes_only=True)
            copy.pending -= where
            return
        pieces = [ByteSet.interval(*ends) for ends in where.intervals()] if where.count <= _FEW else [where]
        for piece in pieces:
            image = self.image[piece.start - self.start : piece.stop - self.start]
            copy.fetch_into(image, piece)
        self.log.add("from", copy.location, where, where.nbytes, why)
        copy.pending -= where - self.exported if copy.location == self.primary else where
        self.look(where)

    def look(self, region: ByteSet) -> None:
        """Marks the host image as correct: later changes of ``region`` are detected if :mod:`vkamp.lang.watching` is
        used."""
        if self.seen is not None and region:
            start, stop = region.start - self.start, region.stop - self.start
            scatter(self.seen.bytes[start:stop], self.image[start:stop], region, region.start)
            self.seen.known |= region

    def _look_away(self, region: ByteSet) -> None:
        """Marks the host image as changing: devices get it again."""
        if self.seen is not None:
            self.seen.known -= region

    def publish(self, region: ByteSet, why: str, *, but: DeviceCopy | None = None) -> None:
        """Bring home every pending byte of ``region`` (except those of one copy); ``why`` goes into the record of
        moves."""
        for copy in self.copies.values():
            if copy is not but and copy.pending:
                where = copy.pending & region
                if where:
                    self._publish(copy, where, why)

    def _upload(self, copy: DeviceCopy, where: ByteSet, why: str) -> None:
        """Send bytes that are newest in the host image to a stale copy."""
        if copy.shared is not None:
            copy.stale -= where
            return
        copy.send(self.image[where.start - self.start : where.stop - self.start], where)
        self.log.add("to", copy.location, where, where.nbytes, why)
        copy.stale -= where

    def quiet(self) -> None:
        """Wait until no launch works in the host image itself, because it is about to change."""
        if self.lent is not None and self.lent.shared is not None:
            self.lent.shared.settle(writes_only=False)

    def _take_back(self) -> None:
        """Stop locations from working in the host image itself: all of them use copies afterwards."""
        assert self.lent is not None
        self.note_change()
        self.quiet()
        del self.copies[self.lent.location]
        self.lends, self.lent, self.once_lent = False, None, self.lent

    def acquire(self, location: Location, region: ByteSet, why: str, *, apart: bool = False) -> DeviceCopy:
        """The copy at ``location``, with ``region`` current in it; ``why`` is recorded. With ``apart`` the copy is not
        the host image itself. If it raises OutOfMemoryError, nothing has changed."""
        copy = self.copies.get(location)
        if self.exported and copy is not None and self.primary is not None and location != self.primary:
            copy.stale |= self.exported & region & self.copies[self.primary].pending
        if self.lent is not None and (apart or copy is not self.lent):
            self._take_back()
            copy = None
        if copy is None:
            copy = self._new_copy(location, apart=apart)
        if copy.stale:
            needed = copy.stale & region
            if needed:
                needed = self._fetch_across(copy, needed, why)
            if needed:
                self.publish(needed, f"{location!r} needs them", but=copy)
                self._upload(copy, needed, why)
        return copy

    def _fetch_across(self, copy: DeviceCopy, needed: ByteSet, why: str) -> ByteSet:
        """Copy the bytes that only other locations have from there; returns the bytes that the copy still needs."""
        for other in self.copies.values():
            where = other.pending & needed if other is not copy and other.pending else EMPTY
            if not where or where.count > _FEW:
                continue
            self.note_change()  # The launch's location is no longer the only one that has them.
            if self._move_across(copy, other, where):
                self.log.add("from", other.location, where, where.nbytes, f"{copy.location!r} takes them")
                self.log.add("to", copy.location, where, where.nbytes, why)
                copy.stale -= where
                needed -= where
        return needed

    @staticmethod
    def _move_across(copy: DeviceCopy, other: DeviceCopy, where: ByteSet) -> bool:
        """Copy the bytes from storage to storage; returns whether that was possible."""
        return all(
            moved_between(copy.storage, start - copy.origin, other.storage, start - other.origin, stop - start)
            for start, stop in where.intervals()
        )

    def export(self, region: ByteSet, *, written: bool) -> DeviceCopy:
        """The copy of an ``array`` for another library, with ``region`` current in it; ``written``: the library may
        write the region at any later time.
        """
        assert self.primary is not None
        copy = self.acquire(self.primary, region, "another library uses them")
        if written:
            self.note_change()
            self.written_on(copy, region)
            self.exported |= region
        return copy

    def external(self) -> ExternalMemory | str:
        """The memory of an ``array`` as another library's, or the reason why it cannot be that. The elements move to
        other memory of their location if drivers do not share theirs.
        """
        assert self.primary is not None
        copy = self.copies[self.primary]
        found = external_memory(copy.storage)
        if not isinstance(found, str) and found.storage is not copy.storage:
            self.note_change()
            copy.storage = found.storage
        return found

    def note_export(self, note: str) -> None:
        """Records how the home was exported."""
        if note not in self.export_notes:
            self.export_notes.append(note)

    # -- who wrote ---------------------------------------------------------------------------------

    def written_on(self, copy: DeviceCopy, region: ByteSet) -> None:
        """Record that a launch or a copy has written ``region`` at ``copy``."""
        if self.knows_written(copy, region):
            return
        self.note_change()
        for other in self.copies.values():
            if other is copy:
                other.pending |= region
                other.stale -= region
            else:
                other.stale |= region
                other.pending -= region
        self._define(region)

    def knows_written(self, copy: DeviceCopy, region: ByteSet) -> bool:
        """Whether ``region`` is newest at ``copy`` and nowhere else."""
        if not copy.pending.covers(region) or copy.stale.overlaps(region) or self.undefined.overlaps(region):
            return False
        return all(other is copy or other.stale.covers(region) for other in self.copies.values())

    def written_by_host(self, region: ByteSet) -> None:
        """Record that the host image is newest for ``region``."""
        self.note_change()
        self._look_away(region)
        for copy in self.copies.values():
            copy.stale |= region
            copy.pending -= region
        self._define(region)

    @contextlib.contextmanager
    def opened(self, region: ByteSet) -> Iterator[None]:
        """Around a change of ``region`` by the host, whose value may come from this or another container."""
        depth.open += 1
        try:
            yield
        finally:
            depth.open -= 1
            self.written_by_host(region)

    def adopt(self, copy: DeviceCopy, region: ByteSet) -> None:
        """Bring home what was written to a copy of a home that has become part of this one."""
        self._publish(copy, region, "the memory was joined with other memory")
        self.written_by_host(region)

    def _define(self, region: ByteSet) -> None:
        if self.undefined:
            self.undefined -= region

    def discard(self, region: ByteSet) -> None:
        """Record that ``region`` is not needed any more. An ``array`` keeps its contents, because it is their only
        place. If a location works in the host image itself, what it has written is already home."""
        self.note_change()
        self._finish_lent(region)
        for location, copy in self.copies.items():
            copy.stale -= region
            if location != self.primary:
                copy.pending -= region
        self.undefined |= region
        self._look_away(region)

    def refresh(self, region: ByteSet, *, host_owned: bool) -> None:
        """Drop the contents of copies, because the owner may have changed the host image."""
        self.note_change()
        self.quiet()
        if host_owned:
            for copy in self.copies.values():
                copy.pending -= region
        fresh = self.everything
        for copy in self.copies.values():
            fresh -= copy.pending
        for copy in self.copies.values():
            copy.stale |= fresh
        self._define(fresh)
        self._look_away(fresh)

    # -- whole values ------------------------------------------------------------------------------

    def read(self, layout: Layout) -> NDArray[Any]:
        """The newest elements of ``layout`` in a new array; the host image is not changed."""
        region = layout.region
        self._finish_lent(region)
        owners = [(copy, where) for copy in self.copies.values() if copy.pending and (where := copy.pending & region)]
        if not owners:
            return np.array(self.host(layout), order="C")
        start, stop = region.start, region.stop
        for copy, _ in owners:
            if not copy.stale.overlaps(region):
                self.log.add("from", copy.location, region, region.nbytes, _COPIED_OUT)
                return _detach(layout.place(copy.fetch(region), start))
        newest = np.array(self.image[start - self.start : stop - self.start])
        for copy, where in owners:
            window = newest[where.start - start : where.stop - start]
            scatter(window, copy.fetch(where), where, where.start)
            self.log.add("from", copy.location, where, where.nbytes, _COPIED_OUT)
        return _detach(layout.place(newest, start))

    def read_into(self, layout: Layout, out: _Bytes) -> None:
        """Like :meth:`read`, into the bytes ``out``, without gaps between the elements. ``out`` is in no home's
        memory."""
        region = layout.region
        self._finish_lent(region)
        if not any(copy.pending.overlaps(region) for copy in self.copies.values()):
            self._read_host(layout, out)
            return
        for copy in self.copies.values():
            if layout.is_dense and copy.pending.overlaps(region) and not copy.stale.overlaps(region):
                copy.fetch_into(out, region)
                self.log.add("from", copy.location, region, region.nbytes, _COPIED_OUT)
                return
        copy_bytes(out, _as_bytes(self.read(layout)))

    def copy_from(self, layout: Layout, source: Home, there: Layout) -> bool:
        """Replace the elements of ``layout`` by those of a layout of another home; neither layout has gaps. False if
        that requires an intermediate array. The caller has locked both homes."""
        region, wanted = layout.region, there.region
        if self.primary is None:
            self.quiet()
            source.read_into(there, _as_bytes(self.host(layout)))
            self.written_by_host(region)
            return True
        copy = self.copies[self.primary]
        owner = source.current_copy(wanted)
        if owner is None:
            if any(each.pending.overlaps(wanted) for each in source.copies.values()):
                return False
            copy.send(_as_bytes(source.host(there)), region)
        elif moved_between(
            copy.storage, region.start - copy.origin, owner.storage, wanted.start - owner.origin, wanted.nbytes
        ):
            source.log.add("from", owner.location, wanted, wanted.nbytes, _COPIED_OUT)
        else:
            return False
        self.log.add("to", copy.location, region, region.nbytes, _REPLACED)
        self.written_on(copy, region)
        return True

    def current_copy(self, region: ByteSet) -> DeviceCopy | None:
        """A copy in which all of ``region`` is current and some of it is newer than in the host image, if there is
        one."""
        self._finish_lent(region)
        if not any(copy.pending.overlaps(region) for copy in self.copies.values()):
            return None
        return next((copy for copy in self.copies.values() if not copy.stale.overlaps(region)), None)

    def _read_host(self, layout: Layout, out: _Bytes) -> None:
        """The elements of the host image, without gaps."""
        host = self.host(layout)
        if layout.is_dense:
            copy_bytes(out, _as_bytes(host))
        else:
            np.copyto(out.view(layout.dtype).reshape(layout.shape), host)

    def _finish_lent(self, region: ByteSet) -> None:
        """Wait for launches that write ``region`` in the host image itself."""
        if self.lent is not None and (where := self.lent.pending & region):
            self._publish(self.lent, where, "")

    def may_share(self, values: NDArray[Any]) -> bool:
        """Whether the host image may have a byte in common with ``values``."""
        return self._image is not None and np.may_share_memory(self._image, values)

    def write(self, layout: Layout, values: NDArray[Any]) -> None:
        """Replace the elements of ``layout`` by ``values``, of the same shape and dtype, which are in no host image;
        neighbours stay intact."""
        region = layout.region
        if self.primary is None:
            self.quiet()
            if layout.is_dense and values.flags.c_contiguous:
                copy_bytes(_as_bytes(self.host(layout)), _as_bytes(values))
            else:
                np.copyto(self.host(layout), values)
            self.written_by_host(region)
            return
        copy = self.copies[self.primary]
        if layout.is_dense:
            window = _as_bytes(np.ascontiguousarray(values))
        else:
            window = np.zeros(region.stop - region.start, np.uint8)
            np.copyto(layout.place(window, region.start), values)
        copy.send(window, region)
        self.log.add("to", copy.location, region, region.nbytes, _REPLACED)
        self.written_on(copy, region)


def _as_bytes(values: NDArray[Any]) -> _Bytes:
    """The bytes of a row-major array without gaps, in its memory."""
    return values.reshape(-1).view(np.uint8)


def _detach(values: NDArray[Any]) -> NDArray[Any]:
    """``values`` in writable, row-major memory of their own."""
    owned = values.flags.owndata or (isinstance(values.base, np.ndarray) and values.base.flags.owndata)
    if owned and values.flags.writeable and values.flags.c_contiguous:
        return values
    return np.array(values, order="C")
