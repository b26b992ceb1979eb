"""What a kernel copies and Python would not: the copies that would show are found here, and refused.

In Python ``q = p`` makes a second name of one object, and so does a function's parameter.  A kernel copies vectors
and index objects, and a struct where branches or loops choose between objects (``references``).  That is the same as
long as neither is changed while the other one is used.  ``check`` follows a function's copies along its control flow:

- what one name changes and another name of the same object reads afterwards is an error;
- so is a change that has no effect: one of a copy of an element, or of a copied vector that is never read again.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Final, TypeAlias

from vkamp.errors import Note, Span
from vkamp.front.context import Context
from vkamp.front.module import Module, VectorEffects
from vkamp.front.values import Element, TupleValue, Value, of_launch
from vkamp.ir import nodes as ir
from vkamp.ir.types import INT32, Array, Scalar, Struct, is_object

#: What a function changes: any memory, as others may at a barrier; private arrays of its callers.
EVERYTHING: Final = "everything"
ARRAYS: Final = "arrays"

#: Memory: a local's name, the number of a container's storage, the variable of an array.
_Key: TypeAlias = str | int | ir.Variable
#: The fields on the way to a part; ``[]`` is any element.
_Path: TypeAlias = tuple[str, ...]
#: Part of one and part of another one that are the same object in Python.
_Link: TypeAlias = tuple[_Key, _Path, _Key, _Path]


# -- effects -------------------------------------------------------------------------------------------------------


def changed_locals(body: ir.Block) -> set[str]:
    """The locals that a function's own statements change, wholly or in part."""
    found: set[str] = set()
    for statement in ir.walk_statements(body):
        if isinstance(statement, (ir.Assign, ir.Atomic)):
            root = ir.root_of(statement.place)
            found |= {root.variable.name} if isinstance(root, ir.Local) else set()
        elif isinstance(statement, ir.Call):
            found |= {r.name for r in statement.results if r is not None}
    return found


def changed_memory(module: Module, function: ir.Function) -> set[_Key]:
    """The containers and arrays that a function and its callees change."""
    found: set[_Key] = set()
    for statement in ir.walk_statements(function.body):
        found |= _changed_by(module, statement)
    return found


def _changed_by(module: Module, statement: ir.Stmt) -> set[_Key]:
    if isinstance(statement, (ir.Assign, ir.Atomic)):
        key = _key_of(module, statement.place)
        if isinstance(key, ir.Variable) and key.storage == "parameter":
            return {ARRAYS}
        return set() if isinstance(key, str) else {key}
    if isinstance(statement, ir.Barrier):
        return {EVERYTHING}
    if isinstance(statement, ir.Call):
        callee = next(f for f in module.functions if f.name == statement.function)
        return changed_memory(module, callee)
    return set()


def _key_of(module: Module, place: ir.Place) -> _Key:
    root = ir.root_of(place)
    if isinstance(root, ir.BufferElement):
        return module.buffers[root.buffer].storage
    return root.variable if isinstance(root.variable.type, Array) else root.variable.name


# -- paths ---------------------------------------------------------------------------------------------------------


def _path(place: ir.Place) -> _Path:
    if isinstance(place, (ir.Local, ir.BufferElement)):
        return () if isinstance(place, ir.Local) else ("[]",)
    assert isinstance(place, (ir.ArrayElement, ir.ComponentsOf, ir.FieldOf, ir.Reinterpreted, ir.ViewElement))
    inner = _path(place.base)
    if isinstance(place, ir.FieldOf):
        return (*inner, place.name)
    if isinstance(place, ir.ArrayElement):
        return (*inner, "[]")
    # A reinterpreted element may be any part.
    return () if isinstance(place, ir.Reinterpreted) else inner


def _overlap(one: _Path, other: _Path) -> bool:
    return all(a == b for a, b in zip(one, other, strict=False))


def _below(path: _Path, start: _Path, there: _Path) -> _Path:
    """The place in ``there`` of a part of ``start``, which is the same object."""
    return (*there, *path[len(start) :])


# -- the analysis --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Mutation:
    """A change through one name, which another one of the same object does not show."""

    path: _Path
    span: Span
    #: The name, in the source's words.
    by: str


@dataclass(frozen=True)
class _Aliasing:
    """What holds at a point: which are one object in Python, what is out of date, which copies were changed."""

    links: frozenset[_Link] = frozenset()
    stale: frozenset[tuple[str, _Mutation]] = frozenset()
    #: Vectors that are copies, with where; and their changes since.
    copied: frozenset[tuple[str, Span]] = frozenset()
    pending: frozenset[tuple[str, Span]] = frozenset()

    def joined(self, other: _Aliasing | None) -> _Aliasing:
        if other is None:
            return self
        return _Aliasing(
            self.links | other.links,
            self.stale | other.stale,
            self.copied | other.copied,
            self.pending | other.pending,
        )


def _join(one: _Aliasing | None, *others: _Aliasing | None) -> _Aliasing | None:
    for other in others:
        one = other if one is None else one.joined(other)
    return one


@dataclass
class _Loop:
    breaks: list[_Aliasing] = field(default_factory=list)
    continues: list[_Aliasing] = field(default_factory=list)


@dataclass(frozen=True)
class Effects:
    """What the copies of a function are in its caller."""

    #: For each number of the result that is a copy of a struct, which of the caller's it may be.
    origins: Mapping[int, tuple[ir.Place, ...]] = field(default_factory=dict)
    vectors: VectorEffects = field(default_factory=VectorEffects)


def check(ctx: Context, body: ir.Block, starts: Sequence[int] = (), *, by_value: bool = True) -> Effects:
    """Refuses copies whose difference from Python's references a program could observe.

    ``starts``: where each value of a ``return`` begins among the function's results.  ``by_value``: whether vectors
    are passed as copies in Python, too.
    """
    if not _needs_check(ctx, body):
        return Effects()
    checker = _Checker(ctx, starts)
    checker.run(body)
    if by_value:
        checker.changed.clear()
    vectors = VectorEffects(checker.returned, checker.alike(), checker.changed)
    return Effects({number: tuple(places) for number, places in checker.origins.items()}, vectors)


def _needs_check(ctx: Context, body: ir.Block) -> bool:
    """Whether there are copies at all, or parameters that are."""
    if ctx.copies or ctx.origins or ctx.changed_objects:
        return True
    if any(objects is not None for leaves in ctx.returned.values() for objects in leaves):
        return True
    vectors = {p.name for p in ctx.parameters if is_object(p.type) or p.name in ctx.index_parameters}
    return bool(vectors & changed_locals(body))


def _of_caller(name: str) -> str:
    """The key of the object that a parameter is in the caller: no variable has this name."""
    return f"{name} of the caller"


class _Checker:
    def __init__(self, ctx: Context, starts: Sequence[int]) -> None:
        self.ctx = ctx
        self.starts = starts
        #: What a ``VectorEffects`` says; ``results`` are the objects that each number of a result may be.
        self.returned: dict[int, tuple[int, ...]] = {}
        self.results: list[dict[int, set[str]]] = []
        self.changed: dict[int, tuple[str, Span]] = {}
        self.loops: list[_Loop] = []
        self.sites: dict[tuple[str, Span], Span] = {}
        self.read: set[tuple[str, Span]] = set()
        self.since: dict[_Link, Span] = {}
        self.places: dict[_Key, ir.Place] = {}
        self.origins: dict[int, list[ir.Place]] = {}
        self.structs = {p.name for p in ctx.parameters if isinstance(p.type, Struct)}
        for parameter in ctx.parameters:
            self.places[parameter.name] = ir.Local(parameter.span, parameter.type, parameter)
        self.effects: dict[type[ir.Stmt], Callable[[Any, _Aliasing], _Aliasing | None]] = {
            ir.Assign: self._assign, ir.Atomic: self._atomic, ir.Barrier: self._barrier, ir.Call: self._call,
            ir.If: self._if, ir.For: self._loop, ir.While: self._loop, ir.Break: self._break,
            ir.Continue: self._continue, ir.Return: self._return,
        }  # fmt: skip

    def run(self, body: ir.Block) -> None:
        parameters = [p for p in self.ctx.parameters if is_object(p.type) or self._is_index(p)]
        start = _Aliasing(
            frozenset((p.name, (), _of_caller(p.name), ()) for p in parameters),
            copied=frozenset((p.name, p.span) for p in parameters),
        )
        end = self._block(body, start)
        if end is not None:
            self._leave(end)
        for site, where in sorted(self.sites.items(), key=lambda item: (item[0][1].line, item[0][1].column)):
            if site not in self.read:
                self._lost_vector(*site, where)

    def _is_index(self, parameter: ir.Variable) -> bool:
        return parameter.name in self.ctx.index_parameters

    # -- control flow ----------------------------------------------------------------------------------------------

    def _block(self, block: ir.Block, state: _Aliasing | None) -> _Aliasing | None:
        for statement in block:
            if state is None:
                return None
            state = self._statement(statement, state)
        return state

    def _statement(self, statement: ir.Stmt, state: _Aliasing) -> _Aliasing | None:
        nested = {id(s) for inner in ir.blocks(statement) for s in inner}
        for child in ir.children(statement):
            if id(child) not in nested:
                self._reads(child, state, statement.span)
        effect = self.effects.get(type(statement))
        return state if effect is None else effect(statement, state)

    def _if(self, statement: ir.If, state: _Aliasing) -> _Aliasing | None:
        return _join(self._block(statement.then, state), self._block(statement.orelse, state))

    def _loop(self, statement: ir.For | ir.While, state: _Aliasing) -> _Aliasing | None:
        endless = isinstance(statement, ir.While) and _is_true(statement.condition)
        while True:
            self.loops.append(_Loop())
            if isinstance(statement, ir.While):
                self._reads(statement.condition, state, statement.span)
            end = self._block(statement.body, state)
            loop = self.loops.pop()
            again = _join(state, end, *loop.continues)
            assert again is not None
            if again == state:
                break
            state = again
        return _join(None if endless else state, *loop.breaks)

    def _break(self, _: ir.Break, state: _Aliasing) -> None:
        self.loops[-1].breaks.append(state)

    def _continue(self, _: ir.Continue, state: _Aliasing) -> None:
        self.loops[-1].continues.append(state)

    def _return(self, statement: ir.Return, state: _Aliasing) -> None:
        for number, value in enumerate(statement.values):
            if isinstance(value, ir.Load) and isinstance(value.type, Struct) and isinstance(value.place, ir.Local):
                found = self.origins.setdefault(number, [])
                for key, _ in _linked(state, value.place.variable.name, ()):
                    place = self.places.get(key)
                    if place is not None and self._is_outside(key) and place not in found:
                        found.append(place)
        span = statement.span
        results: dict[int, set[str]] = {}
        for at, objects in zip(self.starts, self.ctx.returned.get((span.line, span.column), ()), strict=False):
            if objects is not None:
                names = {place.variable.name for place in objects}
                linked = {key for name in names for key, _ in _linked(state, name, ()) if isinstance(key, str)}
                results[at] = names | linked
                self._note_result(at, results[at])
        self.results.append(results)
        self._leave(state)

    def _note_result(self, number: int, names: set[str]) -> None:
        """A number of the result may be one of some objects: the caller's ones count."""
        mine = [k for k, p in enumerate(self.ctx.parameters) if _of_caller(p.name) in names]
        if mine or not names:
            self.returned[number] = tuple(dict.fromkeys((*self.returned.get(number, ()), *mine)))

    def alike(self) -> dict[int, int]:
        """The numbers of the result that may be one object, each with the first of them."""
        found: dict[int, int] = {}
        for results in self.results:
            for one, other in combinations(sorted(results), 2):
                if results[one] & results[other]:
                    first = found.setdefault(one, one)
                    found.setdefault(other, first)
        return found

    def _is_outside(self, key: _Key) -> bool:
        return not isinstance(key, str) or key in self.structs

    def _leave(self, state: _Aliasing) -> None:
        """The caller reads its own objects again."""
        outer = {_of_caller(p.name): k for k, p in enumerate(self.ctx.parameters)}
        for name, change in sorted(state.stale, key=repr):
            if name in self.structs:
                self._lost(change.span, change.by, _shown(self.ctx, name))
            elif name in outer:
                self.changed.setdefault(outer[name], (change.by, change.span))

    # -- reads and changes -----------------------------------------------------------------------------------------

    def _reads(self, node: ir.Node, state: _Aliasing, span: Span) -> None:
        for inner in ir.walk(node):
            if isinstance(inner, ir.ScalarValue) and state.stale:
                self._reads_launch(inner.name, state, span)
            if not isinstance(inner, ir.Load):
                continue
            root = ir.root_of(inner.place)
            if not isinstance(root, ir.Local):
                continue
            name = root.variable.name
            self.read |= {site for site in state.pending if site[0] == name}
            for stale, change in sorted(state.stale, key=repr):
                if stale == name and _overlap(change.path, _path(inner.place)):
                    self._refuse_read(inner, name, change, state)

    def _reads_launch(self, scalar: str, state: _Aliasing, span: Span) -> None:
        """A number of the launch, which may be a component of a vector."""
        name, _, _ = scalar.rpartition(":")
        keys = {of_launch(n, INT32, span)[0].variable.name for n in (scalar, name)}
        for stale, change in sorted(state.stale, key=repr):
            if stale in keys:
                notes = (Note(change.span, f"`{change.by}` is changed here"),)
                copy = "amp.index(...)" if stale.startswith(scalar) else "... .copy()"
                self.ctx.fail("VKA353", span, notes=notes, name=name, by=change.by, copy=copy)

    def _changed(self, state: _Aliasing, key: _Key, path: _Path, span: Span) -> _Aliasing:
        """Part of something changes: other names of it are out of date."""
        stale = set(state.stale)
        for other, there in _linked(state, key, path):
            if isinstance(other, str):
                stale.add((other, _Mutation(there, span, _shown(self.ctx, key))))
            elif isinstance(key, str):
                self._lost(span, _shown(self.ctx, key), _shown(self.ctx, other))
        return replace(state, stale=frozenset(stale))

    def _memory_changed(self, state: _Aliasing, keys: set[_Key], span: Span) -> _Aliasing:
        for link in sorted(state.links, key=repr):
            for key in (link[0], link[2]):
                is_array = isinstance(key, ir.Variable) and key.storage != "tile_static"
                if isinstance(key, str):
                    continue
                if key in keys or (is_array and ARRAYS in keys) or (EVERYTHING in keys and not is_array):
                    state = self._changed(state, key, (), span)
        return state

    def _bound(self, state: _Aliasing, name: str) -> _Aliasing:
        """A variable gets something else."""
        return _Aliasing(
            frozenset(link for link in state.links if name not in (link[0], link[2])),
            frozenset(s for s in state.stale if s[0] != name),
            frozenset(c for c in state.copied if c[0] != name),
            frozenset(p for p in state.pending if p[0] != name),
        )

    def _linked_to(
        self,
        state: _Aliasing,
        name: str,
        sources: Sequence[ir.Place],
        span: Span,
        others: Sequence[ir.Place] = (),
    ) -> _Aliasing:
        """Makes a variable another name of one of several places. Of ``others``, only the places that they are linked
        to matter.
        """
        links: set[_Link] = set()
        for place in (*sources, *others):
            key, path = _key_of(self.ctx.module, place), _path(place)
            self.places.setdefault(key, place)
            if place in sources and key != name:
                links.add((name, (), key, path))
            for mine, at, other, there in _both_ways(state.links):
                if mine != key or other == name or not _overlap(at, path):
                    continue
                short = len(at) <= len(path)
                links.add(
                    (name, (), other, _below(path, at, there)) if short else (name, at[len(path) :], other, there)
                )
        state = self._bound(state, name)
        for link in links:
            self.since.setdefault(link, span)
        return replace(state, links=state.links | links)

    # -- statements ------------------------------------------------------------------------------------------------

    def _assign(self, statement: ir.Assign, state: _Aliasing) -> _Aliasing:
        place, span = statement.place, statement.span
        root = ir.root_of(place)
        key = _key_of(self.ctx.module, place)
        if not isinstance(place, ir.Local):
            if isinstance(root, ir.Local) and (root.variable.name, span.line, span.column) in self.ctx.constructed:
                return self._bound(state, root.variable.name)
            state = self._changed(state, key, _path(place), span)
            return self._vector_changed(state, root, span) if isinstance(root, ir.Local) else state
        name = place.variable.name
        where = (name, span.line, span.column)
        if where in self.ctx.item_changes:
            return self._vector_changed(self._changed(state, key, (), span), place, span)
        sharing = self.ctx.copies.get(where)
        if sharing is None:
            return self._bound(state, name)
        sources = list(_sources(statement.value))
        if isinstance(place.type, Struct):
            moved = sharing == "moved"
            return self._linked_to(state, name, [] if moved else sources, span, others=sources if moved else [])
        return self._vector_copied(state, place.variable, span, moved=sharing == "moved")

    def _vector_copied(self, state: _Aliasing, variable: ir.Variable, span: Span, *, moved: bool) -> _Aliasing:
        """A variable becomes another name of a vector or index."""
        name = variable.name
        objects = self.ctx.objects.get((name, span.line, span.column), ())
        # A loop reads each of its items once: what holds them is not a name.
        named = [o for o in objects if not (moved and o.variable.temporary)]
        held = [o for o in objects if o not in named]
        state = self._linked_to(state, name, named, span, others=held)
        return replace(state, copied=state.copied | {(name, span)})

    def _vector_changed(self, state: _Aliasing, root: ir.Local, span: Span) -> _Aliasing:
        """A component of a copy changes: it is read later, or the change has no effect."""
        name = root.variable.name
        for copied, where in state.copied:
            if copied == name:
                self.sites.setdefault((name, span), where)
                state = replace(state, pending=state.pending | {(name, span)})
        return state

    def _atomic(self, statement: ir.Atomic, state: _Aliasing) -> _Aliasing:
        state = self._changed(state, _key_of(self.ctx.module, statement.place), _path(statement.place), statement.span)
        if statement.expected is not None:
            state = self._bound(state, statement.expected.variable.name)
        return state if statement.result is None else self._bound(state, statement.result.name)

    def _barrier(self, statement: ir.Barrier, state: _Aliasing) -> _Aliasing:
        return self._memory_changed(state, {EVERYTHING}, statement.span)

    def _call(self, statement: ir.Call, state: _Aliasing) -> _Aliasing:
        span = statement.span
        keys = _changed_by(self.ctx.module, statement)
        state = self._memory_changed(state, keys, span)
        for objects, by, where in self.ctx.changed_objects.get((statement.function, span.line, span.column), ()):
            for place in objects:
                name = place.variable.name
                state = self._changed(state, name, (), where)
                state = replace(state, stale=state.stale | {(name, _Mutation((), where, by))})
        vectors = [r for r in statement.results if r and (r.name, span.line, span.column) in self.ctx.objects]
        # The objects are those before the call: one result may get the name of another one's.
        held = {r.name: replace(r, name=f"{r.name} of the call") for r in vectors}
        for vector in vectors:
            objects = self.ctx.objects[vector.name, span.line, span.column]
            state = self._linked_to(state, held[vector.name].name, objects, span)
        for result in statement.results:
            if result is None:
                continue
            if (result.name, span.line, span.column) in self.ctx.changed_by_calls:
                state = self._changed(state, result.name, (), span)
            elif result in vectors:
                state = self._bound(state, result.name)
            else:
                origins = list(self.ctx.origins.get(result.name, ()))
                state = self._linked_to(state, result.name, origins, span)
        for vector in vectors:
            place = ir.Local(span, vector.type, held[vector.name])
            state = self._linked_to(state, vector.name, [], span, others=[place])
            state = replace(state, copied=state.copied | {(vector.name, span)})
        for variable in held.values():
            state = self._bound(state, variable.name)
        return state

    # -- errors ----------------------------------------------------------------------------------------------------

    def _refuse_read(self, load: ir.Load, name: str, change: _Mutation, state: _Aliasing) -> None:
        mine = self._user_name(load, name, change, state)
        notes = (Note(change.span, f"`{change.by}` is changed here"),)
        copy = "amp.index(...)" if isinstance(load.place, ir.Local) and isinstance(load.type, Scalar) else "... .copy()"
        self.ctx.fail("VKA353", load.place.span, notes=notes, name=mine, by=change.by, copy=copy)

    def _user_name(self, load: ir.Load, name: str, change: _Mutation, state: _Aliasing) -> str:
        """The variable's name in the source; for a temporary, another name of the same object, or its source text."""
        names = [name, *(key for key, _ in _linked(state, name, ()) if isinstance(key, str))]
        known = [shown for n in names if (shown := _slot_of(self.ctx, n)) not in (None, change.by)]
        return known[0] or name if known else _text_at(self.ctx, load.place.span) or name

    def _lost(self, span: Span, name: str, other: str) -> None:
        self.ctx.fail("VKA354", span, name=name, other=other)

    def _lost_vector(self, name: str, span: Span, where: Span) -> None:
        shown = _shown(self.ctx, name)
        given = next((p for p in self.ctx.parameters if p.name == name), None)
        if given is not None:
            of, help_text = "what the caller passes", f"return it, `return {shown}`, and assign the result there"
        else:
            of, help_text = "what it was assigned from", f"assign it there, or use `{shown}` afterwards"
        notes = () if given is not None else (Note(where, "it is copied here"),)
        self.ctx.fail("VKA355", span, notes=notes, name=shown, of=of, advice=help_text)


def _both_ways(links: frozenset[_Link]) -> Iterator[_Link]:
    # In a fixed order, for messages.
    for a, at, b, there in sorted(links, key=repr):
        yield a, at, b, there
        yield b, there, a, at


def _linked(state: _Aliasing, key: _Key, path: _Path) -> Iterator[tuple[_Key, _Path]]:
    """The other names of a part, or of the object that contains it."""
    for mine, at, other, there in _both_ways(state.links):
        if mine == key and _overlap(at, path):
            yield other, _below(path, at, there)


def _sources(value: ir.Expr) -> Iterator[ir.Place]:
    """The places that a value may be the value of."""
    if isinstance(value, ir.Load):
        yield value.place
    elif isinstance(value, ir.Select):
        yield from _sources(value.then)
        yield from _sources(value.orelse)


def _is_true(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Const) and bool(expr.value)


def _name_of(ctx: Context, key: _Key) -> str:
    if isinstance(key, int):
        return next(b.name for b in ctx.module.buffers.values() if b.storage == key)
    return key.name if isinstance(key, ir.Variable) else key


def _shown(ctx: Context, key: _Key) -> str:
    """A variable in the source's words."""
    name = _name_of(ctx, key)
    return _slot_of(ctx, name) or name


def _text_at(ctx: Context, span: Span) -> str | None:
    """The expression at a place of the source."""
    nodes = (n for n in ast.walk(ctx.source.node) if isinstance(n, ast.expr))
    return next((ctx.text(n) for n in nodes if ctx.span(n) == span), None)


def _slot_of(ctx: Context, name: str) -> str | None:
    """The Python name that a variable has, if it has one."""
    return next((n for n, s in ctx.slots.items() if _is_of(s.value, name)), None)


def _is_of(value: Value, name: str) -> bool:
    if isinstance(value, TupleValue):
        return any(_is_of(item, name) for item in value.items)
    place = value.place if isinstance(value, Element) else None
    return isinstance(place, ir.Local) and place.variable.name == name
