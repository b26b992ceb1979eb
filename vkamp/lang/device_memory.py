"""Containers in the memory of a device, to and from other libraries that use the same memory: DLPack, and CUDA's array
interface.

An exported capsule is the one that numpy creates for an array at the device's address, which the host never reads. Only
the capsule's device is replaced. Like every capsule of numpy it frees itself in C at any time.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vkamp.errors import AmpError
from vkamp.ir.types import BFLOAT16
from vkamp.lang.dlpack import DeviceTensor, device_tensor, export, mark_device
from vkamp.lang.dtypes import components
from vkamp.lang.home import Home
from vkamp.lang.host_memory import Lease
from vkamp.lang.region import Layout
from vkamp.lang.storage import ExternalMemory, Location, external_memory

if TYPE_CHECKING:
    from vkamp.lang.container import Container

#: kDLCUDA and kDLCUDAManaged.
CUDA_KINDS = (2, 13)


class _Span:
    """Elements at an address of a device, as numpy's array interface describes them; ``keep`` is what they need."""

    def __init__(self, interface: dict[str, Any], keep: object) -> None:
        self.__array_interface__ = interface
        self.keep = keep


class _Known(NamedTuple):
    home: weakref.ref[Home]
    external: ExternalMemory
    nbytes: int


class _Exported:
    """The homes that other libraries use, by their numbers."""

    def __init__(self) -> None:
        self._known: dict[int, _Known] = {}

    def add(self, home: Home, external: ExternalMemory) -> None:
        if home.id not in self._known:
            weakref.finalize(home, self._known.pop, home.id, None).atexit = False
            self._known[home.id] = _Known(weakref.ref(home), external, home.stop - home.start)

    def find(self, device: tuple[int, int], address: int) -> tuple[Home, int, ExternalMemory] | None:
        """The home that holds an address, the address's position in it, and its memory."""
        for known in list(self._known.values()):
            home, start = known.home(), known.external.address
            if home is not None and known.external.device == device and start <= address < start + known.nbytes:
                return home, home.start + address - start, known.external
        return None


_exported = _Exported()


def external_of(container: Container) -> ExternalMemory | str:
    """The memory of a container's device, if the container belongs there and another library can use it; otherwise the
    reason why not."""
    with container._lease as home:
        if home.primary is None:
            return "its elements belong to host memory"
        return home.external()


def _elements(container: Container, external: ExternalMemory, keep: object) -> NDArray[Any]:
    """The elements at the device's address; only their address, shape and strides may be used."""
    layout = container._layout
    is_bfloat16 = layout.dtype == BFLOAT16.dtype if layout.dtype.name == "bfloat16" else False
    dtype = np.dtype(np.uint16) if is_bfloat16 else layout.dtype
    with container._lease as home:
        assert home.primary is not None
        offset = layout.offset - home.copies[home.primary].origin
    interface = {
        "version": 3,
        "typestr": dtype.str,
        "descr": dtype.descr,
        "shape": layout.shape,
        "strides": None if layout.is_dense else layout.strides,
        "data": (external.address + offset, container.readonly),
    }
    found = np.asarray(_Span(interface, keep))
    if is_bfloat16:
        return found.view(layout.dtype)
    return components(found.view(layout.dtype))


def _lend(container: Container, external: ExternalMemory, stream: int | None, what: str) -> object:
    """Makes the elements current for another library, after the work that writes them and in order with a stream of
    that library, until the result is deleted."""
    with container._lease as home:
        home.export(container._layout.region, written=not container.readonly)
        lent = external.lend(stream)
        _exported.add(home, external)
        home.note_export(
            f"used through {what} by DLPack's device {external.device}: not copied, ordered {external.order}"
        )
    return lent


def export_device(container: Container, external: ExternalMemory, wanted: dict[str, Any]) -> Any:
    """A DLPack capsule of a container's elements in the memory of its device; ``wanted``: the consumer's keywords.

    BufferError for a copy, and as :func:`export`.
    """
    if wanted.get("copy"):
        raise BufferError("a copy is not exported to a device: export a copy of the container, array(...)")
    plain = {name: value for name, value in wanted.items() if name not in ("stream", "dl_device")}
    lent = _lend(container, external, wanted.get("stream"), "DLPack")
    # The home is kept, too, so that the consumer's tensor can come back as a view of it.
    elements = _elements(container, external, (lent, container._lease))
    return mark_device(export(elements, plain), external.device)


#: What was lent through CUDA's array interface, which has no end: as long as the home exists.
_interfaces: weakref.WeakKeyDictionary[Home, object] = weakref.WeakKeyDictionary()


def cuda_interface(container: Container, external: ExternalMemory) -> dict[str, Any]:
    """``__cuda_array_interface__`` of a container, version 3. The consumer keeps the container."""
    _interfaces.setdefault(container._lease.home, _lend(container, external, None, "CUDA's array interface"))
    found = _elements(container, external, None).__array_interface__
    return {key: found[key] for key in ("shape", "typestr", "descr", "data", "strides")} | {"version": 3, "stream": 1}


def take_device(source: Any, location: Location, *, copy: bool | None) -> tuple[Lease, Layout, bool]:
    """The elements of a tensor in the memory of a device, as a lease of a home with a layout, and whether they must not
    be written: of the home that the memory belongs to, otherwise of a new home with a copy, made on the device.

    TypeError if the location cannot use it, AmpError if it is another device, BufferError if ``copy`` is False and a
    copy is necessary.
    """
    name, (kind, number) = type(source).__name__, source.__dlpack_device__()
    # The smallest storage shows whether the location can use the memory of CUDA at all.
    reason = external_memory(location.allocate(4))
    if isinstance(reason, str):
        raise TypeError(
            f"{name} is in the memory of a device (DLPack {int(kind)}, {number}), which {location!r} cannot use: "
            f"{reason}. Copy it to host memory, for example by .cpu(), and keep the copy"
        )
    tensor = device_tensor(source, stream=1)
    known = None if copy else _exported.find(tensor.device, tensor.address)
    if known is not None:
        home, start, external = known
        external.follow()
        return Lease(home), Layout(start, tensor.shape, tensor.strides, tensor.dtype), tensor.readonly
    if copy is False:
        raise BufferError(
            f"{name} is in memory that CUDA has allocated, which Vulkan cannot import: without "
            "copy=False it is copied on the device"
        )
    return (*_copied(source, tensor, location), False)


def _copied(source: Any, tensor: DeviceTensor, location: Location) -> tuple[Lease, Layout]:
    """A copy of a tensor in a new home."""
    name = type(source).__name__
    layout = Layout(0, tensor.shape, tensor.strides, tensor.dtype)
    steps = sorted(zip(tensor.strides, tensor.shape, strict=True), reverse=True)
    shape, strides = tuple(size for _, size in steps), tuple(stride for stride, _ in steps)
    if not Layout(0, shape, strides, tensor.dtype).is_dense:  # in whichever order its dimensions are
        raise AmpError(f"{name} has gaps between its elements: write from_dlpack(tensor.contiguous())")
    home = Home(0, layout.bounds[1], primary=location)
    external = home.external()
    assert not isinstance(external, str)
    if external.device[1] != tensor.device[1]:
        raise AmpError(
            f"{name} is on CUDA's device {tensor.device[1]}, and {location!r} is CUDA's device {external.device[1]}"
        )
    region = layout.region
    with home:
        external.take(tensor.address, region.nbytes)
        home.written_on(home.copies[location], region)
        home.log.add("to", location, region, region.nbytes, "copied on the device from memory that CUDA has allocated")
    return Lease(home), layout
