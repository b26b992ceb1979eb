"""The IR verifier: what every pass may rely on, checked after each of them under test.

It checks types, names, places, and the structure of control flow; it does not check semantics (uniformity, races).
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping
from typing import NoReturn

from vkamp.errors import Span
from vkamp.ir import lowered
from vkamp.ir import nodes as ir
from vkamp.ir.arithmetic import SHIFTS
from vkamp.ir.builtins import ATOMICS, BUILTINS
from vkamp.ir.fences import FENCES, LANE_FENCES
from vkamp.ir.matrices import matrix_at
from vkamp.ir.subgroups import INDICES, SUBGROUPS
from vkamp.ir.types import (
    BOOL,
    FLOAT32,
    INT32,
    SCALARS,
    SMALL,
    UINT32,
    VECTORS,
    Array,
    Fragments,
    PackedVector,
    Scalar,
    Struct,
    Type,
    Vector,
    int_range,
)


class VerificationError(ValueError):
    """Ill-formed IR: a mistake in vkamp itself, never in the program that it compiles."""


def verify(kernel: ir.Kernel, level: str = "source", verified: Container[str] = ()) -> None:
    """Check a kernel but the ``verified`` functions; nodes of :mod:`vkamp.ir.lowered` belong to the level ``lowered``.

    Raises:
        VerificationError: the first thing that is wrong, with the function, the Python line and the
        node.
    """
    _check_kernel(kernel)
    known: dict[str, ir.Function] = {}
    for function in kernel.functions:
        if function.name in known or function.name == kernel.body.name:
            _fail(function.span, f"two functions are called {function.name}")
        if function.name not in verified:
            _FunctionVerifier(kernel, function, known, level).run()
        known[function.name] = function
    body = kernel.body
    if body.params or body.results:
        _fail(body.span, "the kernel's body has parameters or results")
    if body.name not in verified:
        _FunctionVerifier(kernel, body, known, level).run()


def _fail(span: Span, message: str) -> NoReturn:
    raise VerificationError(f"{span}: {message}")


def _unique(names: Iterable[tuple[str, Span]], what: str) -> None:
    seen: set[str] = set()
    for name, span in names:
        if name in seen:
            _fail(span, f"two {what} are called {name}")
        seen.add(name)


def _check_kernel(kernel: ir.Kernel) -> None:
    """The declarations."""
    if kernel.rank < 1:
        _fail(kernel.span, f"rank {kernel.rank}")
    if kernel.tile is not None:
        if len(kernel.tile) != kernel.rank or kernel.rank > 3 or min(kernel.tile) < 1:
            _fail(kernel.span, f"tile {kernel.tile} of a domain of rank {kernel.rank}")
    elif kernel.tile_statics:
        _fail(kernel.span, "tile_static memory in a kernel without tiles")
    if kernel.lanes is not None and (
        kernel.tile is None
        or len(kernel.lanes) != kernel.rank
        or min(kernel.lanes) < 1
        or math.prod(kernel.lanes) > math.prod(kernel.tile)
    ):
        _fail(kernel.span, f"lanes {kernel.lanes} for tile {kernel.tile}")
    containers = [(b.name, b.span) for b in kernel.buffers]
    _unique([*containers, *((s.name, s.span) for s in kernel.scalars)], "captures")
    for buffer in kernel.buffers:
        if buffer.rank < 1 or buffer.element == BOOL or isinstance(buffer.element, Array):
            _fail(buffer.span, f"container {buffer.name}: rank {buffer.rank} of {buffer.element}")
        _check_type(buffer.element, buffer.span)
    for scalar in kernel.scalars:
        if scalar.type not in SCALARS.values():
            _fail(scalar.span, f"scalar {scalar.name} of type {scalar.type}")
    shared = (*kernel.tile_statics, *kernel.thread_variables)
    _unique(((v.name, v.span) for v in shared), "variables of the kernel")
    for variable in kernel.thread_variables:
        if variable.storage != "thread" or variable.type not in SCALARS.values():
            _fail(variable.span, f"{variable.name} is not a thread variable")
    for variable in kernel.tile_statics:
        if variable.storage != "tile_static" or not isinstance(variable.type, Array):
            _fail(variable.span, f"{variable.name} is not a tile_static array")
        _check_type(variable.type, variable.span)


def _check_type(kind: Type, span: Span) -> None:
    """A type that kernels compute with."""
    if isinstance(kind, Scalar):
        if kind not in (*SCALARS.values(), *SMALL.values()):
            _fail(span, f"scalar type {kind}")
    elif isinstance(kind, Vector):
        if kind not in VECTORS.values() and not isinstance(kind, PackedVector):
            _fail(span, f"vector type {kind}")
    elif isinstance(kind, Array):
        if any(n < 1 for n in kind.shape):
            _fail(span, f"shape {kind.shape}")
        _check_type(kind.element, span)
    else:
        _unique(((f.name, span) for f in kind.fields), f"fields of {kind}")
        for member in kind.fields:
            _check_type(member.type, span)


def _completes(block: ir.Block) -> bool:
    """Whether the end of a block can be reached, judged by its structure."""
    return all(_statement_completes(s) for s in block)


def _statement_completes(statement: ir.Stmt) -> bool:
    if isinstance(statement, ir.JUMPS):
        return False
    if isinstance(statement, ir.If):
        if isinstance(statement.condition, ir.Const):
            return _completes(statement.then if statement.condition.value else statement.orelse)
        return _completes(statement.then) or _completes(statement.orelse)
    if isinstance(statement, ir.While):
        endless = isinstance(statement.condition, ir.Const) and bool(statement.condition.value)
        return not endless or _breaks(statement.body)
    return True


def _breaks(block: ir.Block) -> bool:
    """Whether a ``break`` in here leaves the loop around."""
    for statement in block:
        if isinstance(statement, ir.Break):
            return True
        if isinstance(statement, ir.If) and any(map(_breaks, ir.blocks(statement))):
            return True
    return False


_BITS = ("bitand", "bitor", "bitxor")
_FLOAT_VECTOR = ("add", "sub", "mul", "div")
_INTEGER_VECTOR = ("add", "sub", "mul", "tdiv", "trem", *SHIFTS, *_BITS)


class _FunctionVerifier:
    """The checks inside one function."""

    def __init__(
        self,
        kernel: ir.Kernel,
        function: ir.Function,
        known: Mapping[str, ir.Function],
        level: str = "source",
    ) -> None:
        self.is_lowered = level == "lowered"
        self.kernel = kernel
        self.function = function
        self.known = known
        self.buffers = {b.name: b for b in kernel.buffers}
        self.scalars = {s.name: s for s in kernel.scalars}
        self.own = {v.name: v for v in (*function.params, *function.variables)}
        self.shared = {v.name: v for v in (*kernel.tile_statics, *kernel.thread_variables)}
        self.loops = 0

    def run(self) -> None:
        function = self.function
        every = (*function.params, *function.variables)
        _unique(((v.name, v.span) for v in every), f"variables of {function.name}")
        for variable in every:
            _check_type(variable.type, variable.span)
        for parameter in function.params:
            self.expect(parameter.storage == "parameter", parameter, "is not a parameter")
        for variable in function.variables:
            wanted = "private" if isinstance(variable.type, Array) else "local"
            self.expect(variable.storage == wanted, variable, f"should have storage {wanted}")
        for kind in function.results:
            if isinstance(kind, Array):
                _fail(function.span, "an array as a result")
            _check_type(kind, function.span)
        self.block(function.body)
        if function.results and _completes(function.body):
            _fail(function.span, f"{function.name} may end without a return")

    def expect(self, condition: bool, node: ir.Node | ir.Variable, message: str) -> None:
        if not condition:
            self.fail(node, message)

    def fail(self, node: ir.Node | ir.Variable, message: str) -> NoReturn:
        """What is checked often calls this, so that messages are made for failures alone."""
        _fail(node.span, f"in {self.function.name}: {node}: {message}")

    def of_level(self, node: ir.Node) -> None:
        if not self.is_lowered and node.LEVEL != "source":
            self.fail(node, f"belongs to the level {node.LEVEL}")

    def same(self, node: ir.Node, found: Type, wanted: Type) -> None:
        if found is not wanted and found != wanted:
            self.fail(node, f"the type is {found}, not {wanted}")

    # -- statements --------------------------------------------------------------------------------

    def block(self, block: ir.Block) -> None:
        if not isinstance(block, tuple):
            _fail(self.function.span, f"a block is a {type(block).__name__}, not a tuple")
        for statement in block:
            if type(statement) not in STATEMENTS:
                _fail(self.function.span, f"{statement!r} is not a statement")
            STATEMENTS[type(statement)](self, statement)

    def _declare(self, statement: ir.Declare) -> None:
        self.variable(statement.variable, statement)
        stored = statement.variable.storage in ("private", "tile_static")
        self.expect(stored, statement, "only private and tile_static arrays are declared")

    def _assign(self, statement: ir.Assign) -> None:
        self.place(statement.place)
        self.expr(statement.value)
        self.same(statement, statement.value.type, statement.place.type)
        self.expect(not isinstance(statement.place.type, Array), statement, "a whole array")
        self.writable(statement.place)

    def writable(self, place: ir.Place) -> None:
        root = ir.root_of(place)
        if isinstance(root, ir.BufferElement):
            self.expect(not self.buffers[root.buffer].readonly, place, "the container is read-only")

    def _if(self, statement: ir.If) -> None:
        self.condition(statement.condition)
        self.block(statement.then)
        self.block(statement.orelse)

    def condition(self, condition: ir.Expr) -> None:
        self.expr(condition)
        self.same(condition, condition.type, BOOL)

    def _for(self, statement: ir.For) -> None:
        self.variable(statement.variable, statement)
        kind = statement.variable.type
        self.expect(isinstance(kind, Scalar) and kind.is_integer, statement, "no integer counter")
        for bound in (statement.start, statement.stop, statement.step):
            self.expr(bound)
            self.same(bound, bound.type, kind)
        self.loop(statement.body)

    def _while(self, statement: ir.While) -> None:
        self.condition(statement.condition)
        self.loop(statement.body)

    def _repeat_while(self, statement: lowered.RepeatWhile) -> None:
        self.of_level(statement)
        self.loop(statement.body)
        self.condition(statement.condition)

    def loop(self, body: ir.Block) -> None:
        self.loops += 1
        self.block(body)
        self.loops -= 1

    def _break(self, statement: ir.Break | ir.Continue) -> None:
        self.expect(self.loops > 0, statement, "outside a loop")

    _continue = _break

    def _return(self, statement: ir.Return) -> None:
        wanted = self.function.results
        count = len(statement.values)
        self.expect(count == len(wanted), statement, f"{count} values, not {len(wanted)}")
        for value, kind in zip(statement.values, wanted, strict=True):
            self.expr(value)
            self.same(value, value.type, kind)

    def _barrier(self, statement: ir.Barrier) -> None:
        rows = FENCES.values() if self.kernel.lanes is None else (*FENCES.values(), *LANE_FENCES.values())
        known = statement.fence in rows
        self.expect(known, statement, "is not a row of the fences")
        tiled = self.kernel.tile is not None or not statement.fence.waits
        self.expect(tiled, statement, "a barrier in a kernel without tiles")

    def _atomic(self, statement: ir.Atomic) -> None:
        row = ATOMICS.get(statement.name)
        if row is None:
            _fail(statement.span, f"no atomic is called {statement.name}")
        self.place(statement.place)
        self.writable(statement.place)
        kind = statement.place.type
        self.expect(str(kind) in row.types, statement, f"not on {kind}")
        root = ir.root_of(statement.place)
        if isinstance(root, ir.Local):
            shared = root.variable.storage == "tile_static" or self.by_reference(root.variable)
            self.expect(shared, statement, "on memory of one thread")
        if self.is_lowered and kind == UINT32 and any(a.type == FLOAT32 for a in statement.args):
            # Atomics of floats work on the bits.
            kind = FLOAT32
        self.operands(statement, row.operands, kind)
        if statement.result is not None:
            self.variable(statement.result, statement)
            wanted = BOOL if row.result == "bool" else kind
            self.same(statement, statement.result.type, wanted)

    @staticmethod
    def by_reference(variable: ir.Variable) -> bool:
        return variable.storage == "parameter" and isinstance(variable.type, Array)

    def operands(self, statement: ir.Atomic, count: int, kind: Type) -> None:
        """The values of an atomic operation; the expected value of compare_exchange is checked separately."""
        compares = statement.name == "atomic_compare_exchange"
        self.expect((statement.expected is not None) == compares, statement, "`expected`")
        if statement.expected is not None:
            self.place(statement.expected)
            self.same(statement, statement.expected.type, kind)
            count -= 1
        self.expect(len(statement.args) == count, statement, f"not {count} values")
        for argument in statement.args:
            self.expr(argument)
            self.same(argument, argument.type, kind)

    def _call(self, statement: ir.Call) -> None:
        callee = self.callee(statement)
        self.expect(len(statement.results) == len(callee.results), statement, "number of results")
        for target, kind in zip(statement.results, callee.results, strict=True):
            if target is not None:
                self.variable(target, statement)
                self.same(statement, target.type, kind)

    def callee(self, call: ir.Call | lowered.PureCall) -> ir.Function:
        """Checks that the called function exists and has these parameters."""
        callee = self.known.get(call.function)
        if callee is None:
            _fail(call.span, f"{call.function} is not a function defined before this one")
        self.expect(len(call.args) == len(callee.params), call, "number of arguments")
        for argument, parameter in zip(call.args, callee.params, strict=True):
            if isinstance(parameter.type, Array):
                self.expect(isinstance(argument, ir.Local), call, "no array by reference")
            if isinstance(argument, ir.Expr):
                self.expr(argument)
            else:
                self.expect(isinstance(parameter.type, Array), call, "a place as a value")
                self.place(argument)
            self.same(call, argument.type, parameter.type)
        return callee

    def _assert(self, statement: ir.Assert) -> None:
        self.condition(statement.condition)

    def _aside(self, statement: ir.Aside | ir.Operation) -> None:
        for child in ir.children(statement):
            assert isinstance(child, ir.Expr)
            self.expr(child)

    def _operation(self, statement: ir.Operation) -> None:
        self._aside(statement)
        for variable in ir.results(statement):
            self.variable(variable, statement)
            self.expect(variable.storage == "local", statement, "no local variable")

    def _remark(self, statement: ir.Remark) -> None:
        """No operands."""

    def _print(self, statement: ir.Print) -> None:
        counts = len(statement.texts) - 1, len(statement.formats)
        self.expect(counts == (len(statement.values),) * 2, statement, "texts and formats do not fit the values")
        for value in statement.values:
            self.expr(value)

    def _uniform_assert(self, statement: ir.UniformAssert) -> None:
        self.expect(self.kernel.tile is not None, statement, "an assertion of uniformity in a kernel without tiles")
        self._operation(statement)
        self.expect(isinstance(statement.variable.type, Scalar), statement, "no scalar")
        self.same(statement, statement.value.type, statement.variable.type)

    def _subgroup(self, statement: ir.Subgroup) -> None:
        row = SUBGROUPS.get(statement.name)
        if row is None:
            _fail(statement.span, f"no subgroup function is called {statement.name}")
        self._subgroups_exist(statement)
        self._operation(statement)
        self.expect(len(statement.args) == len(row.params), statement, "number of arguments")
        value: Type | None = None
        for param, argument in zip(row.params, statement.args, strict=True):
            if param == "value":
                value = argument.type
                self.expect(str(value) in row.types, argument, f"not of {value}")
            else:
                kinds: dict[str, Type] = {"predicate": BOOL, "ballot": VECTORS["uint4"]}
                self.same(argument, argument.type, kinds.get(param, UINT32))
        found = str(value) if row.result == "value" else row.result
        self.expect(str(statement.result.type) == found, statement, f"gives {found}")

    def _matrix_operation(self, statement: ir.MatrixOperation) -> None:
        self._subgroups_exist(statement)
        for argument in statement.args:
            self.expr(argument)
        for target in statement.targets:
            self.place(target)
        counts = {"fill": (1, 1), "load": (3, 1), "store": (1, 3), "mul_add": (3, 1), "convert": (1, 1), "map": (0, 1)}
        found = len(statement.args), len(statement.targets)
        self.expect(found == counts[statement.op], statement, "number of operands")
        matrices = [] if statement.op in ("fill", "load") else [matrix_at(a) for a in statement.args[:3]]
        matrices += [] if statement.op == "store" else [t for t in statement.targets if isinstance(t, ir.ArrayElement)]
        for matrix in matrices:
            self.expect(isinstance(matrix.base.type, Fragments), statement, "an operand that is not a matrix")
        self.block(statement.body)

    def _subgroups_exist(self, node: ir.Node) -> None:
        self.expect(self.kernel.tile is not None, node, "a subgroup in a kernel without tiles")

    # -- places ------------------------------------------------------------------------------------

    def variable(self, variable: ir.Variable, node: ir.Node) -> None:
        """It is declared in this function, or is tile_static memory or a thread variable of the kernel."""
        if variable.storage in ("tile_static", "thread"):
            if variable.name in self.own:
                self.fail(node, f"{variable.name} is two things here")
            declared = self.shared.get(variable.name)
        else:
            declared = self.own.get(variable.name)
        if declared is not variable and declared != variable:
            self.fail(node, f"{variable} is not declared")

    def place(self, place: ir.Place) -> None:
        if type(place) not in PLACES:
            _fail(self.function.span, f"{place!r} is not a place")
        PLACES[type(place)](self, place)

    def _local(self, place: ir.Local) -> None:
        self.variable(place.variable, place)
        self.same(place, place.type, place.variable.type)

    def _memory_element(self, place: lowered.MemoryElement) -> None:
        self.of_level(place)
        self.expect(place.buffer in self.buffers, place, f"no container is called {place.buffer}")
        self.indices(place, place.indices, 1)

    def _buffer_element(self, place: ir.BufferElement) -> None:
        buffer = self.buffers.get(place.buffer)
        if buffer is None:
            _fail(place.span, f"no container is called {place.buffer}")
        self.indices(place, place.indices, buffer.rank)
        self.same(place, place.type, buffer.element)

    def _array_element(self, place: ir.ArrayElement) -> None:
        self.place(place.base)
        kind = place.base.type
        if self.is_lowered and isinstance(kind, Vector):
            self.indices(place, place.indices, 1)
            self.same(place, place.type, kind.element)
            return
        if not isinstance(kind, Array):
            _fail(place.span, f"an element of {kind}")
        self.expect(isinstance(place.base, (ir.Local, ir.FieldOf)), place, "an element of an element")
        self.indices(place, place.indices, len(kind.shape))
        self.same(place, place.type, kind.element)

    def _field_of(self, place: ir.FieldOf) -> None:
        self.place(place.base)
        kind = place.base.type
        found = kind.field(place.name) if isinstance(kind, Struct) else None
        if found is None:
            _fail(place.span, f"{kind} has no member {place.name}")
        self.same(place, place.type, found.type)

    def _components_of(self, place: ir.ComponentsOf) -> None:
        self.place(place.base)
        self.expect(not isinstance(place.base, ir.ComponentsOf), place, "components of components")
        self.same(place, place.type, self.part(place, place.base.type, place.letters))

    def part(self, node: ir.Node, kind: Type, letters: str) -> Type:
        """The type of some components of a vector."""
        if not isinstance(kind, Vector):
            _fail(node.span, f"components of {kind}")
        distinct = len(set(letters)) == len(letters) > 0
        self.expect(distinct and set(letters) <= set(kind.letters), node, f"{kind} has no components {letters}")
        return kind.part(letters)

    def _reinterpreted(self, place: ir.Reinterpreted) -> None:
        self.place(place.base)
        self.indices(place, (place.index,), 1)
        old, new = place.base.type, place.type
        self.expect(isinstance(place.base, (ir.BufferElement, ir.ArrayElement)), place, "not of elements")
        _check_type(new, place.span)
        self.expect(not isinstance(new, Array), place, "as an array")
        if not isinstance(ir.root_of(place), ir.BufferElement):
            scalars = isinstance(old, Scalar) and isinstance(new, Scalar)
            self.expect(scalars and old.size == new.size, place, f"{old} in an array as {new}")

    def _view_element(self, place: ir.ViewElement) -> None:
        self.place(place.base)
        self.same(place, place.type, place.base.type)
        self.indices(place, place.indices, len(place.extent))
        self.indices(place, place.extent, len(place.indices))

    def indices(self, place: ir.Place, indices: tuple[ir.Expr, ...], rank: int) -> None:
        if len(indices) != rank:
            self.fail(place, f"{len(indices)} indices, not {rank}")
        for index in indices:
            self.expr(index)
            if index.type not in (INT32, UINT32):
                self.fail(place, f"an index of type {index.type}")

    # -- expressions -------------------------------------------------------------------------------

    def expr(self, expr: ir.Expr) -> None:
        if type(expr) not in EXPRESSIONS:
            _fail(self.function.span, f"{expr!r} is not an expression")
        self.of_level(expr)
        self.expect(not isinstance(expr.type, Array), expr, "the value of a whole array")
        EXPRESSIONS[type(expr)](self, expr)

    def scalar(self, expr: ir.Expr) -> Scalar:
        """The scalar type of a checked operand."""
        self.expr(expr)
        if not isinstance(expr.type, Scalar):
            _fail(expr.span, f"{expr}: the type is {expr.type}, no scalar")
        return expr.type

    def number(self, expr: ir.Expr) -> Scalar | Vector:
        """The type of a checked operand that is a scalar or a vector."""
        self.expr(expr)
        if not isinstance(expr.type, (Scalar, Vector)):
            _fail(expr.span, f"{expr}: the type is {expr.type}, no scalar or vector")
        return expr.type

    def _const(self, expr: ir.Const) -> None:
        kind, value = expr.type, expr.value
        if kind == BOOL:
            fits = type(value) is bool
        elif isinstance(kind, Scalar) and kind.is_integer:
            low, high = int_range(kind)
            fits = type(value) is int and low <= value <= high
        else:
            fits = isinstance(kind, Scalar) and type(value) is float
        if not fits:
            self.fail(expr, f"no literal of {kind}")

    def _scalar_value(self, expr: ir.ScalarValue) -> None:
        scalar = self.scalars.get(expr.name)
        if scalar is None:
            _fail(expr.span, f"no scalar is called {expr.name}")
        is_wide = self.is_lowered and scalar.type.is_narrow_float and expr.type == FLOAT32
        self.same(expr, expr.type, FLOAT32 if is_wide else scalar.type)

    def _thread_index(self, expr: ir.ThreadIndex) -> None:
        allowed: tuple[str, ...] = ("global",)
        if self.kernel.lanes is not None:
            allowed = ("tile", "tile_origin", "lane")
        elif self.kernel.tile is not None:
            allowed = ("global", "local", "tile", "tile_origin")
        self.expect(expr.kind in allowed, expr, "no such index")
        self.expect(0 <= expr.dim < self.kernel.rank, expr, "no such dimension")
        self.same(expr, expr.type, INT32)

    def _subgroup_index(self, expr: ir.SubgroupIndex) -> None:
        self._subgroups_exist(expr)
        self.expect(expr.kind in INDICES, expr, "no such index")
        is_known = self.kernel.lanes is None or expr.kind == "lane"
        self.expect(is_known, expr, "an index of subgroups whose threads are loops")
        self.same(expr, expr.type, INT32)

    def _buffer_extent(self, expr: ir.BufferExtent) -> None:
        buffer = self.buffers.get(expr.buffer)
        if buffer is None:
            _fail(expr.span, f"no container is called {expr.buffer}")
        self.expect(0 <= expr.dim < buffer.rank, expr, "no such dimension")
        self.same(expr, expr.type, INT32)

    def _unary(self, expr: ir.Unary) -> None:
        kind = self.number(expr.operand)
        element = kind.element if isinstance(kind, Vector) else kind
        allowed = {"neg": kind != BOOL, "invert": element.is_integer, "not": kind == BOOL}
        self.expect(allowed.get(expr.op, False), expr, f"not on {kind}")
        self.same(expr, expr.type, kind)

    def _binary(self, expr: ir.Binary) -> None:
        left, right = self.number(expr.left), self.number(expr.right)
        if isinstance(left, Vector) or isinstance(right, Vector):
            element = left.element if isinstance(left, Vector) else INT32
            allowed = left == right and expr.op in (_FLOAT_VECTOR if element.kind == "float" else _INTEGER_VECTOR)
        else:
            allowed = self._on_scalars(expr.op, left, right)
        if not allowed:
            self.fail(expr, f"not on {left} and {right}")
        self.same(expr, expr.type, left)

    @staticmethod
    def _on_scalars(op: str, left: Scalar, right: Scalar) -> bool:
        """Whether two scalars have this operation."""
        if op in SHIFTS:
            return left.is_integer and right in (INT32, UINT32)
        if op in _BITS:
            return left == right and left.kind != "float"
        if op == "div":
            return left == right and left.kind == "float"
        if op in ("tdiv", "trem"):
            return left == right and left.is_integer
        return op in ("add", "sub", "mul", "floordiv", "floormod") and left == right and left != BOOL

    def _compare(self, expr: ir.Compare) -> None:
        left, right = self.number(expr.left), self.number(expr.right)
        ordered = expr.op in ("lt", "le", "gt", "ge")
        known = ordered or expr.op in ("eq", "ne")
        allowed = known and left == right and not (ordered and (left == BOOL or isinstance(left, Vector)))
        if not allowed:
            self.fail(expr, f"not on {left} and {right}")
        self.same(expr, expr.type, BOOL)

    def _logical(self, expr: ir.Logical) -> None:
        self.expect(expr.op in ("and", "or"), expr, "no such operation")
        self.condition(expr.left)
        self.condition(expr.right)
        self.same(expr, expr.type, BOOL)

    def _select(self, expr: ir.Select) -> None:
        self.condition(expr.condition)
        for side in (expr.then, expr.orelse):
            self.expr(side)
            self.same(side, side.type, expr.type)

    def _cast(self, expr: ir.Cast) -> None:
        kind = self.number(expr.operand)
        if isinstance(kind, Vector):
            alike = isinstance(expr.type, Vector) and expr.type.count == kind.count
            packs = self.is_lowered and isinstance(expr.type, PackedVector) and expr.type.element == kind.element
            self.expect(alike and (packs or expr.type in VECTORS.values()), expr, f"a cast of {kind}")
        else:
            self.expect(expr.type in (*SCALARS.values(), *SMALL.values()), expr, "a cast to no scalar")

    def _construct(self, expr: ir.Construct) -> None:
        kind = expr.type
        if not isinstance(kind, Vector) or kind not in VECTORS.values():
            _fail(expr.span, f"{expr}: no vector")
        self.expect(len(expr.parts) in (1, kind.count), expr, f"{len(expr.parts)} components")
        for part in expr.parts:
            self.same(part, self.scalar(part), kind.element)

    def _swizzle(self, expr: ir.Swizzle) -> None:
        self.expr(expr.operand)
        self.same(expr, expr.type, self.part(expr, expr.operand.type, expr.letters))

    def _builtin(self, expr: ir.Builtin) -> None:
        row = BUILTINS.get(expr.name)
        if row is None:
            _fail(expr.span, f"no builtin is called {expr.name}")
        self.expect(len(expr.args) == len(row.params), expr, f"not {len(row.params)} arguments")
        common: dict[str, Scalar] = {}
        for argument, letter in zip(expr.args, row.params, strict=True):
            kind = self.scalar(argument)
            self.expect(kind.name in row.types(letter), expr, f"{kind} is not of class {letter}")
            self.same(argument, kind, common.setdefault(letter, kind))
        wanted = SCALARS[row.result_name({letter: kind.name for letter, kind in common.items()})]
        self.same(expr, expr.type, wanted)

    def _item_index(self, expr: ir.ItemIndex) -> None:
        kind = self.scalar(expr.index)
        self.expect(kind.is_integer and expr.extent > 0, expr, f"{kind} as a subscript of {expr.extent} items")
        self.same(expr, expr.type, kind)

    def _load(self, expr: ir.Load) -> None:
        self.place(expr.place)
        self.same(expr, expr.type, expr.place.type)

    def _launch_word(self, expr: lowered.LaunchWord) -> None:
        of_container = expr.kind in ("stride", "offset")
        self.expect((expr.name in self.buffers) == of_container, expr, "no such word")
        self.same(expr, expr.type, INT32 if of_container else UINT32)

    def _bit_cast(self, expr: lowered.BitCast) -> None:
        old, new = self.scalar(expr.operand), expr.type
        self.expect(isinstance(new, Scalar) and old.bits == new.bits, expr, f"the bits of {old}")

    def _pure_call(self, expr: lowered.PureCall) -> None:
        self.expect(self.callee(expr).results == (expr.type,), expr, "other results")

    def _within(self, expr: lowered.Within) -> None:
        self.same(expr, self.scalar(expr.operand), INT32)
        self.expect(expr.kind.is_integer and expr.kind.is_narrow, expr, f"{expr.kind} in an int32")
        self.same(expr, expr.type, INT32)


STATEMENTS = ir.handlers(_FunctionVerifier, ir.Stmt)
EXPRESSIONS = ir.handlers(_FunctionVerifier, ir.Expr)
PLACES = ir.handlers(_FunctionVerifier, ir.Place)
