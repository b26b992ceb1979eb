"""The nodes of the IR: pure expressions, places in memory, statements with effects, structured control flow.

Nodes are frozen; passes build new ones.  A field's annotation says what it is: an :class:`Expr` or :class:`Place` is
an operand, a tuple of statements (``Block``) a nested block, a :class:`Variable` of a statement a result that it
assigns, anything else an attribute.  A place that a statement may change is marked as ``_CHANGED``.  The functions of
``vkamp.ir.traversal`` read that: what a statement uses and defines is declared nowhere else.  Every node has a
``span``.

Evaluation order: expressions have no effects, except that a :class:`Load` sees the memory of the moment its
statement runs; the front end puts effects (atomics, calls) into statements of their own, in Python's order.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

from vkamp.errors import Span
from vkamp.ir.fences import Fence
from vkamp.ir.subgroups import IndexKind
from vkamp.ir.traversal import FIELDS, held
from vkamp.ir.traversal import Block as Block
from vkamp.ir.traversal import Expr as Expr
from vkamp.ir.traversal import Node as Node
from vkamp.ir.traversal import Place as Place
from vkamp.ir.traversal import Stmt as Stmt
from vkamp.ir.traversal import Variable as Variable
from vkamp.ir.traversal import attributes as attributes
from vkamp.ir.traversal import blocks as blocks
from vkamp.ir.traversal import children as children
from vkamp.ir.traversal import handlers as handlers
from vkamp.ir.traversal import map_block as map_block
from vkamp.ir.traversal import map_blocks as map_blocks
from vkamp.ir.traversal import map_operands as map_operands
from vkamp.ir.traversal import map_variables as map_variables
from vkamp.ir.traversal import own_nodes as own_nodes
from vkamp.ir.traversal import results as results
from vkamp.ir.traversal import snake_case as snake_case
from vkamp.ir.traversal import transform as transform
from vkamp.ir.traversal import walk as walk
from vkamp.ir.traversal import walk_statements as walk_statements
from vkamp.ir.types import INT32, Array, Scalar, Struct, Type, structs_among

_T = TypeVar("_T")

# -- declarations (no nodes of the tree) ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """A table of constants: its shape, and the bytes of its elements."""

    shape: tuple[int, ...]
    data: bytes


@dataclass(frozen=True)
class BufferParam:
    """A captured array or view: ``rank`` dimensions of ``element``.

    ``readonly``: the program may not write it.  ``dense``: offset 0 and row-major, so that its extent alone gives its
    layout.  ``storage``: parameters with one number share memory and may overlap.  ``unit``: neighbours of the last
    dimension are neighbours in memory, whatever the launch says.  ``by_value``: the kernel takes only element 0 of
    it, which nothing changes during the launch.  ``table``: of a table of constants, which no launch passes, its
    elements.
    """

    name: str
    element: Type
    rank: int
    readonly: bool
    dense: bool
    storage: int
    span: Span = dataclasses.field(repr=False, compare=False)
    unit: bool = dataclasses.field(default=False, repr=False)
    by_value: bool = dataclasses.field(default=False, repr=False)
    table: Table | None = dataclasses.field(default=None, repr=False)

    def extent(self, dim: int, span: Span) -> Expr:
        """A component of its extent."""
        if self.table is not None:
            return Const(span, INT32, self.table.shape[dim])
        return BufferExtent(span, INT32, self.name, dim)


@dataclass(frozen=True)
class ScalarParam:
    """A value captured at launch: the same for every thread, never written."""

    name: str
    type: Scalar
    span: Span = dataclasses.field(repr=False, compare=False)


# -- expressions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Const(Expr):
    """A literal; ``value`` is a Python bool, int or float that the type can hold."""

    value: bool | int | float


@dataclass(frozen=True, repr=False)
class ScalarValue(Expr):
    """The value of a :class:`ScalarParam`."""

    name: str


@dataclass(frozen=True, repr=False)
class ThreadIndex(Expr):
    """A component of ``t_idx``: ``kind`` is ``global``, ``local``, ``tile`` or ``tile_origin``; int32.

    An untiled kernel has only ``global``.  In a kernel whose threads are loops there are ``tile``,
    ``tile_origin`` and ``lane``: which of the tile's lanes runs.
    """

    kind: Literal["global", "local", "tile", "tile_origin", "lane"]
    dim: int


@dataclass(frozen=True, repr=False)
class SubgroupIndex(Expr):
    """What the thread knows of its subgroup: a row of the indices in ``vkamp.ir.subgroups``; int32."""

    kind: IndexKind


@dataclass(frozen=True, repr=False)
class BufferExtent(Expr):
    """Component ``dim`` of a captured container's extent; int32."""

    buffer: str
    dim: int


@dataclass(frozen=True, repr=False)
class Unary(Expr):
    """``neg``, ``invert`` (of the operand's type) or ``not`` (bool)."""

    op: Literal["neg", "invert", "not"]
    operand: Expr


@dataclass(frozen=True, repr=False)
class Binary(Expr):
    """Arithmetic; both operands have the result's type (shifts: the count is int32 or uint32).

    ``div`` is float division; ``floordiv`` and ``floormod`` round towards minus infinity, ``tdiv`` and ``trem``
    (integers) towards zero as C does; integers wrap; ``bit*`` work on integers and, bitwise, on bools.
    For short vectors it works component by component, with ``div`` and without floors; both operands, including a shift
    count, have the vector's type.
    """

    op: Literal[
        "add", "sub", "mul", "div", "floordiv", "floormod", "tdiv", "trem",
        "shl", "shr", "bitand", "bitor", "bitxor",
    ]  # fmt: skip
    left: Expr
    right: Expr


@dataclass(frozen=True, repr=False)
class Compare(Expr):
    """A comparison of two operands of one type; bool.

    Short vectors have ``eq`` (all components are equal) and its negation ``ne``.
    """

    op: Literal["eq", "ne", "lt", "le", "gt", "ge"]
    left: Expr
    right: Expr


@dataclass(frozen=True, repr=False)
class Logical(Expr):
    """Short-circuit ``and`` / ``or`` of bools."""

    op: Literal["and", "or"]
    left: Expr
    right: Expr


@dataclass(frozen=True, repr=False)
class Select(Expr):
    """``then if condition else orelse``; only the chosen side is evaluated."""

    condition: Expr
    then: Expr
    orelse: Expr


@dataclass(frozen=True, repr=False)
class Cast(Expr):
    """A conversion between scalars as C does it (float to integer truncates; to bool: ``!= 0``).

    Or one between short vectors of one length, component by component.
    """

    operand: Expr


@dataclass(frozen=True, repr=False)
class Builtin(Expr):
    """A call of a pure row of the table in ``vkamp.ir.builtins``; ``name`` is the row's."""

    name: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, repr=False)
class Construct(Expr):
    """A short vector of its components, or of one scalar for all of them."""

    parts: tuple[Expr, ...]


@dataclass(frozen=True, repr=False)
class Swizzle(Expr):
    """Distinct components of a short vector's value, in the order of ``letters`` (of ``xyzw``); one is a scalar."""

    operand: Expr
    letters: str


@dataclass(frozen=True, repr=False)
class ItemIndex(Expr):
    """``index``, which must be from 0 to below ``extent``, the number of items of the tuple ``name``.

    A device does not check it.
    """

    index: Expr
    extent: int
    name: str


@dataclass(frozen=True, repr=False)
class Load(Expr):
    """The value at a place."""

    place: Place


#: What a thread is given: expressions whose value stays the same while it runs.
GIVEN = (ScalarValue, ThreadIndex, SubgroupIndex, BufferExtent)


# -- places --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Local(Place):
    """A whole local variable or parameter."""

    variable: Variable


def read_local(expr: Node) -> Local | None:
    """The local that an expression is a read of, if it is that alone."""
    return expr.place if isinstance(expr, Load) and isinstance(expr.place, Local) else None


@dataclass(frozen=True, repr=False)
class BufferElement(Place):
    """An element of a captured container, by one int32 or uint32 index per dimension of its extent."""

    buffer: str
    indices: tuple[Expr, ...]


@dataclass(frozen=True, repr=False)
class ArrayElement(Place):
    """An element of an array (tile_static, private, parameter, or a struct's subarray).

    ``base`` is the :class:`Local` of the variable or a :class:`FieldOf`; its type is the array.  There is one index
    per dimension (none for shape ``()``).
    """

    base: Place
    indices: tuple[Expr, ...]


@dataclass(frozen=True, repr=False)
class FieldOf(Place):
    """A member of a struct at ``base``."""

    base: Place
    name: str


@dataclass(frozen=True, repr=False)
class ComponentsOf(Place):
    """Distinct components of the short vector at ``base``, in the order of ``letters`` (of ``xyzw``).

    One is a scalar, more are a vector.  ``base`` is never of this class itself.
    """

    base: Place
    letters: str


@dataclass(frozen=True, repr=False)
class Reinterpreted(Place):
    """Element ``index`` of the memory that begins at ``base``, read as a row of elements of ``type``.

    ``base`` is an element of a container or array, possibly of another type and size; the elements from it on have no
    gaps.  In an array both types are scalars of one size; in a container ``base`` is at a whole number of elements of
    ``type``.
    """

    base: Place
    index: Expr


@dataclass(frozen=True, repr=False)
class ViewElement(Place):
    """The element at ``indices`` of a view that the kernel made, whose extent is ``extent``; it is stored at ``base``.

    Each index must be from 0 to below its extent; a device does not check it.
    """

    base: Place
    indices: tuple[Expr, ...]
    extent: tuple[Expr, ...]


# -- statements ----------------------------------------------------------------------------------------------------


#: Marks the field of a statement that holds places which the statement may change.
_CHANGED = {"changed": True}


@dataclass(frozen=True, repr=False)
class Declare(Stmt):
    """Here a private or tile_static array begins; its contents are indeterminate."""

    variable: Variable


@dataclass(frozen=True, repr=False)
class Assign(Stmt):
    """``place = value``; the types are equal.  ``update`` marks an augmented assignment (``place op= ...``)."""

    place: Place = dataclasses.field(metadata=_CHANGED)
    value: Expr
    update: bool = False


@dataclass(frozen=True, repr=False)
class If(Stmt):
    """A branch on a bool."""

    condition: Expr
    then: Block
    orelse: Block


@dataclass(frozen=True, repr=False)
class For(Stmt):
    """``for variable in range(start, stop, step)``: bounds are evaluated once, before the loop.

    The variable gets the counter's value at the start of each iteration and may be changed in the body without
    effect on the iteration.  A step of 0 gives no iteration.  ``unroll`` asks the driver to unroll it.
    """

    variable: Variable
    start: Expr
    stop: Expr
    step: Expr
    body: Block
    unroll: bool = False


@dataclass(frozen=True, repr=False)
class While(Stmt):
    """``while condition``; a condition that needs statements is ``while True`` with a leading ``if``-``break``."""

    condition: Expr
    body: Block


class Break(Stmt):
    """Leaves the innermost loop."""


class Continue(Stmt):
    """Goes to the next iteration of the innermost loop."""


@dataclass(frozen=True, repr=False)
class Return(Stmt):
    """Leaves the function; the kernel returns nothing."""

    values: tuple[Expr, ...] = ()


#: The statements that end a block: control never comes to what follows them.
JUMPS = (Break, Continue, Return)


@dataclass(frozen=True, repr=False)
class Barrier(Stmt):
    """A fence of the table in ``vkamp.ir.fences``, waiting or not."""

    fence: Fence


@dataclass(frozen=True, repr=False)
class Atomic(Stmt):
    """A row of the atomics table at an integer (exchange: also float32) element.

    ``result`` gets the old value (compare_exchange: bool); for compare_exchange ``expected`` is the local that is
    compared and then holds the value read.  ``order``: of an ordered load or store, whose fence is a statement beside
    it; for what judges races.  ``is_access``: it is written as a load (``or`` with 0) or a store (``exchange``), which
    devices do sooner than a change.
    """

    name: str
    place: Place = dataclasses.field(metadata=_CHANGED)
    args: tuple[Expr, ...]
    result: Variable | None = None
    expected: Local | None = dataclasses.field(default=None, metadata=_CHANGED)
    order: Literal["", "acquire", "release"] = ""
    is_access: bool = False


@dataclass(frozen=True, repr=False)
class Call(Stmt):
    """A call of a device function: arrays (:class:`Local`) go by reference, all else by value."""

    function: str
    args: tuple[Expr | Place, ...] = dataclasses.field(metadata=_CHANGED)
    results: tuple[Variable | None, ...] = ()


@dataclass(frozen=True, repr=False)
class Assert(Stmt):
    """An assertion that check mode and the reference accelerator verify; a device ignores it."""

    condition: Expr
    message: str = ""


class Operation(Stmt):
    """A statement that computes its results from expressions, and touches neither memory nor control flow.

    The IR printer, the verifier, the checks and check mode's instrumentation handle such a statement by its fields
    alone. A class without a handler needs no further checks, and its results may differ between threads.
    """

    ALIKE: ClassVar[bool] = True


@dataclass(frozen=True, repr=False)
class UniformAssert(Operation):
    """``variable = value``, a scalar that the author says is the same for all threads of the tile.

    All of them come here together.  Check mode and the reference accelerator verify it (floats bit by bit, a NaN is
    like any other); a device that does not check it just assigns.
    """

    variable: Variable
    value: Expr


@dataclass(frozen=True, repr=False)
class Subgroup(Operation):
    """A function of the table in ``vkamp.ir.subgroups``, which all threads of a subgroup reach together.

    ``args`` are of the types that the row names (a lane or distance: uint32).
    """

    name: str
    args: tuple[Expr, ...]
    result: Variable


@dataclass(frozen=True, repr=False)
class MatrixOperation(Stmt):
    """An operation on cooperative matrices, which all threads of a subgroup reach together.

    ``body`` does the same thread by thread, on the elements of each lane (:mod:`vkamp.ir.matrices`): it is what every
    part of the compiler sees that does not know matrices.  A matrix is named by the place of its lane's first element.
    ``fill``: ``args[0]`` in all elements of ``targets[0]``; ``mul_add``: ``targets[0] = args[0] @ args[1] + args[2]``;
    ``convert``: ``targets[0] = args[0]``, possibly of another type; ``map``: ``body`` is a loop over the elements.
    ``load``: ``targets[0]`` from the memory at ``args[0]``; ``store``: ``args[0]`` to that at ``targets[0]``; the other
    two operands are the places (1, 0) and (0, 0) of this memory, whose distance is that of its rows;
    ``transposed``: the matrix's columns are rows of the memory.
    """

    op: Literal["fill", "load", "store", "mul_add", "convert", "map"]
    args: tuple[Expr, ...]
    targets: tuple[Place, ...] = dataclasses.field(metadata=_CHANGED)
    transposed: bool
    body: Block


class Aside(Stmt):
    """A statement for whoever debugs the kernel, which only the reference accelerator runs.

    It changes neither variables nor memory, and control continues after it, so the checks treat all such classes alike.
    """

    ALIKE: ClassVar[bool] = True


@dataclass(frozen=True, repr=False)
class Print(Aside):
    """Text on the standard output: value ``k``, in Python's format ``formats[k]``, follows ``texts[k]``.

    The last of ``texts`` ends it, with the end of the line.
    """

    texts: tuple[str, ...]
    values: tuple[Expr, ...]
    formats: tuple[str, ...]


class Breakpoint(Aside):
    """Stops the thread in Python's debugger."""


@dataclass(frozen=True, repr=False)
class Remark(Stmt):
    """A line for readers of the program; no effect."""

    text: str


# -- functions and kernels -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Function:
    """A device function, specialised for its arguments; ``variables`` are its locals and private arrays.

    ``doc`` says what a function that a pass created does, for people who read the shader.
    """

    name: str
    python_name: str
    params: tuple[Variable, ...]
    results: tuple[Type, ...]
    variables: tuple[Variable, ...]
    body: Block
    span: Span = dataclasses.field(repr=False, compare=False)
    doc: str = dataclasses.field(default="", repr=False, compare=False)


@dataclass(frozen=True)
class Kernel:
    """A whole tile program.

    ``tile`` is the tile's extent, or ``None`` for an untiled domain; ``index_name`` the Python name of the first
    parameter; ``functions`` holds callees before callers; ``constants`` are the compile-time constants that it was
    specialised for, for people to read; ``thread_variables`` are those that all functions of a thread share;
    ``lanes`` the invocations per dimension that run a tile whose threads are loops, ``None``: one for each thread.
    ``views``: if each invocation processes a piece of adjacent elements of an untiled domain, the additional types as
    which it accesses containers. A launch accesses no element in both ways. ``subgroup_size``: the lanes of a subgroup,
    if the kernel is compiled for one size; ``full_subgroups``: it requires subgroups of this size in which each lane
    has a thread. ``apart``: the pairs of tile_static arrays, by name, that are never in use at the same time and may
    share memory.
    """

    name: str
    rank: int
    tile: tuple[int, ...] | None
    index_name: str
    buffers: tuple[BufferParam, ...]
    scalars: tuple[ScalarParam, ...]
    tile_statics: tuple[Variable, ...]
    functions: tuple[Function, ...]
    body: Function
    precise: bool
    constants: tuple[tuple[str, str], ...]
    span: Span = dataclasses.field(repr=False, compare=False)
    thread_variables: tuple[Variable, ...] = ()
    lanes: tuple[int, ...] | None = None
    views: frozenset[tuple[str, Type]] = frozenset()
    subgroup_size: int | None = None
    full_subgroups: bool = False
    apart: frozenset[frozenset[str]] = frozenset()
    #: What :func:`once_per_kernel` keeps.
    facts: dict[Callable[[Kernel], Any], Any] = dataclasses.field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def buffer(self, name: str) -> BufferParam:
        """The container parameter called ``name``."""
        return next(b for b in self.buffers if b.name == name)

    def function(self, name: str) -> Function:
        """The device function called ``name``."""
        return next(f for f in self.functions if f.name == name)

    def statements(self) -> Iterator[Stmt]:
        """Every statement, those of the device functions first."""
        return iter(_statements(self))

    def structs(self) -> tuple[Struct, ...]:
        """Every struct type in use, members before the structs that hold them."""
        return structs_among((*(buffer.element for buffer in self.buffers), *self.declared_types()))

    def declared_types(self) -> Iterator[Type]:
        """The types of all variables and results of functions."""
        yield from (v.type for v in self.tile_statics)
        for function in (*self.functions, self.body):
            yield from (v.type for v in (*function.params, *function.variables))
            yield from function.results


def map_functions(kernel: Kernel, change: Callable[[Function], Function]) -> Kernel:
    """The kernel with ``change`` applied to each function, callees before callers and the kernel's body last."""
    *functions, body = map(change, (*kernel.functions, kernel.body))
    return dataclasses.replace(kernel, functions=tuple(functions), body=body)


def map_kernel(kernel: Kernel, change: Callable[[Node], Node]) -> Kernel:
    """The kernel with ``change`` applied to every node, as :func:`transform` does."""
    return map_functions(kernel, lambda f: dataclasses.replace(f, body=map_block(f.body, change)))


def once_per_kernel(find: Callable[[Kernel], _T]) -> Callable[[Kernel], _T]:
    """Makes each kernel keep the result of a function that passes call repeatedly; the result must not be changed."""

    @functools.wraps(find)
    def kept(kernel: Kernel) -> _T:
        if find not in kernel.facts:
            kernel.facts[find] = find(kernel)
        found: _T = kernel.facts[find]
        return found

    return kept


@once_per_kernel
def _statements(kernel: Kernel) -> tuple[Stmt, ...]:
    return tuple(s for function in (*kernel.functions, kernel.body) for s in walk_statements(function.body))


def root_of(place: Place) -> Local | BufferElement:
    """The variable or container element that a place is a part of."""
    while not isinstance(place, (Local, BufferElement)):
        assert isinstance(place, (ArrayElement, ComponentsOf, FieldOf, Reinterpreted, ViewElement))
        place = place.base
    return place


# -- what statements define ----------------------------------------------------------------------------------------


def changed_places(statement: Stmt) -> tuple[Place, ...]:
    """The places that a statement may change, arrays that it passes to a function among them."""
    fields = FIELDS[type(statement)].changed
    return tuple([p for p in held(statement, fields) if isinstance(p, Place)]) if fields else ()


def definitions(statement: Stmt) -> tuple[Variable, ...]:
    """The variables that a statement gives a new value as a whole: its results, and the places that are variables."""
    places = changed_places(statement)
    whole = (p.variable for p in places if isinstance(p, Local) and not isinstance(p.variable.type, Array))
    return (*results(statement), *whole)


def without_uniform_asserts(block: Block) -> Block:
    """The block as a device runs it: an assertion of uniformity is an assignment."""
    return tuple(map(_without_assert, block))


def _without_assert(statement: Stmt) -> Stmt:
    if isinstance(statement, UniformAssert):
        return Assign(
            statement.span, Local(statement.span, statement.variable.type, statement.variable), statement.value
        )
    return map_blocks(statement, without_uniform_asserts)


def place_name(place: Place) -> str:
    """A place for people, without its indices: ``values``, ``points.x``."""
    if isinstance(place, Local):
        return place.variable.name
    if isinstance(place, BufferElement):
        return place.buffer
    if isinstance(place, FieldOf):
        return f"{place_name(place.base)}.{place.name}"
    if isinstance(place, ComponentsOf):
        return f"{place_name(place.base)}.{place.letters}"
    assert isinstance(place, (ArrayElement, Reinterpreted, ViewElement))
    return place_name(place.base)
