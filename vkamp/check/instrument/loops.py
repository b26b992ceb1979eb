"""Loops that the driver ends too early: some drivers end all loops of a thread after a number of iterations.

A ``for`` by a constant step that ended early has numbers left, which its last counter shows. Other loops show nothing,
so iterations are counted: of all loops that a driver cannot unroll, since it counts those, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from vkamp.check.instrument.layout import ValueSite
from vkamp.check.instrument.make import THREAD, Maker, uint
from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.types import BOOL, INT32, UINT32, Type

#: Drivers may unroll loops with fewer iterations.
_SHORT = 64


class LoopChecks:
    """The checks of one function's loops. ``longest``: the iterations after which the driver ends them. ``new`` makes a
    variable, ``named`` one with the value of an expression, ``note`` the statement that records a finding, and
    ``block`` a loop's body with its checks.
    """

    def __init__(
        self,
        longest: int,
        new: Callable[[str, Type], ir.Variable],
        named: Callable[[ir.Expr, str], ir.Expr],
        note: Callable[[ValueSite], ir.Stmt],
        block: Callable[[ir.Block], ir.Block],
    ) -> None:
        self.longest = longest
        self._new, self._named, self._note, self._block = new, named, note, block
        #: For each loop around the current statement: the variable that says that `break` left it.
        self._left: list[ir.Variable | None] = []

    def leave(self, statement: ir.Break) -> list[ir.Stmt]:
        """What comes before a ``break``."""
        left = self._left[-1]
        return [] if left is None else [Maker(statement.span).set(left, _bool(statement.span, True))]

    def counted(self, loop: ir.For | ir.While) -> tuple[ir.Block, ir.Stmt]:
        """The body that counts, and what comes after the loop."""
        make = Maker(loop.span)
        too_many = make.compare("ge", make.load(THREAD.iterations), uint(self.longest))
        return self._body(loop, None), make.when(too_many, [self._found(loop)])

    def of_for(self, loop: ir.For) -> list[ir.Stmt]:
        """The loop with what comes before and after it."""
        if _is_short(loop):
            self._left.append(None)
            made = dataclasses.replace(loop, body=self._block(loop.body))
            self._left.pop()
            return [made]
        if not isinstance(loop.step, ir.Const) or loop.variable.type not in (INT32, UINT32):
            body, after = self.counted(loop)
            return [dataclasses.replace(loop, body=body), after]
        make, step = Maker(loop.span), int(loop.step.value)
        left, last = self._new("left", BOOL), self._new(f"last_{loop.variable.name}", UINT32)
        start, stop = self._kept(loop.start), self._kept(loop.stop)
        noted = make.set(last, make.as_uint(make.load(loop.variable)))
        body = (noted, *self._body(loop, left))
        ends = (make.as_uint(stop), make.load(last)) if step > 0 else (make.load(last), make.as_uint(stop))
        rest = make.compare("gt", make.binary("sub", *ends), uint(abs(step)))
        is_early = [make.compare("lt" if step > 0 else "gt", start, stop), rest, make.opposite(make.load(left))]
        return [
            make.set(left, _bool(loop.span, False)),
            # As if there had been an iteration before the first one.
            make.set(last, make.binary("sub", make.as_uint(start), uint(step))),
            dataclasses.replace(loop, start=start, stop=stop, body=body),
            make.when(make.both(is_early), [self._found(loop)]),
        ]

    def _body(self, loop: ir.For | ir.While, left: ir.Variable | None) -> ir.Block:
        make = Maker(loop.span)
        self._left.append(left)
        body = self._block(loop.body)
        self._left.pop()
        return make.set(THREAD.iterations, make.add(make.load(THREAD.iterations), uint(1))), *body

    def _kept(self, bound: ir.Expr) -> ir.Expr:
        """A bound that the loop's body cannot change."""
        return bound if isinstance(bound, ir.Const) else self._named(bound, "bound")

    def _found(self, loop: ir.Stmt) -> ir.Stmt:
        return self._note(ValueSite("loop", loop.span, dim=self.longest))


def _is_short(loop: ir.For) -> bool:
    """Whether a driver may unroll a loop, or it has no iterations."""
    if loop.unroll or (isinstance(loop.step, ir.Const) and loop.step.value == 0):
        return True
    bounds = [int(each.value) for each in (loop.start, loop.stop, loop.step) if isinstance(each, ir.Const)]
    return len(bounds) == 3 and len(range(*bounds)) < _SHORT


def _bool(span: Span, value: bool) -> ir.Const:
    return ir.Const(span, BOOL, value)
