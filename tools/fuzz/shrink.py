"""Reduces a failing program by cutting its tree while it still shows the same failure."""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Callable, Iterator

from tools.fuzz.tree import Expr, Kind, Lines, Program, Stmt, source_of

__all__ = ["shrink"]

Shows = Callable[[Program], bool]


def shrink(program: Program, shows: Shows, seconds: float = 120.0) -> Program:
    """The smallest program found within the time for which ``shows`` still holds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        size = len(source_of(program))
        for step in (_fewer_statements, _flatter, _smaller_expressions, _fewer_arguments):
            program = step(program, shows, end)
        if len(source_of(program)) >= size:
            break
    return program


def _blocks(program: Program) -> list[Lines]:
    """Every list of statements, outer ones first."""
    found: list[Lines] = [program.body, program.prelude]
    for block in found:
        for statement in block:
            found += [below for _, _, below in statement.parts if below is not None]
    return found


def _try(program: Program, change: Callable[[Program], bool], shows: Shows) -> Program | None:
    """The changed program, if it still shows it."""
    candidate = copy.deepcopy(program)
    return candidate if change(candidate) and shows(candidate) else None


# -- statements ----------------------------------------------------------------------------------------------------


def _fewer_statements(program: Program, shows: Shows, end: float) -> Program:
    """Cuts runs of statements, halves first."""
    number = 0
    while number < len(_blocks(program)):
        length = max(1, len(_blocks(program)[number]))
        while length >= 1:
            start = 0
            while number < len(_blocks(program)) and start < len(_blocks(program)[number]):
                if time.monotonic() > end:
                    return program

                def cut(candidate: Program, number: int = number, start: int = start, length: int = length) -> bool:
                    block = _blocks(candidate)[number]
                    del block[start : start + length]
                    return True

                smaller = _try(program, cut, shows)
                if smaller is None:
                    start += length
                else:
                    program = smaller
            length //= 2
        number += 1
    return program


def _flatter(program: Program, shows: Shows, end: float) -> Program:
    """Puts a block in the place of its statement, and cuts ``elif``, ``else`` and ``case`` branches."""
    number = 0
    while number < len(_blocks(program)):
        start = 0
        while number < len(_blocks(program)) and start < len(_blocks(program)[number]):
            if time.monotonic() > end:
                return program
            smaller = None
            for part in range(len(_blocks(program)[number][start].parts)):

                def hoist(candidate: Program, number: int = number, part: int = part, start: int = start) -> bool:
                    block = _blocks(candidate)[number]
                    below = block[start].parts[part][2]
                    if below is None:
                        return False
                    block[start : start + 1] = below
                    return True

                def drop(candidate: Program, number: int = number, part: int = part, start: int = start) -> bool:
                    statement = _blocks(candidate)[number][start]
                    if len(statement.parts) < 2:
                        return False
                    del statement.parts[part]
                    return True

                smaller = _try(program, hoist, shows) or _try(program, drop, shows)
                if smaller is not None:
                    program = smaller
                    break
            start += smaller is None
        number += 1
    return program


# -- expressions ---------------------------------------------------------------------------------------------------


def _slots(program: Program) -> list[tuple[Stmt, int, int]]:
    """Every operand of a statement."""
    return [
        (statement, part, n)
        for block in _blocks(program)
        for statement in block
        for part, (_, args, _) in enumerate(statement.parts)
        for n in range(len(args))
    ]


def _below(expr: Expr) -> Iterator[Expr]:
    for arg in expr.args:
        yield arg
        yield from _below(arg)


def _simplest(kind: Kind) -> list[Expr]:
    if kind.base == "struct":
        return []
    if kind.count > 1:
        return [Expr(kind, f"{kind.type}({{0}})", (each,)) for each in _simplest(kind.scalar)]
    texts = {
        "int": ["amp.int32(0)", "amp.int32(1)"], "uint": ["amp.uint32(0)", "amp.uint32(1)"], "bool": ["True", "False"],
        "exact": ["0.0", "1.0"], "rough": ["0.25"], "raw": ["1.5"], "special": ["amp.float32(1.5)"],
    }.get(kind.base, [])  # fmt: skip
    return [Expr(kind, text) for text in texts]


def _positions(expr: Expr, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    yield path
    for n, arg in enumerate(expr.args):
        yield from _positions(arg, (*path, n))


def _at(expr: Expr, path: tuple[int, ...]) -> Expr:
    for n in path:
        expr = expr.args[n]
    return expr


def _put(expr: Expr, path: tuple[int, ...], new: Expr) -> Expr:
    if not path:
        return new
    args = list(expr.args)
    args[path[0]] = _put(args[path[0]], path[1:], new)
    return Expr(expr.kind, expr.text, tuple(args))


def _replacements(expr: Expr) -> list[Expr]:
    """The possible replacements of an expression, the simplest first."""
    below = sorted((e for e in _below(expr) if expr.kind.takes(e.kind)), key=lambda e: len(str(e)))
    found = [*_simplest(expr.kind), *below[:6]]
    return [e for e in found if len(str(e)) < len(str(expr))]


def _smaller_expressions(program: Program, shows: Shows, end: float) -> Program:
    slot = 0
    while slot < len(_slots(program)):
        statement, part, n = _slots(program)[slot]
        visited = 0
        while True:
            statement, part, n = _slots(program)[slot]
            whole = statement.parts[part][1][n]
            positions = list(_positions(whole))
            if visited >= len(positions):
                break
            path = positions[visited]
            smaller = None
            for new in _replacements(_at(whole, path)):
                if time.monotonic() > end:
                    return program

                def replace(
                    candidate: Program, slot: int = slot, new: Expr = new, path: tuple[int, ...] = path
                ) -> bool:
                    where, part, n = _slots(candidate)[slot]
                    text, args, block = where.parts[part]
                    changed = (*args[:n], _put(args[n], path, new), *args[n + 1 :])
                    where.parts[part] = (text, changed, block)
                    return True

                smaller = _try(program, replace, shows)
                if smaller is not None:
                    program = smaller
                    break
            visited += smaller is None
        slot += 1
    return program


# -- the launch ----------------------------------------------------------------------------------------------------


def _fewer_arguments(program: Program, shows: Shows, end: float) -> Program:
    changes: list[Callable[[Program], bool]] = []

    def without(name: str) -> Callable[[Program], bool]:
        def change(candidate: Program) -> bool:
            body = source_of(candidate).split("def k(")[1].split(":", 1)[1]
            if re.search(rf"\b{name}\b", body):
                return False
            candidate.containers = [c for c in candidate.containers if c.name != name]
            candidate.params = [p for p in candidate.params if p != name]
            candidate.scalars.pop(name, None)
            candidate.constants.pop(name, None)
            return True

        return change

    def one_tile(candidate: Program) -> bool:
        if candidate.tile is None or candidate.extent == candidate.tile:
            return False
        candidate.extent = candidate.tile
        return True

    def imprecise(candidate: Program) -> bool:
        if any("raw" in c.contents for c in candidate.containers):
            return False  # Only precise kernels give the same bits everywhere.
        changed, candidate.precise = candidate.precise, False
        return changed

    names = [*(c.name for c in program.containers), *program.scalars, *program.constants]
    changes = [*(without(name) for name in names), one_tile, imprecise]
    for change in changes:
        if time.monotonic() > end:
            return program
        program = _try(program, change, shows) or program
    return program
