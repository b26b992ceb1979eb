"""Literals: the shortest decimal that is read back as the same value."""

from __future__ import annotations

import numpy as np


def literal(value: bool | int | float, type_name: str) -> str:
    """The GLSL text of a constant; negative numbers begin with ``-`` (or are in parentheses)."""
    if type_name == "bool":
        return "true" if value else "false"
    if type_name == "float32":
        return _float(float(value))
    if type_name == "float64":
        return _double(float(value))
    if type_name == "float16":
        return _half(float(value))
    number = int(value)
    if type_name == "uint32":
        return f"{number & 0xFFFFFFFF}u"
    if type_name == "uint64":
        return f"{number & 0xFFFFFFFFFFFFFFFF}UL"
    if type_name == "int64":
        return "(-9223372036854775807L - 1L)" if number == -(1 << 63) else f"{number}L"
    # 2147483648 alone is not an int.
    return "(-2147483647 - 1)" if number == -(1 << 31) else str(number)


def _float(value: float) -> str:
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if not np.isfinite(single):
        return f"uintBitsToFloat(0x{int(single.view(np.uint32)):08x}u)"
    if single == 0 or 1e-4 <= abs(single) < 1e16:
        text = np.format_float_positional(single, unique=True, trim="0")
    else:
        text = np.format_float_scientific(single, unique=True, trim="0", exp_digits=1)
    # Compilers read a double and round again.
    return text if np.float32(float(text)) == single else repr(float(single))


def _double(value: float) -> str:
    if not np.isfinite(value):
        bits = int(np.float64(value).view(np.uint64))
        return f"packDouble2x32(uvec2(0x{bits & 0xFFFFFFFF:08x}u, 0x{bits >> 32:08x}u))"
    if value == 0 or 1e-4 <= abs(value) < 1e16:
        return np.format_float_positional(value, unique=True, trim="0") + "lf"
    return np.format_float_scientific(value, unique=True, trim="0", exp_digits=1) + "lf"


def _half(value: float) -> str:
    if not np.isfinite(value):
        return f"float16_t({_float(value)})"
    return _float(value) + "hf"
