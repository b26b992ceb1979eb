"""Objects in kernels: members and methods of functors and structs, constructors, operators.

C++ AMP's model: docs/conformance.md, sections 9 and 10 (functors, structs by value, methods, operators).
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any, TypeGuard

import numpy as np

from vkamp.front import advice, convert
from vkamp.front.context import Context
from vkamp.front.functions import call_function
from vkamp.front.names import assemble, bind_argument, class_method, constant_value, in_memory, member_at, wrap
from vkamp.front.operators import is_plain
from vkamp.front.signature import ArgType, FunctorType, HostType, MethodType, OperatorType, StructType, TupleType
from vkamp.front.values import BoundFunction, Closure, Constant, Element, Functor, Number, Object, TupleValue, Value
from vkamp.ir import nodes as ir
from vkamp.ir.types import BOOL, Array, Struct, from_dtype, scalar_fields
from vkamp.lang.kernel import DeviceFunction
from vkamp.lang.structs import HOST_COMPARISONS, StructField, struct_fields

_MISSING = object()


def _class_of(value: Value) -> type | None:
    """The Python class of an object, struct or named tuple, whose methods it has."""
    if isinstance(value, Functor):
        return value.kind.cls
    if isinstance(value, Element) and isinstance(value.place.type, Struct):
        return value.place.type.cls
    return value.cls if isinstance(value, TupleValue) else None


# -- members -------------------------------------------------------------------------------------------------------


def functor_attribute(ctx: Context, owner: Functor, name: str, node: ast.Attribute) -> Value:
    """A member of an object, or an attribute of its class."""
    members = dict(owner.kind.members)
    if name in members:
        return _member(ctx, f"{owner.name}.{name}", members[name], node)
    found = class_attribute(ctx, owner, name, node)
    if found is None:
        text = ctx.text(node.value)
        known = [*members, *(n for n in dir(owner.kind.cls) if not n.startswith("_"))]
        ctx.fail("VKA206", node, owner=f"`{text}`", name=name, advice=advice.attribute(text, name, known))
    return found


def _member(ctx: Context, path: str, kind: ArgType, node: ast.Attribute) -> Value:
    if isinstance(kind, HostType):
        ctx.fail("VKA205", node, name=ctx.text(node), what=kind.what, advice=kind.advice)
    if isinstance(kind, FunctorType):
        return Functor(path, kind)
    if isinstance(kind, MethodType):
        return BoundFunction(kind.function.value, Functor(path, kind.owner))
    if isinstance(kind, TupleType):
        return TupleValue(tuple(_member(ctx, f"{path}[{k}]", item, node) for k, item in enumerate(kind.items)))
    span = ctx.span(node)
    kind = in_memory(ctx.module, path, kind, span)
    if isinstance(kind, StructType) and not ctx.is_kernel:
        return _struct_here(ctx, path, kind.type, node)
    if path not in ctx.module.captures:
        ctx.module.captures[path] = bind_argument(ctx.module, path, kind, span)
    if path in ctx.module.constants_needed:
        found = constant_value(ctx.module.constant_values[path], span)
        assert found is not None
        return found
    found = ctx.module.captures[path]
    return found if ctx.is_kernel else _captured_here(ctx, path, kind, found, node)


def _captured_here(ctx: Context, path: str, kind: ArgType, value: Value, node: ast.Attribute) -> Value:
    """A function with the structs that it captured in variables of the function that reads it."""
    kind = in_memory(ctx.module, path, kind, ctx.span(node))
    if isinstance(kind, StructType):
        return _struct_here(ctx, path, kind.type, node)
    if isinstance(kind, TupleType) and isinstance(value, TupleValue):
        pairs = enumerate(zip(kind.items, value.items, strict=True))
        return value.of(_captured_here(ctx, f"{path}[{k}]", item, part, node) for k, (item, part) in pairs)
    if isinstance(kind, OperatorType) and isinstance(value, Closure):
        kinds = dict(kind.members)

        def here(name: str, item: Value) -> Value:
            return _captured_here(ctx, f"{path}.{name}", kinds[name], item, node)

        parameters = value.code.signature.parameters
        defaults = {n: here(n, p.default) for n, p in parameters.items() if isinstance(p.default, Value) and n in kinds}
        code = value.code
        if any(isinstance(each, Element) for each in defaults.values()):
            given = [p.replace(default=defaults.get(n, p.default)) for n, p in parameters.items()]
            code = replace(code, signature=code.signature.replace(parameters=given))
        return Closure(code, tuple((n, here(n, item)) for n, item in value.captured))
    return value


def _struct_here(ctx: Context, path: str, kind: Struct, node: ast.Attribute) -> Value:
    """A struct among the members, put together in the function that reads it."""
    variable = ctx.new_variable(path.replace(".", "_"), kind, ctx.span(node))
    ctx.fixed.add(variable.name)
    for statement in assemble(ctx.module, path, variable, ctx.span(node)):
        ctx.emit(statement)
    return Element(ir.Local(ctx.span(node), kind, variable))


def struct_attribute(ctx: Context, owner: Element, name: str, node: ast.Attribute) -> Value | None:
    """A method or class attribute of a struct's class; ``None`` if it has none of this name."""
    return class_attribute(ctx, owner, name, node) if _class_of(owner) is not None else None


def defines(owner: Value, name: str) -> bool:
    """Whether the class of a struct has an attribute that is not one of numpy's records."""
    cls, plain = _class_of(owner), inspect.getattr_static(np.void, name, None)
    return cls is not None and inspect.getattr_static(cls, name, None) is not plain


def class_attribute(ctx: Context, owner: Value, name: str, node: ast.Attribute) -> Value | None:
    """What the class of an object has under a name: a method, a property, a static method, a constant."""
    cls = _class_of(owner)
    found = inspect.getattr_static(cls, name, _MISSING)
    if cls is None or found is _MISSING:
        return None
    ctx.module.guard(name, ("class", cls), found)
    if _is_method(found):
        return BoundFunction(found, owner)
    if isinstance(found, staticmethod):
        return wrap(found.__func__, ctx.span(node))
    if isinstance(found, property):
        if _is_method(found.fget):
            call = ast.copy_location(ast.Call(node, [], []), node)
            return call_function(ctx, found.fget, call, (owner, node.value))
        ctx.fail("VKA203", node, name=ctx.text(node), kind="property", advice="read it before the launch")
    if class_method(cls, name) is not None:
        return BoundFunction(found.__func__, Object(cls))
    if isinstance(found, (FunctionType, classmethod)):
        kind = "method" if isinstance(found, FunctionType) else "class method"
        help_text = "write it with `def` in the class" if kind == "method" else "make it a static method"
        ctx.fail("VKA203", node, name=ctx.text(node), kind=kind, advice=help_text)
    return wrap(found, ctx.span(node))


def _is_method(found: object) -> TypeGuard[DeviceFunction[..., Any] | FunctionType]:
    """Whether a kernel can call an attribute of a class: an ``@amp.func``, or a plain function that has source (those
    that ``dataclass`` makes have none)."""
    if isinstance(found, DeviceFunction):
        return True
    if any(found is each for each in HOST_COMPARISONS):
        return False
    return isinstance(found, FunctionType) and is_plain(found) and not found.__code__.co_filename.startswith("<string")


# -- calls and operators -------------------------------------------------------------------------------------------


def call_object(ctx: Context, owner: Value, node: ast.Call) -> Value | None:
    """The call of an object whose class has ``__call__``; ``None`` if it has none."""
    return _call_method(ctx, owner, "__call__", node, node.func)


def _call_method(ctx: Context, owner: Value, name: str, node: ast.Call, owner_node: ast.expr) -> Value | None:
    if _class_of(owner) is None:
        return None
    attribute = ast.copy_location(ast.Attribute(owner_node, name, ast.Load()), owner_node)
    method = class_attribute(ctx, owner, name, attribute)
    if not isinstance(method, BoundFunction):
        return None
    return call_function(ctx, method.function, node, (owner, owner_node))


_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitAnd: "and", ast.BitOr: "or",
    ast.BitXor: "xor", ast.MatMult: "matmul",
}  # fmt: skip

_COMPARISONS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Eq: ("eq", "eq"), ast.NotEq: ("ne", "ne"), ast.Lt: ("lt", "gt"), ast.LtE: ("le", "ge"), ast.Gt: ("gt", "lt"),
    ast.GtE: ("ge", "le"),
}  # fmt: skip

_UNARY: dict[type[ast.AST], str] = {ast.USub: "__neg__", ast.UAdd: "__pos__", ast.Invert: "__invert__"}

_Operand = tuple[Value, ast.expr]


def operator(ctx: Context, op: ast.operator, left: _Operand, right: _Operand, node: ast.AST) -> Value | None:
    """``left op right`` by the operator that a struct's class defines; ``None`` if none does."""
    name = _OPERATORS[type(op)]
    found = _operate(ctx, f"__{name}__", left, right, node)
    return found if found is not None else _operate(ctx, f"__r{name}__", right, left, node)


def comparison(ctx: Context, op: ast.cmpop, left: _Operand, right: _Operand, node: ast.expr) -> Value | None:
    """A comparison such as ``left < right``, by a struct's class."""
    names = _COMPARISONS.get(type(op))
    if names is None:
        return None
    for method, owner, other in ((names[0], left, right), (names[1], right, left)):
        found = _operate(ctx, f"__{method}__", owner, other, node)
        if found is None and method == "ne":
            # As in Python, `!=` is what `==` is not.
            equal = _operate(ctx, "__eq__", owner, other, node)
            found = None if equal is None else _opposite(ctx, equal, node)
        if found is not None:
            return found
    return None


def _opposite(ctx: Context, value: Value, node: ast.expr) -> Value:
    test = convert.condition(ctx, value, node)
    if isinstance(test, ir.Const):
        return Constant(not test.value)
    return Number(ir.Unary(ctx.span(node), BOOL, "not", test))


def item(ctx: Context, owner: _Operand, key: _Operand, node: ast.Subscript) -> Value | None:
    """``value[key]`` by the class of a struct or of a tuple with names."""
    return _operate(ctx, "__getitem__", owner, key, node)


def length_of(ctx: Context, operand: _Operand, node: ast.Call) -> Value | None:
    """``len(value)`` by the class of a struct or of a tuple with names."""
    return _operate(ctx, "__len__", operand, None, node)


def magnitude(ctx: Context, operand: _Operand, node: ast.Call) -> Value | None:
    """``abs(value)`` by a struct's class."""
    return _operate(ctx, "__abs__", operand, None, node)


def unary(ctx: Context, op: ast.unaryop, operand: _Operand, node: ast.AST) -> Value | None:
    """A unary operator such as ``-value``, by a struct's class."""
    return _operate(ctx, _UNARY[type(op)], operand, None, node) if type(op) in _UNARY else None


def _operate(ctx: Context, method: str, owner: _Operand, other: _Operand | None, node: ast.AST) -> Value | None:
    cls = _class_of(owner[0])
    if cls is None:
        return None
    function = inspect.getattr_static(cls, method, None)
    if not _is_method(function):
        return None
    call = ast.Call(ast.Attribute(owner[1], method, ast.Load()), [], [])
    ast.copy_location(call, node)
    ast.copy_location(call.func, node)
    ctx.module.guard(method, ("class", cls), function)
    return call_function(ctx, function, call, owner, () if other is None else (other,))


# -- constructors --------------------------------------------------------------------------------------------------


def construct(ctx: Context, cls: type, node: ast.Call) -> Value:
    """``Particle(1.0, id=2)``: a struct in a new variable; members that are not given have their defaults."""
    fields = struct_fields(cls)
    assert fields is not None
    given = _given(ctx, cls, fields, node)
    kind = from_dtype(cls.dtype)  # type: ignore[attr-defined]
    assert isinstance(kind, Struct)
    span = ctx.span(node)
    wanted = ctx.name_of_result(node)
    place = ctx.new_object(wanted or cls.__name__.lower(), kind, span, wanted)
    for number, field in enumerate(fields):
        member = kind.field(field.name)
        assert member is not None
        target = ir.FieldOf(span, member.type, place, field.name)
        if field.name in given:
            value, part = given[field.name]
            _store(ctx, target, value, part, f"the field `{field.name}`")
        else:
            _store_default(ctx, target, field)
        if number == 0:
            stored = ctx.block[-1].span
            ctx.constructed.add((place.variable.name, stored.line, stored.column))
    return Element(place)


def _given(ctx: Context, cls: type, fields: tuple[StructField, ...], node: ast.Call) -> dict[str, _Operand]:
    given = arguments_by_name(ctx, node, cls.__name__, [f.name for f in fields])
    values = ctx.operands(*given.values())
    return {n: (v, part) for (n, part), v in zip(given.items(), values, strict=True)}


def arguments_by_name(ctx: Context, node: ast.Call, name: str, names: Sequence[str]) -> dict[str, ast.expr]:
    """The arguments of a call of ``name``, which is not a function of Python's, by the names that it takes."""
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            ctx.refuse(arg)
    advised = f"call it as `{name}({', '.join(names)})`"
    if len(node.args) > len(names):
        reason = f"{len(node.args)} by position, and it takes {len(names)}"
        ctx.fail("VKA222", node, name=name, reason=reason, advice=advised)
    given: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
    for keyword in node.keywords:
        reason = ""
        if keyword.arg is None:
            ctx.fail("VKA101", keyword, what="`**` unpacking", advice="write the arguments one by one")
        if keyword.arg not in names:
            close = advice.near(keyword.arg, names)
            reason = f"there is no `{keyword.arg}`" + (f", did you mean `{close}`?" if close else "")
        elif keyword.arg in given:
            reason = f"`{keyword.arg}` is given twice"
        if reason:
            ctx.fail("VKA222", keyword, name=name, reason=reason, advice=advised)
        given[keyword.arg] = keyword.value
    return given


def _store(ctx: Context, target: ir.FieldOf, value: Value, node: ast.expr, what: str) -> None:
    if isinstance(target.type, Array):
        root = ir.root_of(target)
        place = f"{root.variable.name}.{target.name}" if isinstance(root, ir.Local) else target.name
        help_text = f"leave it out, and assign its elements one by one afterwards: `{place}[i] = ...`"
        ctx.fail("VKA317", node, what=what, type="an array", given=ctx.describe(value), advice=help_text)
    ctx.emit(ir.Assign(ctx.span(node), target, convert.assignable(ctx, value, target.type, node, what)))


def _store_default(ctx: Context, target: ir.Place, field: StructField) -> None:
    """The default of a field, number by number; numpy has converted it."""
    flat = np.zeros((), np.dtype([("v", field.dtype)]))
    if field.default is not None:
        flat["v"] = field.default
    raw = flat.tobytes()
    for path, scalar, offset in scalar_fields(target.type):
        value = np.frombuffer(raw, scalar.dtype, 1, offset)[0].item()
        ctx.emit(ir.Assign(target.span, member_at(target, path), ir.Const(target.span, scalar, value)))
