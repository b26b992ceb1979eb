"""Compares shaders as code: without comments, and by corresponding lines."""

from __future__ import annotations

import re

_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_MARKERS = tuple(mark * 7 for mark in "<|>")


def code_of(text: str) -> str:
    """A shader without comments, empty lines and space at the ends of lines.

    Generated shaders contain the Python lines as comments; a change of comments alone is not a change of the kernel.
    """
    plain = _COMMENTS.sub(lambda found: "\n" * found.group().count("\n"), text)
    return "\n".join(line.rstrip() for line in plain.splitlines() if line.strip())


def conflict_line(text: str) -> int | None:
    """The first line (from 1) of a conflict that a merge left."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(_MARKERS):
            return number
    return None


def generated_line(edited: str, generated: str, line: int) -> tuple[int, bool] | None:
    """The line (from 1) of the generated shader that a line of the edited shader equals or replaces, and ``True``; for
    an inserted line the line before it, and ``False``.
    """
    # Imported here because only errors need it.
    import difflib

    matcher = difflib.SequenceMatcher(None, edited.splitlines(), generated.splitlines(), autojunk=False)
    for kind, first, end, other, other_end in matcher.get_opcodes():
        if first < line <= end:
            if kind == "delete":
                return (other, False) if other > 0 else None
            return min(other + line - first, other_end), True
    return None
