"""Products of cooperative matrices by numpy: the part of a product that one lane has."""

from __future__ import annotations

from typing import Any

import numpy as np

from vkamp.ir.types import Fragments, Scalar
from vkamp.sim.memory import KernelArray, words_of


def mul_add(unit: int, kinds: tuple[Fragments, ...], *operands: Any) -> bool:
    """``d = a @ b + c`` of a lane's elements; False, and nothing is done, if one of them was never written.

    ``kinds``: of d, a, b and c; ``operands``: the array and first word of each.
    """
    values: list[list[Any]] = []
    steps = [words_of(kind.element, unit) for kind in kinds]
    for kind, step, holder, first in zip(kinds[1:], steps[1:], operands[2::2], operands[3::2], strict=True):
        assert isinstance(holder, KernelArray)
        values.append(holder.mem[first : first + kind.shape[-1] * step : step])
    if any(value is None for part in values for value in part):
        return False
    made_kind, a_kind, b_kind, _ = kinds
    element = made_kind.element
    assert isinstance(element, Scalar)
    a, b, c = (np.array(part, np.int64 if element.is_integer else np.float32) for part in values)
    inner = a_kind.columns
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.matmul(a.reshape(-1, inner), b.reshape(inner, b_kind.shape[-1] // inner)).ravel() + c
        made: list[Any] = list(total.astype(element.dtype))
    if element.is_integer:
        made = [int(value) for value in made]
    holder, first = operands[0], operands[1]
    holder.mem[first : first + len(made) * steps[0] : steps[0]] = made
    return True
