"""The state of lowering one function, and the helpers that every part of the front end uses."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, NoReturn, TypeVar

import numpy as np

from vkamp.errors import Note, Span, diagnostic
from vkamp.front import advice
from vkamp.front.counters import Loop
from vkamp.front.module import Module, unique_name
from vkamp.front.refusals import refusal
from vkamp.front.source import Source
from vkamp.front.values import (
    ArrayRef,
    BarrierRef,
    BoundFunction,
    BufferRef,
    Closure,
    Constant,
    Element,
    FieldMethod,
    Functor,
    Memory,
    NoValue,
    Number,
    Object,
    ThreadRef,
    TupleValue,
    Value,
    ViewRef,
    is_none,
    loaded,
    objects_of,
    place_parts,
    view_parts,
    with_place_parts,
    with_view_parts,
)
from vkamp.ir import nodes as ir
from vkamp.ir.types import Array, Fragments, Struct, Type, Vector, is_object
from vkamp.lang.device import MathFunction, MathNamespace, MathTuple
from vkamp.lang.kernel import DeviceFunction
from vkamp.lang.subgroups import SubgroupFunction, SubgroupNamespace
from vkamp.lang.target import TargetFeature, TargetTraits

#: A copy where Python has one object: of a struct or vector that has a name, or of one that is not read again.
Sharing = Literal["named", "moved"]


class NeedsElementsError(Exception):
    """A function changes or returns an element that it received by value: it is lowered again with a reference."""


@dataclass
class Slot:
    """A Python name of the function: one kind of thing, for the whole function.

    ``value`` is a compile-time value (an alias, a constant of an unrolled loop), or a :class:`TupleValue` of elements
    for a tuple or index variable, or the :class:`Element` of a scalar or struct variable.
    """

    value: Value
    span: Span
    #: ``variable`` (assignable), ``alias`` (bound once), ``parameter`` (of a kernel: read-only), ``unrolled``.
    kind: str = "variable"
    #: Where a container, array or view was bound.
    block: list[ir.Stmt] | None = None


_H = TypeVar("_H", bound=Callable[..., Any])
#: Handlers by class of syntax node; the modules of expressions and statements fill it.
_HANDLERS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {}


def handles(*kinds: type[ast.AST]) -> Callable[[_H], _H]:
    """Registers the handler of some classes of expression or statement."""

    def register(handler: _H) -> _H:
        _HANDLERS.update(dict.fromkeys(kinds, handler))
        return handler

    return register


# Many calls ask for the text of their parts, in case that there is an error in them.
_text = lru_cache(maxsize=4096)(ast.unparse)

#: Expressions in each other: beyond it the passes after this one would meet Python's own limit.
_MAX_DEPTH = 100


def contains_load(expr: ir.Expr) -> bool:
    """Whether an expression reads memory that a statement in between could change."""
    return any(isinstance(n, ir.Load) for n in ir.walk(expr))


@dataclass
class LoopExits:
    """What is assigned at the ``break``s and at the ``continue``s of a loop."""

    breaks: list[set[str]] = field(default_factory=list)
    continues: list[set[str]] = field(default_factory=list)
    #: Whether the rest of the iteration is not part of the kernel.
    is_left: bool = False


@dataclass
class UnrolledExits(LoopExits):
    """Those of a loop that is unrolled. The ways out that every iteration takes are known at compile time."""

    #: Of the body, outside of the branches and loops in it.
    depth: int = 0
    #: Where a loop is whose body is lowered once; ``None``: the body is copied.
    kept: Span | None = None
    #: Says that ``break`` has left a copy; ``None`` if the body has no ``continue``.
    flag: ir.Variable | None = None
    #: Whether a copy has ended the loop, whether some may at run time, and whether the last one may be left then.
    stopped: bool = False
    broken: bool = False
    continued: bool = False


@dataclass(eq=False, repr=False)
class Context:
    """Lowering of one function: the block under construction, the names, what is definitely assigned."""

    module: Module
    source: Source
    lookup: Callable[[str, Span], Value | None]
    caller: Span | None = None
    is_kernel: bool = field(kw_only=True)
    block: list[ir.Stmt] = field(default_factory=list, init=False)
    slots: dict[str, Slot] = field(default_factory=dict, init=False)
    local_names: set[str] = field(default_factory=set, init=False)
    variables: list[ir.Variable] = field(default_factory=list, init=False)
    #: Run-time parameters of a device function, in the order of its arguments.
    parameters: list[ir.Variable] = field(default_factory=list, init=False)
    taken: set[str] = field(default_factory=set, init=False)
    #: Structs of the caller that came by value: to change a field of the copy would be lost.
    fixed: set[str] = field(default_factory=set, init=False)
    #: The call whose result a new variable takes, and the variable's name.
    result: tuple[ast.expr, str] | None = field(default=None, init=False)
    #: The call of a function of matrices whose result an assignment stores, and where.
    matrix_target: tuple[ast.expr, ArrayRef] | None = field(default=None, init=False)
    #: Variables of matrices that no name refers to yet.
    new_matrices: set[str] = field(default_factory=set, init=False)
    #: Objects that a constructor made under the name that they are assigned to.
    made_for: dict[str, str] = field(default_factory=dict, init=False)
    #: Variables of objects that no name refers to yet, and of those that more than one may refer to.
    unnamed: set[str] = field(default_factory=set, init=False)
    #: Locals of the compiler's own that have one value from their first assignment on.
    constant_locals: set[str] = field(default_factory=set, init=False)
    aliased: set[str] = field(default_factory=set, init=False)
    #: Subscripts of elements that a name refers to, which branches and loops change.
    moving: set[str] = field(default_factory=set, init=False)
    #: Parameters that are subscripts of elements.
    subscripts: set[str] = field(default_factory=set, init=False)
    #: Copies that Python would not make, by variable and place in the source: of what has a name, and of what has
    #: none any more.
    copies: dict[tuple[str, int, int], Sharing] = field(default_factory=dict, init=False)
    #: For the copies of vectors and index objects, the variables whose object they are in Python.
    objects: dict[tuple[str, int, int], tuple[ir.Local, ...]] = field(default_factory=dict, init=False)
    #: The same for each number that a `return` gives, by place in the source.
    returned: dict[tuple[int, int], list[tuple[ir.Local, ...] | None]] = field(default_factory=dict, init=False)
    #: What calls of nested functions change through their parameters, by function and place in the source.
    changed_objects: dict[tuple[str, int, int], list[tuple[tuple[ir.Local, ...], str, Span]]] = field(
        default_factory=dict, init=False
    )
    #: The first stores of objects' constructors, by place in the source: there a variable gets another object.
    constructed: set[tuple[str, int, int]] = field(default_factory=set, init=False)
    #: Results of a call that may be one object.
    alike_results: set[str] = field(default_factory=set, init=False)
    #: Results of calls that may be one of some structs.
    origins: dict[str, tuple[ir.Place, ...]] = field(default_factory=dict, init=False)
    #: Parameters that are copies of elements: a function that needs the elements is lowered again for them.
    borrowed: set[str] = field(default_factory=set, init=False)
    #: The place of the caller that a parameter refers to.
    roots: dict[str, int] = field(default_factory=dict, init=False)
    #: Components of index objects that are changed, and not rebound, by place in the source; and parameters.
    item_changes: set[tuple[str, int, int]] = field(default_factory=set, init=False)
    index_parameters: set[str] = field(default_factory=set, init=False)
    #: Variables that calls change, by place in the source.
    changed_by_calls: set[tuple[str, int, int]] = field(default_factory=set, init=False)
    #: Variables that keep a float in double precision as well, in case it meets a float64.
    doubles: set[str] = field(default_factory=set, init=False)
    #: Names certainly assigned here; ``None`` where control never comes.
    assigned: set[str] | None = field(default_factory=set, init=False)
    #: Names of loops over containers and arrays: what each loop iterates over.
    elements_of: dict[str, str] = field(default_factory=dict, init=False)
    #: What the innermost loop over a sequence iterates over.
    iterated: ast.expr | None = field(default=None, init=False)
    #: How many ``return``s control can come to.
    reached_returns: int = field(default=0, init=False)
    #: The ways out of the enclosing loops, and those of the loop that was lowered last.
    loops: list[LoopExits] = field(default_factory=list, init=False)
    last_exits: LoopExits | None = field(default=None, init=False)
    #: Names assigned by one statement only.
    once: frozenset[str] = field(default=frozenset(), init=False)
    #: Whether the function never reads the name ``_``: what is assigned to it is discarded.
    discards: bool = field(default=False, init=False)
    #: Names that are bound once, parameters among them, and those that branches or loops rebind.
    once_bound: frozenset[str] = field(default=frozenset(), init=False)
    rebound: frozenset[str] = field(default=frozenset(), init=False)
    #: Names of which each use sees one binding only.
    with_one_binding: frozenset[str] = field(default=frozenset(), init=False)
    #: Names that only loops bind and only their bodies read: each loop has a variable of its own.
    counters: frozenset[str] = field(default=frozenset(), init=False)
    #: The variables of ``static_range`` loops that are lowered once, and the loops around the current statement.
    loop_variables: dict[str, ir.Variable] = field(default_factory=dict, init=False)
    kept_loops: list[Loop] = field(default_factory=list, init=False)
    depth: int = field(default=0, init=False)
    #: The depth at which arrays of a tile may be declared.
    array_depth: int = field(default=0, init=False)
    #: The names of arrays whose memory is free again, with the scope that declares them.
    ended: dict[str, Span] = field(default_factory=dict, init=False)
    #: The statement just lowered, if it always leaves, as known at compile time.
    leaves: ast.stmt | None = field(default=None, init=False)
    #: The number of expressions around the one that is lowered.
    nesting: int = field(default=0, init=False)
    returns: list[tuple[Value | None, Span]] = field(default_factory=list, init=False)

    # -- errors ------------------------------------------------------------------------------------------------

    def span(self, node: ast.AST) -> Span:
        """The position of a syntax node in the user's file."""
        return self.source.span(node, self.caller)

    def fail(self, code: str, where: ast.AST | Span, *, notes: tuple[Note, ...] = (), **fields: Any) -> NoReturn:
        """Raises the diagnostic of a row."""
        span = where if isinstance(where, Span) else self.span(where)
        raise diagnostic(code, span, notes=notes, **fields)

    def text(self, node: ast.AST) -> str:
        """The source text of an expression, on one line."""
        return _text(node)

    # -- statements --------------------------------------------------------------------------------------------

    def statements(self, body: list[ast.stmt]) -> None:
        """Lowers statements into the block under construction, as far as they are reached."""
        for statement in body:
            handler = _HANDLERS.get(type(statement))
            if handler is None:
                self.refuse(statement)
            self.leaves = None
            handler(self, statement)
            if self.leaves is statement or (self.loops and self.loops[-1].is_left):
                return

    def emit(self, statement: ir.Stmt) -> None:
        """Appends a statement to the block under construction."""
        self.block.append(statement)

    @contextmanager
    def nested(self) -> Iterator[list[ir.Stmt]]:
        """Collects statements in a block of their own."""
        outer, self.block = self.block, []
        try:
            yield self.block
        finally:
            self.block = outer

    @contextmanager
    def inner(self) -> Iterator[list[ir.Stmt]]:
        """Collects the statements of a branch or loop."""
        self.depth += 1
        try:
            with self.nested() as block:
                yield block
        finally:
            self.depth -= 1

    @contextmanager
    def conditional(self) -> Iterator[list[ir.Stmt]]:
        """Collects the statements of an expression that may not be evaluated: what it assigns may have no value."""
        assigned = self.assigned
        self.assigned = None if assigned is None else set(assigned)
        try:
            with self.inner() as block:
                yield block
        finally:
            self.assigned = assigned

    def new_variable(
        self, name: str, kind: Type, span: Span, storage: Any = "local", *, temporary: bool = False
    ) -> ir.Variable:
        """Creates a variable with a unique name in this function."""
        unique = unique_name(name, self.taken)
        self.taken.add(unique)
        variable = ir.Variable(unique, kind, storage, span, temporary)
        if storage in ("local", "private"):
            self.variables.append(variable)
        return variable

    def temporary(self, name: str, expr: ir.Expr, at: int | None = None, span: Span | None = None) -> ir.Load:
        """Reads a new local with the value of an expression, as :meth:`local_of` makes it."""
        place = self.local_of(name, expr, at, span)
        return ir.Load(expr.span, expr.type, place)

    def local_of(self, name: str, expr: ir.Expr, at: int | None = None, span: Span | None = None) -> ir.Local:
        """Puts a value into a new local, before statement ``at`` of the block; its later reads see this moment.

        ``span``: where the value is used, if the expression is from another place, such as a variable's definition.
        """
        place = self.new_local(name, expr.type, expr.span)
        self.block.insert(len(self.block) if at is None else at, ir.Assign(span or expr.span, place, expr))
        return place

    def new_local(self, name: str, kind: Type, span: Span) -> ir.Local:
        """A new local of the compiler's own, without a value."""
        return ir.Local(span, kind, self.new_variable(name, kind, span, temporary=True))

    def type_of(self, parameter: str) -> Type:
        """The type of a parameter of this function."""
        return next(p.type for p in self.parameters if p.name == parameter)

    def new_object(self, name: str, kind: Type, span: Span, wanted: str | None = None) -> ir.Local:
        """A variable for a struct that has no name yet; ``wanted`` is the name that it will have."""
        variable = self.new_variable(name, kind, span, temporary=wanted is None)
        self.unnamed.add(variable.name)
        if wanted is not None:
            self.made_for[variable.name] = wanted
        return ir.Local(span, kind, variable)

    def share(
        self,
        variable: ir.Variable,
        span: Span,
        sharing: Sharing = "named",
        objects: tuple[ir.Local, ...] | None = None,
    ) -> None:
        """Notes on the copy into a variable at a place of the source that Python would make none.

        ``objects``: for a vector or an index, the variables whose object it is in Python.
        """
        key = variable.name, span.line, span.column
        self.copies[key] = sharing
        if objects is not None:
            # The copies of an unrolled loop are in one place.
            self.objects[key] = tuple(dict.fromkeys((*self.objects.get(key, ()), *objects)))

    def redirect(self, temporary: ir.Variable, target: ir.Variable) -> bool:
        """Lets the last statement, if it gives a temporary its value, give it to another variable instead."""
        last = self.block[-1] if self.block else None
        if temporary.name in (self.origins.keys() | self.alike_results) or temporary.type != target.type:
            return False
        if isinstance(last, ir.Atomic) and last.result == temporary:
            if last.expected is not None and last.expected.variable == target:
                return False
            self.block[-1] = replace(last, result=target)
        elif isinstance(last, ir.Call) and temporary in last.results:
            if target in last.results:
                return False
            self.block[-1] = replace(last, results=tuple(target if r == temporary else r for r in last.results))
        elif isinstance(last, ir.Operation) and temporary in ir.results(last):
            self.block[-1] = ir.map_variables(last, lambda v: target if v == temporary else v)
        else:
            return False
        self.variables.remove(temporary)
        self.taken.discard(temporary.name)
        self.unnamed.discard(temporary.name)
        return True

    def stable(self, expr: ir.Expr, name: str = "value") -> ir.Expr:
        """The expression itself if it is cheap and can't change, else a temporary that holds it."""
        return expr if isinstance(expr, (ir.Const, *ir.GIVEN)) else self.temporary(name, expr)

    def in_local(self, expr: ir.Expr, name: str = "value") -> ir.Expr:
        """The expression for several reads: a local as it is, anything else as by :meth:`stable`."""
        return expr if ir.read_local(expr) is not None else self.stable(expr, name)

    def bind(self, name: str, slot: Slot) -> None:
        """Makes a name refer to something from here on."""
        self.slots[name] = slot
        self.note_assigned(name)

    def note_assigned(self, name: str) -> None:
        """Notes that a name has a value from here on."""
        if self.assigned is not None:
            self.assigned.add(name)

    def slot_to_assign(self, name: str) -> Slot | None:
        """What a name that is assigned is so far.

        One that is None, such as a parameter that a call leaves out, becomes another thing at the top level of the
        function, where ``if name is None:`` is decided at compile time.
        """
        slot = self.slots.get(name)
        if slot is not None and not self.depth and is_none(slot.value):
            del self.slots[name]
            return None
        return slot

    @property
    def is_unrolled(self) -> bool:
        """Whether an unrolled loop is around the current statement: its copies bind its names again."""
        return any(isinstance(exits, UnrolledExits) for exits in self.loops)

    # -- expressions -------------------------------------------------------------------------------------------

    def expr(self, node: ast.expr) -> Value:
        """Lowers an expression; its effects become statements of the current block."""
        handler: Callable[[Context, ast.expr], Value] | None = _HANDLERS.get(type(node))
        if handler is None:
            self.refuse(node)
        self.nesting += 1
        if self.nesting > _MAX_DEPTH:
            self.fail("VKA118", node)
        try:
            return handler(self, node)
        finally:
            self.nesting -= 1

    def operands(self, *nodes: ast.expr) -> list[Value]:
        """Lowers operands from left to right; values read before a later operand's effect are kept."""
        values: list[Value] = []
        for node in nodes:
            before = len(self.block)
            value = self.expr(node)
            self.keep_all(values, before, [self.span(node) for node in nodes])
            values.append(value)
        return values

    def keep_all(self, values: list[Value], before: int, spans: Sequence[Span | None] | None = None) -> None:
        """Replaces values by those before the statements from ``before`` on, if these may change them.

        ``spans``: where each value is used.
        """
        if self.has_effects(before):
            at = before
            for i, earlier in enumerate(values):
                values[i], at = self.keep(earlier, at, span=None if spans is None else spans[i])

    def kept(self, value: Value, before: int) -> Value:
        """The value before the statements from ``before`` on, if these may change it."""
        return self.keep(value, before)[0] if self.has_effects(before) else value

    def has_effects(self, at: int) -> bool:
        """Whether the block's statements from ``at`` on may change what was read before; some never do."""
        return any(not isinstance(statement, ir.Operation) for statement in self.block[at:])

    def keep(self, value: Value, at: int, *, in_index: bool = False, span: Span | None = None) -> tuple[Value, int]:
        """The value as it is before statement ``at``; ``in_index``: a component of an index or extent.

        ``span``: where the value is used.
        """
        if isinstance(value, Element):
            if isinstance(value.place.type, Struct):
                place, at = self.keep_place(value.place, at)
                return Element(place), at
            value = Number(loaded(value.place, value.place.span), objects=objects_of(value))
        if isinstance(value, Memory):
            parts = view_parts(value)
            for i, part in enumerate(parts):
                if contains_load(part):
                    parts[i], at = self.temporary("at", part, at), at + 1
            return with_view_parts(value, iter(parts)), at
        if isinstance(value, Number) and contains_load(value.expr):
            if value.objects is None and self._is_constant(value.expr):
                return value, at
            held, place = self._held(value, "value", at, in_index=in_index, span=span)
            self.constant_locals.add(place.variable.name)
            return held, at + 1
        if isinstance(value, TupleValue):
            items = []
            for item in value.items:
                kept, at = self.keep(item, at, in_index=value.kind != "tuple", span=span)
                items.append(kept)
            return value.of(items), at
        return value, at

    def _is_constant(self, expr: ir.Expr) -> bool:
        """Whether an expression is a local that has its value for good."""
        local = ir.read_local(expr)
        return local is not None and local.variable.name in self.constant_locals

    def held(
        self, value: Number, name: str, at: int | None = None, *, in_index: bool = False, span: Span | None = None
    ) -> Number:
        """A number in a variable of the compiler's own; a vector or index stays the object that it is in Python."""
        return self._held(value, name, at, in_index=in_index, span=span)[0]

    def _held(
        self, value: Number, name: str, at: int | None, *, in_index: bool, span: Span | None
    ) -> tuple[Number, ir.Local]:
        place = self.local_of(name, value.expr, at, span)
        kept = ir.Load(value.expr.span, place.type, place)
        if value.objects is None or not (in_index or is_object(kept.type)):
            return Number(kept, value.weak, value.double), place
        self.share(place.variable, span or value.expr.span, objects=value.objects)
        return Number(kept, value.weak, value.double, (place,)), place

    def name_of_result(self, node: ast.expr) -> str | None:
        """The name of the new variable that a call's result is assigned to, if it is."""
        return self.result[1] if self.result is not None and self.result[0] is node else None

    def host_object(self, value: Any, node: ast.expr, attribute: str | None = None) -> NoReturn:
        """Raises the error for a Python object that a kernel has no use for, nor for its ``attribute``."""
        name = self.text(node)
        help_text = advice.host_advice(value, name, captured=True, attribute=attribute)
        if name == "None":
            help_text = "use a number that means the same, such as -1, or a bool variable"
        elif value is None and name in self.slots:
            help_text = (
                f"test it first, `if {name} is not None:`, or begin with a number that means the same, such as -1"
            )
        self.fail("VKA205", node, name=name, what=advice.host_object(value), advice=help_text)

    def keep_place(self, place: ir.Place, at: int) -> tuple[ir.Place, int]:
        """A place that effects may change, but not which one it is."""
        parts = place_parts(place)
        for i, part in enumerate(parts):
            if contains_load(part):
                parts[i], at = self.temporary("at", part, at), at + 1
        return with_place_parts(place, iter(parts)), at

    def refuse(self, node: ast.AST) -> NoReturn:
        """Raises the error for syntax that the language does not have."""
        what, help_text = refusal(node, nested=len(self.module.stack) > 1)
        self.fail("VKA101", node, what=what, advice=help_text)

    # -- values ------------------------------------------------------------------------------------------------

    def describe(self, value: Value) -> str:
        """A value in a user's words."""
        if isinstance(value, Constant):
            if isinstance(value.value, bool):
                return str(value.value)
            # Python refuses to print very long integers.
            long = isinstance(value.value, int) and value.value.bit_length() > 256
            return "a long integer" if long else f"the number {value.value}"
        if isinstance(value, (Number, Element, ArrayRef)):
            return self._describe_typed(value)
        if isinstance(value, TupleValue):
            if value.cls is not None:
                return f"an object of class {value.cls.__name__}"
            if value.kind == "tuple":
                return f"a tuple of {len(value.items)}"
            return f"an {value.kind} of rank {len(value.items)}"
        if isinstance(value, ThreadRef):
            return f"{'an index' if self.module.tile is None else 'a tiled_index'} of rank {self.module.rank}"
        if isinstance(value, BufferRef):
            return (
                f"a part of rank {value.rank} of a container" if value.prefix else f"a container of rank {value.rank}"
            )
        if isinstance(value, ViewRef):
            return f"a view of rank {value.rank}"
        if isinstance(value, Object):
            return self._describe_object(value.value)
        if isinstance(value, Functor):
            return f"an object of class {value.kind.cls.__name__}"
        words = {
            BarrierRef: "a barrier", FieldMethod: "a method", BoundFunction: "a method", Closure: "a function",
            NoValue: "nothing",
        }  # fmt: skip
        return words[type(value)]

    def _describe_typed(self, value: Number | Element | ArrayRef) -> str:
        kind = value.expr.type if isinstance(value, Number) else value.place.type
        if isinstance(value, ArrayRef) and isinstance(kind, Fragments):
            return "an array of matrices" if value.rank > 1 else "a matrix"
        if isinstance(value, ArrayRef) and isinstance(kind, Array):
            shape = ", ".join(map(str, kind.shape[len(value.prefix) :]))
            return f"an array of shape ({shape}{',' if len(kind.shape) - len(value.prefix) == 1 else ''})"
        if isinstance(kind, Struct) and kind.cls is not None:
            return advice.with_article(kind)
        fields = self.fields_of(value)
        return f"a struct of {', '.join(f'`{f}`' for f in fields)}" if fields else advice.with_article(kind)

    @staticmethod
    def vector_of(value: Value) -> Vector | None:
        """The type of a value that is a short vector."""
        if not isinstance(value, (Number, Element)):
            return None
        kind = value.expr.type if isinstance(value, Number) else value.place.type
        return kind if isinstance(kind, Vector) else None

    @staticmethod
    def _describe_object(value: Any) -> str:
        if isinstance(value, (DeviceFunction, MathFunction, MathTuple, SubgroupFunction, TargetFeature)):
            return "a function"
        if isinstance(value, (MathNamespace, SubgroupNamespace)):
            return "a group of functions"
        if isinstance(value, TargetTraits):
            return "a group of traits of the device"
        if isinstance(value, type) and issubclass(value, (np.generic, int, float)):
            return "a type"
        return advice.host_object(value)

    @staticmethod
    def fields_of(value: Value) -> tuple[str, ...]:
        """The names of a struct's fields; empty for anything else."""
        kind = value.place.type if isinstance(value, (Element, ArrayRef)) else None
        return tuple(f.name for f in kind.fields) if isinstance(kind, Struct) else ()
