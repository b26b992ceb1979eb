"""Detects host memory that changed behind its views, by comparing its contents after a launch with those at the next.

The runtime cannot see accesses to numpy's memory by its owner. Where launches are checked (check mode, the reference
accelerator), :func:`watch` keeps the host's bytes of everything that a device also holds, and :func:`changed_behind`
compares them at the next launch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkamp.lang.container import Container
from vkamp.lang.home import Home, Seen
from vkamp.lang.region import EMPTY, Layout, scatter
from vkamp.lang.views import array_view
from vkamp.records import dataclass


@dataclass(frozen=True)
class Changed:
    """The first element of a view that the host changed behind it, and its values.

    ``before``: after the previous launch; ``now``: in the host's memory; ``device``: a list with what a launch has
    written, or empty if the device holds the host's previous value.
    """

    index: tuple[int, ...]
    before: Any
    now: Any
    device: list[Any]


def watch(container: Container, name: str = "", place: tuple[str, int] = ("", 0)) -> None:
    """Keeps the host's contents of the parts of a view that a device also holds.

    With a ``name``, the end of the program warns, at the file and line ``place``, if results of launches have not come
    home by then.
    """
    if not (isinstance(container, array_view) and container._owned_by_host):
        return
    region = container._layout.region
    with container._lease as home:
        held = EMPTY
        for copy in home.copies.values():
            held |= region - copy.stale
        if home.seen is None:
            home.seen = Seen(home.stop - home.start)
        # Known contents stay: a changed element is found again until it is reported.
        home.look(held - home.undefined - home.seen.known)
        if name:
            home.seen.name, home.seen.place = name, place


def changed_behind(container: Container) -> Changed | None:
    """The first element that differs from what :func:`watch` kept; ``None`` if all are equal."""
    if not isinstance(container, array_view):
        return None
    layout = container._layout
    with container._lease as home:
        if home.seen is None or not home.seen.known.overlaps(layout.region):
            return None
        now, before = home.host(layout), layout.place(_expected(home, home.seen, layout), home.start)
        differs = np.any(_bytes(now) != _bytes(before), axis=-1)
        if not np.any(differs):
            return None
        index = tuple(int(i) for i in np.unravel_index(int(np.argmax(differs)), layout.shape))
        newest = home.read(layout)[index] if any(copy.pending for copy in home.copies.values()) else now[index]
        is_newer = bool(np.any(_bytes(np.asarray(newest)) != _bytes(np.asarray(now[index]))))
        return Changed(index, before[index], now[index], [newest] if is_newer else [])


def _expected(home: Home, seen: Seen, layout: Layout) -> NDArray[np.uint8]:
    """The kept bytes; bytes that were not kept are the present ones."""
    unknown = layout.region - seen.known
    if unknown:
        start, stop = unknown.start - home.start, unknown.stop - home.start
        scatter(seen.bytes[start:stop], home.image[start:stop], unknown, unknown.start)
    return seen.bytes


def _bytes(values: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of each element, along one more dimension."""
    dense = np.ascontiguousarray(values)
    return dense.reshape(*values.shape, 1).view(np.uint8)
