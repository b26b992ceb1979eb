"""Values of a running kernel as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vkamp.ir.types import Array, Scalar, Struct, Type, Vector


def value_text(kind: Type, words: Any, unit: int = 4) -> str:
    """A value in Python's notation: vectors and structs as calls of their types.

    A struct is a list of words of ``unit`` bytes.
    """
    if isinstance(kind, Scalar):
        if words is None:
            return "?"
        return str(bool(words)) if kind.kind == "bool" else str(words)
    if isinstance(kind, Vector):
        return f"{kind}({', '.join(value_text(kind.element, part) for part in words)})"
    assert isinstance(kind, Struct)
    fields = (f"{f.name}={text_at(f.type, words, f.offset // unit, unit)}" for f in kind.fields)
    return f"{kind.name}({', '.join(fields)})"


def text_at(kind: Type, words: Sequence[Any], word: int, unit: int = 4) -> str:
    """The value at a word of a struct."""
    if isinstance(kind, Array):
        step = kind.element.size // unit
        parts = [text_at(kind.element, words, word + k * step, unit) for k in range(kind.count)]
        for size in reversed(kind.shape):
            parts = [f"[{', '.join(parts[k : k + size])}]" for k in range(0, len(parts), size)]
        return parts[0]
    if isinstance(kind, Scalar):
        return value_text(kind, words[word])
    part = words[word : word + kind.size // unit]
    return value_text(kind, part[:: kind.element.size // unit] if isinstance(kind, Vector) else part, unit)
