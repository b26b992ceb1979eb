"""Loops that the driver ends too early: some drivers end all loops of a thread after a number of iterations.

A ``for`` that ended early has numbers left, which its last counter shows. A ``while`` shows nothing, so iterations are
counted: of all loops that a driver cannot unroll, since it counts those, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from vkamp.check.instrument.layout import ValueSite
from vkamp.check.instrument.make import THREAD, Maker, is_simple, uint
from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.types import BOOL, INT32, UINT32, Type

#: Drivers may unroll loops with fewer iterations.
_SHORT = 64


class LoopChecks:
    """The checks of one function's loops. ``longest``: the iterations after which the driver ends them. ``new`` makes a
    variable, and ``note`` the statement that records a finding.
    """

    def __init__(
        self, longest: int, new: Callable[[str, Type], ir.Variable], note: Callable[[ValueSite], ir.Stmt]
    ) -> None:
        self.longest = longest
        self._new, self._note = new, note
        #: For each loop around the current statement: the variable that says that `break` left it.
        self._left: list[ir.Variable | None] = []

    def leave(self, statement: ir.Stmt) -> list[ir.Stmt]:
        """What comes before a ``break``."""
        left = self._left[-1]
        return [] if left is None else [Maker(statement.span).set(left, _bool(statement.span, True))]

    def of_while(self, loop: ir.While, block: Callable[[ir.Block], ir.Block]) -> tuple[ir.Block, list[ir.Stmt]]:
        """The body that counts, and what comes after the loop."""
        make = Maker(loop.span)
        self._left.append(None)
        body = (self._counted(make), *block(loop.body))
        self._left.pop()
        too_many = make.compare("ge", make.load(THREAD.iterations), uint(self.longest))
        return body, [make.when(too_many, [self._found(loop)])]

    def of_for(
        self, loop: ir.For, block: Callable[[ir.Block], ir.Block]
    ) -> tuple[list[ir.Stmt], ir.For, list[ir.Stmt]]:
        """What comes before the loop, the loop, and what comes after it."""
        kind, step = loop.variable.type, loop.step
        is_known = isinstance(step, ir.Const) and step.value != 0 and kind in (INT32, UINT32)
        if _is_short(loop) or not is_known:
            self._left.append(None)
            made = dataclasses.replace(loop, body=block(loop.body))
            self._left.pop()
            return [], made, []
        make = Maker(loop.span)
        left, last = self._new("left", BOOL), self._new(f"last_{loop.variable.name}", UINT32)
        before: list[ir.Stmt] = []
        start, stop = (self._kept(each, before) for each in (loop.start, loop.stop))
        # As if there had been an iteration before the first one.
        distance = uint(int(step.value)) if isinstance(step, ir.Const) else uint(0)
        before += [
            make.set(left, _bool(loop.span, False)),
            make.set(last, make.binary("sub", make.as_uint(start), distance)),
        ]
        self._left.append(left)
        body = block(loop.body)
        self._left.pop()
        noted = make.set(last, make.as_uint(make.load(loop.variable)))
        made = dataclasses.replace(loop, start=start, stop=stop, body=(noted, self._counted(make), *body))
        is_up = isinstance(step, ir.Const) and step.value > 0
        ends = (make.as_uint(stop), make.load(last)) if is_up else (make.load(last), make.as_uint(stop))
        size = distance if is_up else uint(-int(distance.value))
        rest = make.compare("gt", make.binary("sub", *ends), size)
        is_early = make.both([make.compare("lt" if is_up else "gt", start, stop), rest, make.opposite(make.load(left))])
        return before, made, [make.when(is_early, [self._found(loop)])]

    def _kept(self, bound: ir.Expr, before: list[ir.Stmt]) -> ir.Expr:
        """A bound that later statements cannot change."""
        if is_simple(bound) and not isinstance(bound, ir.Load):
            return bound
        variable, make = self._new("bound", bound.type), Maker(bound.span)
        before.append(make.set(variable, bound))
        return make.load(variable)

    def _found(self, loop: ir.Stmt) -> ir.Stmt:
        return self._note(ValueSite("loop", loop.span, dim=self.longest))

    @staticmethod
    def _counted(make: Maker) -> ir.Stmt:
        return make.set(THREAD.iterations, make.add(make.load(THREAD.iterations), uint(1)))


def _is_short(loop: ir.For) -> bool:
    """Whether a driver may unroll a loop."""
    bounds = [each.value for each in (loop.start, loop.stop, loop.step) if isinstance(each, ir.Const)]
    if loop.unroll or len(bounds) < 3 or bounds[2] == 0:
        return loop.unroll
    return len(range(*map(int, bounds))) < _SHORT


def _bool(span: Span, value: bool) -> ir.Const:
    return ir.Const(span, BOOL, value)
