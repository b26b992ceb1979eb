"""Private names of classes: in a method, Python reads ``self.__count`` as ``self._Counter__count``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from types import CodeType

from vkamp.front.scopes import all_nodes

_PRIVATE = re.compile(r"__\w*(?<!__)")
#: The beginning of a private name's long form.
_CLASS = re.compile(r"_[^\W_]\w*")


def with_private_names(node: ast.FunctionDef, code: CodeType) -> ast.FunctionDef:
    """The syntax tree with the names that Python's compiler gave them, as the function's code has them."""
    inside = [each for each in all_nodes(node) if each is not node]
    written = {name for each in inside for name in _identifiers(each)}
    private = {name for name in written if name.startswith("__") and _PRIVATE.fullmatch(name)}
    if not private:
        return node
    known = set(_names_of(code))
    renamed = private - known
    # The long form of another class's name is written as such, and that of the own class may be.
    found = _prefixes(renamed, known - written) or _prefixes(renamed, known)
    if len(found) != 1:
        return node
    for each in inside:
        for field in _FIELDS.get(type(each), ()):
            value = getattr(each, field)
            setattr(each, field, found[0] + value if value in renamed else value)
    return node


def _prefixes(names: set[str], known: set[str]) -> list[str]:
    """What may come before all of the names: ``_`` and the name of a class."""
    prefixes = [{each.removesuffix(name) for each in known if each.endswith(name)} for name in names]
    return [each for each in set.intersection(*prefixes) if _CLASS.fullmatch(each)] if prefixes else []


#: Where syntax trees have names.
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Name: ("id",), ast.Attribute: ("attr",), ast.arg: ("arg",), ast.keyword: ("arg",), ast.FunctionDef: ("name",),
}  # fmt: skip


def _identifiers(node: ast.AST) -> Iterator[str]:
    for field in _FIELDS.get(type(node), ()):
        value = getattr(node, field)
        if value is not None:
            yield value


def _names_of(code: CodeType) -> Iterator[str]:
    """The names in a function's code and in the functions inside it."""
    yield from (*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_of(constant)
        elif isinstance(constant, tuple):
            # The keywords of calls.
            yield from (each for each in constant if isinstance(each, str))
