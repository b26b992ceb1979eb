"""Places of a kernel as check mode needs them: indices with their extents, and the accessed word."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field

from vkamp.check.instrument.layout import ValueSite
from vkamp.check.instrument.make import Maker, uint
from vkamp.check.instrument.plan import Plan
from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.addresses import step_from_base
from vkamp.ir.algebra import sum_of
from vkamp.ir.ranges import Ranges
from vkamp.ir.types import INT32, UINT32, VECTOR_LETTERS, Vector, scalar_fields


@dataclass(frozen=True)
class IndexBound:
    """A condition of an access, and what is recorded if it is false: a site and two values."""

    holds: ir.Expr
    site: int
    value: ir.Expr
    extent: ir.Expr


@dataclass
class ShadowAddress:
    """A place with simple indices, the conditions for its existence, and its word.

    ``terms`` add up to the word: in a container from the start of the memory that all containers on it share, in an
    array from its first word.
    """

    place: ir.Place
    bounds: list[IndexBound] = field(default_factory=list)
    terms: list[ir.Expr] = field(default_factory=list)


def words_in(place: ir.Place, unit: int) -> list[int]:
    """The words that an access of a place touches, from the first one on. In an array of the kernel, the first word of
    each scalar represents the whole scalar, since no scalar is read as a smaller one.
    """
    scalars = [(offset, scalar.size) for _, scalar, offset in scalar_fields(place.type)]
    if isinstance(place, ir.ComponentsOf) and isinstance(place.type, Vector):
        size = place.type.element.size
        scalars = [(VECTOR_LETTERS.index(letter) * size, size) for letter in place.letters]
    whole = isinstance(ir.root_of(place), ir.BufferElement)
    return [word for at, size in scalars for word in range(at // unit, (at + (size if whole else unit)) // unit)]


class Addresses:
    """Finds the addresses of places in one function.

    ``value`` rewrites an expression; ``keep`` assigns it to a name if it is used more than once.
    """

    def __init__(
        self,
        plan: Plan,
        ranges: Ranges,
        value: Callable[[ir.Expr], ir.Expr],
        keep: Callable[[ir.Expr, str], ir.Expr],
    ) -> None:
        self._plan = plan
        self._ranges = ranges
        self._value = value
        self._keep = keep

    def of(self, place: ir.Place) -> ShadowAddress:
        """The address of a place; its indices are evaluated."""
        if isinstance(place, ir.Local):
            return ShadowAddress(place)
        if isinstance(place, ir.ViewElement):
            return self._view(place)
        if isinstance(place, ir.BufferElement):
            return self._buffer(place)
        if isinstance(place, ir.Reinterpreted):
            return self._reinterpreted(place)
        assert isinstance(place, (ir.ComponentsOf, ir.FieldOf, ir.ArrayElement))
        return self._part(place)

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
    ) -> list[IndexBound]:
        """The condition that an index is within its extent, unless it always is."""
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
        return [IndexBound(make.compare("lt", value, most), self._plan.sites.add(site), value, most)]

    def _view(self, place: ir.ViewElement) -> ShadowAddress:
        name, rank = ir.place_name(place.base), len(place.indices)
        bounds = []
        for dim, (index, size) in enumerate(zip(place.indices, place.extent, strict=True)):
            kept = self._index(index, name)
            extent = self._keep(self._value(size), f"{name}_extent")
            bounds += self._bound(index, kept, extent, dim, rank, name, place.span, is_view=True)
        address = self.of(place.base)
        address.bounds[:0] = bounds
        return address

    def _buffer(self, place: ir.BufferElement) -> ShadowAddress:
        make, rank = Maker(place.span), len(place.indices)
        kept = [self._index(i, place.buffer) for i in place.indices]
        bounds = []
        for dim, (index, simple) in enumerate(zip(place.indices, kept, strict=True)):
            extent = self._plan.kernel.buffer(place.buffer).extent(dim, place.span)
            bounds += self._bound(index, simple, extent, dim, rank, place.buffer, place.span)
        terms: list[ir.Expr] = []
        if place.buffer in self._plan.judged | self._plan.reinterpreted:
            terms = [self._plan.buffer_word("at", place.buffer), *self._steps(place, kept, make)]
        return ShadowAddress(dataclasses.replace(place, indices=tuple(kept)), bounds, terms)

    def _steps(self, place: ir.BufferElement, indices: list[ir.Expr], make: Maker) -> list[ir.Expr]:
        """The words from a container's first element to another."""
        buffer = self._plan.kernel.buffer(place.buffer)
        size = buffer.element.size // self._plan.unit
        whole = [make.as_uint(i) for i in indices]
        if not buffer.dense:
            strides = (self._plan.buffer_word("stride", place.buffer, d) for d in range(buffer.rank))
            return [make.mul(i, s) for i, s in zip(whole, strides, strict=True)]
        number = whole[0]
        for dim, index in enumerate(whole[1:], 1):
            extent = make.as_uint(buffer.extent(dim, place.span))
            number = make.add(make.mul(number, extent), index)
        return [make.mul(number, size)]

    def _part(self, place: ir.ComponentsOf | ir.FieldOf | ir.ArrayElement) -> ShadowAddress:
        """A component, a member, or an element of an array."""
        name, make, unit = ir.place_name(place.base), Maker(place.span), self._plan.unit
        address = self.of(place.base)
        offset, subscripts = step_from_base(place)
        if not isinstance(place.type, Vector) or not isinstance(place, ir.ComponentsOf):
            address.terms.append(uint(offset // unit))
        place = dataclasses.replace(place, base=address.place)
        if isinstance(place, ir.ArrayElement):
            kept = tuple(self._index(i, name) for i in place.indices)
            # The last dimension is checked first.
            for dim, subscript in zip(reversed(range(len(kept))), subscripts, strict=True):
                extent = ir.Const(place.span, INT32, subscript.extent)
                address.bounds += self._bound(subscript.index, kept[dim], extent, dim, len(kept), name, place.span)
                address.terms.append(make.mul(make.as_uint(kept[dim]), subscript.stride // unit))
            place = dataclasses.replace(place, indices=kept)
        address.place = place
        return address

    def _reinterpreted(self, place: ir.Reinterpreted) -> ShadowAddress:
        if isinstance(place.base, ir.ArrayElement):
            return self._same_word(place, place.base)
        address = self.of(place.base)
        root, make = ir.root_of(place), Maker(place.span)
        assert isinstance(root, ir.BufferElement)
        index = self._index(place.index, root.buffer)
        size = place.type.size // self._plan.unit
        address.terms.append(make.mul(make.as_uint(index), size))
        address.place = dataclasses.replace(place, base=address.place, index=index)
        low, words = self._plan.buffer_word("low", root.buffer), self._plan.buffer_word("words", root.buffer)
        offset = self._keep(make.binary("sub", make.add(*address.terms), low), f"{root.buffer}_offset")
        inside = make.compare("lt", offset, words)
        fits = make.compare("ge", make.binary("sub", words, offset), uint(size))
        site = self._plan.sites.add(ValueSite("view_bounds", place.span, root.buffer))
        address.bounds.append(IndexBound(make.both([inside, fits]), site, uint(0), uint(0)))
        return address

    def _same_word(self, place: ir.Reinterpreted, base: ir.ArrayElement) -> ShadowAddress:
        """In an array of the kernel: the same word as another scalar."""
        *rows, last = base.indices
        moved = dataclasses.replace(base, span=place.span, indices=(*rows, sum_of(last, place.index)))
        address = self.of(moved)
        zero = ir.Const(place.span, INT32, 0)
        address.place = dataclasses.replace(place, base=address.place, index=zero)
        return address
