"""Selects the form of a device function that matches a call: overloads by number and types of arguments.

The compiler and plain Python use the same rules, those of C++. A form is better if every argument matches it at least
as well as the other form, and one matches better. An exact type and a parameter of any type match better than a type
that needs a conversion. Among forms that match equally well, the one with more types is selected.
"""

from __future__ import annotations

import collections.abc
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from vkamp.lang.container import Container
from vkamp.lang.device import constant
from vkamp.lang.dtypes import dtype_name, number_kind
from vkamp.lang.index_space import extent, index, tiled_index
from vkamp.lang.vectors import ShortVector
from vkamp.records import dataclass

#: A kind of argument: a number's dtype, a struct's dtype with its class, or one of the words below.
Kind = Any

ANY: Kind = "anything"
FUNCTION: Kind = "a function"
CONTAINER: Kind = "a container"
INDEX: Kind = "index"
EXTENT: Kind = "extent"
OTHER: Kind = "something else"

_PYTHON = {int: np.dtype(np.int32), float: np.dtype(np.float32), bool: np.dtype(np.bool_)}


def kind_of_dtype(dtype: np.dtype[Any]) -> Kind:
    """The kind of a number or struct."""
    return (dtype, dtype.type) if dtype.names is not None else dtype


@dataclass(frozen=True)
class Form:
    """One form of a function: the kinds of its parameters by name, and what runs."""

    function: Callable[..., Any]
    signature: inspect.Signature
    kinds: Mapping[str, Kind]

    def __str__(self) -> str:
        return f"({', '.join(_text(k) for k in self.kinds.values())})"

    def ranks(self, positional: Sequence[Kind], named: Mapping[str, Kind]) -> tuple[int, ...] | None:
        """How well each argument matches: 0 exactly, 1 any type, 2 by conversion; ``None`` if one does not match."""
        try:
            bound = self.signature.bind(*range(len(positional)), **{n: n for n in named})
        except TypeError:
            return None
        ranks: dict[Any, int | None] = {}
        for name, argument in bound.arguments.items():
            given = positional[argument] if isinstance(argument, int) else named[argument]
            ranks[argument] = _rank(self.kinds[name], given)
        found = [ranks[a] for a in (*range(len(positional)), *named)]
        return None if None in found else tuple(r for r in found if r is not None)


def _text(kind: Kind) -> str:
    if isinstance(kind, tuple):
        return dtype_name(kind[0]) if kind[1] is np.void else str(kind[1].__name__)
    return dtype_name(kind) if isinstance(kind, np.dtype) else str(kind)


def describe(kinds: Sequence[Kind]) -> str:
    """The kinds of a call's arguments, in words."""
    return f"({', '.join(_text(k) for k in kinds)})"


def _rank(wanted: Kind, given: Kind) -> int | None:
    if wanted == ANY:
        return 1
    if wanted == given:
        return 0
    if isinstance(wanted, np.dtype) and isinstance(given, np.dtype):
        # A float becomes an integer, and a number a bool, only by an explicit cast.
        converts = number_kind(wanted) == "f" or (wanted.kind in "iu" and given.kind in "iub")
        return 2 if converts else None
    return None


def choose(forms: Sequence[Form], positional: Sequence[Kind], named: Mapping[str, Kind]) -> list[Form]:
    """The forms that match best: one is the result, none means no match, several are ambiguous."""
    fitting = [(f, r) for f in forms if (r := f.ranks(positional, named)) is not None]
    for measure in (_conversions, _untyped):
        fitting = [(f, r) for f, r in fitting if not any(_better(measure(o), measure(r)) for _, o in fitting)]
    return [f for f, _ in fitting]


def _conversions(ranks: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(r // 2 for r in ranks)


def _untyped(ranks: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(r % 2 for r in ranks)


def _as_good(mine: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(a <= b for a, b in zip(mine, other, strict=True))


def _better(mine: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return _as_good(mine, other) and mine != other


# -- forms and their kinds -----------------------------------------------------------------------------------------


def own_signature(function: Callable[..., Any]) -> inspect.Signature:
    """The parameters and defaults of a function itself, also of one that ``functools.wraps`` made look like another."""
    return inspect.signature(function, follow_wrapped=False)


def form_of(function: Callable[..., Any], types: Sequence[Any] | None = None, *, strict: bool = False) -> Form:
    """The form that a function's annotations, or ``types``, describe.

    Raises ``TypeError`` for more types than parameters and, if ``strict``, for a type that no argument can have.
    """
    signature = own_signature(function)
    names = list(signature.parameters)
    if types is not None and len(types) > len(names):
        raise TypeError(f"{len(types)} types for the {len(names)} parameters of {function.__name__}")
    hints = _hints(function) if types is None else dict(zip(names, types, strict=False))
    kinds = {name: _annotated(hints.get(name, ANY), strict=strict) for name in names}
    return Form(function, signature, kinds)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return inspect.get_annotations(function, eval_str=True)
    except (NameError, SyntaxError, AttributeError, TypeError):
        # Annotations with undefined names describe nothing.
        return {}


def _annotated(annotation: Any, *, strict: bool) -> Kind:
    if annotation is ANY or annotation is Any or annotation is constant:
        return ANY
    if annotation in _PYTHON:
        return _PYTHON[annotation]
    if isinstance(annotation, type) and issubclass(annotation, Container):
        return CONTAINER
    if annotation in (index, tiled_index):
        return INDEX
    if annotation is extent:
        return EXTENT
    if typing.get_origin(annotation) is collections.abc.Callable or annotation is collections.abc.Callable:
        return FUNCTION
    numeric = isinstance(annotation, np.dtype) or isinstance(getattr(annotation, "dtype", None), np.dtype)
    if numeric or (isinstance(annotation, type) and issubclass(annotation, np.generic)):
        return kind_of_dtype(np.dtype(annotation))
    if strict:
        raise TypeError(
            f"{annotation!r} is not an argument type: write a scalar type, an amp.struct, index, extent, array_view"
        )
    return ANY


def kind_of(value: Any) -> Kind:
    """The kind of a Python object."""
    if type(value) in _PYTHON:
        return _PYTHON[type(value)]
    if isinstance(value, (np.generic, ShortVector)):
        return kind_of_dtype(value.dtype)
    if isinstance(value, Container):
        return CONTAINER
    if isinstance(value, extent):
        return EXTENT
    if isinstance(value, (index, tiled_index)):
        return INDEX
    return FUNCTION if callable(value) else type(value).__name__
