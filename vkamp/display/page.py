"""Pieces of HTML: headings, programs, lists.  Every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["block", "code", "details", "facts", "heading", "note", "program"]

_PLAIN = "white-space: pre; overflow-x: auto; line-height: 1.25; text-align: left"


def block(parts: Iterable[str]) -> str:
    """One thing, made of pieces of HTML."""
    return '<div class="vkamp">\n' + "\n".join(parts) + "\n</div>"


def code(text: str) -> str:
    """A word of a program within a sentence."""
    return f"<code>{escape(text)}</code>"


def heading(thing: str, *texts: str) -> str:
    """A thing as programs call it, and what is to be said of it."""
    return f"<p>{code(thing)}{''.join(f', {escape(text)}' for text in texts)}</p>"


def note(text: str) -> str:
    """A sentence."""
    return f"<p>{escape(text)}</p>"


def facts(rows: Sequence[tuple[str, str]]) -> str:
    """What is known of a thing, name by name."""
    cells = (
        f'<tr><th style="text-align: left">{escape(name)}</th><td style="text-align: left">{escape(text)}</td></tr>'
        for name, text in rows
    )
    return "<table>\n" + "\n".join(cells) + "\n</table>"


def details(summary: str, text: str, *, is_open: bool = True) -> str:
    """A text under its headline."""
    shown = f'<pre style="{_PLAIN}">{escape(text)}</pre>'
    return f"<details{' open' if is_open else ''}><summary>{escape(summary)}</summary>\n{shown}\n</details>"


def program(text: str, language: str) -> str:
    """A program, in colours where Pygments is installed."""
    try:
        from pygments import highlight
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import get_lexer_by_name
    except ImportError:
        return f'<pre style="{_PLAIN}">{escape(text)}</pre>'
    # Without a background of its own the notebook's theme decides.
    formatter = HtmlFormatter(noclasses=True, nobackground=True, prestyles=_PLAIN)
    shown: str = highlight(text, get_lexer_by_name(language), formatter)
    return shown
