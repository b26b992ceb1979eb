"""How all commands print."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

#: Text is data: brackets are not markup, numbers are not highlighted, and lines are not wrapped in a narrow pipe.
OUT = Console(markup=False, highlight=False, soft_wrap=True)
ERRORS = Console(stderr=True, markup=False, highlight=False, soft_wrap=True)

MARKS = {True: ("ok", "green"), False: ("wrong", "red"), None: ("-", "dim")}


def say(text: str, style: str = "") -> None:
    """Prints a line."""
    OUT.print(Text(text, style=style))


def print_json(data: Any) -> None:
    """Prints data for other programs: only JSON, even on a terminal."""
    print(json.dumps(data, indent=2, default=str))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints rows under headings; the last column uses the remaining width."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, name in enumerate(columns):
        table.add_column(name, overflow="fold", no_wrap=number == 0)
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    Console(markup=False, highlight=False).print(table)
