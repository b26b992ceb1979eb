"""A shader as a sequence of units: statements, headers of blocks, closing braces, comments, directives.

The concatenated texts of the units are the shader's text. A shader that is being edited may be incorrect; incomplete
statements are units, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

#: ``open`` is a header with its brace, such as ``if (x) {``; ``close`` the brace that ends the block; ``end`` what
#: follows the last unit.
Kind = Literal["code", "open", "close", "comment", "directive", "end"]

_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))
  | (?P<word>[A-Za-z_]\w*)
  | (?P<number>\.?\d(?:[eE][+-]|[\w.])*)
  | (?P<operator><<=|>>=|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||\^\^|[-+*/%&|^]=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_SPACE = re.compile(r"\s+")
_DIRECTIVE = re.compile(r"#(?:\\\n|[^\n])*")
#: The rest of a line, which belongs to the unit before it.
_TAIL = re.compile(r"[ \t]*(?://[^\n]*|/\*(?:(?!\*/)[^\n])*\*/[ \t]*)?(?:\n|\Z)")
#: A line of the Python source in a comment: a change of its number does not change the statement.
PYTHON_LINE = re.compile(r"(\w+\.py:)(\d+)")
#: Words before a name that are not types.
_NO_TYPES = frozenset({"return", "else", "case", "do", "layout"})
_CONTROL = frozenset({"if", "else", "for", "while", "do", "switch"})


@dataclass(frozen=True)
class Unit:
    """One unit. Its text is ``lead + core + tail``: the whitespace before it, the unit itself, the rest of its line."""

    kind: Kind
    lead: str
    core: str
    tail: str
    #: Its code without whitespace and comments; equal for equal units.
    key: tuple[str, ...]
    #: The unit that opens the block that a ``close`` ends.
    opener: int | None = None
    #: The unit that opens the block that it is in.
    parent: int | None = None
    #: The number of blocks that contain it.
    depth: int = 0
    #: The first unit of the function, or other block of the file, that it is in.
    scope: int | None = None
    #: Whether it is the first of its line.
    begins_line: bool = True

    @property
    def text(self) -> str:
        return self.lead + self.core + self.tail

    @property
    def comments(self) -> list[str]:
        """The comments in it and on the rest of its line."""
        return [text for kind, text in tokens_of(self.core + self.tail) if kind == "comment"]


def tokens_of(text: str) -> Iterator[tuple[str, str]]:
    """The tokens of GLSL, including whitespace and comments, as (kind, text); together they are the text."""
    for found in _TOKEN.finditer(text):
        yield str(found.lastgroup), found.group()


def code_tokens(text: str) -> tuple[str, ...]:
    """The tokens without whitespace and comments."""
    return tuple(token for kind, token in tokens_of(text) if kind not in ("space", "comment"))


def declared_names(key: tuple[str, ...]) -> set[str]:
    """The names that a statement, or a function's header, declares: each follows a type, or a comma after one."""
    found: set[str] = set()
    depth = 0
    for before, token, after in zip(("", *key), key, (*key[1:], ";"), strict=False):
        depth += (token in "([{") - (token in ")]}")
        if not token.isidentifier() or after not in ("=", ";", ",", "[", "(", ")") or before in _NO_TYPES:
            continue
        if before.isidentifier() or before == "]" or (before == "," and found and depth == 0):
            found.add(token)
    return found


def split(text: str) -> list[Unit]:
    """The units of a shader; the last is the ``end``."""
    units: list[Unit] = []
    opened: list[int] = []
    at = 0
    while at < len(text):
        unit, at = _next(text, at, units, opened)
        begins_line = not units or units[-1].tail.endswith("\n") or "\n" in unit.lead
        if unit.kind == "close":
            opener = opened.pop() if opened else None
            unit = replace(unit, opener=opener)
        scope = opened[0] if opened else unit.opener
        parent = opened[-1] if opened else None
        units.append(replace(unit, parent=parent, depth=len(opened), scope=scope, begins_line=begins_line))
        if unit.kind == "open":
            opened.append(len(units) - 1)
    if not units or units[-1].kind != "end":
        units.append(Unit("end", "", "", "", ("end",)))
    return units


def _next(text: str, start: int, units: list[Unit], opened: list[int]) -> tuple[Unit, int]:
    """The unit that begins at ``start``, without its place, and where the next one begins."""
    space = _SPACE.match(text, start)
    core = start if space is None else space.end()
    if core == len(text):
        return Unit("end", text[start:], "", "", ("end",)), core
    kind, end = _extent(text, core, bool(opened) and _is_declaration(units[opened[-1]]))
    found = _TAIL.match(text, end)
    after = end if found is None else found.end()
    code = text[core:end]
    if kind == "comment":
        key: tuple[str, ...] = (PYTHON_LINE.sub(r"\1", " ".join(code.split())),)
    elif kind == "directive":
        key = tuple(code.split())
    else:
        key = code_tokens(code)
    return Unit(kind, text[start:core], code, text[end:after], key), after


def _extent(text: str, start: int, in_declaration: bool) -> tuple[Kind, int]:
    """The kind of the unit that begins at ``start`` (not at whitespace), and where it ends."""
    directive = _DIRECTIVE.match(text, start)
    if directive is not None:
        return "directive", directive.end()
    depth = 0
    is_first, is_value, first = True, False, ""
    for found in _TOKEN.finditer(text, start):
        kind, token = found.lastgroup, found.group()
        if kind == "comment":
            if is_first:
                return "comment", found.end()
        elif kind != "space":
            first = first or token
            if token == "}" and is_first:
                return "close", _close_end(text, found.end(), in_declaration)
            if token in ("(", "[") or (token == "{" and (is_value or depth)):
                depth += 1
            elif token == "{":
                return "open", found.end()
            elif token in (")", "]", "}"):
                depth -= 1
            elif depth <= 0 and (token == ";" or (token == ":" and first in ("case", "default"))):
                return "code", found.end()
            is_value = is_value or (token == "=" and depth == 0)
            is_first = False
    return "code", len(text.rstrip())


def _close_end(text: str, end: int, in_declaration: bool) -> int:
    """The end of a closing brace; for a struct or buffer it includes the semicolon and the name before it."""
    if in_declaration:
        for found in _TOKEN.finditer(text, end):
            if found.group() == ";":
                return found.end()
            if found.lastgroup not in ("space", "word", "number") and found.group() not in "[]":
                break
    return end


def _is_declaration(opener: Unit) -> bool:
    """Whether a block is that of a struct or buffer, not of a function or of statements."""
    return len(opener.key) > 1 and opener.key[0] not in _CONTROL and opener.key[-2] != ")"
