"""Literals: the shortest decimal that is read back as the same value."""

from __future__ import annotations

import numpy as np

__all__ = ["literal"]


def literal(value: bool | int | float, type_name: str) -> str:
    """The GLSL text of a constant; negative numbers begin with ``-`` (or are in parentheses)."""
    if type_name == "bool":
        return "true" if value else "false"
    if type_name == "float32":
        return _float(float(value))
    number = int(value)
    if type_name == "uint32":
        return f"{number & 0xFFFFFFFF}u"
    # 2147483648 alone is no int.
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
