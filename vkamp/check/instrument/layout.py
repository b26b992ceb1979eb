"""The layout of the report buffer, and the signatures of accesses.

The buffer contains, in 32-bit words: the number of findings and a flag, a table of findings, a cell for each possible
finding (the first thread with the finding takes it), a cell for the assertions of uniformity of each tile, and the
shadows: a group of entries for each word of checked memory. Such a word has 32 bits, or the size of the kernel's
smallest type.

An entry of a shadow is a signature plus the number of the access in the kernel.  Entries are only ever raised, by
``atomicMax``.  Within a tile a signature is ``interval | thread in the tile``, so that an access of the running
barrier interval is larger than all of earlier ones; in a launch it is ``tile | thread in the tile``.  Who reads a word
is kept twice, once with the thread inverted: the largest and the smallest of all readers are enough to know whether
there is one other than oneself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from vkamp.errors import Span
from vkamp.findings import AccessKind
from vkamp.ir.types import Type

#: Words of the report: the number of findings, and whether a counter of intervals overflowed.
COUNT, EXHAUSTED, FIRST_RECORD = 0, 1, 2
#: The table of findings: cell + 1, own tile and thread, the other's tile and thread, two values.
RECORDS, RECORD_WORDS = 512, 8

ValueKind = Literal[
    "bounds", "view_bounds", "lane", "uninitialised", "division", "shift", "conversion", "assert", "uniformity", "loop"
]


@dataclass(frozen=True)
class ValueSite:
    """A place where a value can be wrong.

    ``dim``: of an index; of a loop, the most iterations. ``kind``: of a variable. ``text``: of an assertion, the name
    of a shuffle, or the indexed object.
    """

    what: ValueKind
    span: Span
    variable: str = ""
    dim: int | None = None
    type: Type | None = None
    text: str = ""


@dataclass(frozen=True)
class RaceSite:
    """An access of memory that several threads may touch; ``first`` is the variable's first word in its tile."""

    span: Span
    variable: str
    access: AccessKind
    type: Type
    first: int = 0


@dataclass
class Sites:
    """Everything that can be found, in the order of the cells: values, unset words, races in tile_static memory, races
    in containers.  Accesses are numbered from one."""

    values: list[ValueSite] = field(default_factory=list)
    static: list[RaceSite] = field(default_factory=list)
    global_: list[RaceSite] = field(default_factory=list)

    def add(self, site: ValueSite) -> int:
        """The number of a new place where a value can be wrong."""
        self.values.append(site)
        return len(self.values) - 1


@dataclass(frozen=True)
class ReportLayout:
    """The numbers of one instrumented kernel.

    ``threads``: of a tile, one where there are none.  ``static_tables`` and ``global_tables``: words of a shadow's
    group.
    """

    threads: int
    values: int
    static: int
    global_: int
    static_words: int
    static_tables: int
    #: Bytes of a word of the kernel's memory.
    unit: int = 4

    @property
    def thread_bits(self) -> int:
        """Bits of a thread in its tile."""
        return (self.threads - 1).bit_length()

    @property
    def static_bits(self) -> int:
        """Bits of an access of tile_static memory."""
        return self.static.bit_length()

    @property
    def global_bits(self) -> int:
        """Bits of an access of a container."""
        return self.global_.bit_length()

    @property
    def cells(self) -> int:
        """The start of the cells."""
        return FIRST_RECORD + RECORDS * RECORD_WORDS

    @property
    def unset(self) -> int:
        """The cell of access 0 of unset tile_static memory."""
        return self.values

    @property
    def static_pairs(self) -> int:
        """The cell of accesses 0 and 0 of tile_static memory."""
        return self.unset + self.static + 1

    @property
    def global_pairs(self) -> int:
        """The cell of accesses 0 and 0 of containers."""
        return self.static_pairs + (self.static + 1) ** 2

    @property
    def fixed_words(self) -> int:
        """Words before the cells for assertions of uniformity, one for each tile."""
        return self.cells + self.global_pairs + (self.global_ + 1) ** 2

    @property
    def tile_words(self) -> int:
        """Words of the shadow of one tile's tile_static memory."""
        return self.static_words * self.static_tables
