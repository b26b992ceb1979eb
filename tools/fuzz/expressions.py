"""Random expressions of a kind over the names in scope, all of whose values are defined. They avoid known faults of
drivers, with a comment at each place: a store of a NaN made by a division is dropped by lavapipe, so no divisor of a
float is 0; denormals are flushed by SwiftShader, so no result is that small.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from tools.fuzz.rows import EXACT_ROWS, ROUGH_ROWS, SPECIAL_ROWS
from tools.fuzz.tree import BOOL, EXACT, INT, RAW, ROUGH, SPECIAL, UINT, Expr, Kind

__all__ = ["Array", "Expressions", "Function", "Scope", "Shape"]

#: size * 2^bits of an exact value stays below: float32 has 24 bits.
_LIMIT = 2.0**22
_COUNTER = r"(amp\.u?int32\()?k\d+\)?"
_ONE = r"(1|True|amp\.u?int32\(1\))"
_NEXT = re.compile(rf"\({_COUNTER} \+ {_ONE}\)|\({_ONE} \+ {_COUNTER}\)")


@dataclass(frozen=True)
class Array:
    """Memory that may be read at any subscript: an input, a private or tile_static array, a view."""

    name: str
    kind: Kind
    shape: tuple[int, ...]
    #: Whether threads may store to any of its elements.
    stores: bool = False
    #: Whether ``name[i]`` is a view of the rest: containers, not arrays.
    projects: bool = False


@dataclass(frozen=True)
class Function:
    """Something to call: the kinds of its parameters (an Array: by reference) and of its results."""

    name: str
    params: tuple[Kind | Array, ...]
    results: tuple[Kind, ...]
    method: bool = False
    #: The text of a nested one: it reads arrays that it captures.
    text: str = ""

    def reads(self, array: Array) -> bool:
        """Whether a call reads elements of an array that is no argument."""
        return re.search(rf"\b{array.name}\b", self.text) is not None


@dataclass(frozen=True)
class Shape:
    """A struct type: a struct's fields by name; a tuple is an array of a kind."""

    name: str
    fields: tuple[tuple[str, Kind | tuple[Kind, int]], ...]
    #: Whether ``name(...)`` makes a value.
    constructs: bool


@dataclass
class Scope:
    """The names that can be used at a point of a function."""

    values: list[Expr] = field(default_factory=list)
    #: Names among ``values`` that may be assigned.
    variables: list[tuple[str, Kind]] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    #: Places that this thread alone reads and writes.
    cells: list[Expr] = field(default_factory=list)

    def inner(self) -> Scope:
        """A scope for a nested block: its names do not exist outside."""
        return Scope(list(self.values), list(self.variables), list(self.arrays), list(self.functions), list(self.cells))

    def without(self, hidden: list[Array]) -> Scope:
        """A scope in which some arrays cannot be read, also not by called functions."""
        scope = self.inner()
        scope.arrays = [a for a in scope.arrays if a not in hidden]
        scope.functions = [f for f in scope.functions if not any(f.reads(a) for a in hidden)]
        return scope


class Expressions:
    """Makes expressions; ``scope`` is the scope of their place."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.shapes: dict[str, Shape] = {}
        #: Values that are the same for all threads of the tile, for control flow around barriers.
        self.uniform: list[Expr] = []
        self.precise = False
        self.calls_left = 0

    # -- helpers -----------------------------------------------------------------------------------------------

    def pick(self, *forms: Callable[[], Expr]) -> Expr:
        return self.random.choice(forms)()

    def literal(self, kind: Kind, value: float) -> Expr:
        if kind.base == "bool":
            return Expr(BOOL, "True" if value else "False")
        if kind.base in ("int", "uint"):
            return Expr(kind, f"{kind.type}({int(value)})")
        return Expr(kind, repr(float(value)))

    def constant(self, kind: Kind) -> Expr:
        """The simplest expressions of a kind; the shrinker uses them too."""
        r = self.random
        if kind.base == "struct":
            return self.struct_value(Scope(), self.shapes[kind.struct], 0)
        if kind.count > 1:
            return Expr(kind, f"{kind.type}({{0}})", (self.constant(kind.scalar),))
        if kind == BOOL:
            return self.literal(BOOL, r.random() < 0.5)
        if kind == INT:
            return self.literal(
                INT, r.choice([0, 1, 2, 3, 5, 7, 64, 255, -1, -2, -9, 1000, 2**31 - 1, -(2**31), 65536])
            )
        if kind == UINT:
            return self.literal(UINT, r.choice([0, 1, 2, 3, 5, 8, 31, 64, 255, 2**31, 2**32 - 1, 65536]))
        if kind.base == "exact":
            values = [0, 1, 2, 0.5, -1, -0.5, 3, -2.5, 8, 16]
            fitting = [v for v in values if abs(v) <= kind.size and (v * 2**kind.bits) % 1 == 0]
            value = r.choice(fitting or [0])
            bits = 0 if value % 1 == 0 else 1
            return self.literal(Kind("exact", size=abs(value), bits=bits), value)
        if kind.base == "special":
            return r.choice(
                [Expr(SPECIAL, "math.inf"), Expr(SPECIAL, "amp.float32(1.5)"), Expr(SPECIAL, "(-math.inf)")]
            )
        return self.literal(dataclasses.replace(kind, size=min(kind.size, 4), error=0), r.choice([0.25, 1.5, 0.1, 3.7]))

    def leaf(self, scope: Scope, kind: Kind) -> Expr:
        r = self.random
        known = [v for v in scope.values if kind.takes(v.kind)]
        arrays = [a for a in scope.arrays if kind.takes(a.kind)]
        cells = [c for c in scope.cells if kind.takes(c.kind)]
        paths = self.paths(scope, kind) if r.random() < 0.2 else []
        choice = r.random()
        if paths:
            return r.choice(paths)
        if known and choice < 0.6:
            return r.choice(known)
        if arrays and choice < 0.8:
            return self.element(scope, r.choice(arrays), 0)
        if cells and choice < 0.85:
            return r.choice(cells)
        return r.choice(known) if known and r.random() < 0.5 else self.constant(kind)

    def subscript(self, scope: Scope, length: int, depth: int) -> Expr:
        r = self.random
        if length == 1:
            return Expr(INT, "0")
        if r.random() < 0.2:
            return Expr(INT, str(r.randrange(length)))
        kind = UINT if r.random() < 0.2 else INT
        return Expr(
            INT, f"({{0}} % {length})", (self.make(scope, kind, depth) if depth > 0 else self.plain_leaf(scope, kind),)
        )

    def plain_leaf(self, scope: Scope, kind: Kind) -> Expr:
        """A variable or constant, but no memory, whose subscripts would need further leaves."""
        known = [v for v in scope.values if v.kind == kind]
        return self.random.choice(known) if known and self.random.random() < 0.9 else self.constant(kind)

    def element(self, scope: Scope, array: Array, depth: int) -> Expr:
        """An element of memory that may be read anywhere."""
        r = self.random
        parts = tuple(self.subscript(scope, n, depth) for n in array.shape)
        holes = [f"{{{n}}}" for n in range(len(parts))]
        form = r.random()
        if array.projects and len(parts) > 1 and form < 0.25:
            text = "".join(f"[{h}]" for h in holes)
        elif len(parts) > 1 and form < 0.4:
            text = f"[amp.index({', '.join(holes)})]"
        else:
            text = f"[{', '.join(holes)}]"
        return Expr(array.kind, array.name + text, parts)

    def paths(self, scope: Scope, kind: Kind) -> list[Expr]:
        """Fields and components, of a kind, of a struct or vector in scope."""
        found: list[Expr] = []
        known: list[Expr | Array] = [*scope.values, *scope.cells, *scope.arrays]
        wholes = [v for v in known if self.has_parts(v.kind)]
        if wholes:
            whole = self.random.choice(wholes)
            place = self.element(scope, whole, 0) if isinstance(whole, Array) else whole
            found = [p for p in self.parts(scope, place) if kind.takes(p.kind)]
        return found

    def has_parts(self, kind: Kind) -> bool:
        """Whether it is a struct or a short vector."""
        return kind.base == "struct" or kind.count > 1

    def parts(self, scope: Scope, whole: Expr) -> list[Expr]:
        """Every field under a struct, and some swizzles of vectors."""
        r = self.random
        if whole.kind.base == "struct":
            found = []
            for name, kind in self.shapes[whole.kind.struct].fields:
                if isinstance(kind, tuple):
                    index = self.subscript(scope, kind[1], 0)
                    part = Expr(kind[0], f"{{0}}.{name}[{{1}}]", (whole, index))
                else:
                    part = Expr(kind, f"{{0}}.{name}", (whole,))
                found += [part, *self.parts(scope, part)]
            return found
        if whole.kind.count > 1:
            family = r.choice(["xyzw", "rgba"])[: whole.kind.count]
            found = [Expr(whole.kind.scalar, f"{{0}}.{letter}", (whole,)) for letter in family]
            size = r.randint(2, whole.kind.count)
            letters = "".join(r.sample(family, size))
            return [*found, Expr(whole.kind.vector(size), f"{{0}}.{letters}", (whole,))]
        return []

    # -- any kind ----------------------------------------------------------------------------------------------

    def make(self, scope: Scope, kind: Kind, depth: int) -> Expr:
        """An expression whose value may be used where ``kind`` is expected."""
        r = self.random
        if depth <= 0:
            return self.leaf(scope, kind)
        if kind.base == "struct":
            return self.struct_value(scope, self.shapes[kind.struct], depth)
        if r.random() < 0.08:
            called = self.call(scope, kind, depth)
            if called is not None:
                return called
        if r.random() < 0.07:
            a, b = self.make(scope, kind, depth - 1), self.make(scope, kind, depth - 1)
            return Expr(self.join(kind, a, b), "({0} if {1} else {2})", (a, self.truth(scope, depth - 1), b))
        if kind.count > 1:
            return self.vector(scope, kind, depth)
        if kind.base in ("int", "uint", "exact") and r.random() < 0.06:
            vector = self.make(scope, (EXACT if kind.base == "exact" else kind).vector(r.choice([2, 3, 4])), depth - 1)
            part = Expr(vector.kind.scalar, f"{{0}}.{r.choice('xyzw'[: vector.kind.count])}", (vector,))
            if kind.base in ("int", "uint") or kind.takes(part.kind):
                return part
        makers = {
            "int": self.integer, "uint": self.integer, "bool": self._truth, "exact": self.exact, "rough": self.rough,
            "raw": self.raw, "special": self.special,
        }  # fmt: skip
        return makers[kind.base](scope, kind, depth)

    def join(self, kind: Kind, *parts: Expr) -> Kind:
        """The kind of a choice between values."""
        return dataclasses.replace(
            kind,
            size=max(p.kind.size for p in parts),
            bits=max(p.kind.bits for p in parts),
            error=max(p.kind.error for p in parts),
        )

    def call(self, scope: Scope, kind: Kind, depth: int) -> Expr | None:
        """A call of a function with one result of the kind, or one of several results' components."""
        chosen = [f for f in scope.functions if any(kind.takes(k) for k in f.results)]
        if not chosen or self.calls_left <= 0:
            return None
        function = self.random.choice(chosen)
        args = self.arguments(scope, function, depth - 1)
        if args is None:
            return None
        self.calls_left -= 1
        holes = ", ".join(f"{{{n}}}" for n in range(len(args)))
        places = [n for n, k in enumerate(function.results) if kind.takes(k)]
        which = self.random.choice(places)
        suffix = f"[{which}]" if len(function.results) > 1 else ""
        return Expr(function.results[which], f"{function.name}({holes}){suffix}", tuple(args))

    def arguments(self, scope: Scope, function: Function, depth: int) -> list[Expr] | None:
        """Arguments for a call; ``None`` if an array of the right kind is not in scope."""
        args = []
        for param in function.params:
            if isinstance(param, Array):
                fitting = [
                    a for a in scope.arrays
                    if a.kind == param.kind and a.shape == param.shape and a.stores >= param.stores
                ]  # fmt: skip
                if not fitting:
                    return None
                args.append(Expr(Kind("struct", struct="array"), self.random.choice(fitting).name))
            else:
                args.append(self.store(scope, param, depth))
        return args

    def store(self, scope: Scope, kind: Kind, depth: int) -> Expr:
        """An expression to assign to a variable or element of the kind: exact ones are folded into its range."""
        if kind.base == "exact":
            return self.folded(self.make(scope, Kind("exact", kind.count, 2.0**16, 4), depth), kind)
        return self.make(scope, kind, depth)

    def folded(self, value: Expr, kind: Kind) -> Expr:
        """An exact value brought into the range of EXACT."""
        if kind.takes(value.kind):
            return value
        scale = 2**value.kind.bits
        if value.kind.count > 1:
            n = value.kind.count
            inside = f"{{0}} * {scale}" if scale > 1 else "{0}"
            return Expr(EXACT.vector(n), f"(amp.float{n}(amp.int{n}({inside}) % 64) * 0.5)", (value,))
        inside = f"{{0}} * {scale}" if scale > 1 else "{0}"
        return Expr(EXACT, f"(amp.float32(amp.int32({inside}) % 128) * 0.5 - 32.0)", (value,))

    # -- integers ----------------------------------------------------------------------------------------------

    def integer(self, scope: Scope, kind: Kind, depth: int) -> Expr:
        r = self.random
        signed = kind == INT
        other = UINT if signed else INT
        small = Kind("exact", 1, 2.0**20, 6)

        def sub(k: Kind = kind) -> Expr:
            return self.make(scope, k, depth - 1)

        def two(text: str) -> Expr:
            return Expr(kind, text, (sub(), sub()))

        def one(text: str) -> Expr:
            return Expr(kind, text, (sub(),))

        positive = r.choice([1, 2, 3, 4, 7, 8, 10, 16, 64, 1000, 2**30])
        divisor = r.choice([positive, positive, -2, -3, -8, -64]) if signed else positive
        literal = r.choice([1, 2, 3, 10, 255])
        forms: list[Callable[[], Expr]] = [
            lambda: two(f"({{0}} {r.choice('+-*')} {{1}})"),
            lambda: two(f"({{0}} {r.choice('&|^')} {{1}})"),
            lambda: one(f"({{0}} {r.choice('+-*&|^')} {literal})"),
            lambda: one(f"({literal} {r.choice('+-*&|^')} {{0}})"),
            lambda: two(f"({{0}} {r.choice(['<<', '>>'])} ({{1}} & {r.choice([7, 15, 31])}))"),
            lambda: one(f"({{0}} {r.choice(['<<', '>>'])} {r.randrange(32)})"),
            lambda: one(f"({{0}} {r.choice(['//', '%'])} {divisor})"),
            lambda: two(f"({{0}} {r.choice(['//', '%'])} (({{1}} & {r.choice([7, 255])}) + 1))"),
            lambda: two(f"({{0}} {r.choice(['//', '%'])} ({{1}} | 1))") if not signed else
            two(f"({{0}} {r.choice(['//', '%'])} (-2 - ({{1}} & 7)))"),
            lambda: one(f"amp.{r.choice(['tdiv', 'trem'])}({{0}}, {divisor})"),
            lambda: two(f"amp.{r.choice(['tdiv', 'trem'])}({{0}}, ({{1}} & 7) + 2)"),
            lambda: one("(~{0})"),
            lambda: one("(-{0})" if signed else "(0 - {0})"),
            lambda: one("(+{0})"),
            lambda: two(f"{r.choice(['min', 'max'])}({{0}}, {{1}})"),
            lambda: one(f"({{0}} ** {r.choice([0, 1, 2, 3, 5])})"),
            lambda: Expr(kind, f"{kind.type}({{0}})", (sub(other),)),
            lambda: Expr(kind, f"{kind.type}({{0}})", (sub(BOOL),)),
            lambda: Expr(kind, "({0} + {1})", (sub(BOOL), sub())),
            lambda: self.row(scope, kind, depth),
        ]  # fmt: skip
        if signed:
            forms += [
                lambda: one("abs({0} >> 1)"),
                # Numbers of constants are weak, and might be shifted past an int.
                lambda: Expr(INT, "amp.int32(int({0}))", (sub(BOOL),)),
                lambda: Expr(INT, "int({0})", (sub(UINT),)),
                lambda: Expr(INT, r.choice(["amp.int32({0})", "amp.int32(int({0}))"]), (sub(small),)),
                lambda: Expr(INT, "amp.int32({0} + {1})", (sub(BOOL), sub(BOOL))),
            ]
        else:
            forms += [
                lambda: Expr(UINT, "amp.uint32(abs({0}))", (sub(small),)),
                # C++'s usual conversions: a signed operand becomes unsigned.
                lambda: Expr(UINT, f"(amp.int32({{0}}) {r.choice('+-*&|^')} {{1}})", (sub(INT), sub())),
            ]
        value = r.choice(forms)()
        if _is_next(value):
            value = dataclasses.replace(value, text=value.text.replace(" + ", " - "))
        return value

    def row(self, scope: Scope, kind: Kind, depth: int, number: int | None = None) -> Expr:
        """A row of the table of builtins with a result of the base: any, or one of them by number."""
        rows = [r for r in (ROUGH_ROWS if kind.base == "rough" else EXACT_ROWS) if r.kind.base == kind.base]
        row = self.random.choice(rows) if number is None else rows[number % len(rows)]
        args = []
        for domain in row.domains:
            args.append(self.make(scope, domain.kind, depth - 1))
        return Expr(row.kind, row.call(self.random), tuple(args))

    # -- truth -------------------------------------------------------------------------------------------------

    def truth(self, scope: Scope, depth: int) -> Expr:
        return self.make(scope, BOOL, depth)

    def _truth(self, scope: Scope, kind: Kind, depth: int) -> Expr:
        r = self.random
        compare = r.choice(["<", "<=", ">", ">=", "==", "!="])
        wide = Kind("exact", 1, 2.0**16, 4)

        def of(text: str, *kinds: Kind) -> Expr:
            return Expr(BOOL, text, tuple(self.make(scope, k, depth - 1) for k in kinds))

        def chain() -> Expr:
            # The parts of a chain that are evaluated under a condition must have no calls.
            k = r.choice([INT, UINT, EXACT])
            parts = (self.make(scope, k, depth - 1), self.leaf(scope, k), self.leaf(scope, k))
            return Expr(BOOL, f"({{0}} {compare} {{1}} {r.choice(['<', '<=', '!=', '=='])} {{2}})", parts)

        vector = r.choice([INT, UINT, EXACT]).vector(r.choice([2, 3, 4]))
        number = r.choice([INT, UINT, EXACT])
        special = r.choice(SPECIAL_ROWS)
        forms: list[Callable[[], Expr]] = [
            lambda: of(f"({{0}} {compare} {{1}})", INT, INT),
            lambda: of(f"({{0}} {compare} {{1}})", UINT, UINT),
            lambda: of(f"({{0}} {compare} {{1}})", wide, wide),
            lambda: of(f"({{0}} {compare} {r.choice([0, 1, 5])})", number),
            lambda: of(f"({r.choice([0, 1, 5])} {compare} {{0}})", number),
            lambda: of(f"(amp.int32({{0}}) {compare} {{1}})", INT, UINT),
            lambda: of(f"({{0}} {compare} {{1}})", Kind("exact", 1, 1024, 2), Kind("exact", 1, 1024, 0)),
            lambda: of("({0} and {1})", BOOL, BOOL),
            lambda: of("({0} or {1})", BOOL, BOOL),
            lambda: of("({0} and {1} or {2})", BOOL, BOOL, BOOL),
            lambda: of("(not {0})", BOOL),
            lambda: of("(not {0})", number),
            lambda: of("bool({0})", number),
            lambda: of(f"({{0}} {r.choice('&|^')} {{1}})", BOOL, BOOL),
            lambda: of(f"({{0}} {r.choice(['==', '!='])} {{1}})", BOOL, BOOL),
            lambda: of(f"({{0}} {r.choice(['==', '!='])} {{1}})", vector, vector),
            chain,
            lambda: Expr(BOOL, special.call(r), tuple(self.make(scope, SPECIAL, depth - 1) for _ in special.domains)),
            lambda: of(f"({{0}} {compare} {{1}})", SPECIAL, SPECIAL),
            lambda: of(f"(amp.extent({r.randint(1, 9)}, 4).contains(amp.index({{0}}, {{1}})))", INT, INT),
            lambda: of("(amp.index({0}, {1}) == amp.index({1}, {0}))", INT, INT),
        ]  # fmt: skip
        return r.choice(forms)()

    # -- floats ------------------------------------------------------------------------------------------------

    def exact(self, scope: Scope, kind: Kind, depth: int) -> Expr:
        """An exact float within the kind's size and bits; larger values are folded."""
        if kind.takes(EXACT) and self.random.random() < 0.08:
            return self.folded(self.row(scope, Kind("exact"), depth), kind)
        for _ in range(3):
            value = self._exact(scope, kind, depth)
            if kind.takes(value.kind):
                return value
        if kind.size >= 64 and kind.bits >= 1:
            return self.folded(value, kind)
        return self.leaf(scope, kind)

    def _exact(self, scope: Scope, kind: Kind, depth: int) -> Expr:
        r = self.random

        def sub(size: float = kind.size, bits: int = kind.bits) -> Expr:
            return self._part(scope, depth, size, bits)

        def integer() -> Expr:
            return self.make(scope, INT, depth - 1)

        def sum_(text: str) -> Expr:
            a, b = sub(), sub()
            return self._bounded(text, a.kind.size + b.kind.size, max(a.kind.bits, b.kind.bits), a, b)

        def product() -> Expr:
            a, b = sub(), sub(64, 1)
            return self._bounded("({0} * {1})", a.kind.size * b.kind.size, a.kind.bits + b.kind.bits, a, b)

        def keep(text: str, count: int = 1) -> Expr:
            parts = [sub() for _ in range(count)]
            joined = self.join(Kind("exact"), *parts)
            return self._bounded(text, joined.size, joined.bits, *parts)

        def scaled(text: str, factor: float, bits: int) -> Expr:
            a = sub()
            return self._bounded(text, a.kind.size * factor, max(0, a.kind.bits + bits), a)

        whole = r.choice(["floor", "ceil", "trunc", "round"])
        library = r.choice(["amp.fast_math", "amp.precise_math"] + ["math"] * (whole != "round"))
        smaller = r.choice(["min", "max", "amp.fast_math.fmin", "amp.fast_math.fmaxf", "amp.precise_math.fmax",
                            "amp.precise_math.fmin"])  # fmt: skip
        sized = r.choice(["abs", "amp.fast_math.fabs", "math.fabs", "amp.precise_math.fabs"])
        forms: list[Callable[[], Expr]] = [
            lambda: sum_(f"({{0}} {r.choice('+-')} {{1}})"),
            product,
            lambda: scaled("({0} * 0.5)", 0.5, 1),
            lambda: scaled("({0} / 4)", 0.25, 2),
            lambda: scaled("(2 * {0})", 2, 0),
            lambda: keep("(-{0})"),
            lambda: keep("(+{0})"),
            lambda: keep(f"{sized}({{0}})"),
            lambda: keep(f"{smaller}({{0}}, {{1}})", 2),
            lambda: self._whole(scope, depth, f"{library}.{whole}"),
            lambda: self._whole(scope, depth, r.choice(["round", "amp.precise_math.nearbyint"])),
            lambda: self._modulo(scope, depth),
            lambda: self._fused(scope, kind, depth),
            lambda: self._divided(scope, depth),
            lambda: Expr(Kind("exact", 1, 1023, 0), "amp.float32({0} % 1024)", (integer(),)),
            lambda: Expr(Kind("exact", 1, 255, 0), "float({0} & 255)", (self.make(scope, UINT, depth - 1),)),
            lambda: Expr(Kind("exact", 1, 8, 2), "(({0} & 31) * 0.25)", (integer(),)),
            lambda: Expr(Kind("exact", 1, 1.5, 1), "({0} + 0.5)", (self.truth(scope, depth - 1),)),
            lambda: Expr(Kind("exact", 1, 1, 0), "float({0})", (self.truth(scope, depth - 1),)),
        ]  # fmt: skip
        return r.choice(forms)()

    def _part(self, scope: Scope, depth: int, size: float, bits: int) -> Expr:
        """An exact operand of at most this size, with this many bits behind the point."""
        return self.make(scope, Kind("exact", 1, size, bits), depth - 1)

    def _bounded(self, text: str, size: float, bits: int, *args: Expr) -> Expr:
        """An expression of this size, or its first operand made smaller where that is too large to be exact."""
        if size * 2**bits > _LIMIT:
            return self.folded(args[0], EXACT)
        return Expr(Kind("exact", 1, size, bits), text, args)

    def _whole(self, scope: Scope, depth: int, name: str) -> Expr:
        """A rounding to a whole number."""
        a = self._part(scope, depth, 2.0**16, 5)
        return self._bounded(f"{name}({{0}})", a.kind.size + 1, 0, a)

    def _modulo(self, scope: Scope, depth: int) -> Expr:
        # Of a power of two, so that a driver's rounded quotient can't be off by one.
        power = self.random.choice([2, 4, 8, 16])
        a = self._part(scope, depth, 2.0**12, 4)
        if self.random.random() < 0.5:
            return self._bounded(f"({{0}} // {power}.0)", a.kind.size / power + 1, 0, a)
        return self._bounded(f"({{0}} % {power}.0)", power, a.kind.bits, a)

    def _fused(self, scope: Scope, kind: Kind, depth: int) -> Expr:
        a, b = self._part(scope, depth, 64, 1), self._part(scope, depth, 64, 1)
        c = self._part(scope, depth, kind.size, kind.bits)
        size = a.kind.size * b.kind.size + c.kind.size
        bits = max(a.kind.bits + b.kind.bits, c.kind.bits)
        return self._bounded("amp.precise_math.fma({0}, {1}, {2})", size, bits, a, b, c)

    def _divided(self, scope: Scope, depth: int) -> Expr:
        power = self.random.choice([2, 4, 8])
        kind = Kind("exact", 1, 512 / power, power.bit_length() - 1)
        return Expr(kind, f"(({{0}} % 512) / {power})", (self.make(scope, INT, depth - 1),))

    def rough(self, scope: Scope, kind: Kind, depth: int) -> Expr:
        for _ in range(4):
            value = self._rough(scope, kind, depth)
            if kind.takes(value.kind):
                return value
        return self.leaf(scope, kind)

    def _rough(self, scope: Scope, kind: Kind, depth: int) -> Expr:
        r = self.random

        def sub(k: Kind = ROUGH) -> Expr:
            return self.make(scope, k, depth - 1)

        def row() -> Expr:
            return self.row(scope, ROUGH, depth)

        def total(sign: str) -> Expr:
            a, b = sub(), sub()
            size = a.kind.size + b.kind.size
            return Expr(
                Kind("rough", 1, size, error=a.kind.error + b.kind.error + size * 2**-22),
                f"({{0}} {sign} {{1}})",
                (a, b),
            )

        def product() -> Expr:
            a, b = sub(), self.make(scope, EXACT, depth - 1)
            size = a.kind.size * b.kind.size
            error = a.kind.error * b.kind.size + size * 2**-22
            return Expr(Kind("rough", 1, size, error=error), "({0} * {1})", (a, b))

        def quotient() -> Expr:
            a, b = self.make(scope, EXACT, depth - 1), self.make(scope, EXACT, depth - 1)
            return Expr(Kind("rough", 1, 64, error=2**-15), "({0} / (abs({1}) + 1.0))", (a, b))

        def kept() -> Expr:
            a = sub()
            return Expr(a.kind, r.choice(["(-{0})", "abs({0})", "(+{0})"]), (a,))

        return r.choice([row, row, row, lambda: total("+"), lambda: total("-"), product, quotient, kept])()

    def raw(self, scope: Scope, kind: Kind, depth: int) -> Expr:
        """Any float32 in a precise kernel.  Shallow, so that no product gets as small as a denormal number."""
        a, b = self.make(scope, RAW, min(depth - 1, 1)), self.make(scope, RAW, min(depth - 1, 1))
        texts = ["({0} + {1})", "({0} - {1})", "({0} * {1})", "min({0}, {1})", "amp.precise_math.fma({0}, {1}, {0})",
                 "amp.precise_math.sqrt(abs({0}))", "(-{0} * 1.7)"]  # fmt: skip
        return Expr(RAW, _not_zero(self.random.choice(texts), a, b), (a, b))

    def special(self, scope: Scope, kind: Kind, depth: int) -> Expr:
        a, b = self.leaf(scope, SPECIAL), self.leaf(scope, SPECIAL)
        texts = ["(-{0})", "amp.fast_math.fmin({0}, {1})", "abs({0})", "max({0}, {1})",
                 "amp.precise_math.copysign({0}, 1.0)"]  # fmt: skip
        if self.precise:
            # Elsewhere a driver may take x - x for 0, also of infinities: lavapipe does.
            texts += ["({0} + {1})", "({0} * {1})", "({0} - {1})"]
        return Expr(SPECIAL, _not_zero(self.random.choice(texts), a, b), (a, b))

    # -- vectors and structs -----------------------------------------------------------------------------------

    def vector(self, scope: Scope, kind: Kind, depth: int) -> Expr:
        r, n = self.random, kind.count

        def sub(k: Kind = kind) -> Expr:
            return self.make(scope, k, depth - 1)

        def build() -> Expr:
            parts = tuple(self.make(scope, kind.scalar, depth - 1) for _ in range(n))
            return Expr(self.join(kind, *parts), f"{kind.type}({', '.join(f'{{{i}}}' for i in range(n))})", parts)

        def spread() -> Expr:
            part = self.make(scope, kind.scalar, depth - 1)
            return Expr(part.kind.vector(n), f"{kind.type}({{0}})", (part,))

        def swizzle() -> Expr:
            size = r.randint(n, 4)
            wide = self.make(scope, kind.vector(size), depth - 1)
            return Expr(
                wide.kind.vector(n), f"{{0}}.{''.join(r.sample(r.choice(['xyzw', 'rgba'])[:size], n))}", (wide,)
            )

        def choice(*forms: Callable[[], Expr]) -> Expr:
            return r.choice([build, build, spread, swizzle, *forms])()

        if kind.base in ("int", "uint"):
            other = (UINT if kind.base == "int" else INT).vector(n)
            divisor = r.choice([1, 2, 3, 7, 64])
            return choice(
                lambda: Expr(kind, f"({{0}} {r.choice('+-*&|^')} {{1}})", (sub(), sub())),
                lambda: Expr(kind, f"({{0}} {r.choice('+-*&|^')} {{1}})", (sub(), sub(kind.scalar))),
                lambda: Expr(kind, f"({{0}} {r.choice('+-*&|^')} 3)", (sub(),)),
                lambda: Expr(kind, f"({{0}} {r.choice(['<<', '>>'])} ({{1}} & 15))", (sub(), sub())),
                lambda: Expr(kind, f"({{0}} {r.choice('/%')} {divisor})", (sub(),)),
                lambda: Expr(kind, f"({{0}} {r.choice('/%')} (({{1}} & 7) + 2))", (sub(), sub())),
                lambda: Expr(kind, "(~{0})", (sub(),)),
                lambda: Expr(kind, "(-{0})" if kind.base == "int" else "(1 - {0})", (sub(),)),
                lambda: Expr(kind, f"{kind.type}({{0}})", (sub(other),)),
            )
        if kind.base == "exact":
            if kind.size < 64 or kind.bits < 1:
                return self.leaf(scope, kind)
            whole = (INT if r.random() < 0.5 else UINT).vector(n)
            value = choice(
                lambda: self._sums(kind, "({0} + {1})", sub(EXACT.vector(n)), sub(EXACT.vector(n))),
                lambda: self._sums(kind, "({0} - {1})", sub(EXACT.vector(n)), sub(EXACT)),
                lambda: self._times(sub(EXACT.vector(n)), sub(EXACT.vector(n))),
                lambda: self._times(sub(EXACT), sub(EXACT.vector(n))),
                lambda: Expr(Kind("exact", n, 255, 0), f"{kind.type}({{0}} & 255)", (sub(whole),)),
                lambda: Expr(Kind("exact", n, 16, 3), "({0} / 4)", (sub(EXACT.vector(n)),)),
                lambda: Expr(EXACT.vector(n), "(-{0})", (sub(EXACT.vector(n)),)),
            )
            return self.folded(value, kind)
        return build()

    def _sums(self, kind: Kind, text: str, a: Expr, b: Expr) -> Expr:
        return Expr(Kind("exact", kind.count, a.kind.size + b.kind.size, max(a.kind.bits, b.kind.bits)), text, (a, b))

    def _times(self, a: Expr, b: Expr) -> Expr:
        count = max(a.kind.count, b.kind.count)
        kind = Kind("exact", count, a.kind.size * b.kind.size, a.kind.bits + b.kind.bits)
        return Expr(kind, "({0} * {1})", (a, b))

    def struct_value(self, scope: Scope, shape: Shape, depth: int) -> Expr:
        kind = Kind("struct", struct=shape.name)
        known = [v for v in (*scope.values, *scope.cells) if v.kind == kind]
        arrays = [a for a in scope.arrays if a.kind == kind]
        if shape.constructs and (not known or self.random.random() < 0.5 or not (known or arrays)):
            fields = [(name, k) for name, k in shape.fields if isinstance(k, Kind)]
            parts = tuple(self.store(scope, k, depth - 1) for _, k in fields)
            text = ", ".join(f"{name}={{{n}}}" for n, (name, _) in enumerate(fields))
            return Expr(kind, f"{shape.name}({text})", parts)
        if known and (not arrays or self.random.random() < 0.6):
            return self.random.choice(known)
        return self.element(scope, self.random.choice(arrays), depth - 1)


def _not_zero(text: str, a: Expr, b: Expr) -> str:
    """Keeps constants from being 0: lavapipe takes x * 0.0 for 0.0 whatever x is, in precise kernels too."""
    is_constant = text == "({0} - {1})" and not any("[" in str(e) for e in (a, b))
    return "({0} + {1})" if is_constant else text


def _is_next(value: Expr) -> bool:
    """Whether it is a loop's next number: lavapipe leaves a loop that compares it with the first, which it never is."""
    if value.text == "({0} + {1})" and value.args[0].kind == BOOL:
        return re.fullmatch(_COUNTER, str(value.args[1])) is not None
    return _NEXT.fullmatch(str(value)) is not None
