"""A whole random program: struct types, functions, containers, the kernel and its phases between barriers."""

from __future__ import annotations

import math
import random

from tools.fuzz.expressions import Array, Scope, Shape
from tools.fuzz.forms import Forms
from tools.fuzz.statements import LOOPS, Place, line
from tools.fuzz.tree import BOOL, EXACT, INT, RAW, ROUGH, SPECIAL, UINT, Container, Expr, Kind, Lines, Program, Stmt
from tools.fuzz.wanted import Wanted, wanted

__all__ = ["program"]

#: Domains without tiles, and with: small, of every rank, not square.
_EXTENTS = ((7,), (13,), (20,), (3, 4), (2, 7), (5, 3), (2, 3, 4), (3, 1, 5), (2, 2, 1, 3))
_TILED = (((6,), (3,)), ((10,), (5,)), ((8,), (8,)), ((12,), (4,)), ((4, 3), (2, 3)), ((2, 6), (2, 2)),
          ((3, 8), (3, 4)), ((2, 3, 4), (2, 3, 2)), ((4, 2, 2), (2, 2, 2)), ((2, 1, 9), (1, 1, 3)))  # fmt: skip
_BARRIERS = ("wait", "wait_with_all_memory_fence", "wait_with_tile_static_memory_fence")
_FENCES = ("all_memory_fence", "global_memory_fence", "tile_static_memory_fence")
_DTYPES = {"int": "np.int32", "uint": "np.uint32"}


def program(seed: int) -> Program:
    """The program of a seed."""
    return _Maker(seed).program(seed)


def _dtype(kind: Kind) -> str:
    if kind.base == "struct":
        return kind.struct
    return kind.type if kind.count > 1 else _DTYPES.get(kind.base, "np.float32")


#: Tiles of four threads: one subgroup on every device.
_FOUR = (((4,), (4,)), ((8,), (4,)), ((4, 2), (2, 2)), ((2, 4, 2), (1, 2, 2)))
#: The most threads of a tile.
_MAX = 40


class _Maker(Forms):
    def program(self, seed: int) -> Program:
        r = self.random
        self.seed = seed
        wants = wanted(seed)
        self.precise = r.random() < 0.3
        self.tiled = wants.needs_tiles or r.random() < 0.45
        self.extent: tuple[int, ...]
        self.tile: tuple[int, ...] | None
        self.four = wants.needs_subgroups or (self.tiled and r.random() < 0.1)
        if self.four:
            self.extent, self.tile = r.choice(_FOUR)
        elif self.tiled:
            self.extent, self.tile = r.choice(_TILED) if r.random() < 0.6 else self.any_tile()
        else:
            self.extent, self.tile = r.choice(_EXTENTS), None
        self.index = "t" if self.tiled else "i"
        self.containers: list[Container] = []
        self.scalars: dict[str, tuple[int | float | bool | tuple[int, ...], str]] = {}
        prelude: Lines = []
        outer = Scope()
        for _ in range(r.choice([0, 0, 1, 2])):
            prelude.append(self.struct())
        if r.random() < 0.3:
            value = r.choice([2, 3, 7])
            prelude.append(line(f"LIMIT = {value}"))
            outer.values.append(Expr(INT, "amp.int32(LIMIT)"))
        for _ in range(r.choice([0, 0, 0, 1, 1, 2])):
            name = self.fresh("f")
            made, function = self.function(name, outer, False)
            prelude.append(made)
            outer.functions.append(function)
        if r.random() < 0.25:
            prelude += self.overloads(outer)
        scope = outer.inner()
        body = self.header(scope)
        self.inputs(scope)
        results = self.results(scope)
        constants = {}
        if r.random() < 0.2:
            constants["size"] = r.choice([2, 3, 5])
            scope.values.append(Expr(INT, "amp.int32(size)"))
        first, last = self.pieces(scope, wants)
        body += first
        body += self.tile_phases(scope) if self.tiled and r.random() < 0.8 else self.plain(scope)
        body += last + results(scope)
        self.beside_pieces()
        params = [self.index, *(c.name for c in self.containers)]
        return Program(seed, self.precise, self.extent, self.tile, [*prelude, *self.beside], params, self.containers,
                       self.scalars, constants, body, wants.long)  # fmt: skip

    def any_tile(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """A tile of any size, of one dimension to three, and one or two of them."""
        r = self.random
        rank = r.choice([1, 1, 2, 3])
        sizes = [r.randint(1, _MAX)]
        for _ in range(rank - 1):
            sizes.append(r.randint(1, max(1, _MAX // math.prod(sizes))))
        r.shuffle(sizes)
        many = r.randrange(rank)
        extent = tuple(n * r.randint(1, 2) if k == many else n for k, n in enumerate(sizes))
        return extent, tuple(sizes)

    def pieces(self, scope: Scope, wants: Wanted) -> tuple[Lines, Lines]:
        """The pieces for the pairs of this kernel: before its other statements, and after them."""
        first: Lines = []
        last: Lines = []
        if self.tile is not None and self.random.random() < 0.7:
            around, count, alive = wants.wait
            first += self.across(scope, around, count, alive, math.prod(self.tile))
        if self.four:
            first += self.of_subgroup(scope, wants.subgroup)
        for what, position in wants.expressions:
            first += self.piece(scope, what, position)
        others = [self.nested(scope, *w) for w in wants.statements]
        others += [self.nested(scope, f"form {name}", where) for name, where in wants.forms]
        others += [self.operator(scope, *w) for w in wants.operators]
        others += [self.of_row(scope, *w) for w in wants.rows]
        for lines in others:
            # After the other statements, some threads may have left the kernel.
            (first if self.random.random() < 0.7 else last).extend(lines)
        return first, last

    def beside_pieces(self) -> None:
        """The containers and launch values that the pieces use."""
        threads = math.prod(self.extent)
        if self.seen:
            self.containers.append(Container("seen", "np.int32", (self.seen, threads), "old int", written=True))
        if self.about:
            self.containers.append(
                Container("about", "np.float32", (len(self.about), threads), "old rough", written=True,
                          tolerances=list(self.about))
            )  # fmt: skip
        if self.sections:
            self.containers.append(Container("long_row", "np.int32", (13,), "int"))
        for name, few in self.small.items():
            self.containers.append(Container(few, f"np.{name}", (8,), "tame"))
        for name, far in self.wide.items():
            self.containers.append(Container(far, f"np.{name}", (8,), "wide"))
        for name, kept in self.small_rows.items():
            self.containers.append(Container(kept, f"np.{name}", (threads,), "old small", written=True))
        for name in self.counters:
            self.containers.append(Container(name, "np.int32", (threads,), "old int", written=True))
        self.scalars |= self.given

    # -- what the program declares -----------------------------------------------------------------------------

    def struct(self) -> Stmt:
        r = self.random
        name = self.fresh("S")
        constructs = r.random() < 0.6
        fields: list[tuple[str, Kind | tuple[Kind, int]]] = []
        for letter in ("ma", "mb", "mc", "md")[: r.randint(1, 4)]:
            kinds: list[Kind | tuple[Kind, int]] = [INT, UINT, EXACT, EXACT.vector(r.choice([2, 3, 4])), INT.vector(2)]
            kinds.append((r.choice([INT, EXACT]), r.randint(2, 3)))
            kinds += [Kind("struct", struct=s.name) for s in self.shapes.values() if s.constructs == constructs]
            fields.append((letter, r.choice(kinds)))
        if constructs and not any(isinstance(k, Kind) for _, k in fields):
            fields.append(("mz", INT))
        self.shapes[name] = Shape(name, tuple(fields), constructs)
        if constructs:
            rows = [
                f"    {n}: {k.type}" if isinstance(k, Kind) else f"    {n}: ({k[0].type}, ({k[1]},))" for n, k in fields
            ]
            return Stmt([("\n".join(["@amp.struct", f"class {name}:", *rows]), (), None)])
        rows = [
            f'("{n}", {_dtype(k)})' if isinstance(k, Kind) else f'("{n}", {_dtype(k[0])}, ({k[1]},))' for n, k in fields
        ]
        return Stmt([(f"{name} = np.dtype([{', '.join(rows)}])", (), None)])

    def overloads(self, outer: Scope) -> Lines:
        """A function with a form for each of some types."""
        from tools.fuzz.expressions import Function

        name = self.fresh("over")
        lines: Lines = []
        for n, kind in enumerate(self.random.sample([INT, UINT, EXACT], self.random.randint(2, 3))):
            scope = Scope(values=[Expr(kind, "p")], variables=[("p", kind)])
            body = [*self.statement(scope, Place(1, loops=LOOPS, in_function=True)), *self.leave(scope, (kind,))]
            head = f"@amp.func\ndef {name}(p: {kind.type}):" if n == 0 else f"@{name}.register\ndef _(p: {kind.type}):"
            lines.append(Stmt([(head, (), body)]))
            outer.functions.append(Function(name, (kind,), (kind,)))
        return lines

    # -- what the kernel sees ----------------------------------------------------------------------------------

    def header(self, scope: Scope) -> Lines:
        """The thread's numbers: ``me`` in the domain, ``li`` in its tile."""
        index = "t.global_" if self.tiled else "i"

        def linear(name: str, sizes: tuple[int, ...]) -> str:
            text = f"{name}[0]"
            for n, size in enumerate(sizes[1:], 1):
                text = f"({text}) * {size} + {name}[{n}]" if n > 1 else f"{text} * {size} + {name}[1]"
            return text

        lines = [Stmt([(f"me = {linear(index, self.extent)}", (), None)], fixed=True)]
        scope.values.append(Expr(INT, "me"))
        scope.values += [Expr(INT, f"{index}[{n}]") for n in range(len(self.extent))]
        if self.tile is not None:
            lines.append(Stmt([(f"li = {linear('t.local', self.tile)}", (), None)], fixed=True))
            scope.values.append(Expr(INT, "li"))
            scope.values += [Expr(INT, f"t.local[{n}]") for n in range(len(self.tile))]
            self.uniform = [Expr(INT, f"t.tile[{n}]") for n in range(len(self.tile))]
            # A constant, and weak: below zero it would not convert to an unsigned number.
            self.uniform += [Expr(INT, f"amp.int32(t.tile_dim{n})") for n in range(len(self.tile))]
            self.uniform.append(Expr(INT, "t.tile_origin[0]"))
            scope.values += self.uniform
        return lines

    def inputs(self, scope: Scope) -> None:
        r = self.random
        kinds = [INT, UINT, EXACT, SPECIAL, ROUGH]
        kinds += [RAW, RAW] * self.precise
        kinds += [r.choice([INT, EXACT, UINT]).vector(r.choice([2, 3, 4]))] * (r.random() < 0.5)
        kinds += [Kind("struct", struct=s) for s in self.shapes]
        for kind in kinds:
            if kind in (UINT, SPECIAL, ROUGH) and r.random() < 0.5:
                continue
            rank = r.choice([1, 1, 2, 3])
            shape = tuple(r.randint(1, 5) for _ in range(rank)) if rank > 1 else (r.randint(1, 9),)
            name = self.fresh("a")
            base = kind.base
            self.containers.append(Container(name, _dtype(kind), shape, base))
            scope.arrays.append(Array(name, kind, shape, projects=True))
            if r.random() < 0.3:
                scope.values.append(Expr(INT, f"{name}.extent[{r.randrange(rank)}]"))
                scope.values.append(Expr(INT, f"amp.int32({name}.rank)"))
        for kind in (INT, EXACT, UINT, BOOL):
            if r.random() < 0.35:
                name = self.fresh("g")
                value: int | float | bool
                if kind == EXACT:
                    value = r.randint(-100, 100) * 0.5
                elif kind == BOOL:
                    value = r.random() < 0.5
                else:
                    value = r.choice([0, 1, 5, 77]) if kind == UINT else r.choice([0, 1, -3, 12, 2**31 - 1])
                self.scalars[name] = (
                    value,
                    {"int": "np.int32", "uint": "np.uint32", "exact": "np.float32", "bool": "bool"}[kind.base],
                )
                scope.values.append(Expr(kind, name))
                self.uniform.append(Expr(kind, name))
        if self.seed % 8 == 5:
            self.vector_argument(scope)

    def vector_argument(self, scope: Scope) -> None:
        """A vector that the launch passes, and numbers with names like those of its components: ``g1``, ``g1_x``."""
        r = random.Random(self.seed)
        kind, whole = r.choice([INT, UINT, EXACT]), self.fresh("g")
        text = {"int": "np.int32", "uint": "np.uint32", "exact": "np.float32"}[kind.base]
        self.scalars[whole] = tuple(r.randint(0, 99) for _ in "xy"), f"(lambda v: {kind.vector(2).type}(*v))"
        scope.values.append(Expr(kind.vector(2), whole))
        for part in "xy":
            self.scalars[f"{whole}_{part}"] = (r.randint(100, 199), text)
            for name in (f"{whole}.{part}", f"{whole}_{part}"):
                scope.values.append(Expr(kind, name))

    def results(self, scope: Scope):  # type: ignore[no-untyped-def]
        """Adds the containers that are written; returns the function that makes their last stores."""
        r = self.random
        threads = 1
        for n in self.extent:
            threads *= n
        kinds = [INT, UINT, EXACT, ROUGH, SPECIAL, r.choice([INT, EXACT, UINT]).vector(r.choice([2, 3, 4]))]
        kinds += [RAW] * self.precise
        kinds += [Kind("struct", struct=s) for s in self.shapes]
        # Drivers take long to compile the library of precise functions, so rough results are rare.
        chosen = [k for k in kinds if k == INT or r.random() < (0.25 if k == ROUGH else 0.4)]
        places: list[tuple[Container, list[Expr]]] = []
        for kind in chosen:
            name = self.fresh("out")
            own_shape = r.random() < 0.3 and len(self.extent) > 1
            rows = 1 if own_shape else r.choice([1, 1, 2, 3])
            shape = self.extent if own_shape else (rows, threads)
            container = Container(
                name, _dtype(kind), shape, f"old {kind.base}", written=True, as_array=r.random() < 0.5
            )
            if kind.base == "rough":
                container.tolerances = [0.0] * rows
                if own_shape:
                    container.tolerances = [0.0]
            self.containers.append(container)
            where = r.choice([self.index, f"{self.index}.global_"]) if self.tiled else self.index
            cells = (
                [Expr(kind, f"{name}[{where}]")] if own_shape else [Expr(kind, f"{name}[{n}, me]") for n in range(rows)]
            )
            places.append((container, cells))
            if kind.base not in ("rough", "raw"):
                scope.cells += cells
        atomics = self.atomics(r.randint(0, 2))

        def last(scope: Scope) -> Lines:
            lines: Lines = []
            for container, cells in places:
                for n, cell in enumerate(cells):
                    if cell.kind.base == "struct" and not self.has_value(scope, cell.kind):
                        continue
                    self.calls_left = 2
                    value = self.store(scope, cell.kind, self.random.choice([1, 2, 3, 3, 4]))
                    if cell.kind in (INT, UINT, EXACT, ROUGH) and self.random.random() < (
                        0.8 if cell.kind == ROUGH else 0.4
                    ):
                        # Every row is used in rotation.
                        value = self.row(scope, cell.kind, 2, self.seed * 3 + n)
                        value = self.folded(value, EXACT) if cell.kind == EXACT else value
                    if container.tolerances:
                        container.tolerances[n] = value.kind.error
                    lines.append(line("{0} = {1}", cell, value))
            for each in atomics:
                lines += each(scope)
            return lines

        return last

    def atomics(self, count: int):  # type: ignore[no-untyped-def]
        """Containers that all threads update, by operations whose order does not matter."""
        makers = []
        groups = (("add", "sub", "inc", "dec"), ("and",), ("or",), ("xor",), ("min",), ("max",))
        for _ in range(count):
            kind = self.random.choice([INT, UINT, EXACT])
            group = groups[0][:2] if kind == EXACT else self.random.choice(groups)
            name, size = self.fresh("acc"), self.random.randint(1, 4)
            self.containers.append(Container(name, _dtype(kind), (size,), kind.base, written=True))

            def make(
                scope: Scope, kind: Kind = kind, group: tuple[str, ...] = group, name: str = name, size: int = size
            ) -> Lines:
                operation = self.random.choice(group)
                place = Expr(kind, f"{name}[{{0}}]", (self.subscript(scope, size, 2),))
                value = self.store(scope, kind, 2)
                args = (place,) if operation in ("inc", "dec") else (place, value)
                update = line(f"amp.atomic_fetch_{operation}({', '.join(f'{{{n}}}' for n in range(len(args)))})", *args)
                if self.random.random() < 0.4:
                    return [Stmt([("if {0}:", (self.truth(scope, 2),), [update])])]
                return [update]

            makers.append(make)
        return makers

    # -- bodies ------------------------------------------------------------------------------------------------

    def statements(self, scope: Scope, count: int, results: tuple[Kind, ...] | None) -> Lines:
        place = Place(depth=3, results=results, top=True)
        return [s for _ in range(count) for s in self.statement(scope, place)]

    def plain(self, scope: Scope) -> Lines:
        return self.statements(scope, self.random.choice([0, 1, 2, 3, 3, 4, 6]), ())

    def barrier(self) -> Stmt:
        return Stmt([(f"t.barrier.{self.random.choice(_BARRIERS)}()", (), None)])

    def tile_phases(self, scope: Scope) -> Lines:
        """Rounds of stores to the thread's own elements, a barrier, loads from any element, a barrier."""
        r = self.random
        assert self.tile is not None
        count = 1
        for n in self.tile:
            count *= n
        lines: Lines = []
        shared: list[tuple[Array, list[str]]] = []
        for _ in range(r.randint(1, 2)):
            shared.append(self.shared_array(scope, lines, count))
        if r.random() < 0.5:
            lines += self.counting(scope)
        lines += self.statements(scope, r.randint(0, 2), None)
        if r.random() < 0.15:
            value = r.choice([e for e in self.uniform if e.kind == INT])
            name = self.fresh("same")
            lines.append(line(f"{name} = amp.uniform({{0}})", value))
            scope.values.append(Expr(INT, name))
            self.uniform.append(Expr(INT, name))
        for _ in range(r.choice([1, 1, 2])):
            lines += self.round(scope, shared)
        # After the last barrier, threads may diverge.
        return lines + self.statements(scope, r.randint(0, 2), ())

    def shared_array(self, scope: Scope, lines: Lines, count: int) -> tuple[Array, list[str]]:
        """A tile_static array and, for each thread, the elements that it stores to: all of them together."""
        r = self.random
        assert self.tile is not None
        kinds = [INT, UINT, EXACT, BOOL, EXACT.vector(r.choice([2, 3, 4])), INT.vector(2)]
        structs = [Kind("struct", struct=s) for s in self.shapes]
        kind = r.choice([*kinds, *(s for s in structs if self.has_value(scope, s))])
        name = self.fresh("tile")
        rank = len(self.tile)
        forms: list[tuple[str, tuple[int, ...], list[str]]] = [
            (str(count), (count,), ["li"]),
            (str(count), (count,), [f"{count - 1} - li"]),
            (str(count), (count,), [f"(li + {r.randint(1, 5)}) % {count}"]),
            (str(2 * count), (2 * count,), ["2 * li", "2 * li + 1"]),
            (str(2 * count), (2 * count,), ["li", f"li + {count}"]),
            (f"(2, {count})", (2, count), ["0, li", "1, li"]),
            ("t.tile_extent", self.tile, ["t.local"]),
        ]
        if rank == 2:
            forms.append(
                (f"({self.tile[1]}, {self.tile[0]})", (self.tile[1], self.tile[0]), ["t.local[1], t.local[0]"])
            )
        text, shape, own = r.choice(forms)
        lines.append(Stmt([(f"{name} = amp.tile_static({text}, {kind.type})", (), None)], fixed=True))
        return Array(name, kind, shape), own

    def counting(self, scope: Scope) -> Lines:
        """Atomics on tile_static memory: set by some threads, updated by all, read by all."""
        r = self.random
        name, kind = self.fresh("bins"), r.choice([INT, UINT])
        operation = r.choice(["add", "xor", "or", "max", "min", "and"])
        update = line(
            f"amp.atomic_fetch_{operation}({name}[{{0}}], {{1}})",
            self.subscript(scope, 3, 2),
            self.store(scope, kind, 2),
        )
        stores = Stmt([("for j0 in range(3):", (), [line(f"{name}[j0] = {{0}}", self.constant(kind))])], fixed=True)
        lines = [
            Stmt([(f"{name} = amp.tile_static(3, {kind.type})", (), None)], fixed=True),
            Stmt([("if li == 0:", (), [stores])], fixed=True),
            self.barrier(),
            update if r.random() < 0.6 else Stmt([("if {0}:", (self.truth(scope, 2),), [update])]),
            self.barrier(),
        ]  # fmt: skip
        scope.arrays.append(Array(name, kind, (3,)))
        return lines

    def round(self, scope: Scope, shared: list[tuple[Array, list[str]]]) -> Lines:
        r = self.random
        lines: Lines = []
        arrays, own = r.choice(shared)
        if r.random() < 0.7:
            chosen = [(arrays, own)]
        else:
            chosen = shared
        # Elements that all threads store are read only after the barrier.
        scope_before = scope.without([array for array, _ in chosen])
        for array, places in chosen:
            for place in places:
                self.calls_left = 2
                lines.append(line(f"{array.name}[{place}] = {{0}}", self.store(scope_before, array.kind, 3)))
        if r.random() < 0.2:
            lines.append(line(f"amp.{r.choice(_FENCES)}(t.barrier)"))
        lines.append(self.barrier())
        for array, _ in chosen:
            if array not in scope.arrays:
                scope.arrays.append(array)
        lines += self.statements(scope, r.randint(1, 2), None)
        lines.append(self.barrier())
        form = r.random()
        if form < 0.2:
            # Names that are assigned inside do not exist outside.
            inner = self.rounds_inside(scope, chosen)
            lines += inner
        return lines

    def rounds_inside(self, scope: Scope, chosen: list[tuple[Array, list[str]]]) -> Lines:
        """The same in a loop or branch that the whole tile takes."""
        r = self.random
        array, own = chosen[0]
        scope = scope.inner()
        name = self.fresh("k")
        truths = [e for e in self.uniform if e.kind == BOOL]
        numbers = [e for e in self.uniform if e.kind == INT]
        number = r.choice(numbers)
        form = r.choice(["loop", "bound", "branch"])
        if form != "branch":
            scope.values.append(Expr(INT, name))
        header, args = {
            "loop": (f"for {name} in range({r.randint(1, 3)}):", ()),
            "bound": (f"for {name} in range({{0}} % 3):", (number,)),
            "branch": ("if {0}:", (r.choice(truths),)) if truths else ("if {0} % 2 == 0:", (number,)),
        }[form]
        self.calls_left = 2
        # Each thread reads its own elements until the barrier.
        before = scope.without([array])
        before.cells = [Expr(array.kind, f"{array.name}[{place}]") for place in own] + before.cells
        body = [line(f"{array.name}[{place}] = {{0}}", self.store(before, array.kind, 3)) for place in own]
        body.append(self.barrier())
        body += self.statements(scope, 1, None)
        body.append(self.barrier())
        return [Stmt([(header, args, body)])]
