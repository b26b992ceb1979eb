"""``and`` and ``or`` give the operand that decides, each evaluated once and only if Python evaluates it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import vkamp as amp

#: Expressions of two elements ``x`` and ``y`` of one type.
EXPRESSIONS = (
    "x or y", "x and y", "x or 5", "5 and x", "0 or x", "x and 7", "x or y or 3", "x and y and 2", "x and y or 9",
    "x or y and 4", "(x or y) + 1", "(x and 3) * (y or 2)", "x or (y if x == y else 1)", "x and y + 1 if x else y or 1",
    "pick(x, y)", "(lambda a: a or 8)(y)", "x - y or x", "(x or 1) + (y and 2)",
    "x == y or x", "x and x > y", "x > y and y", "x < y or 5", "(x > y and pick(x, y)) + 1", "x or pick(y, x) > 1",
)  # fmt: skip


@amp.func
def pick(a, b):
    if a == b:
        return a or b
    return (a and b) or a


def _values(dtype) -> np.ndarray:
    numbers = [(0, 0), (0, 3), (2, 0), (2, 3), (1, 1), (100, 0)]
    if np.dtype(dtype).kind == "f":
        numbers += [(-0.0, 2.5), (math.nan, 1.0), (0.25, math.nan), (math.inf, -0.0)]
    return np.array(numbers, dtype)


def _kernel(tmp_path):
    lines = ["import vkamp as amp", "", "", "def make(pick):", "    @amp.kernel", "    def choices(idx, pairs, out):"]
    body = ["i = idx[0]", "x = pairs[i, 0]", "y = pairs[i, 1]", "eight = lambda a: a or 8"]
    for number, text in enumerate(EXPRESSIONS):
        body.append(f"out[{number}, i] = {text.replace('(lambda a: a or 8)', 'eight')}")
    lines += [f"        {line}" for line in body]
    file = tmp_path / "choices.py"
    file.write_text("\n".join([*lines, "    return choices", ""]))
    space: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), space)
    return space["make"](pick)


TYPES = ("int32", "uint32", "float32")


@pytest.mark.parametrize("dtype", TYPES)
def test_every_form_on_every_type(accelerator_view, dtype, tmp_path):
    _compare(accelerator_view, dtype, tmp_path)


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64", "int8", "uint8", "int16", "uint16", "float16"])
@pytest.mark.parametrize("device", ["llvmpipe@vulkan", "reference"])
def test_every_form_on_wide_and_small_types(device, dtype, tmp_path):
    _compare(amp.accelerator(device).default_view, dtype, tmp_path)


def _compare(view, dtype, tmp_path) -> None:
    pairs = _values(dtype)
    out = amp.array_view(np.zeros((len(EXPRESSIONS), len(pairs)), dtype))
    kernel = _kernel(tmp_path)
    amp.parallel_for_each(view, amp.extent(len(pairs)), kernel, amp.array_view(pairs), out)
    for row, text in zip(np.asarray(out), EXPRESSIONS, strict=True):
        for got, (x, y) in zip(row, pairs, strict=True):
            with np.errstate(all="ignore"):
                expected = np.asarray(eval(text, {"x": x, "y": y, "pick": pick})).astype(dtype)
            assert got.tobytes() == expected.tobytes() or (got != got and expected != expected), (text, x, y)


@amp.func
def noted(log, k, value):
    log[k] += 1
    return value


@amp.kernel
def effects(idx, a, logs, out):
    i = idx[0]
    x = a[i]
    log = logs[i]
    out[0, i] = noted(log, 0, x) or noted(log, 1, 5)
    out[1, i] = noted(log, 2, x) and noted(log, 3, 7)
    out[2, i] = x or noted(log, 4, 0) or noted(log, 5, 9)
    out[3, i] = amp.atomic_fetch_add(log[6], 1) or (x and amp.atomic_fetch_add(log[7], 1) + 3)
    n = x or 2
    n += noted(log, 8, x) and 10
    out[4, i] = n
    for m in range(x or 4):
        out[5, i] += m
    out[6, i] = a[x and 1]
    if x or amp.float32(i) > 1.5:
        out[7, i] = 1
    if not (x and noted(log, 9, 1)):
        out[7, i] += 2
    while n and out[8, i] < 3:
        out[8, i] += 1


def test_effects_come_only_where_python_has_them(accelerator_view):
    a = np.array([0, 3, 0, 1], np.int32)
    logs, out = amp.array_view(np.zeros((4, 10), np.int32)), amp.array_view(np.zeros((9, 4), np.int32))
    amp.parallel_for_each(accelerator_view, amp.extent(4), effects, amp.array_view(a), logs, out)
    counted, expected = np.zeros((4, 10), np.int32), np.zeros((9, 4), np.int32)
    for i, x in enumerate(a.tolist()):
        log = counted[i]
        expected[0, i] = noted(log, 0, x) or noted(log, 1, 5)
        expected[1, i] = noted(log, 2, x) and noted(log, 3, 7)
        expected[2, i] = x or noted(log, 4, 0) or noted(log, 5, 9)
        expected[3, i] = noted(log, 6, 0) or (x and noted(log, 7, 3))
        n = x or 2
        n += noted(log, 8, x) and 10
        expected[4, i] = n
        expected[5, i] = sum(range(x or 4))
        expected[6, i] = a[x and 1]
        expected[7, i] = bool(x or i > 1.5) + 2 * (not (x and noted(log, 9, 1)))
        expected[8, i] = 3 if n else 0
    np.testing.assert_array_equal(np.asarray(out), expected)
    np.testing.assert_array_equal(np.asarray(logs), counted)


def test_printed_as_a_choice():
    @amp.kernel
    def choose(idx, a):
        x = a[idx]
        a[idx] = x or 5

    view = amp.array_view(np.zeros(4, np.int32))
    assert "x != 0 ? x : 5" in choose.inspect(view.extent, view).glsl
