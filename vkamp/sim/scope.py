"""Translation of one function: its names, the sites that can fail, constants."""

from __future__ import annotations

import ast
import keyword
import re
from abc import ABC, abstractmethod
from typing import Any

from vkamp.errors import Span
from vkamp.findings import AccessKind
from vkamp.ir import nodes as ir
from vkamp.ir.types import Struct, Type, Vector, scalar_fields
from vkamp.sim.faults import Site
from vkamp.sim.memory import LETTERS, Layout, words_of
from vkamp.sim.program import Mode, TranslatedProgram
from vkamp.sim.trees import name_of


class Scope(ABC):
    """The state that the translations of places, expressions and statements share."""

    def __init__(self, program: TranslatedProgram, function: ir.Function, waiting: set[str], mode: Mode) -> None:
        self.program = program
        self.kernel = program.kernel
        self.function = function
        self.waiting = waiting
        self.races = mode.races
        self.switches = mode.switches
        self.trace = mode.trace
        self.names: dict[str, str] = {}
        self.temporaries = 0

    @abstractmethod
    def expr(self, node: ir.Expr) -> ast.expr:
        """The Python expression of an IR expression, at its source position."""

    def local(self, name: str) -> str:
        """The Python name of a local variable: its name in the source, unless that clashes."""
        if name not in self.names:
            text = re.sub(r"\W", "_", name)
            if text.startswith("_") or keyword.iskeyword(text) or text[:1].isdigit():
                text = f"v{text}"
            while text in self.names.values():
                text += "_"
            self.names[name] = text
        return self.names[name]

    def temporary(self, letter: str) -> str:
        """A name for a value that is used twice. It is unique, since such expressions nest."""
        self.temporaries += 1
        return f"_{letter}{self.temporaries}_"

    def site(
        self,
        span: Span,
        variable: str = "",
        access: AccessKind = "read",
        kind: Type | None = None,
        *,
        is_buffer: bool = False,
        text: str = "",
        view_rank: int = 0,
        value: Type | None = None,
    ) -> int:
        """The number of a new site."""
        self.program.sites.append(Site(span, variable, access, kind, is_buffer, text, view_rank, value))
        return len(self.program.sites) - 1

    def constant(self, prefix: str, value: Any) -> ast.expr:
        """A name for a value that has no Python literal; it differs from the names of temporaries."""
        name = f"_{prefix}_{len(self.program.constants)}_"
        self.program.constants[name] = value
        return name_of(name)

    def words_of(self, kind: Type) -> int:
        """The size of a type in words of memory."""
        return words_of(kind, self.program.unit)

    def layout(self, kind: Struct | Vector) -> ast.expr:
        """The scalars of a struct or vector in memory, for copying."""
        unit = self.program.unit
        layout: Layout = tuple((o // unit, LETTERS[s.name]) for _, s, o in scalar_fields(kind))
        return self.constant("y", layout)

    @staticmethod
    def assign_name(name: str, value: ast.expr) -> ast.stmt:
        return ast.Assign([ast.Name(name, ast.Store())], value)
