"""Random control flow over uniform and divergent values, with barriers sprinkled in, as kernels in IR."""

from __future__ import annotations

import linecache
import random
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

import vkamp as amp
from vkamp import sim
from vkamp.check.uniformity import check_uniformity
from vkamp.errors import CheckError, CompileError, Span
from vkamp.front import ArgType, BufferType, Request, ScalarType
from vkamp.front.lower import lower
from vkamp.ir.nodes import Barrier, Block, For, If, Kernel, Stmt, Subgroup, While, walk_statements
from vkamp.ir.types import INT32
from vkamp.ir.verify import verify

__all__ = ["accepted_part", "barriers", "lowered", "meetings", "run", "source_of"]

TILE, TILES = 4, 2
UNIFORM = ("a", "b", "c")
DIVERGENT = ("x", "y")
WAIT = "t.barrier.wait()"


class _Program:
    """The source of one kernel; every value is from 0 to 6, and every loop is short."""

    def __init__(self, seed: int, *, divergent: bool) -> None:
        self.random = random.Random(seed)
        self.divergent = divergent
        #: How often a value depends on the thread.
        self.rate = self.random.choice([0.03, 0.08, 0.2]) if divergent else 0.0
        self.lines: list[str] = []
        self.loops = 0
        self.functions: list[str] = []
        self.is_kernel = True

    # -- expressions

    def leaf(self) -> str:
        r = self.random
        if r.random() < self.rate:
            forms = [r.choice(DIVERGENT), "pair.x", f"data[{r.choice(DIVERGENT)}]"]
            return r.choice([*forms, "t.local[0]"] if self.is_kernel else forms)
        forms = [r.choice(UNIFORM), r.choice(UNIFORM), str(r.randint(0, 4)), f"cells[{r.randint(0, 2)}]", "pair.y"]
        forms.append(f"data[{r.choice(UNIFORM)}]")
        if self.is_kernel:
            forms += [f"flag[{r.randint(0, 1)}]", "t.tile[0]"]
        return r.choice(forms)

    def value(self) -> str:
        r = self.random
        kind = r.random()
        if kind < 0.4:
            return self.leaf()
        if kind < 0.5:
            return f"({self.leaf()} if {self.condition()} else {self.leaf()})"
        return f"({self.leaf()} {r.choice('+*')} {self.leaf()}) % {r.randint(2, 7)}"

    def condition(self) -> str:
        r = self.random
        simple = f"{self.leaf()} {r.choice(['<', '>', '==', '!='])} {self.leaf()}"
        if r.random() < 0.2:
            return f"({simple} {r.choice(['and', 'or'])} {self.leaf()} > {r.randint(0, 3)})"
        return simple

    # -- statements

    def add(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def block(self, indent: int, depth: int, in_loop: bool) -> None:
        for _ in range(self.random.randint(1, 4)):
            self.statement(indent, depth, in_loop)

    def statement(self, indent: int, depth: int, in_loop: bool) -> None:
        r = self.random
        kind = r.random()
        if depth and kind < 0.16:
            self.add(indent, f"if {self.condition()}:")
            self.block(indent + 1, depth - 1, in_loop)
            if r.random() < 0.5:
                self.add(indent, "else:")
                self.block(indent + 1, depth - 1, in_loop)
        elif depth and kind < 0.28:
            self.loop(indent, depth)
        elif in_loop and kind < 0.40:
            self.jump(indent)
        elif kind < 0.42:
            self.add(indent, f"if {self.condition()}:")
            self.add(indent + 1, "return" if self.is_kernel else f"return {self.value()}")
        elif kind < 0.62:
            self.wait(indent)
        elif kind < 0.68 and self.is_kernel:
            self.flag(indent)
        elif kind < 0.76 and self.functions:
            self.call(indent)
        else:
            self.assign(indent)

    def jump(self, indent: int) -> None:
        """A ``break`` or ``continue``, often of some threads only, and what it may have changed."""
        r = self.random
        condition = self.condition()
        if self.divergent and r.random() < 0.5:
            condition = f"{r.choice(DIVERGENT)} {r.choice('<>')} {r.choice(['k0', 'k1', 'k2', *UNIFORM])}"
        self.add(indent, f"if {condition}:")
        if r.random() < 0.5:
            self.assign(indent + 1)
        self.add(indent + 1, r.choice(["break", "continue"]))

    def wait(self, indent: int) -> None:
        r = self.random
        if r.random() < 0.7:
            test = f"{r.choice([*UNIFORM, 'k0', 'k1', 'k2', 'pair.y'])} {r.choice('<>')} {r.randint(0, 3)}"
            self.add(indent, f"if {r.choice([test, self.condition()])}:")
            indent += 1
        self.add(indent, WAIT)

    def loop(self, indent: int, depth: int) -> None:
        r = self.random
        self.loops += 1
        k = f"k{self.loops % 3}"
        kind = r.random()
        if kind < 0.6:
            self.add(indent, f"for {r.choice(UNIFORM) if r.random() < 0.2 else k} in range({self.leaf()} % 5):")
        elif kind < 0.8:
            count = f"count{self.loops}"
            self.add(indent, f"{count} = 0")
            self.add(indent, f"while {count} < 4 and {self.condition()}:")
            self.add(indent + 1, f"{count} += 1")
        else:
            count = f"count{self.loops}"
            self.add(indent, f"{count} = 0")
            self.add(indent, "while True:")
            self.add(indent + 1, f"{count} += 1")
            self.add(indent + 1, f"if {count} > {r.randint(1, 4)}:")
            self.add(indent + 2, "break")
        self.block(indent + 1, depth - 1, True)
        self.wait(indent)

    def assign(self, indent: int) -> None:
        r = self.random
        targets = [r.choice(UNIFORM)] * 4 + [f"cells[{r.randint(0, 2)}]", "pair.y"]
        if self.divergent:
            targets += [*DIVERGENT, "pair.x"]
        elif r.random() < 0.2:
            # Values may differ where no barrier depends on them.
            self.add(indent, f"x = (t.local[0] + {self.leaf()}) % 5")
            return
        self.add(indent, f"{r.choice(targets)} = {self.value()}")

    def flag(self, indent: int) -> None:
        """A store of one thread; often the barriers around it are there."""
        r = self.random
        surely = not self.divergent
        if surely or r.random() < 0.8:
            self.add(indent, WAIT)
        self.add(indent, f"if t.local[0] == {r.randint(0, TILE - 1)}:")
        self.add(indent + 1, f"flag[{r.randint(0, 1)}] = {self.leaf()}")
        if surely or r.random() < 0.8:
            self.add(indent, WAIT)

    def call(self, indent: int) -> None:
        r = self.random
        call = f"{r.choice(self.functions)}(t, data, cells, {self.value()}, {self.value()})"
        if r.random() < 0.15:
            self.add(indent, f"if {self.condition()} {r.choice(['and', 'or'])} {call} > 2:")
            self.assign(indent + 1)
        else:
            self.add(indent, f"{r.choice(UNIFORM)} = {call}")

    # -- the whole

    def function(self, name: str) -> None:
        self.is_kernel = False
        self.add(0, "@amp.func")
        self.add(0, f"def {name}(t, data, cells, p, q):")
        self.start("p", "q", "p" if not self.divergent else "q")
        self.block(1, 2, False)
        self.add(1, f"return {self.value()}")
        self.is_kernel = True
        self.functions.append(name)

    def start(self, a: str, b: str, x: str) -> None:
        self.add(1, f"a, b, c, x, y = {a} + 0, {b} + 0, 1 + 0, {x} + 0, {x} + 0")
        self.add(1, "k0, k1, k2 = 0, 0, 0")
        self.add(1, f"pair = amp.int2({x}, {a})")

    def run(self) -> str:
        for number in range(self.random.randint(0, 2)):
            self.function(f"f{number}")
        self.add(0, "def k(t, data, out, n, m):")
        self.add(1, "flag = amp.tile_static(2, amp.int32)")
        self.add(1, "cells = amp.private(3, amp.int32)")
        self.start("n", "m", "t.local[0]")
        self.add(1, "for k0 in range(3):")
        self.add(2, "cells[k0] = n")
        self.add(1, "if t.local[0] == 0:")
        self.add(2, "flag[0] = m")
        self.add(2, "flag[1] = n")
        self.add(1, WAIT)
        for _ in range(3):
            self.block(1, 3, False)
        self.add(1, "out[t] = a + b + c + x + y + cells[0] + pair.x")
        return "\n".join(self.lines) + "\n"


class _Subgroups(_Program):
    """With functions of subgroups, and the values that they give, between the barriers."""

    def leaf(self) -> str:
        if self.random.random() < 0.25:
            return self.random.choice(["u", "v", "u", "v", "amp.subgroup.id()"])
        return super().leaf()

    def wait(self, indent: int) -> None:
        r = self.random
        if r.random() < 0.35:
            super().wait(indent)
            return
        if r.random() < 0.7:
            tests = [
                *UNIFORM,
                "u",
                "u",
                "v",
                "v",
                "k0",
                "amp.subgroup.id()",
                *(DIVERGENT[:1] if self.divergent else ()),
            ]
            self.add(indent, f"if {r.choice(tests)} {r.choice('<>')} {r.randint(0, 3)}:")
            indent += 1
        function = r.choice(["max", "min", "broadcast_first"])
        self.add(indent, f"{r.choice('uv')} = amp.subgroup.{function}({self.value()})")

    def assign(self, indent: int) -> None:
        if self.random.random() < 0.1:
            self.add(indent, f"{self.random.choice('uv')} = {self.value()}")
        else:
            super().assign(indent)

    def start(self, a: str, b: str, x: str) -> None:
        super().start(a, b, x)
        self.add(1, f"u, v = {a} + 0, {b} + 0")


def source_of(seed: int, *, divergent: bool = True, subgroups: bool = False) -> str:
    """The source; without ``divergent`` no condition and no barrier depends on the thread."""
    return (_Subgroups if subgroups else _Program)(seed, divergent=divergent).run()


def lowered(source: str, name: str) -> Kernel:
    """The kernel of a source, in IR."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space: dict[str, Any] = {"amp": amp}
    exec(compile(source, name, "exec"), space)
    function = space["k"]
    assert isinstance(function, FunctionType)
    args: tuple[tuple[str, ArgType], ...] = (
        ("data", BufferType(INT32, 1, True, True, 0)),
        ("out", BufferType(INT32, 1, False, True, 1)),
        ("n", ScalarType(INT32)),
        ("m", ScalarType(INT32)),
    )
    kernel = lower(Request(function, False, 1, (TILE,), args, (), ()), {}).kernel
    verify(kernel)
    return kernel


def accepted_part(kernel: Kernel) -> Kernel:
    """The kernel without the rejected barriers and subgroup functions, which are removed one after the other."""
    while True:
        refused = _refused(kernel)
        if refused is None:
            return kernel
        before = barriers(kernel) + meetings(kernel)
        kernel = _without(kernel, refused.line)
        assert barriers(kernel) + meetings(kernel) < before, refused


def _refused(kernel: Kernel) -> Span | None:
    """What the analysis refuses."""
    try:
        check_uniformity(kernel)
    except CompileError as error:
        return error.span
    return None


def _without(kernel: Kernel, line: int) -> Kernel:
    def block(statements: Block) -> Block:
        kept = [s for s in statements if not (isinstance(s, (Barrier, Subgroup)) and s.span.line == line)]
        return tuple(map(inner, kept))

    def inner(statement: Stmt) -> Stmt:
        if isinstance(statement, If):
            return replace(statement, then=block(statement.then), orelse=block(statement.orelse))
        return replace(statement, body=block(statement.body)) if isinstance(statement, (For, While)) else statement

    *functions, body = (replace(f, body=block(f.body)) for f in (*kernel.functions, kernel.body))
    return replace(kernel, functions=tuple(functions), body=body)


def barriers(kernel: Kernel) -> int:
    """How many barriers the kernel has."""
    return sum(isinstance(s, Barrier) for f in (*kernel.functions, kernel.body) for s in walk_statements(f.body))


def meetings(kernel: Kernel) -> int:
    """How many functions of subgroups the kernel calls."""
    return sum(isinstance(s, Subgroup) for f in (*kernel.functions, kernel.body) for s in walk_statements(f.body))


def run(kernel: Kernel, seed: int) -> str:
    """The kind of what the reference accelerator finds in a run with random inputs; ``""``: nothing."""
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 5, 16).astype(np.int32)
    out = np.zeros(TILE * TILES, np.int32)
    n, m = (int(v) for v in rng.integers(0, 5, 2))
    try:
        sim.run(kernel, (TILE * TILES,), {"data": data, "out": out}, {"n": n, "m": m}, seed=seed, subgroup_size=2)
    except CheckError as error:
        return str(error.error_code)
    return ""
