"""The IR as text."""

from __future__ import annotations

import dataclasses
import textwrap

from tests.static_analysis.build import (
    NOWHERE,
    add,
    back,
    barrier,
    binary,
    both,
    call,
    claim,
    compare,
    count,
    element,
    eq,
    expr,
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
    repeat,
    scalar,
    select,
    shared,
    skip,
    tile_static_barrier,
    var,
    when,
)
from vkamp.ir import nodes as ir
from vkamp.ir.text import _Printer, place_text, text
from vkamp.ir.types import BOOL, FLOAT32, INT32, UINT32, Array, Field, Struct, Vector

POINT = Vector(FLOAT32, 3)
V = var("v", POINT)
X, ROW = var("x"), var("row")
PAIR = Struct("pair", (Field("a", INT32, 0), Field("b", Array(FLOAT32, (3,)), 4)), 16)


def test_whole_kernel() -> None:
    values = shared("tile_values", 4, 3, of=FLOAT32)
    cells = private("cells", 5)
    v, c = param("v", FLOAT32), param("c", Array(INT32, (5,)))
    half = func("half", [v, c], back(binary("mul", v, 0.5), 1), results=[FLOAT32, INT32])
    y = var("y", FLOAT32)
    program = kernel(
        ir.Declare(NOWHERE, values),
        ir.Declare(NOWHERE, cells),
        let(
            item(values, local(0), local(1)),
            element("matrix", index("global", 0), index("global", 1)),
        ),
        tile_static_barrier(),
        when(
            both(eq(local(0), 0), eq(local(1), 0)),
            let(y, 0.0),
            count(ROW, 4, increase(here(y), item(values, ROW, 0))),
            call(half, y, cells, to=[y, None]),
            let(element("averages", index("tile", 0), index("tile", 1)), y),
            orelse=[when(lt(scalar(), 3), back(), orelse=[barrier("global_memory_fence")])],
        ),
        functions=[half],
    )
    program = dataclasses.replace(program, precise=True, constants=(("size", "4"),))
    expected = """
        kernel k(t_idx): rank 2, tile (4, 3), precise
            constant size = 4
            buffer data: int32, rank 1, dense, storage 0
            buffer matrix: float32, rank 2, dense, storage 1
            buffer averages: float32, rank 2, dense, storage 2
            buffer counts: uint32, rank 1, dense, storage 3
            scalar n: int32
            tile_static tile_values: float32[4, 3]

        func half(v: float32, c: &int32[5]) -> float32, int32:
            return v * 0.5, 1

        body:
            local y: float32
            local row: int32
            tile_static tile_values: float32[4, 3]
            private cells: int32[5]
            tile_values[t_idx.local[0], t_idx.local[1]] = matrix[t_idx.global_[0], t_idx.global_[1]]
            wait_with_tile_static_memory_fence()
            if (t_idx.local[0] == 0) and (t_idx.local[1] == 0):
                y = 0.0
                for row in range(0, 4, 1):
                    y += tile_values[row, 0]
                y, _ = half(y, &cells)
                averages[t_idx.tile[0], t_idx.tile[1]] = y
            elif n < 3:
                return
            else:
                global_memory_fence()
    """
    assert text(program) == textwrap.dedent(expected).lstrip("\n")


def body_text(*statements: ir.Stmt) -> str:
    """The statements of a kernel's body, without its declarations."""
    lines = text(kernel(*statements)).split("body:\n")[1].splitlines()
    return "\n".join(line[4:] for line in lines if not line.startswith("    local"))


def test_statements() -> None:
    p, old = var("p", BOOL), var("old", UINT32)
    exchange = ir.Atomic(NOWHERE, "atomic_compare_exchange", element("counts", 1), (expr(3, UINT32),), p, here(old))
    printed = body_text(
        repeat(True, when(expr(p), leave(), orelse=[skip()])),
        count(ROW, 8),
        let(X, binary("tdiv", X, 3), update=True),
        increase(here(X), 3, op="floordiv"),
        fetch_add(element("counts", 0), 2, old),
        fetch_add(element("data", 0), 2),
        exchange,
        ir.Assert(NOWHERE, lt(X, 3), "small"),
        ir.Assert(NOWHERE, lt(X, 3)),
        claim(X, element("data", 0)),
    )
    expected = """
        while True:
            if p:
                break
            else:
                continue
        for row in range(0, 8, 1):
            pass
        x = tdiv(x, 3)  # update
        x //= 3
        old = atomic_fetch_add(counts[0], 2u)
        atomic_fetch_add(data[0], 2)
        p = atomic_compare_exchange(counts[1], &old, 3u)
        assert x < 3, 'small'
        assert x < 3
        x = uniform_assert(data[0])
    """
    assert printed == textwrap.dedent(expected).strip()


def test_expressions() -> None:
    cast = ir.Cast(NOWHERE, FLOAT32, add(X, 1))
    cases = {
        "x + (y * 2)".replace("y", "n"): add(X, binary("mul", scalar(), 2)),
        "(x + 1) % n": binary("floormod", add(X, 1), scalar()),
        "trem(x, 2)": binary("trem", X, 2),
        "float32(x + 1)": cast,
        "-(x + 1)": ir.Unary(NOWHERE, INT32, "neg", add(X, 1)),
        "not (x < 1)": ir.Unary(NOWHERE, BOOL, "not", lt(X, 1)),
        "~x": ir.Unary(NOWHERE, INT32, "invert", get(X)),
        "(1 + 2) if (x >= 1) else 3": select(compare("ge", X, 1), add(1, 2), 3),
        "sqrt(float32(x + 1))": ir.Builtin(NOWHERE, FLOAT32, "sqrt", (cast,)),
        "matrix.extent[1]": ir.BufferExtent(NOWHERE, INT32, "matrix", 1),
        "i.tile_origin[0]": index("tile_origin"),
        "3u": expr(3, UINT32),
        "True": expr(True),
        "float3(1.0)": ir.Construct(NOWHERE, POINT, (expr(1.0),)),
        "float3(1.0, 2.0, 3.0)": ir.Construct(NOWHERE, POINT, (expr(1.0), expr(2.0), expr(3.0))),
        "v.zx": ir.Load(NOWHERE, Vector(FLOAT32, 2), ir.ComponentsOf(NOWHERE, Vector(FLOAT32, 2), here(V), "zx")),
        "(v + v).y": ir.Swizzle(NOWHERE, FLOAT32, binary("add", V, V), "y"),
        "int3(v)": ir.Cast(NOWHERE, Vector(INT32, 3), get(V)),
        "inf": expr(float("inf")),
    }
    for printed, node in cases.items():
        assert _Printer("i").expr(node) == printed


def test_places_and_structs() -> None:
    pair = var("s", PAIR)
    member = ir.FieldOf(NOWHERE, Array(FLOAT32, (3,)), here(pair), "b")
    assert place_text(item(member, 2)) == "s.b[2]"
    assert place_text(item(shared("total"))) == "total[()]"
    program = kernel(let(item(member, 2), 1.0))
    assert "    struct pair(a: int32 @0, b: float32[3] @4; 16 bytes)\n" in text(program)
    assert "    local struct s: pair\n" in text(program)


def test_untiled_kernel_has_no_tile() -> None:
    program = kernel(let(element("data", index("global")), 1), tile=None, index_name="i")
    assert text(program).splitlines()[0] == "kernel k(i): rank 2"
    assert text(program).splitlines()[-1] == "    data[i.global_[0]] = 1"


def test_views() -> None:
    number = ir.Reinterpreted(NOWHERE, UINT32, element("matrix", 1, 0), add(X, 2))
    assert place_text(number) == "uint32(matrix[1, 0]...)[x + 2]"
    inside = ir.ViewElement(NOWHERE, INT32, element("data", add(X, 3)), (expr(X),), (expr(4),))
    assert place_text(inside) == "data[x + 3]<x of 4>"
    program = kernel(let(inside, 2), let(number, expr(1, UINT32)))
    assert "    data[x + 3]<x of 4> = 2\n" in text(program)
