"""How a launch binds the elements of an ``array`` or ``array_view``, and what it remembers of them between launches.

A launch acquires all of its uses before it is enqueued, and marks them as written afterwards. If :attr:`Use.is_current`
is true, the elements are on the device and already count as written there, so a repeated launch acquires only the other
uses.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vkamp.lang.home import DeviceCopy, Home, refuse_interruption
from vkamp.lang.host_memory import Lease, bring_home_at_exit
from vkamp.lang.region import ByteSet, Layout
from vkamp.lang.storage import Bindable, Descriptor, Location, Placement, Storage


class ElementBinding:
    """The elements of a layout in a home, as launches use them: see :class:`Bindable`.

    A device addresses whole elements. Elements at other distances are packed: every launch makes a copy without gaps,
    and copies it home immediately if the launch writes it.
    """

    __slots__ = ("_descriptors", "_open", "_packed", "layout", "lease")

    def __init__(self, lease: Lease, layout: Layout) -> None:
        self.lease = lease
        self.layout = layout
        self._descriptors: dict[Location, Descriptor] = {}
        self._open: dict[Location, DeviceCopy] = {}
        self._packed: dict[Location, Storage] = {}

    def placement(self, location: Location) -> Placement:
        """See :class:`Bindable`."""
        layout = self.layout
        with self.lease as home:
            if not self._is_addressable(home, location):
                return Placement(-id(self), 0, layout.shape, layout.dense_steps, True, True)
            offset = layout.offset - home.origin_at(location)
            return Placement(home.id, offset, layout.shape, layout.steps, layout.is_dense, False)

    def acquire(
        self, location: Location, *, read: bool, write: bool, why: str = "a launch uses them", apart: bool = False
    ) -> Descriptor:
        """See :class:`Bindable`."""
        if not (read or write):
            raise ValueError("a launch that neither reads nor writes a container needs no storage")
        refuse_interruption()
        with self.lease as home:
            known = home.copies.get(location)
            descriptor = self._descriptors.get(location)
            fresh = known is not None and not known.stale and not (apart and known.shared is not None)
            if home.exported and location != home.primary:
                fresh = False  # Another library may have written the elements.
            if known is not None and fresh and descriptor is not None and descriptor.storage is known.storage:
                if write:
                    self._open[location] = known
                return descriptor  # nothing moves
            if not self._is_addressable(home, location):
                return self._pack(home, location)
            if known is not None and fresh and home.lent in (None, known):
                copy = known  # Nothing moves: only the descriptor is new.
            else:
                copy = home.acquire(location, self.layout.region, why, apart=apart)
            if known is None:
                bring_home_at_exit()
            if write:
                self._open[location] = copy
            if descriptor is None or descriptor.storage is not copy.storage:
                layout = self.layout
                offset = (layout.offset - copy.origin) // layout.dtype.itemsize
                descriptor = Descriptor(copy.storage, layout.dtype, offset, layout.shape, layout.steps, home.id)
                self._descriptors[location] = descriptor
        return descriptor

    def written(self, location: Location) -> bool:
        """See :class:`Bindable`."""
        used = self._open.pop(location, None)
        with self.lease as home:
            packed = self._packed.get(location)
            if packed is not None and not self._is_addressable(home, location):
                self._unpack(home, packed)
                return False
            copy = home.copies.get(location)
            if used is None and home.once_lent is not None:
                # A repeated launch was in progress when another location began to use the memory.
                before = self._descriptors.get(location)
                if before is not None and before.storage is home.once_lent.storage:
                    used = home.once_lent
            if copy is not None and used in (None, copy):
                if not home.knows_written(copy, ByteSet.interval(*self.layout.bounds)):
                    home.written_on(copy, self.layout.region)
            elif used is not None:
                # Since then the home was joined with another one, or stopped lending its memory: the launch's results
                # are copied back from the old storage.
                home.adopt(used, self.layout.region)
                return False
        return True

    def discard(self) -> None:
        """See :class:`Bindable`."""
        with self.lease as home:
            home.discard(self.layout.region)

    def shares(self, other: Bindable) -> bool:
        """See :class:`Bindable`."""
        if self.lease.home is not other.lease.home:
            return False
        (start, stop), (other_start, other_stop) = self.layout.bounds, other.layout.bounds
        return start < other_stop and other_start < stop and self.layout.region.overlaps(other.layout.region)

    def current_at(self) -> list[Location]:
        """See :class:`Bindable`."""
        with self.lease as home:
            return [
                place
                for place, copy in home.copies.items()
                if not copy.stale or not copy.stale.overlaps(self.layout.region)
            ]

    def _is_addressable(self, home: Home, location: Location) -> bool:
        """Whether the elements are at multiples of the element size in their storage."""
        layout = self.layout
        return layout.in_steps and (layout.offset - home.origin_at(location)) % layout.dtype.itemsize == 0

    def _pack(self, home: Home, location: Location) -> Descriptor:
        """A copy of the elements without gaps."""
        layout = self.layout
        values = np.ascontiguousarray(home.read(layout)).reshape(-1).view(np.uint8)
        storage = self._packed.get(location)
        if storage is None:
            storage = self._packed[location] = location.allocate((values.size + 3) // 4 * 4)
            bring_home_at_exit()
        storage.upload(0, values)
        return Descriptor(storage, layout.dtype, 0, layout.shape, layout.dense_steps, -id(self), True)

    def _unpack(self, home: Home, storage: Storage) -> None:
        """Brings home what a launch wrote to a packed copy."""
        layout = self.layout
        values = storage.download(0, layout.size * layout.dtype.itemsize).view(layout.dtype).reshape(layout.shape)
        home.write(layout, values)


class Use:
    """A container that launches use: how they use it, its location, and the state of its home after its last use.

    ``discards``: the previous contents are not needed.
    """

    __slots__ = ("bindable", "descriptor", "discards", "home", "reads", "version", "writes")

    def __init__(
        self, bindable: Bindable, *, reads: bool = False, writes: bool = False, discards: bool = False
    ) -> None:
        self.bindable = bindable
        self.reads = reads
        self.writes = writes
        self.discards = discards
        self.descriptor: Descriptor | None = None
        self.home: Home | None = None
        self.version = -1

    @property
    def is_current(self) -> bool:
        """Whether the container's home is unchanged since its last use."""
        return self.home is not None and self.home.version == self.version

    def acquire(self, location: Location, why: str, *, apart: bool) -> bool:
        """Makes the container current at ``location``; returns whether its elements are still where they were."""
        if self.discards:
            self.bindable.discard()
        if not (self.reads or self.writes):
            return True
        before = self.descriptor
        self.descriptor = self.bindable.acquire(location, read=self.reads, write=self.writes, why=why, apart=apart)
        return self.descriptor is before


def mark_written(location: Location, uses: Sequence[Use]) -> list[tuple[Use, Home, int]]:
    """Marks what enqueued launches write; returns the homes of the uses, and the homes' new versions."""
    by_home: dict[int, list[Use]] = {}
    for use in uses:
        by_home.setdefault(id(use.bindable.lease.home), []).append(use)
    found = []
    for group in by_home.values():
        # One lock for all of a home, so that no other change comes between and is mistaken for the launches'.
        with group[0].bindable.lease as home:
            stayed = [use.bindable.written(location) for use in group if use.writes]
            is_known = all(stayed) and (not home.exported or location == home.primary)
            found += [(use, home, home.version if is_known else -1) for use in group]
    return found
