"""Tuples of constants that the run time subscripts: by comparisons, or as tables in memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import vkamp as amp
from vkamp.dispatch import launch as launching

SIZE = 53
RNG = np.random.default_rng(5)
#: Items that are compared one by one, and tables in memory.
SIZES = (1, 2, 16, 17, 300)


def numbers(count: int) -> tuple[float, ...]:
    return tuple(float(x) for x in RNG.integers(-1000, 1000, count) / 8)


CRC = tuple(int(x) for x in RNG.integers(0, 1 << 32, 256, np.uint64))


class Stage(NamedTuple):
    radix: int
    weight: float
    is_last: bool


STAGES = tuple(Stage(int(k * 7 % 31), k / 4, k % 3 == 0) for k in range(40))
THIRDS = tuple(k / 3 for k in range(64))
PAIRS = tuple((float(k), -k / 2) for k in range(64))


@amp.func
def item_of(table, k):
    return table[k]


@amp.kernel
def chosen(idx, at, out, *, table: amp.constant):
    out[idx] = table[at[idx]]


def indices(count: int, dtype: type = np.int32) -> np.ndarray:
    return RNG.integers(0, count, SIZE).astype(dtype)


def run(view, kernel, at, dtype=np.float32, *args, **constants):
    out = amp.array_view(np.zeros(SIZE, dtype))
    amp.parallel_for_each(view, out.extent, kernel, amp.array_view(at), out, *args, **constants)
    return np.asarray(out)


@pytest.mark.parametrize("count", SIZES)
def test_floats(accelerator_view, count):
    table, at = numbers(count), indices(count)
    np.testing.assert_array_equal(run(accelerator_view, chosen, at, table=table), np.array(table, np.float32)[at])


@pytest.mark.parametrize("at_type", [np.uint32, np.uint8])
def test_subscripts_of_other_types(accelerator_view, at_type):
    table, at = numbers(200), indices(200, at_type)
    np.testing.assert_array_equal(run(accelerator_view, chosen, at, table=table), np.array(table, np.float32)[at])


@pytest.mark.parametrize(
    ("table", "dtype"),
    [
        (tuple(range(-20, 20)), np.int32),
        (CRC, np.uint32),
        (tuple(k % 3 == 1 for k in range(40)), np.int32),
        (tuple(complex(k, -k / 2) for k in range(40)), np.complex64),
        (tuple(np.uint32(k * 97) for k in range(40)), np.uint32),
        (tuple(float("inf") if k % 2 else -0.0 for k in range(40)), np.float32),
    ],
    ids=["int", "uint", "bool", "complex", "numpy", "special"],
)
def test_types(accelerator_view, table, dtype):
    at = indices(40)
    wanted = np.array(table).astype(dtype)[at]
    assert run(accelerator_view, chosen, at, dtype, table=table).tobytes() == wanted.tobytes()


@amp.kernel
def bits(idx, at, out):
    crc = amp.uint32(0xFFFFFFFF)
    for k in range(9):
        crc = (crc >> 8) ^ CRC[(crc ^ amp.uint32(at[idx] + k)) & 0xFF]
    out[idx] = crc


def test_in_a_loop(accelerator_view):
    at = indices(256)
    expected = []
    for start in at:
        crc = 0xFFFFFFFF
        for k in range(9):
            crc = (crc >> 8) ^ CRC[(crc ^ int(start + k)) & 0xFF]
        expected.append(crc)
    assert run(accelerator_view, bits, at, np.uint32).tolist() == expected


@amp.kernel
def rows(idx, at, out):
    k = at[idx]
    stage = STAGES[k % 40]
    x, y = PAIRS[k]
    total = item_of(PAIRS, k)[1] + PAIRS[63 - k][k & 1]
    out[idx] = (stage[1] * stage.radix if stage.is_last else 0.5) + x - y + total


def test_tuples_of_tuples(accelerator_view):
    at = indices(64)
    expected = []
    for k in map(int, at):
        stage, (x, y) = STAGES[k % 40], PAIRS[k]
        first = stage.weight * stage.radix if stage.is_last else 0.5
        expected.append(first + x - y + PAIRS[k][1] + PAIRS[63 - k][k & 1])
    np.testing.assert_array_equal(run(accelerator_view, rows, at), np.array(expected, np.float32))


@pytest.mark.sample("llvmpipe")
def test_functions_and_closures(accelerator_view):
    table, at = numbers(100), indices(100)
    other = table[::-1]

    @amp.kernel
    def captured(idx, at, out, op):
        def inner(k):
            return table[k]

        out[idx] = op(at[idx]) + inner(at[idx]) + item_of(other, at[idx])

    found = run(accelerator_view, captured, at, np.float32, lambda k: other[k] * 2)
    values = np.array(table, np.float32)
    np.testing.assert_array_equal(found, values[::-1][at] * 3 + values[at])


@amp.kernel
def applied(idx, at, out, f):
    out[idx] = f(at[idx])


@pytest.mark.accelerators("llvmpipe")
def test_repeated_launches(accelerator_view, monkeypatch):
    """Of one kernel with other containers; the table is bound again."""
    prepared = []
    prepare = launching.prepare
    monkeypatch.delenv("VKAMP_CHECK", raising=False)
    monkeypatch.setattr(launching, "prepare", lambda *given: prepared.append(1) or prepare(*given))
    table = numbers(100)
    for _ in range(3):
        at = indices(100)
        np.testing.assert_array_equal(run(accelerator_view, chosen, at, table=table), np.array(table, np.float32)[at])
    assert len(prepared) == 1
    other = tuple(reversed(table))
    np.testing.assert_array_equal(run(accelerator_view, chosen, at, table=other), np.array(other, np.float32)[at])
    assert len(prepared) == 2


@pytest.mark.sample("swiftshader")
def test_captured_launches(accelerator_view):
    table, at = numbers(100), indices(100)
    out = amp.array_view(np.zeros(SIZE, np.float32))
    with amp.capture() as graph:
        amp.parallel_for_each(accelerator_view, out.extent, chosen, amp.array_view(at), out, table=table)
        amp.parallel_for_each(accelerator_view, out.extent, chosen, amp.array_view(at[::-1]), out, table=table)
    graph.replay()
    np.testing.assert_array_equal(np.asarray(out), np.array(table, np.float32)[at[::-1]])


@pytest.mark.sample("swiftshader")
def test_lambdas(accelerator_view):
    table, at = numbers(100), indices(100)
    found = run(accelerator_view, applied, at, np.float32, lambda k: table[k] + table[99 - k])
    values = np.array(table, np.float32)
    np.testing.assert_array_equal(found, values[at] + values[99 - at])


@pytest.mark.sample("swiftshader")
def test_large(accelerator_view):
    table, at = numbers(4096), indices(4096)
    np.testing.assert_array_equal(run(accelerator_view, chosen, at, table=table), np.array(table, np.float32)[at])


@pytest.mark.accelerators("llvmpipe@vulkan", "reference")
def test_double_precision(accelerator_view):
    """A Python float keeps its precision where it meets a float64."""

    @amp.kernel
    def exact(idx, at, out):
        out[idx] = THIRDS[at[idx]] + amp.float64(0)

    at = indices(64)
    assert run(accelerator_view, exact, at, np.float64).tolist() == [THIRDS[k] for k in at]


@pytest.mark.accelerators("llvmpipe")
def test_in_the_shader():
    """Equal tables are one, with the name of the first; the name of a container stays as it is."""

    @amp.kernel
    def used(idx, at, out, table):
        k = at[idx]
        out[idx] = THIRDS[k] + same(k) + table[k] + other(THIRDS[1:], k)

    def other(table, k):
        return table[k]

    def same(k):
        return tuple(n / 3 for n in range(64))[k]

    at, out = amp.array_view(indices(63)), amp.array_view(np.zeros(SIZE, np.float32))
    glsl = used.inspect(out.extent, at, out, amp.array_view(np.ones(64, np.float32))).glsl
    assert [line.split()[1] for line in glsl.splitlines() if "a table of" in line] == ["THIRDS", "table_2"]
    assert "double" not in glsl and len(glsl) < 2500


# -- subscripts out of range ---------------------------------------------------------------------------------------


@amp.kernel
def of_a_table(idx, at, out):
    out[idx] = CRC[at[idx]]


@amp.kernel
def of_a_row(idx, at, out):
    x, y = PAIRS[at[idx]]
    out[idx] = x + y


@amp.kernel
def of_values(idx, at, out):
    x = at[idx]
    pair = (x, x * 2)
    out[idx] = pair[x]


@amp.kernel
def of_one(idx, at, out):
    alone = (at[idx],)
    out[idx] = alone[at[idx]]


@amp.kernel
def of_a_literal(idx, at, out):
    out[idx] = (1.0, 2.0, 4.0)[at[idx]]


@amp.kernel
def of_a_column(idx, at, out):
    out[idx] = STAGES[at[idx]].radix


@pytest.mark.parametrize("kernel", [of_a_table, of_a_row, of_values, of_one, of_a_literal, of_a_column])
def test_out_of_range(accelerator_view, kernel):
    name, extent = {
        "of_a_table": ("CRC", 256),
        "of_a_row": ("PAIRS", 64),
        "of_values": ("pair", 2),
        "of_one": ("alone", 1),
        "of_a_literal": ("(1.0, 2.0, 4.0)", 3),
        "of_a_column": ("STAGES", 40),
    }[kernel.__name__]
    for index in (extent, -1):
        out = amp.array_view(np.zeros(3, np.float32))
        at = amp.array_view(np.array([0, index, 0], np.int32))
        report = amp.check(accelerator_view, out.extent, kernel, at, out)
        wanted = f"index {index} of {name} is out of bounds (extent {extent}), in thread (1)\n"
        assert len(report.findings) == 1 and str(report.findings[0]).startswith(wanted), str(report)
        if kernel not in (of_values, of_one):
            # The check goes on with the first item.
            assert len(set(np.asarray(out).tolist())) == 1


@pytest.mark.sample("swiftshader")
def test_the_whole_message(accelerator_view):
    out, at = amp.array_view(np.zeros(2, np.float32)), amp.array_view(np.array([9, 256], np.int32))
    report = amp.check(accelerator_view, out.extent, of_a_table, at, out)
    line = of_a_table.function.__code__.co_firstlineno + 2
    head, place, *rest = str(report.findings[0]).splitlines()
    pad = " " * len(str(line))
    assert head == "index 256 of CRC is out of bounds (extent 256), in thread (1)"
    assert place == f"{pad}--> {__file__}:{line}, in of_a_table"
    assert rest == [f"{pad} |", f"{line} | out[idx] = CRC[at[idx]]", f"{pad} |            ^^^^^^^^^^^^"]


@pytest.mark.accelerators("llvmpipe", "reference")
def test_in_range(accelerator_view):
    """Where only a guard, or the value itself, keeps the subscript in range."""

    @amp.kernel
    def guarded(idx, at, out):
        k = at[idx]
        total = CRC[k] if 0 <= k < 256 else amp.uint32(0)
        if k > 0 and CRC[k - 1] > 0:
            total += (5, 6)[k > 3]
        for x in (k, 2, 3):
            if x > 3:
                break
            total += 1
        out[idx] = total + CRC[k & 255]

    out = amp.array_view(np.zeros(3, np.uint32))
    report = amp.check(accelerator_view, out.extent, guarded, amp.array_view(np.array([-5, 256, 7], np.int32)), out)
    assert report.ok, str(report)
