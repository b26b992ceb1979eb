"""What a launch hands to the compiler: the types of arguments and captures, never their values.

C++ AMP's model: docs/conformance.md, section 9 (what may be captured).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import lru_cache
from types import CellType, FunctionType
from typing import Any, get_args

import numpy as np

from vkamp.front import scopes
from vkamp.front.source import CodeKey, source_of_code
from vkamp.ir.types import Scalar, Struct, Type, Vector, scalar_of_class
from vkamp.lang.target import PREFIX
from vkamp.records import dataclass


@dataclass(frozen=True)
class BufferType:
    """A container: see ``ir.nodes.BufferParam`` for the fields."""

    element: Type
    rank: int
    readonly: bool
    dense: bool
    storage: int
    unit: bool = False


@dataclass(frozen=True)
class ScalarType:
    """A number by value; ``weak``: a captured Python number, which takes the type of the other operand.

    ``double``: a Python float, which is passed in double precision too where the kernel expects that.
    """

    type: Scalar
    weak: bool = False
    double: bool = False


@dataclass(frozen=True)
class IndexType:
    """An ``index`` or ``extent`` by value (``kind`` says which), of ``rank`` components."""

    rank: int
    kind: str


@dataclass(frozen=True)
class StructType:
    """A structured scalar by value."""

    type: Struct


@dataclass(frozen=True)
class ElementType:
    """A container whose ``element`` the kernel takes by value; ``type`` is its type in the kernel."""

    element: Type
    storage: int
    type: Type

    @property
    def by_value(self) -> ScalarType | StructType | VectorType:
        """The same element among the values of the launch."""
        if isinstance(self.type, Scalar):
            return ScalarType(self.type)
        if isinstance(self.type, Vector):
            return VectorType(self.type)
        assert isinstance(self.type, Struct)
        return StructType(self.type)


@dataclass(frozen=True)
class VectorType:
    """A short vector by value."""

    type: Vector


@dataclass(frozen=True)
class ObjectType:
    """A function, type or dtype: part of the program, compared by identity."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectType) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


@dataclass(frozen=True)
class ConstantType:
    """A number that is part of the program, compared by its type and value."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConstantType) and exactly(other.value) == exactly(self.value)

    def __hash__(self) -> int:
        return hash(exactly(self.value))


@dataclass(frozen=True)
class TupleType:
    """A tuple: each item as it would be passed alone.  ``names`` are those of its fields, if they have any."""

    items: tuple[ArgType, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class OperatorType:
    """A function of plain Python, or a lambda: its code, and what it captures.

    Functions of one code and one module are one program; those created again differ in what they captured, which the
    launch passes.  ``function`` has the code and the module alone.
    """

    function: FunctionType = field(compare=False)
    code: CodeKey
    module: int
    #: Captured names and defaults of parameters.
    members: tuple[tuple[str, ArgType], ...]
    #: Whether vectors and index objects are passed by value in Python, too, as those of an ``@amp.func`` are.
    by_value: bool
    #: How many of its first parameters have values, among the members (``functools.partial``).
    bound: int = 0


@dataclass(frozen=True)
class FunctorType:
    """An object with ``@amp.func`` methods: its members are passed as captures are (AMP: a functor)."""

    cls: type
    members: tuple[tuple[str, ArgType], ...]


@dataclass(frozen=True)
class MethodType:
    """A bound method: the ``@amp.func`` and the object."""

    function: ObjectType
    owner: FunctorType


@dataclass(frozen=True)
class HostType:
    """A member that a kernel has no use for: an error where it is named, with these words."""

    what: str
    advice: str


ArgType = (
    BufferType
    | ScalarType
    | IndexType
    | StructType
    | ElementType
    | VectorType
    | ObjectType
    | ConstantType
    | TupleType
    | OperatorType
    | FunctorType
    | MethodType
    | HostType
)


#: The same, for isinstance.
ARG_TYPES = get_args(ArgType)


@dataclass(frozen=True)
class Request:
    """One kernel to compile: the function, the tiling, the types of its arguments and captures.

    ``constants`` are the values of its keyword-only parameters, of functions and tuples their types; ``owner`` is the
    object whose method it is, if any; ``subgroup``: the lanes of the full subgroups that it requires, if it does.
    """

    function: FunctionType
    precise: bool
    rank: int
    tile: tuple[int, ...] | None
    args: tuple[tuple[str, ArgType], ...]
    captures: tuple[tuple[str, ArgType], ...]
    constants: tuple[tuple[str, Any], ...]
    #: The object whose method the kernel is.
    owner: ArgType | None = None
    subgroup: int | None = None


def with_parts(kinds: Iterable[Any]) -> Iterator[Any]:
    """The types of a launch's arguments, each followed later by those of its members or items; objects by value."""
    level = list(kinds)
    while level:
        kind = level.pop(0)
        kind = kind.value if isinstance(kind, ObjectType) else kind
        yield kind
        if isinstance(kind, (OperatorType, FunctorType)):
            level += [member for _, member in kind.members]
        elif isinstance(kind, MethodType):
            level += [kind.function, kind.owner]
        elif isinstance(kind, TupleType):
            level += kind.items


# Caches are keyed by code alone: a function would keep the containers of its closure alive.


@lru_cache(maxsize=1024)
def _names_of_code(key: CodeKey) -> tuple[tuple[str, ...], frozenset[str]]:
    node = source_of_code(key.code).node
    return scopes.free_names(node), scopes.bound_names(node)


def is_trait(name: str) -> bool:
    """Whether a constant of a kernel is a trait of the device (``amp.target``), by its name."""
    return name.startswith(PREFIX)


def free_names(function: FunctionType) -> tuple[str, ...]:
    """The names a function takes from outside, in the order of their first use."""
    return _names_of_code(CodeKey(function.__code__))[0]


def local_names(function: FunctionType) -> frozenset[str]:
    """The parameters and assigned names of a function."""
    return _names_of_code(CodeKey(function.__code__))[1]


@lru_cache(maxsize=1024)
def _counters_of_code(key: CodeKey) -> frozenset[str]:
    return counters_of(source_of_code(key.code).node)


def counters_of(function: ast.FunctionDef) -> frozenset[str]:
    """The names in a function's body that only ``for`` loops bind and only the bodies of these loops read."""
    stored: dict[str, bool] = {}
    #: Names that a loop around binds, and that its body reads after another loop over them.
    read_again: list[str] = []

    def visit(node: ast.AST, inside: frozenset[str]) -> None:
        """Notes for each name whether every use is in a loop over it."""
        names = _loop_names(node.target) if isinstance(node, ast.For) else None
        if isinstance(node, ast.For) and names is not None:
            # A loop in a loop over the same name changes what the outer body reads after it.
            for name in names:
                stored[name] = stored.get(name, True) and name not in read_again
            visit(node.iter, inside)
            again = [name for name in names if _is_read_again(node, name)]
            read_again.extend(again)
            for statement in node.body:
                visit(statement, inside | names)
            del read_again[len(read_again) - len(again) :]
            for statement in node.orelse:
                visit(statement, inside)
            return
        if isinstance(node, scopes.COMPREHENSIONS):
            inside |= scopes.comprehension_names(node)
            for part in scopes.nodes_in(node):
                # The names that it binds are its own.
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                    visit(part, inside)
            return
        if isinstance(node, ast.Name) and (isinstance(node.ctx, ast.Store) or node.id not in inside):
            stored[node.id] = False
        for child in scopes.children(node):
            visit(child, inside)

    if not any(isinstance(node, ast.For) for node in scopes.all_nodes(function)):
        return frozenset()
    for statement in function.body:
        visit(statement, frozenset())
    return frozenset(name for name, kept in stored.items() if kept)


def _is_read_again(loop: ast.For, name: str) -> bool:
    """Whether the body of a loop over a name may read it after another loop over it."""
    inner: list[ast.For] = []
    reads: list[ast.Name] = []
    level: list[ast.AST] = list(loop.body)
    while level:
        node = level.pop()
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            reads.append(node)
        if isinstance(node, ast.For) and name in (_loop_names(node.target) or ()):
            inner.append(node)
            # In its own body the name is the inner loop's.
            level += [node.iter, *node.orelse]
        else:
            level.extend(scopes.children(node))
    repeated = any(isinstance(n, (ast.For, ast.While)) for s in loop.body if s not in inner for n in scopes.nodes_in(s))
    last = max(((r.lineno, r.col_offset) for r in reads), default=(0, 0))
    return any(repeated or last > (i.lineno, i.col_offset) for i in inner) and bool(reads)


def _loop_names(target: ast.expr) -> frozenset[str] | None:
    """The names of a loop's target; ``None`` if it assigns anything but names."""
    if isinstance(target, ast.Name):
        return frozenset((target.id,))
    parts = [_loop_names(part) for part in target.elts] if isinstance(target, (ast.Tuple, ast.List)) else [None]
    return None if None in parts else frozenset().union(*(part for part in parts if part is not None))


def loop_counters(function: FunctionType) -> frozenset[str]:
    """The names that only ``for`` loops bind and only the bodies of these loops read."""
    return _counters_of_code(CodeKey(function.__code__))


_MISSING = object()

_struct_names: dict[tuple[CodeKey, int, np.dtype[Any]], str] = {}


def struct_name(function: FunctionType, dtype: np.dtype[Any]) -> str:
    """The name that a kernel's module or closure has for a structured dtype; ``""`` if it has none."""
    if dtype.names is None:
        return ""
    key = (CodeKey(function.__code__), id(function.__globals__), dtype)
    name = _struct_names.get(key)
    if name is None:
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
        named = [(n, _contents(c)) for n, c in cells] + list(function.__globals__.items())
        name = next((n for n, v in named if isinstance(v, np.dtype) and v == dtype), "")
        _struct_names[key] = name
    return name


def _contents(cell: CellType) -> Any:
    """What a closure's cell holds, if anything yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def read_name(function: FunctionType, name: str) -> tuple[str, Any] | None:
    """The value of a free name: ``("closure" | "global" | "builtin", object)``, or ``None``."""
    code = function.__code__
    if name in code.co_freevars and function.__closure__ is not None:
        cell = function.__closure__[code.co_freevars.index(name)]
        try:
            return "closure", cell.cell_contents
        except ValueError:
            # Not yet assigned; None would be a value.
            return None
    value = function.__globals__.get(name, _MISSING)
    if value is not _MISSING:
        return "global", value
    value = builtins_of(function).get(name, _MISSING)
    return None if value is _MISSING else ("builtin", value)


def builtins_of(function: FunctionType) -> dict[str, Any]:
    """The builtins that a function uses."""
    found: Any = function.__globals__.get("__builtins__", {})
    return found if isinstance(found, dict) else vars(found)


def exactly(value: Any) -> Any:
    """A key that distinguishes constants that compare equal: 0.0 from -0.0, and 1 from True. NaN equals itself."""
    if isinstance(value, tuple):
        return tuple, tuple(map(exactly, value))
    return type(value), repr(value) if isinstance(value, (float, np.floating)) else value


def in_double(name: str) -> str:
    """The name under which a Python float is passed in double precision."""
    return f"{name} float64"


def argument_of(name: str) -> str:
    """The argument that a number of a launch is of: the inverse of :func:`in_double`."""
    return name.partition(" ")[0]


def part_of(name: str, *path: str | int) -> str:
    """The name under which a number of a vector, an index or a struct is passed. No other argument has a colon in its
    name: ``point_x`` may be one beside ``point``.
    """
    return ":".join((name, *map(str, path)))


def holder_of(name: str) -> str:
    """The argument that a number of a vector, an index or a struct is part of: the inverse of :func:`part_of`."""
    return name.partition(":")[0]


def is_number(value: Any) -> bool:
    """Whether a Python object is a number that a kernel can take by value."""
    if isinstance(value, np.generic):
        return is_numpy_number(value)
    return isinstance(value, (bool, int, float))


def is_exact_number(value: Any) -> bool:
    """Whether a Python object is a numpy array without dimensions: a number that keeps the array's type."""
    return isinstance(value, np.ndarray) and value.ndim == 0 and is_numpy_number(value[()])


def is_complex(value: Any) -> bool:
    """Whether a Python object is a complex number that a kernel can take by value."""
    return type(value) in (complex, np.complex64, np.complex128)


def is_numpy_number(value: Any) -> bool:
    """Whether a Python object is a real number or truth value of numpy's, or of a type that extends numpy."""
    kind = type(value)
    if issubclass(kind, (np.bool_, np.number)):
        return not issubclass(kind, np.complexfloating)
    return scalar_of_class(kind) is not None


#: Beyond these a float32 or int32 could not hold a weak number's value.
_FLOAT32_MAX = float(np.finfo(np.float32).max)
_INT32_MAX = 1 << 31


def plain_number(value: Any) -> Any:
    """A number of numpy's float64 or int64 as the number of Python's that it is.

    These are what numpy's functions make of Python's numbers (``np.sqrt(2)``), so that they say nothing about a type;
    numpy's other scalars keep theirs, and so does a number that an int32 or float32 could not hold.  A float64 that is
    an argument stays one: a parameter is never weak, and its digits would be lost.
    """
    if isinstance(value, np.float64) and not (_FLOAT32_MAX < abs(value) < np.inf):
        return float(value)
    if isinstance(value, np.int64) and -_INT32_MAX <= value < _INT32_MAX:
        return int(value)
    return value
