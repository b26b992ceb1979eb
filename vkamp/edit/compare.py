"""Shaders as code: what is left of them without comments, and which lines of two of them correspond."""

from __future__ import annotations

import re

_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_MARKERS = tuple(mark * 7 for mark in "<|>")


def code_of(text: str) -> str:
    """A shader without comments, empty lines and space at the ends of lines.

    Generated shaders carry the Python lines as comments: what changes there alone is no change of the kernel.
    """
    plain = _COMMENTS.sub(lambda found: "\n" * found.group().count("\n"), text)
    return "\n".join(line.rstrip() for line in plain.splitlines() if line.strip())


def conflict_line(text: str) -> int | None:
    """The first line (from 1) that a merge left for a person to decide."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(_MARKERS):
            return number
    return None


def generated_line(edited: str, generated: str, line: int) -> tuple[int, bool] | None:
    """The line (from 1) of the generated shader that a line of the edited one is or replaces, and ``True``; of an
    inserted line the one before it, and ``False``.
    """
    # Imported here: only errors need it.
    import difflib

    matcher = difflib.SequenceMatcher(None, edited.splitlines(), generated.splitlines(), autojunk=False)
    for kind, first, end, other, other_end in matcher.get_opcodes():
        if first < line <= end:
            if kind == "delete":
                return (other, False) if other > 0 else None
            return min(other + line - first, other_end), True
    return None
