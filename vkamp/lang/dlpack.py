"""Export of host memory to other libraries through DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: DLPack's identifier of host memory: kDLCPU, device 0.
HOST_DEVICE = (1, 0)


def export(elements: NDArray[Any], wanted: dict[str, Any]) -> Any:
    """A DLPack capsule of ``elements``; ``wanted`` holds the consumer's keywords (``stream``, ``max_version``,
    ``dl_device``, ``copy``).

    BufferError for structs, for another device, for a stream, and for read-only memory if the consumer's version of the
    protocol cannot express it.
    """
    if elements.dtype.names is not None:
        raise BufferError("DLPack has no structs: export a view of one member, or .reinterpret_as(...) of the elements")
    if wanted.get("stream") is not None:
        raise BufferError("host memory has no streams")
    if tuple(wanted.get("dl_device") or HOST_DEVICE) != HOST_DEVICE:
        raise BufferError(f"DLPack exports host memory, {HOST_DEVICE}, not {tuple(wanted['dl_device'])}")
    if wanted.get("copy"):
        elements = np.array(elements)
    version = wanted.get("max_version")
    if version is None or int(np.__version__.split(".")[0]) < 2:
        # The protocol's first version, and numpy before 2, have no read-only memory.
        if not elements.flags.writeable:
            raise BufferError("DLPack cannot export read-only memory to this consumer: export np.array(...) of it")
        return elements.__dlpack__()
    exporter: Any = elements  # numpy's stubs before version 2 lack the keywords.
    return exporter.__dlpack__(max_version=version)
