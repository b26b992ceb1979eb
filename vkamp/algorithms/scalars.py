"""``device_scalar``: one number or struct on a device, such as a sum, for which the host need not wait."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vkamp as amp
from vkamp.tracebacks import entry_point

__all__ = ["device_scalar"]


@entry_point
class device_scalar:
    """One element on a device: the result of a reduction.

    ``.view`` is a view of it (extent 1) for kernels and algorithms, which read it without waiting. ``int()``,
    ``float()``, ``complex()``, ``bool()``, ``.item()``, ``np.asarray()`` and comparisons wait for it; ``await scalar``
    returns the number in asynchronous programs. Errors of the launches that compute it are raised where its value is
    read.
    """

    __slots__ = ("_dtype", "view")
    _vkamp_members = ("view", "_dtype")

    def __init__(self, view: Any, dtype: np.dtype[Any] | None = None) -> None:
        self.view = amp.array_view(view, readonly=True)
        self._dtype = view.dtype if dtype is None else dtype

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the element: bool for conditions, which memory stores as uint8."""
        return self._dtype

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """An array of no dimensions; waits."""
        values: NDArray[Any] = np.array(np.asarray(self.view)[0], self._dtype if dtype is None else dtype)
        return values

    def item(self) -> Any:
        """The element as a number of Python, or as a tuple of its fields; waits."""
        return np.asarray(self).item()

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self._dtype.kind not in "iu":
            raise TypeError(f"a device_scalar of {self._dtype} is no index")
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __eq__(self, other: object) -> Any:
        return self.item() == (other.item() if isinstance(other, device_scalar) else other)

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Any) -> Any:
        return self.item() < other

    def __le__(self, other: Any) -> Any:
        return self.item() <= other

    def __gt__(self, other: Any) -> Any:
        return self.item() > other

    def __ge__(self, other: Any) -> Any:
        return self.item() >= other

    def __await__(self) -> Generator[Any, None, Any]:
        return asyncio.get_running_loop().run_in_executor(None, self.item).__await__()

    def __repr__(self) -> str:
        return f"<device_scalar of {self._dtype}>"
