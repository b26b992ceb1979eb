"""A wrong and a right kernel for each compiler error, as ``vkamp explain`` shows them; the test suite compiles all.

``examples.txt`` holds them: ``== CODE``, the wrong one, ``--``, the right one. A text without decorators is a kernel.
``messages.txt`` holds the messages for the wrong kernels: ``== CODE CLASS`` and the whole message. Errors of
hand-edited shaders have a message but no kernels. The test suite compares the messages, and ``--vkamp-accept`` rewrites
them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MESSAGES_FILE = Path(__file__).with_name("messages.txt")


@dataclass(frozen=True)
class Example:
    """Two programs: one with the error, one without it."""

    wrong: str
    right: str


@dataclass(frozen=True)
class Told:
    """A real message, with the name of the class of its error or warning."""

    kind: str
    text: str

    @property
    def headline(self) -> str:
        """The message's first sentence, without the code."""
        return self.text.partition("\n")[0].partition(": ")[2]


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


@functools.cache
def messages() -> dict[str, Told]:
    """The messages for the wrong examples, and for a wrong hand-edited shader, by code."""
    out = {}
    for part in re.split(r"^== ", MESSAGES_FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, _, text = part.partition("\n")
        code, kind = head.split()
        out[code] = Told(kind, text.rstrip("\n"))
    return out


def messages_text(found: Mapping[str, Told]) -> str:
    """The file that :func:`messages` reads."""
    return "".join(f"== {code} {told.kind}\n{told.text}\n" for code, told in sorted(found.items()))


def _program(text: str) -> str:
    """The text, with the decorator of a kernel if it has none."""
    text = text.strip("\n")
    if "@amp." not in text:
        text = re.sub(r"^def ", "@amp.kernel\ndef ", text, count=1, flags=re.MULTILINE)
    return text + "\n"
