"""What ``array`` and ``array_view`` share: a layout in a home, launches, and whole-value reads and
writes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from vkamp.errors import AmpError, OutOfMemoryError, UnsupportedFeatureError
from vkamp.lang import index_space
from vkamp.lang.capturing import refuse
from vkamp.lang.home import DeviceCopy, Home
from vkamp.lang.host_memory import Lease, bring_home_at_exit
from vkamp.lang.index_space import ExtentLike, extent, index, tiled_index
from vkamp.lang.region import Footprint, Layout
from vkamp.lang.storage import Location, Storage
from vkamp.tracebacks import entry_point

#: numpy's own limit on dimensions, which the host side of every container meets.
_MAX_RANK = 64 if int(np.__version__.split(".")[0]) >= 2 else 32


@dataclass(frozen=True)
class Descriptor:
    """A container as a launch binds it: storage, and where the elements lie in it.

    ``offset_elements`` and ``strides_elements`` count elements of ``dtype`` from the storage's
    first byte.  ``dense``: row-major without gaps.  Descriptors of equal ``home_id`` share
    ``storage`` and may overlap.  ``packed``: the storage holds a copy of the elements alone, see
    :meth:`Container._acquire`.
    """

    storage: Storage
    dtype: np.dtype[Any]
    offset_elements: int
    shape: tuple[int, ...]
    strides_elements: tuple[int, ...]
    dense: bool
    home_id: int
    packed: bool = False

    @cached_property
    def footprint(self) -> Footprint:
        """The bytes of the storage that a launch may touch."""
        size = self.dtype.itemsize
        strides = tuple(stride * size for stride in self.strides_elements)
        return Footprint.of(self.offset_elements * size, self.shape, strides, size)


def is_integer(value: Any) -> bool:
    """Whether ``value`` is an int or a numpy integer (no array)."""
    return isinstance(value, (int, np.integer))


def container_shape(of: ExtentLike, dtype: np.dtype[Any]) -> tuple[int, ...]:
    """``of`` (an extent, a sequence of ints or one int) as the shape of a container.

    AmpError if a component is below 1, OutOfMemoryError if no address could reach the elements.
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


def position(key: Any, shape: tuple[int, ...], what: object) -> tuple[int, ...]:
    """A host subscript as one position; TypeError unless it has the rank of ``shape``, IndexError
    outside.

    Negative subscripts do not wrap.
    """
    if isinstance(key, (index, tiled_index)):
        where = tuple(key)
    else:
        parts = key if isinstance(key, tuple) else (key,)
        for part in parts:
            if not is_integer(part):
                _refuse_subscript(part, what)
        where = tuple(int(part) for part in parts)
    if len(where) != len(shape):
        raise TypeError(f"{what!r} has rank {len(shape)} and takes {len(shape)} subscripts, got {len(where)}")
    for i, n in zip(where, shape, strict=True):
        if not 0 <= i < n:
            hint = "negative subscripts do not count from the end" if i < 0 else f"the last position is {n - 1}"
            dim = "" if len(where) == 1 else f" in dimension {where.index(i)}"
            raise IndexError(f"index {where if len(where) > 1 else i} is outside {extent(shape)!r}: {hint}{dim}")
    return where


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


#: What is another attribute here than in numpy and in libraries like it.
_OF_NUMPY = {"shape": ".extent", "size": ".extent.size()", "ndim": ".rank", "numpy": "np.asarray(...)"}


@entry_point
class Container:
    """A typed, shaped region of a home.  ``array`` and ``array_view`` are the public ones."""

    __slots__ = ("__weakref__", "_descriptors", "_extent", "_layout", "_lease", "_open", "_packed", "_readonly")

    def __init__(self, lease: Lease, layout: Layout, readonly: bool) -> None:
        self._lease = lease
        self._layout = layout
        self._readonly = readonly
        self._descriptors: dict[Location, Descriptor] = {}
        self._open: dict[Location, DeviceCopy] = {}
        self._packed: dict[Location, Storage] = {}
        self._extent: index_space.extent | None = None

    if not TYPE_CHECKING:  # type checkers know the attributes

        def __getattr__(self, name: str) -> NoReturn:
            """Says where numpy's attributes are."""
            what = type(self).__name__
            instead = _OF_NUMPY.get(name)
            if instead is None and not name.startswith("_") and hasattr(np.ndarray, name):
                instead = f"np.asarray(...).{name}"
            advice = "" if instead is None else f": write {instead}"
            raise AttributeError(f"{what!r} object has no attribute {name!r}{advice}", name=name, obj=self)

        def _refuse_operator(self, op: str, other: object, *, is_reflected: bool) -> Any:
            """Says where arithmetic is done; numpy's arrays and numbers compute with the elements themselves."""
            if isinstance(other, (np.ndarray, np.generic)):
                return NotImplemented
            what = type(self).__name__
            left, right = (type(other).__name__, what) if is_reflected else (what, type(other).__name__)
            raise TypeError(
                f"`{op}` does not work on a whole {what} ({left} {op} {right}): use np.asarray(...) to compute on "
                "the host, or write a kernel for one element"
            )

    # -- properties --------------------------------------------------------------------------------

    @property
    def extent(self) -> index_space.extent:
        """The shape, as an extent of its own (assigning its components changes nothing here)."""
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
        """Whether writing through this container is refused (AMP: ``array_view<const T>``)."""
        return self._readonly

    def __len__(self) -> int:
        return self._layout.shape[0]

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be pickled: send np.array(...) of it and make a new one")

    def _repr_html_(self) -> str:
        """For notebooks: type, place, and the first and last values if they are in host memory; nothing moves."""
        from vkamp.lang.notebook import container_html

        return container_html(self)

    # -- values ------------------------------------------------------------------------------------

    def _read(self) -> NDArray[Any]:
        """The newest elements in a fresh array; home memory stays as it is."""
        refuse("the host reads", self)
        with self._lease as home:
            return home.read(self._layout)

    def _read_into(self, out: NDArray[np.uint8]) -> bool:
        """The newest elements into memory of as many bytes; False if that may be the home's own."""
        refuse("the host reads", self)
        with self._lease as home:
            if home.may_share(out):
                return False
            home.read_into(self._layout, out)
            return True

    def _copy_from(self, source: Container) -> bool:
        """Replaces all elements by another container's, of the same shape and dtype, without an array between; False
        if that can't be."""
        refuse("the host writes", self)
        if not (self._layout.is_dense and source._layout.is_dense):
            return False
        # Both are locked, in the order in which homes are locked that are joined.
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

    # -- launches ----------------------------------------------------------------------------------

    def _acquire(
        self, location: Location, *, read: bool, write: bool, why: str = "a launch uses them", apart: bool = False
    ) -> Descriptor:
        """Make the elements current at ``location`` for a launch and say where they are there.

        They are uploaded for a launch that only writes, too, because it may write a part;
        ``discard_data`` saves that. All containers of a launch acquire before any of them tells
        :meth:`_written`.

        A device counts in whole elements.  Elements that lie at other distances travel as a copy without gaps, which
        every launch makes anew, and which comes home at once if the launch writes it.

        A launch that may change bytes beside the elements, or that is looked at, works ``apart``: not in numpy's memory
        itself.  All containers of a launch are acquired alike.

        OutOfMemoryError; TypeError for writing through a read-only view.
        """
        if write and self._readonly:
            raise TypeError(f"{self!r} is read-only and cannot be written in a kernel")
        if not (read or write):
            raise ValueError("a launch that neither reads nor writes a container needs no storage")
        with self._lease as home:
            known = home.copies.get(location)
            descriptor = self._descriptors.get(location)
            fresh = known is not None and not known.stale and not (apart and known.shared is not None)
            if known is not None and fresh and descriptor is not None and descriptor.storage is known.storage:
                if write:
                    self._open[location] = known
                return descriptor  # nothing moves
            if not self._addressable(home, location):
                return self._pack(home, location)
            copy = home.acquire(location, self._layout.region, why, apart=apart)
            if known is None:
                bring_home_at_exit()
            if write:
                self._open[location] = copy
            if descriptor is None or descriptor.storage is not copy.storage:
                descriptor = self._describe(copy, home.id)
                self._descriptors[location] = descriptor
        return descriptor

    def _placement(self, location: Location) -> tuple[int, int, bool]:
        """Where a launch at ``location`` would find the elements, before anything moves: the home's id, the first
        element's byte in its storage, and whether the elements are dense."""
        with self._lease as home:
            if not self._addressable(home, location):
                return -id(self), 0, True
            return home.id, self._layout.offset - home.origin_at(location), self._layout.is_dense

    def _lies_in_steps(self, location: Location) -> bool:
        """Whether a launch at ``location`` would work on the elements themselves, not on a copy of them."""
        with self._lease as home:
            return self._addressable(home, location)

    def _addressable(self, home: Home, location: Location) -> bool:
        """Whether the elements lie at whole elements of their storage."""
        layout = self._layout
        return layout.in_steps and (layout.offset - home.origin_at(location)) % layout.dtype.itemsize == 0

    def _pack(self, home: Home, location: Location) -> Descriptor:
        """A copy of the elements without gaps."""
        values = np.ascontiguousarray(home.read(self._layout)).reshape(-1).view(np.uint8)
        storage = self._packed.get(location)
        if storage is None:
            storage = self._packed[location] = location.allocate((values.size + 3) // 4 * 4)
            bring_home_at_exit()
        storage.upload(0, values)
        layout = Layout.dense(0, self._layout.shape, self._layout.dtype)
        strides = tuple(stride // layout.dtype.itemsize for stride in layout.strides)
        return Descriptor(storage, layout.dtype, 0, layout.shape, strides, True, -id(self), True)

    def _unpack(self, home: Home, storage: Storage) -> None:
        """Bring home what a launch wrote in a copy without gaps."""
        nbytes = self._layout.size * self._layout.dtype.itemsize
        values = storage.download(0, nbytes).view(self._layout.dtype).reshape(self._layout.shape)
        home.write(self._layout, values)

    def _describe(self, copy: DeviceCopy, home_id: int) -> Descriptor:
        layout = self._layout
        itemsize = layout.dtype.itemsize
        offset = (layout.offset - copy.origin) // itemsize
        strides = tuple(stride // itemsize for stride in layout.strides)
        return Descriptor(copy.storage, layout.dtype, offset, layout.shape, strides, layout.is_dense, home_id)

    def _shares(self, other: Container) -> bool:
        """Whether the two have a byte in common."""
        if self._lease.home is not other._lease.home:
            return False
        return self._layout.region.overlaps(other._layout.region)

    def _written(self, location: Location) -> bool:
        """A launch that writes this container, acquired for it before, is enqueued at
        ``location``; whether the next launch finds it where this one did."""
        used = self._open.pop(location, None)
        region = self._layout.region
        with self._lease as home:
            packed = self._packed.get(location)
            if packed is not None and not self._addressable(home, location):
                self._unpack(home, packed)
                return False
            copy = home.copies.get(location)
            if used is None and home.once_lent is not None:
                # A launch that repeats was on its way when another location came to use the memory.
                before = self._descriptors.get(location)
                if before is not None and before.storage is home.once_lent.storage:
                    used = home.once_lent
            if copy is not None and used in (None, copy):
                home.written_on(copy, region)
            elif used is not None:
                # The home was joined with another since, or lends its memory no more: what the launch writes
                # comes home from the old storage.
                home.adopt(used, region)
                return False
        return True

    def _discard(self) -> None:
        """No one needs the present contents."""
        with self._lease as home:
            home.discard(self._layout.region)

    def _current_at(self) -> list[Location]:
        """The locations where a launch would find the elements without an upload."""
        region = self._layout.region
        with self._lease as home:
            return [place for place, copy in home.copies.items() if not copy.stale.overlaps(region)]

    def _is_current(self, location: Location) -> bool:
        """Whether a launch at ``location`` would find the elements there without an upload."""
        with self._lease as home:
            copy = home.copies.get(location)
            return copy is not None and not copy.stale.overlaps(self._layout.region)


def convert_array(values: NDArray[Any], dtype: Any, copy: bool | None, what: str) -> NDArray[Any]:
    """``values`` in the type that ``np.asarray(container, dtype=..., copy=...)`` asks for."""
    if dtype is None or np.dtype(dtype) == values.dtype:
        return values
    if copy is False:
        raise ValueError(f"{what} cannot be converted to {np.dtype(dtype).name} without a copy")
    return values.astype(dtype)


#: Operators that numpy's arrays have; `==` and `!=` compare containers by identity.
_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _refusing(op: str, *, is_reflected: bool) -> Any:
    def method(self: Any, other: object) -> Any:
        return self._refuse_operator(op, other, is_reflected=is_reflected)

    return entry_point(method)


for _name, _op in {**_OPERATORS, **_COMPARISONS}.items():
    setattr(Container, f"__{_name}__", _refusing(_op, is_reflected=False))
for _name, _op in _OPERATORS.items():
    setattr(Container, f"__r{_name}__", _refusing(_op, is_reflected=True))
