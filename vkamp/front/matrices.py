"""Lowering of cooperative matrices.

A matrix is an immutable value: each function creates a new one, in a private array of the elements that a lane owns. An
assignment copies the matrix to its target, unless a function has just created it: then the function writes to the
target directly.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

from vkamp.front import convert, dtypes, views
from vkamp.front.atomics import check_writable
from vkamp.front.context import Context, Slot
from vkamp.front.functions import call_closure, call_function
from vkamp.front.objects import arguments_by_name
from vkamp.front.operators import is_plain
from vkamp.front.subscripts import memory_item
from vkamp.front.values import (
    ArrayRef,
    Closure,
    Element,
    Memory,
    NoValue,
    Number,
    Object,
    TupleValue,
    Value,
)
from vkamp.ir import nodes as ir
from vkamp.ir.matrices import (
    ACCUMULATORS,
    USES,
    Bodies,
    element_place,
    fragments,
    kind_of,
    problem_of,
)
from vkamp.ir.types import INT32, NUMBERS, VECTORS, Fragments, Scalar, Type, Vector
from vkamp.lang.kernel import DeviceFunction

#: The functions and how they are called.
USAGE = {
    "matrix": ("shape", "dtype", "use", "fill", "count"),
    "matrix_load": ("memory", "position", "shape", "use", "layout", "dtype"),
    "matrix_store": ("m", "memory", "position", "layout"),
    "matrix_mul_add": ("a", "b", "c"),
    "matrix_convert": ("m", "dtype"),
}
NAMES = frozenset({*USAGE, "matrix_map"})


def is_matrix(value: Value) -> bool:
    """Whether a value is one matrix."""
    return isinstance(value, ArrayRef) and isinstance(value.place.type, Fragments) and value.rank == 1


def _fail(ctx: Context, node: ast.AST, what: str, advice: str) -> NoReturn:
    ctx.fail("VKA420", node, what=what, advice=advice)


def call_matrix(ctx: Context, name: str, node: ast.Call) -> Value:
    """A call of one of the functions."""
    if ctx.module.tile is None or ctx.module.subgroup is None:
        help_text = "write `@amp.kernel(subgroup=32)`, and launch the kernel over a tiled domain, `extent.tile(...)`"
        _fail(ctx, node, f"`amp.{name}` needs tiles, and subgroups of a required size", help_text)
    if name == "matrix_map":
        return _map(ctx, node)
    given = arguments_by_name(ctx, node, f"amp.{name}", USAGE[name])
    defaults = {"layout", "dtype"} if name == "matrix_load" else {"use", "fill", "count", "layout"}
    missing = [each for each in USAGE[name] if each not in given and each not in defaults]
    if missing:
        usage = f"amp.{name}({', '.join(n for n in USAGE[name] if n not in defaults)})"
        _fail(ctx, node, f"`amp.{name}` lacks its argument `{missing[0]}`", f"call it as `{usage}`")
    return _FUNCTIONS[name](ctx, node, given)


# -- arguments -----------------------------------------------------------------------------------------------------


def _word(ctx: Context, node: ast.expr | None, default: str, known: tuple[str, ...], what: str) -> str:
    if node is None:
        return default
    value = ctx.expr(node)
    found = value.value if isinstance(value, Object) else None
    if found not in known:
        words = ", ".join(f'"{word}"' for word in known)
        _fail(ctx, node, f"`{ctx.text(node)}` is not a {what} of a matrix", f"write one of {words}")
    assert isinstance(found, str)
    return found


def _sizes(ctx: Context, node: ast.expr, what: str) -> tuple[int, ...]:
    value = ctx.expr(node)
    items = value.items if isinstance(value, TupleValue) else (value,)
    return tuple(convert.constant_int(ctx, item, node, what) for item in items)


def _kind(
    ctx: Context, component: Scalar, shape: ast.expr, use: str, count: tuple[int, ...], node: ast.Call
) -> Fragments:
    """The type of a matrix."""
    sizes = _sizes(ctx, shape, "the shape of a matrix")
    if len(sizes) != 2:
        _fail(ctx, shape, f"the shape of a matrix has {len(sizes)} numbers", "write `(rows, columns)`")
    accumulators = {name for names in ACCUMULATORS.values() for name in names}
    known = accumulators if use == "accumulator" else set(ACCUMULATORS)
    if component.name not in known:
        help_text = f"use {', '.join(sorted(known))}"
        _fail(ctx, node, f'a matrix with the use "{use}" cannot have elements of {component}', help_text)
    assert ctx.module.subgroup is not None
    problem = problem_of(*sizes, use, ctx.module.subgroup)
    if problem is not None:
        _fail(ctx, shape, f"a matrix cannot have this shape: {problem}", "use a shape such as (16, 16)")
    return fragments(component, *sizes, use, ctx.module.subgroup, count)


def _component(ctx: Context, node: ast.expr) -> Scalar:
    found = dtypes.element_dtype(ctx, ctx.expr(node), node)
    if not isinstance(found, Scalar):
        _fail(ctx, node, f"a matrix cannot have elements of {found}", "use a type of numbers")
    return found


def _operand(ctx: Context, value: Value, node: ast.expr, use: str | None = None) -> ir.ArrayElement:
    """The place of a matrix."""
    if not is_matrix(value):
        _fail(
            ctx, node, f"`{ctx.text(node)}` is {ctx.describe(value)}, not a matrix", "pass a matrix made by amp.matrix"
        )
    assert isinstance(value, ArrayRef)
    place = place_of(value, node, ctx)
    kind = kind_of(place)
    if use is not None and kind.use != use:
        _fail(ctx, node, f'`{ctx.text(node)}` has the use "{kind.use}"', f'pass a matrix with the use "{use}"')
    return place


def place_of(value: ArrayRef, node: ast.AST, ctx: Context) -> ir.ArrayElement:
    """The place of a matrix's first element."""
    span = ctx.span(node)
    kind = value.place.type
    assert isinstance(kind, Fragments)
    return ir.ArrayElement(span, kind.element, value.place, (*value.prefix, ir.Const(span, INT32, 0)))


def _read(place: ir.ArrayElement) -> ir.Load:
    return ir.Load(place.span, place.type, place)


def _memory(
    ctx: Context, given: dict[str, ast.expr], *, packed: bool = False
) -> tuple[Callable[[ir.Expr, ir.Expr], ir.Place], Scalar | Vector, tuple[ir.Expr, ir.Expr]]:
    """How to find an element of the memory that a call names, its type, and the position in it.

    ``packed``: it may be of vectors of four words, which contain several elements of the matrix.
    """
    node, where = given["memory"], given["position"]
    memory, position = ctx.operands(node, where)
    if not isinstance(memory, Memory) or memory.rank != 2 or is_matrix(memory):
        help_text = "pass a container, view or tile_static array of rank 2"
        _fail(ctx, node, f"`{ctx.text(node)}` is {ctx.describe(memory)}, from which no matrix can be loaded", help_text)
    element = views.element_type(memory)
    is_packed = packed and element == VECTORS["uint4"]
    if not is_packed and (not isinstance(element, Scalar) or element.name not in NUMBERS):
        _fail(ctx, node, f"a matrix cannot have elements of {element}", "use a type of numbers")
    assert isinstance(element, (Scalar, Vector))
    root = views.root_of(memory)
    if isinstance(root, ArrayRef) and not _is_tile_static(root):
        help_text = "use memory that the threads of a subgroup share: a container or tile_static array"
        _fail(ctx, node, f"`{ctx.text(node)}` is an array of each thread's own", help_text)
    items = position.items if isinstance(position, TupleValue) else ()
    if len(items) != 2:
        _fail(ctx, where, f"`{ctx.text(where)}` is not a position in memory of rank 2", "write `(row, column)`")
    row, column = (ctx.stable(convert.cast(convert.index_expr(ctx, i, where), INT32, ctx.span(where)), n)
                   for i, n in zip(items, ("row", "column"), strict=True))  # fmt: skip

    def element_at(r: ir.Expr, c: ir.Expr) -> ir.Place:
        item = memory_item(memory, (r, c), ctx.span(node))
        assert isinstance(item, Element)
        return item.place

    return element_at, element, (row, column)


def _is_tile_static(array: ArrayRef) -> bool:
    root = ir.root_of(array.place)
    if not isinstance(root, ir.Local):
        return True
    # A parameter may be an array of the tile: bodies of functions are made for each.
    return root.variable.storage in ("tile_static", "parameter")


# -- results -------------------------------------------------------------------------------------------------------


def _target(ctx: Context, kind: Fragments, node: ast.Call) -> tuple[ir.ArrayElement, ArrayRef]:
    """The target of a call's result: the target of the assignment, or a new variable."""
    if ctx.matrix_target is not None and ctx.matrix_target[0] is node:
        known = ctx.matrix_target[1]
        assert isinstance(known.place.type, Fragments)
        if replace(known.place.type, shape=()) == replace(kind, shape=()):
            return place_of(known, node, ctx), known
    named = ctx.result is not None and ctx.result[0] is node
    name = ctx.result[1] if named and ctx.result is not None else "matrix"
    return _new(ctx, name, kind, node, temporary=not named)


def _new(
    ctx: Context, name: str, kind: Fragments, node: ast.AST, *, temporary: bool
) -> tuple[ir.ArrayElement, ArrayRef]:
    span = ctx.span(node)
    variable = ctx.new_variable(name, kind, span, "private", temporary=temporary)
    ctx.emit(ir.Declare(span, variable))
    made = ArrayRef(ir.Local(span, kind, variable))
    ctx.new_matrices.add(variable.name)
    if len(kind.shape) > 1:
        return ir.ArrayElement(span, kind.element, made.place, ()), made
    return place_of(made, node, ctx), made


def _bodies(ctx: Context, node: ast.AST) -> Bodies:
    assert ctx.module.tile is not None and ctx.module.subgroup is not None

    def new(name: str, kind: Type) -> ir.Variable:
        return ctx.new_variable(name, kind, ctx.span(node), temporary=True)

    return Bodies(ctx.span(node), ctx.module.tile, ctx.module.subgroup, new)


def _emit(
    ctx: Context,
    node: ast.AST,
    op: Any,
    args: tuple[ir.Expr, ...],
    targets: tuple[ir.Place, ...],
    body: ir.Block,
    *,
    transposed: bool = False,
) -> None:
    ctx.emit(ir.MatrixOperation(ctx.span(node), op, args, targets, transposed, body))


# -- functions -----------------------------------------------------------------------------------------------------


def _matrix(ctx: Context, node: ast.Call, given: dict[str, ast.expr]) -> Value:
    use = _word(ctx, given.get("use"), "accumulator", USES, "use")
    count = _sizes(ctx, given["count"], "the count of an array of matrices") if "count" in given else ()
    if any(n <= 0 for n in count) or len(count) > 3:
        _fail(ctx, given["count"], f"there is no array of {count} matrices", "use one to three sizes of 1 or more")
    component = _component(ctx, given["dtype"])
    kind = _kind(ctx, component, given["shape"], use, count, node)
    fill: ir.Expr | None = ir.Const(ctx.span(node), kind.element, 0 if component.is_integer else 0.0)
    if "fill" in given:
        fill = _fill(ctx, kind, given["fill"])
    if count:
        named = ctx.result is not None and ctx.result[0] is node
        name = ctx.result[1] if named and ctx.result is not None else "matrices"
        _, made = _new(ctx, name, kind, node, temporary=not named)
        if fill is not None:
            _fill_all(ctx, made, fill, node)
        return made
    place, made = _target(ctx, kind, node)
    if fill is not None:
        _emit(ctx, node, "fill", (fill,), (place,), _bodies(ctx, node).fill(place, fill))
    return made


def _fill(ctx: Context, kind: Fragments, node: ast.expr) -> ir.Expr | None:
    if isinstance(node, ast.Constant) and node.value is None:
        return None
    value = ctx.expr(node)
    element = kind.element
    assert isinstance(element, Scalar)
    return ctx.stable(convert.convert(ctx, convert.number(ctx, value, node), element, node), "fill")


def _fill_all(ctx: Context, made: ArrayRef, fill: ir.Expr, node: ast.Call) -> None:
    """Loops over an array of matrices."""
    kind, bodies = made.place.type, _bodies(ctx, node)
    assert isinstance(kind, Fragments)
    counters = [bodies.fresh(name) for name in "ijk"[: len(kind.shape) - 1]]
    indices = tuple(ir.Load(c.span, INT32, c) for c in counters)
    place = place_of(replace(made, prefix=indices), node, ctx)
    body: ir.Stmt = ir.MatrixOperation(ctx.span(node), "fill", (fill,), (place,), False, bodies.fill(place, fill))
    for counter, size in reversed(list(zip(counters, kind.shape, strict=False))):
        made_loop = bodies.loop(counter, size, body)
        assert isinstance(made_loop, ir.For)
        body = replace(made_loop, unroll=True)
    ctx.emit(body)


def _load(ctx: Context, node: ast.Call, given: dict[str, ast.expr]) -> Value:
    use = _word(ctx, given["use"], "", USES, "use")
    transposed = _word(ctx, given.get("layout"), "row", ("row", "column"), "layout") == "column"
    memory, element, (row, column) = _memory(ctx, given, packed=True)
    component = _component_in(ctx, element, given, node)
    kind = _kind(ctx, component, given["shape"], use, (), node)
    place, made = _target(ctx, kind, node)
    bodies = _bodies(ctx, node)
    per = element.size // component.size
    column = bodies.quotient(column, per)
    corners = _corners(bodies, memory, row, column)
    plus = _offsets(ctx, node, row, column)
    value = bodies.of_element if per == 1 else functools.partial(bodies.of_part, component)
    body = bodies.load_matrix(place, lambda r, c: value(lambda x, y: memory(*plus(x, y)), r, c), transposed=transposed)
    args = tuple(ir.Load(p.span, p.type, p) for p in corners)
    _emit(ctx, node, "load", args, (place,), body, transposed=transposed)
    return made


def _component_in(ctx: Context, element: Type, given: dict[str, ast.expr], node: ast.Call) -> Scalar:
    """The type of a matrix's elements in memory: its own, or parts of vectors of four words."""
    if isinstance(element, Vector):
        if "dtype" not in given:
            help_text = "say of which type the matrix is: `dtype=amp.float16`"
            _fail(ctx, node, f"the elements of the memory are {element}", help_text)
        return _component(ctx, given["dtype"])
    assert isinstance(element, Scalar)
    if "dtype" in given and _component(ctx, given["dtype"]) != element:
        help_text = "leave `dtype` out, or use memory of uint4"
        _fail(ctx, given["dtype"], f"the elements of the memory are {element}", help_text)
    return element


def _store(ctx: Context, node: ast.Call, given: dict[str, ast.expr]) -> Value:
    transposed = _word(ctx, given.get("layout"), "row", ("row", "column"), "layout") == "column"
    source = _operand(ctx, ctx.expr(given["m"]), given["m"], "accumulator")
    memory, element, (row, column) = _memory(ctx, given)
    component = kind_of(source).component
    if element != component:
        help_text = f"convert the matrix first: `amp.matrix_convert({ctx.text(given['m'])}, amp.{element})`"
        _fail(ctx, node, f"a matrix of {component} is stored to elements of {element}", help_text)
    check_writable(ctx, memory(row, column), given["memory"])
    bodies = _bodies(ctx, node)
    plus = _offsets(ctx, node, row, column)
    body = bodies.store_matrix(source, lambda r, c: memory(*plus(r, c)), transposed=transposed)
    _emit(ctx, node, "store", (_read(source),), _corners(bodies, memory, row, column), body, transposed=transposed)
    return NoValue()


def _offsets(
    ctx: Context, node: ast.AST, row: ir.Expr, column: ir.Expr
) -> Callable[[ir.Expr, ir.Expr], tuple[ir.Expr, ir.Expr]]:
    span = ctx.span(node)

    def plus(r: ir.Expr, c: ir.Expr) -> tuple[ir.Expr, ir.Expr]:
        return ir.Binary(span, INT32, "add", row, r), ir.Binary(span, INT32, "add", column, c)

    return plus


def _corners(
    bodies: Bodies, memory: Callable[[ir.Expr, ir.Expr], ir.Place], row: ir.Expr, column: ir.Expr
) -> tuple[ir.Place, ...]:
    """The position, and two places whose distance is that of the rows."""
    zero, one = bodies.int(0), bodies.int(1)
    return memory(row, column), memory(one, zero), memory(zero, zero)


def _mul_add(ctx: Context, node: ast.Call, given: dict[str, ast.expr]) -> Value:
    values = ctx.operands(given["a"], given["b"], given["c"])
    uses = ("a", "b", "accumulator")
    nodes = [given[name] for name in "abc"]
    operands = tuple(_operand(ctx, v, n, use) for v, n, use in zip(values, nodes, uses, strict=True))
    a, b, c = map(kind_of, operands)
    if a.component != b.component:
        _fail(ctx, node, f"the matrices are of {a.component} and {b.component}", "use operands of one type")
    if c.component.name not in ACCUMULATORS[a.component.name]:
        known = " or ".join(ACCUMULATORS[a.component.name])
        _fail(ctx, node, f"a product of {a.component} cannot be added to {c.component}", f"use a matrix of {known}")
    if (a.columns, a.rows, b.columns) != (b.rows, c.rows, c.columns):
        shapes = f"{a.rows} x {a.columns}, {b.rows} x {b.columns} and {c.rows} x {c.columns}"
        help_text = "multiply m x k by k x n, and add m x n"
        _fail(ctx, node, f"the shapes of the matrices do not fit: {shapes}", help_text)
    place, made = _target(ctx, replace(c, shape=c.shape[-1:]), node)
    x, y, z = operands
    _emit(ctx, node, "mul_add", tuple(map(_read, operands)), (place,), _bodies(ctx, node).mul_add(place, (x, y, z)))
    return made


def _convert(ctx: Context, node: ast.Call, given: dict[str, ast.expr]) -> Value:
    source = _operand(ctx, ctx.expr(given["m"]), given["m"], "accumulator")
    kind = kind_of(source)
    component = _component(ctx, given["dtype"])
    accumulators = sorted({name for names in ACCUMULATORS.values() for name in names})
    if component.name not in accumulators:
        _fail(ctx, node, f"an accumulator cannot have elements of {component}", f"use {', '.join(accumulators)}")
    assert ctx.module.subgroup is not None
    made_kind = fragments(component, kind.rows, kind.columns, kind.use, ctx.module.subgroup, ())
    place, made = _target(ctx, made_kind, node)
    _emit(ctx, node, "convert", (_read(source),), (place,), _bodies(ctx, node).convert(place, source))
    return made


def _map(ctx: Context, node: ast.Call) -> Value:
    if len(node.args) < 2 or node.keywords:
        _fail(ctx, node, "`amp.matrix_map` takes a function and matrices", "call it as `amp.matrix_map(f, m)`")
    function, *values = ctx.operands(*node.args)
    sources = [_operand(ctx, v, n, "accumulator") for v, n in zip(values, node.args[1:], strict=True)]
    kinds = [replace(kind_of(s), shape=kind_of(s).shape[-1:]) for s in sources]
    if any(kind != kinds[0] for kind in kinds):
        _fail(ctx, node, "the matrices have different types or shapes", "convert them first: `amp.matrix_convert`")
    place, made = _target(ctx, kinds[0], node)
    bodies = _bodies(ctx, node)
    counter = bodies.fresh("element")
    number = ir.Load(ctx.span(node), INT32, counter)
    elements = [Number(_read(element_place(source, number))) for source in sources]
    with ctx.inner() as block:
        operands = tuple(zip(elements, node.args[1:], strict=True))
        result = _applied(ctx, function, node, operands)
        element = kinds[0].element
        assert isinstance(element, Scalar)
        expr = convert.assignable(ctx, result, element, node, "an element of a matrix")
        block.append(ir.Assign(ctx.span(node), element_place(place, number), expr))
    loop = bodies.loop(counter, kinds[0].shape[-1], *block)
    _emit(ctx, node, "map", (), (place,), (loop,))
    return made


def _applied(ctx: Context, function: Value, node: ast.Call, operands: tuple[tuple[Value, ast.expr], ...]) -> Value:
    """What a function gives for an element."""
    call = ast.copy_location(ast.Call(node.args[0], [], []), node)
    if isinstance(function, Closure):
        return call_closure(ctx, function, call, operands)
    target = function.value if isinstance(function, Object) else None
    if isinstance(target, DeviceFunction):
        return call_function(ctx, target, call, operands=operands)
    if is_plain(target):
        return call_function(ctx, target, call, None, operands)  # type: ignore[arg-type]
    text = ctx.text(node.args[0])
    _fail(ctx, node.args[0], f"`{text}` is {ctx.describe(function)}", "pass an @amp.func or a lambda")


_FUNCTIONS: dict[str, Callable[[Context, ast.Call, dict[str, ast.expr]], Value]] = {
    "matrix": _matrix,
    "matrix_load": _load,
    "matrix_store": _store,
    "matrix_mul_add": _mul_add,
    "matrix_convert": _convert,
}


# -- assignments ---------------------------------------------------------------------------------------------------


def target_of(ctx: Context, target: ast.expr) -> ArrayRef | None:
    """The matrix that an assignment to a target changes; ``None`` if there is none yet."""
    if isinstance(target, ast.Name):
        slot = ctx.slots.get(target.id)
        found = slot.value if slot is not None else None
        return found if isinstance(found, ArrayRef) and is_matrix(found) else None
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
        slot = ctx.slots.get(target.value.id)
        owner = slot.value if slot is not None else None
        if isinstance(owner, ArrayRef) and isinstance(owner.place.type, Fragments) and not is_matrix(owner):
            found = ctx.expr(target)
            return found if isinstance(found, ArrayRef) and is_matrix(found) else None
    return None


def store_matrix(ctx: Context, target: ast.expr, value: ArrayRef, node: ast.stmt, value_node: ast.expr) -> None:
    """``target = value`` of a matrix."""
    known = target_of(ctx, target)
    if known == value:
        return
    if known is None:
        if not isinstance(target, ast.Name):
            _fail(ctx, target, f"`{ctx.text(target)}` cannot hold a matrix", "assign it to a name")
        _bind(ctx, target, value, node)
        return
    root = known.place
    if isinstance(target, ast.Name) and isinstance(root, ir.Local) and root.variable.storage == "parameter":
        what = f"`{target.id}` is a parameter, and the caller's matrix"
        _fail(ctx, target, what, "assign to another name, and return it")
    _copy(ctx, known, value, node, value_node)


def _copy(ctx: Context, known: ArrayRef, value: ArrayRef, node: ast.stmt, value_node: ast.expr) -> None:
    to, source = place_of(known, node, ctx), place_of(value, node, ctx)
    old, new = kind_of(to), kind_of(source)
    if replace(old, shape=()) != replace(new, shape=()):
        what = f"a {replace(new, shape=())} is assigned to a {replace(old, shape=())}"
        _fail(ctx, value_node, what, "use another name")
    _emit(ctx, node, "convert", (_read(source),), (to,), _bodies(ctx, node).convert(to, source))


def _bind(ctx: Context, target: ast.Name, value: ArrayRef, node: ast.stmt) -> None:
    """Binds a name to a new matrix, or to a copy of one."""
    root = value.place
    assert isinstance(root, ir.Local)
    if target.id in ctx.slots:
        known = ctx.describe(ctx.slots[target.id].value)
        _fail(ctx, target, f"`{target.id}` is {known}, and cannot hold a matrix", "use another name")
    if root.variable.name in ctx.new_matrices and not value.prefix:
        ctx.new_matrices.discard(root.variable.name)
        made = value
    else:
        kind = value.place.type
        assert isinstance(kind, Fragments)
        place, made = _new(ctx, target.id, replace(kind, shape=kind.shape[-1:]), node, temporary=False)
        ctx.new_matrices.discard(made.place.variable.name)  # type: ignore[attr-defined]
        source = place_of(value, node, ctx)
        _emit(ctx, node, "convert", (_read(source),), (place,), _bodies(ctx, node).convert(place, source))
    ctx.bind(target.id, Slot(made, ctx.span(target), "alias", ctx.block))
