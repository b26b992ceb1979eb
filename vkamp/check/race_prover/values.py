"""Values of expressions for all threads of a tile together; records every access to shared memory."""

from __future__ import annotations

from typing import Literal

import numpy as np

from vkamp.check.race_prover.affine import (
    DATA,
    FALSE,
    TRUE,
    AffineValue,
    LanePredicate,
    Value,
    binary,
    both,
    comparison,
    constant,
    either,
    function,
    known,
    negation,
    wrapped,
)
from vkamp.check.race_prover.noting import AccessNotes
from vkamp.check.race_prover.run import TRACKED, Run
from vkamp.ir import nodes as ir
from vkamp.ir.builtins import BUILTINS
from vkamp.ir.types import BOOL, Array, Scalar


class Values:
    """Evaluates expressions at the current point of the run; records loads in ``accesses``."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.accesses = AccessNotes(run, self.number)

    def value(self, expr: ir.Expr) -> Value:
        """The value; records its accesses."""
        if expr.type not in TRACKED and self.run.facts.touches_no_shared_memory(expr) and not isinstance(expr, ir.Load):
            return None
        if type(expr) in _HANDLERS:
            value: Value = _HANDLERS[type(expr)](self, expr)
            return value
        for child in ir.children(expr):
            if isinstance(child, ir.Expr):
                self.value(child)
        return None

    def number(self, expr: ir.Expr) -> AffineValue | None:
        """The value of an integer expression."""
        value = self.value(expr)
        if isinstance(value, LanePredicate):
            if not value.known:
                return None
            lane = np.asarray(value.can).astype(np.int64)
            return constant(int(lane)) if lane.ndim == 0 else AffineValue(lane, 0, 1)
        return value if isinstance(value, AffineValue) else None

    def truth(self, expr: ir.Expr) -> LanePredicate:
        """The value of a condition."""
        value = self.value(expr)
        return value if isinstance(value, LanePredicate) else LanePredicate(True, False)

    def _const(self, expr: ir.Const) -> Value:
        if expr.type == BOOL:
            return TRUE if expr.value else FALSE
        return constant(int(expr.value)) if expr.type in TRACKED else None

    def _scalar_value(self, expr: ir.ScalarValue) -> Value:
        if expr.type == BOOL:
            return LanePredicate(True, False, (self.run.symbols.named(("scalar", expr.name), constant=True), True))
        return self.run.symbols.given(("scalar", expr.name)) if expr.type in TRACKED else None

    def _thread_index(self, expr: ir.ThreadIndex) -> AffineValue:
        size = self.run.tile[expr.dim]
        local = AffineValue(self.run.locals[expr.dim], 0, size - 1) if size > 1 else constant(0)
        if expr.kind == "local":
            return local
        symbol = self.run.symbols.named(("tile", expr.dim))
        self.run.symbols.tiles[symbol] = size
        if expr.kind == "tile":
            return AffineValue(0, 0, 0, ((symbol, 1),))
        if expr.kind == "tile_origin":
            return AffineValue(0, 0, 0, ((symbol, size),))
        return AffineValue(local.lane, local.low, local.high, ((symbol, size),))

    def _buffer_extent(self, expr: ir.BufferExtent) -> AffineValue:
        return self.run.symbols.given(("extent", expr.buffer, expr.dim))

    def _unary(self, expr: ir.Unary) -> Value:
        if expr.op == "not" or expr.type == BOOL:
            return negation(self.truth(expr.operand))
        operand = self.number(expr.operand)
        if operand is None or not isinstance(expr.type, Scalar) or not expr.type.is_integer:
            return None
        if expr.op == "neg":
            return binary("sub", constant(0), operand, expr.type, self.run.symbols)
        return binary("sub", constant(-1), operand, expr.type, self.run.symbols)

    def _binary(self, expr: ir.Binary) -> Value:
        if expr.type == BOOL:
            left, right = self.truth(expr.left), self.truth(expr.right)
            if expr.op in ("bitand", "bitor"):
                return both(left, right) if expr.op == "bitand" else either(left, right)
            differs = np.not_equal(left.can, right.can)
            return known(differs) if left.known and right.known else None
        first, second = self.number(expr.left), self.number(expr.right)
        if first is None or second is None or expr.type not in TRACKED:
            return None
        assert isinstance(expr.type, Scalar)
        return binary(expr.op, first, second, expr.type, self.run.symbols)

    def _compare(self, expr: ir.Compare) -> Value:
        left, right = self.value(expr.left), self.value(expr.right)
        if isinstance(left, AffineValue) and isinstance(right, AffineValue):
            assert isinstance(expr.left.type, Scalar)
            return comparison(expr.op, left, right, expr.left.type, self.run.symbols)
        return None

    def _logical(self, expr: ir.Logical) -> LanePredicate:
        left = self.truth(expr.left)
        if self.run.facts.touches_no_shared_memory(expr.right):
            right = self.truth(expr.right)
        else:
            # The right side runs only if the left side does not decide the result.
            holds, fails = self.run.split(left, uniform=False)
            way = holds if expr.op == "and" else fails
            if way is None:
                return left
            with self.run.narrowed(way):
                right = self.truth(expr.right)
        return both(left, right) if expr.op == "and" else either(left, right)

    def _select(self, expr: ir.Select) -> Value:
        truth = self.truth(expr.condition)
        then, orelse = self.run.split(truth, uniform=False)
        first = second = None
        if then is not None:
            with self.run.narrowed(then):
                first = self.value(expr.then)
        if orelse is not None:
            with self.run.narrowed(orelse):
                second = self.value(expr.orelse)
        if then is None or orelse is None:
            return second if then is None else first
        return self.run.blend(first, then[0], second, orelse[0], together=truth.guard is not None)

    def _cast(self, expr: ir.Cast) -> Value:
        source, target = expr.operand.type, expr.type
        if target == BOOL and source == BOOL:
            return self.truth(expr.operand)
        value = self.number(expr.operand)
        if value is None or source not in TRACKED or target not in TRACKED:
            return None
        if target == BOOL:
            assert isinstance(source, Scalar)
            return comparison("ne", value, constant(0), source, self.run.symbols)
        assert isinstance(target, Scalar)
        made = wrapped(value.lane, value.low, value.high, target)
        return AffineValue(made.lane, made.low, made.high, value.terms)

    def _builtin(self, expr: ir.Builtin) -> Value:
        args = [self.number(a) for a in expr.args]
        numbers = [a for a in args if a is not None]
        if not isinstance(expr.type, Scalar) or not expr.type.is_integer or len(numbers) < len(args):
            return None
        return function(BUILTINS[expr.name], numbers, expr.type, self.run.symbols)

    def _item_index(self, expr: ir.ItemIndex) -> Value:
        return self.value(expr.index)

    def _load(self, expr: ir.Load) -> Value:
        place = expr.place
        if isinstance(place, ir.Local) and not isinstance(place.type, Array):
            name = place.variable.name
            value = self.run.state.env.get(name)
            if (
                not isinstance(value, (AffineValue, LanePredicate))
                and place.type in TRACKED
                and self.run.is_uniform(name)
            ):
                value = self.run.state.env[name] = self.run.lost(place.type)
            return value
        self.accesses.note("read", place)
        return DATA if self.run.facts.in_tile_static(place) else None

    def is_data(self, expr: ir.Expr) -> bool:
        """Whether a value in tile_static memory decides the value, together with known values only."""
        return self._source(expr) == "data"

    def _source(self, expr: ir.Expr) -> Literal["data", "known"] | None:
        """The sources of a value; ``None``: there are others, too."""
        if isinstance(expr, ir.Const):
            return "known"
        if isinstance(expr, ir.Load):
            if not isinstance(expr.place, ir.Local):
                return "data" if self.run.facts.in_tile_static(expr.place) else None
            return _source_of(self.run.state.env.get(expr.place.variable.name))
        parts = {self._source(child) for child in ir.children(expr) if isinstance(child, ir.Expr)}
        if None not in parts and "data" in parts:
            return "data"
        return _source_of(self.value(expr)) if self.run.facts.touches_no_shared_memory(expr) else None


def _source_of(value: Value) -> Literal["data", "known"] | None:
    if value is DATA:
        return "data"
    return "known" if isinstance(value, (AffineValue, LanePredicate)) and value.known else None


_HANDLERS = ir.handlers(Values, ir.Expr)
