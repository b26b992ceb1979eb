"""The GLSL functions that rows of the table are made of: ``precise.glsl``, cut into its functions."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files

__all__ = ["function_names", "functions", "needed_by"]

_HEAD = re.compile(r"^\w+ (\w+)\(", re.MULTILINE)
_CALL = re.compile(r"\b(\w+)\(")


@lru_cache(maxsize=1)
def functions() -> dict[str, str]:
    """The text of every function with the comment above it, by name; what one calls stands before it."""
    text = files("vkamp.ir").joinpath("precise.glsl").read_text(encoding="utf-8")
    table = {}
    for block in text.split("\n\n"):
        head = _HEAD.search(block)
        if head is not None:
            table[head.group(1)] = block.strip("\n") + "\n"
    return table


@lru_cache(maxsize=1)
def function_names() -> frozenset[str]:
    """The names of all functions."""
    return frozenset(functions())


@lru_cache(maxsize=512)
def needed_by(text: str) -> frozenset[str]:
    """The names of the functions that a piece of GLSL calls, directly or not."""
    table = functions()
    found: set[str] = set()
    waiting = [text]
    while waiting:
        called = {name for name in _CALL.findall(waiting.pop()) if name in table} - found
        found |= called
        waiting += [table[name] for name in called]
    return frozenset(found)
