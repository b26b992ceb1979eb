"""Named tuples and frozen dataclasses that a kernel creates: tuples whose items have names.

C++ AMP's model: docs/conformance.md, section 9 (structs by value).
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from typing import Any, NoReturn

from vkamp.front.context import Context
from vkamp.front.names import wrap
from vkamp.front.objects import arguments_by_name
from vkamp.front.values import NoValue, TupleValue, Value


def is_value_class(cls: object) -> bool:
    """Whether a class is a named tuple's, or that of a frozen dataclass."""
    if not isinstance(cls, type):
        return False
    if issubclass(cls, tuple):
        return hasattr(cls, "_fields")
    return dataclasses.is_dataclass(cls) and bool(getattr(cls, "__dataclass_params__").frozen)  # noqa: B009


def construct_value(ctx: Context, cls: Any, node: ast.Call) -> TupleValue:
    """``Point(1, y=2)``: the fields have the values and types of the arguments, or their defaults."""
    names, by_position, defaults = _fields_of(ctx, cls, node)
    given = arguments_by_name(ctx, node, cls.__name__, names)
    advised = f"call it as `{cls.__name__}({', '.join(names)})`"
    if len(node.args) > by_position:
        reason = f"{len(node.args)} by position, and it takes {by_position}"
        ctx.fail("VKA222", node, name=cls.__name__, reason=reason, advice=advised)
    missing = next((name for name in names if name not in given and name not in defaults), None)
    if missing is not None:
        ctx.fail("VKA222", node, name=cls.__name__, reason=f"`{missing}` is missing", advice=advised)
    values = dict(zip(given, _operands(ctx, given), strict=True))
    for name in names:
        if name not in values:
            ctx.module.guard(name, ("class", cls), inspect.getattr_static(cls, name, None))
            values[name] = wrap(defaults[name], ctx.span(node))
    fields = names if issubclass(cls, tuple) else [field.name for field in dataclasses.fields(cls)]
    return TupleValue(tuple(values[name] for name in fields), names=tuple(fields), cls=cls)


def replaced(ctx: Context, owner: TupleValue, node: ast.Call) -> TupleValue:
    """``point._replace(x=1)``, and the same by ``dataclasses.replace``, whose first argument is ``owner``."""
    call = ast.copy_location(ast.Call(node.func, [], node.keywords), node)
    given = arguments_by_name(ctx, call, ctx.text(node.func), owner.names)
    before = len(ctx.block)
    values = dict(zip(given, _operands(ctx, given), strict=True))
    if ctx.has_effects(before):
        kept, _ = ctx.keep(owner, before)
        assert isinstance(kept, TupleValue)
        owner = kept
    return owner.of(values.get(name, item) for name, item in zip(owner.names, owner.items, strict=True))


def _operands(ctx: Context, given: dict[str, ast.expr]) -> list[Value]:
    values = ctx.operands(*given.values())
    for value, part in zip(values, given.values(), strict=True):
        if isinstance(value, NoValue):
            ctx.fail("VKA223", part, text=ctx.text(part))
    return values


def _fields_of(ctx: Context, cls: Any, node: ast.Call) -> tuple[list[str], int, dict[str, Any]]:
    """The fields in the order of the arguments, how many are given by position, and the defaults."""
    if issubclass(cls, tuple):
        maker = next(base for base in cls.__mro__ if "__new__" in vars(base))
        if "_fields" not in vars(maker) or "__init__" in {name for base in cls.__mro__[:-2] for name in vars(base)}:
            _own_constructor(ctx, cls, node)
        return list(cls._fields), len(cls._fields), dict(cls._field_defaults)
    if getattr(cls.__init__, "__code__", None) is None or not cls.__init__.__code__.co_filename.startswith("<"):
        _own_constructor(ctx, cls, node)
    if hasattr(cls, "__post_init__"):
        _own_constructor(ctx, cls, node)
    fields = dataclasses.fields(cls)
    if not all(field.init for field in fields):
        _own_constructor(ctx, cls, node)
    if set(inspect.signature(cls).parameters) != {field.name for field in fields}:
        _own_constructor(ctx, cls, node)
    first = [field for field in fields if not field.kw_only]
    ordered = [*first, *(field for field in fields if field.kw_only)]
    defaults = {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
    return [field.name for field in ordered], len(first), defaults


def _own_constructor(ctx: Context, cls: type, node: ast.Call) -> NoReturn:
    help_text = f"write an @amp.func that computes the fields and returns `{cls.__name__}`, without such a constructor"
    what = f"constructors that do more than store the fields, as that of `{cls.__name__}`"
    ctx.fail("VKA101", node, what=what, advice=help_text)
