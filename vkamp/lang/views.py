"""``array_view``: a shaped, typed view of an array, of numpy's memory, or of newly allocated memory."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vkamp.errors import AmpError, UnsupportedFeatureError
from vkamp.lang import transfer
from vkamp.lang.access import access_type, access_type_read
from vkamp.lang.capturing import recorder, refuse
from vkamp.lang.completion import completion_future
from vkamp.lang.container import (
    Container,
    container_shape,
    convert_array,
    from_the_end,
    is_integer,
    position,
)
from vkamp.lang.dlpack import export
from vkamp.lang.dtypes import as_vectors, components, dtype_name, element_dtype, refuse_dtype_first, vector_type
from vkamp.lang.elements import element_at, resolve, store
from vkamp.lang.home import Home
from vkamp.lang.host_memory import Lease, bring_home_at_exit, lease_memory
from vkamp.lang.index_space import ExtentLike, extent, index, tiled_index
from vkamp.lang.region import ByteSet, Layout
from vkamp.lang.slices import has_slices, sliced, subscript_text
from vkamp.lang.sources import container_in, has_memory, is_masked, memory_of
from vkamp.lang.storage import Location, host_location
from vkamp.lang.vectors import ShortVector
from vkamp.tracebacks import entry_point

_Subscript = int | tuple[int, ...] | index | tiled_index
_Slices = slice | tuple[int | slice, ...]


@entry_point
class array_view(Container):
    """A view of elements in other memory (AMP: ``array_view<T, N>``; ``readonly=True``:
    ``array_view<const T, N>``).

    - ``array_view(ndarray)``: numpy's memory, any strides. The view keeps it alive. All views of the same memory are
      coherent. With an ``extent`` it is a row-major prefix of the memory. If the distance between elements is not a
      multiple of their size (a field of packed records), every launch copies them to and from the device; such a launch
      accepts no other view of the same bytes if it writes one of them.
    - ``array_view(source)``, for an object that exports its memory by a protocol (the buffer protocol, numpy's array
      interface, DLPack): a bytearray, an array.array, a pandas Series, a tensor in host memory. Nothing is copied; a
      view of read-only memory is read-only. :func:`from_dlpack` asks for DLPack alone.
    - ``array_view(ndarray, dtype=float3)``: the last dimension holds the adjacent components of short vectors.
    - ``array_view(array)`` and ``array_view(view)``: the same elements; with an ``extent`` as by
      :meth:`view_as`.
    - ``array_view(extent, dtype)``: new memory, indeterminate until written.

    The runtime copies elements to and from a device when they are needed there or on the host, and only those that are
    out of date. Host subscripts read and write: ``v[i, j]``, ``v[index(i, j)]``, and ``v[i]``, which is the view of
    rank N-1 at ``i`` if N is at least 2. Slices return views, as in numpy: ``v[2:5, 1]``. Negative subscripts do not
    wrap; they raise IndexError. ``np.asarray(v)`` brings the elements home.

    When the last view of numpy's memory is deleted, device writes are copied back, and errors are ignored: call
    :meth:`synchronize` to see them.

    Raises AmpError for an extent below 1 or larger than the source, TypeError for a read-only source without
    ``readonly=True`` and for dtypes that no element can have, UnsupportedFeatureError for dtypes that only some devices
    support.
    """

    __slots__ = ("_elements", "_owned_by_host")
    _owned_by_host: bool
    _elements: NDArray[Any] | None

    @overload
    def __init__(self, source: extent, extent: DTypeLike, *, readonly: bool = False) -> None: ...

    @overload
    def __init__(self, source: extent, *, dtype: DTypeLike, readonly: bool = False) -> None: ...

    @overload
    def __init__(
        self,
        source: Any,
        extent: ExtentLike | None = None,
        *,
        dtype: DTypeLike | None = None,
        readonly: bool = False,
    ) -> None: ...

    def __init__(
        self,
        source: Any,
        extent: Any = None,
        *,
        dtype: DTypeLike | None = None,
        readonly: bool = False,
    ) -> None:
        if isinstance(source, _extent):
            self._over_own_memory(source, extent if dtype is None else dtype, readonly)
            return
        if not isinstance(source, (Container, np.ndarray)) and (held := container_in(source)) is not source:
            source, readonly = held, True  # what a Dask task has computed does not change
        if not isinstance(source, (Container, np.ndarray)) and has_memory(source):
            source = memory_of(source, readonly=readonly)
            # ``readonly=True`` is not required for memory of other libraries.
            readonly = readonly or not source.flags.writeable
        refuse_dtype_first("array_view", source, extent)
        if dtype is not None:
            source = _as_vectors(source, element_dtype(dtype))
        if isinstance(source, Container):
            self._over_container(source, extent, readonly)
        elif isinstance(source, np.ndarray):
            self._over_ndarray(source, extent, readonly)
        else:
            raise TypeError(
                f"array_view takes an ndarray, array, array_view or extent, "
                f"got {type(source).__name__}: write np.array(...) and keep the result"
            )

    def _set(self, lease: Lease, layout: Layout, readonly: bool, owned_by_host: bool) -> None:
        Container.__init__(self, lease, layout, readonly)
        self._owned_by_host = owned_by_host
        self._elements = None

    @classmethod
    def _at(cls, lease: Lease, layout: Layout, *, readonly: bool) -> array_view:
        """A view of elements of the memory of a device."""
        view = cls.__new__(cls)
        element_dtype(layout.dtype)
        view._set(lease, layout, readonly, False)
        return view

    def _over_own_memory(self, of: extent, dtype: DTypeLike | None, readonly: bool) -> None:
        if dtype is None:
            raise TypeError(f"array_view({of!r}, ...) without a source needs a dtype")
        if readonly:
            raise TypeError("a read-only view without a source would never hold a value")
        wanted = element_dtype(dtype)
        shape = container_shape(of, wanted)
        layout = Layout.dense(0, shape, wanted)
        self._set(Lease(Home(0, layout.bounds[1])), layout, False, False)

    def _over_container(self, source: Container, of: ExtentLike | None, readonly: bool) -> None:
        if source.readonly and not readonly:
            raise TypeError(f"{source!r} is read-only: write array_view(..., readonly=True)")
        layout = source._layout
        if of is not None:
            flat = layout if isinstance(source, array_view) else _flat(layout)
            layout = _view_as(flat, of)
        host = isinstance(source, array_view) and source._owned_by_host
        self._set(source._lease, layout, readonly, host)

    def _over_ndarray(self, source: NDArray[Any], of: ExtentLike | None, readonly: bool) -> None:
        if is_masked(source):
            raise TypeError("array_view of a masked array would lose the mask: write .filled(value)")
        plain = np.asarray(source)
        dtype = _source_dtype(plain)
        if not plain.flags.writeable and not readonly:
            raise TypeError("the ndarray is read-only: write array_view(a, readonly=True)")
        layout = _ndarray_layout(plain, dtype)
        if of is not None and tuple(_extent(of)) != layout.shape:
            layout = _prefix(plain, layout, of)
        if not readonly and layout.overlaps_itself:
            raise TypeError("elements of the ndarray overlap: write array_view(a, readonly=True)")
        lease = lease_memory(*layout.bounds, plain)
        self._set(lease, layout, readonly, True)

    def _derived(self, layout: Layout) -> array_view:
        """A view of other elements of the same home."""
        view = array_view.__new__(array_view)
        view._set(self._lease, layout, self._readonly, self._owned_by_host)
        return view

    # -- properties --------------------------------------------------------------------------------

    @property
    def source_accelerator_view(self) -> Location:
        """The accelerator_view that the elements belong to: the array's, or the cpu accelerator's for host memory."""
        return self._lease.home.primary or host_location()

    def __repr__(self) -> str:
        dtype = self.dtype if _is_struct(self.dtype) else dtype_name(self.dtype)
        return f"array_view({self.extent!r}, {dtype}{', readonly=True' if self._readonly else ''})"

    # -- host access -------------------------------------------------------------------------------

    def _host_elements(self, home: Home) -> NDArray[Any]:
        """The elements in home memory, without bringing any home."""
        if self._elements is None:
            self._elements = home.host(self._layout)
        return self._elements

    def _host_read(self) -> NDArray[Any]:
        """The elements, brought home."""
        refuse("the host reads", self)
        with self._lease as home:
            home.publish(self._layout.region, "the host reads them")
            return self._host_elements(home)

    @contextmanager
    def _host_write(self) -> Iterator[NDArray[Any]]:
        """The elements, brought home, for writing; the whole view counts as written by the host."""
        refuse("the host writes", self)
        if self._readonly:
            raise TypeError(f"{self!r} is read-only")
        region = self._layout.region
        with self._lease as home:
            home.publish(region, "the host writes some of them")
            home.quiet()
            with home.opened(region):
                yield self._host_elements(home)

    def __getitem__(self, key: _Subscript | _Slices) -> Any:
        if self.rank > 1 and is_integer(key):
            return self._projection(key)
        if has_slices(key):
            return self._derived(sliced(self._layout, key))
        where = position(key, self._layout.shape, self)
        node = element_at(self._host_read(), where)
        return resolve(self, (where,), node)

    def __setitem__(self, key: _Subscript | _Slices, value: Any) -> None:
        if has_slices(key) or (self.rank > 1 and is_integer(key)):
            part = f"v[{subscript_text(key)}]"
            is_one = isinstance(value, (numbers.Number, ShortVector))
            instead = f"vkamp.algorithms.fill({part}, value)" if is_one else f"copy(values, {part})"
            raise TypeError(f"{self!r} assigns single elements: write {instead}")
        where = position(key, self._layout.shape, self)
        with self._host_write() as elements:
            store(element_at(elements, where), value)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def _projection(self, key: Any) -> array_view:
        layout = self._layout
        row = int(key)
        if not 0 <= row < layout.shape[0]:
            raise AmpError(f"projection {row} is outside dimension 0 of {self.extent!r}{from_the_end(row)}")
        offset = layout.offset + row * layout.strides[0]
        return self._derived(Layout(offset, layout.shape[1:], layout.strides[1:], layout.dtype))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The elements, brought home: a read-only ndarray over home memory, or a copy if one is requested.

        An array of short vectors has one more dimension, for the components, unless ``dtype`` is the vectors' own
        dtype."""
        elements = self._host_read()
        if dtype is None or np.dtype(dtype) != self.dtype:
            elements = components(elements)
        if copy:
            return np.array(elements, dtype=dtype)
        elements = elements.view()
        elements.flags.writeable = False
        return convert_array(elements, dtype, copy, "an array_view")

    def __dlpack__(self, **kwargs: Any) -> Any:
        """The elements for other libraries' ``from_dlpack``: home memory itself, no copy, which they are brought to. A
        view of an :class:`array` exports the memory of the array's accelerator where CUDA can use it.

        Unless the view is read-only, this counts as a host write, like :meth:`data`. ``copy=True`` exports a copy.
        BufferError for structs, for elements at no multiple of their size, for another device (``dl_device``), and for
        read-only views if the consumer's version of the protocol (``max_version``), or numpy before 2, has no read-only
        memory.
        """
        found = self._export(kwargs)
        if not isinstance(found, str):
            return found
        if self._readonly or kwargs.get("copy"):
            return export(self.__array__(), kwargs)
        with self._host_write() as elements:
            return export(components(elements), kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Host memory, or CUDA's device for a view of an :class:`array` whose memory CUDA can use."""
        return self._dlpack_device()

    def data(self) -> NDArray[Any]:
        """The home memory of a view of rank 1, brought home (AMP: ``data()``); no copy.

        Unless the view is read-only, this counts as a host write of all its elements: the array may be assigned to
        until the next use on a device. TypeError for other ranks.
        """
        if self.rank != 1:
            raise TypeError(f"data() needs rank 1, but {self!r} has rank {self.rank}")
        if self._readonly:
            return self.__array__()
        with self._host_write() as elements:
            return components(elements)

    def get_ref(self, idx: _Subscript) -> NDArray[Any]:
        """Returns one element in home memory as a 0-dimensional array, or a short vector as an array of its components
        (AMP: ``get_ref``).

        It copies nothing from devices and does not detect writes: call ``synchronize(access_type_read_write)`` first.
        """
        where = position(idx, self._layout.shape, self)
        with self._lease as home:
            element = components(element_at(self._host_elements(home), where))
        if self._readonly:
            element.flags.writeable = False
        return element

    # -- views of the same elements ----------------------------------------------------------------

    def section(self, *args: Any) -> array_view:
        """A box of this view's elements (AMP: ``section``).

        ``section(index, extent)``, ``section(index)`` to the end, ``section(extent)`` from 0, or 2N integers, origin
        and lengths. AmpError if a length is below 1, or an origin or an end is out of bounds; TypeError for another
        rank.
        """
        layout = self._layout
        origin, size = _section_box(args, layout.shape)
        offset = layout.offset + sum(i * stride for i, stride in zip(origin, layout.strides, strict=True))
        return self._derived(Layout(offset, size, layout.strides, layout.dtype))

    def reinterpret_as(self, dtype: DTypeLike) -> array_view:
        """The same bytes as elements of ``dtype`` (AMP: ``reinterpret_as``).

        Only for rank 1 (else TypeError). AmpError if the number of bytes is not a multiple of the new element's size,
        or if they have gaps.
        """
        if self.rank != 1:
            raise TypeError(f"reinterpret_as needs rank 1, but {self!r} has rank {self.rank}")
        return self._derived(_reinterpret(self._layout, element_dtype(dtype)))

    @property
    def real(self) -> array_view:
        """The real parts of complex elements, in the same memory, as numpy's; TypeError for other elements."""
        return self._derived(_part(self._layout, 0))

    @property
    def imag(self) -> array_view:
        """The imaginary parts, as :attr:`real`."""
        return self._derived(_part(self._layout, 1))

    @property
    def T(self) -> array_view:  # noqa: N802 -- numpy's name
        """The same elements with the dimensions in reverse order, as numpy's: no copy."""
        layout = self._layout
        return self._derived(Layout(layout.offset, layout.shape[::-1], layout.strides[::-1], layout.dtype))

    def view_as(self, of: ExtentLike) -> array_view:
        """The first elements in another shape (AMP: ``view_as``).

        Only for rank 1 (else TypeError). AmpError if ``of`` has more elements than this view; if it has fewer, the
        result is a prefix.
        """
        if self.rank != 1:
            raise TypeError(f"view_as needs rank 1, but {self!r} has rank {self.rank}")
        return self._derived(_view_as(self._layout, of))

    def reshape(self, *shape: Any) -> array_view:
        """All elements in another shape, row-major, as numpy's ``reshape``.

        The shape is an extent or sizes, one of which may be -1.

        AmpError if the shape has another number of elements, or if the view's strides would need a copy.
        """
        return self._derived(_reshape(self._layout, shape))

    # -- coherence ---------------------------------------------------------------------------------

    def copy_to(self, dest: Any) -> None:
        """``copy(self, dest)`` (AMP: ``copy_to``)."""
        transfer.copy(self, dest)

    def synchronize(self, access: access_type = access_type_read) -> None:
        """Copy the elements of this view that devices have written to home memory, and nothing else (AMP:
        ``synchronize``).

        Afterwards the source memory may be read directly; after ``access_type_read_write`` or ``access_type_write`` it
        may also be changed, before the next use on a device. A read-only view accepts only read (else TypeError).
        """
        refuse("synchronize() of", self)
        writes = self._synchronize_writes(access)
        with self._lease as home:
            home.publish(self._layout.region, "synchronize()")
            home.quiet()
            if writes:
                home.written_by_host(self._layout.region)

    def synchronize_async(self, access: access_type = access_type_read) -> completion_future:
        """:meth:`synchronize` in the background (AMP: ``synchronize_async``)."""
        refuse("synchronize_async() of", self)
        self._synchronize_writes(access)
        return completion_future._run(lambda: self.synchronize(access))

    def synchronize_to(self, accelerator_view: Location, access: access_type = access_type_read) -> None:
        """Make this view current at ``accelerator_view`` (AMP: ``synchronize_to``).

        With ``access_type_read_write`` or ``access_type_write`` it counts as written there.
        """
        refuse("synchronize_to() of", self)
        writes = self._synchronize_writes(access)
        with self._lease as home:
            copy = home.acquire(accelerator_view, self._layout.region, "synchronize_to()")
            bring_home_at_exit()
            if writes:
                home.written_on(copy, self._layout.region)

    def synchronize_to_async(
        self, accelerator_view: Location, access: access_type = access_type_read
    ) -> completion_future:
        """:meth:`synchronize_to` in the background (AMP: ``synchronize_to_async``)."""
        refuse("synchronize_to_async() of", self)
        self._synchronize_writes(access)
        return completion_future._run(lambda: self.synchronize_to(accelerator_view, access))

    def _synchronize_writes(self, access: access_type) -> bool:
        """Whether ``access`` announces writes; TypeError for one that this view can't have."""
        if not isinstance(access, access_type) or access not in (1, 2, 3):
            raise TypeError(
                f"access must be access_type_read, access_type_write or access_type_read_write, got {access!r}"
            )
        writes = bool(access & access_type.write)
        if writes and self._readonly:
            raise TypeError(f"{self!r} is read-only and is synchronized for reading only")
        return writes

    def refresh(self) -> None:
        """Declare that the source memory was changed directly (AMP: ``refresh``): every view of it sees the changes.

        Call ``synchronize`` before changing it. Device writes to this view of host memory that were not copied back are
        dropped.
        """
        refuse("refresh() of", self)
        with self._lease as home:
            home.refresh(self._layout.region, host_owned=self._owned_by_host)

    def discard_data(self) -> None:
        """Declare that the present contents are not needed (AMP: ``discard_data``): the next use uploads nothing.

        Device writes that were not copied back are dropped; home memory keeps its values.
        TypeError for a read-only view.
        """
        if self._readonly:
            raise TypeError(f"{self!r} is read-only and has no discard_data()")
        capture = recorder()
        if capture is None:
            self._discard()
        else:
            capture.discard(self)

    def explain(self) -> str:
        """A text for people: where this view's newest elements are, and which copies moved them, in what order and why.

        Where an accelerator uses host memory directly, nothing is copied, and the text says so. Moves are numbered in
        order, with the number of bytes copied and the line of the program that required them.
        """
        region = self._layout.region
        with self._lease as home:
            lines = [f"{self!r}, {region.nbytes} bytes of {_owner(home, self._owned_by_host)}"]
            lines += _whereabouts(home, region)
            lines += [f"  {note}" for note in home.export_notes]
            moves = home.log.of(region)
            forgotten = home.log.forgotten
        if forgotten:
            lines.append(f"  ({forgotten} earlier transfers are not listed)")
        return "\n".join([*lines, *(f"  {move}" for move in moves)])


def view_of(container: Container, layout: Layout) -> array_view:
    """A view of other elements of a container's home."""
    return array_view(container, readonly=container.readonly)._derived(layout)


_extent = extent  # the parameter of this name hides the class


def _owner(home: Home, owned_by_host: bool) -> str:
    if home.primary is not None:
        return f"an array at {home.primary!r}"
    return "numpy's memory" if owned_by_host else "memory of its own"


def _whereabouts(home: Home, region: ByteSet) -> list[str]:
    """For each place that has the bytes ``region``, how many of them are up to date there."""
    lines, at_home = [], region - home.undefined
    for copy in home.copies.values():
        if copy.shared is not None:
            lines.append(f"  {copy.location!r}: uses host memory directly, nothing is copied")
            continue
        only = (copy.pending & region) - home.undefined
        right = region - copy.stale - home.undefined
        at_home -= only
        for other in home.copies.values():
            if other is not copy:
                only &= other.stale
        lines.append(
            f"  {copy.location!r}: {right.nbytes} bytes up to date, {only.nbytes} of them up to date only here"
        )
    return [f"  host memory: {at_home.nbytes} bytes up to date", *lines]


# -- layouts ---------------------------------------------------------------------------------------


def _is_struct(dtype: np.dtype[Any]) -> bool:
    return dtype.names is not None and vector_type(dtype) is None


def _as_vectors(source: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """An ndarray of components as short vectors, in the same memory."""
    vector = vector_type(dtype)
    if vector is None or not isinstance(source, np.ndarray):
        raise TypeError("dtype is for an extent only; elements keep the source's type")
    if source.dtype == dtype:
        return source
    if source.dtype != vector.element.dtype:
        raise TypeError(f"{vector} elements are made of {vector.element}, the ndarray has {dtype_name(source.dtype)}")
    return as_vectors(source, vector, "the ndarray")


def _source_dtype(source: NDArray[Any]) -> np.dtype[Any]:
    """The element type of an ndarray; an error says how to convert the array."""
    try:
        return element_dtype(source.dtype)
    except UnsupportedFeatureError as error:
        replacement = {"f": "float32", "i": "int32", "u": "uint32"}.get(source.dtype.kind)
        if replacement is None:
            raise
        raise UnsupportedFeatureError(f"{error}, that is a.astype(np.{replacement})") from None


def _ndarray_layout(source: NDArray[Any], dtype: np.dtype[Any]) -> Layout:
    if source.ndim == 0:
        raise AmpError("a 0-dimensional ndarray has no extent: write array_view(a.reshape(1))")
    shape = container_shape(source.shape, dtype)
    strides = tuple(stride if n > 1 else 0 for n, stride in zip(shape, source.strides, strict=True))
    layout = Layout(int(source.__array_interface__["data"][0]), shape, strides, dtype)
    return Layout.dense(layout.offset, shape, dtype) if layout.is_dense else layout


def _prefix(source: NDArray[Any], layout: Layout, of: ExtentLike) -> Layout:
    """The first elements of an ndarray, in row-major order."""
    if source.ndim > 1:
        if not layout.is_dense:
            raise TypeError("a view of a prefix needs a contiguous ndarray: write array_view(a) and .section(...)")
        layout = _flat(layout)
    return _view_as(layout, of)


def _flat(layout: Layout) -> Layout:
    """Flattens a dense layout to rank 1."""
    return Layout.dense(layout.offset, (layout.size,), layout.dtype)


def _part(layout: Layout, number: int) -> Layout:
    if layout.dtype.kind != "c":
        raise TypeError(f"only complex elements have parts, these are {dtype_name(layout.dtype)}")
    part = layout.dtype.type(0).real.dtype
    return Layout(layout.offset + number * part.itemsize, layout.shape, layout.strides, part)


def _view_as(layout: Layout, of: ExtentLike) -> Layout:
    """The first elements of a layout of rank 1 in the shape ``of``."""
    shape = container_shape(of, layout.dtype)
    wanted = Layout.dense(layout.offset, shape, layout.dtype)
    if wanted.size > layout.size:
        raise AmpError(f"{_extent(of)!r} has {wanted.size} elements, the source only {layout.size}")
    step = layout.strides[0] if layout.shape[0] > 1 else layout.dtype.itemsize
    strides = tuple(stride // layout.dtype.itemsize * step for stride in wanted.strides)
    return Layout(layout.offset, shape, strides, layout.dtype)


def _reshape(layout: Layout, shape: tuple[Any, ...]) -> Layout:
    """All elements of a layout in another shape, in row-major order."""
    sizes = list(shape[0] if len(shape) == 1 and not is_integer(shape[0]) else shape)
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = layout.size // max(-math.prod(sizes), 1)
    wanted = container_shape(_extent(tuple(sizes)), layout.dtype)
    if math.prod(wanted) != layout.size:
        raise AmpError(f"{layout.size} elements do not fit into the shape {tuple(shape)}")
    runs = _runs(layout)
    count, step = runs.pop()
    strides = []
    for size in reversed(wanted):
        if count == 1 and runs:
            count, step = runs.pop()
        strides.append(step)
        if count % size:
            raise AmpError(f"the strides do not allow the shape {wanted} without a copy: use amp.array(view)")
        count, step = count // size, step * size
    return Layout(layout.offset, wanted, tuple(reversed(strides)), layout.dtype)


def _runs(layout: Layout) -> list[tuple[int, int]]:
    """The dimensions of a layout as pairs of size and stride; one pair for adjacent dimensions that have one stride."""
    runs = [(1, layout.dtype.itemsize)]
    for size, stride in zip(layout.shape, layout.strides, strict=True):
        count, step = runs[-1]
        if count == 1:
            runs[-1] = size, stride
        elif step == size * stride:
            runs[-1] = count * size, stride
        elif size > 1:
            runs.append((size, stride))
    return runs


def _reinterpret(layout: Layout, dtype: np.dtype[Any]) -> Layout:
    """The bytes of a layout of rank 1 as elements of ``dtype``."""
    if not layout.is_dense:
        raise AmpError("reinterpret_as needs elements without gaps: copy them to an array")
    nbytes = layout.size * layout.dtype.itemsize
    if nbytes % dtype.itemsize:
        raise AmpError(f"{nbytes} bytes are not a whole number of {dtype.itemsize}-byte elements")
    return Layout.dense(layout.offset, (nbytes // dtype.itemsize,), dtype)


def _section_box(args: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Origin and size of a section of ``shape``."""
    rank = len(shape)
    origin: tuple[int, ...] = (0,) * rank
    size: tuple[int, ...] | None = None
    if args and all(is_integer(arg) for arg in args):
        if len(args) != 2 * rank:
            raise TypeError(f"section of rank {rank} takes {2 * rank} integers, got {len(args)}")
        origin, size = tuple(index(args[:rank])), tuple(_extent(args[rank:]))
    elif len(args) == 1 and isinstance(args[0], _extent):
        size = tuple(args[0])
    elif len(args) == 1 and isinstance(args[0], index):
        origin = tuple(args[0])
    elif len(args) == 2 and not any(is_integer(arg) for arg in args):
        origin, size = tuple(index(args[0])), tuple(_extent(args[1]))
    else:
        _refuse_section(args)
    if len(origin) != rank or (size is not None and len(size) != rank):
        raise TypeError(f"section of {_extent(shape)!r} needs an index and an extent of rank {rank}")
    if size is None:
        size = tuple(n - i for n, i in zip(shape, origin, strict=True))
    _check_box(origin, size, shape)
    return origin, size


def _refuse_section(args: tuple[Any, ...]) -> NoReturn:
    kinds = ", ".join(type(arg).__name__ for arg in args)
    raise TypeError(
        f"section takes (index, extent), (index), (extent) or origin and lengths as integers, got ({kinds})"
    )


def _check_box(origin: tuple[int, ...], size: tuple[int, ...], shape: tuple[int, ...]) -> None:
    for dimension, (first, length, n) in enumerate(zip(origin, size, shape, strict=True)):
        where = f"section of {_extent(shape)!r}, dimension {dimension}:"
        if not 0 <= first < n:
            raise AmpError(f"{where} origin {first} is outside")
        if length <= 0:
            raise AmpError(f"{where} length {length} is below 1")
        if first + length > n:
            raise AmpError(f"{where} {first} + {length} is past the end")
