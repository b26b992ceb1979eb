"""Plants faults in the compiler, one at a time, and says which of them the tests catch.

tools/env python -m tools.mutate --count 40 --seed 1           mutants of the compiler: vkamp/emit, lower, front, ...
tools/env python -m tools.mutate --room check --count 20       of one room
tools/env python -m tools.mutate --only vkamp/ir/dataflow.py:30:8:compare     one mutant again
tools/env python -m tools.mutate --count 40 --seed 1 --list    only says which
tools/env python -m tools.mutate --count 40 -- -q --vkamp-accelerators swiftshader,reference    words for pytest

A mutant is one small change of the syntax tree: a comparison or an arithmetic operator replaced, a condition negated,
``and`` for ``or``, a number one larger, an argument of a call exchanged with its neighbour, a statement left out.  It
is *caught* if a test fails, or if the tests do not end.  First the tests that belong to the room run, then all the
others, so that a mutant that survives has survived everything; with ``--near`` the room's own alone, which is quick and
leaves survivors for a second look.  All runs share their compiled shaders.  The tests also run without a fault: what
fails then catches nothing, and the result is void.
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import itertools
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("emit", "lower", "front", "check", "ir", "pipeline")

#: The tests of each room, which run first; the rest of tests/ follows.
FIRST = {
    "emit": ("tests/emit", "tests/types", "tests/kernel_language", "tests/outputs"),
    "lower": ("tests/lower", "tests/kernel_language", "tests/corpus", "tests/outputs"),
    "front": ("tests/errors", "tests/pipeline", "tests/kernel_language", "tests/outputs"),
    "check": ("tests/static_analysis", "tests/check_mode", "tests/corpus", "tests/errors", "tests/outputs"),
    "ir": ("tests/ir", "tests/emit", "tests/kernel_language", "tests/outputs"),
    "pipeline": ("tests/pipeline", "tests/emit", "tests/check_mode", "tests/kernel_language"),
}
#: Tests of the tree and of the tools do not test the compiler.
LEFT_OUT = ("tests/tools", "tests/test_tree.py")
NEEDED = (
    "vkamp", "pytest_vkamp.py", "tests", "tools", "examples", "docs", "shaders", "pyproject.toml",
    "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE",
)  # fmt: skip

_COMPARE = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip


_SAYS_NOTHING = (ast.Import, ast.ImportFrom, ast.JoinedStr, ast.Assert)


@dataclass(frozen=True)
class Mutant:
    """One planted fault: ``new`` replaces the text of a node."""

    path: str
    line: int
    column: int
    end: tuple[int, int]
    kind: str
    old: str
    new: str

    @property
    def name(self) -> str:
        """How ``--only`` names it."""
        return f"{self.path}:{self.line}:{self.column}:{self.kind}"

    def apply(self, source: bytes) -> bytes:
        """The file with the fault."""
        lines = source.splitlines(keepends=True)
        start = sum(map(len, lines[: self.line - 1])) + self.column
        stop = sum(map(len, lines[: self.end[0] - 1])) + self.end[1]
        return source[:start] + self.new.encode() + source[stop:]


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Every fault that could be planted in a file."""
    tree = ast.parse(path.read_bytes())
    for node in _code(tree):
        for kind, new in _changes(node):
            yield _mutant(path, node, kind, new)


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run: no annotations, no imports, no docstrings, no ``__all__``, no f-strings' insides.

    And no assertions, which say what holds anyway.
    """
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, _SAYS_NOTHING):
                continue
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                continue
            if isinstance(child, ast.keyword) and child.arg == "strict":
                continue  # says what holds anyway
            if isinstance(child, ast.Assign) and ast.unparse(child.targets[0]) == "__all__":
                continue
            yield child
            yield from _code(child)


def _changes(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Kinds of change and the new text of the node."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARE:
        other = ast.Compare(node.left, [_COMPARE[type(node.ops[0])](), *node.ops[1:]], node.comparators)
        yield "compare", f"({ast.unparse(other)})"
    elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC and not _is_text(node):
        yield "arithmetic", f"({ast.unparse(ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right))})"
    elif isinstance(node, ast.BoolOp):
        operator = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "logical", f"({ast.unparse(ast.BoolOp(operator, node.values))})"
    elif isinstance(node, ast.IfExp):
        yield "choice", f"({ast.unparse(ast.IfExp(node.test, node.orelse, node.body))})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not", f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield "number", str(node.value + 1)
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield "truth", str(not node.value)
    elif isinstance(node, ast.Call) and len(node.args) >= 2 and not any(isinstance(a, ast.Starred) for a in node.args):
        args = [node.args[1], node.args[0], *node.args[2:]]
        if ast.dump(args[0]) != ast.dump(args[1]) and ast.unparse(node.func) not in ("isinstance", "cast", "zip"):
            yield "arguments", ast.unparse(ast.Call(node.func, args, node.keywords))
    elif (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)) or isinstance(node, ast.AugAssign):
        yield "statement", "pass"


def _is_text(node: ast.BinOp) -> bool:
    return any(isinstance(n, ast.JoinedStr) or (isinstance(n, ast.Constant) and type(n.value) is str)
               for n in (node.left, node.right))  # fmt: skip


def _mutant(path: Path, node: ast.AST, kind: str, new: str) -> Mutant:
    assert isinstance(node, (ast.expr, ast.stmt))
    assert node.end_lineno is not None and node.end_col_offset is not None
    where, end = path.relative_to(ROOT).as_posix(), (node.end_lineno, node.end_col_offset)
    return Mutant(where, node.lineno, node.col_offset, end, kind, ast.unparse(node), new)


def choose(rooms: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """``count`` mutants, as many from each room as from any other, and of each kind in it."""
    rand = random.Random(seed)
    orders = []
    for room in rooms:
        kinds: dict[str, list[Mutant]] = {}
        for path in sorted((ROOT / "vkamp" / room).rglob("*.py")):
            for mutant in mutants_of(path):
                kinds.setdefault(mutant.kind, []).append(mutant)
        for pool in kinds.values():
            rand.shuffle(pool)
        pools = list(kinds.values())
        rand.shuffle(pools)
        orders.append(_in_turn(pools))
    return _in_turn(orders)[:count]


def _in_turn(rows: Sequence[Sequence[Mutant]]) -> list[Mutant]:
    """The first of each row, then the second of each, and so on."""
    return [m for column in itertools.zip_longest(*rows) for m in column if m is not None]


@dataclass(frozen=True)
class Verdict:
    """``by``: the first test that failed, ``"the time limit"``, or ``""`` for a mutant that survived."""

    mutant: Mutant
    by: str
    seconds: float


def judge(
    mutant: Mutant, words: Sequence[str], limit: float, *, near: bool = False, cache: Path | None = None
) -> Verdict:
    """Runs the tests on a copy of the project with the fault in it; compiled shaders are kept in ``cache``."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="vkamp-mutant-") as folder:
        place = _project(Path(folder))
        target = place / mutant.path
        target.write_bytes(mutant.apply(target.read_bytes()))
        room = mutant.path.split("/")[1]
        first = [name for name in FIRST[room] if (place / name).exists()]
        rest = [f"--ignore={name}" for name in (*first, *LEFT_OUT)]
        by = _failure(place, [*words, *first], limit, cache)
        if not by and not near:
            by = _failure(place, [*words, *rest, "tests"], limit, cache)
    return Verdict(mutant, by, time.monotonic() - start)


def control(
    rooms: Sequence[str], words: Sequence[str], limit: float, *, near: bool = False, cache: Path | None = None
) -> str:
    """The first test that fails without a fault; ``""`` if none does."""
    with tempfile.TemporaryDirectory(prefix="vkamp-control-") as folder:
        place = _project(Path(folder))
        near_by = {name for room in rooms for name in FIRST[room] if (place / name).exists()}
        wanted = sorted(near_by) if near else [*(f"--ignore={name}" for name in LEFT_OUT), "tests"]
        return _failure(place, [*words, *wanted], limit, cache)


def _project(place: Path) -> Path:
    """A copy of the project."""
    for name in NEEDED:
        _copy(ROOT / name, place / name)
    return place


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    elif source.exists():
        shutil.copy(source, target)


def _failure(place: Path, words: Sequence[str], limit: float, cache: Path | None) -> str:
    """The first test that fails; ``""`` if none does."""
    # Shaders are kept by their text, which no fault in these rooms makes wrong: most are the same in every run.
    environment = {**os.environ, "PYTHONPATH": _path(place), "VKAMP_CACHE_DIR": str(cache or place / "cache")}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no", *words]
    try:
        done = subprocess.run(
            command, cwd=place, env=environment, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return "the time limit"
    if done.returncode in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
        return ""
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if failed:
        return failed[0].split(" ", 1)[1].split(" - ")[0]
    # Tests that cannot even start.
    return (done.stdout + done.stderr).strip().splitlines()[-1][:160]


def _path(place: Path) -> str:
    inherited = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and Path(p).resolve() != ROOT]
    return os.pathsep.join([str(place), *inherited])


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the mutants and prints the table; 1 if fewer than 95 in 100 were caught, 2 if the tests fail anyway."""
    parser = argparse.ArgumentParser(description="plants faults in the compiler and says which the tests catch")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--room", choices=ROOMS, action="append", help="default: all of them")
    parser.add_argument("--only", action="append", metavar="NAME", help="mutants by the names that a run has printed")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=1800, help="seconds that the tests may take (default 1800)")
    parser.add_argument("--list", action="store_true", help="show the mutants and run none")
    parser.add_argument("--near", action="store_true", help="run the tests of the mutant's room only")
    parser.add_argument("pytest", nargs="*", help="words for pytest, after --")
    options = parser.parse_args(arguments)
    if options.only:
        known = {m.name: m for room in ROOMS for p in (ROOT / "vkamp" / room).rglob("*.py") for m in mutants_of(p)}
        mutants = [known[name] for name in options.only]
    else:
        mutants = choose(options.room or ROOMS, options.count, options.seed)
    if options.list:
        for mutant in mutants:
            print(f"{mutant.name}\n{_change(mutant)}")
        return 0
    caught = 0
    with (
        tempfile.TemporaryDirectory(prefix="vkamp-mutants-cache-") as cache,
        concurrent.futures.ThreadPoolExecutor(options.jobs) as pool,
    ):
        rooms = sorted({mutant.path.split("/")[1] for mutant in mutants})
        how = {"near": options.near, "cache": Path(cache)}
        without = pool.submit(control, rooms, options.pytest, options.limit, **how)
        running = [pool.submit(judge, mutant, options.pytest, options.limit, **how) for mutant in mutants]
        for each in concurrent.futures.as_completed(running):
            verdict = each.result()
            caught += bool(verdict.by)
            _show(verdict)
        failing = without.result()
    if failing:
        print(f"void: without a fault {failing} fails, too")
        return 2
    print(f"{caught} of {len(mutants)} mutants caught (seed {options.seed})")
    return 0 if caught >= 0.95 * len(mutants) else 1


def _change(mutant: Mutant) -> str:
    return f"  - {mutant.old}\n  + {mutant.new}"


def _show(verdict: Verdict) -> None:
    mutant = verdict.mutant
    if verdict.by:
        print(f"caught    {mutant.name}  {verdict.seconds:.0f} s  {verdict.by}", flush=True)
    else:
        print(f"SURVIVED  {mutant.name}  {verdict.seconds:.0f} s\n{_change(mutant)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
