"""Calls of ``@func`` functions: one IR function per set of argument types.

Numbers, indices and structs are passed by value, private arrays by reference; containers, tile_static arrays, the tiled
index, functions and types are known at compile time, and the function is specialised for them.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any, NoReturn

from vkamp.errors import CompileError, Span, is_of_package
from vkamp.front import advice, convert, references, sharing
from vkamp.front.argument_packing import ArgumentPacking, is_weak_float, pack, pack_captured, specialise
from vkamp.front.context import Context, NeedsElementsError, Slot
from vkamp.front.doubles import without_unread
from vkamp.front.guards import default_of
from vkamp.front.library import library_caller
from vkamp.front.module import Frame, Instance, Module
from vkamp.front.names import outside_lookup, wrap
from vkamp.front.overloads import overload_of
from vkamp.front.parameters import head_of
from vkamp.front.returns import returned_arrays, unify_returns
from vkamp.front.scopes import assigned_once, bound_names, with_default
from vkamp.front.signature import counters_of, local_names, loop_counters
from vkamp.front.source import LAMBDA, Source, source_of
from vkamp.front.values import (
    ArrayRef,
    BoundFunction,
    Closure,
    Constant,
    Element,
    Functor,
    NoValue,
    Number,
    Object,
    Returned,
    TupleValue,
    Value,
    is_none,
    place_parts,
    with_place_parts,
    with_root,
)
from vkamp.ir import nodes as ir
from vkamp.ir.types import FLOAT16, FLOAT64, INT32, Scalar, Struct, Vector
from vkamp.lang.device import constant
from vkamp.lang.kernel import DeviceFunction
from vkamp.lang.overloads import own_signature

#: Forms of one function for other arguments, each in the call of the one before.
_MAX_DEPTH = 32


@dataclass(frozen=True, eq=False)
class _Callee:
    """What a call runs: an ``@amp.func``, or a function nested in a kernel with what it captured."""

    identity: Any
    name: str
    #: The Python function whose module gives names.
    outer: FunctionType
    signature: inspect.Signature
    source: Callable[[], Source]
    lookup: Callable[[Span], Callable[[str, Span], Value | None]]
    local_names: Callable[[], frozenset[str]]
    counters: Callable[[], frozenset[str]]
    captured: tuple[tuple[str, Value], ...] = ()
    #: Whether vectors and index objects are passed by value in Python, too, as those of an ``@amp.func`` are.
    by_value: bool = True


def _device_callee(ctx: Context, function: FunctionType, node: ast.Call, *, by_value: bool = True) -> _Callee:
    name = function.__name__
    if name == LAMBDA:
        # The name that it has where it is called.
        last = ctx.text(node.func).rpartition(".")[2]
        name = last if last.isidentifier() else "function"
    return _Callee(
        identity=function,
        name=name,
        by_value=by_value,
        outer=function,
        signature=own_signature(function),
        source=lambda: source_of(function),
        lookup=lambda span: outside_lookup(ctx.module, function, {}, is_kernel=False),
        local_names=lambda: local_names(function),
        counters=lambda: loop_counters(function),
    )


def _local_callee(closure: Closure) -> _Callee:
    code = closure.code
    return _Callee(
        identity=code.node,
        name=code.name,
        outer=code.outer,
        signature=code.signature,
        source=lambda: code.source,
        lookup=lambda _: code.lookup,
        local_names=lambda: bound_names(code.node),
        counters=lambda: counters_of(code.source.node),
        captured=closure.captured,
        by_value=code.by_value,
    )


#: An argument as its value, and as the syntax that messages point at.
_Argument = tuple[Value, ast.expr]


def call_function(
    ctx: Context,
    function: DeviceFunction[..., Any] | FunctionType,
    node: ast.Call,
    owner: _Argument | None = None,
    operands: tuple[_Argument, ...] = (),
) -> Value:
    """A call of a device function, or of a function of plain Python that has a name outside the kernel.

    ``owner`` is the first argument of a method; ``operands`` are arguments that are evaluated already.
    """
    arguments = _evaluate(ctx, node, owner)
    arguments.positional.extend(operands)
    if isinstance(function, FunctionType):
        return _call(ctx, _device_callee(ctx, function, node, by_value=False), node, arguments)
    plain = overload_of(ctx, function, node, arguments)
    assert isinstance(plain, FunctionType)
    return _call(ctx, _device_callee(ctx, plain, node), node, arguments)


def call_closure(ctx: Context, closure: Closure, node: ast.Call, operands: tuple[_Argument, ...] = ()) -> Value:
    """A call of a function nested in a kernel."""
    arguments = _evaluate(ctx, node, None)
    arguments.positional.extend(operands)
    return _call(ctx, _local_callee(closure), node, arguments)


@dataclass(frozen=True)
class CallArguments:
    """The evaluated arguments of a call."""

    positional: list[_Argument]
    named: dict[str, _Argument]


def _evaluate(ctx: Context, node: ast.Call, owner: _Argument | None) -> CallArguments:
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            ctx.refuse(arg)
    if any(k.arg is None for k in node.keywords):
        ctx.fail("VKA101", node, what="`**` unpacking", advice="write the arguments one by one")
    before = len(ctx.block)
    values = ctx.operands(*node.args, *(k.value for k in node.keywords))
    if owner is not None:
        owner = ctx.kept(owner[0], before), owner[1]
    positional = list(zip(values, node.args, strict=False))
    named = {
        k.arg: (v, k.value) for k, v in zip(node.keywords, values[len(node.args) :], strict=True) if k.arg is not None
    }
    return CallArguments([owner, *positional] if owner is not None else positional, named)


def _call(ctx: Context, callee: _Callee, node: ast.Call, arguments: CallArguments) -> Value:
    values, nodes, static = _bind_arguments(ctx, callee, node, arguments)
    shared = _shared_objects([*values.values(), *(v for _, v in callee.captured)])

    def passed(*, by_value: bool, weak: frozenset[Scalar]) -> ArgumentPacking:
        key = [callee.identity, by_value, weak]
        packing = ArgumentPacking(key=key, by_value=by_value, weak=weak, shared=shared)
        for name, value in values.items():
            if name in static:
                specialise(packing, name, value)
            else:
                first = len(packing.args)
                pack(ctx, packing, name, value, nodes[name])
                if callee.by_value and _is_copied(ctx, value):
                    # The function has a new object, in Python, too.
                    packing.objects = {at: found for at, found in packing.objects.items() if at < first}
        for name, value in callee.captured:
            pack_captured(ctx, packing, name, value, node)
        return packing

    def lowered(weak: frozenset[Scalar]) -> tuple[ArgumentPacking, Instance]:
        packing = passed(by_value=True, weak=weak)
        instance = _instance(ctx, callee, packing, node)
        if instance is None:
            packing = passed(by_value=False, weak=weak)
            instance = _instance(ctx, callee, packing, node)
        assert instance is not None
        return packing, instance

    if any(map(is_weak_float, (*values.values(), *(v for _, v in callee.captured)))):
        packing, instance = _lowered_for_weak(ctx, lowered)
    else:
        packing, instance = lowered(frozenset())
    return _emit_call(ctx, instance, packing, node)


def _lowered_for_weak(
    ctx: Context, lowered: Callable[[frozenset[Scalar]], tuple[ArgumentPacking, Instance]]
) -> tuple[ArgumentPacking, Instance]:
    """A function for weak floats: in float32, unless it computes with other floats, whose type they take there."""
    before, at = ctx.module.state(), (list(ctx.block), list(ctx.variables), set(ctx.taken))

    def start_anew() -> None:
        ctx.module.restore(before)
        ctx.block[:], ctx.variables[:], ctx.taken = at[0], at[1], set(at[2])

    weak: frozenset[Scalar] = frozenset()
    try:
        packing, instance = lowered(weak)
    except CompileError as error:
        # A vector takes no number of another type.
        start_anew()
        weak = frozenset((FLOAT16, FLOAT64))
        try:
            packing, instance = lowered(weak)
        except CompileError:
            raise error from None
    met = _other_floats(ctx.module, instance.name)
    if met == weak:
        return packing, instance
    start_anew()
    return lowered(met)


def _other_floats(module: Module, name: str) -> frozenset[Scalar]:
    """The float types but float32 that a function computes with."""
    function = next(f for f in module.functions if f.name == name)
    known = module.other_floats.get(id(function))
    if known is not None:
        return known[1]
    found: set[Scalar] = set()
    for item in ir.walk(*function.body):
        if isinstance(item, ir.Call):
            found |= _other_floats(module, item.function)
        kind = getattr(item, "type", None)
        kind = kind.element if isinstance(kind, Vector) else kind
        if kind in (FLOAT16, FLOAT64):
            found.add(kind)
    module.other_floats[id(function)] = function, frozenset(found)
    return frozenset(found)


def _instance(ctx: Context, callee: _Callee, packing: ArgumentPacking, node: ast.Call) -> Instance | None:
    """The function lowered for a call; ``None`` if it needs the elements themselves that were passed by value."""
    module, key = ctx.module, tuple(packing.key)
    _refuse_recursion(ctx, callee, key, node)
    if key in module.instances:
        return module.instances[key]
    before = module.state()
    instance: Instance | None
    try:
        instance = _lower_function(ctx, callee, packing, node)
        if packing.borrowed and _may_change(ctx, module.functions[-1], packing.borrowed):
            instance = None
    except NeedsElementsError:
        instance = None
    if instance is None:
        module.restore(before)
    module.instances[key] = instance
    return instance


def _is_copied(ctx: Context, value: Value) -> bool:
    """Whether an ``@amp.func`` gets a copy of an argument: of a vector, an index or an extent."""
    return (isinstance(value, TupleValue) and value.kind != "tuple") or ctx.vector_of(value) is not None


def _shared_objects(values: list[Value]) -> frozenset[ir.Variable]:
    """The objects that several arguments are, or are part of."""
    seen: set[ir.Variable] = set()
    twice: set[ir.Variable] = set()
    for value in values:
        for item in references.structs_in(value):
            root = ir.root_of(item.place)
            if isinstance(root, ir.Local) and references.is_object(item.place):
                (twice if root.variable in seen else seen).add(root.variable)
    return frozenset(twice)


def _may_change(ctx: Context, function: ir.Function, elements: list[ir.Place]) -> bool:
    """Whether a function, or others at a barrier in it, may change elements that it received by value."""
    changed = sharing.changed_memory(ctx.module, function)
    for element in elements:
        key = references.memory_of(ctx, element)
        is_private = isinstance(key, ir.Variable) and key.storage != "tile_static"
        if key in changed or (sharing.ARRAYS if is_private else sharing.EVERYTHING) in changed:
            return True
    return False


def _emit_call(ctx: Context, instance: Instance, packing: ArgumentPacking, node: ast.Call) -> Value:
    span = ctx.span(node)
    base = instance.name
    results: list[ir.Variable] = []
    own = len(instance.result_types)
    for number, kind in enumerate(instance.result_types):
        variable = ctx.new_variable(f"{base}_result", kind, span, temporary=True)
        results.append(variable)
        if not isinstance(kind, Struct):
            ctx.constant_locals.add(variable.name)
        else:
            ctx.unnamed.add(variable.name)
            if number in instance.origins:
                ctx.origins[variable.name] = tuple(_outside(p, instance, packing) for p in instance.origins[number])
    later: list[ir.Stmt] = []
    for number in instance.changed:
        place = packing.outer[number]
        if references.is_given(ctx, place):
            _refuse_change(ctx, place, instance, node)
        root = ir.root_of(place)
        if isinstance(root, ir.Local) and root.variable.name in ctx.borrowed:
            raise NeedsElementsError
        if isinstance(place, ir.Local):
            results.append(place.variable)
            ctx.changed_by_calls.add((place.variable.name, span.line, span.column))
            continue
        variable = ctx.new_variable(f"{base}_changed", place.type, span, temporary=True)
        results.append(variable)
        ctx.changed_by_calls.add((variable.name, span.line, span.column))
        later.append(ir.Assign(span, place, ir.Load(span, place.type, ir.Local(span, place.type, variable))))
    arrays = {v: ctx.new_variable(v.name, v.type, span, "private", temporary=True) for v in instance.arrays}
    for variable in arrays.values():
        ctx.emit(ir.Declare(span, variable))
    own_arrays = [ir.Local(span, v.type, v) for v in arrays.values()]
    if results or own_arrays or instance.result is None or not _does_nothing(ctx.module, instance.name):
        ctx.emit(ir.Call(span, instance.name, (*packing.args, *own_arrays), tuple(results)))
    later += _returned_copies(ctx, instance, packing, node)
    for statement in later:
        ctx.emit(statement)
    _note_changed_objects(ctx, instance, packing, span)
    if instance.result is None:
        return NoValue()
    leaves = iter(zip(results[:own], _objects_of_results(ctx, instance, packing, results[:own]), strict=True))
    return _rebuild(instance, _with_arrays(instance.result, arrays, span), leaves, packing, span)


def _with_arrays(shape: Value, arrays: Mapping[ir.Variable, ir.Variable], span: Span) -> Value:
    """The shape of a function's result with the arrays of a call."""
    if isinstance(shape, TupleValue):
        return shape.of([_with_arrays(i, arrays, span) for i in shape.items])
    if isinstance(shape, ArrayRef) and isinstance(shape.place, ir.Local) and shape.place.variable in arrays:
        return ArrayRef(replace(shape.place, variable=arrays[shape.place.variable], span=span))
    return shape


def _does_nothing(module: Module, name: str) -> bool:
    """Whether a function has no statements, such as one that only returns an array argument."""
    function = next(f for f in module.functions if f.name == name)
    return all(isinstance(s, ir.Return) and not s.values for s in function.body)


def _objects_of_results(
    ctx: Context, instance: Instance, packing: ArgumentPacking, results: list[ir.Variable]
) -> Iterator[tuple[ir.Local, ...] | None]:
    """Which of the caller's vectors and index objects each number of a result may be in Python."""
    for number, variable in enumerate(results):
        known = instance.vectors.returned.get(number)
        # A parameter whose argument is a new object is a new object, too.
        given = [packing.objects[position] for position in known or () if position in packing.objects]
        first = instance.vectors.alike.get(number)
        if first is not None:
            ctx.alike_results.add(variable.name)
            given.append((ir.Local(variable.span, variable.type, results[first]),))
        yield tuple(o for objects in given for o in objects) if given or known == () else None


def _note_changed_objects(ctx: Context, instance: Instance, packing: ArgumentPacking, span: Span) -> None:
    """Notes which of this function's vectors and index objects a nested function changes."""
    for position, (name, where) in instance.vectors.changed.items():
        objects = packing.objects.get(position)
        if objects:
            at = instance.name, span.line, span.column
            ctx.changed_objects.setdefault(at, []).append((objects, name, where))


def _refuse_change(ctx: Context, place: ir.Place, instance: Instance, node: ast.Call) -> NoReturn:
    """Raises the error for a function that changes a struct of the launch."""
    name = ir.place_name(place)
    why, help_text = f"`{instance.name}` changes it, and the launch passes it by value", "pass a copy"
    if not isinstance(place, ir.ArrayElement):
        help_text = f"{help_text}: `{name}.copy()`"
    ctx.fail("VKA209", node, text=name, why=why, advice=help_text)


def _outside(place: ir.Place, instance: Instance, packing: ArgumentPacking) -> ir.Place:
    """What a place of a function is at its call."""
    root = ir.root_of(place)
    if isinstance(root, ir.Local) and root.variable.name in instance.roots:
        return with_root(place, packing.outer[instance.roots[root.variable.name]])
    return place


def _rebuild(
    instance: Instance,
    shape: Value,
    leaves: Iterator[tuple[ir.Variable, tuple[ir.Local, ...] | None]],
    packing: ArgumentPacking,
    span: Span,
) -> Value:
    """The result in the shape that the function returns, over the call's result variables."""
    if isinstance(shape, TupleValue):
        return shape.of([_rebuild(instance, i, leaves, packing, span) for i in shape.items])
    if isinstance(shape, ArrayRef):
        return replace(shape, place=_outside(shape.place, instance, packing))
    if isinstance(shape, Returned):
        parts = [ir.Load(span, INT32, ir.Local(span, INT32, next(leaves)[0])) for _ in place_parts(shape.place)]
        return Element(_outside(with_place_parts(shape.place, iter(parts)), instance, packing))
    variable, objects = next(leaves)
    place = ir.Local(span, variable.type, variable)
    if isinstance(variable.type, Struct):
        return Element(place)
    return Number(ir.Load(span, variable.type, place), objects=objects)


def _refuse_recursion(ctx: Context, callee: _Callee, key: tuple[Any, ...], node: ast.Call) -> None:
    """A function in its own call, for arguments of the same types: for others it is another function of the device."""
    frames = ctx.module.stack
    if not any(frame.identity == key for frame in frames):
        depth = sum(frame.identity[0] is callee.identity for frame in frames)
        if depth < _MAX_DEPTH:
            return
        frames = frames[:4]
    chain = " -> ".join([*(frame.name for frame in frames), callee.name])
    ctx.fail("VKA204", node, name=callee.name, chain=chain)


def _bind_arguments(
    ctx: Context, callee: _Callee, node: ast.Call, arguments: CallArguments
) -> tuple[dict[str, Value], dict[str, ast.expr], set[str]]:
    """Python's own binding of a call's arguments to the parameters, defaults filled in.

    The set names the parameters that are compile-time constants.
    """
    signature = callee.signature
    for param in signature.parameters.values():
        if param.kind is param.VAR_KEYWORD:
            ctx.fail("VKA106", node, name=callee.name, param=param.name)
    positional, named = arguments.positional, arguments.named
    try:
        bound = signature.bind(*positional, **named)
    except TypeError:
        reason = _misfit(signature, len(positional), list(named))
        where, name, advised = ctx.span(node), callee.name, f"call it as `{callee.name}{_written(signature)}`"
        if is_of_package(where.file) and not is_of_package(callee.outer.__code__.co_filename):
            # The program's function is what does not fit.
            where, count = head_of(callee.source()), len(positional) + len(named)
            own = callee.outer.__name__
            own = "lambda" if own == LAMBDA else own
            name = f"{own}`, which `{library_caller() or ctx.source.name}` calls as `{ctx.text(node)}"
            advised = f"define it with {count} parameter{'s' * (count != 1)}"
        ctx.fail("VKA222", where, name=name, reason=reason, advice=advised)
    out: dict[str, Value] = {}
    nodes: dict[str, ast.expr] = {}
    static: set[str] = set()
    for name, param in signature.parameters.items():
        if param.kind is param.VAR_POSITIONAL:
            out[name], nodes[name] = TupleValue(tuple(v for v, _ in bound.arguments.get(name, ()))), node
        elif name in bound.arguments:
            out[name], nodes[name] = bound.arguments[name]
        else:
            out[name] = _default(ctx, callee, name, node)
            nodes[name] = node
        if param.kind is param.KEYWORD_ONLY and _is_constant(param.annotation):
            out[name] = _compile_time(ctx, out[name], nodes[name], name)
            if not isinstance(out[name], (Closure, BoundFunction, Functor)):
                static.add(name)
    return out, nodes, static


def _default(ctx: Context, callee: _Callee, name: str, node: ast.Call) -> Value:
    """The value of a parameter that a call leaves out."""
    default = callee.signature.parameters[name].default
    if isinstance(default, Value):
        return default
    if default_of(callee.outer, name) is default:
        ctx.module.guard(name, ("default", callee.outer), default)
    return wrap(default, ctx.span(node))


def _written(signature: inspect.Signature) -> str:
    """Parameters as they are written, without types and values."""
    bare = [
        p.replace(annotation=p.empty, default=p.empty if p.default is p.empty else ...)
        for p in signature.parameters.values()
    ]
    return str(inspect.Signature(bare)).replace("=Ellipsis", "=...")


def _misfit(signature: inspect.Signature, positional: int, named: list[str]) -> str:
    """Why arguments do not fit parameters, in words that no version of Python changes."""
    known = signature.parameters
    by_position = [n for n, p in known.items() if p.kind is not p.KEYWORD_ONLY]
    for name in named:
        if name not in known:
            close = advice.near(name, known)
            return f"there is no `{name}`" + (f", did you mean `{close}`?" if close else "")
        if name in by_position[:positional]:
            return f"`{name}` is given twice"
    if positional > len(by_position):
        return f"{positional} by position, and it takes {len(by_position)}"
    missing = [n for n in known if n not in by_position[:positional] and n not in named]
    return f"`{next(n for n in missing if known[n].default is inspect.Parameter.empty)}` is missing"


def _is_constant(annotation: Any) -> bool:
    return annotation is constant or (isinstance(annotation, str) and annotation.split(".")[-1] == "constant")


def _compile_time(ctx: Context, value: Value, node: ast.expr, name: str) -> Value:
    value = convert.as_constant(ctx, value)
    if isinstance(value, (Constant, Object)):
        return value
    if isinstance(value, Number) and isinstance(value.expr, ir.Const):
        return value
    if isinstance(value, TupleValue):
        return value.of(_compile_time(ctx, i, node, name) for i in value.items)
    if isinstance(value, (Closure, BoundFunction, Functor)):
        # What it captured is passed by value.
        return value
    convert.no_constant(ctx, value, node, f"the constant parameter `{name}`", "a value")


def _returned_copies(ctx: Context, instance: Instance, packing: ArgumentPacking, node: ast.Call) -> list[ir.Stmt]:
    """What stores the copies of arrays back into their objects, if the function may have changed them."""
    if not packing.after:
        return []
    function = next(f for f in ctx.module.functions if f.name == instance.name)
    if not sharing.changed_memory(ctx.module, function) & {sharing.ARRAYS, sharing.EVERYTHING}:
        return []
    for back in packing.after.values():
        if references.is_given(ctx, back[0].place):
            _refuse_change(ctx, back[0].place, instance, node)
    return [statement for back in packing.after.values() for statement in back]


def _lower_function(ctx: Context, function: _Callee, packing: ArgumentPacking, node: ast.Call) -> Instance:
    source = function.source()
    span = ctx.span(node)
    callee = Context(ctx.module, source, function.lookup(span), span, is_kernel=False)
    callee.local_names = set(function.local_names())
    callee.counters = function.counters()
    callee.once = assigned_once(source.node)
    references.note_bindings(callee, source.node)
    definition = source.definition
    captured = {n for n, _ in function.captured}
    for name, bind in packing.bind:
        value = bind(callee, name, definition)
        kind = "variable" if isinstance(value, (Element, TupleValue)) else "alias"
        callee.bind(name, Slot(value, definition, kind))
        if isinstance(value, Element) and isinstance(value.place, ir.Local):
            variable = value.place.variable
            if name in captured and not references.is_struct(value):
                callee.fixed.add(variable.name)
    # What is not None does not come to `if name is None:`.
    callee.rebound -= {n for n in with_default(source.node) if not is_none(callee.slots[n].value)}
    params = tuple(callee.parameters)
    references.own_parameters(callee, definition)
    ctx.module.stack.append(Frame(function.outer, span, tuple(packing.key), function.name))
    name = ctx.module.unique_function(_plain_name(function))
    try:
        callee.statements(source.node.body)
        returned = unify_returns(callee, source, tuple(callee.block))
        changed, body = _with_changes(callee, source, returned.body)
    finally:
        ctx.module.stack.pop()
    body = without_unread(callee, body)
    types = (*returned.types, *(callee.type_of(p) for p in changed))
    arrays = tuple(returned_arrays(returned.result))
    variables = tuple(v for v in callee.variables if v not in arrays)
    body = _with_outer_arrays(body, arrays)
    params += tuple(_outer_array(v) for v in arrays)
    lowered = ir.Function(name, function.name, params, types, variables, body, definition)
    ctx.module.functions.append(lowered)
    effects = sharing.check(callee, body, returned.starts, by_value=function.by_value)
    origins = _with_origins(callee, returned.origins, effects.origins)
    numbers = tuple(callee.roots[p] for p in changed)
    roots = dict(callee.roots)
    return Instance(name, returned.result, returned.types, numbers, roots, origins, effects.vectors, arrays)


def _outer_array(variable: ir.Variable) -> ir.Variable:
    return replace(variable, storage="parameter")


def _with_outer_arrays(body: ir.Block, arrays: tuple[ir.Variable, ...]) -> ir.Block:
    """The body of a function with arrays that its caller declares."""
    if not arrays:
        return body

    def undeclared(block: ir.Block) -> ir.Block:
        kept = (s for s in block if not (isinstance(s, ir.Declare) and s.variable in arrays))
        return tuple(ir.map_blocks(s, undeclared) for s in kept)

    def change(node: ir.Node) -> ir.Node:
        if isinstance(node, ir.Local) and node.variable in arrays:
            return replace(node, variable=_outer_array(node.variable))
        return node

    return ir.map_block(undeclared(body), change)


def _with_origins(
    callee: Context, known: Mapping[int, tuple[ir.Place, ...]], found: Mapping[int, tuple[ir.Place, ...]]
) -> dict[int, tuple[ir.Place, ...]]:
    """What the structs that a function returns may be, if they are not elements."""
    origins = {n: tuple(dict.fromkeys((*known.get(n, ()), *found.get(n, ())))) for n in {*known, *found}}
    for places in origins.values():
        roots = [ir.root_of(p) for p in places]
        if places and all(isinstance(r, ir.Local) and r.variable.name in callee.borrowed for r in roots):
            raise NeedsElementsError
    return {n: places for n, places in origins.items() if places}


def _with_changes(callee: Context, source: Source, body: ir.Block) -> tuple[list[str], ir.Block]:
    """The objects of the caller that a function changes, and its body with their values as its last results."""
    objects = {p.name: p for p in callee.parameters if isinstance(p.type, Struct)}
    changed: list[str] = []
    for name in sharing.changed_locals(body):
        if name in callee.borrowed:
            raise NeedsElementsError
        if name in callee.roots and name in objects:
            changed.append(name)
    changed.sort(key=callee.roots.__getitem__)
    if not changed:
        return changed, body

    def outputs(span: Span) -> tuple[ir.Expr, ...]:
        return tuple(ir.Load(span, objects[n].type, ir.Local(span, objects[n].type, objects[n])) for n in changed)

    def change(node: ir.Node) -> ir.Node:
        return ir.Return(node.span, (*node.values, *outputs(node.span))) if isinstance(node, ir.Return) else node

    body = ir.map_block(body, change)
    if callee.assigned is not None:
        end = callee.span(source.node.body[-1])
        body = (*body, ir.Return(end, outputs(end)))
    return changed, body


def _plain_name(function: _Callee) -> str:
    """A function's name in the shader: an operator's or ``__call__``'s begins with its class."""
    if not function.name.startswith("__"):
        return function.name
    *_, cls, _ = ("", *function.outer.__qualname__.split("."))
    return f"{cls}_{function.name.strip('_')}"
