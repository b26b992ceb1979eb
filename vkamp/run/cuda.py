"""CUDA's half of memory that Vulkan and CUDA share: the memory and the semaphores of a Vulkan device, imported by the
package ``cuda-bindings``, which is loaded when a program first shares memory.

Streams are handles of CUDA's driver; 1 is the legacy default stream, and 2 that of the calling thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from vkamp.errors import UnsupportedFeatureError

#: DLPack's number of CUDA's devices: kDLCUDA.
CUDA = 2
#: The legacy default stream.
DEFAULT_STREAM = 1
_INSTALL = 'install it with: pip install "vkamp[cuda]"'


class CudaError(Exception):
    """An error that a function of CUDA's driver returned."""


def _driver() -> Any:
    """The module of CUDA's driver; UnsupportedFeatureError if it is missing or does not work."""
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise UnsupportedFeatureError(f"the package cuda-bindings is missing: {_INSTALL} ({error})") from None
    try:
        status = driver.cuInit(0)[0]
    except (RuntimeError, OSError) as error:
        raise UnsupportedFeatureError(f"CUDA's driver cannot be loaded: {error}") from error
    if int(status) != 0:
        raise UnsupportedFeatureError(f"CUDA's driver does not start: cuInit gave {_name(status)}")
    return driver


def _name(status: Any) -> str:
    return getattr(status, "name", None) or f"the error {int(status)}"


class CudaDevice:
    """A device of CUDA, in the context that other libraries use (the primary one). ``number``: CUDA's."""

    def __init__(self, uuid: str) -> None:
        """The device with this UUID, of 32 hexadecimal digits; UnsupportedFeatureError if CUDA has none."""
        self._cuda = _driver()
        try:
            found = self._find(uuid)
            if found is None:
                raise UnsupportedFeatureError(f"CUDA has no device with the UUID {uuid}")
            self.number, self._device = found
            self._context = self._call("cuDevicePrimaryCtxRetain", self._device)
        except CudaError as error:
            raise UnsupportedFeatureError(f"CUDA cannot use the device: {error}") from error

    def _find(self, uuid: str) -> tuple[int, Any] | None:
        for number in range(int(self._call("cuDeviceGetCount"))):
            device = self._call("cuDeviceGet", number)
            if bytes(self._call("cuDeviceGetUuid", device).bytes).hex() == uuid:
                return number, device
        return None

    def _call(self, function: str, *arguments: Any) -> Any:
        """What a function of the driver returns beside its status; CudaError for an error."""
        status, *found = getattr(self._cuda, function)(*arguments)
        if int(status) != 0:
            raise CudaError(f"{function} gave {_name(status)}")
        return found[0] if found else None

    @contextmanager
    def _current(self) -> Iterator[None]:
        """In this block the device's context is the thread's."""
        self._call("cuCtxPushCurrent", self._context)
        try:
            yield
        finally:
            self._call("cuCtxPopCurrent")

    def import_memory(self, descriptor: int, nbytes: int) -> CudaMemory:
        """An allocation of Vulkan as CUDA's memory. The file descriptor is closed in any case."""
        cuda = self._cuda
        wanted = cuda.CUDA_EXTERNAL_MEMORY_HANDLE_DESC()
        wanted.type = cuda.CUexternalMemoryHandleType.CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD
        wanted.handle.fd = descriptor
        wanted.size = nbytes
        whole = cuda.CUDA_EXTERNAL_MEMORY_BUFFER_DESC()
        whole.size = nbytes
        with self._current():
            memory = self._taking(descriptor, "cuImportExternalMemory", wanted)
            try:
                address = int(self._call("cuExternalMemoryGetMappedBuffer", memory, whole))
            except CudaError:
                self._call("cuDestroyExternalMemory", memory)
                raise
        return CudaMemory(self, memory, address)

    def import_semaphore(self, descriptor: int) -> Any:
        """A timeline semaphore of Vulkan as CUDA's. The file descriptor is closed in any case."""
        cuda = self._cuda
        wanted = cuda.CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC()
        kinds = cuda.CUexternalSemaphoreHandleType
        wanted.type = kinds.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD
        wanted.handle.fd = descriptor
        with self._current():
            return self._taking(descriptor, "cuImportExternalSemaphore", wanted)

    def _taking(self, descriptor: int, function: str, wanted: Any) -> Any:
        """Imports a file descriptor, which belongs to the driver if it succeeds."""
        try:
            return self._call(function, wanted)
        except BaseException:
            os.close(descriptor)
            raise

    def free_memory(self, memory: Any, address: int) -> None:
        """Ends the use of imported memory, after all work of CUDA on it."""
        with self._current():
            self._call("cuMemFree", address)
            self._call("cuDestroyExternalMemory", memory)

    def destroy_semaphore(self, semaphore: Any) -> None:
        """Ends the use of an imported semaphore."""
        with self._current():
            self._call("cuDestroyExternalSemaphore", semaphore)

    def signal(self, semaphore: Any, value: int, stream: int) -> None:
        """Sets an imported semaphore to ``value`` after the work that a stream has."""
        parameters = self._cuda.CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS()
        parameters.params.fence.value = value
        with self._current():
            self._call("cuSignalExternalSemaphoresAsync", [semaphore], [parameters], 1, self._stream(stream))

    def wait(self, semaphore: Any, value: int, stream: int) -> None:
        """Makes the later work of a stream wait until an imported semaphore has reached ``value``."""
        parameters = self._cuda.CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS()
        parameters.params.fence.value = value
        with self._current():
            self._call("cuWaitExternalSemaphoresAsync", [semaphore], [parameters], 1, self._stream(stream))

    def is_idle(self, stream: int) -> bool:
        """Whether a stream has no work."""
        with self._current():
            status = int(self._cuda.cuStreamQuery(self._stream(stream))[0])
        return status == 0

    def synchronize(self, stream: int) -> None:
        """Waits on the host for the work that a stream has."""
        with self._current():
            self._call("cuStreamSynchronize", self._stream(stream))

    def synchronize_all(self) -> None:
        """Waits on the host for all work of the context."""
        with self._current():
            self._call("cuCtxSynchronize")

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copies bytes between two addresses of the device, after the work of the legacy default stream; waits for
        the end."""
        with self._current():
            self._call("cuMemcpyDtoDAsync", target, source, nbytes, self._stream(DEFAULT_STREAM))
            self._call("cuStreamSynchronize", self._stream(DEFAULT_STREAM))

    def _stream(self, stream: int) -> Any:
        return self._cuda.CUstream(stream)


class CudaMemory:
    """An allocation of Vulkan, mapped at ``address`` of CUDA's addresses."""

    def __init__(self, device: CudaDevice, memory: Any, address: int) -> None:
        self._device = device
        self._memory = memory
        self.address = address

    def free(self) -> None:
        """Unmaps it, after all work of CUDA on it."""
        self._device.free_memory(self._memory, self.address)


#: The devices by UUID; they live as long as the process, as CUDA's primary contexts do.
_devices: dict[str, CudaDevice] = {}


def cuda_device(uuid: str) -> CudaDevice:
    """CUDA's device with a UUID; UnsupportedFeatureError with the reason if CUDA cannot use it."""
    found = _devices.get(uuid)
    if found is None:
        found = _devices[uuid] = CudaDevice(uuid)
    return found
