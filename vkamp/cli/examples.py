"""The compiler errors of ``docs/errors.md``, which ``vkamp explain`` shows: each with its message and two programs.

The programs are written by hand; ``--vkamp-accept`` of the test suite, which compiles them, writes the messages. Errors
of hand-edited shaders have a message but no programs. A wheel has a copy of the page beside this file.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from vkamp.errors import AmpError

_PLACES = (Path(__file__).with_name("errors.md"), Path(__file__).parents[2] / "docs" / "errors.md")


@dataclass(frozen=True)
class Example:
    """An error's class name and message, a program that causes the error, and a corrected program."""

    kind: str
    message: str
    programs: tuple[str, ...]

    @property
    def headline(self) -> str:
        """The message's first sentence, without the code."""
        return self.message.partition("\n")[0].partition(": ")[2]


@functools.cache
def examples() -> dict[str, Example]:
    """The examples by code.

    :raises AmpError: If the page is missing.
    """
    page = next((place for place in _PLACES if place.is_file()), None)
    if page is None:
        raise AmpError("the page of the errors, errors.md, is not installed: install vkamp with pip")
    return parse(page.read_text(encoding="utf-8"))


def parse(page: str) -> dict[str, Example]:
    """The examples of a page."""
    out = {}
    for part in re.split(r"^### ", page, flags=re.MULTILINE)[1:]:
        code, _, rest = part.partition("\n")
        blocks = re.findall(r"^```(\w+)\n(.*?)\n```$", rest, re.MULTILINE | re.DOTALL)
        kind = re.match(r"\s*`amp\.(\w+)`", rest)
        messages = [text for language, text in blocks if language == "text"]
        programs = tuple(f"{text}\n" for language, text in blocks if language == "python")
        out[code.strip()] = Example(kind[1] if kind else "", "".join(messages), programs)
    return out
