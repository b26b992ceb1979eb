"""Small types wherever a number can come from, in every operation, also beside calls that have effects."""

from __future__ import annotations

import math
import re
import textwrap
from typing import Any

import numpy as np
import pytest

import vkamp as amp
from tests.kernel_language.from_text import define
from tests.kernel_language.programs import I32

#: Name, then values that differ in every bit that matters.
KINDS = {
    "int8": [-128, 127, -7, 3],
    "uint8": [255, 128, 9, 1],
    "int16": [-32768, 32767, -300, 7],
    "uint16": [65535, 32768, 301, 2],
}
FLOATS = [-2.5, 0.0, 1.5, 512.0]
N = 4

#: Where a number of the type comes from.
SOURCES = {
    "container": "s[i]",
    "member": "ps[i].a",
    "member of a copy": "copied.a",
    "member of a member": "ps[i].v[1]",
    "private array": "own[1]",
    "tile_static array": "tile[t.local]",
    "view": "s.section(amp.index(i), amp.extent(1))[0]",
}
#: Operations on a number ``S`` of a small type and another one, ``O``.
OPERATIONS = [
    "S + O", "O + S", "S - O", "O - S", "S * O", "S // (O | 1)", "S % (O | 1)", "O // (S | 1)", "O % (S | 1)", "S & O",
    "S | O", "S ^ O", "S << (O & 7)", "S >> (O & 7)", "amp.tdiv(S, O | 1)", "amp.tdiv(O, S | 1)", "amp.trem(S, O | 1)",
    "amp.trem(O, S | 1)", "min(S, O)", "max(O, S)", "min(S, O, 3)", "S if S > O else O", "O if O > S else S",
    "amp.int32(S < O)", "amp.int32(S == O)", "amp.int32(O != S)", "amp.int32(S > 0 and O > 1)", "add(S, O)",
    "add(O, S)", "pick(S, O)", "abs(S) + O", "-S + O", "~S + O", "(S, O)[0]",
]  # fmt: skip
#: The other one: plain, of the type too, from calls that have effects, so that the first one is kept beforehand.
OTHERS = ["n", "S", "bump(cells, n)", "half(n)", "s[0]", "3"]
#: Of one number alone.
ALONE = [
    "-S", "~S", "abs(S)", "S + 1", "1 - S", "amp.int32(not S)", "S if S else 5", "amp.int32(amp.float32(S) * 0.5)",
    "amp.int32(math.sqrt(abs(S)))", "amp.int32(S / 2)", "given(S)", "held(s, i)", "summed(own)", "S", "1 if S else 2",
    "amp.int32(S) >> 1", "amp.int2(S, 1).x",
]  # fmt: skip


@amp.func
def add(a, b):
    return a + b


@amp.func
def pick(a, b):
    if a > b:
        return b
    return a


@amp.func
def half(a):
    return a // 2


@amp.func
def bump(cells, x):
    cells[0] += x
    return cells[0] & 15


@amp.func
def given(a):
    return a


@amp.func
def held(s, i):
    return s[i]


@amp.func
def summed(own):
    return own[0] + own[1]


class PythonsAmp:
    """What the lines use of vkamp, in Python."""

    int32, float32 = int, float

    @staticmethod
    def tdiv(a: int, b: int) -> int:
        return int(math.copysign(abs(a) // abs(b), a * b)) if a * b else abs(a) // abs(b)

    @staticmethod
    def trem(a: int, b: int) -> int:
        return a - b * PythonsAmp.tdiv(a, b)

    @staticmethod
    def int2(x: int, _: int) -> Any:
        return type("Vector", (), {"x": x})


def struct_of(kind: Any) -> np.dtype[Any]:
    return np.dtype([("a", kind), ("b", np.uint8), ("v", kind, (2,)), ("c", I32)], align=True)


def kernel_of(kind: str, expressions: list[str]) -> Any:
    lines = [
        "i = t.global_[0]",
        "n = numbers[i]",
        f"own = amp.private(2, amp.{kind})",
        "own[0] = s[0]",
        "own[1] = s[i]",
        f"tile = amp.tile_static({N}, amp.{kind})",
        "tile[t.local] = s[i]",
        "cells = amp.private(1, amp.int32)",
        "copied = ps[i]",
    ]
    for row, expression in enumerate(expressions):
        lines += ["cells[0] = 0", f"out[{row}, i] = {expression}"]
    body = textwrap.indent("\n".join(lines), "    ")
    names = {f.__name__: f for f in (add, pick, half, bump, given, held, summed)}
    return amp.kernel(define(f"def k(t, s, ps, numbers, unused, out):\n{body}\n", **names))


def in_python(values: list[int], thread: int, expression: str) -> int:
    value, cells = values[thread], [0]

    def bump(cells: list[int], x: int) -> int:
        cells[0] += x
        return cells[0] & 15

    space: dict[str, Any] = {
        "V": value, "s": values, "i": thread, "n": NUMBERS[thread], "cells": cells, "amp": PythonsAmp, "math": math,
        "own": [values[0], value], "add": lambda a, b: a + b, "pick": min, "half": lambda a: a // 2, "bump": bump,
        "given": lambda a: a, "held": lambda s, i: s[i], "summed": sum,
    }  # fmt: skip
    return (int(eval(expression, space)) + 2**31) % 2**32 - 2**31


NUMBERS = [5, -3, 7, 200]


def run(view: amp.accelerator_view, kind: str, source: str, expressions: list[str]) -> dict[str, str]:
    """What is wrong, by expression."""
    values = np.array(KINDS[kind], kind)
    structs = np.zeros(N, struct_of(kind))
    structs["a"], structs["v"][:, 1] = values, values
    out = amp.array_view(np.full((len(expressions), N), -99, I32))
    kernel = kernel_of(kind, [re.sub(r"\bS\b", source, e) for e in expressions])
    unused = amp.array_view(np.zeros(3, np.int8))
    numbers = amp.array_view(np.array(NUMBERS, I32))
    small, records = amp.array_view(values, readonly=True), amp.array_view(structs)
    amp.parallel_for_each(view, amp.extent(N).tile(N), kernel, small, records, numbers, unused, out)
    wrong = {}
    for expression, found in zip(expressions, np.asarray(out).tolist(), strict=True):
        text = re.sub(r"\bS\b", "V", expression)
        expected = [in_python(KINDS[kind], thread, text) for thread in range(N)]
        if found != expected:
            wrong[expression] = f"{found} instead of {expected}"
    return wrong


def both_of(other: str) -> list[str]:
    return [re.sub(r"\bO\b", other, e) for e in OPERATIONS]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.spread(2)
def test_operations_on_elements(accelerator_view, kind, other):
    expressions = both_of(other)
    chunks = [expressions[start : start + 9] for start in range(0, len(expressions), 9)]
    assert not {key: what for chunk in chunks for key, what in run(accelerator_view, kind, "s[i]", chunk).items()}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.spread(2)
def test_operations_on_numbers_from_everywhere(accelerator_view, kind, source):
    expressions = [*ALONE, *both_of("bump(cells, n)")[::3]]
    chunks = [expressions[start : start + 10] for start in range(0, len(expressions), 10)]
    assert not {
        key: what for chunk in chunks for key, what in run(accelerator_view, kind, SOURCES[source], chunk).items()
    }


@amp.kernel
def stores(t, s, ps, numbers, flag, out):
    i = t.global_[0]
    own = amp.private(2, s.dtype)
    tile = amp.tile_static(4, s.dtype)
    own[0] = s[i]
    own[0] += numbers[i]
    own[1] = own[0]
    own[1] *= 3 if flag else 2
    tile[t.local] = own[1]
    tile[t.local] -= half(numbers[i])
    s[i] = tile[t.local]
    s[i] ^= half(numbers[i])
    ps[i].a = s[i]
    ps[i].a += half(7)
    ps[i].v[0], ps[i].v[1] = ps[i].a, s[i]
    ps[i].v[0], ps[i].v[1] = ps[i].v[1], ps[i].v[0]
    r = ps[i]
    r.a -= 1
    ps[i] = r
    total = 0
    for k in range(min(ps[i].a, 5)):
        total += k
    out[i] = total + (s[i] if flag else 0)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_stored_wraps(accelerator_view, kind):
    values, records = np.array(KINDS[kind], kind), np.zeros(N, struct_of(kind))
    small, structs = values.copy(), records.copy()
    out = np.zeros(N, I32)
    views = [amp.array_view(x) for x in (small, structs, np.array(NUMBERS, I32))]
    result = amp.array_view(out)
    amp.parallel_for_each(accelerator_view, amp.extent(N).tile(N), stores, *views, True, result)
    numbers = np.array(NUMBERS, np.int64)

    def wrapped(x: Any) -> Any:
        return np.asarray(x, np.int64).astype(kind).astype(np.int64)

    own = wrapped(wrapped(values.astype(np.int64) + numbers) * 3)
    s = wrapped(wrapped(own - numbers // 2) ^ (numbers // 2))
    a = wrapped(s + 3)
    last = wrapped(a - 1)
    assert np.asarray(views[0]).tolist() == s.tolist()
    found = np.asarray(views[1])
    assert found["a"].tolist() == last.tolist()
    assert found["v"].tolist() == [[x, y] for x, y in zip(s.tolist(), a.tolist(), strict=True)]
    totals = [sum(range(min(int(x), 5))) for x in last]
    assert np.asarray(result).tolist() == [t + int(x) for t, x in zip(totals, s, strict=True)]


@pytest.mark.parametrize("other", ["x", "h[0]", "amp.float32(half(n))", "2", "0.5"])
def test_float16(accelerator_view, other):
    operations = [
        "h[i] + O", "O - h[i]", "h[i] * O", "min(h[i], O)", "max(O, h[i])", "h[i] if h[i] > O else O", "add(h[i], O)",
        "abs(h[i])", "-h[i] + O", "math.floor(h[i])",
    ]  # fmt: skip
    expressions = [e.replace("O", other) for e in operations]
    lines = ["i = t[0]", "n, x = numbers[i], amp.float32(numbers[i])"]
    lines += [f"out[{row}, i] = {e}" for row, e in enumerate(expressions)]
    body = textwrap.indent("\n".join(lines), "    ")
    kernel = amp.kernel(define(f"def k(t, h, numbers, out):\n{body}\n", half=half, add=add))
    halves, numbers = np.array(FLOATS, np.float16), np.array(NUMBERS, I32)
    out = amp.array_view(np.full((len(expressions), N), -99, np.float32))
    amp.parallel_for_each(accelerator_view, amp.extent(N), kernel, amp.array_view(halves), amp.array_view(numbers), out)
    for expression, found in zip(expressions, np.asarray(out), strict=True):
        for thread, got in enumerate(found):
            space = {
                "h": [float(x) for x in halves], "i": thread, "n": NUMBERS[thread], "x": float(NUMBERS[thread]),
                "amp": PythonsAmp, "math": math, "half": lambda a: a // 2, "add": lambda a, b: a + b,
            }  # fmt: skip
            assert got == eval(expression, space), (expression, thread)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "float16"])
def test_a_container_that_nothing_uses(accelerator_view, kind):
    @amp.kernel
    def unaware(i, s, out):
        out[i] = i[0] + s.extent[0]

    out = amp.array_view(np.zeros(2, I32))
    amp.parallel_for_each(accelerator_view, out.extent, unaware, amp.array_view(np.zeros(5, kind)), out)
    assert np.asarray(out).tolist() == [5, 6]
