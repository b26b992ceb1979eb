"""The rows of the table of builtins that kernels call, with arguments for which they are defined and tame.

An argument of a float row is made of any int: one of a few numbers of the row's domain, so that the size of every
result and its error are known.
"""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from tools.fuzz.tree import Kind
from vkamp.ir.builtins import BUILTINS
from vkamp.ir.narrow_floats import NARROW_ROWS
from vkamp.ir.rows import BuiltinRow

__all__ = ["EXACT_ROWS", "LEFT_OUT", "ROUGH_ROWS", "SPECIAL_ROWS", "Domain", "Row"]


@dataclass(frozen=True)
class Domain:
    """``(n % count - offset) * scale + shift`` of any int n; ``special``: any special float instead."""

    count: int = 17
    offset: int = 8
    scale: float = 0.25
    shift: float = 0.125
    special: bool = False
    whole: bool = False
    #: Without NaN, whose sign is anything after any operation.
    signed: bool = False
    #: Any whole number: ``int`` or ``uint``.
    plain: str = ""

    @property
    def kind(self) -> Kind:
        """The source of the argument."""
        return Kind("special" if self.special else self.plain or "int")

    def text(self, hole: str) -> str:
        """The argument, of a hole for the int."""
        if self.special:
            return f"amp.fast_math.fmin({hole}, 5.0)" if self.signed else hole
        if self.plain:
            return hole
        if self.whole:
            return f"({hole} % {self.count} - {self.offset})"
        return f"(({hole} % {self.count} - {self.offset}) * {self.scale} + {self.shift})"

    def values(self) -> list[Any]:
        """Every value of it."""
        if self.special or self.plain:
            return [1]
        if self.whole:
            return [n - self.offset for n in range(self.count)]
        return [np.float32((n - self.offset) * self.scale + self.shift) for n in range(self.count)]


@dataclass(frozen=True)
class Row:
    """A call of a row: its spellings, its arguments' domains, and the kind of its result."""

    name: str
    spellings: tuple[str, ...]
    domains: tuple[Domain, ...]
    kind: Kind
    suffix: str = ""

    def call(self, chooser: random.Random) -> str:
        """The format string of a call."""
        args = ", ".join(d.text(f"{{{n}}}") for n, d in enumerate(self.domains))
        return f"{chooser.choice(self.spellings)}({args}){self.suffix}"


#: Never 0, where signs of zero and poles would matter.
_AROUND = Domain()
_POSITIVE = Domain(16, 0, 0.5, 0.375)
_UNIT = Domain(15, 7, 0.125, 0.0625)
_OVER_ONE = Domain(16, 0, 0.5, 1.25)
_ZERO_TO_TWO = Domain(15, 0, 0.125, 0.0625)
_ZERO_TO_ONE = Domain(15, 0, 0.0625, 0.03125)
_SMALL_INT = Domain(9, 4, whole=True)
_SPECIAL = Domain(special=True)

_DOMAINS: dict[str, tuple[Domain, ...]] = {
    **dict.fromkeys(["sqrt", "rsqrt", "log", "log2", "log10"], (_POSITIVE,)),
    **dict.fromkeys(["asin", "acos", "atanh", "erfinv"], (_UNIT,)),
    "acosh": (_OVER_ONE,),
    "erfcinv": (_ZERO_TO_TWO,),
    "probit": (_ZERO_TO_ONE,),
    "log1p": (_POSITIVE,),
    "tan": (_UNIT,),
    "tanpi": (Domain(7, 3, 0.125, 0.03125),),
    "pow": (_POSITIVE, Domain(9, 4, 0.5, 0.0)),
    "ldexp": (_AROUND, _SMALL_INT),
    "scalbn": (_AROUND, _SMALL_INT),
    "scalb": (_AROUND, Domain(9, 4, 1.0, 0.0)),
    # Quotients that are far from a whole number, so that rounding can't change them.
    "fmod": (_AROUND, Domain(4, 0, 0.5, 0.5)),
    "lgamma": (_POSITIVE,),
    "smoothstep": (_UNIT, Domain(8, 0, 0.5, 1.125), _AROUND),
    "tgamma": (Domain(8, 0, 0.5, 0.375),),
}

#: Tables' rows that kernels do not call, and why.
LEFT_OUT = {
    "half_as_bits": "it is `x.view(dtype)` of 16 bits, and has no name; tested by row",
    "bits_as_half": "it is `x.view(dtype)` of 16 bits, and has no name; tested by row",
    **dict.fromkeys(
        ("double_low_word", "double_high_word", "words_as_double"),
        "it is a part of `amp.to_words` and `amp.from_words`, and has no name; tested by type",
    ),
    "precise_nan": "its result cannot be compared; tested by row",
    "precise_nextafter": "its result has 24 bits; tested by row",
    **{row.name: "only legalization uses it" for row in NARROW_ROWS},
}

#: Rows of any number, here of int32.
_ANY_NUMBER = ("abs", "min", "max")
#: Rows that read bits, and the kinds of their results of a float32.
_OF_BITS = {"asuint": "uint", "asint": "int", "asfloat": "exact"}

_BITS_OF_RESULT = 12
#: Names that Python 3.10 does not have yet: a seed is the same kernel in every Python.
_NEWER = ("math.cbrt", "math.exp2", "math.fma")


def _short(name: str) -> str:
    return name.removeprefix("precise_").removeprefix("direct3d_")


def _spellings(row: BuiltinRow) -> tuple[str, ...]:
    """Its names in a kernel; a number's own functions are made elsewhere."""
    own = ("math.", "amp.")
    dotted = [n if n.startswith(own) else f"amp.{n}" for n in row.python if "." in n and n not in _NEWER]
    return tuple(dotted + [n for n in row.python if "." not in n])


def _results(reference: Any, domains: tuple[Domain, ...]) -> list[float]:
    with np.errstate(all="ignore"):
        return [float(reference(*values)) for values in itertools.product(*(d.values() for d in domains))]


def _domains(row: BuiltinRow) -> tuple[Domain, ...]:
    known = _DOMAINS.get(_short(row.name))
    if known is not None:
        return known
    if "F" not in row.params:
        return tuple(Domain(plain="uint" if p == "U" else "int") for p in row.params)
    return tuple(_SMALL_INT if p == "I" else _AROUND for p in row.params)


def _kind(row: BuiltinRow, results: list[float]) -> Kind:
    if row.result == "uint32":
        return Kind("uint")
    if row.result in ("int32", "I") or "F" not in row.params:
        return Kind("int")
    size = max(map(abs, results))
    assert math.isfinite(size), row.name
    if row.ulp is None and not row.absolute:
        bits = next((b for b in range(_BITS_OF_RESULT) if all((r * 2**b) % 1 == 0 for r in results)), None)
        if bits is not None:
            return Kind("exact", size=size, bits=bits)
    # Four times the bound of the row: its tests' arguments are others.
    error = 4 * ((row.ulp or 1) * size * 2**-23 + row.absolute) + 1e-6
    return Kind("rough", size=size, error=error)


def _rows() -> tuple[list[Row], list[Row], list[Row]]:
    exact: list[Row] = []
    rough: list[Row] = []
    special: list[Row] = []
    for row in BUILTINS.values():
        if row.name in LEFT_OUT or not row.python:
            continue
        if row.name in _ANY_NUMBER:
            exact.append(Row(row.name, _spellings(row), (Domain(plain="int"),) * len(row.params), Kind("int")))
            continue
        if row.name in _OF_BITS:
            kind = Kind(_OF_BITS[row.name], size=4.125, bits=3) if row.name == "asfloat" else Kind(_OF_BITS[row.name])
            exact.append(Row(row.name, _spellings(row), (_AROUND,), kind))
            continue
        if row.result == "bool":
            domain = Domain(special=True, signed="signbit" in row.name)
            special.append(Row(row.name, _spellings(row), (domain,) * len(row.params), Kind("bool")))
            continue
        if _short(row.name) == "fpclassify":
            exact.append(Row(row.name, _spellings(row), (_SPECIAL,), Kind("int")))
            continue
        domains = _domains(row)
        kind = _kind(row, _results(row.reference, domains))
        (rough if kind.base == "rough" else exact).append(Row(row.name, _spellings(row), domains, kind))
    for name, part, index in _PARTS:
        row = BUILTINS[part]
        base = name.rsplit(".", 1)[-1]
        domains = _DOMAINS.get(base) or tuple(_AROUND for _ in row.params)
        if "F" not in row.params:
            domains = _domains(row)
        kind = _kind(row, _results(row.reference, domains))
        (rough if kind.base == "rough" else exact).append(Row(part, (f"amp.{name}",), domains, kind, f"[{index}]"))
    return exact, rough, special


#: Parts of functions with several results: the function, the row, and which result it is.
_PARTS = (
    ("fast_math.modf", "modf_fraction", 0),
    ("precise_math.modf", "precise_trunc", 1),
    ("fast_math.frexp", "frexp_significand", 0),
    ("precise_math.frexp", "frexp_exponent", 1),
    ("precise_math.lgamma", "lgamma_size", 0),
    ("precise_math.lgamma", "lgamma_sign", 1),
    ("precise_math.remquo", "precise_remainder", 0),
    ("precise_math.remquo", "remquo_bits", 1),
    ("fast_math.sincos", "sin", 0),
    ("precise_math.sincos", "precise_cos", 1),
    ("mul_extended", "mul_low", 0),
    ("mul_extended", "mulhi", 1),
    ("add_carry", "add_low", 0),
    ("add_carry", "carry", 1),
    ("sub_borrow", "sub_low", 0),
    ("sub_borrow", "borrow", 1),
)

EXACT_ROWS, ROUGH_ROWS, SPECIAL_ROWS = _rows()
