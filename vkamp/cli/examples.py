"""A wrong and a right kernel for each compiler's error, as ``vkamp explain`` shows them; the suite compiles all.

``examples.txt`` holds them: ``== CODE``, the wrong one, ``--``, the right one.  A text without decorators is a kernel.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Example", "examples"]


@dataclass(frozen=True)
class Example:
    """Two programs: one that has the error, one that has not."""

    wrong: str
    right: str


@functools.cache
def examples() -> dict[str, Example]:
    """The examples by code."""
    text = Path(__file__).with_name("examples.txt").read_text(encoding="utf-8")
    out = {}
    for part in re.split(r"^== ", text, flags=re.MULTILINE)[1:]:
        code, _, rest = part.partition("\n")
        wrong, _, right = rest.partition("\n--\n")
        out[code.strip()] = Example(_program(wrong), _program(right))
    return out


def _program(text: str) -> str:
    """With the decorator of a kernel that stands alone."""
    text = text.strip("\n")
    if "@amp." not in text:
        text = re.sub(r"^def ", "@amp.kernel\ndef ", text, count=1, flags=re.MULTILINE)
    return text + "\n"
