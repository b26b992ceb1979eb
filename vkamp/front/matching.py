"""``match`` (AMP: ``switch``): a chain of ``if``, so that everything known about branches holds for it.

C++ AMP's model: docs/conformance.md, section 10.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NoReturn

from vkamp.front import convert
from vkamp.front.context import Context, Slot
from vkamp.front.match_names import unsupported
from vkamp.front.values import Number, Object, TupleValue, Value
from vkamp.ir.types import BOOL


def as_branches(ctx: Context, node: ast.Match) -> list[ast.stmt]:
    """The ``if`` chain that a ``match`` over a number means; its subject is evaluated here, once."""
    found = ctx.expr(node.subject)
    if isinstance(found, TupleValue) and found.kind == "tuple":
        _refuse_tuple(ctx, node, found)
    refused = unsupported(node)
    if refused is not None and not isinstance(refused, ast.MatchSingleton):
        what, help_text = _refusal(ctx, refused, ctx.text(node.subject))
        ctx.fail("VKA101", refused, what=what, advice=help_text)
    # A string that is known at compile time is compared as it is.
    value = found if isinstance(found, Object) else convert.number(ctx, found, node.subject)
    subject = _subject(ctx, node.subject, value)
    is_bool = not isinstance(value, Object) and convert.scalar_type(value) == BOOL
    chain: list[ast.stmt] = []
    for case in reversed(node.cases):
        test = _test(ctx, case.pattern, subject, is_bool=is_bool)
        if case.guard is not None:
            test = ast.copy_location(ast.BoolOp(ast.And(), [test, case.guard]), case.guard)
        branch = ast.If(test, case.body, chain)
        ast.copy_location(branch, case.pattern)
        branch.end_lineno, branch.end_col_offset = case.body[-1].end_lineno, case.body[-1].end_col_offset
        chain = [branch]
    return chain


def _refuse_tuple(ctx: Context, node: ast.Match, found: TupleValue) -> NoReturn:
    pattern = unsupported(node)
    if pattern is not None and isinstance(node.subject, ast.Tuple):
        advice = "match the items by numbers, names and `_`, or write `if`, `elif` and `else`"
        ctx.fail("VKA101", pattern, what=f"`case {ctx.text(pattern)}` for a tuple", advice=advice)
    items = ", ".join(f"{ctx.text(node.subject)}[{k}]" for k in range(len(found.items)))
    advice = f"write the items: `match ({items}):`"
    ctx.fail("VKA101", node.subject, what="`match` of a tuple that is not written there", advice=advice)


def _subject(ctx: Context, node: ast.expr, value: Value) -> ast.Name:
    """A name for the subject's value: its own, or its text, which cannot be a name in Python."""
    if isinstance(node, ast.Name) and isinstance(ctx.slots.get(node.id), Slot):
        return node
    text = ctx.text(node)
    kept: Value = value
    if isinstance(value, Number):
        kept = Number(ctx.stable(value.expr, "subject"), value.weak, value.double)
    ctx.bind(text, Slot(kept, ctx.span(node), "alias"))
    return ast.copy_location(ast.Name(text, ast.Load()), node)


def _test(ctx: Context, pattern: ast.pattern, subject: ast.Name, *, is_bool: bool) -> ast.expr:
    if isinstance(pattern, ast.MatchValue):
        return _equal(subject, pattern.value, pattern)
    if isinstance(pattern, ast.MatchSingleton) and pattern.value is not None and is_bool:
        return _equal(subject, ast.copy_location(ast.Constant(pattern.value), pattern), pattern)
    if isinstance(pattern, ast.MatchOr):
        tests = [_test(ctx, p, subject, is_bool=is_bool) for p in pattern.patterns]
        return ast.copy_location(ast.BoolOp(ast.Or(), tests), pattern)
    if isinstance(pattern, ast.MatchAs) and pattern.name is None:
        return ast.copy_location(ast.Constant(True), pattern)
    what, help_text = _refusal(ctx, pattern, subject.id)
    ctx.fail("VKA101", pattern, what=what, advice=help_text)


def _equal(subject: ast.Name, value: ast.expr, pattern: ast.pattern) -> ast.expr:
    compare = ast.Compare(ast.copy_location(ast.Name(subject.id, ast.Load()), pattern), [ast.Eq()], [value])
    return ast.copy_location(compare, pattern)


def _refusal(ctx: Context, pattern: ast.pattern, subject: str) -> tuple[str, str]:
    text = ctx.text(pattern)
    if isinstance(pattern, ast.MatchAs):
        return (
            "patterns that bind a name here",
            "write `case _:` for all other values; a constant is a number or a dotted name, `case colors.RED:`",
        )
    if isinstance(pattern, ast.MatchSingleton):
        return f"`case {text}` for a number", f"write a number, or `match {subject} != 0:`"
    kinds: Sequence[tuple[type[ast.pattern], str]] = (
        (ast.MatchSequence, "patterns of sequences"),
        (ast.MatchMapping, "patterns of mappings"),
        (ast.MatchClass, "patterns of classes"),
    )
    what = next((words for kind, words in kinds if isinstance(pattern, kind)), "such patterns")
    return what, "match one number, or write `if`, `elif` and `else`"
