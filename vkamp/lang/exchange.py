"""Views of other libraries' memory, by the name that array libraries share."""

from __future__ import annotations

from typing import Any

from vkamp.lang.container import Container
from vkamp.lang.dlpack import import_memory
from vkamp.lang.views import array_view
from vkamp.tracebacks import entry_point


@entry_point
def from_dlpack(source: Any, /, *, readonly: bool = False) -> array_view:
    """A view of the elements of an object with ``__dlpack__``, in its own host memory: nothing is copied.

    ``source``: for example a tensor of PyTorch in host memory, or an array of another library. The view has its shape
    and strides, and its dtype; bfloat16 needs the package ml_dtypes. The memory stays alive with the view and the views
    of it. What kernels write is in the source after :meth:`array_view.synchronize`; what the source's library writes
    later needs :meth:`array_view.refresh`. Memory that is marked as read-only gives a read-only view; exporters of
    DLPack's first version cannot mark it, and ``readonly=True`` does.  A container of vkamp gives a view of its
    elements, which an ``array`` has on its device.

    TypeError if the object does not export its elements, if they are in the memory of a device, or if their type is
    none of numpy's or bfloat16; AmpError for a tensor without dimensions or elements; UnsupportedFeatureError for
    elements that only some devices support, as :class:`array_view`.
    """
    if isinstance(source, Container):
        return array_view(source, readonly=readonly or source.readonly)
    if not hasattr(source, "__dlpack__") or not hasattr(source, "__dlpack_device__"):
        raise TypeError(
            f"from_dlpack takes an object with __dlpack__ and __dlpack_device__, got {type(source).__name__}: "
            "array_view(...) takes memory by other protocols"
        )
    found = import_memory(source)
    return array_view(found, readonly=readonly or not found.flags.writeable)
