"""From a Python function to its syntax tree, with spans that point into the user's file."""

from __future__ import annotations

import ast
import hashlib
import inspect
import linecache
import os
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FunctionType

from vkamp.errors import CompileError, Span, UnsupportedFeatureError, diagnostic
from vkamp.front.bytecode import is_made_from
from vkamp.front.lambdas import lambda_of
from vkamp.front.match_names import with_branches
from vkamp.front.private_names import with_private_names
from vkamp.lang.kernel import LOADED
from vkamp.records import dataclass

#: The attribute in which a node remembers its position.
_SPAN = "_vkamp_span"
#: Python's name of a lambda.
LAMBDA = "<lambda>"


@dataclass(frozen=True)
class Source:
    """A function's syntax tree; its first line, and the column in which that begins."""

    node: ast.FunctionDef
    file: str
    first_line: int
    first_column: int
    name: str

    @property
    def is_lambda(self) -> bool:
        """Whether the function is a lambda, as which ``node`` is a function that returns its expression."""
        return self.name == LAMBDA

    @property
    def definition(self) -> Span:
        """The location where the function's definition begins, behind its decorators."""
        if self.is_lambda:
            start = self.span(self.node)
            return Span(start.file, start.line, start.column, start.line, start.column + len("lambda"), self.name)
        line, column = self.first_line + self.node.lineno - 1, self.first_column
        return Span(self.file, line, column, line, column + len("def"), self.name)

    def span(self, node: ast.AST, caller: Span | None = None) -> Span:
        """The position of a node in the user's file."""
        # Each node is asked several times, most often in the same call.
        known: Span | None = node.__dict__.get(_SPAN)
        if known is not None and known.caller is caller and known.function is self.name:
            return known
        line = getattr(node, "lineno", 1)
        column = getattr(node, "col_offset", 0)
        end_line = getattr(node, "end_lineno", None) or line
        end_column = getattr(node, "end_col_offset", None)
        if end_column is None:
            end_column = column + 1
        base = self.first_line - 1
        span = Span(self.file, line + base, column, end_line + base, end_column, self.name, caller)
        node.__dict__[_SPAN] = span
        return span


def _nowhere(code: CodeType) -> str | None:
    return None


#: Supplies the text of the file of a function's code if the file itself is missing.
_supplier: Callable[[CodeType], str | None] = _nowhere


def supply_sources(supplier: Callable[[CodeType], str | None]) -> None:
    """Registers ``supplier``, a function that provides the texts of missing files."""
    global _supplier
    _supplier = supplier


def _supply(code: CodeType) -> None:
    """Stores the text of a missing file where Python looks for it, for error messages too.

    A program without its files has relative paths: a file of that name may be a different one.
    """
    if not os.path.isabs(code.co_filename) or not linecache.getlines(code.co_filename):
        text = _adopted.get(code.co_filename) or _supplier(code)
        if text is not None:
            _show(code.co_filename, text)


def _show(file: str, text: str) -> None:
    # Without a time of change it stays.
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file


#: The texts of the files of functions that another process sent, by the names that their code has here.
_adopted: OrderedDict[str, str] = OrderedDict()
_MOST_ADOPTED = 256


def text_of_file(code: CodeType) -> str | None:
    """The text of the file of a function's code, for another process; ``None`` if it is not known."""
    _digest_of(CodeKey(code))
    _supply(code)
    return "".join(linecache.getlines(code.co_filename)) or None


def adopt(code: CodeType, text: str) -> CodeType:
    """The code of a function that another process sent, with the text of its file there.

    Its source is found from then on, whether or not this machine has that file. If the file name belongs to another
    text, the code gets a new name: the file's name with a part of the text's hash.
    """
    file = code.co_filename
    for name in (file, f"{file}#{_hash_of_text(text)[:12]}"):
        linecache.checkcache(name)
        known = _adopted.get(name) or "".join(linecache.getlines(name))
        if known not in ("", text):
            continue
        if not known:
            _adopted[name] = text
            while len(_adopted) > _MOST_ADOPTED:
                linecache.cache.pop(_adopted.popitem(last=False)[0], None)
        if name in _adopted:
            _adopted.move_to_end(name)
            _show(name, text)
        break
    return code if name == file else code.replace(co_filename=name)


def _hash_of_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def source_of(function: FunctionType) -> Source:
    """The syntax tree of a function; raises VKA102 if its source can't be found or it is not a plain function."""
    return source_of_code(function.__code__)


class CodeKey:
    """A function's code as a key, by identity: equal code may be in another file, or have other annotations.

    The code stays alive with the key; unlike a function it holds nothing of its closure.
    """

    __slots__ = ("code",)

    def __init__(self, code: CodeType) -> None:
        self.code = code

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CodeKey) and other.code is self.code

    def __hash__(self) -> int:
        return id(self.code)


def source_of_code(code: CodeType) -> Source:
    """The same, of a function's code."""
    return _source_of(CodeKey(code))


def digest_of_code(code: CodeType) -> str | None:
    """A hash of the file that a function's source was taken from; ``None`` if that is not a file."""
    return _digest_of(CodeKey(code))


def is_unchanged(code: CodeType) -> bool:
    """Whether the file still is what the function's source was taken from."""
    linecache.checkcache(code.co_filename)
    return _digest(code.co_filename) == digest_of_code(code)


@lru_cache(maxsize=1024)
def _digest_of(key: CodeKey) -> str | None:
    # As it is when the source is taken.
    linecache.checkcache(key.code.co_filename)
    if _may_have_changed(key.code.co_filename):
        try:
            _found(key.code)
        except CompileError:
            return None
    return _digest(key.code.co_filename)


def _may_have_changed(file: str) -> bool:
    """Whether a file was written after functions may have been defined in it."""
    # What Python keeps of it begins with its size and time, where it has a time.
    known = linecache.cache.get(file, ())
    return len(known) > 1 and known[1] is not None and known[1] >= LOADED


def _digest(file: str) -> str | None:
    if file in _adopted:
        return _hash_of_text(_adopted[file])
    if not os.path.isfile(file):
        return None
    # Many functions are in one file, whose lines stay the same list until it changes.
    lines = linecache.getlines(file)
    known = _digests.get(file)
    if known is None or known[0] is not lines:
        known = _digests[file] = lines, _hash_of_text("".join(lines))
    return known[1]


#: The lines of files, and their hashes.
_digests: dict[str, tuple[list[str], str]] = {}


@lru_cache(maxsize=1024)
def _source_of(key: CodeKey) -> Source:
    _digest_of(key)
    return _found(key.code)


def _found(code: CodeType) -> Source:
    _supply(code)
    return _source_of_lambda(code) if code.co_name == LAMBDA else _source_of_function(code)


def _source_of_function(code: CodeType) -> Source:
    try:
        lines, first = _source_lines(code)
    except (OSError, TypeError) as error:
        raise _unreadable(code) from error
    indent = len(lines[0]) - len(lines[0].lstrip())
    try:
        found = _parsed_block(lines, indent)
    except SyntaxError as error:
        raise _unreadable(code) from error
    if found is None:
        raise _unreadable(code)
    if isinstance(found, ast.AsyncFunctionDef):
        line = first + found.lineno - 1
        head = Span(code.co_filename, line, indent, line, indent + len("async def "), code.co_name)
        raise diagnostic(
            "VKA107", head, what="an `async def` function", advice="write `def`: a kernel waits at tile barriers only"
        )
    node = with_private_names(found, code)
    _require_unchanged(code, node)
    return Source(with_branches(node), code.co_filename, first, indent, code.co_name)


def _require_unchanged(code: CodeType, node: ast.FunctionDef | ast.Lambda) -> None:
    if _may_have_changed(code.co_filename) and not is_made_from(code, node):
        raise _unreadable(code)


def _unreadable(code: CodeType) -> CompileError | UnsupportedFeatureError:
    file = code.co_filename
    problem = "cannot be read"
    if _may_have_changed(file):
        problem = "has changed since it was defined"
        advice = f"reload its module, or restart the program: {os.path.basename(file)} was written after `import vkamp`"
    elif file.startswith("<") or os.path.exists(file):
        advice = (
            "define it in a file, a notebook cell or at the prompt of Python 3.13, not in text given to exec() or "
            "`python -c`"
        )
    else:
        advice = (
            f"its file {file} is missing: ship it with the program, or compile the kernels ahead by `vkamp build` and "
            "call amp.use_artifacts(folder)"
        )
    return diagnostic("VKA102", None, name=code.co_name, problem=problem, advice=advice)


def _parsed_block(lines: list[str], indent: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The function that begins with the first line.

    Its end is sought by the indentation; Python's own way, which takes longer, where that does not give a function.
    """
    try:
        found = _parsed(_indented(lines, indent), indent)
    except SyntaxError:
        found = None
    return found or _parsed(inspect.getblock(lines), indent)


def _indented(lines: list[str], indent: int) -> list[str]:
    """The lines before the first that may begin another statement; none where tabs hide that.

    Where such a line is in a string or in brackets, the lines before it cannot be parsed.
    """
    is_inside = False
    for number, line in enumerate(lines):
        text = line.lstrip(" ")
        if text.startswith(("\t", "\f")):
            return []
        if is_inside and len(line) - len(text) <= indent and text[:1] not in ("", "\n", "\r", "#", ")", "]", "}"):
            return lines[:number]
        is_inside = is_inside or text.startswith(("def ", "async def "))
    return lines


def _parsed(lines: list[str], indent: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The function in its lines, which may be indented; strings, comments and lines in brackets may be less so."""
    block = ast.parse("".join(["if True:\n" * bool(indent), *lines])).body
    if indent and isinstance(block[0], ast.If):
        ast.increment_lineno(block[0], -1)
        block = block[0].body
    return next((n for n in block if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))), None)


def _source_of_lambda(code: CodeType) -> Source:
    # One that is not in its file any more may be in what Python knows of an interactive session.
    linecache.checkcache(code.co_filename)
    node = lambda_of(code)
    if node is None:
        raise _unreadable(code)
    function = with_private_names(as_function(node), code)
    _require_unchanged(code, node)
    return Source(function, code.co_filename, 1, 0, LAMBDA)


def as_function(node: ast.FunctionDef | ast.Lambda) -> ast.FunctionDef:
    """A lambda as the function that it is short for."""
    if isinstance(node, ast.FunctionDef):
        return node
    result = ast.copy_location(ast.Return(node.body), node.body)
    function = ast.FunctionDef("function", node.args, [result], [])
    return ast.copy_location(function, node)


def _source_lines(code: CodeType) -> tuple[list[str], int]:
    """The lines from a function's first one on, and its number.

    ``inspect.getsourcelines`` looks through all loaded modules first, which takes 7 ms more.
    """
    linecache.checkcache(code.co_filename)
    lines, first = linecache.getlines(code.co_filename), code.co_firstlineno
    if first > len(lines):
        return inspect.getsourcelines(code)
    return lines[first - 1 :], first
