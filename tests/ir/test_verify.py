"""The verifier refuses what passes must not produce."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from tests.static_analysis.build import (
    NOWHERE,
    Source,
    add,
    back,
    barrier,
    binary,
    call,
    count,
    element,
    eq,
    expr,
    fetch_add,
    func,
    get,
    here,
    index,
    item,
    kernel,
    leave,
    let,
    lt,
    param,
    private,
    repeat,
    scalar,
    select,
    shared,
    skip,
    var,
    when,
)
from vkamp.ir import nodes as ir
from vkamp.ir.fences import FENCES
from vkamp.ir.types import BOOL, FLOAT32, INT32, UINT32, Array, Field, Scalar, Struct, Vector
from vkamp.ir.verify import VerificationError, verify

X, Y, P = var("x"), var("y", FLOAT32), var("p", BOOL)
FLOAT3, INT2 = Vector(FLOAT32, 3), Vector(INT32, 2)
FIVE = Vector(FLOAT32, 5)
V, W = var("v", FLOAT3), var("w", INT2)
PAIR = Struct("pair", (Field("a", INT32, 0), Field("b", Array(FLOAT32, (3,)), 4)), 16)
PLAIN = func("plain", [param("v")], back(param("v")), results=[INT32])
ARRAY = func("array", [param("c", Array(INT32, (5,)))])
INT24 = Scalar("int24", "int", 24)


def node(kind: type[Any], *fields: Any) -> Any:
    return kind(NOWHERE, *fields)


def compare_exchange(*args: ir.Expr, expected: ir.Local | None) -> ir.Atomic:
    name = "atomic_compare_exchange"
    return ir.Atomic(NOWHERE, name, element("data", 0), args, None, expected)


# Each makes one ill-formed kernel: `kernel` itself runs the verifier.
BAD_BODIES: dict[str, Callable[[], ir.Kernel]] = {
    "assignment of another type": lambda: kernel(node(ir.Assign, here(X), expr(1.0))),
    "sum of vectors of two types": lambda: kernel(let(V, node(ir.Binary, FLOAT3, "add", get(V), get(W)))),
    "sum of a vector and a number": lambda: kernel(let(V, node(ir.Binary, FLOAT3, "add", get(V), expr(1.0)))),
    "floor of vectors": lambda: kernel(let(W, node(ir.Binary, INT2, "floordiv", get(W), get(W)))),
    "division of integer vectors": lambda: kernel(let(W, node(ir.Binary, INT2, "div", get(W), get(W)))),
    "bits of float vectors": lambda: kernel(let(V, node(ir.Binary, FLOAT3, "bitand", get(V), get(V)))),
    "inverted float vector": lambda: kernel(let(V, node(ir.Unary, FLOAT3, "invert", get(V)))),
    "order of vectors": lambda: kernel(let(P, node(ir.Compare, BOOL, "lt", get(V), get(V)))),
    "vector as a condition": lambda: kernel(when(get(V))),
    "builtin of a vector": lambda: kernel(let(V, node(ir.Builtin, FLOAT3, "sqrt", (get(V),)))),
    "cast to another length": lambda: kernel(let(V, node(ir.Cast, FLOAT3, get(W)))),
    "cast of a vector to a number": lambda: kernel(let(Y, node(ir.Cast, FLOAT32, get(V)))),
    "too few components": lambda: kernel(let(V, node(ir.Construct, FLOAT3, (expr(1.0), expr(2.0))))),
    "components of another type": lambda: kernel(let(V, node(ir.Construct, FLOAT3, (expr(1),)))),
    "vector of five": lambda: kernel(let(var("f", FIVE), node(ir.Construct, FIVE, (expr(1.0),)))),
    "component that is missing": lambda: kernel(let(X, node(ir.Swizzle, INT32, get(W), "z"))),
    "component twice": lambda: kernel(let(W, node(ir.Swizzle, INT2, get(W), "xx"))),
    "no components": lambda: kernel(let(W, node(ir.Swizzle, INT2, get(W), ""))),
    "components of a number": lambda: kernel(let(X, node(ir.Swizzle, INT32, get(X), "x"))),
    "components of components": lambda: kernel(
        let(ir.ComponentsOf(NOWHERE, FLOAT32, ir.ComponentsOf(NOWHERE, Vector(FLOAT32, 2), here(V), "zx"), "x"), 1.0)
    ),
    "reinterpreted array of floats as vectors": lambda: kernel(
        let(ir.Reinterpreted(NOWHERE, FLOAT3, item(shared("s", 2, of=FLOAT32), 0), expr(0)), get(V))
    ),
    "reinterpretation of a local": lambda: kernel(let(ir.Reinterpreted(NOWHERE, FLOAT32, here(X), expr(0)), 1.0)),
    "reinterpretation at a float": lambda: kernel(
        let(ir.Reinterpreted(NOWHERE, FLOAT32, element("data", 0), expr(0.0)), 1.0)
    ),
    "view of another rank": lambda: kernel(
        let(ir.ViewElement(NOWHERE, INT32, element("data", 0), (expr(0),), (expr(1), expr(2))), 1)
    ),
    "view of another type": lambda: kernel(
        let(ir.ViewElement(NOWHERE, FLOAT32, element("data", 0), (expr(0),), (expr(1),)), 1.0)
    ),
    "assignment of a whole array": lambda: kernel(
        node(ir.Assign, here(private("a", 3)), get(private("b", 3)))
    ),
    "operands of two types": lambda: kernel(
        let(X, node(ir.Binary, INT32, "add", expr(1), expr(2, UINT32)))
    ),
    "result of another type": lambda: kernel(
        let(Y, node(ir.Binary, FLOAT32, "add", expr(1), expr(2)))
    ),
    "sum of bools": lambda: kernel(let(P, node(ir.Binary, BOOL, "add", expr(P), expr(P)))),
    "division of integers": lambda: kernel(let(X, binary("div", X, 2))),
    "C division of floats": lambda: kernel(let(Y, binary("tdiv", Y, 2.0))),
    "bits of floats": lambda: kernel(let(Y, binary("bitand", Y, 2.0))),
    "shift by a float": lambda: kernel(
        let(X, node(ir.Binary, INT32, "shl", expr(1), expr(2.0)))
    ),
    "unknown operation": lambda: kernel(let(X, binary("power", X, 2))),
    "order of bools": lambda: kernel(let(P, node(ir.Compare, BOOL, "lt", expr(P), expr(P)))),
    "comparison of two types": lambda: kernel(
        let(P, node(ir.Compare, BOOL, "lt", expr(1), expr(1.0)))
    ),
    "comparison that is no bool": lambda: kernel(
        let(X, node(ir.Compare, INT32, "lt", expr(1), expr(1)))
    ),
    "not of an integer": lambda: kernel(let(X, node(ir.Unary, INT32, "not", expr(X)))),
    "negated bool": lambda: kernel(let(P, node(ir.Unary, BOOL, "neg", expr(P)))),
    "and of integers": lambda: kernel(let(X, node(ir.Logical, INT32, "and", expr(1), expr(1)))),
    "sides of two types": lambda: kernel(
        let(X, node(ir.Select, INT32, expr(P), expr(1), expr(1.0)))
    ),
    "condition that is no bool": lambda: kernel(let(X, select(expr(1), 2, 3))),
    "if on an integer": lambda: kernel(when(expr(1))),
    "while on an integer": lambda: kernel(repeat(expr(1))),
    "cast of a struct": lambda: kernel(
        let(X, node(ir.Cast, INT32, get(item(shared("s", 2, of=PAIR), 0))))
    ),
    "bool literal of an int type": lambda: kernel(let(X, node(ir.Const, INT32, True))),
    "literal out of range": lambda: kernel(let(X, node(ir.Const, INT32, 2**31))),
    "negative unsigned literal": lambda: kernel(
        let(var("u", UINT32), node(ir.Const, UINT32, -1))
    ),
    "int literal of a float type": lambda: kernel(let(Y, node(ir.Const, FLOAT32, 1))),
    "builtin that is none": lambda: kernel(let(Y, node(ir.Builtin, FLOAT32, "sinus", (expr(Y),)))),
    "builtin of the wrong class": lambda: kernel(
        let(X, node(ir.Builtin, INT32, "sqrt", (expr(X),)))
    ),
    "builtin with one argument too few": lambda: kernel(
        let(Y, node(ir.Builtin, FLOAT32, "pow", (expr(Y),)))
    ),
    "builtin of two types": lambda: kernel(
        let(X, node(ir.Builtin, INT32, "min", (expr(X), expr(1.0))))
    ),
    "builtin of another result": lambda: kernel(
        let(Y, node(ir.Builtin, FLOAT32, "isnan", (expr(Y),)))
    ),
    "unknown scalar": lambda: kernel(let(X, scalar("m"))),
    "scalar of another type": lambda: kernel(let(Y, scalar("n", FLOAT32))),
    "unknown container": lambda: kernel(
        let(X, get(ir.BufferElement(NOWHERE, INT32, "missing", (expr(0),))))
    ),
    "one index too few": lambda: kernel(let(element("matrix", 0), 1.0)),
    "float index": lambda: kernel(let(element("data", 1.0), 1)),
    "element of another type": lambda: kernel(
        let(ir.BufferElement(NOWHERE, FLOAT32, "data", (expr(0),)), 1.0)
    ),
    "index of an array": lambda: kernel(let(item(private("a", 3, 2), 1), 1)),
    "element of a scalar": lambda: kernel(
        let(ir.ArrayElement(NOWHERE, INT32, here(X), (expr(0),)), 1)
    ),
    "missing member": lambda: kernel(
        let(ir.FieldOf(NOWHERE, INT32, here(var("s", PAIR)), "c"), 1)
    ),
    "member of another type": lambda: kernel(
        let(ir.FieldOf(NOWHERE, FLOAT32, here(var("s", PAIR)), "a"), 1.0)
    ),
    "extent of an unknown container": lambda: kernel(
        let(X, node(ir.BufferExtent, INT32, "missing", 0))
    ),
    "extent in a missing dimension": lambda: kernel(
        let(X, node(ir.BufferExtent, INT32, "data", 1))
    ),
    "index in a missing dimension": lambda: kernel(let(X, index("local", 2))),
    "unknown index": lambda: kernel(let(X, index("thread"))),
    "local index without tiles": lambda: kernel(let(X, index("local")), tile=None),
    "barrier without tiles": lambda: kernel(barrier(), tile=None),
    "fence that is no row": lambda: kernel(
        ir.Barrier(NOWHERE, dataclasses.replace(FENCES["wait"], orders_global=False))
    ),
    "tile_static without tiles": lambda: kernel(let(item(shared("a", 3), 0), 1), tile=None),
    "tile of another rank": lambda: dataclass_kernel(rank=3),
    "tile of no threads": lambda: dataclass_kernel(tile=(4, 0)),
    "break outside a loop": lambda: kernel(leave()),
    "break behind a loop": lambda: kernel(count(X, 3), leave()),
    "return in a branch that is never taken": lambda: kernel(
        functions=[func("f", [], when(expr(False), back(1)), results=[INT32])]
    ),
    "continue outside a loop": lambda: kernel(when(eq(X, 1), skip())),
    "kernel that returns a value": lambda: kernel(back(1)),
    "float counter": lambda: kernel(node(ir.For, Y, expr(0.0), expr(1.0), expr(1.0), ())),
    "bound of another type": lambda: kernel(node(ir.For, X, expr(0), expr(1.0), expr(1), ())),
    "declaration of a scalar": lambda: kernel(node(ir.Declare, X)),
    "scalar called private": lambda: kernel(
        let(ir.Variable("q", INT32, "private", NOWHERE), 1)
    ),
    "type that kernels lack": lambda: kernel(
        let(var("w", INT24), node(ir.Cast, INT24, expr(1)))
    ),
    "two variables of one name": lambda: kernel(let(X, 1), let(var("x", FLOAT32), 1.0)),
    "local of a tile_static's name": lambda: kernel(let(X, 1), let(item(shared("x", 2), 0), 1)),
    "array that is nowhere declared": lambda: kernel(
        functions=[dataclasses.replace(func("f", [], ir.Declare(NOWHERE, private("a", 3))), variables=())]
    ),
    "counter that is nowhere declared": lambda: kernel(
        functions=[dataclasses.replace(func("f", [], count(X, 3)), variables=())]
    ),
    "variable of another function": lambda: kernel(
        let(X, 1), functions=[dataclasses.replace(func("f", [], let(X, 1)), variables=())]
    ),
    "block that is a list": lambda: kernel(node(ir.If, expr(P), [], ())),
    "expression as a statement": lambda: kernel(expr(1)),  # type: ignore[arg-type]
    "atomic that is none": lambda: kernel(
        ir.Atomic(NOWHERE, "atomic_add", element("data", 0), (expr(1),))
    ),
    "bitwise atomic on a float": lambda: kernel(
        ir.Atomic(NOWHERE, "atomic_fetch_and", element("matrix", 0, 0), (expr(1.0),))
    ),
    "atomic on private memory": lambda: kernel(fetch_add(item(private("a", 3), 0), 1)),
    "atomic with a value too many": lambda: kernel(
        ir.Atomic(NOWHERE, "atomic_fetch_inc", element("data", 0), (expr(1),))
    ),
    "atomic of another type": lambda: kernel(
        ir.Atomic(NOWHERE, "atomic_fetch_add", element("data", 0), (expr(1.0),))
    ),
    "atomic's result of another type": lambda: kernel(fetch_add(element("data", 0), 1, Y)),
    "compare_exchange without expected": lambda: kernel(
        compare_exchange(expr(1), expr(2), expected=None)
    ),
    "compare_exchange with two values": lambda: kernel(
        compare_exchange(expr(1), expr(2), expected=here(X))
    ),
    "call of nothing": lambda: kernel(call(PLAIN, 1)),
    "call before the definition": lambda: kernel(
        functions=[func("early", [], call(PLAIN, 1, to=[None])), PLAIN]
    ),
    "recursion": lambda: kernel(
        functions=[func("again", [], ir.Call(NOWHERE, "again", (), ()))]
    ),
    "call with an argument too many": lambda: kernel(call(PLAIN, 1, 2), functions=[PLAIN]),
    "call with another type": lambda: kernel(
        call(PLAIN, 1.0, to=[None]), functions=[PLAIN]
    ),
    "place as a value": lambda: kernel(
        ir.Call(NOWHERE, "plain", (here(X),), (None,)), functions=[PLAIN]
    ),
    "array of another shape": lambda: kernel(call(ARRAY, private("a", 4)), functions=[ARRAY]),
    "element as an array": lambda: kernel(
        ir.Call(NOWHERE, "array", (expr(1),), ()), functions=[ARRAY]
    ),
    "results left out": lambda: kernel(call(PLAIN, 1), functions=[PLAIN]),
    "result of another type in a call": lambda: kernel(
        call(PLAIN, 1, to=Y), functions=[PLAIN]
    ),
    "return of another type": lambda: kernel(
        functions=[func("f", [], back(1.0), results=[INT32])]
    ),
    "return of nothing": lambda: kernel(functions=[func("f", [], back(), results=[INT32])]),
    "end without a return": lambda: kernel(
        functions=[func("f", [param("v")], when(lt(param("v"), 1), back(1)), results=[INT32])]
    ),
    "end of a loop without a return": lambda: kernel(
        functions=[
            func("f", [], repeat(True, when(expr(P), leave()), back(1)), results=[INT32])
        ]
    ),
    "array as a result": lambda: kernel(
        functions=[func("f", [], repeat(True), results=[Array(INT32, (2,))])]
    ),
    "two functions of one name": lambda: kernel(functions=[PLAIN, PLAIN]),
    "parameter that is a local": lambda: kernel(functions=[func("f", [X])]),
    "assertion of an integer": lambda: kernel(ir.Assert(NOWHERE, expr(1))),
    "print with a text too many": lambda: kernel(ir.Print(NOWHERE, ("a", "b"), (), ())),
    "print without a format": lambda: kernel(ir.Print(NOWHERE, ("a", "b"), (expr(1),), ())),
    "claim without tiles": lambda: kernel(ir.UniformAssert(NOWHERE, X, expr(1)), tile=None),
    "claim of another type": lambda: kernel(ir.UniformAssert(NOWHERE, X, expr(1.0))),
    "claim of an array": lambda: kernel(ir.UniformAssert(NOWHERE, private("a", 3), expr(1))),
    "subgroup without tiles": lambda: kernel(ir.Subgroup(NOWHERE, "add", (expr(1),), X), tile=None),
    "size of a subgroup without tiles": lambda: kernel(
        let(X, node(ir.SubgroupIndex, INT32, "size")), tile=None
    ),
    "index of a subgroup that is none": lambda: kernel(let(X, node(ir.SubgroupIndex, INT32, "half"))),
    "function of subgroups that is none": lambda: kernel(ir.Subgroup(NOWHERE, "sum", (expr(1),), X)),
    "bits of a subgroup's floats": lambda: kernel(ir.Subgroup(NOWHERE, "bitwise_or", (expr(1.0),), Y)),
    "sum of a subgroup of another type": lambda: kernel(ir.Subgroup(NOWHERE, "add", (expr(1.0),), X)),
    "vote of an integer": lambda: kernel(ir.Subgroup(NOWHERE, "any", (expr(1),), P)),
    "shuffle without a lane": lambda: kernel(ir.Subgroup(NOWHERE, "shuffle", (expr(1),), X)),
    "shuffle by a signed lane": lambda: kernel(ir.Subgroup(NOWHERE, "shuffle", (expr(1), expr(1)), X)),
    "broadcast of a signed lane": lambda: kernel(ir.Subgroup(NOWHERE, "broadcast", (expr(1), expr(X)), X)),
    "ballot as a number": lambda: kernel(ir.Subgroup(NOWHERE, "ballot", (expr(P),), X)),
}  # fmt: skip


def dataclass_kernel(**changes: Any) -> ir.Kernel:
    """A good kernel with some of its fields replaced."""
    changed = dataclasses.replace(kernel(barrier()), **changes)
    verify(changed)
    return changed


@pytest.mark.parametrize("name", BAD_BODIES)
def test_ill_formed(name: str) -> None:
    # Where it is, in the kernel's file, and then what.
    with pytest.raises(VerificationError, match=rf"^{NOWHERE}: ."):
        BAD_BODIES[name]()


def test_a_branch_that_is_always_taken_may_return() -> None:
    function = func("f", [], when(expr(True), back(1)), results=[INT32])
    assert verify(kernel(functions=[function])) is None
    with pytest.raises(VerificationError):
        kernel(functions=[func("f", [], when(expr(P), back(1)), results=[INT32])])


def test_readonly_container_is_not_written() -> None:
    good = kernel(let(element("data", 0), 1))
    readonly = tuple(dataclasses.replace(b, readonly=True) for b in good.buffers)
    for statement in (good.body.body[0], fetch_add(element("data", 0), 1)):
        body = dataclasses.replace(good.body, body=(statement,))
        bad = dataclasses.replace(good, buffers=readonly, body=body)
        with pytest.raises(VerificationError, match="read-only"):
            verify(bad)


def test_captures_have_different_names() -> None:
    good = kernel()
    with pytest.raises(VerificationError, match="two captures are called data"):
        dataclass_kernel(scalars=(ir.ScalarParam("data", INT32, NOWHERE),))
    with pytest.raises(VerificationError, match="two captures are called data"):
        dataclass_kernel(buffers=(*good.buffers, good.buffers[0]))


def test_containers_have_element_types() -> None:
    first = kernel().buffers[0]
    for element_type in (BOOL, Array(INT32, (2,)), INT24):
        with pytest.raises(VerificationError):
            dataclass_kernel(buffers=(dataclasses.replace(first, element=element_type),))
    with pytest.raises(VerificationError):
        dataclass_kernel(scalars=(ir.ScalarParam("n", INT24, NOWHERE),))


def test_message_names_function_line_and_node() -> None:
    source = Source("bad.py", "x = 1.0\n")
    statement = ir.Assign(source.at(1, "x = 1.0"), here(X), expr(1.0))
    with pytest.raises(VerificationError) as caught:
        kernel(statement)
    assert str(caught.value).startswith("bad.py:1: in k: Assign(")
    assert str(caught.value).endswith(": the type is float32, not int32")


def test_good_kernels_of_every_kind() -> None:
    old = var("old", UINT32)
    exchanged = ir.Atomic(NOWHERE, "atomic_compare_exchange", element("counts", 1), (expr(3, UINT32),), P, here(old))
    endless = func("endless", [], repeat(True, let(X, 1)), results=[INT32])
    either = func("either", [param("v")], when(lt(param("v"), 1), back(1), orelse=[back(2)]), results=[INT32])
    clamp = ir.Builtin(NOWHERE, INT32, "min", (expr(X), expr(3)))
    shift = ir.Binary(NOWHERE, INT32, "shl", expr(X), expr(3, UINT32))
    s = var("s", PAIR)
    kernel(
        let(s, item(shared("pairs", 2, of=PAIR), 0)),
        let(item(ir.FieldOf(NOWHERE, PAIR.fields[1].type, here(s), "b"), 1), 2.0),
        exchanged,
        call(either, 1, to=X),
        call(ARRAY, private("a", 5)),
        count(X, 4, let(X, add(clamp, shift))),
        let(P, node(ir.Binary, BOOL, "bitxor", expr(P), expr(P))),
        let(P, node(ir.Builtin, BOOL, "isnan", (expr(Y),))),
        let(V, node(ir.Construct, FLOAT3, (expr(1.0),))),
        let(W, node(ir.Binary, INT2, "tdiv", node(ir.Swizzle, INT2, get(W), "yx"), get(W))),
        let(ir.ComponentsOf(NOWHERE, Vector(FLOAT32, 2), here(V), "zx"), node(ir.Cast, Vector(FLOAT32, 2), get(W))),
        let(P, node(ir.Compare, BOOL, "ne", get(V), node(ir.Unary, FLOAT3, "neg", get(V)))),
        fetch_add(ir.ComponentsOf(NOWHERE, INT32, item(shared("cells", 4, of=INT2), 0), "y"), 1),
        ir.Subgroup(NOWHERE, "ballot", (expr(P),), var("bits", Vector(UINT32, 4))),
        ir.Subgroup(NOWHERE, "ballot_bit_count", (get(var("bits", Vector(UINT32, 4))),), X),
        ir.Subgroup(NOWHERE, "shuffle", (get(Y), node(ir.Cast, UINT32, node(ir.SubgroupIndex, INT32, "lane"))), Y),
        functions=[PLAIN, ARRAY, endless, either],
    )
    kernel(let(element("data", index("global")), 1), tile=None)
