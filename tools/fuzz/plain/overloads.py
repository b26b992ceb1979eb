"""Device functions, of which several forms may have one name."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from tools.fuzz.plain.functions import Scalar, VectorType
from tools.fuzz.plain.memory import Record
from tools.fuzz.plain.values import (
    Num,
    UnknownError,
    Vec,
    kind_of,
)
from vkamp.lang.vectors import vector_class

__all__ = ["Function", "function_of"]


class Function:
    """A device function with several forms."""

    def __init__(self, function: Any) -> None:
        from vkamp.lang.overloads import form_of

        self.form_of = form_of
        self.forms = [function]

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        return self if owner is None else lambda *given, **named: self(owner, *given, **named)

    def register(self, function: Any, *types_: Any) -> Any:
        """Adds a form."""
        if not callable(function) or isinstance(function, (Scalar, VectorType)):
            raise UnknownError("a form with types of its own")
        self.forms.append(function)
        return self

    def __call__(self, *given: Any, **named: Any) -> Any:
        if len(self.forms) == 1:
            return self.forms[0](*given, **named)
        if named:
            raise UnknownError("an overload by names")
        fitting = [(f, r) for f in self.forms if (r := _ranks(f, given)) is not None]
        for part in (_conversions, _untyped):
            fitting = [(f, r) for f, r in fitting if not any(_better(part(o), part(r)) for _, o in fitting)]
        if len(fitting) != 1:
            raise UnknownError("no overload, or several")
        return fitting[0][0](*given)


def _conversions(ranks: list[int]) -> list[int]:
    return [r // 2 for r in ranks]


def _untyped(ranks: list[int]) -> list[int]:
    return [r % 2 for r in ranks]


def _better(mine: list[int], other: list[int]) -> bool:
    return mine != other and all(a <= b for a, b in zip(mine, other, strict=True))


def _ranks(function: Any, given: tuple[Any, ...]) -> list[int] | None:
    """How well each argument fits: 0 its type, 1 any type, 2 by conversion."""
    parameters = list(inspect.signature(function).parameters.values())
    if len(parameters) != len(given):
        return None
    out = []
    for parameter, value in zip(parameters, given, strict=True):
        wanted = parameter.annotation
        if wanted is parameter.empty:
            out.append(1)
            continue
        dtype = np.dtype(getattr(wanted, "dtype", wanted))
        if isinstance(value, (Num, bool, int, float)):
            given_type = np.dtype(kind_of(value))
            if given_type == dtype:
                out.append(0)
            elif dtype.names is None and (dtype.kind == "f" or (dtype.kind in "iu" and given_type.kind in "iub")):
                out.append(2)
            else:
                return None
        else:
            own = value.cell.dtype if isinstance(value, Record) else None
            if isinstance(value, Vec):
                same = vector_class(dtype)
                if same is None or (np.dtype(same.value_type).name, same.size) != (value.k, len(value.v)):
                    return None
            elif own is None or own != dtype:
                return None
            out.append(0)
    return out


def function_of(function: Any = None, **options: Any) -> Any:
    del options
    return Function(function) if function is not None else Function
