"""Array arguments as GLSL can pass them: IR -> IR, before printing.

The IR passes arrays by reference; GLSL copies them in and out.  A copy of an array that only one thread sees is as
good, but a tile_static array must stay the one of its tile, and two parameters that are one array must stay one.  So a
function that is called with such arguments is printed once more per combination, with the variable itself in the
parameter's place.  Functions that nothing calls are left out.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from vkamp.ir import nodes as ir
from vkamp.ir.rewrite import with_variables

#: For each parameter: the variable that replaces it, or ``None``.
_Binding = tuple[ir.Variable | None, ...]


@dataclass
class _Binder:
    kernel: ir.Kernel
    done: dict[tuple[str, _Binding], str]
    functions: list[ir.Function]

    def function(self, name: str, binding: _Binding) -> str:
        """The name of the function with its parameters bound; it is made at first use, after its callees."""
        key = name, binding
        if key not in self.done:
            function = self.kernel.function(name)
            bound = {p.name: v for p, v in zip(function.params, binding, strict=True) if v is not None}
            new_name = "_".join((name, *(v.name for v in bound.values())))
            while any(f.name == new_name for f in (*self.functions, *self.kernel.functions)) and bound:
                new_name += "_"
            params = tuple(p for p in function.params if p.name not in bound)
            body = self.block(with_variables(function.body, bound))
            self.done[key] = new_name
            python_name = "_".join((function.python_name, *(v.name for v in bound.values())))
            self.functions.append(
                dataclasses.replace(function, name=new_name, python_name=python_name, params=params, body=body)
            )
        return self.done[key]

    def block(self, block: ir.Block) -> ir.Block:
        """The block with every call bound."""

        def change(node: ir.Node) -> ir.Node:
            return self.call(node) if isinstance(node, ir.Call) else node

        return ir.map_block(block, change)

    def call(self, call: ir.Call) -> ir.Call:
        """The call of the bound function, without the arguments that it now knows itself."""
        params = self.kernel.function(call.function).params
        first: dict[str, ir.Variable] = {}
        binding: list[ir.Variable | None] = []
        for param, arg in zip(params, call.args, strict=True):
            bound: ir.Variable | None = None
            if isinstance(arg, ir.Local):
                if arg.variable.storage == "tile_static":
                    bound = arg.variable
                else:
                    bound = first.get(arg.variable.name)
                    first.setdefault(arg.variable.name, param)
            binding.append(bound)
        name = self.function(call.function, tuple(binding))
        args = tuple(a for a, b in zip(call.args, binding, strict=True) if b is None)
        return dataclasses.replace(call, function=name, args=args)


def bind_arrays(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with only those functions that it calls, none of which takes a tile_static or an aliased array."""
    binder = _Binder(kernel, {}, [])
    body = dataclasses.replace(kernel.body, body=binder.block(kernel.body.body))
    return dataclasses.replace(kernel, body=body, functions=tuple(binder.functions))
