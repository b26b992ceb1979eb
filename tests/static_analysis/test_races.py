"""Certain races: updates by all threads are errors, plain stores are warnings, all else is accepted."""

# ruff: noqa: E501 -- whole messages, as they are

from __future__ import annotations

import textwrap

import pytest

from tests.static_analysis.build import (
    Source,
    add,
    back,
    barrier,
    binary,
    call,
    count,
    element,
    eq,
    fetch_add,
    func,
    get,
    here,
    increase,
    index,
    item,
    kernel,
    leave,
    let,
    local,
    lt,
    param,
    private,
    scalar,
    shared,
    var,
    when,
)
from vkamp.check.races import RaceFinding, check_certain_races
from vkamp.check.uniformity import check_uniformity
from vkamp.errors import CompileError
from vkamp.ir import nodes as ir
from vkamp.ir.types import FLOAT32, INT32, Array, Field, Struct

TOTAL = shared("total", of=FLOAT32)
SUMS = shared("sums", 6)
ROW, X = var("row"), var("x")
AVERAGE = element("averages", index("tile", 0), index("tile", 1))
VALUE = element("matrix", index("global", 0), index("global", 1))
FIRST = eq(local(0), 0)
PAIR = Struct("pair", (Field("a", INT32, 0), Field("b", Array(INT32, (3,)), 4)), 16)
NOWHERE = ROW.span

CELLS = param("c", Array(INT32, (6,)))
BUMP = func("bump", [CELLS, param("i")], increase(item(CELLS, param("i")), 1))
BUMP_TWICE = func("bump_twice", [CELLS], call(BUMP, CELLS, 1))


def findings(program: ir.Kernel) -> list[RaceFinding]:
    return check_certain_races(program, check_uniformity(program))


def field(place: ir.Place, name: str) -> ir.FieldOf:
    assert isinstance(place.type, Struct)
    member = place.type.field(name)
    assert member is not None
    return ir.FieldOf(NOWHERE, member.type, place, name)


REFUSED = {
    "total of the tile": kernel(increase(item(TOTAL), VALUE)),
    "update spelled out": kernel(let(item(TOTAL), add(get(item(TOTAL)), VALUE))),
    "value that reads the element": kernel(let(item(SUMS, 2), binary("mul", 2, item(SUMS, 2)))),
    "element of a container at the tile": kernel(increase(AVERAGE, VALUE)),
    "element of a container at a constant": kernel(increase(element("data", 0), 1)),
    "at a uniform loop's counter": kernel(count(ROW, 6, increase(item(SUMS, ROW), 1))),
    "under a uniform condition": kernel(when(lt(scalar(), 3), increase(item(SUMS, 0), 1))),
    "after a divergent if": kernel(when(FIRST, let(X, 1)), increase(item(SUMS, 0), 1)),
    "after a loop that threads leave one by one": kernel(
        count(ROW, 8, when(eq(local(0), ROW), leave())), increase(item(SUMS, 0), 1)
    ),
    "member of a struct": kernel(increase(field(item(shared("s", 2, of=PAIR), 1), "a"), 1)),
    "element of a struct's array": kernel(increase(item(field(item(shared("s", 2, of=PAIR), 1), "b"), 2), 1)),
    "in a function": kernel(call(BUMP, SUMS, 2), functions=[BUMP]),
    "in a function of a function": kernel(call(BUMP_TWICE, SUMS), functions=[BUMP, BUMP_TWICE]),
    "untiled, at a constant": kernel(increase(element("data", 0), 1), tile=None),
    "untiled, at a scalar": kernel(increase(element("data", scalar()), 1), tile=None),
}

SILENT = {
    "by one thread": kernel(when(FIRST, increase(AVERAGE, VALUE))),
    "at the local id": kernel(increase(item(SUMS, local(0)), 1)),
    "at the global id": kernel(increase(VALUE, 1.0)),
    "at an index of which one part is divergent": kernel(increase(element("matrix", 0, local(1)), 1.0)),
    "at an index from memory": kernel(increase(element("data", element("data", 0)), 1)),
    "at a divergent element of a struct's array": kernel(
        increase(item(field(item(shared("s", 2, of=PAIR), 1), "b"), local(0)), 1)
    ),
    "after a divergent return": kernel(when(FIRST, back()), increase(item(SUMS, 0), 1)),
    "in a loop of divergent length": kernel(count(ROW, local(0), increase(item(SUMS, 0), 1))),
    "in a loop after a divergent break": kernel(
        count(ROW, 8, when(eq(local(0), ROW), leave()), increase(item(SUMS, 0), 1))
    ),
    "in a loop before a divergent break": kernel(
        count(ROW, 8, increase(item(SUMS, 0), 1), when(eq(local(0), ROW), leave()))
    ),
    "by an atomic": kernel(fetch_add(item(SUMS, 0), 1)),
    "private memory": kernel(increase(item(private("mine", 6), 0), 1)),
    "a local": kernel(increase(here(X), 1)),
    "private memory in a function": kernel(call(BUMP, private("mine", 6), 0), functions=[BUMP]),
    "in a function called by one thread": kernel(when(FIRST, call(BUMP, SUMS, 0)), functions=[BUMP]),
    "in a function at a divergent argument": kernel(call(BUMP, SUMS, local(0)), functions=[BUMP]),
    "tiles of one thread": kernel(increase(AVERAGE, VALUE), tile=(1, 1)),
    "untiled, at the index": kernel(increase(VALUE, 1.0), tile=None),
    "sampling": kernel(
        when(FIRST, let(item(TOTAL), 0.0)),
        barrier(),
        when(FIRST, count(ROW, 4, increase(item(TOTAL), 1.0)), increase(AVERAGE, item(TOTAL))),
    ),
}

REPORTED = {
    "the average by every thread": kernel(let(AVERAGE, 1.0)),
    "a flag by every thread": kernel(let(item(SUMS, 0), 0)),
    "a divergent value": kernel(let(item(SUMS, 0), local(0))),
    "the value of another element": kernel(let(item(SUMS, 0), item(SUMS, 1))),
    "a member of a struct": kernel(let(field(item(shared("s", 2, of=PAIR), 1), "a"), 1)),
    "untiled": kernel(let(element("data", 3), 1), tile=None),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    with pytest.raises(CompileError) as caught:
        findings(REFUSED[name])
    assert caught.value.error_code in ("VKA610", "VKA611")


@pytest.mark.parametrize("name", SILENT)
def test_silent(name: str) -> None:
    assert findings(SILENT[name]) == []


@pytest.mark.parametrize("name", REPORTED)
def test_reported(name: str) -> None:
    assert [f.code for f in findings(REPORTED[name])] == ["VKA620"]


def test_one_finding_per_store_in_program_order() -> None:
    source = Source("two.py", "a = 0\nb = 0\n")
    first = item(SUMS, 0, span=source.at(1, "a"))
    second = item(SUMS, 1, span=source.at(2, "b"))
    program = kernel(count(ROW, 4, let(first, 0), count(X, 4, let(second, 0))))
    assert [f.span.line for f in findings(program)] == [1, 2]


def test_an_update_is_refused_even_after_a_plain_store() -> None:
    with pytest.raises(CompileError):
        findings(kernel(let(item(SUMS, 0), 0), increase(item(SUMS, 0), 1)))


def text_of(program: ir.Kernel) -> str:
    with pytest.raises(CompileError) as caught:
        findings(program)
    return str(caught.value)


def dedent(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


def test_message_for_a_float_total() -> None:
    source = Source(
        "total.py",
        """
        @amp.kernel
        def k(t_idx, matrix):
            total = amp.tile_static((), amp.float32)
            total[()] += matrix[t_idx]
        """,
    )
    total = item(TOTAL, span=source.at(4, "total[()]"))
    program = kernel(increase(total, VALUE, source.at(4, "total[()] += matrix[t_idx]")))
    assert text_of(program) == dedent(
        """
        VKA611: all threads of a tile update this one element of `total` at once: a race
         --> total.py:4, in k
          |
        4 | total[()] += matrix[t_idx]
          | ^^^^^^^^^
          = help: let each thread update a separate element, and let one thread combine them after a barrier: `if t_idx.local == (0, 0):`
        """
    )


def test_message_for_an_integer_element_of_a_container() -> None:
    source = Source(
        "count.py",
        """
        @amp.kernel
        def k(t_idx, data):
            data[t_idx.tile[0]] += 1
        """,
    )
    place = element("data", index("tile", 0), span=source.at(3, "data[t_idx.tile[0]]"))
    program = kernel(increase(place, 1, source.at(3, "data[t_idx.tile[0]] += 1")), tile=(64,))
    assert text_of(program) == dedent(
        """
        VKA610: all threads of a tile update this one element of `data` at once: a race
         --> count.py:3, in k
          |
        3 | data[t_idx.tile[0]] += 1
          | ^^^^^^^^^^^^^^^^^^^
          = help: write `amp.atomic_fetch_add(data[t_idx.tile[0]], ...)`, or let one thread do it: `if t_idx.local[0] == 0:`
        """
    )


def test_message_without_tiles() -> None:
    source = Source(
        "untiled.py",
        """
        @amp.kernel
        def k(i, matrix):
            matrix[0, 0] *= 2.0
        """,
    )
    place = element("matrix", 0, 0, span=source.at(3, "matrix[0, 0]"))
    program = kernel(increase(place, 2.0, source.at(3, "matrix[0, 0] *= 2.0"), "mul"), tile=None, index_name="i")
    assert text_of(program) == dedent(
        """
        VKA611: all threads update this one element of `matrix` at once: a race
         --> untiled.py:3, in k
          |
        3 | matrix[0, 0] *= 2.0
          | ^^^^^^^^^^^^
          = help: let each thread update a separate element, and combine them in another launch
        """
    )


def test_message_in_a_function_without_source() -> None:
    assert text_of(kernel(call(BUMP, SUMS, 2), functions=[BUMP])) == dedent(
        """
        VKA610: all threads of a tile update this one element of `sums` at once: a race
         --> nowhere.py:1
          = note: called from here
         --> nowhere.py:1
          = help: write `amp.atomic_fetch_add(c[i], ...)`, or let one thread do it: `if t_idx.local == (0, 0):`
        """
    )


def test_text_of_a_finding() -> None:
    source = Source(
        "averages.py",
        """
        @amp.kernel
        def k(t_idx, averages):
            averages[t_idx.tile] = 1.0
        """,
    )
    where = source.at(3, "averages[t_idx.tile]")
    place = element("averages", index("tile", 0), index("tile", 1), span=where)
    (finding,) = findings(kernel(let(place, 1.0, source.at(3, "averages[t_idx.tile] = 1.0"))))
    assert finding.span == where
    assert finding.text == dedent(
        """
        VKA620: all threads of a tile store to this one element of `averages`: the same value, but still a race
         --> averages.py:3, in k
          |
        3 | averages[t_idx.tile] = 1.0
          | ^^^^^^^^^^^^^^^^^^^^
          = help: let one thread store it: `if t_idx.local == (0, 0):`
        """
    )


@pytest.mark.parametrize(
    ("op", "name"),
    [
        ("add", "atomic_fetch_add"),
        ("sub", "atomic_fetch_sub"),
        ("bitand", "atomic_fetch_and"),
        ("bitor", "atomic_fetch_or"),
        ("bitxor", "atomic_fetch_xor"),
        ("mul", None),
    ],
)
def test_help_names_the_atomic_that_fits(op: str, name: str | None) -> None:
    text = text_of(kernel(increase(item(SUMS, 3), 5, op=op)))
    assert (f"`amp.{name}(sums[3], ...)`" in text) == (name is not None)
    assert ("amp.atomic" in text) == (name is not None)


def test_help_names_atomic_min() -> None:
    smaller = ir.Builtin(NOWHERE, INT32, "min", (get(item(SUMS, 3)), get(element("data", local()))))
    assert "`amp.atomic_fetch_min(sums[3], ...)`" in text_of(kernel(let(item(SUMS, 3), smaller)))


def test_no_atomic_subtracts_from_a_value() -> None:
    reverse = binary("sub", scalar(), item(SUMS, 3))
    assert "amp.atomic" not in text_of(kernel(let(item(SUMS, 3), reverse)))
