"""Arrays of a tile that share memory, and the barriers between their uses.

Arrays that are never in use at the same time (``Kernel.apart``) may share memory, so that a thread must not access one
while another thread may still access the other. A barrier must wait between the last access to the one and the first
access to the other, on every path through the kernel and for every assignment of addresses.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from vkamp.check.uniformity import Uniformity
from vkamp.errors import Note, Span, diagnostic
from vkamp.ir import nodes as ir
from vkamp.ir.types import Array


@dataclass
class _Accessed:
    """The arrays that were accessed since the last barrier, with the place; and whether control continues from here."""

    touched: dict[str, Span] = field(default_factory=dict)
    live: bool = True

    def copy(self) -> _Accessed:
        return _Accessed(dict(self.touched), self.live)


def _join(*states: _Accessed, dead: bool = False) -> _Accessed:
    """The state where paths join. If it is ``dead``, the accesses count too, since the threads that left made them."""
    live = [s for s in states if s.live]
    touched: dict[str, Span] = {}
    for state in reversed(states if dead or not live else live):
        touched |= state.touched
    return _Accessed(touched, bool(live))


@dataclass
class _Frame:
    """A function for one call: the tile_static arrays behind its parameters, and the states at its jumps."""

    call: Span | None = None
    arrays: Mapping[str, str] = field(default_factory=dict)
    exits: list[_Accessed] = field(default_factory=list)
    breaks: list[list[_Accessed]] = field(default_factory=list)
    continues: list[list[_Accessed]] = field(default_factory=list)

    def name(self, variable: ir.Variable) -> str | None:
        """The tile_static array that a variable is."""
        return variable.name if variable.storage == "tile_static" else self.arrays.get(variable.name)


def check_reuse(kernel: ir.Kernel, uniformity: Uniformity) -> None:
    """Refuse memory that is used for another array with no barrier in between (VKA632)."""
    if kernel.apart and math.prod(kernel.tile or ()) > 1:
        _ReuseAnalysis(kernel, uniformity).block(kernel.body.body, _Accessed(), _Frame())


class _ReuseAnalysis:
    def __init__(self, kernel: ir.Kernel, uniformity: Uniformity) -> None:
        self.kernel = kernel
        self.uniformity = uniformity
        self.functions = {f.name: f for f in kernel.functions}
        self.known: dict[object, _Accessed] = {}

    def block(self, block: ir.Block, state: _Accessed, frame: _Frame) -> _Accessed:
        for statement in block:
            if not state.live:
                break
            state = self.statement(statement, state, frame)
        return state

    def statement(self, statement: ir.Stmt, state: _Accessed, frame: _Frame) -> _Accessed:
        """The state after a statement; changes the given state."""
        for name, span in _accesses(statement, frame):
            self.access(name, span, state, frame)
        if isinstance(statement, ir.If):
            return self.branch(statement, state, frame)
        if isinstance(statement, (ir.For, ir.While)):
            return self.loop(statement, state, frame)
        if isinstance(statement, ir.Call):
            return self.call(statement, state, frame)
        if isinstance(statement, ir.Barrier):
            if statement.fence.waits and statement.fence.orders_tile_static:
                state.touched.clear()
        elif isinstance(statement, ir.JUMPS):
            ends = {ir.Break: frame.breaks, ir.Continue: frame.continues}.get(type(statement), [frame.exits])
            ends[-1].append(state.copy())
            state.live = False
        return state

    def access(self, name: str, span: Span, state: _Accessed, frame: _Frame) -> None:
        for other, before in state.touched.items():
            if frozenset((name, other)) in self.kernel.apart:
                mine, previous = self.declared(name), self.declared(other)
                raise diagnostic(
                    "VKA632",
                    replace(span, caller=frame.call),
                    notes=(Note(replace(before, caller=None), f"{previous} is used here"),),
                    name=mine,
                    other=previous,
                    barrier=f"{self.kernel.index_name}.barrier.wait_with_tile_static_memory_fence()",
                )
        state.touched.setdefault(name, span)

    def declared(self, name: str) -> str:
        """An array in a message, with its line, since several may have the same name."""
        span = next(v.span for v in self.kernel.tile_statics if v.name == name)
        written = linecache.getline(span.file, span.line).encode()[span.column :].decode(errors="replace")
        return f"`{written.partition('=')[0].strip() or name}` of line {span.line}"

    def branch(self, statement: ir.If, state: _Accessed, frame: _Frame) -> _Accessed:
        then = self.block(statement.then, state.copy(), frame)
        if self.uniformity.divergence(statement) is None:
            return _join(then, self.block(statement.orelse, state, frame))
        # Other threads take the other side at the same time.
        beside = _Accessed({**state.touched, **then.touched})
        return _join(then, self.block(statement.orelse, beside, frame), dead=True)

    def loop(self, statement: ir.For | ir.While, state: _Accessed, frame: _Frame) -> _Accessed:
        divergent = self.uniformity.divergence(statement) is not None
        while True:
            frame.breaks.append([])
            frame.continues.append([])
            end = self.block(statement.body, state.copy(), frame)
            breaks, continues = frame.breaks.pop(), frame.continues.pop()
            following = _join(state, end, *continues)
            if following.touched.keys() <= state.touched.keys():
                return _join(state, *breaks, dead=divergent)
            state = _Accessed(following.touched)

    def call(self, statement: ir.Call, state: _Accessed, frame: _Frame) -> _Accessed:
        function = self.functions[statement.function]
        arrays: dict[str, str] = {}
        for parameter, argument in zip(function.params, statement.args, strict=True):
            if isinstance(parameter.type, Array) and isinstance(argument, ir.Local):
                name = frame.name(argument.variable)
                if name is not None:
                    arrays[parameter.name] = name
        key = function.name, frozenset(arrays.items()), frozenset(state.touched)
        if key not in self.known:
            inner = _Frame(replace(statement.span, caller=frame.call), arrays)
            end = self.block(function.body, state.copy(), inner)
            self.known[key] = _join(end, *(replace(e, live=True) for e in inner.exits))
        return self.known[key].copy()


def _accesses(statement: ir.Stmt, frame: _Frame) -> Iterator[tuple[str, Span]]:
    """The arrays that a statement itself accesses; arrays that it passes to a function are accessed there."""
    places = [n.place for n in ir.own_nodes(statement) if isinstance(n, ir.Load)]
    if not isinstance(statement, ir.Call):
        places += ir.changed_places(statement)
    for place in places:
        root = ir.root_of(place)
        name = frame.name(root.variable) if isinstance(root, ir.Local) else None
        if name is not None:
            yield name, place.span
