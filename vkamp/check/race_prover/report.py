"""Races between the threads of a tile: the compiler proves that there are none, finds one, or does not know. The
interpreter runs a kernel for all threads of one tile together. *Proved* covers every access that any launch of the
kernel can make inside bounds; *found* is certain wherever the code around both accesses is reached. Everything else is
left to check mode.

C++ AMP's model: docs/conformance.md, section 12.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from vkamp.check.race_prover.accesses import Conflict, SharedAccess, Step
from vkamp.check.race_prover.interpreter import Interpreter
from vkamp.check.race_prover.run import OutOfBudget, RaceFound, Run
from vkamp.check.races import RaceFinding
from vkamp.check.uniformity import Uniformity
from vkamp.errors import CompileError, Note, UnsupportedFeatureError, diagnostic, render
from vkamp.ir import nodes as ir
from vkamp.ir.requirements import access
from vkamp.messages import MESSAGES

#: The maximum number of threads of a tile that is analysed; no device supports more.
_THREADS = 1 << 14
#: More tiles than any launch has in a dimension.
ANY_NUMBER = 1 << 32


@dataclass(frozen=True)
class RaceVerdicts:
    """The known facts about races on each tile_static variable and each container that the kernel changes, by name. For
    ``proved`` ones, no two threads conflict unless an index is out of bounds, or a dimension has more than
    ``most_tiles`` tiles; ``unknown`` ones may have races. ``advice``: barriers that order nothing.
    """

    proved: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()
    advice: tuple[RaceFinding, ...] = ()
    most_tiles: int = ANY_NUMBER


def judge_races(kernel: ir.Kernel, uniformity: Uniformity) -> RaceVerdicts:
    """Prove the tile_static variables and changed containers free of races, or find one.

    Raises:
        CompileError: two threads of a tile certainly conflict on an element (VKA630, VKA631).
    """
    changed = [name for name, what in access(kernel).items() if what.changes]
    names = frozenset([*(v.name for v in kernel.tile_statics), *changed])
    waits = any(isinstance(s, ir.Barrier) for s in kernel.statements())
    if not names and not waits:
        return RaceVerdicts()
    if math.prod(kernel.tile or ()) > _THREADS:
        return RaceVerdicts(unknown=names)
    run = Run(kernel, uniformity)
    try:
        Interpreter(run).block(kernel.body.body)
    except RaceFound as found:
        name = found.conflict.later.root[1]
        disjoint = name in changed and _most_tiles(kernel, run, name) > 0
        raise _error(kernel, uniformity, found.conflict, disjoint) from None
    except OutOfBudget:
        return RaceVerdicts(unknown=names)
    most = {name: _most_tiles(kernel, run, name) for name in changed}
    lost = {name for _, name in run.unknown} | {name for name in changed if not most[name]}
    least = min([most[name] for name in changed if name not in lost], default=ANY_NUMBER)
    return RaceVerdicts(names - lost, names & lost, tuple(_advice(kernel, run)), least)


def _most_tiles(kernel: ir.Kernel, run: Run, name: str) -> int:
    """The number of tiles in a dimension up to which no two of them access the same element of a container; 0 if they
    may, or if another parameter shares its memory.
    """
    buffer, kinds = kernel.buffer(name), access(kernel)
    sharing = [b.name for b in kernel.buffers if b.storage == buffer.storage]
    if not any(kinds[other].writes for other in sharing):
        return ANY_NUMBER
    return run.partitions[name].most_tiles if sharing == [name] and buffer.dense else 0


# -- the error -----------------------------------------------------------------------------------------------------

_DONE = {"read": "read", "write": "written", "atomic": "updated atomically"}


def _error(
    kernel: ir.Kernel, uniformity: Uniformity, found: Conflict, disjoint: bool
) -> CompileError | UnsupportedFeatureError:
    """The error that shows both accesses, and how to order them."""
    later, earlier = found.later, found.earlier
    element = _element(later, found.now)
    now, before = _thread(kernel, found.now), _thread(kernel, found.before)
    if later.path == earlier.path and later.kind == earlier.kind == "write":
        first, second = (_thread(kernel, n) for n in sorted((found.now, found.before)))
        return diagnostic("VKA631", later.span, element=element, first=first, second=second)
    space = later.root[0]
    note = f"{_DONE[earlier.kind]} here by thread {before}"
    when = " in the next iteration" if _in_next_iteration(later, earlier) else ""
    return diagnostic(
        "VKA630",
        later.span,
        notes=(Note(replace(earlier.span, caller=None), note),),
        element=element,
        done=_DONE[later.kind],
        did=f"{_DONE[earlier.kind]} by" if earlier.kind != later.kind else "by",
        when=when,
        space=space,
        advice=_ordering(kernel, uniformity, later, earlier, disjoint),
        now=now,
        before=before,
    )


def _element(made: SharedAccess, thread: int) -> str:
    """The element in a message, with its index if that is known."""
    name = made.root[1]
    numbers = []
    for index in made.index:
        assert index is not None
        if not index.known:
            return f"an element of `{name}`"
        numbers.append(str(index.lane if isinstance(index.lane, int) else int(index.lane[thread])))
    return f"`{name}[{', '.join(numbers)}]`" if numbers else f"`{name}`"


def _thread(kernel: ir.Kernel, number: int) -> str:
    """A thread by its index in the tile."""
    assert kernel.tile is not None
    return f"({', '.join(str(int(i)) for i in np.unravel_index(number, kernel.tile))})"


def _parting(later: SharedAccess, earlier: SharedAccess) -> tuple[Step, Step] | None:
    """The first steps in which the paths to two accesses differ, unless one path is a part of the other."""
    return next((steps for steps in zip(later.path, earlier.path, strict=False) if steps[0] != steps[1]), None)


def _in_next_iteration(later: SharedAccess, earlier: SharedAccess) -> bool:
    """Whether the later access is in another iteration of the same loop."""
    parting = _parting(later, earlier)
    return parting is not None and parting[0][0] is parting[1][0]


def _ordering(
    kernel: ir.Kernel, uniformity: Uniformity, later: SharedAccess, earlier: SharedAccess, disjoint: bool
) -> str:
    """Which barrier to insert, and where."""
    space = later.root[0]
    fence = f"wait_with_{space}_memory_fence()"
    common = itertools.takewhile(lambda steps: steps[0] == steps[1], zip(later.path, earlier.path, strict=False))
    around = [step[0] for step, _ in common]
    inside = any(isinstance(s, ir.Call) for s in around)
    barrier = f"`{fence}`" if inside else f"`{kernel.index_name}.barrier.{fence}`"
    parting = _parting(later, earlier)
    uneven = next((s for s in around if uniformity.divergence(s) is not None), None)
    parent = around[-1] if around else None
    if space == "global" and not disjoint:
        return "write into another container: a barrier orders the threads of one tile only"
    if parting is None:
        if uneven is None:
            return f"read what you need into a variable, wait at {barrier}, then write"
        return (
            f"read what you need into a variable, wait at {barrier} with all threads, outside of the {_what(uneven)}, "
            f"and write in another"
        )
    mine, other = parting
    if mine[0] is not other[0] and isinstance(parent, ir.If) and _side(parent, mine[0]) != _side(parent, other[0]):
        return f"write two `if`s instead of the `else`, and wait between them at {barrier} with all threads"
    if uneven is not None:
        return (
            f"end the {_what(uneven)} between the two, wait at {barrier} with all threads, and continue in a second one"
        )
    if mine[0] is other[0]:
        if uniformity.divergence(mine[0]) is None:
            return f"wait at the end of the loop's body, too: {barrier}"
        return "let each iteration access separate elements, or use atomics"
    line = mine[0].span.line
    if line == other[0].span.line:
        return f"write line {line} as two statements, and wait between them at {barrier}"
    return f"wait before line {line}: {barrier}"


def _what(statement: ir.Stmt) -> str:
    return f"{'`if`' if isinstance(statement, ir.If) else 'loop'} of line {statement.span.line}"


def _side(parent: ir.If, statement: ir.Stmt) -> bool:
    return any(s is statement for s in parent.orelse)


# -- barriers that order nothing -----------------------------------------------------------------------------------


def _advice(kernel: ir.Kernel, run: Run) -> list[RaceFinding]:
    """The barriers that no access before them and none after them needs, on any path through the kernel."""
    if kernel.tile is None:
        return []
    found = []
    row = MESSAGES["VKA640"]
    for key, (statement, frame) in run.visited.items():
        # Another call, in this kernel or another one, may need a barrier of a function.
        if key in run.useful or frame.call is not None:
            continue
        fence = statement.fence
        kinds = [k for k, o in (("tile_static", fence.orders_tile_static), ("global", fence.orders_global)) if o]
        where = "after it" if key in run.opened else "before it, since the barrier before"
        fields = {"memory": " or ".join(kinds), "where": where}
        text = render(f"VKA640: {row.text.format(**fields)}", statement.span, (), row.help.format(**fields))
        found.append(RaceFinding("VKA640", text, statement.span))
    return found
