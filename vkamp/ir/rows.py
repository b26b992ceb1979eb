"""What a row of the tables of builtins holds, and how a row's reference is made from a function of doubles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from vkamp.records import dataclass

# Type classes of parameters: all parameters of one class letter get one common type.
#   F  float32, and float64 where the row has a form for it
#   N  a number of 32 or 64 bits   S  a signed one   I  int32 exactly   U  uint32 exactly   Z  int32 or uint32   B  bool
#   H  float16 exactly   D  float64 exactly
TypeClass = Literal["F", "N", "S", "I", "U", "Z", "B", "H", "D"]

#: The scalar types of each class.
CLASSES: dict[str, tuple[str, ...]] = {
    "F": ("float32",),
    "N": ("int32", "uint32", "float32", "int64", "uint64", "float64"),
    "S": ("int32", "float32", "int64", "float64"),
    "I": ("int32",),
    "U": ("uint32",),
    "Z": ("int32", "uint32"),
    "B": ("bool",),
    "H": ("float16",),
    "D": ("float64",),
}


@dataclass(frozen=True)
class DoubleForm:
    """A float row's form for float64: its GLSL (functions in ``doubles.glsl``), its reference, and how far a device
    may be off (float64 ulps; ``None``: equal).
    """

    glsl: str
    reference: Callable[..., Any]
    ulp: float | None = None


@dataclass(frozen=True)
class IntegerForm:
    """A row's function on integers, before the result wraps.

    ``reference``: on Python's integers; ``on_arrays``: on numpy's; ``interval``: the results for intervals of
    arguments; ``atomic``: the atomic that stores such a result, if there is one.
    """

    reference: Callable[..., int]
    on_arrays: Callable[..., Any]
    interval: Callable[..., tuple[int, int]]
    atomic: str = ""


@dataclass(frozen=True)
class BuiltinRow:
    """A pure function.

    ``python``: dotted names relative to ``vkamp`` (``fast_math.sin``), or ``math.*`` / plain names of Python's.
    ``result``: a class letter (the common type of its arguments), a scalar type's name, or ``like int``, ``like uint``,
    ``like float``: the type of that kind that has its first argument's size.
    ``glsl``: a format string over the argument texts, or per scalar type name.  ``ulp``: the largest distance from
    ``reference`` that a device may show in tests (float32 ulps; ``None``: equal), ``absolute`` an alternative bound.
    ``typed``: the reference takes the arguments as numpy scalars of their types.  ``integers``: what is known of
    the function on integers.  ``numpy_differs``: numpy has a function of this name with another meaning.
    ``of_vectors``: its only argument may be a short vector; the result is the vector of the components' results.
    ``native``: a device feature, and the helper for devices that have it.
    """

    name: str
    python: tuple[str, ...]
    params: tuple[TypeClass, ...]
    result: str
    glsl: str | dict[str, str]
    reference: Callable[..., Any]
    doc: str
    samples: tuple[tuple[float, ...], ...]
    ulp: float | None = None
    absolute: float = 0.0
    feature: str | None = None
    helper: str = ""
    double: DoubleForm | None = None
    typed: bool = False
    integers: IntegerForm | None = None
    numpy_differs: bool = False
    of_vectors: bool = False
    native: tuple[str, str] | None = None

    def result_name(self, common: Mapping[str, str]) -> str:
        """The result's type; ``common`` has the type that the parameters of each class letter meet in."""
        like, _, kind = self.result.partition(" ")
        if like == "like":
            return f"{kind}{64 if common[self.params[0]].endswith('64') else 32}"
        return common.get(self.result, self.result)

    def types(self, letter: str) -> tuple[str, ...]:
        """The scalar types that a parameter of a class may have."""
        return (*CLASSES[letter], "float64") if letter == "F" and self.double is not None else CLASSES[letter]

    def glsl_for(self, type_name: str) -> str:
        """The format string for arguments of this scalar type."""
        if self.double is not None and type_name == "float64":
            return self.double.glsl
        return self.glsl if isinstance(self.glsl, str) else self.glsl[type_name]

    def reference_for(self, type_name: str) -> Callable[..., Any]:
        """The reference for arguments of this scalar type."""
        if self.double is not None and type_name == "float64":
            return self.double.reference
        if self.typed:
            dtype = np.dtype(type_name).type
            return lambda *args: self.reference(*map(dtype, args))
        if type_name in ("int64", "uint64"):
            # numpy would compare these as doubles.
            return self.reference if self.integers is None else self.integers.reference
        return self.reference


@dataclass(frozen=True)
class TupleRow:
    """A function with several results: ``parts`` names the row of each; its arguments are evaluated once."""

    name: str
    python: tuple[str, ...]
    parts: tuple[str, ...]
    doc: str


@dataclass(frozen=True)
class AtomicRow:
    """An atomic read-modify-write: ``apply(old, *args)`` is the new value; the result is the old one.

    ``types`` are the scalar types that the element may have; ``operands`` the number of value arguments.
    ``native_float``: the GLSL of a device that has this atomic for float32.
    """

    name: str
    operands: int
    types: tuple[str, ...]
    glsl: dict[str, str] | str
    apply: Callable[..., Any]
    doc: str
    result: Literal["old", "bool"] = "old"
    native_float: str = ""

    def glsl_for(self, type_name: str) -> str:
        """The format string over (element, *args) for elements of this scalar type."""
        return self.glsl if isinstance(self.glsl, str) else self.glsl[type_name]


def float_reference(function: Callable[..., Any]) -> Callable[..., Any]:
    """The reference of a float function: computed in double precision, rounded once."""

    def reference(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.float32(function(*(np.float64(a) for a in args)))

    # Unrounded, for measuring how far a device is off.
    reference.__wrapped__ = function  # type: ignore[attr-defined]
    return reference
