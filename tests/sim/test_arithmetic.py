"""Values: every operator, cast and builtin, against numpy and against C's rules."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pytest

from tests.sim.build import (
    binary,
    buf,
    call,
    cast,
    compare,
    compute,
    kernel,
    put,
    scalar,
    value,
)
from vkamp import sim
from vkamp.errors import AmpError
from vkamp.ir import nodes as ir
from vkamp.ir.builtins import BUILTINS, BuiltinRow
from vkamp.ir.types import BOOL, FLOAT32, INT32, SCALARS, UINT32, Scalar

KINDS = {"int32": INT32, "uint32": UINT32, "float32": FLOAT32, "bool": BOOL}
INTS = [0, 1, -1, 2, -2, 7, -7, 100, 2**31 - 1, -(2**31), 123456789]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.1, 3.5, -7.25, 1e-40, 1e30, 3e38, math.inf, -math.inf, math.nan]


def both(op: str, left: Any, right: Any) -> Any:
    """``left op right`` over two captured scalars."""
    kinds = {np.int32: INT32, np.uint32: UINT32, np.float32: FLOAT32, bool: BOOL}
    names = scalar("left", kinds[type(left)]), scalar("right", kinds[type(right)])
    return compute(binary(op, *names), left=left, right=right)


def same(result: Any, expected: Any) -> bool:
    """Equal with the sign of zero, NaN equal to NaN."""
    if math.isnan(expected):
        return math.isnan(result)
    return bool(result == expected) and math.copysign(1, result) == math.copysign(1, expected)


@pytest.mark.parametrize("op", ["add", "sub", "mul", "bitand", "bitor", "bitxor"])
@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_integers_wrap(op: str, dtype: Any) -> None:
    function = {"bitand": "and_", "bitor": "or_", "bitxor": "xor"}.get(op, op)
    values = np.array(INTS, np.int64).astype(dtype)
    for left in values:
        for right in values:
            exact = getattr(operator, function)(int(left), int(right))
            expected = np.array([exact & 0xFFFFFFFF], np.uint32).view(dtype)[0]
            assert both(op, left, right) == expected


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "floordiv", "floormod"])
def test_floats_round_as_numpy_does(op: str) -> None:
    function = {"div": "truediv", "floormod": "mod"}.get(op, op)
    with np.errstate(all="ignore"):
        for left in map(np.float32, FLOATS):
            for right in map(np.float32, FLOATS):
                expected = getattr(operator, function)(left, right)
                assert same(both(op, left, right), expected), (left, op, right)


def test_each_float_operation_is_rounded() -> None:
    x, y = np.float32(1.1), np.float32(2.3)
    product = binary("mul", scalar("x", FLOAT32), scalar("y", FLOAT32))
    result = compute(binary("sub", product, scalar("y", FLOAT32)), x=x, y=y)
    assert result == np.float32(np.float32(x * y) - y)
    assert result != np.float32(float(x) * float(y) - float(y))


@pytest.mark.parametrize("op", ["floordiv", "floormod", "tdiv", "trem"])
@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_integer_division(op: str, dtype: Any) -> None:
    for left in map(int, np.array(INTS, np.int64).astype(dtype)):
        for right in map(int, np.array(INTS, np.int64).astype(dtype)):
            if right == 0:
                continue
            quotient = left // right if op.startswith("floor") else math.trunc(left / right)
            rest = left - quotient * right
            exact = quotient if op.endswith("div") else rest
            expected = np.array([exact & 0xFFFFFFFF], np.uint32).view(dtype)[0]
            kind = KINDS[np.dtype(dtype).name]
            assert both(op, dtype(left), dtype(right)) == expected
            constant = binary(op, scalar("x", kind), value(right, kind))
            assert compute(constant, x=dtype(left)) == expected


@pytest.mark.parametrize("op", ["floordiv", "floormod", "tdiv", "trem"])
def test_integer_division_by_zero(op: str) -> None:
    with pytest.raises(AmpError, match=r"integer division by zero, in thread \(0\)") as caught:
        both(op, np.int32(5), np.int32(0))
    assert caught.value.error_code == "division"
    with pytest.raises(AmpError, match="integer division by zero"):
        compute(binary(op, scalar("x", INT32), 0), x=np.int32(5))


def test_nested_divisions_keep_their_divisors() -> None:
    x, y, z = (scalar(n, INT32) for n in "xyz")
    quotient = binary("floordiv", binary("floordiv", x, y), z)
    assert compute(quotient, x=np.int32(100), y=np.int32(7), z=np.int32(3)) == 4
    quotient = binary("floordiv", x, binary("floormod", y, z))
    assert compute(quotient, x=np.int32(100), y=np.int32(7), z=np.int32(4)) == 33


def test_shifts() -> None:
    assert both("shl", np.int32(3), np.int32(31)) == -(2**31)
    assert both("shl", np.uint32(3), np.int32(31)) == 2**31
    assert both("shr", np.int32(-8), np.uint32(1)) == -4
    assert both("shr", np.uint32(0x80000000), np.int32(31)) == 1
    assert compute(binary("shl", scalar("x", INT32), 4), x=np.int32(-1)) == -16
    for count in (32, -1):
        with pytest.raises(AmpError, match=f"shift by {count}: the count must be from 0 to 31"):
            both("shl", np.int32(1), np.int32(count))


def test_unary() -> None:
    def unary(op: Any, x: Any) -> Any:
        kind = KINDS[type(x).__name__]
        return compute(ir.Unary(scalar("x", kind).span, kind, op, scalar("x", kind)), x=x)

    assert unary("neg", np.int32(-(2**31))) == -(2**31)
    assert unary("neg", np.uint32(1)) == 2**32 - 1
    assert math.copysign(1, unary("neg", np.float32(0))) == -1
    assert unary("invert", np.int32(5)) == -6
    assert unary("invert", np.uint32(5)) == 2**32 - 6
    assert unary("not", True) is False


@pytest.mark.parametrize("op", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons(op: str) -> None:
    for left in FLOATS:
        for right in FLOATS:
            expr = compare(op, scalar("x", FLOAT32), scalar("y", FLOAT32))
            result = compute(expr, x=np.float32(left), y=np.float32(right))
            assert result == getattr(operator, op)(np.float32(left), np.float32(right))
    expr = compare(op, scalar("x", UINT32), scalar("y", UINT32))
    assert compute(expr, x=np.uint32(2**31), y=np.uint32(1)) == getattr(operator, op)(2, 1)


@pytest.mark.parametrize("op", ["bitand", "bitor", "bitxor"])
def test_bools(op: str) -> None:
    function = {"bitand": "and_", "bitor": "or_", "bitxor": "xor"}[op]
    for left in (False, True):
        for right in (False, True):
            assert both(op, left, right) == getattr(operator, function)(left, right)
    mixed = binary(op, compare("lt", scalar("x", FLOAT32), 1.0), True)
    assert compute(mixed, x=np.float32(2.0)) == getattr(operator, function)(False, True)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (np.float32(-1.75), INT32, -1),
        (np.float32(2147483520), INT32, 2147483520),
        (np.float32(-(2**31)), INT32, -(2**31)),
        (np.float32(-0.75), UINT32, 0),
        (np.float32(4294967040), UINT32, 4294967040),
        (np.int32(16777217), FLOAT32, 16777216.0),
        (np.int32(16777219), FLOAT32, 16777220.0),
        (np.uint32(2**32 - 1), FLOAT32, 2.0**32),
        (np.int32(-1), UINT32, 2**32 - 1),
        (np.uint32(2**31), INT32, -(2**31)),
        (np.uint32(7), INT32, 7),
        (True, INT32, 1),
        (False, UINT32, 0),
        (True, FLOAT32, 1.0),
        (np.int32(-3), BOOL, True),
        (np.float32(0.0), BOOL, False),
        (np.float32(math.nan), BOOL, True),
        (np.float32(2.5), FLOAT32, 2.5),
    ],
)
def test_casts(source: Any, target: Scalar, expected: Any) -> None:
    kind = KINDS[type(source).__name__]
    assert compute(cast(target, scalar("x", kind)), x=source) == expected


@pytest.mark.parametrize(
    ("source", "target"),
    [(math.nan, INT32), (2.0**31, INT32), (-math.inf, INT32), (-1.0, UINT32), (2.0**32, UINT32)],
)
def test_undefined_casts(source: float, target: Scalar) -> None:
    with pytest.raises(AmpError, match=f"undefined conversion: .* has no value in {target}") as e:
        compute(cast(target, scalar("x", FLOAT32)), x=np.float32(source))
    assert e.value.error_code == "conversion"


def test_only_one_side_is_evaluated() -> None:
    def divided(by: int) -> ir.Expr:
        return binary("floordiv", scalar("x", INT32), by)

    no = compare("lt", scalar("x", INT32), 0)
    x = np.int32(8)
    picked = ir.Select(no.span, INT32, no, divided(0), divided(2))
    assert compute(picked, x=x) == 4
    zero = compare("eq", divided(0), 1)
    assert compute(ir.Logical(no.span, BOOL, "and", no, zero), x=x) is False
    yes = compare("gt", scalar("x", INT32), 0)
    assert compute(ir.Logical(no.span, BOOL, "or", yes, zero), x=x) is True
    with pytest.raises(AmpError, match="division by zero"):
        compute(ir.Logical(no.span, BOOL, "or", no, zero), x=x)


def _types_of(row: BuiltinRow) -> list[Scalar]:
    """The types that a row's arguments may have."""
    return [SCALARS[name] for name in row.types(row.params[0])]


@pytest.mark.parametrize("row", BUILTINS.values(), ids=lambda row: row.name)
def test_builtins(row: BuiltinRow) -> None:
    assert row.samples
    for kind in _types_of(row):
        kinds = [kind if p == row.params[0] else INT32 for p in row.params]
        assert all(p in (row.params[0], "I") for p in row.params)
        like = row.result.removeprefix("like ")
        result = SCALARS[f"{like}{kind.bits}"] if like != row.result else SCALARS.get(row.result, kind)
        for sample in row.samples:
            if kind.kind == "uint" and min(sample) < 0:
                continue
            scalars = {f"x{i}": np.dtype(k.name).type(v) for i, (v, k) in enumerate(zip(sample, kinds, strict=True))}
            args = [scalar(name, k) for name, k in zip(scalars, kinds, strict=True)]
            got = compute(call(row.name, *args, kind=result), **scalars)
            with np.errstate(all="ignore"):
                expected = row.reference_for(kind.name)(*scalars.values())
            assert same(got, expected), (row.name, sample)


def test_abs_of_the_smallest_integer_wraps() -> None:
    expr = call("abs", scalar("x", INT32), kind=INT32)
    assert compute(expr, x=np.int32(-(2**31))) == -(2**31)


def test_long_expressions() -> None:
    total: ir.Expr = scalar("x", INT32)
    for _ in range(150):
        total = binary("add", total, 1)
    assert compute(total, x=np.int32(5)) == 155


def test_float_constants_are_float32() -> None:
    out = np.zeros(1, np.float32)
    place = buf("out", 0, kind=FLOAT32)
    made = kernel([put(place, binary("mul", 0.1, 3.0))], buffers={"out": (FLOAT32, 1)})
    sim.run(made, (1,), {"out": out}, {})
    assert out[0] == np.float32(0.1) * np.float32(3)
