"""Kernels from text, for tests whose rows are data."""

from __future__ import annotations

import linecache
import math
from typing import Any

import vkamp as amp

_made = 0


def define(source: str, **names: Any) -> Any:
    """The function ``k`` of a text, which may use ``amp``, ``math`` and ``names``."""
    global _made
    _made += 1
    file = f"<row {_made}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {"amp": amp, "math": math, **names}
    exec(compile(source, file, "exec"), space)
    return space["k"]


def defined(source: str) -> Any:
    """The kernel ``k`` of a text."""
    return amp.kernel(define(source))
