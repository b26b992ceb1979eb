"""What is checked in a kernel, and the state that its functions share while they are rewritten."""

from __future__ import annotations

from dataclasses import dataclass, field

from vkamp.check.instrument.helpers import CheckHelpers
from vkamp.check.instrument.layout import Sites
from vkamp.check.instrument.make import NOWHERE
from vkamp.ir import nodes as ir
from vkamp.ir.types import UINT32


@dataclass
class Plan:
    """What is checked in a kernel, and the sites of the checks; shared by its functions.

    ``judged``: the containers, ``judged_static``: the tile_static variables that are checked for races;
    ``only_written``: those containers whose memory is only written; ``tables``: the words of a group of entries for
    each of them. ``reinterpreted``: containers that are read as another type. ``static_first``: the first word of each
    tile_static variable in its tile. ``ordered``: whether separate fences may order global, tile_static memory.
    """

    kernel: ir.Kernel
    judged: frozenset[str]
    judged_static: frozenset[str]
    only_written: frozenset[str]
    static_first: dict[str, int]
    tables: dict[str, int]
    reinterpreted: frozenset[str]
    ordered: tuple[bool, bool]
    near: bool
    #: Bytes of a word of memory.
    unit: int = 4
    #: The iterations after which the driver ends a thread's loops, if the kernel's may have so many; else None.
    longest: int | None = None
    sites: Sites = field(default_factory=Sites)
    helpers: CheckHelpers = field(default_factory=CheckHelpers)
    words: dict[str, None] = field(default_factory=dict)
    partly_set: bool = False
    wide_uniform: bool = False

    def launch_word(self, name: str) -> ir.Expr:
        """A launch word that the instrumentation adds to the kernel."""
        self.words[name] = None
        return ir.ScalarValue(NOWHERE, UINT32, name)

    def buffer_word(self, kind: str, buffer: str, dim: int = 0) -> ir.Expr:
        """A launch word of a container."""
        return self.launch_word(buffer_word(kind, buffer, dim))


#: Names of launch words: the start of the cells with which ``amp.uniform`` compares, the start of the shadows of
#: tile_static memory, and the number of tiles with a shadow.
UNIFORM_CELLS, STATIC_SHADOWS, CHECKED_TILES = "uniform cells", "tile_static shadows", "checked tiles"


def tiles_word(dim: int) -> str:
    """The name of a launch word: the number of tiles in a dimension."""
    return f"tiles {dim}"


def buffer_word(kind: str, buffer: str, dim: int = 0) -> str:
    """The name of a launch word: the start of a container (``at``), the ``stride`` of a dimension, its first word and
    the number of its words (``low``, ``words``), the ``shadow`` of its memory; all in words."""
    return f"{buffer} {kind} {dim}" if kind == "stride" else f"{buffer} {kind}"
