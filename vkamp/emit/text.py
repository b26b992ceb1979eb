"""Pieces of GLSL text with their precedences, and the parentheses that a person would write around them.

An operand is parenthesised where the grammar needs it, and where operators mix that readers mix up (bit operations,
shifts, comparisons).
"""

from __future__ import annotations

from dataclasses import dataclass

from vkamp.ir.arithmetic import BINARY, COMPARISONS

# Precedences of GLSL, loosest first.
COND, LOR, LXOR, LAND, OR, XOR, AND, EQ, REL, SHIFT, ADD, MUL, UNARY, POSTFIX = range(14)
_BITWISE = (SHIFT, AND, XOR, OR)
_COMPARISONS = (EQ, REL)

_LEVELS = {
    "add": ADD, "sub": ADD, "mul": MUL, "div": MUL, "shl": SHIFT, "shr": SHIFT,
    "bitand": AND, "bitor": OR, "bitxor": XOR,
    "eq": EQ, "ne": EQ, "lt": REL, "le": REL, "gt": REL, "ge": REL,
}  # fmt: skip
#: The operators of GLSL with their precedences, by operation.
OPERATORS = {
    **{name: ({**BINARY, **COMPARISONS}[name].glsl, level) for name, level in _LEVELS.items()},
    "and": ("&&", LAND), "or": ("||", LOR),
}  # fmt: skip
BOOL_OPERATORS = {"bitand": ("&&", LAND), "bitor": ("||", LOR), "bitxor": ("^^", LXOR)}


@dataclass(frozen=True)
class Text:
    """GLSL and its precedence."""

    glsl: str
    level: int = POSTFIX


def operation(name: str, left: Text, right: Text) -> Text:
    """Two operands with the operator for an operation between them, in the parentheses that they need."""
    return joined(*OPERATORS[name], left, right)


def choice(condition: Text, then: Text, orelse: Text) -> Text:
    """The conditional operator with its operands, in the parentheses that they need."""
    return Text(f"{in_parentheses(condition, LOR)} ? {in_parentheses(then, LOR)} : {orelse.glsl}", COND)


def in_parentheses(text: Text, least: int) -> str:
    """The text, in parentheses if it binds less than ``least``."""
    return text.glsl if text.level >= least else f"({text.glsl})"


def joined(sign: str, level: int, left: Text, right: Text) -> Text:
    a = _operand(left, level, sign, is_right=False)
    b = _operand(right, level, sign, is_right=True)
    return Text(f"{a} {sign} {b}", level)


def _operand(text: Text, level: int, sign: str, is_right: bool) -> str:
    """An operand of a binary operator, with the parentheses that grammar and readers need."""
    if text.level == level and sign in ("&&", "||"):
        return text.glsl
    needed = text.level < level or (is_right and text.level == level)
    if is_right and sign in ("+", "-") and text.glsl.startswith("-"):
        needed = True
    return f"({text.glsl})" if needed or _is_confusing(text, level, sign) else text.glsl


def _is_confusing(text: Text, level: int, sign: str) -> bool:
    """Whether readers mix up the precedences of an operand and its operator, although the grammar is clear."""
    if text.level >= UNARY:
        return False
    if level in _BITWISE:
        return text.level != level or f" {sign} " not in text.glsl
    if level in _COMPARISONS:
        return text.level in (*_BITWISE, *_COMPARISONS)
    if level == MUL:
        return sign == "%" or " % " in text.glsl or (sign == "/" and " / " in text.glsl)
    return level in (LOR, LXOR) and text.level == LAND
