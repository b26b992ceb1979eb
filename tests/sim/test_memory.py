"""Places: elements, members, arrays in structs, views that overlap, atomics."""

from __future__ import annotations

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
    cast,
    compare,
    element,
    field,
    for_,
    if_,
    index,
    kernel,
    local,
    mul,
    put,
    static,
    value,
    var,
)
from vkamp import sim
from vkamp.errors import AmpError, RaceError, UnsupportedFeatureError
from vkamp.ir import nodes as ir
from vkamp.ir.builtins import ATOMICS
from vkamp.ir.types import BOOL, FLOAT32, INT32, UINT32, Array, Field, Scalar, Struct, Vector, from_dtype
from vkamp.sim.memory import words_of

# Padding between the members and at the end.
BODY = np.dtype(
    {
        "names": ["mass", "spin", "id"],
        "formats": [np.float32, (np.int32, (2, 3)), np.uint32],
        "offsets": [0, 8, 36],
        "itemsize": 48,
    }
)
PAIR = np.dtype([("first", BODY), ("second", BODY)])


def bodies(count: int) -> Any:
    made = np.zeros(count, BODY)
    made["mass"] = np.arange(count) + 0.5
    made["spin"] = np.arange(6 * count).reshape(count, 2, 3)
    made["id"] = 4_000_000_000 + np.arange(count)
    return made


def _part(place: ir.Place, letters: str) -> ir.ComponentsOf:
    kind = place.type
    assert isinstance(kind, Vector)
    return ir.ComponentsOf(at(), kind.part(letters), place, letters)


def test_components_of_a_vector_are_words_of_their_own() -> None:
    """Threads that write different components do not race; one that reads a component that another writes does."""
    point = Vector(FLOAT32, 3)
    raw = np.zeros(2, point.dtype)
    mine = put(_part(buf("a", 0, kind=point), "x"), 1.0)
    other = put(_part(buf("a", 0, kind=point), "zy"), value(_part(buf("a", 1, kind=point), "xy")))
    body = [if_(compare("eq", G, 0), [mine], [other])]
    sim.run(kernel(body, buffers={"a": (point, 1)}, tile=(2,)), (2,), {"a": raw}, {})
    assert raw[0].item() == (1.0, 0.0, 0.0)
    reads = put(buf("b", 0, kind=FLOAT32), _part(buf("a", 0, kind=point), "y"))
    racy = kernel([if_(compare("eq", G, 0), [reads], [other])], buffers={"a": (point, 1), "b": (FLOAT32, 1)}, tile=(2,))
    with pytest.raises(RaceError, match=r"a\[0\]\.y"):
        sim.run(racy, (2,), {"a": raw, "b": np.zeros(1, np.float32)}, {})


def test_components_that_nothing_wrote() -> None:
    point = Vector(FLOAT32, 3)
    tile = static("tile", point, 2)
    whole = [
        put(_part(element(tile, L), "xz"), ir.Construct(at(), point.part("xy"), (value(1.0),))),
        put(buf("a", G, kind=point), element(tile, L)),
    ]
    for body in (whole, [whole[0], put(_part(buf("a", G, kind=point), "xy"), _part(element(tile, L), "xy"))]):
        made = kernel(body, buffers={"a": (point, 1)}, tile=(2,))
        with pytest.raises(AmpError, match=r"tile\[0\]\.y") as caught:
            sim.run(made, (2,), {"a": np.zeros(2, point.dtype)}, {})
        assert caught.value.error_code == "uninitialised"


def test_strided_views_are_read_and_written_in_place() -> None:
    raw = np.arange(7 * 9, dtype=np.int32).reshape(7, 9)
    source, target = raw[1:6:2, ::-2], np.zeros((5, 3), np.int32).T
    before = raw.copy()
    i, j = index("global", 0), index("global", 1)
    body = [put(buf("b", i, j), add(buf("a", i, j), 1000))]
    made = kernel(body, rank=2, buffers={"a": (INT32, 2), "b": (INT32, 2)})
    sim.run(made, (3, 5), {"a": source, "b": target}, {})
    assert (target == source + 1000).all()
    assert (raw == before).all()


def test_extent_of_a_view() -> None:
    out = np.zeros(2, np.int32)
    extents = [ir.BufferExtent(at(), INT32, "a", dim) for dim in (0, 1)]
    body = [put(buf("out", 0), extents[0]), put(buf("out", 1), extents[1])]
    made = kernel(body, buffers={"a": (FLOAT32, 2), "out": (INT32, 1)})
    sim.run(made, (1,), {"a": np.zeros((4, 11), np.float32)[:, ::3], "out": out}, {})
    assert out.tolist() == [4, 4]


def test_views_that_overlap_see_each_other() -> None:
    raw = np.arange(10, dtype=np.int32)
    bits = raw.view(np.float32)
    body = [
        put(buf("a", 1), 77),
        put(buf("b", 2), add(buf("b", 0), 1)),
        put(buf("c", 5, kind=FLOAT32), 1.0),
        put(buf("a", 4), buf("a", 5)),
    ]
    buffers = {"a": (INT32, 1), "b": (INT32, 1), "c": (FLOAT32, 1)}
    made = kernel(body, buffers=buffers)
    sim.run(made, (1,), {"a": raw, "b": raw[1:4], "c": bits}, {})
    assert raw.tolist()[:4] == [0, 77, 2, 78]
    assert raw[4] == raw[5] == np.float32(1).view(np.int32)


def test_struct_members_and_copies() -> None:
    kind = from_dtype(BODY, "body")
    source, target = bodies(5), np.zeros(5, BODY)
    target.view(np.int32)[:] = -1
    copy = var("copy", kind)
    copied = field(copy, "spin")
    body = [
        put(copy, buf("a", G, kind=kind)),
        put(element(copied, 1, 2), mul(element(field(copy, "spin"), 0, 1), 10)),
        put(field(copy, "mass"), binary("mul", field(copy, "mass"), 2.0)),
        put(buf("b", G, kind=kind), value(copy)),
    ]
    made = kernel(body, buffers={"a": (kind, 1), "b": (kind, 1)})
    sim.run(made, (5,), {"a": source, "b": target}, {})
    expected = bodies(5)
    assert (source == expected).all(), "a loaded struct is a copy"
    expected["spin"][:, 1, 2] = expected["spin"][:, 0, 1] * 10
    expected["mass"] *= 2
    assert (target == expected).all()
    assert target.view(np.int32).reshape(5, 12)[:, [1, 10, 11]].tolist() == [[-1] * 3] * 5


def test_nested_structs_in_place_in_every_memory() -> None:
    kind = from_dtype(BODY, "body")
    pair = Struct("pair", (Field("first", kind, 0), Field("second", kind, 48)), 96)
    tiles, own = static("tiles", pair, 2), var("own", Array(pair, (3,)))
    second = field(element(own, 1), "second")
    body = [
        ir.Declare(at(), tiles),
        ir.Declare(at(), own),
        put(second, buf("a", G, kind=kind)),
        put(field(field(element(own, 1), "second"), "id"), cast(UINT32, L)),
        put(element(tiles, L), buf("p", G, kind=pair)),
        put(field(element(tiles, L), "first"), second),
        barrier(),
        put(buf("p", G, kind=pair), element(tiles, binary("sub", 1, L))),
    ]
    made = kernel(body, tile=(2,), buffers={"a": (kind, 1), "p": (pair, 1)})
    pairs = np.zeros(4, PAIR)
    pairs["second"] = bodies(4)[::-1]
    expected = pairs.copy()
    sim.run(made, (4,), {"a": bodies(4), "p": pairs}, {})
    expected["first"] = bodies(4)
    expected["first"]["id"] = [0, 1, 0, 1]
    assert (pairs == expected[[1, 0, 3, 2]]).all()


def test_private_arrays_are_each_threads_own() -> None:
    scratch, i = var("scratch", Array(INT32, (2, 3))), var("i")
    body = [
        ir.Declare(at(), scratch),
        for_(i, 0, 6, 1, put(element(scratch, binary("floordiv", i, 3), binary("floormod", i, 3)), i)),
        put(buf("out", G), add(element(scratch, 1, G), mul(G, 100))),
    ]
    out = np.zeros(3, np.int32)
    sim.run(kernel(body, buffers={"out": (INT32, 1)}), (3,), {"out": out}, {})
    assert out.tolist() == [3, 104, 205]


def test_single_element_arrays() -> None:
    total, own = static("total", INT32), var("own", Array(FLOAT32, ()))
    body = [
        ir.Declare(at(), total),
        ir.Declare(at(), own),
        put(element(own), 2.5),
        put(buf("out", G, kind=FLOAT32), element(own)),
    ]
    out = np.zeros(2, np.float32)
    sim.run(kernel(body, tile=(2,), buffers={"out": (FLOAT32, 1)}), (2,), {"out": out}, {})
    assert out.tolist() == [2.5, 2.5]


def test_indices_may_be_loaded_from_memory() -> None:
    order = np.array([[2, 0], [1, 2]], np.int32)
    table = np.array([2, 0, 1], np.int32)
    scratch, i = var("scratch", Array(INT32, (3,))), var("i")
    body = [
        ir.Declare(at(), scratch),
        for_(i, 0, 3, 1, put(element(scratch, i), buf("t", buf("t", i)))),
        put(
            buf("out", G),
            element(scratch, element(scratch, buf("o", binary("floormod", G, 2), element(scratch, 2)))),
        ),
    ]
    out = np.zeros(2, np.int32)
    made = kernel(body, buffers={"o": (INT32, 2), "t": (INT32, 1), "out": (INT32, 1)})
    sim.run(made, (2,), {"o": order, "t": table, "out": out}, {})
    twice = table[table]
    assert out.tolist() == [twice[twice[order[g, twice[2]]]] for g in range(2)]


@pytest.mark.parametrize("name", [n for n, row in ATOMICS.items() if row.result == "old"])
@pytest.mark.parametrize("kind", [INT32, UINT32])
@pytest.mark.parametrize("space", ["buffer", "tile_static"])
def test_atomics(name: str, kind: Scalar, space: str) -> None:
    row, dtype = ATOMICS[name], np.dtype(kind.name)
    for start in np.array([0, 5, -1, 2**31 - 1, -(2**31)], np.int64).astype(dtype):
        for operand in np.array([0, 3, -2], np.int64).astype(dtype):
            out = np.array([start, 0], dtype)
            old, cell = var("old", kind), static("cell", kind, 2)
            here = buf("out", 0, kind=kind) if space == "buffer" else element(cell, 1)
            args: tuple[Any, ...] = (int(operand),) * row.operands
            statements: list[ir.Stmt] = []
            if space == "tile_static":
                statements += [ir.Declare(at(), cell), put(here, buf("out", 0, kind=kind))]
            statements.append(atomic(name, here, *args, result=old))
            if space == "tile_static":
                statements.append(put(buf("out", 0, kind=kind), here))
            statements.append(put(buf("out", 1, kind=kind), value(old)))
            made = kernel(statements, tile=(1,), buffers={"out": (kind, 1)})
            sim.run(made, (1,), {"out": out}, {})
            new = row.apply(int(start), *args) & 0xFFFFFFFF
            assert out[1] == start
            assert out[0] == np.array([new], np.uint32).view(dtype)[0]


@pytest.mark.parametrize("given", [5, 6])
def test_compare_exchange(given: int) -> None:
    same, expected = var("same", BOOL), var("expected")
    body = [
        put(expected, given),
        atomic(
            "atomic_compare_exchange",
            buf("out", 0),
            9,
            result=same,
            expected=expected,
        ),
        put(buf("out", 1), cast(INT32, same)),
        put(buf("out", 2), expected),
    ]
    out = np.array([5, -1, -1], np.int32)
    sim.run(kernel(body, buffers={"out": (INT32, 1)}), (1,), {"out": out}, {})
    assert out.tolist() == ([9, 1, 5] if given == 5 else [5, 0, 5])


def test_exchange_of_floats() -> None:
    old = var("old", FLOAT32)
    body = [
        atomic("atomic_exchange", buf("a", 0, kind=FLOAT32), 2.5, result=old),
        put(buf("a", 1, kind=FLOAT32), old),
    ]
    out = np.array([0.1, 0], np.float32)
    sim.run(kernel(body, buffers={"a": (FLOAT32, 1)}, checked=False), (1,), {"a": out}, {})
    assert out.tolist() == [2.5, np.float32(0.1)]


def test_counting_with_atomics() -> None:
    counts = np.zeros(3, np.int32)
    body = [atomic("atomic_fetch_add", buf("counts", binary("floormod", G, 3)), 1)]
    sim.run(kernel(body, buffers={"counts": (INT32, 1)}), (11,), {"counts": counts}, {})
    assert counts.tolist() == [4, 4, 3]


def test_buffers_that_do_not_fit() -> None:
    made = kernel([put(buf("a", G), 1)], buffers={"a": (INT32, 1)})
    raw = np.zeros(9, np.int32)
    locked = raw.copy()
    locked.flags.writeable = False
    off = np.zeros(41, np.uint8)[1:].view(np.int32) if raw.ctypes.data % 4 == 0 else raw
    for wrong, text in (
        ({}, "no array is given for a"),
        ({"a": raw.astype(np.float32)}, "a has float32 elements, the kernel expects int32"),
        ({"a": raw.reshape(3, 3)}, "a has rank 2, the kernel expects 1"),
        ({"a": locked}, "a is a read-only array, and the kernel writes it"),
        ({"a": off}, "a is not aligned to 4 bytes"),
    ):
        with pytest.raises(AmpError, match=text):
            sim.run(made, (2,), wrong, {})
    only_read = kernel([put(buf("b", 0), buf("a", 0))], buffers={"a": (INT32, 1), "b": (INT32, 1)})
    sim.run(only_read, (1,), {"a": locked, "b": raw}, {})


def test_empty_buffers() -> None:
    made = kernel([put(buf("a", G), 1)], buffers={"a": (INT32, 1)})
    with pytest.raises(AmpError, match=r"index 0 of a is out of bounds \(extent 0\)"):
        sim.run(made, (1,), {"a": np.zeros(0, np.int32)}, {})


def test_layouts_that_it_has_not() -> None:
    odd = Struct("odd", (Field("a", INT32, 2),), 8)
    with pytest.raises(UnsupportedFeatureError, match="odd has members that are not aligned to 4 bytes"):
        words_of(odd)


def test_tile_static_memory_is_new_for_each_tile() -> None:
    cell = static("cell", INT32, 2)
    body = [
        ir.Declare(at(), cell),
        put(element(cell, L), T),
        barrier(),
        put(buf("out", G), element(cell, binary("sub", 1, L))),
    ]
    out = np.zeros(6, np.int32)
    sim.run(kernel(body, tile=(2,), buffers={"out": (INT32, 1)}), (6,), {"out": out}, {}, seed=3)
    assert out.tolist() == [0, 0, 1, 1, 2, 2]
    assert local(cell).type == cell.type
