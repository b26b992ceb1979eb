"""Pieces of kernels that have a given pair of a construct and its context (``grammar.py``).

A piece makes *tame* values of what is in scope: whole numbers from 1 to 8, floats from 0.5 to 8, so that they can be
used anywhere: as a divisor, a subscript, a shift count. The result is stored to a separate row for each piece.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

from tools.fuzz.expressions import Scope
from tools.fuzz.grammar import (
    ALIVE,
    AROUND,
    ENCLOSING,
    EXPRESSIONS,
    NO_SUBGROUP,
    POSITIONS,
    SHAPES,
    STATEMENTS,
    form_pairs,
    is_float,
    operator_pairs,
    possible,
)
from tools.fuzz.rows import EXACT_ROWS, ROUGH_ROWS, SPECIAL_ROWS, Row
from tools.fuzz.statements import Statements, line
from tools.fuzz.tree import BOOL, INT, SPECIAL, UINT, Expr, Kind, Lines, Stmt
from vkamp.ir.subgroups import INDICES, SUBGROUPS

__all__ = ["LONG_TYPES", "Pairs", "Wanted", "wanted"]

#: Tame floats, and the results of operations on them.
FLOAT = Kind("exact", size=2.0**12, bits=6)
IV, FV = INT.vector(3), FLOAT.vector(2)
PAIR = Kind("struct", struct="Pair")
_KINDS = {"int": INT, "uint": UINT, "float": FLOAT, "bool": BOOL, "struct": PAIR}
_BITS = ("bits", "shift", "inversion")

_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")

#: Types that few devices have.
LONG_TYPES = ("int64", "uint64", "float64")

_EXPRESSIONS = [(e, p) for e in EXPRESSIONS for p in POSITIONS if possible(e, p)]
_STATEMENTS = list(itertools.product(STATEMENTS, ENCLOSING))
_FORMS = form_pairs()
_OPERATORS = [p for p in operator_pairs() if not {p[0], p[2]} & {*LONG_TYPES}]
_LONG = [p for p in operator_pairs() if {p[0], p[2]} & {*LONG_TYPES}]
_ROWS = [(row, shape) for row in (*EXACT_ROWS, *ROUGH_ROWS, *SPECIAL_ROWS) for shape in SHAPES]
_WAITS = list(itertools.product(AROUND, (1, 2, 3), ALIVE))
_SUBGROUP_ROWS = [n for n in (*SUBGROUPS, *INDICES) if n not in NO_SUBGROUP]


class Wanted:
    """The pairs in the kernel of a seed: the next ones of each list."""

    def __init__(self, seed: int) -> None:
        def turn(rows: list, stride: int, count: int) -> list:  # type: ignore[type-arg]
            return [rows[(seed * count + n) * stride % len(rows)] for n in range(count)]

        #: Whether it has types of 64 bits, which few devices have.
        self.long = seed % 8 == 5
        self.expressions = turn(_EXPRESSIONS, 389, 2)
        self.statements = turn(_STATEMENTS, 101, 1)
        self.forms = turn(_FORMS, 173, 2)
        self.operators = [_LONG[(seed // 8 * 3 + n) * 211 % len(_LONG)] for n in range(3)] if self.long else []
        self.operators += turn(_OPERATORS, 307, 1)
        self.rows = turn(_ROWS, 239, 1)
        self.wait = turn(_WAITS, 67, 1)[0]
        self.subgroup = _SUBGROUP_ROWS[seed % len(_SUBGROUP_ROWS)]

    @property
    def needs_subgroups(self) -> bool:
        """Whether all threads of a tile have to be in one subgroup on every device."""
        return any("subgroup" in (e, p.split()[0]) for e, p in self.expressions)

    @property
    def needs_tiles(self) -> bool:
        """Whether the domain has to have tiles."""
        return self.needs_subgroups or any(e == "uniform" for e, _ in self.expressions)


def wanted(seed: int) -> Wanted:
    """The contents of the kernel of a seed."""
    return Wanted(seed)


class Pairs(Statements):
    """Makes the pieces; ``beside`` contains the code that they need outside of the kernel."""

    #: Whether the kernel has types of 64 bits.
    long = False

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.beside: Lines = []
        #: Rows of the results, and each rough result with its error.
        self.seen = 0
        self.about: list[float] = []
        self.has_pair = False
        #: Containers of a number for each thread, for atomics.
        self.counters: list[str] = []
        #: The pieces that read the container ``long_row``.
        self.sections: list[str] = []
        #: Launch values by name that a piece needs in addition to the arguments.
        self.given: dict[str, tuple[int | float | bool, str]] = {}
        #: Containers of small elements, by type.
        self.small: dict[str, str] = {}
        #: The same of any elements: the least, the greatest, below 0.
        self.wide: dict[str, str] = {}

    # -- results -----------------------------------------------------------------------------------------------

    def sink(self, value: Expr) -> Lines:
        """Stores a value of any kind as an int."""
        self.seen += 1
        return [line(f"seen[{self.seen - 1}, me] = {{0}}", self.whole(value))]

    def whole(self, value: Expr) -> Expr:
        """A value as an int."""
        kind = value.kind
        if kind.base == "struct":
            members = (Expr(INT, "{0}.ma", (value,)), self.whole(Expr(FLOAT, "{0}.mb", (value,))))
            return Expr(INT, "({0} * 100 + {1})", members)
        if kind.count > 1:
            parts = tuple(self.whole(Expr(kind.scalar, f"{{0}}.{c}", (value,))) for c in "xy")
            return Expr(INT, "({0} * 1000 + {1})", parts)
        if kind.base in ("exact", "rough"):
            return Expr(INT, "amp.int32({0} * 64)", (value,))
        return value if kind == INT else Expr(INT, "amp.int32({0})", (value,))

    # -- tame values -------------------------------------------------------------------------------------------

    def kind_for(self, word: str, *constructs: str) -> Kind:
        """The kind that a type's word means here."""
        if word != "vector":
            return _KINDS[word]
        only_int = any(part in _BITS for c in constructs for part in c.split())
        return IV if only_int or self.random.random() < 0.5 else FV

    def tame(self, scope: Scope, kind: Kind, lines: Lines) -> Expr:
        """A variable with a tame value of the names in scope."""
        r = self.random
        if kind == PAIR:
            self.needs_pair()
            a, b = self.tame(scope, INT, lines), self.tame(scope, FLOAT, lines)
            return self.variable(lines, kind, f"Pair(ma={{0}}, mb={{1}}, mu=amp.uint32({r.randint(1, 8)}))", a, b)
        if kind.count > 1:
            parts = [self.tame(scope, kind.scalar, lines) if n == 0 else self.number(kind.scalar)
                     for n in range(kind.count)]  # fmt: skip
            holes = ", ".join(f"{{{n}}}" for n in range(kind.count))
            return self.variable(lines, kind, f"{kind.type}({holes})", *parts)
        if kind == BOOL:
            return self.variable(lines, BOOL, f"({{0}} & 7) > {r.randrange(4)}", self.make(scope, INT, 1))
        if kind.base == "exact":
            return self.variable(lines, kind, "amp.float32(({0} & 7) + 1) * 0.5", self.make(scope, INT, 1))
        return self.variable(lines, kind, "({0} & 7) + 1", self.make(scope, kind, 1))

    def number(self, kind: Kind) -> Expr:
        """A tame literal."""
        n = self.random.randint(1, 8)
        return Expr(kind, str(n) if kind in (INT, UINT) else str(n / 2))

    def variable(self, lines: Lines, kind: Kind, text: str, *args: Expr) -> Expr:
        """A new variable."""
        name = self.fresh("e")
        lines.append(line(f"{name} = {text}", *args))
        return Expr(kind, name)

    def needs_pair(self) -> None:
        """Declares the struct type of the pieces."""
        if not self.has_pair:
            self.has_pair = True
            rows = ["    ma: amp.int32", "    mb: amp.float32", "    mu: amp.uint32", "    mv: amp.int3",
                    "    mw: amp.float2"]  # fmt: skip
            self.beside.append(Stmt([("\n".join(["@amp.struct", "class Pair:", *rows]), (), None)], fixed=True))

    def filled(self, scope: Scope, kind: Kind, lines: Lines) -> str:
        """A private array of three tame values."""
        name = self.fresh("cells")
        lines.append(line(f"{name} = amp.private(3, {kind.type})"))
        lines += [line(f"{name}[{n}] = {{0}}", self.tame(scope, kind, lines)) for n in range(3)]
        return name

    def launched(self, kind: Kind) -> Expr:
        """A launch value."""
        r = self.random
        name = self.fresh("h")
        value: int | float | bool = r.randint(1, 8)
        if kind.base == "exact":
            value = float(value) / 2
        elif kind == BOOL:
            value = True
        words = {"int": "np.int32", "uint": "np.uint32", "exact": "np.float32", "bool": "bool"}
        self.given[name] = (value, words[kind.base])
        return Expr(kind, name)

    def called(self, kind: Kind, scope: Scope, e: Expr) -> Expr:
        """A call of a new function of the module that returns its argument."""
        name = self.fresh("keep")
        bodies: list[Lines] = [
            [line("return p")],
            [Stmt([("if q:", (), [line("return p")])]), line("return p")],
            [line("held = p"), line("return held if q else p")],
        ]
        body = self.random.choice(bodies)
        self.beside.append(Stmt([(f"@amp.func\ndef {name}(p, q):", (), body)]))
        return Expr(kind, f"{name}({{0}}, {{1}})", (e, self.leaf(scope, BOOL)))

    # -- expressions of a kind ---------------------------------------------------------------------------------

    def construct(self, what: str, kind: Kind, scope: Scope, lines: Lines, certain: bool = False) -> Expr:
        """A tame expression of a kind; ``certain``: a bool that is true."""
        if kind == BOOL:
            return self.test(what, scope, lines, certain)
        r = self.random
        e = self.tame(scope, kind, lines)
        c = Expr(BOOL, "({0} > 3)", (self.tame(scope, INT, lines),))
        whole, vector = kind in (INT, UINT), kind.count > 1
        one = "1" if whole or kind == IV else "1.0"

        def of(text: str, *args: Expr) -> Expr:
            return Expr(kind, text, args or (e,))

        if what == "element":
            name = self.filled(scope, kind, lines)
            return of(f"{name}[{{0}} % 3]", self.tame(scope, r.choice([INT, UINT]), lines))
        if what == "field":
            self.needs_pair()
            held = self.variable(lines, PAIR, "Pair()")
            field = {INT: "ma", UINT: "mu", FLOAT: "mb", IV: "mv", FV: "mw"}[kind]
            lines.append(line(f"{{0}}.{field} = {{1}}", held, e))
            return of(f"{{0}}.{field}", held)
        if what == "tuple item":
            name = self.fresh("both")
            lines.append(line(f"{name} = ({{0}}, {{1}})", e, self.number(kind)))
            return of(f"{name}[0]")
        if what == "atomic":
            name = self.fresh("cells")
            row = r.choice(["add", "sub", "xor", "or"])
            self.counters.append(name)
            lines.append(line(f"{name}[me] = {{0}}", e))
            made = Expr(INT, f"amp.atomic_fetch_{row}({name}[me], 0)")
            return made
        if what == "lambda":
            name = self.fresh("same")
            lines.append(line(f"{name} = lambda q: q"))
            return of(f"{name}({{0}})")
        vectors = {
            "arithmetic": [f"({{0}} * {one})", "({0} + 0)", "({0} - 0)"],
            "division": ["({0} / 1)"], "bits": ["({0} & 15)", "({0} | 0)", "({0} ^ 0)"],
            "shift": ["(({0} << 2) >> 2)"], "inversion": ["(~(~{0}))"], "negation": ["(-(-{0}))", "(+{0})"],
            "vector": [f"{kind.type}({{0}})"], "swizzle": ["{0}." + "xyz"[: kind.count]],
        }  # fmt: skip
        scalars = {
            "arithmetic": ["({0} + 0)", "(9 - {0})" if whole else "(8.5 - {0})", f"({{0}} * {one})"],
            "division": ["({0} / 2)", "({0} / 4.0)"],
            "floor": ["({0} // 1)", "({0} % 9)"] if whole else ["({0} % 16.0)"],
            "bits": ["(({0} & 7) | 1)", "({0} | 1)", "({0} ^ 0)"], "shift": ["(({0} << 3) >> 3)", "({0} << 0)"],
            "power": ["({0} ** 1)"], "negation": ["(-(-{0}))", "(+{0})"], "inversion": ["(~(~{0}))"],
            "cast": [f"{kind.type}({{0}})"], "builtin": ["min({0}, 8)", "max({0}, 1)", "min({0}, 7, 8)"],
            "component": [f"amp.{'int' if kind == INT else 'uint' if kind == UINT else 'float'}3({{0}}, 1, 2).x"],
            "index component": ["amp.index(2, {0})[1]", "amp.extent({0}, 1)[0]"],
        }  # fmt: skip
        texts = (vectors if vector else scalars).get(what)
        if texts:
            return of(r.choice(texts))
        if what == "choice":
            return of("({0} if {1} else {2})", e, c, self.tame(scope, kind, lines))
        if what == "function":
            return self.called(kind, scope, e)
        if what == "struct":
            return of("Pair(ma={0}.ma, mb={0}.mb)")
        if what == "launch value":
            return self.launched(kind)
        if what == "uniform":
            return of("amp.uniform({0})", self.launched(kind) if r.random() < 0.5 else Expr(INT, "t.tile[0] % 8 + 1"))
        if what == "subgroup":
            row = r.choice(["max", "min", "broadcast_first", "inclusive_max"])
            return of(f"amp.subgroup.{row}({{0}})")
        if what.endswith("literal"):
            return self.number(kind)
        assert what == "variable", what
        return e

    def test(self, what: str, scope: Scope, lines: Lines, certain: bool) -> Expr:
        """A bool; ``certain``: true."""
        r = self.random
        e = self.tame(scope, r.choice([INT, UINT, FLOAT]), lines)
        bound = 0 if certain else r.randrange(6)

        def of(text: str, *args: Expr) -> Expr:
            return Expr(BOOL, text, args or (e,))

        compared = of(f"({{0}} > {bound})")
        texts = {
            "comparison": [f"({{0}} > {bound})", f"({bound} < {{0}})", "({0} != 0)"],
            "chain": [f"({bound} < {{0}} < 9)", f"({bound} < {{0}} <= 8 != {{0}})"]
            if not certain
            else ["(0 < {0} < 9)"],
            "cast": ["bool({0})"] if certain else ["bool({0})", f"bool(amp.int32({{0}}) - {bound})"],
            "logical": [f"({{0}} > {bound} and {{0}} < 9)", f"({{0}} > 9 or {{0}} > {bound})"],
            "not": [f"(not {{0}} <= {bound})"] if certain else [f"(not {{0}} > {bound})", "(not {0})"],
        }.get(what)
        if texts:
            return of(r.choice(texts))
        if what == "bits":
            return of(f"({{0}} {r.choice('&|' if certain else '&|^')} {{1}})", compared, compared if certain else
                      self.leaf(scope, BOOL))  # fmt: skip
        if what == "bool literal":
            return of("True")
        if what == "launch value":
            return self.launched(BOOL)
        if what == "builtin":
            return of("amp.precise_math.isfinite(amp.float32({0}))")
        held = self.variable(lines, BOOL, "{0}", compared)
        if what == "choice":
            return of("({0} if {1} else {2})", held, of("({0} > 3)", e), compared)
        if what == "function":
            return self.called(BOOL, scope, held)
        if what == "subgroup":
            return of(f"amp.subgroup.{r.choice(['any', 'all']) if not certain else 'any'}({{0}})", held)
        assert what == "variable", what
        return held

    # -- positions ---------------------------------------------------------------------------------------------

    def piece(self, scope: Scope, what: str, position: str) -> Lines:
        """An expression of a kind in a position."""
        kind = self.kind_for(self.random.choice(possible(what, position)), what, position)
        if position == "returned":
            return self.returned(what, kind, scope)
        lines: Lines = []
        hole = self.construct(what, kind, scope, lines, certain=position == "assert test")
        lines += self.placed(position, kind, hole, scope, lines)
        return lines

    def returned(self, what: str, kind: Kind, scope: Scope) -> Lines:
        """A function of the module that returns it."""
        name, inner = self.fresh("give"), Scope(values=[Expr(INT, "p"), Expr(BOOL, "b")])
        body: Lines = []
        counters = list(self.counters)
        hole = self.construct(what, kind, inner, body)
        beside = [c for c in self.counters if c not in counters]
        params = ", ".join(["p", "b", *beside, *(["me"] if beside else [])])
        if self.random.random() < 0.5 and what not in ("atomic",):
            body.append(Stmt([("if b:", (), [line("return {0}", hole)])]))
            body.append(line("return {0}", self.construct("variable", kind, inner, body)))
        else:
            body.append(line("return {0}", hole))
        self.beside.append(Stmt([(f"@amp.func\ndef {name}({params}):", (), body)]))
        given = (self.make(scope, INT, 1), self.leaf(scope, BOOL),
                 *(Expr(INT, b) for b in beside), *([Expr(INT, "me")] if beside else []))  # fmt: skip
        holes = ", ".join(f"{{{n}}}" for n in range(len(given)))
        return self.sink(Expr(kind, f"{name}({holes})", given))

    def placed(self, position: str, kind: Kind, h: Expr, scope: Scope, lines: Lines) -> Lines:
        """Code with the expression in the position, and the lines before it."""
        r = self.random
        word, _, part = position.partition(" ")
        x = self.tame(scope, kind, lines)
        whole, is_vector = kind in (INT, UINT), kind.count > 1

        def of(text: str, to: Kind = kind, *args: Expr) -> Lines:
            return self.sink(Expr(to, text, args or (h, x)))

        if word == "arithmetic":
            result = INT if kind == BOOL else kind
            sides = "({0} {op} {1})" if part == "left" else "({1} {op} {0})"
            return of(sides.replace("{op}", r.choice("+-*")), result)
        if word == "division":
            if part == "left":
                return of("({0} / 2)", FLOAT if whole else kind)
            if kind == IV:
                return of("({1} / {0})")
            return of("(({1} / {0}).x > 0.31)" if is_vector else "({1} / {0} > 0.31)", BOOL)
        if word == "floor":
            if part == "left":
                return of(f"({{0}} {r.choice(['//', '%'])} {'3' if whole else '2.0'})")
            return of(f"({{1}} {r.choice(['//', '%'])} {{0}})") if whole else of("({1} // {0} >= 0.0)", BOOL)
        if word == "bits":
            return of(("({0} {op} {1})" if part == "left" else "({1} {op} {0})").replace("{op}", r.choice("&|^")))
        if word == "shift":
            op = r.choice(["<<", ">>"])
            if part == "left":
                return of(f"({{0}} {op} 3)")
            return of(f"({{1}} {op} {{0}})", INT, h, self.tame(scope, INT, lines))
        if word in ("negation", "inversion", "not"):
            sign = {"negation": "-", "inversion": "~", "not": "not "}[word]
            return of(f"({sign}{{0}})", BOOL if word == "not" else kind)
        if word == "power":
            return of("({0} ** 2)")
        if word == "logical":
            other = Expr(BOOL, f"({{0}} > {r.randrange(5)})", (self.tame(scope, INT, lines),))
            op = r.choice(["and", "or"])
            first, second = (h, other) if part == "first" else (other, h)
            return of(f"(True if {{0}} {op} {{1}} else False)", BOOL, first, second)
        if word == "comparison":
            op = r.choice(["==", "!="] if is_vector or kind == BOOL else ["<", "<=", ">", ">=", "==", "!="])
            return of(f"({{0}} {op} {{1}})" if part == "left" else f"({{1}} {op} {{0}})", BOOL)
        if word == "chain":
            text = {"left": "({0} < {1} < 9)", "middle": "(1 < {0} <= {1})", "right": "(1 < {1} <= {0})"}[part]
            return of(text, BOOL)
        if word == "choice":
            y = self.tame(scope, kind, lines)
            c = Expr(BOOL, "({0} > 4)", (self.tame(scope, INT, lines),))
            text, args = {
                "test": ("(3 if {0} else 5)", (h,)), "body": ("({0} if {1} else {2})", (h, c, y)),
                "orelse": ("({2} if {1} else {0})", (h, c, y)),
            }[part]  # fmt: skip
            return self.sink(Expr(INT if part == "test" else kind, text, args))
        if word == "cast":
            to = r.choice([INT, UINT, FLOAT, BOOL])
            return of(f"{to.type}({{0}})", to)
        if word == "builtin":
            text, to = r.choice([("abs({0})", kind), ("max({0}, {1})", kind), ("min({1}, {0})", kind),
                                 ("math.sqrt({0} * 0.0 + 4.0)" if kind == FLOAT else "max({0}, 3)", kind)])  # fmt: skip
            return of("max({0}, 2)", kind) if kind == UINT and text.startswith("abs") else of(text, to)
        if word == "vector":
            if is_vector:
                return of(f"{kind.type}({{0}})")
            to = kind.vector(2)
            return of(f"{to.type}({{0}}, {{1}})", to)
        if word == "struct":
            self.needs_pair()
            field = {INT: "ma", UINT: "mu", FLOAT: "mb", IV: "mv", FV: "mw"}[kind]
            return of(f"Pair({field}={{0}}).{field}", kind, h)
        if word == "function":
            return self.sink(self.called(kind, scope, h))
        if word == "lambda":
            name = self.fresh("again")
            lines.append(line(f"{name} = lambda q: q + q"))
            return of(f"{name}({{0}})")
        if word == "atomic":
            name = self.fresh("cells")
            self.counters.append(name)
            lines.append(line(f"{name}[me] = 5"))
            op = r.choice(["add", "sub", "xor", "or", "max"])
            lines.append(line(f"amp.atomic_fetch_{op}({name}[me], {{0}})", h))
            return self.sink(Expr(INT, f"{name}[me]"))
        if word == "subgroup":
            row = r.choice(["any", "all"] if kind == BOOL else ["add", "max", "inclusive_add", "broadcast_first"])
            return of(f"amp.subgroup.{row}({{0}})", kind, h)
        if word == "index":
            return of("amp.index({0}, 2)[0]", kind, h)
        if word == "subscript":
            name = self.fresh("wide")
            lines.append(line(f"{name} = amp.private(10, amp.int32)"))
            at = self.fresh("j")
            lines.append(Stmt([(f"for {at} in range(10):", (), [line(f"{name}[{at}] = {at} * {r.randint(1, 9)}")])]))
            return of(f"{name}[{{0}}]", INT, h)
        if word == "section":
            view = self.fresh("part")
            self.sections.append(view)
            lines.append(line(f"{view} = long_row.section(amp.index({{0}}), amp.extent(4))", h))
            return self.sink(Expr(INT, f"{view}[{r.randrange(4)}]"))
        return self._stated(word, part, kind, h, x, scope, lines)

    def _stated(self, word: str, part: str, kind: Kind, h: Expr, x: Expr, scope: Scope, lines: Lines) -> Lines:
        """The positions that are a statement's."""
        r = self.random
        n = self.fresh("r")
        if word == "range":
            text = {"start": "{0}, 9", "stop": "{0}", "step": "0, 9, {0}"}[part]
            counter = self.fresh("k")
            end = line(f"{n} += amp.int32({counter}) + 1")
            lines += [line(f"{n} = 0"), Stmt([(f"for {counter} in range({text}):", (h,), [end])])]
            return self.sink(Expr(INT, n))
        if word in ("assigned", "augmenting"):
            return self._assigned(word, part.split()[-1], kind, h, x, scope, lines)
        if word == "tuple":
            lines.append(line(f"{n}, {n}b = {{0}}, {{1}}", h, x))
            return [*self.sink(Expr(kind, n)), *self.sink(Expr(kind, f"{n}b"))]
        if word == "assert":
            lines.append(line("assert {0}", h))
            return self.sink(x)
        lines.append(line(f"{n} = 0"))
        add = line(f"{n} += 3")
        if word == "while":
            stop = Stmt([(f"if {n} > {r.randint(0, 8)}:", (), [line("break")])])
            lines.append(Stmt([("while {0}:", (h,), [add, stop])]))
        elif word == "if":
            lines.append(Stmt([("if {0}:", (h,), [add]), ("else:", (), [line(f"{n} -= 1")])]))
        elif word == "elif":
            other = Expr(BOOL, f"(({self.fresh('w')} := {{0}}) > 5)", (self.tame(scope, INT, lines),))
            lines.append(Stmt([("if {0}:", (other,), [line(f"{n} -= 1")]), ("elif {0}:", (h,), [add])]))
        elif word == "match":
            cases = [Stmt([("case 1 | 2:", (), [add])]), Stmt([("case 3:", (), [line(f"{n} -= 1")])]),
                     Stmt([("case _:", (), [line(f"{n} += 7")])])]  # fmt: skip
            lines.append(Stmt([("match {0}:", (h,), cases)]))
        else:
            assert word == "guard", word
            cases = [Stmt([("case 1 | 2 | 3 if {0}:", (h,), [add])]), Stmt([("case _:", (), [line(f"{n} -= 1")])])]
            lines.append(Stmt([("match {0}:", (self.tame(scope, INT, lines),), cases)]))
        return self.sink(Expr(INT, n))

    def _assigned(self, word: str, to: str, kind: Kind, h: Expr, x: Expr, scope: Scope, lines: Lines) -> Lines:
        r = self.random
        sign = "=" if word == "assigned" else f"{r.choice('+-*')}="
        name = self.fresh("r")
        if to == "variable":
            lines.append(line(f"{name} = {{0}}", x))
            target = Expr(kind, name)
        elif to == "element":
            target = Expr(kind, f"{self.filled(scope, kind, lines)}[{r.randrange(3)}]")
        elif to == "field":
            self.needs_pair()
            field = {INT: "ma", UINT: "mu", FLOAT: "mb", IV: "mv", FV: "mw"}[kind]
            lines.append(line(f"{name} = Pair({field}={{0}})", x))
            target = Expr(kind, f"{name}.{field}")
        else:
            lines.append(line(f"{name} = {kind.vector(3).type}({{0}}, 1, 2)", x))
            target = Expr(kind, f"{name}.{r.choice('xyz')}")
        lines.append(line(f"{{0}} {sign} {{1}}", target, h))
        return self.sink(target)

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
        loop = where in ("for", "while")

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
        elif what == "call of a function":
            name = self.fresh("bump")
            self.beside.append(Stmt([(f"@amp.func\ndef {name}(values, p):", (), [line("values[p % 3] += p")])]))
            cells = self.filled(scope, INT, lines)
            lines.append(line(f"{name}({cells}, {{0}})", tame()))
            change(f"$ += {cells}[0] + {cells}[1] * 2 + {cells}[2] * 4")
        elif what == "call of an atomic":
            name = self.fresh("cells")
            self.counters.append(name)
            lines.append(line(f"{name}[me] = 1"))
            lines.append(line(f"amp.atomic_fetch_{r.choice(['add', 'max', 'xor'])}({name}[me], {{0}})", tame()))
            change(f"$ += {name}[me]")
        elif what == "assert":
            lines.append(line("assert {0} > 0", tame()))
        elif what == "if":
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
        elif what == "while":
            n = self.fresh("m")
            lines.append(line(f"{n} = {{0}} % 4", tame()))
            lines.append(Stmt([(f"while {n} > 0:", (), [line(f"{v} += {n}"), line(f"{n} -= 1")])]))
        elif what in ("break", "continue") and loop:
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
        lines.append(Stmt([(f"for {k} in range(4):", (), [branches[where], line(f"{v} += 3")])]))

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
                if any_number and (op in _COMPARISONS or not is_float(name) or r.random() < 0.5):
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
        if op in _COMPARISONS:
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
