"""Atomic updates that a device lacks, as functions that compare and exchange 32-bit words: IR -> IR."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from vkamp.ir import nodes as ir
from vkamp.ir.algebra import as_int
from vkamp.ir.build import Builder
from vkamp.ir.builtins import BUILTINS
from vkamp.ir.lowered import BitCast, RepeatWhile
from vkamp.ir.rewrite import Names, nowhere
from vkamp.ir.types import FLOAT32, INT32, UINT32

_DOC = "{} of float32: the device lacks this atomic, so {} on the bits."
_LOOP, _EXCHANGE = "a compare-exchange loop", "an exchange"


def update(make: Builder, word: ir.Place, changed: Callable[[ir.Expr], tuple[ir.Block, ir.Expr]]) -> ir.Block:
    """Statements that change a word, until no other thread has changed it meanwhile; ``before`` has its old value.

    ``changed``: what to compute of the old value, and the new one.
    """
    seen, before = (ir.Variable(name, UINT32, "local", make.span) for name in ("seen", "before"))
    block, new = changed(make.load(before))
    exchange = ir.Atomic(make.span, "atomic_compare_exchange", word, (new,), expected=make.local(seen))
    body = (make.set(before, make.load(seen)), *block, exchange)
    again = make.compare("ne", make.load(seen), make.load(before))
    return make.set(seen, make.load(word)), RepeatWhile(make.span, body, again)


def without_float_atomics(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with calls for the atomics of floats that :func:`vkamp.legalize.lower_addresses.lower_places` has left
    on words."""
    functions: dict[tuple[str, str], ir.Function] = {}
    names = Names(f.name for f in kernel.functions)

    def change(node: ir.Node) -> ir.Node:
        if not isinstance(node, ir.Atomic) or node.place.type != UINT32 or [a.type for a in node.args] != [FLOAT32]:
            return node
        place = node.place
        assert isinstance(place, (ir.ArrayElement, ir.BufferElement))
        root = ir.root_of(place)
        key = node.name, root.buffer if isinstance(root, ir.BufferElement) else root.variable.name
        if key not in functions:
            functions[key] = _function(Builder(nowhere(kernel.span)), node.name, place, names.give("_".join(key)))
        return ir.Call(node.span, functions[key].name, (*map(as_int, place.indices), *node.args), (node.result,))

    made = ir.map_kernel(kernel, change)
    return dataclasses.replace(made, functions=(*functions.values(), *made.functions))


def _function(make: Builder, atomic: str, place: ir.ArrayElement | ir.BufferElement, name: str) -> ir.Function:
    """The function that updates an element of the memory at a place; it returns the old value."""
    count = len(place.indices)
    texts = ["index"] if count == 1 else [f"index_{k}" for k in range(count)]
    indices = [ir.Variable(text, INT32, "parameter", make.span) for text in texts]
    value = ir.Variable("value", FLOAT32, "parameter", make.span)
    before, after = ir.Variable("before", UINT32, "local", make.span), ir.Variable("after", FLOAT32, "local", make.span)
    word = dataclasses.replace(place, indices=tuple(map(make.load, indices)))

    def bits(variable: ir.Variable) -> ir.Expr:
        return BitCast(make.span, UINT32, make.load(variable))

    def changed(old: ir.Expr) -> tuple[ir.Block, ir.Expr]:
        operation, operands = atomic.removeprefix("atomic_fetch_"), (BitCast(make.span, FLOAT32, old), make.load(value))
        if operation in BUILTINS:
            new: ir.Expr = ir.Builtin(make.span, FLOAT32, operation, operands)
        else:
            new = make.binary(operation, *operands)
        return (make.set(after, new),), bits(after)

    is_loop = atomic != "atomic_exchange"
    exchange = ir.Atomic(make.span, atomic, word, (bits(value),), before)
    body = update(make, word, changed) if is_loop else (exchange,)
    end = ir.Return(make.span, (BitCast(make.span, FLOAT32, make.load(before)),))
    doc = _DOC.format(atomic, _LOOP if is_loop else _EXCHANGE)
    return make.function(name, doc, (*indices, value), (FLOAT32,), (*body, end))
