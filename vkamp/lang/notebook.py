"""Containers in a notebook: their type, the location of their newest elements, and the values in host memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from vkamp.display.page import block, heading
from vkamp.display.values import values_table
from vkamp.ir.types import VECTORS
from vkamp.lang.capturing import recorder
from vkamp.lang.home import Home
from vkamp.lang.region import Layout

if TYPE_CHECKING:
    from vkamp.lang.container import Container
    from vkamp.lang.storage import Location


#: The maximum number of bytes that are copied within the host for the table.
_MAX_COPIED = 16 << 20


def container_html(container: Container) -> str:
    """The container, and a table of its values if the host has them. Nothing waits or is copied from a device."""
    if recorder() is not None:
        return block([heading(repr(container), "not shown while launches are recorded")])
    with container._lease as home:
        place, values = _found(home, container._layout)
        vectors = frozenset(vector.dtype for vector in VECTORS.values())
        table = [] if values is None else [values_table(values, vectors)]
    return block([heading(repr(container), place), *table])


def _found(home: Home, layout: Layout) -> tuple[str, NDArray[Any] | None]:
    """A description of where the newest elements are, and the elements, if they can be read without a copy."""
    region = layout.region
    if home.undefined.overlaps(region):
        return ("not written yet" if home.undefined.covers(region) else "not all of it written yet"), None
    newest = [copy for copy in home.copies.values() if copy.pending.overlaps(region)]
    if not newest:
        return "in host memory", home.host(layout)
    names = " and ".join(dict.fromkeys(_name(copy.location) for copy in newest))
    (copy, *others) = newest
    if others or copy.location.runs_kernels or region.stop - region.start > _MAX_COPIED or copy.stale.overlaps(region):
        return f"on {names}, not fetched", None
    # The cpu accelerator stores in the host's memory.
    return f"on {names}", layout.place(copy.fetch(region), region.start)


def _name(location: Location) -> str:
    """The name of an accelerator for people."""
    accelerator = getattr(location, "accelerator", None)
    return str(getattr(accelerator, "description", location))
