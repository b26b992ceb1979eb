"""Pieces of kernels that have a given pair of a construct and its context (``grammar.py``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tools.fuzz.expressions import Scope
from tools.fuzz.operators import is_float
from tools.fuzz.placed import COMPARISONS, FLOAT, Placed
from tools.fuzz.rows import Row
from tools.fuzz.statements import line
from tools.fuzz.tree import BOOL, INT, SPECIAL, UINT, Expr, Kind, Lines, Stmt
from tools.fuzz.wanted import LONG_TYPES
from vkamp.ir.subgroups import SUBGROUPS

__all__ = ["Pairs"]


#: Statements with blocks.
_BRANCHES = ("if", "match", "for", "static for", "while")


class Pairs(Placed):
    """Makes the pieces of statements, operators, builtins, barriers and subgroups, too."""

    # -- statements --------------------------------------------------------------------------------------------

    def nested(self, scope: Scope, what: str, where: str) -> Lines:
        """A statement of a kind inside another; ``v`` is the result."""
        r = self.random
        lines: Lines = []
        v = self.fresh("v")
        body: Lines = []
        beside = list(self.counters)
        in_function = where in ("device function", "nested function")
        inner = Scope(values=[Expr(INT, "p"), Expr(BOOL, "b")]) if in_function else scope
        self.stated(what, inner, v, body, in_function, where)
        used = [c for c in self.counters if c not in beside]
        if in_function:
            body = [line(f"{v} = p"), *body, line(f"return {v}")]
            name = self.fresh("made")
            extra = ["long_row", *used, "me"] if where == "device function" else []
            head = f"def {name}({', '.join(['p', 'b', *extra])}):"
            if where == "device function":
                self.sections.append(name)
                self.beside.append(Stmt([(f"@amp.func\n{head}", (), body)]))
            else:
                self.sections.append(name)
                lines.append(Stmt([(head, (), body)]))
            given = (self.make(scope, INT, 1), self.leaf(scope, BOOL), *(Expr(INT, e) for e in extra))
            holes = ", ".join(f"{{{n}}}" for n in range(len(given)))
            return [*lines, *self.sink(Expr(INT, f"{name}({holes})", given))]
        lines.append(line(f"{v} = {{0}}", self.tame(scope, INT, lines)))
        condition = Expr(BOOL, f"({{0}} > {r.randrange(7)})", (self.tame(scope, INT, lines),))
        k, n = self.fresh("k"), self.fresh("m")
        other = [line(f"{v} += 1")]
        if where == "kernel":
            lines += body
        elif where == "if":
            lines.append(Stmt([("if {0}:", (condition,), body)]))
        elif where == "elif":
            lines.append(Stmt([("if {0}:", (condition,), other), ("elif {0}:", (self.leaf(scope, BOOL),), body)]))
        elif where == "else":
            lines.append(Stmt([("if {0}:", (condition,), other), ("else:", (), body)]))
        elif where == "case":
            cases = [Stmt([("case 1 | 2 | 5:", (), body)]), Stmt([("case _:", (), other)])]
            lines.append(Stmt([("match {0}:", (self.tame(scope, INT, lines),), cases)]))
        elif where == "for":
            ends = r.choice(["3", "{0} & 3", "1, 4", "3, 0, -1", "0 if {0} > 4 else 3", "{0} % 3 + 1"])
            lines.append(Stmt([(f"for {k} in range({ends}):", (self.tame(scope, INT, lines),), body)]))
        elif where == "static for":
            lines.append(
                Stmt([(f"for {k} in amp.static_range({r.choice(['2', '3', '1, 3', '2, -1, -1'])}):", (), body)])
            )
        else:
            assert where == "while", where
            lines.append(line(f"{n} = 0"))
            lines.append(Stmt([(f"while {n} < {r.randint(1, 3)}:", (), [line(f"{n} += 1"), *body])]))
        return [*lines, *self.sink(Expr(INT, v))]

    def stated(self, what: str, scope: Scope, v: str, lines: Lines, in_function: bool, where: str) -> None:
        """A statement of a kind that changes ``v``."""
        r = self.random
        word, _, to = what.partition(" ")

        def tame(kind: Kind = INT) -> Expr:
            return self.tame(scope, kind, lines)

        def change(text: str, *args: Expr) -> None:
            lines.append(line(text.replace("$", v), *args))

        condition = Expr(BOOL, f"({v} > {r.randint(0, 20)})")
        if what in ("assign variable", "augment variable"):
            change("$ = $ * 2 + {0}" if word == "assign" else f"$ {r.choice('+-^|&*')}= {{0}}", tame())
        elif word in ("assign", "augment") and to != "tuple":
            place, read = self._changed_place(to, scope, lines)
            change(f"{place} {'=' if word == 'assign' else r.choice(['+=', '-=', '*='])} {{0}}", tame())
            change(f"$ += {read}")
        elif to == "tuple":
            n = self.fresh("u")
            change(f"{n} = {{0}}", tame())
            change(f"$, {n} = {n}, $")
            change(f"$ += {n} * 3")
        elif word == "call":
            change(f"$ += {self._called_for_effect(to, scope, lines)}")
        elif what == "assert":
            lines.append(line("assert {0} > 0", tame()))
        elif what in _BRANCHES:
            self._branch(what, scope, v, lines, condition)
        elif what in ("break", "continue") and where in ("for", "static for", "while"):
            lines.append(Stmt([("if {0}:", (condition,), [line(what)])]))
            # And the statement itself in the loop.
            lines.append(line(f"{v} += 4"))
            lines.append(line(what))
        elif what in ("break", "continue"):
            self._jump_below(what, where, v, condition, lines)
        elif what == "return":
            self._return_here(where, v, condition, lines, in_function)
        elif what == "private array":
            cells = self.filled(scope, r.choice([INT, UINT]), lines)
            change(f"$ += amp.int32({cells}[$ % 3])")
        elif what == "view":
            part = self.fresh("part")
            self.sections.append(part)
            lines.append(line(f"{part} = long_row.section(amp.index({{0}}), amp.extent(4))", tame()))
            change(f"$ += {part}[$ % 4]")
        elif what == "pass":
            lines.append(line("pass"))
        elif what == "annotated":
            n = self.fresh("u")
            lines.append(line(f"{n}: amp.int32 = {{0}}", tame()))
            change(f"$ += {n}")
        elif where in ("kernel", "device function"):
            name = self.fresh("local")
            if what == "lambda":
                lines.append(line(f"{name} = lambda q: q * 2 + 1"))
            else:
                answer: Lines = [Stmt([("if q > 3:", (), [line("return q + 7")])]), line("return q * 2")]
                lines.append(Stmt([(f"def {name}(q):", (), answer)]))
            change(f"$ = {name}($)")

    def _called_for_effect(self, to: str, scope: Scope, lines: Lines) -> str:
        """Adds a call of a function or an atomic, and returns an expression of what it changed."""
        if to == "of a function":
            name = self.fresh("bump")
            self.beside.append(Stmt([(f"@amp.func\ndef {name}(values, p):", (), [line("values[p % 3] += p")])]))
            cells = self.filled(scope, INT, lines)
            lines.append(line(f"{name}({cells}, {{0}})", self.tame(scope, INT, lines)))
            return f"{cells}[0] + {cells}[1] * 2 + {cells}[2] * 4"
        name = self.fresh("cells")
        self.counters.append(name)
        lines.append(line(f"{name}[me] = 1"))
        row = self.random.choice(["add", "max", "xor"])
        lines.append(line(f"amp.atomic_fetch_{row}({name}[me], {{0}})", self.tame(scope, INT, lines)))
        return f"{name}[me]"

    def _branch(self, what: str, scope: Scope, v: str, lines: Lines, condition: Expr) -> None:
        """A branch or loop that changes ``v``."""
        r = self.random

        def tame(kind: Kind = INT) -> Expr:
            return self.tame(scope, kind, lines)

        if what == "if":
            lines.append(Stmt([("if {0}:", (condition,), [line(f"{v} -= 2")]), ("else:", (), [line(f"{v} += 5")])]))
        elif what == "match":
            cases = [Stmt([("case 0 | 3:", (), [line(f"{v} += 1")])]), Stmt([("case _:", (), [line(f"{v} *= 2")])])]
            lines.append(Stmt([(f"match {v} % 5:", (), cases)]))
        elif what in ("for", "static for"):
            k = self.fresh("k")
            ends = r.choice(["{0}", "{0} & 3", "0, {0} | 2, 2", "{0} >> 1", "{0}, 0, -2", "2 if {0} > 3 else 4"])
            head = f"for {k} in range({ends}):" if what == "for" else f"for {k} in amp.static_range(3):"
            inside = [line(f"{v} += {k} * 2")]
            if what == "static for":
                inside.append(line(f"{v} += {{0}} if {k} == 0 else {{1}}", tame(), tame()))
            lines.append(Stmt([(head, (tame(),) if what == "for" else (), inside)]))
        else:
            assert what == "while", what
            n = self.fresh("m")
            lines.append(line(f"{n} = {{0}} % 4", tame()))
            lines.append(Stmt([(f"while {n} > 0:", (), [line(f"{v} += {n}"), line(f"{n} -= 1")])]))

    def _changed_place(self, to: str, scope: Scope, lines: Lines) -> tuple[str, str]:
        name = self.fresh("s")
        if to == "element":
            cells = self.filled(scope, INT, lines)
            return f"{cells}[1]", f"{cells}[1]"
        if to == "field":
            self.needs_pair()
            lines.append(line(f"{name} = Pair(ma={{0}})", self.tame(scope, INT, lines)))
            return f"{name}.ma", f"{name}.ma"
        lines.append(line(f"{name} = amp.int3({{0}}, 2, 3)", self.tame(scope, INT, lines)))
        return f"{name}.y", f"{name}.x + {name}.y * 3"

    def _jump_below(self, what: str, where: str, v: str, condition: Expr, lines: Lines) -> None:
        """A jump in a branch of a loop: the branch is made again, with a loop around it."""
        if where not in ("if", "elif", "else", "case"):
            return
        k = self.fresh("k")
        jump = [line(f"{v} += 2"), line(what)]
        other = Expr(BOOL, f"({v} % 2 == 0)")
        branches = {
            "if": Stmt([("if {0}:", (condition,), jump)]),
            "elif": Stmt([("if {0}:", (other,), [line(f"{v} += 1")]), ("elif {0}:", (condition,), jump)]),
            "else": Stmt([("if {0}:", (other,), [line(f"{v} += 1")]), ("else:", (), jump)]),
            "case": Stmt([(f"match {v} % 3:", (), [Stmt([("case 1 | 2:", (), jump)]),
                                                  Stmt([("case _:", (), [line(f"{v} += 1")])])])]),
        }  # fmt: skip
        head = self.random.choice([f"for {k} in range(4):", f"for {k} in amp.static_range(4):"])
        lines.append(Stmt([(head, (), [branches[where], line(f"{v} += 3")])]))

    def _return_here(self, where: str, v: str, condition: Expr, lines: Lines, in_function: bool) -> None:
        """A return at this place; in a separate function if the place is in the kernel."""
        if in_function:
            lines.append(Stmt([("if {0}:", (condition,), [line(f"return {v} + 9")])]))
            return
        name, k = self.fresh("leave"), self.fresh("k")
        leave = [line("return p + 5")]
        test = Expr(BOOL, "(p > 4)")
        bodies: dict[str, Stmt] = {
            "if": Stmt([("if {0}:", (test,), leave)]),
            "elif": Stmt([("if p == 2:", (), [line("p += 1")]), ("elif {0}:", (test,), leave)]),
            "else": Stmt([("if {0}:", (test,), [line("p += 1")]), ("else:", (), leave)]),
            "case": Stmt([("match p % 3:", (), [Stmt([("case 1:", (), leave)])])]),
            "for": Stmt([(f"for {k} in range(3):", (), [Stmt([(f"if p > {k}:", (), [line("p -= 1")])]), *leave])]),
            "while": Stmt([("while p > 2:", (), [line("p -= 2"), *leave])]),
        }
        if where in bodies:
            self.beside.append(Stmt([(f"@amp.func\ndef {name}(p):", (), [bodies[where], line("return p")])]))
            lines.append(line(f"{v} += {name}({v})"))

    # -- operators and types -----------------------------------------------------------------------------------

    def operator(self, scope: Scope, left: str, op: str, right: str) -> Lines:
        """An operator of two types."""
        r = self.random
        lines: Lines = []

        def operand(name: str, beside: str, divisor: bool) -> Expr:
            if name == "int literal":
                return Expr(Kind(name), str(r.choice([1, 2, 3, 7])))
            if name == "float literal":
                return Expr(Kind(name), str(r.choice([0.5, 1.5, 2.0, 4.0])))
            if name in ("int8", "uint8", "int16", "uint16", "float16") and r.random() < 0.6:
                any_number = not (divisor or is_float(beside) or "float" in beside or op == "/")
                if any_number and (op in COMPARISONS or not is_float(name) or r.random() < 0.5):
                    holder = self.wide.setdefault(name, self.fresh("far"))
                else:
                    holder = self.small.setdefault(name, self.fresh("few"))
                at = self.tame(scope, INT, lines)
                return Expr(Kind(name), f"{holder}[{{0}} - 1]", (at,))
            if name == "bool":
                return self.tame(scope, BOOL, lines)
            if is_float(name):
                return Expr(Kind(name), f"amp.{name}({{0}})", (self.tame(scope, FLOAT, lines),))
            # Any number for which the operation is defined: shift counts, divisors and the other operands of floats are
            # tame.
            if divisor or is_float(beside) or "float" in beside or op == "/":
                return Expr(Kind(name), f"amp.{name}({{0}})", (self.tame(scope, INT, lines),))
            if name in LONG_TYPES:
                return Expr(Kind(name), f"(amp.{name}({{0}}) * 3000000007)", (self.make(scope, INT, 1),))
            return Expr(Kind(name), f"amp.{name}({{0}})", (self.make(scope, UINT if name[0] == "u" else INT, 1),))

        a, b = operand(left, right, False), operand(right, left, op in ("//", "%", "<<", ">>", "/"))
        if op in ("//", "%") and "bool" in (left, right):
            # A truth value as a divisor is 1.
            b = Expr(b.kind, "({0} | True)", (b,)) if right == "bool" else b
        if right == "bool" and op == "/":
            b = Expr(b.kind, "({0} | True)", (b,))
        text = f"({{0}} {op} {{1}})"
        long = bool({left, right} & {*LONG_TYPES})
        floating = is_float(left) or is_float(right) or op == "/"
        result = Expr(INT, text, (a, b))
        if op in COMPARISONS:
            return [*lines, *self.sink(Expr(BOOL, text, (a, b)))]
        if floating:
            if op in ("/", "//", "%"):
                # How far a quotient may be off is the device's business.
                return [*lines, *self.sink(Expr(BOOL, "({0} > -0.0625)", (result,)))]
            return [*lines, *self.sink(Expr(INT, "amp.int32({0} * 16)", (result,)))]
        if long:
            kept = self.variable(lines, Kind("int64"), "amp.int64({0})", result)
            return [*lines, *self.sink(Expr(INT, "(amp.int32({0} >> 32) ^ amp.int32({0}))", (kept,)))]
        return [*lines, *self.sink(Expr(INT, "amp.int32({0})", (result,)))]

    # -- builtins ----------------------------------------------------------------------------------------------

    def of_row(self, scope: Scope, row: Row, shape: str) -> Lines:
        """A call of a row with arguments of a shape."""
        r = self.random
        lines: Lines = []
        parts: list[Expr] = []
        for domain in row.domains:
            if domain.special:
                value = Expr(SPECIAL, domain.text("{0}"), (self.leaf(scope, SPECIAL),))
                kind = SPECIAL
            else:
                kind = Kind({"int": "int", "uint": "uint"}.get(domain.plain, "int" if domain.whole else "rough"))
                value = Expr(kind, domain.text("{0}"), (self.make(scope, domain.kind, 1),))
            parts.append(self._shaped(scope, shape, kind, value, domain, lines))
        call = f"{r.choice(row.spellings)}({', '.join(f'{{{n}}}' for n in range(len(parts)))}){row.suffix}"
        found = Expr(row.kind, call, tuple(parts))
        if row.kind.base == "rough":
            self.about.append(row.kind.error)
            return [*lines, line(f"about[{len(self.about) - 1}, me] = {{0}}", found)]
        if row.kind.base == "exact":
            return [*lines, *self.sink(Expr(FLOAT, "({0} * 0.5)", (self.folded(found, EXACT_ANY),)))]
        return [*lines, *self.sink(found)]

    def _shaped(self, scope: Scope, shape: str, kind: Kind, value: Expr, domain: object, lines: Lines) -> Expr:
        r = self.random
        word = {"int": "amp.int32", "uint": "amp.uint32"}.get(kind.base, "amp.float32")
        if shape == "literal" and kind != SPECIAL:
            chosen = r.choice(list(domain.values()))  # type: ignore[attr-defined]
            if kind.base == "uint":
                return Expr(kind, f"{word}({int(chosen)})")
            return Expr(kind, repr(int(chosen) if kind.base == "int" else float(chosen)))
        if shape == "launch value" and kind != SPECIAL:
            chosen = r.choice(list(domain.values()))  # type: ignore[attr-defined]
            name = self.fresh("h")
            whole = kind.base in ("int", "uint")
            self.given[name] = (int(chosen) if whole else float(chosen), word.replace("amp", "np"))
            return Expr(kind, name)
        held = self.variable(lines, kind, "{0}", value)
        if shape == "element":
            name = self.fresh("cells")
            lines.append(line(f"{name} = amp.private(2, {word})"))
            lines.append(line(f"{name}[1] = {{0}}", held))
            return Expr(kind, f"{name}[1]")
        if shape == "component" and kind != SPECIAL:
            vector = {"int": "int2", "uint": "uint2"}.get(kind.base, "float2")
            return Expr(kind, f"amp.{vector}({{0}}, {{0}}).y", (held,))
        if shape == "expression" and kind != SPECIAL:
            return Expr(kind, "({0} + 0)" if kind.base in ("int", "uint") else "({0} * 1.0)", (held,))
        if shape == "choice":
            return Expr(kind, "({0} if {1} else {0})", (held, self.leaf(scope, BOOL)))
        return held

    # -- barriers ----------------------------------------------------------------------------------------------

    def across(self, scope: Scope, around: str, count: int, alive: str, threads: int) -> Lines:
        """Barriers in a place, and a value that is computed before each and used after it."""
        r = self.random
        tile = self.fresh("turn")
        lines: Lines = [Stmt([(f"{tile} = amp.tile_static({threads}, amp.int32)", (), None)], fixed=True)]
        v = self.fresh("v")
        if around == "device function":
            return [*lines, *self._across_call(scope, tile, count, alive, threads, v)]
        outer: Lines = []
        lines.append(line(f"{v} = {{0}}", self.tame(scope, INT, lines)))
        inner = self._waiting(scope, tile, count, alive, threads, v, outer, "for" in around or "while" in around)
        lines += outer
        flag, k, j = self.launched(INT), self.fresh("k"), self.fresh("k")
        times = r.choice(["2", "{0} % 3", "1, 3", "{0} & 1"])
        test = r.choice(["{0} > 2", "{0} > 9", "t.tile[0] >= 0 and {0} != 3"])
        m = self.fresh("m")
        blocks: dict[str, Callable[[], Lines]] = {
            "kernel": lambda: inner,
            "for": lambda: [Stmt([(f"for {k} in range({times}):", (flag,), inner)])],
            "static for": lambda: [Stmt([(f"for {k} in amp.static_range(2):", (), inner)])],
            "while": lambda: [line(f"{m} = 0"), Stmt([(f"while {m} < {{0}} % 3:", (flag,),
                                                      [line(f"{m} += 1"), *inner])])],
            "if": lambda: [Stmt([(f"if {test}:", (flag,), inner)])],
            "match": lambda: [Stmt([("match {0}:", (flag,), [Stmt([("case 1 | 2 | 3 | 4 | 5:", (), inner)]),
                                                            Stmt([("case _:", (), [line(f"{v} += 1")])])])])],
            "for for": lambda: [Stmt([(f"for {k} in range(2):", (), [Stmt([(f"for {j} in range({times}):", (flag,),
                                                                           inner)])])])],
            "for if": lambda: [Stmt([(f"for {k} in range(3):", (), [Stmt([(f"if {k} != {{0}} % 3:", (flag,),
                                                                           inner)])])])],
            "if for": lambda: [Stmt([(f"if {test}:", (flag,), [Stmt([(f"for {k} in range({times}):", (flag,),
                                                                      inner)])])])],
            "while if": lambda: [line(f"{m} = 0"), Stmt([(f"while {m} < 2:", (), [line(f"{m} += 1"), Stmt([
                (f"if {test}:", (flag,), inner)])])])],
        }  # fmt: skip
        return [*lines, *blocks[around](), *self.sink(Expr(INT, v))]

    def _waiting(
        self, scope: Scope, tile: str, count: int, alive: str, threads: int, v: str, outer: Lines, again: bool
    ) -> Lines:
        """Rounds of a store, a barrier and a load; a value of a kind is alive across each barrier."""
        lines: Lines = []
        used = self._alive(scope, alive, v, lines, outer)
        for n in range(count):
            if n % 2 == 0:
                lines.append(line(f"{tile}[li] = {v} + {n}"))
            lines.append(self.barrier_of())
            lines.append(line(f"{v} += {used}"))
            if n % 2 == 0:
                # In a loop there is no barrier before the store of the next iteration, so the last load is of the
                # thread's own element.
                other = "li" if again and n == count - 1 else f"{threads - 1} - li"
                lines.append(line(f"{v} += {tile}[{other}] & 255"))
        return lines

    def barrier_of(self) -> Stmt:
        """A barrier that orders the tile's memory."""
        waits = ("wait", "wait_with_all_memory_fence", "wait_with_tile_static_memory_fence")
        return Stmt([(f"t.barrier.{self.random.choice(waits)}()", (), None)])

    def _alive(self, scope: Scope, alive: str, v: str, lines: Lines, outer: Lines) -> str:
        """Makes a value from ``v``, and returns how to read it as an int."""
        name = self.fresh("live")
        now = f"({v} & 7) + 1"
        made = {
            "int": f"amp.int32({now})", "uint": f"amp.uint32({now})", "float": f"amp.float32({now})",
            "bool": f"{v} % 3 == 1", "vector": f"amp.int3({v} & 7, 2, 3)", "tuple": f"({now}, {v} & 3)",
            "counter": now,
        }  # fmt: skip
        reads = {
            "uint": f"amp.int32({name})", "float": f"amp.int32({name} * 2)", "bool": f"amp.int32({name})",
            "vector": f"{name}.x + {name}.z", "tuple": f"{name}[0] + {name}[1]", "struct": f"{name}.ma",
            "private array": f"{name}[0] + {name}[1]", "view": f"{name}[1]",
        }  # fmt: skip
        if alive == "struct":
            self.needs_pair()
            lines.append(line(f"{name} = Pair(ma={now})"))
        elif alive == "private array":
            # Sometimes made before the loop, and changed in it.
            (outer if self.random.random() < 0.5 else lines).append(line(f"{name} = amp.private(2, amp.int32)"))
            if outer:
                outer.append(line(f"{name}[1] = 4"))
            if not outer:
                lines.append(line(f"{name}[1] = {v} & 3"))
            lines.append(line(f"{name}[0] = {now}"))
        elif alive == "view":
            self.sections.append(name)
            lines.append(line(f"{name} = long_row.section(amp.index({now}), amp.extent(4))"))
        elif alive == "element":
            self.sections.append(name)
            lines.append(line(f"{name} = long_row[{now}]"))
        else:
            lines.append(line(f"{name} = {made[alive]}"))
        return reads.get(alive, name)

    def _across_call(self, scope: Scope, tile: str, count: int, alive: str, threads: int, v: str) -> Lines:
        name = self.fresh("meet")
        outer: Lines = []
        body = self._waiting(scope, tile, count, alive, threads, v, outer, False)
        self.sections.append(name)
        head = f"@amp.func\ndef {name}(t, li, {tile}, long_row, p):"
        self.beside.append(Stmt([(head, (), [line(f"{v} = p"), *outer, *body, line(f"return {v}")])]))
        value = self.make(scope, INT, 1)
        return self.sink(Expr(INT, f"{name}(t, li, {tile}, long_row, {{0}} & 7)", (value,)))

    # -- subgroups ---------------------------------------------------------------------------------------------

    def of_subgroup(self, scope: Scope, name: str) -> Lines:
        """A function of subgroups in a tile that is one subgroup, of four threads, on every device."""
        r = self.random
        lines: Lines = []
        call, kind = f"amp.subgroup.{name}", INT
        row = SUBGROUPS.get(name)
        if row is None:
            return self.sink(Expr(INT, f"{call}()"))
        kind = UINT if name.endswith(("and", "or", "xor")) and r.random() < 0.5 else INT
        value = self.tame(scope, kind, lines)
        if row.params == ("predicate",):
            found = Expr(BOOL, f"{call}({{0}} > {r.randint(1, 7)})", (value,))
            if row.result == "uint4":
                return [*lines, *self.sink(Expr(UINT, "{0}.x", (found,)))]
            return self._static_choice(found, Expr(BOOL, "amp.subgroup.any({0} > 3)", (value,)), lines)
        if row.params == ("ballot",):
            bits = Expr(UINT.vector(4), "amp.subgroup.ballot({0} > 3)", (value,))
            found = Expr(INT, f"{call}({{0}})", (bits,))
        elif row.params == ():
            found = Expr(BOOL, f"{call}()")
        elif row.params == ("value",):
            found = Expr(kind, f"{call}({{0}})", (value,))
            other = Expr(kind, "amp.subgroup.max({0})", (value,))
            return self._static_choice(found, other, lines)
        else:
            lane = r.choice(["1", "2"]) if name != "broadcast" else str(r.randrange(4))
            if name == "shuffle":
                lane = "{1} % 4"
            found = Expr(kind, f"{call}({{0}}, {lane})", (value, self.tame(scope, INT, lines)))
        return [*lines, *self.sink(found)]

    def _static_choice(self, one: Expr, other: Expr, lines: Lines) -> Lines:
        """A choice between two results in an unrolled loop."""
        n, k = self.fresh("r"), self.fresh("k")
        test = Expr(INT, f"({k} == 0)")
        chosen = self.whole(Expr(one.kind, "({0} if {1} else {2})", (one, test, other)))
        lines.append(line(f"{n} = 0"))
        lines.append(Stmt([(f"for {k} in amp.static_range(2):", (), [line(f"{n} += {{0}} * ({k} + 1)", chosen)])]))
        return [*lines, *self.sink(Expr(INT, n))]


EXACT_ANY = replace(FLOAT, size=64.0, bits=1)
