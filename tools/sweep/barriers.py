"""Every control construct around a barrier, in tiles of every size and shape; numpy is the oracle.

The threads of a tile pass their numbers on, once in each round between two barriers; the construct and the tile's flag
determine the number of rounds.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vkamp as amp

__all__ = ["CONSTRUCTS", "Construct", "check", "shapes"]

#: The flags of the tiles, which control the construct in each tile.
FLAGS = (0, 1, 2, 7)
#: Threads of the largest tile.
_MAX = 256


@dataclass(frozen=True)
class Construct:
    """``body`` is a kernel's text, with ``ROUND`` for a round and ``f`` for the tile's flag; ``n`` is 3 at each launch.

    ``rounds`` are those that a tile with a flag runs, and ``more`` what the threads add to their numbers.
    """

    name: str
    body: str
    rounds: Callable[[int], int]
    more: Callable[[int], int] = lambda flag: 0
    functions: str = ""


_FUNCTION = """\
@amp.func
def turn(t, s, l, x):
    s[l] = x
    t.barrier.wait()
    y = s[(l + 1) % SIZE] + 1
    t.barrier.wait()
    return y
"""
_EARLY = """\
@amp.func
def turned(t, s, l, x, f):
    if f == 0:
        return x
    s[l] = x
    t.barrier.wait()
    y = s[(l + 1) % SIZE] + 1
    t.barrier.wait()
    return y
"""
_FLAG = "flags[t.tile[0]]"

CONSTRUCTS = (
    Construct("straight", "ROUND", lambda f: 1),
    Construct("two rounds", "ROUND\nROUND", lambda f: 2),
    Construct("for n", "for k in range(n):\n    ROUND", lambda f: 3),
    Construct("for flag", "for k in range(f):\n    ROUND", lambda f: f),
    Construct("for memory", f"for k in range({_FLAG}):\n    ROUND", lambda f: f),
    Construct("for down to memory", f"for k in range(7 - {_FLAG}):\n    ROUND", lambda f: 7 - f),
    Construct("for downwards", f"for k in range(3, {_FLAG}, -1):\n    ROUND", lambda f: max(3 - f, 0)),
    Construct("while memory", f"w = 0\nwhile {_FLAG} == 0 and w < 2:\n    w += 1\n    ROUND", lambda f: 2 * (f == 0)),
    Construct("while or", f"w = 0\nwhile w < 1 or w < {_FLAG}:\n    w += 1\n    ROUND", lambda f: max(f, 1)),
    Construct("while not", f"w = 0\nwhile not (w >= {_FLAG}):\n    w += 1\n    ROUND", lambda f: f),
    Construct(
        "break first", f"w = 0\nwhile True:\n    if w >= {_FLAG}:\n        break\n    w += 1\n    ROUND", lambda f: f
    ),
    Construct(
        "break last", f"w = 0\nwhile True:\n    ROUND\n    w += 1\n    if w > {_FLAG}:\n        break", lambda f: f + 1
    ),
    Construct("break in for", f"for k in range(10):\n    if k == {_FLAG}:\n        break\n    ROUND", lambda f: f),
    Construct(
        "continue", f"for k in range(4):\n    if k % 2 == {_FLAG} % 2:\n        continue\n    ROUND", lambda f: 2
    ),
    Construct("if", f"if {_FLAG} > 1:\n    ROUND", lambda f: int(f > 1)),
    Construct(
        "if else",
        f"if {_FLAG} > 1:\n    ROUND\nelse:\n    x += 100\n    ROUND",
        lambda f: 1,
        lambda f: 0 if f > 1 else 100,
    ),
    Construct(
        "elif", f"if {_FLAG} == 1:\n    ROUND\nelif {_FLAG} == 2:\n    ROUND\n    ROUND", lambda f: f if f < 3 else 0
    ),
    Construct("loop in if", f"if {_FLAG} > 0:\n    for k in range({_FLAG}):\n        ROUND", lambda f: f),
    Construct("if in loop", f"for k in range(n):\n    if {_FLAG} > k:\n        ROUND", lambda f: min(f, 3)),
    Construct(
        "nested", f"for k in range({_FLAG}):\n    for m in range(3 - n + k):\n        ROUND", lambda f: f * (f - 1) // 2
    ),
    Construct(
        "nested break",
        f"for k in range(3):\n    w = 0\n    while True:\n        if w == {_FLAG} or w == k:\n            break\n"
        "        w += 1\n        ROUND",
        lambda f: sum(min(f, k) for k in range(3)),
    ),
    Construct("static range", "for k in amp.static_range(3):\n    ROUND", lambda f: 3),
    Construct("func", f"for k in range({_FLAG}):\n    x = turn(t, s, l, x)", lambda f: f, functions=_FUNCTION),
    Construct("func twice", "x = turn(t, s, l, x)\nx = turn(t, s, l, x)", lambda f: 2, functions=_FUNCTION),
    Construct("early return in func", f"x = turned(t, s, l, x, {_FLAG})", lambda f: int(f > 0), functions=_EARLY),
    Construct(
        "early return in func in loop",
        f"for k in range(n):\n    x = turned(t, s, l, x, {_FLAG} - k)",
        lambda f: sum(f - k != 0 for k in range(3)),
        functions=_EARLY,
    ),
    Construct(
        "early return",
        f"if {_FLAG} == 0:\n    out[t] = x + 1000\n    return\nROUND",
        lambda f: int(f > 0),
        lambda f: 1000 if f == 0 else 0,
    ),
    Construct(
        "loop without a barrier before",
        f"w = 0\nwhile {_FLAG} == 0 and w < 5:\n    w += 1\nfor k in range(n):\n    ROUND\nx += w",
        lambda f: 3,
        lambda f: 5 if f == 0 else 0,
    ),
    Construct(
        "loop without a barrier after",
        f"for k in range({_FLAG}):\n    ROUND\nw = 0\nwhile w < 7 - {_FLAG}:\n    w += 1\nx += w",
        lambda f: f,
        lambda f: 7 - f,
    ),
)


def shapes(most: int = 40) -> list[tuple[int, ...]]:
    """Tiles of one dimension of every size, and of two and three whose last is of every size."""
    rows: list[tuple[int, ...]] = [(n,) for n in range(1, most + 1)]
    rows += [(m, n) for n in range(1, most + 1) for m in (1, 2, 3, 5) if m * n <= _MAX]
    rows += [(m, 2, n) for n in range(1, most + 1) for m in (2, 3) if m * 2 * n <= _MAX]
    return rows


def _source(construct: Construct, shape: tuple[int, ...], lowering: str) -> str:
    size = math.prod(shape)
    number = " + ".join(f"t.local[{d}] * {math.prod(shape[d + 1 :])}" for d in range(len(shape)))
    lines = construct.functions.replace("SIZE", str(size)).splitlines()
    lines += [f"@amp.kernel(lowering={lowering!r})", "def k(t, flags, out, n):"]
    lines += [f"    s = amp.tile_static({size}, amp.int32)", f"    l = {number}", "    x = l", f"    f = {_FLAG}"]
    for line in construct.body.splitlines():
        head, found, _ = line.partition("ROUND")
        turn = ("s[l] = x", "t.barrier.wait()", f"x = s[(l + 1) % {size}] + 1", "t.barrier.wait()")
        lines += [f"    {head}{part}" for part in turn] if found else [f"    {line}"]
    return "\n".join([*lines, "    out[t] = x"]) + "\n"


def kernel_of(construct: Construct, shape: tuple[int, ...], lowering: str) -> Any:
    """The kernel of a construct for a shape of tiles."""
    source = _source(construct, shape, lowering)
    file = f"<sweep {construct.name} {shape} {lowering}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    names: dict[str, Any] = {"amp": amp}
    exec(compile(source, file, "exec"), names)
    return names["k"]


def _expected(construct: Construct, size: int) -> NDArray[np.int32]:
    tiles = []
    for flag in FLAGS:
        rounds = construct.rounds(flag)
        number = (np.arange(size) + rounds) % size
        tiles.append(number + rounds + construct.more(flag))
    return np.array(tiles, np.int32)


def check(construct: Construct, shape: tuple[int, ...], lowering: str, view: amp.accelerator_view) -> str:
    """Runs a construct in tiles of a shape; returns the failure, if any."""
    size = math.prod(shape)
    out = amp.array_view(np.full((len(FLAGS) * shape[0], *shape[1:]), -1, np.int32))
    flags = amp.array_view(np.array(FLAGS, np.int32))
    kernel = kernel_of(construct, shape, lowering)
    amp.parallel_for_each(view, out.extent.tile(*shape), kernel, flags, out, 3)
    found, expected = np.asarray(out).reshape(len(FLAGS), size), _expected(construct, size)
    bad = np.argwhere(found != expected)
    if not len(bad):
        return ""
    tile, thread = bad[0]
    return (
        f"{construct.name} in tiles of {shape} as {lowering}: {len(bad)} threads differ; "
        f"thread {thread} of tile {tile} has {found[tile, thread]}, not {expected[tile, thread]}"
    )
