"""A kernel as Python code: the result of the translation, which a launch runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import CodeType
from typing import Any, NamedTuple

from vkamp.ir import nodes as ir
from vkamp.ir.fences import Fence
from vkamp.sim.faults import Site
from vkamp.sim.schedule import Switches


class Mode(NamedTuple):
    """How a kernel is translated.

    ``races``: with calls that check every access for races. ``switches``: where threads are switched in addition to
    barriers. ``trace``: with calls that show the effect of each statement.
    """

    races: bool = True
    switches: Switches = ""
    trace: bool = False


@dataclass
class TranslatedProgram:
    """A kernel as Python code.

    ``codes``: the module of each function with its name in the generated code; callees come first, the kernel last.
    ``constants``: the names with the same value in every launch. ``written``: the buffers that the kernel stores to.
    ``fences[site]`` is the fence of a waiting barrier, ``meetings[site]`` a subgroup function. ``split``: whether
    separate fences and barriers may order global, tile_static memory together. ``waits``: whether a thread of the
    kernel is a generator, which yields the site of a barrier or meeting where it waits; ``switched``: whether threads
    are switched elsewhere than at barriers, too, at :data:`SWITCH` or a meeting.
    """

    kernel: ir.Kernel
    #: Bytes of a word of memory.
    unit: int = 4
    codes: list[tuple[str, CodeType]] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    written: frozenset[str] = frozenset()
    fences: dict[int, Fence] = field(default_factory=dict)
    meetings: dict[int, ir.Subgroup | ir.MatrixOperation] = field(default_factory=dict)
    #: The types as which the generated code accesses buffers.
    letters: set[str] = field(default_factory=set)
    waits: bool = False
    switched: bool = False
    split: tuple[bool, bool] = (False, False)
    #: Whether it has acquires or releases.
    edged: bool = False
    #: Whether it prints, or stops for the debugger.
    speaks: bool = False

    def function_of(self, code: CodeType) -> ir.Function | None:
        """The function that a code object was made from."""
        functions = (*self.kernel.functions, self.kernel.body)
        for (_, module), function in zip(self.codes, functions, strict=True):
            if code in module.co_consts:
                return function
        return None
