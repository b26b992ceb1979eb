"""Host memory to and from other libraries through DLPack, without copies.

Exports are numpy's, whose capsules free themselves in C at any time. Imports read the capsule here: numpy before 2
takes all memory as read-only and knows the first version of the protocol only, and no numpy takes bfloat16. The layout
of the structs is that of dlpack.h, version 1.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vkamp.errors import AmpError
from vkamp.ir.types import BFLOAT16

#: DLPack's identifier of host memory: kDLCPU, device 0.
HOST_DEVICE = (1, 0)
#: kDLCPU, kDLCUDAHost and kDLROCMHost: memory that the host can access, of its own or pinned for a device.
_HOST_KINDS = (1, 3, 11)
_VERSION = (1, 0)
_READ_ONLY = 1

_NUMPY = int(np.__version__.split(".")[0])
#: numpy's kinds by DLDataTypeCode, and the bits that an element of each has in a container.
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c"}
_BITS = {0: (8, 16, 32, 64), 1: (8, 16, 32, 64), 2: (16, 32, 64), 5: (64, 128)}
_BFLOAT, _BOOL = 4, 6


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


#: What frees a tensor, called with the GIL held, as numpy calls it.
_Deleter = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


class _ManagedTensor(ctypes.Structure):
    """DLManagedTensor, of the protocol's first version."""

    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]
    major, flags = 0, 0


class _ManagedVersioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


#: The name of a capsule, its name once somebody has taken the tensor, and the tensor's struct.
_CAPSULES: tuple[tuple[bytes, bytes, type[_ManagedTensor] | type[_ManagedVersioned]], ...] = (
    (b"dltensor_versioned", b"used_dltensor_versioned", _ManagedVersioned),
    (b"dltensor", b"used_dltensor", _ManagedTensor),
)

_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", ctypes.pythonapi))


def _managed(capsule: Any) -> tuple[Any, bytes]:
    """The struct in a capsule that nobody has taken, and the name that says that somebody has.

    TypeError if there is none.
    """
    for name, used, kind in _CAPSULES:
        if _is_valid(capsule, name):
            return kind.from_address(_pointer(capsule, name)), used
    raise TypeError(f"__dlpack__ returned a {type(capsule).__name__} without a tensor, or one that is used already")


# -- exports -------------------------------------------------------------------------------------------------------


def export(elements: NDArray[Any], wanted: dict[str, Any]) -> Any:
    """A DLPack capsule of ``elements``; ``wanted`` holds the consumer's keywords (``stream``, ``max_version``,
    ``dl_device``, ``copy``).

    Raises ``BufferError`` for structs, another device, a stream, elements that are not aligned to their size, and
        read-only memory in the first version of the protocol, which cannot express it. Consumers request that version
        with a ``max_version`` below 1 or none; numpy 1 supports no other. TypeError for other keywords.
    """
    unknown = wanted.keys() - {"stream", "max_version", "dl_device", "copy"}
    if unknown:
        raise TypeError(f"__dlpack__ takes no argument {min(unknown)!r}")
    if elements.dtype.names is not None:
        raise BufferError("DLPack has no structs: export a view of one member, or .reinterpret_as(...) of the elements")
    if wanted.get("stream") is not None:
        raise BufferError("host memory has no streams")
    if tuple(wanted.get("dl_device") or HOST_DEVICE) != HOST_DEVICE:
        raise BufferError(f"DLPack exports host memory, {HOST_DEVICE}, not {tuple(wanted['dl_device'])}")
    if wanted.get("copy"):
        elements = np.array(elements)
    is_bfloat16 = elements.dtype.name == "bfloat16"
    plain: Any = elements.view(np.uint16) if is_bfloat16 else elements  # numpy's stubs before 2 lack the keywords
    version = wanted.get("max_version")
    if _NUMPY >= 2 and version is not None and version[0] >= 1:
        capsule = plain.__dlpack__(max_version=version)
    elif elements.flags.writeable:
        capsule = plain.__dlpack__()
    else:
        raise BufferError("DLPack cannot export read-only memory to this consumer: export np.array(...) of it")
    if is_bfloat16:
        _managed(capsule)[0].tensor.dtype.code = _BFLOAT
    return capsule


def mark_device(capsule: Any, device: tuple[int, int]) -> Any:
    """A capsule of elements at an address of a device, which says so."""
    tensor = _managed(capsule)[0].tensor
    tensor.device_type, tensor.device_id = device
    return capsule


# -- imports -------------------------------------------------------------------------------------------------------


class _TensorMemory:
    """Another library's tensor; it is freed with the last array over it."""

    def __init__(self, managed: Any, interface: dict[str, Any]) -> None:
        self._address = ctypes.addressof(managed)
        self._deleter = _Deleter(managed.deleter) if managed.deleter else None
        self.__array_interface__ = interface

    def __del__(self) -> None:
        if self._deleter is not None:
            self._deleter(self._address)


def import_memory(source: Any) -> NDArray[Any]:
    """The elements of an object with ``__dlpack__``, in its memory, which lives as long as the result.

    It may be written, unless the tensor is marked as read-only; the protocol's first version has no such mark.
    TypeError if the elements are not numbers in host memory, or if the object does not export them.
    """
    name = type(source).__name__
    kind, number = source.__dlpack_device__()
    if int(kind) not in _HOST_KINDS:
        raise TypeError(
            f"{name} is in the memory of a device (DLPack {int(kind)}, {number}), which array_view "
            f"cannot access: copy it to host memory, for example by .cpu(), and keep the copy; "
            "from_dlpack(...) takes the memory of CUDA where the accelerator can"
        )
    try:
        capsule = _capsule(source)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise TypeError(
            f"{name} does not export its elements through DLPack: write np.array(...) of it and keep the result "
            f"({error})"
        ) from error
    managed, used = _managed(capsule)
    if managed.major > _VERSION[0]:
        raise TypeError(f"{name} exports its elements by version {managed.major} of DLPack, vkamp takes {_VERSION[0]}")
    dtype = _dtype_of(managed.tensor.dtype, name)
    interface = _interface(managed)
    _rename(capsule, used)
    found = np.asarray(_TensorMemory(managed, interface))
    return found if found.dtype == dtype else found.view(dtype)


class DeviceTensor(NamedTuple):
    """A tensor in the memory of a device. ``keep`` holds the memory; ``strides`` in bytes."""

    device: tuple[int, int]
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    readonly: bool
    keep: object


def device_tensor(source: Any, stream: int) -> DeviceTensor:
    """What an object with ``__dlpack__`` says of its elements in the memory of a device. The library's pending work on
    them finishes before later work of ``stream`` starts.

    TypeError as :func:`import_memory`; AmpError for a tensor without elements.
    """
    name = type(source).__name__
    kind, number = source.__dlpack_device__()
    capsule = _capsule(source, stream=stream)
    managed, used = _managed(capsule)
    dtype = _dtype_of(managed.tensor.dtype, name)
    interface = _interface(managed)
    _rename(capsule, used)
    memory = _TensorMemory(managed, interface)
    shape, strides = interface["shape"], interface["strides"]
    if not shape or 0 in shape:
        raise AmpError(f"{name} has the shape {shape}: a container has at least one dimension, and 1 element in each")
    if strides is None:
        strides = _dense_strides(shape, dtype.itemsize)
    address, readonly = interface["data"]
    return DeviceTensor((int(kind), int(number)), address, shape, strides, dtype, readonly, memory)


def _dense_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    strides = []
    for size in reversed(shape):
        strides.append(itemsize)
        itemsize *= size
    return tuple(reversed(strides))


def _capsule(source: Any, **options: Any) -> Any:
    try:
        return source.__dlpack__(max_version=_VERSION, **options)
    except TypeError as error:
        # Exporters of the protocol's first version lack the argument, and say so in words that have this one.
        if "argument" not in str(error):
            raise
        return source.__dlpack__(**options)


def _dtype_of(found: Any, name: str) -> np.dtype[Any]:
    code, bits = found.code, found.bits
    if found.lanes == 1:
        if bits in _BITS.get(code, ()):
            return np.dtype(f"{_KINDS[code]}{bits // 8}")
        if code == _BOOL and bits == 8:
            return np.dtype(np.bool_)
        if code == _BFLOAT and bits == 16:
            return BFLOAT16.dtype
    raise TypeError(
        f"{name} has elements that no container has (DLPack's type {code} of {bits} bits, {found.lanes} lanes): "
        "convert them, for example to float32"
    )


def _interface(managed: Any) -> dict[str, Any]:
    """numpy's array interface of a tensor; bfloat16's elements are those of uint16."""
    tensor = managed.tensor
    code, size = tensor.dtype.code, tensor.dtype.bits // 8
    kind = "u" if code == _BFLOAT else "b" if code == _BOOL else _KINDS[code]
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(stride * size for stride in tensor.strides[: tensor.ndim]) if tensor.strides else None
    return {
        "version": 3,
        "typestr": np.dtype(f"{kind}{size}").str,
        "shape": shape,
        "strides": strides,
        "data": ((tensor.data or 0) + tensor.byte_offset, bool(managed.flags & _READ_ONLY)),
    }
