"""The page docs/conformance.md: the rows that the tests in this folder show."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.conformance.registry import SECTIONS, Row, collect

PAGE = Path(__file__).resolve().parents[2] / "docs" / "conformance.md"

_HEAD = """\
# Conformance

This page lists C++ AMP's model row by row, and how vkamp conforms to it. At least one test in `tests/conformance`
demonstrates each row, on every accelerator of the session. Generated from those tests; do not edit.

"""


def render() -> str:
    """The page."""
    rows = collect()
    counts = Counter(row.verdict for row in rows)
    parts = [_HEAD, ", ".join(f"{number} rows: {verdict}" for verdict, number in counts.items()), ".\n"]
    for number, title in SECTIONS.items():
        mine = {row: tests for row, tests in rows.items() if row.section == number}
        if mine:
            parts.append(f"\n## {number}. {title}\n\n| C++ AMP | vkamp | shown by |\n|---|---|---|\n")
            parts += [_line(row, tests) for row, tests in mine.items()]
    return "".join(parts)


def _line(row: Row, tests: list[str]) -> str:
    stands = f"{row.verdict}: {row.note}" if row.note else row.verdict
    shown = ", ".join(f"`{test}`" for test in dict.fromkeys(tests))
    return f"| {_cell(row.name)} | {_cell(stands)} | {shown} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
