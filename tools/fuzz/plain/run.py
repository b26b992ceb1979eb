"""Launches a program as plain Python."""

from __future__ import annotations

import ast
import functools
import itertools
import random
from typing import Any

import numpy as np

from tools.fuzz.plain.language import Barrier, Language, Thread
from tools.fuzz.plain.memory import Memory
from tools.fuzz.plain.source import marked
from tools.fuzz.plain.threads import Turns
from tools.fuzz.plain.values import STATE, Idx, Num, Vec
from vkamp.lang.vectors import ShortVector

__all__ = ["launch"]

#: Launches until the types of all variables are known.
_MAX = 3


def launch(
    source: str,
    name: str,
    extent: tuple[int, ...],
    tile: tuple[int, ...] | None,
    args: list[Any],
    constants: dict[str, Any],
    noise: random.Random | None = None,
    subgroup: int = 32,
) -> list[Any]:
    """The arguments after the launch: those that are arrays are changed copies.  ``subgroup``: lanes of a subgroup.

    Raises ``UndefinedError`` if the behaviour of the program is undefined, ``UnknownError`` for a construct that this
    oracle lacks.
    """
    tree = marked(source)
    code = compile(tree, "<plain>", "exec", dont_inherit=True)
    waits = _waits(tree)
    language = Language()
    for _ in range(_MAX):
        language.late = False
        language.iterations = language.copies = 0
        STATE.reset(noise)
        copies = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        names = dict(language.names)
        names["__name__"] = "plain"
        exec(code, names)
        _run(language, names[name], extent, tile, [_argument(c) for c in copies], constants, waits, subgroup)
        if not language.late:
            break
    return copies


def _waits(tree: ast.Module) -> bool:
    """Whether threads may wait for each other."""
    names = [n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)]
    return any(n.startswith("wait") or n == "subgroup" for n in names)


def _argument(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return Memory(value)
    if isinstance(value, ShortVector):
        return Vec(np.dtype(value.value_type).name, np.asarray(value).tolist())
    if isinstance(value, np.generic):
        return Num(value.dtype.name, value.item())
    if isinstance(value, bool):
        return Num("bool", value)
    if isinstance(value, (int, float)):
        k = "int32" if isinstance(value, int) else "float32"
        number = float(np.float32(value)) if isinstance(value, float) else value
        return Num(k, number, weak=True, exact=float(value))
    return value


def _run(
    language: Language,
    kernel: Any,
    extent: tuple[int, ...],
    tile: tuple[int, ...] | None,
    args: list[Any],
    constants: dict[str, Any],
    waits: bool,
    subgroup: int,
) -> None:
    if tile is None:
        for where in np.ndindex(*extent):
            kernel(Idx(list(where)), *args, **constants)
        return
    barrier = Barrier(language)
    tiles = [range(0, n, k) for n, k in zip(extent, tile, strict=True)]
    for origin in itertools.product(*tiles):
        language.statics = {}
        threads = [Thread(tuple(o + w for o, w in zip(origin, where, strict=True)), tile, barrier)
                   for where in np.ndindex(*tile)]  # fmt: skip
        if not waits:
            for thread in threads:
                kernel(thread, *args, **constants)
            continue
        bodies = [functools.partial(kernel, thread, *args, **constants) for thread in threads]
        language.turns = Turns(bodies, subgroup)
        language.turns.run()
