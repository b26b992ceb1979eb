"""The identity of a tuned function in the store: a result is valid for the code that it was found for."""

from __future__ import annotations

import hashlib
import json
from types import CodeType, FunctionType
from typing import Any

import numpy as np

import vkamp as amp
from vkamp.lang.kernel import DeviceFunction, KernelFunction


def name_of(function: Any) -> str:
    """``module:name``, by which tables refer to a function."""
    return f"{function.__module__}:{function.__qualname__}"


def identity_of(function: Any, space: str) -> str:
    """A text that changes with everything that a result depends on.

    That is the function's code, the code of the kernels and functions that it uses, the space, and the version of
    vkamp.
    """
    made = hashlib.sha256()
    _add(function, made, set())
    return f"{name_of(function)} {made.hexdigest()[:32]} {space} {amp.__version__}"


def _add(function: Any, made: Any, known: set[int]) -> None:
    plain = function.function if isinstance(function, (KernelFunction, DeviceFunction)) else function
    if not isinstance(plain, FunctionType) or id(plain) in known:
        return
    known.add(id(plain))
    names: list[str] = []
    _add_code(plain.__code__, made, names)
    captured = [cell.cell_contents for cell in plain.__closure__ or () if _is_filled(cell)]
    for value in (*(plain.__globals__.get(name) for name in names), *captured):
        if isinstance(value, (bool, int, float, str, tuple)):
            made.update(repr(value).encode())
        elif not str(getattr(value, "__module__", "")).startswith("vkamp.lang"):
            _add(value, made, known)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _add_code(code: CodeType, made: Any, names: list[str]) -> None:
    made.update(code.co_code)
    names += code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            _add_code(each, made, names)
        else:
            made.update(repr(each).encode())


def key_text(key: Any) -> str:
    """A key as text: numbers, strings, dtypes, and tuples of them; TypeError for anything else."""
    return json.dumps(_plain(key))


def _plain(key: Any) -> Any:
    if key is None or isinstance(key, (bool, int, float, str)):
        return key
    if isinstance(key, np.dtype) or (isinstance(key, type) and issubclass(key, np.generic)):
        return np.dtype(key).name
    if isinstance(key, (np.integer, np.floating, np.bool_)):
        return key.item()
    if isinstance(key, (tuple, list)):
        return [_plain(each) for each in key]
    raise TypeError(
        f"autotune: key gave {key!r} ({type(key).__name__}): a key consists of numbers, strings, dtypes, and tuples"
    )
