"""Views of other libraries' memory, by the name that array libraries share."""

from __future__ import annotations

from typing import Any

from vkamp.lang.container import Container
from vkamp.lang.device_memory import CUDA_KINDS, take_device
from vkamp.lang.dlpack import import_memory
from vkamp.lang.storage import Location, default_location
from vkamp.lang.views import array_view
from vkamp.tracebacks import entry_point


@entry_point
def from_dlpack(
    source: Any,
    /,
    *,
    readonly: bool = False,
    copy: bool | None = None,
    accelerator_view: Location | None = None,
) -> array_view:
    """A view of the elements of an object with ``__dlpack__``.

    ``source``: for example a tensor of PyTorch, or an array of another library. The view has its shape and strides, and
    its dtype; bfloat16 needs the package ml_dtypes.

    Host memory is never copied: the view is of that memory, which stays alive with the view and the views of it. What
    kernels write is in the source after :meth:`array_view.synchronize`; what the source's library writes later needs
    :meth:`array_view.refresh`. Memory that is marked as read-only gives a read-only view; exporters of DLPack's first
    version cannot mark it, and ``readonly=True`` does.

    The memory of CUDA's devices is not copied if it belongs to a container of vkamp, which was exported: then the view
    is of that container. Memory that CUDA has allocated cannot be imported: the view is of a copy on
    ``accelerator_view`` (by default that of the default accelerator), made by the device, and ``explain()`` says so.
    With ``copy=False`` this is a BufferError, and ``copy=True`` always copies; host memory is never copied here.

    A container of vkamp gives a view of its elements, which an ``array`` has on its device.

    TypeError if the object does not export its elements, if they are in the memory of a device that is none of CUDA's,
    or if their type is none of numpy's or bfloat16; AmpError for a tensor without dimensions or elements, and for one
    on a device that the accelerator is not; UnsupportedFeatureError for elements that only some devices support, as
    :class:`array_view`.
    """
    if isinstance(source, Container):
        return array_view(source, readonly=readonly or source.readonly)
    if not hasattr(source, "__dlpack__") or not hasattr(source, "__dlpack_device__"):
        raise TypeError(
            f"from_dlpack takes an object with __dlpack__ and __dlpack_device__, got {type(source).__name__}: "
            "array_view(...) takes memory by other protocols"
        )
    if int(source.__dlpack_device__()[0]) in CUDA_KINDS:
        location = accelerator_view or default_location()
        lease, layout, is_fixed = take_device(source, location, copy=copy)
        return array_view._at(lease, layout, readonly=readonly or is_fixed)
    if copy:
        raise TypeError("from_dlpack copies no host memory: write array(...) for a copy on a device")
    found = import_memory(source)
    return array_view(found, readonly=readonly or not found.flags.writeable)
