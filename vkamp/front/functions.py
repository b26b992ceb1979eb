"""Calls of ``@func`` functions: one IR function per set of argument types.

Numbers, indices and structs go by value, private arrays by reference; containers, tile_static arrays, the tiled
index, functions and types are known at compile time, and the function is specialised for them.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

from vkamp.errors import CompileError, Note, Span
from vkamp.front import advice, convert, references, sharing, views
from vkamp.front.context import Context, Frame, Instance, Module, NeedsElementsError, Slot
from vkamp.front.names import outside_lookup, wrap
from vkamp.front.overloads import overload_of
from vkamp.front.scopes import assigned_once, bound_names
from vkamp.front.signature import counters_of, local_names, loop_counters
from vkamp.front.source import Source, source_of
from vkamp.front.values import (
    ArrayRef,
    BarrierRef,
    BoundFunction,
    BufferRef,
    Closure,
    Constant,
    Element,
    Functor,
    Nothing,
    Number,
    Object,
    Returned,
    ThreadRef,
    TupleValue,
    Value,
    ViewRef,
    objects_of,
    place_parts,
    view_parts,
    with_place_parts,
    with_view_parts,
)
from vkamp.ir import nodes as ir
from vkamp.ir.types import BOOL, FLOAT16, FLOAT32, FLOAT64, INT32, Array, Scalar, Struct, Type, Vector, common_type
from vkamp.lang.device import constant
from vkamp.lang.kernel import DeviceFunction

#: Forms of one function for other arguments, each in the call of the one before.
_MAX_DEPTH = 32

_lower_body: Callable[[Context, list[ast.stmt]], None] | None = None


def set_body_lowering(lower: Callable[[Context, list[ast.stmt]], None]) -> None:
    """The module of statements registers itself: calls are expressions, and bodies hold statements."""
    global _lower_body
    _lower_body = lower


def lower_body(ctx: Context, body: list[ast.stmt]) -> None:
    """Lowers a function's statements into the context's block."""
    assert _lower_body is not None
    _lower_body(ctx, body)


@dataclass
class _Passing:
    """How one call hands its arguments over: the identity of the instance, and the run-time arguments."""

    key: list[Any] = field(default_factory=list)
    args: list[ir.Expr | ir.Place] = field(default_factory=list)
    #: For each parameter, a function that declares it in the callee.
    bind: list[tuple[str, Callable[[Context, str, Span], Value]]] = field(default_factory=list)
    #: Structs and private arrays of the caller that parameters stand for, and which of them the call may change.
    outer: list[ir.Place] = field(default_factory=list)
    #: The float types but float32 that the function computes with: floats that are weak stay so, then.
    weak: frozenset[Scalar] = frozenset()
    #: Elements go by value, unless the function needs the elements themselves.
    by_value: bool = True
    #: The elements that went by value.
    borrowed: list[ir.Place] = field(default_factory=list)
    #: Objects of which several arguments are part: each goes over once.
    shared: frozenset[ir.Variable] = frozenset()
    #: The vectors and index objects that arguments are in Python, by the argument's number.
    objects: dict[int, tuple[ir.Local, ...]] = field(default_factory=dict)
    #: Arrays of objects, of which copies went: by the copies, what stores them back.
    after: dict[ir.Variable, list[ir.Assign]] = field(default_factory=dict)

    def inner(self) -> _Passing:
        """The same call, with parameters that another value binds."""
        return dataclasses.replace(self, bind=[])


@dataclass(frozen=True, eq=False)
class _Callee:
    """What a call runs: an ``@amp.func``, or a function that stands in a kernel with what it captured."""

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
    #: Whether vectors and index objects go by value in Python, too, as those of an ``@amp.func`` do.
    by_value: bool = True


def _device_callee(ctx: Context, function: FunctionType, name: str) -> _Callee:
    return _Callee(
        identity=function,
        name=name,
        outer=function,
        signature=inspect.signature(function),
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
        counters=lambda: counters_of(code.source.node.body),
        captured=closure.captured,
        by_value=not isinstance(code.node, ast.Lambda) and bool(code.node.decorator_list),
    )


#: An argument that stands for itself: its value, and the syntax that messages point at.
_Argument = tuple[Value, ast.expr]


def call_function(
    ctx: Context,
    function: DeviceFunction[..., Any],
    node: ast.Call,
    owner: _Argument | None = None,
    operands: tuple[_Argument, ...] = (),
) -> Value:
    """A call of a device function; gives its result.

    ``owner`` is the first argument of a method; ``operands`` are arguments that are evaluated already.
    """
    arguments = _evaluate(ctx, node, owner)
    arguments.positional.extend(operands)
    plain = overload_of(ctx, function, node, arguments)
    assert isinstance(plain, FunctionType)
    return _call(ctx, _device_callee(ctx, plain, function.__name__), node, arguments)


def call_closure(ctx: Context, closure: Closure, node: ast.Call) -> Value:
    """A call of a function that stands in a kernel."""
    return _call(ctx, _local_callee(closure), node, _evaluate(ctx, node, None))


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
    if owner is not None and len(ctx.block) > before:
        owner = ctx.keep(owner[0], before)[0], owner[1]
    positional = list(zip(values, node.args, strict=False))
    named = {
        k.arg: (v, k.value) for k, v in zip(node.keywords, values[len(node.args) :], strict=True) if k.arg is not None
    }
    return CallArguments([owner, *positional] if owner is not None else positional, named)


def _call(ctx: Context, callee: _Callee, node: ast.Call, arguments: CallArguments) -> Value:
    values, nodes, static = _bind_arguments(ctx, callee, node, arguments)
    shared = _shared_objects([*values.values(), *(v for _, v in callee.captured)])

    def passed(*, by_value: bool, weak: frozenset[Scalar]) -> _Passing:
        key = [callee.identity, by_value, weak]
        passing = _Passing(key=key, by_value=by_value, weak=weak, shared=shared)
        for name, value in values.items():
            if name in static:
                _specialise(passing, name, value)
            else:
                _pass(ctx, passing, name, value, nodes[name])
        for name, value in callee.captured:
            _pass_captured(ctx, passing, name, value, node)
        return passing

    def lowered(weak: frozenset[Scalar]) -> tuple[_Passing, Instance]:
        passing = passed(by_value=True, weak=weak)
        instance = _instance(ctx, callee, passing, node)
        if instance is None:
            passing = passed(by_value=False, weak=weak)
            instance = _instance(ctx, callee, passing, node)
        assert instance is not None
        return passing, instance

    if any(map(_is_weak_float, (*values.values(), *(v for _, v in callee.captured)))):
        passing, instance = _lowered_for_weak(ctx, lowered)
    else:
        passing, instance = lowered(frozenset())
    return _emit_call(ctx, instance, passing, node)


def _lowered_for_weak(
    ctx: Context, lowered: Callable[[frozenset[Scalar]], tuple[_Passing, Instance]]
) -> tuple[_Passing, Instance]:
    """A function for weak floats: in float32, unless it computes with other floats, whose type they take there."""
    before, at = ctx.module.state(), (list(ctx.block), list(ctx.variables), set(ctx.taken))

    def start_anew() -> None:
        ctx.module.restore(before)
        ctx.block[:], ctx.variables[:], ctx.taken = at[0], at[1], set(at[2])

    weak: frozenset[Scalar] = frozenset()
    try:
        passing, instance = lowered(weak)
    except CompileError as error:
        # A vector takes no number of another type.
        start_anew()
        weak = frozenset((FLOAT16, FLOAT64))
        try:
            passing, instance = lowered(weak)
        except CompileError:
            raise error from None
    met = _other_floats(ctx.module, instance.name)
    if met == weak:
        return passing, instance
    start_anew()
    return lowered(met)


def _is_weak_float(value: Value) -> bool:
    """Whether an argument is, or has in it, a float that takes the type of what it meets."""
    if isinstance(value, TupleValue):
        return any(map(_is_weak_float, value.items))
    if isinstance(value, Number):
        return value.weak and value.expr.type == FLOAT32
    return isinstance(value, Constant) and isinstance(value.value, float)


def _other_floats(module: Module, name: str) -> frozenset[Scalar]:
    """The float types but float32 that a function computes with."""
    found: set[Scalar] = set()
    function = next(f for f in module.functions if f.name == name)
    for item in ir.walk(*function.body):
        if isinstance(item, ir.Call):
            found |= _other_floats(module, item.function)
        kind = getattr(item, "type", None)
        kind = kind.element if isinstance(kind, Vector) else kind
        if kind in (FLOAT16, FLOAT64):
            found.add(kind)
    return frozenset(found)


def _instance(ctx: Context, callee: _Callee, passing: _Passing, node: ast.Call) -> Instance | None:
    """The function lowered for a call; ``None`` if it needs the elements themselves that went by value."""
    module, key = ctx.module, tuple(passing.key)
    _refuse_recursion(ctx, callee, key, node)
    if key in module.instances:
        return module.instances[key]
    before = module.state()
    instance: Instance | None
    try:
        instance = _lower_function(ctx, callee, passing, node)
        if passing.borrowed and _may_change(ctx, module.functions[-1], passing.borrowed):
            instance = None
    except NeedsElementsError:
        instance = None
    if instance is None:
        module.restore(before)
    module.instances[key] = instance
    return instance


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
    """Whether a function, or others at a barrier in it, may change elements that it got by value."""
    changed = sharing.changed_memory(ctx.module, function)
    for element in elements:
        key = references.memory_of(ctx, element)
        is_private = isinstance(key, ir.Variable) and key.storage != "tile_static"
        if key in changed or (sharing.ARRAYS if is_private else sharing.EVERYTHING) in changed:
            return True
    return False


def _emit_call(ctx: Context, instance: Instance, passing: _Passing, node: ast.Call) -> Value:
    span = ctx.span(node)
    base = instance.name
    results: list[ir.Variable] = []
    own = len(instance.result_types)
    for number, kind in enumerate(instance.result_types):
        variable = ctx.new_variable(f"{base}_result", kind, span, temporary=True)
        results.append(variable)
        if isinstance(kind, Struct):
            ctx.unnamed.add(variable.name)
            if number in instance.origins:
                ctx.origins[variable.name] = tuple(_outside(p, instance, passing) for p in instance.origins[number])
    later: list[ir.Stmt] = []
    for number in instance.changed:
        place = passing.outer[number]
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
    ctx.emit(ir.Call(span, instance.name, tuple(passing.args), tuple(results)))
    later += _returned_copies(ctx, instance, passing, node)
    for statement in later:
        ctx.emit(statement)
    _note_changed_objects(ctx, instance, passing, span)
    if instance.result is None:
        return Nothing()
    leaves = iter(zip(results[:own], _objects_of_results(ctx, instance, passing, results[:own]), strict=True))
    return _rebuild(instance, instance.result, leaves, passing, span)


def _objects_of_results(
    ctx: Context, instance: Instance, passing: _Passing, results: list[ir.Variable]
) -> Iterator[tuple[ir.Local, ...] | None]:
    """Which of the caller's vectors and index objects each number of a result may be in Python."""
    for number, variable in enumerate(results):
        known = instance.vectors.returned.get(number)
        # A parameter whose argument is a new object is a new object, too.
        given = [passing.objects[position] for position in known or () if position in passing.objects]
        first = instance.vectors.alike.get(number)
        if first is not None:
            ctx.alike_results.add(variable.name)
            given.append((ir.Local(variable.span, variable.type, results[first]),))
        yield tuple(o for objects in given for o in objects) if given or known == () else None


def _note_changed_objects(ctx: Context, instance: Instance, passing: _Passing, span: Span) -> None:
    """Notes which of this function's vectors and index objects a nested function changes."""
    for position, (name, where) in instance.vectors.changed.items():
        objects = passing.objects.get(position)
        if objects:
            at = instance.name, span.line, span.column
            ctx.changed_objects.setdefault(at, []).append((objects, name, where))


def _refuse_change(ctx: Context, place: ir.Place, instance: Instance, node: ast.Call) -> NoReturn:
    """Raises the error for a function that changes a struct of the launch."""
    name = ir.place_name(place)
    why, help_text = f"`{instance.name}` changes it, and the launch passes it by value", "hand over a copy"
    if not isinstance(place, ir.ArrayElement):
        help_text = f"{help_text}: `{name}.copy()`"
    ctx.fail("VKA209", node, text=name, why=why, advice=help_text)


def _outside(place: ir.Place, instance: Instance, passing: _Passing) -> ir.Place:
    """What a place of a function is at its call."""
    root = ir.root_of(place)
    if isinstance(root, ir.Local) and root.variable.name in instance.roots:
        return references.with_root(place, passing.outer[instance.roots[root.variable.name]])
    return place


def _rebuild(
    instance: Instance,
    shape: Value,
    leaves: Iterator[tuple[ir.Variable, tuple[ir.Local, ...] | None]],
    passing: _Passing,
    span: Span,
) -> Value:
    """The result in the shape that the function returns, over the call's result variables."""
    if isinstance(shape, TupleValue):
        items = tuple(_rebuild(instance, i, leaves, passing, span) for i in shape.items)
        return TupleValue(items, shape.kind)
    if isinstance(shape, Returned):
        parts = [ir.Load(span, INT32, ir.Local(span, INT32, next(leaves)[0])) for _ in place_parts(shape.place)]
        return Element(_outside(with_place_parts(shape.place, iter(parts)), instance, passing))
    variable, objects = next(leaves)
    place = ir.Local(span, variable.type, variable)
    if isinstance(variable.type, Struct):
        return Element(place)
    return Number(ir.Load(span, variable.type, place), objects=objects)


# -- arguments -----------------------------------------------------------------------------------------------------


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
        if param.kind in (param.VAR_POSITIONAL, param.VAR_KEYWORD):
            ctx.fail("VKA106", node, name=callee.name, param=param.name)
    positional, named = arguments.positional, arguments.named
    try:
        bound = signature.bind(*positional, **named)
    except TypeError:
        reason = _misfit(signature, len(positional), list(named))
        definition = f"{callee.name}{_written(signature)}"
        ctx.fail("VKA222", node, name=callee.name, reason=reason, definition=definition)
    out: dict[str, Value] = {}
    nodes: dict[str, ast.expr] = {}
    static: set[str] = set()
    for name, param in signature.parameters.items():
        if name in bound.arguments:
            out[name], nodes[name] = bound.arguments[name]
        else:
            default = param.default
            out[name] = default if isinstance(default, Value) else wrap(default, ctx.span(node))
            nodes[name] = node
        if param.kind is param.KEYWORD_ONLY and _is_constant(param.annotation):
            out[name] = _compile_time(ctx, out[name], nodes[name], name)
            static.add(name)
    return out, nodes, static


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
    from vkamp.front.names import as_constant

    value = as_constant(ctx, value)
    if isinstance(value, (Constant, Object)):
        return value
    if isinstance(value, Number) and isinstance(value.expr, ir.Const):
        return value
    convert.no_constant(ctx, value, node, f"the constant parameter `{name}`", "a value")


def _specialise(passing: _Passing, name: str, value: Value) -> None:
    """Makes a compile-time value part of the instance's identity."""
    passing.key.append(_identity(value))
    passing.bind.append((name, lambda c, n, s, v=value: v))  # type: ignore[misc]


def _identity(value: Value) -> Any:
    """A key that tells 1, 1.0 and True apart."""
    if isinstance(value, Constant):
        return (type(value.value), value.value)
    if isinstance(value, Number) and isinstance(value.expr, ir.Const):
        return (value.expr.type, value.expr.value)
    if isinstance(value, Object):
        return id(value.value)
    return type(value).__name__


def _pass(ctx: Context, passing: _Passing, name: str, value: Value, node: ast.expr) -> None:
    """Adds one argument: to the run-time arguments, or to what the function is specialised for."""
    if isinstance(value, (ThreadRef, BarrierRef, Object)):
        _specialise(passing, name, value)
    elif isinstance(value, Functor):
        # Its members are the kernel's: every function finds them by their names.
        passing.key.append(("object", value.name))
        passing.bind.append((name, lambda c, n, s, v=value: v))  # type: ignore[misc]
    elif isinstance(value, Closure):
        _pass_closure(ctx, passing, name, value, node)
    elif isinstance(value, BoundFunction):
        _pass_method(ctx, passing, name, value, node)
    elif isinstance(value, BufferRef):
        passing.key.append(("buffer", value.param.name, len(value.prefix)))
        passing.args.extend(convert.cast(p, INT32, p.span) for p in value.prefix)
        passing.bind.append((name, _bind_projection(value)))
    elif isinstance(value, ArrayRef):
        _pass_array(ctx, passing, name, value, node)
    elif isinstance(value, ViewRef):
        _pass_view(ctx, passing, name, value, node)
    elif isinstance(value, TupleValue):
        _pass_tuple(ctx, passing, name, value, node)
    elif isinstance(value, Nothing):
        ctx.fail("VKA223", node, text=ctx.text(node))
    elif isinstance(value, Element) and references.is_struct(value):
        passing.bind.append((name, _pass_struct(ctx, passing, value, node)))
    elif isinstance(value, Constant) and not convert.fits_alone(value):
        _specialise(passing, name, value)
    elif passing.weak and _is_weak_float(value):
        _pass_weak(ctx, passing, name, value, node)
    else:
        kind = _pass_scalar(ctx, passing, value, node)
        passing.key.append(kind)
        passing.bind.append((name, lambda c, n, s, k=kind: _parameter(c, n, k, s)))  # type: ignore[misc]


def _pass_captured(ctx: Context, passing: _Passing, name: str, value: Value, node: ast.expr) -> None:
    """Adds one captured value: what is known at compile time, or to every function, stays so."""
    if isinstance(value, Constant) or (isinstance(value, Number) and isinstance(value.expr, ir.Const)):
        _specialise(passing, name, value)
    elif isinstance(value, Number) and isinstance(value.expr, ir.ScalarValue):
        passing.key.append(("scalar", value.expr.name, value.weak))
        passing.bind.append((name, lambda c, n, s, v=value: v))  # type: ignore[misc]
    else:
        _pass(ctx, passing, name, value, node)


def _pass_closure(ctx: Context, passing: _Passing, name: str, value: Closure, node: ast.expr) -> None:
    """A function as an argument: the callee is specialised for its code, what it captured goes along."""
    passing.key.append(("function", value.code.node))
    inner = passing.inner()
    for captured, item in value.captured:
        _pass_captured(ctx, inner, captured, item, node)

    def bind(callee: Context, param: str, span: Span) -> Value:
        return Closure(value.code, tuple((n, b(callee, f"{param}_{n}", span)) for n, b in inner.bind))

    passing.bind.append((name, bind))


def _pass_method(ctx: Context, passing: _Passing, name: str, value: BoundFunction, node: ast.expr) -> None:
    passing.key.append(("method", id(value.function)))
    inner = passing.inner()
    _pass(ctx, inner, name, value.owner, node)
    ((_, bind_owner),) = inner.bind
    passing.bind.append((name, lambda c, n, s: BoundFunction(value.function, bind_owner(c, n, s))))


def _pass_scalar(ctx: Context, passing: _Passing, value: Value, node: ast.expr) -> Type:
    expr = convert.vector(ctx, value, node) or convert.natural(ctx, convert.number(ctx, value, node), node)
    objects = objects_of(value)
    if objects is not None:
        passing.objects[len(passing.args)] = objects
    passing.args.append(expr)
    return expr.type


def _pass_weak(ctx: Context, passing: _Passing, name: str, value: Value, node: ast.expr) -> None:
    """A float that takes the type of what it meets: in float32, and in float64 too if the function computes in it."""
    number = convert.number(ctx, value, node)
    passing.args.append(convert.natural(ctx, number, node))
    passing.key.append("weak")
    if FLOAT64 in passing.weak:
        passing.args.append(convert.convert(ctx, number, FLOAT64, node))

    def bind(callee: Context, param: str, span: Span) -> Value:
        own = _parameter(callee, param, FLOAT32, span)
        double = _parameter(callee, f"{param}_double", FLOAT64, span) if FLOAT64 in passing.weak else None
        # An item of a tuple has the tuple's name and its number.
        names = {param, *(param[:at] for at, letter in enumerate(param) if letter == "_")}
        if any(n in callee.local_names and n not in callee.once_bound for n in names):
            # A variable has one type.
            return own
        wide = None if double is None else ir.Load(span, FLOAT64, double.place)
        return Number(ir.Load(span, FLOAT32, own.place), weak=True, double=wide)

    passing.bind.append((name, bind))


def _pass_struct(
    ctx: Context, passing: _Passing, value: Element, node: ast.expr
) -> Callable[[Context, str, Span], Value]:
    """A struct: an object by value, and back if the function changes it; an element by its subscripts.

    What only reads an element gets its value instead, which is a simpler function.
    """
    place, span = value.place, ctx.span(node)
    root = ir.root_of(place)
    if references.is_object(place) and isinstance(root, ir.Local):
        if root.variable in passing.shared:
            return _pass_part(passing, place, root, span)
        return _pass_object(passing, references.stable(ctx, place, "argument"), span)
    if passing.by_value:
        number = len(passing.outer)
        passing.outer.append(place)
        passing.borrowed.append(place)
        passing.key.append(("borrowed", place.type))
        passing.args.append(ir.Load(span, place.type, place))

        def bind(callee: Context, param: str, at: Span) -> Value:
            element = _parameter(callee, param, place.type, at)
            assert isinstance(element.place, ir.Local)
            callee.borrowed.add(element.place.variable.name)
            callee.roots[element.place.variable.name] = number
            return element

        return bind
    return _pass_part(passing, place, root, span)


def _pass_object(passing: _Passing, place: ir.Place, span: Span) -> Callable[[Context, str, Span], Value]:
    number = len(passing.outer)
    passing.outer.append(place)
    passing.key.append(place.type)
    passing.args.append(ir.Load(span, place.type, place))

    def bind(callee: Context, param: str, at: Span) -> Value:
        element = _parameter(callee, param, place.type, at)
        assert isinstance(element.place, ir.Local)
        callee.roots[element.place.variable.name] = number
        return element

    return bind


def _pass_part(
    passing: _Passing, place: ir.Place, root: ir.Local | ir.BufferElement, span: Span
) -> Callable[[Context, str, Span], Value]:
    """Part of what several arguments lie in, or of memory: the whole once, and the subscripts of this part."""
    parts = [convert.cast(p, INT32, p.span) for p in place_parts(place)]
    number: int | None = None
    is_first = False
    if isinstance(root, ir.Local) and root.variable.storage != "tile_static":
        whole = ir.Local(span, root.type, root.variable)
        is_first = whole not in passing.outer
        if is_first:
            passing.outer.append(whole)
            is_array = isinstance(root.type, Array)
            passing.args.append(whole if is_array else ir.Load(span, root.type, whole))
        number = passing.outer.index(whole)
        shape = references.structure(references.with_root(place, _placeholder(root)))
    else:
        shape = references.structure(place)
    passing.args.extend(parts)
    passing.key.append(("element", shape, number))

    def bind(callee: Context, param: str, at: Span) -> Value:
        inside = place
        if number is not None and isinstance(root, ir.Local):
            if is_first:
                variable = callee.new_variable(root.variable.name, root.type, at, "parameter")
                callee.parameters.append(variable)
                callee.roots[variable.name] = number
            found = next(p for p in callee.parameters if callee.roots.get(p.name) == number)
            inside = references.with_root(place, ir.Local(at, root.type, found))
        numbers: list[ir.Expr] = []
        for k in range(len(parts)):
            element = _parameter(callee, f"{param}_index" if len(parts) == 1 else f"{param}_index_{k}", INT32, at)
            assert isinstance(element.place, ir.Local)
            callee.subscripts.add(element.place.variable.name)
            numbers.append(ir.Load(at, INT32, element.place))
        return Element(with_place_parts(inside, iter(numbers)))

    return bind


def _placeholder(root: ir.Local) -> ir.Local:
    return ir.Local(root.span, root.type, ir.Variable("", root.type, "parameter", root.span))


def _pass_tuple(ctx: Context, passing: _Passing, name: str, value: TupleValue, node: ast.expr) -> None:
    passing.key.append((value.kind, len(value.items)))
    inner = passing.inner()
    for k, item in enumerate(value.items):
        # A component known at compile time stays so: tile sizes are constants in the callee too.
        if isinstance(item, Constant):
            _specialise(inner, str(k), item)
        else:
            _pass(ctx, inner, str(k), item, node)

    def bind(callee: Context, param: str, span: Span) -> Value:
        items = [declare(callee, f"{param}_{k}", span) for k, declare in inner.bind]
        if value.kind != "tuple":
            places = (i.place for i in items if isinstance(i, Element))
            callee.index_parameters.update(p.variable.name for p in places if isinstance(p, ir.Local))
        return TupleValue(tuple(items), value.kind)

    passing.bind.append((name, bind))


def _pass_array(ctx: Context, passing: _Passing, name: str, value: ArrayRef, node: ast.expr) -> None:
    root = ir.root_of(value.place)
    own = isinstance(root, ir.Local) and root.variable.storage != "tile_static"
    if isinstance(root, ir.Local) and own and not isinstance(root.type, Array):
        value = _copied_array(ctx, passing, value, node)
        root = ir.root_of(value.place)
    parts = [convert.cast(p, INT32, p.span) for p in view_parts(value)]
    passing.key.append(views.structure(value))
    number = len(passing.outer)
    if own:
        passing.outer.append(root)
        passing.args.append(root)
    passing.args.extend(parts)

    def bind(callee: Context, param: str, span: Span) -> Value:
        memory: views.Memory = value
        if own:
            variable = callee.new_variable(param, root.type, span, "parameter")
            callee.parameters.append(variable)
            callee.roots[variable.name] = number
            memory = views.over(value, ir.Local(span, root.type, variable))
        numbers: list[ir.Expr] = []
        for k in range(len(parts)):
            part = _parameter(callee, f"{param}_{k}", INT32, span)
            numbers.append(ir.Load(span, INT32, part.place))
        return with_view_parts(memory, iter(numbers))

    passing.bind.append((name, bind))


#: Elements of a struct's array that a call copies.
_MAX_COPIED = 256


def _copied_array(ctx: Context, passing: _Passing, value: ArrayRef, node: ast.expr) -> ArrayRef:
    """A private array with the elements of an object's array: objects go by value."""
    kind, span = value.place.type, ctx.span(node)
    assert isinstance(kind, Array)
    if kind.count > _MAX_COPIED:
        ctx.fail("VKA217", node, text=ctx.text(node))
    variable = ctx.new_variable("part", kind, span, "private", temporary=True)
    copy = ir.Local(span, kind, variable)
    ctx.emit(ir.Declare(span, variable))
    back: list[ir.Assign] = []
    for where in np.ndindex(*kind.shape):
        indices = tuple(ir.Const(span, INT32, int(k)) for k in where)
        own = ir.ArrayElement(span, kind.element, value.place, indices)
        other = ir.ArrayElement(span, kind.element, copy, indices)
        ctx.emit(ir.Assign(span, other, ir.Load(span, kind.element, own)))
        back.append(ir.Assign(span, own, ir.Load(span, kind.element, other)))
    passing.after[variable] = back
    return ArrayRef(copy, value.prefix)


def _returned_copies(ctx: Context, instance: Instance, passing: _Passing, node: ast.Call) -> list[ir.Stmt]:
    """What stores the copies of arrays back into their objects, if the function may have changed them."""
    if not passing.after:
        return []
    function = next(f for f in ctx.module.functions if f.name == instance.name)
    if not sharing.changed_memory(ctx.module, function) & {sharing.ARRAYS, sharing.EVERYTHING}:
        return []
    for back in passing.after.values():
        if references.is_given(ctx, back[0].place):
            _refuse_change(ctx, back[0].place, instance, node)
    return [statement for back in passing.after.values() for statement in back]


def _bind_projection(value: BufferRef) -> Callable[[Context, str, Span], Value]:
    """The callee's view of a container: the same memory, the leading indices as parameters."""
    count = len(value.prefix)

    def bind(callee: Context, param: str, span: Span) -> Value:
        prefix = []
        for k in range(count):
            part = _parameter(callee, f"{param}_{k}", INT32, span)
            prefix.append(ir.Load(span, INT32, part.place))
        return BufferRef(value.param, tuple(prefix))

    return bind


def _pass_view(ctx: Context, passing: _Passing, name: str, value: ViewRef, node: ast.expr) -> None:
    """A view: the memory under it as that is passed, its numbers as parameters where the callee can't know them."""
    root = views.root_of(value)
    by_reference: ir.Local | None = None
    if isinstance(root, ArrayRef):
        whole = ir.root_of(root.place)
        if isinstance(whole, ir.Local) and whole.variable.storage != "tile_static":
            if not isinstance(whole.type, Array):
                ctx.fail("VKA217", node, text=ctx.text(node))
            by_reference = whole
            passing.args.append(whole)
            passing.outer.append(whole)
    number_of_root = len(passing.outer) - 1
    parts = [convert.cast(p, INT32, p.span) for p in view_parts(value)]
    known = [
        p if isinstance(p, (ir.Const, ir.ScalarValue, ir.BufferExtent, ir.ThreadIndex, ir.SubgroupIndex)) else None
        for p in parts
    ]
    passing.args += [p for p, k in zip(parts, known, strict=True) if k is None]
    passing.key.append(("view", views.structure(value), tuple(known)))

    def bind(callee: Context, param: str, span: Span) -> Value:
        base: views.Memory = value
        if by_reference is not None:
            variable = callee.new_variable(param, by_reference.type, span, "parameter")
            callee.parameters.append(variable)
            callee.roots[variable.name] = number_of_root
            base = views.over(value, ir.Local(span, by_reference.type, variable))
        numbers: list[ir.Expr] = []
        for number, part in enumerate(known):
            if part is not None:
                numbers.append(part)
                continue
            element = _parameter(callee, f"{param}_{number}", INT32, span)
            numbers.append(ir.Load(span, INT32, element.place))
        return with_view_parts(base, iter(numbers))

    passing.bind.append((name, bind))


def _parameter(callee: Context, name: str, kind: Type, span: Span) -> Element:
    variable = callee.new_variable(name, kind, span, "parameter")
    callee.parameters.append(variable)
    return Element(ir.Local(span, kind, variable))


# -- the function --------------------------------------------------------------------------------------------------


def _lower_function(ctx: Context, function: _Callee, passing: _Passing, node: ast.Call) -> Instance:
    source = function.source()
    span = ctx.span(node)
    callee = Context(ctx.module, source, function.lookup(span), span, is_kernel=False)
    callee.local_names = set(function.local_names())
    callee.counters = function.counters()
    callee.once = assigned_once(source.node)
    references.note_bindings(callee, source.node)
    definition = Span(
        source.file,
        source.first_line,
        source.shift,
        source.first_line,
        source.shift + 3,
        source.name,
    )
    captured = {n for n, _ in function.captured}
    for name, bind in passing.bind:
        value = bind(callee, name, definition)
        kind = "variable" if isinstance(value, (Element, TupleValue)) else "alias"
        callee.slots[name] = Slot(value, definition, kind)
        if isinstance(value, Element) and isinstance(value.place, ir.Local):
            variable = value.place.variable
            if name in captured and not references.is_struct(value):
                callee.fixed.add(variable.name)
        assert callee.assigned is not None
        callee.assigned.add(name)
    params = tuple(callee.parameters)
    references.own_parameters(callee, definition)
    ctx.module.stack.append(Frame(function.outer, span, tuple(passing.key), function.name))
    name = ctx.module.unique_function(_plain_name(function))
    try:
        lower_body(callee, source.node.body)
        returned = _unify_returns(callee, source, tuple(callee.block))
        changed, body = _with_changes(callee, source, returned.body)
    finally:
        ctx.module.stack.pop()
    types = (*returned.types, *(callee.type_of(p) for p in changed))
    lowered = ir.Function(name, function.name, params, types, tuple(callee.variables), body, definition)
    ctx.module.functions.append(lowered)
    effects = sharing.check(callee, body, returned.starts, by_value=function.by_value)
    origins = _with_origins(callee, returned.origins, effects.origins)
    numbers = tuple(callee.roots[p] for p in changed)
    return Instance(name, returned.result, returned.types, numbers, dict(callee.roots), origins, effects.vectors)


def _with_origins(
    callee: Context, known: Mapping[int, tuple[ir.Place, ...]], found: Mapping[int, tuple[ir.Place, ...]]
) -> dict[int, tuple[ir.Place, ...]]:
    """What the structs that a function returns may be, if they are no elements."""
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


def flatten(ctx: Context, value: Value, node: ast.expr) -> list[ir.Expr]:
    """The run-time values that a returned value consists of."""
    if isinstance(value, TupleValue):
        return [leaf for item in value.items for leaf in flatten(ctx, item, node)]
    if isinstance(value, Element) and isinstance(value.place.type, Struct):
        return [ir.Load(ctx.span(node), value.place.type, value.place)]
    vector = convert.vector(ctx, value, node)
    if vector is not None:
        return [vector]
    if isinstance(value, (Constant, Number, Element)):
        return [convert.natural(ctx, convert.number(ctx, value, node), node)]
    ctx.fail("VKA212", node, text=ctx.text(node), what=ctx.describe(value))


def _shape(value: Value) -> Any:
    if isinstance(value, TupleValue):
        return (value.kind, tuple(_shape(i) for i in value.items))
    return None


@dataclass(frozen=True)
class _Returns:
    """What a function returns: its shape, the types of its numbers, the body, and what its structs may be."""

    result: Value | None
    types: tuple[Type, ...]
    body: ir.Block
    origins: dict[int, tuple[ir.Place, ...]] = field(default_factory=dict)
    #: Where each value of a `return` begins among the numbers that the function returns.
    starts: tuple[int, ...] = ()


def _unify_returns(callee: Context, source: Source, body: ir.Block) -> _Returns:
    """One result type for all ``return``s of a function; values are converted where they differ."""
    given = [(v, s) for v, s in callee.returns]
    valued = [(v, s) for v, s in given if v is not None]
    if not valued:
        return _Returns(None, (), body)
    first, first_span = valued[0]
    missing = next((s for v, s in given if v is None), None)
    if missing is not None or callee.assigned is not None:
        where = missing or callee.span(source.node.body[-1])
        callee.fail("VKA211", where, name=source.name, notes=(Note(first_span, "here it returns a value"),))
    for value, span in valued[1:]:
        if _shape(value) != _shape(first):
            _differ(callee, source, callee.describe(value), callee.describe(first), span, first_span)
    returns = [s for s in ir.walk_statements(body) if isinstance(s, ir.Return)]
    types: list[Type] = [e.type for e in returns[0].values]
    for statement in returns[1:]:
        for k, expr in enumerate(statement.values):
            types[k] = _meet(callee, source, types[k], expr.type, statement.span, first_span)
    results = [_result(callee, [s.values[k] for s in returns], kind) for k, kind in enumerate(types)]

    def change(node: ir.Node) -> ir.Node:
        if isinstance(node, ir.Return):
            values = [e for value, result in zip(node.values, results, strict=True) for e in result.values(value)]
            return ir.Return(node.span, tuple(values))
        return node

    new_body = ir.map_block(body, change)
    assert first is not None
    new_types = [kind for result in results for kind in result.types]
    starts = tuple(accumulate((len(r.types) for r in results), initial=0))
    origins = {at: r.origins for at, r in zip(starts, results, strict=False) if r.origins}
    shapes = iter([r.place for r in results])
    return _Returns(_reshaped(first, shapes), tuple(new_types), new_body, origins, starts)


@dataclass(frozen=True)
class _Result:
    """One number, vector or struct of what a function returns; ``place``: where it lies, if it is an element."""

    type: Type
    place: ir.Place | None = None
    origins: tuple[ir.Place, ...] = ()

    @property
    def types(self) -> tuple[Type, ...]:
        if self.place is None:
            return (self.type,)
        return (INT32,) * len(place_parts(self.place))

    def values(self, value: ir.Expr) -> list[ir.Expr]:
        if self.place is not None:
            assert isinstance(value, ir.Load)
            return [convert.cast(p, INT32, p.span) for p in place_parts(value.place)]
        return [convert.cast(value, self.type, value.span) if isinstance(self.type, Scalar) else value]


def _result(callee: Context, values: list[ir.Expr], kind: Type) -> _Result:
    """A struct that exists outside the function is returned as what it is there; a new one by value."""
    if not isinstance(kind, Struct):
        return _Result(kind)
    places = [v.place for v in values if isinstance(v, ir.Load)]
    outer = [p for p in places if references.is_outer(p)]
    for place in outer:
        root = ir.root_of(place)
        if isinstance(root, ir.Local) and root.variable.name in callee.borrowed:
            raise NeedsElementsError
    one = references.structure(places[0])
    if len(outer) == len(values) and all(references.structure(p) == one for p in places):
        return _Result(kind, places[0])
    return _Result(kind, None, tuple(outer))


def _reshaped(shape: Value, places: Iterator[ir.Place | None]) -> Value:
    if isinstance(shape, TupleValue):
        return TupleValue(tuple(_reshaped(i, places) for i in shape.items), shape.kind)
    place = next(places)
    return shape if place is None else Returned(place)


def _meet(callee: Context, source: Source, a: Type, b: Type, span: Span, first: Span) -> Type:
    if a == b:
        return a
    if isinstance(a, Scalar) and isinstance(b, Scalar) and BOOL not in (a, b):
        return common_type(a, b)
    words = [callee.describe(Element(ir.Local(span, t, ir.Variable("", t, "local", span)))) for t in (b, a)]
    _differ(callee, source, words[0], words[1], span, first)


def _differ(callee: Context, source: Source, given: str, other: str, span: Span, first: Span) -> NoReturn:
    notes = (Note(first, "the other `return`"),)
    callee.fail("VKA218", span, name=source.name, given=given, other=other, notes=notes)
