"""The IR as text, for people and tests: Python-like, one line per statement, deterministic.

What Python leaves implicit is written out: ``float32(x)`` is a cast, ``3u`` an unsigned literal,
``tdiv`` and ``trem`` C's division, ``# update`` an augmented assignment that no operator shows.
"""

from __future__ import annotations

from collections.abc import Iterator

from vkamp.ir import nodes as ir
from vkamp.ir.arithmetic import BINARY, COMPARISONS
from vkamp.ir.types import UINT32, Array, Struct

_INDENT = "    "
_UNARY = {"neg": "-", "invert": "~", "not": "not "}


def text(kernel: ir.Kernel) -> str:
    """The whole kernel: what it captures, its tile_static memory, its functions and its body."""
    return "\n".join(_Printer(kernel.index_name).kernel(kernel)) + "\n"


def place_text(place: ir.Place, index_name: str = "t_idx") -> str:
    """One place in memory; ``index_name`` is the Python name of the kernel's first parameter."""
    return _Printer(index_name).place(place)


def _constant(expr: ir.Const) -> str:
    if isinstance(expr.value, int) and expr.type == UINT32:
        return f"{expr.value}u"
    return repr(expr.value)


def _declared(variable: ir.Variable) -> str:
    reference = "&" if variable.storage == "parameter" and isinstance(variable.type, Array) else ""
    return f"{variable.name}: {reference}{variable.type}"


class _Printer:
    """The text of nodes; compound operands are in parentheses."""

    def __init__(self, index_name: str) -> None:
        self.index_name = index_name

    # -- expressions and places --------------------------------------------------------------------

    def expr(self, expr: ir.Expr) -> str:
        if isinstance(expr, ir.Const):
            return _constant(expr)
        if isinstance(expr, ir.ScalarValue):
            return expr.name
        if isinstance(expr, ir.ThreadIndex):
            kind = "global_" if expr.kind == "global" else expr.kind
            return f"{self.index_name}.{kind}[{expr.dim}]"
        if isinstance(expr, ir.SubgroupIndex):
            return f"subgroup.{expr.kind}()"
        if isinstance(expr, ir.BufferExtent):
            return f"{expr.buffer}.extent[{expr.dim}]"
        if isinstance(expr, ir.Load):
            return self.place(expr.place)
        return self._operation(expr)

    def _operation(self, expr: ir.Expr) -> str:
        if isinstance(expr, ir.Unary):
            return _UNARY[expr.op] + self._operand(expr.operand)
        if isinstance(expr, ir.Binary):
            symbol = BINARY[expr.op].symbol
            if not symbol:
                return f"{expr.op}({self.expr(expr.left)}, {self.expr(expr.right)})"
            return f"{self._operand(expr.left)} {symbol} {self._operand(expr.right)}"
        if isinstance(expr, ir.Compare):
            return f"{self._operand(expr.left)} {COMPARISONS[expr.op].symbol} {self._operand(expr.right)}"
        if isinstance(expr, ir.Logical):
            return f"{self._operand(expr.left)} {expr.op} {self._operand(expr.right)}"
        if isinstance(expr, ir.Select):
            sides = self._operand(expr.then), self._operand(expr.orelse)
            return f"{sides[0]} if {self._operand(expr.condition)} else {sides[1]}"
        if isinstance(expr, ir.Cast):
            return f"{expr.type}({self.expr(expr.operand)})"
        if isinstance(expr, ir.Construct):
            return f"{expr.type}({self._list(expr.parts)})"
        if isinstance(expr, ir.ItemIndex):
            return f"{self._operand(expr.index)}<of {expr.extent}>"
        if isinstance(expr, ir.Swizzle):
            return f"{self._operand(expr.operand)}.{expr.letters}"
        assert isinstance(expr, ir.Builtin), type(expr).__name__
        return f"{expr.name}({', '.join(map(self.expr, expr.args))})"

    def _operand(self, expr: ir.Expr) -> str:
        compound = isinstance(expr, (ir.Unary, ir.Binary, ir.Compare, ir.Logical, ir.Select))
        return f"({self.expr(expr)})" if compound else self.expr(expr)

    def place(self, place: ir.Place) -> str:
        if isinstance(place, ir.Local):
            return place.variable.name
        if isinstance(place, ir.BufferElement):
            return f"{place.buffer}[{self._indices(place.indices)}]"
        if isinstance(place, ir.ArrayElement):
            return f"{self.place(place.base)}[{self._indices(place.indices)}]"
        if isinstance(place, ir.ComponentsOf):
            return f"{self.place(place.base)}.{place.letters}"
        if isinstance(place, ir.Reinterpreted):
            return f"{place.type}({self.place(place.base)}...)[{self.expr(place.index)}]"
        if isinstance(place, ir.ViewElement):
            return f"{self.place(place.base)}<{self._indices(place.indices)} of {self._indices(place.extent)}>"
        assert isinstance(place, ir.FieldOf), type(place).__name__
        return f"{self.place(place.base)}.{place.name}"

    def _indices(self, indices: tuple[ir.Expr, ...]) -> str:
        return ", ".join(map(self.expr, indices)) or "()"

    # -- statements --------------------------------------------------------------------------------

    def block(self, block: ir.Block, depth: int) -> Iterator[str]:
        if not block:
            yield _INDENT * depth + "pass"
        for statement in block:
            yield from self.statement(statement, depth)

    def statement(self, statement: ir.Stmt, depth: int) -> Iterator[str]:
        pad = _INDENT * depth
        if isinstance(statement, ir.If):
            yield from self._if(statement, depth, "if")
        elif isinstance(statement, ir.For):
            bounds = (statement.start, statement.stop, statement.step)
            yield f"{pad}for {statement.variable.name} in range({self._list(bounds)}):"
            yield from self.block(statement.body, depth + 1)
        elif isinstance(statement, ir.MatrixOperation):
            operands = self._list(statement.args)
            layout = ", transposed" if statement.transposed else ""
            yield f"{pad}matrix {self.place(statement.targets[0])} = {statement.op}({operands}{layout}):"
            yield from self.block(statement.body, depth + 1)
        elif isinstance(statement, ir.While):
            yield f"{pad}while {self.expr(statement.condition)}:"
            yield from self.block(statement.body, depth + 1)
        else:
            yield pad + self._simple(statement)

    def _if(self, statement: ir.If, depth: int, word: str) -> Iterator[str]:
        yield f"{_INDENT * depth}{word} {self.expr(statement.condition)}:"
        yield from self.block(statement.then, depth + 1)
        other = statement.orelse
        if len(other) == 1 and isinstance(other[0], ir.If):
            yield from self._if(other[0], depth, "elif")
        elif other:
            yield f"{_INDENT * depth}else:"
            yield from self.block(other, depth + 1)

    def _simple(self, statement: ir.Stmt) -> str:
        if isinstance(statement, ir.Assign):
            return self._assign(statement)
        if isinstance(statement, ir.Declare):
            return f"{statement.variable.storage} {_declared(statement.variable)}"
        if isinstance(statement, ir.Return):
            return f"return {self._list(statement.values)}".rstrip()
        if isinstance(statement, ir.Barrier):
            return f"{statement.fence.name}()"
        if isinstance(statement, ir.Atomic):
            return self._atomic(statement)
        if isinstance(statement, ir.Call):
            return self._call(statement)
        if isinstance(statement, ir.Assert):
            message = f", {statement.message!r}" if statement.message else ""
            return f"assert {self.expr(statement.condition)}{message}"
        if isinstance(statement, ir.Print):
            return self._print(statement)
        if isinstance(statement, ir.Breakpoint):
            return "breakpoint()"
        if isinstance(statement, ir.Remark):
            return f"# {statement.text}"
        if isinstance(statement, ir.Operation):
            return self._named(statement)
        assert isinstance(statement, (ir.Break, ir.Continue)), type(statement).__name__
        return "break" if isinstance(statement, ir.Break) else "continue"

    def _named(self, statement: ir.Operation) -> str:
        """Prints the results, name and operands: ``x = subgroup.add(y)``."""
        name = ".".join([ir.snake_case(type(statement)), *map(str, ir.attributes(statement))])
        results = ", ".join(v.name for v in ir.results(statement))
        operands = ", ".join(self.expr(e) for e in ir.children(statement) if isinstance(e, ir.Expr))
        return f"{results} = {name}({operands})"

    def _print(self, statement: ir.Print) -> str:
        """The texts and values in their order."""
        parts = [repr(statement.texts[0])] if statement.texts[0] else []
        for value, spec, text in zip(statement.values, statement.formats, statement.texts[1:], strict=True):
            parts.append(f"{self.expr(value)}{f':{spec}' if spec else ''}")
            if text:
                parts.append(repr(text))
        return f"print({', '.join(parts)})"

    def _assign(self, statement: ir.Assign) -> str:
        place, value = statement.place, statement.value
        if not statement.update:
            return f"{self.place(place)} = {self.expr(value)}"
        if (
            isinstance(value, ir.Binary)
            and BINARY[value.op].symbol
            and isinstance(value.left, ir.Load)
            and value.left.place == place
        ):
            return f"{self.place(place)} {BINARY[value.op].symbol}= {self.expr(value.right)}"
        return f"{self.place(place)} = {self.expr(value)}  # update"

    def _atomic(self, statement: ir.Atomic) -> str:
        operands = [self.place(statement.place)]
        if statement.expected is not None:
            operands.append(f"&{self.place(statement.expected)}")
        operands += map(self.expr, statement.args)
        result = f"{statement.result.name} = " if statement.result else ""
        order = f" {statement.order}" if statement.order else ""
        return f"{result}{statement.name}({', '.join(operands)}){order}"

    def _call(self, statement: ir.Call) -> str:
        arguments = [self.expr(a) if isinstance(a, ir.Expr) else f"&{self.place(a)}" for a in statement.args]
        results = ", ".join(v.name if v is not None else "_" for v in statement.results)
        target = f"{results} = " if results else ""
        return f"{target}{statement.function}({', '.join(arguments)})"

    def _list(self, exprs: tuple[ir.Expr, ...]) -> str:
        return ", ".join(map(self.expr, exprs))

    # -- declarations ------------------------------------------------------------------------------

    def kernel(self, kernel: ir.Kernel) -> Iterator[str]:
        tile = f", tile {kernel.tile}" if kernel.tile is not None else ""
        lanes = f", lanes {kernel.lanes}" if kernel.lanes is not None else ""
        precise = ", precise" if kernel.precise else ""
        full = f", full subgroups of {kernel.subgroup_size}" if kernel.full_subgroups else ""
        yield f"kernel {kernel.name}({self.index_name}): rank {kernel.rank}{tile}{lanes}{precise}{full}"
        for name, value in kernel.constants:
            yield f"{_INDENT}constant {name} = {value}"
        for buffer in kernel.buffers:
            words = ["readonly"] * buffer.readonly + ["dense"] * buffer.dense + ["unit"] * buffer.unit
            table = [] if buffer.table is None else [f"table {buffer.table.shape}"]
            traits = ", ".join([*words, f"storage {buffer.storage}", *table])
            yield f"{_INDENT}buffer {buffer.name}: {buffer.element}, rank {buffer.rank}, {traits}"
        for scalar in kernel.scalars:
            yield f"{_INDENT}scalar {scalar.name}: {scalar.type}"
        for variable in kernel.tile_statics:
            apart = [v.name for v in kernel.tile_statics if frozenset((v.name, variable.name)) in kernel.apart]
            note = f", apart from {', '.join(apart)}" if apart else ""
            yield f"{_INDENT}tile_static {_declared(variable)}{note}"
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

    def _function(self, function: ir.Function) -> Iterator[str]:
        parameters = ", ".join(map(_declared, function.params))
        results = ", ".join(map(str, function.results)) or "None"
        yield f"func {function.name}({parameters}) -> {results}:"
        yield from self._locals(function)
        yield from self.block(function.body, 1)

    def _locals(self, function: ir.Function) -> Iterator[str]:
        """Scalars, vectors and structs; arrays show where they are declared."""
        for variable in function.variables:
            if variable.storage == "local":
                kind = "local struct" if isinstance(variable.type, Struct) else "local"
                yield f"{_INDENT}{kind} {_declared(variable)}"
