"""Results of statements wherever they are used: what assigns a variable x what uses it, against the same in numpy.

A pass that forgets that one kind of statement assigns a variable takes the variable for another one, or loses it.
"""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import vkamp as amp
from tests.kernel_language.from_text import define
from tests.kernel_language.programs import I32

TILE, TILES = 8, 3
N = TILE * TILES
Values = NDArray[np.int64]


@amp.struct
class Pair:
    x: amp.int32
    y: amp.float32


@amp.func
def twice(x):
    if x > 100:
        return x - 100
    return 2 * x


@amp.func
def both(x):
    return 3 * x, x - 4


@amp.func
def swap(x, cells):
    cells[0] = x + cells[1]
    return cells[0]


@amp.func
def pair_of(x):
    return Pair(2 * x, amp.float32(x))


@dataclass(frozen=True)
class Source:
    """Lines that assign ``{a}`` and ``{b}`` from the number ``{v}``, and what they assign."""

    lines: str
    expected: Callable[[Values], tuple[Any, Any]]


SOURCES = {
    "assign": Source("{a} = 2 * {v}\n{b} = {v} + 3", lambda v: (2 * v, v + 3)),
    "subgroup": Source(
        "{a} = amp.subgroup.add({v})\n{b} = amp.subgroup.max({v})",
        lambda v: (_of_subgroups(v, np.sum), _of_subgroups(v, np.max)),
    ),
    "call": Source("{a} = twice({v})\n{b} = twice({v} + 90)", lambda v: (_twice(v), _twice(v + 90))),
    "call_of_two": Source("{a}, {b} = both({v})", lambda v: (3 * v, v - 4)),
    "call_with_array": Source("mine[1] = {v}\n{a} = swap(5, mine)\n{b} = swap({v}, mine)", lambda v: (v + 5, 2 * v)),
    "atomic": Source(
        "cells[t] = {v}\n{a} = amp.atomic_fetch_add(cells[t], 3)\n{b} = amp.atomic_exchange(cells[t], 1)",
        lambda v: (v, v + 3),
    ),
    "compare_exchange": Source(
        "cells[t] = {v}\n{b} = {v} + 1\n{a} = 7 if amp.atomic_compare_exchange(cells[t], {b}, 9) else 8",
        lambda v: (np.full_like(v, 8), v),
    ),
    "claim": Source(
        "{a} = amp.uniform(same[t.tile] + 2)\n{b} = amp.uniform(same[t.tile] * 3)",
        lambda v: (v * 0 + TILE_VALUES + 2, v * 0 + TILE_VALUES * 3),
    ),
    "loop": Source(
        "{a} = 0\nfor {a} in range({v} % 4):\n    pass\n{b} = 1\nwhile {b} < {v}:\n    {b} *= 2",
        lambda v: (np.maximum((v & 3) - 1, 0), np.array([1 if n < 2 else 1 << int(n - 1).bit_length() for n in v])),
    ),
    "struct": Source("p = pair_of({v})\n{a} = p.x\n{b} = amp.int32(p.y) + 1", lambda v: (2 * v, v + 1)),
    "vector": Source("w = amp.int2({v}, 5)\nw.y += w.x\n{a}, {b} = w.y, w.x", lambda v: (v + 5, v)),
    "branch": Source(
        "if {v} > 9:\n    {a} = {v} - 9\n    {b} = 1\nelse:\n    {a} = {v}\n    {b} = 2 * {v}",
        lambda v: (np.where(v > 9, v - 9, v), np.where(v > 9, 1, 2 * v)),
    ),
}


#: The threads of a subgroup; a test sets it to those of its accelerator.
_threads = [TILE]


def _of_subgroups(v: Values, function: Callable[..., Values]) -> Values:
    return np.repeat(function(v.reshape(-1, _threads[0]), axis=1), _threads[0])


def _twice(v: Values) -> Values:
    return np.where(v > 100, v - 100, 2 * v)


#: Uses of two results, as a kernel and numpy read them; ``MAKE(a, b, v)`` stands for the lines of a source.
CONTEXTS = {
    "choice in an unrolled loop": """
        MAKE(a, b, v)
        for k in amp.static_range(2):
            total += (k + 3) * (a if k == 0 else b)
    """,
    "branch in an unrolled loop": """
        MAKE(a, b, v)
        for k in amp.static_range(4):
            if k < 3:
                total = total * 3 + a
            else:
                total = total * 5 + b
    """,
    "made in every copy": """
        for k in amp.static_range(3):
            MAKE(a, b, v + k)
            total = total * 3 + a - b
    """,
    "made in every copy, the last one used behind": """
        for k in amp.static_range(3):
            MAKE(a, b, v + k)
            total += a
        total = total * 7 + b
    """,
    "made in every copy, used in the next": """
        a = v
        b = v
        for k in amp.static_range(3):
            total = total * 3 + a
            MAKE(a, b, v + k)
        total += b
    """,
    "exchanged in an unrolled loop": """
        MAKE(a, b, v)
        for k in amp.static_range(3):
            a, b = b, a + k
            total = total * 3 + a
    """,
    "two pairs": """
        MAKE(a, b, v)
        MAKE(c, d, v + 1)
        for k in amp.static_range(2):
            total = total * 11 + ((a if k == 0 else c) - (d if k == 0 else b))
    """,
    "in a loop": """
        for k in range(3):
            MAKE(a, b, v + k)
            total = total * 3 + a
            total -= b
    """,
    "made before a loop that changes it": """
        MAKE(a, b, v)
        for k in range(3):
            total += a * k
            a = b
            b = total
    """,
    "across a barrier": """
        MAKE(a, b, v)
        BARRIER
        total += a
        BARRIER
        total = total * 3 + b
    """,
    "in a loop with a barrier": """
        MAKE(a, b, v)
        for k in range(3):
            BARRIER
            total = total * 3 + a
            MAKE(a, b, v + k)
            BARRIER
            total += b
        total += a
    """,
    "copied on": """
        MAKE(a, b, v)
        c = a
        d = b
        a = 1
        total = c * 7 + d + a
    """,
    "made again": """
        MAKE(a, b, v)
        c = a - b
        MAKE(a, b, c & 7)
        total = a * 5 + b + c
    """,
}
_MAKE = re.compile(r"^( *)MAKE\((\w+), (\w+), (.*)\)$", re.MULTILINE)


def kernel_of(source: Source, context: str) -> Any:
    """A kernel that uses a source in a context."""

    def made(found: re.Match[str]) -> str:
        indent, a, b, v = found.groups()
        # A variable of its own: the number may name what the lines assign.
        lines = f"given = {v}\n{source.lines.format(a=a, b=b, v='given')}"
        return textwrap.indent(lines, indent)

    lines = _MAKE.sub(made, textwrap.dedent(context).strip()).replace("BARRIER", "t.barrier.wait()")
    first = ["v = values[t]", "mine = amp.private(2, amp.int32)", "total = 0"]
    body = textwrap.indent("\n".join([*first, lines, "out[t] = total"]), "    ")
    names = {"twice": twice, "both": both, "swap": swap, "pair_of": pair_of}
    return amp.kernel(define(f"def k(t, values, same, cells, out):\n{body}\n", **names))


def expected_of(source: Source, context: str, values: Values) -> Values:
    """The result of a context, computed by the same lines on whole arrays."""
    text = textwrap.dedent(context).strip().replace("BARRIER", "pass").replace("amp.static_range", "range")
    text = _MAKE.sub(r"\1\2, \3 = make(\4)", text)
    space: dict[str, Any] = {
        "v": values,
        "total": values * 0,
        "make": lambda v: tuple(map(np.copy, source.expected(v))),
    }
    exec(text.replace("total +=", "total = total +").replace("total -=", "total = total -"), space)
    return (space["total"] + 2**31) % 2**32 - 2**31


VALUES = np.random.default_rng(5).integers(1, 40, N)
SAME = np.array([4, 9, 2])
TILE_VALUES = np.repeat(SAME, TILE)


def check(view: amp.accelerator_view, source: Source, context: str) -> str | None:
    """Runs a kernel; what is wrong."""
    out = amp.array(amp.extent(N), amp.int32, accelerator_view=view)
    values, same = (amp.array_view(x.astype(I32)) for x in (VALUES, SAME))
    kernel, cells = kernel_of(source, context), amp.array_view(np.zeros(N, I32))
    with warnings.catch_warnings():
        # Nothing is exchanged at the barriers.
        warnings.simplefilter("ignore", amp.BarrierWarning)
        amp.parallel_for_each(view, amp.extent(N).tile(TILE), kernel, values, same, cells, out)
    expected = expected_of(source, context, VALUES)
    return None if (np.asarray(out) == expected).all() else f"{np.asarray(out)} instead of {expected}"


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.spread(2)
def test_a_result_is_used_where_it_was_made(accelerator_view, name, monkeypatch):
    _threads[0] = min(accelerator_view.accelerator.limits.subgroup_size, TILE)
    wrong = {}
    for context, text in CONTEXTS.items():
        for lowering in ("threads", "loops") if "BARRIER" in text else ("threads",):
            monkeypatch.setenv("VKAMP_LOWERING", lowering)
            wrong[context, lowering] = check(accelerator_view, SOURCES[name], text)
    assert not {key: what for key, what in wrong.items() if what}
