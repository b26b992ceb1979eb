"""Check mode: a kernel that checks itself, IR -> IR.

The instrumented kernel behaves as the kernel, writes its findings into an additional container, the report, and
continues: a load out of bounds gives 0, a store out of bounds is omitted, an invalid divisor becomes 1. The only
feature that it needs are 32-bit atomics in buffers.

Divergent barriers need no check here: a barrier under control flow that is not uniform does not compile, and where
``amp.uniform`` asserts that a value is uniform, all threads continue with the value of the first thread.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass

from vkamp.artifacts import ContainerAccess
from vkamp.check.instrument.layout import ReportLayout, Sites
from vkamp.check.instrument.make import NOWHERE, REPORT, THREAD, Maker, uint
from vkamp.check.instrument.plan import CHECKED_TILES, STATIC_SHADOWS, Plan, buffer_word, tiles_word
from vkamp.check.instrument.rewrite import Rewriter
from vkamp.ir import nodes as ir
from vkamp.ir.requirements import contiguous, memory_unit, typed_access
from vkamp.ir.types import INT32, UINT32

__all__ = ["REPORT", "Instrumented", "Layout", "Sites", "buffer_word", "instrument"]

#: If there are more accesses of one kind of memory, races are not checked, since each pair of accesses has a cell.
_MAX_ACCESSES = 1500
#: Bits that are reserved for the number of the barrier interval.
_INTERVAL_BITS = 8


@dataclass(frozen=True)
class Instrumented:
    """An instrumented kernel and how to read its report.

    ``shadows``: the words of a group of entries for each container that is checked for races; ``words``: the additional
    launch words of the kernel, by the names in :mod:`places`; ``not_covered``: descriptions of what the kernel does not
    check.
    """

    kernel: ir.Kernel
    layout: ReportLayout
    sites: Sites
    shadows: Mapping[str, int]
    words: tuple[str, ...]
    not_covered: tuple[str, ...]


def instrument(
    kernel: ir.Kernel,
    proved: frozenset[str] = frozenset(),
    left_out: frozenset[str] = frozenset(),
    longest: int | None = None,
) -> Instrumented:
    """The kernel with the checks of check mode; none of its functions may take a tile_static array.

    ``proved``: tile_static variables and containers without races, which need no check; ``left_out``: containers that
    are not checked because their shadow would be too large; ``longest``: that of :class:`Plan`.
    """
    containers, only_written = _judged(kernel, proved | left_out)
    threads = math.prod(kernel.tile) if kernel.tile is not None else 1
    statics = [v for v in kernel.tile_statics if threads > 1 and v.name not in proved]
    judged_static = frozenset(v.name for v in statics)
    not_covered: list[str] = []
    if containers and _has_edges(kernel):
        not_covered.append("races on containers: atomic loads and stores with an order may order the accesses")
        containers = frozenset()
    while True:
        plan = _plan(kernel, containers, only_written, judged_static, threads)
        plan.longest = longest
        functions = [_rewritten(plan, f) for f in (*kernel.functions, kernel.body)]
        layout = _layout(plan, kernel, threads)
        if containers and _too_many(layout.global_, layout):
            not_covered.append(f"races on containers: {layout.global_} accesses are too many to record")
            containers = frozenset()
        elif judged_static and _too_many(layout.static, layout):
            not_covered.append(f"races on tile_static memory: {layout.static} accesses are too many to record")
            judged_static = frozenset()
        else:
            break
    not_covered += _notes(plan)
    helpers = plan.helpers.functions(layout, _atomics_may_set(plan))
    made = _assembled(kernel, plan, functions, helpers)
    shadows = {name: plan.tables[name] for name in sorted(containers)}
    return Instrumented(made, layout, plan.sites, shadows, tuple(plan.words), tuple(not_covered))


def _has_edges(kernel: ir.Kernel) -> bool:
    """Whether it has acquires or releases."""
    statements = (s for f in (*kernel.functions, kernel.body) for s in ir.walk_statements(f.body))
    return any(isinstance(s, ir.Atomic) and s.order for s in statements)


def _judged(kernel: ir.Kernel, unneeded: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The containers that are checked for races, and those of them whose memory is only written.

    Containers that share memory are treated alike.
    """
    kinds: dict[int, ContainerAccess] = {}
    names: dict[int, set[str]] = {}
    for (name, _), kind in typed_access(kernel).items():
        storage = kernel.buffer(name).storage
        kinds[storage] = kinds.get(storage, ContainerAccess()) | kind
        names.setdefault(storage, set()).add(name)
    judged: set[str] = set()
    only_written: set[str] = set()
    for storage, members in names.items():
        kind = kinds[storage]
        # Atomic updates and reads cannot race with each other.
        if not kind.writes or members <= unneeded:
            continue
        judged |= members
        if not kind.reads and not kind.atomics:
            only_written |= members
    return frozenset(judged), frozenset(only_written)


def _plan(
    kernel: ir.Kernel,
    containers: frozenset[str],
    only_written: frozenset[str],
    judged_static: frozenset[str],
    threads: int,
) -> Plan:
    near = threads > 1
    tables = {name: (2 if near else 1) if name in only_written else (6 if near else 3) for name in containers}
    first: dict[str, int] = {}
    total, unit = 0, memory_unit(kernel)
    for variable in kernel.tile_statics:
        first[variable.name] = total
        total += variable.type.size // unit
    again = contiguous(kernel)
    return Plan(kernel, containers, judged_static, only_written, first, tables, again, _ordered(kernel), near, unit)


def _ordered(kernel: ir.Kernel) -> tuple[bool, bool]:
    """Whether a fence that does not wait and a barrier of another kind may order global, tile_static memory."""
    statements = (s for f in (*kernel.functions, kernel.body) for s in ir.walk_statements(f.body))
    fences = [s.fence for s in statements if isinstance(s, ir.Barrier)]
    apart, waits = [f for f in fences if not f.waits], [f for f in fences if f.waits]
    return (
        any(f.orders_global for f in apart) and not all(f.orders_global for f in waits),
        any(f.orders_tile_static for f in apart) and not all(f.orders_tile_static for f in waits),
    )


def _notes(plan: Plan) -> list[str]:
    """Descriptions of what the plan assumes without a check."""
    out = []
    for space, ordered in zip(("global", "tile_static"), plan.ordered, strict=True):
        if ordered:
            out.append(
                f"the order of {space} memory by a fence and a barrier in separate statements: every barrier is "
                "assumed to order it"
            )
    if plan.wide_uniform:
        out.append("amp.uniform for values that are not 32 bits wide")
    if plan.partly_set:
        out.append("unwritten members of structs that are copied as a whole out of tile_static or private memory")
    return out


def _rewritten(plan: Plan, function: ir.Function) -> ir.Function:
    """Rewrites a function; the first statements of the kernel's function are added later, since they depend on the
    layout."""
    return Rewriter(plan, function).run()


def _layout(plan: Plan, kernel: ir.Kernel, threads: int) -> ReportLayout:
    words = sum(v.type.size // plan.unit for v in kernel.tile_statics)
    sites = plan.sites
    tables = (3 if plan.judged_static else 1) + _atomics_may_set(plan)
    return ReportLayout(threads, len(sites.values), len(sites.static), len(sites.global_), words, tables, plan.unit)


def _atomics_may_set(plan: Plan) -> bool:
    """Whether an atomic update may be the first write of a word of tile_static memory, in addition to plain writes."""
    return any(s.access == "atomic" for s in plan.sites.static)


def _too_many(accesses: int, layout: ReportLayout) -> bool:
    return accesses > _MAX_ACCESSES or layout.thread_bits + accesses.bit_length() > 32 - _INTERVAL_BITS


def _assembled(
    kernel: ir.Kernel, plan: Plan, functions: list[ir.Function], helpers: tuple[ir.Function, ...]
) -> ir.Kernel:
    layout = _layout(plan, kernel, _threads(kernel))
    before = _first_statements(kernel, plan, layout)
    *callees, body = functions
    body = dataclasses.replace(body, body=(*before, *body.body))
    storage = max((b.storage for b in kernel.buffers), default=-1) + 1
    report = ir.BufferParam(REPORT, UINT32, 1, False, True, storage, NOWHERE)
    words = tuple(ir.ScalarParam(name, UINT32, NOWHERE) for name in plan.words)
    return dataclasses.replace(
        kernel,
        buffers=(*kernel.buffers, report),
        scalars=(*kernel.scalars, *words),
        functions=(*helpers, *callees),
        body=body,
        thread_variables=_thread_variables(plan),
    )


def _threads(kernel: ir.Kernel) -> int:
    return math.prod(kernel.tile) if kernel.tile is not None else 1


def _thread_variables(plan: Plan) -> tuple[ir.Variable, ...]:
    """The additional words that the kernel uses."""
    used = [THREAD.tile, THREAD.local]
    if plan.longest is not None:
        used.append(THREAD.iterations)
    if plan.judged:
        used.append(THREAD.signature)
        if plan.near:
            used.append(THREAD.in_global)
    if plan.sites.static:
        used += [THREAD.in_static, THREAD.static_at]
    return tuple(used)


def _first_statements(kernel: ir.Kernel, plan: Plan, layout: ReportLayout) -> list[ir.Stmt]:
    """Computes the number and the signatures of the thread."""
    make = Maker(NOWHERE)

    def number(kind: str, sizes: list[ir.Expr]) -> ir.Expr:
        total: ir.Expr = uint(0)
        for dim in range(kernel.rank):
            index = ir.ThreadIndex(NOWHERE, INT32, kind, dim)  # type: ignore[arg-type]
            scaled = make.mul(total, sizes[dim]) if dim else uint(0)
            total = make.add(scaled, make.as_uint(index))
        return total

    tiles: list[ir.Expr] = [uint(0), *(plan.launch_word(tiles_word(d)) for d in range(1, kernel.rank))]
    out: list[ir.Stmt] = []
    if kernel.tile is None:
        out.append(make.set(THREAD.tile, number("global", tiles)))
        out.append(make.set(THREAD.local, uint(0)))
    else:
        out.append(make.set(THREAD.tile, number("tile", tiles)))
        out.append(make.set(THREAD.local, number("local", [uint(n) for n in kernel.tile])))
    tile, local = make.load(THREAD.tile), make.load(THREAD.local)
    if plan.longest is not None:
        out.append(make.set(THREAD.iterations, uint(0)))
    if plan.judged:
        thread = make.add(make.mul(tile, 1 << layout.thread_bits), local)
        out.append(make.set(THREAD.signature, make.mul(thread, 1 << layout.global_bits)))
        if plan.near:
            bits = layout.global_bits
            first = uint(1 << (bits + layout.thread_bits))
            out.append(make.set(THREAD.in_global, make.add(make.mul(local, 1 << bits), first)))
    if plan.sites.static:
        bits = layout.static_bits
        first = uint(1 << (bits + layout.thread_bits))
        out.append(make.set(THREAD.in_static, uint(0)))
        out.append(make.set(THREAD.static_at, uint(0)))
        at = make.add(plan.launch_word(STATIC_SHADOWS), make.mul(tile, layout.tile_words))
        out.append(
            make.when(
                make.compare("lt", tile, plan.launch_word(CHECKED_TILES)),
                [
                    make.set(THREAD.in_static, make.add(make.mul(local, 1 << bits), first)),
                    make.set(THREAD.static_at, at),
                ],
            )
        )
    return out
