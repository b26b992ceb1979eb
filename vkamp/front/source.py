"""From a Python function to its syntax tree, with spans that point into the user's file."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FunctionType

from vkamp.errors import Span, diagnostic

__all__ = ["Source", "source_of", "source_of_code"]


@dataclass(frozen=True)
class Source:
    """A function's syntax tree; ``shift`` is the indentation that was taken off its lines."""

    node: ast.FunctionDef
    file: str
    first_line: int
    shift: int
    name: str

    def span(self, node: ast.AST, caller: Span | None = None) -> Span:
        """Where a node lies in the user's file."""
        line = getattr(node, "lineno", 1)
        column = getattr(node, "col_offset", 0)
        end_line = getattr(node, "end_lineno", None) or line
        end_column = getattr(node, "end_col_offset", None)
        if end_column is None:
            end_column = column + 1
        base = self.first_line - 1
        return Span(
            self.file,
            line + base,
            column + self.shift,
            end_line + base,
            end_column + self.shift,
            self.name,
            caller,
        )


def source_of(function: FunctionType) -> Source:
    """The syntax tree of a function; raises VKA102 if its source can't be found or it is no plain function."""
    return source_of_code(function.__code__)


@lru_cache(maxsize=1024)
def source_of_code(code: CodeType) -> Source:
    """The same, of a function's code."""
    start = Span(code.co_filename, code.co_firstlineno, 0, code.co_firstlineno, 1 << 20)
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise diagnostic("VKA107", start, what="A generator or coroutine")
    try:
        lines, first = _source_lines(code)
    except (OSError, TypeError) as error:
        raise diagnostic("VKA102", None, name=code.co_name, reason=error) from error
    text = "".join(lines)
    shift = len(lines[0]) - len(lines[0].lstrip())
    try:
        tree = ast.parse(textwrap.dedent(text))
    except SyntaxError as error:
        # A lambda in the middle of an expression is no statement of its own.
        raise diagnostic("VKA107", start, what="A lambda") from error
    found = next((n for n in tree.body if isinstance(n, ast.FunctionDef)), None)
    if found is None:
        raise diagnostic("VKA107", start, what="A lambda")
    return Source(found, code.co_filename, first, shift, code.co_name)


def _source_lines(code: CodeType) -> tuple[list[str], int]:
    """What ``inspect.getsourcelines`` gives, which looks through all loaded modules first: 7 ms more."""
    linecache.checkcache(code.co_filename)
    lines, first = linecache.getlines(code.co_filename), code.co_firstlineno
    if first > len(lines):
        return inspect.getsourcelines(code)
    return inspect.getblock(lines[first - 1 :]), first
