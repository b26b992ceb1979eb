"""The IR as text, for people and tests: Python-like, one line per statement, deterministic.

What Python leaves implicit is written out: ``float32(x)`` is a cast, ``3u`` an unsigned literal,
``tdiv`` and ``trem`` C's division, ``# update`` an augmented assignment that no operator shows.
"""

from __future__ import annotations

from collections.abc import Iterator

from vkamp.ir import nodes
from vkamp.ir.types import UINT32, Array, Struct

__all__ = ["expression_text", "place_text", "text"]

_INDENT = "    "
_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "floormod": "%",
    "shl": "<<", "shr": ">>", "bitand": "&", "bitor": "|", "bitxor": "^",
}  # fmt: skip
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_UNARY = {"neg": "-", "invert": "~", "not": "not "}


def text(kernel: nodes.Kernel) -> str:
    """The whole kernel: what it captures, its tile_static memory, its functions and its body."""
    return "\n".join(_Printer(kernel.index_name).kernel(kernel)) + "\n"


def expression_text(expr: nodes.Expr, index_name: str = "t_idx") -> str:
    """One expression; ``index_name`` is the Python name of the kernel's first parameter."""
    return _Printer(index_name).expr(expr)


def place_text(place: nodes.Place, index_name: str = "t_idx") -> str:
    """One place in memory; ``index_name`` is the Python name of the kernel's first parameter."""
    return _Printer(index_name).place(place)


def _constant(expr: nodes.Const) -> str:
    if isinstance(expr.value, int) and expr.type == UINT32:
        return f"{expr.value}u"
    return repr(expr.value)


def _declared(variable: nodes.Variable) -> str:
    reference = "&" if variable.storage == "parameter" and isinstance(variable.type, Array) else ""
    return f"{variable.name}: {reference}{variable.type}"


class _Printer:
    """The text of nodes; compound operands stand in parentheses."""

    def __init__(self, index_name: str) -> None:
        self.index_name = index_name

    # -- expressions and places --------------------------------------------------------------------

    def expr(self, expr: nodes.Expr) -> str:
        if isinstance(expr, nodes.Const):
            return _constant(expr)
        if isinstance(expr, nodes.ScalarValue):
            return expr.name
        if isinstance(expr, nodes.ThreadIndex):
            kind = "global_" if expr.kind == "global" else expr.kind
            return f"{self.index_name}.{kind}[{expr.dim}]"
        if isinstance(expr, nodes.SubgroupIndex):
            return f"subgroup.{expr.kind}()"
        if isinstance(expr, nodes.BufferExtent):
            return f"{expr.buffer}.extent[{expr.dim}]"
        if isinstance(expr, nodes.Load):
            return self.place(expr.place)
        return self._operation(expr)

    def _operation(self, expr: nodes.Expr) -> str:
        if isinstance(expr, nodes.Unary):
            return _UNARY[expr.op] + self._operand(expr.operand)
        if isinstance(expr, nodes.Binary):
            if expr.op not in _BINARY:
                return f"{expr.op}({self.expr(expr.left)}, {self.expr(expr.right)})"
            return f"{self._operand(expr.left)} {_BINARY[expr.op]} {self._operand(expr.right)}"
        if isinstance(expr, nodes.Compare):
            return f"{self._operand(expr.left)} {_COMPARE[expr.op]} {self._operand(expr.right)}"
        if isinstance(expr, nodes.Logical):
            return f"{self._operand(expr.left)} {expr.op} {self._operand(expr.right)}"
        if isinstance(expr, nodes.Select):
            sides = self._operand(expr.then), self._operand(expr.orelse)
            return f"{sides[0]} if {self._operand(expr.condition)} else {sides[1]}"
        if isinstance(expr, nodes.Cast):
            return f"{expr.type}({self.expr(expr.operand)})"
        if isinstance(expr, nodes.Construct):
            return f"{expr.type}({self._list(expr.parts)})"
        if isinstance(expr, nodes.Swizzle):
            return f"{self._operand(expr.operand)}.{expr.letters}"
        assert isinstance(expr, nodes.Builtin), type(expr).__name__
        return f"{expr.name}({', '.join(map(self.expr, expr.args))})"

    def _operand(self, expr: nodes.Expr) -> str:
        compound = isinstance(expr, (nodes.Unary, nodes.Binary, nodes.Compare, nodes.Logical, nodes.Select))
        return f"({self.expr(expr)})" if compound else self.expr(expr)

    def place(self, place: nodes.Place) -> str:
        if isinstance(place, nodes.Local):
            return place.variable.name
        if isinstance(place, nodes.BufferElement):
            return f"{place.buffer}[{self._indices(place.indices)}]"
        if isinstance(place, nodes.ArrayElement):
            return f"{self.place(place.base)}[{self._indices(place.indices)}]"
        if isinstance(place, nodes.ComponentsOf):
            return f"{self.place(place.base)}.{place.letters}"
        if isinstance(place, nodes.Reinterpreted):
            return f"{place.type}({self.place(place.base)}...)[{self.expr(place.index)}]"
        if isinstance(place, nodes.ViewElement):
            return f"{self.place(place.base)}<{self._indices(place.indices)} of {self._indices(place.extent)}>"
        assert isinstance(place, nodes.FieldOf), type(place).__name__
        return f"{self.place(place.base)}.{place.name}"

    def _indices(self, indices: tuple[nodes.Expr, ...]) -> str:
        return ", ".join(map(self.expr, indices)) or "()"

    # -- statements --------------------------------------------------------------------------------

    def block(self, block: nodes.Block, depth: int) -> Iterator[str]:
        if not block:
            yield _INDENT * depth + "pass"
        for statement in block:
            yield from self.statement(statement, depth)

    def statement(self, statement: nodes.Stmt, depth: int) -> Iterator[str]:
        pad = _INDENT * depth
        if isinstance(statement, nodes.If):
            yield from self._if(statement, depth, "if")
        elif isinstance(statement, nodes.For):
            bounds = (statement.start, statement.stop, statement.step)
            yield f"{pad}for {statement.variable.name} in range({self._list(bounds)}):"
            yield from self.block(statement.body, depth + 1)
        elif isinstance(statement, nodes.While):
            yield f"{pad}while {self.expr(statement.condition)}:"
            yield from self.block(statement.body, depth + 1)
        else:
            yield pad + self._simple(statement)

    def _if(self, statement: nodes.If, depth: int, word: str) -> Iterator[str]:
        yield f"{_INDENT * depth}{word} {self.expr(statement.condition)}:"
        yield from self.block(statement.then, depth + 1)
        other = statement.orelse
        if len(other) == 1 and isinstance(other[0], nodes.If):
            yield from self._if(other[0], depth, "elif")
        elif other:
            yield f"{_INDENT * depth}else:"
            yield from self.block(other, depth + 1)

    def _simple(self, statement: nodes.Stmt) -> str:
        if isinstance(statement, nodes.Assign):
            return self._assign(statement)
        if isinstance(statement, nodes.Declare):
            return f"{statement.variable.storage} {_declared(statement.variable)}"
        if isinstance(statement, nodes.Return):
            return f"return {self._list(statement.values)}".rstrip()
        if isinstance(statement, nodes.Barrier):
            return f"{statement.fence.name}()"
        if isinstance(statement, nodes.Atomic):
            return self._atomic(statement)
        if isinstance(statement, nodes.Call):
            return self._call(statement)
        if isinstance(statement, nodes.Assert):
            message = f", {statement.message!r}" if statement.message else ""
            return f"assert {self.expr(statement.condition)}{message}"
        if isinstance(statement, nodes.Print):
            return self._print(statement)
        if isinstance(statement, nodes.Breakpoint):
            return "breakpoint()"
        if isinstance(statement, nodes.Remark):
            return f"# {statement.text}"
        if isinstance(statement, nodes.Claim):
            return f"{statement.variable.name} = uniform({self.expr(statement.value)})"
        if isinstance(statement, nodes.Subgroup):
            return f"{statement.result.name} = subgroup.{statement.name}({self._list(statement.args)})"
        assert isinstance(statement, (nodes.Break, nodes.Continue)), type(statement).__name__
        return "break" if isinstance(statement, nodes.Break) else "continue"

    def _print(self, statement: nodes.Print) -> str:
        """The texts and values in their order."""
        parts = [repr(statement.texts[0])] if statement.texts[0] else []
        for value, spec, text in zip(statement.values, statement.formats, statement.texts[1:], strict=True):
            parts.append(f"{self.expr(value)}{f':{spec}' if spec else ''}")
            if text:
                parts.append(repr(text))
        return f"print({', '.join(parts)})"

    def _assign(self, statement: nodes.Assign) -> str:
        place, value = statement.place, statement.value
        if not statement.update:
            return f"{self.place(place)} = {self.expr(value)}"
        if (
            isinstance(value, nodes.Binary)
            and value.op in _BINARY
            and isinstance(value.left, nodes.Load)
            and value.left.place == place
        ):
            return f"{self.place(place)} {_BINARY[value.op]}= {self.expr(value.right)}"
        return f"{self.place(place)} = {self.expr(value)}  # update"

    def _atomic(self, statement: nodes.Atomic) -> str:
        operands = [self.place(statement.place)]
        if statement.expected is not None:
            operands.append(f"&{self.place(statement.expected)}")
        operands += map(self.expr, statement.args)
        result = f"{statement.result.name} = " if statement.result else ""
        return f"{result}{statement.name}({', '.join(operands)})"

    def _call(self, statement: nodes.Call) -> str:
        arguments = [self.expr(a) if isinstance(a, nodes.Expr) else f"&{self.place(a)}" for a in statement.args]
        results = ", ".join(v.name if v is not None else "_" for v in statement.results)
        target = f"{results} = " if results else ""
        return f"{target}{statement.function}({', '.join(arguments)})"

    def _list(self, exprs: tuple[nodes.Expr, ...]) -> str:
        return ", ".join(map(self.expr, exprs))

    # -- declarations ------------------------------------------------------------------------------

    def kernel(self, kernel: nodes.Kernel) -> Iterator[str]:
        tile = f", tile {kernel.tile}" if kernel.tile is not None else ""
        lanes = f", lanes {kernel.lanes}" if kernel.lanes is not None else ""
        precise = ", precise" if kernel.precise else ""
        yield f"kernel {kernel.name}({self.index_name}): rank {kernel.rank}{tile}{lanes}{precise}"
        for name, value in kernel.constants:
            yield f"{_INDENT}constant {name} = {value}"
        for buffer in kernel.buffers:
            words = ["readonly"] * buffer.readonly + ["dense"] * buffer.dense
            traits = ", ".join([*words, f"storage {buffer.storage}"])
            yield f"{_INDENT}buffer {buffer.name}: {buffer.element}, rank {buffer.rank}, {traits}"
        for scalar in kernel.scalars:
            yield f"{_INDENT}scalar {scalar.name}: {scalar.type}"
        for variable in kernel.tile_statics:
            yield f"{_INDENT}tile_static {_declared(variable)}"
        for struct in kernel.structs():
            members = ", ".join(f"{f.name}: {f.type} @{f.offset}" for f in struct.fields)
            yield f"{_INDENT}struct {struct.name}({members}; {struct.size} bytes)"
        for function in kernel.functions:
            yield ""
            yield from self._function(function)
        yield ""
        yield "body:"
        yield from self._locals(kernel.body)
        yield from self.block(kernel.body.body, 1)

    def _function(self, function: nodes.Function) -> Iterator[str]:
        parameters = ", ".join(map(_declared, function.params))
        results = ", ".join(map(str, function.results)) or "None"
        yield f"func {function.name}({parameters}) -> {results}:"
        yield from self._locals(function)
        yield from self.block(function.body, 1)

    def _locals(self, function: nodes.Function) -> Iterator[str]:
        """Scalars, vectors and structs; arrays show where they are declared."""
        for variable in function.variables:
            if variable.storage == "local":
                kind = "local struct" if isinstance(variable.type, Struct) else "local"
                yield f"{_INDENT}{kind} {_declared(variable)}"
