"""The host memory of arrays on the accelerator that only stores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vkamp.errors import AmpError, OutOfMemoryError
from vkamp.lang.region import ByteSet, scatter
from vkamp.run.queue import taken


class HostStorage:
    """Memory of the ``"cpu"`` accelerator: numpy's."""

    __slots__ = ("_bytes",)

    def __init__(self, nbytes: int) -> None:
        try:
            self._bytes: NDArray[np.uint8] = np.zeros(nbytes, np.uint8)
        except MemoryError as error:
            raise OutOfMemoryError(
                f"the host cannot allocate {nbytes} bytes for an array of the cpu accelerator"
            ) from error

    @property
    def nbytes(self) -> int:
        return self._bytes.nbytes

    def upload(self, offset: int, data: NDArray[np.uint8], where: ByteSet | None = None) -> None:
        self._check(offset, data.nbytes)
        everything = ByteSet.interval(0, data.nbytes)
        scatter(self._bytes[offset : offset + data.nbytes], data, everything if where is None else where, 0)

    def download(
        self, offset: int, nbytes: int, where: ByteSet | None = None, out: NDArray[np.uint8] | None = None
    ) -> NDArray[np.uint8]:
        self._check(offset, nbytes)
        return taken(self._bytes[offset : offset + nbytes], where, out)

    def _check(self, offset: int, nbytes: int) -> None:
        if offset < 0 or nbytes < 0 or offset + nbytes > self.nbytes:
            raise AmpError(f"bytes {offset} to {offset + nbytes}: the memory has {self.nbytes}")
