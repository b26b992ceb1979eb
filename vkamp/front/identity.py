"""What a Python value is, in words that mean the same in another process."""

from __future__ import annotations

import builtins
import functools
import hashlib
import math
import operator
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from vkamp.front.operators import is_plain
from vkamp.front.signature import is_numpy_number
from vkamp.front.source import LAMBDA, CodeKey, digest_of_code, source_of_code
from vkamp.lang.device import MathFunction, MathNamespace, MathTuple
from vkamp.lang.kernel import DeviceFunction
from vkamp.lang.structs import struct_fields
from vkamp.lang.subgroups import SubgroupFunction, SubgroupNamespace
from vkamp.lang.target import TargetFeature, TargetTraits

#: vkamp's own objects, which their representations tell from each other.
_NAMED = (MathFunction, MathTuple, SubgroupFunction, MathNamespace, SubgroupNamespace, TargetTraits, TargetFeature)


def describe(value: Any) -> str | None:
    """Equal words, equal meaning in a kernel; ``None`` for what only this process knows."""
    kind = type(value)
    if value is None or kind in (bool, int):
        return f"{value}"
    if kind is float:
        return f"float {value.hex()}"
    if kind is str:
        return f"str {value!r}"
    if is_numpy_number(value):
        return f"{value.dtype.name} {value.tobytes().hex()}"
    if kind is tuple:
        items = [describe(item) for item in value]
        return None if None in items else f"({', '.join(map(str, items))})"
    if isinstance(value, np.dtype):
        return f"dtype {value.name} {value.byteorder}" if value.names is None and value.subdtype is None else None
    if isinstance(value, ModuleType):
        return f"module {value.__name__}" if sys.modules.get(value.__name__) is value else None
    if isinstance(value, _NAMED):
        return f"{kind.__name__} {value!r}"
    if isinstance(value, DeviceFunction):
        return _function(value)
    if is_plain(value):
        return _function(value)
    if isinstance(value, type) and struct_fields(value) is not None:
        return describe_class(value)
    if isinstance(value, (type, FunctionType, BuiltinFunctionType, np.ufunc)):
        return _of_a_library(value)
    return None


def describe_class(cls: type) -> str | None:
    """A class of objects or structs that are passed: its name, and everything that a kernel can use of it."""
    words = [f"{cls.__module__}.{cls.__qualname__}"]
    for field in struct_fields(cls) or ():
        inner = field.dtype.base.type
        described = describe(inner) if field.dtype.base.names is not None and inner is not np.void else ""
        if described is None:
            return None
        words.append(f"{field.name} {field.dtype.descr} {described} {describe(field.default)}")
    for base in cls.__mro__[:-1]:
        for name, value in vars(base).items():
            method = value.fget if isinstance(value, property) else value
            method = method.__func__ if isinstance(method, staticmethod) else method
            known = isinstance(method, DeviceFunction) or is_plain(method)
            described = describe(method) if known else (describe(value) or type(value).__qualname__)
            if described is None:
                return None
            words.append(f"{name} {type(value).__name__} {described}")
    return "\n".join(words)


def classes_of_struct(value: Any) -> list[type]:
    """For the class of a struct: the class itself, and the class of its values in Python."""
    return [] if struct_fields(value) is None else [value, np.dtype(value).type]


def namespace_of(value: Any) -> Any:
    """What the names of a value are looked up in: a device function's Python function, or the value itself."""
    return value.function if isinstance(value, DeviceFunction) else value


#: Whether functions are described by their code, which is the same on another machine, or by their files.
_BY_CODE: ContextVar[bool] = ContextVar("_BY_CODE", default=False)


@contextmanager
def by_code() -> Iterator[None]:
    """Within it functions are described by their code: for kernels that are compiled ahead."""
    token = _BY_CODE.set(True)
    try:
        yield
    finally:
        _BY_CODE.reset(token)


def describe_code(function: FunctionType) -> str | None:
    """The source of a function: where it is defined, and the file around it; or its code."""
    code = function.__code__
    if _BY_CODE.get():
        return f"{function.__qualname__} {hash_of_code(code)} {_annotations(function)}"
    digest = digest_of_code(code)
    if digest is None:
        return None
    # Several lambdas may begin in one line.
    column = source_of_code(code).definition.column if code.co_name == LAMBDA else ""
    return f"{code.co_filename}:{code.co_firstlineno} {column} {function.__qualname__} {digest}"


def hash_of_code(code: CodeType) -> str:
    """A hash of a function's code that includes its lines, but not its file."""
    return _hash_of(CodeKey(code))


@functools.lru_cache(maxsize=1024)
def _hash_of(key: CodeKey) -> str:
    code = key.code
    parts: list[Any] = [code.co_code, code.co_name, code.co_firstlineno, code.co_linetable, code.co_flags]
    parts += [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount]
    parts += [code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, _constants(code)]
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _constants(code: CodeType) -> list[Any]:
    found: list[Any] = []
    for each in code.co_consts:
        if isinstance(each, CodeType):
            each = hash_of_code(each)
        elif isinstance(each, frozenset):
            each = sorted(map(repr, each))  # its own order differs between processes
        found.append(each)
    return found


def _annotations(function: FunctionType) -> list[tuple[str, str]]:
    """The annotations of a function's parameters, which may decide their types."""
    found = []
    for name, value in function.__annotations__.items():
        is_class = isinstance(value, type)
        words = f"{value.__module__}.{value.__qualname__}" if is_class else describe(value) or repr(value)
        found.append((name, words))
    return found


def _function(value: DeviceFunction[..., Any] | FunctionType) -> str | None:
    """A device function or a plain one; the names that it uses are looked up in it."""
    function = namespace_of(value)
    if getattr(value, "overloads", 0) or not isinstance(function, FunctionType):
        return None
    named = function.__kwdefaults__ or {}
    parts = [describe_code(function), describe(function.__defaults__), describe((*named, *named.values()))]
    return None if None in parts else f"{type(value).__name__} {' '.join(map(str, parts))}"


#: Whose objects are known by their names: those of the versions that are part of every key.
_LIBRARIES = {"builtins": builtins, "math": math, "_operator": operator, "numpy": np}


def _of_a_library(value: Any) -> str | None:
    """A class or function that vkamp, Python or numpy has under its own name."""
    name: str = getattr(value, "__qualname__", value.__name__)
    path = "numpy" if isinstance(value, np.ufunc) else str(value.__module__)
    home = sys.modules.get(path) if path.partition(".")[0] == "vkamp" else _LIBRARIES.get(path)
    return f"{path}:{name}" if home is not None and getattr(home, name, None) is value else None
