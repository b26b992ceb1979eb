"""Device functions for a kernel whose threads are loops: IR -> IR.

A function with a barrier becomes a part of its caller, because a loop over threads cannot continue in a callee. The
others stay functions and get their thread's index as an argument.
"""

from __future__ import annotations

import dataclasses

from vkamp.ir import nodes as ir
from vkamp.ir.dataflow import assigned
from vkamp.ir.rewrite import Names, contains, substituted, with_variables, without_unused
from vkamp.ir.types import INT32
from vkamp.lower.errors import NotLowerable


def is_wait(statement: ir.Stmt) -> bool:
    """Whether a statement is a barrier that waits."""
    return isinstance(statement, ir.Barrier) and statement.fence.waits


# -- functions with barriers ---------------------------------------------------------------------------------------


def inline_barriers(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with every function that waits for a barrier in the place of its calls."""
    inliner = _Inliner(kernel)
    body = inliner.block(kernel.body.body)
    if inliner.waiting:
        # Calls leave copies of arguments, and results that nobody uses, which each thread would keep.
        temporaries = (v for v in kernel.body.variables if v.temporary)
        body = without_unused(body, {v.name for v in (*inliner.variables, *temporaries)})
    functions = tuple(f for f in kernel.functions if f.name not in inliner.waiting)
    variables = (*kernel.body.variables, *inliner.variables)
    return dataclasses.replace(
        kernel, functions=functions, body=dataclasses.replace(kernel.body, body=body, variables=variables)
    )


class _Inliner:
    def __init__(self, kernel: ir.Kernel) -> None:
        self.kernel = kernel
        self.names = Names.of(kernel.body, (v.name for v in kernel.tile_statics))
        self.variables: list[ir.Variable] = []
        self.waiting: set[str] = set()
        for function in kernel.functions:
            calls = {s.function for s in ir.walk_statements(function.body) if isinstance(s, ir.Call)}
            if contains(function.body, is_wait) or calls & self.waiting:
                self.waiting.add(function.name)

    def block(self, block: ir.Block) -> ir.Block:
        out: list[ir.Stmt] = []
        for statement in block:
            if isinstance(statement, ir.Call) and statement.function in self.waiting:
                out += self.call(statement)
            else:
                out.append(ir.map_blocks(statement, self.block))
        return tuple(out)

    def call(self, call: ir.Call) -> ir.Block:
        """The callee's body with its variables under new names."""
        function = self.kernel.function(call.function)
        new: dict[str, ir.Variable] = {}
        values: dict[str, ir.Expr] = {}
        changed = assigned(function.body)
        out: list[ir.Stmt] = []
        for param, arg in zip(function.params, call.args, strict=True):
            if isinstance(arg, ir.Local):
                new[param.name] = arg.variable
                continue
            assert isinstance(arg, ir.Expr)
            if isinstance(arg, (ir.Const, *ir.GIVEN)) and param.name not in changed:
                values[param.name] = arg
                continue
            variable = self.variable(function, dataclasses.replace(param, storage="local"))
            new[param.name] = variable
            out.append(ir.Assign(call.span, ir.Local(call.span, variable.type, variable), arg))
        for own in function.variables:
            new[own.name] = self.variable(function, own)
        # The results' variables are the caller's: their names mean others in the callee.
        own_body = with_variables(tuple(substituted(s, values) for s in function.body), new)
        body = _returning(own_body, function.python_name, call)
        return (*out, *self.block(body))

    def variable(self, function: ir.Function, variable: ir.Variable) -> ir.Variable:
        name = self.names.give(f"{function.python_name}_{variable.name}")
        new = dataclasses.replace(variable, name=name)
        self.variables.append(new)
        return new


def _returning(block: ir.Block, name: str, call: ir.Call) -> ir.Block:
    """A function's block with its returns, at its ends, as assignments of the results."""
    for number, statement in enumerate(block):
        if isinstance(statement, ir.Return):
            return (*block[:number], *_results(statement, call))
        if not contains((statement,), lambda s: isinstance(s, ir.Return)):
            continue
        if not isinstance(statement, ir.If):
            raise NotLowerable(f"{name} waits for a barrier and returns from inside a loop")
        rest = block[number + 1 :]
        sides = [side if _leaves(side) else (*side, *rest) for side in ir.blocks(statement)]
        if len(rest) > 0 and not any(map(_leaves, ir.blocks(statement))):
            raise NotLowerable(f"{name} waits for a barrier and returns from inside several conditions")
        then, orelse = (_returning(side, name, call) for side in sides)
        return (*block[:number], dataclasses.replace(statement, then=then, orelse=orelse))
    return block


def _leaves(block: ir.Block) -> bool:
    """Whether a block ends with a return on every path."""
    if not block:
        return False
    last = block[-1]
    return isinstance(last, ir.Return) or (isinstance(last, ir.If) and _leaves(last.then) and _leaves(last.orelse))


def _results(statement: ir.Return, call: ir.Call) -> list[ir.Stmt]:
    return [
        ir.Assign(statement.span, ir.Local(statement.span, result.type, result), value)
        for result, value in zip(call.results, statement.values, strict=True)
        if result is not None
    ]


# -- which thread a function runs for ------------------------------------------------------------------------------


def thread_arguments(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with the local index as arguments of those functions that ask for it."""
    wanted: dict[str, dict[int, ir.Variable]] = {}
    functions: list[ir.Function] = []
    for function in kernel.functions:
        dims = {n.dim for n in _indices(function.body)}
        for statement in ir.walk_statements(function.body):
            if isinstance(statement, ir.Call):
                dims |= wanted.get(statement.function, {}).keys()
        names = Names.of(function, (v.name for v in kernel.tile_statics))
        params = {
            dim: ir.Variable(names.give(f"{kernel.index_name}_local_{dim}"), INT32, "parameter", function.span)
            for dim in sorted(dims)
        }
        wanted[function.name] = params

        def local(node: ir.Node, dim: int, params: dict[int, ir.Variable] = params) -> ir.Expr:
            variable = params[dim]
            return ir.Load(node.span, INT32, ir.Local(node.span, INT32, variable))

        def change(node: ir.Node, local=local) -> ir.Node:  # type: ignore[no-untyped-def]
            if isinstance(node, ir.ThreadIndex) and node.kind == "local":
                return local(node, node.dim)  # type: ignore[no-any-return]
            if isinstance(node, ir.ThreadIndex) and node.kind == "global":
                return global_index(node, local(node, node.dim))
            if isinstance(node, ir.Call):
                extra = tuple(local(node, dim) for dim in wanted[node.function])
                return dataclasses.replace(node, args=(*node.args, *extra))
            return node

        body = ir.map_block(function.body, change)
        functions.append(dataclasses.replace(function, params=(*function.params, *params.values()), body=body))

    def call(node: ir.Node) -> ir.Node:
        if not isinstance(node, ir.Call):
            return node
        extra = tuple(ir.ThreadIndex(node.span, INT32, "local", dim) for dim in wanted[node.function])
        return dataclasses.replace(node, args=(*node.args, *extra))

    whole = dataclasses.replace(kernel.body, body=ir.map_block(kernel.body.body, call))
    return dataclasses.replace(kernel, functions=tuple(functions), body=whole)


def global_index(index: ir.ThreadIndex, local: ir.Expr) -> ir.Expr:
    """A component of the global index, of the tile's origin and the local one."""
    origin = ir.ThreadIndex(index.span, INT32, "tile_origin", index.dim)
    if isinstance(local, ir.Binary) and local.op == "add" and isinstance(local.right, ir.Const):
        return dataclasses.replace(local, left=ir.Binary(index.span, INT32, "add", origin, local.left))
    return ir.Binary(index.span, INT32, "add", origin, local)


def _indices(block: ir.Block) -> list[ir.ThreadIndex]:
    return [
        n
        for s in ir.walk_statements(block)
        for n in ir.own_nodes(s)
        if isinstance(n, ir.ThreadIndex) and n.kind in ("local", "global")
    ]
