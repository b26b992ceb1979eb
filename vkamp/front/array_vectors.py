"""Vectors in tile_static and private arrays of scalars, as the scalars that they consist of.

A kernel reads and writes them through ``reinterpret_as(amp.float4)``.  GLSL declares an array in one type, and an
element of it is a scalar, so that a load is the vector of four loads, and a store is four stores.  They are resolved
here, before the checks, which know accesses of scalars in arrays already.  Drivers join adjacent accesses.
"""

from __future__ import annotations

import dataclasses
from dataclasses import replace

from vkamp.front.values import place_parts, with_place_parts
from vkamp.ir import nodes as ir
from vkamp.ir.algebra import product, sum_of
from vkamp.ir.types import VECTOR_LETTERS, Type, Vector


def without_array_vectors(kernel: ir.Kernel) -> ir.Kernel:
    """Replaces accesses to vectors in an array of scalars by accesses to their components."""
    return ir.map_functions(kernel, lambda f: _Splitter(kernel, f).function() if _may_have(f) else f)


def _may_have(function: ir.Function) -> bool:
    """Whether a function has any element of another type than the memory that it is in."""
    return any(isinstance(n, ir.Reinterpreted) for s in ir.walk_statements(function.body) for n in ir.own_nodes(s))


def _components(place: ir.Place) -> list[ir.Place] | None:
    """The scalars of a vector in an array of scalars; ``None`` for any other place."""
    if isinstance(place, ir.Reinterpreted):
        if not isinstance(place.base, ir.ArrayElement) or not isinstance(place.type, Vector):
            return None
        return [_scalar(place, place.base, place.type, k) for k in range(place.type.count)]
    if not isinstance(place, (ir.ComponentsOf, ir.ViewElement)):
        return None
    found = _components(place.base)
    if found is None:
        return None
    if isinstance(place, ir.ComponentsOf):
        return [found[VECTOR_LETTERS.index(letter)] for letter in place.letters]
    return [replace(place, type=each.type, base=each) for each in found]


def _scalar(place: ir.Reinterpreted, base: ir.ArrayElement, kind: Vector, k: int) -> ir.Place:
    """Component ``k`` of a vector that ``base`` begins with at index 0."""
    number = sum_of(product(place.index, kind.count), k)
    if base.type != kind.element:
        return ir.Reinterpreted(place.span, kind.element, base, number)
    *rows, last = base.indices
    return replace(base, span=place.span, indices=(*rows, sum_of(last, number)))


def _loaded(node: ir.Node) -> ir.Node:
    parts = _components(node.place) if isinstance(node, ir.Load) else None
    if parts is None:
        return node
    assert isinstance(node, ir.Load)
    loads = tuple(ir.Load(node.span, part.type, part) for part in parts)
    return ir.Construct(node.span, node.type, loads) if isinstance(node.type, Vector) else loads[0]


class _Splitter:
    """One function; ``variables``: its own and those that stores need."""

    def __init__(self, kernel: ir.Kernel, function: ir.Function) -> None:
        self._function = function
        self._variables = list(function.variables)
        own = (*function.params, *function.variables, *kernel.tile_statics, *kernel.thread_variables)
        self._taken = {v.name for v in own} | {b.name for b in kernel.buffers} | {s.name for s in kernel.scalars}

    def function(self) -> ir.Function:
        body = self._block(self._function.body)
        return dataclasses.replace(self._function, body=body, variables=tuple(self._variables))

    def _block(self, block: ir.Block) -> ir.Block:
        out: list[ir.Stmt] = []
        for statement in block:
            nested = ir.map_blocks(statement, self._block)
            whole = ir.map_operands(nested, lambda node: ir.transform(node, _loaded))
            out += self._stored(whole) if isinstance(whole, ir.Assign) else [whole]
        return tuple(out)

    def _stored(self, statement: ir.Assign) -> list[ir.Stmt]:
        """The stores that an assignment to a vector of an array consists of."""
        if _components(statement.place) is None:
            return [statement]
        before: list[ir.Stmt] = []
        # The value and the subscripts are those of before the first store.
        whole = [
            self._kept(part, "at", before) if _reads_memory(part) else part for part in place_parts(statement.place)
        ]
        parts = _components(with_place_parts(statement.place, iter(whole)))
        assert parts is not None
        value = statement.value
        if not isinstance(value.type, Vector):
            return [*before, replace(statement, place=parts[0])]
        load = self._kept(value, f"{ir.place_name(statement.place).split('.')[0]}_value", before)
        letters = VECTOR_LETTERS[: len(parts)]
        return before + [
            replace(statement, place=part, value=ir.Swizzle(value.span, part.type, load, letter))
            for part, letter in zip(parts, letters, strict=True)
        ]

    def _kept(self, value: ir.Expr, name: str, before: list[ir.Stmt]) -> ir.Expr:
        """The value, in a variable unless it is one already."""
        if ir.read_local(value) is not None:
            return value
        variable = self._variable(name, value.type, value)
        place = ir.Local(value.span, value.type, variable)
        before.append(ir.Assign(value.span, place, value))
        return ir.Load(value.span, value.type, place)

    def _variable(self, name: str, kind: Type, value: ir.Expr) -> ir.Variable:
        found, number = name, 1
        while found in self._taken:
            number += 1
            found = f"{name}_{number}"
        self._taken.add(found)
        variable = ir.Variable(found, kind, "local", value.span, True)
        self._variables.append(variable)
        return variable


def _reads_memory(expr: ir.Expr) -> bool:
    """Whether a store may change an expression."""
    return any(isinstance(n, ir.Load) and not isinstance(n.place, ir.Local) for n in ir.walk(expr))
