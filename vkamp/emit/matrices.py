"""Operations on cooperative matrices as GLSL (``GL_KHR_cooperative_matrix``)."""

from __future__ import annotations

from vkamp.emit.expressions import ExpressionPrinter
from vkamp.ir import nodes as ir
from vkamp.ir.lowered import MemoryElement
from vkamp.ir.matrices import kind_of, matrix_at
from vkamp.ir.types import Array, Fragments

_USES = {"a": "A", "b": "B", "accumulator": "Accumulator"}
_COMPONENTS = {
    "float16": "float16_t",
    "float32": "float",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "int32": "int",
    "uint32": "uint",
}


def matrix_type(kind: Fragments) -> str:
    """The type of a matrix."""
    component = _COMPONENTS[kind.component.name]
    return f"coopmat<{component}, gl_ScopeSubgroup, {kind.rows}, {kind.columns}, gl_MatrixUse{_USES[kind.use]}>"


def matrix_text(expressions: ExpressionPrinter, place: ir.Place) -> str:
    """A matrix, by the place of its first element."""
    assert isinstance(place, ir.ArrayElement)
    indices = "".join(f"[{expressions.plain(i)}]" for i in place.indices[:-1])
    return expressions.place(place.base) + indices


def matrix_line(expressions: ExpressionPrinter, statement: ir.MatrixOperation) -> str:
    """An operation, without its semicolon."""
    if statement.op == "store":
        source = matrix_text(expressions, matrix_at(statement.args[0]))
        return f"coopMatStore({source}, {_memory(expressions, statement.targets, statement.transposed)})"
    target = matrix_text(expressions, statement.targets[0])
    if statement.op == "load":
        places = tuple(a.place for a in statement.args if isinstance(a, ir.Load))
        return f"coopMatLoad({target}, {_memory(expressions, places, statement.transposed)})"
    kind = kind_of(statement.targets[0])
    if statement.op == "fill":
        return f"{target} = {matrix_type(kind)}({expressions.plain(statement.args[0])})"
    operands = [matrix_text(expressions, matrix_at(arg)) for arg in statement.args]
    if statement.op == "mul_add":
        return f"{target} = coopMatMulAdd({', '.join(operands)})"
    assert statement.op == "convert"
    same = kind_of(matrix_at(statement.args[0])).component == kind.component
    return f"{target} = {operands[0] if same else f'{matrix_type(kind)}({operands[0]})'}"


def _memory(expressions: ExpressionPrinter, places: tuple[ir.Place, ...], transposed: bool) -> str:
    """Array, index, distance of rows and layout of the memory of a matrix."""
    place, below, first = places
    layout = f"gl_CooperativeMatrixLayout{'Column' if transposed else 'Row'}Major"
    if isinstance(place, ir.ArrayElement):
        kind = place.base.type
        assert isinstance(kind, Array)
        array = expressions.place(place.base) + "".join(f"[{expressions.plain(i)}]" for i in place.indices[:-1])
        return f"{array}, {expressions.plain(place.indices[-1])}, {kind.shape[-1]}, {layout}"
    assert isinstance(place, MemoryElement)
    array = expressions.place(place)
    array = array[: array.index("[")]
    index, ends = place.indices[0], []
    for each in (below, first):
        assert isinstance(each, MemoryElement)
        ends.append(expressions.plain(each.indices[0]))
    distance = ends[0] if ends[1] == "0" else f"{ends[0]} - {ends[1]}"
    if not ends[1].isidentifier() and ends[1] != "0":
        distance = f"{ends[0]} - ({ends[1]})"
    return f"{array}, {expressions.plain(index)}, {distance}, {layout}"
