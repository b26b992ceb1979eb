"""Writes ``docs/errors.md``: its tables, and the order and form of its entries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from vkamp.cli.examples import Example

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"

_HEAD = """\
# Errors

This page lists every code of a compiler error or warning, with a program that causes it, the message, and a
corrected program. `vkamp explain VKA601` shows the same in the terminal. Each message names the line, states in a
sentence what is wrong, shows the places that explain it, and ends with what to write instead. The programs run in
the tests. In them `amp` is vkamp, `np` is numpy, and the names of parameters determine their types: `a`, `b`, `out`
and `values` are float32 of rank 1, `counts` and `flags` int32, `grid` and `m` float32 of rank 2. The tests write
everything but the programs.

"""
_PARTS = {
    "1": "Syntax",
    "2": "Names and calls",
    "3": "Types",
    "4": "Memory",
    "5": "Tiles and devices",
    "6": "Barriers and races",
    "7": "Hand-edited shaders",
}
_EDITS = """
These errors concern [hand-edited shaders](hand-edited-shaders.md). Each message comes from an edited shader of the
kernel `row_sums` with that mistake; the file is named after the mistake.
"""


def render(examples: Mapping[str, Example]) -> str:
    """The page with these examples."""
    parts = [_HEAD]
    for digit, title in _PARTS.items():
        codes = [code for code in sorted(examples) if code[3] == digit]
        parts.append(f"| [{title}](#{title.lower().replace(' ', '-')}) | |\n|---|---|\n")
        parts += [f"| [{code}](#{code.lower()}) | {_prose(examples[code].headline)} |\n" for code in codes]
        parts.append("\n")
    for digit, title in _PARTS.items():
        parts.append(f"## {title}\n{_EDITS if digit == '7' else ''}")
        parts += [_entry(code, examples[code]) for code in sorted(examples) if code[3] == digit]
    return "".join(parts).rstrip("\n") + "\n"


def _entry(code: str, example: Example) -> str:
    shown = [f"```text\n{example.message}\n```\n"]
    if example.programs:
        wrong, right = (f"```python\n{program.strip()}\n```\n" for program in example.programs)
        shown = ["Wrong:\n", wrong, *shown, "Right:\n", right]
    return "\n".join([f"\n### {code}\n", f"`amp.{example.kind}`: {_prose(example.headline)}\n", *shown])


def _prose(text: str) -> str:
    """A message in a page: what is not in backquotes is no markup."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"[*_<\[]", r"\\\g<0>", part) for part in parts[::2]]
    return "`".join(parts).replace("|", "\\|")
