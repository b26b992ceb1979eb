"""``array``: dense elements in the memory of one accelerator_view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vkamp.errors import AmpError
from vkamp.lang.access import (
    access_type,
    access_type_auto,
    access_type_none,
    access_type_read,
    access_type_write,
)
from vkamp.lang.container import Container, container_shape, convert_array, fit
from vkamp.lang.dlpack import export
from vkamp.lang.dtypes import components, convert, dtype_name, element_dtype, refuse_dtype_first, take, vector_type
from vkamp.lang.home import Home
from vkamp.lang.host_memory import Lease
from vkamp.lang.index_space import ExtentLike, extent
from vkamp.lang.region import Layout
from vkamp.lang.sources import has_memory
from vkamp.lang.storage import Location, default_location
from vkamp.lang.views import array_view
from vkamp.records import dataclass
from vkamp.tracebacks import entry_point


@entry_point
class array(Container):
    """A dense, row-major container in the memory of one accelerator_view (AMP: ``array<T, N>``).

    ``array(extent, dtype)`` has indeterminate contents. ``array(extent, dtype, data)`` has the contents of ``data``: an
    ndarray, a nested or flat sequence or an iterable with as many elements as the extent, or an iterator, which may
    have more. Without ``dtype`` the array takes the type of the data. ``array(other)`` copies an array_view, or an
    array to the same accelerator_view unless another one is given. ``array(ndarray)`` copies an ndarray, or an object
    that exports its memory (see :class:`array_view`), with its extent and type; ``array(ndarray, dtype)`` converts it.
    accelerator_views and the ``cpu_access_type`` may also be positional, after the other arguments, as in C++ AMP:
    ``array(extent, dtype, accelerator_view)``.

    The location is ``accelerator_view``, or the default view of the default accelerator. A *staging* array is on a view
    of the cpu accelerator; its ``associated_accelerator_view`` is the device that it exchanges data with.

    The host accesses the elements with ``np.asarray(a)``, ``copy`` and ``array_view(a)``. Subscripts work only for an
    array on the cpu accelerator, or, where accelerator and host share memory, for an array created with a
    ``cpu_access_type`` of read, write or both.

    Raises AmpError for an extent below 1, for data of another size, and for a ``cpu_access_type`` that the device does
    not support; TypeError for unsuitable dtypes and data; OutOfMemoryError.
    """

    __slots__ = ("_associated", "_cpu_access_type", "_location")
    _location: Location

    def __init__(
        self,
        extent: Any,
        dtype: Any = None,
        data: Any = None,
        *places: Any,
        accelerator_view: Location | None = None,
        associated_accelerator_view: Location | None = None,
        cpu_access_type: access_type = access_type_auto,
    ) -> None:
        dtype, data, found = _arranged(dtype, data, places)
        accelerator_view = found.only("accelerator_view", 0, accelerator_view)
        associated_accelerator_view = found.only("associated_accelerator_view", 1, associated_accelerator_view)
        cpu_access_type = cpu_access_type if found.access is None else found.access
        source = _source(extent, dtype, data)
        if isinstance(source, Container) and accelerator_view is None:
            accelerator_view = source._location if isinstance(source, array) else None
        location = default_location() if accelerator_view is None else accelerator_view
        shape, wanted, values = _contents(extent, dtype, source)
        self._cpu_access_type = location.host_access(cpu_access_type)
        self._location = location
        self._associated = location
        if associated_accelerator_view is not None and not location.runs_kernels:
            self._associated = associated_accelerator_view
        layout = Layout.dense(0, shape, wanted)
        home = Home(0, layout.bounds[1], primary=location)
        super().__init__(Lease(home), layout, False)
        if values is not None:
            self._write(values)

    # -- properties --------------------------------------------------------------------------------

    @property
    def accelerator_view(self) -> Location:
        """The accelerator_view of the elements."""
        return self._location

    @property
    def associated_accelerator_view(self) -> Location:
        """The device a staging array exchanges data with; otherwise the same as
        ``accelerator_view``."""
        return self._associated

    @property
    def cpu_access_type(self) -> access_type:
        """How the host may access the elements in place: read_write on the cpu accelerator, else the requested access,
        by default none."""
        return self._cpu_access_type

    def __repr__(self) -> str:
        is_struct = self.dtype.names is not None and vector_type(self.dtype) is None
        dtype = self.dtype if is_struct else dtype_name(self.dtype)
        return f"array({self.extent!r}, {dtype})"

    # -- host access -------------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """A copy of the elements; waits for the launches that write them.

        A copy of short vectors has one more dimension, for the components, unless ``dtype`` is the vectors' own dtype.
        """
        if copy is False:
            raise ValueError("an array's elements are on a device: access needs a copy")
        values = self._read()
        if dtype is None or np.dtype(dtype) != self.dtype:
            values = components(values)
        return convert_array(values, dtype, copy, "an array")

    def __dlpack__(self, **kwargs: Any) -> Any:
        """The elements for other libraries' ``from_dlpack``.

        If CUDA can use the accelerator's memory (see :func:`from_dlpack`), exports that memory itself. The consumer's
        ``stream`` and the launches that use the elements run in the order of the host's calls from then on. With
        ``dl_device=(1, 0)``, and elsewhere, a copy in host memory, as :meth:`__array__`.

        BufferError for structs, and for ``copy=False`` where a copy is necessary.
        """
        found = self._export(kwargs)
        if not isinstance(found, str):
            return found
        if kwargs.get("copy") is False:
            raise BufferError(f"{self!r} is on an accelerator and cannot be exported without a copy: {found}")
        return export(self.__array__(), kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        """CUDA's device where CUDA can use the accelerator's memory; otherwise host memory, of a copy."""
        return self._dlpack_device()

    def _in_place(self, access: access_type) -> array_view:
        """A view for host subscripts; AmpError on a device, or if the array does not allow ``access``."""
        if self._cpu_access_type == access_type_none:
            raise AmpError(
                f"{self!r} is on a device and has no host subscripts: use np.asarray(a), copy(a, dest) or array_view(a)"
            )
        if not self._cpu_access_type & access:
            raise AmpError(
                f"{self!r} has cpu_access_type {self._cpu_access_type.name}: "
                f"the host does not {access.name} its elements"
            )
        return array_view(self, readonly=not self._cpu_access_type & access_type_write)

    def __getitem__(self, key: Any) -> Any:
        return self._in_place(access_type_read)[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._in_place(access_type_write)[key] = value

    def __iter__(self) -> NoReturn:
        raise TypeError(f"{self!r} is not iterable: iterate over np.asarray(a)")

    def data(self) -> NDArray[Any] | None:
        """The elements in place for an array of rank 1 on the cpu accelerator; None on a device
        (AMP: ``data()``)."""
        if self.rank != 1:
            raise TypeError(f"data() needs rank 1, but {self!r} has rank {self.rank}")
        return None if self._cpu_access_type == access_type_none else self._in_place(self._cpu_access_type).data()

    def __copy__(self) -> array:
        return array(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> array:
        return array(self)

    def copy_to(self, dest: Any) -> None:
        """``copy(self, dest)`` (AMP: ``copy_to``)."""
        array_view(self).copy_to(dest)

    # -- views -------------------------------------------------------------------------------------

    def section(self, *args: Any) -> array_view:
        """Returns a view of a box of the elements, like :meth:`array_view.section`."""
        return array_view(self).section(*args)

    def reinterpret_as(self, dtype: DTypeLike) -> array_view:
        """A view of rank 1 of the same bytes as elements of ``dtype``, for any rank (AMP: ``reinterpret_as``).

        AmpError if the number of bytes is not a multiple of the new element's size.
        """
        return array_view(self, self._layout.size).reinterpret_as(dtype)

    @property
    def real(self) -> array_view:
        """A view of the real parts of complex elements: as :meth:`array_view.real`."""
        return array_view(self).real

    @property
    def imag(self) -> array_view:
        """A view of the imaginary parts of complex elements."""
        return array_view(self).imag

    @property
    def T(self) -> array_view:  # noqa: N802 -- numpy's name
        """A view of the elements with the dimensions in reverse order: as :attr:`array_view.T`."""
        return array_view(self).T

    def view_as(self, of: ExtentLike) -> array_view:
        """A view of the first elements in another shape, for any rank (AMP: ``view_as``).

        AmpError if ``of`` has more elements than this array.
        """
        return array_view(self, of)

    def reshape(self, *shape: Any) -> array_view:
        """A view of all elements in another shape: as :meth:`array_view.reshape`."""
        return array_view(self).reshape(*shape)

    # -- launches ----------------------------------------------------------------------------------

    def _check_use(self, location: Location, *, write: bool) -> None:
        if location != self._location:
            raise AmpError(f"{self!r} is on another accelerator_view than the launch: capture array_view(a)")
        super()._check_use(location, write=write)


@dataclass(frozen=True)
class _Places:
    """The location that an array's positional arguments name."""

    views: tuple[Location, ...] = ()
    access: access_type | None = None

    def only(self, name: str, number: int, named: Location | None) -> Location | None:
        """The positional accelerator_view of this number, or the one given by keyword; TypeError for both."""
        if number >= len(self.views):
            return named
        if named is not None:
            raise TypeError(f"array got two values for {name}")
        return self.views[number]


def _arranged(dtype: Any, data: Any, places: tuple[Any, ...]) -> tuple[Any, Any, _Places]:
    """An array's arguments after its extent: the type, the data, and then accelerator_views and a cpu_access_type."""
    given = [dtype, data, *places]
    first = next((k for k, each in enumerate(given) if _is_place(each)), len(given))
    views = []
    access = None
    for each in given[first:]:
        if isinstance(each, access_type):
            access = each
        elif _is_place(each):
            views.append(getattr(each, "default_view", each))
        elif each is not None:
            raise TypeError(
                f"array takes its extent, dtype and data, and then accelerator_views, got {type(each).__name__} after "
                "an accelerator_view"
            )
    if first > 2 and places and not _is_place(places[0]) and places[0] is not None:
        raise TypeError(f"array takes an accelerator_view after its data, got {type(places[0]).__name__}")
    if len(views) > 2:
        raise TypeError(f"array takes an accelerator_view and an associated one, got {len(views)}")
    known = [*given[:first], None, None]
    return known[0], known[1], _Places(tuple(views), access)


def _is_place(value: Any) -> bool:
    """Whether a value is an accelerator_view, an accelerator or an access type."""
    if isinstance(value, (type, np.ndarray)):
        return False
    return isinstance(value, access_type) or hasattr(value, "runs_kernels") or hasattr(value, "default_view")


def _source(first: Any, dtype: DTypeLike | None, data: Any) -> Any:
    """The source of an array's contents; None for indeterminate contents."""
    if not isinstance(first, Container):
        return data
    if (dtype is not None and np.dtype(dtype) != first.dtype) or data is not None:
        raise TypeError("array(array_or_view) copies type and contents: pass neither dtype nor data")
    return first


def _contents(
    first: Any, dtype: DTypeLike | None, source: Any
) -> tuple[tuple[int, ...], np.dtype[Any], NDArray[Any] | None]:
    """Shape, element type and values (None: indeterminate) of a new array."""
    if isinstance(first, Container):
        return first._layout.shape, first.dtype, first._read()
    if isinstance(first, np.ndarray) or (not isinstance(first, extent) and has_memory(first)):
        return _copied(first, dtype, source)
    is_shape = not isinstance(first, Sequence) or all(isinstance(n, (int, np.integer)) for n in first)
    if not is_shape and not isinstance(first, str):
        raise TypeError(
            "array takes its extent first: write array(extent(...), dtype, data), or array(np.array(...)) for an "
            "array of given elements"
        )
    refuse_dtype_first("array", first, dtype)
    if source is None:
        if dtype is None:
            instead = "" if isinstance(first, extent) else "; an array of given elements is array(np.array(...))"
            raise TypeError(f"array(extent) needs a dtype or data{instead}")
        wanted = element_dtype(dtype)
        return container_shape(first, wanted), wanted, None
    if isinstance(source, Container):
        source = source._read()
    given = None if dtype is None else element_dtype(dtype)
    if isinstance(source, Iterator):
        source = take(source, container_shape(first, given or np.dtype(np.int32)))
    values = convert(source, given)
    wanted = element_dtype(values.dtype)
    shape = container_shape(first, wanted)
    return shape, wanted, fit(values, shape, "data")


def _copied(
    first: Any, dtype: DTypeLike | None, data: Any
) -> tuple[tuple[int, ...], np.dtype[Any], NDArray[Any] | None]:
    """Like :func:`_contents`, for an array that copies an ndarray or a similar object."""
    if data is not None:
        raise TypeError("array takes its extent first: write array(extent(...), dtype, data)")
    values = convert(first, None if dtype is None else element_dtype(dtype))
    if values.ndim == 0:
        raise AmpError("a 0-dimensional ndarray has no extent: write array(a.reshape(1))")
    wanted = element_dtype(values.dtype)
    return container_shape(values.shape, wanted), wanted, values
