"""The GLSL functions that rows of the table are made of: ``precise.glsl`` and ``doubles.glsl``, cut into functions."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Literal

#: Functions of float32 or of float64; some of both have one name, as overloads.
Library = Literal["precise", "doubles"]

_HEAD = re.compile(r"^\w+ (\w+)\(", re.MULTILINE)
_CALL = re.compile(r"\b(\w+)\(")


@lru_cache(maxsize=2)
def functions(library: Library = "precise") -> dict[str, str]:
    """The text of every function with the comment above it, by name; what one calls stands before it."""
    text = Path(__file__).with_name(f"{library}.glsl").read_text(encoding="utf-8")
    table = {}
    for block in text.split("\n\n"):
        head = _HEAD.search(block)
        if head is not None:
            table[head.group(1)] = block.strip("\n") + "\n"
    return table


@lru_cache(maxsize=1)
def function_names() -> frozenset[str]:
    """The names of all functions."""
    return frozenset(functions()) | frozenset(functions("doubles"))


@lru_cache(maxsize=512)
def needed_by(text: str, library: Library = "precise") -> frozenset[str]:
    """The names of the functions that a piece of GLSL calls, directly or not."""
    table = functions(library)
    found: set[str] = set()
    waiting = [text]
    while waiting:
        called = {name for name in _CALL.findall(waiting.pop()) if name in table} - found
        found |= called
        waiting += [table[name] for name in called]
    return frozenset(found)
