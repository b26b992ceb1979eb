"""Random kernels of whole numbers, which plain Python runs as well: no value ever leaves int32."""

from __future__ import annotations

import linecache
import random
from types import SimpleNamespace
from typing import Any

import numpy as np

import vkamp as amp

#: Every variable is in -LIMIT..LIMIT, so that no product of two and no sum of some such overflows.
LIMIT = 500
THREADS = 24
RESULTS = 4
ARRAY = 5


class _Program:
    """The source of one kernel under construction."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.functions: list[tuple[str, int, int]] = []
        self.names = 0
        self.arrays: list[str] = []

    # -- expressions -------------------------------------------------------------------------------------------

    def leaf(self, scope: list[str]) -> str:
        kind = self.random.random()
        if kind < 0.65 and scope:
            return self.random.choice(scope)
        if kind < 0.75 and self.arrays:
            array = self.random.choice(self.arrays)
            return f"{array}[{self.subscript(scope)}]"
        return str(self.random.choice([0, 1, 2, 3, 7, 10, 64, -1, -2, -5, 100, -128, 333]))

    def subscript(self, scope: list[str]) -> str:
        return f"({self.random.choice(scope or ['2'])}) % {ARRAY}"

    def expr(self, scope: list[str], depth: int) -> str:
        """A value of at most a few million."""
        r = self.random
        if depth == 0:
            return self.leaf(scope)
        a, b = self.expr(scope, depth - 1), self.expr(scope, depth - 1)
        x, y = self.leaf(scope), self.leaf(scope)
        forms = [
            lambda: f"({a} {r.choice('+-')} {b})",
            lambda: f"{x} * {y}",
            lambda: f"({a}) {r.choice(['//', '%'])} {r.choice(['3', '-4', '8', '-7', '16', '1', '-1'])}",
            lambda: f"({a}) {r.choice(['//', '%'])} ({x} % 7 + 1)",
            lambda: f"({a}) {r.choice(['//', '%'])} (-3 - {x} % 5)",
            lambda: f"(({a}) {r.choice('&|^')} {x})",
            lambda: f"(({x}) << ({y} % 4))",
            lambda: f"(({a}) >> ({y} % 5))",
            lambda: f"({a} if {self.condition(scope, depth - 1)} else {b})",
            lambda: f"{r.choice(['min', 'max'])}({a}, {b})",
            lambda: f"abs({a})",
            lambda: f"({r.choice('-~+')}({a}))",
            lambda: f"int({self.condition(scope, depth - 1)})",
            lambda: f"amp.{r.choice(['tdiv', 'trem'])}({a}, {r.choice(['3', '-4', '8'])})",
            lambda: self.call(scope, depth) or x,
        ]  # fmt: skip
        return r.choice(forms)()

    def call(self, scope: list[str], depth: int) -> str:
        """A call of a function with one result, its arguments within the limit."""
        single = [f for f in self.functions if f[2] == 1]
        if not single:
            return ""
        name, params, _ = self.random.choice(single)
        args = [self.small(self.expr(scope, depth - 1)) if self.random.random() < 0.5 else self.leaf(scope)
                for _ in range(params)]  # fmt: skip
        return f"{name}({', '.join(args)})"

    def small(self, text: str) -> str:
        return (
            f"({text}) % {self.random.choice([17, 101, 2 * LIMIT - 1])} - {self.random.choice([0, 3, 40, LIMIT - 1])}"
        )

    def condition(self, scope: list[str], depth: int) -> str:
        r = self.random
        if depth <= 0 or r.random() < 0.4:
            compare = r.choice(["<", "<=", "==", "!=", ">", ">="])
            return f"{self.leaf(scope)} {compare} {self.leaf(scope)}"
        a, b = self.condition(scope, depth - 1), self.condition(scope, depth - 1)
        return r.choice(
            [
                f"({a} and {b})",
                f"({a} or {b})",
                f"(not {a})" if " < " not in a else f"({a})",
                f"({self.leaf(scope)} < {self.leaf(scope)} <= {self.leaf(scope)})",
                f"({self.expr(scope, depth - 1)} > {self.leaf(scope)})",
                f"(({a}) != ({b}))",
            ]
        )

    # -- statements --------------------------------------------------------------------------------------------

    def block(self, scope: list[str], indent: int, depth: int, in_loop: bool, results: int) -> None:
        """Statements over the assigned names of ``scope``; names assigned here are not known after it."""
        scope, before = list(scope), len(self.lines)
        for _ in range(self.random.randint(1, 4)):
            self.statement(scope, indent, depth, in_loop, results)
        if len(self.lines) == before:
            self.add(indent, "pass")

    def add(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def fresh(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def statement(self, scope: list[str], indent: int, depth: int, in_loop: bool, results: int) -> None:
        r = self.random
        kind = r.random()
        if depth and kind < 0.14:
            self.branch(scope, indent, depth, in_loop, results)
        elif depth and kind < 0.24:
            self.counted_loop(scope, indent, depth, results)
        elif depth and kind < 0.30:
            self.open_loop(scope, indent, depth, results)
        elif in_loop and kind < 0.36:
            self.add(indent, f"if {self.condition(scope, 1)}:")
            self.add(indent + 1, r.choice(["break", "continue"]))
        elif kind < 0.39 and results:
            self.add(indent, f"if {self.condition(scope, 1)}:")
            self.leave(scope, indent + 1, results)
        elif kind < 0.47 and len(scope) > 1:
            a, b = r.sample(scope, 2)
            self.add(indent, f"{a}, {b} = {b}, {r.choice([a, self.small(self.expr(scope, 1))])}")
        elif kind < 0.55:
            self.many_results(scope, indent)
        elif kind < 0.65 and self.arrays:
            self.store(scope, indent)
        elif kind < 0.72 and scope:
            name = r.choice(scope)
            self.add(indent, f"{name} {r.choice(['+=', '-=', '^='])} {self.leaf(scope)}")
            self.add(indent, f"{name} = {name} % {2 * LIMIT - 1} - {LIMIT - 1}")
        else:
            name = r.choice(scope) if scope and r.random() < 0.6 else self.fresh()
            self.add(indent, f"{name} = {self.small(self.expr(scope, 2))}")
            scope.append(name) if name not in scope else None

    def branch(self, scope: list[str], indent: int, depth: int, in_loop: bool, results: int) -> None:
        self.add(indent, f"if {self.condition(scope, 2)}:")
        self.block(scope, indent + 1, depth - 1, in_loop, results)
        while self.random.random() < 0.3:
            self.add(indent, f"elif {self.condition(scope, 1)}:")
            self.block(scope, indent + 1, depth - 1, in_loop, results)
        if self.random.random() < 0.5:
            self.add(indent, "else:")
            self.block(scope, indent + 1, depth - 1, in_loop, results)

    def counted_loop(self, scope: list[str], indent: int, depth: int, results: int) -> None:
        r = self.random
        bounds = r.choice(
            [
                f"{r.randint(0, 5)}",
                f"{self.leaf(scope)} % 6",
                f"{self.leaf(scope)} % 5, {self.leaf(scope)} % 9, {r.choice(['1', '2', '3'])}",
                f"{self.leaf(scope)} % 9, {self.leaf(scope)} % 5 - 2, {r.choice(['-1', '-2', '-4'])}",
                f"{r.randint(-3, 3)}, {r.randint(-3, 6)}, {self.leaf(scope)} % 3 + 1",
                f"{self.leaf(scope)} % 4, {self.leaf(scope)} % 7, 5 if {self.condition(scope, 0)} else -2",
            ]
        )
        changed = [s for s in scope if s.startswith("v")]
        name = r.choice(changed) if changed and r.random() < 0.2 else self.fresh()
        self.add(indent, f"for {name} in range({bounds}):")
        self.block([*scope, name] if name not in scope else scope, indent + 1, depth - 1, True, results)

    def open_loop(self, scope: list[str], indent: int, depth: int, results: int) -> None:
        count = self.fresh()
        self.add(indent, f"{count} = 0")
        test = f" and {self.condition(scope, 1)}" if self.random.random() < 0.7 else ""
        self.add(indent, f"while {count} < {self.random.randint(1, 6)}{test}:")
        self.add(indent + 1, f"{count} += 1")
        # The counter is no variable of the body: a store to it could make the loop endless.
        self.block(scope, indent + 1, depth - 1, True, results)
        scope.append(count)

    def many_results(self, scope: list[str], indent: int) -> None:
        several = [f for f in self.functions if f[2] > 1]
        if not several:
            return
        name, params, count = self.random.choice(several)
        targets = [self.fresh() for _ in range(count)]
        args = ", ".join(self.leaf(scope) for _ in range(params))
        self.add(indent, f"{', '.join(targets)} = {name}({args})")
        scope.extend(targets)

    def store(self, scope: list[str], indent: int) -> None:
        target = f"{self.random.choice(self.arrays)}[{self.subscript(scope)}]"
        if self.random.random() < 0.4:
            other = f"{self.random.choice(self.arrays)}[{self.subscript(scope)}]"
            self.add(indent, f"{target}, {other} = {other}, {target}")
        else:
            self.add(indent, f"{target} = {self.small(self.expr(scope, 2))}")

    def leave(self, scope: list[str], indent: int, results: int) -> None:
        values = [self.small(self.expr(scope, 1)) for _ in range(results)]
        self.add(indent, f"return {', '.join(values)}")

    # -- the whole ---------------------------------------------------------------------------------------------

    def function(self, number: int) -> None:
        params, results = self.random.randint(1, 3), self.random.choice([1, 1, 2, 3])
        names = [f"p{n}" for n in range(params)]
        self.add(0, "@amp.func")
        self.add(0, f"def f{number}({', '.join(names)}):")
        scope = list(names)
        for _ in range(self.random.randint(1, 4)):
            self.statement(scope, 1, 2, False, results)
        self.leave(scope, 1, results)
        self.add(0, "")
        self.functions.append((f"f{number}", params, results))

    def kernel(self) -> None:
        self.add(0, "def k(i, a, b, out):")
        self.arrays = ["values"]
        self.add(1, "me = i[0]")
        self.add(1, "n = me")
        self.add(1, "x = a[me]")
        self.add(1, "y = b[me]")
        self.add(1, f"values = amp.private({ARRAY}, amp.int32)")
        self.add(1, f"for j in range({ARRAY}):")
        self.add(2, "values[j] = x - j * 3")
        scope = ["n", "x", "y"]
        for _ in range(self.random.randint(5, 11)):
            self.statement(scope, 1, 3, False, 0)
        for row in range(RESULTS - 1):
            self.add(1, f"out[{row}, me] = {self.expr(scope, 2)}")
        self.add(1, f"out[{RESULTS - 1}, me] = values[{self.subscript(scope)}]")


def source_of(seed: int) -> str:
    """The text of the functions and the kernel ``k(i, a, b, out)`` of a seed."""
    program = _Program(seed)
    for number in range(program.random.randint(0, 3)):
        program.function(number)
    program.kernel()
    return "\n".join(program.lines) + "\n"


def define(source: str, name: str, language: Any) -> Any:
    """The kernel of a source, with ``language`` in the place of ``vkamp``."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space: dict[str, Any] = {"amp": language}
    exec(compile(source, name, "exec"), space)
    return space["k"]


def in_plain_python(source: str, a: Any, b: Any) -> Any:
    """What Python makes of it, thread by thread."""
    language = SimpleNamespace(func=lambda f: f, private=lambda n, _: [0] * n, int32=int, tdiv=amp.tdiv, trem=amp.trem)
    kernel = define(source, "<plain>", language)
    out = np.zeros((RESULTS, len(a)), np.int64)
    for n in range(len(a)):
        kernel((n,), [int(v) for v in a], [int(v) for v in b], out)
    return out
