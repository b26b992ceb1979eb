"""Whether a container, or a part of its memory, is still referenced, according to CPython's reference counts.

Only for containers of a device's memory whose every holder is known.  What somebody else holds increases one of the
numbers: a container, a view of its memory (which holds the lease), or numpy's view of its host image.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from vkamp.lang.container import Container
from vkamp.lang.host_memory import Lease
from vkamp.lang.views import array_view

#: The reference of the list or the attribute, and that of the call of `getrefcount`.
_OWN = 2


class _Holder:
    def __init__(self) -> None:
        self.held = object()


def _references(held: object) -> int:
    return sys.getrefcount(held)


#: How many references a call adds to those of an attribute: versions of Python differ.
_holder = _Holder()
_OF_CALL = _references(_holder.held) - 1


def is_unused(containers: Sequence[Container]) -> bool:
    """Whether only ``containers``, a list that holds each of them once, refers to them and to parts of their memory."""
    for k in range(len(containers)):
        if sys.getrefcount(containers[k]) > _OWN:
            return False
    for each in containers:
        binding = each._binding
        known = _OWN if binding is None or binding.lease is not each._lease else _OWN + 1
        # Usually nothing else refers to the lease, and the host has seen nothing.
        is_alone = sys.getrefcount(each._lease) <= known and each._lease.home._image is None
        if not is_alone and not _is_unused(containers, each._lease):
            return False
    return True


def _is_unused(containers: Sequence[Container], lease: Lease) -> bool:
    known = _OF_CALL
    for each in containers:
        if each._lease is lease:
            known += 1
            binding = each._binding
            if binding is not None and binding.lease is lease:
                known += 1
    if sys.getrefcount(lease) > known:
        return False
    image = lease.home._image
    if image is None:
        return True
    sharing = [each for each in containers if each._lease is lease]
    seen = [each for each in sharing if getattr(each, "_elements", None) is not None]
    if any(sys.getrefcount(each._elements) > _OWN for each in seen):  # type: ignore[attr-defined]
        return False
    # The variable, the attribute, and the call.
    return sys.getrefcount(image) <= len(seen) + _OWN + 1


def another(lease: Lease) -> Lease:
    """A lease of the same memory, which keeps it and counts as no use of it."""
    return Lease(lease.home, lease._cell)


def uncounted(view: array_view) -> array_view:
    """A view that a library keeps for its next calls, made to count as no use of an array's memory.

    For host memory, whose uses are not counted, the view is unchanged.
    """
    lease = view._lease
    if lease.home.primary is not None:
        view._lease, view._binding = another(lease), None
    return view
