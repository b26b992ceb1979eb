"""IR -> Python: each function of a kernel becomes a Python function that one thread runs.

The code objects carry the file and the lines of the kernel's own source, and its variables their
own names: a debugger steps through the kernel, and a traceback shows its lines.  A function that
waits at a barrier is a generator which yields the barrier's site.

Values: int32 and uint32 are Python integers in range, float32 are numpy scalars, bools are truth
values, structs are lists of 32-bit words, short vectors lists of components.  Every other name in
the generated code begins with an underscore:

======================= =====================================================================
``_t``                  the running :class:`~vkamp.sim.faults.Thread`
``_g0 _l0 _b0 _o0``     its global and local index, tile, tile origin
``_mem_A _f_A _i_A``    buffer A, its words as floats, integers (``_u_A``: unsigned)
``_r_A _w_A _x_A``      judge a read, a write, an atomic update of a word of buffer A
``_o_A _p0_A _n0_A``    offset, stride, extent of buffer A
``_ts_A _s_A _fn_A``    tile_static array, captured scalar, device function
======================= =====================================================================

C++ AMP's model: docs/conformance.md, sections 3, 10, 11.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import CodeType
from typing import Any, cast

import numpy as np

from vkamp.errors import AmpError, Span
from vkamp.findings import AccessKind
from vkamp.ir import nodes as ir
from vkamp.ir.builtins import ATOMICS, BUILTINS
from vkamp.ir.fences import Fence
from vkamp.ir.types import BOOL, FLOAT32, INT32, VECTOR_LETTERS, Array, Scalar, Struct, Type, Vector, scalar_fields
from vkamp.sim.faults import Site
from vkamp.sim.memory import LETTERS, Layout, words_of

__all__ = ["Program", "translate"]


@dataclass
class Program:
    """A kernel as Python code.

    ``codes``: the module of each function with its name in the generated code, callees first, the
    kernel last. ``constants``: the names that are the same in every launch.  ``written``: buffers
    that are stored to. ``fences[site]`` is the fence of a waiting barrier.  ``split``: whether
    separate fences and barriers may order global, tile_static memory together.
    """

    kernel: ir.Kernel
    codes: list[tuple[str, CodeType]] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    written: frozenset[str] = frozenset()
    fences: dict[int, Fence] = field(default_factory=dict)
    waits: bool = False
    split: tuple[bool, bool] = (False, False)

    def function_of(self, code: CodeType) -> ir.Function | None:
        """The function that a code object was made from."""
        functions = (*self.kernel.functions, self.kernel.body)
        for (_, module), function in zip(self.codes, functions, strict=True):
            if code in module.co_consts:
                return function
        return None


def translate(kernel: ir.Kernel, races: bool) -> Program:
    """The Python code of a kernel; ``races``: with the calls that judge every access."""
    program = Program(kernel)
    functions = (*kernel.functions, kernel.body)
    statements = [s for f in functions for s in ir.walk_statements(f.body)]
    program.written = _written(statements)
    program.split = _split([s.fence for s in statements if isinstance(s, ir.Barrier)])
    waiting: set[str] = set()
    for function in functions:
        _FunctionTranslator(program, function, waiting, races).run()
    program.waits = kernel.body.name in waiting
    if program.waits and kernel.tile is None:
        raise AmpError(f"{kernel.name} waits at a barrier, but its domain has no tiles")
    return program


def _written(statements: Sequence[ir.Stmt]) -> frozenset[str]:
    roots = (ir.root_of(s.place) for s in statements if isinstance(s, (ir.Assign, ir.Atomic)))
    return frozenset(r.buffer for r in roots if isinstance(r, ir.BufferElement))


def _split(fences: Sequence[Fence]) -> tuple[bool, bool]:
    """For global and tile_static memory: fences that don't wait, and waits that don't order it?"""
    apart = [f for f in fences if not f.waits]
    waits = [f for f in fences if f.waits]
    return (
        any(f.orders_global for f in apart) and not all(f.orders_global for f in waits),
        any(f.orders_tile_static for f in apart) and not all(f.orders_tile_static for f in waits),
    )


# -- making Python's syntax trees ------------------------------------------------------------------


@lru_cache(maxsize=512)
def _template(text: str) -> ast.expr:
    return ast.parse(f"({text})", mode="eval").body


def _quote(text: str, **parts: ast.expr | int | str) -> ast.expr:
    """An expression from a template; its upper-case names stand for trees, integers, names."""
    trees = {name: _part(part) for name, part in parts.items()}
    return cast(ast.expr, _fill(_template(text), trees))


def _part(part: ast.expr | int | str) -> ast.expr:
    if isinstance(part, str):
        return ast.Name(part, ast.Load())
    if isinstance(part, int):
        return ast.Constant(part)
    return part


def _fill(node: ast.AST, parts: dict[str, ast.expr]) -> ast.AST:
    if isinstance(node, ast.Name) and node.id in parts:
        part = parts[node.id]
        # A name that is assigned to (a walrus's target) keeps its context.
        return ast.Name(part.id, node.ctx) if isinstance(part, ast.Name) else part
    made: dict[str, Any] = {}
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            value = _fill(value, parts)
        elif isinstance(value, list):
            value = [_fill(v, parts) if isinstance(v, ast.AST) else v for v in value]
        made[name] = value
    return type(node)(**made)


def _place_at(tree: ast.AST, span: Span) -> None:
    """Gives a tree the source position of an IR node, where it has none yet."""
    if hasattr(tree, "lineno") or not isinstance(tree, (ast.expr, ast.stmt, ast.arguments, ast.arg)):
        return
    if not isinstance(tree, ast.arguments):
        tree.lineno = max(span.line, 1)
        tree.col_offset = max(span.column, 0)
        tree.end_lineno = max(span.end_line, tree.lineno)
        tree.end_col_offset = max(span.end_column, tree.col_offset)
    for child in ast.iter_child_nodes(tree):
        _place_at(child, span)


def _name(text: str) -> ast.expr:
    return ast.Name(text, ast.Load())


def _sum(terms: list[ast.expr], constant: int) -> ast.expr:
    total: ast.expr | None = None
    for term in terms:
        total = term if total is None else ast.BinOp(total, ast.Add(), term)
    if total is None:
        return ast.Constant(constant)
    return ast.BinOp(total, ast.Add(), ast.Constant(constant)) if constant else total


_WRAP = {"int32": "(X + 2147483648 & 4294967295) - 2147483648", "uint32": "X & 4294967295"}

_INTEGER_OPS = {
    "add": "L + R", "sub": "L - R", "mul": "L * R",
    "bitand": "L & R", "bitor": "L | R", "bitxor": "L ^ R",
    "shl": "L << R", "shr": "L >> R",
}  # fmt: skip
_FLOAT_OPS = {
    "add": "L + R", "sub": "L - R", "mul": "L * R", "div": "L / R",
    "floordiv": "L // R", "floormod": "L % R",
}  # fmt: skip
#: Results that leave the range; of divisions only the most negative integer by -1.
_OVERFLOWS = ("add", "sub", "mul", "shl", "floordiv", "tdiv")
_DIVISIONS = {
    "floordiv": "L // D",
    "floormod": "L % D",
    "tdiv": "_tdiv(L, D)",
    "trem": "_trem(L, D)",
}
_COMPARES = {
    "eq": "L == R",
    "ne": "L != R",
    "lt": "L < R",
    "le": "L <= R",
    "gt": "L > R",
    "ge": "L >= R",
}
_INDEX_NAMES = {"global": "_g", "local": "_l", "tile": "_b", "tile_origin": "_o"}
_INDEX_SOURCES = {"global": "global_", "local": "local", "tile": "tile", "tile_origin": "origin"}


@dataclass
class _Address:
    """A place as a word address: of which variable, and how far into it."""

    root: ir.Local | ir.BufferElement
    terms: list[ast.expr]
    constant: int


class _FunctionTranslator:
    """Translates one function."""

    def __init__(self, program: Program, function: ir.Function, waiting: set[str], races: bool) -> None:
        self.program = program
        self.kernel = program.kernel
        self.function = function
        self.waiting = waiting
        self.races = races
        self.names: dict[str, str] = {}
        self.temporaries = 0

    # -- names, sites, constants

    def run(self) -> None:
        """Adds the function to the program."""
        function = self.function
        is_kernel = function is self.kernel.body
        if self._waits():
            self.waiting.add(function.name)
        params = [self.local(p.name) for p in function.params]
        body = self._prologue() + self.block(function.body)
        if function.results:
            site = self.site(function.span, text=function.python_name)
            body.append(ast.Expr(_quote("_fell(_t, S)", S=site)))
        arguments = ast.arguments(
            posonlyargs=[],
            args=[ast.arg(p) for p in ("_t", *params)],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[],
        )
        title = re.sub(r"\W", "_", function.python_name) or "_"
        definition = _definition(title, arguments, body or [ast.Pass()])
        _place_at(definition, function.span)
        module = ast.Module([definition], [])
        self.program.codes.append(
            (
                "_kernel" if is_kernel else f"_fn_{function.name}",
                compile(module, function.span.file, "exec", dont_inherit=True),
            )
        )

    def _waits(self) -> bool:
        for statement in ir.walk_statements(self.function.body):
            if isinstance(statement, ir.Barrier) and statement.fence.waits:
                return True
            if isinstance(statement, ir.Call) and statement.function in self.waiting:
                return True
        return False

    def _prologue(self) -> list[ast.stmt]:
        """The thread's indices that are used, and memory for struct and vector variables."""
        used = {(n.kind, n.dim) for s in self.function.body for n in ir.walk(s) if isinstance(n, ir.ThreadIndex)}
        out = [
            self._set(f"{_INDEX_NAMES[kind]}{dim}", _quote(f"_t.{_INDEX_SOURCES[kind]}[I]", I=dim))
            for kind, dim in sorted(used)
        ]
        for variable in self.function.variables:
            if variable.storage == "local" and isinstance(variable.type, (Struct, Vector)):
                words = words_of(variable.type)
                out.append(self._set(self.local(variable.name), _quote("[None] * N", N=words)))
        return out

    def local(self, name: str) -> str:
        """The Python name of a local: its own, unless that would clash."""
        if name not in self.names:
            text = re.sub(r"\W", "_", name)
            if text.startswith("_") or keyword.iskeyword(text) or text[:1].isdigit():
                text = f"v{text}"
            while text in self.names.values():
                text += "_"
            self.names[name] = text
        return self.names[name]

    def temporary(self, letter: str) -> str:
        """A name for a value that is used twice; unique, for such expressions nest."""
        self.temporaries += 1
        return f"_{letter}{self.temporaries}_"

    def site(
        self,
        span: Span,
        variable: str = "",
        access: AccessKind = "read",
        kind: Type | None = None,
        *,
        is_buffer: bool = False,
        text: str = "",
        view_rank: int = 0,
    ) -> int:
        """The number of a new site."""
        self.program.sites.append(Site(span, variable, access, kind, is_buffer, text, view_rank))
        return len(self.program.sites) - 1

    def constant(self, prefix: str, value: Any) -> ast.expr:
        """A name for a value that Python's literals cannot spell."""
        name = f"_{prefix}{len(self.program.constants)}_"
        self.program.constants[name] = value
        return _name(name)

    def layout(self, kind: Struct | Vector) -> ast.expr:
        """The scalars of a struct or vector, for copying."""
        words_of(kind)
        layout: Layout = tuple((o // 4, LETTERS[s.name]) for _, s, o in scalar_fields(kind))
        return self.constant("y", layout)

    @staticmethod
    def _set(name: str, value: ast.expr) -> ast.stmt:
        return ast.Assign([ast.Name(name, ast.Store())], value)

    # -- expressions

    def expr(self, node: ir.Expr) -> ast.expr:
        """The Python expression of an IR expression, at its source position."""
        tree = _EXPRESSIONS[type(node)](self, node)
        _place_at(tree, node.span)
        return tree

    def const(self, node: ir.Const) -> ast.expr:
        if node.type == FLOAT32:
            return self.constant("c", np.float32(node.value))
        if node.type == BOOL:
            return ast.Constant(bool(node.value))
        return ast.Constant(int(node.value))

    def scalar_value(self, node: ir.ScalarValue) -> ast.expr:
        return _name(f"_s_{node.name}")

    def thread_index(self, node: ir.ThreadIndex) -> ast.expr:
        return _name(f"{_INDEX_NAMES[node.kind]}{node.dim}")

    def buffer_extent(self, node: ir.BufferExtent) -> ast.expr:
        return _name(f"_n{node.dim}_{node.buffer}")

    def unary(self, node: ir.Unary) -> ast.expr:
        operand = self.expr(node.operand)
        if isinstance(node.type, Vector):
            element = node.type.element
            return self._each(node.type.count, [operand], lambda part: self._unary(node.op, element, part))
        return self._unary(node.op, _scalar(node.type), operand)

    def _unary(self, op: str, kind: Scalar, operand: ast.expr) -> ast.expr:
        if op == "not" or kind == BOOL:
            return _quote("not X", X=operand)
        if op == "neg":
            value = _quote("-X", X=operand)
            return value if kind == FLOAT32 else self._wrap(kind, value)
        return _quote("~X" if kind.kind == "int" else "X ^ 4294967295", X=operand)

    def _each(self, count: int, vectors: list[ast.expr], part: Callable[..., ast.expr]) -> ast.expr:
        """A vector whose components are made of those of others."""
        names = [self.temporary("p") for _ in vectors]
        parts = [part(*(_quote("P[K]", P=name, K=k) for name in names)) for k in range(count)]
        kept = [_quote("P := X", P=name, X=vector) for name, vector in zip(names, vectors, strict=True)]
        all_of_it = ast.Tuple([*kept, ast.List(parts, ast.Load())], ast.Load())
        return _quote("X[N]", X=all_of_it, N=len(kept))

    def binary(self, node: ir.Binary) -> ast.expr:
        left, right = self.expr(node.left), self.expr(node.right)
        if isinstance(node.type, Vector):
            element = node.type.element
            return self._each(node.type.count, [left, right], lambda x, y: self._binary(node, element, x, y))
        return self._binary(node, _scalar(node.type), left, right)

    def _binary(self, node: ir.Binary, kind: Scalar, left: ast.expr, right: ast.expr) -> ast.expr:
        """The operation on scalars of type ``kind``."""
        if kind == FLOAT32:
            return _quote(_FLOAT_OPS[node.op], L=left, R=right)
        if node.op in _DIVISIONS:
            value, may_overflow = self._division(node, kind, left, right)
        else:
            if node.op in ("shl", "shr"):
                right = self._shift_count(node, right)
            value = _quote(_INTEGER_OPS[node.op], L=left, R=right)
            may_overflow = node.op in _OVERFLOWS
        return self._wrap(kind, value) if may_overflow else value

    def _division(self, node: ir.Binary, kind: Scalar, left: ast.expr, right: ast.expr) -> tuple[ast.expr, bool]:
        """The quotient or remainder, and whether it may leave the range."""
        text = _DIVISIONS[node.op]
        if isinstance(node.right, ir.Const) and node.right.value:
            negative = node.op in _OVERFLOWS and node.right.value < 0
            return _quote(text, L=left, D=right), negative
        template = f"({text}) if (D := R) else _div0(_t, S)"
        name, site = self.temporary("d"), self.site(node.span)
        quotient = _quote(template, L=left, D=name, R=right, S=site)
        return quotient, node.op in _OVERFLOWS and kind.kind == "int"

    def _shift_count(self, node: ir.Binary, count: ast.expr) -> ast.expr:
        if isinstance(node.right, ir.Const) and 0 <= node.right.value < 32:
            return count
        site = self.site(node.span)
        return _quote("_i if 0 <= (_i := N) < 32 else _shift(_t, S, _i)", N=count, S=site)

    @staticmethod
    def _wrap(kind: Type, value: ast.expr) -> ast.expr:
        return _quote(_WRAP[_scalar(kind).name], X=value)

    def compare(self, node: ir.Compare) -> ast.expr:
        if isinstance(node.left.type, Vector):
            template = "_same(L, R)" if node.op == "eq" else "not _same(L, R)"
            return _quote(template, L=self.expr(node.left), R=self.expr(node.right))
        return _quote(_COMPARES[node.op], L=self.expr(node.left), R=self.expr(node.right))

    def logical(self, node: ir.Logical) -> ast.expr:
        op = "L and R" if node.op == "and" else "L or R"
        return _quote(op, L=self.expr(node.left), R=self.expr(node.right))

    def select(self, node: ir.Select) -> ast.expr:
        condition, then, orelse = map(self.expr, (node.condition, node.then, node.orelse))
        return _quote("T if C else E", T=then, C=condition, E=orelse)

    def cast(self, node: ir.Cast) -> ast.expr:
        value = self.expr(node.operand)
        if isinstance(node.type, Vector) and isinstance(node.operand.type, Vector):
            source, target = node.operand.type.element, node.type.element
            return self._each(node.type.count, [value], lambda part: self._cast(source, target, part, node.span))
        return self._cast(_scalar(node.operand.type), _scalar(node.type), value, node.span)

    def _cast(self, source: Scalar, target: Scalar, value: ast.expr, span: Span) -> ast.expr:
        if source == target:
            return value
        if target == BOOL:
            return _quote("_bool(X)", X=value)
        if source == BOOL:
            number = _quote("1 if X else 0", X=value)
            return _quote("_float32(X)", X=number) if target == FLOAT32 else number
        if target == FLOAT32:
            return _quote("_float32(X)", X=value)
        if source == FLOAT32:
            function = "_to_int" if target.kind == "int" else "_to_uint"
            return _quote("F(_t, S, X)", F=function, S=self.site(span), X=value)
        return self._wrap(target, value)

    def construct(self, node: ir.Construct) -> ast.expr:
        parts = [self.expr(part) for part in node.parts]
        assert isinstance(node.type, Vector)
        if len(parts) == 1:
            return _quote("[X] * N", X=parts[0], N=node.type.count)
        return ast.List(parts, ast.Load())

    def swizzle(self, node: ir.Swizzle) -> ast.expr:
        operand = self.expr(node.operand)
        numbers = [VECTOR_LETTERS.index(letter) for letter in node.letters]
        if len(numbers) == 1:
            return _quote("X[K]", X=operand, K=numbers[0])
        layout = self.constant("y", tuple((n, "") for n in numbers))
        return _quote("_pick(X, 0, Y)", X=operand, Y=layout)

    def builtin(self, node: ir.Builtin) -> ast.expr:
        self.program.constants[f"_b_{node.name}"] = BUILTINS[node.name].reference
        call = ast.Call(_name(f"_b_{node.name}"), [self.expr(a) for a in node.args], [])
        if node.type == FLOAT32:
            return _quote("_float32(X)", X=call)
        if node.type == BOOL:
            return _quote("_bool(X)", X=call)
        return self._wrap(node.type, _quote("_int(X)", X=call))

    def load(self, node: ir.Load) -> ast.expr:
        return self.load_place(node.place, node.span)

    def load_place(self, place: ir.Place, span: Span) -> ast.expr:
        """The value at a place; a struct is copied."""
        if isinstance(place, ir.Local) and isinstance(place.type, Scalar):
            return _name(self.local(place.variable.name))
        address = self.address(place)
        site = self._access(address, "read", span)
        word = _sum(address.terms, address.constant)
        if isinstance(place.type, Scalar):
            value = self._load_word(address, word, place.type, site)
            return value if _kept_type(place) == place.type else _bits(place.type, value)
        if isinstance(place.type, Vector):
            return self._load_vector(address, word, self._components(place), site)
        struct = place.type
        assert isinstance(struct, Struct)
        holder = self._holder(address.root)
        if self._is_value(address.root):
            return _quote("_part(M, K, N)", M=holder, K=word, N=words_of(struct))
        return _quote(
            "M.load_struct(_t, S, K, Y, N)",
            M=holder, S=site, K=word, Y=self.layout(struct), N=words_of(struct),
        )  # fmt: skip

    def _components(self, place: ir.Place) -> ast.expr:
        """The layout of a vector in place, from its first word on."""
        assert isinstance(place.type, Vector)
        if not isinstance(place, ir.ComponentsOf):
            return self.layout(place.type)
        letter = LETTERS[place.type.element.name]
        return self.constant("y", tuple((VECTOR_LETTERS.index(n), letter) for n in place.letters))

    def _load_vector(self, address: _Address, word: ast.expr, layout: ast.expr, site: int) -> ast.expr:
        """The components of a vector, in a list of their own."""
        holder = self._holder(address.root)
        if isinstance(address.root, ir.BufferElement):
            return _quote("M.load_vector(_t, S, K, Y)", M=holder, S=site, K=word, Y=layout)
        again = word
        if not isinstance(word, ast.Constant):
            again = _name(self.temporary("k"))
            word = _quote("T := K", T=again, K=word)
        template = "_pick(M, K, Y)" if self._is_value(address.root) else "M.load_vector(_t, S, K, Y)"
        value = _quote(template, M=holder, S=site, K=again, Y=layout)
        # The word comes first: it is named there.
        return _quote("_set(_t, S, K, Y, X)", S=site, K=word, Y=layout, X=value)

    def _load_word(self, address: _Address, word: ast.expr, kind: Scalar, site: int) -> ast.expr:
        if isinstance(address.root, ir.BufferElement):
            name = address.root.buffer
            memory = _name(f"_{LETTERS[kind.name]}_{name}")
            return _quote("M[K]", M=memory, K=self._judged(address, "read", word, site))
        again = word
        if not isinstance(word, ast.Constant):
            again = _name(self.temporary("k"))
            word = _quote("T := K", T=again, K=word)
        value = _quote("M[K]", M=self._words(address.root), K=self._judged(address, "read", word, site))
        return _quote("_v if (_v := X) is not None else _unset(_t, S, K)", X=value, S=site, K=again)

    # -- places

    def address(self, place: ir.Place) -> _Address:
        """The word address of a place; indices are checked as it is computed."""
        if isinstance(place, ir.Local):
            return _Address(place, [], 0)
        if isinstance(place, ir.BufferElement):
            return self._buffer_address(place)
        if isinstance(place, ir.FieldOf):
            inner = self.address(place.base)
            struct = place.base.type
            member = struct.field(place.name) if isinstance(struct, Struct) else None
            assert member is not None, f"{struct} has no field {place.name}"
            inner.constant += member.offset // 4
            return inner
        if isinstance(place, ir.ComponentsOf):
            inner = self.address(place.base)
            if len(place.letters) == 1:
                inner.constant += VECTOR_LETTERS.index(place.letters)
            return inner
        if isinstance(place, ir.Reinterpreted):
            return self._reinterpreted_address(place)
        if isinstance(place, ir.ViewElement):
            return self._view_address(place)
        assert isinstance(place, ir.ArrayElement)
        return self._array_address(place)

    def _reinterpreted_address(self, place: ir.Reinterpreted) -> _Address:
        if isinstance(place.base, ir.ArrayElement):
            # The same word, as another scalar.
            *rows, last = place.base.indices
            moved = ir.Binary(place.span, INT32, "add", _int(last), _int(place.index))
            return self._array_address(replace(place.base, indices=(*rows, moved)))
        address = self.address(place.base)
        root = address.root
        assert isinstance(root, ir.BufferElement)
        words = words_of(place.type)
        index = self.expr(place.index)
        address.terms.append(index if words == 1 else _quote("I * P", I=index, P=words))
        site = self.site(place.span, root.buffer, "read", self.kernel.buffer(root.buffer).element, is_buffer=True)
        word = _sum(address.terms, address.constant)
        return _Address(root, [_quote("M.inside(_t, S, K, N)", M=f"_mem_{root.buffer}", S=site, K=word, N=words)], 0)

    def _view_address(self, place: ir.ViewElement) -> _Address:
        name, rank = _text_of(place.base), len(place.indices)
        site = self.site(place.span, f"a view of {name}", "read", view_rank=rank)
        checks = [
            _quote(
                "0 if 0 <= (_i := X) < N else _bad(_t, S, D, _i, N)",
                X=self.expr(index), N=self.expr(extent), S=site, D=dim,
            )
            for dim, (index, extent) in enumerate(zip(place.indices, place.extent, strict=True))
        ]  # fmt: skip
        address = self.address(place.base)
        address.terms[:0] = checks
        return address

    def _buffer_address(self, place: ir.BufferElement) -> _Address:
        param = self.kernel.buffer(place.buffer)
        site = self.site(place.span, place.buffer, "read", param.element, is_buffer=True)
        terms = [_name(f"_o_{place.buffer}")]
        for dim, index in enumerate(place.indices):
            checked = self._checked(index, dim, _name(f"_n{dim}_{place.buffer}"), site)
            terms.append(_quote("I * P", I=checked, P=f"_p{dim}_{place.buffer}"))
        return _Address(place, terms, 0)

    def _array_address(self, place: ir.ArrayElement) -> _Address:
        address = self.address(place.base)
        array = place.base.type
        assert isinstance(array, Array)
        site = self.site(place.span, _text_of(place.base), "read", array)
        stride = words_of(array.element)
        for dim in reversed(range(len(array.shape))):
            index, extent = place.indices[dim], array.shape[dim]
            if isinstance(index, ir.Const) and 0 <= index.value < extent:
                address.constant += int(index.value) * stride
            else:
                checked = self._checked(index, dim, ast.Constant(extent), site)
                address.terms.append(checked if stride == 1 else _quote("I * P", I=checked, P=stride))
            stride *= extent
        return address

    def _checked(self, index: ir.Expr, dim: int, extent: ast.expr, site: int) -> ast.expr:
        return _quote(
            "_i if 0 <= (_i := X) < N else _bad(_t, S, D, _i, N)",
            X=self.expr(index), N=extent, S=site, D=dim,
        )  # fmt: skip

    def _access(self, address: _Address, access: AccessKind, span: Span) -> int:
        root = address.root
        if isinstance(root, ir.BufferElement):
            element = self.kernel.buffer(root.buffer).element
            return self.site(span, root.buffer, access, element, is_buffer=True)
        return self.site(span, root.variable.name, access, root.variable.type)

    def _is_value(self, root: ir.Local | ir.BufferElement) -> bool:
        """Whether the place lies in a struct or vector variable, which is a plain list."""
        return isinstance(root, ir.Local) and isinstance(root.variable.type, (Struct, Vector))

    def _holder(self, root: ir.Local | ir.BufferElement) -> ast.expr:
        """The object that holds a variable."""
        if isinstance(root, ir.BufferElement):
            return _name(f"_mem_{root.buffer}")
        if root.variable.storage == "tile_static":
            return _name(f"_ts_{root.variable.name}")
        return _name(self.local(root.variable.name))

    def _words(self, root: ir.Local | ir.BufferElement) -> ast.expr:
        """The words of a variable that is no buffer."""
        holder = self._holder(root)
        return holder if self._is_value(root) else _quote("M.mem", M=holder)

    def _judged(self, address: _Address, access: AccessKind, word: ast.expr, site: int) -> ast.expr:
        """The word's address, reported to the shadow where another thread could touch it too."""
        root = address.root
        if not self.races or self._is_value(root):
            return word
        if isinstance(root, ir.BufferElement):
            letter = {"read": "r", "write": "w", "atomic": "x"}[access]
            return _quote("J(_t, S, K)", J=f"_{letter}_{root.buffer}", S=site, K=word)
        if root.variable.storage == "private":
            return word
        return _quote(f"M.{access}(_t, S, K)", M=self._holder(root), S=site, K=word)

    # -- statements

    def block(self, statements: ir.Block) -> list[ast.stmt]:
        """The Python statements of a block."""
        return [made for s in statements for made in self.statement(s)]

    def statement(self, node: ir.Stmt) -> list[ast.stmt]:
        """The Python statements of one, at its source position."""
        made = _STATEMENTS[type(node)](self, node)
        for statement in made:
            _place_at(statement, node.span)
        return made

    def declare(self, node: ir.Declare) -> list[ast.stmt]:
        if node.variable.storage == "tile_static":
            return []
        words = words_of(node.variable.type)
        return [self._set(self.local(node.variable.name), _quote("_private(N)", N=words))]

    def assign(self, node: ir.Assign) -> list[ast.stmt]:
        return [self.store(node.place, self.expr(node.value), node.span)]

    def store(self, place: ir.Place, value: ast.expr, span: Span) -> ast.stmt:
        """``place = value``."""
        if isinstance(place, ir.Local) and not isinstance(place.type, Array):
            return self._set(self.local(place.variable.name), value)
        address = self.address(place)
        site = self._access(address, "write", span)
        word = _sum(address.terms, address.constant)
        if isinstance(place.type, Scalar):
            kept = _kept_type(place)
            if kept != place.type:
                value = _bits(kept, value)
            return self._store_word(address, word, place.type, site, value)
        if isinstance(place.type, Vector):
            layout, holder = self._components(place), self._holder(address.root)
            if self._is_value(address.root):
                return ast.Expr(_quote("_place(M, K, Y, X)", M=holder, K=word, Y=layout, X=value))
            store = _quote("M.store_vector(_t, S, K, Y, X)", M=holder, S=site, K=word, Y=layout, X=value)
            return ast.Expr(store)
        struct, holder = place.type, self._holder(address.root)
        assert isinstance(struct, Struct)
        if self._is_value(address.root):
            return ast.Expr(_quote("_put(M, K, X)", M=holder, K=word, X=value))
        stored = _quote(
            "M.store_struct(_t, S, K, Y, X)",
            M=holder, S=site, K=word, Y=self.layout(struct), X=value,
        )  # fmt: skip
        return ast.Expr(stored)

    def _store_word(
        self, address: _Address, word: ast.expr, kind: Scalar, site: int, value: ast.expr,
        access: AccessKind = "write",
    ) -> ast.stmt:  # fmt: skip
        if isinstance(address.root, ir.BufferElement):
            memory = _name(f"_{LETTERS[kind.name]}_{address.root.buffer}")
        else:
            memory = self._words(address.root)
        judged = self._judged(address, access, word, site)
        return ast.Assign([ast.Subscript(memory, judged, ast.Store())], value)

    def if_(self, node: ir.If) -> list[ast.stmt]:
        then = self.block(node.then) or [ast.Pass()]
        return [ast.If(self.expr(node.condition), then, self.block(node.orelse))]

    def for_(self, node: ir.For) -> list[ast.stmt]:
        bounds = [self.expr(e) for e in (node.start, node.stop, node.step)]
        fixed = isinstance(node.step, ir.Const) and node.step.value
        counter = ast.Name(self.local(node.variable.name), ast.Store())
        steps = ast.Call(_name("_range" if fixed else "_steps"), bounds, [])
        body = self.block(node.body) or [ast.Pass()]
        return [ast.For(counter, steps, body, [])]

    def while_(self, node: ir.While) -> list[ast.stmt]:
        return [ast.While(self.expr(node.condition), self.block(node.body) or [ast.Pass()], [])]

    def break_(self, node: ir.Break) -> list[ast.stmt]:
        return [ast.Break()]

    def continue_(self, node: ir.Continue) -> list[ast.stmt]:
        return [ast.Continue()]

    def return_(self, node: ir.Return) -> list[ast.stmt]:
        values = [self.expr(v) for v in node.values]
        if not values:
            return [ast.Return()]
        return [ast.Return(values[0] if len(values) == 1 else ast.Tuple(values, ast.Load()))]

    def barrier(self, node: ir.Barrier) -> list[ast.stmt]:
        if node.fence.waits:
            site = self.site(node.span)
            self.program.fences[site] = node.fence
            return [ast.Expr(ast.Yield(ast.Constant(site)))]
        if not self.races:
            return []
        flags = (node.fence.orders_global, node.fence.orders_tile_static)
        return [ast.Expr(_quote("_fence(_t, G, T)", G=flags[0], T=flags[1]))]

    def atomic(self, node: ir.Atomic) -> list[ast.stmt]:
        row = ATOMICS[node.name]
        kind = _scalar(node.place.type)
        address = self.address(node.place)
        site = self._access(address, "atomic", node.span)
        word, old, new = self.temporary("k"), self.temporary("a"), self.temporary("a")
        at = _name(word)
        args = [self.expr(a) for a in node.args]
        if node.expected is not None:
            args.insert(0, self.load_place(node.expected, node.expected.span))
        self.program.constants[f"_b_{node.name}"] = row.apply
        value: ast.expr = ast.Call(_name(f"_b_{node.name}"), [_name(old), *args], [])
        if kind != FLOAT32:
            value = self._wrap(kind, value)
        place = self._judged(address, "atomic", _sum(address.terms, address.constant), site)
        unjudged = _Address(address.root, [at], 0)
        loaded = self._read_back(unjudged, at, kind, site)
        if row.name == "atomic_exchange" and node.result is None:
            loaded = ast.Constant(None)  # The old value is not looked at: this may be the first write.
        out = [self._set(word, place), self._set(old, loaded), self._set(new, value)]
        out.append(self._store_back(unjudged, at, kind, _name(new)))
        if node.result is not None:
            result: ast.expr = _name(old)
            if row.result == "bool":
                assert node.expected is not None
                expected = self.load_place(node.expected, node.expected.span)
                result = _quote("A == E", A=old, E=expected)
            out.append(self._set(self.local(node.result.name), result))
        if node.expected is not None:
            out.append(self.store(node.expected, _name(old), node.span))
        return out

    def _read_back(self, address: _Address, word: ast.expr, kind: Scalar, site: int) -> ast.expr:
        """The value at an address that was judged already."""
        races, self.races = self.races, False
        value = self._load_word(address, word, kind, site)
        self.races = races
        return value

    def _store_back(self, address: _Address, word: ast.expr, kind: Scalar, value: ast.expr) -> ast.stmt:
        races, self.races = self.races, False
        made = self._store_word(address, word, kind, 0, value)
        self.races = races
        return made

    def call(self, node: ir.Call) -> list[ast.stmt]:
        args = [self._holder(ir.root_of(a)) if isinstance(a, ir.Place) else self.expr(a) for a in node.args]
        value: ast.expr = ast.Call(_name(f"_fn_{node.function}"), [_name("_t"), *args], [])
        if node.function in self.waiting:
            value = ast.YieldFrom(value)
        if not any(node.results):
            return [ast.Expr(value)]
        targets: list[ast.expr] = [
            ast.Name("_" if r is None else self.local(r.name), ast.Store()) for r in node.results
        ]
        return [ast.Assign(targets if len(targets) == 1 else [ast.Tuple(targets, ast.Store())], value)]

    def assertion(self, node: ir.Assert) -> list[ast.stmt]:
        site = self.site(node.span, text=node.message)
        failed = ast.Expr(_quote("_claim(_t, S)", S=site))
        return [ast.If(_quote("not X", X=self.expr(node.condition)), [failed], [])]

    def claim(self, node: ir.Claim) -> list[ast.stmt]:
        value = _quote("_uniform(_t, S, X)", S=self.site(node.span), X=self.expr(node.value))
        return [self._set(self.local(node.variable.name), value)]


def _definition(name: str, arguments: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    fields: dict[str, Any] = {"name": name, "args": arguments, "body": body, "decorator_list": []}
    if "type_params" in ast.FunctionDef._fields:
        fields["type_params"] = []
    return ast.FunctionDef(**fields)


def _scalar(kind: Type) -> Scalar:
    assert isinstance(kind, Scalar), f"{kind} is no scalar"
    return kind


def _text_of(place: ir.Place) -> str:
    """A place for people, without its indices."""
    if isinstance(place, ir.Local):
        return place.variable.name
    if isinstance(place, ir.BufferElement):
        return place.buffer
    if isinstance(place, ir.FieldOf):
        return f"{_text_of(place.base)}.{place.name}"
    if isinstance(place, ir.ComponentsOf):
        return f"{_text_of(place.base)}.{place.letters}"
    assert isinstance(place, (ir.ArrayElement, ir.Reinterpreted, ir.ViewElement))
    return _text_of(place.base)


def _int(expr: ir.Expr) -> ir.Expr:
    return expr if expr.type == INT32 else ir.Cast(expr.span, INT32, expr)


def _kept_type(place: ir.Place) -> Type:
    """The type in which a scalar is kept: an array of the kernel keeps what it was declared for."""
    while isinstance(place, ir.ViewElement):
        place = place.base
    if isinstance(place, ir.Reinterpreted) and isinstance(place.base, ir.ArrayElement):
        return place.base.type
    return place.type


def _bits(kind: Type, value: ast.expr) -> ast.expr:
    """The bits of a scalar as those of another type."""
    return _quote(f"_bits_{LETTERS[str(kind)]}(X)", X=value)


_T = _FunctionTranslator

_EXPRESSIONS: dict[type[ir.Expr], Callable[[_T, Any], ast.expr]] = {
    ir.Const: _T.const,
    ir.ScalarValue: _T.scalar_value,
    ir.ThreadIndex: _T.thread_index,
    ir.BufferExtent: _T.buffer_extent,
    ir.Unary: _T.unary,
    ir.Binary: _T.binary,
    ir.Compare: _T.compare,
    ir.Logical: _T.logical,
    ir.Select: _T.select,
    ir.Cast: _T.cast,
    ir.Builtin: _T.builtin,
    ir.Construct: _T.construct,
    ir.Swizzle: _T.swizzle,
    ir.Load: _T.load,
}

_STATEMENTS: dict[type[ir.Stmt], Callable[[_T, Any], list[ast.stmt]]] = {
    ir.Declare: _T.declare,
    ir.Assign: _T.assign,
    ir.If: _T.if_,
    ir.For: _T.for_,
    ir.While: _T.while_,
    ir.Break: _T.break_,
    ir.Continue: _T.continue_,
    ir.Return: _T.return_,
    ir.Barrier: _T.barrier,
    ir.Atomic: _T.atomic,
    ir.Call: _T.call,
    ir.Assert: _T.assertion,
    ir.Claim: _T.claim,
}
