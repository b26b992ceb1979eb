"""Protocols: what a container needs of a device, memory (``Storage``) at a place (``Location``), and what a launch
needs of a container (``Bindable``).

The classes of :mod:`vkamp.run` implement these protocols; nothing here depends on a driver.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from vkamp.errors import AmpError
from vkamp.lang.access import access_type
from vkamp.lang.region import ByteSet, Footprint, Layout
from vkamp.records import dataclass

if TYPE_CHECKING:
    from vkamp.lang.host_memory import Lease


class Storage(Protocol):
    """Device memory of one accelerator_view."""

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""

    def upload(self, offset: int, data: NDArray[np.uint8], where: ByteSet | None = None) -> None:
        """Write the bytes ``data`` at ``offset``, after every launch that is already enqueued; ``where`` (positions in
        ``data``) selects some of them.

        ``data`` may be changed as soon as the call returns.
        """

    def download(
        self, offset: int, nbytes: int, where: ByteSet | None = None, out: NDArray[np.uint8] | None = None
    ) -> NDArray[np.uint8]:
        """The bytes ``[offset, offset + nbytes)`` after the launches enqueued so far; waits for these. ``where``
        (positions from ``offset`` on) selects some of them.

        The array is new or read-only. If ``out`` of this length is given, the selected bytes are written to it, and it
        is returned.
        """


class SharedStorage(Storage, Protocol):
    """Host memory in which an accelerator_view works directly, without copies."""

    def settle(self, *, writes_only: bool) -> None:
        """Waits until no launch that was enqueued uses it, or writes it."""

    @property
    def tidy(self) -> Callable[[], None]:
        """Returns the memory to its owner; called when the storage has been deleted."""


class ExternalMemory(Protocol):
    """A storage as memory of another library, which works on it at the same time.

    ``storage``: it, or another one with its contents if its memory cannot be shared; ``device``: the pair that DLPack
    has for it; ``address``: of its first byte, by that device's addresses; ``order``: how the work of both is ordered,
    for people.
    """

    storage: Storage
    device: tuple[int, int]
    address: int

    @property
    def order(self) -> str:
        """How the work of both sides is ordered."""

    def lend(self, stream: int | None) -> object:
        """Orders the work of one of the other library's streams with that of the location, until the result is deleted,
        which also keeps the memory. None: its default stream. -1: no order."""

    def follow(self) -> None:
        """Makes the later work of the location wait for what the other library's default stream does now."""

    def take(self, source: int, nbytes: int) -> None:
        """Copies bytes from an address of the other library to the storage's beginning, after the work of its default
        stream."""


class Location(Protocol):
    """An accelerator_view as containers see it. Hashable; equal if the underlying view is the same."""

    def allocate(self, nbytes: int) -> Storage:
        """Memory of at least ``nbytes`` (1 or more) bytes with indeterminate contents;
        OutOfMemoryError."""

    @property
    def runs_kernels(self) -> bool:
        """False for the views of ``accelerator("cpu")``, which only store."""

    def host_access(self, wanted: access_type) -> access_type:
        """How the host may access the elements of an array that requests ``wanted``; AmpError if the device does not
        support it."""


@dataclass(frozen=True)
class Descriptor:
    """A container as a launch binds it: storage, and where the elements are in it.

    ``offset_elements`` and ``strides_elements`` count elements of ``dtype`` from the storage's first byte. Descriptors
    of equal ``home_id`` share ``storage`` and may overlap. ``packed``: the storage holds only a copy of these elements.
    """

    storage: Storage
    dtype: np.dtype[Any]
    offset_elements: int
    shape: tuple[int, ...]
    strides_elements: tuple[int, ...]
    home_id: int
    packed: bool = False

    @cached_property
    def footprint(self) -> Footprint:
        """The bytes of the storage that a launch may access."""
        size = self.dtype.itemsize
        strides = tuple(stride * size for stride in self.strides_elements)
        return Footprint.of(self.offset_elements * size, self.shape, strides, size)


class Placement(NamedTuple):
    """Returns where a launch would find a container's elements, without copying anything.

    Containers of equal ``home`` share a storage, in which ``offset`` is the first element's byte.  ``strides`` count
    elements.  ``dense``: row-major without gaps.  ``packed``: the launch would work on a copy of the elements.
    """

    home: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dense: bool
    packed: bool


class Bindable(Protocol):
    """What launches do with a container's elements.  All containers of a launch are acquired before any is written."""

    @property
    def lease(self) -> Lease:
        """The lock of the elements' home."""

    @property
    def layout(self) -> Layout:
        """The place of the elements in their home."""

    def placement(self, location: Location) -> Placement:
        """Where a launch at ``location`` would find the elements."""

    def acquire(
        self, location: Location, *, read: bool, write: bool, why: str = "a launch uses them", apart: bool = False
    ) -> Descriptor:
        """Makes the elements current at ``location`` for a launch; returns where they are there.

        They are uploaded even for a launch that only writes, because it may write only a part; ``discard_data`` avoids
        that. A launch that may change bytes beside the elements, or that is checked, works ``apart``: not in numpy's
        memory itself. This is the same for all containers of a launch. ``why`` is stored in the record of moves.

        OutOfMemoryError.
        """

    def written(self, location: Location) -> bool:
        """Records that a launch that writes the acquired elements is enqueued at ``location``; returns whether the next
        launch finds them where this one did.
        """

    def discard(self) -> None:
        """Marks the present contents as not needed."""

    def shares(self, other: Bindable) -> bool:
        """Whether the two have a byte in common."""

    def current_at(self) -> list[Location]:
        """The locations where a launch would find the elements without an upload."""


def moved_between(target: Storage, offset: int, source: Storage, source_offset: int, nbytes: int) -> bool:
    """Copies bytes from storage to storage, after the launches enqueued so far; False if that is impossible for these
    two."""
    take: Callable[[int, Storage, int, int], bool] | None = getattr(target, "take_from", None)
    return take is not None and take(offset, source, source_offset, nbytes)


def shared_storage(location: Location, memory: NDArray[np.uint8]) -> SharedStorage | None:
    """``memory`` itself as storage of a location; None if that is impossible."""
    share: Callable[[NDArray[np.uint8]], SharedStorage | None] | None = getattr(location, "share", None)
    return None if share is None else share(memory)


def external_memory(storage: Storage) -> ExternalMemory | str:
    """A storage as memory of another library, or the reason why it cannot be that."""
    external: Callable[[], ExternalMemory | str] | None = getattr(storage, "external", None)
    return "its memory cannot be shared" if external is None else external()


_default_provider: Callable[[], Location] | None = None
_host_provider: Callable[[], Location] | None = None


def default_location() -> Location:
    """The default view of the default accelerator; AmpError if there is no provider for it."""
    if _default_provider is None:
        raise AmpError("there is no default accelerator_view, because no accelerator was found")
    return _default_provider()


def set_location_provider(provider: Callable[[], Location]) -> None:
    """Make ``provider`` answer :func:`default_location`."""
    global _default_provider
    _default_provider = provider


def host_location() -> Location:
    """The default view of ``accelerator("cpu")``; AmpError if there is no provider for it."""
    if _host_provider is None:
        raise AmpError('no accelerators: nothing provides the view of accelerator("cpu")')
    return _host_provider()


def set_host_location_provider(provider: Callable[[], Location]) -> None:
    """Make ``provider`` answer :func:`host_location`."""
    global _host_provider
    _host_provider = provider
