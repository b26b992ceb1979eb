"""Functions of plain Python that kernels call: lambdas, and functions without a decorator.

They are compiled as an ``@amp.func`` is.  What one captures is passed by the launch, so that a function which is
created again with other numbers is the same program.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType, CellType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from vkamp.front import functors
from vkamp.front.signature import ArgType, OperatorType, free_names, is_complex, is_number, read_name
from vkamp.front.source import CodeKey
from vkamp.lang.container import Container
from vkamp.lang.device import MARK, MathFunction, MathNamespace, MathTuple
from vkamp.lang.device_elements import element_of
from vkamp.lang.index_space import extent, index
from vkamp.lang.kernel import DeviceFunction
from vkamp.lang.subgroups import SubgroupFunction, SubgroupNamespace
from vkamp.lang.target import TargetFeature, TargetTraits
from vkamp.lang.vectors import ShortVector

#: Whose functions are not programs: they are known by name, or not at all.
_LIBRARIES = frozenset((*sys.stdlib_module_names, "numpy"))

_KNOWN = (
    BuiltinFunctionType, np.ufunc, type(np.clip), MathFunction, MathTuple, MathNamespace, SubgroupFunction,
    SubgroupNamespace, TargetFeature, TargetTraits,
)  # fmt: skip


def is_plain(value: Any) -> bool:
    """Whether a value is a function of a program's own, without a decorator of vkamp."""
    if type(value) is not FunctionType or hasattr(value, MARK) or hasattr(value, "__vkamp_entry_point__"):
        return False
    return (value.__module__ or "").partition(".")[0] not in _LIBRARIES


def plain_of(value: Any) -> FunctionType | None:
    """The function of a value that is passed with what it captures; ``None`` for anything else.

    These are lambdas and ``@amp.func`` functions that are defined in functions; others are created once.
    """
    if isinstance(value, functools.partial):
        inner: Any = value.func.function if isinstance(value.func, DeviceFunction) else value.func
        fits = isinstance(inner, FunctionType) and len(value.args) <= inner.__code__.co_argcount
        plain = is_plain(inner) and not getattr(value.func, "overloads", 0)
        return inner if fits and plain else None
    if isinstance(value, DeviceFunction):
        function: Any = value.function
        made_anew = type(function) is FunctionType and not value.overloads and "<" in function.__qualname__
        return function if made_anew else None
    return value if is_plain(value) else None


def bound_arguments(value: Any) -> int:
    """How many of a function's first parameters have values already."""
    return len(value.args) if isinstance(value, functools.partial) else 0


class Parts(NamedTuple):
    """The items of a tuple, and the names of its fields, if they have any."""

    items: tuple[Any, ...]
    names: tuple[str, ...]


def parts_of(value: Any) -> Parts | None:
    """The parts of a tuple, a named tuple or a frozen dataclass; ``None`` for anything else."""
    if isinstance(value, tuple):
        return Parts(tuple(value), tuple(getattr(value, "_fields", ())))
    if isinstance(value, type) or not dataclasses.is_dataclass(value) or is_of_library(value):
        return None
    if getattr(value, "__dataclass_params__").frozen:  # noqa: B009 -- no stub has it
        names = tuple(field.name for field in dataclasses.fields(value))
        return Parts(tuple(getattr(value, name) for name in names), names)
    return None


def is_of_library(value: Any) -> bool:
    """Whether a value is a function of vkamp, numpy or Python, which kernels know by its name."""
    return isinstance(value, _KNOWN) or (type(value) is FunctionType and not is_plain(value))


def captured(value: Any) -> Iterator[tuple[str, str, Any]]:
    """What a function uses that is not part of its code, as ``(origin, name, value)``.

    ``origin`` is ``closure``, ``global``, ``builtin``, or ``default`` for the value of a parameter.
    """
    function = plain_of(value)
    assert function is not None
    for name in free_names(function):
        found = read_name(function, name)
        if found is not None:
            yield found[0], name, found[1]
    for name, item in _values_of_parameters(value, function).items():
        yield "default", name, item


def _values_of_parameters(value: Any, function: FunctionType) -> dict[str, Any]:
    code, defaults = function.__code__, function.__defaults__
    found = dict(function.__kwdefaults__ or {})
    if defaults:
        names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
        found |= zip(names, defaults, strict=True)
    if isinstance(value, functools.partial):
        found |= {**dict(zip(code.co_varnames, value.args, strict=False)), **value.keywords}
    return found


def is_object(value: Any) -> bool:
    """Whether a launch passes an object wherever its name is from."""
    known = isinstance(value, (Container, ShortVector, index, extent, np.void)) or is_complex(value)
    return known or element_of(value) is not None or functors.is_functor(value)


def is_value(value: Any) -> bool:
    """Whether a captured object is a number that is passed by value."""
    return is_number(value) and not isinstance(value, bool)


def is_handed_over(origin: str, value: Any) -> bool:
    """Whether a launch passes what a function captures; else it is part of the program."""
    is_passed = is_object(value) or isinstance(value, functools.partial)
    return is_passed or (is_value(value) and origin != "builtin")


def operator_type(value: Any, members: tuple[tuple[str, ArgType], ...]) -> OperatorType:
    """The type of a function, given the types of its captures."""
    plain = plain_of(value)
    assert plain is not None
    key, module = CodeKey(plain.__code__), id(plain.__globals__)
    inner = value.func if isinstance(value, functools.partial) else value
    names = value.keywords if isinstance(value, functools.partial) else ()
    return OperatorType(_bare(plain, names), key, module, members, plain is not inner, bound_arguments(value))


#: Stand for the value of a parameter that has a default, and of one that `functools.partial` binds by its name.
DEFAULT, BOUND = "default", "bound"


def _bare(function: FunctionType, bound: Iterable[str]) -> FunctionType:
    """The function without what it captured, which a cache must not keep alive; ``bound``: names that have values."""
    made = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        None,
        tuple(CellType() for _ in function.__code__.co_freevars),
    )
    count = len(function.__defaults__ or ())
    with_default = function.__code__.co_varnames[function.__code__.co_argcount - count : function.__code__.co_argcount]
    made.__defaults__ = tuple(BOUND if name in bound else DEFAULT for name in with_default) or None
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    made.__annotations__ = function.__annotations__
    return made
