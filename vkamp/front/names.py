"""Names from outside the kernel: constants, captures, functions, modules."""

from __future__ import annotations

import ast
import enum
import inspect
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from vkamp.errors import Span, UnsupportedFeatureError, diagnostic
from vkamp.front import advice
from vkamp.front.context import Context
from vkamp.front.guards import Place
from vkamp.front.module import Module
from vkamp.front.operators import DEFAULT, is_plain, parts_of
from vkamp.front.signature import (
    ArgType,
    BufferType,
    ConstantType,
    ElementType,
    FunctorType,
    HostType,
    IndexType,
    MethodType,
    ObjectType,
    OperatorType,
    ScalarType,
    StructType,
    TupleType,
    VectorType,
    holder_of,
    in_double,
    is_complex,
    is_number,
    is_numpy_number,
    part_of,
    plain_number,
    read_name,
)
from vkamp.front.source import source_of
from vkamp.front.target import attribute
from vkamp.front.values import (
    BoundFunction,
    BufferRef,
    Closure,
    Constant,
    Element,
    Functor,
    LocalFunction,
    Number,
    Object,
    TupleValue,
    Value,
    complex_constant,
    of_launch,
)
from vkamp.ir import nodes as ir
from vkamp.ir.types import COMPLEX, FLOAT64, INT32, NUMBERS, Array, Struct, Vector, is_object, promoted, scalar_fields
from vkamp.lang.device import MARK, MathNamespace
from vkamp.lang.kernel import DeviceFunction
from vkamp.lang.overloads import own_signature
from vkamp.lang.subgroups import SubgroupNamespace
from vkamp.lang.target import TargetTraits


def constant_value(value: Any, span: Span) -> Value | None:
    """A Python number as a compile-time value; a numpy scalar keeps its type, except for a float64 or int64."""
    if is_complex(value):
        made = complex_constant(span, complex(value), COMPLEX.get(type(value).__name__, COMPLEX["complex64"]))
        return made if type(value) is complex else Number(made.expr)
    value = plain_number(value)
    if isinstance(value, (bool, np.bool_)):
        return Constant(bool(value))
    if is_numpy_number(value):
        kind = NUMBERS.get(value.dtype.name)
        if kind is None:
            raise advice.refused_dtype(value.dtype, span, value.dtype.name)
        return Number(ir.Const(span, promoted(kind), value.item()))
    if isinstance(value, (int, float)):
        return Constant(value)
    return None


def wrap(value: Any, span: Span) -> Value:
    """Any Python object that the source names, as a value of the kernel."""
    found = constant_value(value, span) if is_number(value) or is_complex(value) else None
    if found is not None:
        return found
    parts = parts_of(value)
    if parts is not None:
        cls = type(value) if parts.names else None
        return TupleValue(tuple(wrap(v, span) for v in parts.items), names=parts.names, cls=cls)
    return Object(value)


def bind_argument(module: Module, name: str, kind: ArgType, span: Span) -> Value:
    """Declares a parameter or capture of the kernel, and returns the value of its name."""
    if isinstance(kind, BufferType):
        param = ir.BufferParam(name, kind.element, kind.rank, kind.readonly, kind.dense, kind.storage, span, kind.unit)
        module.buffers[name] = param
        return BufferRef(param)
    if isinstance(kind, ElementType):
        return bind_argument(module, name, in_memory(module, name, kind, span), span)
    if isinstance(kind, ScalarType):
        double = ir.ScalarValue(span, FLOAT64, in_double(name)) if kind.double else None
        return Number(_scalar(module, name, kind, span), kind.weak, double)
    if isinstance(kind, IndexType):
        names = [part_of(name, k) for k in range(kind.rank)]
        numbers = [_scalar(module, n, ScalarType(INT32), span) for n in names]
        items = [Number(e, objects=of_launch(n, INT32, span)) for n, e in zip(names, numbers, strict=True)]
        return TupleValue(tuple(items), kind.kind)
    if isinstance(kind, VectorType):
        parts = tuple(_scalar(module, part_of(name, n), ScalarType(kind.type.element), span) for n in kind.type.letters)
        objects = of_launch(name, kind.type, span) if is_object(kind.type) else None
        return Number(ir.Construct(span, kind.type, parts), objects=objects)
    if isinstance(kind, StructType):
        return _bind_struct(module, name, kind.type, span)
    if isinstance(kind, ConstantType):
        return wrap(kind.value, span)
    if isinstance(kind, TupleType):
        members = [bind_argument(module, f"{name}[{k}]", item, span) for k, item in enumerate(kind.items)]
        return TupleValue(tuple(members), names=kind.names)
    if isinstance(kind, OperatorType):
        return _bind_operator(module, name, kind)
    if isinstance(kind, FunctorType):
        return Functor(name, kind)
    if isinstance(kind, MethodType):
        return BoundFunction(kind.function.value, Functor(name, kind.owner))
    if isinstance(kind, HostType):
        # An item of a tuple that a function captured.
        raise diagnostic("VKA205", span, name=name.rpartition(".")[2], what=kind.what, advice=kind.advice)
    assert isinstance(kind, ObjectType)
    return Object(kind.value)


def in_memory(module: Module, name: str, kind: ArgType, span: Span) -> ArgType:
    """The type by value of an element in memory, which :mod:`vkamp.front.elements` reads in the complete kernel."""
    if not isinstance(kind, ElementType):
        return kind
    if name not in module.elements:
        # One program for all places of it.
        module.buffers[name] = ir.BufferParam(
            name, kind.element, 1, True, dense=False, storage=kind.storage, span=span, unit=True, by_value=True
        )
        module.elements[name] = kind
    return kind.by_value


def _bind_operator(module: Module, name: str, kind: OperatorType) -> Closure:
    """A function of plain Python that the launch passes, with what it captured."""
    function = kind.function
    source = source_of(function)
    captured: dict[str, Value] = {}
    hosts: dict[str, HostType] = {}
    for member, inner in kind.members:
        path = f"{name}.{member}"
        if isinstance(inner, HostType):
            hosts[member] = inner
            continue
        if path not in module.captures:
            module.captures[path] = bind_argument(module, path, inner, source.definition)
        found = module.captures[path]
        if path in module.constants_needed:
            found = wrap(module.constant_values[path], source.definition)
        captured[member] = found
    outside = outside_lookup(module, function, {}, is_kernel=False)

    def lookup(each: str, where: Span) -> Value | None:
        if each in hosts:
            raise diagnostic("VKA205", where, name=each, what=hosts[each].what, advice=hosts[each].advice)
        return outside(each, where)

    plain_name = name.rpartition(".")[2] if source.is_lambda else source.name
    signature = _parameters(function, captured, kind.bound)
    code = LocalFunction(plain_name, source.node, source, signature, function, lookup, kind.by_value)
    return Closure(code, tuple((n, v) for n, v in captured.items() if n not in signature.parameters))


def _parameters(function: FunctionType, values: dict[str, Value], bound: int) -> inspect.Signature:
    """A function's parameters except for those that are bound, with the defaults that the launch passes."""
    signature = own_signature(function)
    kinds = inspect.Parameter
    left: list[inspect.Parameter] = []
    by_name = False
    for parameter in list(signature.parameters.values())[bound:]:
        # As Python has it: what follows a parameter that `functools.partial` binds by its name is given by its name.
        is_positional = parameter.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
        by_name |= is_positional and parameter.default != DEFAULT and parameter.name in values
        if by_name and is_positional:
            parameter = parameter.replace(kind=kinds.KEYWORD_ONLY)
        if not (by_name and parameter.kind is kinds.VAR_POSITIONAL):
            left.append(_with_default(parameter, values))
    return signature.replace(parameters=left)


def _with_default(parameter: inspect.Parameter, values: dict[str, Value]) -> inspect.Parameter:
    return parameter.replace(default=values.get(parameter.name, parameter.empty))


def _bind_struct(module: Module, name: str, kind: Struct, span: Span) -> Value:
    """A struct by value: its numbers are passed one by one and put together before the first statement."""
    variable = ir.Variable(name, kind, "local", span)
    module.prologue_variables.append(variable)
    module.prologue.extend(assemble(module, name, variable, span))
    return Element(ir.Local(span, kind, variable))


def assemble(module: Module, name: str, variable: ir.Variable, span: Span) -> list[ir.Stmt]:
    """The statements that put a struct of the launch together from its numbers."""
    root = ir.Local(span, variable.type, variable)
    out: list[ir.Stmt] = []
    for path, scalar, _ in scalar_fields(variable.type):
        kind = promoted(scalar)
        value = _scalar(module, part_of(name, *path), ScalarType(kind), span)
        if kind != scalar:
            value = ir.Cast(span, scalar, value)
        out.append(ir.Assign(span, member_at(root, path), value))
    return out


def member_at(place: ir.Place, path: tuple[str, ...]) -> ir.Place:
    """The scalar at a path of field names and, in arrays, flat positions."""
    for step in path:
        if isinstance(place.type, Struct):
            member = place.type.field(step)
            assert member is not None
            place = ir.FieldOf(place.span, member.type, place, step)
        elif isinstance(place.type, Vector):
            place = ir.ComponentsOf(place.span, place.type.element, place, step)
        else:
            assert isinstance(place.type, Array)
            where = np.unravel_index(int(step), place.type.shape)
            indices = tuple(ir.Const(place.span, INT32, int(k)) for k in where)
            place = ir.ArrayElement(place.span, place.type.element, place, indices)
    return place


def _scalar(module: Module, name: str, kind: ScalarType, span: Span) -> ir.Expr:
    if holder_of(name) not in module.elements:
        module.scalars[name] = ir.ScalarParam(name, kind.type, span)
    return ir.ScalarValue(span, kind.type, name)


def outside_lookup(
    module: Module, function: FunctionType, captures: dict[str, ArgType], *, is_kernel: bool
) -> Callable[[str, Span], Value | None]:
    """The lookup of free names for one function: captures first, then what Python would find.

    Every object found is guarded: the kernel is compiled again when the name means something else.
    """

    def lookup(name: str, where: Span) -> Value | None:
        path, kind = name, captures.get(name)
        if not is_kernel and name not in function.__code__.co_freevars:
            path, kind = module.handed_over.get((id(function.__globals__), name), (name, kind))
        if kind is not None:
            if path not in module.captures:
                module.captures[path] = bind_argument(module, path, kind, where)
            if path in module.constants_needed:
                return constant_value(module.constant_values[path], where)
            return module.captures[path]
        found = read_name(function, name)
        if found is None:
            return None
        value = found[1]
        place: Place = ("kernel", None) if is_kernel else ("function", function)
        module.guard(name, place, value)
        return wrap(value, where)

    return lookup


def attribute_of_object(ctx: Context, owner: Object, name: str, node: ast.Attribute) -> Value:
    """``module.name``, ``fast_math.name`` and class attributes, resolved at compile time."""
    target = owner.value
    trait = attribute(ctx, name) if isinstance(target, TargetTraits) else None
    if trait is not None:
        return trait
    is_value = isinstance(target, enum.Enum) and name == "value"
    if not is_value and not isinstance(target, (ModuleType, type, MathNamespace, SubgroupNamespace, TargetTraits)):
        if advice.is_host_object(target):
            found = inspect.getattr_static(target, name, None)
            ctx.host_object(target, node.value, name if is_number(found) or isinstance(target, list) else None)
        if isinstance(target, str):
            ctx.fail("VKA101", node.value, what="strings", advice="use numbers")
        ctx.fail("VKA206", node, owner=ctx.describe(owner), name=name, advice=advice.attribute("", name, ()))
    of_class = class_method(target, name)
    if of_class is not None:
        ctx.module.guard(name, ("class", target), of_class)
        return BoundFunction(of_class.__func__, owner)
    try:
        found = getattr(target, name)
    except UnsupportedFeatureError as error:
        # For a known name of other systems that vkamp lacks, the error says what to write instead.
        what, _, instead = str(error).partition(": ")
        ctx.fail("VKA227", node, what=what, advice=instead)
    except AttributeError:
        text = ctx.text(node.value)
        help_text = advice.attribute_of_module(ctx, target, text, name)
        ctx.fail("VKA206", node, owner=f"`{text}`", name=name, advice=help_text)
    ctx.module.guard(name, ("attribute", target), found)
    return wrap(found, ctx.span(node))


def class_method(cls: Any, name: str) -> Any:
    """The class method of a program's class that has a name, which kernels can call; ``None`` if there is none."""
    found = inspect.getattr_static(cls, name, None) if isinstance(cls, type) else None
    function = found.__func__ if isinstance(found, classmethod) else None
    return found if isinstance(function, DeviceFunction) or is_plain(function) else None


# -- what a call names -----------------------------------------------------------------------------------------------


def marked_name(value: Value | None) -> str | None:
    """The name of a function of the kernel language, by its mark."""
    if isinstance(value, Object) and isinstance(value.value, FunctionType):
        found = getattr(value.value, MARK, None)
        return found if isinstance(found, str) else None
    return None


def named_callee(ctx: Context, callee: ast.expr) -> Value | None:
    """What a call's function is, if names and attributes of Python objects say it; ``None`` for anything else.

    Operators, and attributes of structs and functors, may have effects, so the call alone evaluates them.
    """
    root = callee
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name) or (root.id in ctx.local_names and root.id not in ctx.slots):
        return None
    value = ctx.expr(root)
    if root is callee:
        return value
    return ctx.expr(callee) if isinstance(value, Object) else None
