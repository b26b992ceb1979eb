"""References to struct elements of a view on the host: ``v[i, j].field = x`` writes through."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vkamp.lang.dtypes import components, convert_scalar, dtype_name, without_vectors
from vkamp.lang.vectors import ShortVector, vector_class
from vkamp.tracebacks import entry_point


class HostElements(Protocol):
    """A container whose elements the host can access."""

    def _host_read(self) -> NDArray[Any]:
        """The elements, brought home, for reading."""

    def _host_write(self) -> AbstractContextManager[NDArray[Any]]:
        """The elements, for writing: what is written counts as the newest."""


def element_at(elements: NDArray[Any], where: tuple[int, ...]) -> NDArray[Any]:
    """One element as a 0-dimensional array that shares the memory."""
    key: Any = (*where, ...)
    element: NDArray[Any] = elements[key]
    return element


def store(node: NDArray[Any], value: Any) -> None:
    """Assign ``value`` to the 0-dimensional ``node``, or to a whole subarray."""
    if isinstance(value, element_reference):
        value = value.item()
    kind = vector_class(node.dtype)
    if node.ndim == 0 and kind is not None:
        node[()] = tuple(np.asarray(_vector(value, kind)))
    elif node.ndim == 0 and node.dtype.names is None:
        node[()] = convert_scalar(value, node.dtype)
    else:
        node[...] = without_vectors(value)


def _vector(value: Any, kind: type[ShortVector]) -> ShortVector:
    """Converts a vector, or a sequence with its number of components, to the value of an element."""
    if isinstance(value, kind):
        return value
    if isinstance(value, (tuple, list, np.ndarray)) and len(value) == kind.size:
        return kind(*value)
    raise TypeError(f"a {kind.__name__} element takes a {kind.__name__} or {kind.size} numbers, got {value!r}")


def _stored_vector(
    view: HostElements, path: tuple[Any, ...], node: NDArray[Any], kind: type[ShortVector]
) -> ShortVector:
    """A copy of a vector; what is assigned to its components is stored in the view as well."""

    def write(letter: str, value: Any) -> None:
        with view._host_write() as elements:
            element_reference(view, path)._node(elements)[letter] = value

    made: ShortVector = kind._of(np.array(components(node)), write)
    return made


def resolve(view: HostElements, path: tuple[Any, ...], node: NDArray[Any]) -> Any:
    """The result of reading the element ``node``: a value, or a reference if it has parts."""
    kind = vector_class(node.dtype)
    if kind is not None and node.ndim == 0:
        return _stored_vector(view, path, node, kind)
    if node.ndim or node.dtype.names is not None:
        return element_reference(view, path)
    return node[()]


@entry_point
class element_reference:
    """A struct element of a view, or a part of one that has parts itself, as the host sees it.

    Members are read and assigned as ``ref.x`` or ``ref["x"]``, elements of a member that is an array as ``ref.m[i,
    j]``. Each read gets the newest value, each assignment writes through to the view. ``ref.copy()`` and ``ref.item()``
    return copies.
    """

    __slots__ = ("_path", "_view")
    __hash__ = None  # type: ignore[assignment]
    _view: HostElements
    _path: tuple[Any, ...]

    def __init__(self, view: HostElements, path: tuple[Any, ...]) -> None:
        object.__setattr__(self, "_view", view)
        object.__setattr__(self, "_path", path)

    def _node(self, elements: NDArray[Any]) -> NDArray[Any]:
        """This element in ``elements``: a 0-dimensional array, or a subarray; no copy."""
        node = elements
        for step in self._path:
            node = node[step] if isinstance(step, str) else element_at(node, step)
        return node

    def _step(self, node: NDArray[Any], key: Any) -> Any:
        """``key`` as a step of the path, checked against ``node``."""
        if isinstance(key, str):
            if node.ndim or node.dtype.names is None or key not in node.dtype.names:
                raise KeyError(f"no member {key!r} in {self._type(node)}")
            return key
        steps = key if isinstance(key, tuple) else (key,)
        if len(steps) != node.ndim or not node.ndim:
            raise TypeError(f"{self._type(node)} takes {node.ndim or 'no'} subscripts")
        if not all(isinstance(i, (int, np.integer)) for i in steps):
            raise TypeError(f"subscripts of {self._type(node)} are integers")
        if not all(0 <= i < n for i, n in zip(steps, node.shape, strict=True)):
            raise IndexError(f"{key} is outside {self._type(node)}")
        return steps

    @staticmethod
    def _type(node: NDArray[Any]) -> str:
        shape = f"[{', '.join(map(str, node.shape))}]" if node.ndim else ""
        return dtype_name(node.dtype) + shape

    def __getitem__(self, key: Any) -> Any:
        node = self._node(self._view._host_read())
        step = self._step(node, key)
        inner = node[step] if isinstance(step, str) else element_at(node, step)
        return resolve(self._view, (*self._path, step), inner)

    def __setitem__(self, key: Any, value: Any) -> None:
        with self._view._host_write() as elements:
            node = self._node(elements)
            step = self._step(node, key)
            store(node[step] if isinstance(step, str) else element_at(node, step), value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in self.__slots__:
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            if name == "copy":
                # As for numpy's records; a member of this name takes precedence.
                return self.item
            raise AttributeError(str(error.args[0])) from None

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            self[name] = value
        except KeyError as error:
            raise AttributeError(str(error.args[0])) from None

    def item(self) -> Any:
        """A copy of the element: a numpy record, or an array."""
        return np.array(self._node(self._view._host_read()))[()]

    def __copy__(self) -> Any:
        return self.item()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.item()

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process gets the value.
        return _value, (self.item(),)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("an element reference cannot become an array without a copy")
        return np.array(self._node(self._view._host_read()), dtype=dtype)

    def __len__(self) -> int:
        node = self._node(self._view._host_read())
        return len(node) if node.ndim else len(node.dtype.names or ())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.item())

    def __eq__(self, other: object) -> Any:
        if isinstance(other, element_reference):
            other = other.item()
        mine = self.item()
        return mine.item() == other if isinstance(other, tuple) else mine == other

    def __repr__(self) -> str:
        return repr(self.item())


def _value(value: Any) -> Any:
    return value
