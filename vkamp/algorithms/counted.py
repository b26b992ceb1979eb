"""``counted``: the elements that an algorithm has found; only the device knows how many."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import vkamp as amp
from vkamp.algorithms.scalars import device_scalar
from vkamp.lang.dtypes import components
from vkamp.tracebacks import entry_point


@entry_point
class counted:
    """The first ``count`` elements of an array on the device: the result of a selection.

    ``.view`` is a view of the array, ``.values``, which has room for the largest possible result; its elements after
    the count are undefined. ``.count`` is a :class:`device_scalar`. ``len()``, ``np.asarray()`` and ``.trim()`` wait
    for the count. If the array has several dimensions, the count is that of its lines along ``axis``.
    """

    __slots__ = ("_axis", "_most", "count", "values")
    _vkamp_members = ("values", "count", "_most", "_axis")

    def __init__(self, values: Any, count: device_scalar, most: int = 0, axis: int = 0) -> None:
        self.values, self.count = values, count
        #: The largest possible count.
        self._most = most
        self._axis = axis

    @property
    def _room(self) -> int:
        """For how many elements the array has room."""
        found: int = self.values.extent[self._axis]
        return found

    def _first(self, n: int) -> Any:
        where = [slice(None)] * self._axis + [slice(n)]
        return self.view[tuple(where)]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        found: np.dtype[Any] = self.values.dtype
        return found

    @property
    def view(self) -> amp.array_view:
        """A view of all elements that there is room for; does not wait for the count."""
        return amp.array_view(self.values)

    def refuse_short(self) -> None:
        """Raises AmpError if there may be more elements than the array has room for; does not wait for the count."""
        if self._most > self._room:
            raise amp.AmpError(
                f"out has room for {self._room} of up to {self._most} elements, and algorithms do not wait to "
                "see whether it suffices: select into an out with room for all, or pass .trim(), which waits for the "
                "count"
            )

    def __len__(self) -> int:
        n = int(self.count)
        if n > self._room:
            raise amp.AmpError(f"{n} elements were found, but out has room for {self._room}")
        return n

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The elements in host memory; waits for the count."""
        n = len(self)
        if n == 0:
            shape = [0 if at == self._axis else size for at, size in enumerate(self.values.extent)]
            nothing = components(np.zeros(shape, self.dtype))
            return nothing if dtype is None else nothing.astype(dtype)
        found: NDArray[Any] = np.asarray(self._first(n))
        return found if dtype is None else found.astype(dtype)

    def trim(self) -> Any:
        """A view of the elements that were found; waits for the count.

        AmpError if there are none, because containers are not empty.
        """
        n = len(self)
        if n == 0:
            raise amp.AmpError("no element was found, but a view has at least one: test len() first")
        return self._first(n)

    def __repr__(self) -> str:
        return f"<counted, at most {self._room} {self.dtype}>"


def of_one_count(first: counted, second: counted) -> tuple[counted, counted]:
    """The results of a call, both of which have the count of the first one, so that functions take them together."""
    return first, counted(second.values, first.count, second._most, second._axis)
