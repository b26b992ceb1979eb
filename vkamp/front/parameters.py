"""The parameters of a kernel: what a launch hands over, and what is not taken.

C++ AMP's model: docs/conformance.md, section 9.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from vkamp.errors import Span, diagnostic
from vkamp.front.source import CodeKey, Source, source_of
from vkamp.lang.device import constant


@dataclass(frozen=True)
class Parameters:
    """A kernel's parameters after the index: those that a launch gives by position, and its constants."""

    positional: tuple[str, ...]
    constants: tuple[str, ...]
    #: The parameter of a method's object.
    owner: str | None = None
    #: The parameter that takes any number of arguments.
    rest: str | None = None

    def names(self, given: int) -> tuple[str, ...]:
        """The names of arguments by position, ``given`` or more: those of ``*rest`` are its items."""
        if self.rest is None:
            return self.positional
        return (*self.positional, *(f"{self.rest}[{k}]" for k in range(given - len(self.positional))))

    def defaults(self, function: FunctionType) -> dict[str, Any]:
        """The default values that the function has now."""
        given = function.__defaults__ or ()
        # Python gives defaults to the last positional parameters; the index may be one of them.
        names = ("", "", *self.positional)[-len(given) :] if given else ()
        return dict(zip(names, given, strict=True)) | (function.__kwdefaults__ or {})


_parameters: dict[tuple[CodeKey, bool], Parameters] = {}


def parameters_of(function: FunctionType, *, is_method: bool = False) -> Parameters:
    """A kernel's parameters, checked: an index, no ``**kwargs``, every keyword-only one annotated ``amp.constant``.

    Those of a method begin with its object.
    """
    key = (CodeKey(function.__code__), is_method)
    found = _parameters.get(key)
    if found is None:
        found = _parameters[key] = _check_parameters(function, is_method=is_method)
    return found


def _check_parameters(function: FunctionType, *, is_method: bool) -> Parameters:
    source = source_of(function)
    if source.is_lambda:
        help_text = "define it with `def` and @amp.kernel"
        raise diagnostic("VKA107", head_of(source), what="a lambda", advice=help_text)
    arguments = source.node.args
    if arguments.kwarg is not None:
        raise diagnostic("VKA106", source.span(arguments.kwarg), name=source.name, param=arguments.kwarg.arg)
    positional = [*arguments.posonlyargs, *arguments.args]
    if len(positional) < 1 + is_method:
        parameters, which = ("self, idx", "second") if is_method else ("idx", "first")
        raise diagnostic("VKA115", head_of(source), name=source.name, parameters=parameters, which=which)
    owner = positional.pop(0).arg if is_method else None
    for arg in arguments.kwonlyargs:
        if not _is_constant(function, arg):
            raise diagnostic("VKA116", source.span(arg), name=arg.arg)
    rest = None if arguments.vararg is None else arguments.vararg.arg
    return Parameters(tuple(a.arg for a in positional[1:]), tuple(a.arg for a in arguments.kwonlyargs), owner, rest)


def _is_constant(function: FunctionType, arg: ast.arg) -> bool:
    """Whether a parameter is annotated as a constant, also where annotations are not evaluated."""
    if function.__annotations__.get(arg.arg) is constant:
        return True
    return arg.annotation is not None and ast.unparse(arg.annotation).strip("'\"").split(".")[-1] == "constant"


def head_of(source: Source) -> Span:
    """``def name``, or ``lambda``."""
    if source.is_lambda:
        return source.definition
    start = source.span(source.node)
    return Span(start.file, start.line, start.column, start.line, start.column + 4 + len(source.name), source.name)
