"""The types and functions of the language for programs that run as plain Python."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tools.fuzz.plain.values import (
    INTEGERS,
    STATE,
    Num,
    UndefinedError,
    UnknownError,
    Vec,
    cast,
    common,
    convert,
    kind_of,
    raw_of,
    truth,
)
from vkamp.ir.builtins import BUILTINS, TUPLES
from vkamp.lang.vectors import short_vector

__all__ = ["FLOATS", "FUNCTIONS", "Scalar", "VectorType", "enumerated", "short_vector_named"]

FLOATS = ("float16", "float32", "float64")


class Scalar:
    """A scalar type: a cast, and a dtype."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dtype = np.dtype(name)

    def __call__(self, x: Any = 0) -> Any:
        if self.name in ("int8", "uint8", "int16", "uint16"):
            return Num("int32", cast(self.name, raw_of(x), kind_of(x)))
        if isinstance(x, Num):
            return Num(self.name, convert(x, self.name))
        return Num(self.name, cast(self.name, x, "float64" if isinstance(x, float) else "int64" if x else "int32"))


def _view(x: Num, to: Any) -> Num:
    """``x.view(dtype)``: the bits of a number as those of another type."""
    target = np.dtype(getattr(to, "dtype", to))
    if target.itemsize != np.dtype(x.k).itemsize or x.k == "bool":
        raise UnknownError("bits of another size")
    return Num(target.name, np.dtype(x.k).type(x.v).view(target).item())


def _astype(x: Num, to: Any) -> Num:
    """``x.astype(dtype)``: the conversion."""
    found: Num = Scalar(np.dtype(getattr(to, "dtype", to)).name)(x)
    return found


Num.view = _view  # type: ignore[attr-defined]
Num.astype = _astype  # type: ignore[attr-defined]
Num.bit_count = lambda x: Num("int32", bin(abs(x.v)).count("1"))  # type: ignore[attr-defined]


class VectorType:
    """A class of short vectors."""

    def __init__(self, name: str) -> None:
        real = short_vector_named(name)
        self.dtype = real.dtype
        self.scalar, self.count = np.dtype(real.value_type).name, real.size

    def __call__(self, *given: Any) -> Vec:
        k, n = self.scalar, self.count
        if not given:
            return Vec(k, [convert(0, k)] * n)
        if len(given) == 1 and isinstance(given[0], Vec):
            source = given[0]
            return Vec(k, [x if source.k == k else cast(k, x, source.k) for x in source.v])
        parts = [convert(x, k) for x in given]
        return Vec(k, parts * (n // len(parts)))


def short_vector_named(name: str) -> Any:
    """vkamp's class of a name, for its layout."""
    import vkamp.lang.vectors as vectors

    return getattr(vectors, name)


del short_vector

# -- the table of functions ----------------------------------------------------------------------------------------


def _row(row: Any) -> Callable[..., Any]:
    def call(*given: Any) -> Any:
        if len(given) != len(row.params):
            raise UnknownError(f"{len(given)} arguments for {row.name}")
        kinds: dict[str, str] = {}
        for letter in set(row.params):
            members = [g for g, p in zip(given, row.params, strict=True) if p == letter]
            k = kind_of(members[0])
            found = members[0]
            for other in members[1:]:
                k = common(found, other)
                found = Num(k, 0) if k != "bool" else other
            if letter == "F":
                k = "float64" if k == "float64" else "float32"
            elif k == "float16" and "float16" not in row.types(letter) and not row.typed:
                k = "float32"
            kinds[letter] = "int32" if k == "bool" and letter != "B" else k
        args = [_numpy(kinds[p], convert(g, kinds[p])) for g, p in zip(given, row.params, strict=True)]
        k = kinds[row.params[0]] if row.params else ""
        with np.errstate(all="ignore"):
            result = row.reference_for(k)(*args)
        STATE.look(*(float(a) for a in args if isinstance(a, np.floating)))
        k = row.result_name(kinds)
        if k == "bool":
            return truth(bool(result))
        if k in FLOATS:
            with np.errstate(all="ignore"):
                number = float(np.dtype(k).type(result))
            STATE.look(number)
            if row.ulp is not None or row.absolute:
                number = STATE.rounded(number, max(2.0**-18, 4 * (row.ulp or 0) * 2.0**-23), 4 * row.absolute)
            return Num(k, number)
        return Num(k, cast(k, int(result), "int64"))

    return call


def _numpy(k: str, value: Any) -> Any:
    """A raw value as an argument of a row's reference."""
    return np.dtype(k).type(value) if k in FLOATS else value


def _python_row(row: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Python's function, which returns a constant for constants."""
    call = _row(row)

    def mixed(*given: Any, default: Any = None) -> Any:
        if len(given) == 1 and function in (builtins.min, builtins.max):
            given = tuple(given[0])
            if not given:
                if default is None:
                    raise UndefinedError("the least of nothing")
                given = (default,)
        if not any(isinstance(g, Num) for g in given):
            if function is builtins.round:
                return float(row.reference(*given))
            if function in (builtins.min, builtins.max):
                of = float if any(isinstance(g, float) for g in given) else int
                return of(function([g for g in given if not math.isnan(g)] or list(given)))
            result = function(*given)
            return float(result) if row.result == "F" and isinstance(result, int) else result
        if function in (builtins.min, builtins.max):
            return _least(row, call, list(given))
        return call(*given)

    return mixed


def _least(row: Any, call: Callable[..., Any], given: list[Any]) -> Any:
    """The least or the greatest; of a signed and an unsigned integer by value, in the type that always fits."""
    found = given[0]
    for other in given[1:]:
        kinds = {kind_of(found), kind_of(other)}
        mixed = all(isinstance(x, Num) for x in (found, other)) and len({k[0] for k in kinds} & {"i", "u"}) == 2
        if mixed and all(k in INTEGERS for k in kinds):
            size = max(INTEGERS[k][0] for k in kinds)
            value = (min if row.name == "min" else max)(found.v, other.v)
            found = Num(f"{'int' if row.name == 'min' else 'uint'}{size}", value)
        else:
            found = call(found, other)
    return found


def enumerated(values: Any, start: Any = 0) -> Any:
    """Numbers that are constants only beside the items of a tuple."""
    pairs = builtins.enumerate(values, int(raw_of(start)))
    return pairs if isinstance(values, tuple) else ((Num("int32", n), value) for n, value in pairs)


def _tuple_row(row: Any) -> Callable[..., Any]:
    parts_of = [BUILTINS[name] for name in row.parts]
    parts = [_row(part) for part in parts_of]

    def call(*given: Any) -> Any:
        if "F" not in parts_of[0].params:
            return tuple(part(*given) for part in parts)
        args = [Num(k, convert(g, k)) for g in given for k in ("float64" if kind_of(g) == "float64" else "float32",)]
        return tuple(part(*(args if any(isinstance(g, Num) for g in given) else given)) for part in parts)

    return call


def _functions() -> dict[str, Any]:
    """The rows of the table, by their dotted names in Python."""
    found: dict[str, Any] = {}
    for row in BUILTINS.values():
        for name in row.python:
            own = getattr(math, name[5:], None) if name.startswith("math.") else getattr(builtins, name, None)
            found[name] = _python_row(row, own) if own is not None else _row(row)
    for several in TUPLES.values() if isinstance(TUPLES, dict) else TUPLES:
        for name in several.python:
            found[name] = _tuple_row(several)
    return found


FUNCTIONS = _functions()
