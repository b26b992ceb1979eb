"""Quotients and remainders of sums, of which a part is a multiple of the divisor."""

from __future__ import annotations

import linecache
import random
import re
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.emit.programs import Program, buffers, scalars
from vkamp.artifacts import Target
from vkamp.ir.types import INT32, UINT32
from vkamp.pipeline.passes import shader_of


def lines_of(kernel: Any, tile: tuple[int, ...] | None = (128,)) -> list[str]:
    """The statements of a kernel's shader that store to ``out``, or declare a variable."""
    arguments = (*buffers(out=(INT32, 1), words=(UINT32, 1)), *scalars(n=INT32))
    glsl = shader_of(Program(kernel, 1, tile, arguments).kernel(), Target()).glsl
    lines = [line.strip() for line in glsl[glsl.index("void main") :].splitlines()]
    return [line for line in lines if line.startswith(("out_[", "words[", "int "))]


def copied_block(t, out, words, n):
    for q in amp.static_range(8):
        place = t.local[0] + 128 * q
        out[place] = place // 32 + place % 32
        out[place] = (place >> 6) + (place & 15)


def test_multiples_of_the_divisor_are_added_after_the_division():
    assert lines_of(copied_block) == [
        "int place = t_local_0 + 128 * q;",
        "out_[place] = (t_local_0 >> 5) + q * 4 + (t_local_0 & 31);",
        "out_[place] = (t_local_0 >> 6) + q * 2 + (t_local_0 & 15);",
    ]


def rows_and_columns(t, out, words, n):
    for row in range(16):
        for column in range(24):
            place = row * 24 + column
            out[0] = place // 24
            out[1] = place % 24
            out[2] = (place - 25) % 24


def test_a_rest_below_the_divisor_needs_no_division():
    assert lines_of(rows_and_columns) == [
        "out_[0] = row;",
        "out_[1] = column;",
        "out_[2] = (column + 23) % 24;",
    ]


def kept(t, out, words, n):
    # Any of these sums may wrap, or has no multiple of the divisor.
    out[0] = (n + 64 * t.local[0]) // 32
    out[1] = (t[0] + 64 * n) // 32
    out[2] = (t.local[0] + 64 * t.tile[0]) // 24
    out[3] = (t.local[0] + 48 * t.local[0] - n) % 48
    words[4] = (amp.uint32(t.local[0]) - amp.uint32(64)) // amp.uint32(32)


def test_a_sum_that_may_wrap_is_kept():
    assert lines_of(kept) == [
        "out_[0] = (n + 64 * t_local_0) >> 5;",
        "out_[1] = (t_global_0 + 64 * n) >> 5;",
        "out_[2] = (t_local_0 + 64 * t_tile_0) / 24;",
        "out_[3] = floor_mod(t_local_0 + 48 * t_local_0 - n, 48);",
        "words[4] = (uint(t_local_0) - 64u) >> 5;",
    ]


def changed_variables(t, out, words, n):
    a = t.local[0]
    place = a + 64
    a = n
    out[0] = place // 32
    for q in range(4):
        out[1] = place // 32
        place += q
    b = t.local[0] + 32
    if n > 0:
        b = n
    out[2] = b % 32


def test_values_of_variables_hold_until_they_change():
    assert [line for line in lines_of(changed_variables) if line.startswith("out_")] == [
        "out_[0] = place >> 5;",
        "out_[1] = place >> 5;",
        "out_[2] = b & 31;",
    ]


# -- random sums -------------------------------------------------------------------------------------------------------

VARIABLES = ("l", "g", "q", "p", "s")


def sum_of(rng: random.Random) -> str:
    parts = [
        f"{name} * {rng.choice((1, 2, 8, 24, 32, 96, -8, -32))}" for name in rng.sample(VARIABLES, rng.randint(1, 3))
    ]
    return " + ".join([*parts, str(rng.choice((0, 1, 5, 8, 64, -3, -32, 2**31 - 70)))])


def operation(rng: random.Random) -> str:
    divisor = rng.choice((2, 8, 24, 32, 64))
    op = rng.choice(("//", "%", ">>", "&"))
    right = {"//": divisor, "%": divisor, ">>": rng.randint(1, 6), "&": 2 ** rng.randint(1, 6) - 1}[op]
    return f"{op} {right}"


def program(seed: int) -> list[str]:
    """The body of a function of ``l`` (0 to 15) and ``g`` (0 to 3) that adds up quotients, and changes variables."""
    rng = random.Random(seed)
    lines = ["p = l + g * 16", "s = 0", "total = 0"]
    for _ in range(rng.randint(1, 3)):
        lines.append(f"for q in range({rng.randint(1, 9)}):")
        for _ in range(4):
            target = rng.choice(("p", "s", "x"))
            lines.append(f"    x = {sum_of(rng)}")
            lines.append(f"    total = total * 3 + (({sum_of(rng)}) {operation(rng)})")
            lines.append(f"    total = total * 3 + (x {operation(rng)})")
            if target != "x":
                lines.append(
                    f"    {target} = x" if rng.random() < 0.5 else f"    {target} = {target} + {rng.choice((8, 32))}"
                )
            if rng.random() < 0.3:
                lines += [f"    if l > {rng.randint(0, 12)}:", f"        {target} = {sum_of(rng)}"]
                lines.append(f"    total = total + ({target} {operation(rng)})")
    return lines


def compiled(lines: list[str], header: str, names: dict[str, Any]) -> Any:
    source = "\n".join([header, *(f"    {line}" for line in lines)]) + "\n"
    file = f"<quotients {hash(source)}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    exec(compile(source, file, "exec"), names)
    return names["f"]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.spread(2)
def test_random_sums(accelerator_view, seed):
    lines = program(seed)
    body = ["l = t.local[0]", "g = t.tile[0]", "q = 0", "x = 0", *lines, "out[t] = total"]
    kernel = amp.kernel(compiled(body, "def f(t, out):", {"amp": amp}))
    out = amp.array(64, amp.int32, accelerator_view=accelerator_view)
    amp.parallel_for_each(accelerator_view, out.extent.tile(16), kernel, out)

    with np.errstate(over="ignore"):
        numbers = np.arange(64, dtype=np.int32)
        function = compiled(["q = x = l * 0", *_with_masks(lines), "return total"], "def f(l, g, np):", {})
        expected = function(numbers % 16, numbers // 16, np)
    np.testing.assert_array_equal(np.asarray(out), expected)


def _with_masks(lines: list[str]) -> list[str]:
    """The body for all threads at once, in numpy's int32: branches as choices."""
    out: list[str] = []
    condition = ""
    for line in lines:
        text = line.strip()
        indent = line[: len(line) - len(text)]
        if text.startswith("if "):
            condition = text.removeprefix("if ").removesuffix(":")
            continue
        if condition:
            target, value = text.split(" = ", 1)
            text, condition, indent = f"{target} = np.where({condition}, {value}, {target})", "", indent[4:]
        out.append(indent + re.sub(r"in (range\(\d+\))", r"in (l * 0 + k for k in \1)", text))
    return [line.replace("s = 0", "s = l * 0").replace("total = 0", "total = l * 0") for line in out]
