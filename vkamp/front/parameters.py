"""The parameters of a kernel: what a launch passes, and which kinds are refused.

C++ AMP's model: docs/conformance.md, section 9.
"""

from __future__ import annotations

import ast
import inspect
from types import FunctionType
from typing import Any

from vkamp.errors import Span, diagnostic
from vkamp.front.source import LAMBDA, CodeKey, Source, source_of
from vkamp.lang.device import constant
from vkamp.records import dataclass


@dataclass(frozen=True)
class KernelParameters:
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


_parameters: dict[tuple[CodeKey, bool], KernelParameters] = {}


def parameters_of(function: FunctionType, *, is_method: bool = False) -> KernelParameters:
    """A kernel's parameters, checked: an index, no ``**kwargs``, the keyword-only ones, and they alone,
    annotated ``amp.constant``.

    The parameters of a method begin with its object.
    """
    key = (CodeKey(function.__code__), is_method)
    found = _parameters.get(key)
    if found is None:
        found = _parameters[key] = _check_parameters(function, is_method=is_method)
    return found


def _check_parameters(function: FunctionType, *, is_method: bool) -> KernelParameters:
    """Read from the function's code; the source is needed only to show an error."""
    code = function.__code__
    if code.co_name == LAMBDA:
        help_text = "define it with `def` and @amp.kernel"
        raise diagnostic("VKA107", head_of(source_of(function)), what="a lambda", advice=help_text)
    names, count = code.co_varnames, code.co_argcount
    constants = names[count : count + code.co_kwonlyargcount]
    rest = names[count + len(constants)] if code.co_flags & inspect.CO_VARARGS else None
    if code.co_flags & inspect.CO_VARKEYWORDS:
        name = names[count + len(constants) + (rest is not None)]
        source = source_of(function)
        raise diagnostic("VKA106", _span_of(source, name), name=source.name, param=name)
    if count < 1 + is_method:
        parameters, which = ("self, idx", "second") if is_method else ("idx", "first")
        source = source_of(function)
        raise diagnostic("VKA115", head_of(source), name=source.name, parameters=parameters, which=which)
    _check_constants(function, names[:count], constants)
    return KernelParameters(names[1 + is_method : count], constants, names[0] if is_method else None, rest)


def _check_constants(function: FunctionType, positional: tuple[str, ...], constants: tuple[str, ...]) -> None:
    """Raises the error for a keyword-only parameter that is not annotated as a constant, and for another that is."""
    for name in (*positional, *constants):
        if _is_constant(function, name) == (name in constants):
            continue
        kind, what = "keyword-only", "not annotated"
        help_text = f"write `{name}: amp.constant`, or put it before the `*`"
        if name in positional:
            kind, what = "positional", "annotated"
            help_text = f"make it keyword-only: `*, {name}: amp.constant`, and launch the kernel with `{name}=...`"
        where = _span_of(source_of(function), name)
        raise diagnostic("VKA116", where, kind=kind, name=name, what=what, advice=help_text)


def _is_constant(function: FunctionType, name: str) -> bool:
    """Whether a parameter is annotated as a constant, also where annotations are not evaluated."""
    annotation = function.__annotations__.get(name)
    return annotation is constant or (
        isinstance(annotation, str) and annotation.strip("'\"").split(".")[-1] == "constant"
    )


def _span_of(source: Source, name: str) -> Span:
    """The location of a parameter."""
    return next(source.span(n) for n in ast.walk(source.node.args) if isinstance(n, ast.arg) and n.arg == name)


def head_of(source: Source) -> Span:
    """``def name``, or ``lambda``."""
    if source.is_lambda:
        return source.definition
    start = source.span(source.node)
    return Span(start.file, start.line, start.column, start.line, start.column + 4 + len(source.name), source.name)
