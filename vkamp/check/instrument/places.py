"""Places of a kernel with what check mode looks at: indices and their extents, and the word that is touched."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field

from vkamp.check.instrument.layout import Sites, ValueSite
from vkamp.check.instrument.make import Maker, uint
from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.ranges import Ranges
from vkamp.ir.types import INT32, UINT32, VECTOR_LETTERS, Array, Scalar, Struct, Type, Vector, scalar_fields


@dataclass(frozen=True)
class Bound:
    """A condition that an access needs, and what is noted where it does not hold: a site and two values."""

    holds: ir.Expr
    site: int
    value: ir.Expr
    extent: ir.Expr


@dataclass
class Address:
    """A place with simple indices, the conditions for it to be there, and its word.

    ``terms`` add up to the word: in a container from the start of the memory that all containers on it share, in an
    array from its first word.
    """

    place: ir.Place
    bounds: list[Bound] = field(default_factory=list)
    terms: list[ir.Expr] = field(default_factory=list)


def words_in(place: ir.Place, unit: int) -> list[int]:
    """The words that an access of a place touches, from its first on.

    In an array of the kernel the first of each scalar stands for all of it, since none is read as a smaller one.
    """
    scalars = [(offset, scalar.size) for _, scalar, offset in scalar_fields(place.type)]
    if isinstance(place, ir.ComponentsOf) and isinstance(place.type, Vector):
        size = place.type.element.size
        scalars = [(VECTOR_LETTERS.index(letter) * size, size) for letter in place.letters]
    whole = isinstance(ir.root_of(place), ir.BufferElement)
    return [word for at, size in scalars for word in range(at // unit, (at + (size if whole else unit)) // unit)]


def buffer_word(kind: str, buffer: str, dim: int = 0) -> str:
    """The name of a launch word: where a container begins (``at``), the ``stride`` of a dimension, its first word and
    the number of its words (``low``, ``words``), the ``shadow`` of its memory; all in words."""
    return f"{buffer} {kind} {dim}" if kind == "stride" else f"{buffer} {kind}"


class Addresses:
    """Finds the addresses of places in one function.

    ``value`` rewrites an expression, ``keep`` gives it a name where it is used more than once; ``words`` collects the
    launch words that are used; ``needs_word`` tells of which containers the word is wanted; ``unit``: bytes of a word.
    """

    def __init__(
        self,
        kernel: ir.Kernel,
        ranges: Ranges,
        sites: Sites,
        words: dict[str, None],
        value: Callable[[ir.Expr], ir.Expr],
        keep: Callable[[ir.Expr, str], ir.Expr],
        needs_word: Callable[[str], bool],
        unit: int,
    ) -> None:
        self._kernel = kernel
        self._ranges = ranges
        self._sites = sites
        self._words = words
        self._value = value
        self._keep = keep
        self._needs_word = needs_word
        self._unit = unit

    def of(self, place: ir.Place) -> Address:
        """The address of a place; its indices are evaluated."""
        if isinstance(place, ir.Local):
            return Address(place)
        if isinstance(place, ir.ViewElement):
            return self._view(place)
        if isinstance(place, ir.BufferElement):
            return self._buffer(place)
        if isinstance(place, ir.Reinterpreted):
            return self._reinterpreted(place)
        if isinstance(place, ir.ArrayElement):
            return self._array(place)
        assert isinstance(place, (ir.FieldOf, ir.ComponentsOf))
        address = self.of(place.base)
        if isinstance(place, ir.FieldOf):
            member = place.base.type.field(place.name) if isinstance(place.base.type, Struct) else None
            assert member is not None
            address.terms.append(uint(member.offset // self._unit))
        elif len(place.letters) == 1:
            address.terms.append(uint(VECTOR_LETTERS.index(place.letters) * place.type.size // self._unit))
        address.place = dataclasses.replace(place, base=address.place)
        return address

    # -- parts

    def _index(self, index: ir.Expr, name: str) -> ir.Expr:
        return self._keep(self._value(index), f"{name}_index")

    def _bound(
        self,
        index: ir.Expr,
        kept: ir.Expr,
        extent: ir.Expr,
        dim: int,
        rank: int,
        name: str,
        span: Span,
        *,
        is_view: bool = False,
    ) -> list[Bound]:
        """The condition that an index lies in its extent, unless it always does."""
        low, high = self._ranges.of(index)
        if index.type == UINT32:
            low = max(low, 0)
        if isinstance(extent, ir.Const) and low >= 0 and high < extent.value:
            return []
        make = Maker(span)
        value, most = make.as_uint(kept), make.as_uint(extent)
        kind = index.type
        what = f"a view of {name}" if is_view else ""
        site = ValueSite("bounds", span, name, dim if rank > 1 else None, kind, what)
        self._sites.values.append(site)
        return [Bound(make.compare("lt", value, most), len(self._sites.values) - 1, value, most)]

    def _view(self, place: ir.ViewElement) -> Address:
        name, rank = ir.place_name(place.base), len(place.indices)
        bounds = []
        for dim, (index, size) in enumerate(zip(place.indices, place.extent, strict=True)):
            kept = self._index(index, name)
            extent = self._keep(self._value(size), f"{name}_extent")
            bounds += self._bound(index, kept, extent, dim, rank, name, place.span, is_view=True)
        address = self.of(place.base)
        address.bounds[:0] = bounds
        return address

    def _buffer(self, place: ir.BufferElement) -> Address:
        make, rank = Maker(place.span), len(place.indices)
        kept = [self._index(i, place.buffer) for i in place.indices]
        bounds = []
        for dim, (index, simple) in enumerate(zip(place.indices, kept, strict=True)):
            extent = ir.BufferExtent(place.span, INT32, place.buffer, dim)
            bounds += self._bound(index, simple, extent, dim, rank, place.buffer, place.span)
        terms: list[ir.Expr] = []
        if self._needs_word(place.buffer):
            terms = [self.launch_word("at", place.buffer), *self._steps(place, kept, make)]
        return Address(dataclasses.replace(place, indices=tuple(kept)), bounds, terms)

    def _steps(self, place: ir.BufferElement, indices: list[ir.Expr], make: Maker) -> list[ir.Expr]:
        """The words from a container's first element to another."""
        buffer = self._kernel.buffer(place.buffer)
        size = buffer.element.size // self._unit
        whole = [make.as_uint(i) for i in indices]
        if not buffer.dense:
            strides = (self.launch_word("stride", place.buffer, d) for d in range(buffer.rank))
            return [make.mul(i, s) for i, s in zip(whole, strides, strict=True)]
        number = whole[0]
        for dim, index in enumerate(whole[1:], 1):
            extent = make.as_uint(ir.BufferExtent(place.span, INT32, place.buffer, dim))
            number = make.add(make.mul(number, extent), index)
        return [make.mul(number, size)]

    def launch_word(self, kind: str, buffer: str, dim: int = 0) -> ir.Expr:
        """A launch word of a container."""
        name = buffer_word(kind, buffer, dim)
        self._words[name] = None
        return ir.ScalarValue(self._kernel.span, UINT32, name)

    def _array(self, place: ir.ArrayElement) -> Address:
        array = place.base.type
        assert isinstance(array, Array)
        name, rank, make = ir.place_name(place.base), len(place.indices), Maker(place.span)
        address = self.of(place.base)
        kept = [self._index(i, name) for i in place.indices]
        stride = array.element.size // self._unit
        # The last dimension is judged first.
        for dim in reversed(range(rank)):
            extent = ir.Const(place.span, INT32, array.shape[dim])
            address.bounds += self._bound(place.indices[dim], kept[dim], extent, dim, rank, name, place.span)
            address.terms.append(make.mul(make.as_uint(kept[dim]), stride))
            stride *= array.shape[dim]
        address.place = dataclasses.replace(place, base=address.place, indices=tuple(kept))
        return address

    def _reinterpreted(self, place: ir.Reinterpreted) -> Address:
        if isinstance(place.base, ir.ArrayElement):
            return self._same_word(place, place.base)
        address = self.of(place.base)
        root, make = ir.root_of(place), Maker(place.span)
        assert isinstance(root, ir.BufferElement)
        index = self._index(place.index, root.buffer)
        size = place.type.size // self._unit
        address.terms.append(make.mul(make.as_uint(index), size))
        address.place = dataclasses.replace(place, base=address.place, index=index)
        low, words = self.launch_word("low", root.buffer), self.launch_word("words", root.buffer)
        offset = self._keep(make.binary("sub", make.add(*address.terms), low), f"{root.buffer}_offset")
        inside = make.compare("lt", offset, words)
        fits = make.compare("ge", make.binary("sub", words, offset), uint(size))
        self._sites.values.append(ValueSite("view_bounds", place.span, root.buffer))
        holds = make.both([inside, fits])
        address.bounds.append(Bound(holds, len(self._sites.values) - 1, uint(0), uint(0)))
        return address

    def _same_word(self, place: ir.Reinterpreted, base: ir.ArrayElement) -> Address:
        """In an array of the kernel: the same word as another scalar."""
        *rows, last = base.indices
        parts = [i if i.type == INT32 else ir.Cast(place.span, INT32, i) for i in (last, place.index)]
        total: ir.Expr = ir.Binary(place.span, INT32, "add", parts[0], parts[1])
        for one, other in ((0, 1), (1, 0)):
            part = parts[one]
            if isinstance(part, ir.Const) and part.value == 0:
                total = parts[other]
        moved = dataclasses.replace(base, span=place.span, indices=(*rows, total))
        address = self.of(moved)
        zero = ir.Const(place.span, INT32, 0)
        address.place = dataclasses.replace(place, base=address.place, index=zero)
        return address


def is_word(kind: Type) -> bool:
    """Whether a type is one word."""
    return isinstance(kind, Scalar)
