"""Random statements and control flow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tools.fuzz.expressions import Array, Expressions, Function, Scope
from tools.fuzz.tree import BOOL, EXACT, INT, ROUGH, UINT, Expr, Kind, Lines, Stmt

__all__ = ["Place", "Statements", "line"]

#: The kinds that private arrays have, by shape, so that functions that take one by reference find some.
ARRAYS = ((INT, (5,)), (UINT, (2, 3)), (EXACT, (4,)), (BOOL, (3,)), (INT.vector(3), (3,)), (EXACT.vector(2), (3,)))
#: How deep loops nest: lavapipe ends all loops of a thread after 65,535 iterations.
LOOPS = 2


def line(text: str, *args: Expr) -> Stmt:
    """A statement of one line."""
    return Stmt([(text, args, None)])


@dataclass(frozen=True)
class Place:
    """The context of a statement."""

    depth: int
    loops: int = 0
    #: Whether ``break`` and ``continue`` have a loop here.
    jumps: bool = False
    #: The kinds of a function's results; ``None``: no ``return`` here.
    results: tuple[Kind, ...] | None = None
    #: Whether all threads of a tile come here together.
    top: bool = False
    #: Whether the results' stores, which other threads of the kernel do not see, may be changed here.
    in_function: bool = False


class Statements(Expressions):
    """Makes statements; the names that they assign are added to the scope."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.names: dict[str, int] = {}

    def fresh(self, letter: str) -> str:
        self.names[letter] = self.names.get(letter, 0) + 1
        return f"{letter}{self.names[letter]}"

    def variable_for(self, scope: Scope, kind: Kind) -> str:
        """A new variable's name, known from here on."""
        letter = {"int": "n", "uint": "u", "bool": "b", "exact": "x", "rough": "r", "raw": "p", "special": "z"}
        name = self.fresh(letter.get(kind.base, "s") + ("v" if kind.count > 1 else ""))
        scope.values.append(Expr(kind, name))
        scope.variables.append((name, kind))
        return name

    def random_kind(self) -> Kind:
        r = self.random
        kinds = [INT, INT, INT, INT, UINT, EXACT, EXACT, BOOL, INT.vector(r.choice([2, 3, 4])),
                 EXACT.vector(r.choice([2, 3, 4])), UINT.vector(r.choice([2, 3, 4]))]  # fmt: skip
        return ROUGH if r.random() < 0.03 else r.choice(kinds)

    def block(self, scope: Scope, place: Place, most: int = 3) -> Lines:
        """Statements over the names in scope; the names that they assign do not exist after them."""
        scope = scope.inner()
        return [s for _ in range(self.random.randint(1, most)) for s in self.statement(scope, place)]

    def statement(self, scope: Scope, place: Place) -> Lines:
        r = self.random
        self.calls_left = 3
        # Forms with weights; those that are not possible here give nothing.
        forms: list[tuple[float, Callable[[Scope, Place], Lines]]] = [
            (6, self.define),
            (6, self.assign),
            (3, self.augment),
            (1.2, self.swap),
            (1, self.call_statement),
            (1, self.tuple_call),
            (0.4, self.row_results),
            (0.8, self.private_array),
            (0.8, self.view),
            (0.5, self.claim),
            (0.6, self.own_atomic),
        ]
        if place.depth > 0:
            forms += [(3, self.branch), (1.2, self.match), (0.4, self.fence)]
            if place.loops < LOOPS:
                forms += [(2, self.counted), (1.2, self.open_loop), (0.6, self.unrolled)]
        if place.jumps:
            forms.append((1.5, self.jump))
        if place.results is not None:
            forms.append((0.5, self.leave_early))
        if place.top and not place.in_function:
            forms.append((0.8, self.nested_function))
        form = r.choices([f for _, f in forms], [w for w, _ in forms])[0]
        return form(scope, place)

    # -- assignments -------------------------------------------------------------------------------------------

    def define(self, scope: Scope, place: Place) -> Lines:
        kind = self.random_kind()
        value = self.store(scope, kind, self.random.choice([1, 2, 3]))
        return [line(f"{self.variable_for(scope, kind)} = {{0}}", value)]

    def targets(self, scope: Scope) -> list[Expr]:
        """Places to store to."""
        found = [Expr(k, n) for n, k in scope.variables] + scope.cells
        for whole in list(found):
            found += self.parts(scope, whole)
        found += [self.element(scope, a, 1) for a in scope.arrays if a.stores]
        # The error of a rough value is checked where it is stored last.
        return [f for f in found if f.kind.base in ("int", "uint", "bool", "exact", "struct", "special")]

    def assign(self, scope: Scope, place: Place) -> Lines:
        targets = self.targets(scope)
        if not targets:
            return self.define(scope, place)
        target = self.random.choice(targets)
        if target.kind.base == "struct" and not self.has_value(scope, target.kind):
            return self.define(scope, place)
        return [Stmt([("{0} = {1}", (target, self.store(scope, target.kind, 3)), None)]), *self.read_again(target)]

    def read_again(self, *targets: Expr) -> Lines:
        """Reads the vectors whose components are assigned: a change of a copy that is never read is refused."""
        names = []
        for target in targets:
            whole = target
            while whole.text.startswith("{0}."):
                whole = whole.args[0]
            if whole is not target and whole.kind.count > 1 and str(whole).isidentifier():
                names.append(str(whole))
        return [line(f"{name} = {name} + 0") for name in dict.fromkeys(names)]

    def has_value(self, scope: Scope, kind: Kind) -> bool:
        """Whether a value of a struct is available."""
        known = [*scope.values, *scope.cells, *(Expr(a.kind, a.name) for a in scope.arrays)]
        return self.shapes[kind.struct].constructs or any(v.kind == kind for v in known)

    def augment(self, scope: Scope, place: Place) -> Lines:
        r = self.random
        targets = [t for t in self.targets(scope) if t.kind.base in ("int", "uint", "exact", "bool")]
        if not targets:
            return self.define(scope, place)
        target = r.choice(targets)
        kind = target.kind
        if kind.base == "bool":
            return [line(f"{{0}} {r.choice('&|^')}= {{1}}", target, self.truth(scope, 2))]
        if kind.base == "exact":
            value = self.make(scope, EXACT.vector(kind.count), 2)
            operator, size, bits = r.choice([("+=", 128, 1), ("-=", 128, 1), ("*=", 4096, 2)])
            again = self.folded(replace(target, kind=Kind("exact", kind.count, size, bits)), EXACT.vector(kind.count))
            both = Stmt([(f"{{0}} {operator} {{1}}", (target, value), None), ("{0} = {1}", (target, again), None)])
            return [both, *self.read_again(target)]
        whole = self.make(scope, kind, 2)
        forms = [f"{{0}} {o}= {{1}}" for o in "+-*&|^"] + ["{0} <<= {1} & 15", "{0} >>= {1} & 31"]
        if kind.count == 1:
            forms += [f"{{0}} //= {r.choice([2, 3, 8])}", f"{{0}} %= {r.choice([3, 16])}", "{0} **= 2"]
        else:
            forms += ["{0} /= 3", "{0} %= 8"]
        return [line(r.choice(forms), target, whole), *self.read_again(target)]

    def swap(self, scope: Scope, place: Place) -> Lines:
        targets = [t for t in self.targets(scope) if t.kind.base in ("int", "uint", "bool")]
        if len(targets) < 2:
            return []
        first, second = self.random.sample(targets, 2)
        a, b = self.store(scope, first.kind, 2), self.store(scope, second.kind, 1)
        if first.kind == second.kind and self.random.random() < 0.5:
            a, b = second, first
        return [line("{0}, {1} = {2}, {3}", first, second, a, b), *self.read_again(first, second)]

    def claim(self, scope: Scope, place: Place) -> Lines:
        a = self.make(scope, INT, 2)
        return [
            line(self.random.choice(["assert ({0} & 3) < 4", "assert {0} % 5 >= 0", "assert {0} % 3 != 3, 'no'"]), a)
        ]

    # -- calls -------------------------------------------------------------------------------------------------

    def call_statement(self, scope: Scope, place: Place) -> Lines:
        chosen = [f for f in scope.functions if not f.results]
        if not chosen:
            return []
        function = self.random.choice(chosen)
        args = self.arguments(scope, function, 2)
        if args is None:
            return []
        return [line(f"{function.name}({', '.join(f'{{{n}}}' for n in range(len(args)))})", *args)]

    def tuple_call(self, scope: Scope, place: Place) -> Lines:
        chosen = [f for f in scope.functions if len(f.results) > 1]
        if not chosen:
            return []
        function = self.random.choice(chosen)
        args = self.arguments(scope, function, 2)
        if args is None:
            return []
        names = [self.variable_for(scope, k) for k in function.results]
        return [line(f"{', '.join(names)} = {function.name}({', '.join(f'{{{n}}}' for n in range(len(args)))})", *args)]

    def row_results(self, scope: Scope, place: Place) -> Lines:
        """A row with several results, taken apart."""
        value = self.make(scope, INT, 1)
        argument = "({0} % 17 - 8) * 0.25 + 0.125"
        first, second = self.random.choice([
            ("amp.fast_math.modf", (Kind("exact", size=1, bits=3), Kind("exact", size=4, bits=0))),
            ("amp.precise_math.frexp", (Kind("exact", size=1, bits=6), INT)),
            ("amp.fast_math.sincos", (ROUGH, ROUGH)),
            ("math.modf", (Kind("exact", size=1, bits=3), Kind("exact", size=4, bits=0))),
            ("amp.precise_math.lgammaf", (ROUGH, INT)),
        ])  # fmt: skip
        if first.endswith("lgammaf"):
            argument = f"abs({argument})"
        names = [self.fresh("q"), self.fresh("q")]
        scope.values += [Expr(k, n) for k, n in zip(second, names, strict=True)]
        return [line(f"{', '.join(names)} = {first}({argument})", value)]

    # -- memory ------------------------------------------------------------------------------------------------

    def private_array(self, scope: Scope, place: Place) -> Lines:
        r = self.random
        choices = [
            *ARRAYS,
            *((Kind("struct", struct=s), (2,)) for s in self.shapes if self.has_value(scope, Kind("struct", struct=s))),
        ]
        kind, shape = r.choice(choices)
        name = self.fresh("own")
        declared = f"{name} = amp.private({shape[0] if len(shape) == 1 else shape}, {kind.type})"
        indices = [self.fresh("j") for _ in shape]
        inner = scope.inner()
        inner.values += [Expr(INT, j) for j in indices]
        stored: Lines = [line(f"{name}[{', '.join(indices)}] = {{0}}", self.store(inner, kind, 2))]
        for j, n in zip(reversed(indices), reversed(shape), strict=True):
            stored = [Stmt([(f"for {j} in range({n}):", (), stored)], fixed=True)]
        scope.arrays.append(Array(name, kind, shape, stores=True))
        return [Stmt([(declared, (), None)], fixed=True), *stored]

    def view(self, scope: Scope, place: Place) -> Lines:
        """A view made in the kernel, of a container that is only read."""
        r = self.random
        sources = [a for a in scope.arrays if a.projects]
        if not sources:
            return []
        source = r.choice(sources)
        name = self.fresh("w")
        rank = len(source.shape)
        forms = ["section", "section", "from"]
        forms += ["row"] if rank > 1 else ["as"]
        if rank == 1 and source.kind in (INT, UINT, EXACT):
            forms.append("reinterpret")
        form = r.choice(forms)
        if form == "row":
            index = self.subscript(scope, source.shape[0], 2)
            scope.arrays.append(replace(source, name=name, shape=source.shape[1:]))
            return [line(f"{name} = {source.name}[{{0}}]", index)]
        if form == "as":
            rows = r.randint(1, source.shape[0])
            shape = (rows, source.shape[0] // rows)
            scope.arrays.append(replace(source, name=name, shape=shape))
            return [line(f"{name} = {source.name}.view_as(amp.extent({shape[0]}, {shape[1]}))")]
        if form == "reinterpret":
            kind = UINT if source.kind == INT else INT
            scope.arrays.append(replace(source, name=name, kind=kind))
            return [line(f"{name} = {source.name}.reinterpret_as({kind.type})")]
        lengths = [r.randint(1, n) for n in source.shape]
        origins = [self.subscript(scope, n - k + 1, 1) for n, k in zip(source.shape, lengths, strict=True)]
        holes = ", ".join(f"{{{n}}}" for n in range(rank))
        if form == "from":
            origins = [Expr(INT, str(n - k)) for n, k in zip(source.shape, lengths, strict=True)]
            text = (
                f"amp.index({holes})"
                if r.random() < 0.5
                else f"amp.index({holes}), amp.extent({', '.join(map(str, lengths))})"
            )
        elif r.random() < 0.3:
            text = f"{holes}, {', '.join(map(str, lengths))}"
        else:
            text = f"amp.index({holes}), amp.extent({', '.join(map(str, lengths))})"
        scope.arrays.append(replace(source, name=name, shape=tuple(lengths)))
        return [line(f"{name} = {source.name}.section({text})", *origins)]

    def own_atomic(self, scope: Scope, place: Place) -> Lines:
        """An atomic at an element of this thread alone, whose result is known."""
        r = self.random
        cells = [c for c in scope.cells if c.kind in (INT, UINT)]
        if not cells:
            return []
        cell = r.choice(cells)
        kind = cell.kind
        value = self.make(scope, kind, 2)
        if r.random() < 0.3:
            start = cell if r.random() < 0.5 else self.make(scope, kind, 1)
            expected, done = self.variable_for(scope, kind), self.variable_for(scope, BOOL)
            return [
                Stmt([
                    (f"{expected} = {{0}}", (start,), None),
                    (f"{done} = amp.atomic_compare_exchange({{0}}, {expected}, {{1}})", (cell, value), None),
                ])
            ]  # fmt: skip
        name = r.choice(
            ["exchange", *(f"fetch_{o}" for o in ("add", "sub", "and", "or", "xor", "min", "max", "inc", "dec"))]
        )
        args = (cell,) if name in ("fetch_inc", "fetch_dec") else (cell, value)
        old = self.variable_for(scope, kind)
        return [line(f"{old} = amp.atomic_{name}({', '.join(f'{{{n}}}' for n in range(len(args)))})", *args)]

    def fence(self, scope: Scope, place: Place) -> Lines:
        return []

    # -- control flow ------------------------------------------------------------------------------------------

    def branch(self, scope: Scope, place: Place) -> Lines:
        r = self.random
        below = replace(place, depth=place.depth - 1, top=False)
        parts: list[tuple[str, tuple[Expr, ...], Lines | None]] = [
            ("if {0}:", (self.truth(scope, 3),), self.block(scope, below))
        ]
        while r.random() < 0.3:
            parts.append(("elif {0}:", (self.truth(scope, 2),), self.block(scope, below, 3)))
        if r.random() < 0.5:
            parts.append(("else:", (), self.block(scope, below, 3)))
        return [Stmt(parts)]

    def match(self, scope: Scope, place: Place) -> Lines:
        r = self.random
        below = replace(place, depth=place.depth - 1, top=False)
        if r.random() < 0.3:
            return self.match_of_tuple(scope, below)
        cases: Lines = []
        left = list(range(5))
        r.shuffle(left)
        for _ in range(r.randint(1, 3)):
            numbers = [left.pop() for _ in range(r.choice([1, 1, 2]) if len(left) > 1 else 1)]
            if not left:
                break
            guard = r.random() < 0.25
            text = f"case {' | '.join(map(str, numbers))}{' if {0}' if guard else ''}:"
            args = (self.truth(scope, 1),) if guard else ()
            cases.append(Stmt([(text, args, self.block(scope, below, 2))]))
        if r.random() < 0.6:
            cases.append(Stmt([("case _:", (), self.block(scope, below, 2))]))
        subject = self.make(scope, r.choice([INT, INT, UINT]), 2)
        return [Stmt([("match {0} % 5:", (subject,), cases)])]

    def match_of_tuple(self, scope: Scope, below: Place) -> Lines:
        """``match`` over two numbers, with names."""
        r = self.random
        cases: Lines = []
        for pattern, guard in r.sample(
            [("(0, {0})", ""), ("(1 | 2, {0})", " if {0} > 1"), ("({0}, 2 | 3)", ""), ("({0}, {1})", " if {0} < {1}"),
             ("(1 as {0}, _)", ""), ("({0}, ({1}))", " if {1} != 2")], r.randint(1, 3),
        ):  # fmt: skip
            names = self.fresh("n"), self.fresh("n")
            inner = scope.inner()
            inner.values += [Expr(INT, name) for k, name in enumerate(names) if f"{{{k}}}" in pattern]
            text = f"case {pattern.format(*names)}{guard.format(*names)}:"
            cases.append(Stmt([(text, (), self.block(inner, below, 2))]))
        if r.random() < 0.6:
            cases.append(Stmt([("case _:", (), self.block(scope, below, 2))]))
        subjects = self.make(scope, INT, 2), self.make(scope, INT, 1)
        return [Stmt([("match ({0} % 3, {1} % 5):", subjects, cases)])]

    def body(self, scope: Scope, place: Place, jumps: bool) -> Lines:
        return self.block(scope, replace(place, depth=place.depth - 1, loops=place.loops + 1, jumps=jumps, top=False))

    def counted(self, scope: Scope, place: Place) -> Lines:
        r = self.random
        name = self.fresh("k")

        def number() -> Expr:
            return self.make(scope, INT, 1)

        text, count = r.choice([
            (str(r.randint(0, 5)), 0), ("{0} % 5", 1), ("{0} % 5, {1} % 9", 2), ("{0} % 5, {1} % 9, 2", 2),
            ("{0} % 9, {1} % 5 - 2, -1", 2), ("{0} % 9, {1} % 5 - 2, -4", 2), ("-3, 6, {0} % 3 + 2", 1),
            ("{0} % 4, {1} % 7, 5 if {2} else -2", 3), ("6, -6, -3 - {0} % 2", 1),
        ])  # fmt: skip
        args = [number() for _ in range(count)]
        if "if" in text:
            args[2] = self.truth(scope, 1)
        inner = scope.inner()
        known = [n for n, kind in scope.variables if kind == INT]
        if known and r.random() < 0.2:
            # One that is there already, which the bounds may read, too.
            name = r.choice(known)
        else:
            inner.values.append(Expr(INT, name))
            if r.random() < 0.3:
                inner.variables.append((name, INT))
        return [Stmt([(f"for {name} in range({text}):", tuple(args), self.body(inner, place, True))])]

    def unrolled(self, scope: Scope, place: Place) -> Lines:
        name = self.fresh("c")
        inner = scope.inner()
        # An unrolled loop's number is a constant; one in arithmetic with other constants might not fit.
        inner.values.append(Expr(INT, f"amp.int32({name})"))
        text = self.random.choice(["3", "1, 4", "0, 5, 2", "3, -2, -2"])
        # No `return` either, since the code after an unrolled one is unreachable.
        unrolled = replace(place, results=None)
        body = self.body(inner, unrolled, True)
        if self.random.random() < 0.3:
            # Decided at compile time.
            jump = line(self.random.choice(["break", "continue"]))
            body.insert(self.random.randrange(len(body) + 1), Stmt([(f"if {name} == 2:", (), [jump])]))
        return [Stmt([(f"for {name} in amp.static_range({text}):", (), body)])]

    def open_loop(self, scope: Scope, place: Place) -> Lines:
        r = self.random
        count = self.fresh("m")
        inner = scope.inner()
        inner.values.append(Expr(INT, count))
        body = [Stmt([(f"{count} += 1", (), None)], fixed=True), *self.body(inner, place, True)]
        limit = r.randint(1, 5)
        texts = [
            f"while {count} < {limit}:",
            f"while {count} < {limit} and {{0}}:",
            f"while {{0}} and {count} < {limit}:",
        ]
        text = r.choice(texts)
        args = (self.truth(inner, 2),) if "{0}" in text else ()
        scope.values.append(Expr(INT, count))
        return [Stmt([(f"{count} = 0", (), None)], fixed=True), Stmt([(text, args, body)])]

    def jump(self, scope: Scope, place: Place) -> Lines:
        return [Stmt([("if {0}:", (self.truth(scope, 2),), [line(self.random.choice(["break", "continue"]))])])]

    def leave_early(self, scope: Scope, place: Place) -> Lines:
        return [Stmt([("if {0}:", (self.truth(scope, 2),), self.leave(scope, place.results or ()))])]

    def leave(self, scope: Scope, results: tuple[Kind, ...]) -> Lines:
        values = [self.store(scope, k, 2) for k in results]
        text = ", ".join(f"{{{n}}}" for n in range(len(values)))
        return [Stmt([(f"return {text}".rstrip(), tuple(values), None)], fixed=bool(results))]

    # -- functions ---------------------------------------------------------------------------------------------

    def function(self, name: str, outer: Scope, nested: bool) -> tuple[Stmt, Function]:
        """A function over parameters, and over what it captures if it is nested."""
        r = self.random
        arrays = [Array("values", kind, shape, stores=True) for kind, shape in ARRAYS]
        params: list[Kind | Array] = [self.random_kind() for _ in range(r.randint(1, 3))]
        if not nested and r.random() < 0.35:
            params.insert(0, r.choice(arrays))
        params = [EXACT if p == ROUGH else p for p in params]
        results = tuple(self.random_kind() for _ in range(r.choice([1, 1, 1, 2, 3])))
        if isinstance(params[0], Array) and r.random() < 0.5:
            results = ()
        scope = outer.inner()
        names = []
        for n, param in enumerate(params):
            if isinstance(param, Array):
                names.append(param.name)
                scope.arrays.append(param)
                continue
            names.append(f"{'q' if nested else 'p'}{self.fresh('')}_{n}")
            scope.values.append(Expr(param, names[-1]))
            if param.count == 1:
                # A change of a vector's component would be lost, and is refused.
                scope.variables.append((names[-1], param))
        place = Place(depth=2, loops=LOOPS - 1, results=results if results else None, in_function=True)
        body = [s for _ in range(r.choice([0, 1, 1, 2, 3])) for s in self.statement(scope, place)]
        body += self.leave(scope, results) if results else self.assign(scope, place)
        header = f"def {name}({', '.join(names)}):"
        text = header if nested else f"@amp.func\n{header}"
        return Stmt([(text, (), body)]), Function(name, tuple(params), results)

    def nested_function(self, scope: Scope, place: Place) -> Lines:
        # It keeps the captured values, so the captured names are never assigned again.
        assigned = {name for name, _ in scope.variables}
        known = Scope(values=[v for v in scope.values if str(v) not in assigned], arrays=list(scope.arrays))
        # Statement lists of arrays' stores stay out of it: other names of theirs may be bound anew.
        name = self.fresh("inner")
        if self.random.random() < 0.4:
            kind = self.random.choice([INT, UINT, EXACT])
            inner = known.inner()
            inner.values.append(Expr(kind, "q"))
            value = self.store(inner, kind, 2)
            scope.functions.append(Function(name, (kind,), (kind,), text=str(value)))
            return [line(f"{name} = lambda q: {{0}}", value)]
        made, function = self.function(name, known, True)
        scope.functions.append(replace(function, text="\n".join(made.lines(0))))
        return [made]
