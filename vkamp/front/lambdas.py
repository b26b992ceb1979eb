"""The syntax tree of a lambda: which one of its file a code object was made from."""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from functools import lru_cache
from types import CodeType
from typing import Any

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
        wanted = _essence(code)
        return next((node for node in alike if _essence(_compiled(node, code)) == wanted), None)
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


def _compiled(node: ast.Lambda, code: CodeType) -> CodeType:
    # A function around the lambda makes the same names its free variables.
    outer = ast.parse(f"def outer({', '.join(code.co_freevars)}): return 0")
    function = outer.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = [ast.copy_location(ast.Return(node), node)]
    module = compile(outer, code.co_filename, "exec", dont_inherit=True)
    (inside,) = (each for each in module.co_consts if isinstance(each, CodeType))
    # The lambdas among its defaults come first.
    *_, made = (each for each in inside.co_consts if isinstance(each, CodeType))
    return made


def _essence(code: CodeType) -> tuple[Any, ...]:
    """What two code objects of the same source share, wherever they are."""
    # Python 3.10 keeps the paths of nested functions among the constants.
    known = [c for c in code.co_consts if not (isinstance(c, str) and "<locals>" in c)]
    constants = [_essence(c) if isinstance(c, CodeType) else (type(c), repr(c)) for c in known]
    # Later versions compile the call of a module's function differently where they see the import.
    instructions = code.co_code if sys.version_info < (3, 11) else b""
    return instructions, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
