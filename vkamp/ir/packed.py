"""Rows of products of four integers of 8 bits in a word (HLSL: ``dot4add_i8packed``; OpenCL: ``dot_acc_sat``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vkamp.ir.rows import BuiltinRow, TypeClass

#: The device feature with which the products are one instruction.
DOT_PRODUCTS = "integer_dot_product"

_EXTRACTED = """\
// {doc}
{kind} {name}({kind} a, {kind} b, {kind} c) {{
    {kind} sum = bitfieldExtract(a, 0, 8) * bitfieldExtract(b, 0, 8)
        + bitfieldExtract(a, 8, 8) * bitfieldExtract(b, 8, 8)
        + bitfieldExtract(a, 16, 8) * bitfieldExtract(b, 16, 8)
        + bitfieldExtract(a, 24, 8) * bitfieldExtract(b, 24, 8);
{end}
}}
"""
_ENDS = {
    ("int", False): "    return sum + c;",
    ("uint", False): "    return sum + c;",
    ("int", True): """\
    if (sum > 0 && c > 2147483647 - sum) {
        return 2147483647;
    }
    return sum < 0 && c < -2147483647 - 1 - sum ? -2147483647 - 1 : sum + c;""",
    ("uint", True): "    return c > 4294967295u - sum ? 4294967295u : sum + c;",
}
#: SPIR-V's own instructions: OpSDot, OpUDot, OpSDotAccSat, OpUDotAccSat, of four packed integers of 8 bits (0).
_NATIVE = """\
// {doc}
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = {number})
{kind} {name}_of_device({parameters}, spirv_literal int packed_4x8);
{kind} {name}({kind} a, {kind} b, {kind} c) {{
    return {call};
}}
"""
_NUMBERS = {("int", False): 4450, ("uint", False): 4451, ("int", True): 4453, ("uint", True): 4454}


def _reference(kind: str, *, saturates: bool) -> Callable[..., int]:
    parts, whole = (np.int8, np.int32) if kind == "int" else (np.uint8, np.uint32)
    limits = np.iinfo(whole)

    def reference(a: Any, b: Any, c: Any) -> int:
        x, y = (np.array([int(word) & 0xFFFFFFFF], np.uint32).view(parts).astype(np.int64) for word in (a, b))
        total = int(x @ y) + int(c)
        if saturates:
            return max(limits.min, min(limits.max, total))
        return int(np.array([total & 0xFFFFFFFF], np.uint32).view(whole)[0])

    return reference


def _row(kind: str, *, saturates: bool) -> BuiltinRow:
    sort = "signed" if kind == "int" else "unsigned"
    name = f"dot4_{sort}{'_sat' if saturates else ''}"
    end = "; at the limits of its type the sum stays there." if saturates else "; the sum wraps."
    doc = f"c and the products of the four {sort} integers of 8 bits in a and b{end}"
    parameters = f"{kind} a, {kind} b" + (f", {kind} c" if saturates else "")
    inner = f"{name}_of_device(a, b, {'c, ' if saturates else ''}0)"
    call = inner if saturates else f"{inner} + c"
    native = _NATIVE.format(
        doc=doc, number=_NUMBERS[kind, saturates], kind=kind, name=name, parameters=parameters, call=call
    )
    letter: TypeClass = "I" if kind == "int" else "U"
    signed: tuple[tuple[float, ...], ...] = (
        (0x01020304, 0x05060708, 9),
        (-1, 0x7F80817F, -5),
        (-2139062144, -2139062144, 2**31 - 1),
    )
    samples: tuple[tuple[float, ...], ...] = (*signed, (0x7F7F7F7F, -2139062144, -(2**31)))
    if kind == "uint":
        samples = ((0x01020304, 0x05060708, 9), (2**32 - 1, 2**32 - 1, 1), (2**32 - 1, 0x01010101, 2**32 - 4))
    return BuiltinRow(
        name,
        (f"amp.{name}",),
        (letter, letter, letter),
        f"{kind}32",
        f"{name}({{0}}, {{1}}, {{2}})",
        _reference(kind, saturates=saturates),
        doc,
        samples,
        helper=_EXTRACTED.format(doc=doc, kind=kind, name=name, end=_ENDS[kind, saturates]),
        native=(DOT_PRODUCTS, native),
    )


PACKED_ROWS: tuple[BuiltinRow, ...] = tuple(
    _row(kind, saturates=saturates) for saturates in (False, True) for kind in ("int", "uint")
)
