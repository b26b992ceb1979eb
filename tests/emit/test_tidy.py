"""Where the results of functions and kept values are printed."""

from __future__ import annotations

import dataclasses

import pytest

from tests.emit.from_statements import kernel_of
from vkamp.artifacts import Target
from vkamp.pipeline.passes import shader_of

FUNCTIONS = """
@amp.func
def square(v):
    return v * v

@amp.func
def first(x, v):
    return x[v] + square(v)

@amp.func
def counted(x, v):
    x[v] += 1
    return x[v]

@amp.func
def taken(x, v):
    return amp.atomic_fetch_add(x[v], 1)

@amp.func
def changed(own, v):
    own[v] = v
    return own[0]
"""

MOVED = {
    "condition": ("if square(i) > n:\n    x[i] = 1", "if (square(i) > n) {"),
    "two": ("x[i] = first(x, i) + square(n) * 2", "x[i] = first(i) + square(n) * 2;"),
    "kept value": ("x[i] = x[n] - first(x, i)", "x[i] = x[n] - first(i);"),
    "update": ("x[i] += first(x, n)", "x[i] += first(n);"),
    "argument": ("x[i] = square(square(i) + 1)", "x[i] = square(square(i) + 1);"),
    "atomic's argument": ("amp.atomic_fetch_add(x[i], square(n))", "atomicAdd(x[i], square(n));"),
    "private array": (
        "own = amp.private(4, amp.int32)\nown[i % 4] = n\nx[i] = first(own, 1) * 2", "x[i] = first(own, 1) * 2;",
    ),
    "inside": (
        "j = amp.index(n, i)\nif m.extent.contains(j):\n    x[i] = 1",
        "if (j_0 >= 0 && j_0 < m_extent_0 && j_1 < m_extent_1) {",
    ),
}  # fmt: skip

KEPT = {
    "writes": ("if counted(x, i) > n:\n    u[i] = 1", "int counted_result = counted(i);"),
    "writes between": ("x[i] = x[n] + counted(x, i)", "int value = x[n];"),
    "atomic": ("x[i] = taken(x, n) * 2", "int taken_result = taken(n);"),
    "argument's array": (
        "own = amp.private(4, amp.int32)\nx[i] = changed(own, 1) * 2", "int changed_result = changed(own, 1);",
    ),
    "place": ("x[square(i)] += 1", "int square_result = square(i);"),
    "loop": ("while square(x[i]) < n:\n    x[i] += 1", "while (true) {"),
    "not constant": ("k = n - 1\nif k >= 0 and k < 3:\n    x[i] = 1", "if (k >= 0 && k < 3) {"),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVED)
def test_a_value_stands_where_it_is_used(name: str) -> None:
    body, line = MOVED[name]
    kernel = kernel_of(body, FUNCTIONS)
    glsl = shader_of(kernel, Target()).glsl
    assert line in [text.strip() for text in glsl.splitlines()], glsl
    assert "_result" not in glsl and " value" not in glsl and "component" not in glsl


@pytest.mark.parametrize("name", KEPT)
def test_a_value_stays_before_the_statement(name: str) -> None:
    body, line = KEPT[name]
    glsl = shader_of(kernel_of(body, FUNCTIONS), Target()).glsl
    assert line in [text.strip() for text in glsl.splitlines()], glsl


def test_in_a_precise_kernel_results_keep_their_variables() -> None:
    """What `precise` says of a variable does not reach into the arguments of a call."""
    kernel = dataclasses.replace(kernel_of("x[i] = square(n) * 2", FUNCTIONS), precise=True)
    assert "int square_result = square(n);" in shader_of(kernel, Target()).glsl


def test_an_index_that_is_constant_is_kept_from_the_compiler() -> None:
    """It would refuse the whole shader for an index out of range, also where it is never used."""
    glsl = shader_of(kernel_of("if n > 5:\n    x[i] = x[amp.int32(amp.fast_math.floor(3.7)) * 100]"), Target()).glsl
    assert "int index = 300;" in glsl
