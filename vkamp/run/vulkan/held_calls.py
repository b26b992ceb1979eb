"""Functions of Vulkan that return within microseconds, called without giving the interpreter's lock away.

The package ``vulkan`` gives the lock away in each call. While other threads copy, it takes some 25 us to get it back,
so that threads that start many copies would wait for each other most of the time.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vkamp.run.vulkan.api import Api

_ADDRESS, _NUMBER, _SIZE = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64
_PARAMETERS: dict[str, tuple[Any, ...]] = {
    "BeginCommandBuffer": (_ADDRESS, _ADDRESS),
    "CmdCopyBuffer": (_ADDRESS, _ADDRESS, _ADDRESS, _NUMBER, _ADDRESS),
    "CmdPipelineBarrier": (_ADDRESS, *[_NUMBER] * 4, _ADDRESS, _NUMBER, _ADDRESS, _NUMBER, _ADDRESS),
    "EndCommandBuffer": (_ADDRESS,),
    "GetFenceStatus": (_ADDRESS, _ADDRESS),
    "QueueSubmit": (_ADDRESS, _NUMBER, _ADDRESS, _ADDRESS),
    "ResetFences": (_ADDRESS, _NUMBER, _ADDRESS),
}


class HeldCalls:
    """Functions of a device as attributes without ``vk``. Their arguments are numbers; those of handles and pointers
    are what :meth:`address` returns."""

    def __init__(self, api: Api) -> None:
        self._ffi = api.ffi
        self.device = self.address(api.device)
        for name, parameters in _PARAMETERS.items():
            result = None if name.startswith("Cmd") else ctypes.c_int
            function = api.vk.lib.vkGetDeviceProcAddr(api.device, f"vk{name}".encode())
            setattr(self, name, ctypes.PYFUNCTYPE(result, *parameters)(self.address(function)))

    def address(self, pointer: Any) -> int:
        """The address in a pointer or handle of the package ``vulkan``, which keeps nothing alive."""
        return int(self._ffi.cast("uintptr_t", pointer))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
