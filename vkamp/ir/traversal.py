"""The bases of the IR's nodes, and the functions that read what a class declares in its fields.

A field's annotation says what it holds: see ``vkamp.ir.nodes``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from vkamp.errors import Span
from vkamp.ir.types import Type


@dataclass(frozen=True, repr=False)
class Node:
    """Base: every node knows its place in the Python source.

    ``import`` waits for each method that ``dataclass`` writes for a class: a node without fields of its own is no
    dataclass, and all have one ``__repr__``, which shows what dataclass's own would.

    ``LEVEL``: ``source`` of the nodes that the front end makes, ``lowered`` of those of :mod:`vkamp.ir.lowered`.
    """

    LEVEL = "source"

    span: Span = dataclasses.field(repr=False, compare=False)

    def __repr__(self) -> str:
        shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"


@dataclass(frozen=True)
class Variable:
    """A named piece of memory; ``name`` is unique within its function (tile_static: within the kernel).

    ``storage``: ``"local"`` (no array), ``"private"`` and ``"tile_static"`` (arrays), ``"parameter"`` (of a function:
    arrays by reference, all else by value), ``"thread"`` (a scalar that every function of the running thread sees;
    only instrumentation makes them).  A ``temporary`` is not a variable of the author's: messages leave it out.
    """

    name: str
    type: Type
    storage: Literal["local", "private", "tile_static", "parameter", "thread"]
    span: Span = dataclasses.field(repr=False, compare=False)
    temporary: bool = dataclasses.field(default=False, repr=False, compare=False)


@dataclass(frozen=True, repr=False)
class Expr(Node):
    """A pure expression of a scalar, short vector or struct type."""

    type: Type


@dataclass(frozen=True, repr=False)
class Place(Node):
    """Something that can be read or written; ``type`` is what is stored there."""

    type: Type


class Stmt(Node):
    """Something that has an effect."""


Block = tuple[Stmt, ...]


# -- traversal -----------------------------------------------------------------------------------------------------

_N = TypeVar("_N", bound=Node)


#: The words in the annotations of fields that hold nodes, blocks among them, and of those that hold variables.
_NODES, _BLOCK, _VARIABLES = {"Expr", "Place", "Local"}, {"Block"}, {"Variable"}


@dataclass(frozen=True)
class _Fields:
    """The fields of a class of nodes by what they hold; those with a bool say whether they hold any number of it.

    ``operands`` are all that hold nodes, blocks among them, the last first; ``variables`` those that hold variables;
    ``changed`` those with places that the statement may change.
    """

    operands: tuple[tuple[str, bool], ...]
    blocks: tuple[str, ...]
    variables: tuple[tuple[str, bool], ...]
    changed: tuple[tuple[str, bool], ...]


class _FieldsOf(dict[type[Node], _Fields]):
    """The fields of each class, found when they are first asked for."""

    def __missing__(self, cls: type[Node]) -> _Fields:
        fields = dataclasses.fields(cls)
        words = {f.name: set(re.findall(r"\w+", str(f.type))) for f in fields}

        def holding(kinds: set[str]) -> list[tuple[str, bool]]:
            return [(f.name, bool(words[f.name] & {"Block", "tuple"})) for f in fields if words[f.name] & kinds]

        operands = holding(_NODES | _BLOCK)
        found = _Fields(
            operands=tuple(reversed(operands)),
            blocks=tuple(name for name, _ in holding(_BLOCK)),
            variables=tuple(holding(_VARIABLES)),
            changed=tuple(entry for entry in operands if cls.__dataclass_fields__[entry[0]].metadata.get("changed")),
        )
        self[cls] = found
        return found


FIELDS = _FieldsOf()


class _OrderedOperands(dict[type[Node], tuple[tuple[str, bool], ...]]):
    """The operands of each class in evaluation order."""

    def __missing__(self, cls: type[Node]) -> tuple[tuple[str, bool], ...]:
        found = self[cls] = FIELDS[cls].operands[::-1]
        return found


_ORDERED = _OrderedOperands()


def children(node: Node) -> list[Node]:
    """The direct operands and nested statements of a node, in evaluation order."""
    found: list[Node] = []
    _push(node, found)
    found.reverse()
    return found


def _push(node: Node, left: list[Node]) -> None:
    """Adds the children of a node, the last first."""
    for name, several in FIELDS[type(node)].operands:
        value = getattr(node, name)
        if several:
            left.extend(value[::-1])
        elif value is not None:
            left.append(value)


def walk(*nodes: Node) -> Iterator[Node]:
    """The nodes and everything under them, parents first."""
    left = list(nodes[::-1])
    while left:
        found = left.pop()
        yield found
        if FIELDS[type(found)].operands:
            _push(found, left)


def blocks(statement: Stmt) -> tuple[Block, ...]:
    """The nested blocks of a statement."""
    return tuple(getattr(statement, name) for name in FIELDS[type(statement)].blocks)


def map_blocks(statement: Stmt, change: Callable[[Block], Block]) -> Stmt:
    """The statement with ``change`` applied to each of its nested blocks; itself if that changes none."""
    names = FIELDS[type(statement)].blocks
    return _updated(statement, {name: change(getattr(statement, name)) for name in names}) if names else statement


#: The attributes in which a statement remembers its own nodes, and the variables in them: passes ask for them again and
#: again.
_OWN, READ = "_own_nodes", "_read"


def own_nodes(statement: Stmt) -> tuple[Node, ...]:
    """The statement and its operands with everything under them, without the statements of nested blocks."""
    found: tuple[Node, ...] | None = statement.__dict__.get(_OWN)
    if found is None:
        operands = (child for child in children(statement) if not isinstance(child, Stmt))
        found = statement.__dict__[_OWN] = (statement, *walk(*operands))
    return found


def walk_statements(block: Block) -> Iterator[Stmt]:
    """Every statement of a block and its nested blocks, in source order."""
    left = list(block[::-1])
    while left:
        statement = left.pop()
        yield statement
        for name in reversed(FIELDS[type(statement)].blocks):
            left.extend(getattr(statement, name)[::-1])


def _updated(node: _N, updates: dict[str, object]) -> _N:
    """The node with other values of some fields; itself if they are the values that it has."""
    for name, value in updates.items():
        if getattr(node, name) is not value:
            return _changed(node, updates)
    return node


def _changed(node: _N, updates: dict[str, object]) -> _N:
    """The node with other values of some fields."""
    # As dataclasses.replace does, in a quarter of its time: nodes have no fields but those they are made with.
    copied = object.__new__(type(node))
    copied.__dict__.update(node.__dict__, **updates)
    copied.__dict__.pop(_OWN, None)
    copied.__dict__.pop(READ, None)
    return copied


def transform(node: Node, change: Callable[[Node], Node]) -> Node:
    """A copy with ``change`` applied to every node, children first; unchanged parts are shared."""
    # Every pass calls it for every node: it makes nothing for a node that stays as it is.
    updates: dict[str, object] | None = None
    for name, several in _ORDERED[type(node)]:
        value = getattr(node, name)
        if several:
            if not value:
                continue
            new = [transform(each, change) for each in value]
            for one, each in zip(new, value):  # noqa: B905 -- they are as many
                if one is not each:
                    updates = {} if updates is None else updates
                    updates[name] = tuple(new)
                    break
        elif value is not None:
            one = transform(value, change) if _ORDERED[type(value)] else change(value)
            if one is not value:
                updates = {} if updates is None else updates
                updates[name] = one
    return change(node if updates is None else _changed(node, updates))


def map_operands(node: _N, change: Callable[[Any], Node]) -> _N:
    """The node with ``change`` applied to each of its direct operands, in evaluation order; not to nested blocks."""
    fields = FIELDS[type(node)]
    if not fields.operands:
        return node
    updates: dict[str, object] = {}
    for name, several in reversed(fields.operands):
        value = getattr(node, name)
        if name not in fields.blocks and value is not None:
            updates[name] = tuple(map(change, value)) if several else change(value)
    return _updated(node, updates)


def map_block(block: Block, change: Callable[[Node], Node]) -> Block:
    """The block with ``change`` applied to every node, as :func:`transform` does."""
    out = []
    for statement in block:
        new = transform(statement, change)
        assert isinstance(new, Stmt)
        out.append(new)
    return tuple(out)


def results(statement: Stmt) -> tuple[Variable, ...]:
    """The variables that a statement assigns directly, not through a place: a call's results, a loop's variable.

    A declaration counts: the array's contents are new.
    """
    fields = FIELDS[type(statement)].variables
    return tuple([v for v in held(statement, fields) if v is not None]) if fields else ()


def map_variables(node: _N, change: Callable[[Variable], Variable]) -> _N:
    """The node with ``change`` applied to the variables that it names itself: a statement's results, a local's."""
    variables = FIELDS[type(node)].variables
    if not variables:
        return node
    updates: dict[str, object] = {}
    for name, several in variables:
        value = getattr(node, name)
        if several:
            new = tuple(v and change(v) for v in value)
            updates[name] = value if all(a is b for a, b in zip(new, value, strict=True)) else new
        elif value is not None:
            updates[name] = change(value)
    return _updated(node, updates)


def held(node: Node, fields: tuple[tuple[str, bool], ...]) -> list[Any]:
    """What some fields of a node hold, in their order."""
    found: list[Any] = []
    for name, several in fields:
        value = getattr(node, name)
        if several:
            found += value
        else:
            found.append(value)
    return found


def snake_case(cls: type[Node]) -> str:
    """The name of a class as that of a function: ``buffer_extent`` of ``BufferExtent``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


def attributes(node: Node) -> list[object]:
    """What the fields of a node hold that are neither operands nor variables."""
    fields = FIELDS[type(node)]
    others = {"span", *(name for name, _ in (*fields.operands, *fields.variables))}
    return [getattr(node, f.name) for f in dataclasses.fields(node) if f.name not in others]


def handlers(
    cls: type, base: type[Node], inherited: Callable[..., Any] | None = None
) -> dict[type[Any], Callable[..., Any]]:
    """The methods of ``cls`` by the classes below ``base`` that they handle, as ``_buffer_extent`` ``BufferExtent``.

    A class without a method of its name has that of its base, if the base says that its classes are alike (``ALIKE``).
    """
    found: dict[type[Any], Callable[..., Any]] = {}
    for each in base.__subclasses__():
        method = getattr(cls, f"_{snake_case(each)}", inherited)
        alike = "ALIKE" in vars(each)
        if method is not None and not alike:
            found[each] = method
        found |= handlers(cls, each, method if alike else None)
    return found
