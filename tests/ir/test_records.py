"""``vkamp.records.dataclass`` beside Python's own: the same classes, made by both."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import itertools
import pickle
from dataclasses import field
from types import ModuleType
from typing import Any, ClassVar

import pytest

from vkamp import records

OPTIONS = [
    dict(zip(("frozen", "eq", "repr"), each, strict=True)) for each in itertools.product([False, True], repeat=3)
]


def classes(module: ModuleType, **options: bool) -> dict[str, Any]:
    """Some classes of the module's ``dataclass`` with these options."""

    @module.dataclass(**options)
    class Plain:
        a: int
        b: Any = 2
        c: list[int] = field(default_factory=list)
        d: int = field(default=7, repr=False, compare=False)
        shared: ClassVar[int] = 3

    @module.dataclass(**options)
    class More(Plain):
        e: float = 0.5
        f: str = field(default="f", kw_only=True)
        g: int = field(init=False, default=9)
        h: list[str] = field(init=False, default_factory=lambda: ["h"])

        def __post_init__(self) -> None:
            object.__setattr__(self, "b", self.b * 10)

    @module.dataclass(**options)
    class Own:
        """A docstring."""

        a: Any
        z: int = 1

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 5

        def __repr__(self) -> str:
            return "own"

    @module.dataclass(**options)
    class Nothing:
        pass

    return {"Plain": Plain, "More": More, "Own": Own, "Nothing": Nothing}


CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Plain", (1,), {}),
    ("Plain", (1, 5, [3]), {"d": 8}),
    ("Plain", (), {}),
    ("Plain", (1, 2, [], 4, 5), {}),
    ("Plain", (1,), {"unknown": 1}),
    ("More", (1, 2), {"f": "x", "e": 2.5}),
    ("More", (1, 2, [], 4, 0.25, "f"), {}),
    ("More", (1,), {"g": 1}),
    ("Own", (4,), {"z": 3}),
    ("Nothing", (), {}),
]


def outcome(function: Any) -> Any:
    """What a function returns, or its error."""
    try:
        return function()
    except Exception as error:
        return type(error), str(error)


def changed(made: Any, change: Any) -> Any:
    """What a change of an object does."""
    other = copy.copy(made)
    return outcome(lambda: change(other)) or {**other.__dict__}


def seen(made: Any) -> Any:
    """What an object shows."""
    if isinstance(made, tuple):
        return made
    kind: Any = type(made)
    special = ("__eq__", "__repr__", "__hash__", "__setattr__", "__delattr__", "__init__")
    return {
        "repr": None if kind.__repr__ is object.__repr__ else repr(made),
        "values": {each.name: getattr(made, each.name) for each in dataclasses.fields(made)},
        "hash": None if kind.__hash__ is object.__hash__ else outcome(lambda: hash(made)),
        "set": changed(made, lambda each: setattr(each, "a", 3)),
        "set another": changed(made, lambda each: setattr(each, "another", 3)),
        "delete": changed(made, lambda each: delattr(each, "a")),
        "as a dictionary": dataclasses.asdict(made),
        "match": kind.__match_args__,
        "own": {name for name in special if name in kind.__dict__},
        "parameters": repr(kind.__dataclass_params__),
        "signature": str(inspect.signature(kind)).replace("missing_", "<factory>"),
    }


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_objects_are_those_of_pythons_dataclasses(options: dict[str, bool]) -> None:
    ours, pythons = classes(records, **options), classes(dataclasses, **options)
    for name, arguments, named in CALLS:
        found, again = (outcome(lambda: ours[name](*arguments, **named)) for _ in range(2))  # noqa: B023
        expected, twice = (outcome(lambda: pythons[name](*arguments, **named)) for _ in range(2))  # noqa: B023
        assert seen(found) == seen(again)
        for key, value in seen(expected).items() if isinstance(seen(expected), dict) else ():
            if key != "signature":
                assert seen(found)[key] == value, (name, arguments, named, key)
        if isinstance(expected, tuple):
            assert found == expected
        else:
            assert (found == again) == (expected == twice)
            assert (found == expected) == (name == "Own")
            assert list(inspect.signature(type(found)).parameters) == list(inspect.signature(type(expected)).parameters)
    ones = [dataclasses.replace(each["Plain"](1), b=4) for each in (ours, pythons)]
    assert ones[0].__dict__ == ones[1].__dict__ == {"a": 1, "b": 4, "c": [], "d": 7}


def with_field(base: Any) -> type:
    return type("Sub", (base,), {"__annotations__": {"z": int}, "z": 1})


def test_frozen_and_other_classes_do_not_inherit_from_each_other() -> None:
    for module, is_frozen in itertools.product((dataclasses, records), (False, True)):
        base = classes(module, frozen=is_frozen)["Plain"]
        with pytest.raises(TypeError, match="frozen"):
            records.dataclass(frozen=not is_frozen)(with_field(base))
        with pytest.raises(TypeError, match="frozen"):
            dataclasses.dataclass(frozen=not is_frozen)(with_field(base))
        for other in (dataclasses, records):
            made: Any = other.dataclass(frozen=is_frozen)(with_field(base))(1, z=4)
            assert (made.a, made.z, made.c) == (1, 4, [])
        assert base.__dataclass_params__.frozen is is_frozen


@records.dataclass(frozen=True)
class Travels:
    a: int
    b: tuple[int, ...] = ()


def test_objects_travel() -> None:
    made = Travels(1, (2, 3))
    assert pickle.loads(pickle.dumps(made)) == made == copy.deepcopy(made)
    assert {made: 1}[Travels(1, (2, 3))] == 1
