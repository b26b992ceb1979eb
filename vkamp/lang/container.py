"""What ``array`` and ``array_view`` share: a layout in a home, launches, and whole-value reads and
writes."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from vkamp.errors import AmpError, OutOfMemoryError, UnsupportedFeatureError
from vkamp.lang import index_space
from vkamp.lang.binding import ElementBinding, Use
from vkamp.lang.capturing import refuse
from vkamp.lang.device_memory import CUDA_KINDS, cuda_interface, export_device, external_of
from vkamp.lang.dlpack import HOST_DEVICE
from vkamp.lang.dtypes import components, vector_type
from vkamp.lang.host_memory import Lease
from vkamp.lang.index_space import ExtentLike, extent, index, tiled_index
from vkamp.lang.notebook import container_html
from vkamp.lang.region import Layout
from vkamp.lang.storage import Bindable, Location
from vkamp.tracebacks import entry_point

#: numpy's limit on dimensions, which applies to the host side of every container.
_MAX_RANK = 64 if int(np.__version__.split(".")[0]) >= 2 else 32


def is_integer(value: Any) -> bool:
    """Whether ``value`` is an int or a numpy integer (no array)."""
    return isinstance(value, (int, np.integer))


def container_shape(of: ExtentLike, dtype: np.dtype[Any]) -> tuple[int, ...]:
    """``of`` (an extent, a sequence of ints or one int) as the shape of a container.

    AmpError if a component is below 1, OutOfMemoryError if the elements exceed the address space.
    """
    shape = tuple(extent(of))
    for dimension, size in enumerate(shape):
        if size <= 0:
            raise AmpError(
                f"{extent(shape)!r}: component {dimension} is {size}, but a container has at least 1 element "
                "in every dimension: skip the launch if there is no data"
            )
    if len(shape) > _MAX_RANK:
        raise UnsupportedFeatureError(
            f"containers have rank 1 to {_MAX_RANK}, which is numpy's limit; got {len(shape)}"
        )
    nbytes = dtype.itemsize
    for size in shape:
        nbytes *= size
    if nbytes >= 2**62:
        raise OutOfMemoryError(f"{extent(shape)!r} of {dtype.itemsize}-byte elements needs {nbytes} bytes")
    return shape


def fit(values: NDArray[Any], shape: tuple[int, ...], what: str) -> NDArray[Any]:
    """``values``, of this shape or flat, in this shape; AmpError otherwise."""
    if values.shape == shape:
        return values
    size = int(np.prod(shape, dtype=object))
    if values.ndim == 1 and values.size == size:
        return values.reshape(shape)
    if values.ndim == 1 or values.size != size:
        given = f"{values.size} element{'' if values.size == 1 else 's'}"
        raise AmpError(f"{what} has {given}, but {extent(shape)!r} needs {size}")
    raise AmpError(f"{what} has shape {values.shape}, not {shape}; a flat array also works")


def position(key: Any, shape: tuple[int, ...], what: object) -> tuple[int, ...]:
    """Converts a host subscript to one position; TypeError unless it has the rank of ``shape``, IndexError if it is out
    of bounds.

    Negative subscripts do not wrap.
    """
    where: tuple[int, ...] = ()
    for part in key if isinstance(key, tuple) else (key,):
        if isinstance(part, (index, tiled_index)):
            where += tuple(part)
        elif is_integer(part):
            where += (int(part),)
        else:
            _refuse_subscript(part, what)
    if len(where) != len(shape):
        raise TypeError(f"{what!r} has rank {len(shape)} and takes {len(shape)} subscripts, got {len(where)}")
    for i, n in zip(where, shape, strict=True):
        if not 0 <= i < n:
            hint = from_the_end(i) or f": the last position is {n - 1}"
            dim = "" if len(where) == 1 else f" in dimension {where.index(i)}"
            raise IndexError(f"index {where if len(where) > 1 else i} is outside {extent(shape)!r}{hint}{dim}")
    return where


def from_the_end(i: int) -> str:
    """The hint of an error for a negative subscript."""
    return ": negative subscripts do not count from the end" if i < 0 else ""


def _refuse_subscript(part: object, what: object) -> NoReturn:
    if isinstance(part, slice):
        raise TypeError(
            f"{what!r} takes no slices: write .section(index(...), extent(...)), "
            f"or np.asarray(...) for numpy's subscripts"
        )
    raise TypeError(
        f"subscripts of {what!r} are integers or an index, not {type(part).__name__}: "
        f"use np.asarray(...), an ndarray, for numpy's subscripts"
    )


#: The product of two matrices (``vkamp.linalg.matmul``), which a library computes.
_product: Callable[[Any, Any], Any] | None = None


def set_product(product: Callable[[Any, Any], Any]) -> None:
    """Sets what ``a @ b`` of containers calls."""
    global _product
    _product = product


#: Attributes that have other names here than in numpy and similar libraries.
_OF_NUMPY = {
    "shape": ".extent",
    "size": ".extent.size()",
    "ndim": ".rank",
    "numpy": "np.asarray(...)",
    "get": "np.asarray(...)",
    "__array_interface__": "np.asarray(...)",  # Pillow's Image.fromarray asks for it
    # np.asarray(...) of a view is read-only, and that of an array is a copy.
    "fill": "vkamp.algorithms.fill(a, value)",
    "sort": "vkamp.algorithms.sort(a), or on the host np.sort(...)",
} | {
    name: f"b = np.array(...), b.{name}(...) and amp.copy(b, a)" for name in ("itemset", "partition", "put", "setfield")
}
#: Methods of numpy's arrays that ``vkamp.algorithms`` has as functions, for containers on a device.
_OF_ALGORITHMS = {"cumprod": "cumulative_prod", "cumsum": "cumulative_sum"} | {
    name: name
    for name in [
        "all",
        "any",
        "argmax",
        "argmin",
        "argsort",
        "copy",
        "max",
        "mean",
        "min",
        "nonzero",
        "prod",
        "repeat",
        "std",
        "sum",
        "take",
        "transpose",
        "var",
    ]
}


@entry_point
class Container:
    """A typed, shaped region of a home.  ``array`` and ``array_view`` are the public ones."""

    __slots__ = ("__weakref__", "_binding", "_extent", "_layout", "_lease", "_readonly")

    def __init__(self, lease: Lease, layout: Layout, readonly: bool) -> None:
        self._lease = lease
        self._layout = layout
        self._readonly = readonly
        self._binding: ElementBinding | None = None
        self._extent: index_space.extent | None = None

    if not TYPE_CHECKING:  # type checkers know the attributes

        def __getattr__(self, name: str) -> NoReturn:
            """Raises an error that names vkamp's counterpart of an attribute of numpy."""
            what = type(self).__name__
            instead = _OF_NUMPY.get(name)
            if instead is None and not name.startswith("_") and hasattr(np.ndarray, name):
                instead = f"np.asarray(...).{name}"
                if name in _OF_ALGORITHMS:
                    instead = f"vkamp.algorithms.{_OF_ALGORITHMS[name]}(a), or on the host {instead}"
            advice = "" if instead is None else f": write {instead}"
            raise AttributeError(f"{what!r} object has no attribute {name!r}{advice}", name=name, obj=self)

        def _refuse_operator(self, op: str, other: object, *, is_reflected: bool) -> Any:
            """Raises an error that says where to do arithmetic; numpy's arrays and numbers compute with the elements
            themselves."""
            if isinstance(other, (np.ndarray, np.generic)):
                return NotImplemented
            what = type(self).__name__
            if op in _EQUALITY.values():
                if other is self or not isinstance(other, (Container, numbers.Number, list, tuple)):
                    return NotImplemented  # then identity decides, as for keys of weak dictionaries
                raise TypeError(
                    f"`{op}` does not compare the elements of {what}s: write np.asarray(a) {op} b on the host, "
                    f"vkamp.algorithms.equal(a, b) for whether all are equal, or `is` for whether they are one object"
                )
            left, right = (type(other).__name__, what) if is_reflected else (what, type(other).__name__)
            raise TypeError(
                f"`{op}` does not work on a whole {what} ({left} {op} {right}): use np.asarray(...) to compute on "
                "the host, or write a kernel for one element"
            )

    def __matmul__(self, other: Any) -> Any:
        """The matrix product, ``vkamp.linalg.matmul``."""
        if _product is None or not isinstance(other, (Container, np.ndarray)):
            return _refusing("@", is_reflected=False)(self, other)
        return _product(self, other)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Functions of numpy compute with the elements on the host; only the product of matrices is that of
        ``vkamp.linalg``, so that ``a @ b`` does the same whichever of the two is a container."""
        for each in options.get("out", ()):
            if isinstance(each, Container):
                name = f"np.{ufunc.__name__}"
                raise TypeError(
                    f"{name} does not store in an {type(each).__name__} (`out=`): write amp.copy({name}(...), out)"
                )
        if ufunc is np.matmul and method == "__call__" and not options and _product is not None:
            return _product(*inputs)
        given = [np.asarray(each) if isinstance(each, Container) else each for each in inputs]
        return getattr(ufunc, method)(*given, **options)

    # -- properties --------------------------------------------------------------------------------

    @property
    def extent(self) -> index_space.extent:
        """A copy of the shape: assigning its components does not change the container."""
        if self._extent is None:
            self._extent = extent(self._layout.shape)
        return self._extent._same()

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self._layout.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return self._layout.dtype

    @property
    def readonly(self) -> bool:
        """Whether this container cannot be written (AMP: ``array_view<const T>``)."""
        return self._readonly

    def overlaps(self, other: Container) -> bool:
        """Whether the two have a byte in common, as ``np.shares_memory``."""
        return bindable(self).shares(bindable(other))

    def has_elements_of(self, other: Container) -> bool:
        """Whether the two are the same elements in the same row-major order; their shapes may differ."""
        one, two = self._layout, other._layout
        is_same = one == two or (one.is_dense and two.is_dense and (one.offset, one.size) == (two.offset, two.size))
        return one.dtype == two.dtype and is_same and self._lease.home is other._lease.home

    def __len__(self) -> int:
        return self._layout.shape[0]

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be pickled: send np.array(...) of it and make a new one")

    def __copy__(self) -> Any:
        view: Any = type(self)
        return view(self, readonly=self._readonly)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A view of a copy of the elements, in host memory."""
        view: Any = type(self)
        kind = {} if vector_type(self.dtype) is None else {"dtype": self.dtype}
        return view(np.array(self), readonly=self._readonly, **kind)

    def _repr_html_(self) -> str:
        """For notebooks: the type, the location, and the first and last values if they are in host memory; nothing is
        copied."""
        return container_html(self)

    # -- values ------------------------------------------------------------------------------------

    def _read(self) -> NDArray[Any]:
        """The newest elements in a new array; home memory is not changed."""
        refuse("the host reads", self)
        with self._lease as home:
            return home.read(self._layout)

    def _read_into(self, out: NDArray[np.uint8]) -> bool:
        """Copies the newest elements to memory of the same size; False if that memory may overlap the home."""
        refuse("the host reads", self)
        with self._lease as home:
            if home.may_share(out):
                return False
            home.read_into(self._layout, out)
            return True

    def _copy_from(self, source: Container) -> bool:
        """Replaces all elements by those of another container of the same shape and dtype, without an intermediate
        array; False if that is impossible."""
        refuse("the host writes", self)
        if not (self._layout.is_dense and source._layout.is_dense):
            return False
        # Both are locked, in the order in which joined homes are locked.
        first, second = sorted((self, source), key=lambda each: (each._lease.home.start, each._lease.home.id))
        with first._lease as one, second._lease as other:
            if one is other:
                return False
            home, there = (one, other) if first is self else (other, one)
            return home.copy_from(self._layout, there, source._layout)

    def _may_share(self, values: NDArray[Any]) -> bool:
        """Whether home memory may have a byte in common with ``values``."""
        with self._lease as home:
            return home.may_share(values)

    def _write(self, values: NDArray[Any]) -> None:
        """Replace all elements by ``values``, of this shape and dtype, which are not in home memory."""
        refuse("the host writes", self)
        with self._lease as home:
            home.write(self._layout, values)

    # -- other libraries ---------------------------------------------------------------------------

    def _export(self, wanted: dict[str, Any]) -> Any:
        """A DLPack capsule of the elements in the memory of their device; the reason as text where host memory is
        exported."""
        external = external_of(self)
        asked = wanted.get("dl_device")
        if isinstance(external, str):
            if asked is not None and int(next(iter(asked))) in CUDA_KINDS:
                raise BufferError(f"{self!r} cannot be exported to the device {tuple(asked)}: {external}")
            return external
        if asked is not None and tuple(asked) == HOST_DEVICE:
            return "host memory was asked for"
        if asked is not None and tuple(asked) != external.device:
            raise BufferError(f"{self!r} is on the device {external.device} of DLPack, not {tuple(asked)}")
        refuse("another library uses", self)
        return export_device(self, external, wanted)

    def _dlpack_device(self) -> tuple[int, int]:
        external = external_of(self)
        return HOST_DEVICE if isinstance(external, str) else external.device

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The elements in the memory of CUDA's device, for libraries that know this protocol (version 3): as
        ``__dlpack__`` with CUDA's default stream. Containers whose memory CUDA cannot use lack it."""
        external = external_of(self)
        if isinstance(external, str):
            raise AttributeError(f"CUDA cannot use the elements of {self!r}: {external}")
        refuse("another library uses", self)
        return cuda_interface(self, external)

    # -- launches ----------------------------------------------------------------------------------

    def _check_use(self, location: Location, *, write: bool) -> None:
        """Raises an error if a launch may not use the container this way."""
        if write and self._readonly:
            raise TypeError(f"{self!r} is read-only and cannot be written in a kernel")

    def _discard(self) -> None:
        """Marks the present contents as not needed."""
        with self._lease as home:
            home.discard(self._layout.region)


def bindable(container: Container) -> Bindable:
    """A container's elements, as launches bind them."""
    if container._binding is None:
        container._binding = ElementBinding(container._lease, container._layout)
    return container._binding


def newest(container: Container) -> NDArray[Any]:
    """The newest elements in a new array, short vectors as components; no state that launches depend on changes."""
    return components(container._read())


def use_of(container: Container, location: Location, *, reads: bool, writes: bool) -> Use:
    """A container as launches at a location use it.

    TypeError for writing through a read-only view; AmpError for an array on another accelerator_view.
    """
    container._check_use(location, write=writes)
    return Use(bindable(container), reads=reads, writes=writes)


def convert_array(values: NDArray[Any], dtype: Any, copy: bool | None, what: str) -> NDArray[Any]:
    """``values`` in the type that ``np.asarray(container, dtype=..., copy=...)`` asks for."""
    if dtype is None or np.dtype(dtype) == values.dtype:
        return values
    if copy is False:
        raise ValueError(f"{what} cannot be converted to {np.dtype(dtype).name} without a copy")
    return values.astype(dtype)


#: Operators that numpy's arrays have.
_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_EQUALITY = {"eq": "==", "ne": "!="}
_UNARY = {"neg": "-", "pos": "+", "invert": "~", "abs": "abs"}


def _refusing_in_place(op: str) -> Any:
    # Without it, `v += numpy's array` would make v a new array of numpy and leave the elements as they are.
    def method(self: Any, other: object) -> Any:
        what = type(self).__name__
        raise TypeError(
            f"`{op}=` does not change the elements of an {what}: write amp.copy(np.asarray(a) {op} b, a), or a kernel "
            "for one element"
        )

    return entry_point(method)


def _refusing_unary(op: str) -> Any:
    def method(self: Any) -> Any:
        raise TypeError(
            f"`{op}` does not work on a whole {type(self).__name__}: use np.asarray(...) to compute on the host, or "
            "write a kernel for one element"
        )

    return entry_point(method)


def _refusing(op: str, *, is_reflected: bool) -> Any:
    def method(self: Any, other: object) -> Any:
        return self._refuse_operator(op, other, is_reflected=is_reflected)

    return entry_point(method)


for _name, _op in {**_OPERATORS, **_COMPARISONS, **_EQUALITY}.items():
    setattr(Container, f"__{_name}__", _refusing(_op, is_reflected=False))
for _name, _op in {**_OPERATORS, "matmul": "@"}.items():
    setattr(Container, f"__r{_name}__", _refusing(_op, is_reflected=True))
    setattr(Container, f"__i{_name}__", _refusing_in_place(_op))
for _name, _op in _UNARY.items():
    setattr(Container, f"__{_name}__", _refusing_unary(_op))
