"""``device_scalar``: one number or struct on a device, such as a sum, for which the host need not wait."""

from __future__ import annotations

import asyncio
import numbers
import operator
from collections.abc import Callable, Generator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

import vkamp as amp
from vkamp.lang.container import newest
from vkamp.tracebacks import entry_point


def _of_numbers(operation: Callable[[Any, Any], Any]) -> Callable[[device_scalar, Any], Any]:
    """An operation of two numbers, as a method."""

    def method(self: device_scalar, other: Any) -> Any:
        if isinstance(other, device_scalar):
            other = other.item()
        elif not isinstance(other, numbers.Number):
            return NotImplemented
        return operation(self.item(), other)

    return method


def _reflected(operation: Callable[[Any, Any], Any]) -> Callable[[device_scalar, Any], Any]:
    return _of_numbers(lambda a, b: operation(b, a))


@entry_point
class device_scalar:
    """One element on a device: the result of a reduction.

    Kernels take it as a number, which they read on the device, without waiting: as an argument, or captured by the
    kernel or by a function that is given to an algorithm. ``.view`` is a readonly view of it (extent 1). ``int()``,
    ``float()``, ``complex()``, ``bool()``, ``.item()``, ``np.asarray()``, formats such as ``f"{scalar:.2f}"``,
    comparisons, and arithmetic with numbers wait for it; ``await scalar`` returns the number in asynchronous programs.
    Reading the value raises the errors of the launches that compute it.
    """

    __slots__ = ("_dtype", "view")
    _vkamp_members = ("view", "_dtype")
    _vkamp_element = "view"

    def __init__(self, view: Any, dtype: np.dtype[Any] | None = None) -> None:
        self.view = amp.array_view(view, readonly=True)
        self._dtype = view.dtype if dtype is None else dtype

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the element: bool for conditions, which memory stores as uint8."""
        return self._dtype

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """An array of no dimensions, or of the components of a vector; waits."""
        # A copy: nothing changes that launches depend on, so that a loop whose condition reads it stays fast.
        found = newest(self.view)[0]
        if dtype is None:
            dtype = self._dtype if found.dtype == self.view.dtype else found.dtype  # else a vector's components
        values: NDArray[Any] = np.array(found, dtype)
        return values

    def item(self) -> Any:
        """The element as a number of Python, or as a tuple of its fields or components; waits."""
        found = np.asarray(self)
        return tuple(found.tolist()) if found.ndim else found.item()

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self._dtype.kind not in "iu":
            raise TypeError(f"a device_scalar of {self._dtype} cannot be an index")
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __eq__(self, other: object) -> Any:
        return self.item() == (other.item() if isinstance(other, device_scalar) else other)

    __add__, __radd__ = _of_numbers(operator.add), _reflected(operator.add)
    __sub__, __rsub__ = _of_numbers(operator.sub), _reflected(operator.sub)
    __mul__, __rmul__ = _of_numbers(operator.mul), _reflected(operator.mul)
    __truediv__, __rtruediv__ = _of_numbers(operator.truediv), _reflected(operator.truediv)
    __floordiv__, __rfloordiv__ = _of_numbers(operator.floordiv), _reflected(operator.floordiv)
    __mod__, __rmod__ = _of_numbers(operator.mod), _reflected(operator.mod)
    __pow__, __rpow__ = _of_numbers(operator.pow), _reflected(operator.pow)

    def __hash__(self) -> NoReturn:
        raise TypeError(
            "a device_scalar has no hash, since its value may change: use its value, int(s) or float(s); for "
            "asyncio.gather, write asyncio.ensure_future(s)"
        )

    def __lt__(self, other: Any) -> Any:
        return self.item() < other

    def __le__(self, other: Any) -> Any:
        return self.item() <= other

    def __gt__(self, other: Any) -> Any:
        return self.item() > other

    def __ge__(self, other: Any) -> Any:
        return self.item() >= other

    def __neg__(self) -> Any:
        return -self.item()

    def __abs__(self) -> Any:
        return abs(self.item())

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.item(), digits)

    def __format__(self, form: str) -> str:
        return format(self.item(), form)

    def __str__(self) -> str:
        return str(self.item())

    def __await__(self) -> Generator[Any, None, Any]:
        return asyncio.get_running_loop().run_in_executor(None, self.item).__await__()

    def __repr__(self) -> str:
        return f"<device_scalar of {self._dtype}>"
