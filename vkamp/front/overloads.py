"""Overloads of device functions: the form that fits the arguments of a call in a kernel."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import TYPE_CHECKING, Any

from vkamp.front import convert
from vkamp.front.context import Context
from vkamp.front.values import (
    BoundFunction,
    BufferRef,
    Closure,
    Constant,
    Element,
    Functor,
    Number,
    Object,
    ThreadRef,
    TupleValue,
    Value,
    ViewRef,
)
from vkamp.ir.types import Scalar, promoted
from vkamp.lang import overloads
from vkamp.lang.kernel import DeviceFunction
from vkamp.lang.overloads import Kind

if TYPE_CHECKING:
    from vkamp.front.functions import CallArguments


def _kind(value: Value) -> Kind:
    """The kind of an argument, as plain Python would see it."""
    if isinstance(value, Constant):
        return overloads.kind_of_dtype(convert.scalar_type(value).dtype)
    if isinstance(value, (Number, Element)):
        kind = value.expr.type if isinstance(value, Number) else value.place.type
        return overloads.kind_of_dtype((promoted(kind) if isinstance(kind, Scalar) else kind).dtype)
    if isinstance(value, (BufferRef, ViewRef)):
        return overloads.CONTAINER
    if isinstance(value, ThreadRef):
        return overloads.INDEX
    if isinstance(value, TupleValue) and value.kind != "tuple":
        return value.kind
    callables = isinstance(value, (Closure, BoundFunction, Functor))
    if callables or (isinstance(value, Object) and callable(value.value)):
        return overloads.FUNCTION
    return overloads.OTHER


def overload_of(
    ctx: Context, function: DeviceFunction[..., Any], node: ast.Call, arguments: CallArguments
) -> FunctionType:
    """The form of a function that a call means; refused where none fits, or several fit equally well."""
    ctx.module.guard("overloads", ("attribute", function), function.overloads)
    if not function.overloads:
        assert isinstance(function.function, FunctionType)
        return function.function
    positional = [_kind(v) for v, _ in arguments.positional]
    named = {n: _kind(v) for n, (v, _) in arguments.named.items()}
    best = overloads.choose(function.forms, positional, named)
    if len(best) != 1:
        name, given = function.__name__, overloads.describe([*positional, *named.values()])
        forms = " and ".join(f"`{name}{form}`" for form in best or function.forms)
        if best:
            ctx.fail("VKA226", node, name=name, given=given, forms=forms)
        ctx.fail("VKA225", node, name=name, given=given, forms=forms)
    found = best[0].function
    assert isinstance(found, FunctionType)
    return found
