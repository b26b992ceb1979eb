"""What all functions of one kernel share while they are lowered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, NamedTuple

from vkamp.errors import Span
from vkamp.front.guards import Guard, Place, guard_of
from vkamp.front.signature import ArgType, ElementType
from vkamp.front.values import Value
from vkamp.ir import nodes as ir
from vkamp.ir.types import Scalar, Type


@dataclass(frozen=True)
class VectorEffects:
    """A function's effects on vectors and index objects that it shares with its caller in Python."""

    #: For each number of the result, the parameters whose object it may be; empty for a copy of an element or part.
    returned: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    #: Numbers of the result that may be one object, and the first of them.
    alike: Mapping[int, int] = field(default_factory=dict)
    #: Parameters whose object the function changes: under which name, and where.
    changed: Mapping[int, tuple[str, Span]] = field(default_factory=dict)


@dataclass(frozen=True)
class Instance:
    """A device function lowered for some arguments, with the shape of its result for the caller."""

    name: str
    result: Value | None
    result_types: tuple[Type, ...]
    #: Which of the caller's objects it changes: their new values are the last results.
    changed: tuple[int, ...] = ()
    #: The places of the caller that its parameters refer to.
    roots: Mapping[str, int] = field(default_factory=dict)
    #: For each struct of the result, the places that it may be.
    origins: Mapping[int, tuple[ir.Place, ...]] = field(default_factory=dict)
    vectors: VectorEffects = field(default_factory=lambda: VectorEffects())
    #: Private arrays that it returns: its last parameters, which each call declares.
    arrays: tuple[ir.Variable, ...] = ()


class Frame(NamedTuple):
    """A function that is being lowered: the Python function around it, the call, and the key that detects recursion."""

    function: FunctionType
    caller: Span | None
    identity: tuple[Any, ...]
    name: str


class ModuleState(NamedTuple):
    """The functions and arrays of a kernel at some point."""

    functions: list[ir.Function]
    function_names: set[str]
    instances: dict[Any, Instance | None]
    tile_statics: list[ir.Variable]


@dataclass
class Module:
    """What all functions of one kernel share."""

    rank: int
    tile: tuple[int, ...] | None
    index_name: str
    #: The lanes of the full subgroups that the kernel requires, if it does.
    subgroup: int | None = None
    buffers: dict[str, ir.BufferParam] = field(default_factory=dict)
    scalars: dict[str, ir.ScalarParam] = field(default_factory=dict)
    #: Elements in memory that the kernel takes by value, by the names of their containers.
    elements: dict[str, ElementType] = field(default_factory=dict)
    #: The tables of constants, by names that no container has.
    tables: dict[str, ir.BufferParam] = field(default_factory=dict)
    tile_statics: list[ir.Variable] = field(default_factory=list)
    functions: list[ir.Function] = field(default_factory=list)
    #: Those of the functions, and of the kernel's own body.
    function_names: set[str] = field(default_factory=lambda: {"main"})
    #: ``None``: the function needs the elements that it would get by value.
    instances: dict[Any, Instance | None] = field(default_factory=dict)
    #: For functions by their ids: the function, and the float types but float32 that it computes with.
    other_floats: dict[int, tuple[ir.Function, frozenset[Scalar]]] = field(default_factory=dict)
    stack: list[Frame] = field(default_factory=list)
    #: By place, name and value: names are looked up again and again.
    guards: dict[tuple[str, int, str, int], Guard] = field(default_factory=dict)
    captures: dict[str, Value] = field(default_factory=dict)
    #: The numbers that a launch passes to device functions: by the id of the module's names and the name, the name
    #: among the captures and the type.
    handed_over: dict[tuple[int, str], tuple[str, ArgType]] = field(default_factory=dict)
    #: Statements before the kernel's first one: they assemble structs that are passed by value.
    prologue: list[ir.Stmt] = field(default_factory=list)
    prologue_variables: list[ir.Variable] = field(default_factory=list)
    #: Captured numbers whose value the kernel needs at compile time.
    constants_needed: set[str] = field(default_factory=set)
    constant_values: dict[str, Any] = field(default_factory=dict)
    #: The ``static_range`` loops of which the body is copied, and those of which it is not.
    copied_loops: frozenset[Span] = frozenset()
    kept_loops: set[Span] = field(default_factory=set)
    #: Those of the latter that are being lowered, the outermost first.
    open_loops: tuple[Span, ...] = ()

    def state(self) -> ModuleState:
        """The functions and arrays so far."""
        return ModuleState(
            list(self.functions), set(self.function_names), dict(self.instances), list(self.tile_statics)
        )

    def restore(self, state: ModuleState) -> None:
        """Forgets the functions and arrays since."""
        self.functions, self.function_names, self.instances, self.tile_statics = state

    def guard(self, name: str, place: Place, value: Any) -> None:
        """Notes that the kernel depends on the value of a name."""
        key = place[0], id(place[1]), name, id(value)
        if key not in self.guards:
            self.guards[key] = guard_of(name, place, value)

    def unique_function(self, name: str) -> str:
        """A function name not yet taken."""
        unique = unique_name(name, self.function_names)
        self.function_names.add(unique)
        return unique

    def unique_tile_static(self, name: str) -> str:
        """A tile_static name not yet taken, in the kernel."""
        return unique_name(name, {v.name for v in self.tile_statics})


def unique_name(name: str, taken: set[str]) -> str:
    """A name that is not among those taken."""
    candidate, n = name, 2
    while candidate in taken:
        candidate, n = f"{name}_{n}", n + 1
    return candidate
