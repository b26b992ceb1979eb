"""The syntax tree of a lambda: which one of its file a code object was made from."""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from functools import lru_cache
from types import CodeType

from vkamp.front.bytecode import compiled, essence

#: Files whose lambdas are kept.
_KEEP = 16


def lambda_of(code: CodeType) -> ast.Lambda | None:
    """The lambda that a code object was compiled from; ``None`` if its file no longer has one like it."""
    lines = _lines_of(code)
    on_line = _lambdas(code.co_filename, lines).get(code.co_firstlineno, ())
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    alike = [node for node in on_line if _names(node) == names]
    if len(alike) < 2:
        return alike[0] if alike else None
    columns = _columns(code)
    if columns is None:
        # Two lambdas of one line that compile to the same mean the same.
        wanted = essence(code)
        return next((node for node in alike if essence(compiled(node, code)) == wanted), None)
    around = [node for node in alike if _start(node.body) <= columns[0] and columns[1] <= _end(node.body)]
    # A lambda in a lambda is inside of both.
    return max(around, key=lambda node: _start(node.body), default=None)


def _lines_of(code: CodeType) -> tuple[str, ...]:
    lines = linecache.getlines(code.co_filename)
    if code.co_firstlineno > len(lines):
        try:
            lines = inspect.findsource(code)[0]
        except OSError:
            return ()
    return tuple(lines)


@lru_cache(maxsize=_KEEP)
def _lambdas(file: str, lines: tuple[str, ...]) -> dict[int, list[ast.Lambda]]:
    """The lambdas of a file, by their lines."""
    try:
        tree = ast.parse("".join(lines), file)
    except SyntaxError:
        return {}
    found: dict[int, list[ast.Lambda]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            found.setdefault(node.lineno, []).append(node)
    return found


def _names(node: ast.Lambda) -> tuple[str, ...]:
    arguments = node.args
    return tuple(a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))


# -- lambdas of one line -------------------------------------------------------------------------------------------


def _columns(code: CodeType) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """The lines and columns where a function's instructions begin and end, which Python 3.10 does not record."""
    if sys.version_info < (3, 11):
        return None
    # The first instructions have no text: they begin and end at one column.
    known = [p for p in code.co_positions() if None not in p and p[2:] != (0, 0)]
    if not known:
        return None
    return min((p[0], p[2]) for p in known), max((p[1], p[3]) for p in known)


def _start(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or 0, node.end_col_offset or 0
