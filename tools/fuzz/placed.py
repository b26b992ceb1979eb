"""Tame values, expressions of each kind, and their positions: the first part of ``pairs.py``.

A piece makes *tame* values of what is in scope: whole numbers from 1 to 8, floats from 0.5 to 8, so that they can be
used anywhere: as a divisor, a subscript, a shift count. The result is stored to a separate row for each piece.
"""

from __future__ import annotations

from tools.fuzz.expressions import Scope
from tools.fuzz.grammar import possible
from tools.fuzz.statements import Statements, line
from tools.fuzz.tree import BOOL, INT, UINT, Expr, Kind, Lines, Stmt

__all__ = ["COMPARISONS", "FLOAT", "FV", "IV", "PAIR", "Placed"]

#: Tame floats, and the results of operations on them.
FLOAT = Kind("exact", size=2.0**12, bits=6)
IV, FV = INT.vector(3), FLOAT.vector(2)
PAIR = Kind("struct", struct="Pair")
_KINDS = {"int": INT, "uint": UINT, "float": FLOAT, "bool": BOOL, "struct": PAIR}
_BITS = ("bits", "shift", "inversion")

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def _one(kind: Kind) -> str:
    """The literal one for a kind."""
    return "1" if kind in (INT, UINT, IV) else "1.0"


def _vector_texts(kind: Kind) -> dict[str, list[str]]:
    """Tame expressions of a short vector, by what they are."""
    one = _one(kind)
    return {
        "arithmetic": [f"({{0}} * {one})", "({0} + 0)", "({0} - 0)"],
        "division": ["({0} / 1)"], "bits": ["({0} & 15)", "({0} | 0)", "({0} ^ 0)"],
        "shift": ["(({0} << 2) >> 2)"], "inversion": ["(~(~{0}))"], "negation": ["(-(-{0}))", "(+{0})"],
        "vector": [f"{kind.type}({{0}})"], "swizzle": ["{0}." + "xyz"[: kind.count]],
    }  # fmt: skip


def _scalar_texts(kind: Kind) -> dict[str, list[str]]:
    """Tame expressions of a number, by what they are."""
    whole, one = kind in (INT, UINT), _one(kind)
    return {
        "arithmetic": ["({0} + 0)", "(9 - {0})" if whole else "(8.5 - {0})", f"({{0}} * {one})"],
        "division": ["({0} / 2)", "({0} / 4.0)"],
        "floor": ["({0} // 1)", "({0} % 9)"] if whole else ["({0} % 16.0)"],
        "bits": ["(({0} & 7) | 1)", "({0} | 1)", "({0} ^ 0)"], "shift": ["(({0} << 3) >> 3)", "({0} << 0)"],
        "power": ["({0} ** 1)"], "negation": ["(-(-{0}))", "(+{0})"], "inversion": ["(~(~{0}))"],
        "cast": [f"{kind.type}({{0}})"], "builtin": ["min({0}, 8)", "max({0}, 1)", "min({0}, 7, 8)"],
        "component": [f"amp.{'int' if kind == INT else 'uint' if kind == UINT else 'float'}3({{0}}, 1, 2).x"],
        "index component": ["amp.index(2, {0})[1]", "amp.extent({0}, 1)[0]"],
    }  # fmt: skip


class Placed(Statements):
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
        texts = (_vector_texts(kind) if kind.count > 1 else _scalar_texts(kind)).get(what)
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
        """Code with the expression in the position, and the lines before it: beside an operator, or elsewhere."""
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
        return self._passed(word, part, kind, h, x, scope, lines)

    def _passed(self, word: str, part: str, kind: Kind, h: Expr, x: Expr, scope: Scope, lines: Lines) -> Lines:
        """The positions of an argument or subscript."""
        r = self.random

        def of(text: str, to: Kind = kind, *args: Expr) -> Lines:
            return self.sink(Expr(to, text, args or (h, x)))

        if word == "cast":
            to = r.choice([INT, UINT, FLOAT, BOOL])
            return of(f"{to.type}({{0}})", to)
        if word == "builtin":
            text, to = r.choice([("abs({0})", kind), ("max({0}, {1})", kind), ("min({1}, {0})", kind),
                                 ("math.sqrt({0} * 0.0 + 4.0)" if kind == FLOAT else "max({0}, 3)", kind)])  # fmt: skip
            return of("max({0}, 2)", kind) if kind == UINT and text.startswith("abs") else of(text, to)
        if word == "vector":
            if kind.count > 1:
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
