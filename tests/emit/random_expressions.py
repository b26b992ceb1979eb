"""Kernels of random integer expressions, built as IR."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

from tests.emit.programs import Program, buffers, scalars
from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.types import BOOL, INT32, UINT32, Scalar

AT = Span("random.py", 0, 0, 0, 0)
COUNT = 40


def template(idx, a, u, out, n):
    out[idx[0], 0] = a[idx] + n + int(u[idx])


def base_kernel() -> ir.Kernel:
    args = buffers(a=(INT32, 1), u=(UINT32, 1), out=(INT32, 2)) + scalars(n=INT32)
    return Program(template, 1, None, args).kernel()


class Maker:
    """Makes expressions whose value is defined for every input."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def number(self, kind: Scalar, depth: int) -> ir.Expr:
        if depth == 0:
            return self.leaf(kind)
        choice = self.random.randrange(9)
        if choice == 0:
            return ir.Unary(AT, kind, self.random.choice(["neg", "invert"]), self.number(kind, depth - 1))
        if choice == 1:
            return ir.Select(
                AT, kind, self.truth(depth - 1), self.number(kind, depth - 1), self.number(kind, depth - 1)
            )
        if choice == 2:
            other = UINT32 if kind == INT32 else INT32
            return ir.Cast(AT, kind, self.number(self.random.choice([other, kind]), depth - 1))
        if choice == 3:
            name = self.random.choice(["min", "max"] + ["abs"] * (kind == INT32))
            args = tuple(self.number(kind, depth - 1) for _ in range(1 if name == "abs" else 2))
            return ir.Builtin(AT, kind, name, args)
        return self.binary(kind, depth)

    def binary(self, kind: Scalar, depth: int) -> ir.Expr:
        op: Any = self.random.choice(
            ["add", "add", "sub", "mul", "bitand", "bitor", "bitxor", "shl", "shr"]
            + ["floordiv", "floormod", "tdiv", "trem"] * 2
        )
        left = self.number(kind, depth - 1)
        if op in ("shl", "shr"):
            right: ir.Expr = ir.Const(AT, INT32, self.random.randrange(32))
        elif op in ("floordiv", "floormod", "tdiv", "trem"):
            right = self.divisor(kind, depth)
        else:
            right = self.number(kind, depth - 1)
        return ir.Binary(AT, kind, op, left, right)

    def divisor(self, kind: Scalar, depth: int) -> ir.Expr:
        """Not 0, and not -1, which would pass the largest int."""
        if self.random.random() < 0.6:
            values = [1, 2, 3, 4, 7, 8, 64, 1000, 2**30, 2**31 - 1]
            if kind == INT32:
                values += [-2, -3, -8, -(2**31)]
            return ir.Const(AT, kind, self.random.choice(values))
        part = self.number(kind, depth - 1)
        part = ir.Binary(AT, kind, "bitand", part, ir.Const(AT, kind, 255))
        return ir.Binary(AT, kind, "bitor", part, ir.Const(AT, kind, 1))

    def leaf(self, kind: Scalar) -> ir.Expr:
        index = ir.ThreadIndex(AT, INT32, "global", 0)
        if self.random.random() < 0.3:
            values = [0, 1, 2, 5, 255, 2**31 - 1] + ([-1, -7, -(2**31)] if kind == INT32 else [2**32 - 1])
            return ir.Const(AT, kind, self.random.choice(values))
        if kind == UINT32:
            return ir.Load(AT, kind, ir.BufferElement(AT, kind, "u", (index,)))
        element = ir.Load(AT, kind, ir.BufferElement(AT, kind, "a", (index,)))
        extent = ir.BufferExtent(AT, kind, "out", 1)
        return self.random.choice([index, element, element, ir.ScalarValue(AT, kind, "n"), extent])

    def truth(self, depth: int) -> ir.Expr:
        if depth > 0 and self.random.random() < 0.4:
            op: Any = self.random.choice(["and", "or"])
            return ir.Logical(AT, BOOL, op, self.truth(depth - 1), self.truth(depth - 1))
        if depth > 0 and self.random.random() < 0.2:
            return ir.Unary(AT, BOOL, "not", self.truth(depth - 1))
        kind = self.random.choice([INT32, UINT32])
        comparison: Any = self.random.choice(["eq", "ne", "lt", "le", "gt", "ge"])
        depth = max(depth - 1, 0)
        return ir.Compare(AT, BOOL, comparison, self.number(kind, depth), self.number(kind, depth))


def random_kernel(seed: int) -> ir.Kernel:
    maker, base = Maker(seed), base_kernel()
    index = ir.ThreadIndex(AT, INT32, "global", 0)
    body = []
    for number in range(COUNT):
        place = ir.BufferElement(AT, INT32, "out", (index, ir.Const(AT, INT32, number)))
        body.append(ir.Assign(AT, place, maker.number(INT32, 4)))
    return dataclasses.replace(base, body=dataclasses.replace(base.body, body=tuple(body), variables=()))
