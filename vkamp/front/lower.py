"""The front end's entry: a request becomes an IR kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import vkamp.front.calls
import vkamp.front.statements  # noqa: F401 -- both register the handlers of syntax
from vkamp.errors import CompileError, Span, UnsupportedFeatureError, diagnostic
from vkamp.front import advice, references, sharing, varying
from vkamp.front.array_vectors import without_array_vectors
from vkamp.front.choices import with_tables
from vkamp.front.context import Context, Slot
from vkamp.front.convert import NeededAsConstantError
from vkamp.front.counters import CopiesNeededError
from vkamp.front.doubles import without_unread
from vkamp.front.elements import with_reads
from vkamp.front.guards import Guard, different
from vkamp.front.module import Frame, Module
from vkamp.front.names import bind_argument, outside_lookup, wrap
from vkamp.front.parameters import head_of
from vkamp.front.scopes import assigned_once
from vkamp.front.signature import (
    ARG_TYPES,
    ConstantType,
    ElementType,
    ObjectType,
    OperatorType,
    Request,
    StructType,
    TupleType,
    local_names,
    loop_counters,
)
from vkamp.front.source import Source, source_of
from vkamp.front.tile_scopes import without_scopes
from vkamp.front.values import Object, ThreadRef, TupleValue, Value
from vkamp.ir import nodes as ir
from vkamp.ir.types import Struct
from vkamp.lang.target import ASSUMED, SUBGROUP_SIZE


@dataclass(frozen=True)
class Lowered:
    """A kernel in IR, and what it was specialised for beside its request.

    ``guards`` are the Python names that must still mean the same; ``constants`` the captured numbers and the traits of
    the device (name -> value) that it needed at compile time.
    """

    kernel: ir.Kernel
    guards: tuple[Guard, ...]
    constants: Mapping[str, Any]


def lower(request: Request, captured: Mapping[str, Any]) -> Lowered:
    """Lowers a kernel; ``captured`` holds the values of captured Python numbers, and the traits of the device (without
    them :data:`vkamp.lang.target.ASSUMED` holds), read only where a constant is needed.

    Raises ``CompileError`` or ``UnsupportedFeatureError`` with the place in the source.
    """
    needed: set[str] = set()
    copied: frozenset[Span] = frozenset()
    while True:
        module = Module(request.rank, request.tile, "", request.subgroup, copied_loops=copied)
        module.constants_needed = needed
        module.constant_values = {**ASSUMED, **captured}
        try:
            kernel = _lower(request, module)
        except NeededAsConstantError as again:
            copied, needed = module.copied_loops, needed | {again.name}
            continue
        except CopiesNeededError as again:
            copied = module.copied_loops | again.loops
            continue
        except (CompileError, UnsupportedFeatureError):
            if not module.kept_loops:
                raise
            # With copies of all bodies the kernel may be right, or have a plainer error.
            copied = module.copied_loops | module.kept_loops
            continue
        except RecursionError:
            raise diagnostic("VKA118", head_of(source_of(request.function))) from None
        return Lowered(kernel, different(module.guards.values()), {n: module.constant_values[n] for n in needed})


def _lower(request: Request, module: Module) -> ir.Kernel:
    function = request.function
    source = source_of(function)
    start = source.span(source.node)
    definition = Span(start.file, start.line, start.column, start.line, start.column + 3, source.name)
    captures = dict(request.captures)
    paths = varying.paths(function)
    module.handed_over = {key: (path, captures[path]) for key, path in paths.items() if path in captures}
    ctx = Context(module, source, outside_lookup(module, function, captures, is_kernel=True), is_kernel=True)
    ctx.local_names = set(local_names(function))
    ctx.counters = loop_counters(function)
    ctx.once = assigned_once(source.node)
    references.note_bindings(ctx, source.node)
    # A captured struct becomes a variable of its name when the kernel first reads it.
    by_value = ((name, kind.type) for name, kind in captures.items() if isinstance(kind, (StructType, ElementType)))
    ctx.taken.update(name for name, kind in by_value if isinstance(kind, Struct))
    _declare_parameters(ctx, request, source)
    module.stack.append(Frame(function, None, (function,), source.name))
    ctx.statements(source.node.body)
    sharing.check(ctx, tuple(ctx.block))
    block = without_unread(ctx, tuple(ctx.block))
    variables = (*module.prologue_variables, *ctx.variables)
    body = ir.Function("main", source.name, (), (), variables, (*module.prologue, *block), definition)
    kernel = ir.Kernel(
        name=source.name,
        rank=request.rank,
        tile=request.tile,
        index_name=module.index_name,
        buffers=tuple(module.buffers.values()),
        scalars=tuple(module.scalars.values()),
        tile_statics=tuple(module.tile_statics),
        functions=tuple(module.functions),
        body=body,
        precise=request.precise,
        constants=tuple(
            [(n, _constant_text(v)) for n, v in request.constants]
            + [(n, _constant_text(module.constant_values[n])) for n in sorted(module.constants_needed)]
        ),
        span=definition,
        subgroup_size=_subgroup_size(module),
        full_subgroups=request.subgroup is not None,
    )
    return with_tables(without_array_vectors(without_scopes(with_reads(kernel, module.elements))), module)


def _subgroup_size(module: Module) -> int | None:
    """The lanes of a subgroup, if the kernel depends on them."""
    if module.subgroup is not None:
        return module.subgroup
    return int(module.constant_values[SUBGROUP_SIZE]) if SUBGROUP_SIZE in module.constants_needed else None


def _constant_text(value: Any) -> str:
    if isinstance(value, TupleType):
        return f"({', '.join(map(_constant_text, value.items))}{',' * (len(value.items) == 1)})"
    if isinstance(value, OperatorType):
        value = value.function
    elif isinstance(value, (ConstantType, ObjectType)):
        value = value.value
    return getattr(value, "__name__", None) or repr(value)


def _declare_parameters(ctx: Context, request: Request, source: Source) -> None:
    arguments = source.node.args
    all_args = [*arguments.posonlyargs, *arguments.args]
    nodes = {a.arg: a for a in (*all_args, *arguments.kwonlyargs)}
    if request.owner is not None:
        owner = all_args.pop(0)
        _slot(ctx, owner.arg, bind_argument(ctx.module, owner.arg, request.owner, ctx.span(owner)), ctx.span(owner))
    first = all_args[0]
    ctx.module.index_name = first.arg
    index: Value = ThreadRef()
    _slot(ctx, first.arg, index, ctx.span(first))
    rest: list[Value] = []
    for name, kind in request.args:
        span = ctx.span(nodes.get(name) or arguments.vararg or first)
        value = bind_argument(ctx.module, name, kind, span)
        if name in nodes:
            _slot(ctx, name, value, span)
        else:
            rest.append(value)
    if arguments.vararg is not None:
        _slot(ctx, arguments.vararg.arg, TupleValue(tuple(rest)), ctx.span(arguments.vararg))
    for name, value in request.constants:
        span = ctx.span(nodes[name])
        found = bind_argument(ctx.module, name, value, span) if isinstance(value, ARG_TYPES) else wrap(value, span)
        known = isinstance(value, (str, type, np.dtype)) or value is None or callable(value)
        if isinstance(found, Object) and not known:
            raise diagnostic("VKA205", span, name=name, what=advice.host_object(value), advice=advice.CONSTANTS)
        _slot(ctx, name, found, span)


def _slot(ctx: Context, name: str, value: Value, span: Span) -> None:
    ctx.slots[name] = Slot(value, span, "parameter")
    ctx.taken.add(name)
    if isinstance(value, TupleValue):
        ctx.taken.update(f"{name}_{k}" for k in range(len(value.items)))
    assert ctx.assigned is not None
    ctx.assigned.add(name)
