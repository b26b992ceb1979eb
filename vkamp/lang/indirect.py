"""``indirect``: the domain of a launch whose number of threads is in device memory."""

from __future__ import annotations

from typing import Any, NoReturn, SupportsIndex

import numpy as np

from vkamp.lang.container import Container, is_integer
from vkamp.tracebacks import entry_point

#: The largest extent.
_MOST = 2**31 - 1


@entry_point
class indirect:
    """A domain of rank 1 whose number of threads is read from device memory when the launch runs.

    ``indirect(count)`` is for ``parallel_for_each``, which then need not wait for the number.  ``count`` is a
    ``counted`` or ``device_scalar`` of :mod:`vkamp.algorithms`, or a container with one int32 or uint32 element.
    ``indirect(count).tile(size)`` has tiles of ``size`` threads: the number of threads is rounded up to whole tiles, as
    by ``pad()``, and the kernel tests its index.

    ``at_most``: the maximum number of threads; by default the capacity of a ``counted``, else 2^31 - 1.
    A larger number counts as ``at_most``.  With 0, or a negative number, no thread runs.

    TypeError for any other ``count``, and for elements of another type; ValueError if ``at_most`` is below 1.
    """

    __slots__ = ("at_most", "count", "tile_size")
    _vkamp_members = ("count", "at_most", "tile_size")

    def __init__(self, count: Any, *, at_most: SupportsIndex | None = None) -> None:
        found, room = _container_of(count)
        if found.dtype not in (np.int32, np.uint32) or int(np.prod(tuple(found.extent))) != 1:
            _refuse(f"{int(np.prod(tuple(found.extent)))} elements of {found.dtype}")
        most = room if at_most is None else min(int(at_most), room)
        if most < 1:
            raise ValueError(f"at_most is {most}, and a launch has at least one thread")
        self.count = found
        self.at_most = most
        self.tile_size: int | None = None

    @property
    def rank(self) -> int:
        """The number of dimensions: 1."""
        return 1

    def tile(self, size: SupportsIndex) -> indirect:
        """The domain in tiles of ``size`` threads (AMP: ``extent.tile``)."""
        if not is_integer(size) or int(size) < 1:
            raise ValueError(f"a tile of an indirect launch has one size, 1 or more, not {size!r}")
        made = indirect(self.count, at_most=self.at_most)
        made.tile_size = int(size)
        return made

    def __repr__(self) -> str:
        tile = "" if self.tile_size is None else f".tile({self.tile_size})"
        return f"indirect({self.count!r}, at_most={self.at_most}){tile}"


def _container_of(count: Any) -> tuple[Container, int]:
    """The element that is the number, and the most threads."""
    room = _MOST
    values = getattr(count, "values", None)
    if isinstance(values, Container):
        # A `counted`: its count is a `device_scalar`.
        room, count = values.extent[0], count.count
    found = count if isinstance(count, Container) else getattr(count, "view", None)
    if not isinstance(found, Container):
        _refuse(type(count).__name__)
    return found, room


def _refuse(what: str) -> NoReturn:
    raise TypeError(
        "amp.indirect takes the number of threads from device memory: a counted, a device_scalar or a container with "
        f"one int32 or uint32 element, not {what}"
    )
