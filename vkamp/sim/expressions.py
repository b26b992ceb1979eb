"""Translation of expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable

from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.builtins import BUILTINS
from vkamp.ir.types import BOOL, VECTOR_LETTERS, Scalar, Type, Vector, int_range
from vkamp.sim.places import Places
from vkamp.sim.trees import name_of, place_at, quote

_INTEGER_OPS = {
    "add": "L + R", "sub": "L - R", "mul": "L * R",
    "bitand": "L & R", "bitor": "L | R", "bitxor": "L ^ R",
    "shl": "L << R", "shr": "L >> R",
}  # fmt: skip
_FLOAT_OPS = {
    "add": "L + R", "sub": "L - R", "mul": "L * R", "div": "L / R",
    "floordiv": "L // R", "floormod": "L % R",
}  # fmt: skip
#: Operations whose results may exceed the range; of divisions, only the lowest integer by -1.
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
INDEX_NAMES = {"global": "_g", "local": "_l", "tile": "_b", "tile_origin": "_o"}


class ExpressionTranslator(Places):
    """Translates IR expressions to Python."""

    def expr(self, node: ir.Expr) -> ast.expr:
        """The Python expression of an IR expression, at its source position."""
        tree: ast.expr = _HANDLERS[type(node)](self, node)
        if node.span.line != self.function.span.line:
            # The replacement of a parameter has the position of the definition: a debugger would jump there and back.
            place_at(tree, node.span)
        return tree

    def _const(self, node: ir.Const) -> ast.expr:
        kind = scalar_of(node.type)
        if kind.kind == "float":
            return self.constant("c", kind.dtype.type(node.value))
        if node.type == BOOL:
            return ast.Constant(bool(node.value))
        return ast.Constant(int(node.value))

    def _scalar_value(self, node: ir.ScalarValue) -> ast.expr:
        return name_of(f"_s_{node.name.replace(' ', '_')}")

    def _thread_index(self, node: ir.ThreadIndex) -> ast.expr:
        return name_of(f"{INDEX_NAMES[node.kind]}{node.dim}")

    def _subgroup_index(self, node: ir.SubgroupIndex) -> ast.expr:
        names = {"size": "_subgroup_size", "count": "_subgroup_count", "id": "_t.subgroup", "lane": "_t.lane"}
        return quote(names[node.kind])

    def _buffer_extent(self, node: ir.BufferExtent) -> ast.expr:
        return name_of(f"_n{node.dim}_{node.buffer}")

    def _unary(self, node: ir.Unary) -> ast.expr:
        operand = self.expr(node.operand)
        if isinstance(node.type, Vector):
            element = node.type.element
            return self._each(node.type.count, [operand], lambda part: self._unary_scalar(node.op, element, part))
        return self._unary_scalar(node.op, scalar_of(node.type), operand)

    def _unary_scalar(self, op: str, kind: Scalar, operand: ast.expr) -> ast.expr:
        if op == "not" or kind == BOOL:
            return quote("not X", X=operand)
        if op == "neg":
            value = quote("-X", X=operand)
            return value if kind.kind == "float" else self.wrap(kind, value)
        return quote("~X" if kind.kind == "int" else "X ^ N", X=operand, N=int_range(kind)[1])

    def _each(self, count: int, vectors: list[ast.expr], part: Callable[..., ast.expr]) -> ast.expr:
        """A vector whose components are computed from those of other vectors."""
        names = [self.temporary("p") for _ in vectors]
        parts = [part(*(quote("P[K]", P=name, K=k) for name in names)) for k in range(count)]
        kept = [quote("P := X", P=name, X=vector) for name, vector in zip(names, vectors, strict=True)]
        all_of_it = ast.Tuple([*kept, ast.List(parts, ast.Load())], ast.Load())
        return quote("X[N]", X=all_of_it, N=len(kept))

    def _binary(self, node: ir.Binary) -> ast.expr:
        left, right = self.expr(node.left), self.expr(node.right)
        if isinstance(node.type, Vector):
            element = node.type.element
            return self._each(node.type.count, [left, right], lambda x, y: self._binary_scalar(node, element, x, y))
        return self._binary_scalar(node, scalar_of(node.type), left, right)

    def _binary_scalar(self, node: ir.Binary, kind: Scalar, left: ast.expr, right: ast.expr) -> ast.expr:
        """The operation on scalars of type ``kind``."""
        if kind.kind == "float":
            return quote(_FLOAT_OPS[node.op], L=left, R=right)
        if node.op in _DIVISIONS:
            value, may_overflow = self._division(node, kind, left, right)
        else:
            if node.op in ("shl", "shr"):
                value = self._shift(node, kind, left, right)
            else:
                value = quote(_INTEGER_OPS[node.op], L=left, R=right)
            may_overflow = node.op in _OVERFLOWS
        return self.wrap(kind, value) if may_overflow else value

    def _division(self, node: ir.Binary, kind: Scalar, left: ast.expr, right: ast.expr) -> tuple[ast.expr, bool]:
        """The quotient or remainder, and whether it may exceed the range."""
        text = _DIVISIONS[node.op]
        if isinstance(node.right, ir.Const) and node.right.value:
            negative = node.op in _OVERFLOWS and node.right.value < 0
            return quote(text, L=left, D=right), negative
        template = f"({text}) if (D := R) else _div0(_t, S)"
        name, site = self.temporary("d"), self.site(node.span)
        quotient = quote(template, L=left, D=name, R=right, S=site)
        return quotient, node.op in _OVERFLOWS and kind.kind == "int"

    def _shift(self, node: ir.Binary, kind: Scalar, value: ast.expr, count: ast.expr) -> ast.expr:
        template = _INTEGER_OPS[node.op]
        if isinstance(node.right, ir.Const) and 0 <= node.right.value < kind.bits:
            return quote(template, L=value, R=count)
        name, site = self.temporary("n"), self.site(node.span)
        template = f"({template.replace('R', 'D')}) if 0 <= (D := R) < {kind.bits} else _shift(_t, S, D)"
        return quote(template, L=value, D=name, R=count, S=site)

    @staticmethod
    def wrap(kind: Type, value: ast.expr) -> ast.expr:
        scalar = scalar_of(kind)
        half, mask = 1 << (scalar.bits - 1), (1 << scalar.bits) - 1
        return quote("(X + H & M) - H" if scalar.kind == "int" else "X & M", X=value, H=half, M=mask)

    def _compare(self, node: ir.Compare) -> ast.expr:
        if isinstance(node.left.type, Vector):
            template = "_same(L, R)" if node.op == "eq" else "not _same(L, R)"
            return quote(template, L=self.expr(node.left), R=self.expr(node.right))
        return quote(_COMPARES[node.op], L=self.expr(node.left), R=self.expr(node.right))

    def _logical(self, node: ir.Logical) -> ast.expr:
        op = "L and R" if node.op == "and" else "L or R"
        return quote(op, L=self.expr(node.left), R=self.expr(node.right))

    def _select(self, node: ir.Select) -> ast.expr:
        condition, then, orelse = map(self.expr, (node.condition, node.then, node.orelse))
        return quote("T if C else E", T=then, C=condition, E=orelse)

    def _cast(self, node: ir.Cast) -> ast.expr:
        value = self.expr(node.operand)
        if isinstance(node.type, Vector) and isinstance(node.operand.type, Vector):
            source, target = node.operand.type.element, node.type.element
            return self._each(node.type.count, [value], lambda part: self._cast_scalar(source, target, part, node.span))
        return self._cast_scalar(scalar_of(node.operand.type), scalar_of(node.type), value, node.span)

    def _cast_scalar(self, source: Scalar, target: Scalar, value: ast.expr, span: Span) -> ast.expr:
        if source == target:
            return value
        if target == BOOL:
            return quote("_bool(X)", X=value)
        if source == BOOL:
            number = quote("1 if X else 0", X=value)
            return quote("F(X)", F=f"_{target.name}", X=number) if target.kind == "float" else number
        if target.kind == "float":
            # A 64-bit integer must be rounded only once.
            function = (
                f"_{target.name}_of_{source.name}" if source.is_integer and source.bits == 64 else f"_{target.name}"
            )
            return quote("F(X)", F=function, X=value)
        if source.kind == "float":
            return quote("F(_t, S, X)", F=f"_to_{target.name}", S=self.site(span), X=value)
        return self.wrap(target, value)

    def _construct(self, node: ir.Construct) -> ast.expr:
        parts = [self.expr(part) for part in node.parts]
        assert isinstance(node.type, Vector)
        if len(parts) == 1:
            return quote("[X] * N", X=parts[0], N=node.type.count)
        return ast.List(parts, ast.Load())

    def _swizzle(self, node: ir.Swizzle) -> ast.expr:
        operand = self.expr(node.operand)
        numbers = [VECTOR_LETTERS.index(letter) for letter in node.letters]
        if len(numbers) == 1:
            return quote("X[K]", X=operand, K=numbers[0])
        layout = self.constant("y", tuple((n, "") for n in numbers))
        return quote("_pick(X, 0, Y)", X=operand, Y=layout)

    def _item_index(self, node: ir.ItemIndex) -> ast.expr:
        # A run that continues takes the first item.
        return quote(
            "_i if 0 <= (_i := X) < N else _bad(_t, S, 0, _i, N) or 0",
            X=self.expr(node.index), N=node.extent, S=self.site(node.span, node.name),
        )  # fmt: skip

    def _builtin(self, node: ir.Builtin) -> ast.expr:
        kind = scalar_of(node.args[0].type)
        row = BUILTINS[node.name]
        name = f"_b_{node.name}" if kind.bits == 32 and not row.typed else f"_b_{node.name}_{kind.name}"
        self.program.constants[name] = row.reference_for(kind.name)
        call = ast.Call(name_of(name), [self.expr(a) for a in node.args], [])
        result = scalar_of(node.type)
        if result.kind == "float":
            return quote("F(X)", F=f"_{result.name}", X=call)
        if node.type == BOOL:
            return quote("_bool(X)", X=call)
        return self.wrap(node.type, quote("_int(X)", X=call))

    def _load(self, node: ir.Load) -> ast.expr:
        return self.load_place(node.place, node.span)


def scalar_of(kind: Type) -> Scalar:
    """The type itself, which must be a scalar."""
    assert isinstance(kind, Scalar), f"{kind} is not a scalar"
    return kind


_HANDLERS = ir.handlers(ExpressionTranslator, ir.Expr)
