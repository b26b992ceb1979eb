"""``dataclass`` for modules that programs load when they start: with dataclasses of the same behaviour, made faster.

Python compiles six functions for each frozen dataclass, which takes half a millisecond: for the classes that are loaded
until the first launch, a third of vkamp's own time. Here ``__init__`` is compiled when the first object is made, and
the other functions are closures over the fields' names.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

_PARAMETERS = "__dataclass_params__"

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, eq=True, repr=True):
        """As ``dataclasses.dataclass``, with these parameters alone."""

        def wrap(cls: type) -> type:
            return _made(cls, frozen=frozen, eq=eq, shown=repr)

        return wrap if cls is None else wrap(cls)


def _made(cls: type, *, frozen: bool, eq: bool, shown: bool) -> type:
    if cls.__doc__ is None:  # Otherwise Python writes a text with the signature of __init__.
        cls.__doc__ = f"{cls.__name__}({', '.join(inspect.get_annotations(cls))})"
    parameters: Any = _with_fields(cls, frozen=frozen)
    parameters.init, parameters.repr, parameters.eq, parameters.frozen = True, shown, eq, frozen
    fields = dataclasses.fields(cls)
    own = cls.__dict__
    has_hash = "__hash__" in own and not (own["__hash__"] is None and "__eq__" in own)
    new: dict[str, Any] = {"__init__": _init_later(cls, frozen=frozen)}
    if shown:
        new["__repr__"] = _repr_of([each.name for each in fields if each.repr])
    if eq:
        new["__eq__"] = _eq_of(_values_of([each.name for each in fields if each.compare]))
    for name, function in new.items():
        if name not in own:
            setattr(cls, name, _named(function, cls, name))
    if eq and not has_hash:
        hashed = [each.name for each in fields if (each.compare if each.hash is None else each.hash)]
        setattr(cls, "__hash__", _named(_hash_of(_values_of(hashed)), cls, "__hash__") if frozen else None)  # noqa: B010
    if frozen:
        _freeze(cls, frozenset(each.name for each in fields))
    return cls


def _with_fields(cls: type, *, frozen: bool) -> Any:
    """Makes Python find the fields of a class, and compile nothing; returns the parameters that the class has then."""
    bases = [each.__dict__[_PARAMETERS] for each in cls.__mro__[1:] if _PARAMETERS in each.__dict__]
    if any(each.frozen != frozen for each in bases):
        raise TypeError(f"{cls.__name__}: a frozen dataclass cannot inherit from one that is not, nor the reverse")
    for each in bases:
        each.frozen = False
    try:
        made: Any = dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    finally:
        for each in bases:
            each.frozen = frozen
    return getattr(made, _PARAMETERS)


def _named(function: Any, cls: type, name: str) -> Any:
    function.__name__, function.__qualname__ = name, f"{cls.__qualname__}.{name}"
    return function


def _values_of(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that returns the values of some fields."""
    if not names:
        return lambda _: ()
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda each: (get(each),)


def _eq_of(values: Callable[[Any], tuple[Any, ...]]) -> Any:
    def __eq__(self: Any, other: object) -> Any:  # noqa: N807
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash_of(values: Callable[[Any], tuple[Any, ...]]) -> Any:
    return lambda self: hash(values(self))


def _repr_of(names: list[str]) -> Any:
    @recursive_repr("...")
    def __repr__(self: Any) -> str:  # noqa: N807
        return f"{self.__class__.__qualname__}({', '.join([f'{name}={getattr(self, name)!r}' for name in names])})"

    return __repr__


def _freeze(cls: Any, names: frozenset[str]) -> None:
    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    for each in (__setattr__, __delattr__):
        if each.__name__ in cls.__dict__:
            raise TypeError(f"Cannot overwrite attribute {each.__name__} in class {cls.__name__}")
        setattr(cls, each.__name__, _named(each, cls, each.__name__))


def _init_later(cls: type, *, frozen: bool) -> Any:
    """An ``__init__`` that the first call replaces by the compiled one."""

    def __init__(self: Any, *arguments: Any, **named: Any) -> None:  # noqa: N807
        made = _named(_compiled_init(cls, frozen=frozen), cls, "__init__")
        if cls.__init__ is __init__:  # type: ignore[misc]
            cls.__init__ = made  # type: ignore[misc]
        made(self, *arguments, **named)

    return __init__


def _compiled_init(cls: type, *, frozen: bool) -> Any:
    """The function that Python's dataclasses would have."""
    known: dict[str, Any] = {"set_": object.__setattr__, "missing_": dataclasses.MISSING}
    positional: list[str] = []
    by_name: list[str] = []
    body: list[str] = []
    for number, each in enumerate(dataclasses.fields(cls)):
        name, value = each.name, each.name
        given = name
        if each.default is not dataclasses.MISSING:
            known[f"default{number}_"] = each.default
            given = f"{name}=default{number}_"
        elif each.default_factory is not dataclasses.MISSING:
            known[f"make{number}_"] = each.default_factory
            given = f"{name}=missing_"
            value = f"make{number}_() if {name} is missing_ else {name}" if each.init else f"make{number}_()"
        elif not each.init:
            continue
        if each.init:
            (by_name if each.kw_only else positional).append(given)
        elif each.default is not dataclasses.MISSING:
            continue  # The class has the value.
        body.append(f"set_(self_, {name!r}, {value})" if frozen else f"self_.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self_.__post_init__()")
    given = ", ".join(["self_", *positional, *(["*", *by_name] if by_name else [])])
    text = f"def __init__({given}):\n" + "".join(f" {line}\n" for line in body or ["pass"])
    exec(text, known)
    return known["__init__"]
