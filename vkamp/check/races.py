"""Certain races: all threads store to one element without synchronization. Only certain races are reported: a store
that the uniformity analysis proved to be executed by all threads together, at an index that is the same for all of
them.

C++ AMP's model: docs/conformance.md, section 12.
"""

from __future__ import annotations

import linecache
import math
from dataclasses import dataclass, replace
from typing import Any

from vkamp.check.state import SharedStore
from vkamp.check.uniformity import Uniformity
from vkamp.errors import Span, diagnostic, render
from vkamp.ir import nodes as ir
from vkamp.ir.arithmetic import BINARY
from vkamp.ir.builtins import ATOMICS, BUILTINS
from vkamp.ir.text import place_text
from vkamp.ir.types import Scalar
from vkamp.messages import MESSAGES


@dataclass(frozen=True)
class RaceFinding:
    """A race that does not stop the compilation, for a ``RaceWarning``.

    ``text`` is the whole rendered message, ``span`` the place it points at.
    """

    code: str
    text: str
    span: Span


#: Expressions whose value may differ between the threads of a launch.
_DIFFERENT = (ir.Load, ir.ThreadIndex, ir.SubgroupIndex)


def check_certain_races(kernel: ir.Kernel, uniformity: Uniformity) -> list[RaceFinding]:
    """Refuse an element that all threads of a tile update at once; report one that all store to.

    ``uniformity`` is the table of this kernel. A tile of one thread has no races; an untiled kernel
    counts as one with many threads. The findings are in program order.

    Raises:
        CompileError: an update without an atomic (VKA610, VKA611).
    """
    if kernel.tile is not None and math.prod(kernel.tile) == 1:
        return []
    for store in uniformity.stores:
        if _is_update(store.statement):
            raise _update_error(kernel, store)
    findings: list[RaceFinding] = []
    for store in uniformity.stores:
        finding = _finding(kernel, store)
        if finding not in findings:
            findings.append(finding)
    return findings


def _is_update(statement: ir.Assign) -> bool:
    """Whether the stored value depends on the old value."""
    return statement.update or any(
        isinstance(node, ir.Load) and node.place == statement.place for node in ir.walk(statement.value)
    )


def _update_error(kernel: ir.Kernel, store: SharedStore) -> Exception:
    atomic = _atomic_for(store.statement)
    fields = _fields(kernel, store)
    if atomic is not None:
        element = _source(store.statement.place, kernel)
        return diagnostic("VKA610", _span(store), atomic=atomic, element=element, **fields)
    combine = "combine them in another launch"
    if kernel.tile is not None:
        combine = f"let one thread combine them after a barrier: {fields['single']}"
    return diagnostic("VKA611", _span(store), combine=combine, **fields)


def _finding(kernel: ir.Kernel, store: SharedStore) -> RaceFinding:
    row, fields, span = MESSAGES["VKA620"], _fields(kernel, store), _span(store)
    same = not any(isinstance(node, _DIFFERENT) for node in ir.walk(store.statement.value))
    fields["outcome"] = "the same value, but still a race" if same else "which value remains is undefined"
    headline = f"VKA620: {row.text.format(**fields)}"
    return RaceFinding("VKA620", render(headline, span, (), row.help.format(**fields)), span)


def _fields(kernel: ir.Kernel, store: SharedStore) -> dict[str, Any]:
    """The names in the messages."""
    index = kernel.index_name
    if kernel.tile is None:
        whole, which = "all threads", index
    else:
        whole, which = "all threads of a tile", f"{index}.local"
    zeros = f"({', '.join('0' * kernel.rank)})"
    first = f"{which} == {zeros}" if kernel.rank > 1 else f"{which}[0] == 0"
    return {"threads": whole, "name": store.root, "single": f"`if {first}:`"}


def _span(store: SharedStore) -> Span:
    """The element, reached through the calls that lead there."""
    outer: Span | None = None
    for call in reversed(store.calls):
        outer = replace(call, caller=outer)
    return replace(store.statement.place.span, caller=outer)


def _atomic_for(statement: ir.Assign) -> str | None:
    """The atomic that does this update, if there is one for elements of this type.

    It is not advised for a float in tile_static memory, where a tree of partial sums is faster than the atomic's loop.
    """
    value = statement.value
    if isinstance(value, ir.Cast):
        value = value.operand
    if isinstance(value, ir.Binary):
        name = BINARY[value.op].atomic
        operands: tuple[ir.Expr, ...] = (value.left, value.right)
    elif isinstance(value, ir.Builtin):
        form = BUILTINS[value.name].integers
        name = form.atomic if form is not None else ""
        operands = value.args
    else:
        return None
    if not name:
        return None
    kind = statement.place.type
    shared = isinstance(ir.root_of(statement.place), ir.BufferElement)
    fits = isinstance(kind, Scalar) and kind.name in ATOMICS[name].types and (kind.is_integer or shared)
    own = [isinstance(o, ir.Load) and o.place == statement.place for o in operands]
    first_only = name == "atomic_fetch_sub"
    return name if fits and (own[0] if first_only else any(own)) else None


def _source(place: ir.Place, kernel: ir.Kernel) -> str:
    """The element as the author wrote it."""
    span = place.span
    line = linecache.getline(span.file, span.line).encode()
    text = line[span.column : span.end_column].decode(errors="replace").strip()
    if span.line == span.end_line and text:
        return text
    return place_text(place, kernel.index_name)
