"""Kernels with parts that do nothing: declarations alone, empty loops, values that nothing uses, barriers at the ends.

What is left of such a part when its threads are loops may be nothing at all.
"""

from __future__ import annotations

import itertools
import linecache
import random
import re
import textwrap
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.emit.programs import Program, buffers
from vkamp import sim
from vkamp.artifacts import Target
from vkamp.errors import CompileError
from vkamp.ir.nodes import Kernel
from vkamp.ir.types import INT32
from vkamp.ir.verify import verify
from vkamp.lower import NotLowerable, loops
from vkamp.pipeline.passes import shader_of

TILE = 8

#: Lines that do little or nothing; ``{n}`` is a number of its own for names.
ATOMS = [
    "a{n} = amp.private(4, amp.int32)",
    "a{n} = amp.private((2, 2), amp.float32)",
    "kept[i & 3] = i",
    "total += kept[0] + kept[i & 3]",
    "s{n} = amp.tile_static(8, amp.int32)",
    "assert i >= 0",
    "if i > 99:\n    pass",
    "if i > 3:\n    pass\nelse:\n    total += 1",
    "for k{n} in range(3):\n    pass",
    "for k{n} in range(0):\n    total += 1",
    "for k{n} in range(2):\n    b{n} = amp.private(2, amp.int32)",
    "u{n} = i + 3",
    "u{n} = 5\nu{n} = 6",
    "total += 1",
    "t.barrier.wait()",
    "nothing()",
    "value(i)",
    "waiting(t)",
    "u{n} = amp.uniform(rounds)",
    "tile[t.local] = total",
    "total += tile[t.local]",
    "out[t] = total",
    "amp.atomic_fetch_add(cells[0], 0)",
    "if i == 3:\n    u{n} = i",
    "if i < 4:\n    out[t] = total",
    "if False:\n    out[t] = 9",
    "if rounds > 99:\n    return",
    "while False:\n    pass",
    "pass",
]
#: What may be around some of them; all threads go the same way.
AROUND = [
    "for r{n} in range(2):\n{body}",
    "for r{n} in range(rounds):\n{body}",
    "if rounds > 1:\n{body}",
    "if rounds > 1:\n    pass\nelse:\n{body}",
    "w{n} = 0\nwhile w{n} < 2:\n    w{n} += 1\n{body}",
    "while True:\n{body}\n    break",
    "for r{n} in amp.static_range(2):\n{body}",
]


@amp.func
def nothing():
    pass


@amp.func
def value(x):
    return x + 1


@amp.func
def waiting(t):
    t.barrier.wait()


def block(choose: random.Random, numbers: Any, depth: int) -> str:
    lines = []
    for _ in range(choose.randint(1, 5)):
        number = next(numbers)
        if depth < 2 and choose.random() < 0.25:
            body = textwrap.indent(block(choose, numbers, depth + 1), "    ")
            lines.append(choose.choice(AROUND).replace("{n}", str(number)).replace("{body}", body))
        else:
            lines.append(choose.choice(ATOMS).replace("{n}", str(number)))
    return "\n".join(lines)


def source_of(seed: int) -> str:
    choose, numbers = random.Random(seed), itertools.count()
    first = "kept = amp.private(4, amp.int32)\n"
    if choose.random() < 0.5:
        first += "for k in range(4):\n    kept[k] = k\n"
    lines = block(choose, numbers, 0)
    if choose.random() < 0.5:
        first += "i, rounds, total = t.local[0], cells[2], 0\n"
    else:
        # Without a line before the first barrier that has to do anything.
        for name, text in (("total", "out[t]"), ("i", "t.local[0]"), ("rounds", "cells[2]")):
            lines = re.sub(rf"(?<![.\w]){name}\b", text, lines)
    if "tile[" in lines:
        first += "tile = amp.tile_static(8, amp.int32)\ntile[t.local] = 1\n"
    return f"def k(t, out, cells):\n{textwrap.indent(first + lines, '    ')}\n"


def function_of(seed: int) -> Any:
    source = source_of(seed)
    name = f"<degenerate {seed}>"
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    space: dict[str, Any] = {"amp": amp, "nothing": nothing, "value": value, "waiting": waiting}
    exec(compile(source, name, "exec"), space)
    return space["k"]


def kernel_of(seed: int) -> Kernel | None:
    """A random kernel; ``None`` where the compiler refuses it."""
    args = buffers(out=(INT32, 1), cells=(INT32, 1))
    try:
        return Program(function_of(seed), 1, (TILE,), args).kernel()
    except CompileError:
        return None


def run(kernel: Kernel) -> list[int]:
    out, cells = np.zeros(2 * TILE, np.int32), np.array([0, 1, 2], np.int32)
    sim.run(kernel, (2 * TILE,), {"out": out, "cells": cells}, {}, races=False)
    return [*out.tolist(), *cells.tolist()]


def compiled(seed: int) -> bool:
    """Prints a kernel in all forms; whether there was one with loops."""
    kernel = kernel_of(seed)
    if kernel is None:
        return False
    for target in (Target(), Target(types=frozenset({"storage8", "int8"})), Target(max_unrolled_statements=5)):
        assert shader_of(kernel, target).glsl
    try:
        form = loops(kernel, 4)
    except NotLowerable:
        return False
    verify(form)
    assert shader_of(form, Target(lowering="loops", lanes=4)).glsl
    return True


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_what_does_nothing_compiles(start):
    made = [compiled(seed) for seed in range(start, start + 100)]
    assert sum(made) > 30


#: Kernels that are right, and come as loops.
RIGHT = [2002, 2027, 2042, 2043, 2073, 2085, 2105, 2108]


@pytest.mark.parametrize("seed", RIGHT)
@pytest.mark.filterwarnings("ignore::vkamp.BarrierWarning")
def test_what_does_nothing_changes_nothing(accelerator_view, seed):
    kernel = kernel_of(seed)
    assert kernel is not None
    expected = run(kernel)
    for lowering in ("threads", "loops"):
        out, cells = amp.array_view(np.zeros(2 * TILE, np.int32)), amp.array_view(np.array([0, 1, 2], np.int32))
        launched = amp.kernel(function_of(seed), lowering=lowering)
        amp.parallel_for_each(accelerator_view, amp.extent(2 * TILE).tile(TILE), launched, out, cells)
        assert [*np.asarray(out).tolist(), *np.asarray(cells).tolist()] == expected
