"""Which barriers are rejected, and which are not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.static_analysis.build import (
    add,
    back,
    barrier,
    binary,
    both,
    call,
    claim,
    count,
    element,
    eq,
    expr,
    fetch_add,
    func,
    here,
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
from vkamp.check import uniformity
from vkamp.check.uniformity import check_uniformity
from vkamp.errors import CompileError
from vkamp.ir import nodes as ir
from vkamp.ir.fences import FENCES
from vkamp.ir.traversal import walk_statements
from vkamp.ir.types import BOOL, FLOAT32, INT32, Array, Field, Struct

FIRST = both(eq(local(0), 0), eq(local(1), 0))
INSIDE = lt(index("global", 0), ir.BufferExtent(expr(0).span, INT32, "matrix", 0))
FLAG = shared("flag", 1)
N, ROW, COL, X = var("n_left"), var("row"), var("col"), var("x")
P = var("p", BOOL)
CELLS = private("cells", 5)
PAIR = Struct("pair", (Field("a", INT32, 0), Field("b", Array(INT32, (3,)), 4)), 16)

WAITS = func("waits", [], barrier())
WAITS_TWICE_REMOVED = func("outer", [], call(WAITS))
BY_VALUE = func("by_value", [param("v")], when(lt(param("v"), 3), barrier()))
EARLY = func("early", [param("v")], when(lt(param("v"), 3), back()), barrier())
CLAIMS = func("claims", [param("v")], claim(X, param("v")), back(X), results=[INT32])
LEAVES = func("leaves", [param("v")], when(lt(param("v"), 3), back()))
TWICE = func("twice", [param("v")], back(add(param("v"), param("v"))), results=[INT32])
FIRST_ID = func("first_id", [], back(local(0)), results=[INT32])
ROW_AND_TILE = func("row_and_tile", [], back(local(0), index("tile", 1)), results=[INT32, INT32])
MIXED = func("mixed", [param("v")], when(lt(param("v"), 3), back(1)), back(2), results=[INT32])
FILL = func(
    "fill", [param("c", Array(INT32, (5,))), param("v")], let(item(param("c", Array(INT32, (5,))), 0), param("v"))
)
COUNTS = func("counts", [], fetch_add(element("counts", 0), 1))
STORES_FLAG = func("stores_flag", [], when(FIRST, let(item(FLAG, 0), 1)))
ORDERS = func("orders", [], barrier())
READS = func(
    "reads",
    [param("c", Array(INT32, (1,)))],
    back(item(param("c", Array(INT32, (1,))), 0)),
    results=[INT32],
)
SETS = func(
    "sets",
    [param("c", Array(INT32, (1,)))],
    when(FIRST, let(item(param("c", Array(INT32, (1,))), 0), 7)),
)
TWO_ARRAYS = func(
    "two_arrays",
    [param("c", Array(INT32, (5,))), param("d", Array(INT32, (5,)))],
    let(item(param("c", Array(INT32, (5,))), 0), local(0)),
    when(lt(item(param("d", Array(INT32, (5,))), 0), 3), barrier()),
)

REFUSED: dict[str, tuple[str, ir.Kernel]] = {
    "if on the local id": ("VKA601", kernel(when(eq(local(0), 0), barrier()))),
    "if on the global id": ("VKA601", kernel(when(INSIDE, barrier()))),
    "else on the local id": ("VKA601", kernel(when(eq(local(1), 0), orelse=[barrier()]))),
    "elif behind a divergent if": (
        "VKA601",
        kernel(when(eq(local(0), 0), orelse=[when(lt(scalar(), 3), barrier())])),
    ),
    "divergent elif": (
        "VKA601",
        kernel(when(lt(scalar(), 3), orelse=[when(eq(local(0), 0), barrier())])),
    ),
    "uniform if inside a divergent one": (
        "VKA601",
        kernel(when(eq(local(0), 0), when(lt(scalar(), 3), barrier()))),
    ),
    "conjunction with one divergent side": (
        "VKA601",
        kernel(when(both(lt(scalar(), 3), eq(local(0), 0)), barrier())),
    ),
    "condition in a variable": ("VKA601", kernel(let(P, eq(local(0), 0)), when(expr(P), barrier()))),
    "computed value": (
        "VKA601",
        kernel(
            let(N, binary("mul", local(0), 2)),
            let(X, add(N, scalar())),
            when(lt(X, 5), barrier()),
        ),
    ),
    "value from a container": (
        "VKA601",
        kernel(when(lt(element("data", local(0)), 3), barrier())),
    ),
    "value from a container that is written elsewhere": (
        "VKA601",
        kernel(when(lt(element("data", 0), 3), barrier()), let(element("data", local(0)), 1)),
    ),
    "value from a container that a function updates": (
        "VKA601",
        kernel(when(lt(element("counts", 0), 3), barrier()), call(COUNTS), functions=[COUNTS]),
    ),
    "conditional expression with a divergent condition": (
        "VKA601",
        kernel(let(X, select(FIRST, 1, 2)), when(lt(X, 2), barrier())),
    ),
    "variable assigned in one branch": (
        "VKA601",
        kernel(let(X, 0), when(FIRST, let(X, 1)), when(eq(X, 1), barrier())),
    ),
    "variable assigned in both branches": (
        "VKA601",
        kernel(when(FIRST, let(X, 1), orelse=[let(X, 2)]), when(eq(X, 1), barrier())),
    ),
    "atomic result": (
        "VKA601",
        kernel(fetch_add(element("data", 0), 1, X), when(eq(X, 0), barrier())),
    ),
    "private element": (
        "VKA601",
        kernel(
            ir.Declare(expr(0).span, CELLS),
            let(item(CELLS, 0), local(0)),
            let(item(CELLS, 0), 1),
            when(eq(item(CELLS, 0), 1), barrier()),
        ),
    ),
    "private array stored at a divergent index": (
        "VKA601",
        kernel(let(item(CELLS, local(0)), 1), when(eq(item(CELLS, 0), 1), barrier())),
    ),
    "uniform private array read at a divergent index": (
        "VKA601",
        kernel(let(item(CELLS, 0), 1), when(eq(item(CELLS, local(0)), 1), barrier())),
    ),
    "field of a struct": (
        "VKA601",
        kernel(
            let(ir.FieldOf(expr(0).span, INT32, here(var("s", PAIR)), "a"), local(0)),
            when(eq(ir.FieldOf(expr(0).span, INT32, here(var("s", PAIR)), "a"), 0), barrier()),
        ),
    ),
    "for with a divergent bound": ("VKA602", kernel(count(ROW, local(0), barrier()))),
    "for with a divergent start": ("VKA602", kernel(count(ROW, 8, barrier(), start=local(1)))),
    "for with a divergent step": (
        "VKA602",
        kernel(count(ROW, 8, barrier(), step=add(local(1), 1))),
    ),
    "grid-stride loop": (
        "VKA602",
        kernel(count(ROW, scalar(), barrier(), start=index("global", 0), step=12)),
    ),
    "while with a divergent condition": (
        "VKA602",
        kernel(let(X, local(0)), repeat(lt(X, 4), let(X, add(X, 1)), barrier())),
    ),
    "while that diverges in the second round": (
        "VKA602",
        kernel(let(X, 0), repeat(lt(X, 4), barrier(), let(X, add(X, local(0))))),
    ),
    "uniform loop in a divergent loop": (
        "VKA602",
        kernel(count(ROW, local(0), count(COL, 4, barrier()))),
    ),
    "loop-carried through two variables": (
        "VKA601",
        kernel(
            let(X, 0),
            let(N, 0),
            count(ROW, 4, when(eq(N, 0), barrier()), let(N, X), let(X, local(0))),
        ),
    ),
    "variable after a loop of divergent length": (
        "VKA601",
        kernel(
            let(X, 0),
            count(ROW, local(0), let(X, add(X, 1))),
            when(eq(X, 3), barrier()),
        ),
    ),
    "counter after a divergent break": (
        "VKA601",
        kernel(
            let(ROW, 0),
            count(ROW, 8, when(eq(local(0), ROW), leave())),
            when(eq(ROW, 3), barrier()),
        ),
    ),
    "variable after a divergent break": (
        "VKA601",
        kernel(
            let(X, 0),
            repeat(True, let(X, add(X, 1)), when(lt(local(0), X), leave())),
            when(eq(X, 3), barrier()),
        ),
    ),
    "variable after a divergent continue": (
        "VKA601",
        kernel(
            let(X, 0),
            count(ROW, 8, when(lt(local(0), ROW), skip()), let(X, add(X, 1))),
            when(eq(X, 3), barrier()),
        ),
    ),
    "after a divergent return": ("VKA603", kernel(when(INSIDE, orelse=[back()]), barrier())),
    "after a divergent return in a uniform if": (
        "VKA603",
        kernel(when(lt(scalar(), 3), when(FIRST, back())), barrier()),
    ),
    "after a loop with a divergent return": (
        "VKA603",
        kernel(count(ROW, 4, when(eq(local(0), ROW), back())), barrier()),
    ),
    "before a divergent return in a loop": (
        "VKA603",
        kernel(count(ROW, 4, barrier(), when(eq(local(0), ROW), back()))),
    ),
    "after a divergent break": (
        "VKA604",
        kernel(count(ROW, 8, when(eq(local(0), ROW), leave()), barrier())),
    ),
    "before a divergent break": (
        "VKA604",
        kernel(count(ROW, 8, barrier(), when(eq(local(0), ROW), leave()))),
    ),
    "in a while before a divergent break": (
        "VKA604",
        kernel(repeat(True, barrier(), when(FIRST, leave()))),
    ),
    "after a divergent continue": (
        "VKA604",
        kernel(count(ROW, 8, when(eq(local(0), ROW), skip()), barrier())),
    ),
    "before a divergent continue": (
        "VKA604",
        kernel(count(ROW, 8, barrier(), when(eq(local(0), ROW), skip()))),
    ),
    "inner loop after a divergent break": (
        "VKA604",
        kernel(count(ROW, 8, when(eq(local(0), ROW), leave()), count(COL, 4, barrier()))),
    ),
    "return after a divergent break": (
        "VKA603",
        kernel(count(ROW, 8, when(eq(local(0), ROW), leave()), back()), barrier()),
    ),
    "function called under a divergent if": (
        "VKA605",
        kernel(when(FIRST, call(WAITS)), functions=[WAITS]),
    ),
    "function of a function called under a divergent if": (
        "VKA605",
        kernel(when(FIRST, call(WAITS_TWICE_REMOVED)), functions=[WAITS, WAITS_TWICE_REMOVED]),
    ),
    "function called in a divergent loop": (
        "VKA605",
        kernel(count(ROW, local(0), call(WAITS)), functions=[WAITS]),
    ),
    "function called after a divergent return": (
        "VKA605",
        kernel(when(FIRST, back()), call(WAITS), functions=[WAITS]),
    ),
    "divergent argument": ("VKA601", kernel(call(BY_VALUE, local(0)), functions=[BY_VALUE])),
    "divergent argument at the second call": (
        "VKA601",
        kernel(call(BY_VALUE, scalar()), call(BY_VALUE, local(0)), functions=[BY_VALUE]),
    ),
    "barrier after the callee's own return": (
        "VKA603",
        kernel(call(EARLY, local(0)), functions=[EARLY]),
    ),
    "result of a function of the id": (
        "VKA601",
        kernel(call(FIRST_ID, to=X), when(eq(X, 0), barrier()), functions=[FIRST_ID]),
    ),
    "result of a function of a divergent argument": (
        "VKA601",
        kernel(call(TWICE, local(1), to=X), when(eq(X, 0), barrier()), functions=[TWICE]),
    ),
    "one of two results": (
        "VKA601",
        kernel(call(ROW_AND_TILE, to=[X, N]), when(eq(X, 0), barrier()), functions=[ROW_AND_TILE]),
    ),
    "result chosen by a divergent return": (
        "VKA601",
        kernel(call(MIXED, local(0), to=X), when(eq(X, 1), barrier()), functions=[MIXED]),
    ),
    "array filled by a function": (
        "VKA601",
        kernel(
            let(item(CELLS, 0), 0),
            call(FILL, CELLS, local(0)),
            when(eq(item(CELLS, 0), 1), barrier()),
            functions=[FILL],
        ),
    ),
    "one array passed twice": (
        "VKA601",
        kernel(let(item(CELLS, 0), 0), call(TWO_ARRAYS, CELLS, CELLS), functions=[TWO_ARRAYS]),
    ),
    "tile_static without a barrier": (
        "VKA601",
        kernel(when(FIRST, let(item(FLAG, 0), 1)), when(eq(item(FLAG, 0), 1), barrier())),
    ),
    "tile_static with the other fence": (
        "VKA601",
        kernel(
            when(FIRST, let(item(FLAG, 0), 1)),
            barrier("wait_with_global_memory_fence"),
            when(eq(item(FLAG, 0), 1), barrier()),
        ),
    ),
    "tile_static with a fence that does not wait": (
        "VKA601",
        kernel(
            when(FIRST, let(item(FLAG, 0), 1)),
            barrier("all_memory_fence"),
            when(eq(item(FLAG, 0), 1), barrier()),
        ),
    ),
    "tile_static stored since the barrier": (
        "VKA601",
        kernel(barrier(), when(FIRST, let(item(FLAG, 0), 1)), when(eq(item(FLAG, 0), 1), barrier())),
    ),
    "tile_static changed by an atomic since the barrier": (
        "VKA601",
        kernel(barrier(), fetch_add(item(FLAG, 0), 1), when(eq(item(FLAG, 0), 1), barrier())),
    ),
    "tile_static stored by a function since the barrier": (
        "VKA601",
        kernel(
            barrier(),
            call(STORES_FLAG),
            when(eq(item(FLAG, 0), 1), barrier()),
            functions=[STORES_FLAG],
        ),
    ),
    "tile_static stored through a parameter since the barrier": (
        "VKA601",
        kernel(barrier(), call(SETS, FLAG), when(eq(item(FLAG, 0), 1), barrier()), functions=[SETS]),
    ),
    "tile_static with a barrier on one path only": (
        "VKA601",
        kernel(
            when(FIRST, let(item(FLAG, 0), 1)),
            when(lt(scalar(), 3), barrier()),
            when(eq(item(FLAG, 0), 1), barrier()),
        ),
    ),
    "tile_static with a barrier in a loop that may not run": (
        "VKA601",
        kernel(
            when(FIRST, let(item(FLAG, 0), 1)),
            count(ROW, scalar(), barrier()),
            when(eq(item(FLAG, 0), 1), barrier()),
        ),
    ),
    "tile_static at a divergent index": (
        "VKA601",
        kernel(
            let(item(shared("row", 4), local(0)), 1),
            barrier(),
            when(eq(item(shared("row", 4), local(0)), 1), barrier()),
        ),
    ),
    "tile_static condition of a while, stored at the end of the body": (
        "VKA602",
        kernel(
            when(FIRST, let(item(FLAG, 0), 8)),
            barrier(),
            repeat(lt(0, item(FLAG, 0)), barrier(), when(FIRST, let(item(FLAG, 0), 0))),
        ),
    ),
    "tile_static read before the barrier, by a function": (
        "VKA601",
        kernel(
            when(FIRST, let(item(FLAG, 0), 1)),
            call(READS, FLAG, to=X),
            barrier(),
            when(eq(X, 1), barrier()),
            functions=[READS],
        ),
    ),
    "claim under a divergent if": ("VKA606", kernel(when(FIRST, claim(X, 1)))),
    "claim in a loop of divergent length": ("VKA606", kernel(count(ROW, local(0), claim(X, 1)))),
    "claim after a divergent return": ("VKA606", kernel(when(FIRST, back()), claim(X, 1))),
    "claim after a divergent continue": ("VKA606", kernel(count(ROW, 8, when(FIRST, skip()), claim(X, 1)))),
    "function that claims, under a divergent if": (
        "VKA606",
        kernel(when(FIRST, call(CLAIMS, 1, to=X)), functions=[CLAIMS]),
    ),
    "claimed value that is given another since": (
        "VKA601",
        kernel(claim(X, element("data", 0)), let(X, element("data", local(0))), when(eq(X, 1), barrier())),
    ),
}

ACCEPTED: dict[str, ir.Kernel] = {
    "at the top": kernel(barrier()),
    "without tile memory, in a one-dimensional tile": kernel(barrier(), tile=(7,)),
    "if on a captured scalar": kernel(when(lt(scalar(), 3), barrier(), orelse=[barrier()])),
    "if on the tile": kernel(when(eq(index("tile", 0), 0), orelse=[barrier()])),
    "if on the tile's origin": kernel(when(lt(index("tile_origin", 1), scalar()), barrier())),
    "if on an extent": kernel(when(lt(index("tile", 0), ir.BufferExtent(expr(0).span, INT32, "matrix", 1)), barrier())),
    "elif chain over a scalar": kernel(
        when(
            eq(scalar(), 1),
            orelse=[when(eq(scalar(), 2), barrier(), orelse=[barrier(), barrier()])],
        )
    ),
    "after a divergent if": kernel(when(FIRST, let(X, 1)), barrier()),
    "for with constant bounds": kernel(count(ROW, 8, barrier())),
    "for with scalar bounds and a uniform break": kernel(
        count(ROW, scalar(), barrier(), when(eq(ROW, 3), leave()), barrier()), barrier()
    ),
    "uniform continue": kernel(count(ROW, 8, when(eq(ROW, 3), skip()), barrier())),
    "uniform return": kernel(when(lt(scalar(), 3), back()), barrier()),
    "uniform return in a loop": kernel(count(ROW, 8, when(eq(ROW, scalar()), back()), barrier())),
    "while true with a uniform break": kernel(
        let(X, 0), repeat(True, let(X, add(X, 1)), barrier(), when(lt(4, X), leave())), barrier()
    ),
    "halving stride": kernel(
        let(X, 8),
        repeat(lt(0, X), when(lt(local(0), X), let(N, 1)), barrier(), let(X, binary("shr", X, 1))),
    ),
    "counter's variable after a uniform loop": kernel(
        let(ROW, 0), count(ROW, 8, barrier()), when(eq(ROW, 7), barrier())
    ),
    "after a loop with a divergent break": kernel(count(ROW, 8, when(eq(local(0), ROW), leave())), barrier()),
    "after a loop of divergent length": kernel(count(ROW, local(0), let(X, ROW)), barrier()),
    "uniform loop after a divergent one with the same counter": kernel(
        count(ROW, local(0), let(X, ROW)), count(ROW, 8, barrier())
    ),
    "outer loop around a divergent break": kernel(
        count(ROW, 8, count(COL, 8, when(eq(local(0), COL), leave())), barrier())
    ),
    "outer loop around a divergent continue": kernel(
        count(ROW, 8, count(COL, 8, when(eq(local(0), COL), skip()), let(X, COL)), barrier())
    ),
    "divergent variable made uniform again": kernel(let(X, local(0)), let(X, scalar()), when(eq(X, 0), barrier())),
    "divergent at the loop's end, uniform again at its start": kernel(
        count(ROW, 8, let(X, ROW), when(eq(X, 3), barrier()), let(X, local(0)))
    ),
    "uniform assigned under uniform control": kernel(
        let(X, 0), when(lt(scalar(), 3), let(X, 1)), when(eq(X, 1), barrier())
    ),
    "branch that returns assigns nothing for the others": kernel(
        let(X, 0), when(lt(scalar(), 3), let(X, local(0)), back()), when(eq(X, 0), barrier())
    ),
    "other branch never taken": kernel(when(expr(False), when(FIRST, back())), barrier()),
    "private array of uniform values": kernel(
        let(item(CELLS, 0), scalar()),
        let(item(CELLS, 1), 4),
        when(eq(item(CELLS, 1), 4), barrier()),
    ),
    "uniform conditional expression": kernel(let(X, select(lt(scalar(), 3), 1, 2)), when(eq(X, 2), barrier())),
    "fences in divergent code": kernel(when(FIRST, *(barrier(name) for name, row in FENCES.items() if not row.waits))),
    "function that waits": kernel(call(WAITS), functions=[WAITS]),
    "function that waits, in a uniform loop": kernel(
        count(ROW, 8, call(WAITS_TWICE_REMOVED)), functions=[WAITS, WAITS_TWICE_REMOVED]
    ),
    "function with a uniform argument": kernel(call(BY_VALUE, scalar()), functions=[BY_VALUE]),
    "callee's divergent return ends the callee only": kernel(call(LEAVES, local(0)), barrier(), functions=[LEAVES]),
    "result of a function of uniform arguments": kernel(
        call(TWICE, local(0), to=N),
        call(TWICE, scalar(), to=X),
        when(eq(X, 0), barrier()),
        functions=[TWICE],
    ),
    "the other of two results": kernel(
        call(ROW_AND_TILE, to=[X, N]), when(eq(N, 0), barrier()), functions=[ROW_AND_TILE]
    ),
    "result chosen by a uniform return": kernel(
        call(MIXED, scalar(), to=X), when(eq(X, 1), barrier()), functions=[MIXED]
    ),
    "array filled by a function with a uniform value": kernel(
        call(FILL, CELLS, scalar()), when(eq(item(CELLS, 0), 1), barrier()), functions=[FILL]
    ),
    "two arrays": kernel(
        let(item(private("other", 5), 0), 0),
        call(TWO_ARRAYS, CELLS, private("other", 5)),
        functions=[TWO_ARRAYS],
    ),
    "flag of the first thread": kernel(
        when(FIRST, let(item(FLAG, 0), element("data", 0))),
        tile_static_barrier(),
        when(eq(item(FLAG, 0), 1), barrier()),
    ),
    "flag kept in a variable over a store": kernel(
        when(FIRST, let(item(FLAG, 0), 1)),
        barrier(),
        let(X, item(FLAG, 0)),
        barrier(),
        when(FIRST, let(item(FLAG, 0), 0)),
        when(eq(X, 1), barrier()),
    ),
    "flag with a store to another variable": kernel(
        when(FIRST, let(item(FLAG, 0), 1)),
        barrier(),
        let(item(shared("row", 4), local(0)), 1),
        when(eq(item(FLAG, 0), 1), barrier()),
    ),
    "flag as the condition of a while, with barriers around the store": kernel(
        when(FIRST, let(item(FLAG, 0), 8)),
        barrier(),
        repeat(lt(0, item(FLAG, 0)), barrier(), when(FIRST, let(item(FLAG, 0), 0)), barrier()),
    ),
    "flag ordered on both paths": kernel(
        when(FIRST, let(item(FLAG, 0), 1)),
        when(lt(scalar(), 3), barrier(), orelse=[tile_static_barrier()]),
        when(eq(item(FLAG, 0), 1), barrier()),
    ),
    "flag ordered in a loop that certainly runs": kernel(
        when(FIRST, let(item(FLAG, 0), 1)),
        count(ROW, 3, barrier()),
        when(eq(item(FLAG, 0), 1), barrier()),
    ),
    "flag set and ordered by functions": kernel(
        call(STORES_FLAG),
        call(ORDERS),
        when(eq(item(FLAG, 0), 1), barrier()),
        functions=[STORES_FLAG, ORDERS],
    ),
    "flag read through a parameter": kernel(
        call(SETS, FLAG),
        barrier(),
        call(READS, FLAG, to=X),
        when(eq(X, 1), barrier()),
        functions=[SETS, READS],
    ),
    "value from a container that nothing writes": kernel(
        when(lt(element("data", 0), 3), barrier()), let(element("matrix", 0, 0), 1.0)
    ),
    "claimed value": kernel(claim(X, element("data", local(0))), when(eq(X, 1), barrier())),
    "claimed in each iteration": kernel(
        let(X, local(0)),
        repeat(True, claim(X, element("data", X)), when(lt(X, 3), leave()), barrier(), let(X, local(0))),
    ),
    "claimed in a called function": kernel(call(CLAIMS, local(0), to=X), when(eq(X, 1), barrier()), functions=[CLAIMS]),
    "tile average": kernel(
        let(
            item(shared("tile_values", 4, 3, of=FLOAT32), local(0), local(1)),
            element("matrix", index("global", 0), index("global", 1)),
        ),
        tile_static_barrier(),
        when(FIRST, count(ROW, 4, count(COL, 3, let(X, add(ROW, COL))))),
        barrier(),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    code, kernel_ = REFUSED[name]
    with pytest.raises(CompileError) as caught:
        check_uniformity(kernel_)
    assert caught.value.error_code == code


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    found = check_uniformity(ACCEPTED[name])
    assert found.kernel is ACCEPTED[name]
    # What such a kernel branches on around its barriers is uniform.
    diverging = [each for each in walk_statements(found.kernel.body.body) if found.divergence(each) is not None]
    inside = [inner for each in diverging for inner in walk_statements((each,)) if isinstance(inner, ir.Barrier)]
    assert not [barrier for barrier in inside if barrier.fence.waits]


def test_every_barrier_that_waits_is_refused_under_a_divergent_if() -> None:
    for name, row in FENCES.items():
        program = kernel(when(FIRST, barrier(name)))
        if row.waits:
            with pytest.raises(CompileError):
                check_uniformity(program)
        else:
            check_uniformity(program)


def test_table_says_what_diverges_and_why() -> None:
    uneven = when(lt(X, 3), let(N, 1))
    even = when(lt(scalar(), 3), let(COL, 1))
    program = kernel(let(X, local(0)), uneven, even, count(ROW, 4))
    table = check_uniformity(program)
    reason = table.divergence(uneven)
    assert reason is not None
    assert [step.text for step in reason.steps()] == [
        "`x` is assigned a value here that may differ between the threads of the tile",
        "`t_idx.local` is different in each thread of the tile",
    ]
    assert table.divergence(even) is None
    assert set(table.variables) == {("k", "x"), ("k", "n_left")}


def test_deep_nests_of_loops_settle_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    visits = count_calls(monkeypatch, "_assign")
    body: ir.Stmt = let(X, add(X, item(FLAG, 0)))
    for depth in range(12):
        body = count(var(f"i{depth}"), scalar(), body, when(FIRST, let(item(FLAG, 0), depth)))
    check_uniformity(kernel(let(X, 0), body, barrier()))
    assert len(visits) < 500  # 2 ** 12 rounds, were each loop to start anew


def test_calls_that_double_at_each_level_are_analysed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    visits = count_calls(monkeypatch, "_analyse")
    functions = [func("f0", [param("v")], when(lt(param("v"), 0), back()))]
    for level in range(1, 30):
        inner = functions[-1]
        calls = (call(inner, param("v")), call(inner, add(param("v"), local(0))))
        functions.append(func(f"f{level}", [param("v")], *calls))
    check_uniformity(kernel(call(functions[-1], scalar()), barrier(), functions=functions))
    assert len(visits) <= 2 * len(functions)


def count_calls(monkeypatch: pytest.MonkeyPatch, method: str) -> list[None]:
    """One item for each call of a method of the analysis."""
    seen: list[None] = []
    original = getattr(uniformity._Analysis, method)

    def counted(*args: Any) -> Any:
        seen.append(None)
        return original(*args)

    monkeypatch.setattr(uniformity._Analysis, method, counted)
    return seen
