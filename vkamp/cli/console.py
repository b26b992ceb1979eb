"""What all commands print with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

#: Text is data here: brackets in it are no markup, numbers no decoration, and a narrow pipe wraps no line.
OUT = Console(markup=False, highlight=False, soft_wrap=True)
ERRORS = Console(stderr=True, markup=False, highlight=False, soft_wrap=True)

MARKS = {True: ("ok", "green"), False: ("wrong", "red"), None: ("-", "dim")}


def say(text: str, style: str = "") -> None:
    """A line of output."""
    OUT.print(Text(text, style=style))


def print_json(data: Any) -> None:
    """Data for other programs: nothing but JSON, also on a terminal."""
    print(json.dumps(data, indent=2, default=str))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, title: str = "") -> None:
    """Rows under headings; the last column takes what room there is."""
    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for number, name in enumerate(columns):
        table.add_column(name, overflow="fold", no_wrap=number == 0)
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    Console(markup=False, highlight=False).print(table)
