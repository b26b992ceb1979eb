"""Programs as trees: typed expressions and statements that print as Python, and the arguments of a launch. The shrinker
cuts the tree, not the text. Everything that keeps a program defined (a divisor that is not 0, a subscript inside its
array, a shift count) is part of a node's own text around its operands, so that any operand can be replaced by any other
of its kind.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "BOOL",
    "EXACT",
    "INT",
    "RAW",
    "ROUGH",
    "SPECIAL",
    "UINT",
    "Container",
    "Expr",
    "Kind",
    "Lines",
    "Mutant",
    "Program",
    "Stmt",
    "fill",
    "source_of",
]


@dataclass(frozen=True)
class Kind:
    """What an expression gives.

    ``base``: ``int``, ``uint``, ``bool``; floats are ``exact`` (a multiple of 2^-bits of at most ``size``: every
    operation on it is exact, so it may decide a branch or become an integer), ``rough`` (at most ``size``, off by at
    most ``error`` on any device), ``raw`` (any float32, computed with + - * in a precise kernel: the same bits
    everywhere) and ``special`` (infinities, NaN, zeros and a few numbers); ``struct``.
    ``count``: components of a short vector, else 1.
    """

    base: str
    count: int = 1
    size: float = 0.0
    bits: int = 0
    error: float = 0.0
    struct: str = ""

    def takes(self, other: Kind) -> bool:
        """Whether a value of the kind ``other`` may be used where this kind is expected."""
        return (
            (self.base, self.count, self.struct) == (other.base, other.count, other.struct)
            and other.size <= self.size
            and other.bits <= self.bits
            and other.error <= self.error
        )

    @property
    def scalar(self) -> Kind:
        """The kind of a component."""
        return dataclasses.replace(self, count=1)

    def vector(self, count: int) -> Kind:
        """A short vector of it."""
        return dataclasses.replace(self, count=count)

    @property
    def type(self) -> str:
        """How a kernel names the type."""
        if self.base == "struct":
            return self.struct
        word = {"int": "int", "uint": "uint", "bool": "bool"}.get(self.base, "float")
        if self.count > 1:
            return f"amp.{word}{self.count}"
        return {"int": "amp.int32", "uint": "amp.uint32", "bool": "bool"}.get(word, "amp.float32")


INT, UINT, BOOL = Kind("int"), Kind("uint"), Kind("bool")
#: The kinds of variables and elements.
EXACT, ROUGH, RAW, SPECIAL = (
    Kind("exact", size=64, bits=1),
    Kind("rough", size=4096, error=0.01),
    Kind("raw"),
    Kind("special"),
)


@dataclass(frozen=True)
class Expr:
    """An expression: a format string over its operands' texts."""

    kind: Kind
    text: str
    args: tuple[Expr, ...] = ()

    def __str__(self) -> str:
        return fill(self.text, self.args)


def fill(text: str, args: tuple[Expr, ...]) -> str:
    """The format string with the operands' texts in it."""
    return text.format(*map(str, args)) if args else text


Lines = list["Stmt"]


@dataclass
class Stmt:
    """A statement: headers, each a format string with operands, and the block below each (``None``: none).

    ``fixed``: the shrinker keeps the statement as it is.
    """

    parts: list[tuple[str, tuple[Expr, ...], Lines | None]]
    fixed: bool = False

    def lines(self, indent: int) -> Iterator[str]:
        """The statement's text."""
        pad = "    " * indent
        for text, args, block in self.parts:
            for line in fill(text, args).split("\n"):
                yield pad + line if line else ""
            if block is not None:
                if not block:
                    yield pad + "    pass"
                for each in block:
                    yield from each.lines(indent + 1)


@dataclass
class Container:
    """An argument of the launch: its values, and how it is handed over and compared."""

    name: str
    #: A numpy dtype as text for the generated file, and the shape.
    dtype: str
    shape: tuple[int, ...]
    #: ``numbers(seed)`` of ``tools.fuzz.inputs`` makes the contents.
    contents: str
    written: bool = False
    as_array: bool = False
    #: Per row of a ``rough`` result, how far devices may differ.
    tolerances: list[float] = field(default_factory=list)


@dataclass
class Program:
    """A whole module: struct types, functions, the kernel, and one launch of it."""

    seed: int
    precise: bool
    extent: tuple[int, ...]
    tile: tuple[int, ...] | None
    prelude: Lines
    params: list[str]
    containers: list[Container]
    #: By name: (the value, its type as text).
    scalars: dict[str, tuple[Any, str]]
    constants: dict[str, int]
    body: Lines
    #: Whether it has types of 64 bits, which few devices have.
    long: bool = False
    #: A module's whole text, of a kernel that a person wrote; the trees are empty then.
    text: str = ""
    #: The random changes of the text, if there are any; the program may then be invalid.
    changes: tuple[str, ...] | None = None

    @property
    def threads(self) -> int:
        """The number of threads of the launch."""
        total = 1
        for each in self.extent:
            total *= each
        return total


class Mutant(int):
    """The seed of a random change of a kernel that a person wrote."""


def source_of(program: Program) -> str:
    """The program as the text of a Python module."""
    if program.text:
        return program.text
    lines = ["import math", "", "import numpy as np", "", "import vkamp as amp", ""]
    for each in program.prelude:
        lines += ["", *each.lines(0)]
    constants = [f"{name}: amp.constant" for name in program.constants]
    params = [*program.params, *program.scalars, *(["*", *constants] if constants else [])]
    lines += ["", "", "@amp.kernel(precise=True)" if program.precise else "@amp.kernel"]
    lines.append(f"def k({', '.join(params)}):")
    for each in program.body:
        lines += each.lines(1)
    return "\n".join(lines) + "\n"
