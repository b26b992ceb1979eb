"""Rows that read the bits of a number, or of each component of a short vector, as a number of another type.

HLSL: ``asuint``, ``asint``, ``asfloat``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vkamp.ir.rows import BuiltinRow

_SAMPLES: tuple[tuple[float, ...], ...] = (
    (0,), (1,), (-1,), (1.5,), (-2.5,), (0.1,), (1065353216,), (-1082130432,), (2**30,), (-(2**31),),
)  # fmt: skip

#: By the kind of the result: GLSL by the argument's type.  Casts between integers keep the bits.
_GLSL: dict[str, dict[str, str]] = {
    "uint": {
        "int32": "uint({0})", "uint32": "uint({0})", "float32": "floatBitsToUint({0})",
        "int64": "uint64_t({0})", "uint64": "uint64_t({0})", "float64": "doubleBitsToUint64({0})",
    },
    "int": {
        "int32": "int({0})", "uint32": "int({0})", "float32": "floatBitsToInt({0})",
        "int64": "int64_t({0})", "uint64": "int64_t({0})", "float64": "doubleBitsToInt64({0})",
    },
    "float": {
        "int32": "intBitsToFloat({0})", "uint32": "uintBitsToFloat({0})", "float32": "float({0})",
        "int64": "int64BitsToDouble({0})", "uint64": "uint64BitsToDouble({0})", "float64": "double({0})",
    },
}  # fmt: skip


def _as_kind(kind: str) -> Callable[[Any], Any]:
    """The reference: a plain number of Python is an int32 or a float32, as it is in a kernel."""

    def reference(x: Any) -> Any:
        if isinstance(x, (bool, int, np.bool_)):
            x = np.int32(x)
        elif not isinstance(x, np.generic):
            x = np.float32(x)
        if x.dtype.itemsize not in (4, 8):
            raise TypeError(f"a number of 32 or 64 bits is needed, not {x.dtype}: write x.view(...)")
        return x.view(f"{kind}{8 * x.dtype.itemsize}")

    return reference


def _row(kind: str, doc: str) -> BuiltinRow:
    return BuiltinRow(
        f"as{kind}", (f"amp.as{kind}",), ("N",), f"like {kind}", _GLSL[kind], _as_kind(kind), doc, _SAMPLES, typed=True,
        of_vectors=True,
    )  # fmt: skip


def _of_half(x: Any) -> Any:
    return np.uint32(np.float16(x).view(np.uint16))


def _to_half(x: Any) -> Any:
    return np.float32(np.uint16(int(x) & 0xFFFF).view(np.float16))


def _double_word(k: int) -> Callable[[Any], Any]:
    return lambda x: np.array([x], np.float64).view("<u4")[k]


def _of_words(low: Any, high: Any) -> Any:
    return np.array([low, high], "<u4").view("<f8")[0]


#: The rows without a spelling are `x.view(dtype)` of 16 bits, and the words of a float64 in `to_words`.
BIT_ROWS: tuple[BuiltinRow, ...] = (
    _row("uint", "The bits as an unsigned integer of the same size; of a short vector, by components."),
    _row("int", "The bits as a signed integer of the same size; of a short vector, by components."),
    _row("float", "The bits as a float of the same size; of a short vector, by components."),
    BuiltinRow("half_as_bits", (), ("H",), "uint32", {"float16": "packHalf2x16(vec2(float({0}), 0.0))"}, _of_half,
               "The bits of a float16.", ((0.0,), (1.5,), (-2.0,))),
    BuiltinRow("bits_as_half", (), ("U",), "float32", {"uint32": "unpackHalf2x16({0}).x"}, _to_half,
               "The value of the float16 that has these bits.", ((0,), (15360,), (49152,))),
    BuiltinRow("double_low_word", (), ("D",), "uint32", "unpackDouble2x32({0}).x", _double_word(0),
               "The lower 32 bits of a float64.", ((0.1,), (-2.5,), (1e300,))),
    BuiltinRow("double_high_word", (), ("D",), "uint32", "unpackDouble2x32({0}).y", _double_word(1),
               "The upper 32 bits of a float64.", ((0.1,), (-2.5,), (1e300,))),
    BuiltinRow("words_as_double", (), ("U", "U"), "float64", "packDouble2x32(uvec2({0}, {1}))", _of_words,
               "The float64 that has these words, the lower one first.", ((0, 0), (1, 1072693248), (7, 3221225472))),
)  # fmt: skip
