"""What constants make superfluous is not in a shader: equal functions and known parts of conditions."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.emit.programs import Program, buffers, scalars
from vkamp.artifacts import Target
from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.types import INT32
from vkamp.legalize.equal_functions import without_copies
from vkamp.pipeline.passes import shader_of


def main_of(kernel: Any, tile: tuple[int, ...] | None = None, rank: int = 1, target: Target | None = None) -> str:
    """The shader of a kernel without comments, from its first function on."""
    arguments = (*buffers(out=(INT32, 2)), *scalars(n=INT32))
    glsl = shader_of(Program(kernel, rank, tile, arguments).kernel(), target or Target()).glsl
    lines = [line for line in glsl.splitlines() if not line.strip().startswith("//")]
    first = next(n for n, line in enumerate(lines) if line.endswith(") {"))
    return "\n".join(lines[first:])


@amp.func
def bounded(i: int, mode: str) -> int:
    return min(i, 3) if mode == "bounded" else i


@amp.func
def twice(i: int, mode: str) -> int:
    return 2 * bounded(i, mode)


def equal_functions(t, out, n):
    out[0, 0] = twice(n, "one") + twice(n, "two")
    out[0, 1] = twice(n, "bounded") + bounded(n, "three")


def test_equal_functions_are_one():
    glsl = main_of(equal_functions)
    assert glsl.count("int bounded") == 2 and glsl.count("int twice") == 2
    assert "out_[0] = twice(n) + twice(n);" in glsl


def function(name: str, *lines: tuple[str, int | str], result: str) -> ir.Function:
    """``x = 1`` or ``x = y`` for each of the lines, with one result."""
    here, words = Span("a.py", 1, 0, 1, 1), [word for line in lines for word in line if isinstance(word, str)]
    variables = {v: ir.Variable(v, INT32, "local", here) for v in words}
    places = {v: ir.Local(here, INT32, variable) for v, variable in variables.items()}

    def value(of: int | str) -> ir.Expr:
        return ir.Const(here, INT32, of) if isinstance(of, int) else ir.Load(here, INT32, places[of])

    body = [ir.Assign(here, places[place], value(of)) for place, of in lines]
    every = tuple(variables.values())
    return ir.Function(name, "f", (), (INT32,), every, (*body, ir.Return(here, (value(result),))), here)


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (function("g", ("a", 1), ("b", 2), result="a"), True),
        (function("g", ("x", 1), ("y", 2), result="x"), True),
        (function("g", ("b", 1), ("a", 2), result="b"), True),
        (function("g", ("b", 1), ("a", 2), result="a"), False),
        (function("g", ("a", 1), ("a", 2), result="a"), False),
        (function("g", ("a", 1), ("b", 3), result="a"), False),
        (function("g", ("a", 1), ("b", "a"), result="a"), False),
    ],
)
def test_only_names_of_variables_may_differ(other, same):
    kernel = Program(conditions, 1, None, (*buffers(out=(INT32, 2)), *scalars(n=INT32)))
    first = function("f", ("a", 1), ("b", 2), result="a")
    made = without_copies(dataclasses.replace(kernel.kernel(), functions=(first, other)))
    assert len(made.functions) == (1 if same else 2)
    made = without_copies(dataclasses.replace(kernel.kernel(), functions=(other, first)))
    assert len(made.functions) == (1 if same else 2)


def conditions(t, out, n):
    out[0, 0] = amp.int32(True if n > 3 else False)  # noqa: SIM210
    out[0, 1] = amp.int32(False if n > 4 else True)  # noqa: SIM211
    out[0, 2] = amp.int32((n > 5) & True)
    out[0, 3] = amp.int32(False | (n > 6))
    out[0, 4] = amp.int32((n > 7) & False)
    out[0, 5] = amp.int32(not (False if n > 8 else True))  # noqa: SIM211


def test_conditions():
    lines = [line.strip() for line in main_of(conditions).splitlines() if "out_[" in line]
    assert lines == [
        "out_[0] = int(n > 3);",
        "out_[1] = int(n <= 4);",
        "out_[2] = int(n > 5);",
        "out_[3] = int(n > 6);",
        "out_[4] = 0;",
        "out_[5] = int(n > 8);",
    ]


def unsigned_indices(t, out, n):
    out[amp.uint32(0), amp.uint32(2)] = n
    out[amp.uint32(1), n] = n


def test_unsigned_constants_as_indices():
    glsl = main_of(unsigned_indices)
    assert "out_[2] = n;" in glsl and "out_[out_extent_1 + n] = n;" in glsl


def thin_tiles(t, out, n):
    out[t.tile_origin] = t.local[1]
    out[t.global_] = n


@pytest.mark.parametrize("target", [Target(), Target(folded=True)])
def test_tiles_of_one_row(target):
    glsl = main_of(thin_tiles, (1, 8), rank=2, target=target)
    assert "* 1;" not in glsl and "* 1 +" not in glsl


@amp.kernel
def all_of_it(t, out, n):
    x = twice(n, "one") + twice(n, "two") + twice(n, "bounded")
    x += amp.int32((n > 5) & True) + amp.int32(False | (n > 4)) + amp.int32(False if n > 4 else True)  # noqa: SIM211
    out[amp.uint32(0), t] = x


def test_results(accelerator_view):
    out = amp.array_view(np.zeros((1, 5), np.int32))
    for n in (-3, 4, 5, 9):
        amp.parallel_for_each(accelerator_view, amp.extent(5), all_of_it, out, n)
        assert np.array_equal(np.asarray(out), np.full((1, 5), 4 * n + 2 * min(n, 3) + (n > 5) + 1))
