"""The index space: ``index``, ``extent``, ``tiled_extent`` and ``tiled_index``.

Components are 32-bit signed integers, the first one most significant (row-major).  The objects have
value semantics: a component can be assigned and in-place operators change the object itself.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from math import prod
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, SupportsIndex, TypeVar, cast

from vkamp.ir.arithmetic import truncated_quotient, truncated_remainder
from vkamp.tracebacks import entry_point

if TYPE_CHECKING:
    from typing_extensions import Self


_LOWEST, _HIGHEST = -(2**31), 2**31 - 1
_T = TypeVar("_T", bound="_Components")
_IntOperator = Callable[[int, int], int]


def _component(value: object, what: str) -> int:
    """``value`` as a component, or a TypeError or OverflowError that names ``what``."""
    try:
        number = operator.index(cast(SupportsIndex, value))
    except TypeError:
        raise TypeError(f"{what} components must be integers, got {type(value).__name__}: {value!r}") from None
    if not _LOWEST <= number <= _HIGHEST:
        raise OverflowError(f"{what} component {number} is outside the 32-bit signed range")
    return number


def _is_integer(value: Any) -> bool:
    # An ndarray has __index__ too, but only a 0-dimensional one is an integer.
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


@entry_point
class _Components:
    """The common base of ``index`` and ``extent``: 32-bit signed integers with AMP's arithmetic."""

    __slots__ = ("_values",)
    _name: ClassVar[str] = "index"
    _values: tuple[int, ...]

    # With it, a numpy scalar on the left of an operator defers to __radd__ and so on.
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]  # mutable

    def __init__(self, *components: Any) -> None:
        name = self._name
        if not components:
            raise TypeError(f"{name}() needs components; {name}.zeros(rank) is all zeros")
        values: Sequence[object] = components
        if len(components) == 1 and isinstance(components[0], _Components):
            self._values = components[0]._values
            return
        if len(components) == 1 and not _is_integer(components[0]):
            try:
                values = list(components[0])
            except TypeError:
                values = components
        if not values:
            raise ValueError(f"{name} needs at least one component")
        self._values = tuple([_component(value, name) for value in values])

    def _same(self) -> Self:
        """A copy."""
        made = type(self).__new__(type(self))
        made._values = self._values
        return made

    @classmethod
    def zeros(cls, rank: int) -> Self:
        """All ``rank`` components zero (AMP: the default constructor).  ValueError if ``rank`` <
        1."""
        if rank < 1:
            raise ValueError(f"{cls._name} needs a rank of at least 1, got {rank}")
        return cls([0] * rank)

    @property
    def rank(self) -> int:
        """The number of components."""
        return len(self._values)

    def _dimension(self, dimension: SupportsIndex) -> int:
        try:
            number = operator.index(dimension)
        except TypeError:
            raise TypeError(f"{self._name} subscripts are integers, got {type(dimension).__name__}") from None
        if not 0 <= number < len(self._values):
            raise IndexError(f"dimension {number} of {self!r}: dimensions are 0 to {self.rank - 1}")
        return number

    def __getitem__(self, dimension: SupportsIndex) -> int:
        return self._values[self._dimension(dimension)]

    def __setitem__(self, dimension: SupportsIndex, value: SupportsIndex) -> None:
        number = self._dimension(dimension)
        values = list(self._values)
        values[number] = _component(value, self._name)
        self._values = tuple(values)

    def __iter__(self) -> Iterator[int]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"{self._name}({', '.join(map(str, self._values))})"

    # -- comparison --------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        values: tuple[object, ...]
        if isinstance(other, _Components):
            if other._name != self._name:
                raise TypeError(f"{self._name} and {other._name} cannot be compared")
            values = other._values
        elif isinstance(other, (tuple, list)):
            values = tuple(other)
        else:
            return NotImplemented
        if len(values) != len(self._values):
            raise TypeError(f"ranks differ: {self!r} has rank {self.rank}, {other!r} has rank {len(values)}")
        return self._values == values

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    # -- arithmetic --------------------------------------------------------------------------------

    def _operand(self, other: object, symbol: str) -> tuple[int, ...]:
        """The right-hand components of ``self symbol other``, if that operation exists."""
        if _is_integer(other):
            return (_component(other, self._name),) * self.rank
        if isinstance(other, _Components):
            if symbol not in ("+", "-") or not self._adds(other):
                self._undefined(symbol, other)
            if other.rank != self.rank:
                raise TypeError(f"ranks differ: {self!r} has rank {self.rank}, {other!r} has rank {other.rank}")
            return other._values
        self._undefined(symbol, other)

    def _adds(self, other: _Components) -> bool:
        """Whether ``self + other`` exists."""
        return other._name == self._name

    def _undefined(self, symbol: str, other: object) -> NoReturn:
        kind = other._name if isinstance(other, _Components) else type(other).__name__
        raise TypeError(f"{self._name} {symbol} {kind} is not defined")

    def _apply(
        self, function: _IntOperator, left: tuple[int, ...], right: tuple[int, ...], symbol: str
    ) -> tuple[int, ...]:
        try:
            values = [function(a, b) for a, b in zip(left, right, strict=True)]
        except ZeroDivisionError:
            raise ZeroDivisionError(f"{self._name} {symbol}: a component of the divisor is zero") from None
        return tuple([_component(value, self._name) for value in values])

    def _plain(self, values: tuple[int, ...]) -> Any:
        """A new object for the result of an operator."""
        return index(values)

    def _forward(self, function: _IntOperator, other: object, symbol: str) -> Any:
        return self._plain(self._apply(function, self._values, self._operand(other, symbol), symbol))

    def _reflected(self, function: _IntOperator, other: object, symbol: str) -> Any:
        if not _is_integer(other):
            raise TypeError(f"{type(other).__name__} {symbol} {self._name} is not defined")
        left = (_component(other, self._name),) * self.rank
        return self._plain(self._apply(function, left, self._values, symbol))

    def _in_place(self: _T, function: _IntOperator, other: object, symbol: str) -> _T:
        self._values = self._apply(function, self._values, self._operand(other, symbol), symbol)
        return self

    def __iadd__(self, other: Any) -> Self:
        return self._in_place(operator.add, other, "+")

    def __isub__(self, other: Any) -> Self:
        return self._in_place(operator.sub, other, "-")

    def __imul__(self, other: SupportsIndex) -> Self:
        return self._in_place(operator.mul, other, "*")

    def __itruediv__(self, other: SupportsIndex) -> Self:
        return self._in_place(truncated_quotient, other, "/")

    def __imod__(self, other: SupportsIndex) -> Self:
        return self._in_place(truncated_remainder, other, "%")

    def __floordiv__(self, other: object) -> NoReturn:
        raise TypeError(f"{self._name} has no //: write /, which truncates as in C++ AMP")

    __rfloordiv__ = __ifloordiv__ = __floordiv__


@entry_point
class index(_Components):
    """A point of an index space (AMP: ``index<N>``).

    Constructors: ``index(i, j, k)`` for any rank, ``index(sequence)``; ``index(other)`` copies;
    ``index.zeros(rank)`` is all zeros. Components are 32-bit signed integers, may be negative, and
    can be read and assigned: ``idx[0] += 1``.

    ``index + index`` and ``index - index`` work by component, and ``+ - * / %`` with an integer on
    either side apply it to every component; ``/`` and ``%`` truncate as in C.  ``==`` takes an
    index or a tuple.

    Raises TypeError for other ranks and types, OverflowError outside 32 bits, ZeroDivisionError.

    >>> index(3, 4) - 1
    index(2, 3)
    >>> index(-100) / -9, index(-10) % -9
    (index(11), index(-1))
    """

    __slots__ = ()
    _name = "index"

    def __add__(self, other: index | SupportsIndex) -> index:
        return cast(index, self._forward(operator.add, other, "+"))

    def __sub__(self, other: index | SupportsIndex) -> index:
        return cast(index, self._forward(operator.sub, other, "-"))

    def __mul__(self, other: SupportsIndex) -> index:
        return cast(index, self._forward(operator.mul, other, "*"))

    def __truediv__(self, other: SupportsIndex) -> index:
        return cast(index, self._forward(truncated_quotient, other, "/"))

    def __mod__(self, other: SupportsIndex) -> index:
        return cast(index, self._forward(truncated_remainder, other, "%"))

    def __radd__(self, other: SupportsIndex) -> index:
        return cast(index, self._reflected(operator.add, other, "+"))

    def __rsub__(self, other: SupportsIndex) -> index:
        return cast(index, self._reflected(operator.sub, other, "-"))

    def __rmul__(self, other: SupportsIndex) -> index:
        return cast(index, self._reflected(operator.mul, other, "*"))

    def __rtruediv__(self, other: SupportsIndex) -> index:
        return cast(index, self._reflected(truncated_quotient, other, "/"))

    def __rmod__(self, other: SupportsIndex) -> index:
        return cast(index, self._reflected(truncated_remainder, other, "%"))


@entry_point
class extent(_Components):
    """The shape of a container or of a compute domain (AMP: ``extent<N>``).

    It has the constructors of :class:`index`. Zero and negative components are allowed here; containers and launches
    reject them. ``extent ± extent`` and ``extent ± index`` give an extent, and so do ``+ -
    * / %`` with an integer on either side (``/`` and ``%`` truncate as in C).  ``==`` takes an
    extent or a tuple.

    Raises TypeError for other ranks and types, OverflowError outside 32 bits, ZeroDivisionError.

    >>> extent(8, 9).size()
    72
    >>> extent(8, 9).contains(index(7, 9))
    False
    """

    __slots__ = ()
    _name = "extent"

    def _adds(self, other: _Components) -> bool:
        return True

    def _plain(self, values: tuple[int, ...]) -> Any:
        return extent(values)

    def __add__(self, other: extent | index | SupportsIndex) -> extent:
        return cast(extent, self._forward(operator.add, other, "+"))

    def __sub__(self, other: extent | index | SupportsIndex) -> extent:
        return cast(extent, self._forward(operator.sub, other, "-"))

    def __mul__(self, other: SupportsIndex) -> extent:
        return cast(extent, self._forward(operator.mul, other, "*"))

    def __truediv__(self, other: SupportsIndex) -> extent:
        return cast(extent, self._forward(truncated_quotient, other, "/"))

    def __mod__(self, other: SupportsIndex) -> extent:
        return cast(extent, self._forward(truncated_remainder, other, "%"))

    def __radd__(self, other: SupportsIndex) -> extent:
        return cast(extent, self._reflected(operator.add, other, "+"))

    def __rsub__(self, other: SupportsIndex) -> extent:
        return cast(extent, self._reflected(operator.sub, other, "-"))

    def __rmul__(self, other: SupportsIndex) -> extent:
        return cast(extent, self._reflected(operator.mul, other, "*"))

    def __rtruediv__(self, other: SupportsIndex) -> extent:
        return cast(extent, self._reflected(truncated_quotient, other, "/"))

    def __rmod__(self, other: SupportsIndex) -> extent:
        return cast(extent, self._reflected(truncated_remainder, other, "%"))

    def size(self) -> int:
        """The product of the components as an unsigned 32-bit number (AMP: ``extent::size``); never
        raises."""
        return prod(self._values) % 2**32

    def contains(self, idx: index | tiled_index | tuple[int, ...]) -> bool:
        """Whether ``0 <= idx[k] < self[k]`` for every dimension (AMP: ``extent::contains``).

        TypeError for another rank.
        """
        point = index(idx)
        if point.rank != self.rank:
            raise TypeError(f"ranks differ: {self!r} has rank {self.rank}, {point!r} has rank {point.rank}")
        return all(0 <= i < n for i, n in zip(point, self._values, strict=True))

    def tile(self, *sizes: SupportsIndex | Sequence[int]) -> tiled_extent:
        """This extent in tiles of ``sizes`` (AMP: ``extent::tile<D0, D1, D2>()``).

        The rank is 1 to 3, with one size for each dimension (else TypeError), each at least 1 (else ValueError). There
        is no upper limit.
        """
        return tiled_extent(self, *sizes)


def _tile_sizes(of: extent, sizes: tuple[Any, ...]) -> tuple[int, ...]:
    """The tile sizes for ``of``, checked."""
    if not 1 <= of.rank <= 3:
        raise TypeError(f"tiles have rank 1 to 3, but {of!r} has rank {of.rank}")
    if len(sizes) == 1 and isinstance(sizes[0], (extent, tuple, list)):
        sizes = tuple(sizes[0])
    values = tuple([_component(size, "tile") for size in sizes])
    if len(values) != of.rank:
        example = ", ".join(["16"] * of.rank)
        raise TypeError(
            f"{of!r} has rank {of.rank} and needs {of.rank} tile sizes, got {len(values)}: write .tile({example})"
        )
    for size in values:
        if size <= 0:
            raise ValueError(f"tile sizes must be at least 1, got {size}")
    return values


@entry_point
class _TileDims:
    """``tile_extent`` and ``tile_dim0..2``, computed from the attribute ``_tile``."""

    __slots__ = ()
    _tile: tuple[int, ...]

    def _tile_dim(self, dimension: int) -> int:
        if dimension >= len(self._tile):
            raise AttributeError(f"tile_dim{dimension} does not exist: the tile has rank {len(self._tile)}")
        return self._tile[dimension]

    @property
    def tile_extent(self) -> extent:
        """The sizes of one tile, as an extent."""
        return extent(self._tile)

    @property
    def tile_dim0(self) -> int:
        """The tile's size in dimension 0."""
        return self._tile_dim(0)

    @property
    def tile_dim1(self) -> int:
        """The tile's size in dimension 1; AttributeError below rank 2."""
        return self._tile_dim(1)

    @property
    def tile_dim2(self) -> int:
        """The tile's size in dimension 2; AttributeError below rank 3."""
        return self._tile_dim(2)


@entry_point
class tiled_extent(extent, _TileDims):
    """An extent that is divided into tiles (AMP: ``tiled_extent<D0, D1, D2>``).

    ``tiled_extent(extent, *sizes)``, or ``extent.tile(*sizes)``; ``tiled_extent(other)`` copies. The rank is 1 to 3.
    Operators return a plain extent. Two tiled_extents are equal if their extents and tile sizes are; a comparison with
    an extent or a tuple compares only the components.

    >>> extent(25, 51).tile(4, 8).pad()
    extent(28, 56).tile(4, 8)
    """

    __slots__ = ("_tile",)

    def __init__(self, of: extent | Sequence[int], *sizes: SupportsIndex | Sequence[int]) -> None:
        if _is_integer(of):
            raise TypeError("tiled_extent needs an extent and its tile sizes")
        super().__init__(of)
        if not sizes and isinstance(of, tiled_extent):
            self._tile = of._tile
        else:
            self._tile = _tile_sizes(extent(self), sizes)

    @classmethod
    def zeros(cls, rank: int) -> NoReturn:
        """Raises an error: a tiled_extent needs tile sizes."""
        raise TypeError("tiled_extent has no zeros(): write extent.zeros(rank).tile(...)")

    def __eq__(self, other: object) -> bool:
        equal = super().__eq__(other)
        if equal is True and isinstance(other, tiled_extent):
            return self._tile == other._tile
        return equal

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __repr__(self) -> str:
        return f"{super().__repr__()}.tile({', '.join(map(str, self._tile))})"

    def _repr_html_(self) -> str:
        """For notebooks: the tiles, drawn."""
        from vkamp.display.tiling import tiling_html

        return tiling_html(repr(self), self._values, self._tile)

    def _with(self, values: list[int]) -> tiled_extent:
        return tiled_extent(extent(values), *self._tile)

    def pad(self) -> tiled_extent:
        """Each dimension rounded up to a multiple of the tile size (AMP: ``pad``).

        A result above 2^31 - 1 wraps to a negative component, which containers and launches reject.
        """
        padded = [-(-n // size) * size for n, size in zip(self._values, self._tile, strict=True)]
        return self._with([n - 2**32 if n > _HIGHEST else n for n in padded])

    def truncate(self) -> tiled_extent:
        """Each dimension rounded down to a multiple of the tile size (AMP: ``truncate``), to 0 if it is below one
        tile."""
        return self._with([n - truncated_remainder(n, s) for n, s in zip(self._values, self._tile, strict=True)])


@entry_point
class tiled_index(_TileDims):
    """A thread's position in a tiled domain (AMP: ``tiled_index<D0, D1, D2>``).

    Kernels receive one. A ``tiled_index(global_, local, tile, tile_origin, tile_extent)`` created on the host need not
    satisfy ``local == global_ % tile_extent`` and so on. All indices must have the rank of the tile (else TypeError).
    As a subscript it means ``global_``.
    """

    __slots__ = ("_barrier", "_global", "_local", "_origin", "_tile", "_tile_index")

    def __init__(
        self,
        global_: index | Sequence[int],
        local: index | Sequence[int],
        tile: index | Sequence[int],
        tile_origin: index | Sequence[int],
        tile_extent: extent | Sequence[int],
        barrier: object = None,
    ) -> None:
        sizes = extent(tile_extent)
        self._tile = _tile_sizes(sizes, tuple(sizes))
        self._global, self._local = index(global_), index(local)
        self._tile_index, self._origin = index(tile), index(tile_origin)
        for part in (self._global, self._local, self._tile_index, self._origin):
            if part.rank != sizes.rank:
                raise TypeError(f"ranks differ: {part!r} and the tile {sizes!r}")
        self._barrier = barrier

    @property
    def rank(self) -> int:
        """The number of dimensions, 1 to 3."""
        return len(self._tile)

    @property
    def global_(self) -> index:
        """The thread's index in the whole domain (AMP: ``global``)."""
        return index(self._global)

    @property
    def local(self) -> index:
        """The thread's index in its tile."""
        return index(self._local)

    @property
    def tile(self) -> index:
        """The tile's index among the tiles."""
        return index(self._tile_index)

    @property
    def tile_origin(self) -> index:
        """The global index of the tile's first thread."""
        return index(self._origin)

    @property
    def barrier(self) -> Any:
        """The tile's barrier; AttributeError if this tiled_index was created without one."""
        if self._barrier is None:
            raise AttributeError("a barrier exists only in a running kernel")
        return self._barrier

    def __iter__(self) -> Iterator[int]:
        return iter(self._global)

    def __len__(self) -> int:
        return len(self._tile)

    def __repr__(self) -> str:
        return (
            f"tiled_index(global_={self._global!r}, local={self._local!r}, "
            f"tile={self._tile_index!r}, tile_origin={self._origin!r}, "
            f"tile_extent={self.tile_extent!r})"
        )


#: What is accepted as a container's extent.
ExtentLike = extent | Sequence[int] | int


#: The components of an extent, and those of a tiled extent with its tile, for keys of repeated launches. Both are
#: implemented in C.
components_of: Callable[[extent], tuple[int, ...]] = attrgetter("_values")
tiled_components_of: Callable[[tiled_extent], tuple[tuple[int, ...], tuple[int, ...]]] = attrgetter("_values", "_tile")
