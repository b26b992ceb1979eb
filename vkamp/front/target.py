"""``amp.target``: properties of the device as constants of the kernel."""

from __future__ import annotations

import ast

from vkamp.front import advice, dtypes
from vkamp.front.arity import check_arity
from vkamp.front.context import Context
from vkamp.front.values import Constant, Object, Value
from vkamp.lang.target import FEATURES, PREFIX, has_name

#: Types that every device computes with.
_EVERYWHERE = ("bool", "int32", "float32")


def trait(ctx: Context, name: str) -> Constant:
    """A trait of the device; the kernel is compiled again where it differs."""
    ctx.module.constants_needed.add(name)
    return Constant(ctx.module.constant_values[name])


def attribute(ctx: Context, name: str) -> Constant | None:
    """``amp.target.cpu`` and the other traits; ``None`` for any other name."""
    full = f"{PREFIX}{name}"
    return trait(ctx, full) if full in ctx.module.constant_values else None


def call_has(ctx: Context, node: ast.Call) -> Value:
    """``amp.target.has("int64")`` or ``amp.target.has(amp.int64)``."""
    text = ctx.text(node.func)
    check_arity(ctx, node, 1, text, f'{text}("int64")')
    (part,) = node.args
    value = ctx.expr(part)
    feature = value.value if isinstance(value, Object) else None
    if not isinstance(feature, str):
        kind = dtypes.scalar_dtype(value)
        feature = None if kind is None else kind.name.removeprefix("u")
        if feature in _EVERYWHERE:
            return Constant(True)
    if feature is None:
        ctx.fail("VKA308", node, what="the feature", kind="the name of one", text=ctx.text(part), advice=_NAMES)
    if feature not in FEATURES:
        close = advice.near(feature, FEATURES)
        ctx.fail("VKA236", part, name=feature, advice=f'did you mean `"{close}"`?' if close else _NAMES)
    return trait(ctx, has_name(feature))


_NAMES = f"write one of {', '.join(FEATURES)}"
