"""The number of a call's arguments."""

from __future__ import annotations

import ast
from typing import NoReturn

from vkamp.front.context import Context


def no_keywords(ctx: Context, node: ast.Call) -> None:
    if node.keywords:
        ctx.fail("VKA220", node, text=ctx.text(node.func))


def check_arity(ctx: Context, node: ast.Call, expected: int, name: str, usage: str = "") -> None:
    if len(node.args) != expected:
        wrong_count(ctx, node, name, expected, usage)


def wrong_count(ctx: Context, node: ast.Call, name: str, expected: int | str, usage: str = "") -> NoReturn:
    """Raises the error for a wrong number of arguments; ``usage`` is how to write the call."""
    given = len(node.args) + len(node.keywords)
    s, are = "" if expected == 1 else "s", "is" if given == 1 else "are"
    help_text = f"write `{usage}`" if usage else "pass as many as it takes"
    number = "no" if expected == 0 else expected
    ctx.fail("VKA207", node, name=name, expected=number, given=given, s=s, are=are, advice=help_text)
