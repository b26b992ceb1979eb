"""The operators of random kernels, with the types of their operands, which the generator knows."""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Iterator

from tools.fuzz.tree import Expr, Kind, Lines, fill
from vkamp.front.scopes import children
from vkamp.ir import types
from vkamp.ir.types import SCALARS

__all__ = ["OPERATORS", "SMALL", "TYPES", "called", "is_float", "operator_pairs", "operators_of", "space_of"]

#: The types that only memory has: integers. Random kernels have no bfloat16; tests/types compares it with ml_dtypes.
SMALL = tuple(name for name, kind in types.SMALL.items() if kind.is_integer)


def called(node: ast.Call) -> str:
    """The last part of the name of a called function."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def space_of(node: ast.Call) -> str:
    """The name before the dot: ``amp``, ``math``, ``fast_math``, ``barrier``, ..."""
    if not isinstance(node.func, ast.Attribute):
        return ""
    owner = node.func.value
    return owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")


#: The possible operands: the scalars, the small integers in memory, and literals.
TYPES = (*SCALARS, *SMALL, "int literal", "float literal")
OPERATORS = ("+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>", "<", "<=", ">", ">=", "==", "!=")
_SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.BitAnd: "&",
    ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">",
    ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip


def is_float(kind: str) -> bool:
    """Whether a type is one of floats."""
    return kind.startswith("float")


def operator_pairs() -> list[tuple[str, str, str]]:
    """Every operator with two types of operands."""
    found = []
    for left, op, right in itertools.product(TYPES, OPERATORS, TYPES):
        if "literal" in left and "literal" in right:
            continue
        if op in ("&", "|", "^", "<<", ">>") and (is_float(left) or is_float(right)):
            continue
        found.append((left, op, right))
    return found


_KIND_TYPES = {"int": "int32", "uint": "uint32", "bool": "bool", "exact": "float32", "rough": "float32",
               "raw": "float32", "special": "float32"}  # fmt: skip


def type_name(kind: Kind) -> str:
    """A kind's scalar type; ``""`` for vectors and structs."""
    return _KIND_TYPES.get(kind.base, kind.base if kind.base in TYPES else "") if kind.count == 1 else ""


@functools.lru_cache(maxsize=100_000)
def _typed(text: str, kinds: tuple[str, ...], statement: bool) -> tuple[tuple[str, str, str], ...]:
    """The operators in a format string over operands of these types."""
    holes = tuple(Expr(Kind("int"), f"hole{n}_") for n in range(len(kinds)))
    source = fill(text, holes) if holes else text
    try:
        tree = ast.parse(source + (" pass" if source.endswith(":") else ""))
    except SyntaxError:
        return ()
    types = {f"hole{n}_": kind for n, kind in enumerate(kinds)}
    found: list[tuple[str, str, str]] = []

    def of(node: ast.AST) -> str:
        if isinstance(node, ast.Name):
            return types.get(node.id, "")
        if isinstance(node, ast.Constant):
            return f"{type(node.value).__name__} literal"
        if isinstance(node, ast.UnaryOp):
            return of(node.operand)
        if isinstance(node, ast.Call):
            for arg in node.args:
                of(arg)
            return called(node) if called(node) in TYPES else ""
        if isinstance(node, ast.BinOp):
            left, right = of(node.left), of(node.right)
            found.append((left, _SYMBOLS.get(type(node.op), "**"), right))
            return left if "literal" not in left else right
        if isinstance(node, ast.Compare):
            parts = [of(node.left), *map(of, node.comparators)]
            for n, op in enumerate(node.ops):
                found.append((parts[n], _SYMBOLS.get(type(op), "in"), parts[n + 1]))
            return "bool"
        for child in children(node):
            of(child)
        return ""

    of(tree)
    return tuple(found)


def _walk(expression: Expr) -> Iterator[Expr]:
    yield expression
    for arg in expression.args:
        yield from _walk(arg)


def operators_of(lines: Lines) -> Iterator[tuple[str, str, str]]:
    for statement in lines:
        for text, args, block in statement.parts:
            yield from _typed(text, tuple(type_name(a.kind) for a in args), True)
            for arg in args:
                for each in _walk(arg):
                    yield from _typed(each.text, tuple(type_name(a.kind) for a in each.args), False)
            if block is not None:
                yield from operators_of(block)
