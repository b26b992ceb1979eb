"""The state of the uniformity analysis: at a program point, in a loop, in a function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from vkamp.check.reasons import Diversion, Reason, graft
from vkamp.errors import Span
from vkamp.ir import nodes as ir

#: The group of threads over which values and control flow are uniform.
Group = Literal["tile", "subgroup"]

#: Why each part of a value may differ: by field name or letter, ``""`` for a value without parts.
Parts = Mapping[str, Reason | None]


@dataclass(frozen=True)
class SharedStore:
    """A plain store that all threads of a tile execute together, all of them to one element.

    ``root`` names the tile_static variable or the container; ``calls`` are the calls through which
    the store is reached, innermost first.
    """

    statement: ir.Assign
    space: Literal["tile_static", "container"]
    root: str
    calls: tuple[Span, ...] = ()


@dataclass
class FlowState:
    """The state at a program point.

    ``divergent``: variables of this function that may differ. ``dirty``: tile_static variables that changed since the
    last barrier, with the store if there is one. ``gone``, ``left``, ``skipped``: threads have left the function, the
    innermost loop, or its iteration, and others have not. ``assigned_divergently``: variables that were assigned in the
    enclosing branch or loop by only some threads of the tile, each with the place (``None``: not a variable of the
    source). They differ where the threads meet again. A state that is not ``live`` is after a jump: no thread continues
    from it.
    """

    divergent: dict[str, Reason] = field(default_factory=dict)
    dirty: dict[str, Span | None] = field(default_factory=dict)
    assigned_divergently: dict[str, Span | None] = field(default_factory=dict)
    gone: Diversion | None = None
    left: Diversion | None = None
    skipped: Diversion | None = None
    live: bool = True

    def copy(self) -> FlowState:
        # Branches and loops copy it often, and `replace` takes four times as long.
        divergent, dirty, assigned = dict(self.divergent), dict(self.dirty), dict(self.assigned_divergently)
        return FlowState(divergent, dirty, assigned, self.gone, self.left, self.skipped, self.live)

    def covers(self, other: FlowState) -> bool:
        """Whether ``other`` adds nothing."""
        return (
            other.divergent.keys() <= self.divergent.keys()
            and other.dirty.keys() <= self.dirty.keys()
            and other.assigned_divergently.keys() <= self.assigned_divergently.keys()
            and (self.gone is not None or other.gone is None)
            and (self.left is not None or other.left is None)
            and (self.skipped is not None or other.skipped is None)
            and (self.live or not other.live)
        )


def join(first: FlowState, *others: FlowState) -> FlowState:
    """The state where paths meet; the earliest reason of a variable stays, so that loops settle."""
    result = first.copy()
    for other in others:
        if other.live:
            if result.live:
                result.divergent = {**other.divergent, **result.divergent}
                result.dirty = {**other.dirty, **result.dirty}
                result.assigned_divergently = {**other.assigned_divergently, **result.assigned_divergently}
            else:
                result = replace(other.copy(), gone=result.gone, left=result.left, skipped=result.skipped)
        result.gone = result.gone or other.gone
        result.left = result.left or other.left
        result.skipped = result.skipped or other.skipped
    return result


@dataclass
class LoopFlow:
    """A loop being analysed: the depths of ``control`` and ``outer_divergent_stores``, and the states at its jumps.

    ``skip`` is a ``continue`` in it that only some of the threads take, once one is found.
    """

    depth: int
    layer: int
    skip: Diversion | None = None
    breaks: list[FlowState] = field(default_factory=list)
    continues: list[FlowState] = field(default_factory=list)


@dataclass
class FunctionFlow:
    """A function being analysed for one kind of call.

    ``arguments`` continues the reasons that end in a parameter. ``shared`` maps array parameters to
    the tile_static variable behind them, ``twins`` array parameters to the first one with the same
    private array. ``outer_divergent_stores``: what was assigned divergently before each branch and loop around began.
    """

    function: ir.Function
    call: Span | None = None
    outer: FunctionFlow | None = None
    arguments: Mapping[tuple[int, str], Reason] = field(default_factory=dict)
    shared: Mapping[str, str] = field(default_factory=dict)
    twins: Mapping[str, str] = field(default_factory=dict)
    control: list[Diversion] = field(default_factory=list)
    loops: list[LoopFlow] = field(default_factory=list)
    exits: list[FlowState] = field(default_factory=list)
    results: list[Parts] = field(default_factory=list)
    stores: list[SharedStore] = field(default_factory=list)
    outer_divergent_stores: list[Mapping[str, Span | None]] = field(default_factory=list)
    path: tuple[int, ...] = ()
    heads: dict[tuple[int, ...], FlowState] = field(default_factory=dict)
    skips: dict[tuple[int, ...], Diversion] = field(default_factory=dict)

    def calls(self) -> Iterator[Span]:
        """The calls that led here, innermost first."""
        frame: FunctionFlow | None = self
        while frame is not None and frame.call is not None:
            yield frame.call
            frame = frame.outer

    def resolve(self, reason: Reason) -> Reason:
        """The reason, continued from a parameter at its end to the argument."""
        frame: FunctionFlow | None = self
        while frame is not None:
            reason = graft(reason, frame.arguments)
            frame = frame.outer
        return reason

    def tile_static(self, variable: ir.Variable) -> str | None:
        """The tile_static variable that this is or refers to."""
        if variable.storage == "tile_static":
            return variable.name
        return self.shared.get(variable.name) if variable.storage == "parameter" else None

    def leave(self, state: FlowState, layer: int) -> FlowState:
        """Records the state at a jump out of the branches and loops from ``layer`` on; no thread continues after it."""
        leaving = state.copy()
        for outer in self.outer_divergent_stores[layer:]:
            leaving.assigned_divergently = {**outer, **leaving.assigned_divergently}
        state.live = False
        return leaving

    def key(self, variable: ir.Variable) -> str:
        """The name of a variable that is not tile_static in the state."""
        return self.twins.get(variable.name, variable.name)


@dataclass(frozen=True)
class Summary:
    """The effects of a device function for one kind of call; reasons may end in its parameters.

    ``dirty``: ``None`` if the call leaves the tile_static variables as they are.
    """

    results: tuple[Parts, ...]
    arrays: Mapping[int, Reason]
    dirty: Mapping[str, Span | None] | None
    stores: tuple[SharedStore, ...]
