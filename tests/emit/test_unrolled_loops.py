"""``static_range`` loops: which stay loops, which become copies, and that both do the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.emit.from_statements import kernel_of
from tests.emit.table import PROGRAMS
from vkamp import sim
from vkamp.artifacts import Target
from vkamp.ir.nodes import For, Kernel, Stmt, walk_statements
from vkamp.ir.text import text
from vkamp.ir.unroll import limited, unrolled
from vkamp.ir.verify import verify
from vkamp.pipeline.passes import shader_of


def inputs() -> dict[str, NDArray[Any]]:
    random = np.random.default_rng(3)
    return {
        "x": random.integers(1, 9, 64).astype(np.int32),
        "u": random.integers(0, 2**32, 64, np.uint32),
        "f": random.uniform(-4, 4, 64).astype(np.float32),
        "m": random.integers(-9, 9, (16, 8)).astype(np.int32),
    }


def bits(kernel: Kernel) -> dict[str, bytes]:
    arrays = inputs()
    sim.run(kernel, (8,), arrays, {}, races=False)
    return {name: array.tobytes() for name, array in arrays.items()}


def loops(kernel: Kernel) -> list[str]:
    """The heads of the loops that are to be unrolled."""

    def shown(statement: Stmt) -> str:
        assert isinstance(statement, For)
        bounds = [b.value for b in (statement.start, statement.stop, statement.step)]  # type: ignore[attr-defined]
        return f"{statement.variable.name} {bounds[0]} {bounds[1]} {bounds[2]}"

    functions = (*kernel.functions, kernel.body)
    return [shown(s) for f in functions for s in walk_statements(f.body) if isinstance(s, For) and s.unroll]


def check(kernel: Kernel, expected: list[str]) -> Kernel:
    """A kernel has these loops, and does the same with copies of their bodies."""
    assert loops(kernel) == expected, text(kernel)
    copied = unrolled(kernel)
    verify(copied)
    assert loops(copied) == []
    assert bits(copied) == bits(kernel), f"{text(kernel)}\n{text(copied)}"
    assert any(array.tobytes() != bits(kernel)[name] for name, array in inputs().items())
    return kernel


LOOPS = {
    "whole": ("for k in amp.static_range(5):\n    x[i + 8 * k] += k", ["k 0 5 1"]),
    "two": ("for k in amp.static_range(2):\n    x[i + 8 * k] += 3", ["k 0 2 1"]),
    "downwards": ("for k in amp.static_range(6, -1, -2):\n    x[i + 8 * k] -= k * n", ["k 6 -1 -2"]),
    "nested": (
        "for k in amp.static_range(-1, 2):\n    for j in amp.static_range(3):\n        m[i + k + 1, j] = 5 * k - 2 * j",
        ["k -1 2 1", "j 0 3 1"],
    ),
    "triangle": (
        "for k in amp.static_range(2, 5):\n    for j in range(k):\n        m[i, j] += k",
        ["k 2 5 1"],
    ),
    "neutral": (
        "for k in amp.static_range(3):\n    x[i] = (x[i + 8] | k) + (n << k) + (k ^ n) + (n - k) * (k * n)",
        ["k 0 3 1"],
    ),
    "negative factor": ("for k in amp.static_range(3):\n    x[i + 16 - 8 * k] = 2 - k + n * -k", ["k 0 3 1"]),
    "floats": ("for k in amp.static_range(4):\n    f[i] = f[i + 8] * k + (f[i] - k)", ["k 0 4 1"]),
    "unsigned": ("for k in amp.static_range(4):\n    u[i] = (u[i] * k + 3 * k) % (k + 7)", ["k 0 4 1"]),
    "in a branch": (
        "if n > 3:\n    for k in amp.static_range(4):\n        x[i] += n * k\nelse:\n    x[i] = 7", ["k 0 4 1"],
    ),
    "branch in it": (
        "for k in amp.static_range(4):\n    if n > k:\n        x[i] += k\n    else:\n        x[i] -= k", ["k 0 4 1"],
    ),
    "own variables": (
        "for k in amp.static_range(3):\n    for j in range(n):\n        x[i] += j * k\n    y = x[i] + k\n    x[i] += y",
        ["k 0 3 1"],
    ),
    "carried": ("t = n\nfor k in amp.static_range(3):\n    t = t * 3 + k\nx[i] = t", ["k 0 3 1"]),
    "atomic results": (
        "for k in amp.static_range(3):\n    old = amp.atomic_fetch_add(x[i + 8], k)\n    x[i] += old * n", ["k 0 3 1"],
    ),
    "barrier": (
        "s = amp.tile_static(4, amp.int32)\ns[t_idx.local] = n\nt_idx.barrier.wait()\n"
        "for k in amp.static_range(3):\n    y = s[(t_idx.local[0] + k) % 4]\n    t_idx.barrier.wait()\n"
        "    s[t_idx.local] = y + k\n    t_idx.barrier.wait()\nx[i] = s[t_idx.local]",
        ["k 0 3 1"],
    ),
    "one name": (
        "for k in amp.static_range(3):\n    x[i] += n * k\nfor k in amp.static_range(4):\n    x[i] ^= n * k",
        ["k 0 3 1", "k 0 4 1"],
    ),
    "one name, nested": (
        "for k in amp.static_range(3):\n    x[i] += n * k\n    for k in amp.static_range(2):\n        x[i] ^= n * k",
        ["k 0 3 1", "k_2 0 2 1"],
    ),
    "name in use": (
        "for j in range(n):\n    x[i] += j\nfor k in amp.static_range(2):\n    for j in amp.static_range(2):\n"
        "        x[i] += j * n - k",
        ["k 0 2 1", "j_2 0 2 1"],
    ),
}  # fmt: skip

COPIES = {
    "static branch": (
        "for k in amp.static_range(7):\n    if k < 3:\n        x[i] += k * n"
        "\n    else:\n        x[i] ^= k * n"
    ),
    "first is another": (
        "for k in amp.static_range(6):\n    if k == 0:\n        x[i] = n"
        "\n    else:\n        x[i] += x[i + k]"
    ),
    "once": "for k in amp.static_range(1):\n    x[i] += n",
    "no line": "for k in amp.static_range(3):\n    x[i] += n * k * k + k ** 3",
    "table": "table = (1, 5, 2)\nfor k in amp.static_range(3):\n    x[i] += n * table[k]",
    "fractions": "for k in amp.static_range(4):\n    f[i] += f[i + 8] * (k * 0.1)",
    "negative zero": "for k in amp.static_range(3):\n    f[i + 8 * k] = -0.0 if k == 0 else float(k)",
    "wraps": "for k in amp.static_range(3):\n    x[i] ^= n * ((k << 30) if k < 2 else -2147483648)",
    "bools": "for k in amp.static_range(2):\n    x[i] = x[i] + amp.int32((n > 2) == (k == 0))",
    "components": "v = amp.float2(1.0, 2.0)\nfor k in amp.static_range(2):\n    f[i] += (v.x, v.y)[k]",
    "other variables": (
        "a = n\nb = n\nfor k in amp.static_range(2):\n    if k == 0:\n        a = a + 1\n    else:\n        b = b + 1\n"
        "x[i] = a * b"
    ),
    "one variable in some": (
        "a = n + 1\nb = n * 2\nfor k in amp.static_range(3):\n    x[i + 8 * k] = (a, a, b)[k] * 5"
    ),
    "shared memory of another name": (
        "s = amp.tile_static(4, amp.int32)\nr = amp.tile_static(4, amp.int32)\ns[t_idx.local] = n\n"
        "r[t_idx.local] = n + 2\nt_idx.barrier.wait()\nfor k in amp.static_range(2):\n    if k == 0:\n"
        "        x[i] += s[t_idx.local[0]]\n    else:\n        x[i] += r[t_idx.local[0]]"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_stays_a_loop(name: str) -> None:
    body, expected = LOOPS[name]
    check(kernel_of(body), expected)


@pytest.mark.parametrize("name", COPIES)
def test_becomes_copies(name: str) -> None:
    check(kernel_of(COPIES[name]), [])


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_golden_programs_mean_the_same_to_the_verifier(name: str) -> None:
    verify(unrolled(PROGRAMS[name].kernel()))


def test_a_function_has_loops_too() -> None:
    function = """
@amp.func
def total(x, i):
    t = 0
    for k in amp.static_range(4):
        t += x[i + k] * k
    return t
"""
    check(kernel_of("x[i] = total(x, i)", function), ["k 0 4 1"])


LONG = "for k in amp.static_range(9):\n    for j in amp.static_range(9):\n        x[i] += n * (k + j)"
LASTING = "for k in amp.static_range(4):\n    while x[i + k] < 5:\n        x[i + k] += 1"


@pytest.mark.parametrize(("body", "most", "rolled"), [(LONG, 200, True), (LONG, 9, False), (LASTING, 99, False)])
def test_what_a_driver_takes_long_for_stays_copies(body: str, most: int, rolled: bool) -> None:
    kernel = kernel_of(body)
    assert loops(kernel)
    assert bool(loops(limited(kernel, most))) == rolled
    assert ("[[unroll]]" in shader_of(kernel, Target(max_unrolled_statements=most)).glsl) == rolled


def test_a_call_of_a_loop_stays_a_copy_there() -> None:
    functions = "@amp.func\ndef last(x, i):\n    while x[i] < 9:\n        x[i] += 1\n    return x[i]\n"
    kernel = kernel_of("for k in amp.static_range(4):\n    x[i] += last(x, i + 8 * k)", functions)
    assert loops(kernel) == ["k 0 4 1"]
    assert loops(limited(kernel, 99)) == []


def test_a_variable_that_something_else_reads_is_no_copys_own() -> None:
    body = "for k in amp.static_range(3):\n    for j in range(n):\n        x[i] += j * k"
    kernel = kernel_of(body + "\nfor j in range(2):\n    x[i] += j")
    check(kernel, ["k 0 3 1"])
