"""Pieces of HTML: headings, programs, lists.  Every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vkamp.errors import FIXED_WIDTH, escaped

_PLAIN = f"{FIXED_WIDTH}; overflow-x: auto; line-height: 1.25; text-align: left"


def block(parts: Iterable[str]) -> str:
    """An element made of pieces of HTML."""
    return '<div class="vkamp">\n' + "\n".join(parts) + "\n</div>"


def code(text: str) -> str:
    """A word of a program in a sentence."""
    return f"<code>{escaped(text)}</code>"


def heading(thing: str, *texts: str) -> str:
    """The name of a thing in programs, and its description."""
    return f"<p>{code(thing)}{''.join(f', {escaped(text)}' for text in texts)}</p>"


def note(text: str) -> str:
    """A sentence."""
    return f"<p>{escaped(text)}</p>"


def facts(rows: Sequence[tuple[str, str]]) -> str:
    """The properties of a thing by name."""
    cells = (
        f'<tr><th style="text-align: left">{escaped(name)}</th><td style="text-align: left">{escaped(text)}</td></tr>'
        for name, text in rows
    )
    return "<table>\n" + "\n".join(cells) + "\n</table>"


def details(summary: str, lines: str, *, is_open: bool = True) -> str:
    """A text under its headline."""
    return f"<details{' open' if is_open else ''}><summary>{escaped(summary)}</summary>\n{text(lines)}\n</details>"


def text(lines: str) -> str:
    """Lines of fixed width, as a terminal shows them."""
    return f'<pre style="{_PLAIN}">{escaped(lines)}</pre>'


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells in rows under a header; the first column is text, the others are numbers."""

    def row(tag: str, cells: Sequence[str]) -> str:
        sides = ("left", *["right"] * (len(cells) - 1))
        return "".join(
            f'<{tag} style="text-align: {side}; padding: 0 0.6em">{escaped(cell)}</{tag}>'
            for cell, side in zip(cells, sides, strict=True)
        )

    lines = [f"<tr>{row('th', header)}</tr>", *(f"<tr>{row('td', cells)}</tr>" for cells in rows)]
    return "<table>\n" + "\n".join(lines) + "\n</table>"


def program(source: str, language: str) -> str:
    """A program, in colours where Pygments is installed."""
    try:
        from pygments import highlight
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import get_lexer_by_name
    except ImportError:
        return text(source)
    # Without a background colour, the notebook's theme applies.
    formatter = HtmlFormatter(noclasses=True, nobackground=True, prestyles=_PLAIN)
    shown: str = highlight(source, get_lexer_by_name(language), formatter)
    return shown
