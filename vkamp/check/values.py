"""Which values may differ between the threads of a tile, in a given state of the uniformity analysis.

The state has an entry for each part of a variable: the fields of a struct, the components of a vector, or the whole
variable.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vkamp.check.reasons import Reason, because, shortest
from vkamp.check.state import FlowState, FunctionFlow, Group, Parts
from vkamp.errors import Span
from vkamp.ir import nodes as ir
from vkamp.ir.subgroups import INDICES, IndexRow, SubgroupRow
from vkamp.ir.types import VECTOR_LETTERS, Scalar, Struct, Type, Vector


@dataclass(frozen=True)
class _Store:
    """The first statement that changes a container."""

    buffer: str
    span: Span


def parts_of(kind: Type) -> tuple[str, ...]:
    """The parts of a variable of this type."""
    if isinstance(kind, Struct):
        return tuple(field.name for field in kind.fields)
    if isinstance(kind, Vector):
        return tuple(VECTOR_LETTERS[: kind.count])
    return ("",)


def part_key(key: str, part: str) -> str:
    """The name of a part of a variable in the state and in messages."""
    return f"{key}.{part}" if part else key


def place_parts(place: ir.Place) -> tuple[tuple[str, ...], bool]:
    """The parts of the variable that a place is a part of, and whether it is the whole of them."""
    steps = [place]
    while not isinstance(place, (ir.Local, ir.BufferElement)):
        assert isinstance(place, (ir.ArrayElement, ir.ComponentsOf, ir.FieldOf, ir.Reinterpreted, ir.ViewElement))
        place = place.base
        steps.append(place)
    assert isinstance(place, ir.Local)
    if len(steps) == 1:
        return parts_of(place.variable.type), True
    first = steps[-2]
    if isinstance(first, ir.FieldOf):
        return (first.name,), len(steps) == 2
    if isinstance(first, ir.ComponentsOf):
        return tuple(first.letters), True
    return ("",), False


class ValueAnalysis:
    """The values of one kernel's expressions, for the threads of a tile or of a subgroup."""

    def __init__(self, kernel: ir.Kernel, group: Group) -> None:
        self._kernel = kernel
        self._group = group
        self._changed = _changed_memory(kernel)

    def of(self, expr: ir.Expr, state: FlowState, frame: FunctionFlow) -> Reason | None:
        """Why the value may differ between the threads; ``None``: it is uniform."""
        # Every round of every loop asks for the same few classes.
        kind = type(expr)
        if kind is ir.Const:
            return None
        if kind is ir.Load:
            return self._load(expr, state, frame)  # type: ignore[arg-type]
        if kind is ir.Binary:
            left = self.of(expr.left, state, frame)  # type: ignore[attr-defined]
            right = self.of(expr.right, state, frame)  # type: ignore[attr-defined]
            return right if left is None or (right is not None and right.depth < left.depth) else left
        if isinstance(expr, ir.ThreadIndex):
            return self._thread_index(expr)
        if isinstance(expr, ir.SubgroupIndex):
            return self.of_subgroup(INDICES[expr.kind], expr.span)
        if isinstance(expr, ir.Swizzle):
            parts = self.parts(expr.operand, state, frame)
            return shortest([parts[letter] for letter in expr.letters])
        return shortest([self.of(child, state, frame) for child in ir.children(expr) if isinstance(child, ir.Expr)])

    def parts(self, expr: ir.Expr, state: FlowState, frame: FunctionFlow) -> Parts:
        """The same for each part of the value."""
        kind = expr.type
        if isinstance(kind, Scalar) and not isinstance(expr, ir.Load):
            return {"": self.of(expr, state, frame)}
        whole = parts_of(kind)
        if isinstance(expr, ir.Load):
            root = ir.root_of(expr.place)
            if isinstance(root, ir.Local) and isinstance(root.variable.type, (Struct, Vector)):
                sources, is_all = place_parts(expr.place)
                if is_all and len(sources) == len(whole):
                    key = frame.key(root.variable)
                    found = (state.divergent.get(part_key(key, source)) for source in sources)
                    return dict(zip(whole, found, strict=True))
        elif isinstance(kind, Vector):
            if isinstance(expr, ir.Construct) and len(expr.parts) == len(whole):
                return dict(zip(whole, (self.of(part, state, frame) for part in expr.parts), strict=True))
            if isinstance(expr, ir.Swizzle):
                parts = self.parts(expr.operand, state, frame)
                return dict(zip(whole, (parts[letter] for letter in expr.letters), strict=True))
            if isinstance(expr, (ir.Unary, ir.Binary, ir.Cast)):
                operands = [self.parts(o, state, frame) for o in ir.children(expr) if isinstance(o, ir.Expr)]
                return {part: shortest(operand[part] for operand in operands) for part in whole}
        reason = self.of(expr, state, frame)
        return dict.fromkeys(whole, reason)

    def _thread_index(self, expr: ir.ThreadIndex) -> Reason | None:
        if expr.kind in ("tile", "tile_origin"):
            return None
        if self._kernel.tile is None:
            text = f"`{self._kernel.index_name}` is different in each thread"
        else:
            which = "global_" if expr.kind == "global" else "local"
            text = f"`{self._kernel.index_name}.{which}` is different in each thread of the tile"
        return because(expr.span, text)

    def of_subgroup(self, row: IndexRow | SubgroupRow, span: Span) -> Reason | None:
        """Why the result of a subgroup function may differ between the threads of the group."""
        if row.uniform == "tile" or row.uniform == self._group:
            return None
        if row.uniform == "subgroup":
            fix = "combine the values of the subgroups in tile_static memory, and read the result after a barrier"
            text = f"`amp.subgroup.{row.name}` returns a different value in each subgroup of the tile"
            return because(span, text, fix="" if isinstance(row, IndexRow) else fix)
        return because(span, f"`amp.subgroup.{row.name}` returns a different value in each thread of the subgroup")

    def _load(self, expr: ir.Load, state: FlowState, frame: FunctionFlow) -> Reason | None:
        place = expr.place
        if isinstance(place, ir.Local) and isinstance(place.type, Scalar) and place.variable.storage != "tile_static":
            return state.divergent.get(frame.key(place.variable))
        root = ir.root_of(place)
        where = self.indices(place, state, frame)
        if isinstance(root, ir.BufferElement):
            return self._container(root.buffer, expr.span, where)
        name = frame.tile_static(root.variable)
        if name is None:
            key = frame.key(root.variable)
            parts, _ = place_parts(expr.place)
            return shortest([state.divergent.get(part_key(key, part)) for part in parts]) or where
        if where is not None:
            return self._elsewhere(expr.span, f"which element of `{name}` is read", where)
        if name not in state.dirty:
            return None
        store = state.dirty[name]
        wait = f"`{self._kernel.index_name}.barrier.wait_with_tile_static_memory_fence()`"
        if store is None:
            text = f"no barrier orders tile_static memory before this read of `{name}`"
            return because(expr.span, text, fix=f"store `{name}`, and put {wait} before this read")
        text = f"no barrier orders tile_static memory between a store and this read of `{name}`"
        fix = f"put {wait} between the store to `{name}` and this read"
        return because(expr.span, text, because(store, f"the store to `{name}`", fix=fix))

    def _container(self, buffer: str, span: Span, where: Reason | None) -> Reason | None:
        """A value loaded from a container is uniform if its index is uniform and nothing in the launch changes the
        container. If something changes it, not even a barrier helps, since it orders nothing for the threads of other
        tiles.
        """
        if where is not None:
            return self._elsewhere(span, f"which element of `{buffer}` is loaded", where)
        store = self._changed.get(self._kernel.buffer(buffer).storage)
        if store is None:
            return None
        text = (
            f"a value loaded from `{buffer}` may differ between the threads of the {self._group}: the kernel changes "
        )
        text += f"`{buffer}`" if store.buffer == buffer else f"`{store.buffer}`, which shares its memory"
        fix = "if the value is the same for all threads of the tile, say so: `amp.uniform(...)`"
        if self._group == "subgroup":
            fix = "take one thread's value for all of the subgroup: `amp.subgroup.broadcast_first(...)`"
        return because(span, text, because(store.span, f"`{store.buffer}` is changed here", fix=fix))

    def _elsewhere(self, span: Span, what: str, where: Reason) -> Reason:
        """An element is read at an index that may differ."""
        if where.cause is None and where.parameter is None and where.span.line == span.line:
            return because(span, f"{what} may differ: {where.text}")
        return because(span, f"{what} may differ between the threads of the {self._group}", where)

    def indices(self, place: ir.Place, state: FlowState, frame: FunctionFlow) -> Reason | None:
        """Why the place may differ between the threads."""
        found: list[Reason | None] = []
        step = place
        while not isinstance(step, ir.Local):
            if isinstance(step, (ir.ArrayElement, ir.BufferElement)):
                found += [self.of(index, state, frame) for index in step.indices]
            if isinstance(step, ir.Reinterpreted):
                found.append(self.of(step.index, state, frame))
            if not isinstance(step, _INSIDE):
                break
            step = step.base
        return shortest(found)


_INSIDE = (ir.ArrayElement, ir.ComponentsOf, ir.FieldOf, ir.Reinterpreted, ir.ViewElement)


def _changed_memory(kernel: ir.Kernel) -> dict[int, _Store]:
    """The memory that the kernel stores to, by its storage number."""
    found: dict[int, _Store] = {}
    for buffer, span in _stores(kernel):
        found.setdefault(kernel.buffer(buffer).storage, _Store(buffer, span))
    return found


def _stores(kernel: ir.Kernel) -> Iterator[tuple[str, Span]]:
    for function in (kernel.body, *kernel.functions):
        for statement in ir.walk_statements(function.body):
            for place in ir.changed_places(statement):
                root = ir.root_of(place)
                if isinstance(root, ir.BufferElement):
                    yield root.buffer, statement.span
