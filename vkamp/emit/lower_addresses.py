"""Places as GLSL can address them: IR -> IR, before printing.

Views that the kernel made are resolved to what they lie in.  GLSL 4.50 has no atomics of floats: they work on the
bits, in a container through the same memory declared as uints, in a tile_static array by declaring that as uints.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from vkamp.ir import nodes as ir
from vkamp.ir.dataflow import uses
from vkamp.ir.types import FLOAT32, INT32, UINT32, VECTOR_LETTERS, Array, Struct

_WORD = 4


@dataclasses.dataclass(frozen=True)
class Bits(ir.Expr):
    """The bits of a scalar as another scalar type, which the IR has only as a place."""

    operand: ir.Expr


def is_float_atomic(statement: ir.Atomic) -> bool:
    """Whether an atomic computes with floats, after :func:`lower_places`: its element is a uint then."""
    return statement.place.type == UINT32 and any(a.type == FLOAT32 for a in statement.args)


def lower_places(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with places that a shader can address, and without the locals that only views used."""
    functions = (*kernel.functions, kernel.body)
    statements = [s for f in functions for s in ir.walk_statements(f.body)]
    as_bits = {v.name: _as_bits(v) for v in _atomic_floats(statements)}
    lowering = _Lowering(as_bits)
    *callees, body = (lowering.function(f) for f in functions)
    tile_statics = tuple(as_bits.get(v.name, v) for v in kernel.tile_statics)
    return dataclasses.replace(kernel, functions=tuple(callees), body=body, tile_statics=tile_statics)


def _atomic_floats(statements: list[ir.Stmt]) -> Iterator[ir.Variable]:
    """The tile_static arrays of floats that are updated atomically."""
    for statement in statements:
        if isinstance(statement, ir.Atomic) and statement.place.type == FLOAT32:
            root = ir.root_of(statement.place)
            if isinstance(root, ir.Local):
                yield root.variable


def _as_bits(variable: ir.Variable) -> ir.Variable:
    assert isinstance(variable.type, Array)
    return dataclasses.replace(variable, type=dataclasses.replace(variable.type, element=UINT32))


def _sum(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """``a + b`` as int32, without what does nothing."""
    a, b = (e if e.type == INT32 else ir.Cast(e.span, INT32, e) for e in (a, b))
    for one, other in ((a, b), (b, a)):
        if isinstance(one, ir.Const) and one.value == 0:
            return other
    return ir.Binary(b.span, INT32, "add", a, b)


def _times(a: ir.Expr, factor: int) -> ir.Expr:
    if isinstance(a, ir.Const):
        return ir.Const(a.span, INT32, int(a.value) * factor)
    a = a if a.type == INT32 else ir.Cast(a.span, INT32, a)
    return a if factor == 1 else ir.Binary(a.span, INT32, "mul", a, ir.Const(a.span, INT32, factor))


class _Lowering:
    def __init__(self, as_bits: dict[str, ir.Variable]) -> None:
        self.as_bits = as_bits

    def function(self, function: ir.Function) -> ir.Function:
        """One function; what only the checks of views used is gone."""
        body = tuple(_statement(ir.transform(s, self.change)) for s in function.body)
        unused = _read(function.body) - _read(body)
        while unused:
            smaller = _without(body, unused)
            unused = _read(body) - _read(smaller)
            body = smaller
        return dataclasses.replace(function, body=body)

    def change(self, node: ir.Node) -> ir.Node:
        """One node whose children are changed already."""
        if isinstance(node, ir.ViewElement):
            return node.base
        if isinstance(node, ir.Local) and node.variable.storage == "tile_static" and node.variable.name in self.as_bits:
            variable = self.as_bits[node.variable.name]
            return dataclasses.replace(node, variable=variable, type=variable.type)
        if isinstance(node, ir.ArrayElement) and isinstance(node.base.type, Array):
            return dataclasses.replace(node, type=node.base.type.element)
        if isinstance(node, ir.Reinterpreted):
            return _in_array(node)
        if isinstance(node, ir.Load) and node.place.type != node.type:
            return Bits(node.span, node.type, dataclasses.replace(node, type=node.place.type))
        if isinstance(node, ir.Assign) and node.place.type != node.value.type:
            return dataclasses.replace(node, value=Bits(node.span, node.place.type, node.value))
        if isinstance(node, ir.Atomic) and node.place.type == FLOAT32:
            return dataclasses.replace(node, place=_bits_place(node.place))
        return node


def _statement(node: ir.Node) -> ir.Stmt:
    assert isinstance(node, ir.Stmt)
    return node


def _in_array(place: ir.Reinterpreted) -> ir.Place:
    """In an array of the kernel: the element itself, of the type that it was declared for."""
    base = place.base
    if not isinstance(base, ir.ArrayElement):
        return place
    *rows, last = base.indices
    return dataclasses.replace(base, indices=(*rows, _sum(last, place.index)))


def _bits_place(place: ir.Place) -> ir.Place:
    """A float in a container, as a uint of the same memory."""
    words: ir.Expr = ir.Const(place.span, INT32, 0)
    step = place
    while not isinstance(step, (ir.BufferElement, ir.Reinterpreted)):
        assert isinstance(step, (ir.ComponentsOf, ir.FieldOf, ir.ArrayElement))
        if isinstance(step, ir.ComponentsOf):
            words = _sum(words, ir.Const(place.span, INT32, VECTOR_LETTERS.index(step.letters)))
        elif isinstance(step, ir.FieldOf):
            assert isinstance(step.base.type, Struct)
            member = step.base.type.field(step.name)
            assert member is not None
            words = _sum(words, ir.Const(place.span, INT32, member.offset // _WORD))
        else:
            assert isinstance(step.base.type, Array)
            size = step.type.size // _WORD
            for index, length in zip(reversed(step.indices), reversed(step.base.type.shape), strict=True):
                words = _sum(words, _times(index, size))
                size *= length
        step = step.base
    if isinstance(step, ir.Reinterpreted):
        words = _sum(_times(step.index, step.type.size // _WORD), words)
        step = step.base
    return ir.Reinterpreted(place.span, UINT32, step, words)


# -- locals that nothing reads any more ----------------------------------------------------------------------------


def _read(block: ir.Block) -> set[str]:
    """The variables whose values are used."""
    return {name for statement in ir.walk_statements(block) for name in uses(statement)}


def _without(block: ir.Block, unused: set[str]) -> ir.Block:
    """The block without the assignments to some variables."""
    kept = (s for s in block if not (isinstance(s, ir.Assign) and _is_unused(s.place, unused)))
    return tuple(ir.map_blocks(statement, lambda inner: _without(inner, unused)) for statement in kept)


def _is_unused(place: ir.Place, unused: set[str]) -> bool:
    return isinstance(place, ir.Local) and place.variable.name in unused
