"""Images of Pillow as ndarrays of their memory, through Arrow's C data interface (Pillow 11.2 and later)."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Arrow's formats of numbers, as numpy's.
_FORMATS = {b"C": "|u1", b"i": "<i4", b"f": "<f4"}
#: The modes of images whose channels are the first bytes of four.
_CHANNELS = {"RGB": 3, "YCbCr": 3, "LAB": 3, "HSV": 3, "RGBA": 4, "RGBa": 4, "RGBX": 4, "CMYK": 4}


class _Schema(ctypes.Structure):
    """ArrowSchema; all that follows is not read."""


_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
]


class _Array(ctypes.Structure):
    """ArrowArray; all that follows is not read."""


_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
]

_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class _Pixels:
    """The memory of an image, which the capsule keeps."""

    def __init__(self, interface: dict[str, Any], capsule: object) -> None:
        self.__array_interface__ = interface
        self.capsule = capsule


def is_image(source: Any) -> bool:
    """Whether an object is an image of Pillow that may export its memory."""
    return hasattr(source, "__arrow_c_array__") and hasattr(source, "getbands")


def _export_crashes(image: Any) -> bool:
    """Whether an export of the image would crash the process: versions of Pillow before 13 crash for images whose
    memory they have not allocated, such as those by ``Image.fromarray``."""
    return bool(image.readonly) and int(sys.modules["PIL"].__version__.partition(".")[0]) < 13


def image_memory(image: Any) -> NDArray[Any] | None:
    """The pixels of an image, read-only, in the image's memory, with the shape that ``np.asarray`` gives; None if its
    memory has another form, such as that of images of more than 16 MiB, which are in several blocks."""
    channels = _CHANNELS.get(image.mode, 1)
    if (channels == 1 and image.mode not in ("L", "P", "F", "I")) or _export_crashes(image):
        return None
    try:
        schema_capsule, capsule = image.__arrow_c_array__()
    except ValueError:
        return None
    schema = _Schema.from_address(_pointer(schema_capsule, b"arrow_schema"))
    found = _Array.from_address(_pointer(capsule, b"arrow_array"))
    width, height = image.size
    if channels > 1:
        if schema.format != b"+w:4" or schema.n_children != 1 or found.offset:
            return None
        schema, found = schema.children[0].contents, found.children[0].contents
    kind = _FORMATS.get(schema.format)
    of_pixel = 4 if channels > 1 else 1
    if kind is None or found.n_buffers != 2 or found.offset or found.length != width * height * of_pixel:
        return None
    interface = {"version": 3, "typestr": kind, "shape": (found.length,), "data": (found.buffers[1], True)}
    pixels = np.asarray(_Pixels(interface, capsule))
    return pixels.reshape(height, width, 4)[..., :channels] if channels > 1 else pixels.reshape(height, width)
