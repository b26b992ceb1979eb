"""What no device defines is an error: bounds, unwritten memory, barriers, races; with whole messages."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.sim.build import (
    G,
    L,
    T,
    add,
    at,
    atomic,
    barrier,
    binary,
    buf,
    compare,
    element,
    field,
    for_,
    function,
    if_,
    index,
    kernel,
    local,
    parameter,
    put,
    static,
    value,
    var,
    while_,
)
from vkamp import sim
from vkamp.errors import AmpError, CheckError, RaceError, Span
from vkamp.ir import nodes as ir
from vkamp.ir.types import INT32, Array, from_dtype

A = {"a": (INT32, 1)}
FIRST = compare("eq", L, 0)


def fault(
    body: Sequence[ir.Stmt],
    *,
    threads: int = 4,
    tile: int | None = None,
    size: int = 8,
    **options: Any,
) -> CheckError:
    """The error that a kernel over one buffer ends with; the same for some seeds."""
    made = kernel(body, buffers=A, tile=None if tile is None else (tile,), **options)
    with pytest.raises(AmpError) as caught:
        sim.run(made, (threads,), {"a": np.zeros(size, np.int32)}, {})
    for seed in (1, 2, 3):
        with pytest.raises(AmpError) as again:
            sim.run(made, (threads,), {"a": np.zeros(size, np.int32)}, {}, seed=seed)
        assert again.value.error_code == caught.value.error_code
    error = caught.value
    assert isinstance(error, CheckError)
    return error


def fine(body: Sequence[ir.Stmt], *, threads: int = 4, tile: int | None = None, size: int = 8) -> None:
    """The kernel runs in every order."""
    made = kernel(body, buffers=A, tile=None if tile is None else (tile,))
    for seed in (None, 1, 2, 3):
        sim.run(made, (threads,), {"a": np.zeros(size, np.int32)}, {}, seed=seed)


# -- bounds


@pytest.mark.parametrize("wrong", [-1, 8, 2**31 - 1])
def test_index_of_a_buffer(wrong: int) -> None:
    for place in (put(buf("a", wrong), 1), put(buf("a", 0), buf("a", wrong))):
        error = fault([place])
        assert f"index {wrong} of a is out of bounds (extent 8), in thread (0)" in str(error)
        assert error.findings[0].kind == error.error_code == "bounds"
        assert error.findings[0].variable == "a"
        assert error.findings[0].index == (wrong,)


def test_index_in_every_dimension() -> None:
    grid, own = static("grid", INT32, 2, 3), var("own", Array(INT32, (4, 5)))
    for body, text in (
        ([ir.Declare(at(), grid), put(element(grid, 1, add(L, 2)), 1)],
         r"index 3 in dimension 1 of grid is out of bounds \(extent 3\), "
         r"in thread \(1\) \(tile \(0\), local \(1\)\)"),
        ([ir.Declare(at(), own), put(element(own, add(L, 3), 1), 1)],
         r"index 4 in dimension 0 of own is out of bounds \(extent 4\)"),
    ):  # fmt: skip
        made = kernel(body, tile=(2,), buffers={})
        with pytest.raises(AmpError, match=text):
            sim.run(made, (2,), {}, {})


def test_index_of_a_member_array() -> None:
    kind = from_dtype(np.dtype([("x", np.int32), ("v", np.int32, (3,))]), "point")
    made = kernel([put(element(field(buf("p", 1, kind=kind), "v"), G), 1)],
                  buffers={"p": (kind, 1)})  # fmt: skip
    with pytest.raises(AmpError, match=r"index 3 of p.v is out of bounds \(extent 3\)"):
        sim.run(made, (4,), {"p": np.zeros(2, kind.dtype)}, {})


def test_negative_indices_never_wrap_in_views() -> None:
    raw = np.zeros((4, 5), np.int32)
    made = kernel([put(buf("a", 1, binary("sub", G, 1)), 1)], buffers={"a": (INT32, 2)})
    with pytest.raises(AmpError, match=r"index -1 in dimension 1 of a .*\(extent 2\)"):
        sim.run(made, (1,), {"a": raw[1:3, 2:4]}, {})
    assert not raw.any()


def test_the_whole_message() -> None:
    text = "@amp.kernel\ndef k(t_idx, a):\n    a[t_idx.local + 7] = 1\n"
    linecache.cache["message.py"] = (len(text), None, text.splitlines(True), "message.py")
    place = Span("message.py", 3, 4, 3, 22, "k")
    target = ir.BufferElement(place, INT32, "a", (add(L, 7),))
    error = fault([ir.Assign(place, target, value(1))], tile=2)
    assert str(error) == (
        "index 8 of a is out of bounds (extent 8), in thread (1) (tile (0), local (1))\n"
        " --> message.py:3, in k\n"
        "  |\n"
        "3 | a[t_idx.local + 7] = 1\n"
        "  | ^^^^^^^^^^^^^^^^^^"
    )


# -- memory that nothing wrote


def test_unwritten_kernel_memory() -> None:
    cell, own = static("cell", INT32, 4), var("own", Array(INT32, (2, 2)))
    for body, text in (
        ([ir.Declare(at(), cell), put(buf("a", G), element(cell, add(L, 1)))], "cell[1]"),
        ([ir.Declare(at(), own), put(element(own, 0, 1), 1), put(buf("a", G), element(own, 1, 0))],
         "own[1, 0]"),
        ([ir.Declare(at(), cell), atomic("atomic_fetch_add", element(cell, 3), 1)], "cell[3]"),
    ):  # fmt: skip
        error = fault(body, tile=2)
        assert str(error).startswith(f"{text} is read before it is written, in thread (0)")
        assert error.error_code == "uninitialised"


def test_unwritten_members() -> None:
    kind = from_dtype(np.dtype([("x", np.int32), ("v", np.int32, (3,))]), "point")
    point, i = var("point", kind), var("i")
    error = fault([put(field(point, "x"), 1), put(buf("a", 0), element(field(point, "v"), 2))])
    assert str(error).startswith("point.v[2] is read before it is written")
    made = kernel(
        [put(field(point, "x"), 1), put(buf("p", 1, kind=kind), value(point))],
        buffers={"p": (kind, 1)},
    )
    with pytest.raises(AmpError, match=r"p\[1\].v\[0\] is read before it is written"):
        sim.run(made, (1,), {"p": np.zeros(2, kind.dtype)}, {})
    whole = [
        put(field(point, "x"), 1),
        for_(i, 0, 3, 1, put(element(field(point, "v"), i), i)),
        put(buf("p", 1, kind=kind), value(point)),
    ]
    points = np.zeros(2, kind.dtype)
    sim.run(kernel(whole, buffers={"p": (kind, 1)}), (1,), {"p": points}, {})
    assert points[1]["v"].tolist() == [0, 1, 2]


def test_unassigned_locals() -> None:
    x = var("x")
    read = ir.Local(at(61), INT32, x)
    body = [if_(compare("gt", G, 5), [put(x, 1)]), put(buf("a", 0, line=61), read, line=61)]
    error = fault(body)
    assert str(error).startswith("x is read before it is assigned, in thread (0)")
    assert error.findings[0].locations == (read.span,)


def test_an_exchange_may_write_first() -> None:
    cell = static("cell", INT32, 1)
    fine([
        ir.Declare(at(), cell),
        atomic("atomic_exchange", element(cell, 0), L),
        atomic("atomic_fetch_add", element(cell, 0), 1),
        barrier(),
        if_(FIRST, [put(buf("a", 0), element(cell, 0))]),
    ], tile=4)  # fmt: skip


# -- assertions, endless loops


def test_assertions() -> None:
    def claim(message: str) -> ir.Assert:
        return ir.Assert(at(12), compare("lt", G, 3), message)

    text = str(fault([claim("too many")]))
    assert text == "assertion failed: too many, in thread (3)\n  --> kernel.py:12, in kernel"
    assert fault([claim("")]).error_code == "assert"


def test_an_endless_loop_can_be_interrupted() -> None:
    import _thread
    import threading

    x = var("x")
    made = kernel([put(x, 0), while_(True, put(x, add(x, 1)))], buffers={})
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        sim.run(made, (1,), {}, {})
    timer.join()


# -- barriers


def test_barriers_that_not_all_reach() -> None:
    error = fault([if_(FIRST, [barrier(line=33)])], tile=2)
    assert str(error).startswith(
        "not all threads of the tile reach this barrier: thread (0) (tile (0), local (0)) waits, "
        "thread (1) (tile (0), local (1)) has ended"
    )
    assert error.error_code == "divergence"
    assert error.findings[0].locations[0].line == 33
    early = fault([barrier(), if_(FIRST, [ir.Return(at())]), barrier(line=34)], tile=2)
    assert early.error_code == "divergence"
    assert early.findings[0].locations[0].line == 34


def test_different_barriers() -> None:
    error = fault([if_(FIRST, [barrier(line=40)], [barrier(line=41)])], tile=2)
    assert str(error).startswith("the threads of the tile wait at different barriers: here thread")
    assert {s.line for s in error.findings[0].locations} == {40, 41}


def test_fences_that_do_not_wait_may_diverge() -> None:
    fine([if_(FIRST, [barrier("all_memory_fence")])], tile=2)


def test_barriers_in_uniform_loops() -> None:
    i, cell = var("i"), static("cell", INT32, 3)
    fine([
        ir.Declare(at(), cell),
        for_(i, 0, 4, 1,
             put(element(cell, L), i),
             barrier(),
             put(buf("a", G), element(cell, binary("sub", 2, L))),
             barrier()),
    ], threads=6, tile=3)  # fmt: skip


def test_a_barrier_without_tiles() -> None:
    made = kernel([barrier()], buffers={}, checked=False)
    with pytest.raises(AmpError, match="waits at a barrier, but its domain has no tiles"):
        sim.run(made, (1,), {}, {})


# -- races in a tile


def test_a_read_ahead_of_its_writer_is_a_race() -> None:
    cell, x = static("cell", INT32, 2), var("x")
    other = element(cell, binary("sub", 1, L))
    body = [ir.Declare(at(), cell), put(element(cell, L), L), put(x, other)]
    assert fault(body, tile=2).error_code == "race"
    assert fault([*body, barrier()], tile=2).error_code == "race"
    lost = [ir.Declare(at(), cell), put(x, other), barrier(), put(element(cell, L), L)]
    assert fault(lost, tile=2).error_code == "uninitialised"


SPACES = ("global", "tile_static")
CELL = static("cell", INT32, 8)


def cells(space: str, at_: Any) -> ir.Place:
    """An element of memory of this kind; of the buffer each tile has its own."""
    if space == "tile_static":
        return element(CELL, at_)
    return buf("a", add(at_, binary("mul", T, 4)))


def exchange(space: str, *fences: str) -> list[ir.Stmt]:
    """Each thread reads what its neighbour wrote on the other side of fences."""
    there = cells(space, binary("sub", 1, L))
    return [
        ir.Declare(at(), CELL),
        if_(FIRST, [put(cells(space, 0), 0), put(cells(space, 1), 0)]),
        barrier(),
        put(cells(space, L), L),
        *(barrier(f) for f in fences),
        put(var("x"), there),
    ]


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(
    ("fences", "orders"),
    [
        (["wait"], ["global", "tile_static"]),
        (["wait_with_all_memory_fence"], ["global", "tile_static"]),
        (["wait_with_global_memory_fence"], ["global"]),
        (["wait_with_tile_static_memory_fence"], ["tile_static"]),
        (["all_memory_fence"], []),
        (["global_memory_fence"], []),
        (["tile_static_memory_fence"], []),
        ([], []),
        # A wait in two parts.
        (["global_memory_fence", "wait_with_tile_static_memory_fence"], ["global", "tile_static"]),
        (["tile_static_memory_fence", "wait_with_global_memory_fence"], ["global", "tile_static"]),
        (["all_memory_fence", "wait_with_global_memory_fence"], ["global", "tile_static"]),
        # The fence comes after the barrier: what was written before it is not released.
        (["wait_with_tile_static_memory_fence", "global_memory_fence"], ["tile_static"]),
    ],
)
def test_each_fence_orders_what_it_says(space: str, fences: list[str], orders: list[str]) -> None:
    body = exchange(space, *fences)
    if space in orders:
        fine(body, tile=2)
    else:
        assert fault(body, tile=2).error_code == "race"


def test_fences_of_one_thread_order_nothing() -> None:
    """Only the writer releases; then only the reader acquires."""
    x = var("x")
    for first in (True, False):
        fence = barrier("global_memory_fence")
        body = [
            if_(FIRST, [put(buf("a", 0), 1)]),
            if_(compare("eq", L, 0 if first else 1), [fence]),
            barrier("wait_with_tile_static_memory_fence"),
            if_(compare("eq", L, 1), [put(x, buf("a", 0))]),
        ]
        made = kernel(body, tile=(2,), buffers=A)
        with pytest.raises(RaceError):
            sim.run(made, (2,), {"a": np.zeros(1, np.int32)}, {})


READ, WRITE, ATOMIC = "reads", "writes", "atomically updates"


def access(kind: str, place: ir.Place, line: int) -> ir.Stmt:
    """A statement that touches a place."""
    if kind == WRITE:
        return put(ir.ArrayElement(at(line), INT32, local(CELL), place.indices)
                   if isinstance(place, ir.ArrayElement)
                   else ir.BufferElement(at(line), INT32, "a", place.indices), 1, line)  # fmt: skip
    if kind == READ:
        return put(var("x"), ir.Load(at(line), INT32, place), line)
    made = atomic("atomic_fetch_add", place, 1)
    return ir.Atomic(at(line), made.name, place, made.args)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("first", [READ, WRITE, ATOMIC])
@pytest.mark.parametrize("second", [READ, WRITE, ATOMIC])
def test_accesses_that_are_compatible(space: str, first: str, second: str) -> None:
    place = cells(space, 3)
    body = [
        ir.Declare(at(), CELL),
        if_(FIRST, [put(place, 0)]),
        barrier(),
        if_(FIRST, [access(first, place, 51)], [access(second, place, 52)]),
    ]
    if WRITE not in (first, second):
        fine(body, tile=3, threads=3)
        return
    error = fault(body, tile=3, threads=3)
    assert isinstance(error, RaceError)
    lines = [s.line for s in error.findings[0].locations]
    assert set(lines) == {51, 52} or (second == WRITE and set(lines) == {52})
    assert error.findings[0].variable == ("cell" if space == "tile_static" else "a")
    assert error.findings[0].index == (3,)
    assert len({t.local for t in error.findings[0].threads}) == 2


def test_the_message_of_a_race() -> None:
    text = "def k(t_idx, a):\n    cell[0] = 1\n    x = cell[0]\n"
    linecache.cache["race.py"] = (len(text), None, text.splitlines(True), "race.py")

    def span(line: int, first: int, last: int) -> Span:
        return Span("race.py", line, first, line, last, "k")

    zero = (value(0),)
    store = ir.ArrayElement(span(2, 4, 11), INT32, local(CELL), zero)
    load = ir.ArrayElement(span(3, 8, 15), INT32, local(CELL), zero)
    body = [
        ir.Declare(at(), CELL),
        if_(FIRST, [ir.Assign(span(2, 4, 15), store, value(1))]),
        if_(
            compare("eq", L, 1),
            [put(var("x"), ir.Load(span(3, 8, 15), INT32, load))],
        ),
    ]
    made = kernel(body, tile=(2,), buffers=A)
    with pytest.raises(RaceError) as caught:
        sim.run(made, (4,), {"a": np.zeros(1, np.int32)}, {})
    assert str(caught.value) == (
        "race on cell[0]: thread (1) (tile (0), local (1)) reads it, "
        "thread (0) (tile (0), local (0)) writes it, and nothing orders the two\n"
        " --> race.py:3, in k\n"
        "  |\n"
        "3 | x = cell[0]\n"
        "  |     ^^^^^^^\n"
        "  = note: the other access, by thread (0) (tile (0), local (0))\n"
        " --> race.py:2, in k\n"
        "  |\n"
        "2 | cell[0] = 1\n"
        "  | ^^^^^^^^^^^\n"
        "  = help: put a barrier whose fence orders tile_static memory between them, or use atomics"
    )


def test_refilling_without_a_second_barrier() -> None:
    i, x = var("i"), var("x")
    turn = [put(element(CELL, L), i), barrier(), put(x, element(CELL, binary("sub", 1, L)))]
    assert fault([ir.Declare(at(), CELL), for_(i, 0, 2, 1, *turn)], tile=2).error_code == "race"
    fine([ir.Declare(at(), CELL), for_(i, 0, 2, 1, *turn, barrier())], tile=2)


def test_writes_of_one_value_are_a_race_too() -> None:
    assert fault([put(buf("a", T), 1)], tile=2).error_code == "race"
    assert fault([ir.Declare(at(), CELL), put(element(CELL, 0), 1)], tile=2).error_code == "race"


def test_members_of_one_struct_are_apart() -> None:
    kind = from_dtype(np.dtype([("x", np.int32), ("y", np.int32)]), "pair")
    cell = static("pairs", kind, 1)
    x, y = field(element(cell, 0), "x"), field(element(cell, 0), "y")
    fine([ir.Declare(at(), cell), if_(FIRST, [put(x, 1)], [put(y, 2)])], tile=2)
    whole = var("whole", kind)
    error = fault(
        [ir.Declare(at(), cell), put(field(whole, "x"), 1),
         if_(FIRST, [put(y, 2)], [put(element(cell, 0), value(whole))])],
        tile=2,
    )  # fmt: skip
    assert str(error).startswith("race on pairs[0].y: ")


def test_races_through_arrays_passed_by_reference() -> None:
    kind = CELL.type
    values, v = parameter("values", kind), parameter("v", INT32)
    store = function("store", [values, v], [], [put(element(values, 2), v)])
    call = ir.Call(at(), "store", (local(CELL), value(L)), ())
    error = fault([ir.Declare(at(), CELL), call], tile=2, functions=[store])
    assert error.error_code == "race"
    assert error.findings[0].index == (2,)


# -- races between tiles


@pytest.mark.parametrize("tile", [None, 2])
def test_tiles_share_no_element(tile: int | None) -> None:
    x = var("x")
    zero = buf("a", 0)
    fine([put(x, zero)], tile=tile)
    fine([atomic("atomic_fetch_add", zero, 1), put(x, zero)], tile=tile)
    fine([put(buf("a", G), 1), put(x, buf("a", G))], tile=tile)
    for body in (
        [put(buf("a", binary("floordiv", G, 3)), 1)],
        [put(buf("a", G), 1), put(x, buf("a", binary("sub", 3, G)))],
        [atomic("atomic_fetch_add", zero, 1), if_(compare("eq", G, 3), [put(zero, 1)])],
        [put(x, zero), if_(compare("eq", G, 2), [put(zero, 1)])],
    ):
        error = fault(body, tile=tile)
        assert isinstance(error, RaceError)


def test_barriers_order_no_tiles() -> None:
    x = var("x")
    body = [
        put(buf("a", G), 1),
        barrier(),
        put(x, buf("a", binary("sub", 3, G))),
    ]
    error = fault(body, tile=2)
    assert ", and nothing orders two tiles\n" in str(error)
    first, second = error.findings[0].threads
    assert first.tile != second.tile


def test_untiled_threads_are_named_by_their_index() -> None:
    error = fault([put(buf("a", 5), G)])
    assert str(error).startswith(
        "race on a[5]: thread (1) writes it, thread (0) writes it, and nothing orders two threads\n"
    )
    assert error.findings[0].threads[0].tile is None


def test_races_between_views_that_overlap() -> None:
    raw = np.zeros(12, np.int32)
    views = {"a": raw.reshape(3, 4)[:, 1:3], "b": raw[::-2]}
    body = [
        if_(compare("eq", G, 0), [put(buf("a", 2, 0), 1)]),
        if_(compare("eq", G, 1), [put(buf("b", 1), 1)]),
    ]
    made = kernel(body, buffers={"a": (INT32, 2), "b": (INT32, 1)})
    with pytest.raises(RaceError, match=r"race on b\[1\]: .*(?s:.)*the other access.*, as a\[2, 0\]"):
        sim.run(made, (2,), views, {})
    raw[:] = 0
    views["b"] = raw[::-1][::2]
    sim.run(made, (2,), {**views, "b": raw[::2]}, {})
    assert raw.tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0]


def test_interleaved_views_do_not_race() -> None:
    raw = np.zeros(10, np.int32)
    body = [put(buf("a", G), 1), put(buf("b", binary("sub", 4, G)), 2)]
    made = kernel(body, buffers={"a": (INT32, 1), "b": (INT32, 1)})
    sim.run(made, (5,), {"a": raw[::2], "b": raw[1::2]}, {}, seed=4)
    assert raw.tolist() == [1, 2] * 5


def test_races_may_be_let_through() -> None:
    out = np.zeros(1, np.int32)
    made = kernel([put(buf("a", 0), G)], buffers=A)
    sim.run(made, (5,), {"a": out}, {}, races=False)
    assert out[0] == 4
    tiled = kernel([put(buf("a", T), L), barrier("global_memory_fence")], tile=(5,), buffers=A)
    sim.run(tiled, (5,), {"a": out}, {}, races=False)
    assert out[0] == 4


def test_three_dimensional_threads() -> None:
    made = kernel([put(buf("a", index("tile", 2)), 1)], rank=3, tile=(2, 1, 2), buffers=A)
    with pytest.raises(RaceError, match=r"thread \(0, 0, 1\) \(tile \(0, 0, 0\), local \(0, 0, 1\)\)"):
        sim.run(made, (4, 3, 6), {"a": np.zeros(3, np.int32)}, {})


def test_memory_is_usable_after_an_error() -> None:
    out = np.zeros(4, np.int32)
    made = kernel([put(buf("a", G), add(G, 1))], buffers=A)
    with pytest.raises(AmpError):
        sim.run(made, (5,), {"a": out}, {})
    assert out.tolist() == [1, 2, 3, 4]
    sim.run(made, (3,), {"a": out}, {})
