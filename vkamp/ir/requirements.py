"""What a program does with containers, types and subgroups: what a launch must bind, and what a device must support.

C++ AMP's model: docs/conformance.md, section 4 (element types).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from vkamp.artifacts import ContainerAccess, MatrixShape
from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.matrices import kind_of, matrix_at
from vkamp.ir.packed import PACKED_ROWS
from vkamp.ir.subgroups import INDICES, SUBGROUPS, Operation
from vkamp.ir.types import FLOAT32, INT64, UINT64, Scalar, Type, scalars_in

# -- containers ----------------------------------------------------------------------------------------------------


def access(kernel: ir.Kernel) -> dict[str, ContainerAccess]:
    """What the kernel and its functions do with each container parameter, by name, in their order."""
    table = {buffer.name: ContainerAccess() for buffer in kernel.buffers}
    for (name, _), kind in typed_access(kernel).items():
        table[name] |= kind
    return table


@ir.once_per_kernel
def typed_access(kernel: ir.Kernel) -> Mapping[tuple[str, Type], ContainerAccess]:
    """What is done with each container's memory as elements of each type: its own, and those it is reinterpreted as.

    In the order of the parameters; a container that is not accessed has no entry.
    """
    order = {buffer.name: number for number, buffer in enumerate(kernel.buffers)}
    own = {buffer.name: buffer.element for buffer in kernel.buffers}
    table: dict[tuple[str, Type], ContainerAccess] = {}
    for statement in kernel.statements():
        for place, kind in _accesses(statement):
            root = ir.root_of(place)
            if isinstance(root, ir.BufferElement):
                key = root.buffer, memory_type(place)
                known = table.get(key, kind)
                table[key] = kind if known is kind else known | kind
    return dict(sorted(table.items(), key=lambda item: (order[item[0][0]], item[0][1] != own[item[0][0]])))


_READS, _WRITES, _ATOMICS = ContainerAccess(reads=True), ContainerAccess(writes=True), ContainerAccess(atomics=True)


def _accesses(statement: ir.Stmt) -> Iterator[tuple[ir.Place, ContainerAccess]]:
    """The places that one statement accesses."""
    if isinstance(statement, ir.Assign):
        yield statement.place, _WRITES
    elif isinstance(statement, ir.Atomic):
        yield statement.place, _ATOMICS
    elif isinstance(statement, ir.MatrixOperation):
        yield from ((place, _WRITES) for place in statement.targets)
    for node in ir.own_nodes(statement):
        if isinstance(node, ir.Load):
            yield node.place, _READS


def contiguous(kernel: ir.Kernel) -> frozenset[str]:
    """The container parameters whose last dimension must have no gaps: the kernel reads it as another type, or has
    matrices in it.
    """
    statements = list(kernel.statements())
    nodes = (n for s in statements for n in ir.own_nodes(s))
    places = [n for n in nodes if isinstance(n, ir.Reinterpreted)]
    roots = [ir.root_of(place) for place in (*places, *matrix_memory(statements))]
    return frozenset(r.buffer for r in roots if isinstance(r, ir.BufferElement))


def least_extents(kernel: ir.Kernel) -> tuple[tuple[str, int, int, str], ...]:
    """The extents that a kernel asserts in each launch, ``assert a.extent[1] >= 4``: the container parameter, the
    dimension, the least extent, and the message.

    Assertions in branches and loops, and behind statements that may end the function, are left out.
    """
    functions = {each.name: each.body for each in kernel.functions}

    def reached(block: ir.Block) -> Iterator[ir.Assert]:
        for statement in block:
            if isinstance(statement, ir.Assert):
                yield statement
            elif isinstance(statement, ir.Call):
                # Once: what is asserted does not depend on the arguments.
                yield from reached(functions.pop(statement.function, ()))
            elif any(isinstance(inner, ir.Return) for inner in ir.walk_statements((statement,))):
                return

    found = (_least_extent(each) for each in reached(kernel.body.body))
    return tuple(dict.fromkeys(each for each in found if each is not None))


def _least_extent(statement: ir.Assert) -> tuple[str, int, int, str] | None:
    test = statement.condition
    if isinstance(test, ir.Compare) and test.op == "ge":
        extent, least = test.left, test.right
        if isinstance(extent, ir.BufferExtent) and isinstance(least, ir.Const):
            return extent.buffer, extent.dim, int(least.value), statement.message
    return None


def matrix_memory(statements: Iterable[ir.Stmt]) -> Iterator[ir.Place]:
    """The places in memory where matrices are loaded and stored."""
    for statement in statements:
        if isinstance(statement, ir.MatrixOperation):
            if statement.op == "store":
                yield from statement.targets
            elif statement.op == "load":
                yield from (a.place for a in statement.args if isinstance(a, ir.Load))


def matrix_products(kernel: ir.Kernel) -> dict[MatrixShape, Span]:
    """The products of matrices that a kernel forms, and where first."""
    found: dict[MatrixShape, Span] = {}
    for statement in kernel.statements():
        if isinstance(statement, ir.MatrixOperation) and statement.op == "mul_add":
            a, b, c = (kind_of(matrix_at(arg)) for arg in statement.args)
            names = a.component.name, b.component.name, c.component.name
            found.setdefault(MatrixShape(a.rows, b.columns, a.columns, *names), statement.span)
    return found


def has_matrices(kernel: ir.Kernel) -> bool:
    """Whether a kernel has any."""
    return any(isinstance(s, ir.MatrixOperation) for s in kernel.statements())


def memory_type(place: ir.Place) -> Type:
    """The type of the elements that the memory around a place is taken for."""
    while isinstance(place, (ir.ArrayElement, ir.ComponentsOf, ir.FieldOf, ir.ViewElement)):
        place = place.base
    return place.type


# -- types ---------------------------------------------------------------------------------------------------------


@ir.once_per_kernel
def types_in_use(kernel: ir.Kernel) -> Mapping[Scalar, Span]:
    """Every scalar type of the program, and the place that shows best where it comes from.

    A container whose elements are never accessed counts for nothing.
    """
    found: dict[Scalar, Span] = {}
    # By identity, since a hash of a type takes long: for an equal type, nothing is added.
    seen: dict[int, Type] = {}

    def add(kind: Type, span: Span) -> None:
        if id(kind) not in seen:
            seen[id(kind)] = kind
            for scalar in sorted(scalars_in(kind), key=lambda s: s.name):
                found.setdefault(scalar, span)

    for name, kind in typed_access(kernel):
        add(kind, kernel.buffer(name).span)
    for scalar in kernel.scalars:
        add(scalar.type, scalar.span)
    for variable in kernel.tile_statics:
        add(variable.type, variable.span)
    for function in (*kernel.functions, kernel.body):
        for statement in ir.walk_statements(function.body):
            # The innermost first: of `a[idx] * gain` it is the name of one of the two.
            for node in reversed(ir.own_nodes(statement)):
                if isinstance(node, (ir.Expr, ir.Place)):
                    add(node.type, node.span)
        for variable in (*function.params, *function.variables):
            add(variable.type, variable.span)
    return found


def wide_operations(kernel: ir.Kernel) -> dict[str, tuple[str, Span]]:
    """The first function of each sort that takes integers of 64 bits: its text for people, and where.

    Depends on a separate device feature: a device that computes with such integers may lack it.
    """
    found: dict[str, tuple[str, Span]] = {}
    for statement in kernel.statements():
        if isinstance(statement, ir.Atomic) and statement.place.type in (INT64, UINT64):
            in_buffer = isinstance(ir.root_of(statement.place), ir.BufferElement)
            sort = "int64_atomics" if in_buffer else "shared_int64_atomics"
            found.setdefault(sort, (f"`{statement.name}` of {statement.place.type}", statement.span))
        elif isinstance(statement, ir.Subgroup) and statement.args and statement.args[0].type in (INT64, UINT64):
            text = f"`amp.subgroup.{statement.name}` of {statement.args[0].type}"
            found.setdefault("subgroup_extended_types", (text, statement.span))
    return found


def has_packed_products(kernel: ir.Kernel) -> bool:
    """Whether a kernel multiplies integers of 8 bits that are packed in words."""
    names = {row.name for row in PACKED_ROWS}
    nodes = (n for s in kernel.statements() for n in ir.own_nodes(s))
    return any(isinstance(n, ir.Builtin) and n.name in names for n in nodes)


def has_float_atomics(kernel: ir.Kernel) -> bool:
    """Whether a kernel updates floats atomically."""
    return any(isinstance(s, ir.Atomic) and s.place.type == FLOAT32 for s in kernel.statements())


def memory_unit(kernel: ir.Kernel) -> int:
    """The bytes in which addresses of the kernel's memory are counted: its smallest scalar's, and at most 4."""
    elements = (scalar for buffer in kernel.buffers for scalar in scalars_in(buffer.element))
    return min([4, *(scalar.size for scalar in (*types_in_use(kernel), *elements))])


# -- subgroups -----------------------------------------------------------------------------------------------------


def subgroup_uses(kernel: ir.Kernel) -> Iterator[ir.Subgroup | ir.SubgroupIndex]:
    """Every function of subgroups that a kernel calls; those of its device functions first."""
    for statement in kernel.statements():
        yield from (n for n in ir.own_nodes(statement) if isinstance(n, (ir.Subgroup, ir.SubgroupIndex)))


def subgroup_form(node: ir.Subgroup | ir.SubgroupIndex) -> tuple[str, tuple[Operation, ...]]:
    """The GLSL of a function of subgroups, and the operations that a device needs for it."""
    if isinstance(node, ir.SubgroupIndex):
        return INDICES[node.kind].glsl, ("basic",)
    return SUBGROUPS[node.name].form(is_constant=bool(node.args) and isinstance(node.args[-1], ir.Const))


def uses_subgroups(kernel: ir.Kernel) -> bool:
    """Whether there is any, or the kernel requires subgroups all the same."""
    if kernel.full_subgroups or next(subgroup_uses(kernel), None) is not None:
        return True
    return any(isinstance(s, ir.MatrixOperation) for s in kernel.statements())
