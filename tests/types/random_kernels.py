"""Kernels of random expressions over elements of all types."""

from __future__ import annotations

import linecache
import random
from typing import Any

import vkamp as amp

SIZE = 24
SMALL = ("int8", "uint8", "int16", "uint16", "float16", "int32", "uint32", "float32")
WIDE = (*SMALL, "int64", "uint64", "float64")
#: The types that values have.
VALUES = {"int8": "int32", "uint8": "int32", "int16": "int32", "uint16": "int32"}
RANK = ("int32", "uint32", "int64", "uint64", "float16", "float32", "float64")


class Writer:
    """Writes expressions, and knows their types."""

    def __init__(self, seed: int, types: tuple[str, ...]) -> None:
        self.random = random.Random(seed)
        self.types = types

    def expression(self, depth: int) -> tuple[str, str]:
        """A text and its type."""
        choose = self.random.choice
        if depth == 0 or self.random.random() < 0.1:
            kind = choose(self.types)
            return f"{choose('abc')}_{kind}[i]", VALUES.get(kind, kind)
        what = self.random.random()
        left, kind = self.expression(depth - 1)
        is_float = kind.startswith("float")
        if what < 0.15:
            return f"-({left})" if is_float or kind.startswith("int") else f"~({left})", kind
        if what < 0.3:
            target = choose([t for t in self.types if not is_float or t.startswith("float")])
            if kind == "float64" and target == "float16":
                target = "float32"
            return f"amp.{target}({left})", VALUES.get(target, target)
        right, other = self.expression(depth - 1)
        both = max(kind, other, key=RANK.index)
        if what < 0.4:
            return f"(({left}) if ({left}) < ({right}) else ({right}))", both
        if what < 0.5 and not both.startswith("float"):
            bits = 63 if kind.endswith("64") else 31
            return f"(({left}) {choose(['<<', '>>'])} (({right}) & {bits}))" if not other.startswith(
                "float"
            ) else left, kind
        operators = ["+", "-", "*"] if both.startswith("float") else ["+", "-", "*", "&", "|", "^"]
        return f"(({left}) {choose(operators)} ({right}))", both


def kernel_of(seed: int, types: tuple[str, ...]) -> tuple[Any, list[str]]:
    """A kernel, and the types of the arrays that it writes."""
    writer = Writer(seed, types)
    names = [f"{letter}_{kind}" for letter in "abc" for kind in types]
    outs, lines = [], []
    for k in range(6):
        text, kind = writer.expression(3)
        fitting = [t for t in types if not kind.startswith("float") or t.startswith("float")]
        target = writer.random.choice([t for t in fitting if not (kind == "float64" and t == "float16")])
        outs.append(target)
        lines.append(f"    out{k}[i] = {text}")
    source = "\n".join([f"def k(i, {', '.join(names)}, {', '.join(f'out{k}' for k in range(6))}):", *lines, ""])
    file = f"<types {seed} {len(types)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {"amp": amp}
    exec(compile(source, file, "exec"), space)
    return amp.kernel(precise=True)(space["k"]), outs
