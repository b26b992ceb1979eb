"""The front end's entry: a request becomes an IR kernel."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from vkamp.errors import Span, diagnostic
from vkamp.front import advice, statements
from vkamp.front.context import Context, Frame, Guard, Module, Slot
from vkamp.front.names import NeededAsConstantError, bind_argument, outside_lookup, wrap
from vkamp.front.signature import Request, local_names, loop_counters
from vkamp.front.source import CodeKey, Source, source_of
from vkamp.front.values import Object, ThreadRef, TupleValue, Value
from vkamp.ir import nodes as ir
from vkamp.lang.device import constant

__all__ = ["Lowered", "Parameters", "lower", "parameters_of"]


@dataclass(frozen=True)
class Lowered:
    """A kernel in IR, and what it was specialised for beside its request.

    ``guards`` are the Python names that must still mean the same; ``constants`` the captured numbers (name -> value)
    that it needed at compile time.
    """

    kernel: ir.Kernel
    guards: tuple[Guard, ...]
    constants: Mapping[str, Any]


def lower(request: Request, captured: Mapping[str, Any]) -> Lowered:
    """Lowers a kernel; ``captured`` holds the values of captured Python numbers, read only where a constant is needed.

    Raises ``CompileError`` or ``UnsupportedFeatureError`` with the place in the source.
    """
    needed: set[str] = set()
    while True:
        module = Module(request.rank, request.tile, "")
        module.constants_needed = needed
        module.constant_values = dict(captured)
        try:
            kernel = _lower(request, module)
        except NeededAsConstantError as again:
            needed = needed | {again.name}
            continue
        except RecursionError:
            raise diagnostic("VKA118", _head(source_of(request.function))) from None
        return Lowered(kernel, tuple(module.guards), {n: captured[n] for n in needed})


def _lower(request: Request, module: Module) -> ir.Kernel:
    function = request.function
    source = source_of(function)
    start = source.span(source.node)
    definition = Span(start.file, start.line, start.column, start.line, start.column + 3, source.name)
    captures = dict(request.captures)
    ctx = Context(
        module, source, outside_lookup(module, function, definition, captures, is_kernel=True), is_kernel=True
    )
    ctx.local_names = set(local_names(function))
    ctx.counters = loop_counters(function)
    ctx.once = _assigned_once(source.node)
    _declare_parameters(ctx, request, source)
    module.stack.append(Frame(function, None, (function,), source.name))
    statements.lower_statements(ctx, source.node.body)
    variables = (*module.prologue_variables, *ctx.variables)
    body = ir.Function("main", source.name, (), (), variables, (*module.prologue, *ctx.block), definition)
    return ir.Kernel(
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
    )


def _constant_text(value: Any) -> str:
    return getattr(value, "__name__", None) or repr(value)


def _assigned_once(node: ast.FunctionDef) -> frozenset[str]:
    """Names that one plain assignment binds and nothing else does."""
    counts: dict[str, int] = {}
    plain: set[str] = set()
    for statement in node.body:
        for item in ast.walk(statement):
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
                counts[item.id] = counts.get(item.id, 0) + 1
            if isinstance(item, ast.Call) and len(item.args) > 1 and isinstance(item.args[1], ast.Name):
                # An atomic may write its second argument, the value that it expects.
                counts[item.args[1].id] = counts.get(item.args[1].id, 0) + _is_exchange(item.func)
            if isinstance(item, ast.Assign) and len(item.targets) == 1 and isinstance(item.targets[0], ast.Name):
                plain.add(item.targets[0].id)
    return frozenset(n for n in plain if counts[n] == 1)


def _is_exchange(callee: ast.expr) -> bool:
    name = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "")
    return name == "atomic_compare_exchange"


def _head(source: Source) -> Span:
    """``def name``."""
    start = source.span(source.node)
    return Span(start.file, start.line, start.column, start.line, start.column + 4 + len(source.name), source.name)


@dataclass(frozen=True)
class Parameters:
    """A kernel's parameters after the index: those that a launch gives by position, and its constants."""

    positional: tuple[str, ...]
    constants: tuple[str, ...]
    #: The parameter of a method's object.
    owner: str | None = None

    def defaults(self, function: FunctionType) -> dict[str, Any]:
        """The default values that the function has now."""
        given = function.__defaults__ or ()
        # Python gives defaults to the last positional parameters; the index may be one of them.
        names = ("", "", *self.positional)[-len(given) :] if given else ()
        return dict(zip(names, given, strict=True)) | (function.__kwdefaults__ or {})


_parameters: dict[tuple[CodeKey, bool], Parameters] = {}


def parameters_of(function: FunctionType, *, is_method: bool = False) -> Parameters:
    """A kernel's parameters, checked: an index, no ``*args``, every keyword-only one annotated ``amp.constant``.

    Those of a method begin with its object.
    """
    key = (CodeKey(function.__code__), is_method)
    found = _parameters.get(key)
    if found is None:
        found = _parameters[key] = _check_parameters(function, is_method=is_method)
    return found


def _check_parameters(function: FunctionType, *, is_method: bool) -> Parameters:
    source = source_of(function)
    arguments = source.node.args
    for rest in (arguments.vararg, arguments.kwarg):
        if rest is not None:
            raise diagnostic("VKA106", source.span(rest), name=source.name, param=rest.arg)
    positional = [*arguments.posonlyargs, *arguments.args]
    if len(positional) < 1 + is_method:
        parameters, which = ("self, idx", "second") if is_method else ("idx", "first")
        raise diagnostic("VKA115", _head(source), name=source.name, parameters=parameters, which=which)
    owner = positional.pop(0).arg if is_method else None
    for arg in arguments.kwonlyargs:
        if not _is_constant(function, arg):
            raise diagnostic("VKA116", source.span(arg), name=arg.arg)
    return Parameters(tuple(a.arg for a in positional[1:]), tuple(a.arg for a in arguments.kwonlyargs), owner)


def _is_constant(function: FunctionType, arg: ast.arg) -> bool:
    """Whether a parameter is annotated as a constant, also where annotations are not evaluated."""
    if function.__annotations__.get(arg.arg) is constant:
        return True
    return arg.annotation is not None and ast.unparse(arg.annotation).strip("'\"").split(".")[-1] == "constant"


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
    for name, kind in request.args:
        span = ctx.span(nodes[name])
        _slot(ctx, name, bind_argument(ctx.module, name, kind, span), span)
    for name, value in request.constants:
        span = ctx.span(nodes[name])
        found = wrap(value, span)
        if isinstance(found, Object) and not isinstance(value, type) and not callable(value):
            raise diagnostic("VKA205", span, name=name, what=advice.host_object(value), advice=advice.CONSTANTS)
        _slot(ctx, name, found, span)


def _slot(ctx: Context, name: str, value: Value, span: Span) -> None:
    ctx.slots[name] = Slot(value, span, "parameter")
    ctx.taken.add(name)
    if isinstance(value, TupleValue):
        ctx.taken.update(f"{name}_{k}" for k in range(len(value.items)))
    assert ctx.assigned is not None
    ctx.assigned.add(name)
