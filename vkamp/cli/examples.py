"""A wrong and a right kernel for each compiler's error, as ``vkamp explain`` shows them; the suite compiles all.

``examples.txt`` holds them: ``== CODE``, the wrong one, ``--``, the right one.  A text without decorators is a kernel.
``messages.txt`` holds what the wrong ones are told: ``== CODE CLASS`` and the whole message.  Hand-edited shaders have
a message and no kernels.  The suite compares the messages, and writes them with ``--vkamp-accept``.
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
    """Two programs: one that has the error, one that has not."""

    wrong: str
    right: str


@dataclass(frozen=True)
class Told:
    """A real message, with the name of its class: an error's or a warning's."""

    kind: str
    text: str

    @property
    def headline(self) -> str:
        """What is wrong, in a sentence, without the code."""
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
    """What the wrong examples are told, by code; of hand-edited shaders, what a wrong one is told."""
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
    """With the decorator of a kernel that stands alone."""
    text = text.strip("\n")
    if "@amp." not in text:
        text = re.sub(r"^def ", "@amp.kernel\ndef ", text, count=1, flags=re.MULTILINE)
    return text + "\n"
