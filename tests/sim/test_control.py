"""Statements: branches, loops, early ends, calls, the order of threads, the source's own lines."""

from __future__ import annotations

import bdb
import math
import sys
import traceback
from types import FrameType
from typing import Any

import numpy as np
import pytest

from tests.sim.build import (
    G,
    L,
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
    mul,
    parameter,
    put,
    returns,
    scalar,
    static,
    value,
    var,
    while_,
)
from vkamp import sim
from vkamp.errors import AmpError, InvalidComputeDomainError
from vkamp.ir import nodes as ir
from vkamp.ir.types import BOOL, FLOAT32, INT32, UINT32, Array, from_dtype

OUT = {"out": (INT32, 1)}


def ran(body: list[ir.Stmt], size: int = 1, threads: int = 1, **options: Any) -> list[int]:
    """The output of an untiled kernel."""
    out = np.zeros(size, np.int32)
    sim.run(kernel(body, buffers=OUT, **options), (threads,), {"out": out}, {})
    return list(out)


def test_branches() -> None:
    odd = compare("eq", binary("floormod", G, 2), 1)
    body: list[ir.Stmt] = [
        if_(odd, [put(buf("out", G), 1)], [if_(compare("gt", G, 2), [put(buf("out", G), 2)])]),
        if_(odd, [], []),
    ]
    assert ran(body, 6, 6) == [0, 1, 0, 1, 2, 1]


@pytest.mark.parametrize(
    ("start", "stop", "step"),
    [(0, 5, 1), (5, 0, -2), (3, 3, 1), (-7, 8, 4), (0, 5, 0), (5, 0, 1), (2**31 - 3, 2**31 - 1, 2)],
)
def test_for_is_range(start: int, stop: int, step: int) -> None:
    i, n = var("i"), var("n")
    expected = list(range(start, stop, step)) if step else []
    for step_expr in (value(step), binary("mul", step, scalar("one", INT32))):
        body = [
            put(n, 0),
            for_(i, start, stop, step_expr, put(buf("out", n), i), put(i, 99), put(n, add(n, 1))),
            put(buf("out", 7), n),
        ]
        out = np.zeros(8, np.int32)
        made = kernel(body, buffers=OUT, scalars={"one": INT32})
        sim.run(made, (1,), {"out": out}, {"one": 1})
        assert out[: len(expected)].tolist() == expected
        assert out[7] == len(expected)


def test_break_continue_and_return() -> None:
    i, j, n = var("i"), var("j"), var("n")
    body: list[ir.Stmt] = [
        put(n, 0),
        for_(
            i, 0, 10, 1,
            if_(compare("eq", i, 7), [ir.Break(at())]),
            if_(compare("eq", binary("floormod", i, 2), 0), [ir.Continue(at())]),
            put(j, 0),
            while_(True,
                   put(j, add(j, 1)),
                   put(n, add(n, 1)),
                   if_(compare("ge", j, i), [ir.Break(at())])),
        ),
        put(buf("out", G), n),
        if_(compare("gt", G, 0), [ir.Return(at())]),
        put(buf("out", G), mul(n, 10)),
    ]  # fmt: skip
    assert ran(body, 3, 3) == [90, 9, 9]


def test_functions_with_several_results_and_by_value_arguments() -> None:
    a, b = parameter("a", INT32), parameter("b", INT32)
    divmod_ = function(
        "divmod_", [a, b], [INT32, INT32],
        [put(a, add(a, 1)), returns(binary("floordiv", a, b), binary("floormod", a, b))],
    )  # fmt: skip
    x, q, r = var("x"), var("q"), var("r")
    body = [
        put(x, 16),
        ir.Call(at(), "divmod_", (value(x), value(5)), (q, r)),
        put(buf("out", 0), q),
        put(buf("out", 1), r),
        put(buf("out", 2), x),
        ir.Call(at(), "divmod_", (value(x), value(4)), (None, r)),
        put(buf("out", 3), r),
        ir.Call(at(), "divmod_", (value(x), value(4)), (None, None)),
    ]
    assert ran(body, 4, functions=[divmod_]) == [3, 2, 16, 1]


def test_structs_are_passed_by_value() -> None:
    kind = from_dtype(np.dtype([("x", np.int32), ("y", np.float32)]), "point")
    point, copy, back = parameter("point", kind), var("copy", kind), var("back", kind)
    moved = function("moved", [point], [kind], [put(field(point, "x"), 9), returns(value(point))])
    body = [
        put(field(copy, "x"), 1),
        put(field(copy, "y"), 2.0),
        ir.Call(at(), "moved", (value(copy),), (back,)),
        put(buf("out", 0), field(copy, "x")),
        put(buf("out", 1), field(back, "x")),
    ]
    assert ran(body, 2, functions=[moved]) == [1, 9]


def test_arrays_are_passed_by_reference() -> None:
    kind = Array(INT32, (2,))
    values, i = parameter("values", kind), parameter("i", INT32)
    store = function("store", [values, i], [], [put(element(values, i), mul(i, 7))])
    outer = function(
        "outer", [parameter("values", kind)], [],
        [ir.Call(at(), "store", (ir.Local(at(), kind, values), value(1)), ())],
    )  # fmt: skip
    own, shared = var("own", kind), static("shared", INT32, 2)
    body = [
        ir.Declare(at(), own),
        ir.Declare(at(), shared),
        ir.Call(at(), "outer", (ir.Local(at(), kind, own),), ()),
        ir.Call(at(), "store", (ir.Local(at(), kind, shared), L), ()),
        barrier(),
        put(buf("out", G), add(element(own, 1), element(shared, binary("sub", 1, L)))),
    ]
    out = np.zeros(2, np.int32)
    made = kernel(body, tile=(2,), buffers=OUT, functions=[store, outer])
    sim.run(made, (2,), {"out": out}, {})
    assert out.tolist() == [14, 7]


def test_barriers_in_functions() -> None:
    shared, v = static("shared", INT32, 3), parameter("v", INT32)
    swap = function(
        "swap", [v], [INT32],
        [ir.Declare(at(), shared), put(element(shared, L), v), barrier(),
         returns(element(shared, binary("sub", 2, L)))],
    )  # fmt: skip
    r = var("r")
    body = [
        ir.Call(at(), "swap", (value(G),), (r,)),
        barrier(),
        ir.Call(at(), "swap", (mul(r, 10),), (r,)),
        put(buf("out", G), r),
    ]
    out = np.zeros(6, np.int32)
    made = kernel(body, tile=(3,), buffers=OUT, functions=[swap])
    sim.run(made, (6,), {"out": out}, {}, seed=1)
    assert out.tolist() == [0, 10, 20, 30, 40, 50]


def test_indices_of_a_tiled_domain() -> None:
    shape, tile = (4, 6, 5), (2, 3, 5)
    body = []
    kinds = ("global", "local", "tile", "tile_origin")
    place = [index("global", d) for d in range(3)]
    for n, (kind, dim) in enumerate((k, d) for k in kinds for d in range(3)):
        body.append(put(buf("out", *place, n), index(kind, dim)))
    out = np.zeros((*shape, 12), np.int32)
    made = kernel(body, rank=3, tile=tile, buffers={"out": (INT32, 4)})
    sim.run(made, shape, {"out": out}, {}, seed=7)
    for at_ in np.ndindex(shape):
        tiles = [g // t for g, t in zip(at_, tile, strict=True)]
        local = [g % t for g, t in zip(at_, tile, strict=True)]
        origin = [n * t for n, t in zip(tiles, tile, strict=True)]
        assert out[at_].tolist() == [*at_, *local, *tiles, *origin]


def test_domains_of_high_rank() -> None:
    shape = (2, 1, 3, 2, 2)
    out = np.zeros(shape, np.int32)
    place = [index("global", d) for d in range(5)]
    made = kernel([put(buf("out", *place), add(mul(place[2], 10), place[4]))], rank=5,
                  buffers={"out": (INT32, 5)})  # fmt: skip
    sim.run(made, shape, {"out": out}, {})
    assert all(out[i] == i[2] * 10 + i[4] for i in np.ndindex(shape))


def test_a_seed_chooses_the_order() -> None:
    def order(seed: int | None, tile: tuple[int, ...] | None) -> list[int]:
        n = var("n")
        body = [
            atomic("atomic_fetch_inc", buf("next", 0), result=n),
            put(buf("out", n), G),
        ]
        out, counter = np.zeros(12, np.int32), np.zeros(1, np.int32)
        made = kernel(body, tile=tile, buffers={**OUT, "next": (INT32, 1)})
        sim.run(made, (12,), {"out": out, "next": counter}, {}, seed=seed)
        return [int(v) for v in out]

    for tile in (None, (3,)):
        assert order(None, tile) == list(range(12))
        assert sorted(order(5, tile)) == list(range(12))
        assert order(5, tile) == order(5, tile)
        assert order(5, tile) != order(6, tile)
        assert order(5, tile) != list(range(12))


def test_domains_that_do_not_fit() -> None:
    made = kernel([put(buf("out", 0), 1)], rank=2, tile=(2, 3), buffers=OUT)
    for domain, text in (
        ((6,), "runs over a domain of rank 2, not 1"),
        ((0, 3), "component 0 is 0"),
        ((2, -3), "component 1 is -3"),
        ((4, 7), "dimension 1, 7, is not a multiple of the tile's 3"),
        ((2**20, 3 * 2**20), "threads; a launch takes at most"),
    ):
        with pytest.raises(InvalidComputeDomainError, match=text):
            sim.run(made, domain, {"out": np.zeros(1, np.int32)}, {})


def test_scalars_that_do_not_fit() -> None:
    kinds = {"i": INT32, "u": UINT32, "f": FLOAT32, "b": BOOL}
    made = kernel([put(buf("out", 0), 1)], buffers=OUT, scalars=kinds)
    good = {"i": -1, "u": 2**32 - 1, "f": 0.1, "b": True}
    out = {"out": np.zeros(1, np.int32)}
    sim.run(made, (1,), out, good)
    for wrong, text in (
        ({"i": 2**31}, "i is 2147483648, which int32 cannot hold"),
        ({"u": -1}, "u is -1, which uint32 cannot hold"),
        ({"i": 1.5}, "i is 1.5, which int32 cannot hold"),
    ):
        with pytest.raises(AmpError, match=text):
            sim.run(made, (1,), out, {**good, **wrong})
    with pytest.raises(AmpError, match="no value is given for b"):
        sim.run(made, (1,), out, {n: v for n, v in good.items() if n != "b"})


def test_names_that_python_or_the_translation_uses() -> None:
    names = ["_t", "class", "range", "None", "_i", "v_i", "x.1", "x_1"]
    variables = [var(n) for n in names]
    body: list[ir.Stmt] = [put(v, i) for i, v in enumerate(variables)]
    i = var("print")
    body.append(for_(i, 0, 1, 1, put(variables[0], add(variables[0], 10))))
    body += [put(buf("out", n), v) for n, v in enumerate(variables)]
    assert ran(body, 8) == [10, 1, 2, 3, 4, 5, 6, 7]


def test_equal_kernels_keep_their_own_lines() -> None:
    for line in (5, 80):
        made = kernel([put(buf("out", 9, line=line), 1, line=line)], buffers=OUT)
        with pytest.raises(AmpError, match=f"kernel.py:{line}, in kernel"):
            sim.run(made, (1,), {"out": np.zeros(3, np.int32)}, {})


def test_tracebacks_show_the_kernels_lines() -> None:
    inner = function("inner", [], [], [put(buf("out", 5, line=31), 1, line=31)])
    call = ir.Call(at(42), "inner", (), ())
    made = kernel([call], buffers=OUT, functions=[inner])
    with pytest.raises(AmpError) as caught:
        sim.run(made, (1,), {"out": np.zeros(3, np.int32)}, {})
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [(f.lineno, f.name) for f in frames if f.filename == "kernel.py"] == [
        (42, "kernel"),
        (31, "inner"),
    ]


def test_debuggers_step_through_the_kernels_lines() -> None:
    class Recorder(bdb.Bdb):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[tuple[int, dict[str, Any]]] = []

        def user_line(self, frame: FrameType) -> None:
            if frame.f_code.co_filename == "kernel.py":
                shown = {k: v for k, v in frame.f_locals.items() if not k.startswith("_") and k != "idx"}
                self.seen.append((frame.f_lineno, shown))

    x = var("x")
    made = kernel(
        [put(x, 3, line=7), put(x, add(x, 1), line=8), put(buf("out", 0, line=9), x, line=9)],
        buffers=OUT,
    )
    recorder, tracer = Recorder(), sys.gettrace()
    try:
        recorder.runcall(sim.run, made, (1,), {"out": np.zeros(1, np.int32)}, {})
    finally:
        sys.settrace(tracer)
    # The operands of line 9 stand on lines of their own.
    steps = [s for s in recorder.seen if s[0] in (7, 8, 9)]
    assert steps[:3] == [(7, {}), (8, {"x": 3}), (9, {"x": 4})]


def test_numpy_warnings_stay_quiet_and_settings_come_back() -> None:
    out = np.zeros(1, np.float32)
    place = buf("out", 0, kind=FLOAT32)
    made = kernel(
        [put(place, binary("div", scalar("x", FLOAT32), 0.0))],
        buffers={"out": (FLOAT32, 1)},
        scalars={"x": FLOAT32},
    )
    with np.errstate(all="raise"):
        sim.run(made, (1,), {"out": out}, {"x": 1.0})
        with pytest.raises(FloatingPointError):
            np.float32(1) / np.float32(0)
    assert out[0] == math.inf


def test_tiled_matrix_product() -> None:
    size, tile = 12, 4
    ta, tb = (static(n, FLOAT32, tile, tile) for n in ("tile_a", "tile_b"))
    total, k, step = var("total", FLOAT32), var("k"), var("step")
    (row, col), (i, j) = ([index(kind, d) for d in (0, 1)] for kind in ("global", "local"))

    def at2(name: str, *place: Any) -> ir.BufferElement:
        return buf(name, *place, kind=FLOAT32)

    fence = "wait_with_tile_static_memory_fence"
    product = mul(element(ta, i, k), element(tb, k, j))
    body = [
        ir.Declare(at(), ta),
        ir.Declare(at(), tb),
        put(total, 0.0),
        for_(
            step, 0, size // tile, 1,
            put(element(ta, i, j), at2("a", row, add(mul(step, tile), j))),
            put(element(tb, i, j), at2("b", add(mul(step, tile), i), col)),
            barrier(fence),
            for_(k, 0, tile, 1, put(total, add(total, product))),
            barrier(fence),
        ),
        put(at2("c", row, col), total),
    ]  # fmt: skip
    made = kernel(body, rank=2, tile=(tile, tile), buffers=dict.fromkeys("abc", (FLOAT32, 2)))
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-5, 6, (size, size)).astype(np.float32) for _ in range(2))
    for races in (True, False):
        c = np.zeros((size, size), np.float32)
        sim.run(made, (size, size), {"a": a, "b": b, "c": c}, {}, seed=2, races=races)
        assert (c == a @ b).all()
