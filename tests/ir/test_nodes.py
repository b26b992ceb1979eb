"""What all nodes have in common."""

from __future__ import annotations

import dataclasses

import pytest

from vkamp.errors import Span
from vkamp.ir import nodes
from vkamp.ir.types import BOOL, INT32

HERE, THERE = Span("a.py", 1, 0, 1, 1), Span("b.py", 2, 0, 2, 1)


def classes(base: type[nodes.Node]) -> list[type[nodes.Node]]:
    return [base, *(found for each in base.__subclasses__() for found in classes(each))]


def sample(cls: type[nodes.Node], span: Span = HERE) -> nodes.Node:
    """A node with the names of its fields as their values."""
    return cls(**{f.name: span if f.name == "span" else f.name for f in dataclasses.fields(cls)})  # type: ignore[arg-type]


@pytest.mark.parametrize("cls", classes(nodes.Node))
def test_a_node_shows_its_fields_without_its_place(cls: type[nodes.Node]) -> None:
    names = [f.name for f in dataclasses.fields(cls) if f.name != "span"]
    assert repr(sample(cls)) == f"{cls.__name__}({', '.join(f'{name}={name!r}' for name in names)})"


@pytest.mark.parametrize("cls", classes(nodes.Node))
def test_nodes_are_frozen_and_equal_wherever_they_stand(cls: type[nodes.Node]) -> None:
    one, other = sample(cls), sample(cls, THERE)
    assert one == other and hash(one) == hash(other)
    assert all(one != sample(another) for another in classes(nodes.Node) if another is not cls)
    for field in dataclasses.fields(cls):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(one, field.name, None)
        if field.compare:
            assert dataclasses.replace(one, **{field.name: None}) != one  # type: ignore[arg-type]


def test_a_tree_is_shown_as_a_whole() -> None:
    condition = nodes.Compare(HERE, BOOL, "eq", nodes.Const(HERE, INT32, 1), nodes.ScalarValue(HERE, INT32, "n"))
    assert repr(nodes.While(HERE, condition, (nodes.Break(HERE),))) == (
        f"While(condition=Compare(type={BOOL!r}, op='eq', left=Const(type={INT32!r}, value=1), "
        f"right=ScalarValue(type={INT32!r}, name='n')), body=(Break(),))"
    )
