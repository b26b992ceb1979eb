"""Kernels without calls of functions that return constants: IR -> IR, before lowering.

Compile-time parameters make functions that do nothing but return constants or what a thread is given, such as its
index.  Such a result needs no variable, and threads that are loops need not keep it from phase to phase.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping

from vkamp.ir import nodes as ir
from vkamp.ir.dataflow import targets
from vkamp.ir.rewrite import filtered, substituted

_Known = Mapping[str, tuple[ir.Expr, ...]]


def without_constant_functions(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with the constants where it calls functions that do nothing but return them."""
    known: dict[str, tuple[ir.Expr, ...]] = {}
    functions: list[ir.Function] = []
    # A function is behind those that it calls.
    for function in kernel.functions:
        functions.append(_without_calls(function, known))
        constants = _returned_constants(functions[-1])
        if constants is not None:
            known[function.name] = constants
    if not known:
        return kernel
    body = _without_calls(kernel.body, known)
    called = {s.function for f in (*functions, body) for s in ir.walk_statements(f.body) if isinstance(s, ir.Call)}
    kept = tuple(f for f in functions if f.name not in known or f.name in called)
    return dataclasses.replace(kernel, functions=kept, body=body)


def _returned_constants(function: ir.Function) -> tuple[ir.Expr, ...] | None:
    """What a function returns, if it does nothing else, and returns the same whenever a thread calls it."""
    if len(function.body) != 1 or not isinstance(function.body[0], ir.Return):
        return None
    values = function.body[0].values
    return values if values and all(isinstance(v, (ir.Const, *ir.GIVEN)) for v in values) else None


def _without_calls(function: ir.Function, known: _Known) -> ir.Function:
    """The function with constants for the results of such calls."""
    times = Counter(v.name for s in ir.walk_statements(function.body) for v in targets(s))
    values: dict[str, ir.Expr] = {}

    def is_kept(statement: ir.Stmt) -> bool:
        if not isinstance(statement, ir.Call) or statement.function not in known:
            return True
        results = [(r, c) for r, c in zip(statement.results, known[statement.function], strict=True) if r is not None]
        if any(times[result.name] > 1 for result, _ in results):
            return True
        values.update((r.name, dataclasses.replace(c, span=statement.span)) for r, c in results)
        return False

    body = filtered(function.body, is_kept)
    return dataclasses.replace(function, body=tuple(substituted(s, values) for s in body))
