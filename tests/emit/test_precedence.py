"""Every kind of expression in every place that the printer has for one, against Python.

If an operand lacks its parentheses, glslang rejects it or it means something else.
"""

from __future__ import annotations

import os
import re
import textwrap
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.from_text import define
from tests.kernel_language.programs import I32

#: Pairs of n and m, one for each thread.
THREADS = [(1, 3), (2, 1), (5, 2), (6, 7), (0, 4), (-3, 2), (9, -2), (-1, -6)]
CELLS = np.array([3, 1, 4, 1, 5, 9, 2, 6], I32)
FLAG, COUNT = True, 3
#: Expressions in one kernel: the drivers take long for many loops in one.
CHUNK = 8
#: Each kernel of a place runs on one of these, another one in each place. ``VKAMP_TEST_ALL=1`` leaves out nothing.
PARTS = ("swiftshader", "llvmpipe", "reference")

INTEGERS = [
    "n", "5", "-3", "-n", "~n", "-(-n)", "-(n - m)", "~(n | m)", "n + 2", "2 + n", "n - m", "n - (m - 2)", "n - -m",
    "n * m", "n * (m + 1)", "n // 4", "n // 3", "n % 4", "n % 3", "n & 3", "n | 1", "n ^ m", "n & (m | 4)", "n << 1",
    "n >> 1", "(n & 7) >> (m & 1)", "n if n > m else m", "n if flag else m & 1", "min(n, m)", "abs(n)", "count",
    "-count", "count & n", "cells[m & 7]", "amp.int32(n > m)", "amp.int32(amp.float32(n) * 1.5)",
    "amp.int32(amp.uint32(n & 7) >> 1)", "amp.int2(n, m).y", "(amp.int2(n, m) + amp.int2(1, 2)).x", "second(n, m)",
]  # fmt: skip
BOOLS = [
    "n > m", "not n > m", "not (n > m and n > 1)", "n == m or m > 2", "n > 1 and m > 1", "(n > 1 or m > 1) and n < 5",
    "n > 1 or m > 1 and n < 5", "flag", "not flag", "(n > m) == flag", "(n > 1) != (m > 1)", "(n > 1) & (m > 1)",
    "(n > 1) | (m > 1)", "(n > 1) ^ (m > 1)", "n & 1 == m & 1", "(n > m if flag else m > n)", "n + 1 > m - 1 > 0",
    "amp.float32(n) < 2.5", "yes(n, m)",
]  # fmt: skip

#: Lines that use the expression ``E`` and leave a number in ``r``; in brackets what each thread needs of it.
PLACES = {
    "stop of a range [-99 99]": "for q in range(E):\n    r += q + 1",
    "stop of a range, downwards [-99 99]": "for q in range(9, E, -2):\n    r += q",
    "start of a range [-99 99]": "for q in range(E, 12):\n    r += q",
    "start of a range, downwards [-99 99]": "for q in range(E, -12, -3):\n    r += q",
    "step of a range [1 99]": "for q in range(0, 20, E):\n    r += q",
    "step of a range of any sign [-99 99]": "for q in range(STEP(-9, 9, E)):\n    r += q + 1",
    "all of a range [1 99]": "for q in range(E, E * 5, E):\n    r += q",
    "range of uint32 [0 99]": "for q in range(amp.uint32(E)):\n    r += amp.int32(q)",
    "range whose variable changes [0 99]": "for q in range(E):\n    q = q * 2\n    r += q",
    "subscript [0 7]": "r = cells[E]",
    "subscript of a store [0 7]": "mine[0] = 0\nmine[E] = 7\nr = mine[E] + mine[0]",
    "subscripts of two dimensions [0 1]": "square[E, 1 - E] = 7\nr = square[E, 1 - E] + E",
    "subscript of tile_static memory [0 7]": "tile[t.local] = n\nr = tile[t.local] + 0 * E",
    "augmented subscript [0 7]": "mine[E] = 1\nmine[E] += E\nr = mine[E]",
    "condition": "if E:\n    r = 1\nelif E:\n    r = 2",
    "condition of a while loop": "while E:\n    r += 1\n    if r > 3:\n        break",
    "negation": "r = 1 if not E else 2",
    "chosen by": "r = 1 if E else 2",
    "chosen first": "r = E if n > 1 else 7",
    "chosen second": "r = 7 if n > 1 else E",
    "chosen in a choice": "r = (E if n > 1 else 7) if m > 1 else (8 if n > 2 else E)",
    "assigned": "r = E",
    "assigned to two": "r, s = E, n\nr += s",
    "argument": "r = second(E, m)",
    "both arguments": "r = second(E, E)",
    "argument beside an array": "r = stored(mine, E)",
    "argument of a builtin": "r = min(E, m) + max(3, E) + abs(E)",
    "argument of a subgroup's function": "r = amp.subgroup.shuffle(E, amp.subgroup.lane())",
    "returned": "r = returned(n, m, flag, cells, count)",
    "cast": "r = amp.int32(amp.float32(E))",
    "cast to uint32 and compared [0 99]": "r = 1 if amp.uint32(E) > amp.uint32(5) else 2",
    "negated": "r = -E",
    "inverted": "r = ~E",
    "compared": "r = (1 if E < m else 0) + (2 if m <= E else 0) + (4 if E == E else 0)",
    "matched": "match E:\n    case 1:\n        r = 5\n    case 2 | 3:\n        r = 6\n    case _:\n        r = 7",
    "component": "v = amp.int2(E, n)\nv.y = E\nr = v.yx.x + v.x",
    "operand of a vector": "r = (amp.int2(1, 2) * E).y + (E - amp.int2(1, 2)).x",
    "field": "p = Pair(E, 1.5)\np.x += E\nr = p.x",
    "added atomically": "amp.atomic_fetch_add(own[t], E)\nr = own[t]",
    "subtracted atomically": "amp.atomic_fetch_sub(own[t], E)\nr = own[t]",
    "exchanged atomically": "r = amp.atomic_exchange(own[t], E) + E",
    "compared and exchanged": "s = E\namp.atomic_compare_exchange(own[t], s, E)\nr = s",
    "subscript of an atomic [0 7]": "r = amp.atomic_fetch_add(zeros[E], 0)",
    "asserted": "assert E or True\nr = 1",
    **{f"left of {op}": f"r = E {op} m" for op in ("+", "-", "*", "&", "|", "^")},
    **{f"right of {op}": f"r = m {op} E" for op in ("+", "-", "*", "&", "|", "^")},
    **{f"left of {op} 3": f"r = E {op} 3" for op in ("//", "%", "<<", ">>")},
    **{f"left of {op} 4": f"r = E {op} 4" for op in ("//", "%")},
    **{f"right of {op} [1 31]": f"r = m {op} E" for op in ("//", "%")},
    **{f"right of {op} [0 20]": f"r = m {op} E" for op in ("<<", ">>")},
    **{f"augmented by {op}": f"r = n\nr {op}= E" for op in ("+", "-", "*", "&", "|", "^")},
    **{f"left of {word}": f"r = 1 if E {word} n > 1 else 2" for word in ("and", "or", "==", "!=")},
    **{f"right of {word}": f"r = 1 if n > 1 {word} E else 2" for word in ("and", "or")},
}
#: Of these the expression is a bool.
TRUTHS = {
    "condition", "condition of a while loop", "negation", "chosen by", "asserted",
    *(f"{side} of {word}" for word in ("and", "or", "==", "!=") for side in ("left", "right")),
}  # fmt: skip


@amp.func
def second(a, b):
    return b - a


@amp.func
def yes(a, b):
    return a > b


@amp.func
def stored(cells, x):
    cells[1] = x
    return cells[1] + x


@amp.struct
class Pair:
    x: amp.int32
    y: amp.float32


class Vector:
    """What a kernel's short vector does, in Python."""

    def __init__(self, x: int, y: int) -> None:
        self.x, self.y = x, y

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, factor: int) -> Vector:
        return Vector(self.x * factor, self.y * factor)

    def __rsub__(self, number: int) -> Vector:
        return Vector(number - self.x, number - self.y)

    @property
    def yx(self) -> Vector:
        return Vector(self.y, self.x)


def wrapped(value: Any) -> int:
    return (int(value) + 2**31) % 2**32 - 2**31


class PythonsAmp:
    """The names of vkamp that the lines use, in Python."""

    int32 = staticmethod(wrapped)
    int2 = Vector
    float32 = float

    @staticmethod
    def uint32(value: int) -> int:
        return value % 2**32

    @staticmethod
    def atomic_fetch_add(*_: Any) -> int:
        raise NotImplementedError


#: Python's lines where the kernel's are none.
IN_PYTHON = {
    "argument of a subgroup's function": "r = E",
    "returned": "r = E",
    "added atomically": "r = E",
    "subtracted atomically": "r = -E",
    "exchanged atomically": "r = E",
    "compared and exchanged": "r = 0",
    "subscript of an atomic": "r = 0",
    "subscript of tile_static memory": "r = n",
    "field": "r = E + E",
}
_NEEDS = re.compile(r" \[(-?\d+) (-?\d+)\]$")


def in_python(place: str, lines: str, expression: str) -> list[int] | None:
    """The result of each thread; ``None`` if the expression does not fit the place for one of them."""
    needs = _NEEDS.search(place)
    found = []
    for n, m in THREADS:
        space: dict[str, Any] = {
            "n": n, "m": m, "flag": FLAG, "count": COUNT, "cells": CELLS.tolist(), "mine": [0] * 8, "r": 0,
            "square": {}, "amp": PythonsAmp, "second": lambda a, b: b - a, "yes": lambda a, b: a > b,
            "stored": lambda cells, x: 2 * x,
        }  # fmt: skip
        value = eval(expression, space)
        if needs is not None and not int(needs[1]) <= value <= int(needs[2]):
            return None
        text = IN_PYTHON.get(_NEEDS.sub("", place), lines)
        text = text.replace("STEP(-9, 9, E)", "range(-9, 9, E) if E else range(0)").replace("range(range", "(range")
        exec(re.sub(r"\bE\b", f"({expression})", text), space)
        found.append(wrapped(space["r"]))
    return found


def kernel_of(lines: str, expressions: list[str]) -> Any:
    """A kernel with the place for each expression, one row of ``out`` each."""
    text = "def k(t, ns, ms, flag, count, cells, zeros, own, out):\n    n, m = ns[t], ms[t]\n"
    text += "    mine = amp.private(8, amp.int32)\n    square = amp.private((2, 2), amp.int32)\n"
    text += "    tile = amp.tile_static(8, amp.int32)\n"
    text += "    for k in range(8):\n        mine[k] = 0\n"
    text += "    for k in range(4):\n        square[k // 2, k % 2] = 0\n"
    names: dict[str, Any] = {"second": second, "yes": yes, "stored": stored, "Pair": Pair}
    for row, expression in enumerate(expressions):
        own = lines.replace("STEP(-9, 9, E)", "-9, 9, E")
        if "returned(" in own:
            source = f"def k(n, m, flag, cells, count):\n    if n > 99:\n        return m\n    return {expression}\n"
            names[f"returned_{row}"] = amp.func(define(source, **names))
            own = own.replace("returned(", f"returned_{row}(")
        own = re.sub(r"\bE\b", f"({expression})", own)
        own = re.sub(r"(?<![.\w])[rqsvp]\b(?!\()", lambda found: f"{found[0]}_{row}", own)  # noqa: B023
        lead = f"own[t] = 0\nr_{row} = 0\n"
        text += textwrap.indent(f"{lead}{own}\nout[{row}, t.global_[0]] = r_{row}\n", "    ")
    return amp.kernel(define(text, **names))


def chunks_of(expressions: list[str]) -> list[list[str]]:
    return [expressions[start : start + CHUNK] for start in range(0, len(expressions), CHUNK)]


def part_of(place: str, chunks: list[list[str]], accelerator: str) -> list[list[str]]:
    """What an accelerator runs of a place."""
    name = accelerator.partition("@")[0]
    if os.environ.get("VKAMP_TEST_ALL") or name not in PARTS:
        return chunks
    first = list(PLACES).index(place) + PARTS.index(name)
    count = min(len(PARTS), len(chunks))
    return chunks[first % count :: count]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.filterwarnings("ignore::vkamp.RaceWarning")
def test_every_expression_in_every_place(accelerator_view, place, request):
    lines = PLACES[place]
    candidates = BOOLS if place in TRUTHS else INTEGERS
    expected = {e: found for e in candidates if (found := in_python(place, lines, e)) is not None}
    chunks = part_of(place, chunks_of(list(expected)), request.node.callspec.params["accelerator"])
    assert chunks
    found = {}
    for chunk in chunks:
        out = amp.array_view(np.full((len(chunk), len(THREADS)), -99, I32))
        ns, ms = (amp.array_view(np.array(each, I32)) for each in zip(*THREADS, strict=True))
        cells, zeros, own = (amp.array_view(x) for x in (CELLS, np.zeros(8, I32), np.zeros(8, I32)))
        kernel, domain = kernel_of(lines, chunk), amp.extent(len(THREADS)).tile(8)
        amp.parallel_for_each(accelerator_view, domain, kernel, ns, ms, FLAG, COUNT, cells, zeros, own, out)
        found |= dict(zip(chunk, np.asarray(out).tolist(), strict=True))
    assert found == {e: expected[e] for chunk in chunks for e in chunk}
